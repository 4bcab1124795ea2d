/* Chains of units (units.h) from the inputs to an output: each meets the next with a nonzero derivative. */
#ifndef CLARKE_PROGRAM_CHAINS_H
#define CLARKE_PROGRAM_CHAINS_H

#include "program/units.h"

/* Corners of a conservative set that are enumerated, at most (conservative.h). */
#define CLARKE_CONSERVATIVE_CORNERS ((size_t)1 << 14)

/* A nonzero derivative of a unit's form in an earlier site's instruction, in an entry of wrt. */
typedef struct {
  size_t from;
  mpq_t value;
} clarke_link;

typedef struct {
  size_t n, capacity;
  clarke_link *link;
} clarke_links;

typedef struct {
  clarke_units *u;
  bool kept;           /* links are: the corners may be few enough */
  bool unsure;         /* a link that may be zero, or not */
  size_t steps;
  bool *reached;       /* by site: a chain from its units to an output */
  size_t *next;        /* by site: the next unit on a shortest one, or CLARKE_NONE */
  size_t n_queue, *queue; /* sites, the nearest to an output first */
  size_t chain;        /* a shortest chain's first unit, or CLARKE_NONE */
  clarke_links to_site, to_input; /* by unit: first_... .. first_... + n_... - 1 */
  size_t *first_site, *n_site, *first_input, *n_input;
  mpq_t *sink;         /* sites x outputs */
} clarke_chains;

clarke_status clarke_chains_init(clarke_chains *c, clarke_units *u, clarke_error *err);
void clarke_chains_clear(clarke_chains *c);

/* Breadth first from the outputs: the first unit found to hang on an input begins a shortest chain. The search ends there
 * when the links are not kept for the corners. */
clarke_status clarke_chains_find(clarke_chains *c, clarke_error *err);

#endif
