/* Values in plain floats, for their sizes alone. */
#include "network/pass/slices/sizes.h"

#include "base/wide.h"

#include <cblas.h>
#undef I
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const clarke_graph *g;
  size_t n;
  float **y; /* n_values */
  double **deviation; /* n_steps: of NORMALIZE, by group */
  clarke_error *err;
} floats;

static clarke_status
gather(const floats *f, const clarke_step *s, float *y)
{
  const float *x = f->y[s->in[0].value];
  const size_t rows = f->g->values[s->out].count;

  for (size_t i = 0, run; i < rows; i += run) {
    const size_t from = clarke_operand_entry(&s->in[0], i);

    run = clarke_operand_run(&s->in[0], i, rows);
    if (from == CLARKE_NONE)
      memset(y + i * f->n, 0, run * f->n * sizeof *y);
    else
      memcpy(y + i * f->n, x + from * f->n, run * f->n * sizeof *y);
  }
  return CLARKE_OK;
}

/* y += coef times the constant's entry, of a row. */
CLARKE_WIDE static void
add_number(float *y, float by, size_t n)
{
  for (size_t j = 0; j < n; j++)
    y[j] += by;
}

CLARKE_WIDE static void
add_entries(float *y, float coef, const float *x, size_t n)
{
  for (size_t e = 0; e < n; e++)
    y[e] += coef * x[e];
}

static clarke_status
add(const floats *f, const clarke_step *s, float *y)
{
  const size_t rows = f->g->values[s->out].count;

  memset(y, 0, rows * f->n * sizeof *y);
  for (size_t k = 0; k < s->n_in; k++) {
    const clarke_value *v = &f->g->values[s->in[k].value];
    const float coef = (float)s->in[k].coef;

    for (size_t i = 0, run; i < rows; i += run) {
      const size_t from = clarke_operand_entry(&s->in[k], i);

      run = v->constant ? 1 : clarke_operand_run(&s->in[k], i, rows);
      if (v->constant && from != CLARKE_NONE)
        add_number(y + i * f->n, coef * (float)v->real[from], f->n);
      else if (from != CLARKE_NONE)
        add_entries(y + i * f->n, coef, f->y[s->in[k].value] + from * f->n, run * f->n);
    }
  }
  return CLARKE_OK;
}

static clarke_status
scale(const floats *f, const clarke_step *s, float *y)
{
  const float *x = f->y[s->in[0].value];
  const double epsilon = s->root ? mpq_get_d(s->epsilon) : 0;

  for (size_t i = 0; i < f->g->values[s->out].count; i++) {
    const size_t from = clarke_operand_entry(&s->in[0], i);
    double c = f->g->values[s->in[1].value].real[clarke_operand_entry(&s->in[1], i)];

    c = s->root ? sqrt(c + epsilon) : c;
    c = s->root || s->divide ? 1 / c : c;
    for (size_t j = 0; j < f->n; j++)
      y[i * f->n + j] = (float)c * x[from * f->n + j];
  }
  return CLARKE_OK;
}

static clarke_status
multiply(const floats *f, const clarke_step *s, float *y)
{
  const clarke_dense *d = &s->dense;
  const clarke_value *v = &f->g->values[d->weight];
  const float *x = f->y[s->in[0].value];
  const size_t width = d->repeat * f->n;
  float *w = malloc((v->count + 1) * sizeof *w);

  if (w == NULL)
    return clarke_no_memory(f->err);
  for (size_t e = 0; e < v->count; e++)
    w[e] = (float)v->real[e];
  for (size_t b = 0; b < d->blocks; b++)
    cblas_sgemm(CblasRowMajor, d->transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, (int)d->outer, (int)width,
                (int)d->inner, 1, w + (d->grouped ? b * d->outer * d->inner : 0),
                (int)(d->transposed ? d->outer : d->inner), x + b * d->inner * width, (int)width, 0,
                y + b * d->outer * width, (int)width);
  free(w);
  return CLARKE_OK;
}

CLARKE_WIDE static void
apply_first(float *y, const float *x, float shift, float slope, size_t n)
{
  for (size_t e = 0; e < n; e++)
    y[e] = shift + slope * x[e];
}

/* One piece, of the entries above `from`; both are computed, for no branch to be guessed. */
CLARKE_WIDE static void
apply_above(float *y, const float *x, float from, float shift, float slope, size_t n)
{
  for (size_t e = 0; e < n; e++) {
    const float above = x[e] > from ? 1 : 0;

    y[e] = above * (shift + slope * x[e]) + (1 - above) * y[e];
  }
}

/* Entries whose pieces are applied one after another, for them to be near. */
#define TOGETHER ((size_t)4096)

/* Pieces without a square. */
static clarke_status
apply_pieces(const floats *f, const clarke_step *s, float *y)
{
  const size_t entries = f->g->values[s->out].count * f->n;
  const float *x = f->y[s->in[0].value];
  float kink[CLARKE_MAX_KINKS], coef[CLARKE_MAX_KINKS + 1][2];

  for (size_t k = 0; k < s->pieces.n_kinks; k++)
    kink[k] = (float)mpq_get_d(s->pieces.kink[k]);
  for (size_t k = 0; k <= s->pieces.n_kinks; k++)
    for (size_t d = 0; d < 2; d++)
      coef[k][d] = (float)mpq_get_d(s->pieces.coef[k][d]);
  for (size_t e = 0; e < entries; e += TOGETHER) {
    const size_t n = entries - e < TOGETHER ? entries - e : TOGETHER;

    apply_first(y + e, x + e, coef[0][0], coef[0][1], n);
    for (size_t k = 0; k < s->pieces.n_kinks; k++) /* each from its kink on */
      apply_above(y + e, x + e, kink[k], coef[k + 1][0], coef[k + 1][1], n);
  }
  return CLARKE_OK;
}

static clarke_status
largest(const floats *f, const clarke_step *s, float *y)
{
  const float *x = f->y[s->in[0].value];

  for (size_t i = 0; i < f->g->values[s->out].count; i++)
    for (size_t j = 0; j < f->n; j++) {
      float most = -INFINITY;

      for (size_t p = 0; p < s->width; p++)
        if (s->in[0].map[i * s->width + p] != CLARKE_NONE)
          most = fmaxf(most, x[s->in[0].map[i * s->width + p] * f->n + j]);
      y[i * f->n + j] = most;
    }
  return CLARKE_OK;
}

/* Sums that are begun side by side: additions wait for no other. */
#define SIDE_BY_SIDE ((size_t)8)

/* sum[0], sum[1] grow by the sums of x - from and of its squares. */
CLARKE_WIDE static void
add_moments(double sum[2], const float *x, double from, size_t n)
{
  double part[SIDE_BY_SIDE] = {0}, square[SIDE_BY_SIDE] = {0};
  size_t e = 0;

  for (; e + SIDE_BY_SIDE <= n; e += SIDE_BY_SIDE)
    for (size_t l = 0; l < SIDE_BY_SIDE; l++) {
      const double v = (double)x[e + l] - from;

      part[l] += v;
      square[l] += v * v;
    }
  for (; e < n; e++) {
    part[0] += (double)x[e] - from;
    square[0] += ((double)x[e] - from) * ((double)x[e] - from);
  }
  for (size_t l = 0; l < SIDE_BY_SIDE; l++) {
    sum[0] += part[l];
    sum[1] += square[l];
  }
}

CLARKE_WIDE static void
normalize_entries(float *y, const float *x, float off, float by, size_t n)
{
  for (size_t e = 0; e < n; e++)
    y[e] = (x[e] - off) * by;
}

/* Over all samples. */
static clarke_status
normalize(const floats *f, const clarke_step *s, float *y)
{
  const clarke_grouping *o = &s->grouping;
  const float *x = f->y[s->in[0].value];
  const size_t len = o->length * f->n;
  const double epsilon = mpq_get_d(s->epsilon), m = (double)(o->blocks * len);
  double *deviations = f->deviation[s - f->g->steps];

  for (size_t g = 0; g < o->groups; g++) {
    const double from = (double)x[g * len];
    double sum[2] = {0}, mean;

    for (size_t b = 0; b < o->blocks; b++)
      add_moments(sum, x + (b * o->groups + g) * len, from, len);
    mean = sum[0] / m;
    deviations[g] = sqrt(fmax(0, sum[1] / m - mean * mean) + epsilon);
    for (size_t b = 0; b < o->blocks; b++) {
      const size_t first = (b * o->groups + g) * len;
      const float by = (float)(1 / deviations[g]), off = (float)(from + mean);

      normalize_entries(y + first, x + first, off, by, len);
    }
  }
  return CLARKE_OK;
}

/* Values of other kinds are not looked at. */
static clarke_status (*const of_kind[CLARKE_STEP_KINDS])(const floats *f, const clarke_step *s, float *y) = {
  [CLARKE_GATHER] = gather,          [CLARKE_SUM] = add,     [CLARKE_SCALE] = scale,         [CLARKE_DENSE] = multiply,
  [CLARKE_PIECEWISE] = apply_pieces, [CLARKE_MAX] = largest, [CLARKE_NORMALIZE] = normalize,
};

static double
root_mean_square(const float *y, size_t n)
{
  double sum[2] = {0};

  add_moments(sum, y, 0, n);
  return sqrt(sum[1] / (double)(n > 0 ? n : 1));
}

static clarke_status
load(const floats *f, const clarke_tensor *x, clarke_error *err)
{
  const size_t rows = f->g->values[f->g->input].count;
  float *y = malloc((rows * f->n + 1) * sizeof *y);

  f->y[f->g->input] = y;
  if (y == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < f->n; j++)
      y[i * f->n + j] = x->real != NULL ? (float)x->real[j * rows + i] : (float)x->integer[j * rows + i];
  return CLARKE_OK;
}

clarke_status
clarke_sizes_measure(clarke_sizes *z, const clarke_graph *g, const clarke_tensor *x, size_t n, const bool *needed,
                     clarke_error *err)
{
  floats f = {.g = g, .n = n, .y = calloc(g->n_values + 1, sizeof *f.y), .err = err};
  size_t *last = malloc((g->n_values + 1) * sizeof *last);
  clarke_status status;

  *z = (clarke_sizes){.rms = calloc(g->n_values + 1, sizeof *z->rms),
                      .deviation = calloc(g->n_steps + 1, sizeof *z->deviation)};
  f.deviation = z->deviation;
  status = f.y != NULL && last != NULL && z->rms != NULL && z->deviation != NULL ? load(&f, x, err) : clarke_no_memory(err);
  if (status == CLARKE_OK)
    clarke_graph_last_uses(last, g, needed);
  for (size_t i = 0; i < g->n_steps && status == CLARKE_OK; i++) {
    const clarke_step *s = &g->steps[i];
    const size_t entries = g->values[s->out].count * n;

    if (!needed[s->out])
      continue;
    f.y[s->out] = malloc((entries + 1) * sizeof **f.y);
    if (s->kind == CLARKE_NORMALIZE)
      z->deviation[i] = malloc((s->grouping.groups + 1) * sizeof **z->deviation);
    if (f.y[s->out] == NULL || (s->kind == CLARKE_NORMALIZE && z->deviation[i] == NULL)) {
      status = clarke_no_memory(err);
      break;
    }
    status = of_kind[s->kind] != NULL ? of_kind[s->kind](&f, s, f.y[s->out]) : CLARKE_OK;
    z->rms[s->out] = root_mean_square(f.y[s->out], entries);
    for (size_t k = 0; k < s->n_in; k++)
      if (last[s->in[k].value] == i) {
        free(f.y[s->in[k].value]);
        f.y[s->in[k].value] = NULL;
      }
  }
  for (size_t v = 0; f.y != NULL && v < g->n_values; v++)
    free(f.y[v]);
  free(f.y);
  free(last);
  return status;
}

void
clarke_sizes_clear(clarke_sizes *z, const clarke_graph *g)
{
  for (size_t i = 0; z->deviation != NULL && i < g->n_steps; i++)
    free(z->deviation[i]);
  free(z->rms);
  free(z->deviation);
  *z = (clarke_sizes){0};
}
