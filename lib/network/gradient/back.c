/* Reverse mode in pairs of doubles: from the output's gradient to all parameters (docs/gradient.md). */
#include "network/gradient/analytic.h"
#include "network/gradient/back_fixed.h"
#include "network/gradient/product.h"
#include "network/gradient/rows.h"
#include "network/gradient/softmax.h"

#include "base/stop.h"
#include "network/slopes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

clarke_status
clarke_note_begin(clarke_descent *p, size_t value)
{
  clarke_normed *g = &p->grad[value];
  const size_t rows = p->g->values[value].count;
  clarke_status status = CLARKE_OK;

  if (g->at != NULL)
    return CLARKE_OK;
  status = clarke_normed_make(g, rows, p->n, clarke_is_fixed(p, value) || p->plan->fine_back[value], p->err);
  if (status == CLARKE_OK && clarke_is_fixed(p, value))
    status = clarke_normed_fix(g, rows, p->n, p->plan->limbs, p->plan->unit, p->err);
  return status;
}

void
clarke_note_term(clarke_descent *p, size_t value, const clarke_normed *from, double grow, double mass, double round,
                 double lost, size_t repeats)
{
  clarke_normed *to = &p->grad[value];
  const double gamma = clarke_bound_gamma((double)repeats + 1, clarke_unit_of(to));

  for (size_t j = 0; j < p->lanes; j++) {
    const double term = clarke_bound_up(mass * from->size[j] + lost);

    to->error[j] = clarke_bound_up(to->error[j] + grow * from->error[j] + round * from->size[j] + lost +
                                   gamma * (to->size[j] + term));
    to->size[j] = clarke_bound_up(to->size[j] + term);
  }
}

/* Room for a parameter's sum. */
static clarke_status
begin_parameter(clarke_descent *p, size_t parameter)
{
  const size_t count = p->g->parameters[parameter].count;

  if (p->gradient->entry[parameter] == NULL)
    p->gradient->entry[parameter] = calloc(count + 1, sizeof **p->gradient->entry);
  if (p->low[parameter] == NULL)
    p->low[parameter] = calloc(count + 1, sizeof **p->low);
  return p->gradient->entry[parameter] != NULL && p->low[parameter] != NULL ? CLARKE_OK : clarke_no_memory(p->err);
}

/* A parameter's only share, so far, entry for entry: it is taken, and freed with the gradient. */
static bool
adopt(clarke_descent *p, const clarke_value *v, double *entries, double within)
{
  if (v->origin != NULL || p->gradient->entry[v->parameter] != NULL)
    return false;
  p->gradient->entry[v->parameter] = entries;
  p->gradient->within[v->parameter] = within;
  return true;
}

clarke_status
clarke_note_doubles(clarke_descent *p, size_t value, double *entries, double within)
{
  const clarke_value *v = &p->g->values[value];
  clarke_pair *pairs;
  clarke_status status;

  if (adopt(p, v, entries, within))
    return CLARKE_OK;
  pairs = malloc((v->count + 1) * sizeof *pairs);
  for (size_t e = 0; e < v->count && pairs != NULL; e++)
    pairs[e] = (clarke_pair){entries[e], 0};
  status = pairs != NULL ? clarke_note_constant(p, value, pairs, within) : clarke_no_memory(p->err);
  free(pairs);
  free(entries);
  return status;
}

clarke_status
clarke_note_constant(clarke_descent *p, size_t value, const clarke_pair *entries, double within)
{
  const clarke_value *v = &p->g->values[value];
  const size_t count = p->g->parameters[v->parameter].count;
  size_t *met = calloc(count + 1, sizeof *met), repeats = 0;
  double *high, *low, most = 0;
  clarke_status status = met != NULL ? begin_parameter(p, v->parameter) : clarke_no_memory(p->err);

  high = p->gradient->entry[v->parameter];
  low = p->low[v->parameter];
  for (size_t e = 0; e < v->count && status == CLARKE_OK; e++) {
    const size_t at = v->origin != NULL ? v->origin[e] : e;
    const clarke_pair sum = clarke_pair_add((clarke_pair){high[at], low[at]}, entries[e]);

    high[at] = sum.high;
    low[at] = sum.low;
    most = fmax(most, fmax(fabs(entries[e].high), fabs(sum.high)));
    repeats = ++met[at] > repeats ? met[at] : repeats;
  }
  free(met);
  /* each of `repeats` additions is off by a part of a number of at most `most` */
  p->gradient->within[v->parameter] = clarke_bound_up(p->gradient->within[v->parameter] +
                                                      (double)repeats * (within + CLARKE_PAIR_UNIT * most));
  return status;
}

/* --- sums ------------------------------------------------------------------------------------ */

static bool
is_first_of_value(const clarke_step *s, size_t k)
{
  for (size_t l = 0; l < k; l++)
    if (s->in[l].value == s->in[k].value)
      return false;
  return true;
}

/* Is the value read by nothing but normalizations? */
static bool
is_normalized(const clarke_graph *g, size_t value)
{
  bool read = false;

  for (size_t i = 0; i < g->n_steps; i++)
    for (size_t k = 0; k < g->steps[i].n_in; k++)
      if (g->steps[i].in[k].value == value) {
        read = true;
        if (g->steps[i].kind != CLARKE_NORMALIZE)
          return false;
      }
  return read && value != g->output;
}

/* Does each group of the NORMALIZE step take one entry of the operand alone, or nothing of it? */
static bool
moves_groups(const clarke_step *normalize, const clarke_operand *o, size_t *entry, size_t rows)
{
  for (size_t f = 0; f < rows; f++)
    entry[clarke_step_group(normalize, f)] = clarke_operand_entry(o, f);
  for (size_t f = 0; f < rows; f++)
    if (entry[clarke_step_group(normalize, f)] != clarke_operand_entry(o, f))
      return false;
  return true;
}

clarke_status
clarke_operand_cancels(bool *cancels, const clarke_graph *g, const clarke_step *s, size_t k, clarke_error *err)
{
  const size_t rows = g->values[s->out].count;
  size_t *entry;

  *cancels = s->kind == CLARKE_SUM && g->values[s->in[k].value].constant && is_normalized(g, s->out);
  if (!*cancels)
    return CLARKE_OK;
  entry = malloc((rows + 1) * sizeof *entry); /* no more groups than entries */
  if (entry == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < g->n_steps && *cancels; i++)
    if (g->steps[i].kind == CLARKE_NORMALIZE && g->steps[i].in[0].value == s->out)
      *cancels = moves_groups(&g->steps[i], &s->in[k], entry, rows);
  free(entry);
  return CLARKE_OK;
}

/* Pairs that are near numbers in fixed point are off by fewer units than so many. */
#define FROM_FIXED 16

/* A constant's: the sum over samples, and over what meets the entry. */
static clarke_status
sum_constant(clarke_descent *p, const clarke_step *s, size_t k, const clarke_normed *g)
{
  const clarke_operand *o = &s->in[k];
  const size_t count = p->g->values[o->value].count, rows = p->g->values[s->out].count;
  clarke_pair *sum = calloc(count + 1, sizeof *sum);
  double off = 0, gamma;
  size_t most = 0;
  bool cancels = false;
  clarke_status status = sum != NULL ? clarke_most_taken(&most, p->g, s, o->value, p->err) : clarke_no_memory(p->err);

  if (status == CLARKE_OK)
    status = clarke_operand_cancels(&cancels, p->g, s, k, p->err);
  for (size_t f = 0; f < rows && status == CLARKE_OK && !cancels; f++) {
    const size_t e = clarke_operand_entry(o, f);
    clarke_pair row = {0, 0};

    for (size_t j = 0; j < p->n && e != CLARKE_NONE; j++)
      row = clarke_pair_add(row, clarke_normed_get(g, f * p->n + j));
    if (e != CLARKE_NONE)
      sum[e] = clarke_pair_add(sum[e], clarke_pair_multiply((clarke_pair){o->coef, 0}, row));
  }
  gamma = clarke_bound_gamma((double)p->n + (double)most + 2 + FROM_FIXED, CLARKE_PAIR_UNIT);
  for (size_t j = 0; j < p->lanes; j++) /* by Cauchy and Schwarz, over all that meets an entry */
    off += clarke_bound_up(fabs(o->coef) * sqrt((double)most) * clarke_lane_root(p) * (g->error[j] + gamma * g->size[j]));
  if (status == CLARKE_OK && !cancels) /* else its share is 0 */
    status = clarke_note_constant(p, o->value, sum, clarke_bound_up(off));
  free(sum);
  return status;
}

/* An operand's rows of gradients, times its coefficient, back to where it took them. */
static void
sum_operand(clarke_descent *p, const clarke_step *s, size_t k, const clarke_normed *g)
{
  const clarke_operand *o = &s->in[k];
  clarke_normed *x = &p->grad[o->value];

  for (size_t f = 0; f < p->g->values[s->out].count; f++) {
    const size_t e = clarke_operand_entry(o, f);

    if (e != CLARKE_NONE)
      clarke_normed_add_row(x, e * p->n, (clarke_pair){o->coef, 0}, g, f * p->n, p->n);
  }
}

/* The bounds of what a value gets from all operands that are it. */
static void
note_sum(clarke_descent *p, const clarke_step *s, size_t k, const clarke_normed *g, size_t repeats)
{
  const double grow = p->growths->growth[s - p->g->steps][k].norm;

  if (g->fixed.limb == NULL)
    clarke_note_term(p, s->in[k].value, g, grow, grow, CLARKE_PAIR_UNIT * grow, 0, repeats);
  else /* an entry loses a unit of each multiple that it is given */
    clarke_note_term(p, s->in[k].value, g, grow, grow, 4 * clarke_fixed_part(p->plan->limbs) * grow,
                     (double)repeats * clarke_fixed_units(p, s->in[k].value), repeats);
}

static clarke_status
sum_back(clarke_descent *p, const clarke_step *s, const clarke_normed *g)
{
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < s->n_in && status == CLARKE_OK; k++) {
    const size_t value = s->in[k].value;
    size_t repeats = 0;

    if (clarke_value_is_wrt(p->g, value))
      status = sum_constant(p, s, k, g);
    if (!p->carries[value])
      continue;
    if (status == CLARKE_OK && is_first_of_value(s, k)) { /* the growth is that of all its operands together */
      status = clarke_note_begin(p, value);
      if (status == CLARKE_OK)
        status = clarke_most_taken(&repeats, p->g, s, value, p->err);
      if (status == CLARKE_OK)
        note_sum(p, s, k, g, repeats);
    }
    if (status == CLARKE_OK && g->fixed.limb != NULL)
      clarke_sum_operand_fixed(p, s, k);
    else if (status == CLARKE_OK)
      sum_operand(p, s, k, g);
  }
  return status;
}

/* --- others ---------------------------------------------------------------------------------- */

/* y = x c: the sum over samples and features of g x. */
static clarke_status
scale_constant(clarke_descent *p, const clarke_step *s, const clarke_normed *g)
{
  const clarke_operand *c = &s->in[1];
  const clarke_normed *x = &p->value[s->in[0].value];
  const size_t rows = p->g->values[s->out].count;
  clarke_pair *sum = calloc(p->g->values[c->value].count + 1, sizeof *sum);
  double off = 0, copies, gamma;
  size_t most = 0;
  clarke_status status = sum != NULL ? clarke_most_taken(&most, p->g, s, s->in[0].value, p->err) : clarke_no_memory(p->err);

  copies = clarke_bound_up(sqrt((double)most));
  for (size_t f = 0; f < rows && status == CLARKE_OK; f++) {
    const size_t from = clarke_operand_entry(&s->in[0], f) * p->n, to = clarke_operand_entry(c, f);

    for (size_t j = 0; j < p->n; j++)
      sum[to] = clarke_pair_add(sum[to], clarke_pair_multiply(clarke_normed_get(g, f * p->n + j), clarke_normed_get(x, from + j)));
  }
  gamma = clarke_bound_gamma((double)p->n * (double)rows + 2 + 2 * FROM_FIXED, CLARKE_PAIR_UNIT);
  for (size_t j = 0; j < p->lanes; j++)
    off += clarke_bound_up(copies * (g->error[j] * x->size[j] + (g->size[j] + g->error[j]) * x->error[j] +
                                     gamma * g->size[j] * x->size[j]));
  for (size_t j = 0; j < p->lanes && p->seen != NULL; j++) {
    p->seen->by_grad[s - p->g->steps] += copies * x->size[j];
    p->seen->by_value[s - p->g->steps] += copies * g->size[j];
  }
  if (status == CLARKE_OK)
    status = clarke_note_constant(p, c->value, sum, clarke_bound_up(off));
  free(sum);
  return status;
}

clarke_status
clarke_note_operand(clarke_descent *p, const clarke_step *s, const clarke_normed *g, double grow, double round,
                    double lost)
{
  const size_t value = s->in[0].value;
  size_t repeats = 0;
  clarke_status status = clarke_note_begin(p, value);

  if (status == CLARKE_OK)
    status = clarke_most_taken(&repeats, p->g, s, value, p->err);
  if (status == CLARKE_OK)
    clarke_note_term(p, value, g, grow, clarke_bound_up(grow), round, clarke_bound_up(sqrt((double)repeats) * lost), repeats);
  return status;
}

static clarke_status
scale_back(clarke_descent *p, const clarke_step *s, const clarke_normed *g)
{
  const double grow = p->growths->growth[s - p->g->steps][0].norm;
  clarke_normed *x = &p->grad[s->in[0].value];
  clarke_pair *factor;
  clarke_status status = CLARKE_OK;

  if (clarke_value_is_wrt(p->g, s->in[1].value))
    status = scale_constant(p, s, g);
  if (status != CLARKE_OK || !p->carries[s->in[0].value])
    return status;
  if (g->fixed.limb != NULL)
    return clarke_scale_back_fixed(p, s);
  factor = clarke_scale_factors(p->g, s);
  status = factor != NULL ? clarke_note_operand(p, s, g, grow, 8 * CLARKE_PAIR_UNIT * grow, 0) : clarke_no_memory(p->err);
  for (size_t f = 0; f < p->g->values[s->out].count && status == CLARKE_OK; f++)
    clarke_normed_add_row(x, clarke_operand_entry(&s->in[0], f) * p->n, factor[f], g, f * p->n, p->n);
  free(factor);
  return status;
}

/* The profile's number at each touched kink of a step; *steepest grows to theirs. proxy: n_touches places. */
static clarke_status
find_proxies(clarke_pair *proxy, double *steepest, const clarke_descent *p, size_t step)
{
  clarke_status status = CLARKE_OK;
  mpq_t q;

  mpq_init(q);
  for (size_t k = 0; k < p->r->n_touches && status == CLARKE_OK; k++) {
    if (p->r->touch[k].step != step || p->r->touch[k].sample >= p->n)
      continue;
    status = clarke_touch_proxy(q, p->g, &p->r->touch[k], p->profile, p->err);
    proxy[k] = clarke_pair_of(q);
    *steepest = fmax(*steepest, clarke_bound_up(fabs(proxy[k].high)));
  }
  mpq_clear(q);
  return status;
}

/* Back through a step with one slope of 1 and others of 0, but for its kinks. */
static void
add_line_taken(const clarke_descent *p, const clarke_step *s, const clarke_normed *g, clarke_branch one)
{
  const clarke_branch *piece = p->r->piece[s - p->g->steps];
  const clarke_normed *x = &p->grad[s->in[0].value];

  for (size_t f = 0; f < p->g->values[s->out].count; f++) {
    const size_t at = f * p->n;

    if (x->low == NULL)
      clarke_rows_add_taken(x->at + at, g->at + at, piece + f * p->r->samples, one, p->n);
    else
      clarke_rows_add_taken_pairs(x->at + at, x->low + at, g->at + at, g->low + at, piece + f * p->r->samples, one, p->n);
  }
}

/* The same of any slopes. */
static void
add_slopes(const clarke_descent *p, const clarke_step *s, const clarke_normed *g, const clarke_lines *l)
{
  const clarke_branch *piece = p->r->piece[s - p->g->steps];
  clarke_normed *x = &p->grad[s->in[0].value];
  const bool plain = x->low == NULL && g->low == NULL;

  for (size_t f = 0; f < p->g->values[s->out].count; f++) {
    clarke_pair slope[CLARKE_MAX_KINKS + 1];

    for (size_t i = 0; i <= s->pieces.n_kinks; i++)
      slope[i] = clarke_line_slope(l, p->g, s, i, f);
    for (size_t j = 0, e = f * p->n; j < p->n; j++, e++) {
      const clarke_branch at = piece[f * p->r->samples + j];

      if (at >= 0 && plain)
        x->at[e] += slope[at].high * g->at[e];
      else if (at >= 0 && slope[at].high == 1 && slope[at].low == 0)
        clarke_normed_add(x, e, clarke_normed_get(g, e));
      else if (at >= 0 && slope[at].high != 0)
        clarke_normed_add(x, e, clarke_pair_multiply(slope[at], clarke_normed_get(g, e)));
    }
  }
}

static clarke_status
piecewise_back(clarke_descent *p, const clarke_step *s, const clarke_normed *g)
{
  clarke_lines l = clarke_lines_of(p->g, s);
  const size_t step = (size_t)(s - p->g->steps);
  clarke_normed *x = &p->grad[s->in[0].value];
  clarke_pair *proxy;
  clarke_status status;
  size_t one;

  if (!p->carries[s->in[0].value])
    return CLARKE_OK;
  if (g->fixed.limb != NULL)
    return clarke_piecewise_back_fixed(p, s);
  proxy = malloc((p->r->n_touches + 1) * sizeof *proxy);
  status = proxy != NULL ? find_proxies(proxy, &l.steepest, p, step) : clarke_no_memory(p->err);
  if (status == CLARKE_OK)
    status = clarke_note_operand(p, s, g, l.steepest, 8 * CLARKE_PAIR_UNIT * l.steepest, 0);
  one = clarke_line_taken(&l, s, true);
  if (status == CLARKE_OK && one != CLARKE_NONE && (x->low == NULL || g->low != NULL))
    add_line_taken(p, s, g, (clarke_branch)one);
  else if (status == CLARKE_OK)
    add_slopes(p, s, g, &l);
  for (size_t k = 0; k < p->r->n_touches && status == CLARKE_OK; k++) {
    const size_t e = p->r->touch[k].feature * p->n + p->r->touch[k].sample;

    if (p->r->touch[k].step == step && p->r->touch[k].sample < p->n)
      clarke_normed_add(x, e, clarke_pair_multiply(proxy[k], clarke_normed_get(g, e)));
  }
  free(proxy);
  return status;
}

static clarke_status
max_back(clarke_descent *p, const clarke_step *s, const clarke_normed *g)
{
  const size_t step = (size_t)(s - p->g->steps);
  clarke_normed *x = &p->grad[s->in[0].value];
  size_t *from;
  clarke_status status;

  if (!p->carries[s->in[0].value])
    return CLARKE_OK;
  if (g->fixed.limb != NULL)
    return clarke_max_back_fixed(p, s);
  from = clarke_winners(p, step);
  status = from != NULL ? clarke_note_operand(p, s, g, p->growths->growth[step][0].norm, 0, 0) : clarke_no_memory(p->err);
  for (size_t f = 0; f < p->g->values[s->out].count && status == CLARKE_OK; f++)
    for (size_t j = 0, e = f * p->n; j < p->n; j++, e++)
      clarke_normed_add(x, from[e] * p->n + j, clarke_normed_get(g, e));
  free(from);
  return status;
}

static clarke_status
step_back(clarke_descent *p, const clarke_step *s)
{
  const clarke_normed *g = &p->grad[s->out];

  switch (s->kind) {
  case CLARKE_GATHER:
  case CLARKE_SUM:
    return sum_back(p, s, g);
  case CLARKE_SCALE:
    return scale_back(p, s, g);
  case CLARKE_DENSE:
    return clarke_dense_back(p, s);
  case CLARKE_PIECEWISE:
    return piecewise_back(p, s, g);
  case CLARKE_MAX:
    return max_back(p, s, g);
  case CLARKE_NORMALIZE:
    return clarke_normalized_back(p, s);
  case CLARKE_ANALYTIC:
    return clarke_analytic_back(p, s);
  case CLARKE_PRODUCT:
    return clarke_product_back(p, s);
  case CLARKE_SOFTMAX:
    return clarke_softmax_back(p, s);
  default:
    return clarke_fail(p->err, CLARKE_EINTERNAL, "a gradient past a step that it does not follow");
  }
}

clarke_status
clarke_descent_back(clarke_descent *p)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = p->g->n_steps; i-- > 0 && status == CLARKE_OK;) {
    const clarke_step *s = &p->g->steps[i];

    clarke_work_done();
    if (p->grad[s->out].at == NULL)
      continue;
    status = clarke_work_check(p->err);
    clarke_normed_measure(&p->grad[s->out], p->g->values[s->out].count, p->n, p->lanes);
    if (p->seen != NULL) {
      p->seen->grad[s->out] = clarke_normed_size(p, &p->grad[s->out]);
      p->seen->grad_most[s->out] = p->grad[s->out].largest;
    }
    if (status == CLARKE_OK)
      status = clarke_fix_gradient(p, s);
    if (status == CLARKE_OK && !p->lost)
      status = step_back(p, s);
    clarke_normed_drop(&p->grad[s->out]);
    clarke_normed_drop(&p->value[s->out]);
  }
  return status;
}
