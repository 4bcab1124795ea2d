/* The error of a product of enclosures. */
#ifndef CLARKE_EXACT_MATRIX_PRODUCT_RADIUS_H
#define CLARKE_EXACT_MATRIX_PRODUCT_RADIUS_H

#include "exact/matrix_slices.h"

/* C's radii, added to those it has: rad(C) = |A| rad(B) + rad(A) (|B| + rad(B)). */
clarke_status clarke_product_bound_radius(clarke_matrix_product *p, clarke_error *err);

#endif
