#include "program/elementary.h"

#include <stdlib.h>

/* Is the kink one, that is, do its slopes differ? */
static bool
is_kink(const clarke_instruction *i, size_t kink)
{
  mpq_t left, right;
  bool differ;

  mpq_inits(left, right, NULL);
  clarke_kink_slopes(left, right, i, kink);
  differ = !mpq_equal(left, right);
  mpq_clears(left, right, NULL);
  return differ;
}

clarke_place_kind
clarke_pointwise_place(size_t *piece, const clarke_instruction *i, const clarke_number *x,
                       long precision)
{
  size_t n = i->kind == CLARKE_DO_ELU ? 1 : i->pieces->n_kinks;
  clarke_number kink;
  int sign = -1;

  clarke_number_init(&kink);
  for (*piece = 0; *piece < n; ++*piece) {
    if (i->kind != CLARKE_DO_ELU)
      clarke_number_set_q(&kink, i->pieces->kink[*piece]);
    sign = clarke_number_compare(x, &kink, precision);
    if (sign != 1)
      break;
  }
  clarke_number_clear(&kink);
  if (*piece == n || sign == -1)
    return CLARKE_PLACE_INSIDE;
  if (sign == 2)
    return CLARKE_PLACE_OPEN;
  return is_kink(i, *piece) ? CLARKE_PLACE_KINK : CLARKE_PLACE_INSIDE;
}

/* How many arguments are above argument k, and how many equal to it; false when one is open. */
static bool
count(size_t *above, size_t *equal, const clarke_instruction *i, size_t k,
      const clarke_number *value, long precision)
{
  *above = *equal = 0;
  for (size_t j = 0; j < i->n_in; j++) {
    int sign = i->in[j] == i->in[k]
                 ? 0
                 : clarke_number_compare(&value[i->in[j]], &value[i->in[k]], precision);

    if (sign == 2)
      return false;
    *above += sign == 1;
    *equal += sign == 0;
  }
  return true;
}

/* An entry that is the largest, or the least, if that can be told; for other ranks, 0. */
static size_t
first_guess(const clarke_instruction *i, const clarke_number *value, long precision)
{
  size_t k = 0;

  for (size_t j = 1; j < i->n_in && (i->rank == 1 || i->rank == i->n_in); j++)
    if (clarke_number_compare(&value[i->in[j]], &value[i->in[k]], precision) ==
        (i->rank == 1 ? 1 : -1))
      k = j;
  return k;
}

bool
clarke_order_place(size_t *tied, size_t *n_tied, size_t *rank_in_tie, const clarke_instruction *i,
                   const clarke_number *value, long precision)
{
  size_t guess = first_guess(i, value, precision);

  for (size_t turn = 0; turn < i->n_in; turn++) {
    size_t above, equal, k = (guess + turn) % i->n_in;

    /* Where some pair of the list cannot be told apart, another entry may still be certain. */
    if (!count(&above, &equal, i, k, value, precision) || above >= i->rank ||
        above + equal < i->rank)
      continue;
    *n_tied = 0;
    *rank_in_tie = i->rank - above;
    for (size_t j = 0; j < i->n_in; j++)
      if (i->in[j] == i->in[k] ||
          clarke_number_compare(&value[i->in[j]], &value[i->in[k]], precision) == 0)
        tied[(*n_tied)++] = j;
    return true;
  }
  return false;
}

int
clarke_branch_place(const clarke_instruction *i, const clarke_number *value, long precision)
{
  return i->in[0] == i->in[1]
           ? 0
           : clarke_number_compare(&value[i->in[0]], &value[i->in[1]], precision);
}

/* alpha (exp(x) - 1) on the left, x on the right. */
static void
elu_value(clarke_number *y, clarke_number *slope, const clarke_instruction *i, size_t piece,
          const clarke_number *x, long precision)
{
  clarke_number alpha, e, one;

  if (piece == 1) {
    clarke_number_set(y, x);
    if (slope != NULL)
      clarke_number_set_si(slope, 1);
    return;
  }
  clarke_number_init(&alpha);
  clarke_number_init(&e);
  clarke_number_init(&one);
  clarke_number_set_q(&alpha, i->coef[0]);
  clarke_number_set_si(&one, 1);
  clarke_number_analytic(&e, NULL, CLARKE_FN_EXP, x, precision);
  if (slope != NULL)
    clarke_number_mul(slope, &alpha, &e, precision);
  clarke_number_sub(&e, &e, &one, precision);
  clarke_number_mul(y, &alpha, &e, precision);
  clarke_number_clear(&alpha);
  clarke_number_clear(&e);
  clarke_number_clear(&one);
}

void
clarke_pointwise_value(clarke_number *y, clarke_number *slope, const clarke_instruction *i,
                       size_t piece, const clarke_number *x, long precision)
{
  clarke_number c, sum;
  mpq_t twice;

  if (i->kind == CLARKE_DO_ELU) {
    elu_value(y, slope, i, piece, x, precision);
    return;
  }
  clarke_number_init(&c);
  clarke_number_init(&sum);
  mpq_init(twice);
  clarke_number_set_q(&sum, i->pieces->coef[piece][2]);
  clarke_number_mul(&sum, &sum, x, precision);
  clarke_number_set_q(&c, i->pieces->coef[piece][1]);
  clarke_number_add(&sum, &sum, &c, precision);
  if (slope != NULL) { /* coef[1] + 2 coef[2] x */
    mpq_add(twice, i->pieces->coef[piece][2], i->pieces->coef[piece][2]);
    clarke_number_set(slope, &c);
    clarke_number_addmul_q(slope, twice, x, precision);
  }
  clarke_number_mul(&sum, &sum, x, precision);
  clarke_number_set_q(&c, i->pieces->coef[piece][0]);
  clarke_number_add(y, &sum, &c, precision);
  clarke_number_clear(&c);
  clarke_number_clear(&sum);
  mpq_clear(twice);
}

void
clarke_kink_slopes(mpq_t left, mpq_t right, const clarke_instruction *i, size_t kink)
{
  if (i->kind == CLARKE_DO_ELU) {
    mpq_set(left, i->coef[0]);
    mpq_set_si(right, 1, 1);
    return;
  }
  clarke_pieces_slope(left, i->pieces, kink, i->pieces->kink[kink]);
  clarke_pieces_slope(right, i->pieces, kink + 1, i->pieces->kink[kink]);
}

static void
linear_value(clarke_number *y, clarke_number *d, const clarke_instruction *i,
             const clarke_number *value, long precision)
{
  clarke_number_set_q(y, i->coef[i->n_in]);
  for (size_t k = 0; k < i->n_in && !clarke_number_is_large(y); k++) {
    clarke_number_addmul_q(y, i->coef[k], &value[i->in[k]], precision);
    if (d != NULL)
      clarke_number_set_q(&d[k], i->coef[k]);
  }
}

static void
product_value(clarke_number *y, clarke_number *d, const clarke_instruction *i,
              const clarke_number *value, long precision)
{
  clarke_number_mul(y, &value[i->in[0]], &value[i->in[1]], precision);
  if (d != NULL) {
    clarke_number_set(&d[0], &value[i->in[1]]);
    clarke_number_set(&d[1], &value[i->in[0]]);
  }
}

static clarke_status
quotient_value(clarke_number *y, clarke_number *d, bool *open, const clarke_code *p, size_t at,
               const clarke_number *value, long precision, clarke_error *err)
{
  const clarke_instruction *i = &p->instruction[at];
  const clarke_number *a = &value[i->in[0]], *b = &value[i->in[1]];
  int sign = clarke_number_sign(b);

  if (sign == 0)
    return clarke_code_fail(p, at, err, "division by zero: the divisor is exactly 0 here");
  *open = sign == 2;
  if (*open)
    return CLARKE_OK;
  clarke_number_div(y, a, b, precision);
  if (d != NULL) { /* 1 / b, - y / b */
    clarke_number_set_si(&d[0], 1);
    clarke_number_div(&d[0], &d[0], b, precision);
    clarke_number_set_si(&d[1], -1);
    clarke_number_mul(&d[1], &d[1], y, precision);
    clarke_number_div(&d[1], &d[1], b, precision);
  }
  return CLARKE_OK;
}

static clarke_status
analytic_value(clarke_number *y, clarke_number *d, bool *open, const clarke_code *p, size_t at,
               const clarke_number *value, long precision, clarke_error *err)
{
  const clarke_instruction *i = &p->instruction[at];
  const clarke_number *x = &value[i->in[0]];

  if (clarke_number_analytic(y, d, i->function, x, precision))
    return CLARKE_OK;
  *open = clarke_number_sign(x) == 2;
  if (*open)
    return CLARKE_OK;
  if (i->function == CLARKE_FN_LOG)
    return clarke_code_fail(p, at, err, "log of a number that is not positive");
  if (clarke_number_sign(x) < 0)
    return clarke_code_fail(p, at, err, "sqrt of a negative number");
  return clarke_code_fail(p, at, err, "the derivative of sqrt at 0 is infinite");
}

bool
clarke_norm_at_zero(const clarke_instruction *i, const clarke_number *value)
{
  for (size_t k = 0; k < i->n_in; k++)
    if (clarke_number_sign(&value[i->in[k]]) != 0)
      return false;
  return true;
}

static void
norm_value(clarke_number *y, clarke_number *d, bool *open, const clarke_instruction *i,
           const clarke_number *value, long precision)
{
  clarke_number sum;

  clarke_number_init(&sum);
  for (size_t k = 0; k < i->n_in && !clarke_number_is_large(&sum); k++)
    clarke_number_addmul(&sum, &value[i->in[k]], &value[i->in[k]], precision);
  *open = clarke_number_sign(&sum) != 1 ||
          !clarke_number_analytic(y, NULL, CLARKE_FN_SQRT, &sum, precision);
  for (size_t k = 0; k < i->n_in && d != NULL && !*open; k++)
    clarke_number_div(&d[k], &value[i->in[k]], y, precision);
  clarke_number_clear(&sum);
}

static clarke_status
smooth_value(clarke_number *y, clarke_number *d, bool *open, const clarke_code *p,
                    size_t at, const clarke_number *value, long precision, clarke_error *err)
{
  const clarke_instruction *i = &p->instruction[at];

  *open = false;
  switch (i->kind) {
  case CLARKE_DO_CONSTANT:
    clarke_number_set_q(y, i->coef[0]);
    return CLARKE_OK;
  case CLARKE_DO_LINEAR:
    linear_value(y, d, i, value, precision);
    return CLARKE_OK;
  case CLARKE_DO_PRODUCT:
    product_value(y, d, i, value, precision);
    return CLARKE_OK;
  case CLARKE_DO_QUOTIENT:
    return quotient_value(y, d, open, p, at, value, precision, err);
  case CLARKE_DO_ANALYTIC:
    return analytic_value(y, d, open, p, at, value, precision, err);
  case CLARKE_DO_NORM:
    norm_value(y, d, open, i, value, precision);
    return CLARKE_OK;
  case CLARKE_DO_INPUT:
  case CLARKE_DO_PIECEWISE:
  case CLARKE_DO_ELU:
  case CLARKE_DO_ORDER:
  case CLARKE_DO_BRANCH:
    break;
  }
  return clarke_fail(err, CLARKE_EINTERNAL, "instruction %zu is not smooth", at);
}

clarke_status
clarke_smooth_value(clarke_number *y, clarke_number *d, bool *open, const clarke_code *p,
                    size_t at, const clarke_number *value, long precision, clarke_error *err)
{
  clarke_status status = smooth_value(y, d, open, p, at, value, precision, err);

  if (status == CLARKE_OK && !*open && clarke_number_is_large(y))
    return clarke_code_past(p, at, err, CLARKE_LIMIT_BITS, "a number of more bits");
  return status;
}
