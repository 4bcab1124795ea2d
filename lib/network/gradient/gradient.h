/* What the files of a gradient in pairs share: numbers with the norms of their errors, and the pass at work.
 * docs/gradient.md has the bounds. */
#ifndef CLARKE_NETWORK_GRADIENT_GRADIENT_H
#define CLARKE_NETWORK_GRADIENT_GRADIENT_H

#include "network/gradient.h"
#include "network/gradient/pair.h"
#include "network/growth.h"

/* What an operation on pairs takes at most, relatively. */
#define CLARKE_PAIR_UNIT 0x1p-101
/* Bits of a slice: so many products of two make exact sums of doubles. */
#define CLARKE_GRADIENT_SLICE 21
#define CLARKE_GRADIENT_SUM ((size_t)1 << (53 - 2 * (CLARKE_GRADIENT_SLICE - 1)))
#define CLARKE_GRADIENT_FEWEST 3
#define CLARKE_GRADIENT_MOST 5

/* Features x n samples, and for each sample at least the Euclidean norm of its numbers, and of their errors. */
typedef struct {
  double *at, *low; /* NULL: nothing is there */
  double *size, *error;
  double largest;   /* at least every |at| */
} clarke_normed;

typedef struct {
  const clarke_replay *r;
  const clarke_graph *g;
  const clarke_profile *profile;
  const clarke_loss *loss;
  size_t n; /* samples */
  size_t slices, back_slices;   /* that products are made of, forward and back */
  bool lost;                    /* a number is too large, or too small, to be cut into slices */
  bool *needed, *carries;       /* n_values: is the output made of it; does it depend on a wrt parameter? */
  size_t *last;                 /* n_values: the last step that reads it on the way forward; */
  bool *kept;                   /* is it read on the way back, too? */
  const clarke_step **deferred; /* n_values: a GATHER that is left to the one product that reads it */
  const clarke_growths *growths;
  clarke_normed *value, *grad;  /* n_values */
  double **low;                 /* by parameter: what is to be added to the gradient's entries */
  clarke_gradient *gradient;
  clarke_error *err;
} clarke_descent;

/* At least a bound >= 0 that was computed in fewer than 2^30 operations, underflow included. */
static inline double
clarke_bound_up(double v)
{
  return v * (1 + 0x1p-20) + 0x1p-900;
}

/* At least what n operations in a row take of a sum of absolute values (Higham, Lemma 3.1, with the pairs' unit). n < 2^30. */
static inline double
clarke_bound_gamma(double n)
{
  return (n + 4) * CLARKE_PAIR_UNIT * (1 + 0x1p-20);
}

static inline clarke_pair
clarke_normed_get(const clarke_normed *v, size_t e)
{
  return (clarke_pair){v->at[e], v->low[e]};
}

static inline void
clarke_normed_put(clarke_normed *v, size_t e, clarke_pair x)
{
  v->at[e] = x.high;
  v->low[e] = x.low;
}

static inline void
clarke_normed_add(clarke_normed *v, size_t e, clarke_pair x)
{
  clarke_normed_put(v, e, clarke_pair_add(clarke_normed_get(v, e), x));
}

/* A rational, off by the pairs' unit. */
clarke_pair clarke_pair_of(const mpq_t q);

/* Room for so many features, zeros, with sizes and errors 0. What there is is dropped by the other, also when it failed. */
clarke_status clarke_normed_make(clarke_normed *v, size_t features, size_t n, clarke_error *err);
void clarke_normed_drop(clarke_normed *v);
/* v->size and v->largest from its numbers. */
void clarke_normed_measure(clarke_normed *v, size_t features, size_t n);

/* The most times that a step takes an entry of a value. */
clarke_status clarke_most_taken(size_t *most, const clarke_graph *g, const clarke_step *s, size_t value, clarke_error *err);

/* Of a MAX step with n samples, by entry: the feature that the largest entry of the window is. malloc; NULL without memory. */
size_t *clarke_winners(const clarke_replay *r, size_t step);

/* The factors of a SCALE step by feature: malloc; NULL without memory. */
clarke_pair *clarke_scale_factors(const clarke_graph *g, const clarke_step *s);

/* A PIECEWISE step's lines: y = constant[p] + slope[p] x. */
typedef struct {
  clarke_pair constant[CLARKE_MAX_KINKS + 1], slope[CLARKE_MAX_KINKS + 1];
  double steepest, largest; /* at least every |slope|, and |constant| */
} clarke_lines;
clarke_lines clarke_lines_of(const clarke_graph *g, const clarke_step *s);
/* The slope of piece p at feature f: PRelu's left one has its own. */
clarke_pair clarke_line_slope(const clarke_lines *l, const clarke_graph *g, const clarke_step *s, size_t p, size_t f);

/* The values of all steps that the output is made of. */
clarke_status clarke_descent_forward(clarke_descent *p);
/* From the output's gradient, which is there, to all parameters. */
clarke_status clarke_descent_back(clarke_descent *p);

/* Of a DENSE step: its output's numbers, whose room is there, and their errors. */
clarke_status clarke_dense_forward(clarke_descent *p, const clarke_step *s);
/* The operand's gradient and the weight's, whichever are asked for. */
clarke_status clarke_dense_back(clarke_descent *p, const clarke_step *s);

/* A term joins the gradient of a value, whose room is there: before it is added, its bounds. from: the gradient that it is made of;
 * grow: the norm of what it is made by, mass: that of absolute values, round: what an entry is rounded by, relative to the norm
 * of `from`, and lost: besides; repeats: how many times an entry is added to. */
void clarke_note_term(clarke_descent *p, size_t value, const clarke_normed *from, double grow, double mass, double round,
                      double lost, size_t repeats);
/* Room for the gradient of a value. */
clarke_status clarke_note_begin(clarke_descent *p, size_t value);

/* A constant's gradient, off by at most `within`, joins its parameter's. */
clarke_status clarke_note_constant(clarke_descent *p, size_t value, const clarke_pair *entries, double within);

#endif
