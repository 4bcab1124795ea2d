/* The conservative set of a program (conservative.h): whether it is a single point by the shortest chain of
 * units from the inputs to an output (thesis, Propositions 3 and 4; only a shortest one is sure to
 * give a second element, as its monomial is then the only one that its units make), and its
 * corners, which span its hull, as the polynomial of units.h is of degree one in each site's
 * choice. */
#include "program/conservative.h"

#include "program/chains.h"
#include "program/units.h"
#include "exact/hull.h"

#include <stdlib.h>
#include <string.h>

/* Entries of an element, of all corners together. */
#define ELEMENT_ENTRIES ((size_t)1 << 24)
#define CORNER_ENTRIES ((size_t)1 << 21)

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

/* --- corners ---------------------------------------------------------------------------------- */

typedef struct {
  const clarke_chains *c;
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
  const clarke_chains *c = k->c;
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
  const clarke_chains *c = k->c;
  size_t n = c->u->n_wrt;
  mpq_t *flow = &k->flow[c->u->unit[unit].site * n], term;

  mpq_init(term);
  for (size_t j = 0; j < n; j++)
    mpq_set_si(flow[j], 0, 1);
  for (size_t l = 0; l < c->n_input[unit]; l++) {
    clarke_link *from = &c->to_input.link[c->first_input[unit] + l];

    mpq_set(flow[from->from], from->value);
  }
  for (size_t l = 0; l < c->n_site[unit]; l++) {
    clarke_link *from = &c->to_site.link[c->first_site[unit] + l];

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
enumerate(clarke_conservative *c, const clarke_chains *found, clarke_error *err)
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
choose_chain(const clarke_chains *c, bool on)
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
find_elements(clarke_conservative *c, clarke_chains *found, clarke_error *err)
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
conclude(clarke_conservative *c, clarke_chains *found, clarke_error *err)
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
  clarke_chains found;
  clarke_status status;

  clarke_conservative_clear(c);
  c->vertices.dim = e->p->n_outputs *clarke_code_wrt_count(e->p);
  clarke_units_init(&u);
  status = clarke_units_find(&u, e, err);
  c->n_units = u.n;
  c->rooted = u.rooted;
  if (status == CLARKE_OK && u.known && c->vertices.dim <= ELEMENT_ENTRIES) {
    status = clarke_chains_init(&found, &u, err);
    if (status == CLARKE_OK)
      status = clarke_chains_find(&found, err);
    if (status == CLARKE_OK)
      status = conclude(c, &found, err);
    clarke_chains_clear(&found);
  }
  clarke_units_clear(&u);
  return status;
}
