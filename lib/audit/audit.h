/* The verdict on a minibatch: is AD's gradient of the loss in the Bouligand or Clarke set? And the
 * papers' theorems, each with whether it applies and holds, read off the graph. */
#ifndef CLARKE_AUDIT_AUDIT_H
#define CLARKE_AUDIT_AUDIT_H

#include "base/verdict.h"
#include "exact/rank.h"
#include "audit/balance.h"
#include "audit/enumerate.h"
#include "audit/membership.h"
#include "audit/obstacle.h"
#include "audit/simplex.h"
#include "audit/zone.h"

/* Independent blocks of a layer's system (a convolution's filters): all, those without a direction, and undecided ones. */
typedef struct {
  bool known;
  bool exact; /* the system's rows are; else a direction of theirs is a guess */
  size_t n, empty, open;
} clarke_block_counts;

/* Windows where a set of largest entries is not empty, and how many these are in all. */
typedef struct {
  size_t windows, entries;
} clarke_tie_counts;

/* A step with kinks and what feeds it: y = f(z, u) + bias. A MAX and the pointwise function it may pool
 * are two here but one layer of the papers: the MAX's system holds both (clarke_graph_inner). */
typedef struct {
  size_t step;
  size_t neurons;       /* features */
  size_t touched;       /* counted over neurons and samples */
  size_t moving;        /* of these, not flat under AD's pattern */
  size_t constraints;   /* rows of the system: what AD's sides ask of those */
  size_t ties;          /* MAX: windows with several largest entries; touched are the nontrivial ones */
  bool zeros_known;     /* MAX of a function that is 0 up to its first kink alone (Relu): */
  size_t ties_of_zeros; /* ... the ties whose windows hold nothing but 0; the others' maximum is what Algorithm 2 asks about */
  size_t parted;        /* MAX: by touched windows, largest entries that are another function than the first */
  /* MAX, of windows not known to hold zeros alone: S_j less T_j, where T_j are the entries whose derivative by all wrt parameters
   * is, as AD has it, that of the entry that AD takes (Algorithm 1); and where they are those that are one function with it. */
  bool by_derivative_known;
  clarke_tie_counts by_derivative, by_identity;
  size_t weight;        /* the parameter of the dense step just before, or CLARKE_NONE */
  size_t dense;         /* that step, or CLARKE_NONE */
  size_t bias;          /* a parameter added to every neuron just before, or CLARKE_NONE */
  double bias_coef;
  bool alone;           /* no other function with kinks has the same argument */
  bool bias_covers;     /* ... and used nowhere else, the layer being alone */
  bool bias_distinct;   /* an entry of its own for every neuron, likewise */
  bool fully_connected; /* y = W z or W z + b, W used nowhere else, alone: Theorem 5's layer */
  bool plain_sum;       /* W z, the weight being known, to which nothing but the bias is added */
  size_t variables;     /* entries of the layer's own wrt parameters */
  bool disturbs;        /* one of these moves the arguments of a layer before it, too */
  size_t pool;            /* the step of the MAX whose system holds these rows, too, or CLARKE_NONE */
  clarke_truth feasible;  /* is P_l not empty? With a pool, the pool's */
  bool two_kinks;       /* ... known by N-1's direction */
  clarke_block_counts blocks; /* known when its system was solved */
  bool rank_known;
  size_t rank, columns; /* of the layer's input over the minibatch; Theorem 5 */
} clarke_layer;

typedef struct {
  const char *name;
  bool applies;
  clarke_truth holds;
  char why[256];
} clarke_theorem;

#define CLARKE_THEOREMS 7

typedef struct {
  clarke_verdict verdict;
  char why[1024];
  clarke_obstacle obstacle; /* UNDECIDED */
  clarke_evidence evidence;
  size_t n_cells;
  clarke_cell *cell;      /* AD: 1; MIX: 2^n_mixed; HULL, BALANCE: n_cells */
  mpq_t *weight;          /* HULL: by cell */
  clarke_balance balance; /* BALANCE: the cells are one for each choice of its groups' */
  size_t n_mixed;
  size_t *mixed;          /* MIX: layers, with their lambda */
  mpq_t *lambda;
  clarke_tree tree;       /* SEPARATOR, BOUND */
  clarke_membership membership;
  size_t n_simplices;     /* SIMPLICES: by block */
  clarke_simplex *simplex;
  clarke_cell others;     /* SIMPLICES: AD's sides outside of the blocks */
  bool zone_asked;
  clarke_zone_found zone;
  size_t n_layers;
  clarke_layer *layer;
  clarke_theorem theorem[CLARKE_THEOREMS];
  size_t flat;            /* touches that are flat under AD's pattern */
  clarke_truth global;   /* is the global first-order system feasible? */
  bool global_tried;
} clarke_audit;

void clarke_audit_init(clarke_audit *a);
void clarke_audit_clear(clarke_audit *a);
/* Forgets the evidence of simplices. */
void clarke_audit_drop_simplices(clarke_audit *a);

/* Evidence of the verdict's kind, whole: weights that sum to 1, a complete tree, cells and simplices that are valid. */
bool clarke_audit_is_valid(const clarke_audit *a, const clarke_question *q);

/* all_ranks: the rank of every layer's input, not only of those with a touched kink. The question's adjoints are found when
 * blocks ask for them. */
clarke_status clarke_audit_run(clarke_audit *a, clarke_question *q, bool all_ranks, clarke_error *err);

#endif
