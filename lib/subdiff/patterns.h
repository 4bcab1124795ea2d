/* All patterns of a program around a point (design, section 4).
 *
 * Near the point an execution may part where a kink is touched. It is followed in demand order
 * under one choice of signs; whenever the sign of a quantity that is zero at the point decides (the
 * argument of a touched kink less the kink, the difference of two tied entries, of a branch's two
 * comparands) and that quantity is not identically zero near the point under the signs chosen so
 * far, the tree branches on it: such a quantity is a *decision*. A branch dies when a Gordan vector
 * over the decisions above shows that no point near follows it.
 *
 * At an ORDER the tied entries are compared in this order: those in S, by increasing index, are
 * inserted one by one into the list of those before, sorted downward, each compared with the list's
 * entries from the last one up until it meets one that is not below it (an identical zero leaves
 * the earlier one ahead). */
#ifndef CLARKE_SUBDIFF_PATTERNS_H
#define CLARKE_SUBDIFF_PATTERNS_H

#include "replay/execute.h"

typedef enum { CLARKE_PARTING, CLARKE_REFUTED, CLARKE_PATTERN } clarke_fork_kind;

/* The tree in preorder, the branch of sign - before that of sign +. */
typedef struct {
  clarke_fork_kind kind;
  size_t depth;     /* decisions above it on its path */
  size_t instruction; /* PARTING: where */
  size_t n_u;       /* REFUTED: */
  size_t *decision; /* n_u of the decisions above, by their depth (0: the first), increasing */
  mpq_t *u;         /* n_u positive multipliers: sum u_i s_i gradient_i = 0 */
  size_t pattern;   /* PATTERN: its number */
} clarke_fork;

typedef struct {
  size_t n_signs;
  int8_t *sign;            /* of the decisions on its path, -1 or 1 */
  clarke_number *gradient; /* n_outputs x wrt_count: the limit of gradients, when realized */
  bool exact;              /* all of it rational */
  bool realized;           /* proved to occur, by: */
  size_t n_directions;     /* 0: no decision, or not realized */
  mpq_t **direction;       /* n_directions of wrt_count rationals: an arc
                            * w + t d_1 + t^2 d_2 + ... follows the pattern for all small t > 0 */
  bool first_order;        /* d_1 alone, every decision's derivative along it having its sign */
} clarke_pattern;

typedef struct {
  size_t n_forks;
  clarke_fork *fork;
  size_t n;
  clarke_pattern *pattern;
  bool complete;  /* the tree covers a neighbourhood: false when a limit was reached, a NORM is
                   * touched at zero, or a comparison cannot be decided */
  bool all_known; /* complete, and every pattern is realized */
  bool jumps;     /* some pattern's limit value is not the value at the point */
  size_t touched_decisions; /* distinct instructions with a decision in any branch */
  char why[256];  /* when not complete: why */
} clarke_patterns;

#define CLARKE_PATTERNS_LIMIT ((size_t)20000)

void clarke_patterns_init(clarke_patterns *t);
void clarke_patterns_clear(clarke_patterns *t);

/* e: an execution that is not open. */
clarke_status clarke_patterns_find(clarke_patterns *t, const clarke_execution *e,
                                   clarke_error *err);

#endif
