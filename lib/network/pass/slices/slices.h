/* Activations in fixed point, as many digits as a network's depth asks for: between the filter and the enclosures
 * (docs/filter.md, "Slices").
 *
 * Entry e of a value stands for sum over k of digit[k][e] * 2^(low + width k): plane 0 is the lowest. The digits are
 * integers of at most 2^(width - 1) in absolute value, floats that doubles multiply and add without rounding. What is
 * lost is lost at the low end, and known: norm[lane] bounds the Euclidean norm of the errors of a sample (of the whole
 * batch, where samples are coupled: then there is one lane), most[lane] the largest of them. */
#ifndef CLARKE_NETWORK_PASS_SLICES_SLICES_H
#define CLARKE_NETWORK_PASS_SLICES_SLICES_H

#include "exact/digits.h"
#include "exact/upward.h"
#include "network/pass/forward.h"
#include "network/pass/slices/plan.h"

/* Planes of a value at most, and entries of a block that is worked at. */
#define CLARKE_PLANES 48
#define CLARKE_SLICE_BLOCK ((size_t)256)

typedef struct {
  size_t rows, planes;
  long low;
  float *digit;        /* planes x rows x n */
  double *norm, *most; /* lanes */
  double scaled;       /* bounds that norm in the value's scaling, if it has one */
  double *segment;     /* bounds it in each of the value's segments, in its scaling, if it has one; NULL: not known */
} clarke_sliced;

/* A number in digits: exact, or off by no more than 2^low. */
typedef struct {
  size_t planes;
  long low;
  double digit[CLARKE_PLANES];
} clarke_digits;

typedef struct clarke_origin clarke_origin; /* moments.h */

struct clarke_slicing {
  const clarke_graph *g;
  const clarke_slice_plan *plan;
  size_t n, lanes;
  clarke_sliced *value;         /* n_values */
  const clarke_step **deferred; /* n_values: a GATHER that is left to the one product that reads it */
  size_t *last, step;           /* n_values: the last step that reads it; the step at work */
  clarke_origin *origin;        /* n_values; NULL: nothing is kept of values that are dropped */
  bool *made;                   /* n_values: a step before the one that makes it has done that, or passed it over */
  double *sum;                  /* CLARKE_PLANES + 2 rows of a block: sums that are to become digits, from the guard's up */
  clarke_branch **piece;
  size_t **ties;
  clarke_margin **margin; /* NULL: not asked for */
  clarke_identities *ids;
  const clarke_tensor *x;
  bool lost; /* digits of some value are too many, or too far from 1: nothing more is decided */
  clarke_error *err;
};

/* What a bound takes in by its own roundings. */
static inline double
clarke_slice_up(double v)
{
  return clarke_up_by(v, 0x1p12);
}

/* The multiple of width at or below v. */
static inline long
clarke_slice_grid(long v, long width)
{
  return v >= 0 ? v / width * width : -((-v + width - 1) / width * width);
}

/* Room for a value of so many planes and rows, digits not set, no error yet. Where it would have too many, or is too far
 * from 1, f->lost is set: then no status but CLARKE_OK means an error. */
clarke_status clarke_sliced_alloc(clarke_slicing *f, clarke_sliced *v, size_t rows, size_t planes, long low);
void clarke_sliced_drop(clarke_sliced *v);
/* A copy of the step's operand, made of the operand itself where no later step reads it. */
clarke_status clarke_sliced_inherit(clarke_slicing *f, clarke_sliced *y, size_t value);
/* Highest planes of zeros are left out. */
void clarke_sliced_trim(const clarke_slicing *f, clarke_sliced *v);
/* y's errors: those of x times growth, and `units` of its lowest place an entry. */
void clarke_sliced_bound(const clarke_slicing *f, clarke_sliced *y, const clarke_sliced *x, double norm, double most,
                         double units);
/* The nearest doubles of len entries from `at` on, within a factor 1 + 2^-48. */
void clarke_sliced_doubles(const clarke_slicing *f, const clarke_sliced *v, size_t at, size_t len, double *to);
/* (entry a) - (entry b) - c within a factor 1 + 2^-45, cancel what may; b CLARKE_NONE: none. */
double clarke_sliced_difference(const clarke_slicing *f, const clarke_sliced *v, size_t a, size_t b,
                                const clarke_digits *c);

/* In digits down to at least 2^low: exact, where `low` is low enough. false: too many are needed. */
bool clarke_digits_of_double(clarke_digits *d, double v, long low, long width);
/* The number itself, without zeros below it. */
bool clarke_digits_exactly(clarke_digits *d, double v, long width);
bool clarke_digits_of_mpfr(clarke_digits *d, const mpfr_t v, long low, long width);

/* The planes that a sum of products of digits c and x needs from y's low up. */
size_t clarke_slices_of_product(const clarke_slicing *f, long low, const clarke_digits *c, const clarke_sliced *x);
/* Blocks: sums are begun, take c times the entries of x from `at` on, or the number c times scale, and are made the
 * digits of y. */
void clarke_block_begin(clarke_slicing *f, size_t planes, size_t len);
void clarke_block_add(clarke_slicing *f, const clarke_sliced *y, const clarke_digits *c, const clarke_sliced *x,
                      size_t at, size_t len);
void clarke_block_add_number(clarke_slicing *f, const clarke_sliced *y, const clarke_digits *c, const clarke_digits *v,
                             size_t len);
void clarke_block_end(clarke_slicing *f, clarke_sliced *y, size_t at, size_t len);

/* Entries from `to` on of y are c times those of x from `from` on, and t. */
void clarke_block_line(clarke_slicing *f, clarke_sliced *y, const clarke_digits *c, const clarke_sliced *x,
                       const clarke_digits *t, size_t from, size_t to, size_t len);

/* v's scaling; NULL: none. */
const clarke_scaling *clarke_scaling_of(const clarke_slicing *f, size_t value);
/* v's segments; NULL: none, or samples have lanes of their own. */
const clarke_segments *clarke_segments_in(const clarke_slicing *f, size_t value);
/* Room for bounds of v's segments; without segments none. */
clarke_status clarke_sliced_segment(clarke_slicing *f, size_t value);
/* What its norm, its norm in its scaling, those of its segments and its largest error say of one another. */
void clarke_sliced_settle(const clarke_slicing *f, size_t value);

/* A step of each kind: f->value[s->out] is made of the operands. */
clarke_status clarke_slices_gather(clarke_slicing *f, const clarke_step *s);
clarke_status clarke_slices_sum(clarke_slicing *f, const clarke_step *s);
clarke_status clarke_slices_scale(clarke_slicing *f, const clarke_step *s);
clarke_status clarke_slices_dense(clarke_slicing *f, const clarke_step *s);
clarke_status clarke_slices_normalize(clarke_slicing *f, const clarke_step *s);
/* Those with kinks: open places become what bounds tell. */
clarke_status clarke_slices_piecewise(clarke_slicing *f, const clarke_step *s);
clarke_status clarke_slices_max(clarke_slicing *f, const clarke_step *s);

#endif
