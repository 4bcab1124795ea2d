/* The forger's oracle: a network on its minibatch as a formula of scalars, AD's output, and the gradients that occur near
 * the weights. Every pattern of sides is walked with Taylor polynomials of all arguments. A pattern is left out
 * when a positive combination of what it asks to be positive, and of squares, is identically zero; it is known to
 * occur when an arc w + d1 e + d2 e^2 + d3 e^3 has it for all small e > 0. Between the two nothing is said. */
#ifndef CLARKE_TESTS_CHECK_FORGE_NETWORK_ORACLE_H
#define CLARKE_TESTS_CHECK_FORGE_NETWORK_ORACLE_H

#include "forge_network_series.h"

#define NOWHERE ((size_t)-1)

enum { MOST_WEIGHTS = 96, OPERATORS = 7, POOLS = 7, MOST_CONDITIONS = 64, MOST_LEAVES = 128 };

typedef enum { ABS, CLIP, HARDSIGMOID, HARDSWISH, LEAKYRELU, PRELU, RELU } pointwise;
typedef enum { GLOBALMAXPOOL, MAXPOOL, MAXIMUM, MINIMUM, REDUCEMAX, REDUCEMIN, TOPK } pool;
typedef enum { LOSS_SUM, LOSS_MSE, LOSS_CE } loss_kind;

extern const char *const operator_name[OPERATORS], *const pool_name[POOLS], *const pool_node[POOLS], *const loss_name[3];
extern const size_t operator_kinks[OPERATORS];

/* --- statements: all that a proof's first lines say, but for the verdict */

typedef struct {
  enum { PROXY_NUMBER, PROXY_LEFT, PROXY_RIGHT } kind;
  small number;
} proxy;

typedef struct {
  enum { TIE_FIRST, TIE_LAST, TIE_MEAN, TIE_HYBRID } rule;
  small share;
} tie;

typedef struct {
  double weight[MOST_WEIGHTS];   /* of all tensors, end to end */
  size_t variable[MOST_WEIGHTS]; /* its number, in wrt; or NOWHERE */
  size_t n_variables;
  proxy proxy[OPERATORS][2];
  tie tie[POOLS];
  loss_kind loss;
} claim;

/* --- formulas */

typedef struct {
  size_t n_kinks, first; /* the number of the first */
  small kink[2], coef[3][3];
} bends;

typedef enum {
  DO_NUMBER, DO_WEIGHT, DO_LINEAR, DO_PRODUCT, DO_PIECES, DO_LARGEST, DO_EXP, DO_LOG, DO_INVERSE, DO_ROOT,
} action;

/* LINEAR: the sum of coef[i] in[i], plus number. PIECES: with a slope that times in[0] on the first piece. */
typedef struct {
  action what;
  size_t n, *in;
  small *coef, number;
  double real;       /* NUMBER: added to number */
  size_t weight;     /* WEIGHT */
  bends pieces;
  size_t slope;      /* an instruction, or NOWHERE */
  size_t operator;   /* pointwise or pool */
  size_t node, round, feature, sample; /* round: of a node that has windows of several steps, which */
  size_t *from;      /* LARGEST: the operand's features */
} instruction;

typedef struct {
  size_t n, room;
  instruction *at;
  size_t loss[3]; /* instructions; NOWHERE when the targets are of another */
} formula;

size_t formula_put(formula *f, instruction i, size_t n, const size_t *in);
void formula_clear(formula *f);

/* All values with their gradients, in y. Of an instruction that is at a kink or tied, side[i] < 0 means left, > 0 right,
 * or the entry taken, less one; 0, or side == NULL: AD's proxies and rules. False when
 * an exponential is too steep for series: nothing is said then. */
bool formula_follow(const series **y, const formula *f, const claim *c, const int *side);
/* Of an instruction whose value is in y: the kink it is at, or NOWHERE. */
size_t kink_at(const formula *f, size_t i, const series *const *y);
/* Its slope on a side (0 left) of its kink j, at the kink. */
void side_slope(mpq_t slope, const formula *f, size_t i, size_t j, bool right, const series *const *y);
/* The entries equal to the largest, marked; how many. */
size_t tied_entries(bool *tied, const formula *f, size_t i, const series *const *y);

/* --- what is true */

typedef struct {
  mpq_t *gradient;
  bool occurs;
} leaf;

typedef struct {
  bool known; /* all were walked, nothing being doubtful */
  bool rounded;
  size_t dim, n;
  leaf leaf[MOST_LEAVES]; /* gradients differ */
  size_t patterns;        /* before those of one gradient were joined */
} gradients;

void gradients_find(gradients *g, const formula *f, const claim *c);
void gradients_clear(gradients *g);

typedef enum { NO, YES, UNKNOWN } answer;

answer is_bouligand(const gradients *g, mpq_t *ad, bool rounded);
answer is_clarke(const gradients *g, mpq_t *ad, bool rounded);

bool same_vector(mpq_t *a, mpq_t *b, size_t n, bool rounded);
/* The linear coefficients. */
void gradient_of(mpq_t *g, const series *y, size_t dim);

#endif
