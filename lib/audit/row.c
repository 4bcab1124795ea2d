#include "audit/row.h"

#include "base/verify.h"

#include <stdlib.h>
#include <string.h>

void
clarke_row_init(clarke_row *r)
{
  memset(r, 0, sizeof *r);
}

void
clarke_row_clear(clarke_row *r)
{
  for (size_t i = 0; i < r->capacity; i++)
    mpq_clear(r->value[i]);
  free(r->column);
  free(r->value);
  clarke_row_init(r);
}

clarke_status
clarke_row_add(clarke_row *r, size_t column, const mpq_t value, clarke_error *err)
{
  if (r->n == r->capacity) {
    size_t wanted = 2 * r->capacity + 16;
    size_t *columns = realloc(r->column, wanted * sizeof *columns);
    mpq_t *values;

    if (columns != NULL)
      r->column = columns;
    values = columns != NULL ? realloc(r->value, wanted * sizeof *values) : NULL;
    if (values == NULL)
      return clarke_no_memory(err);
    r->value = values;
    for (; r->capacity < wanted; r->capacity++)
      mpq_init(r->value[r->capacity]);
  }
  r->column[r->n] = column;
  mpq_set(r->value[r->n++], value);
  return CLARKE_OK;
}

/* Shell sort: the two arrays move together, and rows mostly come in order. */
static void
sort_row(clarke_row *r)
{
  for (size_t gap = r->n / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
    for (size_t i = gap; i < r->n; i++)
      for (size_t j = i; j >= gap && r->column[j - gap] > r->column[j]; j -= gap) {
        size_t column = r->column[j];

        r->column[j] = r->column[j - gap];
        r->column[j - gap] = column;
        mpq_swap(r->value[j], r->value[j - gap]);
      }
}

void
clarke_row_finish(clarke_row *r)
{
  size_t kept = 0;
  bool sorted = true;

  for (size_t i = 1; i < r->n; i++)
    sorted = sorted && r->column[i - 1] < r->column[i];
  if (!sorted)
    sort_row(r);
  for (size_t i = 0; i < r->n; i++) {
    if (kept > 0 && r->column[kept - 1] == r->column[i]) {
      mpq_add(r->value[kept - 1], r->value[kept - 1], r->value[i]);
      continue;
    }
    if (kept > 0 && mpq_sgn(r->value[kept - 1]) == 0)
      kept--;
    r->column[kept] = r->column[i];
    if (kept != i)
      mpq_set(r->value[kept], r->value[i]);
    kept++;
  }
  if (kept > 0 && mpq_sgn(r->value[kept - 1]) == 0)
    kept--;
  r->n = kept;
  CLARKE_VERIFY_CHECK(clarke_row_is_valid(r));
}

void
clarke_row_put(fmpz_mat_t a, slong at, const clarke_row *r, const size_t *column)
{
  fmpz_t common, q;

  fmpz_init(common);
  fmpz_init(q);
  fmpz_one(common);
  for (size_t e = 0; e < r->n; e++) {
    fmpz_set_mpz(q, mpq_denref(r->value[e]));
    fmpz_lcm(common, common, q);
  }
  for (size_t e = 0, j = 0; e < r->n; e++) {
    fmpz *entry;

    while (column != NULL && column[j] != r->column[e])
      j++;
    fmpz_set_mpz(q, mpq_denref(r->value[e]));
    fmpz_divexact(q, common, q);
    entry = fmpz_mat_entry(a, at, (slong)(column != NULL ? j : r->column[e]));
    fmpz_set_mpz(entry, mpq_numref(r->value[e]));
    fmpz_mul(entry, entry, q);
  }
  fmpz_clear(common);
  fmpz_clear(q);
}

size_t
clarke_column_base(const clarke_graph *g, size_t parameter)
{
  size_t base = 0;

  for (size_t p = 0; p < parameter; p++)
    base += g->parameters[p].count;
  return base;
}

size_t
clarke_column_entry(size_t *parameter, size_t column, const clarke_graph *g)
{
  size_t base = clarke_column_base(g, *parameter);

  CLARKE_ASSERT(column >= base);
  while (column - base >= g->parameters[*parameter].count) {
    base += g->parameters[(*parameter)++].count;
    CLARKE_ASSERT(*parameter < g->n_parameters);
  }
  return column - base;
}
