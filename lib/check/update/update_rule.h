/* A rule of an optimizer, with its numbers, and its steps (docs/proof-format.md, "Steps of optimizers"). */
#ifndef CLARKE_KERNEL_UPDATE_RULE_H
#define CLARKE_KERNEL_UPDATE_RULE_H

#include "check/base/value.h"

enum {
  ETA,
  ALPHA,
  BETA,
  SIGMA,
  MOMENTUM,
  EPS,
  DECAY,
  DAMPENING,
  MOMENTUM_DECAY,
  LAMBD,
  T0,
  ETA_MINUS,
  ETA_PLUS,
  LEAST_SIZE,
  MOST_SIZE,
  BETA2_DECAY,
  EPS2,
  CLIP,
  NS_A,
  NS_B,
  NS_C,
  NS_STEPS,
  MAX_ITER,
  MAX_EVAL,
  TOLERANCE_GRAD,
  TOLERANCE_CHANGE,
  HISTORY_SIZE,
  N_NUMBERS
};
enum { THETA, PSI, M, V, U, PREV, SIZE, AX, ROW, COL, N_SLOTS };

/* 1 - sigma^(k + 1), 1 - momentum^(k + 1); NAdam's factors of m and of g (BY_M: TensorFlow's of the step, RAdam's; both: ASGD's mu and eta), and its product
 * of each mu up to that of the step. */
enum { REST_V, REST_M, BY_M, BY_G, PRODUCT, N_SHARED };

typedef struct {
  interval slot[N_SLOTS];
} update_entry;

typedef struct update update;
typedef struct update_tensor update_tensor;
typedef struct {
  const char *name, *says;
  void (*step)(const update *u, update_entry *e, const interval *g);
  void (*whole)(const update *u, update_tensor *t,
                const interval *g); /* of a tensor (update_whole.h); NULL: of entries */
  bool slot[N_SLOTS], number[N_NUMBERS];
  enum {
    NOTHING,
    FACTORS,
    PRODUCTS,
    ROOT,
    LENGTH,
    AVERAGE
  } shares;       /* beside that: mu_k and mu_{k+1}; their products, too; the root of 1 - sigma^k; RAdam's; ASGD's */
  bool evaluates; /* its step asks for several gradients (update_lbfgs.h) */
  bool sparse;    /* what a sparse gradient does not have stays as it is */
  bool corrects;  /* divides v, and m where it is an Adam, by 1 - sigma^k */
  bool v_is_one, has_growth; /* v begins with 1; mu may be k / (k + 3) */
} update_rule;

struct update {
  const update_rule *of;
  rational number[N_NUMBERS];
  rational rest[N_NUMBERS]; /* 1 less the number */
  bool inside, coupled, nesterov;
  bool matches;        /* Muon's step size is adjusted as by match_rms_adamw */
  bool preconditioned; /* the gradients are divided by their roots already: v is not used */
  bool grows;          /* nag: mu is k / (k + 3), not the number */
  /* What all entries share in the step at hand: */
  size_t k; /* so many were made before */
  interval shared[N_SHARED];
  size_t multiplied; /* so many mu are in the product */
  bool is_long;      /* RAdam's length is above 5 */
};

const update_rule *update_rule_named(const char *name);                       /* or NULL */
void update_step(const update *u, update_entry *e, const rational *gradient); /* the decay, then the rule */

/* Has it such a slot, and uses it? */
bool update_has(const update *u, int slot);

/* ---- Pieces of rules (update_rule_piece.c) */

void update_larger(interval *y, const interval *x); /* y = the larger one */
void update_cut(interval *y, size_t most); /* ends of few bits, but for what is exact and has no more bits than that */
void update_copy(interval *y, const interval *x);                                      /* y = x */
void update_mix(interval *y, const rational *a, const rational *b, const interval *x); /* y = a y + b x */
void update_subtract(interval *y, const rational *q, const interval *x);               /* y -= q x */
void update_descend(update_entry *e, const rational *q, const interval *x);            /* theta -= q x */
void update_square(interval *y, const interval *g);                                    /* y = g^2 */
void update_first_moment(const update *u, update_entry *e, const interval *g);  /* m = momentum m + (1 - momentum) g */
void update_second_moment(const update *u, update_entry *e, const interval *g); /* v = sigma v + (1 - sigma) g^2 */
void update_root(const update *u, interval *y, const interval *v, const interval *c); /* root(v / c) */
/* y = x / root(v / c); 0 where x is */
void update_precondition(const update *u, interval *y, const interval *x, const update_entry *e, const interval *c);

/* ---- Rules of whole tensors (update_whole.c) */

void update_adafactor(const update *u, update_tensor *t, const interval *g); /* by means over rows and columns */
void update_muon(const update *u, update_tensor *t, const interval *g);      /* by products of matrices */

/* ---- What the entries of a tensor share (update_rule_share.c) */

void update_begin(update *u);           /* its numbers are set */
void update_end(update *u);             /* frees what update_begin made */
void update_share(update *u, size_t k); /* for the step that k steps come before */

#endif
