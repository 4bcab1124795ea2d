/* The real function beside what the hardware followed (certify.h). */
#include "session/certify.h"
#include "audit/realize.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void say(clarke_judged *j, clarke_verdict verdict, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void
say(clarke_judged *j, clarke_verdict verdict, const char *format, ...)
{
  va_list args;

  j->verdict = verdict;
  va_start(args, format);
  vsnprintf(j->why, sizeof j->why, format, args);
  va_end(args);
}

/* Branches that the real function does not take at these parameters. */
static size_t
elsewhere(const clarke_branches *p)
{
  size_t n = 0;

  for (size_t i = 0; i < p->n; i++)
    n += p->parted[i].kind != CLARKE_AT_EXACTLY && !p->parted[i].alike;
  return n;
}

/* The sides that the record took at the touched kinks. *known: each is one of the touch's. *same: they are AD's own. */
static void
find_sides(clarke_branch *side, bool *known, bool *same, const clarke_certified *c)
{
  const clarke_audit_session *s = &c->audit;

  *known = *same = true;
  for (size_t k = 0; k < s->replay.n_touches && *known; k++) {
    const clarke_branch own = s->question.touch[k].ad_side;

    side[k] = clarke_branches_side(known, &c->nodes, &s->replay, k);
    if (side[k] == CLARKE_PROXY)
      side[k] = own;
    *same = *same && side[k] == own;
  }
}

/* The record took other sides of touched kinks than AD's numbers are slopes of: is that cell realized? */
static clarke_status
realize(clarke_certified *c, const clarke_branch *side, clarke_error *err)
{
  clarke_audit_session *s = &c->audit;
  bool realized = false;
  clarke_cell cell;
  clarke_status status;

  for (size_t k = 0; k < s->replay.n_touches; k++)
    if (side[k] == CLARKE_PROXY) {
      say(&c->along, CLARKE_UNDECIDED, "the record took sides of some touched kinks; at others AD's number is no side's slope");
      return CLARKE_OK;
    }
  clarke_cell_init(&cell);
  status = clarke_cell_set(&cell, &s->question, side, err);
  if (status == CLARKE_OK)
    status = clarke_realize(&realized, &cell, &s->audit, false, &s->question, err);
  clarke_cell_clear(&cell);
  if (realized)
    say(&c->along, CLARKE_IN_BOULIGAND, "at touched kinks the record took sides of its own; directions realize them");
  else
    say(&c->along, CLARKE_UNDECIDED, "at touched kinks the record took sides of its own; no direction was found that realizes them");
  return status;
}

static clarke_status
judge_along(clarke_certified *c, clarke_error *err)
{
  const clarke_audit_session *s = &c->audit;
  const size_t away = elsewhere(&c->pattern);
  bool known, same;
  clarke_status status = CLARKE_OK;
  clarke_branch *side;

  if (c->pattern.doubtful > 0 || s->replay.open > 0) {
    say(&c->along, CLARKE_UNDECIDED, "of %zu kinks or windows it is not known where they lie, or where they were recorded",
        c->pattern.doubtful);
    return CLARKE_OK;
  }
  if (away > 0) {
    say(&c->along, CLARKE_UNDECIDED, "at %zu kinks or windows the record took a branch that the real function does not take at these "
        "parameters: its gradient belongs to another cell", away);
    return CLARKE_OK;
  }
  side = calloc(s->replay.n_touches + 1, sizeof *side);
  if (side == NULL)
    return clarke_no_memory(err);
  find_sides(side, &known, &same, c);
  if (!known)
    say(&c->along, CLARKE_UNDECIDED, "at some touched kink the record took none of its sides");
  else if (same)
    say(&c->along, c->real.verdict, "along the recorded branches AD's gradient is the same");
  else
    status = realize(c, side, err);
  free(side);
  return status;
}

clarke_status
clarke_certified_semantics(clarke_certified *c, const clarke_audit_request *ask, clarke_error *err)
{
  clarke_audit_session *s = &c->audit;
  clarke_audit_request rest = *ask;
  clarke_status status;

  rest.params = NULL; /* they were read */
  status = clarke_audit_session_ask(s, &rest, err);
  if (status != CLARKE_OK)
    return status;
  say(&c->real, s->audit.verdict, "%s", s->audit.why);
  say(&c->along, CLARKE_UNDECIDED, "%s", c->traced ? "it was not compared with the exact replay" : "no branches were recorded");
  if (s->stopped != NULL || !s->replayed || !c->traced)
    return CLARKE_OK;
  status = clarke_branches_compare(&c->pattern, &c->nodes, &s->replay, err);
  c->compared = status == CLARKE_OK;
  return status == CLARKE_OK ? judge_along(c, err) : status;
}
