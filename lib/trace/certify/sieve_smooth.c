/* ANALYTIC and SOFTMAX steps, both ways, in doubles (sieve_entries.c). libm's exp, tanh, erfc and log are taken to be within 2^-41 of themselves, as
 * elsewhere; what is made of them by a few operations is then within 2^-38. The bounds are those of rounding_forward.c and
 * rounding_back_step.c. */
#include "trace/certify/sieve.h"

#include "network/pass/analytic.h"

#include <math.h>
#include <stdlib.h>

/* What a function of libm and some operations are off by, in parts. */
#define NEARLY 0x1p-38
/* As rounding_forward.c has it. */
#define FUNCTION 8
/* Beyond it numbers are left open: exp stays far from overflow. */
#define FAR 600

/* --- functions of one entry --- */

/* A value and a slope; what they are off by. */
typedef struct {
  double value, value_off, slope, slope_off;
} point;

/* The argument of an exponential is rounded: z is off by 8 units of |z|, exp(z) by as much of itself. A sigmoid of z is so at most, for its
 * slope is at most itself. |z| is x, x^2 or the cubic of x at most. */
static point
smooth_within(clarke_function function, double x)
{
  const double z = fmax(fabs(x), function == CLARKE_NORMAL_TANH ? 1.6 * fabs(x) * (1 + 0.045 * x * x) : x * x);
  const double off = NEARLY + clarke_taken(16, z);
  point p;

  p.value = clarke_analytic_near(&p.slope, x, function);
  p.value_off = fabs(p.value) * off + (x != 0 ? CLARKE_SIEVE_LEAST : 0);
  p.slope_off = fabs(p.slope) * off + CLARKE_SIEVE_LEAST;
  return p;
}

/* Others have a domain, or are of two pieces. */
static bool
is_known(clarke_function function)
{
  return function == CLARKE_SIGMOID || function == CLARKE_TANH || function == CLARKE_EXP || function == CLARKE_ERF || function == CLARKE_NORMAL
         || function == CLARKE_NORMAL_TANH;
}

/* What is of the size of 1 before it is rounded. */
static bool
is_whole(clarke_function function)
{
  return function == CLARKE_NORMAL || function == CLARKE_NORMAL_TANH;
}

static const float *
argument(clarke_sieve *s, const clarke_step *step)
{
  const float *x = s->value[step->in[0].value].exact;

  s->open = s->open || x == NULL || step->in[0].map != NULL || step->in[0].coef != 1;
  return s->open ? NULL : x;
}

/* 1 / x of one number x, which is what a mean's sum is divided by: the exact pass has the rational then, and no enclosure. A quotient is
 * rounded once; of a power of 2 it is exact. */
static clarke_status
reciprocal(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const size_t entries = s->g->values[step->out].count * s->n;
  const float *x = argument(s, step);
  const double gamma = clarke_sieve_gamma(s, FUNCTION), at = x != NULL && entries > 0 ? fabs((double)x[0]) : 0, size = 1 / at;
  clarke_sieved *y = &s->value[step->out];
  int power;

  s->open = s->open || s->carries[step->in[0].value] || !(at > 0x1p-32 && at < 0x1p32);
  for (size_t e = 0; e < entries && !s->open; e++)
    s->open = x[e] != x[0];
  if (s->open)
    return CLARKE_OK;
  if (!clarke_sieve_begin_entries(s, y, entries))
    return clarke_no_memory(err);
  for (size_t e = 0; e < entries; e++) {
    y->near[e] = 1 / (double)x[e];
    y->off[e] = frexp(at, &power) != 0.5 ? clarke_taken(1, size) : 0;
    y->may[e] = clarke_sieve_by(gamma, FUNCTION, s->c->by.tiny, size - y->off[e]);
  }
  return CLARKE_OK;
}

clarke_status
clarke_sieve_analytic(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const size_t entries = s->g->values[step->out].count * s->n;
  const float *x = is_known(step->function) ? argument(s, step) : NULL;
  const double gamma = clarke_sieve_gamma(s, FUNCTION);
  clarke_sieved *y = &s->value[step->out];

  if (step->function == CLARKE_RECIPROCAL)
    return reciprocal(s, step, err);
  s->open = s->open || x == NULL;
  if (x == NULL)
    return CLARKE_OK;
  if (!clarke_sieve_begin_entries(s, y, entries))
    return clarke_no_memory(err);
  y->enclosed = true;
  for (size_t e = 0; e < entries; e++) {
    const point p = smooth_within(step->function, (double)x[e]);
    const double size = fmax(fabs(p.value) - p.value_off, 0), top = is_whole(step->function) ? fmax(1, size) : size;

    y->near[e] = p.value;
    y->off[e] = p.value_off;
    y->may[e] = clarke_sieve_by(gamma, FUNCTION, s->c->by.tiny, top);
    s->open = s->open || !(fabs((double)x[e]) < FAR);
  }
  clarke_sieve_check_sizes(s, y, entries);
  return CLARKE_OK;
}

/* The slope that goes by the value, which may be a record: y (1 - y), 1 - y^2 or y. A number y is what the value is near. */
static void
slope_of_value(point *p, clarke_function function, double y, double off)
{
  const double size = fabs(y);

  if (function == CLARKE_SIGMOID) {
    p->slope = y * (1 - y);
    p->slope_off = off * (1 + 2 * size + off) * 1.01 + clarke_taken(4, size * (1 + size));
  } else if (function == CLARKE_TANH) {
    p->slope = 1 - y * y;
    p->slope_off = off * (2 * size + off) * 1.01 + clarke_taken(4, 1 + size * size);
  } else if (function == CLARKE_EXP) {
    p->slope = y;
    p->slope_off = off;
  }
}

/* What the slope may be computed off by (slope_apart in rounding_back_step.c), where the argument is known. */
static double
slope_may(clarke_function function, double size, double value_may, const double gamma[3])
{
  const double off = value_may + gamma[1] * size;

  if (function == CLARKE_SIGMOID || function == CLARKE_TANH)
    return 2 * off + gamma[0] * (1 + size * size);
  return function == CLARKE_EXP ? off + gamma[1] * size : gamma[2] * 2;
}

clarke_status
clarke_sieve_analytic_back(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const size_t value = step->in[0].value, entries = s->g->values[value].count * s->n;
  const float *x = argument(s, step);
  const double gamma[3] = {clarke_sieve_gamma(s, 4), clarke_sieve_gamma(s, FUNCTION), clarke_sieve_gamma(s, 2 * FUNCTION)};
  clarke_sieved *to = &s->grad[value];
  clarke_sieve_numbers g, y;

  if (x == NULL || !s->carries[value])
    return CLARKE_OK;
  if (!clarke_sieve_read(&y, s, step->out) || !clarke_sieve_read_gradient(&g, s, step->out))
    return s->open ? CLARKE_OK : clarke_no_memory(err);
  if (!clarke_sieve_begin_gradient(s, to, s->g->values[value].count, s->n))
    return clarke_no_memory(err);
  for (size_t e = 0; e < entries; e++) {
    point p = smooth_within(step->function, (double)x[e]);
    const double near = clarke_sieve_near(&g, e), off = clarke_sieve_off(&g, e), may = clarke_sieve_may(&g, e), size = clarke_sieve_size(&g, e);
    const double apart = slope_may(step->function, clarke_sieve_size(&y, e), clarke_sieve_may(&y, e), gamma);
    double slope;

    slope_of_value(&p, step->function, clarke_sieve_near(&y, e), clarke_sieve_off(&y, e));
    slope = fmax(fabs(p.slope) - p.slope_off, 0);
    if (near == 0 && off == 0 && may == 0)
      continue;
    clarke_sieve_join(to, e, near * p.slope,
                      fabs(near) * p.slope_off + off * (fabs(p.slope) + p.slope_off) + clarke_taken(2, fabs(near * p.slope)) + CLARKE_SIEVE_LEAST,
                      (slope + apart) * may + apart * size, (slope + apart) * (size + may));
  }
  to->enclosed = true;
  to->terms += 1 + CLARKE_ROUNDBACK_SPARE;
  to->parts += 2;
  clarke_sieve_check_sizes(s, to, entries);
  return CLARKE_OK;
}

/* --- softmax --- */

/* A line of a SOFTMAX step: so many entries, so far apart. */
typedef struct {
  size_t first, apart, n;
  double largest, sum; /* of x; of exp(x - largest) */
  double size;         /* at most the largest |x| of those that the exact pass does not call far */
} line;

/* Where exponentials are as good as 0 in any case: the exact pass calls far what is 2 * 128 below the largest, and by what rounding takes of the
 * largest (rounding_line.c); what is less than NEAR below it is not far. */
#define NEAR 200
static double
far_below(const line *l, const clarke_sieve *s)
{
  return 2 * (4 - ilogb(s->c->by.tiny)) + 16 * s->c->by.unit * (fabs(l->largest) + log((double)l->n + 1) + 1);
}

static line
measure(const float *x, size_t first, size_t apart, size_t n)
{
  line l = {.first = first, .apart = apart, .n = n, .largest = -INFINITY};

  for (size_t i = 0; i < n; i++)
    l.largest = fmax(l.largest, (double)x[first + i * apart]);
  for (size_t i = 0; i < n; i++) {
    const double at = (double)x[first + i * apart];

    l.sum += exp(at - l.largest);
    l.size = at > l.largest - NEAR ? fmax(l.size, fabs(at)) : l.size;
  }
  return l;
}

/* Both softmax_error's rules, for known arguments; how far doubles are off. exp(z) of a difference that is rounded by u |z| is off by that of
 * itself; the sum, of numbers that are at most 1, by n + 2^12 units, for what is far is less than 2^-200. */
static void
softmax_entry(clarke_sieved *y, clarke_sieve *s, const clarke_step *step, const line *l, size_t e, double x, const double gamma[2])
{
  const double z = x - l->largest, off = NEARLY + clarke_taken((double)l->n + 8 + fmin(fabs(z), 1000), 1), shift = gamma[0] * 2 * l->size;
  const double n = (double)l->n + 2 * FUNCTION;
  const bool far = z < -far_below(l, s);

  s->open = s->open || (step->log && fabs(z) > NEAR);
  if (step->log) {
    y->near[e] = z - log(l->sum);
    y->off[e] = 2 * off + clarke_taken(8, fabs(z) + log(l->sum));
    y->may[e] = 2 * shift + gamma[1] * (1 + fmax(fabs(y->near[e]) - y->off[e], 0) + shift);
    return;
  }
  y->near[e] = exp(z) / l->sum;
  y->off[e] = 2 * off * y->near[e] + CLARKE_SIEVE_LEAST;
  y->may[e] = far ? 2 * s->c->by.tiny
                  : y->near[e] * expm1(2 * shift) * (1 - 2 * off) + clarke_sieve_by(gamma[1], n, s->c->by.tiny, y->near[e] * (1 - 2 * off));
}

clarke_status
clarke_sieve_softmax(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const size_t rows = s->g->values[step->out].count, block = step->length * step->stride;
  const float *x = argument(s, step);
  const double gamma[2] = {clarke_sieve_gamma(s, 2), clarke_sieve_gamma(s, (double)step->length + 2 * FUNCTION)};
  clarke_sieved *y = &s->value[step->out];

  s->open = s->open || s->g->values[step->in[0].value].excluded != NULL;
  if (x == NULL || s->open)
    return CLARKE_OK;
  if (!clarke_sieve_begin_entries(s, y, rows * s->n))
    return clarke_no_memory(err);
  y->enclosed = true;
  for (size_t f = 0; f < rows; f++) {
    if (f % block >= step->stride) /* no line begins there */
      continue;
    for (size_t j = 0; j < s->n; j++) {
      const line l = measure(x, f * s->n + j, step->stride * s->n, step->length);

      for (size_t i = 0; i < step->length; i++)
        softmax_entry(y, s, step, &l, l.first + i * l.apart, (double)x[l.first + i * l.apart], gamma);
    }
  }
  clarke_sieve_check_sizes(s, y, rows * s->n);
  return CLARKE_OK;
}

/* --- back: y (g - sum of y g); of the logarithm g - exp(y) times the sum of g. y was recorded. --- */

typedef struct {
  clarke_sieve *s;
  const clarke_step *step;
  clarke_sieve_numbers g;
  const float *y;
  double sum, off, may, mass, size; /* of a line: what is summed up; mass from below, size from above */
  double gamma;                     /* of the sum */
} back;

static void
sum_line(back *b, size_t first, size_t apart)
{
  b->sum = b->off = b->may = b->mass = b->size = 0;
  for (size_t i = 0; i < b->step->length; i++) {
    const size_t e = first + i * apart;
    const double by = b->step->log ? 1 : (double)b->y[e], near = by * clarke_sieve_near(&b->g, e);

    b->sum += near;
    b->size += fabs(near);
    b->off += fabs(by) * clarke_sieve_off(&b->g, e);
    b->may += fabs(by) * clarke_sieve_may(&b->g, e);
    b->mass += fabs(by) * clarke_sieve_size(&b->g, e);
  }
  b->off = clarke_up_by(b->off, 0x1p31) + clarke_taken((double)b->step->length + 4, b->size);
}

static void
softmax_back_entry(clarke_sieved *to, const back *b, size_t e)
{
  const double y = (double)b->y[e], g = clarke_sieve_near(&b->g, e), mass = clarke_sieve_size(&b->g, e) + clarke_sieve_may(&b->g, e) + b->mass;
  const double apart = clarke_sieve_may(&b->g, e) + b->may + b->gamma * mass, near = y * (g - b->sum);

  clarke_sieve_join(to, e, near, fabs(y) * (clarke_sieve_off(&b->g, e) + b->off) + clarke_taken(4, fabs(y) * (fabs(g) + fabs(b->sum))),
                    fabs(y) * apart, fabs(y) * mass);
}

/* `computed`: what the softmax as exp of its logarithm is off by, in parts. */
static void
log_back_entry(clarke_sieved *to, const back *b, size_t e, double computed)
{
  const double share = exp((double)b->y[e]), g = clarke_sieve_near(&b->g, e), off = NEARLY + CLARKE_UNIT;
  const double least = share * (1 - off), mass = clarke_sieve_size(&b->g, e) + clarke_sieve_may(&b->g, e) + least * b->mass;
  const double apart = clarke_sieve_may(&b->g, e) + least * (b->may + b->gamma * b->mass) + computed * least * b->mass;

  clarke_sieve_join(to, e, g - share * b->sum,
                    clarke_sieve_off(&b->g, e) + share * (1 + off) * b->off + share * off * fabs(b->sum)
                      + clarke_taken(4, fabs(g) + share * fabs(b->sum)),
                    apart, mass);
}

clarke_status
clarke_sieve_softmax_back(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const size_t value = step->in[0].value, rows = s->g->values[value].count, block = step->length * step->stride, apart = step->stride * s->n;
  back b = {.s = s, .step = step, .y = s->value[step->out].exact, .gamma = clarke_sieve_gamma(s, (double)step->length + CLARKE_ROUNDBACK_SPARE)};
  const double computed = clarke_sieve_gamma(s, CLARKE_ROUNDBACK_SPARE + FUNCTION);
  clarke_sieved *to = &s->grad[value];

  s->open = s->open || b.y == NULL || step->in[0].map != NULL || step->in[0].coef != 1;
  if (!s->carries[value] || s->open)
    return CLARKE_OK;
  if (!clarke_sieve_read_gradient(&b.g, s, step->out))
    return s->open ? CLARKE_OK : clarke_no_memory(err);
  if (!clarke_sieve_begin_gradient(s, to, rows, s->n))
    return clarke_no_memory(err);
  for (size_t f = 0; f < rows; f++)
    for (size_t j = 0; f % block < step->stride && j < s->n; j++) {
      sum_line(&b, f * s->n + j, apart);
      for (size_t i = 0; i < step->length; i++)
        if (step->log)
          log_back_entry(to, &b, f * s->n + j + i * apart, computed);
        else
          softmax_back_entry(to, &b, f * s->n + j + i * apart);
    }
  to->enclosed = true;
  to->terms += 1 + CLARKE_ROUNDBACK_SPARE;
  to->parts += 2;
  clarke_sieve_check_sizes(s, to, rows * s->n);
  return CLARKE_OK;
}
