/* Flatten, Reshape, Squeeze, Unsqueeze: the same entries in the same order, other axes. */
#include "op/axes.h"
#include "op/lower.h"

/* Finishes with a whole shape, the batch axis, where there is one, having the samples of a run. */
static clarke_status
finish(clarke_lowering *low, size_t rank, size_t *dims, clarke_error *err)
{
  clarke_batch_axis batch = {.inner = 1};
  clarke_status status = CLARKE_OK;

  if (clarke_axes_lead(low, 0) == 1)
    status = clarke_axes_reshaped(low, 0, rank, dims, &batch, err);
  if (status != CLARKE_OK)
    return status;
  if (clarke_axes_lead(low, 0) == 1)
    rank = clarke_axes_of_sample(&batch, rank, dims);
  return clarke_lower_moved(low, rank, dims, NULL, &batch, err);
}

static clarke_status
lower_flatten(clarke_lowering *low, clarke_error *err)
{
  size_t in[CLARKE_MAX_WHOLE], out[2] = {1, 1}, rank;
  int64_t axis = clarke_lower_int(low, "axis", 1);

  if (!clarke_lower_has(low, 0))
    return clarke_lower_fail(low, err, "input 0 is missing");
  rank = clarke_axes_of_run(low, 0, in);
  if (axis < 0)
    axis += (int64_t)rank;
  if (axis < 0 || (size_t)axis > rank)
    return clarke_lower_fail(low, err, "axis out of range for %zu axes", rank);
  for (size_t a = 0; a < rank; a++)
    out[a < (size_t)axis ? 0 : 1] *= in[a];
  return finish(low, 2, out, err);
}

/* ONNX's rules for 0 (copy, unless allowzero) and one -1 (what is left of `total`). */
static clarke_status
resolve(const clarke_lowering *low, const int64_t *shape, size_t n, const size_t *in, size_t rank,
        size_t total, size_t *out, clarke_error *err)
{
  size_t known = 1, open = CLARKE_NONE;
  bool copy = clarke_lower_int(low, "allowzero", 0) == 0;

  for (size_t a = 0; a < n; a++) {
    if (shape[a] == -1 && open == CLARKE_NONE) {
      open = a;
      out[a] = 1;
      continue;
    }
    if (shape[a] < 0 || (shape[a] == 0 && copy && a >= rank))
      return clarke_lower_fail(low, err, "entry %zu of the shape is %lld", a, (long long)shape[a]);
    out[a] = shape[a] == 0 && copy ? in[a] : (size_t)shape[a];
    if (out[a] != 0 && known > CLARKE_MAX_ENTRIES / out[a])
      return clarke_lower_fail(low, err, "the shape has over 2^31 entries");
    known *= out[a];
  }
  if (open != CLARKE_NONE && known != 0 && total % known == 0)
    out[open] = total / known;
  return CLARKE_OK;
}

/* ONNX's shape of an activation is that of all samples of a run. */
static clarke_status
lower_reshape(clarke_lowering *low, clarke_error *err)
{
  size_t in[CLARKE_MAX_WHOLE], out[CLARKE_MAX_WHOLE], rank, n = 0, total = 1;
  const int64_t *shape = NULL;
  clarke_status status;

  if (!clarke_lower_has(low, 0))
    return clarke_lower_fail(low, err, "input 0 is missing");
  status = clarke_lower_integers(low, 1, &shape, &n, err);
  if (status != CLARKE_OK)
    return status;
  if (n > CLARKE_MAX_RANK)
    return clarke_lower_fail(low, err, "a shape of %zu axes; at most %d are supported", n,
                             CLARKE_MAX_RANK);
  rank = clarke_axes_of_run(low, 0, in);
  for (size_t a = 0; a < rank; a++)
    total *= in[a];
  status = resolve(low, shape, n, in, rank, total, out, err);
  if (status != CLARKE_OK)
    return status;
  for (size_t a = 0; a < n; a++)
    total = out[a] != 0 && total % out[a] == 0 ? total / out[a] : 0;
  if (total != 1)
    return clarke_lower_fail(low, err, "the shapes hold different numbers of entries");
  return finish(low, n, out, err);
}

/* Without a list all axes of one entry go, that of the samples too where a run has one. That axis may go where it has one. */
static clarke_status
lower_squeeze(clarke_lowering *low, clarke_error *err)
{
  size_t in[CLARKE_MAX_WHOLE], out[CLARKE_MAX_WHOLE], rank, n = 0;
  bool chosen[CLARKE_MAX_WHOLE], given;
  const int64_t *list;
  size_t listed;
  clarke_status status;

  if (!clarke_lower_has(low, 0))
    return clarke_lower_fail(low, err, "input 0 is missing");
  rank = clarke_axes_of_run(low, 0, in);
  /* An attribute before opset 13, an input from it. */
  status = clarke_axes_list(low, "axes", 1, &list, &listed, &given, err);
  if (status == CLARKE_OK)
    status = clarke_axes_chosen(low, list, listed, rank, chosen, err);
  if (status != CLARKE_OK)
    return status;
  for (size_t a = 0; a < rank; a++) {
    chosen[a] = given ? chosen[a] : in[a] == 1;
    if (chosen[a] && in[a] != 1)
      return clarke_lower_fail(low, err, "axis %zu %s", a,
                               a == clarke_axes_batch(low, 0) ? "is the batch" : "has not one entry");
    if (!chosen[a])
      out[n++] = in[a];
  }
  return finish(low, n, out, err);
}

static clarke_status
lower_unsqueeze(clarke_lowering *low, clarke_error *err)
{
  size_t in[CLARKE_MAX_WHOLE], out[2 * CLARKE_MAX_RANK + 2], rank, n, at = 0, added = 0;
  bool chosen[2 * CLARKE_MAX_RANK + 2], given;
  const int64_t *list;
  clarke_status status;

  if (!clarke_lower_has(low, 0))
    return clarke_lower_fail(low, err, "input 0 is missing");
  rank = clarke_axes_of_run(low, 0, in);
  status = clarke_axes_list(low, "axes", 1, &list, &added, &given, err);
  if (status != CLARKE_OK)
    return status;
  if (!given)
    return clarke_lower_fail(low, err, "input 1 is missing");
  n = rank + added;
  if (added > CLARKE_MAX_RANK || n > CLARKE_MAX_RANK)
    return clarke_lower_fail(low, err, "more than %d axes", CLARKE_MAX_RANK);
  status = clarke_axes_chosen(low, list, added, n, chosen, err);
  if (status != CLARKE_OK)
    return status;
  for (size_t a = 0; a < n; a++)
    out[a] = chosen[a] ? 1 : in[at++];
  return finish(low, n, out, err);
}


const clarke_op clarke_ops_reshape[] = {
  {.name = "Flatten", .forms = {{7, 1, 1, 1, "axis:i"}}, .lower = lower_flatten,
   .batch = CLARKE_BATCH_ANY, .takes_negated = true, .takes_odd = true},
  {.name = "Reshape",
   .forms = {{7, 2, 2, 1, NULL}, {14, 2, 2, 1, "allowzero:b"}},
   .lower = lower_reshape,
   .batch = CLARKE_BATCH_ANY, .takes_negated = true, .takes_odd = true},
  {.name = "Squeeze", .forms = {{7, 1, 1, 1, "axes:I"}, {13, 1, 2, 1, NULL}}, .lower = lower_squeeze,
   .batch = CLARKE_BATCH_ANY, .takes_negated = true, .takes_odd = true},
  {.name = "Unsqueeze",
   .forms = {{7, 1, 1, 1, "axes:I"}, {13, 2, 2, 1, NULL}},
   .lower = lower_unsqueeze, .batch = CLARKE_BATCH_ANY, .takes_odd = true},
  {.name = NULL},
};
