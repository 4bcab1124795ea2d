/* Gauges: entries that a normalization divides by little count for much before it (docs/filter.md, "Gauges"). */
#include "network/slices/gauge.h"

#include "exact/upward.h"

#include <math.h>
#include <stdlib.h>

/* Rows that count less than so small a part of the most do so by that: no normalization reads them. */
#define LEAST_PART 0x1p-20

/* Row r of the value counts at least so much. */
static clarke_status
raise_row(clarke_gauge *gauge, const clarke_graph *g, size_t value, size_t r, double by, clarke_error *err)
{
  clarke_gauge *to = &gauge[value];

  if (to->row == NULL)
    to->row = calloc(g->values[value].count + 1, sizeof *to->row);
  if (to->row == NULL)
    return clarke_no_memory(err);
  to->row[r] = by > to->row[r] ? by : to->row[r];
  return CLARKE_OK;
}

/* What the readers asked for is known: least, most and size. */
static void
settle_gauge(clarke_gauge *gauge, size_t count)
{
  double square = 0, floor;

  for (size_t r = 0; r < count; r++)
    gauge->most = gauge->row[r] > gauge->most ? gauge->row[r] : gauge->most;
  gauge->least = gauge->most;
  floor = gauge->most * LEAST_PART;
  for (size_t r = 0; r < count; r++) {
    gauge->row[r] = gauge->row[r] > floor ? gauge->row[r] : floor;
    gauge->least = gauge->row[r] < gauge->least ? gauge->row[r] : gauge->least;
    square += gauge->row[r] * gauge->row[r];
  }
  gauge->size = sqrt(square) * (1 + (double)(count + 16) * 0x1p-52);
  if (gauge->least >= 0x1p-300 && gauge->most <= 0x1p300)
    return;
  free(gauge->row);
  *gauge = (clarke_gauge){0};
}

/* What a step's output counts by its operands count by. */
static clarke_status
hand_back(clarke_gauge *gauge, const clarke_graph *g, const clarke_step *s, const clarke_sizes *z, clarke_error *err)
{
  const clarke_gauge *out = &gauge[s->out];
  const size_t i = (size_t)(s - g->steps), rows = g->values[s->out].count;
  const bool moves = out->row != NULL && (s->kind == CLARKE_SUM || s->kind == CLARKE_GATHER);
  clarke_status status = CLARKE_OK;

  for (size_t f = 0; f < rows && s->kind == CLARKE_NORMALIZE && s->grouping.couples && status == CLARKE_OK; f++)
    status = raise_row(gauge, g, s->in[0].value, f, 1 / z->deviation[i][clarke_step_group(s, f)], err);
  for (size_t k = 0; k < s->n_in && moves; k++)
    for (size_t f = 0; f < rows && !g->values[s->in[k].value].constant && status == CLARKE_OK; f++) {
      const size_t from = clarke_operand_entry(&s->in[k], f);

      if (from != CLARKE_NONE)
        status = raise_row(gauge, g, s->in[k].value, from, out->row[f] * (s->kind == CLARKE_SUM ? fabs(s->in[k].coef) : 1), err);
    }
  return status;
}

clarke_status
clarke_gauges_choose(clarke_gauge *gauge, const clarke_graph *g, const bool *needed, const clarke_sizes *z, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = g->n_steps; i-- > 0 && status == CLARKE_OK;) {
    const clarke_step *s = &g->steps[i];

    if (!needed[s->out])
      continue;
    if (gauge[s->out].row != NULL)
      settle_gauge(&gauge[s->out], g->values[s->out].count);
    status = hand_back(gauge, g, s, z, err);
  }
  if (gauge[g->input].row != NULL)
    settle_gauge(&gauge[g->input], g->values[g->input].count);
  return status;
}

double
clarke_gauge_growth(const clarke_gauge *gauge, const clarke_graph *g, const clarke_step *s, size_t k)
{
  const clarke_gauge *out = &gauge[s->out], *in = &gauge[s->in[k].value];
  double most = 0;

  for (size_t f = 0; f < g->values[s->out].count; f++) {
    const size_t from = clarke_operand_entry(&s->in[k], f);
    double ratio;

    if (from == CLARKE_NONE)
      continue;
    ratio = (out->row != NULL ? out->row[f] : 1) / (in->row != NULL ? in->row[from] : 1);
    most = ratio > most ? ratio : most;
  }
  return most * (1 + 0x1p-50);
}
