/* Which entries have a derivative at all: read off the graph, the numbers that are 0, and the slopes chosen. */
#ifndef CLARKE_AUDIT_MOVES_H
#define CLARKE_AUDIT_MOVES_H

#include "network/derive/slopes.h"

/* moves[value], of new ones by value: features x columns, of activations up to step `end`. Where it is false each path from a wrt parameter has
 * a factor 0: the derivative is 0. Where it is true nothing is known. NULL: of a value behind. */
clarke_status clarke_moves_find(bool **moves, const clarke_forward *f, const clarke_slopes *s, size_t end, clarke_error *err);
void clarke_moves_free(bool **moves, size_t n);

#endif
