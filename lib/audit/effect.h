/* Which touched kinks AD's gradient depends on. */
#ifndef CLARKE_AUDIT_EFFECT_H
#define CLARKE_AUDIT_EFFECT_H

#include "audit/question.h"

/* effect[k]: may the loss have a derivative by touch k's output at w, whatever slopes touched kinks have? Where it has none (each
 * way from there to the loss is cut by a factor that is 0) the gradient is the same whatever side the touch takes
 * (docs/proof-format.md). One for each touch of the replay. */
clarke_status clarke_effect_find(bool *effect, const clarke_question *q, clarke_error *err);

#endif
