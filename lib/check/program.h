/* Programs in the checker: what program.c makes of the text, and the functions of intervals and power
 * series that program_series.c has. program_proof.c follows the program and checks the evidence. */
#ifndef CLARKE_KERNEL_PROGRAM_H
#define CLARKE_KERNEL_PROGRAM_H

#include "bytes.h"
#include "value.h"

/* ---- program.c: a program as instructions */

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
  size_t n_kinks;
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
/* Operators with kinks, sorted by name, those of order (no kinks) too; NULL at the end. */
typedef struct {
  const char *name;
  size_t n_kinks;
  bool used;
  proxy proxy[2];
} kinked;
extern kinked kink_table[];

void program_read(program *p, bytes text);
bool relation_holds(const char *relation, int sign);

void limit_size(const rational *q); /* fails beyond that */

/* ---- program_lipschitz.c */

/* Of an instruction that may be executed near the point: its value there; of a branch, the arm that is taken near the
 * point: 1 then, -1 else, or BOTH_ARMS. value: NULL, it is not executed. */
#define BOTH_ARMS 2
typedef struct {
  const interval *value;
  int8_t arm;
} near_value;
/* All values are well inside the domains of what is applied to them: fails if a branch may yet jump. */
void check_lipschitz(const program *p, const near_value *values);

/* ---- program_series.c */

/* y = f(u), n terms; w = f'(u), or NULL where u is constant. */
void series_analytic(interval *y, interval *w, const char *f, const interval *u, size_t n);
void series_mul(interval *y, const interval *a, const interval *b, size_t n); /* y is neither */
void series_div(interval *y, const interval *a, const interval *b, size_t n); /* y is neither */

#endif
