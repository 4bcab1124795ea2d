/* The recorder's host code (tools/cuda), without a GPU: its products, where it puts them, what it writes. */
#include "pack.h"
#include "products.h"
#include "record.h"
#include "request.h"
#include "trace/tensorcore/mma_certify.h"
#include "../suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
  const char *name;
  int input, k;
} sets[] = {
  {"fp16", CLARKE_MMA_FP16, 8}, {"fp16", CLARKE_MMA_FP16, 16}, {"bf16", CLARKE_MMA_BF16, 8}, {"bf16", CLARKE_MMA_BF16, 16},
  {"tf32", CLARKE_MMA_TF32, 4}, {"tf32", CLARKE_MMA_TF32, 8}, {"E4M3", CLARKE_MMA_E4M3, 16}, {"E4M3", CLARKE_MMA_E4M3, 32},
  {"E5M2", CLARKE_MMA_E5M2, 16}, {"E5M2", CLARKE_MMA_E5M2, 32},
};
#define N_SETS ((int)(sizeof sets / sizeof sets[0]))

/* --- numbers and products -------------------------------------------------------------------- */

START_TEST(products_are_of_their_format)
{
  clarke_mma_number x;

  for (int s = 0; s < N_SETS; s++) {
    const number_format *f = number_format_named(sets[s].name);
    size_t zeros = 0, subnormal = 0;

    for (uint64_t i = 0; i < 4000; i++) {
      product p, again;

      product_make(&p, f, sets[s].k, 3, i);
      product_make(&again, f, sets[s].k, 3, i);
      ck_assert(memcmp(&p, &again, sizeof p) == 0);
      for (int j = 0; j < sets[s].k; j++) {
        ck_assert(clarke_mma_decode(&x, &clarke_mma_formats[sets[s].input], number_to_float32(f, p.a[j])));
        zeros += x.significand == 0;
        subnormal += x.significand != 0 && x.significand < 1u << clarke_mma_formats[sets[s].input].fraction;
        ck_assert(clarke_mma_decode(&x, &clarke_mma_formats[sets[s].input], number_to_float32(f, p.b[j])));
      }
      ck_assert(clarke_mma_decode(&x, &clarke_mma_formats[CLARKE_MMA_FP32], p.c));
    }
    ck_assert_uint_gt(zeros, 100);
    ck_assert_uint_gt(subnormal, 100);
  }
  ck_assert_ptr_null(number_format_named("fp4"));
}
END_TEST

/* Every number of eight or sixteen bits is found again in its float32. */
START_TEST(numbers_have_their_values)
{
  for (uint32_t bits = 0; bits < 65536; bits++)
    if ((bits & 0x7c00) != 0x7c00 || (bits & 0x3ff) == 0)
      ck_assert_uint_eq(number_float16_of(number_of_float16((uint16_t)bits)), bits);
  ck_assert_uint_eq(number_to_float32(number_format_named("E4M3"), 0x7e), 0x43e00000); /* 448 */
  ck_assert_uint_eq(number_to_float32(number_format_named("E4M3"), 0x81), 0xbb000000); /* -2^-9 */
  ck_assert_uint_eq(number_to_float32(number_format_named("E5M2"), 0x7b), 0x47600000); /* 57344 */
  ck_assert_uint_eq(number_to_float32(number_format_named("E5M2"), 0x01), 0x37800000); /* 2^-16 */
  ck_assert_uint_eq(number_to_float32(number_format_named("bf16"), 0x3f81), 0x3f810000);
  ck_assert_uint_eq(number_to_float32(number_format_named("tf32"), 0x3f802000), 0x3f802000);
}
END_TEST

START_TEST(float16_is_rounded_as_the_rules_round)
{
  uint64_t state = 1;

  for (int i = 0; i < 1000000; i++) {
    uint32_t bits;

    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    bits = (uint32_t)(state >> 32);
    if (i % 2 == 0)
      bits = (bits & UINT32_C(0x8fffffff)) | UINT32_C(0x30000000);
    if ((bits & CLARKE_MMA_INFINITY) == CLARKE_MMA_INFINITY)
      continue;
    ck_assert_uint_eq(number_of_float16(number_float16_of(bits)), clarke_mma_convert(bits, &clarke_mma_formats[CLARKE_MMA_FP16]));
  }
}
END_TEST

/* --- fragments ------------------------------------------------------------------------------- */

static uint32_t
element(const uint32_t *registers, int width, int i)
{
  uint32_t word = registers[i * width / 32];

  return width == 32 ? word : word >> i * width % 32 & ((UINT32_C(1) << width) - 1);
}

/* The PTX ISA's tables: the i-th element that a lane has of A lies in this row and column. */
static void
place_in_a(int *row, int *column, int width, int lane, int i)
{
  int group = lane >> 2, in_group = lane % 4;

  switch (width) {
  case 32: /* a0, a2 in row group; a1, a3 below; a2, a3 four columns on */
    *row = i % 2 == 0 ? group : group + 8;
    *column = i < 2 ? in_group : in_group + 4;
    return;
  case 16:
    *row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
    *column = in_group * 2 + (i & 1) + (i < 4 ? 0 : 8);
    return;
  default:
    *row = i < 4 || (i >= 8 && i < 12) ? group : group + 8;
    *column = in_group * 4 + (i & 3) + (i < 8 ? 0 : 16);
  }
}

static int
row_in_b(int width, int lane, int i)
{
  int in_group = lane % 4;

  switch (width) {
  case 32:
    return in_group + 4 * i;
  case 16:
    return in_group * 2 + (i & 1) + (i < 2 ? 0 : 8);
  default:
    return in_group * 4 + (i & 3) + (i < 4 ? 0 : 16);
  }
}

static void
check_fragments(const mma_input *in, const product *p, const number_format *f, int k)
{
  int of_b = k / 4, of_a = 2 * of_b, row, column;

  for (int lane = 0; lane < 32; lane++) {
    for (int i = 0; i < of_a; i++) {
      place_in_a(&row, &column, f->width, lane, i);
      ck_assert_int_lt(column, k);
      ck_assert_uint_eq(element(in->a + 4 * lane, f->width, i), row < 8 ? p[row].a[column] : 0);
    }
    for (int i = 0; i < of_b; i++)
      ck_assert_uint_eq(element(in->b + 2 * lane, f->width, i), p[lane >> 2].b[row_in_b(f->width, lane, i)]);
  }
}

/* C and D: rows of groups, two columns to a lane; the lower eight rows come after. */
static void
check_c(const uint32_t *registers, const product *p, int half)
{
  for (int lane = 0; lane < 32; lane++)
    for (int i = 0; i < 4; i++) {
      int row = (lane >> 2) + (i < 2 ? 0 : 8), column = lane % 4 * 2 + (i & 1);
      uint32_t want = row != column ? 0 : half ? number_float16_of(p[row].c) : p[row].c;

      ck_assert_uint_eq(element(registers + 4 * lane, half ? 16 : 32, i), want);
    }
}

START_TEST(fragments_are_those_of_the_isa)
{
  for (int s = 0; s < N_SETS; s++) {
    const number_format *f = number_format_named(sets[s].name);
    product p[PACK_PRODUCTS];
    mma_input in;

    for (int i = 0; i < PACK_PRODUCTS; i++)
      product_make(&p[i], f, sets[s].k, 5, (uint64_t)i);
    for (int half = 0; half < 2; half++) {
      mma_pack(&in, p, f, sets[s].k, half);
      check_fragments(&in, p, f, sets[s].k);
      check_c(in.c, p, half);
    }
  }
}
END_TEST

START_TEST(shared_memory_holds_core_matrices)
{
  for (int s = 0; s < N_SETS; s++) {
    const number_format *f = number_format_named(sets[s].name);
    product p[PACK_PRODUCTS];
    wgmma_input in;

    if (sets[s].k * f->width != 256)
      continue;
    for (int i = 0; i < PACK_PRODUCTS; i++)
      product_make(&p[i], f, sets[s].k, 6, (uint64_t)i);
    wgmma_pack(&in, p, f, 0);
    check_c(in.c, p, 0);
    for (int row = 0; row < 64; row++)
      for (int j = 0; j < sets[s].k; j++) {
        int bits = j * f->width, at = row / 8 * 2048 + bits / 128 * 1024 + row % 8 * 128 + bits % 128;

        ck_assert_uint_eq(element(in.a, f->width, at / f->width), row < 8 ? p[row].a[j] : 0);
        if (row < 8)
          ck_assert_uint_eq(element(in.b, f->width, at / f->width), p[row].b[j]);
      }
  }
}
END_TEST

START_TEST(results_are_taken_from_the_diagonal)
{
  uint32_t registers[32 * 4], d[PACK_PRODUCTS];

  for (int lane = 0; lane < 32; lane++)
    for (int i = 0; i < 4; i++)
      registers[4 * lane + i] = (uint32_t)(100 * ((lane >> 2) + (i < 2 ? 0 : 8)) + lane % 4 * 2 + (i & 1));
  pack_results(d, registers, 0);
  for (int s = 0; s < PACK_PRODUCTS; s++)
    ck_assert_uint_eq(d[s], 101 * s);
  for (int lane = 0; lane < 32; lane++) /* 1 + column 2^-10 in the first eight rows */
    registers[4 * lane] = (0x3c00u + (uint32_t)(lane % 4 * 2)) | (0x3c00u + (uint32_t)(lane % 4 * 2 + 1)) << 16;
  pack_results(d, registers, 1);
  for (int s = 0; s < PACK_PRODUCTS; s++)
    ck_assert_uint_eq(d[s], 0x3f800000 + ((uint32_t)s << 13));
}
END_TEST

/* --- files ----------------------------------------------------------------------------------- */

START_TEST(gpus_are_called_by_their_own_names)
{
  static const struct {
    const char *device, *name;
  } known[] = {
    {"NVIDIA H100 80GB HBM3", "H100"}, {"NVIDIA H200", "H200"}, {"NVIDIA GH200 480GB", "GH200"}, {"NVIDIA A100-SXM4-80GB", "A100"},
    {"Tesla V100-SXM2-16GB", "V100"}, {"NVIDIA GeForce RTX 4090", "RTX4090"}, {"NVIDIA RTX 6000 Ada Generation", "RTX6000Ada"},
    {"NVIDIA GeForce RTX 4060 Ti", "RTX4060"}, {"Quadro RTX 4000", "Quadro"}, {"NVIDIA", ""}, {"", ""},
  };
  char name[RECORD_NAME], longest[200];

  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    record_gpu_name(name, known[i].device);
    ck_assert_str_eq(name, known[i].name);
  }
  memset(longest, 'x', sizeof longest);
  longest[sizeof longest - 1] = '\0';
  record_gpu_name(name, longest);
  ck_assert_uint_eq(strlen(name), RECORD_NAME - 1);
}
END_TEST

/* What a set's instruction would compute if the rule is right. */
static void
compute(uint32_t *d, const product *p, size_t n, const clarke_mma_question *q)
{
  const number_format *f = number_format_named(clarke_mma_formats[q->input].name);
  const clarke_mma_rule *rule = clarke_mma_rule_next(q, NULL);
  uint32_t a[PRODUCT_MOST], b[PRODUCT_MOST];

  for (size_t i = 0; i < n; i++) {
    for (int j = 0; j < q->k; j++) {
      a[j] = number_to_float32(f, p[i].a[j]);
      b[j] = number_to_float32(f, p[i].b[j]);
    }
    d[i] = clarke_mma_apply(rule, q->input, q->k, a, b, p[i].c);
  }
}

#define PRODUCTS 40

START_TEST(what_is_written_is_read)
{
  static const char fp32[] = "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32";
  static const char fp16[] = "mma.sync.aligned.m16n8k32.row.col.f16.e5m2.e5m2.f16";
  const clarke_mma_question to32 = {"H100", CLARKE_MMA_E5M2, CLARKE_MMA_FP32, 32, fp32};
  const clarke_mma_question to16 = {"H100", CLARKE_MMA_E5M2, CLARKE_MMA_FP16, 32, fp16};
  uint32_t d32[PRODUCTS], d16[PRODUCTS];
  record_results r32 = {fp32, d32}, r16 = {fp16, d16}, none = {NULL, NULL};
  char top[] = "/tmp/clarke-record-XXXXXX", folder[64], command[128];
  product p[PRODUCTS];
  clarke_mma_report report = {0, NULL};
  clarke_error err = {CLARKE_OK, ""};

  ck_assert_ptr_nonnull(mkdtemp(top));
  for (uint64_t i = 0; i < PRODUCTS; i++)
    product_make(&p[i], number_format_named("E5M2"), 32, 9, i);
  compute(d32, p, PRODUCTS, &to32);
  compute(d16, p, PRODUCTS, &to16);
  snprintf(folder, sizeof folder, "%s/a/b", top);
  ck_assert_int_eq(record_write(folder, "H100", number_format_named("E5M2"), 32, PRODUCTS, p, &r32, &r16, "no GPU's"), 0);
  snprintf(folder, sizeof folder, "%s/c", top);
  ck_assert_int_eq(record_write(folder, "H100", number_format_named("E5M2"), 32, PRODUCTS, p, &none, &r16, "no GPU's"), 0);
  ck_assert_msg(clarke_mma_certify(&report, top, &err) == CLARKE_OK, "%s", err.text);
  ck_assert_uint_eq(report.n, 3);
  ck_assert_int_eq(clarke_mma_report_outcome(&report), CLARKE_MMA_EXACT);
  ck_assert_str_eq(report.result[0].file, "a/b/d_H100_fp32.txt");
  ck_assert_str_eq(report.result[0].instruction, fp32);
  ck_assert_uint_eq(report.result[2].agree, PRODUCTS);
  clarke_mma_report_clear(&report);
  snprintf(command, sizeof command, "rm -r %s", top);
  ck_assert_int_eq(system(command), 0);
}
END_TEST

/* The kept records of an H100 are of seed 7: what makes products must go on making these. */
START_TEST(kept_records_are_of_these_products)
{
  const number_format *f = number_format_named("tf32");
  FILE *file = fopen(KEPT "/hopper/H100/mma-k8/tf32/a_H100_tf32.txt", "r");
  unsigned bits;
  product p;

  ck_assert_ptr_nonnull(file);
  for (uint64_t i = 0; i < 40; i++) {
    product_make(&p, f, 8, 7, i);
    for (int j = 0; j < 8; j++) {
      ck_assert_int_eq(fscanf(file, "%x", &bits), 1);
      ck_assert_uint_eq(number_to_float32(f, p.a[j]), bits);
    }
  }
  ck_assert_int_eq(fscanf(file, "%x", &bits), EOF);
  fclose(file);
}
END_TEST

/* --- the command line ------------------------------------------------------------------------- */

#define READ(...)                                                                                                   \
  mma_request_read(&r, (int)(sizeof (const char *[]){"mma", __VA_ARGS__} / sizeof(char *)),                         \
                   (char *const *)(const char *[]){"mma", __VA_ARGS__}, of, 3)

/* What is not understood is refused before a GPU is looked for. */
START_TEST(requests)
{
  static const char *const of[] = {"mma-k8", "wgmma-k16", "mma-k8"};
  mma_request r;

  ck_assert_int_eq(READ("--out", "here"), 0);
  ck_assert(strcmp(r.out, "here") == 0 && r.only == NULL && r.n == 5000 && r.seed == 1);
  ck_assert_int_eq(READ("--only", "wgmma-k16", "--out", "here", "--count", "1000000", "--seed", "18446744073709551615"), 0);
  ck_assert(strcmp(r.only, "wgmma-k16") == 0 && r.n == REQUEST_MOST && r.seed == UINT64_MAX);
  ck_assert_int_eq(READ("--out", "here", "--only", "mma-k9"), -1);
  ck_assert_int_eq(READ("--out", "here", "--only", ""), -1);
  ck_assert_int_eq(READ("--only", "mma-k8"), -1); /* no folder */
  ck_assert_int_eq(READ("--out"), -1);
  ck_assert_int_eq(READ("--out", "here", "--count", "0"), -1);
  ck_assert_int_eq(READ("--out", "here", "--count", "1000001"), -1);
  ck_assert_int_eq(READ("--out", "here", "--count", "12x"), -1);
  ck_assert_int_eq(READ("--out", "here", "--count", "-1"), -1);
  ck_assert_int_eq(READ("--out", "here", "--seed", "18446744073709551616"), -1);
  ck_assert_int_eq(READ("--out", "here", "--all", "yes"), -1);
}
END_TEST

int
main(void)
{
  TCase *t = tests_of("recorder");

  tcase_add_test(t, products_are_of_their_format);
  tcase_add_test(t, numbers_have_their_values);
  tcase_add_test(t, float16_is_rounded_as_the_rules_round);
  tcase_add_test(t, fragments_are_those_of_the_isa);
  tcase_add_test(t, shared_memory_holds_core_matrices);
  tcase_add_test(t, results_are_taken_from_the_diagonal);
  tcase_add_test(t, gpus_are_called_by_their_own_names);
  tcase_add_test(t, what_is_written_is_read);
  tcase_add_test(t, kept_records_are_of_these_products);
  tcase_add_test(t, requests);
  return run_tests();
}
