/* What the files of the filter share: activations enclosed in doubles, the pass at work, and a function for each kind
 * of step that it follows. docs/filter.md has the bounds. */
#ifndef CLARKE_NETWORK_PASS_FILTER_ENCLOSURE_H
#define CLARKE_NETWORK_PASS_FILTER_ENCLOSURE_H

#include "exact/upward.h"
#include "network/pass/filter.h"

/* Where |w| |x| is larger a sum of products may have overflowed: then it has no bound. */
#define CLARKE_FILTER_FAR 0x1p1000

/* An activation in doubles: |y - true| <= row[f] * col[j] at feature f, sample j, and <= most[j] where there are norms; or,
 * in a fine pass, <= each[f * n + j]. norm[j]: at least the Euclidean norm of sample j's errors; before[j]: of what a GATHER
 * gathers from. */
typedef struct {
  double *y, *row, *col;
  double *norm, *most, *before; /* one piece of memory, or NULL */
  float *each;
  size_t rows;
  bool known; /* false: computed from something the filter does not follow */
} clarke_enclosure;

struct clarke_filter {
  const clarke_graph *g;
  size_t n;
  bool fine;
  const clarke_growths *growths; /* NULL: no norms */
  clarke_enclosure *value; /* n_values */
  const clarke_step **deferred; /* n_values: a GATHER that is left to the one product that reads it */
  double *bound, *near; /* room for two rows each */
  clarke_branch *other;    /* a row of marks */
  uint64_t *mark;   /* four */
  size_t *last;     /* n_values: the last step that reads it; layers are dropped behind it */
  size_t step;      /* the one at work */
  clarke_branch **piece;
  size_t **ties, *open;
  clarke_margin **margin; /* NULL: not asked for */
  clarke_identities *ids; /* made when windows are open */
  const clarke_tensor *x;
  clarke_error *err;
};

/* The bound of feature i, sample j. A NaN of rows and columns stays. */
static inline double
clarke_enclosure_bound_at(const clarke_filter *f, const clarke_enclosure *e, size_t i, size_t j)
{
  double bound;

  if (f->fine)
    return (double)e->each[i * f->n + j];
  bound = clarke_up_over(e->row[i] * e->col[j], 4, 8 * CLARKE_TINY);
  return e->most != NULL && e->most[j] < bound ? e->most[j] : bound;
}

/* The largest of n numbers >= 0, 0 of none; a NaN if there is one. */
double clarke_largest_of(const double *v, size_t n);

/* Room for so many rows, nothing in it yet, of a known activation. What there is is dropped by the other, also
 * when it failed. */
clarke_status clarke_enclosure_alloc(clarke_filter *f, clarke_enclosure *e, size_t rows);
void clarke_enclosure_drop(clarke_enclosure *e);
/* The copy of a value, made of the value itself where no later step reads it. */
clarke_status clarke_enclosure_inherit(clarke_filter *f, clarke_enclosure *y, size_t value);
/* bound[0..n): the bounds of row i. */
void clarke_enclosure_row_bounds(const clarke_filter *f, const clarke_enclosure *e, size_t i, double *bound);

/* size[j] becomes the rounding of `operations` results of at most size[j] in absolute value. */
void clarke_round_sizes(double *size, size_t n, double operations);
/* Roundings of at most error[j] in sample j. Where they are small beside what is there the rows grow by
 * their ratio; else all rows become one. */
void clarke_enclosure_add_rounding(clarke_filter *f, clarke_enclosure *y, const double *error);

/* Codes as places; how many are open. They are made as doubles beside doubles, for loops without branches:
 * signs are anyone's guess. */
size_t clarke_store_places(clarke_branch *piece, const double *code, size_t n);

#endif
