#include "audit/obstacle.h"

#include "base/limit.h"

#include <stdlib.h>
#include <string.h>

#define LEAF 4 /* nodes of a tree cost as much as one of the list, as a rule */

void
clarke_obstacle_clear(clarke_obstacle *o)
{
  free(o->sideless);
  memset(o, 0, sizeof *o);
}

const char *
clarke_obstacle_name(clarke_obstacle_kind kind)
{
  static const char *const name[] = {
    [CLARKE_OBSTACLE_NONE] = "none",
    [CLARKE_OBSTACLE_PRECISION] = "precision",
    [CLARKE_OBSTACLE_TREE] = "tree-nodes",
    [CLARKE_OBSTACLE_OUTSIDE] = "outside-of-block",
    [CLARKE_OBSTACLE_CLASSES] = "many-classes",
    [CLARKE_OBSTACLE_CURVED] = "not-affine",
    [CLARKE_OBSTACLE_SIMPLEX] = "no-simplex",
    [CLARKE_OBSTACLE_BEHIND] = "behind-blocks",
    [CLARKE_OBSTACLE_SMOOTH] = "transcendental",
    [CLARKE_OBSTACLE_PATTERNS] = "many-patterns",
    [CLARKE_OBSTACLE_LIST] = "list-nodes",
    [CLARKE_OBSTACLE_OCCUR] = "not-shown-to-occur",
    [CLARKE_OBSTACLE_COMPARE] = "not-compared",
  };

  return name[kind];
}

size_t
clarke_tree_nodes(void)
{
  return clarke_limit_of(CLARKE_LIMIT_TREE);
}

size_t
clarke_list_nodes(void)
{
  return clarke_limit_of(CLARKE_LIMIT_TREE) / LEAF + 1;
}

void
clarke_obstacle_meet(clarke_obstacle *o, clarke_obstacle_kind kind, size_t touches)
{
  if (o->kind != CLARKE_OBSTACLE_NONE && o->kind <= kind)
    return;
  o->kind = kind;
  o->touches = touches;
}
