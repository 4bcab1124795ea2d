/* The derivative of a program at a point along directions d_1, d_2, ... (docs/programs.md, "Along a direction"): first F'(w; d_1);
 * then of d -> F'(w; d), at d_1, that along d_2; and so on (Nesterov's lexicographic derivative). And what AD multiplies out to. */
#ifndef CLARKE_PROGRAM_DIRECTIONAL_H
#define CLARKE_PROGRAM_DIRECTIONAL_H

#include "base/verdict.h"
#include "program/execute.h"
#include "program/lipschitz.h"

/* Where a touched kink is left to: of an activation 0 left, 1 right; of a tie the place of an argument; of a branch 1 the first arm,
 * 0 the other; nothing of a norm. */
typedef struct {
  size_t line; /* the direction that tells, from 0; CLARKE_NONE: none does, and it makes no difference */
  size_t side;
  bool left;   /* false: not by these directions, which lead into another arm */
} clarke_turn;

typedef struct {
  size_t n, n_outputs;
  const clarke_code *p;
  clarke_execution execution; /* at the point; of no use when open */
  bool known;
  char why[CLARKE_LIPSCHITZ_WHY + 64]; /* when not known */
  clarke_number *derivative;  /* known: n rows of n_outputs */
  clarke_turn *turn;          /* known: by touched kink */
  bool ad_known;
  char ad_why[192];
  clarke_number *ad;          /* n rows of n_outputs: AD's gradients times the directions */
  clarke_truth agrees;        /* is AD's the derivative, in all entries? */
  size_t far;                 /* past a proof's reach (lipschitz.h), or CLARKE_NONE */
} clarke_directional;

void clarke_directional_init(clarke_directional *x);
void clarke_directional_clear(clarke_directional *x);

/* line: n >= 1 directions, a number for each entry of wrt. p and at are kept by reference. */
clarke_status clarke_directional_find(clarke_directional *x, const clarke_code *p, mpq_t *at, mpq_t **line, size_t n,
                                    const clarke_profile *profile, clarke_error *err);

#endif
