#include "step/single_adafactor.h"

#include <math.h>
#include <stdlib.h>

#define MOST_FLOATS 4096 /* that a sum may be rounded to */
#define MOST_PAIRS 65536 /* of a norm of theta and one of the step */
#define MOST_ENTRIES ((size_t)1 << 18)

typedef struct {
  const clarke_step_question *q;
  const clarke_step_tensor *t;
  double weight, eps, square;    /* of what is new in an average; below which none is divided by */
  double eps2, clip, rho, decay; /* decay: the factor of theta */
  bool fused, near;              /* near: the root's inverse is rounded once */
} program;

/* The floats between two numbers, one after another. */
typedef struct {
  double at, end;
} floats;

/* --- operations --------------------------------------------------------------------------------------------------- */

static double
fit(const program *p, double x)
{
  return p->q->dtype == CLARKE_F64 ? x : (double)(float)x;
}

static double
stored(const program *p, double x)
{
  return clarke_single_round(p->q->dtype, fit(p, x));
}

static double
add_product(const program *p, double a, double b, double c)
{
  if (!p->fused)
    return stored(p, a + fit(p, b * c));
  return p->q->dtype == CLARKE_F64 ? fma(b, c, a) : clarke_single_round(p->q->dtype, (double)fmaf((float)b, (float)c, (float)a));
}

static double
lerp(const program *p, double x, double y)
{
  const double weight = fit(p, p->weight), difference = fit(p, y - x);
  const bool small = fabs(weight) < 0.5;

  return add_product(p, small ? x : y, small ? weight : fit(p, weight - 1), difference);
}

/* The next float of the type above x, which is above 0. */
static double
next(const program *p, double x)
{
  const clarke_dtype of = p->q->dtype;
  const double up = of == CLARKE_F64 ? nextafter(x, INFINITY) : (double)nextafterf((float)x, INFINITY);
  double step = x;

  if (of == CLARKE_F64 || of == CLARKE_F32)
    return up;
  for (step = up - x; clarke_single_round(of, x + step) <= x; step *= 2)
    ;
  return clarke_single_round(of, x + step);
}

/* All that a sum of n numbers above 0 may be rounded to, x exactly, in any order: off by n + 1 units of it. Then its root, if it has one. */
static floats
around(const program *p, double x, size_t n, bool root)
{
  const double unit = p->q->dtype == CLARKE_F64 ? 0x1p-53 : 0x1p-24, off = (double)(n + 1) * unit;
  const double low = x * (1 - off), high = x * (1 + off);

  return (floats){stored(p, (root ? sqrt(fmax(0, low)) : low) * (1 - unit)), stored(p, (root ? sqrt(high) : high) * (1 + unit))};
}

/* Long doubles are off by far less. */
static double
sum_squares(const double *x, size_t n, size_t stride)
{
  long double sum = 0;

  for (size_t i = 0; i < n; i++)
    sum += (long double)x[i * stride] * x[i * stride];
  return (double)sum;
}

/* --- averages ------------------------------------------------------------------------------------------------------- */

static double
before_of(const clarke_step_tensor *t, int slot, size_t i)
{
  return t->slot[0][slot] != NULL ? t->slot[0][slot][i] : 0;
}

/* Is an average of means of n squares the recorded one, for some norm? */
static bool
is_mean(const program *p, int slot, size_t at, const double *g, size_t n, size_t stride)
{
  floats norm = around(p, sum_squares(g, n, stride), n, true);
  bool is = false;

  for (size_t tries = 0; tries < MOST_FLOATS && norm.at <= norm.end && !is; tries++) {
    const double mean = stored(p, stored(p, norm.at * norm.at) / fit(p, (double)n));

    is = lerp(p, before_of(p->t, slot, at), mean) == p->t->slot[1][slot][at];
    norm.at = next(p, norm.at);
  }
  return is;
}

static bool
are_averages(const program *p)
{
  const clarke_step_shape *s = &p->t->shape;
  const double *g = p->t->gradient;
  bool are = true;

  for (size_t i = 0; s->rank < 2 && i < s->n && are; i++)
    are = lerp(p, before_of(p->t, CLARKE_SLOT_V, i), stored(p, g[i] * g[i])) == p->t->slot[1][CLARKE_SLOT_V][i];
  for (size_t i = 0; s->rank >= 2 && i < s->batches * s->rows && are; i++)
    are = is_mean(p, CLARKE_SLOT_ROW, i, g + i * s->cols, s->cols, 1);
  for (size_t i = 0; s->rank >= 2 && i < s->batches * s->cols && are; i++)
    are = is_mean(p, CLARKE_SLOT_COL, i, g + i / s->cols * s->rows * s->cols + i % s->cols, s->rows, s->cols);
  return are;
}

/* --- theta -------------------------------------------------------------------------------------------------------------- */

/* What entry i of a matrix moves along, where its rows have that mean; of a vector mean is not read. */
static double
direction(const program *p, size_t i, double mean)
{
  const clarke_step_shape *s = &p->t->shape;
  double v, root;

  if (s->rank < 2)
    v = p->t->slot[1][CLARKE_SLOT_V][i];
  else {
    const size_t b = i / (s->rows * s->cols), row = i / s->cols, col = b * s->cols + i % s->cols;

    v = stored(p, stored(p, p->t->slot[1][CLARKE_SLOT_ROW][row] * p->t->slot[1][CLARKE_SLOT_COL][col]) / fmax(mean, p->eps));
  }
  v = fmax(v, p->square);
  root = p->near ? 1 / sqrt(v) : fit(p, 1 / fit(p, sqrt(v)));
  return stored(p, stored(p, root) * (p->q->maximize ? -p->t->gradient[i] : p->t->gradient[i]));
}

static double
moved(const program *p, size_t i, double by, double x)
{
  const double theta = stored(p, p->t->theta[0][i] * fit(p, p->decay)), factor = stored(p, by);

  return p->fused ? add_product(p, theta, factor, x) : stored(p, theta + stored(p, factor * x));
}

static floats
means_of(const program *p, size_t batch)
{
  const clarke_step_shape *s = &p->t->shape;
  long double sum = 0;

  for (size_t i = 0; i < s->rows; i++)
    sum += p->t->slot[1][CLARKE_SLOT_ROW][batch * s->rows + i];
  return around(p, (double)(sum / (long double)s->rows), s->rows, false);
}

/* Are the entries of a matrix (or all of a vector) where that step leaves them, for some mean of its rows? The first such is put there. */
static bool
is_matrix(const program *p, size_t batch, double by, double *found)
{
  const clarke_step_shape *s = &p->t->shape;
  const size_t n = s->rank < 2 ? s->n : s->rows * s->cols;
  floats mean = s->rank < 2 ? (floats){1, 1} : means_of(p, batch);
  bool is = false;

  for (size_t tries = 0; tries < MOST_FLOATS && mean.at <= mean.end && !is; tries++) {
    is = true;
    for (size_t i = batch * n; i < (batch + 1) * n && is; i++)
      is = moved(p, i, by, direction(p, i, mean.at)) == p->t->theta[1][i];
    *found = mean.at;
    mean.at = s->rank < 2 ? 2 : next(p, mean.at);
  }
  return is;
}

/* The norm of what theta moves along, with these means; more: for all means, so many units farther around. */
static floats
norms_of_step(const program *p, const double *mean, size_t more)
{
  const clarke_step_shape *s = &p->t->shape;
  long double sum = 0;

  for (size_t i = 0; i < s->n; i++) {
    const double x = direction(p, i, s->rank < 2 ? 1 : mean[i / (s->rows * s->cols)]);

    sum += (long double)x * x;
  }
  return around(p, (double)sum, s->n + more, true);
}

static void
middle_means(const program *p, double *mean)
{
  for (size_t b = 0; p->t->shape.rank >= 2 && b < p->t->shape.batches; b++) {
    const floats means = means_of(p, b);

    mean[b] = stored(p, (means.at + means.end) / 2);
  }
}

static bool
are_matrices(const program *p, double by, double *mean)
{
  bool are = true;

  for (size_t b = 0; b < (p->t->shape.rank < 2 ? 1 : p->t->shape.batches) && are; b++)
    are = is_matrix(p, b, by, &mean[b]);
  return are;
}

/* mean: one for each matrix. The norm of the step is one that those which were found may have. */
static bool
is_theta(const program *p, double *mean)
{
  const clarke_step_shape *s = &p->t->shape;
  const double root = sqrt((double)s->n);
  floats norm = around(p, sum_squares(p->t->theta[0], s->n, 1), s->n, true), of_step, found = {1, 0};
  double last = NAN;
  size_t pairs = 0;

  middle_means(p, mean);
  of_step = norms_of_step(p, mean, 2 * s->rows + 16);
  for (; norm.at <= norm.end; norm.at = next(p, norm.at))
    for (floats other = of_step; other.at <= other.end; other.at = next(p, other.at)) {
      const double alpha = fmax(p->eps2, norm.at / root) * p->rho, by = -alpha / fmax(1, other.at / (root * p->clip));

      if (++pairs > MOST_PAIRS)
        return false;
      if (stored(p, by) != last) {
        last = stored(p, by);
        found = are_matrices(p, by, mean) ? norms_of_step(p, mean, 0) : (floats){1, 0};
      }
      if (found.at <= other.at && other.at <= found.end)
        return true;
    }
  return false;
}

bool
clarke_adafactor_is_program(const clarke_step_question *q, const clarke_step_tensor *t)
{
  const clarke_hypers *h = q->hypers;
  const double step = (double)q->k + 1, lr = mpq_get_d(h->of[CLARKE_HYPER_STEP]), eps = mpq_get_d(h->of[CLARKE_HYPER_EPS]);
  program p = {.q = q, .t = t, .weight = pow(step, mpq_get_d(h->of[CLARKE_HYPER_BETA2_DECAY])), .eps2 = mpq_get_d(h->of[CLARKE_HYPER_EPS2]),
               .clip = mpq_get_d(h->of[CLARKE_HYPER_CLIP]), .rho = fmin(lr, 1 / sqrt(step)), .decay = 1 - lr * mpq_get_d(h->of[CLARKE_HYPER_DECAY])};
  double *mean;
  bool is = false;

  if (t->n > MOST_ENTRIES || t->n == 0 || q->scale != NULL || (mean = calloc(t->shape.batches + 1, sizeof *mean)) == NULL)
    return false;
  p.eps = stored(&p, eps);
  p.square = stored(&p, eps * eps);
  for (int way = 0; way < 4 && !is; way++) {
    p.fused = (way & 1) != 0;
    is = are_averages(&p);
    p.fused = (way & 2) != 0;
    for (int near = 0; near < 2 && is; near++) {
      p.near = near == 1;
      if (is_theta(&p, mean)) {
        free(mean);
        return true;
      }
    }
    is = false;
  }
  free(mean);
  return false;
}
