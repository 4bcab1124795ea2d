/* One run of clarke audit: files in, report out. */
#ifndef CLARKE_TOOLS_AUDIT_REPORT_H
#define CLARKE_TOOLS_AUDIT_REPORT_H

#include "format/readers.h"
#include "proof/write.h"

typedef struct {
  const char *model, *batch, *loss, *profile, *params, *wrt, *proof, *gradient;
  bool json, exact, ranks;
} clarke_audit_request;

/* What was read and found: what reports print. */
typedef struct {
  clarke_file model_file, batch_file, params_file;
  clarke_graph graph;
  clarke_profile profile;
  clarke_tensors batch;
  const clarke_tensor *x, *y;
  bool batch_stored;
  bool external; /* does the model have data in other files? */
  char **wrt;
  size_t n_wrt;
  clarke_replay replay;
  clarke_question question;
  clarke_audit audit;
  bool valued;        /* loss and gradient were asked for */
  char *loss_value;   /* exact, or a decimal with a bound */
  bool loss_exact;
} clarke_audit_session;

clarke_status clarke_audit_answer(clarke_verdict *verdict, const clarke_audit_request *request,
                                  clarke_error *err);

/* The base name of a path. */
const char *clarke_base_name(const char *path);

/* audit_text.c, audit_json.c */
clarke_status clarke_audit_print_text(const clarke_audit_session *s, clarke_error *err);
clarke_status clarke_audit_print_json(const clarke_audit_session *s, clarke_error *err);

/* audit_gradient.c: AD's gradient of the whole loss to a file, and the loss's value. */
clarke_status clarke_audit_gradient(clarke_audit_session *s, const char *path, clarke_error *err);

#endif
