/* A node of several steps, or of one that no plain sum is, beside what was recorded of its inputs: every number it goes through, with
 * a bound (docs/proof-format.md, "Composed nodes"). */
#ifndef CLARKE_KERNEL_RECORD_NODE_H
#define CLARKE_KERNEL_RECORD_NODE_H

#include "check/record/record_chain.h"
#include "check/record/record_number.h"

/* Roundings that may be made beyond one for each term. */
#define SPARE_COMPOSED 16
/* What a softplus may leave out: 2^-28. */
#define SOFTPLUS_LEFT bound_scale(bound_natural(1), -28)

/* The steps of a chain, for n samples from `first` on; entry f * n + j is feature f of sample first + j. */
typedef struct {
  const record *r;
  size_t first, n, type;
  bool doubles; /* in which all is enclosed; what they do not tell is open */
  number **y;   /* by step of the chain: as it is computed; NULL: not yet. (node_read has what was recorded of it) */
  cotangent **back;     /* by step, likewise: what is handed back to it; NULL: none */
  const bool *asked;    /* by step: whether gradients are gathered there */
  const tensor *weight; /* a constant, in its own entries */
  cotangent *of_weight;
  bound narrow; /* of the term at work: what is taken of it where its factors were rounded */
  bool open;    /* of the number at work, or of one that it is made of, no bound is known */
  bool ended;   /* a number is not known at all: nothing behind it is computed */
} node_pass;

void node_note(const node_pass *p, size_t s); /* y or back of step s was filled */
/* One chain at a time, until node_end. Computes its numbers in arithmetic of that type, those of the steps that are needed. */
void node_begin(node_pass *p, const record *r, const chain *c, const bool *needed, size_t first, size_t type,
                bool doubles);
/* Are numbers of that type followed in doubles first? */
bool node_in_doubles(size_t type);
void node_end(node_pass *p);
/* A recorded number: off by itself where it is subnormal. */
void node_recall(number *y, const node_pass *p, const recorded *x);
const number *node_read(node_pass *p, source x, size_t j); /* NONE: 1 */
/* Is a recorded number within the bound of y, which is exact but for y->off? With more bits of it, where that is not told. */
answer node_judge(const record *r, const number *y, const recorded *x);
bool node_within(const number *y, const recorded *x); /* is it, as doubles tell? */
void node_round(node_pass *p, bound *off, size_t n, bound mass);
/* 1 over the root that an OVER_ROOT step has for row f; open where its statistic is below 0, for that cancels with epsilon. */
void node_root(node_pass *p, const step *st, size_t f, enclosure *root);

/* What is taken of the step's products (record_narrow). */
bound node_narrow(const node_pass *p, const step *st);
/* What multiplies the x of a LINEAR step's term, perhaps in room; *lost: a weight in it is subnormal. */
multiple node_factor(rational *room, bool *lost, const node_pass *p, const step *st, const factor *w);
/* The piece of a PIECEWISE step that x is on, at a kink the left one (NONE: it may be on several); the coefficients of a
 * piece. */
size_t node_piece(const step *st, const enclosure *x);
void node_coefficients(const rational *c[3], const step *st, const factor *w, size_t piece);
/* At least what its slopes are made of, where |x| has that size: the largest sum of a piece's |c1| + 2 |c2| |x|. */
bound node_steepest(const step *st, const factor *w, bound size);
/* Is it the pair of shares, exp(x) and 1, that a sigmoid or a tanh is made of? */
bool node_is_pair(const step *st);

/* ---- record_line.c: lines of SOFTMAX and NORMALIZE steps */

void line_compute(node_pass *p, size_t s);                                 /* y of the step */
void line_log_softmax(node_pass *p, number *y, const number *x, size_t n); /* y: of n numbers x */
void line_back(node_pass *p, size_t s, const number *h);                   /* hands gradients h of its output on */

/* ---- record_loss.c: cross entropy */

/* The loss's own gradient, of sample b, in the entries of v, which it reads. */
void loss_back(node_pass *p, const graph_value *v, size_t b, cotangent *const *to);
/* Is NAME the logarithm of a softmax that the loss begins with, one of the model's own nodes? What is said of its
 * recorded output and gradient. */
bool loss_is_log(const record *r, const char *name);
answer loss_log_output(record *r, const tensor *t);
answer loss_log_gradient(record *r, const tensor *t);

/* ---- record_node_back.c */

/* What gathers the gradient in x for sample first + j; NULL: it is not asked for. */
cotangent *node_target(node_pass *p, source x, size_t j);
/* One term more, which is x, off by so much, and made of numbers of that size. */
void node_hand(const node_pass *p, cotangent *to, const enclosure *x, bound off, bound mass);
/* What was gathered at a step, as numbers: what they are off by holds the rounding of their sums. */
number *node_settle(node_pass *p, size_t s);
/* Takes gradients h of the step's output, n for each feature, back through it; what is asked for is gathered in back[step], or in
 * of_weight. The size of a gradient with what it is off by is size_of(h). */
void node_back(node_pass *p, size_t s, const number *h);

#endif
