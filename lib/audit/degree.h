/* How entries depend on the parameters near w, read off the graph and the sides chosen.
 * docs/proof-format.md states both rules; clarke-check applies them by its own code. */
#ifndef CLARKE_AUDIT_DEGREE_H
#define CLARKE_AUDIT_DEGREE_H

#include "audit/question.h"

/* A mark for every entry of every activation of the replay's exact pass: its degree in the wrt parameters near w, 0
 * constant, 1 affine, 2 anything, within the cell of these sides (by touch; CLARKE_PROXY, or NULL: not chosen). */
typedef struct {
  const clarke_question *q;
  const clarke_branch *side;
  const clarke_forward *f;
  uint8_t **mark; /* by value: features x columns */
  size_t **index; /* by step with kinks: likewise of its output, 1 + the touch there */
} clarke_marking;

/* side is kept by reference. Cleared also when it fails. */
clarke_status clarke_marking_run(clarke_marking *m, const clarke_question *q, const clarke_branch *side, clarke_error *err);
void clarke_marking_clear(clarke_marking *m);
/* The degree of touch k's argument, or of the entry of a window's option. */
uint8_t clarke_marking_degree(const clarke_marking *m, size_t k, size_t condition);

/* degree[c], by condition: how touch k's argument, or the entry of a window's option, depends on the wrt
 * parameters near w within the cell of these sides (by touch; CLARKE_PROXY, or NULL: not chosen): 0 not at
 * all, 1 it is affine, 2 nothing is known. */
clarke_status clarke_degrees(uint8_t *degree, const clarke_question *q, const clarke_branch *side,
                             clarke_error *err);

/* flat[k]: is its degree 0, of a window that of all options? */
clarke_status clarke_flat(bool *flat, const clarke_question *q, const clarke_branch *side,
                          clarke_error *err);

#endif
