/* The branches that a record took, as the exact pass has them (sieve.h): at which side of each kink it is, and which entry of a window wins. */
#include "trace/certify/sieve.h"

#include "network/pass/identity.h"
#include "network/pass/piecewise.h"

#include <stdlib.h>
#include <string.h>

CLARKE_WIDE static void
count_below(clarke_branch *restrict piece, const float *restrict x, double kink, clarke_branch at, size_t n)
{
  for (size_t e = 0; e < n; e++) {
    const clarke_branch next = (double)x[e] > kink ? (clarke_branch)(piece[e] + 1) : piece[e];

    piece[e] = (double)x[e] == kink ? at : next;
  }
}

/* Kinks go up: what is beyond one is not at those before it, and what is at one is beyond none behind it. Where two pieces are joined
 * smoothly there is no kink. */
static void
place_entries(clarke_branch *piece, const clarke_pieces *p, const float *x, size_t n)
{
  memset(piece, 0, n * sizeof *piece);
  for (size_t k = 0; k < p->n_kinks; k++)
    count_below(piece, x, mpq_get_d(p->kink[k]), clarke_pieces_joined(p, k) ? (clarke_branch)(k + 1) : CLARKE_AT(k), n);
}

/* Room for the places of a step's windows in one row: which is the first of the largest, and how many there are. */
typedef struct {
  clarke_sieve *s;
  const clarke_step *step;
  const float *x;
  const uint32_t *winner;
  clarke_branch *piece, *number;
  float *largest; /* the winners' numbers */
  bool frozen; /* is some parameter not trained? */
} windows;

CLARKE_WIDE static void
meet_place(clarke_branch *restrict piece, clarke_branch *restrict number, const float *restrict x, const float *restrict largest,
           clarke_branch place, size_t n)
{
  for (size_t j = 0; j < n; j++) {
    const bool is_largest = x[j] == largest[j];

    piece[j] = is_largest && number[j] == 0 ? place : piece[j];
    number[j] = (clarke_branch)(number[j] + is_largest);
  }
}

/* Some activations may be constants: what trains nothing makes them. */
static bool
any_frozen(const clarke_graph *g)
{
  bool any = false;

  for (size_t q = 0; q < g->n_parameters; q++)
    any = any || !g->parameters[q].wrt;
  return any;
}

/* Are all entries of the window that are as large as its winner one function with it? Where constants may be among what they are made of,
 * numbers would have to tell them apart, which are not looked at here: *told is false. */
static bool
is_one(bool *told, const windows *w, size_t f, size_t j)
{
  clarke_identities *ids = w->s->identities;
  const clarke_operand *o = &w->step->in[0];
  const uint32_t winner = w->winner[f * w->s->n + j];
  const clarke_identity first = clarke_identity_of(ids, o->value, winner, j);
  bool one = true;

  for (size_t i = 0; i < w->step->width; i++) {
    const size_t from = o->map[f * w->step->width + i];
    clarke_identity other;

    if (from == CLARKE_NONE || from == winner || w->x[from * w->s->n + j] != w->x[winner * w->s->n + j])
      continue;
    other = clarke_identity_of(ids, o->value, from, j);
    *told = *told && (other == first || !(w->frozen || clarke_identity_is_constant(first) || clarke_identity_is_constant(other)));
    one = one && other == first;
  }
  return one;
}

/* A row of windows. */
static clarke_status
place_windows(windows *w, size_t f, clarke_error *err)
{
  clarke_sieve *s = w->s;
  const size_t n = s->n, width = w->step->width;
  clarke_branch *piece = w->piece + f * n;
  bool told = true;

  memset(w->number, 0, n * sizeof *w->number);
  for (size_t j = 0; j < n; j++)
    w->largest[j] = w->x[w->winner[f * n + j] * n + j];
  for (size_t i = 0; i < width; i++) {
    const size_t from = w->step->in[0].map[f * width + i];

    if (from != CLARKE_NONE)
      meet_place(piece, w->number, w->x + from * n, w->largest, (clarke_branch)i, n);
  }
  for (size_t j = 0; j < n; j++) {
    if (w->number[j] == 1)
      continue;
    if (s->identities == NULL)
      s->identities = clarke_identities_new(s->g, n, s->c->pass.piece, NULL, s->c->x);
    if (s->identities == NULL)
      return clarke_no_memory(err);
    piece[j] = is_one(&told, w, f, j) ? piece[j] : CLARKE_AT(0);
  }
  s->open = s->open || !told;
  return s->identities != NULL && clarke_identities_failed(s->identities) ? clarke_no_memory(err) : CLARKE_OK;
}

/* Is there a window of padding alone? */
static bool
any_empty(const uint32_t *winner, size_t n)
{
  bool any = false;

  for (size_t e = 0; e < n; e++)
    any |= winner[e] == CLARKE_NO_WINNER;
  return any;
}

static clarke_status
place_all_windows(clarke_sieve *s, const clarke_step *step, const float *x, clarke_error *err)
{
  const size_t i = (size_t)(step - s->g->steps), rows = s->g->values[step->out].count;
  windows w = {.s = s, .step = step, .x = x, .winner = s->winner[i], .piece = s->c->pass.piece[i],
               .frozen = any_frozen(s->g)};
  clarke_status status = CLARKE_OK;

  s->open = s->open || step->in[0].map == NULL || step->width > INT16_MAX || any_empty(w.winner, rows * s->n);
  w.number = malloc((s->n + 1) * sizeof *w.number);
  w.largest = malloc((s->n + 1) * sizeof *w.largest);
  s->c->winner[i] = malloc((rows * s->n + 1) * sizeof **s->c->winner);
  if (w.number == NULL || w.largest == NULL || s->c->winner[i] == NULL)
    status = clarke_no_memory(err);
  else
    memcpy(s->c->winner[i], w.winner, rows * s->n * sizeof **s->c->winner);
  for (size_t f = 0; f < rows && status == CLARKE_OK && !s->open; f++)
    status = place_windows(&w, f, err);
  free(w.number);
  free(w.largest);
  return status;
}

clarke_status
clarke_sieve_place(clarke_sieve *s, const clarke_step *step, const float *x, clarke_error *err)
{
  const size_t i = (size_t)(step - s->g->steps), entries = s->g->values[step->out].count * s->n;

  if (!s->c->branched || !clarke_step_has_kinks(step))
    return CLARKE_OK;
  s->c->pass.piece[i] = malloc((entries + 1) * sizeof **s->c->pass.piece);
  if (s->c->pass.piece[i] == NULL)
    return clarke_no_memory(err);
  if (step->kind == CLARKE_MAX)
    return place_all_windows(s, step, x, err);
  place_entries(s->c->pass.piece[i], &step->pieces, x, entries);
  return CLARKE_OK;
}
