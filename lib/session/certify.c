#include "session/certify.h"

#include "base/stop.h"
#include "session/checkpoint.h"
#include "session/gradient.h"
#include "trace/sums/summation.h"

#include <stdlib.h>
#include <string.h>

void
clarke_certified_init(clarke_certified *c)
{
  memset(c, 0, sizeof *c);
  clarke_record_init(&c->record);
  clarke_audit_session_init(&c->audit);
  clarke_certify_init(&c->nodes);
  clarke_branches_init(&c->pattern);
}

void
clarke_certified_clear(clarke_certified *c)
{
  clarke_branches_clear(&c->pattern);
  clarke_certify_clear(&c->nodes);
  if (c->constants.constant != NULL)
    clarke_constants_clear(&c->constants);
  clarke_audit_session_clear(&c->audit);
  clarke_record_clear(&c->record);
  clarke_certified_init(c);
}

/* Files become a graph with the step's parameters, a batch, a loss. */
/* No bound says on which side of a jump a rounded number lies. */
static clarke_status
refuse_jumps(const clarke_graph *g, clarke_error *err)
{
  for (size_t i = 0; i < g->n_steps; i++)
    if (clarke_step_jumps(&g->steps[i]))
      return clarke_fail(err, CLARKE_EINPUT, "node %zu '%s' (%s): a function that jumps is not followed in a record. `clarke audit` "
                         "takes its graph", g->steps[i].node, g->steps[i].name, g->steps[i].op->name);
  return CLARKE_OK;
}

static clarke_status
read_step(clarke_certified *c, clarke_audit_request *ask, const clarke_certify_request *q, clarke_error *err)
{
  clarke_status status = clarke_record_open(&c->record, q->folder, q->step, err);

  if (status == CLARKE_OK)
    status = clarke_record_request(ask, &c->record, err);
  if (status == CLARKE_OK)
    status = clarke_audit_session_read(&c->audit, ask, err);
  if (status == CLARKE_OK)
    status = clarke_record_lay(&c->record.trace, &c->audit.graph, err);
  if (status == CLARKE_OK)
    status = refuse_jumps(&c->audit.graph, err);
  if (c->sieved && *c->record.trace_bytes.sha256 == '\0') /* no proof will ask for it: others take its pages */
    clarke_file_clear(&c->record.graph);
  if (status == CLARKE_OK)
    status = clarke_checkpoint_read(&c->audit, ask, err);
  clarke_file_clear(&c->record.params);
  if (status == CLARKE_OK)
    status = clarke_constants_begin(&c->constants, &c->audit.graph, err);
  if (status == CLARKE_OK && !c->sieved)
    status = clarke_constants_make(&c->constants, err);
  return status;
}

/* What an entry costs an exact pass beside a product of an entry and a weight: rationals, and a bound of each. */
#define ENTRY_PRODUCTS 32
#define EXACT_PRODUCTS 0x1p20

/* Is an exact pass over all nodes a matter of some hundredths of a second? */
static bool
is_short(const clarke_graph *g)
{
  double entries = 0;

  for (size_t i = 0; i < g->n_steps; i++) {
    const clarke_contraction *c = &g->steps[i].contraction;

    entries += (double)g->values[g->steps[i].out].count;
    if (g->steps[i].kind == CLARKE_PRODUCT)
      entries += (double)c->blocks * (double)c->rows * (double)c->inner * (double)c->cols;
  }
  return clarke_audit_is_small(g) && ENTRY_PRODUCTS * entries * (double)g->samples <= EXACT_PRODUCTS;
}

static clarke_status
certify_nodes(clarke_certified *c, clarke_error *err)
{
  clarke_certify *n = &c->nodes;
  clarke_status status;

  c->traced = c->record.step->trace.name != NULL;
  if (!c->traced)
    return CLARKE_OK;
  n->g = &c->audit.graph;
  n->constants = &c->constants;
  n->x = c->audit.x;
  n->profile = &c->audit.profile;
  n->loss = &c->audit.loss;
  n->scale = c->record.step->scale;
  n->trace = &c->record.trace;
  n->gradients = &c->record.gradients;
  n->trace_file = c->record.step->trace.name;
  n->gradients_file = c->record.step->gradients.name;
  n->log_softmax = c->audit.loss.kind == CLARKE_LOSS_CE ? c->audit.log_softmax : NULL;
  n->has_loss = c->record.step->has_loss;
  n->recorded_loss = c->record.step->loss;
  n->sieved = c->sieved && (c->small_too || !c->replayed || !is_short(&c->audit.graph));
  n->branched = c->replayed;
  n->statistics = c->record.step->statistics;
  n->n_statistics = c->record.step->n_statistics;
  status = clarke_certify_run(n, err);
  return status == CLARKE_OK ? clarke_summation_explain(n, &c->record.trees, c->record.step->trees.name, err) : status;
}

/* By the types that the record shows; by what run.json alone says where that does not explain all. */
static clarke_status
certify_by_types(clarke_certified *c, clarke_error *err)
{
  clarke_status status = clarke_record_rounding(&c->nodes.by, &c->record, &c->audit.graph, false, err);

  if (status == CLARKE_OK)
    status = certify_nodes(c, err);
  if (status != CLARKE_OK || !c->traced || !c->record.widened || clarke_certify_answer(&c->nodes) <= CLARKE_WITHIN_BOUND)
    return status;
  clarke_certify_clear(&c->nodes);
  c->claimed = true;
  status = clarke_record_rounding(&c->nodes.by, &c->record, &c->audit.graph, true, err);
  return status == CLARKE_OK ? certify_nodes(c, err) : status;
}

static bool
is_changed(const clarke_tensor *a, const clarke_tensor *b)
{
  return a->integer != NULL && b->integer != NULL
         && (a->count != b->count || memcmp(a->integer, b->integer, a->count * sizeof *a->integer) != 0);
}

/* Integers that changed and count no update that is told. */
static clarke_status
claim_counts(clarke_certified *c, clarke_error *err)
{
  static const char before[] = "before/";
  clarke_status status = CLARKE_OK;

  for (size_t t = 0; t < c->record.trace.n && status == CLARKE_OK; t++) {
    const clarke_tensor *tensor = &c->record.trace.tensor[t], *after;
    const char *name = tensor->name + strlen(before);

    if (strncmp(tensor->name, before, strlen(before)) != 0 || clarke_certify_is_told(&c->nodes, name))
      continue;
    after = clarke_certify_find(&c->nodes, "after", name);
    if (after != NULL && is_changed(tensor, after))
      status = clarke_record_tell(&c->record, err, "nothing of the buffer %s: the step changed it, and run.json does not say how", name);
  }
  return status;
}

/* Normalizations by the minibatch whose running statistics nobody tells: there may be none. */
static clarke_status
claim_normalizations(clarke_certified *c, clarke_error *err)
{
  const clarke_run_step *of = c->record.step;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < c->audit.graph.n_steps && status == CLARKE_OK; i++) {
    const char *name = c->audit.graph.steps[i].name;
    bool told = false, counted = false;

    if (clarke_certify_normalization(&c->nodes, name) != &c->audit.graph.steps[i])
      continue;
    for (size_t k = 0; k < of->n_statistics; k++)
      if (strcmp(of->statistics[k].node, name) == 0) {
        told = true;
        counted = counted || of->statistics[k].count != NULL;
      }
    if (!counted)
      status = clarke_record_tell(&c->record, err, "no %s of %s", told ? "count of updates" : "running statistics", name);
  }
  return status;
}

clarke_status
clarke_certified_again(clarke_certified *c, clarke_error *err)
{
  const clarke_rounding by = c->nodes.by;

  clarke_certify_clear(&c->nodes);
  c->nodes.by = by;
  c->sieved = false;
  return certify_nodes(c, err);
}

/* Buffers of which nothing can be said are told with what run.json claims. */
static clarke_status
claim_buffers(clarke_certified *c, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < c->nodes.n && status == CLARKE_OK; i++)
    if (c->nodes.certificate[i].part == CLARKE_STATISTIC && c->nodes.certificate[i].certainty == CLARKE_CANNOT_SAY)
      status = clarke_record_tell(&c->record, err, "nothing of the buffer %s: %s", c->nodes.certificate[i].name, c->nodes.certificate[i].why);
  if (status == CLARKE_OK && c->traced)
    status = claim_counts(c, err);
  return status == CLARKE_OK && c->traced ? claim_normalizations(c, err) : status;
}

clarke_status
clarke_certified_ask(clarke_certified *c, clarke_audit_request *ask, const clarke_certify_request *q, clarke_error *err)
{
  clarke_status status;

  c->sieved = c->record.packed = q->sieved;
  c->record.hashed = q->provable;
  c->replayed = !q->nodes_only;
  c->small_too = q->small_too;
  c->whole = q->whole;
  status = read_step(c, ask, q, err);
  if (status == CLARKE_OK)
    status = clarke_record_claims(&c->record, &c->audit, err);
  if (status == CLARKE_OK)
    status = certify_by_types(c, err);
  if (status == CLARKE_OK)
    status = claim_buffers(c, err);
  if (status == CLARKE_OK && c->replayed)
    status = clarke_tensors_unpack(&c->record.gradients, err);
  if (status == CLARKE_OK && c->replayed)
    status = clarke_certified_semantics(c, ask, err);
  if ((status == CLARKE_OK || status == CLARKE_ESTOPPED) && clarke_record_stayed(&c->record, err) != CLARKE_OK)
    status = CLARKE_EINPUT;
  if (status == CLARKE_ESTOPPED)
    c->stopped = clarke_work_stopped();
  return status == CLARKE_OK || status == CLARKE_ESTOPPED ? status : clarke_fail_in(err, status, "%s", q->folder);
}

clarke_status
clarke_certified_run(clarke_certified *c, const clarke_certify_request *q, clarke_error *err)
{
  clarke_audit_request ask = {.threads = 1};

  return clarke_certified_ask(c, &ask, q, err);
}

clarke_certainty
clarke_certified_answer(const clarke_certified *c)
{
  return c->traced && c->stopped == NULL ? clarke_certify_answer(&c->nodes) : CLARKE_CANNOT_SAY;
}
