#include "network/derive/slopes.h"

#include "exact/ball.h"
#include "exact/number.h"
#include "exact/upward.h"
#include "network/pass/domain.h"
#include "network/pass/piecewise.h"
#include "network/pass/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void
clarke_slopes_init(clarke_slopes *s)
{
  memset(s, 0, sizeof *s);
}

static void
route_clear(clarke_route *route)
{
  for (size_t r = 0; r < route->n; r++) {
    free(route->from[r]);
    clarke_matrix_clear(&route->weight[r]);
  }
  free(route->from);
  free(route->weight);
}

void
clarke_slopes_clear(clarke_slopes *s)
{
  for (size_t i = 0; s->slope != NULL && i < s->n; i++)
    clarke_matrix_clear(&s->slope[i]);
  for (size_t i = 0; s->route != NULL && i < s->n; i++)
    route_clear(&s->route[i]);
  free(s->slope);
  free(s->route);
  clarke_slopes_init(s);
}

static clarke_status
allocate(clarke_slopes *s, size_t n, clarke_error *err)
{
  clarke_slopes_clear(s);
  s->slope = malloc((n + 1) * sizeof *s->slope);
  s->route = calloc(n + 1, sizeof *s->route);
  if (s->slope == NULL || s->route == NULL) {
    free(s->slope);
    s->slope = NULL;
    return clarke_no_memory(err);
  }
  s->n = n;
  for (size_t i = 0; i < n; i++)
    clarke_matrix_init(&s->slope[i]);
  return CLARKE_OK;
}

void
clarke_touch_side(mpq_t slope, const clarke_graph *g, const clarke_touch *t, bool right)
{
  clarke_piecewise_side(slope, g, &g->steps[t->step], t->feature, t->kink, right);
}

clarke_status
clarke_touch_proxy(mpq_t value, const clarke_graph *g, const clarke_touch *t,
                   const clarke_profile *profile, clarke_error *err)
{
  const clarke_step *step = &g->steps[t->step];
  const clarke_proxy *proxy =
    clarke_profile_find(profile, step->op, step->pieces.first_kink + t->kink);

  if (proxy == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "profile %s says nothing of %s kink %zu. Say so with --profile FILE, a file with the line "
                       "'%s %zu VALUE', VALUE a number, left or right", profile->name, step->op->name,
                       step->pieces.first_kink + t->kink, step->op->name, step->pieces.first_kink + t->kink);
  if (proxy->kind == CLARKE_PROXY_INJECTED)
    return clarke_fail(err, CLARKE_EINTERNAL, "a number in the gradient's place was taken for a slope");
  if (proxy->kind == CLARKE_PROXY_VALUE)
    mpq_set(value, proxy->value);
  else
    clarke_touch_side(value, g, t, proxy->kind == CLARKE_PROXY_RIGHT);
  return CLARKE_OK;
}

/* sigmoid' = y (1 - y), tanh' = 1 - y^2, from the value's enclosure. */
static clarke_status
sigmoid_slopes(clarke_matrix *s, const clarke_step *step, const clarke_matrix *y,
               clarke_error *err)
{
  clarke_matrix ones, square;
  double one = 1;
  clarke_status status;

  clarke_matrix_init(&ones);
  clarke_matrix_init(&square);
  status = clarke_matrix_hadamard(&square, y, y, err);
  if (status == CLARKE_OK && step->function == CLARKE_SIGMOID)
    status = clarke_matrix_sub(s, y, &square, err);
  if (status == CLARKE_OK && step->function == CLARKE_TANH) {
    mpq_t minus;

    mpq_init(minus);
    mpq_set_si(minus, -1, 1);
    status = clarke_matrix_scale(&square, &square, minus, err);
    mpq_clear(minus);
    if (status == CLARKE_OK)
      status = clarke_matrix_set_doubles(&ones, 1, 1, &one, err);
    if (status == CLARKE_OK) {
      size_t *zeros = calloc(y->rows + 1, sizeof *zeros);

      status = zeros != NULL ? clarke_matrix_gather_rows(s, &ones, zeros, y->rows, err)
                             : clarke_no_memory(err);
      free(zeros);
    }
    if (status == CLARKE_OK)
      status = clarke_matrix_add(s, &square, s, err);
  }
  clarke_matrix_clear(&ones);
  clarke_matrix_clear(&square);
  return status;
}

static clarke_status
analytic_slopes(clarke_matrix *s, const clarke_forward *f, const clarke_step *step, clarke_error *err)
{
  const clarke_matrix *x = &f->value[step->in[0].value], *y = &f->value[step->out];
  bool vague;

  if (step->function == CLARKE_EXP)
    return clarke_matrix_copy(s, y, err);
  if (clarke_step_has_domain(step))
    return clarke_domain_apply(s, &vague, step, x, true, f->precision > 0 ? f->precision : 64, err);
  return step->function == CLARKE_SIGMOID || step->function == CLARKE_TANH
           ? sigmoid_slopes(s, step, y, err)
           : clarke_analytic_apply(s, f->g, step, x, true, f->precision > 0 ? f->precision : 64, err);
}

/* Stores a rational at (i,j), refining the matrix's scale if it must. */
static clarke_status
set_entry(clarke_matrix *m, size_t i, size_t j, const mpq_t q, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  mpq_t scaled, factor;

  mpq_inits(scaled, factor, NULL);
  /* scaled = q den / 2^exp must be an integer; else the whole matrix is rescaled. */
  mpq_set_z(factor, m->den);
  mpq_mul(scaled, q, factor);
  if (m->exp < 0)
    mpq_mul_2exp(scaled, scaled, (unsigned long)-m->exp);
  else
    mpq_div_2exp(scaled, scaled, (unsigned long)m->exp);
  if (mpz_cmp_ui(mpq_denref(scaled), 1) != 0) {
    size_t twos = mpz_scan1(mpq_denref(scaled), 0);
    mpz_t word, by;

    mpz_init(word);
    mpz_init_set(by, mpq_denref(scaled));
    for (size_t e = 0; e < m->rows * m->cols && status == CLARKE_OK; e++) {
      clarke_matrix_load(word, m, e / m->cols, e % m->cols);
      mpz_mul(word, word, by);
      status = clarke_matrix_store(m, e / m->cols, e % m->cols, word, err);
    }
    mpz_tdiv_q_2exp(by, by, twos);
    mpz_mul(m->den, m->den, by);
    m->exp -= (long)twos;
    mpz_set_ui(mpq_denref(scaled), 1);
    mpz_clears(word, by, NULL);
  }
  if (status == CLARKE_OK)
    status = clarke_matrix_store(m, i, j, mpq_numref(scaled), err);
  mpq_clears(scaled, factor, NULL);
  return status;
}

/* The slope of the side that the choice says, or AD's proxy. */
static clarke_status
set_touched(clarke_slopes *slopes, const clarke_graph *g, const clarke_touch *t, clarke_branch choice,
            const clarke_profile *profile, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  mpq_t slope;

  mpq_init(slope);
  if (choice == CLARKE_PROXY)
    status = clarke_touch_proxy(slope, g, t, profile, err);
  else
    clarke_touch_side(slope, g, t, choice == CLARKE_RIGHT);
  if (status == CLARKE_OK && mpq_sgn(slope) != 0)
    status = set_entry(&slopes->slope[t->step], t->feature, t->column, slope, err);
  mpq_clear(slope);
  return status;
}

/* One more term, of `entries` entries that come from nowhere; its index. */
static clarke_status
route_grow(clarke_route *route, size_t entries, clarke_error *err)
{
  size_t **from = realloc(route->from, (route->n + 1) * sizeof *from);
  clarke_matrix *weight;

  if (from != NULL)
    route->from = from;
  weight = realloc(route->weight, (route->n + 1) * sizeof *weight);
  if (weight != NULL)
    route->weight = weight;
  if (from == NULL || weight == NULL)
    return clarke_no_memory(err);
  from[route->n] = malloc((entries + 1) * sizeof **from);
  if (from[route->n] == NULL)
    return clarke_no_memory(err);
  clarke_matrix_init(&weight[route->n]);
  for (size_t e = 0; e < entries; e++)
    from[route->n][e] = CLARKE_NONE;
  route->n++;
  return CLARKE_OK;
}

/* Every window's winner; those of touched ones come after. */
static clarke_status
route_winners(clarke_route *route, const clarke_forward *f, size_t step, clarke_error *err)
{
  const clarke_step *s = &f->g->steps[step];
  size_t entries = f->g->values[s->out].count * f->n;
  clarke_status status = route_grow(route, entries, err);

  for (size_t e = 0; e < entries && status == CLARKE_OK; e++)
    if (f->piece[step][e] >= 0)
      route->from[0][e] = s->in[0].map[e / f->n * s->width + (size_t)f->piece[step][e]];
  return status;
}

/* A window's output gets `weight` times the entry, as its term `at`. */
static clarke_status
route_share(clarke_route *route, const clarke_forward *f, const clarke_touch *t, size_t at,
            size_t entry, const mpq_t weight, clarke_error *err)
{
  size_t count = f->g->values[f->g->steps[t->step].out].count;
  clarke_status status = CLARKE_OK;

  if (route->n == at)
    status = route_grow(route, count * f->n, err);
  if (status == CLARKE_OK && route->weight[at].rows == 0)
    status = clarke_matrix_resize(&route->weight[at], count, f->n, 1, err);
  if (status != CLARKE_OK)
    return status;
  route->from[at][t->feature * f->n + t->column] = entry;
  return set_entry(&route->weight[at], t->feature, t->column, weight, err);
}

void
clarke_tie_share(mpq_t share, const clarke_tie_rule *rule, size_t i, size_t n)
{
  mpq_t one;

  mpq_init(one);
  mpq_set_ui(share, 1, n);
  mpq_canonicalize(share);
  mpq_mul(share, share, rule->beta);
  if (i == (rule->tie == CLARKE_TIE_LAST ? n - 1 : 0)) {
    mpq_set_ui(one, 1, 1);
    mpq_sub(one, one, rule->beta);
    mpq_add(share, share, one);
  }
  mpq_clear(one);
}

static clarke_status
set_shares(clarke_route *route, const clarke_forward *f, const clarke_touch *t, const size_t *tied,
           size_t n, const clarke_tie_rule *rule, clarke_error *err)
{
  const clarke_step *s = &f->g->steps[t->step];
  clarke_status status = CLARKE_OK;
  mpq_t share;

  mpq_init(share);
  for (size_t i = 0; i < n && status == CLARKE_OK; i++) {
    clarke_tie_share(share, rule, i, n);
    status = route_share(route, f, t, i + 1, s->in[0].map[t->feature * s->width + tied[i]], share, err);
  }
  mpq_clear(share);
  return status;
}

/* The entry that the choice says, or AD takes. */
static clarke_status
route_touched(clarke_slopes *slopes, const clarke_forward *f, const clarke_touch *t, clarke_branch choice,
              const clarke_profile *profile, clarke_error *err)
{
  const clarke_step *s = &f->g->steps[t->step];
  const clarke_tie_rule *rule = clarke_profile_tie(profile, s->op);
  size_t place[CLARKE_MAX_WIDTH], n;

  size_t *from = &slopes->route[t->step].from[0][t->feature * f->n + t->column];
  clarke_status status;

  if (choice != CLARKE_PROXY) {
    *from = t->option[CLARKE_OPTION_OF(choice)];
    return CLARKE_OK;
  }
  status = clarke_tie_check(rule, profile, s->op, err);
  if (status != CLARKE_OK)
    return status;
  n = clarke_window_tied(place, f, t->step, t->feature, t->column);
  *from = CLARKE_NONE;
  if (mpq_sgn(rule->beta) != 0)
    return set_shares(&slopes->route[t->step], f, t, place, n, rule, err);
  *from = s->in[0].map[t->feature * s->width + place[rule->tie == CLARKE_TIE_LAST ? n - 1 : 0]];
  return CLARKE_OK;
}

clarke_status
clarke_tie_check(const clarke_tie_rule *rule, const clarke_profile *profile, const clarke_op *op,
                 clarke_error *err)
{
  if (op->first_alone)
    return clarke_tie_sorts(rule, profile, op, err);
  if (rule != NULL && rule->known && rule->tie != CLARKE_TIE_STABLE)
    return CLARKE_OK;
  if (op->hint == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "profile %s has no rule for ties of %s: first, last, mean or hybrid", profile->name,
                       op->name);
  return clarke_fail(err, CLARKE_EINPUT, "profile %s has no rule for ties of %s, for a file does not say which function it was (%s). "
                     "Say so with --profile FILE, a file with the line 'tie %s mean' or 'tie %s first'", profile->name, op->name,
                     op->hint, op->name, op->name);
}

clarke_status
clarke_slopes_choose(clarke_slopes *s, const clarke_forward *f, const clarke_touch *touch,
                     size_t n, const clarke_branch *choice, const clarke_profile *profile,
                     clarke_error *err)
{
  const clarke_graph *g = f->g;
  clarke_status status = allocate(s, g->n_steps, err);

  for (size_t i = 0; i < g->n_steps && status == CLARKE_OK; i++) {
    const clarke_step *step = &g->steps[i];

    if (step->kind == CLARKE_PIECEWISE)
      status = clarke_piecewise_slopes(&s->slope[i], f->constants, step,
                                       &f->value[step->in[0].value], f->piece[i], err);
    else if (step->kind == CLARKE_ANALYTIC && f->value[step->out].rows > 0)
      status = analytic_slopes(&s->slope[i], f, step, err);
    else if (step->kind == CLARKE_MAX)
      status = route_winners(&s->route[i], f, i, err);
  }
  for (size_t k = 0; k < n && status == CLARKE_OK; k++) {
    const clarke_branch side = choice != NULL ? choice[k] : CLARKE_PROXY;

    status = g->steps[touch[k].step].kind == CLARKE_MAX ? route_touched(s, f, &touch[k], side, profile, err)
                                                        : set_touched(s, g, &touch[k], side, profile, err);
  }
  return status;
}

/* Gives an entry a radius. */
static clarke_status
set_radius(clarke_matrix *m, size_t i, size_t j, const mpq_t radius, clarke_error *err)
{
  if (m->radius == NULL)
    m->radius = calloc(m->rows * m->cols + 1, sizeof *m->radius);
  if (m->radius == NULL)
    return clarke_no_memory(err);
  m->radius[i * m->cols + j] = clarke_above(mpq_get_d(radius));
  return CLARKE_OK;
}

static clarke_status
loosen_kink(clarke_matrix *slope, const clarke_graph *g, const clarke_touch *t, clarke_error *err)
{
  clarke_status status;
  mpq_t left, right, half;

  mpq_inits(left, right, half, NULL);
  clarke_touch_side(left, g, t, false);
  clarke_touch_side(right, g, t, true);
  mpq_set_ui(half, 1, 2);
  mpq_sub(right, right, left);
  mpq_mul(right, right, half);
  mpq_add(left, left, right);
  mpq_abs(right, right);
  status = set_entry(slope, t->feature, t->column, left, err);
  if (status == CLARKE_OK)
    status = set_radius(slope, t->feature, t->column, right, err);
  mpq_clears(left, right, half, NULL);
  return status;
}

static clarke_status
loosen_window(clarke_route *route, const clarke_forward *f, const clarke_touch *t,
              clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  mpq_t half;

  mpq_init(half);
  mpq_set_ui(half, 1, 2);
  for (size_t r = 0; r < route->n; r++) /* a mean has terms of more entries than options */
    route->from[r][t->feature * f->n + t->column] = CLARKE_NONE;
  for (size_t o = 0; o < t->n_options && status == CLARKE_OK; o++) {
    status = route_share(route, f, t, o + 1, t->option[o], half, err);
    if (status == CLARKE_OK)
      status = set_radius(&route->weight[o + 1], t->feature, t->column, half, err);
  }
  mpq_clear(half);
  return status;
}

clarke_status
clarke_slopes_loosen(clarke_slopes *s, const clarke_forward *f, const clarke_touch *touch, size_t n,
                     clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < n && status == CLARKE_OK; k++)
    status = touch[k].n_options > 0 ? loosen_window(&s->route[touch[k].step], f, &touch[k], err)
                                    : loosen_kink(&s->slope[touch[k].step], f->g, &touch[k], err);
  return status;
}

clarke_status
clarke_slopes_of_ad(clarke_slopes *s, const clarke_forward *all, const clarke_replay *r,
                    const clarke_profile *profile, clarke_error *err)
{
  clarke_touch *touch = malloc((r->n_touches + 1) * sizeof *touch);
  clarke_status status;

  if (touch == NULL)
    return clarke_no_memory(err);
  for (size_t k = 0; k < r->n_touches; k++) {
    touch[k] = r->touch[k];
    touch[k].column = touch[k].sample;
  }
  status = clarke_slopes_choose(s, all, touch, r->n_touches, NULL, profile, err);
  free(touch);
  return status;
}

/* One column of n of a route. */
static clarke_status
route_column(clarke_route *route, const clarke_route *all, size_t entries, size_t n, size_t column,
             clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t r = 0; r < all->n && status == CLARKE_OK; r++) {
    status = route_grow(route, entries, err);
    for (size_t e = 0; e < entries && status == CLARKE_OK; e++)
      route->from[r][e] = all->from[r][e * n + column];
    if (status == CLARKE_OK && all->weight[r].rows > 0)
      status = clarke_matrix_gather_cols(&route->weight[r], &all->weight[r], &column, 1, err);
  }
  return status;
}

clarke_status
clarke_slopes_column(clarke_slopes *s, const clarke_slopes *all, const clarke_forward *f,
                     size_t column, clarke_error *err)
{
  clarke_status status = allocate(s, all->n, err);

  for (size_t i = 0; i < all->n && status == CLARKE_OK; i++)
    if (all->slope[i].rows > 0)
      status = clarke_matrix_gather_cols(&s->slope[i], &all->slope[i], &column, 1, err);
    else if (all->route[i].n > 0)
      status = route_column(&s->route[i], &all->route[i], f->g->values[f->g->steps[i].out].count,
                            f->n, column, err);
  return status;
}
