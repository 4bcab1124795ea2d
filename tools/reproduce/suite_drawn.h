/* Drawn programs of sums, kinks and maxima, in entries of one vector w. */
#ifndef CLARKE_TOOLS_SUITE_DRAWN_H
#define CLARKE_TOOLS_SUITE_DRAWN_H

#include "suite.h"
#include "suite_posed.h"

#define MOST_NODES 12
#define MOST_INPUTS 3

/* LINEAR is of[0] v_a + of[1] v_b + of[2]. */
typedef enum { CLARKE_DRAWN_LINEAR, CLARKE_DRAWN_RELU, CLARKE_DRAWN_ABS, CLARKE_DRAWN_MAX, CLARKE_DRAWN_PRODUCT } clarke_drawn_kind;

/* Arguments are numbered from the inputs on, then nodes; choice: which of AD's numbers or rules, 0: the profile's. */
typedef struct {
  clarke_drawn_kind kind;
  size_t a, b, choice;
  long of[3];
} clarke_drawn_node;

typedef struct {
  size_t n_inputs, n;
  clarke_drawn_node node[MOST_NODES];
} clarke_drawn;

/* Kinds up to `last`; with choices: AD has numbers of its own at kinks and ties, between slopes or not. Half the sums are 0 at the point. */
void clarke_drawn_draw(clarke_drawn *p, clarke_draws *d, const long *at, size_t n_inputs, size_t n, clarke_drawn_kind last, bool choices);
/* The argument numbered i at a point of integers. */
long clarke_drawn_value(const clarke_drawn *p, const long *at, size_t i);
/* Writes one node, as clarke_drawn_put writes all. */
void clarke_drawn_put_node(FILE *to, const clarke_drawn *p, size_t i, char letter, const char *input, const char *end);
/* Writes the nodes under names that begin with a letter; input: what comes before the number of an input, and `end` what comes after it. */
void clarke_drawn_put(FILE *to, const clarke_drawn *p, char letter, const char *input, const char *end);
/* Opens a text that begins with the inputs w and all nodes, v0 and so on. */
clarke_status clarke_drawn_open(clarke_text *t, const clarke_drawn *p, clarke_error *err);
/* The program, whose outputs are the last so many nodes. */
clarke_status clarke_drawn_pose(clarke_posed *q, const clarke_drawn *p, const long *at, size_t outputs, clarke_error *err);

/* The program of g, of two inputs, behind both last nodes of f; written, or posed. */
void clarke_drawn_put_both(FILE *to, const clarke_drawn *f, const clarke_drawn *g);
clarke_status clarke_drawn_pose_both(clarke_posed *q, const clarke_drawn *f, const clarke_drawn *g, const long *at, clarke_error *err);

#endif
