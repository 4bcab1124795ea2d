/* Recorded outputs, in doubles (sieve.h). */
#include "trace/sieve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As rounding_forward.c has it. */
#define SPARE 2

static const clarke_sieved *
known(clarke_sieve *s, size_t value)
{
  const clarke_sieved *v = &s->value[value];

  s->open = s->open || v->near == NULL || v->slack != NULL;
  return v;
}

/* Room for a step's output, which is to be exact: no slack. */
static double *
begin_exact(clarke_sieve *s, const clarke_step *step)
{
  clarke_sieved *y = &s->value[step->out];

  y->near = clarke_sieve_zeros(s, s->g->values[step->out].count * s->n);
  y->owned = true;
  return y->near;
}

static clarke_status
gather(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const clarke_operand *o = &step->in[0];
  const clarke_sieved *x = known(s, o->value);
  double *y;

  s->open = s->open || o->coef != 1;
  if (s->open || (s->g->values[step->out].name == NULL && o->map != NULL)) /* a product lays it out itself */
    return CLARKE_OK;
  y = begin_exact(s, step);
  for (size_t f = 0; y != NULL && f < s->g->values[step->out].count; f++)
    if (clarke_operand_entry(o, f) != CLARKE_NONE)
      memcpy(y + f * s->n, x->near + clarke_operand_entry(o, f) * s->n, s->n * sizeof *y);
  return y != NULL ? CLARKE_OK : clarke_no_memory(err);
}

/* --- sums --- */

/* The one operand that is no constant, when the sum is of it and a constant; else NULL. */
static const clarke_operand *
shifted(const clarke_sieve *s, const clarke_step *step, const clarke_operand **constant)
{
  for (size_t k = 0; k < 2 && step->n_in == 2; k++)
    if (!s->g->values[step->in[k].value].constant && s->g->values[step->in[1 - k].value].constant && step->in[k].map == NULL
        && step->in[k].coef == 1) {
      *constant = &step->in[1 - k];
      return &step->in[k];
    }
  return NULL;
}

/* A product's numbers become the sum's: nothing else reads them, for they have no name. */
static bool
take(clarke_sieve *s, clarke_sieved *y, clarke_sieved *x, size_t rows, size_t cols)
{
  if (x->slack != NULL && x->owned) {
    *y = *x;
    memset(x, 0, sizeof *x);
  } else {
    y->near = x->near;
    y->parts = 1;
    y->terms = 1;
  }
  y->shift = calloc(rows + 1, sizeof *y->shift);
  return y->shift != NULL && clarke_sieved_begin(s, y, rows, cols);
}

static clarke_status
shift(clarke_sieve *s, const clarke_step *step, const clarke_operand *x, const clarke_operand *c, clarke_error *err)
{
  const size_t rows = s->g->values[step->out].count;
  clarke_sieved *y = &s->value[step->out];

  s->open = s->open || s->value[x->value].near == NULL || s->value[x->value].shift != NULL
            || (s->value[x->value].slack != NULL && s->g->values[x->value].name != NULL);
  if (s->open)
    return CLARKE_OK;
  if (!take(s, y, &s->value[x->value], rows, s->n))
    return clarke_no_memory(err);
  for (size_t f = 0; f < rows; f++) {
    const size_t from = clarke_operand_entry(c, f);

    y->shift[f] = from != CLARKE_NONE ? c->coef * s->g->values[c->value].real[from] : 0;
    for (size_t j = 0; j < s->n; j++)
      y->near[f * s->n + j] += y->shift[f];
    y->top[f] = clarke_sieve_up(y->top[f] + fabs(y->shift[f]));
    y->slack[f] += clarke_sieve_slack(1, y->top[f]);
  }
  s->open = s->open || fabs(c->coef) != 1;
  y->terms += 1;
  return CLARKE_OK;
}

/* Recorded activations added up. */
static clarke_status
add_known(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const size_t rows = s->g->values[step->out].count;
  clarke_sieved *y = &s->value[step->out];

  for (size_t k = 0; k < step->n_in; k++) {
    s->open = s->open || s->g->values[step->in[k].value].constant || fabs(step->in[k].coef) != 1 || step->in[k].map != NULL;
    if (!s->open)
      known(s, step->in[k].value);
  }
  if (s->open)
    return CLARKE_OK;
  if (!clarke_sieved_begin(s, y, rows, s->n))
    return clarke_no_memory(err);
  for (size_t f = 0; f < rows; f++) {
    for (size_t k = 0; k < step->n_in; k++) {
      const double *x = s->value[step->in[k].value].near + f * s->n, coef = step->in[k].coef;
      double most = 0;

      for (size_t j = 0; j < s->n; j++) {
        y->near[f * s->n + j] += coef * x[j];
        most = fmax(most, fabs(x[j]));
      }
      y->top[f] += most;
    }
    y->top[f] = clarke_sieve_up(y->top[f]);
    y->slack[f] = clarke_sieve_slack((double)step->n_in, y->top[f]);
  }
  y->terms = (double)step->n_in;
  y->parts = step->n_in;
  return CLARKE_OK;
}

static clarke_status
sum(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const clarke_operand *constant, *x = shifted(s, step, &constant);

  return x != NULL ? shift(s, step, x, constant, err) : add_known(s, step, err);
}

/* --- comparisons --- */

static bool
is_double(mpq_srcptr q)
{
  mpq_t back;
  bool is;

  mpq_init(back);
  mpq_set_d(back, mpq_get_d(q));
  is = mpq_equal(back, q) != 0;
  mpq_clear(back);
  return is;
}

bool
clarke_sieve_selects(double *kink, double *number, bool *itself, const clarke_pieces *p)
{
  bool selects = p->slope == CLARKE_NONE;

  for (size_t i = 0; i < p->n_kinks; i++) {
    kink[i] = mpq_get_d(p->kink[i]);
    selects = selects && is_double(p->kink[i]);
  }
  for (size_t i = 0; i <= p->n_kinks; i++) {
    itself[i] = mpq_cmp_si(p->coef[i][1], 1, 1) == 0 && mpq_sgn(p->coef[i][0]) == 0;
    number[i] = mpq_get_d(p->coef[i][0]);
    selects = selects && mpq_sgn(p->coef[i][2]) == 0 && (itself[i] || (mpq_sgn(p->coef[i][1]) == 0 && is_double(p->coef[i][0])));
  }
  return selects;
}

static clarke_status
piecewise(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const clarke_pieces *q = &step->pieces;
  const clarke_sieved *x = known(s, step->in[0].value);
  double *y, kink[CLARKE_MAX_KINKS], number[CLARKE_MAX_KINKS + 1];
  bool itself[CLARKE_MAX_KINKS + 1];

  s->open = s->open || !clarke_sieve_selects(kink, number, itself, q);
  if (s->open)
    return CLARKE_OK;
  y = begin_exact(s, step);
  for (size_t e = 0; y != NULL && e < s->g->values[step->out].count * s->n; e++) {
    size_t at = 0;

    while (at < q->n_kinks && x->near[e] > kink[at])
      at++;
    y[e] = itself[at] ? x->near[e] : number[at];
  }
  return y != NULL ? CLARKE_OK : clarke_no_memory(err);
}

size_t
clarke_sieve_winner(const clarke_step *step, const double *x, size_t n, size_t f, size_t j)
{
  const size_t *map = step->in[0].map;
  size_t best = CLARKE_NONE;

  for (size_t i = 0; i < step->width; i++) {
    const size_t from = map != NULL ? map[f * step->width + i] : f * step->width + i;

    if (from != CLARKE_NONE && (best == CLARKE_NONE || x[from * n + j] > x[best * n + j]))
      best = from;
  }
  return best;
}

static clarke_status
maximum(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const clarke_sieved *x = known(s, step->in[0].value);
  double *y;

  s->open = s->open || step->in[0].coef != 1;
  if (s->open)
    return CLARKE_OK;
  y = begin_exact(s, step);
  for (size_t f = 0; y != NULL && f < s->g->values[step->out].count; f++)
    for (size_t j = 0; j < s->n; j++)
      y[f * s->n + j] = x->near[clarke_sieve_winner(step, x->near, s->n, f, j) * s->n + j];
  return y != NULL ? CLARKE_OK : clarke_no_memory(err);
}

static clarke_status
run_step(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  switch (step->kind) {
  case CLARKE_GATHER:
    return gather(s, step, err);
  case CLARKE_SUM:
    return sum(s, step, err);
  case CLARKE_DENSE:
    return clarke_sieve_dense(s, step, err);
  case CLARKE_PIECEWISE:
    return piecewise(s, step, err);
  case CLARKE_MAX:
    return maximum(s, step, err);
  default:
    s->open = true;
    return CLARKE_OK;
  }
}

/* A named output is judged, and the record takes its place. */
static clarke_status
judge(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const clarke_value *v = &s->g->values[step->out];
  clarke_sieved *y = &s->value[step->out];
  const clarke_tensor *t;
  double *recorded;
  clarke_certificate *made;
  clarke_status status;

  if (v->name == NULL)
    return CLARKE_OK;
  t = clarke_certify_find(s->c, "output", v->name);
  recorded = clarke_sieve_turned(s, t, v->count, s->n, err);
  s->open = s->open || y->near == NULL;
  if (s->open)
    return CLARKE_OK;
  if (recorded == NULL)
    return CLARKE_ENOMEM;
  made = clarke_certify_add(s->c, CLARKE_OUTPUT, v->name, step->op->name, err);
  if (made == NULL)
    return CLARKE_ENOMEM;
  status = clarke_sieve_judge(s, made, y, v->count, s->n, recorded, y->slack != NULL ? y->terms + SPARE : 0,
                              CLARKE_TERMS_OF_OUTPUT, err);
  clarke_sieved_clear(s, y);
  y->near = recorded;
  y->owned = true;
  y->parts = 1;
  return status;
}

/* Of a matrix of doubles. */
static double *
numbers_of(clarke_sieve *s, const clarke_matrix *m)
{
  double *number = clarke_sieve_take(s, m->rows * m->cols);

  for (size_t e = 0; number != NULL && e < m->rows * m->cols; e++)
    number[e] = clarke_matrix_get_double(m, e / m->cols, e % m->cols);
  return number;
}

clarke_status
clarke_sieve_forward(clarke_sieve *s, clarke_error *err)
{
  clarke_sieved *x = &s->value[s->g->input];
  clarke_status status = CLARKE_OK;

  x->near = numbers_of(s, &s->c->pass.value[s->g->input]);
  x->owned = true;
  x->parts = 1;
  if (x->near == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < s->g->n_steps && status == CLARKE_OK && !s->open; i++) {
    status = run_step(s, &s->g->steps[i], err);
    if (status == CLARKE_OK && !s->open)
      status = judge(s, &s->g->steps[i], err);
  }
  return status;
}
