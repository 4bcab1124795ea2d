/* Proofs about steps of optimizers (docs/proof-format.md, "Steps of optimizers"): a rule, its numbers, a state, gradients; and where each
 * entry of the state then lies. Entries are intervals, which are exact as long as no root is taken. */
#include "check/update/update_proof.h"
#include "check/base/lines.h"
#include "check/update/update_statement.h"

#include <string.h>

#define MOST_STEPS 10000
#define MOST_ENTRIES 65536

static const char *const slot_names[] = {"theta", "psi", "m", "v", "u", "prev", "size", "ax"};

typedef struct {
  update rule;
  size_t k, n, n_gradients;
  update_entry *entries;
} stepped;

static void
read_state(stepped *u)
{
  next_line("entries");
  u->n = next_number();
  require(u->n >= 1 && u->n <= MOST_ENTRIES, "one entry to %d are expected", MOST_ENTRIES);
  u->entries = (update_entry *)intervals(u->n * N_SLOTS);
  next_line("before");
  u->k = next_number();
  require(u->k <= MOST_STEPS, "at most %d steps before", MOST_STEPS);
  fprintf(account, "After %zu steps\n", u->k);
  for (int s = 0; s < N_SLOTS; s++) {
    if (!update_has(&u->rule, s))
      continue;
    next_line(slot_names[s]);
    fprintf(account, "  %s:", slot_names[s]);
    for (size_t i = 0; i < u->n; i++) {
      interval *x = &u->entries[i].slot[s];
      next_rational(&x->lo);
      mpq_set(&x->hi, &x->lo);
      require((s != V && s != U) || mpq_sgn(&x->lo) >= 0, "%s is below 0", slot_names[s]);
      gmp_fprintf(account, " %Qd", &x->lo);
    }
    fputs("\n", account);
  }
}

static void
make_step(stepped *u)
{
  RATIONAL(g);
  next_line("gradient");
  fputs("A step by the gradient", account);
  update_share(&u->rule, u->k);
  for (size_t i = 0; i < u->n; i++) {
    next_rational(&g);
    gmp_fprintf(account, " %Qd", &g);
    update_step(&u->rule, &u->entries[i], &g);
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
check_state(stepped *u)
{
  next_line("after");
  require(next_number() == u->k, "the number of steps is another: %zu", u->k);
  fprintf(account, "After %zu steps\n", u->k);
  for (int s = 0; s < N_SLOTS; s++) {
    if (!update_has(&u->rule, s))
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
  stepped u = {0};
  update_read_rule(&u.rule);
  fprintf(account, "Steps of an optimizer, each entry by itself: %s\n  %s\n", u.rule.of->name, u.rule.of->says);
  update_read_settings(&u.rule);
  read_state(&u);
  next_line("gradients");
  u.n_gradients = next_number();
  require(u.n_gradients >= 1 && u.n_gradients <= MOST_STEPS, "one step to %d are expected", MOST_STEPS);
  for (size_t i = 0; i < u.n_gradients; i++)
    make_step(&u);
  check_state(&u);
  last_line();
  intervals_free((interval *)u.entries, u.n * N_SLOTS);
  update_end(&u.rule);
  printf("VERIFIED\n%sSemantics: real arithmetic, every number taken exactly.\n", account_text());
}
