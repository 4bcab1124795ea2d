/* torch.optim.LBFGS. A step of it asks for the loss and its gradient several times, each time where its last iteration has gone. All parameters are one
 * vector. Numbers are rationals; those of more bits than the limit are balls from there on. */
#ifndef CLARKE_STEP_LBFGS_H
#define CLARKE_STEP_LBFGS_H

#include "step/rule.h"

/* A step's change of the gradient (torch: old_dirs), and of theta (old_stps); 1 / (y s). */
typedef struct {
  clarke_number *y, *s, ro;
} clarke_lbfgs_pair;

typedef struct {
  size_t n, iterations; /* iterations: of all steps (torch: n_iter) */
  clarke_number *theta, *d, *previous; /* the direction, and the gradient, of the last iteration */
  clarke_number t, scale; /* the length of its move; H_diag */
  size_t n_pairs;
  clarke_lbfgs_pair *pair; /* the oldest first */
} clarke_lbfgs;

/* Why a step ended. */
typedef enum {
  CLARKE_LBFGS_REST,        /* it begins where the gradient is no larger than --tolerance-grad; nothing changes */
  CLARKE_LBFGS_SLOPE,       /* the slope along the direction is above minus --tolerance-change: theta stays */
  CLARKE_LBFGS_ITERATIONS,  /* --max-iter of them */
  CLARKE_LBFGS_EVALUATIONS, /* --max-eval of them, or more */
  CLARKE_LBFGS_GRADIENT,    /* it is no larger than --tolerance-grad */
  CLARKE_LBFGS_MOVE,        /* theta moved by no more than --tolerance-change */
  CLARKE_LBFGS_LOSS,        /* the loss changed by less than that */
} clarke_lbfgs_end;
const char *clarke_lbfgs_end_says(clarke_lbfgs_end end); /* "max-iter" */

/* The gradient where theta is now, and the loss, NULL where that is not known; both last until the next question. */
typedef clarke_status (*clarke_lbfgs_evaluate)(void *of, const clarke_number **g, const clarke_number **loss, clarke_error *err);

extern const clarke_rule clarke_lbfgs_rule; /* torch-lbfgs */

/* Theta is all zeros, and no step was made. */
clarke_status clarke_lbfgs_init(clarke_lbfgs *l, size_t n, clarke_error *err);
void clarke_lbfgs_clear(clarke_lbfgs *l);
/* A pair behind the others, of zeros; NULL when out of memory. */
clarke_lbfgs_pair *clarke_lbfgs_append(clarke_lbfgs *l);
/* The oldest one goes. */
void clarke_lbfgs_drop(clarke_lbfgs *l);

/* sum = x y, with all that such a sum in floats, in whatever order, may be. */
void clarke_lbfgs_dot(clarke_number *sum, const clarke_number *x, const clarke_number *y, size_t n, const clarke_hypers *h);
/* The pairs that make a direction, the oldest being number 0; what is handed out lasts until the next is asked for. */
typedef struct {
  size_t n;                   /* entries */
  size_t n_pairs;
  const clarke_number *scale; /* H_diag */
  const clarke_lbfgs_pair *(*pair)(void *of, size_t i);
  void *of;
} clarke_lbfgs_pairs;
/* d = -H g by the two loops over the pairs, with all that these may make in floats. */
clarke_status clarke_lbfgs_direct(clarke_number *d, const clarke_lbfgs_pairs *p, const clarke_number *g, const clarke_hypers *h, clarke_error *err);
/* Those of a state. */
clarke_lbfgs_pairs clarke_lbfgs_pairs_of(clarke_lbfgs *l);
/* 1: no |x| is above the bound; 0: one is; 2: balls do not tell. */
int clarke_lbfgs_is_small(const clarke_number *x, size_t n, const mpq_t bound);
/* Above it, y s makes a pair: 1e-10. */
void clarke_lbfgs_least(mpq_t q);

/* One step; theta is where evaluate() is asked. n: how often that was. Errors: what it returns; a loss that is not there, and decides; balls that do not tell
 * (CLARKE_EVAGUE). */
clarke_status clarke_lbfgs_step(clarke_lbfgs *l, clarke_lbfgs_end *end, size_t *n, clarke_lbfgs_evaluate evaluate, void *of, const clarke_hypers *h,
                                clarke_error *err);

#endif
