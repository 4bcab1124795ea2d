/* A number that is not 0 as its sign and a power of two on either side of its size. Powers are coarse: a product's is off by 1 a factor, and of a
 * sum of both signs one term must be larger than all of the other sign together. */
#include "network/pass/factors.h"

#include <math.h>

/* So many entries are looked at for one. */
#define MOST_ENTRIES 256
/* Exponents beyond this are as good as none. */
#define FAR 0x1p50

/* sign -1 or 1: 2^low <= |x| <= 2^high, whole numbers; low may be minus infinity, high infinity. sign 2: nothing is known. */
typedef struct {
  int sign;
  double low, high;
} size;

static const size unknown = {2, -INFINITY, INFINITY};

static size
sized(int sign, double low, double high)
{
  return (size){sign, low < -FAR ? -INFINITY : fmin(low, FAR), high > FAR ? INFINITY : fmax(high, -FAR)};
}

/* For q other than 0, 2^(k - 1) < |q| < 2^(k + 1), k being how many bits more its numerator has. */
static double
bits_of(const mpq_t q)
{
  return (double)mpz_sizeinbase(mpq_numref(q), 2) - (double)mpz_sizeinbase(mpq_denref(q), 2);
}

static size
size_of_double(double x)
{
  int exponent;

  if (x == 0 || !isfinite(x))
    return unknown;
  frexp(x, &exponent);
  return sized(x < 0 ? -1 : 1, exponent - 1, exponent);
}

/* The ends of the enclosure. */
static void
ends_of(mpq_t low, mpq_t high, const clarke_matrix *x, size_t feature, size_t column)
{
  mpq_t off;

  mpq_init(off);
  mpq_set_d(off, clarke_matrix_radius(x, feature, column));
  clarke_matrix_get(low, x, feature, column);
  mpq_add(high, low, off);
  mpq_sub(low, low, off);
  mpq_clear(off);
}

/* What the enclosure tells; of 0 nothing. */
static size
enclosed_size(const clarke_matrix *x, size_t feature, size_t column)
{
  size found = unknown;
  mpq_t low, high;

  if (x->rows == 0 || !isfinite(clarke_matrix_radius(x, feature, column)))
    return unknown;
  mpq_inits(low, high, NULL);
  ends_of(low, high, x, feature, column);
  if (mpq_sgn(low) > 0)
    found = sized(1, bits_of(low) - 1, bits_of(high) + 1);
  if (mpq_sgn(high) < 0)
    found = sized(-1, bits_of(high) - 1, bits_of(low) + 1);
  mpq_clears(low, high, NULL);
  return found;
}

/* exp(x), or sigmoid(x), which is half of that at least, below 0: 1.4426 < log2(e) < 1.4427, and a double is off by parts of 2^-53. */
static size
exponential_size(const clarke_matrix *x, size_t feature, size_t column, bool sigmoid)
{
  double low, high;
  mpq_t q, end;

  if (x->rows == 0 || !isfinite(clarke_matrix_radius(x, feature, column)))
    return sized(1, -INFINITY, sigmoid ? 0 : INFINITY);
  mpq_inits(q, end, NULL);
  ends_of(q, end, x, feature, column);
  low = mpq_get_d(q);
  high = mpq_get_d(end);
  mpq_clears(q, end, NULL);
  low = floor(low < 0 ? 1.4427 * low : sigmoid ? 0 : 1.4426 * low) - 2;
  high = ceil(high < 0 ? 1.4426 * high : sigmoid ? 0 : 1.4427 * high) + 1;
  return sized(1, low, sigmoid && high > 0 ? 0 : high);
}

static size size_within(const clarke_forward *f, size_t value, size_t feature, size_t column, size_t *left);

/* tanh(x) is x / 2 at least, and x at most, up to 1; and 1/2 at least beyond. */
static size
bounded_size(size x)
{
  return x.sign == 2 ? x : sized(x.sign, fmin(x.low, 0) - 1, fmin(x.high, 0));
}

static size
size_of_function(const clarke_forward *f, const clarke_step *s, size_t feature, size_t column, size_t *left)
{
  const clarke_matrix *x = &f->value[s->in[0].value];
  size of;

  switch (s->function) {
  case CLARKE_SIGMOID:
  case CLARKE_EXP:
    return exponential_size(x, feature, column, s->function == CLARKE_SIGMOID);
  case CLARKE_SOFTPLUS:
  case CLARKE_NORMAL:
  case CLARKE_NORMAL_TANH:
    return sized(1, -INFINITY, INFINITY);
  case CLARKE_TANH:
    return bounded_size(size_within(f, s->in[0].value, feature, column, left));
  case CLARKE_ERF:
  case CLARKE_ATAN:
    of = size_within(f, s->in[0].value, feature, column, left);
    return of.sign == 2 ? of : sized(of.sign, -INFINITY, 1);
  default:
    return unknown;
  }
}

static size
multiplied(size a, size b)
{
  return a.sign == 2 || b.sign == 2 ? unknown : sized(a.sign * b.sign, a.low + b.low, a.high + b.high);
}

/* The largest term of each sign. One side is left where it is twice as large as the other together, at least. */
static size
size_of_sum(const clarke_forward *f, const clarke_step *s, size_t feature, size_t column, size_t *left)
{
  double low[2] = {-INFINITY, -INFINITY}, high[2] = {-INFINITY, -INFINITY}, spread = ceil(log2((double)s->n_in + 1));
  bool some[2] = {false, false};

  for (size_t i = 0; i < s->n_in; i++) {
    const clarke_value *v = &f->g->values[s->in[i].value];
    const size_t from = clarke_operand_entry(&s->in[i], feature);
    size term;

    if (from == CLARKE_NONE || s->in[i].coef == 0 || (v->constant && v->real != NULL && v->real[from] == 0))
      continue;
    if (v->constant && (v->real == NULL || v->negated))
      return unknown;
    term = multiplied(v->constant ? size_of_double(v->real[from]) : size_within(f, s->in[i].value, from, column, left),
                      size_of_double(s->in[i].coef));
    if (term.sign == 2)
      return unknown;
    some[term.sign > 0] = true;
    low[term.sign > 0] = fmax(low[term.sign > 0], term.low);
    high[term.sign > 0] = fmax(high[term.sign > 0], term.high);
  }
  for (int k = 0; k < 2; k++)
    if (some[k] && (!some[!k] || low[k] > high[!k] + spread))
      return sized(k == 0 ? -1 : 1, low[k] - some[!k], high[k] + spread);
  return unknown;
}

static size
size_within(const clarke_forward *f, size_t value, size_t feature, size_t column, size_t *left)
{
  const size_t producer = f->g->values[value].producer;
  const clarke_step *s = producer != CLARKE_NONE ? &f->g->steps[producer] : NULL;
  size found = enclosed_size(&f->value[value], feature, column);

  if (found.sign != 2 || s == NULL || *left == 0)
    return found;
  --*left;
  if (s->kind == CLARKE_ANALYTIC)
    return size_of_function(f, s, feature, column, left);
  if (s->kind == CLARKE_SOFTMAX && !s->log)
    return sized(1, -INFINITY, 0);
  if (s->kind == CLARKE_GATHER && clarke_operand_entry(&s->in[0], feature) != CLARKE_NONE)
    return size_within(f, s->in[0].value, clarke_operand_entry(&s->in[0], feature), column, left);
  if (s->kind == CLARKE_SUM)
    return size_of_sum(f, s, feature, column, left);
  if (s->kind != CLARKE_PRODUCT || s->contraction.inner != 1)
    return found;
  found = size_within(f, s->in[0].value, clarke_step_factor(s, 0, feature, 0), column, left);
  return found.sign == 2 ? found : multiplied(found, size_within(f, s->in[1].value, clarke_step_factor(s, 1, feature, 0), column, left));
}

int
clarke_factors_sign(const clarke_forward *f, size_t value, size_t feature, size_t column)
{
  size_t left = MOST_ENTRIES;

  return size_within(f, value, feature, column, &left).sign;
}
