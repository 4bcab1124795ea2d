/* The conservative set of a program (conservative.h): whether it is a single point by the shortest chain of
 * units from the inputs to an output (thesis, Propositions 3 and 4; only a shortest one is sure to
 * give a second element, as its monomial is then the only one that its units make), and its
 * corners, which span its hull, as the polynomial of units.h is of degree one in each site's
 * choice. */
#include "program/conservative.h"
#include "base/stop.h"
#include "program/units.h"

#include <stdlib.h>
#include <string.h>

/* Entries of an element, of all corners together, links kept for them; instructions swept over for
 * the corners, and for the chain. */
#define ELEMENT_ENTRIES ((size_t)1 << 24)
#define CORNER_ENTRIES ((size_t)1 << 21)
#define LINKS ((size_t)1 << 20)
#define CORNER_STEPS ((size_t)1 << 28)
#define CHAIN_STEPS ((size_t)1 << 32)

void
clarke_conservative_init(clarke_conservative *c)
{
  memset(c, 0, sizeof *c);
  clarke_points_init(&c->vertices, 0);
}

void
clarke_conservative_clear(clarke_conservative *c)
{
  for (size_t k = 0; k < 2; k++) {
    for (size_t j = 0; c->element[k] != NULL && j < c->vertices.dim; j++)
      mpq_clear(c->element[k][j]);
    free(c->element[k]);
  }
  clarke_points_clear(&c->vertices);
  clarke_conservative_init(c);
}

/* --- links ------------------------------------------------------------------------------------ */

/* A nonzero derivative of a unit's form in an earlier site's instruction, in an entry of wrt. */
typedef struct {
  size_t from;
  mpq_t value;
} link;

typedef struct {
  size_t n, capacity;
  link *link;
} links;

typedef struct {
  clarke_units *u;
  bool kept;           /* links are: the corners may be few enough */
  bool unsure;         /* a link that may be zero, or not */
  size_t steps;
  bool *reached;       /* by site: a chain from its units to an output */
  size_t *next;        /* by site: the next unit on a shortest one, or CLARKE_NONE */
  size_t n_queue, *queue; /* sites, the nearest to an output first */
  size_t chain;        /* a shortest chain's first unit, or CLARKE_NONE */
  links to_site, to_input; /* by unit: first_... .. first_... + n_... - 1 */
  size_t *first_site, *n_site, *first_input, *n_input;
  mpq_t *sink;         /* sites x outputs */
} chains;

static clarke_status
keep_link(links *l, size_t from, const mpq_t value, clarke_error *err)
{
  if (l->n == l->capacity) {
    size_t capacity = l->capacity == 0 ? 16 : 2 * l->capacity;
    link *grown = realloc(l->link, capacity * sizeof *grown);

    if (grown == NULL)
      return clarke_no_memory(err);
    l->link = grown;
    l->capacity = capacity;
  }
  l->link[l->n].from = from;
  mpq_init(l->link[l->n].value);
  mpq_set(l->link[l->n++].value, value);
  return CLARKE_OK;
}

static void
links_clear(links *l)
{
  for (size_t k = 0; k < l->n; k++)
    mpq_clear(l->link[k].value);
  free(l->link);
}

/* Is the adjoint at an instruction certainly not zero? */
static bool
linked(chains *c, size_t instruction)
{
  const clarke_number *x = &c->u->adjoint[instruction];
  int sign = clarke_number_sign(x);

  c->unsure = c->unsure || sign == 2;
  c->kept = c->kept && x->exact;
  return sign == 1 || sign == -1;
}

static void
reach(chains *c, size_t site, size_t next)
{
  if (c->reached[site])
    return;
  c->reached[site] = true;
  c->next[site] = next;
  c->queue[c->n_queue++] = site;
}

static void
from_outputs(chains *c)
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
from_unit(chains *c, size_t unit, clarke_error *err)
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

/* Breadth first from the outputs: the first unit found to hang on an input begins a shortest
 * chain. The search ends there when the links are not kept for the corners. */
static clarke_status
find_chains(chains *c, clarke_error *err)
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

static clarke_status
chains_init(chains *c, clarke_units *u, clarke_error *err)
{
  size_t n = u->n_sites * u->n_outputs;

  *c = (chains){.u = u, .chain = CLARKE_NONE, .kept = few_corners(u)};
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

static void
chains_clear(chains *c)
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

/* --- corners ---------------------------------------------------------------------------------- */

typedef struct {
  const chains *c;
  size_t n_useful, *useful; /* units on some chain, in order */
  size_t n_sites, *first;   /* of sites with a useful unit: into useful, one more at the end */
  size_t dim;
  mpq_t *flow;   /* by site: its chosen unit's form, differentiated: n_wrt */
  bool *chosen;  /* by site: has a unit chosen */
  mpq_t *sum;    /* by depth: the gradient so far */
  size_t n, n_corners;
  mpq_t *corner;
} corners;

/* Units from which a chain leads to an output and to which one leads from an input. */
static clarke_status
find_useful(corners *k, clarke_error *err)
{
  const chains *c = k->c;
  const clarke_units *u = c->u;
  bool *fed = calloc(u->n_sites + 1, sizeof *fed);

  k->useful = malloc((u->n + 1) * sizeof *k->useful);
  k->first = malloc((u->n_sites + 1) * sizeof *k->first);
  if (fed == NULL || k->useful == NULL || k->first == NULL) {
    free(fed);
    return clarke_no_memory(err);
  }
  for (size_t v = 0; v < u->n; v++) {
    size_t site = u->unit[v].site;
    bool useful = c->n_input[v] > 0;

    for (size_t l = 0; l < c->n_site[v] && !useful; l++)
      useful = fed[c->to_site.link[c->first_site[v] + l].from];
    if (!useful || !c->reached[site])
      continue;
    fed[site] = true;
    if (k->n_useful == 0 || u->unit[k->useful[k->n_useful - 1]].site != site)
      k->first[k->n_sites++] = k->n_useful;
    k->useful[k->n_useful++] = v;
  }
  k->first[k->n_sites] = k->n_useful;
  free(fed);
  return CLARKE_OK;
}

/* How many corners there are, or 0 for too many. */
static size_t
count_corners(const corners *k)
{
  size_t product = 1;

  for (size_t s = 0; s < k->n_sites; s++) {
    product *= k->first[s + 1] - k->first[s] + 1;
    if (product > CLARKE_CONSERVATIVE_CORNERS)
      return 0;
  }
  return k->dim == 0 || product <= CORNER_ENTRIES / k->dim ? product : 0;
}

/* The derivative of a unit's form under the choices of the sites before it. */
static void
set_flow(corners *k, size_t unit)
{
  const chains *c = k->c;
  size_t n = c->u->n_wrt;
  mpq_t *flow = &k->flow[c->u->unit[unit].site * n], term;

  mpq_init(term);
  for (size_t j = 0; j < n; j++)
    mpq_set_si(flow[j], 0, 1);
  for (size_t l = 0; l < c->n_input[unit]; l++) {
    link *from = &c->to_input.link[c->first_input[unit] + l];

    mpq_set(flow[from->from], from->value);
  }
  for (size_t l = 0; l < c->n_site[unit]; l++) {
    link *from = &c->to_site.link[c->first_site[unit] + l];

    for (size_t j = 0; j < n && k->chosen[from->from]; j++) {
      mpq_mul(term, from->value, k->flow[from->from * n + j]);
      mpq_add(flow[j], flow[j], term);
    }
  }
  mpq_clear(term);
}

/* The gradient at this depth, plus what the site's chosen unit adds, for the next depth. */
static void
add_flow(corners *k, size_t depth, size_t site)
{
  const clarke_units *u = k->c->u;
  mpq_t *sum = &k->sum[depth * k->dim], *more = sum + k->dim, term;

  mpq_init(term);
  for (size_t o = 0; o < u->n_outputs; o++)
    for (size_t j = 0; j < u->n_wrt; j++) {
      size_t e = o * u->n_wrt + j;

      mpq_mul(term, k->c->sink[site * u->n_outputs + o], k->flow[site * u->n_wrt + j]);
      mpq_add(more[e], sum[e], term);
    }
  mpq_clear(term);
}

static void
visit_corners(corners *k, size_t depth)
{
  const clarke_units *u = k->c->u;
  mpq_t *sum = &k->sum[depth * k->dim];

  if (depth == k->n_sites) {
    for (size_t e = 0; e < k->dim; e++)
      mpq_set(k->corner[k->n * k->dim + e], sum[e]);
    k->n++;
    return;
  }
  for (size_t e = 0; e < k->dim; e++)
    mpq_set(sum[k->dim + e], sum[e]);
  visit_corners(k, depth + 1);
  for (size_t v = k->first[depth]; v < k->first[depth + 1]; v++) {
    size_t site = u->unit[k->useful[v]].site;

    k->chosen[site] = true;
    set_flow(k, k->useful[v]);
    add_flow(k, depth, site);
    visit_corners(k, depth + 1);
    k->chosen[site] = false;
  }
}

/* Depth is log2 of the number of corners at most. */
static clarke_status
list_corners(corners *k, mpq_t *base, clarke_error *err)
{
  const clarke_units *u = k->c->u;
  size_t n_flow = u->n_sites * u->n_wrt, n_sum = (k->n_sites + 1) * k->dim;
  clarke_status status = CLARKE_OK;

  k->flow = clarke_rationals(n_flow);
  k->chosen = calloc(u->n_sites + 1, sizeof *k->chosen);
  k->sum = clarke_rationals(n_sum);
  k->corner = clarke_rationals(k->n_corners * k->dim);
  if (k->flow == NULL || k->chosen == NULL || k->sum == NULL || k->corner == NULL)
    status = clarke_no_memory(err);
  for (size_t e = 0; e < k->dim && status == CLARKE_OK; e++)
    mpq_set(k->sum[e], base[e]);
  if (status == CLARKE_OK)
    visit_corners(k, 0);
  clarke_rationals_free(k->flow, n_flow);
  free(k->chosen);
  clarke_rationals_free(k->sum, n_sum);
  return status;
}

/* vertices: of the corners' hull, when they are few enough. */
static clarke_status
enumerate(clarke_conservative *c, const chains *found, clarke_error *err)
{
  corners k = {.c = found, .dim = c->vertices.dim};
  clarke_points all;
  clarke_status status = find_useful(&k, err);

  clarke_points_init(&all, k.dim);
  if (status == CLARKE_OK)
    k.n_corners = count_corners(&k);
  if (k.n_corners > 0) {
    status = list_corners(&k, c->element[0], err);
    if (status == CLARKE_OK)
      status = clarke_points_set(&all, k.n, k.corner, err);
    if (status == CLARKE_OK)
      status = clarke_points_hull(&c->vertices, &c->enumerated, &all, err);
    clarke_rationals_free(k.corner, k.n_corners * k.dim);
  }
  clarke_points_clear(&all);
  free(k.useful);
  free(k.first);
  return status;
}

/* --- the set ---------------------------------------------------------------------------------- */

static void
choose_chain(const chains *c, bool on)
{
  for (size_t v = c->chain; v != CLARKE_NONE; v = c->next[c->u->unit[v].site])
    clarke_units_choose(c->u, v, on);
}

static bool
same(mpq_t *x, mpq_t *y, size_t n)
{
  for (size_t k = 0; k < n; k++)
    if (!mpq_equal(x[k], y[k]))
      return false;
  return true;
}

/* The base choice's gradient, and that of the shortest chain taken. */
static clarke_status
find_elements(clarke_conservative *c, chains *found, clarke_error *err)
{
  size_t dim = c->vertices.dim, n = found->chain == CLARKE_NONE ? 1 : 2;

  for (size_t k = 0; k < n; k++) {
    c->element[k] = clarke_rationals(dim);
    if (c->element[k] == NULL)
      return clarke_no_memory(err);
  }
  c->known = clarke_units_gradient(c->element[0], found->u);
  if (found->chain == CLARKE_NONE || !c->known)
    return CLARKE_OK;
  choose_chain(found, true);
  c->known = clarke_units_gradient(c->element[1], found->u);
  choose_chain(found, false);
  if (!c->known || !same(c->element[0], c->element[1], dim))
    return CLARKE_OK;
  c->known = false; /* a shorter chain may have been passed by, if a link was left open */
  if (!found->unsure)
    return clarke_fail(err, CLARKE_EINTERNAL, "a shortest chain of units gave no second element");
  return CLARKE_OK;
}

static clarke_status
conclude(clarke_conservative *c, chains *found, clarke_error *err)
{
  clarke_status status;

  c->singleton = found->chain == CLARKE_NONE && !found->unsure;
  c->singleton_known = found->chain != CLARKE_NONE || !found->unsure;
  status = find_elements(c, found, err);
  c->known = c->known && c->singleton_known;
  if (status != CLARKE_OK || !c->known)
    return status;
  if (c->singleton) {
    c->enumerated = true;
    return clarke_points_add(&c->vertices, c->element[0], err);
  }
  return found->kept ? enumerate(c, found, err) : CLARKE_OK;
}

clarke_status
clarke_conservative_find(clarke_conservative *c, const clarke_execution *e, clarke_error *err)
{
  clarke_units u;
  chains found;
  clarke_status status;

  clarke_conservative_clear(c);
  c->vertices.dim = e->p->n_outputs * clarke_code_wrt_count(e->p);
  clarke_units_init(&u);
  status = clarke_units_find(&u, e, err);
  c->n_units = u.n;
  if (status == CLARKE_OK && u.known && c->vertices.dim <= ELEMENT_ENTRIES) {
    status = chains_init(&found, &u, err);
    if (status == CLARKE_OK)
      status = find_chains(&found, err);
    if (status == CLARKE_OK)
      status = conclude(c, &found, err);
    chains_clear(&found);
  }
  clarke_units_clear(&u);
  return status;
}
