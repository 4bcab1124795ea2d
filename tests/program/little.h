/* Little programs of piecewise-linear functions and products, and the definitions about them, in
 * the plainest way: nothing here is shared with the library. A program is evaluated along an arc
 * w + t d_1 + t^2 d_2 + ..., t > 0 as small as need be: numbers are polynomials in t (where there
 * are products, cut off after t^LITTLE_STEPS), compared by their first coefficient that differs,
 * each with the limit of its gradients there. */
#ifndef CLARKE_TESTS_PROGRAM_LITTLE_H
#define CLARKE_TESTS_PROGRAM_LITTLE_H

#include <stdbool.h>
#include <stdint.h>

#define LITTLE_INPUTS 4
#define LITTLE_OUTPUTS 2
#define LITTLE_ENTRIES (LITTLE_INPUTS * LITTLE_OUTPUTS)
#define LITTLE_ARGUMENTS 5
#define LITTLE_NODES 48
#define LITTLE_STEPS 8
#define LITTLE_CORNERS 2048

/* A rational: d > 0, lowest terms. */
typedef struct {
  int64_t n, d;
} frac;

frac fraction(int64_t n, int64_t d);
frac frac_add(frac a, frac b);
frac frac_sub(frac a, frac b);
frac frac_mul(frac a, frac b);
int frac_compare(frac a, frac b);
bool frac_equal(frac a, frac b);

typedef enum {
  LITTLE_INPUT, LITTLE_LINEAR, LITTLE_PRODUCT, LITTLE_POINT, LITTLE_ORDER, LITTLE_IF,
} little_kind;
typedef enum { LITTLE_LT, LITTLE_LE, LITTLE_GT, LITTLE_GE, LITTLE_EQ, LITTLE_NE } little_relation;
typedef enum { LITTLE_FIRST, LITTLE_LAST, LITTLE_STABLE } little_tie;

/* A continuous piecewise-linear function of one number, with what AD returns at its kinks. */
typedef struct {
  const char *name;
  int n_given;
  long given[2][2]; /* its constants in a program, numerator and denominator */
  int n_kinks;
  frac kink[2], slope[3], at_first; /* its value at the first kink */
  frac proxy[2];
} little_function;

typedef struct {
  little_kind kind;
  int n_in, in[LITTLE_ARGUMENTS];
  frac coef[LITTLE_ARGUMENTS + 1]; /* LINEAR: the constant is last */
  little_function f;               /* POINT */
  int rank;                        /* ORDER: the rank-th largest, from 1 */
  little_tie tie;
  frac beta;
  const char *order;               /* the operator's name */
  bool given;                      /* POINT, ORDER: the proxies are its own */
  little_relation relation;        /* IF in[0] relation in[1] then in[2] else in[3] */
} little_node;

typedef struct {
  int n_inputs, wrt, n_wrt; /* derivatives are taken in n_wrt inputs, from input wrt on */
  bool curved;              /* there are products */
  int n, n_outputs, output[LITTLE_OUTPUTS];
  little_node node[LITTLE_NODES]; /* the inputs are the first ones */
} little;

/* What an execution finds: outputs as polynomials in t, their gradients in wrt, row by row. */
typedef struct {
  frac value[LITTLE_OUTPUTS][LITTLE_STEPS + 1];
  frac gradient[LITTLE_ENTRIES];
  bool generic;  /* no kink is met but by arguments that are seen to be constant around */
  bool overflow; /* some number did not fit: nothing above holds */
  int touched;
} little_result;

/* Along the arc with these steps, of the inputs in wrt (none: at w alone). */
void little_along(little_result *r, const little *p, const int *w, int n_steps,
                  frac (*step)[LITTLE_INPUTS]);
/* AD at w. */
void little_ad(little_result *r, const little *p, const int *w);
/* AD's outputs for every choice of an end of each elementary Clarke set that is met; their number,
 * or -1 when there are more than LITTLE_CORNERS or a number did not fit. *even: the arms of each
 * branch that parts at w have one value there. */
int little_corners(frac (*corner)[LITTLE_ENTRIES], bool *even, const little *p, const int *w);
frac little_value(const little *p, int node, const int *w);

#endif
