/* One step of a filter at a time: operands known within drawn errors, and the step in rationals on what they may truly be. What comes
 * out holds that, entry by entry and as norms; no place is decided that the true entries contradict. And the room for enclosures. */
#include "../ok.h"
#include "../op/steps.h"
#include "../suites.h"
#include "filter_scene.h"
#include "networks.h"

#include "network/graph/build.h"
#include "network/pass/analytic.h"
#include "network/pass/filter/filter.h"
#include "network/pass/filter/norms.h"

#include <math.h>

static clarke_status
go(scene *c, const clarke_step *s, clarke_branch *piece, size_t *ties, size_t *open)
{
  c->f.piece[s - c->f.g->steps] = piece;
  c->f.ties[s - c->f.g->steps] = ties;
  c->f.open = open;
  switch (s->kind) {
  case CLARKE_GATHER:
    return clarke_filter_gather(&c->f, s);
  case CLARKE_SUM:
    return clarke_filter_sum(&c->f, s);
  case CLARKE_SCALE:
    return clarke_filter_scale(&c->f, s);
  case CLARKE_DENSE:
    if (!c->f.fine || s->dense.inner % 2 == 0)
      return clarke_filter_dense(&c->f, s);
    OK(clarke_enclosure_alloc(&c->f, &c->f.value[s->out], c->f.g->values[s->out].count));
    return clarke_filter_dense_fine(&c->f, s, &c->f.value[s->out]);
  case CLARKE_PRODUCT:
    return clarke_filter_product(&c->f, s);
  case CLARKE_PIECEWISE:
    return clarke_filter_piecewise(&c->f, s);
  default:
    return clarke_filter_max(&c->f, s);
  }
}

/* The step's true entries, one sample, are in the enclosure. */
static void
check_sample(const scene *c, const clarke_step *s, steps_run *r, size_t j)
{
  const clarke_enclosure *y = &c->f.value[s->out];
  double squares = 0, most = 0;
  mpq_t off;

  mpq_init(off);
  for (size_t k = 0; k < s->n_in; k++)
    for (size_t e = 0; !c->f.g->values[s->in[k].value].constant && e < c->f.g->values[s->in[k].value].count; e++)
      mpq_set_d(r->value[s->in[k].value][e], c->truth[s->in[k].value][e * c->f.n + j]);
  for (size_t i = 0; i < y->rows; i++) {
    const double bound = clarke_enclosure_bound_at(&c->f, y, i, j);
    double distance;

    mpq_set_ui(r->value[s->out][i], 0, 1);
    steps_one(r, s, i);
    mpq_set_d(off, y->y[i * c->f.n + j]);
    mpq_sub(off, off, r->value[s->out][i]);
    distance = fabs(mpq_get_d(off)); /* towards 0 */
    ck_assert_msg(distance <= bound, "kind %d, entry %zu: %g off, %g said", (int)s->kind, i, distance, bound);
    ck_assert_double_lt(bound, 1e4);
    squares += distance * distance;
    most = fmax(most, distance);
  }
  if (y->norm != NULL) {
    ck_assert_double_le(sqrt(squares) * (1 - 0x1p-40), y->norm[j]);
    ck_assert_double_le(most, y->most[j]);
  }
  mpq_clear(off);
}

/* A row's bounds at once are those one by one. */
static void
check_rows(const scene *c, size_t v)
{
  const clarke_enclosure *e = &c->f.value[v];

  for (size_t i = 0; i < e->rows; i++) {
    clarke_enclosure_row_bounds(&c->f, e, i, c->f.bound);
    for (size_t j = 0; j < c->f.n; j++)
      ck_assert(c->f.bound[j] == clarke_enclosure_bound_at(&c->f, e, i, j));
  }
}

/* How many places are decided, rightly. */
static size_t
check_places(const scene *c, const clarke_step *s, const clarke_branch *piece, size_t open)
{
  const size_t n = c->f.n, rows = c->f.g->values[s->out].count;
  const double *x = c->truth[s->in[0].value];
  size_t decided = 0;

  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < n; j++) {
      const clarke_branch code = piece[i * n + j];

      if (code == CLARKE_OPEN)
        continue;
      decided++;
      for (size_t k = 0; s->kind == CLARKE_PIECEWISE && k < s->pieces.n_kinks; k++) {
        const double kink = mpq_get_d(s->pieces.kink[k]), at = x[i * n + j];

        ck_assert(code < 0 ? CLARKE_KINK_OF(code) != k || at == kink : (int)k < code ? at > kink : at < kink);
      }
      for (size_t k = 0; s->kind == CLARKE_MAX && k < s->width; k++) {
        const size_t here = s->in[0].map[i * s->width + k], best = s->in[0].map[i * s->width + (size_t)code];

        ck_assert(here == CLARKE_NONE || x[here * n + j] <= x[best * n + j]);
      }
    }
  ck_assert_uint_eq(decided + open, rows * n);
  return decided;
}

static size_t
check_step(scene *c, const clarke_step *s, clarke_tensor *x, uint64_t *state)
{
  const size_t count = c->f.g->values[s->out].count * c->f.n;
  clarke_branch *piece = malloc((count + 1) * sizeof *piece);
  size_t *ties = calloc(c->f.n + 1, sizeof *ties), open = 0, decided = 0;
  steps_run r;

  clarke_branches_leave(piece, count);
  for (size_t k = 0; k < s->n_in; k++)
    if (!c->f.g->values[s->in[k].value].constant)
      draw_operand(c, s->in[k].value, state);
  for (size_t e = 0; s->in[0].value == c->f.g->input && e < x->count; e++) /* feature-major here, sample-major there */
    x->real[e % c->f.n * (x->count / c->f.n) + e / c->f.n] = c->truth[c->f.g->input][e];
  c->f.step = (size_t)(s - c->f.g->steps);
  clarke_enclosure_drop(&c->f.value[s->out]);
  OK(go(c, s, piece, ties, &open));
  steps_begin(&r, c->f.g);
  for (size_t j = 0; j < c->f.n; j++)
    check_sample(c, s, &r, j);
  steps_end(&r);
  check_rows(c, s->out);
  if (clarke_step_has_kinks(s))
    decided = check_places(c, s, piece, open);
  free(piece);
  free(ties);
  return decided;
}

/* A function of the true entries, by Arb, is where its enclosure says; arguments beyond the last cell have no bounds, and those that are
 * off by more than a cell have the bounds of any slope. */
static void
check_function(scene *c, const clarke_step *s, uint64_t *state)
{
  const size_t v = s->in[0].value, entries = c->f.g->values[v].count * c->f.n;
  arb_t y, near;

  arb_init(y);
  arb_init(near);
  draw_operand(c, v, state);
  if (draw_below(state, 4) == 0)
    for (size_t e = 0; e < entries; e++)
      c->truth[v][e] += 16, c->f.value[v].y[e] += 16;
  clarke_enclosure_drop(&c->f.value[s->out]);
  OK(clarke_filter_analytic(&c->f, s));
  ck_assert(c->f.value[s->out].known == !clarke_step_has_domain(s));
  for (size_t e = 0; e < entries && c->f.value[s->out].known; e++) {
    const double bound = clarke_enclosure_bound_at(&c->f, &c->f.value[s->out], e / c->f.n, e % c->f.n);

    arb_set_d(y, c->truth[v][e]);
    clarke_analytic_value(y, y, s->function, 120);
    arb_set_d(near, c->f.value[s->out].y[e]);
    arb_sub(y, y, near, 200);
    ck_assert_msg(fabs(arf_get_d(arb_midref(y), ARF_RND_DOWN)) <= bound, "function %d: %g off, %g said", (int)s->function,
                  arf_get_d(arb_midref(y), ARF_RND_DOWN), bound);
    ck_assert(bound < 1e3 || s->function == CLARKE_EXP);
  }
  arb_clear(y);
  arb_clear(near);
}

/* What the plain evaluator follows; of windows those of inputs, whose entries no earlier step makes alike. */
static bool
is_followed(const clarke_graph *g, const clarke_step *s)
{
  if (s->kind == CLARKE_MAX)
    return s->in[0].value == g->input;
  return s->kind != CLARKE_ANALYTIC && s->kind != CLARKE_SOFTMAX && s->kind != CLARKE_NORMALIZE && !s->root
         && (s->kind != CLARKE_PIECEWISE || s->pieces.slope == CLARKE_NONE);
}

START_TEST(steps_hold_what_may_be)
{
  uint64_t state = 1;
  size_t seen[CLARKE_PRODUCT + 1] = {0}, decided = 0;

  for (int round = 0; round < 240; round++) {
    growing grown;
    clarke_tensor x = grow_network(&grown, &state, draw_number, 4, true);
    clarke_graph g;
    scene c;

    clarke_graph_init(&g);
    OK(clarke_graph_build(&g, &grown.m, &x, &error));
    begin(&c, &g, &x, round % 3 == 0, round % 3 == 1);
    for (size_t i = 0; i < g.n_steps; i++)
      if (is_followed(&g, &g.steps[i])) {
        decided += check_step(&c, &g.steps[i], &x, &state);
        seen[g.steps[i].kind]++;
      }
    end(&c);
    clarke_graph_clear(&g);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  for (int kind = CLARKE_GATHER; kind <= CLARKE_PRODUCT; kind++)
    ck_assert_msg(seen[kind] > 10 || kind == CLARKE_ANALYTIC || kind == CLARKE_SOFTMAX || kind == CLARKE_NORMALIZE,
                  "kind %d: %zu steps", kind, seen[kind]);
  ck_assert_uint_gt(decided, 100);
}
END_TEST

/* One step of each function, of four entries and three samples. */
START_TEST(functions_hold_what_may_be)
{
  clarke_operand x = {.value = 0, .coef = 1};
  clarke_value values[2] = {{.count = 4}, {.count = 4}};
  clarke_step s = {.kind = CLARKE_ANALYTIC, .function = (clarke_function)_i, .out = 1, .n_in = 1, .in = &x};
  clarke_graph g = {.samples = 3, .n_values = 2, .n_steps = 1, .values = values, .steps = &s, .output = 1};
  uint64_t state = 5 + (uint64_t)_i;

  for (int round = 0; round < 200; round++) {
    scene c;

    begin(&c, &g, NULL, round % 2 == 0, false);
    check_function(&c, &s, &state);
    end(&c);
  }
}
END_TEST

/* --- room and roundings ---------------------------------------------------------------------- */

enum { N = 3 };

static clarke_graph none;

static void
room(clarke_filter *f, clarke_enclosure value[2], size_t last[2], bool fine)
{
  memset(value, 0, 2 * sizeof *value);
  *f = (clarke_filter){.g = &none, .n = N, .fine = fine, .value = value, .last = last, .step = 4, .err = &error};
  OK(clarke_enclosure_alloc(f, &value[0], 2));
  for (size_t e = 0; e < 2 * N; e++) {
    value[0].y[e] = (double)e;
    if (fine)
      value[0].each[e] = (float)e / 8;
  }
  for (size_t k = 0; k < N; k++)
    value[0].col[k] = (double)k / 4;
  value[0].row[0] = 1;
  value[0].row[1] = 0.5;
}

START_TEST(inherited)
{
  for (int fine = 0; fine < 2; fine++) {
    clarke_enclosure value[2], kept;
    size_t last[2] = {9, 9};
    clarke_filter f;

    room(&f, value, last, fine);
    OK(clarke_enclosure_inherit(&f, &value[1], 0));
    kept = value[0];
    ck_assert(value[1].y != kept.y && value[1].known && value[1].rows == 2);
    ck_assert_mem_eq(value[1].y, kept.y, 2 * N * sizeof *kept.y);
    ck_assert_mem_eq(value[1].row, kept.row, 2 * sizeof *kept.row);
    ck_assert_mem_eq(value[1].col, kept.col, N * sizeof *kept.col);
    for (size_t e = 0; fine && e < 2 * N; e++)
      ck_assert(value[1].each[e] == kept.each[e]);
    clarke_enclosure_drop(&value[1]);
    last[0] = 4; /* no later step reads it */
    OK(clarke_enclosure_inherit(&f, &value[1], 0));
    ck_assert(value[1].y == kept.y && value[0].y == NULL && !value[0].known);
    clarke_enclosure_drop(&value[1]);
    ck_assert(value[1].y == NULL && value[1].row == NULL && value[1].each == NULL);
  }
}
END_TEST

/* Every entry's bound grows by the rounding at least: by rows where it is small beside what is there, else all alike. */
START_TEST(added_roundings)
{
  uint64_t state = 2;
  size_t by_rows = 0, alike = 0;

  for (int round = 0; round < 600; round++) {
    clarke_enclosure value[2];
    size_t last[2] = {9, 9};
    double before[2 * N], error_of[N];
    clarke_filter f;

    room(&f, value, last, round % 3 == 0);
    for (size_t j = 0; j < N; j++) {
      value[0].col[j] = draw_below(&state, 5) == 0 ? 0 : ldexp((double)draw_between(&state, 1, 7), (int)draw_between(&state, -30, 5));
      error_of[j] = draw_below(&state, 5) == 0 ? 0 : ldexp((double)draw_between(&state, 1, 7), (int)draw_between(&state, -40, 0));
    }
    for (size_t e = 0; e < 2 * N; e++)
      before[e] = f.fine ? (double)value[0].each[e] : value[0].row[e / N] * value[0].col[e % N];
    clarke_enclosure_add_rounding(&f, &value[0], error_of);
    for (size_t e = 0; e < 2 * N; e++)
      ck_assert_double_ge(clarke_enclosure_bound_at(&f, &value[0], e / N, e % N), before[e] + error_of[e % N]);
    by_rows += !f.fine && value[0].row[0] != value[0].row[1];
    alike += !f.fine && value[0].row[0] == value[0].row[1];
    clarke_enclosure_drop(&value[0]);
  }
  ck_assert(by_rows > 20 && alike > 20);
}
END_TEST

/* Bounds by hand: none is lost, of infinity and of what is no number neither. */
START_TEST(numbers)
{
  static const double code[] = {0, 2, CLARKE_OPEN, -1, CLARKE_OPEN, 1};
  clarke_branch piece[6];
  double size[] = {0, 1, 3, INFINITY};
  uint64_t state = 3;

  ck_assert(clarke_larger(1, 2) == 2 && clarke_larger(2, 1) == 2 && isnan(clarke_larger(NAN, 1)) && isnan(clarke_larger(1, NAN)));
  ck_assert(clarke_largest_of(size, 3) == 3 && clarke_largest_of(size, 0) == 0);
  ck_assert(isnan(clarke_largest_of((const double[]){1, NAN, 5}, 3)));
  ck_assert(clarke_up_float(0) > 0 && isinf(clarke_up_float(NAN)) && isinf(clarke_up_float(INFINITY)) && isinf(clarke_up_float(0x1p128)));
  for (int round = 0; round < 1000; round++) {
    const double v = ldexp((double)(draw(&state) >> 11), (int)draw_between(&state, -250, 70));

    ck_assert((double)clarke_up_float(v) >= v && (double)clarke_up_float(v) <= v * (1 + 0x1p-20) + 0x1p-139);
  }
  clarke_round_sizes(size, 4, 10);
  ck_assert(size[0] > 0 && size[1] >= 10 * CLARKE_UNIT && size[1] < 11 * CLARKE_UNIT && size[2] >= 30 * CLARKE_UNIT && isinf(size[3]));
  ck_assert_uint_eq(clarke_store_places(piece, code, 6), 2);
  for (size_t k = 0; k < 6; k++)
    ck_assert_int_eq(piece[k], (int)code[k]);
  ck_assert_uint_eq(clarke_store_places(piece, code, 2), 0);
  ck_assert(clarke_branches_open(piece, 6) && !clarke_branches_open(piece, 2) && !clarke_branches_open(piece, 0));
}
END_TEST

/* By rows and columns alone: at least the norm of the largest errors, and of each entry's. */
START_TEST(norms_of_rows)
{
  uint64_t state = 4;
  clarke_growths growths = {0};

  for (int round = 0; round < 200; round++) {
    clarke_enclosure value[2];
    size_t last[2] = {9, 9};
    clarke_filter f;

    room(&f, value, last, false);
    f.growths = &growths;
    clarke_enclosure_drop(&value[0]);
    OK(clarke_enclosure_alloc(&f, &value[0], 2));
    for (size_t j = 0; j < N; j++)
      value[0].col[j] = ldexp((double)draw_below(&state, 8), (int)draw_between(&state, -30, 5));
    for (size_t i = 0; i < 2; i++)
      value[0].row[i] = ldexp((double)draw_below(&state, 8), (int)draw_between(&state, -9, 3));
    clarke_norms_of_rows(&f, &value[0]);
    for (size_t j = 0; j < N; j++) {
      const double a = value[0].row[0] * value[0].col[j], b = value[0].row[1] * value[0].col[j];

      ck_assert(value[0].most[j] >= fmax(a, b) && value[0].most[j] <= fmax(a, b) * (1 + 0x1p-20) + 0x1p-499);
      ck_assert(value[0].norm[j] >= hypot(a, b) * (1 - 0x1p-50) && value[0].norm[j] <= fmax(a, b) * sqrt(2) * (1 + 0x1p-20) + 0x1p-498);
    }
    clarke_enclosure_drop(&value[0]);
  }
}
END_TEST

MODULE(filter_steps)
{
  TCase *tests = tests_of("steps of a filter");

  tcase_add_test(tests, steps_hold_what_may_be);
  tcase_add_loop_test(tests, functions_hold_what_may_be, 0, CLARKE_N_FUNCTIONS);
  tcase_add_test(tests, inherited);
  tcase_add_test(tests, added_roundings);
  tcase_add_test(tests, numbers);
  tcase_add_test(tests, norms_of_rows);
  return all_tests;
}
