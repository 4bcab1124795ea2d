/* What the files of a replay in floats share: its machine. Private to the files rounded*.c. */
#ifndef CLARKE_PROGRAM_ROUNDED_INSIDE_H
#define CLARKE_PROGRAM_ROUNDED_INSIDE_H

#include "program/ieee.h"

typedef struct {
  const clarke_code *p;
  const clarke_profile *profile;
  clarke_ieee_unit unit;
  double *value;     /* by instruction; of those in an arm not taken too, where they do no harm */
  double *adjoint;   /* by instruction, where reached */
  bool *reached;
  size_t *start;     /* by instruction: the first of its run (see clarke_machine_runs) */
  double *sum;       /* by instruction, where summed: what one operation adds to its adjoint */
  bool *summed;
  size_t n_list, *list; /* the instructions summed */
  bool several;      /* the run at hand has several entries */
  size_t *tied;      /* of the ORDER at hand: its entries equal to its value */
  double *sorted;
} clarke_machine;

/* --- rounded_forward.c --- */

/* All values, from the inputs' entries. */
void clarke_machine_forward(clarke_machine *m, mpq_t *at);

/* A product with a constant, none when that is 1 or -1. */
double clarke_machine_times(clarke_machine *m, const mpq_t coef, double x);
/* The piece whose inside, or whose right end, x is at; *at_kink says which. */
size_t clarke_machine_piece(clarke_machine *m, const clarke_instruction *i, double x, bool *at_kink);
/* Fills m->tied and returns how many; *rank_in_tie as in execute.h. NaNs, where there are any, are the ones tied. */
size_t clarke_machine_tied(clarke_machine *m, const clarke_instruction *i, size_t *rank_in_tie);
/* The argument that is the arm taken. A NaN compares with nothing: only != holds. */
size_t clarke_machine_arm(const clarke_machine *m, const clarke_instruction *i);

/* --- rounded_backward.c --- */

/* A run is one operation on vectors: consecutive instructions of one group, kind and number of arguments, none of which
 * is an argument of another. */
void clarke_machine_runs(clarke_machine *m);

/* AD in reverse from one output, the values and runs being known: an entry for each of wrt. */
clarke_status clarke_machine_backward(clarke_machine *m, double *gradient, size_t output, clarke_error *err);

#endif
