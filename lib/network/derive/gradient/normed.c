/* Numbers with norms, of which a gradient is made (docs/gradient.md). */
#include "network/derive/gradient/gradient.h"

#include "network/derive/gradient/rows.h"

#include <stdlib.h>
#include <string.h>

static clarke_status
make(clarke_normed *v, double *at, double *low, bool fine, size_t n, clarke_error *err)
{
  *v = (clarke_normed){.at = at, .low = low};
  v->size = calloc(n + 1, sizeof *v->size);
  v->error = calloc(n + 1, sizeof *v->error);
  return v->at != NULL && (v->low != NULL || !fine) && v->size != NULL && v->error != NULL ? CLARKE_OK : clarke_no_memory(err);
}

clarke_status
clarke_normed_make(clarke_normed *v, size_t features, size_t n, bool fine, clarke_error *err)
{
  const size_t count = features * n + 1;

  return make(v, calloc(count, sizeof *v->at), fine ? calloc(count, sizeof *v->low) : NULL, fine, n, err);
}

clarke_status
clarke_normed_room(clarke_normed *v, size_t features, size_t n, bool fine, clarke_error *err)
{
  const size_t count = features * n + 1;

  return make(v, malloc(count * sizeof *v->at), fine ? malloc(count * sizeof *v->low) : NULL, fine, n, err);
}

clarke_status
clarke_normed_fix(clarke_normed *v, size_t features, size_t n, size_t limbs, int unit, clarke_error *err)
{
  v->fixed = (clarke_fixed){calloc(features * n * limbs + 1, sizeof *v->fixed.limb), limbs, unit};
  return v->fixed.limb != NULL ? CLARKE_OK : clarke_no_memory(err);
}

void
clarke_normed_drop(clarke_normed *v)
{
  free(v->fixed.limb);
  free(v->at);
  free(v->low);
  free(v->size);
  free(v->error);
  *v = (clarke_normed){0};
}

void
clarke_value_settle(clarke_gradient_pass *p, size_t value)
{
  if (!p->kept[value] && value != p->g->output)
    clarke_normed_drop(&p->value[value]);
  else if (p->whole != NULL && !p->whole[value]) {
    free(p->value[value].low);
    p->value[value].low = NULL;
  }
}

void
clarke_normed_add_row(clarke_normed *y, size_t to, clarke_pair factor, const clarke_normed *x, size_t from, size_t n)
{
  const bool is_one = factor.high == 1 && factor.low == 0;

  if (y->low == NULL && (is_one || x->low == NULL)) {
    if (is_one)
      clarke_rows_add(y->at + to, x->at + from, n);
    else
      clarke_rows_add_multiple(y->at + to, factor.high, x->at + from, n);
  } else if (y->low != NULL && is_one && x->low == NULL)
    clarke_rows_add_scaled(y->at + to, y->low + to, 1, x->at + from, n);
  else if (y->low != NULL && is_one)
    clarke_rows_add_pairs(y->at + to, y->low + to, x->at + from, x->low + from, n);
  else if (y->low != NULL && x->low != NULL)
    clarke_rows_add_pair_multiples(y->at + to, y->low + to, factor, x->at + from, x->low + from, n);
  else
    for (size_t j = 0; j < n; j++)
      clarke_normed_add(y, to + j, clarke_pair_multiply(factor, clarke_normed_get(x, from + j)));
}

/* The larger, or a NaN if there is one. */
static double
larger(double a, double b)
{
  return a >= b ? a : b >= a ? b : NAN;
}

double
clarke_largest_double(const double *v, size_t n)
{
  return clarke_rows_largest(v, n);
}

void
clarke_normed_measure(clarke_normed *v, size_t features, size_t n, size_t lanes)
{
  for (size_t e = 0; e < features * n && v->fixed.limb != NULL; e++)
    clarke_normed_put(v, e, clarke_fixed_pair(clarke_fixed_at(&v->fixed, e), v->fixed.limbs, v->fixed.unit));
  memset(v->size, 0, n * sizeof *v->size);
  clarke_rows_add_squares(v->size, v->at, n, features, n);
  for (size_t j = lanes; j < n; j++)
    v->size[0] += v->size[j];
  for (size_t j = 0; j < lanes; j++)
    v->size[j] = clarke_bound_up(sqrt(clarke_bound_up(v->size[j])));
  v->largest = clarke_largest_double(v->at, features * n);
}

clarke_status
clarke_largest_norm(double *largest, const double *at, size_t features, size_t n, size_t lanes, clarke_error *err)
{
  double *squares = calloc(n + 1, sizeof *squares);

  if (squares == NULL)
    return clarke_no_memory(err);
  *largest = 0;
  clarke_rows_add_squares(squares, at, n, features, n);
  for (size_t j = 0; j < lanes; j++) {
    double sum = 0;

    for (size_t k = 0; k < n / lanes; k++)
      sum += squares[j + k];
    *largest = larger(*largest, clarke_bound_up(sqrt(clarke_bound_up(sum))));
  }
  free(squares);
  return CLARKE_OK;
}

double
clarke_normed_size(const clarke_gradient_pass *p, const clarke_normed *v)
{
  double most = 0;

  for (size_t j = 0; j < p->lanes; j++)
    most = larger(most, v->size[j]);
  return most;
}

double
clarke_normed_entries(const clarke_normed *v, size_t features, size_t n, size_t lanes)
{
  size_t entries = 0;

  for (size_t e = 0; e < features * n; e++)
    entries += v->at[e] != 0;
  return sqrt((double)entries / (double)lanes);
}

clarke_status
clarke_most_taken(size_t *most, const clarke_graph *g, const clarke_step *s, size_t value, clarke_error *err)
{
  const size_t n = g->values[s->out].count * (s->kind == CLARKE_MAX ? s->width : 1);
  size_t *taken = calloc(g->values[value].count + 1, sizeof *taken);

  if (taken == NULL)
    return clarke_no_memory(err);
  *most = 0;
  for (size_t k = 0; k < s->n_in; k++)
    for (size_t i = 0; i < n && s->in[k].value == value; i++) {
      const size_t e = clarke_operand_entry(&s->in[k], i);

      if (e != CLARKE_NONE && ++taken[e] > *most)
        *most = taken[e];
    }
  free(taken);
  return CLARKE_OK;
}

double
clarke_gradient_largest(const clarke_gradient *gradient, const clarke_graph *g, size_t i)
{
  return gradient->entry[i] != NULL ? clarke_largest_double(gradient->entry[i], g->parameters[i].count) : 0;
}
