/* Between filter and enclosures: open places in slices, group by group of samples. */
#include "network/replay/replay_inside.h"

#include "base/stop.h"
#include "network/pass/slices/pass.h"

#include <stdlib.h>

/* Samples at a time, for products to be fast, and entries of activations at most, for memory's sake. */
#define SLICED_SAMPLES ((size_t)64)
#define SLICED_ENTRIES ((size_t)1 << 25)
#define MOST_SHALLOW 5
/* Layers of products that a filter without norms loses: its bounds grow five times a layer or more. */
#define LOST 8

static size_t
group_size(const clarke_replay *r, size_t n)
{
  const size_t each = r->g->activations / r->samples + 1, most = SLICED_ENTRIES / each;

  if (clarke_graph_couples(r->g))
    return n;
  return most < 1 ? 1 : most < SLICED_SAMPLES ? most : SLICED_SAMPLES;
}

static clarke_status
slice_group(clarke_replay *r, const clarke_slice_plan *plan, const size_t *sample, size_t n, clarke_error *err)
{
  clarke_open_group group;
  clarke_status status = clarke_open_group_take(&group, r, sample, n, err);

  if (status == CLARKE_OK)
    status = clarke_slices_run(group.piece, group.ties, group.margin, plan, &group.x, err);
  if (status == CLARKE_OK)
    clarke_open_group_give(&group, r);
  clarke_open_group_clear(&group, r);
  return status;
}

/* Few layers are run exactly at the cost of slices, which would decide only some of what is open; not so normalizations. */
bool
clarke_replay_is_deep(const clarke_graph *g)
{
  size_t layers = 0;
  bool normalized = false;

  for (size_t i = 0; i < g->n_steps; i++) {
    layers += g->steps[i].kind == CLARKE_DENSE;
    normalized = normalized || g->steps[i].kind == CLARKE_NORMALIZE;
  }
  return normalized || layers > MOST_SHALLOW;
}

bool
clarke_replay_is_lost(const clarke_replay *r)
{
  size_t layers = 0;

  for (size_t i = 0; i < r->g->n_steps; i++)
    layers += r->g->steps[i].kind == CLARKE_DENSE;
  return layers >= LOST && clarke_graph_couples(r->g) && clarke_slices_serve(r->g, r->piece, r->samples);
}

clarke_status
clarke_replay_slice(clarke_replay *r, clarke_growths *growths, size_t *open, clarke_error *err)
{
  size_t *sample = NULL, n = 0, size;
  clarke_slice_plan plan = {0};
  clarke_status status = CLARKE_OK;

  if (!clarke_replay_is_deep(r->g) || !clarke_slices_serve(r->g, r->piece, r->samples))
    return CLARKE_OK;
  clarke_work_begin("replay in slices", 0);
  status = clarke_samples_open(&sample, &n, r, err);
  if (status == CLARKE_OK)
    status = clarke_slice_plan_make(&plan, growths, r->g, r->x, r->piece, r->samples, err);
  size = group_size(r, n);
  for (size_t first = 0; first < n && status == CLARKE_OK; first += size)
    status = slice_group(r, &plan, sample + first, n - first < size ? n - first : size, err);
  *open = clarke_places_open(r->g, r->piece, r->samples);
  if (plan.g != NULL)
    clarke_slice_plan_clear(&plan);
  free(sample);
  return status;
}
