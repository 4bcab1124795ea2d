/* RotaryEmbedding: pairs of a head's entries turned by angles, whose cosines and sines are given, by place. */
#include "op/axes.h"
#include "op/lower.h"
#include "op/node.h"

#include <stdlib.h>
#include <string.h>

enum { X, COSINES, SINES, PLACES };

typedef struct {
  bool joined;                               /* (batch, length, heads size), not (batch, heads, length, size) */
  size_t batch, heads, length, size, turned; /* of `size` entries the first `turned` */
  bool paired;                               /* entries 2 i and 2 i + 1 are a pair; else i and turned / 2 + i */
} rotation;

static clarke_status
read_shapes(rotation *r, const clarke_lowering *low, clarke_error *err)
{
  const int64_t heads = clarke_lower_int(low, "num_heads", 0), turned = clarke_lower_int(low, "rotary_embedding_dim", 0);
  size_t x[CLARKE_MAX_WHOLE], rank;

  if (!clarke_lower_has(low, X) || !clarke_lower_has(low, COSINES) || !clarke_lower_has(low, SINES))
    return clarke_lower_fail(low, err, "an input is missing");
  rank = clarke_axes_of_run(low, X, x);
  r->joined = rank == 3;
  if ((rank != 3 && rank != 4) || (r->joined && (heads <= 0 || x[2] % (size_t)heads != 0))
      || (!r->joined && heads != 0 && (size_t)heads != x[1]))
    return clarke_lower_fail(
        low, err,
        "an input of %zu axes and num_heads %lld; expected (batch, heads, length, size), or (batch, length, "
        "heads size) and the number of heads",
        rank, (long long)heads);
  r->batch = x[0];
  r->heads = r->joined ? (size_t)heads : x[1];
  r->length = r->joined ? x[1] : x[2];
  r->size = r->joined ? x[2] / (size_t)heads : x[3];
  r->turned = turned == 0 ? r->size : (size_t)turned;
  r->paired = clarke_lower_int(low, "interleaved", 0) != 0;
  if (turned < 0 || r->turned % 2 != 0 || r->turned == 0 || r->turned > r->size)
    return clarke_lower_fail(low, err, "%lld of %zu entries are to be turned; expected an even number of them",
                             (long long)turned, r->size);
  return CLARKE_OK;
}

/* The places in the sequence, (batch, length), or, all samples having the same on an axis, (1, length): their rows. */
static clarke_status
read_places(const rotation *r, const clarke_lowering *low, const int64_t **places, size_t *rows, clarke_error *err)
{
  const clarke_value *v = clarke_lower_value(low, PLACES);
  size_t n;
  bool same = true;
  clarke_status status = clarke_lower_integers(low, PLACES, places, &n, err);

  if (status == CLARKE_OK && (v->rank != 2 || v->dims[0] != r->batch || v->dims[1] != r->length))
    status = clarke_lower_fail(low, err, "position_ids are not of (%zu, %zu)", r->batch, r->length);
  for (size_t i = 0; i < n && status == CLARKE_OK; i++)
    same = same && (*places)[i] == (*places)[i % r->length];
  *rows = same ? 1 : r->batch;
  return status;
}

/* Rows of input i, an activation without a batch axis, by places: (rows, length, pairs). */
static size_t
rows_computed(const rotation *r, clarke_lowering *low, size_t i, const int64_t *places, size_t rows, clarke_error *err)
{
  const int64_t most = (int64_t)clarke_lower_value(low, i)->dims[0],
                shape[3] = {(int64_t)rows, (int64_t)r->length, (int64_t)(r->turned / 2)};
  size_t list;

  for (size_t k = 0; k < rows * r->length; k++)
    if (places[k] < 0 || places[k] >= most) {
      clarke_lower_fail(low, err, "position_ids have place %lld of %lld", (long long)places[k], (long long)most);
      return CLARKE_NONE;
    }
  list = clarke_inner_integers(low, places, rows * r->length, err);
  return clarke_inner_reshaped(low, clarke_inner_of(low, "Gather", low->in[i], list, err), shape, 3, err);
}

/* Input i, cosines or sines, at the places: (batch or 1, length, pairs). */
static size_t
at_places(const rotation *r, clarke_lowering *low, size_t i, clarke_error *err)
{
  const clarke_value *v = clarke_lower_value(low, i);
  const size_t pairs = r->turned / 2, most = v->dims[0];
  size_t rows, value, *map;
  const int64_t *places;

  if ((v->constant ? v->real == NULL : clarke_axes_batch(low, i) != CLARKE_NONE) || v->rank != 2 || v->dims[1] != pairs) {
    clarke_lower_fail(low, err, "input %zu must be of (places, %zu) floats, without a batch axis, where there are position_ids", i, pairs);
    return CLARKE_NONE;
  }
  if (read_places(r, low, &places, &rows, err) != CLARKE_OK)
    return CLARKE_NONE;
  if (!v->constant)
    return rows_computed(r, low, i, places, rows, err);
  if (!clarke_lower_affordable(low->graph, rows * r->length * pairs)) {
    clarke_lower_too_large(low, err);
    return CLARKE_NONE;
  }
  map = malloc((rows * r->length * pairs + 1) * sizeof *map);
  for (size_t e = 0; map != NULL && e < rows * r->length * pairs; e++) {
    const int64_t place = places[e / pairs];

    if (place < 0 || (size_t)place >= most) {
      free(map);
      clarke_lower_fail(low, err, "position_ids have place %lld of %zu", (long long)place, most);
      return CLARKE_NONE;
    }
    map[e] = (size_t)place * pairs + e % pairs;
  }
  if (map == NULL) {
    clarke_lower_no_memory(low, err);
    return CLARKE_NONE;
  }
  low->graph->activations += rows * r->length * pairs;
  return clarke_lower_rearranged_constant(low, i, 3, (size_t[]){rows, r->length, pairs}, map, &value, err) == CLARKE_OK
             ? value
             : CLARKE_NONE;
}

/* Input i as it multiplies one of each pair: with an axis of one entry for the heads. */
static size_t
factors(const rotation *r, clarke_lowering *low, size_t i, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], value = low->in[i], rank = clarke_axes_of_run(low, i, dims);
  int64_t shape[4];

  if (clarke_lower_has(low, PLACES)) {
    value = at_places(r, low, i, err);
    if (value == CLARKE_NONE)
      return value;
    dims[0] = low->graph->values[value].dims[0];
  } else if (rank != 3 || dims[0] != r->batch || dims[1] != r->length || dims[2] != r->turned / 2) {
    clarke_lower_fail(low, err, "input %zu is not of (%zu, %zu, %zu), and there are no position_ids", i, r->batch, r->length,
                      r->turned / 2);
    return CLARKE_NONE;
  }
  shape[0] = (int64_t)dims[0];
  shape[1] = r->joined ? (int64_t)r->length : 1;
  shape[2] = r->joined ? 1 : (int64_t)r->length;
  shape[3] = (int64_t)(r->turned / 2);
  return clarke_inner_reshaped(low, value, shape, 4, err);
}

/* Half h of the entries that are turned, of x by heads; and the whole of both halves. */
static size_t
half(const rotation *r, clarke_lowering *low, size_t x, size_t h, clarke_error *err)
{
  const size_t n = r->turned / 2;
  const int64_t second = r->joined ? (int64_t)r->length : (int64_t)r->heads,
                third = r->joined ? (int64_t)r->heads : (int64_t)r->length;
  const int64_t pairs[5] = {(int64_t)r->batch, second, third, (int64_t)n, 2};

  if (!r->paired)
    return clarke_inner_sliced(low, x, 3, h * n, (h + 1) * n, err);
  x = clarke_inner_reshaped(low, clarke_inner_sliced(low, x, 3, 0, r->turned, err), pairs, 5, err);
  return clarke_inner_reshaped(low, clarke_inner_sliced(low, x, 4, h, h + 1, err), pairs, 4, err);
}

static size_t
whole(const rotation *r, clarke_lowering *low, size_t real, size_t imaginary, clarke_error *err)
{
  const int64_t second = r->joined ? (int64_t)r->length : (int64_t)r->heads,
                third = r->joined ? (int64_t)r->heads : (int64_t)r->length;
  const int64_t one[5] = {(int64_t)r->batch, second, third, (int64_t)(r->turned / 2), 1};
  const int64_t all[4] = {(int64_t)r->batch, second, third, (int64_t)r->turned};

  if (!r->paired)
    return clarke_inner_joined(low, (size_t[]){real, imaginary}, 2, 3, err);
  real = clarke_inner_reshaped(low, real, one, 5, err);
  imaginary = clarke_inner_reshaped(low, imaginary, one, 5, err);
  return clarke_inner_reshaped(low, clarke_inner_joined(low, (size_t[]){real, imaginary}, 2, 4, err), all, 4, err);
}

static clarke_status
turn(const rotation *r, clarke_lowering *low, clarke_error *err)
{
  const int64_t by_heads[4] = {(int64_t)r->batch, (int64_t)r->length, (int64_t)r->heads, (int64_t)r->size};
  const int64_t back[3] = {(int64_t)r->batch, (int64_t)r->length, (int64_t)(r->heads * r->size)};
  const size_t x = r->joined ? clarke_inner_reshaped(low, low->in[X], by_heads, 4, err) : low->in[X];
  const size_t cosines = factors(r, low, COSINES, err), sines = cosines != CLARKE_NONE ? factors(r, low, SINES, err) : cosines;
  size_t a, b, y;

  if (sines == CLARKE_NONE || x == CLARKE_NONE)
    return clarke_inner_failed(err);
  a = half(r, low, x, 0, err);
  b = a != CLARKE_NONE ? half(r, low, x, 1, err) : a;
  y = clarke_inner_of(low, "Sub", clarke_inner_of(low, "Mul", a, cosines, err), clarke_inner_of(low, "Mul", b, sines, err),
                      err);
  if (y == CLARKE_NONE)
    return clarke_inner_failed(err);
  b = clarke_inner_of(low, "Add", clarke_inner_of(low, "Mul", a, sines, err), clarke_inner_of(low, "Mul", b, cosines, err),
                      err);
  y = whole(r, low, y, b, err);
  if (r->turned < r->size)
    y = clarke_inner_joined(low, (size_t[]){y, clarke_inner_sliced(low, x, 3, r->turned, r->size, err)}, 2, 3, err);
  return clarke_inner_done(low, 0, r->joined ? clarke_inner_reshaped(low, y, back, 3, err) : y, err);
}

static clarke_status
lower_rotary(clarke_lowering *low, clarke_error *err)
{
  rotation r = {0};
  clarke_status status = clarke_lower_lift_given(low, err);

  if (status == CLARKE_OK)
    status = read_shapes(&r, low, err);
  return status == CLARKE_OK ? turn(&r, low, err) : status;
}

const clarke_op clarke_ops_rotary[] = {
    {.name = "RotaryEmbedding",
     .forms = {{23, 3, 4, 1, "interleaved:b num_heads:i rotary_embedding_dim:i"}},
     .lower = lower_rotary,
     .batch = CLARKE_BATCH_FIRST},
    {.name = NULL},
};
