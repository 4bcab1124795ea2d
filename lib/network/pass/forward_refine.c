/* What a filter left open, in rounded enclosures: step by step over the values that open places depend on, as long as more bits than pairs of
 * doubles have are of use. */
#include "network/pass/forward_inside.h"

#include "base/stop.h"
#include "network/pass/pairs/pass.h"

#include <math.h>
#include <stdlib.h>

/* Where an error is as large a part of the largest entry, it is above what pairs round: 2^5 times a unit of these. */
#define WIDE 0x1p-98

/* Is the largest radius so large a part of the largest entry? */
static bool
is_wide(const clarke_matrix *m)
{
  const double most = ldexp(1, (int)fmax(fmin((double)clarke_matrix_bits(m) + (double)m->exp, 1000), -1000)) / mpz_get_d(m->den);

  for (size_t e = 0; m->radius != NULL && e < m->rows * m->cols; e++)
    if (m->radius[e] >= WIDE * most)
      return true;
  return false;
}

/* The step behind the last one that pairs do not follow. */
static size_t
first_followed(const clarke_graph *g, const bool *needed)
{
  size_t first = g->n_steps;

  while (first > 0 && (!needed[g->steps[first - 1].out] || clarke_pairs_has(&g->steps[first - 1])))
    first--;
  return first;
}

static clarke_status
refine_step(clarke_forward *f, size_t i, size_t bits, clarke_error *err)
{
  const clarke_step *s = &f->g->steps[i];
  clarke_status status = clarke_work_check(err);

  if (status == CLARKE_OK)
    status = clarke_forward_apply(f, s, err);
  if (status == CLARKE_OK) /* functions may be exact */
    status = clarke_matrix_need_radius(&f->value[s->out], err);
  if (status == CLARKE_OK)
    status = clarke_matrix_round(&f->value[s->out], bits, err);
  if (status == CLARKE_OK)
    status = clarke_matrix_trim(&f->value[s->out], err);
  return status == CLARKE_OK ? status : clarke_fail_in(err, status, "%s: node '%s'", f->g->file, s->name);
}

/* rest: NULL, or where the pass ends before its last step: *rest is the next one. */
static clarke_status
refine_steps(clarke_forward *f, const bool *needed, const size_t *last, size_t bits, size_t *rest, clarke_error *err)
{
  const clarke_graph *g = f->g;
  const size_t followed = rest != NULL ? first_followed(g, needed) : g->n_steps;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < g->n_steps && status == CLARKE_OK; i++) {
    const clarke_step *s = &g->steps[i];

    if (!needed[s->out])
      continue;
    status = refine_step(f, i, bits, err);
    for (size_t k = 0; k < s->n_in; k++)
      if (last[s->in[k].value] == i) {
        clarke_matrix_clear(&f->value[s->in[k].value]);
        clarke_matrix_init(&f->value[s->in[k].value]);
      }
    if (status == CLARKE_OK && i + 1 >= followed && i + 1 < g->n_steps && s->kind == CLARKE_DENSE && is_wide(&f->value[s->out])) {
      *rest = i + 1;
      break;
    }
  }
  return status;
}

/* Those values become the caller's. */
static void
leave_rest(clarke_forward_rest *rest, clarke_forward *f)
{
  rest->value = f->value;
  f->value = NULL;
}

void
clarke_forward_rest_clear(clarke_forward_rest *rest, const clarke_graph *g)
{
  clarke_matrices_free(rest->value, g->n_values);
  *rest = (clarke_forward_rest){.step = g->n_steps};
}

clarke_status
clarke_forward_refine(clarke_branch **piece, size_t **ties, clarke_margin **margin, bool *inside, clarke_forward_rest *rest,
                      const clarke_constants *constants, const clarke_matrix *input, const clarke_tensor *x, size_t bits, clarke_error *err)
{
  const clarke_graph *g = constants->g;
  const bool asked = *inside;
  bool *needed = malloc((g->n_values + 1) * sizeof *needed);
  size_t *last = malloc((g->n_values + 1) * sizeof *last);
  clarke_forward f;
  clarke_status status;

  clarke_forward_init(&f);
  status = clarke_forward_allocate(&f, constants, input->cols, err);
  if (status == CLARKE_OK && (needed == NULL || last == NULL))
    status = clarke_no_memory(err);
  free(f.piece);
  free(f.ties);
  f.piece = piece;
  f.ties = ties;
  f.refining = true;
  f.margin = margin;
  f.precision = (long)bits;
  if (rest != NULL)
    *rest = (clarke_forward_rest){.step = g->n_steps};
  if (status == CLARKE_OK)
    f.identities = clarke_identities_new(g, f.n, piece, NULL, x);
  if (status == CLARKE_OK && f.identities == NULL)
    status = clarke_no_memory(err);
  if (status == CLARKE_OK)
    status = clarke_matrix_copy(&f.value[g->input], input, err);
  if (status == CLARKE_OK) /* an enclosure, to be rounded from its first step on */
    status = clarke_matrix_need_radius(&f.value[g->input], err);
  if (status == CLARKE_OK) {
    clarke_forward_open_needs(needed, last, g, piece, f.n, asked);
    status = refine_steps(&f, needed, last, bits, rest != NULL ? &rest->step : NULL, err);
    *inside = asked && status == CLARKE_OK;
    if (rest != NULL && status == CLARKE_OK && rest->step < g->n_steps)
      leave_rest(rest, &f);
    if (status == CLARKE_EVAGUE || f.outside) /* what is behind is left open */
      status = CLARKE_OK;
  }
  f.piece = NULL;
  f.ties = NULL;
  clarke_forward_clear(&f);
  free(needed);
  free(last);
  return status;
}
