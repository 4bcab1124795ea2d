#include "step/single.h"

#include <math.h>
#include <mpfr.h>
#include <string.h>

/* --- operations ------------------------------------------------------------------------------------------- */

/* Rounded to the type that operations compute in. Sums, products, quotients and roots of float32s have the right bits when they are made in
 * doubles and rounded again: 53 >= 2 * 24 + 2 (Figueroa, 1995). */
static double
fit(const clarke_single *s, double x)
{
  return s->dtype == CLARKE_F64 ? x : (double)(float)x;
}

/* To so many bits, ties to even; the smallest number is 2^least. */
static double
to_bits(double x, int bits, int least)
{
  int exponent;
  double unit;

  frexp(x, &exponent);
  unit = ldexp(1, exponent - bits > least ? exponent - bits : least);
  return copysign(nearbyint(x / unit) * unit, x);
}

/* What an operation leaves in memory. */
static double
stored(const clarke_single *s, double x)
{
  return s->dtype == CLARKE_BF16 ? to_bits(x, 8, -133) : s->dtype == CLARKE_F16 ? to_bits(x, 11, -24) : x;
}

double
clarke_single_round(clarke_dtype dtype, double x)
{
  const clarke_single s = {.dtype = dtype};

  return stored(&s, fit(&s, x));
}

/* a + b c, with one rounding or with two. */
static double
add_product(const clarke_single *s, double a, double b, double c, bool fused)
{
  if (!fused)
    return stored(s, fit(s, a + fit(s, b * c)));
  return s->dtype == CLARKE_F64 ? fma(b, c, a) : stored(s, (double)fmaf((float)b, (float)c, (float)a));
}

/* x.add(y, alpha=q). The factor is cast to the tensor's type; where it is not fused, the product is, too. */
static double
add(const clarke_single *s, double x, double q, double y, unsigned way)
{
  const double factor = stored(s, fit(s, q));
  const bool fused = (way & CLARKE_WAY_ADD) != 0;

  return fused ? add_product(s, x, factor, y, true) : stored(s, fit(s, x + stored(s, fit(s, factor * y))));
}

/* x.lerp(y, w) */
static double
lerp(const clarke_single *s, double x, double y, double w, unsigned way)
{
  const double weight = fit(s, w), difference = fit(s, y - x);
  const bool small = fabs(weight) < 0.5;

  return add_product(s, small ? x : y, small ? weight : fit(s, weight - 1), difference, (way & CLARKE_WAY_LERP) != 0);
}

/* x.addcmul(g, g, value=q) */
static double
addcmul(const clarke_single *s, double x, double q, double g, unsigned way)
{
  return add_product(s, x, fit(s, fit(s, q) * g), g, (way & CLARKE_WAY_ADDCMUL) != 0);
}

/* x.addcdiv(y, z, value=q) */
static double
addcdiv(const clarke_single *s, double x, double q, double y, double z)
{
  return stored(s, fit(s, x + fit(s, fit(s, fit(s, q) * y) / z)));
}

static double
scaled(const clarke_single *s, double x, double q)
{
  return stored(s, fit(s, x * fit(s, q)));
}

static double
divided(const clarke_single *s, double x, double q)
{
  return stored(s, fit(s, x / fit(s, q)));
}

static double
quotient(const clarke_single *s, double x, double y)
{
  return stored(s, fit(s, x / y));
}

static double
product(const clarke_single *s, double x, double y)
{
  return stored(s, fit(s, x * y));
}

/* The nearest, or the other neighbour of the exact root. number: of the roots that an entry has, 0 or 1 */
static double
one_root(const clarke_single *s, double x, int number)
{
  const double r = fit(s, sqrt(x)), off = fma(r, r, -x);
  const double to = off < 0 ? INFINITY : -INFINITY;

  if ((s->far >> number & 1) == 0 || off == 0 || s->dtype == CLARKE_BF16 || s->dtype == CLARKE_F16)
    return stored(s, r);
  return s->dtype == CLARKE_F32 ? (double)nextafterf((float)r, (float)to) : nextafter(r, to);
}

static double
root(const clarke_single *s, double x)
{
  return one_root(s, x, 0);
}

/* Epsilon is cast to the tensor's type. */
static double
plus_eps(const clarke_single *s, double x)
{
  return stored(s, fit(s, x + stored(s, fit(s, s->eps))));
}

/* --- entries --------------------------------------------------------------------------------------------------- */

/* The gradient that the rule goes on with; theta decayed. */
static double
begin(const clarke_single *s, clarke_single_state *e, double g, unsigned way)
{
  const double d = s->maximize ? -g : g;

  if (s->decay == 0)
    return d;
  if (!s->decoupled)
    return add(s, d, s->decay, e->theta, way);
  e->theta = scaled(s, e->theta, 1 - s->lr * s->decay);
  return d;
}

static void
sgd(const clarke_single *s, clarke_single_state *e, double g, unsigned way)
{
  double d = begin(s, e, g, way), *const m = &e->slot[CLARKE_SLOT_M];

  if (s->momentum != 0) {
    *m = s->begins ? d : add(s, scaled(s, *m, s->momentum), 1 - s->dampening, d, way);
    d = s->nesterov ? add(s, d, s->momentum, *m, way) : *m;
  }
  e->theta = add(s, e->theta, -s->lr, d, way);
}

static void
moments(const clarke_single *s, clarke_single_state *e, double d, unsigned way)
{
  double *const v = &e->slot[CLARKE_SLOT_V];

  e->slot[CLARKE_SLOT_M] = lerp(s, e->slot[CLARKE_SLOT_M], d, 1 - s->momentum, way);
  *v = addcmul(s, scaled(s, *v, s->sigma), 1 - s->sigma, d, way);
}

static void
adam(const clarke_single *s, clarke_single_state *e, double g, unsigned way)
{
  const clarke_single_scalars *of = &s->scalars[way / CLARKE_WAY_POWERS];
  const double d = begin(s, e, g, way);

  moments(s, e, d, way);
  e->theta = addcdiv(s, e->theta, of->step, e->slot[CLARKE_SLOT_M],
                     plus_eps(s, divided(s, root(s, e->slot[CLARKE_SLOT_V]), of->root)));
}

/* Averages move by rounded differences, of entries that the gradient has. */
static void
sparse_adam(const clarke_single *s, clarke_single_state *e, double g, unsigned way)
{
  const double d = s->maximize ? -g : g;
  double *const m = &e->slot[CLARKE_SLOT_M], *const v = &e->slot[CLARKE_SLOT_V];

  *m = add(s, scaled(s, add(s, d, -1, *m, way), 1 - s->momentum), 1, *m, way);
  *v = add(s, scaled(s, add(s, product(s, d, d), -1, *v, way), 1 - s->sigma), 1, *v, way);
  e->theta = add(s, e->theta, 1, scaled(s, quotient(s, *m, plus_eps(s, root(s, *v))), s->scalars[way / CLARKE_WAY_POWERS].step), way);
}

static void
nadam(const clarke_single *s, clarke_single_state *e, double g, unsigned way)
{
  const clarke_single_scalars *of = &s->scalars[way / CLARKE_WAY_POWERS];
  const double d = begin(s, e, g, way);
  double below;

  moments(s, e, d, way);
  below = plus_eps(s, root(s, divided(s, e->slot[CLARKE_SLOT_V], of->root)));
  e->theta = addcdiv(s, addcdiv(s, e->theta, of->of_g, d, below), of->of_m, e->slot[CLARKE_SLOT_M], below);
}

static void
adagrad(const clarke_single *s, clarke_single_state *e, double g, unsigned way)
{
  const double d = begin(s, e, g, way);

  if (s->sparse) {
    e->slot[CLARKE_SLOT_V] = add(s, e->slot[CLARKE_SLOT_V], 1, product(s, d, d), way);
    e->theta = add(s, e->theta, s->scalars[way / CLARKE_WAY_POWERS].step, quotient(s, d, plus_eps(s, root(s, e->slot[CLARKE_SLOT_V]))), way);
    return;
  }
  e->slot[CLARKE_SLOT_V] = addcmul(s, e->slot[CLARKE_SLOT_V], 1, d, way);
  e->theta = addcdiv(s, e->theta, s->scalars[way / CLARKE_WAY_POWERS].step, d, plus_eps(s, root(s, e->slot[CLARKE_SLOT_V])));
}

static void
rmsprop(const clarke_single *s, clarke_single_state *e, double g, unsigned way)
{
  const double d = begin(s, e, g, way);
  double *const m = &e->slot[CLARKE_SLOT_M], *const v = &e->slot[CLARKE_SLOT_V], below;

  *v = addcmul(s, scaled(s, *v, s->sigma), 1 - s->sigma, d, way);
  below = plus_eps(s, root(s, *v));
  if (s->momentum > 0) {
    *m = addcdiv(s, scaled(s, *m, s->momentum), 1, d, below);
    e->theta = add(s, e->theta, -s->lr, *m, way);
  } else
    e->theta = addcdiv(s, e->theta, -s->lr, d, below);
}

static void
adadelta(const clarke_single *s, clarke_single_state *e, double g, unsigned way)
{
  const double d = begin(s, e, g, way);
  double *const u = &e->slot[CLARKE_SLOT_U], *const v = &e->slot[CLARKE_SLOT_V], by;

  *v = addcmul(s, scaled(s, *v, s->sigma), 1 - s->sigma, d, way);
  by = product(s, quotient(s, one_root(s, plus_eps(s, *u), 1), one_root(s, plus_eps(s, *v), 0)), d);
  *u = addcmul(s, scaled(s, *u, s->sigma), 1 - s->sigma, by, way);
  e->theta = add(s, e->theta, -s->lr, by, way);
}

static void
adamax(const clarke_single *s, clarke_single_state *e, double g, unsigned way)
{
  const double d = begin(s, e, g, way);
  double *const m = &e->slot[CLARKE_SLOT_M], *const u = &e->slot[CLARKE_SLOT_U];

  *m = lerp(s, *m, d, 1 - s->momentum, way);
  *u = fmax(scaled(s, *u, s->sigma), plus_eps(s, fabs(d)));
  e->theta = addcdiv(s, e->theta, s->scalars[way / CLARKE_WAY_POWERS].step, *m, *u);
}

/* Torch divides a number by a tensor as it multiplies the number with the tensor's inverse. */
static void
radam(const clarke_single *s, clarke_single_state *e, double g, unsigned way)
{
  const clarke_single_scalars *of = &s->scalars[way / CLARKE_WAY_POWERS];
  const double d = begin(s, e, g, way);
  double by;

  moments(s, e, d, way);
  by = scaled(s, divided(s, e->slot[CLARKE_SLOT_M], of->rest), s->lr);
  if (of->rect != 0) {
    const double inverse = quotient(s, 1, plus_eps(s, root(s, e->slot[CLARKE_SLOT_V])));

    by = scaled(s, product(s, by, scaled(s, inverse, of->root)), of->rect);
  }
  e->theta = add(s, e->theta, -1, by, way);
}

static void
asgd(const clarke_single *s, clarke_single_state *e, double g, unsigned way)
{
  const double d = begin(s, e, g, way);
  double *const ax = &e->slot[CLARKE_SLOT_AX];

  e->theta = add(s, scaled(s, e->theta, 1 - s->lambd * s->eta), -s->eta, d, way);
  *ax = s->mu == 1 ? e->theta : add(s, *ax, 1, scaled(s, add(s, e->theta, -1, *ax, way), s->mu), way);
}

static void
rprop(const clarke_single *s, clarke_single_state *e, double g, unsigned way)
{
  const double d = s->maximize ? -g : g, both = product(s, d, e->slot[CLARKE_SLOT_PREV]);
  const double minus = stored(s, fit(s, s->eta_minus)), factor = both > 0 ? stored(s, fit(s, s->eta_plus)) : both < 0 ? minus : 1;
  double *const prev = &e->slot[CLARKE_SLOT_PREV], *const size = &e->slot[CLARKE_SLOT_SIZE];

  *size = fmin(fmax(product(s, *size, factor), stored(s, fit(s, s->size_min))), stored(s, fit(s, s->size_max)));
  *prev = factor == minus ? 0 : d;
  e->theta = add_product(s, e->theta, -(double)((*prev > 0) - (*prev < 0)), *size, (way & CLARKE_WAY_ADDCMUL) != 0);
}

/* An average of parameters, which are in the gradient's place: by lerp; as a sum of two products; in place; or with equal weights, by their number. */
static void
ema(const clarke_single *s, clarke_single_state *e, double x, unsigned way)
{
  const double share = 1 - s->momentum;

  if (way / CLARKE_WAY_POWERS == 0)
    e->theta = s->momentum == 0 ? x : lerp(s, e->theta, x, share, way);
  else if (way / CLARKE_WAY_POWERS == 1)
    e->theta = stored(s, fit(s, scaled(s, e->theta, s->momentum) + scaled(s, x, share)));
  else if (way / CLARKE_WAY_POWERS == 2)
    e->theta = add(s, scaled(s, e->theta, s->momentum), share, x, way);
  else
    e->theta = add(s, e->theta, 1, divided(s, add(s, x, -1, e->theta, way), nearbyint(1 / share)), way);
}

/* Advances v as clarke.INNAprop and DINAdam do (tools/python/clarke/optimizers.py); the root of it with epsilon inside. */
static double
root_inside(const clarke_single *s, clarke_single_state *e, double d, unsigned way)
{
  double *const v = &e->slot[CLARKE_SLOT_V];

  *v = addcmul(s, scaled(s, *v, s->sigma), 1 - s->sigma, d, way);
  return root(s, plus_eps(s, *v));
}

/* psi begins with theta before the decay. */
static double
begin_inertial(const clarke_single *s, clarke_single_state *e, double g, unsigned way)
{
  if (s->begins)
    e->slot[CLARKE_SLOT_PSI] = scaled(s, e->theta, 1 - s->alpha * s->beta);
  return begin(s, e, g, way);
}

static void
inertial(const clarke_single *s, clarke_single_state *e, double ghat, unsigned way)
{
  const double share = s->lr / s->beta, by = share - s->lr * s->alpha, before = e->slot[CLARKE_SLOT_PSI];

  e->slot[CLARKE_SLOT_PSI] = add(s, scaled(s, before, 1 - share), by, e->theta, way);
  e->theta = add(s, add(s, add(s, e->theta, by, e->theta, way), -share, before, way), -s->lr * s->beta, ghat, way);
}

static void
innaprop(const clarke_single *s, clarke_single_state *e, double g, unsigned way)
{
  const double d = begin_inertial(s, e, g, way);

  inertial(s, e, quotient(s, d, root_inside(s, e, d, way)), way);
}

static void
released(const clarke_single *s, clarke_single_state *e, double g, unsigned way)
{
  const double d = begin_inertial(s, e, g, way);
  double *const v = &e->slot[CLARKE_SLOT_V];

  *v = addcmul(s, scaled(s, *v, s->sigma), 1 - s->sigma, d, way);
  inertial(s, e, quotient(s, d, plus_eps(s, root(s, divided(s, *v, s->scalars[way / CLARKE_WAY_POWERS].root)))), way);
}

static void
dinadam(const clarke_single *s, clarke_single_state *e, double g, unsigned way)
{
  const double share = 1 / (1 + s->alpha * s->alpha * s->lr), both = s->alpha * s->beta, d = begin(s, e, g, way);
  double *const m = &e->slot[CLARKE_SLOT_M], below = root_inside(s, e, d, way);

  *m = add(s, scaled(s, *m, share), (1 - share) * (1 - both), d, way);
  e->theta = add(s, e->theta, -s->lr, quotient(s, add(s, *m, both, d, way), below), way);
}

/* --- what all entries share -------------------------------------------------------------------------------------------- */

/* a to the b, the double below it or that above. */
static double
power(double a, double b, bool above)
{
  mpfr_t x, y;
  double p;

  mpfr_inits2(53, x, y, NULL);
  mpfr_set_d(x, a, MPFR_RNDN);
  mpfr_set_d(y, b, MPFR_RNDN);
  mpfr_pow(x, x, y, above ? MPFR_RNDU : MPFR_RNDD);
  p = mpfr_get_d(x, MPFR_RNDN);
  mpfr_clears(x, y, NULL);
  return p;
}

static clarke_single_scalars
of_adam(const clarke_single *s, double k, unsigned powers)
{
  const double first = 1 - power(s->momentum, k, (powers & 1) != 0), second = 1 - power(s->sigma, k, (powers & 2) != 0);

  return (clarke_single_scalars){.step = -(s->lr / first), .root = power(second, 0.5, (powers & 4) != 0), .possible = true};
}

static clarke_single_scalars
of_sparse_adam(const clarke_single *s, double k, unsigned powers)
{
  const double first = 1 - power(s->momentum, k, (powers & 1) != 0), second = 1 - power(s->sigma, k, (powers & 2) != 0);

  return (clarke_single_scalars){.step = -(s->lr * sqrt(second) / first), .possible = powers < 4};
}

static clarke_single_scalars
of_nadam(const clarke_single *s, double k, double momentum_decay, unsigned powers, const clarke_single_more *more)
{
  const double mu = s->momentum * (1 - 0.5 * power(0.96, k * momentum_decay, (powers & 2) != 0));
  const double next = s->momentum * (1 - 0.5 * power(0.96, (k + 1) * momentum_decay, (powers & 4) != 0));
  const double product = more->product_float32 ? (double)((float)more->product[0] * (float)mu) : more->product[0] * mu;

  return (clarke_single_scalars){.root = 1 - power(s->sigma, k, (powers & 1) != 0),
                                 .of_g = -s->lr * (1 - mu) / (1 - product),
                                 .of_m = -s->lr * next / (1 - product * next),
                                 .possible = product == more->product[1]};
}

/* The double nearest to a power, or the other one beside the power. */
static double
near_power(double a, double b, bool other)
{
  const double below = power(a, b, false), above = power(a, b, true);
  mpfr_t x, y;
  double p;

  mpfr_inits2(53, x, y, NULL);
  mpfr_set_d(x, a, MPFR_RNDN);
  mpfr_set_d(y, b, MPFR_RNDN);
  mpfr_pow(x, x, y, MPFR_RNDN);
  p = mpfr_get_d(x, MPFR_RNDN);
  mpfr_clears(x, y, NULL);
  return !other ? p : p == below ? above : below;
}

static clarke_single_scalars
of_radam(const clarke_single *s, double k, unsigned powers)
{
  static const unsigned others[CLARKE_WAY_POWERS] = {0, 1, 2, 4, 8, 3, 12, 6}; /* which of the four are not the nearest */
  const unsigned not_near = others[powers];
  const double second = near_power(s->sigma, k, (not_near & 2) != 0), left = 1 - second, inf = 2 / (1 - s->sigma) - 1;
  const double t = inf - 2 * k * second / left, square = (t - 4) * (t - 2) * inf / ((inf - 4) * (inf - 2) * t);

  return (clarke_single_scalars){.rest = 1 - near_power(s->momentum, k, (not_near & 1) != 0),
                                 .root = near_power(left, 0.5, (not_near & 4) != 0),
                                 .rect = t > 5 ? near_power(square, 0.5, (not_near & 8) != 0) : 0,
                                 .possible = true};
}

static bool
choose(clarke_single *s, const clarke_rule *r)
{
  static const struct {
    const char *name;
    void (*entry)(const clarke_single *s, clarke_single_state *e, double g, unsigned way);
  } programs[] = {{"torch-sgd", sgd}, {"torch-adam", adam}, {"torch-adamw", adam}, {"torch-nadam", nadam},
                  {"torch-adagrad", adagrad}, {"torch-rmsprop", rmsprop}, {"innaprop", innaprop}, {"innaprop-released", released},
                  {"dinadam", dinadam}, {"torch-adadelta", adadelta}, {"torch-adamax", adamax}, {"torch-radam", radam}, {"torch-asgd", asgd},
                  {"torch-rprop", rprop}, {"ema", ema}, {"torch-sparseadam", sparse_adam}};

  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
    if (strcmp(programs[i].name, r->name) == 0)
      s->entry = programs[i].entry;
  return s->entry != NULL;
}

static clarke_single_scalars
scalars_of(const clarke_single *s, const clarke_hypers *h, double steps, unsigned p, const clarke_single_more *more)
{
  if (s->entry == adam)
    return of_adam(s, steps, p);
  if (s->entry == sparse_adam)
    return of_sparse_adam(s, steps, p);
  if (s->entry == adamax)
    return (clarke_single_scalars){.step = -(s->lr / (1 - power(s->momentum, steps, p != 0))), .possible = p < 2};
  if (s->entry == ema) /* no powers, but which of its programs */
    return (clarke_single_scalars){.possible = p < 4};
  if (s->entry == radam)
    return of_radam(s, steps, p);
  if (s->entry == released)
    return (clarke_single_scalars){.root = 1 - power(s->sigma, steps, p != 0), .possible = p < 2};
  if (s->entry == nadam)
    return of_nadam(s, steps, mpq_get_d(h->of[CLARKE_HYPER_MOMENTUM_DECAY]), p, more);
  return (clarke_single_scalars){.step = -(s->lr / (1 + (steps - 1) * more->lr_decay)), .possible = p == 0};
}

/* The hyperparameters as doubles. */
static void
take_hypers(clarke_single *s, const clarke_hypers *h)
{
  double *const of[CLARKE_N_HYPERS] = {
    [CLARKE_HYPER_ALPHA] = &s->alpha, [CLARKE_HYPER_BETA] = &s->beta, [CLARKE_HYPER_MOMENTUM] = &s->momentum, [CLARKE_HYPER_SIGMA] = &s->sigma,
    [CLARKE_HYPER_EPS] = &s->eps, [CLARKE_HYPER_DECAY] = &s->decay, [CLARKE_HYPER_DAMPENING] = &s->dampening, [CLARKE_HYPER_LAMBD] = &s->lambd,
    [CLARKE_HYPER_ETA_MINUS] = &s->eta_minus, [CLARKE_HYPER_ETA_PLUS] = &s->eta_plus, [CLARKE_HYPER_SIZE_MIN] = &s->size_min,
    [CLARKE_HYPER_SIZE_MAX] = &s->size_max};

  for (int i = 0; i < CLARKE_N_HYPERS; i++)
    if (of[i] != NULL)
      *of[i] = mpq_get_d(h->of[i]);
}

bool
clarke_single_make(clarke_single *s, const clarke_rule *r, const clarke_hypers *h, size_t k, clarke_dtype dtype, const clarke_single_more *more)
{
  *s = (clarke_single){.dtype = dtype, .begins = k == 0, .maximize = more->maximize, .sparse = more->sparse, .nesterov = h->nesterov, .lr = more->lr,
                       .decoupled = h->decay == CLARKE_DECAY_DECOUPLED, .eta = more->eta, .mu = more->mu};
  take_hypers(s, h);
  s->start[CLARKE_SLOT_SIZE] = stored(s, fit(s, s->lr));
  if (h->place != (r->inside ? CLARKE_EPS_INSIDE : CLARKE_EPS_OUTSIDE) || h->preconditioned || !choose(s, r))
    return false;
  for (unsigned p = 0; p < CLARKE_WAY_POWERS; p++)
    s->scalars[p] = scalars_of(s, h, (double)k + 1, p, more);
  return true;
}

/* --- comparison ----------------------------------------------------------------------------------------------------------- */

/* -0 is not 0. */
static bool
same(double a, double b)
{
  return memcmp(&a, &b, sizeof a) == 0;
}

static uint64_t
ways_of(const clarke_single *s, uint64_t ways, const clarke_single_state *before, double g, const clarke_single_state *after,
        const bool compared[CLARKE_N_SLOTS])
{
  uint64_t found = 0;

  for (unsigned way = 0; way < CLARKE_N_WAYS; way++) {
    clarke_single_state e = *before;
    bool is = (ways >> way & 1) != 0 && s->scalars[way / CLARKE_WAY_POWERS].possible;

    if (!is)
      continue;
    s->entry(s, &e, g, way);
    is = same(e.theta, after->theta);
    for (int slot = 0; slot < CLARKE_N_SLOTS && is; slot++)
      is = !compared[slot] || same(e.slot[slot], after->slot[slot]);
    found |= is ? (uint64_t)1 << way : 0;
  }
  return found;
}

uint64_t
clarke_single_ways(const clarke_single *s, uint64_t ways, const clarke_single_state *before, double g, const clarke_single_state *after,
                   const bool compared[CLARKE_N_SLOTS])
{
  clarke_single far = *s;
  uint64_t found = 0;

  for (far.far = 0; found == 0 && far.far < (s->entry == adadelta ? 4 : 2); far.far++)
    found = ways_of(&far, ways, before, g, after, compared);
  return found;
}
