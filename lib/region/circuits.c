/* Circuits, clauses and their watches (circuits.h). */
#include "region/circuits.h"
#include "base/room.h"
#include "base/stop.h"
#include "base/verify.h"

#include <flint/fmpz.h>
#include <flint/fmpz_vec.h>
#include <stdlib.h>
#include <string.h>

/* --- the exact dependency -------------------------------------------------------------------- */

static bool
signs_agree(const fmpz_mat_t null, const signed char *sign, size_t n)
{
  const int turn = fmpz_sgn(fmpz_mat_entry(null, 0, 0)) * sign[0];

  for (size_t i = 0; i < n; i++)
    if (fmpz_sgn(fmpz_mat_entry(null, (slong)i, 0)) * sign[i] * turn <= 0)
      return false;
  return true;
}

bool
clarke_circuit_of(fmpz *value, const clarke_rows *rows, const size_t *row, const signed char *sign, size_t n)
{
  fmpz_mat_t columns, null;
  bool found = false;

  clarke_work_spend(n * n * rows->dim + 16);
  fmpz_mat_init(columns, (slong)rows->dim, (slong)n);
  fmpz_mat_init(null, (slong)n, (slong)n);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < rows->dim; j++)
      fmpz_set(fmpz_mat_entry(columns, (slong)j, (slong)i), fmpz_mat_entry(rows->exact, (slong)row[i], (slong)j));
  if (n > 0 && fmpz_mat_nullspace(null, columns) == 1 && signs_agree(null, sign, n)) {
    found = true;
    for (size_t i = 0; i < n; i++) {
      fmpz_abs(value + i, fmpz_mat_entry(null, (slong)i, 0));
      if (sign[i] < 0)
        fmpz_neg(value + i, value + i);
    }
    _fmpz_vec_content(fmpz_mat_entry(null, 0, 0), value, (slong)n);
    _fmpz_vec_scalar_divexact_fmpz(value, value, (slong)n, fmpz_mat_entry(null, 0, 0));
  }
  fmpz_mat_clear(null);
  fmpz_mat_clear(columns);
  return found;
}

/* --- the store ------------------------------------------------------------------------------- */

clarke_status
clarke_circuits_init(clarke_circuits *c, const clarke_rows *rows, size_t fixed, clarke_error *err)
{
  memset(c, 0, sizeof *c);
  c->rows = rows;
  c->fixed = fixed;
  c->watch = calloc(2 * rows->n + 1, sizeof *c->watch);
  return c->watch != NULL ? CLARKE_OK : clarke_no_memory(err);
}

void
clarke_circuits_clear(clarke_circuits *c)
{
  for (size_t i = 0; i < c->n; i++) {
    _fmpz_vec_clear(c->circuit[i].value, (slong)c->circuit[i].n);
    free(c->circuit[i].row);
  }
  for (size_t i = 0; c->watch != NULL && i < 2 * c->rows->n; i++)
    free(c->watch[i].clause);
  free(c->circuit);
  free(c->clause);
  free(c->place);
  free(c->watch);
  memset(c, 0, sizeof *c);
}

static clarke_status
put_watch(clarke_circuits *c, uint32_t place, size_t clause, clarke_error *err)
{
  clarke_watch_list *w = &c->watch[place];
  clarke_status status = clarke_make_room(&w->clause, &w->room, w->n + 1, sizeof *w->clause, err);

  if (status == CLARKE_OK)
    w->clause[w->n++] = clause;
  return status;
}

static void
take_watch(clarke_circuits *c, uint32_t place, size_t clause)
{
  clarke_watch_list *w = &c->watch[place];

  for (size_t i = 0; i < w->n; i++)
    if (w->clause[i] == clause) {
      w->clause[i] = w->clause[--w->n];
      return;
    }
}

static void
swap_places(uint32_t *place, size_t a, size_t b)
{
  const uint32_t old = place[a];

  place[a] = place[b];
  place[b] = old;
}

/* When a row got its sign; one that has none will be the last. */
static size_t
moment(const clarke_trail *t, uint32_t place)
{
  return t->sign[place / 2] == 0 ? SIZE_MAX : t->order[place / 2];
}

/* The places of a circuit's rows that are not fixed, the two that got their sign last before the others. */
static size_t
put_places(clarke_circuits *c, const clarke_circuit *circuit, bool opposite, const clarke_trail *t)
{
  uint32_t *place = c->place + c->n_places;
  size_t n = 0;

  for (size_t i = 0; i < circuit->n; i++)
    if (circuit->row[i] >= c->fixed)
      place[n++] = (uint32_t)(2 * circuit->row[i] + ((fmpz_sgn(circuit->value + i) < 0) != opposite));
  for (size_t first = 0; first < 2 && first < n; first++)
    for (size_t i = first + 1; i < n; i++)
      if (moment(t, place[i]) > moment(t, place[first]))
        swap_places(place, first, i);
  return n;
}

static clarke_status
add_clause(clarke_circuits *c, size_t circuit, bool opposite, const clarke_trail *t, clarke_error *err)
{
  const clarke_circuit *from = &c->circuit[circuit];
  clarke_status status = clarke_make_room(&c->clause, &c->clause_room, c->n_clauses + 1, sizeof *c->clause, err);
  clarke_clause *clause;

  if (status == CLARKE_OK)
    status = clarke_make_room(&c->place, &c->place_room, c->n_places + from->n, sizeof *c->place, err);
  if (status != CLARKE_OK)
    return status;
  clause = &c->clause[c->n_clauses];
  *clause = (clarke_clause){c->n_places, put_places(c, from, opposite, t), circuit};
  c->n_places += clause->n;
  c->n_clauses++;
  for (size_t i = 0; i < 2 && clause->n > 1 && status == CLARKE_OK; i++)
    status = put_watch(c, c->place[clause->at + i], c->n_clauses - 1, err);
  return status;
}

clarke_status
clarke_circuits_add(clarke_circuits *c, const size_t *row, const fmpz *value, size_t n, const clarke_trail *t,
                    clarke_error *err)
{
  clarke_status status = clarke_make_room(&c->circuit, &c->room, c->n + 1, sizeof *c->circuit, err);
  clarke_circuit *circuit;
  bool free_to_turn = true;

  if (status != CLARKE_OK)
    return status;
  circuit = &c->circuit[c->n];
  circuit->row = malloc(n * sizeof *row);
  if (circuit->row == NULL)
    return clarke_no_memory(err);
  memcpy(circuit->row, row, n * sizeof *row);
  circuit->n = n;
  circuit->value = _fmpz_vec_init((slong)n);
  _fmpz_vec_set(circuit->value, value, (slong)n);
  c->n++;
  for (size_t i = 0; i < n; i++)
    free_to_turn = free_to_turn && row[i] >= c->fixed;
  status = add_clause(c, c->n - 1, false, t, err);
  if (free_to_turn && status == CLARKE_OK)
    status = add_clause(c, c->n - 1, true, t, err);
  return status;
}

/* --- the trail ------------------------------------------------------------------------------- */

clarke_status
clarke_trail_init(clarke_trail *t, size_t n_rows, clarke_error *err)
{
  memset(t, 0, sizeof *t);
  t->sign = calloc(n_rows + 1, sizeof *t->sign);
  t->order = calloc(n_rows + 1, sizeof *t->order);
  t->row = calloc(n_rows + 1, sizeof *t->row);
  t->circuit = calloc(n_rows + 1, sizeof *t->circuit);
  if (t->sign != NULL && t->order != NULL && t->row != NULL && t->circuit != NULL)
    return CLARKE_OK;
  clarke_trail_clear(t);
  return clarke_no_memory(err);
}

void
clarke_trail_clear(clarke_trail *t)
{
  free(t->sign);
  free(t->order);
  free(t->row);
  free(t->circuit);
  memset(t, 0, sizeof *t);
}

void
clarke_trail_push(clarke_trail *t, size_t row, int sign, size_t circuit)
{
  CLARKE_ASSERT(t->sign[row] == 0);
  t->sign[row] = (signed char)sign;
  t->order[row] = t->n;
  t->row[t->n] = row;
  t->circuit[t->n] = circuit;
  t->n++;
}

void
clarke_trail_cut(clarke_trail *t, size_t n)
{
  while (t->n > n)
    t->sign[t->row[--t->n]] = 0;
}

/* --- what clauses force ---------------------------------------------------------------------- */

/* 1: the row has the clause's sign; -1: the other one, so that the clause is kept; 0: none. */
static int
state(const signed char *sign, uint32_t place)
{
  const int s = sign[place / 2];

  return place % 2 == 1 ? -s : s;
}

static void
force(clarke_trail *t, uint32_t place, size_t circuit)
{
  clarke_trail_push(t, place / 2, place % 2 == 1 ? 1 : -1, circuit);
}

/* The watched place `seen` has got the clause's sign. Another takes its watch, if one is left. *moved: one did. */
static clarke_status
visit_clause(clarke_circuits *c, bool *moved, clarke_trail *t, size_t number, uint32_t seen, clarke_error *err)
{
  const clarke_clause *clause = &c->clause[number];
  uint32_t *place = c->place + clause->at;

  *moved = false;
  if (place[0] == seen)
    swap_places(place, 0, 1);
  if (state(t->sign, place[0]) < 0)
    return CLARKE_OK;
  for (size_t i = 2; i < clause->n; i++)
    if (state(t->sign, place[i]) <= 0) {
      swap_places(place, 1, i);
      *moved = true;
      return put_watch(c, place[1], number, err);
    }
  if (state(t->sign, place[0]) == 0)
    force(t, place[0], clause->circuit);
  return CLARKE_OK;
}

clarke_status
clarke_circuits_visit(clarke_circuits *c, clarke_trail *t, size_t row, clarke_error *err)
{
  const uint32_t seen = (uint32_t)(2 * row + (t->sign[row] < 0));
  clarke_watch_list *w = &c->watch[seen];
  clarke_status status = CLARKE_OK;

  clarke_work_spend(2 * w->n + 1);
  for (size_t i = 0; i < w->n && status == CLARKE_OK;) {
    bool moved;

    status = visit_clause(c, &moved, t, w->clause[i], seen, err);
    if (moved)
      w->clause[i] = w->clause[--w->n];
    else
      i++;
  }
  return status;
}

clarke_status
clarke_circuits_review(clarke_circuits *c, clarke_trail *t, size_t number, clarke_error *err)
{
  const clarke_clause *clause = &c->clause[number];
  uint32_t *place = c->place + clause->at;
  size_t left = 0;
  clarke_status status = CLARKE_OK;

  clarke_work_spend(clause->n / 4 + 1);
  for (size_t i = 0; i < clause->n && left < 2; i++) {
    if (state(t->sign, place[i]) < 0)
      return CLARKE_OK;
    left += state(t->sign, place[i]) == 0;
  }
  for (size_t k = 0, i = 0; k < left && status == CLARKE_OK; k++, i++) {
    while (state(t->sign, place[i]) != 0)
      i++;
    if (i > k && clause->n > 1) {
      if (i > 1) {
        take_watch(c, place[k], number);
        status = put_watch(c, place[i], number, err);
      }
      swap_places(place, k, i);
    }
  }
  if (left == 1)
    force(t, place[0], clause->circuit);
  return status;
}
