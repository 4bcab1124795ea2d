/* Near values in long integers, by hand: bounds that are nearly met, what is not known, and when bits are added. */
#include "check/base/elementary.h"
#include "check/near/near.h"
#include "check/kernel/place.h"
#include "check/base/parallel.h"
#include "small_world.h"
#include "../suite.h"

#include <mpfr.h>
#include <pthread.h>
#include <stdlib.h>

/* ---- Bounds that are nearly met: of an input all but 2^-50 of a unit of 192 digits is cut off, and it is multiplied by 2^by */

static const rational *
two_to(long by, bool minus)
{
  rational *q = rationals(1);
  mpq_set_si(q, minus ? -1 : 1, 1);
  if (by < 0)
    mpq_div_2exp(q, q, (unsigned long)-by);
  else
    mpq_mul_2exp(q, q, (unsigned long)by);
  return q;
}

/* x = whole units, and nearly one more. */
static void
nearly_next(rational *x, long whole)
{
  INTEGER(z);
  mpz_set_si(&z, whole);
  mpz_mul_2exp(&z, &z, 50);
  mpz_add_ui(&z, &z, (1UL << 50) - 1);
  unfixed(x, &z, 50 + 192);
}

/* n such inputs, and a step that multiplies them, by minus that where minus says so. */
static void
begin_cut(world *w, size_t n, const long *whole, long by, const bool *minus)
{
  rational *x = rationals(n);
  for (size_t i = 0; i < n; i++)
    nearly_next(&x[i], whole[i]);
  world_begin(w, n, x);
  step *st = world_add(w, LINEAR, n, 1);
  for (size_t i = 0; i < n; i++) {
    st->sources[i].from = i;
    st->factors[i].coef = two_to(by, minus[i]);
  }
}

static step *
add_entries(world *w, kind k, size_t n)
{
  step *st = world_add(w, k, n, 1);
  for (size_t i = 0; i < n; i++)
    st->sources[i].from = i;
  return st;
}

static step *
add_normalization(world *w, size_t n, const rational *epsilon)
{
  step *st = add_entries(w, NORMALIZE, n);
  st->length = n;
  st->stride = 1;
  mpq_set(&st->at[0], epsilon);
  return st;
}

static void
check_cut(world *w)
{
  world_values(w);
  point_evaluate(&w->p);
  ck_assert(world_near(w, 64 + GUARD, false));
}

/* The difference of two, one more than it seems, one less. */
START_TEST(sums_move_nearly_as_much_as_is_said)
{
  world w;
  begin_cut(&w, 2, (const long[]){0, 0}, 180, (const bool[]){false, true});
  step *st = world_add(&w, LINEAR, 1, 2);
  st->sources[1].from = 1;
  st->factors[1].coef = &minus_one;
  check_cut(&w);
}
END_TEST

/* A product of two that seem 0, and of which one is known less well than the other. */
START_TEST(products_move_nearly_as_much_as_is_said)
{
  world w;
  begin_cut(&w, 1, (const long[]){0}, 180, (const bool[]){false});
  step *st = world_add(&w, LINEAR, 1, 1);
  st->sources[0] = (source){0, 0};
  st->factors[0].coef = two_to(150, false);
  st = world_add(&w, PRODUCT, 1, 2);
  st->sources[_i] = (source){1, 0};
  check_cut(&w);
}
END_TEST

/* Rows too wide to be held at once: of each feature its own. */
START_TEST(rows_are_summed_in_turn)
{
  enum { N = 5, WIDTH = 20000 };
  rational *x = rationals(N);
  world w;
  for (size_t i = 0; i < N; i++) {
    mpq_set_si(&x[i], (long)i - 2, 1);
    mpq_mul_2exp(&x[i], &x[i], 70);
    mpq_add(&x[i], &x[i], two_to(-150, i % 2 == 0));
  }
  world_begin(&w, N, x);
  step *st = world_add(&w, LINEAR, N, WIDTH);
  for (size_t i = 0; i < st->n_sources; i++)
    st->sources[i].from = i % WIDTH < 3 ? 4 : i / WIDTH;
  check_cut(&w);
}
END_TEST

/* x^2 at what seems 0, and is 1. */
START_TEST(parabolas_move_nearly_as_much_as_is_said)
{
  world w;
  begin_cut(&w, 1, (const long[]){0}, 192, (const bool[]){false});
  step *st = add_entries(&w, PIECEWISE, 1);
  st->n_kinks = 1;
  mpq_set_si(&st->at[0], -9, 1);
  mpq_set_ui(&st->piece[1][2], 1, 1);
  mpq_set_ui(&st->piece[0][0], 81, 1);
  check_cut(&w);
}
END_TEST

/* Two sums of four inputs, of which 7/8 of a unit is cut off: both are 7/2, and seem 0 and 7, within 4. The first of them is taken. */
START_TEST(what_seems_nearly_two_bounds_apart_may_be_tied)
{
  static const long eighths[] = {7, 7, 7, 7, -9, -9, -9, -1};
  rational *x = rationals(8);
  world w;
  for (size_t i = 0; i < 8; i++) {
    mpq_set_si(&x[i], eighths[i], 8);
    mpq_div_2exp(&x[i], &x[i], 192);
  }
  world_begin(&w, 8, x);
  step *st = world_add(&w, LINEAR, 2, 4);
  for (size_t i = 0; i < 8; i++) {
    st->sources[i].from = i;
    st->factors[i].coef = two_to(192, i >= 4);
  }
  world_add(&w, WINDOW, 1, 2)->sources[1].from = 1;
  check_cut(&w);
  ck_assert(mpq_equal(&w.y[1][0], &w.y[1][1]));
  w.p.place[2][0] = NONE;
  near_free(&w.p, near_values(&w.p, 0, NULL));
  ck_assert_uint_eq(w.p.place[2][0], 0);
}
END_TEST

/* 1 / x, where x is not seen to be above 0, but is; and the root. */
START_TEST(domains_are_asked_of_what_is_not_seen)
{
  world w;
  rational *x = rationals(1);
  mpq_set(x, two_to(-300, false));
  world_begin(&w, 1, x);
  step *st = add_entries(&w, FUNCTION, 1);
  st->of = _i == 0 ? F_RECIPROCAL : F_ROOT;
  add_entries(&w, PIECEWISE, 1)->n_kinks = 1;
  world_values(&w);
  point_evaluate(&w.p);
  ck_assert(world_near(&w, 64 + GUARD, false));
  near *v = near_values(&w.p, 0, NULL);
  ck_assert(v[0].known && !v[1].known);
  near_free(&w.p, v);
}
END_TEST

/* A line of which long integers see only noise: entry 0 is 1 above all others, which are 0, and each is known up to 1. What they see has
 * entry 0 in the middle, and a root that is many times as large. */
START_TEST(a_root_is_known_less_what_its_line_may_move)
{
  enum { N = 16 };
  long whole[N];
  bool minus[N];
  world w;
  for (int i = 0; i < N; i++) {
    whole[i] = i == 0 ? 0 : -1;
    minus[i] = i % 2 == 1;
  }
  begin_cut(&w, N, whole, 192, minus);
  add_normalization(&w, N, two_to(_i == 0 ? -200 : -900, false)); /* which is 0 in units */
  check_cut(&w);
  near *v = near_values(&w.p, 0, NULL);
  ck_assert(v[2].known == (_i == 0));
  near_free(&w.p, v);
}
END_TEST

/* On the sides that move entry 0 most: alone against all others where epsilon is large, else by the derivative of the root, too. */
START_TEST(lines_move_nearly_as_much_as_is_said)
{
  enum { N = 16 };
  long whole[N];
  bool minus[N];
  world w;
  for (int i = 0; i < N; i++) {
    long value = i == 0 ? 250 : i % 2 == 0 ? 62 : -96; /* times 100: what comes out, nearly */
    minus[i] = i > 0 && (_i == 1 || value > 0);       /* so that entry 0 is more than it seems, this is less */
    whole[i] = (minus[i] ? -value : value) * ((1L << 42) / 100);
  }
  begin_cut(&w, N, whole, 150, minus);
  add_normalization(&w, N, two_to(_i == 1 ? 40 : -40, false));
  check_cut(&w);
}
END_TEST

/* Likewise two shares, which are one half each, nearly. Of their logarithms nothing is said. */
START_TEST(shares_move_nearly_as_much_as_is_said)
{
  world w;
  begin_cut(&w, 2, (const long[]){0, 0}, 180, (const bool[]){false, true});
  step *st = add_entries(&w, SOFTMAX, 2);
  st->length = 2;
  st->stride = 1;
  st->log = _i == 1;
  check_cut(&w);
  near *v = near_values(&w.p, 0, NULL);
  ck_assert(v[2].known == (_i == 0));
  near_free(&w.p, v);
}
END_TEST

/* Of what is constant nothing is rounded, however small epsilon; without an epsilon nothing is known, nor where it is too small to be
 * seen beside what is rounded. */
START_TEST(a_constant_line_is_zero)
{
  rational *x = rationals(3);
  bool open;
  world w;
  for (size_t i = 0; i < 3; i++)
    mpq_set_ui(&x[i], 5, _i == 2 ? 3 : 1);
  world_begin(&w, 3, x);
  step *st = add_normalization(&w, 3, _i == 0 ? &zero : two_to(-900, false));
  point_evaluate(&w.p);
  st->asked = w.net.steps[0].asked = true;
  session_set_bits(_i == 1 ? 900 : 64);
  near_prepare(&w.net, session_bits + GUARD, false);
  near *v = near_values(&w.p, 0, &open);
  ck_assert(v[1].known == (_i == 1) && !open);
  for (size_t i = 0; i < 3; i++)
    ck_assert_int_eq(mpz_sgn(&v[1].c[i]), 0);
  ck_assert(_i != 1 || mpz_sgn(&v[1].r) == 0);
  near_free(&w.p, v);
  session_set_bits(64);
}
END_TEST

/* Steps by hand, and what is prepared of them: of a row of equal factors whether they are machine words, the digits that they have, a norm and
 * what they are off by. With few bits those of 8 terms and more have a sum below 2^61. */
static const struct {
  size_t width;
  long above;
  unsigned long below;
  bool few, words;
  unsigned long shift;
} prepared[] = {
  {8, 1, 3, true, true, 57}, {8, -1, 7, true, true, 58}, {8, 5, 3, true, true, 55}, {8, 1, 1, true, true, 0}, {15, 1, 3, true, true, 57},
  {16, 1, 3, true, true, 56}, {7, 1, 3, true, false, 112}, {8, 1, 3, false, false, 112}, {8, -3, 4, false, true, 2}, {8, -3, 4, true, true, 2},
  {8, 1L << 54, 1, true, true, 0}, {8, 1L << 56, 1, true, true, 0}, {8, 1L << 57, 1, true, false, 0}, {8, 1L << 60, 3, true, false, 112}, {8, 0, 1, true, true, 0},
};

START_TEST(factors_are_as_fine_as_words_hold)
{
  rational *by = rationals(1), *sum = rationals(1), *off = rationals(1);
  world w;
  world_begin(&w, 1, &plus_one);
  mpq_set_si(by, prepared[_i].above, prepared[_i].below);
  mpq_canonicalize(by);
  step *st = world_add(&w, LINEAR, 2, prepared[_i].width);
  for (size_t i = 0; i < st->n_factors; i++)
    st->factors[i].coef = by;
  for (int turn = 0; turn < 2; turn++) { /* nothing of what was prepared before is left */
    near_prepare(&w.net, 112, prepared[_i].few);
    ck_assert((st->words != NULL) == prepared[_i].words && (st->m == NULL) == prepared[_i].words);
    ck_assert_uint_eq(st->shift, prepared[_i].shift);
    for (size_t i = 0; i < st->n_factors; i++) {
      if (prepared[_i].words)
        mpq_set_si(off, st->words[i], 1);
      else
        mpq_set_z(off, &st->m[i]);
      mpq_abs(sum, off);
      mpz_mul_ui(mpq_numref(sum), mpq_numref(sum), prepared[_i].width);
      ck_assert(mpz_cmp(mpq_numref(sum), &st->norm) == 0);
      mpq_div_2exp(off, off, st->shift);
      mpq_sub(off, by, off);
      mpq_mul_2exp(off, off, st->shift);
      ck_assert(mpq_sgn(off) >= 0 && mpq_cmp_si(off, 1, 1) < 0);
      ck_assert(mpz_cmp_ui(&st->slack, mpq_sgn(off) != 0) == 0);
    }
  }
}
END_TEST

/* No slope of a step of pieces is steeper than its norm, be it below 0, of the last piece or a weight of the last row. */
START_TEST(no_slope_is_steeper_than_the_norm)
{
  static const long sevenths[][6] = {{-5, 0, 0, 0, 0, 1}, {5, 0, 0, 0, 0, 1}, {0, -15, 0, 0, 0, 3}, {0, 0, 36, 0, 0, 6}, {0, 0, 0, -9, 0, 2},
                                     {0, 0, 0, 0, 36, 6}, {-8, 7, 7, 0, -22, 4}, {7, -7, 0, 7, -7, 1}};
  const long *of = sevenths[_i];
  world w;
  world_begin(&w, 1, &plus_one);
  step *st = world_add(&w, PIECEWISE, 3, 1);
  for (size_t i = 0; i < 3; i++) {
    mpq_set_si(&st->piece[i][1], of[i], 7);
    mpq_canonicalize(&st->piece[i][1]);
  }
  for (size_t i = 0; i < 2; i++) { /* the first feature has none */
    mpq_set_si(&w.w[1].value[i], of[3 + i], 7);
    mpq_canonicalize(&w.w[1].value[i]);
    st->factors[1 + i] = (factor){&plus_one, &w.w[1], i};
  }
  near_prepare(&w.net, 112, true);
  near_prepare(&w.net, 112, true);
  ck_assert(mpz_cmp_si(&st->norm, of[5]) == 0);
}
END_TEST

/* Five sums of (2^40 + 1) a - 2^40 b, a and b being 1/3: bounds grow to 2^205 units. So with 192 bits the kink behind them stays open; with
 * more it does not, and nothing is evaluated exactly. What lies on a kink and is fine is evaluated at once. */
START_TEST(bits_are_added_until_pieces_are_decided)
{
  rational *x = rationals(2), factors[2] = {rational_zero(), rational_zero()};
  world w;
  mpq_set_ui(&x[0], 1, 3);
  mpq_set_ui(&x[1], 1, 3);
  mpq_set_si(&factors[1], -1, 1);
  mpq_mul_2exp(&factors[1], &factors[1], 40);
  mpq_sub(&factors[0], &plus_one, &factors[1]);
  world_begin(&w, 2, x);
  for (int i = 0; i < 5; i++) {
    step *st = world_add(&w, LINEAR, 2, 2);
    for (size_t t = 0; t < 4; t++) {
      st->factors[t].coef = &factors[t % 2];
      st->sources[t].from = t % 2;
    }
  }
  step *st = world_add(&w, PIECEWISE, 2, 1);
  st->sources[0].step = st->sources[1].step = _i == 1 ? 0 : 5;
  st->sources[1].from = 1;
  st->n_kinks = 1;
  mpq_set_ui(&st->piece[1][1], 1, 1);
  if (_i == 1)
    mpq_set_ui(&st->at[0], 1, 3);
  world_values(&w);
  point_evaluate(&w.p);
  ck_assert(_i == 1 ? session_bits == 64 : session_bits > 64 && session_bits <= 256);
  for (size_t s = 1; s < 6; s++)
    ck_assert(w.p.y[s][0] == NULL && w.p.y[s][1] == NULL);
  ck_assert_uint_eq(w.p.n_touched, _i == 1 ? 2 : 0);
  session_set_bits(64);
}
END_TEST

/* A number of up to 53 bits, or a fraction of which doubles have no end; or one of these but for some 2^-50. */
static void
draw_factor(rational *q, const rational *like, uint64_t *state)
{
  uint64_t drawn[3];
  for (int i = 0; i < 3; i++)
    drawn[i] = *state = *state * 6364136223846793005u + 1442695040888963407u;
  mpq_set_ui(q, drawn[0] >> 33, drawn[1] >> 63 > 0 ? 1 : 1 + (drawn[1] >> 40));
  mpq_canonicalize(q);
  mpq_div_2exp(q, q, drawn[2] >> 59);
  if (like == NULL || drawn[0] >> 62 == 0)
    return;
  mpq_set_si(q, drawn[1] >> 62 & 1 ? 1 : -1, 1);
  mpq_div_2exp(q, q, 44 + (drawn[2] >> 40) % 14);
  mpq_sub(q, q, &plus_one);
  mpq_mul(q, q, like);
}

/* Sums of terms that nearly cancel, in three layers: whatever doubles decide is as exact numbers have it. How many do they leave
 * open? */
START_TEST(doubles_place_what_nearly_cancels)
{
  enum { N = 6 };
  static rational factors[3][N * N];
  uint64_t state = 1;
  size_t wrong = 0, sides[2] = {0, 0};
  for (size_t i = 0; i < (size_t)3 * N * N; i++)
    factors[i / (N * N)][i % (N * N)] = rational_zero();
  for (int turn = 0; turn < 3000; turn++) {
    rational *x = rationals(N);
    world w;
    for (size_t i = 0; i < N; i++)
      draw_factor(&x[i], i % 2 > 0 && turn % 3 > 0 ? &x[i - 1] : NULL, &state);
    world_begin(&w, N, x);
    for (size_t layer = 0; layer < 3; layer++) {
      step *st = world_add(&w, LINEAR, N, N);
      for (size_t t = 0; t < (size_t)N * N; t++) {
        rational *q = &factors[layer][t];
        draw_factor(q, t % 2 > 0 ? q - 1 : NULL, &state);
        st->factors[t].coef = q;
        st->sources[t].from = t % N / 2 * 2;
      }
      st = add_entries(&w, PIECEWISE, N);
      st->n_kinks = 1;
      mpq_set_ui(&st->piece[1][1], 1, layer == 1 ? 3 : 1);
      mpq_set_si(&st->piece[0][1], layer > 0, 7);
      mpq_set_si(&st->piece[1][2], layer == 1 && turn % 2 > 0, 5);
    }
    world_values(&w);
    point_evaluate(&w.p);
    for (size_t s = 2; s <= 6; s += 2)
      for (size_t e = 0; e < N; e++) {
        int sign = mpq_sgn(&w.y[s - 1][e]);
        wrong += sign != 0 && w.p.place[s][e] != (size_t)(sign > 0);
        sides[sign > 0]++;
      }
    session_set_bits(64);
  }
  ck_assert_uint_eq(wrong, 0);
  ck_assert_msg(sides[0] > 1000 && sides[1] > 1000, "%zu %zu", sides[0], sides[1]);
}
END_TEST

/* A weight is the slope below 0, whatever the piece has: -2 of -1 is 2, and 2 - 1 lies above 0. Windows of such entries are no ties. */
START_TEST(a_weight_is_the_slope_below_zero)
{
  rational *x = rationals(2);
  world w;
  mpq_set_si(&x[0], -1, 1);
  mpq_set_si(&x[1], -3, 1);
  world_begin(&w, 2, x);
  mpq_set_si(&w.w[1].value[0], -2, 1);
  step *st = add_entries(&w, PIECEWISE, 2);
  st->n_kinks = 1;
  mpq_set_ui(&st->piece[1][1], 1, 1);
  st->factors[0].w = st->factors[1].w = &w.w[1];
  st = world_add(&w, LINEAR, 2, 2);
  for (size_t f = 0; f < 2; f++) {
    st->sources[2 * f].from = f;
    st->sources[2 * f + 1].step = NONE;
    st->factors[2 * f + 1].coef = &minus_one;
  }
  st = add_entries(&w, PIECEWISE, 2);
  st->n_kinks = 1;
  mpq_set_ui(&st->piece[1][1], 1, 1);
  st = world_add(&w, WINDOW, 1, 2);
  st->sources[0] = (source){1, 0};
  st->sources[1] = (source){1, 1};
  world_values(&w);
  point_evaluate(&w.p);
  ck_assert(w.p.place[1][0] == 0 && w.p.place[1][1] == 0 && w.p.place[3][0] == 1 && w.p.place[3][1] == 1);
  ck_assert(w.p.place[4][0] == 1 && w.p.n_touched == 0);
}
END_TEST

/* Ends of exp(-t 2^-p) hold it, to few digits and to many. */
START_TEST(exponentials_lie_between_their_ends)
{
  const unsigned long p = 9 + 13 * (unsigned long)_i;
  integer t = integer_zero(), lo = integer_zero(), hi = integer_zero();
  mpfr_t y, z;
  mpfr_inits2(2000, y, z, (mpfr_ptr)NULL);
  for (unsigned long i = 0; i < 400; i++) {
    mpz_set_ui(&t, i * i * i);
    mpz_mul_2exp(&t, &t, i % 3 == 0 ? 0 : p);
    mpz_fdiv_q_2exp(&t, &t, i % 3 == 1 ? 24 : 0);
    mpfr_set_z(y, &t, MPFR_RNDN);
    mpfr_div_2ui(y, y, p, MPFR_RNDN);
    mpfr_neg(y, y, MPFR_RNDN);
    mpfr_exp(y, y, MPFR_RNDN);
    mpfr_mul_2ui(y, y, p, MPFR_RNDN);
    exp_ends(&lo, &hi, &t, p);
    ck_assert(mpfr_cmp_z(y, &lo) >= 0);
    ck_assert(mpfr_cmp_z(y, &hi) <= 0);
  }
  mpfr_clears(y, z, (mpfr_ptr)NULL);
  mpz_clears(&t, &lo, &hi, NULL);
}
END_TEST

/* Of less than the last digit nothing is left but that it is less than 1. */
START_TEST(the_exponential_of_next_to_nothing_is_below_one)
{
  RATIONAL(t);
  RATIONAL(end);
  mpq_set_ui(&t, 9, 10);
  mpq_div_2exp(&t, &t, session_bits + 64);
  exp_end(&end, &t, false);
  ck_assert_int_lt(mpq_cmp(&end, &plus_one), 0);
  exp_end(&end, &t, true);
  ck_assert_int_ge(mpq_cmp(&end, &plus_one), 0);
}
END_TEST

static void
meet(void *barrier, size_t sample)
{
  pthread_barrier_wait(barrier);
  ck_assert_uint_eq(session_bits, 160);
  session_set_bits(64 + sample);
  pthread_barrier_wait(barrier);
  ck_assert_uint_eq(session_bits, 64 + sample);
  session_set_bits(160);
}

/* a / 3 - b, a being 2^200, and b less than its third by 2^-20: with 192 bits of a third the sum is open; with more of them it is not,
 * and nothing is evaluated exactly. */
START_TEST(factors_have_more_bits_then_too)
{
  rational *x = rationals(2), third = rational_zero();
  world w;
  mpq_set(&x[0], two_to(200, false));
  mpq_set_ui(&third, 1, 3);
  mpq_mul(&x[1], &x[0], &third);
  mpq_sub(&x[1], &x[1], two_to(-20, false));
  world_begin(&w, 2, x);
  step *st = world_add(&w, LINEAR, 1, 2);
  st->factors[0].coef = &third;
  st->factors[1].coef = &minus_one;
  st->sources[1].from = 1;
  world_add(&w, PIECEWISE, 1, 1)->n_kinks = 1;
  world_values(&w);
  point_evaluate(&w.p);
  ck_assert(session_bits > 64 && session_bits <= 256);
  ck_assert(w.p.y[1][0] == NULL);
  ck_assert_uint_eq(w.p.n_touched, 0);
  session_set_bits(64);
}
END_TEST

/* The largest of two thirds of 2^200, which 192 bits do not tell apart: of one number twice it is known at once which it is, with no bit
 * more; of numbers that differ by 2^-20 it is not. */
START_TEST(one_number_twice_is_no_open_tie)
{
  rational *x = rationals(2), third = rational_zero();
  world w;
  mpq_set_ui(&third, 1, 3);
  mpq_set(&x[0], two_to(200, false));
  mpq_add(&x[1], &x[0], two_to(-20, false));
  world_begin(&w, 2, x);
  step *st = world_add(&w, LINEAR, 2, 1);
  st->factors[0].coef = st->factors[1].coef = &third;
  st->sources[1].from = _i == 0 ? 0 : 1;
  world_add(&w, WINDOW, 1, 2)->sources[1].from = 1;
  world_values(&w);
  point_evaluate(&w.p);
  ck_assert(_i == 0 ? session_bits == 64 : session_bits > 64 && session_bits <= 256);
  ck_assert_uint_eq(w.p.place[2][0], (size_t)_i);
  session_set_bits(64);
}
END_TEST

/* Each has its own number of bits, which is the first one's to begin with. */
START_TEST(threads_begin_with_the_bits_of_the_first)
{
  pthread_barrier_t two_threads;
  ck_assert_int_eq(pthread_barrier_init(&two_threads, NULL, 2), 0);
  session_set_threads(2);
  session_set_bits(160);
  for_each_sample(2, meet, &two_threads);
  session_set_threads(1);
  session_set_bits(64);
  pthread_barrier_destroy(&two_threads);
}
END_TEST

int
main(void)
{
  TCase *t = tests_of("check near values");
  tcase_add_test(t, sums_move_nearly_as_much_as_is_said);
  tcase_add_loop_test(t, products_move_nearly_as_much_as_is_said, 0, 2);
  tcase_add_test(t, rows_are_summed_in_turn);
  tcase_add_test(t, parabolas_move_nearly_as_much_as_is_said);
  tcase_add_test(t, what_seems_nearly_two_bounds_apart_may_be_tied);
  tcase_add_loop_test(t, domains_are_asked_of_what_is_not_seen, 0, 2);
  tcase_add_loop_test(t, a_root_is_known_less_what_its_line_may_move, 0, 2);
  tcase_add_loop_test(t, lines_move_nearly_as_much_as_is_said, 0, 2);
  tcase_add_loop_test(t, shares_move_nearly_as_much_as_is_said, 0, 2);
  tcase_add_loop_test(t, a_constant_line_is_zero, 0, 3);
  tcase_add_loop_test(t, factors_are_as_fine_as_words_hold, 0, (int)(sizeof prepared / sizeof *prepared));
  tcase_add_loop_test(t, no_slope_is_steeper_than_the_norm, 0, 8);
  tcase_add_loop_test(t, bits_are_added_until_pieces_are_decided, 0, 2);
  tcase_add_test(t, doubles_place_what_nearly_cancels);
  tcase_add_test(t, a_weight_is_the_slope_below_zero);
  tcase_add_loop_test(t, exponentials_lie_between_their_ends, 0, 20);
  tcase_add_test(t, factors_have_more_bits_then_too);
  tcase_add_loop_test(t, one_number_twice_is_no_open_tie, 0, 2);
  tcase_add_test(t, threads_begin_with_the_bits_of_the_first);
  tcase_add_test(t, the_exponential_of_next_to_nothing_is_below_one);
  return run_tests();
}
