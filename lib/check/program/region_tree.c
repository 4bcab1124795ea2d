/* Trees of regions. What a cell decides is kept on stacks, which are cut back when another branch begins. */
#include "check/program/region_tree.h"
#include "check/base/allocate.h"
#include "check/program/forms.h"
#include "check/base/lines.h"
#include "check/program/region_box.h"

#include <stdlib.h>
#include <string.h>

/* A hyperplane: the argument of an instruction less its kink, a bound of the box, or a difference of a maximum's entries. */
typedef struct {
  integer *vector;  /* primitive; kept when the row is cut off */
  signed char sign; /* 0: none yet */
  size_t at, kink;  /* at NONE: it is of no kink */
} row;

/* A combination of rows that is zero. */
typedef struct {
  size_t n;
  size_t *row;
  signed char *sign; /* of the coefficients */
} circuit;

/* How far the stacks were filled. */
typedef struct {
  size_t rows, signs, known, rounds;
} mark;

/* A branch with more to come: of a split the side +, of a maximum the candidates after this one. */
typedef struct {
  mark before;
  size_t row;           /* of a split */
  size_t at, candidate; /* of a maximum; at NONE: a split */
  bool *may;
} parting;

static const program *prog;
static size_t width; /* of rows */
static bool local;
static row *rows;
static size_t n_rows, room;
static size_t *order, n_signs; /* rows that were given signs, in that order */
static size_t *done, n_done;   /* instructions that became known, or asked */
static bool *known, *asked;    /* by instruction: its form is set; its kinks have rows */
static signed char (*side)[2]; /* by instruction and kink */
static circuit *circuits;
static size_t n_circuits;
static size_t *first_circuit, n_rounds; /* of each round under way */
static parting *path;
static size_t n_path;
static integer *scratch; /* a row */

void
region_tree_begin(const program *p, size_t n, bool around)
{
  prog = p;
  width = n + !around;
  local = around;
  known = allocate(p->n, sizeof *known);
  asked = allocate(p->n, sizeof *asked);
  side = allocate(p->n, sizeof *side);
  scratch = allocate(n + 1, sizeof *scratch);
  for (size_t k = 0; k <= n; k++)
    scratch[k] = integer_zero();
}

/* ---- Rows and signs */

/* Divides by the entries' greatest common divisor. */
static void
make_primitive(integer *x, size_t n)
{
  INTEGER(common);
  for (size_t i = 0; i < n && mpz_cmp_ui(&common, 1) != 0; i++)
    mpz_gcd(&common, &common, &x[i]);
  for (size_t i = 0; i < n && mpz_cmp_ui(&common, 1) > 0; i++)
    mpz_divexact(&x[i], &x[i], &common);
}

/* The row in scratch, of no sign yet. */
static void
push_row(size_t at, size_t kink)
{
  if (n_rows == room) {
    rows = grow(rows, n_rows, sizeof *rows);
    order = grow(order, n_rows, sizeof *order);
    rows[n_rows].vector = allocate(width, sizeof *rows->vector);
    for (size_t k = 0; k < width; k++)
      rows[n_rows].vector[k] = integer_zero();
    room++;
  }
  row *r = &rows[n_rows++];
  for (size_t k = 0; k < width; k++)
    mpz_set(&r->vector[k], &scratch[k]);
  make_primitive(r->vector, width);
  r->at = at;
  r->kink = kink;
  r->sign = 0;
}

static void
give(size_t r, signed char sign)
{
  rows[r].sign = sign;
  order[n_signs++] = r;
}

void
region_tree_bound(const integer *bound)
{
  for (size_t k = 0; k < width; k++)
    mpz_set(&scratch[k], &bound[k]);
  push_row(NONE, 0);
  give(n_rows - 1, 1);
}

/* The sign of the form in scratch all over the cell, where that is a matter of course: around a point, where it is not 0 there;
 * in a box, where it has one sign inside; where no variable is in it. Else REGION_BOX_OPEN. */
static int
settled_sign(void)
{
  size_t n = width - !local;
  bool varies = false;
  for (size_t k = 0; k < n; k++)
    varies = varies || mpz_sgn(&scratch[k]) != 0;
  if (!varies || (local && mpz_sgn(&scratch[n]) != 0))
    return mpz_sgn(&scratch[n]);
  return local ? REGION_BOX_OPEN : region_box_sign(scratch);
}

/* ---- Marks */

static mark
mark_here(void)
{
  return (mark){n_rows, n_signs, n_done, n_rounds};
}

static void
return_to(const mark *m)
{
  while (n_done > m->known) {
    size_t at = done[--n_done];
    *(known[at] ? &known[at] : &asked[at]) = false;
  }
  while (n_signs > m->signs)
    rows[order[--n_signs]].sign = 0;
  n_rows = m->rows;
  if (n_rounds == m->rounds)
    return;
  for (n_rounds = m->rounds; n_circuits > first_circuit[n_rounds];) {
    free(circuits[--n_circuits].row);
    free(circuits[n_circuits].sign);
  }
}

static void
begin_round(void)
{
  first_circuit = grow(first_circuit, n_rounds, sizeof *first_circuit);
  first_circuit[n_rounds++] = n_circuits;
}

static void
mark_done(bool *what, size_t at)
{
  what[at] = true;
  done = grow(done, n_done, sizeof *done);
  done[n_done++] = at;
}

/* ---- What follows from the choices so far */

static void
settle(size_t at, size_t choice)
{
  form_set(at, choice);
  mark_done(known, at);
}

/* Between its kinks by their sides. Where the argument is constant at a kink both pieces have one value. */
static void
settle_pointwise(size_t at)
{
  size_t piece = 0;
  for (size_t k = 0; k < prog->instructions[at].pieces->n_kinks; k++)
    if (form_is_kink(at, k) && side[at][k] > 0)
      piece = k + 1;
  settle(at, piece);
}

/* Its kinks whose side is not a matter of course become rows. */
static void
ask(size_t at)
{
  size_t before = n_rows;
  for (size_t k = 0; k < prog->instructions[at].pieces->n_kinks; k++) {
    if (!form_is_kink(at, k))
      continue;
    form_less_kink(scratch, at, k);
    int sign = settled_sign();
    if (sign == REGION_BOX_OPEN)
      push_row(at, k);
    else
      side[at][k] = (signed char)sign;
  }
  if (n_rows == before)
    settle_pointwise(at);
  else
    mark_done(asked, at);
}

/* May candidate a be the largest, by the differences that are a matter of course? Of equal ones the first may. */
static bool
may_win(size_t at, size_t a)
{
  for (size_t b = 0; b < prog->instructions[at].n; b++) {
    if (b == a)
      continue;
    form_difference(scratch, at, a, b);
    int sign = settled_sign();
    if (sign < 0 || (sign == 0 && b < a))
      return false;
  }
  return true;
}

static bool
is_ready(size_t at)
{
  const instruction *i = &prog->instructions[at];
  bool ready = form_needed(at) && !known[at];
  for (size_t k = 0; k < i->n && ready; k++)
    ready = known[i->in[k]];
  return ready;
}

/* A maximum of which more than one entry may be the largest; else it is settled. */
static bool
is_open_maximum(size_t at)
{
  size_t winners = 0, winner = 0;
  for (size_t a = 0; a < prog->instructions[at].n && winners < 2; a++)
    if (may_win(at, a)) {
      winner = a;
      winners++;
    }
  if (winners == 1)
    settle(at, winner);
  return winners > 1;
}

/* All rows have signs: sets the forms that are known by now. New rows are a new round. Returns the first maximum that is open,
 * or NONE. */
static size_t
sweep(void)
{
  size_t before = n_rows, maximum = NONE;
  for (size_t r = 0; r < n_rows; r++)
    if (rows[r].at != NONE)
      side[rows[r].at][rows[r].kink] = rows[r].sign;
  for (size_t at = 0; at < prog->n; at++) {
    if (!is_ready(at))
      continue;
    if (prog->instructions[at].kind == A_POINTWISE)
      (asked[at] ? settle_pointwise : ask)(at);
    else if (prog->instructions[at].kind != AN_ORDER)
      settle(at, 0);
    else if (is_open_maximum(at) && maximum == NONE)
      maximum = at;
  }
  if (n_rows > before)
    begin_round();
  return maximum;
}

/* ---- Circuits */

/* `circuit R VALUE R VALUE ...`: the combination of these rows is zero. */
static void
read_circuit(void)
{
  circuit c = {0, NULL, NULL};
  RATIONAL(value);
  for (size_t k = 0; k < width; k++)
    mpz_set_ui(&scratch[k], 0);
  while (more_words()) {
    size_t r = next_number();
    next_rational(&value);
    require(r < n_rows && (c.n == 0 || r > c.row[c.n - 1]), "rows that there are, in increasing order, are expected");
    require(mpq_sgn(&value) != 0 && mpz_cmp_ui(mpq_denref(&value), 1) == 0, "integers that are not 0 are expected");
    for (size_t k = 0; k < width; k++)
      mpz_addmul(&scratch[k], mpq_numref(&value), &rows[r].vector[k]);
    c.row = grow(c.row, c.n, sizeof *c.row);
    c.sign = grow(c.sign, c.n, sizeof *c.sign);
    c.row[c.n] = r;
    c.sign[c.n++] = (signed char)mpq_sgn(&value);
  }
  for (size_t k = 0; k < width; k++)
    require(mpz_sgn(&scratch[k]) == 0, "the combination of the rows is not 0");
  circuits = grow(circuits, n_circuits, sizeof *circuits);
  circuits[n_circuits++] = c;
}

/* The next word's circuit has row r (or any, when r is NONE), and all its other rows have the signs of its coefficients, or all
 * have the opposite ones. Returns the sign that row r then cannot have. */
static signed char
refuted_sign(size_t r)
{
  size_t k = next_number(), others = 0;
  require(k < n_circuits, "there is no circuit %zu here", k);
  const circuit *c = &circuits[k];
  signed char turn = 0, own = 0;
  for (size_t i = 0; i < c->n; i++) {
    signed char s = (signed char)(rows[c->row[i]].sign * c->sign[i]);
    if (c->row[i] == r) {
      own = c->sign[i];
      continue;
    }
    require(s != 0 && (others == 0 || s == turn), "the signs given do not stand as in circuit %zu, nor all opposite",
            k);
    turn = s;
    others++;
  }
  require(others > 0 && (r == NONE || own != 0), "circuit %zu has no row %zu, or no other", k, r);
  return (signed char)(turn * own);
}

static size_t
next_open(void)
{
  size_t r = next_number();
  require(r < n_rows && rows[r].sign == 0, "row %zu is not there, or has its sign already", r);
  return r;
}

/* ---- Branches */

static parting *
push_parting(void)
{
  path = grow(path, n_path, sizeof *path);
  path[n_path] = (parting){.before = mark_here(), .at = NONE};
  return &path[n_path++];
}

/* Rows that say that candidate a is larger than all others that may win. */
static void
push_differences(const parting *m)
{
  begin_round();
  for (size_t b = 0; b < prog->instructions[m->at].n; b++) {
    if (b == m->candidate || !m->may[b])
      continue;
    form_difference(scratch, m->at, m->candidate, b);
    push_row(NONE, 0);
    give(n_rows - 1, 1);
  }
}

/* From this candidate on: `loses A C`, while a circuit refutes that it is the largest; then `wins A`. False: there are no more. */
static bool
next_winner(parting *m)
{
  size_t n = prog->instructions[m->at].n;
  for (; m->candidate < n; m->candidate++) {
    if (!m->may[m->candidate])
      continue;
    push_differences(m);
    while (line_is("circuit"))
      read_circuit();
    bool loses = line_is("loses");
    if (!loses)
      next_line("wins");
    require(next_number() == m->candidate, "candidate %zu is expected", m->candidate);
    if (!loses) {
      settle(m->at, m->candidate);
      return true;
    }
    refuted_sign(NONE);
    return_to(&m->before);
  }
  free(m->may);
  m->may = NULL;
  return false;
}

static bool
begin_maximum(size_t at)
{
  parting *m = push_parting();
  size_t n = prog->instructions[at].n;
  m->at = at;
  m->may = allocate(n, sizeof *m->may);
  for (size_t a = 0; a < n; a++)
    m->may[a] = may_win(at, a);
  return next_winner(m);
}

/* To the next branch that is still to come; false when there is none. */
static bool
next_branch(void)
{
  for (; n_path > 0; n_path--) {
    parting *p = &path[n_path - 1];
    return_to(&p->before);
    if (p->at == NONE) {
      give(p->row, 1);
      n_path--;
      return true;
    }
    p->candidate++;
    if (next_winner(p))
      return true;
  }
  return false;
}

/* A line that gives a row its sign. */
static void
take_sign(void)
{
  if (line_is("forced")) {
    size_t r = next_open();
    give(r, (signed char)-refuted_sign(r));
  } else {
    next_line("split");
    size_t r = next_open();
    push_parting()->row = r;
    give(r, -1);
  }
}

/* ---- Leaves */

/* `leaf X ...`: an integer point on the right side of all rows. */
static void
check_point(void)
{
  RATIONAL(value);
  INTEGER(product);
  for (size_t k = 0; k < width; k++) {
    next_rational(&value);
    require(mpz_cmp_ui(mpq_denref(&value), 1) == 0, "integers are expected");
    mpz_set(&scratch[k], mpq_numref(&value));
  }
  require(local || mpz_sgn(&scratch[width - 1]) > 0, "the last entry must be above 0");
  for (size_t r = 0; r < n_rows; r++) {
    mpz_set_ui(&product, 0);
    for (size_t k = 0; k < width; k++)
      mpz_addmul(&product, &scratch[k], &rows[r].vector[k]);
    require(mpz_sgn(&product) == rows[r].sign, "the point is not on the side given of row %zu", r);
  }
}

/* The bounds' rows are the first. */
static void
set_box(void)
{
  size_t n = width - 1;
  const integer **bound = allocate(2 * n, sizeof *bound);
  for (size_t b = 0; b < 2 * n; b++)
    bound[b] = rows[b].vector;
  region_box_set(n, bound);
  free(bound);
}

size_t
region_tree_check(void (*leaf)(void))
{
  size_t leaves = 0, maximum = NONE;
  if (!local)
    set_box();
  begin_round();
  for (;;) {
    if (n_signs == n_rows)
      maximum = sweep();
    if (n_signs < n_rows) {
      if (line_is("circuit"))
        read_circuit();
      else
        take_sign();
      continue;
    }
    if (maximum != NONE) {
      if (!begin_maximum(maximum) && !next_branch())
        return leaves;
      continue;
    }
    next_line("leaf");
    check_point();
    leaf();
    leaves++;
    if (!next_branch())
      return leaves;
  }
}
