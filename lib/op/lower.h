/* What a lower function calls: how it fails, what its inputs are, the steps that it makes. */
#ifndef CLARKE_OP_LOWER_H
#define CLARKE_OP_LOWER_H

#include "op/operator.h"

/* "FILE: node 'NAME' (OP): message". */
clarke_status clarke_lower_fail(const clarke_lowering *low, clarke_error *err, const char *format,
                                ...) __attribute__((format(printf, 3, 4)));

/* Fail so, with a message that names the node: out of memory; an index map or an activation past the limits. */
clarke_status clarke_lower_no_memory(const clarke_lowering *low, clarke_error *err);
clarke_status clarke_lower_too_large(const clarke_lowering *low, clarke_error *err);

/* The node's name, or one made of operator and place; NULL: there is no memory. */
char *clarke_lower_name(const clarke_lowering *low);

const clarke_value *clarke_lower_value(const clarke_lowering *low, size_t i); /* input i, which is there */
bool clarke_lower_has(const clarke_lowering *low, size_t i); /* is input i there? (It may be left out) */
/* The input must be an activation; a floating-point constant; an integer constant. */
clarke_status clarke_lower_activation(const clarke_lowering *low, size_t i, clarke_error *err);
clarke_status clarke_lower_constant(const clarke_lowering *low, size_t i, clarke_error *err);
clarke_status clarke_lower_integers(const clarke_lowering *low, size_t i, const int64_t **list,
                                    size_t *n, clarke_error *err);
/* Registers input i, a constant, as a weight: a parameter if it is an initializer. */
clarke_status clarke_lower_weight(clarke_lowering *low, size_t i, clarke_error *err);

/* The same, as a statistic of BatchNormalization: input i becomes a value of its own. An initializer may be both. */
clarke_status clarke_lower_statistic(clarke_lowering *low, size_t i, clarke_error *err);
/* Gives the initializer its parameter, which is made on first use. */
clarke_status clarke_lower_parameter(clarke_lowering *low, size_t value, clarke_error *err);
/* A step more reads a value that is a constant, as a weight. */
clarke_status clarke_lower_read(clarke_lowering *low, size_t value, clarke_error *err);
/* A constant that is no tensor of the file's, its entries zeros for the caller to fill: no
 * parameter. It is to be made before the node's last step. */
clarke_status clarke_lower_made(clarke_lowering *low, size_t rank, const size_t *dims,
                                size_t *value, clarke_error *err);

/* An attribute of the node; `absent` where there is none of that name and type. */
int64_t clarke_lower_int(const clarke_lowering *low, const char *name, int64_t absent);
double clarke_lower_float(const clarke_lowering *low, const char *name, double absent);

/* A new step of that kind with one new activation of the given per-sample shape as its output.
 * The last step of a node carries the node's output name: call clarke_lower_done with it. The
 * returned pointer is valid until the next call. NULL when out of memory. */
clarke_step *clarke_lower_step(clarke_lowering *low, clarke_step_kind kind, size_t n_in,
                               size_t rank, const size_t *dims, clarke_error *err);
/* One whose output has a value's shape; the value is operand 0. */
clarke_step *clarke_lower_step_like(clarke_lowering *low, clarke_step_kind kind, size_t n_in, size_t value, clarke_error *err);
/* Gives operand i of the step a map of n entries for the caller to fill; NULL when it would be too
 * large. */
size_t *clarke_lower_map(clarke_lowering *low, clarke_step *s, size_t i, size_t n,
                         clarke_error *err);
/* Gives operand i of the step the map of a constant of `period` entries, each read by `repeat`
 * features in a row, all over again to the end. */
clarke_status clarke_lower_periodic(clarke_lowering *low, clarke_step *s, size_t i, size_t repeat,
                                    size_t period, clarke_error *err);
clarke_status clarke_lower_done(clarke_lowering *low, size_t value, clarke_error *err);
/* A node with several outputs: the value is output k. */
clarke_status clarke_lower_output(clarke_lowering *low, size_t k, size_t value, clarke_error *err);
/* The same with minus the value, when `negated`: a step more. */
clarke_status clarke_lower_done_signed(clarke_lowering *low, size_t value, bool negated, clarke_error *err);

/* Entries of input 0 in the given shape, entry f taken from map[f] (map is taken over; NULL: the
 * identity, of all). dims of a constant are whole, of an activation per sample. */
clarke_status clarke_lower_rearranged(clarke_lowering *low, size_t rank, const size_t *dims,
                                      size_t *map, clarke_error *err);
/* The same of an activation, with the batch there. */
clarke_status clarke_lower_moved(clarke_lowering *low, size_t rank, const size_t *dims, size_t *map,
                                 const clarke_batch_axis *batch, clarke_error *err);

/* An activation of that shape, whose entry f is entry map[f] of input i, a constant (map is taken over; NULL: f): a sum without an
 * activation among its terms. */
clarke_status clarke_lower_lifted(clarke_lowering *low, size_t i, size_t rank, const size_t *dims, size_t *map, size_t *value,
                                  clarke_error *err);
/* Where all inputs are constants, input 0 becomes an activation of its entries, the same for all samples. */
clarke_status clarke_lower_lift(clarke_lowering *low, clarke_error *err);
/* The same where some may be left out. */
clarke_status clarke_lower_lift_given(clarke_lowering *low, clarke_error *err);
/* The same whatever the others are: input 0, if it is a constant. */
clarke_status clarke_lower_lift_first(clarke_lowering *low, clarke_error *err);
/* And it must be there. */
clarke_status clarke_lower_first(clarke_lowering *low, clarke_error *err);

/* A constant without a name, of the entries of input i, a constant: entry e is entry map[e] (map is taken over; NULL: all, as
 * they are). It is to be made before the node's last step. */
clarke_status clarke_lower_rearranged_constant(clarke_lowering *low, size_t i, size_t rank, const size_t *dims, size_t *map,
                                               size_t *value, clarke_error *err);

/* Does the graph stay within the limits with so many entries more? */
bool clarke_lower_affordable(const clarke_graph *g, size_t count);

#endif
