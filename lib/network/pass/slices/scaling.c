/* Scalings: entries that a normalization divides by little count for much before it (docs/filter.md, "Scalings"). */
#include "network/pass/slices/scaling.h"

#include "exact/upward.h"

#include <math.h>
#include <stdlib.h>

/* Rows that count less than so small a part of the most do so by that: no normalization reads them. */
#define LEAST_PART 0x1p-20

/* The value's rows, none of which counts yet; NULL: there is no memory. */
static double *
rows_of(clarke_scaling *scaling, const clarke_graph *g, size_t value)
{
  clarke_scaling *to = &scaling[value];

  if (to->row == NULL)
    to->row = calloc(g->values[value].count + 1, sizeof *to->row);
  return to->row;
}

static double
more(double a, double b)
{
  return b > a ? b : a;
}

/* What operand k of a SUM or GATHER counts. */
static clarke_status
hand_to_operand(clarke_scaling *scaling, const clarke_graph *g, const clarke_step *s, size_t k, clarke_error *err)
{
  const double *out = scaling[s->out].row, by = s->kind == CLARKE_SUM ? fabs(s->in[k].coef) : 1;
  const size_t rows = g->values[s->out].count;
  double *to = NULL;

  for (size_t f = 0, run; f < rows; f += run) {
    const size_t from = clarke_operand_entry(&s->in[k], f);

    run = clarke_operand_run(&s->in[k], f, rows);
    if (from == CLARKE_NONE)
      continue;
    to = to != NULL ? to : rows_of(scaling, g, s->in[k].value);
    if (to == NULL)
      return clarke_no_memory(err);
    for (size_t e = 0; e < run; e++)
      to[from + e] = more(to[from + e], out[f + e] * by);
  }
  return CLARKE_OK;
}

/* What the readers asked for is known: least, most and size. */
static void
settle_scaling(clarke_scaling *scaling, size_t count)
{
  double square = 0, floor;

  for (size_t r = 0; r < count; r++)
    scaling->most = scaling->row[r] > scaling->most ? scaling->row[r] : scaling->most;
  scaling->least = scaling->most;
  floor = scaling->most * LEAST_PART;
  for (size_t r = 0; r < count; r++) {
    scaling->row[r] = scaling->row[r] > floor ? scaling->row[r] : floor;
    scaling->least = scaling->row[r] < scaling->least ? scaling->row[r] : scaling->least;
    square += scaling->row[r] * scaling->row[r];
  }
  scaling->size = clarke_up_by(sqrt(square), (double)(count + 16));
  if (scaling->least >= 0x1p-300 && scaling->most <= 0x1p300)
    return;
  free(scaling->row);
  *scaling = (clarke_scaling){0};
}

/* What a step's output counts by its operands count by. */
static clarke_status
hand_back(clarke_scaling *scaling, const clarke_graph *g, const clarke_step *s, const clarke_sizes *z, clarke_error *err)
{
  const size_t i = (size_t)(s - g->steps), rows = g->values[s->out].count;
  const bool moves = scaling[s->out].row != NULL && (s->kind == CLARKE_SUM || s->kind == CLARKE_GATHER);
  clarke_status status = CLARKE_OK;

  if (s->kind == CLARKE_NORMALIZE && s->grouping.couples) {
    double *to = rows_of(scaling, g, s->in[0].value);

    for (size_t f = 0; f < rows && to != NULL; f++)
      to[f] = more(to[f], 1 / z->deviation[i][clarke_step_group(s, f)]);
    status = to != NULL ? CLARKE_OK : clarke_no_memory(err);
  }
  for (size_t k = 0; k < s->n_in && moves && status == CLARKE_OK; k++)
    if (!g->values[s->in[k].value].constant)
      status = hand_to_operand(scaling, g, s, k, err);
  return status;
}

clarke_status
clarke_scalings_choose(clarke_scaling *scaling, const clarke_graph *g, const bool *needed, const clarke_sizes *z, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = g->n_steps; i-- > 0 && status == CLARKE_OK;) {
    const clarke_step *s = &g->steps[i];

    if (!needed[s->out])
      continue;
    if (scaling[s->out].row != NULL)
      settle_scaling(&scaling[s->out], g->values[s->out].count);
    status = hand_back(scaling, g, s, z, err);
  }
  if (scaling[g->input].row != NULL)
    settle_scaling(&scaling[g->input], g->values[g->input].count);
  return status;
}

double
clarke_scaling_growth(const clarke_scaling *scaling, const clarke_graph *g, const clarke_step *s, size_t k)
{
  const clarke_scaling *out = &scaling[s->out], *in = &scaling[s->in[k].value];
  double most = 0;

  for (size_t f = 0, run; f < g->values[s->out].count; f += run) {
    const size_t from = clarke_operand_entry(&s->in[k], f);

    run = clarke_operand_run(&s->in[k], f, g->values[s->out].count);
    for (size_t e = 0; e < run && from != CLARKE_NONE; e++) {
      const double ratio = (out->row != NULL ? out->row[f + e] : 1) / (in->row != NULL ? in->row[from + e] : 1);

      most = ratio > most ? ratio : most;
    }
  }
  return clarke_up_by(most, 4);
}
