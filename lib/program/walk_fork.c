/* Forks of a walk: where one is, what it asks to choose, and the decisions that each choice adds. */
#include "program/walk_inside.h"

/* --- what is equal near the point -------------------------------------------------------------- */

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
  clarke_walk_polynomial(&difference, w, a);
  clarke_walk_polynomial_addmul(&difference, minus, w, b);
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

    if (g == NULL || h == NULL ? (g != NULL && !clarke_walk_is_zero(g)) || (h != NULL && !clarke_walk_is_zero(h))
                               : !g->exact || !h->exact || !mpq_equal(g->q, h->q))
      return false;
  }
  return true;
}

bool
clarke_walk_differs(const clarke_walk *w, size_t a, size_t b)
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
  clarke_walk_polynomial(&q, w, a);
  clarke_walk_polynomial_addmul(&q, minus, w, b);
  known = q.kept && !fmpq_mpoly_is_zero(q.p, w->ring);
  clarke_polynomial_clear(&q, w->ring);
  mpq_clear(minus);
  return known;
}

/* --- choices ----------------------------------------------------------------------------------- */

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

/* The place of a sum's one argument beside numbers that add up to 0; CLARKE_NONE when there is none. */
static size_t
only_term(const clarke_code *p, const clarke_instruction *i)
{
  size_t kept = CLARKE_NONE, terms = 0;
  mpq_t numbers, t;
  bool zero;

  mpq_inits(numbers, t, NULL);
  mpq_set(numbers, i->coef[i->n_in]);
  for (size_t k = 0; k < i->n_in && terms < 2; k++) {
    const clarke_instruction *x = &p->instruction[i->in[k]];

    if (x->kind == CLARKE_DO_CONSTANT) {
      mpq_mul(t, i->coef[k], x->coef[0]);
      mpq_add(numbers, numbers, t);
    } else {
      kept = k;
      terms++;
    }
  }
  zero = mpq_sgn(numbers) == 0;
  mpq_clears(numbers, t, NULL);
  return zero && terms == 1 ? kept : CLARKE_NONE;
}

/* An instruction whose sign near the point is, times *factor, that of y_a: of a product the factor
 * that is zero at the point when the other is not, of a quotient the numerator, of a sum its one
 * argument beside numbers that add up to 0. */
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
    } else if (i->kind == CLARKE_DO_LINEAR && (kept = only_term(w->e->p, i)) != CLARKE_NONE)
      sign = mpq_sgn(i->coef[kept]);
    if (sign != 1 && sign != -1)
      break;
    a = i->in[kept];
    *factor *= sign;
  }
  return a;
}

int
clarke_walk_sign_along(size_t *told, const clarke_walk *w, size_t a, size_t b)
{
  clarke_number none, difference;
  int sign = 0;

  clarke_number_init(&none);
  clarke_number_init(&difference);
  *told = CLARKE_NONE;
  for (size_t k = 0; k < w->width && sign == 0; k++) {
    const clarke_number *g = w->gradient[a] != NULL ? &w->gradient[a][k] : &none;
    const clarke_number *h = b != CLARKE_NONE && w->gradient[b] != NULL ? &w->gradient[b][k] : &none;

    clarke_number_sub(&difference, g, h, w->e->precision);
    sign = clarke_number_sign(&difference);
    if (sign != 0)
      *told = k;
  }
  clarke_number_clear(&none);
  clarke_number_clear(&difference);
  return sign;
}

/* The candidate that is first along the lines, from the end that fork.up names; CLARKE_NONE when that is not told. */
static size_t
first_along(clarke_walk *w)
{
  size_t first = 0, told;

  for (size_t c = 1; c < w->fork.n_choices; c++) {
    const int sign = clarke_walk_sign_along(&told, w, w->fork.y[c], w->fork.y[first]);

    w->untold = w->untold || sign == 2;
    if (sign == (w->fork.up ? -1 : 1))
      first = c;
  }
  for (size_t c = 0; c < w->fork.n_choices; c++)
    w->vague = w->vague || (c != first && clarke_walk_sign_along(&told, w, w->fork.y[c], w->fork.y[first]) == 0);
  return w->untold ? CLARKE_NONE : first;
}

bool
clarke_walk_sign_near(clarke_walk *w, size_t at, size_t a, size_t b, int *sign)
{
  size_t choice;
  int factor = 1;

  *sign = 0;
  if (b == CLARKE_NONE)
    a = reduce(w, a, &factor);
  if (clarke_walk_identical(w, a, b))
    return true;
  if (w->n_lines > 0) {
    size_t told;
    const int along = clarke_walk_sign_along(&told, w, a, b);

    w->untold = w->untold || along == 2;
    *sign = along == 1 || along == -1 ? along * factor : CLARKE_ANY_SIDE;
    return true;
  }
  if (w->open) {
    *sign = CLARKE_ANY_SIDE;
    return true;
  }
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

bool
clarke_walk_take(clarke_walk *w, size_t at, size_t *left, size_t *m, size_t rank, size_t *copy_of,
                 size_t *taken)
{
  size_t n = *m;

  for (;;) {
    size_t choice = 0, copies = 0, kept = 0;

    candidates(w, left, n, copy_of);
    w->fork.order = true;
    w->fork.instruction = at;
    *m = n;
    *taken = CLARKE_NONE;
    if (w->fork.n_choices > 1 && w->open)
      return true;
    if (w->fork.n_choices > 1 && w->n_lines > 0)
      choice = first_along(w);
    else if (w->fork.n_choices > 1 && !chosen(w, &choice))
      return false;
    if (choice == CLARKE_NONE)
      return true;
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

/* --- decisions --------------------------------------------------------------------------------- */

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
  clarke_walk_polynomial_addmul(q, c, w, a);
  mpq_neg(c, c);
  if (b != CLARKE_NONE)
    clarke_walk_polynomial_addmul(q, c, w, b);
  else { /* less its value at the point, the kink */
    mpq_mul(c, c, w->value[a].q);
    clarke_polynomial_add_rational(q, c, w->ring);
  }
  mpq_clear(c);
}
