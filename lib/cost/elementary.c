#include "cost/elementary.h"

/* Additions, multiplications, nonlinear operations, signs: of g; and what its derivative takes beside. */
static clarke_elementary
row(const char *name, size_t arguments, clarke_operations cost, clarke_operations more)
{
  clarke_elementary e = {.name = name, .arguments = arguments, .cost = cost, .joint = cost};

  for (int k = 0; k < CLARKE_N_OPERATIONS; k++)
    e.joint.of[k] += more.of[k];
  return e;
}

#define OF(...) ((clarke_operations){{__VA_ARGS__}})
#define NO_MORE OF(0)

clarke_elementary
clarke_elementary_addition(void)
{
  return row("+", 2, OF(1), NO_MORE);
}

clarke_elementary
clarke_elementary_product(void)
{
  return row("x", 2, OF(0, 1), NO_MORE);
}

clarke_elementary
clarke_elementary_plus_constant(void)
{
  return row("+c", 1, OF(1), NO_MORE);
}

clarke_elementary
clarke_elementary_times_constant(void)
{
  return row("xc", 1, OF(0, 1), NO_MORE);
}

/* The derivative is -g g: a product, and one with -1. */
clarke_elementary
clarke_elementary_inverse(void)
{
  return row("inv", 1, OF(0, 0, 1), OF(0, 2));
}

clarke_elementary
clarke_elementary_times_relu(void)
{
  return row("x relu", 2, OF(0, 1, 0, 1), NO_MORE);
}

clarke_elementary
clarke_elementary_maximum(size_t n)
{
  return row("max", n, OF(0, 0, 0, n - 1), NO_MORE);
}

/* Which entry it is shows while sorting (Case 13). */
clarke_elementary
clarke_elementary_order(size_t n)
{
  size_t comparisons = 0, bits = 0;

  for (size_t sorted = 1; sorted < n; sorted++) {
    while ((size_t)1 << bits < sorted + 1)
      bits++;
    comparisons += bits;
  }
  return row("order", n, OF(0, 0, 0, comparisons), NO_MORE);
}

/* The derivatives are x_i / g: an inverse and n products. */
clarke_elementary
clarke_elementary_norm(size_t n)
{
  return row("norm", n, OF(n - 1, n, 1), OF(0, n, 1));
}

clarke_elementary
clarke_elementary_choice(void)
{
  return row("if", 4, OF(0, 0, 0, 1), NO_MORE);
}

/* --- pieces ----------------------------------------------------------------------------------------- */

static bool
is(const mpq_t q, long n)
{
  return mpq_cmp_si(q, n, 1) == 0;
}

/* c0 + c1 x + c2 x^2 by Horner's rule; a sign goes with an addition, if there is one. */
static clarke_operations
piece_cost(const mpq_t coef[3])
{
  clarke_operations o = {{0}};
  size_t *const add = &o.of[CLARKE_ADDITION], *const multiply = &o.of[CLARKE_MULTIPLICATION];
  const bool c0 = !is(coef[0], 0), c1 = !is(coef[1], 0), c2 = !is(coef[2], 0);

  if (c2) {
    *multiply = 1 + !is(coef[2], 1);
    *add = c1 + c0;
  } else if (c1) {
    *multiply = !is(coef[1], 1) && !(is(coef[1], -1) && c0);
    *add = c0;
  }
  return o;
}

/* 2 c2 x + c1. */
static clarke_operations
slope_cost(const mpq_t coef[3])
{
  clarke_operations o = {{0}};

  if (!is(coef[2], 0)) {
    o.of[CLARKE_MULTIPLICATION] = mpq_cmp_ui(coef[2], 1, 2) != 0;
    o.of[CLARKE_ADDITION] = !is(coef[1], 0);
  }
  return o;
}

static size_t
size_of(const clarke_operations *o)
{
  return o->of[CLARKE_ADDITION] + o->of[CLARKE_MULTIPLICATION];
}

clarke_elementary
clarke_elementary_pieces(const clarke_pieces *p, const char *name, bool slope_varies)
{
  clarke_operations cost = {{0}}, more = {{0}};

  for (size_t k = 0; k <= p->n_kinks; k++) {
    const clarke_operations c = piece_cost(p->coef[k]), s = slope_cost(p->coef[k]);

    if (size_of(&c) > size_of(&cost))
      cost = c;
    if (size_of(&s) > size_of(&more))
      more = s;
  }
  if (p->slope != CLARKE_NONE && size_of(&cost) == 0)
    cost.of[CLARKE_MULTIPLICATION] = 1;
  cost.of[CLARKE_SIGN] = p->n_kinks;
  return row(name, slope_varies ? 2 : 1, cost, more);
}

/* a (exp x - 1): that a exp x is its derivative shows on the way. */
clarke_elementary
clarke_elementary_elu(void)
{
  return row("Elu", 1, OF(1, 1, 1, 1), NO_MORE);
}

/* --- smooth functions --------------------------------------------------------------------------------- */

clarke_elementary
clarke_elementary_analytic(clarke_analytic f)
{
  switch (f) {
  case CLARKE_FN_EXP:
    return row("exp", 1, OF(0, 0, 1), NO_MORE);
  case CLARKE_FN_LOG: /* 1 / x */
    return row("log", 1, OF(0, 0, 1), OF(0, 0, 1));
  case CLARKE_FN_SQRT: /* 1 / (2 g) */
    return row("sqrt", 1, OF(0, 0, 1), OF(0, 1, 1));
  case CLARKE_FN_SIN: /* cos x */
    return row("sin", 1, OF(0, 0, 1), OF(0, 0, 1));
  case CLARKE_FN_COS: /* -sin x */
    return row("cos", 1, OF(0, 0, 1), OF(0, 1, 1));
  case CLARKE_FN_TANH: /* 1 - g g */
    return row("tanh", 1, OF(0, 0, 1), OF(1, 1));
  case CLARKE_FN_ERF: /* 2 / sqrt(pi) exp(-x^2) */
    return row("erf", 1, OF(0, 0, 1), OF(0, 3, 1));
  default: /* sigmoid: g (1 - g) */
    return row("sigmoid", 1, OF(0, 0, 1), OF(1, 1));
  }
}

clarke_elementary
clarke_elementary_function(clarke_function f)
{
  switch (f) {
  case CLARKE_SIGMOID:
    return clarke_elementary_analytic(CLARKE_FN_SIGMOID);
  case CLARKE_TANH:
    return clarke_elementary_analytic(CLARKE_FN_TANH);
  case CLARKE_EXP:
    return clarke_elementary_analytic(CLARKE_FN_EXP);
  case CLARKE_RECIPROCAL:
    return clarke_elementary_inverse();
  case CLARKE_SQRT:
    return clarke_elementary_analytic(CLARKE_FN_SQRT);
  case CLARKE_LOG:
    return clarke_elementary_analytic(CLARKE_FN_LOG);
  case CLARKE_ELU:
    return clarke_elementary_elu();
  case CLARKE_SIN:
    return clarke_elementary_analytic(CLARKE_FN_SIN);
  case CLARKE_COS:
    return clarke_elementary_analytic(CLARKE_FN_COS);
  case CLARKE_ATAN: /* 1 / (1 + x^2) */
    return row("atan", 1, OF(0, 0, 1), OF(0, 2, 1));
  case CLARKE_ERF:
    return clarke_elementary_analytic(CLARKE_FN_ERF);
  case CLARKE_SOFTPLUS: /* sigmoid x */
    return row("softplus", 1, OF(0, 0, 1), OF(0, 0, 1));
  case CLARKE_ABOVE: /* a choice by a sign, as relu */
  case CLARKE_FLOOR:
  case CLARKE_ROUND:
  case CLARKE_TRUNCATE:
  case CLARKE_HELD:
    return row("jump", 1, OF(0, 0, 0, 1), NO_MORE);
  case CLARKE_NORMAL: /* exp(-x^2 / 2) / sqrt(2 pi) */
    return row("normal", 1, OF(0, 0, 1), OF(0, 3, 1));
  default: /* sigmoid(u), u = x (a + b x^2), whose derivative is a + 3 b x^2 */
    return row("normal by tanh", 1, OF(1, 3, 1), OF(2, 3));
  }
}
