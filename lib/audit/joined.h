/* Kinks that take their sides together near w, in whatever layers: AD's output is separated from all patterns at once.
 *
 * In relu(z) - relu(-z) (Lemma 2) one kink is on its left where the other is on its right, whatever z is made of. Arguments that are one
 * function, or minus it, are known by their identities (network/pass/identity.h); others that are affine by their rows. What
 * the kinks of one class add to the loss's derivative along a vector is bounded by its better option: so a smooth sum of kinks, which adds
 * the same by either, needs no branches. */
#ifndef CLARKE_AUDIT_JOINED_H
#define CLARKE_AUDIT_JOINED_H

#include "audit/audit.h"

/* *separated: a->membership.v does, and a->tree is a leaf and the classes. */
clarke_status clarke_settle_joined(bool *separated, clarke_audit *a, clarke_question *q, clarke_error *err);

#endif
