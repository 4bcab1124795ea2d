/* Affine forms of a program's instructions. */
#include "check/program/forms.h"
#include "check/base/allocate.h"
#include "check/base/limit.h"

#include <string.h>

/* What an instruction's form is made of: of an input a constant and a multiple of its variable; of a sum a multiple of each argument's form; of a pointwise function for each piece
 * a constant and a multiple of the argument's; of a maximum or minimum a multiple of each argument's. */
struct gate {
  bool needed;
  integer denominator, *by, *form;
};

static const instruction *
instruction_at(forms *f, size_t at)
{
  return &f->prog->instructions[at];
}

/* ---- What is refused */

static bool
is_constant(forms *f, size_t at)
{
  return instruction_at(f, at)->kind == A_CONSTANT;
}

/* The factor of a product that varies, where the other is a number; NONE when neither is one. */
static size_t
varying_factor(forms *f, const instruction *i)
{
  return is_constant(f, i->in[1]) ? i->in[0] : is_constant(f, i->in[0]) ? i->in[1] : NONE;
}

static void
value_of_piece(rational *y, const pieces *p, size_t piece, const rational *x)
{
  mpq_mul(y, &p->piece[piece][1], x);
  mpq_add(y, y, &p->piece[piece][0]);
}

/* Pieces of degree 1 that meet at the kinks. */
static bool
is_continuous(const pieces *p)
{
  RATIONAL(left);
  RATIONAL(right);
  bool good = !p->elu;
  for (size_t k = 0; k <= p->n_kinks; k++)
    good = good && mpq_sgn(&p->piece[k][2]) == 0;
  for (size_t k = 0; k < p->n_kinks && good; k++) {
    value_of_piece(&left, p, k, &p->at[k]);
    value_of_piece(&right, p, k + 1, &p->at[k]);
    good = mpq_equal(&left, &right);
  }
  return good && (p->n_kinks < 2 || mpq_cmp(&p->at[0], &p->at[1]) < 0);
}

bool
is_piecewise_polynomial(const program *p, size_t at)
{
  const instruction *i = &p->instructions[at];
  switch (i->kind) {
  case AN_INPUT:
  case A_CONSTANT:
  case A_SUM:
  case A_PRODUCT: return true;
  case A_QUOTIENT: return p->instructions[i->in[1]].kind == A_CONSTANT && mpq_sgn(p->instructions[i->in[1]].c) != 0;
  case A_POINTWISE: return is_continuous(i->pieces);
  case AN_ORDER: return i->rank == 1 || i->rank == i->n;
  default: return false;
  }
}

static bool
is_piecewise_linear(forms *f, size_t at)
{
  const instruction *i = instruction_at(f, at);
  return is_piecewise_polynomial(f->prog, at) && (i->kind != A_PRODUCT || varying_factor(f, i) != NONE);
}

/* ---- Denominators and multiples */

static size_t
n_multiples(const instruction *i)
{
  if (i->kind == A_POINTWISE)
    return 2 * (i->pieces->n_kinks + 1);
  return i->kind == AN_INPUT ? 2 : i->n > 0 ? i->n : 1;
}

static const integer *
denominator_of(forms *f, size_t at)
{
  return &f->gates[at].denominator;
}

/* The common denominator takes in that of q / d. */
static void
widen(integer *common, const rational *q, const integer *d)
{
  INTEGER(t);
  mpz_mul(&t, mpq_denref(q), d);
  mpz_lcm(common, common, &t);
  within(LIMIT_BITS, mpz_sizeinbase(common, 2), "a denominator of more bits");
}

/* y = q common / d, an integer. */
static void
scale(integer *y, const rational *q, const integer *common, const integer *d)
{
  INTEGER(t);
  mpz_mul(&t, mpq_denref(q), d);
  mpz_divexact(y, common, &t);
  mpz_mul(y, y, mpq_numref(q));
}

/* The numbers by which the gate's parts are multiplied, of part k over the denominator *d. */
static void
part_of(forms *f, rational *q, const integer **d, const instruction *i, size_t k)
{
  *d = i->n > 0 ? denominator_of(f, i->in[i->kind == A_POINTWISE ? 0 : k]) : mpq_denref(&plus_one);
  mpq_set(q, &plus_one);
  if (i->kind == A_SUM || i->kind == AN_INPUT || i->kind == A_CONSTANT)
    mpq_set(q, &i->c[k]);
  if (i->kind == A_POINTWISE)
    mpq_set(q, &i->pieces->piece[k / 2][k % 2]);
  if (i->kind == A_POINTWISE && k % 2 == 0)
    *d = mpq_denref(&plus_one);
}

/* The one part of a product or quotient: by which number it multiplies the argument that varies, and over which denominator. */
static void
part_of_multiple(forms *f, rational *q, const integer **d, const instruction *i)
{
  size_t x = i->kind == A_QUOTIENT ? i->in[0] : varying_factor(f, i), c = x == i->in[0] ? i->in[1] : i->in[0];
  mpq_set(q, instruction_at(f, c)->c);
  if (i->kind == A_QUOTIENT)
    mpq_inv(q, q);
  *d = denominator_of(f, x);
}

static bool
is_multiple(const instruction *i)
{
  return i->kind == A_PRODUCT || i->kind == A_QUOTIENT;
}

static void
prepare(forms *f, size_t at)
{
  const instruction *i = instruction_at(f, at);
  gate *g = &f->gates[at];
  size_t n = is_multiple(i) ? 1 : n_multiples(i);
  const integer *d;
  RATIONAL(q);
  mpz_set_ui(&g->denominator, 1);
  g->by = allocate(n, sizeof *g->by);
  for (size_t pass = 0; pass < 2; pass++)
    for (size_t k = 0; k < n && (i->kind != A_SUM || i->n > 0); k++) {
      if (is_multiple(i))
        part_of_multiple(f, &q, &d, i);
      else
        part_of(f, &q, &d, i, k);
      if (pass == 0) {
        g->by[k] = integer_zero();
        widen(&g->denominator, &q, d);
      } else
        scale(&g->by[k], &q, &g->denominator, d);
    }
  g->form = allocate(f->n_variables + 1, sizeof *g->form);
  for (size_t k = 0; k <= f->n_variables; k++)
    g->form[k] = integer_zero();
}

/* An output needs what it is made of. */
static void
mark_needed(forms *f)
{
  for (size_t o = 0; o < f->prog->n_outputs; o++)
    f->gates[f->prog->outputs[o]].needed = true;
  for (size_t at = f->prog->n; at-- > 0;)
    for (size_t k = 0; f->gates[at].needed && k < instruction_at(f, at)->n; k++)
      f->gates[instruction_at(f, at)->in[k]].needed = true;
}

void
forms_begin(forms *f, const program *p, size_t n)
{
  size_t needed = 0;
  f->prog = p;
  f->n_variables = n;
  f->gates = allocate(p->n, sizeof *f->gates);
  mark_needed(f);
  for (size_t at = 0; at < p->n; at++) {
    f->gates[at].denominator = integer_zero();
    if (!f->gates[at].needed)
      continue;
    refuse_if(!is_piecewise_linear(f, at), "instruction %zu of the program is not piecewise linear", at);
    if (instruction_at(f, at)->kind == AN_ORDER)
      within(LIMIT_TIES, instruction_at(f, at)->n, "a maximum of more entries");
    needed++;
    within(LIMIT_GRADIENTS, needed > limit_of(LIMIT_GRADIENTS) / (n + 1) ? NONE : needed * (n + 1),
           "more entries of affine forms");
    prepare(f, at);
  }
}

bool
form_needed(forms *f, size_t at)
{
  return f->gates[at].needed;
}

bool
form_is_kink(forms *f, size_t at, size_t k)
{
  const pieces *p = instruction_at(f, at)->pieces;
  return !mpq_equal(&p->piece[k][0], &p->piece[k + 1][0]) || !mpq_equal(&p->piece[k][1], &p->piece[k + 1][1]);
}

/* ---- Forms */

const integer *
form_of(forms *f, size_t at)
{
  return f->gates[at].form;
}

const integer *
form_denominator(forms *f, size_t at)
{
  return denominator_of(f, at);
}

/* y += c x, entry by entry. */
static void
add_form(forms *f, integer *y, const integer *c, size_t x)
{
  const integer *form = f->gates[x].form;
  for (size_t k = 0; k <= f->n_variables && mpz_sgn(c) != 0; k++)
    if (mpz_sgn(&form[k]) != 0)
      mpz_addmul(&y[k], c, &form[k]);
}

void
form_set(forms *f, size_t at, size_t choice)
{
  const instruction *i = instruction_at(f, at);
  gate *g = &f->gates[at];
  for (size_t k = 0; k <= f->n_variables; k++)
    mpz_set_ui(&g->form[k], 0);
  if (i->kind == AN_INPUT || i->kind == A_CONSTANT)
    mpz_set(&g->form[f->n_variables], &g->by[0]);
  if (i->kind == AN_INPUT && i->entry != NONE)
    mpz_set(&g->form[i->entry], &g->by[1]);
  for (size_t k = 0; k < i->n && i->kind == A_SUM; k++)
    add_form(f, g->form, &g->by[k], i->in[k]);
  if (i->kind == A_POINTWISE) {
    add_form(f, g->form, &g->by[2 * choice + 1], *i->in);
    mpz_add(&g->form[f->n_variables], &g->form[f->n_variables], &g->by[2 * choice]);
  }
  if (i->kind == AN_ORDER)
    add_form(f, g->form, &g->by[choice], i->in[choice]);
  if (is_multiple(i))
    add_form(f, g->form, &g->by[0], i->kind == A_QUOTIENT ? i->in[0] : varying_factor(f, i));
  for (size_t k = 0; k <= f->n_variables; k++)
    within(LIMIT_BITS, mpz_sizeinbase(&g->form[k], 2), "a number of more bits");
}

void
form_less_kink(forms *f, integer *row, size_t at, size_t k)
{
  const instruction *i = instruction_at(f, at);
  const rational *kink = &i->pieces->at[k];
  const integer *form = form_of(f, *i->in);
  for (size_t j = 0; j <= f->n_variables; j++)
    mpz_mul(&row[j], &form[j], mpq_denref(kink));
  mpz_submul(&row[f->n_variables], mpq_numref(kink), denominator_of(f, *i->in));
}

void
form_difference(forms *f, integer *row, size_t at, size_t a, size_t b)
{
  const instruction *i = instruction_at(f, at);
  INTEGER(minus);
  for (size_t j = 0; j <= f->n_variables; j++)
    mpz_set_ui(&row[j], 0);
  size_t more = i->rank == 1 ? a : b, less = i->rank == 1 ? b : a;
  mpz_neg(&minus, &f->gates[at].by[less]);
  add_form(f, row, &f->gates[at].by[more], i->in[more]);
  add_form(f, row, &minus, i->in[less]);
}
