/* PRODUCT steps, both ways, in doubles (sieve_entries.c): sums of K products of two activations, by BLAS. The product of two float32 numbers is a
 * double; K of them add up to what they should within K u of their absolute values' sum, in any order, which is made the same way. Of single entries
 * (K = 1) one factor may be no record; then what it is off by is multiplied, too. */
#include "trace/certify/sieve_wide.h"

#include <cblas.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* As rounding_forward.c has it. */
#define SPARE 2

/* The step at work in one sample. */
typedef struct {
  clarke_sieve *s;
  const clarke_step *step;
  const clarke_contraction *c;
  clarke_sieve_numbers x[2];
  double *panel[2]; /* both operands, laid out; */
  double *g;        /* a gradient, */
  double *sum;      /* and sums */
} work;

static size_t
laid_out(const clarke_contraction *c, size_t operand)
{
  return c->blocks * c->inner * (operand == 0 ? c->rows : c->cols);
}

static bool
is_pointwise(const clarke_contraction *c)
{
  return c->rows == 1 && c->cols == 1 && c->inner == 1;
}

/* Both operands' numbers; where they are multiplied by BLAS they are records. */
static clarke_status
begin(work *w, clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const clarke_contraction *c = &step->contraction;

  *w = (work){.s = s, .step = step, .c = c};
  s->open = s->open || step->in[0].coef != 1 || step->in[1].coef != 1 || c->rows > INT_MAX || c->cols > INT_MAX || c->inner > INT_MAX;
  for (size_t k = 0; k < 2 && !s->open; k++) {
    s->open = s->g->values[step->in[k].value].constant;
    if (!s->open && !clarke_sieve_read(&w->x[k], s, step->in[k].value))
      return s->open ? CLARKE_OK : clarke_no_memory(err);
    for (size_t f = 0; step->in[k].map != NULL && f < laid_out(c, k); f++)
      s->open = s->open || step->in[k].map[f] == CLARKE_NONE;
    s->open = s->open || (w->x[k].exact == NULL && !is_pointwise(c));
  }
  return CLARKE_OK;
}

static bool
make_room(work *w)
{
  const size_t y = w->c->blocks * w->c->rows * w->c->cols, a = laid_out(w->c, 0), c = laid_out(w->c, 1);

  w->panel[0] = clarke_sieve_take_doubles(w->s, a);
  w->panel[1] = clarke_sieve_take_doubles(w->s, c);
  w->g = clarke_sieve_take_doubles(w->s, y);
  w->sum = clarke_sieve_take_doubles(w->s, (a > c ? a : c) + y);
  return w->panel[0] != NULL && w->panel[1] != NULL && w->g != NULL && w->sum != NULL;
}

static void
leave_room(work *w)
{
  clarke_sieve_leave(w->s, w->panel[0]);
  clarke_sieve_leave(w->s, w->panel[1]);
  clarke_sieve_leave(w->s, w->g);
  clarke_sieve_leave(w->s, w->sum);
}

/* Sample j of a recorded operand, or its absolute values. */
static void
lay_out(work *w, size_t operand, size_t j, bool sizes)
{
  const clarke_operand *o = &w->step->in[operand];
  const float *x = w->x[operand].exact;

  for (size_t f = 0; f < laid_out(w->c, operand); f++) {
    const double at = (double)x[clarke_operand_entry(o, f) * w->s->n + j];

    w->panel[operand][f] = sizes ? fabs(at) : at;
  }
}

static void
lay_out_gradient(work *w, const clarke_sieve_numbers *g, size_t j, bool sizes)
{
  for (size_t f = 0; f < w->c->blocks * w->c->rows * w->c->cols; f++)
    w->g[f] = sizes ? fabs((double)g->exact[f * w->s->n + j]) : (double)g->exact[f * w->s->n + j];
}

static void
multiply(const work *w)
{
  const clarke_contraction *c = w->c;

  for (size_t b = 0; b < c->blocks; b++)
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)c->rows, (int)c->cols, (int)c->inner, 1, w->panel[0] + b * c->rows * c->inner,
                (int)c->inner, w->panel[1] + b * c->inner * c->cols, (int)c->cols, 0, w->sum + b * c->rows * c->cols, (int)c->cols);
}

/* g c^T, or a^T g. */
static void
multiply_back(const work *w, size_t to)
{
  const clarke_contraction *c = w->c;

  for (size_t b = 0; b < c->blocks; b++) {
    const double *g = w->g + b * c->rows * c->cols, *a = w->panel[0] + b * c->rows * c->inner, *z = w->panel[1] + b * c->inner * c->cols;

    if (to == 0)
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)c->rows, (int)c->inner, (int)c->cols, 1, g, (int)c->cols, z, (int)c->cols, 0,
                  w->sum + b * c->rows * c->inner, (int)c->inner);
    else
      cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)c->inner, (int)c->cols, (int)c->rows, 1, a, (int)c->inner, g, (int)c->cols, 0,
                  w->sum + b * c->inner * c->cols, (int)c->cols);
  }
}

/* What K products added up in doubles are off by; none, where all are 0. */
static double
lost(double terms, double mass)
{
  return clarke_taken(terms + 2, mass);
}

/* Sizes first: near holds them until the sums come. */
static void
contract_sample(work *w, clarke_sieved *y, size_t j, double gamma)
{
  const size_t count = w->c->blocks * w->c->rows * w->c->cols, n = w->s->n;

  for (size_t pass = 0; pass < 2; pass++) {
    lay_out(w, 0, j, pass == 0);
    lay_out(w, 1, j, pass == 0);
    multiply(w);
    for (size_t f = 0; f < count; f++)
      if (pass == 0) {
        y->off[f * n + j] = lost((double)w->c->inner, w->sum[f]);
        y->may[f * n + j] = gamma * w->sum[f];
      } else {
        y->near[f * n + j] = w->sum[f];
      }
  }
}

/* a c of two entries: what it is off by, and what the exact pass's rules make of the factors' errors (product_errors in rounding_forward.c). */
static inline double
multiply_entries(double *off, double *may, double *mass, const clarke_sieve_numbers *a, size_t e, const clarke_sieve_numbers *c, size_t k)
{
  const double x = clarke_sieve_near(a, e), z = clarke_sieve_near(c, k), x_off = clarke_sieve_off(a, e), z_off = clarke_sieve_off(c, k);
  const double size = clarke_sieve_size(a, e), size_of_other = clarke_sieve_size(c, k), top = size_of_other + clarke_sieve_may(c, k);
  double lost;
  const double product = clarke_sieve_times(&lost, x, z);

  *off = clarke_up_by(fabs(x) * z_off + x_off * (fabs(z) + z_off), 8) + lost;
  if ((x_off > 0 && (z != 0 || z_off > 0)) || (z_off > 0 && (x != 0 || x_off > 0))) /* a factor that is 0 makes 0 */
    *off += CLARKE_SIEVE_LEAST;
  *may = size * clarke_sieve_may(c, k) + clarke_sieve_may(a, e) * top;
  *mass = (size + clarke_sieve_may(a, e)) * top;
  return product;
}

static void
multiply_all(work *w, clarke_sieved *y, double gamma)
{
  const clarke_operand *o = w->step->in;
  const size_t n = w->s->n;

  for (size_t f = 0; f < w->c->blocks; f++)
    for (size_t j = 0; j < n; j++) {
      const size_t e = f * n + j;
      double mass;

      y->near[e] = multiply_entries(&y->off[e], &y->may[e], &mass, &w->x[0], clarke_operand_entry(&o[0], f) * n + j, &w->x[1],
                                    clarke_operand_entry(&o[1], f) * n + j);
      y->may[e] += gamma * mass;
    }
}

clarke_status
clarke_sieve_contract(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const size_t entries = s->g->values[step->out].count * s->n;
  clarke_sieved *y = &s->value[step->out];
  work w;
  clarke_status status = begin(&w, s, step, err);
  const double gamma = clarke_sieve_gamma(s, (double)w.c->inner + SPARE);

  if (status != CLARKE_OK || s->open)
    return status;
  if (!clarke_sieve_begin_entries(s, y, entries) || !make_room(&w))
    return clarke_no_memory(err);
  y->enclosed = w.x[0].enclosed || w.x[1].enclosed;
  if (is_pointwise(w.c))
    multiply_all(&w, y, gamma);
  else
    for (size_t j = 0; j < s->n; j++)
      contract_sample(&w, y, j, gamma);
  leave_room(&w);
  clarke_sieve_check_sizes(s, y, entries);
  return CLARKE_OK;
}

/* --- back --- */

/* What other operands gave is there already, so that sums and sizes join it together. */
static void
give_sample(work *w, clarke_sieved *to, const clarke_sieve_numbers *g, size_t operand, size_t j)
{
  const clarke_operand *o = &w->step->in[operand];
  const size_t count = laid_out(w->c, operand), n = w->s->n;
  const double terms = (double)(operand == 0 ? w->c->cols : w->c->rows);
  double *size = clarke_sieve_take_doubles(w->s, count), *sum = w->sum;

  for (size_t pass = 0; size != NULL && pass < 2; pass++) {
    w->sum = pass == 0 ? size : sum;
    lay_out(w, 1 - operand, j, pass == 0);
    lay_out_gradient(w, g, j, pass == 0);
    multiply_back(w, operand);
  }
  w->sum = sum;
  for (size_t f = 0; size != NULL && f < count; f++)
    clarke_sieve_join(to, clarke_operand_entry(o, f) * n + j, sum[f], lost(terms, size[f]), 0, size[f]);
  w->s->open = w->s->open || size == NULL;
  clarke_sieve_leave(w->s, size);
}

static void
give_all(work *w, clarke_sieved *to, const clarke_sieve_numbers *g, size_t operand)
{
  const clarke_operand *o = w->step->in;
  const size_t n = w->s->n;

  for (size_t f = 0; f < w->c->blocks; f++)
    for (size_t j = 0; j < n; j++) {
      double off, may, mass;
      const double near = multiply_entries(&off, &may, &mass, g, f * n + j, &w->x[1 - operand], clarke_operand_entry(&o[1 - operand], f) * n + j);

      clarke_sieve_join(to, clarke_operand_entry(&o[operand], f) * n + j, near, off, may, mass);
    }
}

clarke_status
clarke_sieve_contract_back(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  clarke_sieve_numbers g;
  work w;
  clarke_status status = begin(&w, s, step, err);

  if (status != CLARKE_OK || s->open)
    return status;
  if (!clarke_sieve_read_gradient(&g, s, step->out) || !make_room(&w))
    return clarke_no_memory(err);
  s->open = g.exact == NULL && !is_pointwise(w.c);
  for (size_t k = 0; k < 2 && !s->open; k++) {
    const size_t x = step->in[k].value;
    clarke_sieved *to = &s->grad[x];

    if (!s->carries[x])
      continue;
    if (!clarke_sieve_begin_gradient(s, to, s->g->values[x].count, s->n))
      return clarke_no_memory(err);
    if (is_pointwise(w.c))
      give_all(&w, to, &g, k);
    else
      for (size_t j = 0; j < s->n; j++)
        give_sample(&w, to, &g, k, j);
    to->enclosed = to->enclosed || w.x[1 - k].enclosed || g.enclosed;
    to->terms += (double)(k == 0 ? w.c->cols : w.c->rows) + CLARKE_ROUNDBACK_SPARE;
    to->parts += 2;
    clarke_sieve_check_sizes(s, to, s->g->values[x].count * s->n);
  }
  leave_room(&w);
  return CLARKE_OK;
}
