/* Room for numbers (sieve.h). A room that is left goes back to malloc, which the command has told to keep its pages. */
#include "trace/certify/sieve.h"
#include "base/room.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

void
clarke_sieved_clear(clarke_sieve *s, clarke_sieved *v)
{
  if (v->owned && v->exact != NULL)
    clarke_sieve_leave(s, v->exact);
  if (v->owned && v->near != NULL)
    clarke_sieve_leave(s, v->near);
  clarke_sieve_leave(s, v->off);
  clarke_sieve_leave(s, v->may);
  clarke_sieve_leave(s, v->mass);
  clarke_sieve_leave(s, v->joined);
  free(v->slack);
  free(v->scale);
  free(v->top);
  free(v->shift);
  free(v->floor);
  memset(v, 0, sizeof *v);
}

/* Numbers that are known, as sums of their own. */
static bool
widen(clarke_sieve *s, clarke_sieved *v, size_t rows, size_t cols)
{
  double *own = clarke_sieve_take_doubles(s, rows * cols);

  if (own == NULL)
    return false;
  for (size_t e = 0; e < rows * cols; e++) {
    own[e] = v->exact[e];
    v->top[e / cols] = fmax(v->top[e / cols], fabs(own[e]));
  }
  if (v->owned)
    clarke_sieve_leave(s, v->exact);
  v->exact = NULL;
  v->near = own;
  v->owned = true;
  return true;
}

bool
clarke_sieved_begin(clarke_sieve *s, clarke_sieved *v, size_t rows, size_t cols, bool set)
{
  free(v->scale); /* one part's */
  v->scale = NULL;
  if (v->near != NULL)
    return true;
  v->slack = calloc(rows + 1, sizeof *v->slack);
  v->top = calloc(rows + 1, sizeof *v->top);
  if (v->slack == NULL || v->top == NULL)
    return false;
  if (v->exact != NULL)
    return widen(s, v, rows, cols);
  v->near = clarke_sieve_take_doubles(s, rows * cols);
  v->owned = true;
  if (v->near != NULL && !set)
    memset(v->near, 0, rows * cols * sizeof *v->near);
  return v->near != NULL;
}
