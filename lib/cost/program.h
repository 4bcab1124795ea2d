/* The elementary functions of a program. */
#ifndef CLARKE_COST_PROGRAM_H
#define CLARKE_COST_PROGRAM_H

#include "cost/count.h"
#include "program/code.h"

/* Adds them to c. Inputs in wrt, and what depends on them, are quantities; all else is a constant, and what is computed of constants
 * alone is no operation. Every instruction counts, whatever arm a branch would take, but for those of declared pieces. A sum of n
 * terms is n - 1 additions, and a product with its coefficient for each that is neither 1 nor -1; a quotient a / b is an inverse and
 * a product. A repeated argument counts each time. */
clarke_status clarke_count_program(clarke_count *c, const clarke_code *p, clarke_error *err);

/* The program as a linear ReLU network (thesis, 2.13; 2.9.1), which it has where it is made of +, - and relu alone. */
typedef struct {
  bool is;               /* is it? */
  size_t memory, layers; /* m = p + cost, and cost layers of m x m */
  mpz_t size, bound;     /* layers (m m + m), and 18 cost^3 */
} clarke_linear_relu;
void clarke_linear_relu_init(clarke_linear_relu *r);
void clarke_linear_relu_clear(clarke_linear_relu *r);
void clarke_linear_relu_find(clarke_linear_relu *r, const clarke_count *c, size_t inputs);

#endif
