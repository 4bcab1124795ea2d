/* A hash table of integer vectors (vector_set.h). */
#include "region/vector_set.h"
#include "base/room.h"
#include "base/stop.h"

#include <flint/fmpz_vec.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void
clarke_vector_set_init(clarke_vector_set *s, size_t width)
{
  memset(s, 0, sizeof *s);
  s->width = width;
}

void
clarke_vector_set_clear(clarke_vector_set *s)
{
  for (size_t i = 0; i < s->n * s->width; i++)
    fmpz_clear(s->vector + i);
  free(s->vector);
  free(s->slot);
  memset(s, 0, sizeof *s);
}

/* FNV-1a, of the integers' low words and signs. */
static uint64_t
hash(const fmpz *vector, size_t n)
{
  uint64_t h = 14695981039346656037u;

  for (size_t i = 0; i < n; i++) {
    h = (h ^ fmpz_get_ui(vector + i)) * 1099511628211u;
    h = (h ^ (uint64_t)(fmpz_sgn(vector + i) + 1)) * 1099511628211u;
    h ^= h >> 29;
  }
  return h;
}

static size_t
slot_of(const clarke_vector_set *s, const fmpz *vector)
{
  size_t at = (size_t)hash(vector, s->width) & (s->slots - 1);

  while (s->slot[at] != 0 && !_fmpz_vec_equal(s->vector + (s->slot[at] - 1) * s->width, vector, (slong)s->width))
    at = (at + 1) & (s->slots - 1);
  return at;
}

static clarke_status
grow(clarke_vector_set *s, clarke_error *err)
{
  if (s->n < s->room)
    return CLARKE_OK;
  if (!clarke_room(&s->vector, &s->room, s->n + 1, (s->width + 1) * sizeof *s->vector))
    return clarke_no_memory(err);
  free(s->slot);
  for (s->slots = 64; s->slots < 2 * s->room; s->slots *= 2)
    ;
  s->slot = calloc(s->slots, sizeof *s->slot);
  if (s->slot == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < s->n; i++)
    s->slot[slot_of(s, s->vector + i * s->width)] = i + 1;
  return CLARKE_OK;
}

clarke_status
clarke_vector_set_add(size_t *number, clarke_vector_set *s, const fmpz *vector, clarke_error *err)
{
  clarke_status status = grow(s, err);
  size_t at;

  if (status != CLARKE_OK)
    return status;
  at = slot_of(s, vector);
  if (s->slot[at] == 0) {
    clarke_work_keep(16 * (s->width + 1));
    for (size_t j = 0; j < s->width; j++)
      fmpz_init_set(s->vector + s->n * s->width + j, vector + j);
    s->slot[at] = ++s->n;
  }
  *number = s->slot[at] - 1;
  return CLARKE_OK;
}
