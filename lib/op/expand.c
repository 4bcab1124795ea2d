/* Expand, Tile: the entries several times, of an activation or of a constant. */
#include "op/axes.h"
#include "op/lower.h"

#include <stdlib.h>
#include <string.h>

/* Axes of the output, all samples of a run in the batch's, and those of input 0 that they repeat, 1 where there is none. */
typedef struct {
  size_t rank, out[CLARKE_MAX_WHOLE], in[CLARKE_MAX_WHOLE];
  size_t batch; /* the axis that is it, or that it is merged with; CLARKE_NONE */
} repetition;

/* The n numbers of input 1, and the axes of input 0: as many as there are numbers, if these may add some. */
static clarke_status
read_inputs(repetition *r, const int64_t **list, size_t *n, const clarke_lowering *low, bool adds, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], rank, new;
  clarke_status status;

  if (!clarke_lower_has(low, 0))
    return clarke_lower_fail(low, err, "input 0 is missing");
  status = clarke_lower_integers(low, 1, list, n, err);
  if (status != CLARKE_OK)
    return status;
  rank = clarke_axes_of_run(low, 0, dims);
  r->rank = adds && *n > rank ? *n : rank;
  if (r->rank > CLARKE_MAX_WHOLE)
    return clarke_lower_fail(low, err, "more than %d axes", CLARKE_MAX_RANK);
  new = r->rank - rank;
  for (size_t a = 0; a < r->rank; a++)
    r->in[a] = a < new ? 1 : dims[a - new];
  r->batch = clarke_axes_lead(low, 0) == 1 ? clarke_axes_batch(low, 0) + new : CLARKE_NONE;
  return CLARKE_OK;
}

/* Entry f of the output, per sample, is entry map[f]: along each axis the place modulo the input's length. */
static size_t *
repetition_map(const repetition *r, const clarke_lowering *low, size_t count)
{
  const size_t rows = r->batch != CLARKE_NONE ? low->graph->together : 1;
  size_t *map = malloc((count + 1) * sizeof *map);

  for (size_t f = 0; map != NULL && f < count; f++) {
    size_t rest = f, entry = 0, stride = 1;

    for (size_t a = r->rank; a-- > 0;) {
      const size_t share = a == r->batch ? rows : 1;

      entry += rest % (r->out[a] / share) % (r->in[a] / share) * stride;
      stride *= r->in[a] / share;
      rest /= r->out[a] / share;
    }
    map[f] = entry;
  }
  return map;
}

static clarke_status
repeat(clarke_lowering *low, const repetition *r, clarke_error *err)
{
  clarke_batch_axis batch = {.inner = 1};
  size_t dims[CLARKE_MAX_WHOLE], rank = r->rank, count = 1, *map;

  memcpy(dims, r->out, rank * sizeof *dims);
  if (r->batch != CLARKE_NONE) {
    if (r->out[r->batch] != r->in[r->batch])
      return clarke_lower_fail(low, err, "axis %zu is the batch, or merged with it: it cannot be repeated", r->batch);
    dims[r->batch] /= low->graph->together;
  }
  for (size_t a = 0; a < rank; a++)
    if (dims[a] == 0 || __builtin_mul_overflow(count, dims[a], &count))
      return dims[a] == 0 ? clarke_lower_fail(low, err, "the output would have no entries") : clarke_lower_too_large(low, err);
  if (count > CLARKE_MAX_MAP || !clarke_lower_affordable(low->graph, count))
    return clarke_lower_too_large(low, err);
  map = repetition_map(r, low, count);
  if (map == NULL)
    return clarke_lower_no_memory(low, err);
  low->graph->activations += count; /* the map, or the constant */
  if (r->batch != CLARKE_NONE) {
    batch = clarke_lower_value(low, 0)->batch;
    batch.axis = r->batch;
    rank = clarke_axes_of_sample(&batch, rank, dims);
  }
  return clarke_lower_moved(low, rank, dims, map, &batch, err);
}

/* To the shape that both broadcast to. */
static clarke_status
lower_expand(clarke_lowering *low, clarke_error *err)
{
  const int64_t *list;
  repetition r;
  size_t n;
  clarke_status status = read_inputs(&r, &list, &n, low, true, err);

  for (size_t a = 0; status == CLARKE_OK && a < r.rank; a++) {
    const int64_t to = a + n < r.rank ? 1 : list[a + n - r.rank];

    if (to < 1 || to > INT32_MAX || (to != 1 && r.in[a] != 1 && (size_t)to != r.in[a]))
      status = clarke_lower_fail(low, err, "axis %zu has %zu entries, and the shape has %lld", a, r.in[a], (long long)to);
    else
      r.out[a] = to == 1 ? r.in[a] : (size_t)to;
  }
  return status == CLARKE_OK ? repeat(low, &r, err) : status;
}

static clarke_status
lower_tile(clarke_lowering *low, clarke_error *err)
{
  const int64_t *list;
  repetition r;
  size_t n;
  clarke_status status = read_inputs(&r, &list, &n, low, false, err);

  if (status == CLARKE_OK && n != r.rank)
    status = clarke_lower_fail(low, err, "%zu repeats for %zu axes", n, r.rank);
  for (size_t a = 0; status == CLARKE_OK && a < r.rank; a++)
    if (list[a] < 1 || list[a] > INT32_MAX || r.in[a] > INT32_MAX)
      status = clarke_lower_fail(low, err, "axis %zu is repeated %lld times", a, (long long)list[a]);
    else
      r.out[a] = r.in[a] * (size_t)list[a];
  return status == CLARKE_OK ? repeat(low, &r, err) : status;
}

const clarke_op clarke_ops_expand[] = {
  {.name = "Expand", .forms = {{8, 2, 2, 1, NULL}}, .lower = lower_expand, .batch = CLARKE_BATCH_ANY, .takes_negated = true, .takes_odd = true},
  {.name = "Tile", .forms = {{7, 2, 2, 1, NULL}}, .lower = lower_tile, .batch = CLARKE_BATCH_ANY, .takes_negated = true, .takes_odd = true},
  {.name = NULL},
};
