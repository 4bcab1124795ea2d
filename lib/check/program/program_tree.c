/* Trees of choices, what is dead in them, and arcs (program_tree.h). */
#include "check/program/program_tree.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/program/program_follow.h"
#include "check/program/program_fork.h"

#include <stdlib.h>
#include <string.h>

size_t
read_arc(const rational **steps)
{
  static rational *arc;
  static size_t size;
  rationals_free(arc, size);
  next_line("arc");
  size_t n_steps = next_number();
  require(n_steps <= MAX_ORDER, "an arc has %d steps at most", MAX_ORDER);
  size = n_steps * n_wrt;
  arc = rationals(size);
  for (size_t k = 0; k < size; k++) {
    if (k % n_wrt == 0)
      next_line("step");
    next_rational(&arc[k]);
  }
  *steps = arc;
  return n_steps;
}

/* A combination of decisions: of affine ones the gradients, of others polynomials. */
typedef struct {
  interval *linear;
  polynomial q;
} combination;

/* += value times the decision as it is; or, without the factor that is 1 at the point, what is linear but for one. */
static void
combine(combination *y, const rational *value, const decision *d, bool without_factors)
{
  RATIONAL(t);
  bool linear = d->degree < 2 || (without_factors && has_linear_factor(&d->q, d->gradient));
  for (size_t e = 0; e < n_wrt && linear; e++)
    interval_add(&y->linear[e], &d->gradient[e], value);
  for (size_t m = 0; m < d->q.n && !linear; m++) {
    mpq_mul(&t, value, &d->q.c[m]);
    add_term(&y->q, &t, d->q.e + m * n_wrt);
  }
}

/* Is it nowhere positive: zero, or a sum of squares of monomials, none times a positive number? Ends it. */
static bool
is_nowhere_positive(combination *y)
{
  for (size_t e = 0; e < n_wrt && y->q.n > 0; e++) { /* q is known: 32 entries at most */
    unsigned char power[32] = {0};
    require(interval_exact(&y->linear[e]), "the combination of the decisions is not rational");
    power[e] = 1;
    if (mpq_sgn(&y->linear[e].lo) != 0)
      add_term(&y->q, &y->linear[e].lo, power);
    interval_set(&y->linear[e], &zero, &zero);
  }
  bool good = all_zero(y->linear, n_wrt);
  for (size_t m = 0; m < y->q.n; m++) {
    good = good && mpq_sgn(&y->q.c[m]) < 0;
    for (size_t e = 0; e < n_wrt; e++)
      good = good && y->q.e[m * n_wrt + e] % 2 == 0;
  }
  intervals_free(y->linear, n_wrt);
  polynomial_clear(&y->q);
  return good;
}

/* Decisions, all positive off a null set, whose positive combination is nowhere so. */
static void
check_dead(void)
{
  size_t n = next_number(), from = 0;
  combination whole = {.linear = intervals(n_wrt)}, without_factors = {.linear = intervals(n_wrt)};
  RATIONAL(value);
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
    combine(&whole, &value, d, false);
    combine(&without_factors, &value, d, true);
    from = k + 1;
  }
  bool good = is_nowhere_positive(&whole);
  good = is_nowhere_positive(&without_factors) || good;
  require(good, "the combination of the decisions is not zero, nor less by squares");
}

/* A way down the tree: at each fork the choice, and among how many. */
static size_t depth, *choices, *among;

/* `open` or `branch M`: a fork more. */
static void
go_down(bool open)
{
  choices = grow(choices, depth, sizeof *choices);
  among = grow(among, depth, sizeof *among);
  choices[depth] = 0;
  among[depth] = open ? 1 : next_number();
  require(open || among[depth] >= 2, "a branch has two choices or more");
  depth++;
}

/* To the next way; none is left at depth 0. */
static void
go_on(void)
{
  while (depth > 0 && choices[depth - 1] + 1 == among[depth - 1])
    depth--;
  if (depth > 0)
    choices[depth - 1]++;
}

size_t
check_tree(bool may_open, void (*at_leaf)(const size_t *choices, size_t depth))
{
  size_t leaves = 0;
  next_line("tree");
  do {
    bool open = may_open && line_is("open");
    if (open || line_is("branch")) {
      go_down(open);
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
    else
      at_leaf(choices, depth);
    leaves += !dead;
    go_on();
  } while (depth > 0);
  require(leaves > 0, "a tree without a leaf");
  return leaves;
}
