#include "program/demand.h"

#include <stdlib.h>
#include <string.h>

clarke_status
clarke_demand_init(clarke_demand *d, const clarke_code *p, clarke_error *err)
{
  memset(d, 0, sizeof *d);
  d->p = p;
  d->done = calloc(p->n + 1, sizeof *d->done);
  d->arm = calloc(p->n + 1, sizeof *d->arm);
  d->waiting = malloc((p->n + 1) * sizeof *d->waiting);
  if (d->done == NULL || d->arm == NULL || d->waiting == NULL)
    return clarke_no_memory(err);
  return CLARKE_OK;
}

void
clarke_demand_clear(clarke_demand *d)
{
  free(d->done);
  free(d->arm);
  free(d->waiting);
  memset(d, 0, sizeof *d);
}

void
clarke_demand_restart(clarke_demand *d)
{
  memset(d->done, 0, d->p->n * sizeof *d->done);
  memset(d->arm, 0, d->p->n * sizeof *d->arm);
  d->output = 0;
  d->n = 0;
}

/* The argument a waiting instruction asks for next; CLARKE_NONE when it has all it needs now. */
static size_t
wanted(clarke_demand *d, clarke_waiting *w)
{
  const clarke_instruction *i = &d->p->instruction[w->instruction];
  int8_t arm = d->arm[w->instruction];

  if (i->kind == CLARKE_DO_BRANCH && w->next >= 2) {
    size_t chosen = i->in[arm == 1 ? 2 : 3];

    return arm == 0 || d->done[chosen] ? CLARKE_NONE : chosen;
  }
  while (w->next < i->n_in && d->done[i->in[w->next]] &&
         (i->kind != CLARKE_DO_BRANCH || w->next < 2))
    w->next++;
  if (i->kind == CLARKE_DO_BRANCH && w->next >= 2)
    return wanted(d, w);
  return w->next < i->n_in ? i->in[w->next] : CLARKE_NONE;
}

size_t
clarke_demand_next(clarke_demand *d)
{
  for (;;) {
    size_t argument;

    while (d->n > 0 && d->done[d->waiting[d->n - 1].instruction])
      d->n--;
    if (d->n == 0) {
      if (d->output == d->p->n_outputs)
        return CLARKE_NONE;
      d->waiting[d->n++] = (clarke_waiting){d->p->output[d->output++], 0};
      continue;
    }
    argument = wanted(d, &d->waiting[d->n - 1]);
    if (argument == CLARKE_NONE)
      return d->waiting[d->n - 1].instruction;
    d->waiting[d->n++] = (clarke_waiting){argument, 0};
  }
}
