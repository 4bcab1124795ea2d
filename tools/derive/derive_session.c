/* One run of clarke derive, from the request to the report. */
#include "derive_report.h"

#include "base/text.h"
#include "process.h"
#include "proof/write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
session_init(clarke_derive_session *s, const clarke_derive_request *request)
{
  memset(s, 0, sizeof *s);
  s->request = request;
  clarke_prog_init(&s->prog);
  clarke_graph_init(&s->graph);
  clarke_program_init(&s->program);
  clarke_profile_init(&s->profile);
}

static void
session_clear(clarke_derive_session *s)
{
  for (size_t i = 0; s->at != NULL && i < s->n_at; i++)
    mpq_clear(s->at[i]);
  free(s->at);
  free(s->given);
  for (size_t i = 0; i < s->n_wrt; i++)
    free(s->wrt[i]);
  free(s->wrt);
  clarke_profile_clear(&s->profile);
  clarke_program_clear(&s->program);
  clarke_graph_clear(&s->graph);
  clarke_prog_clear(&s->prog);
  clarke_file_clear(&s->source);
}

/* The names between commas. */
static clarke_status
split_wrt(clarke_derive_session *s, const char *list, clarke_error *err)
{
  while (list != NULL) {
    size_t n = strcspn(list, ",");
    char **grown = realloc(s->wrt, (s->n_wrt + 1) * sizeof *grown);

    if (grown == NULL)
      return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
    s->wrt = grown;
    s->wrt[s->n_wrt] = strndup(list, n);
    if (s->wrt[s->n_wrt++] == NULL)
      return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
    if (n == 0)
      return clarke_fail(err, CLARKE_EINPUT, "--wrt: expected names, with commas between");
    list = list[n] == ',' ? list + n + 1 : NULL;
  }
  return CLARKE_OK;
}

/* The file's ending says what it is. */
static clarke_status
read_source(clarke_derive_session *s, clarke_error *err)
{
  const char *name = clarke_base_name(s->request->file), *ending = strrchr(name, '.');

  s->network = ending != NULL && strcmp(ending, ".onnx") == 0;
  if (!s->network && (ending == NULL || strcmp(ending, ".prog") != 0))
    return clarke_fail(err, CLARKE_EINPUT, "%s: expected a program (.prog) or a network (.onnx)",
                       name);
  return clarke_file_read(&s->source, s->request->file, err);
}

static clarke_status
refuse_for_network(const clarke_derive_request *r, clarke_error *err)
{
  if (r->proof != NULL)
    return clarke_fail(err, CLARKE_EINPUT, "--proof is for programs; a network's proof is written "
                       "by clarke audit --proof");
  if (r->sweep != NULL || r->plot != NULL || r->print)
    return clarke_fail(err, CLARKE_EINPUT, "%s is for programs",
                       r->sweep != NULL  ? "--sweep"
                       : r->plot != NULL ? "--plot"
                                         : "--print");
  return CLARKE_OK;
}

static clarke_status
read_all(clarke_derive_session *s, clarke_error *err)
{
  clarke_status status = clarke_profile_load(&s->profile, s->request->profile, err);

  if (status == CLARKE_OK)
    status = split_wrt(s, s->request->wrt, err);
  if (status == CLARKE_OK)
    status = read_source(s, err);
  if (status != CLARKE_OK)
    return status;
  if (s->network) {
    status = refuse_for_network(s->request, err);
    return status == CLARKE_OK ? clarke_derive_network(s, err) : status;
  }
  status = clarke_prog_read(&s->prog, s->source.data, s->source.size,
                            clarke_base_name(s->request->file), err);
  if (status == CLARKE_OK)
    status = clarke_prog_lower(&s->program, &s->prog, err);
  return status == CLARKE_OK ? clarke_program_wrt(&s->program, s->wrt, s->n_wrt, err) : status;
}

static clarke_status
write_proof(const clarke_derive_session *s, const clarke_derivation *d, clarke_error *err)
{
  if (d->verdict == CLARKE_UNDECIDED) {
    fprintf(stderr, "clarke derive: undecided: no proof was written\n");
    return CLARKE_OK;
  }
  return clarke_proof_write_program(s->request->proof, s->program.file, s->source.sha256, d, err);
}

static clarke_status
answer_point(clarke_verdict *verdict, clarke_derive_session *s, clarke_error *err)
{
  clarke_derivation d;
  clarke_derive_text t;
  clarke_status status;

  clarke_derivation_init(&d);
  clarke_derive_text_init(&t);
  status = clarke_derive(&d, &s->program, s->at, &s->profile, err);
  *verdict = d.verdict;
  if (status == CLARKE_OK)
    status = clarke_derive_text_fill(&t, s, &d, err);
  if (status == CLARKE_OK && s->request->proof != NULL)
    status = write_proof(s, &d, err);
  if (status == CLARKE_OK && s->request->plot != NULL)
    status = clarke_derive_figure(s, NULL, err);
  if (status == CLARKE_OK && s->request->json)
    status = clarke_derive_print_json(s, &d, &t, err);
  else if (status == CLARKE_OK)
    clarke_derive_print_text(s, &d, &t);
  clarke_derive_text_clear(&t);
  clarke_derivation_clear(&d);
  return status;
}

static clarke_status
answer(clarke_verdict *verdict, bool *asked, clarke_derive_session *s, clarke_error *err)
{
  clarke_status status = read_all(s, err);

  if (status != CLARKE_OK)
    return status;
  if (s->request->print) {
    clarke_process_print_as_is();
    clarke_prog_print(stdout, &s->prog); /* standard output remembers its errors: process.h */
    return CLARKE_OK;
  }
  if (s->request->sweep != NULL)
    return clarke_derive_sweep(s, err);
  if (!s->network)
    status = clarke_derive_point(s, CLARKE_NONE, err);
  *asked = true;
  return status == CLARKE_OK ? answer_point(verdict, s, err) : status;
}

clarke_status
clarke_derive_answer(clarke_verdict *verdict, bool *asked, const clarke_derive_request *request,
                     clarke_error *err)
{
  clarke_derive_session s;
  clarke_status status;

  session_init(&s, request);
  status = answer(verdict, asked, &s, err);
  session_clear(&s);
  return status;
}
