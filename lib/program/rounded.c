/* The replay in a floating-point format: docs/rounding.md says what is rounded, and when. */
#include "program/rounded.h"
#include "program/ieee.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const clarke_code *p;
  const clarke_profile *profile;
  clarke_ieee_unit unit;
  double *value;     /* by instruction; of those in an arm not taken too, where they do no harm */
  double *adjoint;   /* by instruction, where reached */
  bool *reached;
  size_t *start;     /* by instruction: the first of its run (see find_runs) */
  double *sum;       /* by instruction, where summed: what one operation adds to its adjoint */
  bool *summed;
  size_t n_list, *list; /* the instructions summed */
  bool several;      /* the run at hand has several entries */
  size_t *tied;      /* of the ORDER at hand: its entries equal to its value */
  double *sorted;
} machine;

void
clarke_rounded_init(clarke_rounded *r)
{
  memset(r, 0, sizeof *r);
}

void
clarke_rounded_clear(clarke_rounded *r)
{
  free(r->value);
  free(r->gradient);
  clarke_rounded_init(r);
}

/* --- forward --------------------------------------------------------------------------------- */

/* A product with a constant, none when that is 1 or -1. */
static double
times(machine *m, const mpq_t coef, double x)
{
  if (mpq_cmp_si(coef, 1, 1) == 0)
    return x;
  if (mpq_cmp_si(coef, -1, 1) == 0)
    return -x;
  return clarke_ieee_mul(&m->unit, clarke_ieee_rational(&m->unit, coef), x);
}

static double
linear_value(machine *m, const clarke_instruction *i)
{
  const mpq_t *constant = (const mpq_t *)&i->coef[i->n_in];
  double y = 0;

  for (size_t k = 0; k < i->n_in; k++) {
    double term = times(m, i->coef[k], m->value[i->in[k]]);

    y = k == 0 ? term : clarke_ieee_add(&m->unit, y, term);
  }
  if (i->n_in == 0)
    return clarke_ieee_rational(&m->unit, *constant);
  if (mpq_sgn(*constant) != 0)
    y = clarke_ieee_add(&m->unit, y, clarke_ieee_rational(&m->unit, *constant));
  return y;
}

static double
norm_value(machine *m, const clarke_instruction *i)
{
  double sum = 0;

  for (size_t k = 0; k < i->n_in; k++) {
    double x = m->value[i->in[k]];

    sum = clarke_ieee_add(&m->unit, sum, clarke_ieee_mul(&m->unit, x, x));
  }
  return clarke_ieee_analytic(&m->unit, CLARKE_FN_SQRT, sum);
}

/* The piece whose inside, or whose right end, x is at; *at_kink says which. */
static size_t
find_piece(machine *m, const clarke_instruction *i, double x, bool *at_kink)
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
pointwise_value(machine *m, const clarke_instruction *i)
{
  double x = m->value[i->in[0]], c[3];
  bool at_kink;
  size_t piece = find_piece(m, i, x, &at_kink);

  if (isnan(x))
    return x;
  if (i->kind == CLARKE_DO_ELU)
    return piece == 1 || at_kink ? x : times(m, i->coef[0], clarke_ieee_expm1(&m->unit, x));
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

/* Fills m->tied and returns how many; *rank_in_tie as in execute.h. NaNs, where there are any, are
 * the ones tied. */
static size_t
find_tied(machine *m, const clarke_instruction *i, size_t *rank_in_tie)
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
order_value(machine *m, const clarke_instruction *i)
{
  size_t rank_in_tie;

  find_tied(m, i, &rank_in_tie);
  return m->value[i->in[m->tied[0]]];
}

/* The argument that is the arm taken. A NaN compares with nothing: only != holds. */
static size_t
taken(const machine *m, const clarke_instruction *i)
{
  double a = m->value[i->in[0]], b = m->value[i->in[1]];
  bool holds = isnan(a) || isnan(b) ? i->relation == CLARKE_NE
                                    : clarke_relation_holds(i->relation, (a > b) - (a < b));

  return holds ? 2 : 3;
}

static double
value_of(machine *m, size_t at)
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
    return value[i->in[taken(m, i)]];
  case CLARKE_DO_NORM:
    return norm_value(m, i);
  }
  return NAN;
}

static void
forward(machine *m, mpq_t *at)
{
  for (size_t k = 0, e = 0; k < m->p->n_inputs; k++)
    for (size_t j = 0; j < m->p->input[k].n; j++)
      m->value[m->p->input[k].first + j] = clarke_ieee_rational(&m->unit, at[e++]);
  for (size_t i = 0; i < m->p->n; i++)
    m->value[i] = value_of(m, i);
}

/* --- backward -------------------------------------------------------------------------------- */

/* A run is one operation on vectors: consecutive instructions of one group, kind and number of
 * arguments, none of which is an argument of another. */
static void
find_runs(machine *m)
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

static void
add_to(machine *m, double *total, bool *begun, double x)
{
  *total = *begun ? clarke_ieee_add(&m->unit, *total, x) : x;
  *begun = true;
}

/* Part of the adjoint that the run at hand gives to instruction `at`: a run of several entries keeps
 * it until the flush. */
static void
give(machine *m, size_t at, double x)
{
  if (!m->several) {
    add_to(m, &m->adjoint[at], &m->reached[at], x);
    return;
  }
  if (!m->summed[at])
    m->list[m->n_list++] = at;
  add_to(m, &m->sum[at], &m->summed[at], x);
}

/* Adds what was given to the adjoints. */
static void
flush(machine *m)
{
  for (size_t k = 0; k < m->n_list; k++) {
    size_t at = m->list[k];

    add_to(m, &m->adjoint[at], &m->reached[at], m->sum[at]);
    m->summed[at] = false;
  }
  m->n_list = 0;
}

/* Which argument of a LINEAR comes n-th. As a framework it is a chain of additions, undone from the
 * last; an addition gives to its first argument, then to its second; a product with a constant was
 * made before the addition that it enters, and comes after it. */
static size_t
linear_turn(const clarke_instruction *i, size_t n)
{
  bool first_of_two = n + 2 == i->n_in;

  if (n + 2 < i->n_in)
    return i->n_in - 1 - n;
  if (i->n_in < 2)
    return 0;
  return first_of_two == (mpq_cmp_si(i->coef[0], 1, 1) == 0) ? 0 : 1;
}

static double
analytic_share(machine *m, const clarke_instruction *i, double x, double y, double g)
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
  }
  return NAN;
}

static double
quotient_share(machine *m, size_t at, size_t k, double g)
{
  double divisor = m->value[m->p->instruction[at].in[1]];

  if (k == 0)
    return clarke_ieee_div(&m->unit, g, divisor);
  return clarke_ieee_mul(&m->unit, -g, clarke_ieee_div(&m->unit, m->value[at], divisor));
}

/* The slope at kink k: the proxy's, or the common slope of both sides when it is no kink. */
static clarke_status
kink_slope(machine *m, double *slope, const clarke_instruction *i, size_t kink, clarke_error *err)
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

/* ELU left of its kink: (g alpha) exp(x); else a product with the slope, and a masked zero where
 * that is zero, whatever g is. */
static clarke_status
pointwise_share(machine *m, double *share, const clarke_instruction *i, double g,
                clarke_error *err)
{
  double x = m->value[i->in[0]], slope = 1, c[3] = {0, 0, 0};
  clarke_status status = CLARKE_OK;
  bool at_kink;
  size_t piece = find_piece(m, i, x, &at_kink);

  if (at_kink)
    status = kink_slope(m, &slope, i, piece, err);
  else if (i->kind == CLARKE_DO_ELU && piece == 0) {
    *share = clarke_ieee_mul(&m->unit, times(m, i->coef[0], g),
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
give_order(machine *m, const clarke_instruction *i, double g, clarke_error *err)
{
  size_t rank_in_tie, n = find_tied(m, i, &rank_in_tie), next = 0, chosen;
  clarke_tie tie = CLARKE_TIE_FIRST;
  clarke_status status;
  double each, one;
  mpq_t beta, rest;

  mpq_inits(beta, rest, NULL);
  status = n > 1 ? clarke_code_tie(&tie, beta, i, m->profile, err) : CLARKE_OK;
  chosen = m->tied[clarke_tie_index(tie, n, rank_in_tie)];
  mpq_set_si(rest, 1, 1);
  mpq_sub(rest, rest, beta);
  each = mpq_sgn(beta) == 0 ? 0 : times(m, beta, clarke_ieee_div(&m->unit, g, (double)n));
  one = mpq_sgn(beta) == 0   ? g
        : mpq_sgn(rest) == 0 ? each
                             : clarke_ieee_add(&m->unit, times(m, rest, g), each);
  for (size_t k = 0; k < i->n_in && status == CLARKE_OK; k++) {
    bool is_tied = next < n && m->tied[next] == k;

    next += is_tied;
    give(m, i->in[k], k == chosen ? one : is_tied ? each : 0);
  }
  mpq_clears(beta, rest, NULL);
  return status;
}

/* x / norm, then the product: zero at a norm of zero. */
static void
give_norm(machine *m, size_t at, double g)
{
  const clarke_instruction *i = &m->p->instruction[at];
  double norm = m->value[at];

  for (size_t k = 0; k < i->n_in; k++) {
    double x = m->value[i->in[k]];

    give(m, i->in[k],
         clarke_ieee_mul(&m->unit, g, norm == 0 ? 0 : clarke_ieee_div(&m->unit, x, norm)));
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
take_turn(machine *m, size_t at, size_t n, clarke_error *err)
{
  const clarke_instruction *i = &m->p->instruction[at];
  clarke_status status = CLARKE_OK;
  double g = m->adjoint[at], share;
  size_t k = i->kind == CLARKE_DO_LINEAR ? linear_turn(i, n) : n;

  if (i->kind == CLARKE_DO_LINEAR)
    give(m, i->in[k], times(m, i->coef[k], g));
  else if (i->kind == CLARKE_DO_PRODUCT)
    give(m, i->in[k], clarke_ieee_mul(&m->unit, g, m->value[i->in[1 - k]]));
  else if (i->kind == CLARKE_DO_QUOTIENT)
    give(m, i->in[k], quotient_share(m, at, k, g));
  else if (i->kind == CLARKE_DO_ANALYTIC)
    give(m, i->in[0], analytic_share(m, i, m->value[i->in[0]], m->value[at], g));
  else if (i->kind == CLARKE_DO_ORDER)
    status = give_order(m, i, g, err);
  else if (i->kind == CLARKE_DO_BRANCH)
    give(m, i->in[taken(m, i)], g);
  else if (i->kind == CLARKE_DO_NORM)
    give_norm(m, at, g);
  else {
    status = pointwise_share(m, &share, i, g, err);
    give(m, i->in[0], share);
  }
  return status;
}

static clarke_status
undo_run(machine *m, size_t start, size_t end, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  m->several = end - start > 1;
  for (size_t n = 0; n < turns(&m->p->instruction[start]); n++) {
    for (size_t i = start; i < end && status == CLARKE_OK; i++)
      if (m->reached[i])
        status = take_turn(m, i, n, err);
    flush(m);
  }
  return status;
}

/* The gradient of one output, in the order of the inputs in wrt. */
static clarke_status
backward(machine *m, double *gradient, size_t output, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  size_t n = 0;

  memset(m->reached, 0, m->p->n * sizeof *m->reached);
  m->adjoint[output] = 1;
  m->reached[output] = true;
  for (size_t end = output + 1; end > 0 && status == CLARKE_OK; end = m->start[end - 1])
    status = undo_run(m, m->start[end - 1], end, err);
  for (size_t k = 0; k < m->p->n_inputs; k++)
    for (size_t j = 0; m->p->input[k].wrt && j < m->p->input[k].n; j++) {
      size_t i = m->p->input[k].first + j;

      gradient[n++] = m->reached[i] ? m->adjoint[i] : 0;
    }
  return status;
}

/* --- both ------------------------------------------------------------------------------------ */

static bool
machine_alloc(machine *m)
{
  size_t n = m->p->n + 1, widest = 1;

  for (size_t i = 0; i < m->p->n; i++)
    if (m->p->instruction[i].n_in > widest)
      widest = m->p->instruction[i].n_in;
  m->value = calloc(n, sizeof *m->value);
  m->adjoint = calloc(n, sizeof *m->adjoint);
  m->reached = calloc(n, sizeof *m->reached);
  m->start = calloc(n, sizeof *m->start);
  m->sum = calloc(n, sizeof *m->sum);
  m->summed = calloc(n, sizeof *m->summed);
  m->list = calloc(n, sizeof *m->list);
  m->tied = calloc(widest, sizeof *m->tied);
  m->sorted = calloc(widest, sizeof *m->sorted);
  return m->value != NULL && m->adjoint != NULL && m->reached != NULL && m->start != NULL &&
         m->sum != NULL && m->summed != NULL && m->list != NULL && m->tied != NULL &&
         m->sorted != NULL;
}

static void
machine_free(machine *m)
{
  free(m->value);
  free(m->adjoint);
  free(m->reached);
  free(m->start);
  free(m->sum);
  free(m->summed);
  free(m->list);
  free(m->tied);
  free(m->sorted);
}

static bool
result_alloc(clarke_rounded *r, const clarke_code *p)
{
  size_t wrt = clarke_code_wrt_count(p);

  if (wrt > 0 && p->n_outputs > SIZE_MAX / sizeof(double) / wrt)
    return false;
  r->n_values = p->n_outputs;
  r->n_gradient = p->n_outputs * wrt;
  r->value = calloc(r->n_values + 1, sizeof *r->value);
  r->gradient = calloc(r->n_gradient + 1, sizeof *r->gradient);
  return r->value != NULL && r->gradient != NULL;
}

static clarke_status
run(machine *m, clarke_rounded *r, mpq_t *at, clarke_error *err)
{
  size_t wrt = r->n_values > 0 ? r->n_gradient / r->n_values : 0;
  clarke_status status = CLARKE_OK;

  forward(m, at);
  find_runs(m);
  for (size_t k = 0; k < r->n_values && status == CLARKE_OK; k++) {
    r->value[k] = m->value[m->p->output[k]];
    status = backward(m, r->gradient + k * wrt, m->p->output[k], err);
  }
  return status;
}

clarke_status
clarke_rounded_run(clarke_rounded *r, const clarke_code *p, mpq_t *at, clarke_ieee format,
                   const clarke_profile *profile, clarke_error *err)
{
  machine m = {.p = p, .profile = profile};
  clarke_status status;

  clarke_rounded_clear(r);
  if (machine_alloc(&m) && result_alloc(r, p)) {
    clarke_ieee_begin(&m.unit, format);
    status = run(&m, r, at, err);
    clarke_ieee_end(&m.unit);
  } else {
    clarke_rounded_clear(r);
    status = clarke_no_memory(err);
  }
  machine_free(&m);
  return status;
}
