/* Samples with open places: their places as a pass over them alone wants them, and back. */
#include "network/replay/replay_inside.h"

#include <stdlib.h>

/* Places of those samples: taken out of the whole batch's, or put back there. */
static void
move_places(const clarke_replay *r, clarke_branch **piece, const size_t *sample, size_t n, bool back)
{
  for (size_t i = 0; i < r->g->n_steps; i++) {
    size_t count = r->piece[i] != NULL ? r->g->values[r->g->steps[i].out].count : 0;

    for (size_t f = 0; f < count; f++)
      for (size_t j = 0; j < n; j++) {
        clarke_branch *all = &r->piece[i][f * r->samples + sample[j]], *here = &piece[i][f * n + j];

        *(back ? all : here) = *(back ? here : all);
      }
  }
}

/* Those samples' places and no ties yet, as a pass over them wants them. */
static clarke_status
take_places(clarke_branch **piece, size_t **ties, const clarke_replay *r, const size_t *sample, size_t n,
            clarke_error *err)
{
  for (size_t i = 0; i < r->g->n_steps; i++) {
    size_t count = r->piece[i] != NULL ? r->g->values[r->g->steps[i].out].count : 0;

    if (r->piece[i] == NULL)
      continue;
    piece[i] = malloc((count * n + 1) * sizeof **piece);
    ties[i] = calloc(n + 1, sizeof **ties);
    if (piece[i] == NULL || ties[i] == NULL)
      return clarke_no_memory(err);
  }
  move_places(r, piece, sample, n, false);
  return CLARKE_OK;
}

clarke_status
clarke_open_group_take(clarke_open_group *group, const clarke_replay *r, const size_t *sample, size_t n,
                       clarke_error *err)
{
  clarke_status status;

  *group = (clarke_open_group){.sample = sample, .n = n};
  group->piece = calloc(r->g->n_steps + 1, sizeof *group->piece);
  group->ties = calloc(r->g->n_steps + 1, sizeof *group->ties);
  group->margin = r->margins != NULL ? clarke_margin_rows(r->g, n) : NULL;
  status = group->piece != NULL && group->ties != NULL && (group->margin != NULL || r->margins == NULL)
             ? clarke_samples_pick(&group->x, r, sample, n, err)
             : clarke_no_memory(err);
  if (status == CLARKE_OK)
    status = take_places(group->piece, group->ties, r, sample, n, err);
  if (status == CLARKE_OK)
    group->open = clarke_places_open(r->g, group->piece, n);
  return status;
}

size_t
clarke_open_group_give(const clarke_open_group *group, clarke_replay *r)
{
  const size_t left = clarke_places_open(r->g, group->piece, group->n);

  r->refined += group->open - left;
  move_places(r, group->piece, group->sample, group->n, true);
  clarke_replay_join_margins(r, group->margin, group->sample, group->n);
  for (size_t i = 0; i < r->g->n_steps; i++)
    for (size_t j = 0; j < group->n && r->ties[i] != NULL; j++)
      r->ties[i][group->sample[j]] += group->ties[i][j];
  return left;
}

void
clarke_open_group_clear(clarke_open_group *group, const clarke_replay *r)
{
  for (size_t i = 0; i < r->g->n_steps && group->piece != NULL && group->ties != NULL; i++) {
    free(group->piece[i]);
    free(group->ties[i]);
  }
  free(group->piece);
  free(group->ties);
  clarke_margin_rows_free(group->margin, r->g->n_steps);
  free(group->x.real);
}
