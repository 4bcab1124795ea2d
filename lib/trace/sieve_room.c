/* Room for numbers (sieve.h). A room that is left goes back to malloc, which the command has told to keep its pages. */
#include "trace/sieve.h"

#include <stdlib.h>

/* Of spare bytes floats are made. */
#define UNIT _Alignof(float)

void *
clarke_sieve_take(clarke_sieve *s, size_t size)
{
  void *at;

  if (s->rooms == s->room_capacity) {
    const size_t wanted = 2 * s->room_capacity + 16;
    void **grown = realloc(s->room, wanted * sizeof *grown);

    if (grown == NULL)
      return NULL;
    s->room = grown;
    s->room_capacity = wanted;
  }
  at = malloc(size + 1);
  if (at != NULL)
    s->room[s->rooms++] = at;
  return at;
}

double *
clarke_sieve_take_doubles(clarke_sieve *s, size_t count)
{
  return clarke_sieve_take(s, count * sizeof(double));
}

float *
clarke_sieve_take_floats(clarke_sieve *s, size_t count)
{
  return clarke_sieve_take(s, count * sizeof(float));
}

void
clarke_sieve_leave(clarke_sieve *s, const void *at)
{
  for (size_t k = 0; k < s->rooms; k++)
    if (s->room[k] == at) {
      free(s->room[k]);
      s->room[k] = s->room[--s->rooms];
      return;
    }
}

void
clarke_sieve_leave_all(clarke_sieve *s)
{
  for (size_t k = 0; k < s->rooms; k++)
    free(s->room[k]);
  free(s->room);
  free(s->spare);
  s->room = NULL;
  s->spare = NULL;
  s->rooms = s->room_capacity = s->spares = s->spare_capacity = 0;
}

/* --- spare bytes --- */

/* Those that begin or end where others do are one with them. */
static void
join(clarke_sieve *s, clarke_sieve_spared *all)
{
  for (size_t k = 0; k < s->spares;) {
    const clarke_sieve_spared *other = &s->spare[k];

    if (other->at + other->size != all->at && all->at + all->size != other->at) {
      k++;
      continue;
    }
    all->at = other->at < all->at ? other->at : all->at;
    all->size += other->size;
    s->spare[k] = s->spare[--s->spares];
  }
}

void
clarke_sieve_spare(clarke_sieve *s, void *at, size_t size)
{
  const size_t skipped = -(uintptr_t)at % UNIT;
  clarke_sieve_spared all = {(unsigned char *)at + skipped, size - skipped};

  if (size <= skipped)
    return;
  join(s, &all);
  if (s->spares == s->spare_capacity) {
    const size_t wanted = 2 * s->spare_capacity + 16;
    clarke_sieve_spared *grown = realloc(s->spare, wanted * sizeof *grown);

    if (grown == NULL)
      return; /* they are not used, which is all */
    s->spare = grown;
    s->spare_capacity = wanted;
  }
  s->spare[s->spares++] = all;
}

void *
clarke_sieve_take_spare(clarke_sieve *s, size_t size)
{
  const size_t taken = (size + UNIT - 1) / UNIT * UNIT;
  clarke_sieve_spared *best = NULL;
  void *at;

  for (size_t k = 0; k < s->spares; k++)
    if (s->spare[k].size >= taken && (best == NULL || s->spare[k].size < best->size))
      best = &s->spare[k];
  if (best == NULL)
    return NULL;
  at = best->at;
  best->at += taken;
  best->size -= taken;
  return at;
}
