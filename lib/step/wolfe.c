#include "step/wolfe.h"

#include "base/stop.h"
#include "step/piece.h"

#include <stdlib.h>
#include <string.h>

#define BITS CLARKE_STEP_PRECISION

typedef struct {
  const clarke_wolfe_search *s;
  clarke_wolfe_point begin, last, now, bracket[2];
  size_t turns, low; /* low: the one in the bracket whose loss is no larger */
  bool done, slow;   /* slow: the length before was close to an end of the bracket, and was left there */
  clarke_error *err;
  clarke_status status;
} search;

/* Where a length is between two bounds. */
typedef enum { BETWEEN, AT_LEAST, AT_MOST } place;

/* --- points --------------------------------------------------------------------------------------------------------- */

clarke_status
clarke_wolfe_point_init(clarke_wolfe_point *p, size_t n, clarke_error *err)
{
  clarke_number_init(&p->t);
  clarke_number_init(&p->loss);
  clarke_number_init(&p->slope);
  p->g = clarke_numbers(n);
  return p->g != NULL ? CLARKE_OK : clarke_no_memory(err);
}

void
clarke_wolfe_point_clear(clarke_wolfe_point *p, size_t n)
{
  clarke_number_clear(&p->t);
  clarke_number_clear(&p->loss);
  clarke_number_clear(&p->slope);
  if (p->g != NULL)
    clarke_numbers_free(p->g, n);
  p->g = NULL;
}

static void
point_set(clarke_wolfe_point *to, const clarke_wolfe_point *from, size_t n)
{
  clarke_number_set(&to->t, &from->t);
  clarke_number_set(&to->loss, &from->loss);
  clarke_number_set(&to->slope, &from->slope);
  for (size_t i = 0; i < n; i++)
    clarke_number_set(&to->g[i], &from->g[i]);
}

/* --- comparing ------------------------------------------------------------------------------------------------------- */

static bool
vague(search *w, const char *what)
{
  if (w->status == CLARKE_OK)
    w->status = clarke_fail(w->err, CLARKE_EVAGUE, "the line search, %s: lengths that are roots are enclosed, and that does not tell", what);
  return false;
}

/* The sign of a - b; 0, too, where that is not told. */
static int
order(search *w, const clarke_number *a, const clarke_number *b, const char *what)
{
  const int sign = clarke_number_compare(a, b, BITS);

  if (sign == 2)
    vague(w, what);
  return sign == 2 ? 0 : sign;
}

/* Is |x| below the limit, or (closed) at most it? 2: that is not told. */
static int
is_within(const clarke_number *x, const clarke_number *limit, bool closed)
{
  clarke_number minus;
  int above, below;

  clarke_number_init(&minus);
  clarke_number_sub(&minus, &minus, x, BITS);
  above = clarke_number_compare(x, limit, BITS);
  below = clarke_number_compare(&minus, limit, BITS);
  clarke_number_clear(&minus);
  if (above == 1 || below == 1 || (!closed && (above == 0 || below == 0)))
    return 0;
  return above == 2 || below == 2 ? 2 : 1;
}

/* y = a + num / den b */
static void
add_part(clarke_number *y, const clarke_number *a, long num, unsigned long den, const clarke_number *b)
{
  clarke_number move;
  mpq_t q;

  mpq_init(q);
  mpq_set_si(q, num, den);
  mpq_canonicalize(q);
  clarke_number_init(&move);
  clarke_number_addmul_q(&move, q, b, BITS);
  clarke_number_add(y, a, &move, BITS);
  clarke_piece_shorten(y);
  clarke_number_clear(&move);
  mpq_clear(q);
}

/* Is the loss at `now` above what the slope promises: f + c1 t g d, c1 = 1e-4? */
static bool
is_too_high(search *w)
{
  clarke_number bound;
  bool is;

  clarke_number_init(&bound);
  clarke_number_mul(&bound, &w->now.t, &w->begin.slope, BITS);
  add_part(&bound, &w->begin.loss, 1, 10000, &bound);
  is = order(w, &w->now.loss, &bound, "is the loss above what the slope promises") > 0;
  clarke_number_clear(&bound);
  return is;
}

/* Is the slope at `now` no steeper than c2 = 0.9 of the first? */
static bool
is_level(search *w)
{
  clarke_number bound;
  int is;

  clarke_number_init(&bound);
  add_part(&bound, &bound, -9, 10, &w->begin.slope);
  is = is_within(&w->now.slope, &bound, true);
  clarke_number_clear(&bound);
  return is == 2 ? vague(w, "is the slope level") : is == 1;
}

/* --- the cubic -------------------------------------------------------------------------------------------------------- */

/* d1 = g1 + g2 - 3 (f1 - f2) / (x1 - x2), and d1^2 - g1 g2; x1 is not x2. */
static void
discriminate(clarke_number *d1, clarke_number *square, const clarke_wolfe_point *a, const clarke_wolfe_point *b)
{
  clarke_number x, three;

  clarke_number_init(&x);
  clarke_number_init(&three);
  clarke_number_set_si(&three, 3);
  clarke_number_sub(&x, &a->t, &b->t, BITS);
  clarke_number_sub(d1, &a->loss, &b->loss, BITS);
  clarke_number_mul(d1, d1, &three, BITS);
  clarke_number_div(&x, d1, &x, BITS);
  clarke_number_add(d1, &a->slope, &b->slope, BITS);
  clarke_number_sub(d1, d1, &x, BITS);
  clarke_piece_shorten(d1);
  clarke_number_mul(square, d1, d1, BITS);
  clarke_number_mul(&x, &a->slope, &b->slope, BITS);
  clarke_number_sub(square, square, &x, BITS);
  clarke_piece_shorten(square);
  clarke_number_clear(&x);
  clarke_number_clear(&three);
}

/* t = b - (b - a) (gb + d2 - d1) / (gb - ga + 2 d2), a the shorter one. A division by 0 leads past an end, as in floats; 0 / 0 is no number.
 * Returns which end: BETWEEN is t itself. */
static place
divide(search *w, clarke_number *t, const clarke_wolfe_point *a, const clarke_wolfe_point *b, const clarke_number *d1, const clarke_number *d2)
{
  clarke_number above, below;
  place where = BETWEEN;
  int sign, by;

  clarke_number_init(&above);
  clarke_number_init(&below);
  clarke_number_add(&above, &b->slope, d2, BITS);
  clarke_number_sub(&above, &above, d1, BITS);
  clarke_number_sub(&below, &b->slope, &a->slope, BITS);
  add_part(&below, &below, 2, 1, d2);
  sign = clarke_number_sign(&above);
  by = clarke_number_sign(&below);
  if (by == 2 || (by == 0 && sign == 2))
    vague(w, "is the cubic's divisor 0");
  else if (by == 0 && sign == 0)
    w->status = clarke_fail(w->err, CLARKE_EINPUT, "the line search's cubic divides 0 by 0: PyTorch's length is NaN there");
  else if (by == 0)
    where = sign > 0 ? AT_LEAST : AT_MOST;
  else {
    clarke_number_div(&above, &above, &below, BITS);
    clarke_number_sub(&below, &b->t, &a->t, BITS);
    clarke_number_mul(&above, &above, &below, BITS);
    clarke_number_sub(t, &b->t, &above, BITS);
    clarke_piece_shorten(t);
  }
  clarke_number_clear(&above);
  clarke_number_clear(&below);
  return where;
}

/* t goes to the bound that it is past, if any. */
static place
clamp(search *w, clarke_number *t, place where, const clarke_number *least, const clarke_number *most)
{
  if (w->status != CLARKE_OK)
    return BETWEEN;
  if (where == BETWEEN && order(w, least, t, "is the cubic's lowest point in its bounds") >= 0)
    where = AT_LEAST;
  if (where == BETWEEN && order(w, t, most, "is the cubic's lowest point in its bounds") >= 0)
    where = AT_MOST;
  if (where != BETWEEN)
    clarke_number_set(t, where == AT_LEAST ? least : most);
  return where;
}

/* Where the cubic through two points is lowest; halfway between the bounds where it is so nowhere. t may be that of neither. */
static place
interpolate(search *w, clarke_number *t, const clarke_wolfe_point *a, const clarke_wolfe_point *b, const clarke_number *least, const clarke_number *most)
{
  clarke_number d1, square;
  const int way = order(w, &a->t, &b->t, "are two lengths equal");
  place where = BETWEEN;
  int sign;

  if (w->status == CLARKE_OK && way == 0)
    w->status = clarke_fail(w->err, CLARKE_EINPUT, "the line search has two equal lengths, and its cubic divides by 0");
  if (w->status != CLARKE_OK)
    return BETWEEN;
  clarke_number_init(&d1);
  clarke_number_init(&square);
  discriminate(&d1, &square, a, b);
  sign = clarke_number_sign(&square);
  if (sign == 2)
    vague(w, "has the cubic a lowest point");
  else if (sign < 0) {
    clarke_number_add(t, least, most, BITS);
    clarke_number_set_si(&d1, 0);
    add_part(t, &d1, 1, 2, t);
  } else {
    clarke_number_root(&square, &square, BITS);
    where = divide(w, t, way < 0 ? a : b, way < 0 ? b : a, &d1, &square);
    where = clamp(w, t, where, least, most);
  }
  clarke_number_clear(&d1);
  clarke_number_clear(&square);
  return where;
}

/* --- the search ------------------------------------------------------------------------------------------------------- */

/* `now` is where t is. */
static void
evaluate(search *w, const clarke_number *t)
{
  const clarke_number *g = NULL, *loss = NULL;

  if (w->status == CLARKE_OK)
    w->status = clarke_work_check(w->err);
  if (w->status == CLARKE_OK)
    w->status = w->s->evaluate(w->s->of, t, &g, &loss, w->err);
  if (w->status != CLARKE_OK)
    return;
  clarke_number_set(&w->now.t, t);
  clarke_number_set(&w->now.loss, loss);
  for (size_t i = 0; i < w->s->n; i++)
    clarke_number_set(&w->now.g[i], &g[i]);
  w->s->slope(w->s->of, &w->now.slope, w->now.g);
}

/* The lowest point first; of equals the first. */
static void
rank(search *w)
{
  w->low = order(w, &w->bracket[0].loss, &w->bracket[1].loss, "which loss is lower") <= 0 ? 0 : 1;
}

static void
enclose(search *w, const clarke_wolfe_point *a, const clarke_wolfe_point *b)
{
  point_set(&w->bracket[0], a, w->s->n);
  point_set(&w->bracket[1], b, w->s->n);
  rank(w);
}

/* A longer one, from the last two: no shorter than t + (t - last) / 100, no longer than 10 t. */
static void
lengthen(search *w)
{
  clarke_number t, least, most;

  clarke_number_init(&t);
  clarke_number_init(&least);
  clarke_number_init(&most);
  clarke_number_sub(&least, &w->now.t, &w->last.t, BITS);
  add_part(&least, &w->now.t, 1, 100, &least);
  add_part(&most, &most, 10, 1, &w->now.t);
  interpolate(w, &t, &w->last, &w->now, &least, &most);
  point_set(&w->last, &w->now, w->s->n);
  evaluate(w, &t);
  w->turns++;
  clarke_number_clear(&t);
  clarke_number_clear(&least);
  clarke_number_clear(&most);
}

/* Until two lengths have a good one between them, or one is good. */
static void
grow(search *w)
{
  while (w->status == CLARKE_OK && w->turns < w->s->most) {
    const bool high = is_too_high(w) || (w->turns > 1 && order(w, &w->now.loss, &w->last.loss, "has the loss fallen") >= 0);
    const bool level = !high && is_level(w);
    const int sign = clarke_number_sign(&w->now.slope);

    if (w->status != CLARKE_OK)
      return;
    if (!high && !level && sign == 2) {
      vague(w, "does the loss rise");
      return;
    }
    if (high || level || sign >= 0) {
      w->done = level;
      enclose(w, level ? &w->now : &w->last, &w->now);
      return;
    }
    lengthen(w);
  }
  if (w->status == CLARKE_OK)
    enclose(w, &w->begin, &w->now);
}

/* Is the bracket so small that theta would move by less than 1e-9 in it? PyTorch does not use its tolerance_change here. */
static bool
is_small(search *w, const clarke_number *length)
{
  clarke_number limit, move, one;
  int is = 1;

  clarke_number_init(&limit);
  clarke_number_init(&move);
  clarke_number_init(&one);
  clarke_number_set_si(&one, 1);
  add_part(&limit, &limit, 1, 1000000000, &one);
  for (size_t i = 0; i < w->s->n && is != 0; i++) {
    int below;

    clarke_number_mul(&move, length, &w->s->d[i], BITS);
    below = is_within(&move, &limit, false);
    is = below == 1 ? is : below;
  }
  clarke_number_clear(&limit);
  clarke_number_clear(&move);
  clarke_number_clear(&one);
  return is == 2 ? vague(w, "is its bracket below 1e-9") : is == 1;
}

/* A length that is closer to an end than a tenth of the bracket is moved there, if that is the second time, or it is the end. */
static void
keep_off(search *w, clarke_number *t, place where, const clarke_number *least, const clarke_number *most, const clarke_number *length)
{
  clarke_number rest[2], eps, zero;
  bool close, upper;

  clarke_number_init(&rest[0]);
  clarke_number_init(&rest[1]);
  clarke_number_init(&eps);
  clarke_number_init(&zero);
  add_part(&eps, &zero, 1, 10, length);
  clarke_number_sub(&rest[0], t, least, BITS);
  clarke_number_sub(&rest[1], most, t, BITS);
  close = where != BETWEEN || order(w, &rest[0], &eps, "is a length close to an end") < 0 || order(w, &rest[1], &eps, "is a length close to an end") < 0;
  if (close && (w->slow || where != BETWEEN)) {
    upper = where == AT_MOST || (where == BETWEEN && order(w, &rest[1], &rest[0], "which end is a length closer to") < 0);
    if (upper)
      clarke_number_sub(t, most, &eps, BITS);
    else
      clarke_number_add(t, least, &eps, BITS);
    clarke_piece_shorten(t);
    w->slow = false;
  } else
    w->slow = close;
  clarke_number_clear(&rest[0]);
  clarke_number_clear(&rest[1]);
  clarke_number_clear(&eps);
  clarke_number_clear(&zero);
}

/* The point becomes an end of the bracket. */
static void
take(search *w)
{
  const size_t n = w->s->n, high = 1 - w->low;
  clarke_number length;
  int sign, way;

  if (is_too_high(w) || order(w, &w->now.loss, &w->bracket[w->low].loss, "has the loss fallen") >= 0) {
    point_set(&w->bracket[high], &w->now, n);
    rank(w);
    return;
  }
  w->done = is_level(w);
  clarke_number_init(&length);
  clarke_number_sub(&length, &w->bracket[high].t, &w->bracket[w->low].t, BITS);
  way = clarke_number_sign(&length);
  sign = clarke_number_sign(&w->now.slope);
  clarke_number_clear(&length);
  if (!w->done && (way == 2 || sign == 2))
    vague(w, "does the loss rise");
  if (!w->done && way * sign >= 0)
    point_set(&w->bracket[high], &w->bracket[w->low], n);
  point_set(&w->bracket[w->low], &w->now, n);
}

/* Until a length is good, or the bracket small. */
static void
shrink(search *w)
{
  clarke_number t, length;

  clarke_number_init(&t);
  clarke_number_init(&length);
  while (w->status == CLARKE_OK && !w->done && w->turns < w->s->most) {
    const size_t longer = order(w, &w->bracket[0].t, &w->bracket[1].t, "which length is longer") <= 0;
    const clarke_number *least = &w->bracket[1 - longer].t, *most = &w->bracket[longer].t;
    place where;

    clarke_number_sub(&length, most, least, BITS);
    if (w->status != CLARKE_OK || is_small(w, &length) || w->status != CLARKE_OK)
      break;
    where = interpolate(w, &t, &w->bracket[0], &w->bracket[1], least, most);
    if (w->status == CLARKE_OK)
      keep_off(w, &t, where, least, most, &length);
    evaluate(w, &t);
    w->turns++;
    if (w->status == CLARKE_OK)
      take(w);
  }
  clarke_number_clear(&t);
  clarke_number_clear(&length);
}

clarke_status
clarke_wolfe_find(clarke_wolfe_point *found, const clarke_number *t, const clarke_wolfe_search *s, clarke_error *err)
{
  search w = {.s = s, .err = err, .status = CLARKE_OK};
  clarke_wolfe_point *const all[] = {&w.begin, &w.last, &w.now, &w.bracket[0], &w.bracket[1]};
  const size_t n_all = sizeof all / sizeof *all;

  for (size_t i = 0; i < n_all; i++) {
    const clarke_status status = clarke_wolfe_point_init(all[i], s->n, err);

    w.status = w.status == CLARKE_OK ? status : w.status;
  }
  if (w.status == CLARKE_OK) {
    point_set(&w.begin, found, s->n);
    point_set(&w.last, found, s->n);
    evaluate(&w, t);
    grow(&w);
    shrink(&w);
  }
  if (w.status == CLARKE_OK)
    point_set(found, &w.bracket[w.low], s->n);
  for (size_t i = 0; i < n_all; i++)
    clarke_wolfe_point_clear(all[i], s->n);
  return w.status;
}
