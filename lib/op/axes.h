/* The axes of a file's tensors, "whole": those of a constant are its own; those of an activation are
 * those of a sample and, when the graph has one, the batch axis, standing as 1; or merged with others, standing as these. */
#ifndef CLARKE_OP_AXES_H
#define CLARKE_OP_AXES_H

#include "op/operator.h"

#define CLARKE_MAX_WHOLE (CLARKE_MAX_RANK + 1)

/* 1 when the first of input i's whole axes is the batch, else 0. */
size_t clarke_axes_lead(const clarke_lowering *low, size_t i);

/* The same of the batch wherever it is: the axis that it is, or is merged with; CLARKE_NONE when input i has none. */
size_t clarke_axes_batch(const clarke_lowering *low, size_t i);

/* Whole axes become those of a sample; their number. */
size_t clarke_axes_of_sample(const clarke_batch_axis *batch, size_t rank, size_t *dims);

/* The same of axes that are input 0's, whatever they hold. */
size_t clarke_axes_of_input(const clarke_lowering *low, size_t rank, size_t *dims);

/* A new shape of input i, whole, its batch axis having the samples of a run: where is the batch in it? It then has 1 there, or
 * what it is merged with. Fails where samples would be mixed. */
clarke_status clarke_axes_reshaped(const clarke_lowering *low, size_t i, size_t rank, size_t *dims,
                                   clarke_batch_axis *batch, clarke_error *err);

/* Inputs 0 to n - 1: activations must have their batch in one place, `rank` being the largest number of axes: of the result. A
 * constant must have 1 there. */
clarke_status clarke_axes_agree(const clarke_lowering *low, size_t n, size_t rank, clarke_batch_axis *batch, clarke_error *err);

/* Fails unless the batch of input i, if it has one, is the first axis, alone or merged with others. */
clarke_status clarke_axes_rows(const clarke_lowering *low, size_t i, clarke_error *err);

/* Fails where the axis is the batch's, or merged with it. */
clarke_status clarke_axes_apart(const clarke_lowering *low, size_t i, size_t axis, clarke_error *err);

/* Input i's whole axes: their number, with dims[CLARKE_MAX_WHOLE] set. */
size_t clarke_axes_whole(const clarke_lowering *low, size_t i, size_t *dims);

/* The same, the batch axis having the samples of a run. */
size_t clarke_axes_of_run(const clarke_lowering *low, size_t i, size_t *dims);

/* Input i, a constant that has along the axis an entry for each sample of a run, and the same of the file's for all of them
 * (Expand made it), becomes a constant with one entry there, and *shared true. */
clarke_status clarke_axes_shared(clarke_lowering *low, size_t i, size_t axis, bool *shared, clarke_error *err);

/* Input i's whole axes as text, "(3, N, 5)", N being the samples of a run; merged with others, "3 N". */
#define CLARKE_SHAPE_TEXT 256
void clarke_axes_text(const clarke_lowering *low, size_t i, char text[CLARKE_SHAPE_TEXT]);

/* The axis that a number of a file means, which counts from the end when it is negative. */
clarke_status clarke_axes_resolve(const clarke_lowering *low, int64_t number, size_t rank,
                                  size_t *axis, clarke_error *err);

/* The list that is the attribute `name` of the node, or else input i; *given: it has one of them. */
clarke_status clarke_axes_list(const clarke_lowering *low, const char *name, size_t i,
                               const int64_t **list, size_t *n, bool *given, clarke_error *err);

/* Which of `rank` axes the list names, none twice. */
clarke_status clarke_axes_chosen(const clarke_lowering *low, const int64_t *list, size_t n,
                                 size_t rank, bool *chosen, clarke_error *err);

#endif
