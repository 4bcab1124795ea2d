/* Patterns where what varies multiplies (around.h). */
#include "session/around.h"

#include "base/text.h"
#include "proof/write_patterns.h"
#include "region/forms.h"

#include <stdlib.h>
#include <string.h>

void
clarke_around_init(clarke_around *a)
{
  memset(a, 0, sizeof *a);
  clarke_execution_init(&a->execution);
  clarke_patterns_init(&a->patterns);
}

void
clarke_around_clear(clarke_around *a)
{
  if (a->walks)
    clarke_walk_clear(&a->walk);
  clarke_patterns_clear(&a->patterns);
  clarke_execution_clear(&a->execution);
  free(a->needed);
  clarke_around_init(a);
}

static void
count(clarke_around *a)
{
  for (size_t i = 0; i < a->patterns.n; i++) {
    a->realized += a->patterns.pattern[i].realized;
    a->undecided += !a->patterns.pattern[i].realized;
  }
}

clarke_status
clarke_around_find(clarke_around *a, const clarke_code *p, mpq_t *point, clarke_error *err)
{
  clarke_status status;

  a->p = p;
  a->needed = calloc(p->n + 1, sizeof *a->needed);
  if (a->needed == NULL)
    return clarke_no_memory(err);
  status = clarke_forms_check(a->needed, &a->kinks, p, true, err);
  if (status == CLARKE_OK)
    status = clarke_execute(&a->execution, p, point, err);
  if (status == CLARKE_OK && a->execution.open)
    status = clarke_code_fail(p, a->execution.open_at, err, "a comparison at the point that no precision decides");
  if (status == CLARKE_OK)
    status = clarke_patterns_find(&a->patterns, &a->execution, err);
  a->stopped = status == CLARKE_ESTOPPED;
  if (status == CLARKE_OK || a->stopped)
    count(a);
  return a->stopped ? CLARKE_OK : status;
}

/* --- one pattern ----------------------------------------------------------------------------- */

clarke_status
clarke_around_show(clarke_around *a, const clarke_pattern *pattern, clarke_error *err)
{
  clarke_walk_state state = CLARKE_WALK_FORK;
  clarke_status status = CLARKE_OK;

  if (a->walks)
    clarke_walk_restart(&a->walk, NULL);
  else
    status = clarke_walk_init(&a->walk, &a->execution, NULL, 0, err);
  a->walks = a->walks || status == CLARKE_OK;
  for (size_t k = 0; status == CLARKE_OK && k <= pattern->n_choices; k++) {
    status = clarke_walk_on(&a->walk, &state, err);
    if (status == CLARKE_OK && (state == CLARKE_WALK_FORK) != (k < pattern->n_choices))
      return clarke_fail(err, CLARKE_EINTERNAL, "a walk did not come to its pattern again");
    if (status == CLARKE_OK && state == CLARKE_WALK_FORK)
      clarke_walk_choose(&a->walk, pattern->choice[k]);
  }
  return status;
}

size_t
clarke_around_choice(const clarke_around *a, size_t instruction)
{
  const clarke_instruction *at = &a->p->instruction[instruction];
  size_t k = 0;

  if (at->kind == CLARKE_DO_PIECEWISE && a->execution.touch_of[instruction] != CLARKE_NONE
      && clarke_walk_identical(&a->walk, at->in[0], CLARKE_NONE))
    return CLARKE_NONE;
  if (at->kind == CLARKE_DO_PIECEWISE)
    return a->walk.part[instruction];
  while (k + 1 < at->n_in && at->in[k] != a->walk.part[instruction])
    k++;
  return k;
}

clarke_status
clarke_around_prove(const clarke_around *a, const clarke_region_function *f, const char *model, mpq_t *point, const char *path, clarke_error *err)
{
  const clarke_patterns_statement statement = {.function = {clarke_base_name(model), f->sha256, f->output}, .network = f->network, .held = a->p, .point = point};

  return clarke_patterns_prove(&a->patterns, &statement, path, err);
}
