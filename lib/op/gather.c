/* A constant's entries as an activation: Lift, of a domain of its own, all of them; Gather, those at places of an axis, as
 * an embedding's rows are. Both are sums without an activation among their terms. An activation that no sample is read for
 * has no batch axis: the graph must have none, and be run once. Of an activation Gather takes some entries (take.c). */
#include "op/axes.h"
#include "op/index.h"
#include "op/lower.h"
#include "op/take.h"

#include <stdlib.h>

/* The node's output: an activation of that shape, whose entry f is the constant's entry map[f] (NULL: f); the map is taken over. */
static clarke_status
lift(clarke_lowering *low, size_t rank, const size_t *dims, size_t *map, clarke_error *err)
{
  size_t value;
  const clarke_status status = clarke_lower_lifted(low, 0, rank, dims, map, &value, err);

  return status == CLARKE_OK ? clarke_lower_done(low, value, err) : status;
}

static bool
is_single_run(const clarke_lowering *low)
{
  return !low->graph->batched && low->graph->samples == 1;
}

static clarke_status
check_graph(const clarke_lowering *low, clarke_error *err)
{
  if (is_single_run(low))
    return clarke_lower_constant(low, 0, err);
  return clarke_lower_fail(low, err, "a constant becomes an activation only where the batch is one input of a model without a "
                                     "batch axis");
}

static clarke_status
lower_lift(clarke_lowering *low, clarke_error *err)
{
  clarke_status status = check_graph(low, err);
  size_t dims[CLARKE_MAX_WHOLE], rank;

  if (status != CLARKE_OK)
    return status;
  rank = clarke_axes_whole(low, 0, dims);
  return lift(low, rank, dims, NULL, err);
}

/* The places, from -size to size - 1, resolved; those of the graph's own input may be read, too. */
static clarke_status
read_places(clarke_lowering *low, size_t size, size_t **place, clarke_error *err)
{
  const clarke_value *v = clarke_lower_has(low, 1) ? clarke_lower_value(low, 1) : NULL;

  if (v == NULL || v->integer == NULL)
    return clarke_lower_fail(low, err, "the places must be integers: a constant, or the model's input");
  *place = malloc((v->count + 1) * sizeof **place);
  if (*place == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < v->count; i++) {
    const int64_t at = v->integer[i] < 0 ? v->integer[i] + (int64_t)size : v->integer[i];

    if (at < 0 || (uint64_t)at >= size)
      return clarke_lower_fail(low, err, "place %zu is %lld; the axis has %zu entries", i, (long long)v->integer[i], size);
    (*place)[i] = (size_t)at;
  }
  return CLARKE_OK;
}

/* The map from (before, places, after) to (before, size, after). */
static size_t *
row_map(const size_t *place, size_t places, size_t before, size_t size, size_t after)
{
  size_t *map = malloc((before * places * after + 1) * sizeof *map);

  for (size_t f = 0; map != NULL && f < before * places * after; f++)
    map[f] = (f / after / places * size + place[f / after % places]) * after + f % after;
  return map;
}

/* The rows of a constant, in a single run. */
static clarke_status
lift_rows(clarke_lowering *low, clarke_error *err)
{
  size_t whole[CLARKE_MAX_WHOLE], dims[CLARKE_MAX_RANK], rank, axis, n = 0, before = 1, after = 1, entries;
  size_t *place = NULL, *map = NULL;
  const clarke_value *at;
  clarke_status status = check_graph(low, err);

  if (status != CLARKE_OK)
    return status;
  rank = clarke_axes_whole(low, 0, whole);
  status = clarke_axes_resolve(low, clarke_lower_int(low, "axis", 0), rank, &axis, err);
  if (status == CLARKE_OK)
    status = read_places(low, whole[axis], &place, err);
  at = clarke_lower_value(low, 1);
  if (status == CLARKE_OK && rank - 1 + at->rank > CLARKE_MAX_RANK)
    status = clarke_lower_fail(low, err, "a result of %zu axes", rank - 1 + at->rank);
  for (size_t a = 0; status == CLARKE_OK && a < rank; a++) {
    for (size_t i = 0; i < at->rank && a == axis; i++)
      dims[n++] = at->dims[i];
    if (a != axis)
      dims[n++] = whole[a];
    *(a < axis ? &before : &after) *= a == axis ? 1 : whole[a];
  }
  if (status == CLARKE_OK && (__builtin_mul_overflow(before * after, at->count, &entries) || entries > CLARKE_MAX_MAP))
    status = clarke_lower_fail(low, err, "an index map of over %zu entries", CLARKE_MAX_MAP);
  if (status == CLARKE_OK && (map = row_map(place, at->count, before, whole[axis], after)) == NULL)
    status = clarke_no_memory(err);
  free(place);
  return status == CLARKE_OK ? lift(low, n, dims, map, err) : status;
}

/* In a single run a constant's entries become an activation; else what is taken is what it was taken from. */
static clarke_status
lower_gather(clarke_lowering *low, clarke_error *err)
{
  const clarke_value *x = clarke_lower_has(low, 0) ? clarke_lower_value(low, 0) : NULL;

  if (clarke_index_is_computed(low, 1))
    return clarke_index_take(low, err);
  if (x != NULL && x->constant && x->real != NULL && is_single_run(low))
    return lift_rows(low, err);
  if (x != NULL && x->negated)
    return clarke_lower_fail(low, err, "entries of a negated constant are taken");
  return clarke_lower_take(low, err);
}

const clarke_op clarke_ops_gather[] = {
  {.name = "Lift", .domain = CLARKE_DOMAIN, .forms = {{7, 1, 1, 1, NULL}}, .lower = lower_lift, .takes_negated = true},
  {.name = "Gather", .forms = {{7, 2, 2, 1, "axis:i"}}, .lower = lower_gather, .batch = CLARKE_BATCH_ANY, .takes_negated = true},
  {.name = NULL},
};
