#include "step/piece.h"

#define BITS CLARKE_STEP_PRECISION

/* A piece of a rule is a sum of two products, or a quotient by a root, in any order that PyTorch's programs have: tensor by tensor, foreach,
 * fused; with fused multiplications or not; lerp by either formula. Each result, and each hyperparameter when it is cast, is off by 2^-unit of
 * itself. With u for that:
 *   a y + b x: y is rounded by the cast of a, a product and the sum (3 u); x by two casts, two products and the sum (5 u, and b = 1 - a);
 *   y + b (x - y), b < 1/2: b, the difference and the product are rounded (3 u b (|x| + |y|), where b |y| <= a |y|), and the sum (u): 4 u;
 *   x - (x - y) (1 - b): 1 - b is off by 2 u, the difference and the product by u each, where 1 - b <= 1/2, and the sum: 4 u (|x| + |y|),
 *     and |x| <= 2 |b x|: 8 u of b x and 4 u of y, to which the sum adds 1;
 *   q y / (root / c + eps): the root, its quotient, c, eps, their sum, q, the product, the quotient: 8 u, then the sum with theta.
 * So 12 u of the summands is more than all that, also in the second order (u <= 2^-8): CLARKE_ROUNDINGS. */

void
clarke_piece_widen(clarke_number *y, const mpq_t q, const clarke_number *x)
{
  clarke_number by;

  clarke_number_init(&by);
  clarke_number_addmul_q(&by, q, x, BITS);
  clarke_number_widen(y, &by, BITS);
  clarke_number_clear(&by);
}

void
clarke_piece_larger(clarke_number *y, const clarke_number *a, const clarke_number *b)
{
  const int sign = clarke_number_compare(a, b, BITS);

  if (sign == 2)
    clarke_number_join(y, a, b, BITS);
  else
    clarke_number_set(y, sign >= 0 ? a : b);
}

void
clarke_piece_parts(mpq_t q, unsigned long n, long bits)
{
  mpq_set_ui(q, n, 1);
  mpq_div_2exp(q, q, (mp_bitcnt_t)bits);
}

void
clarke_piece_off(clarke_number *y, unsigned long units, long unit, unsigned long least, long tiny)
{
  clarke_number one;
  mpq_t q;

  mpq_init(q);
  clarke_number_init(&one);
  clarke_number_set_si(&one, 1);
  clarke_piece_parts(q, units, unit);
  clarke_piece_widen(y, q, y);
  clarke_piece_parts(q, least, tiny);
  clarke_piece_widen(y, q, &one);
  clarke_number_clear(&one);
  mpq_clear(q);
}

void
clarke_piece_vanish(clarke_number *y, const clarke_hypers *h)
{
  clarke_piece_off(y, 0, 0, CLARKE_ROUNDINGS, h->rounding.tiny);
}

void
clarke_piece_round(clarke_number *y, const clarke_hypers *h, mpq_srcptr a, const clarke_number *x, mpq_srcptr b, const clarke_number *z)
{
  mpq_t share, q;

  if (h->rounding.unit == 0)
    return;
  mpq_inits(share, q, NULL);
  clarke_piece_parts(share, CLARKE_ROUNDINGS, h->rounding.unit);
  mpq_set(q, share);
  if (a != NULL)
    mpq_mul(q, share, a);
  clarke_piece_widen(y, q, x);
  if (z != NULL) {
    mpq_set(q, share);
    if (b != NULL)
      mpq_mul(q, share, b);
    clarke_piece_widen(y, q, z);
  }
  clarke_piece_vanish(y, h);
  mpq_clears(share, q, NULL);
}

void
clarke_piece_share(clarke_number *y, const clarke_hypers *h, mpq_srcptr size, mpq_srcptr c, const clarke_number *x)
{
  mpq_t q;

  if (h->rounding.unit == 0)
    return;
  mpq_init(q);
  clarke_piece_parts(q, CLARKE_ROUNDINGS, h->rounding.scalar);
  if (size != NULL)
    mpq_mul(q, q, size);
  if (c != NULL)
    mpq_div(q, q, c);
  clarke_piece_widen(y, q, x);
  mpq_clear(q);
}

/* y = a y + b x. As y + b (x - y), or x - (x - y) (1 - b) from b = 1/2 on, y itself is rounded where a may be small. */
void
clarke_piece_mix(clarke_number *y, mpq_srcptr a, mpq_srcptr b, const clarke_number *x, const clarke_hypers *h)
{
  clarke_number sum;

  clarke_number_init(&sum);
  clarke_number_addmul_q(&sum, a, y, BITS);
  clarke_number_addmul_q(&sum, b, x, BITS);
  clarke_piece_round(&sum, h, mpq_cmp_ui(b, 1, 2) < 0 ? a : NULL, y, b, x);
  clarke_number_set(y, &sum);
  clarke_number_clear(&sum);
}

void
clarke_piece_add(clarke_number *y, const mpq_t q, const clarke_number *x, const clarke_hypers *h)
{
  clarke_number sum;

  clarke_number_init(&sum);
  clarke_number_set(&sum, y);
  clarke_number_addmul_q(&sum, q, x, BITS);
  if (mpq_sgn(q) != 0)
    clarke_piece_round(&sum, h, NULL, y, q, x);
  clarke_number_set(y, &sum);
  clarke_number_clear(&sum);
}

void
clarke_piece_descend(clarke_step_entry *e, const mpq_t q, const clarke_number *x, const clarke_hypers *h)
{
  mpq_t minus;

  mpq_init(minus);
  mpq_neg(minus, q);
  clarke_piece_add(&e->theta, minus, x, h);
  mpq_clear(minus);
}

void
clarke_piece_rest(mpq_t q, const mpq_t a)
{
  mpq_t one;

  mpq_init(one);
  mpq_set_ui(one, 1, 1);
  mpq_sub(q, one, a);
  mpq_clear(one);
}

/* q = a^n, from 0 on and below 1, to 500 bits after the point. */
static void
near_power(mpq_t q, const mpq_t a, size_t n)
{
  clarke_number middle;
  fmpq_t exact;

  clarke_number_init(&middle);
  fmpq_init(exact);
  fmpq_set_mpq(exact, a);
  arb_set_fmpq(middle.b, exact, 600);
  arb_pow_ui(middle.b, middle.b, n, 600);
  middle.exact = arf_cmpabs_2exp_si(arb_midref(middle.b), -600) < 0; /* then it is 0 here */
  clarke_number_middle(q, &middle);
  fmpq_clear(exact);
  clarke_number_clear(&middle);
}

/* q = 1 - a^n. Beside floats, which get it to 12 units at best, it is off by less than 2^-400 of itself: of the 12 they need 9. */
void
clarke_piece_rest_of_power(mpq_t q, const mpq_t a, size_t n, const clarke_hypers *h)
{
  if (h->rounding.unit != 0 && n > 8)
    near_power(q, a, n);
  else {
    mpq_set(q, a);
    mpz_pow_ui(mpq_numref(q), mpq_numref(q), n);
    mpz_pow_ui(mpq_denref(q), mpq_denref(q), n);
  }
  clarke_piece_rest(q, q);
}

void
clarke_piece_first_moment(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h)
{
  mpq_t b;

  mpq_init(b);
  clarke_piece_rest(b, h->of[CLARKE_HYPER_MOMENTUM]);
  clarke_piece_mix(&e->slot[CLARKE_SLOT_M], h->of[CLARKE_HYPER_MOMENTUM], b, g, h);
  mpq_clear(b);
}

void
clarke_piece_second_moment(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h)
{
  clarke_number square;
  mpq_t b;

  clarke_number_init(&square);
  mpq_init(b);
  clarke_number_mul(&square, g, g, BITS);
  clarke_piece_rest(b, h->of[CLARKE_HYPER_SIGMA]);
  clarke_piece_mix(&e->slot[CLARKE_SLOT_V], h->of[CLARKE_HYPER_SIGMA], b, &square, h);
  mpq_clear(b);
  clarke_number_clear(&square);
}

bool
clarke_piece_root(clarke_number *root, const clarke_number *v, const mpq_t c, const clarke_hypers *h)
{
  clarke_number eps, share;
  mpq_t inverse;
  bool is = true;

  clarke_number_init(&eps);
  clarke_number_init(&share);
  mpq_init(inverse);
  clarke_number_set_q(&eps, h->of[CLARKE_HYPER_EPS]);
  if (mpq_sgn(c) != 0)
    mpq_inv(inverse, c);
  clarke_number_addmul_q(&share, inverse, v, BITS);
  if (h->place == CLARKE_EPS_INSIDE)
    clarke_number_add(&share, &share, &eps, BITS);
  if (h->place == CLARKE_EPS_INSIDE && h->rounding.unit != 0) /* epsilon may vanish as it is cast */
    clarke_piece_vanish(&share, h);
  if (h->rounding.unit != 0)
    clarke_number_root(root, &share, BITS);
  else
    is = clarke_number_analytic(root, NULL, CLARKE_FN_SQRT, &share, BITS);
  if (h->place != CLARKE_EPS_INSIDE)
    clarke_number_add(root, root, &eps, BITS);
  if (h->rounding.unit != 0)
    clarke_piece_vanish(root, h);
  clarke_number_clear(&eps);
  clarke_number_clear(&share);
  mpq_clear(inverse);
  return is && clarke_number_sign(root) == 1;
}

/* What rounds a quotient by a root: six roundings of its own, the number c; and a product with the step size that is so small that it
 * vanishes before it is divided. */
static void
round_quotient(clarke_number *y, const clarke_number *root, const mpq_t c, const clarke_hypers *h)
{
  const mpq_t *const step = &h->of[CLARKE_HYPER_STEP];
  clarke_number inverse, quotient;
  mpq_t q, one;

  if (h->rounding.unit == 0)
    return;
  mpq_inits(q, one, NULL);
  clarke_number_init(&inverse);
  clarke_number_init(&quotient);
  mpq_set_ui(one, 1, 1);
  clarke_number_set(&quotient, y);
  clarke_piece_round(y, h, NULL, &quotient, NULL, NULL);
  clarke_piece_share(y, h, NULL, c, &quotient);
  clarke_number_set_q(&inverse, one);
  clarke_number_div(&inverse, &inverse, root, BITS);
  clarke_piece_parts(q, CLARKE_ROUNDINGS, h->rounding.tiny);
  clarke_piece_widen(y, q, &inverse);
  if (mpq_sgn(*step) != 0)
    mpq_div(q, q, *step);
  clarke_piece_widen(y, q, &inverse);
  clarke_number_clear(&inverse);
  clarke_number_clear(&quotient);
  mpq_clears(q, one, NULL);
}

void
clarke_piece_divide(clarke_number *y, const clarke_number *x, const clarke_number *below, const mpq_t c, const clarke_hypers *h)
{
  clarke_number_div(y, x, below, BITS);
  round_quotient(y, below, c, h);
}

clarke_status
clarke_piece_precondition(clarke_number *y, const clarke_number *x, const clarke_step_entry *e, const mpq_t c, const clarke_hypers *h,
             clarke_error *err)
{
  clarke_number root;
  bool is;

  clarke_number_set(y, x);
  if (h->preconditioned || clarke_number_sign(x) == 0)
    return CLARKE_OK;
  clarke_number_init(&root);
  is = clarke_piece_root(&root, &e->slot[CLARKE_SLOT_V], c, h);
  if (is)
    clarke_piece_divide(y, x, &root, c, h);
  clarke_number_clear(&root);
  return is ? CLARKE_OK
            : clarke_fail(err, h->rounding.unit == 0 ? CLARKE_EINPUT : CLARKE_EVAGUE,
                          "the root of v is not known to be above 0: v is negative, or 0 and eps is 0");
}

void
clarke_piece_decay(clarke_step_entry *e, clarke_number *d, const clarke_number *g, const clarke_hypers *h)
{
  mpq_t q;

  clarke_number_set(d, g);
  if (mpq_sgn(h->of[CLARKE_HYPER_DECAY]) == 0)
    return;
  if (h->decay == CLARKE_DECAY_COUPLED) {
    clarke_piece_add(d, h->of[CLARKE_HYPER_DECAY], &e->theta, h);
    return;
  }
  mpq_init(q);
  mpq_mul(q, h->of[CLARKE_HYPER_DECAY], h->of[CLARKE_HYPER_STEP]);
  clarke_piece_descend(e, q, &e->theta, h);
  mpq_clear(q);
}

void
clarke_piece_shorten(clarke_number *x)
{
  clarke_number least;
  mpq_t q;

  if (!clarke_number_is_large(x))
    return;
  mpq_init(q);
  clarke_number_init(&least);
  clarke_piece_parts(q, 1, 2 * CLARKE_STEP_PRECISION);
  clarke_number_set_q(&least, q);
  clarke_number_widen(x, &least, CLARKE_STEP_PRECISION);
  clarke_number_clear(&least);
  mpq_clear(q);
}
