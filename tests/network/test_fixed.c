/* Numbers in fixed point, beside integers and rationals. */
#include "machine.h"
#include "normalized.h"
#include "compared.h"

#include "network/derive/gradient/fixed.h"
#include "network/derive/gradient/sliced.h"

/* An integer of a few bits, or of nearly as many as there is room for, or of more. */
static void
draw_integer(mpz_t z, uint64_t *state, size_t bits)
{
  mpz_set_ui(z, (unsigned long)draw_below(state, 4));
  for (size_t n = draw_below(state, 3) > 0 ? draw_below(state, bits) : bits - draw_below(state, 6); n > 0; n--) {
    mpz_mul_2exp(z, z, 1);
    mpz_add_ui(z, z, (unsigned long)draw_below(state, 2));
  }
  if (draw_below(state, 2))
    mpz_neg(z, z);
}

/* Is -2^(bits - 1) < z < 2^(bits - 1)? */
static bool
has_room(const mpz_t z, size_t limbs)
{
  return mpz_sizeinbase(z, 2) < limbs * CLARKE_FIXED_LIMB;
}

static void
set_entry(const clarke_fixed *v, size_t e, const mpz_t z)
{
  mpq_t q;

  mpq_init(q);
  mpq_set_z(q, z);
  if (v->unit >= 0)
    mpq_mul_2exp(q, q, (mp_bitcnt_t)v->unit);
  else
    mpq_div_2exp(q, q, (mp_bitcnt_t)-v->unit);
  ck_assert(clarke_fixed_set(v, e, q));
  mpq_clear(q);
}

/* The entry, in units. */
static void
get_entry(mpz_t z, const clarke_fixed *v, size_t e)
{
  mpq_t q;

  mpq_init(q);
  clarke_fixed_get(q, v, e);
  if (v->unit >= 0)
    mpq_div_2exp(q, q, (mp_bitcnt_t)v->unit);
  else
    mpq_mul_2exp(q, q, (mp_bitcnt_t)-v->unit);
  ck_assert(mpz_cmp_ui(mpq_denref(q), 1) == 0);
  mpz_set(z, mpq_numref(q));
  mpq_clear(q);
}

/* Two entries of so many limbs, and integers. */
typedef struct {
  clarke_fixed v;
  mpz_t a, b, c, got;
} entries;

static void
begin_entries(entries *t, uint64_t *state)
{
  const size_t limbs = 1 + draw_below(state, CLARKE_FIXED_LIMBS);

  t->v = (clarke_fixed){calloc(2 * limbs, sizeof *t->v.limb), limbs, (int)draw_between(state, -400, 100)};
  mpz_inits(t->a, t->b, t->c, t->got, NULL);
  do {
    draw_integer(t->a, state, limbs * CLARKE_FIXED_LIMB);
    draw_integer(t->b, state, limbs * CLARKE_FIXED_LIMB);
  } while (!has_room(t->a, limbs) || !has_room(t->b, limbs));
  set_entry(&t->v, 0, t->a);
  set_entry(&t->v, 1, t->b);
}

static void
end_entries(entries *t)
{
  mpz_clears(t->a, t->b, t->c, t->got, NULL);
  free(t->v.limb);
}

/* What is there is `want`, but for less than a unit, where it fits; and it fits where the term and `want` have room, the least number
 * apart. */
static void
check_entry(entries *t, bool fits, const mpq_t want, const mpq_t term)
{
  bool room;
  mpq_t off;

  mpz_tdiv_q(t->c, mpq_numref(term), mpq_denref(term));
  room = has_room(t->c, t->v.limbs);
  mpz_tdiv_q(t->c, mpq_numref(want), mpq_denref(want));
  if (mpz_sgn(t->c) < 0)
    mpz_sub_ui(t->c, t->c, 1);
  ck_assert(fits || !room || !has_room(t->c, t->v.limbs));
  if (!fits)
    return;
  mpq_init(off);
  get_entry(t->got, &t->v, 0);
  mpq_set_z(off, t->got);
  mpq_sub(off, off, want);
  mpq_abs(off, off);
  ck_assert(mpq_cmp_ui(off, 1, 1) < 0);
  mpq_clear(off);
}

START_TEST(sums_of_entries)
{
  uint64_t state = 3;
  mpq_t want, term;

  mpq_inits(want, term, NULL);
  for (size_t i = 0; i < 20000; i++) {
    const bool subtract = draw_below(&state, 2), whole = draw_below(&state, 2);
    const int64_t v = (int64_t)(draw(&state) >> draw_below(&state, 64)) * (draw_below(&state, 2) ? 1 : -1);
    long shift = draw_between(&state, -70, 400);
    entries t;
    bool fits;

    begin_entries(&t, &state);
    if (draw_below(&state, 2)) /* near the end */
      shift = (long)t.v.limbs * CLARKE_FIXED_LIMB - draw_between(&state, 1, 65);
    mpq_set_z(want, t.a);
    if (whole) {
      fits = clarke_fixed_add(t.v.limb, t.v.limb + t.v.limbs, t.v.limbs, subtract);
      mpq_set_z(term, t.b);
    } else {
      const bool is_wide = draw_below(&state, 2);
      const int64_t more = (int64_t)draw(&state) >> draw_below(&state, 63);
      const int by = (int)draw_below(&state, 64);

      mpq_set_si(term, v, 1);
      if (is_wide) { /* v 2^by + more */
        fits = clarke_fixed_add_wide(t.v.limb, t.v.limbs, (clarke_wide)v * ((clarke_wide)1 << by) + more, shift);
        mpz_mul_2exp(mpq_numref(term), mpq_numref(term), (mp_bitcnt_t)by);
        mpz_set_si(t.c, more);
        mpz_add(mpq_numref(term), mpq_numref(term), t.c);
      } else
        fits = clarke_fixed_add_integer(t.v.limb, t.v.limbs, v, shift);
      if (shift >= 0)
        mpq_mul_2exp(term, term, (mp_bitcnt_t)shift);
      else
        mpq_div_2exp(term, term, (mp_bitcnt_t)-shift);
    }
    if (whole && subtract)
      mpq_sub(want, want, term);
    else
      mpq_add(want, want, term);
    check_entry(&t, fits, want, term);
    end_entries(&t);
  }
  mpq_clears(want, term, NULL);
}
END_TEST

START_TEST(doubles_added)
{
  static const double x[] = {0, 1, -1, 0x1.fffffffffffffp60, -0x1.8p-3, 0x1p-1060, 3e-310, INFINITY, NAN};
  uint64_t state = 4;
  mpq_t want, term;

  mpq_inits(want, term, NULL);
  for (size_t i = 0; i < 5000; i++) {
    const double d = i < 9 ? x[i] : full_double(&state) * ldexp(1, (int)draw_between(&state, -500, 200));
    entries t;
    bool fits;

    begin_entries(&t, &state);
    fits = clarke_fixed_add_double(&t.v, 0, d);
    ck_assert(isfinite(d) || !fits);
    if (isfinite(d)) {
      mpq_set_z(want, t.a);
      mpq_set_d(term, d);
      if (t.v.unit >= 0)
        mpq_div_2exp(term, term, (mp_bitcnt_t)t.v.unit);
      else
        mpq_mul_2exp(term, term, (mp_bitcnt_t)-t.v.unit);
      mpq_add(want, want, term);
      check_entry(&t, fits, want, term);
    }
    end_entries(&t);
  }
  mpq_clears(want, term, NULL);
}
END_TEST

/* a + b c 2^-shift, with a factor that is an entry, or a number with more digits than it has. */
START_TEST(multiples_of_entries)
{
  uint64_t state = 5;
  mpq_t want, term;

  mpq_inits(want, term, NULL);
  for (size_t i = 0; i < 20000; i++) {
    const bool subtract = draw_below(&state, 2);
    const long shift = draw_between(&state, -3, 700);
    clarke_fixed_factor c;
    entries t;
    bool fits;

    begin_entries(&t, &state);
    do
      draw_integer(t.c, &state, t.v.limbs * CLARKE_FIXED_LIMB);
    while (!has_room(t.c, t.v.limbs));
    set_entry(&t.v, 0, t.c);
    clarke_fixed_factor_of_entry(&c, t.v.limb, t.v.limbs, t.v.unit);
    ck_assert_int_eq(c.unit, t.v.unit);
    set_entry(&t.v, 0, t.a);
    fits = clarke_fixed_add_multiple(t.v.limb, clarke_fixed_at(&t.v, 1), t.v.limbs, &c, shift, subtract);
    mpq_set_z(want, t.a);
    mpz_mul(mpq_numref(term), t.b, t.c);
    mpz_set_ui(mpq_denref(term), 1);
    if (shift >= 0) {
      mpq_div_2exp(term, term, (mp_bitcnt_t)shift);
      mpz_tdiv_q(t.c, mpq_numref(term), mpq_denref(term));
      if (subtract)
        mpq_sub(want, want, term);
      else
        mpq_add(want, want, term);
      if (has_room(t.c, t.v.limbs)) /* else the product has none */
        check_entry(&t, fits, want, term);
      else
        ck_assert(!fits);
    } else
      ck_assert(fits == (mpq_sgn(term) == 0));
    end_entries(&t);
  }
  mpq_clears(want, term, NULL);
}
END_TEST

START_TEST(quotients_sizes_and_pairs)
{
  uint64_t state = 6;
  mpq_t q, off, low;

  mpq_inits(q, off, low, NULL);
  for (size_t i = 0; i < 10000; i++) {
    const size_t m = 1 + (size_t)(draw(&state) >> draw_below(&state, 64)) / 2;
    mp_limb_t size[CLARKE_FIXED_LIMBS];
    clarke_pair pair;
    entries t;

    begin_entries(&t, &state);
    ck_assert(clarke_fixed_size(size, t.v.limb, t.v.limbs) == (mpz_sgn(t.a) < 0));
    mpz_import(t.got, t.v.limbs, -1, sizeof *size, 0, 0, size);
    ck_assert(mpz_cmpabs(t.got, t.a) == 0);
    pair = clarke_fixed_pair(t.v.limb, t.v.limbs, t.v.unit);
    clarke_fixed_get(q, &t.v, 0);
    mpq_set_d(off, pair.high);
    mpq_set_d(low, pair.low);
    mpq_add(off, off, low);
    mpq_sub(off, off, q);
    mpq_div_2exp(q, q, 100); /* eight units */
    mpq_abs(off, off);
    mpq_abs(q, q);
    ck_assert(mpq_cmp(off, q) <= 0);
    ck_assert(pair.high + pair.low == pair.high);
    clarke_fixed_divide(t.v.limb, t.v.limbs, m);
    mpz_tdiv_q_ui(t.a, t.a, m);
    get_entry(t.got, &t.v, 0);
    ck_assert(mpz_cmp(t.a, t.got) == 0);
    end_entries(&t);
  }
  mpq_clears(q, off, low, NULL);
}
END_TEST

/* |factor - v| < 2^(1 - bits) |v| */
START_TEST(factors)
{
  uint64_t state = 7;
  mpq_t q, want;
  mpz_t z;

  mpq_inits(q, want, NULL);
  mpz_init(z);
  for (size_t i = 0; i < 3000; i++) {
    const size_t limbs = 1 + draw_below(&state, CLARKE_FIXED_LIMBS);
    const double x = draw_below(&state, 10) == 0 ? 0 : full_double(&state) * ldexp(1, (int)draw_between(&state, -300, 300));
    clarke_fixed_factor c;
    mpfr_t v;

    mpfr_init2(v, 500);
    mpfr_set_d(v, x, MPFR_RNDN);
    mpfr_div_ui(v, v, (unsigned long)(1 + draw_below(&state, 9)), MPFR_RNDN);
    if (draw_below(&state, 2)) {
      clarke_fixed_factor_of_double(&c, x, limbs);
      mpfr_set_d(v, x, MPFR_RNDN);
    } else
      clarke_fixed_factor_of(&c, v, limbs);
    mpfr_get_q(want, v);
    mpz_import(z, limbs, -1, sizeof *c.limb, 0, 0, c.limb);
    mpq_set_z(q, z);
    if (c.unit >= 0)
      mpq_mul_2exp(q, q, (mp_bitcnt_t)c.unit);
    else
      mpq_div_2exp(q, q, (mp_bitcnt_t)-c.unit);
    if (c.negative)
      mpq_neg(q, q);
    mpq_sub(q, q, want);
    mpq_abs(q, q);
    mpq_abs(want, want);
    mpq_div_2exp(want, want, limbs * CLARKE_FIXED_LIMB - 1);
    ck_assert(x == 0 ? mpq_sgn(q) == 0 : mpq_cmp(q, want) < 0);
    mpfr_clear(v);
  }
  mpq_clears(q, want, NULL);
  mpz_clear(z);
}
END_TEST

/* Both entries cut together: the first into these digits, in planes of their own. */
static void
check_sliced(const clarke_fixed *v, const double *digit, double rest, size_t slices, int top)
{
  clarke_digit_matrix m = {0};
  mp_limb_t size[CLARKE_FIXED_LIMBS] = {0};

  memcpy(clarke_fixed_at(v, 1), size, v->limbs * sizeof *size);
  ck_assert(clarke_sliced_room(&m, 3, slices, top));
  clarke_sliced_cut_fixed(&m, 1, v, 0, 2);
  for (size_t s = 0; s < slices; s++)
    ck_assert(m.digit[s * 3 + 1] == digit[s] && m.digit[s * 3 + 2] == 0 && m.plane[s].used == (digit[s] != 0));
  ck_assert(m.digit[slices * 3 + 1] == rest && m.digit[slices * 3 + 2] == 0);
  clarke_digits_clear(&m);
}

/* Digits add up to the entry, each of at most half of 2^bits, and what is left is below half of the lowest. */
START_TEST(digits_of_entries)
{
  uint64_t state = 8;
  mpq_t sum, q;

  mpq_inits(sum, q, NULL);
  for (size_t i = 0; i < 20000; i++) {
    const size_t slices = draw_below(&state, 9);
    const int bits = 16;
    double digit[9], rest;
    entries t;
    int top, at;

    begin_entries(&t, &state);
    if (draw_below(&state, 3) == 0) { /* ones that carry */
      mpz_set_ui(t.a, 1);
      mpz_mul_2exp(t.a, t.a, (mp_bitcnt_t)draw_below(&state, t.v.limbs * CLARKE_FIXED_LIMB - 2));
      mpz_sub_ui(t.a, t.a, 1);
      set_entry(&t.v, 0, t.a);
    }
    top = t.v.unit + (int)mpz_sizeinbase(t.a, 2) + (int)draw_below(&state, 4);
    at = top + 1 - (int)slices * bits;
    if (at < t.v.unit || top > t.v.unit + (int)t.v.limbs * CLARKE_FIXED_LIMB - 2) {
      end_entries(&t);
      continue;
    }
    rest = clarke_fixed_cut(digit, 1, &t.v, 0, slices, bits, at);
    check_sliced(&t.v, digit, rest, slices, top);
    mpq_set_ui(sum, 0, 1);
    for (size_t s = 0; s < slices; s++) {
      ck_assert(fabs(digit[s]) <= ldexp(1, bits - 1) && digit[s] == rint(digit[s]));
      mpq_set_d(q, ldexp(digit[s], at + (int)s * bits));
      mpq_add(sum, sum, q);
    }
    ck_assert(fabs(rest) <= ldexp(1, at - 1));
    clarke_fixed_get(q, &t.v, 0);
    mpq_sub(sum, q, sum);
    mpq_set_d(q, rest);
    mpq_sub(sum, sum, q);
    mpq_abs(sum, sum);
    mpq_abs(q, q);
    mpq_div_2exp(q, q, 52);
    ck_assert(mpq_cmp(sum, q) <= 0);
    end_entries(&t);
  }
  mpq_clears(sum, q, NULL);
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("network-fixed");

  tcase_add_test(tcase, sums_of_entries);
  tcase_add_test(tcase, doubles_added);
  tcase_add_test(tcase, multiples_of_entries);
  tcase_add_test(tcase, quotients_sizes_and_pairs);
  tcase_add_test(tcase, factors);
  tcase_add_test(tcase, digits_of_entries);
  return run_tests();
}
