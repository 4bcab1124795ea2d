/* A recorded training step beside the audit of its graph: is the gradient that was recorded AD's exact gradient, but for
 * rounding? */
#ifndef CLARKE_SESSION_RECORD_H
#define CLARKE_SESSION_RECORD_H

#include "format/run.h"
#include "format/summation.h"
#include "session/audit.h"
#include "trace/certify/branches.h"

/* What can be said of the gradient that ran. */
typedef enum {
  CLARKE_RAN_UNKNOWN,
  CLARKE_RAN_EXPLAINED, /* AD's exact gradient, on the exact branches, within rounding, or that of each node; and a wrong one would not be */
  CLARKE_RAN_TURNED,    /* rounding took other branches: it is AD's gradient along these */
  CLARKE_RAN_REFUTED,   /* no rounding makes it of what was recorded */
} clarke_ran;

const char *clarke_ran_name(clarke_ran ran); /* "not known", "explained", "turned", "refuted" */

/* Entries of a parameter's recorded gradient that are 0, without a factor on each path to the loss that is known to be 0. */
typedef struct {
  size_t n;    /* all of them; AD's exact entry */
  size_t zero; /* is 0, too: sums cancel, the target is met, a curved slope is at its 0; */
  size_t not;  /* is not 0: floating point made it so (exponentials that underflow, slopes of what is saturated); the rest: not known */
} clarke_recorded_zeros;

typedef struct {
  char *folder;
  clarke_run_description run;
  char run_sha256[65];
  const clarke_run_step *step;
  char *graph_path, *batch_path, *params_path, *profile_path; /* what the request speaks of (the last NULL: a known profile), */
  clarke_file graph, batch, params;
  char *wrt;
  bool hashed;             /* a proof will name the trace by its hash (set before opening) */
  bool packed;             /* float32 tensors of these two are not decoded until they are asked for (set before opening) */
  clarke_tensors gradients, trace;
  clarke_tensors start, update; /* the graph's initializers before the step, and what the optimizer made: of clarke_record_open_update */
  clarke_file gradients_bytes, trace_bytes; /* what is packed; and the hash of what was read, where it was needed */
  clarke_summations trees; /* none, where the step has no such file */
  /* what run.json alone says: */
  size_t n_claims;
  char **claim;           /* each a phrase, as "not trained: 3.weight" */
  bool widened;           /* some of that lets more be rounding than the record's own types do */
  char types[64];         /* floating-point types, as the record shows them; with commas between */
  /* what was found */
  clarke_ran ran;
  char *why;              /* a sentence without its end */
  bool by_nodes;          /* each node explains its own numbers: how far the whole gradient is from AD's exact one nobody asked */
  size_t entries, open, checked; /* gradient's entries; branches that rounding may have turned; recorded outputs within bounds */
  double worst;           /* the largest error, in parts of its bound */
  bool near_known;        /* of all kinks and windows whose argument was not recorded, the nearest one: */
  size_t near_step, near_entry;
  double near;            /* its distance in parts of the bound on the argument's own error; about that */
  clarke_recorded_zeros *zeros; /* by parameter, where they were asked for and are known; or NULL */
} clarke_record;

void clarke_record_init(clarke_record *r);
void clarke_record_clear(clarke_record *r);

/* Reads run.json alone: which steps there are. Of a step that left the reals it is an error, which says what did. */
clarke_status clarke_record_open_run(clarke_record *r, const char *folder, clarke_error *err);

/* FOLDER/NAME of an opened one (malloc); NULL when out of memory. */
char *clarke_record_path(const clarke_record *r, const char *name);

/* Reads run.json and the files of a step, whose hashes must be its own. A trace may have none there. */
clarke_status clarke_record_open(clarke_record *r, const char *folder, size_t step, clarke_error *err);

/* Reads run.json, and of a step the gradients, the parameters, and what the optimizer made of them, if that was kept. Where no step was made,
 * or the optimizer was told of such, the gradients may have an entry that is not finite: then r->why says which. which: of several optimizers'
 * steps, in the order of run.json; that one changes its place with the step's `update`. */
clarke_status clarke_record_open_update(clarke_record *r, const char *folder, size_t step, size_t which, clarke_error *err);
/* What another one of the step's made. */
clarke_status clarke_record_update(clarke_tensors *ts, const clarke_record *r, const clarke_run_more *one, clarke_error *err);

/* The gradients of another step of an opened record's folder. */
clarke_status clarke_record_gradients(clarke_tensors *ts, const clarke_record *r, const clarke_run_step *step, clarke_error *err);

/* Is the trace, behind all that was found of it, what it was when it was opened? An error: it is not (clarke_file_stayed). */
clarke_status clarke_record_stayed(const clarke_record *r, clarke_error *err);

/* The question about the step: files, parameters, profile and loss of the request. A profile or wrt that it has already must
 * be the record's, or among its parameters. */
clarke_status clarke_record_request(clarke_audit_request *q, clarke_record *r, clarke_error *err);

/* record_claims.c: what run.json says, beside what the record shows. The types of a trace's tensors must be those that are
 * told. A gradient that is not a parameter's is an error, and so is a parameter that has one and is not told. */
clarke_status clarke_record_claims(clarke_record *r, const clarke_audit_session *s, clarke_error *err);

/* To what the settings may round float32 factors, in words; NULL: not at all. conv: of convolutions, else of matrix products. */
const char *clarke_record_factors(const clarke_record *r, bool conv);

/* One more of what run.json alone says. */
clarke_status clarke_record_tell(clarke_record *r, clarke_error *err, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* How may numbers have been rounded in a step of that graph, by the types that the record shows; claimed: and by what run.json alone
 * says. A setting counts where the graph has such an operator. */
clarke_status clarke_record_rounding(clarke_rounding *by, const clarke_record *r, const clarke_graph *g, bool claimed, clarke_error *err);

/* What was recorded where samples are not on the first axis is put so that the numbers of each sample lie side by side. */
clarke_status clarke_record_lay(clarke_tensors *trace, const clarke_graph *g, clarke_error *err);

/* Compares the recorded gradient with that of an answered session of that request, with the global bound. nodes: each node
 * is certified by itself (CLARKE_WITHIN_BOUND or better), so that the gradient must only be near AD's; NULL: the bound
 * itself must be small. turned: AD's gradient is that along the branches that parted (NULL: the exact ones). */
clarke_status clarke_record_compare(clarke_record *r, clarke_audit_session *s, const clarke_certify *nodes, const clarke_branches *turned,
                                    clarke_error *err);

/* record_zeros.c. Is all of a parameter's recorded gradient 0? */
clarke_status clarke_record_has_zero(bool *has, clarke_record *r, clarke_error *err);
/* Finds the recorded zeros, beside those of an answered session whose zeros were found. Exact entries are computed where
 * that takes no time. */
clarke_status clarke_record_find_zeros(clarke_record *r, clarke_audit_session *s, clarke_error *err);
/* Those of parameters that have such; NULL when out of memory; null where they are not known. */
json_t *clarke_record_zeros_json(const clarke_record *r, const clarke_audit_session *s);

/* An answer, and why. */
clarke_status clarke_record_say(clarke_record *r, clarke_ran ran, clarke_error *err, const char *format, ...)
  __attribute__((format(printf, 4, 5)));

/* Is it explained, or turned, by its nodes alone? */
bool clarke_record_rests_on_nodes(const clarke_record *r);

/* Where AD differentiates another function, by design: a list of texts. */
json_t *clarke_record_surrogates_json(const clarke_record *r);

/* The comparison as an object. */
json_t *clarke_record_json(const clarke_record *r, const clarke_audit_session *s);

#endif
