#include "pattern/tree.h"

#include "base/room.h"
#include "exact/number.h"

#include <stdlib.h>
#include <string.h>

/* --- refutations --- */

static int
compare(const void *left, const void *right)
{
  const clarke_multiplier *a = left, *b = right;

  return a->of != b->of ? (a->of > b->of) - (a->of < b->of) : (a->condition > b->condition) - (a->condition < b->condition);
}

clarke_status
clarke_gordan_read(clarke_gordan *g, mpq_t *u, const size_t *of, const size_t *condition, size_t n, clarke_error *err)
{
  g->multiplier = malloc((n + 1) * sizeof *g->multiplier);
  if (g->multiplier == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < n; i++) {
    clarke_multiplier *one = &g->multiplier[g->n];

    if (mpq_sgn(u[i]) == 0)
      continue;
    one->of = of[i];
    one->condition = condition != NULL ? condition[i] : 0;
    mpq_init(one->u);
    mpq_set(one->u, u[i]);
    g->n++;
  }
  qsort(g->multiplier, g->n, sizeof *g->multiplier, compare);
  return CLARKE_OK;
}

clarke_status
clarke_gordan_copy(clarke_gordan *to, const clarke_gordan *from, clarke_error *err)
{
  to->multiplier = malloc((from->n + 1) * sizeof *to->multiplier);
  if (to->multiplier == NULL)
    return clarke_no_memory(err);
  for (to->n = 0; to->n < from->n; to->n++) {
    const clarke_multiplier *one = &from->multiplier[to->n];

    to->multiplier[to->n] = (clarke_multiplier){.of = one->of, .condition = one->condition};
    mpq_init(to->multiplier[to->n].u);
    mpq_set(to->multiplier[to->n].u, one->u);
  }
  return CLARKE_OK;
}

void
clarke_gordan_clear(clarke_gordan *g)
{
  for (size_t i = 0; i < g->n; i++)
    mpq_clear(g->multiplier[i].u);
  free(g->multiplier);
  *g = (clarke_gordan){0};
}

bool
clarke_gordan_is_valid(const clarke_gordan *g)
{
  for (size_t i = 0; i < g->n; i++)
    if (!clarke_rational_is_canonical(g->multiplier[i].u) || mpq_sgn(g->multiplier[i].u) <= 0 ||
        (i > 0 && compare(&g->multiplier[i - 1], &g->multiplier[i]) >= 0))
      return false;
  return g->n > 0;
}

/* --- nodes --- */

void
clarke_tree_init(clarke_tree *t)
{
  memset(t, 0, sizeof *t);
}

void
clarke_tree_clear(clarke_tree *t)
{
  for (size_t i = 0; i < t->n; i++) {
    clarke_gordan_clear(&t->node[i].gordan);
    free(t->node[i].side);
  }
  free(t->node);
  free(t->parallel);
  free(t->opposite);
  clarke_tree_init(t);
}

clarke_node *
clarke_tree_add(clarke_tree *t, clarke_node_kind kind)
{
  if (!clarke_room(&t->node, &t->capacity, t->n + 1, sizeof *t->node))
    return NULL;
  memset(&t->node[t->n], 0, sizeof *t->node);
  t->node[t->n].kind = kind;
  return &t->node[t->n++];
}
