#include "trace/sieve.h"

#include "network/reverse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static clarke_sieve_room *
new_room(clarke_sieve *s, size_t count)
{
  clarke_sieve_room *to;

  if (s->rooms == s->room_capacity) {
    const size_t wanted = 2 * s->room_capacity + 16;
    clarke_sieve_room *grown = realloc(s->room, wanted * sizeof *grown);

    if (grown == NULL)
      return NULL;
    s->room = grown;
    s->room_capacity = wanted;
  }
  to = &s->room[s->rooms];
  to->at = malloc((count + 1) * sizeof *to->at);
  to->count = count;
  s->rooms += to->at != NULL;
  return to->at != NULL ? to : NULL;
}

double *
clarke_sieve_take(clarke_sieve *s, size_t count)
{
  clarke_sieve_room *best = NULL;

  for (size_t k = 0; k < s->rooms; k++)
    if (!s->room[k].taken && s->room[k].count >= count && (best == NULL || s->room[k].count < best->count))
      best = &s->room[k];
  if (best == NULL)
    best = new_room(s, count);
  if (best == NULL)
    return NULL;
  best->taken = true;
  return best->at;
}

double *
clarke_sieve_zeros(clarke_sieve *s, size_t count)
{
  double *at = clarke_sieve_take(s, count);

  if (at != NULL)
    memset(at, 0, count * sizeof *at);
  return at;
}

void
clarke_sieve_leave(clarke_sieve *s, double *at)
{
  for (size_t k = 0; k < s->rooms; k++)
    if (s->room[k].at == at)
      s->room[k].taken = false;
}

void
clarke_sieved_clear(clarke_sieve *s, clarke_sieved *v)
{
  if (v->owned)
    clarke_sieve_leave(s, v->near);
  free(v->slack);
  free(v->scale);
  free(v->top);
  free(v->shift);
  free(v->floor);
  memset(v, 0, sizeof *v);
}

bool
clarke_sieved_begin(clarke_sieve *s, clarke_sieved *v, size_t rows, size_t cols)
{
  if (v->near == NULL) {
    v->near = clarke_sieve_zeros(s, rows * cols);
    v->owned = true;
  } else if (!v->owned) { /* another's numbers, to which something is added */
    double *own = clarke_sieve_take(s, rows * cols);

    if (own == NULL)
      return false;
    memcpy(own, v->near, rows * cols * sizeof *own);
    v->near = own;
    v->owned = true;
  }
  free(v->scale); /* one part's */
  v->scale = NULL;
  if (v->slack == NULL) {
    v->slack = calloc(rows + 1, sizeof *v->slack);
    v->top = calloc(rows + 1, sizeof *v->top);
    for (size_t e = 0; v->near != NULL && v->parts > 0 && v->top != NULL && e < rows * cols; e++)
      v->top[e / cols] = fmax(v->top[e / cols], fabs(v->near[e]));
  }
  return v->near != NULL && v->slack != NULL && v->top != NULL;
}

static clarke_status
begin(clarke_sieve *s, clarke_certify *c, clarke_error *err)
{
  const size_t values = c->g->n_values + 1;

  *s = (clarke_sieve){.c = c, .g = c->g, .n = c->pass.n};
  s->value = calloc(values, sizeof *s->value);
  s->grad = calloc(values, sizeof *s->grad);
  s->carries = calloc(values, sizeof *s->carries);
  if (s->value == NULL || s->grad == NULL || s->carries == NULL)
    return clarke_no_memory(err);
  clarke_reverse_carriers(s->carries, c->g, CLARKE_NONE);
  return CLARKE_OK;
}

static void
end(clarke_sieve *s)
{
  for (size_t v = 0; v < s->g->n_values; v++) {
    if (s->value != NULL)
      clarke_sieved_clear(s, &s->value[v]);
    if (s->grad != NULL)
      clarke_sieved_clear(s, &s->grad[v]);
  }
  free(s->value);
  free(s->grad);
  free(s->carries);
  for (size_t k = 0; k < s->rooms; k++)
    free(s->room[k].at);
  free(s->room);
}

/* Float32 throughout, and a network of steps that the sieve knows. */
static bool
is_known(const clarke_certify *c)
{
  if (c->by.unit != 0x1p-24 || c->by.casts || c->x->dtype != CLARKE_F32)
    return false;
  for (size_t i = 0; i < c->g->n_steps; i++)
    switch (c->g->steps[i].kind) {
    case CLARKE_GATHER:
    case CLARKE_SUM:
    case CLARKE_DENSE:
    case CLARKE_PIECEWISE:
    case CLARKE_MAX:
      break;
    default:
      return false;
    }
  return true;
}

clarke_status
clarke_sieve_run(bool *decided, clarke_certify *c, clarke_error *err)
{
  clarke_sieve s;
  clarke_status status;

  *decided = false;
  if (!is_known(c))
    return CLARKE_OK;
  status = clarke_certify_begin(c, err);
  if (status == CLARKE_OK)
    status = begin(&s, c, err);
  else
    return status;
  if (status == CLARKE_OK)
    status = clarke_certify_constants(c, err);
  if (status == CLARKE_OK)
    status = clarke_sieve_forward(&s, err);
  if (status == CLARKE_OK && !s.open)
    status = clarke_sieve_backward(&s, err);
  *decided = status == CLARKE_OK && !s.open;
  end(&s);
  return status;
}
