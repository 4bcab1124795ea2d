/* Proofs about steps of optimizers (docs/proof-format.md, "Steps of optimizers"): a rule, its numbers, a state, gradients; and where each
 * entry of the state then lies. Entries are intervals, which are exact as long as no root is taken. */
#include "check/update/update_proof.h"
#include "check/base/elementary.h"
#include "check/base/lines.h"

#include <string.h>

#define MOST_STEPS 10000 /* 1 - sigma^k has as many digits as that times sigma's */
#define MOST_ENTRIES 65536
#define MOST_BITS ((size_t)1 << 29) /* of 1 - sigma^k, which divides each entry in each step */

enum { ETA, ALPHA, BETA, SIGMA, MOMENTUM, EPS, DECAY, DAMPENING, N_NUMBERS };
static const char *const number_names[] = {"eta",      "alpha", "beta",         "sigma",
                                           "momentum", "eps",   "weight-decay", "dampening"};

static const char *const number_says[] = {"eta", "alpha", "beta", "s", "b", "eps", "weight-decay", "dampening"};

enum { THETA, PSI, M, V, N_SLOTS };
static const char *const slot_names[] = {"theta", "psi", "m", "v"};

typedef struct {
  interval slot[N_SLOTS];
} entry;

typedef struct update update;
typedef struct {
  const char *name, *says;
  void (*step)(const update *u, entry *e, const interval *g);
  bool slot[N_SLOTS], number[N_NUMBERS];
  bool corrects; /* divides v, and m where it is an Adam, by 1 - sigma^k */
} rule;

struct update {
  const rule *of;
  rational number[N_NUMBERS];
  rational rest[N_NUMBERS]; /* 1 less the number */
  rational of_v, of_m;      /* 1 - sigma^(k + 1), 1 - momentum^(k + 1) */
  bool inside, coupled, nesterov;
  size_t k, n, n_gradients;
  entry *entries;
};

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
descend(entry *e, const rational *q, const interval *x)
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
second_moment(const update *u, entry *e, const interval *g)
{
  INTERVAL(s);
  square(&s, g);
  mix(&e->slot[V], &u->number[SIGMA], &u->rest[SIGMA], &s);
}

static void
first_moment(const update *u, entry *e, const interval *g)
{
  mix(&e->slot[M], &u->number[MOMENTUM], &u->rest[MOMENTUM], g);
}

/* y = 1 / sqrt(v / c + eps), or 1 / (sqrt(v / c) + eps) */
static void
inverse_root(const update *u, interval *y, const interval *v, const rational *c)
{
  INTERVAL(t);
  mpq_div(&t.lo, &v->lo, c);
  mpq_div(&t.hi, &v->hi, c);
  require(mpq_sgn(&t.lo) >= 0, "v is below 0");
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
precondition(const update *u, interval *y, const interval *x, const entry *e, const rational *c)
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
step_sgd(const update *u, entry *e, const interval *g)
{
  descend(e, &u->number[ETA], g);
}

static void
step_momentum(const update *u, entry *e, const interval *g)
{
  first_moment(u, e, g);
  descend(e, &u->number[ETA], &e->slot[M]);
}

static void
step_torch_sgd(const update *u, entry *e, const interval *g)
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
step_adagrad(const update *u, entry *e, const interval *g)
{
  INTERVAL(y);
  square(&y, g);
  interval_add(&e->slot[V], &y, &plus_one);
  precondition(u, &y, g, e, &plus_one);
  descend(e, &u->number[ETA], &y);
}

static void
step_rmsprop(const update *u, entry *e, const interval *g)
{
  INTERVAL(y);
  second_moment(u, e, g);
  precondition(u, &y, g, e, &plus_one);
  mix(&e->slot[M], &u->number[MOMENTUM], &plus_one, &y);
  descend(e, &u->number[ETA], &e->slot[M]);
}

/* Where nothing is corrected, both divisors are 1. */
static void
step_adam(const update *u, entry *e, const interval *g)
{
  INTERVAL(y);
  RATIONAL(q);
  first_moment(u, e, g);
  second_moment(u, e, g);
  precondition(u, &y, &e->slot[M], e, &u->of_v);
  mpq_div(&q, &u->number[ETA], &u->of_m);
  descend(e, &q, &y);
}

/* psi (1 - g/b) + theta (g/b - g a); theta (1 + g/b - g a) - (g/b) psi - g b x */
static void
inertial(const update *u, entry *e, const interval *x)
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
step_innaprop(const update *u, entry *e, const interval *g)
{
  INTERVAL(y);
  second_moment(u, e, g);
  precondition(u, &y, g, e, &u->of_v);
  inertial(u, e, &y);
}

/* m s + (1 - s) (1 - a b) g, s = 1 / (1 + a^2 eta); theta - eta (m + a b g) / root */
static void
dinadam(const update *u, entry *e, const interval *g, bool minus)
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
  precondition(u, &x, &x, e, &plus_one);
  descend(e, &u->number[ETA], &x);
}

static void
step_dinadam(const update *u, entry *e, const interval *g)
{
  dinadam(u, e, g, false);
}

static void
step_dinadam_printed(const update *u, entry *e, const interval *g)
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
#define CORRECTED                                                                                                      \
  "m = b m + (1 - b) g; v = s v + (1 - s) g^2; theta - eta (m / (1 - b^k)) / root(v / (1 - s^k)), k from 1"
#define ADAM WITH([SIGMA] = true, [MOMENTUM] = true, [EPS] = true)
#define INNA WITH([ALPHA] = true, [BETA] = true, [SIGMA] = true, [EPS] = true)

static const rule rules[] = {
    {"sgd", "theta - eta g", step_sgd, {0}, WITH(), false},
    {"momentum", "m = b m + (1 - b) g; theta - eta m", step_momentum, {OF_M}, WITH([MOMENTUM] = true), false},
    {"torch-sgd",
     "m = b m + (1 - dampening) g, the first m is g; theta - eta m, with Nesterov theta - eta (g + b m)",
     step_torch_sgd,
     {OF_M},
     WITH([MOMENTUM] = true, [DAMPENING] = true),
     false},
    {"adagrad", "v + g^2; theta - eta g / root(v)", step_adagrad, {OF_V}, WITH([EPS] = true), false},
    {"torch-adagrad", "v + g^2; theta - eta g / root(v)", step_adagrad, {OF_V}, WITH([EPS] = true), false},
    {"rmsprop", "v = s v + (1 - s) g^2; m = b m + g / root(v); theta - eta m", step_rmsprop, {OF_M, OF_V}, ADAM, false},
    {"torch-rmsprop",
     "v = s v + (1 - s) g^2; m = b m + g / root(v); theta - eta m",
     step_rmsprop,
     {OF_M, OF_V},
     ADAM,
     false},
    {"adam",
     "m = b m + (1 - b) g; v = s v + (1 - s) g^2; theta - eta m / root(v)",
     step_adam,
     {OF_M, OF_V},
     ADAM,
     false},
    {"adam-corrected", CORRECTED, step_adam, {OF_M, OF_V}, ADAM, true},
    {"adamw", CORRECTED, step_adam, {OF_M, OF_V}, ADAM, true},
    {"torch-adam", CORRECTED, step_adam, {OF_M, OF_V}, ADAM, true},
    {"torch-adamw", CORRECTED, step_adam, {OF_M, OF_V}, ADAM, true},
    {"innaprop", "v = s v + (1 - s) g^2; inna of g / root(v)", step_innaprop, {OF_PSI, OF_V}, INNA, false},
    {"innaprop-released",
     "v = s v + (1 - s) g^2; inna of g / root(v / (1 - s^k)), k from 1",
     step_innaprop,
     {OF_PSI, OF_V},
     INNA,
     true},
    {"inna",
     "psi (1 - eta/beta) + theta (eta/beta - eta alpha); theta (1 + eta/beta - eta alpha) - (eta/beta) psi - eta beta "
     "g",
     inertial,
     {OF_PSI},
     WITH([ALPHA] = true, [BETA] = true),
     false},
    {"dinadam",
     "c = 1 / (1 + alpha^2 eta); m = c m + (1 - c) (1 - alpha beta) g; v = s v + (1 - s) g^2; theta - eta (m + alpha "
     "beta g) / root(v)",
     step_dinadam,
     {OF_M, OF_V},
     INNA,
     false},
    {"dinadam-printed", "dinadam, with m - alpha beta g", step_dinadam_printed, {OF_M, OF_V}, INNA, false},
};

/* ---- The statement */

static const rule *
read_rule(void)
{
  next_line("rule");
  const char *name = next_word();
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (strcmp(rules[i].name, name) == 0)
      return &rules[i];
  leave(FAILED, "no rule is called '%.40s'", name);
}

/* The numbers that the rule has, each on its line. */
static void
read_numbers(update *u)
{
  for (int i = 0; i < N_NUMBERS; i++) {
    u->number[i] = rational_zero();
    u->rest[i] = rational_zero();
    if (!u->of->number[i])
      continue;
    known_line("number", number_names[i]);
    next_rational(&u->number[i]);
    require(mpq_sgn(&u->number[i]) >= 0, "%s is below 0", number_names[i]);
    require((i != SIGMA && i != MOMENTUM) || mpq_cmp(&u->number[i], &plus_one) < 0, "%s is not below 1",
            number_names[i]);
    mpq_sub(&u->rest[i], &plus_one, &u->number[i]);
    gmp_fprintf(account, "%s%s = %Qd", i == ETA ? "  " : ", ", number_says[i], &u->number[i]);
  }
  fputs("\n", account);
  require(!u->of->slot[PSI] || mpq_sgn(&u->number[BETA]) > 0, "beta is 0");
}

/* One of two words. */
static bool
read_choice(const char *keyword, const char *first, const char *second)
{
  next_line(keyword);
  const char *word = next_word();
  require(strcmp(word, first) == 0 || strcmp(word, second) == 0, "'%s' or '%s' is expected", first, second);
  return strcmp(word, first) == 0;
}

static void
read_choices(update *u)
{
  u->coupled = read_choice("decay", "coupled", "decoupled");
  if (mpq_sgn(&u->number[DECAY]) != 0)
    fprintf(account, "  weight decay: %s\n",
            u->coupled ? "weight-decay theta is added to the gradient"
                       : "theta (1 - eta weight-decay) before the step");
  if (u->of->slot[V]) {
    u->inside = read_choice("root", "inside", "outside");
    fprintf(account, "  root(v): %s\n", u->inside ? "sqrt(v + eps)" : "sqrt(v) + eps");
  }
  if (u->of->number[DAMPENING]) {
    u->nesterov = read_choice("nesterov", "yes", "no");
    fprintf(account, "  Nesterov: %s\n", u->nesterov ? "yes" : "no");
  }
}

static void
read_state(update *u)
{
  next_line("entries");
  u->n = next_number();
  require(u->n >= 1 && u->n <= MOST_ENTRIES, "one entry to %d are expected", MOST_ENTRIES);
  u->entries = (entry *)intervals(u->n * N_SLOTS);
  next_line("before");
  u->k = next_number();
  require(u->k <= MOST_STEPS, "at most %d steps before", MOST_STEPS);
  fprintf(account, "After %zu steps\n", u->k);
  for (int s = 0; s < N_SLOTS; s++) {
    if (s != THETA && !u->of->slot[s])
      continue;
    next_line(slot_names[s]);
    fprintf(account, "  %s:", slot_names[s]);
    for (size_t i = 0; i < u->n; i++) {
      interval *x = &u->entries[i].slot[s];
      next_rational(&x->lo);
      mpq_set(&x->hi, &x->lo);
      require(s != V || mpq_sgn(&x->lo) >= 0, "v is below 0");
      gmp_fprintf(account, " %Qd", &x->lo);
    }
    fputs("\n", account);
  }
}

/* ---- Steps */

/* q = 1 - a^n, or 1; for so many entries. */
static void
rest_of_power(const update *u, rational *q, const rational *a, size_t n)
{
  bool is = u->of->corrects;
  size_t bits = mpz_sizeinbase(mpq_denref(a), 2) * n;
  expect(!is || bits <= MOST_BITS / u->n / u->n_gradients,
         "the powers of %zu steps have more than %zu bits in all entries", n, MOST_BITS);
  mpz_pow_ui(mpq_numref(q), mpq_numref(a), is ? n : 0);
  mpz_pow_ui(mpq_denref(q), mpq_denref(a), is ? n : 0);
  if (is)
    mpq_sub(q, &plus_one, q);
}

/* The decay, then the rule. */
static void
step(const update *u, entry *e, const rational *gradient)
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

static void
make_step(update *u)
{
  RATIONAL(g);
  next_line("gradient");
  fputs("A step by the gradient", account);
  rest_of_power(u, &u->of_v, &u->number[SIGMA], u->k + 1);
  rest_of_power(u, &u->of_m, &u->number[MOMENTUM], u->k + 1);
  for (size_t i = 0; i < u->n; i++) {
    next_rational(&g);
    gmp_fprintf(account, " %Qd", &g);
    step(u, &u->entries[i], &g);
  }
  fputs("\n", account);
  u->k++;
}

/* ---- What is claimed */

/* The entry lies between two numbers; if it is seen outside, or intervals do not tell, the process ends. */
static void
check_entry(const interval *x, const char *slot, size_t i)
{
  INTERVAL(said);
  next_rational(&said.lo);
  next_rational(&said.hi);
  require(mpq_cmp(&said.lo, &said.hi) <= 0, "the least number first is expected");
  require(mpq_cmp(&x->hi, &said.lo) >= 0 && mpq_cmp(&x->lo, &said.hi) <= 0, "entry %zu of %s is not there", i, slot);
  if (mpq_cmp(&x->lo, &said.lo) < 0 || mpq_cmp(&x->hi, &said.hi) > 0)
    leave(UNDECIDED, "entry %zu of %s may be outside, with intervals of %d bits", i, slot, MAX_BITS);
  if (interval_exact(&said))
    gmp_fprintf(account, " %Qd", &said.lo);
  else
    gmp_fprintf(account, " [%Qd, %Qd]", &said.lo, &said.hi);
}

static void
check_state(update *u)
{
  next_line("after");
  require(next_number() == u->k, "the number of steps is another: %zu", u->k);
  fprintf(account, "After %zu steps\n", u->k);
  for (int s = 0; s < N_SLOTS; s++) {
    if (s != THETA && !u->of->slot[s])
      continue;
    next_line(slot_names[s]);
    fprintf(account, "  %s:", slot_names[s]);
    for (size_t i = 0; i < u->n; i++)
      check_entry(&u->entries[i].slot[s], slot_names[s], i);
    fputs("\n", account);
  }
}

void
check_update(void)
{
  update u = {.of = read_rule()};
  u.of_v = rational_zero();
  u.of_m = rational_zero();
  fprintf(account, "Steps of an optimizer, each entry by itself: %s\n  %s\n", u.of->name, u.of->says);
  read_numbers(&u);
  read_choices(&u);
  read_state(&u);
  next_line("gradients");
  u.n_gradients = next_number();
  require(u.n_gradients >= 1 && u.n_gradients <= MOST_STEPS, "one step to %d are expected", MOST_STEPS);
  for (size_t i = 0; i < u.n_gradients; i++)
    make_step(&u);
  check_state(&u);
  last_line();
  intervals_free((interval *)u.entries, u.n * N_SLOTS);
  printf("VERIFIED\n%sSemantics: real arithmetic, every number taken exactly.\n", account_text());
}
