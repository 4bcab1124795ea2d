/* The row of a touch's condition by reverse mode over the few entries that it meets. */
#ifndef CLARKE_AUDIT_SPARSE_ROW_H
#define CLARKE_AUDIT_SPARSE_ROW_H

#include "audit/row.h"
#include "network/derive/sink.h"

/* What reverse mode over few entries keeps from one row to the next. */
typedef struct {
  const clarke_graph *g;
  size_t segment;
  clarke_row *grad; /* by value: entries, not yet added up */
  bool *carries;
  clarke_matrix *scale; /* by step: what a SCALE multiplies by; 0 x 0 before it is asked for */
  /* The last row: did enclosures come into one entry alone, by its last factor? Then its number is no farther than spread
   * from that of the row. vague: into more. */
  bool enclosed, vague;
  size_t parameter, entry;
  mpq_t spread;
} clarke_sparse;

void clarke_sparse_init(clarke_sparse *w);
void clarke_sparse_clear(clarke_sparse *w);

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
