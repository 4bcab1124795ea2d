/* The global system: one direction in all parameters at once for AD's pattern. */
#include "audit/theorems/theorems.h"

void
clarke_judge_global_system(clarke_theorem *t, const clarke_audit *a)
{
  if (!a->global_tried)
    clarke_theorem_say(t, "global system", true, a->verdict == CLARKE_IN_BOULIGAND ? CLARKE_YES : CLARKE_UNKNOWN,
                       a->verdict == CLARKE_IN_BOULIGAND ? "follows from the layers' systems%s" : "not asked%s",
                       NULL);
  else
    clarke_theorem_say(t, "global system", true, a->global,
                       a->global == CLARKE_YES  ? "one direction in all parameters realizes AD's pattern%s"
                       : a->global == CLARKE_NO ? "no direction realizes AD's pattern to first order%s"
                                                : "neither a direction nor a refutation was found%s",
                       NULL);
}
