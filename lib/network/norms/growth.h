/* How each step of a graph passes on the errors of its operands: upper bounds of factors of their norms, the same for all
 * samples (docs/filter.md, "Norms"). */
#ifndef CLARKE_NETWORK_NORMS_GROWTH_H
#define CLARKE_NETWORK_NORMS_GROWTH_H

#include "network/graph/segments.h"

/* What an operand's errors grow by: a factor of their Euclidean norm, and one of the largest of them. */
typedef struct {
  double norm, most;
  double alone; /* of a SUM's operand: the first without the others of the same value */
} clarke_growth;

/* What errors of a value are measured by: one of row r counts row[r] times. */
typedef struct {
  double *row;        /* NULL: there is none, all count once */
  double least, most; /* of them, above 0 */
  double size;        /* at least the root of the sum of their squares */
} clarke_scaling;

/* A DENSE step's row is the largest norm of a row of W, by which one entry's error exceeds the norm of its column's, and
 * column that by which a column's may exceed the norm of all (1 where no column takes an entry twice). */
typedef struct {
  const clarke_graph *g;  /* NULL: nothing is known yet */
  clarke_growth **growth; /* n_steps: by operand; NULL where it is not known */
  double *row, *column;   /* n_steps: of DENSE */
  double *size;           /* n_steps: of DENSE, the largest Frobenius norm of a block of W */
  double *joined;         /* n_steps: of DENSE, the norm of W behind the GATHER before it, if there is one, from what that gathers to
                           * W's output in its scaling */
  bool *apart;            /* n_steps: of SUM, no entry takes more than one activation: squares of norms add */
  clarke_segments *segments; /* n_values; NULL: where values have no scalings */
  double **by_segment;       /* n_steps: of DENSE, the norms of W's columns for each segment of its argument, to its output in its
                              * scaling; NULL: it has no segments, or a GATHER stands before it */
} clarke_growths;

/* Those of the steps whose outputs are needed and that are not known yet. p: zero, or of the same graph. */
clarke_status clarke_growths_add(clarke_growths *p, const clarke_graph *g, const bool *needed, clarke_error *err);
/* The same, where values have scalings (n_values), and norms of convolutions are looked for where they are worth it for so many
 * samples. */
clarke_status clarke_growths_add_scaled(clarke_growths *p, const clarke_graph *g, const bool *needed, const clarke_scaling *scaling,
                                        size_t samples, clarke_error *err);
void clarke_growths_clear(clarke_growths *p);

/* What the operator norms of these steps cost, and the products of n samples, in multiplications of doubles, roughly. */
void clarke_growths_cost(double *norms, double *products, const clarke_graph *g, const bool *needed, size_t n);

#endif
