/* What the sieve is made of: rooms, sums begun, judgements of rows, convolutions by Winograd's algorithm beside their definition. */
#include "../draw.h"
#include "../ok.h"
#include "../suites.h"

#include "trace/certify/sieve.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

START_TEST(rooms)
{
  clarke_sieve s = {.n = 1};
  double *a = clarke_sieve_take_doubles(&s, 10);
  float *b = clarke_sieve_take_floats(&s, 4);

  ck_assert(a != NULL && b != NULL && (void *)a != (void *)b && s.rooms == 2);
  for (size_t e = 0; e < 10; e++)
    a[e] = 7;
  for (size_t e = 0; e < 4; e++)
    b[e] = 7;
  clarke_sieve_leave(&s, a);
  clarke_sieve_leave(&s, NULL);
  clarke_sieve_leave(&s, &s); /* no room of its own */
  ck_assert(s.rooms == 1 && s.room[0] == b);
  clarke_sieve_leave(&s, b);
  ck_assert_uint_eq(s.rooms, 0);
  for (size_t k = 0; k < 40; k++)
    ck_assert_ptr_nonnull(clarke_sieve_take_doubles(&s, 1000));
  ck_assert_uint_eq(s.rooms, 40);
  clarke_sieve_leave_all(&s);
  ck_assert(s.room == NULL && s.rooms == 0);
  ck_assert_ptr_nonnull(clarke_sieve_take(&s, 0));
  clarke_sieve_leave_all(&s);
}
END_TEST

START_TEST(sums_begun)
{
  float given[6] = {1, -5, 2, 0, 3, -4};
  clarke_sieve s = {.n = 3};
  clarke_sieved v = {0};

  ck_assert(clarke_sieved_begin(&s, &v, 2, 3, false));
  ck_assert(v.owned && v.slack[0] == 0 && v.slack[1] == 0 && v.top[0] == 0 && v.top[1] == 0);
  for (size_t e = 0; e < 6; e++)
    ck_assert(v.near[e] == 0);
  clarke_sieved_clear(&s, &v);
  ck_assert(v.near == NULL && v.slack == NULL && !v.owned);
  /* Another's numbers are copied, and their sizes are on the way. */
  v = (clarke_sieved){.exact = given, .parts = 1, .scale = calloc(3, sizeof(double))};
  ck_assert(clarke_sieved_begin(&s, &v, 2, 3, false));
  ck_assert(v.owned && v.near != NULL && v.exact == NULL && v.scale == NULL);
  for (size_t e = 0; e < 6; e++)
    ck_assert(v.near[e] == given[e]);
  ck_assert(v.top[0] == 5 && v.top[1] == 4 && v.slack[0] == 0);
  v.slack[0] = 9;
  v.near[0] = 11;
  ck_assert(clarke_sieved_begin(&s, &v, 2, 3, false)); /* its own stay */
  ck_assert(v.slack[0] == 9 && v.near[0] == 11 && given[0] == 1);
  clarke_sieved_clear(&s, &v);
  clarke_sieve_leave_all(&s);
}
END_TEST

START_TEST(turned)
{
  enum { ROWS = 37, COLS = 34 };
  unsigned char packed[ROWS * COLS * 4], before[sizeof packed];
  double real[ROWS * COLS];
  clarke_sieve s = {.n = COLS};
  clarke_tensor t = {.dtype = CLARKE_F32, .count = ROWS * COLS};

  for (size_t k = 0; k < ROWS * COLS; k++) {
    const float f = (float)k * 0.5f - 3;
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    for (size_t byte = 0; byte < 4; byte++)
      packed[4 * k + byte] = (unsigned char)(bits >> 8 * byte);
    real[k] = f;
  }
  memcpy(before, packed, sizeof packed);
  for (int way = 0; way < 3; way++) { /* as often as it is asked for */
    const float *to;

    t.real = way == 0 ? real : NULL;
    t.packed = way == 0 ? NULL : packed;
    to = clarke_sieve_turned(&s, &t, ROWS, COLS, &error);
    for (size_t e = 0; e < ROWS * COLS; e++)
      ck_assert(to[e] == real[e % COLS * ROWS + e / COLS]);
  }
  ck_assert(!s.open && s.rooms == 3 && t.packed == packed);
  ck_assert_mem_eq(packed, before, sizeof packed); /* they may be a file's */
  for (int wrong = 0; wrong < 4; wrong++) {
    clarke_tensor other = t;

    other.dtype = wrong == 0 ? CLARKE_F64 : CLARKE_F32;
    other.count -= wrong == 1;
    other.packed = wrong == 2 ? NULL : packed;
    s.open = false;
    ck_assert_ptr_null(clarke_sieve_turned(&s, wrong == 3 ? NULL : &other, ROWS, COLS, &error));
    ck_assert(s.open);
  }
  clarke_sieve_leave_all(&s);
}
END_TEST

/* A column stays where it lies, if floats may lie there. */
START_TEST(turned_as_it_lies)
{
  float at[25];
  const unsigned char *odd = (const unsigned char *)at + 1;
  clarke_sieve s = {.n = 1};
  clarke_tensor t = {.dtype = CLARKE_F32, .count = 24, .packed = (const unsigned char *)at};
  const float *to;

  for (size_t e = 0; e < 25; e++)
    at[e] = (float)e;
  to = clarke_sieve_turned(&s, &t, 24, 1, &error);
  ck_assert(htole32(1) == 1 ? to == at && s.rooms == 0 : s.rooms == 1);
  t.packed = odd;
  to = clarke_sieve_turned(&s, &t, 24, 1, &error);
  ck_assert_uint_ge(s.rooms, 1);
  for (size_t e = 0; e < 24; e++) {
    const float is = clarke_f32_at(odd, e);

    ck_assert_mem_eq(&to[e], &is, sizeof is);
  }
  clarke_sieve_leave_all(&s);
}
END_TEST

/* A record beside a number that is known but for `off`: what it may be rounded to is looked for among the numbers there, in long doubles. */
static void
expect_told(float recorded, double near, double off, uint64_t *state)
{
  const bool is = clarke_sieve_is_that(recorded, near, off), another = clarke_sieve_is_another(recorded, near, off);

  float low, high;

  clarke_sieve_rounded(&low, &high, near, off);
  ck_assert(low <= (float)near && (float)near <= high);
  ck_assert(!is || !another);
  ck_assert(off > 0 || is == ((float)near == recorded));
  ck_assert(off > 0 || another != is);
  for (int k = -20; k <= 20; k++) {
    const long double part = k % 20 == 0 ? k / 20 : (long double)draw_between(state, -1000000, 1000000) / 1000000;
    const float rounded = (float)((long double)near + part * (long double)off);

    ck_assert_msg(!is || rounded == recorded, "%a is said to be %a within %a, rounded, which may be %a", (double)recorded, near, off, (double)rounded);
    ck_assert_msg(!another || rounded != recorded, "%a is said to be another than %a within %a, rounded", (double)recorded, near, off);
  }
}

START_TEST(another)
{
  static const double at[] = {1, 0x1.000001p0, 0x1.fffffefp5, 0.1, -3e-40, 0x1p-149, 0, 1e38};
  uint64_t state = 1;

  for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
    const float is = (float)at[i], above = nextafterf(is, INFINITY);

    ck_assert(clarke_sieve_is_that(is, at[i], 0) && clarke_sieve_is_another(above, at[i], 0));
    ck_assert(!clarke_sieve_is_another(above, at[i], (double)above - at[i]) && !clarke_sieve_is_that(is, at[i], (double)above - at[i]));
    ck_assert(!clarke_sieve_is_another((float)(at[i] * 1.01), at[i], fabs(0.01 * at[i]) + 0x1p-150));
  }
  for (size_t i = 0; i < 3000; i++) { /* beside halfway between two floats, too */
    const double unit = ldexp(1, (int)draw_between(&state, -149, 60)), half = unit * (double)draw_between(&state, -(1L << 24), 1L << 24);
    const double near = half + unit * ldexp((double)draw_between(&state, -3, 3), -(int)draw_between(&state, 2, 28));
    const double off = draw_below(&state, 4) == 0 ? 0 : unit * ldexp((double)draw_between(&state, 1, 9), -(int)draw_between(&state, 1, 30));
    const float record = (float)near;

    expect_told(record, near, off, &state);
    expect_told(nextafterf(record, INFINITY), near, off, &state);
    expect_told(nextafterf(record, -INFINITY), near, off, &state);
  }
}
END_TEST

START_TEST(equal)
{
  const float a[] = {0, 1, 2}, b[] = {-0.0, 1, 2}, c[] = {0, 1, 3}, nan[] = {0, NAN, 2};

  ck_assert(clarke_sieve_is_equal(a, b, 3) && clarke_sieve_is_equal(a, c, 2) && clarke_sieve_is_equal(a, c, 0));
  ck_assert(!clarke_sieve_is_equal(a, c, 3) && !clarke_sieve_is_equal(nan, nan, 3));
}
END_TEST

/* One row of numbers near 1, 2, .. by so much slack, beside its record, which is off at one of them. */
typedef struct {
  double off, slack, roundings, top;
  bool open;
  clarke_certainty certainty;
  size_t exact;
} judgement;

static const judgement judgements[] = {
  {0, 0, 4, 0, false, CLARKE_BIT_EXACT, 300},
  {0x1p-23, 0, 4, 0, false, CLARKE_WITHIN_BOUND, 299},    /* a unit, of the three and more that four roundings may take */
  {0x1p-21, 0, 4, 0, true, CLARKE_WITHIN_BOUND, 0},       /* four units */
  {0x1p-21, 0, 40, 0, false, CLARKE_WITHIN_BOUND, 299},
  {0, 0x1p-40, 4, 1e9, false, CLARKE_BIT_EXACT, 300},     /* doubles are sure */
  {0x1p-23, 0x1p-40, 4, 1e9, false, CLARKE_WITHIN_BOUND, 299},
  {0x1p-23, 0x1p-20, 4, 1e9, true, CLARKE_WITHIN_BOUND, 0}, /* they are not */
  {0, 0, 4, 2 * (double)FLT_MAX, true, CLARKE_WITHIN_BOUND, 0},
  {0, 0, 0x1p23, 0, true, CLARKE_WITHIN_BOUND, 0},
};

START_TEST(judged)
{
  const judgement *k = &judgements[_i];
  double near[300], slack = k->slack, top = k->top;
  float recorded[300];
  clarke_certificate made = {0};
  clarke_certify c;
  clarke_sieve s = {.c = &c, .n = 300};
  clarke_sieved v = {.near = near, .slack = k->slack > 0 ? &slack : NULL, .top = k->top > 0 ? &top : NULL};

  clarke_certify_init(&c);
  ck_assert(clarke_rounding_add_type(&c.by, "float32"));
  for (size_t e = 0; e < 300; e++)
    near[e] = recorded[e] = 1 + (float)e / 512;
  recorded[0] += (float)k->off;
  OK(clarke_sieve_judge(&s, &made, &v, 1, 300, recorded, k->roundings, CLARKE_TERMS_OF_OUTPUT, &error));
  ck_assert_int_eq(s.open, k->open);
  ck_assert(made.entries == 300 && made.at_most);
  if (k->open)
    return;
  ck_assert_int_eq(made.certainty, k->certainty);
  ck_assert_uint_le(made.exact, k->exact);
  ck_assert(k->certainty != CLARKE_BIT_EXACT || made.exact == 300);
  if (k->off > 0) /* of the bound of so many roundings of 1 */
    ck_assert(made.worst >= k->off / (k->roundings * 0x1p-24) * (1 - 1e-3) && made.worst <= 1);
}
END_TEST

/* --- convolutions --- */

/* planes, sizes, sizes of the output, border, outputs, samples */
static const struct {
  clarke_sieve_conv c;
  size_t outer, n;
} convs[] = {
  {{1, 3, 3, 1, 1, 0, 0}, 1, 1},   {{2, 4, 5, 4, 5, 1, 1}, 3, 2},   {{16, 9, 7, 9, 7, 1, 1}, 17, 3},
  {{5, 12, 3, 12, 3, 1, 1}, 2, 1}, {{3, 6, 6, 8, 8, 2, 2}, 4, 2},   {{18, 5, 5, 3, 3, 0, 0}, 16, 130},
  {{2, 7, 6, 6, 6, 0, 1}, 70, 2},  {{3, 2, 2, 2, 2, 1, 1}, 5, 3},   {{66, 2, 2, 2, 2, 1, 1}, 2, 130},
  {{3, 2, 2, 2, 2, 0, 2}, 2, 2},   {{3, 2, 2, 2, 2, 2, 1}, 2, 1},   {{3, 2, 3, 2, 3, 1, 1}, 4, 2},
};

typedef struct {
  size_t inputs, outputs, weights;
  float *x, *g;
  double *w, *y, *back, *weight;
  long double *want_y, *want_x, *want_w;
} planes;

static float *
drawn_floats(size_t n, uint64_t *state)
{
  float *to = calloc(n, sizeof *to);

  for (size_t e = 0; e < n; e++)
    to[e] = ldexpf((float)draw_between(state, -(1L << 24), 1L << 24), -20);
  return to;
}

static double *
drawn(size_t n, uint64_t *state)
{
  double *to = calloc(n, sizeof *to);

  for (size_t e = 0; e < n; e++)
    to[e] = ldexp((double)draw_between(state, -(1L << 24), 1L << 24), -20);
  return to;
}

static void
define(planes *p, const clarke_sieve_conv *c, size_t outer, size_t n)
{
  for (size_t k = 0; k < p->weights; k++) {
    const size_t o = k / 9 / c->planes, plane = k / 9 % c->planes, tap = k % 9;

    for (size_t at = 0; at < c->oh * c->ow; at++) {
      const size_t row = at / c->ow + tap / 3 - c->top, col = at % c->ow + tap % 3 - c->left;

      for (size_t j = 0; row < c->h && col < c->w && j < n; j++) {
        const size_t from = ((plane * c->h + row) * c->w + col) * n + j, to = (o * c->oh * c->ow + at) * n + j;

        p->want_y[to] += (long double)p->w[k] * (long double)p->x[from];
        p->want_x[from] += (long double)p->w[k] * (long double)p->g[to];
        p->want_w[k] += (long double)p->g[to] * (long double)p->x[from];
      }
    }
  }
  (void)outer;
}

static double
norm(const float *x, size_t n)
{
  double sum = 0;

  for (size_t e = 0; e < n; e++)
    sum += (double)x[e] * x[e];
  return sqrt(sum);
}

static double
largest(const float *x, size_t n)
{
  double most = 0;

  for (size_t e = 0; e < n; e++)
    most = fmax(most, fabs(x[e]));
  return most;
}

/* What was there is kept, and added to. */
static void
expect_near(const double *found, const long double *want, size_t n, double before, double slack, double size)
{
  for (size_t e = 0; e < n; e++)
    ck_assert_msg(fabsl(found[e] - before - want[e]) <= slack, "entry %zu: %.17g, not %.17Lg", e, found[e], want[e]);
  ck_assert(slack > 0 && slack < size * 1e-7); /* far below what float32 rounds, at the worst */
}

START_TEST(convolutions)
{
  const clarke_sieve_conv *c = &convs[_i].c;
  const size_t outer = convs[_i].outer, n = convs[_i].n;
  uint64_t state = 900 + (uint64_t)_i;
  clarke_sieve s = {.n = n};
  planes p = {.inputs = c->planes * c->h * c->w * n, .outputs = outer * c->oh * c->ow * n, .weights = outer * c->planes * 9};
  double all = 0;

  p.x = drawn_floats(p.inputs, &state);
  p.g = drawn_floats(p.outputs, &state);
  p.w = drawn(p.weights, &state);
  p.y = calloc(p.outputs, sizeof *p.y);
  p.back = calloc(p.inputs, sizeof *p.back);
  p.weight = calloc(p.weights, sizeof *p.weight);
  p.want_y = calloc(p.outputs, sizeof *p.want_y);
  p.want_x = calloc(p.inputs, sizeof *p.want_x);
  p.want_w = calloc(p.weights, sizeof *p.want_w);
  define(&p, c, outer, n);
  for (size_t e = 0; e < p.weights; e++)
    all = fmax(all, fabs(p.w[e]));
  for (size_t e = 0; e < p.outputs; e++)
    p.y[e] = 1; /* is written over */
  for (size_t e = 0; e < p.inputs; e++)
    p.back[e] = 3;
  for (size_t e = 0; e < p.weights; e++)
    p.weight[e] = 2;
  ck_assert(clarke_sieve_conv_run(&s, c, outer, p.w, p.x, p.y));
  expect_near(p.y, p.want_y, p.outputs, 0, clarke_sieve_conv_slack(c->planes, (double)c->planes * all * largest(p.x, p.inputs)),
              (double)c->planes * all * largest(p.x, p.inputs));
  ck_assert(clarke_sieve_conv_back(&s, c, outer, p.w, p.g, p.back, _i % 2 == 0));
  expect_near(p.back, p.want_x, p.inputs, _i % 2 == 0 ? 3 : 0, clarke_sieve_conv_slack(outer, (double)outer * all * largest(p.g, p.outputs)),
              (double)outer * all * largest(p.g, p.outputs));
  ck_assert(clarke_sieve_conv_weight(&s, c, outer, p.x, p.g, p.weight, _i % 2 == 0));
  expect_near(p.weight, p.want_w, p.weights, _i % 2 == 0 ? 2 : 0, clarke_sieve_conv_weight_slack(c, n, norm(p.x, p.inputs) * norm(p.g, p.outputs)),
              norm(p.x, p.inputs) * norm(p.g, p.outputs));
  free(p.x);
  free(p.g);
  free(p.w);
  free(p.y);
  free(p.back);
  free(p.weight);
  free(p.want_y);
  free(p.want_x);
  free(p.want_w);
  clarke_sieve_leave_all(&s);
}
END_TEST

/* More kernels than are kept at hand, and several panels: each sample comes out as it does alone, in one panel. */
START_TEST(many_kernels)
{
  static const size_t samples[] = {0, 64, 129};
  const size_t n = 130, outer = 170, places = 25, channels = 512;
  const clarke_sieve_conv c = {channels, 5, 5, 5, 5, 1, 1};
  clarke_sieve all = {.n = n}, alone = {.n = 1};
  uint64_t state = 977;
  float *x = drawn_floats(channels * places * n, &state), *one = calloc(channels * places, sizeof *one);
  double *w = drawn(outer * channels * 9, &state), *y = calloc(channels * places * n, sizeof *y), *own = calloc(channels * places, sizeof *own);

  for (int back = 0; back < 2; back++) { /* of as many planes as are read */
    const size_t in = back ? outer : channels, out = back ? channels : outer;

    ck_assert(back ? clarke_sieve_conv_back(&all, &c, outer, w, x, y, false) : clarke_sieve_conv_run(&all, &c, outer, w, x, y));
    for (size_t k = 0; k < sizeof samples / sizeof *samples; k++) {
      for (size_t f = 0; f < in * places; f++)
        one[f] = x[f * n + samples[k]];
      ck_assert(back ? clarke_sieve_conv_back(&alone, &c, outer, w, one, own, false) : clarke_sieve_conv_run(&alone, &c, outer, w, one, own));
      for (size_t f = 0; f < out * places; f++)
        ck_assert(fabs(y[f * n + samples[k]] - own[f]) <= 1e-9 * (double)in * 256);
    }
  }
  free(x);
  free(one);
  free(w);
  free(y);
  free(own);
  clarke_sieve_leave_all(&all);
  clarke_sieve_leave_all(&alone);
}
END_TEST

MODULE(sieve_parts)
{
  TCase *tests = tests_of("sieve parts");

  tcase_add_test(tests, rooms);
  tcase_add_test(tests, sums_begun);
  tcase_add_test(tests, turned);
  tcase_add_test(tests, turned_as_it_lies);
  tcase_add_test(tests, another);
  tcase_add_test(tests, equal);
  tcase_add_loop_test(tests, judged, 0, sizeof judgements / sizeof judgements[0]);
  tcase_add_test(tests, many_kernels);
  tcase_add_loop_test(tests, convolutions, 0, sizeof convs / sizeof convs[0]);
  return all_tests;
}
