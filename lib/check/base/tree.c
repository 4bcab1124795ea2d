/* Trees of proofs, in preorder (tree.h). */
#include "check/base/tree.h"
#include "check/base/allocate.h"

static void
go_down(tree_path *path, size_t among)
{
  path->among = grow(path->among, path->depth, sizeof *path->among);
  path->choice = grow(path->choice, path->depth, sizeof *path->choice);
  path->among[path->depth] = among;
  path->choice[path->depth++] = 0;
}

/* To the next subtree; false when there is none. */
static bool
go_on(tree_path *path, const tree_rules *rules, void *of)
{
  for (; path->depth > 0; path->depth--) {
    if (++path->choice[path->depth - 1] < path->among[path->depth - 1])
      return true;
    if (rules->leave != NULL)
      rules->leave(of);
  }
  return false;
}

size_t
tree_read(tree_path *path, const tree_rules *rules, void *of)
{
  size_t leaves = 0;
  for (bool more = true; more;) {
    size_t among = rules->read(of);
    bool node = among != TREE_LEAF && among != TREE_REFUTED;
    leaves += among == TREE_LEAF;
    if (node)
      go_down(path, among);
    more = node || go_on(path, rules, of);
    if (more && rules->enter != NULL)
      rules->enter(of);
  }
  require(leaves > 0, "a tree without a leaf");
  return leaves;
}
