/* The pass of rounding.h back through the steps, as its parts share it.
 *
 * A gradient is a sum of terms from the steps that read the value. While it is made it has three parts: the terms' own
 * errors, the sum of their absolute values, and how many there are. Rounding in any order is bounded by the latter two, when
 * the value's own step is reached. Through copies the three go as they are: a framework may sum up behind them. */
#ifndef CLARKE_TRACE_ROUNDING_BACKWARD_H
#define CLARKE_TRACE_ROUNDING_BACKWARD_H

#include "trace/bound/rounding.h"

#define CLARKE_ROUNDBACK_SPARE 4
#define CLARKE_ROUNDBACK_SPARE_NORMALIZED 16

/* By entry; NULL where no gradient goes. */
typedef struct {
  double *error, *mass;
  double terms;
  unsigned char *parts; /* 0: nothing joined it; 1: one recorded number, moved or turned in sign; 2: more, or products */
} clarke_rounding_sum;

typedef struct {
  clarke_roundoff *r;
  const clarke_graph *g;
  const clarke_matrix *grad; /* by value; that of a step's output is whole when the step is asked for */
  double scale;              /* what grad is to be multiplied by: at least its absolute value */
  size_t n;
  size_t *reads;             /* room for a count by entry of any value */
  bool *carries, *lacking;   /* by value: does a gradient go on to it? One: has memory run out? */
  bool *lost;                /* by value: has no entry of its gradient a bound? Then it has no sums either. NULL: it is not asked */
  clarke_rounding_sum *sum;  /* by value: of activations, from the first step that adds to it up to its own; and of constants in wrt, in their
                              * own entries */
  const clarke_step *s;      /* the step at work, */
  size_t count;              /* its features, */
  double *size, *error;      /* its output's gradient, */
  bool known;                /* which was recorded */
} clarke_roundback;

/* Sums of zeros; alone: of the network's output, for the loss's own gradient. clarke_roundback_clear is for what begin left, whatever it
 * returned. */
clarke_status clarke_roundback_begin(clarke_roundback *b, clarke_roundoff *r, const clarke_matrix *grad, double scale, bool alone,
                                     clarke_error *err);
void clarke_roundback_clear(clarke_roundback *b);

/* The sums of a value, NULL where no gradient goes on to it. An activation's begin as zeros when they are first asked for. Where memory runs
 * out they are NULL, too, and from then on it is lacking. */
clarke_rounding_sum *clarke_roundback_target(const clarke_roundback *b, size_t value);
bool clarke_roundback_lacks(const clarke_roundback *b);

/* At least what entry e of a sum is off by, once it has been added up and stored. */
double clarke_roundback_bound(const clarke_roundback *b, const clarke_rounding_sum *s, size_t e, double spare);

/* A step's share in the sums of what it reads. known: the error of each entry of its output's gradient (a record's, in the
 * place of the sum); NULL: what the sum says. */
clarke_status clarke_roundback_step(clarke_roundback *b, size_t step, const double *known, clarke_error *err);

/* How many of n entries go to one of `count` by the map, at most; NULL: each to its own. At least 1. */
size_t clarke_roundback_meet(const clarke_roundback *b, const size_t *map, size_t n, size_t count);

/* A constant's sum joins that of what it was made of, its parameter's at last: its entry f is the other's entry map[f] (NULL: f).
 * Where several of its entries are one of the other's, so many sums are added up. */
void clarke_roundback_fold(clarke_rounding_sum *to, size_t count, const clarke_roundback *b, size_t value, const size_t *map);

/* Sums of n zeros; one that is there already stays. */
bool clarke_rounding_sum_init(clarke_rounding_sum *s, size_t n);
void clarke_rounding_sum_clear(clarke_rounding_sum *s);

#endif
