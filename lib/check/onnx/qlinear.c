/* Integers are multiplied and added up as what they are, less their zero points; QLinearConv and QLinearMatMul then quantize the sum, whose
 * scale is the product of both scales. */
#include "check/onnx/qlinear.h"
#include "check/base/allocate.h"
#include "check/onnx/inner.h"
#include "check/onnx/quantize.h"
#include "check/onnx/surrogate.h"

#include <string.h>

#define MOST_COMPARED 4096UL /* entries, by one node */
#define MOST_PARTS 1024      /* of a Concat */
#define BYTE_SQUARED (255UL * 255UL)

/* The inputs' places, which QLinear's scales lie between. */
typedef struct {
  size_t first, first_zero, second, second_zero;
  bool scaled;
} operands;

enum { FIRST_SCALE = 1, SECOND_SCALE = 4, SCALE = 6, ZERO, BIAS };

static operands
operands_of(const builder *b)
{
  bool scaled = strncmp(b->op, "QLinear", 7) == 0;
  operands at = {0, 2, scaled ? 3 : 1, scaled ? 5 : 3, scaled};
  size_t activations = 0, place[2] = {at.first, at.second};
  for (size_t i = 0; i < 2; i++) {
    const value *v = &b->in[place[i]];
    need(has_input(b, place[i]), "an operand is missing");
    const tensor *t = v->constant;
    need(t == NULL ? v->holds == HOLDS_INTEGERS : t->type == UINT8 || t->type == INT8,
         "its operands are no integers of 8 bits");
    activations += t == NULL;
  }
  need(activations > 0, "none of its operands is an activation");
  return at;
}

/* A sum of so many products and a bias must be an integer of 32 bits: more would not be added up so by runtimes. */
static void
need_no_overflow(const builder *b, size_t terms, bool biased)
{
  RATIONAL(most);
  RATIONAL(size);
  const value *v = &b->in[BIAS];
  for (size_t e = 0; biased && v->constant != NULL && e < v->count; e++) {
    mpq_abs(&size, &v->constant->value[v->map[e]]);
    if (mpq_cmp(&size, &most) > 0)
      mpq_set(&most, &size);
  }
  if (biased && v->constant == NULL)
    mpq_set_ui(&most, v->reach > 0 ? v->reach : INT32_MAX, 1);
  mpq_set_ui(&size, BYTE_SQUARED, 1);
  mpz_mul_ui(mpq_numref(&size), mpq_numref(&size), terms);
  mpq_add(&most, &most, &size);
  need(mpq_cmp_ui(&most, INT32_MAX, 1) <= 0, "a sum of so many products may be no integer of 32 bits");
}

/* The layout of what has as many axes, `places` of them along one, which may have a scale for each. */
static scale_layout
along(size_t *dims, size_t rank, size_t axis, size_t places)
{
  for (size_t i = 0; i < rank; i++)
    dims[i] = i == axis ? places : 1;
  return (scale_layout){rank, dims, axis, 0};
}

/* y is the sum of products; of QLinear's the scales are the first operand's, and along the layout's axis the second's. */
static void
finish(builder *b, bool scaled, value y, const scale_layout *l, size_t terms)
{
  static const scale_layout one = {0, NULL, NONE, 0};
  if (!scaled) {
    y.holds = HOLDS_INTEGERS;
    y.reach = terms * BYTE_SQUARED;
    b->out = y;
    return;
  }
  ends to = ends_of(b, ZERO);
  y = with(b, "Mul", y, spread_input(b, &one, FIRST_SCALE, false));
  y = with(b, "Mul", y, spread_input(b, l, SECOND_SCALE, false));
  value scale = spread_input(b, &one, SCALE, false);
  b->out = quantized(b, y, scale, spread_input(b, &one, ZERO, true), to);
}

void
lower_integer_convolution(builder *b)
{
  operands at = operands_of(b);
  const value *w = &b->in[at.second], *x = &b->in[at.first];
  bool biased = at.scaled && has_input(b, BIAS);
  size_t dims[MAX_RANK];
  need(x->constant == NULL && w->rank > 2 && w->count > 0, "its input is no activation, or the weight does not fit");
  size_t outputs = w->dims[0], terms = w->count / outputs;
  need_no_overflow(b, terms, biased);
  scale_layout every = {x->rank, x->dims, NONE, 0}, each = {w->rank, w->dims, 0, 0};
  value in[2] = {difference(b, &every, at.first, at.first_zero), difference(b, &each, at.second, at.second_zero)};
  value y = inner_node_of(b, "Conv", 2, in, b->node->n_attributes, b->node->attributes);
  scale_layout l = along(dims, y.rank, 1, outputs);
  if (biased) {
    need(b->in[BIAS].rank == 1 && b->in[BIAS].count == outputs, "the bias does not fit");
    y = with(b, "Add", y, spread_input(b, &l, BIAS, true));
  }
  finish(b, at.scaled, y, &l, terms);
}

void
lower_integer_product(builder *b)
{
  operands at = operands_of(b);
  const value *x = &b->in[at.first], *w = &b->in[at.second];
  size_t whole[MAX_RANK], dims[MAX_RANK], rank = w->rank;
  whole_run(b, w, whole);
  size_t terms = rank == 0 ? 1 : whole[rank == 1 ? 0 : rank - 2];
  need_no_overflow(b, terms, false);
  size_t axis = rank > 1 ? rank - 1 : NONE;
  scale_layout every = {x->rank, x->dims, NONE, 0}, each = {w->rank, w->dims, axis, 0};
  value first = difference(b, &every, at.first, at.first_zero);
  value y = with(b, "MatMul", first, difference(b, &each, at.second, at.second_zero));
  scale_layout l = along(dims, 1, 0, rank > 1 ? w->dims[axis] : 1);
  finish(b, at.scaled, y, &l, terms);
}

bool
adds_integers(const builder *b)
{
  bool some = false;
  for (size_t i = 0; i < b->node->n_in && strcmp(b->op, "Add") == 0; i++)
    some = some || (b->in[i].constant == NULL && b->in[i].holds == HOLDS_INTEGERS);
  return some;
}

/* Input i as floats. How large its integers are must be known, and is added to what the others may be. */
static value
addend(builder *b, size_t i, size_t *reach)
{
  const value *v = &b->in[i];
  const tensor *t = v->constant;
  need(t != NULL ? t->type == INT32 : v->holds == HOLDS_INTEGERS && v->reach > 0,
       "it is not known how large the integers may be that it adds");
  if (t == NULL) {
    *reach += v->reach;
    return as_floats(b, *v);
  }
  value y = made_numbers(b, v->rank, v->dims);
  size_t most = 0;
  for (size_t e = 0; e < y.count; e++) {
    rational *q = &y.constant->value[e];
    mpq_set(q, &t->value[v->map[e]]);
    if (mpz_cmpabs_ui(mpq_numref(q), most) > 0)
      most = mpz_get_ui(mpq_numref(q));
  }
  *reach += most;
  return y;
}

void
lower_integer_sum(builder *b)
{
  size_t reach = 0;
  value first = addend(b, 0, &reach), second = addend(b, 1, &reach), y = with(b, "Add", first, second);
  if (reach > INT32_MAX) /* there a Cast is no integer */
    y = inner_node(b, "Cast", 1, &y, inner_whole("to", INT32));
  y.holds = HOLDS_INTEGERS;
  y.reach = reach < INT32_MAX ? reach : INT32_MAX;
  b->out = y;
}

/* The largest or smallest of each 4096 entries of x, one after another. */
static value
of_parts(builder *b, const value *x, const char *reduction)
{
  size_t n = (x->count - 1) / MOST_COMPARED + 1;
  need(!is_batch(b, x) && n <= MOST_PARTS, "the samples are on an axis, or too many entries");
  value *parts = allocate(n, sizeof *parts);
  for (size_t k = 0; k < n; k++) {
    size_t first = k * MOST_COMPARED, size = x->count - first < MOST_COMPARED ? x->count - first : MOST_COMPARED;
    value part = view(b, x, first, 1, &size, &(size_t){1});
    parts[k] = of(b, reduction, part);
  }
  return inner_node(b, "Concat", n, parts, inner_whole("axis", 0));
}

/* The largest or smallest of all entries, and of 0. */
static value
extreme(builder *b, const value *x, const char *reduction, const char *op)
{
  value all = x->count > MOST_COMPARED ? of_parts(b, x, reduction) : *x;
  value most = inner_node(b, reduction, 1, &all, inner_whole("keepdims", 0));
  return with(b, op, most, whole_number(b, 0));
}

/* x as integers, with a scale and a zero point. */
static value
quantized_by_itself(builder *b, const value *x, value *scale, value *origin)
{
  const ends byte = {0, 255};
  need(surrogate_of(b->m, "QuantizeLinear") == PASSES_NOTHING,
       "a surrogate of QuantizeLinear does not say what passes a scale that is computed");
  need(x->constant == NULL, "its input must be an activation");
  value least = extreme(b, x, "ReduceMin", "Min"), most = extreme(b, x, "ReduceMax", "Max");
  *scale = with(b, "Div", with(b, "Sub", most, least), whole_number(b, 255));
  *origin = quantized(b, of(b, "Neg", least), *scale, whole_number(b, 0), byte);
  return quantized(b, *x, *scale, as_floats(b, *origin), byte);
}

value
dynamic_difference(builder *b, value x, value *scale)
{
  value origin, y = as_floats(b, quantized_by_itself(b, &x, scale, &origin));
  return with(b, "Sub", y, as_floats(b, origin));
}

void
lower_dynamic(builder *b)
{
  value scale, origin, y = quantized_by_itself(b, &b->in[0], &scale, &origin);
  b->out = y;
  give_output(b, 1, scale);
  give_output(b, 2, origin);
}
