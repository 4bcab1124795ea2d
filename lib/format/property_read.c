/* Queries and counterexamples read (property.h). */
#include "format/property.h"
#include "format/table.h"
#include "format/vnnlib.h"
#include "format/vnnlib_inside.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Sums of so many terms at most: each is looked for among those before it. */
#define CONSTANT SIZE_MAX /* in place of a variable */
#define TERMS ((size_t)1 << 12)

typedef struct {
  clarke_query *q;
  clarke_vnnlib_words words;
} reader;

static const char *
word(const reader *r)
{
  return r->words.word;
}

/* --- linear forms ------------------------------------------------------------------------------ */

/* A term of the form, which is AT_LEAST; the constant for variable CONSTANT. */
static clarke_status
add_term(clarke_property *p, size_t variable, const mpq_t coef, reader *r)
{
  size_t at = 0;

  while (at < p->n_terms && p->variable[at] != variable)
    at++;
  if (variable == CONSTANT)
    at = p->n_terms;
  else if (at == p->n_terms) {
    size_t *variables = reallocarray(p->variable, at + 1, sizeof *variables);
    mpq_t *coefs;

    if (at == TERMS)
      return clarke_vnnlib_refuse(&r->words, "a sum of over 4096 terms");
    p->variable = variables != NULL ? variables : p->variable;
    coefs = reallocarray(p->coef, at + 2, sizeof *coefs);
    p->coef = coefs != NULL ? coefs : p->coef;
    if (variables == NULL || coefs == NULL)
      return clarke_no_memory(r->words.err);
    mpq_init(p->coef[at + 1]);
    mpq_swap(p->coef[at], p->coef[at + 1]); /* the constant stays last */
    p->variable[at] = variable;
    p->n_terms++;
  }
  mpq_add(p->coef[at], p->coef[at], coef);
  return CLARKE_OK;
}

static clarke_status
variable_of(size_t *variable, const reader *r)
{
  size_t i;

  if (clarke_vnnlib_is_variable(word(r), 'X', &i) && i < r->q->n_inputs)
    *variable = i;
  else if (clarke_vnnlib_is_variable(word(r), 'Y', &i) && i < r->q->n_outputs)
    *variable = r->q->n_inputs + i;
  else
    return clarke_vnnlib_refuse(&r->words, "a number, a declared X_i or Y_j, or a sum of such is expected");
  return CLARKE_OK;
}

/* scale times the form added to p. */
static clarke_status
add_scaled(clarke_property *p, const clarke_property *form, const mpq_t scale, reader *r)
{
  clarke_status status = CLARKE_OK;
  mpq_t coef;

  mpq_init(coef);
  for (size_t k = 0; status == CLARKE_OK && k <= form->n_terms; k++) {
    mpq_mul(coef, form->coef[k], scale);
    status = add_term(p, k < form->n_terms ? form->variable[k] : CONSTANT, coef, r);
  }
  mpq_clear(coef);
  return status;
}

static clarke_status
form_init(clarke_property *p, reader *r)
{
  *p = (clarke_property){.kind = CLARKE_PROPERTY_AT_LEAST, .line = r->words.line, .coef = clarke_rationals(1)};
  return p->coef != NULL ? CLARKE_OK : clarke_no_memory(r->words.err);
}

static void
form_clear(clarke_property *p)
{
  free(p->variable);
  clarke_rationals_free(p->coef, p->coef != NULL ? p->n_terms + 1 : 0);
}

static clarke_status read_form(clarke_property *p, reader *r, size_t depth);

/* Behind the *: (* c A) or (* A c), of which one is a number. */
static clarke_status
add_product(clarke_property *p, reader *r, size_t depth)
{
  clarke_property part[2] = {{.coef = NULL}, {.coef = NULL}};
  clarke_status status = read_form(&part[0], r, depth);

  if (status == CLARKE_OK)
    status = read_form(&part[1], r, depth);
  if (status == CLARKE_OK && part[0].n_terms > 0 && part[1].n_terms > 0)
    status = clarke_vnnlib_refuse(&r->words, "a product of two variables is not linear");
  if (status == CLARKE_OK)
    status = part[0].n_terms > 0 ? add_scaled(p, &part[0], part[1].coef[0], r) : add_scaled(p, &part[1], part[0].coef[0], r);
  form_clear(&part[0]);
  form_clear(&part[1]);
  return status;
}

/* Behind + or -: its operands. (- A) turns A round, (- A B ...) takes the others away from it. */
static clarke_status
add_sum(clarke_property *p, bool minus, reader *r, size_t depth)
{
  clarke_status status = CLARKE_OK;
  mpq_t sign;

  mpq_init(sign);
  for (size_t n = 0; status == CLARKE_OK && (n == 0 || strcmp(word(r), ")") != 0); n++) {
    clarke_property part;

    status = read_form(&part, r, depth);
    mpq_set_si(sign, minus && (n > 0 || strcmp(word(r), ")") == 0) ? -1 : 1, 1);
    if (status == CLARKE_OK)
      status = add_scaled(p, &part, sign, r);
    form_clear(&part);
  }
  mpq_clear(sign);
  return status;
}

/* (+ A ...), (- A), (- A B ...), (* A B): behind the opening bracket, to behind the closing one. */
static clarke_status
add_operation(clarke_property *p, reader *r, size_t depth)
{
  const char operation = strlen(word(r)) == 1 ? word(r)[0] : '\0';
  clarke_status status;

  if (operation != '+' && operation != '-' && operation != '*')
    return clarke_vnnlib_refuse(&r->words, "+, - or * is expected");
  if (depth == CLARKE_VNNLIB_DEEPEST)
    return clarke_vnnlib_refuse(&r->words, "too many brackets in brackets");
  status = clarke_vnnlib_advance(&r->words);
  if (status == CLARKE_OK)
    status = operation == '*' ? add_product(p, r, depth + 1) : add_sum(p, operation == '-', r, depth + 1);
  return status == CLARKE_OK ? clarke_vnnlib_take(&r->words, ")") : status;
}

/* A number, a variable, or an operation; the form is cleared by who called, after errors, too. */
static clarke_status
read_form(clarke_property *p, reader *r, size_t depth)
{
  clarke_status status = form_init(p, r);
  size_t variable = CONSTANT;
  mpq_t coef;

  if (status != CLARKE_OK)
    return status;
  if (strcmp(word(r), "(") == 0) {
    status = clarke_vnnlib_advance(&r->words);
    return status == CLARKE_OK ? add_operation(p, r, depth) : status;
  }
  mpq_init(coef);
  if (!clarke_table_number(coef, word(r))) {
    mpq_set_si(coef, 1, 1);
    status = variable_of(&variable, r);
  }
  if (status == CLARKE_OK)
    status = add_term(p, variable, coef, r);
  mpq_clear(coef);
  return status == CLARKE_OK ? clarke_vnnlib_advance(&r->words) : status;
}

/* --- assertions --------------------------------------------------------------------------------- */

/* Behind <= or >=, to behind the closing bracket. */
static clarke_status
read_comparison(clarke_property *p, bool less, reader *r)
{
  clarke_property side[2] = {{.coef = NULL}, {.coef = NULL}};
  clarke_status status = read_form(&side[0], r, 0);
  mpq_t sign;

  mpq_init(sign);
  if (status == CLARKE_OK)
    status = read_form(&side[1], r, 0);
  if (status == CLARKE_OK)
    status = form_init(p, r);
  for (size_t k = 0; status == CLARKE_OK && k < 2; k++) {
    mpq_set_si(sign, less == (k == 1) ? 1 : -1, 1);
    status = add_scaled(p, &side[k], sign, r);
  }
  mpq_clear(sign);
  form_clear(&side[0]);
  form_clear(&side[1]);
  return status == CLARKE_OK ? clarke_vnnlib_take(&r->words, ")") : status;
}

static clarke_status read_property(clarke_property *p, reader *r, size_t depth);

/* One more part, read. */
static clarke_status
add_part(clarke_property *p, reader *r, size_t depth)
{
  clarke_property *part = reallocarray(p->part, p->n + 1, sizeof *part);

  if (part == NULL)
    return clarke_no_memory(r->words.err);
  p->part = part;
  memset(&part[p->n], 0, sizeof *part);
  return read_property(&part[p->n++], r, depth);
}

/* p is zeroed. */
static clarke_status
read_property(clarke_property *p, reader *r, size_t depth)
{
  const size_t line = r->words.line;
  clarke_status status = clarke_vnnlib_take(&r->words, "(");
  const bool less = strcmp(word(r), "<=") == 0, compares = less || strcmp(word(r), ">=") == 0, any = strcmp(word(r), "or") == 0;

  if (status != CLARKE_OK)
    return status;
  if (!compares && !any && strcmp(word(r), "and") != 0)
    return clarke_vnnlib_refuse(&r->words, "<=, >=, and, or is expected");
  if (depth == CLARKE_VNNLIB_DEEPEST)
    return clarke_vnnlib_refuse(&r->words, "too many brackets in brackets");
  status = clarke_vnnlib_advance(&r->words);
  if (status == CLARKE_OK && compares)
    return read_comparison(p, less, r);
  p->kind = any ? CLARKE_PROPERTY_ANY : CLARKE_PROPERTY_ALL;
  p->line = line;
  while (status == CLARKE_OK && strcmp(word(r), "(") == 0)
    status = add_part(p, r, depth + 1);
  return status == CLARKE_OK ? clarke_vnnlib_take(&r->words, ")") : status;
}

/* (declare-const NAME Real), behind its first word. Inputs have their numbers before outputs, so all stand before assertions. */
static clarke_status
declare(reader *r)
{
  size_t i = 0;
  const bool input = clarke_vnnlib_is_variable(word(r), 'X', &i);
  size_t *n = input ? &r->q->n_inputs : &r->q->n_outputs;
  clarke_status status;

  if (!input && !clarke_vnnlib_is_variable(word(r), 'Y', &i))
    return clarke_vnnlib_refuse(&r->words, "an input X_i or an output Y_i is expected");
  if (i != *n || i >= CLARKE_VNNLIB_INPUTS)
    return clarke_vnnlib_refuse(&r->words, "inputs and outputs are declared in order, X_0 and Y_0 first");
  if (r->q->asserted.n > 0)
    return clarke_vnnlib_refuse(&r->words, "declarations stand before assertions");
  ++*n;
  status = clarke_vnnlib_advance(&r->words);
  if (status == CLARKE_OK)
    status = clarke_vnnlib_take(&r->words, "Real");
  return status == CLARKE_OK ? clarke_vnnlib_take(&r->words, ")") : status;
}

static clarke_status
read_statement(reader *r)
{
  clarke_status status = clarke_vnnlib_take(&r->words, "(");
  const bool asserts = strcmp(word(r), "assert") == 0;

  if (status == CLARKE_OK && !asserts && strcmp(word(r), "declare-const") != 0)
    status = clarke_vnnlib_refuse(&r->words, "'declare-const' or 'assert' is expected");
  if (status == CLARKE_OK)
    status = clarke_vnnlib_advance(&r->words);
  if (status != CLARKE_OK || !asserts)
    return status == CLARKE_OK ? declare(r) : status;
  status = add_part(&r->q->asserted, r, 0);
  return status == CLARKE_OK ? clarke_vnnlib_take(&r->words, ")") : status;
}

clarke_status
clarke_query_parse(clarke_query *q, const void *data, size_t size, const char *file, clarke_error *err)
{
  reader r = {.q = q, .words = {.at = data, .end = (const char *)data + size, .line = 1, .file = file, .err = err}};
  clarke_status status = clarke_vnnlib_advance(&r.words);

  q->asserted.kind = CLARKE_PROPERTY_ALL;
  while (status == CLARKE_OK && *word(&r) != '\0')
    status = read_statement(&r);
  if (status == CLARKE_OK && q->asserted.n == 0)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: nothing is asserted", file);
  if (status != CLARKE_OK)
    clarke_query_clear(q);
  return status;
}

/* --- counterexamples ----------------------------------------------------------------------------- */

/* (X_i NUMBER), inputs in order, then outputs. */
static clarke_status
read_value(clarke_counterexample *c, clarke_vnnlib_words *w)
{
  clarke_status status = clarke_vnnlib_take(w, "(");
  size_t i = 0;
  const bool input = clarke_vnnlib_is_variable(w->word, 'X', &i);
  size_t *n = input ? &c->n_inputs : &c->n_outputs;
  mpq_t **to = input ? &c->input : &c->output, *more;

  if (status != CLARKE_OK)
    return status;
  if ((!input && !clarke_vnnlib_is_variable(w->word, 'Y', &i)) || i != *n || i >= CLARKE_VNNLIB_INPUTS || (input && c->n_outputs > 0))
    return clarke_vnnlib_refuse(w, "the next of X_0, X_1, ..., Y_0, Y_1, ... is expected");
  more = reallocarray(*to, *n + 1, sizeof *more);
  if (more == NULL)
    return clarke_no_memory(w->err);
  *to = more;
  mpq_init(more[*n]);
  ++*n;
  status = clarke_vnnlib_advance(w);
  if (status == CLARKE_OK)
    status = clarke_vnnlib_number(w, more[*n - 1]);
  return status == CLARKE_OK ? clarke_vnnlib_take(w, ")") : status;
}

clarke_status
clarke_counterexample_parse(clarke_counterexample *c, const void *data, size_t size, const char *file, clarke_error *err)
{
  clarke_vnnlib_words w = {.at = data, .end = (const char *)data + size, .line = 1, .file = file, .err = err};
  clarke_status status = clarke_vnnlib_advance(&w);

  if (status == CLARKE_OK && strcmp(w.word, "unsat") == 0)
    status = clarke_vnnlib_refuse(&w, "it says that there is no counterexample");
  if (status == CLARKE_OK && strcmp(w.word, "sat") == 0)
    status = clarke_vnnlib_advance(&w);
  if (status == CLARKE_OK)
    status = clarke_vnnlib_take(&w, "(");
  while (status == CLARKE_OK && strcmp(w.word, "(") == 0)
    status = read_value(c, &w);
  if (status == CLARKE_OK)
    status = clarke_vnnlib_take(&w, ")");
  if (status == CLARKE_OK && *w.word != '\0')
    status = clarke_vnnlib_refuse(&w, "something stands behind the counterexample");
  if (status == CLARKE_OK && c->n_inputs == 0)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: no input X_0", file);
  if (status != CLARKE_OK)
    clarke_counterexample_clear(c);
  return status;
}
