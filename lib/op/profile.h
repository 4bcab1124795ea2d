/* Profiles: named tables of what AD returns where a function is not differentiable. For each kink of
 * each pointwise operator a proxy, D^AD; for each order statistic a rule for its ties (a bare
 * name means the newest version). The known ones are columns of the operator table. A profile file
 * has one statement a line:
 *
 *   like NAME               a known profile; the first statement, pytorch-2.13 when left out
 *   OPERATOR KINK VALUE     VALUE a rational, `left`, `right`, or `unknown`
 *   OPERATOR KINK VALUE as-released   VALUE itself is handed on there, whatever gradient comes in (deel-ai/relu-prime): no
 *                           derivative; a sweep alone asks about it
 *   tie OPERATOR RULE       RULE first, last, stable, mean, hybrid B, B a rational, or `unknown`
 *   norm VALUE              VALUE 0 or nan: the derivative of a Euclidean norm of zeros
 *   surrogate OPERATOR RULE RULE all, range, rounded, or none: what AD does at an operator that jumps (op/surrogate.h); an audit alone asks
 *                           about it
 *
 * `#` begins a comment; what the file does not name is as in the profile it is like. */
#ifndef CLARKE_OP_PROFILE_H
#define CLARKE_OP_PROFILE_H

#include "op/operator.h"

/* INJECTED: the value is no slope, but what the argument's gradient gets in place of slope times gradient. */
typedef enum { CLARKE_PROXY_VALUE, CLARKE_PROXY_LEFT, CLARKE_PROXY_RIGHT, CLARKE_PROXY_INJECTED } clarke_proxy_kind;

typedef struct {
  bool known;
  clarke_proxy_kind kind;
  mpq_t value;
} clarke_proxy;

/* D^AD of an order statistic on a tie: with S the entries equal to its value, in increasing order of
 * index, (1 - beta) e_j + beta mean of e_i over S; j is S's first (FIRST, beta as given), its last
 * (LAST, beta 0), or the one that a stable ascending sort puts at this rank (STABLE, beta 0). */
typedef enum { CLARKE_TIE_FIRST, CLARKE_TIE_LAST, CLARKE_TIE_STABLE } clarke_tie;

typedef struct {
  bool known;
  clarke_tie tie;
  mpq_t beta;
} clarke_tie_rule;

typedef struct {
  char *name;
  size_t n;            /* operators with kinks */
  const clarke_op **op;
  clarke_proxy (*proxy)[CLARKE_MAX_KINKS];
  size_t n_orders;     /* order statistics */
  const clarke_op **order;
  clarke_tie_rule *rule;
  clarke_surrogates surrogates;
  bool norm_nan;       /* the derivative of a Euclidean norm of zeros is NaN (else 0) */
} clarke_profile;

void clarke_profile_init(clarke_profile *p);
void clarke_profile_clear(clarke_profile *p);

/* The names of the table's columns, and what each is called without a version (NULL: another version is); i < CLARKE_N_PROFILES. */
const char *clarke_profile_name(clarke_known_profile i, const char **bare);
/* Is it the name of a column of the table? */
bool clarke_profile_known(const char *name);
/* A known name (NULL: pytorch-2.13), or else the path of a profile file (one that holds a '/' or '.'). An unknown name
 * is an error that lists the known ones; one that injects numbers is refused: no question about derivatives has an answer. */
clarke_status clarke_profile_load(clarke_profile *p, const char *name, clarke_error *err);
/* The same with surrogates, which are refused otherwise: the function is another one. */
clarke_status clarke_profile_load_surrogates(clarke_profile *p, const char *name, clarke_error *err);
/* Fails where it has surrogates. */
clarke_status clarke_profile_check_plain(const clarke_profile *p, clarke_error *err);
/* The same, injected numbers included. */
clarke_status clarke_profile_load_any(clarke_profile *p, const char *name, clarke_error *err);
/* The text of a profile file (a fuzz target). */
clarke_status clarke_profile_parse(clarke_profile *p, const char *text, size_t size,
                                   const char *file, clarke_error *err);

/* Rationals in lowest terms; a mean only where the tie's first entry is taken. */
bool clarke_profile_is_valid(const clarke_profile *p);

/* NULL when the operator has no such kink, is no order statistic, or the profile knows no rule. */
const clarke_proxy *clarke_profile_find(const clarke_profile *p, const clarke_op *op, size_t kink);
/* The number that takes the gradient's place there; NULL: none does. */
const clarke_proxy *clarke_profile_injected(const clarke_profile *p, const clarke_op *op, size_t kink);
const clarke_tie_rule *clarke_profile_tie(const clarke_profile *p, const clarke_op *op);
/* Do equal entries of the operator's windows share the derivative? Then no winner alone tells where it goes. */
bool clarke_profile_shares(const clarke_profile *p, const clarke_op *op);

/* An error, unless the rule (NULL: none) makes a derivative of a sort of an operator that is made of many comparisons. */
clarke_status clarke_tie_sorts(const clarke_tie_rule *rule, const clarke_profile *p, const clarke_op *op, clarke_error *err);

#endif
