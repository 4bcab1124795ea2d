/* Composed nodes in doubles, beside GMP's numbers: intervals of doubles hold what is exact, and no bound is wider. */
#include "check/base/session.h"
#include "check/files/types.h"
#include "check/record/record_node.h"
#include "../draw.h"
#include "../suite.h"

#include <math.h>
#include <mpfr.h>
#include <stdlib.h>

static uint64_t state = 1;

static uint64_t
below(uint64_t n)
{
  return draw_below(&state, n);
}

/* ---- Intervals of doubles */

/* Of any size that doubles have: 0, subnormals, ordinary numbers, the largest. */
static double
draw_double(int spread)
{
  double digits = below(3) == 0 ? (double)below(8) : (double)(below(1ull << 53) | 1ull << 52);
  double x = ldexp(digits, (int)below((uint64_t)spread) - spread / 2 - (digits < 8 ? 0 : 52));
  return below(2) > 0 ? -x : x;
}

/* With ends that are equal, near, or of both signs; and a number in it. */
static span
draw_span(int spread, double *in)
{
  double a = draw_double(spread), near = a * (1 + ldexp(1, -(int)below(50)));
  double b = below(3) == 0 ? a : below(2) > 0 ? near : draw_double(spread);
  span x = {a < b ? a : b, a < b ? b : a};
  *in = below(3) == 0 ? x.lo : below(2) > 0 ? x.hi : x.lo / 2 + x.hi / 2;
  *in = *in < x.lo ? x.lo : *in > x.hi ? x.hi : *in;
  return x;
}

/* An end that says nothing holds all. */
static void
holds(span x, const rational *q)
{
  RATIONAL(end);
  if (isfinite(x.lo)) {
    mpq_set_d(&end, x.lo);
    ck_assert(mpq_cmp(&end, q) <= 0);
  }
  if (isfinite(x.hi)) {
    mpq_set_d(&end, x.hi);
    ck_assert(mpq_cmp(&end, q) >= 0);
  }
}

START_TEST(spans_hold_what_is_exact)
{
  static const int spreads[] = {4, 60, 600, 2140};
  RATIONAL(p);
  RATIONAL(q);
  RATIONAL(y);
  size_t told = 0;
  for (size_t turn = 0; turn < draw_count(60000); turn++) {
    double a, b;
    span x = draw_span(spreads[turn % 4], &a), z = draw_span(spreads[below(4)], &b);
    if (!isfinite(x.lo + x.hi + z.lo + z.hi))
      continue;
    if (below(4) == 0) { /* they cancel */
      z = (span){-x.hi, -x.lo};
      b = -a;
    }
    mpq_set_d(&p, a);
    mpq_set_d(&q, b);
    mpq_add(&y, &p, &q);
    holds(span_add(x, z), &y);
    mpq_mul(&y, &p, &q);
    holds(span_times(x, z), &y);
    mpq_mul(&y, &p, &p);
    holds(span_square(x), &y);
    if (a != 0) {
      mpq_inv(&y, &p);
      holds(span_inverse(x), &y);
    }
    told += isfinite(span_times(x, z).lo) && isfinite(span_inverse(x).hi);
  }
  ck_assert(told > draw_count(6000));
}
END_TEST

START_TEST(rationals_lie_in_their_spans)
{
  RATIONAL(q);
  for (size_t turn = 0; turn < draw_count(40000); turn++) {
    mpq_set_si(&q, (long)below(1ull << 62) - (1l << 61), 1 + below(turn % 2 > 0 ? 1000 : 1ull << 60));
    mpq_canonicalize(&q);
    (turn % 3 > 0 ? mpq_div_2exp : mpq_mul_2exp)(&q, &q, below(turn % 5 > 0 ? 50 : 200));
    holds(span_of(&q), &q);
  }
  mpq_set_si(&q, -3, 4);
  ck_assert(span_of(&q).lo == -0.75 && span_of(&q).hi == -0.75);
  mpq_set_ui(&q, 1, 3);
  ck_assert(span_of(&q).lo < span_of(&q).hi && span_of(&q).hi - span_of(&q).lo < 0x1p-50);
}
END_TEST

/* y = of(x), beside the span, which is no wider than a part of it; 300 digits. */
static void
beside(span y, mpfr_t of, double part)
{
  mpfr_t low, high;
  mpfr_init2(low, 300);
  mpfr_init2(high, 300);
  mpfr_set_d(low, y.lo, MPFR_RNDN);
  mpfr_set_d(high, y.hi, MPFR_RNDN);
  ck_assert(isnan(y.lo) || mpfr_cmp(low, of) <= 0);
  ck_assert(isnan(y.hi) || mpfr_cmp(high, of) >= 0);
  ck_assert(!(y.hi - y.lo > part * fabs(y.hi) + 0x1p-990));
  mpfr_clears(low, high, (mpfr_ptr)NULL);
}

/* The slope of logistic(c), c the cubic, by the chain rule. */
static void
normal_tanh(mpfr_t y, mpfr_t slope, double x)
{
  mpfr_t root, c, d;
  mpfr_inits2(300, root, c, d, (mpfr_ptr)NULL);
  mpfr_const_pi(root, MPFR_RNDN);
  mpfr_ui_div(root, 8, root, MPFR_RNDN);
  mpfr_sqrt(root, root, MPFR_RNDN);
  mpfr_set_d(c, x, MPFR_RNDN);
  mpfr_sqr(c, c, MPFR_RNDN);
  mpfr_mul_ui(c, c, 44715, MPFR_RNDN);
  mpfr_div_ui(c, c, 1000000, MPFR_RNDN);
  mpfr_mul_ui(d, c, 3, MPFR_RNDN);
  mpfr_add_ui(d, d, 1, MPFR_RNDN);
  mpfr_mul(d, d, root, MPFR_RNDN);
  mpfr_add_ui(c, c, 1, MPFR_RNDN);
  mpfr_mul(c, c, root, MPFR_RNDN);
  mpfr_mul_d(c, c, -x, MPFR_RNDN);
  mpfr_exp(c, c, MPFR_RNDN);
  mpfr_add_ui(root, c, 1, MPFR_RNDN);
  mpfr_ui_div(y, 1, root, MPFR_RNDN);
  mpfr_ui_sub(slope, 1, y, MPFR_RNDN);
  mpfr_mul(slope, slope, y, MPFR_RNDN);
  mpfr_mul(slope, slope, d, MPFR_RNDN);
  mpfr_clears(root, c, d, (mpfr_ptr)NULL);
}

START_TEST(exponentials_lie_in_their_spans)
{
  static const double odd[] = {0,    -0.,          0x1p-1074,    -0x1p-1074, 0x1p-60, 700,   0.34657359027997264,
                               -700, 700.0000001, -700.0000001, 709.9,      -746,    1e300, -1e300};
  mpfr_t y, slope;
  mpfr_inits2(300, y, slope, (mpfr_ptr)NULL);
  for (size_t turn = 0; turn < draw_count(60000); turn++) {
    double x = turn < 14 ? odd[turn] : turn % 2 > 0 ? draw_double(30) : ((double)below(1ull << 50) - 0x1p49) * 1500 * 0x1p-50;
    mpfr_set_d(y, x, MPFR_RNDN);
    mpfr_exp(y, y, MPFR_RNDN);
    beside(span_exp((span){x, x}), y, 0x1p-43);
    mpfr_set_d(y, -x, MPFR_RNDN);
    mpfr_exp(y, y, MPFR_RNDN);
    mpfr_add_ui(y, y, 1, MPFR_RNDN);
    mpfr_ui_div(y, 1, y, MPFR_RNDN);
    beside(span_logistic((span){x, x}), y, 0x1p-42);
    if (fabs(x) > 100)
      continue;
    span s, t = span_normal_tanh((span){x, x}, &s);
    normal_tanh(y, slope, x);
    beside(t, y, 0x1p-30);
    beside(s, slope, INFINITY);
  }
  ck_assert(isnan(span_exp((span){0, 1000}).hi) && span_exp((span){0, 1000}).lo == 1);
  ck_assert(isnan(span_exp((span){NAN, 0}).lo) && isnan(span_logistic((span){NAN, NAN}).lo));
  mpfr_clears(y, slope, (mpfr_ptr)NULL);
}
END_TEST

/* ---- Nodes */

#define SIDE 6 /* features and samples */
#define ALL (SIDE * SIDE)
#define KINDS 8

typedef struct {
  span d;
  interval z;
  bound off, wide;
  bool open;
} found;

/* A recorded step, and two behind it that were not recorded. */
typedef struct {
  network net;
  point p;
  record r;
  record_kept kept;
  node maker;
  step steps[3];
  tensor w;
  recorded x[ALL], weight[SIDE], gradient[ALL];
  const recorded *read[ALL], **entry[3];
  factor factors[3][2 * SIDE];
  source sources[3][2 * SIDE];
  size_t rows[SIDE];
  rational value[SIDE];
  ad_slope proxies[1][2];
  size_t type;
} scene;

static const kinked_operator operators[] = {{"X", 2}};

/* A number of the type: few exponents, or many, subnormals and 0 among them. */
static double
draw_number(size_t type, int spread)
{
  int k = (int)dtypes[type].fraction + 1, most = (int)type_most(type), least = 2 - most;
  double digits = (double)(below(1ull << k) | (below(4) > 0 ? 1ull << (k - 1) : 0));
  int e = (int)below((uint64_t)spread) - 3 * spread / 4;
  e = e < least ? least : e > most - 1 ? most - 1 : e;
  double x = ldexp(digits, e - k + 1);
  return below(9) == 0 ? 0 : below(2) > 0 ? -x : x;
}

static const function functions[] = {F_EXP,  F_SOFTPLUS,   F_NORMAL, F_NORMAL_TANH, F_ELU, F_SIN,
                                     F_ATAN, F_RECIPROCAL, F_ROOT,   F_LOG,         F_ERF};

/* A piece x^2 / 4 between -1 and 1, or a line; beyond them lines. */
static void
draw_pieces(step *st)
{
  st->n_kinks = 2;
  for (size_t i = 0; i < 9; i++)
    st->piece[i / 3][i % 3] = rational_zero();
  st->at[1] = rational_zero();
  mpq_set_si(&st->at[0], -1, 1);
  mpq_set_si(&st->at[1], 1, 1);
  mpq_set_si(&st->piece[1][below(2) > 0 ? 2 : 1], 1, 3);
  mpq_set_ui(&st->piece[2][1], 1, 1);
  mpq_set_si(&st->piece[2][0], -2, 3);
}

static void
draw_step(scene *c, size_t s)
{
  static const kind kinds[KINDS] = {LINEAR, PRODUCT, NORMALIZE, SOFTMAX, FUNCTION, PIECEWISE, OVER_ROOT, LINEAR};
  step *st = &c->steps[s];
  *st = (step){.kind = kinds[below(KINDS)], .node = &c->maker, .op = "X", .outer = "X", .name = "x", .n = SIDE};
  st->number[1] = 1;
  st->at[0] = rational_zero();
  st->width = st->kind == LINEAR ? 1 + below(2) : st->kind == PRODUCT ? 2 : 1;
  st->of = functions[below(sizeof functions / sizeof *functions)];
  st->factors = c->factors[s];
  st->sources = c->sources[s];
  st->n_factors = st->n_sources = st->width * SIDE;
  st->factor_row = st->source_row = c->rows;
  for (size_t i = 0; i < st->n_sources; i++) {
    bool line = st->kind == NORMALIZE || st->kind == SOFTMAX;
    const rational *coef = below(3) > 0 ? &plus_one : below(2) > 0 ? &minus_one : &two;
    bool weighs = st->kind == OVER_ROOT || (st->kind == LINEAR && coef != &two && below(2) > 0);
    c->factors[s][i] = (factor){coef, weighs ? &c->w : NULL, below(SIDE)};
    c->sources[s][i] = (source){below(12) == 0 && st->kind == LINEAR ? NONE : s - 1, line ? i : below(SIDE)};
  }
  if (st->kind == NORMALIZE || st->kind == SOFTMAX) {
    st->length = below(2) > 0 ? SIDE : SIDE / 2;
    st->stride = 1;
    st->log = below(2) > 0;
    st->couples = st->kind == NORMALIZE && below(2) > 0;
  }
  if (st->kind == NORMALIZE || st->kind == OVER_ROOT)
    mpq_set_ui(&st->at[0], 1, 1000);
  if (st->kind == PIECEWISE)
    draw_pieces(st);
}

static void
draw_scene(scene *c)
{
  static const size_t types[] = {FLOAT, FLOAT16, BFLOAT16, FLOAT};
  *c = (scene){.net = {.n_steps = 3, .batch = SIDE, .batched = true}, .maker = {.op = "X"}, .type = types[below(4)]};
  c->net.steps = c->steps;
  c->net.operators = operators;
  c->net.n_operators = 1;
  c->p.net = &c->net;
  c->r = (record){.p = &c->p, .kept = &c->kept, .entry = c->entry, .proxies = c->proxies};
  for (size_t k = 0; k < 2; k++)
    c->proxies[0][k] = (ad_slope){below(3) == 0, below(3) == 0, rational_zero()};
  c->w = (tensor){.whole = c->weight, .value = c->value, .count = SIDE};
  c->steps[0].n = SIDE;
  c->entry[0] = c->read;
  draw_step(c, 1);
  draw_step(c, 2);
  if (c->steps[1].kind == FUNCTION && c->steps[2].kind == FUNCTION)
    c->steps[1].of = below(2) > 0 ? F_SIN : F_NORMAL;
  bool grows = c->steps[1].kind == FUNCTION || c->steps[2].kind == FUNCTION; /* GMP's exponentials have an end */
  int spread = below(3) > 0 ? 4 : below(2) > 0 || grows ? 8 : 60;
  for (size_t i = 0; i < ALL; i++) {
    c->x[i].d = draw_number(c->type, spread);
    c->gradient[i].d = draw_number(c->type, below(2) > 0 ? 4 : 300);
    c->read[i] = &c->x[i];
  }
  if (below(4) == 0 && !grows) /* entries that are masked */
    for (size_t i = 0; i < SIDE; i++)
      c->x[below(ALL)].d = c->type == FLOAT16 ? -60000 : -1e9;
  for (size_t i = 0; i < SIDE; i++) {
    c->rows[i] = i;
    c->weight[i].d = fabs(draw_number(c->type, 6));
    c->value[i] = rational_zero();
    mpq_set_d(&c->value[i], c->weight[i].d);
  }
}

static void
note(found *f, const enclosure *x, bound off, bound wide, bool open)
{
  f->d = x->d;
  f->off = off;
  f->wide = wide;
  f->open = open;
  if (x->z != NULL)
    enclosure_get(&f->z, x);
}

/* Both steps' numbers, and what is gathered at step 0 and of weights. How many. */
#define MOST_FOUND (4 * ALL)
static size_t
pass(scene *c, bool doubles, found *to)
{
  size_t n = 0, constants = SIDE;
  bool has[3] = {false, true, true}, asked[3] = {true, true, false};
  chain all = {.has = has, .low = 1, .high = 3, .samples = SIDE, .covers = true};
  node_pass p;
  node_begin(&p, &c->r, &all, has, 0, c->type, doubles);
  for (size_t s = 1; s < 3 && !p.ended; s++)
    for (size_t e = 0; e < ALL; e++)
      note(&to[n++], &p.y[s][e].x, p.y[s][e].off, p.y[s][e].wide, p.y[s][e].open);
  if (p.ended) {
    node_end(&p);
    return 0;
  }
  p.asked = asked;
  p.weight = &c->w;
  p.of_weight = cotangents_new(constants, doubles);
  number *h = number_new(ALL, doubles);
  for (size_t e = 0; e < ALL; e++)
    node_recall(&h[e], &p, &c->gradient[e]);
  node_back(&p, 2, h);
  number_free(h, ALL);
  if (!p.ended && p.back[1] != NULL) {
    h = node_settle(&p, 1);
    node_back(&p, 1, h);
    number_free(h, ALL);
  }
  for (size_t e = 0; e < ALL && !p.ended && p.back[0] != NULL; e++)
    note(&to[n++], &p.back[0][e].x, p.back[0][e].off, p.back[0][e].mass, p.back[0][e].open);
  for (size_t e = 0; e < constants && !p.ended; e++)
    note(&to[n++], &p.of_weight[e].x, p.of_weight[e].off, p.of_weight[e].mass, p.of_weight[e].open);
  cotangents_free(p.of_weight, constants);
  node_end(&p);
  return p.ended ? 0 : n;
}

/* Doubles hold what GMP's numbers hold, with bounds that are no wider; and what has no bound has none. */
static size_t
compare(const found *rough, const found *fine, size_t n)
{
  size_t told = 0;
  for (size_t i = 0; i < n; i++) {
    const found *a = &rough[i], *b = &fine[i];
    holds(a->d, &b->z.lo);
    holds(a->d, &b->z.hi);
    if (a->open || !isfinite(a->d.lo) || !isfinite(a->d.hi))
      continue;
    ck_assert(!b->open && !bound_below(b->off, a->off) && !bound_below(b->wide, a->wide));
    told += !bound_below(a->off, bound_of_double(a->d.hi - a->d.lo));
  }
  return told;
}

START_TEST(doubles_have_no_wider_bounds)
{
  static found rough[MOST_FOUND], fine[MOST_FOUND];
  scene *c = calloc(1, sizeof *c);
  size_t told = 0, all = 0, ended = 0;
  for (size_t i = 0; i < MOST_FOUND; i++)
    fine[i].z = interval_nought();
  session_set_bits(1200); /* so that what they hold is nearly exact */
  for (size_t turn = 0; turn < draw_count(2500); turn++) {
    draw_scene(c);
    size_t n = pass(c, true, rough);
    if (n == 0) {
      ended++;
      continue;
    }
    ck_assert_uint_eq(pass(c, false, fine), n);
    told += compare(rough, fine, n);
    all += n;
  }
  ck_assert(told > all / 2 && ended < draw_count(1000));
  free(c);
}
END_TEST

/* To 2^-16 of its size, and no further. */
START_TEST(a_number_is_sharp_to_16_bits)
{
  interval z = interval_nought();
  const enclosure exact = {.z = &z};
  const struct {
    span d;
    uint64_t size;
    bool sharp;
  } of[] = {{{1, 1 + 0x1p-16}, 1, true}, {{1, 1 + 0x1p-14}, 1, false}, {{1, 1 + 0x1p-14}, 4, true}, {{0, 0}, 0, true},
            {{0, 0x1p-90}, 0, false},    {SPAN_UNKNOWN, 1, false},     {{0, INFINITY}, 1, false}};
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    const enclosure x = {.d = of[i].d};
    ck_assert_msg(enclosure_sharp(&x, bound_natural(of[i].size)) == of[i].sharp, "case %zu", i);
  }
  ck_assert(enclosure_sharp(&exact, bound_natural(0)));
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("enclosures");
  tcase_add_test(tests, spans_hold_what_is_exact);
  tcase_add_test(tests, rationals_lie_in_their_spans);
  tcase_add_test(tests, exponentials_lie_in_their_spans);
  tcase_add_test(tests, doubles_have_no_wider_bounds);
  tcase_add_test(tests, a_number_is_sharp_to_16_bits);
  return run_tests();
}
