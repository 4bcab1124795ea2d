/* Chains of units from the inputs to an output (chains.h). */
#include "program/chains.h"

#include "base/room.h"
#include "base/stop.h"

#include <stdlib.h>
#include <string.h>

/* Links kept for the corners; instructions swept over for these, and for the chain. */
#define LINKS ((size_t)1 << 20)
#define CORNER_STEPS ((size_t)1 << 28)
#define CHAIN_STEPS ((size_t)1 << 32)

static clarke_status
keep_link(clarke_links *l, size_t from, const mpq_t value, clarke_error *err)
{
  if (!clarke_room(&l->link, &l->capacity, l->n + 1, sizeof *l->link))
    return clarke_no_memory(err);
  l->link[l->n].from = from;
  mpq_init(l->link[l->n].value);
  mpq_set(l->link[l->n++].value, value);
  return CLARKE_OK;
}

static void
links_clear(clarke_links *l)
{
  for (size_t k = 0; k < l->n; k++)
    mpq_clear(l->link[k].value);
  free(l->link);
}

/* Is the adjoint at an instruction certainly not zero? */
static bool
linked(clarke_chains *c, size_t instruction)
{
  const clarke_number *x = &c->u->adjoint[instruction];
  int sign = clarke_number_sign(x);

  c->unsure = c->unsure || sign == 2;
  c->kept = c->kept && x->exact;
  return sign == 1 || sign == -1;
}

static void
reach(clarke_chains *c, size_t site, size_t next)
{
  if (c->reached[site])
    return;
  c->reached[site] = true;
  c->next[site] = next;
  c->queue[c->n_queue++] = site;
}

static void
from_outputs(clarke_chains *c)
{
  clarke_units *u = c->u;

  for (size_t o = 0; o < u->n_outputs; o++) {
    clarke_units_sweep_output(u, o);
    c->steps += u->e->p->n;
    for (size_t s = 0; s < u->n_sites; s++) {
      size_t at = u->site[s].instruction;

      if (!linked(c, at))
        continue;
      reach(c, s, CLARKE_NONE);
      if (c->kept)
        mpq_set(c->sink[s * u->n_outputs + o], u->adjoint[at].q);
    }
  }
}

/* Links into a unit's form from sites before it and from inputs. */
static clarke_status
from_unit(clarke_chains *c, size_t unit, clarke_error *err)
{
  clarke_units *u = c->u;
  size_t own = u->unit[unit].site;
  clarke_status status = clarke_work_check(err);

  clarke_units_sweep_unit(u, unit);
  c->steps += u->e->p->n;
  c->first_site[unit] = c->to_site.n;
  for (size_t s = 0; s < own && status == CLARKE_OK; s++)
    if (linked(c, u->site[s].instruction)) {
      reach(c, s, unit);
      if (c->kept)
        status = keep_link(&c->to_site, s, u->adjoint[u->site[s].instruction].q, err);
    }
  c->n_site[unit] = c->to_site.n - c->first_site[unit];
  c->first_input[unit] = c->to_input.n;
  for (size_t j = 0; j < u->n_wrt && status == CLARKE_OK; j++)
    if (linked(c, u->input[j])) {
      c->chain = c->chain == CLARKE_NONE ? unit : c->chain;
      if (c->kept)
        status = keep_link(&c->to_input, j, u->adjoint[u->input[j]].q, err);
    }
  c->n_input[unit] = c->to_input.n - c->first_input[unit];
  c->kept = c->kept && c->to_site.n + c->to_input.n <= LINKS;
  return status;
}

clarke_status
clarke_chains_find(clarke_chains *c, clarke_error *err)
{
  clarke_units *u = c->u;
  clarke_status status = CLARKE_OK;

  from_outputs(c);
  for (size_t k = 0; k < c->n_queue; k++) {
    const clarke_site *s = &u->site[c->queue[k]];

    for (size_t v = s->first_unit; v < s->first_unit + s->n_units; v++) {
      c->kept = c->kept && c->steps <= CORNER_STEPS;
      c->unsure = c->unsure || c->steps > CHAIN_STEPS;
      if (!c->kept && (c->chain != CLARKE_NONE || c->steps > CHAIN_STEPS))
        return CLARKE_OK;
      status = from_unit(c, v, err);
      if (status != CLARKE_OK)
        return status;
    }
  }
  return status;
}

static bool
few_corners(const clarke_units *u)
{
  size_t product = 1;

  for (size_t s = 0; s < u->n_sites && product <= 64 * CLARKE_CONSERVATIVE_CORNERS; s++)
    product *= u->site[s].n_units + 1;
  return product <= 64 * CLARKE_CONSERVATIVE_CORNERS && u->n_sites * u->n_outputs <= LINKS;
}

clarke_status
clarke_chains_init(clarke_chains *c, clarke_units *u, clarke_error *err)
{
  size_t n = u->n_sites * u->n_outputs;

  *c = (clarke_chains){.u = u, .chain = CLARKE_NONE, .kept = few_corners(u)};
  c->reached = calloc(u->n_sites + 1, sizeof *c->reached);
  c->next = malloc((u->n_sites + 1) * sizeof *c->next);
  c->queue = malloc((u->n_sites + 1) * sizeof *c->queue);
  c->first_site = calloc(u->n + 1, sizeof *c->first_site);
  c->n_site = calloc(u->n + 1, sizeof *c->n_site);
  c->first_input = calloc(u->n + 1, sizeof *c->first_input);
  c->n_input = calloc(u->n + 1, sizeof *c->n_input);
  c->sink = c->kept ? malloc((n + 1) * sizeof *c->sink) : NULL;
  for (size_t k = 0; c->sink != NULL && k < n; k++)
    mpq_init(c->sink[k]);
  if (c->reached != NULL && c->next != NULL && c->queue != NULL && c->first_site != NULL &&
      c->n_site != NULL && c->first_input != NULL && c->n_input != NULL &&
      (c->sink != NULL || !c->kept))
    return CLARKE_OK;
  return clarke_no_memory(err);
}

void
clarke_chains_clear(clarke_chains *c)
{
  for (size_t k = 0; c->sink != NULL && k < c->u->n_sites * c->u->n_outputs; k++)
    mpq_clear(c->sink[k]);
  free(c->sink);
  free(c->reached);
  free(c->next);
  free(c->queue);
  links_clear(&c->to_site);
  links_clear(&c->to_input);
  free(c->first_site);
  free(c->n_site);
  free(c->first_input);
  free(c->n_input);
}
