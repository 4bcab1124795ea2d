/* The rules of optimizers (docs/proof-format.md, "Steps of optimizers"), each a formula of an entry. Entries are intervals, which are exact
 * as long as no root is taken. */
#include "check/update/update_rule.h"

#include <string.h>

/* ---- Rules */

static void
step_sgd(const update *u, update_entry *e, const interval *g)
{
  update_descend(e, &u->number[ETA], g);
}

static void
step_momentum(const update *u, update_entry *e, const interval *g)
{
  update_first_moment(u, e, g);
  update_descend(e, &u->number[ETA], &e->slot[M]);
}

static void
step_torch_sgd(const update *u, update_entry *e, const interval *g)
{
  INTERVAL(d);
  if (u->k == 0)
    update_copy(&e->slot[M], g);
  else
    update_mix(&e->slot[M], &u->number[MOMENTUM], &u->rest[DAMPENING], g);
  update_copy(&d, u->nesterov ? g : &e->slot[M]);
  if (u->nesterov)
    interval_add(&d, &e->slot[M], &u->number[MOMENTUM]);
  update_descend(e, &u->number[ETA], mpq_sgn(&u->number[MOMENTUM]) == 0 ? g : &d);
}

static void
step_adagrad(const update *u, update_entry *e, const interval *g)
{
  INTERVAL(y);
  update_square(&y, g);
  interval_add(&e->slot[V], &y, &plus_one);
  update_precondition(u, &y, g, e, &exactly_one);
  update_descend(e, &u->number[ETA], &y);
}

static void
step_rmsprop(const update *u, update_entry *e, const interval *g)
{
  INTERVAL(y);
  update_second_moment(u, e, g);
  update_precondition(u, &y, g, e, &exactly_one);
  update_mix(&e->slot[M], &u->number[MOMENTUM], &plus_one, &y);
  update_descend(e, &u->number[ETA], &e->slot[M]);
}

/* Where nothing is corrected, both divisors are 1. */
static void
step_adam(const update *u, update_entry *e, const interval *g)
{
  INTERVAL(y);
  update_first_moment(u, e, g);
  update_second_moment(u, e, g);
  update_precondition(u, &y, &e->slot[M], e, &u->shared[REST_V]);
  interval_div(&y, &y, &u->shared[REST_M]);
  update_descend(e, &u->number[ETA], &y);
}

/* TensorFlow's: epsilon stands beside the root of v itself, whose correction is a factor of the step. */
static void
step_tensorflow(const update *u, update_entry *e, const interval *g)
{
  INTERVAL(y);
  update_first_moment(u, e, g);
  update_second_moment(u, e, g);
  update_precondition(u, &y, &e->slot[M], e, &exactly_one);
  interval_mul(&y, &y, &u->shared[BY_M]);
  interval_round(&y);
  interval_div(&y, &y, &u->shared[REST_M]);
  update_descend(e, &u->number[ETA], &y);
}

/* NAdam's direction is made of m and g by their factors, which all entries share. */
static void
nadam(const update *u, update_entry *e, const interval *g, const interval *of_v)
{
  INTERVAL(x);
  INTERVAL(y);
  update_first_moment(u, e, g);
  update_second_moment(u, e, g);
  interval_mul(&x, &e->slot[M], &u->shared[BY_M]);
  interval_addmul(&x, g, &u->shared[BY_G]);
  update_precondition(u, &y, &x, e, of_v);
  update_descend(e, &u->number[ETA], &y);
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
  update_mix(&e->slot[M], u->grows ? &mu : &u->number[MOMENTUM], &minus, g);
  update_subtract(&e->slot[THETA], &minus_one, &e->slot[M]);
}

/* x = g root(u) / root(v), 0 where g is; u = s u + (1 - s) x^2; theta - eta x */
static void
step_adadelta(const update *u, update_entry *e, const interval *g)
{
  INTERVAL(x);
  INTERVAL(root);
  update_second_moment(u, e, g);
  update_precondition(u, &x, g, e, &exactly_one);
  if (!interval_zero(g)) {
    update_root(u, &root, &e->slot[U], &exactly_one);
    interval_mul(&x, &x, &root);
    interval_round(&x);
  }
  update_square(&root, &x);
  update_mix(&e->slot[U], &u->number[SIGMA], &u->rest[SIGMA], &root);
  update_descend(e, &u->number[ETA], &x);
}

/* u = max(s u, |g| + eps) */
static void
step_adamax(const update *u, update_entry *e, const interval *g)
{
  INTERVAL(y);
  INTERVAL(minus);
  update_first_moment(u, e, g);
  interval_add(&minus, g, &minus_one);
  update_copy(&y, g);
  update_larger(&y, &minus);
  mpq_add(&y.lo, &y.lo, &u->number[EPS]);
  mpq_add(&y.hi, &y.hi, &u->number[EPS]);
  update_copy(&minus, &e->slot[U]);
  interval_set(&e->slot[U], &zero, &zero);
  interval_add(&e->slot[U], &minus, &u->number[SIGMA]);
  update_larger(&e->slot[U], &y);
  interval_round(&e->slot[U]);
  if (mpq_sgn(&e->slot[U].lo) <= 0)
    leave(UNDECIDED, "u is not known to be above 0");
  interval_div(&y, &e->slot[M], &e->slot[U]);
  interval_div(&y, &y, &u->shared[REST_M]);
  update_descend(e, &u->number[ETA], &y);
}

/* BY_M: the factor of what is long enough to be rectified. */
static void
step_radam(const update *u, update_entry *e, const interval *g)
{
  INTERVAL(y);
  update_first_moment(u, e, g);
  update_second_moment(u, e, g);
  update_copy(&y, &e->slot[M]);
  if (u->is_long) {
    update_precondition(u, &y, &e->slot[M], e, &exactly_one);
    interval_mul(&y, &y, &u->shared[BY_M]);
    interval_round(&y);
  }
  interval_div(&y, &y, &u->shared[REST_M]);
  update_descend(e, &u->number[ETA], &y);
}

/* BY_G: eta_k; BY_M: mu_k, exactly. */
static void
step_asgd(const update *u, update_entry *e, const interval *g)
{
  INTERVAL(x);
  RATIONAL(rest);
  interval_mul(&x, &u->shared[BY_G], &e->slot[THETA]);
  update_subtract(&e->slot[THETA], &u->number[LAMBD], &x);
  interval_mul(&x, &u->shared[BY_G], g);
  update_descend(e, &plus_one, &x);
  mpq_sub(&rest, &plus_one, &u->shared[BY_M].lo);
  update_mix(&e->slot[AX], &rest, &u->shared[BY_M].lo, &e->slot[THETA]);
}

/* The numbers of an entry are rationals. size is changed by the sign of g prev; where that is -1, no step is made, and prev is 0. */
static void
step_rprop(const update *u, update_entry *e, const interval *g)
{
  rational *size = &e->slot[SIZE].lo;
  require(interval_exact(g) && interval_exact(&e->slot[PREV]) && interval_exact(&e->slot[SIZE]),
          "numbers that are exact are expected");
  int sign = mpq_sgn(&g->lo) * mpq_sgn(&e->slot[PREV].lo);
  if (sign != 0)
    mpq_mul(size, size, &u->number[sign > 0 ? ETA_PLUS : ETA_MINUS]);
  if (mpq_cmp(size, &u->number[LEAST_SIZE]) < 0)
    mpq_set(size, &u->number[LEAST_SIZE]);
  if (mpq_cmp(size, &u->number[MOST_SIZE]) > 0)
    mpq_set(size, &u->number[MOST_SIZE]);
  mpq_set(&e->slot[SIZE].hi, size);
  interval_set(&e->slot[PREV], &zero, &zero);
  if (sign >= 0)
    update_copy(&e->slot[PREV], g);
  RATIONAL(by);
  mpq_set_si(&by, -mpq_sgn(&e->slot[PREV].lo), 1);
  interval_add(&e->slot[THETA], &e->slot[SIZE], &by);
}

/* The parameters that are averaged are in the gradient's place. */
static void
step_ema(const update *u, update_entry *e, const interval *x)
{
  update_mix(&e->slot[THETA], &u->number[MOMENTUM], &u->rest[MOMENTUM], x);
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
  update_copy(&old, &e->slot[PSI]);
  mpq_div(&share, gamma, &u->number[BETA]);
  mpq_mul(&by, gamma, &u->number[ALPHA]);
  mpq_sub(&by, &share, &by);
  mpq_sub(&rest, &plus_one, &share);
  update_mix(&e->slot[PSI], &rest, &by, &e->slot[THETA]);
  mpq_add(&rest, &plus_one, &by);
  mpq_neg(&by, &share);
  update_mix(&e->slot[THETA], &rest, &by, &old);
  mpq_mul(&by, gamma, &u->number[BETA]);
  update_descend(e, &by, x);
}

static void
step_innaprop(const update *u, update_entry *e, const interval *g)
{
  INTERVAL(y);
  update_second_moment(u, e, g);
  update_precondition(u, &y, g, e, &u->shared[REST_V]);
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
  update_second_moment(u, e, g);
  update_mix(&e->slot[M], &s, &by, g);
  update_copy(&x, &e->slot[M]);
  if (minus)
    mpq_neg(&ab, &ab);
  interval_add(&x, g, &ab);
  update_precondition(u, &x, &x, e, &exactly_one);
  update_descend(e, &u->number[ETA], &x);
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
#define OF_U [U] = true
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
    {.name = "torch-sparseadam",
     .says =
         "of entries that the gradient has: m = b m + (1 - b) g; v = s v + (1 - s) g^2; theta - eta sqrt(1 - s^k) / "
         "(1 - b^k) m / root(v), k from 1",
     .step = step_tensorflow,
     .shares = ROOT,
     .sparse = true,
     .slot = {OF_M, OF_V},
     .number = {[ETA] = true, [SIGMA] = true, [MOMENTUM] = true, [EPS] = true},
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
    {.name = "torch-adadelta",
     .says = "v = s v + (1 - s) g^2; d = g root(u) / root(v), root(u) as root(v); u = s u + (1 - s) d^2; theta - eta d",
     .step = step_adadelta,
     .slot = {OF_V, OF_U},
     .number = WITH([SIGMA] = true, [EPS] = true)},
    {.name = "torch-adamax",
     .says = "m = b m + (1 - b) g; u = max(s u, |g| + eps); theta - eta m / (1 - b^k) / u, k from 1",
     .step = step_adamax,
     .slot = {OF_M, OF_U},
     .number = ADAM,
     .corrects = true},
    {.name = "torch-radam",
     .says = "m = b m + (1 - b) g; v = s v + (1 - s) g^2; with p = 2 / (1 - s) - 1, q = p - 2 k s^k / (1 - s^k), k "
             "from 1: where q "
             "> 5, theta - eta m / (1 - b^k) / root(v) sqrt((1 - s^k) (q - 4) (q - 2) p / ((p - 4) (p - 2) q)), else "
             "theta - "
             "eta m / (1 - b^k)",
     .step = step_radam,
     .shares = LENGTH,
     .slot = {OF_M, OF_V},
     .number = ADAM,
     .corrects = true},
    {.name = "torch-asgd",
     .says = "eta_k = eta / (1 + lambd eta k)^alpha, mu_k = 1 / max(1, k - t0), k from 0; theta (1 - lambd eta_k) - "
             "eta_k g; ax + mu_k (theta - ax)",
     .step = step_asgd,
     .shares = AVERAGE,
     .slot = {[AX] = true},
     .number = WITH([ALPHA] = true, [LAMBD] = true, [T0] = true)},
    {.name = "torch-rprop",
     .says = "size times eta-plus where g prev > 0, eta-minus where < 0, from size-min to size-max; where g prev < 0, "
             "theta stays, and prev = 0; else theta - sign(g) size, and prev = g",
     .step = step_rprop,
     .slot = {[PREV] = true, [SIZE] = true},
     .number = {[ETA] = true, [ETA_MINUS] = true, [ETA_PLUS] = true, [LEAST_SIZE] = true, [MOST_SIZE] = true}},
    {.name = "torch-adafactor",
     .says = "w = t^beta2-decay, t from 1; of vectors v + w (g^2 - v), of others row + w (mean of the row's g^2 - "
             "row), so col, and v = row col / "
             "max(mean of row, eps); u = g / sqrt(max(v, eps^2)); theta - max(eps2, rms(theta)) min(eta, 1 / sqrt(t)) "
             "u / max(1, rms(u) / clip), "
             "rms the root of the mean of squares",
     .whole = update_adafactor,
     .slot = {OF_V, [ROW] = true, [COL] = true},
     .number = {[ETA] = true, [EPS] = true, [DECAY] = true, [BETA2_DECAY] = true, [EPS2] = true, [CLIP] = true}},
    {.name = "torch-muon",
     .says = "m = b m + (1 - b) g; x = m, with Nesterov (1 - b) g + b m; x / max(norm(x), eps), transposed if it has "
             "more rows than columns; "
             "ns-steps times x = ns-a x + (ns-b y + ns-c y^2) x, y = x x'; theta - eta f x, f^2 = max(1, rows / "
             "columns), or max(rows, columns) / 25",
     .whole = update_muon,
     .slot = {OF_M},
     .number = {[ETA] = true,
                [MOMENTUM] = true,
                [EPS] = true,
                [DECAY] = true,
                [NS_A] = true,
                [NS_B] = true,
                [NS_C] = true,
                [NS_STEPS] = true}},
    {.name = "torch-lbfgs",
     .says = "a step evaluates g, and again where its iterations go. An iteration: y = g - the g of the one before, s "
             "= t d of that, kept with ro = 1 / (y s) where y s > 1e-10, the last history-size of them, then H = y s / "
             "(y y), before 1; q = -g; from the last pair to the first a = ro s q, q - a y; q = H q; from the first to "
             "the last q + (a - ro y q) s; d = q; t = eta, in the first of all min(1, 1 / |g|_1) eta; theta + t d. It "
             "ends at max-iter iterations, at max-eval evaluations, where each |g| <= tolerance-grad, each |t d| <= "
             "tolerance-change, the loss changes by less than that, or g d > -tolerance-change: then theta stays",
     .evaluates = true,
     .number = {[ETA] = true,
                [MAX_ITER] = true,
                [MAX_EVAL] = true,
                [TOLERANCE_GRAD] = true,
                [TOLERANCE_CHANGE] = true,
                [HISTORY_SIZE] = true}},
    {.name = "ema",
     .says = "theta = b theta + (1 - b) x, where the gradient's numbers are x, the parameters that are averaged",
     .step = step_ema,
     .number = {[MOMENTUM] = true}},
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

bool
update_has(const update *u, int slot)
{
  return slot == THETA || (u->of->slot[slot] && !(slot == V && u->preconditioned));
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
    update_copy(&start, &e->slot[THETA]);
    mpq_mul(&q, &u->number[DECAY], &u->number[ETA]);
    update_subtract(&e->slot[THETA], &q, &start);
  }
  u->of->step(u, e, &g);
}
