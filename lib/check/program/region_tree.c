/* Trees of regions. What a cell decides is kept on stacks, which are cut back when another branch begins. */
#include "check/program/region_tree.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/program/forms.h"
#include "check/program/region_box.h"

#include <stdlib.h>

/* What a row is: the argument of an instruction less its kink; at NONE a bound of the box, or a difference of a maximum's entries. */
struct row_of {
  size_t at, kink;
};

/* A node: how much was known where it began. Of a maximum, at, its candidates; of a split, NONE. */
struct decision_point {
  size_t done, at, first_candidate, n_candidates;
};

void
region_tree_begin(region_tree *t, forms *f, size_t n, bool around)
{
  const program *p = f->prog;
  t->form = f;
  t->prog = p;
  t->width = n + !around;
  t->local = around;
  t->known = allocate(p->n, sizeof *t->known);
  t->asked = allocate(p->n, sizeof *t->asked);
  t->side = allocate(p->n, sizeof *t->side);
  t->scratch = allocate(n + 1, sizeof *t->scratch);
  for (size_t k = 0; k <= n; k++)
    t->scratch[k] = integer_zero();
  signs_begin(&t->sign, t->width, !around, "row");
}

/* ---- Rows and signs */

/* The row in scratch, of no sign yet. */
static void
push_row(region_tree *t, size_t at, size_t kink)
{
  t->rows_of = grow(t->rows_of, t->sign.n_rows, sizeof *t->rows_of);
  t->rows_of[t->sign.n_rows] = (struct row_of){at, kink};
  signs_push(&t->sign, t->scratch);
}

/* The same, which is positive. */
static void
push_positive(region_tree *t)
{
  push_row(t, NONE, 0);
  signs_give(&t->sign, t->sign.n_rows - 1, 1);
}

void
region_tree_bound(region_tree *t, const integer *bound)
{
  for (size_t k = 0; k < t->width; k++)
    mpz_set(&t->scratch[k], &bound[k]);
  push_positive(t);
}

/* The sign of the form in scratch all over the cell, where that is a matter of course: around a point, where it is not 0 there;
 * in a box, where it has one sign inside; where no variable is in it. Else REGION_BOX_OPEN. */
static int
settled_sign(region_tree *t)
{
  size_t n = t->width - !t->local;
  bool varies = false;
  for (size_t k = 0; k < n; k++)
    varies = varies || mpz_sgn(&t->scratch[k]) != 0;
  if (!varies || (t->local && mpz_sgn(&t->scratch[n]) != 0))
    return mpz_sgn(&t->scratch[n]);
  return t->local ? REGION_BOX_OPEN : region_box_sign(&t->box, t->scratch);
}

/* ---- What follows from the choices so far */

static void
mark_done(region_tree *t, bool *what, size_t at)
{
  what[at] = true;
  t->done = grow(t->done, t->n_done, sizeof *t->done);
  t->done[t->n_done++] = at;
}

static void
settle(region_tree *t, size_t at, size_t choice)
{
  form_set(t->form, at, choice);
  mark_done(t, t->known, at);
}

/* Between its kinks by their sides. Where the argument is constant at a kink both pieces have one value. */
static void
settle_pointwise(region_tree *t, size_t at)
{
  size_t piece = 0;
  for (size_t k = 0; k < t->prog->instructions[at].pieces->n_kinks; k++)
    if (form_is_kink(t->form, at, k) && t->side[at][k] > 0)
      piece = k + 1;
  settle(t, at, piece);
}

/* Its kinks whose side is not a matter of course become rows. */
static void
ask(region_tree *t, size_t at)
{
  size_t before = t->sign.n_rows;
  for (size_t k = 0; k < t->prog->instructions[at].pieces->n_kinks; k++) {
    if (!form_is_kink(t->form, at, k))
      continue;
    form_less_kink(t->form, t->scratch, at, k);
    int sign = settled_sign(t);
    if (sign == REGION_BOX_OPEN)
      push_row(t, at, k);
    else
      t->side[at][k] = (signed char)sign;
  }
  if (t->sign.n_rows == before)
    settle_pointwise(t, at);
  else
    mark_done(t, t->asked, at);
}

/* May candidate a be the largest, by the differences that are a matter of course? Of equal ones the first may. */
static bool
may_win(region_tree *t, size_t at, size_t a)
{
  for (size_t b = 0; b < t->prog->instructions[at].n; b++) {
    if (b == a)
      continue;
    form_difference(t->form, t->scratch, at, a, b);
    int sign = settled_sign(t);
    if (sign < 0 || (sign == 0 && b < a))
      return false;
  }
  return true;
}

static bool
is_ready(region_tree *t, size_t at)
{
  const instruction *i = &t->prog->instructions[at];
  bool ready = form_needed(t->form, at) && !t->known[at];
  for (size_t k = 0; k < i->n && ready; k++)
    ready = t->known[i->in[k]];
  return ready;
}

/* A maximum of which more than one entry may be the largest; else it is settled. */
static bool
is_open_maximum(region_tree *t, size_t at)
{
  size_t winners = 0, winner = 0;
  for (size_t a = 0; a < t->prog->instructions[at].n && winners < 2; a++)
    if (may_win(t, at, a)) {
      winner = a;
      winners++;
    }
  if (winners == 1)
    settle(t, at, winner);
  return winners > 1;
}

/* All rows have signs: sets the forms that are known by now. New rows are a new round. Returns the first maximum that is open,
 * or NONE. */
static size_t
sweep(region_tree *t)
{
  size_t before = t->sign.n_rows, maximum = NONE;
  for (size_t r = 0; r < before; r++)
    if (t->rows_of[r].at != NONE)
      t->side[t->rows_of[r].at][t->rows_of[r].kink] = t->sign.rows[r].sign;
  for (size_t at = 0; at < t->prog->n; at++) {
    if (!is_ready(t, at))
      continue;
    if (t->prog->instructions[at].kind == A_POINTWISE)
      (t->asked[at] ? settle_pointwise : ask)(t, at);
    else if (t->prog->instructions[at].kind != AN_ORDER)
      settle(t, at, 0);
    else if (is_open_maximum(t, at) && maximum == NONE)
      maximum = at;
  }
  if (t->sign.n_rows > before)
    signs_begin_round(&t->sign);
  return maximum;
}

/* ---- Branches */

/* The node at the end of the path: of maximum `at`, or of a split. */
static struct decision_point *
begin_node(region_tree *t, size_t at)
{
  size_t depth = t->sign.path.depth;
  const struct decision_point *above = depth > 0 ? &t->nodes[depth - 1] : NULL;
  size_t first = above != NULL ? above->first_candidate + above->n_candidates : 0;
  t->nodes = grow(t->nodes, depth, sizeof *t->nodes);
  t->nodes[depth] = (struct decision_point){t->n_done, at, first, 0};
  return &t->nodes[depth];
}

/* A subtree for each entry that may be the largest. */
static size_t
begin_maximum(region_tree *t, size_t at)
{
  struct decision_point *m = begin_node(t, at);
  signs_node(&t->sign, NONE);
  for (size_t a = 0; a < t->prog->instructions[at].n; a++) {
    if (!may_win(t, at, a))
      continue;
    size_t n = m->first_candidate + m->n_candidates++;
    t->candidates = grow(t->candidates, n, sizeof *t->candidates);
    t->candidates[n] = a;
  }
  return m->n_candidates;
}

/* Rows that say that candidate a is larger than all others. */
static void
push_differences(region_tree *t, const struct decision_point *m, size_t a)
{
  signs_begin_round(&t->sign);
  for (size_t i = 0; i < m->n_candidates; i++) {
    size_t b = t->candidates[m->first_candidate + i];
    if (b == a)
      continue;
    form_difference(t->form, t->scratch, m->at, a, b);
    push_positive(t);
  }
}

static void
enter(void *of)
{
  region_tree *t = of;
  const struct decision_point *n = &t->nodes[t->sign.path.depth - 1];
  while (t->n_done > n->done) {
    size_t at = t->done[--t->n_done];
    *(t->known[at] ? &t->known[at] : &t->asked[at]) = false;
  }
  signs_enter(&t->sign);
  t->trying = NONE;
  if (n->at == NONE)
    return;
  t->trying = t->candidates[n->first_candidate + t->sign.path.choice[t->sign.path.depth - 1]];
  push_differences(t, n, t->trying);
}

/* `wins A`: the maximum is A's form. Or `loses A C`: it is not. */
static bool
read_winner(region_tree *t)
{
  signs_read_circuits(&t->sign);
  bool loses = line_is("loses");
  if (!loses)
    next_line("wins");
  require(next_number() == t->trying, "candidate %zu is expected", t->trying);
  if (loses)
    signs_read_refuted(&t->sign, NONE);
  else
    settle(t, t->nodes[t->sign.path.depth - 1].at, t->trying);
  t->trying = NONE;
  return !loses;
}

/* Up to the next split, or the next maximum of which more than one entry may be the largest. */
static size_t
read_tree(void *of)
{
  region_tree *t = of;
  if (t->trying != NONE && !read_winner(t))
    return TREE_REFUTED;
  for (;;) {
    size_t maximum = t->sign.n_open > 0 ? NONE : sweep(t);
    if (maximum != NONE && t->sign.n_open == 0)
      return begin_maximum(t, maximum);
    if (t->sign.n_open == 0)
      break;
    if (signs_read(&t->sign) > 0) {
      begin_node(t, NONE);
      return 2;
    }
  }
  next_line("leaf");
  signs_read_point(&t->sign);
  t->leaf(t->what);
  return TREE_LEAF;
}

/* ---- The whole */

/* The bounds' rows are the first. */
static void
set_box(region_tree *t)
{
  size_t n = t->width - 1;
  const integer **bound = allocate(2 * n, sizeof *bound);
  for (size_t b = 0; b < 2 * n; b++)
    bound[b] = t->sign.rows[b].vector;
  region_box_set(&t->box, n, bound);
  free(bound);
}

size_t
region_tree_check(region_tree *t, void (*leaf)(void *what), void *what)
{
  static const tree_rules rules = {read_tree, enter, NULL};
  t->leaf = leaf;
  t->what = what;
  t->trying = NONE;
  if (!t->local)
    set_box(t);
  signs_begin_round(&t->sign);
  return tree_read(&t->sign.path, &rules, t);
}
