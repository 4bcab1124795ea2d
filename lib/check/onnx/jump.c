/* A comparison is 1 or 0, by the sign of a difference; all that is made of such numbers is arithmetic. */
#include "check/onnx/jump.h"
#include "check/base/allocate.h"
#include "check/onnx/surrogate.h"

#include <string.h>

/* ---- Inputs of one shape */

/* Integers and truth values are numbers like others. */
static void
make_real(const builder *b, value *v)
{
  if (v->constant == NULL || v->constant->real)
    return;
  tensor *t = allocate(1, sizeof *t);
  *t = *v->constant;
  t->real = true;
  t->initializer = false;
  for (size_t i = 0; i < t->count; i++)
    need(mpz_sizeinbase(mpq_numref(&t->value[i]), 2) <= 53, "an integer beyond 2^53");
  v->constant = t;
}

static void
lift_inputs(builder *b)
{
  size_t n = b->node->n_in, constants = 0;
  for (size_t i = 0; i < n; i++) {
    need(b->in[i].name != NULL && !is_odd(&b->in[i]), "an input is missing, or infinite");
    make_real(b, &b->in[i]);
    constants += b->in[i].constant != NULL;
  }
  if (constants == n)
    lift_constant(b);
  share_constants(b);
  for (size_t i = 0; i < n; i++)
    if (b->in[i].constant != NULL)
      b->in[i] = lifted_constant(b, &b->in[i]);
}

/* The node's inputs over the shape that they broadcast to, with the batch that they have. */
static value *
spread_all(builder *b)
{
  size_t n = b->node->n_in;
  value *all = allocate(n, sizeof *all);
  lift_inputs(b);
  value shape = broadcast_all(b, n);
  for (size_t i = 0; i < n; i++) {
    all[i] = spread(b, &b->in[i], shape.rank, shape.dims);
    memcpy(all[i].dims, shape.dims, shape.rank * sizeof *shape.dims);
    all[i].count = product(shape.dims, shape.rank);
    all[i].at = shape.at;
    all[i].inner = shape.inner;
    all[i].shared = shape.shared;
  }
  return all;
}

/* ---- Arithmetic of features of one shape */

static value
finished(const builder *b, const value *like)
{
  value y = b->out;
  y.at = like->at;
  y.inner = like->inner;
  y.shared = like->shared;
  return y;
}

/* number + c x + d y, where y is there. */
static value
sum_of(builder *b, long number, long c, const value *x, long d, const value *y)
{
  size_t n = 1 + (y != NULL) + (number != 0), i;
  rational *coef = rationals(3);
  mpq_set_si(&coef[0], c, 1);
  mpq_set_si(&coef[1], d, 1);
  mpq_set_si(&coef[2], number, 1);
  step *s = add_step(b, LINEAR, n, x->rank, x->dims);
  for (size_t f = 0; f < s->n; f++) {
    operand(b, s, f * n, x, f)->coef = &coef[0];
    i = f * n + 1;
    if (y != NULL)
      operand(b, s, i++, y, f)->coef = &coef[1];
    if (number != 0)
      s->factors[i].coef = &coef[2];
  }
  return finished(b, x);
}

static value
function_of(builder *b, function f, const value *x)
{
  put_function(b, f, x);
  return finished(b, x);
}

static value
product_of(builder *b, const value *x, const value *y)
{
  put_products(b, x, y, x->rank, x->dims);
  return finished(b, x);
}

static value
is_above(builder *b, const value *x, const value *y)
{
  value difference = sum_of(b, 0, 1, x, -1, y);
  return function_of(b, F_ABOVE, &difference);
}

static value
negation(builder *b, const value *x)
{
  return sum_of(b, 1, -1, x, 0, NULL);
}

/* The last value made is the node's. */
static void
finish(builder *b, const value *y, held_kind holds)
{
  b->out = *y;
  b->out.name = NULL;
  b->out.holds = holds;
}

/* ---- Operators */

void
lower_rounded(builder *b)
{
  const value *x = &b->in[0];
  need(x->constant == NULL, "its input must be an activation");
  bool passes = b->of == NULL && surrogate_of(b->m, b->op) != PASSES_NOTHING;
  value minus, y, constant = passes ? held(b, *x) : *x, moved = *x;
  x = &constant;
  switch (b->op[0]) {
  case 'S':
    minus = sum_of(b, 0, -1, x, 0, NULL);
    minus = function_of(b, F_ABOVE, &minus);
    y = function_of(b, F_ABOVE, x);
    y = sum_of(b, 0, 1, &y, -1, &minus);
    break;
  case 'C':
    minus = sum_of(b, 0, -1, x, 0, NULL);
    minus = function_of(b, F_FLOOR, &minus);
    y = sum_of(b, 0, -1, &minus, 0, NULL);
    break;
  default: y = function_of(b, b->op[0] == 'F' ? F_FLOOR : F_ROUND, x); break;
  }
  if (passes) {
    y.name = "";
    y = straight(b, moved, y);
  }
  finish(b, &y, HOLDS_FLOATS);
}

size_t
bottom_input(const builder *b)
{
  for (size_t i = 0; i < 2 && b->node->n_in == 2; i++) {
    const value *v = &b->in[i], *x = &b->in[1 - i];
    bool all = v->constant != NULL && v->constant->real && v->count > 0 && !v->negated && x->constant == NULL
               && x->holds == HOLDS_FLOATS && !is_batch(b, x);
    for (size_t e = 0; e < v->count && all; e++)
      all = odd_entry(v, e) == '-';
    if (all)
      return i;
  }
  return 2;
}

void
lower_truths(builder *b)
{
  const char *op = b->op;
  value *in = spread_all(b), y;
  const value *x = &in[0], *z = &in[b->node->n_in - 1];
  if (strcmp(op, "Not") == 0)
    y = negation(b, x);
  else if (strcmp(op, "And") == 0)
    y = product_of(b, x, z);
  else if (strcmp(op, "Or") == 0) {
    value neither = negation(b, x), other = negation(b, z);
    neither = product_of(b, &neither, &other);
    y = negation(b, &neither);
  } else if (strcmp(op, "Equal") == 0) {
    value up = is_above(b, x, z), down = is_above(b, z, x);
    y = sum_of(b, 1, -1, &up, -1, &down);
  } else if (strcmp(op, "Greater") == 0)
    y = is_above(b, x, z);
  else if (strcmp(op, "Less") == 0)
    y = is_above(b, z, x);
  else {
    value strict = op[0] == 'G' ? is_above(b, z, x) : is_above(b, x, z);
    y = negation(b, &strict);
  }
  finish(b, &y, HOLDS_TRUTHS);
}

void
lower_chosen(builder *b, held_kind holds)
{
  value *in = spread_all(b), other = negation(b, &in[0]);
  value first = product_of(b, &in[0], &in[1]), second = product_of(b, &other, &in[2]);
  value y = sum_of(b, 0, 1, &first, 1, &second);
  finish(b, &y, holds);
}

void
lower_cast_activation(builder *b, bool truths)
{
  const value *x = &b->in[0];
  value y;
  if (truths) {
    value minus = sum_of(b, 0, -1, x, 0, NULL), below = function_of(b, F_ABOVE, &minus);
    value above = function_of(b, F_ABOVE, x);
    y = sum_of(b, 0, 1, &above, 1, &below);
  } else
    y = function_of(b, F_TRUNCATE, x);
  finish(b, &y, truths ? HOLDS_TRUTHS : HOLDS_INTEGERS);
  b->out.reach = truths ? 0 : INT32_MAX;
}

/* ---- What numbers stand for */

static bool
is_listed(const char *op, const char *list)
{
  size_t n = strlen(op);
  for (const char *at = strstr(list, op); at != NULL; at = strstr(at + 1, op))
    if (at[-1] == ' ' && at[n] == ' ')
      return true;
  return false;
}

static bool
moves_entries(const char *op)
{
  return is_listed(op, " DepthToSpace Expand Flatten Gather GatherElements GatherND Identity Reshape Slice "
                       "SpaceToDepth Split Squeeze Tile "
                       "Transpose Unsqueeze ");
}

void
check_held(const builder *b)
{
  static const char *const takes[] = {
      [HOLDS_TRUTHS] = " And Cast CastLike Equal Not Or Where ",
      [HOLDS_INTEGERS] = " Add Cast CastLike ConvInteger DequantizeLinear Equal Greater GreaterOrEqual Less "
                         "LessOrEqual MatMulInteger OneHot QLinearConv QLinearMatMul QuantizeLinear Where ",
      [HOLDS_FLOAT8] = " Cast CastLike DequantizeLinear "};
  for (size_t i = 0; i < b->node->n_in; i++) {
    held_kind of = b->in[i].constant == NULL ? b->in[i].holds : HOLDS_FLOATS;
    need(of == HOLDS_FLOATS || moves_entries(b->op) || is_listed(b->op, takes[of]),
         "an input holds truth values, integers, or floats of 8 bits, computed of activations, which the operator does "
         "not take");
  }
}

void
keep_held(builder *b)
{
  if (b->in[0].name == NULL || b->in[0].constant != NULL || !moves_entries(b->op))
    return;
  b->out.holds = b->in[0].holds;
  b->out.reach = b->in[0].reach;
}
