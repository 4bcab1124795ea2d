/* Trees of choices, and what is dead in them (program_tree.h). */
#include "check/program/program_tree.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/base/tree.h"
#include "check/program/program_choices.h"
#include "check/program/program_follow.h"
#include "check/program/program_fork.h"

#include <stdlib.h>
#include <string.h>

#define MAX_REST 1200 /* terms of a division, beyond which it is given up */

/* A combination of decisions: of affine ones the gradients, of others polynomials. */
typedef struct {
  interval *linear;
  polynomial q;
} combination;

/* A term with the highest power of entry k, which is above 0; y->n: there is none. */
static size_t
leading_term(walk *w, const polynomial *y, size_t k)
{
  size_t most = y->n;
  for (size_t m = 0; m < y->n; m++)
    if (y->e[m * w->n_wrt + k] > (most == y->n ? 0 : y->e[most * w->n_wrt + k]))
      most = m;
  return most;
}

/* Is the polynomial <gradient, h> times another? Long division in an entry of which the gradient is not 0: each step takes a term away,
 * and adds such of a lower power. */
static bool
has_linear_factor(walk *w, const polynomial *y, const interval *gradient)
{
  polynomial rest = {.known = true};
  size_t k = 0;
  RATIONAL(t);
  for (size_t e = 0; e < w->n_wrt; e++)
    if (!interval_exact(&gradient[e]))
      return false;
  while (k < w->n_wrt && interval_zero(&gradient[k]))
    k++;
  if (k == w->n_wrt || !y->known)
    return false;
  for (size_t m = 0; m < y->n; m++)
    add_term(w, &rest, &y->c[m], y->e + m * w->n_wrt);
  for (size_t m; rest.n <= MAX_REST && (m = leading_term(w, &rest, k)) < rest.n;) {
    unsigned char power[32] = {0};
    RATIONAL(c);
    memcpy(power, rest.e + m * w->n_wrt, w->n_wrt);
    power[k]--;
    mpq_div(&c, &rest.c[m], &gradient[k].lo);
    mpq_neg(&c, &c);
    for (size_t e = 0; e < w->n_wrt; e++) {
      power[e]++;
      mpq_mul(&t, &c, &gradient[e].lo);
      if (mpq_sgn(&t) != 0)
        add_term(w, &rest, &t, power);
      power[e]--;
    }
  }
  bool divides = rest.n == 0;
  polynomial_clear(&rest);
  return divides;
}

/* += value times the decision as it is; or, without the factor that is 1 at the point, what is linear but for one. */
static void
combine(walk *w, combination *y, const rational *value, const decision *d, bool without_factors)
{
  RATIONAL(t);
  bool linear = d->degree < 2 || (without_factors && has_linear_factor(w, &d->q, d->gradient));
  for (size_t e = 0; e < w->n_wrt && linear; e++)
    interval_add(&y->linear[e], &d->gradient[e], value);
  for (size_t m = 0; m < d->q.n && !linear; m++) {
    mpq_mul(&t, value, &d->q.c[m]);
    add_term(w, &y->q, &t, d->q.e + m * w->n_wrt);
  }
}

/* Is it nowhere positive: zero, or a sum of squares of monomials, none times a positive number? Ends it. */
static bool
is_nowhere_positive(walk *w, combination *y)
{
  for (size_t e = 0; e < w->n_wrt && y->q.n > 0; e++) { /* q is known: 32 entries at most */
    unsigned char power[32] = {0};
    require(interval_exact(&y->linear[e]), "the combination of the decisions is not rational");
    power[e] = 1;
    if (mpq_sgn(&y->linear[e].lo) != 0)
      add_term(w, &y->q, &y->linear[e].lo, power);
    interval_set(&y->linear[e], &zero, &zero);
  }
  bool good = all_zero(y->linear, w->n_wrt);
  for (size_t m = 0; m < y->q.n; m++) {
    good = good && mpq_sgn(&y->q.c[m]) < 0;
    for (size_t e = 0; e < w->n_wrt; e++)
      good = good && y->q.e[m * w->n_wrt + e] % 2 == 0;
  }
  intervals_free(y->linear, w->n_wrt);
  polynomial_clear(&y->q);
  return good;
}

/* Decisions, all positive off a null set, whose positive combination is nowhere so. */
static void
check_dead(walk *w)
{
  size_t n = next_number(), from = 0;
  combination whole = {.linear = intervals(w->n_wrt)}, without_factors = {.linear = intervals(w->n_wrt)};
  RATIONAL(value);
  require(n >= 1, "a combination of no decisions proves nothing");
  for (size_t i = 0; i < n; i++) {
    next_line("u");
    size_t k = next_number();
    next_rational(&value);
    require(k >= from && k < w->fork.n_decisions, "decisions above, in increasing order, are expected");
    const decision *d = &w->fork.decisions[k];
    require(mpq_sgn(&value) > 0, "positive values are expected");
    require(is_not_zero(w, d), "decision %zu may be zero", k);
    require(d->degree < 2 || d->q.known, "decision %zu is not known to be a polynomial", k);
    combine(w, &whole, &value, d, false);
    combine(w, &without_factors, &value, d, true);
    from = k + 1;
  }
  bool good = is_nowhere_positive(w, &whole);
  good = is_nowhere_positive(w, &without_factors) || good;
  require(good, "the combination of the decisions is not zero, nor less by squares");
}

/* A tree, and what is done at its leaves. */
typedef struct {
  walk *w;
  tree_path path;
  bool may_open;
  void (*at_leaf)(void *what, const size_t *choices, size_t depth);
  void *what;
} program_tree;

/* `branch M`, or an end at which the program was followed along the choices above. */
static size_t
read_tree(void *of)
{
  program_tree *t = of;
  const tree_path *path = &t->path;
  if (t->may_open && line_is("open"))
    return 1;
  if (line_is("branch")) {
    size_t among = next_number();
    require(among >= 2, "a branch has two choices or more");
    return among;
  }
  bool dead = line_is("dead");
  if (!dead)
    next_line("leaf");
  follow_choices(t->w, path->choice, path->among, path->depth, dead);
  require(t->w->fork.n_used == path->depth, "there is no fork for each branch above");
  if (dead)
    check_dead(t->w);
  else
    t->at_leaf(t->what, path->choice, path->depth);
  return dead ? TREE_REFUTED : TREE_LEAF;
}

size_t
check_tree(walk *w, bool may_open, void (*at_leaf)(void *what, const size_t *choices, size_t depth), void *what)
{
  static const tree_rules rules = {read_tree, NULL, NULL};
  program_tree t = {w, {0}, may_open, at_leaf, what};
  next_line("tree");
  return tree_read(&t.path, &rules, &t);
}
