/* Gradients of constants: shares that join their parameters' sums (docs/gradient.md). */
#include "network/derive/gradient/constants.h"

#include "network/derive/gradient/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- parameters' sums ------------------------------------------------------------------------------ */

/* Room for a parameter's sum. */
static clarke_status
begin_parameter(clarke_gradient_pass *p, size_t parameter)
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
adopt(clarke_gradient_pass *p, const clarke_value *v, double *entries, double within)
{
  if (v->origin != NULL || p->gradient->entry[v->parameter] != NULL)
    return false;
  p->gradient->entry[v->parameter] = entries;
  p->gradient->within[v->parameter] = within;
  return true;
}

clarke_status
clarke_note_doubles(clarke_gradient_pass *p, size_t value, double *entries, double within)
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
clarke_note_constant(clarke_gradient_pass *p, size_t value, const clarke_pair *entries, double within)
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

/* --- which share is 0 ------------------------------------------------------------------------------ */

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

/* --- sums of rows -------------------------------------------------------------------------------- */

/* The sum of some rows of gradients, sample by sample: of those that meet one entry of a constant, one behind another. */
typedef struct {
  double *high, *low, *zero; /* zero: low parts of rows that have none */
  size_t entry;              /* CLARKE_NONE: there are no rows yet */
  size_t n;
} row_sum;

/* The rows that there are join their entry's sum, which is off by n roundings more, and one for the coefficient. */
static void
end_rows(row_sum *r, clarke_pair *sum, double coef)
{
  clarke_pair all = {0, 0};

  for (size_t j = 0; j < r->n && r->entry != CLARKE_NONE; j++)
    all = clarke_pair_add(all, (clarke_pair){r->high[j], r->low[j]});
  if (r->entry != CLARKE_NONE)
    sum[r->entry] = clarke_pair_add(sum[r->entry], clarke_pair_multiply((clarke_pair){coef, 0}, all));
  memset(r->high, 0, 3 * r->n * sizeof *r->high);
}

/* Adds rows of g, times those of what the operand `by` takes where there is one, to the entries of the constant that they meet.
 * Each number goes through one addition for each row of its entry, and those of end_rows. */
static clarke_status
add_up_rows(clarke_pair *sum, const clarke_gradient_pass *p, const clarke_operand *o, size_t rows, const clarke_normed *g,
            const clarke_operand *by)
{
  const size_t n = p->n;
  const double coef = by != NULL ? 1 : o->coef;
  double *room = calloc(3 * n + 1, sizeof *room);
  row_sum r = {room, room + n, room + 2 * n, CLARKE_NONE, n};

  if (room == NULL)
    return clarke_no_memory(p->err);
  for (size_t f = 0; f < rows; f++) {
    const size_t e = clarke_operand_entry(o, f);
    const double *low = g->low != NULL ? g->low + f * n : r.zero;

    if (e == CLARKE_NONE)
      continue;
    if (e != r.entry)
      end_rows(&r, sum, coef);
    r.entry = e;
    if (by != NULL) {
      const clarke_normed *x = &p->value[by->value];
      const size_t from = clarke_operand_entry(by, f) * n;

      clarke_rows_add_products(r.high, r.low, g->at + f * n, low, x->at + from, x->low != NULL ? x->low + from : r.zero, n);
    } else
      clarke_rows_add_pairs(r.high, r.low, g->at + f * n, low, n);
  }
  end_rows(&r, sum, coef);
  free(room);
  return CLARKE_OK;
}

/* --- sums, and factors ----------------------------------------------------------------------------- */

/* Pairs that are near numbers in fixed point are off by fewer units than so many. */
#define FROM_FIXED 16

/* A constant's: the sum over samples, and over what meets the entry. */
clarke_status
clarke_sum_constant(clarke_gradient_pass *p, const clarke_step *s, size_t k, const clarke_normed *g)
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
  if (status == CLARKE_OK && !cancels)
    status = add_up_rows(sum, p, o, rows, g, NULL);
  gamma = clarke_bound_gamma((double)p->n + (double)most + 2 + FROM_FIXED, CLARKE_PAIR_UNIT);
  for (size_t j = 0; j < p->lanes; j++) /* by Cauchy and Schwarz, over all that meets an entry */
    off += clarke_bound_up(fabs(o->coef) * sqrt((double)most) * clarke_lane_root(p) * (g->error[j] + gamma * g->size[j]));
  if (status == CLARKE_OK && !cancels) /* else its share is 0 */
    status = clarke_note_constant(p, o->value, sum, clarke_bound_up(off));
  free(sum);
  return status;
}

/* y = x c: the sum over samples and features of g x. */
clarke_status
clarke_scale_constant(clarke_gradient_pass *p, const clarke_step *s, const clarke_normed *g)
{
  const clarke_operand *c = &s->in[1];
  const clarke_normed *x = &p->value[s->in[0].value];
  const size_t rows = p->g->values[s->out].count;
  clarke_pair *sum = calloc(p->g->values[c->value].count + 1, sizeof *sum);
  double off = 0, copies, gamma;
  size_t most = 0;
  clarke_status status = sum != NULL ? clarke_most_taken(&most, p->g, s, s->in[0].value, p->err) : clarke_no_memory(p->err);

  copies = clarke_bound_up(sqrt((double)most));
  if (status == CLARKE_OK)
    status = add_up_rows(sum, p, c, rows, g, &s->in[0]);
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
