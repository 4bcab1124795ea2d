/* Signs by size: of sums, products and functions drawn as steps, beside MPFR, whose exponents reach far enough. */
#include "check/kernel/evaluate.h"
#include "check/near/near.h"
#include "check/kernel/place.h"
#include "check/smooth/size.h"
#include "small_world.h"
#include "../suite.h"

#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4, ROUNDS = 3, WORLDS = 4000, PRECISION = 700 };

typedef struct {
  world w;
  uint64_t state;
  mpfr_t y[MOST_STEPS][MOST_ENTRIES];
} drawn;

static unsigned
draw(drawn *d, unsigned n)
{
  d->state = d->state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(d->state >> 33) % n;
}

static void
draw_argument(drawn *d, rational *q)
{
  static const long scale[] = {1, 1, 30, 700, 15000, 15000, 40000};
  mpq_set_si(q, draw(d, 12) == 0 ? 0 : ((long)draw(d, 2001) - 1000) * scale[draw(d, 7)], 1000);
  mpq_canonicalize(q);
}

/* sigmoid(y) as exp(y) / (1 + exp(y)), which is relatively near; or tanh(y / 2) */
static void
logistic(mpfr_t to, const mpfr_t y, bool hyperbolic)
{
  mpfr_t t;
  mpfr_init2(t, PRECISION);
  if (hyperbolic) {
    mpfr_div_ui(to, y, 2, MPFR_RNDN);
    mpfr_tanh(to, to, MPFR_RNDN);
  } else {
    mpfr_exp(to, y, MPFR_RNDN);
    mpfr_add_ui(t, to, 1, MPFR_RNDN);
    mpfr_div(to, to, t, MPFR_RNDN);
  }
  mpfr_clear(t);
}

/* Of the N numbers of step s: pairs (x, 0), their shares, and those, or twice those less 1, or once, which is minus sigmoid(-x). */
static size_t
add_logistic(drawn *d, size_t s, bool hyperbolic)
{
  bool once = draw(d, 4) == 0;
  step *st = world_add(&d->w, LINEAR, 2 * N, 1);
  size_t at = d->w.net.n_steps - 1;
  for (size_t f = 0; f < 2 * N; f++) {
    st->sources[f] = f % 2 == 0 ? (source){s, f / 2} : (source){PADDING, 0};
    if (f % 2 == 0)
      mpfr_set(d->y[at][f], d->y[s][f / 2], MPFR_RNDN);
  }
  st = world_add(&d->w, SOFTMAX, 2 * N, 1);
  st->length = 2;
  st->stride = 1;
  for (size_t f = 0; f < 2 * N; f++)
    st->sources[f] = (source){at, f};
  for (size_t f = 0; f < 2 * N; f += 2)
    logistic(d->y[at + 1][f], d->y[at][f], false);
  st = world_add(&d->w, LINEAR, N, 2);
  for (size_t f = 0; f < N; f++) {
    st->sources[2 * f] = (source){at + 1, 2 * f};
    st->sources[2 * f + 1] = hyperbolic ? (source){NONE, 0} : (source){PADDING, 0};
    if (hyperbolic) {
      st->factors[2 * f].coef = once ? &plus_one : &two;
      st->factors[2 * f + 1].coef = &minus_one;
    }
    bool turned = hyperbolic && once;
    if (turned)
      mpfr_neg(d->y[at][2 * f], d->y[at][2 * f], MPFR_RNDN);
    logistic(d->y[at + 2][f], d->y[at][2 * f], hyperbolic && !once);
    if (turned)
      mpfr_neg(d->y[at + 2][f], d->y[at + 2][f], MPFR_RNDN);
  }
  return at + 2;
}

/* a b, or a + b, or a - b: of drawn entries of two steps. */
static size_t
add_both(drawn *d, size_t a, size_t b)
{
  bool product = draw(d, 2) == 0, minus = draw(d, 2) == 0;
  step *st = world_add(&d->w, product ? PRODUCT : LINEAR, N, 2);
  size_t at = d->w.net.n_steps - 1;
  for (size_t f = 0; f < N; f++) {
    st->sources[2 * f] = (source){a, draw(d, N)};
    st->sources[2 * f + 1] = (source){b, draw(d, N)};
    mpfr_ptr x = d->y[a][st->sources[2 * f].from], z = d->y[b][st->sources[2 * f + 1].from];
    if (!product && minus)
      st->factors[2 * f + 1].coef = &minus_one;
    (product ? mpfr_mul : minus ? mpfr_sub : mpfr_add)(d->y[at][f], x, z, MPFR_RNDN);
    /* what cancels is no longer near */
    if (!product && mpfr_regular_p(x) && mpfr_regular_p(d->y[at][f]) &&
        mpfr_get_exp(d->y[at][f]) < mpfr_get_exp(x) - PRECISION / 2)
      mpfr_set_nan(d->y[at][f]);
  }
  return at;
}

static size_t
begin(drawn *d, uint64_t seed)
{
  rational *x = rationals(N);
  d->state = seed;
  for (size_t i = 0; i < MOST_STEPS * MOST_ENTRIES; i++) {
    mpfr_init2(d->y[i / MOST_ENTRIES][i % MOST_ENTRIES], PRECISION);
    mpfr_set_ui(d->y[i / MOST_ENTRIES][i % MOST_ENTRIES], 0, MPFR_RNDN);
  }
  for (size_t i = 0; i < N; i++)
    draw_argument(d, &x[i]);
  world_begin(&d->w, N, x);
  for (size_t i = 0; i < N; i++)
    mpfr_set_q(d->y[0][i], &x[i], MPFR_RNDN);
  size_t a = add_logistic(d, 0, draw(d, 2)), b = add_logistic(d, draw(d, 2) == 0 ? a : 0, draw(d, 2)), c = add_both(d, a, b);
  c = add_both(d, c, draw(d, 2) == 0 ? a : b);
  return draw(d, 2) == 0 ? add_logistic(d, c, true) : add_both(d, c, c);
}

START_TEST(signs_are_those_of_mpfr)
{
  size_t tiny = 0, told = 0;
  mpfr_set_emin(mpfr_get_emin_min());
  for (uint64_t seed = 1; seed <= WORLDS; seed++) {
    drawn d;
    size_t s = begin(&d, seed);
    point_evaluate(&d.w.p);
    for (size_t e = 0; e < N; e++) {
      mpfr_ptr y = d.y[s][e];
      if (mpfr_nan_p(y))
        continue;
      int sign = sign_by_size(&d.w.p, s, e);
      ck_assert_msg(sign == 0 || sign == mpfr_sgn(y), "world %lu, entry %zu: %d", (unsigned long)seed, e, sign);
      if (!mpfr_zero_p(y) && mpfr_get_exp(y) < -1200) {
        tiny++;
        told += sign != 0;
      }
    }
    for (size_t i = 0; i < MOST_STEPS * MOST_ENTRIES; i++)
      mpfr_clear(d.y[i / MOST_ENTRIES][i % MOST_ENTRIES]);
  }
  ck_assert_uint_gt(tiny, 500);
  ck_assert_msg(told > tiny * 3 / 5, "%zu of %zu are told", told, tiny);
}
END_TEST

/* sigmoid(-4e14), which is 2^(-5.77e14), is above sigmoid(-3.8e14) sigmoid(-0.3e14), which is less than 2^(-5.9e14); and the other way
 * round. Exponents beyond 2^49 are told apart as any, or not at all. */
START_TEST(far_exponents_are_not_taken_for_farther_ones)
{
  static const long arguments[][3] = {{-4000, -3800, -300}, {-4200, -3800, -300}, {-7000, -3800, -3900}, {-8000, -3900, -3900}};
  drawn d;
  rational *x = rationals(3);
  for (size_t i = 0; i < 3; i++) {
    mpq_set_si(&x[i], arguments[_i][i], 1);
    mpz_mul_ui(mpq_numref(&x[i]), mpq_numref(&x[i]), 100000000000);
  }
  world_begin(&d.w, 3, x);
  step *st = world_add(&d.w, LINEAR, 6, 1);
  for (size_t f = 0; f < 6; f++)
    st->sources[f] = f % 2 == 0 ? (source){0, f / 2} : (source){PADDING, 0};
  st = world_add(&d.w, SOFTMAX, 6, 1);
  st->length = 2;
  st->stride = 1;
  for (size_t f = 0; f < 6; f++)
    st->sources[f] = (source){1, f};
  st = world_add(&d.w, PRODUCT, 1, 2);
  st->sources[0] = (source){2, 2};
  st->sources[1] = (source){2, 4};
  st = world_add(&d.w, LINEAR, 1, 2);
  st->sources[0] = (source){2, 0};
  st->sources[1] = (source){3, 0};
  st->factors[1].coef = &minus_one;
  point_evaluate(&d.w.p);
  int sign = sign_by_size(&d.w.p, 4, 0), truth = arguments[_i][0] > arguments[_i][1] + arguments[_i][2] ? 1 : -1;
  ck_assert_msg(sign == 0 || sign == truth, "%d", sign);
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("check-sizes");
  tcase_add_test(tcase, signs_are_those_of_mpfr);
  tcase_add_loop_test(tcase, far_exponents_are_not_taken_for_farther_ones, 0, 4);
  return run_tests();
}
