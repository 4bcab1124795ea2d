/* Functions that are not pieces of polynomials, in a gradient: each value and slope from a ball around it (docs/gradient.md). */
#include "network/derive/gradient/analytic.h"
#include "network/pass/exponential.h"

#include "network/pass/analytic.h"

/* Bits of the balls; and what a slope's may be off by; and one of pairs. */
#define PRECISION 128
#define SLOPE_OFF 0x1p-100
#define PAIR_SLOPE_OFF 0x1p-88

bool
clarke_analytic_is_followed(const clarke_step *s)
{
  if (s->in != NULL && (s->in[0].map != NULL || s->in[0].coef != 1))
    return false;
  switch (s->function) {
  case CLARKE_SIGMOID:
  case CLARKE_TANH:
  case CLARKE_ERF:
  case CLARKE_SOFTPLUS:
  case CLARKE_NORMAL:
  case CLARKE_NORMAL_TANH:
  case CLARKE_ELU:
  case CLARKE_SIN:
  case CLARKE_COS:
  case CLARKE_ATAN:
    return true;
  default: /* their slopes have no bound */
    return false;
  }
}

/* A function of x, which balls give, or pairs, where these do; for a look, whose numbers tell sizes alone, doubles. */
static clarke_pair
apply(double *off, const clarke_gradient_pass *p, arb_t room, clarke_pair x, const clarke_step *s, bool slope)
{
  clarke_pair y;

  if (p->seen != NULL) {
    double of_slope;
    const double value = clarke_analytic_near(&of_slope, x.high, s->function);

    *off = SLOPE_OFF;
    return (clarke_pair){slope ? of_slope : value, 0};
  }
  if (p->in_pairs && clarke_pair_function(&y, off, x, s->function, slope))
    return y;
  clarke_ball_of_pair(room, x);
  if (slope)
    clarke_analytic_slope(room, room, s->function, PRECISION);
  else
    clarke_analytic_value(room, room, s->function, PRECISION);
  return clarke_pair_of_ball(off, room);
}

clarke_status
clarke_analytic_forward(clarke_gradient_pass *p, const clarke_step *s)
{
  const clarke_normed *x = &p->value[s->in[0].value];
  const double steepest = clarke_analytic_steepest(s->function);
  clarke_normed *y = &p->value[s->out];
  arb_t room;

  arb_init(room);
  for (size_t e = 0; e < p->g->values[s->out].count * p->n; e++) {
    double off;
    const clarke_pair v = apply(&off, p, room, clarke_normed_get(x, e), s, false);

    p->lost = p->lost || !isfinite(off) || !isfinite(v.high);
    clarke_normed_put(y, e, v);
    off = clarke_bound_up(off + (y->low == NULL ? fabs(v.low) : 0));
    y->error[clarke_lane_of(p, e % p->n)] += off * off;
  }
  for (size_t j = 0; j < p->lanes; j++)
    y->error[j] = clarke_bound_up(steepest * x->error[j] + sqrt(clarke_bound_up(y->error[j])));
  arb_clear(room);
  return CLARKE_OK;
}

/* The slope at x is off by that of the ball, and by x's error times the largest bend. */
clarke_status
clarke_analytic_back(clarke_gradient_pass *p, const clarke_step *s)
{
  const clarke_normed *x = &p->value[s->in[0].value], *g = &p->grad[s->out];
  const double steepest = clarke_analytic_steepest(s->function), allowed = p->in_pairs ? PAIR_SLOPE_OFF : SLOPE_OFF;
  clarke_normed *to = &p->grad[s->in[0].value];
  double most = 0;
  arb_t room;
  clarke_status status;

  if (!p->carries[s->in[0].value])
    return CLARKE_OK;
  for (size_t j = 0; j < p->lanes; j++)
    most = fmax(most, x->error[j]);
  status = clarke_note_operand(p, s, g, steepest, clarke_bound_up(clarke_analytic_bend(s->function) * most + allowed +
                                                                  8 * CLARKE_PAIR_UNIT * steepest), 0);
  arb_init(room);
  for (size_t e = 0; e < p->g->values[s->out].count * p->n && status == CLARKE_OK; e++) {
    double off;
    const clarke_pair slope = apply(&off, p, room, clarke_normed_get(x, e), s, true);

    p->lost = p->lost || !(off <= allowed);
    clarke_normed_add(to, e, clarke_pair_multiply(slope, clarke_normed_get(g, e)));
  }
  arb_clear(room);
  return status;
}
