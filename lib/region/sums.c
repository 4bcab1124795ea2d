/* Sums of forms (sums.h). */
#include "region/sums.h"

#include "region/denominator.h"

#include <flint/fmpz_vec.h>
#include <stdlib.h>
#include <string.h>

#define MOST_HELD ((size_t)1 << 22) /* entries of all sums: 32 MiB, as long as they are small */

/* --- terms ----------------------------------------------------------------------------------- */

static void
terms_clear(clarke_terms *t)
{
  clarke_rationals_free(t->coef, t->room);
  free(t->in);
  if (t->made)
    mpq_clear(t->constant);
  memset(t, 0, sizeof *t);
}

static clarke_status
terms_init(clarke_terms *t, size_t room, clarke_error *err)
{
  memset(t, 0, sizeof *t);
  mpq_init(t->constant);
  t->made = true;
  t->in = malloc((room + 1) * sizeof *t->in);
  t->coef = clarke_rationals(room + 1);
  t->room = t->coef != NULL ? room + 1 : 0;
  return t->in != NULL && t->coef != NULL ? CLARKE_OK : clarke_no_memory(err);
}

/* Room for so many more. */
static clarke_status
terms_grow(clarke_terms *t, size_t more, clarke_error *err)
{
  clarke_terms grown;
  clarke_status status;

  if (t->n + more <= t->room)
    return CLARKE_OK;
  status = terms_init(&grown, 2 * (t->n + more), err);
  if (status == CLARKE_OK) {
    memcpy(grown.in, t->in, t->n * sizeof *t->in);
    for (size_t k = 0; k < t->n; k++)
      mpq_swap(grown.coef[k], t->coef[k]);
    mpq_swap(grown.constant, t->constant);
    grown.n = t->n;
    terms_clear(t);
    *t = grown;
  } else
    terms_clear(&grown);
  return status;
}

static clarke_status
terms_add(clarke_terms *t, size_t in, const mpq_t q, clarke_error *err)
{
  clarke_status status = mpq_sgn(q) != 0 ? terms_grow(t, 1, err) : CLARKE_OK;

  if (status == CLARKE_OK && mpq_sgn(q) != 0) {
    t->in[t->n] = in;
    mpq_set(t->coef[t->n++], q);
  }
  return status;
}

/* t += q * from, which is cleared. The longer list is kept, so that long chains stay cheap. */
static clarke_status
terms_join(clarke_terms *t, clarke_terms *from, const mpq_t q, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  if (mpq_cmp_ui(q, 1, 1) != 0) {
    for (size_t k = 0; k < from->n; k++)
      mpq_mul(from->coef[k], from->coef[k], q);
    mpq_mul(from->constant, from->constant, q);
  }
  if (from->n > t->n) {
    const clarke_terms old = *t;

    *t = *from;
    *from = old;
  }
  for (size_t k = 0; k < from->n && status == CLARKE_OK; k++)
    status = terms_add(t, from->in[k], from->coef[k], err);
  mpq_add(t->constant, t->constant, from->constant);
  terms_clear(from);
  return status;
}

/* --- what is affine -------------------------------------------------------------------------- */

static bool
is_constant(const clarke_code *p, size_t instruction)
{
  return p->instruction[instruction].kind == CLARKE_DO_CONSTANT;
}

size_t
clarke_varying_factor(const clarke_code *p, const clarke_instruction *i)
{
  if (i->kind == CLARKE_DO_QUOTIENT)
    return is_constant(p, i->in[1]) ? 0 : 2;
  return is_constant(p, i->in[1]) ? 0 : is_constant(p, i->in[0]) ? 1 : 2;
}

static bool
is_affine(const clarke_code *p, const clarke_instruction *i)
{
  return i->kind == CLARKE_DO_LINEAR
         || ((i->kind == CLARKE_DO_PRODUCT || i->kind == CLARKE_DO_QUOTIENT) && clarke_varying_factor(p, i) < 2);
}

/* --- making ---------------------------------------------------------------------------------- */

/* Marks affine instructions whose only use is one of another affine instruction. */
static clarke_status
mark_joined(clarke_sums *s, const bool *needed, clarke_error *err)
{
  const clarke_code *p = s->p;
  unsigned char *uses = calloc(p->n + 1, 1); /* 2: by an affine one alone; 1: of another kind, or several */

  if (uses == NULL)
    return clarke_no_memory(err);
  for (size_t o = 0; o < p->n_outputs; o++)
    uses[p->output[o]] = 1;
  for (size_t i = 0; i < p->n; i++) {
    const clarke_instruction *at = &p->instruction[i];

    for (size_t j = 0; needed[i] && j < at->n_in; j++)
      uses[at->in[j]] = uses[at->in[j]] == 0 && is_affine(p, at) ? 2 : 1;
  }
  for (size_t i = 0; i < p->n; i++)
    s->joined[i] = needed[i] && uses[i] == 2 && is_affine(p, &p->instruction[i]);
  free(uses);
  return CLARKE_OK;
}

clarke_status
clarke_sums_init(clarke_sums *s, const clarke_code *p, const bool *needed, size_t width, clarke_error *err)
{
  memset(s, 0, sizeof *s);
  s->p = p;
  s->width = width;
  s->left = MOST_HELD;
  s->joined = calloc(p->n + 1, sizeof *s->joined);
  s->terms = calloc(p->n + 1, sizeof *s->terms);
  if (s->joined == NULL || s->terms == NULL)
    return clarke_no_memory(err);
  return mark_joined(s, needed, err);
}

void
clarke_sums_clear(clarke_sums *s)
{
  for (size_t i = 0; s->terms != NULL && i < s->p->n; i++)
    terms_clear(&s->terms[i]);
  free(s->terms);
  free(s->joined);
  memset(s, 0, sizeof *s);
}

/* t += q * the form of an instruction. */
static clarke_status
take_in(clarke_terms *t, clarke_sums *s, size_t in, const mpq_t q, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  mpq_t part;

  if (s->joined[in])
    return terms_join(t, &s->terms[in], q, err);
  if (!is_constant(s->p, in))
    return terms_add(t, in, q, err);
  mpq_init(part);
  mpq_mul(part, q, s->p->instruction[in].coef[0]);
  mpq_add(t->constant, t->constant, part);
  mpq_clear(part);
  return status;
}

static clarke_status
gather(clarke_terms *t, clarke_sums *s, size_t i, clarke_error *err)
{
  const clarke_instruction *at = &s->p->instruction[i];
  const size_t x = at->kind == CLARKE_DO_LINEAR ? 0 : clarke_varying_factor(s->p, at);
  mpq_t q;
  clarke_status status = terms_init(t, at->n_in, err);

  for (size_t j = 0; at->kind == CLARKE_DO_LINEAR && j < at->n_in && status == CLARKE_OK; j++)
    status = take_in(t, s, at->in[j], at->coef[j], err);
  if (status == CLARKE_OK && at->kind == CLARKE_DO_LINEAR)
    mpq_add(t->constant, t->constant, at->coef[at->n_in]);
  if (status != CLARKE_OK || at->kind == CLARKE_DO_LINEAR)
    return status;
  mpq_init(q);
  mpq_set(q, s->p->instruction[at->in[1 - x]].coef[0]);
  if (at->kind == CLARKE_DO_QUOTIENT && mpq_sgn(q) == 0)
    status = clarke_code_fail(s->p, i, err, "a division by zero");
  else if (at->kind == CLARKE_DO_QUOTIENT)
    mpq_inv(q, q);
  if (status == CLARKE_OK)
    status = take_in(t, s, at->in[x], q, err);
  mpq_clear(q);
  return status;
}

/* The terms over a common denominator, which becomes den[i]. */
static clarke_status
set_sum(clarke_sum *to, clarke_sums *s, const clarke_terms *t, fmpz *den, size_t i, clarke_error *err)
{
  fmpz_t one;

  to->in = malloc((t->n + 1) * sizeof *to->in);
  if (to->in == NULL)
    return clarke_no_memory(err);
  memcpy(to->in, t->in, t->n * sizeof *to->in);
  to->n = t->n;
  to->coef = _fmpz_vec_init((slong)t->n + 1);
  fmpz_init_set_ui(one, 1);
  fmpz_one(den + i);
  clarke_denominator_widen(den + i, t->constant, one);
  for (size_t k = 0; k < t->n; k++)
    clarke_denominator_widen(den + i, t->coef[k], den + t->in[k]);
  for (size_t k = 0; k < t->n; k++)
    clarke_denominator_scale(to->coef + k, t->coef[k], den + i, den + t->in[k]);
  clarke_denominator_scale(to->coef + t->n, t->constant, den + i, one);
  fmpz_clear(one);
  if (t->n * s->width > s->left)
    return CLARKE_OK;
  s->left -= t->n * s->width;
  to->held = _fmpz_vec_init((slong)(t->n * s->width) + 1);
  to->seen = calloc(t->n + 1, sizeof *to->seen);
  return to->seen != NULL ? CLARKE_OK : clarke_no_memory(err);
}

clarke_status
clarke_sums_make(clarke_sum *to, clarke_sums *s, fmpz *den, fmpz *form, size_t i, clarke_error *err)
{
  clarke_terms *t = &s->terms[i];
  clarke_status status = gather(t, s, i, err);

  if (status != CLARKE_OK || s->joined[i])
    return status;
  status = set_sum(to, s, t, den, i, err);
  terms_clear(t);
  if (status == CLARKE_OK)
    fmpz_set(form + s->width - 1, to->coef + to->n);
  return status;
}

void
clarke_sum_clear(clarke_sum *s, size_t width)
{
  if (s->coef != NULL)
    _fmpz_vec_clear(s->coef, (slong)s->n + 1);
  if (s->held != NULL)
    _fmpz_vec_clear(s->held, (slong)(s->n * width) + 1);
  free(s->in);
  free(s->seen);
  memset(s, 0, sizeof *s);
}

clarke_status
clarke_sum_share(clarke_sum *to, const clarke_sum *from, size_t width, clarke_error *err)
{
  *to = *from;
  to->seen = NULL;
  to->held = NULL;
  if (from->seen == NULL)
    return CLARKE_OK;
  to->held = _fmpz_vec_init((slong)(from->n * width) + 1);
  _fmpz_vec_set(to->held, from->held, (slong)(from->n * width));
  to->seen = malloc((from->n + 1) * sizeof *to->seen);
  if (to->seen == NULL)
    return clarke_no_memory(err);
  memcpy(to->seen, from->seen, from->n * sizeof *to->seen);
  return CLARKE_OK;
}

void
clarke_sum_unshare(clarke_sum *s, size_t width)
{
  if (s->held != NULL)
    _fmpz_vec_clear(s->held, (slong)(s->n * width) + 1);
  free(s->seen);
  memset(s, 0, sizeof *s);
}

/* --- keeping --------------------------------------------------------------------------------- */

/* form += coef * (now - held), and held = now. */
static void
replace(fmpz *form, const fmpz *coef, const fmpz *now, fmpz *held, size_t width)
{
  for (size_t j = 0; j < width; j++) {
    if (fmpz_equal(held + j, now + j))
      continue;
    fmpz_sub(held + j, now + j, held + j);
    fmpz_addmul(form + j, coef, held + j);
    fmpz_set(held + j, now + j);
  }
}

bool
clarke_sum_update(clarke_sum *s, fmpz *form, const fmpz *forms, const uint64_t *version, size_t width)
{
  bool changed = s->seen == NULL;

  if (s->seen == NULL) {
    _fmpz_vec_zero(form, (slong)width);
    fmpz_set(form + width - 1, s->coef + s->n);
  }
  for (size_t k = 0; k < s->n; k++) {
    const fmpz *now = forms + s->in[k] * width;

    if (s->seen == NULL)
      _fmpz_vec_scalar_addmul_fmpz(form, now, (slong)width, s->coef + k);
    else if (s->seen[k] != version[s->in[k]]) {
      replace(form, s->coef + k, now, s->held + k * width, width);
      s->seen[k] = version[s->in[k]];
      changed = true;
    }
  }
  return changed;
}
