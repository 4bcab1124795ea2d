/* The network as steps: what a reader makes of files, and all else reads. */
#ifndef CLARKE_KERNEL_STEPS_H
#define CLARKE_KERNEL_STEPS_H

#include "check/base/name_index.h"
#include "check/kernel/tensor.h"

/* A factor, coef * weight: weight is entry `at` of w, or 1 when w is NULL. A source, x: feature `from`
 * of an earlier step's output; 1 when step is NONE; nothing, the whole term being left out, when
 * it is PADDING. A term is their product. */
typedef struct {
  const rational *coef;
  tensor *w;
  size_t at;
} factor;
typedef struct {
  size_t step, from;
} source;
typedef struct {
  factor by;
  source x;
} term;
#define PADDING (NONE - 1)

/* What a step computes, for each sample, feature f from its terms: term i < width has factor i of row
 * factor_row[f] and source i of row source_row[f]. The filters of a convolution are rows of
 * factors, the places where it is applied rows of sources.
 *   INPUT
 *   LINEAR     the sum of width terms; with `divide` by their weights
 *   PIECEWISE  piece[p][0] + piece[p][1] x + piece[p][2] x^2 on piece p, between at[p-1] and at[p],
 *              x being the term's; when it has a weight, that times x on piece 0
 *   SOFTMAX    of the lines of `length` features, `stride` apart; or its logarithm
 *   OVER_ROOT  the term's x divided by the square root of its weight + at[0]
 *   WINDOW     the largest x of width terms
 *   FUNCTION   such a function of the term's x
 *   PRODUCT    the sum of products of two x, those of terms 2 i and 2 i + 1
 *   NORMALIZE  in such a line, which has all samples' if it `couples` (stride is then 1): the term's x less their mean,
 *              divided by the root of their variance + at[0] */
typedef enum { INPUT, LINEAR, PIECEWISE, SOFTMAX, OVER_ROOT, WINDOW, NORMALIZE, PRODUCT, FUNCTION } kind;

/* Functions without kinks.
 * NORMAL: (1 + erf(x / sqrt(2))) / 2. NORMAL_TANH: sigmoid(sqrt(8 / pi) (x + 0.044715 x^3)). ELU: x, or exp(x) - 1
 * below 0. From RECIPROCAL on they are smooth in a domain: RECIPROCAL away from 0, ROOT and LOG above 0. The others jump, and are
 * constant elsewhere, which is their domain: ABOVE, 1 above 0 and else 0; FLOOR; ROUND to the nearest whole number, of two the even one;
 * TRUNCATE, towards 0, of numbers below 2^31 in size. HELD is x, as a constant: it jumps nowhere. */
typedef enum {
  F_EXP,
  F_ERF,
  F_SOFTPLUS,
  F_NORMAL,
  F_NORMAL_TANH,
  F_ELU,
  F_SIN,
  F_COS,
  F_ATAN,
  F_RECIPROCAL,
  F_ROOT,
  F_LOG,
  F_ABOVE,
  F_FLOOR,
  F_ROUND,
  F_TRUNCATE,
  F_HELD
} function;

/* Is x to be not 0, above 0, or off its jumps? */
static inline bool
function_has_domain(function f)
{
  return f >= F_RECIPROCAL;
}

/* Is it constant off its jumps? */
static inline bool
function_jumps(function f)
{
  return f >= F_ABOVE;
}

typedef struct {
  kind kind;
  const struct node *node; /* what it was made of; NULL: the input */
  const char *op, *name;   /* of the node: its operator, and what it is called */
  const char *outer;       /* of a node within another one: that one's operator; else op */
  size_t place;            /* of the node */
  size_t turn;             /* of an RNN's Relu: its time from 1, all directions; else 0 */
  size_t n, width;         /* features; terms for each */
  size_t n_factors, n_sources, *factor_row, *source_row; /* how many of all rows; of each feature */
  factor *factors;
  source *sources;
  bool divide, log, copy, varies, couples; /* copy: of entries and zeros; varies: with the parameters in wrt */
  bool still;                              /* nothing that varies is read */
  bool turned;                             /* each feature is an entry, or minus one */
  bool asked;                              /* does a kink, a window or a domain depend on it? */
  /* alike: all rows of factors have their parameters in wrt at the same places; uniform: all rows are one; telling: of each
   * place, have different rows surely different factors there? */
  bool alike, uniform, *telling;
  size_t length, stride;     /* of lines, or 0 */
  const tensor *given;       /* INPUT: the batch's array that it reads, in place of x: a mask; else NULL */
  function of;               /* FUNCTION */
  size_t n_kinks, number[2]; /* number: of the kink in docs/operators.md */
  rational at[2], piece[3][3];
  interval *root;         /* of OVER_ROOT: what multiplies x, for each entry of the weight's tensor */
  size_t n_reads, *reads; /* what it reads: each step once, NONE too */
  /* For near values (near_step.c): its factors in units of 2^-shift, as integers or, where they fit, as machine words. */
  integer *m, norm, slack;
  int64_t *words;
  unsigned long shift;
} step;

/* What the numbers of an activation stand for. */
typedef enum { HOLDS_FLOATS, HOLDS_TRUTHS, HOLDS_INTEGERS, HOLDS_FLOAT8 } held_kind;

/* Entry i: entry map[i] of a constant, or minus it, or feature map[i] of a step's output. */
typedef struct {
  const char *name; /* NULL: omitted */
  bool negated;     /* of a constant */
  tensor *constant;
  size_t step, *map, rank, dims[MAX_RANK], count;
  size_t at, inner; /* of the batch; inner is 0 where it is an axis of its own */
  rational *known;  /* of an activation of constants alone: its entries, where they are followed; NULL */
  bool *excluded; /* of an activation: entries that are minus infinity, which only a Softmax may read; NULL: none are */
  bool shared;    /* of an activation of constants alone: it has no batch axis, all samples have the same entries */
  held_kind holds; /* of an activation that nodes make */
  bool undefined;  /* what is excluded is NaN: a Softmax of nothing else; a Where may choose others */
  bool added;      /* some of it is minus infinity by an Add, through which AD hands back what comes there */
  size_t reach;    /* of integers: at least the size of any, whatever comes in; 0: not known */
} graph_value;

typedef enum { LOSS_SUM, LOSS_MSE, LOSS_CE, LOSS_NONE } loss_kind;

/* The nodes from `from` on are the loss, of the value `of`; y: the input that it takes, or NULL; ignored: the label whose samples
 * are no part of the mean, or NULL. Of LOSS_NONE the network has all nodes, and `of` is the model's output. */
typedef struct {
  loss_kind kind;
  size_t from;
  const char *of;
  const port *y;
  const tensor *ignored;
} tail;

/* Where what is computed is more, or less, than ONNX and the stored numbers say. */
typedef enum { SIXTH, DEFAULTS, UNBOUNDED, MINIBATCH, APART, ROUNDED, STORED, DECIDED, COMPUTED, N_READINGS } reading;

/* What smooth steps do (smooth.h). */
struct smooth_rules;
struct point;

/* An operator whose kinks have slopes of AD's: how many kinks. */
typedef struct {
  const char *name;
  size_t kinks;
} kinked_operator;

typedef struct {
  const kinked_operator *operators; /* all that there are, sorted by name */
  size_t n_operators;
  const struct smooth_rules *smooth; /* for the smooth steps that it has, and cross entropy */
  /* Fills the point's places, by what is near them (near.h). NULL: exact values do. */
  void (*near)(struct point *p);
  /* Fills what it can of them before; open[b] becomes false of samples of which it filled all. NULL: nothing does. */
  void (*rough)(struct point *p, bool *open);
  bool read[N_READINGS];
  bool replaced; /* some operator has a surrogate */
  const port *input;
  tail own;       /* the model's own loss */
  size_t n_given; /* inputs beside that one: constants that the batch has by name */
  size_t n_masks; /* of Dropout nodes, which the batch has by their outputs' names */
  bool batched;   /* the model's tensors carry the batch as their first axis */
  /* together: samples in one run of the model, the length of that axis: batch; or 1, where the input declares 1 (or no
   * such axis) and each sample is a run of its own. */
  size_t batch, together, n_steps, n_tensors;
  size_t entries, products; /* what it has of LIMIT_ENTRIES, LIMIT_PRODUCTS */
  size_t apart; /* of entries [feature * batch + sample] that depend on each other, and are computed together:
                   batch, those of a sample; or 1, all, if a step couples the samples */
  step *steps;
  tensor **tensors; /* the model's */
  size_t n_values;
  graph_value *values;     /* initializers, inputs, then each node's in turn */
  name_index named;        /* the values' names */
  unsigned long near_bits; /* a unit of near values is 2^-near_bits */
  size_t n_wrt;            /* the parameters in wrt, end to end */
  rational *move, *gradient;
  size_t output, n_outputs, *map; /* a step; its feature for each of the output's */
  size_t rank, dims[MAX_RANK];    /* of the output for a batch of one */
} network;

const graph_value *network_value(const network *net, const char *name); /* or NULL */
bool network_has(const network *net, const char *op);                   /* a step with kinks of the operator */
const char *step_operator(const step *st); /* whose kinks the step has: its node's, but Relu's in an RNN */
/* The name that profiles have for an operator of the model: of Max and Min, which are others in programs, Maximum and Minimum. */
const char *network_rule(const char *op);
const char *function_name(function f); /* as messages, operators and tapes have it */

#endif
