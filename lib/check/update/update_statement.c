/* What a proof about steps of optimizers states of the rule: its name, its numbers, and what may be chosen. */
#include "check/update/update_statement.h"
#include "check/base/lines.h"

#include <string.h>

/* ---- The statement */

static const char *const number_names[] = {"eta",
                                           "alpha",
                                           "beta",
                                           "sigma",
                                           "momentum",
                                           "eps",
                                           "weight-decay",
                                           "dampening",
                                           "momentum-decay",
                                           "lambd",
                                           "t0",
                                           "eta-minus",
                                           "eta-plus",
                                           "size-min",
                                           "size-max",
                                           "beta2-decay",
                                           "eps2",
                                           "clip",
                                           "ns-a",
                                           "ns-b",
                                           "ns-c",
                                           "ns-steps",
                                           "max-iter",
                                           "max-eval",
                                           "tolerance-grad",
                                           "tolerance-change",
                                           "history-size"};

/* As the rule's formula has it. */
static const char *
number_says(int i)
{
  return i == SIGMA ? "s" : i == MOMENTUM ? "b" : number_names[i];
}

void
update_read_rule(update *u)
{
  next_line("rule");
  const char *name = next_word();
  u->of = update_rule_named(name);
  require(u->of != NULL, "no rule is called '%.40s'", name);
}

/* A double's fraction is long: what it is about stands behind. */
static void
state_number(const char *name, const rational *q)
{
  gmp_fprintf(account, "%s = %Qd", name, q);
  if (mpz_sizeinbase(mpq_denref(q), 2) > 40)
    fprintf(account, " (about %.9g)", mpq_get_d(q));
}

/* May the number be below 0? */
static bool
is_signed(int i)
{
  return (i >= NS_A && i <= NS_C) || i == BETA2_DECAY || i == TOLERANCE_GRAD || i == TOLERANCE_CHANGE;
}

/* Counts of torch-lbfgs. */
static void
check_counts(const update *u)
{
  static const int counts[] = {MAX_ITER, MAX_EVAL, HISTORY_SIZE};
  for (size_t i = 0; u->of->evaluates && i < sizeof counts / sizeof *counts; i++) {
    const rational *q = &u->number[counts[i]];
    require(mpz_cmp_ui(mpq_denref(q), 1) == 0 && mpq_cmp_ui(q, counts[i] == MAX_EVAL ? 0 : 1, 1) >= 0
                && mpq_cmp_ui(q, 1000000, 1) <= 0,
            "%s is no whole number, or too small or large", number_names[counts[i]]);
  }
}

/* The numbers that the rule has, each on its line. */
static void
read_numbers(update *u)
{
  bool first = true;
  for (int i = 0; i < N_NUMBERS; i++) {
    u->number[i] = rational_zero();
    if (!u->of->number[i])
      continue;
    known_line("number", number_names[i]);
    next_rational(&u->number[i]);
    require(mpq_sgn(&u->number[i]) >= 0 || is_signed(i), "%s is below 0", number_names[i]);
    require((i != SIGMA && i != MOMENTUM) || mpq_cmp(&u->number[i], &plus_one) < 0, "%s is not below 1",
            number_names[i]);
    fputs(first ? "  " : ", ", account);
    first = false;
    state_number(number_says(i), &u->number[i]);
  }
  fputs("\n", account);
  require(!u->of->slot[PSI] || mpq_sgn(&u->number[BETA]) > 0, "beta is 0");
  require(mpq_sgn(&u->number[BETA2_DECAY]) <= 0, "beta2-decay is above 0");
  require(!u->of->number[CLIP] || mpq_cmp(&u->number[CLIP], &plus_one) >= 0, "clip is below 1");
  require(mpz_cmp_ui(mpq_denref(&u->number[NS_STEPS]), 1) == 0 && mpq_cmp_ui(&u->number[NS_STEPS], 100, 1) < 0,
          "ns-steps is no whole number below 100");
  check_counts(u);
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
read_root(update *u)
{
  next_line("root");
  const char *word = next_word();
  u->inside = strcmp(word, "inside") == 0;
  u->preconditioned = strcmp(word, "given") == 0;
  require(u->inside || u->preconditioned || strcmp(word, "outside") == 0, "'inside', 'outside' or 'given' is expected");
  require(!u->preconditioned || !u->of->slot[U], "the gradients of this rule are divided by more than a root of v");
  if (u->preconditioned)
    fputs("  root(v) is taken for 1, and there is no v: the gradients are said to be divided by it already\n", account);
  else
    fprintf(account, "  root(v): %s%s\n", u->inside ? "sqrt(v + eps)" : "sqrt(v) + eps",
            mpq_sgn(&u->number[EPS]) == 0 ? "; 0 over a root that is 0 is taken for 0" : "");
}

static void
read_choices(update *u)
{
  u->inside = u->nesterov = u->grows = u->preconditioned = u->matches = false;
  u->coupled = read_choice("decay", "coupled", "decoupled");
  if (mpq_sgn(&u->number[DECAY]) != 0)
    fprintf(account, "  weight decay: %s\n",
            u->coupled ? "weight-decay theta is added to the gradient"
                       : "theta (1 - eta weight-decay) before the step");
  require(u->of->whole == NULL || !u->coupled, "'decoupled' is expected");
  require(!u->of->evaluates || u->coupled, "'coupled' is expected");
  if (u->of->slot[V] && u->of->whole == NULL) {
    read_root(u);
  }
  if (u->of->number[DAMPENING] || u->of->number[NS_STEPS]) {
    u->nesterov = read_choice("nesterov", "yes", "no");
    fprintf(account, "  Nesterov: %s\n", u->nesterov ? "yes" : "no");
  }
  if (u->of->number[NS_STEPS]) {
    u->matches = read_choice("adjust", "match_rms_adamw", "original");
    fprintf(account, "  f^2: %s\n", u->matches ? "max(rows, columns) / 25" : "max(1, rows / columns)");
  }
  if (u->of->has_growth) {
    u->grows = read_choice("mu", "grows", "fixed");
    fprintf(account, "  mu: %s\n", u->grows ? "k / (k + 3) in the step behind k steps" : "b");
  }
}

void
update_read_settings(update *u)
{
  read_numbers(u);
  read_choices(u);
  update_begin(u);
}

/* The entry lies between two numbers; if it is seen outside, or intervals do not tell, the process ends. */
void
update_check_entry(interval *x, const char *slot, size_t i)
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
