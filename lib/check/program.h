/* Programs: what is made of their text. */
#ifndef CLARKE_KERNEL_PROGRAM_H
#define CLARKE_KERNEL_PROGRAM_H

#include "bytes.h"
#include "value.h"

/* What an instruction does. SUM: coefficients c; CONSTANT, INPUT: c[0]; ANALYTIC: of that name. */
typedef enum {
  AN_INPUT,
  A_CONSTANT,
  A_SUM,
  A_PRODUCT,
  A_QUOTIENT,
  AN_ANALYTIC,
  A_POINTWISE,
  AN_ORDER,
  A_BRANCH,
  A_NORM
} deed;
/* The value at a kink, or beta of a tie, and which side or entry. */
typedef struct {
  bool given;
  enum { VALUE, LEFT, RIGHT, FIRST, LAST, STABLE, UNKNOWN } kind;
  rational value;
} proxy;
/* Between kinks polynomials, as of a step; ELU: on the left piece[0][1] (exp(x) - 1). */
typedef struct {
  bool elu;
  size_t n_kinks, first; /* first: the number of the first one among its operator's kinks */
  rational at[2], piece[3][3];
} pieces;
typedef struct {
  deed kind;
  size_t n, *in, line;
  rational *c;
  const char *name; /* ANALYTIC: the function; POINTWISE, ORDER: the operator */
  pieces *pieces;
  size_t rank, entry;   /* ORDER: 1 is the largest; INPUT: its place in wrt, or NONE */
  const char *relation; /* BRANCH */
  proxy proxy;
} instruction;
typedef struct {
  char *name;
  size_t first, n;
  bool vector;
} program_input;
typedef struct {
  size_t n, n_inputs, n_outputs, *outputs;
  instruction *instructions;
  program_input *inputs;
} program;
typedef struct {
  const char *name;
  size_t n_kinks;
  bool used;
  proxy proxy[2];
} kinked;
/* Operators with kinks, sorted by name, those of order (no kinks) too; NULL past the end. */
const kinked *kink_operator(size_t i);
void kink_use(const char *name);                    /* an instruction takes its proxies from that operator's lines */
void kink_take(size_t i, size_t k, const proxy *p); /* the proxy at its kink k */

void program_read(program *p, bytes text);
bool relation_holds(const char *relation, int sign);
#define BOTH_ARMS 2 /* of a branch: beside 1, the first, and -1 */

void limit_size(const rational *q); /* fails beyond that */

#endif
