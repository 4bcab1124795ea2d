/* The geometry of windows, tap by tap, against its definition along each axis. */
#include "../network/models.h"

#include "op/window.h"

static uint64_t state;

static void
draw_window(clarke_window *w)
{
  memset(w, 0, sizeof *w);
  w->axes = 1 + draw_below(&state, CLARKE_MAX_SPATIAL);
  w->taps = w->positions = w->entries = 1;
  for (size_t a = 0; a < w->axes; a++) {
    w->in[a] = 1 + draw_below(&state, 5);
    w->kernel[a] = 1 + draw_below(&state, 4);
    w->stride[a] = 1 + draw_below(&state, 3);
    w->dilation[a] = 1 + draw_below(&state, 3);
    w->before[a] = draw_below(&state, 4);
    w->after[a] = draw_below(&state, 4);
    w->out[a] = 1 + draw_below(&state, 5); /* the last windows may reach past the padding */
    w->entries *= w->in[a];
    w->taps *= w->kernel[a];
    w->positions *= w->out[a];
  }
}

/* The entry that tap k reads at position p; *declared: is no place past the padding? */
static size_t
entry_of(const clarke_window *w, size_t p, size_t k, bool *declared)
{
  size_t at[CLARKE_MAX_SPATIAL], tap[CLARKE_MAX_SPATIAL], entry = 0;
  bool inside = true;

  for (size_t a = w->axes; a-- > 0; p /= w->out[a], k /= w->kernel[a]) {
    at[a] = p % w->out[a];
    tap[a] = k % w->kernel[a];
  }

  *declared = true;
  for (size_t a = 0; a < w->axes; a++) {
    const long place = (long)(at[a] * w->stride[a] + tap[a] * w->dilation[a]) - (long)w->before[a];

    *declared = *declared && place < (long)(w->in[a] + w->after[a]);
    inside = inside && place >= 0 && place < (long)w->in[a];
    entry = entry * w->in[a] + (size_t)place;
  }
  return inside ? entry : CLARKE_NONE;
}

START_TEST(taps)
{
  clarke_window w;

  state = 1;
  for (int round = 0; round < 500; round++) {
    draw_window(&w);
    for (size_t p = 0; p < w.positions; p++) {
      size_t inside = 0, declared = 0;

      for (size_t k = 0; k < w.taps; k++) {
        bool one;
        const size_t entry = entry_of(&w, p, k, &one);

        if (clarke_window_entry(&w, p, k) != entry)
          ck_abort_msg("round %d: tap %zu at position %zu", round, k, p);
        inside += entry != CLARKE_NONE;
        declared += one;
      }
      if (clarke_window_inside(&w, p) != inside || clarke_window_declared(&w, p) != declared)
        ck_abort_msg("round %d: position %zu", round, p);
    }
  }
}
END_TEST

START_TEST(shapes)
{
  clarke_window w = {.whole = 3, .axes = 2, .out = {5, 6}};
  clarke_value x = {.constant = false};
  clarke_graph g = {.batched = true, .values = &x, .n_values = 1};
  size_t in = 0;
  clarke_lowering low = {.graph = &g, .in = &in, .n_in = 1};
  size_t dims[4];

  ck_assert_uint_eq(clarke_window_shape(&w, &low, 7, dims), 3);
  ck_assert(dims[0] == 7 && dims[1] == 5 && dims[2] == 6);
  x.batch.none = true; /* of constants alone: the first axis is one of its own */
  ck_assert_uint_eq(clarke_window_shape(&w, &low, 7, dims), 4);
  ck_assert(dims[0] == 3 && dims[1] == 7 && dims[3] == 6);
  x.batch = (clarke_batch_axis){.axis = 3, .inner = 1}; /* of the last spatial axis, which has one entry */
  w.out[1] = 1;
  ck_assert_uint_eq(clarke_window_shape(&w, &low, 7, dims), 3);
  ck_assert(dims[0] == 3 && dims[1] == 7 && dims[2] == 5);
  g.batched = false;
  w.axes = 1;
  ck_assert_uint_eq(clarke_window_shape(&w, &low, 7, dims), 3);
  ck_assert(dims[0] == 3 && dims[1] == 7 && dims[2] == 5);
}
END_TEST

int
main(void)
{
  TCase *tests = tests_of("window");

  tcase_add_test(tests, taps);
  tcase_add_test(tests, shapes);
  return run_tests();
}
