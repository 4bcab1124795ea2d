/* The replay in floats, forward: values, one rounded operation after another. */
#include "program/rounded_inside.h"

#include <math.h>
#include <stdlib.h>

double
clarke_machine_times(clarke_machine *m, const mpq_t coef, double x)
{
  if (mpq_cmp_si(coef, 1, 1) == 0)
    return x;
  if (mpq_cmp_si(coef, -1, 1) == 0)
    return -x;
  return clarke_ieee_mul(&m->unit, clarke_ieee_rational(&m->unit, coef), x);
}

static double
linear_value(clarke_machine *m, const clarke_instruction *i)
{
  const mpq_t *constant = (const mpq_t *)&i->coef[i->n_in];
  double y = 0;

  for (size_t k = 0; k < i->n_in; k++) {
    double term = clarke_machine_times(m, i->coef[k], m->value[i->in[k]]);

    y = k == 0 ? term : clarke_ieee_add(&m->unit, y, term);
  }
  if (i->n_in == 0)
    return clarke_ieee_rational(&m->unit, *constant);
  if (mpq_sgn(*constant) != 0)
    y = clarke_ieee_add(&m->unit, y, clarke_ieee_rational(&m->unit, *constant));
  return y;
}

static double
norm_value(clarke_machine *m, const clarke_instruction *i)
{
  double sum = 0;

  for (size_t k = 0; k < i->n_in; k++) {
    double x = m->value[i->in[k]];

    sum = clarke_ieee_add(&m->unit, sum, clarke_ieee_mul(&m->unit, x, x));
  }
  return clarke_ieee_analytic(&m->unit, CLARKE_FN_SQRT, sum);
}

size_t
clarke_machine_piece(clarke_machine *m, const clarke_instruction *i, double x, bool *at_kink)
{
  size_t n = i->kind == CLARKE_DO_ELU ? 1 : i->pieces->n_kinks;

  *at_kink = false;
  for (size_t k = 0; k < n; k++) {
    double kink = i->kind == CLARKE_DO_ELU ? 0
                                           : clarke_ieee_rational(&m->unit, i->pieces->kink[k]);

    *at_kink = x == kink;
    if (x <= kink)
      return k;
  }
  return n;
}

static double
pointwise_value(clarke_machine *m, const clarke_instruction *i)
{
  double x = m->value[i->in[0]], c[3];
  bool at_kink;
  size_t piece = clarke_machine_piece(m, i, x, &at_kink);

  if (isnan(x))
    return x;
  if (i->kind == CLARKE_DO_ELU)
    return piece == 1 || at_kink ? x : clarke_machine_times(m, i->coef[0], clarke_ieee_expm1(&m->unit, x));
  for (size_t d = 0; d < 3; d++)
    c[d] = clarke_ieee_rational(&m->unit, i->pieces->coef[piece][d]);
  return clarke_ieee_polynomial(&m->unit, c, x);
}

static int
compare_downward(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x < y) - (x > y);
}

size_t
clarke_machine_tied(clarke_machine *m, const clarke_instruction *i, size_t *rank_in_tie)
{
  size_t n = 0, above = 0;
  double value;

  for (size_t k = 0; k < i->n_in; k++) {
    m->sorted[k] = m->value[i->in[k]];
    if (isnan(m->sorted[k]))
      m->tied[n++] = k;
  }
  *rank_in_tie = i->rank < n ? i->rank : n;
  if (n > 0)
    return n;
  qsort(m->sorted, i->n_in, sizeof *m->sorted, compare_downward);
  value = m->sorted[i->rank - 1];
  for (size_t k = 0; k < i->n_in; k++) {
    above += m->value[i->in[k]] > value;
    if (m->value[i->in[k]] == value)
      m->tied[n++] = k;
  }
  *rank_in_tie = i->rank - above;
  return n;
}

static double
order_value(clarke_machine *m, const clarke_instruction *i)
{
  size_t rank_in_tie;

  clarke_machine_tied(m, i, &rank_in_tie);
  return m->value[i->in[m->tied[0]]];
}

size_t
clarke_machine_arm(const clarke_machine *m, const clarke_instruction *i)
{
  double a = m->value[i->in[0]], b = m->value[i->in[1]];
  bool holds = isnan(a) || isnan(b) ? i->relation == CLARKE_NE
                                    : clarke_relation_holds(i->relation, (a > b) - (a < b));

  return holds ? 2 : 3;
}

static double
value_of(clarke_machine *m, size_t at)
{
  const clarke_instruction *i = &m->p->instruction[at];
  const double *value = m->value;

  switch (i->kind) {
  case CLARKE_DO_INPUT:
    return value[at]; /* set before */
  case CLARKE_DO_CONSTANT:
    return clarke_ieee_rational(&m->unit, i->coef[0]);
  case CLARKE_DO_LINEAR:
    return linear_value(m, i);
  case CLARKE_DO_PRODUCT:
    return clarke_ieee_mul(&m->unit, value[i->in[0]], value[i->in[1]]);
  case CLARKE_DO_QUOTIENT:
    return clarke_ieee_div(&m->unit, value[i->in[0]], value[i->in[1]]);
  case CLARKE_DO_ANALYTIC:
    return clarke_ieee_analytic(&m->unit, i->function, value[i->in[0]]);
  case CLARKE_DO_PIECEWISE:
  case CLARKE_DO_ELU:
    return pointwise_value(m, i);
  case CLARKE_DO_ORDER:
    return order_value(m, i);
  case CLARKE_DO_BRANCH:
    return value[i->in[clarke_machine_arm(m, i)]];
  case CLARKE_DO_NORM:
    return norm_value(m, i);
  }
  return NAN;
}

void
clarke_machine_input(clarke_machine *m, mpq_t *at)
{
  for (size_t k = 0, e = 0; k < m->p->n_inputs; k++)
    for (size_t j = 0; j < m->p->input[k].n; j++)
      m->value[m->p->input[k].first + j] = clarke_ieee_rational(&m->unit, at[e++]);
}

void
clarke_machine_forward(clarke_machine *m, size_t from, size_t to)
{
  size_t block = 0;

  while (block < m->n_blocks && m->block[block].first < from)
    block++;
  for (size_t i = from; i < to; i++) {
    if (block < m->n_blocks && m->block[block].first == i)
      clarke_machine_block_forward(m, block++);
    m->value[i] = value_of(m, i);
  }
}
