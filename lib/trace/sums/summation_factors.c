/* The factors of an entry's products (summation.h). */
#include "trace/sums/summation.h"

#include <string.h>

static double
weight_at(const clarke_sum_operands *o, size_t block, size_t out, size_t in)
{
  const clarke_dense *d = &o->product->dense;
  const size_t begin = d->grouped ? block * d->outer * d->inner : 0;

  return o->weight[begin + (d->transposed ? in * d->outer + out : out * d->inner + in)];
}

static double
input_at(const clarke_sum_operands *o, size_t feature, size_t sample)
{
  const size_t f = o->map != NULL ? o->map[feature] : feature;

  return f != CLARKE_NONE ? o->x[f * o->c->g->samples + sample] : 0;
}

static void
take_product(double *p, double *q, const clarke_sum_operands *o, size_t f, size_t sample)
{
  const clarke_dense *d = &o->product->dense;
  const size_t block = f / (d->outer * d->repeat), out = f / d->repeat % d->outer, r = f % d->repeat;

  for (size_t k = 0; k < d->inner; k++) {
    p[k] = input_at(o, (block * d->inner + k) * d->repeat + r, sample);
    q[k] = weight_at(o, block, out, k);
  }
  clarke_sum_added_take(p, q, o, f, sample);
}

/* The factors of entry f of the operand, as it is laid out. */
static void
take_of_laid(double *p, double *q, const clarke_sum_operands *o, size_t f, size_t sample)
{
  const clarke_dense *d = &o->product->dense;
  const size_t block = f / (d->inner * d->repeat), in = f / d->repeat % d->inner, r = f % d->repeat;

  for (size_t k = 0; k < d->outer; k++) {
    p[k * o->taps + in % o->taps] = o->gradient[sample * o->features + (block * d->outer + k) * d->repeat + r];
    q[k * o->taps + in % o->taps] = weight_at(o, block, k, in);
  }
}

static void
take_of_input(double *p, double *q, const clarke_sum_operands *o, size_t f, size_t sample)
{
  if (o->reader == NULL) {
    take_of_laid(p, q, o, f, sample);
    return;
  }
  memset(p, 0, o->leaves * sizeof *p);
  memset(q, 0, o->leaves * sizeof *q);
  for (size_t k = o->start[f]; k < o->start[f + 1]; k++)
    take_of_laid(p, q, o, o->reader[k], sample);
}

static void
take_of_weight(double *p, double *q, const clarke_sum_operands *o, size_t k)
{
  const clarke_dense *d = &o->product->dense;
  const size_t group = d->grouped ? k / (d->outer * d->inner) : 0, e = k % (d->outer * d->inner);
  const size_t out = d->transposed ? e % d->outer : e / d->inner, in = d->transposed ? e / d->outer : e % d->inner;
  const size_t first = d->grouped ? group : 0, last = d->grouped ? group + 1 : d->blocks;
  size_t leaf = 0;

  for (size_t j = 0; j < o->c->g->samples; j++)
    for (size_t b = first; b < last; b++)
      for (size_t r = 0; r < d->repeat; r++, leaf++) {
        p[leaf] = o->gradient[j * o->features + (b * d->outer + out) * d->repeat + r];
        q[leaf] = input_at(o, (b * d->inner + in) * d->repeat + r, j);
      }
}

static void
take_of_copies(double *p, double *q, const clarke_sum_operands *o, size_t f, size_t sample)
{
  for (size_t k = 0; k < o->leaves; k++) {
    p[k] = o->gradient[sample * o->features + o->reader[f * o->leaves + k]];
    q[k] = clarke_sum_copy_times(o, o->reader[f * o->leaves + k], sample);
  }
}

static void
take_of_bias(double *p, double *q, const clarke_sum_operands *o, size_t k)
{
  size_t leaf = 0;

  for (size_t j = 0; j < o->c->g->samples; j++)
    for (size_t f = 0; f < o->features; f++)
      if (clarke_operand_entry(&o->sum->in[1], f) == k && leaf < o->leaves) {
        p[leaf] = o->gradient[j * o->features + f];
        q[leaf++] = clarke_sum_copy_times(o, f, j);
      }
}

void
clarke_sum_operands_take(double *p, double *q, const clarke_sum_operands *o, size_t k)
{
  const clarke_graph *g = o->c->g;

  switch (o->kind) {
  case CLARKE_SUM_OF_PRODUCT:
  case CLARKE_SUM_OF_TERMS: {
    const size_t rows = g->values[o->product->out].count;

    (o->kind == CLARKE_SUM_OF_TERMS ? clarke_sum_terms_take : take_product)(p, q, o, k % rows, k / rows);
    break;
  }
  case CLARKE_SUM_OF_INPUT: {
    const size_t laid = o->product->in[0].value, patches = o->reader != NULL ? g->values[laid].producer : CLARKE_NONE;
    const size_t rows = g->values[patches != CLARKE_NONE ? g->steps[patches].in[0].value : laid].count;

    take_of_input(p, q, o, k % rows, k / rows);
    break;
  }
  case CLARKE_SUM_OF_CONTRACTION:
    clarke_sum_contraction_take(p, q, o, k % o->count, k / o->count);
    break;
  case CLARKE_SUM_OF_COPIES:
    take_of_copies(p, q, o, k % o->count, k / o->count);
    break;
  case CLARKE_SUM_OF_WEIGHT:
    take_of_weight(p, q, o, k);
    break;
  case CLARKE_SUM_OF_TURNED_WEIGHT:
    clarke_sum_turned_take(p, q, o, k);
    break;
  case CLARKE_SUM_OF_BIAS:
    take_of_bias(p, q, o, k);
    break;
  case CLARKE_SUM_OF_MOVED:
  case CLARKE_SUM_OF_RELU:
  case CLARKE_SUM_OF_PARTS:
    clarke_sum_parts_take(p, q, o, k);
    break;
  }
}
