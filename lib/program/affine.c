/* Instructions as affine forms on a face (affine.h). */
#include "program/affine.h"

#include <stdlib.h>
#include <string.h>

void
clarke_affine_init(clarke_affine *a)
{
  memset(a, 0, sizeof *a);
}

void
clarke_affine_clear(clarke_affine *a)
{
  size_t width = a->dim + 1;

  clarke_rationals_free(a->form, a->p.n * width);
  clarke_rationals_free(a->first, width);
  clarke_rationals_free(a->second, width);
  clarke_demand_clear(&a->demand);
  clarke_affine_init(a);
}

clarke_status
clarke_affine_begin(clarke_affine *a, bool *small, const clarke_code *p, mpq_t *at,
                    clarke_error *err)
{
  size_t width = clarke_code_wrt_count(p) + 1;
  clarke_status status;

  *small = p->n <= CLARKE_AFFINE_ENTRIES / width;
  if (!*small)
    return CLARKE_OK;
  a->p = *p;
  a->p.output = &a->target;
  a->p.n_outputs = 1;
  a->at = at;
  a->dim = width - 1;
  status = clarke_demand_init(&a->demand, &a->p, err);
  a->form = clarke_rationals(p->n * width);
  a->first = clarke_rationals(width);
  a->second = clarke_rationals(width);
  if (status == CLARKE_OK && (a->form == NULL || a->first == NULL || a->second == NULL))
    status = clarke_no_memory(err);
  return status;
}

void
clarke_affine_restart(clarke_affine *a)
{
  clarke_demand_restart(&a->demand);
}

mpq_t *
clarke_affine_form(const clarke_affine *a, size_t instruction)
{
  return &a->form[instruction * (a->dim + 1)];
}

/* --- arithmetic of forms ---------------------------------------------------------------------- */

static void
set_constant(const clarke_affine *a, mpq_t *y, const mpq_t value)
{
  for (size_t j = 0; j < a->dim; j++)
    mpq_set_ui(y[j], 0, 1);
  mpq_set(y[a->dim], value);
}

static void
set_multiple(const clarke_affine *a, mpq_t *y, const mpq_t c, mpq_t *x)
{
  for (size_t j = 0; j <= a->dim; j++)
    mpq_mul(y[j], c, x[j]);
}

static void
add_multiple(const clarke_affine *a, mpq_t *y, const mpq_t c, mpq_t *x)
{
  mpq_t term;

  mpq_init(term);
  for (size_t j = 0; j <= a->dim; j++) {
    if (mpq_sgn(x[j]) == 0)
      continue;
    mpq_mul(term, c, x[j]);
    mpq_add(y[j], y[j], term);
  }
  mpq_clear(term);
}

/* Where one instruction is computed. */
typedef struct {
  clarke_affine *a;
  clarke_face *f;
  clarke_faces *s;
  size_t at;
  const clarke_instruction *i;
  mpq_t *y; /* its form */
  clarke_error *err;
} place;

static mpq_t *
argument(const place *w, size_t k)
{
  return clarke_affine_form(w->a, w->i->in[k]);
}

/* Is argument k constant on the face? Leaves its value in a->second[dim]. */
static bool
constant_argument(const place *w, size_t k)
{
  clarke_face_reduce(w->a->second, w->f, argument(w, k));
  return clarke_form_constant(w->a->second, w->a->dim);
}

/* The sign of argument k less a constant. */
static clarke_status
sign_beyond(int *sign, const place *w, size_t k, const mpq_t level)
{
  mpq_t *x = argument(w, k), *gap = w->a->first;

  for (size_t j = 0; j <= w->a->dim; j++)
    mpq_set(gap[j], x[j]);
  mpq_sub(gap[w->a->dim], gap[w->a->dim], level);
  return clarke_face_decide(sign, w->f, w->s, gap, w->err);
}

clarke_status
clarke_affine_compare(int *sign, clarke_affine *a, size_t left, size_t right, clarke_face *f,
                      clarke_faces *s, clarke_error *err)
{
  mpq_t *x = clarke_affine_form(a, left), *y = clarke_affine_form(a, right);

  for (size_t j = 0; j <= a->dim; j++)
    mpq_sub(a->first[j], x[j], y[j]);
  return clarke_face_decide(sign, f, s, a->first, err);
}

/* --- instructions ----------------------------------------------------------------------------- */

static clarke_affine_kind
do_input(const place *w)
{
  size_t entry = clarke_code_wrt_entry(&w->a->p, w->at);
  mpq_t zero;

  if (entry == CLARKE_NONE) {
    set_constant(w->a, w->y, w->a->at[clarke_code_entry(&w->a->p, w->at)]);
    return CLARKE_AFFINE;
  }
  mpq_init(zero);
  set_constant(w->a, w->y, zero);
  mpq_set_ui(w->y[entry], 1, 1);
  mpq_clear(zero);
  return CLARKE_AFFINE;
}

static clarke_affine_kind
do_linear(const place *w)
{
  set_constant(w->a, w->y, w->i->coef[w->i->n_in]);
  for (size_t k = 0; k < w->i->n_in; k++)
    add_multiple(w->a, w->y, w->i->coef[k], argument(w, k));
  return CLARKE_AFFINE;
}

static clarke_affine_kind
do_product(const place *w)
{
  for (size_t k = 0; k < 2; k++)
    if (constant_argument(w, k)) {
      set_multiple(w->a, w->y, w->a->second[w->a->dim], argument(w, 1 - k));
      return CLARKE_AFFINE;
    }
  return CLARKE_AFFINE_NOT;
}

static clarke_affine_kind
do_quotient(const place *w)
{
  mpq_t inverse;

  if (!constant_argument(w, 1))
    return CLARKE_AFFINE_NOT;
  if (mpq_sgn(w->a->second[w->a->dim]) == 0)
    return CLARKE_AFFINE_UNDEFINED;
  mpq_init(inverse);
  mpq_inv(inverse, w->a->second[w->a->dim]);
  set_multiple(w->a, w->y, inverse, argument(w, 0));
  mpq_clear(inverse);
  return CLARKE_AFFINE;
}

/* f of a constant, where it is rational. */
static clarke_affine_kind
set_analytic(const place *w, clarke_analytic f, const mpq_t value)
{
  clarke_number x;
  clarke_affine_kind kind = CLARKE_AFFINE_UNDEFINED;

  clarke_number_init(&x);
  clarke_number_set_q(&x, value);
  if (clarke_number_analytic(&x, NULL, f, &x, 64)) {
    kind = x.exact ? CLARKE_AFFINE : CLARKE_AFFINE_NOT;
    if (x.exact)
      set_constant(w->a, w->y, x.q);
  }
  clarke_number_clear(&x);
  return kind;
}

static clarke_affine_kind
do_analytic(const place *w)
{
  if (!constant_argument(w, 0))
    return CLARKE_AFFINE_NOT;
  return set_analytic(w, w->i->function, w->a->second[w->a->dim]);
}

/* Piece `piece` of argument 0: a constant of any degree, or else a linear piece. */
static clarke_affine_kind
set_piece(const place *w, size_t piece)
{
  const mpq_t *coef = (const mpq_t *)w->i->pieces->coef[piece];
  mpq_t value;

  if (mpq_sgn(coef[2]) == 0) {
    set_constant(w->a, w->y, coef[0]);
    add_multiple(w->a, w->y, coef[1], argument(w, 0));
    return CLARKE_AFFINE;
  }
  if (!constant_argument(w, 0))
    return CLARKE_AFFINE_NOT;
  mpq_init(value);
  mpq_mul(value, coef[2], w->a->second[w->a->dim]);
  mpq_add(value, value, coef[1]);
  mpq_mul(value, value, w->a->second[w->a->dim]);
  mpq_add(value, value, coef[0]);
  set_constant(w->a, w->y, value);
  mpq_clear(value);
  return CLARKE_AFFINE;
}

static clarke_status
do_pieces(clarke_affine_kind *kind, const place *w)
{
  const clarke_pieces *p = w->i->pieces;
  size_t piece = 0;

  *kind = CLARKE_AFFINE_NOT;
  if (p->slope != CLARKE_NONE)
    return CLARKE_OK;
  for (; piece < p->n_kinks; piece++) {
    int sign;
    clarke_status status = sign_beyond(&sign, w, 0, p->kink[piece]);

    if (status != CLARKE_OK)
      return status;
    if (sign <= 0)
      break;
  }
  *kind = set_piece(w, piece);
  return CLARKE_OK;
}

/* x where it is not negative; 0 elsewhere when alpha is. */
static clarke_status
do_elu(clarke_affine_kind *kind, const place *w)
{
  mpq_t zero, one;
  int sign;
  clarke_status status;

  mpq_inits(zero, one, NULL);
  mpq_set_ui(one, 1, 1);
  status = sign_beyond(&sign, w, 0, zero);
  *kind = status == CLARKE_OK && sign < 0 && mpq_sgn(w->i->coef[0]) != 0 ? CLARKE_AFFINE_NOT
                                                                         : CLARKE_AFFINE;
  set_constant(w->a, w->y, zero);
  if (status == CLARKE_OK && sign > 0)
    add_multiple(w->a, w->y, one, argument(w, 0));
  mpq_clears(zero, one, NULL);
  return status;
}

/* The arguments inserted one by one into a list sorted downward. */
static clarke_status
do_order(const place *w)
{
  size_t n = w->i->n_in, *list = malloc((n + 1) * sizeof *list);
  clarke_status status = CLARKE_OK;
  mpq_t zero;

  if (list == NULL)
    return clarke_no_memory(w->err);
  for (size_t k = 0; k < n && status == CLARKE_OK && !w->s->open; k++) {
    size_t at = k;
    int sign = -1;

    while (at > 0 && status == CLARKE_OK && sign < 0 && !w->s->open) {
      status = clarke_affine_compare(&sign, w->a, w->i->in[list[at - 1]], w->i->in[k], w->f, w->s,
                                     w->err);
      at -= sign < 0;
    }
    memmove(&list[at + 1], &list[at], (k - at) * sizeof *list);
    list[at] = k;
  }
  if (status == CLARKE_OK && !w->s->open) {
    mpq_init(zero);
    set_constant(w->a, w->y, zero);
    mpq_set_ui(zero, 1, 1);
    add_multiple(w->a, w->y, zero, argument(w, list[w->i->rank - 1]));
    mpq_clear(zero);
  }
  free(list);
  return status;
}

/* sqrt of the sum of the squares of constants. (No form is decided here: whether it would be
 * depends on the face, and the forms decided must not.) */
static clarke_affine_kind
set_norm(const place *w)
{
  clarke_affine_kind kind = CLARKE_AFFINE;
  mpq_t sum, term;

  mpq_inits(sum, term, NULL);
  for (size_t k = 0; k < w->i->n_in && kind == CLARKE_AFFINE; k++) {
    kind = constant_argument(w, k) ? CLARKE_AFFINE : CLARKE_AFFINE_NOT;
    mpq_mul(term, w->a->second[w->a->dim], w->a->second[w->a->dim]);
    mpq_add(sum, sum, term);
  }
  if (kind == CLARKE_AFFINE)
    kind = set_analytic(w, CLARKE_FN_SQRT, sum);
  mpq_clears(sum, term, NULL);
  return kind;
}

/* The norm of one number is its absolute value. */
static clarke_status
do_norm(clarke_affine_kind *kind, const place *w)
{
  mpq_t number;
  int sign;
  clarke_status status;

  if (w->i->n_in != 1) {
    *kind = set_norm(w);
    return CLARKE_OK;
  }
  mpq_init(number);
  status = sign_beyond(&sign, w, 0, number);
  if (status == CLARKE_OK) {
    mpq_set_si(number, sign, 1);
    set_multiple(w->a, w->y, number, argument(w, 0));
  }
  mpq_clear(number);
  return status;
}

/* First the arm, then its form. */
static clarke_status
do_branch(const place *w)
{
  int8_t *arm = &w->a->demand.arm[w->at];
  clarke_status status;
  mpq_t one;
  int sign;

  if (*arm == 0) {
    status = clarke_affine_compare(&sign, w->a, w->i->in[0], w->i->in[1], w->f, w->s, w->err);
    *arm = status == CLARKE_OK && clarke_relation_holds(w->i->relation, sign) ? 1 : -1;
    return status;
  }
  mpq_init(one);
  mpq_set_ui(one, 1, 1);
  set_multiple(w->a, w->y, one, argument(w, *arm == 1 ? 2 : 3));
  mpq_clear(one);
  w->a->demand.done[w->at] = true;
  return CLARKE_OK;
}

static clarke_status
compute(clarke_affine_kind *kind, const place *w)
{
  *kind = CLARKE_AFFINE;
  switch (w->i->kind) {
  case CLARKE_DO_INPUT:
    *kind = do_input(w);
    return CLARKE_OK;
  case CLARKE_DO_CONSTANT:
    set_constant(w->a, w->y, w->i->coef[0]);
    return CLARKE_OK;
  case CLARKE_DO_LINEAR:
    *kind = do_linear(w);
    return CLARKE_OK;
  case CLARKE_DO_PRODUCT:
    *kind = do_product(w);
    return CLARKE_OK;
  case CLARKE_DO_QUOTIENT:
    *kind = do_quotient(w);
    return CLARKE_OK;
  case CLARKE_DO_ANALYTIC:
    *kind = do_analytic(w);
    return CLARKE_OK;
  case CLARKE_DO_PIECEWISE:
    return do_pieces(kind, w);
  case CLARKE_DO_ELU:
    return do_elu(kind, w);
  case CLARKE_DO_ORDER:
    return do_order(w);
  case CLARKE_DO_BRANCH:
    return do_branch(w);
  case CLARKE_DO_NORM:
    return do_norm(kind, w);
  }
  *kind = CLARKE_AFFINE_NOT;
  return CLARKE_OK;
}

clarke_status
clarke_affine_of(clarke_affine_kind *kind, clarke_affine *a, size_t instruction, clarke_face *f,
                 clarke_faces *s, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  size_t at;

  a->target = instruction;
  a->demand.output = 0;
  a->demand.n = 0;
  *kind = CLARKE_AFFINE;
  while ((at = clarke_demand_next(&a->demand)) != CLARKE_NONE) {
    const clarke_instruction *i = &a->p.instruction[at];
    place w = {a, f, s, at, i, clarke_affine_form(a, at), err};

    status = compute(kind, &w);
    s->work += (double)(i->n_in + 1) * (double)(a->dim + 1);
    s->open = s->open || s->work > CLARKE_FACE_WORK;
    if (s->open)
      *kind = CLARKE_AFFINE_OPEN;
    a->failed_at = at;
    if (status != CLARKE_OK || *kind != CLARKE_AFFINE)
      return status;
    if (i->kind != CLARKE_DO_BRANCH)
      a->demand.done[at] = true;
  }
  return status;
}
