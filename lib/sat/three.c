/* Clauses rewritten to three literals, and padded (three.h). */
#include "sat/three.h"
#include "base/limit.h"
#include "base/room.h"

#include <stdlib.h>
#include <string.h>

void
clarke_three_init(clarke_three *t)
{
  memset(t, 0, sizeof *t);
}

void
clarke_three_clear(clarke_three *t)
{
  free(t->clause);
  free(t->first);
  clarke_three_init(t);
}

static clarke_status
add(clarke_three *t, int32_t a, int32_t b, int32_t c, clarke_error *err)
{
  if (!clarke_room(&t->clause, &t->capacity, t->n_clauses + 1, sizeof *t->clause))
    return clarke_no_memory(err);
  memcpy(t->clause[t->n_clauses++], (int32_t[3]){a, b, c}, sizeof *t->clause);
  return CLARKE_OK;
}

/* (a b y) (-y c z) (-z d e): a new variable between two clauses. */
static clarke_status
split(clarke_three *t, const int32_t *literal, size_t n, clarke_error *err)
{
  int32_t first = literal[0];
  clarke_status status = CLARKE_OK;
  size_t i = 1;

  t->split++;
  for (; i + 2 < n && status == CLARKE_OK; i++) {
    if (t->n_variables >= CLARKE_CNF_VARIABLES)
      return clarke_fail(err, CLARKE_EINPUT, "clauses of more than three literals need more than %zu variables in all",
                         CLARKE_CNF_VARIABLES);
    const int32_t link = (int32_t)++t->n_variables;

    status = add(t, first, literal[i], link, err);
    first = -link;
  }
  return status == CLARKE_OK ? add(t, first, literal[i], literal[i + 1], err) : status;
}

static clarke_status
add_clause(clarke_three *t, const int32_t *literal, size_t n, clarke_error *err)
{
  clarke_status status;

  switch (n) {
  case 0:
    t->empty++;
    status = add(t, 1, 1, 1, err);
    return status == CLARKE_OK ? add(t, -1, -1, -1, err) : status;
  case 1:
    t->one++;
    return add(t, literal[0], literal[0], literal[0], err);
  case 2:
    t->two++;
    return add(t, literal[0], literal[1], literal[1], err);
  case 3:
    return add(t, literal[0], literal[1], literal[2], err);
  default:
    return split(t, literal, n, err);
  }
}

/* The place of a literal among those of both signs. */
static size_t
place_of(int32_t literal)
{
  return 2 * ((size_t)labs((long)literal) - 1) + (literal < 0);
}

/* The clause's literals, each once, in kept; seen[place] == mark says that it stands there. Returns how many. */
static size_t
take_once(clarke_three *t, int32_t *kept, size_t *seen, size_t mark, const int32_t *literal, size_t n)
{
  bool tautology = false;
  size_t k = 0;

  for (size_t i = 0; i < n; i++) {
    if (seen[place_of(literal[i])] == mark) {
      t->repeated++;
      continue;
    }
    seen[place_of(literal[i])] = mark;
    tautology = tautology || seen[place_of(-literal[i])] == mark;
    kept[k++] = literal[i];
  }
  t->tautologies += tautology;
  return k;
}

static clarke_status
pad(clarke_three *t, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  while (status == CLARKE_OK && (t->n_clauses == 0 || (t->n_clauses & (t->n_clauses - 1)) != 0)) {
    t->padding++;
    status = add(t, 1, -1, -1, err);
  }
  return status;
}

clarke_status
clarke_three_make(clarke_three *t, const clarke_cnf *f, clarke_error *err)
{
  size_t n = f->n_variables, *seen;
  int32_t *kept;
  clarke_status status = CLARKE_OK;

  if (n > clarke_limit_of(CLARKE_LIMIT_INSTRUCTIONS))
    return clarke_limit_fail(err, CLARKE_LIMIT_INSTRUCTIONS, "a formula of %zu variables", n);
  seen = calloc(2 * n + 1, sizeof *seen);
  kept = malloc((f->n_literals + 1) * sizeof *kept);
  t->n_own = n;
  t->n_variables = n == 0 ? 1 : n;
  t->first = malloc((f->n_clauses + 1) * sizeof *t->first);
  if (seen == NULL || kept == NULL || t->first == NULL)
    status = clarke_no_memory(err);
  for (size_t c = 0; c < f->n_clauses && status == CLARKE_OK; c++) {
    t->first[c] = t->n_clauses;
    n = f->first[c + 1] - f->first[c];
    n = n > 0 ? take_once(t, kept, seen, c + 1, f->literal + f->first[c], n) : 0;
    status = add_clause(t, kept, n, err);
  }
  if (t->first != NULL)
    t->first[f->n_clauses] = t->n_clauses;
  free(seen);
  free(kept);
  return status == CLARKE_OK ? pad(t, err) : status;
}
