/* What a network consists of: values, parameters and steps, which operators lower to.
 *
 * Values are constants (initializers and Constant nodes, or rearrangements of them) or
 * activations. An activation is a matrix, features x samples: its per-sample shape in row-major
 * order along the rows, one column a sample. Steps, in topological order, each compute one
 * activation; an operator of a file lowers to one or more steps of the few kinds below, which are
 * all that evaluators need to know.
 *
 *   GATHER     y[f] = x[map[f]], or 0 where map[f] is CLARKE_NONE (padding)
 *   SUM        y[f] = sum over operands of coef * operand[map[f]], those with CLARKE_NONE left out
 *   SCALE      y[f] = x[map_x[f]] * c[map_c[f]], or divided by c, or by sqrt(c + epsilon)
 *   DENSE      y = W x over blocks of the feature axis (see clarke_dense)
 *   MAX        y[f] = max over i < width of x[map[f * width + i]], CLARKE_NONE being left out
 *   PIECEWISE  y[f] = p(x[f]), p continuous, its pieces polynomials of degree <= 2
 *   ANALYTIC   y[f] = sigmoid(x[f]), tanh(x[f]), ... (see clarke_function)
 *   SOFTMAX    softmax or log-softmax along one axis
 *   PRODUCT    y = a c of two activations, over blocks of the feature axis (see clarke_contraction)
 *   NORMALIZE  y[f] = (x[f] - mean) / sqrt(var + epsilon), mean and (biased) variance over the group
 *              of entries that f is in (see clarke_grouping)
 *
 * A parameter is a floating-point initializer the graph uses as a weight; `wrt` marks those that
 * the question is about. A statistic (the mean and variance that BatchNormalization uses in
 * inference) is a parameter in that a later checkpoint may replace it, but never in wrt. */
#ifndef CLARKE_OP_STEP_H
#define CLARKE_OP_STEP_H

#include "op/model.h"

#include <gmp.h>

#define CLARKE_NONE ((size_t)-1)
#define CLARKE_MAX_KINKS 2
#define CLARKE_MAX_WIDTH 4096 /* entries of a MAX window */
#define CLARKE_MAX_SORTED 126 /* entries that are sorted, or inputs of Max: one window each */

/* What an entry follows: a piece, a window's entry, a side (network/pass/forward.h, network/derive/slopes.h). */
typedef int16_t clarke_branch;

typedef struct {
  char *name;
  size_t rank, dims[CLARKE_MAX_RANK], count;
  double *real; /* row-major, exact: the initializer's own entries, shared with its value */
  size_t uses;  /* steps that read it */
  bool wrt;
  bool statistic;
  bool promoted; /* a Constant node has it, which is taken for a parameter */
  bool compared; /* a comparison was decided by its entries, which differ from the other side's: no checkpoint may change them */
} clarke_parameter;

/* Where the axis of all samples is among the axes that a file's tensor has, for an activation of a batched graph: it is the
 * axis; or, merged, entries (o, i) of that axis have it between o and i < inner. */
typedef struct {
  bool merged;
  size_t axis, inner;
  bool none; /* it is nowhere: what is computed of constants alone has the same entries for all samples */
} clarke_batch_axis;

/* What the numbers of an activation are: floats; truth values, 0 and 1; integers. */
typedef enum { CLARKE_HOLDS_FLOATS, CLARKE_HOLDS_TRUTHS, CLARKE_HOLDS_INTEGERS, CLARKE_HOLDS_FLOAT8 } clarke_holds;

typedef struct {
  char *name;
  bool constant;
  clarke_holds holds; /* of an activation that nodes make */
  double reach;       /* of integers: at least the size of any, whatever comes in; 0: not known */
  clarke_batch_axis batch;
  size_t rank, dims[CLARKE_MAX_RANK]; /* of a constant; of one sample of an activation, a merged axis among them */
  size_t count;
  size_t producer;   /* step, or CLARKE_NONE (constants, the input) */
  /* constants */
  double *real;      /* floats */
  clarke_dtype dtype; /* as the file has it */
  int64_t *integer;  /* integers; also of the input of a single run without a batch axis, when it holds such */
  size_t parameter;  /* CLARKE_NONE when it is none */
  size_t *origin;    /* entry i is the parameter's entry origin[i]; NULL: i */
  size_t made_of;    /* the constant before this one that it was rearranged from; CLARKE_NONE: it is nobody's rearrangement */
  bool negated;      /* stands for minus its entries (Neg of a constant): an operator that takes one negates what it makes */
  bool made;         /* of a constant: no tensor of the file's, but made by a node's operator */
  bool weight;       /* it is a Constant node's, and a step reads it, or what it was rearranged to, as a weight */
  bool initializer;  /* becomes a parameter when used as a weight */
  double *known;     /* of an activation of constants alone: its entries, exactly, where they are followed (op/decided.h) */
  bool printed;      /* a node of the file computes it, as its output of that name: of an activation there is a fingerprint */
  bool odd;          /* some entry is infinite or NaN: no step reads it */
  bool *excluded;    /* of an activation: entries that are minus infinity, whatever the parameters, which only a Softmax may
                      * read; NULL: none are */
  bool undefined;    /* these entries are NaN: a Softmax had nothing else there. Only a Where that does not choose them may read it */
  bool added;        /* some of the excluded are minus infinity by an Add: AD hands on to what was added to it what comes back there */
  bool within;       /* a graph within a node has it: no Constant of a branch, which may be named */
  bool bound;        /* of a Clip (or a Pad's value), read when the graph was built: never a
                      * parameter's */
} clarke_value;

typedef struct {
  size_t value;
  double coef;
  size_t *map; /* NULL: the identity. map[f] == CLARKE_NONE: 0 (of GATHER, SUM and MAX) */
} clarke_operand;

/* Which entry of the operand entry f of the step takes; CLARKE_NONE: none. */
static inline size_t
clarke_operand_entry(const clarke_operand *o, size_t f)
{
  return o->map != NULL ? o->map[f] : f;
}

/* So many entries of the step from f on, before `end`, take entries one after another, or none. */
static inline size_t
clarke_operand_run(const clarke_operand *o, size_t f, size_t end)
{
  size_t next = f + 1;

  if (o->map == NULL)
    return end - f;
  if (o->map[f] == CLARKE_NONE)
    while (next < end && o->map[next] == CLARKE_NONE)
      next++;
  else
    while (next < end && o->map[next] == o->map[f] + (next - f))
      next++;
  return next - f;
}

/* The feature axis of x is (blocks, inner, repeat), that of y (blocks, outer, repeat), and
 * y[b,:,r] = W x[b,:,r] with W = the weight (outer x inner), or its transpose when it is stored
 * inner x outer. When grouped (a convolution with groups) there are `blocks` such weights one after
 * another, never transposed, and W is block b's. */
typedef struct {
  size_t weight;
  bool transposed, grouped;
  size_t blocks, inner, outer, repeat;
} clarke_dense;

/* in[0], through its map, is laid out as (blocks, rows, inner), in[1] as (blocks, inner, cols), y as (blocks, rows, cols):
 * y[b,i,j] is the sum over k of in[0][b,i,k] in[1][b,k,j]. */
typedef struct {
  size_t blocks, rows, inner, cols;
} clarke_contraction;

/* The feature axis is (blocks, groups, length): the entries [., g, .] of one sample are group g. With
 * `couples` it holds those of all samples: then no sample's activations can be told without the
 * others'. */
typedef struct {
  size_t blocks, groups, length;
  bool couples;
} clarke_grouping;

/* Pieces p = 0..n_kinks; piece p lives on [kink[p-1], kink[p]] and is
 * coef[p][0] + coef[p][1] x + coef[p][2] x^2. With slope != CLARKE_NONE (PRelu) piece 0 is
 * slope[slope_map[f]] x instead. */
typedef struct {
  size_t n_kinks;
  size_t first_kink; /* the operator's number of kink[0]: 1 for a Clip without a lower bound */
  mpq_t kink[CLARKE_MAX_KINKS];
  mpq_t coef[CLARKE_MAX_KINKS + 1][3];
  size_t slope;
  size_t *slope_map;
} clarke_pieces;

typedef enum {
  CLARKE_GATHER, CLARKE_SUM, CLARKE_SCALE, CLARKE_DENSE,
  CLARKE_PIECEWISE, CLARKE_ANALYTIC, CLARKE_SOFTMAX, CLARKE_NORMALIZE, CLARKE_MAX,
  CLARKE_PRODUCT,
} clarke_step_kind;

/* A pass has a table by kind: what it does at a step. */
#define CLARKE_STEP_KINDS (CLARKE_PRODUCT + 1)

/* NORMAL: (1 + erf(x / sqrt(2))) / 2. NORMAL_TANH: sigmoid(sqrt(8 / pi) (x + 0.044715 x^3)), which is near it. ELU: x, or exp(x) - 1
 * below 0, whose slopes agree at 0. Those from RECIPROCAL on have a domain, and are smooth inside of it: x is not 0 (RECIPROCAL:
 * 1 / x), x is above 0 (SQRT, LOG), x is where it does not jump (the others, which are constant there). ABOVE: 1 above 0, else 0; jumps
 * at 0. FLOOR, ROUND (halves to the even one), TRUNCATE (towards 0): a whole number; jump at whole numbers, at halves, at whole
 * numbers but 0. The arguments of TRUNCATE are below 2^31 in size. HELD: x as a constant, which jumps nowhere (op/surrogate.h). */
typedef enum {
  CLARKE_SIGMOID, CLARKE_TANH, CLARKE_EXP, CLARKE_ERF, CLARKE_SOFTPLUS, CLARKE_NORMAL, CLARKE_NORMAL_TANH,
  CLARKE_ELU, CLARKE_SIN, CLARKE_COS, CLARKE_ATAN, CLARKE_RECIPROCAL, CLARKE_SQRT, CLARKE_LOG, CLARKE_ABOVE, CLARKE_FLOOR, CLARKE_ROUND,
  CLARKE_TRUNCATE, CLARKE_HELD,
} clarke_function;

#define CLARKE_N_FUNCTIONS (CLARKE_HELD + 1)

typedef struct clarke_op clarke_op;

typedef struct {
  clarke_step_kind kind;
  const clarke_op *op; /* the operator it comes from */
  size_t node;         /* its place in the file */
  char *name;          /* the node's name, or OP_PLACE when it has none */
  size_t out;
  size_t n_in;
  clarke_operand *in;  /* SUM: all; SCALE: x, c; the others: x */
  bool divide, root;   /* SCALE: by c; by sqrt(c + epsilon), c never in wrt, c + epsilon > 0 */
  mpq_t epsilon;       /* SCALE with root; NORMALIZE, above 0; else not initialized */
  size_t width;        /* MAX: at most CLARKE_MAX_WIDTH; each window has an entry */
  clarke_dense dense;
  clarke_pieces pieces;
  clarke_function function;
  bool still;                        /* ANALYTIC that jumps: nothing in wrt moves its argument, which may be where it jumps */
  bool log;                          /* SOFTMAX */
  size_t groups, length, stride;     /* SOFTMAX: the feature axis is (groups, length, stride) */
  clarke_grouping grouping;          /* NORMALIZE */
  clarke_contraction contraction;    /* PRODUCT */
} clarke_step;

typedef struct {
  char *file;
  char *declared; /* the output's shape as the file declares it and as it is, where these differ: what nodes compute counts; else NULL */
  bool batched; /* the file's tensors carry the batch as their first axis */
  size_t samples;
  size_t together; /* samples in one run of the file's graph, the length of that axis: all; or 1, where the
                    * input declares 1 (or no such axis) and each sample is a run of its own */
  size_t activations; /* entries of all activations, samples counted, and of long index maps */
  size_t n_values, n_steps, n_parameters;
  clarke_value *values;
  clarke_step *steps;
  clarke_parameter *parameters; /* in the file's order of initializers */
  size_t input, output;         /* values */
  bool bared;                   /* the output's first axis, of one entry, was taken off: losses speak of a sample's */
  clarke_surrogates surrogates; /* that it was built with */
  bool decided;                 /* a comparison of initializers was decided when the graph was built: near them it is the same */
  size_t capacity_values, capacity_steps;
  struct clarke_kept *kept; /* what passes make once: polynomials of functions. NULL in a graph that is made by hand */
} clarke_graph;

bool clarke_pieces_are_valid(const clarke_pieces *p); /* kinks ascend; canonical rationals */

/* The first entry of a SCALE's constant by which nothing can be divided: 0, or, with root, one whose
 * sum with epsilon is not above 0. CLARKE_NONE when there is none. */
size_t clarke_step_bad_divisor(const clarke_graph *g, const clarke_step *s);

/* PIECEWISE or MAX? */
bool clarke_step_has_kinks(const clarke_step *s);

/* A PIECEWISE step that is the constant 0 left of its first kink, as Relu and Clip from 0 on are? */
bool clarke_step_begins_with_zero(const clarke_step *s);

/* ANALYTIC, SOFTMAX or NORMALIZE: smooth, but no polynomial? */
bool clarke_step_is_analytic(const clarke_step *s);

/* Has the step's function a domain? Does it jump at the border, and is a constant inside? */
bool clarke_step_has_domain(const clarke_step *s);
bool clarke_step_jumps(const clarke_step *s);

/* Does a layer's own part of the network end there: has the step kinks, or is it not linear in activations? */
bool clarke_step_ends_layer(const clarke_step *s);

/* Which entry of operand 0 or 1 is the factor k of a PRODUCT step's entry f. */
size_t clarke_step_factor(const clarke_step *s, size_t operand, size_t f, size_t k);

/* A NORMALIZE step's group of feature f; how many entries a group has in a pass over n samples. */
size_t clarke_step_group(const clarke_step *s, size_t f);
size_t clarke_step_group_size(const clarke_step *s, size_t n);

/* The slope of a piece at x; PRelu's is not among the coefficients. */
void clarke_pieces_slope(mpq_t slope, const clarke_pieces *p, size_t piece, const mpq_t x);

#endif
