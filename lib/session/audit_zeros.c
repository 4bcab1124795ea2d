/* Entries of AD's gradient that are 0, parameter by parameter (audit.h). */
#include "session/audit.h"

#include "session/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What holds at all weights nearby, too: where an argument is off its kinks it stays there, a window's loser stays one, and data stay. */
#define STAYS (CLARKE_ZERO_FLAT | CLARKE_ZERO_LOSER | CLARKE_ZERO_UNUSED | CLARKE_ZERO_DATA)

clarke_zero_summary
clarke_audit_zeros_of(const clarke_audit_session *s, size_t parameter)
{
  const clarke_zeros *near = s->replay.n_touches > 0 ? &s->near_zeros : &s->zeros;
  clarke_zero_summary z = {.entries = s->graph.parameters[parameter].count,
                           .ad = clarke_zeros_count(&s->zeros, &s->graph, parameter),
                           .near = clarke_zeros_count(near, &s->graph, parameter).zero,
                           .along = s->moved.known ? s->moved.along[parameter] : 0};

  for (size_t e = 0; near->known && near->cause[parameter] != NULL && e < z.entries; e++)
    z.stays += (near->cause[parameter][e] & ~STAYS) == 0;
  return z;
}

/* Marks whose entries are asked for: all parameters', or with `whole` of those of which all is 0. How many are 0 and may be others nearby. */
static size_t
mark_asked(bool *asked, const clarke_audit_session *s, bool whole)
{
  size_t wanted = 0;

  for (size_t p = 0; p < s->graph.n_parameters; p++) {
    const clarke_zero_summary z = clarke_audit_zeros_of(s, p);

    asked[p] = s->graph.parameters[p].wrt && (!whole || z.ad.zero == z.entries);
    wanted += asked[p] ? z.ad.zero - z.stays : 0;
  }
  return wanted;
}

/* For known zeros, a direction off them. */
static clarke_status
find_moved(clarke_audit_session *s, bool whole, clarke_error *err)
{
  bool *asked = calloc(s->graph.n_parameters + 1, sizeof *asked);
  const clarke_status status = asked == NULL ? clarke_no_memory(err) : clarke_moved_find(s, asked, mark_asked(asked, s, whole), err);

  free(asked);
  return status;
}

clarke_status
clarke_audit_find_zeros(clarke_audit_session *s, bool whole, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  s->zeros_asked = true;
  if (!s->replayed || s->stopped != NULL)
    return CLARKE_OK;
  status = clarke_zeros_find(&s->zeros, &s->replay, &s->profile, false, err);
  if (status == CLARKE_OK && s->zeros.known && s->replay.n_touches > 0)
    status = clarke_zeros_find(&s->near_zeros, &s->replay, &s->profile, true, err);
  if (status == CLARKE_OK)
    return s->zeros.known ? find_moved(s, whole, err) : CLARKE_OK;
  clarke_zeros_clear(&s->zeros);
  clarke_zeros_clear(&s->near_zeros);
  return status == CLARKE_ESTOPPED ? CLARKE_OK : status;
}

bool
clarke_zero_causes(char *text, size_t size, const clarke_zero_counts *counts)
{
  bool told[CLARKE_ZERO_CAUSES] = {false};
  size_t used = 0;

  *text = '\0';
  for (;;) {
    size_t most = CLARKE_ZERO_CAUSES;
    int n;

    for (size_t i = 0; i < CLARKE_ZERO_CAUSES; i++)
      if (!told[i] && counts->by[i] > 0 && (most == CLARKE_ZERO_CAUSES || counts->by[i] > counts->by[most]))
        most = i;
    if (most == CLARKE_ZERO_CAUSES)
      return used > 0;
    told[most] = true;
    n = snprintf(text + used, size - used, "%s%s %zu", used > 0 ? ", " : "", clarke_zero_cause_name(most), counts->by[most]);
    if (n < 0 || (size_t)n >= size - used)
      return true;
    used += (size_t)n;
  }
}

static json_t *
causes_json(const clarke_zero_counts *counts)
{
  json_t *causes = json_object();

  for (size_t i = 0; i < CLARKE_ZERO_CAUSES; i++)
    if (counts->by[i] > 0)
      clarke_json_set(&causes, clarke_zero_cause_name(i), json_integer((json_int_t)counts->by[i]));
  return causes;
}

json_t *
clarke_zeros_json(const clarke_audit_session *s)
{
  json_t *list = s->zeros.known ? json_array() : json_null();

  for (size_t p = 0; s->zeros.known && p < s->graph.n_parameters; p++) {
    const clarke_zero_summary z = clarke_audit_zeros_of(s, p);

    if (s->graph.parameters[p].wrt && z.ad.zero > 0)
      clarke_json_append(&list, json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:o}", "parameter", clarke_json_text(s->graph.parameters[p].name),
                                          "entries", (json_int_t)z.entries, "zero", (json_int_t)z.ad.zero, "nearby",
                                          (json_int_t)z.near, "stays", (json_int_t)z.stays, "along", (json_int_t)z.along, "why", causes_json(&z.ad)));
  }
  return list;
}

json_t *
clarke_moved_json(const clarke_audit_session *s)
{
  return !s->moved.known ? json_null()
                         : json_pack("{s:i, s:i, s:i}", "multiplier", (int)s->moved.multiplier, "modulus", CLARKE_MOVED_MODULUS, "step", s->moved.step);
}
