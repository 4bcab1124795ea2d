/* Between float32 and the half precisions, in integers: bit for bit as hardware does it, to nearest, ties to even. For the host and
 * for kernels alike. A float32 is given by its bits. NaN stays NaN: its sign and leading bits, made quiet. */
#ifndef CLARKE_CUDA_NARROW_H
#define CLARKE_CUDA_NARROW_H

#include <stdint.h>

#ifdef __CUDACC__
#define NARROW static __host__ __device__ inline
#else
#define NARROW static inline
#endif

/* The nearest float16; beyond 65519 infinite. */
NARROW uint16_t
narrow_float16(uint32_t float32)
{
  uint32_t magnitude = float32 & 0x7fffffff, sign = float32 >> 16 & 0x8000, kept, lost, half;
  int e = (int)(magnitude >> 23) - 127, shift = e < -14 ? 13 - 14 - e : 13;

  if (magnitude > 0x7f800000)
    return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (e < -25)
    return (uint16_t)sign;
  kept = (magnitude & 0x7fffff) | 0x800000; /* a subnormal float32 is below -25 */
  half = UINT32_C(1) << (shift - 1);
  lost = kept & (2 * half - 1);
  kept >>= shift;
  if (lost > half || (lost == half && (kept & 1)))
    kept++;
  if (e >= -14)
    kept += (uint32_t)(e + 14) << 10; /* kept's leading one adds the other 1 to the exponent */
  return (uint16_t)(sign | (kept >= 0x7c00 ? 0x7c00 : kept));
}

/* The nearest bfloat16: the upper half of a float32. */
NARROW uint16_t
narrow_bfloat16(uint32_t float32)
{
  if ((float32 & 0x7fffffff) > 0x7f800000)
    return (uint16_t)(float32 >> 16 | 0x40);
  return (uint16_t)((float32 + 0x7fff + (float32 >> 16 & 1)) >> 16);
}

/* The float32 that equals a float16. */
NARROW uint32_t
widen_float16(uint16_t bits)
{
  uint32_t sign = (uint32_t)(bits & 0x8000) << 16, field = bits >> 10 & 31, fraction = bits & 0x3ff;
  int e = -14;

  if (field == 31)
    return sign | UINT32_C(0x7f800000) | fraction << 13;
  if (field > 0)
    return sign | (field + 112) << 23 | fraction << 13;
  if (fraction == 0)
    return sign;
  for (; fraction < 0x400; e--)
    fraction <<= 1;
  return sign | (uint32_t)(e + 127) << 23 | (fraction & 0x3ff) << 13;
}

NARROW uint32_t
widen_bfloat16(uint16_t bits)
{
  return (uint32_t)bits << 16;
}

#endif
