#include "pack.h"

#include <string.h>

/* The word of entries k = n e .. n e + e - 1 of a row, e of them to a word; the lowest bits are the first entry's. */
static uint32_t
word_of(const uint32_t *entry, const number_format *f, int n)
{
  int e = 32 / f->width;
  uint32_t word = 0;

  for (int j = 0; j < e; j++)
    word |= entry[n * e + j] << j * f->width;
  return word;
}

/* C and D: row s < 8 is with lanes 4 s .. 4 s + 3, columns 2 t and 2 t + 1 with the t-th of them, in its first two numbers. */
static void
pack_c(uint32_t registers[32 * 4], const product p[PACK_PRODUCTS], int half)
{
  for (int s = 0; s < PACK_PRODUCTS; s++) {
    uint32_t *lane = &registers[4 * (4 * s + s / 2)];

    if (half)
      lane[0] |= (uint32_t)number_float16_of(p[s].c) << 16 * (s % 2);
    else
      lane[s % 2] = p[s].c;
  }
}

void
pack_results(uint32_t d[PACK_PRODUCTS], const uint32_t registers[32 * 4], int half)
{
  for (int s = 0; s < PACK_PRODUCTS; s++) {
    const uint32_t *lane = &registers[4 * (4 * s + s / 2)];

    d[s] = half ? number_of_float16((uint16_t)(lane[0] >> 16 * (s % 2))) : lane[s % 2];
  }
}

/* Lane 4 s + t has, of row s of A, the t-th word of each four: the first four words in register 0, the next in register 2
 * (1 and 3 are rows 8 to 15). Of column s of B, the same in registers 0 and 1. */
void
mma_pack(mma_input *to, const product p[PACK_PRODUCTS], const number_format *f, int k, int half)
{
  int fours = k * f->width / 32 / 4;

  memset(to, 0, sizeof *to);
  for (int s = 0; s < PACK_PRODUCTS; s++)
    for (int t = 0; t < 4; t++)
      for (int n = 0; n < fours; n++) {
        to->a[4 * (4 * s + t) + 2 * n] = word_of(p[s].a, f, 4 * n + t);
        to->b[2 * (4 * s + t) + n] = word_of(p[s].b, f, 4 * n + t);
      }
  pack_c(to->c, p, half);
}

/* Core matrices are eight rows of 16 bytes, one after another. Rows 0 to 7 are the first two: words 0 to 3 of each row, then
 * words 4 to 7. */
void
wgmma_pack(wgmma_input *to, const product p[PACK_PRODUCTS], const number_format *f, int half)
{
  memset(to, 0, sizeof *to);
  for (int s = 0; s < PACK_PRODUCTS; s++)
    for (int n = 0; n < 8; n++) {
      to->a[32 * (n / 4) + 4 * s + n % 4] = word_of(p[s].a, f, n);
      to->b[32 * (n / 4) + 4 * s + n % 4] = word_of(p[s].b, f, n);
    }
  pack_c(to->c, p, half);
}
