/* Products of weights and recorded numbers in doubles, by BLAS (sieve.h). */
#include "trace/certify/sieve_bounds.h"

#include <cblas.h>
#include <limits.h>
#include <math.h>
#include <string.h>

/* Columns of an operand that are laid out at a time. */
#define WIDTH 1024

/* --- one step at work --- */

static clarke_sieve_product
product_of(clarke_sieve *s, const clarke_step *dense)
{
  clarke_sieve_product p = {.s = s, .dense = dense, .d = &dense->dense, .w = s->g->values[dense->dense.weight].real, .n = s->n,
                            .columns = dense->dense.repeat * s->n, .map = clarke_sieve_map(s, dense)};

  p.is_conv = clarke_sieve_is_conv(&p.conv, s, dense);
  return p;
}

static bool
fits(const clarke_sieve_product *p)
{
  return p->columns <= INT_MAX && p->d->inner <= INT_MAX && p->d->outer <= INT_MAX;
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
make_room(const clarke_sieve_product *p, size_t *positions)
{
  const size_t most = WIDTH / p->n + 1;

  *positions = most < p->d->repeat ? most : p->d->repeat;
  return make_panel(p->s, &p->s->panel, &p->s->panel_count, p->d->inner * *positions * p->n)
         && make_panel(p->s, &p->s->other, &p->s->other_count, p->d->outer * *positions * p->n);
}

/* Positions from .. from + positions of a block's operand: rows of positions times n numbers. */
static const double *
panel_of(const clarke_sieve_product *p, size_t block, size_t from, size_t positions)
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
gradient_panel(const clarke_sieve_product *p, const float *g, size_t block, size_t from, size_t positions)
{
  for (size_t o = 0; o < p->d->outer; o++)
    clarke_sieve_widen(p->s->other + o * positions * p->n, g + ((block * p->d->outer + o) * p->d->repeat + from) * p->n, positions * p->n);
}

/* --- y = W x --- */

/* Are blocks the rows of one product: each with the whole weight, of one number? */
static bool
are_rows(const clarke_sieve_product *p)
{
  return !p->d->grouped && p->d->blocks > 1 && p->columns == 1 && p->map == NULL && p->d->blocks <= INT_MAX;
}

/* All rows of the operand. */
static bool
widen_rows(const clarke_sieve_product *p)
{
  const size_t count = p->d->blocks * p->d->inner;

  if (!make_panel(p->s, &p->s->panel, &p->s->panel_count, count))
    return false;
  clarke_sieve_widen(p->s->panel, p->s->value[clarke_sieve_source(p->s, p->dense)].exact, count);
  return true;
}

static bool
multiply_rows(const clarke_sieve_product *p, double *y)
{
  const clarke_dense *d = p->d;

  if (!widen_rows(p))
    return false;
  cblas_dgemm(CblasRowMajor, CblasNoTrans, d->transposed ? CblasNoTrans : CblasTrans, (int)d->blocks, (int)d->outer, (int)d->inner, 1,
              p->s->panel, (int)d->inner, p->w, (int)(d->transposed ? d->outer : d->inner), 0, y, (int)d->outer);
  return true;
}

static void
multiply(const clarke_sieve_product *p, double *y, size_t positions)
{
  const clarke_dense *d = p->d;

  for (size_t b = 0; b < d->blocks; b++)
    for (size_t r = 0; r < d->repeat; r += positions) {
      const size_t width = d->repeat - r < positions ? d->repeat - r : positions;
      const double *x = panel_of(p, b, r, width);

      cblas_dgemm(CblasRowMajor, d->transposed ? CblasTrans : CblasNoTrans, CblasNoTrans, (int)d->outer, (int)(width * p->n),
                  (int)d->inner, 1, clarke_sieve_weight(p, b), (int)(d->transposed ? d->outer : d->inner), x, (int)(width * p->n), 0,
                  y + b * d->outer * p->columns + r * p->n, (int)p->columns);
    }
}

clarke_status
clarke_sieve_dense(clarke_sieve *s, const clarke_step *dense, clarke_error *err)
{
  const clarke_sieve_product p = product_of(s, dense);
  const clarke_dense *d = p.d;
  const size_t x = clarke_sieve_source(s, dense);
  clarke_sieved *y = &s->value[dense->out];
  size_t positions;
  bool well;

  /* of a mean, whose terms may cancel, sizes are added up, too: they are no more than its entries */
  if (x == CLARKE_NONE || (d->outer == 1 && d->inner > 1 && !clarke_value_is_wrt(s->g, d->weight)))
    return clarke_sieve_dense_entries(s, dense, err);
  if (!fits(&p)) {
    s->open = true;
    return CLARKE_OK;
  }
  well = make_room(&p, &positions) && clarke_sieved_begin(s, y, d->blocks * d->outer * d->repeat, p.n, true);
  if (well && p.is_conv)
    well = clarke_sieve_conv_run(s, &p.conv, d->outer, p.w, s->value[x].exact, y->near);
  else if (well && are_rows(&p))
    well = multiply_rows(&p, y->near);
  else if (well)
    multiply(&p, y->near, positions);
  if (!well || !clarke_sieve_bound_output(&p, clarke_sieve_largest(s->value[x].exact, s->g->values[x].count * p.n)))
    return clarke_no_memory(err);
  y->terms = (double)d->inner;
  y->dense = dense;
  y->parts = 1;
  return CLARKE_OK;
}

/* --- back --- */

/* x += W^T g in a panel, and from there to where its rows come from; g's panel is there already. */
static void
back_to_operand(const clarke_sieve_product_back *k, size_t b, size_t r, size_t width)
{
  const clarke_sieve_product *p = &k->p;
  const clarke_dense *d = p->d;
  const bool laid = k->p.map != NULL;
  double *to = laid ? p->s->panel : k->x->near + b * d->inner * p->columns + r * p->n;

  cblas_dgemm(CblasRowMajor, d->transposed ? CblasNoTrans : CblasTrans, CblasNoTrans, (int)d->inner, (int)(width * p->n),
              (int)d->outer, 1, clarke_sieve_weight(p, b), (int)(d->transposed ? d->outer : d->inner), p->s->other, (int)(width * p->n),
              laid ? 0 : 1, to, (int)(laid ? width * p->n : p->columns));
  for (size_t i = 0; laid && i < d->inner; i++)
    for (size_t q = 0; q < width; q++, to += p->n) {
      const size_t from = k->p.map[(b * d->inner + i) * d->repeat + r + q];
      double *x = from != CLARKE_NONE ? k->x->near + from * p->n : NULL;

      for (size_t j = 0; x != NULL && j < p->n; j++)
        x[j] += to[j];
    }
}

/* w += g x^T of two panels, whose lines are so long. */
static void
add_to_weight(const clarke_sieve_product_back *k, size_t b, int line)
{
  const clarke_dense *d = k->p.d;
  const double *g = k->p.s->other, *x = k->p.s->panel;
  double *w = k->w->near + (d->grouped ? b * d->outer * d->inner : 0);

  if (d->transposed)
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)d->inner, (int)d->outer, line, 1, x, line, g, line, 1, w,
                (int)d->outer);
  else
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)d->outer, (int)d->inner, line, 1, g, line, x, line, 1, w,
                (int)d->inner);
}

/* Room for the weight's gradient. Its bounds lie in lines where they can; not twice in another way. */
static bool
begin_weight(clarke_sieve *s, clarke_sieved *w, const clarke_step *dense, bool set)
{
  const clarke_dense *d = &dense->dense;
  const size_t count = s->g->values[d->weight].count, line = d->grouped && d->blocks > 1 ? 1 : d->transposed ? d->outer : d->inner;

  s->open = s->open || w->off != NULL || (w->parts > 0 && w->line != line);
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

/* x += g W, w += x^T g, or its transpose: of rows. */
static bool
multiply_rows_back(const clarke_sieve_product_back *k)
{
  clarke_sieve *s = k->p.s;
  const clarke_dense *d = k->p.d;
  const int rows = (int)d->blocks, inner = (int)d->inner, outer = (int)d->outer;

  if (!make_panel(s, &s->other, &s->other_count, d->blocks * d->outer) || (k->w != NULL && !widen_rows(&k->p)))
    return false;
  clarke_sieve_widen(s->other, k->g, d->blocks * d->outer);
  if (k->x != NULL)
    cblas_dgemm(CblasRowMajor, CblasNoTrans, d->transposed ? CblasTrans : CblasNoTrans, rows, inner, outer, 1, s->other, outer, k->p.w,
                d->transposed ? outer : inner, 1, k->x->near, inner);
  if (k->w != NULL && d->transposed)
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, inner, outer, rows, 1, s->panel, inner, s->other, outer, 1, k->w->near, outer);
  else if (k->w != NULL)
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, outer, inner, rows, 1, s->other, outer, s->panel, inner, 1, k->w->near, inner);
  return true;
}

static void
multiply_back(const clarke_sieve_product_back *k, size_t positions)
{
  const clarke_dense *d = k->p.d;

  for (size_t b = 0; b < d->blocks; b++)
    for (size_t r = 0; r < d->repeat; r += positions) {
      const size_t width = d->repeat - r < positions ? d->repeat - r : positions;

      gradient_panel(&k->p, k->g, b, r, width);
      if (k->x != NULL)
        back_to_operand(k, b, r, width);
      if (k->w == NULL)
        continue;
      panel_of(&k->p, b, r, width);
      add_to_weight(k, b, (int)(width * k->p.n));
    }
}

static void
drop_signs(double *x, size_t n)
{
  for (size_t e = 0; e < n; e++)
    x[e] = fabs(x[e]);
}

/* The same of absolute values, for the weight alone: what a panel of g and one of x have lost their signs in. */
static void
multiply_sizes(const clarke_sieve_product_back *k, size_t positions)
{
  const clarke_dense *d = k->p.d;

  for (size_t b = 0; b < d->blocks; b++)
    for (size_t r = 0; r < d->repeat; r += positions) {
      const size_t width = d->repeat - r < positions ? d->repeat - r : positions;

      gradient_panel(&k->p, k->g, b, r, width);
      drop_signs(k->p.s->other, d->outer * width * k->p.n);
      panel_of(&k->p, b, r, width);
      drop_signs(k->p.s->panel, d->inner * width * k->p.n);
      add_to_weight(k, b, (int)(width * k->p.n));
    }
}

clarke_status
clarke_sieve_weight_sizes(double *size, clarke_sieve *s, const clarke_step *dense, clarke_error *err)
{
  clarke_sieved sum = {.near = size};
  const clarke_sieve_product_back k = {.p = product_of(s, dense), .g = s->grad[dense->out].exact, .w = &sum};
  size_t positions;

  if (!make_room(&k.p, &positions))
    return clarke_no_memory(err);
  memset(size, 0, s->g->values[dense->dense.weight].count * sizeof *size);
  multiply_sizes(&k, positions);
  return CLARKE_OK;
}

static bool
multiply_conv_back(const clarke_sieve_product_back *k)
{
  clarke_sieve *s = k->p.s;
  const float *x = s->value[clarke_sieve_source(s, k->p.dense)].exact;

  return (k->x == NULL || clarke_sieve_conv_back(s, &k->p.conv, k->p.d->outer, k->p.w, k->g, k->x->near, k->x->parts > 0))
         && (k->w == NULL || clarke_sieve_conv_weight(s, &k->p.conv, k->p.d->outer, x, k->g, k->w->near, k->w->parts > 0));
}

/* At most what the absolute values of an entry's products add up to, of the operand: as they are multiplied back, without their signs. */
static clarke_status
take_masses(double *mass, const clarke_sieve_product_back *k, size_t positions, clarke_error *err)
{
  clarke_sieve *s = k->p.s;
  const size_t weights = s->g->values[k->p.dense->dense.weight].count, entries = k->p.d->blocks * k->p.d->outer * k->p.columns;
  const size_t count = s->g->values[clarke_sieve_source(s, k->p.dense)].count * k->p.n;
  double *w = clarke_sieve_take_doubles(s, weights);
  float *g = clarke_sieve_take_floats(s, entries);
  clarke_sieved sizes = {.near = mass};
  clarke_sieve_product_back of = {.p = k->p, .g = g, .x = &sizes};

  if (w == NULL || g == NULL)
    return clarke_no_memory(err);
  for (size_t e = 0; e < weights; e++)
    w[e] = fabs(k->p.w[e]);
  for (size_t e = 0; e < entries; e++)
    g[e] = fabsf(k->g[e]);
  of.p.w = w;
  of.p.is_conv = false;
  memset(mass, 0, count * sizeof *mass);
  multiply_back(&of, positions);
  clarke_sieve_leave(s, w);
  clarke_sieve_leave(s, g);
  return CLARKE_OK;
}

/* What products give to an operand that others give to, too: entry by entry. */
static clarke_status
join_products(clarke_sieve_product_back *k, size_t positions, clarke_error *err)
{
  clarke_sieve *s = k->p.s;
  const size_t source = clarke_sieve_source(s, k->p.dense), rows = s->g->values[source].count;
  clarke_sieved *own = k->x, *to = &s->grad[source];

  if (!clarke_sieve_begin_gradient(s, own, rows, k->p.n) || take_masses(own->mass, k, positions, err) != CLARKE_OK
      || !clarke_sieve_begin_gradient(s, to, rows, k->p.n))
    return clarke_no_memory(err);
  for (size_t e = 0; e < rows * k->p.n; e++)
    clarke_sieve_join(to, e, own->near[e], own->off[e], 0, own->mass[e]);
  to->terms += own->terms;
  to->parts += 2;
  clarke_sieved_clear(s, own);
  clarke_sieve_check_sizes(s, to, rows * k->p.n);
  return CLARKE_OK;
}

clarke_status
clarke_sieve_dense_back(clarke_sieve *s, const clarke_step *dense, clarke_error *err)
{
  const clarke_dense *d = &dense->dense;
  const size_t source = clarke_sieve_source(s, dense);
  const bool trained = clarke_value_is_wrt(s->g, d->weight), joint = s->reads[source] > 1;
  clarke_sieve_product_back k = {.p = product_of(s, dense), .g = s->grad[dense->out].exact};
  clarke_sieved own = {0};
  clarke_status status = CLARKE_OK;
  size_t positions;

  k.most = clarke_sieve_largest(k.g, d->blocks * d->outer * k.p.columns);
  k.x = !s->carries[source] ? NULL : joint ? &own : &s->grad[source];
  k.w = trained ? &s->grad[d->weight] : NULL;
  if (!make_room(&k.p, &positions) || (k.x != NULL && !clarke_sieved_begin(s, k.x, s->g->values[source].count, k.p.n, k.p.is_conv))
      || (k.w != NULL && !begin_weight(s, k.w, dense, k.p.is_conv)))
    return clarke_no_memory(err);
  if (s->open)
    return CLARKE_OK;
  if (k.p.is_conv ? !multiply_conv_back(&k) : are_rows(&k.p) && !multiply_rows_back(&k))
    return clarke_no_memory(err);
  if (!k.p.is_conv && !are_rows(&k.p))
    multiply_back(&k, positions);
  if (k.w != NULL) {
    give(k.w, dense);
    status = clarke_sieve_bound_weight(&k, err);
  }
  if (k.x != NULL && status == CLARKE_OK) {
    give(k.x, dense);
    status = clarke_sieve_bound_operand(&k, err);
  }
  return status == CLARKE_OK && k.x != NULL && joint ? join_products(&k, positions, err) : status;
}
