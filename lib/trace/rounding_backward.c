/* Bounds of gradients, step by step from the loss (rounding.h; docs/rounding-bound.md has the rules).
 *
 * A gradient is a sum of terms from the steps that read the value. While it is made it has three parts: the terms' own
 * errors, the sum of their absolute values, and how many there are. Rounding in any order is bounded by the latter two, when
 * the value's own step is reached. Through copies the three go as they are: a framework may sum up behind them. */
#include "trace/rounding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPARE 4
#define SPARE_NORMALIZED 16

typedef struct {
  double *error, *mass;
  double terms;
} sum;

typedef struct {
  clarke_roundoff *r;
  const clarke_graph *g;
  const clarke_matrix *grad;
  double scale;
  size_t n;
  sum *value, *parameter; /* by value, by parameter */
  const clarke_step *s;   /* the step at work, */
  size_t count;           /* its features, */
  double *size, *error;   /* its output's gradient */
} pass;

static bool
sum_init(sum *s, size_t n)
{
  if (s->error != NULL)
    return true;
  s->error = calloc(n + 1, sizeof *s->error);
  s->mass = calloc(n + 1, sizeof *s->mass);
  return s->error != NULL && s->mass != NULL;
}

static void
sum_clear(sum *s)
{
  free(s->error);
  free(s->mass);
}

static double
finished(const pass *p, const sum *s, size_t e, double spare)
{
  const double mass = clarke_roundoff_sum(s->mass[e], (size_t)s->terms);
  const double error = s->error[e] + clarke_roundoff_by(&p->r->by, s->terms + spare, mass);

  return isnan(error) ? INFINITY : clarke_roundoff_sum(error, (size_t)s->terms);
}

static void
add(sum *s, size_t e, double error, double mass)
{
  s->error[e] += error;
  s->mass[e] += mass;
}

/* The sum of an operand that the gradient goes on to; NULL when it stops there. */
static sum *
target(const pass *p, size_t value)
{
  const clarke_value *v = &p->g->values[value];

  if (v->constant)
    return clarke_value_is_wrt(p->g, value) ? &p->parameter[v->parameter] : NULL;
  return p->grad[value].rows > 0 ? &p->value[value] : NULL;
}

/* Where entry f of a constant is among its parameter's. */
static size_t
parameter_entry(const pass *p, size_t value, size_t f)
{
  const clarke_value *v = &p->g->values[value];

  return v->origin != NULL ? v->origin[f] : f;
}

/* How many features read one entry of an operand, at most. */
static double
readers(const pass *p, const clarke_operand *o, size_t count)
{
  const size_t n = p->g->values[o->value].count;
  size_t *reads, most = 1;

  if (o->map == NULL)
    return 1;
  reads = calloc(n + 1, sizeof *reads);
  if (reads == NULL)
    return (double)count;
  for (size_t i = 0; i < count; i++)
    if (o->map[i] != CLARKE_NONE && ++reads[o->map[i]] > most)
      most = reads[o->map[i]];
  free(reads);
  return (double)most;
}

static double
spare(const clarke_step *s)
{
  return strstr(s->op->name, "Normalization") != NULL ? SPARE_NORMALIZED : SPARE;
}

static void
back_gather(const pass *p)
{
  const clarke_operand *o = &p->s->in[0];
  const sum *from = &p->value[p->s->out];
  sum *to = target(p, o->value);

  if (to == NULL)
    return;
  for (size_t e = 0; e < p->count * p->n; e++) {
    const size_t f = clarke_operand_entry(o, e / p->n);

    if (f != CLARKE_NONE)
      add(to, f * p->n + e % p->n, from->error[e], from->mass[e]);
  }
  to->terms += readers(p, o, p->count) * (from->terms + 1);
}

static void
back_sum(const pass *p)
{
  for (size_t k = 0; k < p->s->n_in; k++) {
    const clarke_operand *o = &p->s->in[k];
    const bool constant = p->g->values[o->value].constant;
    const double coef = fabs(o->coef);
    sum *to = target(p, o->value);

    for (size_t e = 0; to != NULL && e < p->count * p->n; e++) {
      const size_t f = clarke_operand_entry(o, e / p->n);

      if (f != CLARKE_NONE)
        add(to, constant ? parameter_entry(p, o->value, f) : f * p->n + e % p->n, coef * p->error[e],
            coef * (p->size[e] + p->error[e]));
    }
    if (to != NULL)
      to->terms += readers(p, o, p->count) * (constant ? (double)p->n : 1) + spare(p->s);
  }
}

/* The gradient in c of x c is that of the output times x; of x / c times the output / c, turned. */
static void
back_scale_constant(const pass *p, const double *column)
{
  const clarke_operand *x = &p->s->in[0], *c = &p->s->in[1];
  const size_t other = p->s->divide ? p->s->out : x->value;
  sum *to = target(p, c->value);

  if (to == NULL)
    return;
  for (size_t e = 0; e < p->count * p->n; e++) {
    const size_t f = e / p->n, from = p->s->divide ? e : clarke_operand_entry(x, f) * p->n + e % p->n;
    const double by = p->s->divide ? column[f] : 1, off = p->r->error[other][from], top = p->r->size[other][from] + off;
    const double added = p->r->wide[other] != NULL ? p->r->wide[other][from] : top;

    add(to, parameter_entry(p, c->value, clarke_operand_entry(c, f)), by * (p->size[e] * off + p->error[e] * top),
        by * (p->size[e] + p->error[e]) * added);
  }
  to->terms += readers(p, c, p->count) * (double)p->n + spare(p->s);
}

static clarke_status
back_scale(const pass *p, clarke_error *err)
{
  const clarke_operand *x = &p->s->in[0];
  double *size = NULL;
  clarke_matrix column;
  clarke_status status;
  sum *to = target(p, x->value);

  clarke_matrix_init(&column);
  status = clarke_scale_column(&column, p->r->f, p->s, err);
  if (status == CLARKE_OK && (size = clarke_roundoff_sizes(&column)) == NULL)
    status = clarke_no_memory(err);
  for (size_t e = 0; status == CLARKE_OK && to != NULL && e < p->count * p->n; e++) {
    const double c = size[e / p->n];

    add(to, clarke_operand_entry(x, e / p->n) * p->n + e % p->n,
        c * p->error[e] + clarke_roundoff_by(&p->r->by, spare(p->s), c * (p->size[e] + p->error[e])),
        c * (p->size[e] + p->error[e]));
  }
  if (to != NULL)
    to->terms += readers(p, x, p->count);
  if (status == CLARKE_OK)
    back_scale_constant(p, size);
  free(size);
  clarke_matrix_clear(&column);
  return status;
}

/* One product w x of entry e's sum, to x and to w. */
static void
back_product(const pass *p, size_t e, size_t at, size_t from, sum *x, sum *w)
{
  const size_t weight = p->s->dense.weight, operand = p->s->in[0].value;
  const double g = p->size[e], off = p->error[e];

  if (x != NULL) {
    const double size = fabs(p->g->values[weight].real[at]), cast = clarke_roundoff_constant(p->r, size);

    add(x, from, (size + cast) * off + cast * g, (size + cast) * (g + off));
  }
  if (w != NULL) {
    const double size = p->r->size[operand][from], error = p->r->error[operand][from];

    add(w, parameter_entry(p, weight, at), (size + error) * off + error * g, (size + error) * (g + off));
  }
}

static void
back_dense(const pass *p)
{
  const clarke_dense *d = &p->s->dense;
  sum *x = target(p, p->s->in[0].value), *w = target(p, d->weight);

  for (size_t f = 0; f < p->count; f++) {
    const size_t r = f % d->repeat, o = f / d->repeat % d->outer, b = f / d->repeat / d->outer;

    for (size_t i = 0; i < d->inner; i++)
      for (size_t j = 0; j < p->n; j++)
        back_product(p, f * p->n + j, d->transposed ? i * d->outer + o : (d->grouped ? b * d->outer + o : o) * d->inner + i,
                     ((b * d->inner + i) * d->repeat + r) * p->n + j, x, w);
  }
  if (x != NULL)
    x->terms += (double)d->outer;
  if (w != NULL)
    w->terms += (double)p->n * (double)d->repeat * (double)(d->grouped ? 1 : d->blocks);
}

/* PRelu's slope: x, where the computed argument may be below 0. */
static void
back_slope(const pass *p, size_t e, bool open)
{
  const size_t c = p->s->pieces.slope, x = p->s->in[0].value, step = (size_t)(p->s - p->g->steps);
  const size_t *map = p->s->pieces.slope_map;
  const double off = p->r->error[x][e], top = p->r->size[x][e] + off, g = p->size[e] + p->error[e];
  sum *to = c != CLARKE_NONE ? target(p, c) : NULL;

  if (to == NULL)
    return;
  if (open)
    add(to, parameter_entry(p, c, map != NULL ? map[e / p->n] : e / p->n), g * top, g * top);
  else if (p->r->f->piece[step][e] == 0)
    add(to, parameter_entry(p, c, map != NULL ? map[e / p->n] : e / p->n), p->size[e] * off + p->error[e] * top, g * top);
}

static clarke_status
back_piecewise(const pass *p, clarke_error *err)
{
  const size_t x = p->s->in[0].value, step = (size_t)(p->s - p->g->steps);
  sum *to = target(p, x), *slope = p->s->pieces.slope != CLARKE_NONE ? target(p, p->s->pieces.slope) : NULL;
  clarke_status status = CLARKE_OK;

  for (size_t e = 0; e < p->count * p->n && status == CLARKE_OK; e++) {
    clarke_reach reach;

    status = clarke_roundoff_reach(&reach, p->r, step, e, err);
    p->r->open += status == CLARKE_OK && reach.open && p->size[e] > 0;
    if (status == CLARKE_OK && to != NULL)
      add(to, e, reach.steepest * p->error[e] + reach.apart * p->size[e], reach.steepest * (p->size[e] + p->error[e]));
    if (status == CLARKE_OK && slope != NULL)
      back_slope(p, e, reach.apart > 0);
  }
  if (to != NULL)
    to->terms += 1 + 6;
  if (slope != NULL)
    slope->terms += (double)p->n * (double)p->count;
  return status;
}

/* sigmoid' = y (1 - y), tanh' = 1 - y^2. */
static void
back_analytic(const pass *p)
{
  const size_t y = p->s->out, step = (size_t)(p->s - p->g->steps);
  const clarke_matrix *slope = &p->r->slopes->slope[step];
  sum *to = target(p, p->s->in[0].value);

  for (size_t e = 0; to != NULL && e < p->count * p->n; e++) {
    const double off = p->r->error[y][e], top = p->r->size[y][e] + off;
    const double size = fabs(clarke_matrix_get_double(slope, e / p->n, e % p->n)) * (1 + 0x1p-50)
                        + clarke_matrix_radius(slope, e / p->n, e % p->n);
    const double apart = 2 * off * (1 + off) + clarke_roundoff_by(&p->r->by, 4, 1 + top * top);

    add(to, e, (size + apart) * p->error[e] + apart * p->size[e], (size + apart) * (p->size[e] + p->error[e]));
  }
  if (to != NULL)
    to->terms += 1 + SPARE;
}

/* The softmax at an entry of a LogSoftmax, exp of its value. */
static double
share_of(const pass *p, size_t e)
{
  const clarke_matrix *y = &p->r->f->value[p->s->out];
  const double log = clarke_matrix_get_double(y, e / p->n, e % p->n);

  return fmin(1, exp(log + clarke_matrix_radius(y, e / p->n, e % p->n)) * (1 + 0x1p-40));
}

/* Of the logarithm g - y S, with y the softmax and S the sum of the line's g; y is made as exp of the computed value, and is
 * off by a factor of exp(its error) at most. */
static void
log_entry(const pass *p, sum *to, size_t e, size_t first)
{
  const double share = share_of(p, e), off = expm1(p->r->error[p->s->out][e]) * (1 + 0x1p-40);
  const double top = share * (1 + off) + clarke_roundoff_by(&p->r->by, SPARE + 8, share * (1 + off));
  double mass = 0, apart = 0, sum_size = 0;

  for (size_t i = 0; i < p->s->length; i++) {
    const size_t k = (first + i * p->s->stride) * p->n + e % p->n;

    mass += p->size[k] + p->error[k];
    apart += p->error[k];
    sum_size += p->size[k];
  }
  apart += clarke_roundoff_by(&p->r->by, (double)p->s->length + SPARE, mass);
  apart = p->error[e] + top * apart + (top - share) * sum_size;
  mass = p->size[e] + p->error[e] + top * mass;
  add(to, e, clarke_roundoff_sum(apart, 3 * p->s->length), clarke_roundoff_sum(mass, 3 * p->s->length));
}

/* y (g - sum of y g). */
static void
softmax_entry(const pass *p, sum *to, size_t e, size_t first)
{
  const clarke_step *s = p->s;
  const double off = p->r->error[s->out][e], top = p->r->size[s->out][e] + off;
  double mass = p->size[e] + p->error[e], apart = p->error[e];

  for (size_t i = 0; i < s->length; i++) {
    const size_t k = (first + i * s->stride) * p->n + e % p->n;
    const double each = p->r->size[s->out][k] + p->r->error[s->out][k];

    mass += each * (p->size[k] + p->error[k]);
    apart += each * p->error[k] + p->r->error[s->out][k] * p->size[k];
  }
  apart += clarke_roundoff_by(&p->r->by, (double)s->length + SPARE, mass);
  add(to, e, top * apart + off * mass, top * mass);
}

static void
back_softmax(const pass *p)
{
  const clarke_step *s = p->s;
  sum *to = target(p, s->in[0].value);

  for (size_t e = 0; to != NULL && e < p->count * p->n; e++) {
    const size_t f = e / p->n, first = f / (s->length * s->stride) * s->length * s->stride + f % s->stride;

    (s->log ? log_entry : softmax_entry)(p, to, e, first);
  }
  if (to != NULL)
    to->terms += 1 + SPARE;
}

static clarke_status
back_normalize(const pass *p, clarke_error *err)
{
  const size_t entries = p->count * p->n;
  double *error = malloc((entries + 1) * sizeof *error), *mass = malloc((entries + 1) * sizeof *mass);
  sum *to = target(p, p->s->in[0].value);

  if (error != NULL && mass != NULL && to != NULL) {
    clarke_roundoff_normalize_back(error, mass, p->r, p->s, p->size, p->error);
    for (size_t e = 0; e < entries; e++)
      add(to, e, error[e], mass[e]);
    to->terms += 1;
  }
  free(error);
  free(mass);
  return error != NULL && mass != NULL ? CLARKE_OK : clarke_no_memory(err);
}

/* May an entry of a window have been the winner when it was computed? */
static bool
may_win(const pass *p, size_t value, size_t best, size_t other, size_t j)
{
  const clarke_matrix *m = &p->r->f->value[value];
  const double gap = clarke_matrix_get_double(m, best, j) - clarke_matrix_get_double(m, other, j);
  const double off = p->r->error[value][best * p->n + j] + p->r->error[value][other * p->n + j];
  const double radius = clarke_matrix_radius(m, best, j) + clarke_matrix_radius(m, other, j)
                        + (p->r->size[value][best * p->n + j] + p->r->size[value][other * p->n + j]) * 0x1p-50;

  return off > 0 && gap <= off + radius;
}

/* The window's gradient went elsewhere, or may have: to whom it may have gone, and from whom. */
static void
back_losers(const pass *p, sum *to, size_t e, size_t best)
{
  const clarke_operand *o = &p->s->in[0];
  const bool known = p->r->recorded != NULL && p->r->recorded[o->value] != NULL;
  const size_t winner = known ? clarke_roundoff_winner(p->r, p->s, e) : CLARKE_NONE;
  bool open = false;

  for (size_t i = 0; i < p->s->width; i++) {
    const size_t f = o->map[e / p->n * p->s->width + i];

    if (f == CLARKE_NONE || f == best || (known ? f != winner : !may_win(p, o->value, best, f, e % p->n)))
      continue;
    add(to, f * p->n + e % p->n, p->size[e] + p->error[e], p->size[e] + p->error[e]);
    open = true;
  }
  if (open)
    add(to, best * p->n + e % p->n, p->size[e], 0);
  p->r->open += open && !known && p->size[e] > 0;
}

static void
back_max(const pass *p)
{
  const clarke_route *route = &p->r->slopes->route[p->s - p->g->steps];
  sum *to = target(p, p->s->in[0].value);

  for (size_t r = 0; r < route->n && to != NULL; r++)
    for (size_t e = 0; e < p->count * p->n; e++) {
      const size_t f = route->from[r][e];
      double weight = 1;

      if (f == CLARKE_NONE)
        continue;
      if (route->weight[r].rows > 0)
        weight = fabs(clarke_matrix_get_double(&route->weight[r], e / p->n, e % p->n)) * (1 + 0x1p-50);
      add(to, f * p->n + e % p->n, weight * p->error[e], weight * (p->size[e] + p->error[e]));
      if (weight > 0)
        back_losers(p, to, e, f);
    }
  if (to != NULL)
    to->terms += readers(p, &p->s->in[0], p->count * p->s->width) + SPARE;
}

static clarke_status
back_step(const pass *p, clarke_error *err)
{
  switch (p->s->kind) {
  case CLARKE_GATHER:
    back_gather(p);
    return CLARKE_OK;
  case CLARKE_SUM:
    back_sum(p);
    return CLARKE_OK;
  case CLARKE_SCALE:
    return back_scale(p, err);
  case CLARKE_DENSE:
    back_dense(p);
    return CLARKE_OK;
  case CLARKE_PIECEWISE:
    return back_piecewise(p, err);
  case CLARKE_ANALYTIC:
    back_analytic(p);
    return CLARKE_OK;
  case CLARKE_SOFTMAX:
    back_softmax(p);
    return CLARKE_OK;
  case CLARKE_NORMALIZE:
    return back_normalize(p, err);
  case CLARKE_MAX:
    back_max(p);
  }
  return CLARKE_OK;
}

/* --- the loss --- */

static double
target_size(const clarke_loss *loss, size_t e)
{
  return loss->y->real != NULL ? fabs(loss->y->real[e]) : fabs((double)loss->y->integer[e]) * (1 + 0x1p-50);
}

/* The gradient 2 (out - y) / N. */
static void
seed_squares(const pass *p, sum *s, size_t rows)
{
  const size_t out = p->g->output;
  const double by = 2 * p->scale / ((double)rows * (double)p->n) * (1 + 0x1p-50);

  for (size_t e = 0; e < rows * p->n; e++) {
    const double off = p->r->error[out][e];
    const double mass = p->r->size[out][e] + off + target_size(p->r->loss, e % p->n * rows + e / p->n);

    s->error[e] = clarke_roundoff_sum(by * (off + clarke_roundoff_by(&p->r->by, SPARE + 4, mass)), 4);
  }
}

/* (softmax - one of the label) / N, the softmax as exp of the log-softmax. */
static void
seed_cross_entropy(const pass *p, sum *s, size_t rows)
{
  const size_t out = p->g->output;
  const double by = p->scale / (double)p->n * (1 + 0x1p-50);

  for (size_t j = 0; j < p->n; j++) {
    double shift = 0, size = 0;

    for (size_t i = 0; i < rows; i++) {
      shift = fmax(shift, p->r->error[out][i * p->n + j]);
      size = fmax(size, p->r->size[out][i * p->n + j] + p->r->error[out][i * p->n + j]);
    }
    /* exp(x - largest), their sum, its logarithm, and the exponential of the difference */
    shift = 2 * shift + clarke_roundoff_by(&p->r->by, (double)rows + 24, 3 * size + log((double)rows + 1) + 2);
    for (size_t i = 0; i < rows; i++) {
      const double g = clarke_matrix_get_double(&p->grad[out], i, j) * (double)p->n;
      const bool label = (size_t)p->r->loss->y->integer[j] == i;
      const double share = fmin(1, fabs(label ? g + 1 : g) + 0x1p-40);

      const double rounding = clarke_roundoff_by(&p->r->by, SPARE + 8, share * exp(shift) + label);

      s->error[i * p->n + j] = clarke_roundoff_sum(by * (share * expm1(shift) * (1 + 0x1p-40) + rounding), 8);
    }
  }
}

static void
seed(const pass *p)
{
  const size_t out = p->g->output, rows = p->grad[out].rows;
  sum *s = &p->value[out];

  if (p->r->loss->kind == CLARKE_LOSS_CE)
    seed_cross_entropy(p, s, rows);
  else if (p->r->loss->kind == CLARKE_LOSS_MSE)
    seed_squares(p, s, rows);
  for (size_t e = 0; e < rows * p->n; e++) {
    const double size = p->scale * (fabs(clarke_matrix_get_double(&p->grad[out], e / p->n, e % p->n)) * (1 + 0x1p-50)
                                    + clarke_matrix_radius(&p->grad[out], e / p->n, e % p->n));

    s->mass[e] = clarke_roundoff_sum(size + s->error[e], 4);
  }
  s->terms = SPARE;
}

/* --- the pass --- */

static clarke_status
visit(pass *p, size_t i, clarke_error *err)
{
  const size_t out = p->g->steps[i].out;
  const sum *s = &p->value[out];
  clarke_status status;

  p->s = &p->g->steps[i];
  p->count = p->g->values[out].count;
  p->size = clarke_roundoff_sizes(&p->grad[out]);
  p->error = malloc((p->count * p->n + 1) * sizeof *p->error);
  if (p->size == NULL || p->error == NULL) {
    free(p->size);
    free(p->error);
    return clarke_no_memory(err);
  }
  for (size_t e = 0; e < p->count * p->n; e++) {
    p->size[e] = clarke_roundoff_sum(p->size[e] * p->scale, 2);
    p->error[e] = finished(p, s, e, SPARE);
    if (!(p->size[e] + p->error[e] <= p->r->by.largest))
      p->error[e] = INFINITY;
  }
  status = back_step(p, err);
  free(p->size);
  free(p->error);
  return status;
}

static clarke_status
allocate(pass *p, clarke_error *err)
{
  bool well = p->value != NULL && p->parameter != NULL;

  for (size_t v = 0; v < p->g->n_values && well; v++)
    if (p->grad[v].rows > 0 && !p->g->values[v].constant)
      well = sum_init(&p->value[v], p->grad[v].rows * p->n);
  for (size_t q = 0; q < p->g->n_parameters && well; q++)
    if (p->g->parameters[q].wrt)
      well = sum_init(&p->parameter[q], p->g->parameters[q].count);
  return well ? CLARKE_OK : clarke_no_memory(err);
}

static clarke_status
finish(double **bound, const pass *p, clarke_error *err)
{
  for (size_t q = 0; q < p->g->n_parameters; q++) {
    const size_t count = p->g->parameters[q].count;

    if (!p->g->parameters[q].wrt)
      continue;
    bound[q] = malloc((count + 1) * sizeof **bound);
    if (bound[q] == NULL)
      return clarke_no_memory(err);
    for (size_t e = 0; e < count; e++)
      bound[q][e] = finished(p, &p->parameter[q], e, SPARE_NORMALIZED);
  }
  return CLARKE_OK;
}

clarke_status
clarke_roundoff_backward(double **bound, clarke_roundoff *r, const clarke_matrix *grad, double scale, clarke_error *err)
{
  const clarke_graph *g = r->f->g;
  pass p = {.r = r, .g = g, .grad = grad, .scale = scale, .n = r->f->n};
  clarke_status status;

  p.value = calloc(g->n_values + 1, sizeof *p.value);
  p.parameter = calloc(g->n_parameters + 1, sizeof *p.parameter);
  status = allocate(&p, err);
  if (status == CLARKE_OK)
    seed(&p);
  for (size_t i = g->n_steps; i-- > 0 && status == CLARKE_OK;)
    if (grad[g->steps[i].out].rows > 0)
      status = visit(&p, i, err);
  if (status == CLARKE_OK)
    status = finish(bound, &p, err);
  for (size_t v = 0; p.value != NULL && v < g->n_values; v++)
    sum_clear(&p.value[v]);
  for (size_t q = 0; p.parameter != NULL && q < g->n_parameters; q++)
    sum_clear(&p.parameter[q]);
  free(p.value);
  free(p.parameter);
  return status;
}
