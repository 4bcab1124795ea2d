/* Derivatives of a step's entries by what they read: what every reverse pass takes back. */
#ifndef CLARKE_KERNEL_JACOBIAN_H
#define CLARKE_KERNEL_JACOBIAN_H

#include "check/kernel/evaluate.h"

/* How a pass wants them, and what takes them. */
typedef struct jacobian {
  const point *p;
  const rational *slope; /* of all touched kinks and windows; NULL: any between those of their sides */
  bool exact;            /* only exact ones count: where none can be, [0, 1] may stand for it */
  /* Takes the derivative of entry e of step s by what entry `reader` of it has from x, which varies. */
  void (*take)(const void *pass, size_t s, size_t e, size_t reader, source x, const interval *by);
  const void *pass;
} jacobian;

/* Hands on the derivative of entry e by what entry `reader` has from x, if that varies. */
void hand_on(const jacobian *j, size_t s, size_t e, size_t reader, source x, const interval *by);
/* Hands on all derivatives of entry e of step s, which varies; by parameters there are none among them. rootless: those of an OVER_ROOT
 * or NORMALIZE step are multiplied by the root. */
void jacobian_row(const jacobian *j, size_t s, size_t e, bool rootless);

#endif
