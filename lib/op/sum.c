/* Add, Sub: a + b, a - b, with NumPy's broadcasting. Sum, Mean: of several. Neg: -a, also of a constant. */
#include "op/axes.h"
#include "op/broadcast.h"
#include "op/decided.h"
#include "op/floats.h"
#include "op/identity.h"
#include "op/integers.h"
#include "op/lower.h"
#include "op/masked.h"
#include "op/qlinear.h"

#include <stdlib.h>
#include <string.h>

#define MOST_INPUTS 1024

static clarke_status
lower_sum(clarke_lowering *low, clarke_error *err)
{
  size_t rank, dims[CLARKE_MAX_WHOLE];
  clarke_batch_axis batch;
  size_t *map[2];
  clarke_step *s;
  bool computed;
  clarke_status status = clarke_lower_computed(low, &computed, err);

  if (computed)
    return status;
  if (clarke_adds_integers(low))
    return clarke_lower_integer_sum(low, err);
  status = clarke_lower_lift(low, err);
  for (size_t i = 0; i < 2 && status == CLARKE_OK; i++) {
    if (!clarke_lower_has(low, i))
      return clarke_lower_fail(low, err, "input %zu is missing", i);
    if (clarke_lower_value(low, i)->constant && !clarke_lower_value(low, i)->odd)
      status = clarke_lower_weight(low, i, err);
  }
  if (status != CLARKE_OK)
    return status;
  status = clarke_lower_broadcast(low, &rank, dims, &map[0], &map[1], &batch, err);
  if (status != CLARKE_OK)
    return status;
  s = clarke_lower_step(low, CLARKE_SUM, 2, rank, dims, err);
  if (s == NULL) {
    free(map[0]);
    free(map[1]);
    return err != NULL ? err->code : CLARKE_ENOMEM;
  }
  for (size_t i = 0; i < 2; i++) {
    s->in[i].map = map[i];
    s->in[i].coef = low->graph->values[low->in[i]].negated ? -1 : 1;
  }
  if (strcmp(low->node->op_type, "Sub") == 0)
    s->in[1].coef = -s->in[1].coef;
  low->graph->values[s->out].batch = batch;
  for (size_t i = 0; i < 2 && status == CLARKE_OK; i++) /* before marks hide what is infinity or NaN */
    if (clarke_lower_value(low, i)->odd)
      status = clarke_lower_exclude(low, s, i, err);
  for (size_t i = 0; i < 2 && status == CLARKE_OK; i++)
    if (clarke_lower_value(low, i)->excluded != NULL)
      status = clarke_lower_exclude(low, s, i, err);
  if (status == CLARKE_OK)
    status = clarke_lower_know_sum(low, s->out, low->node->op_type[0] == 'S', err);
  return status == CLARKE_OK ? clarke_lower_done(low, s->out, err) : status;
}

static clarke_status
check_operands(clarke_lowering *low, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  if (low->n_in > CLARKE_MAX_SORTED)
    return clarke_lower_fail(low, err, "%zu inputs; at most %d are supported. Of more, take it of parts, and of these", low->n_in,
                             CLARKE_MAX_SORTED);
  status = clarke_lower_lift(low, err);
  for (size_t i = 0; i < low->n_in && status == CLARKE_OK; i++) {
    if (!clarke_lower_has(low, i))
      return clarke_lower_fail(low, err, "input %zu is missing", i);
    if (clarke_lower_value(low, i)->constant)
      status = clarke_lower_weight(low, i, err);
  }
  return status;
}

/* The sum so far divided by how many it is of. */
static clarke_status
divide_by_number(clarke_lowering *low, size_t sum, clarke_error *err)
{
  const size_t one = 1;
  size_t number;
  clarke_status status = clarke_lower_made(low, 1, &one, &number, err);
  clarke_step *s;

  if (status != CLARKE_OK)
    return status;
  low->graph->values[number].real[0] = (double)low->n_in;
  s = clarke_lower_step_like(low, CLARKE_SCALE, 2, sum, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  s->in[1].value = number;
  s->divide = true;
  low->graph->values[s->out].batch = low->graph->values[sum].batch;
  status = clarke_lower_periodic(low, s, 1, 1, 1, err);
  return status == CLARKE_OK ? clarke_lower_done(low, s->out, err) : status;
}

static clarke_status
lower_several(clarke_lowering *low, clarke_error *err)
{
  size_t rank, dims[CLARKE_MAX_WHOLE], *map[CLARKE_MAX_SORTED];
  clarke_batch_axis batch;
  clarke_step *s;
  clarke_status status = check_operands(low, err);

  if (status == CLARKE_OK && low->n_in == 1)
    return clarke_lower_copy(low, err);
  if (status == CLARKE_OK)
    status = clarke_lower_broadcast_all(low, low->n_in, &rank, dims, map, &batch, err);
  if (status != CLARKE_OK)
    return status;
  s = clarke_lower_step(low, CLARKE_SUM, low->n_in, rank, dims, err);
  for (size_t i = 0; i < low->n_in; i++)
    if (s != NULL)
      s->in[i].map = map[i];
    else
      free(map[i]);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  low->graph->values[s->out].batch = batch;
  return strcmp(low->node->op_type, "Mean") == 0 ? divide_by_number(low, s->out, err) : clarke_lower_done(low, s->out, err);
}

/* The constant's entries, with the sign turned by those who read it. */
static clarke_status
negated_constant(clarke_lowering *low, clarke_error *err)
{
  size_t dims[CLARKE_MAX_RANK];
  clarke_status status = clarke_lower_constant(low, 0, err);
  clarke_value *v;

  if (status != CLARKE_OK)
    return status;
  memcpy(dims, clarke_lower_value(low, 0)->dims, sizeof dims);
  status = clarke_lower_rearranged(low, clarke_lower_value(low, 0)->rank, dims, NULL, err);
  if (status != CLARKE_OK)
    return status;
  v = &low->graph->values[low->graph->n_values - 1];
  v->negated = !v->negated;
  return CLARKE_OK;
}

static clarke_status
lower_negation(clarke_lowering *low, clarke_error *err)
{
  const clarke_value *x;
  clarke_step *s;

  if (!clarke_lower_has(low, 0))
    return clarke_lower_fail(low, err, "input 0 is missing");
  x = clarke_lower_value(low, 0);
  if (clarke_lower_of_integers(low))
    return clarke_lower_integers_computed(low, err);
  if (x->constant)
    return negated_constant(low, err);
  s = clarke_lower_step(low, CLARKE_SUM, 1, x->rank, x->dims, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  s->in[0].coef = -1;
  return clarke_lower_done(low, s->out, err);
}

const clarke_op clarke_ops_sum[] = {
  {.name = "Add", .forms = {{7, 2, 2, 1, NULL}}, .lower = lower_sum, .batch = CLARKE_BATCH_ANY, .takes_negated = true, .takes_odd = true},
  {.name = "Sub", .forms = {{7, 2, 2, 1, NULL}}, .lower = lower_sum, .batch = CLARKE_BATCH_ANY, .takes_negated = true},
  {.name = "Sum", .forms = {{8, 1, MOST_INPUTS, 1, NULL}}, .lower = lower_several, .batch = CLARKE_BATCH_ANY},
  {.name = "Mean", .forms = {{8, 1, MOST_INPUTS, 1, NULL}}, .lower = lower_several, .batch = CLARKE_BATCH_ANY},
  {.name = "Neg", .forms = {{7, 1, 1, 1, NULL}}, .lower = lower_negation, .batch = CLARKE_BATCH_KEPT, .takes_negated = true},
  {.name = NULL},
};
