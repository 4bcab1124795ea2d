/* Power series along an arc, and the choice that their first coefficients make at a fork. */
#include "program/walk_inside.h"

#include <stdlib.h>

mpq_t *
clarke_walk_series_new(void)
{
  mpq_t *s = malloc((CLARKE_SERIES - 1) * sizeof *s);

  for (size_t k = 0; s != NULL && k + 1 < CLARKE_SERIES; k++)
    mpq_init(s[k]);
  return s;
}

void
clarke_walk_series_free(mpq_t **series)
{
  if (*series != NULL)
    for (size_t k = 0; k + 1 < CLARKE_SERIES; k++)
      mpq_clear((*series)[k]);
  free(*series);
  *series = NULL;
}

/* y += q * (the series of instruction i, without its value). */
static void
series_addmul(mpq_t *y, const mpq_t q, mpq_t *const x)
{
  mpq_t t;

  if (x == NULL)
    return;
  mpq_init(t);
  for (size_t k = 0; k + 1 < CLARKE_SERIES; k++) {
    mpq_mul(t, q, x[k]);
    mpq_add(y[k], y[k], t);
  }
  mpq_clear(t);
}

/* y += a b without the terms that hold a value: only products of coefficients of t^1 and up. */
static void
series_cross(mpq_t *y, mpq_t *const a, mpq_t *const b)
{
  mpq_t t;

  if (a == NULL || b == NULL)
    return;
  mpq_init(t);
  for (size_t i = 0; i + 1 < CLARKE_SERIES; i++)
    for (size_t j = 0; i + j + 2 < CLARKE_SERIES; j++) {
      mpq_mul(t, a[i], b[j]);
      mpq_add(y[i + j + 1], y[i + j + 1], t);
    }
  mpq_clear(t);
}

/* y = a / b with their values: y b = a, coefficient by coefficient. */
static void
series_quotient(mpq_t *y, const mpq_t value, mpq_t *const a, const mpq_t divisor, mpq_t *const b)
{
  mpq_t t, sum;

  mpq_inits(t, sum, NULL);
  for (size_t k = 0; k + 1 < CLARKE_SERIES; k++) {
    if (a != NULL)
      mpq_set(sum, a[k]);
    else
      mpq_set_si(sum, 0, 1);
    for (size_t j = 0; b != NULL && j <= k; j++) { /* b_(j+1) y_(k-j), y_0 being the value */
      mpq_mul(t, b[j], j == k ? value : y[k - j - 1]);
      mpq_sub(sum, sum, t);
    }
    mpq_div(y[k], sum, divisor);
  }
  mpq_clears(t, sum, NULL);
}

void
clarke_walk_lose(clarke_walk *w, size_t at)
{
  w->lost[at] = w->arc_failed = true;
}

static bool
moves(const clarke_walk *w, const clarke_instruction *i)
{
  for (size_t k = 0; k < i->n_in; k++)
    if (w->series[i->in[k]] != NULL || w->lost[i->in[k]])
      return true;
  return false;
}

/* Are the values exact, and no series lost? */
static bool
all_exact(const clarke_walk *w, const clarke_instruction *i)
{
  for (size_t k = 0; k < i->n_in; k++)
    if (!w->value[i->in[k]].exact || w->lost[i->in[k]])
      return false;
  return true;
}

clarke_status
clarke_walk_series_input(clarke_walk *w, size_t at, clarke_error *err)
{
  size_t entry = clarke_code_wrt_entry(w->e->p, at);

  if (entry == CLARKE_NONE)
    return CLARKE_OK;
  w->series[at] = clarke_walk_series_new();
  if (w->series[at] == NULL)
    return clarke_no_memory(err);
  for (size_t r = 0; r < w->n_arc && r + 1 < CLARKE_SERIES; r++)
    mpq_set(w->series[at][r], w->arc[r][entry]);
  return CLARKE_OK;
}

clarke_status
clarke_walk_series_smooth(clarke_walk *w, size_t at, clarke_error *err)
{
  const clarke_instruction *i = &w->e->p->instruction[at];
  mpq_t *y;

  if (!moves(w, i) || w->degree[at] == 0)
    return CLARKE_OK;
  if (i->kind == CLARKE_DO_ANALYTIC || i->kind == CLARKE_DO_NORM || !all_exact(w, i)) {
    clarke_walk_lose(w, at);
    return CLARKE_OK;
  }
  w->series[at] = y = clarke_walk_series_new();
  if (y == NULL)
    return clarke_no_memory(err);
  if (i->kind == CLARKE_DO_LINEAR)
    for (size_t k = 0; k < i->n_in; k++)
      series_addmul(y, i->coef[k], w->series[i->in[k]]);
  else if (i->kind == CLARKE_DO_PRODUCT) {
    series_addmul(y, w->value[i->in[0]].q, w->series[i->in[1]]);
    series_addmul(y, w->value[i->in[1]].q, w->series[i->in[0]]);
    series_cross(y, w->series[i->in[0]], w->series[i->in[1]]);
  } else
    series_quotient(y, w->value[at].q, w->series[i->in[0]], w->value[i->in[1]].q,
                    w->series[i->in[1]]);
  return CLARKE_OK;
}

clarke_status
clarke_walk_series_piece(clarke_walk *w, size_t at, size_t piece, clarke_error *err)
{
  const clarke_instruction *i = &w->e->p->instruction[at];
  mpq_t *x = w->series[i->in[0]], *square;
  mpq_t q;

  if ((x == NULL && !w->lost[i->in[0]]) || w->degree[at] == 0)
    return CLARKE_OK;
  if (!all_exact(w, i) || (i->kind == CLARKE_DO_ELU && piece == 0)) {
    clarke_walk_lose(w, at);
    return CLARKE_OK;
  }
  w->series[at] = clarke_walk_series_new();
  square = clarke_walk_series_new();
  if (w->series[at] == NULL || square == NULL) {
    clarke_walk_series_free(&square);
    return clarke_no_memory(err);
  }
  mpq_init(q);
  if (i->kind == CLARKE_DO_ELU)
    mpq_set_si(q, 1, 1);
  else { /* coef[1] + 2 coef[2] value */
    mpq_mul(q, i->pieces->coef[piece][2], w->value[i->in[0]].q);
    mpq_add(q, q, q);
    mpq_add(q, q, i->pieces->coef[piece][1]);
    series_cross(square, x, x);
    series_addmul(w->series[at], i->pieces->coef[piece][2], square);
  }
  series_addmul(w->series[at], q, x);
  mpq_clear(q);
  clarke_walk_series_free(&square);
  return CLARKE_OK;
}

clarke_status
clarke_walk_series_copy(clarke_walk *w, size_t at, size_t from, clarke_error *err)
{
  mpq_t one;

  if (w->series != NULL && w->lost[from])
    clarke_walk_lose(w, at);
  if (w->series == NULL || w->series[from] == NULL)
    return CLARKE_OK;
  w->series[at] = clarke_walk_series_new();
  if (w->series[at] == NULL)
    return clarke_no_memory(err);
  mpq_init(one);
  mpq_set_si(one, 1, 1);
  series_addmul(w->series[at], one, w->series[from]);
  mpq_clear(one);
  return CLARKE_OK;
}

/* The sign of the first nonzero coefficient of y_a - y_b (y_a: b == CLARKE_NONE). */
static int
leading(const clarke_walk *w, size_t a, size_t b)
{
  mpq_t *s = w->series[a], *t = b != CLARKE_NONE ? w->series[b] : NULL;

  for (size_t k = 0; k + 1 < CLARKE_SERIES; k++) {
    int sign = s != NULL && t != NULL ? mpq_cmp(s[k], t[k])
               : s != NULL            ? mpq_sgn(s[k])
               : t != NULL            ? -mpq_sgn(t[k])
                                      : 0;

    if (sign != 0)
      return sign > 0 ? 1 : -1;
  }
  return 0;
}

size_t
clarke_walk_arc_choice(const clarke_walk *w)
{
  const size_t *y = w->fork.y;
  int sign;

  if (w->series == NULL)
    return CLARKE_NONE;
  for (size_t k = 0; k < (w->fork.order ? w->fork.n_choices : 2); k++)
    if (y[k] != CLARKE_NONE && w->lost[y[k]])
      return CLARKE_NONE;
  if (!w->fork.order) {
    sign = leading(w, y[0], y[1]) * w->fork.factor;
    return sign == 0 ? CLARKE_NONE : sign > 0;
  }
  for (size_t i = 0; i < w->fork.n_choices; i++) {
    size_t j = 0;

    while (j < w->fork.n_choices &&
           (j == i || leading(w, y[i], y[j]) == (w->fork.up ? -1 : 1)))
      j++;
    if (j == w->fork.n_choices)
      return i;
  }
  return CLARKE_NONE;
}
