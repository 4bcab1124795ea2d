/* Which products the sums of a product of two activations are made of, and those of the gradients in the two (summation.h). */
#include "trace/sums/summation.h"

#include <stdlib.h>
#include <string.h>

/* Entry l of a laid-out operand is entry laid[side][l] of that value, an unnamed rearrangement apart. */
static size_t
source_of(const clarke_sum_operands *o, size_t side, const clarke_operand **between)
{
  const clarke_graph *g = o->c->g;
  const size_t v = o->product->in[side].value, producer = g->values[v].producer;
  const clarke_step *s = g->values[v].name == NULL && producer != CLARKE_NONE ? &g->steps[producer] : NULL;

  *between = s != NULL && s->kind == CLARKE_GATHER ? &s->in[0] : NULL;
  return *between != NULL ? s->in[0].value : v;
}

static bool
lay(clarke_sum_operands *o, size_t side)
{
  const clarke_contraction *d = &o->product->contraction;
  const size_t count = d->blocks * d->inner * (side == 0 ? d->rows : d->cols);
  const clarke_operand *between, *in = &o->product->in[side];

  source_of(o, side, &between);
  o->laid[side] = malloc((count + 1) * sizeof *o->laid[side]);
  for (size_t l = 0; o->laid[side] != NULL && l < count; l++) {
    const size_t f = clarke_operand_entry(in, l);

    o->laid[side][l] = f != CLARKE_NONE && between != NULL ? clarke_operand_entry(between, f) : f;
  }
  return o->laid[side] != NULL;
}

/* Where each entry of the operand's value is laid out: in one place alone, else *why says so. */
static bool
find_places(clarke_sum_operands *o, const char **why, size_t side, size_t count)
{
  const clarke_contraction *d = &o->product->contraction;
  const size_t laid = d->blocks * d->inner * (side == 0 ? d->rows : d->cols);

  o->place = malloc((count + 1) * sizeof *o->place);
  for (size_t f = 0; o->place != NULL && f < count; f++)
    o->place[f] = CLARKE_NONE;
  for (size_t l = 0; o->place != NULL && l < laid; l++) {
    const size_t f = o->laid[side][l];

    if (f == CLARKE_NONE || o->place[f] != CLARKE_NONE)
      *why = "an entry of it is multiplied in several places";
    else
      o->place[f] = l;
  }
  for (size_t f = 0; o->place != NULL && f < count; f++)
    if (o->place[f] == CLARKE_NONE)
      *why = "an entry of it is multiplied nowhere";
  return o->place != NULL;
}

clarke_status
clarke_sum_contraction_find(clarke_sum_operands *o, const char **why, const clarke_step *s, size_t value, clarke_error *err)
{
  const clarke_graph *g = o->c->g;
  const bool output = s->out == value;
  size_t source[2];

  *why = NULL;
  o->kind = CLARKE_SUM_OF_CONTRACTION;
  o->product = s;
  o->side = 2;
  o->count = g->values[value].count;
  for (size_t side = 0; side < 2; side++) {
    const clarke_operand *between;

    source[side] = source_of(o, side, &between);
    if (!output && source[side] == value)
      o->side = side;
    o->numbers[side] = clarke_sum_numbers(o, source[side]);
    if (!lay(o, side))
      return clarke_no_memory(err);
  }
  if (!output && (o->side == 2 || source[0] == source[1]))
    *why = "not one product reads it, and nothing else";
  for (size_t side = 0; side < 2; side++)
    if (o->numbers[side] == NULL && side != o->side)
      *why = "what it multiplies was not recorded";
  o->leaves = output ? s->contraction.inner : o->side == 0 ? s->contraction.cols : s->contraction.rows;
  if (!output && o->gradient == NULL && *why == NULL)
    *why = "the gradient behind it was not recorded";
  return output || *why != NULL || find_places(o, why, o->side, o->count) ? CLARKE_OK : clarke_no_memory(err);
}

static double
number_at(const clarke_sum_operands *o, size_t side, size_t l, size_t sample)
{
  const size_t f = o->laid[side][l];

  return f != CLARKE_NONE ? o->numbers[side][f * o->c->g->samples + sample] : 0;
}

void
clarke_sum_contraction_take(double *p, double *q, const clarke_sum_operands *o, size_t f, size_t sample)
{
  const clarke_contraction *d = &o->product->contraction;
  const double *g = o->side < 2 ? o->gradient + sample * o->features : NULL;
  const size_t l = o->side < 2 ? o->place[f] : f, line = o->side == 0 ? d->inner : d->cols;
  const size_t j = l % line, i = l / line % (o->side == 1 ? d->inner : d->rows);
  const size_t b = l / line / (o->side == 1 ? d->inner : d->rows);

  clarke_sum_added_take(p, q, o, f, sample);
  for (size_t k = 0; k < o->leaves - (o->added != NULL); k++)
    switch (o->side) {
    case 0: /* entry (b, i, j) of the first: the columns of the gradient's row i, and of the second's row j */
      p[k] = g[(b * d->rows + i) * d->cols + k];
      q[k] = number_at(o, 1, (b * d->inner + j) * d->cols + k, sample);
      break;
    case 1: /* of the second: the rows of the gradient's column j, and of the first's column i */
      p[k] = g[(b * d->rows + k) * d->cols + j];
      q[k] = number_at(o, 0, (b * d->rows + k) * d->inner + i, sample);
      break;
    default:
      p[k] = number_at(o, 0, (b * d->rows + i) * d->inner + k, sample);
      q[k] = number_at(o, 1, (b * d->inner + k) * d->cols + j, sample);
    }
}
