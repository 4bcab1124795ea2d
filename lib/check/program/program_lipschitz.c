/* Is a program locally Lipschitz near the point (docs/proof-format.md, "Programs")? All elementary functions are, well
 * inside their domains, which the values say; a branch is where its arms meet whenever its comparands do. Here that is
 * proved, by polynomials of *atoms*: instructions taken as variables, whatever they are. */
#include "check/program/program_lipschitz.h"
#include "check/base/allocate.h"
#include "check/base/limit.h"

#include <stdlib.h>
#include <string.h>

#define MOST_TERMS 300
#define MOST_FACTORS 32
#define SEVERAL (NONE - 1)

typedef struct {
  rational c;
  size_t n, atoms[MOST_FACTORS]; /* decreasing */
} monomial;
typedef struct {
  bool large; /* past a limit: not known */
  size_t n;
  monomial *terms;
} form;

typedef struct {
  const program *prog;
  const near_value *near;
  size_t *varies, held; /* by instruction: the one entry of wrt that it varies with, NONE or SEVERAL */
  form *forms;          /* by instruction; of those in use */
  bool *wanted;
  bool deep;   /* pieces and orders are taken apart, too */
  size_t work; /* that was done */
} lipschitz;

static void
form_clear(form *y)
{
  while (y->n > 0)
    mpq_clear(&y->terms[--y->n].c);
  free(y->terms);
  *y = (form){0};
}

/* Lexicographic: the sign of x - y. */
static int
compare(const monomial *x, const monomial *y)
{
  size_t k = 0;
  while (k < x->n && k < y->n && x->atoms[k] == y->atoms[k])
    k++;
  if (k < x->n && k < y->n)
    return x->atoms[k] > y->atoms[k] ? 1 : -1;
  return x->n > y->n ? 1 : x->n < y->n ? -1 : 0;
}

/* y += c times the monomial x. */
static void
add_monomial(form *y, const rational *c, const monomial *x)
{
  size_t k = 0;
  while (k < y->n && compare(&y->terms[k], x) != 0)
    k++;
  y->large = y->large || k == MOST_TERMS;
  if (y->large || mpq_sgn(c) == 0)
    return;
  if (k == y->n) {
    y->terms = grow(y->terms, k, sizeof *y->terms);
    y->terms[k] = *x;
    y->terms[k].c = rational_zero();
    y->n++;
  }
  mpq_add(&y->terms[k].c, &y->terms[k].c, c);
  limit_size(&y->terms[k].c);
  if (mpq_sgn(&y->terms[k].c) != 0)
    return;
  mpq_clear(&y->terms[k].c);
  y->terms[k] = y->terms[--y->n];
}

static void
add_form(form *y, const rational *c, const form *x)
{
  RATIONAL(t);
  y->large = y->large || x->large;
  for (size_t k = 0; k < x->n && !y->large; k++) {
    mpq_mul(&t, c, &x->terms[k].c);
    add_monomial(y, &t, &x->terms[k]);
  }
}

/* y += c times the monomial x times the form a. */
static void
add_multiple_of(form *y, const rational *c, const monomial *x, const form *a)
{
  RATIONAL(t);
  y->large = y->large || a->large;
  for (size_t k = 0; k < a->n && !y->large; k++) {
    const monomial *b = &a->terms[k];
    monomial m = {.n = 0};
    y->large = x->n + b->n > MOST_FACTORS;
    for (size_t i = 0, j = 0; !y->large && m.n < x->n + b->n;) {
      bool first = j == b->n || (i < x->n && x->atoms[i] >= b->atoms[j]);
      m.atoms[m.n++] = first ? x->atoms[i++] : b->atoms[j++];
    }
    mpq_mul(&t, c, &b->c);
    if (!y->large)
      add_monomial(y, &t, &m);
  }
}

static void
set_constant(form *y, const rational *c)
{
  add_monomial(y, c, &(monomial){.n = 0});
}

/* Does it vary where the entry `held` is as at the point? */
static bool
is_free(lipschitz *l, size_t at)
{
  return l->varies[at] != NONE && l->varies[at] != l->held;
}

/* Is it taken apart, in a form? Then its arguments' are needed. */
static bool
is_open(lipschitz *l, size_t at)
{
  const instruction *i = &l->prog->instructions[at];
  const near_value *of = &l->near[at];
  bool apart = l->deep && of->part != NONE && (i->kind == AN_ORDER || (i->kind == A_POINTWISE && !i->pieces->elu));
  return is_free(l, at)
         && (apart || i->kind == A_SUM || i->kind == A_PRODUCT || i->kind == A_QUOTIENT
             || (i->kind == A_BRANCH && of->arm != BOTH_ARMS));
}

/* y += c times the product of two forms. */
static void
add_product(form *y, const rational *c, const form *a, const form *b)
{
  RATIONAL(t);
  y->large = y->large || a->large || b->large;
  for (size_t k = 0; k < a->n && !y->large; k++) {
    mpq_mul(&t, c, &a->terms[k].c);
    add_multiple_of(y, &t, &a->terms[k], b);
  }
}

/* y of its arguments' forms: c0 + c1 x + c2 x^2 on its piece, or a quotient of nothing or by a number; large: it is none. */
static void
add_piece(form *y, const rational *c, const form *x)
{
  set_constant(y, &c[0]);
  if (mpq_sgn(&c[1]) != 0)
    add_form(y, &c[1], x);
  if (mpq_sgn(&c[2]) != 0)
    add_product(y, &c[2], x, x);
}

static void
add_quotient(form *y, const form *a, const form *b)
{
  RATIONAL(q);
  y->large = a->large || (a->n > 0 && (b->large || b->n != 1 || b->terms->n > 0));
  if (y->large || a->n == 0)
    return;
  mpq_inv(&q, &b->terms->c);
  add_form(y, &q, a);
}

/* Makes what a form is, an instruction's, where the entry `held` is as at the point. */
static void
make_form(lipschitz *l, size_t at)
{
  const instruction *i = &l->prog->instructions[at];
  const near_value *of = &l->near[at];
  form *y = &l->forms[at], *x = i->n > 0 ? &l->forms[i->in[0]] : NULL;
  if (!is_free(l, at) && interval_exact(of->value)) {
    set_constant(y, &of->value->lo);
    return;
  }
  if (!is_open(l, at))
    y->large = true;
  else if (i->kind == A_SUM)
    for (size_t k = 0; k < i->n; k++)
      add_form(y, &i->c[k], &l->forms[i->in[k]]);
  else if (i->kind == A_PRODUCT)
    add_product(y, &plus_one, x, &l->forms[i->in[1]]);
  else if (i->kind == A_QUOTIENT)
    add_quotient(y, x, &l->forms[i->in[1]]);
  else if (i->kind == A_POINTWISE)
    add_piece(y, i->pieces->piece[of->part], x);
  else
    add_form(y, &plus_one, &l->forms[i->kind == AN_ORDER ? of->part : i->in[of->arm == 1 ? 2 : 3]]);
  if (!y->large)
    return;
  form_clear(y);
  add_monomial(y, &plus_one, &(monomial){.n = 1, .atoms = {at}});
}

/* The form of a less b (NONE: of a). */
static form
difference(lipschitz *l, size_t a, size_t b)
{
  size_t top = (b == NONE || a > b ? a : b) + 1;
  form y = {0};
  l->work += top;
  within(LIMIT_BRANCHES, l->work, "too many branches with equal comparands");
  l->wanted[a] = l->wanted[b == NONE ? a : b] = true;
  for (size_t at = top; at-- > 0;)
    for (size_t k = 0; k < l->prog->instructions[at].n && l->wanted[at] && is_open(l, at); k++)
      l->wanted[l->prog->instructions[at].in[k]] =
          l->near[l->prog->instructions[at].in[k]].value != NULL || l->wanted[l->prog->instructions[at].in[k]];
  for (size_t at = 0; at < top; at++)
    if (l->wanted[at] && l->near[at].value != NULL)
      make_form(l, at);
  add_form(&y, &plus_one, &l->forms[a]);
  if (b != NONE)
    add_form(&y, &minus_one, &l->forms[b]);
  for (size_t at = 0; at < top; at++) {
    form_clear(&l->forms[at]);
    l->wanted[at] = false;
  }
  return y;
}

static const monomial *
leading_term(const form *y)
{
  const monomial *most = y->terms;
  for (size_t k = 1; k < y->n; k++)
    most = compare(&y->terms[k], most) > 0 ? &y->terms[k] : most;
  return most;
}

/* m = x / y, without coefficients; false when y does not divide x. */
static bool
divide(monomial *m, const monomial *x, const monomial *y)
{
  size_t j = 0;
  m->n = 0;
  for (size_t i = 0; i < x->n; i++)
    if (j < y->n && x->atoms[i] == y->atoms[j])
      j++;
    else
      m->atoms[m->n++] = x->atoms[i];
  return j == y->n;
}

/* Is x a multiple of y? Division by one polynomial leaves 0 if so. x is used up. */
static bool
is_multiple(form *x, const form *y)
{
  monomial m;
  RATIONAL(c);
  if (y->n == 0 || y->large)
    return false;
  for (size_t steps = 0; x->n > 0 && !x->large && steps < 16 * MOST_TERMS; steps++) {
    const monomial *top = leading_term(x), *by = leading_term(y);
    if (!divide(&m, top, by))
      return false;
    mpq_div(&c, &top->c, &by->c);
    mpq_neg(&c, &c);
    add_multiple_of(x, &c, &m, y);
  }
  return x->n == 0 && !x->large;
}

/* Is the arms' difference zero wherever the comparands' is? */
static bool
arms_meet(lipschitz *l, const size_t *in, size_t held, bool deep)
{
  l->held = held;
  l->deep = deep;
  form arms = difference(l, in[2], in[3]), gap = {0};
  if (l->held == NONE)
    gap = difference(l, in[0], in[1]);
  bool same = !gap.large && gap.n == 0 && l->held == NONE; /* the comparands: one arm is taken all around */
  bool zero_arms = !arms.large && arms.n == 0, meet = same || zero_arms || is_multiple(&arms, &gap);
  form_clear(&arms);
  form_clear(&gap);
  return meet;
}

/* Are the arms of a branch equal wherever the comparands are, near the point? Comparands that vary with one entry are
 * so where it is as at the point, or all along on a side of that, where then one arm is taken. What is taken apart may have
 * too many terms. */
static void
check_branch(lipschitz *l, size_t at, size_t with)
{
  const size_t *in = l->prog->instructions[at].in;
  bool swapped = in[0] == in[3] && in[1] == in[2];
  if (in[2] == in[3] || swapped || (in[0] == in[2] && in[1] == in[3]))
    return;
  size_t held = with == SEVERAL ? NONE : with;
  require(arms_meet(l, in, held, false) || arms_meet(l, in, held, true) || arms_meet(l, in, NONE, true),
          "program line %zu: the arms of this branch do not meet where its comparands do, or cannot be told to: "
          "F may jump, and have no generalized derivative",
          l->prog->instructions[at].line);
}

/* A root of 0: its argument's form is a number. */
static void
check_root(lipschitz *l, size_t at)
{
  const instruction *i = &l->prog->instructions[at];
  l->held = NONE;
  l->deep = true;
  form x = difference(l, *i->in, NONE);
  require(!x.large && (x.n == 0 || (x.n == 1 && x.terms->n == 0)),
          "program line %zu: near a root of 0 F need not be Lipschitz", i->line);
  form_clear(&x);
}

static size_t
join_entries(size_t a, size_t b)
{
  return a == NONE || a == b ? b : b == NONE ? a : SEVERAL;
}

/* Does an instruction depend on its k-th argument, near the point? Of an order's arguments those are apart from it all around that are at
 * the point. */
static bool
depends_on(const near_value *values, const instruction *i, size_t at, size_t k)
{
  const interval *x = values[i->in[k]].value, *y = values[at].value;
  return i->kind != AN_ORDER || (mpq_cmp(&x->lo, &y->hi) <= 0 && mpq_cmp(&y->lo, &x->hi) <= 0);
}

void
check_lipschitz(const program *p, const near_value *values)
{
  lipschitz all = {.prog = p, .near = values}, *l = &all;
  l->varies = allocate(p->n, sizeof *l->varies);
  l->forms = allocate(p->n, sizeof *l->forms);
  l->wanted = allocate(p->n, sizeof *l->wanted);
  for (size_t at = 0; at < p->n; at++) {
    const instruction *i = &p->instructions[at];
    l->varies[at] = i->kind == AN_INPUT ? i->entry : NONE;
    if (l->near[at].value == NULL)
      continue;
    bool fixed = i->kind == A_BRANCH && l->near[at].arm != BOTH_ARMS;
    bool root = i->kind == AN_ANALYTIC && strcmp(i->name, "sqrt") == 0 && interval_zero(values[*i->in].value);
    if (i->kind == A_BRANCH && !fixed)
      check_branch(l, at, join_entries(l->varies[i->in[0]], l->varies[i->in[1]]));
    if (root && l->varies[*i->in] != NONE)
      check_root(l, at);
    for (size_t k = 0; k < i->n && !root && !values[at].constant; k++)
      if ((!fixed || k == (l->near[at].arm == 1 ? 2 : 3)) && depends_on(values, i, at, k))
        l->varies[at] = join_entries(l->varies[at], l->varies[i->in[k]]);
  }
  free(l->varies);
  free(l->forms);
  free(l->wanted);
}
