/* The filter's pass: step by step over the values that kinks need, each dropped behind its last use. */
#include "network/pass/filter.h"

#include "base/stop.h"
#include "network/pass/filter/filter.h"

#include <stdlib.h>
#include <string.h>

static clarke_status
load_input(clarke_filter *f, const clarke_tensor *x)
{
  clarke_enclosure *e = &f->value[f->g->input];
  clarke_status status = clarke_enclosure_alloc(f, e, f->g->values[f->g->input].count);

  if (status != CLARKE_OK)
    return status;
  for (size_t i = 0; i < e->rows; i++) {
    e->row[i] = 0;
    for (size_t j = 0; j < f->n; j++)
      e->y[i * f->n + j] = x->real != NULL ? x->real[j * e->rows + i]
                                           : (double)x->integer[j * e->rows + i];
  }
  memset(e->col, 0, f->n * sizeof *e->col);
  for (size_t j = 0; j < f->n && e->norm != NULL; j++)
    e->norm[j] = e->most[j] = e->before[j] = 0;
  if (f->fine)
    memset(e->each, 0, e->rows * f->n * sizeof *e->each);
  return CLARKE_OK;
}

static clarke_status (*const of_kind[CLARKE_STEP_KINDS])(clarke_filter *f, const clarke_step *s) = {
  [CLARKE_GATHER] = clarke_filter_gather, [CLARKE_SUM] = clarke_filter_sum, [CLARKE_SCALE] = clarke_filter_scale,
  [CLARKE_DENSE] = clarke_filter_dense, [CLARKE_PIECEWISE] = clarke_filter_piecewise, [CLARKE_MAX] = clarke_filter_max,
  [CLARKE_NORMALIZE] = clarke_filter_normalize, [CLARKE_PRODUCT] = clarke_filter_product, [CLARKE_ANALYTIC] = clarke_filter_analytic,
};

/* Does the filter follow this step, and its inputs? */
static bool
inputs_known(const clarke_filter *f, const clarke_step *s)
{
  for (size_t i = 0; i < s->n_in; i++)
    if (!f->g->values[s->in[i].value].constant && !f->value[s->in[i].value].known)
      return false;
  return of_kind[s->kind] != NULL;
}

/* Every place open, no tie, to begin with. */
static clarke_status
allocate_places(clarke_filter *f, size_t i)
{
  const clarke_step *s = &f->g->steps[i];
  size_t entries = f->g->values[s->out].count * f->n;

  f->piece[i] = malloc((entries + 1) * sizeof **f->piece);
  if (s->kind == CLARKE_MAX)
    f->ties[i] = calloc(f->n + 1, sizeof **f->ties);
  if (f->piece[i] == NULL || (s->kind == CLARKE_MAX && f->ties[i] == NULL))
    return clarke_no_memory(f->err);
  clarke_branches_leave(f->piece[i], entries);
  return CLARKE_OK;
}

static clarke_status
filter_step(clarke_filter *f, size_t i, size_t *transcendental)
{
  const clarke_step *s = &f->g->steps[i];
  clarke_status status = clarke_step_has_kinks(s) ? allocate_places(f, i) : CLARKE_OK;

  f->step = i;
  if (status != CLARKE_OK)
    return status;
  if (!inputs_known(f, s)) {
    *transcendental += clarke_step_has_kinks(s) ? f->g->values[s->out].count * f->n : 0;
    return CLARKE_OK;
  }
  return of_kind[s->kind](f, s);
}

clarke_status
clarke_filter_run(clarke_branch **piece, size_t **ties, clarke_margin **margin, size_t *open,
                  size_t *transcendental, const clarke_graph *g, const clarke_tensor *x,
                  const clarke_filter_way *way, clarke_error *err)
{
  clarke_filter f = {.g = g, .n = x->dims[0], .fine = way->fine, .growths = way->fine ? NULL : way->growths,
                     .piece = piece, .ties = ties, .margin = margin, .open = open, .x = x, .err = err};
  bool *needed;
  size_t *last;
  clarke_status status;

  *open = *transcendental = 0;
  if (f.n != g->samples && clarke_graph_couples(g))
    return clarke_fail(err, CLARKE_EINTERNAL, "a filter over some of the samples, which are coupled");
  needed = malloc((g->n_values + 1) * sizeof *needed);
  f.last = last = malloc((g->n_values + 1) * sizeof *last);
  f.value = calloc(g->n_values + 1, sizeof *f.value);
  f.deferred = calloc(g->n_values + 1, sizeof *f.deferred);
  f.bound = malloc((5 * f.n + 1) * sizeof *f.bound);
  f.mark = malloc((4 * f.n + 1) * sizeof *f.mark);
  f.near = f.bound + 2 * f.n;
  f.other = (clarke_branch *)(f.bound + 4 * f.n);
  if (needed == NULL || f.value == NULL || last == NULL || f.bound == NULL || f.deferred == NULL ||
      f.mark == NULL) {
    free(needed);
    free(last);
    free(f.value);
    free(f.deferred);
    free(f.bound);
    free(f.mark);
    return clarke_no_memory(err);
  }
  clarke_graph_needed(g, false, needed);
  clarke_graph_last_uses(last, g, NULL);
  if (f.fine || f.growths != NULL) /* columns are gathered piece by piece, and read while they are near */
    clarke_graph_defer_gathers(f.deferred, last, g);
  last[g->input] = CLARKE_NONE; /* x stays: windows' entries are compared by it */
  status = load_input(&f, x);
  for (size_t i = 0; i < g->n_steps && status == CLARKE_OK && *open <= way->limit; i++) {
    if (needed[g->steps[i].out] || clarke_step_has_kinks(&g->steps[i]))
      status = clarke_work_check(err) == CLARKE_OK ? filter_step(&f, i, transcendental) : CLARKE_ESTOPPED;
    clarke_work_done();
    if (status == CLARKE_OK && way->seen != NULL && f.value[g->steps[i].out].y != NULL)
      way->seen(way->context, &f, g->steps[i].out);
    for (size_t k = 0; k < g->steps[i].n_in; k++)
      if (last[g->steps[i].in[k].value] == i)
        clarke_enclosure_drop(&f.value[g->steps[i].in[k].value]);
    if (f.deferred[g->steps[i].in[0].value] != NULL && last[f.deferred[g->steps[i].in[0].value]->in[0].value] == i)
      clarke_enclosure_drop(&f.value[f.deferred[g->steps[i].in[0].value]->in[0].value]);
  }
  for (size_t v = 0; v < g->n_values; v++)
    clarke_enclosure_drop(&f.value[v]);
  clarke_identities_free(f.ids);
  free(f.value);
  free(f.deferred);
  free(f.bound);
  free(f.mark);
  free(needed);
  free(last);
  return status;
}
