/* The thesis' tables of costs: 2.1, 2.2 and 2.3, and what they print where that is something else. */
#ifndef CLARKE_COST_TABLE_H
#define CLARKE_COST_TABLE_H

#include "cost/elementary.h"

typedef struct {
  const char *function;      /* as the table has it */
  clarke_elementary e;
  bool is_unit;              /* table 2.1: all operations cost 1 */
  /* What is printed wrongly; NULL: it is right. */
  const char *share;         /* the row cost(x) |pr| / cost(g) */
  bool has_cost;
  clarke_elementary printed; /* of the printed cost, where that is another */
  const char *bound;         /* the printed bound on omega, */
  bool holds;                /* and is it one? */
} clarke_table_row_of_costs;

#define CLARKE_COST_ROWS 16

/* The rows of table "2.1", "2.2" or "2.3" (the norms at several n); how many. 0: there is no such table. */
size_t clarke_cost_table(clarke_table_row_of_costs row[CLARKE_COST_ROWS], const char *table);

/* The largest cost(gd) + 2 |pr| over cost(g) over all c_nl >= 1 and c_R >= 0, with c+ = cx = 1. False: there is none. */
bool clarke_elementary_supremum(mpq_t most, const clarke_elementary *e);

/* The norms as elementary functions of n numbers, by n absolute values and additions (Case 12), or comparisons. */
clarke_elementary clarke_elementary_one_norm(size_t n);
clarke_elementary clarke_elementary_infinity_norm(size_t n);
/* The largest of m linear functions of n numbers each, whose coefficients are the arguments (Case 10); and the same of a convolution with
 * 3 x 3 taps, pooled over 3 x 3 places (Case 11). */
clarke_elementary clarke_elementary_linear_maximum(size_t m, size_t n);
clarke_elementary clarke_elementary_pooled(void);

#endif
