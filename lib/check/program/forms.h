/* A piecewise linear program in variables z: under choices of sides and winners each instruction is an affine form of z.
 *
 * An input's entry that varies is the instruction's c[0] plus c[1] times variable `entry`; as programs are read c[1] is 1. A
 * form is kept as integers over a denominator that is the same whatever is chosen. */
#ifndef CLARKE_KERNEL_FORMS_H
#define CLARKE_KERNEL_FORMS_H

#include "check/program/program.h"

typedef struct gate gate;
typedef struct {
  const program *prog;
  gate *gates; /* of its instructions */
  size_t n_variables;
} forms;

/* Is the instruction a sum, a product, a quotient by a number, pieces of degree 1 that meet, a maximum or minimum? */
bool is_piecewise_polynomial(const program *p, size_t at);

/* The forms of that program, in n variables. What is not piecewise linear and continuous is refused: see
 * docs/proof-format.md, "Regions". */
void forms_begin(forms *f, const program *p, size_t n);

bool form_needed(forms *f, size_t at);            /* does an output depend on the instruction? */
bool form_is_kink(forms *f, size_t at, size_t k); /* of a pointwise one: do the pieces differ there? */

/* Sets the form of an instruction whose arguments' are set. choice: its piece, or the argument that is the largest; of others
 * it does not matter. */
void form_set(forms *f, size_t at, size_t choice);
const integer *form_of(forms *f, size_t at); /* n + 1 integers: of the variables, then the constant */
const integer *form_denominator(forms *f, size_t at);
/* A positive multiple of a pointwise instruction's argument less its kink k; of argument a of a maximum less argument b, of a minimum b less a. */
void form_less_kink(forms *f, integer *row, size_t at, size_t k);
void form_difference(forms *f, integer *row, size_t at, size_t a, size_t b);

#endif
