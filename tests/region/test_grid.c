/* Numbers of float formats along a segment: counted by arithmetic here, one by one there; and the zone of each is asked for by itself. */
#include "../ok.h"
#include "drawn_program.h"

#include "program/derive.h"
#include "session/grid.h"

#include <string.h>

/* The finite number with those bits; false: there is none, or it is the other zero. */
static bool
decode(mpq_t q, unsigned bits, clarke_ieee format)
{
  const unsigned mantissa = format == CLARKE_IEEE_F16 ? 10 : 7, exponents = 15 - mantissa;
  const unsigned e = bits >> mantissa & ((1u << exponents) - 1), m = bits & ((1u << mantissa) - 1);
  const int bias = (1 << (exponents - 1)) - 1, by = (int)(e == 0 ? 1 : e) - bias - (int)mantissa;

  if (e == (1u << exponents) - 1 || bits == 0x8000)
    return false;
  mpq_set_ui(q, m + (e > 0 ? 1u << mantissa : 0), 1);
  if (by >= 0)
    mpq_mul_2exp(q, q, (mp_bitcnt_t)by);
  else
    mpq_div_2exp(q, q, (mp_bitcnt_t)-by);
  if (bits >> 15)
    mpq_neg(q, q);
  return true;
}

static unsigned long
counted(clarke_ieee format, const mpq_t a, const mpq_t b, bool open)
{
  unsigned long n = 0;
  mpq_t q;

  mpq_init(q);
  for (unsigned bits = 0; bits < 1u << 16; bits++) {
    if (!decode(q, bits, format))
      continue;
    const int from = mpq_cmp(q, a), to = mpq_cmp(q, b);

    n += open ? from > 0 && to < 0 : from >= 0 && to <= 0;
  }
  mpq_clear(q);
  return n;
}

/* Ends: drawn fractions, numbers of the format, 0, and far beyond the largest. */
static void
draw_end(mpq_t q, uint64_t *state, clarke_ieee format)
{
  static const char *const ends[] = {"0", "1", "-1/1000000000", "65504", "-70000", "1/16777216", "1/33554432", "3/16777216", "1/3", "100000000000000000000"};

  switch (roll(state) % 3) {
  case 0:
    while (!decode(q, roll(state) % (1u << 16), format))
      ;
    return;
  case 1:
    mpq_set_str(q, ends[roll(state) % 10], 10);
    return;
  default:
    mpq_set_si(q, draw_entry(state, 5000), 1 + roll(state) % 3000);
    mpq_canonicalize(q);
  }
}

START_TEST(numbers_are_counted)
{
  uint64_t state = 88172645463325252u;
  mpq_t a, b;
  mpz_t n;

  mpq_inits(a, b, NULL);
  mpz_init(n);
  for (size_t k = 0; k < 80; k++) {
    const clarke_ieee format = k % 2 == 0 ? CLARKE_IEEE_F16 : CLARKE_IEEE_BF16;

    draw_end(a, &state, format);
    draw_end(b, &state, format);
    if (k % 10 == 0)
      mpq_set(b, a);
    if (mpq_cmp(a, b) > 0)
      mpq_swap(a, b);
    for (int open = 0; open < 2; open++) {
      clarke_grid_count(n, format, a, b, open);
      ck_assert_msg(mpz_cmp_ui(n, counted(format, a, b, open)) == 0, "%d: %g to %g: %lu", open, mpq_get_d(a), mpq_get_d(b), mpz_get_ui(n));
    }
  }
  mpq_set_si(a, -1, 1);
  mpq_set_si(b, 1, 1);
  clarke_grid_count(n, CLARKE_IEEE_F32, a, b, false);
  ck_assert_uint_eq(mpz_get_ui(n), 2 * 127 * ((size_t)1 << 23) + 1);
  mpq_clears(a, b, NULL);
  mpz_clear(n);
}
END_TEST

/* Each number of float16 from a to b by itself: how many lie in the bifurcation zone. */
static void
ask_each(unsigned long *n, unsigned long *in_zone, const clarke_code *p, mpq_t *a, mpq_t *b, size_t entry, size_t entries)
{
  mpq_t *at = clarke_rationals(entries);
  clarke_profile profile;

  *n = *in_zone = 0;
  clarke_profile_init(&profile);
  OK(clarke_profile_load(&profile, NULL, &error));
  for (size_t i = 0; i < entries; i++)
    mpq_set(at[i], a[i]);
  for (unsigned bits = 0; bits < 1u << 16; bits++) {
    clarke_derivation d;

    if (!decode(at[entry], bits, CLARKE_IEEE_F16) || mpq_cmp(at[entry], a[entry]) < 0 || mpq_cmp(at[entry], b[entry]) > 0)
      continue;
    clarke_derivation_init(&d);
    OK(clarke_derive(&d, p, at, &profile, &error));
    ck_assert_int_ne(d.zone, CLARKE_ZONE_UNKNOWN);
    ++*n;
    *in_zone += d.zone == CLARKE_ZONE_BIFURCATION;
    clarke_derivation_clear(&d);
  }
  clarke_profile_clear(&profile);
  clarke_rationals_free(at, entries);
}

/* A segment of one entry, up or down, an eighth long, around a small multiple of a half. The other entries are integers: whole intervals may
 * be in the zone. */
static size_t
draw_segment(mpq_t *a, mpq_t *b, size_t n, uint64_t *state)
{
  const size_t entry = roll(state) % n;
  const bool down = roll(state) % 4 == 0;

  for (size_t i = 0; i < n; i++) {
    mpq_set_si(a[i], draw_entry(state, 2), 1);
    mpq_set(b[i], a[i]);
  }
  mpq_set_si(a[entry], 16 * (2 + (long)(roll(state) % 4)) - 1, 32);
  mpq_canonicalize(a[entry]);
  mpq_set_si(b[entry], 1, 16);
  mpq_add(b[entry], b[entry], a[entry]);
  if (down)
    mpq_swap(a[entry], b[entry]);
  return entry;
}

START_TEST(zones_are_those_of_each_number)
{
  uint64_t state = 2463534242u;
  size_t some = 0, all = 0;

  for (size_t k = 0; k < 150; k++) {
    const size_t n = 1 + roll(&state) % 2;
    mpq_t *a = clarke_rationals(n), *b = clarke_rationals(n);
    clarke_region_function f;
    clarke_grid g;
    unsigned long numbers, in_zone;
    source text = {.n = 0};

    put_network(&text, &state, n, NULL);
    const size_t entry = draw_segment(a, b, n, &state);

    clarke_region_function_init(&f);
    OK(clarke_prog_parse(&f.program, text.text, text.n, "drawn.prog", &error));
    OK(clarke_code_wrt(&f.program, NULL, 0, &error));
    f.n = n;
    clarke_grid_init(&g);
    OK(clarke_grid_find(&g, &f, a, b, CLARKE_IEEE_F16, &error));
    if (mpq_cmp(a[entry], b[entry]) > 0)
      mpq_swap(a[entry], b[entry]);
    ask_each(&numbers, &in_zone, &f.program, a, b, entry, n);
    ck_assert_uint_eq(mpz_get_ui(g.numbers), numbers);
    ck_assert_msg(mpz_cmp_ui(g.bifurcation, in_zone) == 0, "%lu of %lu, not %lu:\n%s", in_zone, numbers, mpz_get_ui(g.bifurcation), text.text);
    ck_assert_int_eq(mpz_sgn(g.unknown), 0);
    some += in_zone > 0 && in_zone < numbers;
    all += in_zone == numbers;
    clarke_grid_clear(&g);
    clarke_region_function_clear(&f);
    clarke_rationals_free(a, n);
    clarke_rationals_free(b, n);
  }
  printf("grid: some numbers in the zone %zu times, all %zu times of 150\n", some, all);
  ck_assert_uint_gt(some, 5);
  ck_assert_uint_gt(all, 1);
}
END_TEST

/* What is not piecewise linear, or varies in several entries, is refused. */
START_TEST(refused)
{
  static const char *const texts[] = {"input x, y\noutput x * y\n", "input x, y\noutput exp(x) + y\n", "input x, y\noutput hardswish(x) + y\n"};

  for (size_t k = 0; k < 4; k++) {
    const char *text = k < 3 ? texts[k] : "input x, y\noutput relu(x + y)\n";
    mpq_t *a = clarke_rationals(2), *b = clarke_rationals(2);
    clarke_region_function f;
    clarke_grid g;

    mpq_set_ui(b[0], 1, 1);
    if (k == 3)
      mpq_set_ui(b[1], 1, 1);
    clarke_region_function_init(&f);
    OK(clarke_prog_parse(&f.program, text, strlen(text), "drawn.prog", &error));
    OK(clarke_code_wrt(&f.program, NULL, 0, &error));
    f.n = 2;
    clarke_grid_init(&g);
    ck_assert_int_eq(clarke_grid_find(&g, &f, a, b, CLARKE_IEEE_F16, &error), CLARKE_EINPUT);
    ck_assert(strstr(error.text, k < 3 ? "piecewise linear" : "differ in several") != NULL);
    clarke_grid_clear(&g);
    clarke_region_function_clear(&f);
    clarke_rationals_free(a, 2);
    clarke_rationals_free(b, 2);
  }
}
END_TEST

int
main(void)
{
  TCase *tc = tests_of("grid");

  tcase_add_test(tc, numbers_are_counted);
  tcase_add_test(tc, zones_are_those_of_each_number);
  tcase_add_test(tc, refused);
  return run_tests();
}
