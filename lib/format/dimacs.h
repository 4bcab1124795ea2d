/* Formulas in conjunctive normal form, as DIMACS files state them (SAT competitions' input format; docs/formats.md).
 *
 *     c a comment
 *     p cnf 3 2
 *     1 -3 0
 *     2 3 -1 0
 *
 * A literal is +v or -v, v a variable from 1. A clause ends with 0, and may go over several lines. */
#ifndef CLARKE_FORMAT_DIMACS_H
#define CLARKE_FORMAT_DIMACS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As many as a literal has room for, and what solvers take. */
#define CLARKE_CNF_VARIABLES ((size_t)1 << 30)

typedef struct {
  size_t n_variables;       /* those the file declares, used or not */
  size_t n_clauses;
  size_t *first;            /* n_clauses + 1: clause c is literal[first[c]] .. literal[first[c + 1] - 1] */
  size_t n_literals;
  int32_t *literal;         /* of all clauses; repeated ones and tautologies as the file has them */
  size_t clause_capacity, literal_capacity; /* private */
} clarke_cnf;

void clarke_cnf_init(clarke_cnf *f);
void clarke_cnf_clear(clarke_cnf *f);

/* Reads a whole file or refuses it, "FILE:LINE: what is wrong". The header's counts must be what follows. Memory is
 * proportional to the text. f must be initialized; after an error it is empty. */
clarke_status clarke_dimacs_parse(clarke_cnf *f, const void *data, size_t size, const char *file, clarke_error *err);

/* Appends a literal of the clause at hand; ends that clause. */
clarke_status clarke_cnf_add(clarke_cnf *f, int32_t literal, clarke_error *err);
clarke_status clarke_cnf_end(clarke_cnf *f, clarke_error *err);

/* Does the assignment (by variable, from 0) make every clause true? *clause: the first that is not. */
bool clarke_cnf_holds(const clarke_cnf *f, const bool *value, size_t *clause);

#endif
