/* Programs (docs/programs.md): the text as a list of instructions, each applied to earlier ones. */
#include "check/program/program.h"
#include "check/base/allocate.h"
#include "check/base/limit.h"
#include "check/base/name_index.h"
#include "check/program/program_text.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 200 /* of brackets and operators inside each other */

/* ---- Expressions */

static operand expression(reader *r, size_t depth);

/* E, E, ... up to the closing bracket; the first three apart in each. */
static operand
list(reader *r, size_t depth, const char *closing, operand *each, size_t *n)
{
  operand all = {0, NULL, true};
  for (*n = 0;; ++*n) {
    operand v = expression(r, depth);
    if (*n < 3)
      each[*n] = v;
    count_entries(r, v.n);
    for (size_t e = 0; e < v.n; e++, all.n++) {
      all.at = grow(all.at, all.n, sizeof *all.at);
      all.at[all.n] = v.at[e];
    }
    if (!is(r, ","))
      break;
  }
  must(r, closing);
  ++*n;
  return all;
}

/* `{...}` after a function's name: a proxy at kinks, or of ties. */
static proxy
read_proxy(reader *r, bool order, size_t depth)
{
  static const char *const kinds[] = {"value", "left", "right", "first", "last", "stable", "mean", "hybrid"};
  proxy p = {.value = rational_zero()};
  if (!is(r, "{"))
    return p;
  p.given = true;
  p.kind = VALUE;
  for (size_t k = order ? 3 : 1; k < (order ? 8u : 3u) && p.kind == VALUE && r->token == 'a'; k++)
    if (strcmp(r->token_text, kinds[k]) == 0)
      p.kind = k;
  bool mean = p.kind == 6, hybrid = p.kind == 7;
  want(!order || p.kind != VALUE, "first, last, stable, mean or hybrid is expected");
  if (p.kind != VALUE)
    advance(r);
  if (mean || hybrid)
    p.kind = FIRST;
  if (mean)
    mpq_set(&p.value, &plus_one);
  if (p.kind == VALUE || hybrid) {
    const rational *q = operand_number(r, expression(r, depth));
    want(q != NULL, "a proxy that is no number");
    mpq_set(&p.value, q);
  }
  must(r, "}");
  return p;
}

static operand
call(reader *r, const callable *f, size_t depth)
{
  const char *name = f->name;
  operation what = f->kind;
  bool infinity = strcmp(name, "norminf") == 0, one = strcmp(name, "norm1") == 0, kth = strcmp(name, "kth") == 0;
  operand each[3];
  size_t n;
  want(r->token != '{' || what == A_POINTWISE || what == AN_ORDER || one, "a proxy of what has no kinks");
  proxy how = read_proxy(r, what == AN_ORDER, depth), none = {.value = rational_zero()};
  must(r, "(");
  operand all = list(r, depth, ")", each, &n);
  want(what != A_POINTWISE || (n >= 1 + f->least && n <= 1 + f->most), "a wrong number of arguments");
  if (what == A_POINTWISE)
    return operand_pointwise(r, f, how, each[0], each + 1, n - 1);
  want(what != AN_ANALYTIC || n == 1, "one argument is expected");
  if (what == AN_ANALYTIC)
    return operand_apply(r, (instruction){.kind = what, .name = name}, 1, each);
  if (infinity || one)
    all = operand_pointwise(r, find_function("abs"), one ? how : none, all, NULL, 0);
  if (what == AN_ORDER) {
    const rational *q = kth ? operand_number(r, each[0]) : NULL;
    if (kth) {
      all.n--;
      all.at++;
    }
    bool inside = q != NULL && mpz_cmp_ui(mpq_denref(q), 1) == 0 && mpq_sgn(q) > 0 && mpq_cmp_ui(q, all.n, 1) <= 0;
    want(!kth || inside, "kth(K, ...) wants 1 <= K <= their number");
    return operand_order(r, f, how, all,
                         kth                           ? mpz_get_ui(mpq_numref(q))
                         : strcmp(name, "min") == 0    ? all.n
                         : strcmp(name, "median") == 0 ? all.n - (all.n - 1) / 2
                                                       : 1);
  }
  if (strcmp(name, "dot") == 0) {
    want(n == 2 && each[0].n == each[1].n, "dot wants two vectors of one length");
    all = operand_apply(r, (instruction){.kind = A_PRODUCT}, 2, each);
  }
  if (what == A_SUM && strcmp(name, "mean") != 0)
    return operand_sum(r, all);
  if (what == A_SUM) {
    RATIONAL(q);
    mpq_set_ui(&q, all.n, 1);
    each[0] = operand_sum(r, all);
    each[1] = operand_constant(r, &q);
    return operand_arithmetic(r, '/', each);
  }
  operand y = operand_new(r, 1, false);
  y.at[0] = add_instruction(r, (instruction){.kind = A_NORM, .n = all.n, .in = all.at});
  return y;
}

/* A number of entries, or the place of one. */
static size_t
whole(reader *r, size_t depth, size_t most)
{
  const rational *q = operand_number(r, expression(r, depth));
  want(q != NULL && mpz_cmp_ui(mpq_denref(q), 1) == 0 && mpq_sgn(q) >= 0 && mpq_cmp_ui(q, most, 1) <= 0,
       "an entry that is not there");
  return mpz_get_ui(mpq_numref(q));
}

static operand
primary(reader *r, size_t depth)
{
  operand v = {0, NULL, false}, each[3];
  size_t n = 0;
  RATIONAL(q);
  if (r->token == '0') {
    literal(r, &q);
    v = operand_constant(r, &q);
  } else if (is(r, "(")) {
    v = expression(r, depth);
    must(r, ")");
  } else if (is(r, "[")) {
    v = list(r, depth, "]", each, &n);
  } else {
    const callable *f = find_function(r->token_text);
    n = name_find(&r->names, r->token_text);
    expect(r->token == 'a' && (f != NULL || n != NONE), "program, line %zu: what is '%.40s'?", r->line, r->token_text);
    advance(r);
    v = f != NULL ? call(r, f, depth) : r->named[n];
  }
  while (is(r, "[")) {
    want(v.vector, "an entry of what is no vector");
    size_t from = r->token == ':' ? 0 : whole(r, depth, v.n), to = from + 1;
    bool part = is(r, ":");
    if (part)
      to = r->token == ']' ? v.n : whole(r, depth, v.n);
    must(r, "]");
    want(from < to && to <= v.n, "an entry that is not there");
    v = (operand){to - from, v.at + from, part};
  }
  return v;
}

/* - x; x y and x / y (level 1); x + y and x - y (level 0). */
static operand
terms(reader *r, size_t depth, int level)
{
  operand v[2] = {{0, NULL, false}, {0, NULL, false}};
  want(depth < MAX_DEPTH, "brackets or signs nested too deeply");
  if (level == 2 && is(r, "-")) {
    v[1] = terms(r, depth + 1, 2);
    return operand_arithmetic(r, '-', v);
  }
  if (level == 2)
    return primary(r, depth + 1);
  v[0] = terms(r, depth, level + 1);
  while (strlen(r->token_text) == 1 && strchr(level == 0 ? "+-" : "*/", *r->token_text) != NULL) {
    char symbol = *r->token_text;
    advance(r);
    v[1] = terms(r, depth, level + 1);
    v[0] = operand_arithmetic(r, symbol, v);
  }
  return v[0];
}

/* E RELATION E: into v; returns the relation. */
static const char *
condition(reader *r, size_t depth, operand *v)
{
  v[0] = expression(r, depth);
  expect(r->token == 'r', "program, line %zu: a comparison is expected, not '%.40s'", r->line, r->token_text);
  const char *relation = copy_text(r->token_text, strlen(r->token_text));
  advance(r);
  v[1] = expression(r, depth);
  want(!v[0].vector && !v[1].vector, "a comparison of vectors");
  return relation;
}

static operand
expression(reader *r, size_t depth)
{
  operand v[4];
  want(depth < MAX_DEPTH, "brackets or signs nested too deeply");
  if (!is(r, "if"))
    return terms(r, depth, 0);
  const char *relation = condition(r, depth + 1, v);
  must(r, "then");
  v[2] = expression(r, depth + 1);
  must(r, "else");
  v[3] = expression(r, depth + 1);
  return operand_apply(r, (instruction){.kind = A_BRANCH, .relation = relation}, 4, v);
}

bool
relation_holds(const char *relation, int sign)
{
  if (relation[0] == '=' || relation[0] == '!')
    return (sign == 0) == (relation[0] == '=');
  return (sign == 0 && relation[1] == '=') || sign == (relation[0] == '<' ? -1 : 1);
}

/* ---- Statements */

/* The token, a name not yet taken. */
static void
bind(reader *r, operand v, char *name)
{
  static const char *const taken[] = {"input", "let", "output", "piece", "if", "then", "else", "and"};
  bool good = find_function(name) == NULL;
  for (size_t i = 0; i < 8; i++)
    good = good && strcmp(taken[i], name) != 0;
  r->named = grow(r->named, r->names.n, sizeof *r->named);
  good = good && name_add(&r->names, name);
  want(good, "a name that is taken");
  r->named[r->names.n - 1] = v;
}

static char *
new_name(reader *r)
{
  char *name = copy_text(r->token_text, strlen(r->token_text));
  want(r->token == 'a', "a name is expected");
  advance(r);
  return name;
}

static void
read_input(reader *r)
{
  do {
    program_input in = {.name = new_name(r), .n = 1, .first = r->prog->n};
    if (is(r, "[")) {
      RATIONAL(q);
      want(r->token == '0', "a number of entries is expected");
      literal(r, &q);
      must(r, "]");
      want(mpz_cmp_ui(mpq_denref(&q), 1) == 0 && mpq_sgn(&q) > 0, "a vector has a whole number of entries, at least 1");
      in.n = mpz_fits_ulong_p(mpq_numref(&q)) ? mpz_get_ui(mpq_numref(&q)) : NONE;
      within(LIMIT_INSTRUCTIONS, in.n, "program, line %zu: an input of more entries", r->line);
      in.vector = true;
    }
    operand v = operand_new(r, in.n, in.vector);
    for (size_t e = 0; e < in.n; e++)
      v.at[e] = add_instruction(r, (instruction){.kind = AN_INPUT, .c = input_numbers(), .entry = NONE});
    bind(r, v, in.name);
    r->prog->inputs = grow(r->prog->inputs, r->prog->n_inputs, sizeof in);
    r->prog->inputs[r->prog->n_inputs++] = in;
  } while (is(r, ","));
}

static void
read_outputs(reader *r)
{
  do {
    operand v = expression(r, 0);
    for (size_t e = 0; e < v.n; e++) {
      r->prog->outputs = grow(r->prog->outputs, r->prog->n_outputs, sizeof *r->prog->outputs);
      r->prog->outputs[r->prog->n_outputs++] = v.at[e];
    }
  } while (is(r, ","));
}

void
program_read(program *p, bytes b)
{
  reader all = {.prog = p}, *r = &all;
  for (text_begin(r, b); r->token != '\0';) {
    operand v[2];
    while (is(r, "\n"))
      continue;
    if (r->token == '\0')
      break;
    if (is(r, "input")) {
      read_input(r);
    } else if (is(r, "let")) {
      char *name = new_name(r);
      must(r, "=");
      v[0] = expression(r, 0);
      bind(r, v[0], name);
    } else if (is(r, "output")) {
      want(p->n_outputs == 0, "a second output");
      read_outputs(r);
    } else {
      must(r, "piece");
      expression(r, 0);
      if (is(r, "if"))
        do
          condition(r, 0, v);
        while (is(r, "and"));
    }
    want(r->token == '\n' || r->token == '\0', "more than a statement");
  }
  want(p->n_outputs > 0 && p->n_inputs > 0, "a program has inputs and an output");
}
