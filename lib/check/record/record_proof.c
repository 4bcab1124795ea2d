/* Proofs about recorded training steps: the statement, line by line. */
#include "check/record/record_proof.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/kernel/place.h"
#include "check/kernel/question.h"
#include "check/record/record_pattern.h"
#include "check/record/record_statistic.h"

#include <stdlib.h>
#include <string.h>

/* A recorded tensor of which the proof says nothing, by name; it could be any. */
typedef struct {
  const char *part;
  char *name;
} unsaid;

typedef struct {
  record r;
  size_t counts[N_ANSWERS]; /* of each answer */
  size_t missing;           /* of those not covered: there is no such tensor in the record */
  size_t boundless;         /* entries without a bound, of tensors that have others */
  unsaid *unsaid;
  size_t n_unsaid;
} judged;

/* What may be claimed, from the strongest down. In the place of what is refuted stands that it is not shown. */
static const char *const words[] = {"bit-exact", "within", "where-bounded", "not-shown", "not-covered"};

/* The slopes of every operator in the model, at each of its kinks. */
static void
read_slopes(judged *q)
{
  const network *net = q->r.p->net;
  q->r.proxies = allocate(net->n_operators, sizeof *q->r.proxies);
  next_line("profile");
  state_profile(next_name());
  for (size_t i = 0; i < net->n_operators; i++)
    for (size_t k = 0; k < 2; k++) {
      const char *op = net->operators[i].name;
      ad_slope *s = &q->r.proxies[i][k];
      s->value = rational_zero();
      if (k >= net->operators[i].kinks || !network_has(net, op))
        continue;
      proxy_side side = read_proxy(op, k, &s->value);
      s->left = side == PROXY_LEFT;
      s->right = side == PROXY_RIGHT;
    }
}

/* A number of the model that is no parameter here has no gradient. */
static void
state_untrained(const network *net)
{
  size_t n = 0;
  for (size_t i = 0; i < net->n_tensors; i++) {
    if (net->tensors[i]->wrt || !net->tensors[i]->weight)
      continue;
    if (n++ == 0)
      fputs("Not among the parameters, so that nothing is said of a gradient in them:\n", account);
    fputs("    ", account);
    state_name(net->tensors[i]->name);
    fputc('\n', account);
  }
}

static void
note_unsaid(judged *q, const char *part, const char *name)
{
  if (q->unsaid == NULL)
    q->unsaid = allocate(q->r.n_trace + q->r.n_gradients, sizeof *q->unsaid);
  q->unsaid[q->n_unsaid].part = part;
  q->unsaid[q->n_unsaid].name = copy_text(name, strlen(name));
  q->n_unsaid++;
}

static void
state_unsaid(judged *q)
{
  if (q->n_unsaid > 0)
    fputs("Nothing is said of these, whose numbers may be any:\n", account);
  for (size_t i = 0; i < q->n_unsaid; i++) {
    fprintf(account, "    %s ", q->unsaid[i].part);
    state_name(q->unsaid[i].name);
    fputc('\n', account);
    free(q->unsaid[i].name);
  }
  free(q->unsaid);
}

static answer
next_answer(void)
{
  const char *word = next_word();
  answer claimed = EXACT;
  while (claimed < NOT_COVERED && strcmp(word, words[claimed]) != 0)
    claimed++;
  require(strcmp(word, words[claimed]) == 0, "bit-exact, within, where-bounded, not-shown or not-covered is expected");
  return claimed;
}

/* What the line claims, which says how much is to be found. */
static answer
next_claim(judged *q)
{
  answer claimed = next_answer();
  q->r.exact = claimed == EXACT;
  return claimed;
}

static void
state_answer(judged *q, const char *part, const char *name, const tensor *t, answer claimed)
{
  static const char *const say[] = {"bit-exact", "within the bound", "within the bound", "not shown", "not covered"};
  fprintf(account, "  %s ", part);
  state_name(name);
  if (t != NULL && claimed != NOT_COVERED)
    fprintf(account, ", %zu of %s", t->count, dtypes[t->type].name[1]);
  fprintf(account, ": %s", t != NULL || claimed != NOT_COVERED ? say[claimed] : "not recorded");
  if (t == NULL && claimed != NOT_COVERED)
    fputs(", not recorded", account);
  if (claimed == NO_BOUND)
    fprintf(account, ", but for %zu without a bound", q->r.boundless);
  fputc('\n', account);
  if (t != NULL && claimed >= REFUTED)
    note_unsaid(q, part, name);
}

/* The answer that stands at the line's end: the one found, or a weaker one that is true as well. What is farther away than its bound
 * is not passed over: the line says that it is not shown. */
static void
hold_answer(judged *q, const char *part, const char *name, const tensor *t, answer claimed, answer found)
{
  require(claimed >= REFUTED || found != NOT_COVERED, "%s %s: no rule covers it, or it was not recorded", part, name);
  require(claimed == REFUTED || found != REFUTED, "%s %s: an entry is farther from the exact number than its bound",
          part, name);
  require(claimed >= NO_BOUND || found != NO_BOUND, "%s %s: of %zu entries no bound is known", part, name,
          q->r.boundless);
  require(claimed >= found || claimed == REFUTED, "%s %s: not every entry is the exact number rounded once", part,
          name);
  q->counts[claimed == NO_BOUND && found < NO_BOUND ? BOUNDED : claimed]++;
  q->missing += t == NULL;
  q->boundless += claimed == NO_BOUND ? q->r.boundless : 0;
  state_answer(q, part, name, t, claimed);
  q->r.boundless = 0;
}

/* A line PART NAME ANSWER for every output of every node but Constant, in the file's order. */
static void
read_part(judged *q, const char *part, answer (*find)(record *r, const char *name, const tensor *t), bool pools)
{
  for (size_t i = 0; i < q->r.m->n_nodes; i++)
    for (size_t j = 0; j < q->r.m->nodes[i].n_out; j++) {
      const node *n = &q->r.m->nodes[i];
      if (*n->out[j] == '\0' || strcmp(n->op, "Constant") == 0 || (pools && (strcmp(n->op, "MaxPool") != 0 || j > 0)))
        continue;
      next_line(part);
      char *name = next_name();
      require(strcmp(name, n->out[j]) == 0, "the line of '%s' is expected", n->out[j]);
      const tensor *t = record_find(&q->r, part, name);
      answer claimed = next_claim(q);
      hold_answer(q, part, name, t, claimed, t != NULL ? find(&q->r, name, t) : NOT_COVERED);
      free(name);
    }
}

static const tensor *
find_gradient(judged *q, const char *name)
{
  size_t i = name_find(&q->r.gradient_names, name);
  if (i == NONE)
    return NULL;
  q->r.gradient_read[i] = true;
  return &q->r.gradients[i];
}

static void
read_parameters(judged *q)
{
  for (size_t i = 0; i < q->r.p->net->n_values; i++) {
    const graph_value *v = &q->r.p->net->values[i];
    if (v->constant == NULL || !v->constant->wrt || v->constant->name != v->name)
      continue;
    next_line("parameter");
    char *name = next_name();
    require(strcmp(name, v->name) == 0, "the line of '%s' is expected", v->name);
    const tensor *t = find_gradient(q, name);
    answer claimed = next_claim(q);
    hold_answer(q, "parameter", name, t, claimed, t != NULL ? record_parameter(&q->r, v, t) : NOT_COVERED);
    free(name);
  }
}

/* Any number of lines: which buffers a step brings up to date the model does not say. Were there any? */
static bool
read_statistics(judged *q)
{
  bool any = false;
  while (line_is("statistic")) {
    const tensor *after;
    char *name = next_name();
    answer found = record_statistic(&q->r, name, &after);
    hold_answer(q, "statistic", name, after, next_answer(), found);
    free(name);
    any = true;
  }
  return any;
}

/* Every tensor of the record is named by a line; what is kept of buffers is no node's. */
static void
check_read(judged *q)
{
  for (size_t i = 0; i < q->r.n_trace; i++) {
    const char *name = q->r.trace[i].name;
    const char *of = strncmp(name, "before/", 7) == 0 ? "before" : strncmp(name, "after/", 6) == 0 ? "after" : NULL;
    require(q->r.trace_read[i] || of != NULL, "the trace's tensor '%s' is of no node, and no line speaks of it", name);
    if (!q->r.trace_read[i])
      note_unsaid(q, of, strchr(name, '/') + 1);
  }
  for (size_t i = 0; i < q->r.n_gradients; i++)
    require(q->r.gradient_read[i], "'%s' has a recorded gradient, and no line speaks of it", q->r.gradients[i].name);
}

static void
read_pattern(judged *q, point *p)
{
  size_t asked = 0, open = 0;
  bool evaluated = false;
  fputs("Branches, beside those of exact arithmetic at these parameters:\n", account);
  for (size_t i = 0; i < q->r.m->n_nodes; i++) {
    if (!pattern_has(&q->r.m->nodes[i]))
      continue;
    next_line("pattern");
    char *name = next_name();
    require(strcmp(name, q->r.m->nodes[i].out[0]) == 0, "the line of '%s' is expected", q->r.m->nodes[i].out[0]);
    fputs("  ", account);
    state_name(name);
    free(name);
    if (word_is("not-covered")) {
      next_word();
      fputs(": not covered\n", account);
      open++;
      continue;
    }
    const step *st = record_step(&q->r, i);
    size_t n = next_number();
    require(pattern_covers(&q->r, st), "no rule covers this node's branches, or what it reads was not recorded");
    fprintf(account, n == 1 ? ": 1 part\n" : ": %zu parts\n", n);
    if (!evaluated)
      point_evaluate(p);
    evaluated = true;
    asked += pattern_check(&q->r, st, n);
  }
  fprintf(account, "  of %zu kinks and windows; nodes not covered: %zu\n", asked, open);
}

/* Recorded tensors of which nothing is said are named: they are in the files, and could be others. */
static void
state_verdict(judged *q, bool updated)
{
  state_unsaid(q);
  printf("VERIFIED\n%sVerdict: %zu of these tensors are bit-exact, %zu within the bound; of %zu nothing is said; %zu "
         "were not\n"
         "recorded.\n",
         account_text(), q->counts[EXACT], q->counts[BOUNDED], q->n_unsaid, q->missing);
  if (q->counts[NO_BOUND] > 0)
    printf("Of %zu more there is no bound for some entries, %zu in all; the others are within it.\n",
           q->counts[NO_BOUND], q->boundless);
  printf("Bit-exact: each entry is the exact number, rounded once to its type (a zero's sign is not looked at).\n"
         "Within the bound: each is as near to the exact number as rounding in its type may leave it, in any\n"
         "order of summation. Which program, device or library computed them is not proved.\n%s",
         updated ? "A statistic is what the updates before it make of what the buffer was before the step.\n" : "");
}

void
check_record(point *p, const model *m, const char *folder)
{
  record_kept kept = {0};
  judged all = {.r = {.kept = &kept, .p = p, .m = m}}, *q = &all;
  next_line("trace");
  bytes trace = next_file(folder, "Trace");
  next_line("gradients");
  bytes gradients = next_file(folder, "Gradients");
  record_factors(&q->r, folder);
  read_loss(p);
  next_line("scale");
  q->r.scale = rational_zero();
  next_rational(&q->r.scale);
  gmp_fprintf(account, "  multiplied by %Qd\n", &q->r.scale);
  read_wrt(p->net);
  state_untrained(p->net);
  read_slopes(q);
  record_begin(&q->r, trace, gradients);
  unsigned long bits = session_bits;
  session_set_bits(3 * bits); /* so that they tell numbers near the smallest apart, mostly */
  fputs("Recorded tensors, beside the exact operators of what was recorded of their inputs:\n", account);
  read_part(q, "output", record_output, false);
  read_part(q, "indices", record_indices, true);
  read_part(q, "gradient", record_gradient, false);
  read_parameters(q);
  bool updated = read_statistics(q);
  record_untold_statistics(&q->r);
  check_read(q);
  session_set_bits(bits);
  read_pattern(q, p);
  last_line();
  state_verdict(q, updated);
}
