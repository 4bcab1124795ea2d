/* A representation at the point. */
#ifndef CLARKE_PROGRAM_REPRESENTATION_POINT_H
#define CLARKE_PROGRAM_REPRESENTATION_POINT_H

#include "program/representation.h"

/* Fills active, selection and selection_known. Where not exactly one piece holds, or it differs from the function, answer and
 * why say so. */
clarke_status clarke_representation_check_point(clarke_representation *r, const clarke_code *p, mpq_t *at,
                                                clarke_error *err);

#endif
