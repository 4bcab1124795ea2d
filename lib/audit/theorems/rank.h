/* Ranks of layers' inputs over a minibatch. */
#ifndef CLARKE_AUDIT_THEOREMS_RANK_H
#define CLARKE_AUDIT_THEOREMS_RANK_H

#include "audit/audit.h"

/* z_{l-1}'s column rank over the minibatch, for the layers that Theorem 5 asks about. */
clarke_status clarke_layer_ranks(clarke_audit *a, const clarke_question *q, bool all,
                                 clarke_error *err);

#endif
