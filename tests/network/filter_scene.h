/* A filter at work on one step: its values, and entries that these truly are. */
#ifndef CLARKE_TESTS_NETWORK_FILTER_SCENE_H
#define CLARKE_TESTS_NETWORK_FILTER_SCENE_H

#include "../draw.h"
#include "../ok.h"

#include "network/pass/filter/filter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  clarke_filter f;
  clarke_growths growths;
  double **truth; /* by value: entries, feature-major */
} scene;

static inline double
draw_number(uint64_t *state)
{
  return (double)draw_between(state, -12, 12) / 4;
}

static inline void
begin(scene *c, const clarke_graph *g, const clarke_tensor *x, bool fine, bool norms)
{
  bool *needed = malloc(g->n_values + 1);

  memset(c, 0, sizeof *c);
  c->f = (clarke_filter){.g = g, .n = g->samples, .fine = fine, .x = x, .err = &error};
  c->f.value = calloc(g->n_values + 1, sizeof *c->f.value);
  c->f.piece = calloc(g->n_steps + 1, sizeof *c->f.piece);
  c->f.ties = calloc(g->n_steps + 1, sizeof *c->f.ties);
  c->f.deferred = calloc(g->n_values + 1, sizeof *c->f.deferred);
  c->f.last = calloc(g->n_values + 1, sizeof *c->f.last);
  c->f.bound = malloc((5 * c->f.n + 1) * sizeof *c->f.bound);
  c->f.mark = malloc((4 * c->f.n + 1) * sizeof *c->f.mark);
  c->f.near = c->f.bound + 2 * c->f.n;
  c->f.other = (clarke_branch *)(c->f.bound + 4 * c->f.n);
  c->truth = calloc(g->n_values + 1, sizeof *c->truth);
  for (size_t v = 0; v < g->n_values; v++) {
    c->f.last[v] = CLARKE_NONE;
    needed[v] = true;
  }
  if (norms && !fine) {
    OK(clarke_growths_add(&c->growths, g, needed, &error));
    c->f.growths = &c->growths;
  }
  free(needed);
}

static inline void
end(scene *c)
{
  for (size_t v = 0; v < c->f.g->n_values; v++) {
    clarke_enclosure_drop(&c->f.value[v]);
    clarke_enclosure_drop(&c->f.value[v]);
    free(c->truth[v]);
  }
  clarke_identities_free(c->f.ids);
  clarke_growths_clear(&c->growths);
  free(c->f.value);
  free(c->f.piece); /* what is in it is the test's */
  free(c->f.ties);
  free(c->f.deferred);
  free(c->f.last);
  free(c->f.bound);
  free(c->f.mark);
  free(c->truth);
}

/* Entries, and enclosures that hold them: of some samples exactly. */
static inline void
draw_operand(scene *c, size_t v, uint64_t *state)
{
  clarke_enclosure *e = &c->f.value[v];
  const size_t rows = c->f.g->values[v].count, n = c->f.n;

  clarke_enclosure_drop(e);
  OK(clarke_enclosure_alloc(&c->f, e, rows));
  ck_assert(e->known && e->rows == rows);
  if (c->truth[v] == NULL)
    c->truth[v] = malloc((rows * n + 1) * sizeof **c->truth);
  for (size_t i = 0; i < rows; i++)
    e->row[i] = ldexp(1, (int)draw_between(state, -24, -4));
  for (size_t j = 0; j < n; j++)
    e->col[j] = draw_below(state, 4) == 0 ? 0 : ldexp(1, (int)draw_between(state, -3, 3));
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < n; j++) {
      const double bound = e->row[i] * e->col[j], part = (double)draw_between(state, -15, 15) / 16;

      c->truth[v][i * n + j] = draw_number(state);
      e->y[i * n + j] = c->truth[v][i * n + j] + part * bound;
      if (c->f.fine)
        e->each[i * n + j] = clarke_up_float(bound);
    }
  for (size_t j = 0; j < n && e->norm != NULL; j++) {
    double squares = 0, most = 0;

    for (size_t i = 0; i < rows; i++) {
      squares += e->row[i] * e->row[i] * e->col[j] * e->col[j];
      most = fmax(most, e->row[i] * e->col[j]);
    }
    e->norm[j] = e->before[j] = sqrt(squares) * (1 + 0x1p-40);
    e->most[j] = most;
  }
}

#endif
