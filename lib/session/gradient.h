/* The gradient that an audit is about. */
#ifndef CLARKE_SESSION_GRADIENT_H
#define CLARKE_SESSION_GRADIENT_H

#include "session/audit.h"

/* The exact pass over all samples, at growing precision while entries are open, and the loss's value in s. */
clarke_status clarke_audit_pass(clarke_forward *pass, clarke_audit_session *s, clarke_error *err);

/* AD's gradient of the whole loss, and the loss's value in s. gradient holds n_parameters initialized matrices;
 * those in wrt become count x 1, or stay 0 x 0 for zero. *known is false when an argument cannot be told from its
 * kink: AD's slope there is not known. */
clarke_status clarke_audit_gradient(bool *known, clarke_matrix *gradient, clarke_audit_session *s, clarke_error *err);
/* The same as a file of safetensors, rounded to float64; nothing is written when it is not known. */
clarke_status clarke_audit_save_gradient(bool *written, clarke_audit_session *s, const char *path, clarke_error *err);

#endif
