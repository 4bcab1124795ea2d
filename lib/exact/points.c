/* Finite sets of rational vectors (points.h), kept sorted. */
#include "exact/points.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void
clarke_points_init(clarke_points *s, size_t dim)
{
  memset(s, 0, sizeof *s);
  s->dim = dim;
}

void
clarke_points_clear(clarke_points *s)
{
  for (size_t k = 0; k < s->n * s->dim; k++)
    mpq_clear(s->entry[k]);
  free(s->entry);
  clarke_points_init(s, s->dim);
}

static int
compare(mpq_t *x, mpq_t *y, size_t dim)
{
  for (size_t j = 0; j < dim; j++) {
    int order = mpq_cmp(x[j], y[j]);

    if (order != 0)
      return order;
  }
  return 0;
}

/* The first row that is not below v. */
static size_t
place_of(const clarke_points *s, mpq_t *v)
{
  size_t low = 0, high = s->n;

  while (low < high) {
    size_t middle = low + (high - low) / 2;

    if (compare(&s->entry[middle * s->dim], v, s->dim) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

size_t
clarke_points_find(const clarke_points *s, mpq_t *v)
{
  size_t row = place_of(s, v);

  return row < s->n && compare(&s->entry[row * s->dim], v, s->dim) == 0 ? row : SIZE_MAX;
}

static clarke_status
reserve(clarke_points *s, size_t rows, clarke_error *err)
{
  size_t capacity = s->capacity < 8 ? 8 : s->capacity;
  mpq_t *grown;

  while (capacity < rows && capacity <= SIZE_MAX / 2)
    capacity *= 2;
  if (capacity <= s->capacity)
    return CLARKE_OK;
  if (capacity < rows || (s->dim > 0 && capacity > SIZE_MAX / sizeof *grown / s->dim))
    return clarke_fail(err, CLARKE_ENOMEM, "%zu vectors of %zu entries are too many", rows,
                       s->dim);
  grown = realloc(s->entry, (capacity * s->dim + 1) * sizeof *grown);
  if (grown == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu vectors of %zu entries", rows,
                       s->dim);
  s->entry = grown;
  s->capacity = capacity;
  return CLARKE_OK;
}

clarke_status
clarke_points_add(clarke_points *s, mpq_t *v, clarke_error *err)
{
  size_t row = place_of(s, v);
  clarke_status status;
  mpq_t *at;

  if (row < s->n && compare(&s->entry[row * s->dim], v, s->dim) == 0)
    return CLARKE_OK;
  status = reserve(s, s->n + 1, err);
  if (status != CLARKE_OK)
    return status;
  at = &s->entry[row * s->dim];
  memmove(at + s->dim, at, (s->n - row) * s->dim * sizeof *at);
  for (size_t j = 0; j < s->dim; j++) {
    mpq_init(at[j]);
    mpq_set(at[j], v[j]);
  }
  s->n++;
  return CLARKE_OK;
}

/* --- many at once ----------------------------------------------------------------------------- */

typedef struct {
  mpq_t *v;
  size_t dim;
} sortable;

static int
compare_sortable(const void *left, const void *right)
{
  const sortable *x = left, *y = right;

  return compare(x->v, y->v, x->dim);
}

clarke_status
clarke_points_set(clarke_points *s, size_t n, mpq_t *rows, clarke_error *err)
{
  sortable *row = malloc((n + 1) * sizeof *row);
  clarke_status status;

  clarke_points_clear(s);
  status = row != NULL ? reserve(s, n, err)
                       : clarke_fail(err, CLARKE_ENOMEM, "no memory to sort %zu vectors", n);
  for (size_t i = 0; i < n && status == CLARKE_OK; i++)
    row[i] = (sortable){rows + i * s->dim, s->dim};
  if (status == CLARKE_OK)
    qsort(row, n, sizeof *row, compare_sortable);
  for (size_t i = 0; i < n && status == CLARKE_OK; i++)
    if (i == 0 || compare_sortable(&row[i - 1], &row[i]) != 0)
      status = clarke_points_add(s, row[i].v, err); /* goes to the end */
  free(row);
  return status;
}
