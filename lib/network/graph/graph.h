/* A network as one typed graph (op/step.h): built from a file's model, its parameters replaced, the question's marked. */
#ifndef CLARKE_NETWORK_GRAPH_GRAPH_H
#define CLARKE_NETWORK_GRAPH_GRAPH_H

#include "op/operator.h"

void clarke_graph_init(clarke_graph *g);
void clarke_graph_clear(clarke_graph *g);

/* Is the graph as it is described above? Steps in topological order, each the producer of what it computes; maps and
 * weights that fit the shapes; kinks in order. */
bool clarke_graph_is_valid(const clarke_graph *g);

/* Replaces the parameters' values by name: each must be there with its shape; a float tensor that
 * is no parameter is an error. Tensors may be packed. */
clarke_status clarke_graph_replace(clarke_graph *g, const clarke_tensor *tensors, size_t n,
                                   const char *file, clarke_error *err);

/* Marks the named parameters (n == 0: all that are used). Names that there are not, or twice, are errors. */
clarke_status clarke_graph_wrt(clarke_graph *g, char *const *names, size_t n, clarke_error *err);

/* Entries of all wrt parameters. */
size_t clarke_graph_wrt_count(const clarke_graph *g);

/* Fails where there are none: nothing can be asked about no parameters. The message names what may be weights. */
clarke_status clarke_graph_check_wrt(const clarke_graph *g, clarke_error *err);

/* How many Constant nodes of several floats do steps read as weights, or, of `matrices`, as a product's matrix? Sets the names of
 * the first, at most `most`; they are the graph's. */
size_t clarke_graph_constants(const clarke_graph *g, bool matrices, const char **name, size_t most);

/* Is value a parameter in wrt? */
bool clarke_value_is_wrt(const clarke_graph *g, size_t value);

/* The PIECEWISE step that makes the operand of a MAX step, with which it is one layer; else CLARKE_NONE. Between them entries
 * may be moved (an Identity, a Pad), and constants added. */
size_t clarke_graph_inner(const clarke_graph *g, size_t step);

/* Does some step couple the samples? Then every pass is over all of them. */
bool clarke_graph_couples(const clarke_graph *g);

/* Has some step a function with a domain? Then every sample is computed exactly or enclosed, to prove that it lies there. */
bool clarke_graph_has_domain(const clarke_graph *g);

/* Marks the steps that jump whose arguments nothing in wrt moves. Who changes what is in wrt does it again. */
clarke_status clarke_graph_mark_still(clarke_graph *g, clarke_error *err);

/* Does the step's output have a derivative by what is in wrt, where `carries` says so of its inputs? Off its jumps a step that
 * jumps has none. */
bool clarke_graph_carries(const clarke_graph *g, const clarke_step *s, const bool *carries);

/* The values an entry of which the argument of some step with kinks, or the value of one with a domain, depends on: needed[v],
 * n_values of them; with loss also those the output depends on. */
void clarke_graph_needed(const clarke_graph *g, bool loss, bool *needed);

/* last[v], n_values of them: the last step that reads v, of those whose output is needed (NULL: of all); CLARKE_NONE: no step. */
void clarke_graph_last_uses(size_t *last, const clarke_graph *g, const bool *needed);

/* A GATHER whose output one DENSE step alone reads is left to that: deferred[v], of its output, which was NULL, becomes it, and
 * what it reads is read until that step. */
void clarke_graph_defer_gathers(const clarke_step **deferred, size_t *last, const clarke_graph *g);

#endif
