/* Evidence about tapes that are made by hand: no file is read. Each right proof holds, and wrong ones fail for their reason. */
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/base/sha256.h"
#include "check/evidence_kinds.h"
#include "heard.h"

#include <stdlib.h>
#include <string.h>

/* y = c0 relu(w0) + c1 relu(-w0) + c2 relu(w1), of one sample x = 1. */
typedef struct {
  network net;
  point p;
  tensor x, w, *all;
  step steps[4];
} tape;

static const rational *
whole(long n)
{
  rational *q = rationals(1);

  mpq_set_si(q, n, 1);
  return q;
}

/* Feature f of the step is a multiple of feature `from` of the one before, or adds up all of it. */
static void
set_step(tape *t, size_t s, kind k, const char *op, size_t n, size_t width)
{
  step *st = &t->steps[s];

  *st = (step){.kind = k, .op = op, .name = op, .place = s, .n = n, .width = width, .n_factors = n * width, .n_sources = n * width};
  st->factors = calloc(n * width + 1, sizeof *st->factors);
  st->sources = calloc(n * width + 1, sizeof *st->sources);
  st->factor_row = calloc(n, sizeof *st->factor_row);
  st->source_row = calloc(n, sizeof *st->source_row);
  for (size_t f = 0; f < n; f++)
    st->factor_row[f] = st->source_row[f] = f;
  for (size_t i = 0; i < n * width; i++) {
    st->factors[i].coef = &plus_one;
    st->sources[i] = (source){s - 1, i};
  }
  for (size_t i = 0; i < 9; i++)
    st->piece[i / 3][i % 3] = rational_zero();
  st->at[0] = rational_zero();
  st->at[1] = rational_zero();
}

static void
make_tape(tape *t, const long *c)
{
  static const kinked_operator kinked[] = {{"Relu", 1}};

  *t = (tape){.x = {.name = (char *)"x", .count = 1, .rank = 2, .dims = {1, 1}, .real = true, .value = rationals(1)},
              .w = {.name = (char *)"w", .count = 2, .rank = 1, .dims = {2}, .real = true, .initializer = true, .weight = true}};
  mpq_set_ui(&t->x.value[0], 1, 1);
  t->w.value = rationals(2);
  t->all = &t->w;
  t->net = (network){.operators = kinked, .n_operators = 1, .own = {.kind = LOSS_NONE}, .batched = true, .batch = 1, .together = 1,
                     .apart = 1, .n_steps = 4, .steps = t->steps, .n_tensors = 1, .tensors = &t->all, .output = 3, .n_outputs = 1,
                     .rank = 2, .dims = {1, 1}};
  name_add(&t->net.named, "w");
  t->net.map = calloc(1, sizeof *t->net.map);
  set_step(t, 0, INPUT, NULL, 1, 0);
  set_step(t, 1, LINEAR, "Gemm", 3, 1);
  for (size_t f = 0; f < 3; f++) {
    t->steps[1].factors[f] = (factor){whole(f == 1 ? -1 : 1), &t->w, f / 2};
    t->steps[1].sources[f] = (source){0, 0};
  }
  set_step(t, 2, PIECEWISE, "Relu", 3, 1);
  t->steps[2].n_kinks = 1;
  mpq_set_ui(&t->steps[2].piece[1][1], 1, 1);
  set_step(t, 3, LINEAR, "ReduceSum", 1, 3);
  for (size_t f = 0; f < 3; f++)
    t->steps[3].factors[f].coef = whole(c[f]);
  t->p = (point){.net = &t->net, .x = &t->x};
}

/* The lines of a proof behind `loss sum` and the rest, a kink's proxy among them; sealed. */
static bytes
sealed(const char *proxy, const char *touched, const char *lines)
{
  char *text = calloc(1, 8192), hex[65];
  int n = snprintf(text, 8192, "loss sum\nwrt *\nprofile hand\nproxy Relu 0 %s\ntouched %s\n%s", proxy, touched, lines);

  sha256((bytes){(unsigned char *)text, (size_t)n}, hex);
  n += snprintf(text + n, 8192 - (size_t)n, "end %s\n", hex);
  return (bytes){(unsigned char *)text, (size_t)n};
}

#define TO(side) "direction\nmove w at 0 " side "\nmove w at 1 1\n"
#define CELL(weight, sides, side) "cell " weight " " sides "\ndirections 1\n" TO(side)
#define SEPARATOR(word, below, leaf, rest) "evidence " word "\nv w 0 1\ntree\nbranch 0\nbranch 1\n" below leaf "branch 1\n" leaf rest
#define DEAD "dead 2\nu 0 1\nu 1 1\n"
#define OTHER_DEAD "dead 2\nu 0 2\nu 1 2\n"
#define SIMPLICES(side) "evidence simplices 2\nblock 1 0 1\nblock 2 2\ndirection\nmove w at 0 1\ndirection\nmove w at 1 1\n" \
  "direction\nmove w at 1 " side "\n"
#define OPEN "branch 2\nleaf\nleaf\n"

static const struct {
  long c[3];
  const char *verdict, *proxy, *touched, *lines, *why; /* NULL: it holds */
} cases[] = {
  /* relu(w0) + relu(-w0) is |w0|. */
  { { 1, 1, 1 }, "in-clarke", "1/2", "3", "evidence hull 2\n" CELL("1/2", "-++", "-1") CELL("1/2", "+-+", "1"), "is not AD's" },
  { { 1, 1, 0 }, "in-clarke", "1/2", "3", "evidence hull 2\n" CELL("1/2", "-++", "-1") CELL("1/2", "+-+", "1"), NULL },
  { { 1, 1, 0 }, "in-clarke", "1/2", "3", "evidence hull 2\n" CELL("1/2", "-++", "1") CELL("1/2", "+-+", "1"), "wrong side" },
  { { 1, 1, 0 }, "in-clarke", "1/2", "3", "evidence hull 2\n" CELL("1/2", "--+", "1") CELL("1/2", "+-+", "1"), "wrong side" },
  { { 1, 1, 0 }, "in-clarke", "1/2", "3", "evidence hull 2\n" CELL("1/2", "-++", "-1") CELL("1/3", "+-+", "1"), "do not sum to 1" },
  { { 1, 1, 0 }, "in-clarke", "1/2", "3", "evidence hull 2\n" CELL("3/2", "-++", "-1") CELL("-1/2", "+-+", "1"), "negative" },
  { { 1, 1, 0 }, "in-clarke", "1/2", "2", "evidence hull 2\n" CELL("1/2", "-++", "-1") CELL("1/2", "+-+", "1"), "touched kinks is 3" },
  { { 1, 1, 0 }, "in-bouligand", "1/2", "3", "evidence hull 2\n" CELL("1/2", "-++", "-1") CELL("1/2", "+-+", "1"), "one for this" },
  { { 1, 1, 0 }, "in-bouligand", "1/2", "3", "evidence ad\ncell ad\ndirections 1\n" TO("1"), "does not rest" },
  { { 1, 1, 0 }, "in-bouligand", "1", "3", "evidence ad\ncell ad\ndirections 1\n" TO("1"), "wrong side" },
  /* AD's sides contradict each other; its output is that of the cell in which w0 and w1 are above 0. */
  { { 1, 0, 1 }, "in-bouligand", "1", "3", "evidence hull 1\n" CELL("1", "+-+", "1"), NULL },
  { { 1, 0, 1 }, "in-bouligand", "1", "3", "evidence hull 1\n" CELL("1", "-++", "-1"), "is not AD's" },
  /* relu(w0) - relu(-w0) is w0, whose derivative is 1; AD says 2 with 1 at both kinks, and 0 with 0. */
  { { 1, -1, 0 }, "not-in-clarke", "1", "3", SEPARATOR("separator", DEAD, OPEN, OTHER_DEAD), NULL },
  { { 1, -1, 0 }, "not-in-clarke", "0", "3", SEPARATOR("separator", DEAD, OPEN, OTHER_DEAD), "not separated" },
  { { 1, -1, 0 }, "not-in-clarke", "1/2", "3", SEPARATOR("separator", DEAD, OPEN, OTHER_DEAD), "not separated" },
  { { 1, -1, 0 }, "not-in-clarke", "1", "3", SEPARATOR("separator", DEAD, "leaf\n", OTHER_DEAD), NULL }, /* w1 stands still */
  { { 1, -1, 0 }, "not-in-clarke", "1", "3", SEPARATOR("bound", DEAD, "leaf\n", OTHER_DEAD), NULL },
  { { 1, -1, 0 }, "not-in-clarke", "0", "3", SEPARATOR("bound", DEAD, "leaf\n", OTHER_DEAD), "not separated" },
  { { 1, -1, 0 }, "not-in-clarke", "1", "3", SEPARATOR("separator", "leaf\n", "leaf\n", OTHER_DEAD), NULL }, /* 1 + 0 < 2 */
  { { 1, -1, 0 }, "not-in-clarke", "1", "3", SEPARATOR("separator", DEAD, DEAD, OTHER_DEAD), "combination of the derivatives" },
  { { 1, -1, 0 }, "not-in-clarke", "1", "3", SEPARATOR("separator", DEAD, "leaf\n", "leaf\n"), "not separated" },
  { { 1, -1, 0 }, "not-in-clarke", "1", "3", SEPARATOR("separator", "dead 2\nu 0 1\nu 1 2\n", "leaf\n", DEAD), "is not zero" },
  { { 1, -1, 0 }, "not-in-clarke", "1", "3", SEPARATOR("separator", "dead 1\nu 0 0\n", "leaf\n", DEAD), "positive values" },
  { { 1, -1, 0 }, "not-in-clarke", "1", "3", SEPARATOR("separator", "dead 1\nu 2 1\n", "leaf\n", DEAD), "has not been branched" },
  { { 1, -1, 0 }, "not-in-clarke", "1", "3", SEPARATOR("separator", DEAD, "leaf\n", OTHER_DEAD) "leaf\n", "'end' is expected" },
  /* relu(w1) alone. */
  { { 0, 0, 1 }, "in-clarke", "1/3", "3", SIMPLICES("-1") "directions 0\n", NULL },
  { { 0, 0, 1 }, "in-clarke", "1/3", "3", SIMPLICES("1") "directions 0\n", "not inside the simplex" },
  { { 0, 0, 1 }, "in-clarke", "2", "3", SIMPLICES("-1") "directions 0\n", "not inside the simplex" },
  { { 0, 0, 1 }, "in-bouligand", "1/3", "3", SIMPLICES("-1") "directions 0\n", "blocks of one cell" },
  { { 1, 0, 1 }, "in-clarke", "1/3", "3", SIMPLICES("-1") "directions 0\n", "for changes of" },
  { { 0, 0, 1 }, "in-clarke", "1/3", "3", "evidence simplices 1\nblock 2 2\ndirection\nmove w at 1 1\ndirection\nmove w at 1 -1\n"
    "directions 1\ndirection\nmove w at 0 1\n", "gives it no side" },
};

static int
judge(int i)
{
  tape t;

  make_tape(&t, cases[i].c);
  account_begin();
  lines_begin(sealed(cases[i].proxy, cases[i].touched, cases[i].lines));
  check_output(&t.p, cases[i].verdict, evidence_kinds, N_EVIDENCE);
  return VERIFIED;
}

/* An axis that is not declared is one, too. */
START_TEST(shapes_are_stated)
{
  const size_t dims[] = {0, 2, 0, 0, 3};
  account_begin();
  state_shape(dims, 5);
  state_shape(dims + 1, 2);
  state_shape(dims, 1);
  state_shape(dims, 0);
  ck_assert_str_eq(account_text(), "(?, 2, ?, ?, 3)(2, ?)(?)()");
}
END_TEST

START_TEST(evidence_is_judged)
{
  char said[512];
  int ends[2], status;
  pid_t child = fork_heard(ends);

  if (child == 0)
    _exit(judge(_i));
  status = heard(child, ends, cases[_i].lines, said, sizeof said);
  if (cases[_i].why == NULL)
    ck_assert_msg(status == VERIFIED, "case %d fails: %s", _i, said);
  else
    ck_assert_msg(status == FAILED && strstr(said, cases[_i].why) != NULL, "case %d: %d, %s", _i, status, said);
}
END_TEST

/* A byte more or less is another proof. */
START_TEST(seals_are_looked_at)
{
  bytes text = sealed("1", "3", "evidence hull 1\n" CELL("1", "+-+", "1"));
  char said[512];
  int ends[2];
  pid_t child;

  text.data[_i * 7 % (text.size - 1)] ^= 1;
  child = fork_heard(ends);
  if (child == 0) {
    lines_begin(text);
    _exit(VERIFIED);
  }
  ck_assert_int_eq(heard(child, ends, "seal", said, sizeof said), FAILED);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("evidence");

  tcase_add_test(tests, shapes_are_stated);
  tcase_add_loop_test(tests, evidence_is_judged, 0, (int)(sizeof cases / sizeof *cases));
  tcase_add_loop_test(tests, seals_are_looked_at, 0, 40);
  return run_tests();
}
