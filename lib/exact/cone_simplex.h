/* A guess at a block's direction by floats. Private to lib/exact. */
#ifndef CLARKE_EXACT_CONE_SIMPLEX_H
#define CLARKE_EXACT_CONE_SIMPLEX_H

#include "exact/cone_block.h"

/* max t: scaled x - t >= 0, x free, t <= 1 by GLPK's primal simplex: a guess. */
typedef struct {
  double *x;         /* cols */
  double *dual;      /* rows: of the constraints, >= 0 up to rounding */
  bool *active;      /* rows: nonbasic */
  bool *basic;       /* cols: basic */
} clarke_cone_guess;

clarke_status clarke_cone_guess_init(clarke_cone_guess *g, size_t rows, size_t cols,
                                     clarke_error *err);
void clarke_cone_guess_clear(clarke_cone_guess *g);
/* *found: false when the simplex came to nothing. work: as of clarke_cone_solve. */
clarke_status clarke_cone_simplex(bool *found, clarke_cone_guess *g, const clarke_cone_floats *f, double tolerance,
                                  uint64_t work, clarke_error *err);

#endif
