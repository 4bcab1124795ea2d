/* What was not recorded, back to what was (record_chain.h). */
#include "record_chain.h"
#include "allocate.h"

#include <stdlib.h>

void
chain_begin(chain *c, const record *r)
{
  *c = (chain){.has = allocate(r->p->net->n_steps, sizeof *c->has), .low = NONE, .samples = 1, .covers = true};
}

void
chain_end(chain *c)
{
  free(c->has);
}

void
chain_add(chain *c, size_t s)
{
  c->has[s] = true;
  c->low = s < c->low ? s : c->low;
  c->high = s >= c->high ? s + 1 : c->high;
}

void
chain_add_node(chain *c, const record *r, size_t place)
{
  bool found = false;
  for (size_t s = 1; s < r->p->net->n_steps; s++)
    if (r->p->net->steps[s].place == place) {
      chain_add(c, s);
      found = true;
    }
  c->covers = c->covers && found;
}

/* Sources come before what reads them. What was recorded is read; what was not is computed, too; of what tore nobody knows. */
static void
add_sources(chain *c, const record *r, const step *st)
{
  c->covers = c->covers && st->kind != WINDOW && st->kind != INPUT;
  for (size_t i = 0; i < st->n_sources && c->covers; i++) {
    size_t s = st->sources[i].step;
    if (s >= PADDING || c->has[s] || record_known(r, s))
      continue;
    c->covers = r->entry[s] == NULL && !r->torn[s];
    chain_add(c, s);
  }
  for (size_t i = 0; i < st->n_factors && c->covers; i++)
    c->covers = st->factors[i].w == NULL || !st->factors[i].w->torn;
}

void
chain_close(chain *c, const record *r)
{
  const network *net = r->p->net;
  c->covers = c->covers && c->low < c->high;
  for (size_t s = c->high; c->covers && s-- > c->low;) {
    if (!c->has[s])
      continue;
    add_sources(c, r, &net->steps[s]);
    c->samples = net->steps[s].couples ? net->batch : c->samples;
  }
}
