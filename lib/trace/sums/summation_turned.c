/* The gradient in a transposed convolution's weight (summation.h). The graph has it as a convolution of its input's entries, which lie
 * apart, with the weight turned round: repeat outputs, of which each meets some taps. The framework adds up over the input's places. */
#include "trace/sums/summation.h"

#include <stdlib.h>
#include <string.h>

/* Taps of the kernel. */
static size_t
taps_of(const clarke_value *w)
{
  size_t taps = 1;

  for (size_t a = 2; a < w->rank; a++)
    taps *= w->dims[a];
  return taps;
}

/* The constant's entries by the parameter's: each there once, else false. */
static bool
turn_entries(clarke_sum_operands *o, const clarke_value *w)
{
  for (size_t k = 0; k < w->count; k++)
    o->entry[k] = CLARKE_NONE;
  for (size_t e = 0; e < w->count; e++) {
    const size_t k = w->origin != NULL ? w->origin[e] : e;

    if (k >= w->count || o->entry[k] != CLARKE_NONE)
      return false;
    o->entry[k] = e;
  }
  return true;
}

/* Does each entry of the weight meet each place of its own plane in one output at most, and no other plane? */
static bool
are_places(const clarke_sum_operands *o, size_t taps, bool *seen)
{
  const clarke_dense *d = &o->product->dense;

  for (size_t b = 0; b < d->blocks; b++)
    for (size_t in = 0; in < d->inner; in++) {
      const size_t plane = b * (d->inner / taps) + in / taps;

      memset(seen, 0, o->places * sizeof *seen);
      for (size_t r = 0; r < d->repeat; r++) {
        const size_t f = o->map[(b * d->inner + in) * d->repeat + r];

        if (f == CLARKE_NONE)
          continue;
        if (f / o->places != plane || seen[f % o->places])
          return false;
        seen[f % o->places] = true;
      }
    }
  return true;
}

clarke_status
clarke_sum_turned_find(clarke_sum_operands *o, const char **why, clarke_error *err)
{
  const clarke_graph *g = o->c->g;
  const clarke_dense *d = &o->product->dense;
  const clarke_value *w = &g->values[d->weight];
  const size_t producer = g->values[o->product->in[0].value].producer, taps = taps_of(w);
  size_t planes, count;
  bool *seen;

  *why = "what its gradient is made of was not recorded";
  if (o->x == NULL || o->gradient == NULL)
    return CLARKE_OK;
  *why = "it is not the weight of one transposed convolution";
  if (o->map == NULL || w->rank < 3 || d->transposed || taps == 0 || d->inner % taps != 0)
    return CLARKE_OK;
  planes = d->blocks * (d->inner / taps);
  count = g->values[g->steps[producer].in[0].value].count;
  if (planes == 0 || count % planes != 0 || w->count != (d->grouped ? d->blocks : 1) * d->outer * d->inner)
    return CLARKE_OK;
  o->kind = CLARKE_SUM_OF_TURNED_WEIGHT;
  o->places = count / planes;
  o->leaves = g->samples * (d->grouped ? 1 : d->blocks) * o->places;
  o->entry = malloc((w->count + 1) * sizeof *o->entry);
  seen = malloc((o->places + 1) * sizeof *seen);
  if (o->entry != NULL && seen != NULL && turn_entries(o, w) && are_places(o, taps, seen))
    *why = NULL;
  free(seen);
  return o->entry != NULL && seen != NULL ? CLARKE_OK : clarke_no_memory(err);
}

void
clarke_sum_turned_take(double *p, double *q, const clarke_sum_operands *o, size_t k)
{
  const clarke_dense *d = &o->product->dense;
  const size_t group = d->grouped ? o->entry[k] / (d->outer * d->inner) : 0, e = o->entry[k] % (d->outer * d->inner);
  const size_t out = e / d->inner, in = e % d->inner, n = o->c->g->samples;
  const size_t first = d->grouped ? group : 0, last = d->grouped ? group + 1 : d->blocks;

  memset(p, 0, o->leaves * sizeof *p);
  memset(q, 0, o->leaves * sizeof *q);
  for (size_t j = 0; j < n; j++)
    for (size_t b = first; b < last; b++)
      for (size_t r = 0; r < d->repeat; r++) {
        const size_t f = o->map[(b * d->inner + in) * d->repeat + r];
        const size_t leaf = (j * (last - first) + b - first) * o->places + (f != CLARKE_NONE ? f % o->places : 0);

        if (f == CLARKE_NONE)
          continue;
        p[leaf] = o->x[f * n + j];
        q[leaf] = o->gradient[j * o->features + (b * d->outer + out) * d->repeat + r];
      }
}
