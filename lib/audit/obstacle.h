/* What keeps an audit undecided: where the ways to a proof stopped, and what would settle it, in words. */
#ifndef CLARKE_AUDIT_OBSTACLE_H
#define CLARKE_AUDIT_OBSTACLE_H

#include "audit/question.h"

typedef enum {
  CLARKE_OBSTACLE_NONE,
  CLARKE_OBSTACLE_PRECISION, /* arguments that no precision tells from their kinks */
  CLARKE_OBSTACLE_TREE,      /* in a block a vector separates, as far as floats tell; its tree reached the limit */
  CLARKE_OBSTACLE_OUTSIDE,   /* ... ; but what the touches outside of the block may add is more */
  CLARKE_OBSTACLE_CLASSES,   /* a block's touches take their sides in more independent ways than a tree is tried for */
  CLARKE_OBSTACLE_CURVED,    /* a block's arguments are not all affine, whatever the sides */
  CLARKE_OBSTACLE_SIMPLEX,   /* no vector separates in a block, as far as floats tell; no simplex of cells was proved */
  CLARKE_OBSTACLE_BEHIND,    /* all blocks are surrounded; the other touches have no direction that spares them */
  CLARKE_OBSTACLE_SMOOTH,    /* behind the touches is a transcendental operator: no block was asked */
  CLARKE_OBSTACLE_PATTERNS,  /* too many touches to list the patterns */
  CLARKE_OBSTACLE_LIST,      /* the list reached the limit */
  CLARKE_OBSTACLE_OCCUR,     /* AD's gradient is among those of patterns that may occur, but not of those that do */
  CLARKE_OBSTACLE_COMPARE,   /* enclosures do not tell where it is */
} clarke_obstacle_kind;

typedef struct {
  clarke_obstacle_kind kind;
  size_t touches;            /* in the block that it stopped */
  size_t blocks, separated;  /* without a direction: those looked at; those where a vector separates, as floats tell */
  size_t systems, recalled;  /* of all trees: systems solved, and dead ends by a Gordan vector met before */
  size_t patterns, realized; /* OCCUR, COMPARE */
  bool *sideless;            /* by touch: in such a block; NULL: none was looked at */
} clarke_obstacle;

void clarke_obstacle_clear(clarke_obstacle *o);

/* "tree-limit", ... */
const char *clarke_obstacle_name(clarke_obstacle_kind kind);

/* The nodes that a tree of a block may have, and the list of all patterns, each of whose leaves costs a gradient. */
size_t clarke_tree_nodes(void);
size_t clarke_list_nodes(void);

/* A block was stopped here; of several the first in the order above is told. */
void clarke_obstacle_meet(clarke_obstacle *o, clarke_obstacle_kind kind, size_t touches);

#endif
