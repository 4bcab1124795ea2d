/* The replay in floats, backward: AD in reverse, in the order of a framework (docs/rounding.md). */
#include "program/rounded_inside.h"
#include "program/elementary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void
clarke_machine_runs(clarke_machine *m)
{
  for (size_t i = 0; i < m->p->n; i++) {
    const clarke_instruction *this = &m->p->instruction[i];
    const clarke_instruction *before = &m->p->instruction[i > 0 ? i - 1 : 0];
    size_t start = i > 0 ? m->start[i - 1] : 0;

    if (this->group != before->group || this->kind != before->kind || this->n_in != before->n_in)
      start = i;
    for (size_t k = 0; k < this->n_in && start < i; k++)
      if (this->in[k] >= start)
        start = i;
    m->start[i] = start;
  }
}

void
clarke_machine_flush(clarke_machine *m)
{
  for (size_t k = 0; k < m->n_list; k++) {
    size_t at = m->list[k];

    clarke_machine_add(m, &m->adjoint[at], &m->reached[at], m->sum[at]);
    m->summed[at] = false;
  }
  m->n_list = 0;
}

/* Which argument of a LINEAR comes n-th. As a framework it is a chain of additions, undone from the
 * last; an addition gives to its first argument, then to its second; a product with a constant was
 * made before the addition that it enters, and comes after it. */
size_t
clarke_machine_turn(size_t n, size_t turn, bool first_is_one)
{
  bool first_of_two = turn + 2 == n;

  if (turn + 2 < n)
    return n - 1 - turn;
  if (n < 2)
    return 0;
  return first_of_two == first_is_one ? 0 : 1;
}

/* 2 / sqrt(pi) exp(-x^2) g, from the left, as PyTorch computes it. */
static double
erf_share(clarke_ieee_unit *u, double x, double g)
{
  const double bell = clarke_ieee_analytic(u, CLARKE_FN_EXP, -clarke_ieee_mul(u, x, x));

  return clarke_ieee_mul(u, clarke_ieee_mul(u, bell, clarke_ieee_add(u, M_2_SQRTPI, 0)), g);
}

static double
analytic_share(clarke_machine *m, const clarke_instruction *i, double x, double y, double g)
{
  clarke_ieee_unit *u = &m->unit;

  switch (i->function) {
  case CLARKE_FN_EXP:
    return clarke_ieee_mul(u, g, y);
  case CLARKE_FN_LOG:
    return clarke_ieee_div(u, g, x);
  case CLARKE_FN_SQRT:
    return clarke_ieee_div(u, g, clarke_ieee_mul(u, 2, y));
  case CLARKE_FN_SIN:
    return clarke_ieee_mul(u, g, clarke_ieee_analytic(u, CLARKE_FN_COS, x));
  case CLARKE_FN_COS:
    return clarke_ieee_mul(u, g, -clarke_ieee_analytic(u, CLARKE_FN_SIN, x));
  case CLARKE_FN_TANH:
    return clarke_ieee_mul(u, g, clarke_ieee_one_minus_square(u, y));
  case CLARKE_FN_SIGMOID:
    return clarke_ieee_mul(u, clarke_ieee_mul(u, g, clarke_ieee_add(u, 1, -y)), y);
  case CLARKE_FN_ERF:
    return erf_share(u, x, g);
  case CLARKE_FN_ATAN:
    return clarke_ieee_div(u, g, clarke_ieee_add(u, clarke_ieee_mul(u, x, x), 1));
  }
  return NAN;
}

static double
quotient_share(clarke_machine *m, size_t at, size_t k, double g)
{
  double divisor = m->value[m->p->instruction[at].in[1]];

  if (k == 0)
    return clarke_ieee_div(&m->unit, g, divisor);
  return clarke_ieee_mul(&m->unit, -g, clarke_ieee_div(&m->unit, m->value[at], divisor));
}

/* The slope at kink k: the proxy's, or the common slope of both sides when it is no kink. */
static clarke_status
kink_slope(clarke_machine *m, double *slope, const clarke_instruction *i, size_t kink, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  mpq_t left, right, proxy;

  mpq_inits(left, right, proxy, NULL);
  clarke_kink_slopes(left, right, i, kink);
  if (mpq_equal(left, right))
    mpq_set(proxy, left);
  else
    status = clarke_code_proxy(proxy, i, kink, left, right, m->profile, err);
  *slope = clarke_ieee_rational(&m->unit, proxy);
  mpq_clears(left, right, proxy, NULL);
  return status;
}

/* What a profile puts in the gradient's place at the kink (deel-ai/relu-prime, as released); NULL: nothing. */
static const clarke_proxy *
injected(const clarke_machine *m, const clarke_instruction *i, size_t kink)
{
  return i->op == NULL || i->proxy.given ? NULL : clarke_profile_injected(m->profile, i->op, kink + (i->pieces != NULL ? i->pieces->first_kink : 0));
}

/* ELU left of its kink: (g alpha) exp(x); else a product with the slope, and a masked zero where
 * that is zero, whatever g is. */
static clarke_status
pointwise_share(clarke_machine *m, double *share, const clarke_instruction *i, double g,
                clarke_error *err)
{
  double x = m->value[i->in[0]], slope = 1, c[3] = {0, 0, 0};
  clarke_status status = CLARKE_OK;
  bool at_kink;
  size_t piece = clarke_machine_piece(m, i, x, &at_kink);

  if (at_kink && injected(m, i, piece) != NULL) {
    *share = clarke_ieee_rational(&m->unit, injected(m, i, piece)->value);
    return CLARKE_OK;
  }
  if (at_kink)
    status = kink_slope(m, &slope, i, piece, err);
  else if (i->kind == CLARKE_DO_ELU && piece == 0) {
    *share = clarke_ieee_mul(&m->unit, clarke_machine_times(m, i->coef[0], g),
                             clarke_ieee_analytic(&m->unit, CLARKE_FN_EXP, x));
    return CLARKE_OK;
  } else if (i->kind != CLARKE_DO_ELU) {
    c[0] = clarke_ieee_rational(&m->unit, i->pieces->coef[piece][1]);
    c[1] = 2 * clarke_ieee_rational(&m->unit, i->pieces->coef[piece][2]);
    slope = clarke_ieee_polynomial(&m->unit, c, x);
  }
  *share = isnan(x) ? x : slope == 0 ? 0 : clarke_ieee_mul(&m->unit, g, slope);
  return status;
}

/* (1 - beta) g to the entry that the rule names, beta g / n to each of n tied, 0 to the others. */
static clarke_status
give_order(clarke_machine *m, const clarke_instruction *i, double g, clarke_error *err)
{
  size_t rank_in_tie, n = clarke_machine_tied(m, i, &rank_in_tie), next = 0, chosen;
  clarke_tie tie = CLARKE_TIE_FIRST;
  clarke_status status;
  double each, one;
  mpq_t beta, rest;

  mpq_inits(beta, rest, NULL);
  status = n > 1 ? clarke_code_tie(&tie, beta, i, m->profile, err) : CLARKE_OK;
  chosen = m->tied[clarke_tie_index(tie, n, rank_in_tie)];
  mpq_set_si(rest, 1, 1);
  mpq_sub(rest, rest, beta);
  each = mpq_sgn(beta) == 0 ? 0 : clarke_machine_times(m, beta, clarke_ieee_div(&m->unit, g, (double)n));
  one = mpq_sgn(beta) == 0   ? g
        : mpq_sgn(rest) == 0 ? each
                             : clarke_ieee_add(&m->unit, clarke_machine_times(m, rest, g), each);
  for (size_t k = 0; k < i->n_in && status == CLARKE_OK; k++) {
    bool is_tied = next < n && m->tied[next] == k;

    next += is_tied;
    clarke_machine_give(m, i->in[k], k == chosen ? one : is_tied ? each : 0);
  }
  mpq_clears(beta, rest, NULL);
  return status;
}

/* x / norm, then the product. At a norm of zero it is zero, or where the profile has NaN what the quotient is. */
static void
give_norm(clarke_machine *m, size_t at, double g)
{
  const clarke_instruction *i = &m->p->instruction[at];
  double norm = m->value[at];

  for (size_t k = 0; k < i->n_in; k++) {
    double x = m->value[i->in[k]];

    clarke_machine_give(m, i->in[k],
         clarke_ieee_mul(&m->unit, g, norm == 0 && !m->profile->norm_nan ? 0 : clarke_ieee_div(&m->unit, x, norm)));
  }
}

/* Arguments of a run that are given to in turns, one sum each: those of sums, products, quotients.
 * The arguments of others are one vector. */
static size_t
turns(const clarke_instruction *i)
{
  bool several = i->kind == CLARKE_DO_LINEAR || i->kind == CLARKE_DO_PRODUCT ||
                 i->kind == CLARKE_DO_QUOTIENT;

  return several ? i->n_in : i->n_in > 0;
}

/* What instruction `at` gives in its n-th turn. */
static clarke_status
take_turn(clarke_machine *m, size_t at, size_t n, clarke_error *err)
{
  const clarke_instruction *i = &m->p->instruction[at];
  clarke_status status = CLARKE_OK;
  double g = m->adjoint[at], share;
  size_t k = i->kind == CLARKE_DO_LINEAR ? clarke_machine_turn(i->n_in, n, mpq_cmp_si(i->coef[0], 1, 1) == 0) : n;

  if (i->kind == CLARKE_DO_LINEAR)
    clarke_machine_give(m, i->in[k], clarke_machine_times(m, i->coef[k], g));
  else if (i->kind == CLARKE_DO_PRODUCT)
    clarke_machine_give(m, i->in[k], clarke_ieee_mul(&m->unit, g, m->value[i->in[1 - k]]));
  else if (i->kind == CLARKE_DO_QUOTIENT)
    clarke_machine_give(m, i->in[k], quotient_share(m, at, k, g));
  else if (i->kind == CLARKE_DO_ANALYTIC)
    clarke_machine_give(m, i->in[0], analytic_share(m, i, m->value[i->in[0]], m->value[at], g));
  else if (i->kind == CLARKE_DO_ORDER)
    status = give_order(m, i, g, err);
  else if (i->kind == CLARKE_DO_BRANCH)
    clarke_machine_give(m, i->in[clarke_machine_arm(m, i)], g);
  else if (i->kind == CLARKE_DO_NORM)
    give_norm(m, at, g);
  else {
    status = pointwise_share(m, &share, i, g, err);
    clarke_machine_give(m, i->in[0], share);
  }
  return status;
}

static clarke_status
undo_run(clarke_machine *m, size_t start, size_t end, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  m->several = end - start > 1;
  for (size_t n = 0; n < turns(&m->p->instruction[start]); n++) {
    for (size_t i = start; i < end && status == CLARKE_OK; i++)
      if (m->reached[i])
        status = take_turn(m, i, n, err);
    clarke_machine_flush(m);
  }
  return status;
}

void
clarke_machine_unreach(clarke_machine *m)
{
  memset(m->reached, 0, m->p->n * sizeof *m->reached);
}

void
clarke_machine_seed(clarke_machine *m, size_t instruction, double adjoint)
{
  clarke_machine_add(m, &m->adjoint[instruction], &m->reached[instruction], adjoint);
}

clarke_status
clarke_machine_undo(clarke_machine *m, size_t begin, size_t end, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  size_t blocks = m->n_blocks;

  while (blocks > 0 && m->block[blocks - 1].first >= end)
    blocks--;
  for (size_t start; end > begin && status == CLARKE_OK; end = start) {
    start = m->start[end - 1];
    if (blocks > 0 && m->block[blocks - 1].first == start)
      clarke_machine_block_backward(m, --blocks);
    else
      status = undo_run(m, start, end, err);
  }
  return status;
}

/* In the order of the inputs in wrt. */
void
clarke_machine_gradient(const clarke_machine *m, double *gradient)
{
  size_t n = 0;

  for (size_t k = 0; k < m->p->n_inputs; k++)
    for (size_t j = 0; m->p->input[k].wrt && j < m->p->input[k].n; j++) {
      size_t i = m->p->input[k].first + j;

      gradient[n++] = m->reached[i] ? m->adjoint[i] : 0;
    }
}

clarke_status
clarke_machine_backward(clarke_machine *m, double *gradient, clarke_error *err)
{
  const clarke_status status = clarke_machine_undo(m, 0, m->p->n, err);

  clarke_machine_gradient(m, gradient);
  return status;
}
