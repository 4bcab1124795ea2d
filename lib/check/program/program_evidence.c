/* The evidence of proofs about programs: followed along an arc, or down a tree (docs/proof-format.md, "Programs"). */
#include "check/program/program_evidence.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/program/program_follow.h"

#include <stdlib.h>
#include <string.h>

/* What is claimed of AD's output, as far as it was read. */
typedef struct {
  walk *w;
  const interval *ad; /* AD's output, row by row */
  bool enclosed;      /* at some leaf: a norm of zeros, or what was left open */
  /* A separator: the vector, its product with AD's output, and the largest with the gradient of a leaf or cone so far. */
  const interval *separator, *ours;
  interval *most;
  bool first;
  const evidence_rules *rules;
} claimed;

const interval *
output_gradient(const walk *w, size_t k)
{
  return &w->states[w->prog.outputs[k / w->n_wrt]].g[k % w->n_wrt];
}

size_t
read_arc(walk *w, const rational **steps)
{
  rationals_free(w->steps, w->n_numbers);
  next_line("arc");
  size_t order = next_number();
  require(order <= MAX_ORDER, "an arc has %d steps at most", MAX_ORDER);
  w->n_numbers = order * w->n_wrt;
  w->steps = rationals(w->n_numbers);
  for (size_t k = 0; k < w->n_numbers; k++) {
    if (k % w->n_wrt == 0)
      next_line("step");
    next_rational(&w->steps[k]);
  }
  *steps = w->steps;
  return order;
}

/* `arc R` and its steps: the pattern they follow. F tends to its value at the point along it: it is Lipschitz there. */
static void
check_arc(claimed *q)
{
  const rational *steps;
  size_t order = read_arc(q->w, &steps);
  follow_arc(q->w, steps, order, order > 0 ? MAX_ORDER + 1 : 1);
}

static void
check_hull(claimed *q, size_t cells, bool whole)
{
  size_t n = q->w->prog.n_outputs * q->w->n_wrt;
  interval *sum = intervals(n);
  const mean_rules *means = q->rules->means;
  struct means *mean = means->begin(q->w);
  RATIONAL(weight);
  RATIONAL(total);
  for (size_t i = 0; i < cells; i++) {
    if (whole) {
      mpq_set(&weight, &plus_one);
    } else {
      next_line("cell");
      next_rational(&weight);
    }
    require(mpq_sgn(&weight) > 0, "a weight is not positive");
    check_arc(q);
    means->add(mean, q->w, &weight);
    mpq_add(&total, &total, &weight);
    for (size_t k = 0; k < n; k++)
      interval_add(&sum[k], output_gradient(q->w, k), &weight);
  }
  require(mpq_equal(&total, &plus_one), "the weights do not sum to 1");
  for (size_t k = 0; k < n; k++) {
    bool rational_both = interval_exact(&sum[k]) && interval_exact(&q->ad[k]);
    size_t at = q->w->prog.outputs[k / q->w->n_wrt];
    bool same = whole && !follow_moved(q->w) && q->w->states[at].same;
    if (!whole && !rational_both)
      same = means->are_ads(mean, q->w, at);
    require((same && !rational_both) || interval_compare(&sum[k], &q->ad[k]) == 0,
            "entry %zu of AD's output is not that of the gradients", k);
  }
  means->end(mean, q->w);
  intervals_free(sum, n);
}

void
put_number(const interval *x)
{
  RATIONAL(middle);
  mpq_add(&middle, &x->lo, &x->hi);
  mpq_div_2exp(&middle, &middle, 1);
  if (interval_exact(x))
    gmp_fprintf(account, "%Qd", &x->lo);
  else
    fprintf(account, "about %.12g", mpq_get_d(&middle));
}

/* The number, or the end of its interval from above. */
static void
put_most(const interval *x)
{
  interval end = {x->hi, x->hi};
  if (interval_exact(x))
    put_number(&end);
  else
    fprintf(account, "about %.12g", mpq_get_d(&x->hi));
}

void
put_rows(const walk *w, const interval *x)
{
  fputs(w->prog.n_outputs > 1 ? "((" : "(", account);
  for (size_t k = 0; k < w->prog.n_outputs * w->n_wrt; k++) {
    if (k > 0)
      fputs(k % w->n_wrt == 0 ? "), (" : ", ", account);
    put_number(&x[k]);
  }
  fputs(w->prog.n_outputs > 1 ? "))" : ")", account);
}

static void
dot(claimed *q, interval *y, const interval *v, bool output)
{
  interval_set(y, &zero, &zero);
  for (size_t k = 0; k < q->w->prog.n_outputs * q->w->n_wrt; k++)
    interval_addmul(y, &v[k], output ? &q->ad[k] : output_gradient(q->w, k));
}

/* The leaf at hand has AD's output as its gradient. */
static void
check_equal(claimed *q)
{
  for (size_t k = 0; k < q->w->prog.n_outputs * q->w->n_wrt; k++)
    require(interval_compare(output_gradient(q->w, k), &q->ad[k]) == 0, "entry %zu of AD's output is not this leaf's",
            k);
}

/* <v, gradient> is certainly below AD's; the largest is kept. */
static void
check_below(claimed *q, const interval *theirs)
{
  int order = interval_compare(q->ours, theirs);
  if (order == 2)
    leave(UNDECIDED, "whether AD's output is separated from this leaf is not decided by %d bits", MAX_BITS);
  require(order == 1, "AD's output is not separated from this leaf");
  if (q->first || mpq_cmp(&theirs->hi, &q->most->hi) > 0)
    interval_set(q->most, &theirs->lo, &theirs->hi);
  q->first = false;
}

/* The gradient at a tree's leaf is AD's output, or, where there is a separator, below it. */
static void
check_leaf(void *of, const size_t *choices, size_t depth)
{
  claimed *q = of;
  INTERVAL(theirs);
  (void)choices;
  (void)depth;
  q->enclosed = q->enclosed || follow_open(q->w);
  if (q->separator == NULL) {
    check_equal(q);
    return;
  }
  dot(q, &theirs, q->separator, false);
  check_below(q, &theirs);
}

/* The cone's gradient is below AD's output. */
static void
check_cone(void *of, const rational *gradient)
{
  claimed *q = of;
  INTERVAL(theirs);
  for (size_t k = 0; k < q->w->prog.n_outputs * q->w->n_wrt; k++)
    interval_add(&theirs, &q->separator[k], &gradient[k]);
  check_below(q, &theirs);
}

/* Writes the vector and the two numbers it keeps apart. */
static void
check_separator(claimed *q)
{
  size_t n = q->w->prog.n_outputs * q->w->n_wrt;
  interval *v = intervals(n);
  INTERVAL(of_ad);
  INTERVAL(of_leaf);
  next_line("v");
  for (size_t k = 0; k < n; k++) {
    next_rational(&v[k].lo);
    mpq_set(&v[k].hi, &v[k].lo);
  }
  dot(q, &of_ad, v, true);
  q->separator = v;
  q->ours = &of_ad;
  q->most = &of_leaf;
  q->first = true;
  size_t leaves = line_is("cones") ? q->rules->cones(&q->w->prog, q->w->n_wrt, check_cone, q)
                                   : q->rules->tree(q->w, true, check_leaf, q);
  require(leaves > 0, "a tree without a leaf");
  fputs("It is separated by v = ", account);
  put_rows(q->w, v);
  fputs(": <v, AD> = ", account);
  put_number(&of_ad);
  fputs(", but <v, gradient> is at most ", account);
  put_most(&of_leaf);
  fprintf(account,
          q->enclosed ? "\nat every limit of gradients; they are in %zu enclosures.\n"
                      : "\nat every limit of gradients; there are %zu or fewer.\n",
          leaves);
}

void
check_program_evidence(walk *of, const char *verdict, const interval *ad, const evidence_rules *rules)
{
  claimed all = {.w = of, .ad = ad, .rules = rules}, *q = &all;
  bool bouligand = strcmp(verdict, "in-bouligand") == 0, outside = *verdict == 'n';
  next_line("evidence");
  const char *word = next_word();
  if (strcmp(word, "ad") == 0 && bouligand) {
    check_hull(q, 1, true);
  } else if (strcmp(word, "hull") == 0 && !outside) {
    size_t n = next_number();
    require(n >= 1 && (n == 1 || !bouligand), "a hull has one cell or more; one for this verdict");
    check_hull(q, n, false);
  } else if (strcmp(word, "unanimous") == 0 && bouligand) {
    q->rules->tree(q->w, true, check_leaf, q);
  } else {
    require(strcmp(word, "separator") == 0 && outside, "'%s' does not prove %s", word, verdict);
    check_separator(q);
  }
  last_line();
}
