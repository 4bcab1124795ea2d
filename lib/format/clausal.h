/* Refutations that SAT solvers write: lists of clauses, each of which follows from those before it. Two formats:
 *
 *     DRAT   1 -2 0           a clause; `d 1 -2 0`: it is used no more   (Wetzler, Heule, Hunt, SAT 2014)
 *     LRAT   9 1 -2 0 3 5 0   clause 9, and the clauses by which it follows; `9 d 3 5 0`   (Cruz-Filipe and others, CADE 2017)
 *
 * DRAT may be binary, too: 'a' or 'd', then 2 v or 2 v + 1 for each literal in groups of 7 bits, the least first, then 0.
 * A file is binary if it holds a byte 0. Only what is said is read here: whether it is true, lib/sat asks. */
#ifndef CLARKE_FORMAT_CLAUSAL_H
#define CLARKE_FORMAT_CLAUSAL_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* LRAT's numbers of clauses end here. */
#define CLARKE_CLAUSAL_NUMBERS ((int64_t)1 << 58)

typedef enum { CLARKE_CLAUSAL_DRAT, CLARKE_CLAUSAL_LRAT } clarke_clausal_format;

typedef struct {
  bool deletion;
  size_t place;         /* where it begins: a line, or the offset of a byte */
  int64_t number;       /* LRAT: of the clause; 0 else, and of deletions */
  size_t first_literal; /* up to the next step's */
  size_t first_hint;
} clarke_clausal_step;

typedef struct {
  clarke_clausal_format format;
  bool binary;
  size_t n;
  clarke_clausal_step *step; /* n + 1: the last one says where the parts end */
  size_t n_literals, n_hints;
  int32_t *literal;          /* not 0; at most CLARKE_CNF_VARIABLES and at least its negative */
  int64_t *hint;             /* LRAT: positive numbers; of deletions what is deleted */
  size_t capacity, literal_capacity, hint_capacity; /* private */
} clarke_clausal;

void clarke_clausal_init(clarke_clausal *p);
void clarke_clausal_clear(clarke_clausal *p);

/* Reads a whole file or refuses it, "FILE:LINE: what is wrong" (binary: "FILE: byte N: ..."). LRAT's numbers must grow; a
 * negative hint (a RAT step) is refused. Memory is proportional to the file. p must be initialized; after an error it is
 * empty. */
clarke_status clarke_clausal_parse(clarke_clausal *p, clarke_clausal_format format, const void *data, size_t size,
                                   const char *file, clarke_error *err);

/* "FILE:LINE: " or "FILE: byte N: " before what is wrong with step k. */
clarke_status clarke_clausal_fail(clarke_error *err, const clarke_clausal *p, const char *file, size_t k, const char *format,
                                  ...) __attribute__((format(printf, 5, 6)));

#endif
