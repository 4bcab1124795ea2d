/* What the files of a gradient in pairs share: numbers with the norms of their errors, and the pass at work.
 * docs/gradient.md has the bounds. */
#ifndef CLARKE_NETWORK_DERIVE_GRADIENT_GRADIENT_H
#define CLARKE_NETWORK_DERIVE_GRADIENT_GRADIENT_H

#include "exact/upward.h"
#include "network/derive/gradient.h"
#include "network/derive/gradient/fixed.h"
#include "network/norms/growth.h"

#include <math.h>

/* What an operation on pairs, or doubles, that ends in a double takes at most, relatively. */
#define CLARKE_DOUBLE_UNIT (2 * CLARKE_UNIT)

/* Features x n samples, and for each lane (a sample; all of them, where they are coupled) at least the Euclidean norm of its
 * numbers, and of their errors. */
typedef struct {
  double *at, *low; /* NULL: nothing is there; of doubles alone there are no low parts */
  clarke_fixed fixed; /* where there is one, the numbers, of which the doubles are what is near them when they are measured */
  double *size, *error;
  double largest;   /* at least every |at| */
} clarke_normed;

/* What a NORMALIZE step keeps for the way back: y = (x - mean) / d of groups of m entries. */
typedef struct {
  clarke_pair *factor; /* by group, of each sample where these are not coupled: 1 / d */
  clarke_fixed_factor *fixed; /* the same, of a step in fixed point */
  double steepest;     /* at least 1 / d of every group, whatever x is within its errors */
  double turned;       /* at least by how much the derivative is off, as a norm */
} clarke_normalized;

/* How near a pass is to be: chosen before it. No bound rests on that. */
typedef struct {
  size_t *slices, *back_slices; /* n_steps: of DENSE, that products cut from what W is multiplied by */
  bool *fine, *fine_back;       /* n_values: kept in pairs, not in doubles */
  bool *fixed;                  /* n_values: gradients in fixed point, of so many limbs and such a unit; NULL: none are */
  size_t limbs;
  int unit;
  bool in_digits;               /* values come from a pass in slices, */
  double *borne;                /* n_values: the norms of whose errors are to be at most these */
} clarke_gradient_plan;

/* What a pass over a few samples has met: the largest norms of a lane. */
typedef struct {
  double *value, *grad;             /* n_values */
  double *value_most, *grad_most;   /* n_values: their largest entries; */
  double *value_entries, *grad_entries; /* and the roots of how many in a lane are not 0 */
  double *by_value, *by_grad;       /* n_steps: of DENSE and SCALE, how an error of x, or g, moves the weight's gradient */
  double *steepest;                 /* n_steps: of NORMALIZE */
  double turn;                      /* by how much, for each unit of the outputs' errors, the loss's gradient turns */
} clarke_gradient_sizes;

typedef struct {
  const clarke_replay *r;
  const clarke_graph *g;
  const clarke_profile *profile;
  const clarke_loss *loss;
  size_t n; /* samples */
  size_t lanes; /* 1, where they are coupled; else n */
  const clarke_gradient_plan *plan;
  clarke_gradient_sizes *seen;   /* NULL, or filled */
  bool in_pairs;                /* are pairs enough for exponentials, which balls have more digits of? */
  bool lost;                    /* a number is too large, or too small, to be cut into slices */
  bool *needed, *carries;       /* n_values: is the output made of it; does it depend on a wrt parameter? */
  size_t *last;                 /* n_values: the last step that reads it on the way forward; */
  bool *kept;                   /* is it read on the way back, too? */
  bool *whole;                  /* with its low parts? NULL: all are */
  const clarke_step **deferred; /* n_values: a GATHER that is left to the one product that reads it */
  const clarke_growths *growths;
  clarke_normed *value, *grad;  /* n_values */
  clarke_normalized *normalized; /* n_steps: of NORMALIZE */
  double **low;                 /* by parameter: what is to be added to the gradient's entries */
  clarke_gradient *gradient;
  clarke_error *err;
} clarke_gradient_pass;

/* At least a bound >= 0 that was computed in fewer than 2^30 operations, underflow included. */
static inline double
clarke_bound_up(double v)
{
  return clarke_up_over(v, 0x1p32, 0x1p-900);
}

/* At least by how much the norm of a lane exceeds that of a sample, of samples alike. */
static inline double
clarke_lane_root(const clarke_gradient_pass *p)
{
  return clarke_bound_up(sqrt((double)(p->n / p->lanes)));
}

/* Is the value kept in fixed point? */
static inline bool
clarke_is_fixed(const clarke_gradient_pass *p, size_t value)
{
  return p->plan->fixed != NULL && p->plan->fixed[value];
}

/* The lane that a sample is in. */
static inline size_t
clarke_lane_of(const clarke_gradient_pass *p, size_t sample)
{
  return p->lanes == 1 ? 0 : sample;
}

/* At least what n operations of that unit in a row take of a sum of absolute values (Higham, Lemma 3.1). n < 2^30. */
static inline double
clarke_bound_gamma(double n, double unit)
{
  return clarke_gamma(n + 4, unit);
}

/* What one rounding takes of a number, in parts of it; fixed point has errors of its own. */
static inline double
clarke_unit_of(const clarke_normed *v)
{
  return v->fixed.limb != NULL ? 0 : v->low != NULL ? CLARKE_PAIR_UNIT : CLARKE_DOUBLE_UNIT;
}

/* Entry e, which is not in fixed point. */
static inline clarke_pair
clarke_normed_get(const clarke_normed *v, size_t e)
{
  return (clarke_pair){v->at[e], v->low != NULL ? v->low[e] : 0};
}

/* Sets entry e, which is not in fixed point; without a second double its own is left out. */
static inline void
clarke_normed_put(clarke_normed *v, size_t e, clarke_pair x)
{
  v->at[e] = x.high;
  if (v->low != NULL)
    v->low[e] = x.low;
}

/* Adds to entry e, which is not in fixed point. */
static inline void
clarke_normed_add(clarke_normed *v, size_t e, clarke_pair x)
{
  if (v->low != NULL)
    clarke_normed_put(v, e, clarke_pair_add(clarke_normed_get(v, e), x));
  else
    v->at[e] += x.high;
}

/* Row i, of block b, of a NORMALIZE step's group. */
static inline size_t
clarke_group_row(const clarke_step *s, size_t b, size_t group, size_t i)
{
  return (b * s->grouping.groups + group) * s->grouping.length + i;
}

/* Adds factor times n numbers, from y's `to` and x's `from` on. With doubles alone that is two operations, and takes the factor's
 * low part. */
void clarke_normed_add_row(clarke_normed *y, size_t to, clarke_pair factor, const clarke_normed *x, size_t from, size_t n);

/* Room for so many features, zeros, with sizes and errors 0. What there is is dropped by the other, also when it failed. */
clarke_status clarke_normed_make(clarke_normed *v, size_t features, size_t n, bool fine, clarke_error *err);
void clarke_normed_drop(clarke_normed *v);
/* The same of numbers that are all set before they are read. */
clarke_status clarke_normed_room(clarke_normed *v, size_t features, size_t n, bool fine, clarke_error *err);
/* A value is read on the way forward no more: what the way back does not read of it is dropped. */
void clarke_value_settle(clarke_gradient_pass *p, size_t value);
/* v->size and v->largest from its numbers. */
void clarke_normed_measure(clarke_normed *v, size_t features, size_t n, size_t lanes);

/* Room for as many numbers in fixed point: zeros. */
clarke_status clarke_normed_fix(clarke_normed *v, size_t features, size_t n, size_t limbs, int unit, clarke_error *err);

/* The largest absolute value of n numbers; infinity or a NaN, where there is one. */
double clarke_largest_double(const double *v, size_t n);
/* At least the largest norm of a lane of features x n numbers. */
clarke_status clarke_largest_norm(double *largest, const double *at, size_t features, size_t n, size_t lanes, clarke_error *err);
/* The largest size of a lane. */
double clarke_normed_size(const clarke_gradient_pass *p, const clarke_normed *v);
/* The root of how many of a lane's entries are not 0, on average. */
double clarke_normed_entries(const clarke_normed *v, size_t features, size_t n, size_t lanes);
/* The largest entry of a parameter's gradient. */
double clarke_gradient_largest(const clarke_gradient *gradient, const clarke_graph *g, size_t parameter);

/* The most times that a step takes an entry of a value. */
clarke_status clarke_most_taken(size_t *most, const clarke_graph *g, const clarke_step *s, size_t value, clarke_error *err);

/* By entry of a MAX step: the feature that the largest entry of the window is. malloc; NULL without memory. */
size_t *clarke_winners(const clarke_gradient_pass *p, size_t step);

/* A PIECEWISE step's lines: y = constant[p] + slope[p] x. */
typedef struct {
  clarke_pair constant[CLARKE_MAX_KINKS + 1], slope[CLARKE_MAX_KINKS + 1];
  double steepest, largest; /* at least every |slope|, and |constant| */
} clarke_lines;
clarke_lines clarke_lines_of(const clarke_graph *g, const clarke_step *s);
/* The one line that is x, or in whose slope 1 is where slopes alone matter, if all others are 0; else CLARKE_NONE. */
size_t clarke_line_taken(const clarke_lines *l, const clarke_step *s, bool slopes_alone);
/* The slope of piece p at feature f: PRelu's left one has its own. */
clarke_pair clarke_line_slope(const clarke_lines *l, const clarke_graph *g, const clarke_step *s, size_t p, size_t f);

/* Makes a NORMALIZE step's output: its numbers, whose room is there, and their errors. */
clarke_status clarke_normalized_forward(clarke_gradient_pass *p, const clarke_step *s);
/* Adds to the operand's gradient; the second for a step in fixed point. */
clarke_status clarke_normalized_back(clarke_gradient_pass *p, const clarke_step *s);
clarke_status clarke_normalized_back_fixed(clarke_gradient_pass *p, const clarke_step *s);

/* The values of all steps that the output is made of. */
clarke_status clarke_gradient_pass_forward(clarke_gradient_pass *p);
/* The same in as many digits as the plan says. */
clarke_status clarke_gradient_pass_forward_in_digits(clarke_gradient_pass *p);
clarke_status clarke_gradient_pass_load_input(clarke_gradient_pass *p);
/* The same for a NORMALIZE step whose operand is there in fixed point: that becomes its distance from the mean. */
clarke_status clarke_normalized_forward_fixed(clarke_gradient_pass *p, const clarke_step *s);
/* y's errors grow by those of x, and what rounding takes from each group is in them, squared. relative: by how much 1 / d of a group
 * is off, at most. */
void clarke_normalized_settle(clarke_gradient_pass *p, const clarke_step *s, double relative);
/* The outputs as matrices with their errors, which the loss is asked of; its gradient in them, from its enclosure. */
clarke_status clarke_gradient_pass_enclose(clarke_forward *outputs, const clarke_gradient_pass *p);
clarke_status clarke_gradient_pass_seed(clarke_gradient_pass *p, const clarke_forward *outputs);
/* From the output's gradient, which is there, to all parameters. */
clarke_status clarke_gradient_pass_back(clarke_gradient_pass *p);

/* By how much errors of what a DENSE step reads grow, of the source where a GATHER is left to it. */
double clarke_dense_growth(const clarke_gradient_pass *p, const clarke_step *s);
/* Its output's numbers, whose room is there, and their errors. */
clarke_status clarke_dense_forward(clarke_gradient_pass *p, const clarke_step *s);
/* The operand's gradient and the weight's, whichever are asked for. */
clarke_status clarke_dense_back(clarke_gradient_pass *p, const clarke_step *s);

/* A term joins the gradient of a value, whose room is there: before it is added, its bounds. from: the gradient that it is made of;
 * grow: the norm of what it is made by, mass: that of absolute values, round: what an entry is rounded by, relative to the norm
 * of `from`, and lost: besides; repeats: how many times an entry is added to. */
void clarke_note_term(clarke_gradient_pass *p, size_t value, const clarke_normed *from, double grow, double mass, double round,
                      double lost, size_t repeats);
/* For a step with one operand: room for its gradient, and the bounds of what the step adds to it. lost: the norm of what
 * all entries of g lose besides, each once. */
clarke_status clarke_note_operand(clarke_gradient_pass *p, const clarke_step *s, const clarke_normed *g, double grow, double round,
                                  double lost);
/* Room for the gradient of a value. */
clarke_status clarke_note_begin(clarke_gradient_pass *p, size_t value);

/* Is operand k a constant, of a SUM, that moves whole groups of all normalizations that read the sum, and nothing else does? These
 * take their means off: its gradient is 0 there, exactly. */
clarke_status clarke_operand_cancels(bool *cancels, const clarke_graph *g, const clarke_step *s, size_t k, clarke_error *err);

/* A constant's gradient, off by at most `within`, joins its parameter's. */
clarke_status clarke_note_constant(clarke_gradient_pass *p, size_t value, const clarke_pair *entries, double within);
/* The same of doubles, malloc'ed: they become the gradient's, or are freed. */
clarke_status clarke_note_doubles(clarke_gradient_pass *p, size_t value, double *entries, double within);

#endif
