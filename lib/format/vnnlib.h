/* VNNLIB queries (SMT-LIB text), of which the box of the inputs is read: assertions (<= X_0 1.5), (>= X_0 -1.5), (<= -1.5 X_0),
 * and conjunctions of such. Assertions on outputs Y_j alone are passed over. A disjunction that speaks of inputs is refused: it
 * is no box. */
#ifndef CLARKE_FORMAT_VNNLIB_H
#define CLARKE_FORMAT_VNNLIB_H

#include "base/status.h"

#include <gmp.h>
#include <stdbool.h>
#include <stddef.h>

#define CLARKE_VNNLIB_INPUTS ((size_t)1 << 16)

typedef struct {
  size_t n;             /* inputs that are declared: X_0 to X_(n-1) */
  mpq_t *lower, *upper; /* n each */
  size_t passed_over;   /* assertions on outputs */
} clarke_vnnlib;

void clarke_vnnlib_init(clarke_vnnlib *v);
void clarke_vnnlib_clear(clarke_vnnlib *v);

/* Every input must have both bounds. Of several the strictest count. Whether the box is empty is not looked at. */
clarke_status clarke_vnnlib_parse(clarke_vnnlib *v, const void *data, size_t size, const char *file, clarke_error *err);

#endif
