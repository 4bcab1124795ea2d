/* Rules that torch.optim alone has. */
#include "step/piece.h"

#define BITS CLARKE_STEP_PRECISION

static void
negate(clarke_number *y, const clarke_number *x)
{
  clarke_number zero;

  clarke_number_init(&zero);
  clarke_number_sub(y, &zero, x, BITS);
  clarke_number_clear(&zero);
}

/* --- Adadelta ------------------------------------------------------------------------------------------------ */

/* y = x root(u) / root(v), where x is not 0. The quotient of the roots may be so small that it vanishes before it is multiplied. */
static clarke_status
adadelta_quotient(clarke_number *y, const clarke_number *x, const clarke_step_entry *e, const clarke_hypers *h, clarke_error *err)
{
  clarke_number root;
  clarke_status status;
  mpq_t one, q;

  mpq_inits(one, q, NULL);
  mpq_set_ui(one, 1, 1);
  clarke_number_init(&root);
  status = clarke_piece_precondition(y, x, e, one, h, err);
  if (status == CLARKE_OK && !clarke_piece_root(&root, &e->slot[CLARKE_SLOT_U], one, h) && clarke_number_sign(&root) != 0)
    status = clarke_fail(err, h->rounding.unit == 0 ? CLARKE_EINPUT : CLARKE_EVAGUE, "the root of u is not known to be above 0: u is negative");
  clarke_number_mul(y, y, &root, BITS);
  clarke_piece_round(y, h, NULL, y, NULL, NULL);
  if (h->rounding.unit != 0) {
    clarke_piece_parts(q, CLARKE_ROUNDINGS, h->rounding.tiny);
    clarke_piece_widen(y, q, x);
  }
  clarke_number_clear(&root);
  mpq_clears(one, q, NULL);
  return status;
}

static clarke_status
step_adadelta(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  clarke_number y, square;
  clarke_status status = CLARKE_OK;
  mpq_t b;

  (void)k;
  mpq_init(b);
  clarke_number_init(&y);
  clarke_number_init(&square);
  clarke_piece_second_moment(e, g, h);
  if (clarke_number_sign(g) != 0)
    status = adadelta_quotient(&y, g, e, h, err);
  clarke_number_mul(&square, &y, &y, BITS);
  clarke_piece_rest(b, h->of[CLARKE_HYPER_SIGMA]);
  clarke_piece_mix(&e->slot[CLARKE_SLOT_U], h->of[CLARKE_HYPER_SIGMA], b, &square, h);
  clarke_piece_descend(e, h->of[CLARKE_HYPER_STEP], &y, h);
  clarke_number_clear(&y);
  clarke_number_clear(&square);
  mpq_clear(b);
  return status;
}

/* --- Adamax ------------------------------------------------------------------------------------------------------ */

/* u = max(sigma u, |g| + eps) */
static void
largest_gradient(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h)
{
  clarke_number faded, size, eps;

  clarke_number_init(&faded);
  clarke_number_init(&size);
  clarke_number_init(&eps);
  clarke_piece_add(&faded, h->of[CLARKE_HYPER_SIGMA], &e->slot[CLARKE_SLOT_U], h);
  negate(&size, g);
  clarke_piece_larger(&size, &size, g);
  clarke_number_set_q(&eps, h->of[CLARKE_HYPER_EPS]);
  clarke_number_add(&eps, &eps, &size, BITS);
  clarke_piece_round(&eps, h, NULL, &eps, NULL, NULL);
  clarke_piece_larger(&e->slot[CLARKE_SLOT_U], &faded, &eps);
  clarke_number_clear(&faded);
  clarke_number_clear(&size);
  clarke_number_clear(&eps);
}

/* theta - eta m / (1 - momentum^k) / u, k from 1. */
static clarke_status
step_adamax(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  const clarke_number *const u = &e->slot[CLARKE_SLOT_U];
  clarke_number y;
  clarke_status status = CLARKE_OK;
  mpq_t one, q;

  mpq_inits(one, q, NULL);
  mpq_set_ui(one, 1, 1);
  clarke_number_init(&y);
  clarke_piece_first_moment(e, g, h);
  largest_gradient(e, g, h);
  if (clarke_number_sign(u) != 1)
    status = clarke_fail(err, h->rounding.unit == 0 ? CLARKE_EINPUT : CLARKE_EVAGUE,
                         "u is not known to be above 0: the gradients are 0, and eps is 0 (or vanishes)");
  else if (clarke_number_sign(&e->slot[CLARKE_SLOT_M]) != 0) {
    clarke_piece_divide(&y, &e->slot[CLARKE_SLOT_M], u, one, h);
    clarke_piece_rest_of_power(q, h->of[CLARKE_HYPER_MOMENTUM], k + 1, h);
    clarke_piece_share(&y, h, NULL, q, &y);
    mpq_div(q, h->of[CLARKE_HYPER_STEP], q);
    clarke_piece_descend(e, q, &y, h);
  }
  clarke_number_clear(&y);
  mpq_clears(one, q, NULL);
  return status;
}

/* --- RAdam --------------------------------------------------------------------------------------------------------- */

/* What RAdam has of sigma and k alone: rho = 2 / (1 - sigma) - 1 and, behind it, rho - 2 k sigma^k / (1 - sigma^k), k from 1; c is 1 - sigma^k.
 * off: by so much a program in floats may have the latter. */
typedef struct {
  mpq_t inf, t, c, off;
} lengths;

static void
lengths_init(lengths *l, const clarke_hypers *h, size_t k)
{
  mpq_t q, size;

  mpq_inits(l->inf, l->t, l->c, l->off, q, size, NULL);
  clarke_piece_rest(q, h->of[CLARKE_HYPER_SIGMA]);
  mpq_set_ui(l->inf, 2, 1);
  mpq_div(l->inf, l->inf, q);
  mpq_set_ui(q, 1, 1);
  mpq_sub(l->inf, l->inf, q);
  clarke_piece_rest_of_power(l->c, h->of[CLARKE_HYPER_SIGMA], k + 1, h);
  mpq_sub(size, q, l->c);
  mpq_mul(l->t, size, size);
  mpq_set_ui(q, 2 * (k + 1), 1);
  mpq_mul(size, size, q);
  mpq_div(size, size, l->c);
  mpq_sub(l->t, l->inf, size);
  if (h->rounding.unit != 0) { /* a power is off by 2^-scalar of 1, which is divided by c again */
    clarke_piece_parts(l->off, CLARKE_ROUNDINGS, h->rounding.scalar);
    mpq_add(size, size, q);
    mpq_div(size, size, l->c);
    mpq_add(size, size, l->inf);
    mpq_mul(l->off, l->off, size);
  }
  mpq_clears(q, size, NULL);
}

static void
lengths_clear(lengths *l)
{
  mpq_clears(l->inf, l->t, l->c, l->off, NULL);
}

/* Is the length above 5? -1: a program may have it on either side. */
static int
is_long(const lengths *l)
{
  mpq_t off;
  int is;

  mpq_init(off);
  mpq_set_ui(off, 5, 1);
  mpq_sub(off, l->t, off);
  is = mpq_sgn(off) > 0;
  mpq_abs(off, off);
  is = mpq_sgn(l->off) > 0 && mpq_cmp(off, l->off) <= 0 ? -1 : is;
  mpq_clear(off);
  return is;
}

/* y times the root of (t - 4) (t - 2) inf / ((inf - 4) (inf - 2) t), times that of c. t is above 5, so that the first root is off by no more than
 * two parts in 1 / off of itself. */
static void
rectify(clarke_number *y, const lengths *l, const clarke_hypers *h)
{
  clarke_number root;
  mpq_t q, less;

  mpq_inits(q, less, NULL);
  clarke_number_init(&root);
  mpq_div(q, l->inf, l->t);
  for (unsigned n = 2; n <= 4; n += 2) {
    mpq_set_ui(less, n, 1);
    mpq_sub(less, l->t, less);
    mpq_mul(q, q, less);
    mpq_set_ui(less, n, 1);
    mpq_sub(less, l->inf, less);
    mpq_div(q, q, less);
  }
  mpq_mul(q, q, l->c);
  clarke_number_set_q(&root, q);
  clarke_number_analytic(&root, NULL, CLARKE_FN_SQRT, &root, BITS);
  clarke_number_mul(y, y, &root, BITS);
  clarke_piece_round(y, h, NULL, y, NULL, NULL);
  clarke_piece_share(y, h, NULL, l->c, y);
  if (mpq_sgn(l->off) != 0) {
    mpq_mul_2exp(q, l->off, 2);
    clarke_piece_widen(y, q, y);
  }
  clarke_number_clear(&root);
  mpq_clears(q, less, NULL);
}

static clarke_status
step_radam(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  clarke_number y;
  clarke_status status = CLARKE_OK;
  lengths l;
  mpq_t q;
  int is;

  mpq_init(q);
  clarke_number_init(&y);
  lengths_init(&l, h, k);
  clarke_piece_first_moment(e, g, h);
  clarke_piece_second_moment(e, g, h);
  clarke_number_set(&y, &e->slot[CLARKE_SLOT_M]);
  is = is_long(&l);
  mpq_set_ui(q, 1, 1);
  if (is < 0)
    status = clarke_fail(err, CLARKE_EVAGUE, "rho_t is so near 5 that floats may have it on either side");
  else if (is > 0)
    status = clarke_piece_precondition(&y, &e->slot[CLARKE_SLOT_M], e, q, h, err);
  if (is > 0)
    rectify(&y, &l, h);
  clarke_piece_rest_of_power(q, h->of[CLARKE_HYPER_MOMENTUM], k + 1, h);
  clarke_piece_round(&y, h, NULL, &y, NULL, NULL);
  clarke_piece_share(&y, h, NULL, q, &y);
  mpq_div(q, h->of[CLARKE_HYPER_STEP], q);
  clarke_piece_descend(e, q, &y, h);
  clarke_number_clear(&y);
  lengths_clear(&l);
  mpq_clear(q);
  return status;
}

/* --- ASGD ------------------------------------------------------------------------------------------------------------ */

/* base = 1 + lambd lr k, whose power alpha divides the step size */
void
clarke_rule_asgd_eta(clarke_number *eta, const clarke_hypers *h, size_t k)
{
  clarke_number power;
  mpq_t base, q;

  mpq_inits(base, q, NULL);
  clarke_number_init(&power);
  mpq_set_ui(base, k, 1);
  mpq_mul(base, base, h->of[CLARKE_HYPER_LAMBD]);
  mpq_mul(base, base, h->of[CLARKE_HYPER_STEP]);
  mpq_set_ui(q, 1, 1);
  mpq_add(base, base, q);
  clarke_number_set_q(&power, base);
  clarke_number_analytic(&power, NULL, CLARKE_FN_LOG, &power, BITS);
  mpq_neg(q, h->of[CLARKE_HYPER_ALPHA]);
  clarke_number_set_si(eta, 0);
  clarke_number_addmul_q(eta, q, &power, BITS);
  clarke_number_analytic(&power, NULL, CLARKE_FN_EXP, eta, BITS);
  clarke_number_set_si(eta, 0);
  clarke_number_addmul_q(eta, h->of[CLARKE_HYPER_STEP], &power, BITS);
  clarke_piece_share(eta, h, NULL, NULL, eta);
  clarke_number_clear(&power);
  mpq_clears(base, q, NULL);
}

void
clarke_rule_asgd_mu(mpq_t mu, const clarke_hypers *h, size_t k)
{
  mpq_t one;

  mpq_init(one);
  mpq_set_ui(one, 1, 1);
  mpq_set_ui(mu, k, 1);
  mpq_sub(mu, mu, h->of[CLARKE_HYPER_T0]);
  if (mpq_cmp(mu, one) < 0)
    mpq_set(mu, one);
  mpq_inv(mu, mu);
  mpq_clear(one);
}

/* theta -= q eta x; q NULL: 1 */
static void
descend_by(clarke_step_entry *e, mpq_srcptr q, const clarke_number *eta, const clarke_number *x, const clarke_hypers *h)
{
  clarke_number by, start;

  clarke_number_init(&by);
  clarke_number_init(&start);
  clarke_number_mul(&by, eta, x, BITS);
  if (q != NULL) {
    clarke_number_addmul_q(&start, q, &by, BITS);
    clarke_number_set(&by, &start);
  }
  clarke_number_set(&start, &e->theta);
  clarke_number_sub(&e->theta, &e->theta, &by, BITS);
  if (clarke_number_sign(&by) != 0)
    clarke_piece_round(&e->theta, h, NULL, &start, NULL, &by);
  clarke_number_clear(&by);
  clarke_number_clear(&start);
}

/* theta (1 - lambd eta_k) - eta_k g; ax + mu_k (theta - ax) */
static clarke_status
step_asgd(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  clarke_number *const ax = &e->slot[CLARKE_SLOT_AX], eta, start;
  mpq_t mu, rest;

  (void)err;
  mpq_inits(mu, rest, NULL);
  clarke_number_init(&eta);
  clarke_number_init(&start);
  clarke_rule_asgd_eta(&eta, h, k);
  clarke_rule_asgd_mu(mu, h, k);
  clarke_number_set(&start, &e->theta);
  if (mpq_sgn(h->of[CLARKE_HYPER_LAMBD]) != 0)
    descend_by(e, h->of[CLARKE_HYPER_LAMBD], &eta, &start, h);
  descend_by(e, NULL, &eta, g, h);
  clarke_piece_rest(rest, mu);
  if (mpq_sgn(rest) == 0)
    clarke_number_set(ax, &e->theta);
  else {
    clarke_number_sub(&start, &e->theta, ax, BITS);
    clarke_piece_mix(ax, rest, mu, &e->theta, h);
    clarke_piece_share(ax, h, mu, NULL, &start);
  }
  clarke_number_clear(&eta);
  clarke_number_clear(&start);
  mpq_clears(mu, rest, NULL);
  return CLARKE_OK;
}

/* --- Rprop ----------------------------------------------------------------------------------------------------------- */

/* The sign of g prev, which are exact; 2: the product is so small that in floats it may vanish. */
static int
agreement(const clarke_number *g, const clarke_number *prev, const clarke_hypers *h)
{
  mpq_t product, least;
  int sign;

  if (!g->exact || !prev->exact)
    return clarke_number_sign(g) == 0 || clarke_number_sign(prev) == 0 ? 0 : 2;
  mpq_inits(product, least, NULL);
  mpq_mul(product, g->q, prev->q);
  sign = mpq_sgn(product);
  mpq_abs(product, product);
  clarke_piece_parts(least, 1, h->rounding.tiny);
  if (sign != 0 && h->rounding.unit != 0 && mpq_cmp(product, least) < 0)
    sign = 2;
  mpq_clears(product, least, NULL);
  return sign;
}

/* size = that times the factor, in its bounds */
static void
resize(clarke_number *size, mpq_srcptr factor, const clarke_hypers *h)
{
  static const clarke_hyper ends[] = {CLARKE_HYPER_SIZE_MIN, CLARKE_HYPER_SIZE_MAX};
  clarke_number x, bound;

  clarke_number_init(&x);
  clarke_number_init(&bound);
  if (factor != NULL) {
    clarke_piece_add(&x, factor, size, h);
    clarke_number_set(size, &x);
  }
  for (int i = 0; i < 2; i++) { /* the upper one: -max(-size, -bound) */
    clarke_number_set_q(&bound, h->of[ends[i]]);
    clarke_piece_round(&bound, h, NULL, &bound, NULL, NULL);
    if (i == 1) {
      negate(size, size);
      negate(&bound, &bound);
    }
    clarke_piece_larger(size, size, &bound);
    if (i == 1)
      negate(size, size);
  }
  clarke_number_clear(&x);
  clarke_number_clear(&bound);
}

static clarke_status
step_rprop(clarke_step_entry *e, const clarke_number *g, const clarke_hypers *h, size_t k, clarke_error *err)
{
  clarke_number *const size = &e->slot[CLARKE_SLOT_SIZE], *const prev = &e->slot[CLARKE_SLOT_PREV];
  const int sign = agreement(g, prev, h);
  mpq_t one;

  (void)k;
  if (sign == 2)
    return clarke_fail(err, CLARKE_EVAGUE, "the product of the gradient and the one before is so small that floats may have 0: a sign is not known");
  resize(size, sign > 0 ? h->of[CLARKE_HYPER_ETA_PLUS] : sign < 0 ? h->of[CLARKE_HYPER_ETA_MINUS] : NULL, h);
  clarke_number_set_si(prev, 0);
  if (sign >= 0)
    clarke_number_set(prev, g);
  mpq_init(one);
  mpq_set_si(one, -clarke_number_sign(prev), 1);
  clarke_piece_add(&e->theta, one, size, h);
  mpq_clear(one);
  return CLARKE_OK;
}

/* --- averages ------------------------------------------------------------------------------------------------------- */

/* b theta + (1 - b) x: x, the parameters that are averaged, is in the gradient's place. */
static clarke_status
step_ema(clarke_step_entry *e, const clarke_number *x, const clarke_hypers *h, size_t k, clarke_error *err)
{
  mpq_t b;

  (void)k;
  (void)err;
  mpq_init(b);
  clarke_piece_rest(b, h->of[CLARKE_HYPER_MOMENTUM]);
  if (mpq_sgn(h->of[CLARKE_HYPER_MOMENTUM]) == 0) /* the first: a copy */
    clarke_number_set(&e->theta, x);
  else
    clarke_piece_mix(&e->theta, h->of[CLARKE_HYPER_MOMENTUM], b, x, h);
  mpq_clear(b);
  return CLARKE_OK;
}

/* --- the table ------------------------------------------------------------------------------------------------------- */

#define STEP [CLARKE_HYPER_STEP] = true
#define M [CLARKE_SLOT_M] = true
#define V [CLARKE_SLOT_V] = true
#define U [CLARKE_SLOT_U] = true

const clarke_rule clarke_torch_rules[CLARKE_N_TORCH_RULES] = {
  {.name = "torch-adadelta", .where = "torch.optim.Adadelta", .says = "d = g sqrt(u + eps) / sqrt(v + eps); u = s u + (1 - s) d^2; theta - eta d",
   .slot = {V, U}, .needs = {STEP}, .sigma = "0.9", .eps = "1e-6", .weight_decay = "0", .inside = true, .coupled = true, .step = step_adadelta},
  {.name = "torch-adamax", .where = "torch.optim.Adamax", .says = "u = max(s u, |g| + eps); theta - eta m / (1 - b^k) / u", .slot = {M, U},
   .needs = {STEP}, .momentum = "0.9", .sigma = "0.999", .eps = "1e-8", .weight_decay = "0", .coupled = true, .step = step_adamax},
  {.name = "torch-radam", .where = "torch.optim.RAdam", .says = "adam-corrected, rectified where rho_t > 5, else without v", .slot = {M, V},
   .needs = {STEP}, .momentum = "0.9", .sigma = "0.999", .eps = "1e-8", .weight_decay = "0", .coupled = true, .step = step_radam},
  {.name = "torch-asgd", .where = "torch.optim.ASGD", .says = "theta (1 - lambd eta_k) - eta_k g; ax + mu_k (theta - ax)",
   .slot = {[CLARKE_SLOT_AX] = true}, .needs = {STEP}, .weight_decay = "0", .coupled = true, .step = step_asgd,
   .others = {[CLARKE_HYPER_ALPHA] = "0.75", [CLARKE_HYPER_LAMBD] = "1e-4", [CLARKE_HYPER_T0] = "1e6"}},
  {.name = "torch-rprop", .where = "torch.optim.Rprop", .says = "size times eta-plus, or eta-minus, by the sign of g prev; theta - sign(g) size",
   .slot = {[CLARKE_SLOT_PREV] = true, [CLARKE_SLOT_SIZE] = true}, .needs = {STEP}, .coupled = true, .step = step_rprop,
   .others = {[CLARKE_HYPER_ETA_MINUS] = "0.5", [CLARKE_HYPER_ETA_PLUS] = "1.2", [CLARKE_HYPER_SIZE_MIN] = "1e-6", [CLARKE_HYPER_SIZE_MAX] = "50"}},
  {.name = "ema", .where = "torch.optim.swa_utils", .says = "b theta + (1 - b) x, the parameters x in the gradient's place",
   .needs = {[CLARKE_HYPER_MOMENTUM] = true}, .step = step_ema},
};
