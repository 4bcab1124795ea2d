#include "network/pass/forward_inside.h"

#include "base/stop.h"
#include "base/wide.h"
#include "exact/upward.h"
#include "network/graph/contraction.h"
#include "network/pass/domain.h"
#include "network/pass/linear.h"
#include "network/pass/normalize.h"
#include "network/pass/piecewise.h"
#include "network/pass/combination.h"
#include "network/pass/sign.h"
#include "network/pass/softmax.h"
#include "network/pass/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* CLARKE_OPEN is the least there is. */
CLARKE_WIDE static clarke_branch
least_of(const clarke_branch *piece, size_t n)
{
  clarke_branch least = 0;

  for (size_t i = 0; i < n; i++)
    least = piece[i] < least ? piece[i] : least;
  return least;
}

bool
clarke_branches_open(const clarke_branch *piece, size_t n)
{
  return least_of(piece, n) == CLARKE_OPEN;
}

void
clarke_branches_leave(clarke_branch *piece, size_t n)
{
  for (size_t i = 0; i < n; i++)
    piece[i] = CLARKE_OPEN;
}

void
clarke_forward_init(clarke_forward *f)
{
  memset(f, 0, sizeof *f);
}

void
clarke_forward_clear(clarke_forward *f)
{
  for (size_t v = 0; f->value != NULL && v < f->g->n_values; v++)
    clarke_matrix_clear(&f->value[v]);
  for (size_t s = 0; f->piece != NULL && s < f->g->n_steps; s++)
    free(f->piece[s]);
  for (size_t s = 0; f->ties != NULL && s < f->g->n_steps; s++)
    free(f->ties[s]);
  free(f->value);
  free(f->piece);
  free(f->ties);
  clarke_identities_free(f->identities);
  clarke_forward_init(f);
}

clarke_status
clarke_forward_allocate(clarke_forward *f, const clarke_constants *constants, size_t n, clarke_error *err)
{
  const clarke_graph *g = constants->g;

  clarke_forward_clear(f);
  f->g = g;
  f->constants = constants;
  f->n = n;
  f->value = malloc((g->n_values + 1) * sizeof *f->value);
  for (size_t v = 0; f->value != NULL && v < g->n_values; v++)
    clarke_matrix_init(&f->value[v]);
  f->piece = calloc(g->n_steps + 1, sizeof *f->piece);
  f->ties = calloc(g->n_steps + 1, sizeof *f->ties);
  return f->value != NULL && f->piece != NULL && f->ties != NULL
           ? CLARKE_OK
           : clarke_no_memory(err);
}

/* The matrix of an operand: the activation, or the constant as a column. */
static clarke_matrix
operand_matrix(const clarke_forward *f, size_t value)
{
  const clarke_matrix *m = &f->constants->constant[value];

  return f->g->values[value].constant ? clarke_matrix_view(m, m->rows * m->cols, 1)
                                      : f->value[value];
}

/* Activations first, then the constants, which are columns. */
static clarke_status
run_sum(clarke_forward *f, const clarke_step *s, clarke_error *err)
{
  size_t count = f->g->values[s->out].count;
  clarke_matrix *y = &f->value[s->out], term;
  clarke_status status = CLARKE_OK;
  bool begun = false;

  clarke_matrix_init(&term);
  for (size_t pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < s->n_in && status == CLARKE_OK; i++) {
      clarke_matrix x = operand_matrix(f, s->in[i].value);

      if (f->g->values[s->in[i].value].constant != (pass == 1))
        continue;
      status = clarke_operand_apply(begun ? &term : y, &s->in[i], &x, count, err);
      if (status == CLARKE_OK && begun)
        status = clarke_matrix_add(y, y, &term, err);
      begun = true;
    }
  clarke_matrix_clear(&term);
  return status;
}

static clarke_status
run_scale(clarke_forward *f, const clarke_step *s, clarke_error *err)
{
  size_t count = f->g->values[s->out].count;
  clarke_matrix c;
  clarke_status status;

  clarke_matrix_init(&c);
  status = clarke_scale_column(&c, f, s, err);
  if (status == CLARKE_OK)
    status = clarke_operand_apply(&f->value[s->out], &s->in[0], &f->value[s->in[0].value], count,
                                  err);
  if (status == CLARKE_OK)
    status = clarke_matrix_hadamard(&f->value[s->out], &f->value[s->out], &c, err);
  clarke_matrix_clear(&c);
  return status;
}

/* An open window's output lies somewhere among the n entries that may be the largest: the radius of the copy of one of them
 * grows to hold them all. */
static void
widen(clarke_matrix *y, const clarke_matrix *x, const clarke_step *s, size_t feature, size_t column, const size_t *place, size_t n)
{
  size_t e = feature * y->cols + column;
  mpq_t here, there;

  mpq_inits(here, there, NULL);
  clarke_matrix_get(here, y, feature, column);
  for (size_t i = 0; i < n; i++) {
    const size_t from = s->in[0].map[feature * s->width + place[i]];

    clarke_matrix_get(there, x, from, column);
    mpq_sub(there, there, here);
    mpq_abs(there, there);
    y->radius[e] = fmax(y->radius[e], clarke_up_add(clarke_up_rational(there),
                                                    x->radius[from * x->cols + column]));
  }
  mpq_clears(here, there, NULL);
}

/* Each window's output is a copy of one of its largest entries: of the first, where it is tied. */
static clarke_status
run_max(clarke_forward *f, const clarke_step *s, clarke_error *err)
{
  const size_t i = (size_t)(s - f->g->steps);
  size_t entries = f->g->values[s->out].count * f->n;
  size_t *from = malloc((entries + 1) * sizeof *from), tied[CLARKE_MAX_WIDTH];
  clarke_status status = from != NULL ? clarke_window_decide(f, i, err)
                                      : clarke_no_memory(err);

  for (size_t e = 0; e < entries && status == CLARKE_OK; e++) {
    clarke_branch code = f->piece[i][e];

    if (code < 0)
      clarke_window_tied(tied, f, i, e / f->n, e % f->n);
    from[e] = s->in[0].map[e / f->n * s->width + (code < 0 ? tied[0] : (size_t)code)];
  }
  if (status == CLARKE_OK)
    status = clarke_matrix_gather_entries(&f->value[s->out], &f->value[s->in[0].value], from,
                                          f->g->values[s->out].count, err);
  for (size_t e = 0; e < entries && status == CLARKE_OK; e++)
    if (f->piece[i][e] == CLARKE_OPEN) {
      const size_t n = clarke_window_candidates(tied, f, i, e / f->n, e % f->n);

      widen(&f->value[s->out], &f->value[s->in[0].value], s, e / f->n, e % f->n, tied, n);
    }
  free(from);
  return status;
}

void
clarke_forward_measure(clarke_forward *f, size_t step, size_t feature, size_t column)
{
  const clarke_step *s = &f->g->steps[step];
  double least, most;

  if (f->margin == NULL)
    return;
  clarke_margin_of(&least, &most, f->g, s, &f->value[s->in[0].value], f->piece[step][feature * f->n + column], feature,
                   column);
  clarke_margin_take(&f->margin[step][column], least, most, feature);
}

/* Open places become what their signs say, unless that is a kink. */
static clarke_status
refine_signs(clarke_forward *f, size_t i, clarke_error *err)
{
  const clarke_step *s = &f->g->steps[i];
  const clarke_matrix *x = &f->value[s->in[0].value];
  size_t entries = x->rows * x->cols, open;
  clarke_branch *piece = f->piece[i], *found;
  clarke_status status;

  if (!clarke_branches_open(piece, entries))
    return CLARKE_OK;
  found = malloc((entries + 1) * sizeof *found);
  if (found == NULL)
    return clarke_no_memory(err);
  status = clarke_sign_decide(found, &open, f->constants, s, x, err);
  for (size_t e = 0; e < entries && status == CLARKE_OK; e++)
    if (piece[e] == CLARKE_OPEN && found[e] >= 0) {
      piece[e] = found[e];
      clarke_forward_measure(f, i, e / x->cols, e % x->cols);
    }
  free(found);
  return status;
}

/* Open arguments that cancel, but for a root, are 0: at a kink there. */
static void
find_zeros(clarke_forward *f, size_t i)
{
  const clarke_step *s = &f->g->steps[i];
  clarke_matrix *x = &f->value[s->in[0].value];
  size_t zero = 0;

  while (zero < s->pieces.n_kinks && mpq_sgn(s->pieces.kink[zero]) != 0)
    zero++;
  for (size_t e = 0; zero < s->pieces.n_kinks && s->pieces.slope == CLARKE_NONE && e < x->rows * x->cols; e++) {
    if (f->piece[i][e] != CLARKE_OPEN || clarke_matrix_compare(x, e / x->cols, e % x->cols, s->pieces.kink[zero]) != 2 ||
        !clarke_cancels(f, s->in[0].value, e / x->cols, CLARKE_NONE, s->pieces.kink[zero], e % x->cols))
      continue;
    memset(x->word + e * x->limbs, 0, x->limbs * sizeof *x->word);
    x->radius[e] = 0;
    f->piece[i][e] = CLARKE_AT(zero);
    f->open--;
  }
}

static clarke_status
run_piecewise(clarke_forward *f, const clarke_step *s, clarke_error *err)
{
  const size_t i = (size_t)(s - f->g->steps);
  const clarke_matrix *x = &f->value[s->in[0].value];
  clarke_status status;

  if (f->refining)
    status = refine_signs(f, i, err);
  else {
    f->piece[i] = malloc((x->rows * x->cols + 1) * sizeof **f->piece);
    if (f->piece[i] == NULL)
      return clarke_no_memory(err);
    status = clarke_sign_decide(f->piece[i], &f->open, f->constants, s, x, err);
    if (status == CLARKE_OK && !f->replaced) {
      find_zeros(f, i);
      clarke_sign_by_factors(f, i);
    }
  }
  if (status == CLARKE_OK)
    status = clarke_piecewise_apply(&f->value[s->out], f->constants, s, x, f->piece[i], err);
  return status;
}

static clarke_status
run_gather(clarke_forward *f, const clarke_step *s, clarke_error *err)
{
  return clarke_operand_apply(&f->value[s->out], &s->in[0], &f->value[s->in[0].value], f->g->values[s->out].count, err);
}

static clarke_status
run_dense(clarke_forward *f, const clarke_step *s, clarke_error *err)
{
  const clarke_matrix *w = &f->constants->constant[s->dense.weight];

  return clarke_dense_apply(&f->value[s->out], s, w, &f->value[s->in[0].value], false, err);
}

static clarke_status
run_analytic(clarke_forward *f, const clarke_step *s, clarke_error *err)
{
  const clarke_matrix *x = &f->value[s->in[0].value];

  clarke_status status;

  if (!clarke_step_has_domain(s))
    return clarke_analytic_apply(&f->value[s->out], f->g, s, x, false, f->precision, err);
  status = clarke_domain_apply(&f->value[s->out], &f->vague, s, x, false, f->precision, err);
  f->outside = status == CLARKE_EINPUT;
  return status;
}

static clarke_status
run_softmax(clarke_forward *f, const clarke_step *s, clarke_error *err)
{
  return clarke_softmax_apply(&f->value[s->out], s, &f->value[s->in[0].value], f->precision, err);
}

static clarke_status
run_normalize(clarke_forward *f, const clarke_step *s, clarke_error *err)
{
  return clarke_normalize_apply(&f->value[s->out], s, &f->value[s->in[0].value], f->precision, err);
}

static clarke_status
run_product(clarke_forward *f, const clarke_step *s, clarke_error *err)
{
  return clarke_contract(&f->value[s->out], s, &f->value[s->in[0].value], &f->value[s->in[1].value], err);
}

static clarke_status (*const of_kind[CLARKE_STEP_KINDS])(clarke_forward *f, const clarke_step *s, clarke_error *err) = {
  [CLARKE_GATHER] = run_gather, [CLARKE_SUM] = run_sum, [CLARKE_SCALE] = run_scale, [CLARKE_DENSE] = run_dense,
  [CLARKE_PIECEWISE] = run_piecewise, [CLARKE_ANALYTIC] = run_analytic, [CLARKE_SOFTMAX] = run_softmax,
  [CLARKE_NORMALIZE] = run_normalize, [CLARKE_MAX] = run_max, [CLARKE_PRODUCT] = run_product,
};

clarke_status
clarke_forward_apply(clarke_forward *f, const clarke_step *s, clarke_error *err)
{
  return of_kind[s->kind](f, s, err);
}

clarke_status
clarke_forward_begin(clarke_forward *f, const clarke_constants *constants, const clarke_matrix *input, long precision,
                     clarke_error *err)
{
  const clarke_graph *g = constants->g;
  clarke_status status = clarke_forward_allocate(f, constants, input->cols, err);

  f->precision = precision;
  if (status == CLARKE_OK && input->cols != g->samples && clarke_graph_couples(g))
    status = clarke_fail(err, CLARKE_EINTERNAL, "a pass over some of the samples, which are coupled");
  return status == CLARKE_OK ? clarke_matrix_copy(&f->value[g->input], input, err) : status;
}

/* Longer rational numbers become enclosures: a square doubles their length, and behind a dozen squares of
 * activations there would be no room. */
#define LONGEST (CLARKE_MAX_LIMBS / 4)

static clarke_status
round_value(clarke_matrix *y, long precision, clarke_error *err)
{
  clarke_status status = y->limbs > LONGEST ? clarke_matrix_need_radius(y, err) : CLARKE_OK;

  if (status == CLARKE_OK)
    status = clarke_matrix_round(y, (size_t)precision + 64, err);
  return status == CLARKE_OK ? clarke_matrix_trim(y, err) : status;
}

clarke_status
clarke_forward_next(clarke_forward *f, size_t i, clarke_error *err)
{
  const clarke_step *s = &f->g->steps[i];
  clarke_status status;

  clarke_work_done();
  status = clarke_work_check(err);
  if (status == CLARKE_OK)
    status = clarke_forward_apply(f, s, err);
  if (status == CLARKE_OK)
    status = round_value(&f->value[s->out], f->precision, err);
  return status == CLARKE_OK ? status : clarke_fail_in(err, status, "%s: node '%s'", f->g->file, s->name);
}

clarke_status
clarke_forward_run(clarke_forward *f, const clarke_constants *constants,
                   const clarke_matrix *input, const bool *needed, long precision,
                   clarke_error *err)
{
  const clarke_graph *g = constants->g;
  clarke_status status = clarke_forward_begin(f, constants, input, precision, err);

  for (size_t i = 0; i < g->n_steps && status == CLARKE_OK; i++)
    if (needed[g->steps[i].out] || clarke_step_has_kinks(&g->steps[i]))
      status = clarke_forward_next(f, i, err);
  return status;
}

void
clarke_forward_open_needs(bool *needed, size_t *last, const clarke_graph *g, clarke_branch *const *piece, size_t n, bool inside)
{
  memset(needed, 0, g->n_values * sizeof *needed);
  for (size_t i = g->n_steps; i-- > 0;) {
    const clarke_step *s = &g->steps[i];

    if (!needed[s->out] && !(inside && clarke_step_has_domain(s)) &&
        (piece[i] == NULL || !clarke_branches_open(piece[i], g->values[s->out].count * n)))
      continue;
    for (size_t k = 0; k < s->n_in; k++) {
      if (!needed[s->in[k].value])
        last[s->in[k].value] = i;
      needed[s->in[k].value] = true;
    }
    needed[s->out] = true;
  }
}

clarke_status
clarke_forward_column(clarke_forward *f, const clarke_forward *all, size_t column,
                      clarke_error *err)
{
  const clarke_graph *g = all->g;
  clarke_status status = clarke_forward_allocate(f, all->constants, 1, err);

  f->precision = all->precision;
  for (size_t v = 0; v < g->n_values && status == CLARKE_OK; v++)
    if (all->value[v].rows > 0)
      status = clarke_matrix_gather_cols(&f->value[v], &all->value[v], &column, 1, err);
  for (size_t i = 0; i < g->n_steps && status == CLARKE_OK; i++) {
    size_t count = g->values[g->steps[i].out].count;

    if (all->piece[i] == NULL)
      continue;
    f->piece[i] = malloc((count + 1) * sizeof **f->piece);
    if (f->piece[i] == NULL)
      return clarke_no_memory(err);
    for (size_t e = 0; e < count; e++)
      f->piece[i][e] = all->piece[i][e * all->n + column];
  }
  return status;
}
