/* Numbers of tensor cores, as records hold them: the bits of a float32, whatever their format. All in integers. */
#ifndef CLARKE_TRACE_MMA_NUMBER_H
#define CLARKE_TRACE_MMA_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  const char *name;  /* as in names of files */
  int fraction;      /* bits of it */
  int least, most;   /* exponents of normal numbers */
  uint32_t largest;  /* the largest number, as the bits of a float32 */
} clarke_mma_format;

/* The formats of factors, then of results. */
enum {
  CLARKE_MMA_FP16, CLARKE_MMA_BF16, CLARKE_MMA_TF32, CLARKE_MMA_E4M3, CLARKE_MMA_E5M2,
  CLARKE_MMA_INPUTS,
  CLARKE_MMA_FP32 = CLARKE_MMA_INPUTS,
  CLARKE_MMA_FORMATS
};

extern const clarke_mma_format clarke_mma_formats[CLARKE_MMA_FORMATS];

/* significand 2^(exponent - fraction) in a format. The exponent is that of the leading place: of zero and of a subnormal number
 * the format's least. */
typedef struct {
  bool negative;
  int exponent;
  uint32_t significand;
} clarke_mma_number;

#define CLARKE_MMA_INFINITY UINT32_C(0x7f800000)
#define CLARKE_MMA_NAN UINT32_C(0x7fffffff)
#define CLARKE_MMA_SIGN UINT32_C(0x80000000)

/* False: the float32 of these bits is infinite, NaN, or no number of the format. */
bool clarke_mma_decode(clarke_mma_number *x, const clarke_mma_format *f, uint32_t bits);

typedef enum { CLARKE_MMA_TOWARD_ZERO, CLARKE_MMA_TO_NEAREST } clarke_mma_rounding; /* nearest: ties to even */

/* The bits of a float32: magnitude 2^exponent, with a sign, rounded to a format whose fraction may be shortened to the given
 * number of bits. Beyond the range it is infinite, whatever the rounding. Zero keeps the sign. magnitude < 2^62. */
uint32_t clarke_mma_round(bool negative, uint64_t magnitude, int exponent, const clarke_mma_format *f, int fraction,
                          clarke_mma_rounding rounding);

/* The sum of two numbers of a format, not NaN, as IEEE 754 has it, to nearest. */
uint32_t clarke_mma_add(uint32_t x, uint32_t y, const clarke_mma_format *f);

/* A finite float32, rounded to the nearest number of the format. */
uint32_t clarke_mma_convert(uint32_t bits, const clarke_mma_format *f);

#endif
