/* Room for numbers (sieve.h). A room that is left goes back to malloc, which the command has told to keep its pages. */
#include "trace/certify/sieve.h"
#include "base/room.h"

#include <stdlib.h>

void *
clarke_sieve_take(clarke_sieve *s, size_t size)
{
  void *at;

  if (!clarke_room(&s->room, &s->room_capacity, s->rooms + 1, sizeof *s->room))
    return NULL;
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
  s->room = NULL;
  s->rooms = s->room_capacity = 0;
}
