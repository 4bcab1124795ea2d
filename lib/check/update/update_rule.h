/* A rule of an optimizer, with its numbers, and its steps (docs/proof-format.md, "Steps of optimizers"). */
#ifndef CLARKE_KERNEL_UPDATE_RULE_H
#define CLARKE_KERNEL_UPDATE_RULE_H

#include "check/base/value.h"

enum { ETA, ALPHA, BETA, SIGMA, MOMENTUM, EPS, DECAY, DAMPENING, MOMENTUM_DECAY, N_NUMBERS };
enum { THETA, PSI, M, V, N_SLOTS };

/* 1 - sigma^(k + 1), 1 - momentum^(k + 1); NAdam's factors of m and of g (BY_M: TensorFlow's of the step), and its product of each mu
 * up to that of the step. */
enum { REST_V, REST_M, BY_M, BY_G, PRODUCT, N_SHARED };

typedef struct {
  interval slot[N_SLOTS];
} update_entry;

typedef struct update update;
typedef struct {
  const char *name, *says;
  void (*step)(const update *u, update_entry *e, const interval *g);
  bool slot[N_SLOTS], number[N_NUMBERS];
  enum {
    NOTHING,
    FACTORS,
    PRODUCTS,
    ROOT
  } shares;                  /* beside that: mu_k and mu_{k+1}; their products, too; the root of 1 - sigma^k */
  bool corrects;             /* divides v, and m where it is an Adam, by 1 - sigma^k */
  bool v_is_one, has_growth; /* v begins with 1; mu may be k / (k + 3) */
} update_rule;

struct update {
  const update_rule *of;
  rational number[N_NUMBERS];
  rational rest[N_NUMBERS]; /* 1 less the number */
  bool inside, coupled, nesterov;
  bool grows; /* nag: mu is k / (k + 3), not the number */
  /* Of the step at hand, which all entries share: */
  size_t k; /* so many were made before */
  interval shared[N_SHARED];
  size_t multiplied; /* so many mu are in the product */
};

void update_divide(interval *y, const interval *x, const interval *c);        /* y = x / c, where c is above 0 */
const update_rule *update_rule_named(const char *name);                       /* or NULL */
void update_step(const update *u, update_entry *e, const rational *gradient); /* the decay, then the rule */

/* ---- What the entries of a tensor share (update_rule_share.c) */

void update_begin(update *u); /* its numbers are set */
void update_end(update *u);
void update_share(update *u, size_t k); /* for the step that k steps come before */

#endif
