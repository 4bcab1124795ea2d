/* The verdict on a minibatch: is AD's gradient of the loss in the Bouligand or Clarke set? And the
 * papers' theorems, each with whether it applies and holds, read off the graph. */
#ifndef CLARKE_AUDIT_AUDIT_H
#define CLARKE_AUDIT_AUDIT_H

#include "base/verdict.h"
#include "exact/rank.h"
#include "audit/enumerate.h"
#include "audit/obstacle.h"
#include "audit/simplex.h"

/* Independent blocks of a layer's system (a convolution's filters): all, those without a direction, and undecided ones. */
typedef struct {
  bool known;
  bool exact; /* the system's rows are; else a direction of theirs is a guess */
  size_t n, empty, open;
} clarke_block_counts;

/* A step with kinks and what feeds it: y = f(z, u) + bias. A MAX and the pointwise function it may pool
 * are two here but one layer of the papers: the MAX's system holds both (clarke_graph_inner). */
typedef struct {
  size_t step;
  size_t neurons;       /* features */
  size_t touched;       /* counted over neurons and samples */
  size_t moving;        /* of these, not flat under AD's pattern */
  size_t constraints;   /* rows of the system: what AD's sides ask of those */
  size_t ties;          /* MAX: windows with several largest entries; touched are the nontrivial ones */
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
  clarke_cell *cell;      /* AD: 1; MIX: 2^n_mixed; HULL: n_cells */
  mpq_t *weight;          /* HULL: by cell */
  size_t n_mixed;
  size_t *mixed;          /* MIX: layers, with their lambda */
  mpq_t *lambda;
  clarke_tree tree;       /* SEPARATOR, BOUND */
  clarke_membership membership;
  size_t n_simplices;     /* SIMPLICES: by block */
  clarke_simplex *simplex;
  clarke_cell others;     /* SIMPLICES: AD's sides outside of the blocks */
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

/* --- one file each --- */

/* layers.c: the layers, read off the graph. */
clarke_status clarke_layers_read(clarke_audit *a, const clarke_question *q, clarke_error *err);
/* Goes the gradient through no transcendental function? (The evidence of blocks.c and block_hulls.c needs that.) */
clarke_status clarke_graph_is_piecewise(bool *piecewise, const clarke_graph *g, clarke_error *err);

/* two_kinks.c (N-1, docs/two-kinks.md): a direction in the layer's own parameters that brings the
 * cell's moving touches of this layer to their sides, when there is one of closed form. */
clarke_status clarke_two_kinks(bool *found, clarke_direction *d, const clarke_layer *layer,
                               const clarke_cell *cell, const clarke_question *q,
                               clarke_error *err);

/* layer_system.c (Algorithm 1): P_l over the whole minibatch. counts: NULL when not asked for. */
clarke_status clarke_layer_system(clarke_cone_answer *answer, clarke_direction *d,
                                  clarke_block_counts *counts, const clarke_layer *layer,
                                  const clarke_cell *cell, const clarke_question *q,
                                  clarke_error *err);

/* The global system, in all parameters at once. */
clarke_status clarke_first_order(clarke_cone_answer *answer, clarke_direction *d,
                                 const clarke_cell *cell, const clarke_question *q,
                                 clarke_error *err);

/* layer_system.c: the blocks of the layer's system under the cell that have no direction, one after another: the
 * touches in each. clarke_blocks_end is for what begin left, whatever it returned. */
typedef struct clarke_blocks clarke_blocks;
clarke_status clarke_blocks_begin(clarke_blocks **b, const clarke_layer *layer,
                                  const clarke_cell *cell, const clarke_question *q,
                                  clarke_error *err);
/* Marks the touches that a block of the system holds; none when its rows are not exact. A row of zeros is in no block. */
void clarke_blocks_touches(bool *touch, const clarke_blocks *b);
clarke_status clarke_blocks_next(bool *found, bool *touch, clarke_blocks *b, clarke_error *err);
void clarke_blocks_end(clarke_blocks *b);

/* blocks.c: membership's place is OUTSIDE when AD's output is separated in the parameters of such a block (v and the
 * tree say how), INSIDE when all such blocks are surrounded by cells (the simplices, and `others`); else UNSETTLED. */
clarke_status clarke_settle_blocks(clarke_audit *a, clarke_question *q, clarke_error *err);

/* realize.c: directions for a cell, layer by layer and then globally. The layers' feasibility and
 * the global answer are recorded in a when report is set. */
clarke_status clarke_realize(bool *realized, clarke_cell *cell, clarke_audit *a, bool report,
                             const clarke_question *q, clarke_error *err);

/* The same by the layers' systems alone. */
clarke_status clarke_realize_by_layers(bool *realized, clarke_cell *cell, clarke_audit *a,
                                       const clarke_question *q, clarke_error *err);

/* rank.c: z_{l-1}'s column rank over the minibatch, for the layers that Theorem 5 asks about. */
clarke_status clarke_layer_ranks(clarke_audit *a, const clarke_question *q, bool all,
                                 clarke_error *err);

/* theorems.c: fills a->theorem, each by its own file in theorems. */
void clarke_theorems_judge(clarke_audit *a, const clarke_question *q);

#endif
