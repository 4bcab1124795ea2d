/* The values of a minibatch by the pass in slices, where pairs of doubles are not near enough (docs/gradient.md): what is read on
 * the way back is taken out of it as pairs. */
#include "network/derive/gradient/gradient.h"
#include "network/derive/gradient/rows.h"

#include "network/pass/slices/pass.h"
#include "network/pass/slices/slices.h"

#include <stdlib.h>

/* The pass at work, and how it goes. */
typedef struct {
  clarke_gradient_pass *p;
  clarke_status status;
} taking;

/* Is it a NORMALIZE step that reads the value? */
static bool
normalizes(const clarke_gradient_pass *p, const clarke_step *s, size_t value)
{
  return s->kind == CLARKE_NORMALIZE && p->needed[s->out] && s->in[0].value == value;
}

/* The gradient of what a NORMALIZE step reads is in fixed point, or that of the output: so the value is. */
static bool
is_taken_fixed(const clarke_gradient_pass *p, size_t value)
{
  bool read = value == p->g->output;

  for (size_t i = 0; i < p->g->n_steps; i++)
    read = read || normalizes(p, &p->g->steps[i], value);
  return read && clarke_is_fixed(p, value);
}

/* Bits of room that fixed point has above a value's digits, for sums over groups. */
#define ROOM 36

/* Digits to fixed point: without error, where its limbs reach down to the lowest. */
static clarke_status
take_fixed(clarke_gradient_pass *p, const clarke_slicing *f, size_t value)
{
  const clarke_sliced *from = &f->value[value];
  const size_t count = p->g->values[value].count * p->n;
  const long top = from->low + f->plan->width * (long)from->planes + ROOM, limbs = (long)p->plan->limbs;
  const size_t together = (size_t)(2 * CLARKE_FIXED_LIMB - 2) / (size_t)f->plan->width;
  const long unit = top - limbs * CLARKE_FIXED_LIMB > from->low ? top - limbs * CLARKE_FIXED_LIMB : from->low;
  clarke_normed *v = &p->value[value];
  clarke_status status = clarke_normed_fix(v, p->g->values[value].count, p->n, p->plan->limbs, (int)unit, p->err);

  for (size_t k = 0; k < from->planes && status == CLARKE_OK; k += together)
    for (size_t e = 0; e < count && !p->lost; e++) {
      clarke_wide sum = 0; /* a digit is below 2^width: so many have room */

      for (size_t i = k + together < from->planes ? k + together : from->planes; i-- > k;)
        sum = sum * ((clarke_wide)1 << f->plan->width) + (int64_t)from->digit[i * count + e];
      p->lost = !clarke_fixed_add_wide(clarke_fixed_at(&v->fixed, e), v->fixed.limbs, sum,
                                       from->low + f->plan->width * (long)k - unit);
    }
  if (status == CLARKE_OK)
    clarke_normed_measure(v, p->g->values[value].count, p->n, p->lanes);
  for (size_t j = 0; j < p->lanes && status == CLARKE_OK; j++)
    v->error[j] = clarke_bound_up(from->norm[j] + ldexp((double)from->planes * sqrt((double)(count / p->lanes)), (int)unit));
  return status;
}

/* Digits to pairs: each plane is added without error but for the pairs'. */
static clarke_status
take(clarke_gradient_pass *p, const clarke_slicing *f, size_t value)
{
  const clarke_sliced *from = &f->value[value];
  const size_t rows = p->g->values[value].count;
  clarke_normed *v = &p->value[value];
  clarke_status status = clarke_normed_make(v, rows, p->n, true, p->err);

  if (status == CLARKE_OK && is_taken_fixed(p, value))
    return take_fixed(p, f, value);
  for (size_t k = from->planes; k-- > 0 && status == CLARKE_OK;)
    clarke_rows_add_digits(v->at, v->low, ldexp(1, (int)(from->low + f->plan->width * (long)k)), from->digit + k * rows * p->n,
                           rows * p->n);
  if (status == CLARKE_OK)
    clarke_normed_measure(v, rows, p->n, p->lanes);
  for (size_t j = 0; j < p->lanes && status == CLARKE_OK; j++)
    v->error[j] = clarke_bound_up(from->norm[j] + 2 * clarke_bound_gamma((double)from->planes, CLARKE_PAIR_UNIT) * v->size[j]);
  return status;
}

/* A normalization whose operand is there: what it makes is kept for the way back. */
static clarke_status
normalize(clarke_gradient_pass *p, const clarke_step *s)
{
  const size_t rows = p->g->values[s->out].count;
  clarke_normed *x = &p->value[s->in[0].value];
  clarke_status status;

  if (x->fixed.limb != NULL) {
    status = clarke_normalized_forward_fixed(p, s);
    free(x->fixed.limb); /* which is no longer x */
    x->fixed.limb = NULL;
  } else {
    status = clarke_normed_make(&p->value[s->out], rows, p->n, true, p->err);
    if (status == CLARKE_OK)
      status = clarke_normalized_forward(p, s);
  }
  if (status == CLARKE_OK)
    clarke_normed_measure(&p->value[s->out], rows, p->n, p->lanes);
  return status;
}

static void
see(void *context, const clarke_slicing *f, size_t value)
{
  taking *to = context;
  clarke_gradient_pass *p = to->p;
  bool kept = (p->kept[value] || value == p->g->output) && p->value[value].at == NULL, read = false;

  for (size_t i = 0; i < p->g->n_steps; i++)
    read = read || normalizes(p, &p->g->steps[i], value);
  if (to->status == CLARKE_OK && (kept || read))
    to->status = take(p, f, value);
  for (size_t i = 0; i < p->g->n_steps && read && to->status == CLARKE_OK && !p->lost; i++)
    if (normalizes(p, &p->g->steps[i], value)) {
      if (is_taken_fixed(p, value) && p->value[value].fixed.limb == NULL) { /* a second reads it */
        clarke_normed_drop(&p->value[value]);
        to->status = take(p, f, value);
      }
      if (to->status == CLARKE_OK && !p->lost)
        to->status = normalize(p, &p->g->steps[i]);
    }
  if (read && !kept)
    clarke_normed_drop(&p->value[value]);
  else if (kept)
    clarke_value_settle(p, value);
}

/* What the pass did not follow is not there. */
static bool
is_all_there(const clarke_gradient_pass *p)
{
  for (size_t v = 0; v < p->g->n_values; v++)
    if ((v == p->g->output || (p->kept[v] && p->needed[v] && !p->g->values[v].constant)) && p->value[v].at == NULL)
      return false;
  return true;
}

clarke_status
clarke_gradient_pass_forward_in_digits(clarke_gradient_pass *p)
{
  clarke_slice_plan plan = {0};
  taking to = {p, CLARKE_OK};
  clarke_status status = clarke_slice_plan_for(&plan, p->growths, p->g, p->r->x, p->needed, p->plan->borne, p->err);

  plan.seen = see;
  plan.context = &to;
  if (status == CLARKE_OK)
    status = clarke_gradient_pass_load_input(p);
  if (status == CLARKE_OK)
    status = clarke_slices_run(p->r->piece, p->r->ties, NULL, &plan, p->r->x, p->err);
  if (plan.g != NULL)
    clarke_slice_plan_clear(&plan);
  if (status == CLARKE_OK)
    status = to.status;
  p->lost = p->lost || !is_all_there(p);
  return status;
}
