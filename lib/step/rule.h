/* Rules of optimizers: what a step makes of parameters, a state and a gradient, entry by entry, exactly. Values that are no rationals
 * (roots, powers) are balls that hold them.
 *
 * The papers' rules and the frameworks' are different rules, with names of their own: adam is Table 4.5 of the thesis, torch-adam
 * what torch.optim.Adam computes. Steps are counted from k = 0. */
#ifndef CLARKE_STEP_RULE_H
#define CLARKE_STEP_RULE_H

#include "exact/number.h"

#define CLARKE_STEP_PRECISION 256

/* What an entry has beside its parameter. u: Adadelta's average of squared steps, Adamax's largest gradient; prev, size: Rprop's gradient before,
 * and its step; ax: ASGD's average of theta; row, col: Adafactor's averages, of rows and columns. */
enum {
  CLARKE_SLOT_PSI, CLARKE_SLOT_M, CLARKE_SLOT_V, CLARKE_SLOT_U, CLARKE_SLOT_PREV, CLARKE_SLOT_SIZE, CLARKE_SLOT_AX, CLARKE_SLOT_ROW, CLARKE_SLOT_COL,
  CLARKE_N_SLOTS
};
extern const char *const clarke_slot_names[CLARKE_N_SLOTS]; /* psi, m, v, u, prev, size, ax, row, col */

typedef struct {
  clarke_number theta, slot[CLARKE_N_SLOTS];
} clarke_step_entry;

typedef enum {
  CLARKE_HYPER_ALPHA, CLARKE_HYPER_BETA, CLARKE_HYPER_STEP, /* the step size: gamma, or eta */
  CLARKE_HYPER_SIGMA, CLARKE_HYPER_MOMENTUM, CLARKE_HYPER_EPS, CLARKE_HYPER_DECAY, CLARKE_HYPER_DAMPENING,
  CLARKE_HYPER_MOMENTUM_DECAY,
  CLARKE_HYPER_LAMBD, CLARKE_HYPER_T0,                                     /* of torch-asgd, whose power is alpha */
  CLARKE_HYPER_ETA_MINUS, CLARKE_HYPER_ETA_PLUS, CLARKE_HYPER_SIZE_MIN, CLARKE_HYPER_SIZE_MAX, /* of torch-rprop */
  CLARKE_HYPER_BETA2_DECAY, CLARKE_HYPER_EPS2, CLARKE_HYPER_CLIP,          /* of torch-adafactor */
  CLARKE_HYPER_NS_A, CLARKE_HYPER_NS_B, CLARKE_HYPER_NS_C, CLARKE_HYPER_NS_STEPS, /* of torch-muon: its polynomial, and how often */
  CLARKE_HYPER_MAX_ITER, CLARKE_HYPER_MAX_EVAL, CLARKE_HYPER_TOLERANCE_GRAD, CLARKE_HYPER_TOLERANCE_CHANGE, CLARKE_HYPER_HISTORY_SIZE, /* of torch-lbfgs */
  CLARKE_N_HYPERS,
} clarke_hyper;
const char *clarke_hyper_name(clarke_hyper h); /* "weight-decay" */

/* Where epsilon is: sqrt(v + eps), sqrt(v) + eps. */
typedef enum { CLARKE_EPS_OF_RULE, CLARKE_EPS_INSIDE, CLARKE_EPS_OUTSIDE } clarke_eps_place;

/* Beside the gradient (coupled), or of the parameters before the step. */
typedef enum { CLARKE_DECAY_OF_RULE, CLARKE_DECAY_COUPLED, CLARKE_DECAY_DECOUPLED } clarke_decay_kind;

/* How a program in floats may have computed the step: an operation's result is off by 2^-unit of itself, and by 2^-tiny where it is too
 * small; the numbers that all entries share (1 - sigma^k) by 2^-scalar. unit 0: exact. coarse: numbers of 16 bits are added up in their own type;
 * short_factors: matrices of float32 are multiplied in bfloat16. */
typedef struct {
  long unit, tiny, scalar;
  bool coarse, short_factors;
} clarke_step_rounding;

typedef struct {
  bool given[CLARKE_N_HYPERS];
  mpq_t of[CLARKE_N_HYPERS];
  clarke_eps_place place;
  clarke_decay_kind decay;
  bool nesterov, plain;  /* plain: without Nesterov's momentum, of torch-muon, which has it */
  bool matches;          /* torch-muon's step size is that of match_rms_adamw */
  bool searches;         /* torch-lbfgs has the line search of the strong Wolfe conditions (step/wolfe.h) */
  bool preconditioned; /* the gradients are ghat: no v is used */
  clarke_step_rounding rounding; /* then a step's numbers hold all that such a program may get (docs/step.md) */
  const clarke_number *product;  /* of torch-nadam's mu, those of the step too, where it is known already (clarke_rule_products); or NULL */
} clarke_hypers;

void clarke_hypers_init(clarke_hypers *h);
void clarke_hypers_clear(clarke_hypers *h);

struct clarke_step_whole;
typedef struct clarke_rule clarke_rule;
struct clarke_rule {
  const char *name, *where, *says;
  bool slot[CLARKE_N_SLOTS];    /* which it has */
  bool v_is_one;                /* v_0 = 1, else 0 */
  bool needs[CLARKE_N_HYPERS];  /* those that have no default */
  const char *momentum, *sigma, *eps, *weight_decay; /* defaults; NULL: the rule has none */
  const char *others[CLARKE_N_HYPERS];               /* those of what few rules have */
  bool inside, coupled;         /* of the rule itself */
  bool evaluates;               /* its step asks for gradients where it goes (step/lbfgs.h); then step and whole are NULL */
  bool sparse;                  /* what a sparse gradient does not have stays as it is */
  clarke_status (*step)(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err);
  clarke_status (*whole)(struct clarke_step_whole *w, const clarke_number *g, const clarke_hypers *h, size_t k,
                         clarke_error *err); /* of a tensor, where an entry alone is not enough (step/whole.h); then step is NULL */
};

#define CLARKE_N_TORCH_RULES 6
extern const clarke_rule clarke_torch_rules[CLARKE_N_TORCH_RULES]; /* of rule_torch.c; all of them: clarke_rule_at */

/* NULL: there is none; past the last. */
const clarke_rule *clarke_rule_find(const char *name);
const clarke_rule *clarke_rule_at(size_t i);

/* Fills what was not given with the rule's defaults. An error names what the rule needs, does not have, or cannot take. */
clarke_status clarke_rule_check(clarke_hypers *h, const clarke_rule *r, clarke_error *err);

/* Has the rule such a hyperparameter? */
bool clarke_rule_takes(const clarke_rule *r, clarke_hyper h);
/* Has its state such a slot (-1: theta)? Where the gradients are preconditioned there is no v. */
bool clarke_rule_has(const clarke_rule *r, const clarke_hypers *h, int slot);
/* Is the momentum none of the numbers, but k / (k + 3) in the step behind k steps? */
bool clarke_rule_grows(const clarke_rule *r, const clarke_hypers *h);

/* torch-asgd's step size and its weight of theta in the average, behind k steps. */
void clarke_rule_asgd_eta(clarke_number *eta, const clarke_hypers *h, size_t k);
void clarke_rule_asgd_mu(mpq_t mu, const clarke_hypers *h, size_t k);

void clarke_step_entry_init(clarke_step_entry *e);
void clarke_step_entry_clear(clarke_step_entry *e);
/* The slots before the first step; theta is set. */
void clarke_rule_begin(clarke_step_entry *e, const clarke_rule *r, const clarke_hypers *h);
/* NAdam's mu of step number k, and the product of all that of the steps before, which goes on by it. */
void clarke_rule_product(clarke_number *product, clarke_number *mu, const clarke_hypers *h, size_t k);
/* The product of all n from the first step on. Where it has vanished the rest is not asked for; false: it has not after 2^20 steps. */
bool clarke_rule_products(clarke_number *product, const clarke_hypers *h, size_t n);
/* Step number k, from 0 on. Errors: a division by zero, a root of a negative number. */
clarke_status clarke_rule_step(clarke_step_entry *e, const clarke_rule *r, const clarke_number *g, const clarke_hypers *h, size_t k,
                               clarke_error *err);

#endif
