/* A recorded training step beside the audit of its graph: is the gradient that was recorded AD's exact gradient, but for
 * rounding? */
#ifndef CLARKE_SESSION_RECORD_H
#define CLARKE_SESSION_RECORD_H

#include "format/run.h"
#include "format/summation.h"
#include "session/audit.h"
#include "trace/rounding.h"

typedef struct {
  char *folder;
  clarke_run_description run;
  const clarke_run_step *step;
  char *graph_path, *batch_path, *params_path, *profile_path; /* what the request speaks of (the last NULL: a known profile), */
  clarke_file graph, batch, params;
  char *wrt;
  bool hashed;             /* a proof will name the trace by its hash (set before opening) */
  bool packed;             /* float32 tensors of these two are not decoded until they are asked for (set before opening) */
  clarke_tensors gradients, trace;
  clarke_file gradients_bytes, trace_bytes; /* what is packed; and the hash of what was read, where it was needed */
  clarke_summations trees; /* none, where the step has no such file */
  /* what was found */
  clarke_truth explained; /* CLARKE_UNKNOWN: the bound or AD's gradient is not known */
  char *why;              /* a sentence without its end */
  size_t entries, open, checked; /* gradient's entries; branches that rounding may have turned; recorded outputs within bounds */
  double worst;           /* the largest error, in parts of its bound */
} clarke_record;

void clarke_record_init(clarke_record *r);
void clarke_record_clear(clarke_record *r);

/* Reads run.json and the files of a step, whose hashes must be its own. A trace may have none there. */
clarke_status clarke_record_open(clarke_record *r, const char *folder, size_t step, clarke_error *err);

/* Is the trace, behind all that was found of it, what it was when it was opened? An error: it is not (clarke_file_stayed). */
clarke_status clarke_record_stayed(const clarke_record *r, clarke_error *err);

/* The question about the step: files, parameters, profile and loss of the request. A profile or wrt that it has already must
 * be the record's, or among its parameters. */
clarke_status clarke_record_request(clarke_audit_request *q, clarke_record *r, clarke_error *err);

/* What may have been rounded, by run.json, in a step of that graph: a setting counts where the graph has such an operator. */
clarke_status clarke_record_rounding(clarke_rounding *by, const clarke_record *r, const clarke_graph *g, clarke_error *err);

/* Those settings in words; NULL: float32 factors are not rounded. conv: of convolutions, else of matrix products. */
const char *clarke_record_factors(const clarke_record *r, bool conv);

/* Of an answered session of that request. */
clarke_status clarke_record_compare(clarke_record *r, clarke_audit_session *s, clarke_error *err);

/* Of the comparison: an object. */
json_t *clarke_record_json(const clarke_record *r);

#endif
