/* A recorded step certified: its session, and the answers node by node (trace/certify.h). */
#ifndef CLARKE_SESSION_CERTIFY_H
#define CLARKE_SESSION_CERTIFY_H

#include "session/record.h"
#include "trace/certify.h"

typedef struct {
  const char *folder;
  size_t step; /* CLARKE_NONE: the first */
} clarke_certify_request;

typedef struct {
  clarke_record record;
  clarke_audit_session audit; /* of the record's graph, batch and parameters */
  clarke_constants constants;
  char *log_softmax;          /* the node of that name in the loss, or NULL */
  bool traced;                /* was more recorded than the gradient? */
  clarke_certify nodes;
} clarke_certified;

void clarke_certified_init(clarke_certified *c);
void clarke_certified_clear(clarke_certified *c);

clarke_status clarke_certified_run(clarke_certified *c, const clarke_certify_request *q, clarke_error *err);

/* The weakest answer of all; CLARKE_CANNOT_SAY where there is no trace. */
clarke_certainty clarke_certified_answer(const clarke_certified *c);

/* certify_json.c: the answer as one object; NULL when out of memory. */
json_t *clarke_certified_json(const clarke_certified *c);

#endif
