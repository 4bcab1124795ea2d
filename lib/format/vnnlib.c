/* Boxes of VNNLIB queries (vnnlib.h). */
#include "format/vnnlib.h"
#include "format/vnnlib_inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  clarke_vnnlib *v;
  bool *has_lower, *has_upper; /* v->n */
  clarke_vnnlib_words words;
} reader;

void
clarke_vnnlib_init(clarke_vnnlib *v)
{
  memset(v, 0, sizeof *v);
}

void
clarke_vnnlib_clear(clarke_vnnlib *v)
{
  for (size_t i = 0; i < v->n; i++)
    mpq_clears(v->lower[i], v->upper[i], NULL);
  free(v->lower);
  free(v->upper);
  clarke_vnnlib_init(v);
}

/* --- forms ----------------------------------------------------------------------------------- */

static clarke_status
add_input(reader *r)
{
  clarke_vnnlib *v = r->v;
  mpq_t *lower = reallocarray(v->lower, v->n + 1, sizeof *lower), *upper;

  v->lower = lower != NULL ? lower : v->lower;
  upper = reallocarray(v->upper, v->n + 1, sizeof *upper);
  v->upper = upper != NULL ? upper : v->upper;
  if (lower == NULL || upper == NULL)
    return clarke_no_memory(r->words.err);
  mpq_inits(v->lower[v->n], v->upper[v->n], NULL);
  v->n++;
  return CLARKE_OK;
}

/* NAME Real ) */
static clarke_status
declare(reader *r)
{
  size_t i;
  clarke_status status = CLARKE_OK;

  if (clarke_vnnlib_is_variable(r->words.word, 'X', &i)) {
    if (i != r->v->n || i >= CLARKE_VNNLIB_INPUTS)
      return clarke_vnnlib_refuse(&r->words, "inputs are declared in order, X_0 first");
    status = add_input(r);
  } else if (!clarke_vnnlib_is_variable(r->words.word, 'Y', &i))
    return clarke_vnnlib_refuse(&r->words, "an input X_i or an output Y_i is expected");
  if (status == CLARKE_OK)
    status = clarke_vnnlib_advance(&r->words);
  if (status == CLARKE_OK)
    status = clarke_vnnlib_take(&r->words, "Real");
  return status == CLARKE_OK ? clarke_vnnlib_take(&r->words, ")") : status;
}

static void
bound(reader *r, size_t i, bool above, const mpq_t value)
{
  bool *has = above ? r->has_upper : r->has_lower;
  mpq_t *to = above ? r->v->upper : r->v->lower;
  const int sign = has[i] ? mpq_cmp(value, to[i]) : 0;

  if (!has[i] || (above ? sign < 0 : sign > 0))
    mpq_set(to[i], value);
  has[i] = true;
}

/* A B ), of <= (less) or >=. */
static clarke_status
compare(reader *r, bool less)
{
  size_t i = 0;
  const bool first = clarke_vnnlib_is_variable(r->words.word, 'X', &i);
  mpq_t value;
  clarke_status status = first ? clarke_vnnlib_advance(&r->words) : CLARKE_OK;

  mpq_init(value);
  if (status == CLARKE_OK)
    status = clarke_vnnlib_number(&r->words, value);
  if (status == CLARKE_OK && !first && !clarke_vnnlib_is_variable(r->words.word, 'X', &i))
    status = clarke_vnnlib_refuse(&r->words, "one input and one number are expected");
  if (status == CLARKE_OK && i >= r->v->n)
    status = clarke_vnnlib_refuse(&r->words, "an input that is not declared");
  if (status == CLARKE_OK)
    bound(r, i, less == first, value);
  if (status == CLARKE_OK && !first)
    status = clarke_vnnlib_advance(&r->words);
  mpq_clear(value);
  return status == CLARKE_OK ? clarke_vnnlib_take(&r->words, ")") : status;
}

/* Does the form from here speak of inputs? After its opening bracket; nothing is taken. */
static bool
speaks_of_inputs(const reader *r)
{
  reader ahead = *r;
  size_t depth = 1, i;

  while (depth > 0 && *ahead.words.word != '\0') {
    depth += *ahead.words.word == '(';
    depth -= *ahead.words.word == ')';
    if (clarke_vnnlib_is_variable(ahead.words.word, 'X', &i))
      return true;
    if (depth > 0 && clarke_vnnlib_advance(&ahead.words) != CLARKE_OK)
      return true;
  }
  return false;
}

/* The rest of a form. */
static clarke_status
pass_over(reader *r)
{
  clarke_status status = CLARKE_OK;

  for (size_t depth = 1; depth > 0 && status == CLARKE_OK; status = clarke_vnnlib_advance(&r->words)) {
    if (*r->words.word == '\0')
      return clarke_vnnlib_refuse(&r->words, "a bracket is not closed");
    depth += *r->words.word == '(';
    depth -= *r->words.word == ')';
  }
  return status;
}

/* An expression that is asserted. */
static clarke_status
expression(reader *r, size_t depth)
{
  clarke_status status = clarke_vnnlib_take(&r->words, "(");

  if (status != CLARKE_OK)
    return status;
  if (!speaks_of_inputs(r)) {
    r->v->passed_over++;
    return pass_over(r);
  }
  if (strcmp(r->words.word, "<=") == 0 || strcmp(r->words.word, ">=") == 0) {
    const bool less = *r->words.word == '<';

    status = clarke_vnnlib_advance(&r->words);
    return status == CLARKE_OK ? compare(r, less) : status;
  }
  if (strcmp(r->words.word, "and") != 0 || depth == CLARKE_VNNLIB_DEEPEST)
    return clarke_vnnlib_refuse(&r->words, "of inputs only <=, >= and their conjunctions are read");
  status = clarke_vnnlib_advance(&r->words);
  while (status == CLARKE_OK && strcmp(r->words.word, "(") == 0)
    status = expression(r, depth + 1);
  return status == CLARKE_OK ? clarke_vnnlib_take(&r->words, ")") : status;
}

/* Bounds have room for inputs that are declared before the first assertion. */
static clarke_status
make_bounds(reader *r)
{
  if (r->has_lower != NULL)
    return CLARKE_OK;
  r->has_lower = calloc(r->v->n + 1, sizeof *r->has_lower);
  r->has_upper = calloc(r->v->n + 1, sizeof *r->has_upper);
  return r->has_lower != NULL && r->has_upper != NULL ? CLARKE_OK : clarke_no_memory(r->words.err);
}

static clarke_status
form(reader *r)
{
  const bool asserts = strcmp(r->words.word, "assert") == 0;
  clarke_status status = clarke_vnnlib_advance(&r->words);

  if (status != CLARKE_OK)
    return status;
  if (!asserts)
    return r->has_lower == NULL ? declare(r) : clarke_vnnlib_refuse(&r->words, "declarations stand before assertions");
  status = make_bounds(r);
  if (status == CLARKE_OK)
    status = expression(r, 0);
  return status == CLARKE_OK ? clarke_vnnlib_take(&r->words, ")") : status;
}

static clarke_status
check_bounds(const reader *r)
{
  if (r->v->n == 0)
    return clarke_fail(r->words.err, CLARKE_EINPUT, "%s: no input X_0 is declared", r->words.file);
  for (size_t i = 0; i < r->v->n; i++)
    if (r->has_lower == NULL || !r->has_lower[i] || !r->has_upper[i])
      return clarke_fail(r->words.err, CLARKE_EINPUT, "%s: X_%zu has no %s bound", r->words.file, i,
                         r->has_lower == NULL || !r->has_lower[i] ? "lower" : "upper");
  return CLARKE_OK;
}

clarke_status
clarke_vnnlib_parse(clarke_vnnlib *v, const void *data, size_t size, const char *file, clarke_error *err)
{
  reader r = {.v = v, .words = {.at = data, .end = (const char *)data + size, .line = 1, .file = file, .err = err}};
  clarke_status status = clarke_vnnlib_advance(&r.words);

  while (status == CLARKE_OK && *r.words.word != '\0') {
    status = clarke_vnnlib_take(&r.words, "(");
    if (status == CLARKE_OK && strcmp(r.words.word, "assert") != 0 && strcmp(r.words.word, "declare-const") != 0)
      status = clarke_vnnlib_refuse(&r.words, "'declare-const' or 'assert' is expected");
    if (status == CLARKE_OK)
      status = form(&r);
  }
  if (status == CLARKE_OK)
    status = check_bounds(&r);
  free(r.has_lower);
  free(r.has_upper);
  if (status != CLARKE_OK)
    clarke_vnnlib_clear(v);
  return status;
}
