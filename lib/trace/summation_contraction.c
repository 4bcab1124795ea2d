/* Which products the sums of a product of two activations are made of, and those of the gradients in the two (summation.h). */
#include "trace/summation.h"

#include <stdlib.h>
#include <string.h>

/* Of the network's input, features x samples; NULL: no floats, or out of memory. */
static const double *
turned_input(clarke_sum_operands *o)
{
  const clarke_tensor *x = o->c->x;
  const size_t n = o->c->g->samples, rows = o->c->g->values[o->c->g->input].count;

  if (o->own != NULL || x->real == NULL || x->count != n * rows)
    return o->own;
  o->own = malloc((x->count + 1) * sizeof *o->own);
  for (size_t k = 0; o->own != NULL && k < x->count; k++)
    o->own[k % rows * n + k / rows] = x->real[k];
  return o->own;
}

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
    if (s->in[side].coef != 1 || (between != NULL && between->coef != 1))
      *why = "its factors are not as they were recorded";
    if (!output && source[side] == value)
      o->side = side;
    o->numbers[side] = source[side] == g->input ? turned_input(o) : o->c->recorded[source[side]];
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

const clarke_step *
clarke_sum_contraction_added(size_t *side, const clarke_certify *c, const clarke_step *s)
{
  const clarke_graph *g = c->g;

  if (s->kind != CLARKE_SUM || s->n_in != 2 || s->in[0].coef != 1 || s->in[1].coef != 1 || s->in[0].value == s->in[1].value)
    return NULL;
  for (*side = 0; *side < 2; ++*side) {
    const size_t v = s->in[*side].value, producer = g->values[v].producer;
    size_t readers = 0;

    if (s->in[*side].map != NULL || producer == CLARKE_NONE || g->steps[producer].kind != CLARKE_PRODUCT || c->recorded[v] != NULL)
      continue;
    for (size_t i = 0; i < g->n_steps; i++)
      for (size_t k = 0; k < g->steps[i].n_in; k++)
        readers += g->steps[i].in[k].value == v;
    if (readers == 1 && v != g->output)
      return &g->steps[producer];
  }
  return NULL;
}

clarke_status
clarke_sum_contraction_find_added(clarke_sum_operands *o, const char **why, const clarke_step *s, clarke_error *err)
{
  const clarke_graph *g = o->c->g;
  size_t side;
  const clarke_step *product = clarke_sum_contraction_added(&side, o->c, s);
  const clarke_operand *added = &s->in[1 - side];
  const clarke_value *v = &g->values[added->value];
  clarke_status status = clarke_sum_contraction_find(o, why, product, product->out, err);

  if (status != CLARKE_OK || *why != NULL)
    return status;
  o->sum = s;
  o->added = added;
  o->addends = v->constant ? v->negated ? NULL : v->real : added->value == g->input ? turned_input(o) : o->c->recorded[added->value];
  o->leaves++;
  *why = o->addends == NULL ? "what is added was not recorded" : NULL;
  return CLARKE_OK;
}

static double
addend_at(const clarke_sum_operands *o, size_t f, size_t sample)
{
  const size_t e = clarke_operand_entry(o->added, f);

  return e == CLARKE_NONE ? 0 : o->addends[o->c->g->values[o->added->value].constant ? e : e * o->c->g->samples + sample];
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

  if (o->added != NULL) {
    p[o->leaves - 1] = addend_at(o, f, sample);
    q[o->leaves - 1] = 1;
  }
  for (size_t k = 0; k < o->leaves - (o->added != NULL); k++)
    switch (o->side) {
    case 0: /* entry (b, i, j) of the first: the columns of the gradient's row i, and of the second's row j */
      p[k] = g[(b * d->rows + i) * d->cols + k];
      q[k] = number_at(o, 1, (b * d->inner + j) * d->cols + k, sample);
      break;
    case 1: /* of the second: the rows of the first's column i, and of the gradient's column j */
      p[k] = number_at(o, 0, (b * d->rows + k) * d->inner + i, sample);
      q[k] = g[(b * d->rows + k) * d->cols + j];
      break;
    default:
      p[k] = number_at(o, 0, (b * d->rows + i) * d->inner + k, sample);
      q[k] = number_at(o, 1, (b * d->inner + k) * d->cols + j, sample);
    }
}
