/* Following LRAT: hints say which clauses propagate (follow.h). Deleted clauses are kept; that costs memory alone. */
#include "base/stop.h"
#include "base/room.h"
#include "sat/follow_inside.h"

#include <stdlib.h>

/* A clause of the file that was taken. */
typedef struct {
  int64_t number; /* in the file */
  size_t step;
  uint32_t own;   /* its number among ours; 0: it is always true, and nothing rests on it */
} taken;

typedef struct {
  clarke_following *g;
  taken *at;
  size_t n;
  uint32_t *given;                  /* by clause of the formula: its number among ours, or 0: it is always true */
  signed char *value;               /* of variables, from 1: 1 true, -1 false, 0 open */
  uint32_t *changed, n_changed;     /* variables that are not open */
  int32_t *own;                     /* the literals of the step at hand, each once */
  size_t n_own;
  uint32_t *hint;                   /* its hints, as ours */
  size_t n_hints, hint_capacity;
} lrat;

/* Literals, not each of them once. */
typedef struct {
  const int32_t *at;
  size_t n;
} literals;

static int
value_of(const lrat *l, int32_t literal)
{
  return literal > 0 ? l->value[literal] : -l->value[-literal];
}

static void
make_true(lrat *l, int32_t literal)
{
  l->value[labs((long)literal)] = literal > 0 ? 1 : -1;
  l->changed[l->n_changed++] = (uint32_t)labs((long)literal);
}

static void
forget(lrat *l)
{
  while (l->n_changed > 0)
    l->value[l->changed[--l->n_changed]] = 0;
}

static literals
of_step(const lrat *l, size_t k)
{
  const clarke_clausal *p = l->g->proof;
  const size_t first = p->step[k].first_literal, n = p->step[k + 1].first_literal - first;

  return (literals){n > 0 ? p->literal + first : NULL, n};
}

static literals
of_formula(const lrat *l, size_t c)
{
  const clarke_cnf *f = l->g->formula;
  const size_t n = f->first[c + 1] - f->first[c];

  return (literals){n > 0 ? f->literal + f->first[c] : NULL, n};
}

/* The clause of that number in the file, or NULL. */
static const taken *
find(const lrat *l, int64_t number)
{
  size_t low = 0, high = l->n;

  while (low < high) {
    const size_t middle = low + (high - low) / 2;

    if (l->at[middle].number < number)
      low = middle + 1;
    else
      high = middle;
  }
  return low < l->n && l->at[low].number == number ? &l->at[low] : NULL;
}

typedef enum { TRUE, FALSE, UNIT, OPEN } state;

/* A clause's state. For a UNIT, *open is the literal that is not false. */
static state
state_of(const lrat *l, literals c, int32_t *open)
{
  state s = FALSE;

  for (size_t i = 0; i < c.n; i++) {
    const int value = value_of(l, c.at[i]);

    if (value > 0)
      return TRUE;
    if (value < 0 || (s == UNIT && *open == c.at[i]))
      continue;
    s = s == FALSE ? UNIT : OPEN;
    *open = s == UNIT ? c.at[i] : *open;
  }
  return s;
}

/* Assumes that the clause is false. Its literals are then the step's own. False where it is always true. */
static bool
assume(lrat *l, literals c)
{
  l->n_own = 0;
  for (size_t i = 0; i < c.n; i++) {
    if (value_of(l, c.at[i]) > 0)
      return false;
    if (value_of(l, c.at[i]) == 0) {
      make_true(l, -c.at[i]);
      l->own[l->n_own++] = c.at[i];
    }
  }
  return true;
}

static bool
put_hint(lrat *l, uint32_t number)
{
  if (!clarke_room(&l->hint, &l->hint_capacity, l->n_hints + 1, sizeof *l->hint))
    return false;
  l->hint[l->n_hints++] = number;
  return true;
}

/* The step at hand, as one of ours. Its number; 0: out of memory. */
static uint32_t
state_step(lrat *l)
{
  clarke_sat_refutation *r = &l->g->to->refutation;
  bool good = true;

  for (size_t i = 0; good && i < l->n_own; i++)
    good = clarke_refutation_literal(r, l->own[i]);
  for (size_t i = 0; good && i < l->n_hints; i++)
    good = clarke_refutation_hint(r, l->hint[i]);
  return good ? clarke_refutation_end(r) : 0;
}

/* The formula's clause c among ours. One that became several follows from them: each makes the next one's first literal
 * true. An empty one refutes the formula. */
static clarke_status
state_given(lrat *l, size_t c, bool *refuted, clarke_error *err)
{
  const size_t first = l->g->three->first[c], end = l->g->three->first[c + 1];
  bool good = true;

  if (assume(l, of_formula(l, c))) {
    l->n_hints = 0;
    for (size_t part = first; good && part < end; part++)
      good = put_hint(l, (uint32_t)part + 1);
    l->given[c] = end - first == 1 ? (uint32_t)first + 1 : good ? state_step(l) : 0;
    good = l->given[c] != 0;
    *refuted = good && l->n_own == 0;
  }
  forget(l);
  return good ? CLARKE_OK : clarke_no_memory(err);
}

/* --- the steps of the file ---------------------------------------------------------------------- */

/* The clause that a hint names, and its number among ours. */
static clarke_status
look_up(const lrat *l, size_t k, int64_t hint, literals *clause, uint32_t *number, clarke_error *err)
{
  const taken *found;

  if (hint <= (int64_t)l->g->formula->n_clauses) {
    *clause = of_formula(l, (size_t)hint - 1);
    *number = l->given[hint - 1];
    return CLARKE_OK;
  }
  found = find(l, hint);
  if (found == NULL)
    return clarke_clausal_fail(err, l->g->proof, l->g->file, k, "hint %lld: there is no clause of that number", (long long)hint);
  *clause = of_step(l, found->step);
  *number = found->own;
  return CLARKE_OK;
}

/* One hint. Is its clause false? One that is true already says nothing, and is left out. */
static clarke_status
propagate(lrat *l, size_t k, int64_t hint, bool *conflict, clarke_error *err)
{
  literals clause = {NULL, 0};
  uint32_t number = 0;
  int32_t open = 0;
  state s;
  clarke_status status = look_up(l, k, hint, &clause, &number, err);

  if (status != CLARKE_OK)
    return status;
  l->g->to->work += clause.n + 1;
  s = state_of(l, clause, &open);
  if (s == TRUE)
    return CLARKE_OK;
  if (s == OPEN)
    return clarke_clausal_fail(err, l->g->proof, l->g->file, k, "hint %lld: more than one literal of that clause is open",
                               (long long)hint);
  if (s == UNIT)
    make_true(l, open);
  *conflict = s == FALSE;
  return put_hint(l, number) ? CLARKE_OK : clarke_no_memory(err);
}

/* All hints up to the clause that is false; false, too, when it is told to stop. */
static clarke_status
propagate_all(lrat *l, size_t k, bool *conflict, clarke_error *err)
{
  const clarke_clausal *p = l->g->proof;
  clarke_status status = CLARKE_OK;

  *conflict = false;
  l->n_hints = 0;
  for (size_t h = p->step[k].first_hint; h < p->step[k + 1].first_hint && status == CLARKE_OK && !*conflict; h++) {
    if (!clarke_following_goes_on(l->g))
      return CLARKE_OK;
    status = propagate(l, k, p->hint[h], conflict, err);
  }
  if (status == CLARKE_OK && !*conflict)
    status = clarke_clausal_fail(err, p, l->g->file, k, "the clause does not follow by unit propagation with its hints");
  return status;
}

static clarke_status
check_literals(const lrat *l, size_t k, clarke_error *err)
{
  const literals c = of_step(l, k);
  clarke_status status = CLARKE_OK;

  if (l->g->proof->step[k].number <= (int64_t)l->g->formula->n_clauses)
    return clarke_clausal_fail(err, l->g->proof, l->g->file, k, "clause %lld is one of the formula, which has %zu",
                               (long long)l->g->proof->step[k].number, l->g->formula->n_clauses);
  for (size_t i = 0; i < c.n && status == CLARKE_OK; i++)
    status = clarke_following_knows(l->g, k, c.at[i], err);
  return status;
}

/* Is the empty clause reached? */
static clarke_status
follow_step(lrat *l, size_t k, bool *refuted, clarke_error *err)
{
  taken *next = &l->at[l->n];
  bool conflict = false;
  clarke_status status = check_literals(l, k, err);

  if (status != CLARKE_OK)
    return status;
  *next = (taken){l->g->proof->step[k].number, k, 0};
  if (assume(l, of_step(l, k))) {
    status = propagate_all(l, k, &conflict, err);
    if (status == CLARKE_OK && conflict && (next->own = state_step(l)) == 0)
      status = clarke_no_memory(err);
    *refuted = status == CLARKE_OK && conflict && l->n_own == 0;
  }
  l->n++;
  forget(l);
  return status;
}

static clarke_status
follow_all(lrat *l, clarke_error *err)
{
  const clarke_clausal *p = l->g->proof;
  bool refuted = false;
  clarke_status status = CLARKE_OK;

  for (size_t c = 0; c < l->g->formula->n_clauses && status == CLARKE_OK && !refuted; c++)
    status = state_given(l, c, &refuted, err);
  for (size_t k = 0; k < p->n && status == CLARKE_OK && !refuted; k++) {
    clarke_work_done();
    if (!p->step[k].deletion)
      status = follow_step(l, k, &refuted, err);
    if (status == CLARKE_OK && !clarke_following_goes_on(l->g))
      return CLARKE_OK;
  }
  if (refuted)
    l->g->to->answer = CLARKE_FORMULA_REFUTED;
  if (status == CLARKE_OK && !refuted)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: %zu steps, but none is the empty clause", l->g->file, p->n);
  return status;
}

clarke_status
clarke_follow_hints(clarke_following *g, clarke_error *err)
{
  const size_t n = g->three->n_own;
  lrat l = {.g = g};
  clarke_status status;

  l.at = calloc(g->proof->n, sizeof *l.at);
  l.given = calloc(g->formula->n_clauses + 1, sizeof *l.given);
  l.value = calloc(n + 1, sizeof *l.value);
  l.changed = calloc(n + 1, sizeof *l.changed);
  l.own = calloc(n + 1, sizeof *l.own);
  if (l.at == NULL || l.given == NULL || l.value == NULL || l.changed == NULL || l.own == NULL)
    status = clarke_no_memory(err);
  else
    status = follow_all(&l, err);
  free(l.at);
  free(l.given);
  free(l.value);
  free(l.changed);
  free(l.own);
  free(l.hint);
  return status;
}
