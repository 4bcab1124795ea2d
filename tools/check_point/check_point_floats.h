/* What floats say of a query's assertions at a point, in several orders of summation. */
#ifndef CLARKE_TOOLS_CHECK_POINT_FLOATS_H
#define CLARKE_TOOLS_CHECK_POINT_FLOATS_H

#include "format/property.h"
#include "session/derive.h"

/* What was found in a format, in all orders that were tried. */
typedef struct {
  size_t holds, fails, nan; /* orders; nan: where an output is no number */
  mpq_t least, most;        /* margins, where outputs are numbers */
} clarke_float_margins;

void clarke_float_margins_init(clarke_float_margins of[CLARKE_FORMATS]);
void clarke_float_margins_clear(clarke_float_margins of[CLARKE_FORMATS]);

/* Finds the margins in float32 and float64. The code's sums have their terms in another order afterwards. */
clarke_status clarke_float_margins_find(clarke_float_margins of[CLARKE_FORMATS], clarke_code *p, mpq_t *at, const clarke_query *q, size_t orders,
                                        clarke_error *err);

/* A line each on standard output; a list. */
void clarke_float_margins_print(const clarke_float_margins of[CLARKE_FORMATS]);
json_t *clarke_float_margins_json(const clarke_float_margins of[CLARKE_FORMATS]);

#endif
