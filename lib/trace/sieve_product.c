/* Products of weights and recorded numbers in doubles, by BLAS (sieve.h). */
#include "trace/sieve.h"

#include <cblas.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns of an operand that are laid out at a time. */
#define WIDTH 1024
/* Constants that no float32 holds may be as small as doubles are: below it a sum of weights is left open. */
#define LEAST 0x1p-400

/* The GATHER that lays out the operand; NULL: it is there already. */
static const clarke_step *
layout_of(const clarke_sieve *s, const clarke_step *dense)
{
  const size_t x = dense->in[0].value, producer = s->g->values[x].producer;

  return s->value[x].exact == NULL && producer != CLARKE_NONE && s->g->steps[producer].kind == CLARKE_GATHER
           ? &s->g->steps[producer]
           : NULL;
}

const size_t *
clarke_sieve_map(const clarke_sieve *s, const clarke_step *dense)
{
  const clarke_step *layout = layout_of(s, dense);

  return layout != NULL ? layout->in[0].map : NULL;
}

size_t
clarke_sieve_source(const clarke_sieve *s, const clarke_step *dense)
{
  const clarke_step *layout = layout_of(s, dense);
  const size_t x = layout != NULL ? layout->in[0].value : dense->in[0].value;

  return s->value[x].exact != NULL ? x : CLARKE_NONE;
}

const float *
clarke_sieve_operand(const clarke_sieve *s, const clarke_step *dense, size_t f)
{
  const size_t *map = clarke_sieve_map(s, dense);
  const size_t from = map != NULL ? map[f] : f;

  return from != CLARKE_NONE ? s->value[clarke_sieve_source(s, dense)].exact + from * s->n : NULL;
}

/* --- one step at work --- */

typedef struct {
  clarke_sieve *s;
  const clarke_step *dense;
  const clarke_dense *d;
  const double *w;
  size_t n, columns; /* of samples; of a row of the operand: repeat * n */
} product;

static product
product_of(clarke_sieve *s, const clarke_step *dense)
{
  return (product){s, dense, &dense->dense, s->g->values[dense->dense.weight].real, s->n, dense->dense.repeat * s->n};
}

static bool
fits(const product *p)
{
  return p->columns <= INT_MAX && p->d->inner <= INT_MAX && p->d->outer <= INT_MAX;
}

static const double *
weight_of(const product *p, size_t block)
{
  return p->w + (p->d->grouped ? block * p->d->outer * p->d->inner : 0);
}

static bool
make_panel(clarke_sieve *s, double **panel, size_t *count, size_t wanted)
{
  if (wanted <= *count && *panel != NULL)
    return true;
  clarke_sieve_leave(s, *panel);
  *panel = clarke_sieve_take_doubles(s, wanted);
  *count = wanted;
  return *panel != NULL;
}

/* Room for panels of `inner` and of `outer` rows, and how many positions are in one. */
static bool
make_room(const product *p, size_t *positions)
{
  const size_t most = WIDTH / p->n + 1;

  *positions = most < p->d->repeat ? most : p->d->repeat;
  return make_panel(p->s, &p->s->panel, &p->s->panel_count, p->d->inner * *positions * p->n)
         && make_panel(p->s, &p->s->other, &p->s->other_count, p->d->outer * *positions * p->n);
}

/* Positions from .. from + positions of a block's operand: rows of positions times n numbers. */
static const double *
panel_of(const product *p, size_t block, size_t from, size_t positions)
{
  const size_t *map = clarke_sieve_map(p->s, p->dense), line = positions * p->n;
  const float *x = p->s->value[clarke_sieve_source(p->s, p->dense)].exact;
  double *to = p->s->panel;

  for (size_t i = 0; i < p->d->inner; i++, to += line) {
    const size_t row = (block * p->d->inner + i) * p->d->repeat + from;

    for (size_t r = 0; map != NULL && r < positions; r++)
      if (map[row + r] != CLARKE_NONE)
        clarke_sieve_widen(to + r * p->n, x + map[row + r] * p->n, p->n);
      else
        memset(to + r * p->n, 0, p->n * sizeof *to);
    if (map == NULL)
      clarke_sieve_widen(to, x + row * p->n, line);
  }
  return p->s->panel;
}

/* The same of a gradient of the step's output. */
static void
gradient_panel(const product *p, const float *g, size_t block, size_t from, size_t positions)
{
  for (size_t o = 0; o < p->d->outer; o++)
    clarke_sieve_widen(p->s->other + o * positions * p->n, g + ((block * p->d->outer + o) * p->d->repeat + from) * p->n, positions * p->n);
}

static double
largest(const double *x, size_t n)
{
  double most = 0;

  for (size_t e = 0; e < n; e++)
    most = fabs(x[e]) > most ? fabs(x[e]) : most;
  return most;
}

/* The absolute sums of W's rows, or of its columns: of all blocks' weights, the largest of each. */
static double *
weight_sums(const product *p, bool of_columns)
{
  const clarke_dense *d = p->d;
  const size_t rows = of_columns ? d->inner : d->outer, weights = d->grouped ? d->blocks : 1;
  double *sum = calloc(weights * rows + 1, sizeof *sum);

  for (size_t b = 0; sum != NULL && b < weights; b++)
    for (size_t o = 0; o < d->outer; o++)
      for (size_t i = 0; i < d->inner; i++)
        sum[b * rows + (of_columns ? i : o)] += fabs(weight_of(p, b)[d->transposed ? i * d->outer + o : o * d->inner + i]);
  return sum;
}

/* The sums over planes of the kernels' largest weights: of each output; or of each plane, over the outputs. */
static double *
kernel_sums(const product *p, size_t planes, bool of_planes)
{
  double *sum = calloc((of_planes ? planes : p->d->outer) + 1, sizeof *sum);

  for (size_t k = 0; sum != NULL && k < p->d->outer * planes; k++)
    sum[of_planes ? k % planes : k / planes] += largest(p->w + 9 * k, 9);
  return sum;
}

/* --- y = W x --- */

static void
multiply(const product *p, double *y, size_t positions)
{
  const clarke_dense *d = p->d;

  for (size_t b = 0; b < d->blocks; b++)
    for (size_t r = 0; r < d->repeat; r += positions) {
      const size_t width = d->repeat - r < positions ? d->repeat - r : positions;
      const double *x = panel_of(p, b, r, width);

      cblas_dgemm(CblasRowMajor, d->transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, (int)d->outer, (int)(width * p->n),
                  (int)d->inner, 1, weight_of(p, b), (int)(d->transposed ? d->outer : d->inner), x, (int)(width * p->n), 0,
                  y + b * d->outer * p->columns + r * p->n, (int)p->columns);
    }
}

/* What Winograd's algorithm loses is added to the slack. */
static bool
multiply_conv(const product *p, const clarke_sieve_conv *c, clarke_sieved *y, const float *x, double most)
{
  double *sum = kernel_sums(p, c->planes, false);
  const bool well = sum != NULL && clarke_sieve_conv_run(p->s, c, p->d->outer, p->w, x, y->near);

  for (size_t f = 0; well && f < p->d->outer * p->d->repeat; f++)
    y->slack[f] += clarke_sieve_conv_slack(c->planes, clarke_sieve_up(sum[f / p->d->repeat] * most));
  free(sum);
  return well;
}

clarke_status
clarke_sieve_dense(clarke_sieve *s, const clarke_step *dense, clarke_error *err)
{
  const product p = product_of(s, dense);
  const clarke_dense *d = p.d;
  const size_t rows = d->blocks * d->outer * d->repeat, x = clarke_sieve_source(s, dense);
  clarke_sieved *y = &s->value[dense->out];
  clarke_sieve_conv conv;
  double *sum, most;
  size_t positions;
  bool well = true;

  if (x == CLARKE_NONE || !fits(&p)) {
    s->open = true;
    return CLARKE_OK;
  }
  sum = weight_sums(&p, false);
  if (sum == NULL || !make_room(&p, &positions) || !clarke_sieved_begin(s, y, rows, p.n, true)) {
    free(sum);
    return clarke_no_memory(err);
  }
  most = clarke_sieve_largest(s->value[x].exact, s->g->values[x].count * p.n);
  if (clarke_sieve_is_conv(&conv, s, dense))
    well = multiply_conv(&p, &conv, y, s->value[x].exact, most);
  else
    multiply(&p, y->near, positions);
  for (size_t f = 0; f < rows; f++) {
    const size_t o = f / d->repeat % d->outer, b = f / d->repeat / d->outer;

    s->open = s->open || (sum[(d->grouped ? b * d->outer : 0) + o] > 0 && sum[(d->grouped ? b * d->outer : 0) + o] < LEAST);

    y->top[f] = clarke_sieve_up(sum[(d->grouped ? b * d->outer : 0) + o] * most);
    y->slack[f] += clarke_sieve_slack((double)d->inner, y->top[f]);
  }
  y->terms = (double)d->inner;
  y->dense = dense;
  y->parts = 1;
  free(sum);
  return well ? CLARKE_OK : clarke_no_memory(err);
}

/* --- back --- */

typedef struct {
  product p;
  const float *g; /* of the output */
  double most;    /* its largest */
  clarke_sieved *x, *w; /* NULL: not asked for */
  const size_t *map;
  bool is_conv; /* by Winograd's algorithm: */
  clarke_sieve_conv conv;
} backward;

/* x += W^T g in a panel, and from there to where its rows come from; g's panel is there already. */
static void
back_to_operand(const backward *k, size_t b, size_t r, size_t width)
{
  const product *p = &k->p;
  const clarke_dense *d = p->d;
  const bool laid = k->map != NULL;
  double *to = laid ? p->s->panel : k->x->near + b * d->inner * p->columns + r * p->n;

  cblas_dgemm(CblasRowMajor, d->transposed ? CblasNoTrans : CblasTrans, CblasNoTrans, (int)d->inner, (int)(width * p->n),
              (int)d->outer, 1, weight_of(p, b), (int)(d->transposed ? d->outer : d->inner), p->s->other, (int)(width * p->n),
              laid ? 0 : 1, to, (int)(laid ? width * p->n : p->columns));
  for (size_t i = 0; laid && i < d->inner; i++)
    for (size_t q = 0; q < width; q++, to += p->n) {
      const size_t from = k->map[(b * d->inner + i) * d->repeat + r + q];
      double *x = from != CLARKE_NONE ? k->x->near + from * p->n : NULL;

      for (size_t j = 0; x != NULL && j < p->n; j++)
        x[j] += to[j];
    }
}

static void
back_to_weight(const backward *k, size_t b, size_t r, size_t width)
{
  const product *p = &k->p;
  const clarke_dense *d = p->d;
  const double *g = p->s->other, *x = panel_of(p, b, r, width);
  double *w = k->w->near + (d->grouped ? b * d->outer * d->inner : 0);
  const int line = (int)(width * p->n);

  if (d->transposed)
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)d->inner, (int)d->outer, line, 1, x, line, g, line, 1, w,
                (int)d->outer);
  else
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)d->outer, (int)d->inner, line, 1, g, line, x, line, 1, w,
                (int)d->inner);
}

/* Slack and top of what went to the operand's source; how many products went to one entry at most. */
static clarke_status
bound_operand(const backward *k, clarke_error *err)
{
  const clarke_dense *d = k->p.d;
  const size_t laid = d->blocks * d->inner * d->repeat, count = k->p.s->g->values[clarke_sieve_source(k->p.s, k->p.dense)].count;
  double *sum = weight_sums(&k->p, true), *kernels = k->is_conv ? kernel_sums(&k->p, k->conv.planes, true) : NULL;
  size_t *reads = calloc(count + 1, sizeof *reads), most = 1;

  for (size_t f = 0; sum != NULL && reads != NULL && f < laid; f++) {
    const size_t from = k->map != NULL ? k->map[f] : f, i = f / d->repeat % d->inner, b = f / d->repeat / d->inner;

    if (from == CLARKE_NONE)
      continue;
    k->x->top[from] += clarke_sieve_up(sum[(d->grouped ? b * d->inner : 0) + i] * k->most);
    reads[from]++;
    most = reads[from] > most ? reads[from] : most;
  }
  for (size_t e = 0; sum != NULL && reads != NULL && e < count; e++)
    k->x->slack[e] += clarke_sieve_slack((double)(d->outer + most + k->x->parts), k->x->top[e]);
  k->x->terms += (double)(most * d->outer);
  if (k->is_conv && kernels != NULL)
    for (size_t e = 0; e < count; e++)
      k->x->slack[e] += clarke_sieve_conv_slack(d->outer, clarke_sieve_up(kernels[e / (k->conv.h * k->conv.w)] * k->most));
  free(kernels);
  free(reads);
  free(sum);
  return sum != NULL && reads != NULL && (kernels != NULL || !k->is_conv) ? CLARKE_OK : clarke_no_memory(err);
}

/* The Euclidean norms of the rows of g, as the blocks have them; those of the operand's rows: where one is 0, all products are. */
static double *
norms_of_gradient(const backward *k)
{
  const size_t rows = k->p.d->blocks * k->p.d->outer;
  double *norm = malloc((rows + 1) * sizeof *norm);

  for (size_t f = 0; norm != NULL && f < rows; f++)
    norm[f] = clarke_sieve_up(sqrt(clarke_sieve_squares(k->g + f * k->p.columns, k->p.columns)));
  return norm;
}

static double *
norms_of_operand(const backward *k)
{
  const clarke_dense *d = k->p.d;
  const size_t x = clarke_sieve_source(k->p.s, k->p.dense), count = k->p.s->g->values[x].count;
  double *norm = calloc(d->blocks * d->inner + 1, sizeof *norm), *own = malloc((count + 1) * sizeof *own);

  for (size_t f = 0; own != NULL && f < count; f++)
    own[f] = clarke_sieve_squares(k->p.s->value[x].exact + f * k->p.n, k->p.n);
  for (size_t f = 0; norm != NULL && own != NULL && f < d->blocks * d->inner * d->repeat; f++)
    if (k->map == NULL || k->map[f] != CLARKE_NONE)
      norm[f / d->repeat] += own[k->map != NULL ? k->map[f] : f];
  for (size_t i = 0; norm != NULL && i < d->blocks * d->inner; i++)
    norm[i] = own != NULL ? clarke_sieve_up(sqrt(norm[i])) : INFINITY;
  free(own);
  return norm;
}

/* What is lost of an entry of the weight's gradient, in parts of the norm of its gradient's row: of each of the operand's rows.
 * x: those rows' norms, which become it. What Winograd's algorithm loses has the norm of a whole plane. */
static void
losses_of_operand(double *x, const backward *k, double roundings)
{
  const clarke_sieve_conv *c = &k->conv;
  const float *from = k->p.s->value[clarke_sieve_source(k->p.s, k->p.dense)].exact;
  const size_t plane = k->is_conv ? c->h * c->w * k->p.n : 0;
  double norm = 0;

  for (size_t i = 0; i < k->p.d->inner; i++) {
    if (k->is_conv && i % 9 == 0)
      norm = clarke_sieve_up(sqrt(clarke_sieve_squares(from + i / 9 * plane, plane)));
    x[i] = clarke_sieve_slack(roundings, x[i]) + (k->is_conv ? clarke_sieve_conv_weight_slack(c, k->p.n, norm) : 0);
  }
}

/* The same of the weight, by the inequality of Cauchy and Schwarz: of one block, whose bounds are products of a number of the row
 * and one of the column. */
static clarke_status
bound_weight(const backward *k, clarke_error *err)
{
  const clarke_dense *d = k->p.d;
  const size_t lines = d->transposed ? d->inner : d->outer, line = d->transposed ? d->outer : d->inner;
  const double terms = (double)k->p.columns;
  double *g = norms_of_gradient(k), *x = norms_of_operand(k), *down = d->transposed ? x : g, *across = d->transposed ? g : x, most;
  bool well = g != NULL && x != NULL;

  most = well ? largest(across, line) : 0;
  for (size_t f = 0; well && f < lines; f++)
    k->w->top[f] += clarke_sieve_up(down[f] * most);
  if (well)
    losses_of_operand(x, k, terms + (double)(1 + k->w->parts));
  most = well ? largest(across, line) : 0;
  for (size_t f = 0; well && f < lines; f++)
    k->w->slack[f] += clarke_sieve_up(down[f] * most) + clarke_sieve_slack((double)k->w->parts, k->w->top[f]);
  k->w->terms += terms;
  if (well && k->w->parts == 1) {
    k->w->scale = calloc(line + 1, sizeof *k->w->scale);
    for (size_t e = 0; k->w->scale != NULL && e < line; e++)
      k->w->scale[e] = most > 0 ? fmin(1, clarke_sieve_up(across[e] / most)) : 1;
    well = k->w->scale != NULL;
  }
  free(g);
  free(x);
  return well ? CLARKE_OK : clarke_no_memory(err);
}

/* The same of several blocks, entry by entry. */
static clarke_status
bound_weights(const backward *k, clarke_error *err)
{
  const clarke_dense *d = k->p.d;
  const size_t count = k->p.s->g->values[d->weight].count;
  const double terms = (double)k->p.columns * (double)(d->grouped ? 1 : d->blocks);
  double *g = norms_of_gradient(k), *x = norms_of_operand(k);
  const bool well = g != NULL && x != NULL;

  for (size_t b = 0; well && b < d->blocks; b++)
    for (size_t o = 0; o < d->outer; o++)
      for (size_t i = 0; i < d->inner; i++)
        k->w->top[(d->grouped ? b * d->outer * d->inner : 0) + (d->transposed ? i * d->outer + o : o * d->inner + i)]
          += clarke_sieve_up(g[b * d->outer + o] * x[b * d->inner + i]);
  for (size_t e = 0; well && e < count; e++)
    k->w->slack[e] += clarke_sieve_slack(terms + (double)(d->blocks + k->w->parts), k->w->top[e]);
  k->w->terms += terms;
  free(g);
  free(x);
  return well ? CLARKE_OK : clarke_no_memory(err);
}

/* Room for the weight's gradient. Its bounds lie in lines where they can; not twice in another way. */
static bool
begin_weight(clarke_sieve *s, clarke_sieved *w, const clarke_step *dense, bool set)
{
  const clarke_dense *d = &dense->dense;
  const size_t count = s->g->values[d->weight].count, line = d->blocks > 1 ? 1 : d->transposed ? d->outer : d->inner;

  s->open = s->open || (w->parts > 0 && w->line != line);
  if (s->open)
    return true;
  w->line = line;
  return clarke_sieved_begin(s, w, count / line, line, set);
}

static void
give(clarke_sieved *to, const clarke_step *dense)
{
  to->dense = to->parts == 0 ? dense : NULL;
  to->parts++;
}

/* A sample's products are of its own numbers: where its gradients are small, so is what is lost. */
static bool
scale_columns(clarke_sieved *x, const backward *k)
{
  const size_t n = k->p.n;
  float *most = calloc(n + 1, sizeof *most);

  x->scale = calloc(n + 1, sizeof *x->scale);
  if (most != NULL)
    clarke_sieve_largest_in_columns(most, k->g, k->p.d->blocks * k->p.d->outer * k->p.d->repeat, n);
  for (size_t j = 0; most != NULL && x->scale != NULL && j < n; j++)
    x->scale[j] = k->most > 0 ? fmin(1, clarke_sieve_up(most[j] / k->most)) : 1;
  free(most);
  return most != NULL && x->scale != NULL;
}

static void
multiply_back(const backward *k, size_t positions)
{
  const clarke_dense *d = k->p.d;

  for (size_t b = 0; b < d->blocks; b++)
    for (size_t r = 0; r < d->repeat; r += positions) {
      const size_t width = d->repeat - r < positions ? d->repeat - r : positions;

      gradient_panel(&k->p, k->g, b, r, width);
      if (k->x != NULL)
        back_to_operand(k, b, r, width);
      if (k->w != NULL)
        back_to_weight(k, b, r, width);
    }
}

static bool
multiply_conv_back(const backward *k)
{
  clarke_sieve *s = k->p.s;
  const float *x = s->value[clarke_sieve_source(s, k->p.dense)].exact;

  return (k->x == NULL || clarke_sieve_conv_back(s, &k->conv, k->p.d->outer, k->p.w, k->g, k->x->near, k->x->parts > 0))
         && (k->w == NULL || clarke_sieve_conv_weight(s, &k->conv, k->p.d->outer, x, k->g, k->w->near, k->w->parts > 0));
}

clarke_status
clarke_sieve_dense_back(clarke_sieve *s, const clarke_step *dense, clarke_error *err)
{
  const clarke_dense *d = &dense->dense;
  const size_t source = clarke_sieve_source(s, dense);
  const bool trained = clarke_value_is_wrt(s->g, d->weight);
  backward k = {.p = product_of(s, dense), .g = s->grad[dense->out].exact, .map = clarke_sieve_map(s, dense)};
  clarke_status status = CLARKE_OK;
  size_t positions;

  k.is_conv = clarke_sieve_is_conv(&k.conv, s, dense);
  k.most = clarke_sieve_largest(k.g, d->blocks * d->outer * k.p.columns);
  k.x = s->carries[source] ? &s->grad[source] : NULL;
  k.w = trained ? &s->grad[d->weight] : NULL;
  if (!make_room(&k.p, &positions) || (k.x != NULL && !clarke_sieved_begin(s, k.x, s->g->values[source].count, k.p.n, k.is_conv))
      || (k.w != NULL && !begin_weight(s, k.w, dense, k.is_conv)))
    return clarke_no_memory(err);
  if (s->open)
    return CLARKE_OK;
  if (!k.is_conv)
    multiply_back(&k, positions);
  else if (!multiply_conv_back(&k))
    return clarke_no_memory(err);
  if (k.x != NULL) {
    give(k.x, dense);
    status = k.x->parts > 1 || scale_columns(k.x, &k) ? bound_operand(&k, err) : clarke_no_memory(err);
  }
  if (k.w != NULL && status == CLARKE_OK) {
    give(k.w, dense);
    status = d->blocks > 1 ? bound_weights(&k, err) : bound_weight(&k, err);
  }
  return status;
}
