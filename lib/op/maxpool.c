/* MaxPool: the maximum of every window, padding left out; storage_order says how the indices count, which are not read. Of
 * programs it is an order statistic, too: the largest of several numbers, with the same rule for ties. GlobalMaxPool: one
 * window, all of space. */
#include "op/axes.h"
#include "op/lower.h"
#include "op/window.h"

static clarke_status
check(const clarke_window *w, const clarke_lowering *low, clarke_error *err)
{
  if (w->taps > CLARKE_MAX_WIDTH)
    return clarke_lower_fail(low, err, "a window of %zu entries; at most %d are supported", w->taps,
                             CLARKE_MAX_WIDTH);
  return CLARKE_OK;
}

/* The candidates of every window, in the kernel's order. */
static clarke_status
add_candidates(const clarke_window *w, clarke_lowering *low, clarke_step *s, clarke_error *err)
{
  size_t *map = clarke_lower_map(low, s, 0, w->planes * w->positions * w->taps, err);

  if (map == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  s->width = w->taps;
  for (size_t plane = 0; plane < w->planes; plane++)
    for (size_t p = 0; p < w->positions; p++) {
      if (clarke_window_inside(w, p) == 0)
        return clarke_lower_fail(low, err, "window %zu lies in the padding; expected an entry in "
                                           "each", p);
      for (size_t tap = 0; tap < w->taps; tap++) {
        size_t entry = clarke_window_entry(w, p, tap);

        *map++ = entry != CLARKE_NONE ? plane * w->entries + entry : CLARKE_NONE;
      }
    }
  return CLARKE_OK;
}

static clarke_status
lower_maxpool(clarke_lowering *low, clarke_error *err)
{
  clarke_window w;
  size_t dims[CLARKE_MAX_RANK], rank;
  clarke_step *s;
  clarke_status status = clarke_lower_first(low, err);

  if (status == CLARKE_OK)
    status = clarke_window_read(&w, low, NULL, err);
  if (status == CLARKE_OK)
    status = check(&w, low, err);
  if (status != CLARKE_OK)
    return status;
  rank = clarke_window_shape(&w, low, w.channels, dims);
  s = clarke_lower_step(low, CLARKE_MAX, 1, rank, dims, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  status = add_candidates(&w, low, s, err);
  return status == CLARKE_OK ? clarke_lower_done(low, s->out, err) : status;
}

/* The input's shape, its axes after the channels of one entry each. */
static size_t
pooled_shape(const clarke_lowering *low, const size_t *whole, size_t axes, size_t *dims)
{
  const size_t rank = clarke_lower_value(low, 0)->rank;

  for (size_t a = axes - rank; a < axes; a++)
    dims[a + rank - axes] = a < 2 ? whole[a] : 1;
  return rank;
}

static clarke_status
lower_global(clarke_lowering *low, clarke_error *err)
{
  size_t whole[CLARKE_MAX_WHOLE], dims[CLARKE_MAX_RANK], axes, rank, width = 1, entries, *map;
  clarke_step *s;
  clarke_status status = clarke_lower_first(low, err);

  if (status == CLARKE_OK)
    status = clarke_axes_rows(low, 0, err);
  if (status != CLARKE_OK)
    return status;
  axes = clarke_axes_whole(low, 0, whole);
  entries = clarke_lower_value(low, 0)->count;
  if (axes < 3)
    return clarke_lower_fail(low, err, "an input of %zu axes; expected a batch, channels and one "
                                       "axis or more", axes);
  if (entries == 0)
    return clarke_lower_fail(low, err, "the input has no entries");
  for (size_t a = 2; a < axes; a++)
    width *= whole[a];
  if (width > CLARKE_MAX_WIDTH)
    return clarke_lower_fail(low, err, "a window of %zu entries; at most %d are supported", width,
                             CLARKE_MAX_WIDTH);
  rank = pooled_shape(low, whole, axes, dims);
  s = clarke_lower_step(low, CLARKE_MAX, 1, rank, dims, err);
  map = s != NULL ? clarke_lower_map(low, s, 0, entries, err) : NULL;
  if (map == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  s->width = width;
  for (size_t e = 0; e < entries; e++)
    map[e] = e;
  return clarke_lower_done(low, s->out, err);
}

const clarke_op clarke_ops_maxpool[] = {
  {.name = "MaxPool",
   .forms = {{7, 1, 1, 1, CLARKE_WINDOW_ATTRIBUTES}, {8, 1, 1, 2, CLARKE_WINDOW_ATTRIBUTES " storage_order:b"},
             {10, 1, 1, 2, CLARKE_WINDOW_ATTRIBUTES " ceil_mode:b dilations:I storage_order:b"}},
   .lower = lower_maxpool, .batch = CLARKE_BATCH_KEPT, .order = true,
   .tie = {[CLARKE_PYTORCH_2_13] = "first", [CLARKE_JAX_0_10] = "first",
           [CLARKE_TENSORFLOW_2] = "first"}},
  {.name = "GlobalMaxPool", .forms = {{7, 1, 1, 1, NULL}}, .lower = lower_global, .batch = CLARKE_BATCH_KEPT, .order = true,
   .tie = {[CLARKE_PYTORCH_2_13] = "first"}},
  {.name = NULL},
};
