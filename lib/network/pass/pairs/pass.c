/* The pass in pairs: step by step over the values that open places depend on, each dropped behind its last use. */
#include "network/pass/pairs/pairs.h"

#include "base/stop.h"
#include "exact/matrix_pairs.h"

#include <stdlib.h>
#include <string.h>

void
clarke_enclosed_drop(clarke_enclosed *v)
{
  free(v->high);
  v->high = v->low = v->off = NULL;
}

clarke_status
clarke_enclosed_alloc(clarke_pairs_pass *f, clarke_enclosed *v, size_t rows)
{
  const size_t entries = rows * f->n;

  v->rows = rows;
  v->high = malloc((3 * entries + 1) * sizeof *v->high);
  v->known = v->high != NULL;
  if (v->high == NULL)
    return clarke_no_memory(f->err);
  v->low = v->high + entries;
  v->off = v->low + entries;
  return CLARKE_OK;
}

void
clarke_pairs_measure(const clarke_pairs_pass *f, size_t column, double distance, double off, size_t feature)
{
  clarke_margin *m = f->margin != NULL ? &f->margin[f->step][column] : NULL;

  if (m != NULL)
    clarke_margin_take(m, clarke_down_by(distance - off, 2) - CLARKE_TINY, clarke_up_over(distance + off, 2, CLARKE_TINY), feature);
}

static clarke_status
load_input(clarke_pairs_pass *f)
{
  clarke_enclosed *v = &f->value[f->g->input];
  clarke_status status = clarke_enclosed_alloc(f, v, f->g->values[f->g->input].count);

  for (size_t i = 0; status == CLARKE_OK && i < v->rows; i++)
    for (size_t j = 0; j < f->n; j++) {
      const size_t from = j * v->rows + i, e = i * f->n + j;

      v->high[e] = f->x->real != NULL ? f->x->real[from] : (double)f->x->integer[from];
      v->low[e] = v->off[e] = 0;
    }
  return status;
}

/* Is the value read by a step from `first` on whose own is needed? */
static bool
is_read(const clarke_graph *g, const bool *needed, size_t first, size_t value)
{
  for (size_t i = first; i < g->n_steps; i++)
    for (size_t k = 0; k < g->steps[i].n_in && needed[g->steps[i].out]; k++)
      if (g->steps[i].in[k].value == value)
        return true;
  return false;
}

/* What a pass in enclosures left. */
static clarke_status
load_rest(clarke_pairs_pass *f, const clarke_forward_rest *rest, const bool *needed)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < rest->step; i++)
    f->deferred[f->g->steps[i].out] = NULL;
  for (size_t v = 0; v < f->g->n_values && status == CLARKE_OK; v++) {
    clarke_enclosed *y = &f->value[v];

    if (rest->value[v].rows == 0 || !is_read(f->g, needed, rest->step, v))
      continue;
    status = clarke_enclosed_alloc(f, y, rest->value[v].rows);
    if (status == CLARKE_OK)
      clarke_matrix_pairs(y->high, y->low, y->off, &rest->value[v]);
    for (size_t e = 0; e < y->rows * f->n && status == CLARKE_OK; e++)
      clarke_enclosed_put(y, e, clarke_enclosed_get(y, e), y->off[e]);
  }
  return status;
}

static clarke_status (*const of_kind[CLARKE_STEP_KINDS])(clarke_pairs_pass *f, const clarke_step *s) = {
  [CLARKE_GATHER] = clarke_pairs_gather,     [CLARKE_SUM] = clarke_pairs_sum,             [CLARKE_SCALE] = clarke_pairs_scale,
  [CLARKE_DENSE] = clarke_pairs_dense,       [CLARKE_PIECEWISE] = clarke_pairs_piecewise, [CLARKE_MAX] = clarke_pairs_max,
  [CLARKE_PRODUCT] = clarke_pairs_contract,  [CLARKE_ANALYTIC] = clarke_pairs_function,   [CLARKE_SOFTMAX] = clarke_pairs_softmax,
};

bool
clarke_pairs_has(const clarke_step *s)
{
  if (s->kind == CLARKE_ANALYTIC)
    return s->function == CLARKE_HELD || s->function == CLARKE_ABOVE || !clarke_step_jumps(s);
  return of_kind[s->kind] != NULL && !(s->kind == CLARKE_SOFTMAX && s->log);
}

/* Does the pass follow the step, and its inputs? */
static bool
follows(const clarke_pairs_pass *f, const clarke_step *s)
{
  for (size_t i = 0; i < s->n_in; i++)
    if (!f->g->values[s->in[i].value].constant && !f->value[s->in[i].value].known)
      return false;
  return clarke_pairs_has(s);
}

/* What is read for the last time at step i. */
static void
drop_behind(clarke_pairs_pass *f, const size_t *last, size_t i)
{
  const clarke_step *s = &f->g->steps[i], *gather = f->deferred[s->in[0].value];

  for (size_t k = 0; k < s->n_in; k++)
    if (last[s->in[k].value] == i)
      clarke_enclosed_drop(&f->value[s->in[k].value]);
  if (gather != NULL && last[gather->in[0].value] == i)
    clarke_enclosed_drop(&f->value[gather->in[0].value]);
}

/* Nothing is known of the step at work. */
static void
leave_open(clarke_pairs_pass *f, const clarke_step *s)
{
  const clarke_branch *place = f->piece[f->step];

  for (size_t e = 0; place != NULL && e < f->g->values[s->out].count * f->n; e++)
    f->vague += place[e] == CLARKE_OPEN;
}

/* Where errors grow as they did, is more lost than pairs have, by this many bits? Such a guess is of no use before so many products, or this
 * part of all. */
#define LOST_BITS (CLARKE_PAIRS_BITS + 20.0)
#define FEW_PRODUCTS 8
#define EARLY 4

/* A guess: of the bits that errors have taken of a value behind so many products, as many for each of those to come. */
static double
bits_needed(const clarke_pairs_pass *f, const clarke_enclosed *y, size_t before)
{
  double off = 0, size = 0;

  for (size_t e = 0; e < y->rows * f->n; e++) {
    off += y->off[e];
    size += fabs(y->high[e]);
  }
  return off > 0 && size > 0 && off < INFINITY ? (CLARKE_PAIRS_BITS + log2(off / size)) * (double)f->deepest / (double)before : 0;
}

/* The most products, one behind another, that a value is behind: f->depth; and any that is needed. */
static void
count_products(clarke_pairs_pass *f, const bool *needed)
{
  for (size_t i = 0; i < f->g->n_steps; i++) {
    const clarke_step *s = &f->g->steps[i];
    size_t *depth = &f->depth[s->out];

    for (size_t k = 0; k < s->n_in; k++)
      *depth = f->depth[s->in[k].value] > *depth ? f->depth[s->in[k].value] : *depth;
    *depth += s->kind == CLARKE_DENSE || s->kind == CLARKE_PRODUCT;
    if (needed[s->out] && *depth > f->deepest)
      f->deepest = *depth;
  }
}

/* Is a place of the step at work open? */
static bool
leaves_open(const clarke_pairs_pass *f, const clarke_step *s)
{
  return f->piece[f->step] != NULL && clarke_branches_open(f->piece[f->step], f->g->values[s->out].count * f->n);
}

/* Sets f->needs behind a step, where the pass is to end: not where it goes on from another's values, nor where a place is open already, which
 * is at a kink as a rule. */
static void
look_ahead(clarke_pairs_pass *f, const clarke_step *s)
{
  const size_t before = f->depth[s->out];

  f->open = f->open || leaves_open(f, s);
  if (f->open || !f->early || s->kind != CLARKE_DENSE || before < FEW_PRODUCTS || EARLY * before < f->deepest || f->value[s->out].high == NULL)
    return;
  f->needs = bits_needed(f, &f->value[s->out], before);
  if (!(f->needs > LOST_BITS))
    f->needs = 0;
}

static clarke_status
run_steps(clarke_pairs_pass *f, size_t first, const bool *needed, const size_t *last, const clarke_pairs_watch *watch)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = first; i < f->g->n_steps && f->needs == 0 && status == CLARKE_OK; i++) {
    const clarke_step *s = &f->g->steps[i];

    f->step = i;
    if (needed[s->out]) {
      status = clarke_work_check(f->err);
      if (status == CLARKE_OK && follows(f, s))
        status = of_kind[s->kind](f, s);
      else
        leave_open(f, s);
      f->outside = f->outside || (clarke_step_has_domain(s) && !f->value[s->out].known);
      if (status == CLARKE_OK && watch != NULL && f->value[s->out].high != NULL)
        watch->seen(watch->context, f, s->out);
      look_ahead(f, s);
    }
    drop_behind(f, last, i);
  }
  return status;
}

clarke_status
clarke_pairs_run(clarke_branch **piece, size_t **ties, clarke_margin **margin, bool *inside, size_t *vague, double *needs, const clarke_graph *g,
                 const clarke_tensor *x, const clarke_forward_rest *rest, const clarke_pairs_watch *watch, clarke_error *err)
{
  clarke_pairs_pass f = {.g = g, .n = x->dims[0], .x = x, .piece = piece, .ties = ties, .margin = margin, .early = rest == NULL && watch == NULL, .err = err};
  bool *needed = malloc((g->n_values + 1) * sizeof *needed);
  size_t *last = malloc((g->n_values + 1) * sizeof *last);
  clarke_status status = CLARKE_OK;

  f.value = calloc(g->n_values + 1, sizeof *f.value);
  f.deferred = calloc(g->n_values + 1, sizeof *f.deferred);
  f.depth = calloc(g->n_values + 1, sizeof *f.depth);
  if (f.depth == NULL || needed == NULL || last == NULL || f.value == NULL || f.deferred == NULL)
    status = clarke_no_memory(err);
  if (status == CLARKE_OK) {
    clarke_forward_open_needs(needed, last, g, piece, f.n, *inside);
    count_products(&f, needed);
    clarke_graph_last_uses(last, g, NULL);
    clarke_graph_defer_gathers(f.deferred, last, g);
    status = rest != NULL ? load_rest(&f, rest, needed) : load_input(&f);
  }
  if (status == CLARKE_OK)
    status = run_steps(&f, rest != NULL ? rest->step : 0, needed, last, watch);
  *vague = f.vague;
  *needs = f.needs;
  *inside = *inside && status == CLARKE_OK && !f.outside && f.needs == 0;
  for (size_t v = 0; f.value != NULL && v < g->n_values; v++)
    clarke_enclosed_drop(&f.value[v]);
  clarke_identities_free(f.ids);
  free(f.value);
  free(f.deferred);
  free(f.depth);
  free(needed);
  free(last);
  return status;
}
