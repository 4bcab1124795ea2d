/* What does not vary becomes numbers: values of instructions, exactly. */
#include "check/program/hold.h"
#include "check/base/allocate.h"

#include <stdlib.h>
#include <string.h>

/* The number that an instruction is; NULL when it is none. */
static const rational *
number(const program *in, size_t at)
{
  const instruction *i = &in->instructions[at];
  return i->kind == A_CONSTANT ? i->c : NULL;
}

static const rational *
argument(const program *in, const instruction *i, size_t k)
{
  return number(in, i->in[k]);
}

/* ---- Values, which are found or not */

static bool
sum_value(const program *in, rational *y, const instruction *i)
{
  for (size_t k = 0; k < i->n; k++)
    add_multiple(y, &i->c[k], argument(in, i, k));
  mpq_canonicalize(y);
  return true;
}

static bool
quotient_value(const program *in, rational *y, const instruction *i)
{
  bool defined = mpq_sgn(argument(in, i, 1)) != 0;
  if (defined)
    mpq_div(y, argument(in, i, 0), argument(in, i, 1));
  return defined;
}

static void
piece_value(rational *y, const pieces *p, size_t k, const rational *x)
{
  mpq_mul(y, &p->piece[k][2], x);
  mpq_add(y, y, &p->piece[k][1]);
  mpq_mul(y, y, x);
  mpq_add(y, y, &p->piece[k][0]);
}

/* At a kink the pieces on both sides must have one value. */
static bool
pointwise_value(const program *in, rational *y, const instruction *i)
{
  const pieces *p = i->pieces;
  const rational *x = argument(in, i, 0);
  size_t k = 0;
  RATIONAL(right);
  if (p->n_kinks == 2 && mpq_cmp(&p->at[0], &p->at[1]) >= 0)
    return false;
  while (k < p->n_kinks && mpq_cmp(x, &p->at[k]) > 0)
    k++;
  if (p->elu && k == 0)
    return mpq_sgn(x) == 0; /* c (exp(0) - 1) */
  piece_value(y, p, k, x);
  if (k == p->n_kinks || !mpq_equal(x, &p->at[k]))
    return true;
  piece_value(&right, p, k + 1, x);
  return mpq_equal(y, &right);
}

static int
compare_downward(const void *a, const void *b)
{
  return mpq_cmp(*(const rational *const *)b, *(const rational *const *)a);
}

static bool
order_value(const program *in, rational *y, const instruction *i)
{
  const rational **x = allocate(i->n, sizeof *x);
  for (size_t k = 0; k < i->n; k++)
    x[k] = argument(in, i, k);
  qsort(x, i->n, sizeof *x, compare_downward);
  mpq_set(y, x[i->rank - 1]);
  free(x);
  return true;
}

/* The arm not taken need be no number. */
static bool
branch_value(const program *in, rational *y, const instruction *i)
{
  int order = mpq_cmp(argument(in, i, 0), argument(in, i, 1));
  const rational *arm = argument(in, i, relation_holds(i->relation, (order > 0) - (order < 0)) ? 2 : 3);
  if (arm != NULL)
    mpq_set(y, arm);
  return arm != NULL;
}

/* Where it is rational: an interval that is one number. */
static bool
analytic_value(const program *in, rational *y, const instruction *i)
{
  interval x = {*argument(in, i, 0), *argument(in, i, 0)};
  int sign = mpq_sgn(&x.lo);
  INTERVAL(value);
  if ((strcmp(i->name, "log") == 0 && sign <= 0) || (strcmp(i->name, "sqrt") == 0 && sign < 0))
    return false;
  in->smooth->series(&value, NULL, i->name, &x, 1);
  mpq_set(y, &value.lo);
  return interval_exact(&value);
}

static bool
norm_value(const program *in, rational *y, const instruction *i)
{
  INTERVAL(squares);
  INTERVAL(root);
  for (size_t k = 0; k < i->n; k++)
    add_multiple(&squares.lo, argument(in, i, k), argument(in, i, k));
  mpq_canonicalize(&squares.lo);
  mpq_set(&squares.hi, &squares.lo);
  in->smooth->series(&root, NULL, "sqrt", &squares, 1);
  mpq_set(y, &root.lo);
  return interval_exact(&root);
}

static bool
value(const program *in, rational *y, const instruction *i)
{
  switch (i->kind) {
  case AN_INPUT: mpq_set(y, i->c); return true;
  case A_SUM: return sum_value(in, y, i);
  case A_PRODUCT: mpq_mul(y, argument(in, i, 0), argument(in, i, 1)); return true;
  case A_QUOTIENT: return quotient_value(in, y, i);
  case AN_ANALYTIC: return analytic_value(in, y, i);
  case A_POINTWISE: return pointwise_value(in, y, i);
  case AN_ORDER: return order_value(in, y, i);
  case A_BRANCH: return branch_value(in, y, i);
  case A_NORM: return norm_value(in, y, i);
  default: return false;
  }
}

/* ---- */

static bool
is_held(const program *in, const instruction *i)
{
  size_t n = i->kind == A_BRANCH ? 2 : i->n;
  bool held = i->kind != AN_INPUT || i->entry == NONE;
  for (size_t k = 0; k < n && held; k++)
    held = argument(in, i, k) != NULL;
  return held;
}

void
hold_constants(program *p)
{
  for (size_t at = 0; at < p->n; at++) {
    instruction *i = &p->instructions[at];
    RATIONAL(y);
    if (!is_held(p, i) || !value(p, &y, i))
      continue;
    limit_size(&y);
    *i = (instruction){.kind = A_CONSTANT, .c = rationals(1), .line = i->line, .entry = NONE};
    mpq_set(i->c, &y);
  }
}
