/* One pass over one sample (two, where samples are coupled), its numbers being residues modulo 2^61 - 1. Kinks and analytic functions are
 * fixed pseudo-random maps: they keep no identity but those of their composition, so two readings of a file agree only if they compute
 * the same of the same entries. */
#include "network/pass/fingerprint.h"

#include <stdlib.h>
#include <string.h>

#define P (((uint64_t)1 << 61) - 1)
#define UNREDUCED 32 /* products of residues that 128 bits hold, with a residue beside */

__extension__ typedef unsigned __int128 wide;

/* A pass: by value its entries, [entry * columns + column], of constants [entry]; NULL: not computed. */
typedef struct {
  const clarke_graph *g;
  size_t columns;
  uint64_t **x, map[CLARKE_N_FUNCTIONS], step; /* map: the seed of each function's; step: of what kinks have */
  size_t *last;                                /* by value: the step that reads it last */
} pass;

/* ---- Residues */

static uint64_t
reduce(wide x)
{
  const uint64_t once = (uint64_t)(x & P) + (uint64_t)(x >> 61 & P) + (uint64_t)(x >> 122), twice = (once & P) + (once >> 61);

  return twice >= P ? twice - P : twice;
}

static uint64_t
times(uint64_t a, uint64_t b)
{
  return reduce((wide)a * b);
}

static uint64_t
plus(uint64_t a, uint64_t b)
{
  return reduce((wide)a + b);
}

static uint64_t
minus(uint64_t a, uint64_t b)
{
  return reduce((wide)a + (P - b));
}

/* x^(2^n). */
static uint64_t
squared(uint64_t x, int n)
{
  while (n-- > 0)
    x = times(x, x);
  return x;
}

/* That of 0 is 0. Else it is a^(P - 2), whose exponent has 59 ones, a 0 and a 1. */
static uint64_t
inverse(uint64_t a)
{
  uint64_t ones = times(squared(a, 1), a); /* a^(2^n - 1), n = 2, then 3, 7, 14, 29, 58, 59 */

  ones = times(squared(ones, 1), a);
  ones = times(squared(times(squared(ones, 3), ones), 1), a);
  ones = times(squared(ones, 7), ones);
  ones = times(squared(times(squared(ones, 14), ones), 1), a);
  ones = times(squared(ones, 29), ones);
  ones = times(squared(ones, 1), a);
  return times(squared(ones, 2), a);
}

/* 2^61 is 1, so every power of two is one of 61. */
static uint64_t
of_double(double x)
{
  uint64_t bits, mantissa;
  unsigned exponent;

  memcpy(&bits, &x, sizeof bits);
  exponent = (unsigned)(bits >> 52 & 0x7ff);
  mantissa = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)(exponent > 0) << 52;
  /* times 2^(exponent - 1075), of subnormal numbers as of exponent 1 */
  mantissa = reduce((wide)mantissa << ((exponent > 0 ? exponent : 1) + 18 * 61 - 1075) % 61);
  return x < 0 ? minus(0, mantissa) : mantissa;
}

static uint64_t
of_rational(const mpq_t q)
{
  return times(mpz_fdiv_ui(mpq_numref(q), P), inverse(mpz_fdiv_ui(mpq_denref(q), P)));
}

/* ---- Pseudo-random numbers and maps */

static uint64_t
mix(uint64_t z)
{
  z += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

static uint64_t
seed_of(const char *name)
{
  uint64_t seed = 0;

  for (; *name != '\0'; name++)
    seed = mix(seed ^ (unsigned char)*name);
  return seed;
}

/* Number i of the seed's; the image of i under the seed's map. */
static uint64_t
drawn(uint64_t seed, uint64_t i)
{
  return reduce(mix(seed ^ mix(i)));
}

static const char *const names[CLARKE_N_FUNCTIONS] = {
  [CLARKE_EXP] = "exp", [CLARKE_ERF] = "erf", [CLARKE_SOFTPLUS] = "softplus", [CLARKE_NORMAL] = "normal",
  [CLARKE_NORMAL_TANH] = "normal-tanh", [CLARKE_ELU] = "elu", [CLARKE_SIN] = "sin", [CLARKE_COS] = "cos", [CLARKE_ATAN] = "atan", [CLARKE_SQRT] = "root", [CLARKE_LOG] = "log",
  [CLARKE_ABOVE] = "above", [CLARKE_FLOOR] = "floor", [CLARKE_ROUND] = "round", [CLARKE_TRUNCATE] = "truncate", [CLARKE_HELD] = "held",
};

static uint64_t
sigmoid(const pass *p, uint64_t x)
{
  const uint64_t e = drawn(p->map[CLARKE_EXP], x);

  return times(e, inverse(plus(e, drawn(p->map[CLARKE_EXP], 0))));
}

static uint64_t
function(const pass *p, clarke_function f, uint64_t x)
{
  if (f == CLARKE_SIGMOID)
    return sigmoid(p, x);
  if (f == CLARKE_TANH)
    return minus(times(2, sigmoid(p, times(2, x))), 1);
  return f == CLARKE_RECIPROCAL ? inverse(x) : drawn(p->map[f], x);
}

/* ---- Entries */

/* A parameter's entry is moved by a number that its name and place draw. */
static uint64_t
constant_entry(const clarke_value *v, uint64_t seed, size_t e)
{
  const uint64_t x = of_double(v->real != NULL ? v->real[e] : (double)v->integer[e]);

  return v->parameter == CLARKE_NONE ? x : plus(x, drawn(seed, v->origin != NULL ? v->origin[e] : e));
}

/* The entries of an activation, all 0 to begin with, or of a constant; NULL: there is no memory. */
static uint64_t *
entries(const pass *p, size_t value)
{
  const clarke_value *v = &p->g->values[value];
  uint64_t seed;

  if (p->x[value] != NULL)
    return p->x[value];
  p->x[value] = calloc(v->count * (v->constant ? 1 : p->columns) + 1, sizeof **p->x);
  if (p->x[value] == NULL || !v->constant)
    return p->x[value];
  seed = v->parameter != CLARKE_NONE ? seed_of(p->g->parameters[v->parameter].name) : 0;
  for (size_t e = 0; e < v->count; e++)
    p->x[value][e] = constant_entry(v, seed, e);
  return p->x[value];
}

/* The fingerprint of operand i that entry f takes in the column; `none` where it takes none. */
static uint64_t
taken(const pass *p, const clarke_step *s, size_t i, size_t f, size_t column)
{
  const size_t e = clarke_operand_entry(&s->in[i], f), value = s->in[i].value;

  if (e == CLARKE_NONE)
    return 0;
  return p->g->values[value].constant ? p->x[value][e] : p->x[value][e * p->columns + column];
}

/* ---- Steps: each has its operands, and makes the entries y of `count` features */

static void
sum(const pass *p, const clarke_step *s, uint64_t *y, size_t count)
{
  for (size_t i = 0; i < s->n_in; i++) {
    const uint64_t coef = s->kind == CLARKE_SUM ? of_double(s->in[i].coef) : 1;

    for (size_t f = 0; f < count; f++)
      for (size_t k = 0; k < p->columns; k++)
        y[f * p->columns + k] = plus(y[f * p->columns + k], times(coef, taken(p, s, i, f, k)));
  }
}

static void
scale(const pass *p, const clarke_step *s, uint64_t *y, size_t count)
{
  const uint64_t epsilon = s->root ? of_rational(s->epsilon) : 0;

  for (size_t f = 0; f < count; f++) {
    uint64_t by = taken(p, s, 1, f, 0);

    if (s->root)
      by = drawn(p->map[CLARKE_SQRT], plus(by, epsilon));
    if (s->divide || s->root)
      by = inverse(by);
    for (size_t k = 0; k < p->columns; k++)
      y[f * p->columns + k] = times(taken(p, s, 0, f, k), by);
  }
}

#define ABREAST 4 /* sums of a row that are made side by side */

/* y: `n` of a product's row, at most ABREAST, of w and the columns of x, which are `apart` from row to row. */
static inline void
dense_sums(uint64_t *y, const uint64_t *w, size_t w_apart, const uint64_t *x, size_t apart, size_t inner, size_t n)
{
  wide sum[ABREAST] = {0};

  for (size_t i = 0; i < inner; i++) {
    for (size_t e = 0; e < n && i % UNREDUCED == 0; e++)
      sum[e] = reduce(sum[e]);
    for (size_t e = 0; e < n; e++)
      sum[e] += (wide)w[i * w_apart] * x[i * apart + e];
  }
  for (size_t e = 0; e < n; e++)
    y[e] = reduce(sum[e]);
}

/* y: one row of the product, n entries. */
static void
dense_row(const clarke_dense *d, const uint64_t *x, const uint64_t *w, uint64_t *y, size_t n)
{
  const size_t apart = d->transposed ? d->outer : 1;
  size_t e = 0;

  for (; e + ABREAST <= n; e += ABREAST)
    dense_sums(y + e, w, apart, x + e, n, d->inner, ABREAST);
  for (; e < n; e++)
    dense_sums(y + e, w, apart, x + e, n, d->inner, 1);
}

static void
dense(const pass *p, const clarke_step *s, uint64_t *y, size_t count)
{
  const clarke_dense *d = &s->dense;
  const uint64_t *w = p->x[d->weight], *x = p->x[s->in[0].value];
  const size_t n = d->repeat * p->columns, rows = count / d->repeat;

  for (size_t r = 0; r < rows; r++) {
    const size_t row = d->grouped ? r : r % d->outer;

    dense_row(d, x + r / d->outer * d->inner * n, w + (d->transposed ? row : row * d->inner), y + r * n, n);
  }
}

/* What the step at 0 is. */
static uint64_t
jump(const pass *p, uint64_t x)
{
  return drawn(p->step, x);
}

typedef struct {
  uint64_t kink[CLARKE_MAX_KINKS], coef[CLARKE_MAX_KINKS + 1][3];
} pieces;

static uint64_t
on_piece(const uint64_t *coef, uint64_t x)
{
  return plus(coef[0], times(x, plus(coef[1], times(coef[2], x))));
}

/* The first piece, and at each kink the difference of the pieces times a step. */
static void
piecewise(const pass *p, const clarke_step *s, uint64_t *y, size_t count)
{
  const clarke_pieces *of = &s->pieces;
  const uint64_t *slope = of->slope != CLARKE_NONE ? p->x[of->slope] : NULL;
  pieces q = {.kink = {0}};

  for (size_t i = 0; i <= of->n_kinks; i++) {
    if (i < of->n_kinks)
      q.kink[i] = of_rational(of->kink[i]);
    for (size_t c = 0; c < 3; c++)
      q.coef[i][c] = slope != NULL && i == 0 ? 0 : of_rational(of->coef[i][c]);
  }
  for (size_t e = 0; e < count * p->columns; e++) {
    const uint64_t x = taken(p, s, 0, e / p->columns, e % p->columns);

    if (slope != NULL)
      q.coef[0][1] = slope[of->slope_map != NULL ? of->slope_map[e / p->columns] : e / p->columns];
    y[e] = on_piece(q.coef[0], x);
    for (size_t k = 0; k < of->n_kinks; k++)
      y[e] = plus(y[e], times(minus(on_piece(q.coef[k + 1], x), on_piece(q.coef[k], x)), jump(p, minus(x, q.kink[k]))));
  }
}

static void
analytic(const pass *p, const clarke_step *s, uint64_t *y, size_t count)
{
  for (size_t e = 0; e < count * p->columns; e++)
    y[e] = function(p, s->function, taken(p, s, 0, e / p->columns, e % p->columns));
}

static void
softmax_line(const pass *p, const clarke_step *s, uint64_t *y, size_t first, size_t column)
{
  uint64_t total = 0, by;

  for (size_t i = 0; i < s->length; i++)
    total = plus(total, drawn(p->map[CLARKE_EXP], taken(p, s, 0, first + i * s->stride, column)));
  by = s->log ? drawn(p->map[CLARKE_LOG], total) : inverse(total);
  for (size_t i = 0; i < s->length; i++) {
    const size_t f = first + i * s->stride;
    const uint64_t x = taken(p, s, 0, f, column);

    y[f * p->columns + column] = s->log ? minus(x, by) : times(drawn(p->map[CLARKE_EXP], x), by);
  }
}

static void
softmax(const pass *p, const clarke_step *s, uint64_t *y, size_t count)
{
  for (size_t line = 0; line < count / s->length; line++)
    for (size_t k = 0; k < p->columns; k++)
      softmax_line(p, s, y, line / s->stride * s->length * s->stride + line % s->stride, k);
}

/* The group's entries of the column, or of all, less their mean, divided by the root. */
static void
normalize_group(const pass *p, const clarke_step *s, uint64_t *y, size_t group, size_t column)
{
  const clarke_grouping *of = &s->grouping;
  const size_t columns = of->couples ? p->columns : 1, n = of->blocks * of->length * columns;
  const uint64_t share = inverse(n);
  uint64_t mean = 0, variance = 0, by;

#define EACH_OF_GROUP(f, k)                                                                                             \
  for (size_t b = 0, f = group * of->length; b < of->blocks; b++, f = (b * of->groups + group) * of->length)             \
    for (size_t end = f + of->length; f < end; f++)                                                                      \
      for (size_t k = column; k < column + columns; k++)
  EACH_OF_GROUP (f, k)
    mean = plus(mean, taken(p, s, 0, f, k));
  mean = times(mean, share);
  EACH_OF_GROUP (f, k) {
    const uint64_t c = minus(taken(p, s, 0, f, k), mean);

    variance = plus(variance, times(c, c));
  }
  by = inverse(drawn(p->map[CLARKE_SQRT], plus(times(variance, share), of_rational(s->epsilon))));
  EACH_OF_GROUP (f, k)
    y[f * p->columns + k] = times(minus(taken(p, s, 0, f, k), mean), by);
}

static void
normalize(const pass *p, const clarke_step *s, uint64_t *y, size_t count)
{
  const size_t groups = count / (s->grouping.blocks * s->grouping.length);

  for (size_t group = 0; group < groups; group++)
    for (size_t k = 0; k < (s->grouping.couples ? 1 : p->columns); k++)
      normalize_group(p, s, y, group, k);
}

/* The window's entries in turn: each takes the place of what is largest so far, by a step. */
static void
largest(const pass *p, const clarke_step *s, uint64_t *y, size_t count)
{
  for (size_t e = 0; e < count * p->columns; e++) {
    const size_t first = e / p->columns * s->width;
    bool begun = false;

    for (size_t f = first; f < first + s->width; f++) {
      const uint64_t x = taken(p, s, 0, f, e % p->columns);

      if (clarke_operand_entry(&s->in[0], f) == CLARKE_NONE)
        continue;
      y[e] = begun ? plus(y[e], times(minus(x, y[e]), jump(p, minus(x, y[e])))) : x;
      begun = true;
    }
  }
}

static void
product(const pass *p, const clarke_step *s, uint64_t *y, size_t count)
{
  for (size_t e = 0; e < count * p->columns; e++)
    for (size_t k = 0; k < s->contraction.inner; k++) {
      uint64_t factor[2];

      for (size_t i = 0; i < 2; i++) {
        const size_t at = clarke_step_factor(s, i, e / p->columns, k);

        factor[i] = at != CLARKE_NONE ? p->x[s->in[i].value][at * p->columns + e % p->columns] : 0;
      }
      y[e] = plus(y[e], times(factor[0], factor[1]));
    }
}

static void (*const of_kind[CLARKE_STEP_KINDS])(const pass *p, const clarke_step *s, uint64_t *y, size_t count) = {
  [CLARKE_GATHER] = sum, [CLARKE_SUM] = sum, [CLARKE_SCALE] = scale, [CLARKE_DENSE] = dense, [CLARKE_PIECEWISE] = piecewise,
  [CLARKE_ANALYTIC] = analytic, [CLARKE_SOFTMAX] = softmax, [CLARKE_NORMALIZE] = normalize, [CLARKE_MAX] = largest,
  [CLARKE_PRODUCT] = product,
};

/* The weight or the slopes of a step, which are none of its operands. */
static size_t
weight_of(const clarke_step *s)
{
  return s->kind == CLARKE_DENSE ? s->dense.weight : s->kind == CLARKE_PIECEWISE ? s->pieces.slope : CLARKE_NONE;
}

/* A constant's entries, when the step has read them last: a recurrent network reads its weights at each time. */
static void
forget_constant(const pass *p, const clarke_step *s, size_t value)
{
  if (value == CLARKE_NONE || !p->g->values[value].constant || p->last[value] != (size_t)(s - p->g->steps))
    return;
  free(p->x[value]);
  p->x[value] = NULL;
}

static clarke_status
run_step(const pass *p, const clarke_step *s, clarke_error *err)
{
  const size_t weight = weight_of(s);
  uint64_t *y = entries(p, s->out);
  bool room = y != NULL && (weight == CLARKE_NONE || entries(p, weight) != NULL);

  for (size_t i = 0; i < s->n_in && room; i++)
    room = entries(p, s->in[i].value) != NULL;
  if (!room)
    return clarke_no_memory(err);
  of_kind[s->kind](p, s, y, p->g->values[s->out].count);
  forget_constant(p, s, weight);
  for (size_t i = 0; i < s->n_in; i++)
    forget_constant(p, s, s->in[i].value);
  return CLARKE_OK;
}

/* ---- Prints */

/* A whole run's tensor is drawn by its name and its shape. */
static uint64_t
seed_of_value(const clarke_graph *g, const clarke_value *v)
{
  const bool batch = g->batched && !v->batch.none;
  uint64_t seed = seed_of(v->name);

  if (g->bared && v == &g->values[g->output])
    seed = mix(seed ^ 1);
  for (size_t a = 0; a < v->rank + (batch && !v->batch.merged); a++) {
    const size_t of_sample = !batch || v->batch.merged || a < v->batch.axis ? a : a - 1;
    size_t length = batch && a == v->batch.axis ? g->together : 1;

    if (!batch || v->batch.merged || a != v->batch.axis)
      length *= v->dims[of_sample];
    seed = mix(seed ^ length);
  }
  return seed;
}

static uint64_t
print_of(const pass *p, size_t value)
{
  const clarke_value *v = &p->g->values[value];
  const uint64_t seed = seed_of_value(p->g, v);
  uint64_t print = 0;

  for (size_t e = 0; e < v->count * p->columns; e++)
    if (v->excluded == NULL || !v->excluded[e / p->columns])
      print = plus(print, times(p->x[value][e], drawn(seed, e)));
  return print;
}

static clarke_status
begin(pass *p, clarke_error *err)
{
  const clarke_graph *g = p->g;
  const uint64_t seed = seed_of("x");

  for (size_t f = 0; f < sizeof names / sizeof *names; f++)
    p->map[f] = names[f] != NULL ? seed_of(names[f]) : 0;
  p->step = seed_of("step");
  clarke_graph_last_uses(p->last, g, NULL);
  for (size_t i = 0; i < g->n_steps; i++) {
    const size_t weight = weight_of(&g->steps[i]);

    if (weight != CLARKE_NONE && (p->last[weight] == CLARKE_NONE || p->last[weight] < i))
      p->last[weight] = i;
  }
  if (entries(p, g->input) == NULL)
    return clarke_no_memory(err);
  for (size_t e = 0; e < g->values[g->input].count * p->columns; e++)
    p->x[g->input][e] = drawn(seed, e);
  return CLARKE_OK;
}

clarke_status
clarke_fingerprints(uint64_t *print, const clarke_graph *g, clarke_error *err)
{
  pass p = {.g = g, .columns = clarke_graph_couples(g) && g->samples > 1 ? 2 : 1, .x = calloc(g->n_values + 1, sizeof *p.x),
            .last = malloc((g->n_values + 1) * sizeof *p.last)};
  clarke_status status = p.x != NULL && p.last != NULL ? begin(&p, err) : clarke_no_memory(err);

  for (size_t i = 0; i < g->n_steps && status == CLARKE_OK; i++)
    status = run_step(&p, &g->steps[i], err);
  for (size_t v = 0; v < g->n_values && status == CLARKE_OK; v++)
    print[v] = g->values[v].printed && !g->values[v].constant ? print_of(&p, v) : 0;
  for (size_t v = 0; v < g->n_values && p.x != NULL; v++)
    free(p.x[v]);
  free(p.x);
  free(p.last);
  return status;
}
