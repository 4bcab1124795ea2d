#include "replay/derivative.h"

#include "exact/ball.h"
#include "replay/piecewise.h"

#include <stdlib.h>
#include <string.h>

void
clarke_slopes_init(clarke_slopes *s)
{
  memset(s, 0, sizeof *s);
}

void
clarke_slopes_clear(clarke_slopes *s)
{
  for (size_t i = 0; s->slope != NULL && i < s->n; i++)
    clarke_matrix_clear(&s->slope[i]);
  free(s->slope);
  clarke_slopes_init(s);
}

static clarke_status
allocate(clarke_slopes *s, size_t n, clarke_error *err)
{
  clarke_slopes_clear(s);
  s->slope = malloc((n + 1) * sizeof *s->slope);
  if (s->slope == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
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
    return clarke_fail(err, CLARKE_EINPUT, "profile %s says nothing of %s kink %zu",
                       profile->name, step->op->name, t->kink);
  if (proxy->kind == CLARKE_PROXY_VALUE)
    mpq_set(value, proxy->value);
  else
    clarke_touch_side(value, g, t, proxy->kind == CLARKE_PROXY_RIGHT);
  return CLARKE_OK;
}

/* sigmoid' = y (1 - y), tanh' = 1 - y^2, from the value's enclosure. */
static clarke_status
analytic_slopes(clarke_matrix *s, const clarke_step *step, const clarke_matrix *y,
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
                             : clarke_fail(err, CLARKE_ENOMEM, "out of memory");
      free(zeros);
    }
    if (status == CLARKE_OK)
      status = clarke_matrix_add(s, &square, s, err);
  }
  clarke_matrix_clear(&ones);
  clarke_matrix_clear(&square);
  return status;
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

static clarke_status
set_touched(clarke_slopes *s, const clarke_graph *g, const clarke_touch *touch, size_t n,
            const int8_t *choice, const clarke_profile *profile, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  mpq_t slope;

  mpq_init(slope);
  for (size_t k = 0; k < n && status == CLARKE_OK; k++) {
    if (choice[k] == CLARKE_PROXY)
      status = clarke_touch_proxy(slope, g, &touch[k], profile, err);
    else
      clarke_touch_side(slope, g, &touch[k], choice[k] == CLARKE_RIGHT);
    if (status == CLARKE_OK && mpq_sgn(slope) != 0)
      status = set_entry(&s->slope[touch[k].step], touch[k].feature, touch[k].column, slope, err);
  }
  mpq_clear(slope);
  return status;
}

clarke_status
clarke_slopes_choose(clarke_slopes *s, const clarke_forward *f, const clarke_touch *touch,
                     size_t n, const int8_t *choice, const clarke_profile *profile,
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
      status = analytic_slopes(&s->slope[i], step, &f->value[step->out], err);
  }
  return status == CLARKE_OK ? set_touched(s, g, touch, n, choice, profile, err) : status;
}

clarke_status
clarke_slopes_column(clarke_slopes *s, const clarke_slopes *all, size_t column,
                     clarke_error *err)
{
  clarke_status status = allocate(s, all->n, err);

  for (size_t i = 0; i < all->n && status == CLARKE_OK; i++)
    if (all->slope[i].rows > 0)
      status = clarke_matrix_gather_cols(&s->slope[i], &all->slope[i], &column, 1, err);
  return status;
}
