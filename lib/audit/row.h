/* A row of a first-order system, sparse over the entries of all parameters, numbered through. */
#ifndef CLARKE_AUDIT_ROW_H
#define CLARKE_AUDIT_ROW_H

#include "network/graph/graph.h"

#include <flint/fmpz_mat.h>

typedef struct {
  size_t n, capacity;
  size_t *column; /* increasing once the row is finished */
  mpq_t *value;   /* nonzero */
} clarke_row;

void clarke_row_init(clarke_row *r);
void clarke_row_clear(clarke_row *r);
/* Appends an entry, which is copied; the row is finished by clarke_row_finish. */
clarke_status clarke_row_add(clarke_row *r, size_t column, const mpq_t value, clarke_error *err);
/* Sorts, adds up repeated columns, drops zeros. */
void clarke_row_finish(clarke_row *r);

/* A finished row, times its common denominator, into row `at` of the matrix, which is 0. column, increasing: which entry of a row each of the matrix's
 * columns is, with all that are not 0; NULL: all entries. */
void clarke_row_put(fmpz_mat_t a, slong at, const clarke_row *r, const size_t *column);

/* Is the row finished? */
bool clarke_row_is_valid(const clarke_row *r);

/* The columns of parameter p begin at clarke_column_base(g, p). */
size_t clarke_column_base(const clarke_graph *g, size_t parameter);
/* The entry that a column is, of *parameter, which moves on to the column's: from 0, columns increasing. */
size_t clarke_column_entry(size_t *parameter, size_t column, const clarke_graph *g);

#endif
