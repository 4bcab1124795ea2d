/* One step of the pass in pairs, at numbers where a bound shows: what is said holds of the exact value. */
#include "machine.h"

#include "network/pass/pairs/pairs.h"

/* A step of an input of two entries at most, and of a constant. */
typedef struct {
  clarke_value value[3];
  clarke_operand in[2];
  clarke_graph g;
  clarke_step step;
  clarke_enclosed at[3];
  clarke_branch piece[1], *pieces[1];
  clarke_margin own, *margin[1];
  clarke_pairs_pass f;
} one_step;

static void
begin(one_step *o, clarke_step_kind kind, double *constant, size_t entries)
{
  *o = (one_step){.value = {{.count = entries}, {.count = 1, .constant = true, .real = constant}, {.count = 1}}, .in = {{0, 1, NULL}, {1, 1, NULL}}};
  o->g = (clarke_graph){.values = o->value, .n_values = 3, .n_steps = 1};
  o->step = (clarke_step){.kind = kind, .in = o->in, .n_in = 1, .out = 2};
  o->pieces[0] = o->piece;
  o->own = (clarke_margin){.least = INFINITY, .most = INFINITY};
  o->margin[0] = &o->own;
  o->f = (clarke_pairs_pass){.g = &o->g, .n = 1, .value = o->at, .piece = o->pieces, .err = &error};
  OK(clarke_enclosed_alloc(&o->f, &o->at[0], entries));
}

static void
set(one_step *o, size_t e, double high, double low, double off)
{
  o->at[0].high[e] = high;
  o->at[0].low[e] = low;
  o->at[0].off[e] = off;
}

static void
end(one_step *o)
{
  clarke_enclosed_drop(&o->at[0]);
  clarke_enclosed_drop(&o->at[2]);
}

/* At most |high + low - exact|: the last digits are left out. */
static double
error_of(const one_step *o, const mpq_t exact)
{
  mpq_t have, low;
  double off;

  mpq_inits(have, low, NULL);
  mpq_set_d(have, o->at[2].high[0]);
  mpq_set_d(low, o->at[2].low[0]);
  mpq_add(have, have, low);
  mpq_sub(have, have, exact);
  off = fabs(mpq_get_d(have));
  mpq_clears(have, low, NULL);
  return off;
}

/* A line through 0 right of a kink, which is 0 or another number, and 0 or PRelu's left of it. */
static void
set_pieces(clarke_step *s, size_t slope, long num, unsigned long den)
{
  s->pieces = (clarke_pieces){.n_kinks = 1, .slope = slope};
  mpq_init(s->pieces.kink[0]);
  mpq_set_si(s->pieces.kink[0], num, den);
  for (size_t i = 0; i < 6; i++)
    mpq_init(s->pieces.coef[i / 3][i % 3]);
  mpq_set_ui(s->pieces.coef[1][1], 1, 1);
}

static void
clear_pieces(clarke_step *s)
{
  mpq_clear(s->pieces.kink[0]);
  for (size_t i = 0; i < 6; i++)
    mpq_clear(s->pieces.coef[i / 3][i % 3]);
}

/* It is off by some parts of a unit, and said to be so. */
static void
expect_units(one_step *o)
{
  const double size = fabs(o->at[2].high[0]), off = o->at[2].off[0];

  ck_assert(size > 0x1p-310 && size < 0x1p-190 && off >= size * 0x1p-104 && off <= size * 0x1p-100);
  end(o);
}

/* A number of which a unit is no double is multiplied by one that is large, and its product's unit is one. */
START_TEST(small_numbers_keep_their_units)
{
  double factor = 0x1.edcba98765432p-700, slope = 0x1.123456789abcdp-1000;
  one_step o;

  begin(&o, CLARKE_SCALE, &factor, 1);
  o.step.divide = true;
  set(&o, 0, 0x1.3p-1000, 0, 0);
  OK(clarke_pairs_scale(&o.f, &o.step));
  expect_units(&o);

  begin(&o, CLARKE_PIECEWISE, &slope, 1);
  set(&o, 0, -0x1.2345p800, -0x1.9876543210fp740, 0);
  set_pieces(&o.step, 1, 0, 1);
  OK(clarke_pairs_piecewise(&o.f, &o.step));
  expect_units(&o);
  clear_pieces(&o.step);
}
END_TEST

/* A product's error and its low part cancel, so that nothing shows of what the low part's product rounds. */
static void
cancel(double w, double high)
{
  const double low = -fma(w, high, -(w * high)) / w;
  one_step o;
  mpq_t exact, x;

  mpq_inits(exact, x, NULL);
  for (int dense = 0; dense < 2; dense++) {
    begin(&o, dense ? CLARKE_DENSE : CLARKE_SUM, &w, 1);
    o.in[0].coef = dense ? 1 : w;
    o.step.dense = (clarke_dense){.weight = 1, .blocks = 1, .inner = 1, .outer = 1, .repeat = 1};
    o.f.deferred = calloc(3, sizeof *o.f.deferred);
    set(&o, 0, high, low, 0);
    OK(dense ? clarke_pairs_dense(&o.f, &o.step) : clarke_pairs_sum(&o.f, &o.step));
    mpq_set_d(exact, high);
    mpq_set_d(x, low);
    mpq_add(exact, exact, x);
    mpq_set_d(x, w);
    mpq_mul(exact, exact, x);
    ck_assert_msg(error_of(&o, exact) <= o.at[2].off[0], "%a times %a + %a: off by %g, said to be by %g", w, high, low, error_of(&o, exact), o.at[2].off[0]);
    free(o.f.deferred);
    end(&o);
  }
  mpq_clears(exact, x, NULL);
}

START_TEST(low_parts_round_where_nothing_shows)
{
  uint64_t state = 51;

  for (size_t i = 0; i < 2000; i++)
    cancel(1 + ldexp((double)draw_below(&state, 1u << 30), -30) + ldexp((double)draw_below(&state, 1u << 22), -52),
           1 + ldexp((double)draw_below(&state, 1u << 30), -30) + ldexp((double)draw_below(&state, 1u << 22), -52));
}
END_TEST

/* What may have overflowed says nothing. */
START_TEST(far_numbers_are_not_known)
{
  one_step o;

  begin(&o, CLARKE_SUM, NULL, 2);
  clarke_enclosed_put(&o.at[0], 0, (clarke_pair){INFINITY, 0}, 1);
  clarke_enclosed_put(&o.at[0], 1, (clarke_pair){-0x1p901, 0}, 1);
  ck_assert(o.at[0].off[0] == INFINITY && o.at[0].off[1] == INFINITY);
  clarke_enclosed_put(&o.at[0], 0, (clarke_pair){NAN, 0}, 1);
  clarke_enclosed_put(&o.at[0], 1, (clarke_pair){1, 0}, 0);
  ck_assert(o.at[0].off[0] == INFINITY && o.at[0].off[1] > 0 && o.at[0].off[1] < 0x1p-1000);
  end(&o);
}
END_TEST

/* An argument that may be outside of a domain, be it by its bound alone, leaves nothing known. */
START_TEST(domains_are_left)
{
  static const clarke_function functions[] = {CLARKE_SQRT, CLARKE_LOG, CLARKE_RECIPROCAL};

  for (size_t k = 0; k < 3; k++)
    for (int far = 0; far < 4; far++) {
      const double off = far < 3 ? 1.5 + far : 0.5;
      one_step o;

      begin(&o, CLARKE_ANALYTIC, NULL, 1);
      o.step.function = functions[k];
      set(&o, 0, 1.5, 0, off);
      OK(clarke_pairs_function(&o.f, &o.step));
      ck_assert(o.at[2].known == (off < 1.5));
      end(&o);
    }
}
END_TEST

/* exp of what is far below the largest is held by a number that is larger than itself. */
START_TEST(softmax_far_below)
{
  one_step o;

  begin(&o, CLARKE_SOFTMAX, NULL, 2);
  o.value[2].count = 2;
  o.step.groups = o.step.stride = 1;
  o.step.length = 2;
  set(&o, 0, -2000, 0, 0);
  set(&o, 1, 1, 0, 0);
  OK(clarke_pairs_softmax(&o.f, &o.step));
  ck_assert(o.at[2].off[0] >= o.at[2].high[0] && o.at[2].high[0] > 0 && o.at[2].off[0] < 0x1p-390);
  end(&o);
}
END_TEST

/* Distances from kinks, and the larger of x and the kink, are within what is said of them: where x or the kink is small beside the other, and
 * near a kink that is no pair. */
START_TEST(kinks_are_within_their_bounds)
{
  uint64_t state = 53;
  mpq_t x, low, bound;

  mpq_inits(x, low, bound, NULL);
  for (size_t i = 0; i < 4000; i++) {
    one_step o;
    clarke_pair at;

    begin(&o, CLARKE_PIECEWISE, NULL, 1);
    set_pieces(&o.step, CLARKE_NONE, 1 + (long)draw_below(&state, 50), 1 + draw_below(&state, 1000));
    mpq_canonicalize(o.step.pieces.kink[0]);
    mpq_set(o.step.pieces.coef[0][0], o.step.pieces.kink[0]);
    at = clarke_pair_of(o.step.pieces.kink[0]);
    if (i % 2 == 0) /* next to the kink */
      at.low += ldexp(at.high, -(int)draw_between(&state, 56, 100));
    else
      at = (clarke_pair){ldexp(1 + (double)draw_below(&state, 1u << 20) * 0x1p-20, (int)draw_between(&state, -70, 70)), 0};
    set(&o, 0, at.high, at.low, 0);
    o.piece[0] = CLARKE_OPEN;
    o.f.margin = o.margin;
    OK(clarke_pairs_piecewise(&o.f, &o.step));
    mpq_set_d(x, at.high);
    mpq_set_d(low, at.low);
    mpq_add(x, x, low);
    ck_assert(error_of(&o, mpq_cmp(x, o.step.pieces.kink[0]) > 0 ? x : o.step.pieces.kink[0]) <= o.at[2].off[0]);
    mpq_sub(x, x, o.step.pieces.kink[0]);
    ck_assert(o.piece[0] == CLARKE_OPEN || o.piece[0] == (mpq_sgn(x) > 0));
    mpq_abs(x, x);
    mpq_set_d(bound, o.own.least == INFINITY ? 0 : o.own.least);
    ck_assert(o.piece[0] == CLARKE_OPEN || mpq_cmp(bound, x) <= 0);
    mpq_set_d(bound, o.own.most == INFINITY ? 0x1p1000 : o.own.most);
    ck_assert(mpq_cmp(bound, x) >= 0);
    clear_pieces(&o.step);
    end(&o);
  }
  mpq_clears(x, low, bound, NULL);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("enclosed step");

  tcase_add_test(tests, small_numbers_keep_their_units);
  tcase_add_test(tests, low_parts_round_where_nothing_shows);
  tcase_add_test(tests, far_numbers_are_not_known);
  tcase_add_test(tests, domains_are_left);
  tcase_add_test(tests, softmax_far_below);
  tcase_add_test(tests, kinks_are_within_their_bounds);
  return run_tests();
}
