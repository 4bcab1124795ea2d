/* A table of open addresses. */
#include "check/base/name_index.h"
#include "check/base/allocate.h"

#include <stdlib.h>
#include <string.h>

/* Where the name is, or may be put. */
static size_t *
place_of(const name_index *t, const char *name)
{
  uint64_t hash = UINT64_C(14695981039346656037); /* Fowler, Noll, Vo */
  for (const char *c = name; *c != '\0'; c++)
    hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
  hash ^= hash >> 32; /* its low bits depend on few of the name's */
  for (size_t i = hash & (t->n_places - 1);; i = (i + 1) & (t->n_places - 1))
    if (t->place[i] == 0 || strcmp(t->name[t->place[i] - 1], name) == 0)
      return &t->place[i];
}

size_t
name_find(const name_index *t, const char *name)
{
  size_t found = t->n > 0 ? *place_of(t, name) : 0;
  return found > 0 ? found - 1 : NONE;
}

static void
make_room(name_index *t)
{
  if (2 * (t->n + 1) <= t->n_places)
    return;
  free(t->place);
  t->n_places = t->n_places == 0 ? 16 : 2 * t->n_places;
  t->place = allocate(t->n_places, sizeof *t->place);
  for (size_t k = 0; k < t->n; k++)
    *place_of(t, t->name[k]) = k + 1;
}

bool
name_add(name_index *t, const char *name)
{
  make_room(t);
  size_t *place = place_of(t, name);
  if (*place != 0)
    return false;
  t->name = grow(t->name, t->n, sizeof *t->name);
  t->name[t->n++] = name;
  *place = t->n;
  return true;
}

void
name_index_free(name_index *t)
{
  free(t->name);
  free(t->place);
  *t = (name_index){0};
}
