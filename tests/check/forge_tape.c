/* Forged proofs of each rule of the kernel, on drawn tapes: what the kernel says, beside what is true by the definition.
 *
 *   forge_tape [FORGED [SEED]]
 *
 * goes on until that many of each rule were forged. None that is false may be accepted; where the rule can be told in plain numbers, too,
 * the answers must agree. */
#include "../draw.h"
#include "../suite.h"
#include "check/base/lines.h"
#include "check/evidence_kinds.h"
#include "check/kernel/cell.h"
#include "check/kernel/identity.h"
#include "check/kernel/place.h"
#include "check/kernel/separator.h"
#include "check/kernel/window.h"
#include "forge_tape_evidence.h"
#include "forge_tape_judge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const rule_name[RULES] = {"realize",       "refute",    "ad",        "mix",  "hull",
                                             "compensation", "simplices", "balance", "separator", "bound"};

static size_t wanted = 2000;
static uint64_t seed = 1;

typedef struct {
  size_t forged, accepted, refused, not_taken, wrong; /* not_taken: as input */
  size_t is_true, is_false, right, not_right;          /* as far as it is known: of the statement; of the evidence */
} tally;

static struct {
  tally of[RULES];
  size_t tapes, curved, touched, left_out;
} all;

/* ---- Two rules alone, as kinds of evidence */

enum { MOST_LEAVES = 256 };

static struct {
  size_t n;
  int side[MOST_LEAVES][MOST_SPOTS];
} leaves;

/* `sides SIDES`, and the directions. */
static void
check_realize(claim *q, bool bouligand)
{
  (void)bouligand;
  next_line("sides");
  const char *sides = next_word();
  for (size_t k = 0; k < q->p->n_touched; k++)
    q->c.side[k] = side_named(q->p, k, &sides);
  check_cell(q);
}

static void *
leaves_begin(claim *q)
{
  leaves.n = 0;
  return q;
}

static const cell *
leaves_given(const void *of)
{
  return &((const claim *)of)->c;
}

static bool
leaves_branch(const void *of, const cell *c, size_t k, size_t above)
{
  (void)of;
  (void)c;
  return above == NONE || k > above;
}

static void
leaves_note(const void *of, cell *c)
{
  const claim *q = of;

  ck_assert_uint_lt(leaves.n, MOST_LEAVES);
  memcpy(leaves.side[leaves.n++], c->side, q->p->n_touched * sizeof(int));
}

/* A tree whose leaves say nothing. */
static void
check_refute(claim *q, bool bouligand)
{
  static const leaf_rules rules = {"Leaves", leaves_begin, leaves_given, leaves_branch, leaves_note};

  (void)bouligand;
  check_separated(q, &rules);
}

/* ---- The kernel's answer */

typedef struct {
  scene *s;
  rule rule;
  const char *verdict;
} question;

static void
answer_question(void *of)
{
  static const evidence_kind alone[] = {{"realize", true, true, true, check_realize}, {"refute", true, true, true, check_refute}};
  const question *q = of;
  point *p = tape_point(&q->s->tape);

  judge_lines(q->s->text);
  if (q->rule <= RULE_REFUTE)
    check_output(p, q->verdict, alone, 2);
  else
    check_output(p, q->verdict, evidence_kinds, N_EVIDENCE);
}

/* ---- Scenes */

/* Which spot a touched kink is, and which option each tied term. */
static void
note_site(scene *s, const point *p, size_t k)
{
  const touch *t = &p->touched[k];
  const plain_step *st = &s->tape.step[t->step];
  site *at = &s->site[k];

  at->spot = 0;
  while (at->spot < s->truth.n_spots && (s->truth.spot[at->spot].step != t->step || s->truth.spot[at->spot].entry != t->entry))
    at->spot++;
  ck_assert_msg(at->spot < s->truth.n_spots, "the kernel touches what is at no kink: step %zu, entry %zu", t->step, t->entry);
  at->options = t->n;
  for (size_t i = 0; i < st->width && is_window(t); i++) {
    const plain_term *in = &st->term[t->entry / p->net->batch][i];

    at->option[i] = 0;
    while (s->truth.spot[at->spot].tied[i] && at->option[i] + 1 < t->n
           && !one_identity(p, t->from, t->at[at->option[i]], t->from, (size_t)in->from * p->net->batch + t->entry % p->net->batch))
      at->option[i]++;
  }
}

static void
note_sites(void *of)
{
  scene *s = of;
  point *p = tape_point(&s->tape);

  p->net->steps[0].varies = false;
  for (size_t i = 0; i < 1; i++)
    p->net->tensors[i]->wrt = true;
  point_evaluate(p);
  s->n = p->n_touched;
  for (size_t k = 0; k < s->n; k++)
    note_site(s, p, k);
}

/* What is at a kink and is not touched must make no difference. */
static bool
is_harmless(const scene *s, size_t k)
{
  double rows[TAPE_WIDTH][TAPE_WEIGHTS];

  for (size_t c = 0; c < s->truth.n_cells; c++)
    if (s->truth.cell[c].certain && truth_rows(&s->truth, s->truth.cell[c].side, k, rows) > 0)
      return false;
  return true;
}

static void
expect_all_touched(const scene *s)
{
  for (size_t i = 0; i < s->truth.n_spots; i++) {
    size_t k = 0;

    while (k < s->n && s->site[k].spot != i)
      k++;
    ck_assert_msg(k < s->n || is_harmless(s, i), "a kink that the kernel does not touch: tape %zu, spot %zu", all.tapes, i);
  }
}

static void
say_statement(scene *s)
{
  const plain_tape *t = &s->tape;
  static const char *const side[] = {"", "left", "right"}, *const ties[] = {"first", "last", "mean", "hybrid"};
  bool kinked[KINKED] = {false}, tied[TIED] = {false};

  for (size_t i = 1; i < t->n_steps; i++) {
    if (t->step[i].kind == PLAIN_PIECES)
      kinked[t->step[i].op] = true;
    if (t->step[i].kind == PLAIN_LARGEST)
      tied[t->step[i].op] = true;
  }
  s->length = 0;
  say(s, "loss %s\nwrt w\nprofile drawn\n", t->squares ? "mse" : "sum");
  for (size_t o = 0; o < KINKED; o++)
    for (size_t k = 0; kinked[o] && k < kinked_count[o]; k++) {
      say(s, "proxy %s %zu %s", kinked_names[o], k, side[t->takes[o][k]]);
      if (t->takes[o][k] == TAKES_NUMBER)
        say_number(s, t->slope[o][k]);
      say(s, "\n");
    }
  for (size_t o = 0; o < TIED; o++)
    if (tied[o]) {
      say(s, "tie %s %s", tied_names[o], ties[t->ties[o]]);
      if (t->ties[o] == TIE_HYBRID) {
        say(s, " ");
        say_number(s, t->shared[o]);
      }
      say(s, "\n");
    }
  say(s, "touched %zu\n", s->n);
}

/* A tape with few touched kinks, about which all is known. */
static void
scene_draw(scene *s)
{
  const char *why;
  outcome how;

  for (bool good = false; !good;) {
    tape_draw(&s->tape, s->state);
    all.tapes++;
    good = truth_find(&s->truth, &s->tape, s->state) && (s->truth.n_spots > 0 || draw_below(s->state, 30) == 0);
    if (!good)
      continue;
    how = judge(note_sites, s, &why);
    ck_assert_msg(how != FAILED, "tape %zu: %s", all.tapes, why);
    good = how == VERIFIED;
    all.left_out += !good;
  }
  expect_all_touched(s);
  all.curved += s->truth.curved;
  all.touched += s->n;
  say_statement(s);
}

/* ---- Judgements */

/* Has each certain cell a leaf of the tree? */
static bool
leaves_cover(const scene *s)
{
  for (size_t c = 0; c < s->truth.n_cells; c++) {
    bool found = !s->truth.cell[c].certain;

    for (size_t l = 0; l < leaves.n && !found; l++) {
      found = true;
      for (size_t k = 0; k < s->n; k++) {
        const size_t which = s->site[k].spot;
        const int own = s->truth.cell[c].side[which], side = leaves.side[l][k];
        const bool window = s->truth.spot[which].window;

        found = found && (side == 0 || (window ? side == (int)s->site[k].option[own] + 1 : side == (own == 1 ? 1 : -1)));
      }
    }
    if (!found)
      return false;
  }
  return true;
}

/* Is what the evidence proves, if it is accepted, true? */
static answer
truth_of(const question *q)
{
  const truth *of = &q->s->truth;

  switch (q->rule) {
  case RULE_REALIZE: return UNKNOWN; /* the rule itself is told */
  case RULE_REFUTE: return leaves_cover(q->s) ? YES : NO;
  case RULE_SEPARATOR:
  case RULE_BOUND: {
    const answer in = truth_in_clarke(of);
    return in == UNKNOWN ? UNKNOWN : in == YES ? NO : YES;
  }
  default: return *q->verdict == 'i' && q->verdict[3] == 'b' ? truth_in_bouligand(of) : truth_in_clarke(of);
  }
}

/* Does it prove in-bouligand where it has one cell, and in-clarke of more? */
static bool
of_one_cell(rule r)
{
  return r == RULE_HULL || r == RULE_SIMPLICES || r == RULE_BALANCE;
}

static const char *
verdict_of(const scene *s, rule r)
{
  const bool either = of_one_cell(r) && draw_below(s->state, 3) == 0;

  return r >= RULE_SEPARATOR ? "not-in-clarke" : r == RULE_AD || r == RULE_COMPENSATION || either ? "in-bouligand" : "in-clarke";
}

/* In plain numbers: of each step the features, as coef w[i] x[step.feature]. */
static void
print_tape(const plain_tape *t)
{
  static const char *const kinds[] = {"input", "sum", "pieces", "largest", "product", "reciprocal", "exp"};

  for (size_t i = 0; i < t->n_weights; i++)
    fprintf(stderr, "w%zu = %g%s", i, t->w[i], i + 1 < t->n_weights ? ", " : "\n");
  for (size_t i = 0; i < t->batch * t->step[0].n; i++)
    fprintf(stderr, "x = %g\n", t->x[i]);
  for (size_t s = 1; s < t->n_steps; s++) {
    const plain_step *st = &t->step[s];

    fprintf(stderr, "%zu %s %s\n", s, kinds[st->kind], st->kind == PLAIN_PIECES ? kinked_names[st->op] : "");
    for (size_t f = 0; f < st->n; f++)
      for (size_t i = 0; i < st->width; i++)
        fprintf(stderr, "  %zu: %g w%d %d.%d\n", f, st->term[f][i].coef, st->term[f][i].w, st->term[f][i].step, st->term[f][i].from);
  }
}

static void
report(const question *q, const char *what, const char *why)
{
  all.of[q->rule].wrong++;
  if (all.of[q->rule].wrong <= 3)
    fprintf(stderr, "%s (%s; tape %zu, %s%s): %s\n%s\n", what, rule_name[q->rule], all.tapes, q->verdict,
            q->s->truth.curved ? ", curved" : "", why, q->s->text);
  if (all.of[q->rule].wrong == 1)
    print_tape(&q->s->tape);
}

/* right: what the rule says of the evidence, in plain numbers. */
static void
judge_evidence(const question *q, answer right)
{
  const char *why;
  tally *of = &all.of[q->rule];
  const outcome how = judge(answer_question, (void *)q, &why);
  const answer is_true = how == VERIFIED || q->rule > RULE_REFUTE ? truth_of(q) : UNKNOWN;

  of->forged++;
  of->accepted += how == VERIFIED;
  of->refused += how == FAILED;
  of->not_taken += how == REFUSED;
  of->is_true += is_true == YES;
  of->is_false += is_true == NO;
  of->right += right == YES;
  of->not_right += right == NO;
  if (how == VERIFIED && is_true == NO)
    report(q, "FALSE AND ACCEPTED", why);
  else if (how == VERIFIED && right == NO)
    report(q, "not by the rule, and accepted", why);
  else if (how != VERIFIED && right == YES)
    report(q, "by the rule, and refused", why);
}

/* Another word, line or sign somewhere in the evidence. */
static void
edit(scene *s, size_t begin)
{
  const size_t at = begin + draw_below(s->state, s->length - begin);
  char *line = s->text + at, *next;

  while (line > s->text + begin && line[-1] != '\n')
    line--;
  next = strchr(line, '\n') + 1;
  switch (draw_below(s->state, 4)) {
  case 0: /* without the line */
    memmove(line, next, strlen(next) + 1);
    break;
  case 1: /* twice */
    if (s->length + 200 < MOST_TEXT)
      memmove(next + (next - line), next, strlen(next) + 1), memcpy(next, line, (size_t)(next - line));
    break;
  default:
    if (s->text[at] >= '0' && s->text[at] <= '9')
      s->text[at] = (char)('0' + draw_below(s->state, 4));
    else if (s->text[at] == '-' || s->text[at] == '+')
      s->text[at] = s->text[at] == '-' ? '+' : '-';
    else if (s->text[at] == ' ' && s->text[at + 1] == '-' && s->text[at + 2] >= '0' && s->text[at + 2] <= '9')
      memmove(&s->text[at + 1], &s->text[at + 2], strlen(&s->text[at + 1]));
  }
}

static void
forge(scene *s, rule r)
{
  const size_t begin = s->length;
  question q = {s, r, verdict_of(s, r)};
  answer right;

  if (r <= RULE_REFUTE)
    say(s, "evidence %s\n", rule_name[r]);
  right = forge_evidence(s, r);
  if (s->length > begin) {
    if (of_one_cell(r) && *q.verdict == 'i' && q.verdict[3] == 'b' && right == YES)
      right = UNKNOWN; /* of one cell alone */
    judge_evidence(&q, right);
    edit(s, begin);
    if (draw_below(s->state, 3) == 0)
      judge_evidence(&q, UNKNOWN);
  }
  s->length = begin;
  s->text[begin] = '\0';
}

/* Until something is wrong. */
static bool
some_wanted(void)
{
  for (rule r = 0; r < RULES; r++)
    if (all.of[r].wrong > 0)
      return false;
  for (rule r = 0; r < RULES; r++)
    if (all.of[r].forged < wanted)
      return true;
  return false;
}

static void
print_tally(void)
{
  printf("%zu tapes drawn, %zu curved, %zu touched kinks, %zu left out\n", all.tapes, all.curved, all.touched, all.left_out);
  for (rule r = 0; r < RULES; r++) {
    const tally *of = &all.of[r];

    printf("  %-12s %zu forged: %zu accepted, %zu refused, %zu not taken; true %zu, false %zu; right %zu, not right %zu; WRONG %zu\n",
           rule_name[r], of->forged, of->accepted, of->refused, of->not_taken, of->is_true, of->is_false, of->right, of->not_right,
           of->wrong);
  }
  fflush(stdout);
}

/* How often a rule's evidence is forged on a tape: what is false is harder to come by for some, what is true for others. */
static size_t
times_of(const scene *s, rule r)
{
  if (r <= RULE_REFUTE)
    return 4;
  if (r >= RULE_SEPARATOR)
    return truth_in_clarke(&s->truth) == NO ? 12 : 1;
  return truth_in_bouligand(&s->truth) == YES ? 3 : 8;
}

START_TEST(no_false_evidence_is_accepted)
{
  uint64_t state = seed;
  scene s = {.state = &state};

  while (some_wanted()) {
    scene_draw(&s);
    for (rule r = 0; r < RULES; r++)
      for (size_t i = 0; i < times_of(&s, r) && all.of[r].forged < wanted; i++)
        forge(&s, r);
  }
  print_tally();
  for (rule r = 0; r < RULES; r++) {
    ck_assert_uint_eq(all.of[r].wrong, 0);
    ck_assert_uint_gt(all.of[r].accepted, wanted / 200);
    ck_assert_uint_gt(all.of[r].refused, wanted / 200);
  }
}
END_TEST

int
main(int argc, char **argv)
{
  TCase *tests = tests_of("forge-tape");

  if (argc > 1)
    wanted = strtoul(argv[1], NULL, 10);
  if (argc > 2)
    seed = strtoull(argv[2], NULL, 10);
  tcase_add_test(tests, no_false_evidence_is_accepted);
  return run_tests();
}
