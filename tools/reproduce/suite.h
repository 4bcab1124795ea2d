/* Suites: a claim about all of something is asked of many that are drawn.
 *
 * Draws come from a seed, so a suite has one answer. An instance that meets the claim's condition counts as one of which the claim holds, or
 * fails, or is not known. The other counts say how much was in it: a suite whose instances touch no kink would say little. */
#ifndef CLARKE_TOOLS_SUITE_H
#define CLARKE_TOOLS_SUITE_H

#include "base/status.h"
#include "base/verdict.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
  CLARKE_COUNT_HOLDS,
  CLARKE_COUNT_FAILS,
  CLARKE_COUNT_UNKNOWN,
  CLARKE_COUNT_TOUCHED, /* kinks, of all instances */
  CLARKE_COUNT_EMPTY,   /* instances with a system that is empty, or a formula that nothing satisfies */
  CLARKE_COUNT_DIFFER,  /* instances in which what need not be equal is not */
  CLARKE_COUNTS,
} clarke_suite_count_kind;

typedef struct {
  size_t of[CLARKE_COUNTS];
} clarke_suite_counts;

/* splitmix64 (Steele, Lea, Flood); the state moves on with each draw. */
typedef struct {
  uint64_t state;
} clarke_draws;

size_t clarke_draw_below(clarke_draws *d, size_t n);             /* 0..n-1 */
long clarke_draw_between(clarke_draws *d, long low, long high); /* both can be drawn */

/* One more instance of which the claim holds, or not, or nobody knows. */
void clarke_suite_add(clarke_suite_counts *t, clarke_truth holds);

/* Asks one instance that is drawn, with the next draws. */
typedef clarke_status clarke_suite(clarke_suite_counts *t, clarke_draws *d, clarke_error *err);

/* suite_theorems.c: networks of dense layers (Park, Chun, Lee). */
clarke_suite clarke_suite_theorem_1, clarke_suite_theorem_1_clarke, clarke_suite_theorem_4, clarke_suite_theorem_4_clarke,
  clarke_suite_theorem_5, clarke_suite_theorem_6, clarke_suite_lemma_12, clarke_suite_lemma_13, clarke_suite_lemma_14,
  clarke_suite_lemma_15, clarke_suite_condition_2;
/* suite_pools.c: convolutions, ReLUs and pools (Park, Chun, Lee). */
clarke_suite clarke_suite_theorem_8, clarke_suite_algorithm_2, clarke_suite_constraints;
/* suite_lemmas.c: functions of one variable (Park, Chun, Lee), and ranks. */
clarke_suite clarke_suite_lemma_9, clarke_suite_lemma_10, clarke_suite_lemma_11, clarke_suite_ranks;
/* suite_programs.c: programs of sums, kinks and maxima. */
clarke_suite clarke_suite_smooth, clarke_suite_almost_everywhere, clarke_suite_segments, clarke_suite_zones, clarke_suite_paths, clarke_suite_descent,
  clarke_suite_slope_of_relu, clarke_suite_chain_rule;
/* suite_selections.c: elementary selections (Bolte and Pauwels). suite_primitives.c: each function that programs can call. */
clarke_suite clarke_suite_selections, clarke_suite_primitives, clarke_suite_hybrid;
/* suite_operators.c: AD as an operator (Bolte and Pauwels). */
clarke_suite clarke_suite_minibatches, clarke_suite_any_number, clarke_suite_sorting;
/* suite_matrices.c: products of matrices (thesis, Theorem 4; Bolte and Pauwels, Lemma 1). suite_linear.c: linear ReLU networks (thesis). */
clarke_suite clarke_suite_matrix_costs, clarke_suite_matrix_gradients, clarke_suite_products, clarke_suite_constant, clarke_suite_maxima;
/* suite_modes.c: forward and backward mode (thesis, chapter 2). */
clarke_suite clarke_suite_modes, clarke_suite_costs, clarke_suite_max_linear, clarke_suite_norm_1;
/* suite_ties.c: pieces and ties (Despres; Park, Chun, Lee; Bolte and Pauwels). */
clarke_suite clarke_suite_tied_pieces, clarke_suite_copies, clarke_suite_pooled, clarke_suite_essential;
/* suite_identities.c: systems and identities (Park, Chun, Lee; thesis). suite_rules.c: what optimizers take for granted (thesis). */
clarke_suite clarke_suite_linear_program, clarke_suite_without_relus, clarke_suite_block_products, clarke_suite_hessians, clarke_suite_averages;
/* suite_formulas.c: networks of formulas (thesis, Theorem 6). */
clarke_suite clarke_suite_formulas;

#endif
