#include "step/single_muon.h"

#include "exact/upward.h"
#include "step/whole.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PRODUCTS ((size_t)1 << 31)
#define DOUBLE_SLACK 0x1p-40 /* what sums in doubles are off by, relative to their summands', is far less */
#define COARSE 0x1p-7        /* what bfloat16 is off by, rounded in whatever direction */

typedef clarke_span span;

/* Matrices of `rows` rows, no more than columns. */
typedef struct {
  size_t rows, cols;
  span *x, *square, *both, *next;
  double of[3]; /* the polynomial's factors */
  unsigned way;
  bool nearest; /* sums are not off */
  bool coarse;  /* whatever is made in between may be rounded to bfloat16 */
} machine;

typedef struct {
  span sum;
  double sizes; /* the sum of the products' */
  size_t n;
} dotted;

/* --- numbers -------------------------------------------------------------------------------------------------- */

static double
fit(clarke_dtype dtype, double x)
{
  return dtype == CLARKE_F64 ? x : (double)(float)x;
}

static double
short_float(double x)
{
  return clarke_single_round(CLARKE_BF16, x);
}

static span
join(span a, span b)
{
  return (span){fmin(a.lo, b.lo), fmax(a.hi, b.hi)};
}

static span
times(span a, span b)
{
  const double p = a.lo * b.lo, q = a.lo * b.hi, r = a.hi * b.lo, s = a.hi * b.hi;

  return (span){fmin(fmin(p, q), fmin(r, s)), fmax(fmax(p, q), fmax(r, s))};
}

static span
scaled(span a, double c)
{
  return c < 0 ? (span){c * a.hi, c * a.lo} : (span){c * a.lo, c * a.hi};
}

static double
size_of(span a)
{
  return fmax(fabs(a.lo), fabs(a.hi));
}

/* By how much of its summands' sizes a sum is off at most that is rounded to bfloat16 so often. */
static double
coarsely(size_t n)
{
  return expm1((double)n * log1p(COARSE)) * (1 + DOUBLE_SLACK);
}

/* As it is stored when it is off by that at most. */
static span
rounded(span a, double off)
{
  return (span){short_float(a.lo - off), short_float(a.hi + off)};
}

/* x.lerp(y, w), with one rounding of the last two operations or with two */
static double
lerp(clarke_dtype dtype, double x, double y, double w, bool fused)
{
  const double weight = fit(dtype, w), difference = fit(dtype, y - x), start = fabs(weight) < 0.5 ? x : y;
  const double by = fabs(weight) < 0.5 ? weight : fit(dtype, weight - 1);

  if (!fused)
    return clarke_single_round(dtype, fit(dtype, start + fit(dtype, by * difference)));
  return dtype == CLARKE_F64 ? fma(by, difference, start) : clarke_single_round(dtype, (double)fmaf((float)by, (float)difference, (float)start));
}

bool
clarke_muon_is_lerp(clarke_dtype dtype, double x, double y, double w, double number)
{
  return lerp(dtype, x, y, w, false) == number || lerp(dtype, x, y, w, true) == number;
}

/* --- matrices --------------------------------------------------------------------------------------------------- */

static dotted
dot(const span *a, size_t a_stride, const span *b, size_t b_stride, size_t n)
{
  dotted d = {.n = n};

  for (size_t k = 0; k < n; k++) {
    const span p = times(a[k * a_stride], b[k * b_stride]);

    d.sum.lo += p.lo;
    d.sum.hi += p.hi;
    d.sizes += size_of(p);
  }
  return d;
}

/* What a sum of n products is off by, whatever the order: in float32 n roundings of each, and a little. Two more make up for the sum in
 * doubles. */
static double
off_by(const machine *m, const dotted *d)
{
  const double n = (double)d->n;
  const double part = m->coarse ? coarsely(d->n + 2) : n + 6 > 0x1p21 ? INFINITY : clarke_gamma_of_many(n + 6, 0x1p-24);

  return m->nearest ? 0 : clarke_up_over(clarke_up_by(d->sizes, n + 8) * part, 4, n * 0x1p-126);
}

/* beta c + alpha times a product, each step of which may be rounded to bfloat16, factors too: one sum, of c and the products, in any order. */
static span
add_coarsely(span c, double beta, const dotted *d, double alpha)
{
  const span x = scaled(c, beta), y = scaled(d->sum, alpha);
  const double sizes = (size_of(x) + fabs(alpha) * d->sizes) * (1 + DOUBLE_SLACK);

  return rounded((span){x.lo + y.lo, x.hi + y.hi}, coarsely(d->n + 8) * sizes + (double)(d->n + 8) * 0x1p-126 * (1 + fabs(alpha)));
}

/* beta c + alpha times a product: rounded once, at the end; or in between, by the way. */
static span
add_product(const machine *m, span c, double beta, const dotted *d, double alpha)
{
  span x = scaled(c, beta), y = scaled(d->sum, alpha);
  double off = off_by(m, d), more = fabs(alpha) * off;

  if (m->coarse)
    return add_coarsely(c, beta, d, alpha);
  if (m->way == 1 || m->way == 4 || m->way == 5)
    x = rounded(x, m->nearest ? 0 : size_of(x) * 0x1p-24);
  if (m->way == 3 || m->way == 5) {
    y = scaled(rounded(d->sum, off), alpha);
    more = 0;
  }
  if (m->way == 2 || m->way == 4 || m->way == 5) {
    y = rounded(y, m->nearest ? 0 : more + size_of(y) * 0x1p-24);
    more = 0;
  }
  more += m->nearest ? 0 : 4 * 0x1p-24 * (size_of(x) + size_of(y)) + 0x1p-126;
  return rounded((span){x.lo + y.lo, x.hi + y.hi}, more);
}

/* square = x x'; both = b square + c square square; x = a x + both x. False: a span has no end. */
static bool
iterate(machine *m)
{
  bool ends = true;

  for (size_t i = 0; i < m->rows; i++)
    for (size_t j = 0; j < m->rows; j++) {
      const dotted d = dot(&m->x[i * m->cols], 1, &m->x[j * m->cols], 1, m->cols);

      m->square[i * m->rows + j] = rounded(d.sum, off_by(m, &d));
    }
  for (size_t i = 0; i < m->rows; i++)
    for (size_t j = 0; j < m->rows; j++) {
      const dotted d = dot(&m->square[i * m->rows], 1, &m->square[j], m->rows, m->rows);

      m->both[i * m->rows + j] = add_product(m, m->square[i * m->rows + j], m->of[1], &d, m->of[2]);
    }
  for (size_t i = 0; i < m->rows; i++)
    for (size_t j = 0; j < m->cols; j++) {
      const dotted d = dot(&m->both[i * m->rows], 1, &m->x[j], m->cols, m->rows);
      const span x = add_product(m, m->x[i * m->cols + j], m->of[0], &d, 1);

      m->next[i * m->cols + j] = x;
      ends = ends && isfinite(x.lo) && isfinite(x.hi);
    }
  memcpy(m->x, m->next, m->rows * m->cols * sizeof *m->x);
  return ends;
}

/* x / norm */
static span
quotient(const machine *m, span x, span norm)
{
  const span y = {(float)(x.lo / (x.lo < 0 ? norm.lo : norm.hi)), (float)(x.hi / (x.hi < 0 ? norm.hi : norm.lo))};

  return rounded(y, m->coarse ? coarsely(3) * size_of(y) + 0x1p-126 : 0);
}

/* x over max(its norm, eps). False: that may be 0. */
static bool
normalize(machine *m, double eps)
{
  const size_t n = m->rows * m->cols;
  const double part = m->nearest ? 0 : m->coarse ? coarsely(n + 8) : (double)(n + 8) * 0x1p-24, least = m->nearest ? 0 : (double)n * 0x1p-126;
  const double off = m->nearest ? 0 : m->coarse ? coarsely(2) : 0x1p-22;
  span norm = {0, 0};

  for (size_t i = 0; i < n; i++) {
    const span x = m->x[i], square = times(x, x);

    norm.lo += x.lo <= 0 && x.hi >= 0 ? 0 : square.lo;
    norm.hi += square.hi;
  }
  norm.lo = short_float(sqrt(fmax(0, norm.lo * (1 - part) - least)) * (1 - off));
  norm.hi = short_float(sqrt(norm.hi * (1 + part) + least) * (1 + off));
  norm.lo = fmax(norm.lo, m->nearest ? short_float(eps) : fmin(eps, short_float(eps)));
  norm.hi = fmax(norm.hi, m->nearest ? short_float(eps) : fmax(eps, short_float(eps)));
  for (size_t i = 0; i < n && norm.lo > 0; i++)
    m->x[i] = quotient(m, m->x[i], norm);
  return norm.lo > 0 && isfinite(norm.hi);
}

/* --- a step -------------------------------------------------------------------------------------------------------- */

static bool
machine_init(machine *m, const clarke_step_question *q, const clarke_step_shape *s, unsigned way)
{
  const bool flips = s->rows > s->cols;

  *m = (machine){.rows = flips ? s->cols : s->rows, .cols = flips ? s->rows : s->cols,
                 .way = way < CLARKE_MUON_NEAREST ? way / 2 : 0, .nearest = way < CLARKE_MUON_NEAREST, .coarse = way == CLARKE_MUON_COARSE};
  for (int i = 0; i < 3; i++)
    m->of[i] = (double)(float)mpq_get_d(q->hypers->of[CLARKE_HYPER_NS_A + i]);
  m->x = calloc(s->n + 1, sizeof *m->x);
  m->next = calloc(s->n + 1, sizeof *m->next);
  m->square = calloc(m->rows * m->rows + 1, sizeof *m->square);
  m->both = calloc(m->rows * m->rows + 1, sizeof *m->both);
  return m->x != NULL && m->next != NULL && m->square != NULL && m->both != NULL;
}

static void
machine_clear(machine *m)
{
  free(m->x);
  free(m->next);
  free(m->square);
  free(m->both);
}

/* What a number of the type is off by, rounded in whatever direction. */
static double
unit_of(clarke_dtype dtype)
{
  return dtype == CLARKE_BF16 ? COARSE : dtype == CLARKE_F16 ? 0x1p-10 : dtype == CLARKE_F32 ? 0x1p-23 : 0x1p-52;
}

/* What is made orthogonal: of g and m after the step, in the tensor's type, then in bfloat16. */
static span
begun(const machine *of, unsigned way, const clarke_step_question *q, const clarke_step_tensor *t, size_t i)
{
  const double m = t->slot[1][CLARKE_SLOT_M][i], b = mpq_get_d(q->hypers->of[CLARKE_HYPER_MOMENTUM]);
  span x = {m, m};

  if (q->hypers->nesterov) {
    x.lo = lerp(q->dtype, t->gradient[i], m, b, false);
    x.hi = lerp(q->dtype, t->gradient[i], m, b, true);
  }
  if (of->nearest)
    x.lo = x.hi = way % 2 == 0 ? x.lo : x.hi;
  return rounded(join(x, (span){x.hi, x.lo}),
                 of->coarse ? 4 * (unit_of(q->dtype) + 0x1p-23) * (fabs(m) + fabs(t->gradient[i])) + 0x1p-24 * (q->dtype == CLARKE_F16) + 0x1p-126 : 0);
}

/* theta + alpha x, in each way that a processor may have: fused; the product rounded as tensors are, or not. The type that is computed in is the wider. */
static span
moved(const clarke_step_question *q, double theta, double alpha, double x)
{
  const clarke_dtype of = q->dtype == CLARKE_F16 ? CLARKE_F32 : q->dtype;
  const double stored = clarke_single_round(of, fit(of, alpha));
  span all;

  for (int way = 0; way < 6; way++) {
    const double a = way < 3 ? fit(of, alpha) : stored, product = fit(of, a * x);
    const double sum = way % 3 == 0   ? theta + product
                       : way % 3 == 1 ? theta + clarke_single_round(of, product)
                       : of == CLARKE_F64 ? fma(a, x, theta) : (double)fmaf((float)a, (float)x, (float)theta);
    const double end = clarke_single_round(q->dtype, fit(of, sum));

    all = way == 0 ? (span){end, end} : join(all, (span){end, end});
  }
  return all;
}

static double
step_size(const clarke_step_question *q, const clarke_step_shape *s)
{
  const double rows = (double)s->rows, cols = (double)s->cols, lr = mpq_get_d(q->hypers->of[CLARKE_HYPER_STEP]);

  return lr * (q->hypers->matches ? 0.2 * sqrt(fmax(rows, cols)) : sqrt(fmax(1, rows / cols)));
}

static void
move_all(span *theta, bool *point, const machine *m, const clarke_step_question *q, const clarke_step_tensor *t)
{
  const clarke_step_shape *s = &t->shape;
  const double by = -step_size(q, s);
  const double decay = 1 - mpq_get_d(q->hypers->of[CLARKE_HYPER_STEP]) * mpq_get_d(q->hypers->of[CLARKE_HYPER_DECAY]);

  for (size_t i = 0; i < s->n; i++) {
    const span x = m->x[s->rows > s->cols ? i % s->cols * m->cols + i / s->cols : i];
    const double start = clarke_single_round(q->dtype, fit(q->dtype, t->theta[0][i] * fit(q->dtype, decay)));

    theta[i] = join(moved(q, start, by, x.lo), moved(q, start, by, x.hi));
    if (m->coarse) {
      const double off = 4 * unit_of(q->dtype) * (fabs(t->theta[0][i]) + fabs(by) * size_of(x)) + 0x1p-24 * (q->dtype == CLARKE_F16) + 0x1p-126;

      theta[i] = (span){theta[i].lo - off, theta[i].hi + off};
    }
    point[i] = x.lo == x.hi;
  }
}

bool
clarke_muon_spans(clarke_span *theta, bool *point, const clarke_step_question *q, const clarke_step_tensor *t, unsigned way)
{
  const clarke_step_shape *s = &t->shape;
  const size_t least = s->rows < s->cols ? s->rows : s->cols, steps = mpz_get_ui(mpq_numref(q->hypers->of[CLARKE_HYPER_NS_STEPS]));
  machine m;
  bool is = s->n * least <= MOST_PRODUCTS / (3 * steps + 1) && machine_init(&m, q, s, way);

  if (!is)
    return false;
  for (size_t i = 0; i < s->n; i++)
    m.x[s->rows > s->cols ? i % s->cols * m.cols + i / s->cols : i] = begun(&m, way, q, t, i);
  is = normalize(&m, mpq_get_d(q->hypers->of[CLARKE_HYPER_EPS]));
  for (size_t i = 0; i < steps && is; i++)
    is = iterate(&m);
  if (is)
    move_all(theta, point, &m, q, t);
  machine_clear(&m);
  return is;
}
