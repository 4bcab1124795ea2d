#include "audit/audit.h"

#include "audit/balance.h"
#include "audit/blocks.h"
#include "audit/effect.h"
#include "audit/joined.h"
#include "audit/layers.h"
#include "audit/ray.h"
#include "audit/slope_hull.h"
#include "audit/realize.h"
#include "audit/reason.h"
#include "audit/tie_counts.h"
#include "audit/theorems/rank.h"
#include "audit/theorems/theorems.h"
#include "audit/touch_row.h"
#include "base/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIXED_MAX 10 /* layers with mixed proxies: 2^10 cells */

void
clarke_audit_init(clarke_audit *a)
{
  memset(a, 0, sizeof *a);
  a->verdict = CLARKE_UNDECIDED;
  a->global = CLARKE_UNKNOWN;
  clarke_tree_init(&a->tree);
  clarke_membership_init(&a->membership);
  clarke_cell_init(&a->others);
  clarke_zone_init(&a->zone);
}

static void
drop_cells(clarke_audit *a)
{
  for (size_t i = 0; i < a->n_cells; i++) {
    clarke_cell_clear(&a->cell[i]);
    if (a->weight != NULL)
      mpq_clear(a->weight[i]);
  }
  free(a->cell);
  free(a->weight);
  a->cell = NULL;
  a->weight = NULL;
  a->n_cells = 0;
}

void
clarke_audit_clear(clarke_audit *a)
{
  drop_cells(a);
  clarke_audit_drop_simplices(a);
  for (size_t i = 0; a->lambda != NULL && i < a->n_mixed; i++)
    mpq_clear(a->lambda[i]);
  free(a->mixed);
  free(a->lambda);
  clarke_membership_clear(&a->membership, 0);
  clarke_tree_clear(&a->tree);
  clarke_obstacle_clear(&a->obstacle);
  free(a->layer);
  clarke_zone_clear(&a->zone);
  clarke_balance_clear(&a->balance);
  clarke_audit_init(a);
}

static clarke_status
conclude(clarke_audit *a, clarke_verdict verdict, clarke_evidence evidence, const char *why)
{
  a->verdict = verdict;
  a->evidence = evidence;
  snprintf(a->why, sizeof a->why, "%s", why);
  return CLARKE_OK;
}

static clarke_status
new_cells(clarke_audit *a, size_t n, clarke_error *err)
{
  drop_cells(a);
  a->cell = malloc((n + 1) * sizeof *a->cell);
  if (a->cell == NULL)
    return clarke_no_memory(err);
  for (; a->n_cells < n; a->n_cells++)
    clarke_cell_init(&a->cell[a->n_cells]);
  return CLARKE_OK;
}

static void
count_touch(clarke_layer *layer, const clarke_question *q, const clarke_touch *t)
{
  size_t rows = t->n_options > 0 ? t->n_options - 1 : 1;

  layer->moving += t->step == layer->step;
  if (t->step == layer->step || t->step == clarke_graph_inner(q->g, layer->step))
    layer->constraints += rows;
}

/* AD's own pattern: its cell, the flat touches, the layers that move. */
static clarke_status
read_own_cell(clarke_audit *a, const clarke_question *q, clarke_error *err)
{
  clarke_status status = new_cells(a, 1, err);

  if (status == CLARKE_OK)
    status = clarke_cell_set(&a->cell[0], q, NULL, err);
  for (size_t k = 0; status == CLARKE_OK && k < q->replay->n_touches; k++) {
    a->flat += a->cell[0].flat[k];
    for (size_t i = 0; i < a->n_layers && !a->cell[0].flat[k]; i++)
      count_touch(&a->layer[i], q, &q->replay->touch[k]);
  }
  return status;
}

/* Is a condition of the cell at rest? */
static bool
any_rests(const clarke_cell *c, const clarke_question *q)
{
  for (size_t i = 0; i < q->replay->n_conditions; i++)
    if (c->rests[i])
      return true;
  return false;
}

static clarke_status
try_own_cell(clarke_audit *a, clarke_question *q, clarke_error *err)
{
  bool realized = false;
  clarke_status status;

  if (q->replay->n_touches == a->flat)
    return conclude(a, CLARKE_IN_BOULIGAND, CLARKE_EVIDENCE_AD,
                    q->replay->n_touches == 0
                      ? "no kink is touched: the loss is differentiable there and AD's gradient "
                        "is its gradient"
                      : "the arguments of all touched kinks are constant near the parameters: AD's "
                        "gradient is the gradient");
  status = clarke_realize(&realized, &a->cell[0], a, true, q, err);
  if (status != CLARKE_OK || !realized)
    return status;
  if (any_rests(&a->cell[0], q))
    return conclude(a, CLARKE_IN_BOULIGAND, CLARKE_EVIDENCE_AD,
                    a->cell[0].n == 0
                      ? "the arguments of all touched kinks have the gradient zero: whichever sides they take "
                        "nearby, the gradients there are close to AD's"
                      : "some touched kinks have arguments whose gradient is zero: their sides do not matter; for "
                        "the others a direction leads to points where the true gradient is close to AD's");
  return conclude(a, CLARKE_IN_BOULIGAND, CLARKE_EVIDENCE_AD,
                  a->global_tried
                    ? "a direction in all parameters at once (the global system; the layers' "
                      "systems do not suffice) leads to points where the true gradient is AD's"
                    : "in each layer a small change of its own weights takes all its kinks to the sides that AD takes "
                      "(Theorem 8: the systems P_l have directions), and leads to points where the true gradient is AD's");
}

/* The lambda that a layer's moving touches share, when it lies in (0, 1). */
static bool
shared_lambda(mpq_t lambda, const clarke_question *q, const clarke_cell *own, size_t step)
{
  bool begun = false;

  for (size_t k = 0; k < q->replay->n_touches; k++) {
    if (q->replay->touch[k].step != step || !clarke_cell_moves(own, q, k))
      continue;
    if (begun && !mpq_equal(lambda, q->touch[k].lambda))
      return false;
    mpq_set(lambda, q->touch[k].lambda);
    begun = true;
  }
  return begun && mpq_sgn(lambda) > 0 && mpq_cmp_ui(lambda, 1, 1) < 0;
}

static clarke_status
mixed_init(clarke_audit *a, clarke_error *err)
{
  a->mixed = malloc((a->n_layers + 1) * sizeof *a->mixed);
  a->lambda = malloc((a->n_layers + 1) * sizeof *a->lambda);
  if (a->mixed != NULL && a->lambda != NULL)
    return CLARKE_OK;
  free(a->lambda);
  a->lambda = NULL;
  return clarke_no_memory(err);
}

/* Finds the mixed layers; false when some layer's proxies are neither one-sided nor one mix. */
static bool
find_mixed(clarke_audit *a, const clarke_question *q)
{
  for (size_t i = 0; i < a->n_layers; i++) {
    bool mixed = false;

    for (size_t k = 0; k < q->replay->n_touches; k++)
      mixed = mixed || (q->replay->touch[k].step == a->layer[i].step && q->touch[k].ad_side == CLARKE_PROXY &&
                        clarke_cell_moves(&a->cell[0], q, k));
    if (!mixed)
      continue;
    mpq_init(a->lambda[a->n_mixed]);
    a->mixed[a->n_mixed++] = i;
    if (!shared_lambda(a->lambda[a->n_mixed - 1], q, &a->cell[0], a->layer[i].step))
      return false;
  }
  return a->n_mixed > 0 && a->n_mixed <= MIXED_MAX;
}

/* The sides of the mixed cell number m: the first mixed layer is the highest bit, 0 being -. */
static void
mixed_sides(clarke_branch *side, const clarke_audit *a, const clarke_question *q, size_t m)
{
  for (size_t k = 0; k < q->replay->n_touches; k++) {
    side[k] = q->touch[k].ad_side;
    for (size_t i = 0; i < a->n_mixed; i++)
      if (q->replay->touch[k].step == a->layer[a->mixed[i]].step && q->replay->touch[k].n_options == 0)
        side[k] = (m >> (a->n_mixed - 1 - i)) & 1 ? CLARKE_RIGHT : CLARKE_LEFT;
  }
}

/* Theorem 4's argument with any realizing directions: all sign choices of the mixed layers. */
static clarke_status
try_mixed(clarke_audit *a, clarke_question *q, clarke_error *err)
{
  clarke_branch *side;
  bool realized = true;
  size_t n;
  clarke_status status = mixed_init(a, err);

  if (status != CLARKE_OK || !find_mixed(a, q))
    return status;
  side = malloc((q->replay->n_touches + 1) * sizeof *side);
  if (side == NULL)
    return clarke_no_memory(err);
  n = (size_t)1 << a->n_mixed;
  status = new_cells(a, n, err);
  for (size_t m = 0; m < n && realized && status == CLARKE_OK; m++) {
    mixed_sides(side, a, q, m);
    status = clarke_cell_set(&a->cell[m], q, side, err);
    if (status == CLARKE_OK)
      status = clarke_realize(&realized, &a->cell[m], a, false, q, err);
  }
  free(side);
  if (status != CLARKE_OK || !realized)
    return status;
  return conclude(a, CLARKE_IN_CLARKE, CLARKE_EVIDENCE_MIX,
                  "each layer's proxies are one mix of the two sides (Theorem 4), and every choice "
                  "of sides is realized: AD's gradient is their convex combination");
}

/* The cells among the leaves that directions realize. */
static clarke_status
realize_leaves(clarke_cell *cell, bool *realized, clarke_branch **side, size_t n, clarke_audit *a,
               const clarke_question *q, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < n && status == CLARKE_OK; i++) {
    status = clarke_cell_set(&cell[i], q, side[i], err);
    if (status == CLARKE_OK)
      status = clarke_realize(&realized[i], &cell[i], a, false, q, err);
  }
  return status;
}

/* Keeps the cells that balance, which are realized. */
static clarke_status
keep_balance(clarke_audit *a, clarke_cell *cell, const size_t *chosen, size_t n, clarke_error *err)
{
  clarke_status status = new_cells(a, n, err);

  if (status != CLARKE_OK)
    return status;
  for (size_t i = 0; i < n; i++) {
    a->cell[i] = cell[chosen[i]];
    clarke_cell_init(&cell[chosen[i]]);
  }
  return n == 1 ? conclude(a, CLARKE_IN_BOULIGAND, CLARKE_EVIDENCE_BALANCE,
                           "a realized pattern (not AD's own) has AD's gradient")
                : conclude(a, CLARKE_IN_CLARKE, CLARKE_EVIDENCE_BALANCE,
                           "AD's gradient is a convex combination of gradients of realized patterns, "
                           "whose weights need not be rational");
}

/* By what the cells' slopes change, where gradients cannot be compared. */
static clarke_status
try_balance(clarke_audit *a, clarke_cell *cell, size_t n, const clarke_question *q, clarke_error *err)
{
  bool *effect = malloc((q->replay->n_touches + 1) * sizeof *effect);
  size_t *chosen = malloc((n + 1) * sizeof *chosen), n_chosen = 0;
  clarke_status status = effect != NULL && chosen != NULL ? clarke_effect_find(effect, q, err) : clarke_no_memory(err);

  clarke_balance_clear(&a->balance);
  if (status == CLARKE_OK)
    status = clarke_balance_find(&a->balance, chosen, &n_chosen, q, cell, n, effect, err);
  if (status == CLARKE_OK && n_chosen > 0)
    status = keep_balance(a, cell, chosen, n_chosen, err);
  free(effect);
  free(chosen);
  return status;
}

/* Keeps the realized cells that carry weight. */
static clarke_status
keep_hull(clarke_audit *a, clarke_cell *cell, size_t n, clarke_membership *m, clarke_error *err)
{
  size_t kept = 0;
  clarke_status status;

  for (size_t i = 0; i < n; i++)
    kept += mpq_sgn(m->weight[i]) > 0;
  status = new_cells(a, kept, err);
  a->weight = status == CLARKE_OK ? malloc((kept + 1) * sizeof *a->weight) : NULL;
  if (a->weight == NULL) {
    drop_cells(a);
    return clarke_no_memory(err);
  }
  kept = 0;
  for (size_t i = 0; i < n; i++) {
    if (mpq_sgn(m->weight[i]) == 0)
      continue;
    a->cell[kept] = cell[i];
    clarke_cell_init(&cell[i]);
    mpq_init(a->weight[kept]);
    mpq_set(a->weight[kept++], m->weight[i]);
  }
  return kept == 1 ? conclude(a, CLARKE_IN_BOULIGAND, CLARKE_EVIDENCE_HULL,
                              "a realized pattern (not AD's own) has AD's gradient")
                   : conclude(a, CLARKE_IN_CLARKE, CLARKE_EVIDENCE_HULL,
                              "AD's gradient is a convex combination of gradients of realized "
                              "patterns");
}

/* By slopes, where numbers do not tell. */
static clarke_status
try_slopes(clarke_membership *m, const clarke_question *q, const clarke_cell *cell, size_t n, clarke_error *err)
{
  bool *effect = malloc((q->replay->n_touches + 1) * sizeof *effect);
  clarke_status status = effect != NULL ? clarke_effect_find(effect, q, err) : clarke_no_memory(err);

  if (status == CLARKE_OK)
    status = clarke_slope_hull_find(m, q, cell, n, effect, err);
  free(effect);
  return status;
}

/* Is AD in the hull of the realized leaves? The first n of side and cell are realized. */
static clarke_status
try_hull(clarke_audit *a, clarke_branch **side, size_t n, const clarke_question *q, clarke_error *err)
{
  clarke_cell *cell = malloc((n + 1) * sizeof *cell);
  bool *realized = calloc(n + 1, sizeof *realized);
  clarke_membership m;
  size_t kept = 0;
  clarke_status status;

  if (cell == NULL || realized == NULL) {
    free(cell);
    free(realized);
    return clarke_no_memory(err);
  }
  for (size_t i = 0; i < n; i++)
    clarke_cell_init(&cell[i]);
  clarke_membership_init(&m);
  status = realize_leaves(cell, realized, side, n, a, q, err);
  for (size_t i = 0; i < n && status == CLARKE_OK; i++)
    if (realized[i]) {
      clarke_cell moved = cell[i];

      cell[i] = cell[kept];
      cell[kept] = moved;
      side[kept++] = side[i];
    }
  a->obstacle.realized = kept;
  if (status == CLARKE_OK && kept > 0 && a->membership.exact)
    status = clarke_membership_find(&m, q, side, kept, err);
  if (status == CLARKE_OK && kept > 0 && m.place == CLARKE_HULL_UNKNOWN)
    status = try_slopes(&m, q, cell, kept, err);
  if (status == CLARKE_OK && m.place == CLARKE_HULL_INSIDE)
    status = keep_hull(a, cell, kept, &m, err);
  else if (status == CLARKE_OK && kept > 0 && m.place == CLARKE_HULL_UNKNOWN)
    status = try_balance(a, cell, kept, q, err);
  clarke_membership_clear(&m, kept);
  for (size_t i = 0; i < n; i++)
    clarke_cell_clear(&cell[i]);
  free(cell);
  free(realized);
  return status;
}

static clarke_status
try_enumeration(clarke_audit *a, clarke_question *q, clarke_error *err)
{
  clarke_branch **side;
  size_t n;
  clarke_status status = clarke_enumerate(&a->tree, q, err);

  if (status == CLARKE_OK && !a->tree.complete)
    clarke_obstacle_meet(&a->obstacle, a->tree.n > 0 ? CLARKE_OBSTACLE_LIST : CLARKE_OBSTACLE_PATTERNS, 0);
  if (status != CLARKE_OK || !a->tree.complete)
    return status;
  side = clarke_tree_leaves(&a->tree, &n);
  if (side == NULL)
    return clarke_no_memory(err);
  status = clarke_membership_find(&a->membership, q, side, n, err);
  if (status == CLARKE_OK && a->membership.place == CLARKE_HULL_OUTSIDE)
    conclude(a, CLARKE_NOT_IN_CLARKE, CLARKE_EVIDENCE_SEPARATOR,
             "a vector separates AD's output from the gradients of all patterns that can occur "
             "nearby");
  else if (status == CLARKE_OK) {
    a->obstacle.kind = a->membership.place == CLARKE_HULL_INSIDE ? CLARKE_OBSTACLE_OCCUR : CLARKE_OBSTACLE_COMPARE;
    a->obstacle.patterns = n;
    status = try_hull(a, side, n, q, err);
    clarke_membership_clear(&a->membership, n);
  }
  free(side);
  return status;
}

static clarke_status
try_opposites(clarke_audit *a, clarke_question *q, clarke_error *err)
{
  clarke_cell cell[2];
  clarke_membership m;
  clarke_status status;

  clarke_cell_init(&cell[0]);
  clarke_cell_init(&cell[1]);
  clarke_membership_init(&m);
  status = clarke_slope_hull_of_opposites(&m, cell, q, err);
  if (status == CLARKE_OK && m.place == CLARKE_HULL_INSIDE)
    status = keep_hull(a, cell, 2, &m, err);
  clarke_membership_clear(&m, 2);
  clarke_cell_clear(&cell[0]);
  clarke_cell_clear(&cell[1]);
  return status;
}

/* Is AD in the hull of cells that random directions lead to? Where patterns are too many to list them, some are enough. */
static clarke_status
try_rays(clarke_audit *a, clarke_question *q, clarke_error *err)
{
  clarke_cell cell[CLARKE_RAYS];
  clarke_branch *side[CLARKE_RAYS];
  clarke_membership m;
  uint64_t state = 1;
  size_t n = 0;
  clarke_status status = CLARKE_OK;

  if (clarke_graph_wrt_count(q->g) > CLARKE_RAY_ENTRIES || !clarke_whole_rows_reachable(q))
    return CLARKE_OK;
  for (size_t i = 0; i < CLARKE_RAYS; i++)
    clarke_cell_init(&cell[i]);
  for (size_t i = 0; i < CLARKE_RAYS && status == CLARKE_OK; i++) {
    bool realized;

    status = clarke_ray_cell(&realized, &cell[n], &state, false, q, err);
    side[n] = cell[n].side;
    n += status == CLARKE_OK && realized;
  }
  clarke_membership_init(&m);
  if (status == CLARKE_OK && n > 0)
    status = clarke_membership_find(&m, q, side, n, err);
  if (status == CLARKE_OK && n > 0 && m.place == CLARKE_HULL_UNKNOWN)
    status = try_slopes(&m, q, cell, n, err);
  if (status == CLARKE_OK && m.place == CLARKE_HULL_INSIDE)
    status = keep_hull(a, cell, n, &m, err);
  else if (status == CLARKE_OK && n > 0 && m.place == CLARKE_HULL_UNKNOWN)
    status = try_balance(a, cell, n, q, err);
  clarke_membership_clear(&m, n);
  for (size_t i = 0; i < CLARKE_RAYS; i++)
    clarke_cell_clear(&cell[i]);
  return status;
}

/* By the filters, or other blocks, that have no direction: there trees are small, and hulls of few dimensions. */
static clarke_status
try_blocks(clarke_audit *a, clarke_question *q, clarke_error *err)
{
  clarke_status status;

  if (a->n_cells != 1 || a->evidence != CLARKE_EVIDENCE_NONE)
    return CLARKE_OK;
  status = clarke_settle_blocks(a, q, err);
  if (status != CLARKE_OK || a->membership.place != CLARKE_HULL_INSIDE)
    clarke_audit_drop_simplices(a);
  if (status == CLARKE_OK && a->membership.place == CLARKE_HULL_OUTSIDE)
    return conclude(a, CLARKE_NOT_IN_CLARKE, CLARKE_EVIDENCE_BOUND,
                    "in the parameters of one block of a layer a vector separates AD's output from the "
                    "gradients of all patterns that can occur nearby");
  clarke_membership_clear(&a->membership, 0);
  return status;
}

/* By kinks that take their sides together, in all layers. */
static clarke_status
try_joined(clarke_audit *a, clarke_question *q, clarke_error *err)
{
  bool separated;
  clarke_status status = clarke_settle_joined(&separated, a, q, err);

  if (status == CLARKE_OK && separated)
    return conclude(a, CLARKE_NOT_IN_CLARKE, CLARKE_EVIDENCE_BOUND,
                    "a vector separates AD's output from the gradients of all patterns that can occur nearby: kinks whose arguments are "
                    "one function near these weights, or minus it, take their sides together");
  clarke_membership_clear(&a->membership, 0);
  return status;
}

/* The zone, if it is not known yet. */
static clarke_status
find_zone(clarke_audit *a, clarke_question *q, clarke_error *err)
{
  bool ties = false;

  if (a->zone_asked)
    return CLARKE_OK;
  a->zone_asked = true;
  for (size_t i = 0; i < a->n_layers; i++)
    ties = ties || a->layer[i].ties > 0;
  return clarke_zone_find(&a->zone, q, ties, err);
}

/* Where no choice at a touched kink changes the result, AD's is the only element that the Clarke set has. */
static clarke_status
try_zone(clarke_audit *a, clarke_question *q, clarke_error *err)
{
  clarke_status status = find_zone(a, q, err);

  if (status != CLARKE_OK || a->zone.zone != CLARKE_ZONE_COMPENSATION)
    return status;
  return conclude(a, CLARKE_IN_BOULIGAND, CLARKE_EVIDENCE_COMPENSATION,
                  "compensation: no choice of slopes at touched kinks, or of entries at ties, changes what "
                  "backpropagation computes, so the Clarke subdifferential is AD's gradient alone");
}

/* The simplices found, when the list of patterns has said no more: it may hold AD's gradient itself. */
static clarke_status
recall_simplices(clarke_audit *a, clarke_question *q, clarke_error *err)
{
  bool alone = true; /* has every block one cell? */

  (void)q;
  (void)err;
  if (a->n_simplices == 0)
    return CLARKE_OK;
  for (size_t i = 0; i < a->n_simplices; i++)
    alone = alone && a->simplex[i].n == 1;
  if (alone)
    return conclude(a, CLARKE_IN_BOULIGAND, CLARKE_EVIDENCE_SIMPLICES,
                    "in each block of a layer whose system has no direction another realized pattern (not AD's "
                    "own) has AD's gradient; the other touches have directions");
  return conclude(a, CLARKE_IN_CLARKE, CLARKE_EVIDENCE_SIMPLICES,
                  "in each block of a layer whose system has no direction AD's gradient is a convex "
                  "combination of gradients of realized patterns; the other touches have directions");
}

/* With an open entry nothing is known of the pattern itself. Of cross entropy no gradient is rational, so no list of patterns tells
 * of a stronger verdict than a mean of slopes. */
static clarke_status
judge(clarke_audit *a, clarke_question *q, clarke_error *err)
{
  typedef clarke_status search(clarke_audit *a, clarke_question *q, clarke_error *err);
  enum { SEARCHES = 9 };
  static search *const searches[2][SEARCHES] = {
    {try_own_cell, try_zone, try_mixed, try_blocks, try_enumeration, recall_simplices, try_opposites, try_rays, try_joined},
    {try_own_cell, try_zone, try_mixed, try_blocks, try_opposites, try_enumeration, recall_simplices, try_rays, try_joined},
  };
  clarke_status status = CLARKE_OK;

  if (q->replay->open > 0) {
    clarke_obstacle_meet(&a->obstacle, CLARKE_OBSTACLE_PRECISION, 0);
    return CLARKE_OK;
  }
  for (size_t i = 0; i < SEARCHES && status == CLARKE_OK && a->verdict == CLARKE_UNDECIDED; i++)
    status = searches[q->loss.kind == CLARKE_LOSS_CE][i](a, q, err);
  return status;
}

clarke_status
clarke_audit_run(clarke_audit *a, clarke_question *q, bool all_ranks, clarke_error *err)
{
  clarke_status status = clarke_layers_read(a, q, err);

  if (status == CLARKE_OK)
    status = clarke_layer_ranks(a, q, all_ranks, err);
  if (status == CLARKE_OK)
    status = read_own_cell(a, q, err);
  if (status == CLARKE_OK)
    status = judge(a, q, err);
  if (status == CLARKE_OK && a->verdict == CLARKE_UNDECIDED)
    clarke_reason_write(a, q);
  if (status == CLARKE_OK)
    clarke_theorems_judge(a, q);
  if (status == CLARKE_OK)
    status = find_zone(a, q, err);
  if (status == CLARKE_OK)
    status = clarke_audit_count_derivatives(a, q, err);
  CLARKE_VERIFY_CHECK(status != CLARKE_OK || clarke_audit_is_valid(a, q));
  return status;
}
