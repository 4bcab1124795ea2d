/* A question about a program at a point (derive.h). */
#include "session/derive.h"

#include "base/text.h"
#include "session/names.h"

#include <stdlib.h>
#include <string.h>

void
clarke_derive_session_init(clarke_derive_session *s)
{
  memset(s, 0, sizeof *s);
  clarke_prog_init(&s->prog);
  clarke_graph_init(&s->graph);
  clarke_code_init(&s->program);
  clarke_code_init(&s->held);
  clarke_profile_init(&s->profile);
}

void
clarke_derive_session_clear(clarke_derive_session *s)
{
  clarke_regions_proof_clear(&s->cones);
  clarke_forms_clear(&s->forms);
  for (size_t i = 0; s->at != NULL && i < s->n_at; i++)
    mpq_clear(s->at[i]);
  free(s->at);
  free(s->given);
  clarke_names_free(s->wrt, s->n_wrt);
  free(s->output);
  clarke_profile_clear(&s->profile);
  clarke_code_clear(&s->held);
  clarke_code_clear(&s->program);
  clarke_graph_clear(&s->graph);
  clarke_prog_clear(&s->prog);
  clarke_derive_session_init(s);
}

/* The file's ending says what it is. */
static clarke_status
tell_kind(clarke_derive_session *s, const char *path, clarke_error *err)
{
  const char *name = clarke_base_name(path), *ending = strrchr(name, '.');

  s->network = ending != NULL && strcmp(ending, ".onnx") == 0;
  if (!s->network && (ending == NULL || strcmp(ending, ".prog") != 0))
    return clarke_fail(err, CLARKE_EINPUT, "%s: expected a program (.prog) or a network (.onnx)", name);
  return CLARKE_OK;
}

static clarke_status
read_program(clarke_derive_session *s, const clarke_derive_request *r, clarke_error *err)
{
  clarke_status status = clarke_prog_read(&s->prog, r->file->data, r->file->size, clarke_base_name(r->path), err);

  if (status == CLARKE_OK)
    status = clarke_prog_lower(&s->program, &s->prog, err);
  return status == CLARKE_OK ? clarke_code_wrt(&s->program, s->wrt, s->n_wrt, err) : status;
}

clarke_status
clarke_derive_session_read(clarke_derive_session *s, const clarke_derive_request *r, clarke_error *err)
{
  clarke_status status = clarke_profile_load(&s->profile, r->profile, err);

  memcpy(s->sha256, r->file->sha256, sizeof s->sha256);
  memcpy(s->format, r->format, sizeof s->format);
  if (status == CLARKE_OK)
    status = clarke_names_split(&s->wrt, &s->n_wrt, r->wrt, "wrt", err);
  if (status == CLARKE_OK)
    status = tell_kind(s, r->path, err);
  if (status == CLARKE_OK && r->output != NULL && !s->network)
    status = clarke_fail(err, CLARKE_EINPUT, "%s is a program: an output is chosen of a network alone", clarke_base_name(r->path));
  if (status != CLARKE_OK)
    return status;
  return s->network ? clarke_derive_network(s, r, err) : read_program(s, r, err);
}
