/* Sums of products of entries, of which the products were not recorded (summation.h): a dot product is written as Mul and ReduceSum, the
 * mean square of differences as Sub, Pow and ReduceMean. And what goes back to the factor of such products that is read several times
 * each: the sum of its gradients. */
#include "trace/sums/summation.h"

#include <math.h>
#include <stdlib.h>

/* Does the step multiply entries: two activations, or one and a constant? */
static bool
multiplies(const clarke_graph *g, const clarke_step *s)
{
  if (s->kind == CLARKE_SCALE)
    return !s->divide && !s->root && !g->values[s->in[1].value].negated;
  return s->kind == CLARKE_PRODUCT && s->contraction.rows == 1 && s->contraction.inner == 1 && s->contraction.cols == 1;
}

/* The sum or difference of two, each a constant or recorded, entry by entry, rounded once: features x samples. */
static double *
added_up(clarke_sum_operands *o, const clarke_step *s, size_t count)
{
  const size_t n = o->c->g->samples;
  const clarke_value *v[2];
  const double *from[2];
  double *made;

  if (s->kind != CLARKE_SUM || s->n_in != 2 || (o->type != CLARKE_F32 && o->type != CLARKE_F64))
    return NULL;
  for (size_t i = 0; i < 2; i++) {
    v[i] = &o->c->g->values[s->in[i].value];
    from[i] = v[i]->constant ? v[i]->negated ? NULL : v[i]->real : clarke_sum_numbers(o, s->in[i].value);
    if (from[i] == NULL || fabs(s->in[i].coef) != 1)
      return NULL;
  }
  made = malloc((count * n + 1) * sizeof *made);
  for (size_t e = 0; made != NULL && e < count * n; e++) {
    double term[2];

    for (size_t i = 0; i < 2; i++) {
      const size_t at = clarke_operand_entry(&s->in[i], e / n);

      term[i] = at == CLARKE_NONE ? 0 : s->in[i].coef * from[i][v[i]->constant ? at : at * n + e % n];
    }
    made[e] = o->type == CLARKE_F32 ? (double)((float)term[0] + (float)term[1]) : term[0] + term[1];
  }
  return made;
}

/* The numbers of one of its operands. Of a sum or difference that was not recorded they follow. */
static void
set_term(clarke_sum_operands *o, size_t i, const clarke_operand *at)
{
  const clarke_graph *g = o->c->g;
  const clarke_value *v = &g->values[at->value];

  o->term[i] = at;
  o->numbers[i] = v->constant ? v->real : clarke_sum_numbers(o, at->value);
  if (o->numbers[i] == NULL && i == 1 && o->term[0] != NULL && o->term[0]->value == at->value)
    o->numbers[1] = o->numbers[0];
  else if (o->numbers[i] == NULL && v->producer != CLARKE_NONE && o->made == NULL)
    o->numbers[i] = o->made = added_up(o, &g->steps[v->producer], v->count);
}

static double
term_at(const clarke_sum_operands *o, size_t i, size_t f, size_t sample)
{
  const size_t e = clarke_operand_entry(o->term[i], f);
  const bool constant = o->c->g->values[o->term[i]->value].constant;

  return e != CLARKE_NONE ? o->numbers[i][constant ? e : e * o->c->g->samples + sample] : 0;
}

bool
clarke_sum_terms_find(clarke_sum_operands *o, const char **why, size_t value)
{
  const clarke_graph *g = o->c->g;
  const size_t producer = g->values[value].producer, weights = g->values[o->product->dense.weight].count;
  const clarke_step *s = producer != CLARKE_NONE ? &g->steps[producer] : NULL;

  if (s == NULL || o->c->recorded[value] != NULL || o->added != NULL || !multiplies(g, s))
    return false;
  for (size_t k = 0; k < weights; k++)
    if (o->weight[k] != 1)
      return false;
  o->kind = CLARKE_SUM_OF_TERMS;
  for (size_t i = 0; i < 2; i++)
    set_term(o, i, &s->in[i]);
  *why = o->numbers[0] == NULL || o->numbers[1] == NULL ? "what it multiplies was not recorded" : NULL;
  return true;
}

void
clarke_sum_terms_take(double *p, double *q, const clarke_sum_operands *o, size_t f, size_t sample)
{
  const clarke_dense *d = &o->product->dense;
  const size_t block = f / (d->outer * d->repeat), r = f % d->repeat;

  for (size_t k = 0; k < d->inner; k++) {
    const size_t laid = (block * d->inner + k) * d->repeat + r, l = o->map != NULL ? o->map[laid] : laid;

    p[k] = l != CLARKE_NONE ? term_at(o, 0, l, sample) : 0;
    q[k] = l != CLARKE_NONE ? term_at(o, 1, l, sample) : 0;
  }
}

bool
clarke_sum_copies_factor(clarke_sum_operands *o, const clarke_step *s, size_t value)
{
  const size_t side = s->in[0].value == value ? 0 : 1;

  if (!multiplies(o->c->g, s) || s->in[0].value == s->in[1].value || s->in[side].value != value)
    return false;
  set_term(o, 1, &s->in[1 - side]);
  return o->numbers[1] != NULL;
}

double
clarke_sum_copy_times(const clarke_sum_operands *o, size_t f, size_t sample)
{
  return o->term[1] != NULL ? term_at(o, 1, f, sample) : 1;
}
