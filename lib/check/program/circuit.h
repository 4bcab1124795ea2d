/* Hyperplanes that are given signs, and circuits, which refute signs (docs/proof-format.md, "Arrangements", "Regions"): integer
 * vectors, of which a combination that is zero is a circuit. A proof calls them rows or columns. */
#ifndef CLARKE_KERNEL_CIRCUIT_H
#define CLARKE_KERNEL_CIRCUIT_H

#include "check/base/value.h"

/* The sides that are told apart: sign is 0 where none is given yet. */
typedef struct {
  const integer *vector; /* NULL: there is none of that number */
  signed char sign;
} hyperplane;

typedef struct {
  const void *of;
  hyperplane (*at)(const void *of, size_t number);
  size_t width; /* entries of a vector */
  const char *noun;
} hyperplanes;

/* A combination that is zero, by increasing numbers. */
typedef struct {
  size_t n;
  size_t *number;
  signed char *sign; /* of the coefficients */
} circuit;

/* Divides by the entries' greatest common divisor. */
void make_primitive(integer *x, size_t n);
/* `circuit NUMBER VALUE NUMBER VALUE ...`, behind the first word. */
circuit circuit_read(const hyperplanes *all);
void circuit_free(circuit *c);
/* All but `number` (NONE: all) have the signs of the coefficients, or all have the opposite ones: else the proof fails. Returns the sign
 * that `number` then cannot have. k: the circuit's own number, for messages. */
signed char circuit_refutes(const circuit *c, size_t k, size_t number, const hyperplanes *all);

/* n integers. */
void next_point(integer *x, size_t n);
/* Has the point the sign given to it? */
void require_side(const integer *x, const hyperplanes *all, size_t number);

#endif
