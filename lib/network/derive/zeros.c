/* Truth values in place of numbers: forward which entries are 0, back which causes make a gradient 0. */
#include "network/derive/zeros.h"

#include "network/derive/reverse.h"
#include "network/derive/zeros/pass.h"

#include <stdlib.h>
#include <string.h>

/* Entries of all activations that are followed, samples counted, which take two bytes each. */
#define MOST_ENTRIES ((size_t)1 << 27)

static const char *const names[CLARKE_ZERO_CAUSES] = {"dead units", "slope 0 taken at a kink", "weights or constants that are 0",
                                                      "activations that are 0", "losers of windows", "no path to the loss",
                                                      "inputs that are 0"};

const char *
clarke_zero_cause_name(size_t i)
{
  return names[i];
}

void
clarke_zeros_init(clarke_zeros *z)
{
  memset(z, 0, sizeof *z);
}

void
clarke_zeros_clear(clarke_zeros *z)
{
  for (size_t p = 0; p < z->n && z->cause != NULL; p++)
    free(z->cause[p]);
  free(z->cause);
  clarke_zeros_init(z);
}

/* Where AD takes a slope 0 at a kink. */
static clarke_status
mark_kinks(clarke_zeros_pass *p)
{
  clarke_status status = CLARKE_OK;
  mpq_t slope;

  mpq_init(slope);
  for (size_t k = 0; k < p->r->n_touches && status == CLARKE_OK && !p->loose; k++) {
    const clarke_touch *t = &p->r->touch[k];
    const size_t entries = p->g->values[p->g->steps[t->step].out].count * p->n;

    if (t->n_options > 0)
      continue;
    status = clarke_touch_proxy(slope, p->g, t, p->profile, p->err);
    if (status == CLARKE_OK && p->by_kink[t->step] == NULL)
      p->by_kink[t->step] = calloc(entries + 1, 1);
    if (status == CLARKE_OK && p->by_kink[t->step] == NULL)
      status = clarke_no_memory(p->err);
    if (status == CLARKE_OK)
      p->by_kink[t->step][t->feature * p->n + t->sample] = mpq_sgn(slope) == 0 ? CLARKE_ZERO_KINK : 0;
  }
  mpq_clear(slope);
  return status;
}

/* For all that the loss is made of, within the limit; *fits is false beyond it. */
static clarke_status
allocate(clarke_zeros_pass *p, bool *fits)
{
  const clarke_graph *g = p->g;
  size_t entries = 0;

  p->needed = calloc(g->n_values + 1, sizeof *p->needed);
  p->carries = calloc(g->n_values + 1, sizeof *p->carries);
  p->zero = calloc(g->n_values + 1, sizeof *p->zero);
  p->cause = calloc(g->n_values + 1, sizeof *p->cause);
  p->by_kink = calloc(g->n_steps + 1, sizeof *p->by_kink);
  p->z->n = g->n_parameters;
  p->z->cause = calloc(g->n_parameters + 1, sizeof *p->z->cause);
  if (p->needed == NULL || p->carries == NULL || p->zero == NULL || p->cause == NULL || p->by_kink == NULL || p->z->cause == NULL)
    return clarke_no_memory(p->err);
  clarke_reverse_carriers(p->carries, g, CLARKE_NONE);
  clarke_graph_needed(g, true, p->needed);
  for (size_t v = 0; v < g->n_values; v++)
    entries += p->needed[v] && !g->values[v].constant ? g->values[v].count * p->n : 0;
  *fits = entries <= MOST_ENTRIES;
  for (size_t v = 0; v < g->n_values && *fits; v++) {
    if (!p->needed[v] || g->values[v].constant || !p->carries[v])
      continue;
    p->cause[v] = calloc(g->values[v].count * p->n + 1, 1);
    if (p->cause[v] == NULL)
      return clarke_no_memory(p->err);
  }
  return CLARKE_OK;
}

static void
release(clarke_zeros_pass *p)
{
  for (size_t v = 0; v < p->g->n_values; v++) {
    if (p->zero != NULL)
      free(p->zero[v]);
    if (p->cause != NULL)
      free(p->cause[v]);
  }
  for (size_t i = 0; i < p->g->n_steps && p->by_kink != NULL; i++)
    free(p->by_kink[i]);
  free(p->needed);
  free(p->carries);
  free(p->zero);
  free(p->cause);
  free(p->by_kink);
}

clarke_status
clarke_zeros_find(clarke_zeros *z, const clarke_replay *r, const clarke_profile *profile, bool loose, clarke_error *err)
{
  clarke_zeros_pass p = {.r = r, .g = r->g, .profile = profile, .n = r->samples, .loose = loose, .z = z, .err = err};
  bool fits = false;
  clarke_status status = allocate(&p, &fits);

  if (status == CLARKE_OK && fits && r->open == 0) {
    status = mark_kinks(&p);
    if (status == CLARKE_OK)
      status = clarke_zeros_forward(&p);
    if (status == CLARKE_OK)
      status = clarke_zeros_backward(&p);
    z->known = status == CLARKE_OK;
  }
  release(&p);
  return status;
}

clarke_zero_counts
clarke_zeros_count(const clarke_zeros *z, const clarke_graph *g, size_t parameter)
{
  clarke_zero_counts counts = {0};

  for (size_t e = 0; z->known && z->cause[parameter] != NULL && e < g->parameters[parameter].count; e++) {
    const uint8_t cause = z->cause[parameter][e];

    counts.zero += (cause & CLARKE_ZERO_NOT) == 0;
    for (size_t i = 0; i < CLARKE_ZERO_CAUSES && (cause & CLARKE_ZERO_NOT) == 0; i++)
      counts.by[i] += (cause >> i & 1) != 0;
  }
  return counts;
}
