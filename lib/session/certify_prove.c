#include "session/certify.h"

#include "proof/write_record.h"
#include "format/onnx.h"

/* The checker reads less than the library does, and knows one type at a time. */
static clarke_status
check_provable(const clarke_certified *c, clarke_error *err)
{
  const clarke_run_description *run = &c->record.run;

  if (!c->traced)
    return clarke_fail(err, CLARKE_EINPUT, "%s: a light record has no proof: outputs and gradients of nodes are not in it",
                       c->record.folder);
  if (*c->record.trace_bytes.sha256 == '\0')
    return clarke_fail(err, CLARKE_EINPUT, "%s: the trace was not hashed as it was read: a proof must be asked for before",
                       c->record.folder);
  if (run->n_dtypes != 1 || c->nodes.by.casts)
    return clarke_fail(err, CLARKE_EINPUT, "%s: a step that computed in several types (autocast, products of tensor cores) has no proof",
                       c->record.folder);
  if ((c->nodes.by.conv > 0 || c->nodes.by.matmul > 0) && !run->by_operator)
    return clarke_fail(err, CLARKE_EINPUT, "%s: run.json does not say by operator to what factors were rounded (flags.precision): there is no "
                       "proof. Record the step with this version of clarke", c->record.folder);
  if (clarke_certified_answer(c) == CLARKE_IS_REFUTED)
    return clarke_fail(err, CLARKE_EINPUT, "%s: something is refuted: there is no proof", c->record.folder);
  return clarke_audit_session_provable(&c->audit, err);
}

clarke_status
clarke_certified_prove(const clarke_certified *c, const char *path, clarke_error *err)
{
  const clarke_run_step *step = c->record.step;
  clarke_proof_record r = {
    .model = {.name = c->record.run.graph.name, .sha256 = c->record.run.graph.sha256},
    .params = {.name = step->parameters.name, .sha256 = step->parameters.sha256},
    .batch = {.name = step->batch.name, .sha256 = step->batch.sha256},
    .trace = {.name = step->trace.name, .sha256 = c->record.trace_bytes.sha256},
    .gradients = {.name = step->gradients.name, .sha256 = step->gradients.sha256},
    .run = {.name = "run.json", .sha256 = c->record.run_sha256},
    .certify = &c->nodes,
    .pattern = c->compared ? &c->pattern : NULL,
  };
  clarke_status status = check_provable(c, err);
  clarke_model m;

  if (status != CLARKE_OK)
    return status;
  clarke_model_init(&m);
  status = clarke_onnx_parse_step(&m, c->record.graph.data, c->record.graph.size, c->record.graph_path, err);
  r.nodes = &m;
  if (status == CLARKE_OK)
    status = clarke_proof_write_record(path, &r, err);
  clarke_model_clear(&m);
  return status;
}
