/* The pass in slices: step by step over the values that open places depend on, each dropped behind its last use. */
#include "network/pass/slices/pass.h"

#include "base/stop.h"
#include "network/pass/slices/moments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The batch on the places of its value: off by no more than half the lowest. */
static clarke_status
load_input(clarke_slicing *f, const clarke_tensor *x)
{
  const size_t input = f->g->input, rows = f->g->values[input].count, entries = rows * f->n;
  const long width = f->plan->width, low = f->plan->low[input];
  clarke_sliced *v = &f->value[input];
  double most = 0, *left = malloc((entries + 1) * sizeof *left);
  int exponent = 0;
  clarke_status status = left != NULL ? CLARKE_OK : clarke_no_memory(f->err);

  for (size_t e = 0; e < entries && status == CLARKE_OK; e++) {
    const size_t from = e % f->n * rows + e / f->n;

    left[e] = x->real != NULL ? x->real[from] : (double)x->integer[from];
    most = fmax(most, fabs(left[e]));
  }
  frexp(most, &exponent);
  if (status == CLARKE_OK)
    status = clarke_sliced_alloc(f, v, rows, exponent > low ? (size_t)((exponent - low) / width) + 1 : 1, low);
  for (size_t k = v->planes; status == CLARKE_OK && k-- > 0;) {
    const double unit = ldexp(1, (int)(low + width * (long)k)), part = 1 / unit;

    for (size_t e = 0; e < entries; e++) {
      const double digit = clarke_nearest_integer(left[e] * part);

      v->digit[k * entries + e] = (float)digit;
      left[e] -= digit * unit;
    }
  }
  for (size_t e = 0; e < entries && status == CLARKE_OK; e++) {
    const size_t lane = f->lanes == 1 ? 0 : e % f->n;

    v->most[lane] = fmax(v->most[lane], fabs(left[e]));
  }
  for (size_t j = 0; j < f->lanes && status == CLARKE_OK; j++)
    v->norm[j] = clarke_slice_up(v->most[j] * sqrt((double)entries / (double)f->lanes));
  free(left);
  return status;
}

static clarke_status (*const of_kind[CLARKE_STEP_KINDS])(clarke_slicing *f, const clarke_step *s) = {
  [CLARKE_GATHER] = clarke_slices_gather, [CLARKE_SUM] = clarke_slices_sum,             [CLARKE_SCALE] = clarke_slices_scale,
  [CLARKE_DENSE] = clarke_slices_dense,   [CLARKE_PIECEWISE] = clarke_slices_piecewise, [CLARKE_MAX] = clarke_slices_max,
  [CLARKE_NORMALIZE] = clarke_slices_normalize,
};

bool
clarke_slices_has(clarke_step_kind kind)
{
  return of_kind[kind] != NULL;
}

/* Where `lost` is set the rest stays open: no status says more. */
static clarke_status
run_steps(clarke_slicing *f)
{
  const clarke_graph *g = f->g;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < g->n_steps && status == CLARKE_OK && !f->lost; i++) {
    const clarke_step *s = &g->steps[i];

    if (!f->plan->needed[s->out])
      continue;
    f->step = i;
    status = clarke_work_check(f->err);
    if (status == CLARKE_OK && !f->made[s->out])
      status = of_kind[s->kind](f, s);
    if (status == CLARKE_OK)
      clarke_sliced_settle(f, s->out);
    f->origin[s->out].low = f->value[s->out].low;
    if (status == CLARKE_OK && !f->lost && f->plan->seen != NULL && f->value[s->out].digit != NULL)
      f->plan->seen(f->plan->context, f, s->out);
    for (size_t k = 0; k < s->n_in; k++)
      if (f->last[s->in[k].value] == i)
        clarke_sliced_drop(&f->value[s->in[k].value]);
    if (f->deferred[s->in[0].value] != NULL && f->last[f->deferred[s->in[0].value]->in[0].value] == i)
      clarke_sliced_drop(&f->value[f->deferred[s->in[0].value]->in[0].value]);
  }
  return status == CLARKE_EINPUT && f->lost ? CLARKE_OK : status;
}

clarke_status
clarke_slices_run(clarke_branch **piece, size_t **ties, clarke_margin **margin, const clarke_slice_plan *p,
                  const clarke_tensor *x, clarke_error *err)
{
  const clarke_graph *g = p->g;
  clarke_slicing f = {.g = g, .plan = p, .n = x->dims[0], .piece = piece, .ties = ties, .margin = margin, .x = x,
                      .err = err};
  clarke_status status = CLARKE_OK;

  f.lanes = clarke_graph_couples(g) ? 1 : f.n;
  f.value = calloc(g->n_values + 1, sizeof *f.value);
  f.deferred = calloc(g->n_values + 1, sizeof *f.deferred);
  f.last = malloc((g->n_values + 1) * sizeof *f.last);
  f.made = calloc(g->n_values + 1, sizeof *f.made);
  f.origin = calloc(g->n_values + 1, sizeof *f.origin);
  f.sum = malloc((CLARKE_PLANES + 2) * CLARKE_SLICE_BLOCK * sizeof *f.sum);
  if (f.value == NULL || f.deferred == NULL || f.last == NULL || f.made == NULL || f.origin == NULL || f.sum == NULL)
    status = clarke_no_memory(err);
  if (status == CLARKE_OK) {
    clarke_graph_last_uses(f.last, g, p->needed);
    clarke_graph_defer_gathers(f.deferred, f.last, g);
    status = load_input(&f, x);
    if (status == CLARKE_OK)
      clarke_sliced_settle(&f, g->input);
    f.origin[g->input].low = f.value[g->input].low;
    status = status == CLARKE_EINPUT && f.lost ? CLARKE_OK : status;
  }
  if (status == CLARKE_OK)
    status = run_steps(&f);
  for (size_t v = 0; f.value != NULL && v < g->n_values; v++)
    clarke_sliced_drop(&f.value[v]);
  clarke_identities_free(f.ids);
  free(f.value);
  free(f.deferred);
  free(f.last);
  clarke_origins_free(f.origin, g->n_values);
  free(f.made);
  free(f.sum);
  return status;
}
