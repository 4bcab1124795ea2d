/* One walk of a program near a point: its instructions in demand order under choices, each with
 * its value at the point, its gradient in wrt, its degree, and (along an arc) a power series. It
 * stops at every fork (program/patterns.h) until it is told the choice. */
#ifndef CLARKE_PROGRAM_WALK_H
#define CLARKE_PROGRAM_WALK_H

#include "program/demand.h"
#include "program/execute.h"
#include "exact/polynomial.h"

typedef enum { CLARKE_WALK_FORK, CLARKE_WALK_END, CLARKE_WALK_STUCK } clarke_walk_state;

/* The fork it stopped at. */
typedef struct {
  size_t instruction;
  size_t n_choices;
  bool order;         /* choices are the candidates y_i; else the two signs of y_0 - y_1 */
  bool up;            /* order: taken from the bottom */
  size_t *y;          /* instructions; y_1 is CLARKE_NONE where y_0 is compared with a kink */
  int factor;         /* of y_0 in that case: 1 or -1 */
} clarke_fork_point;

#define CLARKE_SERIES 9 /* coefficients of t^0 .. t^8 */

typedef struct {
  const clarke_execution *e;
  size_t width;             /* wrt_count */
  clarke_demand demand;
  clarke_number *value;     /* by instruction */
  clarke_number **gradient; /* by instruction; NULL stands for zeros */
  uint8_t *degree;          /* 0: constant near the point, 1: affine, 2: anything */
  /* What an instruction of degree 2 is, where it is a polynomial; for lower degrees see clarke_walk_polynomial.
   * NULL where there are too many variables. */
  clarke_polynomial **polynomial;
  fmpq_mpoly_ctx_t ring;    /* width variables */
  /* What was chosen, near the point: the piece of a PIECEWISE or ELU, the instruction that an ORDER
   * takes, 1 or 0 for a BRANCH whose condition holds or not. */
  size_t *part;
  /* Along an arc, the coefficients of t^1 .. of each instruction's series (that of t^0 is its
   * value), CLARKE_SERIES - 1 of them; NULL stands for zeros. `series` is NULL without an arc. */
  mpq_t **series;
  size_t n_arc;
  mpq_t **arc;              /* n_arc steps of wrt_count rationals; shared */
  bool *lost;               /* by instruction: it moves along the arc, and its series is not rational */
  bool arc_failed;          /* some is lost */
  /* Along lines t_1 line[0] + t_2 line[1] + ..., t_1 above 0 and each t far less than the one before (docs/proof-format.md,
   * "Directions of programs"): the variables are the t, of which gradients, degrees and polynomials are; and no fork waits. */
  size_t n_lines;
  mpq_t **line;             /* n_lines of wrt_count rationals; shared */
  bool untold;              /* STUCK: no precision so far tells what comes first along the lines */
  bool vague;               /* of an ORDER: entries came first that are one along the lines, but not known to be one function */
  /* Norms of zeros met without an arc: their gradients, and what is made of them, enclose all that occur near the point. */
  size_t n_enclosed;
  bool open;                /* no fork is chosen: pointwise and order instructions at one are enclosed, too; */
  size_t n_open;            /* so many of them */
  clarke_fork_point fork;
  size_t n_local, asked;    /* choices made at the instruction at hand; those it has used */
  size_t *local;
  char why[192];            /* STUCK: why */
} clarke_walk;

clarke_status clarke_walk_init(clarke_walk *w, const clarke_execution *e, mpq_t **arc,
                               size_t n_arc, clarke_error *err);
/* Along n >= 1 lines. */
clarke_status clarke_walk_init_lines(clarke_walk *w, const clarke_execution *e, mpq_t **line, size_t n, clarke_error *err);
void clarke_walk_clear(clarke_walk *w);
/* From the beginning, with another arc (n_arc == 0 only where there was none). */
void clarke_walk_restart(clarke_walk *w, mpq_t **arc);

/* Goes on to the next fork or the end. STUCK: it cannot be followed further. */
clarke_status clarke_walk_on(clarke_walk *w, clarke_walk_state *state, clarke_error *err);
/* Takes a choice at the fork it stopped at. */
void clarke_walk_choose(clarke_walk *w, size_t choice);

/* The decisions that a choice at the fork adds; the gradient (wrt_count) and degree of the k-th. */
size_t clarke_walk_decisions(const clarke_walk *w);
void clarke_walk_decision(clarke_number *gradient, uint8_t *degree, const clarke_walk *w,
                          size_t choice, size_t k);
/* The same decision as a polynomial of the displacement; kept is false when it is not known to be
 * one. */
void clarke_walk_decision_polynomial(clarke_polynomial *q, const clarke_walk *w, size_t choice,
                                     size_t k);

/* Is y_a - y_b, zero at the point, identically zero near it? (b == CLARKE_NONE: y_a less a kink.) */
bool clarke_walk_identical(const clarke_walk *w, size_t a, size_t b);
/* Along lines, the sign of y_a - y_b, zero at the point (b == CLARKE_NONE: of y_a less a kink): that of the first line that tells,
 * *told. 0: it is zero along all, and *told is CLARKE_NONE; 2: no precision so far tells. */
int clarke_walk_sign_along(size_t *told, const clarke_walk *w, size_t a, size_t b);
/* The choice that the arc takes, or CLARKE_NONE when its series do not tell. */
size_t clarke_walk_arc_choice(const clarke_walk *w);

#endif
