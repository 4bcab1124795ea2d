#include "program/walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

clarke_status
clarke_walk_init(clarke_walk *w, const clarke_execution *e, mpq_t **arc, size_t n_arc,
                 clarke_error *err)
{
  size_t n = e->p->n;
  clarke_status status;

  memset(w, 0, sizeof *w);
  w->e = e;
  w->width = clarke_code_wrt_count(e->p);
  w->arc = arc;
  w->n_arc = n_arc;
  w->value = clarke_numbers(n);
  w->gradient = calloc(n + 1, sizeof *w->gradient);
  w->degree = calloc(n + 1, sizeof *w->degree);
  w->part = calloc(n + 1, sizeof *w->part);
  if (w->width > 0 && w->width <= CLARKE_POLYNOMIAL_VARIABLES) {
    w->polynomial = calloc(n + 1, sizeof *w->polynomial);
    fmpq_mpoly_ctx_init(w->ring, (slong)w->width, ORD_LEX);
  }
  w->series = n_arc > 0 ? calloc(n + 1, sizeof *w->series) : NULL;
  w->fork.y = malloc((n + 2) * sizeof *w->fork.y);
  w->local = malloc((n + 2) * sizeof *w->local);
  status = clarke_demand_init(&w->demand, e->p, err);
  if (w->value == NULL || w->gradient == NULL || w->degree == NULL ||
      w->part == NULL ||
      w->fork.y == NULL || w->local == NULL || (n_arc > 0 && w->series == NULL))
    return clarke_no_memory(err);
  return status;
}

static void
forget_series(mpq_t **series)
{
  if (*series != NULL)
    for (size_t k = 0; k + 1 < CLARKE_SERIES; k++)
      mpq_clear((*series)[k]);
  free(*series);
  *series = NULL;
}

static void
forget_polynomial(clarke_walk *w, size_t at)
{
  if (w->polynomial == NULL || w->polynomial[at] == NULL)
    return;
  clarke_polynomial_clear(w->polynomial[at], w->ring);
  free(w->polynomial[at]);
  w->polynomial[at] = NULL;
}

static void
forget(clarke_walk *w)
{
  for (size_t i = 0; i < w->e->p->n; i++) {
    forget_polynomial(w, i);
    if (w->gradient != NULL && w->gradient[i] != NULL) {
      clarke_numbers_free(w->gradient[i], w->width);
      w->gradient[i] = NULL;
    }
    if (w->series != NULL)
      forget_series(&w->series[i]);
  }
  w->n_local = w->asked = 0;
}

void
clarke_walk_clear(clarke_walk *w)
{
  if (w->e == NULL)
    return;
  forget(w);
  clarke_demand_clear(&w->demand);
  clarke_numbers_free(w->value, w->e->p->n);
  free(w->fork.y);
  free(w->gradient);
  free(w->degree);
  free(w->part);
  if (w->polynomial != NULL)
    fmpq_mpoly_ctx_clear(w->ring);
  free(w->polynomial);
  free(w->series);
  free(w->local);
  memset(w, 0, sizeof *w);
}

void
clarke_walk_restart(clarke_walk *w, mpq_t **arc)
{
  forget(w);
  w->arc = arc;
  w->arc_failed = false;
  clarke_demand_restart(&w->demand);
}

/* --- power series ------------------------------------------------------------------------------ */

static mpq_t *
new_series(void)
{
  mpq_t *s = malloc((CLARKE_SERIES - 1) * sizeof *s);

  for (size_t k = 0; s != NULL && k + 1 < CLARKE_SERIES; k++)
    mpq_init(s[k]);
  return s;
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

static bool
moves(const clarke_walk *w, const clarke_instruction *i)
{
  for (size_t k = 0; k < i->n_in; k++)
    if (w->series[i->in[k]] != NULL)
      return true;
  return false;
}

static bool
values_exact(const clarke_walk *w, const clarke_instruction *i)
{
  for (size_t k = 0; k < i->n_in; k++)
    if (!w->value[i->in[k]].exact)
      return false;
  return true;
}

static clarke_status
input_series(clarke_walk *w, size_t at, clarke_error *err)
{
  size_t entry = clarke_code_wrt_entry(w->e->p, at);

  if (entry == CLARKE_NONE)
    return CLARKE_OK;
  w->series[at] = new_series();
  if (w->series[at] == NULL)
    return clarke_no_memory(err);
  for (size_t r = 0; r < w->n_arc && r + 1 < CLARKE_SERIES; r++)
    mpq_set(w->series[at][r], w->arc[r][entry]);
  return CLARKE_OK;
}

/* A smooth instruction's series; what is not rational fails the arc. */
static clarke_status
smooth_series(clarke_walk *w, size_t at, clarke_error *err)
{
  const clarke_instruction *i = &w->e->p->instruction[at];
  mpq_t *y;

  if (!moves(w, i) || w->degree[at] == 0)
    return CLARKE_OK;
  if (i->kind == CLARKE_DO_ANALYTIC || i->kind == CLARKE_DO_NORM || !values_exact(w, i)) {
    w->arc_failed = true;
    return CLARKE_OK;
  }
  w->series[at] = y = new_series();
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

/* y = slope-and-curvature of a piece applied to the argument's series. */
static clarke_status
piece_series(clarke_walk *w, size_t at, size_t piece, clarke_error *err)
{
  const clarke_instruction *i = &w->e->p->instruction[at];
  mpq_t *x = w->series[i->in[0]], *square;
  mpq_t q;

  if (x == NULL || w->degree[at] == 0)
    return CLARKE_OK;
  if (!w->value[i->in[0]].exact || (i->kind == CLARKE_DO_ELU && piece == 0)) {
    w->arc_failed = true;
    return CLARKE_OK;
  }
  w->series[at] = new_series();
  square = new_series();
  if (w->series[at] == NULL || square == NULL) {
    forget_series(&square);
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
  forget_series(&square);
  return CLARKE_OK;
}

static clarke_status
copy_series(clarke_walk *w, size_t at, size_t from, clarke_error *err)
{
  mpq_t one;

  if (w->series == NULL || w->series[from] == NULL)
    return CLARKE_OK;
  w->series[at] = new_series();
  if (w->series[at] == NULL)
    return clarke_no_memory(err);
  mpq_init(one);
  mpq_set_si(one, 1, 1);
  series_addmul(w->series[at], one, w->series[from]);
  mpq_clear(one);
  return CLARKE_OK;
}

/* --- gradients and degrees --------------------------------------------------------------------- */

static bool
is_zero(const clarke_number *x)
{
  return x->exact && mpq_sgn(x->q) == 0;
}

static bool
all_zero(const clarke_number *g, size_t n)
{
  for (size_t k = 0; g != NULL && k < n; k++)
    if (!is_zero(&g[k]))
      return false;
  return true;
}

/* gradient[at] += d * gradient[from]. */
static clarke_status
gradient_addmul(clarke_walk *w, size_t at, const clarke_number *d, size_t from, clarke_error *err)
{
  if (w->gradient[from] == NULL || is_zero(d))
    return CLARKE_OK;
  if (w->gradient[at] == NULL)
    w->gradient[at] = clarke_numbers(w->width);
  if (w->gradient[at] == NULL)
    return clarke_no_memory(err);
  for (size_t k = 0; k < w->width; k++)
    clarke_number_addmul(&w->gradient[at][k], d, &w->gradient[from][k], w->e->precision);
  for (size_t k = 0; k < w->width; k++)
    if (clarke_number_is_large(&w->gradient[at][k]))
      return clarke_code_past(w->e->p, at, err, CLARKE_LIMIT_BITS, "a derivative of more bits");
  return CLARKE_OK;
}

/* An affine quantity of gradient zero is constant. */
static void
settle(clarke_walk *w, size_t at, uint8_t degree)
{
  if (degree <= 1 && all_zero(w->gradient[at], w->width)) {
    clarke_numbers_free(w->gradient[at], w->width);
    w->gradient[at] = NULL;
    degree = 0;
  }
  w->degree[at] = degree;
}

static uint8_t
highest(const clarke_walk *w, const clarke_instruction *i)
{
  uint8_t degree = 0;

  for (size_t k = 0; k < i->n_in; k++)
    if (i->kind != CLARKE_DO_LINEAR || mpq_sgn(i->coef[k]) != 0)
      degree = w->degree[i->in[k]] > degree ? w->degree[i->in[k]] : degree;
  return degree;
}

/* The degree of a smooth instruction from its arguments'. */
static uint8_t
smooth_degree(const clarke_walk *w, const clarke_instruction *i)
{
  uint8_t top = highest(w, i), a, b;

  if (top == 0 || i->kind == CLARKE_DO_LINEAR)
    return top;
  if (i->kind != CLARKE_DO_PRODUCT && i->kind != CLARKE_DO_QUOTIENT)
    return 2;
  a = w->degree[i->in[0]];
  b = w->degree[i->in[1]];
  if ((a == 0 && is_zero(&w->value[i->in[0]])) ||
      (i->kind == CLARKE_DO_PRODUCT && b == 0 && is_zero(&w->value[i->in[1]])))
    return 0;
  if (b == 0)
    return a;
  return i->kind == CLARKE_DO_PRODUCT && a == 0 ? b : 2;
}

/* --- polynomials ------------------------------------------------------------------------------- */

/* Instruction at as a polynomial. */
static void
read_polynomial(clarke_polynomial *y, const clarke_walk *w, size_t at)
{
  const clarke_polynomial *known = w->polynomial[at];

  if (w->degree[at] <= 1)
    clarke_polynomial_affine(y, &w->value[at], w->gradient[at], w->width, w->ring);
  else {
    y->kept = known != NULL;
    if (known != NULL)
      fmpq_mpoly_set(y->p, known->p, w->ring);
  }
}

/* y += q times instruction at. */
static void
polynomial_addmul(clarke_polynomial *y, const mpq_t q, const clarke_walk *w, size_t at)
{
  clarke_polynomial x;

  clarke_polynomial_init(&x, w->ring);
  read_polynomial(&x, w, at);
  clarke_polynomial_addmul(y, q, &x, w->ring);
  clarke_polynomial_clear(&x, w->ring);
}

static void
polynomial_product(clarke_polynomial *y, const clarke_walk *w, size_t a, size_t b)
{
  clarke_polynomial s, t;

  clarke_polynomial_init(&s, w->ring);
  clarke_polynomial_init(&t, w->ring);
  read_polynomial(&s, w, a);
  read_polynomial(&t, w, b);
  clarke_polynomial_mul(y, &s, &t, w->ring);
  clarke_polynomial_clear(&s, w->ring);
  clarke_polynomial_clear(&t, w->ring);
}

/* coef[0] + coef[1] x + coef[2] x^2. */
static void
piece_polynomial(clarke_polynomial *y, const clarke_walk *w, const clarke_instruction *i,
                 size_t piece)
{
  clarke_polynomial square;

  clarke_polynomial_init(&square, w->ring);
  polynomial_product(&square, w, i->in[0], i->in[0]);
  clarke_polynomial_addmul(y, i->pieces->coef[piece][2], &square, w->ring);
  polynomial_addmul(y, i->pieces->coef[piece][1], w, i->in[0]);
  clarke_polynomial_add_rational(y, i->pieces->coef[piece][0], w->ring);
  clarke_polynomial_clear(&square, w->ring);
}

/* What instruction at is, its parts chosen; not kept when it is no polynomial. */
static void
make_polynomial(clarke_polynomial *y, const clarke_walk *w, size_t at)
{
  const clarke_instruction *i = &w->e->p->instruction[at];
  mpq_t q;

  mpq_init(q);
  mpq_set_si(q, 1, 1);
  switch (i->kind) {
  case CLARKE_DO_LINEAR:
    for (size_t k = 0; k < i->n_in; k++)
      polynomial_addmul(y, i->coef[k], w, i->in[k]);
    clarke_polynomial_add_rational(y, i->coef[i->n_in], w->ring);
    break;
  case CLARKE_DO_PRODUCT:
    polynomial_product(y, w, i->in[0], i->in[1]);
    break;
  case CLARKE_DO_QUOTIENT:
    y->kept = w->degree[i->in[1]] == 0 && w->value[i->in[1]].exact;
    if (y->kept) {
      mpq_inv(q, w->value[i->in[1]].q);
      polynomial_addmul(y, q, w, i->in[0]);
    }
    break;
  case CLARKE_DO_PIECEWISE:
    piece_polynomial(y, w, i, w->part[at]);
    break;
  case CLARKE_DO_ELU:
    y->kept = w->part[at] == 1;
    polynomial_addmul(y, q, w, i->in[0]);
    break;
  case CLARKE_DO_ORDER:
    polynomial_addmul(y, q, w, w->part[at]);
    break;
  case CLARKE_DO_BRANCH:
    polynomial_addmul(y, q, w, i->in[w->part[at] ? 2 : 3]);
    break;
  default:
    y->kept = false;
    break;
  }
  mpq_clear(q);
}

/* Instruction at, of degree 2 as far as its arguments' degrees tell, as a polynomial: it may turn out
 * to be affine or constant. */
static clarke_status
refine(clarke_walk *w, size_t at, clarke_error *err)
{
  clarke_polynomial *y;

  if (w->polynomial == NULL || w->degree[at] < 2)
    return CLARKE_OK;
  y = malloc(sizeof *y);
  if (y == NULL)
    return clarke_no_memory(err);
  clarke_polynomial_init(y, w->ring);
  make_polynomial(y, w, at);
  forget_polynomial(w, at);
  w->polynomial[at] = y;
  if (clarke_polynomial_degree(y, w->ring) < 2)
    settle(w, at, clarke_polynomial_degree(y, w->ring));
  if (!y->kept || w->degree[at] < 2)
    forget_polynomial(w, at);
  return CLARKE_OK;
}

static clarke_status
walk_input(clarke_walk *w, size_t at, clarke_error *err)
{
  size_t entry = clarke_code_wrt_entry(w->e->p, at);

  clarke_number_set_q(&w->value[at], w->e->at[clarke_code_entry(w->e->p, at)]);
  w->degree[at] = 0;
  if (entry == CLARKE_NONE)
    return CLARKE_OK;
  w->gradient[at] = clarke_numbers(w->width);
  if (w->gradient[at] == NULL)
    return clarke_no_memory(err);
  clarke_number_set_si(&w->gradient[at][entry], 1);
  w->degree[at] = 1;
  return w->series != NULL ? input_series(w, at, err) : CLARKE_OK;
}

static clarke_status
stuck(clarke_walk *w, clarke_walk_state *state, size_t at, const char *why)
{
  const clarke_instruction *i = &w->e->p->instruction[at];

  *state = CLARKE_WALK_STUCK;
  snprintf(w->why, sizeof w->why, "line %zu, column %zu: %s", i->line, i->column, why);
  return CLARKE_OK;
}

static clarke_status
walk_smooth(clarke_walk *w, clarke_walk_state *state, size_t at, clarke_error *err)
{
  const clarke_instruction *i = &w->e->p->instruction[at];
  clarke_number *d = clarke_numbers(i->n_in);
  clarke_error inner = {CLARKE_OK, ""};
  bool open = false;
  clarke_status status;

  if (d == NULL)
    return clarke_no_memory(err);
  status = clarke_smooth_value(&w->value[at], highest(w, i) > 0 ? d : NULL, &open, w->e->p, at,
                               w->value, w->e->precision, &inner);
  if (status == CLARKE_EINPUT) /* in an arm that is not taken at the point, or sqrt at 0 */
    status = stuck(w, state, at, inner.text);
  else if (open)
    status = stuck(w, state, at, "no precision tells whether this is defined");
  for (size_t k = 0; k < i->n_in && status == CLARKE_OK && *state == CLARKE_WALK_END; k++)
    status = gradient_addmul(w, at, &d[k], i->in[k], err);
  settle(w, at, smooth_degree(w, i));
  if (status == CLARKE_OK && *state == CLARKE_WALK_END)
    status = refine(w, at, err);
  if (status == CLARKE_OK && w->series != NULL && *state == CLARKE_WALK_END)
    status = smooth_series(w, at, err);
  clarke_numbers_free(d, i->n_in);
  return status;
}

/* --- forks ------------------------------------------------------------------------------------- */

/* q = y_a - y_b (y_a, when b is CLARKE_NONE) times sign. */
static void
difference(clarke_number *gradient, uint8_t *degree, const clarke_walk *w, size_t a, size_t b,
           int sign)
{
  clarke_number factor;

  clarke_number_init(&factor);
  for (size_t k = 0; k < w->width; k++)
    clarke_number_set_si(&gradient[k], 0);
  for (int side = 0; side < 2; side++) {
    size_t y = side == 0 ? a : b;

    if (y == CLARKE_NONE || w->gradient[y] == NULL)
      continue;
    clarke_number_set_si(&factor, side == 0 ? sign : -sign);
    for (size_t k = 0; k < w->width; k++)
      clarke_number_addmul(&gradient[k], &factor, &w->gradient[y][k], w->e->precision);
  }
  clarke_number_clear(&factor);
  *degree = w->degree[a];
  if (b != CLARKE_NONE && w->degree[b] > *degree)
    *degree = w->degree[b];
}

static bool
polynomials_equal(const clarke_walk *w, size_t a, size_t b)
{
  clarke_polynomial difference;
  mpq_t minus;
  bool equal;

  if (w->polynomial == NULL)
    return false;
  mpq_init(minus);
  mpq_set_si(minus, -1, 1);
  clarke_polynomial_init(&difference, w->ring);
  read_polynomial(&difference, w, a);
  polynomial_addmul(&difference, minus, w, b);
  equal = difference.kept && fmpq_mpoly_is_zero(difference.p, w->ring);
  clarke_polynomial_clear(&difference, w->ring);
  mpq_clear(minus);
  return equal;
}

bool
clarke_walk_identical(const clarke_walk *w, size_t a, size_t b)
{
  if (a == b)
    return true;
  if (w->degree[a] > 1 || (b != CLARKE_NONE && w->degree[b] > 1))
    return b != CLARKE_NONE && polynomials_equal(w, a, b);
  for (size_t k = 0; k < w->width; k++) {
    const clarke_number *g = w->gradient[a] != NULL ? &w->gradient[a][k] : NULL;
    const clarke_number *h = b != CLARKE_NONE && w->gradient[b] != NULL ? &w->gradient[b][k] : NULL;

    if (g == NULL || h == NULL ? (g != NULL && !is_zero(g)) || (h != NULL && !is_zero(h))
                               : !g->exact || !h->exact || !mpq_equal(g->q, h->q))
      return false;
  }
  return true;
}

/* The choice already made at this fork of the instruction at hand; false when it is yet to be. */
static bool
chosen(clarke_walk *w, size_t *choice)
{
  if (w->asked == w->n_local)
    return false;
  *choice = w->local[w->asked++];
  return true;
}

void
clarke_walk_choose(clarke_walk *w, size_t choice)
{
  w->local[w->n_local++] = choice;
}

/* An instruction whose sign near the point is, times *factor, that of y_a: of a product the factor
 * that is zero at the point when the other is not, of a quotient the numerator, of one term the
 * argument. */
static size_t
reduce(const clarke_walk *w, size_t a, int *factor)
{
  *factor = 1;
  while (clarke_number_sign(&w->value[a]) == 0) {
    const clarke_instruction *i = &w->e->p->instruction[a];
    size_t kept = 0;
    int sign = 0;

    if (i->kind == CLARKE_DO_PRODUCT || i->kind == CLARKE_DO_QUOTIENT) {
      kept = clarke_number_sign(&w->value[i->in[0]]) == 0 ? 0 : 1;
      sign = clarke_number_sign(&w->value[i->in[1 - kept]]);
    } else if (i->kind == CLARKE_DO_LINEAR && i->n_in == 1 && mpq_sgn(i->coef[1]) == 0)
      sign = mpq_sgn(i->coef[0]);
    if (sign != 1 && sign != -1)
      break;
    a = i->in[kept];
    *factor *= sign;
  }
  return a;
}

/* The sign of y_a - y_b near the point; false: the walk stops at the fork. */
static bool
sign_near(clarke_walk *w, size_t at, size_t a, size_t b, int *sign)
{
  size_t choice;
  int factor = 1;

  *sign = 0;
  if (b == CLARKE_NONE)
    a = reduce(w, a, &factor);
  if (clarke_walk_identical(w, a, b))
    return true;
  if (chosen(w, &choice)) {
    *sign = choice == 1 ? 1 : -1;
    return true;
  }
  w->fork.instruction = at;
  w->fork.n_choices = 2;
  w->fork.order = false;
  w->fork.y[0] = a;
  w->fork.y[1] = b;
  w->fork.factor = factor;
  return false;
}

/* The candidates among the n entries left (instructions), and which of them each is a copy of. */
static void
candidates(clarke_walk *w, const size_t *left, size_t n, size_t *copy_of)
{
  w->fork.n_choices = 0;
  for (size_t k = 0; k < n; k++) {
    size_t c = 0;

    while (c < w->fork.n_choices && !clarke_walk_identical(w, w->fork.y[c], left[k]))
      c++;
    if (c == w->fork.n_choices)
      w->fork.y[w->fork.n_choices++] = left[k];
    copy_of[k] = c;
  }
}

/* The instruction that is the rank-th from one end of the n entries left, near the point; false: the
 * walk stops at a fork. */
static bool
take(clarke_walk *w, size_t at, size_t *left, size_t n, size_t rank, size_t *copy_of,
     size_t *taken)
{
  for (;;) {
    size_t choice = 0, copies = 0, kept = 0;

    candidates(w, left, n, copy_of);
    w->fork.order = true;
    w->fork.instruction = at;
    if (w->fork.n_choices > 1 && !chosen(w, &choice))
      return false;
    *taken = w->fork.y[choice];
    for (size_t k = 0; k < n; k++)
      if (copy_of[k] == choice)
        copies++;
      else
        left[kept++] = left[k];
    if (rank <= copies)
      return true;
    rank -= copies;
    n = kept;
  }
}

size_t
clarke_walk_decisions(const clarke_walk *w)
{
  return w->fork.n_choices - 1;
}

void
clarke_walk_decision(clarke_number *gradient, uint8_t *degree, const clarke_walk *w, size_t choice,
                     size_t k)
{
  const size_t *y = w->fork.y;

  if (!w->fork.order)
    difference(gradient, degree, w, y[0], y[1], choice == 1 ? w->fork.factor : -w->fork.factor);
  else
    difference(gradient, degree, w, y[choice], y[k < choice ? k : k + 1], w->fork.up ? -1 : 1);
}

void
clarke_walk_decision_polynomial(clarke_polynomial *q, const clarke_walk *w, size_t choice, size_t k)
{
  const size_t *y = w->fork.y;
  size_t a = w->fork.order ? y[choice] : y[0];
  size_t b = w->fork.order ? y[k < choice ? k : k + 1] : y[1];
  bool positive = w->fork.order ? !w->fork.up : (choice == 1) == (w->fork.factor == 1);
  mpq_t c;

  fmpq_mpoly_zero(q->p, w->ring);
  q->kept = w->value[a].exact && (b == CLARKE_NONE || w->value[b].exact);
  if (!q->kept)
    return;
  mpq_init(c);
  mpq_set_si(c, positive ? 1 : -1, 1);
  polynomial_addmul(q, c, w, a);
  mpq_neg(c, c);
  if (b != CLARKE_NONE)
    polynomial_addmul(q, c, w, b);
  else { /* less its value at the point, the kink */
    mpq_mul(c, c, w->value[a].q);
    clarke_polynomial_add_rational(q, c, w->ring);
  }
  mpq_clear(c);
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

  if (w->series == NULL || w->arc_failed)
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

/* Is the argument at a kink whose slopes agree, between pieces that differ? */
static bool
at_silent_kink(const clarke_walk *w, const clarke_instruction *i, size_t piece)
{
  const clarke_number *x = &w->value[i->in[0]];

  if (i->kind == CLARKE_DO_ELU)
    return clarke_number_sign(x) == 0 && piece == 0;
  if (piece >= i->pieces->n_kinks || !x->exact || !mpq_equal(x->q, i->pieces->kink[piece]))
    return false;
  for (size_t c = 0; c < 3; c++)
    if (!mpq_equal(i->pieces->coef[piece][c], i->pieces->coef[piece + 1][c]))
      return true;
  return false;
}

static uint8_t
pointwise_degree(const clarke_walk *w, const clarke_instruction *i, size_t piece, bool silent)
{
  uint8_t degree = w->degree[i->in[0]];

  if (degree == 0)
    return 0;
  if (silent)
    return 2;
  if (i->kind == CLARKE_DO_ELU)
    return piece == 1 ? degree : mpq_sgn(i->coef[0]) == 0 ? 0 : 2;
  if (mpq_sgn(i->pieces->coef[piece][2]) != 0)
    return 2;
  return mpq_sgn(i->pieces->coef[piece][1]) == 0 ? 0 : degree;
}

static clarke_status
walk_pointwise(clarke_walk *w, clarke_walk_state *state, size_t at, clarke_error *err)
{
  const clarke_instruction *i = &w->e->p->instruction[at];
  const clarke_number *x = &w->value[i->in[0]];
  clarke_number slope;
  size_t piece;
  bool silent;
  int sign;
  clarke_place_kind place = clarke_pointwise_place(&piece, i, x, w->e->precision);
  clarke_status status;

  if (place == CLARKE_PLACE_OPEN)
    return stuck(w, state, at, "no precision tells on which side of its kink this is");
  silent = place == CLARKE_PLACE_INSIDE && at_silent_kink(w, i, piece);
  if (place == CLARKE_PLACE_KINK) {
    if (!sign_near(w, at, i->in[0], CLARKE_NONE, &sign)) {
      *state = CLARKE_WALK_FORK;
      return CLARKE_OK;
    }
    piece += sign > 0;
  }
  w->part[at] = piece;
  clarke_number_init(&slope);
  clarke_pointwise_value(&w->value[at], &slope, i, piece, x, w->e->precision);
  status = gradient_addmul(w, at, &slope, i->in[0], err);
  settle(w, at, pointwise_degree(w, i, piece, silent));
  if (status == CLARKE_OK && !silent)
    status = refine(w, at, err);
  if (status == CLARKE_OK && w->series != NULL) {
    if (silent && w->series[i->in[0]] != NULL)
      w->arc_failed = true;
    else
      status = piece_series(w, at, piece, err);
  }
  clarke_number_clear(&slope);
  return status;
}

/* at's value, gradient, degree and series are those of another instruction. */
static clarke_status
same_as(clarke_walk *w, size_t at, size_t from, clarke_error *err)
{
  clarke_number one;
  clarke_status status;

  clarke_number_init(&one);
  clarke_number_set_si(&one, 1);
  clarke_number_set(&w->value[at], &w->value[from]);
  status = gradient_addmul(w, at, &one, from, err);
  settle(w, at, w->degree[from]);
  clarke_number_clear(&one);
  if (status == CLARKE_OK)
    status = refine(w, at, err);
  return status == CLARKE_OK ? copy_series(w, at, from, err) : status;
}

static clarke_status
walk_order(clarke_walk *w, clarke_walk_state *state, size_t at, clarke_error *err)
{
  const clarke_instruction *i = &w->e->p->instruction[at];
  size_t *tied = malloc(i->n_in * sizeof *tied), *copy_of = malloc(i->n_in * sizeof *copy_of);
  size_t n, rank, taken;
  clarke_status status = CLARKE_OK;

  if (tied == NULL || copy_of == NULL)
    status = clarke_no_memory(err);
  else if (!clarke_order_place(tied, &n, &rank, i, w->value, w->e->precision))
    status = stuck(w, state, at, "no precision tells these numbers apart");
  else {
    for (size_t k = 0; k < n; k++)
      tied[k] = i->in[tied[k]];
    w->fork.up = 2 * rank > n + 1;
    if (take(w, at, tied, n, w->fork.up ? n + 1 - rank : rank, copy_of, &taken)) {
      w->part[at] = taken;
      status = same_as(w, at, taken, err);
    } else
      *state = CLARKE_WALK_FORK;
  }
  free(tied);
  free(copy_of);
  return status;
}

/* Is y_a - y_b, not known to be identically zero near the point, known not to be? */
static bool
differs(const clarke_walk *w, size_t a, size_t b)
{
  clarke_polynomial q;
  mpq_t minus;
  bool known = false;

  for (size_t k = 0; k < w->width && !known; k++) {
    clarke_number none, difference;
    int sign;

    clarke_number_init(&none);
    clarke_number_init(&difference);
    clarke_number_sub(&difference, w->gradient[a] != NULL ? &w->gradient[a][k] : &none,
                      w->gradient[b] != NULL ? &w->gradient[b][k] : &none, w->e->precision);
    sign = clarke_number_sign(&difference);
    known = sign == 1 || sign == -1;
    clarke_number_clear(&none);
    clarke_number_clear(&difference);
  }
  if (known || w->polynomial == NULL)
    return known;
  mpq_init(minus);
  mpq_set_si(minus, -1, 1);
  clarke_polynomial_init(&q, w->ring);
  read_polynomial(&q, w, a);
  polynomial_addmul(&q, minus, w, b);
  known = q.kept && !fmpq_mpoly_is_zero(q.p, w->ring);
  clarke_polynomial_clear(&q, w->ring);
  mpq_clear(minus);
  return known;
}

static clarke_status
walk_branch(clarke_walk *w, clarke_walk_state *state, size_t at, clarke_error *err)
{
  const clarke_instruction *i = &w->e->p->instruction[at];
  int sign;

  if (w->demand.arm[at] != 0)
    return same_as(w, at, i->in[w->demand.arm[at] == 1 ? 2 : 3], err);
  sign = clarke_branch_place(i, w->value, w->e->precision);
  if (sign == 2)
    return stuck(w, state, at, "no precision tells whether this condition holds");
  /* Where the comparands were equal all around, == would take an arm that neither sign takes. */
  if (sign == 0 && (i->relation == CLARKE_EQ || i->relation == CLARKE_NE) &&
      !clarke_walk_identical(w, i->in[0], i->in[1]) && !differs(w, i->in[0], i->in[1]))
    return stuck(w, state, at, "whether these are equal all around the point is not known");
  if (sign == 0 && !sign_near(w, at, i->in[0], i->in[1], &sign)) {
    *state = CLARKE_WALK_FORK;
    return CLARKE_OK;
  }
  w->part[at] = clarke_relation_holds(i->relation, sign);
  w->demand.arm[at] = w->part[at] ? 1 : -1;
  return CLARKE_OK;
}

static clarke_status
walk_instruction(clarke_walk *w, clarke_walk_state *state, size_t at, clarke_error *err)
{
  const clarke_instruction *i = &w->e->p->instruction[at];

  switch (i->kind) {
  case CLARKE_DO_INPUT:
    return walk_input(w, at, err);
  case CLARKE_DO_PIECEWISE:
  case CLARKE_DO_ELU:
    return walk_pointwise(w, state, at, err);
  case CLARKE_DO_ORDER:
    return walk_order(w, state, at, err);
  case CLARKE_DO_BRANCH:
    return walk_branch(w, state, at, err);
  case CLARKE_DO_NORM:
    if (clarke_norm_at_zero(i, w->value)) {
      clarke_number_set_si(&w->value[at], 0);
      w->degree[at] = 0;
      return highest(w, i) == 0 ? CLARKE_OK
                                    : stuck(w, state, at, "the norm of a vector that is 0 here");
    }
    return walk_smooth(w, state, at, err);
  default:
    return walk_smooth(w, state, at, err);
  }
}

clarke_status
clarke_walk_on(clarke_walk *w, clarke_walk_state *state, clarke_error *err)
{
  size_t at;

  *state = CLARKE_WALK_END;
  while ((at = clarke_demand_next(&w->demand)) != CLARKE_NONE) {
    bool branch = w->e->p->instruction[at].kind == CLARKE_DO_BRANCH;
    bool armed = w->demand.arm[at] != 0;
    clarke_status status;

    w->asked = 0;
    status = walk_instruction(w, state, at, err);
    if (status != CLARKE_OK || *state != CLARKE_WALK_END)
      return status;
    w->n_local = 0;
    w->demand.done[at] = !branch || armed;
  }
  return CLARKE_OK;
}
