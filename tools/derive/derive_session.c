/* One run of clarke derive, from the command to the report. */
#include "derive_report.h"

#include "check_needs.h"
#include "command.h"
#include "process.h"
#include "session/json.h"
#include "format/file.h"

#include <stdio.h>

static clarke_status
refuse_for_network(const clarke_derive_command *r, clarke_error *err)
{
  if (r->sweep != NULL || r->plot != NULL || r->print)
    return clarke_fail(err, CLARKE_EINPUT, "%s is for programs",
                       r->sweep != NULL  ? "--sweep"
                       : r->plot != NULL ? "--plot"
                                         : "--print");
  return CLARKE_OK;
}

static clarke_status
write_proof(clarke_check_needs *needs, const clarke_derive_session *s, const clarke_derivation *d, const clarke_derive_command *c,
            clarke_error *err)
{
  clarke_status status;

  if (d->verdict == CLARKE_UNDECIDED) {
    clarke_watch_hide(true);
    fprintf(stderr, "clarke derive: undecided: no proof was written\n");
    return CLARKE_OK;
  }
  status = clarke_derive_prove(s, d, c->proof, err);
  if (status != CLARKE_OK)
    return status;
  clarke_check_needs_read(needs, c->proof, &c->ask.path, 1);
  clarke_check_needs_to_follow(needs, d->p, clarke_code_wrt_count(d->p), !s->network);
  clarke_say_check_needs("derive", needs);
  return CLARKE_OK;
}

static json_t *
answer_json(const clarke_derive_session *s, const clarke_derivation *d, const clarke_derive_text *t, const clarke_summary *summary,
            const clarke_check_needs *needs, bool verbose)
{
  json_t *report = clarke_derive_json(s, d, t);

  clarke_summary_set(&report, summary, verbose);
  clarke_set_check_needs(&report, needs);
  return report;
}

static clarke_status
print_answer(int *exit_status, const clarke_derive_session *s, const clarke_derivation *d, const clarke_derive_text *t,
             const clarke_check_needs *needs, const clarke_derive_command *c, clarke_error *err)
{
  const char *proof = d->verdict != CLARKE_UNDECIDED ? c->proof : NULL;
  clarke_summary summary;
  clarke_status status = clarke_derive_summary(&summary, s, d, t, proof, err);

  clarke_watch_hide(true);
  if (status == CLARKE_OK && !c->json && !c->ci.quiet) {
    clarke_summary_print(&summary);
    clarke_derive_print_text(d, t);
  }
  if (status == CLARKE_OK)
    status = clarke_ci_tell(exit_status, &c->ci,
                            &(clarke_ci_source){.command = "derive", .path = c->ask.path, .json = c->json, .proof = proof},
                            clarke_ci_wants(&c->ci, c->json) ? answer_json(s, d, t, &summary, needs, c->verbose) : NULL, err);
  clarke_summary_clear(&summary);
  return status;
}

static clarke_status
answer_point(int *exit_status, clarke_derive_session *s, const clarke_derive_command *c, clarke_error *err)
{
  clarke_check_needs needs = {0};
  clarke_derivation d;
  clarke_derive_text t;
  clarke_status status;

  clarke_derivation_init(&d);
  clarke_derive_text_init(&t);
  status = clarke_derive_ask(&d, s, err);
  *exit_status = clarke_verdict_status(d.verdict);
  if (status == CLARKE_OK)
    status = clarke_derive_text_fill(&t, s, &d, err);
  if (status == CLARKE_OK && c->proof != NULL)
    status = write_proof(&needs, s, &d, c, err);
  if (status == CLARKE_OK && c->plot != NULL)
    status = clarke_derive_figure(s, c->plot, NULL, err);
  if (status == CLARKE_OK)
    status = print_answer(exit_status, s, &d, &t, &needs, c, err);
  clarke_derive_text_clear(&t);
  clarke_derivation_clear(&d);
  return status;
}

static clarke_status
answer(int *exit_status, clarke_derive_session *s, const clarke_derive_command *c, clarke_error *err)
{
  clarke_status status = clarke_derive_session_read(s, &c->ask, err);

  if (status == CLARKE_OK && s->network)
    status = refuse_for_network(c, err);
  if (status != CLARKE_OK)
    return status;
  if (c->print) {
    clarke_process_print_as_is();
    clarke_prog_print(stdout, &s->prog); /* standard output remembers its errors: process.h */
    return CLARKE_OK;
  }
  if (c->sweep != NULL)
    return clarke_derive_sweep(s, c, err);
  if (!s->network)
    status = clarke_derive_point(s, c->ask.at, c->ask.n_at, CLARKE_NONE, err);
  if (status == CLARKE_OK && c->n_directions > 0)
    return clarke_derive_along(exit_status, s, c, err);
  return status == CLARKE_OK ? answer_point(exit_status, s, c, err) : status;
}

clarke_status
clarke_derive_answer(int *exit_status, const clarke_derive_command *command, clarke_error *err)
{
  clarke_derive_command c = *command;
  clarke_derive_session s;
  clarke_file file = {0};
  clarke_status status = clarke_file_read(&file, c.ask.path, err);

  clarke_derive_session_init(&s);
  c.ask.file = &file;
  if (status == CLARKE_OK)
    status = answer(exit_status, &s, &c, err);
  clarke_derive_session_clear(&s);
  clarke_file_clear(&file);
  return status;
}
