/* Integers cut into digits for an exact product: how wide, and the digits of a rectangle. */
#include "exact/matrix_slices.h"

#include <math.h>
#include <string.h>

/* Widths of digits. Every pair of slices may use the default; a digit and its bias fit in 32 bits. */
#define DEFAULT_WIDTH 21
#define MAX_WIDTH 30

/* --- widths ---------------------------------------------------------------------------------- */

/* With |w| < 2^bits and bits <= width n - 1, n balanced digits suffice, the last at most
 * 2^(width-1). */
static size_t
slices_for(size_t bits, size_t width)
{
  return bits / width + 1;
}

/* Products of digits, of at most 2^(u-1) in A, that a sum holds. */
static size_t
sum_limit(size_t u, size_t v)
{
  return (size_t)ldexp(clarke_digits_room((long)v, false), 1 - (int)u);
}

size_t
clarke_product_carry_limit(size_t u, size_t v, size_t pairs)
{
  return ((size_t)1 << (63 - u - v)) / pairs;
}

/* Nanoseconds, roughly, that an n x inner by inner x m product takes with digits of u and v bits;
 * only the choice of widths depends on it. HUGE_VAL when the widths do not serve. */
static double
cost(const clarke_matrix_product *p, size_t u, size_t v)
{
  const double n = (double)p->c->rows, m = (double)p->c->cols, inner = (double)p->k1;
  const size_t s = slices_for(p->pa.bits, u), t = slices_for(p->pb.bits, v);
  const double pairs = (double)s * (double)t;
  double weights, blocks;

  if (u + v > 53 || clarke_product_carry_limit(u, v, s < t ? s : t) < (p->k1 < 1024 ? p->k1 : 1024))
    return HUGE_VAL;
  weights = u == v ? (double)(s + t) : pairs;
  blocks = ceil(inner * (u == v ? pairs / weights : 1) / (double)sum_limit(u, v));
  return pairs * n * m * inner * 0.05 + weights * n * m * (1.5 + 0.8 * blocks)
         + ((double)s * n + (double)t * m) * inner + weights * (double)s * 5;
}

void
clarke_product_choose_widths(clarke_matrix_product *p, size_t inner)
{
  size_t u = DEFAULT_WIDTH, v = DEFAULT_WIDTH;
  double best;

  p->k1 = inner;
  best = cost(p, u, v);
  for (size_t i = CLARKE_SLICE_MIN_WIDTH; i <= MAX_WIDTH && p->c->rows * p->c->cols * inner > 4096; i++)
    for (size_t j = CLARKE_SLICE_MIN_WIDTH; j <= MAX_WIDTH; j++) {
      const double here = cost(p, i, j);

      if (here < best) {
        best = here;
        u = i;
        v = j;
      }
    }
  p->pa.m.width = (long)u;
  p->pb.m.width = (long)v;
  p->pa.m.planes = slices_for(p->pa.bits, u);
  p->pb.m.planes = slices_for(p->pb.bits, v);
  p->limit = sum_limit(u, v);
}

/* --- cutting --------------------------------------------------------------------------------- */

/* All cutters add 2^(width-1) (1 + 2^width + ... + 2^(width (n-1))), which makes w nonnegative; its
 * fields of `width` bits, the last one unmasked, are then the balanced digits plus 2^(width-1). */

static inline size_t
width_of(const clarke_panel *p)
{
  return (size_t)p->m.width;
}

static inline uint64_t
field_mask(const clarke_digit_matrix *m, size_t s)
{
  return s + 1 < m->planes ? ((uint64_t)1 << m->width) - 1 : UINT32_MAX;
}

/* Digits s of a row's numbers; 0 when all of them are. limbs, 1 or 2: where it is a constant, each has its own loop. */
static inline uint32_t
cut_slice(const clarke_panel *p, size_t s, clarke_uint128 bias, double *to, const uint64_t *word, size_t limbs)
{
  const int32_t half = (int32_t)1 << (p->m.width - 1);
  const uint64_t mask = field_mask(&p->m, s), low = (uint64_t)bias;
  const unsigned shift = (unsigned)(width_of(p) * s);
  uint32_t found = 0;

  for (size_t j = 0; j < p->cols; j++) {
    const uint64_t field =
      limbs == 1 ? (word[j] + low) >> shift
                 : (uint64_t)((((clarke_uint128)word[2 * j + 1] << 64 | word[2 * j]) + bias) >> shift);
    const int32_t digit = (int32_t)(field & mask) - half;

    found |= (uint32_t)digit;
    to[j] = (double)digit;
  }
  return found;
}

/* The digits of a row whose numbers fit in one or two words with the bias. */
static void
cut_short_row(const clarke_panel *p, double *to, const uint64_t *word, size_t limbs, uint64_t *any)
{
  clarke_uint128 bias = 0;

  for (size_t s = 0; s < p->m.planes; s++)
    bias = bias << p->m.width | (uint64_t)1 << (p->m.width - 1);
  for (size_t s = 0; s < p->m.planes; s++, to += p->rows * p->cols)
    any[s] |= limbs == 1 ? cut_slice(p, s, bias, to, word, 1) : cut_slice(p, s, bias, to, word, 2);
}

static void
make_bias(uint64_t *bias, size_t limbs, const clarke_panel *p)
{
  memset(bias, 0, limbs * sizeof *bias);
  for (size_t s = 0; s < p->m.planes; s++) {
    const size_t bit = width_of(p) * (s + 1) - 1;

    bias[bit / 64] |= (uint64_t)1 << bit % 64;
  }
}

static void
cut_row(const clarke_panel *p, double *to, const uint64_t *word, size_t limbs, uint64_t *any)
{
  /* One word more than the biased numbers need, so that every field can read the word above it. */
  const size_t room = (width_of(p) * p->m.planes + 1) / 64 + 2, stride = p->rows * p->cols;
  const int32_t half = (int32_t)1 << (p->m.width - 1);
  uint64_t bias[CLARKE_MAX_LIMBS + 3], w[CLARKE_MAX_LIMBS + 3];

  make_bias(bias, room, p);
  for (size_t j = 0; j < p->cols; j++) {
    clarke_word_shift(w, room, word + j * limbs, limbs, 0);
    mpn_add_n((mp_limb_t *)w, (mp_limb_t *)w, (mp_limb_t *)bias, (mp_size_t)room);
    for (size_t s = 0; s < p->m.planes; s++) {
      const size_t bit = width_of(p) * s, q = bit / 64;
      const unsigned r = bit % 64;
      const uint64_t field = r == 0 ? w[q] : w[q] >> r | w[q + 1] << (64 - r);
      const int32_t digit = (int32_t)(field & field_mask(&p->m, s)) - half;

      any[s] |= (uint32_t)digit;
      to[s * stride + j] = (double)digit;
    }
  }
}

void
clarke_panel_cut(clarke_panel *p, const clarke_matrix *m, size_t r0, size_t c0)
{
  const size_t span = width_of(p) * p->m.planes; /* the biased integers are at most 2^span */
  uint64_t any[CLARKE_MAX_SLICES] = { 0 };

  p->m.stride = p->cols;
  p->m.apart = (ptrdiff_t)(p->rows * p->cols);
  for (size_t i = 0; i < p->rows; i++) {
    const uint64_t *word = clarke_entry(m, (r0 + i) * m->cols + c0);
    double *to = p->m.digit + i * p->cols;

    if (m->limbs <= 2 && span < 64 * m->limbs)
      cut_short_row(p, to, word, m->limbs, any);
    else
      cut_row(p, to, word, m->limbs, any);
  }
  for (size_t s = 0; s < p->m.planes; s++)
    p->m.plane[s].used = any[s] != 0;
}
