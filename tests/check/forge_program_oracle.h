/* Small random programs and what is true of them at a point, by an evaluator of the forger's own: in floating point of
 * 64 bits, from points near and from the derivatives of the pieces met there. It says what it knows for certain, but for
 * accidents of rounding that its margins rule out, and else that it does not know. */
#ifndef CLARKE_TESTS_CHECK_FORGE_PROGRAM_ORACLE_H
#define CLARKE_TESTS_CHECK_FORGE_PROGRAM_ORACLE_H

#include "../draw.h"

#include <stdbool.h>
#include <stdint.h>

#define FORGE_NODES 32
#define FORGE_WRT 2
#define FORGE_LIMITS 64

typedef enum {
  FORGE_INPUT, FORGE_NUMBER, FORGE_SUM, FORGE_PRODUCT, FORGE_QUOTIENT, FORGE_ANALYTIC, FORGE_RELU, FORGE_ABS, FORGE_MAX,
  FORGE_MIN, FORGE_IF, FORGE_NORM
} forge_kind;

typedef struct {
  forge_kind kind;
  int n_in, in[4];
  double c[3];       /* SUM: of the arguments, then the constant; NUMBER: c[0] */
  int function;      /* ANALYTIC: an index of exp, log, sqrt, sin, cos; IF: of the relations */
  double proxy;      /* RELU, ABS: at 0; MAX, MIN: beta */
  bool straight;     /* piecewise linear by the way it is made */
  bool round;        /* or made of such and of norms: near w, but for smooth parts, homogeneous */
} forge_node;

typedef struct {
  int n, n_wrt;
  double w[FORGE_WRT];
  forge_node node[FORGE_NODES]; /* the inputs first, the output last */
} forge_program;

typedef enum { FORGE_FALSE, FORGE_TRUE, FORGE_UNKNOWN } forge_answer;

typedef struct {
  bool usable;             /* AD's output is known, and finite */
  int touched;
  long double ad[FORGE_WRT];
  bool torn;               /* not Lipschitz near the point, or not defined there: nothing is true of it */
  bool whole;              /* the limits are all there are */
  bool far;                /* AD's output is far from the hull of all limits, though these are not all known */
  int n_limits;            /* gradients that are limits of gradients near, and a direction for each */
  long double limit[FORGE_LIMITS][FORGE_WRT], direction[FORGE_LIMITS][FORGE_WRT];
  forge_answer bouligand, clarke;
} forge_truth;

void forge_program_draw(forge_program *p, uint64_t *state);
/* The program's text. */
void forge_program_write(char *text, int size, const forge_program *p);
void forge_program_judge(forge_truth *t, const forge_program *p, uint64_t *state);

#endif
