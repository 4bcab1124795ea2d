/* Refutations, clause by clause. Nothing is searched: hints say which clauses propagate, in order. */
#include "check/formula/refutation.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"

#include <stdlib.h>
#include <string.h>

static size_t n_variables;
static int *literals; /* of all clauses, end to end, each with 0 at its end */
static size_t n_literals;
static size_t *at;                 /* clause number k begins at literals[at[k]]; NONE: it is not there */
static size_t n;                   /* clauses, from 1 */
static signed char *value;         /* of variables: 1 true, -1 false, 0 open */
static size_t *changed, n_changed; /* variables that are not open */

static void
put_literal(int l)
{
  literals = grow(literals, n_literals, sizeof *literals);
  literals[n_literals++] = l;
}

/* The next clause begins; its literals follow. */
static void
begin_clause(void)
{
  at = grow(at, ++n, sizeof *at);
  at[n] = n_literals;
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
next_clause_number(void)
{
  long k = next_whole();
  require(k >= 1 && (size_t)k <= n && at[k] != NONE, "there is no clause %ld", k);
  return (size_t)k;
}

static int
value_of(int l)
{
  return l > 0 ? value[l] : -value[-l];
}

static void
make_true(int l)
{
  value[abs(l)] = l > 0 ? 1 : -1;
  changed[n_changed++] = (size_t)abs(l);
}

/* Of the clause all literals are false, or all but one, which becomes true. Is it false? */
static bool
propagate(size_t k)
{
  int open = 0;
  for (const int *l = literals + at[k]; *l != 0; l++) {
    if (value_of(*l) < 0)
      continue;
    require(value_of(*l) == 0, "literal %d of clause %zu is true", *l, k);
    require(open == 0 || open == *l, "literals %d and %d of clause %zu are open", open, *l, k);
    open = *l;
  }
  if (open != 0)
    make_true(open);
  return open == 0;
}

/* `learn NUMBER L ... 0 H ...`. Has it no literals? */
static bool
check_learned(void)
{
  bool refuted = false, empty = true;
  size_t begin = n_literals;
  require(next_whole() == (long)n + 1, "clause %zu is expected", n + 1);
  for (long l; (l = next_whole()) != 0; empty = false) {
    require(labs(l) <= (long)n_variables, "there is no variable %ld", labs(l));
    require(value[labs(l)] == 0, "variable %ld is twice in the clause", labs(l));
    make_true((int)-l);
    put_literal((int)l);
  }
  while (more_words()) {
    size_t k = next_clause_number();
    require(!refuted, "hints after a clause that is false");
    refuted = propagate(k);
  }
  require(refuted, "no clause is false at the end");
  at = grow(at, ++n, sizeof *at);
  at[n] = begin;
  put_literal(0);
  while (n_changed > 0)
    value[changed[--n_changed]] = 0;
  return empty;
}

static void
check_deleted(void)
{
  do
    at[next_clause_number()] = NONE;
  while (more_words());
}

size_t
check_refutation(const three *t)
{
  n_variables = t->n_variables;
  value = allocate(n_variables + 1, sizeof *value);
  changed = allocate(n_variables, sizeof *changed);
  at = grow(NULL, 0, sizeof *at); /* there is no clause 0 */
  for (size_t c = 0; c < t->n; c++) {
    begin_clause();
    for (size_t i = 0; i < 3; i++)
      put_literal(t->clause[c][i]);
    put_literal(0);
  }
  for (;;)
    if (line_is("delete")) {
      check_deleted();
    } else {
      next_line("learn");
      if (check_learned())
        return n - t->n;
    }
}
