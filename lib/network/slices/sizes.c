/* Values in plain doubles, for their sizes alone. */
#include "network/slices/sizes.h"

#include <cblas.h>
#undef I
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const clarke_graph *g;
  size_t n;
  double **y; /* n_values */
} doubles;

static void
gather(const doubles *f, const clarke_step *s, double *y)
{
  const double *x = f->y[s->in[0].value];

  for (size_t i = 0; i < f->g->values[s->out].count; i++) {
    const size_t from = clarke_operand_entry(&s->in[0], i);

    for (size_t j = 0; j < f->n; j++)
      y[i * f->n + j] = from == CLARKE_NONE ? 0 : x[from * f->n + j];
  }
}

static void
add(const doubles *f, const clarke_step *s, double *y)
{
  memset(y, 0, f->g->values[s->out].count * f->n * sizeof *y);
  for (size_t k = 0; k < s->n_in; k++) {
    const clarke_value *v = &f->g->values[s->in[k].value];

    for (size_t i = 0; i < f->g->values[s->out].count; i++) {
      const size_t from = clarke_operand_entry(&s->in[k], i);

      for (size_t j = 0; from != CLARKE_NONE && j < f->n; j++)
        y[i * f->n + j] += s->in[k].coef * (v->constant ? v->real[from] : f->y[s->in[k].value][from * f->n + j]);
    }
  }
}

static void
scale(const doubles *f, const clarke_step *s, double *y)
{
  const double *x = f->y[s->in[0].value], epsilon = s->root ? mpq_get_d(s->epsilon) : 0;

  for (size_t i = 0; i < f->g->values[s->out].count; i++) {
    const size_t from = clarke_operand_entry(&s->in[0], i);
    double c = f->g->values[s->in[1].value].real[clarke_operand_entry(&s->in[1], i)];

    c = s->root ? sqrt(c + epsilon) : c;
    c = s->root || s->divide ? 1 / c : c;
    for (size_t j = 0; j < f->n; j++)
      y[i * f->n + j] = c * x[from * f->n + j];
  }
}

static void
multiply(const doubles *f, const clarke_step *s, double *y)
{
  const clarke_dense *d = &s->dense;
  const double *w = f->g->values[d->weight].real, *x = f->y[s->in[0].value];
  const size_t width = d->repeat * f->n;

  for (size_t b = 0; b < d->blocks; b++)
    cblas_dgemm(CblasRowMajor, d->transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, (int)d->outer, (int)width,
                (int)d->inner, 1, w + (d->grouped ? b * d->outer * d->inner : 0),
                (int)(d->transposed ? d->outer : d->inner), x + b * d->inner * width, (int)width, 0,
                y + b * d->outer * width, (int)width);
}

/* Pieces without a square. */
static void
apply_pieces(const doubles *f, const clarke_step *s, double *y)
{
  const double *x = f->y[s->in[0].value];
  double kink[CLARKE_MAX_KINKS], coef[CLARKE_MAX_KINKS + 1][2];

  for (size_t k = 0; k < s->pieces.n_kinks; k++)
    kink[k] = mpq_get_d(s->pieces.kink[k]);
  for (size_t k = 0; k <= s->pieces.n_kinks; k++)
    for (size_t d = 0; d < 2; d++)
      coef[k][d] = mpq_get_d(s->pieces.coef[k][d]);
  for (size_t e = 0; e < f->g->values[s->out].count * f->n; e++) {
    size_t piece = 0;

    while (piece < s->pieces.n_kinks && x[e] > kink[piece])
      piece++;
    y[e] = coef[piece][0] + coef[piece][1] * x[e];
  }
}

static void
largest(const doubles *f, const clarke_step *s, double *y)
{
  const double *x = f->y[s->in[0].value];

  for (size_t i = 0; i < f->g->values[s->out].count; i++)
    for (size_t j = 0; j < f->n; j++) {
      double most = -INFINITY;

      for (size_t p = 0; p < s->width; p++)
        if (s->in[0].map[i * s->width + p] != CLARKE_NONE)
          most = fmax(most, x[s->in[0].map[i * s->width + p] * f->n + j]);
      y[i * f->n + j] = most;
    }
}

/* Over all samples; the least deviation. */
static double
normalize(const doubles *f, const clarke_step *s, double *y)
{
  const clarke_grouping *o = &s->grouping;
  const double *x = f->y[s->in[0].value], epsilon = mpq_get_d(s->epsilon);
  const double m = (double)(o->blocks * o->length * f->n);
  double least = INFINITY;

  for (size_t g = 0; g < o->groups; g++) {
    double sum = 0, square = 0, mean, deviation;

    for (size_t pass = 0; pass < 3; pass++) {
      mean = sum / m;
      deviation = sqrt(square / m + epsilon);
      for (size_t b = 0; b < o->blocks; b++) {
        const size_t first = (b * o->groups + g) * o->length * f->n;

        for (size_t e = first; e < first + o->length * f->n; e++)
          if (pass == 0)
            sum += x[e];
          else if (pass == 1)
            square += (x[e] - mean) * (x[e] - mean);
          else
            y[e] = (x[e] - mean) / deviation;
      }
    }
    least = fmin(least, deviation);
  }
  return least;
}

static void
run_step(const doubles *f, const clarke_step *s, double *y, double *deviation)
{
  switch (s->kind) {
  case CLARKE_GATHER:
    gather(f, s, y);
    break;
  case CLARKE_SUM:
    add(f, s, y);
    break;
  case CLARKE_SCALE:
    scale(f, s, y);
    break;
  case CLARKE_DENSE:
    multiply(f, s, y);
    break;
  case CLARKE_PIECEWISE:
    apply_pieces(f, s, y);
    break;
  case CLARKE_MAX:
    largest(f, s, y);
    break;
  case CLARKE_NORMALIZE:
    *deviation = normalize(f, s, y);
    break;
  default:
    break;
  }
}

static double
root_mean_square(const double *y, size_t n)
{
  double sum = 0;

  for (size_t e = 0; e < n; e++)
    sum += y[e] * y[e];
  return sqrt(sum / (double)(n > 0 ? n : 1));
}

/* A value no later step reads is let go. */
static void
drop_read(const doubles *f, size_t i, const bool *needed)
{
  const clarke_graph *g = f->g;

  for (size_t k = 0; k < g->steps[i].n_in; k++) {
    const size_t v = g->steps[i].in[k].value;
    bool read = false;

    for (size_t l = i + 1; l < g->n_steps && !read; l++)
      for (size_t o = 0; o < g->steps[l].n_in && needed[g->steps[l].out]; o++)
        read = read || g->steps[l].in[o].value == v;
    if (!read) {
      free(f->y[v]);
      f->y[v] = NULL;
    }
  }
}

static clarke_status
load(const doubles *f, const clarke_tensor *x, clarke_error *err)
{
  const size_t rows = f->g->values[f->g->input].count;
  double *y = malloc((rows * f->n + 1) * sizeof *y);

  f->y[f->g->input] = y;
  if (y == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < f->n; j++)
      y[i * f->n + j] = x->real != NULL ? x->real[j * rows + i] : (double)x->integer[j * rows + i];
  return CLARKE_OK;
}

clarke_status
clarke_sizes_measure(clarke_sizes *z, const clarke_graph *g, const clarke_tensor *x, size_t n, const bool *needed,
                     clarke_error *err)
{
  doubles f = {.g = g, .n = n, .y = calloc(g->n_values + 1, sizeof *f.y)};
  clarke_status status;

  *z = (clarke_sizes){.rms = calloc(g->n_values + 1, sizeof *z->rms),
                      .deviation = calloc(g->n_steps + 1, sizeof *z->deviation)};
  status = f.y != NULL && z->rms != NULL && z->deviation != NULL ? load(&f, x, err) : clarke_no_memory(err);
  for (size_t i = 0; i < g->n_steps && status == CLARKE_OK; i++) {
    const clarke_step *s = &g->steps[i];
    const size_t entries = g->values[s->out].count * n;

    if (!needed[s->out])
      continue;
    f.y[s->out] = malloc((entries + 1) * sizeof **f.y);
    if (f.y[s->out] == NULL) {
      status = clarke_no_memory(err);
      break;
    }
    run_step(&f, s, f.y[s->out], &z->deviation[i]);
    z->rms[s->out] = root_mean_square(f.y[s->out], entries);
    drop_read(&f, i, needed);
  }
  for (size_t v = 0; f.y != NULL && v < g->n_values; v++)
    free(f.y[v]);
  free(f.y);
  return status;
}

void
clarke_sizes_clear(clarke_sizes *z)
{
  free(z->rms);
  free(z->deviation);
  *z = (clarke_sizes){0};
}
