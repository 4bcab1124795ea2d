/* Numbers of float formats along a segment: counted by arithmetic here, one by one there; and the zone of each is asked for by itself. */
#include "../ok.h"
#include "drawn_program.h"
#include "../draw.h"

#include "program/derive.h"
#include "session/grid_inside.h"

#include <math.h>
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
  for (size_t k = 0; k < draw_count(80); k++) {
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

/* Each number of a format from a to b by itself: how many lie in the bifurcation zone. */
static void
ask_each(unsigned long *n, unsigned long *in_zone, const clarke_code *p, mpq_t *a, mpq_t *b, size_t entry, size_t entries, clarke_ieee format)
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

    if (!decode(at[entry], bits, format) || mpq_cmp(at[entry], a[entry]) < 0 || mpq_cmp(at[entry], b[entry]) > 0)
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

  for (size_t k = 0; k < draw_count(150); k++) {
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
    ask_each(&numbers, &in_zone, &f.program, a, b, entry, n, CLARKE_IEEE_F16);
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
  printf("grid: some numbers in the zone %zu times, all %zu times of %zu\n", some, all, draw_count(150));
  ck_assert(draw_one_in() > 1 || (some > 5 && all > 1));
}
END_TEST

/* Each pair of numbers by itself: of each number of the first entry those of the second one. */
static void
ask_each_pair(unsigned long *n, unsigned long *in_zone, const clarke_code *p, mpq_t *a, mpq_t *b, size_t entries)
{
  mpq_t *low = clarke_rationals(entries), *high = clarke_rationals(entries);

  *n = *in_zone = 0;
  for (size_t i = 0; i < entries; i++) {
    mpq_set(low[i], a[i]);
    mpq_set(high[i], b[i]);
  }
  for (unsigned bits = 0; bits < 1u << 16; bits++) {
    unsigned long some, found;

    if (!decode(low[0], bits, CLARKE_IEEE_BF16) || mpq_cmp(low[0], a[0]) < 0 || mpq_cmp(low[0], b[0]) > 0)
      continue;
    mpq_set(high[0], low[0]);
    ask_each(&some, &found, p, low, high, 1, entries, CLARKE_IEEE_BF16);
    *n += some;
    *in_zone += found;
  }
  clarke_rationals_free(low, entries);
  clarke_rationals_free(high, entries);
}

/* A rectangle around halves, in which kinks that have integers for coefficients meet. Its ends are numbers of the format or not. */
static void
draw_rectangle(mpq_t *a, mpq_t *b, uint64_t *state)
{
  mpq_t side;

  mpq_init(side);
  for (size_t i = 0; i < 2; i++) {
    mpq_set_si(a[i], (roll(state) % 2 == 0 ? 1 : -1) * (long)(2 + roll(state) % 5), 4);
    mpq_canonicalize(a[i]);
    mpq_set_si(side, 3 + (long)(roll(state) % 4), roll(state) % 2 == 0 ? 48 : 32);
    mpq_canonicalize(side);
    mpq_add(b[i], a[i], side);
    mpq_sub(a[i], a[i], side);
  }
  mpq_clear(side);
}

START_TEST(zones_are_those_of_each_pair)
{
  uint64_t state = 362436069u;
  size_t some = 0, all = 0, columns = 0;

  for (size_t k = 0; k < draw_count(60); k++) {
    mpq_t *a = clarke_rationals(2), *b = clarke_rationals(2);
    clarke_region_function f;
    clarke_grid g;
    unsigned long numbers, in_zone;
    source text = {.n = 0};

    put_network(&text, &state, 2, NULL);
    draw_rectangle(a, b, &state);
    clarke_region_function_init(&f);
    OK(clarke_prog_parse(&f.program, text.text, text.n, "drawn.prog", &error));
    OK(clarke_code_wrt(&f.program, NULL, 0, &error));
    f.n = 2;
    clarke_grid_init(&g);
    OK(clarke_grid_find_plane(&g, &f, k % 2 == 0 ? a : b, k % 2 == 0 ? b : a, CLARKE_IEEE_BF16, &error));
    ask_each_pair(&numbers, &in_zone, &f.program, a, b, 2);
    ck_assert_uint_eq(mpz_get_ui(g.numbers), numbers);
    ck_assert_msg(mpz_cmp_ui(g.bifurcation, in_zone) == 0, "%lu of %lu, not %lu:\n%s", in_zone, numbers, mpz_get_ui(g.bifurcation), text.text);
    ck_assert_int_eq(mpz_sgn(g.unknown), 0);
    some += in_zone > 0 && in_zone < numbers;
    all += in_zone == numbers && numbers > 0;
    columns += g.intervals;
    clarke_grid_clear(&g);
    clarke_region_function_clear(&f);
    clarke_rationals_free(a, 2);
    clarke_rationals_free(b, 2);
  }
  printf("grid: some pairs in the zone %zu times, all %zu times of %zu, %zu columns\n", some, all, draw_count(60), columns);
  ck_assert(draw_one_in() > 1 || (some > 8 && columns > 70));
}
END_TEST

/* The pairs of float16 with x from 1/2 to 3/4 and 1 - x <= y <= 1: x is a multiple of 2^-11. */
static void
above_the_line(mpz_t n)
{
  mpz_set_ui(n, 0);
  for (unsigned k = 1024; k <= 1536; k++) {
    mpq_t from, to;

    mpq_inits(from, to, NULL);
    mpq_set_ui(from, 2048 - k, 2048);
    mpq_canonicalize(from);
    mpq_set_ui(to, 1, 1);
    mpz_add_ui(n, n, counted(CLARKE_IEEE_F16, from, to, false));
    mpq_clears(from, to, NULL);
  }
}

/* The kink x + y = 1 meets each number x of float16 in [1/2, 3/4] once, where 1 - x is one; x = 1/3 + y meets none. */
START_TEST(slanted_lines)
{
  static const struct {
    const char *text, *from[2], *to[2];
    clarke_ieee format;
    const char *numbers, *in_zone;
  } cases[] = {
    {"input x, y\noutput relu(x + y - 1)\n", {"1/2", "0"}, {"3/4", "1"}, CLARKE_IEEE_F16, "7880193", "513"},
    {"input x, y\noutput relu(x - y - 1/3)\n", {"1/2", "0"}, {"3/4", "1"}, CLARKE_IEEE_F16, "7880193", "0"},
    /* vertical and level ones are of all formats: one number of x with all of y, and the other way */
    {"input x, y\noutput relu(x - 1/2) + relu(y)\n", {"-1", "-1"}, {"1", "1"}, CLARKE_IEEE_F32, "4539909903627583489", "4261412865"},
    /* A kink that is touched all over, and depends on nothing; and one that depends on z, which stays. */
    {"input x, y\noutput relu(x - x) + y\n", {"0", "0"}, {"1", "1"}, CLARKE_IEEE_F16, "235960321", "0"},
    {"input x, y, z\noutput relu(z) + x + y\n", {"0", "0"}, {"1", "1"}, CLARKE_IEEE_F16, "235960321", "235960321"},
    /* That one right of a slanted line alone. */
    {"input x, y, z\noutput max(relu(z) + x + y, 1)\n", {"1/2", "0"}, {"3/4", "1"}, CLARKE_IEEE_F16, "7880193", NULL},
  };

  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    mpq_t *a = clarke_rationals(3), *b = clarke_rationals(3);
    clarke_region_function f;
    clarke_grid g;
    mpz_t x;

    for (size_t i = 0; i < 2; i++) {
      mpq_set_str(a[i], cases[k].from[i], 10);
      mpq_set_str(b[i], cases[k].to[i], 10);
    }
    clarke_region_function_init(&f);
    OK(clarke_prog_parse(&f.program, cases[k].text, strlen(cases[k].text), "grid.prog", &error));
    OK(clarke_code_wrt(&f.program, NULL, 0, &error));
    f.n = clarke_code_entries(&f.program);
    clarke_grid_init(&g);
    OK(clarke_grid_find_plane(&g, &f, a, b, cases[k].format, &error));
    mpz_init_set_str(x, cases[k].numbers, 10);
    ck_assert_msg(mpz_cmp(x, g.numbers) == 0, "%zu: %s", k, mpz_get_str(NULL, 10, g.numbers));
    if (cases[k].in_zone != NULL)
      mpz_set_str(x, cases[k].in_zone, 10);
    else
      above_the_line(x);
    ck_assert_msg(mpz_cmp(x, g.bifurcation) == 0, "%zu: %s", k, mpz_get_str(NULL, 10, g.bifurcation));
    mpz_clear(x);
    clarke_grid_clear(&g);
    clarke_region_function_clear(&f);
    clarke_rationals_free(a, 3);
    clarke_rationals_free(b, 3);
  }
}
END_TEST

/* The same by visiting each number. */
static void
visit_line(mpz_t under, mpz_t on, clarke_ieee format, const mpq_t from, const mpq_t to, mpq_t line[2])
{
  mpq_t x, y;
  mpz_t n;

  mpz_init(n);
  mpq_inits(x, y, NULL);
  mpz_set_ui(under, 0);
  mpz_set_ui(on, 0);
  for (unsigned bits = 0; bits < 1u << 16; bits++) {
    if (!decode(x, bits, format) || mpq_cmp(x, from) <= 0 || mpq_cmp(x, to) >= 0)
      continue;
    mpq_mul(y, line[1], x);
    mpq_add(y, y, line[0]);
    clarke_grid_rank(n, format, y);
    mpz_add(under, under, n);
    mpz_add_ui(on, on, clarke_grid_has(format, y));
  }
  mpq_clears(x, y, NULL);
  mpz_clear(n);
}

/* Slopes and heights: small fractions, powers of 2 that bring y to where numbers are dense, or beyond all; many points on the line, or none. */
static void
draw_line(mpq_t line[2], uint64_t *state)
{
  for (size_t i = 0; i < 2; i++) {
    const long most = roll(state) % 2 == 0 ? 4 : 3000, above = draw_entry(state, most); /* one after the other, whatever the compiler */
    const unsigned long below = roll(state) % 2 == 0 ? 1 : 1 + roll(state) % 500, bits = roll(state) % 4 == 0 ? 150 : 24;
    const unsigned long by = roll(state) % bits;

    mpq_set_si(line[i], above, below);
    mpq_canonicalize(line[i]);

    if (roll(state) % 2 == 0)
      mpq_mul_2exp(line[i], line[i], by);
    else
      mpq_div_2exp(line[i], line[i], by);
  }
}

START_TEST(lines_are_counted)
{
  uint64_t state = 521288629u;
  size_t some = 0;
  mpq_t from, to, line[2];
  mpz_t under, on, visited, met;

  mpq_inits(from, to, line[0], line[1], NULL);
  mpz_inits(under, on, visited, met, NULL);
  for (size_t k = 0; k < draw_count(60); k++) {
    const clarke_ieee format = k % 2 == 0 ? CLARKE_IEEE_F16 : CLARKE_IEEE_BF16;

    draw_end(from, &state, format);
    draw_end(to, &state, format);
    if (mpq_cmp(from, to) > 0)
      mpq_swap(from, to);
    draw_line(line, &state);
    OK(clarke_grid_under(under, on, format, from, to, line, &error));
    visit_line(visited, met, format, from, to, line);
    ck_assert_msg(mpz_cmp(under, visited) == 0 && mpz_cmp(on, met) == 0, "%zu: %s %s, not %s %s", k, mpz_get_str(NULL, 10, under),
                  mpz_get_str(NULL, 10, on), mpz_get_str(NULL, 10, visited), mpz_get_str(NULL, 10, met));
    some += mpz_cmp_ui(met, 2) > 0;
  }
  printf("grid: %zu of %zu lines have numbers on them\n", some, draw_count(60));
  ck_assert_uint_gt(some, draw_count(8));
  mpq_clears(from, to, line[0], line[1], NULL);
  mpz_clears(under, on, visited, met, NULL);
}
END_TEST

/* Numbers are numbered in order, and a number between two has that of the lesser. */
START_TEST(numbers_have_numbers)
{
  mpq_t x, y;
  mpz_t n;

  mpq_inits(x, y, NULL);
  mpz_init(n);
  for (int format = CLARKE_IEEE_F16; format <= CLARKE_IEEE_BF16; format++)
    for (unsigned bits = 0; bits < 1u << 16; bits++) {
      if (!decode(x, bits, format))
        continue;
      clarke_grid_rank(n, format, x);
      ck_assert_int_eq(mpz_get_si(n), bits < 0x8000 ? (long)bits : -(long)(bits - 0x8000));
      clarke_grid_number(y, format, n);
      ck_assert(mpq_equal(x, y) && clarke_grid_has(format, x));
      ck_assert(mpq_sgn(x) <= 0 || clarke_grid_exponent(x) == ilogb(mpq_get_d(x)));
    }
  mpq_set_si(x, -1, 3);
  ck_assert(!clarke_grid_has(CLARKE_IEEE_F16, x));
  clarke_grid_rank(n, CLARKE_IEEE_F16, x);
  clarke_grid_number(y, CLARKE_IEEE_F16, n);
  ck_assert(mpq_cmp(y, x) < 0);
  mpz_add_ui(n, n, 1);
  clarke_grid_number(y, CLARKE_IEEE_F16, n);
  ck_assert(mpq_cmp(y, x) > 0);
  mpq_clears(x, y, NULL);
  mpz_clear(n);
}
END_TEST

/* relu(x + y - 1) along y from 0 to 1, x being 1/2 + h: the kink is met at 1/2 - h, until h is 1/2. */
START_TEST(a_course_moves)
{
  static const char text[] = "input x, y\noutput relu(x + y - 1)\n";
  clarke_course c = {0};
  clarke_truth several;
  clarke_code p;
  clarke_grid g;
  mpq_t *at = clarke_rationals(2);
  mpz_t two;

  clarke_code_init(&p);
  OK(clarke_prog_parse(&p, text, strlen(text), "grid.prog", &error));
  OK(clarke_code_wrt(&p, NULL, 0, &error));
  OK(clarke_course_begin(&c, &p, &error));
  mpq_set_ui(clarke_moving(c.t.x, 1)[0], 1, 1);
  for (size_t j = 0; j < 2; j++) {
    mpq_set_ui(clarke_moving(c.value[0].x, j)[0], 1, 2);
    mpq_set_ui(clarke_moving(c.value[0].x, j)[1], 1, 1);
    mpq_set(clarke_moving(c.value[1].x, j)[0], clarke_moving(c.t.x, j)[0]);
  }
  OK(clarke_course_run(&c, &error));
  ck_assert_uint_eq(c.n, 3);
  ck_assert(mpq_cmp_ui(clarke_moving(c.t.x, 1)[0], 1, 2) == 0 && mpq_cmp_si(clarke_moving(c.t.x, 1)[1], -1, 1) == 0);
  ck_assert(c.ends && mpq_cmp_ui(c.until, 1, 2) == 0);
  mpq_set_ui(at[0], 1, 4);
  mpq_set_ui(at[1], 3, 4);
  OK(clarke_grid_parts(&several, &p, at, &error));
  ck_assert(several == CLARKE_YES);
  mpq_set_ui(at[1], 1, 2);
  OK(clarke_grid_parts(&several, &p, at, &error));
  ck_assert(several == CLARKE_NO);
  clarke_grid_init(&g);
  mpz_init_set_ui(two, 2);
  clarke_grid_add(&g, CLARKE_YES, two);
  clarke_grid_add(&g, CLARKE_NO, two);
  clarke_grid_add(&g, CLARKE_UNKNOWN, two);
  ck_assert(mpz_cmp_ui(g.bifurcation, 2) == 0 && mpz_cmp_ui(g.unknown, 2) == 0 && g.zones == 1);
  mpz_clear(two);
  clarke_grid_clear(&g);
  clarke_course_clear(&c);
  clarke_code_clear(&p);
  clarke_rationals_free(at, 2);
}
END_TEST

/* In a plane two entries vary. */
START_TEST(planes_refused)
{
  mpq_t *a = clarke_rationals(3), *b = clarke_rationals(3);
  static const char text[] = "input x, y, z\noutput relu(x + y + z + 1)\n";
  clarke_region_function f;
  clarke_grid g;

  clarke_region_function_init(&f);
  OK(clarke_prog_parse(&f.program, text, strlen(text), "grid.prog", &error));
  OK(clarke_code_wrt(&f.program, NULL, 0, &error));
  f.n = 3;
  clarke_grid_init(&g);
  for (size_t k = 1; k <= 3; k++) {
    mpq_set_si(a[k - 1], -1, 1);
    ck_assert_int_eq(clarke_grid_find_plane(&g, &f, a, b, CLARKE_IEEE_F32, &error), k == 2 ? CLARKE_OK : CLARKE_EINPUT);
    ck_assert(k == 2 || strstr(error.text, "two entries") != NULL);
  }
  clarke_grid_clear(&g);
  clarke_region_function_clear(&f);
  clarke_rationals_free(a, 3);
  clarke_rationals_free(b, 3);
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
  tcase_add_test(tc, zones_are_those_of_each_pair);
  tcase_add_test(tc, slanted_lines);
  tcase_add_test(tc, lines_are_counted);
  tcase_add_test(tc, planes_refused);
  tcase_add_test(tc, numbers_have_numbers);
  tcase_add_test(tc, a_course_moves);
  tcase_add_test(tc, refused);
  return run_tests();
}
