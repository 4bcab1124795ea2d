/* First-order systems: rows s_k grad y_k, one a touch; is there a direction d with all products
 * positive? Rows are sparse over the entries of all parameters, numbered through. */
#ifndef CLARKE_AUDIT_SYSTEM_H
#define CLARKE_AUDIT_SYSTEM_H

#include "exact/cone.h"
#include "audit/cell.h"

typedef struct {
  size_t n, capacity;
  size_t *column; /* increasing once the row is finished */
  mpq_t *value;   /* nonzero */
} clarke_row;

void clarke_row_init(clarke_row *r);
void clarke_row_clear(clarke_row *r);
clarke_status clarke_row_add(clarke_row *r, size_t column, const mpq_t value, clarke_error *err);
/* Sorts, adds up repeated columns, drops zeros. */
void clarke_row_finish(clarke_row *r);

/* Is the row finished? */
bool clarke_row_is_valid(const clarke_row *r);

/* The columns of parameter p begin at clarke_column_base(g, p). */
size_t clarke_column_base(const clarke_graph *g, size_t parameter);
/* The entry that a column is, of *parameter, which moves on to the column's: from 0, columns increasing. */
size_t clarke_column_entry(size_t *parameter, size_t column, const clarke_graph *g);

/* What reverse mode over few entries keeps from one row to the next (audit/sparse_row.h). */
typedef struct {
  const clarke_graph *g;
  size_t segment;
  clarke_row *grad; /* by value: entries, not yet added up */
  bool *carries;
  clarke_matrix *scale; /* by step: what a SCALE multiplies by; 0 x 0 before it is asked for */
  /* Of the last row: did enclosures come into one entry alone, by its last factor? Then its number is no farther than spread
   * from that of the row. vague: into more. */
  bool enclosed, vague;
  size_t parameter, entry;
  mpq_t spread;
} clarke_sparse;

void clarke_sparse_init(clarke_sparse *w);
void clarke_sparse_clear(clarke_sparse *w);

/* The pass and the slopes of one column, made anew when another one is asked for: rows are best asked for
 * column by column. */
typedef struct {
  const clarke_question *q;
  clarke_slopes slopes; /* of the sides chosen, all columns */
  size_t column;        /* CLARKE_NONE: none yet */
  clarke_forward forward;
  clarke_slopes slope;
  clarke_sparse sparse;
  bool whole;     /* rows must keep their scale */
  bool frugal;    /* where whole rows are not all reachable, none is made that takes a pass over all samples */
  bool far;       /* such a row was asked for: it is not made */
  double divided; /* what the last row was divided by, about */
} clarke_columns;

/* May rows that are not cut be made of all conditions, with a bounded amount of work? */
bool clarke_whole_rows_reachable(const clarke_question *q);

/* side: as of clarke_question_slopes. */
clarke_status clarke_columns_init(clarke_columns *c, const clarke_question *q, const int8_t *side,
                                  clarke_error *err);
void clarke_columns_clear(clarke_columns *c);

/* What a side asks of touch k by one of its conditions, as a row whose product with a direction must be
 * positive: the side's sign times the derivative of a kink's argument, or that of the side's
 * option of a window less the option `condition`. In all wrt parameters, or in its layer's own
 * only (segment). *exact: false when enclosures came in (then entries are midpoints). An exact row that is not rational counts
 * up to a positive factor, unless c is asked for whole rows (docs/proof-format.md, "Gradients and rows"). */
clarke_status clarke_touch_row(clarke_row *row, bool *exact, clarke_columns *c, size_t k,
                               int8_t side, size_t condition, bool segment, clarke_error *err);

/* Is the row in all wrt parameters zero, exactly? */
clarke_status clarke_touch_rests(bool *rests, clarke_columns *c, size_t k, int8_t side, size_t condition,
                                 clarke_error *err);

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
