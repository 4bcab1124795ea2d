/* Convolutions in doubles, by panels and by Winograd's algorithm (sieve.h), and their ways back: every entry is as near to the sum of
 * its products, in more bits, as the slack says; the products that are looked up one by one add up to it. */
#include "../network/models.h"
#include "network/graph/build.h"
#include "trace/certify/sieve_bounds.h"
#include "trace/certify/sieve_terms.h"

#include <math.h>

static uint64_t state;

/* planes, rows, columns, outputs, side of the kernel, groups, border, stride, samples; by Winograd's algorithm? */
typedef struct {
  size_t planes, h, w, outer, side, groups, pad, stride, n;
  bool fast;
} shape;

static const shape shapes[] = {
  {6, 4, 3, 4, 3, 2, 1, 1, 3, false},    {3, 5, 4, 2, 2, 1, 0, 1, 2, false},   {16, 5, 5, 16, 3, 1, 1, 2, 2, false},
  {32, 3, 3, 32, 3, 2, 1, 1, 2, false},  {16, 2, 2, 16, 3, 1, 1, 1, 5, true},  {16, 4, 4, 17, 3, 1, 1, 1, 2, true},
  {17, 7, 5, 16, 3, 1, 0, 1, 1, true},   {16, 9, 6, 16, 3, 1, 2, 1, 3, true},  {16, 4, 3, 16, 3, 1, 0, 1, 2, true},
  {16, 9, 6, 16, 3, 1, 1, 1, 200, true},
};

typedef struct {
  const shape *as;
  size_t oh, ow, each, outs; /* planes and outputs of a group */
  double *x, *g, *w;         /* features x samples, float32s all; outputs x planes of a group x side^2 */
  float *as_x, *as_g;        /* the same */
  clarke_graph graph;
  clarke_sieve s;
  const clarke_step *dense;
} scene;

/* Of rows of very different sizes; some are zero, and many entries. */
static double *
drawn(size_t rows, size_t cols)
{
  double *to = calloc(rows * cols + 1, sizeof *to);

  for (size_t f = 0; f < rows; f++) {
    const int size = draw_below(&state, 5) == 0 ? -200 : (int)draw_between(&state, -20, 20);

    for (size_t j = 0; j < cols && size > -200; j++)
      to[f * cols + j] = draw_below(&state, 3) == 0 ? 0 : ldexp((double)draw_between(&state, -(1L << 24), 1L << 24), size - 24);
  }
  return to;
}

static float *
floats(const double *x, size_t n)
{
  float *to = malloc((n + 1) * sizeof *to);

  for (size_t e = 0; e < n; e++) {
    to[e] = (float)x[e];
    ck_assert((double)to[e] == x[e]);
  }
  return to;
}

static void
build(scene *c, const shape *as)
{
  const long in[] = {-1, (long)as->planes, (long)as->h, (long)as->w, SHAPE_END};
  const long all[] = {(long)as->n, (long)as->planes, (long)as->h, (long)as->w, SHAPE_END};
  const long of_w[] = {(long)as->outer, (long)(as->planes / as->groups), (long)as->side, (long)as->side, SHAPE_END};
  const size_t values_of_w = as->outer * (as->planes / as->groups) * as->side * as->side;
  clarke_error err = {CLARKE_OK, ""};
  clarke_model_node *node;
  clarke_tensor x;
  clarke_model m;
  double *to;

  *c = (scene){.as = as, .each = as->planes / as->groups, .outs = as->outer / as->groups};
  c->oh = (as->h + 2 * as->pad - as->side) / as->stride + 1;
  c->ow = (as->w + 2 * as->pad - as->side) / as->stride + 1;
  c->x = drawn(as->planes * as->h * as->w, as->n);
  c->g = drawn(as->outer * c->oh * c->ow, as->n);
  c->w = drawn(as->outer, values_of_w / as->outer);
  c->as_x = floats(c->x, as->planes * as->h * as->w * as->n);
  c->as_g = floats(c->g, as->outer * c->oh * c->ow * as->n);
  model_begin(&m, 17);
  model_input(&m, "x", in);
  to = model_floats(&m, "w", of_w);
  memcpy(to, c->w, values_of_w * sizeof *to);
  node = model_node(&m, "Conv", "x,w", "y");
  attr_ints(node, "strides", SHAPE((long)as->stride, (long)as->stride,));
  attr_ints(node, "pads", SHAPE((long)as->pad, (long)as->pad, (long)as->pad, (long)as->pad,));
  attr_int(node, "group", (long)as->groups);
  model_output(&m, "y");
  x = tensor_of("x", CLARKE_F32, all);
  clarke_graph_init(&c->graph);
  ck_assert_msg(clarke_graph_build(&c->graph, &m, &x, &err) == CLARKE_OK, "%s", err.text);
  ck_assert_int_eq(clarke_graph_wrt(&c->graph, NULL, 0, &err), CLARKE_OK);
  clarke_tensor_clear(&x);
  clarke_model_clear(&m);
}

/* The sieve with the input, and the gradient behind the one product, given. */
static void
begin(scene *c)
{
  const size_t values = c->graph.n_values;

  c->s = (clarke_sieve){.g = &c->graph, .n = c->as->n};
  c->s.value = calloc(values, sizeof *c->s.value);
  c->s.grad = calloc(values, sizeof *c->s.grad);
  c->s.carries = calloc(values, sizeof *c->s.carries);
  c->s.reads = calloc(values, sizeof *c->s.reads);
  for (size_t i = 0; i < c->graph.n_steps; i++)
    if (c->graph.steps[i].kind == CLARKE_DENSE)
      c->dense = &c->graph.steps[i];
  ck_assert_ptr_nonnull(c->dense);
  c->s.value[c->graph.input].exact = c->as_x;
  c->s.carries[c->graph.input] = true;
}

static void
end(scene *c)
{
  for (size_t v = 0; v < c->graph.n_values; v++) {
    clarke_sieved_clear(&c->s, &c->s.value[v]);
    clarke_sieved_clear(&c->s, &c->s.grad[v]);
  }
  clarke_sieve_leave_all(&c->s);
  free(c->s.value);
  free(c->s.grad);
  free(c->s.carries);
  free(c->s.reads);
  free(c->x);
  free(c->g);
  free(c->w);
  free(c->as_x);
  free(c->as_g);
  clarke_graph_clear(&c->graph);
}

/* --- the same sums, from the definition --- */

typedef struct {
  long double *sum, *mass;
} truth;

static truth
zeros(size_t n)
{
  return (truth){calloc(n + 1, sizeof(long double)), calloc(n + 1, sizeof(long double))};
}

static void
add(truth *to, size_t e, double a, double b)
{
  to->sum[e] += (long double)a * b;
  to->mass[e] += fabsl((long double)a * b);
}

static void
add_products(const scene *c, truth *y, truth *x, truth *w, size_t o, size_t p, size_t tap)
{
  const shape *as = c->as;
  const size_t plane = o / c->outs * c->each + p, k = (o * c->each + p) * as->side * as->side + tap;

  for (size_t r = 0; r < c->oh * c->ow; r++) {
    const size_t row = r / c->ow * as->stride + tap / as->side - as->pad, col = r % c->ow * as->stride + tap % as->side - as->pad;

    for (size_t j = 0; row < as->h && col < as->w && j < as->n; j++) {
      const size_t from = ((plane * as->h + row) * as->w + col) * as->n + j, to = (o * c->oh * c->ow + r) * as->n + j;

      add(y, to, c->w[k], c->x[from]);
      add(x, from, c->w[k], c->g[to]);
      add(w, k, c->g[to], c->x[from]);
    }
  }
}

/* An entry's products are found: all, or as many as are enough and no more. */
static void
expect_products(clarke_sieve_terms *p, long double sum, long double mass, size_t row, size_t col)
{
  const long double rest = mass * 0x1p-40L;
  const double enough = (double)mass / 3;
  size_t all;

  ck_assert(clarke_sieve_add_up(p, INFINITY, row, col) && !p->stopped);
  ck_assert_msg(fabsl(p->sum - sum) <= rest, "%d, entry (%zu, %zu): its products are others", (int)p->kind, row, col);
  ck_assert(fabsl(p->mass - mass) <= rest);
  all = p->n;
  ck_assert(clarke_sieve_add_up(p, enough, row, col));
  ck_assert(p->stopped == (mass > 0) && p->n <= all);
  ck_assert(!p->stopped || (p->mass > enough && p->mass <= mass + rest));
}

/* How many entries are not their sums exactly? Each is within its slack, and its products are found. */
static size_t
compare(scene *c, const clarke_sieved *v, truth *t, size_t rows, size_t cols, clarke_terms_kind kind)
{
  clarke_sieve_terms terms = {.s = &c->s, .v = v, .kind = kind};
  size_t inexact = 0;

  for (size_t e = 0; e < rows * cols; e++) {
    const long double off = fabsl(v->near[e] - t->sum[e]), rest = t->mass[e] * 0x1p-60L;
    const double slack = v->slack[e / cols] * (v->scale != NULL ? v->scale[e % cols] : 1);

    ck_assert_msg(off <= slack + rest, "%d, entry %zu: off by %Lg, with slack %g", (int)kind, e, off, slack);
    ck_assert(v->top[e / cols] * (1 + 0x1p-30) >= t->mass[e]);
    inexact += off > rest;
    if (kind == CLARKE_TERMS_OF_WEIGHT)
      expect_products(&terms, t->sum[e], t->mass[e], e, 0);
    else
      expect_products(&terms, t->sum[e], t->mass[e], e / cols, e % cols);
  }
  clarke_sieve_terms_clear(&terms);
  free(t->sum);
  free(t->mass);
  return inexact;
}

/* Drawn sums come nowhere near the worst that Winograd's algorithm may lose: is the slack that much all the same? An output of
 * F(4 x 4, 3 x 3) may be made of 48 times the largest input in a row, as the matrices' absolute values say, and there are two sides. */
static void
expect_room_for_winograd(const scene *c, const clarke_sieved *v, const double *from, bool back)
{
  const shape *as = c->as;
  const size_t channels = back ? as->planes : as->outer, added = back ? as->outer : as->planes;
  const size_t places = back ? as->h * as->w : c->oh * c->ow, rows = added * (back ? c->oh * c->ow : as->h * as->w);

  for (size_t i = 0; i < channels; i++) {
    double kernels = 0;

    for (size_t k = 0; k < added; k++) {
      const double *kernel = c->w + (back ? k * as->planes + i : i * as->planes + k) * 9;
      double most = 0;

      for (size_t tap = 0; tap < 9; tap++)
        most = fmax(most, fabs(kernel[tap]));
      kernels += most;
    }
    for (size_t j = 0; j < as->n; j++) {
      double most = 0;

      for (size_t f = 0; f < rows; f++)
        most = fmax(most, fabs(from[f * as->n + j]));
      for (size_t f = i * places; f < (i + 1) * places; f++)
        ck_assert(v->slack[f] * (v->scale != NULL ? v->scale[j] : 1)
                  >= (double)(added + 64) * 0x1p-53 * 48 * 48 * (1 - 0x1p-30) * kernels * most);
    }
  }
}

/* Nor do they of what doubles lose of a weight's gradient: is its slack that of so many roundings, and of Winograd's algorithm that
 * of 160/3 on each side, by Cauchy and Schwarz? The operand's row is x, the gradient's g. */
static void
expect_room_for_weight(const scene *c, const clarke_sieved *w)
{
  const shape *as = c->as;
  const size_t taps = as->side * as->side, places = c->oh * c->ow, tiles = ((c->oh + 1) / 2) * ((c->ow + 1) / 2);

  for (size_t o = 0; o < as->outer; o++)
    for (size_t e = 0; e < c->each * taps; e++) {
      const size_t k = o * c->each * taps + e, plane = o / c->outs * c->each + e / taps, tap = e % taps;
      double g = 0, x = 0, whole = 0, least;

      for (size_t r = 0; r < places; r++) {
        const size_t row = r / c->ow * as->stride + tap / as->side - as->pad, col = r % c->ow * as->stride + tap % as->side - as->pad;

        for (size_t j = 0; j < as->n; j++) {
          g += pow(c->g[(o * places + r) * as->n + j], 2);
          x += row < as->h && col < as->w ? pow(c->x[((plane * as->h + row) * as->w + col) * as->n + j], 2) : 0;
        }
      }
      for (size_t f = plane * as->h * as->w * as->n; f < (plane + 1) * as->h * as->w * as->n; f++)
        whole += c->x[f] * c->x[f];
      least = (double)(places * as->n) * 0x1p-53 * sqrt(g * x);
      if (as->fast)
        least += (double)(tiles * (as->n + 36) + 64) * 0x1p-53 * 2 * pow(160 / 3.0, 2) * sqrt(g * whole);
      ck_assert(w->slack[k / w->line] * (w->scale != NULL ? w->scale[k % w->line] : 1) >= least * (1 - 0x1p-30));
    }
}

START_TEST(products)
{
  const shape *as = &shapes[_i];
  clarke_error err = {CLARKE_OK, ""};
  clarke_sieve_conv conv;
  truth y, x, w;
  size_t line;
  scene c;

  state = 500 + (uint64_t)_i;
  build(&c, as);
  begin(&c);
  y = zeros(as->outer * c.oh * c.ow * as->n);
  x = zeros(as->planes * as->h * as->w * as->n);
  w = zeros(as->outer * c.each * as->side * as->side);
  for (size_t o = 0; o < as->outer; o++)
    for (size_t p = 0; p < c.each; p++)
      for (size_t tap = 0; tap < as->side * as->side; tap++)
        add_products(&c, &y, &x, &w, o, p, tap);
  ck_assert(clarke_sieve_is_conv(&conv, &c.s, c.dense) == as->fast);
  ck_assert_int_eq(clarke_sieve_dense(&c.s, c.dense, &err), CLARKE_OK);
  ck_assert(!c.s.open);
  c.s.grad[c.dense->out].exact = c.as_g;
  ck_assert_int_eq(clarke_sieve_dense_back(&c.s, c.dense, &err), CLARKE_OK);
  if (as->fast) {
    expect_room_for_winograd(&c, &c.s.value[c.dense->out], c.x, false);
    expect_room_for_winograd(&c, &c.s.grad[c.graph.input], c.g, true);
  }
  ck_assert(compare(&c, &c.s.value[c.dense->out], &y, as->outer * c.oh * c.ow, as->n, CLARKE_TERMS_OF_OUTPUT) > 0);
  ck_assert(compare(&c, &c.s.grad[c.graph.input], &x, as->planes * as->h * as->w, as->n, CLARKE_TERMS_OF_INPUT) > 0);
  expect_room_for_weight(&c, &c.s.grad[c.dense->dense.weight]);
  line = c.s.grad[c.dense->dense.weight].line;
  ck_assert_uint_eq(line, as->groups > 1 ? 1 : c.each * as->side * as->side);
  ck_assert(compare(&c, &c.s.grad[c.dense->dense.weight], &w, as->outer * c.each * as->side * as->side / line, line,
                    CLARKE_TERMS_OF_WEIGHT)
            > 0);
  end(&c);
}
END_TEST

/* --- the bounds alone --- */

static void
forget_bounds(clarke_sieved *v, size_t rows)
{
  memset(v->slack, 0, rows * sizeof *v->slack);
  memset(v->top, 0, rows * sizeof *v->top);
  free(v->scale);
  v->scale = NULL;
  v->terms = 0;
}

/* Sums of |g| |x| of each entry of the weight, beside their definition. */
static void
expect_sizes(scene *c)
{
  const clarke_dense *d = &c->dense->dense;
  const size_t count = c->graph.values[d->weight].count, n = (size_t)c->as->n;
  double *size = malloc(count * sizeof *size);
  clarke_error err = {CLARKE_OK, ""};

  ck_assert_int_eq(clarke_sieve_weight_sizes(size, &c->s, c->dense, &err), CLARKE_OK);
  for (size_t e = 0; e < count; e++) {
    const size_t b = e / (d->outer * d->inner), at = e % (d->outer * d->inner);
    const size_t o = d->transposed ? at % d->outer : at / d->inner, i = d->transposed ? at / d->outer : at % d->inner;
    double sum = 0;

    for (size_t r = 0; r < d->repeat; r++) {
      const float *x = clarke_sieve_operand(&c->s, c->dense, (b * d->inner + i) * d->repeat + r);
      const float *g = c->as_g + ((b * d->outer + o) * d->repeat + r) * n;

      for (size_t j = 0; x != NULL && j < n; j++)
        sum += fabs((double)x[j] * g[j]);
    }
    ck_assert_double_eq_tol(size[e], sum, 1e-12 * sum + 1e-300);
  }
  free(size);
}

/* Twice the numbers, twice the slack; a weight below all bounds leaves all open. */
START_TEST(bounds)
{
  const shape *as = &shapes[_i];
  const size_t rows = as->outer, inputs = as->planes * as->h * as->w;
  clarke_error err = {CLARKE_OK, ""};
  clarke_sieve_product_back k;
  double *slack, *back, *weight;
  clarke_sieved *y, *x, *w;
  size_t outputs, lines;
  scene c;

  state = 900 + (uint64_t)_i;
  build(&c, as);
  begin(&c);
  outputs = rows * c.oh * c.ow;
  ck_assert_int_eq(clarke_sieve_dense(&c.s, c.dense, &err), CLARKE_OK);
  c.s.grad[c.dense->out].exact = c.as_g;
  expect_sizes(&c);
  ck_assert_int_eq(clarke_sieve_step_back(&c.s, (size_t)(c.dense - c.graph.steps), &err), CLARKE_OK);
  ck_assert(!c.s.open);
  y = &c.s.value[c.dense->out];
  x = &c.s.grad[c.graph.input];
  w = &c.s.grad[c.dense->dense.weight];
  lines = c.graph.values[c.dense->dense.weight].count / w->line;
  slack = memcpy(malloc(outputs * sizeof *slack), y->slack, outputs * sizeof *slack);
  back = memcpy(malloc(inputs * sizeof *back), x->slack, inputs * sizeof *back);
  weight = memcpy(malloc(lines * sizeof *weight), w->slack, lines * sizeof *weight);
  k = (clarke_sieve_product_back){.p = {.s = &c.s, .dense = c.dense, .d = &c.dense->dense,
                                        .w = c.graph.values[c.dense->dense.weight].real, .n = as->n,
                                        .columns = c.dense->dense.repeat * as->n, .map = clarke_sieve_map(&c.s, c.dense)},
                                  .g = c.as_g, .most = 2 * clarke_sieve_largest(c.as_g, outputs * as->n), .x = x, .w = w};
  k.p.is_conv = clarke_sieve_is_conv(&k.p.conv, &c.s, c.dense);
  forget_bounds(y, outputs);
  forget_bounds(x, inputs);
  forget_bounds(w, lines);
  ck_assert(clarke_sieve_weight(&k.p, c.dense->dense.blocks - 1) == k.p.w + (as->groups - 1) * rows / as->groups * c.dense->dense.inner);
  ck_assert(clarke_sieve_bound_output(&k.p, 2 * clarke_sieve_largest(c.as_x, inputs * as->n)));
  ck_assert_int_eq(clarke_sieve_bound_operand(&k, &err), CLARKE_OK);
  ck_assert_int_eq(clarke_sieve_bound_weight(&k, &err), CLARKE_OK);
  for (size_t f = 0; f < outputs; f++)
    ck_assert_double_eq(y->slack[f], 2 * slack[f]);
  for (size_t f = 0; f < inputs; f++)
    ck_assert_double_eq(x->slack[f], 2 * back[f]);
  for (size_t f = 0; f < lines; f++)
    ck_assert_double_eq(w->slack[f], weight[f]); /* of the numbers themselves, not of the largest */
  ck_assert(!c.s.open && x->scale != NULL && (w->scale != NULL) == (as->groups == 1));
  for (size_t e = 0; e < c.graph.values[c.dense->dense.weight].count; e++)
    c.graph.values[c.dense->dense.weight].real[e] = 0x1p-500;
  ck_assert(clarke_sieve_bound_output(&k.p, 1) && c.s.open);
  free(slack);
  free(back);
  free(weight);
  c.s.grad[c.dense->out].exact = NULL;
  end(&c);
}
END_TEST

/* --- where operands lie, and exact sums --- */

/* The definition once more: which number the operand's row is, or CLARKE_NONE for the border's zeros. */
static size_t
place_of(const scene *c, size_t f)
{
  const shape *as = c->as;
  const size_t taps = as->side * as->side, area = c->oh * c->ow, plane = f / (taps * area), tap = f / area % taps, at = f % area;
  const size_t row = at / c->ow * as->stride + tap / as->side - as->pad, col = at % c->ow * as->stride + tap % as->side - as->pad;

  return row < as->h && col < as->w ? (plane * as->h + row) * as->w + col : CLARKE_NONE;
}

START_TEST(operands)
{
  const shape *as = &shapes[_i];
  const size_t *map;
  scene c;

  state = 700 + (uint64_t)_i;
  build(&c, as);
  begin(&c);
  map = clarke_sieve_map(&c.s, c.dense);
  ck_assert_uint_eq(clarke_sieve_source(&c.s, c.dense), c.graph.input);
  for (size_t f = 0; f < as->planes * as->side * as->side * c.oh * c.ow; f++) {
    const size_t from = place_of(&c, f);

    if ((map != NULL ? map[f] : f) != from) /* kernels of one read what is there */
      ck_abort_msg("row %zu is another", f);
    if (clarke_sieve_operand(&c.s, c.dense, f) != (from != CLARKE_NONE ? c.as_x + from * as->n : NULL))
      ck_abort_msg("row %zu lies elsewhere", f);
  }
  c.s.value[c.graph.input].exact = NULL; /* it is not known exactly */
  ck_assert_uint_eq(clarke_sieve_source(&c.s, c.dense), CLARKE_NONE);
  end(&c);
}
END_TEST

/* The float nearest to a sum, among the neighbours of what doubles make of it. */
static double
nearest(const mpq_t sum)
{
  const float first = (float)mpq_get_d(sum), candidate[] = {nextafterf(first, -INFINITY), first, nextafterf(first, INFINITY)};
  size_t best = 0;
  mpq_t apart, least;

  mpq_inits(apart, least, NULL);
  for (size_t k = 0; k < 3; k++) {
    mpq_set_d(apart, candidate[k]);
    mpq_sub(apart, apart, sum);
    mpq_abs(apart, apart);
    if (k == 0 || mpq_cmp(apart, least) < 0) {
      mpq_set(least, apart);
      best = k;
    }
  }
  mpq_clears(apart, least, NULL);
  return candidate[best];
}

START_TEST(rounded_sums)
{
  const shape *as = &shapes[_i];
  clarke_error err = {CLARKE_OK, ""};
  clarke_sieve_terms terms;
  mpq_t sum, term, factor;
  bool is;
  scene c;

  state = 800 + (uint64_t)_i;
  build(&c, as);
  begin(&c);
  ck_assert_int_eq(clarke_sieve_dense(&c.s, c.dense, &err), CLARKE_OK);
  terms = (clarke_sieve_terms){.s = &c.s, .v = &c.s.value[c.dense->out], .kind = CLARKE_TERMS_OF_OUTPUT};
  mpq_inits(sum, term, factor, NULL);
  for (size_t k = 0; k < 6; k++) {
    const size_t row = draw_below(&state, as->outer * c.oh * c.ow), col = draw_below(&state, as->n), o = row / (c.oh * c.ow);
    double recorded;

    mpq_set_ui(sum, 0, 1);
    for (size_t i = 0; i < c.each * as->side * as->side; i++) {
      const size_t plane = o / c.outs * c.each + i / (as->side * as->side);
      const size_t from = place_of(&c, (plane * as->side * as->side + i % (as->side * as->side)) * c.oh * c.ow + row % (c.oh * c.ow));

      mpq_set_d(term, c.w[o * c.each * as->side * as->side + i]);
      mpq_set_d(factor, from != CLARKE_NONE ? c.x[from * as->n + col] : 0);
      mpq_mul(term, term, factor);
      mpq_add(sum, sum, term);
    }
    recorded = nearest(sum);
    ck_assert_int_eq(clarke_sieve_is_rounded_sum(&is, &terms, row, col, recorded, &err), CLARKE_OK);
    ck_assert(is);
    for (int up = 0; up < 2; up++) {
      const float other = nextafterf((float)recorded, up ? INFINITY : -INFINITY);

      ck_assert_int_eq(clarke_sieve_is_rounded_sum(&is, &terms, row, col, other, &err), CLARKE_OK);
      ck_assert(!is);
    }
  }
  mpq_clears(sum, term, factor, NULL);
  clarke_sieve_terms_clear(&terms);
  end(&c);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("sieve products");

  tcase_add_loop_test(tests, products, 0, (int)(sizeof shapes / sizeof *shapes));
  tcase_add_loop_test(tests, bounds, 0, (int)(sizeof shapes / sizeof *shapes));
  tcase_add_loop_test(tests, operands, 0, (int)(sizeof shapes / sizeof *shapes));
  tcase_add_loop_test(tests, rounded_sums, 0, (int)(sizeof shapes / sizeof *shapes));
  return run_tests();
}
