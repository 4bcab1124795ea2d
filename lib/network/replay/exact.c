/* The exact pass over samples that are still open, and the touches that it finds. */
#include "network/replay/replay_inside.h"
#include "base/room.h"
#include "network/pass/window.h"

#include "base/stop.h"

#include <stdlib.h>

#define PRECISION_FIRST 64
/* Entries of activations that the exact pass may hold: several words each, in what follows too. */
#define GROUP_ENTRIES ((size_t)1 << 24)
/* Coupled samples are one group, whatever their number: some gigabytes at most. */
#define COUPLED_ENTRIES ((size_t)1 << 26)

clarke_status
clarke_replay_pass(clarke_forward *f, const clarke_replay *r, const size_t *sample, size_t n, const bool *needed,
                   clarke_error *err)
{
  clarke_matrix input;
  long first = PRECISION_FIRST;
  clarke_status status;

  clarke_matrix_init(&input);
  status = clarke_samples_matrix(&input, r->x, sample, n, err);
  while (first + 64 < (long)r->bits) /* a pass keeps 64 bits more than its functions have */
    first *= 2;
  for (long p = first; status == CLARKE_OK && p <= CLARKE_PRECISION_LAST; p *= 2) {
    status = clarke_forward_run(f, &r->constants, &input, needed, p, err);
    if (status == CLARKE_OK && f->open == 0)
      break;
    if (clarke_forward_is_vague(f, status) && p < CLARKE_PRECISION_LAST)
      status = CLARKE_OK;
  }
  clarke_matrix_clear(&input);
  return status;
}

/* A window's options, as features of the step's operand. */
static clarke_status
set_options(clarke_touch *t, const clarke_replay *r, clarke_error *err)
{
  const clarke_step *s = &r->g->steps[t->step];
  size_t place[CLARKE_MAX_WIDTH];

  if (s->kind != CLARKE_MAX)
    return CLARKE_OK;
  t->n_options = clarke_window_options(place, &r->near, t->step, t->feature, t->column);
  t->parted = clarke_window_parted(&r->near, t->step, t->feature, t->column);
  t->option = malloc(t->n_options * sizeof *t->option);
  if (t->option == NULL)
    return clarke_no_memory(err);
  for (size_t o = 0; o < t->n_options; o++)
    t->option[o] = s->in[0].map[t->feature * s->width + place[o]];
  return CLARKE_OK;
}

static clarke_status
add_touch(clarke_replay *r, size_t *capacity, clarke_touch touch, clarke_error *err)
{
  clarke_status status;

  if (!clarke_room(&r->touch, capacity, r->n_touches + 1, sizeof *r->touch))
    return clarke_no_memory(err);
  r->touch[r->n_touches++] = touch;
  status = set_options(&r->touch[r->n_touches - 1], r, err);
  r->touch[r->n_touches - 1].first_condition = r->n_conditions;
  r->n_conditions += clarke_touch_conditions(&r->touch[r->n_touches - 1]);
  return status;
}

/* The exact pass's places into the whole batch's. */
static void
collect_places(clarke_replay *r, const size_t *sample)
{
  size_t n = r->near.n;

  for (size_t i = 0; i < r->g->n_steps; i++) {
    size_t count = r->piece[i] != NULL ? r->g->values[r->g->steps[i].out].count : 0;

    for (size_t j = 0; j < n && r->ties[i] != NULL; j++)
      r->ties[i][sample[j]] = r->near.ties[i][j];
    for (size_t f = 0; f < count; f++)
      for (size_t j = 0; j < n; j++) {
        r->piece[i][f * r->samples + sample[j]] = r->near.piece[i][f * n + j];
        r->open += r->near.piece[i][f * n + j] == CLARKE_OPEN;
      }
  }
}

/* The touches of the pass at hand, in order. */
static clarke_status
collect_touches(clarke_replay *r, clarke_error *err)
{
  size_t n = r->near.n, capacity = 0;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < r->g->n_steps; i++) {
    size_t count = r->piece[i] != NULL ? r->g->values[r->g->steps[i].out].count : 0;

    for (size_t e = 0; e < count * n && status == CLARKE_OK; e++) {
      clarke_branch code = r->near.piece[i][e];

      if (code < 0 && code != CLARKE_OPEN)
        status = add_touch(r, &capacity,
                           (clarke_touch){.step = i, .feature = e / n,
                                          .sample = r->near_sample[e % n],
                                          .kink = CLARKE_KINK_OF(code), .column = e % n}, err);
    }
  }
  return status;
}

size_t
clarke_replay_group_size(const clarke_replay *r)
{
  size_t each = r->g->activations / r->samples + 1;

  if (clarke_graph_couples(r->g))
    return r->samples;
  return each < GROUP_ENTRIES ? GROUP_ENTRIES / each : 1;
}

/* The pass has no bounds at the highest precision: nothing is known of touches, and what is not decided stays open. */
static clarke_status
leave_open(clarke_replay *r, clarke_status status)
{
  clarke_forward_clear(&r->near);
  for (size_t i = 0; i < r->g->n_steps; i++) {
    const size_t entries = r->piece[i] != NULL ? r->g->values[r->g->steps[i].out].count * r->samples : 0;

    for (size_t e = 0; e < entries; e++)
      if (r->piece[i][e] < 0)
        r->piece[i][e] = CLARKE_OPEN;
  }
  r->open = clarke_places_open(r->g, r->piece, r->samples);
  return r->open > 0 ? CLARKE_OK : status;
}

clarke_status
clarke_replay_exact(clarke_replay *r, size_t n, const bool *needed, clarke_error *err)
{
  size_t group = clarke_replay_group_size(r), kept = 0;
  bool *touched = calloc(r->samples + 1, sizeof *touched);
  clarke_status status = touched != NULL ? CLARKE_OK
                                         : clarke_no_memory(err);

  clarke_work_begin("exact replay", (n + group - 1) / group * r->g->n_steps);
  for (size_t first = 0; first < n && status == CLARKE_OK; first += group) {
    size_t size = n - first < group ? n - first : group;

    status = clarke_replay_pass(&r->near, r, r->near_sample + first, size, needed, err);
    if (status != CLARKE_OK)
      break;
    collect_places(r, r->near_sample + first);
    clarke_replay_measure_pass(r, &r->near, r->near_sample + first);
  }
  if (status == CLARKE_OK && n > group) {
    clarke_samples_mark(r, touched, true);
    for (size_t j = 0; j < n; j++)
      if (touched[r->near_sample[j]])
        r->near_sample[kept++] = r->near_sample[j];
    status = clarke_replay_pass(&r->near, r, r->near_sample, kept, needed, err);
    r->open += status == CLARKE_OK ? r->near.open : 0; /* other samples beside one round it otherwise */
  }
  free(touched);
  if (status == CLARKE_EVAGUE)
    return leave_open(r, status);
  return status == CLARKE_OK ? collect_touches(r, err) : status;
}

clarke_status
clarke_replay_check_coupled(const clarke_replay *r, clarke_error *err)
{
  return clarke_graph_couples(r->g) && r->g->activations > COUPLED_ENTRIES
           ? clarke_fail(err, CLARKE_EINPUT, "%s: the %zu samples are normalized together. An exact pass over them "
                         "would hold %zu entries, and at most %zu are taken. Use a smaller minibatch",
                         r->g->file, r->samples, r->g->activations, COUPLED_ENTRIES)
           : CLARKE_OK;
}
