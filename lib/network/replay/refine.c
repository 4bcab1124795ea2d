/* Between filter and exact pass: open places in rounded enclosures, group by group of samples. */
#include "network/replay/passes.h"

#include "base/stop.h"

#include <stdlib.h>

/* Bits of the enclosures between filter and exact pass: a word an entry, then three. */
#define REFINE_FIRST 63
#define REFINE_LAST 191
/* Samples at a time: first a few. */
#define REFINE_BEGIN 16
#define REFINE_GROUP 32

/* Places of those samples: taken out of the whole batch's, or put back there. */
static void
move_places(const clarke_replay *r, int8_t **piece, const size_t *sample, size_t n, bool back)
{
  for (size_t i = 0; i < r->g->n_steps; i++) {
    size_t count = r->piece[i] != NULL ? r->g->values[r->g->steps[i].out].count : 0;

    for (size_t f = 0; f < count; f++)
      for (size_t j = 0; j < n; j++) {
        int8_t *all = &r->piece[i][f * r->samples + sample[j]], *here = &piece[i][f * n + j];

        *(back ? all : here) = *(back ? here : all);
      }
  }
}

/* Those samples' places and no ties yet, as a pass over them wants them. */
static clarke_status
take_places(int8_t **piece, size_t **ties, const clarke_replay *r, const size_t *sample, size_t n,
            clarke_error *err)
{
  for (size_t i = 0; i < r->g->n_steps; i++) {
    size_t count = r->piece[i] != NULL ? r->g->values[r->g->steps[i].out].count : 0;

    if (r->piece[i] == NULL)
      continue;
    piece[i] = malloc(count * n + 1);
    ties[i] = calloc(n + 1, sizeof **ties);
    if (piece[i] == NULL || ties[i] == NULL)
      return clarke_no_memory(err);
  }
  move_places(r, piece, sample, n, false);
  return CLARKE_OK;
}

/* Open places of those samples in enclosures of that many bits. *worth: half of them are decided. */
static clarke_status
refine_group(bool *worth, clarke_replay *r, const size_t *sample, size_t n, size_t bits,
             clarke_error *err)
{
  size_t open = 0, left;
  int8_t **piece = calloc(r->g->n_steps + 1, sizeof *piece);
  size_t **ties = calloc(r->g->n_steps + 1, sizeof *ties);
  clarke_margin **margin = r->margins != NULL ? clarke_margin_rows(r->g, n) : NULL;
  clarke_tensor x = {0};
  clarke_matrix input;
  clarke_status status = piece != NULL && ties != NULL && (margin != NULL || r->margins == NULL)
                           ? clarke_samples_pick(&x, r, sample, n, err)
                           : clarke_no_memory(err);

  clarke_matrix_init(&input);
  if (status == CLARKE_OK)
    status = take_places(piece, ties, r, sample, n, err);
  if (status == CLARKE_OK)
    status = clarke_samples_matrix(&input, r->x, sample, n, err);
  if (status == CLARKE_OK) {
    open = clarke_places_open(r->g, piece, n);
    status = clarke_forward_refine(piece, ties, margin, &r->constants, &input, &x, bits, err);
  }
  if (status == CLARKE_OK) {
    left = clarke_places_open(r->g, piece, n);
    *worth = left <= open / 2;
    r->refined += open - left;
    move_places(r, piece, sample, n, true);
    clarke_replay_join_margins(r, margin, sample, n);
  }
  for (size_t i = 0; i < r->g->n_steps && status == CLARKE_OK; i++)
    for (size_t j = 0; j < n && r->ties[i] != NULL; j++)
      r->ties[i][sample[j]] += ties[i][j];
  for (size_t i = 0; i < r->g->n_steps && piece != NULL && ties != NULL; i++) {
    free(piece[i]);
    free(ties[i]);
  }
  free(piece);
  free(ties);
  clarke_margin_rows_free(margin, r->g->n_steps);
  free(x.real);
  clarke_matrix_clear(&input);
  return status;
}

clarke_status
clarke_replay_refine(clarke_replay *r, size_t *left, clarke_error *err)
{
  static const size_t bits[] = {REFINE_FIRST, REFINE_LAST};
  size_t *sample = NULL, n;
  bool worth = true;
  clarke_status status = clarke_samples_open(&sample, &n, r, err);

  clarke_work_begin("replay in enclosures", 0);
  for (size_t k = 0; k < sizeof bits / sizeof *bits && n > 0 && worth && status == CLARKE_OK; k++) {
    for (size_t first = 0, size; first < n && worth && status == CLARKE_OK; first += size) {
      size = clarke_graph_couples(r->g) ? n : first == 0 ? REFINE_BEGIN : REFINE_GROUP;
      if (size > n - first)
        size = n - first;
      status = refine_group(&worth, r, sample + first, size, bits[k], err);
    }
    free(sample);
    sample = NULL;
    if (status == CLARKE_OK)
      status = clarke_samples_open(&sample, &n, r, err);
  }
  free(sample);
  *left = n;
  return status;
}
