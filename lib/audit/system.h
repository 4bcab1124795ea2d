/* First-order systems: rows s_k grad y_k, one a touch; is there a direction d with all products
 * positive? Rows are sparse over the entries of all parameters, numbered through. */
#ifndef CLARKE_AUDIT_SYSTEM_H
#define CLARKE_AUDIT_SYSTEM_H

#include "exact/cone.h"
#include "audit/cell.h"
#include "audit/row.h"

/* Rows that share a column, directly or through others, get one block number: the index of the first of them. */
clarke_status clarke_system_blocks(size_t *block, const clarke_row *row, size_t n_rows,
                                   clarke_error *err);

/* Solves the system block by block. FEASIBLE: d gets the moves. EMPTY: u[i] (n_rows initialized
 * rationals) gets the multipliers. Either is NULL when not asked for. More than CLARKE_SYSTEM_LIMIT entries in one block: UNKNOWN. */
#define CLARKE_SYSTEM_LIMIT ((size_t)16 << 20)
clarke_status clarke_system_solve(clarke_cone_answer *answer, clarke_direction *d, mpq_t *u,
                                  const clarke_row *row, size_t n_rows, const clarke_graph *g,
                                  clarke_error *err);

#endif
