/* Ties of entries that are one function near w, but whose derivatives may differ: where touched kinks come before them, each
 * entry follows choices of its own there. In max(relu(x), relu(x)) at x = 0 the entries may have the slopes 0 and 1. */
#ifndef CLARKE_AUDIT_LOOSE_H
#define CLARKE_AUDIT_LOOSE_H

#include "audit/degree.h"

typedef struct {
  bool any;
  bool constant; /* one's first tied entry does not move: then the marking takes the window for constant, and its others do */
  bool **at; /* by step, of MAX: such windows, by feature and column of the near pass; NULL: none */
} clarke_loose;

/* Finds them for the marking's question, whose sides must not be chosen. among[k]: may choices at touch k change a
 * derivative? One that does not move (degree 0) changes none. Cleared also when it fails. */
clarke_status clarke_loose_find(clarke_loose *loose, const clarke_marking *m, const bool *among, clarke_error *err);
void clarke_loose_clear(clarke_loose *loose, const clarke_graph *g);

#endif
