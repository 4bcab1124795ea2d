/* ReduceMax, ReduceMin: the largest or smallest entry over axes. Max, Min: of the inputs, entry by entry. A minimum is minus the
 * maximum of what is negated. A file does not say which function of a framework it was, and these differ at ties: where they do no
 * rule is known. `Maximum` and `Minimum` are the names that Max and Min of files have in profiles: Max and Min are the reductions
 * of programs. Of the domain clarke, SharedMax and SharedMin are ReduceMax and ReduceMin, SharedMaximum and SharedMinimum Max and Min,
 * of functions of which it is known that equal entries share the derivative. */
#include "op/axes.h"
#include "op/broadcast.h"
#include "op/floats.h"
#include "op/identity.h"
#include "op/integers.h"
#include "op/lower.h"
#include "op/reduction.h"

#include <stdlib.h>
#include <string.h>

#define MOST_INPUTS 1024

static bool
is_minimum(const clarke_lowering *low)
{
  return strstr(low->node->op_type, "Min") != NULL;
}

/* Minus the value, or itself; CLARKE_NONE when out of memory. */
static size_t
turned(clarke_lowering *low, size_t value, clarke_error *err)
{
  clarke_step *s;

  if (!is_minimum(low))
    return value;
  s = clarke_lower_step_like(low, CLARKE_SUM, 1, value, err);
  if (s == NULL)
    return CLARKE_NONE;
  s->in[0].coef = -1;
  low->graph->values[s->out].batch = low->graph->values[value].batch;
  return s->out;
}

/* The maxima of `width` entries of a value, those of maximum f for the caller to fill in from width f on. */
static size_t *
add_maxima(clarke_lowering *low, size_t value, size_t width, size_t rank, const size_t *dims, clarke_error *err)
{
  clarke_step *s = clarke_lower_step(low, CLARKE_MAX, 1, rank, dims, err);

  if (s == NULL)
    return NULL;
  s->in[0].value = value;
  s->width = width;
  return clarke_lower_map(low, s, 0, low->graph->values[s->out].count * width, err);
}

/* The last value, or minus it, is the node's. */
static clarke_status
finish(clarke_lowering *low, clarke_error *err)
{
  return clarke_lower_done_signed(low, low->graph->n_values - 1, is_minimum(low), err);
}

/* A window's entries that are minus infinity are left out; where all are, so is the largest. */
static clarke_status
leave_out(clarke_lowering *low, size_t value, size_t *map, size_t width, clarke_error *err)
{
  clarke_value *y = &low->graph->values[low->graph->n_values - 1];
  const bool *excluded = low->graph->values[value].excluded;
  bool some = false;

  if (excluded == NULL)
    return CLARKE_OK;
  y->excluded = calloc(y->count + 1, sizeof *y->excluded);
  if (y->excluded == NULL)
    return clarke_lower_no_memory(low, err);
  for (size_t f = 0; f < y->count; f++) {
    size_t left = 0;

    for (size_t i = 0; i < width; i++)
      left += !excluded[map[f * width + i]];
    y->excluded[f] = left == 0;
    some = some || left == 0;
    for (size_t i = 0; i < width && left > 0; i++)
      map[f * width + i] = excluded[map[f * width + i]] ? CLARKE_NONE : map[f * width + i];
  }
  if (!some) {
    free(y->excluded);
    y->excluded = NULL;
  }
  return CLARKE_OK;
}

/* Entries of a window are in row-major order of the axes that are reduced. */
static clarke_status
lower_reduced(clarke_lowering *low, clarke_error *err)
{
  clarke_reduced_axes r;
  size_t dims[CLARKE_MAX_WHOLE], rank, width = 1, value, *map;
  bool computed;
  clarke_status status = clarke_lower_floats_extreme(low, is_minimum(low), &computed, err);

  if (computed || status != CLARKE_OK)
    return status;
  status = clarke_reduction_read(&r, low, is_minimum(low) ? "minimum" : "maximum", err);

  if (status != CLARKE_OK)
    return status;
  if (r.none && clarke_lower_value(low, 0)->excluded == NULL)
    return clarke_reduction_none(&r, low, err);
  for (size_t a = 0; a < r.rank; a++)
    width *= r.reduced[a] ? r.dims[a] : 1;
  if (width == 0 || width > CLARKE_MAX_WIDTH)
    return clarke_lower_fail(low, err, "the %s of %zu entries; from 1 to %d are supported. Of more, take it in two steps, over an axis "
                                       "each", is_minimum(low) ? "minimum" : "maximum", width, CLARKE_MAX_WIDTH);
  rank = clarke_reduction_shape(&r, dims);
  value = turned(low, low->in[0], err);
  map = value != CLARKE_NONE ? add_maxima(low, value, width, rank, dims, err) : NULL;
  if (map == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  for (size_t e = 0; e < low->graph->values[low->graph->n_values - 1].count * width; e++)
    map[e] = clarke_reduction_offset(&r, 0, false, e / width) + clarke_reduction_offset(&r, 0, true, e % width);
  status = leave_out(low, value, map, width, err);
  if (status == CLARKE_OK)
    status = finish(low, err);
  low->graph->values[low->graph->n_values - 1].batch = clarke_reduction_batch(&r);
  return status;
}

/* The operands, broadcast to `count` entries, beside one another: entries f of all are n f, n f + 1, and so on. Takes the maps
 * over. */
static size_t
add_rows(clarke_lowering *low, size_t count, size_t **from, clarke_error *err)
{
  const size_t n = low->n_in, all = n * count;
  clarke_step *s = clarke_lower_step(low, CLARKE_SUM, n, 1, &all, err);
  bool made = s != NULL;

  for (size_t i = 0; i < n; i++) {
    size_t *map = made ? clarke_lower_map(low, s, i, all, err) : NULL;

    made = map != NULL;
    for (size_t e = 0; made && e < all; e++)
      map[e] = e % n != i ? CLARKE_NONE : from[i] != NULL ? from[i][e / n] : e / n;
    free(from[i]);
    from[i] = NULL;
    if (made)
      s->in[i].coef = is_minimum(low) ? -1 : 1;
  }
  return made ? s->out : CLARKE_NONE;
}

static clarke_status
check_operands(clarke_lowering *low, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  size_t constants = 0;

  if (low->n_in > CLARKE_MAX_SORTED)
    return clarke_lower_fail(low, err, "%zu inputs; at most %d are supported. Of more, take it of parts, and of these", low->n_in,
                             CLARKE_MAX_SORTED);
  for (size_t i = 0; i < low->n_in && status == CLARKE_OK; i++) {
    if (!clarke_lower_has(low, i))
      return clarke_lower_fail(low, err, "input %zu is missing", i);
    constants += clarke_lower_value(low, i)->constant;
    if (clarke_lower_value(low, i)->constant)
      status = clarke_lower_weight(low, i, err);
  }
  if (status == CLARKE_OK && constants == low->n_in)
    return clarke_lower_fail(low, err, "arithmetic between constants is not supported: fold it");
  return status;
}

static clarke_status
lower_operands(clarke_lowering *low, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], rank, count = 1, *from[CLARKE_MAX_SORTED], value, *map;
  const bool least = is_minimum(low), shared = low->op->domain != NULL;
  clarke_batch_axis batch;
  clarke_status status;

  if (low->n_in == 2 && clarke_lower_of_integers(low))
    return shared ? clarke_lower_fail(low, err, "integers; expected floats") : clarke_lower_integers_computed(low, err);
  if (low->n_in == 1) {
    status = clarke_lower_activation(low, 0, err);
    return status == CLARKE_OK ? clarke_lower_copy(low, err) : status;
  }
  status = check_operands(low, err);
  if (status == CLARKE_OK)
    status = clarke_lower_broadcast_all(low, low->n_in, &rank, dims, from, &batch, err);
  if (status != CLARKE_OK)
    return status;
  for (size_t a = 0; a < rank; a++)
    count *= dims[a];
  low->op = clarke_operator_find(shared ? (least ? "SharedMin" : "SharedMax") : least ? "Minimum" : "Maximum");
  value = add_rows(low, count, from, err);
  map = value != CLARKE_NONE ? add_maxima(low, value, low->n_in, rank, dims, err) : NULL;
  if (map == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  low->graph->values[low->graph->n_values - 1].batch = batch;
  for (size_t e = 0; e < low->n_in * count; e++)
    map[e] = e;
  return finish(low, err);
}

#define AXES_FORM {18, 1, 2, 1, "keepdims:b noop_with_empty_axes:b"}
#define REDUCTION_FORMS {{7, 1, 1, 1, "axes:I keepdims:b"}, AXES_FORM}
#define OPERAND_FORMS {{8, 1, MOST_INPUTS, 1, NULL}}
#define SHARED_TIES .order = true, .tie = {[CLARKE_PYTORCH_2_13] = "mean"}

const clarke_op clarke_ops_maximum[] = {
  {.name = "ReduceMax", .forms = REDUCTION_FORMS, .lower = lower_reduced, .batch = CLARKE_BATCH_ANY, .takes_odd = true, .order = true,
   .hint = "of PyTorch's functions torch.amax has mean, and torch.max over an axis and adaptive pools have first",
   .tie = {[CLARKE_JAX_0_10] = "mean", [CLARKE_TENSORFLOW_2] = "mean"}},
  {.name = "ReduceMin", .forms = REDUCTION_FORMS, .lower = lower_reduced, .batch = CLARKE_BATCH_ANY, .takes_odd = true, .order = true,
   .hint = "of PyTorch's functions torch.amin has mean, and torch.min over an axis has first",
   .tie = {[CLARKE_JAX_0_10] = "mean", [CLARKE_TENSORFLOW_2] = "mean"}},
  {.name = "Max", .forms = OPERAND_FORMS, .lower = lower_operands, .batch = CLARKE_BATCH_ANY, .order = true,
   .tie = {[CLARKE_PYTORCH_2_13] = "mean", [CLARKE_JAX_0_10] = "mean", [CLARKE_TENSORFLOW_2] = "mean"}},
  {.name = "Min", .forms = OPERAND_FORMS, .lower = lower_operands, .batch = CLARKE_BATCH_ANY, .order = true,
   .tie = {[CLARKE_PYTORCH_2_13] = "mean", [CLARKE_JAX_0_10] = "mean", [CLARKE_TENSORFLOW_2] = "mean"}},
  {.name = "Maximum", .order = true,
   .hint = "it is Max of a file; torch.maximum and jax.numpy.maximum have mean, torch.clamp with a tensor (mean from PyTorch 2.14 on) and "
           "tf.maximum first",
   .tie = {[CLARKE_PYTORCH_2_14] = "mean"}},
  {.name = "Minimum", .order = true,
   .hint = "it is Min of a file; torch.minimum and jax.numpy.minimum have mean, torch.clamp with a tensor (mean from PyTorch 2.14 on) and "
           "tf.minimum first",
   .tie = {[CLARKE_PYTORCH_2_14] = "mean"}},
  {.name = "SharedMax", .domain = CLARKE_DOMAIN, .forms = {AXES_FORM}, .lower = lower_reduced, .batch = CLARKE_BATCH_ANY, .takes_odd = true,
   SHARED_TIES},
  {.name = "SharedMin", .domain = CLARKE_DOMAIN, .forms = {AXES_FORM}, .lower = lower_reduced, .batch = CLARKE_BATCH_ANY, .takes_odd = true,
   SHARED_TIES},
  {.name = "SharedMaximum", .domain = CLARKE_DOMAIN, .forms = {{18, 1, MOST_INPUTS, 1, NULL}}, .lower = lower_operands, .batch = CLARKE_BATCH_ANY},
  {.name = "SharedMinimum", .domain = CLARKE_DOMAIN, .forms = {{18, 1, MOST_INPUTS, 1, NULL}}, .lower = lower_operands, .batch = CLARKE_BATCH_ANY},
  {.name = NULL},
};
