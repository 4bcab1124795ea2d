/* What the files of the matrix share: words of two's complement integers, and temporaries.
 * Private to lib/exact. */
#ifndef CLARKE_EXACT_MATRIX_INSIDE_H
#define CLARKE_EXACT_MATRIX_INSIDE_H

#include "exact/matrix.h"

_Static_assert(GMP_LIMB_BITS == 64 && GMP_NAIL_BITS == 0, "GMP limbs are our words");
_Static_assert(sizeof(mp_limb_t) == sizeof(uint64_t), "GMP limbs are our words");

__extension__ typedef __int128 clarke_int128;
__extension__ typedef unsigned __int128 clarke_uint128;

/* Scales stay within this, so that no exponent overflows and no rational gets larger than 2 MB. */
#define CLARKE_MAX_EXP (1L << 24)

/* An upper bound mant * 2^exp of a matrix's scale 2^exp / den. */
typedef struct {
  double mant;
  long exp;
} clarke_scale_bound;

/* The words of an entry, the lowest first. */
static inline uint64_t *
clarke_entry(const clarke_matrix *m, size_t index)
{
  return m->word + index * m->limbs;
}

/* Is it below 0, in two's complement? */
static inline bool
clarke_word_negative(const uint64_t *word, size_t limbs)
{
  return word[limbs - 1] >> 63 != 0;
}

/* All ones for a negative number, else 0: the words above its own. */
static inline uint64_t
clarke_word_fill(const uint64_t *word, size_t limbs)
{
  return -(word[limbs - 1] >> 63);
}

/* Is it 0? */
static inline bool
clarke_word_zero(const uint64_t *word, size_t limbs)
{
  for (size_t k = 0; k < limbs; k++)
    if (word[k] != 0)
      return false;
  return true;
}

/* Its lowest two words, with their sign; it must fit. */
static inline clarke_int128
clarke_word_int128(const uint64_t *word, size_t limbs)
{
  const uint64_t high = limbs == 1 ? clarke_word_fill(word, 1) : word[1];

  return (clarke_int128)((clarke_uint128)high << 64 | word[0]);
}

/* to[0..to_limbs) = from * 2^shift, sign extended, modulo 2^(64 to_limbs). No overlap. */
static inline void
clarke_word_shift(uint64_t *to, size_t to_limbs, const uint64_t *from, size_t from_limbs,
                  size_t shift)
{
  const size_t skip = shift / 64;
  const unsigned bits = shift % 64;
  const uint64_t fill = clarke_word_fill(from, from_limbs);
  uint64_t below = 0;

  for (size_t k = 0; k < to_limbs; k++) {
    uint64_t here;

    if (k < skip) {
      to[k] = 0;
      continue;
    }
    here = k - skip < from_limbs ? from[k - skip] : fill;
    to[k] = bits == 0 ? here : here << bits | below >> (64 - bits);
    below = here;
  }
}

/* Words for a signed integer whose magnitude is below 2^bits. */
static inline size_t
clarke_limbs_for(size_t bits)
{
  return bits / 64 + 1;
}

/* ceil(log2 n), n >= 1 */
static inline size_t
clarke_log2_up(size_t n)
{
  size_t bits = 0;

  while (bits < 63 && (size_t)1 << bits < n)
    bits++;
  return bits;
}

/* Have both as many rows and as many columns? */
static inline bool
clarke_same_shape(const clarke_matrix *a, const clarke_matrix *b)
{
  return a->rows == b->rows && a->cols == b->cols;
}

/* resize to the words for `bits`, or CLARKE_ENOMEM when they are too many; then the scale. */
clarke_status clarke_matrix_shape_bits(clarke_matrix *m, size_t rows, size_t cols, size_t bits,
                                       clarke_error *err);
clarke_status clarke_matrix_set_scale(clarke_matrix *m, long exp, const mpz_t den,
                                      clarke_error *err);

/* At least 2^exp / den, by which all entries are multiplied. */
clarke_scale_bound clarke_matrix_scale_bound(const clarke_matrix *m);
/* At least |midpoint| of the entry with this index. */
double clarke_matrix_magnitude(const clarke_matrix *m, clarke_scale_bound bound, size_t index);

/* An integer as GMP's, and the other way (limbs words, which must hold it). */
void clarke_word_get(mpz_t value, const uint64_t *word, size_t limbs);
void clarke_word_set(uint64_t *word, size_t limbs, const mpz_t value);

#endif
