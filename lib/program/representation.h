/* A declared representation by pieces of a program's first output: the check that it is one, its
 * selection set and its associated gradient at a point. */
#ifndef CLARKE_PROGRAM_REPRESENTATION_H
#define CLARKE_PROGRAM_REPRESENTATION_H

#include "exact/points.h"
#include "program/execute.h"

typedef struct {
  bool declared;
  /* Do the pieces' domains partition the whole space (of the inputs in wrt, the others fixed), and
   * does each agree with the function on its own? Decided where conditions, pieces and the function
   * are piecewise linear; `why` says what fails (with a witness point) or why it is not known. */
  enum { CLARKE_REPRESENTS, CLARKE_MISREPRESENTS, CLARKE_REPRESENTS_UNKNOWN } answer;
  char why[512];
  size_t active;           /* the piece that holds at the point; CLARKE_NONE: none or several */
  clarke_points selection; /* vertices of conv {grad f_i(x) : f_i(x) = f(x)} (Bolte and Pauwels,
                            * Definition 5) */
  bool selection_known;    /* rational and decided */
  mpq_t *associated;       /* the gradient of the active piece (Despres, Definition 1); NULL when
                            * it is not rational or the piece touches a kink of its own */
} clarke_representation;

void clarke_representation_init(clarke_representation *r);
void clarke_representation_clear(clarke_representation *r);
/* Checks it at the execution's point. What it cannot tell is no error: r->why says so. */
clarke_status clarke_representation_check(clarke_representation *r, const clarke_execution *e,
                                          clarke_error *err);

/* The entries of wrt at the point. */
void clarke_wrt_point(mpq_t *point, const clarke_code *p, mpq_t *at);

#endif
