/* The gradient that an audit is about. */
#ifndef CLARKE_SESSION_GRADIENT_H
#define CLARKE_SESSION_GRADIENT_H

#include "network/derive/gradient.h"
#include "session/audit.h"

/* The exact pass over all samples, at growing precision while entries are open, and the loss's value in s. */
clarke_status clarke_audit_pass(clarke_forward *pass, clarke_audit_session *s, clarke_error *err);

/* AD's gradient of the whole loss, and the loss's value in s. gradient is initialized here, and cleared by the caller, also
 * when it failed. Of a large network that lib/network/derive/gradient.h serves it is computed in pairs of doubles, unless the question was
 * asked with `exact`: s->bounded says so, and s->within how far an entry may be from the exact one. Otherwise entries are the
 * exact ones, rounded, or the middles of enclosures. *known is false when an argument cannot be told from its kink: AD's slope
 * there is not known. */
clarke_status clarke_audit_gradient(bool *known, clarke_gradient *gradient, clarke_audit_session *s, clarke_error *err);
/* The same with that bound alone, below so many bits of each tensor's largest entry, along the branches of a replay that is served; and the
 * loss's value in s. gradient is initialized. */
clarke_status clarke_audit_gradient_along(bool *known, clarke_gradient *gradient, clarke_audit_session *s, const clarke_replay *along,
                                          int bits, clarke_error *err);
/* Has the network so few products of an entry and a weight, all samples counted, that an exact pass is a matter of some hundredths of a
 * second? */
bool clarke_audit_is_small(const clarke_graph *g);
/* AD's gradient exactly, or in enclosures from a pass of at least so many bits: gradient[p] by parameter, count x 1 (0 x 0: zeros), which are
 * initialized. *known as above. */
clarke_status clarke_audit_exact(bool *known, clarke_matrix *gradient, clarke_audit_session *s, long precision, clarke_error *err);
/* AD's gradient as a file of safetensors in float64, with bounds as its metadata; nothing is written when it is not known. */
clarke_status clarke_audit_save_gradient(bool *written, clarke_audit_session *s, const char *path, clarke_error *err);

#endif
