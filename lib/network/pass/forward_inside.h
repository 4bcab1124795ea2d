/* What the files of the pass share: its room, and a step by itself. */
#ifndef CLARKE_NETWORK_PASS_FORWARD_INSIDE_H
#define CLARKE_NETWORK_PASS_FORWARD_INSIDE_H

#include "network/pass/forward.h"

/* Cleared, then room for the values, places and ties of n columns: no values yet, and no places. */
clarke_status clarke_forward_allocate(clarke_forward *f, const clarke_constants *constants, size_t n, clarke_error *err);

/* The step's value of those that it reads, and its places. */
clarke_status clarke_forward_apply(clarke_forward *f, const clarke_step *s, clarke_error *err);

#endif
