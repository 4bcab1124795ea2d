#include "session/certify.h"

#include "base/stop.h"
#include "session/checkpoint.h"
#include "trace/summation.h"

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
static clarke_status
read_step(clarke_certified *c, clarke_audit_request *ask, const clarke_certify_request *q, clarke_error *err)
{
  clarke_status status = clarke_record_open(&c->record, q->folder, q->step, err);

  if (status == CLARKE_OK)
    status = clarke_record_request(ask, &c->record, err);
  if (status == CLARKE_OK)
    status = clarke_audit_session_read(&c->audit, ask, err);
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
  n->sieved = c->sieved;
  n->statistics = c->record.step->statistics;
  n->n_statistics = c->record.step->n_statistics;
  status = clarke_certify_run(n, err);
  return status == CLARKE_OK ? clarke_summation_explain(n, &c->record.trees, c->record.step->trees.name, err) : status;
}

clarke_status
clarke_certified_run(clarke_certified *c, const clarke_certify_request *q, clarke_error *err)
{
  clarke_audit_request ask = {.threads = 1};
  clarke_status status;

  c->sieved = c->record.packed = q->sieved;
  c->record.hashed = q->provable;
  status = read_step(c, &ask, q, err);
  c->replayed = !q->nodes_only;
  if (status == CLARKE_OK)
    status = clarke_record_rounding(&c->nodes.by, &c->record, err);
  if (status == CLARKE_OK)
    status = certify_nodes(c, err);
  if (status == CLARKE_OK && c->replayed)
    status = clarke_tensors_unpack(&c->record.gradients, err);
  if (status == CLARKE_OK && c->replayed)
    status = clarke_certified_semantics(c, &ask, err);
  if ((status == CLARKE_OK || status == CLARKE_ESTOPPED) && clarke_record_stayed(&c->record, err) != CLARKE_OK)
    status = CLARKE_EINPUT;
  if (status == CLARKE_ESTOPPED)
    c->stopped = clarke_work_stopped();
  return status == CLARKE_OK || status == CLARKE_ESTOPPED ? status : clarke_fail_in(err, status, "%s", q->folder);
}

clarke_certainty
clarke_certified_answer(const clarke_certified *c)
{
  return c->traced && c->stopped == NULL ? clarke_certify_answer(&c->nodes) : CLARKE_CANNOT_SAY;
}
