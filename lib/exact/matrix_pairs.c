/* Entries of matrices as pairs of doubles, and what these are off by. */
#include "exact/matrix_pairs.h"

#include "exact/ball.h"
#include "exact/matrix_inside.h"
#include "exact/pair.h"
#include "exact/upward.h"

/* Words whose entries are taken by their bits; precision of the balls of others. */
#define FEW_LIMBS 8
#define PRECISION 192
/* Scales of such words: no power of two underflows or overflows on the way. */
#define FAR 500

/* 2^e for a normal number. */
static inline double
power_of(long e)
{
  const uint64_t bits = (uint64_t)(e + 1023) << 52;
  double power;

  memcpy(&power, &bits, sizeof power);
  return power;
}

/* The words' highest 128 bits from the highest one that is set, of a number that is not 0: the rest is below them. *exp grows by their place. */
static inline void
leading_bits(uint64_t *first, uint64_t *second, long *exp, const uint64_t *size, size_t limbs)
{
  size_t top = limbs - 1;
  unsigned shift;
  uint64_t below, last;

  while (size[top] == 0)
    top--;
  below = top > 0 ? size[top - 1] : 0;
  last = top > 1 ? size[top - 2] : 0;
  shift = (unsigned)__builtin_clzll(size[top]);
  *first = shift == 0 ? size[top] : size[top] << shift | below >> (64 - shift);
  *second = shift == 0 ? below : below << shift | last >> (64 - shift);
  *exp += 64 * (long)top - (long)shift;
}

/* |w|, whose words these are, without a sign. */
static inline bool
magnitude(uint64_t *size, const uint64_t *word, size_t limbs)
{
  const uint64_t fill = clarke_word_fill(word, limbs);
  uint64_t carry = fill & 1;
  bool any = false;

  for (size_t k = 0; k < limbs; k++) {
    size[k] = (word[k] ^ fill) + carry;
    carry = carry != 0 && size[k] == 0;
    any = any || size[k] != 0;
  }
  return any;
}

/* word 2^exp. Its leading 128 bits are f + s 2^-64 with f >= 2^63. The sum of f's halves is exact in two doubles, the second at most 2^10; what
 * is added to that, s 2^-64, is rounded twice, each time by less than 2^-53 2^11; and less than 2^-64 is left out. That is less than 2^-104 of f. */
static inline clarke_pair
pair_of_words(double *off, const uint64_t *word, size_t limbs, long exp)
{
  uint64_t size[FEW_LIMBS], first, second;
  clarke_pair x;
  double power;

  *off = 0;
  if (!magnitude(size, word, limbs))
    return (clarke_pair){0, 0};
  leading_bits(&first, &second, &exp, size, limbs);
  x = clarke_two_sum_fast((double)(first >> 32) * 0x1p32, (double)(first & UINT32_MAX));
  x = clarke_two_sum_fast(x.high, (x.low + (double)(second >> 32) * 0x1p-32) + (double)(second & UINT32_MAX) * 0x1p-64);
  power = power_of(exp) * (clarke_word_negative(word, limbs) ? -1 : 1);
  x = (clarke_pair){x.high * power, x.low * power};
  *off = CLARKE_PAIR_UNIT / 2 * fabs(x.high);
  return x;
}

/* Whatever its scale and its denominator are. */
static clarke_pair
pair_by_ball(double *off, const clarke_matrix *m, size_t e)
{
  arb_t ball;
  clarke_pair x;

  arb_init(ball);
  clarke_matrix_get_ball(ball, m, e / m->cols, e % m->cols, PRECISION);
  x = clarke_pair_of_ball(off, ball);
  arb_clear(ball);
  return x;
}

void
clarke_matrix_pairs(double *high, double *low, double *off, const clarke_matrix *m)
{
  const bool plain = m->limbs <= FEW_LIMBS && labs(m->exp) <= FAR && mpz_cmp_ui(m->den, 1) == 0;

  for (size_t e = 0; e < m->rows * m->cols; e++) {
    const clarke_pair x = plain ? pair_of_words(&off[e], clarke_entry(m, e), m->limbs, m->exp) : pair_by_ball(&off[e], m, e);

    high[e] = x.high;
    low[e] = x.low;
    if (plain && m->radius != NULL)
      off[e] = clarke_up_add(off[e], m->radius[e]);
  }
}
