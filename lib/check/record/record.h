/* A recorded training step: its tensors beside the network that it was recorded of (docs/proof-format.md, "Recorded
 * steps"). What nodes read are the recorded entries of the steps that made them. */
#ifndef CLARKE_KERNEL_RECORD_H
#define CLARKE_KERNEL_RECORD_H

#include "check/files/onnx.h"
#include "check/kernel/point.h"
#include "check/record/record_sum.h"

/* The slope at a kink, by operator (of the network's list) and kink. */
typedef struct {
  bool left, right;
  rational value;
} ad_slope;

/* What is kept while a record is judged, so that it is made once. */
typedef struct {
  coefficient last[2][FUNCTION + 1]; /* forwards, backwards; by kind of step, INPUT: of copies */
  struct node_tables *tables;        /* record_node.c */
  struct line_roots *roots;          /* record_line.c: by step */
  struct moments **moments;          /* record_statistic.c: by step */
  struct told_statistics *told;      /* and by the place of a node */
  tensor **long_ones;                /* with entries that are no doubles */
  size_t n_long;
  size_t unrecorded; /* entries of steps that were computed, for they were not recorded */
} record_kept;

typedef struct {
  record_kept *kept;
  const point *p;
  const model *m;
  tensor *trace, *gradients;
  size_t n_trace, n_gradients;
  name_index trace_names, gradient_names;
  name_index outputs; /* of the model's nodes: names; and by their numbers the nodes */
  size_t *maker;
  bool *trace_read, *gradient_read; /* a line of the proof speaks of it */
  rational scale;                   /* of the loss */
  unsigned long
      narrow[2]; /* what narrow factors take of a convolution's products, of others' (sum_add's); 0: there are none */
  ad_slope (*proxies)[2]; /* by operator */
  unit unit;
  recorded one;
  bool *torn;       /* by step: a node that only moves its entries was recorded with others */
  size_t boundless; /* entries of the tensor at hand of which no bound is known */
  bool exact;       /* the line at hand says that the tensor is bit-exact */
  const recorded **
      *entry; /* [step][feature * batch + sample]: as recorded, of the input as given; NULL: not recorded */
} record;

/* r has kept (zeros), p, m, scale and proxies; the files' tensors are brought to one unit. */
void record_begin(record *r, bytes trace, bytes gradients);

size_t record_tensor(const record *r, const char *part, const char *name); /* the trace's PART/NAME; NONE */

/* The trace's tensor PART/NAME, marked as read; NULL when there is none. */
const tensor *record_find(record *r, const char *part, const char *name);

/* Entry i of sample b of a recorded tensor of v; its shape must be v's. */
void record_fits(const record *r, const graph_value *v, const tensor *t);
const recorded *record_entry(const record *r, const graph_value *v, const tensor *t, size_t i, size_t b);

/* Does v hold numbers as they were recorded? Are the samples on its first axis, alone, besides? */
bool record_plain(const record *r, const graph_value *v);
bool record_first(const record *r, const graph_value *v);
size_t record_samples(const record *r, const graph_value *v); /* 1 of a constant */
bool record_makes(const record *r, const graph_value *v);     /* is it the output of its step, as the step made it? */

size_t record_place(const record *r, const char *name); /* of the node with that output; NONE */
/* The one step of the node there, when it is of a kind whose rules "Recorded steps" has; else NULL. */
const step *record_step(const record *r, size_t place);
bool record_known(const record *r, size_t s); /* was the step's output recorded, and by all its names as one? */
/* Is that so of all that it reads? */
bool record_reads(const record *r, const step *st);
const recorded *record_read(const record *r, source x, size_t b); /* for sample b; NULL: not recorded */

/* Roundings that may be made beyond one for each term; and beyond these of terms that a number other than 1 and -1 multiplies. */
#define SPARE 4
#define SPARE_SCALED 2

/* Piece of a PIECEWISE step at an argument; at a kink with two slopes, AT_KINK + the kink. */
#define AT_KINK 16
size_t record_piece(const record *r, const step *st, const recorded *x);

/* AD's at kink k of a step. */
const ad_slope *record_proxy(const record *r, const step *st, size_t k);

/* The first of the largest recorded entries of window f of sample b: the number of its term. What it pools was recorded. */
size_t record_winner(const record *r, const step *st, size_t f, size_t b);

/* ---- Factors that were rounded before they were multiplied (record_factors.c) */

/* Lines `run` and `factors`, if they are next. */
void record_factors(record *r, const char *folder);
/* What is taken of the step's products, of numbers of that type (sum_add's). */
unsigned long record_narrow(const record *r, const step *st, size_t type);
/* What is taken of term i of a LINEAR step's row w: of a product. Backward of a number that is added, too, as libraries take its gradient from
 * what they made of it for the products. */
unsigned long record_narrow_term(unsigned long narrow, const factor *w, source x, bool back);

/* ---- Answers */

/* NO_BOUND: of some entries none is known, all others are within theirs. */
typedef enum { EXACT, BOUNDED, NO_BOUND, REFUTED, NOT_COVERED, N_ANSWERS } answer;

answer answer_of(answer so_far, nearness n); /* the weaker */
answer answer_note(record *r, answer so_far,
                   answer now); /* likewise, of one entry more; those without a bound are counted */

/* What is said of the recorded tensor t: the output of a node, or a window's indices (record_forward.c). */
answer record_output(record *r, const char *name, const tensor *t);
answer record_indices(record *r, const char *name, const tensor *t);

/* The recorded indices of a WINDOW step, and the value that it pools; NULL: they were not recorded. And the term that
 * entry f of sample b of them names; NONE: none of the window's. */
const tensor *record_winners(record *r, const step *st, const graph_value **in);
size_t record_named(const record *r, const step *st, const graph_value *in, const tensor *t, size_t f, size_t b);

/* What is said of t as the gradient of a node's output, or of a parameter (record_backward.c). */
answer record_gradient(record *r, const char *name, const tensor *t);
answer record_parameter(record *r, const graph_value *v, const tensor *t);

#endif
