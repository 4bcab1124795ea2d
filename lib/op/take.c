/* Slice, Split, Gather, GatherND and GatherElements by constant indices: some entries along axes of a sample, or of a constant. */
#include "op/take.h"
#include "op/axes.h"
#include "op/identity.h"
#include "op/lower.h"

#include <stdlib.h>
#include <string.h>

/* Which entries of input 0 along an axis, or along `span` axes from it as one, and the axes that stand in its place: rank of
 * them. */
typedef struct {
  bool samples; /* the first of them is the batch, which the axis was merged with */
  size_t axis, span, n, *entry;
  size_t rank, dims[CLARKE_MAX_WHOLE];
} choice;

static size_t *
choice_map(const choice *c, const clarke_lowering *low, size_t before, size_t length, size_t behind, clarke_error *err)
{
  const size_t count = before * c->n * behind;
  size_t *map = NULL;

  if (count > CLARKE_MAX_MAP || !clarke_lower_affordable(low->graph, count)) {
    clarke_lower_too_large(low, err);
    return NULL;
  }
  map = malloc((count + 1) * sizeof *map);
  if (map == NULL)
    clarke_lower_no_memory(low, err);
  for (size_t f = 0; map != NULL && f < count; f++)
    map[f] = (f / behind / c->n * length + c->entry[f / behind % c->n]) * behind + f % behind;
  return map;
}

static clarke_status
take(clarke_lowering *low, const choice *c, clarke_error *err)
{
  clarke_batch_axis batch = {.inner = 1};
  size_t in[CLARKE_MAX_WHOLE], out[2 * CLARKE_MAX_WHOLE], rank = clarke_axes_whole(low, 0, in), length = 1, before = 1, behind = 1;
  const size_t end = c->axis + c->span;
  const bool batched = clarke_axes_lead(low, 0) == 1;
  size_t *map;
  clarke_status status = CLARKE_OK;

  for (size_t a = c->axis; a < end && status == CLARKE_OK && !c->samples; a++)
    status = clarke_axes_apart(low, 0, a, err);
  if (status != CLARKE_OK)
    return status;
  if (rank + c->rank - c->span > CLARKE_MAX_WHOLE)
    return clarke_lower_fail(low, err, "more than %d axes", CLARKE_MAX_RANK);
  for (size_t a = 0; a < rank; a++)
    *(a < c->axis ? &before : a < end ? &length : &behind) *= in[a];
  map = choice_map(c, low, before, length, behind, err);
  if (map == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  memcpy(out, in, c->axis * sizeof *out);
  memcpy(out + c->axis, c->dims, c->rank * sizeof *out);
  memcpy(out + c->axis + c->rank, in + end, (rank - end) * sizeof *out);
  rank = rank + c->rank - c->span;
  if (batched) {
    batch = clarke_lower_value(low, 0)->batch;
    batch.axis = batch.axis >= end ? batch.axis + c->rank - c->span : batch.axis;
    batch.merged = batch.merged && !c->samples;
    rank = clarke_axes_of_sample(&batch, rank, out);
  }
  return clarke_lower_moved(low, rank, out, map, &batch, err);
}

/* The entries from start on, `step` apart, n of them, which become an axis: none, only of a constant of integers, as where a
 * shape is cut in two. */
static clarke_status
take_range(clarke_lowering *low, size_t axis, size_t start, size_t step, size_t n, clarke_error *err)
{
  choice c = {.axis = axis, .span = 1, .n = n, .rank = 1, .dims = {n}};
  clarke_status status;

  if (n == 0 && clarke_lower_value(low, 0)->integer == NULL)
    return clarke_lower_fail(low, err, "the output would have no entries");
  c.entry = malloc((n + 1) * sizeof *c.entry);
  if (c.entry == NULL)
    return clarke_lower_no_memory(low, err);
  for (size_t i = 0; i < n; i++)
    c.entry[i] = start + i * step;
  status = take(low, &c, err);
  free(c.entry);
  return status;
}

/* An end of a slice: from the end when it is negative, and within least and most. */
static int64_t
bounded(int64_t at, int64_t length, int64_t least, int64_t most)
{
  at = at < 0 && at >= -length ? at + length : at < 0 ? least : at;
  return at > most ? most : at < least ? least : at;
}

/* Entries of an axis: n of them, `step` apart from the first on; backwards the step wraps around 0. */
typedef struct {
  size_t start, step, n;
} cut;

static cut
cut_axis(int64_t start, int64_t end, int64_t step, size_t length)
{
  const int64_t n = (int64_t)length, back = step < 0;
  const int64_t by = step > n ? n + 1 : step < -n ? -n - 1 : step;
  const int64_t from = bounded(start, n, 0, n - back), to = bounded(end, n, -back, n - back);
  const int64_t apart = back ? from - to : to - from, each = back ? -by : by;

  return (cut){(size_t)from, (size_t)by, apart > 0 ? (size_t)((apart + each - 1) / each) : 0};
}

typedef struct {
  const int64_t *list;
  size_t n;
  bool given;
} integers;

/* starts, ends, axes and steps, and what they cut: one range of each axis of input 0, from the first that is cut to the last.
 * whole: the axes with all samples of a run, of which starts and ends speak. */
typedef struct {
  integers in[4];
  size_t rank, dims[CLARKE_MAX_WHOLE], whole[CLARKE_MAX_WHOLE], first, last;
  cut cut[CLARKE_MAX_WHOLE];
} slice;

static clarke_status
read_slice(slice *s, const clarke_lowering *low, clarke_error *err)
{
  static const char *const name[] = {"starts", "ends", "axes", "steps"};
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < 4 && status == CLARKE_OK; i++)
    status = clarke_axes_list(low, name[i], i + 1, &s->in[i].list, &s->in[i].n, &s->in[i].given, err);
  for (size_t i = 1; i < 4 && status == CLARKE_OK; i++)
    if (!s->in[0].given || (s->in[i].given ? s->in[i].n != s->in[0].n : i == 1) || s->in[0].n > s->rank)
      status = clarke_lower_fail(low, err, "starts, ends, axes and steps must be lists of one length");
  return status;
}

/* What entry i of the lists cuts; nothing, where it takes a whole axis, which alone the samples' may be. */
static clarke_status
read_cut(slice *s, const clarke_lowering *low, size_t i, clarke_error *err)
{
  const int64_t start = s->in[0].list[i], end = s->in[1].list[i], step = s->in[3].given ? s->in[3].list[i] : 1;
  size_t axis;
  cut c;
  clarke_status status = clarke_axes_resolve(low, s->in[2].given ? s->in[2].list[i] : (int64_t)i, s->rank, &axis, err);

  if (status == CLARKE_OK && step == 0)
    status = clarke_lower_fail(low, err, "a step of 0");
  for (size_t j = 0; status == CLARKE_OK && s->in[2].given && j < i; j++)
    if (s->in[2].list[j] == (int64_t)axis || s->in[2].list[j] + (int64_t)s->rank == (int64_t)axis)
      status = clarke_lower_fail(low, err, "axis %zu is given twice", axis);
  if (status != CLARKE_OK)
    return status;
  c = cut_axis(start, end, step, s->whole[axis]);
  if (c.start == 0 && c.step == 1 && c.n == s->whole[axis])
    return CLARKE_OK;
  status = clarke_axes_apart(low, 0, axis, err);
  if (status != CLARKE_OK)
    return status;
  s->cut[axis] = c;
  s->first = s->first > axis ? axis : s->first;
  s->last = s->last == CLARKE_NONE || s->last < axis ? axis : s->last;
  return CLARKE_OK;
}

/* The axes that are cut, and those between, as one. */
static clarke_status
take_slice(clarke_lowering *low, const slice *s, clarke_error *err)
{
  choice c = {.axis = s->first, .span = s->last - s->first + 1, .n = 1, .rank = s->last - s->first + 1};
  clarke_status status;

  for (size_t i = 0; i < c.span; i++) {
    c.dims[i] = s->cut[s->first + i].n;
    c.n *= c.dims[i];
  }
  if (c.n == 0 && clarke_lower_value(low, 0)->integer == NULL)
    return clarke_lower_fail(low, err, "the output would have no entries");
  c.entry = malloc((c.n + 1) * sizeof *c.entry);
  if (c.entry == NULL)
    return clarke_lower_no_memory(low, err);
  for (size_t e = 0; e < c.n; e++) {
    size_t rest = e, stride = 1;

    c.entry[e] = 0;
    for (size_t i = c.span; i-- > 0; rest /= c.dims[i], stride *= s->dims[s->first + i])
      c.entry[e] += (s->cut[s->first + i].start + rest % c.dims[i] * s->cut[s->first + i].step) * stride;
  }
  status = take(low, &c, err);
  free(c.entry);
  return status;
}

static clarke_status
lower_slice(clarke_lowering *low, clarke_error *err)
{
  slice s = {.first = CLARKE_NONE, .last = CLARKE_NONE};
  clarke_status status;

  if (!clarke_lower_has(low, 0))
    return clarke_lower_fail(low, err, "input 0 is missing");
  s.rank = clarke_axes_whole(low, 0, s.dims);
  clarke_axes_of_run(low, 0, s.whole);
  for (size_t a = 0; a < s.rank; a++)
    s.cut[a] = (cut){0, 1, s.dims[a]};
  status = read_slice(&s, low, err);
  for (size_t i = 0; status == CLARKE_OK && i < s.in[0].n; i++)
    status = read_cut(&s, low, i, err);
  if (status != CLARKE_OK)
    return status;
  return s.last == CLARKE_NONE ? clarke_lower_copy(low, err) : take_slice(low, &s, err);
}

/* The length of part k, of n. */
static clarke_status
part_length(const clarke_lowering *low, const integers *parts, size_t n, size_t k, size_t length, size_t *part,
            clarke_error *err)
{
  const size_t each = (length + n - 1) / n;

  if (parts->given) {
    if (parts->n != n || parts->list[k] < 0 || (size_t)parts->list[k] > length)
      return clarke_lower_fail(low, err, "the parts do not fit an axis of %zu entries", length);
    *part = (size_t)parts->list[k];
    return CLARKE_OK;
  }
  if (low->opset < 18 && length % n != 0)
    return clarke_lower_fail(low, err, "%zu entries in %zu equal parts", length, n);
  *part = k * each >= length ? 0 : length - k * each < each ? length - k * each : each;
  return CLARKE_OK;
}

/* A part without entries is a constant, that no step reads: a Concat may leave it out. Of samples on an axis it would have too many. */
static clarke_status
take_nothing(clarke_lowering *low, size_t axis, size_t *value, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], rank = clarke_axes_whole(low, 0, dims);

  if ((low->graph->batched && low->graph->together > 1) || rank > CLARKE_MAX_RANK)
    return clarke_lower_fail(low, err, "the output would have no entries");
  dims[axis] = 0;
  return clarke_lower_made(low, rank, dims, value, err);
}

static clarke_status
give_part(clarke_lowering *low, size_t k, size_t axis, size_t start, size_t part, clarke_error *err)
{
  size_t value = 0;
  clarke_status status = part == 0 ? take_nothing(low, axis, &value, err) : take_range(low, axis, start, 1, part, err);

  return status == CLARKE_OK ? clarke_lower_output(low, k, part == 0 ? value : low->graph->n_values - 1, err) : status;
}

static clarke_status
lower_split(clarke_lowering *low, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], rank, axis = 0, start = 0, n = low->node->n_out;
  integers parts;
  clarke_status status;

  if (!clarke_lower_has(low, 0))
    return clarke_lower_fail(low, err, "input 0 is missing");
  rank = clarke_axes_whole(low, 0, dims);
  status = clarke_axes_list(low, "split", 1, &parts.list, &parts.n, &parts.given, err);
  if (status == CLARKE_OK)
    status = clarke_axes_resolve(low, clarke_lower_int(low, "axis", 0), rank, &axis, err);
  if (status == CLARKE_OK && clarke_lower_int(low, "num_outputs", (int64_t)n) != (int64_t)n)
    status = clarke_lower_fail(low, err, "num_outputs is not the number of outputs, %zu", n);
  for (size_t k = 0; k < n && status == CLARKE_OK; k++) {
    size_t part = 0;

    status = part_length(low, &parts, n, k, dims[axis], &part, err);
    if (status == CLARKE_OK && part > dims[axis] - start)
      status = clarke_lower_fail(low, err, "the parts do not fit an axis of %zu entries", dims[axis]);
    if (status == CLARKE_OK && low->node->out[k][0] != '\0')
      status = give_part(low, k, axis, start, part, err);
    start += status == CLARKE_OK ? part : 0;
  }
  if (status == CLARKE_OK && start != dims[axis])
    status = clarke_lower_fail(low, err, "the parts do not fit an axis of %zu entries", dims[axis]);
  return status;
}

/* Index `at` along an axis of so many entries, from its end when it is negative: *entry, of all axes before it as one, goes on. */
static clarke_status
go_on(const clarke_lowering *low, int64_t at, size_t length, size_t *entry, clarke_error *err)
{
  const int64_t place = at < 0 ? at + (int64_t)length : at;

  if (place < 0 || place >= (int64_t)length)
    return clarke_lower_fail(low, err, "index %lld is out of range for an axis of %zu entries", (long long)at, length);
  *entry = *entry * length + (size_t)place;
  return CLARKE_OK;
}

/* The choice's n entries, each by `span` numbers of the list. */
static clarke_status
take_listed(clarke_lowering *low, choice *c, const int64_t *list, const size_t *dims, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  if (c->n == 0)
    return clarke_lower_fail(low, err, "the output would have no entries");
  c->entry = calloc(c->n, sizeof *c->entry);
  if (c->entry == NULL)
    return clarke_lower_no_memory(low, err);
  for (size_t i = 0; i < c->n * c->span && status == CLARKE_OK; i++)
    status = go_on(low, list[i], dims[c->axis + i % c->span], &c->entry[i / c->span], err);
  if (status == CLARKE_OK)
    status = take(low, c, err);
  free(c->entry);
  return status;
}

/* Along an axis that the batch is merged with, of `length` entries a sample: each sample's own, the same of each, where the
 * first axis of the places is the samples. So PyTorch's exporter writes some copies of a mean over space. */
static clarke_status
take_of_samples(clarke_lowering *low, choice *c, const int64_t *list, size_t length, clarke_error *err)
{
  const size_t rows = low->graph->together, inner = clarke_lower_value(low, 0)->batch.inner, all = c->n;
  bool apart = c->rank > 0 && c->dims[0] == rows && all > 0;
  clarke_status status;

  c->n = all / rows;
  c->entry = calloc(all + 1, sizeof *c->entry);
  if (c->entry == NULL)
    return clarke_lower_no_memory(low, err);
  for (size_t i = 0; i < all && apart; i++) {
    const int64_t at = list[i] < 0 ? list[i] + (int64_t)(rows * length) : list[i];
    const size_t own = (size_t)at / (rows * inner) * inner + (size_t)at % inner;

    apart = at >= 0 && (size_t)at < rows * length && (size_t)at / inner % rows == i / c->n && (i < c->n || own == c->entry[i % c->n]);
    c->entry[i % c->n] = own;
  }
  c->samples = true;
  c->dims[0] = 1;
  status = apart ? take(low, c, err)
                 : clarke_lower_fail(low, err, "axis %zu is merged with the batch, and the places mix samples, or are not the same for "
                                               "each", c->axis);
  free(c->entry);
  return status;
}

/* The places along an axis: a constant, or the integers (words) of a single run's input. */
static clarke_status
known_places(const clarke_lowering *low, const int64_t **list, size_t *n, clarke_error *err)
{
  const clarke_value *at = clarke_lower_has(low, 1) ? clarke_lower_value(low, 1) : NULL;

  if (at == NULL || at->constant || at->integer == NULL)
    return clarke_lower_integers(low, 1, list, n, err);
  *list = at->integer;
  *n = at->count;
  return CLARKE_OK;
}

clarke_status
clarke_lower_take(clarke_lowering *low, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], rank;
  const int64_t *list;
  choice c = {.span = 1};
  clarke_status status;

  if (!clarke_lower_has(low, 0))
    return clarke_lower_fail(low, err, "input 0 is missing");
  status = known_places(low, &list, &c.n, err);
  if (status != CLARKE_OK)
    return status;
  rank = clarke_axes_whole(low, 0, dims);
  c.rank = clarke_lower_value(low, 1)->rank;
  memcpy(c.dims, clarke_lower_value(low, 1)->dims, c.rank * sizeof *c.dims);
  status = clarke_axes_resolve(low, clarke_lower_int(low, "axis", 0), rank, &c.axis, err);
  if (status == CLARKE_OK && clarke_axes_batch(low, 0) == c.axis && clarke_lower_value(low, 0)->batch.merged)
    return take_of_samples(low, &c, list, dims[c.axis], err);
  if (status == CLARKE_OK)
    status = clarke_axes_apart(low, 0, c.axis, err);
  return status == CLARKE_OK ? take_listed(low, &c, list, dims, err) : status;
}

/* The last axis of the indices has a place along each of the first axes of x. */
static clarke_status
lower_take_places(clarke_lowering *low, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], rank;
  const clarke_value *places;
  const int64_t *list;
  choice c = {.axis = 0};
  clarke_status status;

  if (!clarke_lower_has(low, 0))
    return clarke_lower_fail(low, err, "input 0 is missing");
  if (clarke_lower_int(low, "batch_dims", 0) != 0)
    return clarke_lower_fail(low, err, "batch_dims other than 0 are not supported: write it with Gather, or record the training step "
                                       "(clarke.record)");
  status = clarke_lower_integers(low, 1, &list, &c.n, err);
  if (status != CLARKE_OK)
    return status;
  rank = clarke_axes_whole(low, 0, dims);
  places = clarke_lower_value(low, 1);
  c.span = places->rank > 0 ? places->dims[places->rank - 1] : 0;
  if (c.span == 0 || c.span > rank)
    return clarke_lower_fail(low, err, "places along %zu of %zu axes", c.span, rank);
  c.n /= c.span;
  c.rank = places->rank - 1;
  memcpy(c.dims, places->dims, c.rank * sizeof *c.dims);
  return take_listed(low, &c, list, dims, err);
}

/* The result has the shape of the indices: entry (i, j, k) of it is entry (index, j, k) of x along axis 0, and so on. */
static size_t *
element_map(const clarke_lowering *low, const size_t *dims, size_t axis, clarke_error *err)
{
  const clarke_value *at = clarke_lower_value(low, 1);
  size_t *map = malloc((at->count + 1) * sizeof *map);

  if (map == NULL)
    clarke_lower_no_memory(low, err);
  for (size_t f = 0; map != NULL && f < at->count; f++) {
    size_t rest = f, stride = 1, entry = 0, own = 0;

    for (size_t a = at->rank; a-- > 0; rest /= at->dims[a], stride *= dims[a]) {
      own = 0;
      if (a == axis && go_on(low, at->integer[f], dims[a], &own, err) != CLARKE_OK) {
        free(map);
        return NULL;
      }
      entry += (a == axis ? own : rest % at->dims[a]) * stride;
    }
    map[f] = entry;
  }
  return map;
}

static clarke_status
lower_take_elements(clarke_lowering *low, clarke_error *err)
{
  const clarke_batch_axis none = {.inner = 1};
  size_t dims[CLARKE_MAX_WHOLE], rank, axis = 0, n, *map;
  const int64_t *list;
  const clarke_value *at;
  clarke_status status = clarke_lower_has(low, 0) ? clarke_lower_integers(low, 1, &list, &n, err)
                                                  : clarke_lower_fail(low, err, "input 0 is missing");

  if (status == CLARKE_OK && clarke_axes_lead(low, 0) == 1)
    status = clarke_lower_fail(low, err, "each sample would have places of its own: hand the whole batch over as one sample, or record "
                                         "the training step (clarke.record)");
  if (status != CLARKE_OK)
    return status;
  rank = clarke_axes_whole(low, 0, dims);
  at = clarke_lower_value(low, 1);
  status = clarke_axes_resolve(low, clarke_lower_int(low, "axis", 0), rank, &axis, err);
  for (size_t a = 0; a < rank && status == CLARKE_OK; a++)
    if (at->rank != rank || n == 0 || (a != axis && at->dims[a] > dims[a]))
      status = clarke_lower_fail(low, err, "the indices have other axes than what is taken");
  if (status == CLARKE_OK && !clarke_lower_affordable(low->graph, n))
    status = clarke_lower_too_large(low, err);
  if (status != CLARKE_OK)
    return status;
  map = element_map(low, dims, axis, err);
  memcpy(dims, at->dims, rank * sizeof *dims);
  return map != NULL ? clarke_lower_moved(low, rank, dims, map, &none, err) : err != NULL ? err->code : CLARKE_EINPUT;
}

#define MOST_OUTPUTS 1024

const clarke_op clarke_ops_take[] = {
  {.name = "Slice",
   .forms = {{7, 1, 1, 1, "axes:I ends:I starts:I"}, {10, 3, 5, 1, NULL}},
   .lower = lower_slice, .batch = CLARKE_BATCH_ANY},
  {.name = "Split",
   .forms = {{7, 1, 1, MOST_OUTPUTS, "axis:i split:I"}, {13, 1, 2, MOST_OUTPUTS, "axis:i"},
             {18, 1, 2, MOST_OUTPUTS, "axis:i num_outputs:i"}},
   .lower = lower_split, .batch = CLARKE_BATCH_ANY},
  {.name = "GatherElements", .forms = {{11, 2, 2, 1, "axis:i"}}, .lower = lower_take_elements, .batch = CLARKE_BATCH_ANY},
  {.name = "GatherND", .forms = {{11, 2, 2, 1, NULL}, {12, 2, 2, 1, "batch_dims:i"}}, .lower = lower_take_places,
   .batch = CLARKE_BATCH_ANY},
  {.name = NULL},
};
