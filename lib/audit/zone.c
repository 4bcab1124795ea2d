#include "audit/zone.h"

#include "audit/direction.h"
#include "audit/effect.h"
#include "audit/loose.h"
#include "audit/touch_row.h"
#include "base/stop.h"
#include "base/verify.h"
#include "network/derive/reverse.h"
#include "network/derive/tangent.h"

#include <stdlib.h>
#include <string.h>

#define PRECISION 128
/* Entries of activations and parameters that rows may pass over, all together. */
#define WORK ((size_t)1 << 30)
/* Chains whose effect an enclosure did not tell from 0, before no more are tried. */
#define TRIES 8
/* Outputs whose equal ones are looked for. */
#define MOST_CLASSES 1024

void
clarke_zone_init(clarke_zone_found *z)
{
  *z = (clarke_zone_found){.zone = CLARKE_ZONE_UNKNOWN, .parameter = CLARKE_NONE, .entry = CLARKE_NONE};
}

void
clarke_zone_clear(clarke_zone_found *z)
{
  free(z->cut);
  free(z->side);
  clarke_zone_init(z);
}

bool
clarke_zone_is_valid(const clarke_zone_found *z, const clarke_question *q)
{
  const size_t p = z->parameter;

  if (z->zone == CLARKE_ZONE_COMPENSATION)
    return z->cut != NULL;
  if (z->zone == CLARKE_ZONE_BIFURCATION)
    return z->side != NULL && p < q->g->n_parameters && q->g->parameters[p].wrt && z->entry < q->g->parameters[p].count;
  return z->cut == NULL && z->side == NULL;
}

/* Touches in the order in which they are met on the way back from the loss: those nearest to it first, so that a chain is
 * shortest. */
typedef struct {
  const clarke_question *q;
  clarke_branch *base;
  clarke_columns columns; /* of the base */
  bool *flat;             /* by touch: constant, whatever is chosen */
  clarke_loose loose;
  bool loose_met; /* the loss has a derivative by such a window */
  bool *met;      /* by touch: may chains lead from there to the loss? */
  size_t *queue, n, at;
  size_t *next;      /* by touch: the one behind it, or CLARKE_NONE: the loss; */
  clarke_branch *to; /* the side there that its chain switches to */
  size_t work, tries;
} search;

/* --- what is met -------------------------------------------------------------------------------- */

/* Is the derivative by the entry, of a pass over one column or all, not exactly zero? */
static bool
has_derivative(const clarke_matrix *grad, const clarke_step *s, size_t feature, size_t column)
{
  const clarke_matrix *at = &grad[s->out];

  return at->rows > 0 && !clarke_matrix_entry_is_zero(at, feature, column);
}

/* column: of a pass over that one alone, or CLARKE_NONE: over all. */
static void
meet_loose(search *w, const clarke_matrix *grad, size_t column)
{
  const clarke_graph *g = w->q->g;
  const size_t n = w->q->replay->near.n;

  for (size_t i = 0; i < g->n_steps && w->loose.any && !w->loose_met; i++)
    for (size_t e = 0; w->loose.at[i] != NULL && e < g->values[g->steps[i].out].count * n; e++)
      if (w->loose.at[i][e] && (column == CLARKE_NONE || e % n == column))
        w->loose_met = w->loose_met || has_derivative(grad, &g->steps[i], e / n, column == CLARKE_NONE ? e % n : 0);
}

/* What has a derivative by a touch's output: option `to` of touch `next`, or the loss. */
static void
meet(search *w, const clarke_matrix *grad, size_t column, size_t next, clarke_branch to)
{
  const clarke_replay *r = w->q->replay;

  for (size_t k = 0; k < r->n_touches; k++) {
    const clarke_touch *t = &r->touch[k];

    if (w->flat[k] || w->met[k] || (column != CLARKE_NONE && t->column != column) ||
        !has_derivative(grad, &w->q->g->steps[t->step], t->feature, column == CLARKE_NONE ? t->column : 0))
      continue;
    w->met[k] = true;
    w->queue[w->n++] = k;
    w->next[k] = next;
    w->to[k] = to;
  }
  meet_loose(w, grad, column);
}

/* Is of no touch open whether its derivative is 0? Nor of a loose window: of these that is not asked. */
static bool
all_sure(const search *w, const clarke_matrix *grad)
{
  const clarke_replay *r = w->q->replay;
  bool sure = !w->loose.any;
  mpq_t nothing;

  mpq_init(nothing);
  for (size_t k = 0; k < r->n_touches && sure; k++) {
    const clarke_touch *t = &r->touch[k];
    const clarke_matrix *at = &grad[w->q->g->steps[t->step].out];

    sure = w->flat[k] || at->rows == 0 || clarke_matrix_compare(at, t->feature, t->column, nothing) != 2;
  }
  mpq_clear(nothing);
  return sure;
}

/* From the loss, or what `seed` is: all samples at once, for none depends on another's touches but where steps couple them.
 * only_if_sure (or NULL): nothing is met where one of these derivatives is open, and it is false then. */
static clarke_status
meet_from(search *w, clarke_matrix *seed, bool *only_if_sure, clarke_error *err)
{
  const clarke_graph *g = w->q->g;
  const clarke_forward *f = &w->q->replay->near;
  clarke_matrix *grad = clarke_matrices_new(g->n_values);
  bool *keep = calloc(g->n_values + 1, sizeof *keep);
  clarke_status status = grad != NULL && keep != NULL ? CLARKE_OK : clarke_no_memory(err);

  for (size_t i = 0; i < g->n_steps && status == CLARKE_OK; i++)
    keep[g->steps[i].out] = clarke_step_has_kinks(&g->steps[i]);
  if (status == CLARKE_OK) {
    clarke_matrix_swap(&grad[g->output], seed);
    status = clarke_reverse_enclose(grad, keep, f, &w->columns.slopes, (size_t)f->precision + 64, err);
  }
  if (status == CLARKE_OK && only_if_sure != NULL)
    *only_if_sure = all_sure(w, grad);
  if (status == CLARKE_OK && (only_if_sure == NULL || *only_if_sure))
    meet(w, grad, CLARKE_NONE, CLARKE_NONE, CLARKE_PROXY);
  clarke_matrices_free(grad, g->n_values);
  free(keep);
  return status;
}

/* Cross entropy of rational outputs z, with label y: where a number has the derivatives d by the outputs, the loss's by it is the sum
 * of (d[i] - d[y]) exp(z[i]), over that of exp(z). Powers of e to distinct rationals are independent over the rationals
 * (Lindemann and Weierstrass). So it is 0 if and only if for each output the sum of d[i] - d[y] over those equal to it is 0. */
static clarke_status
meet_by_sums(search *w, const size_t *group, size_t groups, clarke_error *err)
{
  const clarke_question *q = w->q;
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < groups && status == CLARKE_OK; k++) {
    clarke_matrix seed;

    clarke_matrix_init(&seed);
    status = clarke_loss_group_seed(&seed, &q->loss, &q->replay->near, q->replay->near_sample, group, k, err);
    if (status == CLARKE_OK)
      status = meet_from(w, &seed, NULL, err);
    clarke_matrix_clear(&seed);
    if (status == CLARKE_OK)
      status = clarke_work_check(err);
  }
  return status;
}

/* Cross entropy where each column's outputs are its own, and exact. */
static bool
has_sums(const clarke_question *q)
{
  const clarke_matrix *out = &q->replay->near.value[q->g->output];
  bool exact = q->loss.kind == CLARKE_LOSS_CE && !clarke_graph_couples(q->g) && out->rows <= MOST_CLASSES;

  for (size_t e = 0; e < out->rows * out->cols && exact; e++)
    exact = clarke_matrix_radius(out, e / out->cols, e % out->cols) == 0;
  return exact;
}

/* *done: the sums were asked. */
static clarke_status
try_sums(bool *done, search *w, clarke_error *err)
{
  const clarke_forward *f = &w->q->replay->near;
  const clarke_matrix *out = &f->value[w->q->g->output];
  size_t *group, groups;
  clarke_status status = CLARKE_OK;

  group = malloc((out->rows * out->cols + 1) * sizeof *group);
  if (group == NULL)
    return clarke_no_memory(err);
  groups = clarke_loss_groups(group, f);
  *done = w->q->g->activations <= WORK / (groups * f->n + 1);
  if (*done)
    status = meet_by_sums(w, group, groups, err);
  free(group);
  return status;
}

static clarke_status
meet_from_loss(search *w, clarke_error *err)
{
  const clarke_question *q = w->q;
  bool sure = true, done = false;
  clarke_matrix seed;
  clarke_status status;

  clarke_matrix_init(&seed);
  status = clarke_loss_seed(&seed, &q->loss, &q->replay->near, q->replay->near_sample, err);
  if (status == CLARKE_OK)
    status = meet_from(w, &seed, has_sums(q) ? &sure : NULL, err);
  if (status == CLARKE_OK && !sure)
    status = try_sums(&done, w, err);
  if (status == CLARKE_OK && !sure && !done) { /* what is open counts as not 0 */
    status = clarke_loss_seed(&seed, &q->loss, &q->replay->near, q->replay->near_sample, err);
    if (status == CLARKE_OK)
      status = meet_from(w, &seed, NULL, err);
  }
  clarke_matrix_clear(&seed);
  return status;
}

/* --- a chain's effect --------------------------------------------------------------------------- */

/* The loss's derivative by that entry under the sides, over the near samples. */
static clarke_status
derivative_under(arb_t to, const search *w, const clarke_branch *side, const clarke_direction *along, clarke_error *err)
{
  const clarke_graph *g = w->q->g;
  const clarke_forward *f = &w->q->replay->near;
  clarke_matrix *d = clarke_matrices_new(g->n_parameters), *tangent = clarke_matrices_new(g->n_values), seed;
  bool *keep = calloc(g->n_values + 1, sizeof *keep);
  clarke_slopes slopes;
  clarke_status status = d != NULL && tangent != NULL && keep != NULL ? clarke_direction_matrices(d, along, g, err)
                                                                      : clarke_no_memory(err);

  clarke_slopes_init(&slopes);
  clarke_matrix_init(&seed);
  arb_zero(to);
  if (status == CLARKE_OK)
    status = clarke_question_slopes(&slopes, w->q, side, err);
  if (status == CLARKE_OK) {
    keep[g->output] = true;
    status = clarke_tangent_enclose(tangent, keep, f, &slopes, d, PRECISION, err);
  }
  if (status == CLARKE_OK)
    status = clarke_loss_seed(&seed, &w->q->loss, f, w->q->replay->near_sample, err);
  if (status == CLARKE_OK && tangent[g->output].rows > 0)
    status = clarke_matrix_hadamard(&seed, &seed, &tangent[g->output], err);
  for (size_t e = 0; status == CLARKE_OK && tangent[g->output].rows > 0 && e < seed.rows * seed.cols; e++) {
    arb_t x;

    arb_init(x);
    clarke_matrix_get_ball(x, &seed, e / seed.cols, e % seed.cols, PRECISION);
    arb_add(to, to, x, PRECISION);
    arb_clear(x);
  }
  clarke_slopes_clear(&slopes);
  clarke_matrix_clear(&seed);
  clarke_matrices_free(d, g->n_parameters);
  clarke_matrices_free(tangent, g->n_values);
  free(keep);
  return status;
}

/* The base, but for the chain that begins with that side of touch k. */
static void
switch_chain(clarke_branch *side, const search *w, size_t k, clarke_branch first)
{
  memcpy(side, w->base, w->q->replay->n_touches * sizeof *side);
  side[k] = first;
  for (; w->next[k] != CLARKE_NONE; k = w->next[k])
    side[w->next[k]] = w->to[k];
}

/* Does the derivative by that entry surely change with the chain? Then it is the witness. */
static clarke_status
try_chain(clarke_zone_found *z, search *w, size_t k, clarke_branch first, size_t parameter, size_t entry, clarke_error *err)
{
  clarke_branch *side = malloc((w->q->replay->n_touches + 1) * sizeof *side);
  clarke_direction along;
  arb_t before, after;
  mpq_t one;
  clarke_status status;

  if (side == NULL)
    return clarke_no_memory(err);
  clarke_direction_init(&along);
  arb_init(before);
  arb_init(after);
  mpq_init(one);
  mpq_set_ui(one, 1, 1);
  switch_chain(side, w, k, first);
  status = clarke_direction_move(&along, CLARKE_MOVE_AT, parameter, entry, one, err);
  if (status == CLARKE_OK)
    status = derivative_under(before, w, w->base, &along, err);
  if (status == CLARKE_OK)
    status = derivative_under(after, w, side, &along, err);
  w->tries++;
  if (status == CLARKE_OK && !arb_overlaps(before, after)) {
    *z = (clarke_zone_found){CLARKE_ZONE_BIFURCATION, NULL, side, parameter, entry};
    side = NULL;
  }
  arb_clear(before);
  arb_clear(after);
  mpq_clear(one);
  clarke_direction_clear(&along);
  free(side);
  return status;
}

/* --- the search --------------------------------------------------------------------------------- */

/* An entry by which the derivative is surely not zero; false: there is none. *zero: all are. */
static bool
sure_entry(size_t *parameter, size_t *entry, bool *zero, const clarke_matrix *gradient, const clarke_graph *g)
{
  bool found = false;
  mpq_t nothing;

  mpq_init(nothing);
  *zero = true;
  for (size_t p = 0; p < g->n_parameters && !found; p++)
    for (size_t e = 0; e < gradient[p].rows && !found; e++) {
      const int sign = clarke_matrix_compare(&gradient[p], e, 0, nothing);

      *zero = *zero && sign == 0;
      found = sign == 1 || sign == -1;
      *parameter = p;
      *entry = e;
    }
  mpq_clear(nothing);
  return found;
}

/* Where the argument of touch k, or its option's less the first, comes from. */
static clarke_status
follow(clarke_zone_found *z, bool *open, search *w, size_t k, clarke_branch side, size_t condition, clarke_error *err)
{
  const clarke_graph *g = w->q->g;
  const clarke_branch to = w->q->replay->touch[k].n_options > 0 ? CLARKE_OPTION(condition) : CLARKE_RIGHT;
  clarke_matrix *gradient = clarke_matrices_new(g->n_parameters), *grad = clarke_matrices_new(g->n_values);
  size_t parameter = 0, entry = 0;
  bool coupled, zero = false;
  clarke_status status = gradient != NULL && grad != NULL
                           ? clarke_touch_meets(gradient, grad, &coupled, &w->columns, k, side, condition, err)
                           : clarke_no_memory(err);

  if (status == CLARKE_OK && sure_entry(&parameter, &entry, &zero, gradient, g) && w->tries < TRIES)
    status = try_chain(z, w, k, to, parameter, entry, err);
  *open = *open || !zero;
  if (status == CLARKE_OK && zero)
    meet(w, grad, coupled ? CLARKE_NONE : w->q->replay->touch[k].column, k, to);
  clarke_matrices_free(gradient, g->n_parameters);
  clarke_matrices_free(grad, g->n_values);
  return status;
}

/* Touches behind one that is followed to a parameter are not looked for: the zone is no compensation then. */
static clarke_status
follow_all(clarke_zone_found *z, search *w, clarke_error *err)
{
  const clarke_replay *r = w->q->replay;
  const size_t row = w->q->g->activations / (clarke_graph_couples(w->q->g) ? 1 : r->samples) + clarke_graph_wrt_count(w->q->g);
  bool open = false;
  clarke_status status = CLARKE_OK;

  for (; w->at < w->n && status == CLARKE_OK && z->zone == CLARKE_ZONE_UNKNOWN; w->at++) {
    const size_t k = w->queue[w->at], options = r->touch[k].n_options;

    for (size_t c = options > 0; c < clarke_touch_conditions(&r->touch[k]); c++) {
      w->work += row;
      if (w->work > WORK)
        return CLARKE_OK;
      status = clarke_work_check(err);
      if (status == CLARKE_OK)
        status = follow(z, &open, w, k, options > 0 ? CLARKE_OPTION(0) : CLARKE_RIGHT, c, err);
      if (status != CLARKE_OK || z->zone != CLARKE_ZONE_UNKNOWN)
        break;
    }
  }
  if (status != CLARKE_OK || z->zone != CLARKE_ZONE_UNKNOWN || open || w->loose_met || w->loose.constant)
    return status;
  *z = (clarke_zone_found){CLARKE_ZONE_COMPENSATION, w->met, NULL, CLARKE_NONE, CLARKE_NONE};
  w->met = NULL;
  return CLARKE_OK;
}

static bool
is_flat(const clarke_marking *m, size_t k)
{
  for (size_t c = 0; c < clarke_touch_conditions(&m->q->replay->touch[k]); c++)
    if (clarke_marking_degree(m, k, c) != 0)
      return false;
  return true;
}

/* What no choice moves, and ties that choices may part. *moving: does any touch move? */
static clarke_status
mark(search *w, bool *moving, clarke_error *err)
{
  const size_t n = w->q->replay->n_touches;
  bool *among = calloc(n + 1, sizeof *among);
  clarke_marking m;
  clarke_status status = among != NULL ? clarke_marking_run(&m, w->q, NULL, err) : clarke_no_memory(err);

  *moving = false;
  if (status != CLARKE_OK) {
    free(among);
    return status;
  }
  for (size_t k = 0; k < n; k++) {
    w->flat[k] = is_flat(&m, k);
    among[k] = !w->flat[k];
    *moving = *moving || among[k];
  }
  if (*moving)
    status = clarke_loose_find(&w->loose, &m, among, err);
  clarke_marking_clear(&m);
  free(among);
  return status;
}

static clarke_status
begin(search *w, const clarke_question *q, clarke_error *err)
{
  const size_t n = q->replay->n_touches;

  *w = (search){.q = q,
                .base = calloc(n + 1, sizeof *w->base),
                .flat = calloc(n + 1, sizeof *w->flat),
                .met = calloc(n + 1, sizeof *w->met),
                .queue = calloc(n + 1, sizeof *w->queue),
                .next = calloc(n + 1, sizeof *w->next),
                .to = calloc(n + 1, sizeof *w->to)};
  if (w->base == NULL || w->flat == NULL || w->met == NULL || w->queue == NULL || w->next == NULL || w->to == NULL)
    return clarke_no_memory(err);
  for (size_t k = 0; k < n; k++)
    w->base[k] = clarke_side_numbered(&q->replay->touch[k], 0);
  return CLARKE_OK;
}

static void
end(search *w)
{
  free(w->base);
  free(w->flat);
  free(w->met);
  free(w->queue);
  free(w->next);
  free(w->to);
  clarke_loose_clear(&w->loose, w->q->g);
  if (w->columns.q != NULL)
    clarke_columns_clear(&w->columns);
}

/* In samples in which no kink is touched, every tie is of entries that are one function near w, which is smooth there: they
 * have one derivative, whatever is chosen at the ties before them. */
static clarke_status
untouched(clarke_zone_found *z, bool ties, clarke_error *err)
{
  z->cut = ties ? calloc(1, sizeof *z->cut) : NULL;
  if (ties && z->cut == NULL)
    return clarke_no_memory(err);
  z->zone = ties ? CLARKE_ZONE_COMPENSATION : CLARKE_ZONE_REGULAR;
  return CLARKE_OK;
}

/* *reached: may the loss have a derivative by what a touch that moves computes, or by a loose window, which is not asked? Where no way leads from
 * there to the loss nothing is met, and no derivative needs to be computed. */
static clarke_status
may_meet(bool *reached, const search *w, clarke_error *err)
{
  const size_t n = w->q->replay->n_touches;
  bool *effect = malloc((n + 1) * sizeof *effect);
  clarke_status status = effect != NULL ? clarke_effect_find(effect, w->q, err) : clarke_no_memory(err);

  *reached = w->loose.any;
  for (size_t k = 0; k < n && status == CLARKE_OK; k++)
    *reached = *reached || (effect[k] && !w->flat[k]);
  free(effect);
  return status;
}

clarke_status
clarke_zone_find(clarke_zone_found *z, const clarke_question *q, bool ties, clarke_error *err)
{
  search w;
  bool moving = false, reached = false;
  clarke_status status;

  clarke_zone_clear(z);
  if (q->replay->open > 0)
    return CLARKE_OK;
  if (q->replay->n_touches == 0)
    return untouched(z, ties, err);
  clarke_work_begin("zone", 0);
  status = begin(&w, q, err);
  if (status == CLARKE_OK)
    status = mark(&w, &moving, err);
  if (status == CLARKE_OK && moving)
    status = may_meet(&reached, &w, err);
  if (status == CLARKE_OK && reached)
    status = clarke_columns_init(&w.columns, q, w.base, err);
  if (status == CLARKE_OK && reached)
    status = meet_from_loss(&w, err);
  if (status == CLARKE_OK)
    status = follow_all(z, &w, err);
  end(&w);
  CLARKE_VERIFY_CHECK(status != CLARKE_OK || clarke_zone_is_valid(z, q));
  return status;
}
