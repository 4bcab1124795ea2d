/* What LSTM, GRU and RNN share: one direction's states from time to time, as entries (row, unit) of activations. */
#ifndef CLARKE_OP_RECURRENT_H
#define CLARKE_OP_RECURRENT_H

#include "op/operator.h"

/* Entry (row, unit) of a part is entry base + row * width + offset + unit of the value: of a constant that all rows share,
 * width is 0. */
typedef struct {
  size_t value, base, width, offset;
} clarke_recurrent_part;

/* One direction of a node. A row is a sample; or, where the batch is no axis of the graph's or is merged with others, one of
 * the node's own. What a function below makes is a step, and it returns the value. After a failure, which `status` keeps, none
 * is made, and what is returned means nothing. */
typedef struct {
  clarke_lowering *low;
  clarke_error *err;
  clarke_status status;
  size_t time, rows, inputs, hidden, gates, directions;
  size_t direction;
  size_t x;            /* W x of all times: (time, rows, gates * hidden) */
  size_t r[2], b[2];   /* R, in two parts if it is used so; the biases of W and of R, CLARKE_NONE: none */
  size_t p;            /* peepholes: a vector of a number for each unit, gate after gate; CLARKE_NONE: none */
} clarke_recurrence;

/* From one time to the next: the states h and, of an LSTM, c, are replaced. */
typedef void clarke_recurrence_cell(clarke_recurrence *c, size_t time, size_t *states);

typedef struct {
  size_t n_states; /* the first is the node's output */
  size_t gates[2]; /* of r[0], of r[1]; together of W, R and each bias */
  clarke_recurrence_cell *cell;
} clarke_recurrence_kind;

/* The gates from `gate` on of W x at that time; of a bias; of what has as many gates. */
clarke_recurrent_part clarke_recurrence_x(const clarke_recurrence *c, size_t time, size_t gate);
clarke_recurrent_part clarke_recurrence_b(const clarke_recurrence *c, size_t b, size_t gate);
clarke_recurrent_part clarke_recurrence_gate(const clarke_recurrence *c, size_t value, size_t gates, size_t gate);
/* A value of `hidden` units a row. */
clarke_recurrent_part clarke_recurrence_all(const clarke_recurrence *c, size_t value);

/* The sum of n parts, each of so many gates; biases that there are none of are left out. */
size_t clarke_recurrence_sum(clarke_recurrence *c, const clarke_recurrent_part *part, size_t n, size_t gates);
/* The products of two parts' entries; the difference a - b. */
size_t clarke_recurrence_product(clarke_recurrence *c, clarke_recurrent_part a, clarke_recurrent_part b);
size_t clarke_recurrence_difference(clarke_recurrence *c, size_t a, size_t b);
/* The value by what the peephole of a gate has for its units. */
size_t clarke_recurrence_peephole(clarke_recurrence *c, size_t gate, size_t value);
/* A weight times each row. */
size_t clarke_recurrence_dense(clarke_recurrence *c, size_t weight, size_t value);
size_t clarke_recurrence_function(clarke_recurrence *c, clarke_function f, size_t value);
/* The step is named NODE@K: times are counted from 1, those of the second direction after the first's. */
size_t clarke_recurrence_relu(clarke_recurrence *c, size_t time, size_t value);
/* The whole of a node; initial states are its inputs from 5 on. */
clarke_status clarke_recurrence_lower(clarke_lowering *low, const clarke_recurrence_kind *kind, clarke_error *err);
/* Is no attribute there that is not supported? Which directions are there; a single one, is it the reverse? */
clarke_status clarke_recurrence_attributes(const clarke_lowering *low, clarke_error *err);
clarke_status clarke_recurrence_direction(const clarke_lowering *low, size_t *directions, bool *reversed, clarke_error *err);
/* Is the attribute `activations` the other list of words, for each direction, not this one? Left out it is this one. */
clarke_status clarke_recurrence_activations(const clarke_lowering *low, const char *each, const char *other, bool *is_other,
                                            clarke_error *err);

#endif
