/* A program, the papers' own object (Bolte and Pauwels, section 4; thesis, 2.3): inputs, a memory
 * of instructions each of which applies one elementary function to earlier entries, outputs. A
 * network's graph, whose steps work on whole layers, unrolls to one (program/unroll/unroll.h).
 *
 * Instructions are executed on demand: an output asks for what it needs, a branch for its two
 * comparands and then for the arm it takes. What is not asked for is not executed, and touches
 * nothing. "Demand order" below is the order in which that evaluates: depth first, arguments
 * from the first to the last, each instruction once. */
#ifndef CLARKE_PROGRAM_CODE_H
#define CLARKE_PROGRAM_CODE_H

#include "base/limit.h"
#include "exact/number.h"
#include "op/profile.h"

typedef enum {
  CLARKE_DO_INPUT,     /* an entry of an input */
  CLARKE_DO_CONSTANT,  /* coef[0] */
  CLARKE_DO_LINEAR,    /* coef[0] in[0] + ... + coef[n_in - 1] in[n_in - 1] + coef[n_in] */
  CLARKE_DO_PRODUCT,   /* in[0] in[1] */
  CLARKE_DO_QUOTIENT,  /* in[0] / in[1] */
  CLARKE_DO_ANALYTIC,  /* f(in[0]) */
  CLARKE_DO_PIECEWISE, /* a pointwise operator with kinks: pieces of degree <= 2 of in[0] */
  CLARKE_DO_ELU,       /* x for x > 0, else coef[0] (exp(x) - 1); its kink is at 0 */
  CLARKE_DO_ORDER,     /* the rank-th largest of in[0..n_in-1]; rank 1 is the maximum */
  CLARKE_DO_BRANCH,    /* if in[0] RELATION in[1] then in[2] else in[3] */
  CLARKE_DO_NORM,      /* sqrt(in[0]^2 + ... ) ; not differentiable where all are 0 */
} clarke_do;

typedef enum { CLARKE_LT, CLARKE_LE, CLARKE_GT, CLARKE_GE, CLARKE_EQ, CLARKE_NE } clarke_relation;

/* A proxy in braces after a function's name; it goes before the profile. */
typedef struct {
  bool given;
  clarke_proxy_kind kind; /* PIECEWISE, ELU: at all its kinks */
  clarke_tie tie;         /* ORDER */
  mpq_t value;            /* kind VALUE: D^AD; ORDER: beta */
} clarke_override;

typedef struct {
  clarke_do kind;
  size_t n_in, *in;  /* instructions before this one */
  mpq_t *coef;       /* CONSTANT and ELU: 1; LINEAR: n_in + 1; else NULL */
  size_t n_coef;
  clarke_analytic function;
  const clarke_op *op;   /* PIECEWISE, ELU, ORDER: whose proxies hold */
  clarke_pieces *pieces; /* PIECEWISE */
  size_t rank;           /* ORDER */
  clarke_relation relation;
  clarke_override proxy;
  /* The operation on vectors that this is an entry of: consecutive instructions of equal group are
   * entries of one operation, in order (float replay adds up adjoints in that order). */
  size_t group;
  size_t line, column;   /* in the source, from 1; 0: none */
} clarke_instruction;

typedef struct {
  char *name;
  bool vector;      /* declared as x[n], n possibly 1 */
  size_t n, first;  /* entries are the instructions first .. first + n - 1 */
  bool wrt;
  bool promoted;    /* of a network that was unrolled: a Constant node's, which is taken for a parameter */
} clarke_code_input;

/* A condition in[0] RELATION in[1] of a piece. */
typedef struct {
  size_t left, right;
  clarke_relation relation;
} clarke_condition;

/* A piece of a declared representation of the first output: the value of instruction `value`
 * where all conditions hold (Bolte and Pauwels, Definition 4; Despres, Definition 1). */
typedef struct {
  size_t value, n_conditions;
  clarke_condition *condition;
  size_t line;
} clarke_piece;

typedef struct {
  char *file; /* base name, for messages */
  size_t n, capacity;
  clarke_instruction *instruction;
  size_t n_inputs;
  clarke_code_input *input;
  size_t n_outputs, *output;
  bool output_vector; /* written as a vector, n_outputs possibly 1 */
  size_t n_pieces;
  clarke_piece *piece;
  size_t arguments; /* of all instructions */
  size_t groups;
} clarke_code;

/* Arguments before their instructions, as many as the kind has; inputs and outputs that there are. */
bool clarke_code_is_valid(const clarke_code *p);

void clarke_code_init(clarke_code *p);
void clarke_code_clear(clarke_code *p);
void clarke_instruction_clear(clarke_instruction *i); /* private to lib/program */

/* Entries of all inputs (in order), of those in wrt. */
size_t clarke_code_entries(const clarke_code *p);
size_t clarke_code_wrt_count(const clarke_code *p);
bool clarke_code_varies(const clarke_code *p, size_t entry); /* is the entry's input in wrt? */
/* The number of an INPUT instruction among all entries; among those in wrt, or CLARKE_NONE. */
size_t clarke_code_entry(const clarke_code *p, size_t instruction);
size_t clarke_code_wrt_entry(const clarke_code *p, size_t instruction);
/* Marks the named inputs (n == 0: all). An unknown name is an error that lists the inputs; so is
 * one that is given twice. */
clarke_status clarke_code_wrt(clarke_code *p, char *const *names, size_t n,
                                 clarke_error *err);

/* --- building: each appends one instruction (inputs: n) and returns its number in *at ----------- */

/* n entries of an input of that name, which is copied; *first is the first one's number. vector: it is one, of n
 * entries. */
clarke_status clarke_code_add_input(clarke_code *p, size_t *first, const char *name, size_t n,
                                       bool vector, clarke_error *err);
/* The value is copied. */
clarke_status clarke_code_add_constant(clarke_code *p, size_t *at, const mpq_t value,
                                          clarke_error *err);
/* coef: n + 1 rationals, copied. Arguments may repeat. */
clarke_status clarke_code_add_linear(clarke_code *p, size_t *at, size_t n, const size_t *in,
                                        mpq_t *coef, clarke_error *err);
/* PRODUCT, QUOTIENT, NORM. */
clarke_status clarke_code_add(clarke_code *p, size_t *at, clarke_do kind, size_t n,
                                 const size_t *in, clarke_error *err);
clarke_status clarke_code_add_analytic(clarke_code *p, size_t *at, clarke_analytic f,
                                          size_t in, clarke_error *err);
/* A PIECEWISE (or ELU) of an operator with its constants (operator.h, clarke_op.pieces). */
clarke_status clarke_code_add_pointwise(clarke_code *p, size_t *at, const clarke_op *op,
                                           size_t in, size_t n_constants, mpq_t *constant,
                                           clarke_error *err);
/* The same, its pieces copied from a network's step. */
clarke_status clarke_code_add_pieces(clarke_code *p, size_t *at, const clarke_op *op,
                                        size_t in, const clarke_pieces *pieces, clarke_error *err);
clarke_status clarke_code_add_order(clarke_code *p, size_t *at, const clarke_op *op,
                                       size_t rank, size_t n, const size_t *in,
                                       clarke_error *err);
/* in: left, right, then, else. */
clarke_status clarke_code_add_branch(clarke_code *p, size_t *at, clarke_relation relation,
                                        const size_t in[4], clarke_error *err);
/* The next instruction begins a new group. */
void clarke_code_new_group(clarke_code *p);
clarke_status clarke_code_add_output(clarke_code *p, size_t at, clarke_error *err);

/* "FILE:LINE:COLUMN: message" about an instruction. */
clarke_status clarke_code_fail(const clarke_code *p, size_t instruction, clarke_error *err,
                                  const char *format, ...) __attribute__((format(printf, 4, 5)));

/* The same: past the limit at that instruction. */
clarke_status clarke_code_past(const clarke_code *p, size_t instruction, clarke_error *err, clarke_limit which,
                                  const char *what);

/* --- reading ----------------------------------------------------------------------------------- */

/* Does the relation hold when left - right has this sign (-1, 0, 1)? Its spelling. */
bool clarke_relation_holds(clarke_relation r, int sign);
const char *clarke_relation_text(clarke_relation r);

/* D^AD at kink k of a PIECEWISE or ELU: the override, else the profile's. left and right are the
 * slopes on its sides. */
clarke_status clarke_code_proxy(mpq_t value, const clarke_instruction *i, size_t kink,
                                   const mpq_t left, const mpq_t right,
                                   const clarke_profile *profile, clarke_error *err);
/* The tie rule of an ORDER: *beta is set. */
clarke_status clarke_code_tie(clarke_tie *tie, mpq_t beta, const clarke_instruction *i,
                                 const clarke_profile *profile, clarke_error *err);
/* The index into S (n_tied entries) that a tie rule names: rank_in_tie counts from 1, the largest. */
size_t clarke_tie_index(clarke_tie tie, size_t n_tied, size_t rank_in_tie);

#endif
