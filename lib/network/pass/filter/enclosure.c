/* Enclosures of activations in doubles: their room, the bounds of a row, roundings that are added to them. */
#include "network/pass/filter/enclosure.h"

#include "base/wide.h"

#include <stdlib.h>
#include <string.h>

void
clarke_enclosure_drop(clarke_enclosure *e)
{
  free(e->y);
  free(e->row);
  free(e->col);
  free(e->each);
  free(e->norm);
  e->y = e->row = e->col = e->norm = e->most = e->before = NULL;
  e->each = NULL;
}

clarke_status
clarke_enclosure_alloc(clarke_filter *f, clarke_enclosure *e, size_t rows)
{
  e->rows = rows;
  e->known = true;
  e->y = malloc((rows * f->n + 1) * sizeof *e->y);
  e->row = malloc((rows + 1) * sizeof *e->row);
  e->col = malloc((f->n + 1) * sizeof *e->col);
  if (f->fine)
    e->each = malloc((rows * f->n + 1) * sizeof *e->each);
  if (f->growths != NULL) {
    e->norm = malloc((3 * f->n + 1) * sizeof *e->norm);
    e->most = e->norm + f->n;
    e->before = e->most + f->n;
  }
  return e->y != NULL && e->row != NULL && e->col != NULL && (e->each != NULL || !f->fine) &&
             (e->norm != NULL || f->growths == NULL)
           ? CLARKE_OK
           : clarke_no_memory(f->err);
}

clarke_status
clarke_enclosure_inherit(clarke_filter *f, clarke_enclosure *y, size_t value)
{
  clarke_enclosure *x = &f->value[value];
  clarke_status status;

  if (f->last[value] == f->step) {
    *y = *x;
    *x = (clarke_enclosure){0};
    return CLARKE_OK;
  }
  status = clarke_enclosure_alloc(f, y, x->rows);
  if (status != CLARKE_OK)
    return status;
  memcpy(y->y, x->y, x->rows * f->n * sizeof *y->y);
  memcpy(y->row, x->row, x->rows * sizeof *y->row);
  memcpy(y->col, x->col, f->n * sizeof *y->col);
  if (f->fine)
    memcpy(y->each, x->each, x->rows * f->n * sizeof *y->each);
  return CLARKE_OK;
}

void
clarke_enclosure_row_bounds(const clarke_filter *f, const clarke_enclosure *e, size_t i, double *bound)
{
  if (f->fine)
    for (size_t j = 0; j < f->n; j++)
      bound[j] = (double)e->each[i * f->n + j];
  else
    for (size_t j = 0; j < f->n; j++)
      bound[j] = clarke_up_over(e->row[i] * e->col[j], 4, 8 * CLARKE_TINY);
  for (size_t j = 0; e->most != NULL && j < f->n; j++)
    bound[j] = e->most[j] < bound[j] ? e->most[j] : bound[j];
}

double
clarke_largest_of(const double *v, size_t n)
{
  double most = 0;

  for (size_t i = 0; i < n; i++)
    most = clarke_larger(most, v[i]);
  return most;
}

void
clarke_enclosure_add_rounding(clarke_filter *f, clarke_enclosure *y, const double *error)
{
  double ratio = 0, most;

  if (f->fine) {
    for (size_t i = 0; i < y->rows; i++)
      for (size_t j = 0; j < f->n; j++)
        y->each[i * f->n + j] = clarke_up_float((double)y->each[i * f->n + j] + error[j]);
    return;
  }
  for (size_t j = 0; j < f->n; j++) {
    double q = error[j] == 0 ? 0 : clarke_up_by(error[j] / y->col[j], 2);

    ratio = clarke_larger(ratio, q);
  }
  if (ratio <= 0x1p-3) {
    for (size_t i = 0; i < y->rows; i++)
      y->row[i] = clarke_up_add(y->row[i], ratio + CLARKE_TINY);
    return;
  }
  most = clarke_largest_of(y->row, y->rows);
  for (size_t i = 0; i < y->rows; i++)
    y->row[i] = 1;
  for (size_t j = 0; j < f->n; j++)
    y->col[j] = clarke_up_add(clarke_up_mul(most, y->col[j]), error[j]);
}

void
clarke_round_sizes(double *size, size_t n, double operations)
{
  for (size_t j = 0; j < n; j++)
    size[j] = clarke_up_mul(clarke_gamma(operations, CLARKE_UNIT), size[j]) + 2 * CLARKE_TINY;
}

CLARKE_WIDE static void
store_places(clarke_branch *restrict piece, const double *restrict code, size_t n)
{
  for (size_t j = 0; j < n; j++)
    piece[j] = (clarke_branch)code[j];
}

size_t
clarke_store_places(clarke_branch *piece, const double *code, size_t n)
{
  size_t open = 0;

  store_places(piece, code, n);
  if (clarke_branches_open(piece, n)) /* seldom */
    for (size_t j = 0; j < n; j++)
      open += piece[j] == CLARKE_OPEN;
  return open;
}
