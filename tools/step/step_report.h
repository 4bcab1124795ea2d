/* A state of an optimizer as a file has it, and as it is printed. */
#ifndef CLARKE_TOOLS_STEP_REPORT_H
#define CLARKE_TOOLS_STEP_REPORT_H

#include "step/whole.h"

#include <jansson.h>

/* A named list of numbers, or of lists; scalar: it was written as one number. */
typedef struct {
  char *name;
  bool scalar;
  clarke_step_shape shape;
  size_t n; /* numbers */
  clarke_number *x;
} clarke_step_vector;

typedef struct {
  char *file; /* base name */
  size_t n;
  clarke_step_vector *vector;
} clarke_step_vectors;

void clarke_step_vectors_clear(clarke_step_vectors *v);
/* A .json, .npz, .npy or .safetensors file. A file that is one list or one number is a vector named `alone`. v is zeroed. */
clarke_status clarke_step_vectors_read(clarke_step_vectors *v, const char *path, const char *alone, clarke_error *err);
/* NULL when there is none. */
const clarke_step_vector *clarke_step_vectors_find(const clarke_step_vectors *v, const char *name);
/* `k` of a state: how many steps were made before; 0 where it is not there. */
clarke_status clarke_step_vectors_count(size_t *k, const clarke_step_vectors *v, clarke_error *err);
/* The gradient's vector: g, gradient, grad, or by theta's name. */
clarke_status clarke_step_vectors_gradient(const clarke_step_vector **g, const clarke_step_vectors *v, clarke_error *err);

/* --- step_told.c --- */

/* |x - y| against the bound: 1 within, 0 not, -1 an enclosure says neither. */
int clarke_step_is_within(const clarke_number *x, const clarke_number *y, const mpq_t bound);

/* What came of a question about a rule. */
typedef struct {
  const clarke_rule *rule;
  const char *state, *against, *within, *proof; /* names of files, but for within; all but the first may be NULL */
  size_t steps, given;        /* that were asked about; given: gradients, where a step may have several; 0: one each */
  size_t n, k, compared;      /* entries; steps in all; numbers that stand beside others */
  int answer;                 /* an exit status */
  const clarke_number *theta; /* its first entry */
} clarke_step_answered;

/* Prints the three lines. */
clarke_status clarke_step_tell(const clarke_step_answered *a, clarke_error *err);

#endif
