/* What was not recorded, back to what was (record_chain.h). */
#include "check/record/record_chain.h"
#include "check/base/allocate.h"
#include "check/base/limit.h"

#include <stdlib.h>

void
chain_begin(chain *c, const record *r)
{
  *c = (chain){.has = allocate(r->p->net->n_steps, sizeof *c->has),
               .own = allocate(r->m->n_nodes, sizeof *c->own),
               .low = NONE,
               .samples = 1,
               .covers = true};
}

void
chain_end(chain *c)
{
  free(c->has);
  free(c->own);
}

static void
add(chain *c, size_t s)
{
  c->has[s] = true;
  c->low = s < c->low ? s : c->low;
  c->high = s >= c->high ? s + 1 : c->high;
}

void
chain_add(chain *c, const record *r, size_t s)
{
  c->own[r->p->net->steps[s].place] = true;
  add(c, s);
}

void
chain_add_node(chain *c, const record *r, size_t place, bool own)
{
  bool found = false;
  c->own[place] = c->own[place] || own;
  for (size_t s = 1; s < r->p->net->n_steps; s++)
    if (r->p->net->steps[s].place == place) {
      add(c, s);
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
    add(c, s);
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
    r->kept->unrecorded += c->own[net->steps[s].place] ? 0 : net->steps[s].n * net->batch;
    within(LIMIT_UNRECORDED, r->kept->unrecorded, "more entries have to be computed, of what was not recorded");
    c->samples = net->steps[s].couples ? net->batch : c->samples;
  }
}
