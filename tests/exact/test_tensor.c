/* Tensors: every 16-bit float against its definition, wider floats and integers by round trips,
 * and what must be refused. */
#include "exact/float8.h"
#include "exact/tensor.h"
#include "../suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* (-1)^s 2^(e - bias) 1.f by repeated halving and doubling, apart from ldexp. */
static double
by_definition(unsigned bits, int exponent, int fraction)
{
  const int bias = (1 << (exponent - 1)) - 1;
  const int e = (int)(bits >> fraction) & ((1 << exponent) - 1);
  double value = bits & ((1u << fraction) - 1);
  int scale = (e == 0 ? 1 : e) - bias - fraction;

  if (e != 0)
    value += 1 << fraction;
  for (; scale > 0; scale--)
    value *= 2;
  for (; scale < 0; scale++)
    value /= 2;
  return bits >> (exponent + fraction) ? -value : value;
}

START_TEST(small_floats)
{
  for (unsigned bits = 0; bits < 65536; bits++) {
    const double half = clarke_f16_value((uint16_t)bits), brain = clarke_bf16_value((uint16_t)bits);
    const uint32_t wide = bits << 16;
    float same;

    if ((bits >> 10 & 31) == 31)
      ck_assert(!isfinite(half));
    else
      ck_assert(half == by_definition(bits, 5, 10) && !signbit(half) == !(bits >> 15));
    memcpy(&same, &wide, sizeof same);
    if (!isfinite(same))
      ck_assert(!isfinite(brain));
    else
      ck_assert(brain == (double)same && !signbit(brain) == !signbit(same));
  }
}
END_TEST

/* E5M2 is the upper byte of a half. With one zero the exponent is one less; then, and in E4M3FN, the largest one is a number's, too. */
START_TEST(floats_of_8_bits)
{
  for (unsigned code = 0; code < 256; code++) {
    const double fn = clarke_float8_value(CLARKE_F8_E4M3FN, (uint8_t)code), half = clarke_f16_value((uint16_t)(code << 8));
    const double e5m2 = clarke_float8_value(CLARKE_F8_E5M2, (uint8_t)code);
    const double four = clarke_float8_value(CLARKE_F8_E4M3FNUZ, (uint8_t)code), five = clarke_float8_value(CLARKE_F8_E5M2FNUZ, (uint8_t)code);

    ck_assert((code & 0x7f) == 0x7f ? isnan(fn) : fn == by_definition(code, 4, 3));
    ck_assert(isnan(half) ? isnan(e5m2) : e5m2 == half);
    ck_assert(code == 0x80 ? isnan(four) : four == by_definition(code, 4, 3) / 2);
    ck_assert(code == 0x80 ? isnan(five) : five == by_definition(code, 5, 2) / 2);
  }
  ck_assert(clarke_float8_is(CLARKE_F8_E4M3FN) && clarke_float8_is(CLARKE_F8_E5M2FNUZ));
  ck_assert(!clarke_float8_is(CLARKE_F16) && !clarke_float8_is(CLARKE_U2) && !clarke_float8_is(CLARKE_U8));
}
END_TEST

START_TEST(nearest_of_8_bits)
{
  static const size_t count[] = {253, 255, 247, 255}; /* two codes are zeros, if not one */
  static const double most[] = {448, 240, 57344, 57344};

  for (unsigned t = 0; t < 4; t++) {
    const clarke_dtype type = CLARKE_F8_E4M3FN + t;
    double number[CLARKE_FLOAT8_MOST];
    bool even[CLARKE_FLOAT8_MOST];
    const size_t n = clarke_float8_grid(type, number, even);

    ck_assert_uint_eq(n, count[t]);
    ck_assert(number[n - 1] == most[t] && number[0] == -most[t]);
    for (size_t i = 0; i + 1 < n; i++) {
      const double middle = (number[i] + number[i + 1]) / 2, step = (number[i + 1] - number[i]) / 8;

      ck_assert(step > 0 && even[i] != even[i + 1]);
      ck_assert(clarke_float8_nearest(type, number[i]) == number[i]);
      ck_assert(clarke_float8_nearest(type, middle - step) == number[i] && clarke_float8_nearest(type, middle + step) == number[i + 1]);
      ck_assert(clarke_float8_nearest(type, middle) == number[even[i] ? i : i + 1]);
    }
    ck_assert(clarke_float8_nearest(type, 1e9) == most[t] && clarke_float8_nearest(type, -1e9) == -most[t]);
  }
}
END_TEST

/* Decodes `count` entries from bytes at an odd address. */
static clarke_status
decode(clarke_tensor *t, clarke_dtype dtype, const void *bytes, size_t count, bool big,
       clarke_error *err)
{
  const size_t size = count * clarke_dtype_size(dtype);
  unsigned char *copy = malloc(size + 1);
  clarke_status status = clarke_tensor_shape(t, "w", dtype, 1, &count, err);

  ck_assert_int_eq(status, CLARKE_OK);
  memcpy(copy + 1, bytes, size);
  status = clarke_tensor_decode(t, copy + 1, big, err);
  free(copy);
  return status;
}

START_TEST(wide_floats)
{
  const float f[] = { 0.1f, -0.0f, 0x1p-149f, -0x1.fffffep127f, 3 };
  const double d[] = { 0.1, -0.0, 0x1p-1074, -0x1.fffffffffffffp1023, 3 };
  const unsigned char third[] = { 0x3f, 0xd5, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55 };
  clarke_tensor t;

  clarke_tensor_init(&t);
  ck_assert_int_eq(decode(&t, CLARKE_F32, f, 5, false, NULL), CLARKE_OK);
  for (int k = 0; k < 5; k++)
    ck_assert(t.real[k] == (double)f[k] && !signbit(t.real[k]) == !signbit(f[k]));
  ck_assert_int_eq(decode(&t, CLARKE_F64, d, 5, false, NULL), CLARKE_OK);
  ck_assert(memcmp(t.real, d, sizeof d) == 0);
  ck_assert_int_eq(decode(&t, CLARKE_F64, third, 1, true, NULL), CLARKE_OK);
  ck_assert(t.real[0] == 1.0 / 3);
  ck_assert(t.integer == NULL);
  clarke_tensor_clear(&t);
}
END_TEST

START_TEST(integers)
{
  const unsigned char bytes[] = { 0xff, 0xfe, 0xfd, 0xfc, 0xfb, 0xfa, 0xf9, 0x78 };
  static const struct {
    clarke_dtype dtype;
    bool big;
    int64_t first;
  } cases[] = {
    { CLARKE_I8, false, -1 },          { CLARKE_U8, false, 255 },
    { CLARKE_I16, false, -257 },
    { CLARKE_I16, true, -2 },          { CLARKE_U16, false, 0xfeff },
    { CLARKE_U16, true, 0xfffe },      { CLARKE_I32, true, (int32_t)0xfffefdfc },
    { CLARKE_U32, true, 0xfffefdfc },  { CLARKE_I32, false, (int32_t)0xfcfdfeff },
    { CLARKE_I64, false, 0x78f9fafbfcfdfeff }, { CLARKE_U64, false, 0x78f9fafbfcfdfeff },
  };
  clarke_tensor t;
  clarke_error err;

  clarke_tensor_init(&t);
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    ck_assert_int_eq(decode(&t, cases[k].dtype, bytes, 1, cases[k].big, NULL), CLARKE_OK);
    ck_assert(t.real == NULL && t.integer[0] == cases[k].first);
  }
  ck_assert_int_eq(decode(&t, CLARKE_BOOL, "\1", 1, false, NULL), CLARKE_OK);
  ck_assert_int_eq(t.integer[0], 1);
  ck_assert_int_eq(decode(&t, CLARKE_BOOL, bytes, 1, false, &err), CLARKE_EINPUT);
  ck_assert_ptr_nonnull(strstr(err.text, "a boolean is 0 or 1"));
  ck_assert_int_eq(decode(&t, CLARKE_U64, bytes, 1, true, &err), CLARKE_EINPUT);
  ck_assert_ptr_nonnull(strstr(err.text, "tensor w: entry 0"));
  clarke_tensor_clear(&t);
}
END_TEST

START_TEST(refused)
{
  const size_t dims[9] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
  const size_t huge[3] = { SIZE_MAX / 2, 4, 0 }, large[2] = { (size_t)1 << 31, 2 };
  const float bad[] = { 1, 2, NAN, INFINITY };
  clarke_tensor t;
  clarke_error err;

  clarke_tensor_init(&t);
  ck_assert_int_eq(decode(&t, CLARKE_F32, bad, 4, false, &err), CLARKE_EINPUT);
  ck_assert_str_eq(err.text, "tensor w: entry 2 is NaN; it must be finite");
  clarke_tensor_clear(&t);
  ck_assert_int_eq(clarke_tensor_shape(&t, "w", CLARKE_F32, 1, (const size_t[]){4}, &err), CLARKE_OK);
  ck_assert_int_eq(clarke_tensor_decode_any(&t, bad, &err), CLARKE_OK); /* where they are asked for */
  ck_assert(t.real[1] == 2 && isnan(t.real[2]) && isinf(t.real[3]));
  clarke_tensor_clear(&t);
  clarke_tensor_init(&t);
  ck_assert_int_eq(decode(&t, CLARKE_F32, bad + 3, 1, false, &err), CLARKE_EINPUT);
  ck_assert_str_eq(err.text, "tensor w: entry 0 is infinite; it must be finite");
  ck_assert_int_eq(clarke_tensor_shape(&t, NULL, CLARKE_F32, 9, dims, &err), CLARKE_EINPUT);
  ck_assert_int_eq(clarke_tensor_shape(&t, NULL, CLARKE_F32, 2, huge, &err), CLARKE_ENOMEM);
  ck_assert_int_eq(clarke_tensor_shape(&t, NULL, CLARKE_F32, 2, large, &err), CLARKE_ENOMEM);
  ck_assert_int_eq(clarke_tensor_shape(&t, NULL, CLARKE_F32, 3, huge, &err), CLARKE_OK);
  ck_assert_uint_eq(t.count, 0);
  ck_assert_int_eq(clarke_tensor_shape(&t, NULL, CLARKE_I8, 0, NULL, &err), CLARKE_OK);
  ck_assert_uint_eq(t.count, 1);
  clarke_tensor_clear(&t);
}
END_TEST

/* Packed bytes are read where they are, at any address, and decode to the same numbers; other types are decoded at once. */
START_TEST(packed_bytes)
{
  unsigned char bytes[4 * 6 + 1];
  const size_t dims[2] = {2, 3};
  clarke_tensor packed, decoded;
  clarke_error err;

  for (size_t i = 0; i < sizeof bytes; i++)
    bytes[i] = (unsigned char)(37 * i + 11) & 0x7e; /* finite, whatever the byte order */
  clarke_tensor_init(&packed);
  clarke_tensor_init(&decoded);
  ck_assert_int_eq(clarke_tensor_describe(&packed, "w", CLARKE_F32, 2, dims, &err), CLARKE_OK);
  ck_assert(packed.real == NULL && packed.integer == NULL && packed.count == 6);
  ck_assert_int_eq(clarke_tensor_shape(&decoded, "w", CLARKE_F32, 2, dims, &err), CLARKE_OK);
  ck_assert_int_eq(clarke_tensor_pack(&packed, bytes + 1, &err), CLARKE_OK);
  ck_assert_int_eq(clarke_tensor_decode(&decoded, bytes + 1, false, &err), CLARKE_OK);
  ck_assert(packed.packed == bytes + 1 && packed.real == NULL);
  for (size_t i = 0; i < 6; i++)
    ck_assert((double)clarke_f32_at(packed.packed, i) == decoded.real[i]);
  for (size_t round = 0; round < 2; round++) { /* the second time there is nothing to do */
    ck_assert_int_eq(clarke_tensor_unpack(&packed, &err), CLARKE_OK);
    ck_assert(packed.packed == NULL);
    ck_assert_mem_eq(packed.real, decoded.real, 6 * sizeof *packed.real);
  }
  ck_assert_int_eq(clarke_tensor_describe(&packed, "h", CLARKE_F16, 2, dims, &err), CLARKE_OK);
  ck_assert_int_eq(clarke_tensor_pack(&packed, bytes, &err), CLARKE_OK);
  ck_assert(packed.packed == NULL && packed.real[5] == clarke_f16_value((uint16_t)(bytes[10] | bytes[11] << 8)));
  ck_assert_int_eq(clarke_tensor_describe(&packed, "b", CLARKE_U8, 2, dims, &err), CLARKE_OK);
  ck_assert_int_eq(clarke_tensor_pack(&packed, bytes, &err), CLARKE_OK);
  ck_assert(packed.packed == NULL && packed.real == NULL && packed.integer[5] == bytes[5]);
  memset(bytes, 0xff, sizeof bytes);
  ck_assert_int_eq(clarke_tensor_shape(&packed, "w", CLARKE_F32, 2, dims, &err), CLARKE_OK);
  ck_assert_int_eq(clarke_tensor_pack(&packed, bytes, &err), CLARKE_EINPUT);
  ck_assert_str_eq(err.text, "tensor w: entry 0 is NaN; it must be finite");
  clarke_tensor_clear(&packed);
  clarke_tensor_clear(&decoded);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("tensor");

  tcase_add_test(tests, small_floats);
  tcase_add_test(tests, floats_of_8_bits);
  tcase_add_test(tests, nearest_of_8_bits);
  tcase_add_test(tests, wide_floats);
  tcase_add_test(tests, integers);
  tcase_add_test(tests, refused);
  tcase_add_test(tests, packed_bytes);
  return run_tests();
}
