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

#endif
