/* A Euclidean norm near the point (docs/proof-format.md, "Norms of zeros"). */
#include "check/program/program_norm.h"
#include "check/base/elementary.h"
#include "check/program/power_series.h"
#include "check/program/program_series.h"

/* The norm's series from its arguments', their terms from t^first on; and what these terms' norms give to the gradient: the
 * vector at t^first, which is not zero, over its norm. */
static void
norm_from(walk *w, size_t at, size_t first)
{
  const instruction *i = &w->prog.instructions[at];
  size_t n = w->n_terms - first;
  interval *square = intervals(n), *sum = intervals(n), *by = intervals(n), *y = w->states[at].s + first;
  INTERVAL(c);
  for (size_t k = 0; k < i->n; k++) {
    const interval *x = w->states[i->in[k]].s + first;
    series_mul(square, x, x, n);
    for (size_t t = 0; t < n; t++)
      add_limited(&sum[t], &square[t], &plus_one);
  }
  series_analytic(y, by, "sqrt", sum, n);
  for (size_t k = 0; k < i->n; k++) {
    series_div(&c, w->states[i->in[k]].s + first, y, 1);
    add_gradient(w, &w->states[at], &c, &w->states[i->in[k]]);
  }
  intervals_free(square, n);
  intervals_free(sum, n);
  intervals_free(by, n);
}

static bool
zeros_at(walk *w, size_t at, size_t term)
{
  const instruction *i = &w->prog.instructions[at];
  bool all = true;
  for (size_t k = 0; k < i->n; k++)
    all = all && interval_zero(&w->states[i->in[k]].s[term]);
  return all;
}

/* By choices nothing is known of the unit vector that the norm's derivative is, but that it is one (or, where the vector
 * stays zero, zero): in each entry of wrt the derivative is at most the norm of the arguments' derivatives. */
static void
enclose(walk *w, size_t at)
{
  const instruction *i = &w->prog.instructions[at];
  RATIONAL(largest);
  RATIONAL(square);
  for (size_t e = 0; e < w->n_wrt; e++) {
    interval *y = &w->states[at].g[e];
    RATIONAL(sum);
    for (size_t k = 0; k < i->n; k++) {
      const interval *x = &w->states[i->in[k]].g[e];
      mpq_neg(&largest, &x->lo);
      if (mpq_cmp(&largest, &x->hi) < 0)
        mpq_set(&largest, &x->hi);
      mpq_mul(&square, &largest, &largest);
      mpq_add(&sum, &sum, &square);
      limit_size(&sum);
    }
    sqrt_end(&y->hi, &sum, true);
    mpq_neg(&y->lo, &y->hi);
  }
  w->states[at].open = true;
}

/* Does line k move the vector? */
static bool
moves(walk *w, size_t at, size_t k)
{
  const interval nought = {zero, zero};
  const instruction *i = &w->prog.instructions[at];
  bool all = true, some = false;
  for (size_t j = 0; j < i->n; j++) {
    int sign = interval_compare(&w->states[i->in[j]].g[k], &nought);
    all = all && sign == 0;
    some = some || sign == 1 || sign == -1;
  }
  if (!all && !some)
    leave(UNDECIDED, "%s: where the directions lead is not decided with intervals of %d bits", place(w, at).text,
          MAX_BITS);
  return some;
}

/* Along lines the first that moves the vector gives the unit vector by which its gradients are multiplied; before it the norm stays 0. */
static void
norm_along(walk *w, size_t at)
{
  const instruction *i = &w->prog.instructions[at];
  INTERVAL(square);
  INTERVAL(sum);
  INTERVAL(length);
  INTERVAL(by);
  size_t k = 0;
  while (k < w->n_wrt && !moves(w, at, k))
    k++;
  if (k == w->n_wrt)
    return;
  for (size_t j = 0; j < i->n; j++) {
    interval_mul(&square, &w->states[i->in[j]].g[k], &w->states[i->in[j]].g[k]);
    add_limited(&sum, &square, &plus_one);
  }
  series_analytic(&length, &by, "sqrt", &sum, 1);
  for (size_t j = 0; j < i->n; j++) {
    series_div(&by, &w->states[i->in[j]].g[k], &length, 1);
    add_gradient(w, &w->states[at], &by, &w->states[i->in[j]]);
  }
}

bool
follow_norm(walk *w, size_t at, uint8_t top)
{
  bool touched = zeros_at(w, at, 0);
  state *y = &w->states[at];
  size_t first = 0;
  y->degree = top > 0 ? 2 : 0;
  while (touched && top > 0 && w->mode == ALONG_ARC && first < w->n_terms && zeros_at(w, at, first))
    first++;
  require(first < w->n_terms, "%s: the arc does not move a norm of zeros", place(w, at).text);
  if (!touched || first > 0)
    norm_from(w, at, first);
  if (first > 0)
    y->same = all_zero(y->g, w->n_wrt); /* AD takes zero */
  if (touched && top > 0 && w->mode == ALONG_LINES) {
    norm_along(w, at);
    y->same = all_zero(y->g, w->n_wrt); /* AD takes zero */
  }
  if (touched && top > 0 && w->mode == BY_CHOICES)
    enclose(w, at);
  return touched;
}

const smooth_functions all_smooth_functions = {series_analytic, follow_norm};
