/* A formula as clauses of three literals, as many as a power of two: what the construction of Theorem 6 wants (thesis,
 * section 2.9.3; docs/proof-format.md, "Networks of formulas", has the rules, which the checker repeats on its own).
 *
 * It can be satisfied if and only if the formula can: an assignment that satisfies it satisfies the formula, and one of
 * the formula extends to the variables that are added. */
#ifndef CLARKE_SAT_THREE_H
#define CLARKE_SAT_THREE_H

#include "format/dimacs.h"

typedef struct {
  size_t n_own;       /* variables of the formula, which come first */
  size_t n_variables; /* with those that are added; at least 1 */
  size_t n_clauses;   /* a power of two */
  int32_t (*clause)[3];
  size_t *first;      /* the formula's clause c became clause[first[c]] .. clause[first[c + 1] - 1]: two or more if it was split */
  /* What was done, in clauses but for the first: */
  size_t repeated;    /* literals left out that stand in their clause before */
  size_t empty;       /* became v and not v */
  size_t one, two;    /* of one or two literals, which are repeated */
  size_t split;       /* of more than three */
  size_t tautologies; /* hold a variable and its negation; kept */
  size_t padding;     /* v or not v, added at the end */
  size_t capacity;    /* private */
} clarke_three;

/* A power of two of clauses, of literals that there are. */
bool clarke_three_is_valid(const clarke_three *t);

void clarke_three_init(clarke_three *t);
void clarke_three_clear(clarke_three *t);

/* t must be initialized. Refuses more variables than CLARKE_LIMIT_INSTRUCTIONS, and those for which a literal has no room. */
clarke_status clarke_three_make(clarke_three *t, const clarke_cnf *f, clarke_error *err);

#endif
