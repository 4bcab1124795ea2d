/* Forks along an arc, and what all ways have. */
#include "check/program/program_fork.h"
#include "check/base/allocate.h"

void
forks_clear(walk *w)
{
  for (size_t i = 0; i < w->fork.n_decisions; i++) {
    intervals_free(w->fork.decisions[i].gradient, w->n_wrt);
    polynomial_clear(&w->fork.decisions[i].q);
  }
  w->fork.n_used = w->fork.n_decisions = 0;
  w->fork.stopped = false;
}

/* Is a less b (b == NONE: less a kink), zero at the point, identically zero near it? */
bool
identical(walk *w, size_t a, size_t b)
{
  bool equal = true;
  if (a == b)
    return true;
  if (w->states[a].degree > 1 || (b != NONE && w->states[b].degree > 1)) {
    polynomial t = {.known = b != NONE};
    if (b != NONE) {
      add_polynomial(w, &t, &plus_one, a);
      add_polynomial(w, &t, &minus_one, b);
    }
    equal = t.known && t.n == 0;
    polynomial_clear(&t);
    return equal;
  }
  for (size_t k = 0; k < w->n_wrt && equal; k++)
    equal =
        b == NONE ? interval_zero(&w->states[a].g[k]) : interval_compare(&w->states[a].g[k], &w->states[b].g[k]) == 0;
  return equal;
}

/* The sign of the first nonzero coefficient of a less b along the arc; 0 when none is found, 2 when it is not told. */
static int
leading_if_told(walk *w, size_t a, size_t b)
{
  const interval nought = {zero, zero};
  int sign = 0;
  for (size_t k = 1; k < w->n_terms && sign == 0; k++) {
    INTERVAL(t);
    if (a != NONE)
      interval_add(&t, &w->states[a].s[k], &plus_one);
    if (b != NONE)
      interval_add(&t, &w->states[b].s[k], &minus_one);
    sign = interval_compare(&t, &nought);
  }
  return sign;
}

/* The same; UNDECIDED when it is not told. */
int
leading(walk *w, size_t a, size_t b)
{
  int sign = leading_if_told(w, a, b);
  if (sign == 2)
    leave(UNDECIDED, "cannot decide the sign of a decision along the arc with intervals of %d bits", MAX_BITS);
  return sign;
}

/* A fork at an instruction: which of n numbers is the largest near the point (up: the least)? */
size_t
fork_at(walk *w, size_t at, size_t n, const size_t *y, bool up)
{
  size_t c = 0;
  bool told = true; /* it does not matter which of two others is larger */
  if (w->fork.stopped)
    return 0;
  if (w->mode == BY_CHOICES || w->mode == ALONG_LINES)
    return w->fork.largest(w, at, n, y, up);
  for (bool first = false; !first && c < n; c += !first) {
    first = true;
    for (size_t j = 0; j < n && first; j++) {
      int sign = j == c ? 0 : leading_if_told(w, y[c], y[j]);
      first = j == c || sign == (up ? -1 : 1);
      told = told && sign != 2;
    }
  }
  if (c == n && !told)
    leave(UNDECIDED, "cannot decide which is larger along the arc with intervals of %d bits", MAX_BITS);
  require(c < n, "%s: the arc does not tell what is larger", place(w, at).text);
  w->fork.arc_choices = grow(w->fork.arc_choices, w->fork.n_used, sizeof *w->fork.arc_choices);
  w->fork.arc_choices[w->fork.n_used++] = c;
  return c;
}

/* What is left of an instruction that is zero at the point when factors that are not are left out;
 * *negative: their product is. */
static size_t
without_factors(walk *w, size_t a, bool *negative)
{
  const interval nought = {zero, zero};
  for (*negative = false; interval_zero(w->states[a].s);) {
    const instruction *i = &w->prog.instructions[a];
    size_t kept = 0, terms = 0;
    int sign = 0;
    RATIONAL(numbers);
    RATIONAL(t);
    if (i->kind == A_PRODUCT || i->kind == A_QUOTIENT) {
      kept = interval_zero(w->states[i->in[0]].s) ? 0 : 1;
      sign = interval_compare(w->states[i->in[1 - kept]].s, &nought);
    }
    for (size_t k = 0; i->kind == A_SUM && k < i->n; k++) { /* one term, beside numbers that add up to 0 */
      const instruction *x = &w->prog.instructions[i->in[k]];
      if (x->kind == A_CONSTANT) {
        mpq_mul(&t, &i->c[k], x->c);
        mpq_add(&numbers, &numbers, &t);
        continue;
      }
      kept = k;
      terms++;
      sign = mpq_sgn(&i->c[k]);
    }
    if (terms > 1 || mpq_sgn(&numbers) != 0 || (sign != 1 && sign != -1))
      break;
    a = i->in[kept];
    *negative = *negative != (sign < 0);
  }
  return a;
}

/* The sign near the point of a less b, zero there. */
int
sign_near(walk *w, size_t at, size_t a, size_t b)
{
  bool negative = false;
  size_t y[2] = {b == NONE ? without_factors(w, a, &negative) : a, b};
  if (identical(w, y[0], b))
    return 0;
  if (w->mode == ALONG_LINES) {
    int sign = w->fork.sign(w, at, y[0], b);
    return sign == 0 ? ANY_SIDE : negative ? -sign : sign;
  }
  size_t c = fork_at(w, at, 2, y, !negative);
  return c == NONE ? ANY_SIDE : c == 1 ? 1 : -1;
}

/* Is it known not to be identically zero? */
bool
is_not_zero(walk *w, const decision *d)
{
  bool sure = d->q.known && d->q.n > 0;
  for (size_t k = 0; k < w->n_wrt && !sure; k++)
    sure = mpq_sgn(&d->gradient[k].lo) > 0 || mpq_sgn(&d->gradient[k].hi) < 0;
  return sure;
}
