/* Where axes, batches and windows' entries are, beside a walk over all entries; and what lowerings make steps with. */
#include "node.h"

#include "op/axes.h"
#include "op/integers.h"
#include "op/lower.h"
#include "op/product.h"
#include "op/reduction.h"
#include "op/sigmoid.h"
#include "op/window.h"

#define OK(call) \
  do { \
    if ((call) != CLARKE_OK) \
      ck_abort_msg("%s: %s", #call, error.text); \
  } while (0)

static uint64_t state = 1;

static size_t
product(const size_t *dims, size_t rank)
{
  size_t n = 1;

  for (size_t a = 0; a < rank; a++)
    n *= dims[a];
  return n;
}

/* Row-major: the index along an axis of an entry. */
static size_t
index_of(size_t entry, const size_t *dims, size_t rank, size_t axis)
{
  return entry / product(dims + axis + 1, rank - axis - 1) % dims[axis];
}

/* --- the batch ------------------------------------------------------------------------------- */

/* The activation has the batch on that axis, among these whole axes, of which that one stands as 1; merged: as entries (o, sample, i)
 * of an axis. */
static void
set_batch(const size_t *whole, size_t rank, clarke_batch_axis batch)
{
  size_t dims[CLARKE_MAX_WHOLE], n;

  memcpy(dims, whole, rank * sizeof *dims);
  n = clarke_axes_of_sample(&batch, rank, dims);
  ck_assert_uint_eq(n, batch.merged ? rank : rank - 1);
  set_value(0, false, n, dims);
  g.values[0].batch = batch;
}

static size_t
sample_of(size_t entry, const size_t *run, size_t rank, clarke_batch_axis batch, size_t samples)
{
  const size_t at = index_of(entry, run, rank, batch.axis);

  return batch.merged ? at / batch.inner % samples : at;
}

/* Is entry e of every sample, in order, in the same place of one sample's tensor, whatever the sample? */
static bool
holds(const size_t *run, size_t rank, clarke_batch_axis batch, const size_t *old, size_t old_rank, clarke_batch_axis before,
      size_t samples)
{
  for (size_t e = 0; e < product(run, rank); e++)
    if (sample_of(e, run, rank, batch, samples) != sample_of(e, old, old_rank, before, samples))
      return false;
  return true;
}

static size_t
draw_shape(size_t *dims, size_t count, size_t most)
{
  size_t rank = 0;

  while (rank + 1 < most && (count > 1 || draw_below(&state, 3) == 0)) {
    size_t d = 1 + draw_below(&state, count);

    while (count % d != 0)
      d--;
    dims[rank++] = d;
    count /= d;
  }
  if (count > 1 || rank == 0)
    dims[rank++] = count;
  return rank;
}

START_TEST(reshaped_batches)
{
  size_t moved = 0, refused = 0;

  for (int round = 0; round < 4000; round++) {
    size_t whole[CLARKE_MAX_WHOLE], run[CLARKE_MAX_WHOLE], kept[CLARKE_MAX_WHOLE], to[CLARKE_MAX_WHOLE];
    size_t rank = 1 + draw_below(&state, 4), to_rank, samples, axis;
    clarke_batch_axis before = {.inner = 1}, after;
    bool possible = false;

    for (size_t a = 0; a < rank; a++)
      whole[a] = 1 + draw_below(&state, 3);
    samples = g.together = 1 + draw_below(&state, 3);
    before.axis = axis = draw_below(&state, rank);
    before.merged = draw_below(&state, 3) == 0;
    if (before.merged)
      while (whole[axis] % (before.inner = 1 + draw_below(&state, whole[axis])) != 0) {
      }
    else
      whole[axis] = 1;
    set_batch(whole, rank, before);
    ck_assert_uint_eq(clarke_axes_batch(&low, 0), axis);
    ck_assert_uint_eq(clarke_axes_whole(&low, 0, kept), rank);
    ck_assert_mem_eq(kept, whole, rank * sizeof *kept);
    ck_assert_uint_eq(clarke_axes_of_run(&low, 0, run), rank);
    for (size_t a = 0; a < rank; a++)
      ck_assert_uint_eq(run[a], a == axis ? whole[a] * samples : whole[a]);
    to_rank = draw_shape(to, product(run, rank), 5);
    memcpy(kept, to, to_rank * sizeof *to);
    for (size_t a = 0; a < to_rank; a++)
      for (size_t inner = 1; inner <= to[a]; inner++)
        possible = possible || (to[a] % (inner * samples) == 0
                                && holds(to, to_rank, (clarke_batch_axis){true, a, inner, false}, run, rank, before, samples));
    if (clarke_axes_reshaped(&low, 0, to_rank, to, &after, &error) != CLARKE_OK) {
      says(error.text, "samples would be mixed");
      ck_assert(!possible || samples == 1); /* of one sample the file says little: there may come more */
      refused++;
      continue;
    }
    ck_assert(holds(kept, to_rank, after, run, rank, before, samples));
    for (size_t a = 0; a < to_rank; a++)
      ck_assert_uint_eq(to[a], a == after.axis ? kept[a] / samples : kept[a]);
    ck_assert(after.merged || to[after.axis] == 1);
    moved += after.axis != axis;
  }
  ck_assert(moved > 200 && refused > 200);
}
END_TEST

START_TEST(batches_apart_and_alike)
{
  static const size_t whole[] = {4, 1, 3};
  clarke_batch_axis batch = {false, 1, 1, false};

  ck_assert_uint_eq(clarke_axes_batch(&low, 2), CLARKE_NONE);
  g.together = 2;
  set_batch(whole, 3, batch);
  OK(clarke_axes_apart(&low, 0, 0, &error));
  ck_assert_int_eq(clarke_axes_apart(&low, 0, 1, &error), CLARKE_EINPUT);
  says(error.text, "axis 1 is the batch, or merged with it: samples would be mixed");
  OK(clarke_axes_apart(&low, 2, 0, &error)); /* a constant has none */
  OK(clarke_axes_agree(&low, 1, 5, &batch, &error));
  ck_assert(batch.axis == 3 && !batch.merged); /* of five axes, from the end */
  low.in[1] = 2;
  OK(clarke_axes_agree(&low, 2, 3, &batch, &error)); /* (3) goes along the last axis */
  ck_assert_uint_eq(batch.axis, 1);
  free(g.values[2].real);
  set_value(2, true, 2, (const size_t[]){2, 3});
  ck_assert_int_eq(clarke_axes_agree(&low, 2, 3, &batch, &error), CLARKE_EINPUT);
  says(error.text, "a constant of 2 entries along the batch axis");
  set_value(2, true, 2, (const size_t[]){1, 3});
  OK(clarke_axes_agree(&low, 2, 3, &batch, &error));
  free(g.values[1].integer);
  set_value(1, false, 2, (const size_t[]){4, 3});
  g.values[1].batch = (clarke_batch_axis){false, 0, 1, false};
  low.in[1] = 1;
  ck_assert_int_eq(clarke_axes_agree(&low, 2, 3, &batch, &error), CLARKE_EINPUT);
  says(error.text, "the batch on axis 1 and on axis 0");
  low.in[1] = 0;
  OK(clarke_axes_agree(&low, 2, 3, &batch, &error));
  low.in[1] = 1;
}
END_TEST

/* A constant of an entry a sample, all of one origin, becomes one of one entry; else it stays. */
START_TEST(constants_shared_by_samples)
{
  static const size_t dims[] = {2, 3, 2};
  bool shared = true;

  for (int same = 0; same < 2; same++) {
    clarke_value *v = &g.values[2];
    const clarke_value *made;

    free(v->real);
    free(v->origin);
    set_value(2, true, 3, dims);
    v->real = calloc(12, sizeof *v->real);
    v->origin = calloc(12, sizeof *v->origin);
    for (size_t e = 0; e < 12; e++) {
      v->origin[e] = e / 6 * 2 + e % 2 + (same == 0 && e == 11);
      v->real[e] = (double)v->origin[e];
    }
    low.in[2] = 2;
    g.together = 3;
    OK(clarke_axes_shared(&low, 2, 0, &shared, &error));
    ck_assert(!shared); /* it has two there */
    OK(clarke_axes_shared(&low, 0, 1, &shared, &error));
    ck_assert(!shared); /* an activation */
    OK(clarke_axes_shared(&low, 2, 1, &shared, &error));
    ck_assert_int_eq(shared, same);
    ck_assert_int_eq(low.in[2] != 2, same);
    made = &g.values[low.in[2]];
    ck_assert_uint_eq(made->count, same ? 4 : 12);
    for (size_t e = 0; same && e < 4; e++)
      ck_assert(made->dims[1] == 1 && made->real[e] == (double)e && made->origin[e] == e);
  }
  low.in[2] = 2;
}
END_TEST

/* --- reductions and constants ---------------------------------------------------------------- */

/* Offsets of a reduction: each entry of the input is met once, by the pair of its indices. */
START_TEST(reduced_axes)
{
  for (int round = 0; round < 500; round++) {
    clarke_reduced_axes r = {.batch = {.inner = 1}, .rank = 2 + draw_below(&state, 4), .keep = draw(&state) & 1};
    size_t over = 1, kept = 1, dims[CLARKE_MAX_WHOLE], rank, out = 0, first = draw_below(&state, 2);
    const size_t batch = draw_below(&state, (long)r.rank);
    bool met[243] = {false};

    r.batch.axis = batch;
    for (size_t a = 0; a < r.rank; a++) {
      r.dims[a] = a == batch ? 1 : 1 + draw_below(&state, 3);
      r.reduced[a] = a != batch && (draw(&state) & 1);
      *(r.reduced[a] ? &over : &kept) *= a >= first ? r.dims[a] : 1;
    }
    for (size_t i = 0; i < kept; i++)
      for (size_t k = 0; k < over; k++) {
        const size_t e = clarke_reduction_offset(&r, first, false, i) + clarke_reduction_offset(&r, first, true, k);

        ck_assert(e < over * kept && !met[e]);
        met[e] = true;
        for (size_t a = r.rank; k == 0 && i > 0 && a-- > 0;) /* in row-major order */
          ck_assert_uint_gt(clarke_reduction_offset(&r, first, false, i), clarke_reduction_offset(&r, first, false, i - 1));
      }
    rank = clarke_reduction_shape(&r, dims);
    for (size_t a = 0; a < r.rank; a++)
      if (a == batch)
        ck_assert_uint_eq(clarke_reduction_batch(&r).axis, out);
      else if (r.keep || !r.reduced[a])
        ck_assert_uint_eq(dims[out++], r.reduced[a] ? 1 : r.dims[a]);
    ck_assert_uint_eq(rank, out);
    r.batch.merged = true; /* then its axis is one of a sample's */
    ck_assert_uint_eq(clarke_reduction_shape(&r, dims), out + 1);
  }
}
END_TEST

START_TEST(reductions_of_nodes)
{
  clarke_reduced_axes r;

  low.n_in = 1;
  attr_ints(&m.nodes[0], "axes", SHAPE(-1, 1, ));
  OK(clarke_reduction_read(&r, &low, "sum", &error));
  ck_assert(r.rank == 4 && !r.batch.none && r.batch.axis == 0 && r.keep && !r.none);
  ck_assert(!r.reduced[0] && r.reduced[1] && !r.reduced[2] && r.reduced[3]);
  attr_int(&m.nodes[0], "keepdims", 0);
  m.nodes[0].attr[0].ints[0] = 0;
  ck_assert_int_eq(clarke_reduction_read(&r, &low, "sum", &error), CLARKE_EINPUT);
  says(error.text, "a sum over the batch axis; expected axes of a sample");
  m.nodes[0].attr[0].n = 0;
  ck_assert_int_eq(clarke_reduction_read(&r, &low, "mean", &error), CLARKE_EINPUT);
  says(error.text, "a mean over the batch axis (no axes are all axes)");
  attr_int(&m.nodes[0], "noop_with_empty_axes", 1);
  OK(clarke_reduction_read(&r, &low, "sum", &error));
  ck_assert(r.none && !r.keep);
  OK(clarke_reduction_none(&r, &low, &error));
  ck_assert(g.values[g.n_values - 1].rank == 3 && g.values[g.n_values - 1].count == 24 && g.values[g.n_values - 1].batch.axis == 0);
  m.nodes[0].attr[0].n = 1;
  m.nodes[0].attr[0].ints[0] = 2;
  g.values[0].batch = (clarke_batch_axis){.axis = 2, .inner = 1}; /* (2, 3, N, 4) */
  ck_assert_int_eq(clarke_reduction_read(&r, &low, "mean", &error), CLARKE_EINPUT);
  says(error.text, "a mean over the batch axis");
  low.n_in = 4;
}
END_TEST

/* Entries of constants that are broadcast, beside the indices along every axis. */
START_TEST(constants_together)
{
  size_t broadcast = 0;

  for (int round = 0; round < 1000; round++) {
    size_t shape[2][4], rank[2], all, dims[CLARKE_MAX_RANK];
    bool fits = true;

    low.n_in = 2;
    low.in[0] = 1;
    low.in[1] = 2;
    for (size_t i = 0; i < 2; i++) {
      rank[i] = draw_below(&state, 4);
      for (size_t a = 0; a < rank[i]; a++)
        shape[i][a] = 1 + draw_below(&state, 3) % 2 * draw_below(&state, 3);
      free(g.values[i + 1].integer);
      free(g.values[i + 1].real);
      set_value(i + 1, true, rank[i], shape[i]);
    }
    for (size_t a = 1; a <= rank[0] && a <= rank[1]; a++)
      fits = fits && (shape[0][rank[0] - a] == shape[1][rank[1] - a] || shape[0][rank[0] - a] == 1 || shape[1][rank[1] - a] == 1);
    ck_assert_int_eq(clarke_lower_constants_shape(&low, &all, dims), fits);
    if (!fits)
      continue;
    broadcast++;
    ck_assert_uint_eq(all, rank[0] > rank[1] ? rank[0] : rank[1]);
    for (size_t f = 0; f < product(dims, all); f++)
      for (size_t i = 0; i < 2; i++) {
        const size_t e = clarke_lower_constants_entry(&g.values[i + 1], all, dims, f);

        ck_assert_uint_lt(e, product(shape[i], rank[i]));
        for (size_t a = 0; a < rank[i]; a++)
          ck_assert_uint_eq(index_of(e, shape[i], rank[i], a),
                            shape[i][a] == 1 ? 0 : index_of(f, dims, all, all - rank[i] + a));
      }
  }
  ck_assert_uint_gt(broadcast, 300);
  low.in[0] = 0;
  low.in[1] = 1;
  low.n_in = 4;
}
END_TEST

/* --- windows --------------------------------------------------------------------------------- */

/* The geometry as read from attributes; laid out, each tap reads what it says. */
START_TEST(windows_of_nodes)
{
  static const size_t image[] = {2, 3, 4};
  clarke_window w;
  size_t axes = 0, value = CLARKE_NONE;
  const clarke_step *s;

  set_value(0, false, 3, image);
  OK(clarke_window_axes(&axes, &low, &error));
  ck_assert_uint_eq(axes, 2);
  ck_assert_int_eq(clarke_window_read(&w, &low, NULL, &error), CLARKE_EINPUT);
  says(error.text, "kernel_shape is missing");
  attr_ints(&m.nodes[0], "kernel_shape", SHAPE(2, 3, ));
  attr_ints(&m.nodes[0], "strides", SHAPE(1, 2, ));
  attr_ints(&m.nodes[0], "pads", SHAPE(0, 1, 1, 2, ));
  OK(clarke_window_read(&w, &low, NULL, &error));
  ck_assert(w.whole == 1 && w.channels == 2 && w.planes == 2 && w.entries == 12 && w.taps == 6 && !w.transposed);
  ck_assert(w.in[0] == 3 && w.in[1] == 4 && w.kernel[1] == 3 && w.stride[1] == 2 && w.before[1] == 1 && w.after[0] == 1);
  ck_assert(w.out[0] == 3 && w.out[1] == 3 && w.positions == 9);
  OK(clarke_window_gather(&w, &low, &value, &error));
  s = &g.steps[g.values[value].producer];
  ck_assert(s->kind == CLARKE_GATHER && g.values[value].count == 2 * 6 * 9);
  for (size_t plane = 0; plane < 2; plane++)
    for (size_t tap = 0; tap < 6; tap++)
      for (size_t p = 0; p < 9; p++) {
        const size_t e = clarke_window_entry(&w, p, tap);

        ck_assert_uint_eq(s->in[0].map[(plane * 6 + tap) * 9 + p], e == CLARKE_NONE ? e : plane * 12 + e);
      }
  ck_assert_int_eq(clarke_window_read(&w, &low, (const size_t[]){2, 2}, &error), CLARKE_EINPUT);
  says(error.text, "kernel_shape holds 3 where the weight has 2 entries");
  set_value(0, false, 1, image);
  ck_assert_int_eq(clarke_window_axes(&axes, &low, &error), CLARKE_EINPUT);
  says(error.text, "an input of 2 axes; expected (batch, channels) and one to 4 spatial axes");
}
END_TEST

START_TEST(windows_of_transposed_convolutions)
{
  static const size_t line[] = {1, 3}, kernel[] = {2};
  clarke_window w;

  set_value(0, false, 2, line);
  attr_ints(&m.nodes[0], "strides", SHAPE(3, ));
  OK(clarke_window_read_transposed(&w, &low, kernel, &error));
  ck_assert(w.transposed && w.taps == 2 && w.out[0] == 8 && w.positions == 8); /* 2 * 3 + 2 */
  for (size_t p = 0; p < 8; p++)
    for (size_t tap = 0; tap < 2; tap++) {
      size_t from = CLARKE_NONE;

      for (size_t q = 0; q < 3; q++)
        from = q * 3 + tap == p ? q : from;
      ck_assert_uint_eq(clarke_window_entry(&w, p, tap), from);
    }
}
END_TEST

/* 3 entries at stride 3 with a kernel of 2 reach over 8. So many as auto_pad or output_shape says are left: an odd one goes in front, but for
 * SAME_UPPER. ONNX's readers agree on one more, behind, and on nothing else that is longer. */
START_TEST(windows_of_a_told_length)
{
  static const struct {
    const char *rule;
    int64_t length;
    size_t before, after, out;
    const char *why;
  } of[] = {{"SAME_UPPER", 5, 1, 2, 5, NULL}, {"SAME_LOWER", 5, 2, 1, 5, NULL}, {NULL, 5, 2, 1, 5, NULL}, {NULL, 8, 0, 0, 8, NULL}, {NULL, 9, 0, 0, 9, NULL},
            {"SAME_LOWER", 9, 0, 0, 9, NULL}, {"VALID", 0, 0, 0, 8, NULL}, {"SAME_UPPER", 9, 0, 0, 0, "an output of 9 entries along axis 2"},
            {NULL, 10, 0, 0, 0, "reach over 8"}, {"SAME_LOWER", 0, 0, 0, 0, "an output of 9 entries along axis 2"},
            {"VALID", 8, 0, 0, 0, "output_shape with auto_pad VALID"}, {"SAME", 0, 0, 0, 0, "auto_pad is 'SAME'"}, {NULL, 0, 0, 0, 8, NULL}};
  static const size_t line[] = {1, 3}, kernel[] = {2};
  clarke_window w;

  set_value(0, false, 2, line);
  attr_ints(&m.nodes[0], "strides", SHAPE(3, ));
  if (of[_i].length > 0)
    attr_ints(&m.nodes[0], "output_shape", SHAPE(of[_i].length, ));
  if (of[_i].rule != NULL)
    attr_string(&m.nodes[0], "auto_pad", of[_i].rule);
  if (of[_i].why == NULL) {
    OK(clarke_window_read_transposed(&w, &low, kernel, &error));
    ck_assert(w.before[0] == of[_i].before && w.after[0] == of[_i].after && w.out[0] == of[_i].out);
    return;
  }
  ck_assert_int_eq(clarke_window_read_transposed(&w, &low, kernel, &error), CLARKE_EINPUT);
  says(error.text, of[_i].why);
}
END_TEST

START_TEST(windows_of_a_told_length_with_pads)
{
  static const size_t line[] = {1, 3}, kernel[] = {2};
  clarke_window w;

  set_value(0, false, 2, line);
  attr_ints(&m.nodes[0], "output_shape", SHAPE(5, ));
  attr_ints(&m.nodes[0], "pads", SHAPE(0, 0, ));
  ck_assert_int_eq(clarke_window_read_transposed(&w, &low, kernel, &error), CLARKE_EINPUT);
  says(error.text, "pads with output_shape; expected one of them");
}
END_TEST

/* --- steps ----------------------------------------------------------------------------------- */

START_TEST(steps_of_one_shape)
{
  const clarke_step *s = clarke_lower_step_like(&low, CLARKE_SCALE, 2, 0, &error);

  ck_assert(s != NULL && s->n_in == 2 && s->in[0].value == 0);
  ck_assert(g.values[s->out].rank == 3 && g.values[s->out].count == 24 && g.values[s->out].dims[1] == 3);
  s = clarke_lower_function(&low, CLARKE_EXP, 0, &error);
  ck_assert(s != NULL && s->kind == CLARKE_ANALYTIC && s->in[0].value == 0 && g.values[s->out].count == 24);
  s = clarke_lower_entries(&low, 0, 0, &error);
  ck_assert(s != NULL && s->kind == CLARKE_PRODUCT && s->contraction.inner == 1);
  ck_assert_uint_eq(s->contraction.blocks * s->contraction.rows * s->contraction.cols, 24);
  OK(clarke_lower_done_signed(&low, s->out, false, &error));
  ck_assert_str_eq(g.values[g.steps[2].out].name, "y");
  ck_assert_uint_eq(g.n_steps, 3);
}
END_TEST

START_TEST(negated_results)
{
  const clarke_step *s = clarke_lower_step_like(&low, CLARKE_GATHER, 1, 0, &error);
  const size_t made = s->out;

  OK(clarke_lower_done_signed(&low, made, true, &error));
  ck_assert_uint_eq(g.n_steps, 2);
  s = &g.steps[1];
  ck_assert(s->kind == CLARKE_SUM && s->n_in == 1 && s->in[0].value == made && s->in[0].coef == -1);
  ck_assert_str_eq(g.values[s->out].name, "y");
}
END_TEST

/* Entries moved, and the batch with them; a constant's keep where they come from. */
START_TEST(moved_entries)
{
  static const size_t dims[] = {4, 6}, one[] = {2};
  const clarke_batch_axis batch = {false, 2, 1, false};
  size_t *map = malloc(24 * sizeof *map), *two = malloc(2 * sizeof *two), value;

  for (size_t f = 0; f < 24; f++)
    map[f] = 23 - f;
  OK(clarke_lower_moved(&low, 2, dims, map, &batch, &error));
  ck_assert(g.values[g.steps[0].out].batch.axis == 2 && g.values[g.steps[0].out].rank == 2);
  ck_assert(g.steps[0].kind == CLARKE_GATHER && g.steps[0].in[0].map[5] == 18);
  two[0] = 2;
  two[1] = 0;
  memcpy(g.values[2].real, (double[]){5, 6, 7}, 3 * sizeof(double));
  OK(clarke_lower_rearranged_constant(&low, 2, 1, one, two, &value, &error));
  ck_assert(g.values[value].constant && g.values[value].real[0] == 7 && g.values[value].real[1] == 5);
  ck_assert(g.values[value].origin[0] == 2 && g.values[value].origin[1] == 0);
}
END_TEST

/* A constant that a step reads becomes a parameter when it is an initializer, once. */
START_TEST(read_constants)
{
  OK(clarke_lower_read(&low, 2, &error));
  ck_assert_uint_eq(g.n_parameters, 0);
  g.values[2].initializer = true;
  g.values[2].name = strdup("w");
  OK(clarke_lower_read(&low, 2, &error));
  OK(clarke_lower_read(&low, 2, &error));
  ck_assert(g.n_parameters == 1 && g.parameters[0].uses == 2 && g.values[2].parameter == 0);
}
END_TEST

/* --- models ---------------------------------------------------------------------------------- */

START_TEST(models_without)
{
  model_input(&m, "a", SHAPE(1, ));
  model_input(&m, "b", SHAPE(2, ));
  model_input(&m, "c", NULL);
  model_node(&m, "Relu", "y", "z");
  model_node(&m, "Relu", "z", "u");
  clarke_model_drop_nodes(&m, 0);
  ck_assert_uint_eq(m.n_nodes, 3);
  clarke_model_drop_nodes(&m, 2);
  ck_assert(m.n_nodes == 1 && strcmp(m.nodes[0].op_type, "LayerNormalization") == 0);
  clarke_model_drop_input(&m, 1);
  ck_assert(m.n_inputs == 2 && strcmp(m.inputs[0].name, "a") == 0 && strcmp(m.inputs[1].name, "c") == 0 && !m.inputs[1].shaped);
  clarke_model_drop_input(&m, 1);
  clarke_model_drop_input(&m, 0);
  ck_assert_uint_eq(m.n_inputs, 0);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("shapes");

  tcase_add_checked_fixture(tests, begin, end);
  tcase_add_test(tests, reshaped_batches);
  tcase_add_test(tests, batches_apart_and_alike);
  tcase_add_test(tests, constants_shared_by_samples);
  tcase_add_test(tests, reduced_axes);
  tcase_add_test(tests, reductions_of_nodes);
  tcase_add_test(tests, constants_together);
  tcase_add_test(tests, windows_of_nodes);
  tcase_add_test(tests, windows_of_transposed_convolutions);
  tcase_add_loop_test(tests, windows_of_a_told_length, 0, 13);
  tcase_add_test(tests, windows_of_a_told_length_with_pads);
  tcase_add_test(tests, steps_of_one_shape);
  tcase_add_test(tests, negated_results);
  tcase_add_test(tests, moved_entries);
  tcase_add_test(tests, read_constants);
  tcase_add_test(tests, models_without);
  return run_tests();
}
