/* ScatterElements, ScatterND: the entries of input 0, but at places that a constant names those of input 2, or both's sum. */
#include "op/axes.h"
#include "op/lower.h"
#include "op/node.h"

#include <stdlib.h>
#include <string.h>

enum { X, PLACES, UPDATES };

typedef struct {
  size_t rank, dims[CLARKE_MAX_WHOLE], count; /* of input 0, whole */
  size_t n;                                   /* updates */
  size_t *at;                                 /* where each goes */
  bool add;
  const char *reduced; /* by which operator, of another reduction; NULL */
} scattering;

static clarke_status
place_along(const clarke_lowering *low, size_t i, size_t size, size_t *place, clarke_error *err)
{
  const int64_t at = clarke_lower_value(low, PLACES)->integer[i];

  if (at >= (int64_t)size || at < -(int64_t)size)
    return clarke_lower_fail(low, err, "place %zu is %lld; the axis has %zu entries", i, (long long)at, size);
  *place = (size_t)(at < 0 ? at + (int64_t)size : at);
  return CLARKE_OK;
}

/* Update i of the shape of the places goes there, but along the axis to the place. */
static clarke_status
find_elements(scattering *s, const clarke_lowering *low, clarke_error *err)
{
  const clarke_value *places = clarke_lower_value(low, PLACES);
  size_t dims[CLARKE_MAX_WHOLE], axis, along = 0;
  clarke_status status = clarke_axes_resolve(low, clarke_lower_int(low, "axis", 0), s->rank, &axis, err);

  if (status != CLARKE_OK)
    return status;
  if (places->rank != s->rank || clarke_axes_whole(low, UPDATES, dims) != s->rank
      || memcmp(places->dims, dims, s->rank * sizeof *dims) != 0)
    return clarke_lower_fail(low, err, "places and updates must have one shape, of %zu axes", s->rank);
  for (size_t a = 0; a < s->rank; a++)
    if (a != axis && dims[a] > s->dims[a])
      return clarke_lower_fail(low, err, "axis %zu of the updates has %zu entries, more than the %zu of the input", a, dims[a],
                               s->dims[a]);
  for (size_t i = 0; i < s->n && status == CLARKE_OK; i++) {
    size_t rest = i, stride = 1;

    status = place_along(low, i, s->dims[axis], &along, err);
    for (size_t a = s->rank; a-- > 0 && status == CLARKE_OK; rest /= dims[a]) {
      s->at[i] += (a == axis ? along : rest % dims[a]) * stride;
      stride *= s->dims[a];
    }
  }
  return status;
}

/* Each row of the last axis of the places is one along each of the first axes; behind them the updates have the others. */
static clarke_status
find_rows(scattering *s, const clarke_lowering *low, clarke_error *err)
{
  const clarke_value *places = clarke_lower_value(low, PLACES);
  const size_t k = places->rank > 0 ? places->dims[places->rank - 1] : 0, lead = places->rank - (places->rank > 0);
  size_t dims[CLARKE_MAX_WHOLE], rank = clarke_axes_whole(low, UPDATES, dims), behind = 1, along = 0;
  bool fits = k > 0 && k <= s->rank && rank == lead + s->rank - k;
  clarke_status status = CLARKE_OK;

  for (size_t a = 0; a < rank && fits; a++)
    fits = dims[a] == (a < lead ? places->dims[a] : s->dims[a - lead + k]);
  if (!fits)
    return clarke_lower_fail(low, err, "places of %zu numbers each, and updates of %zu axes, do not fit an input of %zu axes",
                             k, rank, s->rank);
  for (size_t a = k; a < s->rank; a++)
    behind *= s->dims[a];
  for (size_t i = 0; i < s->n && status == CLARKE_OK; i++) {
    size_t at = 0;

    for (size_t a = 0; a < k && status == CLARKE_OK; a++) {
      status = place_along(low, i / behind * k + a, s->dims[a], &along, err);
      at = at * s->dims[a] + along;
    }
    s->at[i] = at * behind + i % behind;
  }
  return status;
}

static clarke_status
read_reduction(scattering *s, const clarke_lowering *low, clarke_error *err)
{
  const clarke_attr *attr = clarke_model_attr(low->node, "reduction");

  s->add = attr != NULL && strcmp(attr->s, "add") == 0;
  if (attr == NULL || s->add || strcmp(attr->s, "none") == 0)
    return CLARKE_OK;
  s->reduced = strcmp(attr->s, "mul") == 0                       ? "Mul"
               : strcmp(attr->s, "max") == 0 && low->opset >= 18 ? "Max"
               : strcmp(attr->s, "min") == 0 && low->opset >= 18 ? "Min"
                                                                 : NULL;
  if (s->reduced == NULL)
    return clarke_lower_fail(low, err, "reduction is '%.40s'; none, add and mul are supported, from operator set 18 on max and min", attr->s);
  return low->graph->batched && (clarke_axes_batch(low, X) != CLARKE_NONE || clarke_axes_batch(low, UPDATES) != CLARKE_NONE)
           ? clarke_lower_fail(low, err, "the samples are on an axis: read the batch whole (--batch-axis none)")
           : CLARKE_OK;
}

/* The samples are on an axis of the input, if on any, which has one entry: each is a run of its own. */
static clarke_status
check_batch(const clarke_lowering *low, clarke_error *err)
{
  const bool first = clarke_axes_lead(low, X) == 1, other = clarke_axes_lead(low, UPDATES) == 1;

  if ((first || other) && (!first || low->graph->together > 1 || clarke_lower_value(low, X)->batch.merged))
    return clarke_lower_fail(low, err,
                             "the samples are on an axis: places would be of each sample. Read the batch whole "
                             "(--batch-axis none)");
  return CLARKE_OK;
}

/* The sum of what is kept of the input and of the updates; of several at one place there are as many terms. */
static clarke_status
add_terms(const scattering *s, clarke_lowering *low, clarke_error *err)
{
  size_t *times = calloc(s->count + 1, sizeof *times), most = 0, rank, dims[CLARKE_MAX_RANK], out;
  clarke_step *step = NULL;
  clarke_status status = times != NULL ? CLARKE_OK : clarke_lower_no_memory(low, err);

  for (size_t i = 0; i < s->n && times != NULL; i++)
    most = ++times[s->at[i]] > most ? times[s->at[i]] : most;
  if (status == CLARKE_OK && most > (s->add ? 64u : 1u))
    status = clarke_lower_fail(low, err, "%zu updates of one place; %s", most,
                               s->add ? "at most 64 are added" : "which of them stays is not told");
  memcpy(dims, clarke_lower_value(low, X)->dims, sizeof dims);
  rank = clarke_lower_value(low, X)->rank;
  if (status == CLARKE_OK)
    step = clarke_lower_step(low, CLARKE_SUM, 1 + most, rank, dims, err);
  status = status != CLARKE_OK ? status : step == NULL ? clarke_inner_failed(err) : CLARKE_OK;
  for (size_t k = 0; k <= most && status == CLARKE_OK; k++) {
    size_t *map = clarke_lower_map(low, step, k, s->count, err);

    if (map == NULL)
      status = clarke_inner_failed(err);
    for (size_t f = 0; f < s->count && map != NULL; f++)
      map[f] = k == 0 && (s->add || times[f] == 0) ? f : CLARKE_NONE;
    step->in[k].value = low->in[k == 0 ? X : UPDATES];
  }
  for (size_t i = 0; i < s->n && status == CLARKE_OK; i++)
    step->in[times[s->at[i]]--].map[s->at[i]] = i;
  free(times);
  if (status != CLARKE_OK)
    return status;
  out = step->out;
  low->graph->values[out].batch = clarke_lower_value(low, X)->batch;
  return clarke_lower_done(low, out, err);
}

/* Round r: `places` and `updates` become those that are the r-th of their places; how many there are. */
static size_t
find_round(const scattering *s, size_t r, size_t *times, int64_t *places, int64_t *updates)
{
  size_t n = 0;

  memset(times, 0, s->count * sizeof *times);
  for (size_t i = 0; i < s->n; i++)
    if (times[s->at[i]]++ == r) {
      places[n] = (int64_t)s->at[i];
      updates[n++] = (int64_t)i;
    }
  return n;
}

#define MOST_ROUNDS 64

/* x, all entries as one axis, with the updates taken in: of each place one a round. */
static size_t
take_in(const scattering *s, clarke_lowering *low, size_t x, size_t u, clarke_error *err)
{
  size_t *times = calloc(s->count + 1, sizeof *times), n = 1;
  int64_t *places = calloc(2 * s->n + 1, sizeof *places);

  if (times == NULL || places == NULL)
    clarke_lower_no_memory(low, err);
  for (size_t r = 0; n > 0 && x != CLARKE_NONE; r++) {
    size_t at, y;

    n = times != NULL && places != NULL ? find_round(s, r, times, places, places + s->n) : 0;
    if (n > 0 && r == MOST_ROUNDS) {
      clarke_lower_fail(low, err, "over %d updates of one place", MOST_ROUNDS);
      x = CLARKE_NONE;
    }
    if (n == 0 || x == CLARKE_NONE)
      break;
    at = clarke_inner_integers(low, places, n, err);
    y = clarke_inner_of(low, "Gather", u, clarke_inner_integers(low, places + s->n, n, err), err);
    y = clarke_inner_of(low, s->reduced, clarke_inner_of(low, "Gather", x, at, err), y, err);
    x = y != CLARKE_NONE ? clarke_inner_node(low, "ScatterElements", (size_t[]){x, at, y}, 3, NULL, 0, err) : y;
  }
  if (times == NULL || places == NULL)
    x = CLARKE_NONE;
  free(times);
  free(places);
  return x;
}

static clarke_status
reduce(const scattering *s, clarke_lowering *low, clarke_error *err)
{
  const int64_t flat = -1;
  int64_t shape[CLARKE_MAX_WHOLE];
  size_t in[2] = {low->in[X], low->in[UPDATES]};

  for (size_t a = 0; a < s->rank; a++)
    shape[a] = (int64_t)s->dims[a];
  for (size_t i = 0; i < 2 && in[0] != CLARKE_NONE && in[1] != CLARKE_NONE; i++) {
    if (low->graph->values[in[i]].constant)
      in[i] = clarke_inner_function(low, "Sum", in[i], err);
    in[i] = clarke_inner_reshaped(low, in[i], &flat, 1, err);
  }
  if (in[0] == CLARKE_NONE || in[1] == CLARKE_NONE)
    return clarke_inner_failed(err);
  return clarke_inner_done(low, 0, clarke_inner_reshaped(low, take_in(s, low, in[0], in[1], err), shape, s->rank, err), err);
}

static clarke_status
scatter(scattering *s, clarke_lowering *low, clarke_error *err)
{
  clarke_status status = check_batch(low, err);

  s->rank = clarke_axes_whole(low, X, s->dims);
  s->count = clarke_lower_value(low, X)->count;
  s->n = clarke_lower_value(low, UPDATES)->count;
  if (status == CLARKE_OK)
    status = read_reduction(s, low, err);
  s->at = calloc(s->n + 1, sizeof *s->at);
  if (s->at == NULL)
    return clarke_lower_no_memory(low, err);
  if (status == CLARKE_OK)
    status = strcmp(low->node->op_type, "ScatterND") == 0 ? find_rows(s, low, err) : find_elements(s, low, err);
  if (status == CLARKE_OK)
    status = s->reduced != NULL ? reduce(s, low, err) : add_terms(s, low, err);
  free(s->at);
  return status;
}

static clarke_status
lower_scatter(clarke_lowering *low, clarke_error *err)
{
  scattering s = {0};
  const int64_t *places;
  size_t n;
  clarke_status status = CLARKE_OK;

  if (!clarke_lower_has(low, X) || !clarke_lower_has(low, UPDATES))
    return clarke_lower_fail(low, err, "an input is missing");
  if (strcmp(low->node->op_type, "Scatter") == 0 && low->opset >= 11)
    return clarke_lower_fail(low, err, "from operator set 11 on it is ScatterElements");
  status = clarke_lower_integers(low, PLACES, &places, &n, err);
  if (status == CLARKE_OK && clarke_lower_value(low, X)->constant && clarke_lower_value(low, UPDATES)->constant)
    status = clarke_lower_lift_first(low, err);
  for (size_t i = 0; i < 3 && status == CLARKE_OK; i += 2)
    if (clarke_lower_value(low, i)->constant)
      status = clarke_lower_weight(low, i, err);
  return status == CLARKE_OK ? scatter(&s, low, err) : status;
}

const clarke_op clarke_ops_scatter[] = {
    {.name = "Scatter", .forms = {{9, 3, 3, 1, "axis:i"}}, .lower = lower_scatter, .batch = CLARKE_BATCH_ANY},
    {.name = "ScatterElements",
     .forms = {{11, 3, 3, 1, "axis:i"}, {16, 3, 3, 1, "axis:i reduction:s"}},
     .lower = lower_scatter,
     .batch = CLARKE_BATCH_ANY},
    {.name = "ScatterND",
     .forms = {{11, 3, 3, 1, NULL}, {16, 3, 3, 1, "reduction:s"}},
     .lower = lower_scatter,
     .batch = CLARKE_BATCH_ANY},
    {.name = NULL},
};
