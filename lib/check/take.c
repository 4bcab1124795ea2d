/* Entries of a constant or an activation along an axis: those of a range, or of a list. */
#include "take.h"
#include "allocate.h"
#include "linear.h"

#include <string.h>

/* Input 0's entries `at` along the axis; in its place there are n axes of `dims`. */
static void
put_taken(builder *b, size_t axis, size_t n, const size_t *dims, const size_t *at)
{
  const value *x = &b->in[0];
  size_t out[2 * MAX_RANK], rank = x->rank + n - 1, many = product(dims, n), length = x->dims[axis];
  size_t behind = product(x->dims + axis + 1, x->rank - axis - 1);
  need(!on_batch(b, x, axis), "the batch axis would be mixed");
  need(rank <= MAX_RANK && many > 0, "more axes than supported, or no entries");
  memcpy(out, x->dims, axis * sizeof *out);
  memcpy(out + axis, dims, n * sizeof *out);
  memcpy(out + axis + n, x->dims + axis + 1, (x->rank - axis - 1) * sizeof *out);
  put(b, x->constant, x->step, NULL, rank, out);
  for (size_t f = 0; f < b->out.count; f++)
    b->out.map[f] = x->map[(f / behind / many * length + at[f / behind % many]) * behind + f % behind];
  b->out.at = x->at > axis ? x->at + n - 1 : x->at;
  b->out.inner = x->inner;
}

static void
put_range(builder *b, size_t axis, size_t start, size_t n, size_t by)
{
  size_t *at = allocate(n, sizeof *at);
  for (size_t i = 0; i < n; i++)
    at[i] = start + i * by;
  put_taken(b, axis, 1, &n, at);
}

/* An end of a slice, from the end of the axis when it is negative, within the axis. */
static size_t
within_axis(long at, size_t length)
{
  at += at < 0 ? (long)length : 0;
  return at < 0 ? 0 : (size_t)at > length ? length : (size_t)at;
}

/* Of one axis; others must be whole. */
void
lower_slice(builder *b)
{
  const value *x = &b->in[0];
  long from[MAX_RANK], to[MAX_RANK], axes[MAX_RANK], by[MAX_RANK];
  size_t n = whole_list(b, 1, "starts", from), cut = NONE, start = 0, end = 0, stride = 1;
  bool named = b->in[3].name != NULL || find_attribute(b, "axes") != NULL, stepped = b->in[4].name != NULL;
  need(whole_list(b, 2, "ends", to) == n && n <= x->rank && (!named || whole_list(b, 3, "axes", axes) == n)
           && (!stepped || whole_list(b, 4, "", by) == n),
       "starts, ends, axes and steps are not of one length");
  for (size_t i = 0; i < n; i++) {
    size_t axis = named ? axis_of(b, axes[i], x->rank) : i, length = x->dims[axis];
    need(!stepped || by[i] > 0, "a step is not positive");
    bool all = from[i] == 0 && (!stepped || by[i] == 1);
    if (on_batch(b, x, axis) && all && to[i] >= (long)b->net->together)
      continue;
    if (!on_batch(b, x, axis) && within_axis(from[i], length) == 0 && (!stepped || by[i] == 1)
        && within_axis(to[i], length) == length)
      continue;
    need(cut == NONE, "two axes are cut");
    cut = axis;
    start = within_axis(from[i], length);
    end = within_axis(to[i], length);
    stride = !stepped ? 1 : (size_t)by[i] > length ? length + 1 : (size_t)by[i];
  }
  if (cut != NONE)
    put_range(b, cut, start, start < end ? (end - start + stride - 1) / stride : 0, stride);
  else {
    put(b, x->constant, x->step, x->map, x->rank, x->dims);
    b->out.at = x->at;
    b->out.inner = x->inner;
  }
}

/* Outputs after the first are defined here. */
void
lower_split(builder *b)
{
  const value *x = &b->in[0];

  long given[1024];
  size_t axis = axis_of(b, whole_attribute(b, "axis", 0), x->rank), length = x->dims[axis], n = b->node->n_out,
         start = 0;
  const tensor *list = find_attribute(b, "split");
  const value *parts = &b->in[1];
  size_t listed = parts->name != NULL ? parts->count : list != NULL ? list->count : 0, each = (length + n - 1) / n;
  need(whole_attribute(b, "num_outputs", (long)n) == (long)n, "num_outputs is not the number of outputs");
  need(parts->name == NULL || (parts->constant != NULL && !parts->constant->real),
       "the parts are no constant list of integers");
  need(listed == 0 || listed == n, "not a part for each output");
  need(listed > 0 || b->m->opset >= 18 || length % n == 0, "the parts are not equal");
  for (size_t i = 0; i < n; i++)
    given[i] = listed == 0           ? (long)(i * each >= length         ? 0
                                              : length - i * each < each ? length - i * each
                                                                         : each)
               : parts->name != NULL ? whole_entry(b, parts->constant, parts->map[i])
                                     : whole_entry(b, list, i);
  for (size_t i = 0; i < n; i++) {
    need(given[i] >= 0 && (size_t)given[i] <= length - start, "the parts do not fit the axis");
    if (i > 0 && *b->node->out[i] != '\0') {
      put_range(b, axis, start, (size_t)given[i], 1);
      define(b, b->node->out[i]);
    }
    start += (size_t)given[i];
  }
  need(start == length, "the parts do not fit the axis");
  put_range(b, axis, 0, (size_t)given[0], 1);
}

void
lower_gather(builder *b)
{
  const value *x = &b->in[0], *list = &b->in[1];
  if (x->constant != NULL && x->constant->real && !b->net->batched && b->net->batch == 1) {
    lower_rows(b);
    return;
  }
  size_t axis = axis_of(b, whole_attribute(b, "axis", 0), x->rank), length = x->dims[axis];
  need(!x->negated, "entries of a negated constant are taken");
  need(list->constant != NULL && !list->constant->real, "the indices are no constant integers");
  size_t *at = allocate(list->count, sizeof *at);
  for (size_t i = 0; i < list->count; i++) {
    long j = whole_entry(b, list->constant, list->map[i]);
    j += j < 0 ? (long)length : 0;
    need(j >= 0 && (size_t)j < length, "an index is out of range");
    at[i] = (size_t)j;
  }
  put_taken(b, axis, list->rank, list->dims, at);
}
