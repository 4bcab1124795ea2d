/* Trees of regions. What a cell decides is kept on stacks, which are cut back when another branch begins. */
#include "check/program/region_tree.h"
#include "check/base/allocate.h"
#include "check/program/circuit.h"
#include "check/program/forms.h"
#include "check/base/lines.h"
#include "check/program/region_box.h"

#include <stdlib.h>
#include <string.h>

/* A hyperplane: the argument of an instruction less its kink, a bound of the box, or a difference of a maximum's entries. */
typedef struct row {
  integer *vector;  /* primitive; kept when the row is cut off */
  signed char sign; /* 0: none yet */
  size_t at, kink;  /* at NONE: it is of no kink */
} row;

/* How far the stacks were filled. */
typedef struct {
  size_t rows, signs, known, rounds;
} mark;

/* A branch with more to come: of a split the side +, of a maximum the candidates after this one. */
typedef struct choice_point {
  mark before;
  size_t row;           /* of a split */
  size_t at, candidate; /* of a maximum; at NONE: a split */
  bool *may;
} choice_point;

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
}

/* ---- Rows and signs */

static hyperplane
row_at(const void *of, size_t r)
{
  const region_tree *t = of;
  return (hyperplane){r < t->n_rows ? t->rows[r].vector : NULL, r < t->n_rows ? t->rows[r].sign : 0};
}

static hyperplanes
rows_of(const region_tree *t)
{
  return (hyperplanes){t, row_at, t->width, "row"};
}

/* The row in scratch, of no sign yet. */
static void
push_row(region_tree *t, size_t at, size_t kink)
{
  if (t->n_rows == t->room) {
    t->rows = grow(t->rows, t->n_rows, sizeof *t->rows);
    t->order = grow(t->order, t->n_rows, sizeof *t->order);
    t->rows[t->n_rows].vector = allocate(t->width, sizeof *t->rows->vector);
    for (size_t k = 0; k < t->width; k++)
      t->rows[t->n_rows].vector[k] = integer_zero();
    t->room++;
  }
  row *r = &t->rows[t->n_rows++];
  for (size_t k = 0; k < t->width; k++)
    mpz_set(&r->vector[k], &t->scratch[k]);
  make_primitive(r->vector, t->width);
  r->at = at;
  r->kink = kink;
  r->sign = 0;
}

static void
give(region_tree *t, size_t r, signed char sign)
{
  t->rows[r].sign = sign;
  t->order[t->n_signs++] = r;
}

void
region_tree_bound(region_tree *t, const integer *bound)
{
  for (size_t k = 0; k < t->width; k++)
    mpz_set(&t->scratch[k], &bound[k]);
  push_row(t, NONE, 0);
  give(t, t->n_rows - 1, 1);
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

/* ---- Marks */

static mark
mark_here(region_tree *t)
{
  return (mark){t->n_rows, t->n_signs, t->n_done, t->n_rounds};
}

static void
return_to(region_tree *t, const mark *m)
{
  while (t->n_done > m->known) {
    size_t at = t->done[--t->n_done];
    *(t->known[at] ? &t->known[at] : &t->asked[at]) = false;
  }
  while (t->n_signs > m->signs)
    t->rows[t->order[--t->n_signs]].sign = 0;
  t->n_rows = m->rows;
  if (t->n_rounds == m->rounds)
    return;
  for (t->n_rounds = m->rounds; t->n_circuits > t->first_circuit[t->n_rounds];)
    circuit_free(&t->circuits[--t->n_circuits]);
}

static void
begin_round(region_tree *t)
{
  t->first_circuit = grow(t->first_circuit, t->n_rounds, sizeof *t->first_circuit);
  t->first_circuit[t->n_rounds++] = t->n_circuits;
}

static void
mark_done(region_tree *t, bool *what, size_t at)
{
  what[at] = true;
  t->done = grow(t->done, t->n_done, sizeof *t->done);
  t->done[t->n_done++] = at;
}

/* ---- What follows from the choices so far */

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
  size_t before = t->n_rows;
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
  if (t->n_rows == before)
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
  size_t before = t->n_rows, maximum = NONE;
  for (size_t r = 0; r < t->n_rows; r++)
    if (t->rows[r].at != NONE)
      t->side[t->rows[r].at][t->rows[r].kink] = t->rows[r].sign;
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
  if (t->n_rows > before)
    begin_round(t);
  return maximum;
}

/* ---- Circuits */

static void
read_circuit(region_tree *t)
{
  const hyperplanes all = rows_of(t);
  t->circuits = grow(t->circuits, t->n_circuits, sizeof *t->circuits);
  t->circuits[t->n_circuits++] = circuit_read(&all);
}

/* The next word's circuit refutes a sign of row r (or, when r is NONE, the signs as they are). */
static signed char
refuted_sign(region_tree *t, size_t r)
{
  const hyperplanes all = rows_of(t);
  size_t k = next_number();
  require(k < t->n_circuits, "there is no circuit %zu here", k);
  return circuit_refutes(&t->circuits[k], k, r, &all);
}

static size_t
next_open(region_tree *t)
{
  size_t r = next_number();
  require(r < t->n_rows && t->rows[r].sign == 0, "row %zu is not there, or has its sign already", r);
  return r;
}

/* ---- Branches */

static choice_point *
push_choice(region_tree *t)
{
  t->path = grow(t->path, t->n_path, sizeof *t->path);
  t->path[t->n_path] = (choice_point){.before = mark_here(t), .at = NONE};
  return &t->path[t->n_path++];
}

/* Rows that say that candidate a is larger than all others that may win. */
static void
push_differences(region_tree *t, const choice_point *m)
{
  begin_round(t);
  for (size_t b = 0; b < t->prog->instructions[m->at].n; b++) {
    if (b == m->candidate || !m->may[b])
      continue;
    form_difference(t->form, t->scratch, m->at, m->candidate, b);
    push_row(t, NONE, 0);
    give(t, t->n_rows - 1, 1);
  }
}

/* From this candidate on: `loses A C`, while a circuit refutes that it is the largest; then `wins A`. False: there are no more. */
static bool
next_winner(region_tree *t, choice_point *m)
{
  size_t n = t->prog->instructions[m->at].n;
  for (; m->candidate < n; m->candidate++) {
    if (!m->may[m->candidate])
      continue;
    push_differences(t, m);
    while (line_is("circuit"))
      read_circuit(t);
    bool loses = line_is("loses");
    if (!loses)
      next_line("wins");
    require(next_number() == m->candidate, "candidate %zu is expected", m->candidate);
    if (!loses) {
      settle(t, m->at, m->candidate);
      return true;
    }
    refuted_sign(t, NONE);
    return_to(t, &m->before);
  }
  free(m->may);
  m->may = NULL;
  return false;
}

static bool
begin_maximum(region_tree *t, size_t at)
{
  choice_point *m = push_choice(t);
  size_t n = t->prog->instructions[at].n;
  m->at = at;
  m->may = allocate(n, sizeof *m->may);
  for (size_t a = 0; a < n; a++)
    m->may[a] = may_win(t, at, a);
  return next_winner(t, m);
}

/* To the next branch that is still to come; false when there is none. */
static bool
next_branch(region_tree *t)
{
  for (; t->n_path > 0; t->n_path--) {
    choice_point *p = &t->path[t->n_path - 1];
    return_to(t, &p->before);
    if (p->at == NONE) {
      give(t, p->row, 1);
      t->n_path--;
      return true;
    }
    p->candidate++;
    if (next_winner(t, p))
      return true;
  }
  return false;
}

/* A line that gives a row its sign. */
static void
take_sign(region_tree *t)
{
  if (line_is("forced")) {
    size_t r = next_open(t);
    give(t, r, (signed char)-refuted_sign(t, r));
  } else {
    next_line("split");
    size_t r = next_open(t);
    push_choice(t)->row = r;
    give(t, r, -1);
  }
}

/* ---- Leaves */

/* `leaf X ...`: an integer point on the right side of all rows. */
static void
check_point(region_tree *t)
{
  const hyperplanes all = rows_of(t);
  next_point(t->scratch, t->width);
  require(t->local || mpz_sgn(&t->scratch[t->width - 1]) > 0, "the last entry must be above 0");
  for (size_t r = 0; r < t->n_rows; r++)
    require_side(t->scratch, &all, r);
}

/* The bounds' rows are the first. */
static void
set_box(region_tree *t)
{
  size_t n = t->width - 1;
  const integer **bound = allocate(2 * n, sizeof *bound);
  for (size_t b = 0; b < 2 * n; b++)
    bound[b] = t->rows[b].vector;
  region_box_set(&t->box, n, bound);
  free(bound);
}

size_t
region_tree_check(region_tree *t, void (*leaf)(void *what), void *what)
{
  size_t leaves = 0, maximum = NONE;
  if (!t->local)
    set_box(t);
  begin_round(t);
  for (;;) {
    if (t->n_signs == t->n_rows)
      maximum = sweep(t);
    if (t->n_signs < t->n_rows) {
      if (line_is("circuit"))
        read_circuit(t);
      else
        take_sign(t);
      continue;
    }
    if (maximum != NONE) {
      if (!begin_maximum(t, maximum) && !next_branch(t))
        return leaves;
      continue;
    }
    next_line("leaf");
    check_point(t);
    leaf(what);
    leaves++;
    if (!next_branch(t))
      return leaves;
  }
}
