/* Signed circuits, and the branches that they refute.
 *
 * A circuit is a positive combination of rows, each turned to a side, that is 0: sum_i |c_i| (sign(c_i) r_i) = 0. No point
 * has sign(c_i) <r_i, x> > 0 for all its rows (Gordan). So each of the two clauses, sign(c) and its opposite, is a set of
 * signs that never stand together. Dussault, Gilbert and Plaquevent-Jourdain call it a stem vector.
 *
 * The store keeps circuits with their coefficients, and their clauses with two watched places each, as SAT solvers do: when all
 * signs of a clause but one are given, the last row has the opposite sign. That costs no linear program. */
#ifndef CLARKE_REGION_CIRCUITS_H
#define CLARKE_REGION_CIRCUITS_H

#include "region/rows.h"

#include <stdint.h>

typedef struct {
  size_t n;
  size_t *row;
  fmpz *value; /* n, none of them 0 */
} clarke_circuit;

typedef struct {
  size_t at, n; /* n places from at */
  size_t circuit;
} clarke_clause;

typedef struct {
  size_t n, room;
  size_t *clause;
} clarke_watch_list;

typedef struct {
  const clarke_rows *rows;
  size_t fixed;        /* the first so many rows are always positive */
  size_t n, room;
  clarke_circuit *circuit;
  size_t n_clauses, clause_room;
  clarke_clause *clause;
  size_t n_places, place_room;
  uint32_t *place;     /* 2 * row + (1 when the sign is negative) */
  clarke_watch_list *watch; /* by place */
} clarke_circuits;

clarke_status clarke_circuits_init(clarke_circuits *c, const clarke_rows *rows, size_t fixed, clarke_error *err);
void clarke_circuits_clear(clarke_circuits *c); /* of circuits that are zeroed, too */

/* Is some combination of these rows, each with a coefficient of its sign, 0? Only when they have one dependency, up to a
 * factor, of which no coefficient is 0. Then value (n entries) has it, in lowest terms. Exact. */
bool clarke_circuit_of(fmpz *value, const clarke_rows *rows, const size_t *row, const signed char *sign, size_t n);

/* The rows that have signs, in the order in which they got them. */
typedef struct {
  signed char *sign; /* by row; 0: none yet */
  size_t *order;     /* by row: its place below */
  size_t n;
  size_t *row;
  size_t *circuit;   /* by place: what forced the sign, or CLARKE_CHOSEN */
} clarke_trail;

#define CLARKE_CHOSEN SIZE_MAX

clarke_status clarke_trail_init(clarke_trail *t, size_t n_rows, clarke_error *err);
void clarke_trail_clear(clarke_trail *t);                                       /* of one that is zeroed, too */
void clarke_trail_push(clarke_trail *t, size_t row, int sign, size_t circuit); /* of a row that has none */
void clarke_trail_cut(clarke_trail *t, size_t n);                               /* takes back all but the first n */

/* Keeps a circuit, which has been proved, and its clauses; watched are the rows that got their signs last. Its fixed rows
 * have positive coefficients. The new circuit's number is c->n - 1. */
clarke_status clarke_circuits_add(clarke_circuits *c, const size_t *row, const fmpz *value, size_t n, const clarke_trail *t,
                                  clarke_error *err);

/* The row has just got its sign, and all rows before it on the trail were visited. What follows is put on the trail, to be
 * visited in turn. */
clarke_status clarke_circuits_visit(clarke_circuits *c, clarke_trail *t, size_t row, clarke_error *err);

/* One clause, looked at as a whole: its watches are put right, and what it forces goes on the trail. For clauses that came
 * while other signs stood. */
clarke_status clarke_circuits_review(clarke_circuits *c, clarke_trail *t, size_t clause, clarke_error *err);

#endif
