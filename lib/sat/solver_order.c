/* The order of variables: a binary heap, the largest activity on top; of equal ones the first variable. */
#include "sat/solver.h"

#define NOWHERE UINT32_MAX

static bool
before(const clarke_solver *s, uint32_t a, uint32_t b)
{
  return s->activity[a] > s->activity[b] || (s->activity[a] == s->activity[b] && a < b);
}

static void
put_at(clarke_solver *s, uint32_t place, uint32_t variable)
{
  s->heap[place] = variable;
  s->heap_place[variable] = place;
}

static void
rise(clarke_solver *s, uint32_t place)
{
  const uint32_t variable = s->heap[place];

  for (; place > 0 && before(s, variable, s->heap[(place - 1) / 2]); place = (place - 1) / 2)
    put_at(s, place, s->heap[(place - 1) / 2]);
  put_at(s, place, variable);
}

static void
sink(clarke_solver *s, uint32_t place)
{
  const uint32_t variable = s->heap[place];

  for (uint32_t child; (child = 2 * place + 1) < s->n_heap; place = child) {
    if (child + 1 < s->n_heap && before(s, s->heap[child + 1], s->heap[child]))
      child++;
    if (!before(s, s->heap[child], variable))
      break;
    put_at(s, place, s->heap[child]);
  }
  put_at(s, place, variable);
}

void
clarke_order_put(clarke_solver *s, uint32_t variable)
{
  if (s->heap_place[variable] != NOWHERE)
    return;
  put_at(s, s->n_heap++, variable);
  rise(s, s->n_heap - 1);
}

uint32_t
clarke_order_take(clarke_solver *s)
{
  while (s->n_heap > 0) {
    const uint32_t top = s->heap[0];

    s->heap_place[top] = NOWHERE;
    s->n_heap--;
    if (s->n_heap > 0) {
      put_at(s, 0, s->heap[s->n_heap]);
      sink(s, 0);
    }
    if (s->value[2 * top] == 0)
      return top;
  }
  return NO_CLAUSE;
}

void
clarke_order_bump(clarke_solver *s, uint32_t variable)
{
  s->activity[variable] += s->step;
  if (s->activity[variable] > 1e100) {
    for (size_t v = 0; v < s->n; v++)
      s->activity[v] *= 1e-100;
    s->step *= 1e-100;
  }
  if (s->heap_place[variable] != NOWHERE)
    rise(s, s->heap_place[variable]);
}
