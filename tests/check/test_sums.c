/* Sums of recorded numbers: what is rounded of them, and how near a recorded number is. */
#include "check/base/session.h"
#include "check/files/types.h"
#include "check/record/record_filter.h"
#include "check/record/record_product.h"
#include "check/record/record_sum.h"
#include "../draw.h"
#include "../suite.h"

#include <math.h>
#include <stdlib.h>

#define ODD 16777217 /* 2^24 + 1, the first integer that is no float32 */

/* c times `number`, beside what was recorded, one rounding being made. */
static nearness
judge(long above, unsigned long below, long number, long recorded_as)
{
  unit u = {0, integer_zero()};
  coefficient c = {0};
  RATIONAL(q);
  recorded a = {(double)number, {0}}, r = {(double)recorded_as, {0}};
  sum *s = sums(1);
  mpz_set_ui(&u.common, 6);
  mpq_set_si(&q, above, below);
  coefficient_set(&c, &u, &q);
  ck_assert(c.q == &q && c.plain == (below == 1 && labs(above) == 1));
  sum_add(s, &u, FLOAT, &c, &a, NULL, 0);
  ck_assert(s->rounds != c.plain);
  nearness found = sum_judge(s, &u, FLOAT, 1, &r);
  sums_free(s, 1);
  mpz_clear(&u.common);
  mpz_clear(&c.times);
  return found;
}

/* A number itself, or minus it, is not rounded; any other product is. */
START_TEST(products_by_one_are_not_rounded)
{
  ck_assert_int_eq(judge(1, 1, ODD, ODD), BIT_EXACT);
  ck_assert_int_eq(judge(1, 1, ODD, ODD - 1), BIT_EXACT); /* of two that are as near the even one */
  ck_assert_int_eq(judge(1, 1, ODD, ODD + 1), BEYOND);
  ck_assert_int_eq(judge(-1, 1, ODD, -ODD - 1), BEYOND);
  ck_assert_int_eq(judge(-1, 1, ODD, 1 - ODD), BIT_EXACT);
  ck_assert_int_eq(judge(3, 1, ODD, 3L * ODD + 1), BIT_EXACT);
  ck_assert_int_eq(judge(3, 1, ODD, 3L * ODD - 3), WITHIN_BOUND);
  ck_assert_int_eq(judge(3, 1, ODD, 3L * ODD + 5), BEYOND);
  ck_assert_int_eq(judge(1, 2, 2L * ODD, ODD + 1), WITHIN_BOUND);
  ck_assert_int_eq(judge(-1, 3, 3L * ODD, -ODD - 1), WITHIN_BOUND);
  ck_assert_int_eq(judge(0, 1, ODD, 0), BIT_EXACT);
}
END_TEST

/* ---- Sums in doubles, beside those in integers */

#define TERMS 40
#define TYPES 4

static uint64_t state = 1;

static uint64_t
below(uint64_t n)
{
  return draw_below(&state, n);
}

/* A number of that type: small ones, large ones, subnormals, 0. Few exponents, so that terms cancel; or many. */
static double
draw_number(size_t type, int spread)
{
  int k = (int)dtypes[type].fraction + 1, most = (int)type_most(type), least = 2 - most;
  double digits = (double)(below(1ull << k) | (below(4) > 0 ? 1ull << (k - 1) : 0));
  int e = spread == 0 ? (int)below(3) : (int)below((uint64_t)spread) - spread / 2;
  e = e < least ? least : e > most - 1 ? most - 1 : e;
  double x = ldexp(digits, e - k + 1);
  return below(9) == 0 ? 0 : below(2) > 0 ? -x : x;
}

/* x in that type, moved by so many places in the last digit. */
static double
draw_near(size_t type, double x, long places)
{
  int k = (int)dtypes[type].fraction + 1, e, least = 2 - (int)type_most(type);
  (void)frexp(x, &e);
  e = (e - 1 < least ? least : e - 1) - k + 1;
  return ldexp(nearbyint(ldexp(x, -e)) + (double)places, e);
}

/* Both judge one sum. What doubles tell is what integers tell; how often do they tell that it is within? */
static void
compare_judges(const unit *u, const rational *coef, size_t *within, size_t *told)
{
  static const size_t types[TYPES] = {FLOAT, FLOAT16, BFLOAT16, DOUBLE};
  size_t type = types[below(TYPES)], n = 1 + below(TERMS), rest = below(20);
  int spread = below(3) == 0 ? 0 : below(2) > 0 ? 8 : 300;
  filter quick = {0};
  sum *s = sums(1);
  double all = 0, top = ldexp(1, (int)type_most(type) - 1);
  bool pairs = below(3) > 0;
  for (size_t i = 0; i < n; i++) {
    coefficient c = {0};
    recorded a = {draw_number(type, spread), {0}}, b = {draw_number(type, spread), {0}};
    coefficient_set(&c, u, &coef[below(3) > 0 ? below(2) : below(6)]);
    filter_add(&quick, &c, &a, pairs ? &b : NULL);
    sum_add(s, u, type, &c, &a, pairs ? &b : NULL, 0);
    all += c.d * (pairs ? a.d * b.d : a.d);
    mpz_clear(&c.times);
  }
  all = isfinite(all) && fabs(all) < top ? all : top;
  static const long places[] = {0, 0, 0, 1, -1, 2, 20, -45, 1000};
  recorded x = {draw_near(type, all, places[below(9)]), {0}};
  nearness exact = sum_judge(s, u, type, n + rest, &x);
  for (int wanted = 0; wanted < 2; wanted++) {
    nearness found = filter_judge(&quick, type, n + rest, &x, wanted > 0);
    ck_assert(found == UNTOLD || found == exact || (found == WITHIN_BOUND && exact == BIT_EXACT && wanted == 0));
    told[found]++;
  }
  within[exact]++;
  sums_free(s, 1);
}

START_TEST(doubles_tell_what_integers_tell)
{
  unit u = {2300, integer_zero()};
  rational coef[6] = {plus_one, minus_one};
  size_t within[UNTOLD + 1] = {0}, told[UNTOLD + 1] = {0};
  for (int i = 2; i < 6; i++) {
    coef[i] = rational_zero();
    mpq_set_si(&coef[i], i % 2 > 0 ? -2 : 5, 3);
  }
  mpq_div_2exp(&coef[3], &coef[3], 90);
  mpq_mul_2exp(&coef[4], &coef[4], 90);
  mpq_mul_2exp(&coef[5], &coef[5], 400); /* too large for doubles */
  mpz_ui_pow_ui(&u.common, 2, 90);
  mpz_mul_ui(&u.common, &u.common, 3);
  for (int i = 0; i < 60000; i++)
    compare_judges(&u, coef, within, told);
  for (int i = 0; i < UNTOLD; i++)
    ck_assert(within[i] > 300);
  ck_assert(told[BIT_EXACT] > 600 && told[WITHIN_BOUND] > 3000 && told[BOUNDLESS] == 0 && told[BEYOND] == 0);
}
END_TEST

/* Products that a double would round as subnormals are no numbers, and others are; so it is where sums pass its largest. */
START_TEST(doubles_that_would_underflow_do_not_tell)
{
  unit u = {2300, integer_zero()};
  coefficient c = {0};
  mpz_set_ui(&u.common, 1);
  coefficient_set(&c, &u, &plus_one);
  for (int e = -1074; e < 1024; e++) {
    filter quick = {0};
    recorded a = {ldexp(1, e), {0}}, b = {0x1p-500, {0}}, large = {0x1.8p600, {0}};
    filter_add(&quick, &c, &a, &b);
    ck_assert(isnan(quick.sum) == (e < -400));
    quick = (filter){0};
    filter_add(&quick, &c, &a, &large);
    filter_add(&quick, &c, &a, &large);
    recorded x = {0x1.fp127, {0}};
    ck_assert(filter_judge(&quick, FLOAT, 6, &x, false) == UNTOLD);
  }
}
END_TEST

/* A recorded number lies at the very end of the bound, and one place behind it: doubles tell of neither. */
START_TEST(what_is_near_the_bound_is_left_to_integers)
{
  unit u = {60, integer_zero()};
  coefficient c = {0};
  recorded a = {3, {0}}, b = {5, {0}};
  filter quick = {0};
  sum *s = sums(1);
  mpz_set_ui(&u.common, 1);
  coefficient_set(&c, &u, &plus_one);
  filter_add(&quick, &c, &a, &b);
  sum_add(s, &u, FLOAT, &c, &a, &b, 0);
  size_t within = 0, told = 0;
  for (int i = 0; i < 40; i++) {
    recorded x = {15 + i * 0x1p-20, {0}};
    nearness exact = sum_judge(s, &u, FLOAT, 5, &x), found = filter_judge(&quick, FLOAT, 5, &x, false);
    ck_assert(found == UNTOLD || found == exact);
    within += exact == WITHIN_BOUND;
    told += found == WITHIN_BOUND;
  }
  ck_assert(told > 0 && told < within && within < 10); /* 5 * 15 * 2^-24, in units of 2^-20, is 4.7 */
  sums_free(s, 1);
}
END_TEST

/* Of float64 doubles tell nothing but what is equal: 1 and many terms that are lost beside it. What doubles find is 1, and the number is within
 * half of the bound from there; from the sum it is farther than all of it. */
START_TEST(doubles_do_not_tell_of_doubles)
{
  unit u = {200, integer_zero()};
  coefficient c = {0};
  recorded a = {1, {0}}, small = {0x0.ffp-53, {0}}, x = {1 - 22 * 0x1p-53, {0}};
  filter quick = {0};
  sum *s = sums(1);
  mpz_set_ui(&u.common, 1);
  coefficient_set(&c, &u, &plus_one);
  for (int i = 0; i < TERMS; i++) {
    filter_add(&quick, &c, i == 0 ? &a : &small, NULL);
    sum_add(s, &u, DOUBLE, &c, i == 0 ? &a : &small, NULL, 0);
  }
  ck_assert(quick.sum == 1 && fabs(x.d - quick.sum) <= ldexp((TERMS + 4) * quick.size, -54));
  ck_assert_int_eq(sum_judge(s, &u, DOUBLE, TERMS + 4, &x), BEYOND);
  ck_assert_int_eq(filter_judge(&quick, DOUBLE, TERMS + 4, &x, false), UNTOLD);
  sums_free(s, 1);
  recorded far = {0x1p-40, {0}}; /* a float32 does not tell it from 0 beside 1, a float64 does */
  quick = (filter){0};
  filter_add(&quick, &c, &a, NULL);
  filter_add(&quick, &c, &far, NULL);
  ck_assert_int_eq(filter_judge(&quick, DOUBLE, 6, &a, true), UNTOLD);
  ck_assert_int_eq(filter_judge(&quick, FLOAT, 6, &a, true), BIT_EXACT);
}
END_TEST

/* 1 + 2^-24 is as near to 1 as to the next float32; a little more is not, and a double does not hold that. */
START_TEST(numbers_that_doubles_cut)
{
  RATIONAL(q);
  RATIONAL(little);
  recorded x = {1, {0}};
  for (int more = 0; more < 2; more++) {
    filter quick = {0};
    mpq_set_ui(&q, (1 << 24) + 1, 1 << 24);
    mpq_set_ui(&little, (unsigned long)more, 1);
    mpq_div_2exp(&little, &little, 80);
    mpq_add(&q, &q, &little);
    filter_add_number(&quick, &q);
    ck_assert_int_eq(filter_judge(&quick, FLOAT, 5, &x, true), UNTOLD);
  }
  filter quick = {0};
  filter_add_number(&quick, &plus_one);
  ck_assert_int_eq(filter_judge(&quick, FLOAT, 5, &x, true), BIT_EXACT);
}
END_TEST

/* Sums that are joined: 2 * 3 and 7, or less 7. */
START_TEST(sums_that_are_joined)
{
  unit u = {60, integer_zero()};
  coefficient c = {0};
  recorded two_of = {2, {0}}, three = {3, {0}}, seven = {7, {0}};
  mpz_set_ui(&u.common, 1);
  coefficient_set(&c, &u, &plus_one);
  for (int minus = 0; minus < 2; minus++) {
    filter all = {0}, more = {0};
    filter_add(&all, &c, &seven, NULL);
    filter_add(&more, &c, &two_of, &three);
    ck_assert(!all.rounds && more.rounds && !all.inexact && !more.inexact);
    filter_join(&all, &more, minus > 0);
    ck_assert(all.sum == (minus > 0 ? 1 : 13) && all.size == 13 && all.terms == 2);
    ck_assert(all.rounds && all.inexact);
    recorded right = {all.sum, {0}}, wrong = {minus > 0 ? 13 : 1, {0}};
    ck_assert_int_eq(filter_judge(&all, FLOAT, 6, &right, false), WITHIN_BOUND);
    ck_assert_int_eq(filter_judge(&all, FLOAT, 6, &right, true), UNTOLD);
    ck_assert_int_eq(filter_judge(&all, FLOAT, 6, &wrong, false), UNTOLD);
  }
}
END_TEST

/* ---- Products of matrices, beside term by term */

#define GROUPS 3
#define FILTERS 5
#define PLACES 7
#define BATCH 70
#define MOST (GROUPS * FILTERS * PLACES * BATCH)

/* A LINEAR step of small integers, whose sums are exact in whatever order; its features read rows of sources in groups. */
typedef struct {
  network net;
  point p;
  record r;
  record_kept kept;
  double *plain[2];
  step steps[2];
  tensor w, t;
  graph_value out;
  recorded x[MOST], weight[MOST], gradient[MOST];
  const recorded *read[MOST], **entry[2];
  factor factors[MOST];
  source sources[MOST];
  size_t factor_row[MOST], source_row[MOST];
} scene;

static void
draw_entries(recorded *x)
{
  for (size_t i = 0; i < MOST; i++)
    x[i] = (recorded){(double)below(2001) - 1000, {0}};
}

static void
draw_step(scene *c, size_t groups, size_t filters, size_t places)
{
  step *st = &c->steps[1];
  st->kind = LINEAR;
  st->width = 2 + below(20);
  st->n = groups * filters * places;
  st->n_factors = groups * filters * st->width;
  st->n_sources = groups * places * st->width;
  c->steps[0].n = 30;
  for (size_t i = 0; i < st->n_factors; i++)
    c->factors[i] = (factor){below(2) > 0 ? &plus_one : &minus_one, &c->w, below(100)};
  for (size_t i = 0; i < st->n_sources; i++)
    c->sources[i] = below(5) == 0 ? (source){PADDING, 0} : below(9) == 0 ? (source){NONE, 0} : (source){0, below(30)};
  for (size_t f = 0; f < st->n; f++) {
    c->factor_row[f] = f / places;
    c->source_row[f] = f / places / filters * places + f % places;
  }
  st->factors = c->factors;
  st->sources = c->sources;
  st->factor_row = c->factor_row;
  st->source_row = c->source_row;
}

static void
draw_scene(scene *c, size_t groups, size_t filters, size_t places, size_t batch)
{
  c->net.steps = c->steps;
  c->net.n_steps = 2;
  c->net.batch = batch;
  c->net.batched = true;
  c->p.net = &c->net;
  c->r.p = &c->p;
  c->r.kept = &c->kept;
  c->kept.plain = c->plain;
  free(c->plain[0]);
  c->plain[0] = NULL;
  c->w.whole = c->weight;
  c->t.whole = c->gradient;
  draw_entries(c->x);
  draw_entries(c->weight);
  draw_entries(c->gradient);
  draw_step(c, groups, filters, places);
  c->out.step = 1;
  c->out.count = c->steps[1].n;
  for (size_t e = 0; e < c->steps[0].n * batch; e++)
    c->read[e] = &c->x[e];
  c->entry[0] = c->read;
  c->entry[1] = NULL;
  c->r.entry = c->entry;
}

static void
same_sums(const filter *a, const filter *b, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    ck_assert(a[i].sum == b[i].sum && a[i].size == b[i].size);
    ck_assert(a[i].terms == b[i].terms && a[i].rounds == b[i].rounds);
  }
}

/* Term by term: of features, of what they read, of factors (whose coefficient is left out). */
static void
add_terms(scene *c, size_t f, size_t b, filter *forward, filter *inputs, filter *weights)
{
  const step *st = &c->steps[1];
  static coefficient one = {0};
  unit u = {0, integer_zero()};
  mpz_set_ui(&u.common, 1);
  size_t batch = c->net.batch;
  for (size_t i = 0; i < st->width; i++) {
    coefficient k = {0};
    const factor *w = &st->factors[st->factor_row[f] * st->width + i];
    source x = st->sources[st->source_row[f] * st->width + i];
    const recorded *h = &c->gradient[b * st->n + f], *a = &c->weight[w->at];
    const recorded *read = x.step < PADDING ? &c->x[x.from * batch + b] : NULL;
    coefficient_set(&k, &u, w->coef);
    coefficient_set(&one, &u, &plus_one);
    if (x.step == PADDING)
      continue;
    filter_add(&forward[f * batch + b], &k, read != NULL ? read : a, read != NULL ? a : NULL);
    filter_add(&weights[st->factor_row[f] * st->width + i], &one, h, read);
    if (read != NULL)
      filter_add(&inputs[x.from * batch + b], &k, h, a);
  }
}

START_TEST(matrices_have_the_sums_of_their_terms)
{
  scene *c = calloc(1, sizeof *c);
  for (int turn = 0; turn < 300; turn++) {
    size_t groups = 1 + below(GROUPS), filters = 1 + below(FILTERS), places = 1 + below(PLACES);
    size_t batch = below(3) == 0 ? 1 : 1 + below(BATCH);
    draw_scene(c, groups, filters, places, batch);
    size_t n = c->steps[1].n;
    filter *forward = calloc(n * batch, sizeof *forward), *inputs = calloc(30 * batch, sizeof *inputs);
    filter *weights = calloc(c->steps[1].n_factors, sizeof *weights);
    for (size_t f = 0; f < n; f++)
      for (size_t b = 0; b < batch; b++)
        add_terms(c, f, b, forward, inputs, weights);
    filter *found = product_forward(&c->r, &c->steps[1]);
    same_sums(found, forward, n * batch);
    free(found);
    found = product_inputs(&c->r, &c->steps[1], &c->out, &c->t, 0);
    same_sums(found, inputs, 30 * batch);
    free(found);
    found = product_weights(&c->r, &c->steps[1], &c->out, &c->t);
    same_sums(found, weights, c->steps[1].n_factors);
    free(found);
    free(forward);
    free(inputs);
    free(weights);
  }
  free(c->plain[0]);
  free(c);
}
END_TEST

/* Numbers whose products might underflow, and what is no double, make no sum. */
START_TEST(matrices_of_tiny_numbers_have_no_sums)
{
  scene *c = calloc(1, sizeof *c);
  draw_scene(c, 1, 3, 4, 40);
  for (size_t i = 0; i < c->steps[1].n_sources; i++)
    c->sources[i] = (source){0, i % 30};
  static const double odd[] = {0x1p-401, NAN, 0x1p-399};
  for (size_t turn = 0; turn < 3; turn++) {
    for (size_t i = 0; i < MOST; i++) {
      c->weight[i].d = odd[turn];
      c->x[i].d = 1;
    }
    ck_assert(product_fits(&c->r, &c->steps[1]));
    filter *found = product_forward(&c->r, &c->steps[1]);
    for (size_t i = 0; i < c->steps[1].n * 40; i++)
      ck_assert(isnan(found[i].size) == (turn < 2));
    free(found);
  }
  c->factors[1].coef = &two;
  ck_assert(!product_fits(&c->r, &c->steps[1]));
  free(c->plain[0]);
  free(c);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("check sums");
  tcase_add_test(tests, products_by_one_are_not_rounded);
  tcase_add_test(tests, doubles_tell_what_integers_tell);
  tcase_add_test(tests, doubles_that_would_underflow_do_not_tell);
  tcase_add_test(tests, what_is_near_the_bound_is_left_to_integers);
  tcase_add_test(tests, doubles_do_not_tell_of_doubles);
  tcase_add_test(tests, numbers_that_doubles_cut);
  tcase_add_test(tests, sums_that_are_joined);
  tcase_add_test(tests, matrices_have_the_sums_of_their_terms);
  tcase_add_test(tests, matrices_of_tiny_numbers_have_no_sums);
  return run_tests();
}
