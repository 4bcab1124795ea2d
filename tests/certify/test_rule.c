/* Numbers, rules and readers of tensor cores' records. */
#include "trace/tensorcore/mma_gpu.h"
#include "trace/tensorcore/mma_rule.h"
#include "trace/tensorcore/mma_set.h"
#include "../suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t
bits_of(float x)
{
  uint32_t bits;

  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static float
float_of(uint32_t bits)
{
  float x;

  memcpy(&x, &bits, sizeof x);
  return x;
}

/* --- numbers --------------------------------------------------------------------------------- */

/* How many float32 numbers a format has, by looking at all that could be: those with at most 11 bits of significand. */
static size_t
count_numbers(int format)
{
  clarke_mma_number x;
  size_t n = 0;

  for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += 1 << 13)
    n += clarke_mma_decode(&x, &clarke_mma_formats[format], (uint32_t)bits);
  return n;
}

START_TEST(formats_have_as_many_numbers_as_they_should)
{
  ck_assert_uint_eq(count_numbers(CLARKE_MMA_E4M3), 256 - 2); /* two NaN */
  ck_assert_uint_eq(count_numbers(CLARKE_MMA_E5M2), 256 - 8); /* infinities, NaN */
  ck_assert_uint_eq(count_numbers(CLARKE_MMA_FP16), 2 * 31 * 1024);
  ck_assert_uint_eq(count_numbers(CLARKE_MMA_BF16), 2 * 255 * 128);
  ck_assert_uint_eq(count_numbers(CLARKE_MMA_TF32), 2 * 255 * 1024);
}
END_TEST

START_TEST(a_decoded_number_is_the_number)
{
  for (int f = 0; f < CLARKE_MMA_FORMATS; f++)
    for (uint64_t bits = 0; bits < CLARKE_MMA_INFINITY; bits += f == CLARKE_MMA_FP32 ? 65521 : 1 << 13) {
      const clarke_mma_format *format = &clarke_mma_formats[f];
      clarke_mma_number x;

      if (!clarke_mma_decode(&x, format, (uint32_t)bits | CLARKE_MMA_SIGN))
        continue;
      ck_assert(x.negative && x.exponent >= format->least && x.exponent <= format->most);
      ck_assert(x.significand >> format->fraction == (x.exponent > format->least || x.significand >= 1u << format->fraction));
      ck_assert(ldexp(x.significand, x.exponent - format->fraction) == (double)float_of((uint32_t)bits));
      ck_assert(clarke_mma_convert((uint32_t)bits, format) == bits);
    }
}
END_TEST

/* The processor's own additions of float32, at random. */
START_TEST(sums_are_those_of_ieee)
{
  uint64_t state = 1;

  for (int i = 0; i < 2000000; i++) {
    uint32_t x, y;
    float sum;

    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    x = (uint32_t)(state >> 32);
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    y = (uint32_t)(state >> 32);
    if (i % 2 == 0) /* exponents near each other */
      y = (y & UINT32_C(0x83ffffff)) | (x & UINT32_C(0x7c000000));
    if (!isfinite(float_of(x)) || !isfinite(float_of(y)))
      continue;
    sum = float_of(x) + float_of(y);
    ck_assert_uint_eq(clarke_mma_add(x, y, &clarke_mma_formats[CLARKE_MMA_FP32]), bits_of(sum));
  }
  ck_assert_uint_eq(clarke_mma_add(CLARKE_MMA_SIGN, CLARKE_MMA_SIGN, &clarke_mma_formats[CLARKE_MMA_FP32]), CLARKE_MMA_SIGN);
  ck_assert_uint_eq(clarke_mma_add(CLARKE_MMA_SIGN, 0, &clarke_mma_formats[CLARKE_MMA_FP32]), 0);
  ck_assert_uint_eq(clarke_mma_add(CLARKE_MMA_INFINITY, bits_of(-1), &clarke_mma_formats[CLARKE_MMA_FP32]), CLARKE_MMA_INFINITY);
  ck_assert_uint_eq(clarke_mma_add(bits_of(-1), CLARKE_MMA_INFINITY, &clarke_mma_formats[CLARKE_MMA_FP32]), CLARKE_MMA_INFINITY);
  ck_assert_uint_eq(clarke_mma_add(CLARKE_MMA_INFINITY, CLARKE_MMA_INFINITY | CLARKE_MMA_SIGN, &clarke_mma_formats[CLARKE_MMA_FP32]),
                    CLARKE_MMA_NAN);
}
END_TEST

START_TEST(conversions_round_to_nearest_even)
{
  const clarke_mma_format *half = &clarke_mma_formats[CLARKE_MMA_FP16];

  ck_assert_uint_eq(clarke_mma_convert(bits_of(1 + 0x1p-11f), half), bits_of(1));
  ck_assert_uint_eq(clarke_mma_convert(bits_of(1 + 3 * 0x1p-11f), half), bits_of(1 + 0x1p-9f));
  ck_assert_uint_eq(clarke_mma_convert(bits_of(1 + 0x1p-11f + 0x1p-20f), half), bits_of(1 + 0x1p-10f));
  ck_assert_uint_eq(clarke_mma_convert(bits_of(65519.996f), half), bits_of(65504));
  ck_assert_uint_eq(clarke_mma_convert(bits_of(-65520), half), CLARKE_MMA_SIGN | CLARKE_MMA_INFINITY);
  ck_assert_uint_eq(clarke_mma_convert(bits_of(0x1p-25f), half), 0);
  ck_assert_uint_eq(clarke_mma_convert(bits_of(-0x1p-25f), half), CLARKE_MMA_SIGN);
  ck_assert_uint_eq(clarke_mma_convert(bits_of(0x1.8p-25f), half), bits_of(0x1p-24f));
  ck_assert_uint_eq(clarke_mma_convert(1, half), 0);
}
END_TEST

/* --- rules ----------------------------------------------------------------------------------- */

static uint32_t
apply(const char *gpu, int input, int output, int k, const char *instruction, const float *a, const float *b, uint32_t c)
{
  const clarke_mma_question q = {gpu, input, output, k, instruction};
  const clarke_mma_rule *rule = clarke_mma_rule_next(&q, NULL);
  uint32_t x[CLARKE_MMA_PRODUCTS_MOST], y[CLARKE_MMA_PRODUCTS_MOST];

  ck_assert_ptr_nonnull(rule);
  for (int i = 0; i < k; i++) {
    x[i] = bits_of(a[i]);
    y[i] = bits_of(b[i]);
  }
  return clarke_mma_apply(rule, input, k, x, y, c);
}

/* One large product and one that is small: how far below may it be to count? docs/certify.md's example. */
START_TEST(bits_far_below_the_largest_exponent_are_cut_off)
{
  static const struct {
    const char *gpu;
    int k, kept;
  } known[] = {{"V100", 4, 23}, {"A100", 8, 24}, {"L40S", 8, 24}, {"H100", 16, 25}, {"B200", 16, 25}};

  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    for (int below = 20; below < 28; below++) {
      float a[16] = {1, ldexpf(1, -below / 2), -1}, b[16] = {1, ldexpf(1, below / 2 - below), 1};
      uint32_t d = apply(known[i].gpu, CLARKE_MMA_FP16, CLARKE_MMA_FP32, known[i].k, NULL, a, b, 0);

      ck_assert_uint_eq(d, below <= known[i].kept ? bits_of(ldexpf(1, -below)) : 0);
    }
}
END_TEST

START_TEST(sums_are_rounded_once_and_toward_zero)
{
  float a[16] = {1, -1}, b[16] = {1, 0x1p-13f};

  a[1] *= 0x1p-12f; /* 1 - 2^-25 */
  ck_assert_uint_eq(apply("H100", CLARKE_MMA_FP16, CLARKE_MMA_FP32, 16, NULL, a, b, 0), bits_of(1 - 0x1p-24f));
  a[1] = 0x1p-12f;
  b[1] = 0x1p-12f; /* 1 + 2^-24 */
  ck_assert_uint_eq(apply("H100", CLARKE_MMA_FP16, CLARKE_MMA_FP32, 16, NULL, a, b, 0), bits_of(1));
  b[1] = 1.5f; /* 1 + 1.5 2^-12: float16 to nearest */
  ck_assert_uint_eq(apply("H100", CLARKE_MMA_FP16, CLARKE_MMA_FP16, 16, NULL, a, b, 0), bits_of(1));
  a[1] = 0x1p-11f;
  ck_assert_uint_eq(apply("H100", CLARKE_MMA_FP16, CLARKE_MMA_FP16, 16, NULL, a, b, 0), bits_of(1 + 0x1p-10f));
}
END_TEST

/* Recorded on an H100 80GB HBM3, by mma.sync m16n8k4 for tf32: all exponents are below -133, which counts as the largest. */
START_TEST(an_exponent_has_a_least)
{
  static const uint32_t a[4] = {0x1d0f0000, 0x9ce88000, 0x9998a000, 0x1c7fe000};
  static const uint32_t b[4] = {0x1bfac000, 0x1c764000, 0xa2ab0000, 0x9a43a000};
  const clarke_mma_question q = {"H100", CLARKE_MMA_TF32, CLARKE_MMA_FP32, 4, NULL};
  clarke_mma_rule rule = *clarke_mma_rule_next(&q, NULL);

  ck_assert_uint_eq(clarke_mma_apply(&rule, CLARKE_MMA_TF32, 4, a, b, 0), 0xca7f);
  rule.least = -200;
  ck_assert_uint_eq(clarke_mma_apply(&rule, CLARKE_MMA_TF32, 4, a, b, 0), 0xca7e);
}
END_TEST

START_TEST(zeros_have_no_sign)
{
  float a[16] = {-0.0f, 1}, b[16] = {1, -0.0f};

  ck_assert_uint_eq(apply("H100", CLARKE_MMA_FP16, CLARKE_MMA_FP32, 16, NULL, a, b, CLARKE_MMA_SIGN), 0);
  a[0] = -0x1p-24f;
  b[0] = 0x1p-24f; /* a negative sum that rounds to zero */
  ck_assert_uint_eq(apply("H100", CLARKE_MMA_FP16, CLARKE_MMA_FP16, 16, NULL, a, b, 0), 0);
}
END_TEST

START_TEST(what_is_too_large_is_infinite)
{
  float a[16] = {0x1p64f}, b[16] = {-0x1p64f};

  ck_assert_uint_eq(apply("H100", CLARKE_MMA_BF16, CLARKE_MMA_FP32, 16, NULL, a, b, 0), CLARKE_MMA_SIGN | CLARKE_MMA_INFINITY);
  a[0] = b[0] = 1;
  ck_assert_uint_eq(apply("H100", CLARKE_MMA_FP16, CLARKE_MMA_FP16, 16, NULL, a, b, bits_of(1e6f)), CLARKE_MMA_INFINITY);
}
END_TEST

/* FP8 on Hopper: three instructions' ways. 1 + 2^-14 is cut off by wgmma, kept by mma.sync, and c may have no part. */
START_TEST(an_instruction_chooses_its_rule)
{
  static const char *const mma = "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32",
                           *const wgmma = "wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3";
  const clarke_mma_question q = {"H100", CLARKE_MMA_E4M3, CLARKE_MMA_FP32, 32, NULL};
  const clarke_mma_rule *rule = NULL;
  float a[32] = {1, 0x1p-7f}, b[32] = {1, 0x1p-7f};
  int n = 0;

  ck_assert_uint_eq(apply("H100", CLARKE_MMA_E4M3, CLARKE_MMA_FP32, 32, mma, a, b, bits_of(2)), bits_of(3 + 0x1p-14f));
  ck_assert_uint_eq(apply("H100", CLARKE_MMA_E4M3, CLARKE_MMA_FP32, 32, wgmma, a, b, bits_of(2)), bits_of(3));
  while ((rule = clarke_mma_rule_next(&q, rule)) != NULL)
    n++;
  ck_assert_int_eq(n, 3);
  ck_assert(clarke_mma_instruction_says(mma, CLARKE_MMA_E4M3, CLARKE_MMA_FP32, 32));
  ck_assert(clarke_mma_instruction_says(wgmma, CLARKE_MMA_E4M3, CLARKE_MMA_FP32, 32));
  ck_assert(!clarke_mma_instruction_says(mma, CLARKE_MMA_E5M2, CLARKE_MMA_FP32, 32));
  ck_assert(!clarke_mma_instruction_says(mma, CLARKE_MMA_E4M3, CLARKE_MMA_FP16, 32));
  ck_assert(!clarke_mma_instruction_says(mma, CLARKE_MMA_E4M3, CLARKE_MMA_FP32, 2));
  ck_assert(!clarke_mma_instruction_says("k32.f32.e4m3.e4m3", CLARKE_MMA_E4M3, CLARKE_MMA_FP32, 32));
}
END_TEST

/* An infinity of a first group meets an opposite addend in the addition after. */
START_TEST(opposite_infinities_are_not_a_number)
{
  static const char *const mma = "mma.sync.aligned.m16n8k32.row.col.f16.e5m2.e5m2.f16";
  float a[32] = {32768}, b[32] = {32768};

  ck_assert_uint_eq(apply("H100", CLARKE_MMA_E5M2, CLARKE_MMA_FP16, 32, mma, a, b, bits_of(-1e30f)), UINT32_C(0x7fffe000));
  ck_assert_uint_eq(apply("H100", CLARKE_MMA_E5M2, CLARKE_MMA_FP16, 32, mma, a, b, bits_of(-1)), CLARKE_MMA_INFINITY);
}
END_TEST

START_TEST(names_of_gpus_have_architectures)
{
  static const struct {
    const char *name;
    clarke_architecture is;
  } known[] = {
    {"V100", CLARKE_VOLTA}, {"Tesla V100-SXM2-16GB", CLARKE_VOLTA}, {"A2", CLARKE_AMPERE}, {"A10", CLARKE_AMPERE},
    {"a30", CLARKE_AMPERE}, {"NVIDIA A100-SXM4-80GB", CLARKE_AMPERE}, {"NVIDIA GeForce RTX 3080 Ti", CLARKE_AMPERE},
    {"L4", CLARKE_ADA}, {"L40S", CLARKE_ADA}, {"Ada", CLARKE_ADA}, {"RTX4090", CLARKE_ADA},
    {"NVIDIA GeForce RTX 4060 Ti", CLARKE_ADA}, {"RTX4070SUPER", CLARKE_ADA}, {"NVIDIA RTX 6000 Ada Generation", CLARKE_ADA},
    {"H100", CLARKE_HOPPER}, {"NVIDIA H100 80GB HBM3", CLARKE_HOPPER}, {"H200", CLARKE_HOPPER}, {"NVIDIA GH200 480GB", CLARKE_HOPPER},
    {"B200", CLARKE_BLACKWELL}, {"GB200", CLARKE_BLACKWELL},
    {"", CLARKE_NO_ARCHITECTURE}, {"NVIDIA", CLARKE_NO_ARCHITECTURE}, {"T4", CLARKE_NO_ARCHITECTURE}, {"A1000", CLARKE_NO_ARCHITECTURE},
    {"H1000", CLARKE_NO_ARCHITECTURE}, {"RTX4000", CLARKE_NO_ARCHITECTURE}, {"RTX40900", CLARKE_NO_ARCHITECTURE},
    {"RTX5090", CLARKE_NO_ARCHITECTURE}, {"MI300X", CLARKE_NO_ARCHITECTURE}, {"XH100", CLARKE_NO_ARCHITECTURE},
  };

  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
    ck_assert_msg(clarke_architecture_of(known[i].name) == known[i].is, "%s", known[i].name);
  ck_assert_str_eq(clarke_architecture_name(CLARKE_HOPPER), "Hopper");
  ck_assert_str_eq(clarke_architecture_name(CLARKE_NO_ARCHITECTURE), "unknown");
}
END_TEST

START_TEST(a_rule_is_told_in_words)
{
  const clarke_mma_question q = {"L40S", CLARKE_MMA_E5M2, CLARKE_MMA_FP32, 32, NULL};
  char text[128];

  clarke_mma_describe(text, sizeof text, clarke_mma_rule_next(&q, NULL));
  ck_assert_str_eq(text, "two halves, 13 bits kept, c among them");
}
END_TEST

/* --- readers --------------------------------------------------------------------------------- */

START_TEST(rows_are_read)
{
  static const char text[] = "3f800000 BF000000 \n00000000 3e800000\n";
  clarke_mma_rows r = {0};
  clarke_error err = {CLARKE_OK, ""};

  ck_assert_int_eq(clarke_mma_parse_factors(&r, &clarke_mma_formats[CLARKE_MMA_E5M2], text, sizeof text - 1, "f", &err), CLARKE_OK);
  ck_assert_uint_eq(r.rows, 2);
  ck_assert_int_eq(r.columns, 2);
  ck_assert_uint_eq(r.bits[1], bits_of(-0.5f));
  ck_assert_uint_eq(r.bits[3], bits_of(0.25f));
  clarke_mma_rows_clear(&r);
  ck_assert_int_eq(clarke_mma_parse_bits(&r, true, "10111111100000000000000000000000", 32, "f", &err), CLARKE_OK);
  ck_assert_uint_eq(r.bits[0], bits_of(-1));
  clarke_mma_rows_clear(&r);
  ck_assert_int_eq(clarke_mma_parse_bits(&r, true, NULL, 0, "f", &err), CLARKE_EINPUT);
  ck_assert_str_eq(err.text, "f: it is empty");
}
END_TEST

START_TEST(sixty_three_numbers_are_the_most)
{
  char line[9 * 64 + 1];
  clarke_mma_rows r = {0};
  clarke_error err = {CLARKE_OK, ""};

  for (int i = 0; i < 64; i++)
    memcpy(line + 9 * i, "00000000 ", 9);
  ck_assert_int_eq(clarke_mma_parse_factors(&r, &clarke_mma_formats[CLARKE_MMA_FP16], line, 9 * 63, "f", &err), CLARKE_OK);
  ck_assert_int_eq(r.columns, 63);
  clarke_mma_rows_clear(&r);
  ck_assert_int_eq(clarke_mma_parse_factors(&r, &clarke_mma_formats[CLARKE_MMA_FP16], line, 9 * 64, "f", &err), CLARKE_EINPUT);
  ck_assert_ptr_null(r.bits);
}
END_TEST

int
main(void)
{
  TCase *t = tests_of("mma");

  tcase_add_test(t, formats_have_as_many_numbers_as_they_should);
  tcase_add_test(t, a_decoded_number_is_the_number);
  tcase_add_test(t, sums_are_those_of_ieee);
  tcase_add_test(t, conversions_round_to_nearest_even);
  tcase_add_test(t, bits_far_below_the_largest_exponent_are_cut_off);
  tcase_add_test(t, sums_are_rounded_once_and_toward_zero);
  tcase_add_test(t, an_exponent_has_a_least);
  tcase_add_test(t, zeros_have_no_sign);
  tcase_add_test(t, what_is_too_large_is_infinite);
  tcase_add_test(t, an_instruction_chooses_its_rule);
  tcase_add_test(t, opposite_infinities_are_not_a_number);
  tcase_add_test(t, names_of_gpus_have_architectures);
  tcase_add_test(t, a_rule_is_told_in_words);
  tcase_add_test(t, rows_are_read);
  tcase_add_test(t, sixty_three_numbers_are_the_most);
  return run_tests();
}
