/* The steps that are linear, which a pass and its derivatives share. */
#ifndef CLARKE_NETWORK_PASS_LINEAR_H
#define CLARKE_NETWORK_PASS_LINEAR_H

#include "exact/pair.h"
#include "network/pass/forward.h"

/* m seen with other rows and cols (their product kept): shares m's memory, is not cleared. */
clarke_matrix clarke_matrix_view(const clarke_matrix *m, size_t rows, size_t cols);

/* A feature axis of (blocks, extent, repeat) by n samples, rearranged to extent rows. */
clarke_status clarke_dense_gather(clarke_matrix *c, const clarke_matrix *a, size_t blocks,
                                  size_t extent, clarke_error *err);

/* y = W x of a DENSE step for a weight matrix as stored (the weight itself or a tangent of it); back:
 * y = W^T x, from the outputs' features to the inputs'. */
clarke_status clarke_dense_apply(clarke_matrix *y, const clarke_step *s, const clarke_matrix *w,
                                 const clarke_matrix *x, bool back, clarke_error *err);

/* The products of the blocks of a's rows by those of b's, one after another (b: rows of a product's
 * second factor, whatever `multiply` does with them). */
clarke_status clarke_each_block(clarke_matrix *y, size_t blocks, const clarke_matrix *a,
                                const clarke_matrix *b,
                                clarke_status (*multiply)(clarke_matrix *, const clarke_matrix *,
                                                          const clarke_matrix *, clarke_error *),
                                clarke_error *err);

/* 1/c of every entry, for a divisor's column. */
clarke_status clarke_reciprocals(clarke_matrix *r, const clarke_matrix *c, clarke_error *err);

/* An operand through its map, times its coefficient. */
clarke_status clarke_operand_apply(clarke_matrix *y, const clarke_operand *o,
                                   const clarke_matrix *x, size_t count, clarke_error *err);

/* The column by which a SCALE step multiplies: c, 1/c, or 1/sqrt(c + epsilon), through its map. That of
 * a root is exact where it is rational, else enclosed with the pass's precision. */
clarke_status clarke_scale_column(clarke_matrix *column, const clarke_forward *f,
                                  const clarke_step *s, clarke_error *err);

/* 1/sqrt(c + epsilon) of every entry, c + epsilon > 0, entries of c being enclosed or not, but none below
 * 0 when it is. One that is irrational, or enclosed, makes an enclosure of the matrix, in which those
 * that are dyadic stay exact. */
clarke_status clarke_root_reciprocals(clarke_matrix *r, const clarke_matrix *c, const mpq_t epsilon,
                                      long precision, clarke_error *err);

/* The factors of a SCALE step by feature, as pairs: malloc; NULL without memory. */
clarke_pair *clarke_scale_factors(const clarke_graph *g, const clarke_step *s);

/* PRelu's slope at every feature, as a column. */
clarke_status clarke_slope_column(clarke_matrix *s, const clarke_constants *c,
                                  const clarke_step *step, clarke_error *err);

#endif
