/* A check of a network: what `clarke audit` says of a model and a minibatch that lie beside the case. */
#ifndef CLARKE_TOOLS_REPRODUCE_NETWORK_H
#define CLARKE_TOOLS_REPRODUCE_NETWORK_H

#include "reproduce_result.h"
#include "reproduce_run.h"

/* Is it a key of such checks? */
bool clarke_network_key_known(const char *key);
/* Reads two files, of which these are the names, from beside the case into r->model and r->batch. */
clarke_status clarke_run_read_files(clarke_run *r, const char *model, const char *batch, clarke_error *err);
/* What is to be asked about these; the profile's text is the check's. */
clarke_audit_request clarke_run_request(const clarke_run *r, const char *loss);
/* Reads the files that the check names, MODEL BATCH [LOSS], and asks. */
clarke_status clarke_run_network(clarke_run *r, clarke_error *err);
/* Text "unknown" where it is not known; of a theorem "none" where it does not apply. */
clarke_status clarke_network_result(clarke_result *result, const clarke_run *r, const char *key, clarke_error *err);

#endif
