/* The network of a formula (thesis, Theorem 6): F(x) = min over clauses of relu(max of its three literals), a literal being
 * x_v or -x_v. It is written with matrices of -1, 0 and 1 and layers of relu alone, without biases:
 *
 *     F(x) = M_k relu(M_{k-1} ... relu(M_1 x))
 *
 * With n clauses (a power of two) there are log2 n + 3 layers of relu. Two take the maxima of four numbers, a literal
 * repeated (Lemma 3: max(a, b) = relu(a - b) + relu(b) - relu(-b)); one is relu of each clause; log2 n take minima two by
 * two. Their widths are 6n, 3n, n, 3n/2, 3n/4, ..., 3. The literals of a clause are paired so that none are complementary: a
 * pair x, -x would make an entry 2 (docs/proof-format.md, "Networks of formulas"). */
#ifndef CLARKE_SAT_NETWORK_H
#define CLARKE_SAT_NETWORK_H

#include "op/model.h"
#include "sat/three.h"

#include <stdio.h>

/* A row of a matrix: n entries of -1 or 1 at increasing columns; the others are 0. */
#define CLARKE_ROW_MOST 6
typedef struct {
  size_t n, column[CLARKE_ROW_MOST];
  int entry[CLARKE_ROW_MOST];
} clarke_sign_row;

typedef struct {
  size_t n_rows, n_columns;
  clarke_sign_row *row;
} clarke_sign_matrix;

typedef struct {
  size_t n_inputs;
  size_t n_matrices; /* one more than layers of relu */
  clarke_sign_matrix *matrix;
} clarke_sign_network;

/* Matrices that fit, the last of one row; entries -1 or 1 at increasing columns that there are. */
bool clarke_sign_network_is_valid(const clarke_sign_network *net);

void clarke_sign_network_init(clarke_sign_network *net);
void clarke_sign_network_clear(clarke_sign_network *net);

/* net must be initialized. Refuses more inputs and entries of layers than CLARKE_LIMIT_INSTRUCTIONS: as a program it could not
 * be read. */
clarke_status clarke_sign_network_make(clarke_sign_network *net, const clarke_three *t, clarke_error *err);

/* As an ONNX model: input x (N, inputs), output F (N, 1), nodes Gemm (transB = 1) and Relu in turn, initializers M1, M2, ...
 * Refuses matrices with more entries than CLARKE_LIMIT_ENTRIES in all. m must be initialized. */
clarke_status clarke_sign_network_model(clarke_model *m, const clarke_sign_network *net, clarke_error *err);
/* As a program of docs/programs.md; comment is its first line. */
void clarke_sign_network_print(FILE *out, const clarke_sign_network *net, const char *comment);

#endif
