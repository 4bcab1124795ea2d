/* The files of a question about a network: model, parameters, batch. */
#ifndef CLARKE_KERNEL_INPUTS_H
#define CLARKE_KERNEL_INPUTS_H

#include "check/files/onnx.h"
#include "check/files/arrays.h"
#include "check/kernel/point.h"
#include "check/onnx/build.h"

/* The line `constants`, if it is next: Constant nodes, in the file's order, that are parameters. */
void read_constants(model *m);
/* Reads their lines, and the files in that folder: p's network (there is room for it), by its operators, x and target. Writes on `account` what they
 * say. */
void read_network(point *p, model *m, const char *folder, const struct operator_set *of);
void state_network(const network *net, const model *m,
                   const arrays *given); /* inputs, output, reading rules, on `account` */

#endif
