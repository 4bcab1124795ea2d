#include "number.h"

#include "narrow.h"

#include <stddef.h>
#include <string.h>

const number_format number_formats[] = {
  {"fp16", 5, 10, 16, -14, 15},
  {"bf16", 8, 7, 16, -126, 127},
  {"tf32", 8, 10, 32, -126, 127},
  {"E4M3", 4, 3, 8, -6, 8},
  {"E5M2", 5, 2, 8, -14, 15},
  {NULL, 0, 0, 0, 0, 0},
};

const number_format *
number_format_named(const char *name)
{
  for (const number_format *f = number_formats; f->name != NULL; f++)
    if (strcmp(f->name, name) == 0)
      return f;
  return NULL;
}

/* Where the lowest bit of the fraction lies in the register. */
static int
lowest(const number_format *f)
{
  return f->width == 32 ? 32 - 1 - f->exponent - f->fraction : 0;
}

uint32_t
number_make(const number_format *f, int negative, int exponent, uint32_t fraction)
{
  const uint32_t one = UINT32_C(1) << f->fraction;
  int below = f->least - exponent;
  uint32_t magnitude;

  fraction &= one - 1;
  if (exponent > f->most)
    exponent = f->most;
  if (below > 0)
    magnitude = below > f->fraction ? 0 : (one | fraction) >> below;
  else
    magnitude = (uint32_t)(exponent - f->least + 1) << f->fraction | fraction;
  if (strcmp(f->name, "E4M3") == 0 && magnitude == 0x7f)
    magnitude = 0x7e; /* its one NaN */
  return ((uint32_t)(negative != 0) << (f->exponent + f->fraction) | magnitude) << lowest(f);
}

uint32_t
number_to_float32(const number_format *f, uint32_t bits)
{
  uint32_t raw = bits >> lowest(f), one = UINT32_C(1) << f->fraction;
  uint32_t fraction = raw & (one - 1), field = raw >> f->fraction & ((UINT32_C(1) << f->exponent) - 1);
  uint32_t sign = (raw >> (f->exponent + f->fraction) & 1) << 31;
  int e = (int)field + f->least - 1;

  if (f->exponent == 8) /* the exponents of a float32 */
    return sign | field << 23 | fraction << (23 - f->fraction);
  if (field == 0) {
    if (fraction == 0)
      return sign;
    for (e = f->least; fraction < one; e--)
      fraction <<= 1;
    fraction &= one - 1;
  }
  return sign | (uint32_t)(e + 127) << 23 | fraction << (23 - f->fraction);
}

uint16_t
number_float16_of(uint32_t float32)
{
  return narrow_float16(float32);
}

uint32_t
number_of_float16(uint16_t bits)
{
  return widen_float16(bits);
}
