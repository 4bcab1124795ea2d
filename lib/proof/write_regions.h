/* Writing proofs about regions (docs/proof-format.md, "Regions"): the tree as it is walked, then the statement before it. */
#ifndef CLARKE_PROOF_WRITE_REGIONS_H
#define CLARKE_PROOF_WRITE_REGIONS_H

#include "base/output.h"
#include "proof/write.h"
#include "region/regions.h"

typedef struct clarke_regions_proof_level clarke_regions_proof_level;

typedef struct {
  const clarke_forms *forms;
  bool local;          /* around a point */
  clarke_text tree;
  size_t n_levels, room;
  clarke_regions_proof_level *level; /* arrangements under way */
  size_t turn_room;
  signed char *turn;   /* by row of the arrangement under way: it is the proof's row, times this and a number above 0 */
  mpq_t *gradient;     /* around a point: of each function the outputs' gradients, end to end */
  size_t n_gradients, gradient_room;
  size_t leaves;
} clarke_regions_proof;

clarke_status clarke_regions_proof_init(clarke_regions_proof *p, const clarke_forms *forms, bool local, clarke_error *err);
void clarke_regions_proof_clear(clarke_regions_proof *p); /* of one that is zeroed, too */

/* Hears of the search; p is the context. */
clarke_region_listener clarke_regions_proof_listener(clarke_regions_proof *p);
/* A region that is told. function: its number among distinct ones, in the order in which they came. */
clarke_status clarke_regions_proof_leaf(clarke_regions_proof *p, const clarke_region *region, size_t function, clarke_error *err);

/* What the statement speaks of. */
typedef struct {
  clarke_proof_input function;
  bool network;
  clarke_proof_input box;  /* of a box that is a table */
  mpq_t *bounds, *point;   /* n x 2, of another box; n, of a point, or of what is held; else NULL */
  size_t n;
  bool local;              /* around the point */
  const clarke_code *held; /* inputs outside wrt are held: the program that says which these are; or NULL */
} clarke_regions_statement;

/* For a proof of something else that has the tree in it: the search has ended; writes what stands after the line `tree`. */
clarke_status clarke_regions_proof_end(clarke_regions_proof *p, clarke_error *err);
void clarke_regions_proof_tree(FILE *out, const void *proof);

/* When the search was complete, writes the proof, as clarke_proof_write does. */
clarke_status clarke_regions_proof_save(clarke_regions_proof *p, const char *path, const clarke_regions_statement *s, clarke_error *err);

#endif
