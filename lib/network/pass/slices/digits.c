/* Values in digits: room, sums that become digits, numbers cut into them. */
#include "network/pass/slices/slices.h"

#include "base/wide.h"
#include "exact/upward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Exponents of what is in digits: products of two are doubles far from overflow and underflow. */
#define FAR 400

void
clarke_sliced_drop(clarke_sliced *v)
{
  free(v->digit);
  free(v->norm);
  free(v->most);
  free(v->segment);
  *v = (clarke_sliced){0};
}

clarke_status
clarke_sliced_alloc(clarke_slicing *f, clarke_sliced *v, size_t rows, size_t planes, long low)
{
  *v = (clarke_sliced){.rows = rows, .planes = planes, .low = low, .scaled = INFINITY};
  if (planes > CLARKE_PLANES || labs(low) > FAR || labs(low + f->plan->width * (long)planes) > FAR) {
    f->lost = true;
    return CLARKE_EINPUT;
  }
  v->digit = malloc((planes * rows * f->n + 1) * sizeof *v->digit);
  v->norm = calloc(f->lanes, sizeof *v->norm);
  v->most = calloc(f->lanes, sizeof *v->most);
  return v->digit != NULL && v->norm != NULL && v->most != NULL ? CLARKE_OK : clarke_no_memory(f->err);
}

clarke_status
clarke_sliced_inherit(clarke_slicing *f, clarke_sliced *y, size_t value)
{
  clarke_sliced *x = &f->value[value];
  clarke_status status;

  if (f->last[value] == f->step) {
    *y = *x;
    y->scaled = INFINITY;
    *x = (clarke_sliced){0};
    return CLARKE_OK;
  }
  status = clarke_sliced_alloc(f, y, x->rows, x->planes, x->low);
  if (status == CLARKE_OK && x->segment != NULL) {
    const size_t n = f->plan->growths->segments[value].n;

    y->segment = malloc(n * sizeof *y->segment);
    if (y->segment == NULL)
      status = clarke_no_memory(f->err);
    else
      memcpy(y->segment, x->segment, n * sizeof *y->segment);
  }
  if (status != CLARKE_OK)
    return status;
  memcpy(y->digit, x->digit, x->planes * x->rows * f->n * sizeof *y->digit);
  memcpy(y->norm, x->norm, f->lanes * sizeof *y->norm);
  memcpy(y->most, x->most, f->lanes * sizeof *y->most);
  return CLARKE_OK;
}

static bool
is_zero(const float *digit, size_t n)
{
  for (size_t e = 0; e < n; e++)
    if (digit[e] != 0)
      return false;
  return true;
}

void
clarke_sliced_trim(const clarke_slicing *f, clarke_sliced *v)
{
  const size_t entries = v->rows * f->n;

  while (v->planes > 1 && is_zero(v->digit + (v->planes - 1) * entries, entries))
    v->planes--;
}

void
clarke_sliced_bound(const clarke_slicing *f, clarke_sliced *y, const clarke_sliced *x, double norm, double most,
                    double units)
{
  const double entries = (double)y->rows * (double)(f->n / f->lanes), own = units * ldexp(1, (int)y->low);

  for (size_t j = 0; j < f->lanes; j++) {
    const double size = clarke_slice_up(clarke_slice_up(norm * x->norm[j]) + clarke_slice_up(own * sqrt(entries)));

    y->most[j] = fmin(clarke_slice_up(clarke_slice_up(norm * x->norm[j]) + own),
                      clarke_slice_up(clarke_slice_up(most * x->most[j]) + own));
    y->norm[j] = fmin(size, clarke_slice_up(y->most[j] * sqrt(entries)));
  }
}

const clarke_scaling *
clarke_scaling_of(const clarke_slicing *f, size_t value)
{
  return f->plan->scaling != NULL && f->plan->scaling[value].row != NULL ? &f->plan->scaling[value] : NULL;
}

const clarke_segments *
clarke_segments_in(const clarke_slicing *f, size_t value)
{
  const clarke_growths *growths = f->plan->growths;

  return f->lanes == 1 && growths != NULL && growths->segments != NULL && growths->segments[value].n > 0
           ? &growths->segments[value] : NULL;
}

clarke_status
clarke_sliced_segment(clarke_slicing *f, size_t value)
{
  const clarke_segments *segments = clarke_segments_in(f, value);
  clarke_sliced *v = &f->value[value];

  if (segments == NULL)
    return CLARKE_OK;
  v->segment = malloc(segments->n * sizeof *v->segment);
  for (size_t k = 0; v->segment != NULL && k < segments->n; k++)
    v->segment[k] = INFINITY;
  return v->segment != NULL ? CLARKE_OK : clarke_no_memory(f->err);
}

void
clarke_sliced_settle(const clarke_slicing *f, size_t value)
{
  const clarke_scaling *scaling = clarke_scaling_of(f, value);
  clarke_sliced *v = &f->value[value];

  if (v->digit == NULL)
    return;
  if (scaling != NULL) {
    v->norm[0] = fmin(v->norm[0], clarke_slice_up(v->scaled / scaling->least));
    v->most[0] = fmin(v->most[0], v->norm[0]);
    v->scaled = fmin(v->scaled, clarke_slice_up(v->norm[0] * scaling->most));
  }
  for (size_t k = 0; v->segment != NULL && k < f->plan->growths->segments[value].n; k++)
    v->segment[k] = fmin(v->segment[k], scaling != NULL ? v->scaled : v->norm[0]);
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* v to digits on the grid of d->low: what is left of it is at most half a unit there. */
static bool
cut_integer(clarke_digits *d, mpz_t v, long width)
{
  mpz_t half;
  bool fits;

  mpz_init_set_ui(half, 1);
  mpz_mul_2exp(half, half, (mp_bitcnt_t)width - 1);
  for (d->planes = 0; mpz_sgn(v) != 0 && d->planes < CLARKE_PLANES; d->planes++) {
    mpz_add(v, v, half);
    d->digit[d->planes] = (double)mpz_fdiv_ui(v, 1UL << width) - (double)(1UL << (width - 1));
    mpz_fdiv_q_2exp(v, v, (mp_bitcnt_t)width);
  }
  fits = mpz_sgn(v) == 0;
  mpz_clear(half);
  return fits;
}

bool
clarke_digits_of_mpfr(clarke_digits *d, const mpfr_t v, long low, long width)
{
  mpfr_t scaled;
  mpz_t integer;
  bool fits;

  if (!mpfr_number_p(v))
    return false;
  mpfr_init2(scaled, mpfr_get_prec(v));
  mpz_init(integer);
  mpfr_mul_2si(scaled, v, -low, MPFR_RNDN);
  fits = mpfr_zero_p(scaled) || mpfr_get_exp(scaled) < width * (CLARKE_PLANES - 1);
  if (fits)
    mpfr_get_z(integer, scaled, MPFR_RNDN);
  d->low = low;
  fits = fits && cut_integer(d, integer, width);
  mpfr_clear(scaled);
  mpz_clear(integer);
  return fits;
}

bool
clarke_digits_of_double(clarke_digits *d, double v, long low, long width)
{
  mpfr_t exact;
  bool fits;

  mpfr_init2(exact, 53);
  mpfr_set_d(exact, v, MPFR_RNDN);
  fits = clarke_digits_of_mpfr(d, exact, low, width);
  mpfr_clear(exact);
  return fits;
}

bool
clarke_digits_exactly(clarke_digits *d, double v, long width)
{
  size_t zeros = 0;
  int exponent;

  frexp(v, &exponent);
  if (!clarke_digits_of_double(d, v, clarke_slice_grid(exponent - 53, width), width))
    return false;
  while (zeros < d->planes && d->digit[zeros] == 0)
    zeros++;
  memmove(d->digit, d->digit + zeros, (d->planes - zeros) * sizeof *d->digit);
  d->planes -= zeros;
  d->low += width * (long)zeros;
  return true;
}

/* --- blocks ----------------------------------------------------------------------------------- */

/* Where a place of unit 2^low is among y's planes; the guard's is -1. */
static long
place_of(const clarke_slicing *f, const clarke_sliced *y, long low)
{
  return (low - y->low) / f->plan->width;
}

size_t
clarke_slices_of_product(const clarke_slicing *f, long low, const clarke_digits *c, const clarke_sliced *x)
{
  const long top = (c->low + x->low - low) / f->plan->width + (long)(c->planes + x->planes);

  return c->planes == 0 || top < 0 ? 1 : (size_t)top + 2;
}

void
clarke_block_begin(clarke_slicing *f, size_t planes, size_t len)
{
  for (size_t k = 0; k <= planes + 1; k++)
    memset(f->sum + k * CLARKE_SLICE_BLOCK, 0, len * sizeof *f->sum);
}

/* The sums of place k; NULL: it lies below the guard and is left out, or above y's planes, and the pass is lost. */
static double *
sums_at(clarke_slicing *f, const clarke_sliced *y, long k)
{
  f->lost = f->lost || k > (long)y->planes;
  return k < -1 || k > (long)y->planes ? NULL : f->sum + (size_t)(k + 1) * CLARKE_SLICE_BLOCK;
}

void
clarke_block_add(clarke_slicing *f, const clarke_sliced *y, const clarke_digits *c, const clarke_sliced *x, size_t at,
                 size_t len)
{
  const long place = place_of(f, y, c->low + x->low);

  for (size_t b = 0; b < x->planes; b++) {
    const float *in = x->digit + b * x->rows * f->n + at;
    double digit[CLARKE_SLICE_BLOCK];

    for (size_t e = 0; e < len; e++)
      digit[e] = (double)in[e];
    for (size_t a = 0; a < c->planes; a++) {
      const double by = c->digit[a];
      double *sum = by != 0 ? sums_at(f, y, place + (long)(a + b)) : NULL;

      for (size_t e = 0; sum != NULL && e < len; e++)
        sum[e] += by * digit[e];
    }
  }
}

void
clarke_block_add_number(clarke_slicing *f, const clarke_sliced *y, const clarke_digits *c, const clarke_digits *v,
                        size_t len)
{
  const long place = place_of(f, y, c->low + v->low);

  for (size_t a = 0; a < c->planes; a++)
    for (size_t b = 0; b < v->planes; b++) {
      const double add = c->digit[a] * v->digit[b];
      double *sum = add != 0 ? sums_at(f, y, place + (long)(a + b)) : NULL;

      for (size_t e = 0; sum != NULL && e < len; e++)
        sum[e] += add;
    }
}

void
clarke_block_end(clarke_slicing *f, clarke_sliced *y, size_t at, size_t len)
{
  const double unit = ldexp(1, (int)f->plan->width), part = 1 / unit;

  for (size_t k = 0; k <= y->planes; k++) {
    double *sum = f->sum + k * CLARKE_SLICE_BLOCK, *next = sum + CLARKE_SLICE_BLOCK;
    float *to = y->digit + (k > 0 ? k - 1 : 0) * y->rows * f->n + at;

    for (size_t e = 0; k == 0 && e < len; e++)
      next[e] += clarke_nearest_integer(sum[e] * part);
    for (size_t e = 0; k > 0 && e < len; e++) {
      const double carry = clarke_nearest_integer(sum[e] * part);

      to[e] = (float)(sum[e] - carry * unit);
      next[e] += carry;
    }
  }
  for (size_t e = 0; e < len; e++) /* there are planes enough */
    f->lost = f->lost || f->sum[(y->planes + 1) * CLARKE_SLICE_BLOCK + e] != 0;
}

/* Entries whose sums of a place are made together: as many as registers hold, four by four. */
#define LANE ((size_t)16)
typedef double four __attribute__((vector_size(32), aligned(8), may_alias));
typedef float four_digits __attribute__((vector_size(16), aligned(4), may_alias));

/* A block of y = c x + t: its digits plane by plane, `stride` apart. */
typedef struct {
  const double *c, *x, *t; /* digits of c; x's, plane by plane of a block; what is added at each place, from the guard's up */
  size_t c_planes, x_planes, y_planes, stride;
  long shift;              /* the place of the lowest products */
  double unit;
} block_line;

/* LANE entries from x on, of block b's x and of `to`; *over: is something carried beyond all planes? */
static inline void
lay_line(const block_line *b, const double *x, float *to, bool *over)
{
  const double part = 1 / b->unit, unit = b->unit, nearest = 0x1.8p52;
  four s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};

  for (long k = -1; k <= (long)b->y_planes; k++) {
    const long s = k - b->shift, from = s - (long)b->x_planes + 1;
    const double more = b->t[k + 1];
    float *digits = to + (size_t)(k < 0 ? 0 : k) * b->stride;
    four c0, c1, c2, c3;

    s0 += more, s1 += more, s2 += more, s3 += more;
    for (long a = from > 0 ? from : 0; a <= s && a < (long)b->c_planes; a++) {
      const double by = b->c[a];
      const four *in = (const four *)(x + (size_t)(s - a) * CLARKE_SLICE_BLOCK);

      s0 += by * in[0], s1 += by * in[1], s2 += by * in[2], s3 += by * in[3];
    }
    if (k == (long)b->y_planes)
      break;
    c0 = s0 * part + nearest - nearest, c1 = s1 * part + nearest - nearest;
    c2 = s2 * part + nearest - nearest, c3 = s3 * part + nearest - nearest;
    if (k >= 0) {
      ((four_digits *)digits)[0] = __builtin_convertvector(s0 - c0 * unit, four_digits);
      ((four_digits *)digits)[1] = __builtin_convertvector(s1 - c1 * unit, four_digits);
      ((four_digits *)digits)[2] = __builtin_convertvector(s2 - c2 * unit, four_digits);
      ((four_digits *)digits)[3] = __builtin_convertvector(s3 - c3 * unit, four_digits);
    }
    s0 = c0, s1 = c1, s2 = c2, s3 = c3;
  }
  for (size_t l = 0; l < 4; l++)
    *over = *over || s0[l] != 0 || s1[l] != 0 || s2[l] != 0 || s3[l] != 0;
}

/* false: there are too few planes. room: for LANE entries of all planes of y. */
CLARKE_WIDE static bool
run_line(const block_line *b, float *to, float *room, size_t len)
{
  bool over = false;
  size_t e = 0;

  for (; e + LANE <= len; e += LANE)
    lay_line(b, b->x + e, to + e, &over);
  if (e < len) {
    block_line last = *b;

    last.stride = LANE;
    lay_line(&last, b->x + e, room, &over); /* what is behind the end is 0, and adds to t alone */
    for (size_t k = 0; k < b->y_planes; k++)
      memcpy(to + k * b->stride + e, room + k * LANE, (len - e) * sizeof *to);
  }
  return !over;
}

/* The block's digits of all planes of x as doubles, zeros behind them up to a multiple of LANE. */
CLARKE_WIDE static void
widen_block(double *to, const float *digit, size_t stride, size_t planes, size_t len)
{
  for (size_t k = 0; k < planes; k++) {
    for (size_t e = 0; e < len; e++)
      to[k * CLARKE_SLICE_BLOCK + e] = (double)digit[k * stride + e];
    for (size_t e = len; e % LANE != 0; e++)
      to[k * CLARKE_SLICE_BLOCK + e] = 0;
  }
}

void
clarke_block_line(clarke_slicing *f, clarke_sliced *y, const clarke_digits *c, const clarke_sliced *x, const clarke_digits *t,
                  size_t from, size_t to, size_t len)
{
  double added[CLARKE_PLANES + 2] = {0};
  float room[CLARKE_PLANES * LANE];
  const block_line b = {.c = c->digit, .x = f->sum, .t = added, .c_planes = c->planes, .x_planes = x->planes,
                        .y_planes = y->planes, .stride = y->rows * f->n, .shift = place_of(f, y, c->low + x->low),
                        .unit = ldexp(1, (int)f->plan->width)};
  const long place = place_of(f, y, t->low);

  for (size_t a = 0; a < c->planes; a++)
    f->lost = f->lost || (c->digit[a] != 0 && b.shift + (long)(a + x->planes) - 1 > (long)y->planes);
  for (size_t k = 0; k < t->planes; k++) { /* those below the guard are left out, and there are planes enough */
    f->lost = f->lost || (t->digit[k] != 0 && place + (long)k > (long)y->planes);
    if (place + (long)k >= -1 && place + (long)k <= (long)y->planes)
      added[place + (long)k + 1] = t->digit[k];
  }
  widen_block(f->sum, x->digit + from, x->rows * f->n, x->planes, len);
  f->lost = !run_line(&b, y->digit + to, room, len) || f->lost;
}

/* --- entries as doubles ------------------------------------------------------------------------ */

CLARKE_WIDE static void
add_plane(double *to, const float *digit, double unit, size_t len)
{
  for (size_t e = 0; e < len; e++)
    to[e] += unit * (double)digit[e];
}

void
clarke_sliced_doubles(const clarke_slicing *f, const clarke_sliced *v, size_t at, size_t len, double *to)
{
  memset(to, 0, len * sizeof *to);
  for (size_t k = 0; k < v->planes; k++)
    add_plane(to, v->digit + k * v->rows * f->n + at, ldexp(1, (int)(v->low + f->plan->width * (long)k)), len);
}

/* Differences of digits, carried on, are digits again: then nothing cancels but the highest two. */
double
clarke_sliced_difference(const clarke_slicing *f, const clarke_sliced *v, size_t a, size_t b, const clarke_digits *c)
{
  const long width = f->plan->width, shift = c != NULL ? (c->low - v->low) / width : 0;
  const double unit = ldexp(1, (int)width);
  const size_t stride = v->rows * f->n;
  double carry = 0, sum = 0;

  for (size_t k = 0; k < v->planes + 2; k++) {
    const bool inside = k < v->planes;
    const double less = inside && b != CLARKE_NONE ? (double)v->digit[k * stride + b] : 0;
    double digit = (inside ? (double)v->digit[k * stride + a] : 0) - less + carry;

    if (c != NULL && (long)k >= shift && (size_t)((long)k - shift) < c->planes)
      digit -= c->digit[(long)k - shift];
    carry = clarke_nearest_integer(digit / unit);
    sum += ldexp(digit - carry * unit, (int)(v->low + width * (long)k));
  }
  return sum;
}
