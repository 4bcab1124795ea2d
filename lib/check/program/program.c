/* Programs (docs/programs.md): the text as a list of instructions, each applied to earlier ones. */
#include "check/program/program.h"
#include "check/base/allocate.h"
#include "check/base/limit.h"
#include "check/base/name_index.h"
#include "check/program/program_text.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 200 /* of brackets and operators inside each other */

static program *prog;

static name_index names;
static operand *named; /* by a name's number */

/* ---- Expressions */

static operand expression(size_t depth);

/* E, E, ... up to the closing bracket; the first three apart in each. */
static operand
list(size_t depth, const char *closing, operand *each, size_t *n)
{
  operand all = {0, NULL, true};
  for (*n = 0;; ++*n) {
    operand v = expression(depth);
    if (*n < 3)
      each[*n] = v;
    count_entries(v.n);
    for (size_t e = 0; e < v.n; e++, all.n++) {
      all.at = grow(all.at, all.n, sizeof *all.at);
      all.at[all.n] = v.at[e];
    }
    if (!is(","))
      break;
  }
  must(closing);
  ++*n;
  return all;
}

/* `{...}` after a function's name: a proxy at kinks, or of ties. */
static proxy
read_proxy(bool order, size_t depth)
{
  static const char *const kinds[] = {"value", "left", "right", "first", "last", "stable", "mean", "hybrid"};
  proxy p = {.value = rational_zero()};
  if (!is("{"))
    return p;
  p.given = true;
  p.kind = VALUE;
  for (size_t k = order ? 3 : 1; k < (order ? 8u : 3u) && p.kind == VALUE && token == 'a'; k++)
    if (strcmp(token_text, kinds[k]) == 0)
      p.kind = k;
  bool mean = p.kind == 6, hybrid = p.kind == 7;
  want(!order || p.kind != VALUE, "first, last, stable, mean or hybrid is expected");
  if (p.kind != VALUE)
    advance();
  if (mean || hybrid)
    p.kind = FIRST;
  if (mean)
    mpq_set(&p.value, &plus_one);
  if (p.kind == VALUE || hybrid) {
    const rational *q = operand_number(expression(depth));
    want(q != NULL, "a proxy that is no number");
    mpq_set(&p.value, q);
  }
  must("}");
  return p;
}

static operand
call(const callable *f, size_t depth)
{
  const char *name = f->name;
  deed what = f->kind;
  bool infinity = strcmp(name, "norminf") == 0, one = strcmp(name, "norm1") == 0, kth = strcmp(name, "kth") == 0;
  operand each[3];
  size_t n;
  want(token != '{' || what == A_POINTWISE || what == AN_ORDER || one, "a proxy of what has no kinks");
  proxy how = read_proxy(what == AN_ORDER, depth), none = {.value = rational_zero()};
  must("(");
  operand all = list(depth, ")", each, &n);
  want(what != A_POINTWISE || (n >= 1 + f->least && n <= 1 + f->most), "a wrong number of arguments");
  if (what == A_POINTWISE)
    return operand_pointwise(f, how, each[0], each + 1, n - 1);
  want(what != AN_ANALYTIC || n == 1, "one argument is expected");
  if (what == AN_ANALYTIC)
    return operand_apply((instruction){.kind = what, .name = name}, 1, each);
  if (infinity || one)
    all = operand_pointwise(find_function("abs"), one ? how : none, all, NULL, 0);
  if (what == AN_ORDER) {
    const rational *q = kth ? operand_number(each[0]) : NULL;
    if (kth) {
      all.n--;
      all.at++;
    }
    bool inside = q != NULL && mpz_cmp_ui(mpq_denref(q), 1) == 0 && mpq_sgn(q) > 0 && mpq_cmp_ui(q, all.n, 1) <= 0;
    want(!kth || inside, "kth(K, ...) wants 1 <= K <= their number");
    return operand_order(f, how, all,
                         kth                           ? mpz_get_ui(mpq_numref(q))
                         : strcmp(name, "min") == 0    ? all.n
                         : strcmp(name, "median") == 0 ? all.n - (all.n - 1) / 2
                                                       : 1);
  }
  if (strcmp(name, "dot") == 0) {
    want(n == 2 && each[0].n == each[1].n, "dot wants two vectors of one length");
    all = operand_apply((instruction){.kind = A_PRODUCT}, 2, each);
  }
  RATIONAL(c);
  mpq_set_ui(&c, 1, strcmp(name, "mean") == 0 ? all.n : 1);
  if (what == A_SUM)
    return operand_sum(all, &c);
  operand y = operand_new(1, false);
  y.at[0] = add_instruction((instruction){.kind = A_NORM, .n = all.n, .in = all.at});
  return y;
}

/* A number of entries, or the place of one. */
static size_t
whole(size_t depth, size_t most)
{
  const rational *q = operand_number(expression(depth));
  want(q != NULL && mpz_cmp_ui(mpq_denref(q), 1) == 0 && mpq_sgn(q) >= 0 && mpq_cmp_ui(q, most, 1) <= 0,
       "an entry that is not there");
  return mpz_get_ui(mpq_numref(q));
}

static operand
primary(size_t depth)
{
  operand v = {0, NULL, false}, each[3];
  size_t n = 0;
  RATIONAL(q);
  if (token == '0') {
    literal(&q);
    v = operand_constant(&q);
  } else if (is("(")) {
    v = expression(depth);
    must(")");
  } else if (is("[")) {
    v = list(depth, "]", each, &n);
  } else {
    const callable *f = find_function(token_text);
    n = name_find(&names, token_text);
    expect(token == 'a' && (f != NULL || n != NONE), "program, line %zu: what is '%.40s'?", text_line, token_text);
    advance();
    v = f != NULL ? call(f, depth) : named[n];
  }
  while (is("[")) {
    want(v.vector, "an entry of what is no vector");
    size_t from = token == ':' ? 0 : whole(depth, v.n), to = from + 1;
    bool part = is(":");
    if (part)
      to = token == ']' ? v.n : whole(depth, v.n);
    must("]");
    want(from < to && to <= v.n, "an entry that is not there");
    v = (operand){to - from, v.at + from, part};
  }
  return v;
}

/* - x; x y and x / y (level 1); x + y and x - y (level 0). */
static operand
terms(size_t depth, int level)
{
  operand v[2] = {{0, NULL, false}, {0, NULL, false}};
  want(depth < MAX_DEPTH, "brackets or signs nested too deeply");
  if (level == 2 && is("-")) {
    v[1] = terms(depth + 1, 2);
    return operand_arithmetic('-', v);
  }
  if (level == 2)
    return primary(depth + 1);
  v[0] = terms(depth, level + 1);
  while (strlen(token_text) == 1 && strchr(level == 0 ? "+-" : "*/", *token_text) != NULL) {
    char operation = *token_text;
    advance();
    v[1] = terms(depth, level + 1);
    v[0] = operand_arithmetic(operation, v);
  }
  return v[0];
}

/* E RELATION E: into v; returns the relation. */
static const char *
condition(size_t depth, operand *v)
{
  v[0] = expression(depth);
  expect(token == 'r', "program, line %zu: a comparison is expected, not '%.40s'", text_line, token_text);
  const char *relation = copy_text(token_text, strlen(token_text));
  advance();
  v[1] = expression(depth);
  want(!v[0].vector && !v[1].vector, "a comparison of vectors");
  return relation;
}

static operand
expression(size_t depth)
{
  operand v[4];
  want(depth < MAX_DEPTH, "brackets or signs nested too deeply");
  if (!is("if"))
    return terms(depth, 0);
  const char *relation = condition(depth + 1, v);
  must("then");
  v[2] = expression(depth + 1);
  must("else");
  v[3] = expression(depth + 1);
  return operand_apply((instruction){.kind = A_BRANCH, .relation = relation}, 4, v);
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
bind(operand v, char *name)
{
  static const char *const taken[] = {"input", "let", "output", "piece", "if", "then", "else", "and"};
  bool good = find_function(name) == NULL;
  for (size_t i = 0; i < 8; i++)
    good = good && strcmp(taken[i], name) != 0;
  named = grow(named, names.n, sizeof *named);
  good = good && name_add(&names, name);
  want(good, "a name that is taken");
  named[names.n - 1] = v;
}

static char *
new_name(void)
{
  char *name = copy_text(token_text, strlen(token_text));
  want(token == 'a', "a name is expected");
  advance();
  return name;
}

static void
read_input(void)
{
  do {
    program_input in = {.name = new_name(), .n = 1, .first = prog->n};
    if (is("[")) {
      RATIONAL(q);
      want(token == '0', "a number of entries is expected");
      literal(&q);
      must("]");
      want(mpz_cmp_ui(mpq_denref(&q), 1) == 0 && mpq_sgn(&q) > 0, "a vector has a whole number of entries, at least 1");
      in.n = mpz_fits_ulong_p(mpq_numref(&q)) ? mpz_get_ui(mpq_numref(&q)) : NONE;
      within(LIMIT_INSTRUCTIONS, in.n, "program, line %zu: an input of more entries", text_line);
      in.vector = true;
    }
    operand v = operand_new(in.n, in.vector);
    for (size_t e = 0; e < in.n; e++)
      v.at[e] = add_instruction((instruction){.kind = AN_INPUT, .c = input_numbers(), .entry = NONE});
    bind(v, in.name);
    prog->inputs = grow(prog->inputs, prog->n_inputs, sizeof in);
    prog->inputs[prog->n_inputs++] = in;
  } while (is(","));
}

static void
read_outputs(void)
{
  do {
    operand v = expression(0);
    for (size_t e = 0; e < v.n; e++) {
      prog->outputs = grow(prog->outputs, prog->n_outputs, sizeof *prog->outputs);
      prog->outputs[prog->n_outputs++] = v.at[e];
    }
  } while (is(","));
}

void
program_read(program *p, bytes b)
{
  prog = p;
  instructions_begin(p);
  for (text_begin(b); token != '\0';) {
    operand v[2];
    while (is("\n"))
      continue;
    if (token == '\0')
      break;
    if (is("input")) {
      read_input();
    } else if (is("let")) {
      char *name = new_name();
      must("=");
      v[0] = expression(0);
      bind(v[0], name);
    } else if (is("output")) {
      want(p->n_outputs == 0, "a second output");
      read_outputs();
    } else {
      must("piece");
      expression(0);
      if (is("if"))
        do
          condition(0, v);
        while (is("and"));
    }
    want(token == '\n' || token == '\0', "more than a statement");
  }
  want(p->n_outputs > 0 && p->n_inputs > 0, "a program has inputs and an output");
}
