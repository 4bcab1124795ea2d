/* The table of the theorems. */
#ifndef CLARKE_AUDIT_THEOREMS_THEOREMS_H
#define CLARKE_AUDIT_THEOREMS_THEOREMS_H

#include "audit/audit.h"
#include "audit/theorems/judge.h"

/* Fills a->theorem, each by its own file in theorems. */
void clarke_theorems_judge(clarke_audit *a, const clarke_question *q);

/* theorem_1.c, theorem_4.c, theorem_5.c, theorem_6.c and theorem_8.c; Theorem 5 is judged after clarke_layer_ranks,
 * Theorem 8 after clarke_realize has reported. */
void clarke_judge_theorem_1(clarke_theorem *t, const clarke_audit *a, const clarke_question *q);
void clarke_judge_theorem_4(clarke_theorem *t, const clarke_audit *a, const clarke_question *q);
void clarke_judge_theorem_5(clarke_theorem *t, const clarke_audit *a, const clarke_question *q);
void clarke_judge_theorem_6(clarke_theorem *t, const clarke_audit *a, const clarke_question *q);
void clarke_judge_theorem_8(clarke_theorem *t, const clarke_audit *a, const clarke_question *q);

/* N-1. A bias for every neuron, its parameters its own; two kinks at most, proxies one-sided. */
void clarke_judge_two_kinks(clarke_theorem *t, const clarke_audit *a, const clarke_question *q);

/* What the system in all parameters at once said, if it was asked. The verdict is known. */
void clarke_judge_global_system(clarke_theorem *t, const clarke_audit *a);

#endif
