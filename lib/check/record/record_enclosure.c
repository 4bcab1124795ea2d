/* Enclosures in doubles, or in GMP's numbers (record_enclosure.h). */
#include "check/record/record_enclosure.h"
#include "check/base/allocate.h"
#include "check/base/elementary.h"
#include "check/smooth/line.h"

#include <stdlib.h>

#define MOST_ARGUMENT 0x1p15 /* of a function that GMP's numbers are asked for in the place of doubles */

enclosure
enclosure_nought(bool doubles)
{
  return (enclosure){{0, 0}, doubles ? NULL : intervals(1)};
}

void
enclosure_clear(enclosure *x)
{
  intervals_free(x->z, x->z != NULL);
}

enclosure *
enclosures(size_t n, bool doubles)
{
  enclosure *x = allocate(n, sizeof *x);
  interval *z = doubles ? NULL : intervals(n);
  for (size_t i = 0; i < n && !doubles; i++)
    x[i].z = &z[i];
  return x;
}

void
enclosures_free(enclosure *x, size_t n)
{
  if (n > 0)
    intervals_free(x->z, n);
  free(x);
}

static size_t
rational_bytes(const rational *q)
{
  return (mpz_size(mpq_numref(q)) + mpz_size(mpq_denref(q))) * sizeof(mp_limb_t);
}

size_t
enclosure_bytes(const enclosure *x)
{
  return x->z == NULL ? 0 : sizeof *x->z + rational_bytes(&x->z->lo) + rational_bytes(&x->z->hi);
}

bool
enclosure_known(const enclosure *x)
{
  return x->z != NULL || (isfinite(x->d.lo) && isfinite(x->d.hi));
}

void
enclosure_get(interval *y, const enclosure *x)
{
  if (x->z != NULL)
    interval_set(y, &x->z->lo, &x->z->hi);
  else
    span_interval(y, x->d);
}

void
enclosure_put(enclosure *y, const interval *x)
{
  if (y->z != NULL)
    interval_set(y->z, &x->lo, &x->hi);
  else
    y->d = span_around(x);
}

void
enclosure_copy(enclosure *y, const enclosure *x)
{
  if (y->z != NULL)
    interval_set(y->z, &x->z->lo, &x->z->hi);
  else
    y->d = x->d;
}

void
enclosure_negate(enclosure *x)
{
  if (x->z == NULL) {
    x->d = span_negative(x->d);
    return;
  }
  mpq_neg(&x->z->lo, &x->z->lo);
  mpq_neg(&x->z->hi, &x->z->hi);
  mpq_swap(&x->z->lo, &x->z->hi);
}

bool
enclosure_zero(const enclosure *x)
{
  return x->z != NULL ? interval_zero(x->z) : span_zero(x->d);
}

/* ---- Algebra */

void
enclosure_add(enclosure *y, const enclosure *x)
{
  if (y->z != NULL)
    interval_add(y->z, x->z, &plus_one);
  else
    y->d = span_add(y->d, x->d);
}

void
enclosure_subtract(enclosure *y, const enclosure *x)
{
  if (y->z != NULL)
    interval_add(y->z, x->z, &minus_one);
  else
    y->d = span_add(y->d, span_negative(x->d));
}

void
enclosure_add_number(enclosure *y, const rational *q)
{
  if (y->z != NULL)
    interval_add(y->z, &exactly_one, q);
  else
    y->d = span_add(y->d, span_of(q));
}

multiple
multiple_of(const rational *q, bool doubles)
{
  return (multiple){doubles ? NULL : q, doubles ? span_of(q) : SPAN_UNKNOWN, bound_of(q)};
}

void
enclosure_add_times(enclosure *y, const enclosure *x, const multiple *c)
{
  if (y->z != NULL)
    interval_add(y->z, x->z, c->q);
  else
    y->d = span_add(y->d, span_times(x->d, c->d));
}

void
enclosure_multiply(enclosure *y, const enclosure *a, const enclosure *b)
{
  if (y->z != NULL)
    interval_mul(y->z, a->z, b->z);
  else
    y->d = span_times(a->d, b->d);
}

void
enclosure_add_product(enclosure *y, const enclosure *a, const enclosure *b)
{
  if (y->z != NULL)
    multiply_add(y->z, a->z, b->z);
  else
    y->d = span_add(y->d, span_times(a->d, b->d));
}

void
enclosure_round(enclosure *x)
{
  if (x->z != NULL)
    interval_round(x->z);
}

/* ---- Functions */

/* By GMP's numbers. */
static void
enclose_by(enclosure *y, function f, const enclosure *x, void (*of)(interval *y, function f, const interval *x))
{
  INTERVAL(t);
  if (y->z != NULL) {
    of(y->z, f, x->z);
    return;
  }
  bool small = function_has_domain(f) || (fabs(x->d.lo) < MOST_ARGUMENT && fabs(x->d.hi) < MOST_ARGUMENT);
  bool known = small && span_interval(&t, x->d) && function_holds(f, &t, true);
  if (known)
    of(&t, f, &t);
  y->d = known ? span_around(&t) : SPAN_UNKNOWN;
}

void
enclosure_value(enclosure *y, function f, const enclosure *x)
{
  if (y->z == NULL && f == F_EXP)
    y->d = span_exp(x->d);
  else if (y->z == NULL && f == F_NORMAL_TANH)
    y->d = span_normal_tanh(x->d, NULL);
  else if (y->z == NULL && f == F_RECIPROCAL)
    y->d = span_inverse(x->d);
  else
    enclose_by(y, f, x, function_value);
}

void
enclosure_slope(enclosure *y, function f, const enclosure *x)
{
  if (y->z == NULL && f == F_EXP)
    y->d = span_exp(x->d);
  else if (y->z == NULL && f == F_NORMAL_TANH)
    span_normal_tanh(x->d, &y->d);
  else if (y->z == NULL && f == F_SOFTPLUS)
    y->d = span_logistic(x->d);
  else if (y->z == NULL && f == F_LOG)
    y->d = span_inverse(x->d);
  else
    enclose_by(y, f, x, function_slope);
}

/* x - top - log of what exp(x - top) add up to, which is about 1 at least. */
static void
log_shares(enclosure *x, size_t n, span total, double top)
{
  INTERVAL(t);
  span less = SPAN_UNKNOWN;
  if (span_interval(&t, total) && mpq_sgn(&t.lo) > 0) {
    function_value(&t, F_LOG, &t);
    less = span_add(span_around(&t), (span){top, top});
  }
  for (size_t i = 0; i < n; i++)
    x[i].d = span_add(x[i].d, span_negative(less));
}

void
enclosure_softmax(enclosure *x, size_t n, bool log)
{
  if (x->z != NULL) {
    interval_softmax(x->z, x->z, n, 1, log);
    return;
  }
  span *y = allocate(2 * n, sizeof *y), total;
  double top;
  for (size_t i = 0; i < n; i++)
    y[n + i] = x[i].d;
  span_shares(y, y + n, n, &total, &top);
  if (log)
    log_shares(x, n, total, top);
  for (size_t i = 0; i < n && !log; i++)
    x[i].d = y[i];
  free(y);
}

void
enclosure_centre(enclosure *x, size_t n)
{
  span sum = {0, 0}, times = {(double)n, (double)n};
  if (x->z != NULL) {
    centre(x->z, n);
    return;
  }
  for (size_t i = 0; i < n; i++)
    sum = span_add(sum, x[i].d);
  sum = span_negative(sum);
  for (size_t i = 0; i < n; i++)
    x[i].d = n == 1 ? (span){0, 0} : span_add(span_times(x[i].d, times), sum);
}

/* Both ends become multiples of a power of two, by as many digits as the session's; the number may be large or small. */
static void
over_powers(interval *r)
{
  size_t top = mpz_sizeinbase(mpq_numref(&r->lo), 2), bottom = mpz_sizeinbase(mpq_denref(&r->lo), 2);
  unsigned long bits = session_bits + (bottom > top ? bottom - top : 0);
  INTEGER(z);
  fixed(&z, &r->lo, bits, false);
  unfixed(&r->lo, &z, bits);
  fixed(&z, &r->hi, bits, true);
  unfixed(&r->hi, &z, bits);
}

void
enclosure_inverse_root(enclosure *r, const enclosure *c, size_t n, const rational *epsilon)
{
  span square = {0, 0}, by = span_inverse((span){(double)n, (double)n}), more = span_of(epsilon);
  if (r->z != NULL) {
    inverse_root(r->z, c->z, n, epsilon);
    over_powers(r->z);
    return;
  }
  for (size_t i = 0; i < n; i++)
    square = span_add(square, span_square(c[i].d));
  more = span_times(span_square((span){(double)n, (double)n}), more);
  enclosure root = {span_add(span_times(square, by), more), NULL};
  enclosure_value(&root, F_ROOT, &root);
  r->d = span_inverse(root.d);
}

/* ---- Sizes */

bound
least_size(const enclosure *x)
{
  if (x->z == NULL)
    return x->d.lo > 0 ? bound_of_double(x->d.lo) : x->d.hi < 0 ? bound_of_double(x->d.hi) : (bound){0, 0};
  if (mpq_sgn(&x->z->lo) > 0)
    return bound_of(&x->z->lo);
  return mpq_sgn(&x->z->hi) < 0 ? bound_of(&x->z->hi) : (bound){0, 0};
}

bool
enclosure_sharp(const enclosure *x, bound size)
{
  bound apart = x->z == NULL ? bound_of_double(x->d.hi - x->d.lo) : (bound){0, 0};
  return enclosure_known(x) && !bound_below(bound_scale(size, -16), apart);
}

static double
larger(double a, double b)
{
  return a > b ? a : b;
}

static bound
largest_size(const enclosure *x)
{
  RATIONAL(low);
  RATIONAL(high);
  if (x->z == NULL)
    return bound_of_double(span_above(larger(fabs(x->d.lo), fabs(x->d.hi))));
  mpq_abs(&low, &x->z->lo);
  mpq_abs(&high, &x->z->hi);
  return bound_above(mpq_cmp(&low, &high) > 0 ? &low : &high);
}

/* In doubles half of it is surely left, or nothing is said to be. */
bound
number_rest(const enclosure *x, bound off)
{
  bool told = x->z != NULL || (enclosure_known(x) && bound_below(bound_scale(off, 1), least_size(x)));
  return told ? bound_less(largest_size(x), off) : (bound){0, 0};
}

/* A difference that is rounded to 0 is 0. */
bool
enclosure_within(const enclosure *x, bound off, double d)
{
  double above = x->d.hi - d, below = d - x->d.lo;
  double most = larger(above != 0 ? span_above(above) : 0, below != 0 ? span_above(below) : 0);
  return isfinite(above) && isfinite(below) && isfinite(most) && !bound_below(off, bound_of_double(larger(most, 0)));
}
