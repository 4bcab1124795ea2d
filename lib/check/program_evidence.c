/* The evidence of proofs about programs: followed along an arc, or down a tree (docs/proof-format.md, section 3). */
#include "program_evidence.h"
#include "allocate.h"
#include "forms.h"
#include "hold.h"
#include "lines.h"
#include "program_follow.h"
#include "program_fork.h"
#include "region_tree.h"

#include <stdlib.h>
#include <string.h>

#define MAX_ORDER 8 /* of t in the series along an arc */

static const interval *ad, *values; /* AD's output, row by row; the outputs' values */
static bool enclosed;               /* at some leaf: a norm of zeros, or what was left open */

static void
next_rationals(rational *q, size_t n)
{
  for (size_t k = 0; k < n; k++)
    next_rational(&q[k]);
}

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
  next_line("arc");
  size_t n_steps = next_number();
  require(n_steps <= MAX_ORDER, "an arc has %d steps at most", MAX_ORDER);
  rational *arc = rationals(n_steps * n_wrt);
  for (size_t r = 0; r < n_steps; r++) {
    next_line("step");
    next_rationals(arc + r * n_wrt, n_wrt);
  }
  follow_arc(arc, n_steps, n_steps > 0 ? MAX_ORDER + 1 : 1);
  check_limit();
  for (size_t k = 0; k < n_steps * n_wrt; k++)
    mpq_clear(&arc[k]);
  free(arc);
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

/* Decisions, all positive off a null set, whose positive combination is nowhere so: it is zero, or a sum
 * of squares of monomials, none times a positive number. */
static void
check_dead(void)
{
  size_t n = next_number(), from = 0;
  interval *sum = intervals(n_wrt);
  polynomial q = {0};
  RATIONAL(value);
  RATIONAL(t);
  require(n >= 1, "a combination of no decisions proves nothing");
  for (size_t i = 0; i < n; i++) {
    next_line("u");
    size_t k = next_number();
    next_rational(&value);
    require(k >= from && k < n_decisions, "decisions above, in increasing order, are expected");
    const decision *d = &decisions[k];
    require(mpq_sgn(&value) > 0, "positive values are expected");
    require(is_not_zero(d), "decision %zu may be zero", k);
    require(d->degree < 2 || d->q.known, "decision %zu is not known to be a polynomial", k);
    for (size_t e = 0; e < n_wrt && d->degree < 2; e++)
      interval_add(&sum[e], &d->gradient[e], &value);
    for (size_t m = 0; m < d->q.n && d->degree == 2; m++) {
      mpq_mul(&t, &value, &d->q.c[m]);
      add_term(&q, &t, d->q.e + m * n_wrt);
    }
    from = k + 1;
  }
  for (size_t e = 0; e < n_wrt && q.n > 0; e++) { /* q is known: 32 entries at most */
    unsigned char power[32] = {0};
    require(interval_exact(&sum[e]), "the combination of the decisions is not rational");
    power[e] = 1;
    if (mpq_sgn(&sum[e].lo) != 0)
      add_term(&q, &sum[e].lo, power);
    interval_set(&sum[e], &zero, &zero);
  }
  bool good = all_zero(sum, n_wrt);
  for (size_t m = 0; m < q.n; m++) {
    good = good && mpq_sgn(&q.c[m]) < 0;
    for (size_t e = 0; e < n_wrt; e++)
      good = good && q.e[m * n_wrt + e] % 2 == 0;
  }
  require(good, "the combination of the decisions is not zero, nor less by squares");
  intervals_free(sum, n_wrt);
  polynomial_clear(&q);
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

/* A leaf's <v, gradient> is certainly below AD's; the largest is kept. */
static void
check_below(const interval *v, const interval *ours, interval *most, bool first)
{
  INTERVAL(theirs);
  dot(&theirs, v, false);
  int order = interval_compare(ours, &theirs);
  if (order == 2)
    leave(UNDECIDED, "whether AD's output is separated from this leaf is not decided by %d bits", MAX_BITS);
  require(order == 1, "AD's output is not separated from this leaf");
  if (first || mpq_cmp(&theirs.hi, &most->hi) > 0)
    interval_set(most, &theirs.lo, &theirs.hi);
}

/* Every pattern near the point is a leaf or dead. With v (NULL: none) all leaves are below AD's output;
 * else they are equal to it. Returns their number. */
static size_t
check_tree(const interval *v, const interval *ours, interval *most)
{
  size_t depth = 0, leaves = 0, *choices = NULL, *among = NULL;
  next_line("tree");
  do {
    bool open = line_is("open");
    if (open || line_is("branch")) {
      choices = grow(choices, depth, sizeof *choices);
      among = grow(among, depth, sizeof *among);
      choices[depth] = 0;
      among[depth] = open ? 1 : next_number();
      require(open || among[depth] >= 2, "a branch has two choices or more");
      depth++;
      continue;
    }
    bool dead = line_is("dead");
    if (!dead)
      next_line("leaf");
    forks_choose(choices, among, depth, dead);
    follow_choices();
    require(n_used == depth, "there is no fork for each branch above");
    if (dead)
      check_dead();
    else {
      check_limit();
      leaves++;
      enclosed = enclosed || follow_open();
    }
    if (!dead && v == NULL)
      check_equal();
    if (!dead && v != NULL)
      check_below(v, ours, most, leaves == 1);
    for (; depth > 0 && choices[depth - 1] + 1 == among[depth - 1];)
      depth--;
    if (depth > 0)
      choices[depth - 1]++;
  } while (depth > 0);
  require(leaves > 0, "a tree without a leaf");
  return leaves;
}

/* Of a leaf of the cones: the numbers above, for check_cone. */
static const interval *cone_v, *cone_ours;
static interval *cone_most;
static bool cone_first;

/* The cone's gradient is certainly below AD's; the largest is kept. */
static void
check_cone(void)
{
  RATIONAL(theirs);
  RATIONAL(t);
  for (size_t k = 0; k < prog.n_outputs * n_wrt; k++) {
    size_t at = prog.outputs[k / n_wrt];
    mpz_set(mpq_numref(&t), &form_of(at)[k % n_wrt]);
    mpz_set(mpq_denref(&t), form_denominator(at));
    mpq_canonicalize(&t);
    mpq_mul(&t, &t, &cone_v[k].lo);
    mpq_add(&theirs, &theirs, &t);
  }
  require(mpq_cmp(&cone_ours->lo, &theirs) > 0, "AD's output is not separated from this leaf");
  if (cone_first || mpq_cmp(&theirs, &cone_most->hi) > 0)
    interval_set(cone_most, &theirs, &theirs);
  cone_first = false;
}

/* `cones`: the tree of a program that is piecewise linear in what varies, around the point (section 5). Returns the number of
 * leaves. */
static size_t
check_cones(const interval *v, const interval *ours, interval *most)
{
  cone_v = v;
  cone_ours = ours;
  cone_most = most;
  cone_first = true;
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
  INTERVAL(ours);
  INTERVAL(most);
  next_line("v");
  for (size_t k = 0; k < n; k++) {
    next_rational(&v[k].lo);
    mpq_set(&v[k].hi, &v[k].lo);
  }
  dot(&ours, v, true);
  size_t leaves = line_is("cones") ? check_cones(v, &ours, &most) : check_tree(v, &ours, &most);
  require(leaves > 0, "a tree without a leaf");
  fputs("It is separated by v = ", account);
  put_rows(v);
  fputs(": <v, AD> = ", account);
  put_number(&ours);
  fputs(", but <v, gradient> is at most ", account);
  put_most(&most);
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
    check_tree(NULL, NULL, NULL);
  } else {
    require(strcmp(word, "separator") == 0 && outside, "'%s' does not prove %s", word, verdict);
    check_separator();
  }
  last_line();
}
