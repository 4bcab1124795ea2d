/* Directions for a cell. Layer by layer first (Theorem 8: nonempty P_l for all l), each by N-1's
 * closed form or by its system, the deepest layer dominating; else the global system, which
 * decides strictly more. Nothing counts before the cell's own check has passed. */
#include "audit/realize.h"

#include "audit/layer_system.h"
#include "audit/theorems/two_kinks.h"

#include <stdlib.h>
#include <string.h>

static bool
step_moves(size_t step, const clarke_cell *cell, const clarke_question *q)
{
  for (size_t k = 0; k < q->replay->n_touches; k++)
    if (q->replay->touch[k].step == step && clarke_cell_moves(cell, q, k))
      return true;
  return false;
}

/* The layer of the MAX that pools this one, when windows of it move: its system holds both. */
static clarke_layer *
pooled_by(clarke_audit *a, const clarke_layer *layer, const clarke_cell *cell,
          const clarke_question *q)
{
  for (size_t i = 0; i < a->n_layers; i++)
    if (clarke_graph_inner(q->g, a->layer[i].step) == layer->step &&
        step_moves(a->layer[i].step, cell, q))
      return &a->layer[i];
  return NULL;
}

static void
drop_directions(clarke_cell *cell)
{
  for (size_t i = 0; i < cell->n; i++)
    clarke_direction_clear(&cell->direction[i]);
  cell->n = 0;
}

/* What the layers' systems told. */
typedef struct {
  bool closed_form; /* a layer had a direction of closed form */
  bool refuted;     /* the rows of an empty system are rows of the global one too */
} findings;

/* Does a layer's segment reach back to the inputs? Then its rows are not cut. */
static bool
reaches_inputs(const clarke_layer *layer, const clarke_graph *g)
{
  for (size_t i = 0; i < layer->step; i++)
    if (i != clarke_graph_inner(g, layer->step) && clarke_step_ends_layer(&g->steps[i]))
      return false;
  return true;
}

/* Does the direction move all of a layer's touches to their sides, by itself? */
static clarke_status
moves_layer(bool *moves, clarke_direction *d, const clarke_layer *layer, const clarke_cell *cell,
            const clarke_question *q, clarke_error *err)
{
  clarke_cell alone = *cell; /* borrowed */

  alone.direction = d;
  alone.n = 1;
  return clarke_cell_verify(moves, layer->step, &alone, q, err);
}

/* One layer's direction; *found tells whether there is one. */
static clarke_status
layer_direction(bool *found, clarke_cell *cell, clarke_layer *layer, findings *f, bool closed_form,
                bool report, const clarke_question *q, clarke_error *err)
{
  clarke_direction *d = clarke_cell_direction(cell, err);
  clarke_cone_answer answer = CLARKE_CONE_UNKNOWN;
  clarke_status status = d != NULL ? CLARKE_OK : CLARKE_ENOMEM;
  bool known = true;

  *found = false;
  if (status == CLARKE_OK && closed_form)
    status = clarke_two_kinks(found, d, layer, cell, q, err);
  f->closed_form = f->closed_form || *found;
  if (report) {
    layer->two_kinks = *found;
    layer->blocks = (clarke_block_counts){0};
  }
  if (status == CLARKE_OK && !*found) {
    clarke_direction_clear(d);
    status = clarke_layer_system(&answer, d, report ? &layer->blocks : NULL, layer, cell, q, err);
    *found = answer == CLARKE_CONE_FEASIBLE;
    f->refuted = f->refuted || (answer == CLARKE_CONE_EMPTY && reaches_inputs(layer, q->g));
  }
  if (report && *found && !layer->two_kinks && !layer->blocks.exact && status == CLARKE_OK)
    status = moves_layer(&known, d, layer, cell, q, err);
  if (report)
    layer->feasible = *found                        ? known ? CLARKE_YES : CLARKE_UNKNOWN
                      : answer == CLARKE_CONE_EMPTY ? CLARKE_NO
                                                    : CLARKE_UNKNOWN;
  return status;
}

static clarke_status
by_layers(bool *realized, findings *f, clarke_cell *cell, clarke_audit *a, bool closed_form,
          bool report, const clarke_question *q, clarke_error *err)
{
  bool all = true;
  clarke_status status = CLARKE_OK;

  drop_directions(cell);
  *realized = false;
  for (size_t i = a->n_layers; i-- > 0 && status == CLARKE_OK;) {
    const clarke_layer *pool = pooled_by(a, &a->layer[i], cell, q);
    bool found;

    if (!step_moves(a->layer[i].step, cell, q))
      continue;
    if (pool != NULL) {
      if (report) {
        a->layer[i].pool = pool->step;
        a->layer[i].feasible = pool->feasible;
      }
      continue;
    }
    if (!all && !report)
      break;
    status = layer_direction(&found, cell, &a->layer[i], f, closed_form, report, q, err);
    all = all && found;
  }
  return status == CLARKE_OK && all ? clarke_cell_verify(realized, CLARKE_NONE, cell, q, err) : status;
}

static clarke_status
globally(bool *realized, bool refuted, clarke_cell *cell, clarke_audit *a, bool report,
         const clarke_question *q, clarke_error *err)
{
  clarke_cone_answer answer = CLARKE_CONE_EMPTY;
  clarke_direction *d;
  clarke_status status = CLARKE_OK;

  drop_directions(cell);
  d = clarke_cell_direction(cell, err);
  if (d == NULL)
    return CLARKE_ENOMEM;
  if (!refuted)
    status = clarke_first_order(&answer, d, cell, q, err);
  if (status == CLARKE_OK && answer == CLARKE_CONE_FEASIBLE)
    status = clarke_cell_verify(realized, CLARKE_NONE, cell, q, err);
  if (report) {
    a->global_tried = true;
    a->global = *realized                      ? CLARKE_YES
                : answer == CLARKE_CONE_EMPTY ? CLARKE_NO
                                              : CLARKE_UNKNOWN;
  }
  return status;
}

/* Has the cell a moving touch at a proxy that is no side's slope? */
static bool
has_open_side(const clarke_cell *cell, const clarke_question *q)
{
  for (size_t k = 0; k < q->replay->n_touches; k++)
    if (cell->side[k] == CLARKE_PROXY && clarke_cell_moves(cell, q, k))
      return true;
  return false;
}

/* With directions for all touches that do not rest. */
static clarke_status
realize(bool *realized, clarke_cell *cell, clarke_audit *a, bool report, const clarke_question *q,
        clarke_error *err)
{
  findings f = {false, false};
  clarke_status status;

  if (has_open_side(cell, q))
    return CLARKE_OK;
  status = by_layers(realized, &f, cell, a, true, report, q, err);
  /* A closed form can miss where parameters are shared between layers. */
  if (status == CLARKE_OK && !*realized && f.closed_form)
    status = by_layers(realized, &f, cell, a, false, report, q, err);
  if (status == CLARKE_OK && !*realized)
    status = globally(realized, f.refuted, cell, a, report, q, err);
  return status;
}

/* The papers' systems ask of every touch that moves; only where they fail are those that rest looked for. */
clarke_status
clarke_realize(bool *realized, clarke_cell *cell, clarke_audit *a, bool report,
               const clarke_question *q, clarke_error *err)
{
  bool any = false;
  clarke_status status;

  *realized = false;
  status = realize(realized, cell, a, report, q, err);
  if (status == CLARKE_OK && !*realized)
    status = clarke_cell_rest(&any, cell, q, err);
  if (status == CLARKE_OK && any)
    status = realize(realized, cell, a, false, q, err);
  return status;
}

clarke_status
clarke_realize_by_layers(bool *realized, clarke_cell *cell, clarke_audit *a,
                         const clarke_question *q, clarke_error *err)
{
  findings f = {false, false};

  *realized = false;
  return has_open_side(cell, q) ? CLARKE_OK : by_layers(realized, &f, cell, a, false, false, q, err);
}
