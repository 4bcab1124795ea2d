/* How far a step's numbers, computed in floating point, may be from exact ones: for each entry of each activation, each
 * gradient of an activation and each parameter's gradient an upper bound, for any order of summation, fused or not
 * (docs/rounding-bound.md).
 *
 * An operation's result is the exact one times 1 + d, |d| <= unit, plus at most `tiny`; so many elementary operations make a
 * sum of n products, whatever their order. Where rounding may have turned a branch, the bound holds both. A bound that is
 * infinite says nothing. */
#ifndef CLARKE_TRACE_ROUNDING_H
#define CLARKE_TRACE_ROUNDING_H

#include "exact/upward.h"
#include "network/derive/loss.h"
#include "network/derive/slopes.h"

typedef struct {
  double unit;    /* half the distance from 1 to the next number */
  double tiny;    /* what underflow, subnormals flushed, takes at most */
  double largest; /* beyond it a result is infinite */
  double conv, matmul; /* a convolution's factors, another product's, may be rounded by so much of themselves before they are multiplied, and
                          the products be added up as above; 0: they are not */
  bool casts;     /* parameters and inputs are rounded to the type before they are used */
} clarke_rounding;

/* "float16", "bfloat16", "float32", "float64"; false for another. Of several types the coarsest counts, with casts. */
bool clarke_rounding_add_type(clarke_rounding *r, const char *name);

/* One value's recorded numbers, features x samples in row-major order; NULL: none. */
typedef struct {
  const clarke_forward *f; /* the exact pass over all samples, with the loss's output */
  clarke_slopes *slopes;   /* AD's; windows of identical entries are turned to the recorded winner */
  const clarke_profile *profile;
  const clarke_loss *loss;
  clarke_rounding by;
  double *const *recorded; /* n_values, row-major (feature, sample); NULL: nothing was recorded of it */
  /* made: */
  double **size;  /* n_values: at least |exact|; NULL: not needed */
  double *steepest; /* n_steps: of PIECEWISE, at least any slope */
  double **error; /* n_values: at least |computed - exact|; where it was recorded, what that differs by */
  double **wide;  /* n_values: of NORMALIZE steps, at least (|x| + mean |x|) / root, which some formulas add up; else NULL */
  double **mass;  /* n_values: of DENSE steps, at least the sum of their products' absolute values; else NULL */
  double **passed; /* n_values: likewise, the errors of their factors, before any sum is rounded; else NULL */
  size_t open;    /* entries where rounding may have turned the branch, */
  size_t open_step, open_entry; /* the first of these, in the graph's order */
  size_t checked; /* recorded entries that lie within the bound */
  /* the first recorded entry that does not: a value, or CLARKE_NONE */
  size_t offender, offender_entry;
} clarke_roundoff;

void clarke_roundoff_init(clarke_roundoff *r);
void clarke_roundoff_clear(clarke_roundoff *r);

/* The activations. */
clarke_status clarke_roundoff_forward(clarke_roundoff *r, clarke_error *err);

/* The same step by step, each when f has its output's values: size and error of that output. What is put there afterwards is
 * what the steps behind go on from. */
clarke_status clarke_roundoff_begin(clarke_roundoff *r, clarke_error *err);
clarke_status clarke_roundoff_step(clarke_roundoff *r, size_t step, clarke_error *err);

/* The gradients: grad (n_values) as clarke_reverse_run left it with the slopes above; scale: what the loss was multiplied by,
 * at least in absolute value. bound[p]: count entries for each parameter in wrt; made by malloc, freed by the caller. */
clarke_status clarke_roundoff_backward(double **bound, clarke_roundoff *r, const clarke_matrix *grad, double scale,
                                      clarke_error *err);

/* The same, and grad and gradient (by parameter, 0 x 0 to begin with) beside it: grad is seeded, as clarke_reverse_run asks. What has no bound
 * is not followed: entries of the gradient are AD's exact ones where their bound is finite. bound[p] is NULL where none of a parameter's has one.
 * Branches are counted in what is followed. */
clarke_status clarke_roundoff_backward_along(double **bound, clarke_matrix *gradient, clarke_roundoff *r, clarke_matrix *grad, double scale,
                                             clarke_error *err);

/* --- what both passes share --- */

/* At least a sum of n numbers >= 0 that was made in doubles. */
static inline double
clarke_roundoff_sum(double sum, size_t n)
{
  return clarke_up_over(sum, 2 * (double)(n + 8), (double)(n + 8) * 0x1p-1060);
}

/* Such a sum of nothing is a subnormal number, which processors multiply a hundred times slower. Where all types but float64 are far above it,
 * it is told to be so much that its products with weights are none. */
static inline double
clarke_roundoff_lift(const clarke_rounding *r, double bound)
{
  return bound > 0 && bound < 0x1p-1000 && r->tiny > 0x1p-200 ? 0x1p-1000 : bound;
}

/* a b, of sizes and errors: what 0 multiplies is nothing, be no bound on it known. 0 only then. */
static inline double
clarke_roundoff_times(double a, double b)
{
  const double product = a == 0 || b == 0 ? 0 : a * b;

  return a != 0 && b != 0 && product == 0 ? 0x1p-1074 : product;
}

/* At least what n roundings in a row take of numbers whose absolute values sum up to mass. */
double clarke_roundoff_by(const clarke_rounding *r, double n, double mass);

/* Does row f of a step divide by the root of epsilon and a statistic below 0, which is no variance? What floats lose of that sum has no bound. */
bool clarke_roundoff_cancels(const clarke_graph *g, const clarke_step *s, size_t f);

/* Is entry f of a column 1 or -1, exactly? What it multiplies is not rounded. */
bool clarke_roundoff_is_sign(const clarke_matrix *column, size_t f);

/* Does the operator multiply windows by kernels; or matrices, or what is one of their products? Others have no narrow factors. */
bool clarke_roundoff_convolves(const char *op);
bool clarke_roundoff_contracts(const char *op);
/* At least what narrow factors take of the products' absolute values, in a DENSE or PRODUCT step of one of them: f (2 + f). */
double clarke_roundoff_narrow(const clarke_rounding *r, const clarke_step *s);

/* At least |exact|, of every entry: malloc; NULL when out of memory. */
double *clarke_roundoff_sizes(const clarke_matrix *m);

/* The steepest slope of step i's pieces that the computed argument of an entry may have met, and how far it may be from AD's
 * own there (from 0, while r->slopes is not made). */
typedef struct {
  double steepest, apart;
  bool open; /* could it be on several sides? */
  bool multiplies; /* each piece is a number, or a multiple of x by at most 1 */
  bool selects;    /* it does, and here by 0, 1 or -1: nothing is rounded */
} clarke_reach;
clarke_status clarke_roundoff_reach(clarke_reach *reach, clarke_roundoff *r, size_t step, size_t entry, clarke_error *err);

/* For a NORMALIZE step (rounding_normalize.c): the errors of its output, and what is wide; errors and sizes of its input's
 * gradient, from sizes and errors of its output's. False when out of memory. */
bool clarke_roundoff_normalize(double *error, double *wide, const clarke_roundoff *r, const clarke_step *s);
bool clarke_roundoff_normalize_back(double *error, double *mass, const clarke_roundoff *r, const clarke_step *s,
                                   const double *size, const double *size_error);

/* For a step whose function has a domain (rounding_domain.c), at an entry: what the argument's error makes of the value; how
 * far the computed slope may be from the exact one, which is at most `slope`. Infinite where a border may have been reached. */
double clarke_roundoff_inside(const clarke_roundoff *r, const clarke_step *s, size_t entry);
double clarke_roundoff_inside_slope(const clarke_roundoff *r, const clarke_step *s, size_t entry, double slope);

/* What a constant's or an input's entry is off by: cast, or read as zero where it is subnormal. */
static inline double
clarke_roundoff_constant(const clarke_roundoff *r, double value)
{
  const double size = value < 0 ? -value : value;

  return (r->by.casts ? clarke_roundoff_by(&r->by, 1, size) : 0) + (size < r->by.tiny ? size : 0);
}

/* Windows of identical entries give their gradient to the recorded winner: any of them is AD's, for all are one function.
 * Before the exact pass back is made. */
void clarke_roundoff_reroute(clarke_roundoff *r);

/* May `other`, among what a window pools, have been computed as no smaller than `best` in sample j? */
bool clarke_roundoff_may_win(const clarke_roundoff *r, size_t value, size_t best, size_t other, size_t j);

/* The entry of a window that the recorded numbers make the winner, the first of the largest: a feature of the operand. */
size_t clarke_roundoff_winner(const clarke_roundoff *r, const clarke_step *s, size_t entry);

#endif
