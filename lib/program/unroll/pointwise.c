/* Steps of functions unrolled: activations, and the maxima of windows. */
#include "program/unroll/unroll_inside.h"

#include "program/code.h"

/* Every entry of a PRelu outside wrt has pieces of its own. */
static clarke_status
unroll_prelu(clarke_unrolling *u, const clarke_step *s)
{
  const clarke_value *slope = &u->g->values[s->pieces.slope];
  clarke_pieces pieces = s->pieces; /* shares all but the slope's coefficient */
  clarke_status status = CLARKE_OK;

  if (!clarke_unroll_is_number(u, s->pieces.slope))
    return clarke_fail(u->err, CLARKE_EINPUT, "%s: node '%s' (%s): its slope is in wrt, and a "
                       "program's pointwise functions have constant slopes; leave '%s' out of wrt",
                       u->g->file, s->name, s->op->name,
                       u->g->parameters[slope->parameter].name);
  mpq_init(pieces.coef[0][1]);
  for (size_t f = 0; status == CLARKE_OK && f < u->g->values[s->out].count; f++) {
    mpq_set_d(pieces.coef[0][1],
              slope->real[s->pieces.slope_map != NULL ? s->pieces.slope_map[f] : f]);
    status = clarke_code_add_pieces(u->p, &u->at[s->out][f], s->op,
                                    clarke_unroll_entry(u, s->in[0].value, f), &pieces, u->err);
  }
  mpq_clear(pieces.coef[0][1]);
  return status;
}

clarke_status
clarke_unroll_piecewise(clarke_unrolling *u, const clarke_step *s)
{
  clarke_status status = CLARKE_OK;

  if (s->pieces.slope != CLARKE_NONE)
    return unroll_prelu(u, s);
  if (s->op->spelling[0].name == NULL || s->op->pieces == NULL)
    return clarke_fail(u->err, CLARKE_EINPUT, "%s: node '%s' (%s): programs have no such function", u->g->file, s->name,
                       s->op->name);
  for (size_t f = 0; status == CLARKE_OK && f < u->g->values[s->out].count; f++)
    status = clarke_code_add_pieces(u->p, &u->at[s->out][f], s->op,
                                    clarke_unroll_entry(u, s->in[0].value, f), &s->pieces, u->err);
  return status;
}

/* Windows of one entry only move it. */
clarke_status
clarke_unroll_max(clarke_unrolling *u, const clarke_step *s)
{
  clarke_status status = clarke_unroll_make_room(u, s->width);

  for (size_t f = 0; status == CLARKE_OK && f < u->g->values[s->out].count; f++) {
    size_t n = 0;

    for (size_t i = 0; i < s->width; i++) {
      size_t e = clarke_operand_entry(&s->in[0], f * s->width + i);

      if (e != CLARKE_NONE)
        u->in[n++] = clarke_unroll_entry(u, s->in[0].value, e);
    }
    if (n == 1)
      u->at[s->out][f] = u->in[0];
    else
      status = clarke_code_add_order(u->p, &u->at[s->out][f], s->op, 1, n, u->in, u->err);
  }
  return status;
}

/* log(1 + exp(x)) */
static clarke_status
unroll_softplus(clarke_unrolling *u, size_t *at, size_t x)
{
  clarke_status status = clarke_unroll_make_room(u, 1);

  if (status == CLARKE_OK)
    status = clarke_code_add_analytic(u->p, &u->in[0], CLARKE_FN_EXP, x, u->err);
  mpq_set_ui(u->constant, 1, 1);
  if (status == CLARKE_OK) {
    mpq_set_ui(u->coef[0], 1, 1);
    status = clarke_unroll_add_linear(u, at, 1, u->constant);
  }
  return status == CLARKE_OK ? clarke_code_add_analytic(u->p, at, CLARKE_FN_LOG, *at, u->err) : status;
}

/* 1 / x, the 1 an instruction of its own. */
static clarke_status
unroll_reciprocal(clarke_unrolling *u, size_t *at, size_t x)
{
  clarke_status status;
  size_t one;

  mpq_set_ui(u->constant, 1, 1);
  status = clarke_code_add_constant(u->p, &one, u->constant, u->err);
  return status == CLARKE_OK ? clarke_unroll_add_product(u, at, CLARKE_DO_QUOTIENT, one, x) : status;
}

clarke_status
clarke_unroll_analytic(clarke_unrolling *u, const clarke_step *s)
{
  clarke_analytic f = s->function == CLARKE_TANH   ? CLARKE_FN_TANH
                      : s->function == CLARKE_EXP  ? CLARKE_FN_EXP
                      : s->function == CLARKE_SQRT ? CLARKE_FN_SQRT
                      : s->function == CLARKE_LOG  ? CLARKE_FN_LOG
                      : s->function == CLARKE_SIN  ? CLARKE_FN_SIN
                      : s->function == CLARKE_COS  ? CLARKE_FN_COS
                      : s->function == CLARKE_ATAN ? CLARKE_FN_ATAN
                                                   : CLARKE_FN_SIGMOID;
  clarke_status status = CLARKE_OK;

  if (clarke_step_jumps(s) || s->function == CLARKE_ELU || s->function == CLARKE_ERF || s->function == CLARKE_NORMAL || s->function == CLARKE_NORMAL_TANH)
    return clarke_fail(u->err, CLARKE_EINPUT, "%s: node '%s' (%s): programs have no such function; ask `clarke audit`",
                       u->g->file, s->name, s->op->name);
  for (size_t e = 0; status == CLARKE_OK && e < u->g->values[s->out].count; e++) {
    const size_t x = clarke_unroll_entry(u, s->in[0].value, e);

    status = s->function == CLARKE_SOFTPLUS     ? unroll_softplus(u, &u->at[s->out][e], x)
             : s->function == CLARKE_RECIPROCAL ? unroll_reciprocal(u, &u->at[s->out][e], x)
                                                : clarke_code_add_analytic(u->p, &u->at[s->out][e], f, x, u->err);
  }
  return status;
}
