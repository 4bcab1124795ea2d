/* The evidence of proofs about programs: followed along an arc, or down a tree (docs/proof-format.md, section 3). */
#include "check/program/program_evidence.h"
#include "check/base/allocate.h"
#include "check/program/forms.h"
#include "check/program/hold.h"
#include "check/base/lines.h"
#include "check/program/program_follow.h"
#include "check/program/program_tree.h"
#include "check/program/region_tree.h"

#include <stdlib.h>
#include <string.h>

static const interval *ad, *values; /* AD's output, row by row; the outputs' values */
static bool enclosed;               /* at some leaf: a norm of zeros, or what was left open */

/* Of a separator: the vector, its product with AD's output, and the largest with the gradient of a leaf or cone so far. */
static const interval *separator, *ours;
static interval *most;
static bool first;

const interval *
output_gradient(size_t k)
{
  return &states[prog.outputs[k / n_wrt]].g[k % n_wrt];
}

/* The output tends to its value at the point. */
static void
check_limit(void)
{
  for (size_t o = 0; o < prog.n_outputs && follow_moved(); o++)
    require(interval_compare(states[prog.outputs[o]].s, &values[o]) == 0,
            "output %zu jumps at the point, or cannot be told not to", o);
}

/* `arc R` and its steps: the pattern they follow. */
static void
check_arc(void)
{
  const rational *arc;
  size_t n_steps = read_arc(&arc);
  follow_arc(arc, n_steps, n_steps > 0 ? MAX_ORDER + 1 : 1);
  check_limit();
}

static void
check_hull(size_t cells, bool whole)
{
  size_t n = prog.n_outputs * n_wrt;
  interval *sum = intervals(n);
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
    check_arc();
    mpq_add(&total, &total, &weight);
    for (size_t k = 0; k < n; k++)
      interval_add(&sum[k], output_gradient(k), &weight);
  }
  require(mpq_equal(&total, &plus_one), "the weights do not sum to 1");
  for (size_t k = 0; k < n; k++) {
    bool rational_both = interval_exact(&sum[k]) && interval_exact(&ad[k]);
    bool same = whole && !follow_moved() && states[prog.outputs[k / n_wrt]].same;
    require((same && !rational_both) || interval_compare(&sum[k], &ad[k]) == 0,
            "entry %zu of AD's output is not that of the gradients", k);
  }
  intervals_free(sum, n);
}

static void
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
put_rows(const interval *x)
{
  fputs(prog.n_outputs > 1 ? "((" : "(", account);
  for (size_t k = 0; k < prog.n_outputs * n_wrt; k++) {
    if (k > 0)
      fputs(k % n_wrt == 0 ? "), (" : ", ", account);
    put_number(&x[k]);
  }
  fputs(prog.n_outputs > 1 ? "))" : ")", account);
}

static void
dot(interval *y, const interval *v, bool output)
{
  interval_set(y, &zero, &zero);
  for (size_t k = 0; k < prog.n_outputs * n_wrt; k++)
    interval_addmul(y, &v[k], output ? &ad[k] : output_gradient(k));
}

/* The leaf at hand has AD's output as its gradient. */
static void
check_equal(void)
{
  for (size_t k = 0; k < prog.n_outputs * n_wrt; k++)
    require(interval_compare(output_gradient(k), &ad[k]) == 0, "entry %zu of AD's output is not this leaf's", k);
}

/* <v, gradient> is certainly below AD's; the largest is kept. */
static void
check_below(const interval *theirs)
{
  int order = interval_compare(ours, theirs);
  if (order == 2)
    leave(UNDECIDED, "whether AD's output is separated from this leaf is not decided by %d bits", MAX_BITS);
  require(order == 1, "AD's output is not separated from this leaf");
  if (first || mpq_cmp(&theirs->hi, &most->hi) > 0)
    interval_set(most, &theirs->lo, &theirs->hi);
  first = false;
}

/* Of a tree's leaf: without a separator its gradient is AD's output, else it is below. */
static void
check_leaf(const size_t *choices, size_t depth)
{
  INTERVAL(theirs);
  (void)choices;
  (void)depth;
  check_limit();
  enclosed = enclosed || follow_open();
  if (separator == NULL) {
    check_equal();
    return;
  }
  dot(&theirs, separator, false);
  check_below(&theirs);
}

/* The cone's gradient is below AD's output. */
static void
check_cone(void)
{
  INTERVAL(theirs);
  RATIONAL(t);
  for (size_t k = 0; k < prog.n_outputs * n_wrt; k++) {
    size_t at = prog.outputs[k / n_wrt];
    mpz_set(mpq_numref(&t), &form_of(at)[k % n_wrt]);
    mpz_set(mpq_denref(&t), form_denominator(at));
    mpq_canonicalize(&t);
    interval_add(&theirs, &separator[k], &t);
  }
  check_below(&theirs);
}

/* `cones`: the tree of a program that is piecewise linear in what varies, around the point (section 5). Returns the number of
 * leaves. */
static size_t
check_cones(void)
{
  hold_constants(&prog);
  forms_begin(&prog, n_wrt);
  region_tree_begin(&prog, n_wrt, true);
  return region_tree_check(check_cone);
}

/* Writes the vector and the two numbers it keeps apart. */
static void
check_separator(void)
{
  size_t n = prog.n_outputs * n_wrt;
  interval *v = intervals(n);
  INTERVAL(of_ad);
  INTERVAL(of_leaf);
  next_line("v");
  for (size_t k = 0; k < n; k++) {
    next_rational(&v[k].lo);
    mpq_set(&v[k].hi, &v[k].lo);
  }
  dot(&of_ad, v, true);
  separator = v;
  ours = &of_ad;
  most = &of_leaf;
  first = true;
  size_t leaves = line_is("cones") ? check_cones() : check_tree(true, check_leaf);
  require(leaves > 0, "a tree without a leaf");
  fputs("It is separated by v = ", account);
  put_rows(v);
  fputs(": <v, AD> = ", account);
  put_number(&of_ad);
  fputs(", but <v, gradient> is at most ", account);
  put_most(&of_leaf);
  fprintf(account,
          enclosed ? "\nat every limit of gradients; they are in %zu enclosures.\n"
                   : "\nat every limit of gradients; there are %zu or fewer.\n",
          leaves);
}

void
check_program_evidence(const char *verdict, const interval *output, const interval *at_point)
{
  ad = output;
  values = at_point;
  bool bouligand = strcmp(verdict, "in-bouligand") == 0, outside = *verdict == 'n';
  next_line("evidence");
  const char *word = next_word();
  if (strcmp(word, "ad") == 0 && bouligand) {
    check_hull(1, true);
  } else if (strcmp(word, "hull") == 0 && !outside) {
    size_t n = next_number();
    require(n >= 1 && (n == 1 || !bouligand), "a hull has one cell or more; one for this verdict");
    check_hull(n, false);
  } else if (strcmp(word, "unanimous") == 0 && bouligand) {
    check_tree(true, check_leaf);
  } else {
    require(strcmp(word, "separator") == 0 && outside, "'%s' does not prove %s", word, verdict);
    check_separator();
  }
  last_line();
}
