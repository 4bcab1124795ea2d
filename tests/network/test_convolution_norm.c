/* Norms of convolutions: beside products with the matrix that takes images to images, as the graph's own map has it. */
#include "machine.h"
#include "convolutional.h"
#include "compared.h"

#include "network/norms/convolution_norm.h"

/* y = W of the rows of x that the map takes, or x the other way round; one sample. */
static void
apply(const clarke_graph *g, const clarke_step *s, const double *w, const double *in, double *out, bool back)
{
  const clarke_step *gather = &g->steps[g->values[s->in[0].value].producer];
  const clarke_dense *d = &s->dense;
  const size_t rows = d->blocks * d->outer * d->repeat;

  memset(out, 0, (back ? g->values[gather->in[0].value].count : rows) * sizeof *out);
  for (size_t e = 0; e < rows; e++) {
    const size_t b = e / d->repeat / d->outer, o = e / d->repeat % d->outer, r = e % d->repeat;

    for (size_t i = 0; i < d->inner; i++) {
      const size_t from = clarke_operand_entry(&gather->in[0], (b * d->inner + i) * d->repeat + r);
      const double v = w[((d->grouped ? b * d->outer : 0) + o) * d->inner + i];

      if (from != CLARKE_NONE && back)
        out[from] += v * in[e];
      else if (from != CLARKE_NONE)
        out[e] += v * in[from];
    }
  }
}

static double
norm_of(const double *v, size_t n)
{
  double square = 0;

  for (size_t e = 0; e < n; e++)
    square += v[e] * v[e];
  return sqrt(square);
}

/* At most the norm, but for rounding. */
static double
norm_from_below(const clarke_graph *g, const clarke_step *s, const double *w, uint64_t *state)
{
  const size_t columns = g->values[g->steps[g->values[s->in[0].value].producer].in[0].value].count;
  const size_t rows = g->values[s->out].count;
  double *x = malloc((columns + 1) * sizeof *x), *y = malloc((rows + 1) * sizeof *y), norm = 0;

  for (size_t e = 0; e < columns; e++)
    x[e] = full_double(state);
  for (size_t turn = 0; turn < 40; turn++) {
    const double size = norm_of(x, columns);

    for (size_t e = 0; e < columns && size > 0; e++)
      x[e] /= size;
    apply(g, s, w, x, y, false);
    norm = norm_of(y, rows);
    apply(g, s, w, y, x, true);
  }
  free(x);
  free(y);
  return norm;
}

typedef struct {
  size_t found, near;
} tally;

/* An entry of another channel than the first that is not as far from that's as channels are: then nothing is recognized. */
static void
check_moved_entry(const clarke_graph *g, const clarke_step *s, const clarke_convolution *known, uint64_t *state)
{
  const clarke_dense *d = &s->dense;
  const size_t each = known->taps * d->repeat, entries = d->blocks * d->inner * d->repeat;
  size_t *map = g->steps[g->values[s->in[0].value].producer].in[0].map, *entry, before;
  clarke_convolution c;
  bool found;

  if (entries == each)
    return;
  entry = &map[each + draw_below(state, entries - each)];
  before = *entry;
  *entry = before == CLARKE_NONE || draw_below(state, 2) ? before + 1 : CLARKE_NONE;
  OK(clarke_convolution_recognize(&c, &found, g, s, &error));
  ck_assert(!found);
  clarke_convolution_clear(&c);
  *entry = before;
}

/* Of one convolution of a network: its weight is that of the file, or `flat`, numbers of one sign. */
static void
compare_convolution(tally *t, const clarke_graph *g, const clarke_step *s, bool flat, uint64_t *state)
{
  const clarke_value *v = &g->values[s->dense.weight];
  double *w = malloc((v->count + 1) * sizeof *w), below, norm;
  clarke_convolution c;
  bool found;

  for (size_t e = 0; e < v->count; e++)
    w[e] = flat ? 1 + ldexp(full_double(state), -26) : v->real[e];
  OK(clarke_convolution_recognize(&c, &found, g, s, &error));
  if (found) {
    ck_assert(clarke_convolution_cost(&c, s) > 0);
    OK(clarke_convolution_norm(&norm, &c, s, w, &error));
    below = norm_from_below(g, s, w, state);
    ck_assert_msg(norm >= below * (1 - 1e-12), "%g below %g", norm, below);
    t->found++;
    t->near += norm <= 1.5 * below;
    check_moved_entry(g, s, &c, state);
  }
  clarke_convolution_clear(&c);
  free(w);
}

static tally
compare_networks(size_t side, size_t most_outputs, bool flat, uint64_t seed, size_t n)
{
  uint64_t state = seed;
  tally t = {0, 0};

  for (size_t i = 0; i < n; i++) {
    size_t dims[3] = {1 + draw_below(&state, 3), side, side};
    growing grown;
    clarke_tensor x;
    clarke_graph g;

    grow_begin(&grown, &state, full_double, 2 + draw_below(&state, 2), dims);
    grow_conv(&grown, most_outputs, draw_below(&state, 2));
    model_output(&grown.m, grown.at);
    x = grow_batch(&grown, 1);
    clarke_graph_init(&g);
    OK(clarke_graph_build(&g, &grown.m, &x, &error));
    for (size_t k = 0; k < g.n_steps; k++)
      if (g.steps[k].kind == CLARKE_DENSE && g.values[g.steps[k].in[0].value].producer != CLARKE_NONE)
        compare_convolution(&t, &g, &g.steps[k], flat, &state);
    clarke_graph_clear(&g);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  printf("convolutions: %zu found of %zu, %zu of them near\n", t.found, n, t.near);
  return t;
}

START_TEST(runs_are_of_entries_one_after_another)
{
  size_t map[] = {3, 4, 5, CLARKE_NONE, CLARKE_NONE, 7, 9};
  const clarke_operand moved = {.map = map}, whole = {.map = NULL};

  ck_assert_uint_eq(clarke_operand_run(&moved, 0, 7), 3);
  ck_assert_uint_eq(clarke_operand_run(&moved, 0, 2), 2);
  ck_assert_uint_eq(clarke_operand_run(&moved, 3, 7), 2);
  ck_assert_uint_eq(clarke_operand_run(&moved, 5, 7), 1);
  ck_assert_uint_eq(clarke_operand_run(&whole, 2, 7), 5);
}
END_TEST

START_TEST(norms_are_bounds)
{
  const tally small = compare_networks(4, 4, false, 3, 300), large = compare_networks(12, 4, false, 5, 60);

  ck_assert_uint_gt(small.found, 150);
  ck_assert_uint_gt(large.found, 30);
  ck_assert_uint_gt(large.near, large.found / 2);
}
END_TEST

/* The largest symbol is the sum of the taps, which many windows see whole: bound and norm differ by the image's border alone. */
START_TEST(norms_are_bounds_of_weights_of_one_sign)
{
  ck_assert_uint_gt(compare_networks(12, 3, true, 7, 60).found, 30);
}
END_TEST

/* A wave between two of the angles: taps (0.71, 1, -0.71) along one axis would be less at both. */
START_TEST(norms_between_angles_are_bounds)
{
  for (size_t k = 0; k < 40; k++) {
    uint64_t state = 9 + k;
    size_t dims[2] = {1, 40};
    growing grown;
    clarke_tensor x;
    clarke_graph g;
    tally found = {0, 0};
    double *weight;

    grow_begin(&grown, &state, full_double, 2, dims);
    weight = model_floats(&grown.m, "w", SHAPE(1, 1, 3,));
    for (size_t t = 0; t < 3; t++)
      weight[t] = t == 1 ? 1 : (double)(t == 0 ? 1 : -1) * cos(2 * acos(-1) * (double)k / 40);
    grow_node(&grown, "Conv", "w", false);
    grown.dims[1] = 38;
    model_output(&grown.m, grown.at);
    x = grow_batch(&grown, 1);
    clarke_graph_init(&g);
    OK(clarke_graph_build(&g, &grown.m, &x, &error));
    for (size_t i = 0; i < g.n_steps; i++)
      if (g.steps[i].kind == CLARKE_DENSE)
        compare_convolution(&found, &g, &g.steps[i], false, &state);
    ck_assert_uint_eq(found.found, 1);
    clarke_graph_clear(&g);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
}
END_TEST

/* Images of a few pixels, which windows leave at one end or both, by more or less: on a circle that is a pixel too short some
 * window would meet the other end. */
START_TEST(norms_on_circles_are_bounds)
{
  uint64_t state = 11;
  tally found = {0, 0};

  for (size_t k = 0; k < 600; k++) {
    const long kernel = 2 + (long)draw_below(&state, 3), length = 1 + (long)draw_below(&state, 5);
    const long stride = 1 + (long)draw_below(&state, 2);
    const long before = (long)draw_below(&state, 3), behind = (long)draw_below(&state, 3);
    size_t dims[2] = {1, (size_t)length};
    growing grown;
    clarke_tensor x;
    clarke_graph g;
    double *weight;

    if (length + before + behind < kernel)
      continue;
    grow_begin(&grown, &state, full_double, 2, dims);
    weight = model_floats(&grown.m, "w", (const long[]){1, 1, kernel, SHAPE_END});
    for (long t = 0; t < kernel; t++)
      weight[t] = full_double(&state);
    grow_node(&grown, "Conv", "w", false);
    attr_ints(&grown.m.nodes[grown.m.n_nodes - 1], "pads", (const long[]){before, behind, SHAPE_END});
    attr_ints(&grown.m.nodes[grown.m.n_nodes - 1], "strides", (const long[]){stride, SHAPE_END});
    grown.dims[1] = (size_t)((length + before + behind - kernel) / stride + 1);
    model_output(&grown.m, grown.at);
    x = grow_batch(&grown, 1);
    clarke_graph_init(&g);
    OK(clarke_graph_build(&g, &grown.m, &x, &error));
    for (size_t i = 0; i < g.n_steps; i++)
      if (g.steps[i].kind == CLARKE_DENSE && g.values[g.steps[i].in[0].value].producer != CLARKE_NONE)
        compare_convolution(&found, &g, &g.steps[i], false, &state);
    clarke_graph_clear(&g);
    clarke_tensor_clear(&x);
    clarke_model_clear(&grown.m);
  }
  printf("convolutions on circles: %zu found, %zu of them near\n", found.found, found.near);
  ck_assert_uint_gt(found.found, 200);
  ck_assert_uint_gt(found.near, found.found / 2);
}
END_TEST

int
main(void)
{
  TCase *tcase = tests_of("network-convolution_norm");

  tcase_add_test(tcase, runs_are_of_entries_one_after_another);
  tcase_add_test(tcase, norms_are_bounds);
  tcase_add_test(tcase, norms_are_bounds_of_weights_of_one_sign);
  tcase_add_test(tcase, norms_between_angles_are_bounds);
  tcase_add_test(tcase, norms_on_circles_are_bounds);
  return run_tests();
}
