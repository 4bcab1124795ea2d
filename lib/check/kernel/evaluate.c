/* Values and tangents, when they are asked for. */
#include "check/kernel/evaluate.h"
#include "check/base/allocate.h"
#include "check/kernel/smooth.h"

#include <stdlib.h>

/* ---- Values */

const rational *
input_at(const point *p, const step *st, size_t e)
{
  const tensor *t = st->given != NULL ? st->given : p->x;
  return &t->value[e % p->net->batch * st->n + e / p->net->batch];
}

const interval *
argument(const point *p, const step *st, size_t e)
{
  source x = term_at(p, st, e, 0).x;
  return value_at(p, x.step, entry_of(p, x, e));
}

/* y += the sum of a LINEAR entry's terms; given tangents, of those in place of the values; or with move, of
 * the values by the factors' derivatives. */
static void
add_terms(const point *p, const step *st, size_t e, const motion *d, bool move, interval *y)
{
  bool exact = true; /* so far: then the sum's upper end is not held */
  RATIONAL(q);
  INTERVAL(sum);
  for (size_t i = 0; i < st->width; i++) {
    const term t = term_at(p, st, e, i);
    size_t from = entry_of(p, t.x, e);
    if (t.x.step == PADDING || (move ? t.by.w == NULL || !t.by.w->wrt : t.x.step == NONE && d != NULL))
      continue;
    weigh(st, &t.by, move, &q);
    if (move)
      mpq_mul(&q, &q, &t.by.w->move[t.by.at]);
    if (mpq_sgn(&q) == 0)
      continue;
    const interval *x = t.x.step == NONE ? &exactly_one
                        : d != NULL      ? tangent_at(d, t.x.step, from)
                                         : value_at(p, t.x.step, from);
    if (exact && !interval_exact(x)) {
      exact = false;
      mpq_set(&sum.hi, &sum.lo);
    }
    add_multiple(&sum.lo, &q, mpq_sgn(&q) < 0 ? &x->hi : &x->lo);
    if (!exact)
      add_multiple(&sum.hi, &q, mpq_sgn(&q) < 0 ? &x->lo : &x->hi);
  }
  mpq_canonicalize(&sum.lo);
  mpq_canonicalize(&sum.hi);
  if (exact)
    mpq_set(&sum.hi, &sum.lo);
  interval_add(y, &sum, &plus_one);
}

/* The derivative of piece i of a PIECEWISE step, at entry e. */
void
piece_slope(const point *p, const step *st, size_t e, size_t i, interval *d)
{
  const factor by = term_at(p, st, e, 0).by;
  const rational *c = i == 0 && by.w != NULL ? &by.w->value[by.at] : &st->piece[i][1];
  RATIONAL(twice);
  interval_set(d, c, c);
  mpq_add(&twice, &st->piece[i][2], &st->piece[i][2]);
  if (mpq_sgn(&twice) != 0)
    interval_add(d, argument(p, st, e), &twice);
}

static bool
zero_piece(const step *st, const factor *by, size_t i)
{
  const rational *c = st->piece[i];
  return (i > 0 || by->w == NULL) && mpq_sgn(&c[0]) == 0 && mpq_sgn(&c[1]) == 0 && mpq_sgn(&c[2]) == 0;
}

/* An entry of a PIECEWISE step whose place is known. */
static void
piece_value(const point *p, const step *st, size_t e, size_t i, interval *y)
{
  const interval *x = argument(p, st, e);
  const factor by = term_at(p, st, e, 0).by;
  INTERVAL(square);
  interval_add(y, x, i == 0 && by.w != NULL ? &by.w->value[by.at] : &st->piece[i][1]);
  interval_add(y, &exactly_one, &st->piece[i][0]);
  if (mpq_sgn(&st->piece[i][2]) == 0)
    return;
  interval_mul(&square, x, x);
  interval_add(y, &square, &st->piece[i][2]);
}

static const interval *
value_of(const point *p, const step *st, size_t e, size_t i)
{
  source x = term_at(p, st, e, i).x;
  return value_at(p, x.step, entry_of(p, x, e));
}

/* y += a c, two intervals of which one that is 0 leaves the other unread. An input's is read first: as labels are, by which a loss takes
 * few of its logarithms. */
static void
product_value(const point *p, const step *st, size_t e, interval *y)
{
  for (size_t i = 0; i < st->width; i += 2) {
    size_t second = term_at(p, st, e, i + 1).x.step, first = i + (p->net->steps[second].kind == INPUT);
    if (!interval_zero(value_of(p, st, e, first)))
      multiply_add(y, value_of(p, st, e, first), value_of(p, st, e, first ^ 1));
  }
}

const interval *
value_at(const point *p, size_t s, size_t e)
{
  const step *st = &p->net->steps[s];
  if (p->y[s][e] != NULL)
    return p->y[s][e];
  size_t i = p->place[s] != NULL ? p->place[s][e] & (TOUCHED - 1) : 0;
  if (st->length > 0)
    return p->net->smooth->line_values(p, s, e), p->y[s][e];
  const term t = st->width > 0 ? term_at(p, st, e, st->kind == WINDOW ? i : 0) : (term){.x = {NONE, 0}};
  if (st->kind == WINDOW)
    return value_at(p, t.x.step, entry_of(p, t.x, e));
  if (st->kind == PIECEWISE && zero_piece(st, &t.by, i))
    return &exactly_zero;
  interval *y = intervals(1);
  if (st->kind == INPUT)
    interval_add(y, &exactly_one, input_at(p, st, e));
  if (st->kind == LINEAR)
    add_terms(p, st, e, NULL, false, y);
  if (st->kind == PIECEWISE)
    piece_value(p, st, e, i, y);
  if (st->kind == PRODUCT)
    product_value(p, st, e, y);
  if (st->kind == FUNCTION)
    p->net->smooth->value(y, st->of, argument(p, st, e));
  if (st->kind == OVER_ROOT)
    multiply_add(y, &st->root[t.by.at], argument(p, st, e));
  interval_round(y);
  return p->y[s][e] = y;
}

bool
zero_at(const point *p, size_t s, size_t e)
{
  const step *st = &p->net->steps[s];
  return st->kind == INPUT ? mpq_sgn(input_at(p, st, e)) == 0 : interval_zero(value_at(p, s, e));
}

/* ---- Tangents */

void
slope_at(const point *p, size_t s, size_t e, const rational *slope, interval *d)
{
  size_t place = p->place[s][e];
  const touch *t = place >= TOUCHED ? &p->touched[place - TOUCHED] : NULL;
  if (t == NULL)
    piece_slope(p, &p->net->steps[s], e, place, d);
  else if (slope != NULL)
    interval_set(d, &slope[t->slope], &slope[t->slope]);
  else if (mpq_cmp(&t->left, &t->right) < 0)
    interval_set(d, &t->left, &t->right);
  else
    interval_set(d, &t->right, &t->left);
}

const interval *
argument_tangent(const motion *d, const step *st, size_t e)
{
  source x = term_at(d->p, st, e, 0).x;
  return tangent_at(d, x.step, entry_of(d->p, x, e));
}

static void
piece_tangent(const motion *d, size_t s, size_t e, interval *y)
{
  const step *st = &d->p->net->steps[s];
  const factor by = term_at(d->p, st, e, 0).by;
  INTERVAL(slope);
  slope_at(d->p, s, e, d->slope, &slope);
  if (!interval_zero(&slope))
    multiply_add(y, &slope, argument_tangent(d, st, e));
  if (d->p->place[s][e] == 0 && by.w != NULL && by.w->wrt)
    interval_add(y, argument(d->p, st, e), &by.w->move[by.at]);
}

/* y += the tangent of entry e of a WINDOW step. */
static void
window_tangent(const motion *d, size_t s, size_t e, interval *y)
{
  size_t from = read_step(&d->p->net->steps[s]), alone;
  const size_t *at;
  const rational *by;
  for (size_t n = options(d->p, s, e, d->slope, &at, &by, &alone), o = 0; o < n; o++)
    if (mpq_sgn(&by[o]) != 0)
      interval_add(y, tangent_at(d, from, at[o]), &by[o]);
}

/* y += da c + a dc. */
static void
product_tangent(const motion *d, const step *st, size_t e, interval *y)
{
  for (size_t i = 0; i < st->width; i++) {
    source x = term_at(d->p, st, e, i).x;
    const interval *dx = tangent_at(d, x.step, entry_of(d->p, x, e));
    if (!interval_zero(dx))
      multiply_add(y, dx, value_of(d->p, st, e, i ^ 1));
  }
}

const interval *
tangent_at(const motion *d, size_t s, size_t e)
{
  const step *st = &d->p->net->steps[s];
  if (!st->varies)
    return &exactly_zero;
  if (d->x[s][e] != NULL)
    return d->x[s][e];
  if (st->length > 0)
    return d->p->net->smooth->line_tangents(d, s, e), d->x[s][e];
  interval *y = intervals(1);
  if (st->kind == LINEAR) {
    add_terms(d->p, st, e, d, false, y);
    add_terms(d->p, st, e, NULL, true, y);
  }
  if (st->kind == PIECEWISE)
    piece_tangent(d, s, e, y);
  if (st->kind == OVER_ROOT)
    multiply_add(y, &st->root[term_at(d->p, st, e, 0).by.at], argument_tangent(d, st, e));
  if (st->kind == PRODUCT)
    product_tangent(d, st, e, y);
  if (st->kind == FUNCTION && !interval_zero(argument_tangent(d, st, e))) {
    d->p->net->smooth->slope(y, st->of, argument(d->p, st, e));
    interval_mul(y, y, argument_tangent(d, st, e));
  }
  if (st->kind == WINDOW)
    window_tangent(d, s, e, y);
  interval_round(y);
  return d->x[s][e] = y;
}

motion
tangents(const point *p, const rational *slope)
{
  motion d = {p, slope, allocate(p->net->n_steps, sizeof *d.x)};
  rationals_begin(p->net->move, p->net->n_wrt);
  for (size_t s = 0; s < p->net->n_steps; s++)
    d.x[s] = allocate(entries(p, s), sizeof *d.x[s]);
  return d;
}

void
tangents_free(motion *d)
{
  for (size_t s = 0; s < d->p->net->n_steps; s++) {
    for (size_t e = 0; e < entries(d->p, s); e++)
      intervals_free(d->x[s][e], 1);
    free(d->x[s]);
  }
  free(d->x);
}
