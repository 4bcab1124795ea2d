#include "audit/refutations.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

void
clarke_refutations_init(clarke_refutations *s)
{
  memset(s, 0, sizeof *s);
}

static void
circuit_clear(clarke_refutation *c)
{
  for (size_t i = 0; i < c->n; i++)
    mpq_clear(c->multiplier[i].u);
  free(c->multiplier);
  free(c->class);
  free(c->option);
}

void
clarke_refutations_clear(clarke_refutations *s)
{
  for (size_t i = 0; i < s->n; i++)
    circuit_clear(&s->circuit[i]);
  free(s->circuit);
  clarke_refutations_init(s);
}

/* The class that the touch stands for. */
static size_t
class_of(const clarke_classes *c, size_t touch)
{
  size_t i = 0;

  while (i < c->n && c->class[i].touch[0] != touch)
    i++;
  return i;
}

/* New multipliers, with the numbers of n others. */
static clarke_multiplier *
copy_multipliers(const clarke_multiplier *from, size_t n)
{
  clarke_multiplier *to = malloc((n + 1) * sizeof *to);

  for (size_t i = 0; to != NULL && i < n; i++) {
    to[i] = (clarke_multiplier){.touch = from[i].touch, .condition = from[i].condition};
    mpq_init(to[i].u);
    mpq_set(to[i].u, from[i].u);
  }
  return to;
}

static clarke_refutation *
new_circuit(clarke_refutations *s)
{
  if (!clarke_room(&s->circuit, &s->capacity, s->n + 1, sizeof *s->circuit))
    return NULL;
  return &s->circuit[s->n];
}

clarke_status
clarke_refutations_keep(clarke_refutations *s, const clarke_node *dead, const clarke_classes *c, const size_t *chosen,
                     clarke_error *err)
{
  clarke_refutation *one = new_circuit(s);

  if (one == NULL)
    return clarke_no_memory(err);
  *one = (clarke_refutation){.class = malloc((dead->n + 1) * sizeof *one->class),
                          .option = malloc((dead->n + 1) * sizeof *one->option),
                          .multiplier = copy_multipliers(dead->multiplier, dead->n)};
  one->n = one->multiplier != NULL ? dead->n : 0;
  if (one->class == NULL || one->option == NULL || one->multiplier == NULL) {
    circuit_clear(one);
    return clarke_no_memory(err);
  }
  for (size_t i = 0; i < dead->n; i++) {
    one->class[i] = class_of(c, dead->multiplier[i].touch);
    one->option[i] = chosen[one->class[i]];
  }
  s->n++;
  return CLARKE_OK;
}

static bool
is_held(const clarke_refutation *c, const size_t *chosen)
{
  size_t i = 0;

  while (i < c->n && chosen[c->class[i]] == c->option[i])
    i++;
  return i == c->n;
}

clarke_status
clarke_refutations_refute(bool *refuted, clarke_tree *tree, const clarke_refutations *s, const size_t *chosen,
                       clarke_error *err)
{
  const clarke_refutation *found = NULL;
  clarke_node *node;

  for (size_t i = s->n; i-- > 0 && found == NULL;)
    if (is_held(&s->circuit[i], chosen))
      found = &s->circuit[i];
  *refuted = found != NULL;
  if (found == NULL)
    return CLARKE_OK;
  node = clarke_tree_add(tree, CLARKE_DEAD);
  if (node != NULL)
    node->multiplier = copy_multipliers(found->multiplier, found->n);
  if (node == NULL || node->multiplier == NULL)
    return clarke_no_memory(err);
  node->n = found->n;
  return CLARKE_OK;
}
