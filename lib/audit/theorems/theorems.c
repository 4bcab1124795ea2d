/* The theorems, in the order in which they are told. Theorems 1, 4, 5, 6 and N-1 are judged by their own conditions;
 * the verdict rests on directions, not on them. */

#include "audit/theorems/theorems.h"


void
clarke_theorems_judge(clarke_audit *a, const clarke_question *q)
{
  clarke_judge_theorem_1(&a->theorem[0], a, q);
  clarke_judge_theorem_4(&a->theorem[1], a, q);
  clarke_judge_theorem_5(&a->theorem[2], a, q);
  clarke_judge_theorem_6(&a->theorem[3], a, q);
  clarke_judge_theorem_8(&a->theorem[4], a, q);
  clarke_judge_two_kinks(&a->theorem[5], a, q);
  clarke_judge_global_system(&a->theorem[6], a);
}
