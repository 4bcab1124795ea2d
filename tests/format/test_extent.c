/* Extents by their definition: counts up to the bound, and entries gathered one index after another. */
#include "bytes.h"

#include "../ok.h"

#include "format/extent.h"

START_TEST(counts)
{
  const size_t shape[3] = { 2, 3, 4 }, empty[3] = { SIZE_MAX, 0, SIZE_MAX };
  const size_t most[2] = { CLARKE_MAX_ENTRIES / 2, 2 }, over[2] = { CLARKE_MAX_ENTRIES / 2 + 1, 2 };
  const size_t wraps[2] = { (size_t)1 << 40, (size_t)1 << 24 };
  const size_t longest[CLARKE_MAX_RANK] = { 0, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX };
  clarke_extent e;

  OK(clarke_extent_of(&e, CLARKE_F32, 3, shape, &error));
  ck_assert(e.count == 24 && e.bytes == 96);
  ck_assert_str_eq(e.text, "float32 [2, 3, 4]");
  OK(clarke_extent_of(&e, CLARKE_F16, 0, NULL, &error));
  ck_assert(e.count == 1 && e.bytes == 2);
  ck_assert_str_eq(e.text, "float16 []");
  OK(clarke_extent_of(&e, CLARKE_U8, 3, empty, &error));
  ck_assert(e.count == 0 && e.bytes == 0);
  OK(clarke_extent_of(&e, CLARKE_F64, 2, most, &error));
  ck_assert(e.count == CLARKE_MAX_ENTRIES && e.bytes == 8 * CLARKE_MAX_ENTRIES);
  ck_assert_int_eq(clarke_extent_of(&e, CLARKE_U8, 2, over, &error), CLARKE_ENOMEM);
  assert_says(error.text, "uint8 [1073741825, 2] has more than the 2147483648 entries that are read");
  ck_assert_int_eq(clarke_extent_of(&e, CLARKE_U8, 2, wraps, &error), CLARKE_ENOMEM); /* 2^64 entries */
  OK(clarke_extent_of(&e, CLARKE_BF16, CLARKE_MAX_RANK, longest, &error));
  ck_assert_str_eq(e.text + strlen(e.text) - 1, "]");
}
END_TEST

/* All strides of one to three axes, rows repeated (stride 0) and turned (the first index fastest) among them. */
START_TEST(gathered)
{
  unsigned char from[120], to[48];

  for (size_t k = 0; k < sizeof from; k++)
    from[k] = (unsigned char)k;
  for (size_t s = 0; s < 6 * 6 * 6; s++) {
    const size_t dims[3] = { 2, 3, 4 }, strides[3] = { s % 6, s / 6 % 6, s / 36 };
    size_t n = 0;
    clarke_extent e;

    OK(clarke_extent_of(&e, CLARKE_F16, 3, dims, &error));
    clarke_extent_gather(to, from, &e, 2, 3, dims, strides);
    for (size_t i = 0; i < 2; i++)
      for (size_t j = 0; j < 3; j++)
        for (size_t k = 0; k < 4; k++, n++) {
          const size_t at = i * strides[0] + j * strides[1] + k * strides[2];

          if (memcmp(to + 2 * n, from + 2 * at, 2) != 0)
            ck_abort_msg("strides %zu: entry %zu is wrong", s, n);
        }
  }
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("extent");

  tcase_add_test(tests, counts);
  tcase_add_test(tests, gathered);
  return run_tests();
}
