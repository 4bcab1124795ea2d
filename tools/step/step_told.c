/* What is said of steps by a rule. */
#include "step_report.h"

#include "command.h"
#include "summary.h"

#include <stdio.h>
#include <stdlib.h>

int
clarke_step_is_within(const clarke_number *x, const clarke_number *y, const mpq_t bound)
{
  clarke_number distance, minus, zero, limit;
  int sign;

  clarke_number_init(&distance);
  clarke_number_init(&minus);
  clarke_number_init(&zero);
  clarke_number_init(&limit);
  clarke_number_set_q(&limit, bound);
  clarke_number_sub(&distance, x, y, CLARKE_STEP_PRECISION);
  clarke_number_sub(&minus, &zero, &distance, CLARKE_STEP_PRECISION);
  sign = clarke_number_compare(&distance, &limit, CLARKE_STEP_PRECISION);
  if (sign <= 0)
    sign = clarke_number_compare(&minus, &limit, CLARKE_STEP_PRECISION);
  clarke_number_clear(&distance);
  clarke_number_clear(&minus);
  clarke_number_clear(&zero);
  clarke_number_clear(&limit);
  return sign == 2 ? -1 : sign <= 0;
}

/* What came out of one entry; of several how many there are. */
static clarke_status
put_computed(FILE *to, const clarke_step_answered *a, clarke_error *err)
{
  char *text = a->n == 1 ? clarke_number_text(a->theta) : NULL;

  if (a->n == 1 && text == NULL)
    return clarke_no_memory(err);
  if (text != NULL)
    fprintf(to, "Theta after step %zu: %s.", a->k, text);
  else
    fprintf(to, "Theta after step %zu: the %zu entries below.", a->k, a->n);
  free(text);
  return CLARKE_OK;
}

static clarke_status
put_answer(FILE *to, const clarke_step_answered *a, clarke_error *err)
{
  if (a->against == NULL)
    return put_computed(to, a, err);
  if (a->answer == EXIT_HOLDS) {
    fputs("Yes: ", to);
    clarke_put_count(to, a->compared, "number");
    fprintf(to, " compared, and each is what the rule makes of it%s%s (the rule's).", a->within != NULL ? ", or no farther from that than " : "",
            a->within != NULL ? a->within : "");
  } else if (a->answer == EXIT_FAILS)
    fprintf(to, "No: %s has a number that is not what the rule makes of it (not the rule's).", a->against);
  else
    fprintf(to, "Not decided: of a number of %s neither was proved (undecided).", a->against);
  return CLARKE_OK;
}

clarke_status
clarke_step_tell(const clarke_step_answered *a, clarke_error *err)
{
  const size_t gradients = a->given > 0 ? a->given : a->steps;
  clarke_summary s;
  clarke_status status = clarke_summary_begin(&s, err);

  if (status == CLARKE_OK) {
    fprintf(s.asked.to, "What does the rule %s make of this state and gradient%s? ", a->rule->name, gradients > 1 ? "s" : "");
    clarke_put_count(s.asked.to, a->steps, "step");
    fputs(", ", s.asked.to);
    fprintf(s.asked.to, a->n == 1 ? "%zu entry" : "%zu entries", a->n);
    fprintf(s.asked.to, "; %s%s%s.", a->state, a->against != NULL ? ", beside " : "", a->against != NULL ? a->against : "");
    status = put_answer(s.answer.to, a, err);
    if (a->proof != NULL)
      clarke_put_proof(s.next.to, a->proof);
    fputs(a->answer == EXIT_HOLDS ? "Nothing needs doing." : "Look at the last line, and at the settings; clarke step list has the rules.", s.next.to);
  }
  return clarke_summary_tell(&s, status, err);
}
