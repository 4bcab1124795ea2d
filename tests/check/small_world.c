/* Worlds. Numbers are small, powers of two, thirds, all ones; kinks lie at arguments, or a unit beside them. */
#include "small_world.h"
#include "check/near/near_rough.h"
#include "check/smooth/smooth_steps.h"
#include "check/near/near.h"
#include "check/kernel/place.h"

#include <mpfr.h>
#include <stdlib.h>

enum { BITS = 4000, NEAR = 1500 };

static unsigned
draw(world *w, unsigned n)
{
  w->state = w->state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(w->state >> 33) % n;
}

static bool
one_in(world *w, unsigned n)
{
  return draw(w, n) == 0;
}

static void
shift(rational *q, int by)
{
  if (by < 0)
    mpq_div_2exp(q, q, (unsigned long)-by);
  else
    mpq_mul_2exp(q, q, (unsigned long)by);
}

/* About 2^size: often 0, 1 or -1 times that. */
static void
draw_number(world *w, rational *q, int size)
{
  static const long whole[] = {1, 1, 1, 1, 3, 5, (1L << 53) - 1, (1L << 61) - 1, (1L << 61) + 1};
  mpq_set_si(q, one_in(w, 5) ? 0 : whole[draw(w, 9)], one_in(w, 8) ? 3 : 1);
  mpq_canonicalize(q);
  while (mpq_cmp_ui(q, 8, 1) > 0)
    mpq_div_2exp(q, q, 1);
  shift(q, size - (one_in(w, 3) ? (int)draw(w, 70) : 0));
  if (one_in(w, 2))
    mpq_neg(q, q);
}

static int
draw_size(world *w)
{
  static const int sizes[] = {0, 0, 0, 0, 1, -3, 8, 40, 58, 59, 60, 61, 62, -20, -61, -62, -63, -90, 130};
  return sizes[draw(w, sizeof sizes / sizeof *sizes)];
}

static void
draw_tensor(world *w, tensor *t, int size)
{
  for (size_t i = 0; i < t->count; i++)
    draw_number(w, &t->value[i], size);
}

/* ---- Steps */

static const rational *
read_at(const world *w, source x, size_t b)
{
  return x.step == NONE ? &plus_one : &w->y[x.step][x.from * w->net.batch + b];
}

static void
draw_rows(world *w, step *st)
{
  size_t factors = 1 + draw(w, (unsigned)st->n), sources = 1 + draw(w, (unsigned)st->n);
  st->n_factors = factors * st->width;
  st->n_sources = sources * st->width;
  st->factors = calloc(st->n_factors, sizeof *st->factors);
  st->sources = calloc(st->n_sources, sizeof *st->sources);
  st->factor_row = calloc(st->n, sizeof(size_t));
  st->source_row = calloc(st->n, sizeof(size_t));
  for (size_t f = 0; f < st->n; f++) {
    st->factor_row[f] = f < factors ? f : draw(w, (unsigned)factors);
    st->source_row[f] = f < sources ? f : draw(w, (unsigned)sources);
  }
  for (size_t i = 0; i < st->n_factors; i++)
    st->factors[i].coef = &plus_one;
}

/* An entry of step `from`, or of any before this one. */
static source
draw_entry(world *w, size_t from)
{
  size_t s = from != NONE ? from : one_in(w, 2) ? w->net.n_steps - 1 : draw(w, (unsigned)w->net.n_steps);
  return (source){s, draw(w, (unsigned)w->net.steps[s].n)};
}

static void
draw_sources(world *w, step *st, size_t from, bool others)
{
  for (size_t i = 0; i < st->n_sources; i++) {
    st->sources[i] = draw_entry(w, from);
    if (others && i % st->width > 0 && one_in(w, 6))
      st->sources[i] = (source){PADDING, 0};
    else if (others && from == NONE && one_in(w, 7))
      st->sources[i] = (source){NONE, 0};
  }
}

static const rational *
draw_coefficient(world *w)
{
  rational *q = rationals(1);
  if (one_in(w, 2))
    return one_in(w, 4) ? &minus_one : &plus_one;
  draw_number(w, q, one_in(w, 4) ? draw_size(w) : 0);
  return q;
}

static void
draw_factor(world *w, factor *t)
{
  t->coef = draw_coefficient(w);
  t->w = one_in(w, 4) ? NULL : &w->w[draw(w, 3)];
  t->at = t->w != NULL ? draw(w, (unsigned)t->w->count) : 0;
}

/* Rows are often the first, but for a factor. */
static void
draw_factors(world *w, step *st)
{
  for (size_t i = 0; i < st->n_factors; i++)
    draw_factor(w, &st->factors[i]);
  for (size_t row = st->width; row < st->n_factors; row += st->width) {
    for (size_t i = 0; i < st->width && one_in(w, 2); i++)
      st->factors[row + i] = st->factors[i];
    factor *t = &st->factors[row + draw(w, (unsigned)st->width)];
    if (one_in(w, 2))
      t->coef = draw_coefficient(w);
    else
      draw_factor(w, t);
  }
}

static void
draw_linear(world *w, step *st)
{
  st->width = one_in(w, 8) ? 16 : 1 + draw(w, 4);
  draw_rows(w, st);
  st->copy = st->width == 1 && one_in(w, 4);
  draw_sources(w, st, NONE, !st->copy);
  if (!st->copy)
    draw_factors(w, st);
  for (size_t i = 0; st->width == 16 && i < st->n_factors; i++)
    st->factors[i] = st->factors[i / 16 * 16];
  st->divide = st->width == 1 && !st->copy && one_in(w, 4);
  for (size_t i = 0; i < st->n_factors; i++)
    st->divide = st->divide && st->factors[i].w != NULL && mpq_sgn(&st->factors[i].w->value[st->factors[i].at]) != 0;
}

/* Continuous; the first piece may have a weight, whose kink is at 0. Kinks lie at arguments, or beside them. */
static void
draw_pieces(world *w, step *st)
{
  rational *beside = rationals(1);
  st->width = 1;
  draw_rows(w, st);
  draw_sources(w, st, NONE, false);
  st->n_kinks = 1 + draw(w, 2);
  for (size_t j = 0; j < st->n_kinks; j++) {
    source x = st->sources[draw(w, (unsigned)st->n_sources)];
    if (!w->rounded[x.step] && one_in(w, 2))
      mpq_set(&st->at[j], &w->y[x.step][x.from * w->net.batch]);
    else if (one_in(w, 2))
      draw_number(w, &st->at[j], draw_size(w));
    mpq_set_si(beside, (long)draw(w, 5) - 2, 1);
    shift(beside, -(int)draw(w, 64));
    if (one_in(w, 2))
      mpq_add(&st->at[j], &st->at[j], beside);
  }
  bool weighs = one_in(w, 4);
  if (weighs)
    mpq_set(&st->at[0], &zero);
  if (st->n_kinks == 2 && mpq_cmp(&st->at[0], &st->at[1]) >= 0)
    st->n_kinks = 1;
  for (size_t j = 0; j <= st->n_kinks; j++)
    if (!one_in(w, 3))
      draw_number(w, &st->piece[j][1], one_in(w, 4) ? draw_size(w) : 0);
  if (!weighs && one_in(w, 2))
    draw_number(w, &st->piece[0][0], draw_size(w));
  if (!weighs && one_in(w, 4))
    draw_number(w, &st->piece[draw(w, (unsigned)st->n_kinks + 1)][2], one_in(w, 4) ? draw_size(w) : 0);
  for (size_t j = 0; j < st->n_kinks; j++) { /* a + b at + c at^2 on both sides */
    mpq_sub(beside, &st->piece[j][2], &st->piece[j + 1][2]);
    mpq_mul(beside, beside, &st->at[j]);
    mpq_add(beside, beside, &st->piece[j][1]);
    mpq_sub(beside, beside, &st->piece[j + 1][1]);
    mpq_mul(beside, beside, &st->at[j]);
    mpq_add(&st->piece[j + 1][0], &st->piece[j][0], beside);
  }
  for (size_t i = 0; weighs && i < st->n_factors; i++) {
    st->factors[i].w = &w->w[draw(w, 3)];
    st->factors[i].at = draw(w, (unsigned)st->factors[i].w->count);
  }
  if (weighs && one_in(w, 3)) { /* one slope on both sides, until the weight moves */
    mpq_set(&st->piece[1][1], &st->factors[0].w->value[st->factors[0].at]);
    st->n_kinks = 1;
  }
}

static void
draw_root(world *w, step *st)
{
  st->width = 1;
  draw_rows(w, st);
  draw_sources(w, st, NONE, false);
  mpq_set_ui(&st->at[0], 1, 1 + draw(w, 4));
  mpq_canonicalize(&st->at[0]);
  for (size_t i = 0; i < st->n_factors; i++) {
    st->factors[i].w = &w->w[2];
    st->factors[i].at = draw(w, (unsigned)w->w[2].count);
  }
}

/* Is x where the function is smooth, and not so large that it has no value to speak of? */
static bool
is_fit(const world *w, function f, source x, const rational *y)
{
  if (f == F_RECIPROCAL)
    return !w->rounded[x.step] && mpq_sgn(y) != 0;
  if (f == F_ROOT)
    return mpq_cmp_ui(y, 1, 1000000000) > 0;
  return mpq_cmp_si(y, -300, 1) > 0 && mpq_cmp_si(y, 300, 1) < 0;
}

/* Copies, where some x does not fit. */
static void
draw_function(world *w, step *st)
{
  static const function all[] = {F_RECIPROCAL, F_RECIPROCAL, F_ROOT, F_EXP, F_ERF, F_NORMAL, F_ELU};
  st->width = 1;
  draw_rows(w, st);
  draw_sources(w, st, NONE, false);
  st->of = all[draw(w, 7)];
  for (size_t i = 0; i < st->n_sources; i++)
    for (size_t b = 0; b < w->net.batch; b++)
      if (!is_fit(w, st->of, st->sources[i], read_at(w, st->sources[i], b)))
        st->kind = LINEAR;
  st->copy = st->kind == LINEAR;
}

static void
draw_line(world *w, step *st)
{
  static const int sizes[] = {0, 0, -3, -40, -90, -200, 8};
  st->n = 4;
  st->width = st->stride = 1;
  st->length = 1u << draw(w, 3);
  draw_rows(w, st);
  draw_sources(w, st, NONE, false);
  mpq_set_ui(&st->at[0], 1, 1 + 2 * draw(w, 2));
  shift(&st->at[0], sizes[draw(w, 7)]);
  st->couples = st->kind == NORMALIZE && w->net.apart == 1 && one_in(w, 2);
}

static step *
put_step(world *w, kind k, size_t n)
{
  step *st = &w->net.steps[w->net.n_steps];
  *st = (step){.kind = k, .op = "MaxPool", .name = "n", .n = n};
  for (size_t i = 0; i < 2; i++)
    st->at[i] = rational_zero();
  for (size_t i = 0; i < 9; i++)
    st->piece[i / 3][i % 3] = rational_zero();
  return st;
}

static void
draw_step(world *w)
{
  static const kind kinds[] = {LINEAR, LINEAR, LINEAR, LINEAR, PIECEWISE, PIECEWISE, WINDOW, WINDOW, WINDOW, PRODUCT,
                               OVER_ROOT, NORMALIZE, NORMALIZE, FUNCTION, SOFTMAX};
  const bool first = w->net.n_steps == 0;
  const kind k = first ? INPUT : kinds[draw(w, 15)];
  step *st = put_step(w, k, first ? 4 : 1 + draw(w, 5));
  if (st->kind == LINEAR)
    draw_linear(w, st);
  if (st->kind == PIECEWISE)
    draw_pieces(w, st);
  if (st->kind == WINDOW || st->kind == PRODUCT) {
    st->width = 2 * (1 + draw(w, 2));
    draw_rows(w, st);
    draw_sources(w, st, st->kind == WINDOW ? draw_entry(w, NONE).step : NONE, st->kind == WINDOW);
  }
  if (st->kind == OVER_ROOT)
    draw_root(w, st);
  if (st->kind == NORMALIZE || st->kind == SOFTMAX)
    draw_line(w, st);
  if (st->kind == FUNCTION)
    draw_function(w, st);
  w->net.n_steps++;
}

/* ---- Values */

static void
add_term(const world *w, rational *y, const step *st, term t, size_t b)
{
  RATIONAL(q);
  if (t.x.step == PADDING)
    return;
  mpq_mul(&q, t.by.coef, read_at(w, t.x, b));
  if (t.by.w != NULL)
    (st->divide ? mpq_div : mpq_mul)(&q, &q, &t.by.w->value[t.by.at]);
  mpq_add(y, y, &q);
}

static void
piece_of(const world *w, rational *y, const step *st, term t, size_t b)
{
  const rational *x = read_at(w, t.x, b);
  size_t j = 0;
  while (j < st->n_kinks && mpq_cmp(x, &st->at[j]) > 0)
    j++;
  RATIONAL(q);
  mpq_mul(&q, x, &st->piece[j][2]);
  mpq_add(&q, &q, j == 0 && t.by.w != NULL ? &t.by.w->value[t.by.at] : &st->piece[j][1]);
  mpq_mul(&q, &q, x);
  mpq_add(y, &q, &st->piece[j][0]);
}

/* y = c / sqrt(q), to so many bits. */
static void
over_root(rational *y, const rational *c, const rational *q)
{
  mpfr_t t, u;
  mpfr_inits2(BITS, t, u, (mpfr_ptr)NULL);
  mpfr_set_q(t, q, MPFR_RNDN);
  mpfr_sqrt(t, t, MPFR_RNDN);
  mpfr_set_q(u, c, MPFR_RNDN);
  mpfr_div(t, u, t, MPFR_RNDN);
  mpfr_get_q(y, t);
  mpfr_clears(t, u, (mpfr_ptr)NULL);
}

static void
normalized(const world *w, rational *y, const step *st, size_t f, size_t b)
{
  const size_t samples = st->couples ? w->net.batch : 1, first = f / st->length * st->length, n = st->length * samples;
  RATIONAL(mean);
  RATIONAL(square);
  RATIONAL(t);
  RATIONAL(m);
  mpq_set_ui(&m, n, 1);
  for (size_t i = 0; i < n; i++)
    mpq_add(&mean, &mean, read_at(w, st->sources[st->source_row[first + i / samples]], st->couples ? i % samples : b));
  mpq_div(&mean, &mean, &m);
  for (size_t i = 0; i < n; i++) {
    mpq_sub(&t, read_at(w, st->sources[st->source_row[first + i / samples]], st->couples ? i % samples : b), &mean);
    mpq_mul(&t, &t, &t);
    mpq_add(&square, &square, &t);
  }
  mpq_div(&square, &square, &m);
  mpq_add(&square, &square, &st->at[0]);
  mpq_sub(&t, read_at(w, st->sources[st->source_row[f]], b), &mean);
  over_root(y, &t, &square);
}

/* exp(y - x), added to sum. */
static void
add_exp(mpfr_t sum, const rational *y, const rational *x)
{
  mpfr_t t;
  RATIONAL(q);
  mpq_sub(&q, y, x);
  mpfr_init2(t, BITS);
  mpfr_set_q(t, &q, MPFR_RNDN);
  mpfr_exp(t, t, MPFR_RNDN);
  mpfr_add(sum, sum, t, MPFR_RNDN);
  mpfr_clear(t);
}

/* 1 / the sum of exp(x_i - x), which is infinite where it is too large. */
static void
share(const world *w, rational *y, const step *st, size_t f, size_t b)
{
  size_t first = f / st->length * st->length;
  mpfr_t sum;
  mpfr_init2(sum, BITS);
  mpfr_set_ui(sum, 0, MPFR_RNDN);
  for (size_t i = first; i < first + st->length; i++)
    add_exp(sum, read_at(w, st->sources[st->source_row[i]], b), read_at(w, st->sources[st->source_row[f]], b));
  mpfr_ui_div(sum, 1, sum, MPFR_RNDN);
  if (mpfr_cmp_ui_2exp(sum, 1, -3000) > 0)
    mpfr_get_q(y, sum);
  mpfr_clear(sum);
}

static void
function_of(rational *y, function f, const rational *x)
{
  mpfr_t t, u;
  if (f == F_RECIPROCAL) {
    mpq_inv(y, x);
    return;
  }
  mpfr_inits2(BITS, t, u, (mpfr_ptr)NULL);
  mpfr_set_q(t, x, MPFR_RNDN);
  if (f == F_ROOT)
    mpfr_sqrt(t, t, MPFR_RNDN);
  if (f == F_EXP)
    mpfr_exp(t, t, MPFR_RNDN);
  if (f == F_ELU && mpq_sgn(x) < 0)
    mpfr_expm1(t, t, MPFR_RNDN);
  if (f == F_NORMAL) {
    mpfr_sqrt_ui(u, 2, MPFR_RNDN);
    mpfr_div(t, t, u, MPFR_RNDN);
  }
  if (f == F_NORMAL || f == F_ERF)
    mpfr_erf(t, t, MPFR_RNDN);
  if (f == F_NORMAL) {
    mpfr_add_ui(t, t, 1, MPFR_RNDN);
    mpfr_div_2ui(t, t, 1, MPFR_RNDN);
  }
  mpfr_get_q(y, t);
  mpfr_clears(t, u, (mpfr_ptr)NULL);
}

static void
world_entry(world *w, rational *y, size_t s, size_t f, size_t b)
{
  const step *st = &w->net.steps[s];
  const size_t e = f * w->net.batch + b;
  RATIONAL(q);
  mpq_set(y, &zero);
  if (st->kind == INPUT)
    mpq_set(y, &w->x.value[b * st->n + f]);
  for (size_t i = 0, n = 0; i < st->width; i++) {
    const term t = term_at(&w->p, st, e, i);
    if (st->kind == LINEAR)
      add_term(w, y, st, t, b);
    if (st->kind == WINDOW && t.x.step != PADDING && (n++ == 0 || mpq_cmp(read_at(w, t.x, b), y) > 0))
      mpq_set(y, read_at(w, t.x, b));
    if (st->kind == PRODUCT && i % 2 == 0) {
      mpq_mul(&q, read_at(w, t.x, b), read_at(w, term_at(&w->p, st, e, i + 1).x, b));
      mpq_add(y, y, &q);
    }
  }
  if (st->kind == PIECEWISE)
    piece_of(w, y, st, term_at(&w->p, st, e, 0), b);
  if (st->kind == FUNCTION)
    function_of(y, st->of, read_at(w, term_at(&w->p, st, e, 0).x, b));
  if (st->kind == OVER_ROOT) {
    const term t = term_at(&w->p, st, e, 0);
    mpq_add(&q, &t.by.w->value[t.by.at], &st->at[0]);
    over_root(y, read_at(w, t.x, b), &q);
  }
  if (st->kind == NORMALIZE)
    normalized(w, y, st, f, b);
  if (st->kind == SOFTMAX)
    share(w, y, st, f, b);
}

static void
step_values(world *w, size_t s)
{
  const step *st = &w->net.steps[s];
  w->rounded[s] = st->kind == OVER_ROOT || st->kind == NORMALIZE || st->kind == SOFTMAX
                  || (st->kind == FUNCTION && st->of != F_RECIPROCAL);
  for (size_t i = 0; i < st->n_sources; i++)
    w->rounded[s] = w->rounded[s] || (st->sources[i].step < PADDING && w->rounded[st->sources[i].step]);
  for (size_t f = 0; f < st->n; f++)
    for (size_t b = 0; b < w->net.batch; b++)
      world_entry(w, &w->y[s][f * w->net.batch + b], s, f, b);
}

void
world_values_from(world *w, size_t s)
{
  for (; s < w->net.n_steps; s++)
    step_values(w, s);
}

void
world_values(world *w)
{
  world_values_from(w, 0);
}

bool
world_below(const world *w, size_t s, const rational *a, const rational *b)
{
  RATIONAL(off);
  RATIONAL(least);
  if (mpq_cmp(a, b) <= 0 || !w->rounded[s])
    return mpq_cmp(a, b) <= 0;
  mpq_sub(&off, a, b);
  mpq_set_ui(&least, 1, 1);
  mpq_div_2exp(&least, &least, NEAR);
  return mpq_cmp(&off, &least) < 0;
}

static bool
holds(const world *w, const near *v, size_t s, size_t e)
{
  RATIONAL(c);
  RATIONAL(off);
  RATIONAL(r);
  unfixed(&c, &v[s].c[e / w->net.apart], w->net.near_bits);
  unfixed(&r, &v[s].r, w->net.near_bits);
  mpq_sub(&off, &c, &w->y[s][e]);
  mpq_abs(&off, &off);
  return world_below(w, s, &off, &r);
}

bool
world_near(world *w, unsigned long bits, bool few)
{
  bool all = true;
  near_prepare(&w->net, bits, few);
  for (size_t s = 0; s < w->net.n_steps; s++)
    w->net.steps[s].asked = true;
  for (size_t b = 0; b < w->net.apart; b++) {
    near *v = near_values(&w->p, b, NULL);
    for (size_t s = 0; s < w->net.n_steps; s++)
      for (size_t e = b; e < entries(&w->p, s) && v[s].known; e += w->net.apart)
        all = all && holds(w, v, s, e);
    near_free(&w->p, v);
  }
  return all;
}

void
world_move(world *w)
{
  RATIONAL(q);
  for (size_t i = 0; i < w->w[0].count; i++) {
    draw_number(w, &q, -500);
    mpq_add(&w->w[0].value[i], &w->w[0].value[i], &q);
  }
}

static void
begin(world *w, uint64_t seed)
{
  *w = (world){.state = seed};
  w->net = (network){.smooth = &smooth_steps, .near = near_places, .rough = rough_places, .batch = 1, .apart = 1, .n_tensors = 3, .tensors = w->all};
  w->net.steps = calloc(MOST_STEPS, sizeof *w->net.steps);
  w->p = (point){.net = &w->net, .x = &w->x};
  for (size_t i = 0; i < 3; i++) {
    w->w[i] = (tensor){.count = MOST_WEIGHTS, .real = true, .value = rationals(MOST_WEIGHTS), .wrt = i == 0};
    w->w[i].initializer = w->w[i].weight = i < 2;
    w->all[i] = &w->w[i];
  }
  for (size_t s = 0; s < MOST_ENTRIES * MOST_STEPS; s++)
    w->y[s / MOST_ENTRIES][s % MOST_ENTRIES] = rational_zero();
}

void
world_begin(world *w, size_t n, const rational *x)
{
  begin(w, 0);
  w->x = (tensor){.count = n, .real = true, .value = rationals(n)};
  for (size_t i = 0; i < n; i++)
    mpq_set(&w->x.value[i], &x[i]);
  put_step(w, INPUT, n);
  w->net.n_steps = 1;
}

step *
world_add(world *w, kind k, size_t n, size_t width)
{
  step *st = put_step(w, k, n);
  st->width = width;
  st->n_factors = st->n_sources = n * width;
  st->factors = calloc(n * width, sizeof *st->factors);
  st->sources = calloc(n * width, sizeof *st->sources);
  st->factor_row = calloc(n, sizeof(size_t));
  st->source_row = calloc(n, sizeof(size_t));
  for (size_t i = 0; i < n * width; i++) {
    st->factors[i].coef = &plus_one;
    st->sources[i].step = w->net.n_steps - 1;
  }
  for (size_t f = 0; f < n; f++)
    st->factor_row[f] = st->source_row[f] = f;
  w->net.n_steps++;
  return st;
}

void
world_draw(world *w, uint64_t seed)
{
  begin(w, seed);
  for (size_t i = 0; i < 8; i++)
    draw(w, 2);
  int size = draw_size(w);
  network *net = &w->net;
  net->batch = 1 + draw(w, 2);
  net->apart = one_in(w, 3) ? 1 : net->batch;
  w->x = (tensor){.count = 4 * net->batch, .real = true, .value = rationals(4 * net->batch)};
  draw_tensor(w, &w->x, one_in(w, 2) ? size : draw_size(w));
  for (size_t i = 0; i < 3; i++)
    draw_tensor(w, &w->w[i], one_in(w, 2) ? 0 : draw_size(w));
  for (size_t i = 0; i < MOST_WEIGHTS; i++) /* under roots */
    mpq_abs(&w->w[2].value[i], &w->w[2].value[i]);
  for (size_t s = 0, n = 3 + draw(w, MOST_DRAWN - 2); s < n; s++) {
    draw_step(w);
    step_values(w, s);
  }
}
