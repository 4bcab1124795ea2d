/* Trees of signs (docs/proof-format.md, "Arrangements", "Regions"): rows are given signs, by branches and by circuits.
 *
 * A row is a primitive vector of integers. A circuit is a combination of rows that is zero: it refutes the signs of its
 * coefficients, and their opposites (Gordan). Both are numbered from 0, and end with the subtree in which they came. Proofs
 * of arrangements call rows columns. */
#ifndef CLARKE_KERNEL_SIGNS_H
#define CLARKE_KERNEL_SIGNS_H

#include "check/base/tree.h"
#include "check/base/value.h"

typedef struct {
  integer *vector;  /* kept when the row is cut off */
  signed char sign; /* 0: none yet */
  bool left_out;    /* no line may name it, and it has no sign */
} sign_row;

typedef struct {
  size_t width; /* entries of a row */
  bool affine;  /* the last one is positive at points */
  const char *noun;
  sign_row *rows;
  size_t n_rows, room, n_open; /* open: without a sign */
  size_t *order, n_signs;      /* rows that were given signs, in that order */
  struct circuit *circuits;
  size_t n_circuits;
  size_t *first_circuit, n_rounds; /* of each round under way */
  tree_path path;
  struct sign_node *nodes; /* of the path */
  integer *point;
} signs;

/* Begins with no rows. noun: what messages call a row. */
void signs_begin(signs *s, size_t width, bool affine, const char *noun);

/* The entries, over their greatest common divisor, are a row more; it has no sign yet. */
void signs_push(signs *s, const integer *row);
void signs_give(signs *s, size_t r, int sign); /* to a row that has none */
void signs_leave_out(signs *s, size_t r);
size_t signs_next_row(signs *s);  /* that a line names: it is not left out */
size_t signs_next_open(signs *s); /* nor has it a sign */

/* Circuits from here on are forgotten as soon as what came before is gone back to. */
void signs_begin_round(signs *s);
/* Reads the lines `circuit`, which are next. */
void signs_read_circuits(signs *s);
/* The next word's circuit: all its rows but r (NONE: all) have the signs of its coefficients, or all have the opposite ones. Returns the
 * sign that r then cannot have. */
int signs_read_refuted(signs *s, size_t r);

/* Reads lines up to a `split`, and begins its node: 2; or until all rows have signs: 0. */
size_t signs_read(signs *s);
/* A node begins here. split: its row, or NONE. */
void signs_node(signs *s, size_t split);
/* The subtree of that choice begins, of the last node of the path: all is as it was where the node began, but for a split's sign. */
void signs_enter(void *s);

/* Reads an integer point that has all signs. */
void signs_read_point(signs *s);

#endif
