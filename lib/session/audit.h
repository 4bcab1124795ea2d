/* One question about a network, from files' bytes to the answer: read, ask, then gradient, JSON or proof of what was found.
 * A session owns all that it holds; the request is only read from. */
#ifndef CLARKE_SESSION_AUDIT_H
#define CLARKE_SESSION_AUDIT_H

#include "format/readers.h"
#include "proof/write.h"

#include <jansson.h>

typedef struct {
  const char *model_path, *batch_path;
  const clarke_file *model, *batch;
  const char *params_path; /* a later checkpoint, or NULL: the model's own weights */
  const clarke_file *params;
  const char *profile;
  const char *loss; /* NULL: by what y is */
  const char *wrt;  /* names with commas between; NULL: all */
  bool exact, ranks;
  bool provable;    /* refuse what no proof can speak of */
  size_t threads;   /* of the filter */
  bool recorded;    /* the files of a recorded step: nothing is to be noted */
} clarke_audit_request;

/* Sets *n from a text, a whole number from 1 on; false when it is none. */
#define CLARKE_MOST_THREADS 256
bool clarke_threads_parse(size_t *n, const char *text);

/* The name and digest of a file that was read; name is NULL when there was none. */
typedef struct {
  char *name, sha256[65];
} clarke_named_file;

typedef struct {
  clarke_named_file model, batch_file, params;
  clarke_graph graph;
  clarke_profile profile;
  clarke_tensors batch;
  const clarke_tensor *x, *y; /* of batch */
  bool batch_stored;          /* can clarke-check read the batch, */
  bool external;              /* has the model data in other files, */
  bool own_loss;              /* a loss of its own (loss.kind), */
  bool loss_by_y;             /* was no loss asked for, */
  bool params_stored;         /* and can clarke-check read the checkpoint? */
  char **wrt;
  size_t n_wrt;
  clarke_replay replay;
  clarke_loss loss;
  clarke_question question;
  clarke_audit audit;
  bool valued;      /* the loss's value was asked for */
  char *loss_value; /* exact, or a decimal with a bound */
  bool loss_exact;
  size_t n_notes;
  char **notes; /* notes.h */
} clarke_audit_session;

void clarke_audit_session_init(clarke_audit_session *s);
void clarke_audit_session_clear(clarke_audit_session *s);

/* Reads all but the checkpoint: can the question be asked? */
clarke_status clarke_audit_session_read(clarke_audit_session *s, const clarke_audit_request *r, clarke_error *err);
/* Reads the checkpoint, if any, and answers. Once, of a session that was read. */
clarke_status clarke_audit_session_ask(clarke_audit_session *s, const clarke_audit_request *r, clarke_error *err);

/* Of an answered session. The proof of what is decided; what cannot have one is an error. */
clarke_status clarke_audit_session_prove(const clarke_audit_session *s, const char *path, clarke_error *err);

/* gradient.c: the exact pass over all samples, at growing precision while entries are open, and the loss's value in s. */
clarke_status clarke_audit_pass(clarke_forward *pass, clarke_audit_session *s, clarke_error *err);

/* AD's gradient of the whole loss, and the loss's value in s. gradient holds n_parameters initialized matrices;
 * those in wrt become count x 1, or stay 0 x 0 for zero. *known is false when an argument cannot be told from its
 * kink: AD's slope there is not known. */
clarke_status clarke_audit_gradient(bool *known, clarke_matrix *gradient, clarke_audit_session *s, clarke_error *err);
/* The same as a file of safetensors, rounded to float64; nothing is written when it is not known. */
clarke_status clarke_audit_save_gradient(bool *written, clarke_audit_session *s, const char *path, clarke_error *err);

/* audit_json.c: the answer as one object (docs/tutorial.md); NULL when out of memory. */
json_t *clarke_audit_json(const clarke_audit_session *s);

#endif
