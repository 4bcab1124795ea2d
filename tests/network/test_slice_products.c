/* Products in slices beside rationals: how W is cut, how its argument is, and sums of a place that are as large as they may be. */
#include "sliced.h"
#include "../suites.h"

#include "exact/number.h"
#include "network/pass/slices/multiply.h"

/* --- weights --------------------------------------------------------------------------------- */

enum { MOST_NUMBERS = 2 * 12 * 12 };

/* A weight by itself. */
typedef struct {
  clarke_value value;
  clarke_graph g;
  clarke_slice_plan plan;
  clarke_slicing f;
  clarke_dense d;
  clarke_weight_bits bits;
  clarke_cut_weight w;
  double real[MOST_NUMBERS];
} weight_scene;

static void
weight_begin(weight_scene *c, size_t blocks, size_t outer, size_t inner)
{
  memset(c, 0, sizeof *c);
  c->value = (clarke_value){.constant = true, .count = blocks * outer * inner, .real = c->real};
  c->g = (clarke_graph){.n_values = 1, .values = &c->value};
  c->plan.width = 12;
  c->f = (clarke_slicing){.g = &c->g, .plan = &c->plan, .n = 1, .lanes = 1, .err = &error};
  c->d = (clarke_dense){.weight = 0, .blocks = blocks, .grouped = true, .outer = outer, .inner = inner, .repeat = 1};
}

/* The largest sum of a row's sizes, of rows whose numbers are equal modulo `apart`. */
static double
largest_sum(const weight_scene *c, size_t apart)
{
  double most = 0;

  for (size_t b = 0; b < c->d.blocks; b++)
    for (size_t o = 0; o < apart; o++) {
      double sum = 0;

      for (size_t r = o; r < c->d.outer; r += apart)
        for (size_t i = 0; i < c->d.inner; i++)
          sum += fabs(c->real[(b * c->d.outer + r) * c->d.inner + i]);
      most = fmax(most, sum);
    }
  return most;
}

/* W's numbers, and the sizes of the digits of each row, are what planes and lists make up; where a sum of products with digits of
 * w->m.width bits may lie is below 2^53, with what is carried to it. */
static void
check_weight(weight_scene *c, size_t apart)
{
  const clarke_cut_weight *w = &c->w;
  const clarke_dense *d = &c->d;
  const size_t sums = d->blocks * apart;
  mpq_t *number = clarke_rationals(MOST_NUMBERS), *mass = clarke_rationals(MOST_NUMBERS), *of_lists = clarke_rationals(MOST_NUMBERS), term, size;

  mpq_inits(term, size, NULL);
  ck_assert(!c->f.lost && w->m.first < w->m.planes);
  for (size_t s = 0; s < w->m.planes; s++) {
    const clarke_digit_plane *list = &w->m.plane[s];
    const size_t numbers = s < w->m.first ? list->n : c->value.count;

    ck_assert((list->number != NULL) <= (s < w->m.first));
    for (size_t k = 0; k < numbers; k++) {
      const size_t at = s < w->m.first ? list->place[k] : k, row = at / d->inner;
      const size_t sum = row / d->outer * apart + row % d->outer % apart;
      const double digit = s < w->m.first
        ? list->number[k]
        : w->m.digit[(ptrdiff_t)(s - w->m.first) * w->m.apart + (ptrdiff_t)(row * w->m.stride + at % d->inner)];

      ck_assert(at < c->value.count && (s >= w->m.first || (digit != 0 && (k == 0 || list->place[k - 1] < at))));
      ck_assert(digit == rint(digit) && (s + 1 == w->m.planes || fabs(digit) <= ldexp(1, (int)w->m.width - 1)));
      mpq_set_d(term, ldexp(digit, (int)(w->m.low + w->m.width * (long)s)));
      mpq_add(number[at], number[at], term);
      mpq_set_d(size, fabs(digit));
      mpq_add(mass[sum], mass[sum], size);
      if (s < w->m.first)
        mpq_add(of_lists[sum], of_lists[sum], size);
    }
  }
  for (size_t e = 0; e < c->value.count; e++) {
    mpq_set_d(term, c->real[e]);
    ck_assert(mpq_equal(term, number[e]));
  }
  for (size_t s = 0; s < sums; s++) { /* mass * half a digit + a carry */
    mpq_set_d(term, w->mass);
    ck_assert(mpq_cmp(mass[s], term) <= 0);
    mpq_set_d(term, w->of_lists);
    ck_assert(mpq_cmp(of_lists[s], term) <= 0);
    mpq_mul_2exp(mass[s], mass[s], (mp_bitcnt_t)w->m.width - 1);
    mpq_set_d(term, ldexp(1, 53 - (int)w->m.width));
    mpq_add(mass[s], mass[s], term);
    mpq_set_d(term, 0x1p53);
    ck_assert(mpq_cmp(mass[s], term) <= 0);
  }
  clarke_rationals_free(number, MOST_NUMBERS);
  clarke_rationals_free(mass, MOST_NUMBERS);
  clarke_rationals_free(of_lists, MOST_NUMBERS);
  mpq_clears(term, size, NULL);
}

/* Numbers of one range, of a few bits with some others among them, of many, and doubles of all 53 bits. */
static double
draw_weight(uint64_t *state, size_t kind)
{
  if (kind == 0)
    return ldexp((double)draw_between(state, -(1 << 23), 1 << 23), (int)draw_between(state, -40, -20));
  if (kind == 1)
    return draw_below(state, 60) > 0 ? ldexp((double)draw_between(state, -9, 9), -4)
                                     : ldexp((double)draw_between(state, -(1 << 23), 1 << 23), (int)draw_between(state, -40, -20));
  if (kind == 2) /* a float32 weight, as it is initialised */
    return (double)((float)draw_between(state, -(1 << 30), 1 << 30) * 0x1p-33f);
  return ldexp((double)(int64_t)(draw(state) >> 11) - 0x1p52, -52);
}

START_TEST(weights)
{
  uint64_t state = 7;
  size_t listed = 0, dense = 0, alone = 0;

  for (size_t round = 0; round < 400; round++) {
    const size_t outer = 1 + draw_below(&state, 12), apart = outer % 3 == 0 ? outer / 3 : outer;
    weight_scene c;
    double cost;

    weight_begin(&c, 1 + draw_below(&state, 2), outer, 1 + draw_below(&state, 12));
    for (size_t e = 0; e < c.value.count; e++)
      c.real[e] = draw_weight(&state, round % 4);
    clarke_weight_bits_count(&c.bits, c.real, c.value.count);
    for (size_t e = 0; e < c.value.count; e++)
      ck_assert(fabs(c.real[e]) < ldexp(1, (int)c.bits.high) && fmod(c.real[e], ldexp(1, (int)c.bits.low)) == 0);
    cost = clarke_cut_weight_choose(&c.w, &c.bits, c.d.inner, largest_sum(&c, apart), (long)draw_below(&state, 150));
    ck_assert(cost > 0 && cost < INFINITY);
    OK(clarke_cut_weight_make(&c.f, &c.d, c.real, apart, &c.w));
    check_weight(&c, apart);
    for (size_t l = 0; l < c.w.m.first; l++)
      listed += c.w.m.plane[l].n;
    dense += c.w.m.planes - c.w.m.first > 1;
    alone += c.w.m.planes - c.w.m.first == 1;
    clarke_cut_weight_clear(&c.w);
  }
  ck_assert_msg(listed > 20 && dense > 50 && alone > 50, "%zu listed, %zu of two planes, %zu of one", listed, dense, alone);
}
END_TEST

/* One row, whose sizes add up to just what is exact with digits of so many bits, or to one unit more. */
START_TEST(sums_just_fit)
{
  for (long width = 5; width <= 24; width++)
    for (double over = 0; over <= 1; over++) {
      /* mass 2^(width - 1) <= 2^53 - 2^(53 - width) */
      const double most = floor(ldexp(0x1p53 - ldexp(1, 53 - (int)width), 1 - (int)width)) + over;
      weight_scene c;

      weight_begin(&c, 1, 1, 3);
      c.real[0] = floor(most / 3);
      c.real[1] = -c.real[0];
      c.real[2] = most - 2 * c.real[0];
      c.w = (clarke_cut_weight){.m = {.planes = 1, .width = width}};
      OK(clarke_cut_weight_make(&c.f, &c.d, c.real, 1, &c.w));
      check_weight(&c, 1);
      ck_assert_int_eq(c.w.m.width, over > 0 ? width - 1 : width);
      ck_assert(c.w.mass == most);
      clarke_cut_weight_clear(&c.w);
    }
}
END_TEST

/* Of what no sums are exact, and what is too far from 1. */
START_TEST(weights_that_cannot_be_cut)
{
  weight_scene c;

  weight_begin(&c, 1, 1, 2);
  c.real[0] = c.real[1] = 0x1p50;
  c.w = (clarke_cut_weight){.m = {.planes = 1, .width = 6}};
  ck_assert_int_ne(clarke_cut_weight_make(&c.f, &c.d, c.real, 1, &c.w), CLARKE_OK);
  ck_assert(c.f.lost);
  clarke_cut_weight_clear(&c.w);
  for (int k = 0; k < 3; k++) {
    weight_begin(&c, 1, 1, 2);
    c.real[0] = (const double[]){0x1p-1074, 0x1p-700, 0x1p-1030}[k];
    c.real[1] = (const double[]){1, 0x1p700, 0x1p-1031}[k];
    clarke_weight_bits_count(&c.bits, c.real, 2);
    ck_assert(clarke_cut_weight_choose(&c.w, &c.bits, 2, c.real[0] + c.real[1], 40) == INFINITY);
  }
  weight_begin(&c, 1, 1, 2); /* all 0 */
  clarke_weight_bits_count(&c.bits, c.real, 2);
  ck_assert(clarke_cut_weight_choose(&c.w, &c.bits, 2, 0, 40) < INFINITY);
  OK(clarke_cut_weight_make(&c.f, &c.d, c.real, 1, &c.w));
  check_weight(&c, 1);
  ck_assert(c.w.mass == 0 && c.w.of_lists == 0);
  clarke_cut_weight_clear(&c.w);
}
END_TEST

/* --- arguments -------------------------------------------------------------------------------- */

/* Entry e in a product's own digits. */
static void
of_recut(mpq_t q, const clarke_recut *r, const clarke_sliced *x, size_t e)
{
  mpq_set_ui(q, 0, 1);
  for (size_t k = 0; k < r->planes; k++) {
    const double digit = (double)r->digit[k * x->rows * N + e];

    ck_assert(fabs(digit) <= ldexp(1, (int)r->width - 1) && digit == rint(digit));
    add_scaled(q, digit, r->cut + r->width * (long)k);
  }
  if (r->tail != NULL)
    add_scaled(q, r->tail[e], x->low);
}

/* As large as they get, often. */
static void
draw_extremes(clarke_sliced *v, size_t rows, size_t planes, uint64_t *state)
{
  const float most = 1 << (WIDTH - 1);

  draw_value(v, rows, planes, clarke_slice_grid(draw_between(state, -60, 0), WIDTH), state);
  for (size_t e = 0; e < planes * rows * N; e++)
    v->digit[e] = draw_below(state, 3) == 0 ? v->digit[e] : draw(state) & 1 ? most : -most;
}

static double
largest_of(const clarke_sliced *v)
{
  double largest, norm, most = 0, squares = 0;

  for (size_t e = 0; e < v->rows * N; e++) {
    const double digit = (double)v->digit[(v->planes - 1) * v->rows * N + e];

    most = fmax(most, fabs(digit));
    squares += digit * digit;
  }
  clarke_plane_measure(&f, v, v->planes - 1, &largest, &norm);
  ck_assert(largest == most && norm >= sqrt(squares) * (1 - 0x1p-50) && norm <= sqrt(squares) * (1 + 0x1p-30));
  return largest;
}

/* Of a tail of so many bits. */
static clarke_tail_bound
bound_of(const clarke_sliced *x, size_t joined, long bits)
{
  clarke_tail_bound b = {0};

  for (size_t k = 0; k < joined; k++)
    b = clarke_tail_grow(&f, x, b, k, bits - WIDTH * (long)k < WIDTH ? bits - WIDTH * (long)k : WIDTH);
  return b;
}

/* What is said of a tail holds, and says little more than that its digits may be. */
static void
check_tail(const clarke_sliced *x, const clarke_recut *r, long bits)
{
  double squares = 0;

  for (size_t e = 0; e < x->rows * N; e++) {
    ck_assert(fabs(r->tail[e]) <= r->bound.size);
    squares += r->tail[e] * r->tail[e];
  }
  ck_assert(sqrt(squares) * (1 - 0x1p-40) <= r->bound.norm);
  ck_assert(r->bound.size <= ldexp(1.51, (int)bits - 1) && r->bound.norm <= ldexp(1.51, (int)bits - 1) * sqrt((double)(x->rows * N)));
}

/* Is it seen that the argument does not fit so many digits, or that its tail is more than so much of what is said of it, or not
 * kept? Where it is not, the number is there. */
static bool
is_refused(const clarke_sliced *x, clarke_recut r, size_t joined, size_t planes, double part)
{
  bool refused;
  mpq_t q, truth;

  r.joined = joined;
  r.planes = planes;
  r.bound.size *= part;
  mpq_inits(q, truth, NULL);
  OK(clarke_recut_make(&f, x, &r));
  refused = f.lost;
  f.lost = false;
  for (size_t e = 0; e < x->rows * N && !refused; e++) {
    of_entry(truth, x, e);
    of_recut(q, &r, x, e);
    check_within(q, truth, (double)joined * 0x1p-53, r.cut);
  }
  clarke_recut_clear(&r);
  mpq_clears(q, truth, NULL);
  return refused;
}

/* Each number is what was taken and what stays, in places of 2^7. */
START_TEST(digits_taken)
{
  double pending[] = {0, 63, 64, 65, -64, -65, 8191, -8257, 0x1p46 + 1, -0x1p46 - 63}, before[10];
  float to[10];

  memcpy(before, pending, sizeof before);
  clarke_digits_take(to, pending, 128, 10);
  for (size_t e = 0; e < 10; e++)
    ck_assert(fabsf(to[e]) <= 64 && pending[e] == rint(pending[e]) && before[e] == 128 * pending[e] + (double)to[e]);
}
END_TEST

/* Digits on other places, and a tail, make up the same number; the tail rounds where it has more bits than a double. */
START_TEST(recut)
{
  uint64_t state = 6;
  size_t exact = 0, few = 0, small = 0, thrown = 0;
  mpq_t q, truth;

  mpq_inits(q, truth, NULL);
  for (int round = 0; round < 3000; round++) {
    const size_t planes = 1 + draw_below(&state, 8), rows = 1 + draw_below(&state, 100);
    const long bits = round % 4 == 0 ? 0 : (long)draw_below(&state, planes * WIDTH + 1);
    clarke_sliced *x = &value[0];
    clarke_recut r = {.width = 4 + (long)draw_below(&state, 21), .joined = (size_t)((bits + WIDTH - 1) / WIDTH)};
    long top;

    draw_extremes(x, rows, planes, &state);
    r.cut = x->low + bits;
    r.bound = bound_of(x, r.joined, bits);
    top = clarke_recut_top(&f, x, largest_of(x), r.cut);
    r.planes = r.joined == planes && bits % WIDTH == 0 ? 0 : (size_t)((top - r.cut + r.width) / r.width);
    OK(clarke_recut_make(&f, x, &r));
    ck_assert(!f.lost && (r.tail != NULL) == (bits > 0));
    if (r.tail != NULL)
      check_tail(x, &r, bits);
    for (size_t e = 0; e < rows * N; e++) {
      of_entry(truth, x, e);
      ck_assert(fabs(mpq_get_d(truth)) < ldexp(1, (int)top));
      of_recut(q, &r, x, e);
      if (bits <= 52)
        ck_assert(mpq_equal(q, truth));
      else
        check_within(q, truth, (double)(r.joined - 1) * 0x1p-53, r.cut);
    }
    exact += bits <= 52;
    clarke_recut_clear(&r);
    small += r.joined > 0 && is_refused(x, r, r.joined, r.planes, 0x1p-4);
    thrown += r.joined > 0 && is_refused(x, r, 0, r.planes, 1);
    few += r.planes > 1 && is_refused(x, r, r.joined, 1, 1);
    clarke_sliced_drop(x);
  }
  ck_assert(exact > 1000 && exact < 2900 && few > 500 && small > 1000 && thrown > 1000);
  mpq_clears(q, truth, NULL);
}
END_TEST

/* --- products --------------------------------------------------------------------------------- */

/* A row of W, and x in digits of its own, whose sums are as large as they may be. */
typedef struct {
  clarke_dense d;
  clarke_slice_product p;
  clarke_digit_plane plane[3];
  size_t place[3];
  double listed[3];
  double weight[2 * 9];
} product_scene;

static void
product_begin(product_scene *c, size_t inner, size_t planes, uint64_t *state)
{
  const size_t dense = 1 + draw_below(state, 2);
  const long width = 5 + (long)draw_below(state, 20);
  const double mass = floor(ldexp(0x1p53 - ldexp(1, 53 - (int)width), 1 - (int)width)), half = ldexp(1, (int)width - 1);
  double left = mass;

  memset(c, 0, sizeof *c);
  c->d = (clarke_dense){.blocks = 1, .outer = 1, .inner = inner, .repeat = 1};
  c->p = (clarke_slice_product){.d = &c->d, .done = c->d, .x = &value[0], .places = 1};
  c->p.w = (clarke_cut_weight){.m = {.planes = dense + 1, .first = 1, .width = width, .digit = c->weight, .plane = c->plane,
                                     .apart = (ptrdiff_t)inner, .stride = dense * inner}, .mass = mass};
  c->p.w.m.low = draw_between(state, -50, 0);
  c->plane[0].n = draw_below(state, inner < 3 ? inner + 1 : 4);
  for (size_t l = 0; l < c->plane[0].n; l++, left -= fmin(left, half)) {
    c->place[l] = l == 0 ? draw_below(state, inner - c->plane[0].n + 1) : c->place[l - 1] + 1;
    c->listed[l] = fmin(left, half);
  }
  for (size_t s = 0; s <= dense; s++)
    c->plane[s] = (clarke_digit_plane){.used = true, .reach = inner, .n = s == 0 ? c->plane[0].n : 0,
                                       .place = c->place, .number = s == 0 ? c->listed : NULL};
  for (size_t k = 0; k < dense * inner; k++) { /* the highest plane takes what is left */
    c->weight[k] = k + 1 == dense * inner ? left : floor(fmin(left, k < (dense - 1) * inner ? half : left / 2));
    left -= c->weight[k];
  }
  c->p.cut = (clarke_recut){.width = width, .planes = planes, .cut = draw_between(state, -50, 0)};
  c->p.cut.digit = malloc(planes * inner * N * sizeof *c->p.cut.digit);
  for (size_t e = 0; e < planes * inner * N; e++) {
    const size_t sample = e % N; /* all of one sign, one after another of two, any */

    c->p.cut.digit[e] = (float)(sample == 0 || (sample == 1 && e / N % 2 == 0) || (sample == 2 && draw(state) & 1) ? half : -half);
  }
  c->p.panel = malloc(planes * inner * N * sizeof *c->p.panel);
  c->p.sum = c->p.made = malloc(4 * N * sizeof *c->p.sum);
  c->p.pending = c->p.sum + N;
}

static void
product_end(product_scene *c)
{
  free(c->p.cut.digit);
  free(c->p.panel);
  free(c->p.sum);
}

/* W x of sample j. */
static void
product_truth(mpq_t y, const product_scene *c, size_t j)
{
  const clarke_cut_weight *w = &c->p.w;
  const size_t inner = c->d.inner;
  mpq_t x, term;

  mpq_inits(x, term, NULL);
  mpq_set_ui(y, 0, 1);
  for (size_t i = 0; i < inner; i++) {
    mpq_set_ui(x, 0, 1);
    for (size_t k = 0; k < c->p.cut.planes; k++)
      add_scaled(x, (double)c->p.cut.digit[(k * inner + i) * N + j], c->p.cut.cut + c->p.cut.width * (long)k);
    mpq_set_ui(term, 0, 1);
    for (size_t k = 1; k < w->m.planes; k++)
      add_scaled(term, w->m.digit[(k - 1) * inner + i], w->m.low + w->m.width * (long)k);
    for (size_t l = 0; l < w->m.plane[0].n; l++)
      if (w->m.plane[0].place[l] == i)
        add_scaled(term, w->m.plane[0].number[l], w->m.low);
    mpq_mul(term, term, x);
    mpq_add(y, y, term);
  }
  mpq_clears(x, term, NULL);
}

/* Where y goes down to the lowest place of the product it is that; else it is off by less than two of its lowest. */
START_TEST(products_of_extremes)
{
  uint64_t state = 9;
  size_t whole = 0;
  mpq_t have, want;

  mpq_inits(have, want, NULL);
  for (int round = 0; round < 2000; round++) {
    const size_t inner = 1 + draw_below(&state, 9), planes = 1 + draw_below(&state, 6);
    clarke_sliced *x = &value[0], *y = &value[1];
    product_scene c;
    long least, top;

    OK(clarke_sliced_alloc(&f, x, inner, 1, 0));
    product_begin(&c, inner, planes, &state);
    least = c.p.w.m.low + c.p.cut.cut;
    top = least + 55 + c.p.cut.width * (long)(c.p.w.m.planes + planes);
    OK(clarke_sliced_alloc(&f, y, 1, (size_t)((top - least + 40) / WIDTH) + 1, least + draw_between(&state, -40, 40)));
    clarke_slice_multiply(&f, &c.p, y);
    ck_assert(!f.lost);
    for (size_t j = 0; j < N; j++) {
      of_entry(have, y, j);
      product_truth(want, &c, j);
      check_within(have, want, y->low <= least ? 0 : 1.1, y->low);
      for (size_t k = 0; k < y->planes; k++)
        ck_assert(fabsf(y->digit[k * N + j]) <= 1 << (WIDTH - 1) && y->digit[k * N + j] == rintf(y->digit[k * N + j]));
    }
    whole += y->low <= least;
    y->planes = 1 + draw_below(&state, 3); /* too few: that is seen */
    clarke_slice_multiply(&f, &c.p, y);
    for (size_t j = 0; j < N; j++) {
      of_entry(have, y, j);
      product_truth(want, &c, j);
      mpq_sub(want, want, have);
      ck_assert(f.lost || fabs(mpq_get_d(want)) <= ldexp(1.1, (int)y->low));
    }
    f.lost = false;
    product_end(&c);
    clarke_sliced_drop(x);
    clarke_sliced_drop(y);
  }
  ck_assert(whole > 500 && whole < 1500);
  mpq_clears(have, want, NULL);
}
END_TEST

MODULE(slice_products)
{
  TCase *tests = tests_of("products in slices");

  tcase_add_checked_fixture(tests, begin, end);
  tcase_add_test(tests, weights);
  tcase_add_test(tests, sums_just_fit);
  tcase_add_test(tests, weights_that_cannot_be_cut);
  tcase_add_test(tests, digits_taken);
  tcase_add_test(tests, recut);
  tcase_add_test(tests, products_of_extremes);
  return all_tests;
}
