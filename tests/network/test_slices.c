/* The pass in slices: every bound that it claims against exact values, and what it decides against the exact pass. */
#include "machine.h"
#include "normalized.h"
#include "compared.h"

#include "network/pass/slices/scaling.h"
#include "network/pass/slices/moments.h"
#include "network/pass/slices/pass.h"
#include "network/pass/slices/slices.h"

/* --- bounds ----------------------------------------------------------------------------------- */

/* What was compared, beside what is exact. */
typedef struct {
  const clarke_forward *pass;
  const clarke_model *m;
  bool plain;             /* products are all of doubles, as finely as these allow */
  bool **near;            /* n_steps: of entries of steps with kinks, may their errors reach one? */
  size_t values, rounded; /* compared; with some entry off */
  size_t scaled;          /* with a scaling */
  size_t segments;        /* whose errors are bounded by themselves */
  double nearest;         /* the largest error, as a part of its bound */
  size_t last, lost;      /* the value seen last; passes that did not come to their end */
} comparison;

static void
entry_value(mpq_t value, const clarke_slicing *f, const clarke_sliced *v, size_t e)
{
  mpq_t digit;

  mpq_init(digit);
  mpq_set_ui(value, 0, 1);
  for (size_t k = 0; k < v->planes; k++) {
    const float here = v->digit[k * v->rows * f->n + e];

    mpq_set_d(digit, ldexp((double)here, (int)(v->low + f->plan->width * (long)k)));
    ck_assert(here == rintf(here) && fabsf(here) <= ldexpf(1, (int)f->plan->width - 1));
    mpq_add(value, value, digit);
  }
  mpq_clear(digit);
}

/* |digits - true| of entry (i, j), from below: the true value is known within a radius. */
static double
entry_error(const comparison *c, const clarke_slicing *f, size_t value, size_t i, size_t j)
{
  const clarke_matrix *exact = &c->pass->value[value];
  mpq_t have, want;
  double off;

  mpq_inits(have, want, NULL);
  entry_value(have, f, &f->value[value], i * f->n + j);
  clarke_matrix_get(want, exact, i, j);
  mpq_sub(have, have, want);
  off = fabs(mpq_get_d(have)) - clarke_matrix_radius(exact, i, j);
  mpq_clears(have, want, NULL);
  return off > 0 ? off : 0;
}

/* Is the entry of a step with kinks at 0, or the largest of a window, nearer to the next than errors may reach? */
static bool
within_errors(const clarke_slicing *f, const clarke_step *s, const clarke_sliced *x, size_t e)
{
  const double most = 0.999 * x->most[f->lanes == 1 ? 0 : e % f->n];
  double v, first = -INFINITY, second = -INFINITY;

  if (s->kind == CLARKE_PIECEWISE) {
    clarke_sliced_doubles(f, x, e, 1, &v);
    return s->pieces.n_kinks > 0 && mpq_sgn(s->pieces.kink[0]) == 0 && fabs(v) <= most;
  }
  for (size_t p = 0; p < s->width; p++) {
    const size_t row = s->in[0].map[e / f->n * s->width + p];

    if (row == CLARKE_NONE)
      continue;
    clarke_sliced_doubles(f, x, row * f->n + e % f->n, 1, &v);
    second = v > first ? first : v > second ? v : second;
    first = v > first ? v : first;
  }
  return first - second <= 2 * most;
}

static void
mark_near(comparison *c, const clarke_slicing *f, size_t value)
{
  for (size_t i = 0; i < f->g->n_steps; i++) {
    const clarke_step *s = &f->g->steps[i];
    const size_t entries = f->g->values[s->out].count * f->n;

    if (!clarke_step_has_kinks(s) || s->in[0].value != value)
      continue;
    c->near[i] = calloc(entries + 1, sizeof **c->near);
    for (size_t e = 0; e < entries; e++)
      c->near[i][e] = within_errors(f, s, &f->value[value], e);
  }
}

/* The norm of the errors of each segment, in the value's scaling. */
static void
compare_segments(comparison *c, const clarke_slicing *f, size_t value)
{
  const clarke_sliced *v = &f->value[value];
  const clarke_scaling *scaling = clarke_scaling_of(f, value);
  const clarke_segments *segments = clarke_segments_in(f, value);

  if (v->segment == NULL)
    return;
  ck_assert(segments != NULL && segments->end[segments->n - 1] == v->rows);
  for (size_t k = 0, i = 0; k < segments->n; k++) {
    double square = 0;

    for (; i < segments->end[k]; i++)
      for (size_t j = 0; j < f->n; j++)
        square += pow((scaling != NULL ? scaling->row[i] : 1) * entry_error(c, f, value, i, j), 2);
    if (sqrt(square) * (1 - 1e-12) > v->segment[k]) {
      print_model(c->m);
      ck_abort_msg("step %zu: a norm of %g in segment %zu, said to be %g", f->step, sqrt(square), k, v->segment[k]);
    }
    c->segments += v->segment[k] < 0.9 * (scaling != NULL ? v->scaled : v->norm[0]);
  }
}

/* What moments are kept by: the value's lowest place; and where digits were moved, they are those of what the rows were taken from. */
static void
compare_origin(const clarke_slicing *f, size_t value)
{
  const clarke_sliced *y = &f->value[value];
  const clarke_step *s = f->g->values[value].producer != CLARKE_NONE ? &f->g->steps[f->g->values[value].producer] : NULL;

  ck_assert_int_eq(f->origin[value].low, y->low);
  ck_assert(f->value[f->g->input].digit == NULL || f->origin[f->g->input].low == f->value[f->g->input].low);
  for (size_t e = 0; f->origin[value].moved && e < y->rows * y->planes; e++)
    for (size_t k = 0; k < s->n_in; k++) {
      const clarke_sliced *x = &f->value[s->in[k].value];
      const size_t from = clarke_operand_entry(&s->in[k], e % y->rows);
      const long plane = (y->low - x->low) / f->plan->width + (long)(e / y->rows);

      for (size_t j = 0; j < f->n && from != CLARKE_NONE; j++)
        ck_assert(y->digit[e * f->n + j] ==
                  (plane < 0 || plane >= (long)x->planes ? 0 : x->digit[((size_t)plane * x->rows + from) * f->n + j]));
    }
}

static void
compare_value(void *context, const clarke_slicing *f, size_t value)
{
  comparison *c = context;
  const clarke_sliced *v = &f->value[value];
  const clarke_scaling *scaling = clarke_scaling_of(f, value);
  double square[16] = {0}, all = 0, scaled = 0;

  c->last = value;
  mark_near(c, f, value);
  if (c->pass->value[value].rows == 0)
    return;
  ck_assert_uint_le(f->lanes, 16);
  compare_segments(c, f, value);
  compare_origin(f, value);
  for (size_t i = 0; i < v->rows; i++)
    for (size_t j = 0; j < f->n; j++) {
      const size_t lane = f->lanes == 1 ? 0 : j;
      const double off = entry_error(c, f, value, i, j);

      if (off > v->most[lane]) {
        print_model(c->m);
        ck_abort_msg("step %zu: off by %g, said to be by %g", f->step, off, v->most[lane]);
      }
      c->nearest = off > 0 && off / v->most[lane] > c->nearest ? off / v->most[lane] : c->nearest;
      square[lane] += off * off;
      scaled += scaling != NULL ? scaling->row[i] * off * (scaling->row[i] * off) : 0;
      all += off;
    }
  if (sqrt(scaled) * (1 - 1e-12) > v->scaled) {
    print_model(c->m);
    ck_abort_msg("step %zu: a norm of %g in its scaling, said to be %g", f->step, sqrt(scaled), v->scaled);
  }
  c->scaled += scaling != NULL;
  for (size_t lane = 0; lane < f->lanes; lane++)
    if (sqrt(square[lane]) * (1 - 1e-12) > v->norm[lane]) {
      print_model(c->m);
      ck_abort_msg("step %zu: a norm of %g, said to be %g", f->step, sqrt(square[lane]), v->norm[lane]);
    }
  c->values++;
  c->rounded += all > 0;
}

/* The plan, coarser by some digits here and there. */
static void
draw_coarser(clarke_slice_plan *plan, const clarke_graph *g, bool plain, uint64_t *state)
{
  const long coarser = (long)draw_below(state, 4);
  long grid;

  plan->width = draw_below(state, 2) ? plan->width : 8 + (long)draw_below(state, 6);
  grid = (long)draw_below(state, (size_t)plan->width);
  for (size_t v = 0; v < g->n_values; v++) {
    plan->low[v] = clarke_slice_grid(plan->low[v] / 2 * (draw_below(state, 2) ? 1 : 2), plan->width) + grid +
                  plan->width * (coarser > 0 ? (long)draw_below(state, (size_t)coarser) : 0);
    if (plain) {
      plan->width = 20;
      plan->low[v] = -60;
      plan->allowed[v] = INFINITY;
    } else if (draw_below(state, 2)) /* tails as long as may be, or none, or of some bits */
      plan->allowed[v] = (const double[]){INFINITY, 0, ldexp(1, (int)plan->low[v] - 50 + (int)draw_below(state, 80))}[draw_below(state, 3)];
  }
}

/* All places open. */
static void
run_slices(comparison *c, size_t decided[2], const machine *k, const clarke_tensor *x, uint64_t *state)
{
  const clarke_graph *g = &k->g;
  clarke_branch **piece = calloc(g->n_steps + 1, sizeof *piece);
  size_t **ties = calloc(g->n_steps + 1, sizeof *ties);
  clarke_growths growths = {0};
  clarke_slice_plan plan;
  size_t end = g->input;

  c->near = calloc(g->n_steps + 1, sizeof *c->near);
  for (size_t i = 0; i < g->n_steps; i++) {
    const size_t n = g->values[g->steps[i].out].count * k->pass.n;

    if (!clarke_step_has_kinks(&g->steps[i]))
      continue;
    piece[i] = malloc((n + 1) * sizeof **piece);
    ties[i] = calloc(k->pass.n + 1, sizeof **ties);
    clarke_branches_leave(piece[i], n);
  }
  if (clarke_slices_serve(g, piece, k->pass.n)) {
    OK(clarke_slice_plan_make(&plan, &growths, g, x, piece, k->pass.n, &error));
    draw_coarser(&plan, g, c->plain, state);
    plan.seen = compare_value;
    plan.context = c;
    OK(clarke_slices_run(piece, ties, NULL, &plan, x, &error));
    for (size_t i = 0; i < g->n_steps; i++)
      end = plan.needed[g->steps[i].out] ? g->steps[i].out : end;
    c->lost += c->last != end;
    clarke_slice_plan_clear(&plan);
    clarke_growths_clear(&growths);
  }
  for (size_t i = 0; i < g->n_steps; i++) {
    for (size_t e = 0; piece[i] != NULL && e < g->values[g->steps[i].out].count * k->pass.n; e++) {
      decided[0] += piece[i][e] != CLARKE_OPEN;
      decided[1]++;
      if (piece[i][e] != CLARKE_OPEN && piece[i][e] != k->pass.piece[i][e] && k->pass.piece[i][e] != CLARKE_OPEN) {
        print_model(c->m);
        ck_abort_msg("%s: entry %zu is decided otherwise", g->steps[i].name, e);
      }
      if (piece[i][e] != CLARKE_OPEN && c->near[i] != NULL && c->near[i][e] && ties[i][e % k->pass.n] == 0)
        ck_abort_msg("%s: entry %zu is decided within its errors", g->steps[i].name, e);
    }
    free(piece[i]);
    free(ties[i]);
    free(c->near[i]);
  }
  free(piece);
  free(ties);
  free(c->near);
}

/* Nearly all alike: what rounding takes adds up. */
static double
aligned(uint64_t *state)
{
  return draw_below(state, 8) == 0 ? 1 : 0x0.7ffbff7fefffp0;
}

static comparison
compare_networks(void (*grow)(growing *g, uint64_t *state, double (*number)(uint64_t *state)),
                 double (*number)(uint64_t *state), uint64_t seed, size_t n, bool plain)
{
  uint64_t state = seed;
  size_t decided[2] = {0, 0};
  comparison c = {.plain = plain};

  for (size_t i = 0; i < n; i++) {
    growing grown;
    clarke_tensor x;
    machine k;

    grow(&grown, &state, number);
    x = grow_batch(&grown, 1 + draw_below(&state, 5));
    machine_begin(&k, &grown.m, &x, profile_with("first"), true);
    c.pass = &k.pass;
    c.m = &grown.m;
    run_slices(&c, decided, &k, &x, &state);
    machine_end(&k);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  printf("slices: %zu values, %zu of them rounded, errors up to %g of their bounds; %zu of %zu places decided; %zu passes "
         "lost\n", c.values, c.rounded, c.nearest, decided[0], decided[1], c.lost);
  ck_assert_uint_eq(c.lost, 0);
  ck_assert_uint_gt(c.values, n / 4);
  ck_assert_uint_gt(c.rounded, c.values / 8);
  ck_assert_uint_gt(decided[0], decided[1] / 64);
  return c;
}

/* Convolutions one after another, whose windows overlap. */
static void
grow_gathering(growing *g, uint64_t *state, double (*number)(uint64_t *state))
{
  size_t dims[3] = {1 + draw_below(state, 2), 4, 4};

  grow_begin(g, state, number, 3, dims);
  for (size_t n = 2 + draw_below(state, 2); n > 0; n--)
    grow_conv(g, 2, draw_below(state, 2));
  grow_node(g, "Relu", NULL, false);
  model_output(&g->m, g->at);
}

/* Convolutions of many channels and few outputs, of all strides and paddings. */
static void
grow_narrowing(growing *g, uint64_t *state, double (*number)(uint64_t *state))
{
  size_t dims[3] = {16 + draw_below(state, 3), 3 + draw_below(state, 2), 3};

  grow_begin(g, state, number, 3, dims);
  grow_node(g, "Relu", NULL, false);
  grow_conv(g, 1, draw_below(state, 2));
  grow_node(g, "Relu", NULL, false);
  model_output(&g->m, g->at);
}

START_TEST(bounds_hold_where_outputs_are_few)
{
  compare_networks(grow_narrowing, weight_like, 67, 300, false);
  compare_networks(grow_narrowing, aligned, 69, 100, true);
  compare_networks(grow_narrowing, aligned, 75, 100, false);
}
END_TEST

START_TEST(bounds_hold_in_convolutional_networks)
{
  ck_assert(compare_networks(grow_convolutional, weight_like, 5, 2500, false).nearest > 0.2);
}
END_TEST

START_TEST(bounds_hold_behind_normalizations)
{
  ck_assert(compare_networks(grow_normalized, weight_like, 7, 2500, false).nearest > 0.2);
}
END_TEST

/* From channel to channel, and entry to entry, by factors of up to 2^12. */
static double
spread(uint64_t *state)
{
  return ldexp(full_double(state), -(int)draw_below(state, 13));
}

/* Convolutions, often of single channels, and concatenations with what was there before, each normalized. */
static void
grow_scaled(growing *g, uint64_t *state, double (*number)(uint64_t *state))
{
  size_t dims[3] = {1 + draw_below(state, 2), 3, 3};
  char beside[16];

  grow_begin(g, state, number, 3, dims);
  for (size_t n = 2 + draw_below(state, 2); n > 0; n--) {
    grow_conv(g, 3, false);
    strcpy(beside, g->at);
    if (draw_below(state, 2))
      grow_node(g, "Relu", NULL, false);
    if (draw_below(state, 2)) {
      attr_int(grow_node(g, "Concat", beside, draw_below(state, 2)), "axis", 1);
      g->dims[0] *= 2;
    }
    grow_trained(g);
    if (draw_below(state, 2))
      grow_node(g, "Relu", NULL, false);
  }
  grow_node(g, "Relu", NULL, false);
  model_output(&g->m, g->at);
}

START_TEST(bounds_hold_in_scalings)
{
  const comparison c = compare_networks(grow_scaled, spread, 51, 300, false);

  ck_assert_uint_gt(c.scaled, 300);
  compare_networks(grow_scaled, aligned, 53, 100, false);
  compare_networks(grow_scaled, spread, 55, 100, true);
}
END_TEST

/* What was there before beside what is made of it, several times, in which order ever: often normalized, and multiplied at each
 * place. */
static void
grow_joined(growing *g, uint64_t *state, double (*number)(uint64_t *state))
{
  size_t dims[1] = {1 + draw_below(state, 3)};
  char beside[16];

  grow_begin(g, state, number, 1, dims);
  for (size_t n = 2 + draw_below(state, 3); n > 0; n--) {
    const size_t before = g->dims[0];

    strcpy(beside, g->at);
    if (draw_below(state, 4) == 0)
      grow_node(g, "Relu", NULL, false);
    if (draw_below(state, 4) > 0)
      grow_trained(g);
    if (draw_below(state, 2))
      grow_node(g, "Relu", NULL, false);
    grow_dense(g, 1 + draw_below(state, 3));
    attr_int(grow_node(g, "Concat", beside, draw_below(state, 2)), "axis", 1);
    g->dims[0] += before;
  }
  grow_trained(g);
  grow_node(g, "Relu", NULL, false);
  grow_dense(g, 2);
  grow_trained(g);
  grow_node(g, "Relu", NULL, false);
  model_output(&g->m, g->at);
}

/* Deviations above 1: what normalizations read counts less than once. */
static double
large(uint64_t *state)
{
  return ldexp(full_double(state), (int)draw_below(state, 8));
}

START_TEST(bounds_hold_in_segments)
{
  const comparison c = compare_networks(grow_joined, spread, 61, 400, false);

  printf("%zu segments\n", c.segments);
  ck_assert_uint_gt(c.segments, 500);
  compare_networks(grow_joined, aligned, 63, 200, false);
  compare_networks(grow_joined, large, 71, 300, false);
  compare_networks(grow_joined, full_double, 65, 200, true);
}
END_TEST

/* Pieces that shift what they keep are not followed. */
static void
grow_shifted(growing *g, uint64_t *state, double (*number)(uint64_t *state))
{
  size_t dims[1] = {1 + draw_below(state, 3)};

  grow_begin(g, state, number, 1, dims);
  for (size_t n = 1 + draw_below(state, 3); n > 0; n--) {
    clarke_model_node *node;

    grow_dense(g, 1 + draw_below(state, 3));
    node = grow_node(g, "HardSigmoid", NULL, false);
    attr_float(node, "alpha", 1);
    attr_float(node, "beta", draw_below(state, 2) ? 0 : 0.25);
  }
  grow_dense(g, 2);
  grow_node(g, "Relu", NULL, false);
  model_output(&g->m, g->at);
}

START_TEST(shifted_pieces)
{
  compare_networks(grow_shifted, weight_like, 73, 300, false);
}
END_TEST

START_TEST(bounds_hold_where_roundings_add_up)
{
  ck_assert(compare_networks(grow_convolutional, aligned, 9, 1500, false).nearest > 0.2);
  ck_assert(compare_networks(grow_gathering, aligned, 11, 300, false).nearest > 0.2);
}
END_TEST

/* Sums of equal terms that all round alike: errors come near what n roundings may make. */
START_TEST(bounds_hold_of_products_in_doubles)
{
  compare_networks(grow_convolutional, full_double, 41, 300, true);
  compare_networks(grow_convolutional, aligned, 43, 300, true);
  compare_networks(grow_gathering, aligned, 45, 100, true);
  compare_networks(grow_normalized, weight_like, 47, 300, true);
}
END_TEST

/* The grown network, from a batch that is cut to integers: its errors are known. How many values there were. */
static size_t
compare_from_integers(growing *g, const double *batch, size_t samples)
{
  clarke_tensor x = grow_batch(g, samples);
  machine k;
  comparison c = {.m = &g->m};
  clarke_branch *piece[64] = {0}, open[64];
  size_t *ties[64] = {0};
  clarke_growths growths = {0};
  clarke_slice_plan plan;

  memcpy(x.real, batch, x.count * sizeof *batch);
  machine_begin(&k, &g->m, &x, profile_with("first"), true);
  ck_assert_uint_lt(k.g.n_steps, 64);
  clarke_branches_leave(open, 64);
  piece[k.g.n_steps - 1] = open;
  c.pass = &k.pass;
  c.near = calloc(k.g.n_steps + 1, sizeof *c.near);
  OK(clarke_slice_plan_make(&plan, &growths, &k.g, &x, piece, samples, &error));
  for (size_t v = 0; v < k.g.n_values; v++) /* all else is exact but for a little */
    plan.low[v] = v == k.g.input ? 0 : -2 * plan.width;
  plan.seen = compare_value;
  plan.context = &c;
  OK(clarke_slices_run(piece, ties, NULL, &plan, &x, &error));
  for (size_t i = 0; i < k.g.n_steps; i++)
    free(c.near[i]);
  free(c.near);
  clarke_slice_plan_clear(&plan);
  clarke_growths_clear(&growths);
  machine_end(&k);
  clarke_tensor_clear(&x);
  clarke_model_clear(&g->m);
  return c.values;
}

static int exponent; /* of what a normalization is multiplied by, or shifted by */

static double
shifted_far(uint64_t *state)
{
  return (*state)++ == 0 ? 1 : ldexp(1, exponent);
}

static double
scaled_far(uint64_t *state)
{
  return (*state)++ == 0 ? ldexp(1, exponent) : 1;
}

/* A normalization computes its multiple and its shift to so many bits: what these do not reach down to a value's lowest place is left
 * alone, though there are digits enough for it. */
START_TEST(bounds_hold_where_shifts_are_large)
{
  static const double batch[] = {1, 2, 4, 9};
  static double (*const number[])(uint64_t *state) = {shifted_far, scaled_far};

  for (size_t i = 0; i < 2; i++)
    for (exponent = 0; exponent <= 600; exponent += 40) {
      uint64_t state = 0;
      size_t dims[1] = {1};
      growing g;

      grow_begin(&g, &state, number[i], 1, dims);
      grow_trained(&g);
      grow_node(&g, "Relu", NULL, false);
      model_output(&g.m, g.at);
      ck_assert_uint_eq(compare_from_integers(&g, batch, 4), exponent <= 240 ? 2 : 0);
    }
}
END_TEST

/* A deviation that errors make smaller: 0.51, -0.51, 0.49, -0.49 are 1, -1, 0, 0 in digits. Their errors' norm is 0.98, their
 * normalizations are farther apart than 0.98 over the deviation of the digits. */
START_TEST(bounds_hold_where_errors_move_deviations)
{
  static const double batch[] = {0.51, -0.51, 0.49, -0.49};
  uint64_t state = 31;
  size_t dims[1] = {1};
  growing g;

  grow_begin(&g, &state, aligned, 1, dims);
  grow_trained(&g);
  grow_node(&g, "Relu", NULL, false);
  model_output(&g.m, g.at);
  ck_assert_uint_gt(compare_from_integers(&g, batch, 4), 1);
}
END_TEST

static double
one(uint64_t *state)
{
  (void)state;
  return 1;
}

static void
multiply_by(growing *g, size_t rows, size_t cols, const double *numbers)
{
  char name[16];

  strcpy(name, new_name(g, "w"));
  memcpy(model_floats(&g->m, name, SHAPE((long)rows, (long)cols,)), numbers, rows * cols * sizeof *numbers);
  grow_node(g, "MatMul", name, false);
  g->dims[0] = cols;
}

/* A Concat of x and 4 x, and their sum: 5 times the error of x, where the norm of all would say 5.8 times. Normalized first: 1 of
 * the one and a quarter of the other. */
START_TEST(bounds_hold_where_segments_add_up)
{
  static const double even[] = {2.49, 1.49, -1.51, -2.51}, apart[] = {2.4, 1.6, -1.6, -2.4};
  /* four: not on the places of integers */
  static const double four[] = {4 + 0x1p-10}, both[] = {1, 1}, less[] = {1, 0.25};

  for (size_t normalized = 0; normalized < 2; normalized++) {
    uint64_t state = 37;
    size_t dims[1] = {1};
    char beside[16];
    growing g;

    grow_begin(&g, &state, one, 1, dims);
    strcpy(beside, g.at);
    multiply_by(&g, 1, 1, four);
    attr_int(grow_node(&g, "Concat", beside, true), "axis", 1);
    g.dims[0] = 2;
    if (normalized)
      grow_trained(&g);
    multiply_by(&g, 2, 1, normalized ? less : both);
    grow_trained(&g);
    grow_node(&g, "Relu", NULL, false);
    model_output(&g.m, g.at);
    ck_assert_uint_gt(compare_from_integers(&g, normalized ? apart : even, 4), 1);
  }
}
END_TEST

/* Entry `place` of the input, or both side by side. */
static void
take_entry(growing *g, const char *whole, int64_t place)
{
  strcpy(g->at, whole);
  grow_integers(g, "Gather", 1, &place);
  attr_int(&g->m.nodes[g->m.n_nodes - 1], "axis", 1);
}

static double
an_eighth_first(uint64_t *state)
{
  return (*state)++ == 0 ? 0.125 : 1;
}

/* Two normalizations in a row: what is between them has a scaling, and no segments. The first one's argument has two: the first, large
 * and exact, and multiplied by 1/8, says nothing of the second's deviation. */
START_TEST(bounds_hold_where_segments_end)
{
  static const double batch[] = {1e5, 0.51, -1e5, -0.51, 1e5, 0.49, -1e5, -0.49};
  uint64_t state = 0;
  size_t dims[1] = {2};
  char whole[16], first[16];
  growing g;

  grow_begin(&g, &state, one, 1, dims);
  strcpy(whole, g.at);
  take_entry(&g, whole, 0);
  strcpy(first, g.at);
  take_entry(&g, whole, 1);
  attr_int(grow_node(&g, "Concat", first, true), "axis", 1);
  g.number = an_eighth_first;
  state = 0;
  grow_trained(&g);
  grow_trained(&g);
  grow_node(&g, "Relu", NULL, false);
  model_output(&g.m, g.at);
  ck_assert_uint_gt(compare_from_integers(&g, batch, 4), 1);
}
END_TEST

/* A Concat's operands, where each of them ends, and what is left as it is behind it. */
START_TEST(segments_are_of_what_is_joined)
{
  uint64_t state = 39;
  growing grown;
  clarke_tensor x;
  clarke_graph g;
  size_t dims[1] = {2}, joins = 0, kept = 0;
  char beside[16];
  bool *needed;
  clarke_segments *of;

  grow_begin(&grown, &state, one, 1, dims);
  for (size_t n = 0; n < 2; n++) { /* 2 and 3 rows, then 4 more behind */
    strcpy(beside, grown.at);
    grow_dense(&grown, 3 + n);
    attr_int(grow_node(&grown, "Concat", beside, true), "axis", 1);
    grown.dims[0] = n == 0 ? 5 : 9;
  }
  grow_trained(&grown);
  grow_node(&grown, "Relu", NULL, false);
  model_output(&grown.m, grown.at);
  x = grow_batch(&grown, 2);
  clarke_graph_init(&g);
  OK(clarke_graph_build(&g, &grown.m, &x, &error));
  needed = malloc((g.n_values + 1) * sizeof *needed);
  memset(needed, 1, g.n_values * sizeof *needed);
  of = calloc(g.n_values + 1, sizeof *of);
  OK(clarke_segments_find(of, &g, needed, &error));
  for (size_t i = 0; i < g.n_steps; i++) {
    const clarke_step *s = &g.steps[i];
    const clarke_segments *to = &of[s->out];
    size_t segment;

    if (clarke_segments_join(&g, s)) {
      ck_assert_uint_eq(to->n, ++joins + 1);
      ck_assert(to->end[0] == 2 && to->end[1] == 5 && (joins == 1 || to->end[2] == 9));
      ck_assert_uint_eq(clarke_segment_of(to, 1), 0);
      ck_assert_uint_eq(clarke_segment_of(to, 2), 1);
      ck_assert_uint_eq(clarke_segment_of(to, 4), 1);
      ck_assert_uint_eq(clarke_segment_source(of, s, 0, &segment), 0);
      ck_assert_uint_eq(segment, 0);
      ck_assert_uint_eq(clarke_segment_source(of, s, 1, &segment), joins == 1 ? 1 : 0);
      ck_assert_uint_eq(segment, joins == 1 ? 0 : 1);
      ck_assert(joins == 1 || clarke_segment_source(of, s, 2, &segment) == 1);
    } else if (joins == 2) {
      ck_assert_uint_eq(to->n, 3);
      kept++;
    } else {
      ck_assert_uint_eq(to->n, 0);
    }
  }
  ck_assert(joins == 2 && kept >= 3);
  clarke_segments_free(of, &g);
  free(needed);
  clarke_graph_clear(&g);
  clarke_tensor_clear(&x);
  clarke_model_clear(&grown.m);
}
END_TEST

/* Where entries take two activations there are no segments; nor where a normalization's groups lie in several. */
START_TEST(segments_are_apart)
{
  size_t first[] = {0, 1, CLARKE_NONE}, second[] = {CLARKE_NONE, 0, 1}, third[] = {CLARKE_NONE, CLARKE_NONE, 0};
  clarke_value values[4] = {{.count = 2}, {.count = 2}, {.count = 3}, {.count = 3}};
  clarke_operand in[2] = {{.value = 0, .coef = 1, .map = first}, {.value = 1, .coef = 1, .map = second}};
  clarke_step steps[2] = {{.kind = CLARKE_SUM, .n_in = 2, .in = in, .out = 2}};
  clarke_operand next = {.value = 2};
  clarke_graph g = {.n_values = 4, .values = values, .n_steps = 2, .steps = steps};
  const bool needed[4] = {true, true, true, true};

  steps[1] = (clarke_step){.kind = CLARKE_NORMALIZE, .n_in = 1, .in = &next, .out = 3,
                           .grouping = {.blocks = 1, .groups = 3, .length = 1, .couples = true}};
  for (size_t k = 0; k < 4; k++) {
    clarke_segments *of = calloc(4, sizeof *of);

    if (k == 1)
      in[1].map = third;
    if (k == 2)
      steps[1].grouping = (clarke_grouping){.blocks = 1, .groups = 1, .length = 3, .couples = true};
    if (k == 3)
      steps[1].grouping = (clarke_grouping){.blocks = 3, .groups = 1, .length = 1, .couples = true};
    OK(clarke_segments_find(of, &g, needed, &error));
    ck_assert_uint_eq(of[2].n, k == 0 ? 0 : 2);
    ck_assert_uint_eq(of[3].n, k == 1 ? 2 : 0);
    for (size_t lanes = 1; lanes < 3; lanes++) { /* samples that are not coupled have none */
      const clarke_growths growths = {.segments = of};
      const clarke_slice_plan plan = {.growths = &growths};
      clarke_sliced sliced[4] = {{0}};
      clarke_slicing f = {.g = &g, .plan = &plan, .value = sliced, .n = 2, .lanes = lanes, .err = &error};

      OK(clarke_sliced_segment(&f, 3));
      ck_assert(clarke_segments_in(&f, 3) == (k == 1 && lanes == 1 ? &of[3] : NULL));
      ck_assert((sliced[3].segment != NULL) == (k == 1 && lanes == 1));
      ck_assert(sliced[3].segment == NULL || (isinf(sliced[3].segment[0]) && isinf(sliced[3].segment[1])));
      clarke_sliced_drop(&sliced[3]);
    }
    clarke_segments_free(of, &g);
  }
}
END_TEST

/* A product of a column that holds an entry twice: 0.4 is 0 in digits, and the sum of two of it is off by 0.8. */
START_TEST(bounds_hold_where_columns_repeat_entries)
{
  static const double batch[] = {0.4};
  uint64_t state = 33;
  size_t dims[1] = {1};
  growing g;
  int64_t *repeats;
  double *weight;

  grow_begin(&g, &state, aligned, 1, dims);
  repeats = model_integers(&g.m, "twice", SHAPE(2,));
  repeats[0] = 1;
  repeats[1] = 2;
  weight = model_floats(&g.m, "both", SHAPE(2, 1,));
  weight[0] = weight[1] = 1;
  grow_node(&g, "Tile", "twice", false);
  grow_node(&g, "MatMul", "both", false);
  grow_node(&g, "Relu", NULL, false);
  model_output(&g.m, g.at);
  ck_assert_uint_gt(compare_from_integers(&g, batch, 1), 1);
}
END_TEST

/* What a normalization reads counts by its deviations; what is added to make it, as much. */
START_TEST(scalings_are_of_deviations)
{
  uint64_t state = 35;
  growing grown;
  clarke_tensor x;
  clarke_graph g;
  clarke_growths growths = {0};
  clarke_sizes sizes;
  bool *needed;
  clarke_scaling *scaling;

  grow_scaled(&grown, &state, full_double);
  x = grow_batch(&grown, 3);
  clarke_graph_init(&g);
  OK(clarke_graph_build(&g, &grown.m, &x, &error));
  needed = malloc((g.n_values + 1) * sizeof *needed);
  scaling = calloc(g.n_values + 1, sizeof *scaling);
  clarke_graph_needed(&g, false, needed);
  OK(clarke_sizes_measure(&sizes, &g, &x, 3, needed, &error));
  OK(clarke_scalings_choose(scaling, &g, needed, &sizes, &error));
  OK(clarke_growths_add_scaled(&growths, &g, needed, scaling, 3, &error));
  for (size_t i = 0; i < g.n_steps; i++) {
    const clarke_step *s = &g.steps[i];
    const clarke_scaling *of = &scaling[s->in[0].value];

    for (size_t r = 0; needed[s->out] && s->kind == CLARKE_NORMALIZE && r < g.values[s->out].count; r++)
      ck_assert(of->row[r] >= 1 / sizes.deviation[i][clarke_step_group(s, r)]);
    if (needed[s->out] && s->kind == CLARKE_SUM && scaling[s->out].row != NULL && s->in[0].coef == 1 && !g.values[s->in[0].value].constant)
      ck_assert(clarke_scaling_growth(scaling, &g, s, 0) <= 1 + 0x1p-40);
  }
  for (size_t v = 0; v < g.n_values; v++)
    if (scaling[v].row != NULL) {
      clarke_slice_plan plan = {.scaling = scaling};
      float digit = 0;
      double norm = 1, most = 1, square = 0;
      clarke_sliced *value = calloc(g.n_values + 1, sizeof *value);
      clarke_slicing f = {.g = &g, .plan = &plan, .value = value};

      value[v] = (clarke_sliced){.digit = &digit, .norm = &norm, .most = &most, .scaled = INFINITY};
      for (size_t r = 0; r < g.values[v].count; r++)
        square += scaling[v].row[r] * scaling[v].row[r];
      ck_assert(scaling[v].size >= sqrt(square) * (1 - 0x1p-40));
      clarke_sliced_settle(&f, v);
      ck_assert(norm == 1 && value[v].scaled >= scaling[v].most && value[v].scaled < scaling[v].most * 1.001);
      free(value);
    }
  for (size_t v = 0; v < g.n_values; v++)
    free(scaling[v].row);
  free(scaling);
  free(needed);
  clarke_growths_clear(&growths);
  clarke_sizes_clear(&sizes, &g);
  clarke_graph_clear(&g);
  clarke_tensor_clear(&x);
  clarke_model_clear(&grown.m);
}
END_TEST

/* --- deep ------------------------------------------------------------------------------------- */

/* So many dense layers with a ReLU each: doubles lose them all, and what is decided is what is exact. */
static void
grow_deep(growing *g, uint64_t *state, size_t layers, bool normalized)
{
  size_t dims[1] = {24};

  grow_begin(g, state, full_double, 1, dims);
  for (size_t l = 0; l < layers; l++) {
    grow_dense(g, 24);
    if (normalized)
      grow_trained(g);
    grow_node(g, "Relu", NULL, false);
  }
  model_output(&g->m, g->at);
}

START_TEST(deep_networks_are_decided)
{
  uint64_t state = 21;
  size_t filtered = 0, total = 0, before = refined_entries;

  for (size_t i = 0; i < 12; i++) {
    growing grown;
    clarke_tensor x;

    grow_deep(&grown, &state, i % 2 == 0 ? 15 : 12, i % 2);
    x = grow_batch(&grown, 4);
    compare_with_exact(&grown.m, &x, &filtered, &total);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  printf("deep: %zu of %zu decided by the filter, %zu behind it\n", filtered, total, refined_entries - before);
  ck_assert_uint_gt(refined_entries, before);
}
END_TEST

/* No step of a kind that the pass does not follow is in a plan that follows. */
START_TEST(kinds_are_followed_or_not)
{
  for (clarke_step_kind kind = CLARKE_GATHER; kind <= CLARKE_PRODUCT; kind++)
    ck_assert_int_eq(clarke_slices_has(kind), kind != CLARKE_ANALYTIC && kind != CLARKE_SOFTMAX && kind != CLARKE_PRODUCT);
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("network-slices");

  tcase_add_test(tcase, kinds_are_followed_or_not);

  tcase_add_test(tcase, bounds_hold_in_convolutional_networks);
  tcase_add_test(tcase, bounds_hold_where_outputs_are_few);
  tcase_add_test(tcase, bounds_hold_behind_normalizations);
  tcase_add_test(tcase, bounds_hold_in_scalings);
  tcase_add_test(tcase, bounds_hold_in_segments);
  tcase_add_test(tcase, bounds_hold_where_segments_add_up);
  tcase_add_test(tcase, bounds_hold_where_segments_end);
  tcase_add_test(tcase, segments_are_of_what_is_joined);
  tcase_add_test(tcase, segments_are_apart);
  tcase_add_test(tcase, shifted_pieces);
  tcase_add_test(tcase, bounds_hold_where_roundings_add_up);
  tcase_add_test(tcase, bounds_hold_of_products_in_doubles);
  tcase_add_test(tcase, bounds_hold_where_shifts_are_large);
  tcase_add_test(tcase, bounds_hold_where_errors_move_deviations);
  tcase_add_test(tcase, bounds_hold_where_columns_repeat_entries);
  tcase_add_test(tcase, scalings_are_of_deviations);
  tcase_add_test(tcase, deep_networks_are_decided);
  return run_tests();
}
