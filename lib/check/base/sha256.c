/* SHA-256, as FIPS 180-4 defines it. */
#include "check/base/sha256.h"
#include "check/base/value.h"

#include <string.h>
#if defined(__x86_64__) && defined(__gnu_linux__)
#include <cpuid.h>
#include <immintrin.h>
#define INSTRUCTIONS 1
#else
#define INSTRUCTIONS 0
#endif

/* The first 32 bits of the fractional parts of the roots of the first primes: square roots of
 * eight for h, cube roots of 64 for k. */
void
sha256_constants(uint32_t h[8], uint32_t k[64])
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
sha256_blocks(uint32_t h[8], const uint32_t k[64], const unsigned char *m, size_t n)
{
  for (size_t i = 0; i < n; i++)
    block(h, k, m + 64 * i);
}

#if INSTRUCTIONS
bool
sha256_has_instructions(void)
{
  unsigned a, b, c, d;
  bool sse = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_SSE4_1) != 0 && (c & bit_SSSE3) != 0;
  return sse && __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & 1u << 29) != 0;
}

typedef __attribute__((aligned(1))) __m128i four_words;

/* Four words of the schedule at a time. The instructions have the state as a b e f and c d g h, from the highest word down. */
__attribute__((target("sha,sse4.1,ssse3"))) static void
block_by_instructions(__m128i *abef, __m128i *cdgh, const uint32_t k[64], const unsigned char *m)
{
  const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203); /* of a word's bytes */
  __m128i w[16], x = *abef, y = *cdgh;
  for (int t = 0; t < 16; t++) {
    if (t < 4)
      w[t] = _mm_shuffle_epi8(((const four_words *)m)[t], order);
    else
      w[t] = _mm_sha256msg2_epu32(
          _mm_add_epi32(_mm_sha256msg1_epu32(w[t - 4], w[t - 3]), _mm_alignr_epi8(w[t - 1], w[t - 2], 4)), w[t - 1]);
    __m128i more = _mm_add_epi32(w[t], ((const four_words *)k)[t]);
    y = _mm_sha256rnds2_epu32(y, x, more);
    x = _mm_sha256rnds2_epu32(x, y, _mm_shuffle_epi32(more, 0x0e));
  }
  *abef = _mm_add_epi32(*abef, x);
  *cdgh = _mm_add_epi32(*cdgh, y);
}

__attribute__((target("sha,sse4.1,ssse3"))) void
sha256_by_instructions(uint32_t h[8], const uint32_t k[64], const unsigned char *m, size_t n)
{
  __m128i abef = _mm_set_epi32((int)h[0], (int)h[1], (int)h[4], (int)h[5]);
  __m128i cdgh = _mm_set_epi32((int)h[2], (int)h[3], (int)h[6], (int)h[7]);
  for (size_t i = 0; i < n; i++)
    block_by_instructions(&abef, &cdgh, k, m + 64 * i);
  static const int first[] = {0, 1, 4, 5}, second[] = {2, 3, 6, 7};
  uint32_t words[8];
  memcpy(words, &abef, 16);
  memcpy(words + 4, &cdgh, 16);
  for (int i = 0; i < 4; i++) {
    h[first[i]] = words[3 - i];
    h[second[i]] = words[7 - i];
  }
}
#else
bool
sha256_has_instructions(void)
{
  return false;
}

void
sha256_by_instructions(uint32_t h[8], const uint32_t k[64], const unsigned char *m, size_t n)
{
  sha256_blocks(h, k, m, n);
}
#endif

void
sha256(bytes b, char hex[65])
{
  void (*const blocks)(uint32_t h[8], const uint32_t k[64], const unsigned char *m, size_t n) =
      sha256_has_instructions() ? sha256_by_instructions : sha256_blocks;
  uint32_t h[8], k[64];
  unsigned char last[128] = {0};
  size_t left = b.size % 64, end = left < 56 ? 64 : 128;
  sha256_constants(h, k);
  blocks(h, k, b.data, b.size / 64);
  if (left > 0)
    memcpy(last, b.data + b.size - left, left);
  last[left] = 0x80;
  for (size_t i = 0; i < 8; i++)
    last[end - 1 - i] = (unsigned char)((uint64_t)b.size * 8 >> 8 * i);
  blocks(h, k, last, end / 64);
  for (int i = 0; i < 8; i++)
    snprintf(hex + 8 * i, 9, "%08x", (unsigned)h[i]);
}
