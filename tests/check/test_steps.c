/* Steps by hand, one of a kind or two: where they have kinks, what their domains are, and what is prepared of them. */
#include "../suite.h"
#include "check/base/lines.h"
#include "check/kernel/adjoint.h"
#include "check/kernel/behind.h"
#include "check/kernel/cell.h"
#include "check/kernel/evaluate.h"
#include "check/kernel/factor.h"
#include "check/kernel/gradient.h"
#include "check/kernel/identity.h"
#include "check/kernel/place.h"
#include "check/kernel/zone.h"
#include "check/near/near.h"
#include "check/smooth/function.h"
#include "forge_tape_judge.h"
#include "small_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Worlds */

/* One sample of these numbers, whose places exact values tell. */
static void
begin(world *w, size_t n, const double *x)
{
  rational *all = rationals(n);

  for (size_t i = 0; i < n; i++)
    mpq_set_d(&all[i], x[i]);
  world_begin(w, n, all);
  w->net.near = NULL;
}

/* Feature f reads feature f of the step before, in all its places. */
static step *
add(world *w, kind k, size_t n, size_t width)
{
  step *st = world_add(w, k, n, width);

  for (size_t i = 0; i < n * width; i++)
    st->sources[i].from = i / width;
  return st;
}

static step *
add_function(world *w, function of, size_t n)
{
  step *st = add(w, FUNCTION, n, 1);

  st->of = of;
  return st;
}

static step *
add_relu(world *w, size_t n)
{
  step *st = add(w, PIECEWISE, n, 1);

  st->n_kinks = 1;
  mpq_set_ui(&st->piece[1][1], 1, 1);
  return st;
}

static const rational *
number(double x)
{
  rational *q = rationals(1);

  mpq_set_d(q, x);
  return q;
}

/* ---- Kinks */

typedef enum { NO_WEIGHT, MOVES, RESTS } weighed;

/* Pieces as numbers; an argument, at the first kink or the second one. The first piece's slope is a weight, which moves or does not. The place
 * is a piece, or at a kink with two slopes. */
static const struct {
  double at[2], piece[3][3];
  size_t n_kinks;
  weighed by;
  double weight, x;
  size_t place, kink;
  double left, right;
} kinks[] = {
  {{0}, {{0}, {0, 1}}, 1, NO_WEIGHT, 0, -1, 0, NONE, 0, 0},
  {{0}, {{0}, {0, 1}}, 1, NO_WEIGHT, 0, 1, 1, NONE, 0, 0},
  {{0}, {{0}, {0, 1}}, 1, NO_WEIGHT, 0, 0, NONE, 0, 0, 1},
  {{-1, 1}, {{-1}, {0, 1}, {1}}, 2, NO_WEIGHT, 0, -1, NONE, 0, 0, 1},
  {{-1, 1}, {{-1}, {0, 1}, {1}}, 2, NO_WEIGHT, 0, 1, NONE, 1, 1, 0},
  {{-1, 1}, {{-1}, {0, 1}, {1}}, 2, NO_WEIGHT, 0, 0.5, 1, NONE, 0, 0},
  {{-1, 1}, {{-1}, {0, 1}, {1}}, 2, NO_WEIGHT, 0, 2, 2, NONE, 0, 0},
  /* Both pieces are the same: there is no kink, and the argument is on what comes behind. */
  {{0}, {{0, 3}, {0, 3}}, 1, NO_WEIGHT, 0, 0, 1, NONE, 0, 0},
  {{0, 1}, {{0}, {0, 3, 5}, {0, 3, 5}}, 2, NO_WEIGHT, 0, 1, 2, NONE, 0, 0},
  {{0, 1}, {{7, 3, 5}, {7, 3, 5}, {2}}, 2, NO_WEIGHT, 0, 0, 1, NONE, 0, 0},
  /* Two pieces that differ in one number; where they have one slope, a line's is taken last. */
  {{0}, {{0, 3}, {1, 3}}, 1, NO_WEIGHT, 0, 0, 0, NONE, 0, 0},
  {{0}, {{0, 3, 1}, {0, 3, 0}}, 1, NO_WEIGHT, 0, 0, 0, NONE, 0, 0},
  {{0}, {{0, 3, 0}, {0, 3, 1}}, 1, NO_WEIGHT, 0, 0, 1, NONE, 0, 0},
  {{0}, {{0, 3, 2}, {0, 3, 1}}, 1, NO_WEIGHT, 0, 0, 0, NONE, 0, 0},
  {{-1, 1}, {{9, 9, 9}, {0, 3, 0}, {2, -1, 2}}, 2, NO_WEIGHT, 0, 1, 2, NONE, 0, 0},
  {{-1, 1}, {{9, 9, 0}, {2, -1, 2}, {0, 3, 0}}, 2, NO_WEIGHT, 0, 1, 1, NONE, 0, 0},
  {{-1, 1}, {{9, 9, 0}, {0, 3, 0}, {1, 3, 0}}, 2, NO_WEIGHT, 0, 1, 1, NONE, 0, 0},
  {{0, 1}, {{0, 3, 0}, {0, 3, 1}, {9, 9, 0}}, 2, NO_WEIGHT, 0, 0, 1, NONE, 0, 0},
  /* A parabola's slope is told at the kink. */
  {{1}, {{0, 1, 3}, {-3, 7, 0}}, 1, NO_WEIGHT, 0, 1, 0, NONE, 0, 0},
  {{1}, {{0, 1, 3}, {-3, 6, 1}}, 1, NO_WEIGHT, 0, 1, NONE, 0, 7, 8},
  /* The first piece has a weight for its slope: it is no kink where that rests, and is the other one's. */
  {{0}, {{0, 5}, {0, 1}}, 1, RESTS, 2, 0, NONE, 0, 2, 1},
  {{0}, {{0, 5}, {0, 2}}, 1, RESTS, 2, 0, 1, NONE, 0, 0},
  {{0}, {{0, 5}, {0, 2}}, 1, MOVES, 2, 0, 0, NONE, 0, 0},
  {{0}, {{0, 5}, {0, 5}}, 1, MOVES, 2, 0, NONE, 0, 2, 5},
  {{0, 1}, {{0, 4}, {0, 3}, {0, 3}}, 2, RESTS, 2, 1, 2, NONE, 0, 0},
  {{0, 1}, {{0, 4}, {0, 3}, {0, 3}}, 2, MOVES, 2, 1, 2, NONE, 0, 0},
  {{0, 1}, {{0, 4}, {0, 3}, {1, 2}}, 2, MOVES, 3, 1, NONE, 1, 3, 2},
};

static void
begin_kinks(world *w, int i)
{
  begin(w, 1, &kinks[i].x);
  mpq_set_d(&w->w[0].value[1], kinks[i].weight);
  mpq_set_d(&w->w[1].value[1], kinks[i].weight);
  step *st = add(w, PIECEWISE, 1, 1);
  st->n_kinks = kinks[i].n_kinks;
  for (size_t k = 0; k < 2; k++)
    mpq_set_d(&st->at[k], kinks[i].at[k]);
  for (size_t k = 0; k < 9; k++)
    mpq_set_d(&st->piece[k / 3][k % 3], kinks[i].piece[k / 3][k % 3]);
  if (kinks[i].by != NO_WEIGHT)
    st->factors[0] = (factor){&plus_one, &w->w[kinks[i].by == RESTS], 1};
}

START_TEST(kinks_lie_where_slopes_differ)
{
  world w;

  begin_kinks(&w, _i);
  point_evaluate(&w.p);
  rational *others = rationals(20); /* memory that was given back is used again */
  for (size_t i = 0; i < 20; i++)
    mpq_set_si(&others[i], -77, 1);
  size_t place = w.p.place[1][0];
  if (kinks[_i].kink == NONE) {
    ck_assert_uint_eq(place, kinks[_i].place);
    ck_assert_uint_eq(w.p.n_touched, 0);
    return;
  }
  ck_assert(place == TOUCHED && w.p.n_touched == 1);
  const touch *t = &w.p.touched[0];
  ck_assert(t->step == 1 && t->entry == 0 && t->kink == kinks[_i].kink && t->from == 0 && t->n == 1 && t->at[0] == 0);
  ck_assert(mpq_get_d(&t->left) == kinks[_i].left && mpq_get_d(&t->right) == kinks[_i].right);
}
END_TEST

START_TEST(a_parabola_through_0_has_its_values)
{
  const double x = 3;
  world w;

  begin(&w, 1, &x);
  step *st = add_relu(&w, 1);
  mpq_set_ui(&st->piece[1][1], 0, 1);
  mpq_set_ui(&st->piece[1][2], 2, 1);
  point_evaluate(&w.p);
  ck_assert(mpq_cmp_ui(&value_at(&w.p, 1, 0)->lo, 18, 1) == 0);
}
END_TEST

/* ---- Numbers that are not rational */

/* Exponentials of x and of 1; then e, and (a - b) exp(x) + plus; then a kink at `at`. */
static void
begin_exp(world *w, double x, double a, double b, const rational *plus, double at)
{
  begin(w, 2, (const double[]){x, 1});
  add_function(w, F_EXP, 2);
  step *st = add(w, LINEAR, 2, 3);
  for (size_t f = 0; f < 2; f++) {
    st->sources[3 * f] = (source){1, f == 0};
    st->sources[3 * f + 1] = f == 0 ? (source){PADDING, 0} : (source){1, 0};
    st->sources[3 * f + 2] = f == 0 ? (source){PADDING, 0} : (source){NONE, 0};
  }
  st->factors[3].coef = number(a);
  st->factors[4].coef = number(-b);
  st->factors[5].coef = plus;
  st = add_relu(w, 2);
  mpq_set_d(&st->at[0], at);
  if (at != 0)
    mpq_set_d(&st->piece[0][0], at);
}

typedef struct {
  double x, a, b, at;
  bool close; /* less a number that is exp(x0) but for 2^-100, with that sign */
  int sign;
  size_t place;
} irrational;

static const irrational irrationals[] = {
  {1, 1, 1, 0, false, 0, TOUCHED}, /* it cancels */
  {1, 2, 1, 0, false, 0, 1},
  {1, 1, 2, 0, false, 0, 0},
  {1, 1, 1, -1, false, 0, 1}, /* it cancels, above another kink */
  {1, 1, 1, 1, false, 0, 0},
  {1, 1, 0, 0, true, 1, 1}, /* few bits do not tell it from 0, more do */
  {1, 1, 0, 0, true, -1, 0},
  {-1e6, 1, 0, 0, false, 0, 1}, /* no bits tell it from 0, what it is made of does */
  {-1e6, -1, 0, 0, false, 0, 0},
  {-0x1p-200, 1, 0, 1, false, 0, 0}, /* a number above 0, below the kink */
  {0x1p-200, 1, 0, 1, false, 0, 1},
};

/* exp(x) to 2^-100, on the side that is told. */
static const rational *
near_exp(double x, int sign)
{
  const unsigned long bits = session_bits;
  rational *q = rationals(1);
  INTERVAL(y);
  INTEGER(z);

  session_set_bits(256);
  interval_set(&y, number(x), number(x));
  function_value(&y, F_EXP, &y);
  session_set_bits(bits);
  fixed(&z, &y.lo, 100, sign < 0);
  unfixed(q, &z, 100);
  return q;
}

static void
place_irrational(void *of)
{
  const irrational *one = of;
  rational *less = rationals(1);
  world w;

  if (one->close)
    mpq_neg(less, near_exp(one->x, one->sign));
  begin_exp(&w, one->x, one->a, one->b, less, one->at);
  point_evaluate(&w.p);
  size_t touched = one->place == TOUCHED;
  ck_assert_uint_eq(w.p.place[3][0], 1);
  ck_assert_uint_eq(w.p.place[3][1], one->place);
  ck_assert_uint_eq(w.p.n_touched, touched);
  ck_assert(!touched || (w.p.touched[0].entry == 1 && w.p.touched[0].at[0] == 1 && interval_zero(value_at(&w.p, 2, 1))));
}

/* Each work ends like this; of what holds NULL. */
static void
expect_end(void (*work)(void *of), const void *of, outcome how, const char *said)
{
  const char *why;
  const outcome is = judge(work, (void *)of, &why);

  ck_assert_msg(is == how && (said == NULL || strstr(why, said) != NULL), "%d: %s", is, why);
}

START_TEST(numbers_that_are_not_rational_are_placed)
{
  expect_end(place_irrational, &irrationals[_i], VERIFIED, NULL);
}
END_TEST

/* ---- Domains */

typedef struct {
  function of;
  double x;
  bool moves;
  const char *why;
} domain;

#define SMOOTH "an argument is 0, or below, where it is not smooth"
#define JUMPS "an argument that parameters move is where the function jumps"

static const domain domains[] = {
  {F_RECIPROCAL, 0, false, SMOOTH}, {F_RECIPROCAL, 2, true, NULL}, {F_RECIPROCAL, -2, true, NULL}, {F_RECIPROCAL, 0, true, SMOOTH},
  {F_ROOT, 0, true, SMOOTH}, {F_ROOT, -1, true, SMOOTH}, {F_ROOT, 1, true, NULL}, {F_LOG, 0, false, SMOOTH}, {F_LOG, 1, false, NULL},
  {F_EXP, 0, true, NULL}, {F_FLOOR, 1, true, JUMPS}, {F_FLOOR, 1, false, NULL}, {F_FLOOR, 0.5, true, NULL}, {F_ABOVE, 0, true, JUMPS},
  {F_ABOVE, 0, false, NULL}, {F_ABOVE, 1, true, NULL}, {F_ROUND, 0.5, true, JUMPS}, {F_ROUND, 1, true, NULL}, {F_TRUNCATE, 1, true, JUMPS},
  {F_TRUNCATE, 0, true, NULL}, {F_HELD, 0, true, NULL},
};

static void
place_function(void *of)
{
  const domain *one = of;
  world w;

  begin(&w, 2, (const double[]){0.75, one->x});
  mpq_set_ui(&w.w[0].value[1], 1, 1);
  mpq_set_ui(&w.w[1].value[1], 1, 1);
  step *st = add(&w, LINEAR, 2, 1);
  st->factors[0] = st->factors[1] = (factor){&plus_one, &w.w[!one->moves], 1};
  add_function(&w, one->of, 2);
  point_evaluate(&w.p);
}

START_TEST(functions_are_asked_for_their_domains)
{
  const domain *one = &domains[_i];

  expect_end(place_function, one, one->why == NULL ? VERIFIED : REFUSED, one->why);
}
END_TEST

/* ---- What is prepared */

/* What parameters move; what is read, each step once; what a kink or a domain depends on. */
START_TEST(steps_know_what_they_depend_on)
{
  static const bool varies[] = {false, true, false, false, true, true, true, true, true, false};
  static const bool still[] = {true, false, true, false, false, false, false, false, false, true};
  static const bool asked[] = {true, true, true, true, true, true, true, false, false, true};
  step *apart = calloc(MOST_STEPS + 2, sizeof *apart);
  const double half = 0.5;
  world w;

  begin(&w, 1, &half);
  mpq_set_ui(&w.w[0].value[0], 1, 1);
  mpq_set_ui(&w.w[1].value[0], 3, 1);
  add(&w, LINEAR, 1, 1)->factors[0].w = &w.w[0];
  step *st = add(&w, LINEAR, 1, 2); /* 2 */
  st->sources[0] = (source){NONE, 0};
  st->sources[1] = (source){PADDING, 0};
  st->factors[0].w = &w.w[1];
  add_function(&w, F_FLOOR, 1)->sources[0].step = 1; /* 3 */
  st = add(&w, LINEAR, 1, 1);                        /* 4 */
  st->sources[0].step = 1;
  st->of = F_FLOOR;
  add_function(&w, F_EXP, 1); /* 5 */
  add_relu(&w, 1);
  st = add(&w, LINEAR, 1, 3); /* 7 */
  st->sources[1].step = 1;
  st->of = F_FLOOR;
  add_function(&w, F_EXP, 1);
  add_function(&w, F_ABOVE, 1)->sources[0].step = 2; /* 9 */
  memcpy(apart + 2, w.net.steps, MOST_STEPS * sizeof *apart);
  apart[0].varies = apart[1].varies = true;
  w.net.steps = apart + 2;
  point_evaluate(&w.p);
  for (size_t s = 0; s < w.net.n_steps; s++) {
    st = &w.net.steps[s];
    ck_assert_msg(st->varies == varies[s] && st->still == still[s] && st->asked == asked[s], "step %zu", s);
    if (s != 2 && s != 7)
      ck_assert(st->n_reads == (s > 0) && (s == 0 || st->reads[0] == st->sources[0].step));
  }
  ck_assert(st[-2].n_reads == 2 && st[-2].reads[0] == 6 && st[-2].reads[1] == 1);
  ck_assert(st[-7].n_reads == 1 && st[-7].reads[0] == NONE);
}
END_TEST

/* A row of a window, or of a product. */
static const struct {
  kind of;
  size_t width;
  source row[3];
  bool right;
} rows[] = {
  {WINDOW, 2, {{PADDING, 0}, {PADDING, 0}}, false}, {WINDOW, 2, {{PADDING, 0}, {0, 0}}, true}, {WINDOW, 1, {{PADDING, 0}}, false},
  {PRODUCT, 2, {{0, 0}, {PADDING, 0}}, false}, {PRODUCT, 2, {{NONE, 0}, {0, 0}}, false}, {PRODUCT, 2, {{0, 0}, {0, 1}}, true},
  {PRODUCT, 1, {{0, 0}}, false}, {PRODUCT, 3, {{0, 0}, {0, 1}, {0, 0}}, false},
};

static void
place_row(void *of)
{
  const int i = *(const int *)of;
  world w;

  begin(&w, 2, (const double[]){3, 4});
  step *st = add(&w, rows[i].of, 2, rows[i].width);
  st->op = "MaxPool";
  for (size_t k = 0; k < st->width && rows[i].width == 2; k++)
    st->sources[k] = (source){0, k};
  memcpy(&st->sources[st->width], rows[i].row, st->width * sizeof(source));
  point_evaluate(&w.p);
}

START_TEST(rows_have_entries)
{
  expect_end(place_row, &_i, rows[_i].right ? VERIFIED : REFUSED, rows[_i].right ? NULL : "a window or a product without entries");
}
END_TEST

static void
place_without_rules(void *of)
{
  const double one = 1;
  world w;

  begin(&w, 1, &one);
  step *st = add(&w, *(const kind *)of, 1, 1);
  st->of = F_EXP;
  st->length = st->kind == SOFTMAX || st->kind == NORMALIZE;
  st->stride = 1;
  w.net.smooth = NULL;
  point_evaluate(&w.p);
}

START_TEST(smooth_steps_have_rules)
{
  static const kind smooth[] = {SOFTMAX, NORMALIZE, OVER_ROOT, FUNCTION}, other = PIECEWISE;

  expect_end(place_without_rules, &smooth[_i], REFUSED, "a smooth step, and no rules for it");
  expect_end(place_without_rules, &other, VERIFIED, NULL);
}
END_TEST

/* ---- Windows */

typedef enum { NOTHING, ABOVE_E, BELOW_E, LOWER_END, LITTLE } plus;

/* Two entries, each (a + b) e plus a number: near e, the lower end of an interval of 64 bits that holds it, or little. A place, and how many
 * options. */
typedef struct {
  double a[2], b[2];
  plus more[2];
  size_t place, options;
} window;

static const window windows[] = {
  {{1, 0}, {0, 0}, {NOTHING, ABOVE_E}, 1, 0}, {{1, 0}, {0, 0}, {NOTHING, BELOW_E}, 0, 0}, {{0, 1}, {0, 0}, {ABOVE_E, NOTHING}, 0, 0},
  {{0, 1}, {0, 0}, {BELOW_E, NOTHING}, 1, 0}, {{1, 0}, {0, 0}, {NOTHING, LOWER_END}, 0, 0}, {{0, 1}, {0, 0}, {LOWER_END, NOTHING}, 1, 0},
  {{1, 1}, {0, 0}, {NOTHING, LITTLE}, 1, 0}, {{1, 1}, {0, 0}, {LITTLE, NOTHING}, 0, 0}, {{1, 2}, {1, 0}, {NOTHING, NOTHING}, TOUCHED, 2},
  {{2, 1}, {0, 1}, {LITTLE, LITTLE}, TOUCHED, 2}, {{1, 1}, {1, 1}, {NOTHING, NOTHING}, 0, 0},
};

static const rational *
plus_of(plus more)
{
  const unsigned long bits = session_bits;
  INTERVAL(y);
  rational *q = rationals(1);

  if (more == ABOVE_E || more == BELOW_E)
    return near_exp(1, more == ABOVE_E ? -1 : 1);
  session_set_bits(64);
  interval_set(&y, &plus_one, &plus_one);
  function_value(&y, F_EXP, &y);
  session_set_bits(bits);
  mpq_set_ui(q, more == LITTLE, 1);
  mpq_div_2exp(q, q, 100);
  if (more == LOWER_END)
    mpq_set(q, &y.lo);
  return q;
}

static void
place_window(void *of)
{
  const window *one = of;
  const double x = 1;
  world w;

  begin(&w, 1, &x);
  add_function(&w, F_EXP, 1);
  step *st = add(&w, LINEAR, 2, 3);
  for (size_t f = 0; f < 2; f++) {
    factor *by = &st->factors[3 * f];
    by[0].coef = number(one->a[f]);
    by[1].coef = number(one->b[f]);
    by[2].coef = plus_of(one->more[f]);
    st->sources[3 * f].from = st->sources[3 * f + 1].from = 0;
    st->sources[3 * f + 1].step = one->b[f] == 0 ? PADDING : 1;
    st->sources[3 * f + 2] = one->more[f] == NOTHING ? (source){PADDING, 0} : (source){NONE, 0};
  }
  st = add(&w, WINDOW, 1, 2);
  st->sources[1].from = 1;
  point_evaluate(&w.p);
  ck_assert_uint_eq(w.p.place[3][0], one->place);
  ck_assert_uint_eq(w.p.n_touched, one->options > 0);
  ck_assert(one->options == 0 || w.p.touched[0].n == one->options);
}

START_TEST(windows_of_numbers_that_are_not_rational)
{
  expect_end(place_window, &windows[_i], VERIFIED, NULL);
}
END_TEST

/* w0 x and w1 x, of which the largest is asked for. */
static void
begin_window(world *w, double w0, double w1, bool one)
{
  const double x = 2;

  begin(w, 1, &x);
  mpq_set_d(&w->w[0].value[0], w0);
  mpq_set_d(&w->w[0].value[1], w1);
  step *st = add(w, LINEAR, 2, 1);
  for (size_t f = 0; f < 2; f++) {
    st->factors[f] = (factor){&plus_one, &w->w[0], one ? 0 : f};
    st->sources[f].from = 0;
  }
  add(w, WINDOW, 1, 2)->sources[1].from = 1;
}

/* Entries that are one function need no values. What has no smooth steps needs no rules for such. */
START_TEST(few_values_are_needed)
{
  world w;

  begin_window(&w, 3, 5, true);
  point_evaluate(&w.p);
  ck_assert(w.p.place[2][0] == 0 && w.p.y[1][0] == NULL && w.p.y[1][1] == NULL);
  ck_assert(one_identity(&w.p, 2, 0, 1, 0));
  begin_window(&w, 3, 3, false);
  w.net.smooth = NULL;
  point_evaluate(&w.p);
  ck_assert(w.p.place[2][0] == TOUCHED && w.p.touched[0].n == 2 && w.p.touched[0].last == 1);
  begin_window(&w, 3, 5, false);
  point_evaluate(&w.p);
  ck_assert_uint_eq(w.p.place[2][0], 1);
}
END_TEST

/* Touched kinks are in the order of their steps, in which those of a sample were found; and then of their entries. */
START_TEST(touched_kinks_are_in_order)
{
  const double x[] = {0, 0};
  world w;

  begin(&w, 2, x);
  w.net.batch = w.net.apart = 2;
  w.net.steps[0].n = 1;
  w.net.near = near_places;
  add_relu(&w, 1);
  add_relu(&w, 1)->sources[0].step = 0;
  point_evaluate(&w.p);
  ck_assert_uint_eq(w.p.n_touched, 4);
  for (size_t k = 0; k < 4; k++) {
    const touch *t = &w.p.touched[k];
    ck_assert(t->step == 1 + k / 2 && t->entry == k % 2 && t->slope == k && w.p.place[t->step][t->entry] == TOUCHED + k);
  }
}
END_TEST

/* ---- Degrees */

static cell
settled(world *w, const int *sides, bool tree)
{
  w->net.n_wrt = MOST_WEIGHTS;
  w->net.gradient = w->w[0].gradient = rationals(MOST_WEIGHTS);
  w->net.move = w->w[0].move = rationals(MOST_WEIGHTS);
  point_evaluate(&w->p);
  cell c = cell_new(&w->p);
  for (size_t k = 0; k < w->p.n_touched && sides != NULL; k++)
    c.side[k] = sides[k];
  cell_settle(&c, &w->p, tree);
  return c;
}

static void
expect_degrees(const world *w, const cell *c, size_t s, const uint8_t *degrees)
{
  for (size_t e = 0; e < entries(&w->p, s); e++)
    ck_assert_msg(c->degree[s][e] == degrees[e], "step %zu, entry %zu: %d", s, e, c->degree[s][e]);
}

static void
reads(step *st, size_t f, const source *x)
{
  memcpy(&st->sources[f * st->width], x, st->width * sizeof *x);
}

/* A step's places in a row, by source. */
static step *
add_reading(world *w, kind k, size_t n, size_t width, const source *x)
{
  step *st = add(w, k, n, width);

  memcpy(st->sources, x, n * width * sizeof *x);
  return st;
}

#define NO {PADDING, 0}

/* Step 1: w0 x0, c x0, x0, w0 x1 = 0, w0, nothing, w0 x0 + w1 x2, w0 - w0, c. All of w is 3/4, c is 2. */
static void
begin_degrees(world *w)
{
  static const source x[][2] = {{{0, 0}, NO}, {{0, 0}, NO}, {{0, 0}, NO}, {{0, 1}, NO}, {{NONE, 0}, NO}, {NO, NO}, {{0, 0}, {0, 2}},
                                {{NONE, 0}, {NONE, 0}}, {{NONE, 0}, NO}};

  begin(w, 3, (const double[]){2, 0, 3});
  for (size_t i = 0; i < MOST_WEIGHTS; i++) {
    mpq_set_ui(&w->w[0].value[i], 3, 4);
    mpq_set_ui(&w->w[1].value[i], 2, 1);
    mpq_set_ui(&w->w[2].value[i], 2, 1);
  }
  step *st = add(w, LINEAR, 9, 2);
  for (size_t f = 0; f < 9; f++) {
    reads(st, f, x[f]);
    for (size_t i = 0; i < 2; i++)
      st->factors[2 * f + i] = (factor){&plus_one, f == 2 ? NULL : &w->w[f == 1 || f == 8], f == 6 ? i : 0};
  }
  st->factors[15].coef = &minus_one;
}

static const uint8_t first_degrees[] = {1, 0, 0, 0, 1, 0, 1, 1, 0};

START_TEST(sums_and_products_have_degrees)
{
  static const source sums[][2] = {{{1, 0}, NO}, {{1, 0}, NO}, {{1, 1}, NO}, {{1, 3}, NO}, {{1, 0}, {1, 4}}, {NO, {1, 0}}};
  static const source quotients[] = {{1, 1}, {1, 0}, {1, 0}};
  static const source products[][2] = {{{1, 0}, {1, 0}}, {{1, 0}, {1, 1}}, {{1, 1}, {1, 0}}, {{1, 1}, {1, 2}}, {{1, 0}, {1, 3}},
                                       {{1, 3}, {2, 0}}, {{2, 0}, {1, 1}}, {{1, 1}, {2, 0}}, {{2, 0}, {2, 0}}};
  static const source pairs[][4] = {{{1, 1}, {1, 1}, {1, 0}, {1, 1}}, {{1, 0}, {1, 1}, {1, 0}, {1, 0}}, {{1, 0}, {1, 0}, {1, 1}, {1, 1}},
                                    {{1, 1}, {1, 1}, {1, 0}, {1, 0}}, {{1, 1}, {1, 1}, {1, 1}, {1, 2}}};
  world w;

  begin_degrees(&w);
  step *st = add(&w, LINEAR, 6, 2); /* 2 */
  for (size_t f = 0; f < 6; f++) {
    reads(st, f, sums[f]);
    for (size_t i = 0; i < 2; i++)
      st->factors[2 * f + i].w = f == 5 || (f == 4 && i == 0) ? NULL : &w.w[f == 1];
  }
  st = add(&w, LINEAR, 3, 1); /* 3 */
  st->divide = true;
  for (size_t f = 0; f < 3; f++) {
    reads(st, f, &quotients[f]);
    st->factors[f].w = &w.w[f == 1];
  }
  st = add(&w, PRODUCT, 9, 2); /* 4 */
  for (size_t f = 0; f < 9; f++)
    reads(st, f, products[f]);
  st = add(&w, PRODUCT, 5, 4); /* 5 */
  for (size_t f = 0; f < 5; f++)
    reads(st, f, pairs[f]);
  st = add(&w, OVER_ROOT, 2, 1); /* 6 */
  for (size_t f = 0; f < 2; f++) {
    st->sources[f].step = 1;
    st->factors[f].w = &w.w[2];
  }
  const cell c = settled(&w, NULL, false); /* nothing is touched: a function has all settled */
  for (size_t s = 1; s < 7; s++)
    expect_degrees(&w, &c, s, (const uint8_t[]){2, 2, 2, 2, 2, 2, 2, 2, 2});
  add_function(&w, F_EXP, 1);
  w.p = (point){.net = &w.net, .x = &w.x};
  const cell all = settled(&w, NULL, false);
  expect_degrees(&w, &all, 0, (const uint8_t[]){0, 0, 0});
  expect_degrees(&w, &all, 1, first_degrees);
  expect_degrees(&w, &all, 2, (const uint8_t[]){2, 1, 1, 0, 2, 1});
  expect_degrees(&w, &all, 3, (const uint8_t[]){2, 1, 2});
  expect_degrees(&w, &all, 4, (const uint8_t[]){2, 1, 1, 0, 0, 0, 2, 2, 2});
  expect_degrees(&w, &all, 5, (const uint8_t[]){1, 2, 2, 2, 0});
  expect_degrees(&w, &all, 6, (const uint8_t[]){1, 0});
}
END_TEST

START_TEST(smooth_steps_have_degrees)
{
  static const size_t lines[] = {1, 2, 1, 0, 0, 1};
  world w;

  begin_degrees(&w);
  step *st = add_function(&w, F_EXP, 3); /* 2 */
  for (size_t f = 0; f < 3; f++)
    st->sources[f] = (source){1, f == 2 ? 4 : f};
  st = add_function(&w, F_FLOOR, 2); /* 3 */
  for (size_t f = 0; f < 2; f++)
    st->sources[f] = (source){1, 6 * f};
  for (size_t k = 0; k < 2; k++) { /* 4, 5 */
    st = add(&w, k == 0 ? SOFTMAX : NORMALIZE, 6, 1);
    for (size_t f = 0; f < 6; f++)
      st->sources[f] = (source){1, lines[f]};
    st->length = 2;
    st->stride = 1;
    mpq_set_ui(&st->at[0], 1, 1);
  }
  for (size_t k = 0; k < 2; k++) { /* 6, 7 */
    st = add(&w, k == 0 ? SOFTMAX : NORMALIZE, 1, 1);
    st->sources[0] = (source){1, 0};
    st->length = st->stride = 1;
    mpq_set_ui(&st->at[0], 1, 1);
  }
  w.net.n_steps -= _i == 0 ? 0 : 4; /* without functions a Softmax has all settled, too */
  if (_i == 1) {
    w.net.steps[2] = w.net.steps[4];
    w.net.n_steps = 3;
  }
  const cell c = settled(&w, NULL, false);
  expect_degrees(&w, &c, 1, first_degrees);
  if (_i == 1) {
    expect_degrees(&w, &c, 2, (const uint8_t[]){0, 0, 2, 2, 2, 2});
    return;
  }
  expect_degrees(&w, &c, 2, (const uint8_t[]){2, 0, 2});
  expect_degrees(&w, &c, 3, (const uint8_t[]){0, 0});
  for (size_t k = 0; k < 2; k++) {
    expect_degrees(&w, &c, 4 + k, (const uint8_t[]){0, 0, 2, 2, 2, 2});
    expect_degrees(&w, &c, 6 + k, (const uint8_t[]){0});
  }
}
END_TEST

/* Kinks of what reads entries of step 1, each less its value: of constants, of what is affine and moves or rests, of a square. A choice of
 * sides, a tree or not; what is flat, and degrees. */
static const struct {
  bool tree;
  int sides[4];
  bool flat[4];
  uint8_t degrees[3][4]; /* of a Relu; with a parabola on the right; with a weight that moves on the left */
} chosen[] = {
  {false, {0, 0, 0, 0}, {true, false, false, false}, {{0, 2, 2, 2}, {0, 2, 2, 2}, {0, 2, 2, 2}}},
  {true, {0, 0, 0, 0}, {true, false, true, false}, {{0, 2, 0, 2}, {0, 2, 0, 2}, {0, 2, 0, 2}}},
  {true, {1, 1, 1, 1}, {true, false, false, false}, {{0, 1, 1, 2}, {0, 2, 2, 2}, {0, 1, 1, 2}}},
  {true, {-1, -1, -1, -1}, {true, false, false, false}, {{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 2, 2, 2}}},
  {false, {1, -1, 1, -1}, {true, false, false, false}, {{0, 0, 1, 0}, {0, 0, 2, 0}, {0, 2, 1, 2}}},
};

START_TEST(kinks_have_degrees)
{
  static const size_t from[] = {1, 0, 7, 0};
  static const double less[] = {4, 1.5, 0, 0};
  world w;

  begin_degrees(&w);
  step *st = add(&w, LINEAR, 4, 2); /* 2 */
  for (size_t f = 0; f < 4; f++) {
    st->sources[2 * f].from = from[f];
    st->sources[2 * f + 1] = (source){NONE, 0};
    st->factors[2 * f + 1].coef = number(-less[f]);
  }
  st->factors[6].coef = number(1); /* w0 x0 - 3/2, squared */
  st->factors[7].coef = number(-1.5);
  st = add(&w, PRODUCT, 4, 2); /* 3: of one, but for the last */
  for (size_t f = 0; f < 4; f++) {
    st->sources[2 * f].from = f;
    st->sources[2 * f + 1] = f < 3 ? (source){1, 8} : (source){2, 3};
  }
  st = add_relu(&w, 4); /* 4 */
  for (size_t k = 0; k < 2; k++) { /* 5, 6 */
    st = add_relu(&w, 4);
    mpq_set_ui(&st->piece[1][2], k == 0, 1);
    for (size_t f = 0; f < 4; f++) {
      st->sources[f].step = 3;
      st->factors[f].w = k == 0 ? NULL : &w.w[0];
    }
  }
  int sides[12];
  for (size_t k = 0; k < 12; k++)
    sides[k] = chosen[_i].sides[k % 4];
  const cell c = settled(&w, sides, chosen[_i].tree);
  ck_assert_uint_eq(w.p.n_touched, 12);
  for (size_t k = 0; k < 3; k++)
    expect_degrees(&w, &c, 4 + k, chosen[_i].degrees[k]);
  for (size_t k = 0; k < 12; k++) {
    ck_assert(c.flat[k] == chosen[_i].flat[k % 4]);
    ck_assert(mpq_equal(&c.slope[k], sides[k] > 0 ? &w.p.touched[k].right : &w.p.touched[k].left));
  }
}
END_TEST

/* Where nothing is touched a piece has its own degree, on its left a weight's: one that moves, one that rests, or 0. */
START_TEST(pieces_have_degrees)
{
  world w;

  begin_degrees(&w);
  mpq_set_ui(&w.w[1].value[1], 0, 1);
  step *st = add(&w, LINEAR, 5, 1);
  for (size_t f = 0; f < 5; f++) {
    st->sources[f].from = 0;
    st->factors[f].coef = f == 0 ? &plus_one : &minus_one;
  }
  st = add_relu(&w, 5);
  const tensor *by[] = {&w.w[0], &w.w[0], &w.w[1], &w.w[1], NULL};
  for (size_t f = 0; f < 5; f++)
    st->factors[f] = (factor){&plus_one, (tensor *)by[f], f == 3};
  add_function(&w, F_EXP, 1);
  const cell c = settled(&w, NULL, false);
  expect_degrees(&w, &c, 3, (const uint8_t[]){1, 2, 1, 0, 0});
}
END_TEST

/* A row that is rational but for a root. */
START_TEST(a_root_is_no_obstacle)
{
  world w;

  begin_degrees(&w);
  add(&w, OVER_ROOT, 2, 1)->factors[0].w = &w.w[2];
  w.net.steps[2].sources[0].from = w.net.steps[2].sources[1].from = 7;
  w.net.steps[2].factors[1].w = &w.w[2];
  step *st = add(&w, LINEAR, 1, 2);
  st->sources[0] = (source){1, 0};
  st->sources[1] = (source){NONE, 0};
  st->factors[1].coef = number(-1.5);
  add(&w, OVER_ROOT, 1, 1)->factors[0].w = &w.w[2];
  add_relu(&w, 1);
  add_relu(&w, 1)->sources[0] = (source){2, 1};
  const cell c = settled(&w, NULL, true);
  ck_assert(w.p.n_touched == 2 && !c.flat[0] && c.flat[1]);
}
END_TEST

/* Ties of what is constant, but not rational; of one derivative; of two; of a square and what is affine; of three. */
static const struct {
  size_t from[3];
  bool tree;
  int side;
  bool flat;
  uint8_t degree;
} ties[] = {
  {{0, 1, 1}, false, 0, true, 0}, {{0, 1, 1}, false, 2, true, 0}, {{2, 3, 3}, false, 0, false, 2}, {{2, 3, 3}, true, 0, true, 1},
  {{2, 3, 3}, true, 2, false, 1}, {{2, 3, 4}, true, 0, false, 2}, {{2, 3, 4}, true, 3, false, 1}, {{2, 4, 4}, true, 0, false, 2},
  {{5, 2, 2}, true, 0, false, 2}, {{5, 2, 2}, false, 1, false, 2}, {{5, 2, 2}, false, 2, false, 1}, {{2, 5, 5}, true, 0, false, 2},
  {{2, 0, 0}, true, 0, false, 2}, {{2, 0, 0}, true, 1, false, 1}, {{0, 2, 2}, true, 1, false, 0}, {{5, 6, 6}, true, 0, false, 2},
};

START_TEST(windows_have_degrees)
{
  world w;

  begin_degrees(&w);
  mpq_set_ui(&w.w[0].value[0], 0, 1);
  mpq_set_ui(&w.w[0].value[1], 0, 1);
  add_function(&w, F_EXP, 1)->sources[0] = (source){1, 8};
  step *st = add(&w, PRODUCT, 3, 2); /* 3: w0 x0 by itself; and e w0 x0, to be taken off again */
  for (size_t i = 0; i < 6; i++)
    st->sources[i] = i == 5 ? (source){2, 0} : (source){1, 0};
  st = add(&w, LINEAR, 7, 3); /* 4: 0 twice, as e - e; w0 x0 twice; w1 x2; a square, and minus that */
  static const source x[][3] = {{{2, 0}, {2, 0}, NO}, {{2, 0}, {2, 0}, {2, 0}}, {{1, 0}, NO, NO}, {{1, 0}, {1, 0}, NO}, {{1, 4}, NO, NO},
                                {{3, 0}, NO, NO}, {{3, 0}, NO, NO}};
  static const double by[][3] = {{1, -1, 0}, {1, 1, -2}, {2, 0, 0}, {1, 1, 0}, {1, 0, 0}, {1, 0, 0}, {-1, 0, 0}};
  for (size_t f = 0; f < 7; f++) {
    reads(st, f, x[f]);
    for (size_t i = 0; i < 3; i++)
      st->factors[3 * f + i].coef = number(by[f][i]);
  }
  st = add(&w, WINDOW, 1, 3);
  for (size_t i = 0; i < 3; i++)
    st->sources[i].from = ties[_i].from[i];
  const cell c = settled(&w, &ties[_i].side, ties[_i].tree);
  ck_assert_uint_eq(w.p.n_touched, 1);
  ck_assert(c.flat[0] == ties[_i].flat);
  expect_degrees(&w, &c, 5, &ties[_i].degree);
  for (int o = 0; o < (int)w.p.touched[0].n; o++)
    ck_assert(mpq_cmp_ui(&c.slope[o], o == (ties[_i].side == 0 ? 0 : ties[_i].side - 1), 1) == 0);
}
END_TEST

/* Two options of one derivative, of which the first is the step's first entry. */
START_TEST(options_are_alike)
{
  const double x = 2;
  world w;

  begin(&w, 1, &x);
  add(&w, LINEAR, 1, 1)->factors[0].w = &w.w[0];
  step *st = add_reading(&w, LINEAR, 2, 2, (const source[]){{1, 0}, NO, {1, 0}, {1, 0}});
  st->factors[0].coef = number(2);
  add_reading(&w, WINDOW, 1, 2, (const source[]){{2, 0}, {2, 1}});
  const cell c = settled(&w, NULL, true);
  ck_assert(w.p.n_touched == 1 && c.flat[0]);
  expect_degrees(&w, &c, 3, (const uint8_t[]){1});
}
END_TEST

/* ---- Identities */

#define ALONE (-1) /* a function that no other entry is */
#define ANY (-2)

/* Entries have one number where one is wanted of them, or 0 that of 0; others differ. */
static void
expect_numbers(const world *w, const int (*wanted)[MOST_ENTRIES])
{
  const size_t n = w->net.n_steps * MOST_ENTRIES;

  for (size_t i = 0; i < n; i++) {
    const size_t s = i / MOST_ENTRIES, e = i % MOST_ENTRIES;
    if (e >= entries(&w->p, s) || wanted[s][e] == ANY)
      continue;
    ck_assert_msg((same_as(&w->p, s, e) == ZERO) == (wanted[s][e] == 0), "step %zu, entry %zu", s, e);
    for (size_t j = 0; j < i; j++) {
      const size_t s2 = j / MOST_ENTRIES, e2 = j % MOST_ENTRIES;
      if (e2 >= entries(&w->p, s2) || wanted[s2][e2] == ANY)
        continue;
      const bool one = wanted[s][e] >= 0 && wanted[s][e] == wanted[s2][e2];
      ck_assert_msg(one_identity(&w->p, s, e, s2, e2) == one, "step %zu, entry %zu; step %zu, entry %zu", s, e, s2, e2);
    }
  }
}

/* Step 1 is of weights w0, w1, ... and inputs 2, 1, 3, 0. */
static void
begin_identities(world *w)
{
  static const source x[] = {{0, 0}, NO, {0, 0}, NO, {0, 2}, NO, {0, 0}, NO, {0, 3}, NO, {NONE, 0}, NO, {0, 0}, {0, 2}, {0, 0}, {0, 2},
                             {0, 0}, NO, {0, 0}, NO};
  static const size_t at[] = {0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0};

  begin(w, 4, (const double[]){2, 1, 3, 0});
  for (size_t i = 0; i < MOST_WEIGHTS; i++) {
    mpq_set_ui(&w->w[0].value[i], 3 + i, 4);
    mpq_canonicalize(&w->w[0].value[i]);
    mpq_set_ui(&w->w[1].value[i], 2 + i, 1);
    mpq_set_ui(&w->w[2].value[i], 11 + i, 1);
  }
  step *st = add_reading(w, LINEAR, 10, 2, x);
  for (size_t i = 0; i < 18; i++)
    st->factors[i] = (factor){&plus_one, &w->w[i >= 16], at[i]};
}

/* Two rows of factors, w0 and w5, w1 and w5, for each of four rows of sources, the first two of which have no first place. */
static void
add_told(world *w)
{
  static const source x[] = {NO, {1, 1}, NO, {1, 0}, {1, 0}, {1, 1}, {1, 2}, {1, 1}};
  step *st = add(w, LINEAR, 8, 2);

  st->n_factors = 4;
  st->n_sources = 8;
  memcpy(st->sources, x, sizeof x);
  for (size_t f = 0; f < 8; f++) {
    st->factor_row[f] = f % 2;
    st->source_row[f] = f / 2;
  }
  for (size_t i = 0; i < 4; i++)
    st->factors[i] = (factor){&plus_one, &w->w[0], i % 2 == 1 ? 5 : i / 2};
}

static void
add_turned(world *w, size_t n, const source *x, const double *by)
{
  step *st = add_reading(w, LINEAR, n, 1, x);

  st->turned = true;
  for (size_t f = 0; f < n; f++)
    st->factors[f].coef = by[f] > 0 ? &plus_one : &minus_one;
}

static void
add_lines(world *w, kind k, size_t n, size_t length, const source *x)
{
  step *st = add_reading(w, k, n, 1, x);

  st->length = length;
  st->stride = 1;
  mpq_set_ui(&st->at[0], 1, 3);
}

START_TEST(functions_have_numbers)
{
  static const int wanted[MOST_STEPS][MOST_ENTRIES] = {
    {1, 2, 3, 0}, {10, 11, 12, 10, 0, 13, 14, 15, 4, 1}, {20, 20, 21, 21, 22, 23, 24, 25}, {30, 31, 32, ANY}, {40, 10, ANY, 41, 42}, {10, 50, 51, 5, 0, 0},
    {10, 11}, {60, 61, 60, 62, 63, 62}, {70, ANY, 0, 71, 72}, {80, 81, 80, 81, ANY, ANY, ALONE, ALONE}, {90, 90, 91, 0, 0, 0},
    {0, ALONE, ALONE}, {0, ALONE},
  };
  world w;

  begin_identities(&w);
  add_told(&w); /* 2 */
  step *st = add_reading(&w, LINEAR, 4, 2, (const source[]){{1, 0}, {NONE, 0}, {1, 0}, NO, {1, 2}, NO, {NONE, 0}, NO});
  st->n_factors = 2;
  memset(st->factor_row, 0, 4 * sizeof(size_t));
  for (size_t i = 0; i < 2; i++)
    st->factors[i] = (factor){&plus_one, &w.w[0], i};
  st = add_reading(&w, LINEAR, 5, 2, (const source[]){{NONE, 0}, {1, 0}, {1, 0}, NO, {1, 0}, {NONE, 0}, {1, 0}, NO, {1, 0}, {1, 0}}); /* 4 */
  st->factors[6].coef = number(2);
  add_turned(&w, 6, (const source[]){{1, 0}, {1, 0}, {1, 1}, {0, 0}, {0, 3}, NO}, (const double[]){1, -1, -1, -1, -1, -1}); /* 5 */
  add_turned(&w, 2, (const source[]){{5, 1}, {5, 2}}, (const double[]){-1, -1});
  add_reading(&w, FUNCTION, 6, 1, (const source[]){{1, 0}, {1, 1}, {1, 0}, {0, 0}, {0, 2}, {0, 0}})->of = F_EXP; /* 7 */
  add_reading(&w, PRODUCT, 5, 2, (const source[]){{1, 0}, {1, 1}, {1, 1}, {1, 0}, {1, 0}, {0, 3}, {1, 0}, {0, 0}, {1, 0}, {1, 0}});
  add_lines(&w, SOFTMAX, 8, 2, (const source[]){{1, 0}, {1, 1}, {1, 0}, {1, 1}, {1, 1}, {1, 0}, {1, 0}, {1, 2}}); /* 9 */
  add_lines(&w, NORMALIZE, 6, 3, (const source[]){{1, 0}, {1, 0}, {1, 1}, {1, 0}, {1, 0}, {1, 0}});
  add_lines(&w, NORMALIZE, 3, 3, (const source[]){{0, 0}, {0, 1}, {0, 2}}); /* 11: under a root that is not rational */
  mpq_set_ui(&w.net.steps[11].at[0], 1, 2);
  st = add_reading(&w, OVER_ROOT, 2, 1, (const source[]){{10, 3}, {1, 0}});
  st->factors[0].w = st->factors[1].w = &w.w[2];
  point_evaluate(&w.p);
  expect_numbers(&w, wanted);
  ck_assert_int_eq(one_identity_turned(&w.p, 5, 1, 1, 0), -1);
  ck_assert_int_eq(one_identity_turned(&w.p, 5, 1, 5, 1), 1);
  ck_assert_int_eq(one_identity_turned(&w.p, 5, 1, 5, 2), 0);
  ck_assert_int_eq(one_identity_turned(&w.p, 0, 0, 5, 3), 0); /* of constants it is not told */
  ck_assert_int_eq(one_identity_turned(&w.p, 0, 1, 0, 2), 0);
}
END_TEST

/* Of two samples that are computed together, entries are functions of their own. What is 0, but not exactly, has no number of a row. */
START_TEST(samples_together_have_numbers)
{
  static const int wanted[MOST_STEPS][MOST_ENTRIES] = {
    {1, 2}, {10, 11, 12, 13}, {20, 21, 22, 23}, {ALONE, ALONE, ALONE, ALONE}, {0, 0, 0, 0}, {40, 40}, {ALONE, ALONE, ALONE, ALONE},
    {50, 51, 50, 51, 52, 53, 52, 53},
  };
  world w;

  begin_identities(&w);
  w.net.n_steps = 1;
  w.net.batch = 2;
  w.net.steps[0].n = 1;
  step *st = add_reading(&w, LINEAR, 2, 1, (const source[]){{0, 0}, {0, 0}});
  st->factors[0].w = st->factors[1].w = &w.w[0];
  st->factors[1].at = 1;
  st = add_reading(&w, LINEAR, 2, 1, (const source[]){{1, 0}, {1, 1}}); /* 2: one row of factors */
  st->n_factors = 1;
  st->factor_row[1] = 0;
  st->factors[0] = (factor){&plus_one, &w.w[0], 2};
  add_reading(&w, FUNCTION, 2, 1, (const source[]){{2, 0}, {2, 1}})->of = F_EXP;
  add_lines(&w, NORMALIZE, 2, 2, (const source[]){{3, 0}, {3, 0}});
  add_reading(&w, FUNCTION, 1, 1, (const source[]){{4, 0}})->of = F_COS;
  add_reading(&w, FUNCTION, 2, 1, (const source[]){{1, 0}, {1, 1}})->of = F_SIN;
  add_lines(&w, SOFTMAX, 4, 2, (const source[]){{1, 0}, {1, 0}, {1, 1}, {1, 1}});
  w.net.steps[7].stride = 2;
  point_evaluate(&w.p);
  expect_numbers(&w, wanted);
}
END_TEST

/* Numbers of few functions and of many constants; of windows, be they of the same entries; of what is 0, but not exactly. */
START_TEST(numbers_do_not_meet)
{
  static const int wanted[MOST_STEPS][MOST_ENTRIES] = {
    {ALONE}, {1, 2, 3, 4, 5, 6}, {ALONE}, {0, 0}, {ALONE}, {ALONE, ALONE, ALONE}, {ALONE, ALONE}, {7, 0}, {ANY, 1}, {0}, {ALONE}, {ALONE, ALONE},
    {11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34},
  };
  const double x = 2;
  world w;

  begin(&w, 1, &x);
  for (size_t i = 0; i < MOST_WEIGHTS; i++)
    for (size_t k = 0; k < 3; k++)
      mpq_set_ui(&w.w[k].value[i], 3, 1);
  step *st = add_reading(&w, LINEAR, 6, 1, (const source[]){{NONE, 0}, NO, NO, NO, NO, NO});
  st->n_sources = 1;
  for (size_t f = 0; f < 6; f++) {
    st->factors[f] = (factor){&plus_one, &w.w[0], f};
    st->source_row[f] = 0;
  }
  add_reading(&w, FUNCTION, 1, 1, (const source[]){{0, 0}})->of = F_EXP;
  add_lines(&w, NORMALIZE, 2, 2, (const source[]){{2, 0}, {2, 0}}); /* 3 */
  add_reading(&w, WINDOW, 1, 2, (const source[]){{1, 0}, {1, 1}});
  st = add_reading(&w, WINDOW, 3, 2, (const source[]){{1, 0}, {1, 1}, NO, NO, NO, NO}); /* 5 */
  st->n_factors = st->n_sources = 2;
  memset(st->factor_row, 0, 3 * sizeof(size_t));
  memset(st->source_row, 0, 3 * sizeof(size_t));
  add_reading(&w, FUNCTION, 2, 1, (const source[]){{3, 0}, {1, 0}})->of = F_COS;
  for (size_t k = 0; k < 2; k++) { /* 7, 8: rows in another order */
    static const source from[][2] = {{{3, 0}, {1, 0}}, {{7, 0}, {1, 5}}};
    add_turned(&w, 2, from[k], (const double[]){-1, -1});
    st = &w.net.steps[7 + k];
    st->source_row[0] = st->factor_row[0] = 1;
    st->source_row[1] = st->factor_row[1] = 0;
    st->factors[1].coef = k == 0 ? &minus_one : &plus_one;
  }
  add_reading(&w, OVER_ROOT, 1, 1, (const source[]){{3, 0}})->factors[0].w = &w.w[2]; /* 9 */
  add_reading(&w, WINDOW, 1, 2, (const source[]){{1, 2}, {1, 3}});
  st = add_reading(&w, LINEAR, 2, 1, (const source[]){{1, 0}, NO}); /* 11 */
  st->n_sources = 1;
  st->source_row[1] = 0;
  st->factors[0].w = &w.w[0];
  st->factors[1].w = &w.w[1];
  st = add(&w, LINEAR, 24, 1); /* 12 */
  for (size_t f = 0; f < 24; f++) {
    st->sources[f] = (source){NONE, 0};
    st->factors[f].coef = number((double)f + 4);
  }
  point_evaluate(&w.p);
  expect_numbers(&w, wanted);
}
END_TEST

/* Lines of two functions in turn, twice: of shares they are the same, and normalized where they are not long, and not of all samples. */
static const struct {
  kind of;
  size_t length;
  bool couples, same;
} line_pairs[] = {
  {SOFTMAX, 3, false, true}, {SOFTMAX, 1025, false, true}, {NORMALIZE, 3, false, true}, {NORMALIZE, 1024, false, true},
  {NORMALIZE, 1025, false, false}, {NORMALIZE, 1, true, false},
};

START_TEST(long_lines_are_not_compared)
{
  const size_t n = line_pairs[_i].length;
  const bool couples = line_pairs[_i].couples;
  world w;

  begin(&w, couples ? 2 : 1, (const double[]){1, 2});
  w.net.steps[0].n = 1;
  w.net.batch = couples ? 2 : 1;
  for (size_t f = 0; f < 2; f++)
    mpq_set_ui(&w.w[0].value[f], 2 + 3 * f, 1);
  step *st = add_reading(&w, LINEAR, 2, 1, (const source[]){{0, 0}, {0, 0}});
  for (size_t f = 0; f < 2; f++)
    st->factors[f] = (factor){&plus_one, &w.w[0], f};
  st = add(&w, line_pairs[_i].of, 2 * n, 1);
  for (size_t i = 0; i < 2 * n; i++)
    st->sources[i] = (source){1, i % n % 2};
  st->length = n;
  st->stride = 1;
  st->couples = couples;
  mpq_set_ui(&st->at[0], 1, 1);
  point_evaluate(&w.p);
  const size_t batch = w.net.batch;
  ck_assert(one_identity(&w.p, 2, 0, 2, n * batch) == line_pairs[_i].same);
  ck_assert(n == 1 || !one_identity(&w.p, 2, 0, 2, batch));
  ck_assert(n < 3 || one_identity(&w.p, 2, 0, 2, 2 * batch));
}
END_TEST

/* The first number of a sample is that of no place left out; a row's are behind those of the step before. */
START_TEST(numbers_begin_apart)
{
  static const int wanted[MOST_STEPS][MOST_ENTRIES] = {{ANY}, {1, 2, 3}, {ALONE}, {ALONE, ALONE}, {ALONE, ALONE}};
  const double x = 2;
  world w;

  begin(&w, 1, &x);
  for (size_t i = 0; i < 3; i++)
    mpq_set_ui(&w.w[0].value[i], 3, 1);
  step *st = add_reading(&w, LINEAR, 3, 1, (const source[]){{NONE, 0}, NO, NO});
  for (size_t f = 0; f < 3; f++) {
    st->factors[f] = (factor){&plus_one, &w.w[0], f};
    st->source_row[f] = 0;
  }
  st->n_sources = 1;
  add_reading(&w, WINDOW, 1, 2, (const source[]){{1, 0}, {1, 1}});
  st = add_reading(&w, LINEAR, 2, 1, (const source[]){{1, 2}, NO});
  for (size_t f = 0; f < 2; f++)
    st->factors[f] = (factor){&plus_one, &w.w[0], f};
  st->n_sources = 1;
  st->source_row[1] = 0;
  st = add_reading(&w, LINEAR, 2, 2, (const source[]){{1, 1}, {1, 0}, NO, {1, 0}});
  st->n_factors = 2;
  st->factor_row[1] = 0;
  st->factors[0] = st->factors[1] = (factor){&plus_one, &w.w[0], 4};
  point_evaluate(&w.p);
  expect_numbers(&w, wanted);
}
END_TEST

/* Numbers are of one sample, unless samples are computed together. */
START_TEST(samples_apart_are_not_compared)
{
  world w;

  begin(&w, 2, (const double[]){1, 1});
  w.net.batch = w.net.apart = 2;
  w.net.steps[0].n = 1;
  add_reading(&w, LINEAR, 1, 1, (const source[]){{0, 0}})->factors[0].w = &w.w[0];
  point_evaluate(&w.p);
  ck_assert_int_eq(one_identity_turned(&w.p, 1, 0, 1, 0), 1);
  ck_assert_int_eq(one_identity_turned(&w.p, 1, 0, 1, 1), 0);
}
END_TEST

static void
number_last(void *of)
{
  const double x = 2;
  world w;

  begin(&w, 1, &x);
  add(&w, LINEAR, 1, 1)->factors[0].w = &w.w[0];
  point_evaluate(&w.p);
  w.p.n_same[0] = *(const size_t *)of;
  same_as(&w.p, 1, 0);
}

/* Each of two steps takes two numbers. */
START_TEST(numbers_have_an_end)
{
  static const size_t last = SIZE_MAX / 8 - 4, beyond = SIZE_MAX / 8 - 3;

  expect_end(number_last, &last, VERIFIED, NULL);
  expect_end(number_last, &beyond, REFUSED, "too many functions to be numbered");
}
END_TEST

/* ---- Factors */

/* Powers of e: step 1. Step 2: a - a, a + b, b + a, 2 a + b, (a + a) / 2, a, a + 1, 1 + a, -(a + b), c, nothing, a (1/2) with a parameter that
 * moves, which here is a number as well. */
static void
begin_cancelling(world *w)
{
  static const source x[][2] = {{{1, 0}, {1, 0}}, {{1, 0}, {1, 1}}, {{1, 1}, {1, 0}}, {{1, 0}, {1, 1}}, {{1, 0}, {1, 0}}, {{1, 0}, NO},
                                {{1, 0}, {NONE, 0}}, {{NONE, 0}, {1, 0}}, {{1, 0}, {1, 1}}, {{1, 2}, NO}, {NO, NO}, {{1, 0}, NO}};
  static const double by[][2] = {{1, -1}, {1, 1}, {1, 1}, {2, 1}, {1, 1}, {1, 0}, {1, 1}, {1, 1}, {-1, -1}, {1, 0}, {0, 0}, {1, 0}};

  begin(w, 3, (const double[]){1, 2, 3});
  for (size_t i = 0; i < MOST_WEIGHTS; i++) {
    mpq_set_ui(&w->w[0].value[i], 1, 2);
    mpq_set_ui(&w->w[1].value[i], 1, 2);
    mpq_set_ui(&w->w[2].value[i], 2 + i, 1);
  }
  add_function(w, F_EXP, 3);
  step *st = add(w, LINEAR, 12, 2);
  for (size_t f = 0; f < 12; f++) {
    reads(st, f, x[f]);
    for (size_t i = 0; i < 2; i++)
      st->factors[2 * f + i] = (factor){number(by[f][i]), f == 4 ? &w->w[1] : f == 11 ? &w->w[0] : NULL, 0};
  }
}

typedef struct {
  size_t step, a, b;
  bool cancels;
} cancelling;

static const cancelling cancellings[] = {
  /* 2: sums */
  {2, 0, 0, true}, {2, 1, 2, true}, {2, 2, 1, true}, {2, 3, 1, false}, {2, 4, 5, true}, {2, 6, 7, true}, {2, 6, 5, false}, {2, 1, 1, false},
  {2, 5, 9, false}, {2, 10, 10, true}, {2, 11, 5, false}, {2, 1, 8, false},
  /* 3: Relu of a + b, b + a, -(a + b), a, and 2 a + b */
  {3, 0, 1, true}, {3, 0, 4, false}, {3, 2, 2, true}, {3, 0, 3, false},
  /* 4: between -1 and 1, else 1 more than twice that: of a + b, b + a, a */
  {4, 0, 1, true}, {4, 0, 2, false}, {4, 0, 0, false},
  /* 5: the largest of a + b and 2 a + b; of 2 a + b and a; of a and a + b */
  {5, 0, 1, true}, {5, 0, 2, false}, {5, 2, 2, false},
  /* 6: under roots: a + b and b + a under one, a + b under another; a - a; a + b under the first */
  {6, 0, 1, true}, {6, 0, 2, false}, {6, 3, 3, true}, {6, 0, 0, false}, {6, 0, 3, false}, {6, 1, 4, true},
  /* 7: of those, the first less the second, less the third, and 1 more; under two roots, which is not told */
  {7, 0, 0, true}, {7, 1, 1, false}, {7, 2, 2, false}, {7, 3, 3, false},
  /* 8: lines of a + b, b + a and a; of a + b, b + a and c; of a + b, b + a and a + b; of a + b, 2 a + b and 0: less the mean b / 3, as the first */
  {8, 0, 1, true}, {8, 0, 2, false}, {8, 0, 0, false}, {8, 3, 3, false}, {8, 3, 4, true}, {8, 3, 0, false}, {8, 6, 6, true}, {8, 0, 9, false},
  /* 9: lines of two: a + b and b + a */
  {9, 0, 0, true}, {9, 1, 1, true}, {9, 0, 1, true},
  /* 10: shares, which are not told; 11: products; 12: functions */
  {10, 0, 1, false}, {11, 0, 1, false}, {12, 0, 1, false},
  /* 14: a - a and a product of inputs, which is 2, less 2; and that alone; those and an input, less a - a and 2; a - a and an input */
  {14, 0, 0, true}, {14, 1, 1, false}, {14, 2, 7, false}, {14, 3, 3, false},
  /* entries of two steps: a less a; a and a; b under a root, less b */
  {14, 4, 4, true}, {14, 5, 5, false}, {14, 6, 6, false},
};

static void
cancel(void *of)
{
  const cancelling *one = of;
  world w;

  begin_cancelling(&w);
  add_relu(&w, 5); /* 3 */
  step *st = &w.net.steps[3];
  static const size_t first[] = {1, 2, 8, 5, 3};
  for (size_t f = 0; f < 5; f++)
    st->sources[f] = (source){2, first[f]};
  st = add_reading(&w, PIECEWISE, 3, 1, (const source[]){{2, 1}, {2, 2}, {2, 5}}); /* 4 */
  st->n_kinks = 2;
  mpq_set_si(&st->at[0], -1, 1);
  mpq_set_si(&st->at[1], 1, 1);
  for (size_t i = 0; i < 3; i++) {
    mpq_set_si(&st->piece[i][0], i == 1 ? 0 : i == 0 ? 1 : -1, 1);
    mpq_set_ui(&st->piece[i][1], i == 1 ? 1 : 2, 1);
  }
  add_reading(&w, WINDOW, 3, 2, (const source[]){{2, 1}, {2, 3}, {2, 3}, {2, 5}, {2, 5}, {2, 1}}); /* 5 */
  st = add_reading(&w, OVER_ROOT, 5, 1, (const source[]){{2, 1}, {2, 2}, {2, 1}, {2, 0}, {2, 1}}); /* 6: two rows of factors */
  for (size_t f = 0; f < 5; f++) {
    st->factors[f] = (factor){&plus_one, &w.w[2], f % 2};
    st->factor_row[f] = f == 2;
  }
  st = add_reading(&w, LINEAR, 4, 3, (const source[]){{6, 0}, {6, 1}, NO, {6, 0}, {6, 2}, NO, {6, 0}, {6, 1}, {NONE, 0},
                                                      {6, 0}, {6, 2}, {6, 1}}); /* 7 */
  st->factors[1].coef = st->factors[4].coef = st->factors[7].coef = &minus_one;
  st->factors[10].coef = number(0);
  add_lines(&w, NORMALIZE, 12, 3, (const source[]){{2, 1}, {2, 2}, {2, 5}, {2, 1}, {2, 2}, {2, 9}, {2, 1}, {2, 2}, {2, 1},
                                                   {2, 1}, {2, 3}, {2, 10}}); /* 8 */
  add_lines(&w, NORMALIZE, 2, 2, (const source[]){{2, 1}, {2, 2}});
  add_lines(&w, SOFTMAX, 3, 3, (const source[]){{2, 1}, {2, 2}, {2, 5}}); /* 10 */
  add_reading(&w, PRODUCT, 2, 2, (const source[]){{2, 1}, {2, 5}, {2, 2}, {2, 5}});
  add_reading(&w, FUNCTION, 2, 1, (const source[]){{2, 1}, {2, 2}})->of = F_ATAN; /* 12 */
  add_reading(&w, PRODUCT, 1, 2, (const source[]){{0, 0}, {0, 1}});
  st = add_reading(&w, LINEAR, 8, 3, (const source[]){{2, 0}, {13, 0}, {NONE, 0}, {2, 0}, {13, 0}, NO, {2, 0}, {13, 0}, {0, 0},
                                                      {2, 0}, {0, 0}, NO, {2, 5}, {1, 0}, NO, {2, 5}, {1, 0}, NO, {8, 0}, {1, 1}, NO,
                                                      {2, 0}, {NONE, 0}, NO}); /* 14 */
  st->factors[2].coef = number(-2);
  st->factors[22].coef = number(2);
  st->factors[13].coef = st->factors[19].coef = &minus_one;
  point_evaluate(&w.p);
  w.net.entries = (size_t)1 << 16;
  ck_assert(cancels(&w.p, one->step, one->a, one->b) == one->cancels);
  w.net.entries++; /* of large networks it is not asked */
  ck_assert(!cancels(&w.p, one->step, one->a, one->b));
}

START_TEST(what_cancels_is_told)
{
  expect_end(cancel, &cancellings[_i], VERIFIED, NULL);
}
END_TEST

/* A line of inputs, under a root of 3: its ends are of one size. */
static void
cancel_first(void *of)
{
  world w;

  (void)of;
  begin(&w, 3, (const double[]){0, 2, 4});
  add_lines(&w, NORMALIZE, 3, 3, (const source[]){{0, 0}, {0, 1}, {0, 2}});
  add_reading(&w, LINEAR, 2, 2, (const source[]){{1, 0}, {1, 2}, {1, 0}, {1, 1}});
  point_evaluate(&w.p);
  ck_assert(cancels(&w.p, 2, 0, 0) && !cancels(&w.p, 2, 1, 1));
}

START_TEST(the_first_step_may_cancel)
{
  expect_end(cancel_first, NULL, VERIFIED, NULL);
}
END_TEST

typedef struct {
  size_t from, a, b;
  bool at_one;
  int side, option; /* of touched kinks and windows */
  bool affine;
} affine_case;

static const affine_case affines[] = {
  /* 2: w1 A, w2 A, w2 B, w1 A + w3 A, w1 A + w1 C, w1 A + A, w1 A + 1, A + C, w1 A + 3 w1 - 6, w2 B + w2 A, w1 A + w1 - 1, w2 D,
   * w1 A + w3 0, w1 A + w3 B + w3 C; A = C = w2 = 0, and D is below 0 */
  {2, 0, 0, false, 1, 1, true}, {2, 1, 1, false, 1, 1, false}, {2, 2, 2, false, 1, 1, true}, {2, 3, 3, false, 1, 1, false},
  {2, 4, 4, false, 1, 1, true}, {2, 5, 5, false, 1, 1, false}, {2, 6, 6, true, 1, 1, true}, {2, 6, 6, false, 1, 1, false},
  {2, 7, 7, false, 1, 1, true}, {2, 7, 7, true, 1, 1, true}, {2, 8, 8, false, 1, 1, false}, {2, 9, 9, false, 1, 1, true},
  {2, 0, 4, false, 1, 1, true}, {2, 0, 2, false, 1, 1, false}, {2, 0, 3, false, 1, 1, true}, {2, 0, 7, false, 1, 1, false},
  {2, 6, 0, false, 1, 1, true}, {2, 0, 4, true, 1, 1, true}, {2, 10, 10, false, 1, 1, false}, {2, 11, 11, false, 1, 1, true},
  {2, 12, 12, false, 1, 1, true}, {2, 13, 13, false, 1, 1, false},
  /* 3: A A, 3 A, and w1 A by itself */
  {3, 0, 0, false, 1, 1, false}, {3, 1, 1, false, 1, 1, true}, {3, 2, 2, false, 1, 1, false},
  /* 4: relu(w1 A), relu(w2 B), relu(w1 A + 1) */
  {4, 0, 0, false, 1, 1, true}, {4, 0, 0, false, 0, 1, false}, {4, 1, 1, false, 1, 1, true}, {4, 0, 0, false, -1, 1, true},
  {4, 2, 2, true, 1, 1, true}, {4, 2, 2, false, 1, 1, false},
  /* 5: the largest of w1 A and w2 A; of w1 A and w1 A + 1; of w1 A + 1 and w1 A */
  {5, 0, 0, false, 1, 1, true}, {5, 0, 0, false, 1, 2, false}, {5, 0, 0, false, 1, 0, false}, {5, 1, 1, true, 1, 1, true},
  {5, 1, 1, false, 1, 1, false}, {5, 2, 2, true, 1, 1, true},
  /* 6: w1 A and w1 A + 1 under a root, which is left out */
  {6, 0, 0, false, 1, 1, true}, {6, 1, 1, true, 1, 1, false}, {6, 0, 0, true, 1, 1, false},
  /* 7: lines of w1 A and 3, and of w1 A twice */
  {7, 0, 0, false, 1, 1, false}, {7, 2, 2, false, 1, 1, true},
  /* 8: slopes that are parameters: of w1 A, one that moves and one that rests */
  {8, 0, 0, false, -1, 1, false}, {8, 1, 1, false, -1, 1, true}, {8, 0, 0, false, 1, 1, true},
  /* 11: 0, x or 2 x - 1, between kinks at 0 and 1, of w1 A + 1 twice and of w1 A; 12: x + x^2 of w1 A + 1 */
  {11, 0, 0, false, 1, 1, false}, {11, 0, 0, true, 1, 1, true}, {11, 0, 0, true, -1, 1, true}, {11, 2, 2, false, 1, 1, true},
  {12, 0, 0, true, 1, 1, false},
  /* 13: w1 A + 1, of an input; w1 A + 9 - 9, of a product; w1 A + 9 */
  {13, 0, 0, false, 1, 1, false}, {13, 1, 1, false, 1, 1, true}, {13, 2, 2, false, 1, 1, false},
  /* w1 A + A + e less w1 A; w1 A + e less an end of the interval that holds e */
  {13, 3, 8, false, 1, 1, false}, {13, 4, 4, false, 1, 1, false},
  /* w1 A 8 times, 7 being a parameter that rests; w1 A w0 less 3/4 of it; w1 A w0 and w1 (A + C) w1, of a tensor that begins with w1 */
  {13, 5, 5, false, 1, 1, true}, {13, 6, 6, false, 1, 1, false}, {13, 7, 7, false, 1, 1, false},
};

/* Step 1: A = w0 - 3/4, B = w0 + 1, C = w3 - 5, 3, D = w0 - 2, 0. */
static void
begin_affine(world *w)
{
  static const double values[] = {0.75, 2, 0, 5, 1, 1}, first[] = {-0.75, 1, -5, 3, -2, 0}, one = 1;
  static const int weights[][3] = {{1, -1, -1}, {2, -1, -1}, {2, -1, -1}, {1, 3, -1}, {1, 1, -1}, {1, -1, -1}, {1, -1, -1}, {-1, -1, -1},
                                   {1, 1, -1}, {2, 2, -1}, {1, 1, -1}, {2, -1, -1}, {1, 3, -1}, {1, 3, 3}};
  static const source x[][3] = {{{1, 0}, NO, NO}, {{1, 0}, NO, NO}, {{1, 1}, NO, NO}, {{1, 0}, {1, 0}, NO}, {{1, 0}, {1, 2}, NO},
                                {{1, 0}, {1, 0}, NO}, {{1, 0}, {NONE, 0}, NO}, {{1, 0}, {1, 2}, NO}, {{1, 0}, {1, 3}, {NONE, 0}},
                                {{1, 1}, {1, 0}, NO}, {{1, 0}, {NONE, 0}, {NONE, 0}}, {{1, 4}, NO, NO}, {{1, 0}, {1, 5}, NO},
                                {{1, 0}, {1, 1}, {1, 2}}};

  begin(w, 1, &one);
  for (size_t i = 0; i < MOST_WEIGHTS; i++) {
    mpq_set_d(&w->w[0].value[i], values[i]);
    mpq_set_ui(&w->w[1].value[i], 7, 1);
    mpq_set_ui(&w->w[2].value[i], 2, 1);
  }
  step *st = add(w, LINEAR, 6, 2);
  for (size_t f = 0; f < 6; f++) {
    st->sources[2 * f] = f < 3 || f == 4 ? (source){NONE, 0} : (source){PADDING, 0};
    st->sources[2 * f + 1] = f < 5 ? (source){NONE, 0} : (source){PADDING, 0};
    st->factors[2 * f] = (factor){&plus_one, &w->w[0], f == 2 ? 3 : 0};
    st->factors[2 * f + 1].coef = number(first[f]);
  }
  st = add(w, LINEAR, 14, 3);
  for (size_t f = 0; f < 14; f++) {
    reads(st, f, x[f]);
    for (size_t i = 0; i < 3; i++)
      if (weights[f][i] >= 0)
        st->factors[3 * f + i] = (factor){&plus_one, &w->w[0], (size_t)weights[f][i]};
  }
  st->factors[26].coef = number(-6);
  st->factors[32].coef = &minus_one;
}

/* Pieces of w1 A + 1 and w1 A, in rows of sources of which two entries have one; and sums. */
static void
add_behind(world *w, tensor *from_w1)
{
  step *st = add_reading(w, PIECEWISE, 3, 1, (const source[]){{2, 6}, {2, 0}, {2, 1}}); /* 11 */
  st->n_kinks = 2;
  st->source_row[1] = 0;
  st->source_row[2] = 1;
  mpq_set_ui(&st->at[1], 1, 1);
  mpq_set_ui(&st->piece[1][1], 1, 1);
  mpq_set_ui(&st->piece[2][1], 2, 1);
  mpq_set_si(&st->piece[2][0], -1, 1);
  st = add_relu(w, 1);
  st->sources[0] = (source){2, 6};
  mpq_set_ui(&st->piece[1][2], 1, 1);
  st = add_reading(w, LINEAR, 9, 3, (const source[]){{2, 0}, {0, 0}, NO, {2, 0}, {3, 3}, {NONE, 0}, {2, 0}, {3, 3}, NO,
                                                     {2, 0}, {1, 0}, {10, 0}, {2, 0}, {10, 0}, {NONE, 0}, {2, 0}, {2, 0}, NO,
                                                     {2, 0}, {2, 0}, NO, {2, 0}, {2, 4}, NO, {2, 0}, NO, NO}); /* 13 */
  rational *less = rationals(1);
  mpq_neg(less, plus_of(LOWER_END));
  st->factors[5].coef = number(-9);
  st->factors[14].coef = less;
  st->factors[15].w = &w->w[1];
  st->factors[18].w = st->factors[21].w = &w->w[0];
  st->factors[19].coef = number(-0.75);
  st->factors[22].w = from_w1;
}

static void
factor_out(void *of)
{
  const affine_case *one = of;
  size_t at[] = {one->a, one->b};
  world w;

  begin_affine(&w);
  add_reading(&w, PRODUCT, 4, 2, (const source[]){{1, 0}, {1, 0}, {1, 0}, {1, 3}, {2, 0}, {2, 0}, {1, 3}, {1, 3}}); /* 3 */
  step *st = add_relu(&w, 3); /* 4 */
  for (size_t f = 0; f < 3; f++)
    st->sources[f] = (source){2, f == 0 ? 0 : f == 1 ? 2 : 6};
  add_reading(&w, WINDOW, 3, 3, (const source[]){NO, {2, 0}, {2, 1}, {2, 0}, {2, 6}, NO, {2, 6}, {2, 0}, NO}); /* 5 */
  add_reading(&w, OVER_ROOT, 2, 1, (const source[]){{2, 0}, {2, 6}});
  w.net.steps[6].factors[0].w = w.net.steps[6].factors[1].w = &w.w[2];
  add_lines(&w, NORMALIZE, 4, 2, (const source[]){{2, 0}, {1, 3}, {2, 0}, {2, 0}}); /* 7 */
  add_relu(&w, 2);                                                                 /* 8 */
  for (size_t f = 0; f < 2; f++) {
    w.net.steps[8].sources[f] = (source){2, 0};
    w.net.steps[8].factors[f].w = &w.w[f];
  }
  st = add(&w, PIECEWISE, 1, 1); /* 9: for its kink alone */
  st->sources[0] = (source){1, 3};
  st->n_kinks = 1;
  mpq_set_ui(&st->at[0], one->at_one, 1);
  add_reading(&w, FUNCTION, 1, 1, (const source[]){{0, 0}})->of = F_EXP; /* 10 */
  tensor from_w1 = w.w[0]; /* no kink asks for its gradient */
  from_w1.value++;
  add_behind(&w, &from_w1);
  int sides[16];
  settled(&w, NULL, false);
  for (size_t k = 0; k < w.p.n_touched; k++)
    sides[k] = is_window(&w.p.touched[k]) ? one->option : one->side;
  cell c = cell_new(&w.p);
  memcpy(c.side, sides, w.p.n_touched * sizeof *sides);
  cell_settle(&c, &w.p, false);
  const touch t = {.step = 9, .from = one->from, .n = one->a == one->b ? 1 : 2, .at = at};
  ck_assert(affine_but_for_a_factor(&w.p, &c, &t, 0, one->a != one->b) == one->affine);
}

START_TEST(factors_of_what_is_affine_are_told)
{
  expect_end(factor_out, &affines[_i], VERIFIED, NULL);
}
END_TEST

enum { MOST_PRODUCTS = 4096 };

/* Sums of w1 times as many entries and more: of one beyond, times w2; of the first; of one beyond; of as many. */
static void
factor_many(void *of)
{
  static const bool wanted[] = {false, true, false, true};
  static const double one = 1;
  const size_t width = MOST_PRODUCTS + 2;
  world w;

  (void)of;
  begin(&w, 1, &one);
  for (size_t i = 0; i < MOST_WEIGHTS; i++)
    mpq_set_ui(&w.w[0].value[i], 1, 1);
  step *st = add(&w, LINEAR, MOST_PRODUCTS + 1, 1);
  for (size_t f = 0; f <= MOST_PRODUCTS; f++) {
    st->sources[f] = (source){0, 0};
    st->factors[f].w = &w.w[0];
  }
  st = add(&w, LINEAR, 4, width);
  for (size_t i = 0; i < 4 * width; i++) {
    const size_t f = i / width, n = f == 1 ? 1 : f == 3 ? MOST_PRODUCTS : MOST_PRODUCTS + 1;
    st->sources[i] = i % width < n ? (source){1, i % width} : (source){PADDING, 0};
    st->factors[i] = (factor){&plus_one, &w.w[0], f == 0 && i % width == MOST_PRODUCTS ? 2 : 1};
  }
  add_reading(&w, FUNCTION, 1, 1, (const source[]){{0, 0}})->of = F_EXP; /* so that degrees are known */
  const cell c = settled(&w, NULL, false);
  for (size_t f = 0; f < 4; f++) {
    const touch t = {.step = 3, .from = 2, .n = 1, .at = &f};
    ck_assert(affine_but_for_a_factor(&w.p, &c, &t, 0, 0) == wanted[f]);
  }
}

START_TEST(factors_of_many_products_are_not_told)
{
  expect_end(factor_many, NULL, VERIFIED, NULL);
}
END_TEST

/* ---- Gradients */

typedef struct {
  size_t step, entry;
  int known;          /* 2: as it is; 1: up to a root, or a number; 0: not known */
  double gradient[3]; /* by w0, w1 and w2; or a positive multiple of that */
} gradient_case;

static const gradient_case gradients[] = {
  /* 1: 2 w0, 0 w1, w2; 3: e 2 w0, e 0 w1, 2 w0 0 w1 */
  {1, 0, 2, {2, 0, 0}}, {1, 1, 2, {0, 0, 0}}, {1, 2, 2, {0, 0, 1}}, {3, 0, 0, {0}}, {3, 1, 2, {0, 0, 0}}, {3, 2, 2, {0, 0, 0}},
  /* 4: e w0 + w2, the product less itself, -e w0, e w0 - 2 w0, e w0 - 3 w0: of one number the sign is told */
  {4, 0, 0, {0}}, {4, 1, 2, {0, 0, 0}}, {4, 2, 1, {-1, 0, 0}}, {4, 3, 1, {1, 0, 0}}, {4, 4, 1, {-1, 0, 0}},
  /* and w2 e + 2 w0; e w0 less a number near, or an end of the interval that holds e, times w0: that of what may be 0 is not told */
  {4, 5, 0, {0}}, {4, 6, 0, {0}}, {4, 7, 0, {0}}, {4, 8, 0, {0}},
  /* 5: under roots of 2, 2, 3, 4: 2 w0, 2 w0 + w2, 2 w0, 2 w0 + w2 */
  {5, 0, 1, {1, 0, 0}}, {5, 1, 1, {2, 0, 1}}, {5, 2, 1, {1, 0, 0}}, {5, 3, 2, {1, 0, 0.5}},
  /* 6: sums of those: the first two; the second and the third; the second and w2; minus the second; the second and the fourth; 0 with it */
  {6, 0, 1, {4, 0, 1}}, {6, 1, 0, {0}}, {6, 2, 0, {0}}, {6, 3, 1, {-2, 0, -1}}, {6, 4, 0, {0}}, {6, 5, 1, {2, 0, 1}},
  /* 7: a parameter times the second; the second and 2 w0; a parameter times the first, less a multiple of e w0: under the root it is less, or more;
   * the second and an input */
  {7, 0, 0, {0}}, {7, 1, 0, {0}}, {7, 2, 0, {0}}, {7, 3, 1, {2, 0, 1}},
  /* 8: e times the sum of the first two; 10: e times 2 w0, and times 0 w0; 11: that less e w0, of which the sign is not known */
  {8, 0, 0, {0}}, {10, 0, 0, {0}}, {10, 1, 2, {0, 0, 0}}, {11, 0, 0, {0}},
  /* 13: e times the product less itself: of few terms it is told, of nine it is not */
  {13, 0, 2, {0, 0, 0}}, {13, 1, 0, {0}},
  /* 15: 2 w0 less 3/2, which is 0, under a root; 16: in a line with an input */
  {15, 0, 1, {1, 0, 0}}, {16, 0, 1, {1, 0, 0}},
};

static void
take_gradient(void *of)
{
  const gradient_case *one = of;
  const double values[] = {0.75, 0.25, 0.5};
  world w;

  begin(&w, 3, (const double[]){2, 0, 1});
  for (size_t i = 0; i < 3; i++)
    mpq_set_d(&w.w[0].value[i], values[i]);
  for (size_t i = 0; i < MOST_WEIGHTS; i++)
    mpq_set_ui(&w.w[2].value[i], 2 + i, 1);
  step *st = add_reading(&w, LINEAR, 4, 2, (const source[]){{0, 0}, NO, {0, 1}, NO, {NONE, 0}, NO, {0, 0}, {NONE, 0}});
  for (size_t f = 0; f < 4; f++)
    for (size_t i = 0; i < 2; i++)
      st->factors[2 * f + i] = (factor){&plus_one, &w.w[0], f == 3 ? 2 * i : f};
  add_reading(&w, FUNCTION, 1, 1, (const source[]){{0, 2}})->of = F_EXP; /* 2 */
  add_reading(&w, PRODUCT, 3, 2, (const source[]){{2, 0}, {1, 0}, {2, 0}, {1, 1}, {1, 0}, {1, 1}});
  rational *upper = rationals(1);
  mpq_set_ui(upper, 1, 1);
  mpq_div_2exp(upper, upper, 64);
  mpq_add(upper, upper, plus_of(LOWER_END));
  const rational *less[] = {plus_of(ABOVE_E), plus_of(LOWER_END), upper};
  st = add_reading(&w, LINEAR, 9, 2, (const source[]){{2, 0}, {1, 2}, {3, 0}, {3, 0}, {2, 0}, NO, {2, 0}, {1, 0}, {2, 0}, {1, 0},
                                                      {2, 0}, {1, 0}, {2, 0}, {NONE, 0}, {2, 0}, {NONE, 0}, {2, 0}, {NONE, 0}}); /* 4 */
  for (size_t f = 0; f < 9; f++)
    st->factors[2 * f] = (factor){&plus_one, f == 1 ? NULL : &w.w[0], f == 5 ? 2 : 0};
  for (size_t f = 6; f < 9; f++) {
    rational *minus = rationals(1);
    mpq_neg(minus, less[f - 6]);
    st->factors[2 * f + 1] = (factor){minus, &w.w[0], 0};
  }
  st->factors[3].coef = st->factors[4].coef = st->factors[7].coef = &minus_one;
  st->factors[9].coef = number(-1.5);
  st = add_reading(&w, OVER_ROOT, 4, 1, (const source[]){{1, 0}, {1, 3}, {1, 0}, {1, 3}}); /* 5 */
  static const size_t roots[] = {0, 0, 1, 2};
  for (size_t f = 0; f < 4; f++)
    st->factors[f] = (factor){&plus_one, &w.w[2], roots[f]};
  st = add_reading(&w, LINEAR, 6, 2, (const source[]){{5, 0}, {5, 1}, {5, 1}, {5, 2}, {5, 1}, {1, 2}, {5, 1}, NO, {5, 1}, {5, 3}, {5, 1}, {5, 0}}); /* 6 */
  st->factors[6].coef = &minus_one;
  st->factors[11].coef = number(0);
  st = add_reading(&w, LINEAR, 4, 2, (const source[]){{5, 1}, NO, {0, 0}, {5, 1}, {5, 0}, {2, 0}, {5, 1}, {0, 0}}); /* 7 */
  st->factors[0].w = st->factors[2].w = st->factors[4].w = &w.w[0];
  st->factors[5] = (factor){number(-0.85), &w.w[0], 0};
  add_reading(&w, PRODUCT, 1, 2, (const source[]){{2, 0}, {6, 0}});
  st = add_reading(&w, LINEAR, 2, 1, (const source[]){{0, 0}, {0, 0}}); /* 9 */
  st->factors[0].w = st->factors[1].w = &w.w[0];
  st->factors[1].coef = number(0);
  add_reading(&w, PRODUCT, 2, 2, (const source[]){{2, 0}, {9, 0}, {2, 0}, {9, 1}});
  add_reading(&w, LINEAR, 1, 2, (const source[]){{10, 0}, {4, 2}}); /* 11 */
  add_reading(&w, LINEAR, 1, 9, (const source[]){{3, 0}, {3, 0}, NO, NO, NO, NO, NO, NO, NO})->factors[1].coef = &minus_one;
  add_reading(&w, PRODUCT, 2, 2, (const source[]){{2, 0}, {4, 1}, {2, 0}, {12, 0}});
  st = add_reading(&w, LINEAR, 1, 2, (const source[]){{0, 0}, {NONE, 0}}); /* 14 */
  st->factors[0].w = &w.w[0];
  st->factors[1].coef = number(-1.5);
  add_reading(&w, OVER_ROOT, 1, 1, (const source[]){{14, 0}})->factors[0].w = &w.w[2];
  add_lines(&w, NORMALIZE, 2, 2, (const source[]){{15, 0}, {0, 1}}); /* 16 */
  const cell c = settled(&w, NULL, false);
  touch t = {.step = one->step, .entry = one->entry, .from = one->step, .n = 1, .at = &t.entry};
  w.p.touched = &t;
  for (int up = 0; up < 2; up++) {
    const bool known = kink_gradient(&w.p, c.slope, &c, 0, 0, 0, up);
    const rational *g = w.net.gradient;
    ck_assert_msg(known == (one->known + up > 1), "step %zu, entry %zu: %d", one->step, one->entry, up);
    const double by = one->known == 2 || !known ? 1 : mpq_get_d(&g[0]) / one->gradient[0];
    ck_assert(by > 0);
    for (size_t i = 0; i < 3 && known; i++)
      ck_assert(mpq_get_d(&g[i]) == by * one->gradient[i]);
  }
}

START_TEST(gradients_are_known_up_to_a_root)
{
  expect_end(take_gradient, &gradients[_i], VERIFIED, NULL);
}
END_TEST

/* Of lines of 2 w0, w1 and w2 what all entries hand back is known where it cancels: is it, and by w0, w1 and w2? */
static const struct {
  size_t step, entry;
  bool known;
  double gradient[3];
} line_sums[] = {
  /* 2: normalized, 3: their sum, and the first two's; 4: logarithms of shares, 5: the first less the second, the first two's sum, and twice the second
   * less the others; 6: a line of one, 7: the logarithm of one share, 8: of both */
  {2, 0, false, {0}}, {3, 0, true, {0, 0, 0}}, {3, 1, false, {0}}, {4, 0, false, {0}}, {5, 0, true, {2, -1, 0}}, {5, 1, false, {0}},
  {5, 2, true, {-2, 2, -1}}, {6, 0, true, {0}}, {7, 0, true, {0}}, {8, 0, true, {0}},
};

static void
take_line(void *of)
{
  const int i = *(const int *)of;
  world w;

  begin(&w, 2, (const double[]){2, 1});
  for (size_t f = 0; f < 3; f++)
    mpq_set_ui(&w.w[0].value[f], f * f, 1);
  step *st = add_reading(&w, LINEAR, 3, 1, (const source[]){{0, 0}, {0, 1}, {NONE, 0}});
  for (size_t f = 0; f < 3; f++)
    st->factors[f] = (factor){&plus_one, &w.w[0], f};
  add_lines(&w, NORMALIZE, 3, 3, (const source[]){{1, 0}, {1, 1}, {1, 2}});
  add_reading(&w, LINEAR, 2, 3, (const source[]){{2, 0}, {2, 1}, {2, 2}, {2, 0}, {2, 1}, NO});
  add_lines(&w, SOFTMAX, 3, 3, (const source[]){{1, 0}, {1, 1}, {1, 2}}); /* 4 */
  w.net.steps[4].log = true;
  st = add_reading(&w, LINEAR, 3, 3, (const source[]){{4, 0}, {4, 1}, NO, {4, 0}, {4, 1}, NO, {4, 0}, {4, 1}, {4, 2}});
  st->factors[1].coef = st->factors[6].coef = st->factors[8].coef = &minus_one;
  st->factors[7].coef = number(2);
  add_lines(&w, NORMALIZE, 1, 1, (const source[]){{1, 0}}); /* 6 */
  add_lines(&w, SOFTMAX, 1, 1, (const source[]){{1, 0}});
  w.net.steps[7].log = true;
  add_reading(&w, LINEAR, 1, 2, (const source[]){{6, 0}, {7, 0}});
  const cell c = settled(&w, NULL, false);
  touch t = {.step = line_sums[i].step, .entry = line_sums[i].entry, .from = line_sums[i].step, .n = 1, .at = &t.entry};
  w.p.touched = &t;
  for (int constants = 0; constants < 2; constants++) {
    ck_assert(kink_gradient(&w.p, c.slope, constants == 0 ? NULL : &c, 0, 0, 0, false) == line_sums[i].known);
    for (size_t f = 0; f < 3 && line_sums[i].known; f++)
      ck_assert(mpq_get_d(&w.net.gradient[f]) == line_sums[i].gradient[f]);
  }
}

START_TEST(lines_hand_back_what_cancels)
{
  expect_end(take_line, &_i, VERIFIED, NULL);
}
END_TEST

/* An exponential of a constant, behind an entry that is divided by a root, and their sum: the root is no obstacle, for what is constant hands back
 * nothing. Nor does a copy of a constant, where a parameter moves other entries. */
static void
take_beside_constants(void *of)
{
  const double x = 2;
  size_t at = 0;
  world w;

  (void)of;
  begin(&w, 1, &x);
  mpq_set_ui(&w.w[0].value[0], 3, 1);
  for (size_t i = 0; i < MOST_WEIGHTS; i++)
    mpq_set_ui(&w.w[2].value[i], 2, 1);
  add_reading(&w, LINEAR, 2, 1, (const source[]){{0, 0}, {0, 0}})->factors[0].w = &w.w[0];
  add_reading(&w, OVER_ROOT, 1, 1, (const source[]){{1, 0}})->factors[0].w = &w.w[2]; /* 2 */
  add_reading(&w, FUNCTION, 2, 1, (const source[]){{1, 0}, {1, 1}})->of = F_EXP;
  add_lines(&w, SOFTMAX, 4, 2, (const source[]){{1, 1}, {1, 1}, {1, 0}, {1, 1}}); /* 4 */
  add_lines(&w, NORMALIZE, 4, 2, (const source[]){{1, 1}, {1, 1}, {1, 0}, {1, 1}});
  add_reading(&w, PRODUCT, 1, 2, (const source[]){{1, 1}, {1, 1}}); /* 6 */
  add_reading(&w, LINEAR, 1, 5, (const source[]){{2, 0}, {3, 1}, {4, 0}, {5, 0}, {6, 0}});
  const cell c = settled(&w, NULL, false);
  touch t = {.step = 7, .from = 7, .n = 1, .at = &at};
  w.p.touched = &t;
  ck_assert(kink_gradient(&w.p, c.slope, &c, 0, 0, 0, true));
  ck_assert(mpq_cmp_ui(&w.net.gradient[0], 2, 1) == 0);
}

START_TEST(constants_hand_back_nothing)
{
  expect_end(take_beside_constants, NULL, VERIFIED, NULL);
}
END_TEST

/* The row of an entry, and its factor: what w0 and w1 multiply, times the factor. Of two numbers that are not rational nothing is told. */
typedef struct {
  size_t step, entry;
  bool known;
  double gradient[2];
} row_case;

#define E 2.718281828459045
#define E_E_5 0.1021086157933294 /* exp(e - 5) */
#define SQRT_2 1.4142135623730951
#define SQRT_3 1.7320508075688772

static const row_case root_rows[] = {
  /* 1: w0, 2 w0, 1, w0 / 3 + 2 w0 / 3, w0 + 2 w1; 2: their exponentials */
  {1, 1, true, {2, 0}}, {1, 3, true, {1, 0}}, {1, 4, true, {1, 2}}, {2, 0, true, {E, 0}}, {2, 1, true, {2 * E * E, 0}}, {2, 4, false, {0}},
  /* 3: exp(w0) - 5 w0; exp(w0) + exp(2 w0); w0 e; w0 e - 2 exp(w0); 2 w0 exp(w0) */
  {3, 0, true, {E - 5, 0}}, {3, 1, true, {E + 2 * E * E, 0}}, {3, 2, true, {E, 0}}, {3, 3, true, {-E, 0}},
  /* 4: the exponential of the first; 5: that and 3 times the first; that times w0; that times w1, which is 0 */
  {4, 0, true, {E_E_5 * (E - 5), 0}}, {5, 0, true, {(E_E_5 + 3) * (E - 5), 0}}, {5, 1, true, {E_E_5 * (E - 4), 0}}, {5, 2, true, {0, E_E_5}},
  /* 6: the exponential of the last */
  {6, 0, true, {0, E_E_5}},
  /* 7: under roots of 2, 4 and 2: 2 w0, 2 w0, exp(w0), w0 + 2 w1; under that of 3: 2 w0 */
  {7, 0, true, {SQRT_2, 0}}, {7, 1, true, {1, 0}}, {7, 2, true, {E / SQRT_2, 0}}, {7, 3, true, {1 / SQRT_2, SQRT_2}}, {7, 4, true, {2 / SQRT_3, 0}},
  /* 8: sums of the first and the last; of the first and the fourth; w0 times the first; the fourth and 5 w0 */
  {8, 0, true, {SQRT_2 + 2 / SQRT_3, 0}}, {8, 1, true, {3 / SQRT_2, SQRT_2}}, {8, 2, true, {2 * SQRT_2, 0}}, {8, 3, false, {0}},
  /* 9: 2 w0 times exp(w0) */
  {9, 0, true, {4 * E, 0}},
};

static void
begin_rows(world *w)
{
  begin(w, 2, (const double[]){1, 2});
  mpq_set_ui(&w->w[0].value[0], 1, 1);
  for (size_t i = 0; i < MOST_WEIGHTS; i++)
    mpq_set_ui(&w->w[2].value[i], 2 + i, 1);
  step *st = add_reading(w, LINEAR, 5, 2, (const source[]){{0, 0}, NO, {0, 1}, NO, {0, 0}, NO, {0, 0}, {NONE, 0}, {0, 0}, {0, 1}});
  for (size_t i = 0; i < 10; i++)
    st->factors[i] = (factor){&plus_one, i / 2 == 2 ? NULL : &w->w[0], i == 9};
  rational *third = rationals(2);
  mpq_set_ui(&third[0], 1, 3);
  mpq_set_ui(&third[1], 2, 3);
  st->factors[6].coef = &third[0];
  st->factors[7].coef = &third[1];
  add_function(w, F_EXP, 5); /* 2 */
  st = add_reading(w, LINEAR, 4, 2, (const source[]){{2, 0}, {1, 0}, {2, 0}, {2, 1}, {2, 2}, NO, {2, 2}, {2, 0}});
  st->factors[1].coef = number(-5);
  st->factors[4].w = st->factors[6].w = &w->w[0];
  st->factors[7].coef = number(-2);
  add_reading(w, FUNCTION, 1, 1, (const source[]){{3, 0}})->of = F_EXP; /* 4 */
  st = add_reading(w, LINEAR, 3, 2, (const source[]){{4, 0}, {3, 0}, {4, 0}, NO, {4, 0}, NO});
  st->factors[1].coef = number(3);
  st->factors[2].w = st->factors[4].w = &w->w[0];
  st->factors[4].at = 1;
  add_reading(w, FUNCTION, 1, 1, (const source[]){{5, 2}})->of = F_EXP; /* 6 */
  st = add_reading(w, OVER_ROOT, 5, 1, (const source[]){{1, 1}, {1, 1}, {2, 0}, {1, 4}, {1, 1}});
  static const size_t roots[] = {0, 2, 0, 0, 1};
  for (size_t f = 0; f < 5; f++)
    st->factors[f] = (factor){&plus_one, &w->w[2], roots[f]};
  st = add_reading(w, LINEAR, 4, 2, (const source[]){{7, 0}, {7, 4}, {7, 0}, {7, 3}, {7, 0}, NO, {7, 3}, {1, 0}}); /* 8 */
  st->factors[4].w = &w->w[0];
  st->factors[7].coef = number(5);
  add_reading(w, PRODUCT, 1, 2, (const source[]){{1, 1}, {2, 0}});
}

static void
take_row(void *of)
{
  const row_case *one = of;
  INTERVAL(by);
  world w;

  begin_rows(&w);
  const cell c = settled(&w, NULL, false);
  touch t = {.step = one->step, .entry = one->entry, .from = one->step, .n = 1, .at = (size_t *)&one->entry};
  w.p.touched = &t;
  kink_row_and_factor(&w.p, c.slope, &c, 0, 0, 0, &by);
  ck_assert(mpq_equal(&value_at(&w.p, 1, 3)->lo, &plus_one) && mpq_equal(&value_at(&w.p, 1, 3)->hi, &plus_one)); /* thirds */
  for (size_t i = 0; i < 2; i++) {
    const rational *g = &w.net.gradient[i];
    ck_assert(mpz_cmp_ui(mpq_denref(g), 2) < 0);
    ck_assert_double_eq_tol(mpq_get_d(g) * mpq_get_d(&by.lo), one->gradient[i], 1e-12);
    ck_assert_double_eq_tol(mpq_get_d(g) * mpq_get_d(&by.hi), one->gradient[i], 1e-12);
  }
}

START_TEST(rows_have_factors)
{
  expect_end(take_row, &root_rows[_i], root_rows[_i].known ? VERIFIED : FAILED, root_rows[_i].known ? NULL : "a gradient is not rational");
}
END_TEST

/* What is behind what, of entries that count as touched; and windows with ties of what is behind a touched kink, twice: two copies of it and w1;
 * w1, the copies and less than that; a copy and w1. */
START_TEST(windows_are_loose_behind_kinks)
{
  static const bool loose[] = {true, true, false}, among[] = {true, false, false, false};
  const double x = 1;
  world w;

  begin(&w, 1, &x);
  step *st = add_reading(&w, LINEAR, 2, 1, (const source[]){{0, 0}, {0, 0}});
  for (size_t f = 0; f < 2; f++)
    st->factors[f] = (factor){&plus_one, &w.w[0], f};
  add_relu(&w, 1);
  st = add_reading(&w, LINEAR, 4, 1, (const source[]){{2, 0}, {2, 0}, {1, 1}, {NONE, 0}}); /* 3 */
  st->factors[3].coef = &minus_one;
  add_reading(&w, WINDOW, 3, 4, (const source[]){{3, 0}, {3, 1}, {3, 2}, NO, {3, 2}, {3, 3}, {3, 0}, {3, 1}, {3, 0}, {3, 2}, NO, {3, 3}});
  const cell c = settled(&w, NULL, false);
  ck_assert_uint_eq(w.p.n_touched, 4);
  bool **of = loose_windows(&w.p, &c, among);
  for (size_t e = 0; e < 3; e++)
    ck_assert(of[4][e] == loose[e]);
  for (size_t s = 0; s < 4; s++)
    ck_assert(of[s] == NULL);
}
END_TEST

/* Samples together: rows of each step by rows and samples. */
START_TEST(samples_are_behind_their_own_kinks)
{
  static const bool among[] = {true, true};
  size_t at[] = {0, 1};
  world w;

  begin(&w, 2, (const double[]){1, 1});
  w.net.batch = 2;
  w.net.steps[0].n = 1;
  for (size_t s = 0; s < 3; s++)
    add_reading(&w, LINEAR, 1, 1, (const source[]){{s, 0}})->factors[0].w = &w.w[0];
  point_evaluate(&w.p);
  w.p.n_touched = 2;
  for (size_t b = 0; b < 2; b++) {
    touch both[] = {{.step = 1, .entry = 1, .from = 0, .n = 1, .at = &at[1]}, {.step = 3, .entry = b, .from = 2, .n = 1, .at = &at[b]}};
    w.p.touched = both;
    ck_assert(one_behind_another(&w.p, among) == (b == 1));
  }
}
END_TEST

/* A function of w0 + c, at w0 = 1: is its derivative known as a rational number? */
typedef struct {
  function of;
  double c;
  bool known;
  double slope;
} slope_case;

static const slope_case function_slopes[] = {
  {F_RECIPROCAL, 1, true, -0.25}, {F_RECIPROCAL, -3, true, -0.25}, {F_ROOT, 3, true, 0.25}, {F_LOG, 1, true, 0.5},
  {F_ELU, 2, true, 1}, {F_ELU, -1, true, 1}, {F_ELU, -2, false, 0}, {F_EXP, 0, false, 0}, {F_EXP, -1, true, 1},
  {F_SOFTPLUS, 0, false, 0}, {F_SOFTPLUS, -1, true, 0.5}, {F_SIN, 0, false, 0}, {F_SIN, -1, true, 1}, {F_COS, 0, false, 0}, {F_COS, -1, true, 0},
  {F_ATAN, 0, true, 0.5}, {F_ERF, -1, false, 0}, {F_NORMAL, -1, false, 0}, {F_FLOOR, -0.5, true, 0},
};

static void
take_slope(void *of)
{
  const slope_case *one = of;
  static const double x = 1;
  size_t at = 0;
  world w;

  begin(&w, 1, &x);
  mpq_set_ui(&w.w[0].value[0], 1, 1);
  step *st = add_reading(&w, LINEAR, 1, 2, (const source[]){{0, 0}, {NONE, 0}});
  st->factors[0].w = &w.w[0];
  st->factors[1].coef = number(one->c);
  add_function(&w, one->of, 1);
  const cell c = settled(&w, NULL, false);
  touch t = {.step = 2, .from = 2, .n = 1, .at = &at};
  w.p.touched = &t;
  ck_assert(kink_gradient(&w.p, c.slope, &c, 0, 0, 0, false) == one->known);
  ck_assert(!one->known || mpq_get_d(&w.net.gradient[0]) == one->slope);
}

START_TEST(functions_have_rational_slopes)
{
  expect_end(take_slope, &function_slopes[_i], VERIFIED, NULL);
}
END_TEST

/* Three samples of two outputs, 1 0, 0 3 and 1 1; labels 0, 1, and the one that is ignored, or 0. The derivative by an output is its share, less 1
 * for the label, in parts of how many count. */
START_TEST(cross_entropy_has_derivatives)
{
  static const double x[] = {1, 0, 0, 3, 1, 1};
  static const long label[] = {0, 1, 7};
  const size_t batch = 3, counted = _i == 0 ? 2 : 3;
  tensor y = {.count = 3, .value = rationals(3)}, ignored = {.count = 1, .value = rationals(1)};
  size_t map[] = {1, 0};
  world w;

  begin(&w, 6, x);
  w.net.batch = w.net.apart = batch;
  w.net.steps[0].n = 2;
  for (size_t i = 0; i < 3; i++)
    mpq_set_si(&y.value[i], i == 2 && _i == 1 ? 0 : label[i], 1);
  mpq_set_si(ignored.value, 7, 1);
  w.net.own.ignored = &ignored;
  w.net.n_outputs = 2;
  w.net.map = map;
  w.p.target = &y;
  w.p.loss = LOSS_CE;
  point_evaluate(&w.p);
  const interval *d = loss_slopes(&w.p);
  for (size_t b = 0; b < batch; b++)
    for (size_t i = 0; i < 2; i++) {
      const double mine = exp(x[2 * b + map[i]]), other = exp(x[2 * b + 1 - map[i]]);
      const double wanted = (mine / (mine + other) - (mpz_get_si(mpq_numref(&y.value[b])) == (long)i)) / (double)counted;
      const interval *is = &d[2 * b + i];
      if (b == 2 && _i == 0)
        ck_assert(interval_zero(is));
      else
        ck_assert_msg(fabs(mpq_get_d(&is->lo) - wanted) < 1e-12 && fabs(mpq_get_d(&is->hi) - wanted) < 1e-12, "%zu, %zu", b, i);
    }
}
END_TEST

/* ---- Adjoints */

/* Two samples of three kinks, two kinks behind those, and a sum of all: of numbers whose denominators are powers of two, or not. */
static const char *const mixing[2][3] = {{"1/3", "-2", "5/6"}, {"-1/2", "1/3", "4"}};
static const char *const summing[5] = {"1/3", "-3/5", "2/3", "-1/7", "0"};

static const rational *
fraction(const char *text)
{
  rational *q = rationals(1);

  mpq_set_str(q, text, 10);
  mpq_canonicalize(q);
  return q;
}

static void
begin_mixing(world *w, bool squares)
{
  static tensor y;
  static size_t map[] = {0};

  begin(w, 2, (const double[]){1, 1});
  w->net.batch = w->net.apart = 2;
  w->net.steps[0].n = 1;
  step *st = add_reading(w, LINEAR, 3, 1, (const source[]){{0, 0}, {0, 0}, {0, 0}});
  for (size_t f = 0; f < 3; f++)
    st->factors[f] = (factor){&plus_one, &w->w[0], f};
  add_relu(w, 3);
  st = add_reading(w, LINEAR, 2, 3, (const source[]){{2, 0}, {2, 1}, {2, 2}, {2, 0}, {2, 1}, {2, 2}});
  for (size_t i = 0; i < 6; i++)
    st->factors[i].coef = fraction(mixing[i / 3][i % 3]);
  st = add_relu(w, 2);
  mpq_set_ui(&st->piece[0][1], squares, 1); /* or the smaller of it and 0 */
  mpq_set_ui(&st->piece[1][1], !squares, 1);
  st = add_reading(w, LINEAR, 1, 5, (const source[]){{4, 0}, {4, 1}, {2, 0}, {2, 1}, {2, 2}});
  for (size_t i = 0; i < 5; i++)
    st->factors[i].coef = fraction(summing[i]);
  w->net.output = 5;
  w->net.n_outputs = 1;
  w->net.map = map;
  y = (tensor){.count = 2, .value = rationals(2)};
  mpq_set_si(&y.value[0], -1, 3);
  mpq_set_si(&y.value[1], 2, 1);
  w->p.target = &y;
  w->p.loss = squares ? LOSS_MSE : LOSS_SUM;
}

/* The adjoint of touched kink k when those of step 4 have these slopes: kinks are in the order of steps, features and samples. Of squares at 0 it is
 * times -2 y. */
static void
mixed(rational *to, const world *w, size_t k, const int *slopes)
{
  const size_t b = k % 2;
  RATIONAL(q);

  if (k >= 6)
    mpq_set(to, fraction(summing[(k - 6) / 2]));
  else {
    mpq_set(to, fraction(summing[2 + k / 2]));
    for (size_t j = 0; j < 2; j++) {
      mpq_mul(&q, fraction(summing[j]), fraction(mixing[j][k / 2]));
      if (slopes[2 * j + b] > 0)
        mpq_add(to, to, &q);
    }
  }
  if (w->p.loss == LOSS_MSE) {
    mpq_mul(to, to, &w->p.target->value[b]);
    mpq_add(to, to, to);
    mpq_neg(to, to);
  }
}

START_TEST(adjoints_hold_those_of_all_cells)
{
  world w;

  begin_mixing(&w, _i == 1);
  settled(&w, NULL, false);
  ck_assert_uint_eq(w.p.n_touched, 10);
  const bool needed[] = {true, true}, second[] = {false, true};
  const interval *any = adjoints(&w.p, NULL, needed, NULL), *last = adjoints(&w.p, NULL, second, NULL);
  for (int sides = 0; sides < 16; sides++) {
    int slopes[4];
    rational *slope = rationals(10);
    for (size_t i = 0; i < 4; i++) {
      slopes[i] = sides >> i & 1;
      mpq_set_si(&slope[6 + i], slopes[i], 1);
    }
    const interval *one = adjoints(&w.p, slope, needed, NULL);
    for (size_t k = 0; k < 10; k++) {
      RATIONAL(is);
      RATIONAL(off);
      mixed(&is, &w, k, slopes);
      ck_assert(mpq_cmp(&one[k].lo, &is) <= 0 && mpq_cmp(&is, &one[k].hi) <= 0);
      mpq_sub(&off, &one[k].hi, &one[k].lo);
      ck_assert(mpq_get_d(&off) < 0x1p-100);
      ck_assert_msg(mpq_cmp(&any[k].lo, &is) <= 0 && mpq_cmp(&is, &any[k].hi) <= 0, "kink %zu, sides %d", k, sides);
      ck_assert(k % 2 == 1 ? mpq_equal(&last[k].lo, &any[k].lo) && mpq_equal(&last[k].hi, &any[k].hi) : interval_zero(&last[k]));
    }
  }
}
END_TEST

static void
adjoint_through_line(void *of)
{
  const double x[] = {1, 2};
  const bool needed = true;
  size_t map[] = {0};
  world w;

  begin(&w, 2, x);
  step *st = add_reading(&w, LINEAR, 2, 1, (const source[]){{0, 0}, {0, 1}});
  for (size_t f = 0; f < 2; f++)
    st->factors[f] = (factor){&plus_one, &w.w[0], f};
  add_relu(&w, 2);
  add_lines(&w, NORMALIZE, 2, 2, *(const bool *)of ? (const source[]){{2, 0}, {2, 1}} : (const source[]){{0, 0}, {0, 1}});
  add_reading(&w, LINEAR, 1, 2, (const source[]){{3, 0}, {2, 1}});
  w.net.output = 4;
  w.net.n_outputs = 1;
  w.net.map = map;
  settled(&w, NULL, false);
  ck_assert_uint_eq(w.p.n_touched, 2);
  ck_assert(mpq_cmp_ui(&adjoints(&w.p, NULL, &needed, NULL)[1].lo, 1, 1) == 0);
}

START_TEST(adjoints_are_not_taken_through_lines)
{
  static const bool moves = true, rests = false;

  expect_end(adjoint_through_line, &moves, REFUSED, "adjoints in a network that normalizes");
  expect_end(adjoint_through_line, &rests, VERIFIED, NULL);
}
END_TEST

/* ---- Zones */

/* A constant 0, and what a line of one function twice is, which is 0 as well: the largest of both, in either order; or of a parameter with and
 * without that. */
typedef struct {
  bool first, moves;
  const char *why;
} constant_tie;

static void
tie_constant(void *of)
{
  const constant_tie *one = of;
  static size_t map[] = {0};
  const double x = 1;
  world w;

  begin(&w, 1, &x);
  add_reading(&w, LINEAR, 1, 1, (const source[]){{NONE, 0}})->factors[0].w = &w.w[0];
  add_relu(&w, 1);
  add_reading(&w, LINEAR, 2, 1, (const source[]){{2, 0}, {2, 0}});
  add_lines(&w, NORMALIZE, 2, 2, (const source[]){{3, 0}, {3, 1}});
  if (one->moves) {
    step *st = add_reading(&w, LINEAR, 2, 2, (const source[]){{NONE, 0}, NO, {NONE, 0}, {4, 0}});
    st->factors[0] = st->factors[2] = (factor){&plus_one, &w.w[0], 1};
  } else
    add_reading(&w, LINEAR, 2, 1, (const source[]){{NONE, 0}, {4, 0}})->factors[0].coef = number(0);
  add_reading(&w, WINDOW, 1, 2, one->first ? (const source[]){{5, 0}, {5, 1}} : (const source[]){{5, 1}, {5, 0}});
  w.net.output = 6;
  w.net.n_outputs = 1;
  w.net.map = map;
  settled(&w, NULL, false);
  judge_lines("zone compensation\n");
  next_line("zone");
  next_word();
  check_compensation(&w.p);
}

START_TEST(a_constant_is_not_tied_with_what_kinks_move)
{
  static const constant_tie ties_of[] = {
    {true, false, "a constant is tied with what follows touched kinks, and either may be taken"},
    {false, false, "the loss has a derivative by the output of touched kink 0"},
    {true, true, "ties of entries that are one function, behind touched kinks, are not known to have one derivative"},
    {false, true, "the loss has a derivative by the output of touched kink 0"},
  };

  for (size_t i = 0; i < sizeof ties_of / sizeof *ties_of; i++)
    expect_end(tie_constant, &ties_of[i], FAILED, ties_of[i].why);
}
END_TEST

/* Cross entropy of a kink less itself, or of the kink, over a root, and of 0: what cancels before the root is not known to, but for the root. */
static void
cancel_under_root(void *of)
{
  static size_t map[] = {0, 1};
  const double x = 1;
  tensor y = {.count = 1, .value = rationals(1)};
  world w;

  begin(&w, 1, &x);
  for (size_t i = 0; i < MOST_WEIGHTS; i++)
    mpq_set_ui(&w.w[2].value[i], 2, 1);
  add_reading(&w, LINEAR, 1, 1, (const source[]){{0, 0}})->factors[0].w = &w.w[0];
  add_relu(&w, 1);
  add_reading(&w, LINEAR, 2, 1, (const source[]){{2, 0}, {2, 0}})->factors[1].coef = &minus_one;
  add_reading(&w, LINEAR, 1, 2, (const source[]){{3, 0}, *(const bool *)of ? (source){3, 1} : (source)NO});
  add_reading(&w, OVER_ROOT, 1, 1, (const source[]){{4, 0}})->factors[0].w = &w.w[2];
  add_reading(&w, LINEAR, 2, 1, (const source[]){{5, 0}, NO});
  w.net.output = 6;
  w.net.n_outputs = 2;
  w.net.map = map;
  w.p.target = &y;
  w.p.loss = LOSS_CE;
  settled(&w, NULL, false);
  judge_lines("zone compensation\n");
  next_line("zone");
  next_word();
  check_compensation(&w.p);
}

START_TEST(a_root_does_not_hide_what_cancels)
{
  static const bool both = true, one = false;

  expect_end(cancel_under_root, &both, VERIFIED, NULL);
  expect_end(cancel_under_root, &one, FAILED, "the loss has a derivative by the output of touched kink 0");
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("steps");

  tcase_add_loop_test(tests, lines_hand_back_what_cancels, 0, (int)(sizeof line_sums / sizeof *line_sums));
  tcase_add_test(tests, constants_hand_back_nothing);
  tcase_add_test(tests, a_root_does_not_hide_what_cancels);
  tcase_add_loop_test(tests, kinks_lie_where_slopes_differ, 0, (int)(sizeof kinks / sizeof *kinks));
  tcase_add_test(tests, a_parabola_through_0_has_its_values);
  tcase_add_loop_test(tests, numbers_that_are_not_rational_are_placed, 0, (int)(sizeof irrationals / sizeof *irrationals));
  tcase_add_loop_test(tests, functions_are_asked_for_their_domains, 0, (int)(sizeof domains / sizeof *domains));
  tcase_add_test(tests, steps_know_what_they_depend_on);
  tcase_add_loop_test(tests, smooth_steps_have_rules, 0, 4);
  tcase_add_loop_test(tests, windows_of_numbers_that_are_not_rational, 0, (int)(sizeof windows / sizeof *windows));
  tcase_add_test(tests, few_values_are_needed);
  tcase_add_test(tests, touched_kinks_are_in_order);
  tcase_add_test(tests, sums_and_products_have_degrees);
  tcase_add_loop_test(tests, smooth_steps_have_degrees, 0, 2);
  tcase_add_loop_test(tests, kinks_have_degrees, 0, (int)(sizeof chosen / sizeof *chosen));
  tcase_add_test(tests, pieces_have_degrees);
  tcase_add_loop_test(tests, what_cancels_is_told, 0, (int)(sizeof cancellings / sizeof *cancellings));
  tcase_add_test(tests, the_first_step_may_cancel);
  tcase_add_test(tests, factors_of_many_products_are_not_told);
  tcase_add_loop_test(tests, factors_of_what_is_affine_are_told, 0, (int)(sizeof affines / sizeof *affines));
  tcase_add_loop_test(tests, gradients_are_known_up_to_a_root, 0, (int)(sizeof gradients / sizeof *gradients));
  tcase_add_loop_test(tests, rows_have_factors, 0, (int)(sizeof root_rows / sizeof *root_rows));
  tcase_add_test(tests, windows_are_loose_behind_kinks);
  tcase_add_test(tests, samples_are_behind_their_own_kinks);
  tcase_add_loop_test(tests, functions_have_rational_slopes, 0, (int)(sizeof function_slopes / sizeof *function_slopes));
  tcase_add_loop_test(tests, cross_entropy_has_derivatives, 0, 2);
  tcase_add_loop_test(tests, adjoints_hold_those_of_all_cells, 0, 2);
  tcase_add_test(tests, adjoints_are_not_taken_through_lines);
  tcase_add_test(tests, a_constant_is_not_tied_with_what_kinks_move);
  tcase_add_test(tests, functions_have_numbers);
  tcase_add_test(tests, samples_together_have_numbers);
  tcase_add_test(tests, numbers_do_not_meet);
  tcase_add_test(tests, numbers_begin_apart);
  tcase_add_test(tests, samples_apart_are_not_compared);
  tcase_add_test(tests, numbers_have_an_end);
  tcase_add_loop_test(tests, long_lines_are_not_compared, 0, (int)(sizeof line_pairs / sizeof *line_pairs));
  tcase_add_test(tests, options_are_alike);
  tcase_add_test(tests, a_root_is_no_obstacle);
  tcase_add_loop_test(tests, windows_have_degrees, 0, (int)(sizeof ties / sizeof *ties));
  tcase_add_loop_test(tests, rows_have_entries, 0, (int)(sizeof rows / sizeof *rows));
  return run_tests();
}
