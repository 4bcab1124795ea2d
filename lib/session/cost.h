/* What a program, a network or a recorded step costs: read, then counted. */
#ifndef CLARKE_SESSION_COST_H
#define CLARKE_SESSION_COST_H

#include "cost/network.h"
#include "cost/program.h"
#include "program/execute.h"
#include "program/prog.h"
#include "session/record.h"

typedef struct {
  const char *path; /* FILE.prog, FILE.onnx, or a run folder */
  const char *wrt;  /* names with commas between; NULL: all inputs of a program, all parameters of a network */
  const char *output; /* of FILE.onnx the one that is counted; NULL: it has one */
  size_t step;      /* of a run folder; CLARKE_NONE: the first */
  bool padding;     /* count padding's products as operations */
} clarke_cost_request;

typedef struct {
  bool network;
  const char *name;          /* of the file, or folder */
  clarke_prog prog;          /* a program */
  clarke_code program;
  clarke_count count;        /* its functions */
  clarke_graph graph;        /* a network of a file */
  clarke_record record;      /* a recorded step's, in audit */
  clarke_audit_session audit;
  bool loss;                 /* its last nodes are a loss, which is not counted */
  clarke_network_cost cost;  /* of either */
} clarke_cost_session;

void clarke_cost_session_init(clarke_cost_session *s);
void clarke_cost_session_clear(clarke_cost_session *s);
/* Reads and counts. A network's batch is one sample where the file leaves its size open, or as many as it says; a run folder's is the
 * recorded one. */
clarke_status clarke_cost_session_read(clarke_cost_session *s, const clarke_cost_request *r, clarke_error *err);

/* Operations that our own passes made at a point: the execution, and AD backward, from each output of a program. */
typedef struct {
  clarke_tally forward, backward;
} clarke_cost_run;

/* at: NAME=V,... once for each input. In the profile pytorch. */
clarke_status clarke_cost_session_run(clarke_cost_run *run, const clarke_cost_session *s, const char *const *at, size_t n_at,
                                      clarke_error *err);

/* The same of a network on a batch, AD backward from the sum of the outputs. batch: a file; of a run folder "recorded". Entries of layers are counted one by
 * one, zeros included; what gathers adds to zeros. */
clarke_status clarke_cost_run_network(clarke_cost_run *run, clarke_cost_session *s, const clarke_cost_request *r, const char *batch, clarke_error *err);

/* The functions, and the entries of (2.11). Of a program all quantities are one. */
const clarke_count *clarke_cost_session_count(const clarke_cost_session *s, clarke_quantities q);
void clarke_cost_session_entries(mpz_t p, const clarke_cost_session *s, clarke_quantities q);

#endif
