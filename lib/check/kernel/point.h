/* A network at the stored weights: what its entries are, and what is known of them; [step][feature * batch + sample] in all
 * arrays. Values and tangents are computed when they are asked for, and what they need with them. */
#ifndef CLARKE_KERNEL_POINT_H
#define CLARKE_KERNEL_POINT_H

#include "check/base/sequences.h"
#include "check/kernel/steps.h"

#include <pthread.h>

#define GUARD 128 /* bits of near values beyond those of intervals */

/* An entry of a step that is at a kink, or a window with n > 1 options. at: of a kink, its
 * argument's entry in step `from`; of a window, the first entry of each option; tied: how many entries
 * each option has; last: the option of the last. An array of slopes has for a kink its slope, for a
 * window what multiplies each option's derivative, from [slope]. */
typedef struct {
  size_t step, entry, kink, from, n, *at, *tied, last, slope;
  rational left, right; /* of a kink: the slopes on its sides */
} touch;

/* Is it a tie of a window, not a kink? */
static inline bool
is_window(const touch *t)
{
  return t->n > 1;
}

#define TOUCHED ((size_t)1 << 32)

/* What AD does at ties of an operator's windows. last: the last tied entry has what the first has otherwise; shared: B of
 * `hybrid B`: 0 for first and last, 1 for mean. */
typedef struct {
  bool used, last;
  rational shared;
} tie_rule;
#define N_TIE_RULES 10 /* operators that have windows (window.c) */

/* The network at the stored weights. */
typedef struct point {
  network *net;
  loss_kind loss;
  const tensor *x, *target;
  const interval ***y; /* outputs; NULL: not computed. Read by value_at */
  size_t **place;      /* of a PIECEWISE argument: its piece; of a window: the place of its first tied
                          entry; or TOUCHED + the touched kink's number (until all are known, + the piece left
                          of the kink, or that place) */
  size_t n_touched, n_slopes;
  touch *touched;
  pthread_mutex_t touching; /* held by who adds one */
  tie_rule ties[N_TIE_RULES];
  uint8_t **degree;     /* with no sides given, as in cell */
  size_t ***same;       /* [step][sample][entry / apart]; NULL: not known. Read by same_as */
  size_t *n_same;       /* of each sample (or all, coupled): how many numbers there are for what is no constant */
  sequences *constants; /* likewise: the values of constants */
} point;

/* A choice of sides and what follows from it. */
typedef struct {
  int *side;        /* of each touched kink: -1, 1, or 0 when none is given; an option + 1 */
  bool *flat;       /* its argument is constant: the side does not matter */
  rational *slope;  /* of all touched kinks and windows */
  uint8_t **degree; /* of each output in the parameters: 0 constant, 1 affine, 2 anything */
} cell;

/* How many entries step s has in the whole batch. */
static inline size_t
entries(const point *p, size_t s)
{
  return p->net->steps[s].n * p->net->batch;
}

/* For entry e of the step that reads x. */
static inline size_t
entry_of(const point *p, source x, size_t e)
{
  return x.from * p->net->batch + e % p->net->batch;
}

/* Term i of entry e. */
static inline term
term_at(const point *p, const step *st, size_t e, size_t i)
{
  size_t f = e / p->net->batch;
  return (term){st->factors[st->factor_row[f] * st->width + i], st->sources[st->source_row[f] * st->width + i]};
}

size_t rows_of_factors(const step *st); /* of a step with terms */
size_t rows_of_sources(const step *st); /* of one that reads nothing, as many as there can be */
/* For each option of a window's entry that counts: where it is, and what multiplies its derivative (slope NULL: of what is tied by is
 * NULL, too). How many these are; alone: room for one place. */
size_t options(const point *p, size_t s, size_t e, const rational *slope, const size_t **at, const rational **by,
               size_t *alone);
size_t read_step(const step *st); /* the step whose entries the windows of a step have */
/* Is the sample no part of cross entropy's mean, by its label; how many are part of it? */
bool loss_ignores(const point *p, size_t sample);
size_t loss_counted(const point *p);
/* A line of a SOFTMAX or NORMALIZE step: how many entries it has; entry j of the one that has entry e; what entry e reads. */
size_t line_length(const point *p, const step *st);
size_t line_entry(const point *p, const step *st, size_t e, size_t j);
source read_by(const point *p, const step *st, size_t e);
/* Are entries e and e2 of an OVER_ROOT or NORMALIZE step divided by one root? */
bool same_root(const point *p, const step *st, size_t e, size_t e2);
void weigh(const step *st, const factor *t, bool derivative, rational *q); /* its number; or that's by the weight */

#endif
