/* The values of a minibatch as pairs of doubles, each step at the places that the replay found (docs/gradient.md). */
#include "network/derive/gradient/analytic.h"
#include "network/derive/gradient/product.h"
#include "network/derive/gradient/rows.h"
#include "network/derive/gradient/softmax.h"

#include "base/stop.h"
#include "network/pass/linear.h"
#include "network/pass/piecewise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* y's errors grow by those of x. */
static void
take_errors(const clarke_gradient_pass *p, clarke_normed *y, const clarke_normed *x, double grow, double round)
{
  for (size_t j = 0; j < p->lanes; j++)
    y->error[j] = clarke_bound_up(y->error[j] + grow * x->error[j] + round * x->size[j]);
}

/* Adds a number n times. */
static void
add_constant(clarke_normed *y, size_t to, clarke_pair c, size_t n)
{
  for (size_t j = 0; j < n; j++)
    clarke_normed_add(y, to + j, c);
}

/* The norm, for one sample, of what the constants of a sum add, signs apart. */
static double
size_of_constants(const clarke_graph *g, const clarke_step *s)
{
  double square = 0;

  for (size_t f = 0; f < g->values[s->out].count; f++) {
    double sum = 0;

    for (size_t k = 0; k < s->n_in; k++) {
      const size_t e = clarke_operand_entry(&s->in[k], f);

      if (g->values[s->in[k].value].constant && e != CLARKE_NONE)
        sum += fabs(s->in[k].coef * g->values[s->in[k].value].real[e]);
    }
    square += sum * sum;
  }
  return clarke_bound_up(sqrt(square));
}

static clarke_status
sum_forward(clarke_gradient_pass *p, const clarke_step *s)
{
  const clarke_growth *growth = p->growths->growth[s - p->g->steps];
  clarke_normed *y = &p->value[s->out];
  const double gamma = clarke_bound_gamma(2 * (double)s->n_in, clarke_unit_of(y));
  const double constants = size_of_constants(p->g, s) * clarke_lane_root(p);

  for (size_t k = 0; k < s->n_in; k++) {
    const clarke_value *v = &p->g->values[s->in[k].value];

    for (size_t f = 0; f < p->g->values[s->out].count; f++) {
      const size_t e = clarke_operand_entry(&s->in[k], f);

      if (e != CLARKE_NONE && v->constant)
        add_constant(y, f * p->n, clarke_two_product(s->in[k].coef, v->real[e]), p->n);
      else if (e != CLARKE_NONE)
        clarke_normed_add_row(y, f * p->n, (clarke_pair){s->in[k].coef, 0}, &p->value[s->in[k].value], e * p->n, p->n);
    }
    if (!v->constant)
      take_errors(p, y, &p->value[s->in[k].value], growth[k].norm, gamma * growth[k].norm);
  }
  for (size_t j = 0; j < p->lanes; j++)
    y->error[j] = clarke_bound_up(y->error[j] + gamma * constants);
  return CLARKE_OK;
}

static clarke_status
scale_forward(clarke_gradient_pass *p, const clarke_step *s)
{
  const double grow = p->growths->growth[s - p->g->steps][0].norm;
  const clarke_normed *x = &p->value[s->in[0].value];
  clarke_normed *y = &p->value[s->out];
  clarke_pair *factor = clarke_scale_factors(p->g, s);

  if (factor == NULL)
    return clarke_no_memory(p->err);
  for (size_t f = 0; f < p->g->values[s->out].count; f++)
    clarke_normed_add_row(y, f * p->n, factor[f], x, clarke_operand_entry(&s->in[0], f) * p->n, p->n);
  free(factor);
  take_errors(p, y, x, grow, 8 * clarke_unit_of(y) * grow);
  return CLARKE_OK;
}

clarke_lines
clarke_lines_of(const clarke_graph *g, const clarke_step *s)
{
  clarke_lines l = {.steepest = clarke_piecewise_lipschitz(g, s)};

  for (size_t i = 0; i <= s->pieces.n_kinks; i++) {
    l.constant[i] = clarke_pair_of(s->pieces.coef[i][0]);
    l.slope[i] = clarke_pair_of(s->pieces.coef[i][1]);
    l.largest = fmax(l.largest, clarke_bound_up(fabs(l.constant[i].high)));
  }
  return l;
}

clarke_pair
clarke_line_slope(const clarke_lines *l, const clarke_graph *g, const clarke_step *s, size_t p, size_t f)
{
  const clarke_pieces *pieces = &s->pieces;

  if (p > 0 || pieces->slope == CLARKE_NONE)
    return l->slope[p];
  return (clarke_pair){g->values[pieces->slope].real[pieces->slope_map != NULL ? pieces->slope_map[f] : f], 0};
}

/* c + slope x; of lines through 0 with slope 0 or 1 without a rounding. */
static clarke_pair
on_line(clarke_pair c, clarke_pair slope, clarke_pair x)
{
  if (c.high == 0 && slope.high == 0)
    return c;
  if (c.high == 0 && slope.high == 1 && slope.low == 0)
    return x;
  return clarke_pair_add(c, clarke_pair_multiply(slope, x));
}

size_t
clarke_line_taken(const clarke_lines *l, const clarke_step *s, bool slopes_alone)
{
  size_t one = CLARKE_NONE;

  if (s->pieces.slope != CLARKE_NONE)
    return CLARKE_NONE;
  for (size_t i = 0; i <= s->pieces.n_kinks; i++) {
    const bool is_one = l->slope[i].high == 1 && l->slope[i].low == 0, is_zero = l->slope[i].high == 0;

    if ((!is_one && !is_zero) || (is_one && one != CLARKE_NONE) || (!slopes_alone && l->constant[i].high != 0))
      return CLARKE_NONE;
    one = is_one ? i : one;
  }
  return one;
}

/* Where of lines one is x, and others are 0: at a kink the left one is taken. */
static void
take_line(const clarke_gradient_pass *p, const clarke_step *s, size_t one)
{
  const clarke_branch *piece = p->r->piece[s - p->g->steps], here = (clarke_branch)one, at = CLARKE_AT(one);
  const clarke_normed *x = &p->value[s->in[0].value];
  clarke_normed *y = &p->value[s->out];

  for (size_t f = 0; f < p->g->values[s->out].count; f++) {
    clarke_rows_take(y->at + f * p->n, x->at + f * p->n, piece + f * p->r->samples, here, at, p->n);
    if (y->low != NULL && x->low != NULL)
      clarke_rows_take(y->low + f * p->n, x->low + f * p->n, piece + f * p->r->samples, here, at, p->n);
    else if (y->low != NULL)
      memset(y->low + f * p->n, 0, p->n * sizeof *y->low);
  }
}

/* The same of any lines. */
static void
follow_lines(const clarke_gradient_pass *p, const clarke_step *s, const clarke_lines *l)
{
  const clarke_branch *piece = p->r->piece[s - p->g->steps];
  const clarke_normed *x = &p->value[s->in[0].value];
  clarke_normed *y = &p->value[s->out];
  const bool plain = x->low == NULL && y->low == NULL;

  for (size_t f = 0; f < p->g->values[s->out].count; f++) {
    clarke_pair slope[CLARKE_MAX_KINKS + 1];

    for (size_t i = 0; i <= s->pieces.n_kinks; i++)
      slope[i] = clarke_line_slope(l, p->g, s, i, f);
    for (size_t j = 0, e = f * p->n; j < p->n; j++, e++) {
      const clarke_branch code = piece[f * p->r->samples + j];
      const size_t at = code >= 0 ? (size_t)code : CLARKE_KINK_OF(code);

      if (plain)
        y->at[e] = l->constant[at].high + slope[at].high * x->at[e];
      else
        clarke_normed_put(y, e, on_line(l->constant[at], slope[at], clarke_normed_get(x, e)));
    }
  }
}

static clarke_status
piecewise_forward(clarke_gradient_pass *p, const clarke_step *s)
{
  const clarke_lines l = clarke_lines_of(p->g, s);
  const size_t rows = p->g->values[s->out].count, one = clarke_line_taken(&l, s, false);
  const clarke_normed *x = &p->value[s->in[0].value];
  clarke_normed *y = &p->value[s->out];

  if (one != CLARKE_NONE)
    take_line(p, s, one);
  else
    follow_lines(p, s, &l);
  take_errors(p, y, x, l.steepest, 8 * clarke_unit_of(y) * l.steepest);
  for (size_t j = 0; j < p->lanes; j++)
    y->error[j] = clarke_bound_up(y->error[j] + 8 * clarke_unit_of(y) * sqrt((double)rows) * clarke_lane_root(p) * l.largest);
  return CLARKE_OK;
}

size_t *
clarke_winners(const clarke_gradient_pass *p, size_t step)
{
  const clarke_replay *r = p->r;
  const clarke_step *s = &r->g->steps[step];
  const size_t rows = r->g->values[s->out].count;
  size_t *from = malloc((rows * p->n + 1) * sizeof *from);

  for (size_t f = 0; from != NULL && f < rows; f++)
    for (size_t j = 0; j < p->n; j++) {
      const clarke_branch place = r->piece[step][f * r->samples + j];

      from[f * p->n + j] = place >= 0 ? s->in[0].map[f * s->width + (size_t)place] : CLARKE_NONE;
    }
  for (size_t k = 0; from != NULL && k < r->n_touches; k++)
    if (r->touch[k].step == step && r->touch[k].sample < p->n)
      from[r->touch[k].feature * p->n + r->touch[k].sample] = r->touch[k].option[0];
  return from;
}

static clarke_status
max_forward(clarke_gradient_pass *p, const clarke_step *s)
{
  const double grow = p->growths->growth[s - p->g->steps][0].norm;
  size_t *from = clarke_winners(p, (size_t)(s - p->g->steps));
  const clarke_normed *x = &p->value[s->in[0].value];
  clarke_normed *y = &p->value[s->out];

  if (from == NULL)
    return clarke_no_memory(p->err);
  for (size_t f = 0; f < p->g->values[s->out].count; f++)
    for (size_t j = 0, e = f * p->n; j < p->n; j++, e++)
      clarke_normed_put(y, e, clarke_normed_get(x, from[e] * p->n + j));
  free(from);
  /* doubles drop the low parts of pairs */
  take_errors(p, y, x, grow, y->low == NULL && x->low != NULL ? CLARKE_DOUBLE_UNIT * grow : 0);
  return CLARKE_OK;
}

static clarke_status (*const of_kind[CLARKE_STEP_KINDS])(clarke_gradient_pass *p, const clarke_step *s) = {
  [CLARKE_GATHER] = sum_forward, [CLARKE_SUM] = sum_forward, [CLARKE_SCALE] = scale_forward,
  [CLARKE_DENSE] = clarke_dense_forward, [CLARKE_PIECEWISE] = piecewise_forward, [CLARKE_MAX] = max_forward,
  [CLARKE_NORMALIZE] = clarke_normalized_forward, [CLARKE_ANALYTIC] = clarke_analytic_forward,
  [CLARKE_PRODUCT] = clarke_product_forward, [CLARKE_SOFTMAX] = clarke_softmax_forward,
};

static clarke_status
step_forward(clarke_gradient_pass *p, const clarke_step *s)
{
  const bool adds = s->kind == CLARKE_GATHER || s->kind == CLARKE_SUM || s->kind == CLARKE_SCALE || s->kind == CLARKE_PRODUCT;
  clarke_status status = (adds ? clarke_normed_make : clarke_normed_room)(&p->value[s->out], p->g->values[s->out].count, p->n,
                                                                        p->plan->fine[s->out], p->err);

  if (status != CLARKE_OK)
    return status;
  return of_kind[s->kind](p, s);
}

clarke_status
clarke_gradient_pass_load_input(clarke_gradient_pass *p)
{
  const clarke_tensor *x = p->r->x;
  const size_t rows = p->g->values[p->g->input].count;
  clarke_normed *v = &p->value[p->g->input];
  clarke_status status = clarke_normed_make(v, rows, p->n, false, p->err);

  for (size_t i = 0; i < rows && status == CLARKE_OK; i++)
    for (size_t j = 0; j < p->n; j++)
      v->at[i * p->n + j] = x->real != NULL ? x->real[j * rows + i] : (double)x->integer[j * rows + i];
  if (status == CLARKE_OK)
    clarke_normed_measure(v, rows, p->n, p->lanes);
  if (p->seen != NULL && status == CLARKE_OK) {
    p->seen->value[p->g->input] = clarke_normed_size(p, v);
    p->seen->value_most[p->g->input] = v->largest;
    p->seen->value_entries[p->g->input] = clarke_normed_entries(v, rows, p->n, p->lanes);
  }
  return status;
}

clarke_status
clarke_gradient_pass_forward(clarke_gradient_pass *p)
{
  clarke_status status = clarke_gradient_pass_load_input(p);

  for (size_t i = 0; i < p->g->n_steps && status == CLARKE_OK; i++) {
    const clarke_step *s = &p->g->steps[i];

    clarke_work_done();
    if (!p->needed[s->out] || p->deferred[s->out] != NULL || p->lost)
      continue;
    status = clarke_work_check(p->err);
    if (status == CLARKE_OK)
      status = step_forward(p, s);
    if (status == CLARKE_OK && !p->lost)
      clarke_normed_measure(&p->value[s->out], p->g->values[s->out].count, p->n, p->lanes);
    if (p->seen != NULL && status == CLARKE_OK) {
      p->seen->value[s->out] = clarke_normed_size(p, &p->value[s->out]);
      p->seen->value_most[s->out] = p->value[s->out].largest;
      p->seen->value_entries[s->out] = clarke_normed_entries(&p->value[s->out], p->g->values[s->out].count, p->n, p->lanes);
    }
    for (size_t v = 0; v < p->g->n_values; v++)
      if (p->last[v] == i)
        clarke_value_settle(p, v);
  }
  return status;
}
