/* A program's instructions, each applied to earlier ones: how one is added, and the functions that make them. */
#ifndef CLARKE_KERNEL_INSTRUCTION_H
#define CLARKE_KERNEL_INSTRUCTION_H

#include "check/base/value.h"
#include "check/program/program_text.h"

/* What an instruction does. SUM: coefficients c; CONSTANT: c[0]; INPUT: c[0], and c[1] what its variable is multiplied by (forms.h);
 * ANALYTIC: of that name. */
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
} operation;
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
  operation kind;
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
  const char *name;
  size_t n_kinks;
  bool used, first_alone; /* first_alone: of a sort by comparisons, whose derivative no other rule for ties makes */
  proxy proxy[2];
} kinked;
/* What has values that are no rationals: handed down from the top, as most programs have none of it. */
struct walk;
typedef struct {
  /* series_analytic of program_series.h, and follow_norm of program_norm.h. */
  void (*series)(interval *y, interval *w, const char *f, const interval *u, size_t n);
  bool (*norm)(struct walk *w, size_t at, uint8_t top);
} smooth_functions;
/* What is known of an instruction that may be executed near the point: its value there (NULL: it is not executed), and
 * whether it is constant near it. A branch has the arm that is taken near the point: 1 then, -1 else, or BOTH_ARMS;
 * POINTWISE the piece that it is on there, ORDER the instruction that it is, or NONE. */
typedef struct {
  const interval *value;
  bool constant;
  int8_t arm;
  size_t part;
} near_value;
#define N_KINKED 24
typedef struct program {
  const smooth_functions *smooth;
  /* check_lipschitz of program_lipschitz.h, handed down likewise: it is asked of programs with branches, or roots. */
  void (*lipschitz)(const struct program *p, const near_value *values);
  size_t n, n_inputs, n_outputs, *outputs;
  instruction *instructions;
  program_input *inputs;
  kinked kinks[N_KINKED]; /* what instructions take their proxies from */
} program;
void kinks_begin(program *p); /* of an empty program: before anything is added */
/* Operators with kinks, sorted by name, those of order (no kinks) too; NULL past the end. */
const kinked *kink_operator(const program *p, size_t i);
void kink_use(program *p, const char *name); /* an instruction takes its proxies from that operator's lines */
void kink_take(program *p, size_t i, size_t k, const proxy *how); /* the proxy at its kink k */

rational *input_numbers(void); /* an INPUT's c: 0 and 1 */

#define BOTH_ARMS 2 /* of a branch: beside 1, the first, and -1 */

void limit_size(const rational *q); /* fails beyond that */

/* What an expression stands for: a scalar, or a vector: the instructions of its entries. */
typedef struct operand {
  size_t n, *at;
  bool vector;
} operand;

size_t add_instruction(reader *r, instruction i);      /* its number */
void count_entries(reader *r, size_t n);               /* fails where vectors have more entries together than may be */
operand operand_new(reader *r, size_t n, bool vector); /* of n entries, which are not set */

/* One instruction for each entry of the operands; scalars stand for as many copies. */
operand operand_apply(reader *r, instruction i, size_t n, const operand *v);
operand operand_constant(reader *r, const rational *q);
const rational *operand_number(reader *r, operand v); /* a literal, or arithmetic on them; NULL when v is none */
/* v0 + v1, v0 - v1 (- v1 when v0 has no entries), v0 v1, v0 / v1. */
operand operand_arithmetic(reader *r, char symbol, const operand *v);
operand operand_sum(reader *r, operand v); /* the sum of the entries */

/* The language's functions. Of the pointwise: a call gives `least` to `most` numbers after its argument. */
typedef struct {
  const char *name, *operator;
  operation kind;
  size_t least, most;
  const char *preset[2], *pieces;
} callable;
const callable *find_function(const char *name); /* NULL: none has the name */
/* A pointwise function of x, entry by entry, with the numbers that the call gives. */
operand operand_pointwise(reader *r, const callable *f, proxy how, operand x, operand *arguments, size_t n);
/* The k-th largest of the entries, for one k or, ascending, for all. */
operand operand_order(reader *r, const callable *f, proxy how, operand v, size_t k);

#endif
