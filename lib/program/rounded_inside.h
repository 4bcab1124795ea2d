/* What the files of a replay in floats share: its machine. Private to the files rounded*.c. */
#ifndef CLARKE_PROGRAM_ROUNDED_INSIDE_H
#define CLARKE_PROGRAM_ROUNDED_INSIDE_H

#include "program/block.h"
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
  size_t n_blocks;
  const clarke_block *block;
  double **weight;   /* by block: its matrix, rounded */
  size_t *tied;      /* of the ORDER at hand: its entries equal to its value */
  double *sorted;
} clarke_machine;

/* --- rounded.c --- */

/* Room, and the format; clear ends both, after a failure too. m->p, m->profile and m->block are set before. */
clarke_status clarke_machine_begin(clarke_machine *m, clarke_ieee format, clarke_error *err);
void clarke_machine_clear(clarke_machine *m);

/* --- rounded_forward.c --- */

/* The inputs' entries; the other values from these: of the instructions from `from` to `to`, those before being known. */
void clarke_machine_input(clarke_machine *m, mpq_t *at);
void clarke_machine_forward(clarke_machine *m, size_t from, size_t to);

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

/* AD in reverse, the values and runs being known, from the outputs: what was given to them by clarke_machine_seed, after
 * clarke_machine_unreach. gradient: an entry for each of wrt. */
void clarke_machine_unreach(clarke_machine *m);
void clarke_machine_seed(clarke_machine *m, size_t instruction, double adjoint);
clarke_status clarke_machine_backward(clarke_machine *m, double *gradient, clarke_error *err);
/* Its two halves: the runs from `end` back to `begin`, where one begins; what the inputs' entries in wrt were given. */
clarke_status clarke_machine_undo(clarke_machine *m, size_t begin, size_t end, clarke_error *err);
void clarke_machine_gradient(const clarke_machine *m, double *gradient);

/* *total += x, rounded; the first time it is x itself. */
static inline void
clarke_machine_add(const clarke_machine *m, double *total, bool *begun, double x)
{
  *total = *begun ? clarke_ieee_add(&m->unit, *total, x) : x;
  *begun = true;
}

/* Part of the adjoint that the run at hand gives to instruction `at`: a run of several entries keeps it until the flush. */
static inline void
clarke_machine_give(clarke_machine *m, size_t at, double x)
{
  if (!m->several) {
    clarke_machine_add(m, &m->adjoint[at], &m->reached[at], x);
    return;
  }
  if (!m->summed[at])
    m->list[m->n_list++] = at;
  clarke_machine_add(m, &m->sum[at], &m->summed[at], x);
}

/* Adds what was given to the adjoints. */
void clarke_machine_flush(clarke_machine *m);

/* Which argument of a LINEAR of n terms has the turn: undone from its end (see rounded_backward.c). */
size_t clarke_machine_turn(size_t n, size_t turn, bool first_is_one);

/* --- rounded_block.c --- */

void clarke_machine_block_forward(clarke_machine *m, size_t block); /* computes the block's results */
/* What its results' adjoints give to its argument and its matrix. */
void clarke_machine_block_backward(clarke_machine *m, size_t block);

/* --- rounded_coupling.c --- */

/* What the machine has of one of several samples. */
typedef struct {
  double *value, *adjoint;
  bool *reached;
} clarke_machine_room;

/* The machine computes in this room. */
static inline void
clarke_machine_enter(clarke_machine *m, const clarke_machine_room *room)
{
  m->value = room->value;
  m->adjoint = room->adjoint;
  m->reached = room->reached;
}

/* A normalization over the samples of n rooms. */
typedef struct {
  const clarke_coupling *c;
  size_t n;
  const clarke_machine_room *room;
  double share;         /* one over the number of a group's entries, rounded */
  double *centred;      /* by room and entry: less the mean */
  double *root;         /* by group */
  double *back;         /* by room and entry: adjoint of the centred entry */
  bool *reached;        /* the same: has it one? */
  double *mean;         /* by group: adjoint of its mean */
  bool *has;            /* the same */
} clarke_coupled;

/* Cleared by the caller, after a failure too. */
clarke_status clarke_coupled_begin(clarke_coupled *k, const clarke_coupling *c, const clarke_machine_room *room, size_t n,
                                   clarke_machine *m, clarke_error *err);
void clarke_coupled_clear(clarke_coupled *k);
/* The results of all rooms, from their arguments; what their adjoints give to the arguments'. They leave the machine in some room. */
void clarke_coupled_forward(clarke_coupled *k, clarke_machine *m);
void clarke_coupled_backward(clarke_coupled *k, clarke_machine *m);

#endif
