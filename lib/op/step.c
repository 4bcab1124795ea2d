/* What can be told of a step by itself. */
#include "op/step.h"

size_t
clarke_step_bad_divisor(const clarke_graph *g, const clarke_step *s)
{
  const clarke_value *c = s->divide || s->root ? &g->values[s->in[1].value] : NULL;
  size_t e = 0;
  mpq_t shifted;

  if (c == NULL)
    return CLARKE_NONE;
  mpq_init(shifted);
  for (; e < c->count; e++) {
    mpq_set_d(shifted, c->real[e]);
    if (s->root)
      mpq_add(shifted, shifted, s->epsilon);
    if (s->root ? mpq_sgn(shifted) <= 0 : mpq_sgn(shifted) == 0)
      break;
  }
  mpq_clear(shifted);
  return e < c->count ? e : CLARKE_NONE;
}

bool
clarke_step_has_kinks(const clarke_step *s)
{
  return s->kind == CLARKE_PIECEWISE || s->kind == CLARKE_MAX;
}

bool
clarke_step_begins_with_zero(const clarke_step *s)
{
  bool zero = s->kind == CLARKE_PIECEWISE && s->pieces.slope == CLARKE_NONE;

  for (size_t d = 0; d < 3 && zero; d++)
    zero = mpq_sgn(s->pieces.coef[0][d]) == 0;
  return zero;
}

bool
clarke_step_is_analytic(const clarke_step *s)
{
  return s->kind == CLARKE_ANALYTIC || s->kind == CLARKE_SOFTMAX || s->kind == CLARKE_NORMALIZE;
}

bool
clarke_step_has_domain(const clarke_step *s)
{
  return s->kind == CLARKE_ANALYTIC && s->function >= CLARKE_RECIPROCAL;
}

bool
clarke_step_jumps(const clarke_step *s)
{
  return s->kind == CLARKE_ANALYTIC && s->function >= CLARKE_ABOVE;
}

bool
clarke_step_ends_layer(const clarke_step *s)
{
  return clarke_step_has_kinks(s) || clarke_step_is_analytic(s) || s->kind == CLARKE_PRODUCT;
}

size_t
clarke_step_factor(const clarke_step *s, size_t operand, size_t f, size_t k)
{
  const clarke_contraction *c = &s->contraction;
  const size_t j = f % c->cols, i = f / c->cols % c->rows, b = f / c->cols / c->rows;

  return clarke_operand_entry(&s->in[operand], operand == 0 ? (b * c->rows + i) * c->inner + k
                                                            : (b * c->inner + k) * c->cols + j);
}

size_t
clarke_step_group(const clarke_step *s, size_t f)
{
  return f / s->grouping.length % s->grouping.groups;
}

size_t
clarke_step_group_size(const clarke_step *s, size_t n)
{
  return s->grouping.blocks * s->grouping.length * (s->grouping.couples ? n : 1);
}

void
clarke_pieces_slope(mpq_t slope, const clarke_pieces *p, size_t piece, const mpq_t x)
{
  mpq_mul(slope, p->coef[piece][2], x);
  mpq_add(slope, slope, slope);
  mpq_add(slope, slope, p->coef[piece][1]);
}
