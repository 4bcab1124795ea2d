/* A later checkpoint in place of the model's own weights. */
#ifndef CLARKE_SESSION_CHECKPOINT_H
#define CLARKE_SESSION_CHECKPOINT_H

#include "session/audit.h"

/* Reads the request's checkpoint into the session's graph. Prefixes that wrappers put before all names (module., _orig_mod.,
 * model.) are matched with the model's. */
clarke_status clarke_checkpoint_read(clarke_audit_session *s, const clarke_audit_request *r, clarke_error *err);

/* The tensors of a file by what it is: a ZIP of arrays or of torch.save, in which they are under the key (NULL: where they usually are),
 * safetensors, or an index of such. *checked: can clarke-check read it, too? f, which lies at the path, outlives them; float32 of
 * safetensors stays packed. */
clarke_status clarke_checkpoint_tensors(clarke_tensors *ts, bool *checked, const char *path, const char *key, const clarke_file *f, clarke_error *err);

/* The graph's parameters as they are, in doubles: *ts is initialized, and cleared by the caller, on errors too. */
clarke_status clarke_checkpoint_of(clarke_tensors *ts, const clarke_graph *g, clarke_error *err);

/* Can clarke-check read the checkpoint that was read, as it is? */
clarke_status clarke_checkpoint_provable(const clarke_audit_session *s, clarke_error *err);

/* FILE or FILE:KEY, as a checkpoint is given: the file's path (malloc), and the key, in `given`, or NULL. A file that has
 * a colon in its name is taken as it is. */
clarke_status clarke_checkpoint_name(char **path, const char **key, const char *given, clarke_error *err);

#endif
