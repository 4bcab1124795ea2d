/* A direction along which entries of AD's gradient that are 0 here are not (audit.h).
 *
 * Along the segment from w to w', t from 0 to 1, touched kinks take the sides of a cell that the direction realizes, near w. Where all
 * arguments at w' lie as these sides, and everything else at w, have it, the gradient that AD returns near w and the one at w' are the same
 * function of t, at two places. It is made of polynomials, exponentials and what else is analytic wherever the segment leads. So an entry
 * that is not 0 at w' is 0 for finitely many t, and not 0 at w + t (w' - w) for all t > 0 small enough. */
#include "audit/ray.h"
#include "session/checkpoint.h"
#include "session/gradient.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An entry moves by at most so many steps. */
#define HALF (CLARKE_MOVED_MODULUS / 2)
#define PRECISION 128

static const unsigned multipliers[] = {34, 58, 71, 13};
static const int steps[] = {10, 20, 30};

#define N_MULTIPLIERS (sizeof multipliers / sizeof *multipliers)
#define N_STEPS (sizeof steps / sizeof *steps)

typedef struct {
  clarke_audit_session *s;
  clarke_tensors here, there; /* all parameters: as they are, and moved */
  size_t *along;              /* by parameter: entries that are not 0 there */
  const bool *asked;          /* by parameter: its entries are asked for */
  clarke_error *err;
} search;

/* --- what the argument above holds for ------------------------------------------------------- */

/* Do two pieces meet with one slope? On which of them an argument is, no place tells then. */
static bool
meets_smoothly(const clarke_graph *g, const clarke_step *s)
{
  const clarke_pieces *c = &s->pieces;
  bool smooth = false;
  mpq_t left, right;

  mpq_inits(left, right, NULL);
  for (size_t k = 0; k < c->n_kinks && !smooth; k++) {
    clarke_pieces_slope(right, c, k + 1, c->kink[k]);
    if (k > 0 || c->slope == CLARKE_NONE) {
      clarke_pieces_slope(left, c, k, c->kink[k]);
      smooth = mpq_equal(left, right) != 0;
    }
    for (size_t e = 0; k == 0 && c->slope != CLARKE_NONE && e < g->values[c->slope].count && !smooth; e++)
      smooth = mpq_cmp_si(right, 1, 1) == 0 && g->values[c->slope].real[e] == 1;
  }
  mpq_clears(left, right, NULL);
  return smooth;
}

static bool
is_followed(const clarke_graph *g)
{
  for (size_t i = 0; i < g->n_steps; i++) {
    const clarke_step *s = &g->steps[i];

    if (clarke_step_has_domain(s) || (s->kind == CLARKE_ANALYTIC && s->function == CLARKE_ELU)
        || (s->kind == CLARKE_SCALE && s->divide && clarke_value_is_wrt(g, s->in[1].value))
        || (s->kind == CLARKE_PIECEWISE && meets_smoothly(g, s)))
      return false;
  }
  return true;
}

/* --- moving ---------------------------------------------------------------------------------- */

/* By how much entry i of all in wrt moves. */
static double
moved_by(const clarke_moved *m, size_t i)
{
  return ldexp((double)((i + 1) % CLARKE_MOVED_MODULUS * m->multiplier % CLARKE_MOVED_MODULUS) - HALF, -m->step);
}

/* To the double that is nearest. */
static void
move(search *f, const clarke_moved *m)
{
  size_t i = 0;

  for (size_t p = 0; p < f->here.n; p++)
    for (size_t e = 0; f->s->graph.parameters[p].wrt && e < f->here.tensor[p].count; e++)
      f->there.tensor[p].real[e] = f->here.tensor[p].real[e] + moved_by(m, i++);
}

/* The direction w' - w, exactly. */
static clarke_status
direction_of(clarke_direction *d, const search *f)
{
  clarke_status status = CLARKE_OK;
  mpq_t from, to;

  mpq_inits(from, to, NULL);
  for (size_t p = 0; p < f->here.n; p++)
    for (size_t e = 0; f->s->graph.parameters[p].wrt && e < f->here.tensor[p].count && status == CLARKE_OK; e++) {
      mpq_set_d(from, f->here.tensor[p].real[e]);
      mpq_set_d(to, f->there.tensor[p].real[e]);
      mpq_sub(to, to, from);
      if (mpq_sgn(to) != 0)
        status = clarke_direction_move(d, CLARKE_MOVE_AT, p, e, to, f->err);
    }
  mpq_clears(from, to, NULL);
  return status;
}

/* --- one direction --------------------------------------------------------------------------- */

/* The place that a touch's argument leaves for, as a replay has it, in *place; false: it may be several. */
static bool
place_taken(clarke_branch *place, const clarke_replay *r, const clarke_cell *c, size_t k)
{
  const clarke_touch *t = &r->touch[k];
  const clarke_step *s = &r->g->steps[t->step];

  for (size_t i = 0; i < clarke_touch_conditions(t); i++)
    if (c->rests[t->first_condition + i])
      return false;
  if (c->flat[k])
    return true;
  if (t->n_options == 0) {
    *place = (clarke_branch)(t->kink + (c->side[k] == CLARKE_RIGHT));
    return true;
  }
  for (size_t i = 0; i < s->width; i++)
    if (s->in[0].map[t->feature * s->width + i] == t->option[CLARKE_OPTION_OF(c->side[k])]) {
      *place = (clarke_branch)i;
      return true;
    }
  return false;
}

/* Do all arguments at w' lie where they lie near w? */
static bool
places_agree(const clarke_replay *there, const clarke_replay *here, const clarke_cell *c)
{
  size_t k = 0;

  for (size_t i = 0; i < here->g->n_steps; i++)
    for (size_t e = 0; here->piece[i] != NULL && e < here->g->values[here->g->steps[i].out].count * here->samples; e++) {
      const bool touched = k < here->n_touches && here->touch[k].step == i && here->touch[k].feature * here->samples + here->touch[k].sample == e;
      clarke_branch place = here->piece[i][e];

      if ((touched && !place_taken(&place, here, c, k)) || there->piece[i][e] != place)
        return false;
      k += touched;
    }
  return k == here->n_touches;
}

/* Is it known to be other than 0? */
static bool
is_other(const clarke_matrix *m, size_t e)
{
  const double radius = m->rows > 0 ? clarke_matrix_radius(m, e, 0) : 0;
  mpq_t entry, most;
  bool other;

  if (m->rows == 0 || !isfinite(radius))
    return false;
  mpq_inits(entry, most, NULL);
  clarke_matrix_get(entry, m, e, 0);
  mpq_set_d(most, radius);
  mpq_abs(entry, entry);
  other = mpq_cmp(entry, most) > 0;
  mpq_clears(entry, most, NULL);
  return other;
}

/* Entries that are 0 in AD's gradient at w, and not at w'; those that are asked for. */
static size_t
count_others(const search *f, const clarke_matrix *gradient)
{
  const clarke_zeros *z = &f->s->zeros;
  size_t all = 0;

  for (size_t p = 0; p < f->here.n; p++) {
    f->along[p] = 0;
    for (size_t e = 0; z->cause[p] != NULL && e < f->here.tensor[p].count; e++)
      f->along[p] += (z->cause[p][e] & CLARKE_ZERO_NOT) == 0 && is_other(&gradient[p], e);
    all += f->asked[p] ? f->along[p] : 0;
  }
  return all;
}

/* At w', which is in the graph: counts, if all lies there as along the way. */
static clarke_status
ask_there(size_t *found, bool *agrees, const search *f, const clarke_cell *cell)
{
  clarke_audit_session there = *f->s;
  clarke_matrix *gradient = clarke_matrices_new(there.graph.n_parameters);
  clarke_status status = gradient != NULL ? CLARKE_OK : clarke_no_memory(f->err);
  bool known = false;

  there.loss_value = NULL;
  clarke_replay_init(&there.replay);
  if (status == CLARKE_OK)
    status = clarke_replay_run(&there.replay, NULL, &f->s->graph, there.x, false, 1, f->err);
  *agrees = status == CLARKE_OK && there.replay.open == 0 && places_agree(&there.replay, &f->s->replay, cell);
  if (*agrees)
    status = clarke_audit_exact(&known, gradient, &there, PRECISION, f->err);
  *found = status == CLARKE_OK && known ? count_others(f, gradient) : 0;
  clarke_replay_clear(&there.replay);
  clarke_matrices_free(gradient, there.graph.n_parameters);
  return status;
}

/* The direction's cell at w, then what is found at w'. */
static clarke_status
try_direction(size_t *found, bool *agrees, search *f, const clarke_moved *m)
{
  clarke_direction d;
  clarke_cell cell;
  bool realized = f->s->replay.n_touches == 0;
  clarke_status status, restored;

  *found = 0;
  *agrees = true;
  clarke_cell_init(&cell);
  clarke_direction_init(&d);
  move(f, m);
  status = direction_of(&d, f);
  if (status == CLARKE_OK && !realized)
    status = clarke_ray_along(&realized, &cell, &d, &f->s->question, f->err);
  if (status == CLARKE_OK && realized) {
    status = clarke_graph_replace(&f->s->graph, f->there.tensor, f->there.n, "moved weights", f->err);
    if (status == CLARKE_OK)
      status = ask_there(found, agrees, f, &cell);
    restored = clarke_graph_replace(&f->s->graph, f->here.tensor, f->here.n, "the weights", f->err);
    status = status == CLARKE_OK ? restored : status;
  }
  clarke_direction_clear(&d);
  clarke_cell_clear(&cell);
  return status;
}

/* --- the search ------------------------------------------------------------------------------ */

/* Keeps the counts where they are the best so far. */
static void
keep(clarke_moved *best, size_t *most, size_t found, const clarke_moved *m, const search *f)
{
  if (found <= *most)
    return;
  *most = found;
  best->known = true;
  best->multiplier = m->multiplier;
  best->step = m->step;
  memcpy(best->along, f->along, f->here.n * sizeof *f->along);
}

/* Entries that two directions leave at 0 are 0 along nearly all, as the gradient is analytic: no third one is asked. */
static clarke_status
try_all(search *f, clarke_moved *best, size_t wanted)
{
  size_t most = 0;
  bool more = true;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < N_MULTIPLIERS && most < wanted && more && status == CLARKE_OK; i++) {
    const size_t before = most;
    bool agrees = false;

    for (size_t k = 0; k < N_STEPS && !agrees && status == CLARKE_OK; k++) {
      const clarke_moved m = {.multiplier = multipliers[i], .step = steps[k]};
      size_t found;

      status = try_direction(&found, &agrees, f, &m);
      if (status == CLARKE_OK)
        keep(best, &most, found, &m, f);
    }
    more = !agrees || i == 0 || most > before;
  }
  return status;
}

void
clarke_moved_clear(clarke_moved *m)
{
  free(m->along);
  *m = (clarke_moved){0};
}

clarke_status
clarke_moved_find(clarke_audit_session *s, const bool *asked, size_t wanted, clarke_error *err)
{
  search f = {.s = s, .err = err, .asked = asked, .along = calloc(s->graph.n_parameters + 1, sizeof *f.along)};
  clarke_status status = f.along != NULL ? CLARKE_OK : clarke_no_memory(err);

  clarke_tensors_init(&f.here);
  clarke_tensors_init(&f.there);
  s->moved.along = calloc(s->graph.n_parameters + 1, sizeof *s->moved.along);
  if (s->moved.along == NULL)
    status = clarke_no_memory(err);
  if (status == CLARKE_OK && wanted > 0 && s->replay.open == 0 && clarke_audit_is_small(&s->graph) && is_followed(&s->graph)) {
    status = clarke_checkpoint_of(&f.here, &s->graph, err);
    if (status == CLARKE_OK)
      status = clarke_checkpoint_of(&f.there, &s->graph, err);
    if (status == CLARKE_OK)
      status = try_all(&f, &s->moved, wanted);
  }
  clarke_tensors_clear(&f.here);
  clarke_tensors_clear(&f.there);
  free(f.along);
  return status == CLARKE_ESTOPPED || status == CLARKE_EVAGUE || status == CLARKE_EINPUT ? CLARKE_OK : status;
}
