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
  clarke_gordan_clear(&c->gordan);
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

static clarke_refutation *
new_circuit(clarke_refutations *s)
{
  if (!clarke_room(&s->circuit, &s->capacity, s->n + 1, sizeof *s->circuit))
    return NULL;
  return &s->circuit[s->n];
}

clarke_status
clarke_refutations_keep(clarke_refutations *s, const clarke_gordan *dead, const clarke_classes *c, const size_t *chosen,
                     clarke_error *err)
{
  clarke_refutation *one = new_circuit(s);
  clarke_status status;

  if (one == NULL)
    return clarke_no_memory(err);
  *one = (clarke_refutation){.class = malloc((dead->n + 1) * sizeof *one->class),
                          .option = malloc((dead->n + 1) * sizeof *one->option)};
  status = one->class != NULL && one->option != NULL ? clarke_gordan_copy(&one->gordan, dead, err) : clarke_no_memory(err);
  if (status != CLARKE_OK) {
    circuit_clear(one);
    return status;
  }
  for (size_t i = 0; i < dead->n; i++) {
    one->class[i] = class_of(c, dead->multiplier[i].of);
    one->option[i] = chosen[one->class[i]];
  }
  s->n++;
  return CLARKE_OK;
}

static bool
is_held(const clarke_refutation *c, const size_t *chosen)
{
  size_t i = 0;

  while (i < c->gordan.n && chosen[c->class[i]] == c->option[i])
    i++;
  return i == c->gordan.n;
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
  return node != NULL ? clarke_gordan_copy(&node->gordan, &found->gordan, err) : clarke_no_memory(err);
}
