/* An LSTM (docs/operators.md, "Recurrent layers") whose matrices are integers, and so is what they are multiplied with: all entries of the
 * input at once, and at each time those of the state. */
#include "check/onnx/quantized_lstm.h"
#include "check/base/allocate.h"
#include "check/onnx/inner.h"
#include "check/onnx/qlinear.h"
#include "check/onnx/quantize.h"

#include <string.h>

enum { X, W, R, B, LENGTHS, H, C, P, W_SCALE, W_ORIGIN, R_SCALE, R_ORIGIN };
enum { MOST_TIMES = 1024 };

typedef struct {
  size_t times, inputs, hidden, columns, directions;
} sizes;

/* What a matrix of one direction is multiplied with it: numbers, and each column's scale. */
typedef struct {
  value numbers, scales;
} matrix;

/* ---- What a node is given */

static bool
has_axes(const value *v, size_t rank, const size_t *dims)
{
  return v->rank == rank && memcmp(v->dims, dims, rank * sizeof *dims) == 0;
}

/* An entry for each direction, or for each of its columns. */
static void
need_entries(const builder *b, const sizes *s, size_t i, bool real)
{
  const value *v = &b->in[i];
  size_t each[2] = {s->directions, s->columns};
  need(has_input(b, i) && v->constant != NULL && v->constant->real == real && !is_odd(v)
           && (has_axes(v, 1, each) || has_axes(v, 2, each)),
       "a scale or zero point is no constant, or fits neither directions nor columns");
  for (size_t e = 0; e < v->count && real; e++)
    need(mpq_sgn(&v->constant->value[v->map[e]]) > 0, "a scale is not above 0");
}

static void
need_matrix(const builder *b, const sizes *s, size_t i, size_t rows)
{
  const tensor *t = b->in[i].constant;
  size_t dims[3] = {s->directions, rows, s->columns};
  need(has_input(b, i) && t != NULL && (t->type == UINT8 || t->type == INT8) && has_axes(&b->in[i], 3, dims),
       "a matrix is no constant of integers of 8 bits, or has not the shape that the others ask for");
  need_entries(b, s, i == W ? W_SCALE : R_SCALE, true);
  need_entries(b, s, i == W ? W_ORIGIN : R_ORIGIN, false);
}

static bool
are_zeros(const value *v)
{
  bool zeros = v->constant != NULL && v->constant->real && !is_odd(v);
  for (size_t e = 0; zeros && e < v->count; e++)
    zeros = mpq_sgn(&v->constant->value[v->map[e]]) == 0;
  return zeros;
}

static void
need_others(const builder *b, const sizes *s)
{
  const value *lengths = &b->in[LENGTHS], *bias = &b->in[B];
  size_t state[3] = {s->directions, 1, s->hidden}, both[2] = {s->directions, 2 * s->columns};
  for (size_t i = H; i <= C; i++)
    need(!has_input(b, i) || (!is_batch(b, &b->in[i]) && has_axes(&b->in[i], 3, state)), "a state has another shape");
  need(!has_input(b, B) || (!is_batch(b, bias) && has_axes(bias, 2, both)), "the bias has another shape");
  need(!has_input(b, LENGTHS)
           || (lengths->constant != NULL && lengths->count == 1
               && whole_entry(b, lengths->constant, lengths->map[0]) == (long)s->times),
       "sequence_lens is no constant, or not the number of times");
  need(!has_input(b, P) && whole_attribute(b, "input_forget", 0) == 0 && find_attribute(b, "clip") == NULL
           && find_attribute(b, "activation_alpha") == NULL && find_attribute(b, "activation_beta") == NULL,
       "peepholes, input_forget, clip, or parameters of activations");
}

static sizes
read_sizes(const builder *b)
{
  const value *x = &b->in[X], *r = &b->in[R];
  const char *direction = text_attribute(b, "direction", "forward"), *named = text_attribute(b, "activations", "");
  bool both = strcmp(direction, "bidirectional") == 0;
  const char *known = both ? "Sigmoid Tanh Tanh Sigmoid Tanh Tanh" : "Sigmoid Tanh Tanh";
  need(both || strcmp(direction, "forward") == 0 || strcmp(direction, "reverse") == 0, "an unknown direction");
  need(*named == '\0' || strcmp(named, known) == 0, "other activations");
  need(has_input(b, X) && x->constant == NULL && !is_batch(b, x) && x->rank == 3 && x->dims[1] == 1
           && x->dims[0] <= MOST_TIMES,
       "its input is no activation of times, one sample and features, or it has the samples on an axis");
  need(has_input(b, R) && r->rank == 3 && r->dims[1] > 0 && r->dims[1] <= INT16_MAX, "R has not three axes");
  sizes s = {x->dims[0], x->dims[2], r->dims[1], 4 * r->dims[1], 1 + both};
  need(whole_attribute(b, "hidden_size", (long)s.hidden) == (long)s.hidden, "hidden_size is another");
  need_matrix(b, &s, W, s.inputs);
  need_matrix(b, &s, R, s.hidden);
  need_others(b, &s);
  return s;
}

/* ---- Products */

static const rational *
entry_for(const sizes *s, const value *v, size_t direction, size_t column)
{
  return &v->constant->value[v->map[v->rank == 1 ? direction : direction * s->columns + column]];
}

static matrix
matrix_of(builder *b, const sizes *s, size_t i, size_t direction)
{
  size_t rows = b->in[i].dims[1];
  const value *w = &b->in[i], *scale = &b->in[i == W ? W_SCALE : R_SCALE],
              *origin = &b->in[i == W ? W_ORIGIN : R_ORIGIN];
  matrix m = {made_numbers(b, 2, (size_t[]){rows, s->columns}), made_numbers(b, 1, &s->columns)};
  for (size_t e = 0; e < m.numbers.count; e++) {
    const rational *q = &w->constant->value[w->map[direction * m.numbers.count + e]];
    mpq_sub(&m.numbers.constant->value[e], q, entry_for(s, origin, direction, e % s->columns));
  }
  for (size_t e = 0; e < s->columns; e++)
    mpq_set(&m.scales.constant->value[e], entry_for(s, scale, direction, e));
  scale->constant->number = true;
  return m;
}

static value
product_with(builder *b, value x, const matrix *m)
{
  value scale, y = with(b, "MatMul", dynamic_difference(b, x, &scale), m->numbers);
  return with(b, "Mul", with(b, "Mul", y, scale), m->scales);
}

/* ---- Times */

static value
cut(builder *b, value x, size_t axis, size_t first, size_t n)
{
  long begin = (long)first, end = (long)(first + n), along = (long)axis;
  value list[4] = {x, list_of(b, 1, &begin), list_of(b, 1, &end), list_of(b, 1, &along)};
  return inner_node(b, "Slice", 4, list, NULL);
}

static value
shaped(builder *b, value x, size_t n, const long *dims)
{
  return with(b, "Reshape", x, list_of(b, n, dims));
}

static value
gate(builder *b, const sizes *s, const char *by, value sums, size_t k)
{
  return of(b, by, cut(b, sums, 1, k * s->hidden, s->hidden));
}

/* The sums of all times for the input: W x and both halves of the bias. */
static value
sums_of_input(builder *b, const sizes *s, size_t direction)
{
  matrix m = matrix_of(b, s, W, direction);
  value y = product_with(b, shaped(b, b->in[X], 2, (long[]){(long)s->times, (long)s->inputs}), &m);
  for (size_t half = 0; half < 2 && has_input(b, B); half++) {
    value bias = cut(b, cut(b, b->in[B], 0, direction, 1), 1, half * s->columns, s->columns);
    y = with(b, "Add", y, shaped(b, bias, 1, (long[]){-1}));
  }
  return y;
}

/* Input i's state of the direction; false: it is zeros. */
static bool
state_of(builder *b, const sizes *s, size_t i, size_t direction, value *state)
{
  if (!has_input(b, i))
    return false;
  if (are_zeros(&b->in[i])) {
    b->in[i].constant->number = true;
    return false;
  }
  value all = b->in[i];
  if (i == H && all.constant != NULL) { /* it is quantized, as an activation is */
    all = lifted_constant(b, &b->in[i]);
    all.name = "";
  }
  *state = shaped(b, cut(b, all, 0, direction, 1), 2, (long[]){1, (long)s->hidden});
  return true;
}

/* The state h at each time, in the order of the times; at the end both. */
static void
run_times(builder *b, const sizes *s, size_t direction, bool back, value *at, value *h, value *c)
{
  value sums = sums_of_input(b, s, direction);
  matrix r = matrix_of(b, s, R, direction);
  bool has_h = state_of(b, s, H, direction, h), has_c = state_of(b, s, C, direction, c);
  for (size_t k = 0; k < s->times; k++) {
    size_t time = back ? s->times - 1 - k : k;
    value now = cut(b, sums, 0, time, 1), kept;
    if (has_h)
      now = with(b, "Add", now, product_with(b, *h, &r));
    value in = gate(b, s, "Sigmoid", now, 0), out = gate(b, s, "Sigmoid", now, 1);
    if (has_c)
      kept = with(b, "Mul", gate(b, s, "Sigmoid", now, 2), *c);
    *c = with(b, "Mul", in, gate(b, s, "Tanh", now, 3));
    if (has_c)
      *c = with(b, "Add", kept, *c);
    *h = with(b, "Mul", out, of(b, "Tanh", *c));
    has_h = has_c = true;
    at[time] = *h;
  }
}

void
lower_quantized_lstm(builder *b)
{
  sizes s = read_sizes(b);
  bool reversed = strcmp(text_attribute(b, "direction", "forward"), "reverse") == 0;
  long shape[4] = {(long)s.times, 1, 1, (long)s.hidden};
  value of_direction[3][2], *at = allocate(s.times, sizeof *at), h, c;
  for (size_t d = 0; d < s.directions; d++) {
    run_times(b, &s, d, reversed || d == 1, at, &h, &c);
    value all = inner_node(b, "Concat", s.times, at, inner_whole("axis", 0));
    of_direction[0][d] = shaped(b, all, 4, shape);
    of_direction[1][d] = shaped(b, h, 3, shape + 1);
    of_direction[2][d] = shaped(b, c, 3, shape + 1);
  }
  value first = {0};
  for (size_t k = 0; k < 3; k++) {
    if (k >= b->node->n_out || *b->node->out[k] == '\0')
      continue;
    value y = of_direction[k][0];
    if (s.directions == 2)
      y = inner_joined(b, &y, &of_direction[k][1], k == 0);
    if (k == 0)
      first = y;
    else
      give_output(b, k, y);
  }
  b->out = first;
}
