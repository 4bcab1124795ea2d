/* The formats of tensor cores' inputs: a number's own bits, and the same number as the bits of a float32. */
#ifndef CLARKE_CUDA_NUMBER_H
#define CLARKE_CUDA_NUMBER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  const char *name;         /* as in names of files: "fp16" */
  int exponent, fraction;   /* bits of each; a sign's bit is above them */
  int width;                /* bits of a register that it takes: a tf32 lies in the upper 19 of 32 */
  int least, most;          /* exponents of normal numbers */
} number_format;

/* fp16, bf16, tf32, E4M3 (which has no infinity) and E5M2, then an entry without name. */
extern const number_format number_formats[];

/* NULL when there is none of that name. */
const number_format *number_format_named(const char *name);

/* The bits of +-fraction/2^f 2^e, with the leading one of a normal number implied. An exponent below the least makes a subnormal
 * number of the fraction's leading bits; one beyond the most is the most. Never infinite or NaN. */
uint32_t number_make(const number_format *f, int negative, int exponent, uint32_t fraction);

/* The bits of the float32 that equals it. Every number of these formats is one. */
uint32_t number_to_float32(const number_format *f, uint32_t bits);

/* A finite float32's bits, rounded to the nearest float16, ties to even; beyond its range infinite. And back. */
uint16_t number_float16_of(uint32_t float32);
uint32_t number_of_float16(uint16_t bits);

#ifdef __cplusplus
}
#endif

#endif
