/* One run of clarke audit: files in, report out. */
#ifndef CLARKE_TOOLS_AUDIT_REPORT_H
#define CLARKE_TOOLS_AUDIT_REPORT_H

#include "format/readers.h"
#include "proof/write.h"

#include <jansson.h>

typedef struct {
  const char *model, *batch, *loss, *profile, *wrt, *proof, *gradient;
  size_t n_params;
  const char **params; /* checkpoints */
  bool json, exact, ranks;
  size_t threads; /* of the filter */
} clarke_audit_request;

/* What was read and found: what reports print. */
typedef struct {
  clarke_file model_file, batch_file;
  clarke_file params_file; /* of the checkpoint at hand */
  clarke_graph graph;
  clarke_profile profile;
  clarke_tensors batch;
  const clarke_tensor *x, *y;
  bool batch_stored;
  bool external; /* does the model have data in other files? */
  char **wrt;
  size_t n_wrt;
  clarke_replay replay;
  clarke_loss loss;
  clarke_question question;
  clarke_audit audit;
  bool valued;        /* loss and gradient were asked for */
  char *loss_value;   /* exact, or a decimal with a bound */
  bool loss_exact;
} clarke_audit_session;

/* audit_several.c. The whole command: *exit_status is that of the answer (command.h), of several the worst. */
clarke_status clarke_audit_answer(int *exit_status, const clarke_audit_request *request,
                                  clarke_error *err);

/* The base name of a path. */
const char *clarke_base_name(const char *path);

/* audit_session.c: reads everything but checkpoints; then answers for one of them, or for the
 * model's own weights (NULL). Several may be asked for in turn. */
void clarke_audit_session_init(clarke_audit_session *s);
void clarke_audit_session_clear(clarke_audit_session *s);
clarke_status clarke_audit_read(clarke_audit_session *s, const clarke_audit_request *r,
                                clarke_error *err);
clarke_status clarke_audit_one(clarke_audit_session *s, const clarke_audit_request *r,
                               const char *params, clarke_error *err);

/* audit_text.c, audit_json.c */
void clarke_audit_print_text(const clarke_audit_session *s);
clarke_status clarke_audit_print_json(const clarke_audit_session *s, clarke_error *err);
void clarke_audit_print_inputs(const clarke_audit_session *s);

/* One of several: the session's object and the checkpoint's file, or why it could not be asked
 * about. */
json_t *clarke_audit_row_json(const clarke_audit_session *s, const char *file, const char *why);

/* audit_gradient.c: AD's gradient of the whole loss to a file, and the loss's value. Nothing is written when an
 * argument cannot be told from its kink: AD's slope there is not known. */
clarke_status clarke_audit_gradient(bool *written, clarke_audit_session *s, const char *path,
                                    clarke_error *err);

#endif
