/* clarke audit RUN/: a recorded step, its gradient beside AD's exact one, and the verdict. */
#include "audit_report.h"
#include "audit_steps.h"
#include "command.h"
#include "recorded.h"
#include "session/certify.h"
#include "session/json.h"

#include <math.h>
#include <stdio.h>

#define MOST_TURNED 10 /* lines; --json has all */

static const char *
name_of(const clarke_certified *c, size_t step)
{
  const clarke_step *s = &c->audit.graph.steps[step];

  return c->audit.graph.values[s->out].name != NULL ? c->audit.graph.values[s->out].name : s->name;
}

static void
put_place(const clarke_certified *c, size_t step, size_t feature, size_t sample)
{
  const clarke_value *v = &c->audit.graph.values[c->audit.graph.steps[step].out];
  char index[256];

  clarke_put_index(index, sizeof index, v->dims, v->rank, feature);
  printf("%s%s of sample %zu", name_of(c, step), index, sample);
}

static void
print_turned(const clarke_certified *c)
{
  size_t n = 0;

  for (size_t i = 0; i < c->pattern.n; i++) {
    const clarke_parted *p = &c->pattern.parted[i];

    if (p->alike || n++ >= MOST_TURNED)
      continue;
    fputs("  ", stdout);
    put_place(c, p->step, p->feature, p->sample);
    putchar('\n');
  }
  if (n > MOST_TURNED)
    puts("  ...");
  printf("It is the gradient along the recorded branches, within rounding: %s (%s).\n", clarke_verdict_name(c->along.verdict), c->along.why);
}

/* The report's first lines. */
static void
print_gradient(const clarke_certified *c)
{
  static const char *const sentence[] = {
    [CLARKE_RAN_EXPLAINED] = "The recorded gradient is AD's exact gradient within a bound on rounding: ",
    [CLARKE_RAN_TURNED] = "TURNED: the recorded gradient is not AD's exact gradient: ",
    [CLARKE_RAN_REFUTED] = "NOT the step that was recorded: ",
    [CLARKE_RAN_UNKNOWN] = "Whether the recorded gradient is AD's exact gradient but for rounding is not known: ",
  };
  const clarke_record *r = &c->record;

  if (clarke_record_rests_on_nodes(r) && r->ran == CLARKE_RAN_EXPLAINED)
    printf("The recorded gradient is AD's, but for the rounding of each operation: %s.\n", r->why);
  else
    printf("%s%s.\n", sentence[r->ran], r->why);
  if (r->ran == CLARKE_RAN_TURNED)
    print_turned(c);
  if (clarke_record_rests_on_nodes(r))
    printf("How near it is to %s as a whole was not asked: --gradient FILE does.\n",
           r->ran == CLARKE_RAN_TURNED ? "that gradient" : "AD's exact gradient");
  if (r->ran == CLARKE_RAN_REFUTED || r->ran == CLARKE_RAN_TURNED)
    puts("What follows is about the graph's exact gradient, not about what was recorded.");
  if (r->near_known && isfinite(r->near)) {
    fputs("Nearest in units of the error that its argument may have: ", stdout);
    put_place(c, r->near_step, r->near_entry / c->audit.x->dims[0], r->near_entry % c->audit.x->dims[0]);
    printf(", %.3g.\n", r->near);
  }
  clarke_print_record(r);
  if (r->step->again == CLARKE_AGAIN_NOTHING)
    puts("The step was NOT run again: what PyTorch's dispatcher does not show (.data =, numpy, C++) may be missing in the record.");
  if (r->step->again == CLARKE_AGAIN_PROGRAM)
    puts("The step itself was not run again: earlier ones of the same program were.");
  if (r->step->again == CLARKE_AGAIN_NOT_SAID)
    puts("run.json does not say whether the step was run again.");
  if (!r->run.says_branches)
    puts("run.json does not say at which lines the program read what depends on the parameters.");
  putchar('\n');
}

json_t *
clarke_audit_step_json(const clarke_certified *c, const clarke_summary *summary, const clarke_check_needs *needs, const clarke_audit_command *command)
{
  json_t *answer = clarke_audit_json(&c->audit), *gradient = clarke_record_json(&c->record, &c->audit);

  clarke_json_set(&gradient, "turned", clarke_turned_json(c));
  if (c->audit.zeros_asked && command->verbose)
    clarke_json_set(&gradient, "zeros", clarke_record_zeros_json(&c->record, &c->audit));
  clarke_json_set(&answer, "gradient", gradient);
  clarke_audit_set_pictures(&answer, &c->audit, clarke_audit_draws(command));
  clarke_audit_set_separator(&answer, &c->audit, clarke_audit_draws(command));
  clarke_set_check_needs(&answer, needs);
  clarke_summary_set(&answer, summary, command->verbose);
  return answer;
}

static clarke_status
print(const clarke_certified *c, const clarke_summary *summary, const clarke_audit_command *command, clarke_error *err)
{
  if (command->json || command->ci.quiet)
    return CLARKE_OK;
  clarke_summary_print(summary);
  print_gradient(c);
  return clarke_audit_print_text(&c->audit, &c->record, command, err);
}

static clarke_status
tell(int *exit_status, const clarke_certified *c, const clarke_check_needs *needs, const clarke_audit_command *command, clarke_error *err)
{
  const clarke_ci_source source = {.command = "audit", .path = c->record.graph_path, .json = command->json,
                                   .proof = clarke_audit_proof_written(&c->audit, command)};
  clarke_summary summary;
  clarke_status status = clarke_audit_summary(&summary, &c->audit, c, source.proof, err);

  if (status == CLARKE_OK)
    status = print(c, &summary, command, err);
  if (status == CLARKE_OK)
    status = clarke_ci_tell(exit_status, &command->ci, &source,
                            clarke_ci_wants(&command->ci, command->json) ? clarke_audit_step_json(c, &summary, needs, command) : NULL, err);
  clarke_summary_clear(&summary);
  return status;
}

/* With -v; else in text alone, where a first line may have to be told: what is 0 on each path was recorded as 0, on the same branches. */
static clarke_status
find_zeros(clarke_certified *c, const clarke_audit_command *command, clarke_error *err)
{
  bool wanted = command->verbose || (c->record.ran == CLARKE_RAN_TURNED && !command->json);
  clarke_status status = CLARKE_OK;

  if (c->record.ran == CLARKE_RAN_REFUTED)
    return CLARKE_OK;
  if (!wanted && !command->json && !command->ci.quiet)
    status = clarke_record_has_zero(&wanted, &c->record, err);
  if (status == CLARKE_OK && wanted)
    status = clarke_audit_find_zeros(&c->audit, !command->verbose, err);
  return status == CLARKE_OK && command->verbose ? clarke_record_find_zeros(&c->record, &c->audit, err) : status;
}

int
clarke_audit_step_status(const clarke_certified *c)
{
  switch (c->record.ran) {
  case CLARKE_RAN_REFUTED:
    return EXIT_NOT_ASKED;
  case CLARKE_RAN_UNKNOWN:
    return EXIT_UNDECIDED;
  case CLARKE_RAN_TURNED:
    return clarke_verdict_status(c->along.verdict);
  default:
    return clarke_verdict_status(c->audit.audit.verdict);
  }
}

/* Stopped before all nodes were certified: what is known of the network. */
static clarke_status
keep_known(clarke_certified *c, const clarke_audit_request *ask, clarke_error *err)
{
  clarke_audit_request rest = *ask;
  clarke_status status = CLARKE_OK;

  rest.params = NULL; /* they were read */
  if (c->audit.question.g == NULL)
    status = clarke_audit_session_ask(&c->audit, &rest, err);
  return status == CLARKE_OK ? clarke_record_say(&c->record, CLARKE_RAN_UNKNOWN, err, "it was not compared (%s)", c->stopped) : status;
}

/* The recorder's first line says what was found, its last one what to write instead. */
static clarke_status
outside_summary(clarke_summary *s, const clarke_run_description *run, const char *folder, clarke_error *err)
{
  clarke_status status = clarke_summary_begin(s, err);

  if (status != CLARKE_OK)
    return status;
  fputs("Was the gradient of the step recorded in ", s->asked.to);
  fputs(folder, s->asked.to);
  fputs(" right?", s->asked.to);
  fputs("Not decided: it is no gradient of real numbers (undecided). ", s->answer.to);
  fputs(run->outside[0], s->answer.to);
  fputs(run->outside[run->n_outside - 1], s->next.to);
  return clarke_summary_end(s, status, err);
}

clarke_status
clarke_audit_outside_json(json_t **answer, const clarke_run_description *run, const char *folder, clarke_error *err)
{
  clarke_summary summary = {0};
  clarke_status status = outside_summary(&summary, run, folder, err);

  *answer = json_pack("{s:s, s:s, s:{s:s, s:n, s:s}}", "verdict", clarke_verdict_name(CLARKE_UNDECIDED), "why", run->outside[0], "gradient",
                      "answer", CLARKE_OUTSIDE_REALS, "explained", "why", run->outside[0]);
  if (status == CLARKE_OK)
    clarke_summary_set(answer, &summary, true);
  clarke_json_set(answer, "outside", json_loads(run->outside_json, 0, NULL));
  clarke_summary_clear(&summary);
  if (status == CLARKE_OK && *answer == NULL)
    status = clarke_no_memory(err);
  return status;
}

static clarke_status
print_outside(const clarke_run_description *run, const char *folder, clarke_error *err)
{
  clarke_summary summary = {0};
  clarke_status status = outside_summary(&summary, run, folder, err);

  if (status == CLARKE_OK)
    clarke_summary_print(&summary);
  for (size_t i = 0; i < run->n_outside && status == CLARKE_OK; i++)
    puts(run->outside[i]);
  clarke_summary_clear(&summary);
  return status;
}

/* A step that left the reals: nothing is asked of it but what the recorder found. */
static clarke_status
tell_outside(int *exit_status, const clarke_run_description *run, const clarke_audit_command *command, clarke_error *err)
{
  const clarke_ci_source source = {.command = "audit", .path = command->run, .json = command->json};
  clarke_status status = CLARKE_OK;
  json_t *answer = NULL;

  *exit_status = EXIT_UNDECIDED;
  if (!command->json && !command->ci.quiet)
    status = print_outside(run, command->run, err);
  if (status == CLARKE_OK && clarke_ci_wants(&command->ci, command->json))
    status = clarke_audit_outside_json(&answer, run, command->run, err);
  if (status == CLARKE_OK)
    return clarke_ci_tell(exit_status, &command->ci, &source, answer, err);
  json_decref(answer);
  return status;
}

clarke_status
clarke_audit_ask_step(clarke_certified *answer, const clarke_audit_command *command, clarke_audit_request *ask, clarke_error *err)
{
  const clarke_certify_request q = {.folder = command->run, .step = command->step, .sieved = !command->ask.exact, .whole = command->gradient != NULL};
  clarke_status status;

  *ask = command->ask;
  ask->provable = command->proof != NULL || command->zone_proof != NULL;
  status = clarke_certified_ask(answer, ask, &q, err);
  if (answer->record.run.n_outside > 0)
    return status;
  if (status == CLARKE_ESTOPPED && *answer->record.types != '\0')
    return keep_known(answer, ask, err);
  return status == CLARKE_OK ? clarke_certified_gradient(answer, err) : status;
}

clarke_status
clarke_audit_run_folder(int *exit_status, const clarke_audit_command *command, clarke_error *err)
{
  clarke_audit_command c = *command;
  clarke_check_needs needs;
  clarke_certified answer;
  clarke_status status;

  clarke_certified_init(&answer);
  status = clarke_audit_ask_step(&answer, command, &c.ask, err);
  if (answer.record.run.n_outside > 0) {
    status = tell_outside(exit_status, &answer.record.run, &c, err);
    clarke_certified_clear(&answer);
    return status;
  }
  if (status == CLARKE_OK && answer.record.ran == CLARKE_RAN_REFUTED)
    c.proof = c.zone_proof = NULL; /* it would be about another program */
  if (status == CLARKE_OK)
    status = clarke_audit_write(&needs, &answer.audit, &c, c.ask.params_path, err);
  if (status == CLARKE_OK)
    status = find_zeros(&answer, &c, err);
  *exit_status = clarke_audit_step_status(&answer);
  if (status == CLARKE_OK)
    status = tell(exit_status, &answer, &needs, &c, err);
  clarke_certified_clear(&answer);
  return status;
}
