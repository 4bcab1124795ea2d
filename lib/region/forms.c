/* Affine forms of a program's instructions (forms.h). */
#include "region/forms.h"
#include "region/denominator.h"

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
    return clarke_varying_factor(p, i) < 2 ? NULL : "a product of two numbers that vary";
  case CLARKE_DO_QUOTIENT:
    return clarke_varying_factor(p, i) < 2 ? NULL : "a quotient by a number that varies or is a root";
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

/* Piece k is c_0 + c_1 x: coefficients for 1 and for the argument's form. */
static void
prepare_pieces(clarke_forms *f, size_t i, fmpz_t one)
{
  const clarke_instruction *at = &f->p->instruction[i];
  const fmpz *d = f->den + at->in[0];

  for (size_t k = 0; k <= at->pieces->n_kinks; k++) {
    clarke_denominator_widen(f->den + i, at->pieces->coef[k][0], one);
    clarke_denominator_widen(f->den + i, at->pieces->coef[k][1], d);
  }
  for (size_t k = 0; k <= at->pieces->n_kinks; k++) {
    clarke_denominator_scale(f->coef[i] + 2 * k, at->pieces->coef[k][0], f->den + i, one);
    clarke_denominator_scale(f->coef[i] + 2 * k + 1, at->pieces->coef[k][1], f->den + i, d);
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

/* INPUT and CONSTANT: the form for good. n rationals. */
static void
set_form(clarke_forms *f, size_t i, mpq_t *q, size_t n, fmpz_t one)
{
  fmpz *form = clarke_forms_at(f, i) + (f->dim + 1 - n);

  for (size_t j = 0; j < n; j++)
    clarke_denominator_widen(f->den + i, q[j], one);
  for (size_t j = 0; j < n; j++)
    clarke_denominator_scale(form + j, q[j], f->den + i, one);
  f->version[i] = 1;
}

static size_t
n_coefficients(const clarke_instruction *i)
{
  switch (i->kind) {
  case CLARKE_DO_PIECEWISE:
    return 2 * (i->pieces->n_kinks + 1);
  case CLARKE_DO_ORDER:
    return i->n_in;
  default:
    return 0;
  }
}

static clarke_status
prepare(clarke_forms *f, clarke_sums *sums, size_t i, mpq_t *entry, clarke_error *err)
{
  const clarke_instruction *at = &f->p->instruction[i];
  clarke_status status = CLARKE_OK;
  fmpz_t one;

  fmpz_init_set_ui(one, 1);
  if (n_coefficients(at) > 0)
    f->coef[i] = _fmpz_vec_init((slong)n_coefficients(at) + 1);
  switch (at->kind) {
  case CLARKE_DO_INPUT:
    set_form(f, i, entry + clarke_code_entry(f->p, i) * (f->dim + 1), f->dim + 1, one);
    break;
  case CLARKE_DO_CONSTANT:
    set_form(f, i, at->coef, 1, one);
    break;
  case CLARKE_DO_PIECEWISE:
    prepare_pieces(f, i, one);
    break;
  case CLARKE_DO_ORDER:
    prepare_order(f, i);
    break;
  default:
    status = clarke_sums_make(&f->sum[i], sums, f->den, clarke_forms_at(f, i), i, err);
    f->version[i] = 1; /* its number is there; one without terms never changes */
    break;
  }
  fmpz_clear(one);
  return status;
}

static clarke_status
prepare_all(clarke_forms *f, mpq_t *entry, clarke_error *err)
{
  clarke_sums sums;
  clarke_status status = clarke_sums_init(&sums, f->p, f->needed, f->dim + 1, err);

  for (size_t i = 0; i < f->p->n && status == CLARKE_OK; i++) {
    fmpz_one(f->den + i);
    if (f->needed[i])
      status = prepare(f, &sums, i, entry, err);
    if (f->needed[i] && !sums.joined[i])
      f->live[f->n_live++] = i;
  }
  clarke_sums_clear(&sums);
  return status;
}

clarke_status
clarke_forms_init(clarke_forms *f, const clarke_code *p, mpq_t *entry, size_t dim, clarke_error *err)
{
  clarke_status status;

  memset(f, 0, sizeof *f);
  f->p = p;
  f->dim = dim;
  f->needed = calloc(p->n + 1, sizeof *f->needed);
  f->live = malloc((p->n + 1) * sizeof *f->live);
  f->version = calloc(p->n + 1, sizeof *f->version);
  f->coef = calloc(p->n + 1, sizeof *f->coef);
  f->sum = calloc(p->n + 1, sizeof *f->sum);
  if (f->needed == NULL || f->live == NULL || f->version == NULL || f->coef == NULL || f->sum == NULL)
    return clarke_no_memory(err);
  f->den = _fmpz_vec_init((slong)p->n + 1);
  f->form = _fmpz_vec_init((slong)((p->n + 1) * (dim + 1)));
  f->next = _fmpz_vec_init((slong)dim + 1);
  status = check_kinds(f, err);
  return status == CLARKE_OK ? prepare_all(f, entry, err) : status;
}

void
clarke_forms_clear(clarke_forms *f)
{
  const size_t n = f->p != NULL ? f->p->n : 0, width = f->dim + 1;

  for (size_t i = 0; f->coef != NULL && i < n; i++)
    if (f->coef[i] != NULL)
      _fmpz_vec_clear(f->coef[i], (slong)n_coefficients(&f->p->instruction[i]) + 1);
  for (size_t i = 0; f->sum != NULL && i < n; i++)
    clarke_sum_clear(&f->sum[i], width);
  if (f->den != NULL)
    _fmpz_vec_clear(f->den, (slong)n + 1);
  if (f->form != NULL)
    _fmpz_vec_clear(f->form, (slong)((n + 1) * width));
  if (f->next != NULL)
    _fmpz_vec_clear(f->next, (slong)width);
  free(f->needed);
  free(f->live);
  free(f->version);
  free(f->coef);
  free(f->sum);
  memset(f, 0, sizeof *f);
}

/* --- copies ---------------------------------------------------------------------------------- */

clarke_status
clarke_forms_share(clarke_forms *to, const clarke_forms *from, clarke_error *err)
{
  const size_t n = from->p->n, width = from->dim + 1;
  clarke_status status = CLARKE_OK;

  *to = *from;
  to->form = _fmpz_vec_init((slong)((n + 1) * width));
  _fmpz_vec_set(to->form, from->form, (slong)((n + 1) * width));
  to->next = _fmpz_vec_init((slong)width);
  to->version = malloc((n + 1) * sizeof *to->version);
  to->sum = calloc(n + 1, sizeof *to->sum);
  if (to->version == NULL || to->sum == NULL)
    return clarke_no_memory(err);
  memcpy(to->version, from->version, (n + 1) * sizeof *to->version);
  for (size_t i = 0; i < n && status == CLARKE_OK; i++)
    status = clarke_sum_share(&to->sum[i], &from->sum[i], width, err);
  return status;
}

void
clarke_forms_unshare(clarke_forms *f)
{
  const size_t width = f->dim + 1;

  if (f->p == NULL)
    return;
  for (size_t i = 0; f->sum != NULL && i < f->p->n; i++)
    clarke_sum_unshare(&f->sum[i], width);
  _fmpz_vec_clear(f->form, (slong)((f->p->n + 1) * width));
  _fmpz_vec_clear(f->next, (slong)width);
  free(f->version);
  free(f->sum);
  memset(f, 0, sizeof *f);
}

/* --- forms ----------------------------------------------------------------------------------- */

/* f->next, if it is another. */
static void
take_next(clarke_forms *f, size_t i)
{
  if (_fmpz_vec_equal(clarke_forms_at(f, i), f->next, (slong)f->dim + 1))
    return;
  _fmpz_vec_swap(clarke_forms_at(f, i), f->next, (slong)f->dim + 1);
  f->version[i]++;
}

void
clarke_forms_compute(clarke_forms *f, size_t i, size_t choice)
{
  const clarke_instruction *at = &f->p->instruction[i];
  const slong n = (slong)f->dim + 1;

  switch (at->kind) {
  case CLARKE_DO_INPUT:
  case CLARKE_DO_CONSTANT:
    break;
  case CLARKE_DO_PIECEWISE:
    _fmpz_vec_scalar_mul_fmpz(f->next, clarke_forms_at(f, at->in[0]), n, f->coef[i] + 2 * choice + 1);
    fmpz_add(f->next + f->dim, f->next + f->dim, f->coef[i] + 2 * choice);
    take_next(f, i);
    break;
  case CLARKE_DO_ORDER:
    _fmpz_vec_scalar_mul_fmpz(f->next, clarke_forms_at(f, at->in[choice]), n, f->coef[i] + choice);
    take_next(f, i);
    break;
  default:
    f->version[i] += clarke_sum_update(&f->sum[i], clarke_forms_at(f, i), f->form, f->version, f->dim + 1);
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
