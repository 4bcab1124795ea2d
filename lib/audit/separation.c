#include "audit/separation.h"

#include "network/derive/reverse.h"
#include "network/derive/tangent.h"

#include <stdlib.h>

#define PRECISION 128

clarke_status
clarke_adjoints_find(clarke_question *q, clarke_error *err)
{
  const clarke_graph *g = q->g;
  const clarke_replay *r = q->replay;
  clarke_matrix *grad = clarke_matrices_new(g->n_values);
  bool *keep = calloc(g->n_values + 1, sizeof *keep);
  clarke_slopes slopes; /* between those of all sides */
  clarke_status status = grad != NULL && keep != NULL ? CLARKE_OK : clarke_no_memory(err);

  clarke_slopes_init(&slopes);
  for (size_t k = 0; k < r->n_touches && status == CLARKE_OK; k++)
    keep[g->steps[r->touch[k].step].out] = true;
  if (status == CLARKE_OK)
    status = clarke_question_slopes(&slopes, q, NULL, err);
  if (status == CLARKE_OK)
    status = clarke_slopes_loosen(&slopes, &r->near, r->touch, r->n_touches, err);
  if (status == CLARKE_OK)
    status = clarke_loss_seed(&grad[g->output], &q->loss, &r->near, r->near_sample, err);
  if (status == CLARKE_OK)
    status = clarke_reverse_enclose(grad, keep, &r->near, &slopes, PRECISION, err);
  for (size_t k = 0; k < r->n_touches && status == CLARKE_OK; k++) {
    const clarke_matrix *out = &grad[g->steps[r->touch[k].step].out];

    if (out->rows > 0)
      clarke_matrix_get_ball(q->touch[k].adjoint, out, r->touch[k].feature, r->touch[k].column, PRECISION);
  }
  clarke_slopes_clear(&slopes);
  clarke_matrices_free(grad, g->n_values);
  free(keep);
  return status;
}

/* --- along v -------------------------------------------------------------------------------- */

/* v as one matrix a parameter. */
static clarke_status
as_matrices(clarke_matrix *d, const clarke_row *v, const clarke_graph *g, clarke_error *err)
{
  clarke_direction direction;
  clarke_status status = CLARKE_OK;
  size_t p = 0;

  clarke_direction_init(&direction);
  for (size_t e = 0; e < v->n && status == CLARKE_OK; e++) {
    size_t entry = clarke_column_entry(&p, v->column[e], g);

    status = clarke_direction_move(&direction, CLARKE_MOVE_AT, p, entry, v->value[e], err);
  }
  if (status == CLARKE_OK)
    status = clarke_direction_matrices(d, &direction, g, err);
  clarke_direction_clear(&direction);
  return status;
}

/* x times the slope of a kink's side. */
static void
times_slope(arb_t x, const clarke_graph *g, const clarke_touch *t, bool right)
{
  fmpq_t slope;
  mpq_t q;

  fmpq_init(slope);
  mpq_init(q);
  clarke_touch_side(q, g, t, right);
  fmpq_set_mpq(slope, q);
  arb_mul_fmpz(x, x, fmpq_numref(slope), PRECISION);
  arb_div_fmpz(x, x, fmpq_denref(slope), PRECISION);
  fmpq_clear(slope);
  mpq_clear(q);
}

/* The derivative along v of the touch's output by its option o, of t its operand's. */
static void
along_option(arb_t x, const clarke_graph *g, const clarke_touch *t, size_t o,
             const clarke_matrix *tangent)
{
  const clarke_matrix *in = &tangent[g->steps[t->step].in[0].value];

  arb_zero(x);
  if (in->rows == 0)
    return;
  clarke_matrix_get_ball(x, in, t->n_options > 0 ? t->option[o] : t->feature, t->column, PRECISION);
  if (t->n_options == 0)
    times_slope(x, g, t, o == 1);
}

/* tangent: along v with AD's slopes. */
static void
find_gains(clarke_separation *m, const clarke_matrix *tangent)
{
  const clarke_question *q = m->q;
  arb_t ad;

  arb_init(ad);
  for (size_t k = 0; k < q->replay->n_touches; k++) {
    const clarke_touch *t = &q->replay->touch[k];
    const clarke_matrix *out = &tangent[q->g->steps[t->step].out];

    arb_zero(ad);
    if (out->rows > 0)
      clarke_matrix_get_ball(ad, out, t->feature, t->column, PRECISION);
    for (size_t o = 0; o < clarke_touch_sides(t); o++) {
      arb_ptr gain = clarke_separation_gain(m, k, o);

      along_option(gain, q->g, t, o, tangent);
      arb_sub(gain, gain, ad, PRECISION);
      arb_mul(gain, gain, q->touch[k].adjoint, PRECISION);
    }
  }
  arb_clear(ad);
}

clarke_status
clarke_separation_init(clarke_separation *m, const clarke_question *q, const clarke_row *v,
                   clarke_error *err)
{
  const clarke_replay *r = q->replay;
  clarke_matrix *d = clarke_matrices_new(q->g->n_parameters);
  clarke_matrix *tangent = clarke_matrices_new(q->g->n_values);
  bool *keep = calloc(q->g->n_values + 1, sizeof *keep);
  clarke_slopes ad;
  clarke_status status = d != NULL && tangent != NULL && keep != NULL
                           ? as_matrices(d, v, q->g, err)
                           : clarke_no_memory(err);

  m->q = q;
  m->gain = _arb_vec_init((slong)q->n_gains);
  clarke_slopes_init(&ad);
  if (status == CLARKE_OK)
    status = clarke_question_slopes(&ad, q, NULL, err);
  for (size_t k = 0; k < r->n_touches && status == CLARKE_OK; k++) {
    const clarke_step *step = &q->g->steps[r->touch[k].step];

    keep[step->in[0].value] = keep[step->out] = true;
  }
  if (status == CLARKE_OK)
    status = clarke_tangent_enclose(tangent, keep, &r->near, &ad, d, PRECISION, err);
  if (status == CLARKE_OK)
    find_gains(m, tangent);
  clarke_slopes_clear(&ad);
  clarke_matrices_free(d, q->g->n_parameters);
  clarke_matrices_free(tangent, q->g->n_values);
  free(keep);
  return status;
}

void
clarke_separation_clear(clarke_separation *m)
{
  _arb_vec_clear(m->gain, (slong)m->q->n_gains);
}

void
clarke_separation_open(arb_t most, const clarke_separation *m, size_t k)
{
  arb_set(most, clarke_separation_gain(m, k, 0));
  for (size_t o = 1; o < clarke_touch_sides(&m->q->replay->touch[k]); o++)
    arb_max(most, most, clarke_separation_gain(m, k, o), PRECISION);
}

bool
clarke_separation_holds(const clarke_separation *m, const clarke_branch *side)
{
  const clarke_replay *r = m->q->replay;
  arb_t sum, most;
  bool holds;

  arb_init(sum);
  arb_init(most);
  for (size_t k = 0; k < r->n_touches; k++)
    if (side[k] == CLARKE_PROXY) {
      clarke_separation_open(most, m, k);
      arb_add(sum, sum, most, PRECISION);
    } else
      arb_add(sum, sum, clarke_separation_gain(m, k, clarke_side_number(&r->touch[k], side[k])), PRECISION);
  holds = arb_is_negative(sum);
  arb_clear(sum);
  arb_clear(most);
  return holds;
}
