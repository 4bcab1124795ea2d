/* Expressions lowered: arithmetic, branches, vectors. */
#include "program/prog_expression.h"

#include "program/prog_call.h"
#include "program/prog_name.h"
#include "program/prog_value.h"
#include "program/prog_vector.h"
#include "exact/literal.h"

#include <stdlib.h>
#include <string.h>

/* The number of entries of an entry-by-entry operation on both. */
static clarke_status
common(bool *vector, size_t *n, prog_lowering *low, const prog_value *a, const prog_value *b, size_t at)
{
  if (a->vector && b->vector && a->n != b->n)
    return clarke_prog_fail(low->g, at, low->err, "a vector of %zu beside a vector of %zu: expected"
                            " vectors of one length, or a scalar", a->n, b->n);
  *vector = a->vector || b->vector;
  *n = a->vector ? a->n : b->n;
  return CLARKE_OK;
}

/* --- arithmetic ---------------------------------------------------------------------------------- */

/* The constant a OPERATOR b; b is not zero where it divides. */
static clarke_status
fold(prog_scalar *out, prog_lowering *low, char operator, prog_scalar a, prog_scalar b, size_t at)
{
  mpq_t *const x = clarke_prog_constant(low, a), *const y = clarke_prog_constant(low, b);
  mpq_t *const value = &low->coef[0];
  clarke_status status = clarke_prog_charge(low, *x, at);

  if (status == CLARKE_OK)
    status = clarke_prog_charge(low, *y, at);
  if (status != CLARKE_OK)
    return status;
  switch (operator) {
  case '+':
    mpq_add(*value, *x, *y);
    break;
  case '-':
    mpq_sub(*value, *x, *y);
    break;
  case '*':
    mpq_mul(*value, *x, *y);
    break;
  default:
    mpq_div(*value, *x, *y);
    break;
  }
  return clarke_prog_new_constant(out, low, *value, at);
}

static clarke_status
add_linear(prog_scalar *out, prog_lowering *low, size_t n, const size_t *in, size_t at)
{
  clarke_error err = { .text = "" };
  size_t number;
  clarke_status status = clarke_prog_room(low, 1, n, at);

  if (status != CLARKE_OK)
    return status;
  status = clarke_code_add_linear(low->p, &number, n, in, low->coef, &err);
  if (status == CLARKE_OK)
    *out = clarke_prog_added(low, at);
  return clarke_prog_add_status(low, status, &err, at);
}

/* One instruction x OPERATOR c or c OPERATOR x, c a constant; + - * only. */
static clarke_status
with_constant(prog_scalar *out, prog_lowering *low, char operator, prog_scalar a, prog_scalar b,
              size_t at)
{
  const size_t in = a.constant ? b.index : a.index;
  mpq_t *const constant = clarke_prog_constant(low, a.constant ? a : b);
  clarke_status status = clarke_prog_charge(low, *constant, at);

  if (status != CLARKE_OK)
    return status;
  if (operator == '*') {
    mpq_set(low->coef[0], *constant);
    mpq_set_ui(low->coef[1], 0, 1);
    return add_linear(out, low, 1, &in, at);
  }
  mpq_set_si(low->coef[0], operator == '-' && a.constant ? -1 : 1, 1);
  mpq_set(low->coef[1], *constant);
  if (operator == '-' && b.constant)
    mpq_neg(low->coef[1], low->coef[1]);
  return add_linear(out, low, 1, &in, at);
}

static clarke_status
add_simple(prog_scalar *out, prog_lowering *low, clarke_do kind, const size_t in[2], size_t at)
{
  clarke_error err = { .text = "" };
  size_t number;
  clarke_status status = clarke_prog_room(low, 1, 2, at);

  if (status != CLARKE_OK)
    return status;
  status = clarke_code_add(low->p, &number, kind, 2, in, &err);
  if (status == CLARKE_OK)
    *out = clarke_prog_added(low, at);
  return clarke_prog_add_status(low, status, &err, at);
}

/* One entry of a sum, a difference or a product. */
static clarke_status
combine(prog_scalar *out, prog_lowering *low, char operator, prog_scalar a, prog_scalar b,
        size_t at)
{
  const size_t in[2] = { a.index, b.index };

  if (a.constant && b.constant)
    return fold(out, low, operator, a, b, at);
  if (a.constant || b.constant)
    return with_constant(out, low, operator, a, b, at);
  if (operator == '*')
    return add_simple(out, low, CLARKE_DO_PRODUCT, in, at);
  mpq_set_si(low->coef[0], 1, 1);
  mpq_set_si(low->coef[1], operator == '-' ? -1 : 1, 1);
  mpq_set_ui(low->coef[2], 0, 1);
  return add_linear(out, low, 2, in, at);
}

/* The instruction of an entry of v, a constant made one; a scalar's constant only once. */
static clarke_status
solid_entry(size_t *in, prog_lowering *low, const prog_value *v, size_t i, size_t *once, size_t at)
{
  clarke_status status;

  if (!v->vector && *once != CLARKE_NONE) {
    *in = *once;
    return CLARKE_OK;
  }
  status = clarke_prog_solid(in, low, clarke_prog_entry(v, i), at);
  if (!v->vector)
    *once = *in;
  return status;
}

/* Constants that quotients need as instructions come before the quotients, which are one group. */
static clarke_status
quotient_arguments(size_t (*in)[2], prog_lowering *low, const prog_value *a, const prog_value *b,
                   size_t n, size_t at)
{
  size_t once[2] = { CLARKE_NONE, CLARKE_NONE };
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; status == CLARKE_OK && i < n; i++) {
    const prog_scalar x = clarke_prog_entry(a, i), y = clarke_prog_entry(b, i);

    if (y.constant && mpq_sgn(*clarke_prog_constant(low, y)) == 0)
      return clarke_prog_fail(low->g, at, low->err, "division by zero: expected a divisor that is"
                              " not the constant 0");
    if (x.constant && y.constant)
      continue;
    status = solid_entry(&in[i][0], low, a, i, &once[0], at);
    if (status == CLARKE_OK)
      status = solid_entry(&in[i][1], low, b, i, &once[1], at);
  }
  return status;
}

static clarke_status
divide(prog_value *out, prog_lowering *low, const prog_value *a, const prog_value *b, size_t at)
{
  size_t (*in)[2] = calloc(out->n, sizeof *in);
  clarke_status status;

  if (in == NULL)
    return clarke_fail(low->err, CLARKE_ENOMEM, "%s: out of memory", low->g->file);
  status = quotient_arguments(in, low, a, b, out->n, at);
  clarke_code_new_group(low->p);
  for (size_t i = 0; status == CLARKE_OK && i < out->n; i++) {
    const prog_scalar x = clarke_prog_entry(a, i), y = clarke_prog_entry(b, i);
    prog_scalar quotient = x;

    status = x.constant && y.constant ? fold(&quotient, low, '/', x, y, at)
                                      : add_simple(&quotient, low, CLARKE_DO_QUOTIENT, in[i], at);
    clarke_prog_set(out, i, quotient);
  }
  free(in);
  return status;
}

clarke_status
clarke_prog_apply(prog_value *out, prog_lowering *low, char operator, const prog_value *a,
                  const prog_value *b, size_t at)
{
  bool vector = false;
  size_t n = 0;
  clarke_status status = common(&vector, &n, low, a, b, at);

  *out = (prog_value){ 0 };
  if (status == CLARKE_OK)
    status = clarke_prog_result(out, low, vector, n, at);
  if (status != CLARKE_OK)
    return status;
  if (operator == '/')
    return divide(out, low, a, b, at);
  clarke_code_new_group(low->p);
  for (size_t i = 0; status == CLARKE_OK && i < n; i++) {
    prog_scalar entry = { 0 };

    status = combine(&entry, low, operator, clarke_prog_entry(a, i), clarke_prog_entry(b, i), at);
    clarke_prog_set(out, i, entry);
  }
  return status;
}

/* a + b - c ..., a * b / c ...: from the left. */
static clarke_status
chain(prog_value *v, prog_lowering *low, const clarke_prog_node *node)
{
  uint32_t child = node->first;
  clarke_status status = clarke_prog_value_of(v, low, child);

  while (status == CLARKE_OK && (child = clarke_prog_node_at(low, child)->next) != 0) {
    const clarke_prog_node *operand = clarke_prog_node_at(low, child);
    prog_value right = { 0 }, result = { 0 };

    status = clarke_prog_value_of(&right, low, child);
    if (status == CLARKE_OK)
      status = clarke_prog_apply(&result, low, (char)operand->mark, v, &right, operand->mark_at);
    clarke_prog_value_clear(&right);
    clarke_prog_value_clear(v);
    *v = result;
  }
  return status;
}

static clarke_status
minus_entry(prog_scalar *out, prog_lowering *low, prog_scalar s, size_t at)
{
  const size_t in = s.index;

  if (s.constant) {
    mpq_neg(low->coef[0], *clarke_prog_constant(low, s));
    return clarke_prog_new_constant(out, low, low->coef[0], at);
  }
  mpq_set_si(low->coef[0], -1, 1);
  mpq_set_ui(low->coef[1], 0, 1);
  return add_linear(out, low, 1, &in, at);
}

static clarke_status
minus(prog_value *v, prog_lowering *low, const clarke_prog_node *node)
{
  prog_value operand = { 0 };
  clarke_status status = clarke_prog_value_of(&operand, low, node->first);

  if (status == CLARKE_OK)
    status = clarke_prog_result(v, low, operand.vector, operand.n, node->at);
  clarke_code_new_group(low->p);
  for (size_t i = 0; status == CLARKE_OK && i < operand.n; i++) {
    prog_scalar entry = { 0 };

    status = minus_entry(&entry, low, clarke_prog_entry(&operand, i), node->at);
    clarke_prog_set(v, i, entry);
  }
  clarke_prog_value_clear(&operand);
  return status;
}

clarke_status
clarke_prog_sum(prog_scalar *sum, prog_lowering *low, const size_t *in, size_t n, size_t at)
{
  clarke_error err = { .text = "" };
  mpq_t *coef;
  size_t number;
  clarke_status status;

  if (n == 1) { /* nothing is added */
    *sum = (prog_scalar){ .index = (uint32_t)in[0] };
    return CLARKE_OK;
  }
  status = clarke_prog_room(low, 1, n, at);
  coef = status == CLARKE_OK ? malloc((n + 1) * sizeof *coef) : NULL;

  if (status == CLARKE_OK && coef == NULL)
    status = clarke_fail(low->err, CLARKE_ENOMEM, "%s: out of memory", low->g->file);
  if (status != CLARKE_OK)
    return status;
  for (size_t k = 0; k <= n; k++) {
    mpq_init(coef[k]);
    mpq_set_si(coef[k], k < n ? 1 : 0, 1);
  }
  status = clarke_code_add_linear(low->p, &number, n, in, coef, &err);
  if (status == CLARKE_OK)
    *sum = clarke_prog_added(low, at);
  for (size_t k = 0; k <= n; k++)
    mpq_clear(coef[k]);
  free(coef);
  return clarke_prog_add_status(low, status, &err, at);
}

/* --- branches ------------------------------------------------------------------------------------ */

static clarke_status
compare(size_t in[2], prog_lowering *low, const clarke_prog_node *node)
{
  const uint32_t child[2] = { node->first, clarke_prog_node_at(low, node->first)->next };

  for (size_t k = 0; k < 2; k++) {
    prog_scalar s;
    clarke_status status = clarke_prog_scalar_of(&s, low, child[k], "a comparison");

    if (status == CLARKE_OK)
      status = clarke_prog_solid(&in[k], low, s, clarke_prog_node_at(low, child[k])->at);
    if (status != CLARKE_OK)
      return status;
  }
  return CLARKE_OK;
}

/* in: n times the arguments of a branch, the first two being condition's. */
static clarke_status
branch_arguments(size_t (*in)[4], prog_lowering *low, const size_t condition[2],
                 const prog_value arm[2], const uint32_t child[2], size_t n)
{
  size_t once[2] = { CLARKE_NONE, CLARKE_NONE };

  for (size_t i = 0; i < n; i++) {
    memcpy(in[i], condition, 2 * sizeof *condition);
    for (size_t k = 0; k < 2; k++) {
      clarke_status status = solid_entry(&in[i][2 + k], low, &arm[k], i, &once[k],
                                         clarke_prog_node_at(low, child[k])->at);

      if (status != CLARKE_OK)
        return status;
    }
  }
  return CLARKE_OK;
}

static clarke_status
add_branches(prog_value *v, prog_lowering *low, clarke_relation relation, size_t (*in)[4],
             size_t at)
{
  clarke_error err = { .text = "" };
  clarke_status status = clarke_prog_room(low, v->n, 4 * v->n, at);
  size_t number;

  clarke_code_new_group(low->p);
  for (size_t i = 0; status == CLARKE_OK && i < v->n; i++) {
    status = clarke_prog_add_status(
      low, clarke_code_add_branch(low->p, &number, relation, in[i], &err), &err, at);
    if (status == CLARKE_OK)
      clarke_prog_set(v, i, clarke_prog_added(low, at));
  }
  return status;
}

static clarke_status
branches(prog_value *v, prog_lowering *low, const clarke_prog_node *node,
         const size_t condition[2], const prog_value arm[2], const uint32_t child[2])
{
  const clarke_relation relation = (clarke_relation)clarke_prog_node_at(low, node->first)->mark;
  size_t (*in)[4];
  bool vector = false;
  size_t n = 0;
  clarke_status status = common(&vector, &n, low, &arm[0], &arm[1], node->at);

  if (status == CLARKE_OK)
    status = clarke_prog_result(v, low, vector, n, node->at);
  if (status != CLARKE_OK)
    return status;
  in = calloc(n, sizeof *in);
  if (in == NULL)
    return clarke_fail(low->err, CLARKE_ENOMEM, "%s: out of memory", low->g->file);
  status = branch_arguments(in, low, condition, arm, child, n);
  if (status == CLARKE_OK)
    status = add_branches(v, low, relation, in, node->at);
  free(in);
  return status;
}

static clarke_status
branch(prog_value *v, prog_lowering *low, const clarke_prog_node *node)
{
  const clarke_prog_node *comparison = clarke_prog_node_at(low, node->first);
  const uint32_t child[2] = { comparison->next, clarke_prog_node_at(low, comparison->next)->next };
  prog_value arm[2] = { { 0 }, { 0 } };
  size_t condition[2];
  clarke_status status = compare(condition, low, comparison);

  for (size_t k = 0; k < 2 && status == CLARKE_OK; k++)
    status = clarke_prog_value_of(&arm[k], low, child[k]);
  if (status == CLARKE_OK)
    status = branches(v, low, node, condition, arm, child);
  clarke_prog_value_clear(&arm[0]);
  clarke_prog_value_clear(&arm[1]);
  return status;
}

/* --- vectors ------------------------------------------------------------------------------------- */

/* --- any expression ------------------------------------------------------------------------------ */

static clarke_status
number(prog_value *v, prog_lowering *low, const clarke_prog_node *node)
{
  char *text = strndup(low->g->text + node->start, node->length);
  bool good;

  if (text == NULL)
    return clarke_fail(low->err, CLARKE_ENOMEM, "%s: out of memory", low->g->file);
  good = clarke_literal_parse(low->coef[0], text);
  free(text);
  if (!good)
    return clarke_fail(low->err, CLARKE_EINTERNAL, "%s: a number changed", low->g->file);
  *v = (prog_value){ .n = 1 };
  return clarke_prog_new_constant(&v->one, low, low->coef[0], node->at);
}

static clarke_status
name(prog_value *v, prog_lowering *low, uint32_t node)
{
  const prog_value *bound;
  clarke_status status = clarke_prog_lookup(&bound, low, node);

  if (status != CLARKE_OK)
    return status;
  *v = *bound;
  v->owned = false;
  return CLARKE_OK;
}

clarke_status
clarke_prog_value_of(prog_value *v, prog_lowering *low, uint32_t node)
{
  const clarke_prog_node *n = clarke_prog_node_at(low, node);

  *v = (prog_value){ 0 };
  switch (n->kind) {
  case CLARKE_PROG_IF:
    return branch(v, low, n);
  case CLARKE_PROG_SUM:
  case CLARKE_PROG_TERM:
    return chain(v, low, n);
  case CLARKE_PROG_MINUS:
    return minus(v, low, n);
  case CLARKE_PROG_ENTRY:
  case CLARKE_PROG_SLICE:
    return clarke_prog_part(v, low, n);
  case CLARKE_PROG_CALL:
    return clarke_prog_call(v, low, node);
  case CLARKE_PROG_LIST:
    return clarke_prog_join(v, low, n->first);
  case CLARKE_PROG_NAME:
    return name(v, low, node);
  case CLARKE_PROG_NUMBER:
    return number(v, low, n);
  default:
    return clarke_fail(low->err, CLARKE_EINTERNAL, "%s: not an expression", low->g->file);
  }
}

clarke_status
clarke_prog_scalar_of(prog_scalar *s, prog_lowering *low, uint32_t node, const char *what)
{
  prog_value v;
  clarke_status status = clarke_prog_value_of(&v, low, node);

  if (status == CLARKE_OK && v.vector)
    status = clarke_prog_fail(low->g, clarke_prog_node_at(low, node)->at, low->err,
                              "%s takes a scalar, but this is a vector of %zu", what, v.n);
  *s = v.one;
  clarke_prog_value_clear(&v);
  return status;
}

clarke_status
clarke_prog_constant_of(mpq_t value, prog_lowering *low, uint32_t node, const char *what)
{
  prog_scalar s;
  clarke_status status = clarke_prog_scalar_of(&s, low, node, what);

  if (status != CLARKE_OK)
    return status;
  if (!s.constant)
    return clarke_prog_fail(low->g, clarke_prog_node_at(low, node)->at, low->err,
                            "%s is not constant: expected a number or arithmetic on numbers", what);
  mpq_set(value, *clarke_prog_constant(low, s));
  return CLARKE_OK;
}
