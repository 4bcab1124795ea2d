#include "trace/tensorcore/mma_number.h"
#include "base/verify.h"

const clarke_mma_format clarke_mma_formats[CLARKE_MMA_FORMATS] = {
  [CLARKE_MMA_FP16] = {"fp16", 10, -14, 15, UINT32_C(0x477fe000)},
  [CLARKE_MMA_BF16] = {"bf16", 7, -126, 127, UINT32_C(0x7f7f0000)},
  [CLARKE_MMA_TF32] = {"tf32", 10, -126, 127, UINT32_C(0x7f7fe000)},
  [CLARKE_MMA_E4M3] = {"E4M3", 3, -6, 8, UINT32_C(0x43e00000)},
  [CLARKE_MMA_E5M2] = {"E5M2", 2, -14, 15, UINT32_C(0x47600000)},
  [CLARKE_MMA_FP32] = {"fp32", 23, -126, 127, UINT32_C(0x7f7fffff)},
};

/* The place of the leading one of a magnitude above 0. */
static int
leading(uint64_t magnitude)
{
  return 63 - __builtin_clzll(magnitude);
}

bool
clarke_mma_decode(clarke_mma_number *x, const clarke_mma_format *f, uint32_t bits)
{
  const uint32_t magnitude = bits & ~CLARKE_MMA_SIGN;
  uint32_t significand = magnitude & 0x7fffff;
  int exponent = (int)(magnitude >> 23) - 127, surplus;

  x->negative = bits != magnitude;
  x->exponent = f->least;
  x->significand = 0;
  if (magnitude > f->largest)
    return false;
  if (magnitude == 0)
    return true;
  if (exponent == -127)
    exponent = -126;
  else
    significand |= UINT32_C(1) << 23;
  exponent += leading(significand) - 23;
  significand <<= 23 - leading(significand);

  x->exponent = exponent > f->least ? exponent : f->least;
  surplus = 23 - f->fraction + x->exponent - exponent; /* places below the format's last */
  if (surplus > 23 || (significand & ((UINT32_C(1) << surplus) - 1)) != 0)
    return false;
  x->significand = significand >> surplus;
  return true;
}

/* m / 2^n. */
static uint64_t
shift_right(uint64_t m, int n, clarke_mma_rounding rounding)
{
  uint64_t kept, lost, half;

  if (n <= 0)
    return m << -n;
  if (n > 63)
    return 0; /* m < 2^62 is below a half */
  kept = m >> n;
  half = UINT64_C(1) << (n - 1);
  lost = m - (kept << n);
  if (rounding == CLARKE_MMA_TO_NEAREST && (lost > half || (lost == half && (kept & 1) != 0)))
    kept++;
  return kept;
}

/* significand 2^exponent, which is a float32. */
static uint32_t
encode(uint64_t significand, int exponent)
{
  int place = leading(significand), least = -149;
  int last = place + exponent - 23 > least ? place + exponent - 23 : least; /* the weight of the float32's last place */

  significand = last >= exponent ? significand >> (last - exponent) : significand << (exponent - last);
  if (significand < UINT64_C(1) << 23)
    return (uint32_t)significand;
  return (uint32_t)(last + 150) << 23 | ((uint32_t)significand & 0x7fffff);
}

uint32_t
clarke_mma_round(bool negative, uint64_t magnitude, int exponent, const clarke_mma_format *f, int fraction,
                 clarke_mma_rounding rounding)
{
  const uint32_t sign = negative ? CLARKE_MMA_SIGN : 0;
  int top, last;
  uint64_t kept;

  CLARKE_ASSERT(magnitude < UINT64_C(1) << 62 && fraction <= f->fraction);
  if (magnitude == 0)
    return sign;
  top = leading(magnitude) + exponent;
  if (top > f->most)
    return sign | CLARKE_MMA_INFINITY;
  last = (top > f->least ? top : f->least) - fraction;
  kept = shift_right(magnitude, last - exponent, rounding);
  if (kept == 0)
    return sign;
  if (leading(kept) + last > f->most)
    return sign | CLARKE_MMA_INFINITY;
  return sign | encode(kept, last);
}

/* What decides when one of the two is infinite. */
static uint32_t
add_infinite(uint32_t x, uint32_t y)
{
  bool infinite = (x & ~CLARKE_MMA_SIGN) == CLARKE_MMA_INFINITY, both = infinite && (y & ~CLARKE_MMA_SIGN) == CLARKE_MMA_INFINITY;

  if (both && x != y)
    return CLARKE_MMA_NAN;
  return infinite ? x : y;
}

static int64_t
signed_of(const clarke_mma_number *x, int shift)
{
  int64_t magnitude = (int64_t)x->significand << shift;

  return x->negative ? -magnitude : magnitude;
}

uint32_t
clarke_mma_add(uint32_t x, uint32_t y, const clarke_mma_format *f)
{
  clarke_mma_number large, small;
  int64_t sum;

  if (!clarke_mma_decode(&large, f, x) || !clarke_mma_decode(&small, f, y))
    return add_infinite(x, y);
  if (large.exponent < small.exponent) {
    const clarke_mma_number was = large;

    large = small;
    small = was;
    x = y;
  }
  if (large.exponent - small.exponent > f->fraction + 3) /* below a quarter of the last place, on either side */
    return x;
  sum = signed_of(&large, large.exponent - small.exponent) + signed_of(&small, 0);
  if (sum == 0)
    return large.negative && small.negative ? CLARKE_MMA_SIGN : 0;
  return clarke_mma_round(sum < 0, (uint64_t)(sum < 0 ? -sum : sum), small.exponent - f->fraction, f, f->fraction,
                          CLARKE_MMA_TO_NEAREST);
}

uint32_t
clarke_mma_convert(uint32_t bits, const clarke_mma_format *f)
{
  clarke_mma_number x;

  CLARKE_ASSERT(clarke_mma_decode(&x, &clarke_mma_formats[CLARKE_MMA_FP32], bits));
  return clarke_mma_round(x.negative, x.significand, x.exponent - 23, f, f->fraction, CLARKE_MMA_TO_NEAREST);
}
