#include "step/rule.h"

#include "exact/literal.h"
#include "step/lbfgs.h"
#include "step/piece.h"
#include "step/whole.h"

#include <string.h>

#define BITS CLARKE_STEP_PRECISION
#define MOST_COUNT 1000000UL /* of iterations, evaluations, pairs */

const char *const clarke_slot_names[CLARKE_N_SLOTS] = {"psi", "m", "v", "u", "prev", "size", "ax", "row", "col"};

static const char *const hyper_names[CLARKE_N_HYPERS] = {
  [CLARKE_HYPER_ALPHA] = "alpha", [CLARKE_HYPER_BETA] = "beta", [CLARKE_HYPER_STEP] = "eta", [CLARKE_HYPER_SIGMA] = "sigma",
  [CLARKE_HYPER_MOMENTUM] = "momentum", [CLARKE_HYPER_EPS] = "eps", [CLARKE_HYPER_DECAY] = "weight-decay",
  [CLARKE_HYPER_DAMPENING] = "dampening", [CLARKE_HYPER_MOMENTUM_DECAY] = "momentum-decay",
  [CLARKE_HYPER_LAMBD] = "lambd", [CLARKE_HYPER_T0] = "t0", [CLARKE_HYPER_ETA_MINUS] = "eta-minus", [CLARKE_HYPER_ETA_PLUS] = "eta-plus",
  [CLARKE_HYPER_SIZE_MIN] = "size-min", [CLARKE_HYPER_SIZE_MAX] = "size-max",
  [CLARKE_HYPER_BETA2_DECAY] = "beta2-decay", [CLARKE_HYPER_EPS2] = "eps2", [CLARKE_HYPER_CLIP] = "clip",
  [CLARKE_HYPER_NS_A] = "ns-a", [CLARKE_HYPER_NS_B] = "ns-b", [CLARKE_HYPER_NS_C] = "ns-c", [CLARKE_HYPER_NS_STEPS] = "ns-steps",
  [CLARKE_HYPER_MAX_ITER] = "max-iter", [CLARKE_HYPER_MAX_EVAL] = "max-eval", [CLARKE_HYPER_TOLERANCE_GRAD] = "tolerance-grad",
  [CLARKE_HYPER_TOLERANCE_CHANGE] = "tolerance-change", [CLARKE_HYPER_HISTORY_SIZE] = "history-size",
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

/* --- first moments ---------------------------------------------------------------------------------------- */

static clarke_status
step_sgd(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  (void)k;
  (void)err;
  clarke_piece_descend(e, h->of[CLARKE_HYPER_STEP], g, h);
  return CLARKE_OK;
}

/* (1.10), (1.11) */
static clarke_status
step_momentum(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  (void)k;
  (void)err;
  clarke_piece_first_moment(e, g, h);
  clarke_piece_descend(e, h->of[CLARKE_HYPER_STEP], &e->slot[CLARKE_SLOT_M], h);
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
  clarke_piece_rest(b, h->of[CLARKE_HYPER_DAMPENING]);
  if (k == 0)
    clarke_number_set(m, g);
  else
    clarke_piece_mix(m, h->of[CLARKE_HYPER_MOMENTUM], b, g, h);
  clarke_number_set(&d, h->nesterov ? g : m);
  if (h->nesterov)
    clarke_piece_add(&d, h->of[CLARKE_HYPER_MOMENTUM], m, h);
  clarke_piece_descend(e, h->of[CLARKE_HYPER_STEP], mpq_sgn(h->of[CLARKE_HYPER_MOMENTUM]) == 0 ? g : &d, h);
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
  clarke_piece_mix(&e->slot[CLARKE_SLOT_M], h->given[CLARKE_HYPER_MOMENTUM] ? h->of[CLARKE_HYPER_MOMENTUM] : mu, minus, g, h);
  clarke_piece_add(&e->theta, one, &e->slot[CLARKE_SLOT_M], h);
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
  clarke_piece_add(&e->slot[CLARKE_SLOT_V], one, &y, h);
  status = clarke_piece_precondition(&y, g, e, one, h, err);
  clarke_piece_descend(e, h->of[CLARKE_HYPER_STEP], &y, h);
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
  clarke_piece_second_moment(e, g, h);
  status = clarke_piece_precondition(&y, g, e, one, h, err);
  clarke_piece_mix(&e->slot[CLARKE_SLOT_M], h->of[CLARKE_HYPER_MOMENTUM], one, &y, h);
  clarke_piece_descend(e, h->of[CLARKE_HYPER_STEP], &e->slot[CLARKE_SLOT_M], h);
  clarke_number_clear(&y);
  mpq_clear(one);
  return status;
}

static void
both_moments(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h)
{
  clarke_piece_first_moment(e, g, h);
  clarke_piece_second_moment(e, g, h);
}

/* Adam as in Table 4.5: nothing is corrected. */
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
  status = clarke_piece_precondition(&y, &e->slot[CLARKE_SLOT_M], e, one, h, err);
  clarke_piece_descend(e, h->of[CLARKE_HYPER_STEP], &y, h);
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
  clarke_piece_rest_of_power(c, h->of[CLARKE_HYPER_SIGMA], k + 1, h);
  clarke_piece_rest_of_power(q, h->of[CLARKE_HYPER_MOMENTUM], k + 1, h);
  status = clarke_piece_precondition(&y, &e->slot[CLARKE_SLOT_M], e, c, h, err);
  clarke_piece_share(&y, h, NULL, q, &y);
  mpq_div(q, h->of[CLARKE_HYPER_STEP], q);
  clarke_piece_descend(e, q, &y, h);
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
  status = clarke_piece_precondition(&y, &e->slot[CLARKE_SLOT_M], e, one, h, err);
  clarke_piece_rest_of_power(q, h->of[CLARKE_HYPER_SIGMA], k + 1, h);
  clarke_number_set_q(&c, q);
  clarke_number_analytic(&c, NULL, CLARKE_FN_SQRT, &c, BITS);
  clarke_number_mul(&y, &y, &c, BITS);
  clarke_piece_round(&y, h, NULL, &y, NULL, NULL);
  clarke_piece_share(&y, h, NULL, q, &y);
  clarke_piece_rest_of_power(q, h->of[CLARKE_HYPER_MOMENTUM], k + 1, h);
  clarke_piece_share(&y, h, NULL, q, &y);
  mpq_div(q, h->of[CLARKE_HYPER_STEP], q);
  clarke_piece_descend(e, q, &y, h);
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
  clarke_piece_share(mu, h, NULL, NULL, mu);
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
  clarke_piece_round(x, h, NULL, &of_m, NULL, &of_g);
  clarke_number_clear(&of_m);
  clarke_number_clear(&of_g);
}

/* NAdam as in Table 4.5: mu_{k+1} m_{k+1} + (1 - mu_k) g_k. */
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
  status = clarke_piece_precondition(&y, &x, e, q, h, err);
  clarke_piece_descend(e, h->of[CLARKE_HYPER_STEP], &y, h);
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
  if (h->rounding.unit != 0)
    clarke_piece_off(product, 3, 24, 1, 126);
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
  clarke_piece_parts(q, 1, h->rounding.unit != 0 ? 100 : 300);
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
  clarke_piece_share(&mu, h, NULL, NULL, &one);
  clarke_number_div(of_g, of_g, &mu, BITS);
  nadam_mu(of_m, h, k + 2);
  clarke_number_mul(&product, &product, of_m, BITS);
  clarke_number_sub(&mu, &one, &product, BITS);
  clarke_piece_share(&mu, h, NULL, NULL, &one);
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
  clarke_piece_rest_of_power(c, h->of[CLARKE_HYPER_SIGMA], k + 1, h);
  if (status == CLARKE_OK)
    status = clarke_piece_precondition(&y, &x, e, c, h, err);
  clarke_piece_descend(e, h->of[CLARKE_HYPER_STEP], &y, h);
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
  clarke_piece_rest(one, share);
  mpq_mul(size, *g, *a);
  mpq_add(size, size, share);
  clarke_piece_mix(psi, one, by, &e->theta, h);
  clarke_piece_share(psi, h, size, NULL, &e->theta);
  clarke_number_set(&start, &e->theta);
  clarke_piece_add(&e->theta, by, &start, h);
  clarke_piece_share(&e->theta, h, size, NULL, &start);
  clarke_piece_descend(e, share, &old, h);
  mpq_mul(by, *g, *b);
  clarke_piece_descend(e, by, ghat, h);
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
  clarke_piece_second_moment(e, g, h);
  status = clarke_piece_precondition(&y, g, e, c, h, err);
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
  clarke_piece_rest_of_power(c, h->of[CLARKE_HYPER_SIGMA], k + 1, h);
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
  clarke_piece_rest(by, ab);
  clarke_piece_rest(one, s);
  mpq_mul(by, by, one);
  clarke_piece_second_moment(e, g, h);
  clarke_piece_mix(&e->slot[CLARKE_SLOT_M], s, by, g, h);
  mpq_set_ui(one, 1, 1);
  mpq_add(one, one, ab);
  clarke_piece_share(&e->slot[CLARKE_SLOT_M], h, one, NULL, g);
  clarke_number_set(&x, &e->slot[CLARKE_SLOT_M]);
  if (sign < 0)
    mpq_neg(ab, ab);
  clarke_piece_add(&x, ab, g, h);
  mpq_set_ui(one, 1, 1);
  status = clarke_piece_precondition(&y, &x, e, one, h, err);
  clarke_piece_descend(e, *eta, &y, h);
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
  {"torch-sparseadam", "torch.optim.SparseAdam", "of entries that the gradient has; tensorflow-adam without decay", .slot = {M, V},
   .needs = {STEP}, .momentum = "0.9", .sigma = "0.999", .eps = "1e-8", .coupled = true, .sparse = true, .step = step_tensorflow},
};

const clarke_rule *
clarke_rule_at(size_t i)
{
  const size_t n = sizeof rules / sizeof *rules, of_torch = n + CLARKE_N_TORCH_RULES;

  if (i < of_torch)
    return i < n ? &rules[i] : &clarke_torch_rules[i - n];
  if (i - of_torch < CLARKE_N_WHOLE_RULES)
    return &clarke_whole_rules[i - of_torch];
  return i - of_torch == CLARKE_N_WHOLE_RULES ? &clarke_lbfgs_rule : NULL;
}

const clarke_rule *
clarke_rule_find(const char *name)
{
  for (size_t i = 0; clarke_rule_at(i) != NULL; i++)
    if (strcmp(clarke_rule_at(i)->name, name) == 0)
      return clarke_rule_at(i);
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
    return r->others[h];
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

bool
clarke_rule_has(const clarke_rule *r, const clarke_hypers *h, int slot)
{
  return slot < 0 || (r->slot[slot] && !(slot == CLARKE_SLOT_V && h->preconditioned));
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

static clarke_status
check_whole(const clarke_hypers *h, const clarke_rule *r, clarke_error *err)
{
  mpq_srcptr times = h->of[CLARKE_HYPER_NS_STEPS];

  if (mpq_sgn(h->of[CLARKE_HYPER_BETA2_DECAY]) > 0)
    return clarke_fail(err, CLARKE_EINPUT, "--beta2-decay is above 0");
  if (clarke_rule_takes(r, CLARKE_HYPER_CLIP) && mpq_cmp_ui(h->of[CLARKE_HYPER_CLIP], 1, 1) < 0)
    return clarke_fail(err, CLARKE_EINPUT, "--clip is below 1");
  if (mpz_cmp_ui(mpq_denref(times), 1) != 0 || mpq_cmp_ui(times, 100, 1) >= 0)
    return clarke_fail(err, CLARKE_EINPUT, "--ns-steps is no whole number below 100");
  if (h->place != CLARKE_EPS_OUTSIDE || h->decay != CLARKE_DECAY_DECOUPLED || h->preconditioned)
    return clarke_fail(err, CLARKE_EINPUT, "%s has no --eps-place inside, no --decay coupled and no --preconditioned", r->name);
  return CLARKE_OK;
}

static bool
is_count(const mpq_t q, unsigned long least)
{
  return mpz_cmp_ui(mpq_denref(q), 1) == 0 && mpq_cmp_ui(q, least, 1) >= 0 && mpq_cmp_ui(q, MOST_COUNT, 1) <= 0;
}

/* Where it is not given, --max-eval is five quarters of --max-iter, rounded down. */
static clarke_status
check_evaluating(clarke_hypers *h, const clarke_rule *r, clarke_error *err)
{
  static const struct {
    clarke_hyper h;
    unsigned long least;
  } counts[] = {{CLARKE_HYPER_MAX_ITER, 1}, {CLARKE_HYPER_MAX_EVAL, 0}, {CLARKE_HYPER_HISTORY_SIZE, 1}};

  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
    if (!is_count(h->of[counts[i].h], counts[i].least))
      return clarke_fail(err, CLARKE_EINPUT, "--%s is no whole number from %lu to a million", hyper_names[counts[i].h], counts[i].least);
  if (h->place != CLARKE_EPS_OUTSIDE || h->decay != CLARKE_DECAY_COUPLED || h->preconditioned)
    return clarke_fail(err, CLARKE_EINPUT, "%s has no --eps-place, no --decay and no --preconditioned", r->name);
  if (!h->given[CLARKE_HYPER_MAX_EVAL])
    mpq_set_ui(h->of[CLARKE_HYPER_MAX_EVAL], mpz_get_ui(mpq_numref(h->of[CLARKE_HYPER_MAX_ITER])) * 5 / 4, 1);
  if (h->searches && mpq_sgn(h->of[CLARKE_HYPER_MAX_EVAL]) == 0)
    return clarke_fail(err, CLARKE_EINPUT, "--line-search strong_wolfe needs --max-eval from 1 on; with 0 PyTorch fails");
  return CLARKE_OK;
}

/* May the number be below 0? */
static bool
is_signed(int k)
{
  return k == CLARKE_HYPER_BETA2_DECAY || (k >= CLARKE_HYPER_NS_A && k <= CLARKE_HYPER_NS_C) || k == CLARKE_HYPER_TOLERANCE_GRAD
         || k == CLARKE_HYPER_TOLERANCE_CHANGE;
}

/* beta > gamma is what Algorithms 3 and 4 ask for; INNA in its own form takes any beta but 0. */
static clarke_status
check_values(const clarke_hypers *h, const clarke_rule *r, clarke_error *err)
{
  static const clarke_hyper below_one[] = {CLARKE_HYPER_SIGMA, CLARKE_HYPER_MOMENTUM};

  for (int k = 0; k < CLARKE_N_HYPERS; k++)
    if (mpq_sgn(h->of[k]) < 0 && !is_signed(k))
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
  if (h->nesterov && r->step != step_torch_sgd && !clarke_rule_takes(r, CLARKE_HYPER_NS_STEPS))
    return clarke_fail(err, CLARKE_EINPUT, "%s has no --nesterov (torch-sgd has; see nag and nadam)", r->name);
  if ((h->plain || h->matches) && !clarke_rule_takes(r, CLARKE_HYPER_NS_STEPS))
    return clarke_fail(err, CLARKE_EINPUT, "%s has no --%s (torch-muon has)", r->name, h->plain ? "no-nesterov" : "adjust");
  if (h->searches && !r->evaluates)
    return clarke_fail(err, CLARKE_EINPUT, "%s has no --line-search (torch-lbfgs has)", r->name);
  if (h->preconditioned && r->slot[CLARKE_SLOT_U])
    return clarke_fail(err, CLARKE_EINPUT, "%s has no --preconditioned: its gradients are divided by more than a root of v", r->name);
  if (r->slot[CLARKE_SLOT_SIZE]
      && (mpq_cmp_ui(h->of[CLARKE_HYPER_ETA_MINUS], 1, 1) >= 0 || mpq_cmp_ui(h->of[CLARKE_HYPER_ETA_PLUS], 1, 1) <= 0
          || mpq_sgn(h->of[CLARKE_HYPER_ETA_MINUS]) == 0))
    return clarke_fail(err, CLARKE_EINPUT, "%s needs 0 < --eta-minus < 1 < --eta-plus", r->name);
  return r->whole != NULL ? check_whole(h, r, err) : CLARKE_OK;
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
  h->nesterov = h->nesterov || (clarke_rule_takes(r, CLARKE_HYPER_NS_STEPS) && !h->plain);
  if (status == CLARKE_OK)
    status = check_values(h, r, err);
  return status == CLARKE_OK && r->evaluates ? check_evaluating(h, r, err) : status;
}

/* --- a step ------------------------------------------------------------------------------------------------------------ */

void
clarke_rule_begin(clarke_step_entry *e, const clarke_rule *r, const clarke_hypers *h)
{
  mpq_t q, size;

  for (int s = 0; s < CLARKE_N_SLOTS; s++)
    clarke_number_set_si(&e->slot[s], s == CLARKE_SLOT_V && r->v_is_one);
  if (r->slot[CLARKE_SLOT_SIZE]) {
    clarke_number_set_q(&e->slot[CLARKE_SLOT_SIZE], h->of[CLARKE_HYPER_STEP]);
    clarke_piece_round(&e->slot[CLARKE_SLOT_SIZE], h, NULL, &e->slot[CLARKE_SLOT_SIZE], NULL, NULL);
  }
  if (!r->slot[CLARKE_SLOT_PSI])
    return;
  mpq_inits(q, size, NULL);
  mpq_mul(q, h->of[CLARKE_HYPER_ALPHA], h->of[CLARKE_HYPER_BETA]);
  mpq_set_ui(size, 1, 1);
  mpq_add(size, size, q);
  clarke_piece_rest(q, q);
  clarke_piece_add(&e->slot[CLARKE_SLOT_PSI], q, &e->theta, h);
  clarke_piece_share(&e->slot[CLARKE_SLOT_PSI], h, size, NULL, &e->theta);
  mpq_clears(q, size, NULL);
}

clarke_status
clarke_rule_step(clarke_step_entry *e, const clarke_rule *r, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  clarke_number d;
  clarke_status status;

  if (r->step == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s is a rule of whole tensors, or of all, not of entries", r->name);
  clarke_number_init(&d);
  clarke_piece_decay(e, &d, g, h);
  status = r->step(e, &d, h, k, err);
  clarke_number_clear(&d);
  return status;
}
