/* How far a refutation is followed: in the formula's own variables, and with so much work. */
#include "base/stop.h"
#include "base/verify.h"
#include "sat/follow_inside.h"

#include <stdlib.h>

clarke_status
clarke_following_knows(const clarke_following *g, size_t step, int32_t literal, clarke_error *err)
{
  if ((size_t)labs((long)literal) <= g->three->n_own)
    return CLARKE_OK;
  return clarke_clausal_fail(err, g->proof, g->file, step,
                             "literal %ld, but the formula has %zu variables: new ones (extended resolution) are not followed",
                             (long)literal, g->three->n_own);
}

bool
clarke_following_goes_on(clarke_following *g)
{
  if (g->to->work < g->work && clarke_work_check(NULL) == CLARKE_OK)
    return true;
  g->to->stopped = g->to->work < g->work ? clarke_work_stopped() : NULL;
  return false;
}
