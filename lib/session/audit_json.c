/* The audit as one JSON object (docs/tutorial.md). */
#include "audit/reason.h"
#include "op/surrogate.h"
#include "session/audit.h"
#include "session/json.h"

static json_t *
answer_json(clarke_truth a)
{
  return a == CLARKE_UNKNOWN ? json_null() : json_boolean(a == CLARKE_YES);
}

static json_t *
blocks_json(const clarke_block_counts *c)
{
  return !c->known ? json_null()
                   : json_pack("{s:I, s:I, s:I}", "all", (json_int_t)c->n, "infeasible",
                               (json_int_t)c->empty, "undecided", (json_int_t)c->open);
}

/* Null where it is not known. */
static json_t *
count_json(size_t n, bool known)
{
  return known ? json_integer((json_int_t)n) : json_null();
}

/* How many windows of a layer with tied ones hold only zeros; null where it is not known. NULL, which leaves it out, for
 * other layers. */
static json_t *
ties_of_zeros_json(const clarke_layer *l, bool known)
{
  return known && l->ties == 0 ? NULL : count_json(l->ties_of_zeros, known && l->zeros_known);
}

static json_t *
parted_json(const clarke_layer *l, bool known)
{
  return known && l->parted == 0 ? NULL : count_json(l->parted, known);
}

/* Are the touches of all layers known, and which of them move? Not where work was stopped before that. */
static bool
touches_are_judged(const clarke_audit_session *s)
{
  return clarke_audit_touches_known(s) && s->audit.theorem[0].name != NULL;
}

/* Is it known of a layer's windows which of their entries are the largest? */
static bool
ties_are_known(const clarke_layer *l, const clarke_audit_session *s)
{
  return s->graph.steps[l->step].kind != CLARKE_MAX || clarke_audit_touches_known(s);
}

/* Windows with several functions where S_j less T_j is not empty. Null where it is not known; NULL, which leaves it out, of others. */
static json_t *
tie_counts_json(const clarke_layer *l, const clarke_tie_counts *c, bool all, bool known)
{
  return l->parted == 0 && all ? NULL : !known || !all ? json_null() : json_pack("{s:I, s:I}", "windows", (json_int_t)c->windows, "entries", (json_int_t)c->entries);
}

static json_t *
layer_json(const clarke_layer *l, const clarke_audit_session *s)
{
  const clarke_graph *g = &s->graph;
  const clarke_step *step = &g->steps[l->step];
  const bool all = ties_are_known(l, s), judged = touches_are_judged(s), pools = step->kind == CLARKE_MAX;
  const bool known = s->replayed && clarke_replay_knows(&s->replay, l->step);

  return json_pack("{s:o, s:s, s:I, s:o, s:o, s:o, s:o, s:o*, s:o*, s:o*, s:o*, s:o, s:I, s:{s:o, s:I, s:o, s:b, s:o, s:o}}",
                   "name", clarke_json_text(step->name), "op", step->op->name, "neurons",
                   (json_int_t)l->neurons, "touched", count_json(l->touched, known), "moving",
                   count_json(l->moving, judged), "ties", count_json(l->ties, known || !pools), "nontrivial_ties",
                   count_json(pools ? l->touched : 0, known || !pools),
                   "ties_of_zeros", ties_of_zeros_json(l, known || !pools), "parted", parted_json(l, known || !pools),
                   "s_less_t", tie_counts_json(l, &l->by_derivative, all, l->by_derivative_known),
                   "s_less_t_by_identity", tie_counts_json(l, &l->by_identity, all, true),
                   "rank", l->rank_known ? json_integer((json_int_t)l->rank) : json_null(),
                   "columns", (json_int_t)l->columns, "system", "constraints",
                   count_json(l->constraints, judged), "variables", (json_int_t)l->variables, "feasible",
                   answer_json(!judged ? CLARKE_UNKNOWN : l->moving == 0 ? CLARKE_YES : l->feasible), "closed_form",
                   l->two_kinks, "blocks", blocks_json(&l->blocks), "pool",
                   l->pool == CLARKE_NONE ? json_null() : clarke_json_text(g->steps[l->pool].name));
}

static json_t *
theorem_json(const clarke_theorem *t)
{
  return json_pack("{s:s, s:b, s:o, s:o}", "name", t->name, "applies", t->applies, "holds",
                   t->applies ? answer_json(t->holds) : json_false(), "why", clarke_json_text(t->why));
}

/* Null where it is not known. */
static json_t *
zone_json(const clarke_audit_session *s)
{
  return s->audit.zone.zone == CLARKE_ZONE_UNKNOWN ? json_null() : json_string(clarke_zone_name(s->audit.zone.zone));
}

#define NEURONS 16 /* listed of a layer */

static json_t *
sideless_json(const clarke_audit_session *s, size_t layer)
{
  size_t neuron[NEURONS];
  const size_t n = clarke_sideless_neurons(neuron, NEURONS, &s->audit, &s->question, layer);
  json_t *list = json_array();

  for (size_t i = 0; i < n && i < NEURONS; i++)
    clarke_json_append(&list, json_integer((json_int_t)neuron[i]));
  return json_pack("{s:o, s:I, s:I, s:o}", "name", clarke_json_text(s->graph.steps[s->audit.layer[layer].step].name),
                   "sideless", (json_int_t)clarke_count_sides(&s->audit, &s->question, layer).sideless, "neurons",
                   (json_int_t)n, "first_neurons", list);
}

/* What keeps the audit undecided: the kinks without a side by layer, and where the search stopped. */
static json_t *
obstacle_json(const clarke_audit_session *s)
{
  const clarke_audit *a = &s->audit;
  const clarke_obstacle_kind kind = a->obstacle.kind;
  const clarke_side_counts all = clarke_count_sides(a, &s->question, CLARKE_NONE);
  const bool limited = kind == CLARKE_OBSTACLE_TREE || kind == CLARKE_OBSTACLE_LIST;
  json_t *layers = json_array();

  for (size_t i = 0; i < a->n_layers; i++)
    if (clarke_count_sides(a, &s->question, i).sideless > 0)
      clarke_json_append(&layers, sideless_json(s, i));
  return json_pack("{s:s, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "kind", clarke_obstacle_name(kind), "moving",
                   (json_int_t)all.moving, "sideless", (json_int_t)all.sideless, "layers", layers, "blocks",
                   (json_int_t)a->obstacle.blocks, "separated", (json_int_t)a->obstacle.separated, "systems",
                   (json_int_t)a->obstacle.systems, "recalled", (json_int_t)a->obstacle.recalled, "patterns",
                   (json_int_t)a->obstacle.patterns, "realized", (json_int_t)a->obstacle.realized, "limit",
                   limited ? json_string("tree-nodes") : json_null());
}

static json_t *
near_json(const clarke_audit_session *s, size_t i)
{
  const clarke_near *near = &s->nearest.near[i];
  clarke_near_text t;
  json_t *j = NULL;

  if (clarke_near_describe(&t, s, i, NULL) == CLARKE_OK)
    j = json_pack("{s:o, s:s, s:I, s:I, s:o, s:o, s:s, s:s, s:s}", "layer", clarke_json_text(t.step->name), "op",
                  t.step->op->name, "neuron", (json_int_t)near->feature, "sample", (json_int_t)near->sample, "kink",
                  clarke_json_text(t.kink), "distance", clarke_json_text(t.distance), "at_least", t.at_least, "ulp",
                  t.ulp, "ulps_at_least", t.ulps);
  clarke_near_text_clear(&t);
  return j;
}

/* Null where it is not known. */
static json_t *
nearest_json(const clarke_audit_session *s)
{
  json_t *list = s->near_known ? json_array() : json_null();

  for (size_t i = 0; s->near_known && i < s->nearest.n; i++)
    clarke_json_append(&list, near_json(s, i));
  return list;
}

static json_t *
sides_json(const clarke_touch_text *t)
{
  json_t *list = json_array();

  for (size_t i = 0; i < t->n_sides; i++)
    clarke_json_append(&list, t->slope != NULL ? clarke_json_text(t->slope[i]) : json_integer((json_int_t)t->option[i]));
  return list;
}

static json_t *
touch_json(const clarke_audit_session *s, size_t touch)
{
  clarke_touch_text t;
  json_t *j = NULL;

  if (clarke_touch_describe(&t, s, touch, NULL) == CLARKE_OK)
    j = json_pack("{s:o, s:s, s:I, s:I, s:o, s:o, s:o}", "layer", clarke_json_text(t.step->name), "op", t.step->op->name,
                  "neuron", (json_int_t)t.neuron, "sample", (json_int_t)t.sample, "argument",
                  clarke_json_text(t.argument), t.slope != NULL ? "slopes" : "tied", sides_json(&t), "ad",
                  clarke_json_text(t.ad));
  clarke_touch_text_clear(&t);
  return j;
}

static json_t *
touches_json(const clarke_audit_session *s)
{
  json_t *list = json_array();

  for (size_t k = 0; k < s->replay.n_touches; k++)
    clarke_json_append(&list, touch_json(s, k));
  return list;
}

static json_t *
surrogates_json(const clarke_graph *g)
{
  json_t *list = json_array();

  for (size_t i = clarke_surrogate_next(g, 0); i != CLARKE_NONE; i = clarke_surrogate_next(g, i + 1)) {
    char *text = clarke_surrogate_text(g, i);

    clarke_json_append(&list, text != NULL ? clarke_json_text(text) : NULL);
    free(text);
  }
  return list;
}

json_t *
clarke_audit_json(const clarke_audit_session *s)
{
  const clarke_audit *a = &s->audit;
  json_t *layers = json_array(), *theorems = json_array(), *j;

  for (size_t i = 0; i < a->n_layers; i++)
    clarke_json_append(&layers, layer_json(&a->layer[i], s));
  for (size_t i = 0; i < CLARKE_THEOREMS && a->theorem[i].name != NULL; i++)
    clarke_json_append(&theorems, theorem_json(&a->theorem[i]));
  j = json_pack("{s:s, s:o, s:o, s:s, s:s, s:{s:o, s:s}, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}",
                "verdict", clarke_verdict_name(a->verdict), "why", clarke_json_text(a->why), "profile",
                clarke_json_text(s->profile.name), "semantics", "real", "loss_kind",
                clarke_loss_name(s->loss.kind), "model", "name",
                clarke_json_text(s->graph.file), "sha256", s->model.sha256, "batch",
                (json_int_t)s->x->dims[0], "parameters",
                (json_int_t)clarke_graph_wrt_count(&s->graph), "touched",
                count_json(s->replay.n_touches, clarke_audit_touches_known(s)), "flat",
                count_json(a->flat, touches_are_judged(s)), "layers", layers,
                "theorems", theorems, "zone", zone_json(s), "nearest",
                nearest_json(s));
  if (j != NULL && s->output != NULL)
    clarke_json_set(&j, "output", clarke_json_text(s->output));
  if (j != NULL && s->stopped != NULL) {
    clarke_json_set(&j, "stopped", clarke_json_text(s->stopped));
    clarke_json_set(&j, "arguments", json_pack("{s:I, s:I}", "all", (json_int_t)clarke_audit_asked(s), "decided",
                                               (json_int_t)clarke_audit_decided(s)));
  }
  if (j != NULL && s->list_touched && s->replayed)
    clarke_json_set(&j, "touched_kinks", touches_json(s));
  if (j != NULL && s->zeros_asked)
    clarke_json_set(&j, "zero_gradients", clarke_zeros_json(s));
  if (j != NULL && s->zeros_asked)
    clarke_json_set(&j, "zero_direction", clarke_moved_json(s));
  if (clarke_surrogate_next(&s->graph, 0) != CLARKE_NONE)
    clarke_json_set(&j, "surrogates", surrogates_json(&s->graph));
  if (s->n_notes > 0) {
    json_t *notes = json_array();

    for (size_t i = 0; i < s->n_notes; i++)
      clarke_json_append(&notes, clarke_json_text(s->notes[i]));
    clarke_json_set(&j, "notes", notes);
  }
  if (j != NULL && a->verdict == CLARKE_UNDECIDED && s->stopped == NULL)
    clarke_json_set(&j, "obstacle", obstacle_json(s));
  if (j != NULL && s->bounded)
    clarke_json_set(&j, "gradient_within", json_real(s->within));
  if (j != NULL && s->valued)
    clarke_json_set(&j, "loss",
                        json_pack("{s:s, s:b}", "value", s->loss_value, "exact", s->loss_exact));
  return j;
}
