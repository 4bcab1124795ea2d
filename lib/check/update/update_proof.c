/* Proofs about steps of optimizers (docs/proof-format.md, "Steps of optimizers"): a rule, its numbers, a state, gradients; and where each
 * entry of the state then lies. Entries are intervals, which are exact as long as no root is taken. */
#include "check/update/update_proof.h"
#include "check/base/lines.h"
#include "check/update/update_lbfgs.h"
#include "check/update/update_statement.h"
#include "check/update/update_whole.h"

#include <string.h>

#define MOST_STEPS 10000
#define MOST_ENTRIES 65536

static const char *const slot_names[] = {"theta", "psi", "m", "v", "u", "prev", "size", "ax", "row", "col"};

typedef struct {
  update rule;
  size_t k, n, n_gradients;
  update_entry *entries; /* of rules of entries; */
  update_tensor whole;   /* of others */
} stepped;

static bool
has_slot(const stepped *u, int s)
{
  return u->rule.of->whole != NULL ? update_whole_has(&u->whole, &u->rule, s) : update_has(&u->rule, s);
}

/* How many numbers the slot has, and number i. */
static size_t
count_of(const stepped *u, int s)
{
  return u->rule.of->whole != NULL ? update_whole_count(&u->whole, s) : u->n;
}

static interval *
number_at(stepped *u, int s, size_t i)
{
  return u->rule.of->whole != NULL ? &u->whole.slot[s][i] : &u->entries[i].slot[s];
}

/* `matrices BATCHES ROWS COLUMNS`, of a vector three zeros */
static void
read_axes(stepped *u)
{
  update_tensor *t = &u->whole;
  next_line("matrices");
  t->n = u->n;
  t->batches = next_number();
  t->rows = next_number();
  t->cols = next_number();
  require(t->batches <= u->n && t->rows <= u->n && t->cols <= u->n && (t->rows > 0) == (t->batches > 0)
              && (t->rows > 0) == (t->cols > 0),
          "no matrices have these axes and so many entries");
  require(t->rows == 0 || (u->n % t->rows == 0 && u->n / t->rows == t->batches * t->cols),
          "the matrices have another number of entries");
  if (t->rows > 0)
    fprintf(account, "Matrices of %zu x %zu: %zu\n", t->rows, t->cols, t->batches);
  update_whole_check(t, &u->rule);
  update_whole_begin(t, &u->rule);
}

static void
read_state(stepped *u)
{
  next_line("entries");
  u->n = next_number();
  require(u->n >= 1 && u->n <= MOST_ENTRIES, "one entry to %d are expected", MOST_ENTRIES);
  if (u->rule.of->whole != NULL)
    read_axes(u);
  else
    u->entries = (update_entry *)intervals(u->n * N_SLOTS);
  next_line("before");
  u->k = next_number();
  require(u->k <= MOST_STEPS, "at most %d steps before", MOST_STEPS);
  fprintf(account, "After %zu steps\n", u->k);
  for (int s = 0; s < N_SLOTS; s++) {
    if (!has_slot(u, s))
      continue;
    next_line(slot_names[s]);
    fprintf(account, "  %s:", slot_names[s]);
    for (size_t i = 0; i < count_of(u, s); i++) {
      interval *x = number_at(u, s, i);
      next_rational(&x->lo);
      mpq_set(&x->hi, &x->lo);
      require((s != V && s != U && s != ROW && s != COL) || mpq_sgn(&x->lo) >= 0, "%s is below 0", slot_names[s]);
      gmp_fprintf(account, " %Qd", &x->lo);
    }
    fputs("\n", account);
  }
}

/* The step of a whole tensor. */
static void
make_whole_step(stepped *u)
{
  interval *g = intervals(u->n);
  next_line("gradient");
  fputs("A step by the gradient", account);
  u->rule.k = u->k;
  for (size_t i = 0; i < u->n; i++) {
    next_rational(&g[i].lo);
    mpq_set(&g[i].hi, &g[i].lo);
    gmp_fprintf(account, " %Qd", &g[i].lo);
  }
  update_whole_step(&u->rule, &u->whole, g);
  intervals_free(g, u->n);
  fputs("\n", account);
  u->k++;
}

static void
make_step(stepped *u)
{
  RATIONAL(g);
  if (u->rule.of->whole != NULL) {
    make_whole_step(u);
    return;
  }
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

static void
check_state(stepped *u)
{
  next_line("after");
  require(next_number() == u->k, "the number of steps is another: %zu", u->k);
  fprintf(account, "After %zu steps\n", u->k);
  for (int s = 0; s < N_SLOTS; s++) {
    if (!has_slot(u, s))
      continue;
    next_line(slot_names[s]);
    fprintf(account, "  %s:", slot_names[s]);
    for (size_t i = 0; i < count_of(u, s); i++)
      update_check_entry(number_at(u, s, i), slot_names[s], i);
    fputs("\n", account);
  }
}

void
check_update(void)
{
  stepped u = {0};
  update_read_rule(&u.rule);
  fprintf(account, "Steps of an optimizer, %s: %s\n  %s\n",
          u.rule.of->evaluates       ? "all entries together"
          : u.rule.of->whole != NULL ? "the tensor as a whole"
                                     : "each entry by itself",
          u.rule.of->name, u.rule.of->says);
  update_read_settings(&u.rule);
  if (u.rule.of->evaluates) {
    check_lbfgs(&u.rule);
    return;
  }
  read_state(&u);
  next_line("gradients");
  u.n_gradients = next_number();
  require(u.n_gradients >= 1 && u.n_gradients <= MOST_STEPS, "one step to %d are expected", MOST_STEPS);
  for (size_t i = 0; i < u.n_gradients; i++)
    make_step(&u);
  check_state(&u);
  last_line();
  if (u.rule.of->whole != NULL)
    update_whole_end(&u.whole);
  else
    intervals_free((interval *)u.entries, u.n * N_SLOTS);
  update_end(&u.rule);
  printf("VERIFIED\n%sSemantics: real arithmetic, every number taken exactly.\n", account_text());
}
