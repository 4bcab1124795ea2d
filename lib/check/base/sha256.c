/* SHA-256, as FIPS 180-4 defines it. */
#include "check/base/sha256.h"
#include "check/base/value.h"

#include <string.h>

/* The first 32 bits of the fractional parts of the roots of the first primes: square roots of
 * eight for h, cube roots of 64 for k. */
static void
constants(uint32_t h[8], uint32_t k[64])
{
  INTEGER(root);
  for (unsigned long n = 0, prime = 2; n < 64; prime++) {
    bool composite = false;
    for (unsigned long d = 2; d * d <= prime; d++)
      composite = composite || prime % d == 0;
    if (composite)
      continue;
    mpz_set_ui(&root, prime);
    mpz_mul_2exp(&root, &root, 96);
    mpz_root(&root, &root, 3);
    k[n] = (uint32_t)mpz_get_ui(&root);
    mpz_set_ui(&root, prime);
    mpz_mul_2exp(&root, &root, 64);
    mpz_sqrt(&root, &root);
    if (n < 8)
      h[n] = (uint32_t)mpz_get_ui(&root);
    n++;
  }
}

static uint32_t
rotate(uint32_t x, int n)
{
  return x >> n | x << (32 - n);
}

static void
block(uint32_t h[8], const uint32_t k[64], const unsigned char *m)
{
  uint32_t w[64], s[8];
  for (int t = 0; t < 16; t++)
    w[t] = (uint32_t)m[4 * t] << 24 | (uint32_t)m[4 * t + 1] << 16 | (uint32_t)m[4 * t + 2] << 8 | m[4 * t + 3];
  for (int t = 16; t < 64; t++) {
    uint32_t a = w[t - 15], b = w[t - 2];
    w[t] = (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10) + w[t - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[t - 16];
  }
  memcpy(s, h, sizeof s);
  for (int t = 0; t < 64; t++) {
    uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    uint32_t t1 = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) + choice + k[t] + w[t];
    uint32_t t2 = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) + majority;
    memmove(s + 1, s, 7 * sizeof *s);
    s[4] += t1;
    s[0] = t1 + t2;
  }
  for (int i = 0; i < 8; i++)
    h[i] += s[i];
}

void
sha256(bytes b, char hex[65])
{
  uint32_t h[8], k[64];
  unsigned char last[128] = {0};
  size_t left = b.size % 64, end = left < 56 ? 64 : 128;
  constants(h, k);
  for (size_t i = 0; i + 64 <= b.size; i += 64)
    block(h, k, b.data + i);
  if (left > 0)
    memcpy(last, b.data + b.size - left, left);
  last[left] = 0x80;
  for (size_t i = 0; i < 8; i++)
    last[end - 1 - i] = (unsigned char)((uint64_t)b.size * 8 >> 8 * i);
  for (size_t i = 0; i < end; i += 64)
    block(h, k, last + i);
  for (int i = 0; i < 8; i++)
    snprintf(hex + 8 * i, 9, "%08x", (unsigned)h[i]);
}
