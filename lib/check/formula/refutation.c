/* Refutations, clause by clause. Nothing is searched: hints say which clauses propagate, in order. */
#include "check/formula/refutation.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  size_t n_variables;
  int *literals; /* of all clauses, end to end, each with 0 at its end */
  size_t n_literals;
  size_t *at;                 /* clause number k begins at literals[at[k]]; NONE: it is not there */
  size_t n;                   /* clauses, from 1 */
  signed char *value;         /* of variables: 1 true, -1 false, 0 open */
  size_t *changed, n_changed; /* variables that are not open */
} refutation;

static void
put_literal(refutation *r, int l)
{
  r->literals = grow(r->literals, r->n_literals, sizeof *r->literals);
  r->literals[r->n_literals++] = l;
}

/* The next clause begins; its literals follow. */
static void
begin_clause(refutation *r)
{
  r->at = grow(r->at, ++r->n, sizeof *r->at);
  r->at[r->n] = r->n_literals;
}

/* A whole number in the one way it may be written. */
static long
next_whole(void)
{
  const char *word = next_word(), *digits = word + (*word == '-');
  size_t length = strlen(digits);
  require(length >= 1 && length <= 18 && strspn(digits, "0123456789") == length
              && (*digits != '0' || strcmp(word, "0") == 0),
          "'%.40s' is not a whole number as it must be written", word);
  return strtol(word, NULL, 10);
}

static size_t
next_clause_number(refutation *r)
{
  long k = next_whole();
  require(k >= 1 && (size_t)k <= r->n && r->at[k] != NONE, "there is no clause %ld", k);
  return (size_t)k;
}

static int
value_of(refutation *r, int l)
{
  return l > 0 ? r->value[l] : -r->value[-l];
}

static void
make_true(refutation *r, int l)
{
  r->value[abs(l)] = l > 0 ? 1 : -1;
  r->changed[r->n_changed++] = (size_t)abs(l);
}

/* All literals of the clause are false, or all but one, which becomes true. Is the clause false? */
static bool
propagate(refutation *r, size_t k)
{
  int open = 0;
  for (const int *l = r->literals + r->at[k]; *l != 0; l++) {
    if (value_of(r, *l) < 0)
      continue;
    require(value_of(r, *l) == 0, "literal %d of clause %zu is true", *l, k);
    require(open == 0 || open == *l, "literals %d and %d of clause %zu are open", open, *l, k);
    open = *l;
  }
  if (open != 0)
    make_true(r, open);
  return open == 0;
}

/* `learn NUMBER L ... 0 H ...`. Has it no literals? */
static bool
check_learned(refutation *r)
{
  bool refuted = false, empty = true;
  size_t begin = r->n_literals;
  require(next_whole() == (long)r->n + 1, "clause %zu is expected", r->n + 1);
  for (long l; (l = next_whole()) != 0; empty = false) {
    require(labs(l) <= (long)r->n_variables, "there is no variable %ld", labs(l));
    require(r->value[labs(l)] == 0, "variable %ld is twice in the clause", labs(l));
    make_true(r, (int)-l);
    put_literal(r, (int)l);
  }
  while (more_words()) {
    size_t k = next_clause_number(r);
    require(!refuted, "hints after a clause that is false");
    refuted = propagate(r, k);
  }
  require(refuted, "no clause is false at the end");
  r->at = grow(r->at, ++r->n, sizeof *r->at);
  r->at[r->n] = begin;
  put_literal(r, 0);
  while (r->n_changed > 0)
    r->value[r->changed[--r->n_changed]] = 0;
  return empty;
}

static void
check_deleted(refutation *r)
{
  do
    r->at[next_clause_number(r)] = NONE;
  while (more_words());
}

size_t
check_refutation(const three *t)
{
  refutation all = {0}, *r = &all;
  r->n_variables = t->n_variables;
  r->value = allocate(r->n_variables + 1, sizeof *r->value);
  r->changed = allocate(r->n_variables, sizeof *r->changed);
  r->at = grow(NULL, 0, sizeof *r->at); /* there is no clause 0 */
  for (size_t c = 0; c < t->n; c++) {
    begin_clause(r);
    for (size_t i = 0; i < 3; i++)
      put_literal(r, t->clause[c][i]);
    put_literal(r, 0);
  }
  for (;;)
    if (line_is("delete")) {
      check_deleted(r);
    } else {
      next_line("learn");
      if (check_learned(r))
        return r->n - t->n;
    }
}
