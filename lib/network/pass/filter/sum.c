/* Bounds of the other linear steps: sums, multiples, entries that are moved. */
#include "network/pass/filter/filter.h"
#include "network/pass/filter/norms.h"

#include "base/wide.h"

#include <stdlib.h>
#include <string.h>

/* Adds an operand to y: coef is a float, so a product rounds once, a sum once more. */
CLARKE_WIDE static void
accumulate(clarke_filter *f, clarke_enclosure *y, const clarke_operand *o, bool first)
{
  const clarke_value *v = &f->g->values[o->value];
  const clarke_enclosure *x = &f->value[o->value];

  for (size_t i = 0; i < y->rows; i++) {
    size_t from = o->map != NULL ? o->map[i] : i;
    double *out = y->y + i * f->n;
    bool nothing = from == CLARKE_NONE;

    for (size_t j = 0; j < f->n; j++) {
      double term = nothing ? 0 : o->coef * (v->constant ? v->real[from] : x->y[from * f->n + j]);

      out[j] = first ? term : out[j] + term;
    }
    y->row[i] = clarke_up_add(first ? 0 : y->row[i],
                              v->constant || nothing ? 0
                                                     : clarke_up_mul(fabs(o->coef), x->row[from]));
  }
  for (size_t j = 0; j < f->n; j++) /* r c + r' c' <= (r + r') max(c, c') */
    y->col[j] = clarke_larger(first ? 0 : y->col[j], v->constant ? 0 : x->col[j]);
}

/* Are all coefficients 1 or -1? Then their products do not round. */
static bool
plain_coefficients(const clarke_step *s)
{
  bool plain = true;

  for (size_t i = 0; i < s->n_in; i++)
    plain = plain && fabs(s->in[i].coef) == 1;
  return plain;
}

/* Adds an operand to a row, and its error; *size: the largest partial sum. */
static void
add_operand(const clarke_filter *f, const clarke_operand *o, size_t i, double *y, double *error,
            double *size)
{
  const clarke_value *v = &f->g->values[o->value];
  const clarke_enclosure *x = &f->value[o->value];
  size_t from = o->map != NULL ? o->map[i] : i;
  double coef = o->coef, weight = fabs(coef);

  if (from == CLARKE_NONE)
    return;
  for (size_t j = 0; j < f->n && v->constant; j++)
    y[j] += coef * v->real[from];
  for (size_t j = 0; j < f->n && !v->constant; j++)
    y[j] += coef * x->y[from * f->n + j];
  for (size_t j = 0; j < f->n && !v->constant; j++)
    error[j] += weight * (double)x->each[from * f->n + j];
  for (size_t j = 0; j < f->n; j++)
    size[j] = clarke_larger(size[j], fabs(y[j]));
}

/* In a fine pass: each entry with its own rounding, which is `operations` of its largest partial sum. The
 * first `begun` operands are there. */
static void
sum_fine(const clarke_filter *f, const clarke_step *s, clarke_enclosure *y, size_t begun, double operations)
{
  double *error = f->bound, *size = error + f->n, unit = clarke_gamma(operations, CLARKE_UNIT);

  for (size_t i = 0; i < y->rows; i++) {
    double *out = y->y + i * f->n;
    float *each = y->each + i * f->n;

    for (size_t j = 0; j < f->n; j++) {
      out[j] = begun > 0 ? out[j] : 0;
      error[j] = begun > 0 ? (double)each[j] : 0;
      size[j] = fabs(out[j]);
    }
    for (size_t k = begun; k < s->n_in; k++)
      add_operand(f, &s->in[k], i, out, error, size);
    for (size_t j = 0; j < f->n; j++)
      each[j] = clarke_up_float(error[j] + unit * size[j]);
  }
}

/* Is the first operand of a sum, as it is, of one row for each of the sum's, and there once? */
static bool
begins_sum(const clarke_filter *f, const clarke_step *s)
{
  const clarke_operand *first = &s->in[0];
  bool once = first->map == NULL && first->coef == 1 && !f->g->values[first->value].constant;

  for (size_t k = 1; k < s->n_in; k++)
    once = once && s->in[k].value != first->value;
  return once;
}

clarke_status
clarke_filter_sum(clarke_filter *f, const clarke_step *s)
{
  clarke_enclosure *y = &f->value[s->out];
  double *largest = calloc(f->n + 1, sizeof *largest);
  /* A sum's rounding is at most a unit of itself, and |coef * operand| <= |partial sum before| +
   * |after| <= 2 largest (and a rounding). */
  double operations = plain_coefficients(s) ? (double)s->n_in : (double)(16 * s->n_in);
  bool begun = f->fine && begins_sum(f, s);
  clarke_status status = begun ? clarke_enclosure_inherit(f, y, s->in[0].value)
                               : clarke_enclosure_alloc(f, y, f->g->values[s->out].count);

  if (largest == NULL)
    status = clarke_no_memory(f->err);
  if (status == CLARKE_OK && f->fine)
    sum_fine(f, s, y, begun, operations);
  for (size_t i = 0; i < s->n_in && status == CLARKE_OK && !f->fine; i++) {
    accumulate(f, y, &s->in[i], i == 0);
    for (size_t e = 0; e < y->rows; e++)
      for (size_t j = 0; j < f->n; j++)
        largest[j] = clarke_larger(largest[j], fabs(y->y[e * f->n + j]));
  }
  if (status == CLARKE_OK && !f->fine) {
    clarke_round_sizes(largest, f->n, operations);
    clarke_enclosure_add_rounding(f, y, largest);
    clarke_norms_of_step(f, s, y, largest);
  }
  free(largest);
  return status;
}

/* The largest |y| of each sample, and the 2-norm bound of each sample's column. */
static void
column_sizes(const clarke_enclosure *e, size_t n, double *largest, double *norm)
{
  memset(largest, 0, n * sizeof *largest);
  memset(norm, 0, n * sizeof *norm);
  for (size_t i = 0; i < e->rows; i++)
    for (size_t j = 0; j < n; j++) {
      double y = e->y[i * n + j];

      largest[j] = clarke_larger(largest[j], fabs(y));
      norm[j] += y * y;
    }
  for (size_t j = 0; j < n; j++)
    norm[j] = clarke_up_root(norm[j], e->rows);
}

clarke_status
clarke_filter_scale(clarke_filter *f, const clarke_step *s)
{
  const clarke_enclosure *x = &f->value[s->in[0].value];
  const clarke_value *c = &f->g->values[s->in[1].value];
  clarke_enclosure *y = &f->value[s->out];
  double *largest = calloc(2 * f->n + 1, sizeof *largest);
  double epsilon = s->root ? mpq_get_d(s->epsilon) : 0, operations = s->root ? 16 : 2;
  double unit = clarke_gamma(operations, CLARKE_UNIT);
  clarke_status status = clarke_enclosure_alloc(f, y, f->g->values[s->out].count);

  if (largest == NULL)
    status = clarke_no_memory(f->err);
  for (size_t i = 0; i < y->rows && status == CLARKE_OK; i++) {
    size_t from = s->in[0].map != NULL ? s->in[0].map[i] : i;
    double k = c->real[s->in[1].map != NULL ? s->in[1].map[i] : i];

    if (s->root) /* within four units of sqrt(c + epsilon): two roundings before the root, which halves them */
      k = sqrt(k + epsilon);
    for (size_t j = 0; j < f->n; j++)
      y->y[i * f->n + j] =
        s->divide || s->root ? x->y[from * f->n + j] / k : x->y[from * f->n + j] * k;
    k = s->divide || s->root ? clarke_up_by(1 / fabs(k), 4) : fabs(k);
    if (f->fine)
      for (size_t j = 0; j < f->n; j++)
        y->each[i * f->n + j] = clarke_up_float(k * (double)x->each[from * f->n + j] +
                                                unit * fabs(y->y[i * f->n + j]));
    else
      y->row[i] = clarke_up_mul(x->row[from], k);
  }
  if (status == CLARKE_OK && !f->fine) {
    memcpy(y->col, x->col, f->n * sizeof *y->col);
    column_sizes(y, f->n, largest, largest + f->n);
    clarke_round_sizes(largest, f->n, operations);
    clarke_enclosure_add_rounding(f, y, largest);
    clarke_norms_of_step(f, s, y, largest);
  }
  free(largest);
  return status;
}

clarke_status
clarke_filter_gather(clarke_filter *f, const clarke_step *s)
{
  const clarke_enclosure *x = &f->value[s->in[0].value];
  clarke_enclosure *y = &f->value[s->out];
  const bool deferred = f->deferred[s->out] != NULL;
  clarke_status status;

  if (deferred && f->fine) {
    y->known = true;
    return CLARKE_OK;
  }
  status = clarke_enclosure_alloc(f, y, f->g->values[s->out].count);
  if (status == CLARKE_OK && deferred) { /* bounds alone */
    free(y->y);
    y->y = NULL;
  }
  for (size_t i = 0; i < y->rows && status == CLARKE_OK; i++) {
    size_t from = s->in[0].map != NULL ? s->in[0].map[i] : i;

    if (deferred)
      ;
    else if (from == CLARKE_NONE)
      memset(y->y + i * f->n, 0, f->n * sizeof *y->y);
    else
      memcpy(y->y + i * f->n, x->y + from * f->n, f->n * sizeof *y->y);
    if (f->fine && from == CLARKE_NONE)
      memset(y->each + i * f->n, 0, f->n * sizeof *y->each);
    else if (f->fine)
      memcpy(y->each + i * f->n, x->each + from * f->n, f->n * sizeof *y->each);
    else
      y->row[i] = from == CLARKE_NONE ? 0 : x->row[from];
  }
  if (status == CLARKE_OK && !f->fine) {
    memcpy(y->col, x->col, f->n * sizeof *y->col);
    clarke_norms_of_step(f, s, y, NULL);
  }
  return status;
}
