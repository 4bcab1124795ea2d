/* Short decimals beside the rationals that they stand for: never above, by less than one in their last digit. */
#include "exact/decimal.h"
#include "exact/literal.h"
#include "../draw.h"
#include "../suite.h"
#include "samples.h"

#include <stdio.h>
#include <string.h>

static void
says(const char *rational, const char *decimal, bool exactly)
{
  char text[CLARKE_DECIMAL_ROOM];
  mpq_t q;

  mpq_init(q);
  ck_assert_int_eq(mpq_set_str(q, rational, 10), 0);
  mpq_canonicalize(q);
  ck_assert(clarke_decimal_down(text, q) == exactly);
  ck_assert_str_eq(text, decimal);
  mpq_clear(q);
}

START_TEST(examples)
{
  says("0", "0", true);
  says("1", "1", true);
  says("1/64", "0.015625", true);
  says("1/3", "0.333333", false);
  says("2/3", "0.666666", false);
  says("1234567", "1.23456e+06", false);
  says("123456", "123456", true);
  says("120000", "120000", true);
  says("1000000", "1e+06", true);
  says("1999999/2", "999999", false);
  says("25/2", "12.5", true);
  says("1/10000", "0.0001", true);
  says("1/100000", "1e-05", true);
  says("103125/1000000000000", "1.03125e-07", true);
  says("9999999/100", "99999.9", false);
  says("99/10", "9.9", true);
}
END_TEST

/* q (1 - 10^-5) < text <= q, and the flag tells whether they are equal. */
static void
compare(const mpq_t q)
{
  char text[CLARKE_DECIMAL_ROOM];
  const bool exactly = clarke_decimal_down(text, q);
  mpq_t read, least;

  mpq_inits(read, least, NULL);
  ck_assert_msg(clarke_literal_parse(read, text), "%s", text);
  ck_assert(mpq_cmp(read, q) <= 0);
  ck_assert_int_eq(exactly, mpq_equal(read, q));
  mpq_set_ui(least, 99999, 100000);
  mpq_mul(least, least, q);
  ck_assert(mpq_sgn(q) == 0 || mpq_cmp(read, least) > 0);
  ck_assert_uint_lt(strlen(text), 16);
  mpq_clears(read, least, NULL);
}

START_TEST(drawn)
{
  uint64_t state = 5;
  mpq_t q;

  mpq_init(q);
  for (size_t i = 0; i < 20000; i++) {
    const size_t bits = draw_below(&state, i % 100 == 0 ? 3000 : 90);

    sample_integer(mpq_numref(q), &state, bits);
    mpz_abs(mpq_numref(q), mpq_numref(q));
    do
      sample_integer(mpq_denref(q), &state, bits + 40);
    while (mpz_sgn(mpq_denref(q)) <= 0);
    mpq_canonicalize(q);
    compare(q);
  }
  mpq_clear(q);
}
END_TEST

START_TEST(powers_of_ten_and_what_is_beside_them)
{
  mpq_t q, beside;

  mpq_inits(q, beside, NULL);
  for (long k = -60; k <= 60; k++) {
    mpz_ui_pow_ui(k < 0 ? mpq_denref(q) : mpq_numref(q), 10, (unsigned long)labs(k));
    mpz_set_ui(k < 0 ? mpq_numref(q) : mpq_denref(q), 1);
    compare(q);
    mpq_set_ui(beside, 999999999, 1000000000);
    mpq_mul(beside, beside, q);
    compare(beside);
    mpq_set_ui(beside, 1000000001, 1000000000);
    mpq_mul(beside, beside, q);
    compare(beside);
  }
  mpq_clears(q, beside, NULL);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("decimal");

  tcase_add_test(tests, examples);
  tcase_add_test(tests, drawn);
  tcase_add_test(tests, powers_of_ten_and_what_is_beside_them);
  return run_tests();
}
