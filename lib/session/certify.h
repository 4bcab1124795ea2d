/* A recorded step certified: its session, and the answers node by node (trace/certify/certify.h). */
#ifndef CLARKE_SESSION_CERTIFY_H
#define CLARKE_SESSION_CERTIFY_H

#include "session/record.h"
#include "trace/certify/branches.h"

typedef struct {
  const char *folder;
  size_t step;     /* CLARKE_NONE: the first */
  bool nodes_only; /* no exact replay: neither pattern nor verdicts */
  bool sieved;     /* doubles may decide: certificates, and branches, are all that is found of nodes */
  bool provable;   /* a proof will be asked for: the trace is hashed as it is read */
  bool small_too;  /* doubles may decide with the replay of small networks, too, whose exact pass takes no time */
  bool whole;      /* the gradient is compared as a whole, too, where its nodes explain it already */
} clarke_certify_request;

/* A verdict under one semantics, with a reason without its end. */
typedef struct {
  clarke_verdict verdict;
  char why[1024];
} clarke_judged;

typedef struct {
  clarke_record record;
  clarke_audit_session audit; /* of the record's graph, batch and parameters */
  clarke_constants constants;
  bool traced;                /* was more recorded than the gradient? */
  bool claimed;               /* were roundings allowed that run.json alone tells? Without them something is worse than within its bound */
  clarke_certify nodes;
  bool sieved, small_too;     /* may doubles decide, of small networks, too? */
  bool replayed;              /* was an exact replay asked for? */
  bool whole;                 /* is the gradient to be compared as a whole, whatever its nodes say? */
  bool compared;              /* was the pattern compared with it? */
  clarke_branches pattern;
  clarke_judged real;         /* AD's exact gradient of the real function */
  clarke_judged along;        /* AD's exact gradient along the recorded branches */
  const char *stopped;        /* why the work was stopped: what was found by then is no answer; or NULL */
} clarke_certified;

void clarke_certified_init(clarke_certified *c);
void clarke_certified_clear(clarke_certified *c);

/* CLARKE_ESTOPPED sets `stopped`, too. */
clarke_status clarke_certified_run(clarke_certified *c, const clarke_certify_request *q, clarke_error *err);

/* The same of a question about the step (its own options; the files become the record's), with all that is asked of its nodes. A record
 * whose trace a proof will name was opened as `hashed`. */
clarke_status clarke_certified_ask(clarke_certified *c, clarke_audit_request *ask, const clarke_certify_request *q, clarke_error *err);

/* certify_gradient.c: the answer about the gradient that ran, in the record; of a certified step with the exact replay. A light record has
 * the global bound alone. */
clarke_status clarke_certified_gradient(clarke_certified *c, clarke_error *err);

/* certify_settle.c: the same without an exact pass, of what doubles certified. The gradient is explained by its nodes, where each of them tells
 * its record from a wrong one, and nothing else was asked for. Or by AD's gradient along the recorded branches, too, within a bound, told
 * from a wrong one. Else *settled is false, and nothing is said. */
clarke_status clarke_certified_settle(bool *settled, clarke_certified *c, clarke_error *err);
/* The same of nodes that exact arithmetic certified, where enclosures of the whole gradient are too wide to tell: nothing, or explained. */
clarke_status clarke_certified_by_nodes(clarke_certified *c, clarke_error *err);

/* Nodes that doubles certified once more, with all numbers. */
clarke_status clarke_certified_again(clarke_certified *c, clarke_error *err);

/* certify_json.c: where the record parted, and AD's gradient changed; that gradient's own verdict. */
json_t *clarke_turned_json(const clarke_certified *c);

/* The weakest answer of all; CLARKE_CANNOT_SAY where there is no trace, or the work was stopped. */
clarke_certainty clarke_certified_answer(const clarke_certified *c);

/* certify_semantics.c: the exact replay, the pattern beside it, and both semantics. */
clarke_status clarke_certified_semantics(clarke_certified *c, const clarke_audit_request *ask, clarke_error *err);

/* certify_prove.c: writes the proof of what was certified as `provable`, but refuted in nothing. A light record, or one in
 * several types, has none: an error. */
clarke_status clarke_certified_prove(const clarke_certified *c, const char *path, clarke_error *err);

/* certify_json.c: the answer as one object; NULL when out of memory. */
json_t *clarke_certified_json(const clarke_certified *c);

#endif
