#include "trace/tensorcore/mma_rule.h"

#include "base/verify.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define IN(format) (1u << CLARKE_MMA_##format)
#define IN_FP8 (IN(E4M3) | IN(E5M2))
#define K(k) (UINT64_C(1) << (k))
#define NO_LEAST INT_MIN

/* Only what records bear out: formats and numbers of products that none has are not here. FP8 by mma.sync is two instructions
 * for float16 factors and an addition: so nvcc compiles it for Hopper and Blackwell. Of the H100's wgmma for FP8 there are also
 * published records in which c took no part. */
static const clarke_mma_rule rules[] = {
  {CLARKE_VOLTA, IN(FP16), CLARKE_MMA_FP32, K(4), "mma.sync.", 23, NO_LEAST, 23, CLARKE_MMA_ONE_GROUP, CLARKE_MMA_C_FUSED},
  {CLARKE_VOLTA, IN(FP16), CLARKE_MMA_FP16, K(4), "mma.sync.", 23, NO_LEAST, 10, CLARKE_MMA_ONE_GROUP, CLARKE_MMA_C_FUSED},

  {CLARKE_AMPERE, IN(FP16) | IN(BF16), CLARKE_MMA_FP32, K(8), "mma.sync.", 24, NO_LEAST, 23, CLARKE_MMA_ONE_GROUP, CLARKE_MMA_C_FUSED},
  {CLARKE_AMPERE, IN(TF32), CLARKE_MMA_FP32, K(4), "mma.sync.", 24, NO_LEAST, 23, CLARKE_MMA_ONE_GROUP, CLARKE_MMA_C_FUSED},
  {CLARKE_AMPERE, IN(FP16), CLARKE_MMA_FP16, K(8), "mma.sync.", 24, NO_LEAST, 10, CLARKE_MMA_ONE_GROUP, CLARKE_MMA_C_FUSED},

  {CLARKE_ADA, IN(FP16) | IN(BF16), CLARKE_MMA_FP32, K(8), "mma.sync.", 24, NO_LEAST, 23, CLARKE_MMA_ONE_GROUP, CLARKE_MMA_C_FUSED},
  {CLARKE_ADA, IN(TF32), CLARKE_MMA_FP32, K(4), "mma.sync.", 24, NO_LEAST, 23, CLARKE_MMA_ONE_GROUP, CLARKE_MMA_C_FUSED},
  {CLARKE_ADA, IN(FP16), CLARKE_MMA_FP16, K(8), "mma.sync.", 24, NO_LEAST, 10, CLARKE_MMA_ONE_GROUP, CLARKE_MMA_C_FUSED},
  {CLARKE_ADA, IN_FP8, CLARKE_MMA_FP32, K(32), "mma.sync.", 13, NO_LEAST, 13, CLARKE_MMA_HALVES, CLARKE_MMA_C_FUSED},
  {CLARKE_ADA, IN_FP8, CLARKE_MMA_FP16, K(32), "mma.sync.", 13, NO_LEAST, 10, CLARKE_MMA_HALVES, CLARKE_MMA_C_FUSED},

  {CLARKE_HOPPER, IN(FP16) | IN(BF16), CLARKE_MMA_FP32, K(8) | K(16), "mma.sync.", 25, -133, 23, CLARKE_MMA_ONE_GROUP, CLARKE_MMA_C_FUSED},
  {CLARKE_HOPPER, IN(TF32), CLARKE_MMA_FP32, K(4) | K(8), "mma.sync.", 25, -133, 23, CLARKE_MMA_ONE_GROUP, CLARKE_MMA_C_FUSED},
  {CLARKE_HOPPER, IN(FP16), CLARKE_MMA_FP16, K(8) | K(16), "mma.sync.", 25, -133, 10, CLARKE_MMA_ONE_GROUP, CLARKE_MMA_C_FUSED},
  {CLARKE_HOPPER, IN_FP8, CLARKE_MMA_FP32, K(16) | K(32), "mma.sync.", 25, -133, 23, CLARKE_MMA_PAIRS, CLARKE_MMA_C_LAST},
  {CLARKE_HOPPER, IN_FP8, CLARKE_MMA_FP16, K(16) | K(32), "mma.sync.", 25, -133, 10, CLARKE_MMA_PAIRS, CLARKE_MMA_C_LAST},
  {CLARKE_HOPPER, IN(FP16) | IN(BF16), CLARKE_MMA_FP32, K(16), "wgmma.", 25, -133, 23, CLARKE_MMA_ONE_GROUP, CLARKE_MMA_C_FUSED},
  {CLARKE_HOPPER, IN(TF32), CLARKE_MMA_FP32, K(8), "wgmma.", 25, -133, 23, CLARKE_MMA_ONE_GROUP, CLARKE_MMA_C_FUSED},
  {CLARKE_HOPPER, IN(FP16), CLARKE_MMA_FP16, K(16), "wgmma.", 25, -133, 10, CLARKE_MMA_ONE_GROUP, CLARKE_MMA_C_FUSED},
  {CLARKE_HOPPER, IN_FP8, CLARKE_MMA_FP32, K(32), "wgmma.", 13, NO_LEAST, 13, CLARKE_MMA_ONE_GROUP, CLARKE_MMA_C_FUSED},
  {CLARKE_HOPPER, IN_FP8, CLARKE_MMA_FP16, K(32), "wgmma.", 13, NO_LEAST, 10, CLARKE_MMA_ONE_GROUP, CLARKE_MMA_C_FUSED},
  {CLARKE_HOPPER, IN_FP8, CLARKE_MMA_FP32, K(32), NULL, 13, NO_LEAST, 13, CLARKE_MMA_ONE_GROUP, CLARKE_MMA_C_NOT},

  {CLARKE_BLACKWELL, IN(FP16) | IN(BF16), CLARKE_MMA_FP32, K(16), "mma.sync.", 25, NO_LEAST, 23, CLARKE_MMA_ONE_GROUP, CLARKE_MMA_C_FUSED},
  {CLARKE_BLACKWELL, IN(TF32), CLARKE_MMA_FP32, K(4), "mma.sync.", 25, NO_LEAST, 23, CLARKE_MMA_ONE_GROUP, CLARKE_MMA_C_FUSED},
  {CLARKE_BLACKWELL, IN(FP16), CLARKE_MMA_FP16, K(16), "mma.sync.", 25, NO_LEAST, 10, CLARKE_MMA_ONE_GROUP, CLARKE_MMA_C_FUSED},
  {CLARKE_BLACKWELL, IN_FP8, CLARKE_MMA_FP32, K(32), "mma.sync.", 25, NO_LEAST, 23, CLARKE_MMA_PAIRS, CLARKE_MMA_C_LAST},
  {CLARKE_BLACKWELL, IN_FP8, CLARKE_MMA_FP16, K(32), "mma.sync.", 25, NO_LEAST, 10, CLARKE_MMA_PAIRS, CLARKE_MMA_C_LAST},
};

static bool
fits(const clarke_mma_rule *r, const clarke_mma_question *q, clarke_architecture architecture)
{
  if (r->architecture != architecture || r->output != q->output || (r->inputs >> q->input & 1) == 0 || (r->k >> q->k & 1) == 0)
    return false;
  return q->instruction == NULL ||
         (r->instruction != NULL && strncmp(q->instruction, r->instruction, strlen(r->instruction)) == 0);
}

const clarke_mma_rule *
clarke_mma_rule_next(const clarke_mma_question *q, const clarke_mma_rule *after)
{
  const clarke_architecture architecture = clarke_architecture_of(q->gpu);

  CLARKE_ASSERT(q->k > 0 && q->k <= CLARKE_MMA_PRODUCTS_MOST && q->input < CLARKE_MMA_INPUTS);
  for (size_t i = after != NULL ? (size_t)(after - rules) + 1 : 0; i < sizeof rules / sizeof rules[0]; i++)
    if (fits(&rules[i], q, architecture))
      return &rules[i];
  return NULL;
}

bool
clarke_mma_instruction_says(const char *instruction, int input, int output, int k)
{
  static const char *const ptx[CLARKE_MMA_FORMATS] = {"f16", "bf16", "tf32", "e4m3", "e5m2", "f32"};
  char types[32], shape[16];
  const char *at;

  snprintf(types, sizeof types, ".%s.%s.%s", ptx[output], ptx[input], ptx[input]);
  snprintf(shape, sizeof shape, "k%d.", k);
  at = strstr(instruction, shape);
  if (at == NULL || at == instruction || at[-1] < '0' || at[-1] > '9')
    return false;
  at = strstr(instruction, types);
  return at != NULL && (at[strlen(types)] == '.' || at[strlen(types)] == '\0');
}

/* --- a group --------------------------------------------------------------------------------- */

/* significand 2^(exponent - fraction). */
typedef struct {
  bool negative;
  int exponent, fraction;
  uint64_t significand;
} term;

static term
product_of(const clarke_mma_format *f, uint32_t a, uint32_t b)
{
  clarke_mma_number x, y;

  CLARKE_ASSERT(clarke_mma_decode(&x, f, a) && clarke_mma_decode(&y, f, b));
  return (term){x.negative != y.negative, x.exponent + y.exponent, 2 * f->fraction, (uint64_t)x.significand * y.significand};
}

/* Cut off so many bits after the place of the largest exponent: in units of that bit. */
static int64_t
aligned(const term *t, int largest, int kept)
{
  int shift = largest - t->exponent + t->fraction - kept;
  int64_t magnitude = shift > 63 ? 0 : (int64_t)(shift >= 0 ? t->significand >> shift : t->significand << -shift);

  return t->negative ? -magnitude : magnitude;
}

/* One rounding, at the end. A zero has no sign, even one that a negative sum was rounded to. */
static uint32_t
add_terms(const clarke_mma_rule *rule, size_t n, const term *t)
{
  int largest = INT_MIN;
  int64_t sum = 0;
  uint32_t d;

  for (size_t i = 0; i < n; i++)
    if (t[i].significand != 0 && t[i].exponent > largest)
      largest = t[i].exponent;
  if (largest == INT_MIN)
    return 0;
  if (largest < rule->least)
    largest = rule->least;
  for (size_t i = 0; i < n; i++)
    sum += t[i].significand != 0 ? aligned(&t[i], largest, rule->kept) : 0;
  d = clarke_mma_round(sum < 0, (uint64_t)(sum < 0 ? -sum : sum), largest - rule->kept, &clarke_mma_formats[rule->output],
                       rule->fraction, rule->output == CLARKE_MMA_FP16 ? CLARKE_MMA_TO_NEAREST : CLARKE_MMA_TOWARD_ZERO);
  return d == CLARKE_MMA_SIGN ? 0 : d;
}

/* --- a dot product ---------------------------------------------------------------------------- */

static bool
in_group(clarke_mma_grouping grouping, int k, int i, int group)
{
  switch (grouping) {
  case CLARKE_MMA_HALVES:
    return (2 * i >= k) == (group == 1);
  case CLARKE_MMA_PAIRS:
    return (i % 4 >= 2) == (group == 1);
  default:
    return true;
  }
}

/* c and one group of products. An infinite c stays: products are finite. */
static uint32_t
add_group(const clarke_mma_rule *rule, int input, int k, int group, const uint32_t *a, const uint32_t *b, uint32_t c)
{
  const clarke_mma_format *to = &clarke_mma_formats[rule->output];
  term t[CLARKE_MMA_PRODUCTS_MOST + 1];
  clarke_mma_number x;
  size_t n = 0;

  if (!clarke_mma_decode(&x, to, c))
    return c;
  t[n++] = (term){x.negative, x.exponent, to->fraction, x.significand};
  for (int i = 0; i < k; i++)
    if (in_group(rule->grouping, k, i, group))
      t[n++] = product_of(&clarke_mma_formats[input], a[i], b[i]);
  return add_terms(rule, n, t);
}

uint32_t
clarke_mma_apply(const clarke_mma_rule *rule, int input, int k, const uint32_t *a, const uint32_t *b, uint32_t c)
{
  const clarke_mma_format *to = &clarke_mma_formats[rule->output];
  const int groups = rule->grouping == CLARKE_MMA_ONE_GROUP ? 1 : 2;
  uint32_t sum;

  c = clarke_mma_convert(c, to);
  sum = rule->addend == CLARKE_MMA_C_FUSED ? c : 0;
  for (int g = 0; g < groups; g++)
    sum = add_group(rule, input, k, g, a, b, sum);
  if (rule->addend != CLARKE_MMA_C_LAST)
    return sum;
  sum = clarke_mma_add(sum, c, to);
  return sum == CLARKE_MMA_NAN && rule->output == CLARKE_MMA_FP16 ? UINT32_C(0x7fffe000) : sum;
}

void
clarke_mma_describe(char *text, size_t size, const clarke_mma_rule *rule)
{
  static const char *const grouping[] = {"one group", "two halves", "two groups, pairs"};
  static const char *const addend[] = {"c among them", "c added after", "c left out"};

  snprintf(text, size, "%s, %d bits kept, %s", grouping[rule->grouping], rule->kept, addend[rule->addend]);
}
