/* Layer-sized matrices, exact or enclosed.
 *
 * A clarke_matrix is rows x cols integers under one scale: entry (i,j) stands for
 *
 *     word(i,j) * 2^exp / den,     den > 0 odd,
 *
 * where word(i,j) is a two's complement integer of `limbs` 64-bit words, least significant first,
 * at word[(i * cols + j) * limbs]. With radius == NULL the matrix is exact. Otherwise radius holds
 * rows * cols doubles, each an upper bound of |true value - midpoint|, and all operations keep the
 * true value enclosed. There is no other invariant: limbs may be larger than needed.
 *
 * Products go through dgemm on 21-bit slices, whose integer results are exact whatever the BLAS,
 * its order of summation or FMA (docs/exact.md); everything else is a loop over words. Outputs come first and may
 * alias inputs unless said. CLARKE_ENOMEM when an entry would need more than
 * CLARKE_MAX_LIMBS words. */
#ifndef CLARKE_EXACT_MATRIX_H
#define CLARKE_EXACT_MATRIX_H

#include "base/status.h"

#include <gmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLARKE_MAX_LIMBS 1024

typedef struct {
  size_t rows, cols;
  size_t limbs; /* >= 1 */
  uint64_t *word;
  long exp;
  mpz_t den;
  double *radius;
} clarke_matrix;

void clarke_matrix_init(clarke_matrix *m); /* 0 x 0 */
void clarke_matrix_clear(clarke_matrix *m);
/* n matrices, all 0 x 0; NULL when out of memory. Freed with what they hold (m may be NULL). */
clarke_matrix *clarke_matrices_new(size_t n);
void clarke_matrices_free(clarke_matrix *m, size_t n);
/* What is said above: limbs and scale in range, den > 0 odd, no radius below 0. */
bool clarke_matrix_is_valid(const clarke_matrix *m);
void clarke_matrix_swap(clarke_matrix *a, clarke_matrix *b);
clarke_status clarke_matrix_copy(clarke_matrix *c, const clarke_matrix *a, clarke_error *err);

/* rows x cols zeros with that many words per entry, exact, scale 1. */
clarke_status clarke_matrix_resize(clarke_matrix *m, size_t rows, size_t cols, size_t limbs,
                                   clarke_error *err);

/* Exact values of finite doubles (rows * cols of them, row-major), or of rationals. */
clarke_status clarke_matrix_set_doubles(clarke_matrix *m, size_t rows, size_t cols,
                                        const double *values, clarke_error *err);
clarke_status clarke_matrix_set_rationals(clarke_matrix *m, size_t rows, size_t cols,
                                          mpq_t *values, clarke_error *err);

/* The integer of entry (i,j), without the scale; storing grows `limbs` of the whole matrix when
 * the value does not fit. */
void clarke_matrix_load(mpz_t value, const clarke_matrix *m, size_t i, size_t j);
clarke_status clarke_matrix_store(clarke_matrix *m, size_t i, size_t j, const mpz_t value,
                                  clarke_error *err);

/* The midpoint of entry (i,j) as a rational; nearest double of it. */
void clarke_matrix_get(mpq_t value, const clarke_matrix *m, size_t i, size_t j);
double clarke_matrix_get_double(const clarke_matrix *m, size_t i, size_t j);
/* radius (0 when exact) */
double clarke_matrix_radius(const clarke_matrix *m, size_t i, size_t j);

/* Is the entry, are all, exactly 0: the midpoint, and the radius? */
bool clarke_matrix_entry_is_zero(const clarke_matrix *m, size_t i, size_t j);
bool clarke_matrix_is_zero(const clarke_matrix *m);

/* The largest number of bits in |word|; 0 when all are zero. */
size_t clarke_matrix_bits(const clarke_matrix *m);
/* Fewest words per entry, and powers of two common to all entries moved into exp. */
clarke_status clarke_matrix_trim(clarke_matrix *m, clarke_error *err);
/* An enclosure's midpoints to at most that many bits, radii growing by what that takes; entries that are
 * 0 or lose nothing keep theirs. A denominator of more than a word becomes 1. An exact matrix is left alone. */
clarke_status clarke_matrix_round(clarke_matrix *m, size_t bits, clarke_error *err);

/* An exact matrix becomes an enclosure with radii 0. */
clarke_status clarke_matrix_need_radius(clarke_matrix *m, clarke_error *err);

/* The sign of entry (i,j) - c: -1, 0 (only when exact), 1, or 2 when the radius leaves it open. */
int clarke_matrix_compare(const clarke_matrix *m, size_t i, size_t j, const mpq_t c);
/* The same for all entries, much faster; sign has rows * cols places. */
void clarke_matrix_signs(signed char *sign, const clarke_matrix *m, const mpq_t c);

/* By BLAS, whose number of threads is the process's own affair: the result is exact, and the same.
 *
 * C = A B; C = A^T B; C = A B^T. C may not alias. */
clarke_status clarke_matrix_mul(clarke_matrix *c, const clarke_matrix *a, const clarke_matrix *b,
                                clarke_error *err);
clarke_status clarke_matrix_mul_tn(clarke_matrix *c, const clarke_matrix *a,
                                   const clarke_matrix *b, clarke_error *err);
clarke_status clarke_matrix_mul_nt(clarke_matrix *c, const clarke_matrix *a,
                                   const clarke_matrix *b, clarke_error *err);


/* Entrywise, same shape; or b with one column (cols == 1), which stands for that column repeated. */
clarke_status clarke_matrix_add(clarke_matrix *c, const clarke_matrix *a, const clarke_matrix *b,
                                clarke_error *err);
clarke_status clarke_matrix_sub(clarke_matrix *c, const clarke_matrix *a, const clarke_matrix *b,
                                clarke_error *err);
clarke_status clarke_matrix_hadamard(clarke_matrix *c, const clarke_matrix *a,
                                     const clarke_matrix *b, clarke_error *err);
/* C = A q. */
clarke_status clarke_matrix_scale(clarke_matrix *c, const clarke_matrix *a, const mpq_t q,
                                  clarke_error *err);

/* c(i,:) = a(map[i],:) for i < n; c(map[i],:) += a(i,:), c having n_out rows, zero where unmapped;
 * c(:,j) = a(:,map[j]); c = a 1 (one column). C may not alias. An index of SIZE_MAX stands for a
 * row or column of zeros (padding) when gathering, and for nowhere when scattering. */
clarke_status clarke_matrix_gather_rows(clarke_matrix *c, const clarke_matrix *a,
                                        const size_t *map, size_t n, clarke_error *err);
clarke_status clarke_matrix_scatter_rows(clarke_matrix *c, const clarke_matrix *a,
                                         const size_t *map, size_t n_out, clarke_error *err);
clarke_status clarke_matrix_gather_cols(clarke_matrix *c, const clarke_matrix *a,
                                        const size_t *map, size_t n, clarke_error *err);
clarke_status clarke_matrix_row_sums(clarke_matrix *c, const clarke_matrix *a, clarke_error *err);

/* c(i,k) = a(map[i * cols + k], j), of rows x cols entries: one column, laid out. And the other way: c(map[k], j) += entry k of a, where
 * c has a's scale and words enough for the sum. The same index stands for padding and for nowhere. */
clarke_status clarke_matrix_lay_out(clarke_matrix *c, const clarke_matrix *a, size_t j, const size_t *map, size_t rows, size_t cols,
                                    clarke_error *err);
clarke_status clarke_matrix_put_back(clarke_matrix *c, const clarke_matrix *a, size_t j, const size_t *map, clarke_error *err);

/* c = rows from .. from + n of a; c = the n matrices a[0], a[1], ... one below the other, which must
 * have one width and one scale. C may not alias. */
clarke_status clarke_matrix_rows(clarke_matrix *c, const clarke_matrix *a, size_t from, size_t n,
                                 clarke_error *err);
clarke_status clarke_matrix_stack(clarke_matrix *c, const clarke_matrix *a, size_t n,
                                  clarke_error *err);

/* The same with a row of its own for every entry: c(i,j) = a(map[i * cols + j], j) for i < n, and
 * c(map[i * cols + j], j) += a(i,j). */
clarke_status clarke_matrix_gather_entries(clarke_matrix *c, const clarke_matrix *a,
                                           const size_t *map, size_t n, clarke_error *err);
clarke_status clarke_matrix_scatter_entries(clarke_matrix *c, const clarke_matrix *a,
                                            const size_t *map, size_t n_out, clarke_error *err);

/* The sign of entry (i,j) - entry (k,j): as clarke_matrix_compare. */
int clarke_matrix_compare_entries(const clarke_matrix *m, size_t i, size_t k, size_t j);

/* The residues of the integers word(i,j) modulo p (the scale left out), rows * cols of them,
 * row-major. 2 <= p < 2^31. */
void clarke_matrix_residues(uint64_t *residue, const clarke_matrix *m, uint64_t p);

#endif
