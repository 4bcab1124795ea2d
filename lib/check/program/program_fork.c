/* Forks: by choices, along an arc; and what a choice decides. */
#include "check/program/program_fork.h"
#include "check/base/allocate.h"

size_t n_used, n_decisions, *arc_choices;
decision *decisions;
bool stopped;
static const size_t *choices, *among;
static size_t n_choices;
static bool dead;

void
forks_clear(void)
{
  for (size_t i = 0; i < n_decisions; i++) {
    intervals_free(decisions[i].gradient, n_wrt);
    polynomial_clear(&decisions[i].q);
  }
  n_used = n_decisions = 0;
  stopped = false;
}

void
forks_choose(const size_t *at, const size_t *of, size_t n, bool ends)
{
  choices = at;
  among = of;
  n_choices = n;
  dead = ends;
}

/* Is a less b (b == NONE: less a kink), zero at the point, identically zero near it? */
bool
identical(size_t a, size_t b)
{
  bool equal = true;
  if (a == b)
    return true;
  if (states[a].degree > 1 || (b != NONE && states[b].degree > 1)) {
    polynomial t = {.known = b != NONE};
    if (b != NONE) {
      add_polynomial(&t, &plus_one, a);
      add_polynomial(&t, &minus_one, b);
    }
    equal = t.known && t.n == 0;
    polynomial_clear(&t);
    return equal;
  }
  for (size_t k = 0; k < n_wrt && equal; k++)
    equal = b == NONE ? interval_zero(&states[a].g[k]) : interval_compare(&states[a].g[k], &states[b].g[k]) == 0;
  return equal;
}

/* The sign of the first nonzero coefficient of a less b along the arc; 0 when none is found. */
int
leading(size_t a, size_t b)
{
  int sign = 0;
  for (size_t k = 1; k < n_terms && sign == 0; k++) {
    INTERVAL(t);
    if (a != NONE)
      interval_add(&t, &states[a].s[k], &plus_one);
    if (b != NONE)
      interval_add(&t, &states[b].s[k], &minus_one);
    sign = interval_sign(&t, "the sign of a decision along the arc");
  }
  return sign;
}

/* The decision that `above` less `below` is positive; it is zero at the point. */
static void
decide(size_t above, size_t below)
{
  decision d = {intervals(n_wrt), 0, {.known = true}};
  for (int i = 0; i < 2; i++) {
    size_t y = i == 0 ? above : below;
    if (y == NONE)
      continue;
    add_polynomial(&d.q, i == 0 ? &plus_one : &minus_one, y);
    d.degree = states[y].degree > d.degree ? states[y].degree : d.degree;
    for (size_t k = 0; k < n_wrt; k++)
      interval_add(&d.gradient[k], &states[y].g[k], i == 0 ? &plus_one : &minus_one);
  }
  if (d.q.known && (above == NONE || below == NONE)) { /* less the kink */
    static const unsigned char e[32];
    RATIONAL(kink);
    (above == NONE ? mpq_set : mpq_neg)(&kink, &states[above == NONE ? below : above].s->lo);
    if (mpq_sgn(&kink) != 0)
      add_term(&d.q, &kink, e);
  }
  decisions = grow(decisions, n_decisions, sizeof d);
  decisions[n_decisions++] = d;
}

/* By choices: what is chosen, and its decisions. */
static size_t
choose(size_t at, size_t n, const size_t *y, bool up)
{
  require(n_used < n_choices, "%s: the leaf is before a fork of %zu choices", place(at), n);
  require(among[n_used] == n || among[n_used] == 1, "%s: this fork has %zu choices", place(at), n);
  size_t c = among[n_used] == 1 ? NONE : choices[n_used];
  n_used++;
  for (size_t j = 0; j < n && c != NONE; j++)
    if (j != c)
      decide(up ? y[j] : y[c], up ? y[c] : y[j]);
  stopped = dead && n_used == n_choices;
  return c;
}

/* A fork at an instruction: which of n numbers is the largest near the point (up: the least)? */
size_t
fork_at(size_t at, size_t n, const size_t *y, bool up)
{
  size_t c = 0;
  if (stopped)
    return 0;
  if (mode == BY_CHOICES)
    return choose(at, n, y, up);
  for (bool first = false; !first && c < n; c += !first) {
    first = true;
    for (size_t j = 0; j < n && first; j++)
      first = j == c || leading(y[c], y[j]) == (up ? -1 : 1);
  }
  require(c < n, "%s: the arc does not tell what is larger", place(at));
  arc_choices = grow(arc_choices, n_used, sizeof *arc_choices);
  arc_choices[n_used++] = c;
  return c;
}

/* What is left of an instruction that is zero at the point when factors that are not are left out;
 * *negative: their product is. */
static size_t
without_factors(size_t a, bool *negative)
{
  const interval nought = {zero, zero};
  for (*negative = false; interval_zero(states[a].s);) {
    const instruction *i = &prog.instructions[a];
    size_t kept = 0, terms = 0;
    int sign = 0;
    if (i->kind == A_PRODUCT || i->kind == A_QUOTIENT) {
      kept = interval_zero(states[i->in[0]].s) ? 0 : 1;
      sign = interval_compare(states[i->in[1 - kept]].s, &nought);
    }
    for (size_t k = 0; i->kind == A_SUM && k < i->n; k++) { /* one term, beside constants 0 */
      const instruction *x = &prog.instructions[i->in[k]];
      if (x->kind == A_CONSTANT && mpq_sgn(x->c) == 0)
        continue;
      kept = k;
      terms++;
      sign = mpq_sgn(&i->c[k]);
    }
    if (terms > 1 || (sign != 1 && sign != -1))
      break;
    a = i->in[kept];
    *negative = *negative != (sign < 0);
  }
  return a;
}

/* The sign near the point of a less b, zero there. */
int
sign_near(size_t at, size_t a, size_t b)
{
  bool negative = false;
  size_t y[2] = {b == NONE ? without_factors(a, &negative) : a, b};
  size_t c = identical(y[0], b) ? NONE : fork_at(at, 2, y, !negative);
  return identical(y[0], b) ? 0 : c == NONE ? ANY_SIDE : c == 1 ? 1 : -1;
}

/* Is it known not to be identically zero? */
bool
is_not_zero(const decision *d)
{
  bool sure = d->q.known && d->q.n > 0;
  for (size_t k = 0; k < n_wrt && !sure; k++)
    sure = mpq_sgn(&d->gradient[k].lo) > 0 || mpq_sgn(&d->gradient[k].hi) < 0;
  return sure;
}
