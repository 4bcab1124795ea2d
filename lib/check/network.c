/* From the model's nodes to steps (docs/operators.md).
 *
 * Shapes are ONNX's for a batch of one: an activation of a batched graph has 1 as its first axis,
 * where ONNX has the samples of a run (net->together). Every operator checks that this axis stays first and
 * is not mixed, for that number of samples, so that a batch is so many runs of a batch of one. */
#include "convolution.h"

#include <float.h>
#include <string.h>

size_t
product(const size_t *dims, size_t n)
{
  size_t p = 1;
  for (size_t i = 0; i < n; i++)
    expect(!__builtin_mul_overflow(p, dims[i], &p), "a shape of too many entries");
  return p;
}

void
count_entries(const builder *b, size_t n, size_t each)
{
  size_t *all = &b->net->entries;
  bool huge = __builtin_mul_overflow(n, each, &n) || __builtin_add_overflow(*all, n, all);
  within(LIMIT_ENTRIES, huge ? NONE : *all, "node %zu: with it there are more entries", b->place);
}

size_t *
index_map(const builder *b, size_t rank, const size_t *dims, const size_t *stride, const size_t *base)
{
  size_t n = product(dims, rank);
  count_entries(b, n, 1);
  size_t *map = allocate(n, sizeof *map);
  for (size_t f = 0; f < n; f++) {
    size_t at = 0, rest = f;
    for (size_t i = rank; i-- > 0; rest /= dims[i])
      at += rest % dims[i] * stride[i];
    map[f] = base != NULL ? base[at] : at;
  }
  return map;
}

bool
is_batch(const builder *b, const value *v)
{
  return b->net->batched && v->constant == NULL;
}

/* The node's output: the entries of a constant or step, map NULL: all of them, in some shape. */
static void
put(builder *b, tensor *t, size_t s, size_t *map, size_t rank, const size_t *dims)
{
  b->out = (value){NULL, t, s, map, rank, {0}, product(dims, rank)};
  memcpy(b->out.dims, dims, rank * sizeof *dims);
  if (map == NULL)
    b->out.map = index_map(b, 1, &b->out.count, &(size_t){1}, NULL);
  expect(!is_batch(b, &b->out) || (rank > 0 && dims[0] == 1),
         "the batch axis of the output of node %zu does not stay first", b->place);
}

/* Input 0's entries in another shape. */
static void
put_shaped(builder *b, size_t rank, const size_t *dims)
{
  need(product(dims, rank) == b->in[0].count, "the shapes hold different numbers of entries");
  put(b, b->in[0].constant, b->in[0].step, b->in[0].map, rank, dims);
}

static const value *
find(const builder *b, const char *name)
{
  size_t i = 0;
  while (i < b->n_values && strcmp(b->values[i].name, name) != 0)
    i++;
  return i < b->n_values ? &b->values[i] : NULL;
}

static void
define(builder *b, const char *name)
{
  expect(find(b, name) == NULL, "two values are named '%s'", name);
  b->values = grow(b->values, b->n_values, sizeof *b->values);
  b->out.name = name;
  b->values[b->n_values++] = b->out;
}

step *
add_step(builder *b, kind k, size_t width, size_t rank, const size_t *dims)
{
  network *net = b->net;
  count_entries(b, product(dims, rank), net->batch);
  net->steps = grow(net->steps, net->n_steps, sizeof *net->steps);
  put(b, NULL, net->n_steps, NULL, rank, dims);
  expect(b->out.count > 0, "an activation without entries");
  step *s = &net->steps[net->n_steps++];
  *s = (step){.kind = k, .node = b->node, .place = b->place, .n = b->out.count};
  add_rows(b, s, width, s->n, s->n);
  for (size_t i = 0; i < 2; i++)
    s->at[i] = rational_zero();
  for (size_t i = 0; i < 9; i++)
    s->piece[i / 3][i % 3] = rational_zero();
  return s;
}

factor *
factor_of(const builder *b, factor *t, const value *v, size_t i)
{
  need(v->constant->real, "an operand must be a constant of floats");
  need(t->w == NULL, "at least one operand must be an activation");
  v->constant->weight = v->constant->initializer;
  t->w = v->constant;
  t->at = v->map[i];
  return t;
}

factor *
operand(const builder *b, step *s, size_t t, const value *v, size_t i)
{
  if (v->constant != NULL)
    return factor_of(b, &s->factors[t], v, i);
  need(s->sources[t].step == NONE, "one operand must be a constant");
  s->sources[t] = (source){v->step, v->map[i]};
  return &s->factors[t];
}

step *
add_function(builder *b, kind k, const value *x)
{
  need(x->constant == NULL, "its input must be an activation");
  step *s = add_step(b, k, 1, x->rank, x->dims);
  for (size_t f = 0; f < s->n; f++)
    operand(b, s, f, x, f);
  return s;
}

const tensor *
find_attribute(const builder *b, const char *name)
{
  const tensor *t = NULL;
  for (size_t i = b->node->n_attributes; i-- > 0;)
    if (strcmp(b->node->attributes[i].name, name) == 0)
      t = &b->node->attributes[i];
  need(t == NULL || t->value != NULL, "an attribute is not of the right type");
  return t;
}

long
whole_entry(const builder *b, const tensor *t, size_t i)
{
  need(i < t->count && !t->real && mpz_fits_slong_p(mpq_numref(&t->value[i])), "an integer is missing or too large");
  return mpz_get_si(mpq_numref(&t->value[i]));
}

long
whole_attribute(const builder *b, const char *name, long absent)
{
  const tensor *t = find_attribute(b, name);
  return t != NULL ? whole_entry(b, t, 0) : absent;
}

bool
real_attribute(const builder *b, const char *name, rational *q, float absent)
{
  const tensor *t = find_attribute(b, name);
  need(t == NULL || (t->real && t->count == 1), "an attribute is not of the right type");
  mpq_set_d(q, absent);
  if (t != NULL)
    mpq_set(q, t->value);
  else if (mpz_cmp_ui(mpq_denref(q), 2) > 0)
    b->net->read[DEFAULTS] = true;
  return t != NULL;
}

size_t
axis_of(const builder *b, long axis, size_t rank)
{
  axis += axis < 0 ? (long)rank : 0;
  need(axis >= 0 && (size_t)axis < rank, "an axis is out of range");
  return (size_t)axis;
}

size_t
whole_list(const builder *b, size_t i, const char *before, long *list)
{
  const tensor *t = b->in[i].name != NULL ? b->in[i].constant : find_attribute(b, before);
  size_t n = b->in[i].name != NULL ? b->in[i].count : t != NULL ? t->count : 0;
  need(t != NULL && !t->real && n <= MAX_RANK, "a constant list of integers is missing or too long");
  for (size_t j = 0; j < n; j++)
    list[j] = whole_entry(b, t, b->in[i].name != NULL ? b->in[i].map[j] : j);
  return n;
}

/* Identity, Dropout. */
static void
lower_identity(builder *b)
{
  long training[MAX_RANK] = {0};
  size_t n = b->in[2].name != NULL ? whole_list(b, 2, "", training) : 1;
  need(n == 1 && training[0] == 0, "Dropout in training mode");
  for (size_t i = 1; i < 3; i++)
    need(b->in[i].name == NULL || (b->in[i].constant != NULL && b->in[i].rank == 0),
         "a ratio or mode that is no constant scalar");
  put_shaped(b, b->in[0].rank, b->in[0].dims);
}

static void
lower_flatten(builder *b)
{
  const value *x = &b->in[0];
  long given = whole_attribute(b, "axis", 1);
  size_t axis = given == (long)x->rank ? x->rank : axis_of(b, given, x->rank);
  need(!is_batch(b, x) || axis == 1, "the axis must be 1");
  put_shaped(b, 2, (size_t[]){product(x->dims, axis), product(x->dims + axis, x->rank - axis)});
}

/* The shape that ONNX makes of the axis of all samples in a run must have that axis, too. */
static void
lower_reshape(builder *b)
{
  const value *x = &b->in[0];
  bool batch = is_batch(b, x);
  size_t rows = batch ? b->net->together : 1, dims[MAX_RANK], open = NONE;
  long shape[MAX_RANK];
  size_t n = whole_list(b, 1, "", shape);
  need(whole_attribute(b, "allowzero", 0) == 0, "allowzero is not supported");
  for (size_t i = 0; i < n; i++) {
    long d = shape[i];
    need(d > 0 || (d == -1 && open == NONE) || (d == 0 && i < x->rank), "not a shape");
    open = d == -1 ? i : open;
    dims[i] = d > 0 ? (size_t)d : d == -1 ? 1 : i == 0 ? rows * x->dims[i] : x->dims[i];
  }
  if (open != NONE) {
    size_t rest = product(dims, n);
    need(rest > 0, "an axis of what is left beside an axis of no entries");
    dims[open] = rows * x->count / rest;
  }
  if (batch) {
    need(n > 0 && dims[0] == rows, "the batch axis does not stay first, or samples are mixed");
    dims[0] = 1;
  }
  put_shaped(b, n, dims);
}

static void
lower_transpose(builder *b)
{
  const value *x = &b->in[0];
  const tensor *perm = find_attribute(b, "perm");
  size_t dims[MAX_RANK], stride[MAX_RANK];
  bool seen[MAX_RANK] = {false};
  need(perm == NULL || perm->count == x->rank, "perm does not fit");
  for (size_t i = 0; i < x->rank; i++) {
    long p = perm != NULL ? whole_entry(b, perm, i) : (long)(x->rank - 1 - i);
    need(p >= 0 && (size_t)p < x->rank && !seen[p] && (!is_batch(b, x) || i > 0 || p == 0),
         "perm is no permutation, or moves the batch axis");
    seen[p] = true;
    dims[i] = x->dims[p];
    stride[i] = product(x->dims + p + 1, x->rank - (size_t)p - 1);
  }
  put(b, x->constant, x->step, index_map(b, x->rank, dims, stride, x->map), x->rank, dims);
}

/* Squeeze, Unsqueeze. */
static void
lower_squeeze(builder *b)
{
  const value *x = &b->in[0];
  bool insert = b->op[0] == 'U', marked[MAX_RANK] = {false};
  long axes[MAX_RANK];
  size_t dims[MAX_RANK], n = 0, from = 0, count = whole_list(b, 1, "axes", axes);
  size_t rank = x->rank + (insert ? count : 0);
  need(rank <= MAX_RANK, "more axes than supported");
  for (size_t i = 0; i < count; i++) {
    size_t axis = axis_of(b, axes[i], rank);
    need(!marked[axis] && (insert || x->dims[axis] == 1), "an axis twice, or not of size 1");
    marked[axis] = true;
  }
  need(!is_batch(b, x) || !marked[0], "an axis is the batch's");
  for (size_t i = 0; i < rank; i++)
    if (insert || !marked[i])
      dims[n++] = insert && marked[i] ? 1 : x->dims[insert ? from++ : i];
  put_shaped(b, n, dims);
}

/* The shape that both broadcast to, as NumPy's. */
static size_t
broadcast(const builder *b, const value *v, const value *w, size_t *dims)
{
  size_t rank = v->rank > w->rank ? v->rank : w->rank;
  need((!is_batch(b, v) || v->rank == rank) && (!is_batch(b, w) || w->rank == rank),
       "the batch axis does not stay first");
  for (size_t i = 0; i < rank; i++) {
    size_t p = i + v->rank < rank ? 1 : v->dims[i + v->rank - rank];
    size_t q = i + w->rank < rank ? 1 : w->dims[i + w->rank - rank];
    need(p == q || p == 1 || q == 1, "the shapes do not fit");
    dims[i] = p == 1 ? q : p;
  }
  return rank;
}

/* v spread over such a shape. */
static value
spread(const builder *b, const value *v, size_t rank, const size_t *dims)
{
  size_t stride[MAX_RANK] = {0}, next = 1;
  value wide = *v;
  for (size_t i = v->rank; i-- > 0; next *= v->dims[i])
    stride[i + rank - v->rank] = v->dims[i] == 1 ? 0 : next;
  wide.map = index_map(b, rank, dims, stride, v->map);
  return wide;
}

value
spread_over(const builder *b, size_t i, const value *over)
{
  size_t dims[MAX_RANK], rank = broadcast(b, over, &b->in[i], dims);
  need(rank == over->rank && memcmp(dims, over->dims, rank * sizeof *dims) == 0 && b->in[i].constant != NULL,
       "the shapes do not fit, or it is not a constant");
  return spread(b, &b->in[i], rank, dims);
}

/* Gemm; MatMul, x W or W x: entry (o, i) of the matrix is entry o * stride[0] + i * stride[1] of w;
 * o comes in the place of an axis of x, or of nothing when w has one axis. */
static void
lower_product(builder *b)
{
  bool gemm = b->op[0] == 'G', bias = b->in[2].name != NULL, left = b->in[1].constant == NULL;
  bool last = left || whole_attribute(b, "transB", 0) != 0; /* i runs along w's last axis */
  const value *x = &b->in[left], *w = &b->in[!left];
  rational *coef = rationals(2);
  real_attribute(b, "alpha", &coef[0], 1);
  real_attribute(b, "beta", &coef[1], 1);
  need(x->constant == NULL && w->constant != NULL && x->rank > 0 && w->rank >= 1 && w->rank <= 2
           && (!gemm || (!left && x->rank == 2 && w->rank == 2 && !whole_attribute(b, "transA", 0))),
       "not an activation and a constant with the right number of axes; or transA");
  size_t axis = !left || x->rank < 2 ? x->rank - 1 : x->rank - 2, inner = x->dims[axis];
  size_t outer = w->rank == 1 ? 1 : w->dims[!last], dims[MAX_RANK], n = 0;
  size_t stride[2] = {last ? inner : 1, last ? 1 : outer};
  size_t repeat = product(x->dims + axis + 1, x->rank - axis - 1);
  need(outer > 0 && w->dims[w->rank == 2 && last] == inner && (!is_batch(b, x) || axis > 0),
       "the shapes do not fit, or the batch axis would be mixed");
  for (size_t i = 0; i < x->rank; i++)
    if (i != axis || w->rank == 2)
      dims[n++] = i == axis ? outer : x->dims[i];
  step *s = add_step(b, LINEAR, inner + bias, n, dims);
  value c = bias ? spread_over(b, 2, &b->out) : *w;
  for (size_t f = 0; f < s->n; f++) {
    size_t o = f / repeat % outer, t = f * s->width;
    for (size_t i = 0; i < inner; i++, t++) {
      operand(b, s, t, x, (f / repeat / outer * inner + i) * repeat + f % repeat);
      operand(b, s, t, w, o * stride[0] + i * stride[1])->coef = &coef[0];
    }
    if (bias)
      operand(b, s, t, &c, f)->coef = &coef[1];
  }
}

/* Add, Sub, Mul, Div. */
static void
lower_arithmetic(builder *b)
{
  size_t dims[MAX_RANK], rank = broadcast(b, &b->in[0], &b->in[1], dims);
  value v = spread(b, &b->in[0], rank, dims), w = spread(b, &b->in[1], rank, dims);
  bool sum = b->op[0] == 'A' || b->op[0] == 'S';
  need(v.constant == NULL || (w.constant == NULL && b->op[0] != 'D'),
       "an operand must be an activation, and a divisor a constant");
  step *s = add_step(b, LINEAR, sum ? 2 : 1, rank, dims);
  s->divide = b->op[0] == 'D';
  for (size_t f = 0; f < s->n; f++) {
    operand(b, s, f * s->width, &v, f);
    factor *t = operand(b, s, f * s->width + sum, &w, f);
    if (b->op[0] == 'S')
      t->coef = &minus_one;
    need(!s->divide || mpq_sgn(&t->w->value[t->at]) != 0, "division by zero");
  }
}

/* Bound i of Clip into q; false when there is none. */
static bool
clip_bound(builder *b, size_t i, rational *q)
{
  const value *v = &b->in[1 + i];
  if (b->m->opset < 11) {
    RATIONAL(most); /* the defaults, which are the largest floats, are no bounds, given or not */
    bool given = real_attribute(b, i == 0 ? "min" : "max", q, 0);
    mpq_set_d(&most, (double)FLT_MAX);
    bool below = mpq_cmp(q, &most) < 0;
    mpq_neg(&most, &most);
    return given && below && mpq_cmp(q, &most) > 0;
  }
  if (v->name == NULL)
    return false;
  need(v->constant != NULL && v->constant->real && v->count == 1, "a bound must be a constant number");
  v->constant->number = true;
  mpq_set(q, &v->constant->value[v->map[0]]);
  return true;
}

static void
lower_clip(builder *b)
{
  step *s = add_function(b, PIECEWISE, &b->in[0]);
  INTERVAL(q);
  bool lo = clip_bound(b, 0, &q.lo), hi = clip_bound(b, 1, &q.hi);
  b->net->read[UNBOUNDED] = b->net->read[UNBOUNDED] || !lo || !hi;
  need(!lo || !hi || mpq_cmp(&q.lo, &q.hi) < 0, "the lower bound must be less than the upper");
  s->n_kinks = lo + hi;
  s->number[0] = !lo;
  s->number[1] = 1;
  mpq_set(&s->at[0], lo ? &q.lo : &q.hi);
  mpq_set(&s->at[1], &q.hi);
  mpq_set(&s->piece[0][0], &q.lo);
  mpq_set(&s->piece[lo + 1][0], &q.hi);
  mpq_set(&s->piece[lo][1], &plus_one);
}

/* alpha x + beta between 0 and 1; the float32 nearest to 1/6 is read as 1/6. HardSwish is x times
 * that with 1/6 and 1/2. */
static void
lower_hard(builder *b)
{
  step *s = add_function(b, PIECEWISE, &b->in[0]);
  rational *alpha = &s->piece[1][1], *beta = &s->piece[1][0];
  RATIONAL(q);
  real_attribute(b, "alpha", alpha, b->op[5] == 'w' ? 0 : 0.2f);
  real_attribute(b, "beta", beta, 0.5f);
  mpq_set_d(&q, 1.0f / 6.0f);
  bool swish = b->op[5] == 'w', sixth = !swish && mpq_equal(alpha, &q);
  b->net->read[SIXTH] = b->net->read[SIXTH] || sixth;
  if (sixth || swish)
    mpq_set_ui(alpha, 1, 6);
  need(mpq_sgn(alpha) > 0, "alpha must be positive");
  mpq_neg(&q, beta);
  mpq_div(&s->at[0], &q, alpha);
  mpq_sub(&q, &plus_one, beta);
  mpq_div(&s->at[1], &q, alpha);
  mpq_set(&s->piece[2][0], &plus_one);
  s->n_kinks = 2;
  s->number[1] = 1;
  for (size_t i = 0; i < 6 && swish; i++)
    mpq_swap(&s->piece[2 - i / 2][2 - i % 2], &s->piece[2 - i / 2][1 - i % 2]);
}

/* Abs, LeakyRelu, PRelu, Relu. */
static void
lower_relu(builder *b)
{
  const value *x = &b->in[0];
  step *s = add_function(b, PIECEWISE, x);
  s->n_kinks = 1;
  mpq_set(&s->piece[1][1], &plus_one);
  if (b->op[0] == 'A')
    mpq_set(&s->piece[0][1], &minus_one);
  if (b->op[0] == 'L')
    real_attribute(b, "alpha", &s->piece[0][1], 0.01f);
  if (b->op[0] != 'P')
    return;
  value slope = spread_over(b, 1, x);
  for (size_t f = 0; f < s->n; f++)
    operand(b, s, f, &slope, f);
}

static void
lower_negation(builder *b)
{
  step *s = add_function(b, LINEAR, &b->in[0]);
  for (size_t f = 0; f < s->n; f++)
    s->factors[f].coef = &minus_one;
}

/* Softmax, LogSoftmax. */
static void
lower_softmax(builder *b)
{
  const value *x = &b->in[0];
  step *s = add_function(b, SOFTMAX, x);
  bool flat = b->m->opset < 13;
  size_t axis = axis_of(b, whole_attribute(b, "axis", flat ? 1 : -1), x->rank);
  need(!is_batch(b, x) || axis > 0, "the batch axis would be mixed");
  s->stride = flat ? 1 : product(x->dims + axis + 1, x->rank - axis - 1);
  s->length = flat ? product(x->dims + axis, x->rank - axis) : x->dims[axis];
  s->log = b->op[0] == 'L';
}

/* Sigmoid, the first of softmax(x, 0); tanh x, 2 sigmoid(2 x) - 1. */
static void
lower_sigmoid(builder *b)
{
  const value *x = &b->in[0];
  bool hyperbolic = b->op[0] == 'T';
  const rational *coef = hyperbolic ? &two : &plus_one;
  step *s = add_step(b, LINEAR, 1, 3, (size_t[]){1, x->count, 2});
  need(x->constant == NULL, "its input must be an activation");
  for (size_t f = 0; f < s->n; f++)
    operand(b, s, f, x, f / 2)->coef = f % 2 == 0 ? coef : &zero;
  value pairs = b->out;
  s = add_function(b, SOFTMAX, &pairs);
  s->length = 2;
  s->stride = 1;
  value shares = b->out;
  s = add_step(b, LINEAR, 1 + hyperbolic, x->rank, x->dims);
  for (size_t f = 0; f < s->n; f++) {
    operand(b, s, f * s->width, &shares, 2 * f)->coef = coef;
    if (hyperbolic)
      s->factors[f * 2 + 1].coef = &minus_one;
  }
}

static void
lower_constant(builder *b)
{
  tensor *t = b->node->attributes;
  need(b->node->n_attributes == 1 && t->value != NULL, "not one tensor");
  put(b, t, 0, NULL, t->rank, t->dims);
}

/* A form of an operator: what a node of it may have from operator set `since` on, until the next form's. An attribute is
 * NAME:T, T its type: an integer i, integers I, a float f, floats F, a string s, a tensor t. */
static const struct {
  const char *name;
  void (*lower)(builder *b);
  uint64_t since;
  size_t least, most, outputs, kinks; /* inputs; outputs at most; kinks */
  const char *attributes;
} operators[] = {
    /* sorted */
    {"Abs", lower_relu, 7, 1, 1, 1, 1, ""},
    {"Add", lower_arithmetic, 7, 2, 2, 1, 0, ""},
    {"AveragePool", lower_pool, 7, 1, 1, 1, 0, "auto_pad:s count_include_pad:i kernel_shape:I pads:I strides:I"},
    {"AveragePool", lower_pool, 10, 1, 1, 1, 0,
     "auto_pad:s ceil_mode:i count_include_pad:i kernel_shape:I pads:I strides:I"},
    {"AveragePool", lower_pool, 19, 1, 1, 1, 0,
     "auto_pad:s ceil_mode:i count_include_pad:i dilations:I kernel_shape:I pads:I strides:I"},
    {"BatchNormalization", lower_batch, 7, 5, 5, 5, 0, "epsilon:f momentum:f spatial:i"},
    {"BatchNormalization", lower_batch, 9, 5, 5, 5, 0, "epsilon:f momentum:f"},
    {"BatchNormalization", lower_batch, 14, 5, 5, 3, 0, "epsilon:f momentum:f training_mode:i"},
    {"Clip", lower_clip, 7, 1, 1, 1, 2, "max:f min:f"},
    {"Clip", lower_clip, 11, 1, 3, 1, 2, ""},
    {"Concat", lower_concat, 7, 1, 1024, 1, 0, "axis:i"},
    {"Constant", lower_constant, 7, 0, 0, 1, 0, "value:t"},
    {"Constant", lower_constant, 12, 0, 0, 1, 0, "value:t value_float:f value_floats:F value_int:i value_ints:I"},
    {"Conv", lower_convolution, 7, 2, 3, 1, 0, "auto_pad:s dilations:I group:i kernel_shape:I pads:I strides:I"},
    {"Div", lower_arithmetic, 7, 2, 2, 1, 0, ""},
    {"Dropout", lower_identity, 7, 1, 1, 1, 0, "ratio:f"},
    {"Dropout", lower_identity, 12, 1, 3, 1, 0, "seed:i"},
    {"Flatten", lower_flatten, 7, 1, 1, 1, 0, "axis:i"},
    {"Gemm", lower_product, 7, 3, 3, 1, 0, "alpha:f beta:f transA:i transB:i"},
    {"Gemm", lower_product, 11, 2, 3, 1, 0, "alpha:f beta:f transA:i transB:i"},
    {"GlobalAveragePool", lower_mean, 7, 1, 1, 1, 0, ""},
    {"GlobalMaxPool", lower_global_maximum, 7, 1, 1, 1, 0, ""},
    {"GroupNormalization", lower_groups, 18, 3, 3, 1, 0, "epsilon:f num_groups:i"},
    {"GroupNormalization", lower_groups, 21, 3, 3, 1, 0, "epsilon:f num_groups:i stash_type:i"},
    {"HardSigmoid", lower_hard, 7, 1, 1, 1, 2, "alpha:f beta:f"},
    {"HardSwish", lower_hard, 14, 1, 1, 1, 2, ""},
    {"Identity", lower_identity, 7, 1, 1, 1, 0, ""},
    {"InstanceNormalization", lower_groups, 7, 3, 3, 1, 0, "epsilon:f"},
    {"LayerNormalization", lower_layer, 17, 2, 3, 3, 0, "axis:i epsilon:f stash_type:i"},
    {"LeakyRelu", lower_relu, 7, 1, 1, 1, 1, "alpha:f"},
    {"LogSoftmax", lower_softmax, 7, 1, 1, 1, 0, "axis:i"},
    {"MatMul", lower_product, 7, 2, 2, 1, 0, ""},
    {"MaxPool", lower_pool, 7, 1, 1, 1, 0, "auto_pad:s kernel_shape:I pads:I strides:I"},
    {"MaxPool", lower_pool, 8, 1, 1, 1, 0, "auto_pad:s kernel_shape:I pads:I storage_order:i strides:I"},
    {"MaxPool", lower_pool, 10, 1, 1, 1, 0,
     "auto_pad:s ceil_mode:i dilations:I kernel_shape:I pads:I storage_order:i strides:I"},
    {"Mul", lower_arithmetic, 7, 2, 2, 1, 0, ""},
    {"Neg", lower_negation, 7, 1, 1, 1, 0, ""},
    {"PRelu", lower_relu, 7, 2, 2, 1, 1, ""},
    {"Pad", lower_pad, 7, 1, 1, 1, 0, "mode:s pads:I value:f"},
    {"Pad", lower_pad, 11, 2, 3, 1, 0, "mode:s"},
    {"Pad", lower_pad, 18, 2, 4, 1, 0, "mode:s"},
    {"ReduceMean", lower_mean, 7, 1, 1, 1, 0, "axes:I keepdims:i"},
    {"ReduceMean", lower_mean, 18, 1, 2, 1, 0, "keepdims:i noop_with_empty_axes:i"},
    {"Relu", lower_relu, 7, 1, 1, 1, 1, ""},
    {"Reshape", lower_reshape, 7, 2, 2, 1, 0, ""},
    {"Reshape", lower_reshape, 14, 2, 2, 1, 0, "allowzero:i"},
    {"Sigmoid", lower_sigmoid, 7, 1, 1, 1, 0, ""},
    {"Softmax", lower_softmax, 7, 1, 1, 1, 0, "axis:i"},
    {"Squeeze", lower_squeeze, 7, 1, 1, 1, 0, "axes:I"},
    {"Squeeze", lower_squeeze, 13, 1, 2, 1, 0, ""},
    {"Sub", lower_arithmetic, 7, 2, 2, 1, 0, ""},
    {"Tanh", lower_sigmoid, 7, 1, 1, 1, 0, ""},
    {"Transpose", lower_transpose, 7, 1, 1, 1, 0, "perm:I"},
    {"Unsqueeze", lower_squeeze, 7, 1, 1, 1, 0, "axes:I"},
    {"Unsqueeze", lower_squeeze, 13, 2, 2, 1, 0, ""},
};
#define N_FORMS (sizeof operators / sizeof *operators)

const char *
network_operator(size_t i, size_t *kinks)
{
  for (size_t f = 0; f < N_FORMS; f++) {
    bool next = f > 0 && strcmp(operators[f].name, operators[f - 1].name) == 0;
    if (!next && i-- == 0) {
      *kinks = operators[f].kinks;
      return operators[f].name;
    }
  }
  return NULL;
}

/* The node's form: of its operator's the last that is not newer than the model. */
static size_t
find_form(const builder *b)
{
  size_t found = NONE;
  for (size_t f = 0; f < N_FORMS; f++)
    if (strcmp(operators[f].name, b->node->op) == 0 && operators[f].since <= b->m->opset)
      found = f;
  need(found != NONE, "the operator is not supported, or newer than the model's operator set");
  return found;
}

static void
check_attributes(const builder *b, const char *known)
{
  for (size_t i = 0; i < b->node->n_attributes; i++) {
    const tensor *t = &b->node->attributes[i];
    char type = t->text != NULL ? 's' : t->of_tensor ? 't' : t->real ? 'f' : 'i';
    size_t length = strlen(t->name);
    const char *at = known;
    type = (char)(t->text == NULL && !t->of_tensor && t->rank > 0 ? type - 'a' + 'A' : type);
    while (at != NULL && (strncmp(at, t->name, length) != 0 || at[length] != ':' || at[length + 1] != type)) {
      at = strchr(at, ' ');
      at = at != NULL ? at + 1 : NULL;
    }
    need(at != NULL && length > 0,
         "an attribute is not supported in the model's operator set, or not of the right type");
  }
}

static void
lower_node(builder *b)
{
  const node *n = b->node;
  b->op = n->op;
  size_t f = find_form(b);
  need(n->n_in >= operators[f].least && n->n_in <= operators[f].most && n->n_out > 0 && n->n_out <= operators[f].outputs
           && *n->out[0] != '\0',
       "an unsupported number of inputs or outputs");
  check_attributes(b, operators[f].attributes);
  b->in = allocate(n->n_in + 5, sizeof *b->in);
  for (size_t i = 0; i < n->n_in; i++) {
    const value *v = *n->in[i] != '\0' ? find(b, n->in[i]) : NULL;
    need(v != NULL || (*n->in[i] == '\0' && i >= operators[f].least), "an input is not computed before it");
    if (v != NULL)
      b->in[i] = *v;
  }
  operators[f].lower(b);
  define(b, n->out[0]);
}

/* The batch axis rule of docs/operators.md. */
static void
read_input(builder *b, const port *p, const tensor *x)
{
  size_t dims[MAX_RANK], from = x->rank == p->rank + 1;
  bool flat = x->rank == 2 && p->rank > 2, fits = from == 1 || x->rank == p->rank || flat;
  expect(p->shaped && x->rank > 0 && x->count > 0, "the input's shape is not declared, or the batch is empty");
  b->net->input = p;
  b->net->batch = b->net->apart = x->dims[0];
  b->net->batched = from == 0;
  b->net->together = from == 0 && p->rank > 0 && p->dims[0] != 1 ? x->dims[0] : 1;
  for (size_t i = 0; i < p->rank && fits; i++) {
    bool first = i == 0 && from == 0;
    dims[i] = first ? 1 : flat ? p->dims[i] : x->dims[i + from];
    fits = p->dims[i] == 0 || p->dims[i] == dims[i] || (first && p->dims[i] == x->dims[0]);
  }
  expect(fits && product(dims, p->rank) * x->dims[0] == x->count,
         "the batch does not have the shape that input '%s' declares", p->name);
  add_step(b, INPUT, 0, p->rank, dims);
  define(b, p->name);
}

/* Does the output have the shape that is declared, if one is? */
static void
check_output(const network *net, const port *p, const value *v)
{
  bool fits = !p->shaped || p->rank == v->rank;
  for (size_t i = 0; i < p->rank && fits; i++) {
    bool batch = i == 0 && net->batched && p->dims[0] == net->batch;
    fits = p->dims[i] == 0 || p->dims[i] == v->dims[i] || batch;
  }
  expect(fits, "output '%s' does not have the shape that is declared", p->name);
}

const char *const readings[N_READINGS] = {
    [SIXTH] = "HardSigmoid's alpha, stored as the float32 nearest to 1/6, is 1/6",
    [DEFAULTS] = "an attribute that is not in the file is the float32 nearest to ONNX's default",
    [UNBOUNDED] = "a Clip without a bound has none, not its type's largest number",
    [MINIBATCH] =
        "BatchNormalization in training mode takes mean and variance of all samples of a run, not the file's"};

void
network_build(network *net, const model *m, const tensor *x)
{
  builder b = {.net = net, .m = m};
  const port *input = NULL;
  within(LIMIT_NODES, m->n_nodes, "a network of %zu nodes", m->n_nodes);
  *net = (network){.tensors = m->tensors, .n_tensors = m->n_tensors};
  for (size_t i = 0; i < m->n_tensors; i++) {
    put(&b, m->tensors[i], 0, NULL, m->tensors[i]->rank, m->tensors[i]->dims);
    define(&b, m->tensors[i]->name);
  }
  for (size_t i = 0; i < m->n_inputs; i++) {
    if (find(&b, m->inputs[i].name) != NULL)
      continue; /* an initializer */
    expect(input == NULL, "the model has more than one input");
    input = &m->inputs[i];
  }
  expect(input != NULL && m->n_outputs == 1, "the model does not have one input and one output");
  read_input(&b, input, x);
  for (b.place = 0; b.place < m->n_nodes; b.place++) {
    b.node = &m->nodes[b.place];
    lower_node(&b);
  }
  const value *v = find(&b, m->outputs[0].name);
  expect(v != NULL && v->constant == NULL, "output '%s' is not computed from the input", m->outputs[0].name);
  check_output(net, &m->outputs[0], v);
  net->output = v->step;
  net->map = v->map;
  net->n_outputs = v->count;
  net->rank = v->rank;
  memcpy(net->dims, v->dims, sizeof net->dims);
  for (size_t i = 0; i < m->n_tensors; i++)
    expect(m->tensors[i]->weight + m->tensors[i]->number + m->tensors[i]->statistic < 2,
           "'%s' is used in two ways: as a weight, a number (a bound of Clip, the value of Pad), or a mean or variance",
           m->tensors[i]->name);
}
