/* Affine forms of a program's instructions (forms.h). */
#include "region/forms.h"

#include <flint/fmpq.h>
#include <flint/fmpz_vec.h>
#include <stdlib.h>
#include <string.h>

/* --- what is piecewise linear ---------------------------------------------------------------- */

static bool
is_linear(const clarke_pieces *pieces)
{
  for (size_t k = 0; k <= pieces->n_kinks; k++)
    if (mpq_sgn(pieces->coef[k][2]) != 0)
      return false;
  return pieces->slope == CLARKE_NONE || pieces->n_kinks == 1;
}

static bool
is_constant(const clarke_code *p, size_t instruction)
{
  return p->instruction[instruction].kind == CLARKE_DO_CONSTANT;
}

/* The argument of a PRODUCT that is not constant: 0 or 1; 2: neither is constant. */
static size_t
factor(const clarke_code *p, const clarke_instruction *i)
{
  return is_constant(p, i->in[1]) ? 0 : is_constant(p, i->in[0]) ? 1 : 2;
}

/* NULL: it is piecewise linear. */
static const char *
why_not_linear(const clarke_code *p, const clarke_instruction *i)
{
  switch (i->kind) {
  case CLARKE_DO_INPUT:
  case CLARKE_DO_CONSTANT:
  case CLARKE_DO_LINEAR:
    return NULL;
  case CLARKE_DO_PIECEWISE:
    return is_linear(i->pieces) ? NULL : "a function with a piece of degree 2";
  case CLARKE_DO_ORDER:
    return i->rank == 1 ? NULL : "an order statistic that is not the maximum";
  case CLARKE_DO_PRODUCT:
    return factor(p, i) < 2 ? NULL : "a product of two numbers that vary";
  case CLARKE_DO_QUOTIENT:
    return is_constant(p, i->in[1]) ? NULL : "a quotient by a number that varies or is a root";
  case CLARKE_DO_BRANCH:
    return "a branch";
  default:
    return "a function that is not piecewise linear";
  }
}

static clarke_status
check_kinds(clarke_forms *f, clarke_error *err)
{
  const clarke_code *p = f->p;

  for (size_t o = 0; o < p->n_outputs; o++)
    f->needed[p->output[o]] = true;
  for (size_t i = p->n; i-- > 0;) {
    const clarke_instruction *at = &p->instruction[i];
    const char *why = f->needed[i] ? why_not_linear(p, at) : NULL;

    if (why != NULL)
      return clarke_code_fail(p, i, err, "%s%s%s: regions are those of piecewise linear functions", at->op != NULL ? at->op->name : "",
                              at->op != NULL ? ": " : "", why);
    for (size_t j = 0; f->needed[i] && j < at->n_in; j++)
      f->needed[at->in[j]] = true;
    f->kinks += f->needed[i] && (at->kind == CLARKE_DO_PIECEWISE || at->kind == CLARKE_DO_ORDER);
  }
  return CLARKE_OK;
}

/* --- denominators and integer coefficients --------------------------------------------------- */

/* den = lcm(den, that of q times d). */
static void
widen(fmpz_t den, const mpq_t q, const fmpz_t d)
{
  fmpz_t more;

  fmpz_init(more);
  fmpz_set_mpz(more, mpq_denref(q));
  fmpz_mul(more, more, d);
  fmpz_lcm(den, den, more);
  fmpz_clear(more);
}

/* to = q den / d, an integer. */
static void
scale(fmpz_t to, const mpq_t q, const fmpz_t den, const fmpz_t d)
{
  fmpz_t part;

  fmpz_init(part);
  fmpz_set_mpz(part, mpq_denref(q));
  fmpz_mul(part, part, d);
  fmpz_divexact(part, den, part);
  fmpz_set_mpz(to, mpq_numref(q));
  fmpz_mul(to, to, part);
  fmpz_clear(part);
}

static void
prepare_linear(clarke_forms *f, size_t i, fmpz_t one)
{
  const clarke_instruction *at = &f->p->instruction[i];

  for (size_t j = 0; j <= at->n_in; j++)
    widen(f->den + i, at->coef[j], j < at->n_in ? f->den + at->in[j] : one);
  for (size_t j = 0; j <= at->n_in; j++)
    scale(f->coef[i] + j, at->coef[j], f->den + i, j < at->n_in ? f->den + at->in[j] : one);
}

/* Piece k is c_0 + c_1 x: coefficients for 1 and for the argument's form. */
static void
prepare_pieces(clarke_forms *f, size_t i, fmpz_t one)
{
  const clarke_instruction *at = &f->p->instruction[i];
  const fmpz *d = f->den + at->in[0];

  for (size_t k = 0; k <= at->pieces->n_kinks; k++) {
    widen(f->den + i, at->pieces->coef[k][0], one);
    widen(f->den + i, at->pieces->coef[k][1], d);
  }
  for (size_t k = 0; k <= at->pieces->n_kinks; k++) {
    scale(f->coef[i] + 2 * k, at->pieces->coef[k][0], f->den + i, one);
    scale(f->coef[i] + 2 * k + 1, at->pieces->coef[k][1], f->den + i, d);
  }
}

static void
prepare_order(clarke_forms *f, size_t i)
{
  const clarke_instruction *at = &f->p->instruction[i];

  for (size_t j = 0; j < at->n_in; j++)
    fmpz_lcm(f->den + i, f->den + i, f->den + at->in[j]);
  for (size_t j = 0; j < at->n_in; j++)
    fmpz_divexact(f->coef[i] + j, f->den + i, f->den + at->in[j]);
}

/* PRODUCT with a constant, QUOTIENT by one. */
static void
prepare_multiple(clarke_forms *f, size_t i)
{
  const clarke_instruction *at = &f->p->instruction[i];
  const size_t x = at->kind == CLARKE_DO_QUOTIENT ? 0 : factor(f->p, at);
  mpq_t q;

  mpq_init(q);
  mpq_set(q, f->p->instruction[at->in[1 - x]].coef[0]);
  if (at->kind == CLARKE_DO_QUOTIENT)
    mpq_inv(q, q);
  widen(f->den + i, q, f->den + at->in[x]);
  scale(f->coef[i], q, f->den + i, f->den + at->in[x]);
  mpq_clear(q);
}

/* INPUT and CONSTANT: the form for good. n rationals. */
static void
set_form(clarke_forms *f, size_t i, mpq_t *q, size_t n, fmpz_t one)
{
  fmpz *form = clarke_forms_at(f, i) + (f->dim + 1 - n);

  for (size_t j = 0; j < n; j++)
    widen(f->den + i, q[j], one);
  for (size_t j = 0; j < n; j++)
    scale(form + j, q[j], f->den + i, one);
}

static size_t
n_coefficients(const clarke_instruction *i)
{
  switch (i->kind) {
  case CLARKE_DO_LINEAR:
    return i->n_in + 1;
  case CLARKE_DO_PIECEWISE:
    return 2 * (i->pieces->n_kinks + 1);
  case CLARKE_DO_ORDER:
    return i->n_in;
  case CLARKE_DO_PRODUCT:
  case CLARKE_DO_QUOTIENT:
    return 1;
  default:
    return 0;
  }
}

static clarke_status
prepare(clarke_forms *f, size_t i, mpq_t *entry, clarke_error *err)
{
  const clarke_instruction *at = &f->p->instruction[i];
  fmpz_t one;

  if (at->kind == CLARKE_DO_QUOTIENT && mpq_sgn(f->p->instruction[at->in[1]].coef[0]) == 0)
    return clarke_code_fail(f->p, i, err, "a division by zero");
  fmpz_init_set_ui(one, 1);
  f->coef[i] = _fmpz_vec_init((slong)n_coefficients(at) + 1);
  switch (at->kind) {
  case CLARKE_DO_INPUT:
    set_form(f, i, entry + clarke_code_entry(f->p, i) * (f->dim + 1), f->dim + 1, one);
    break;
  case CLARKE_DO_CONSTANT:
    set_form(f, i, at->coef, 1, one);
    break;
  case CLARKE_DO_LINEAR:
    prepare_linear(f, i, one);
    break;
  case CLARKE_DO_PIECEWISE:
    prepare_pieces(f, i, one);
    break;
  case CLARKE_DO_ORDER:
    prepare_order(f, i);
    break;
  default:
    prepare_multiple(f, i);
    break;
  }
  fmpz_clear(one);
  return CLARKE_OK;
}

clarke_status
clarke_forms_init(clarke_forms *f, const clarke_code *p, mpq_t *entry, size_t dim, clarke_error *err)
{
  clarke_status status;

  memset(f, 0, sizeof *f);
  f->p = p;
  f->dim = dim;
  f->needed = calloc(p->n + 1, sizeof *f->needed);
  f->coef = calloc(p->n + 1, sizeof *f->coef);
  if (f->needed == NULL || f->coef == NULL)
    return clarke_no_memory(err);
  f->den = _fmpz_vec_init((slong)p->n + 1);
  f->form = _fmpz_vec_init((slong)((p->n + 1) * (dim + 1)));
  status = check_kinds(f, err);
  for (size_t i = 0; i < p->n && status == CLARKE_OK; i++) {
    fmpz_one(f->den + i);
    if (f->needed[i])
      status = prepare(f, i, entry, err);
  }
  return status;
}

void
clarke_forms_clear(clarke_forms *f)
{
  for (size_t i = 0; f->coef != NULL && i < f->p->n; i++)
    if (f->coef[i] != NULL)
      _fmpz_vec_clear(f->coef[i], (slong)n_coefficients(&f->p->instruction[i]) + 1);
  if (f->den != NULL)
    _fmpz_vec_clear(f->den, (slong)f->p->n + 1);
  if (f->form != NULL)
    _fmpz_vec_clear(f->form, (slong)((f->p->n + 1) * (f->dim + 1)));
  free(f->needed);
  free(f->coef);
  memset(f, 0, sizeof *f);
}

/* --- forms ----------------------------------------------------------------------------------- */

void
clarke_forms_compute(clarke_forms *f, size_t i, size_t choice)
{
  const clarke_instruction *at = &f->p->instruction[i];
  const slong n = (slong)f->dim + 1;
  fmpz *form = clarke_forms_at(f, i);

  switch (at->kind) {
  case CLARKE_DO_LINEAR:
    _fmpz_vec_zero(form, n);
    for (size_t j = 0; j < at->n_in; j++)
      _fmpz_vec_scalar_addmul_fmpz(form, clarke_forms_at(f, at->in[j]), n, f->coef[i] + j);
    fmpz_add(form + f->dim, form + f->dim, f->coef[i] + at->n_in);
    break;
  case CLARKE_DO_PIECEWISE:
    _fmpz_vec_scalar_mul_fmpz(form, clarke_forms_at(f, at->in[0]), n, f->coef[i] + 2 * choice + 1);
    fmpz_add(form + f->dim, form + f->dim, f->coef[i] + 2 * choice);
    break;
  case CLARKE_DO_ORDER:
    _fmpz_vec_scalar_mul_fmpz(form, clarke_forms_at(f, at->in[choice]), n, f->coef[i] + choice);
    break;
  case CLARKE_DO_PRODUCT:
  case CLARKE_DO_QUOTIENT:
    _fmpz_vec_scalar_mul_fmpz(form, clarke_forms_at(f, at->in[at->kind == CLARKE_DO_QUOTIENT ? 0 : factor(f->p, at)]), n, f->coef[i]);
    break;
  default:
    break;
  }
}

void
clarke_forms_kink(fmpz *row, const clarke_forms *f, size_t i, size_t k)
{
  const clarke_instruction *at = &f->p->instruction[i];
  fmpz_t part;

  fmpz_init(part);
  fmpz_set_mpz(part, mpq_denref(at->pieces->kink[k]));
  _fmpz_vec_scalar_mul_fmpz(row, clarke_forms_at(f, at->in[0]), (slong)f->dim + 1, part);
  fmpz_set_mpz(part, mpq_numref(at->pieces->kink[k]));
  fmpz_submul(row + f->dim, part, f->den + at->in[0]);
  fmpz_clear(part);
}

void
clarke_forms_difference(fmpz *row, const clarke_forms *f, size_t i, size_t a, size_t b)
{
  const clarke_instruction *at = &f->p->instruction[i];
  const slong n = (slong)f->dim + 1;

  _fmpz_vec_scalar_mul_fmpz(row, clarke_forms_at(f, at->in[a]), n, f->coef[i] + a);
  _fmpz_vec_scalar_submul_fmpz(row, clarke_forms_at(f, at->in[b]), n, f->coef[i] + b);
}

bool
clarke_forms_is_smooth(const clarke_instruction *i, size_t k)
{
  const clarke_pieces *p = i->pieces;

  return mpq_equal(p->coef[k][0], p->coef[k + 1][0]) && mpq_equal(p->coef[k][1], p->coef[k + 1][1]);
}
