/* clarke audit RUN/: a recorded step, its gradient beside AD's exact one, and the verdict. */
#include "audit_report.h"
#include "command.h"
#include "session/json.h"
#include "session/record.h"

#include <stdio.h>

/* The report's first line. */
static void
print_gradient(const clarke_record *r)
{
  static const char *const sentence[] = {
    [CLARKE_YES] = "The recorded gradient is AD's exact gradient within a bound on rounding: ",
    [CLARKE_NO] = "NOT the step that was recorded: ",
    [CLARKE_UNKNOWN] = "Whether the recorded gradient is AD's exact gradient but for rounding is not known: ",
  };

  printf("%s%s.\n", sentence[r->explained], r->why);
  if (r->explained == CLARKE_NO)
    puts("What follows is about the graph's exact gradient, not about what was recorded.");
  if (r->open > 0)
    printf("Rounding may have turned %zu branches; the bound holds for either.\n", r->open);
  if (r->step->again == CLARKE_AGAIN_NOTHING)
    puts("The step was NOT run again: what PyTorch's dispatcher does not show (.data =, numpy, C++) may be missing in the record.");
  printf("Recorded with %s %s on %s, step %zu.\n\n", r->run.framework, r->run.version, r->run.device, r->step->step);
}

static clarke_status
print(const clarke_record *r, const clarke_audit_session *s, bool json, clarke_error *err)
{
  json_t *answer;

  if (!json) {
    print_gradient(r);
    return clarke_audit_print_text(s, err);
  }
  answer = clarke_audit_json(s);
  clarke_json_set(&answer, "gradient", clarke_record_json(r));
  return clarke_json_print(stdout, answer, JSON_INDENT(2), "\n", err);
}

static clarke_status
answer(int *exit_status, clarke_record *r, clarke_audit_session *s, const clarke_audit_command *c, clarke_error *err)
{
  clarke_audit_command shown = *c;
  clarke_status status = clarke_audit_session_read(s, &c->ask, err);

  if (status == CLARKE_OK)
    status = clarke_audit_session_ask(s, &c->ask, err);
  if (status == CLARKE_OK)
    status = clarke_record_compare(r, s, err);
  if (status == CLARKE_OK && r->explained == CLARKE_NO)
    shown.proof = NULL; /* it would be about another program */
  if (status == CLARKE_OK)
    status = clarke_audit_write(s, &shown, c->ask.params_path, err);
  if (status == CLARKE_OK)
    status = print(r, s, c->json, err);
  *exit_status = r->explained == CLARKE_NO        ? EXIT_NOT_ASKED
                 : r->explained == CLARKE_UNKNOWN ? EXIT_UNDECIDED
                                                  : clarke_audit_status_of(s->audit.verdict);
  return status;
}

clarke_status
clarke_audit_run_folder(int *exit_status, const clarke_audit_command *command, clarke_error *err)
{
  clarke_audit_command c = *command;
  clarke_audit_session s;
  clarke_record r;
  clarke_status status;

  clarke_record_init(&r);
  clarke_audit_session_init(&s);
  c.ask.provable = c.proof != NULL;
  status = clarke_record_open(&r, c.run, c.step, err);
  if (status == CLARKE_OK)
    status = clarke_record_request(&c.ask, &r, err);
  if (status == CLARKE_OK)
    status = answer(exit_status, &r, &s, &c, err);
  clarke_audit_session_clear(&s);
  clarke_record_clear(&r);
  return status;
}
