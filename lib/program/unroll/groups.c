/* Steps over groups of entries unrolled: softmax; normalizations as x - mean, squares, a root, quotients. */
#include "program/unroll/unroll_inside.h"

#include "program/code.h"

#include <stdlib.h>

/* The sum of the group's exponentials, made before; with `log` its logarithm. */
static clarke_status
softmax_denominator(clarke_unrolling *u, const clarke_step *s, size_t *at, const size_t *exponential,
                    size_t base)
{
  clarke_status status;

  for (size_t i = 0; i < s->length; i++) {
    u->in[i] = exponential[base + i * s->stride];
    mpq_set_ui(u->coef[i], 1, 1);
  }
  mpq_set_ui(u->constant, 0, 1);
  status = clarke_unroll_add_linear(u, at, s->length, u->constant);
  if (status == CLARKE_OK && s->log)
    status = clarke_code_add_analytic(u->p, at, CLARKE_FN_LOG, *at, u->err);
  return status;
}

/* exp x / sum exp, or x - log sum exp. */
static clarke_status
softmax_entry(clarke_unrolling *u, const clarke_step *s, size_t e, size_t exponential, size_t denominator)
{
  if (!s->log)
    return clarke_unroll_add_product(u, &u->at[s->out][e], CLARKE_DO_QUOTIENT, exponential, denominator);
  u->in[0] = clarke_unroll_entry(u, s->in[0].value, e);
  u->in[1] = denominator;
  mpq_set_si(u->coef[0], 1, 1);
  mpq_set_si(u->coef[1], -1, 1);
  return clarke_unroll_add_linear(u, &u->at[s->out][e], 2, u->constant);
}

/* Group by group along the axis (groups, length, stride), once all exponentials are made. */
static clarke_status
softmax_groups(clarke_unrolling *u, const clarke_step *s, const size_t *exponential)
{
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < s->groups; k++)
    for (size_t r = 0; r < s->stride; r++) {
      size_t base = k * s->length * s->stride + r, denominator = 0;

      clarke_code_new_group(u->p);
      if (status == CLARKE_OK)
        status = softmax_denominator(u, s, &denominator, exponential, base);
      clarke_code_new_group(u->p);
      for (size_t i = 0; status == CLARKE_OK && i < s->length; i++)
        status = softmax_entry(u, s, base + i * s->stride, exponential[base + i * s->stride],
                               denominator);
    }
  return status;
}

clarke_status
clarke_unroll_softmax(clarke_unrolling *u, const clarke_step *s)
{
  size_t count = u->g->values[s->out].count;
  size_t *exponential = malloc((count + 1) * sizeof *exponential);
  clarke_status status = exponential != NULL ? clarke_unroll_make_room(u, s->length > 2 ? s->length : 2)
                                             : clarke_unroll_no_memory(u);

  for (size_t e = 0; status == CLARKE_OK && e < count; e++)
    status = clarke_code_add_analytic(u->p, &exponential[e], CLARKE_FN_EXP,
                                      clarke_unroll_entry(u, s->in[0].value, e), u->err);
  if (status == CLARKE_OK)
    status = softmax_groups(u, s, exponential);
  free(exponential);
  return status;
}

/* *at = factor times the sum of the listed entries that are in the group, less or more by a constant. */
static clarke_status
group_sum(clarke_unrolling *u, size_t *at, const clarke_step *s, size_t group, const size_t *entry,
          const mpq_t factor, const mpq_t constant)
{
  size_t n = 0;

  for (size_t f = 0; f < u->g->values[s->out].count; f++)
    if (clarke_step_group(s, f) == group) {
      u->in[n] = entry[f];
      mpq_set(u->coef[n++], factor);
    }
  return clarke_unroll_add_linear(u, at, n, constant);
}

/* centred[f] = x[f] - mean, the means made before. */
static clarke_status
centre_entries(clarke_unrolling *u, const clarke_step *s, size_t *centred, const size_t *mean)
{
  clarke_status status = CLARKE_OK;

  mpq_set_ui(u->constant, 0, 1);
  for (size_t f = 0; status == CLARKE_OK && f < u->g->values[s->out].count; f++) {
    u->in[0] = clarke_unroll_entry(u, s->in[0].value, f);
    u->in[1] = mean[clarke_step_group(s, f)];
    mpq_set_si(u->coef[0], 1, 1);
    mpq_set_si(u->coef[1], -1, 1);
    status = clarke_unroll_add_linear(u, &centred[f], 2, u->constant);
  }
  return status;
}

/* of = the group's means of the entries, plus a constant. */
static clarke_status
group_means(clarke_unrolling *u, const clarke_step *s, size_t *of, const size_t *entry, const mpq_t constant)
{
  clarke_status status = CLARKE_OK;
  mpq_t factor;

  mpq_init(factor);
  mpq_set_ui(factor, 1, clarke_step_group_size(s, 1));
  for (size_t k = 0; status == CLARKE_OK && k < s->grouping.groups; k++)
    status = group_sum(u, &of[k], s, k, entry, factor, constant);
  mpq_clear(factor);
  clarke_code_new_group(u->p);
  return status;
}

/* room holds count entries, twice, then a number a group. */
static clarke_status
normalize_entries(clarke_unrolling *u, const clarke_step *s, size_t *room)
{
  size_t count = u->g->values[s->out].count;
  size_t *square = room, *centred = room + count, *of = centred + count;
  clarke_status status;

  for (size_t f = 0; f < count; f++)
    square[f] = clarke_unroll_entry(u, s->in[0].value, f);
  mpq_set_ui(u->constant, 0, 1);
  status = group_means(u, s, of, square, u->constant);
  if (status == CLARKE_OK)
    status = centre_entries(u, s, centred, of);
  clarke_code_new_group(u->p);
  for (size_t f = 0; status == CLARKE_OK && f < count; f++)
    status = clarke_unroll_add_product(u, &square[f], CLARKE_DO_PRODUCT, centred[f], centred[f]);
  clarke_code_new_group(u->p);
  if (status == CLARKE_OK)
    status = group_means(u, s, of, square, s->epsilon);
  for (size_t k = 0; status == CLARKE_OK && k < s->grouping.groups; k++)
    status = clarke_code_add_analytic(u->p, &of[k], CLARKE_FN_SQRT, of[k], u->err);
  clarke_code_new_group(u->p);
  for (size_t f = 0; status == CLARKE_OK && f < count; f++)
    status = clarke_unroll_add_product(u, &u->at[s->out][f], CLARKE_DO_QUOTIENT, centred[f],
                                       of[clarke_step_group(s, f)]);
  return status;
}

/* Whole: its results are inputs, filled for all samples at once. */
static clarke_status
fold_coupling(clarke_unrolling *u, const clarke_step *s)
{
  clarke_folded *to = u->folded;
  clarke_coupling *grown = realloc(to->coupling, (to->n_couplings + 1) * sizeof *grown), *c;

  if (grown == NULL)
    return clarke_unroll_no_memory(u);
  to->coupling = grown;
  c = &to->coupling[to->n_couplings++];
  *c = (clarke_coupling){.n = u->g->values[s->out].count, .step = s};
  c->x = malloc((c->n + 1) * sizeof *c->x);
  if (c->x == NULL)
    return clarke_unroll_no_memory(u);
  for (size_t e = 0; e < c->n; e++)
    c->x[e] = clarke_unroll_entry(u, s->in[0].value, e);
  return clarke_unroll_add_results(u, s, &c->first);
}

/* One sample: its groups are whole. Where it is one of several, they are of all of them. */
clarke_status
clarke_unroll_normalize(clarke_unrolling *u, const clarke_step *s)
{
  size_t count = u->g->values[s->out].count, size = clarke_step_group_size(s, 1), *room;
  clarke_status status;

  if (u->folded != NULL && s->grouping.couples && u->g->samples != 1)
    return fold_coupling(u, s);
  room = malloc((2 * count + s->grouping.groups + 1) * sizeof *room);
  status = room != NULL ? clarke_unroll_make_room(u, size > 2 ? size : 2) : clarke_unroll_no_memory(u);
  if (status == CLARKE_OK && s->grouping.couples && u->g->samples != 1)
    status = clarke_fail(u->err, CLARKE_EINPUT, "%s: node '%s' (%s) takes all samples together; a "
                         "program is of one", u->g->file, s->name, s->op->name);
  if (status == CLARKE_OK)
    status = normalize_entries(u, s, room);
  free(room);
  return status;
}
