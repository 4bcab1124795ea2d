/* clarke audit of one set of weights: the answer, and the files asked for. */
#include "audit_report.h"

#include "check_needs.h"
#include "base/text.h"
#include "format/file.h"
#include "session/checkpoint.h"
#include "session/gradient.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* *path = the name of an output, each "%" of it the checkpoint's base name (malloc). */
static clarke_status
output_path(char **path, const char *pattern, const char *params, clarke_error *err)
{
  const char *name = params != NULL ? clarke_base_name(params) : "%";
  size_t size = 1, n = 0;

  for (const char *c = pattern; *c != '\0'; c++)
    size += *c == '%' ? strlen(name) : 1;
  *path = malloc(size);
  if (*path == NULL)
    return clarke_no_memory(err);
  **path = '\0';
  for (const char *c = pattern; *c != '\0'; c++)
    n += (size_t)snprintf(*path + n, size - n, "%.*s", *c == '%' ? (int)strlen(name) : 1,
                          *c == '%' ? name : c);
  return CLARKE_OK;
}

/* The answer stands without the file: no error. */
static void
say_not_written(const clarke_audit_command *r, const char *params, const char *why)
{
  const bool several = r->n_params > 1;

  clarke_watch_hide(true);
  fprintf(stderr, "clarke audit: %s%s%s\n", several ? params : "", several ? ": " : "", why);
}

const char *
clarke_audit_proof_written(const clarke_audit_session *s, const clarke_audit_command *c)
{
  const bool written = c->proof != NULL && s->audit.verdict != CLARKE_UNDECIDED && clarke_graph_wrt_count(&s->graph) > 0;

  return written && strchr(c->proof, '%') == NULL ? c->proof : NULL;
}

typedef clarke_status prove(const clarke_audit_session *s, const char *path, clarke_error *err);

/* missing: why there is nothing to prove, or NULL. */
static clarke_status
write_proof(clarke_check_needs *needs, const clarke_audit_session *s, const clarke_audit_command *c, const char *pattern,
            const char *missing, prove *as, const char *params, clarke_error *err)
{
  char *path;
  clarke_status status;

  if (missing != NULL) {
    say_not_written(c, params, missing);
    return CLARKE_OK;
  }
  if (clarke_graph_wrt_count(&s->graph) == 0) {
    say_not_written(c, params, "the network has no parameters: no proof was written");
    return CLARKE_OK;
  }
  status = output_path(&path, pattern, params, err);
  if (status != CLARKE_OK)
    return status;
  status = as(s, path, err);
  if (status == CLARKE_OK) {
    clarke_check_needs_read(needs, path, (const char *[]){c->ask.model_path, c->ask.batch_path, params}, 3);
    clarke_check_needs_network(needs, &s->graph);
    clarke_say_check_needs("audit", needs);
  }
  free(path);
  return status;
}

static const char *
zone_missing(clarke_zone zone)
{
  return zone == CLARKE_ZONE_UNKNOWN   ? "the zone is not known: no proof of it was written"
         : zone == CLARKE_ZONE_REGULAR ? "regular: no kink is touched and no window tied, and no proof of it was written"
                                       : NULL;
}

static clarke_status
write_gradient(clarke_audit_session *s, const clarke_audit_command *c, const char *params, clarke_error *err)
{
  bool written = false;
  char *path;
  clarke_status status = output_path(&path, c->gradient, params, err);

  if (status != CLARKE_OK)
    return status;
  status = s->replayed ? clarke_audit_save_gradient(&written, s, path, err) : CLARKE_ESTOPPED;
  if (status == CLARKE_ESTOPPED || status == CLARKE_EVAGUE) {
    say_not_written(c, params, status == CLARKE_ESTOPPED ? "stopped: no gradient was written"
                                                         : "the gradient's enclosures have no bounds: it was not written");
    status = CLARKE_OK;
  } else if (status == CLARKE_OK && !written)
    say_not_written(c, params, "the pattern is undecided: no gradient was written");
  free(path);
  return status;
}

clarke_status
clarke_audit_write(clarke_check_needs *needs, clarke_audit_session *s, const clarke_audit_command *c, const char *params,
                   clarke_error *err)
{
  clarke_check_needs other; /* of the zone's proof, where the verdict's has told its own */
  clarke_status status = CLARKE_OK;

  *needs = (clarke_check_needs){ .bytes = 0 };
  if (c->gradient != NULL)
    status = write_gradient(s, c, params, err);
  if (status == CLARKE_OK && c->proof != NULL)
    status = write_proof(needs, s, c, c->proof, s->audit.verdict == CLARKE_UNDECIDED ? "undecided: no proof was written" : NULL,
                         clarke_audit_session_prove, params, err);
  if (status == CLARKE_OK && c->zone_proof != NULL)
    status = write_proof(needs->bytes > 0 ? &other : needs, s, c, c->zone_proof, zone_missing(s->audit.zone.zone),
                         clarke_audit_session_prove_zone, params, err);
  return status;
}

clarke_status
clarke_audit_one(clarke_check_needs *needs, clarke_audit_session *s, const clarke_audit_command *c, const char *params,
                 clarke_error *err)
{
  clarke_audit_request ask = c->ask;
  clarke_file file = {0};
  char *path = NULL;
  clarke_status status = params != NULL ? clarke_checkpoint_name(&path, &ask.params_key, params, err) : CLARKE_OK;

  if (status == CLARKE_OK && params != NULL)
    status = clarke_file_read(&file, path, err);
  ask.params_path = path;
  ask.params = params != NULL ? &file : NULL;
  if (status == CLARKE_OK)
    status = clarke_audit_session_ask(s, &ask, err);
  if (status == CLARKE_OK)
    status = clarke_audit_write(needs, s, c, params, err);
  clarke_file_clear(&file);
  free(path);
  return status;
}
