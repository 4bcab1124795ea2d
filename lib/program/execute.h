/* A program executed at a point in exact arithmetic, and what AD returns there.
 *
 * Every comparison (a pointwise function's kinks, ties, branches) is decided with certainty, at
 * growing precision where balls are involved; one that no precision decides leaves the execution
 * `open`, and nothing is claimed. */
#ifndef CLARKE_PROGRAM_EXECUTE_H
#define CLARKE_PROGRAM_EXECUTE_H

#include "program/elementary.h"

#define CLARKE_PRECISION_FIRST 128L
#define CLARKE_PRECISION_LAST 4096L

/* A touched kink: in demand order. PIECEWISE, ELU: at kink `kink`. ORDER: a tie, n_tied entries
 * (indices into in[]) equal to its value, which is the rank_in_tie-th largest of them. BRANCH: its
 * two comparands are equal. NORM: all arguments are zero. */
typedef struct {
  size_t instruction;
  size_t kink;
  size_t n_tied, *tied, rank_in_tie;
} clarke_touched;

typedef struct {
  const clarke_code *p;
  mpq_t *at;             /* all entries of all inputs; shared */
  long precision;
  bool open;             /* a comparison was left open, and the execution stopped: */
  size_t open_at;        /* at this instruction */
  bool *live;            /* by instruction: executed */
  clarke_number *value;  /* by instruction, where live */
  uint8_t *piece;        /* PIECEWISE, ELU: its piece; at kink k: k (the piece on its left). BRANCH:
                          * 1 when the condition holds, else 0 */
  size_t *order;         /* instructions executed, in demand order */
  size_t n_order;
  size_t n_touched;
  clarke_touched *touched;
  size_t *touch_of;      /* by instruction: its touched kink, or CLARKE_NONE */
} clarke_execution;

/* What was executed has its arguments, and touches kinks that there are. Of one left open, nothing. */
bool clarke_execution_is_valid(const clarke_execution *e);

void clarke_execution_init(clarke_execution *e);
void clarke_execution_clear(clarke_execution *e);

/* at: one rational for each entry of the inputs, kept by reference. Division by zero, log of a
 * number that is not positive, sqrt of a negative one are errors with file, line and column. */
clarke_status clarke_execute(clarke_execution *e, const clarke_code *p, mpq_t *at,
                             clarke_error *err);
/* At that one precision. */
clarke_status clarke_execute_at(clarke_execution *e, const clarke_code *p, mpq_t *at,
                                long precision, clarke_error *err);

/* AD in reverse mode: gradient holds n_outputs x wrt_count numbers, row-major, initialized. The
 * execution is not open. A proxy that the profile does not have is an error, and so is a partial
 * derivative that is not finite (sqrt at 0). */
clarke_status clarke_execution_ad(clarke_number *gradient, const clarke_execution *e,
                                  const clarke_profile *profile, clarke_error *err);

/* The partial derivatives that AD multiplies by, of live instruction i in each of its arguments: d
 * holds n_in numbers. At a touched kink, the proxy's; of a NORM at zero, zeros. */
clarke_status clarke_partials(clarke_number *d, const clarke_execution *e, size_t i,
                              const clarke_profile *profile, clarke_error *err);

/* The touched kink of an instruction, or NULL when it touches none. */
const clarke_touched *clarke_touched_find(const clarke_execution *e, size_t instruction);

#endif
