#include "step/rule.h"

#include "exact/literal.h"

#include <string.h>

#define BITS CLARKE_STEP_PRECISION

const char *const clarke_slot_names[CLARKE_N_SLOTS] = {"psi", "m", "v"};

static const char *const hyper_names[CLARKE_N_HYPERS] = {
  [CLARKE_HYPER_ALPHA] = "alpha", [CLARKE_HYPER_BETA] = "beta", [CLARKE_HYPER_STEP] = "eta", [CLARKE_HYPER_SIGMA] = "sigma",
  [CLARKE_HYPER_MOMENTUM] = "momentum", [CLARKE_HYPER_EPS] = "eps", [CLARKE_HYPER_DECAY] = "weight-decay",
  [CLARKE_HYPER_DAMPENING] = "dampening", [CLARKE_HYPER_MOMENTUM_DECAY] = "momentum-decay",
};

const char *
clarke_hyper_name(clarke_hyper h)
{
  return hyper_names[h];
}

void
clarke_hypers_init(clarke_hypers *h)
{
  memset(h, 0, sizeof *h);
  for (int i = 0; i < CLARKE_N_HYPERS; i++)
    mpq_init(h->of[i]);
}

void
clarke_hypers_clear(clarke_hypers *h)
{
  for (int i = 0; i < CLARKE_N_HYPERS; i++)
    mpq_clear(h->of[i]);
}

void
clarke_step_entry_init(clarke_step_entry *e)
{
  clarke_number_init(&e->theta);
  for (int s = 0; s < CLARKE_N_SLOTS; s++)
    clarke_number_init(&e->slot[s]);
}

void
clarke_step_entry_clear(clarke_step_entry *e)
{
  clarke_number_clear(&e->theta);
  for (int s = 0; s < CLARKE_N_SLOTS; s++)
    clarke_number_clear(&e->slot[s]);
}

/* --- pieces of rules ------------------------------------------------------------------------------------- */

/* A piece of a rule is a sum of two products, or a quotient by a root, in any order that PyTorch's programs have: tensor by tensor, foreach,
 * fused; with fused multiplications or not; lerp by either formula. Each result, and each hyperparameter when it is cast, is off by 2^-unit of
 * itself. With u for that:
 *   a y + b x: y is rounded by the cast of a, a product and the sum (3 u); x by two casts, two products and the sum (5 u, and b = 1 - a);
 *   y + b (x - y), b < 1/2: b, the difference and the product are rounded (3 u b (|x| + |y|), where b |y| <= a |y|), and the sum (u): 4 u;
 *   x - (x - y) (1 - b): 1 - b is off by 2 u, the difference and the product by u each, where 1 - b <= 1/2, and the sum: 4 u (|x| + |y|),
 *     and |x| <= 2 |b x|: 8 u of b x and 4 u of y, to which the sum adds 1;
 *   q y / (root / c + eps): the root, its quotient, c, eps, their sum, q, the product, the quotient: 8 u, then the sum with theta.
 * So 12 u of the summands is more than all that, also in the second order (u <= 2^-8). */
#define ROUNDINGS 12

/* y holds all that is at most q |x| away, too. */
static void
widen(clarke_number *y, const mpq_t q, const clarke_number *x)
{
  clarke_number by;

  clarke_number_init(&by);
  clarke_number_addmul_q(&by, q, x, BITS);
  clarke_number_widen(y, &by, BITS);
  clarke_number_clear(&by);
}

/* q = n 2^-bits. */
static void
parts(mpq_t q, unsigned long n, long bits)
{
  mpq_set_ui(q, n, 1);
  mpq_div_2exp(q, q, (mp_bitcnt_t)bits);
}

/* y as it may be where results that are too small vanish. */
static void
vanish(clarke_number *y, const clarke_hypers *h)
{
  clarke_number one;
  mpq_t q;

  mpq_init(q);
  clarke_number_init(&one);
  clarke_number_set_si(&one, 1);
  parts(q, ROUNDINGS, h->rounding.tiny);
  widen(y, q, &one);
  clarke_number_clear(&one);
  mpq_clear(q);
}

/* y as a float may have it: a sum, whose summands are a x and b z (NULL: none, or one of weight 1). */
static void
rounded(clarke_number *y, const clarke_hypers *h, mpq_srcptr a, const clarke_number *x, mpq_srcptr b, const clarke_number *z)
{
  mpq_t share, q;

  if (h->rounding.unit == 0)
    return;
  mpq_inits(share, q, NULL);
  parts(share, ROUNDINGS, h->rounding.unit);
  mpq_set(q, share);
  if (a != NULL)
    mpq_mul(q, share, a);
  widen(y, q, x);
  if (z != NULL) {
    mpq_set(q, share);
    if (b != NULL)
      mpq_mul(q, share, b);
    widen(y, q, z);
  }
  vanish(y, h);
  mpq_clears(share, q, NULL);
}

/* y as it may be where a number that all entries share is off: by 2^-scalar of one, and the number is c, or made of
 * summands as large as `size` (NULL: 1). */
static void
shared(clarke_number *y, const clarke_hypers *h, mpq_srcptr size, mpq_srcptr c, const clarke_number *x)
{
  mpq_t q;

  if (h->rounding.unit == 0)
    return;
  mpq_init(q);
  parts(q, ROUNDINGS, h->rounding.scalar);
  if (size != NULL)
    mpq_mul(q, q, size);
  if (c != NULL)
    mpq_div(q, q, c);
  widen(y, q, x);
  mpq_clear(q);
}

/* y = a y + b x. As y + b (x - y), or x - (x - y) (1 - b) from b = 1/2 on, y itself is rounded where a may be small. */
static void
mix(clarke_number *y, mpq_srcptr a, mpq_srcptr b, const clarke_number *x, const clarke_hypers *h)
{
  clarke_number sum;

  clarke_number_init(&sum);
  clarke_number_addmul_q(&sum, a, y, BITS);
  clarke_number_addmul_q(&sum, b, x, BITS);
  rounded(&sum, h, mpq_cmp_ui(b, 1, 2) < 0 ? a : NULL, y, b, x);
  clarke_number_set(y, &sum);
  clarke_number_clear(&sum);
}

/* y += q x. */
static void
add(clarke_number *y, const mpq_t q, const clarke_number *x, const clarke_hypers *h)
{
  clarke_number sum;

  clarke_number_init(&sum);
  clarke_number_set(&sum, y);
  clarke_number_addmul_q(&sum, q, x, BITS);
  if (mpq_sgn(q) != 0)
    rounded(&sum, h, NULL, y, q, x);
  clarke_number_set(y, &sum);
  clarke_number_clear(&sum);
}

/* theta -= q x. */
static void
descend(clarke_step_entry *e, const mpq_t q, const clarke_number *x, const clarke_hypers *h)
{
  mpq_t minus;

  mpq_init(minus);
  mpq_neg(minus, q);
  add(&e->theta, minus, x, h);
  mpq_clear(minus);
}

/* q = 1 - a; q may be a. */
static void
rest(mpq_t q, const mpq_t a)
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
static void
rest_of_power(mpq_t q, const mpq_t a, size_t n, const clarke_hypers *h)
{
  if (h->rounding.unit != 0 && n > 8)
    near_power(q, a, n);
  else {
    mpq_set(q, a);
    mpz_pow_ui(mpq_numref(q), mpq_numref(q), n);
    mpz_pow_ui(mpq_denref(q), mpq_denref(q), n);
  }
  rest(q, q);
}

/* v = sigma v + (1 - sigma) g g. */
static void
second_moment(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h)
{
  clarke_number square;
  mpq_t b;

  clarke_number_init(&square);
  mpq_init(b);
  clarke_number_mul(&square, g, g, BITS);
  rest(b, h->of[CLARKE_HYPER_SIGMA]);
  mix(&e->slot[CLARKE_SLOT_V], h->of[CLARKE_HYPER_SIGMA], b, &square, h);
  mpq_clear(b);
  clarke_number_clear(&square);
}

/* The root of v / c, with epsilon. In floats v is not below 0, so that its ball may be cut there. */
static bool
root_of(clarke_number *root, const clarke_number *v, const mpq_t c, const clarke_hypers *h)
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
  if (h->rounding.unit != 0)
    clarke_number_root(root, &share, BITS);
  else
    is = clarke_number_analytic(root, NULL, CLARKE_FN_SQRT, &share, BITS);
  if (h->place != CLARKE_EPS_INSIDE)
    clarke_number_add(root, root, &eps, BITS);
  if (h->rounding.unit != 0)
    vanish(root, h);
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
  rounded(y, h, NULL, &quotient, NULL, NULL);
  shared(y, h, NULL, c, &quotient);
  clarke_number_set_q(&inverse, one);
  clarke_number_div(&inverse, &inverse, root, BITS);
  parts(q, ROUNDINGS, h->rounding.tiny);
  widen(y, q, &inverse);
  if (mpq_sgn(*step) != 0)
    mpq_div(q, q, *step);
  widen(y, q, &inverse);
  clarke_number_clear(&inverse);
  clarke_number_clear(&quotient);
  mpq_clears(q, one, NULL);
}

/* x / (the root of v / c, with epsilon); x itself where gradients are preconditioned, or x is 0. */
static clarke_status
precondition(clarke_number *y, const clarke_number *x, const clarke_step_entry *e, const mpq_t c, const clarke_hypers *h,
             clarke_error *err)
{
  clarke_number root;
  bool is;

  clarke_number_set(y, x);
  if (h->preconditioned || clarke_number_sign(x) == 0)
    return CLARKE_OK;
  clarke_number_init(&root);
  is = root_of(&root, &e->slot[CLARKE_SLOT_V], c, h);
  if (is) {
    clarke_number_div(y, x, &root, BITS);
    round_quotient(y, &root, c, h);
  }
  clarke_number_clear(&root);
  return is ? CLARKE_OK
            : clarke_fail(err, h->rounding.unit == 0 ? CLARKE_EINPUT : CLARKE_EVAGUE,
                          "the root of v is not known to be above 0: v is negative, or 0 and eps is 0");
}

/* Coupled decay is part of the gradient; decoupled decay comes before the step. */
static void
decay(clarke_step_entry *e, clarke_number *d, const clarke_number *g, const clarke_hypers *h)
{
  mpq_t q;

  clarke_number_set(d, g);
  if (mpq_sgn(h->of[CLARKE_HYPER_DECAY]) == 0)
    return;
  if (h->decay == CLARKE_DECAY_COUPLED) {
    add(d, h->of[CLARKE_HYPER_DECAY], &e->theta, h);
    return;
  }
  mpq_init(q);
  mpq_mul(q, h->of[CLARKE_HYPER_DECAY], h->of[CLARKE_HYPER_STEP]);
  descend(e, q, &e->theta, h);
  mpq_clear(q);
}

/* --- first moments ---------------------------------------------------------------------------------------- */

static clarke_status
step_sgd(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  (void)k;
  (void)err;
  descend(e, h->of[CLARKE_HYPER_STEP], g, h);
  return CLARKE_OK;
}

/* (1.10), (1.11) */
static clarke_status
step_momentum(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  mpq_t b;

  (void)k;
  (void)err;
  mpq_init(b);
  rest(b, h->of[CLARKE_HYPER_MOMENTUM]);
  mix(&e->slot[CLARKE_SLOT_M], h->of[CLARKE_HYPER_MOMENTUM], b, g, h);
  descend(e, h->of[CLARKE_HYPER_STEP], &e->slot[CLARKE_SLOT_M], h);
  mpq_clear(b);
  return CLARKE_OK;
}

/* The buffer's first value is the gradient, whatever the dampening. */
static clarke_status
step_torch_sgd(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  clarke_number *const m = &e->slot[CLARKE_SLOT_M], d;
  mpq_t b;

  (void)err;
  mpq_init(b);
  clarke_number_init(&d);
  rest(b, h->of[CLARKE_HYPER_DAMPENING]);
  if (k == 0)
    clarke_number_set(m, g);
  else
    mix(m, h->of[CLARKE_HYPER_MOMENTUM], b, g, h);
  clarke_number_set(&d, h->nesterov ? g : m);
  if (h->nesterov)
    add(&d, h->of[CLARKE_HYPER_MOMENTUM], m, h);
  descend(e, h->of[CLARKE_HYPER_STEP], mpq_sgn(h->of[CLARKE_HYPER_MOMENTUM]) == 0 ? g : &d, h);
  clarke_number_clear(&d);
  mpq_clear(b);
  return CLARKE_OK;
}

/* (1.12), (1.13): the gradient is the one at theta + mu_k m_k, mu_k = k / (k + 3) unless momentum is given. */
static clarke_status
step_nag(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  mpq_t mu, minus, one;

  (void)err;
  mpq_inits(mu, minus, one, NULL);
  mpq_set_ui(one, 1, 1);
  mpq_set_ui(mu, k, k + 3);
  mpq_canonicalize(mu);
  mpq_neg(minus, h->of[CLARKE_HYPER_STEP]);
  mix(&e->slot[CLARKE_SLOT_M], h->given[CLARKE_HYPER_MOMENTUM] ? h->of[CLARKE_HYPER_MOMENTUM] : mu, minus, g, h);
  add(&e->theta, one, &e->slot[CLARKE_SLOT_M], h);
  mpq_clears(mu, minus, one, NULL);
  return CLARKE_OK;
}

/* --- second moments --------------------------------------------------------------------------------------- */

static clarke_status
step_adagrad(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  clarke_number y;
  clarke_status status;
  mpq_t one;

  (void)k;
  mpq_init(one);
  mpq_set_ui(one, 1, 1);
  clarke_number_init(&y);
  clarke_number_mul(&y, g, g, BITS);
  add(&e->slot[CLARKE_SLOT_V], one, &y, h);
  status = precondition(&y, g, e, one, h, err);
  descend(e, h->of[CLARKE_HYPER_STEP], &y, h);
  clarke_number_clear(&y);
  mpq_clear(one);
  return status;
}

static clarke_status
step_rmsprop(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  clarke_number y;
  clarke_status status;
  mpq_t one;

  (void)k;
  mpq_init(one);
  mpq_set_ui(one, 1, 1);
  clarke_number_init(&y);
  second_moment(e, g, h);
  status = precondition(&y, g, e, one, h, err);
  mix(&e->slot[CLARKE_SLOT_M], h->of[CLARKE_HYPER_MOMENTUM], one, &y, h);
  descend(e, h->of[CLARKE_HYPER_STEP], &e->slot[CLARKE_SLOT_M], h);
  clarke_number_clear(&y);
  mpq_clear(one);
  return status;
}

static void
both_moments(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h)
{
  mpq_t b;

  mpq_init(b);
  rest(b, h->of[CLARKE_HYPER_MOMENTUM]);
  mix(&e->slot[CLARKE_SLOT_M], h->of[CLARKE_HYPER_MOMENTUM], b, g, h);
  second_moment(e, g, h);
  mpq_clear(b);
}

/* Of Table 4.5: nothing is corrected. */
static clarke_status
step_adam(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  clarke_number y;
  clarke_status status;
  mpq_t one;

  (void)k;
  mpq_init(one);
  mpq_set_ui(one, 1, 1);
  clarke_number_init(&y);
  both_moments(e, g, h);
  status = precondition(&y, &e->slot[CLARKE_SLOT_M], e, one, h, err);
  descend(e, h->of[CLARKE_HYPER_STEP], &y, h);
  clarke_number_clear(&y);
  mpq_clear(one);
  return status;
}

/* (1.16) to (1.19) */
static clarke_status
step_corrected(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  clarke_number y;
  clarke_status status;
  mpq_t c, q;

  mpq_inits(c, q, NULL);
  clarke_number_init(&y);
  both_moments(e, g, h);
  rest_of_power(c, h->of[CLARKE_HYPER_SIGMA], k + 1, h);
  rest_of_power(q, h->of[CLARKE_HYPER_MOMENTUM], k + 1, h);
  status = precondition(&y, &e->slot[CLARKE_SLOT_M], e, c, h, err);
  shared(&y, h, NULL, q, &y);
  mpq_div(q, h->of[CLARKE_HYPER_STEP], q);
  descend(e, q, &y, h);
  clarke_number_clear(&y);
  mpq_clears(c, q, NULL);
  return status;
}

/* TensorFlow's: epsilon stands beside the root of v itself, whose correction goes into the step. */
static clarke_status
step_tensorflow(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  clarke_number y, c;
  clarke_status status;
  mpq_t one, q;

  mpq_inits(one, q, NULL);
  mpq_set_ui(one, 1, 1);
  clarke_number_init(&y);
  clarke_number_init(&c);
  both_moments(e, g, h);
  status = precondition(&y, &e->slot[CLARKE_SLOT_M], e, one, h, err);
  rest_of_power(q, h->of[CLARKE_HYPER_SIGMA], k + 1, h);
  clarke_number_set_q(&c, q);
  clarke_number_analytic(&c, NULL, CLARKE_FN_SQRT, &c, BITS);
  clarke_number_mul(&y, &y, &c, BITS);
  rounded(&y, h, NULL, &y, NULL, NULL);
  shared(&y, h, NULL, q, &y);
  rest_of_power(q, h->of[CLARKE_HYPER_MOMENTUM], k + 1, h);
  shared(&y, h, NULL, q, &y);
  mpq_div(q, h->of[CLARKE_HYPER_STEP], q);
  descend(e, q, &y, h);
  clarke_number_clear(&y);
  clarke_number_clear(&c);
  mpq_clears(one, q, NULL);
  return status;
}

/* --- NAdam --------------------------------------------------------------------------------------------------- */

/* mu_n = momentum (1 - 0.96^(n momentum_decay) / 2). */
static void
nadam_mu(clarke_number *mu, const clarke_hypers *h, size_t n)
{
  clarke_number power;
  mpq_t q;

  mpq_init(q);
  clarke_number_init(&power);
  mpq_set_ui(q, 24, 25);
  clarke_number_set_q(&power, q);
  clarke_number_analytic(&power, NULL, CLARKE_FN_LOG, &power, BITS);
  mpq_set_ui(q, n, 1);
  mpq_mul(q, q, h->of[CLARKE_HYPER_MOMENTUM_DECAY]);
  clarke_number_set_si(mu, 0);
  clarke_number_addmul_q(mu, q, &power, BITS);
  clarke_number_analytic(&power, NULL, CLARKE_FN_EXP, mu, BITS);
  mpq_div_2exp(q, h->of[CLARKE_HYPER_MOMENTUM], 1);
  mpq_neg(q, q);
  clarke_number_set_q(mu, h->of[CLARKE_HYPER_MOMENTUM]);
  clarke_number_addmul_q(mu, q, &power, BITS);
  shared(mu, h, NULL, NULL, mu);
  clarke_number_clear(&power);
  mpq_clear(q);
}

/* x = a m + b g. */
static void
blend(clarke_number *x, const clarke_number *a, const clarke_number *m, const clarke_number *b, const clarke_number *g,
      const clarke_hypers *h)
{
  clarke_number of_m, of_g;

  clarke_number_init(&of_m);
  clarke_number_init(&of_g);
  clarke_number_mul(&of_m, a, m, BITS);
  clarke_number_mul(&of_g, b, g, BITS);
  clarke_number_add(x, &of_m, &of_g, BITS);
  rounded(x, h, NULL, &of_m, NULL, &of_g);
  clarke_number_clear(&of_m);
  clarke_number_clear(&of_g);
}

/* Of Table 4.5: mu_{k+1} m_{k+1} + (1 - mu_k) g_k. */
static clarke_status
step_nadam(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  clarke_number mu, next, x, y, one;
  clarke_status status;
  mpq_t q;

  mpq_init(q);
  mpq_set_ui(q, 1, 1);
  clarke_number_init(&mu);
  clarke_number_init(&next);
  clarke_number_init(&x);
  clarke_number_init(&y);
  clarke_number_init(&one);
  clarke_number_set_si(&one, 1);
  both_moments(e, g, h);
  nadam_mu(&mu, h, k);
  nadam_mu(&next, h, k + 1);
  clarke_number_sub(&mu, &one, &mu, BITS);
  blend(&x, &next, &e->slot[CLARKE_SLOT_M], &mu, g, h);
  status = precondition(&y, &x, e, q, h, err);
  descend(e, h->of[CLARKE_HYPER_STEP], &y, h);
  clarke_number_clear(&mu);
  clarke_number_clear(&next);
  clarke_number_clear(&x);
  clarke_number_clear(&y);
  clarke_number_clear(&one);
  mpq_clear(q);
  return status;
}

/* The product of all mu is kept in float32, whatever the parameters are: two roundings a step, and below 2^-126 it may vanish. */
static void
single(clarke_number *product, const clarke_hypers *h)
{
  clarke_number one;
  mpq_t q;

  if (h->rounding.unit == 0)
    return;
  mpq_init(q);
  clarke_number_init(&one);
  clarke_number_set_si(&one, 1);
  parts(q, 3, 24);
  widen(product, q, product);
  parts(q, 1, 126);
  widen(product, q, &one);
  clarke_number_clear(&one);
  mpq_clear(q);
}

void
clarke_rule_product(clarke_number *product, clarke_number *mu, const clarke_hypers *h, size_t k)
{
  nadam_mu(mu, h, k + 1);
  clarke_number_mul(product, product, mu, BITS);
  single(product, h);
}

/* Each mu is from 0 on and below 1, so that the product only falls: below 2^-100 it stays there, which is far below what 1 - product may round
 * (exact numbers have 256 bits). */
bool
clarke_rule_products(clarke_number *product, const clarke_hypers *h, size_t n)
{
  clarke_number least, mu;
  mpq_t q;
  size_t i = 0;
  bool vanished = false;

  mpq_init(q);
  clarke_number_init(&least);
  clarke_number_init(&mu);
  parts(q, 1, h->rounding.unit != 0 ? 100 : 300);
  clarke_number_set_q(&least, q);
  clarke_number_set_si(product, 1);
  for (; i < n && i < (size_t)1 << 20 && !vanished; i++) {
    clarke_rule_product(product, &mu, h, i);
    vanished = clarke_number_compare(product, &least, BITS) < 0;
  }
  if (vanished) {
    clarke_number_set_si(product, 0);
    clarke_number_widen(product, &least, BITS);
  }
  clarke_number_clear(&least);
  clarke_number_clear(&mu);
  mpq_clear(q);
  return vanished || i == n;
}

/* The weights of m and of g: mu_{t+1} / (1 - mu_1 ... mu_{t+1}) and (1 - mu_t) / (1 - mu_1 ... mu_t), t = k + 1. */
static bool
torch_weights(clarke_number *of_m, clarke_number *of_g, const clarke_hypers *h, size_t k)
{
  clarke_number mu, product, one;
  bool is;

  clarke_number_init(&mu);
  clarke_number_init(&product);
  clarke_number_init(&one);
  clarke_number_set_si(&one, 1);
  is = h->product != NULL || clarke_rule_products(&product, h, k + 1);
  if (h->product != NULL)
    clarke_number_set(&product, h->product);
  nadam_mu(&mu, h, k + 1);
  clarke_number_sub(of_g, &one, &mu, BITS);
  clarke_number_sub(&mu, &one, &product, BITS);
  shared(&mu, h, NULL, NULL, &one);
  clarke_number_div(of_g, of_g, &mu, BITS);
  nadam_mu(of_m, h, k + 2);
  clarke_number_mul(&product, &product, of_m, BITS);
  clarke_number_sub(&mu, &one, &product, BITS);
  shared(&mu, h, NULL, NULL, &one);
  clarke_number_div(of_m, of_m, &mu, BITS);
  clarke_number_clear(&mu);
  clarke_number_clear(&product);
  clarke_number_clear(&one);
  return is;
}

static clarke_status
step_torch_nadam(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  clarke_number of_m, of_g, x, y;
  clarke_status status;
  mpq_t c;

  mpq_init(c);
  clarke_number_init(&of_m);
  clarke_number_init(&of_g);
  clarke_number_init(&x);
  clarke_number_init(&y);
  both_moments(e, g, h);
  status = torch_weights(&of_m, &of_g, h, k) ? CLARKE_OK : clarke_fail(err, CLARKE_EVAGUE, "the product of mu has no end after 2^20 steps");
  blend(&x, &of_m, &e->slot[CLARKE_SLOT_M], &of_g, g, h);
  rest_of_power(c, h->of[CLARKE_HYPER_SIGMA], k + 1, h);
  if (status == CLARKE_OK)
    status = precondition(&y, &x, e, c, h, err);
  descend(e, h->of[CLARKE_HYPER_STEP], &y, h);
  clarke_number_clear(&of_m);
  clarke_number_clear(&of_g);
  clarke_number_clear(&x);
  clarke_number_clear(&y);
  mpq_clear(c);
  return status;
}

/* --- INNA and what is made of it --------------------------------------------------------------------------------- */

/* psi_{k+1} = (1 - g/b) psi_k + g (1/b - a) theta_k; theta_{k+1} = (1 + g (1/b - a)) theta_k - (g/b) psi_k - g b ghat. */
static void
inertial(clarke_step_entry *e, const clarke_number *ghat, const clarke_hypers *h)
{
  const mpq_t *const a = &h->of[CLARKE_HYPER_ALPHA], *const b = &h->of[CLARKE_HYPER_BETA], *const g = &h->of[CLARKE_HYPER_STEP];
  clarke_number *const psi = &e->slot[CLARKE_SLOT_PSI], old, start;
  mpq_t by, share, one, size; /* by is a difference: of numbers whose sum is size */

  mpq_inits(by, share, one, size, NULL);
  clarke_number_init(&old);
  clarke_number_init(&start);
  clarke_number_set(&old, psi);
  mpq_set_ui(one, 1, 1);
  mpq_div(share, *g, *b);
  mpq_mul(by, *g, *a);
  mpq_sub(by, share, by);
  rest(one, share);
  mpq_mul(size, *g, *a);
  mpq_add(size, size, share);
  mix(psi, one, by, &e->theta, h);
  shared(psi, h, size, NULL, &e->theta);
  clarke_number_set(&start, &e->theta);
  add(&e->theta, by, &start, h);
  shared(&e->theta, h, size, NULL, &start);
  descend(e, share, &old, h);
  mpq_mul(by, *g, *b);
  descend(e, by, ghat, h);
  clarke_number_clear(&old);
  clarke_number_clear(&start);
  mpq_clears(by, share, one, size, NULL);
}

static clarke_status
step_inna(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  (void)k;
  (void)err;
  inertial(e, g, h);
  return CLARKE_OK;
}

static clarke_status
inertial_with_root(clarke_step_entry *e, const clarke_number *g, const mpq_t c, const clarke_hypers *h, clarke_error *err)
{
  clarke_number y;
  clarke_status status;

  clarke_number_init(&y);
  second_moment(e, g, h);
  status = precondition(&y, g, e, c, h, err);
  if (status == CLARKE_OK)
    inertial(e, &y, h);
  clarke_number_clear(&y);
  return status;
}

/* Algorithm 4, with the decay of Algorithm 3. */
static clarke_status
step_innaprop(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  clarke_status status;
  mpq_t one;

  (void)k;
  mpq_init(one);
  mpq_set_ui(one, 1, 1);
  status = inertial_with_root(e, g, one, h, err);
  mpq_clear(one);
  return status;
}

static clarke_status
step_released(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  clarke_status status;
  mpq_t c;

  mpq_init(c);
  rest_of_power(c, h->of[CLARKE_HYPER_SIGMA], k + 1, h);
  status = inertial_with_root(e, g, c, h, err);
  mpq_clear(c);
  return status;
}

/* m = s m + (1 - s) (1 - a b) g with s = 1 / (1 + a gamma), gamma = a eta; theta -= eta (m + sign a b g). */
static clarke_status
dinadam(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, int sign, clarke_error *err)
{
  const mpq_t *const a = &h->of[CLARKE_HYPER_ALPHA], *const eta = &h->of[CLARKE_HYPER_STEP];
  clarke_number x, y;
  clarke_status status;
  mpq_t s, ab, by, one;

  mpq_inits(s, ab, by, one, NULL);
  clarke_number_init(&x);
  clarke_number_init(&y);
  mpq_set_ui(one, 1, 1);
  mpq_mul(s, *a, *a);
  mpq_mul(s, s, *eta);
  mpq_add(s, s, one);
  mpq_inv(s, s);
  mpq_mul(ab, *a, h->of[CLARKE_HYPER_BETA]);
  rest(by, ab);
  rest(one, s);
  mpq_mul(by, by, one);
  second_moment(e, g, h);
  mix(&e->slot[CLARKE_SLOT_M], s, by, g, h);
  mpq_set_ui(one, 1, 1);
  mpq_add(one, one, ab);
  shared(&e->slot[CLARKE_SLOT_M], h, one, NULL, g);
  clarke_number_set(&x, &e->slot[CLARKE_SLOT_M]);
  if (sign < 0)
    mpq_neg(ab, ab);
  add(&x, ab, g, h);
  mpq_set_ui(one, 1, 1);
  status = precondition(&y, &x, e, one, h, err);
  descend(e, *eta, &y, h);
  clarke_number_clear(&x);
  clarke_number_clear(&y);
  mpq_clears(s, ab, by, one, NULL);
  return status;
}

static clarke_status
step_dinadam(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  (void)k;
  return dinadam(e, g, h, 1, err);
}

static clarke_status
step_dinadam_printed(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  (void)k;
  return dinadam(e, g, h, -1, err);
}

/* --- the table ------------------------------------------------------------------------------------------------------ */

#define STEP [CLARKE_HYPER_STEP] = true
#define INERTIA STEP, [CLARKE_HYPER_ALPHA] = true, [CLARKE_HYPER_BETA] = true
#define M [CLARKE_SLOT_M] = true
#define V [CLARKE_SLOT_V] = true
#define PSI [CLARKE_SLOT_PSI] = true

static const clarke_rule rules[] = {
  {"sgd", "thesis, Table 4.5", "theta - eta g", .needs = {STEP}, .weight_decay = "0", .coupled = true, .step = step_sgd},
  {"momentum", "thesis, (1.10) and (1.11)", "m = b m + (1 - b) g; theta - eta m", .slot = {M}, .needs = {STEP}, .momentum = "0.9",
   .weight_decay = "0", .coupled = true, .step = step_momentum},
  {"nag", "thesis, (1.12) and (1.13)", "m = mu m - eta g, g at theta + mu m; theta + m; mu = k / (k + 3), or --momentum", .slot = {M},
   .needs = {STEP}, .momentum = "0", .weight_decay = "0", .coupled = true, .step = step_nag},
  {"adagrad", "thesis, (1.14)", "v + g^2; theta - eta g / sqrt(v + eps)", .slot = {V}, .needs = {STEP}, .eps = "1e-8", .weight_decay = "0",
   .inside = true, .coupled = true, .step = step_adagrad},
  {"rmsprop", "thesis, Table 4.5", "v_0 = 1; m = b m + g / sqrt(v + eps); theta - eta m", .slot = {M, V}, .v_is_one = true,
   .needs = {STEP}, .momentum = "0", .sigma = "0.9", .eps = "1e-8", .weight_decay = "0", .inside = true, .coupled = true,
   .step = step_rmsprop},
  {"adam", "thesis, Table 4.5", "m, v without corrections; theta - eta m / (sqrt(v) + eps)", .slot = {M, V}, .needs = {STEP},
   .momentum = "0.9", .sigma = "0.999", .eps = "1e-8", .weight_decay = "0", .coupled = true, .step = step_adam},
  {"adam-corrected", "thesis, (1.16) to (1.19)", "m and v corrected by 1 - b^k", .slot = {M, V}, .needs = {STEP}, .momentum = "0.9",
   .sigma = "0.999", .eps = "1e-8", .weight_decay = "0", .coupled = true, .step = step_corrected},
  {"adamw", "Loshchilov, Hutter", "adam-corrected after theta (1 - eta lambda)", .slot = {M, V}, .needs = {STEP}, .momentum = "0.9",
   .sigma = "0.999", .eps = "1e-8", .weight_decay = "0.01", .step = step_corrected},
  {"nadam", "thesis, Table 4.5", "theta - eta (mu_{k+1} m + (1 - mu_k) g) / (sqrt(v) + eps)", .slot = {M, V}, .needs = {STEP},
   .momentum = "0.9", .sigma = "0.999", .eps = "1e-8", .weight_decay = "0", .coupled = true, .step = step_nadam},
  {"inna", "thesis, Table 4.5", "psi_0 = (1 - alpha beta) theta_0; the form with psi_k", .slot = {PSI}, .needs = {INERTIA},
   .weight_decay = "0", .step = step_inna},
  {"innaprop", "thesis, Algorithm 4", "inna of g / sqrt(v + eps); theta (1 - lambda gamma) before", .slot = {PSI, V}, .needs = {INERTIA},
   .sigma = "0.999", .eps = "1e-8", .weight_decay = "0", .inside = true, .step = step_innaprop},
  {"innaprop-released", "the authors' code; thesis, Algorithm 3", "inna of g / (sqrt(v / (1 - sigma^k)) + eps), k from 1",
   .slot = {PSI, V}, .needs = {INERTIA}, .sigma = "0.999", .eps = "1e-8", .weight_decay = "0", .step = step_released},
  {"dinadam", "thesis, Algorithm 6, its sign put right", "m + alpha beta g, gamma = alpha eta", .slot = {M, V}, .needs = {INERTIA},
   .sigma = "0.999", .eps = "1e-8", .weight_decay = "0", .inside = true, .step = step_dinadam},
  {"dinadam-printed", "thesis, Algorithm 6 as printed", "m - alpha beta g", .slot = {M, V}, .needs = {INERTIA}, .sigma = "0.999",
   .eps = "1e-8", .weight_decay = "0", .inside = true, .step = step_dinadam_printed},
  {"torch-sgd", "torch.optim.SGD", "the first m is g; --dampening, --nesterov", .slot = {M}, .needs = {STEP}, .momentum = "0",
   .weight_decay = "0", .coupled = true, .step = step_torch_sgd},
  {"torch-adagrad", "torch.optim.Adagrad", "theta - eta g / (sqrt(v) + eps)", .slot = {V}, .needs = {STEP}, .eps = "1e-10",
   .weight_decay = "0", .coupled = true, .step = step_adagrad},
  {"torch-rmsprop", "torch.optim.RMSprop", "v_0 = 0; m = b m + g / (sqrt(v) + eps)", .slot = {M, V}, .needs = {STEP}, .momentum = "0",
   .sigma = "0.99", .eps = "1e-8", .weight_decay = "0", .coupled = true, .step = step_rmsprop},
  {"torch-adam", "torch.optim.Adam", "adam-corrected", .slot = {M, V}, .needs = {STEP}, .momentum = "0.9", .sigma = "0.999",
   .eps = "1e-8", .weight_decay = "0", .coupled = true, .step = step_corrected},
  {"torch-adamw", "torch.optim.AdamW", "adamw", .slot = {M, V}, .needs = {STEP}, .momentum = "0.9", .sigma = "0.999", .eps = "1e-8",
   .weight_decay = "0.01", .step = step_corrected},
  {"torch-nadam", "torch.optim.NAdam", "m and g by products of mu", .slot = {M, V}, .needs = {STEP}, .momentum = "0.9",
   .sigma = "0.999", .eps = "1e-8", .weight_decay = "0", .coupled = true, .step = step_torch_nadam},
  {"tensorflow-adam", "tf.keras.optimizers.Adam", "the step corrected, eps beside sqrt(v)", .slot = {M, V}, .needs = {STEP},
   .momentum = "0.9", .sigma = "0.999", .eps = "1e-7", .weight_decay = "0", .coupled = true, .step = step_tensorflow},
};

const clarke_rule *
clarke_rule_at(size_t i)
{
  return i < sizeof rules / sizeof *rules ? &rules[i] : NULL;
}

const clarke_rule *
clarke_rule_find(const char *name)
{
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (strcmp(rules[i].name, name) == 0)
      return &rules[i];
  return NULL;
}

/* --- hyperparameters -------------------------------------------------------------------------------------------------- */

/* The rule's default for one; NULL: the rule has none of it. */
static const char *
default_of(const clarke_rule *r, clarke_hyper h)
{
  switch (h) {
  case CLARKE_HYPER_SIGMA:
    return r->sigma;
  case CLARKE_HYPER_MOMENTUM:
    return r->momentum;
  case CLARKE_HYPER_EPS:
    return r->eps;
  case CLARKE_HYPER_DECAY:
    return r->weight_decay;
  case CLARKE_HYPER_DAMPENING:
    return r->step == step_torch_sgd ? "0" : NULL;
  case CLARKE_HYPER_MOMENTUM_DECAY:
    return r->step == step_nadam || r->step == step_torch_nadam ? "0.004" : NULL;
  default:
    return NULL;
  }
}

bool
clarke_rule_grows(const clarke_rule *r, const clarke_hypers *h)
{
  return r->step == step_nag && !h->given[CLARKE_HYPER_MOMENTUM];
}

bool
clarke_rule_takes(const clarke_rule *r, clarke_hyper h)
{
  return r->needs[h] || default_of(r, h) != NULL;
}

static clarke_status
fill(clarke_hypers *h, const clarke_rule *r, clarke_hyper k, clarke_error *err)
{
  const char *text = default_of(r, k);

  if (h->given[k] && !clarke_rule_takes(r, k))
    return clarke_fail(err, CLARKE_EINPUT, "%s has no %s (%s)", r->name, hyper_names[k], r->says);
  if (!h->given[k] && r->needs[k])
    return clarke_fail(err, CLARKE_EINPUT, "%s needs --%s%s", r->name, hyper_names[k], k == CLARKE_HYPER_STEP ? ", or --gamma" : "");
  if (!h->given[k] && text != NULL && !clarke_literal_parse(h->of[k], text))
    return clarke_fail(err, CLARKE_EINTERNAL, "the default of %s", hyper_names[k]);
  return CLARKE_OK;
}

/* beta > gamma is what Algorithms 3 and 4 ask for; INNA in its own form takes any beta but 0. */
static clarke_status
check_values(const clarke_hypers *h, const clarke_rule *r, clarke_error *err)
{
  static const clarke_hyper below_one[] = {CLARKE_HYPER_SIGMA, CLARKE_HYPER_MOMENTUM};

  for (int k = 0; k < CLARKE_N_HYPERS; k++)
    if (mpq_sgn(h->of[k]) < 0)
      return clarke_fail(err, CLARKE_EINPUT, "--%s is below 0", hyper_names[k]);
  for (size_t k = 0; k < sizeof below_one / sizeof *below_one; k++)
    if (mpq_cmp_ui(h->of[below_one[k]], 1, 1) >= 0)
      return clarke_fail(err, CLARKE_EINPUT, "--%s is not below 1", hyper_names[below_one[k]]);
  if (r->needs[CLARKE_HYPER_BETA] && mpq_sgn(h->of[CLARKE_HYPER_BETA]) == 0 && r->slot[CLARKE_SLOT_PSI])
    return clarke_fail(err, CLARKE_EINPUT, "%s divides by beta, which is 0", r->name);
  if ((r->step == step_innaprop || r->step == step_released)
      && mpq_cmp(h->of[CLARKE_HYPER_BETA], h->of[CLARKE_HYPER_STEP]) <= 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s needs beta > gamma: its form with psi_{k+1} divides by beta - gamma (inna does not)",
                       r->name);
  if (h->nesterov && r->step != step_torch_sgd)
    return clarke_fail(err, CLARKE_EINPUT, "%s has no --nesterov (torch-sgd has; see nag and nadam)", r->name);
  return CLARKE_OK;
}

clarke_status
clarke_rule_check(clarke_hypers *h, const clarke_rule *r, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (int k = 0; k < CLARKE_N_HYPERS && status == CLARKE_OK; k++)
    status = fill(h, r, (clarke_hyper)k, err);
  if (h->place == CLARKE_EPS_OF_RULE)
    h->place = r->inside ? CLARKE_EPS_INSIDE : CLARKE_EPS_OUTSIDE;
  if (h->decay == CLARKE_DECAY_OF_RULE)
    h->decay = r->coupled ? CLARKE_DECAY_COUPLED : CLARKE_DECAY_DECOUPLED;
  return status == CLARKE_OK ? check_values(h, r, err) : status;
}

/* --- a step ------------------------------------------------------------------------------------------------------------ */

void
clarke_rule_begin(clarke_step_entry *e, const clarke_rule *r, const clarke_hypers *h)
{
  mpq_t q, size;

  for (int s = 0; s < CLARKE_N_SLOTS; s++)
    clarke_number_set_si(&e->slot[s], s == CLARKE_SLOT_V && r->v_is_one);
  if (!r->slot[CLARKE_SLOT_PSI])
    return;
  mpq_inits(q, size, NULL);
  mpq_mul(q, h->of[CLARKE_HYPER_ALPHA], h->of[CLARKE_HYPER_BETA]);
  mpq_set_ui(size, 1, 1);
  mpq_add(size, size, q);
  rest(q, q);
  add(&e->slot[CLARKE_SLOT_PSI], q, &e->theta, h);
  shared(&e->slot[CLARKE_SLOT_PSI], h, size, NULL, &e->theta);
  mpq_clears(q, size, NULL);
}

clarke_status
clarke_rule_step(clarke_step_entry *e, const clarke_rule *r, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  clarke_number d;
  clarke_status status;

  clarke_number_init(&d);
  decay(e, &d, g, h);
  status = r->step(e, &d, h, k, err);
  clarke_number_clear(&d);
  return status;
}
