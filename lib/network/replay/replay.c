/* Replay: the filter over all samples, then enclosures and the exact pass over what it leaves open. */
#include "network/replay/replay.h"

#include "base/verify.h"
#include "network/replay/replay_inside.h"
#include "network/pass/least.h"
#include "network/pass/slices/plan.h"

#include <stdlib.h>
#include <string.h>

void
clarke_replay_init(clarke_replay *r)
{
  memset(r, 0, sizeof *r);
  clarke_forward_init(&r->near);
}

void
clarke_replay_clear(clarke_replay *r)
{
  for (size_t i = 0; r->piece != NULL && i < r->g->n_steps; i++)
    free(r->piece[i]);
  for (size_t i = 0; r->ties != NULL && i < r->g->n_steps; i++)
    free(r->ties[i]);
  for (size_t k = 0; k < r->n_touches; k++)
    free(r->touch[k].option);
  free(r->piece);
  free(r->ties);
  free(r->near_sample);
  free(r->touch);
  clarke_forward_clear(&r->near);
  if (r->g != NULL)
    clarke_constants_clear(&r->constants);
  clarke_replay_init(r);
}

static clarke_status
check_batch(const clarke_tensor *x, clarke_error *err)
{
  for (size_t i = 0; x->real == NULL && i < x->count; i++)
    if (x->integer[i] > (1LL << 53) || x->integer[i] < -(1LL << 53))
      return clarke_fail(err, CLARKE_EINPUT, "x: entry %zu is over 2^53 in absolute value", i);
  return CLARKE_OK;
}

/* All entries open: what is not decided by the filter. */
static clarke_status
leave_all_open(clarke_replay *r, size_t *open, clarke_error *err)
{
  *open = 0;
  for (size_t i = 0; i < r->g->n_steps; i++) {
    size_t entries = r->g->values[r->g->steps[i].out].count * r->samples;

    if (!clarke_step_has_kinks(&r->g->steps[i]))
      continue;
    r->piece[i] = malloc((entries + 1) * sizeof **r->piece);
    if (r->g->steps[i].kind == CLARKE_MAX)
      r->ties[i] = calloc(r->samples + 1, sizeof **r->ties);
    if (r->piece[i] == NULL || (r->g->steps[i].kind == CLARKE_MAX && r->ties[i] == NULL))
      return clarke_no_memory(err);
    clarke_branches_leave(r->piece[i], entries);
    *open += entries;
  }
  return CLARKE_OK;
}

/* Are enclosures cheaper than an exact pass, which is in enclosures itself behind a transcendental function? */
static bool
algebraic(const clarke_graph *g, const bool *needed)
{
  for (size_t i = 0; i < g->n_steps; i++)
    if (needed[g->steps[i].out] && (g->steps[i].kind == CLARKE_ANALYTIC || g->steps[i].kind == CLARKE_SOFTMAX))
      return false;
  return true;
}

/* What the filter left open, with all entries open if there was none: in enclosures, then exactly. Whether arguments lie in the domains of
 * functions is asked of both. */
static clarke_status
run_open(clarke_replay *r, bool refine, clarke_error *err)
{
  bool *needed = malloc((r->g->n_values + 1) * sizeof *needed);
  size_t n = 1;
  clarke_status status = needed != NULL ? clarke_constants_init(&r->constants, r->g, err)
                                        : clarke_no_memory(err);

  r->bits = clarke_replay_bits(r);
  if (status == CLARKE_OK)
    clarke_graph_needed(r->g, false, needed);
  if (status == CLARKE_OK && refine && (algebraic(r->g, needed) || !clarke_replay_touches_early(r)))
    status = clarke_replay_refine(r, &n, err);
  if (status == CLARKE_OK)
    clarke_graph_needed(r->g, true, needed);
  if (status == CLARKE_OK && n > 0)
    status = clarke_replay_check_coupled(r, err);
  if (status == CLARKE_OK && n > 0)
    status = clarke_samples_open(&r->near_sample, &n, r, err);
  if (status == CLARKE_OK && n > 0)
    status = clarke_replay_exact(r, n, needed, err);
  free(needed);
  return status;
}

static clarke_status
begin(clarke_replay *r, clarke_margins *margins, const clarke_graph *g, const clarke_tensor *x, clarke_error *err)
{
  clarke_replay_clear(r);
  r->g = g;
  r->x = x;
  r->samples = x->dims[0];
  r->piece = calloc(g->n_steps + 1, sizeof *r->piece);
  r->ties = calloc(g->n_steps + 1, sizeof *r->ties);
  r->margins = margins;
  if (margins != NULL) {
    clarke_margins_clear(margins);
    *margins = (clarke_margins){.n_steps = g->n_steps, .samples = r->samples, .at = clarke_margin_rows(g, r->samples)};
  }
  return r->piece != NULL && r->ties != NULL && (margins == NULL || margins->at != NULL) ? CLARKE_OK
                                                                                         : clarke_no_memory(err);
}

/* What the filter's bounds of norms rest on, where these cost less than its products and errors grow through many layers.
 * (Coupled samples are normalized, which the filter's norms do not follow.) */
static clarke_status
find_growths(clarke_growths *growths, const clarke_graph *g, size_t samples, clarke_error *err)
{
  bool *needed = malloc((g->n_values + 1) * sizeof *needed);
  double norms, products;
  clarke_status status = needed != NULL ? CLARKE_OK : clarke_no_memory(err);

  if (status == CLARKE_OK) {
    clarke_graph_needed(g, false, needed);
    for (size_t i = 0; i < g->n_steps; i++)
      needed[g->steps[i].out] = needed[g->steps[i].out] || clarke_step_has_kinks(&g->steps[i]);
    clarke_growths_cost(&norms, &products, g, needed, samples);
    if (norms <= products)
      status = clarke_growths_add(growths, g, needed, err);
  }
  free(needed);
  return status;
}

static clarke_status
run_filter(clarke_replay *r, size_t threads, size_t *open, clarke_error *err)
{
  const size_t entries = *open;
  clarke_growths growths = {0};
  clarke_status status = CLARKE_OK;

  if (clarke_replay_is_deep(r->g) && !clarke_graph_couples(r->g) && clarke_slices_serve(r->g, r->piece, r->samples))
    status = find_growths(&growths, r->g, r->samples, err);
  if (status == CLARKE_OK && !clarke_replay_is_lost(r) && !clarke_replay_wants_pairs(r))
    status = clarke_replay_filter(r, growths.g != NULL ? &growths : NULL, threads, open, err);
  r->filtered = entries - *open;
  if (status == CLARKE_OK && *open > 0)
    status = clarke_replay_slice(r, &growths, open, err);
  if (growths.g != NULL)
    clarke_growths_clear(&growths);
  return status;
}

clarke_status
clarke_replay_run(clarke_replay *r, clarke_margins *margins, const clarke_graph *g, const clarke_tensor *x,
                      bool exact, size_t threads, clarke_error *err)
{
  size_t open = 0, entries = 0;
  clarke_status status;

  CLARKE_ASSERT(x->rank > 0 && x->dims[0] > 0);
  CLARKE_VERIFY_CHECK(clarke_graph_is_valid(g));
  status = begin(r, margins, g, x, err);
  if (status == CLARKE_OK)
    status = check_batch(x, err);
  if (status == CLARKE_OK)
    status = leave_all_open(r, &entries, err);
  open = entries;
  if (status == CLARKE_OK && !exact)
    status = run_filter(r, threads, &open, err);
  r->inside = !exact && clarke_graph_has_domain(g) && clarke_least_is_inside(g);
  if (status == CLARKE_OK && (open > 0 || (clarke_graph_has_domain(g) && !r->inside)))
    status = run_open(r, !exact, err);
  CLARKE_VERIFY_CHECK(status != CLARKE_OK || clarke_replay_is_valid(r));
  return status;
}

clarke_status
clarke_replay_some(clarke_forward *f, clarke_replay *r, const size_t *sample, size_t n, bool loss, long precision, clarke_error *err)
{
  bool *needed = malloc((r->g->n_values + 1) * sizeof *needed);
  clarke_matrix input;
  clarke_status status = needed != NULL ? CLARKE_OK : clarke_no_memory(err);

  CLARKE_ASSERT(n == r->samples || !clarke_graph_couples(r->g));
  clarke_matrix_init(&input);
  if (status == CLARKE_OK && r->constants.constant == NULL)
    status = clarke_constants_init(&r->constants, r->g, err);
  if (status == CLARKE_OK)
    status = clarke_samples_matrix(&input, r->x, sample, n, err);
  if (status == CLARKE_OK)
    clarke_graph_needed(r->g, loss, needed);
  if (status == CLARKE_OK)
    status = clarke_forward_run(f, &r->constants, &input, needed, precision, err);
  for (long p = 2 * precision; clarke_forward_is_vague(f, status) && p <= CLARKE_PRECISION_LAST; p *= 2)
    status = clarke_forward_run(f, &r->constants, &input, needed, p, err);
  clarke_matrix_clear(&input);
  free(needed);
  return status;
}

clarke_status
clarke_replay_all(clarke_forward *f, clarke_replay *r, bool loss, long precision, clarke_error *err)
{
  size_t *sample = malloc((r->samples + 1) * sizeof *sample);
  clarke_status status = sample != NULL ? CLARKE_OK : clarke_no_memory(err);

  for (size_t j = 0; status == CLARKE_OK && j < r->samples; j++)
    sample[j] = j;
  if (status == CLARKE_OK)
    status = clarke_replay_some(f, r, sample, r->samples, loss, precision, err);
  free(sample);
  return status;
}
