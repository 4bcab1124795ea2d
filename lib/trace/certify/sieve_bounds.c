/* Bounds of products in doubles (sieve_bounds.h). */
#include "trace/certify/sieve_bounds.h"

#include <math.h>
#include <stdlib.h>

/* Constants that no float32 holds may be as small as doubles are: below it a sum of weights is left open. */
#define LEAST 0x1p-400

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
weight_sums(const clarke_sieve_product *p, bool of_columns)
{
  const clarke_dense *d = p->d;
  const size_t rows = of_columns ? d->inner : d->outer, weights = d->grouped ? d->blocks : 1;
  double *sum = calloc(weights * rows + 1, sizeof *sum);

  for (size_t b = 0; sum != NULL && b < weights; b++)
    for (size_t o = 0; o < d->outer; o++)
      for (size_t i = 0; i < d->inner; i++)
        sum[b * rows + (of_columns ? i : o)] += fabs(clarke_sieve_weight(p, b)[d->transposed ? i * d->outer + o : o * d->inner + i]);
  return sum;
}

/* The sums over planes of the kernels' largest weights: of each output; or of each plane, over the outputs. */
static double *
kernel_sums(const clarke_sieve_product *p, size_t planes, bool of_planes)
{
  double *sum = calloc((of_planes ? planes : p->d->outer) + 1, sizeof *sum);

  for (size_t k = 0; sum != NULL && k < p->d->outer * planes; k++)
    sum[of_planes ? k % planes : k / planes] += largest(p->w + 9 * k, 9);
  return sum;
}

/* --- y = W x --- */

/* What Winograd's algorithm loses is added to the slack. */
static bool
widen_conv(const clarke_sieve_product *p, clarke_sieved *y, double most)
{
  double *sum = kernel_sums(p, p->conv.planes, false);

  for (size_t f = 0; sum != NULL && f < p->d->outer * p->d->repeat; f++)
    y->slack[f] += clarke_sieve_conv_slack(p->conv.planes, clarke_sieve_up(sum[f / p->d->repeat] * most));
  free(sum);
  return sum != NULL;
}

bool
clarke_sieve_bound_output(const clarke_sieve_product *p, double most)
{
  const clarke_dense *d = p->d;
  clarke_sieved *y = &p->s->value[p->dense->out];
  double *sum = weight_sums(p, false);
  const bool well = sum != NULL && (!p->is_conv || widen_conv(p, y, most));

  for (size_t f = 0; well && f < d->blocks * d->outer * d->repeat; f++) {
    const size_t o = f / d->repeat % d->outer, b = f / d->repeat / d->outer;
    const double own = sum[(d->grouped ? b * d->outer : 0) + o];

    p->s->open = p->s->open || (own > 0 && own < LEAST);
    y->top[f] = clarke_sieve_up(own * most);
    y->slack[f] += clarke_sieve_slack((double)d->inner, y->top[f]);
  }
  free(sum);
  return well;
}

/* --- back --- */

/* Slack and top of what went to the operand's source; how many products went to one entry at most. */
static clarke_status
widen_operand(const clarke_sieve_product_back *k, clarke_error *err)
{
  const clarke_dense *d = k->p.d;
  const size_t laid = d->blocks * d->inner * d->repeat, count = k->p.s->g->values[clarke_sieve_source(k->p.s, k->p.dense)].count;
  double *sum = weight_sums(&k->p, true), *kernels = k->p.is_conv ? kernel_sums(&k->p, k->p.conv.planes, true) : NULL;
  size_t *reads = calloc(count + 1, sizeof *reads), most = 1;

  for (size_t f = 0; sum != NULL && reads != NULL && f < laid; f++) {
    const size_t from = k->p.map != NULL ? k->p.map[f] : f, i = f / d->repeat % d->inner, b = f / d->repeat / d->inner;

    if (from == CLARKE_NONE)
      continue;
    k->x->top[from] += clarke_sieve_up(sum[(d->grouped ? b * d->inner : 0) + i] * k->most);
    reads[from]++;
    most = reads[from] > most ? reads[from] : most;
  }
  for (size_t e = 0; sum != NULL && reads != NULL && e < count; e++)
    k->x->slack[e] += clarke_sieve_slack((double)(d->outer + most + k->x->parts), k->x->top[e]);
  k->x->terms += (double)(most * d->outer);
  if (k->p.is_conv && kernels != NULL)
    for (size_t e = 0; e < count; e++)
      k->x->slack[e] += clarke_sieve_conv_slack(d->outer, clarke_sieve_up(kernels[e / (k->p.conv.h * k->p.conv.w)] * k->most));
  free(kernels);
  free(reads);
  free(sum);
  return sum != NULL && reads != NULL && (kernels != NULL || !k->p.is_conv) ? CLARKE_OK : clarke_no_memory(err);
}

/* How many norms of rows there are: where blocks share their weight, each is over all of them together. */
static size_t
norms_of(const clarke_dense *d, size_t rows)
{
  return d->grouped ? d->blocks * rows : rows;
}

/* The Euclidean norms of the rows of g, as the weights have them; those of the operand's rows: where one is 0, all products are. */
static double *
norms_of_gradient(const clarke_sieve_product_back *k)
{
  const size_t rows = k->p.d->blocks * k->p.d->outer, norms = norms_of(k->p.d, k->p.d->outer);
  double *norm = calloc(norms + 1, sizeof *norm);

  for (size_t f = 0; norm != NULL && f < rows; f++)
    norm[f % norms] += clarke_sieve_squares(k->g + f * k->p.columns, k->p.columns);
  for (size_t f = 0; norm != NULL && f < norms; f++)
    norm[f] = clarke_sieve_up(sqrt(norm[f]));
  return norm;
}

static double *
norms_of_operand(const clarke_sieve_product_back *k)
{
  const clarke_dense *d = k->p.d;
  const size_t x = clarke_sieve_source(k->p.s, k->p.dense), count = k->p.s->g->values[x].count;
  const size_t norms = norms_of(d, d->inner);
  double *norm = calloc(norms + 1, sizeof *norm), *own = malloc((count + 1) * sizeof *own);

  for (size_t f = 0; own != NULL && f < count; f++)
    own[f] = clarke_sieve_squares(k->p.s->value[x].exact + f * k->p.n, k->p.n);
  for (size_t f = 0; norm != NULL && own != NULL && f < d->blocks * d->inner * d->repeat; f++)
    if (k->p.map == NULL || k->p.map[f] != CLARKE_NONE)
      norm[f / d->repeat % norms] += own[k->p.map != NULL ? k->p.map[f] : f];
  for (size_t i = 0; norm != NULL && i < norms; i++)
    norm[i] = clarke_sieve_up(sqrt(norm[i]));
  if (own != NULL) {
    free(own);
    return norm;
  }
  free(norm);
  return NULL;
}

/* What is lost of an entry of the weight's gradient, in parts of the norm of its gradient's row: of each of the operand's rows.
 * x: those rows' norms, which become it. What Winograd's algorithm loses has the norm of a whole plane. */
static void
losses_of_operand(double *x, const clarke_sieve_product_back *k, double roundings)
{
  const clarke_sieve_conv *c = &k->p.conv;
  const float *from = k->p.s->value[clarke_sieve_source(k->p.s, k->p.dense)].exact;
  const size_t plane = k->p.is_conv ? c->h * c->w * k->p.n : 0;
  double norm = 0;

  for (size_t i = 0; i < k->p.d->inner; i++) {
    if (k->p.is_conv && i % 9 == 0)
      norm = clarke_sieve_up(sqrt(clarke_sieve_squares(from + i / 9 * plane, plane)));
    x[i] = clarke_sieve_slack(roundings, x[i]) + (k->p.is_conv ? clarke_sieve_conv_weight_slack(c, k->p.n, norm) : 0);
  }
}

/* The same of the weight, by the inequality of Cauchy and Schwarz: of one block, or of blocks that share it, whose bounds are products of a
 * number of the row and one of the column. */
static clarke_status
bound_lines(const clarke_sieve_product_back *k, clarke_error *err)
{
  const clarke_dense *d = k->p.d;
  const size_t lines = d->transposed ? d->inner : d->outer, line = d->transposed ? d->outer : d->inner;
  const double terms = (double)k->p.columns * (double)d->blocks;
  double *g = norms_of_gradient(k), *x = norms_of_operand(k), *down = d->transposed ? x : g, *across = d->transposed ? g : x, most;
  bool well = g != NULL && x != NULL;

  most = well ? largest(across, line) : 0;
  for (size_t f = 0; well && f < lines; f++)
    k->w->top[f] += clarke_sieve_up(down[f] * most);
  if (well)
    losses_of_operand(x, k, terms + (double)(d->blocks + k->w->parts));
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

/* The same of several blocks with weights of their own, entry by entry. */
static clarke_status
bound_entries(const clarke_sieve_product_back *k, clarke_error *err)
{
  const clarke_dense *d = k->p.d;
  const size_t count = k->p.s->g->values[d->weight].count;
  const double terms = (double)k->p.columns;
  double *g = norms_of_gradient(k), *x = norms_of_operand(k);
  const bool well = g != NULL && x != NULL;

  for (size_t b = 0; well && b < d->blocks; b++)
    for (size_t o = 0; o < d->outer; o++)
      for (size_t i = 0; i < d->inner; i++)
        k->w->top[(d->grouped ? b * d->outer * d->inner : 0) + (d->transposed ? i * d->outer + o : o * d->inner + i)]
          += clarke_sieve_up(g[b * d->outer + o] * x[b * d->inner + i]);
  for (size_t e = 0; well && e < count; e++)
    k->w->slack[e] += clarke_sieve_slack(terms + (double)(1 + k->w->parts), k->w->top[e]);
  k->w->terms += terms;
  free(g);
  free(x);
  return well ? CLARKE_OK : clarke_no_memory(err);
}

/* A sample's products are of its own numbers: where its gradients are small, so is what is lost. */
static bool
scale_columns(clarke_sieved *x, const clarke_sieve_product_back *k)
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

clarke_status
clarke_sieve_bound_operand(const clarke_sieve_product_back *k, clarke_error *err)
{
  return k->x->parts > 1 || scale_columns(k->x, k) ? widen_operand(k, err) : clarke_no_memory(err);
}

clarke_status
clarke_sieve_bound_weight(const clarke_sieve_product_back *k, clarke_error *err)
{
  return k->p.d->grouped && k->p.d->blocks > 1 ? bound_entries(k, err) : bound_lines(k, err);
}
