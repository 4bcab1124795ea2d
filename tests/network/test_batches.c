/* Parts of a batch: which samples have open places, their places taken out and put back, margins of a pass; and what is asked of a
 * graph: layers of two steps, gathers that are left to products. Each beside its definition. */
#include "../ok.h"
#include "../suites.h"
#include "networks.h"

#include "network/graph/build.h"
#include "network/pass/margin.h"
#include "network/replay/replay_inside.h"

#include <math.h>

/* --- places ---------------------------------------------------------------------------------- */

static double
draw_number(uint64_t *state)
{
  return (double)draw_between(state, -12, 12) / 4;
}

typedef struct {
  growing grown;
  clarke_graph g;
  clarke_tensor x;
  clarke_replay r;
} scene;

/* A network, and codes that are drawn: pieces, kinks, open ones. */
static void
begin(scene *c, uint64_t *state, size_t one_open_in)
{
  memset(c, 0, sizeof *c);
  c->x = grow_network(&c->grown, state, draw_number, 5, false);
  clarke_graph_init(&c->g);
  OK(clarke_graph_build(&c->g, &c->grown.m, &c->x, &error));
  c->r = (clarke_replay){.g = &c->g, .samples = c->g.samples, .x = &c->x};
  c->r.piece = calloc(c->g.n_steps + 1, sizeof *c->r.piece);
  c->r.ties = calloc(c->g.n_steps + 1, sizeof *c->r.ties);
  for (size_t i = 0; i < c->g.n_steps; i++)
    if (clarke_step_has_kinks(&c->g.steps[i])) {
      const size_t count = c->g.values[c->g.steps[i].out].count * c->g.samples;

      c->r.piece[i] = malloc((count + 1) * sizeof **c->r.piece);
      if (c->g.steps[i].kind == CLARKE_MAX)
        c->r.ties[i] = calloc(c->g.samples + 1, sizeof **c->r.ties);
      for (size_t e = 0; e < count; e++)
        c->r.piece[i][e] = draw_below(state, one_open_in) == 0 ? CLARKE_OPEN : (clarke_branch)draw_between(state, -2, 2);
    }
}

static void
end(scene *c)
{
  for (size_t i = 0; i < c->g.n_steps; i++) {
    free(c->r.piece[i]);
    free(c->r.ties[i]);
  }
  free(c->r.piece);
  free(c->r.ties);
  clarke_graph_clear(&c->g);
  clarke_tensor_clear(&c->x);
  clarke_model_clear(&c->grown.m);
}

/* How many places of the sample are open, or (kinks) at a kink. */
static size_t
count(const scene *c, size_t sample, bool kinks)
{
  size_t n = 0;

  for (size_t i = 0; i < c->g.n_steps; i++)
    for (size_t f = 0; c->r.piece[i] != NULL && f < c->g.values[c->g.steps[i].out].count; f++) {
      const clarke_branch code = c->r.piece[i][f * c->g.samples + sample];

      n += code == CLARKE_OPEN || (kinks && code < 0);
    }
  return n;
}

static void
check_group(scene *c, const size_t *sample, size_t n, uint64_t *state)
{
  const size_t features = c->x.count / c->g.samples;
  size_t open = 0, left;
  clarke_open_group group;
  clarke_matrix input;

  clarke_matrix_init(&input);
  OK(clarke_samples_matrix(&input, &c->x, sample, n, &error));
  OK(clarke_open_group_take(&group, &c->r, sample, n, &error));
  ck_assert(group.n == n && group.x.dims[0] == n && group.x.count == n * features && group.margin == NULL);
  for (size_t j = 0; j < n; j++) {
    open += count(c, sample[j], false);
    for (size_t e = 0; e < features; e++) {
      ck_assert(group.x.real[j * features + e] == c->x.real[sample[j] * features + e]);
      ck_assert(clarke_matrix_get_double(&input, e, j) == c->x.real[sample[j] * features + e]);
    }
  }
  ck_assert_uint_eq(group.open, open);
  ck_assert_uint_eq(clarke_places_open(&c->g, group.piece, n), open);
  left = open;
  for (size_t i = 0; i < c->g.n_steps; i++)
    for (size_t f = 0; c->r.piece[i] != NULL && f < c->g.values[c->g.steps[i].out].count; f++)
      for (size_t j = 0; j < n; j++) {
        ck_assert_int_eq(group.piece[i][f * n + j], c->r.piece[i][f * c->g.samples + sample[j]]);
        if (group.piece[i][f * n + j] == CLARKE_OPEN && draw(state) & 1) {
          group.piece[i][f * n + j] = 1;
          left--;
        }
      }
  for (size_t i = 0; i < c->g.n_steps; i++)
    if (c->r.ties[i] != NULL)
      group.ties[i][n - 1] = 3;
  c->r.refined = 10;
  ck_assert_uint_eq(clarke_open_group_give(&group, &c->r), left);
  ck_assert_uint_eq(c->r.refined, 10 + open - left);
  for (size_t i = 0; i < c->g.n_steps; i++) {
    for (size_t f = 0; c->r.piece[i] != NULL && f < c->g.values[c->g.steps[i].out].count; f++)
      for (size_t j = 0; j < n; j++)
        ck_assert_int_eq(group.piece[i][f * n + j], c->r.piece[i][f * c->g.samples + sample[j]]);
    ck_assert(c->r.ties[i] == NULL || c->r.ties[i][sample[n - 1]] == 3);
  }
  clarke_open_group_clear(&group, &c->r);
  clarke_matrix_clear(&input);
}

START_TEST(samples_with_open_places)
{
  uint64_t state = 1;

  for (int round = 0; round < 120; round++) {
    scene c;
    size_t *sample, n, all = 0, any = 0;
    bool open[4] = {false}, kinks[4] = {false};

    begin(&c, &state, round % 2 == 0 ? 3 : 40);
    clarke_samples_mark(&c.r, open, false);
    clarke_samples_mark(&c.r, kinks, true);
    OK(clarke_samples_open(&sample, &n, &c.r, &error));
    for (size_t j = 0; j < c.g.samples; j++) {
      ck_assert_int_eq(open[j], count(&c, j, false) > 0);
      ck_assert_int_eq(kinks[j], count(&c, j, true) > 0);
      all += count(&c, j, false);
      any += open[j];
    }
    ck_assert_uint_eq(clarke_places_open(&c.g, c.r.piece, c.g.samples), all);
    ck_assert(!clarke_graph_has_domain(&c.g)); /* no logarithm, no root */
    ck_assert_uint_eq(n, clarke_graph_couples(&c.g) && any > 0 ? c.g.samples : any);
    for (size_t k = 0; k < n; k++)
      ck_assert((k == 0 || sample[k] > sample[k - 1]) && (open[sample[k]] || clarke_graph_couples(&c.g)));
    if (n > 0)
      check_group(&c, sample, n, &state);
    free(sample);
    end(&c);
  }
}
END_TEST

/* --- margins --------------------------------------------------------------------------------- */

/* One step's rows only where it has kinks; none is nearer than infinity to begin with. */
START_TEST(margin_rows)
{
  uint64_t state = 2;

  for (int round = 0; round < 40; round++) {
    scene c;
    clarke_margin **rows;

    begin(&c, &state, 5);
    rows = clarke_margin_rows(&c.g, 3);
    for (size_t i = 0; i < c.g.n_steps; i++) {
      ck_assert_int_eq(rows[i] != NULL, clarke_step_has_kinks(&c.g.steps[i]));
      for (size_t j = 0; rows[i] != NULL && j < 3; j++)
        ck_assert(isinf(rows[i][j].least) && isinf(rows[i][j].most) && rows[i][j].size == 0);
    }
    clarke_margin_rows_free(rows, c.g.n_steps);
    clarke_margin_rows_free(NULL, c.g.n_steps);
    end(&c);
  }
}
END_TEST

/* A column of arguments: the least distance of those that are at no kink and not open, and the largest number compared. */
START_TEST(margins_of_columns)
{
  uint64_t state = 3;
  static const double kinks[] = {-9, 6};

  for (int round = 0; round < 300; round++) {
    clarke_model m;
    clarke_graph g;
    clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(2, 3, ));
    clarke_margin taken = {.least = INFINITY, .most = INFINITY}, sizes = taken;
    clarke_matrix values;
    clarke_branch place[6];
    double entry[6], least = INFINITY, all = 9;
    const clarke_step *s;

    model_begin(&m, 16);
    model_input(&m, "x", SHAPE(-1, 3, ));
    model_floats(&m, "low", SHAPE())[0] = -9;
    model_floats(&m, "high", SHAPE())[0] = 6;
    model_node(&m, "Clip", "x,low,high", "y");
    model_output(&m, "y");
    clarke_graph_init(&g);
    OK(clarke_graph_build(&g, &m, &x, &error));
    s = &g.steps[0];
    clarke_matrix_init(&values);
    for (size_t e = 0; e < 6; e++) {
      entry[e] = (double)draw_between(&state, -48, 40) / 4;
      place[e] = entry[e] == -9 ? -1 : entry[e] == 6 ? -2 : draw_below(&state, 4) == 0 ? CLARKE_OPEN
                 : entry[e] < -9 ? 0 : entry[e] < 6 ? 1 : 2;
    }
    OK(clarke_matrix_set_doubles(&values, 3, 2, entry, &error));
    for (size_t f = 0; f < 3; f++) { /* column 1 */
      const double a = entry[2 * f + 1];

      all = fmax(all, fabs(a));
      if (place[2 * f + 1] == CLARKE_OPEN)
        continue;
      for (size_t k = 0; k < 2 && place[2 * f + 1] >= 0; k++)
        least = fmin(least, fabs(a - kinks[k]));
    }
    clarke_margin_column(&taken, &g, s, &values, place, 1);
    if (isinf(least))
      ck_assert(isinf(taken.least) && isinf(taken.most));
    else
      ck_assert(taken.least <= least && taken.most >= least && taken.most - taken.least <= 1e-12 * (1 + least));
    ck_assert(taken.size >= all && taken.size <= all * (1 + 0x1p-40)); /* of open ones, too */
    clarke_margin_sizes(&sizes, &g, s, &values, 1);
    ck_assert(sizes.size >= all && sizes.size <= all * (1 + 0x1p-40));
    clarke_matrix_clear(&values);
    clarke_graph_clear(&g);
    clarke_model_clear(&m);
    clarke_tensor_clear(&x);
  }
}
END_TEST

/* --- graphs ---------------------------------------------------------------------------------- */

/* The step of that kind, or CLARKE_NONE. */
static size_t
step_of(const clarke_graph *g, clarke_step_kind kind)
{
  for (size_t i = 0; i < g->n_steps; i++)
    if (g->steps[i].kind == kind)
      return i;
  return CLARKE_NONE;
}

static void
pooled(clarke_graph *g, const char *const *nodes)
{
  clarke_model m;
  clarke_tensor x = tensor_of("x", CLARKE_F64, SHAPE(1, 1, 4, 4, ));
  char name[2][32] = {"x", "a"};

  model_begin(&m, 16);
  model_input(&m, "x", SHAPE(-1, 1, 4, 4, ));
  model_floats(&m, "c", SHAPE(1, ))[0] = 2;
  for (size_t k = 0; nodes[k] != NULL; k++) {
    char in[40];

    snprintf(in, sizeof in, strcmp(nodes[k], "Add") == 0 || strcmp(nodes[k], "Mul") == 0 ? "%s,c" : "%s", name[0]);
    snprintf(name[1], sizeof name[1], "v%zu", k);
    model_node(&m, nodes[k], in, name[1]);
    if (strcmp(nodes[k], "MaxPool") == 0)
      attr_ints(&m.nodes[m.n_nodes - 1], "kernel_shape", SHAPE(2, 2, ));
    strcpy(name[0], name[1]);
  }
  model_output(&m, name[0]);
  clarke_graph_init(g);
  OK(clarke_graph_build(g, &m, &x, &error));
  clarke_model_clear(&m);
  clarke_tensor_clear(&x);
}

static void
check_inner(const char *const *nodes, bool inner)
{
  clarke_graph g;
  size_t max, piecewise;

  pooled(&g, nodes);
  max = step_of(&g, CLARKE_MAX);
  piecewise = step_of(&g, CLARKE_PIECEWISE);
  ck_assert(max != CLARKE_NONE && piecewise != CLARKE_NONE);
  ck_assert_uint_eq(clarke_graph_inner(&g, max), inner ? piecewise : CLARKE_NONE);
  ck_assert_uint_eq(clarke_graph_inner(&g, piecewise), CLARKE_NONE);
  clarke_graph_clear(&g);
}

START_TEST(layers_of_two_steps)
{
  check_inner((const char *const[]){"Relu", "MaxPool", NULL}, true);
  check_inner((const char *const[]){"Relu", "Identity", "MaxPool", NULL}, true);
  check_inner((const char *const[]){"Relu", "Add", "MaxPool", NULL}, true);
  check_inner((const char *const[]){"Relu", "Mul", "MaxPool", NULL}, false);
  check_inner((const char *const[]){"MaxPool", "Relu", NULL}, false);
}
END_TEST

/* A gather that one product alone reads is deferred, by the definition; what it reads is read until then. */
START_TEST(deferred_gathers)
{
  uint64_t state = 4;
  size_t n = 0;

  for (int round = 0; round < 200; round++) {
    scene c;
    const clarke_step **deferred;
    size_t *last, *before;

    begin(&c, &state, 5);
    deferred = calloc(c.g.n_values + 1, sizeof *deferred);
    last = malloc((c.g.n_values + 1) * sizeof *last);
    before = malloc((c.g.n_values + 1) * sizeof *before);
    clarke_graph_last_uses(last, &c.g, NULL);
    memcpy(before, last, c.g.n_values * sizeof *last);
    clarke_graph_defer_gathers(deferred, last, &c.g);
    for (size_t v = 0; v < c.g.n_values; v++) {
      const size_t made = c.g.values[v].producer;
      size_t readers = 0, reader = CLARKE_NONE, latest = before[v];

      for (size_t i = 0; i < c.g.n_steps; i++)
        for (size_t k = 0; k < c.g.steps[i].n_in; k++)
          if (c.g.steps[i].in[k].value == v) {
            readers++;
            reader = i;
          }
      ck_assert_int_eq(deferred[v] != NULL, made != CLARKE_NONE && c.g.steps[made].kind == CLARKE_GATHER && readers == 1
                                              && c.g.steps[reader].kind == CLARKE_DENSE);
      ck_assert(deferred[v] == NULL || deferred[v] == &c.g.steps[made]);
      n += deferred[v] != NULL;
      for (size_t u = 0; u < c.g.n_values; u++) /* u gathers from v, until u's reader */
        if (deferred[u] != NULL && deferred[u]->in[0].value == v && (latest == CLARKE_NONE || before[u] > latest))
          latest = before[u];
      ck_assert_uint_eq(last[v], latest);
    }
    free(deferred);
    free(last);
    free(before);
    end(&c);
  }
  ck_assert_uint_gt(n, 5);
}
END_TEST

MODULE(batches)
{
  TCase *tests = tests_of("parts of a batch");

  tcase_add_test(tests, samples_with_open_places);
  tcase_add_test(tests, margin_rows);
  tcase_add_test(tests, margins_of_columns);
  tcase_add_test(tests, layers_of_two_steps);
  tcase_add_test(tests, deferred_gathers);
  return all_tests;
}
