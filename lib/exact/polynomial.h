/* Instructions as polynomials of the displacement from the point, under the choices of a walk: what
 * holds near the point holds as an identity, so that a pattern can be refuted where gradients do
 * not tell. */
#ifndef CLARKE_EXACT_POLYNOMIAL_H
#define CLARKE_EXACT_POLYNOMIAL_H

#include "exact/number.h"

#include <stdint.h>

#include <flint/fmpq_mpoly.h>

/* Polynomials of more variables, terms or a higher degree are not kept. */
#define CLARKE_POLYNOMIAL_VARIABLES ((size_t)32)
#define CLARKE_POLYNOMIAL_TERMS 300
#define CLARKE_POLYNOMIAL_DEGREE 32

typedef struct {
  bool kept;
  fmpq_mpoly_t p;
} clarke_polynomial;

void clarke_polynomial_init(clarke_polynomial *y, const fmpq_mpoly_ctx_t ctx); /* zero, kept */
void clarke_polynomial_clear(clarke_polynomial *y, const fmpq_mpoly_ctx_t ctx);

/* value + <gradient, h>; not kept when either is not rational. gradient NULL: zero. */
void clarke_polynomial_affine(clarke_polynomial *y, const clarke_number *value,
                              const clarke_number *gradient, size_t width,
                              const fmpq_mpoly_ctx_t ctx);

/* y += q x; y = a b. What comes of one not kept, or is past a limit, is not kept. */
void clarke_polynomial_addmul(clarke_polynomial *y, const mpq_t q, const clarke_polynomial *x,
                              const fmpq_mpoly_ctx_t ctx);
void clarke_polynomial_mul(clarke_polynomial *y, const clarke_polynomial *a,
                           const clarke_polynomial *b, const fmpq_mpoly_ctx_t ctx);
/* y += q. */
void clarke_polynomial_add_rational(clarke_polynomial *y, const mpq_t q,
                                    const fmpq_mpoly_ctx_t ctx);

/* 0 constant, 1 affine, 2 of a higher degree or not kept. */
uint8_t clarke_polynomial_degree(const clarke_polynomial *y, const fmpq_mpoly_ctx_t ctx);

/* Is y the linear form <gradient, h>, its gradient at h = 0, times a polynomial? Then that is 1 at h = 0. Not when the gradient is 0
 * or not rational. */
bool clarke_polynomial_has_linear_factor(const clarke_polynomial *y, const clarke_number *gradient, size_t width,
                                         const fmpq_mpoly_ctx_t ctx);

/* The strict system over the coefficients of polynomials q_1 .. q_n: *refuted, with u (n
 * initialized rationals, nonnegative, not all zero) such that every monomial of sum u_k q_k is a square
 * with a coefficient <= 0. So not all q_k are positive anywhere. */
clarke_status clarke_polynomials_refute(bool *refuted, mpq_t *u, clarke_polynomial *const *q,
                                        size_t n, size_t width, const fmpq_mpoly_ctx_t ctx,
                                        clarke_error *err);

#endif
