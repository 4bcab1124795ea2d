/* Samples of the batch: picked, as matrices, and which of them have an entry left open. */
#include "network/replay/replay_inside.h"

#include <stdlib.h>
#include <string.h>

clarke_status
clarke_samples_matrix(clarke_matrix *input, const clarke_tensor *x, const size_t *sample, size_t n,
                      clarke_error *err)
{
  size_t features = x->count / x->dims[0];
  double *column = malloc((features * n + 1) * sizeof *column);
  clarke_status status;

  if (column == NULL)
    return clarke_no_memory(err);
  for (size_t j = 0; j < n; j++)
    for (size_t i = 0; i < features; i++) {
      size_t from = sample[j] * features + i;

      column[i * n + j] = x->real != NULL ? x->real[from] : (double)x->integer[from];
    }
  status = clarke_matrix_set_doubles(input, features, n, column, err);
  free(column);
  return status;
}

clarke_status
clarke_samples_pick(clarke_tensor *x, const clarke_replay *r, const size_t *sample, size_t n,
                    clarke_error *err)
{
  size_t features = r->x->count / r->x->dims[0];

  *x = *r->x;
  x->dims[0] = n;
  x->count = n * features;
  x->integer = NULL;
  x->real = malloc((n * features + 1) * sizeof *x->real);
  if (x->real == NULL)
    return clarke_no_memory(err);
  for (size_t j = 0; j < n; j++)
    for (size_t i = 0; i < features; i++) {
      size_t from = sample[j] * features + i;

      x->real[j * features + i] = r->x->real != NULL ? r->x->real[from]
                                                     : (double)r->x->integer[from];
    }
  return CLARKE_OK;
}

void
clarke_samples_mark(const clarke_replay *r, bool *mark, bool touched)
{
  for (size_t i = 0; i < r->g->n_steps; i++) {
    size_t count = r->piece[i] != NULL ? r->g->values[r->g->steps[i].out].count : 0;

    for (size_t f = 0; f < count; f++) {
      const clarke_branch *code = r->piece[i] + f * r->samples;

      if (!touched && !clarke_branches_open(code, r->samples))
        continue;
      for (size_t j = 0; j < r->samples; j++)
        mark[j] |= code[j] == CLARKE_OPEN || (touched && code[j] < 0);
    }
  }
}

clarke_status
clarke_samples_open(size_t **sample, size_t *n, const clarke_replay *r, clarke_error *err)
{
  bool *mark = calloc(r->samples + 1, sizeof *mark), any = false, all;

  *n = 0;
  *sample = malloc((r->samples + 1) * sizeof **sample);
  if (mark == NULL || *sample == NULL) {
    free(mark);
    return clarke_no_memory(err);
  }
  clarke_samples_mark(r, mark, false);
  for (size_t j = 0; j < r->samples; j++)
    any = any || mark[j];
  all = (clarke_graph_has_domain(r->g) && !r->inside) || (any && clarke_graph_couples(r->g));
  for (size_t j = 0; j < r->samples; j++)
    if (mark[j] || all)
      (*sample)[(*n)++] = j;
  free(mark);
  return CLARKE_OK;
}

static size_t
open_of_step(const clarke_graph *g, clarke_branch *const *piece, size_t n, size_t step)
{
  const size_t entries = piece[step] != NULL ? g->values[g->steps[step].out].count * n : 0;
  size_t open = 0;

  for (size_t e = 0; e < entries; e++)
    open += piece[step][e] == CLARKE_OPEN;
  return open;
}

size_t
clarke_places_open(const clarke_graph *g, clarke_branch *const *piece, size_t n)
{
  size_t open = 0;

  for (size_t i = 0; i < g->n_steps; i++)
    open += open_of_step(g, piece, n, i);
  return open;
}

bool
clarke_replay_knows(const clarke_replay *r, size_t step)
{
  return r->open == 0
         || (r->near.g != NULL && open_of_step(r->g, r->piece, r->samples, step) == 0 && open_of_step(r->g, r->near.piece, r->near.n, step) == 0);
}
