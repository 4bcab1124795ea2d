/* The three lines in front of a certificate. */
#include "certify_report.h"

static void
put_asked(FILE *to, const clarke_certified *c, const clarke_certify_command *command)
{
  const clarke_record *r = &c->record;

  fputs("Is what was recorded what the step computes? ", to);
  if (r->step == NULL) {
    fputs("The record was not read.", to);
    return;
  }
  fprintf(to, "Step %zu, ", r->step->step);
  if (*r->types != '\0')
    fprintf(to, "in %s, ", r->types);
  fputs("recorded with ", to);
  fputs(r->run.framework, to);
  fputs(" ", to);
  fputs(r->run.version, to);
  fputs(" on ", to);
  fputs(r->run.device, to);
  if (*c->audit.model.sha256 != '\0') {
    fputs("; graph ", to);
    clarke_put_hash(to, c->audit.model.sha256);
  }
  fputs(command->against != NULL ? "; beside another record of it." : ".", to);
}

static void
put_branches(FILE *to, const clarke_certified *c)
{
  const clarke_branches *p = &c->pattern;

  if (!c->compared)
    return;
  if (p->asked == 0)
    fputs("The network has no kinks.", to);
  else if (p->n == 0 && p->doubtful == 0 && p->asked == 1)
    fputs("The one kink or window was taken as in exact arithmetic.", to);
  else if (p->n == 0 && p->doubtful == 0)
    fprintf(to, "All %zu kinks and windows were taken as in exact arithmetic.", p->asked);
  else {
    fprintf(to, "%zu of the %zu kinks and windows %s taken otherwise than in exact arithmetic", p->n, p->asked, p->n == 1 ? "was" : "were");
    if (p->doubtful > 0)
      fprintf(to, ", and of %zu it is not known", p->doubtful);
    fputc('.', to);
  }
}

static void
put_answer(FILE *to, const clarke_certified *c)
{
  const clarke_certainty answer = clarke_certified_answer(c);
  const char *word = clarke_certainty_name(answer);

  if (c->stopped != NULL) {
    fprintf(to, "Not decided: the work was stopped (%s).", word);
    return;
  }
  if (!c->traced) {
    fprintf(to, "Not decided: the record is a light one, without outputs and gradients of nodes (%s).", word);
    return;
  }
  if (answer == CLARKE_IS_REFUTED)
    fprintf(to, "No: some recorded numbers are not what the step computes, and rounding does not explain it (%s). ", word);
  else if (answer >= CLARKE_CANNOT_SAY)
    fprintf(to, "Not decided: of some recorded numbers it is not known whether the step computes them (%s). ", word);
  else if (answer == CLARKE_WITHIN_BOUND)
    fprintf(to, "Yes: all that was recorded is what the step computes, but for rounding (%s). ", word);
  else if (answer == CLARKE_BY_TREE)
    fprintf(to, "Yes: all that was recorded is what the step computes with sums in the recorded order, bit for bit (%s). ", word);
  else
    fprintf(to, "Yes: all that was recorded is what the step computes, bit for bit (%s). ", word);
  if (c->claimed && answer < CLARKE_CANNOT_SAY)
    fputs("Roundings are allowed here that run.json alone tells of. ", to);
  put_branches(to, c);
}

static void
put_next(FILE *to, const clarke_certified *c, const clarke_certify_command *command)
{
  const clarke_certainty answer = clarke_certified_answer(c);

  if (c->stopped != NULL)
    fprintf(to, "Ask again with more time or memory: %s.", c->stopped);
  else if (!c->traced)
    fputs("clarke audit compares the gradient of such a record; one with a trace has its nodes, too.", to);
  else if (answer >= CLARKE_CANNOT_SAY)
    fputs("Below: which tensors these are, and why.", to);
  else
    fprintf(to, "clarke audit tells whether the step's gradient is right%s.",
            command->proof != NULL ? "" : "; --proof FILE writes a proof for clarke-check");
}

clarke_status
clarke_certify_summary(clarke_summary *summary, const clarke_certified *c, const clarke_certify_command *command, clarke_error *err)
{
  clarke_status status = clarke_summary_begin(summary, err);

  if (status != CLARKE_OK)
    return status;
  put_asked(summary->asked.to, c, command);
  put_answer(summary->answer.to, c);
  put_next(summary->next.to, c, command);
  return clarke_summary_end(summary, CLARKE_OK, err);
}
