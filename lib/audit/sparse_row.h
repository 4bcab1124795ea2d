/* The row of a touch's condition by reverse mode over the few entries that it meets. */
#ifndef CLARKE_AUDIT_SPARSE_ROW_H
#define CLARKE_AUDIT_SPARSE_ROW_H

#include "audit/system.h"
#include "network/sink.h"

/* The sum of sign[k] (1 or -1) times entries entry[k] of a value; segment as in clarke_reverse_run. */
typedef struct {
  size_t value, n, segment;
  size_t entry[2];
  int sign[2];
} clarke_sparse_seed;

/* Emits the nonzero entries of the seed's gradient in wrt parameters, f and s being one column's;
 * an entry may come in several terms. *known: false when it gave up, with some terms emitted. */
clarke_status clarke_sparse_run(bool *known, clarke_sparse *w, const clarke_sparse_seed *seed,
                                const clarke_forward *f, const clarke_slopes *s,
                                const clarke_emitter *emitter, clarke_error *err);

#endif
