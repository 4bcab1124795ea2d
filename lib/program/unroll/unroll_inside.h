/* What the files that unroll networks share: the program under way, and a function for each kind of step. */
#ifndef CLARKE_PROGRAM_UNROLL_UNROLL_INSIDE_H
#define CLARKE_PROGRAM_UNROLL_UNROLL_INSIDE_H

#include "program/unroll/unroll.h"

typedef struct {
  clarke_code *p;
  const clarke_graph *g;
  size_t **at;    /* by value: its entries' instructions; NULL: none yet, or a constant */
  size_t *first;  /* by parameter in wrt: its first instruction */
  bool *needed;   /* by value */
  size_t held;
  size_t room;    /* terms of one LINEAR */
  size_t *in;
  mpq_t *coef;    /* room + 1 */
  mpq_t constant, factor;
  size_t zero;    /* the constant 0's instruction; CLARKE_NONE: none yet */
  clarke_folded *folded; /* NULL, or matrix products, and normalizations of several samples, are left whole and come in here */
  clarke_error *err;
} clarke_unrolling;

/* Fails, with a message that names the network. */
clarke_status clarke_unroll_no_memory(const clarke_unrolling *u);

/* Instruction of entry e of a value that is an activation or in wrt. */
size_t clarke_unroll_entry(const clarke_unrolling *u, size_t value, size_t e);
/* A constant whose entries do not vary: numbers of the program. */
bool clarke_unroll_is_number(const clarke_unrolling *u, size_t value);

/* Room for the instructions of a value's entries. */
clarke_status clarke_unroll_hold(clarke_unrolling *u, size_t value);
/* Room for a LINEAR of n terms. */
clarke_status clarke_unroll_make_room(clarke_unrolling *u, size_t n);

/* *at: the instruction added, of the first n terms of u->in and u->coef, and the constant. */
clarke_status clarke_unroll_add_linear(clarke_unrolling *u, size_t *at, size_t n, const mpq_t constant);
/* *at: the instruction added, PRODUCT or QUOTIENT of a and b. */
clarke_status clarke_unroll_add_product(clarke_unrolling *u, size_t *at, clarke_do kind, size_t a, size_t b);
/* The results of a step that is left whole: inputs from *first on, in a group of their own. */
clarke_status clarke_unroll_add_results(clarke_unrolling *u, const clarke_step *s, size_t *first);

/* A step of each kind: fills u->at[s->out], for which there is room. */
clarke_status clarke_unroll_gather(clarke_unrolling *u, const clarke_step *s);
clarke_status clarke_unroll_sum(clarke_unrolling *u, const clarke_step *s);
clarke_status clarke_unroll_scale(clarke_unrolling *u, const clarke_step *s);
clarke_status clarke_unroll_dense(clarke_unrolling *u, const clarke_step *s);
clarke_status clarke_unroll_piecewise(clarke_unrolling *u, const clarke_step *s);
clarke_status clarke_unroll_product(clarke_unrolling *u, const clarke_step *s);
clarke_status clarke_unroll_max(clarke_unrolling *u, const clarke_step *s);
clarke_status clarke_unroll_analytic(clarke_unrolling *u, const clarke_step *s);
clarke_status clarke_unroll_softmax(clarke_unrolling *u, const clarke_step *s);
clarke_status clarke_unroll_normalize(clarke_unrolling *u, const clarke_step *s);

#endif
