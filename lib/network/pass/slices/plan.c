/* Places chosen before a pass in slices: by norms, back from the steps with kinks. */
#include "network/pass/slices/scaling.h"
#include "network/pass/slices/pass.h"
#include "network/pass/slices/sizes.h"
#include "network/pass/slices/slices.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Samples by which values' sizes are estimated; where something couples them, for deviations to be near. */
#define PROBED 4
#define PROBED_TOGETHER 16
/* What the rounding of one step may make of the error that a kink allows. */
#define SHARE 8
/* The distance from kinks that is wanted, as a part of the values' size: one of so many times as many entries. */
#define APART 2048
/* The largest entries of a value are so many times its root mean square, as a rule. */
#define LARGEST 5
/* What a plane of an entry costs outside of products, in multiplications. */
#define PLANE_WORK 32

/* Pieces of slope 0 or 1 whose kinks and constants are doubles; those of slope 1 shift nothing. */
static bool
pieces_serve(const clarke_pieces *p)
{
  mpq_t near;
  bool serve = p->slope == CLARKE_NONE;

  mpq_init(near);
  for (size_t k = 0; k <= p->n_kinks; k++) {
    serve = serve && mpq_sgn(p->coef[k][2]) == 0 &&
            (mpq_sgn(p->coef[k][1]) == 0 || (mpq_cmp_ui(p->coef[k][1], 1, 1) == 0 && mpq_sgn(p->coef[k][0]) == 0));
    mpq_set_d(near, mpq_get_d(p->coef[k][0]));
    serve = serve && mpq_equal(near, p->coef[k][0]);
    if (k < p->n_kinks) {
      mpq_set_d(near, mpq_get_d(p->kink[k]));
      serve = serve && mpq_equal(near, p->kink[k]);
    }
  }
  mpq_clear(near);
  return serve;
}

static bool
step_serves(const clarke_step *s)
{
  return s->kind == CLARKE_PIECEWISE   ? pieces_serve(&s->pieces)
         : s->kind == CLARKE_NORMALIZE ? s->grouping.couples
                                       : clarke_slices_has(s->kind);
}

static void
find_needed(bool *needed, const clarke_graph *g, clarke_branch *const *piece, size_t n)
{
  memset(needed, 0, g->n_values * sizeof *needed);
  for (size_t i = g->n_steps; i-- > 0;) {
    const clarke_step *s = &g->steps[i];
    const bool open = piece[i] != NULL && clarke_branches_open(piece[i], g->values[s->out].count * n);

    for (size_t k = 0; k < s->n_in && (open || needed[s->out]); k++)
      needed[s->in[k].value] = needed[s->in[k].value] || !g->values[s->in[k].value].constant;
    needed[s->out] = needed[s->out] || open;
  }
}

bool
clarke_slices_follow(const clarke_graph *g, const bool *needed)
{
  for (size_t i = 0; i < g->n_steps; i++)
    if (needed[g->steps[i].out] && !step_serves(&g->steps[i]))
      return false;
  return true;
}

bool
clarke_slices_serve(const clarke_graph *g, clarke_branch *const *piece, size_t n)
{
  bool *needed = calloc(g->n_values + 1, sizeof *needed), serve = needed != NULL;

  if (serve)
    find_needed(needed, g, piece, n);
  serve = serve && clarke_slices_follow(g, needed);
  free(needed);
  return serve;
}

/* Bits of a digit: sums of MOST_PRODUCTS products of two are exact, and so are the squares of a group (normalize.c). */
#define WIDTH 21

/* Units of the lowest place by which a step's own rounding may be off, as a rule. */
#define OWN_UNITS 4

/* What errors of a value what follows bears, of its readers', by their growth: their norm, and that in its scaling. */
typedef struct {
  double norm, scaled;
  double *segment; /* of each of its segments, that in its scaling, if it has one; NULL: it has none */
} bearable;

/* Every reader of a segmented value that does not tell its segments apart asks the same of each. */
static void
want_of_segments(bearable *wanted, const clarke_slice_plan *p, size_t v, double borne)
{
  for (size_t k = 0; wanted[v].segment != NULL && k < p->growths->segments[v].n; k++)
    wanted[v].segment[k] = fmin(wanted[v].segment[k], borne);
}

/* What a product's argument may be off by; where that is gathered, what it is gathered from. */
static void
want_of_product(bearable *wanted, const clarke_slice_plan *p, size_t i)
{
  const clarke_step *s = &p->g->steps[i];
  const size_t producer = p->g->values[s->in[0].value].producer;
  const bool gathers = producer != CLARKE_NONE && p->g->steps[producer].kind == CLARKE_GATHER;
  const size_t from = gathers ? p->g->steps[producer].in[0].value : s->in[0].value;
  const double plain = p->growths->growth[i][0].norm * (gathers ? p->growths->growth[producer][0].norm : 1);
  const bool scaled = p->scaling[s->out].row != NULL;
  const double joined = p->growths->joined[i], growth = scaled ? plain : fmin(plain, joined);
  const double *by = p->growths->by_segment[i];
  double norm = growth > 0 ? wanted[s->out].norm / growth : INFINITY;

  norm = scaled && joined > 0 ? fmin(norm, wanted[s->out].scaled / joined) : norm;
  wanted[from].norm = fmin(wanted[from].norm, norm);
  for (size_t k = 0; wanted[from].segment != NULL && by != NULL && k < p->growths->segments[from].n; k++)
    wanted[from].segment[k] =
      fmin(wanted[from].segment[k], by[k] > 0 ? (scaled ? wanted[s->out].scaled : wanted[s->out].norm) / by[k] : INFINITY);
  if (by == NULL)
    want_of_segments(wanted, p, from, norm);
}

/* A step at each segment by itself, or one at all of them alike. */
static void
want_of_operand(bearable *wanted, const clarke_slice_plan *p, size_t i, size_t k)
{
  const clarke_step *s = &p->g->steps[i];
  const size_t v = s->in[k].value;
  const clarke_growth *growth = &p->growths->growth[i][k];
  const bool scaled = p->scaling[v].row != NULL, normalizes = s->kind == CLARKE_NORMALIZE; /* which scalings make 1 */
  const double factor = normalizes && scaled ? 1 : growth->norm;
  double norm = factor > 0 ? wanted[s->out].norm / factor : INFINITY, in_scaling = INFINITY;

  if ((s->kind == CLARKE_SUM || s->kind == CLARKE_GATHER) && scaled && p->scaling[s->out].row != NULL) {
    const double by = clarke_scaling_growth(p->scaling, p->g, s, k) * (s->kind == CLARKE_SUM ? growth->alone : growth->norm);

    in_scaling = by > 0 ? wanted[s->out].scaled / by : INFINITY;
  }
  if (normalizes && scaled) {
    in_scaling = norm;
    norm = INFINITY;
  }
  wanted[v].scaled = fmin(wanted[v].scaled, in_scaling);
  wanted[v].norm = fmin(wanted[v].norm, norm);
  for (size_t e = 0; wanted[v].segment != NULL && e < p->growths->segments[v].n; e++) {
    const bool apart = wanted[s->out].segment != NULL && factor > 0;
    const double all = scaled ? fmin(in_scaling, norm * p->scaling[v].least) : norm;

    wanted[v].segment[e] = fmin(wanted[v].segment[e], apart ? wanted[s->out].segment[e] / factor : all);
  }
}

/* Both together: what is bearable beside b of an a. */
static double
beside(double a, double b)
{
  return 1 / (1 / a + 1 / b);
}

/* What segments are from bears the sum of what each of its readers makes of it: many, in a dense block. */
static void
want_of_joined(bearable *wanted, const clarke_slice_plan *p, size_t i)
{
  const clarke_step *s = &p->g->steps[i];
  size_t last = CLARKE_NONE, from;
  double by = 0;

  for (size_t k = 0; k < p->growths->segments[s->out].n; k++) {
    const size_t o = clarke_segment_source(p->growths->segments, s, k, &from), v = s->in[o].value;
    double borne;

    if (o != last)
      by = clarke_scaling_growth(p->scaling, p->g, s, o) * p->growths->growth[i][o].alone;
    last = o;
    borne = by > 0 ? wanted[s->out].segment[k] / by : INFINITY;
    if (wanted[v].segment != NULL)
      wanted[v].segment[from] = beside(wanted[v].segment[from], borne);
    else if (p->scaling[v].row != NULL)
      wanted[v].scaled = beside(wanted[v].scaled, borne);
    else
      wanted[v].norm = beside(wanted[v].norm, borne);
  }
}

static void
find_wanted(bearable *wanted, const clarke_slice_plan *p, const clarke_sizes *z, size_t samples)
{
  const clarke_graph *g = p->g;

  for (size_t i = g->n_steps; i-- > 0;) {
    const clarke_step *s = &g->steps[i];
    const double entries = (double)g->values[s->out].count * (double)samples;
    const bool moves = s->kind == CLARKE_DENSE || s->kind == CLARKE_SUM || s->kind == CLARKE_GATHER;

    if (!p->needed[s->out])
      continue;
    if (p->scaling[s->out].row != NULL && !moves)
      wanted[s->out].norm = fmin(wanted[s->out].norm, wanted[s->out].scaled / p->scaling[s->out].most);
    if (s->kind == CLARKE_DENSE)
      want_of_product(wanted, p, i);
    else if (wanted[s->out].segment != NULL && clarke_segments_join(g, s))
      want_of_joined(wanted, p, i);
    else
      for (size_t k = 0; k < s->n_in; k++)
        if (!g->values[s->in[k].value].constant)
          want_of_operand(wanted, p, i, k);
    if (clarke_step_has_kinks(s) && z->rms[s->in[0].value] > 0) {
      wanted[s->in[0].value].norm = fmin(wanted[s->in[0].value].norm, z->rms[s->in[0].value] / (entries * APART));
      want_of_segments(wanted, p, s->in[0].value, z->rms[s->in[0].value] / (entries * APART));
    }
  }
}

/* Exponents: of the lowest place that a value asks for, and of one above its entries as a rule. */
typedef struct {
  long low, top;
} extent;

/* How many planes the arguments of products have, each as often as it is multiplied, where the grid goes through 2^offset. */
static double
count_planes(const clarke_slice_plan *p, const extent *e, long offset)
{
  const clarke_graph *g = p->g;
  double planes = 0;

  for (size_t i = 0; i < g->n_steps; i++) {
    const clarke_step *s = &g->steps[i];
    const extent *x = &e[s->in[0].value];
    const double entries = (double)g->values[s->out].count;
    const double work = s->kind == CLARKE_DENSE ? entries * (double)s->dense.inner : PLANE_WORK * entries;
    const long low = clarke_slice_grid(x->low - offset, p->width) + offset;

    if (p->needed[s->out] && x->top > low)
      planes += work * (double)((x->top - low) / p->width + 1);
  }
  return planes;
}

/* All activations are on one grid, for their sums and products to be: the one with fewest planes. */
static void
choose_places(clarke_slice_plan *p, const extent *e)
{
  double least = INFINITY;
  long best = 0;

  for (long offset = 0; offset < p->width; offset++) {
    const double planes = count_planes(p, e, offset);

    best = planes < least ? offset : best;
    least = planes < least ? planes : least;
  }
  for (size_t v = 0; v < p->g->n_values; v++)
    p->low[v] = clarke_slice_grid(e[v].low - best, p->width) + best;
}

static void
choose_extents(clarke_slice_plan *p, extent *e, const bearable *wanted, const clarke_sizes *z, size_t samples)
{
  const clarke_graph *g = p->g;

  for (size_t v = 0; v < g->n_values; v++) {
    const double entries = (double)g->values[v].count * (double)(clarke_graph_couples(g) ? samples : 1);
    double unit;
    int exponent = 0, top = 0;

    p->allowed[v] = wanted[v].norm / (SHARE * sqrt(entries));
    if (p->scaling[v].row != NULL)
      p->allowed[v] = fmin(p->allowed[v], wanted[v].scaled / (SHARE * p->scaling[v].size * sqrt((double)samples)));
    unit = p->allowed[v] / OWN_UNITS;
    if (unit > 0 && unit <= 0x1p300)
      frexp(unit, &exponent);
    if (z->rms[v] > 0 && z->rms[v] <= 0x1p300)
      frexp(z->rms[v] * LARGEST, &top);
    e[v] = (extent){exponent - 1, top + 1};
  }
  for (size_t i = 0; i < g->n_steps; i++) /* what products gather is as fine as that from which */
    if (g->steps[i].kind == CLARKE_GATHER && !(p->allowed[g->steps[i].out] < INFINITY))
      e[g->steps[i].out] = e[g->steps[i].in[0].value];
}

static clarke_status
allocate(clarke_slice_plan *p, const clarke_graph *g, clarke_error *err)
{
  *p = (clarke_slice_plan){.g = g};
  p->needed = calloc(g->n_values + 1, sizeof *p->needed);
  p->low = calloc(g->n_values + 1, sizeof *p->low);
  p->allowed = calloc(g->n_values + 1, sizeof *p->allowed);
  p->scaling = calloc(g->n_values + 1, sizeof *p->scaling);
  return p->needed != NULL && p->low != NULL && p->allowed != NULL && p->scaling != NULL ? CLARKE_OK : clarke_no_memory(err);
}

/* What a plan's places are chosen from. */
typedef struct {
  bearable *wanted;
  extent *extents;
  clarke_sizes sizes;
} basis;

/* The same of the needed values, which the plan knows. */
static clarke_status
measure(basis *b, clarke_slice_plan *p, const clarke_tensor *x, clarke_error *err)
{
  const size_t samples = x->dims[0], most = clarke_graph_couples(p->g) ? PROBED_TOGETHER : PROBED;

  b->wanted = calloc(p->g->n_values + 1, sizeof *b->wanted);
  b->extents = malloc((p->g->n_values + 1) * sizeof *b->extents);
  if (b->wanted == NULL || b->extents == NULL)
    return clarke_no_memory(err);
  p->width = WIDTH;
  return clarke_sizes_measure(&b->sizes, p->g, x, samples < most ? samples : most, p->needed, err);
}

/* Nothing is asked of any value yet. */
static clarke_status
ask_nothing(bearable *wanted, const clarke_slice_plan *p, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t v = 0; v < p->g->n_values; v++) {
    const size_t n = p->growths->segments != NULL ? p->growths->segments[v].n : 0;

    wanted[v] = (bearable){.norm = INFINITY, .scaled = INFINITY, .segment = n > 0 ? malloc(n * sizeof(double)) : NULL};
    for (size_t k = 0; wanted[v].segment != NULL && k < n; k++)
      wanted[v].segment[k] = INFINITY;
    status = n > 0 && wanted[v].segment == NULL ? clarke_no_memory(err) : status;
  }
  return status;
}

static void
basis_clear(basis *b, const clarke_graph *g)
{
  clarke_sizes_clear(&b->sizes, g);
  for (size_t v = 0; b->wanted != NULL && v < g->n_values; v++)
    free(b->wanted[v].segment);
  free(b->wanted);
  free(b->extents);
}

clarke_status
clarke_slice_plan_make(clarke_slice_plan *p, clarke_growths *growths, const clarke_graph *g, const clarke_tensor *x,
                       clarke_branch *const *piece, size_t n, clarke_error *err)
{
  const size_t samples = x->dims[0];
  basis b = {0};
  clarke_status status = allocate(p, g, err);

  if (status == CLARKE_OK) {
    find_needed(p->needed, g, piece, n);
    status = measure(&b, p, x, err);
  }
  p->growths = growths;
  if (status == CLARKE_OK && clarke_graph_couples(g))
    status = clarke_scalings_choose(p->scaling, g, p->needed, &b.sizes, err);
  if (status == CLARKE_OK)
    status = clarke_graph_couples(g) ? clarke_growths_add_scaled(growths, g, p->needed, p->scaling, samples, err)
                                     : clarke_growths_add(growths, g, p->needed, err);
  if (status == CLARKE_OK)
    status = ask_nothing(b.wanted, p, err);
  if (status == CLARKE_OK) {
    find_wanted(b.wanted, p, &b.sizes, samples);
    choose_extents(p, b.extents, b.wanted, &b.sizes, samples);
    choose_places(p, b.extents);
  }
  basis_clear(&b, g);
  return status;
}

clarke_status
clarke_slice_plan_for(clarke_slice_plan *p, const clarke_growths *growths, const clarke_graph *g, const clarke_tensor *x,
                      const bool *needed, const double *borne, clarke_error *err)
{
  basis b = {0};
  clarke_status status = allocate(p, g, err);

  if (status == CLARKE_OK) {
    memcpy(p->needed, needed, g->n_values * sizeof *needed);
    status = measure(&b, p, x, err);
  }
  p->growths = growths;
  if (status == CLARKE_OK) {
    for (size_t v = 0; v < g->n_values; v++)
      b.wanted[v] = (bearable){.norm = borne[v], .scaled = INFINITY};
    choose_extents(p, b.extents, b.wanted, &b.sizes, x->dims[0]);
    choose_places(p, b.extents);
  }
  basis_clear(&b, g);
  return status;
}

void
clarke_slice_plan_clear(clarke_slice_plan *p)
{
  free(p->needed);
  free(p->low);
  free(p->allowed);
  for (size_t v = 0; p->scaling != NULL && v < p->g->n_values; v++)
    free(p->scaling[v].row);
  free(p->scaling);
  *p = (clarke_slice_plan){0};
}
