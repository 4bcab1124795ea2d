/* The exact forward pass over some samples of a minibatch.
 *
 * Every needed activation becomes a matrix, features x samples, exact while everything before it
 * is rational, an enclosure after transcendental functions. At every step with kinks each entry's
 * place is decided: */
#ifndef CLARKE_NETWORK_FORWARD_H
#define CLARKE_NETWORK_FORWARD_H

#include "exact/matrix.h"
#include "network/graph.h"
#include "network/identity.h"
#include "network/margin.h"

/* piece[step][feature * n + column]: of a PIECEWISE step p >= 0 strictly inside piece p, CLARKE_AT(k)
 * exactly at kink k (whose two slopes differ); of a MAX step the place in the window of the
 * largest entry (of the first of them when all are identical), CLARKE_AT(0) when there are several
 * that are not; CLARKE_OPEN when the enclosure does not tell. */
#define CLARKE_AT(k) ((int8_t)(-1 - (int)(k)))
#define CLARKE_KINK_OF(code) ((size_t)(-1 - (int)(code)))
#define CLARKE_OPEN ((int8_t)-128)

typedef struct {
  const clarke_graph *g;
  /* The graph's constants as matrices: a weight of two axes in its stored shape, the rest as one
   * column. Made once, shared by passes. */
  clarke_matrix *constant; /* n_values */
} clarke_constants;

clarke_status clarke_constants_init(clarke_constants *c, const clarke_graph *g, clarke_error *err);
void clarke_constants_clear(clarke_constants *c);

typedef struct {
  const clarke_graph *g;
  const clarke_constants *constants;
  size_t n;            /* columns */
  long precision;
  clarke_matrix *value; /* n_values; 0 x 0 when not needed */
  int8_t **piece;      /* n_steps; NULL but for steps with kinks */
  size_t **ties;       /* n_steps: of MAX, by column, windows with several largest entries, identical or not */
  clarke_identities *identities; /* made when windows are tied */
  size_t open;         /* entries left open */
  bool vague;          /* it failed: an enclosure does not tell whether it lies in a function's domain */
  bool refining;       /* places are given; only open ones are looked at */
  clarke_margin **margin; /* NULL, or n_steps by column: takes in the distances of places that refining decides */
} clarke_forward;

void clarke_forward_init(clarke_forward *f);
void clarke_forward_clear(clarke_forward *f);

/* input: features x samples, exact. needed: which values to compute (clarke_graph_needed).
 * precision: bits for transcendental functions. When a step couples the samples the input holds all.
 * CLARKE_EVAGUE: an enclosure has no bounds at this precision. */
clarke_status clarke_forward_run(clarke_forward *f, const clarke_constants *constants,
                                 const clarke_matrix *input, const bool *needed, long precision,
                                 clarke_error *err);

/* Did the pass fail for want of precision? */
static inline bool
clarke_forward_is_vague(const clarke_forward *f, clarke_status status)
{
  return status == CLARKE_EVAGUE || (status != CLARKE_OK && f->vague);
}

/* The same step by step: the input's values, then step 0, 1, ... in order. Between two steps a value may be replaced by other
 * numbers of its shape, which the steps behind go on from (a record's). */
clarke_status clarke_forward_begin(clarke_forward *f, const clarke_constants *constants, const clarke_matrix *input,
                                   long precision, clarke_error *err);
clarke_status clarke_forward_next(clarke_forward *f, size_t step, clarke_error *err);

/* What a filter left open, once more, in enclosures rounded to that many bits. piece, over the input's
 * columns: its open places are replaced where an enclosure decides them strictly, or identity does a window;
 * no kink is ever found to be touched. ties grow by the windows that were decided by identity. Values are
 * dropped behind their last use, and nothing is computed on which no open place depends. margin: NULL, or takes in the
 * distances of places so decided. */
clarke_status clarke_forward_refine(int8_t **piece, size_t **ties, clarke_margin **margin, const clarke_constants *constants,
                                    const clarke_matrix *input, const clarke_tensor *x, size_t bits,
                                    clarke_error *err);

/* One column of a pass, as a pass of its own. */
clarke_status clarke_forward_column(clarke_forward *f, const clarke_forward *all, size_t column,
                                    clarke_error *err);

/* --- pieces of the pass that its derivatives share --- */

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

/* NORMALIZE of x, over all samples when it couples them. */
clarke_status clarke_normalize_apply(clarke_matrix *y, const clarke_step *s, const clarke_matrix *x,
                                     long precision, clarke_error *err);
/* Its derivative in a pass times g, which is the tangent of x or, the derivative being symmetric, the
 * gradient of y. */
clarke_status clarke_normalize_derivative(clarke_matrix *d, const clarke_step *s,
                                          const clarke_forward *f, const clarke_matrix *g,
                                          clarke_error *err);

/* The same divided by each group's root, r > 0: exact, of an exact x. */
clarke_status clarke_normalize_up_to_root(clarke_matrix *d, const clarke_step *s, const clarke_matrix *x,
                                          const clarke_matrix *g, clarke_error *err);

/* The distance of a decided place of a step whose argument has been computed, into f->margin if there is one. */
void clarke_forward_measure(clarke_forward *f, size_t step, size_t feature, size_t column);

/* Fills piece and ties of a MAX step, whose argument has been computed. */
clarke_status clarke_window_decide(clarke_forward *f, size_t step, clarke_error *err);
/* The places in the window of the largest entries of (feature, column): tied[0..]; how many. */
size_t clarke_window_tied(size_t *tied, const clarke_forward *f, size_t step, size_t feature,
                          size_t column);
/* Of these the first of each identity: the window's options, a, b, ... Its identities are known. */
size_t clarke_window_options(size_t *option, const clarke_forward *f, size_t step, size_t feature,
                             size_t column);
/* The option that the last tied entry belongs to. */
size_t clarke_window_last_option(const clarke_forward *f, size_t step, size_t feature,
                                 size_t column);

/* PRelu's slope at every feature, as a column. */
clarke_status clarke_slope_column(clarke_matrix *s, const clarke_constants *c,
                                  const clarke_step *step, clarke_error *err);

#endif
