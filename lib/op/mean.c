/* Means: AveragePool, GlobalAveragePool, ReduceMean; and ReduceSum, ReduceSumSquare, ReduceL2. The entries to be summed are laid out along
 * (blocks, inner, repeat), summed by a weight of ones, and for a mean the sums divided by how many they are of. */
#include "op/axes.h"
#include "op/lower.h"
#include "op/product.h"
#include "op/quotient.h"
#include "op/reduction.h"
#include "op/window.h"

#include <string.h>

typedef struct {
  size_t blocks, inner, repeat;
} layout;

/* The sums of a value laid out so, in an activation of that shape. */
static clarke_status
add_sums(clarke_lowering *low, layout l, size_t rank, const size_t *dims, size_t *value,
         clarke_error *err)
{
  const size_t row[2] = {1, l.inner};
  size_t ones;
  clarke_step *s;
  clarke_status status = clarke_lower_made(low, 2, row, &ones, err);

  if (status != CLARKE_OK)
    return status;
  for (size_t i = 0; i < l.inner; i++)
    low->graph->values[ones].real[i] = 1;
  s = clarke_lower_step(low, CLARKE_DENSE, 1, rank, dims, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  s->in[0].value = *value;
  s->dense = (clarke_dense){.weight = ones, .blocks = l.blocks, .inner = l.inner, .outer = 1,
                            .repeat = l.repeat};
  *value = s->out;
  return CLARKE_OK;
}

/* Finishes with the sums divided by the constant `counts`: one for all, or one for each place of the
 * repeated axis. */
static clarke_status
add_division(clarke_lowering *low, size_t sums, size_t counts, size_t rank, const size_t *dims,
             clarke_error *err)
{
  clarke_step *s = clarke_lower_step(low, CLARKE_SCALE, 2, rank, dims, err);
  clarke_status status;

  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  s->in[0].value = sums;
  s->in[1].value = counts;
  s->divide = true;
  status = clarke_lower_periodic(low, s, 1, 1, low->graph->values[counts].count, err);
  return status == CLARKE_OK ? clarke_lower_done(low, s->out, err) : status;
}

/* --- AveragePool --- */

static size_t
window_count(const clarke_window *w, bool padding, size_t position)
{
  return padding ? clarke_window_declared(w, position) : clarke_window_inside(w, position);
}

/* What each window's sum is divided by: one number when they are all the same. */
static clarke_status
window_counts(const clarke_window *w, clarke_lowering *low, size_t *value, clarke_error *err)
{
  bool padding = clarke_lower_int(low, "count_include_pad", 0) != 0, same = true;
  size_t first = window_count(w, padding, 0), n;
  clarke_status status;

  for (size_t p = 0; p < w->positions; p++) {
    if (clarke_window_inside(w, p) == 0)
      return clarke_lower_fail(low, err, "window %zu lies in the padding; expected an entry in each",
                               p);
    same = same && window_count(w, padding, p) == first;
  }
  n = same ? 1 : w->positions;
  status = clarke_lower_made(low, 1, &n, value, err);
  for (size_t p = 0; status == CLARKE_OK && p < n; p++)
    low->graph->values[*value].real[p] = (double)window_count(w, padding, p);
  return status;
}

static clarke_status
lower_average(clarke_lowering *low, clarke_error *err)
{
  clarke_window w;
  size_t dims[CLARKE_MAX_RANK], rank, value, counts;
  clarke_status status = clarke_lower_first(low, err);

  if (status == CLARKE_OK)
    status = clarke_window_read(&w, low, NULL, err);
  if (status == CLARKE_OK)
    status = clarke_window_gather(&w, low, &value, err);
  if (status == CLARKE_OK)
    status = window_counts(&w, low, &counts, err);
  if (status != CLARKE_OK)
    return status;
  rank = clarke_window_shape(&w, low, w.channels, dims);
  status = add_sums(low, (layout){w.planes, w.taps, w.positions}, rank, dims, &value, err);
  return status == CLARKE_OK ? add_division(low, value, counts, rank, dims, err) : status;
}

/* --- ReduceMean, ReduceSum, GlobalAveragePool --- */

/* What is summed over the axes, and what is made of the sums. */
typedef struct {
  clarke_reduced_axes over;
  bool sum;          /* and no mean */
  bool square, root; /* of squares; and of that the root */
  bool exp, log;     /* of exponentials; the logarithm of the sum */
} reduction;

/* Blocks are the axes before the first reduced one (returned), repeated the others that are kept. */
static size_t
reduction_layout(const clarke_reduced_axes *r, layout *l)
{
  size_t first = 0;

  *l = (layout){1, 1, 1};
  while (!r->reduced[first])
    l->blocks *= r->dims[first++];
  for (size_t a = first; a < r->rank; a++)
    *(r->reduced[a] ? &l->inner : &l->repeat) *= r->dims[a];
  return first;
}

/* Lays input 0 out; input 0 itself when the reduced axes follow one another. */
static clarke_status
gather_reduced(const reduction *r, clarke_lowering *low, layout *l, size_t *value,
               clarke_error *err)
{
  const clarke_reduced_axes *o = &r->over;
  size_t first = reduction_layout(o, l), last = o->rank - 1, size = l->inner * l->repeat;
  const size_t dims[3] = {l->blocks, l->inner, l->repeat};
  bool apart = false;
  clarke_step *s;
  size_t *map;

  *value = low->in[0];
  if (r->square) {
    s = clarke_lower_entries(low, low->in[0], low->in[0], err);
    if (s == NULL)
      return err != NULL ? err->code : CLARKE_ENOMEM;
    *value = s->out;
  }
  if (r->exp) {
    *value = clarke_lower_inside(low, CLARKE_EXP, low->in[0], err);
    if (*value == CLARKE_NONE)
      return err != NULL ? err->code : CLARKE_ENOMEM;
  }
  while (!o->reduced[last])
    last--;
  for (size_t a = first; a < last; a++)
    apart = apart || !o->reduced[a];
  if (!apart)
    return CLARKE_OK;
  s = clarke_lower_step(low, CLARKE_GATHER, 1, 3, dims, err);
  map = s != NULL ? clarke_lower_map(low, s, 0, l->blocks * size, err) : NULL;
  if (map == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  s->in[0].value = *value;
  *value = s->out;
  for (size_t b = 0; b < l->blocks; b++)
    for (size_t i = 0; i < l->inner; i++)
      for (size_t k = 0; k < l->repeat; k++)
        *map++ = b * size + clarke_reduction_offset(o, first, true, i) + clarke_reduction_offset(o, first, false, k);
  return CLARKE_OK;
}

static clarke_status
add_reduced(const reduction *r, clarke_lowering *low, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], rank = clarke_reduction_shape(&r->over, dims), one = 1, value, count;
  layout l;
  clarke_status status;

  if (clarke_lower_value(low, 0)->count == 0)
    return clarke_lower_fail(low, err, "the input has no entries");
  status = gather_reduced(r, low, &l, &value, err);
  if (status == CLARKE_OK && r->sum) {
    status = add_sums(low, l, rank, dims, &value, err);
    if (status == CLARKE_OK && (r->root || r->log))
      value = clarke_lower_inside(low, r->root ? CLARKE_SQRT : CLARKE_LOG, value, err);
    if (value == CLARKE_NONE)
      return err != NULL ? err->code : CLARKE_ENOMEM;
    return status == CLARKE_OK ? clarke_lower_done(low, value, err) : status;
  }
  if (status == CLARKE_OK)
    status = clarke_lower_made(low, 1, &one, &count, err);
  if (status != CLARKE_OK)
    return status;
  low->graph->values[count].real[0] = (double)l.inner;
  status = add_sums(low, l, rank, dims, &value, err);
  return status == CLARKE_OK ? add_division(low, value, count, rank, dims, err) : status;
}

static clarke_status
reduce(const reduction *r, clarke_lowering *low, clarke_error *err)
{
  const clarke_status status = add_reduced(r, low, err);

  low->graph->values[low->graph->n_values - 1].batch = clarke_reduction_batch(&r->over);
  return status;
}

static clarke_status
lower_global(clarke_lowering *low, clarke_error *err)
{
  reduction r = {.over = {.keep = true}};
  clarke_reduced_axes *o = &r.over;
  clarke_status status = clarke_lower_lift(low, err);

  if (status == CLARKE_OK)
    status = clarke_lower_activation(low, 0, err);
  if (status == CLARKE_OK)
    status = clarke_axes_rows(low, 0, err);
  if (status != CLARKE_OK)
    return status;
  o->rank = clarke_axes_whole(low, 0, o->dims);
  status = clarke_axes_agree(low, 1, o->rank, &o->batch, err);
  if (status != CLARKE_OK)
    return status;
  if (o->rank < 3)
    return clarke_lower_fail(low, err, "an input of %zu axes; expected a batch, channels and one "
                                       "axis or more", o->rank);
  for (size_t a = 2; a < o->rank; a++)
    o->reduced[a] = true;
  return reduce(&r, low, err);
}

static clarke_status
lower_reduction(clarke_lowering *low, clarke_error *err)
{
  reduction r = {.sum = strcmp(low->node->op_type, "ReduceMean") != 0,
                 .square = strcmp(low->node->op_type, "ReduceSumSquare") == 0 || strcmp(low->node->op_type, "ReduceL2") == 0,
                 .root = strcmp(low->node->op_type, "ReduceL2") == 0,
                 .exp = strcmp(low->node->op_type, "ReduceLogSumExp") == 0,
                 .log = strncmp(low->node->op_type, "ReduceLogSum", strlen("ReduceLogSum")) == 0};
  const clarke_status status = clarke_reduction_read(&r.over, low, r.sum ? "sum" : "mean", err);

  if (status != CLARKE_OK)
    return status;
  if (r.over.none && (r.square || r.log))
    return clarke_lower_fail(low, err, "%s of entries that are not added up: expected axes", r.square ? "squares" : "logarithms");
  if (r.over.none)
    return clarke_reduction_none(&r.over, low, err);
  return reduce(&r, low, err);
}

const clarke_op clarke_ops_mean[] = {
  {.name = "AveragePool",
   .forms = {{7, 1, 1, 1, CLARKE_WINDOW_ATTRIBUTES " count_include_pad:b"},
             {10, 1, 1, 1, CLARKE_WINDOW_ATTRIBUTES " ceil_mode:b count_include_pad:b"},
             {19, 1, 1, 1, CLARKE_WINDOW_ATTRIBUTES " ceil_mode:b count_include_pad:b dilations:I"}},
   .lower = lower_average, .batch = CLARKE_BATCH_KEPT},
  {.name = "GlobalAveragePool", .forms = {{7, 1, 1, 1, NULL}}, .lower = lower_global, .batch = CLARKE_BATCH_ANY},
  {.name = "ReduceMean",
   .forms = {{7, 1, 1, 1, "axes:I keepdims:b"}, {18, 1, 2, 1, "keepdims:b noop_with_empty_axes:b"}},
   .lower = lower_reduction, .batch = CLARKE_BATCH_ANY},
  {.name = "ReduceSum",
   .forms = {{7, 1, 1, 1, "axes:I keepdims:b"}, {13, 1, 2, 1, "keepdims:b noop_with_empty_axes:b"}},
   .lower = lower_reduction, .batch = CLARKE_BATCH_ANY},
  {.name = "ReduceSumSquare",
   .forms = {{7, 1, 1, 1, "axes:I keepdims:b"}, {18, 1, 2, 1, "keepdims:b noop_with_empty_axes:b"}},
   .lower = lower_reduction, .batch = CLARKE_BATCH_ANY},
  {.name = "ReduceL2",
   .forms = {{7, 1, 1, 1, "axes:I keepdims:b"}, {18, 1, 2, 1, "keepdims:b noop_with_empty_axes:b"}},
   .lower = lower_reduction, .batch = CLARKE_BATCH_ANY},
  {.name = "ReduceLogSum",
   .forms = {{7, 1, 1, 1, "axes:I keepdims:b"}, {18, 1, 2, 1, "keepdims:b noop_with_empty_axes:b"}},
   .lower = lower_reduction, .batch = CLARKE_BATCH_ANY},
  {.name = "ReduceLogSumExp",
   .forms = {{7, 1, 1, 1, "axes:I keepdims:b"}, {18, 1, 2, 1, "keepdims:b noop_with_empty_axes:b"}},
   .lower = lower_reduction, .batch = CLARKE_BATCH_ANY},
  {.name = NULL},
};
