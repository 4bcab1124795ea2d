/* AD's slopes are a cell's, or those of nodes are mixed: the cells of all signs of these (mix.h). */
#include "check/kernel/mix.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/kernel/window.h"

#include <stdlib.h>
#include <string.h>

/* The step of the next node of that name after step `from`; NONE when there is none. */
static size_t
find_node(const claim *q, size_t from, const char *name)
{
  char unnamed[64], turn[32];
  for (size_t s = from; s < q->net->n_steps; s++) {
    const step *st = &q->net->steps[s];
    if (st->kind != PIECEWISE)
      continue;
    snprintf(unnamed, sizeof unnamed, "%s_%zu", st->outer, st->place);
    turn[0] = '\0';
    if (st->turn > 0)
      snprintf(turn, sizeof turn, "@%zu", st->turn);
    const char *own = *st->name != '\0' ? st->name : unnamed;
    if (strncmp(name, own, strlen(own)) == 0 && strcmp(name + strlen(own), turn) == 0)
      return s;
  }
  return NONE;
}

/* The cells of `mix`, or with no mixed nodes the one of `ad`. */
static void
read_cells(claim *q, const char *word, size_t n)
{
  size_t *mixed = allocate(q->net->n_steps, sizeof *mixed); /* i + 1, or 0 */
  rational *lambda = rationals(n);
  RATIONAL(t);
  for (size_t i = 0, s = 0; i < n; i++) {
    next_line("mix");
    s = find_node(q, s + 1, next_name());
    next_rational(&lambda[i]);
    require(s != NONE, "there is no such node with kinks after the one before");
    require(mpq_sgn(&lambda[i]) > 0 && mpq_cmp(&lambda[i], &plus_one) < 0, "not between 0 and 1");
    mixed[s] = i + 1;
  }
  for (size_t mask = 0; mask < (size_t)1 << n; mask++) {
    known_line("cell", word);
    const char *signs = n > 0 ? next_word() : "";
    require(strlen(signs) == n, "one sign for each mixed node is expected");
    for (size_t i = 0; i < n; i++)
      require(signs[i] == "-+"[mask >> (n - 1 - i) & 1], "the cells' signs must be in order");
    for (size_t k = 0; k < q->p->n_touched; k++) {
      const touch *to = &q->p->touched[k];
      size_t i = mixed[to->step];
      q->c.side[k] = own_side(q->p, q->ad, k);
      if (i == 0)
        continue;
      mpq_sub(&t, &to->left, &to->right);
      mpq_mul(&t, &t, &lambda[i - 1]);
      mpq_add(&t, &t, &to->right);
      q->c.side[k] = !mpq_equal(&t, &q->ad[to->slope]) ? 0 : signs[i - 1] == '+' ? 1 : -1;
    }
    check_cell(q);
  }
}

void
check_ad(claim *q, bool bouligand)
{
  (void)bouligand;
  read_cells(q, "ad", 0);
}

void
check_mix(claim *q, bool bouligand)
{
  size_t n = next_number();
  (void)bouligand;
  require(n >= 1 && n <= 30, "a mix is of 1 to 30 nodes");
  read_cells(q, "mix", n);
}
