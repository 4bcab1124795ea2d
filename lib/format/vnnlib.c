/* Boxes of VNNLIB queries (vnnlib.h). */
#include "format/vnnlib.h"
#include "format/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST 64 /* brackets */
#define LONGEST 1024

typedef struct {
  clarke_vnnlib *v;
  bool *has_lower, *has_upper; /* v->n */
  const char *at, *end;
  size_t line;
  const char *file;
  char word[LONGEST + 1]; /* the token: "(", ")", a word, or "" at the end */
  clarke_error *err;
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

/* --- tokens ---------------------------------------------------------------------------------- */

static clarke_status
refuse(const reader *r, const char *why)
{
  return clarke_fail(r->err, CLARKE_EINPUT, "%s: line %zu: %s, at '%.40s'", r->file, r->line, why, r->word);
}

static void
pass_blanks(reader *r)
{
  for (; r->at < r->end; r->at++) {
    if (*r->at == ';')
      while (r->at < r->end && *r->at != '\n')
        r->at++;
    if (r->at == r->end || strchr(" \t\r\n", *r->at) == NULL || *r->at == '\0')
      return;
    r->line += *r->at == '\n';
  }
}

static clarke_status
advance(reader *r)
{
  size_t n = 0;

  pass_blanks(r);
  if (r->at < r->end && (*r->at == '(' || *r->at == ')'))
    r->word[n++] = *r->at++;
  else
    for (; r->at < r->end && *r->at != '\0' && strchr(" \t\r\n();", *r->at) == NULL; r->at++) {
      if (n == LONGEST)
        break;
      r->word[n++] = *r->at;
    }
  r->word[n] = '\0';
  if (n == LONGEST || (r->at < r->end && *r->at == '\0'))
    return refuse(r, "no text of VNNLIB");
  return CLARKE_OK;
}

static clarke_status
take(reader *r, const char *word)
{
  char why[64];

  if (strcmp(r->word, word) == 0)
    return advance(r);
  snprintf(why, sizeof why, "'%s' is expected", word);
  return refuse(r, why);
}

/* X_i or Y_i. */
static bool
is_variable(const char *word, char letter, size_t *i)
{
  char *end;

  if (word[0] != letter || word[1] != '_' || word[2] < '0' || word[2] > '9' || strlen(word) > 12)
    return false;
  *i = strtoul(word + 2, &end, 10);
  return *end == '\0' && (word[2] != '0' || word[3] == '\0');
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
    return clarke_no_memory(r->err);
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

  if (is_variable(r->word, 'X', &i)) {
    if (i != r->v->n || i >= CLARKE_VNNLIB_INPUTS)
      return refuse(r, "inputs are declared in order, X_0 first");
    status = add_input(r);
  } else if (!is_variable(r->word, 'Y', &i))
    return refuse(r, "an input X_i or an output Y_i is expected");
  if (status == CLARKE_OK)
    status = advance(r);
  if (status == CLARKE_OK)
    status = take(r, "Real");
  return status == CLARKE_OK ? take(r, ")") : status;
}

/* A number; -1.5 may be written (- 1.5). */
static clarke_status
number(reader *r, mpq_t value)
{
  const bool minus = strcmp(r->word, "(") == 0;
  clarke_status status = CLARKE_OK;

  if (minus && (status = advance(r)) == CLARKE_OK)
    status = take(r, "-");
  if (status != CLARKE_OK)
    return status;
  if (!clarke_table_number(value, r->word))
    return refuse(r, "a number is expected");
  if (minus)
    mpq_neg(value, value);
  status = advance(r);
  return minus && status == CLARKE_OK ? take(r, ")") : status;
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
  const bool first = is_variable(r->word, 'X', &i);
  mpq_t value;
  clarke_status status = first ? advance(r) : CLARKE_OK;

  mpq_init(value);
  if (status == CLARKE_OK)
    status = number(r, value);
  if (status == CLARKE_OK && !first && !is_variable(r->word, 'X', &i))
    status = refuse(r, "one input and one number are expected");
  if (status == CLARKE_OK && i >= r->v->n)
    status = refuse(r, "an input that is not declared");
  if (status == CLARKE_OK)
    bound(r, i, less == first, value);
  if (status == CLARKE_OK && !first)
    status = advance(r);
  mpq_clear(value);
  return status == CLARKE_OK ? take(r, ")") : status;
}

/* Does the form from here speak of inputs? After its opening bracket; nothing is taken. */
static bool
speaks_of_inputs(const reader *r)
{
  reader ahead = *r;
  size_t depth = 1, i;

  while (depth > 0 && *ahead.word != '\0') {
    depth += *ahead.word == '(';
    depth -= *ahead.word == ')';
    if (is_variable(ahead.word, 'X', &i))
      return true;
    if (depth > 0 && advance(&ahead) != CLARKE_OK)
      return true;
  }
  return false;
}

/* The rest of a form. */
static clarke_status
pass_over(reader *r)
{
  clarke_status status = CLARKE_OK;

  for (size_t depth = 1; depth > 0 && status == CLARKE_OK; status = advance(r)) {
    if (*r->word == '\0')
      return refuse(r, "a bracket is not closed");
    depth += *r->word == '(';
    depth -= *r->word == ')';
  }
  return status;
}

/* An expression that is asserted. */
static clarke_status
expression(reader *r, size_t depth)
{
  clarke_status status = take(r, "(");

  if (status != CLARKE_OK)
    return status;
  if (!speaks_of_inputs(r)) {
    r->v->passed_over++;
    return pass_over(r);
  }
  if (strcmp(r->word, "<=") == 0 || strcmp(r->word, ">=") == 0) {
    const bool less = *r->word == '<';

    status = advance(r);
    return status == CLARKE_OK ? compare(r, less) : status;
  }
  if (strcmp(r->word, "and") != 0 || depth == DEEPEST)
    return refuse(r, "of inputs only <=, >= and their conjunctions are read");
  status = advance(r);
  while (status == CLARKE_OK && strcmp(r->word, "(") == 0)
    status = expression(r, depth + 1);
  return status == CLARKE_OK ? take(r, ")") : status;
}

/* Bounds have room for inputs that are declared before the first assertion. */
static clarke_status
make_bounds(reader *r)
{
  if (r->has_lower != NULL)
    return CLARKE_OK;
  r->has_lower = calloc(r->v->n + 1, sizeof *r->has_lower);
  r->has_upper = calloc(r->v->n + 1, sizeof *r->has_upper);
  return r->has_lower != NULL && r->has_upper != NULL ? CLARKE_OK : clarke_no_memory(r->err);
}

static clarke_status
form(reader *r)
{
  const bool asserts = strcmp(r->word, "assert") == 0;
  clarke_status status = advance(r);

  if (status != CLARKE_OK)
    return status;
  if (!asserts)
    return r->has_lower == NULL ? declare(r) : refuse(r, "declarations stand before assertions");
  status = make_bounds(r);
  if (status == CLARKE_OK)
    status = expression(r, 0);
  return status == CLARKE_OK ? take(r, ")") : status;
}

static clarke_status
check_bounds(const reader *r)
{
  if (r->v->n == 0)
    return clarke_fail(r->err, CLARKE_EINPUT, "%s: no input X_0 is declared", r->file);
  for (size_t i = 0; i < r->v->n; i++)
    if (r->has_lower == NULL || !r->has_lower[i] || !r->has_upper[i])
      return clarke_fail(r->err, CLARKE_EINPUT, "%s: X_%zu has no %s bound", r->file, i,
                         r->has_lower == NULL || !r->has_lower[i] ? "lower" : "upper");
  return CLARKE_OK;
}

clarke_status
clarke_vnnlib_parse(clarke_vnnlib *v, const void *data, size_t size, const char *file, clarke_error *err)
{
  reader r = {.v = v, .at = data, .end = (const char *)data + size, .line = 1, .file = file, .err = err};
  clarke_status status = advance(&r);

  while (status == CLARKE_OK && *r.word != '\0') {
    status = take(&r, "(");
    if (status == CLARKE_OK && strcmp(r.word, "assert") != 0 && strcmp(r.word, "declare-const") != 0)
      status = refuse(&r, "'declare-const' or 'assert' is expected");
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
