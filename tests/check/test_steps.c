/* Steps by hand, one of a kind or two: where they have kinks, what their domains are, and what is prepared of them. */
#include "../suite.h"
#include "check/kernel/cell.h"
#include "check/kernel/evaluate.h"
#include "check/kernel/identity.h"
#include "check/kernel/place.h"
#include "check/near/near.h"
#include "check/smooth/function.h"
#include "forge_tape_judge.h"
#include "small_world.h"

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

/* A step's places in a row, by source. */
static step *
add_reading(world *w, kind k, size_t n, size_t width, const source *x)
{
  step *st = add(w, k, n, width);

  memcpy(st->sources, x, n * width * sizeof *x);
  return st;
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

/* Two rows of factors, w0 and w5, w1 and w5, for each of two rows of sources, the first of which has no first place. */
static void
add_told(world *w)
{
  static const size_t factors[] = {0, 1, 0, 1}, sources[] = {0, 0, 1, 1};
  static const source x[] = {NO, {1, 1}, {1, 0}, {1, 1}};
  step *st = add(w, LINEAR, 4, 2);

  st->n_factors = st->n_sources = 4;
  memcpy(st->sources, x, sizeof x);
  memcpy(st->factor_row, factors, sizeof factors);
  memcpy(st->source_row, sources, sizeof sources);
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
    {1, 2, 3, 0}, {10, 11, 12, 10, 0, 13, 14, 15, 4, 1}, {20, 20, 21, 22}, {30, 31, 32, ANY}, {40, 10, ANY, 41, 42}, {10, 50, 51, 5, 0, 0},
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
}
END_TEST

/* Of two samples that are computed together, entries are functions of their own. What is 0, but not exactly, has no number of a row. */
START_TEST(samples_together_have_numbers)
{
  static const int wanted[MOST_STEPS][MOST_ENTRIES] = {
    {1, 2}, {10, 11, 12, 13}, {20, 21, 22, 23}, {ALONE, ALONE, ALONE, ALONE}, {0, 0, 0, 0}, {40, 40}, {ALONE, ALONE, ALONE, ALONE},
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
  point_evaluate(&w.p);
  expect_numbers(&w, wanted);
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

int
main(void)
{
  TCase *tests = tests_of("steps");

  tcase_add_loop_test(tests, kinks_lie_where_slopes_differ, 0, (int)(sizeof kinks / sizeof *kinks));
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
  tcase_add_test(tests, functions_have_numbers);
  tcase_add_test(tests, samples_together_have_numbers);
  tcase_add_test(tests, numbers_have_an_end);
  tcase_add_test(tests, a_root_is_no_obstacle);
  tcase_add_loop_test(tests, windows_have_degrees, 0, (int)(sizeof ties / sizeof *ties));
  tcase_add_loop_test(tests, rows_have_entries, 0, (int)(sizeof rows / sizeof *rows));
  return run_tests();
}
