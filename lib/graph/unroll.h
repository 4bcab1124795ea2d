/* A network as a program: one sample of its graph unrolled, an instruction a scalar. */
#ifndef CLARKE_GRAPH_UNROLL_H
#define CLARKE_GRAPH_UNROLL_H

#include "graph/program.h"

/* The program's inputs are the graph's input, named `input` and flattened, then the parameters in
 * the graph's wrt, in their order, flattened; other constants are constants of the program. Its
 * outputs are the network's. point (malloc, *n initialized rationals) gets the values of all
 * entries: those of sample 0 of x, then the parameters' stored ones. A network that needs more than
 * CLARKE_PROGRAM_LIMIT instructions is an error. input_name: NULL for "input". */
clarke_status clarke_unroll(clarke_program *p, mpq_t **point, size_t *n, const clarke_graph *g,
                            const clarke_tensor *x, const char *input_name, clarke_error *err);

#endif
