/* Words against GMP's integers, and digits of exact products: they sum up to what was cut, and no sum of their products
 * leaves a double. */
#include "exact/matrix_product_radius.h"
#include "samples.h"

#include "../ok.h"

#include <math.h>

static uint64_t state;

/* --- words ----------------------------------------------------------------------------------- */

/* 2^(64 limbs - 1) modulo 2^(64 limbs), and its neighbours, among others that fit. */
static void
draw_fitting(mpz_t z, size_t limbs)
{
  mpz_t least;

  mpz_init(least);
  mpz_setbit(least, 64 * limbs - 1);
  sample_integer(z, &state, 64 * limbs - 1);
  if (draw_below(&state, 8) == 0)
    mpz_neg(z, least);
  mpz_neg(least, least);
  if (mpz_cmp(z, least) < 0)
    mpz_set(z, least);
  mpz_neg(least, least);
  if (mpz_cmp(z, least) >= 0)
    mpz_sub_ui(z, least, 1);
  mpz_clear(least);
}

START_TEST(words)
{
  mpz_t z, back;

  state = 1;
  mpz_inits(z, back, NULL);
  for (int round = 0; round < 5000; round++) {
    const size_t limbs = 1 + draw_below(&state, 4);
    uint64_t w[4];

    draw_fitting(z, limbs);
    clarke_word_set(w, limbs, z);
    clarke_word_get(back, w, limbs);
    ck_assert(mpz_cmp(z, back) == 0);
    for (size_t k = 0; k < limbs; k++) { /* two's complement: the word is the floor's residue */
      mpz_fdiv_q_2exp(back, z, 64 * k);
      mpz_fdiv_r_2exp(back, back, 64);
      ck_assert(mpz_get_ui(back) == w[k]);
    }
    ck_assert(clarke_word_negative(w, limbs) == (mpz_sgn(z) < 0));
    ck_assert(clarke_word_fill(w, limbs) == (mpz_sgn(z) < 0 ? UINT64_MAX : 0));
    ck_assert(clarke_word_zero(w, limbs) == (mpz_sgn(z) == 0));
    if (limbs <= 2) {
      const clarke_int128 x = clarke_word_int128(w, limbs);

      mpz_set_si(back, (long)(x >> 64));
      mpz_mul_2exp(back, back, 64);
      mpz_add_ui(back, back, (unsigned long)(uint64_t)x);
      ck_assert(mpz_cmp(z, back) == 0);
    }
  }
  mpz_clears(z, back, NULL);
}
END_TEST

/* Shifts modulo 2^(64 n): every word of the target is the product's residue. */
START_TEST(shifts)
{
  mpz_t z, want, got;

  state = 2;
  mpz_inits(z, want, got, NULL);
  for (int round = 0; round < 5000; round++) {
    const size_t from = 1 + draw_below(&state, 3), to = 1 + draw_below(&state, 6);
    const size_t shift = draw_below(&state, 64 * to + 70);
    uint64_t w[3], shifted[6];

    draw_fitting(z, from);
    clarke_word_set(w, from, z);
    clarke_word_shift(shifted, to, w, from, shift);
    mpz_mul_2exp(want, z, shift);
    clarke_word_get(got, shifted, to);
    mpz_sub(want, want, got);
    ck_assert(mpz_divisible_2exp_p(want, 64 * to));
  }
  mpz_clears(z, want, got, NULL);
}
END_TEST

START_TEST(sizes)
{
  mpz_t z, back;

  mpz_inits(z, back, NULL);
  for (size_t bits = 0; bits < 200; bits++) {
    const size_t limbs = clarke_limbs_for(bits);
    uint64_t w[4];

    mpz_set_ui(z, 0);
    mpz_setbit(z, bits);
    mpz_sub_ui(z, z, 1);
    for (int side = 0; side < 2; side++, mpz_neg(z, z)) {
      clarke_word_set(w, limbs, z);
      clarke_word_get(back, w, limbs);
      ck_assert(mpz_cmp(z, back) == 0);
    }
    ck_assert(limbs == 1 || 64 * (limbs - 1) <= bits); /* one word fewer would not do */
  }
  for (size_t n = 1; n < 5000; n++) {
    const size_t bits = clarke_log2_up(n);

    ck_assert((size_t)1 << bits >= n && (bits == 0 || (size_t)1 << (bits - 1) < n));
  }
  ck_assert_uint_eq(clarke_log2_up(((size_t)1 << 40) + 1), 41);
  mpz_clears(z, back, NULL);
}
END_TEST

START_TEST(limits)
{
  clarke_matrix m, other;
  mpz_t den;

  clarke_matrix_init(&m);
  clarke_matrix_init(&other);
  mpz_init_set_ui(den, 3);
  OK(clarke_matrix_shape_bits(&m, 2, 3, 64 * CLARKE_MAX_LIMBS - 1, &error));
  ck_assert_uint_eq(m.limbs, CLARKE_MAX_LIMBS);
  ck_assert(clarke_matrix_is_zero(&m));
  ck_assert_int_eq(clarke_matrix_shape_bits(&other, 2, 3, 64 * CLARKE_MAX_LIMBS, &error), CLARKE_ENOMEM);
  OK(clarke_matrix_shape_bits(&other, 3, 2, 1, &error));
  ck_assert(!clarke_same_shape(&m, &other));
  OK(clarke_matrix_shape_bits(&other, 2, 3, 1, &error));
  ck_assert(clarke_same_shape(&m, &other));
  OK(clarke_matrix_set_scale(&m, CLARKE_MAX_EXP, den, &error));
  OK(clarke_matrix_set_scale(&m, -CLARKE_MAX_EXP, den, &error));
  ck_assert(m.exp == -CLARKE_MAX_EXP && mpz_cmp_ui(m.den, 3) == 0);
  ck_assert_int_eq(clarke_matrix_set_scale(&m, CLARKE_MAX_EXP + 1, den, &error), CLARKE_ENOMEM);
  ck_assert_str_eq(error.text, "a scale of 2^16777217 is out of range");
  ck_assert_int_eq(clarke_matrix_set_scale(&m, -CLARKE_MAX_EXP - 1, den, &error), CLARKE_ENOMEM);
  mpz_setbit(den, 64 * CLARKE_MAX_LIMBS - 1);
  OK(clarke_matrix_set_scale(&m, 0, den, &error));
  mpz_setbit(den, 64 * CLARKE_MAX_LIMBS);
  ck_assert_int_eq(clarke_matrix_set_scale(&m, 0, den, &error), CLARKE_ENOMEM);
  ck_assert_str_eq(error.text, "a common denominator of more than 65536 bits");
  mpz_clear(den);
  clarke_matrix_clear(&m);
  clarke_matrix_clear(&other);
}
END_TEST

/* --- digits ---------------------------------------------------------------------------------- */

/* A matrix of entries below 2^bits, the largest ones among them. */
static void
draw_matrix(clarke_matrix *m, size_t rows, size_t cols, size_t bits)
{
  mpz_t z;

  mpz_init(z);
  OK(clarke_matrix_shape_bits(m, rows, cols, bits + 64 * draw_below(&state, 2), &error));
  for (size_t k = 0; k < rows * cols; k++) {
    sample_integer(z, &state, bits);
    if (mpz_sizeinbase(z, 2) > bits)
      mpz_set_ui(z, 0);
    OK(clarke_matrix_store(m, k / cols, k % cols, z, &error));
  }
  mpz_clear(z);
}

/* The digits of entry (i,j) of the panel: of their widths, and the entry as a sum; *used gets what is not 0. */
static void
assert_digits(const clarke_panel *p, size_t i, size_t j, const mpz_t entry, bool *used)
{
  const double most = ldexp(1, (int)p->m.width - 1);
  bool good = true;
  mpz_t sum, digit;

  mpz_inits(sum, digit, NULL);
  for (size_t s = p->m.planes; s-- > 0;) {
    const double d = p->m.digit[(ptrdiff_t)s * p->m.apart + (ptrdiff_t)(i * p->m.stride + j)];

    good = good && d == floor(d) && -most <= d && d <= most;
    used[s] = used[s] || d != 0;
    mpz_mul_2exp(sum, sum, (mp_bitcnt_t)p->m.width);
    mpz_set_d(digit, d);
    mpz_add(sum, sum, digit);
  }
  if (!good || mpz_cmp(sum, entry) != 0)
    ck_abort_msg("width %ld, bits %zu: the digits are wrong", p->m.width, p->bits);
  mpz_clears(sum, digit, NULL);
}

/* A rectangle of the matrix in digits of that width. */
static void
cut(const clarke_matrix *m, size_t width)
{
  const size_t r0 = draw_below(&state, m->rows), c0 = draw_below(&state, m->cols);
  clarke_panel p = { .rows = m->rows - r0, .cols = m->cols - c0, .bits = clarke_matrix_bits(m), .m.width = (long)width };
  bool used[CLARKE_MAX_SLICES] = { false };
  mpz_t entry;

  mpz_init(entry);
  p.m.planes = p.bits / width + 1;
  ck_assert(clarke_digits_alloc(&p.m, p.m.planes * p.rows * p.cols));
  clarke_panel_cut(&p, m, r0, c0);
  for (size_t i = 0; i < p.rows; i++)
    for (size_t j = 0; j < p.cols; j++) {
      clarke_matrix_load(entry, m, r0 + i, c0 + j);
      assert_digits(&p, i, j, entry, used);
    }
  for (size_t s = 0; s < p.m.planes; s++)
    if (used[s] != p.m.plane[s].used)
      ck_abort_msg("width %zu, bits %zu, slice %zu: used is wrong", width, p.bits, s);
  clarke_digits_clear(&p.m);
  mpz_clear(entry);
}

START_TEST(digits)
{
  clarke_matrix m;

  state = 3;
  clarke_matrix_init(&m);
  for (size_t width = CLARKE_SLICE_MIN_WIDTH; width <= 30; width++)
    for (size_t bits = 0; bits <= 200; bits += 1 + draw_below(&state, 3)) {
      draw_matrix(&m, 2, 3, bits);
      cut(&m, width);
    }
  draw_matrix(&m, 1, 3, 64 * CLARKE_MAX_LIMBS - 65); /* as many slices as there can be */
  cut(&m, CLARKE_SLICE_MIN_WIDTH);
  clarke_matrix_clear(&m);
}
END_TEST

/* With digits of at most 2^(u-1) and 2^(v-1). */
START_TEST(sums_stay_exact)
{
  clarke_matrix a, b, c;

  state = 4;
  clarke_matrix_init(&a);
  clarke_matrix_init(&b);
  clarke_matrix_init(&c);
  for (int round = 0; round < 600; round++) {
    const size_t inner = 1 + draw_below(&state, round % 2 == 0 ? 40 : 100000);
    clarke_matrix_product p = { .c = &c, .a = &a, .b = &b };
    clarke_uint128 each;
    size_t pairs;

    OK(clarke_matrix_resize(&c, 1 + draw_below(&state, 40), 1 + draw_below(&state, 40), 1, &error));
    p.pa.bits = draw_below(&state, 500);
    p.pb.bits = draw_below(&state, 500);
    clarke_product_choose_widths(&p, inner);
    ck_assert_uint_eq(p.k1, inner);
    ck_assert_uint_ge((size_t)p.pa.m.width, CLARKE_SLICE_MIN_WIDTH);
    ck_assert_uint_ge((size_t)p.pb.m.width, CLARKE_SLICE_MIN_WIDTH);
    /* n balanced digits reach 2^(width n - 1) - 1 */
    ck_assert_uint_le(p.pa.bits, (size_t)p.pa.m.width * p.pa.m.planes - 1);
    ck_assert_uint_le(p.pb.bits, (size_t)p.pb.m.width * p.pb.m.planes - 1);
    ck_assert_uint_le(p.pa.m.planes, CLARKE_MAX_SLICES);
    each = (clarke_uint128)1 << ((size_t)p.pa.m.width + (size_t)p.pb.m.width - 2);
    ck_assert_uint_ge(p.limit, 1);
    ck_assert(each * p.limit <= (clarke_uint128)1 << 53);
    pairs = p.pa.m.planes < p.pb.m.planes ? p.pa.m.planes : p.pb.m.planes;
    ck_assert(each * pairs * clarke_product_carry_limit((size_t)p.pa.m.width, (size_t)p.pb.m.width, pairs) <= (clarke_uint128)1 << 61);
    ck_assert(each * pairs * (clarke_product_carry_limit((size_t)p.pa.m.width, (size_t)p.pb.m.width, pairs) + 1) >
              (clarke_uint128)1 << 61);
    ck_assert_uint_ge(clarke_product_carry_limit((size_t)p.pa.m.width, (size_t)p.pb.m.width, pairs), inner < 1024 ? inner : 1024);
  }
  clarke_matrix_clear(&a);
  clarke_matrix_clear(&b);
  clarke_matrix_clear(&c);
}
END_TEST

/* --- radii ----------------------------------------------------------------------------------- */

static void
draw_radii(clarke_matrix *m)
{
  OK(clarke_matrix_need_radius(m, &error));
  for (size_t k = 0; k < m->rows * m->cols; k++)
    m->radius[k] = draw_below(&state, 3) == 0 ? 0 : (double)(draw(&state) >> 40) * 0x1p-30;
}

/* sum += |x| rad(y) + rad(x) (|y| + rad(y)) */
static void
add_definition(mpq_t sum, const clarke_matrix *a, const clarke_matrix *b, size_t i, size_t k, size_t j)
{
  mpq_t x, y, dx, dy;

  mpq_inits(x, y, dx, dy, NULL);
  clarke_matrix_get(x, a, i, k);
  clarke_matrix_get(y, b, k, j);
  mpq_set_d(dx, clarke_matrix_radius(a, i, k));
  mpq_set_d(dy, clarke_matrix_radius(b, k, j));
  mpq_abs(x, x);
  mpq_abs(y, y);
  mpq_add(y, y, dy);
  mpq_mul(x, x, dy);
  mpq_mul(y, y, dx);
  mpq_add(sum, sum, x);
  mpq_add(sum, sum, y);
  mpq_clears(x, y, dx, dy, NULL);
}

START_TEST(radii_of_products)
{
  clarke_matrix a, b, c;
  mpq_t want, got, most;

  state = 5;
  clarke_matrix_init(&a);
  clarke_matrix_init(&b);
  clarke_matrix_init(&c);
  mpq_inits(want, got, most, NULL);
  for (int round = 0; round < 200; round++) {
    const size_t rows = 1 + draw_below(&state, 4), inner = 1 + draw_below(&state, 5);
    const size_t cols = 1 + draw_below(&state, 4);
    clarke_matrix_product p = { .c = &c, .a = &a, .b = &b, .k1 = inner };

    draw_matrix(&a, rows, inner, 70);
    draw_matrix(&b, inner, cols, 40);
    OK(clarke_matrix_resize(&c, rows, cols, 1, &error));
    if (round % 4 < 2)
      draw_radii(&a);
    if (round % 2 == 0)
      draw_radii(&b);
    OK(clarke_matrix_need_radius(&c, &error));
    c.radius[0] = 5;
    OK(clarke_product_bound_radius(&p, &error));
    for (size_t e = 0; e < rows * cols; e++) {
      mpq_set_ui(want, e == 0 ? 5 : 0, 1);
      for (size_t k = 0; k < inner; k++)
        add_definition(want, &a, &b, e / cols, k, e % cols);
      mpq_set_d(got, c.radius[e]);
      mpq_set_d(most, 1 + 0x1p-40);
      mpq_mul(most, most, want);
      ck_assert(mpq_cmp(want, got) <= 0);
      ck_assert(mpq_cmp(got, most) <= 0);
    }
  }
  mpq_clears(want, got, most, NULL);
  clarke_matrix_clear(&a);
  clarke_matrix_clear(&b);
  clarke_matrix_clear(&c);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("slices");

  tcase_add_test(tests, words);
  tcase_add_test(tests, shifts);
  tcase_add_test(tests, sizes);
  tcase_add_test(tests, limits);
  tcase_add_test(tests, digits);
  tcase_add_test(tests, sums_stay_exact);
  tcase_add_test(tests, radii_of_products);
  return run_tests();
}
