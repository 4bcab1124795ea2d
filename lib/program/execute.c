#include "program/execute.h"
#include "base/verify.h"
#include "base/stop.h"
#include "program/demand.h"

#include <stdlib.h>
#include <string.h>

void
clarke_execution_init(clarke_execution *e)
{
  memset(e, 0, sizeof *e);
}

void
clarke_execution_clear(clarke_execution *e)
{
  for (size_t t = 0; t < e->n_touched; t++)
    free(e->touched[t].tied);
  free(e->touched);
  free(e->touch_of);
  free(e->live);
  free(e->piece);
  free(e->order);
  clarke_numbers_free(e->value, e->p != NULL ? e->p->n : 0);
  clarke_execution_init(e);
}

static clarke_status
prepare(clarke_execution *e, const clarke_code *p, mpq_t *at, long precision,
        clarke_error *err)
{
  e->p = p;
  e->at = at;
  e->precision = precision;
  e->live = calloc(p->n + 1, sizeof *e->live);
  e->piece = calloc(p->n + 1, sizeof *e->piece);
  e->order = malloc((p->n + 1) * sizeof *e->order);
  e->touch_of = malloc((p->n + 1) * sizeof *e->touch_of);
  e->value = clarke_numbers(p->n);
  if (e->live == NULL || e->piece == NULL || e->order == NULL || e->touch_of == NULL ||
      e->value == NULL)
    return clarke_no_memory(err);
  memset(e->touch_of, 0xff, (p->n + 1) * sizeof *e->touch_of);
  return CLARKE_OK;
}

/* A new touched kink; NULL when out of memory. */
static clarke_touched *
touch(clarke_execution *e, size_t instruction)
{
  clarke_touched *grown = realloc(e->touched, (e->n_touched + 1) * sizeof *grown);

  if (grown == NULL)
    return NULL;
  e->touched = grown;
  e->touch_of[instruction] = e->n_touched;
  memset(&grown[e->n_touched], 0, sizeof *grown);
  grown[e->n_touched].instruction = instruction;
  return &grown[e->n_touched++];
}

static clarke_status
leave_open(clarke_execution *e, size_t at)
{
  e->open = true;
  e->open_at = at;
  return CLARKE_OK;
}

static clarke_status
execute_pointwise(clarke_execution *e, size_t at, clarke_error *err)
{
  const clarke_instruction *i = &e->p->instruction[at];
  const clarke_number *x = &e->value[i->in[0]];
  size_t piece;
  clarke_place_kind place = clarke_pointwise_place(&piece, i, x, e->precision);
  clarke_touched *t;

  if (place == CLARKE_PLACE_OPEN)
    return leave_open(e, at);
  if (place == CLARKE_PLACE_KINK) {
    t = touch(e, at);
    if (t == NULL)
      return clarke_no_memory(err);
    t->kink = piece;
  }
  e->piece[at] = (uint8_t)piece;
  clarke_pointwise_value(&e->value[at], NULL, i, piece, x, e->precision);
  return CLARKE_OK;
}

static clarke_status
execute_order(clarke_execution *e, size_t at, clarke_error *err)
{
  const clarke_instruction *i = &e->p->instruction[at];
  size_t *tied = malloc(i->n_in * sizeof *tied), n_tied, rank;
  clarke_touched *t = NULL;

  if (tied == NULL)
    return clarke_no_memory(err);
  if (!clarke_order_place(tied, &n_tied, &rank, i, e->value, e->precision)) {
    free(tied);
    return leave_open(e, at);
  }
  if (n_tied > clarke_limit_of(CLARKE_LIMIT_TIES)) {
    free(tied);
    return clarke_code_past(e->p, at, err, CLARKE_LIMIT_TIES, "more tied entries");
  }
  clarke_number_set(&e->value[at], &e->value[i->in[tied[0]]]);
  if (n_tied > 1)
    t = touch(e, at);
  if (t != NULL)
    *t = (clarke_touched){.instruction = at, .n_tied = n_tied, .tied = tied, .rank_in_tie = rank};
  else {
    free(tied);
    if (n_tied > 1)
      return clarke_no_memory(err);
  }
  return CLARKE_OK;
}

/* The comparison when the branch first comes up, the value of its arm when that is there. */
static clarke_status
execute_branch(clarke_execution *e, clarke_demand *d, size_t at, clarke_error *err)
{
  const clarke_instruction *i = &e->p->instruction[at];
  int sign;

  if (d->arm[at] != 0) {
    clarke_number_set(&e->value[at], &e->value[i->in[d->arm[at] == 1 ? 2 : 3]]);
    return CLARKE_OK;
  }
  sign = clarke_branch_place(i, e->value, e->precision);
  if (sign == 2)
    return leave_open(e, at);
  if (sign == 0 && touch(e, at) == NULL)
    return clarke_no_memory(err);
  e->piece[at] = clarke_relation_holds(i->relation, sign);
  d->arm[at] = e->piece[at] ? 1 : -1;
  return CLARKE_OK;
}

static clarke_status
execute_smooth(clarke_execution *e, size_t at, clarke_error *err)
{
  const clarke_instruction *i = &e->p->instruction[at];
  bool open = false;
  clarke_status status;

  if (i->kind == CLARKE_DO_INPUT) {
    clarke_number_set_q(&e->value[at], e->at[clarke_code_entry(e->p, at)]);
    return CLARKE_OK;
  }
  if (i->kind == CLARKE_DO_NORM && clarke_norm_at_zero(i, e->value)) {
    clarke_number_set_si(&e->value[at], 0);
    return touch(e, at) != NULL ? CLARKE_OK : clarke_no_memory(err);
  }
  status = clarke_smooth_value(&e->value[at], NULL, &open, e->p, at, e->value, e->precision, err);
  return open ? leave_open(e, at) : status;
}

static clarke_status
execute_next(clarke_execution *e, clarke_demand *d, size_t at, clarke_error *err)
{
  switch (e->p->instruction[at].kind) {
  case CLARKE_DO_PIECEWISE:
  case CLARKE_DO_ELU:
    return execute_pointwise(e, at, err);
  case CLARKE_DO_ORDER:
    return execute_order(e, at, err);
  case CLARKE_DO_BRANCH:
    return execute_branch(e, d, at, err);
  default:
    return execute_smooth(e, at, err);
  }
}

clarke_status
clarke_execute_at(clarke_execution *e, const clarke_code *p, mpq_t *at, long precision,
                  clarke_error *err)
{
  clarke_demand d;
  clarke_status status = prepare(e, p, at, precision, err);
  size_t i;

  if (status != CLARKE_OK)
    return status;
  status = clarke_demand_init(&d, p, err);
  while (status == CLARKE_OK && !e->open && (i = clarke_demand_next(&d)) != CLARKE_NONE) {
    bool chosen = d.arm[i] != 0;

    status = clarke_work_check(err) == CLARKE_OK ? execute_next(e, &d, i, err) : CLARKE_ESTOPPED;
    if (status != CLARKE_OK || e->open ||
        (p->instruction[i].kind == CLARKE_DO_BRANCH && !chosen))
      continue;
    d.done[i] = e->live[i] = true;
    e->order[e->n_order++] = i;
  }
  clarke_demand_clear(&d);
  return status;
}

clarke_status
clarke_execute(clarke_execution *e, const clarke_code *p, mpq_t *at, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  CLARKE_VERIFY_CHECK(clarke_code_is_valid(p));
  for (long precision = CLARKE_PRECISION_FIRST; precision <= CLARKE_PRECISION_LAST;
       precision *= 2) {
    clarke_execution_clear(e);
    status = clarke_execute_at(e, p, at, precision, err);
    if (status != CLARKE_OK || !e->open)
      break;
  }
  CLARKE_VERIFY_CHECK(status != CLARKE_OK || clarke_execution_is_valid(e));
  return status;
}

const clarke_touched *
clarke_touched_find(const clarke_execution *e, size_t instruction)
{
  size_t t = e->touch_of[instruction];

  return t != CLARKE_NONE ? &e->touched[t] : NULL;
}

/* --- AD ---------------------------------------------------------------------------------------- */

static clarke_status
proxy_partial(clarke_number *d, const clarke_instruction *i, size_t kink,
              const clarke_profile *profile, clarke_error *err)
{
  mpq_t left, right, value;
  clarke_status status;

  mpq_inits(left, right, value, NULL);
  clarke_kink_slopes(left, right, i, kink);
  status = clarke_code_proxy(value, i, kink, left, right, profile, err);
  clarke_number_set_q(d, value);
  mpq_clears(left, right, value, NULL);
  return status;
}

/* (1 - beta) e_j + beta mean of e_i over the tied. */
static clarke_status
tie_partials(clarke_number *d, const clarke_instruction *i, const clarke_touched *t,
             const clarke_profile *profile, clarke_error *err)
{
  mpq_t beta, share, rest;
  clarke_tie tie;
  clarke_status status;

  mpq_inits(beta, share, rest, NULL);
  status = clarke_code_tie(&tie, beta, i, profile, err);
  if (status == CLARKE_OK) {
    size_t j = clarke_tie_index(tie, t->n_tied, t->rank_in_tie);

    mpq_set_ui(share, 1, t->n_tied);
    mpq_mul(share, share, beta);
    mpq_set_si(rest, 1, 1);
    mpq_sub(rest, rest, beta);
    for (size_t k = 0; k < t->n_tied; k++)
      clarke_number_set_q(&d[t->tied[k]], share);
    mpq_add(rest, rest, share);
    clarke_number_set_q(&d[t->tied[j]], rest);
  }
  mpq_clears(beta, share, rest, NULL);
  return status;
}

/* The single argument that an ORDER is equal to. */
static clarke_status
order_partials(clarke_number *d, const clarke_execution *e, size_t at, clarke_error *err)
{
  const clarke_instruction *i = &e->p->instruction[at];
  size_t *tied = malloc(i->n_in * sizeof *tied), n_tied, rank;

  if (tied == NULL)
    return clarke_no_memory(err);
  if (clarke_order_place(tied, &n_tied, &rank, i, e->value, e->precision))
    clarke_number_set_si(&d[tied[0]], 1);
  free(tied);
  return CLARKE_OK;
}

clarke_status
clarke_partials(clarke_number *d, const clarke_execution *e, size_t at,
                const clarke_profile *profile, clarke_error *err)
{
  const clarke_instruction *i = &e->p->instruction[at];
  const clarke_touched *t = clarke_touched_find(e, at);
  clarke_number y;
  clarke_status status = CLARKE_OK;
  bool open;

  for (size_t k = 0; k < i->n_in; k++)
    clarke_number_set_si(&d[k], 0);
  clarke_number_init(&y);
  switch (i->kind) {
  case CLARKE_DO_INPUT:
    break;
  case CLARKE_DO_PIECEWISE:
  case CLARKE_DO_ELU:
    if (t != NULL)
      status = proxy_partial(&d[0], i, t->kink, profile, err);
    else
      clarke_pointwise_value(&y, &d[0], i, e->piece[at], &e->value[i->in[0]], e->precision);
    break;
  case CLARKE_DO_ORDER:
    status = t != NULL ? tie_partials(d, i, t, profile, err) : order_partials(d, e, at, err);
    break;
  case CLARKE_DO_BRANCH:
    clarke_number_set_si(&d[e->piece[at] ? 2 : 3], 1);
    break;
  default:
    if (t == NULL)
      status = clarke_smooth_value(&y, d, &open, e->p, at, e->value, e->precision, err);
    break;
  }
  clarke_number_clear(&y);
  return status;
}

static bool
is_zero(const clarke_number *x)
{
  return x->exact && mpq_sgn(x->q) == 0;
}

/* One output's row, adjoints going backward through the instructions executed. */
static clarke_status
reverse(clarke_number *row, clarke_number *adjoint, clarke_number *d, const clarke_execution *e,
        size_t output, const clarke_profile *profile, clarke_error *err)
{
  const clarke_code *p = e->p;

  for (size_t i = 0; i < p->n; i++)
    clarke_number_set_si(&adjoint[i], 0);
  clarke_number_set_si(&adjoint[output], 1);
  for (size_t n = e->n_order; n-- > 0;) {
    size_t at = e->order[n];
    const clarke_instruction *i = &p->instruction[at];
    clarke_status status;

    if (is_zero(&adjoint[at]))
      continue;
    if (i->kind == CLARKE_DO_INPUT) {
      size_t entry = clarke_code_wrt_entry(p, at);

      if (entry != CLARKE_NONE)
        clarke_number_set(&row[entry], &adjoint[at]);
      continue;
    }
    status = clarke_work_check(err);
    if (i->kind == CLARKE_DO_NORM && profile != NULL && profile->norm_nan && clarke_touched_find(e, at) != NULL)
      status = clarke_code_fail(p, at, err, "the derivative of a norm of zeros is NaN in the profile %s", profile->name);
    if (status == CLARKE_OK)
      status = clarke_partials(d, e, at, profile, err);
    if (status != CLARKE_OK)
      return status;
    for (size_t k = 0; k < i->n_in; k++)
      clarke_number_addmul(&adjoint[i->in[k]], &adjoint[at], &d[k], e->precision);
    for (size_t k = 0; k < i->n_in; k++)
      if (clarke_number_is_large(&adjoint[i->in[k]]))
        return clarke_code_past(p, at, err, CLARKE_LIMIT_BITS, "a derivative of more bits");
  }
  return CLARKE_OK;
}

static size_t
widest(const clarke_code *p)
{
  size_t n = 1;

  for (size_t i = 0; i < p->n; i++)
    n = p->instruction[i].n_in > n ? p->instruction[i].n_in : n;
  return n;
}

clarke_status
clarke_execution_ad(clarke_number *gradient, const clarke_execution *e,
                    const clarke_profile *profile, clarke_error *err)
{
  const clarke_code *p = e->p;
  size_t n = clarke_code_wrt_count(p), wide = widest(p);
  clarke_number *adjoint = clarke_numbers(p->n), *d = clarke_numbers(wide);
  clarke_status status = CLARKE_OK;

  if (adjoint == NULL || d == NULL)
    status = clarke_no_memory(err);
  for (size_t k = 0; k < p->n_outputs * n && status == CLARKE_OK; k++)
    clarke_number_set_si(&gradient[k], 0);
  for (size_t o = 0; o < p->n_outputs && status == CLARKE_OK; o++)
    status = reverse(&gradient[o * n], adjoint, d, e, p->output[o], profile, err);
  clarke_numbers_free(adjoint, p->n);
  clarke_numbers_free(d, wide);
  return status;
}
