/* Entries of a constant or an activation along axes: those of a range, or of a list. */
#include "check/onnx/take.h"
#include "check/base/allocate.h"
#include "check/onnx/index.h"
#include "check/onnx/inner.h"
#include "check/onnx/integers.h"
#include "check/onnx/jump.h"
#include "check/onnx/lift.h"

#include <string.h>

/* Input 0's entries `at` along the axis, or along `span` axes from it as one; in its place there are n axes of `dims`. */
static void
put_chosen(builder *b, size_t axis, size_t span, size_t n, const size_t *dims, const size_t *at)
{
  const value *x = &b->in[0];
  size_t out[2 * MAX_RANK], rank = x->rank + n - span, many = product(dims, n), length = product(x->dims + axis, span);
  size_t end = axis + span, behind = product(x->dims + end, x->rank - end);
  need(rank <= MAX_RANK && (many > 0 || (x->constant != NULL && !x->constant->real)),
       "more axes than supported, or no entries");
  memcpy(out, x->dims, axis * sizeof *out);
  memcpy(out + axis, dims, n * sizeof *out);
  memcpy(out + axis + n, x->dims + end, (x->rank - end) * sizeof *out);
  put(b, x->constant, x->step, NULL, rank, out);
  for (size_t f = 0; f < b->out.count; f++)
    b->out.map[f] = x->map[(f / behind / many * length + at[f / behind % many]) * behind + f % behind];
  b->out.at = x->at >= end ? x->at + n - span : x->at;
  b->out.inner = x->inner;
}

/* The same of axes that hold no samples. */
static void
put_taken(builder *b, size_t axis, size_t span, size_t n, const size_t *dims, const size_t *at)
{
  for (size_t i = axis; i < axis + span; i++)
    need(!on_batch(b, &b->in[0], i), "the batch axis would be mixed");
  put_chosen(b, axis, span, n, dims, at);
}

/* Entry i of the list that is input 1, from the end of an axis of so many entries when it is negative. */
static size_t
place_along(const builder *b, size_t i, size_t length)
{
  const value *list = &b->in[1];
  long j = whole_entry(b, numbers_of(b, list), list->map[i]);
  j += j < 0 ? (long)length : 0;
  need(j >= 0 && (size_t)j < length, "an index is out of range");
  return (size_t)j;
}

/* The axis is merged with the batch: each sample's own entries, the same of each, when the places' first axis is the samples. */
static void
put_of_samples(builder *b, size_t axis)
{
  const value *x = &b->in[0], *list = &b->in[1];
  size_t rows = b->net->together, inner = x->inner, length = rows * x->dims[axis], dims[MAX_RANK];
  need(list->rank > 0 && list->dims[0] == rows && list->count > 0, "the batch axis would be mixed");
  size_t each = list->count / rows, *at = allocate(each, sizeof *at);
  for (size_t i = 0; i < list->count; i++) {
    size_t place = place_along(b, i, length), own = place / inner / rows * inner + place % inner;
    need(place / inner % rows == i / each && (i < each || at[i % each] == own), "the batch axis would be mixed");
    at[i % each] = own;
  }
  memcpy(dims, list->dims, list->rank * sizeof *dims);
  dims[0] = 1;
  put_chosen(b, axis, 1, list->rank, dims, at);
  b->out.at = axis;
  b->out.inner = 0;
}

static void
put_range(builder *b, size_t axis, size_t start, size_t n, size_t by)
{
  size_t *at = allocate(n, sizeof *at);
  for (size_t i = 0; i < n; i++)
    at[i] = start + i * by;
  put_taken(b, axis, 1, 1, &n, at);
}

/* An end of a slice, from the end of the axis when it is negative, between two others. */
static long
within_axis(long at, long length, long least, long most)
{
  at = at >= 0 ? at : at < -length ? least : at + length;
  return at < least ? least : at > most ? most : at;
}

/* What a slice takes of an axis: n entries, `by` apart from the first on. */
typedef struct {
  long first, by;
  size_t n;
} range;

/* A step below 0 goes backwards, from the last entry at most. */
static range
range_of(long from, long to, long by, long length)
{
  long back = by < 0, first = within_axis(from, length, 0, length - back),
       end = within_axis(to, length, -back, length - back);
  by = by > length ? length + 1 : by < -length ? -length - 1 : by;
  long count = back ? (first - end - by - 1) / -by : (end - first + by - 1) / by;
  return (range){first, by, count > 0 ? (size_t)count : 0};
}

/* The axes from the first on, `span` of them, as one: their ranges' entries. */
static void
put_ranges(builder *b, size_t axis, size_t span, const range *taken)
{
  const value *x = &b->in[0];
  size_t dims[MAX_RANK];
  for (size_t i = 0; i < span; i++)
    dims[i] = taken[axis + i].n;
  size_t n = product(dims, span), *at = allocate(n, sizeof *at);
  for (size_t e = 0; e < n; e++)
    for (size_t i = 0, apart = n; i < span; i++) {
      const range *r = &taken[axis + i];
      apart /= r->n;
      at[e] = at[e] * x->dims[axis + i] + (size_t)(r->first + (long)(e / apart % r->n) * r->by);
    }
  put_taken(b, axis, span, span, dims, at);
}

/* Ranges of axes, each axis named once; others are whole. */
void
lower_slice(builder *b)
{
  const value *x = &b->in[0];
  long from[MAX_RANK], to[MAX_RANK], axes[MAX_RANK], by[MAX_RANK];
  range taken[MAX_RANK];
  bool seen[MAX_RANK] = {false};
  size_t n = whole_list(b, 1, "starts", from), least = NONE, most = 0, whole[MAX_RANK];
  bool named = b->in[3].name != NULL || find_attribute(b, "axes") != NULL, stepped = b->in[4].name != NULL;
  need(whole_list(b, 2, "ends", to) == n && n <= x->rank && (!named || whole_list(b, 3, "axes", axes) == n)
           && (!stepped || whole_list(b, 4, "", by) == n),
       "starts, ends, axes and steps are not of one length");
  whole_run(b, x, whole);
  for (size_t i = 0; i < x->rank; i++)
    taken[i] = (range){0, 1, x->dims[i]};
  for (size_t i = 0; i < n; i++) {
    size_t axis = named ? axis_of(b, axes[i], x->rank) : i;
    long each = stepped ? by[i] : 1;
    need(each != 0 && !seen[axis], "a step of 0, or an axis twice");
    seen[axis] = true;
    range r = range_of(from[i], to[i], each, (long)whole[axis]);
    if (r.first == 0 && each == 1 && r.n == whole[axis])
      continue;
    need(!on_batch(b, x, axis), "the batch axis would be mixed");
    taken[axis] = r;
    least = least > axis ? axis : least;
    most = most < axis ? axis : most;
  }
  if (least != NONE)
    put_ranges(b, least, most - least + 1, taken);
  else {
    put(b, x->constant, x->step, x->map, x->rank, x->dims);
    b->out.at = x->at;
    b->out.inner = x->inner;
  }
}

/* Outputs after the first are defined here. */
/* A part of the axis; one without entries is a constant, that nothing is made of. */
static void
put_part(builder *b, size_t axis, size_t start, size_t n)
{
  size_t dims[MAX_RANK];
  if (n > 0) {
    put_range(b, axis, start, n, 1);
    return;
  }
  need(!b->net->batched || b->net->together == 1, "a part without entries, of all samples");
  memcpy(dims, b->in[0].dims, sizeof dims);
  dims[axis] = 0;
  b->out = made_numbers(b, b->in[0].rank, dims);
}

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
  need(listed > 0 || b->opset >= 18 || length % n == 0, "the parts are not equal");
  for (size_t i = 0; i < n; i++)
    given[i] = listed == 0           ? (long)(i * each >= length         ? 0
                                              : length - i * each < each ? length - i * each
                                                                         : each)
               : parts->name != NULL ? whole_entry(b, parts->constant, parts->map[i])
                                     : whole_entry(b, list, i);
  for (size_t i = 0; i < n; i++) {
    need(given[i] >= 0 && (size_t)given[i] <= length - start, "the parts do not fit the axis");
    if (i > 0 && *b->node->out[i] != '\0') {
      put_part(b, axis, start, (size_t)given[i]);
      keep_held(b);
      define(b, b->node->out[i]);
    }
    start += (size_t)given[i];
  }
  need(start == length, "the parts do not fit the axis");
  put_part(b, axis, 0, (size_t)given[0]);
}

void
lower_gather(builder *b)
{
  const value *x = &b->in[0], *list = &b->in[1];
  if (is_computed(list)) {
    take_computed(b);
    return;
  }
  if (x->constant != NULL && x->constant->real && !b->net->batched && b->net->batch == 1) {
    lower_rows(b);
    return;
  }
  size_t axis = axis_of(b, whole_attribute(b, "axis", 0), x->rank), length = x->dims[axis];
  need(!x->negated, "entries of a negated constant are taken");
  need(numbers_of(b, list) != NULL, "the indices are no constant integers, and no words of a single run");
  if (on_batch(b, x, axis) && x->inner > 0) {
    put_of_samples(b, axis);
    return;
  }
  size_t *at = allocate(list->count, sizeof *at);
  for (size_t i = 0; i < list->count; i++)
    at[i] = place_along(b, i, length);
  put_taken(b, axis, 1, list->rank, list->dims, at);
}

/* The output has the places' shape, and of each place that entry along the axis: of what has no samples apart. */
void
lower_gather_elements(builder *b)
{
  const value *x = &b->in[0], *list = &b->in[1];
  size_t axis = axis_of(b, whole_attribute(b, "axis", 0), x->rank),
         behind = product(x->dims + axis + 1, x->rank - axis - 1);
  size_t stride[MAX_RANK], next = 1;
  need(list->constant != NULL && !list->constant->real && list->rank == x->rank && list->count > 0 && !is_batch(b, x),
       "the places are no constant integers of as many axes, or there are samples");
  for (size_t i = x->rank; i-- > 0; next *= x->dims[i]) {
    need(i == axis || list->dims[i] <= x->dims[i], "the places have an axis that is too long");
    stride[i] = i == axis ? 0 : next;
  }
  size_t *map = index_map(b, x->rank, list->dims, stride, NULL);
  for (size_t i = 0; i < list->count; i++)
    map[i] = x->map[map[i] + place_along(b, i, x->dims[axis]) * behind];
  put(b, x->constant, x->step, map, x->rank, list->dims);
}

/* Each row of the last axis of the places has one along each of x's first axes. */
void
lower_gather_rows(builder *b)
{
  const value *x = &b->in[0], *list = &b->in[1];
  need(list->constant != NULL && !list->constant->real && list->rank > 0, "the places are no constant integers");
  size_t n = list->rank - 1, span = list->dims[n], many = product(list->dims, n);
  need(span > 0 && span <= x->rank && whole_attribute(b, "batch_dims", 0) == 0, "too many axes, or batch_dims");
  size_t *at = allocate(many, sizeof *at);
  for (size_t i = 0; i < many * span; i++)
    at[i / span] = at[i / span] * x->dims[i % span] + place_along(b, i, x->dims[i % span]);
  put_taken(b, 0, span, n, list->dims, at);
}

/* The larger image has (channels, rows, block, columns, block), the deeper one (block, block, channels, rows, columns), or the
 * channels before the blocks. */
void
lower_blocks(builder *b)
{
  const value *x = &b->in[0];
  const char *mode = text_attribute(b, "mode", "DCR");
  bool deep = b->op[0] == 'S', last = strcmp(mode, "CRD") == 0;
  long given = whole_attribute(b, "blocksize", 0);
  need(last || strcmp(mode, "DCR") == 0, "mode is neither DCR nor CRD");
  need_rows(b, x);
  need(x->rank == 4 && given > 0 && given <= INT32_MAX, "not four axes, or no size of blocks");
  size_t k = (size_t)given, squares = k * k;
  const size_t *d = x->dims;
  need(deep ? d[2] % k == 0 && d[3] % k == 0 : d[1] % squares == 0, "the blocks do not divide the shape");
  size_t channels = deep ? d[1] : d[1] / squares, rows = deep ? d[2] / k : d[2], columns = deep ? d[3] / k : d[3];
  size_t small = rows * columns, wide[4] = {d[0], channels, rows * k, columns * k};
  size_t tall[4] = {d[0], channels * squares, rows, columns}, *map = index_map(b, 1, &x->count, &(size_t){1}, NULL);
  for (size_t f = 0; f < x->count; f++) { /* f of the deeper one, `at` of the larger */
    size_t n = f / (small * channels * squares), c = f / small % (channels * squares), place = f % small;
    size_t block = last ? c % squares : c / channels, channel = last ? c / squares : c % channels;
    size_t row = place / columns * k + block / k, column = place % columns * k + block % k;
    size_t at = ((n * channels + channel) * rows * k + row) * columns * k + column;
    map[deep ? f : at] = x->map[deep ? at : f];
  }
  put(b, x->constant, x->step, map, 4, deep ? tall : wide);
}
