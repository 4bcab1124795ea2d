/* Wolfe's algorithm (Finding the nearest point in a polytope, 1976) in integers. */
#ifndef CLARKE_EXACT_WOLFE_H
#define CLARKE_EXACT_WOLFE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <gmp.h>

#include <flint/flint.h>
#include <flint/fmpq_mat.h>
#include <flint/fmpz_mat.h>
#include "exact/points.h"

/* Major steps at most; no instance known comes near. */
#define CLARKE_WOLFE_STEPS ((size_t)1 << 16)

/* The point of least norm in the hull of the rows of s (at least one): x / *den, den > 0, is
 * sum weight_i s_i with weight >= 0 of sum 1, and <x, s_i> den >= <x, x> for all rows, all checked
 * before the return. x: 1 x columns; weight: rows x 1. *found is false when CLARKE_WOLFE_STEPS, or the work (as of
 * exact/cone.h, counted turn by turn), were not enough. */
clarke_status clarke_wolfe(bool *found, fmpz_mat_t x, fmpz_t den, fmpq_mat_t weight,
                           const fmpz_mat_t s, uint64_t work, clarke_error *err);

/* integer (rows x dim) = D times the rationals, D > 0 their common denominator. */
void clarke_integers(fmpz_mat_t integer, fmpz_t common, mpq_t *rational);

/* The element of least Euclidean norm of conv s (s not empty), exactly: Wolfe's algorithm in
 * rationals. */
clarke_status clarke_points_least(mpq_t *least, const clarke_points *s, clarke_error *err);

#endif
