/* All sign vectors of rows: which s in {-1, 1}^n have an x with s_i <r_i, x> > 0 for all i?
 *
 * A tree, row by row (Rada and Cerny, 2018). At each node stands a point, the *witness*, inside the cone of the signs given so
 * far. The next row is the one whose hyperplane is nearest to it (Dussault, Gilbert and Plaquevent-Jourdain, 2025). The witness
 * tells one of its two sides. For the other, first the clauses of circuits (circuits.h) are asked, then a step across the
 * hyperplane is tried. Only then comes a program: the widest direction, or a circuit. Floats guess; a point counts when its
 * signs were verified in integers, a circuit when its combination is 0 in integers. */
#ifndef CLARKE_REGION_SIGN_VECTORS_H
#define CLARKE_REGION_SIGN_VECTORS_H

#include "region/circuits.h"

/* What is told of the tree, in preorder: of two branches the one for - first. Each may be NULL. A circuit is told before it
 * is used. */
typedef struct {
  void *context;
  clarke_status (*circuit)(void *context, const clarke_circuit *c, clarke_error *err);
  clarke_status (*split)(void *context, size_t row, clarke_error *err);
  clarke_status (*forced)(void *context, size_t row, int sign, size_t circuit, clarke_error *err);
  /* sign: by row. *go_on false ends it. */
  clarke_status (*leaf)(void *context, bool *go_on, const signed char *sign, const clarke_witness *w, clarke_error *err);
} clarke_sign_visitor;

typedef struct {
  size_t leaves;
  size_t programs; /* float programs that were solved */
  size_t circuits;
  size_t exact;    /* of the programs, those that integers had to decide */
  bool complete;   /* every branch was followed to its end */
  bool undecided;  /* a program was left undecided by integers too, so it ended */
  bool stopped;    /* the work was told to stop (base/stop.h), and ended with what was told */
} clarke_sign_tree;

/* The first `fixed` rows are positive. When that is impossible a circuit of them is told, and nothing else. start: a point where
 * they are, or NULL. Work that is told to stop is no error here, whoever notices: what was told stands. */
clarke_status clarke_sign_vectors(clarke_sign_tree *r, const clarke_rows *rows, size_t fixed, const clarke_witness *start,
                                  const clarke_sign_visitor *visitor, clarke_error *err);

#endif
