/* Distinct affine functions among regions: what a program's outputs are on them. */
#ifndef CLARKE_REGION_FUNCTIONS_H
#define CLARKE_REGION_FUNCTIONS_H

#include "region/forms.h"
#include "region/vector_set.h"

typedef struct {
  fmpz *key;             /* outputs x (dim + 1) */
  clarke_vector_set set;
} clarke_functions;

void clarke_functions_init(clarke_functions *s, const clarke_forms *forms);
void clarke_functions_clear(clarke_functions *s); /* of one that is zeroed, too */

/* The function that the outputs' forms are now (those of init, or a region's): its number, in the order in which they came. */
clarke_status clarke_functions_add(size_t *number, clarke_functions *s, const clarke_forms *forms, clarke_error *err);

#endif
