/* The kernel's own arithmetic, computed a second way: hashes by libcrypto, enclosures by MPFR, values
 * by ONNX's reference evaluator (stored), gradients by tangents and tangents by differences. */
#include "check/kernel/cell.h"
#include "check/base/elementary.h"
#include "check/smooth/function.h"
#include "check/files/tensor_files.h"
#include "check/kernel/gradient.h"
#include "check/kernel/jacobian.h"
#include "check/kernel/identity.h"
#include "check/smooth/line.h"
#include "check/near/near.h"
#include "check/kernel/place.h"
#include "check/onnx/network.h"
#include "check/program/power_series.h"
#include "check/program/program_series.h"
#include "check/record/record_bound.h"
#include "check/base/sequences.h"
#include "check/base/sha256.h"
#include "../suite.h"

#include "../format/nonnumbers.h"

#include <mpfr.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned long state = 20;

static unsigned
draw(unsigned n)
{
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(state >> 33) % n;
}

static void
draw_rational(rational *q, unsigned size)
{
  mpq_set_si(q, (long)draw(2 * size + 1) - (long)size, 1 + draw(64));
  mpq_canonicalize(q);
}

/* ---- Bounds of 64 bits, beside rationals */

/* A dyadic number of up to 200 bits, all of which may be ones, or a quotient. */
static void
draw_size(rational *q)
{
  INTEGER(z);
  mpz_set_ui(&z, draw(8) == 0 ? 0 : 1 + draw(1 << 30));
  for (unsigned i = draw(6); i > 0; i--) {
    mpz_mul_2exp(&z, &z, 29);
    mpz_add_ui(&z, &z, draw(1 << 29));
  }
  if (draw(16) == 0) {
    mpz_set_ui(&z, 1);
    mpz_mul_2exp(&z, &z, 1 + draw(200));
    mpz_sub_ui(&z, &z, 1);
  }
  mpq_set_z(q, &z);
  if (draw(2) == 0) {
    mpq_set_ui(q, 1 + draw(1000), 1 + draw(1000));
    mpq_canonicalize(q);
  }
  if (draw(2) == 0)
    mpq_mul_2exp(q, q, draw(300));
  else
    mpq_div_2exp(q, q, draw(300));
}

/* Is it at most the exact number, and by 2^-62 of that less at the most? Of what is rounded up the other way round. */
static void
expect_bound(bound made, const rational *exact, bool up)
{
  RATIONAL(is);
  RATIONAL(apart);
  RATIONAL(most);
  bound_get(&is, made);
  ck_assert(made.m == 0 || made.m >> 63 == 1);
  mpq_sub(&apart, up ? &is : exact, up ? exact : &is);
  mpq_div_2exp(&most, exact, 62);
  ck_assert(mpq_sgn(&apart) >= 0 && mpq_cmp(&apart, &most) <= 0);
}

START_TEST(bounds)
{
  for (int i = 0; i < 4000; i++) {
    RATIONAL(p);
    RATIONAL(q);
    RATIONAL(exact);
    draw_size(&p);
    draw_size(&q);
    expect_bound(bound_of(&p), &p, false);
    expect_bound(bound_above(&p), &p, true);
    mpq_neg(&exact, &p);
    expect_bound(bound_of(&exact), &p, false);
    bound a = bound_of(&p), b = bound_of(&q); /* and from here on these are the numbers */
    bound_get(&p, a);
    bound_get(&q, b);
    ck_assert(bound_below(a, b) == (mpq_cmp(&p, &q) < 0));
    bound most = bound_most(a, b);
    ck_assert(most.m == (bound_below(a, b) ? b.m : a.m));
    mpq_add(&exact, &p, &q);
    expect_bound(bound_add(a, b), &exact, false);
    mpq_mul(&exact, &p, &q);
    expect_bound(bound_times(a, b), &exact, false);
    mpq_add(&exact, &exact, &p);
    expect_bound(bound_add_times(a, a, b), &exact, false);
    mpq_mul_2exp(&exact, &p, 7);
    expect_bound(bound_scale(a, 7), &exact, false);
    mpq_sub(&exact, &p, &q);
    bound left = bound_less(a, b);
    bound_get(&p, left);
    ck_assert(left.m == 0 ? mpq_sgn(&exact) <= 0 : mpq_cmp(&p, &exact) >= 0);
    bound_get(&p, a);
    if (b.m > 0) {
      mpq_div(&exact, &p, &q);
      expect_bound(bound_over(a, b), &exact, false);
    }
    uint64_t n = draw(1 << 20), d = 1 + draw(1 << 20);
    mpq_set_ui(&exact, n, 1);
    expect_bound(bound_natural(n), &exact, false);
    mpq_set_ui(&exact, n, d);
    mpq_canonicalize(&exact);
    expect_bound(bound_quotient(n, d), &exact, false);
  }
}
END_TEST

START_TEST(hashes_agree_with_libcrypto)
{
  unsigned char data[300], digest[32];
  char hex[65], expected[65];

  for (size_t n = 0; n < sizeof data; n++) {
    data[n] = (unsigned char)draw(256);
    SHA256(data, n, digest);
    for (int i = 0; i < 32; i++)
      snprintf(expected + 2 * i, 3, "%02x", digest[i]);
    sha256((bytes){data, n}, hex);
    ck_assert_str_eq(hex, expected);
  }
  sha256((bytes){(unsigned char *)"abc", 3}, hex);
  ck_assert_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}
END_TEST

/* Whatever the processor has, both ways are tried: they take in the same blocks, and one block as libcrypto does. */
START_TEST(hashes_are_the_same_by_instructions)
{
  uint32_t begin[8], k[64], plain[8], quick[8];
  unsigned char data[64 * 9 + 1], block[64] = {0x80}, digest[32];
  sha256_constants(begin, k);
  for (size_t turn = 0; turn < 2000; turn++) {
    size_t n = draw(10), at = draw(2);
    for (size_t i = 0; i < sizeof data; i++)
      data[i] = (unsigned char)draw(256);
    for (size_t i = 0; i < 8; i++)
      plain[i] = quick[i] = turn % 2 > 0 ? begin[i] : (uint32_t)draw(UINT32_MAX);
    sha256_blocks(plain, k, data + at, n < 9 ? n : 9);
    if (sha256_has_instructions()) {
      sha256_by_instructions(quick, k, data + at, n < 9 ? n : 9);
      ck_assert_mem_eq(plain, quick, sizeof plain);
    }
  }
  sha256_blocks(begin, k, block, 1);
  SHA256(block, 0, digest);
  for (int i = 0; i < 8; i++)
    ck_assert_uint_eq(begin[i] >> 24, digest[4 * i]);
}
END_TEST

/* Is the true value, a little off after rounding to 2000 bits, in x, and x narrow, to all but so many bits? */
static void
check_encloses_within(const interval *x, mpfr_t value, unsigned long lost)
{
  rational width = rational_zero(), slack = rational_zero();
  mpfr_t slackened;

  mpfr_init2(slackened, 2000);
  mpfr_set(slackened, value, MPFR_RNDN);
  mpfr_add_d(slackened, slackened, 0x1p-1000, MPFR_RNDU);
  ck_assert(mpfr_cmp_q(slackened, &x->lo) >= 0);
  mpfr_sub_d(slackened, slackened, 0x1p-999, MPFR_RNDD);
  ck_assert(mpfr_cmp_q(slackened, &x->hi) <= 0);
  mpq_sub(&width, &x->hi, &x->lo);
  mpq_set_ui(&slack, 1, 1);
  mpq_div_2exp(&slack, &slack, session_bits - lost);
  ck_assert(mpq_cmp(&width, &slack) <= 0);
  mpfr_clear(slackened);
  mpq_clears(&width, &slack, NULL);
}

static void
check_encloses(const interval *x, mpfr_t value)
{
  check_encloses_within(x, value, 8);
}

START_TEST(softmax_encloses)
{
  enum { N = 4 };
  mpfr_t e[N], total, value;

  session_set_bits(_i == 0 ? 64 : 500);
  mpfr_inits2(2000, total, value, (mpfr_ptr)NULL);
  for (int i = 0; i < N; i++)
    mpfr_init2(e[i], 2000);
  for (int round = 0; round < 60; round++) {
    interval *x = intervals(N), *y = intervals(N);
    mpfr_set_zero(total, 1);
    for (int i = 0; i < N; i++) {
      draw_rational(&x[i].lo, round < 30 ? 64 : 1280);
      mpq_set(&x[i].hi, &x[i].lo);
      mpfr_set_q(e[i], &x[i].lo, MPFR_RNDN);
      mpfr_exp(e[i], e[i], MPFR_RNDN);
      mpfr_add(total, total, e[i], MPFR_RNDN);
    }
    interval_softmax(y, x, N, 1, false);
    for (int i = 0; i < N; i++) {
      mpfr_div(value, e[i], total, MPFR_RNDN);
      check_encloses(&y[i], value);
    }
    interval_softmax(y, x, N, 1, true);
    for (int i = 0; i < N; i++) {
      mpfr_div(value, e[i], total, MPFR_RNDN);
      mpfr_log(value, value, MPFR_RNDN);
      check_encloses(&y[i], value);
    }
    intervals_free(x, N);
    intervals_free(y, N);
  }
  for (int i = 0; i < N; i++)
    mpfr_clear(e[i]);
  mpfr_clears(total, value, (mpfr_ptr)NULL);
  session_set_bits(64);
}
END_TEST

START_TEST(wide_softmax_contains_its_points)
{
  for (int round = 0; round < 200; round++) {
    interval *x = intervals(3), *y = intervals(3), *inner = intervals(3), *z = intervals(3);
    for (int i = 0; i < 3; i++) {
      draw_rational(&x[i].lo, 100);
      draw_rational(&inner[i].lo, 50);
      mpq_abs(&inner[i].lo, &inner[i].lo);
      mpq_add(&x[i].hi, &x[i].lo, &inner[i].lo);
      mpq_set(&inner[i].lo, draw(2) ? &x[i].lo : &x[i].hi);
      mpq_set(&inner[i].hi, &inner[i].lo);
    }
    for (int log = 0; log < 2; log++) {
      interval_softmax(y, x, 3, 1, log);
      interval_softmax(z, inner, 3, 1, log);
      for (int i = 0; i < 3; i++) {
        ck_assert(mpq_cmp(&y[i].lo, &z[i].hi) <= 0);
        ck_assert(mpq_cmp(&y[i].hi, &z[i].lo) >= 0);
      }
    }
    intervals_free(x, 3);
    intervals_free(y, 3);
    intervals_free(z, 3);
    intervals_free(inner, 3);
  }
}
END_TEST

static const struct {
  const char *name;
  int (*mpfr)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
} functions[] = {{"exp", mpfr_exp}, {"log", mpfr_log}, {"sqrt", mpfr_sqrt}, {"sin", mpfr_sin}, {"cos", mpfr_cos},
                 {"tanh", mpfr_tanh}, {"sigmoid", NULL}, {"erf", mpfr_erf}, {"atan", mpfr_atan}};

static void
by_mpfr(mpfr_t y, size_t f, const rational *q)
{
  mpfr_set_q(y, q, MPFR_RNDN);
  if (functions[f].mpfr != NULL) {
    functions[f].mpfr(y, y, MPFR_RNDN);
    return;
  }
  mpfr_neg(y, y, MPFR_RNDN);
  mpfr_exp(y, y, MPFR_RNDN);
  mpfr_add_ui(y, y, 1, MPFR_RNDN);
  mpfr_ui_div(y, 1, y, MPFR_RNDN);
}

/* An exact point; then an interval around it. */
START_TEST(functions_enclose)
{
  mpfr_t value;

  mpfr_init2(value, 2000);
  session_set_bits(_i % 2 == 0 ? 64 : 200);
  for (int round = 0; round < 300; round++) {
    interval x = interval_nought(), y = interval_nought(), wide = interval_nought();
    rational r = rational_zero();
    size_t f = (size_t)round % 9;

    draw_rational(&x.lo, draw(2) == 0 ? 200 : 4);
    if (f == 1 || f == 2)
      mpq_abs(&x.lo, &x.lo);
    if ((f == 1 || f == 2) && mpq_sgn(&x.lo) == 0)
      mpq_set_ui(&x.lo, 1, 3);
    if (f == 0 && mpq_cmp_ui(&x.lo, 8, 1) > 0)
      mpq_div_2exp(&x.lo, &x.lo, 5);
    if (f == 0 && draw(2) == 0) /* where the series has two terms that count, or one */
      mpq_div_2exp(&x.lo, &x.lo, session_bits / 2 + draw((unsigned)session_bits));
    if (round == 0) {
      mpq_set_si(&x.lo, -1, 1);
      mpq_div_2exp(&x.lo, &x.lo, session_bits + 62);
    }
    mpq_set(&x.hi, &x.lo);
    series_analytic(&y, NULL, functions[f].name, &x, 1);
    by_mpfr(value, f, &x.lo);
    check_encloses(&y, value);
    mpq_set_ui(&r, draw(100), 1000);
    mpq_canonicalize(&r);
    mpq_add(&x.hi, &x.hi, &r);
    mpq_div_2exp(&r, &x.lo, 8);
    mpq_abs(&r, &r);
    mpq_sub(&x.lo, &x.lo, &r);
    series_analytic(&wide, NULL, functions[f].name, &x, 1);
    ck_assert(mpq_cmp(&wide.lo, &y.hi) <= 0 && mpq_cmp(&wide.hi, &y.lo) >= 0);
    mpq_clear(&r);
    interval_clear(&x);
    interval_clear(&y);
    interval_clear(&wide);
  }
  mpfr_clear(value);
  session_set_bits(64);
}
END_TEST

/* Of erf the derivative's series is that of 2 / sqrt(pi) exp(-u^2), of which exp has one of its own. */
START_TEST(series_of_erf)
{
  enum { N = 6 };

  session_set_bits(200);
  for (int round = 0; round < 40; round++) {
    interval *u = intervals(N), *y = intervals(N), *w = intervals(N), *square = intervals(N), *bell = intervals(N);
    interval *slope = intervals(N), root = interval_nought(), nought = interval_nought();
    for (int k = 0; k < N; k++) {
      draw_rational(&u[k].lo, 4);
      mpq_set(&u[k].hi, &u[k].lo);
    }
    series_analytic(y, w, "erf", u, N);
    series_mul(bell, u, u, N);
    for (int k = 0; k < N; k++)
      interval_add(&square[k], &bell[k], &minus_one);
    series_analytic(bell, slope, "exp", square, N);
    function_slope(&root, F_ERF, &nought);
    for (int k = 0; k < N; k++) {
      interval expected = interval_nought();
      interval_mul(&expected, &bell[k], &root);
      ck_assert(mpq_cmp(&expected.lo, &w[k].hi) <= 0 && mpq_cmp(&expected.hi, &w[k].lo) >= 0);
      mpq_sub(&expected.lo, &w[k].hi, &w[k].lo);
      mpq_mul_2exp(&expected.lo, &expected.lo, 100);
      ck_assert(mpq_cmp_ui(&expected.lo, 1, 1) < 0);
      interval_clear(&expected);
    }
    interval_clear(&root);
    interval_clear(&nought);
    intervals_free(u, N);
    intervals_free(y, N);
    intervals_free(w, N);
    intervals_free(square, N);
    intervals_free(bell, N);
    intervals_free(slope, N);
  }
  session_set_bits(64);
}
END_TEST

/* sqrt(n / d) where d is not 0, else sqrt(n / pi) */
static void
root_by_mpfr(mpfr_t y, unsigned long n, unsigned long d)
{
  mpfr_set_ui(y, d, MPFR_RNDN);
  if (d == 0)
    mpfr_const_pi(y, MPFR_RNDN);
  mpfr_ui_div(y, n, y, MPFR_RNDN);
  mpfr_sqrt(y, y, MPFR_RNDN);
}

/* The function of q, or its derivative: of NORMAL by erf and exp, of NORMAL_TANH by exp. */
static void
smooth_by_mpfr(mpfr_t y, function f, bool slope, const rational *q)
{
  mpfr_t x, t, u;

  mpfr_inits2(2000, x, t, u, (mpfr_ptr)NULL);
  mpfr_set_q(x, q, MPFR_RNDN);
  mpfr_exp(y, x, MPFR_RNDN);
  if (f == F_SOFTPLUS && slope) { /* e / (1 + e) */
    mpfr_add_ui(t, y, 1, MPFR_RNDN);
    mpfr_div(y, y, t, MPFR_RNDN);
  } else if (f == F_SOFTPLUS)
    mpfr_log1p(y, y, MPFR_RNDN);
  if (f == F_SIN || f == F_COS)
    ((f == F_SIN) != slope ? mpfr_sin : mpfr_cos)(y, x, MPFR_RNDN);
  if (f == F_COS && slope)
    mpfr_neg(y, y, MPFR_RNDN);
  if (f == F_ATAN && slope) {
    mpfr_sqr(t, x, MPFR_RNDN);
    mpfr_add_ui(t, t, 1, MPFR_RNDN);
    mpfr_ui_div(y, 1, t, MPFR_RNDN);
  } else if (f == F_ATAN)
    mpfr_atan(y, x, MPFR_RNDN);
  if (f == F_ELU && mpfr_sgn(x) >= 0)
    mpfr_set(y, x, MPFR_RNDN);
  if (f == F_ELU && mpfr_sgn(x) >= 0 && slope)
    mpfr_set_ui(y, 1, MPFR_RNDN);
  if (f == F_ELU && mpfr_sgn(x) < 0 && !slope)
    mpfr_expm1(y, x, MPFR_RNDN);
  if (f == F_RECIPROCAL || f == F_LOG || f == F_ROOT) {
    mpfr_ui_div(t, 1, x, MPFR_RNDN); /* the slopes are -t^2, t, root(t) / 2 */
    if (f == F_RECIPROCAL) {
      mpfr_sqr(u, t, MPFR_RNDN);
      mpfr_neg(u, u, MPFR_RNDN);
    } else if (f == F_ROOT) {
      mpfr_sqrt(u, t, MPFR_RNDN);
      mpfr_div_2ui(u, u, 1, MPFR_RNDN);
    } else
      mpfr_set(u, t, MPFR_RNDN);
    if (f == F_LOG)
      mpfr_log(t, x, MPFR_RNDN);
    if (f == F_ROOT)
      mpfr_sqrt(t, x, MPFR_RNDN);
    mpfr_set(y, slope ? u : t, MPFR_RNDN);
  }
  if (f == F_ERF || f == F_NORMAL) {
    root_by_mpfr(t, 1, f == F_NORMAL ? 2 : 1);
    mpfr_mul(x, x, t, MPFR_RNDN);
    mpfr_erf(y, x, MPFR_RNDN);
    mpfr_sqr(u, x, MPFR_RNDN);
    mpfr_neg(u, u, MPFR_RNDN);
    mpfr_exp(u, u, MPFR_RNDN);
    root_by_mpfr(t, 4, 0);
    mpfr_mul(u, u, t, MPFR_RNDN);
    if (f == F_NORMAL) {
      mpfr_add_ui(y, y, 1, MPFR_RNDN);
      mpfr_div_2ui(y, y, 1, MPFR_RNDN);
      root_by_mpfr(t, 1, 8);
      mpfr_mul(u, u, t, MPFR_RNDN);
    }
    if (slope)
      mpfr_set(y, u, MPFR_RNDN);
  }
  if (f == F_NORMAL_TANH) {
    mpfr_sqr(t, x, MPFR_RNDN);
    mpfr_mul_ui(t, t, 44715, MPFR_RNDN);
    mpfr_div_ui(t, t, 1000000, MPFR_RNDN);
    root_by_mpfr(u, 8, 0);
    mpfr_mul(x, x, u, MPFR_RNDN);
    mpfr_mul_ui(y, t, 3, MPFR_RNDN);
    mpfr_add_ui(y, y, 1, MPFR_RNDN);
    mpfr_mul(y, y, u, MPFR_RNDN); /* the derivative of z */
    mpfr_add_ui(t, t, 1, MPFR_RNDN);
    mpfr_mul(t, t, x, MPFR_RNDN); /* z */
    mpfr_neg(t, t, MPFR_RNDN);
    mpfr_exp(t, t, MPFR_RNDN);
    mpfr_add_ui(u, t, 1, MPFR_RNDN);
    mpfr_ui_div(u, 1, u, MPFR_RNDN); /* its sigmoid; t times that is 1 less it */
    mpfr_mul(y, y, t, MPFR_RNDN);
    mpfr_mul(y, y, u, MPFR_RNDN);
    mpfr_mul(y, y, u, MPFR_RNDN);
    if (!slope)
      mpfr_set(y, u, MPFR_RNDN);
  }
  mpfr_clears(x, t, u, (mpfr_ptr)NULL);
}

/* At a point, narrow; then of an interval around it, which holds that. */
/* On both sides of a jump, at it, and around it; and where nothing moves the argument. */
START_TEST(jumps_are_told)
{
  static const struct {
    function f;
    long lo, hi, value; /* in quarters; of both ends the value, or -9 */
    bool off, still;
  } all[] = {{F_ABOVE, 1, 8, 1, true, true},   {F_ABOVE, 0, 0, 0, false, true},    {F_ABOVE, 0, 1, -9, false, false},
             {F_ABOVE, -2, 0, 0, false, true}, {F_FLOOR, 5, 7, 1, true, true},     {F_FLOOR, 4, 7, 1, false, true},
             {F_FLOOR, 3, 4, -9, false, false}, {F_FLOOR, -1, -1, -1, true, true}, {F_ROUND, 3, 5, 1, true, true},
             {F_ROUND, 2, 2, 0, false, true},  {F_ROUND, 6, 6, 2, false, true},    {F_ROUND, -2, -2, 0, false, true},
             {F_ROUND, 1, 3, -9, false, false}, {F_TRUNCATE, -3, 3, 0, true, true}, {F_TRUNCATE, -7, -5, -1, true, true},
             {F_TRUNCATE, 3, 4, -9, false, false}, {F_TRUNCATE, 4, 4, 1, false, true}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    INTERVAL(x);
    INTERVAL(y);
    mpq_set_si(&x.lo, all[i].lo, 4);
    mpq_set_si(&x.hi, all[i].hi, 4);
    mpq_canonicalize(&x.lo);
    mpq_canonicalize(&x.hi);
    function_value(&y, all[i].f, &x);
    ck_assert(all[i].value == -9 ? !interval_exact(&y) : interval_exact(&y) && mpq_cmp_si(&y.lo, all[i].value, 1) == 0);
    ck_assert(function_jumps(all[i].f) && function_has_domain(all[i].f));
    ck_assert(function_holds(all[i].f, &x, false) == all[i].off && function_holds(all[i].f, &x, true) == all[i].still);
    if (all[i].lo == all[i].hi)
      ck_assert(function_inside(all[i].f, &x, false) == all[i].off && function_inside(all[i].f, &x, true));
    function_slope(&y, all[i].f, &x);
    ck_assert(interval_zero(&y));
  }
  INTERVAL(large);
  mpq_set_ui(&large.lo, 4294967297, 2);
  mpq_set(&large.hi, &large.lo);
  ck_assert(!function_holds(F_TRUNCATE, &large, true) && function_holds(F_ROUND, &large, true));
}
END_TEST

START_TEST(smooth_functions_enclose)
{
  mpfr_t value;

  mpfr_init2(value, 2000);
  session_set_bits(_i % 2 == 0 ? 64 : 200);
  for (int round = 0; round < 400; round++) {
    const function f = (function)(round % 12);
    const bool slope = round / 12 % 2, inside = function_has_domain(f);
    interval x = interval_nought(), y = interval_nought(), wide = interval_nought();
    rational r = rational_zero();

    draw_rational(&x.lo, draw(3) == 0 ? 40 : 4);
    if (draw(4) == 0)
      mpq_div_2exp(&x.lo, &x.lo, draw(300));
    if (inside) { /* from 1/4 on, and of 1 / x also below -1/4; the roots of squares are exact */
      mpq_abs(&x.lo, &x.lo);
      mpq_set_ui(&r, 1, 4);
      mpq_add(&x.lo, &x.lo, &r);
      if (draw(3) == 0)
        mpq_mul(&x.lo, &x.lo, &x.lo);
      if (mpq_cmp(&x.lo, &r) < 0)
        mpq_set(&x.lo, &r);
      if (f == F_RECIPROCAL && draw(2) == 0)
        mpq_neg(&x.lo, &x.lo);
    }
    if (f == F_EXP && mpq_cmp_ui(&x.lo, 4, 1) > 0) /* an end of a large one is far from the other */
      mpq_div_2exp(&x.lo, &x.lo, 4);
    mpq_set(&x.hi, &x.lo);
    (slope ? function_slope : function_value)(&y, f, &x);
    smooth_by_mpfr(value, f, slope, &x.lo);
    check_encloses_within(&y, value, 16);
    if (f == F_RECIPROCAL || (f == F_LOG && slope))
      ck_assert(interval_exact(&y));
    mpq_set_ui(&r, 1 + draw(100), 500);
    mpq_canonicalize(&r);
    mpq_add(&x.hi, &x.hi, &r);
    mpq_sub(&x.lo, &x.lo, &r);
    (slope ? function_slope : function_value)(&wide, f, &x);
    ck_assert(mpq_cmp(&wide.lo, &y.hi) <= 0 && mpq_cmp(&wide.hi, &y.lo) >= 0);
    mpq_clear(&r);
    interval_clear(&x);
    interval_clear(&y);
    interval_clear(&wide);
  }
  mpfr_clear(value);
  session_set_bits(64);
}
END_TEST

/* An angle of up to 4001 bits before the point, and as many behind, on either side: numbers of 9000 bits tell it from all others. */
START_TEST(large_angles)
{
  mpfr_t at, value;

  mpfr_inits2(9000, at, value, (mpfr_ptr)NULL);
  session_set_bits(_i % 2 == 0 ? 64 : 200);
  for (int round = 0; round < 40; round++) {
    const function f = (function[]){F_SIN, F_COS, F_ATAN}[round % 3];
    interval x = interval_nought(), y = interval_nought();

    draw_rational(&x.lo, 40);
    if (mpq_sgn(&x.lo) == 0)
      mpq_set_si(&x.lo, -7, 3);
    mpq_mul_2exp(&x.lo, &x.lo, draw(round < 20 ? 100 : 3900));
    mpq_set(&x.hi, &x.lo);
    function_value(&y, f, &x);
    mpfr_set_q(at, &x.lo, MPFR_RNDN);
    (f == F_SIN ? mpfr_sin : f == F_COS ? mpfr_cos : mpfr_atan)(value, at, MPFR_RNDN);
    check_encloses_within(&y, value, 16);
    interval_clear(&x);
    interval_clear(&y);
  }
  mpfr_clears(at, value, (mpfr_ptr)NULL);
  session_set_bits(64);
}
END_TEST

/* The series of f(1/2 + t + t^2) to t^8, summed at a small t, beside the value there. */
START_TEST(series_are_taylors)
{
  enum { TERMS = 9 };
  interval *u = intervals(TERMS), *y = intervals(TERMS), *w = intervals(TERMS), sum = interval_nought();
  rational t = rational_zero(), power = rational_zero(), at = rational_zero(), off = rational_zero();
  mpfr_t value, low;

  session_set_bits(400);
  mpfr_inits2(2000, value, low, (mpfr_ptr)NULL);
  mpq_set_ui(&t, 1, 1024);
  mpq_set_ui(&u[0].lo, 1, 2), mpq_set_ui(&u[0].hi, 1, 2);
  for (int k = 1; k < 3; k++)
    interval_set(&u[k], &plus_one, &plus_one);
  series_analytic(y, w, functions[_i].name, u, TERMS);
  mpq_set(&power, &plus_one);
  for (int k = 0; k < TERMS; k++) {
    interval_add(&sum, &y[k], &power);
    mpq_mul(&power, &power, &t);
  }
  mpq_mul(&at, &t, &t);
  mpq_add(&at, &at, &t);
  mpq_add(&at, &at, &u[0].lo);
  by_mpfr(value, (size_t)_i, &at);
  mpfr_sub_q(low, value, &sum.lo, MPFR_RNDN);
  /* What is left is of order t^9: below 2^-90 times a coefficient, and with u exact all is narrow. */
  ck_assert(mpfr_cmpabs(low, value) < 0 && mpfr_get_exp(low) < -74);
  mpq_sub(&off, &sum.hi, &sum.lo);
  mpq_mul_2exp(&off, &off, 300);
  ck_assert(mpq_cmp(&off, &plus_one) < 0);
  mpfr_clears(value, low, (mpfr_ptr)NULL);
  mpq_clears(&t, &power, &at, &off, NULL);
  interval_clear(&sum);
  intervals_free(u, TERMS);
  intervals_free(y, TERMS);
  intervals_free(w, TERMS);
  session_set_bits(64);
}
END_TEST

START_TEST(what_is_exact_stays_exact)
{
  interval *x = intervals(3), *y = intervals(3);

  for (int i = 0; i < 3; i++)
    mpq_set_ui(&x[i].lo, 7, 3), mpq_set_ui(&x[i].hi, 7, 3);
  interval_softmax(y, x, 3, 1, false);
  for (int i = 0; i < 3; i++) {
    ck_assert(interval_exact(&y[i]));
    ck_assert_int_eq(mpq_cmp_ui(&y[i].lo, 1, 3), 0);
  }
  mpq_set_ui(&x[1].lo, 2, 1);
  interval_softmax(y, x, 3, 1, false);
  ck_assert(!interval_exact(&y[0]));
  interval_mul(&y[0], &y[0], &x[2]);
  mpq_set_ui(&x[2].lo, 0, 1);
  mpq_set_ui(&x[2].hi, 0, 1);
  interval_mul(&y[0], &y[0], &x[2]);
  ck_assert(interval_zero(&y[0]));
  intervals_free(x, 3);
  intervals_free(y, 3);
}
END_TEST

/* Of the four products of ends: the least, or the largest. */
static void
widest(rational *end, const interval *a, const interval *b, bool largest)
{
  RATIONAL(q);

  for (int i = 0; i < 4; i++) {
    mpq_mul(&q, i & 1 ? &a->hi : &a->lo, i & 2 ? &b->hi : &b->lo);
    if (i == 0 || (mpq_cmp(&q, end) > 0) == largest)
      mpq_set(end, &q);
  }
}

/* Into another number, and in the place of either. */
static void
agree_on_product(const interval *a, const interval *b)
{
  INTERVAL(expected);

  widest(&expected.lo, a, b, false);
  widest(&expected.hi, a, b, true);
  for (int where = 0; where < 3; where++) {
    interval *x = intervals(3);
    interval_set(&x[0], &a->lo, &a->hi);
    interval_set(&x[1], &b->lo, &b->hi);
    interval_mul(&x[where], &x[0], &x[1]);
    ck_assert(mpq_equal(&x[where].lo, &expected.lo) && mpq_equal(&x[where].hi, &expected.hi));
    intervals_free(x, 3);
  }
}

/* Every two intervals with ends among these: of one sign, of both, with 0 at an end, a number, powers of two and others. */
START_TEST(products_are_the_widest)
{
  const long of[][2] = {{-2, 1}, {-1, 3}, {0, 1}, {1, 2}, {3, 1}};
  interval x[15];
  size_t n = 0;

  for (size_t i = 0; i < 5; i++)
    for (size_t j = i; j < 5; j++) {
      x[n] = interval_nought();
      mpq_set_si(&x[n].lo, of[i][0], (unsigned long)of[i][1]);
      mpq_set_si(&x[n++].hi, of[j][0], (unsigned long)of[j][1]);
    }
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++)
      agree_on_product(&x[i], &x[j]);
  for (size_t i = 0; i < n; i++)
    interval_clear(&x[i]);
}
END_TEST

/* ---- Networks */

typedef struct {
  model m;
  network net;
  point p;
} loaded;

static bytes
data_file(const char *name, const char *end)
{
  char path[512];

  snprintf(path, sizeof path, DATA "/%s.%s", name, end);
  return read_file(path);
}

static void
load(loaded *l, const char *name)
{
  const arrays given = batch_read(data_file(name, "npz"));

  *l = (loaded){.p = {.net = &l->net, .x = given.x}};
  onnx_read(&l->m, data_file(name, "onnx"));
  onnx_operators.fold(&l->m);
  network_build(&l->net, &l->m, &given, &onnx_operators);
  network *net = &l->net;
  for (size_t i = 0; i < net->n_tensors; i++) {
    net->tensors[i]->wrt = net->tensors[i]->weight;
    net->n_wrt += net->tensors[i]->wrt ? net->tensors[i]->count : 0;
  }
  net->move = rationals(net->n_wrt);
  net->gradient = rationals(net->n_wrt);
  for (size_t i = 0, at = 0; i < net->n_tensors; i++)
    if (net->tensors[i]->wrt) {
      net->tensors[i]->move = net->move + at;
      net->tensors[i]->gradient = net->gradient + at;
      at += net->tensors[i]->count;
    }
  for (size_t i = 0; i < net->n_wrt; i++)
    draw_rational(&net->move[i], 100);
  point_evaluate(&l->p);
}

static const struct {
  const char *name;
  bool exact, rational;
} nets[] = {{"op-gemm", true, true}, {"op-matmul-left", true, true}, {"op-arithmetic", true, true},
            {"op-shapes", true, true}, {"op-pieces", true, true}, {"op-clip-old", true, true},
            {"op-conv", true, true}, {"op-conv-line", true, true}, {"op-pools", true, true},
            {"op-means", true, true}, {"op-pads", true, true}, {"op-norm", true, true},
            {"op-hardswish", false, true}, {"op-global", true, true}, {"op-layer-exact", false, true},
            {"op-trained-exact", true, true}, {"op-pad-rows", true, true},
            {"op-products", true, true}, {"op-gates", true, true}, {"op-batches", true, true}, {"op-parts", true, true},
            {"op-extremes", true, true}, {"op-extremes-listed", true, true}, {"op-repeated", true, true}, {"op-whole", true, true},
            {"op-gemm-rows", true, true}, {"op-lifted", true, true}, {"op-unrolled", true, true}, {"op-volumes", true, true}, {"op-branches", true, true}, {"op-rows-of-each", true, true}, {"op-computed-weights", true, true}, {"op-windows-of-each", true, true},
            /* no gradient from here on */
            {"op-counted", false, true}, {"op-between", false, true}, {"op-between-line", false, true}, {"op-divided", false, true}, {"op-norm-root", false, false}, {"op-smooth", false, false}, {"op-functions", false, false},
            {"op-quotients", false, false}, {"op-elus", false, false}, {"op-softmax-old", false, false}, {"op-layer", false, false}, {"op-instance", false, false},
            {"op-group", false, false}, {"op-trained", false, false}, {"op-trained-rows", false, false},
            /* no gradient: all of its Relus are off */
            {"op-negated", true, false}, {"op-written-out", false, false}};

/* All that make_cases.py made, so that none is left out: operators.txt has a line NAME EXACT of each. */
static struct {
  char name[64];
  int exact;
} listed[256];
static int n_listed;

static void
read_list(void)
{
  FILE *in = fopen(DATA "/operators.txt", "r");

  while (in != NULL && n_listed < 256 && fscanf(in, "%50s %d", listed[n_listed].name, &listed[n_listed].exact) == 2)
    n_listed++;
  if (in == NULL || !feof(in) || n_listed < (int)(sizeof nets / sizeof *nets))
    abort();
  fclose(in);
}

START_TEST(values_are_those_of_onnx)
{
  const bool exact = listed[_i].exact != 0;
  bool known = exact; /* rational? */
  char name[80];
  loaded l;
  size_t n;

  snprintf(name, sizeof name, "op-%s", listed[_i].name);
  for (size_t k = 0; k < sizeof nets / sizeof *nets; k++)
    if (strcmp(nets[k].name, name) == 0) {
      known = nets[k].rational;
      ck_assert(nets[k].exact == exact);
    }
  load(&l, name);
  const tensor *expected = tensors_read(data_file(name, "npy"), &n, NULL);
  size_t batch = l.net.batch, outputs = l.net.n_outputs;
  ck_assert_uint_eq(expected->count, batch * outputs);
  for (size_t i = 0; i < expected->count; i++) {
    const interval *y = value_at(&l.p, l.net.output, l.net.map[i % outputs] * batch + i / outputs);
    double got = mpq_get_d(&y->lo), want = mpq_get_d(&expected->value[i]);
    ck_assert(interval_exact(y) || !known);
    if (exact)
      ck_assert_msg(mpq_equal(&y->lo, &expected->value[i]), "%s: entry %zu is %.17g, not %.17g", name, i, got, want);
    else
      ck_assert_double_le(got > want ? got - want : want - got, 1e-5);
  }
}
END_TEST

static rational *
slopes(const point *p)
{
  rational *slope = rationals(p->n_slopes);

  for (size_t k = 0; k < p->n_touched; k++)
    mpq_set(&slope[p->touched[k].slope], p->touched[k].n > 1 ? &plus_one : &p->touched[k].left);
  return slope;
}

/* <gradient, move> = tangent, whatever the slopes at kinks. */
START_TEST(gradients_agree_with_tangents)
{
  loaded l;
  INTERVAL(tangent);
  RATIONAL(sum);

  load(&l, nets[_i].name);
  rational *slope = slopes(&l.p);
  tensor y = {.count = l.net.n_outputs * l.net.batch, .real = true};
  y.value = rationals(y.count);
  for (size_t i = 0; i < y.count; i++)
    draw_rational(&y.value[i], 100);
  l.p.target = &y;
  for (int mse = 0; mse < 2; mse++) {
    l.p.loss = mse ? LOSS_MSE : LOSS_SUM;
    motion d = tangents(&l.p, slope);
    tangent_loss(&tangent, &d);
    tangents_free(&d);
    loss_gradient(&l.p, slope, NULL, false);
    mpq_set(&sum, &zero);
    for (size_t i = 0; i < l.net.n_wrt; i++)
      add_multiple(&sum, &l.net.gradient[i], &l.net.move[i]);
    mpq_canonicalize(&sum);
    ck_assert(mpq_sgn(&sum) != 0);
    ck_assert(mpq_equal(&sum, &tangent.lo) && mpq_equal(&sum, &tangent.hi));
  }
  for (size_t k = 0; k < l.p.n_touched; k++) {
    motion d = tangents(&l.p, slope);
    const touch *t = &l.p.touched[k];
    INTERVAL(a);
    interval_add(&a, tangent_at(&d, t->from, t->at[0]), &plus_one);
    if (t->n > 1)
      interval_add(&a, tangent_at(&d, t->from, t->at[1]), &minus_one);
    kink_gradient(&l.p, slope, NULL, k, 0, 1, false);
    mpq_set(&sum, &zero);
    for (size_t i = 0; i < l.net.n_wrt; i++)
      add_multiple(&sum, &l.net.gradient[i], &l.net.move[i]);
    mpq_canonicalize(&sum);
    ck_assert(mpq_equal(&sum, &a.lo));
    tangents_free(&d);
  }
}
END_TEST

typedef struct {
  const motion *d;
  interval *sum;
} row_sum;

/* The row's sum grows by a derivative times the tangent of what is read. */
static void
add_along(const void *pass, size_t s, size_t e, size_t reader, source x, const interval *by)
{
  const row_sum *row = pass;

  (void)s;
  (void)e;
  multiply_add(row->sum, by, tangent_at(row->d, x.step, entry_of(row->d->p, x, reader)));
}

/* What a row of the Jacobian takes tangents to is the entry's tangent. Of a step with parameters of its own that is not all. */
static void
rows_agree(const motion *d, size_t s, size_t *seen)
{
  const point *p = d->p;
  const step *st = &p->net->steps[s];
  bool weighs = false;

  for (size_t i = 0; i < st->n_factors; i++)
    weighs = weighs || (st->factors[i].w != NULL && st->factors[i].w->wrt);
  for (size_t e = 0; e < entries(p, s) && st->varies && !st->log && !weighs; e++) {
    const interval *tangent = tangent_at(d, s, e);
    INTERVAL(sum);
    const row_sum row = {d, &sum};
    jacobian_row(&(jacobian){p, d->slope, false, add_along, &row}, s, e, false);
    const int order = interval_compare(tangent, &sum);
    ck_assert_msg(order == 0 || order == 2, "step %zu (kind %d), entry %zu", s, (int)st->kind, e);
    seen[st->kind] += !interval_zero(tangent);
  }
}

/* What is given is between two numbers. */
static void
is_no_number(const void *pass, size_t s, size_t e, size_t reader, source x, const interval *by)
{
  size_t *seen = *(size_t *const *)pass;

  (void)x;
  ck_assert_msg(mpq_cmp(&by->lo, &by->hi) < 0, "step %zu, entry %zu from %zu", s, e, reader);
  ++*seen;
}

/* The slope of ELU from 0 on. */
static void
is_one(const void *pass, size_t s, size_t e, size_t reader, source x, const interval *by)
{
  size_t *seen = *(size_t *const *)pass;

  (void)x;
  ck_assert_msg(mpq_equal(&by->lo, &plus_one) && mpq_equal(&by->hi, &plus_one), "step %zu, entry %zu from %zu", s, e, reader);
  ++*seen;
}

/* Where numbers alone serve, the slope of a function that has none, as tanh's, must not be taken for one; nor what a LogSoftmax has. */
static void
rows_without_numbers(const point *p, size_t s, size_t *seen)
{
  const step *st = &p->net->steps[s];

  if ((st->kind == FUNCTION && !function_has_domain(st->of)) || (st->kind == SOFTMAX && st->log && st->length > 1))
    for (size_t e = 0; e < entries(p, s) && st->varies; e++) {
      const size_t before = *seen;
      const bool one = st->kind == FUNCTION && st->of == F_ELU && mpq_sgn(&argument(p, st, e)->lo) >= 0;
      jacobian_row(&(jacobian){p, slopes(p), true, one ? is_one : is_no_number, &seen}, s, e, false);
      ck_assert(st->kind == FUNCTION || *seen - before > 1); /* a line's other entries, too */
    }
}

START_TEST(rows_agree_with_tangents)
{
  size_t seen[FUNCTION + 1] = {0}, smooth = 0, logarithms = 0;
  loaded l;

  for (size_t i = 0; i < sizeof nets / sizeof *nets; i++) {
    load(&l, nets[i].name);
    motion d = tangents(&l.p, slopes(&l.p));
    for (size_t s = 0; s < l.net.n_steps; s++) {
      rows_agree(&d, s, seen);
      rows_without_numbers(&l.p, s, l.net.steps[s].kind == FUNCTION ? &smooth : &logarithms);
    }
    tangents_free(&d);
  }
  for (kind k = LINEAR; k <= FUNCTION; k++)
    ck_assert_msg(seen[k] > 0, "no step of kind %d", (int)k);
  ck_assert(smooth > 0 && logarithms > 0);
}
END_TEST

static void
move_weights(loaded *l, unsigned long bits)
{
  rational q = rational_zero();

  for (size_t i = 0; i < l->net.n_tensors; i++)
    for (size_t j = 0; l->net.tensors[i]->wrt && j < l->net.tensors[i]->count; j++) {
      mpq_div_2exp(&q, &l->net.tensors[i]->move[j], bits);
      mpq_add(&l->net.tensors[i]->value[j], &l->net.tensors[i]->value[j], &q);
    }
  mpq_clear(&q);
}

/* All values and identities that are there to be computed: afterwards the weights may change. */
static void
compute_values(const point *p)
{
  for (size_t s = 0; s < p->net->n_steps; s++)
    for (size_t e = 0; e < p->net->steps[s].n * p->net->batch; e++)
      if (value_at(p, s, e) != NULL)
        same_as(p, s, e);
}

/* Within r units of c, or for an interval at least not apart from that. */
static void
check_near(const point *p, const interval *y, const integer *c, const integer *r)
{
  rational lo = rational_zero(), hi = rational_zero();
  integer z = integer_zero();

  mpz_sub(&z, c, r);
  unfixed(&lo, &z, p->net->near_bits);
  mpz_add(&z, c, r);
  unfixed(&hi, &z, p->net->near_bits);
  ck_assert(mpq_cmp(&y->hi, &lo) >= 0 && mpq_cmp(&y->lo, &hi) <= 0);
  mpq_clears(&lo, &hi, NULL);
  mpz_clear(&z);
}

static const char *const near_nets[] = {"op-gemm", "op-matmul-left", "op-arithmetic", "op-shapes", "op-pieces",
  "op-clip-old", "op-conv", "op-conv-line", "op-pools", "op-means", "op-pads", "op-norm", "op-hardswish", "op-norm-root",
  "op-smooth", "op-softmax-old", "op-products", "op-functions", "op-quotients", "op-divided", "op-elus", "op-gates", "op-batches", "op-parts", "op-extremes", "op-extremes-listed", "op-repeated", "op-whole", "op-between", "op-between-line", "conv", "flat", "blank", "tied", "tied-relu", "norm-flat", "norm-pool", "near",
  "near-zero", "near-window", "near-tie", "near-order", "op-global", "op-gemm-rows", "op-layer-exact", "op-trained-exact", "op-layer",
  "op-instance", "op-group", "op-trained", "op-trained-rows", "layer", "layer-beside", "trained", "global", "global-flat-i", "global-most-g",
  "global-alike-i", "global-line"};

/* Near values enclose the exact ones, and the pieces and windows are what exact values say; at the stored
 * weights and at rational ones, which near values round. */
START_TEST(near_values_decide_as_exact_ones)
{
  loaded l;
  size_t known = 0;

  load(&l, near_nets[_i / 2]);
  const point *p = &l.p;
  if (_i % 2 == 1) {
    move_weights(&l, 4);
    l.p = (point){.net = &l.net, .x = l.p.x};
    point_evaluate(&l.p);
  }
  for (size_t s = 0; s < l.net.n_steps; s++)
    for (size_t e = 0; e < entries(p, s); e++) {
      const step *st = &l.net.steps[s];
      size_t place = p->place[s] != NULL ? p->place[s][e] : 0;
      if (st->kind == PIECEWISE) {
        const interval *x = argument(p, st, e);
        size_t left = place < TOUCHED ? place : p->touched[place - TOUCHED].kink;
        ck_assert(place < TOUCHED || (interval_exact(x) && mpq_equal(&x->lo, &st->at[left])));
        ck_assert(place >= TOUCHED || left == 0 || mpq_cmp(&x->hi, &st->at[left - 1]) >= 0);
        ck_assert(place >= TOUCHED || left == st->n_kinks || mpq_cmp(&x->lo, &st->at[left]) <= 0);
      }
      size_t ties = 0, tied = place < TOUCHED ? 1 : 0;
      for (size_t i = 0; st->kind == WINDOW && i < st->width; i++) {
        source x = term_at(p, st, e, i).x;
        if (x.step == PADDING)
          continue;
        const interval *y = value_at(p, x.step, entry_of(p, x, e));
        ck_assert(mpq_cmp(&y->lo, &value_at(p, s, e)->hi) <= 0);
        ties += interval_exact(y) && mpq_equal(&y->lo, &value_at(p, s, e)->lo);
      }
      for (size_t o = 0; st->kind == WINDOW && place >= TOUCHED && o < p->touched[place - TOUCHED].n; o++)
        tied += p->touched[place - TOUCHED].tied[o];
      ck_assert(st->kind != WINDOW || place < TOUCHED || ties == tied);
    }
  near_prepare(&l.net, session_bits + GUARD, false);
  for (size_t s = 0; s < l.net.n_steps; s++)
    l.net.steps[s].asked = true;
  for (size_t b = 0; b < l.net.apart; b++) {
    near *v = near_values(&l.p, b, NULL);
    for (size_t s = 0; s < l.net.n_steps; s++)
      for (size_t i = 0; i < v[s].n && v[s].known; i++, known++) {
        check_near(p, value_at(p, s, i * l.net.apart + b), &v[s].c[i], &v[s].r);
        ck_assert(mpz_sizeinbase(&v[s].r, 2) < session_bits + 64);
      }
    near_free(p, v);
  }
  ck_assert_uint_gt(known, 0);
}
END_TEST

/* Near values with few bits enclose the exact ones, whatever the size of weights and inputs; what they leave open ends the pass. */
static const int sizes[][2] = {{0, 0}, {40, 0}, {-70, 0}, {0, 50}, {0, -80}, {59, 60}, {-20, 0}, {130, -120}};

static void
scale(rational *q, int by)
{
  if (by < 0)
    mpq_div_2exp(q, q, (unsigned long)-by);
  else
    mpq_mul_2exp(q, q, (unsigned long)by);
}

/* Every argument lies on the piece that is its place, or at its end. */
static void
check_places(const point *p)
{
  for (size_t s = 0; s < p->net->n_steps; s++) {
    const step *st = &p->net->steps[s];
    for (size_t e = 0; st->kind == PIECEWISE && e < entries(p, s); e++) {
      const interval *x = argument(p, st, e);
      for (size_t k = 0; k < st->n_kinks && p->place[s][e] < TOUCHED; k++)
        ck_assert(k < p->place[s][e] ? mpq_cmp(&x->hi, &st->at[k]) >= 0 : mpq_cmp(&x->lo, &st->at[k]) <= 0);
    }
  }
}

START_TEST(few_bits_are_near_exact_values)
{
  const size_t n_sizes = sizeof sizes / sizeof *sizes;
  const int *size = sizes[_i % (int)n_sizes];
  loaded l;
  const char *name = near_nets[_i / (int)n_sizes];
  size_t known = 0;

  if (strcmp(name, "op-functions") == 0 && (size[0] > 0 || size[1] > 0))
    return; /* exponentials of such numbers are refused */
  load(&l, name);
  for (size_t i = 0; i < l.net.n_tensors; i++)
    for (size_t j = 0; l.net.tensors[i]->wrt && j < l.net.tensors[i]->count; j++)
      scale(&l.net.tensors[i]->value[j], size[0]);
  for (size_t j = 0; j < l.p.x->count; j++)
    scale(&l.p.x->value[j], size[1]);
  l.p = (point){.net = &l.net, .x = l.p.x};
  point_evaluate(&l.p);
  check_places(&l.p);
  const interval ***y = calloc(l.net.n_steps, sizeof *y);
  for (size_t s = 0; s < l.net.n_steps; s++) {
    y[s] = calloc(entries(&l.p, s), sizeof *y[s]);
    for (size_t e = 0; e < entries(&l.p, s); e++)
      y[s][e] = value_at(&l.p, s, e);
  }
  near_prepare(&l.net, 112, true);
  for (size_t s = 0; s < l.net.n_steps; s++)
    l.net.steps[s].asked = true;
  for (size_t b = 0; b < l.net.apart; b++) {
    near *v = near_values(&l.p, b, NULL);
    for (size_t s = 0; s < l.net.n_steps; s++)
      for (size_t i = 0; i < v[s].n && v[s].known; i++, known++)
        check_near(&l.p, y[s][i * l.net.apart + b], &v[s].c[i], &v[s].r);
    near_free(&l.p, v);
    bool open = false, none = false;
    for (size_t s = 0; s < l.net.n_steps; s++)
      for (size_t e = b; l.p.place[s] != NULL && e < entries(&l.p, s); e += l.net.apart)
        l.p.place[s][e] = NONE;
    near_free(&l.p, near_values(&l.p, b, &open));
    for (size_t s = 0; s < l.net.n_steps; s++)
      for (size_t e = b; l.p.place[s] != NULL && e < entries(&l.p, s); e += l.net.apart)
        none = none || l.p.place[s][e] == NONE;
    ck_assert(open || !none);
  }
  ck_assert(known > 0 || size[1] >= 50);
  for (size_t s = 0; s < l.net.n_steps; s++)
    free(y[s]);
  free(y);
}
END_TEST

/* y = m 2^by */
static void
put_power(rational *q, long m, int by)
{
  mpq_set_si(q, m, 1);
  scale(q, by);
}

/* The place of sample 0's first entry in the last step, of a network with inputs and weights that are powers of two. */
static size_t
place_found(const char *name, const long (*input)[2], const long *weight)
{
  loaded l;

  load(&l, name);
  const step *last = &l.net.steps[l.net.n_steps - 1];
  tensor *w = l.net.tensors[0];
  ck_assert(w->wrt && w->count == 2);
  for (size_t i = 0; i < 2; i++)
    put_power(&w->value[i], weight[i], 0);
  for (size_t i = 0; i < l.p.x->count / l.net.batch; i++)
    put_power(&l.p.x->value[i], input[i][0], (int)input[i][1]);
  l.p = (point){.net = &l.net, .x = l.p.x};
  point_evaluate(&l.p);
  ck_assert(last->kind == PIECEWISE || last->kind == WINDOW);
  return l.p.place[l.net.n_steps - 1][0];
}

/* What is rounded down falls below what it is above: 2^-90 - 2^-95 below 0, -2^-96 + 2 2^-95 below 2^-95; likewise what is finer than
 * 112 bits, and than 192. */
START_TEST(few_bits_decide_nothing_within_their_bounds)
{
  const long finer[] = {90, 140, 230};
  const long b = -finer[_i];
  ck_assert_uint_eq(place_found("near", (const long[][2]){{1, b}, {-1, b - 5}}, (const long[]){1, 1}), 1);
  ck_assert_uint_eq(place_found("near", (const long[][2]){{-1, b}, {1, b - 5}}, (const long[]){1, 1}), 0);
  ck_assert_uint_eq(
    place_found("near-window", (const long[][2]){{-1, b - 6}, {1, b - 5}, {0, 0}}, (const long[]){1, 2}), 0);
}
END_TEST

START_TEST(equal_sequences_have_one_number)
{
  sequences t = {0};
  size_t word[4000][3];

  for (size_t k = 0; k < 4000; k++)
    for (size_t i = 0; i < 3; i++)
      word[k][i] = draw(12);
  for (int again = 0; again < 2; again++)
    for (size_t k = 0; k < 4000; k++) {
      for (size_t i = 0; i < 1 + k % 3; i++)
        put_word(&t, word[k][i]);
      size_t number = end_sequence(&t);
      ck_assert_uint_lt(number, t.n);
      size_t from = number == 0 ? 0 : t.end[number - 1];
      ck_assert_uint_eq(t.end[number] - from, 1 + k % 3);
      ck_assert(memcmp(&t.word[from], word[k], (1 + k % 3) * sizeof(size_t)) == 0);
      ck_assert(again == 0 || number < 12 + 144 + 1728);
    }
  for (size_t a = 0; a < t.n; a++)
    for (size_t b = 0; b < a; b++) {
      size_t n = t.end[a] - t.end[a - 1], from = b == 0 ? 0 : t.end[b - 1];
      ck_assert(t.end[b] - from != n || memcmp(&t.word[from], &t.word[t.end[a - 1]], n * sizeof(size_t)) != 0);
    }
  sequences_free(&t);
  ck_assert_uint_eq(t.n, 0);
}
END_TEST

static const struct {
  const char *name;
  size_t touched;
} differing[] = {
    {"op-gemm", 0}, {"op-matmul-left", 0}, {"op-arithmetic", 0}, {"op-shapes", 0}, {"op-pieces", 5},
    {"op-clip-old", 2}, {"op-conv", 0}, {"op-conv-line", 0}, {"op-pools", 2}, {"op-means", 0}, {"op-pads", 0},
    {"op-norm", 0}, {"op-hardswish", 0}, {"op-global", 0}, {"op-layer-exact", 0}, {"op-trained-exact", 0},
    {"op-products", 1}, {"op-functions", 0}, {"op-quotients", 0}, {"op-divided", 2}, {"op-elus", 8}, {"op-gates", 12}, {"op-batches", 0}, {"op-parts", 0}, {"op-extremes", 6}, {"op-extremes-listed", 0}, {"op-repeated", 0}, {"op-several", 11}, {"op-sorted", 0}, {"op-sorted-old", 2}, {"op-whole", 2}, {"op-between", 0}, {"op-between-line", 0}, {"op-norm-root", 0}, {"op-smooth", 0}, {"op-softmax-old", 0}, {"op-layer", 4}, {"op-instance", 0},
    {"op-group", 0}, {"op-trained", 0}, {"op-trained-rows", 0}, {"tied", 1}, {"tied-relu", 5}, {"flat", 0},
    {"opposed", 2}, {"lemma7", 2}, {"norm-exact", 2}, {"two", 8}, {"lemma2", 2}, {"lemma3", 2}, {"abs", 1},
    {"layer", 2}, {"trained", 6}, {"global", 1}, {"global-most-g", 2}, {"simplices-ce", 4}};

static void
turn_round(loaded *l)
{
  for (size_t i = 0; i < l->net.n_wrt; i++)
    mpq_neg(&l->net.move[i], &l->net.move[i]);
}

/* The slopes at the touched kinks of p, each on the side that the values of moved are on. */
static void
slopes_found(rational *slope, const point *p, const point *moved)
{
  for (size_t k = 0; k < p->n_touched; k++) {
    const touch *t = &p->touched[k];
    size_t best = 0;
    for (size_t o = 1; o < t->n; o++)
      best = mpq_cmp(&value_at(moved, t->from, t->at[o])->lo, &value_at(moved, t->from, t->at[best])->lo) > 0 ? o : best;
    for (size_t o = 0; o < t->n; o++)
      mpq_set(&slope[t->slope + o], o == best ? &plus_one : &zero);
    if (t->n == 1)
      mpq_set(&slope[t->slope], mpq_cmp(&value_at(moved, t->from, t->at[0])->lo,
                                        &p->net->steps[t->step].at[t->kink]) > 0 ? &t->right : &t->left);
  }
}

/* The tangent is the limit of differences: F(w + t D) for t = 2^-100, on the sides of touched kinks that are found there. */
START_TEST(tangents_agree_with_differences)
{
  loaded l, moved;
  rational t = rational_zero(), q = rational_zero();
  size_t turning = 0;

  session_set_bits(320); /* an error of the values counts 2^100 times */
  state = 7; /* whatever ran before */
  load(&l, differing[_i].name);
  compute_values(&l.p);
  moved = l;
  moved.p = (point){.net = &moved.net, .x = l.p.x};
  move_weights(&l, 100);
  point_evaluate(&moved.p);
  compute_values(&moved.p);
  rational *slope = rationals(l.p.n_slopes);
  slopes_found(slope, &l.p, &moved.p);
  turn_round(&l);
  move_weights(&l, 100);
  turn_round(&l);
  motion d = tangents(&l.p, slope);
  mpq_set_ui(&t, 1, 1);
  mpq_div_2exp(&t, &t, 100);
  for (size_t e = 0; e < entries(&l.p, l.net.output); e++) {
    size_t s = l.net.output;
    mpq_sub(&q, &value_at(&moved.p, s, e)->lo, &value_at(&l.p, s, e)->lo);
    mpq_div(&q, &q, &t);
    turning += mpq_sgn(&q) != 0;
    mpq_sub(&q, &q, &tangent_at(&d, s, e)->lo);
    mpq_abs(&q, &q);
    mpq_mul_2exp(&q, &q, 60);
    ck_assert(mpq_cmp_ui(&q, 1, 1) < 0);
  }
  ck_assert_uint_gt(turning, 0);
  ck_assert_uint_eq(l.p.n_touched, differing[_i].touched);
  mpq_clears(&t, &q, NULL);
  session_set_bits(64);
}
END_TEST

static const struct {
  const char *name;
  size_t least; /* pairs of entries with one identity that is no constant */
} alike[] = {{"flat", 100}, {"blank", 50}, {"tied", 3}, {"tied-relu", 0}, {"opposed", 0}, {"norm-flat", 6},
             {"norm-pool", 0}, {"op-gates", 20}, {"conv", 0}, {"op-pools", 0}, {"op-norm-root", 0}, {"op-instance", 0},
             {"global-flat-i", 4}, {"global-most-i", 20}, {"global-most-g", 20}, {"global-alike-g", 6}, {"global-line", 0}};

/* Entries of one identity stay equal when the weights move; what is constant stays. */
START_TEST(identities_are_functions)
{
  loaded l, moved;
  size_t pairs = 0;

  load(&l, alike[_i].name);
  compute_values(&l.p);
  moved = l;
  moved.p.net = &moved.net;
  moved.p.touched = NULL;
  moved.p.n_touched = moved.p.n_slopes = 0;
  move_weights(&l, 40);
  point_evaluate(&moved.p);
  for (size_t s = 0; s < l.net.n_steps; s++) {
    size_t n = l.net.steps[s].n * l.net.batch;
    for (size_t e = 0; e < n; e++) {
      const interval *y = value_at(&moved.p, s, e), *before = value_at(&l.p, s, e);
      if (same_as(&l.p, s, e) <= 1)
        ck_assert(interval_exact(before) && mpq_equal(&y->lo, &before->lo));
      for (size_t e2 = e % l.net.batch; e2 < e; e2 += l.net.batch) {
        if (same_as(&l.p, s, e) <= 1 || same_as(&l.p, s, e) != same_as(&l.p, s, e2))
          continue;
        const interval *y2 = value_at(&moved.p, s, e2);
        ck_assert(mpq_equal(&y->lo, &y2->lo) && mpq_equal(&y->hi, &y2->hi));
        pairs++;
      }
    }
  }
  ck_assert_uint_ge(pairs, alike[_i].least);
}
END_TEST

static const char *const moving[] = {"tied", "tied-relu", "flat", "opposed", "lemma7", "norm-exact", "two",
                                     "lemma2", "lemma3", "cascade", "abs"};

/* The gradient a little off the weights is about that of the cell of the sides that are found there. */
START_TEST(cells_have_the_gradients_nearby)
{
  loaded l, moved;
  rational q = rational_zero();

  load(&l, moving[_i % 11]);
  const size_t n = l.net.n_wrt;
  rational *slope = rationals(l.p.n_slopes);
  compute_values(&l.p);
  rational *nearby = rationals(n);
  for (int round = 0; round < 8; round++) {
    for (size_t i = 0; i < n; i++)
      draw_rational(&l.net.move[i], 100);
    moved = l;
    moved.p = (point){.net = &moved.net, .x = l.p.x};
    move_weights(&l, 60);
    point_evaluate(&moved.p);
    loss_gradient(&moved.p, slopes(&moved.p), NULL, false);
    for (size_t i = 0; i < n; i++)
      mpq_set(&nearby[i], &l.net.gradient[i]);
    slopes_found(slope, &l.p, &moved.p);
    turn_round(&l);
    move_weights(&l, 60);
    loss_gradient(&l.p, slope, NULL, false);
    for (size_t i = 0; i < n; i++) {
      mpq_sub(&q, &l.net.gradient[i], &nearby[i]);
      mpq_abs(&q, &q);
      mpq_mul_2exp(&q, &q, 30);
      ck_assert(mpq_cmp(&q, &plus_one) < 0);
    }
  }
}
END_TEST

/* S x / m, and the root of the mean square of what is off that, plus epsilon, of the line's arguments. */
static void
line_statistics(mpfr_t mean, mpfr_t root, const point *p, const step *st, size_t e)
{
  size_t m = line_length(p, st);
  mpfr_t t;

  mpfr_init2(t, 2000);
  mpfr_set_zero(mean, 1);
  mpfr_set_zero(root, 1);
  for (size_t i = 0; i < m; i++)
    mpfr_add_q(mean, mean, &argument(p, st, line_entry(p, st, e, i))->lo, MPFR_RNDN);
  mpfr_div_ui(mean, mean, m, MPFR_RNDN);
  for (size_t i = 0; i < m; i++) {
    mpfr_sub_q(t, mean, &argument(p, st, line_entry(p, st, e, i))->lo, MPFR_RNDN);
    mpfr_fma(root, t, t, root, MPFR_RNDN);
  }
  mpfr_div_ui(root, root, m, MPFR_RNDN);
  mpfr_add_q(root, root, &st->at[0], MPFR_RNDN);
  mpfr_sqrt(root, root, MPFR_RNDN);
  mpfr_clear(t);
}

/* The derivative of (x - mean) / root along dx, from that of each part. */
static void
line_tangent(mpfr_t dy, mpfr_t y, mpfr_t root, const motion *d, const step *st, size_t e)
{
  size_t m = line_length(d->p, st);
  mpfr_t moved, turned, t, mean, other;

  mpfr_inits2(2000, moved, turned, t, mean, other, (mpfr_ptr)NULL);
  line_statistics(mean, other, d->p, st, e);
  mpfr_set_zero(moved, 1);  /* that of the mean */
  mpfr_set_zero(turned, 1); /* that of the variance, halved */
  for (size_t i = 0; i < m; i++) {
    size_t at = line_entry(d->p, st, e, i);

    mpfr_add_q(moved, moved, &argument_tangent(d, st, at)->lo, MPFR_RNDN);
    mpfr_sub_q(t, mean, &argument(d->p, st, at)->lo, MPFR_RNDN);
    mpfr_mul_q(t, t, &argument_tangent(d, st, at)->lo, MPFR_RNDN);
    mpfr_sub(turned, turned, t, MPFR_RNDN);
  }
  mpfr_div_ui(moved, moved, m, MPFR_RNDN);
  mpfr_div_ui(turned, turned, m, MPFR_RNDN);
  mpfr_div(turned, turned, root, MPFR_RNDN); /* that of the root */
  mpfr_set_q(dy, &argument_tangent(d, st, e)->lo, MPFR_RNDN);
  mpfr_sub(dy, dy, moved, MPFR_RNDN);
  mpfr_mul(t, y, turned, MPFR_RNDN);
  mpfr_sub(dy, dy, t, MPFR_RNDN);
  mpfr_div(dy, dy, root, MPFR_RNDN);
  mpfr_clears(moved, turned, t, mean, other, (mpfr_ptr)NULL);
}

static const char *const normalizing[] = {"op-layer", "op-instance", "op-group", "op-trained", "op-trained-rows",
                                          "op-layer-exact", "op-trained-exact", "layer", "trained", "global-most-g", "global-line"};

/* Values and tangents of steps whose arguments are rational, at weights that are not those stored. */
START_TEST(normalizations_enclose)
{
  loaded l;
  mpfr_t mean, root, y, dy;
  size_t met = 0;

  session_set_bits(_i % 2 == 0 ? 64 : 500);
  mpfr_inits2(2000, mean, root, y, dy, (mpfr_ptr)NULL);
  load(&l, normalizing[_i / 2]);
  for (int round = 0; round < 3; round++) {
    l.p = (point){.net = &l.net, .x = l.p.x};
    point_evaluate(&l.p);
    motion d = tangents(&l.p, slopes(&l.p));
    for (size_t s = 0; s < l.net.n_steps; s++)
      for (size_t e = 0; e < entries(&l.p, s); e++) {
        const step *st = &l.net.steps[s];
        if (st->kind != NORMALIZE || !interval_exact(argument(&l.p, st, line_entry(&l.p, st, e, 0))))
          continue;
        line_statistics(mean, root, &l.p, st, e);
        mpfr_sub_q(y, mean, &argument(&l.p, st, e)->lo, MPFR_RNDN);
        mpfr_div(y, y, root, MPFR_RNDN);
        mpfr_neg(y, y, MPFR_RNDN);
        check_encloses(value_at(&l.p, s, e), y);
        if (mpfr_zero_p(y))
          ck_assert(interval_zero(value_at(&l.p, s, e)));
        line_tangent(dy, y, root, &d, st, e);
        check_encloses_within(tangent_at(&d, s, e), dy, 24);
        met++;
      }
    move_weights(&l, 2);
  }
  ck_assert_uint_gt(met, 0);
  mpfr_clears(mean, root, y, dy, (mpfr_ptr)NULL);
  session_set_bits(64);
}
END_TEST

/* An interval argument: its enclosure holds what its points give. */
START_TEST(wide_normalizations_contain_their_points)
{
  loaded l, inner;

  load(&l, "op-layer");
  inner = l;
  inner.p = (point){.net = &inner.net, .x = l.p.x};
  point_evaluate(&inner.p);
  for (int round = 0; round < 60; round++) {
    size_t s = 0;
    while (l.net.steps[s].kind != NORMALIZE)
      s++;
    size_t from = l.net.steps[s].sources[0].step;
    interval *wide = intervals(entries(&l.p, from)), *in = intervals(entries(&l.p, from));
    for (size_t e = 0; e < entries(&l.p, from); e++) {
      draw_rational(&wide[e].lo, 100);
      draw_rational(&in[e].lo, 20);
      mpq_abs(&in[e].lo, &in[e].lo);
      if (draw(3) == 0)
        mpq_set_ui(&in[e].lo, 0, 1);
      mpq_add(&wide[e].hi, &wide[e].lo, &in[e].lo);
      mpq_set(&in[e].lo, draw(2) ? &wide[e].lo : &wide[e].hi);
      mpq_set(&in[e].hi, &in[e].lo);
      l.p.y[from][e] = &wide[e];
      inner.p.y[from][e] = &in[e];
    }
    for (size_t e = 0; e < entries(&l.p, s); e++)
      l.p.y[s][e] = inner.p.y[s][e] = NULL;
    for (size_t e = 0; e < entries(&l.p, s); e++) {
      const interval *y = value_at(&l.p, s, e), *z = value_at(&inner.p, s, e);
      ck_assert(mpq_cmp(&y->lo, &z->hi) <= 0 && mpq_cmp(&y->hi, &z->lo) >= 0);
    }
  }
}
END_TEST

/* Roots of squares are exact; others have the square between those of their ends. */
START_TEST(roots_enclose)
{
  rational q = rational_zero(), lo = rational_zero(), hi = rational_zero(), t = rational_zero();

  for (unsigned i = 1; i < 400; i++) {
    mpq_set_ui(&q, i, 1 + draw(50));
    mpq_canonicalize(&q);
    sqrt_end(&lo, &q, false);
    sqrt_end(&hi, &q, true);
    mpq_mul(&t, &lo, &lo);
    ck_assert(mpq_equal(&lo, &hi) ? mpq_equal(&t, &q) : mpq_cmp(&t, &q) < 0);
    mpq_mul(&t, &hi, &hi);
    ck_assert(mpq_cmp(&t, &q) >= 0);
    mpq_mul(&q, &q, &q);
    sqrt_end(&lo, &q, i % 2 == 0);
    mpq_mul(&t, &lo, &lo);
    ck_assert(mpq_equal(&t, &q));
  }
  mpq_clears(&q, &lo, &hi, &t, NULL);
}
END_TEST

/* The exit status of a process that reads the tensors, which takes the bytes over. */
static int
reads(const char *header, const void *data, size_t size)
{
  size_t length = strlen(header);
  bytes b = {calloc(8 + length + size, 1), 8 + length + size};
  int status;

  for (size_t i = 0; i < 8; i++)
    b.data[i] = (unsigned char)(length >> 8 * i);
  memcpy(b.data + 8, header, length);
  memcpy(b.data + 8 + length, data, size);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    size_t n;

    if (freopen("/dev/null", "w", stderr) == NULL)
      _exit(99);
    tensors_read(b, &n, NULL);
    _exit(0);
  }
  free(b.data);
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFEXITED(status));
  return WEXITSTATUS(status);
}

#define ENTRY(dtype, shape, from, to) \
  "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" from "," to "]}"

START_TEST(safetensors_are_whole)
{
  static const struct {
    const char *header;
    size_t size;
    bool sound;
  } files[] = {
      {"{\"a\":" ENTRY("U8", "[2]", "0", "2") "}", 2, true},
      {"{\"a\":" ENTRY("U8", "[2]", "0", "2") "}  ", 2, true},
      {"{\"__metadata__\":{\"k\":\"v\"},\"a\":" ENTRY("U8", "[]", "0", "1") "}", 1, true},
      {"{\"a\":" ENTRY("U8", "[2]", "2", "4") ",\"b\":" ENTRY("U8", "[2]", "0", "2") "}", 4, true},
      {"{\"a\":" ENTRY("U8", "[2]", "0", "2") "}x", 2, false},
      {"{\"a\":" ENTRY("U8", "[2]", "0", "2") "}", 3, false},
      {"{\"a\":" ENTRY("U8", "[2]", "1", "3") "}", 3, false},
      {"{\"a\":" ENTRY("U8", "[2]", "0", "2") ",\"b\":" ENTRY("U8", "[2]", "1", "3") "}", 3, false},
      {"{\"a\":" ENTRY("U8", "[2]", "0", "2") ",\"b\":" ENTRY("U8", "[2]", "0", "2") "}", 2, false},
      {"{\"a\":" ENTRY("U8", "[2]", "0", "2") ",\"a\":" ENTRY("U8", "[2]", "2", "4") "}", 4, false},
      {"{\"a\":" ENTRY("U8", "[02]", "0", "2") "}", 2, false},
      {"{\"a\":" ENTRY("U8", "[2,]", "0", "2") "}", 2, false},
      {"{\"a\":" ENTRY("U8", "[1 2]", "0", "2") "}", 2, false},
      {"{\"a\":" ENTRY("U8", "[2]", "0", "2") ",}", 2, false},
      {"{\"\x1b\":" ENTRY("U8", "[2]", "0", "2") "}", 2, false},
      {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, false},
      /* Blanks of JSON, keys in any order; and nothing else between the tokens. */
      {"{ \"a\" : " ENTRY("U8", "[2]", "0", "2") "}", 2, true},
      {"{\"a\": {\"dtype\": \"U8\", \"shape\": [2, 1], \"data_offsets\": [0, 2]}, \"__metadata__\": {\"k\": \"v\", \"l\": \"\"}}", 2, true},
      {"{\n\t\"a\"\r:\n{ \"data_offsets\":[ 0 , 2 ] , \"dtype\":\"U8\" , \"shape\":[ 2 ] }\n}\n\t\r ", 2, true},
      {"{\"a\":" ENTRY("U8", "[ ]", "0", "1") " , \"__metadata__\":{ } }", 1, true},
      {"{ }", 0, true},
      {"{\"a\":\f" ENTRY("U8", "[2]", "0", "2") "}", 2, false},
      {"{\"a\":" ENTRY("U8", "[2, ]", "0", "2") "}", 2, false},
      {"{\"a\":" ENTRY("U8", "[, 2]", "0", "2") "}", 2, false},
      {"{\"a\":" ENTRY("U8", "[1 1]", "0", "1") "}", 1, false},
      {"{\"a\":" ENTRY("U8", "[2]", "0", "2") " \"b\":" ENTRY("U8", "[]", "2", "3") "}", 3, false},
      {"{\"a\":" ENTRY("U8", "[2]", "0", "2") ", }", 2, false},
      {"{, \"a\":" ENTRY("U8", "[2]", "0", "2") "}", 2, false},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2]}}", 2, false},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2],}}", 2, false},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"shape\":[2],\"data_offsets\":[0,2]}}", 2, false},
      {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"data_offsets\":[0,2]}}", 2, false},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2],\"more\":[0,2]}}", 2, false},
      {"{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2,3]}}", 2, false},
      {"{\"__metadata__\":{\"k\":\"v\",\"k\":\"w\"}}", 0, false},
      {"{\"__metadata__\":{\"k\":1}}", 0, false},
  };
  static const unsigned char data[4] = {1, 2, 3, 4};

  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    ck_assert_msg(reads(files[i].header, data, files[i].size) == (files[i].sound ? 0 : 2), "%s", files[i].header);
}
END_TEST

START_TEST(safetensors_hold_numbers)
{
  char header[96];

  for (int k = 0; k < 5; k++) {
    uint64_t bits = k < 4 ? nonnumbers[_i].bits[k] : nonnumbers[_i].bits[0] - 1;

    snprintf(header, sizeof header, "{\"w\":" ENTRY("%s", "[]", "0", "%u") "}", nonnumbers[_i].safetensors,
             nonnumbers[_i].width);
    ck_assert_int_eq(reads(header, &bits, nonnumbers[_i].width), k < 4 ? 2 : 0);
  }
}
END_TEST

int
main(void)
{
  TCase *t = tests_of("check values");
  const int n = sizeof nets / sizeof *nets, rational_nets = n - 14;

  tcase_add_test(t, hashes_agree_with_libcrypto);
  tcase_add_test(t, hashes_are_the_same_by_instructions);
  tcase_add_loop_test(t, softmax_encloses, 0, 2);
  tcase_add_test(t, wide_softmax_contains_its_points);
  tcase_add_loop_test(t, functions_enclose, 0, 2);
  tcase_add_test(t, jumps_are_told);
  tcase_add_loop_test(t, smooth_functions_enclose, 0, 2);
  tcase_add_loop_test(t, large_angles, 0, 2);
  tcase_add_test(t, series_of_erf);
  tcase_add_loop_test(t, series_are_taylors, 0, 7);
  tcase_add_loop_test(t, series_are_taylors, 8, 9);
  tcase_add_test(t, what_is_exact_stays_exact);
  tcase_add_test(t, products_are_the_widest);
  tcase_add_test(t, bounds);
  read_list();
  tcase_add_loop_test(t, values_are_those_of_onnx, 0, n_listed);
  tcase_add_loop_test(t, gradients_agree_with_tangents, 0, rational_nets);
  tcase_add_test(t, rows_agree_with_tangents);
  tcase_add_loop_test(t, near_values_decide_as_exact_ones, 0, 2 * sizeof near_nets / sizeof *near_nets);
  tcase_add_loop_test(t, few_bits_are_near_exact_values, 0,
                      (int)(sizeof sizes / sizeof *sizes * (sizeof near_nets / sizeof *near_nets)));
  tcase_add_loop_test(t, few_bits_decide_nothing_within_their_bounds, 0, 3);
  tcase_add_test(t, equal_sequences_have_one_number);
  tcase_add_loop_test(t, tangents_agree_with_differences, 0, sizeof differing / sizeof *differing);
  tcase_add_loop_test(t, identities_are_functions, 0, sizeof alike / sizeof *alike);
  tcase_add_loop_test(t, cells_have_the_gradients_nearby, 0, 11);
  tcase_add_test(t, roots_enclose);
  tcase_add_test(t, safetensors_are_whole);
  tcase_add_loop_test(t, safetensors_hold_numbers, 0, N_NONNUMBERS);
  tcase_add_loop_test(t, normalizations_enclose, 0, 2 * sizeof normalizing / sizeof *normalizing);
  tcase_add_test(t, wide_normalizations_contain_their_points);
  return run_tests();
}
