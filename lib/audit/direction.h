/* Directions in parameter space, as sums of moves: short to write down and to check. */
#ifndef CLARKE_AUDIT_DIRECTION_H
#define CLARKE_AUDIT_DIRECTION_H

#include "exact/matrix.h"
#include "network/graph/graph.h"

typedef enum {
  CLARKE_MOVE_COPY, /* coef * the parameter's value */
  CLARKE_MOVE_ADD,  /* coef in every entry */
  CLARKE_MOVE_AT,   /* coef in one entry */
} clarke_move_kind;

typedef struct {
  clarke_move_kind kind;
  size_t parameter, entry;
  mpq_t coef;
} clarke_move;

typedef struct {
  size_t n, capacity;
  clarke_move *move;
} clarke_direction;

void clarke_direction_init(clarke_direction *d);
void clarke_direction_clear(clarke_direction *d);
/* Adds a move of that kind along a parameter, or one entry of it; coef is copied. */
clarke_status clarke_direction_move(clarke_direction *d, clarke_move_kind kind, size_t parameter,
                                    size_t entry, const mpq_t coef, clarke_error *err);

/* Moves of wrt parameters, in entries that they have. */
bool clarke_direction_is_valid(const clarke_direction *d, const clarke_graph *g);

/* One matrix a parameter (count x 1; no rows where the direction is zero), all initialized. */
clarke_status clarke_direction_matrices(clarke_matrix *d, const clarke_direction *direction,
                                        const clarke_graph *g, clarke_error *err);

#endif
