/* The rules of optimizers (docs/proof-format.md, "Steps of optimizers"), each a formula of an entry. Entries are intervals, which are exact
 * as long as no root is taken. */
#include "check/update/update_rule.h"
#include "check/base/elementary.h"

#include <string.h>

/* ---- Pieces of rules */

static void
copy(interval *y, const interval *x)
{
  interval_set(y, &x->lo, &x->hi);
}

/* y = a y + b x */
static void
mix(interval *y, const rational *a, const rational *b, const interval *x)
{
  INTERVAL(sum);
  interval_add(&sum, y, a);
  interval_add(&sum, x, b);
  interval_round(&sum);
  copy(y, &sum);
}

/* y -= q x */
static void
subtract(interval *y, const rational *q, const interval *x)
{
  RATIONAL(minus);
  mpq_neg(&minus, q);
  interval_add(y, x, &minus);
  interval_round(y);
}

static void
descend(update_entry *e, const rational *q, const interval *x)
{
  subtract(&e->slot[THETA], q, x);
}

static void
square(interval *y, const interval *g)
{
  interval_mul(y, g, g);
  if (mpq_sgn(&y->lo) < 0) /* g is of both signs */
    mpq_set(&y->lo, &zero);
}

/* v = sigma v + (1 - sigma) g^2 */
static void
second_moment(const update *u, update_entry *e, const interval *g)
{
  INTERVAL(s);
  square(&s, g);
  mix(&e->slot[V], &u->number[SIGMA], &u->rest[SIGMA], &s);
}

static void
first_moment(const update *u, update_entry *e, const interval *g)
{
  mix(&e->slot[M], &u->number[MOMENTUM], &u->rest[MOMENTUM], g);
}

/* y = 1 / sqrt(v / c + eps), or 1 / (sqrt(v / c) + eps) */
static void
inverse_root(const update *u, interval *y, const interval *v, const interval *c)
{
  INTERVAL(t);
  require(mpq_sgn(&v->lo) >= 0, "v is below 0");
  mpq_div(&t.lo, &v->lo, &c->hi);
  mpq_div(&t.hi, &v->hi, &c->lo);
  if (u->inside) {
    mpq_add(&t.lo, &t.lo, &u->number[EPS]);
    mpq_add(&t.hi, &t.hi, &u->number[EPS]);
  }
  sqrt_end(&t.lo, &t.lo, false);
  sqrt_end(&t.hi, &t.hi, true);
  if (!u->inside) {
    mpq_add(&t.lo, &t.lo, &u->number[EPS]);
    mpq_add(&t.hi, &t.hi, &u->number[EPS]);
  }
  if (mpq_sgn(&t.hi) == 0 || mpq_sgn(&t.lo) <= 0)
    leave(UNDECIDED, "a root is not known to be above 0");
  mpq_inv(&y->lo, &t.hi);
  mpq_inv(&y->hi, &t.lo);
}

/* y = x times that; 0 where x is */
static void
precondition(const update *u, interval *y, const interval *x, const update_entry *e, const interval *c)
{
  INTERVAL(inverse);
  copy(y, x);
  if (interval_zero(x))
    return;
  inverse_root(u, &inverse, &e->slot[V], c);
  interval_mul(y, x, &inverse);
  interval_round(y);
}

/* ---- Rules */

static void
step_sgd(const update *u, update_entry *e, const interval *g)
{
  descend(e, &u->number[ETA], g);
}

static void
step_momentum(const update *u, update_entry *e, const interval *g)
{
  first_moment(u, e, g);
  descend(e, &u->number[ETA], &e->slot[M]);
}

static void
step_torch_sgd(const update *u, update_entry *e, const interval *g)
{
  INTERVAL(d);
  if (u->k == 0)
    copy(&e->slot[M], g);
  else
    mix(&e->slot[M], &u->number[MOMENTUM], &u->rest[DAMPENING], g);
  copy(&d, u->nesterov ? g : &e->slot[M]);
  if (u->nesterov)
    interval_add(&d, &e->slot[M], &u->number[MOMENTUM]);
  descend(e, &u->number[ETA], mpq_sgn(&u->number[MOMENTUM]) == 0 ? g : &d);
}

static void
step_adagrad(const update *u, update_entry *e, const interval *g)
{
  INTERVAL(y);
  square(&y, g);
  interval_add(&e->slot[V], &y, &plus_one);
  precondition(u, &y, g, e, &exactly_one);
  descend(e, &u->number[ETA], &y);
}

static void
step_rmsprop(const update *u, update_entry *e, const interval *g)
{
  INTERVAL(y);
  second_moment(u, e, g);
  precondition(u, &y, g, e, &exactly_one);
  mix(&e->slot[M], &u->number[MOMENTUM], &plus_one, &y);
  descend(e, &u->number[ETA], &e->slot[M]);
}

/* y = x / c, where c is above 0 */
void
update_divide(interval *y, const interval *x, const interval *c)
{
  INTERVAL(inverse);
  mpq_inv(&inverse.lo, &c->hi);
  mpq_inv(&inverse.hi, &c->lo);
  interval_mul(y, x, &inverse);
  interval_round(y);
}

/* Where nothing is corrected, both divisors are 1. */
static void
step_adam(const update *u, update_entry *e, const interval *g)
{
  INTERVAL(y);
  first_moment(u, e, g);
  second_moment(u, e, g);
  precondition(u, &y, &e->slot[M], e, &u->shared[REST_V]);
  update_divide(&y, &y, &u->shared[REST_M]);
  descend(e, &u->number[ETA], &y);
}

/* TensorFlow's: epsilon stands beside the root of v itself, whose correction is a factor of the step. */
static void
step_tensorflow(const update *u, update_entry *e, const interval *g)
{
  INTERVAL(y);
  first_moment(u, e, g);
  second_moment(u, e, g);
  precondition(u, &y, &e->slot[M], e, &exactly_one);
  interval_mul(&y, &y, &u->shared[BY_M]);
  interval_round(&y);
  update_divide(&y, &y, &u->shared[REST_M]);
  descend(e, &u->number[ETA], &y);
}

/* Of m and g by their factors, which all entries share. */
static void
nadam(const update *u, update_entry *e, const interval *g, const interval *of_v)
{
  INTERVAL(x);
  INTERVAL(y);
  first_moment(u, e, g);
  second_moment(u, e, g);
  interval_mul(&x, &e->slot[M], &u->shared[BY_M]);
  interval_addmul(&x, g, &u->shared[BY_G]);
  precondition(u, &y, &x, e, of_v);
  descend(e, &u->number[ETA], &y);
}

static void
step_nadam(const update *u, update_entry *e, const interval *g)
{
  nadam(u, e, g, &exactly_one);
}

static void
step_torch_nadam(const update *u, update_entry *e, const interval *g)
{
  nadam(u, e, g, &u->shared[REST_V]);
}

/* m = mu m - eta g; theta + m */
static void
step_nag(const update *u, update_entry *e, const interval *g)
{
  RATIONAL(mu);
  RATIONAL(minus);
  mpq_set_ui(&mu, u->k, u->k + 3);
  mpq_canonicalize(&mu);
  mpq_neg(&minus, &u->number[ETA]);
  mix(&e->slot[M], u->grows ? &mu : &u->number[MOMENTUM], &minus, g);
  subtract(&e->slot[THETA], &minus_one, &e->slot[M]);
}

/* psi (1 - g/b) + theta (g/b - g a); theta (1 + g/b - g a) - (g/b) psi - g b x */
static void
inertial(const update *u, update_entry *e, const interval *x)
{
  const rational *gamma = &u->number[ETA];
  INTERVAL(old);
  RATIONAL(share);
  RATIONAL(by);
  RATIONAL(rest);
  copy(&old, &e->slot[PSI]);
  mpq_div(&share, gamma, &u->number[BETA]);
  mpq_mul(&by, gamma, &u->number[ALPHA]);
  mpq_sub(&by, &share, &by);
  mpq_sub(&rest, &plus_one, &share);
  mix(&e->slot[PSI], &rest, &by, &e->slot[THETA]);
  mpq_add(&rest, &plus_one, &by);
  mpq_neg(&by, &share);
  mix(&e->slot[THETA], &rest, &by, &old);
  mpq_mul(&by, gamma, &u->number[BETA]);
  descend(e, &by, x);
}

static void
step_innaprop(const update *u, update_entry *e, const interval *g)
{
  INTERVAL(y);
  second_moment(u, e, g);
  precondition(u, &y, g, e, &u->shared[REST_V]);
  inertial(u, e, &y);
}

/* m s + (1 - s) (1 - a b) g, s = 1 / (1 + a^2 eta); theta - eta (m + a b g) / root */
static void
dinadam(const update *u, update_entry *e, const interval *g, bool minus)
{
  INTERVAL(x);
  RATIONAL(s);
  RATIONAL(ab);
  RATIONAL(by);
  mpq_mul(&s, &u->number[ALPHA], &u->number[ALPHA]);
  mpq_mul(&s, &s, &u->number[ETA]);
  mpq_add(&s, &s, &plus_one);
  mpq_inv(&s, &s);
  mpq_mul(&ab, &u->number[ALPHA], &u->number[BETA]);
  mpq_sub(&by, &plus_one, &ab);
  mpq_mul(&x.lo, &by, &s);
  mpq_sub(&by, &by, &x.lo);
  mpq_set(&x.lo, &zero);
  second_moment(u, e, g);
  mix(&e->slot[M], &s, &by, g);
  copy(&x, &e->slot[M]);
  if (minus)
    mpq_neg(&ab, &ab);
  interval_add(&x, g, &ab);
  precondition(u, &x, &x, e, &exactly_one);
  descend(e, &u->number[ETA], &x);
}

static void
step_dinadam(const update *u, update_entry *e, const interval *g)
{
  dinadam(u, e, g, false);
}

static void
step_dinadam_printed(const update *u, update_entry *e, const interval *g)
{
  dinadam(u, e, g, true);
}

/* ---- The table */

#define OF_M [M] = true
#define OF_V [V] = true
#define OF_PSI [PSI] = true
#define WITH(...)                                                                                                      \
  {                                                                                                                    \
    [ETA] = true, [DECAY] = true, __VA_ARGS__                                                                          \
  }
#define RMSPROP "v = s v + (1 - s) g^2; m = b m + g / root(v); theta - eta m"
#define ADAM WITH([SIGMA] = true, [MOMENTUM] = true, [EPS] = true)
#define NADAM WITH([SIGMA] = true, [MOMENTUM] = true, [EPS] = true, [MOMENTUM_DECAY] = true)
#define MU "mu_k = b (1 - 0.96^(k momentum-decay) / 2)"
#define INNA WITH([ALPHA] = true, [BETA] = true, [SIGMA] = true, [EPS] = true)

/* Rules that differ in their defaults alone, which a proof states. */
#define CORRECTED_ADAM(called)                                                                                         \
  {                                                                                                                    \
    .name = called,                                                                                                    \
    .says = "m = b m + (1 - b) g; v = s v + (1 - s) g^2; theta - eta (m / (1 - b^k)) / root(v / (1 - s^k)), k from 1", \
    .step = step_adam, .slot = {OF_M, OF_V}, .number = ADAM, .corrects = true                                          \
  }
#define ADAGRAD(called)                                                                                                \
  {                                                                                                                    \
    .name = called, .says = "v + g^2; theta - eta g / root(v)", .step = step_adagrad, .slot = {OF_V},                  \
    .number = WITH([EPS] = true)                                                                                       \
  }

static const update_rule rules[] = {
    {.name = "sgd", .says = "theta - eta g", .step = step_sgd, .number = WITH()},
    {.name = "momentum",
     .says = "m = b m + (1 - b) g; theta - eta m",
     .step = step_momentum,
     .slot = {OF_M},
     .number = WITH([MOMENTUM] = true)},
    {.name = "nag",
     .says = "m = mu m - eta g; theta + m",
     .step = step_nag,
     .slot = {OF_M},
     .number = WITH([MOMENTUM] = true),
     .has_growth = true},
    {.name = "torch-sgd",
     .says = "m = b m + (1 - dampening) g, the first m is g; theta - eta m, with Nesterov theta - eta (g + b m)",
     .step = step_torch_sgd,
     .slot = {OF_M},
     .number = WITH([MOMENTUM] = true, [DAMPENING] = true)},
    ADAGRAD("adagrad"),
    ADAGRAD("torch-adagrad"),
    {.name = "rmsprop", .says = RMSPROP, .step = step_rmsprop, .slot = {OF_M, OF_V}, .number = ADAM, .v_is_one = true},
    {.name = "torch-rmsprop", .says = RMSPROP, .step = step_rmsprop, .slot = {OF_M, OF_V}, .number = ADAM},
    {.name = "adam",
     .says = "m = b m + (1 - b) g; v = s v + (1 - s) g^2; theta - eta m / root(v)",
     .step = step_adam,
     .slot = {OF_M, OF_V},
     .number = ADAM},
    CORRECTED_ADAM("adam-corrected"),
    CORRECTED_ADAM("adamw"),
    CORRECTED_ADAM("torch-adam"),
    CORRECTED_ADAM("torch-adamw"),
    {.name = "tensorflow-adam",
     .says = "m = b m + (1 - b) g; v = s v + (1 - s) g^2; theta - eta sqrt(1 - s^k) / (1 - b^k) m / root(v), k from 1",
     .step = step_tensorflow,
     .shares = ROOT,
     .slot = {OF_M, OF_V},
     .number = ADAM,
     .corrects = true},
    {.name = "nadam",
     .says = "m = b m + (1 - b) g; v = s v + (1 - s) g^2; " MU
             "; theta - eta (mu_{k+1} m + (1 - mu_k) g) / root(v), k from 0",
     .step = step_nadam,
     .shares = FACTORS,
     .slot = {OF_M, OF_V},
     .number = NADAM},
    {.name = "torch-nadam",
     .says = "m = b m + (1 - b) g; v = s v + (1 - s) g^2; " MU ", p_k = mu_1 ... mu_k; theta - eta (mu_{k+1} m / "
             "(1 - p_{k+1}) + (1 - mu_k) g / (1 - p_k)) / root(v / (1 - s^k)), k from 1",
     .step = step_torch_nadam,
     .shares = PRODUCTS,
     .slot = {OF_M, OF_V},
     .number = NADAM,
     .corrects = true},
    {.name = "inna",
     .says = "psi (1 - eta/beta) + theta (eta/beta - eta alpha); theta (1 + eta/beta - eta alpha) - (eta/beta) psi - "
             "eta beta g",
     .step = inertial,
     .slot = {OF_PSI},
     .number = WITH([ALPHA] = true, [BETA] = true)},
    {.name = "innaprop",
     .says = "v = s v + (1 - s) g^2; inna of g / root(v)",
     .step = step_innaprop,
     .slot = {OF_PSI, OF_V},
     .number = INNA},
    {.name = "innaprop-released",
     .says = "v = s v + (1 - s) g^2; inna of g / root(v / (1 - s^k)), k from 1",
     .step = step_innaprop,
     .slot = {OF_PSI, OF_V},
     .number = INNA,
     .corrects = true},
    {.name = "dinadam",
     .says = "c = 1 / (1 + alpha^2 eta); m = c m + (1 - c) (1 - alpha beta) g; v = s v + (1 - s) g^2; theta - eta (m + "
             "alpha beta g) / root(v)",
     .step = step_dinadam,
     .slot = {OF_M, OF_V},
     .number = INNA},
    {.name = "dinadam-printed",
     .says = "dinadam, with m - alpha beta g",
     .step = step_dinadam_printed,
     .slot = {OF_M, OF_V},
     .number = INNA},
};

const update_rule *
update_rule_named(const char *name)
{
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (strcmp(rules[i].name, name) == 0)
      return &rules[i];
  return NULL;
}

/* ---- Steps */

void
update_step(const update *u, update_entry *e, const rational *gradient)
{
  INTERVAL(g);
  RATIONAL(q);
  interval_set(&g, gradient, gradient);
  if (u->coupled)
    interval_add(&g, &e->slot[THETA], &u->number[DECAY]);
  else {
    INTERVAL(start);
    copy(&start, &e->slot[THETA]);
    mpq_mul(&q, &u->number[DECAY], &u->number[ETA]);
    subtract(&e->slot[THETA], &q, &start);
  }
  u->of->step(u, e, &g);
}
