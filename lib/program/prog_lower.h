/* Lowering a program's tree to instructions: what its files share. */
#ifndef CLARKE_PROGRAM_PROG_LOWER_H
#define CLARKE_PROGRAM_PROG_LOWER_H

#include "program/prog_tree.h"

/* Entries of vectors made in all, constants, and limbs of those with more than two, operands
 * counted: what a small text could blow up. Bits of one constant. */

/* A number of the program: an instruction, or a constant in the pool that is none yet. */
typedef struct {
  bool constant;
  uint32_t index;
} prog_scalar;

/* What an expression stands for. */
typedef struct {
  bool vector;
  prog_scalar one;    /* when not a vector */
  size_t n;           /* entries; 1 when not a vector */
  prog_scalar *entry; /* when a vector */
  bool owned;         /* entry is this value's own, not a name's */
} prog_value;

typedef struct {
  bool bound;
  uint32_t node; /* where */
  prog_value value;
} prog_name;

typedef struct {
  clarke_code *p;
  const clarke_prog *g;
  clarke_error *err;
  size_t n_pool, pool_capacity;
  mpq_t *pool;
  size_t entries, limbs; /* so far, of the limits above */
  size_t n_names;
  prog_name *name;  /* the distinct names of the text, sorted */
  uint32_t *symbol; /* of each NAME node: its name's number */
  mpq_t coef[3];
  uint32_t output;  /* the output statement's node, 0: none yet */
} prog_lowering;

#endif
