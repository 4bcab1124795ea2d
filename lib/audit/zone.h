/* The zone of a minibatch (thesis, Definition 7), with respect to the wrt parameters and for the loss, exactly.
 *
 * At each touched kink AD may take any number between the slopes, at each tied window any mean of the tied entries. Its result
 * is affine in the choice at each. It changes with no choice if and only if no chain of touches leads from a parameter to the
 * loss: the first one's argument has a derivative by a parameter, each next one's by the output of the one before, and the loss
 * by that of the last, all at one choice, the base (docs/zones.md). */
#ifndef CLARKE_AUDIT_ZONE_H
#define CLARKE_AUDIT_ZONE_H

#include "audit/question.h"
#include "base/verdict.h"

/* The base: left, and a window's first option. */
typedef struct {
  clarke_zone zone;
  /* COMPENSATION: by touch, from there chains may lead to the loss. None comes from a parameter, or from a touch that is not
   * among these and not flat. */
  bool *cut;
  /* BIFURCATION: from the base to these sides (by touch; all others as in the base) AD's derivative by that entry changes. */
  clarke_branch *side;
  size_t parameter, entry;
} clarke_zone_found;

void clarke_zone_init(clarke_zone_found *z);
void clarke_zone_clear(clarke_zone_found *z);

/* UNKNOWN where an enclosure leaves it open, ties of one function behind touched kinks would have to be told apart, or the work
 * would be too much. ties: is any window tied? */
clarke_status clarke_zone_find(clarke_zone_found *z, const clarke_question *q, bool ties, clarke_error *err);

/* What is there is what its zone needs. */
bool clarke_zone_is_valid(const clarke_zone_found *z, const clarke_question *q);

#endif
