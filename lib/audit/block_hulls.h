/* Where AD's own sides contradict each other in some blocks of a layer's system, AD's output may still be a convex
 * combination: of cells that have AD's sides outside of those blocks and, inside, the sides that directions in a block's own
 * parameters lead to. Blocks share none of them, so such directions add up, and cells of a block go with all cells of
 * the others: it is enough that AD's output lies among the cells of each block alone. */
#ifndef CLARKE_AUDIT_BLOCK_HULLS_H
#define CLARKE_AUDIT_BLOCK_HULLS_H

#include "audit/audit.h"

typedef struct {
  const clarke_question *q;
  bool *column; /* of all parameters: some block's touches depend on it */
  bool whole;   /* all blocks so far are surrounded, the simplices being the audit's */
} clarke_block_hulls;

clarke_status clarke_block_hulls_init(clarke_block_hulls *s, const clarke_question *q,
                                      clarke_error *err);
void clarke_block_hulls_clear(clarke_block_hulls *s);

/* One more block, of the marked touches. sample: theirs, AD's output being inside as far as floats can tell; NULL:
 * it is not, and `whole` is lost. *surrounded: a simplex of its cells holds AD's output, or none was sought, `whole` being
 * lost before. */
clarke_status clarke_block_hulls_add(bool *surrounded, clarke_block_hulls *s, clarke_audit *a, const bool *among,
                                     clarke_sample *sample, clarke_error *err);

/* When all blocks of all layers are surrounded: has AD's side everywhere else a direction? Then AD's output is in the
 * hull of the simplices' cells. */
clarke_status clarke_block_hulls_finish(bool *found, clarke_block_hulls *s, clarke_audit *a,
                                     clarke_error *err);

#endif
