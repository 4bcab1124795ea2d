/* What composed nodes hand back, and what was not recorded behind a value (record_gather.h). */
#include "check/record/record_gather.h"
#include "check/base/allocate.h"

#include <stdlib.h>
#include <string.h>

bool
gather_shares(const graph_value *v, const graph_value *w)
{
  return w->constant == v->constant && (w->constant != NULL || w->step == v->step);
}

const tensor *
gather_given(record *r, const graph_value *w)
{
  const tensor *t = w != NULL && record_plain(r, w) ? record_find(r, "gradient", w->name) : NULL;
  if (t != NULL)
    record_fits(r, w, t);
  return t;
}

/* By step: the value that it makes, whose gradient was recorded, or NULL; and whether one is gathered there. */
typedef struct {
  const graph_value **given;
  bool *asked;
  size_t first; /* nothing is handed to the value before this step */
} ends;

/* The node's steps: at its output, or one before. */
static void
mark_node(const gather *g, ends *e, size_t place, const graph_value *w)
{
  const network *net = g->r->p->net;
  for (size_t s = 1; s < net->n_steps; s++)
    e->asked[s] = e->asked[s] || net->steps[s].place == place;
  if (record_find(g->r, "gradient", w->name) == NULL)
    return;
  e->asked[w->step] = false;
  e->given[w->step] = w;
}

/* Does the node read the value itself, or a view of its entries? */
static bool
reads_directly(const gather *g, const node *n)
{
  bool reads = false;
  for (size_t i = 0; i < n->n_in && !reads; i++) {
    const graph_value *w = network_value(g->r->p->net, n->in[i]);
    reads = w != NULL && gather_shares(g->v, w);
  }
  return reads;
}

static void
mark_nodes(gather *g, chain *c, ends *e, const size_t *nodes, size_t n)
{
  for (size_t i = 0; i < n && !g->unknown; i++) {
    const graph_value *w = network_value(g->r->p->net, g->r->m->nodes[nodes[i]].out[0]);
    g->unknown = !record_makes(g->r, w) || !record_plain(g->r, w);
    if (g->unknown)
      return;
    chain_add_node(c, g->r, nodes[i], reads_directly(g, &g->r->m->nodes[nodes[i]]));
    mark_node(g, e, nodes[i], w);
  }
  if (g->v->constant == NULL)
    e->asked[g->v->step] = true;
}

/* A constant's gradient has a rule where it multiplies, or is added, as it is. */
static bool
weighs_plainly(const gather *g, const step *st)
{
  bool plain = true;
  for (size_t i = 0; i < st->n_factors && g->v->constant != NULL && plain; i++)
    plain = st->factors[i].w != g->v->constant
            || (!st->divide && st->kind != OVER_ROOT
                && mpz_cmpabs(mpq_numref(st->factors[i].coef), mpq_denref(st->factors[i].coef)) == 0);
  return plain;
}

/* The recorded gradients of w, for the samples of a pass. */
static number *
recorded_gradients(node_pass *p, const gather *g, const graph_value *w)
{
  const tensor *t = gather_given(g->r, w);
  number *h = number_new(w->count * p->n, p->doubles);
  for (size_t e = 0; e < w->count * p->n; e++)
    node_recall(&h[e], p, record_entry(p->r, w, t, e / p->n, p->first + e % p->n));
  return h;
}

/* Does the step multiply by it, or add it? */
static bool
weighs(const step *st, const tensor *w)
{
  bool does = false;
  for (size_t i = 0; i < st->n_factors && !does; i++)
    does = st->factors[i].w == w;
  return does;
}

/* The first step that hands anything to the value. */
static size_t
first_behind(const gather *g, const chain *c)
{
  size_t s = c->low;
  if (g->v->constant == NULL)
    return g->v->step + 1;
  while (s < c->high && !(c->has[s] && weighs(&g->r->p->net->steps[s], g->v->constant)))
    s++;
  return s;
}

/* Is the gradient taken back through the step? */
static bool
is_passed(const chain *c, const ends *e, size_t s)
{
  return c->has[s] && s >= e->first && (e->given[s] != NULL || e->asked[s]);
}

/* By step of the chain: is what it computes read on the way back, or by what is? Through a sum with numbers nothing of it is. */
static bool *
find_needed(const gather *g, const chain *c, const ends *e)
{
  const network *net = g->r->p->net;
  bool *needed = allocate(net->n_steps, sizeof *needed);
  for (size_t s = c->high; s-- > c->low;) {
    const step *st = &net->steps[s];
    bool passed = is_passed(c, e, s), plain = st->kind == LINEAR && !weighs(st, g->v->constant);
    needed[s] = needed[s] || (passed && (st->kind == FUNCTION || st->kind == OVER_ROOT || st->length > 0));
    for (size_t i = 0; i < st->n_sources && (needed[s] || (passed && !plain)); i++) {
      size_t from = st->sources[i].step;
      if (from < PADDING && c->has[from] && g->r->entry[from] == NULL)
        needed[from] = true;
    }
  }
  return needed;
}

/* From the last step to the first behind the value. */
static void
take_back(node_pass *p, const gather *g, const chain *c, const ends *e)
{
  for (size_t s = c->high; s-- > c->low;) {
    if (!is_passed(c, e, s))
      continue;
    number *h = e->given[s] != NULL ? recorded_gradients(p, g, e->given[s]) : node_settle(p, s);
    node_back(p, s, h);
    number_free(h, p->r->p->net->steps[s].n * p->n);
  }
}

/* What the pass gathered is added to what the value has. */
static void
add_composed(const gather *g, const node_pass *p)
{
  size_t n = g->v->constant != NULL ? g->v->constant->count : g->r->p->net->steps[g->v->step].n;
  const cotangent *from = g->v->constant != NULL ? p->of_weight : p->back[g->v->step];
  size_t samples = record_samples(g->r, g->v), own = g->v->constant != NULL ? 1 : p->n;
  for (size_t e = 0; e < n * own && from != NULL; e++) {
    if (from[e].terms == 0)
      continue;
    require(g->place[e / own] != NONE, "a node reads an entry that its input does not hold");
    cotangent *to = &g->composed[g->place[e / own] * samples + (samples > 1 ? p->first + e % own : 0)];
    (g->v->negated ? enclosure_subtract : enclosure_add)(&to->x, &from[e].x);
    number_round(&to->x);
    to->off = bound_add(to->off, from[e].off);
    to->mass = bound_add(to->mass, from[e].mass);
    to->terms += from[e].terms;
    to->open = to->open || from[e].open;
  }
}

static void
run_chain(gather *g, const chain *c, const ends *e)
{
  size_t constants = g->v->constant != NULL ? g->v->constant->count : 0;
  bool *needed = find_needed(g, c, e);
  if (g->composed == NULL)
    g->composed = cotangents_new(g->v->count * record_samples(g->r, g->v), g->rough);
  for (size_t b = 0; b < g->r->p->net->batch && !g->unbounded; b += c->samples) {
    node_pass p;
    node_begin(&p, g->r, c, needed, b, g->type, g->rough);
    p.asked = e->asked;
    p.weight = g->v->constant;
    p.of_weight = cotangents_new(constants, g->rough);
    if (!p.ended)
      take_back(&p, g, c, e);
    if (!p.ended)
      add_composed(g, &p);
    g->unbounded = p.ended;
    cotangents_free(p.of_weight, constants);
    node_end(&p);
  }
  free(needed);
}

void
gather_chain(gather *g, const size_t *nodes, size_t n)
{
  const network *net = g->r->p->net;
  chain c;
  ends e = {allocate(net->n_steps, sizeof *e.given), allocate(net->n_steps, sizeof *e.asked), 0};
  chain_begin(&c, g->r);
  mark_nodes(g, &c, &e, nodes, n);
  chain_close(&c, g->r);
  for (size_t s = c.low; s < c.high && c.covers; s++)
    c.covers = (e.given[s] == NULL && !e.asked[s]) || weighs_plainly(g, &net->steps[s]);
  g->unknown = g->unknown || !c.covers;
  e.first = first_behind(g, &c);
  if (!g->unknown)
    run_chain(g, &c, &e);
  chain_end(&c);
  free(e.given);
  free(e.asked);
}
