/* From the model's nodes to steps (docs/operators.md).
 *
 * Shapes are ONNX's for a batch of one: an activation of a batched graph has 1 as its first axis,
 * and every operator checks that this axis stays first and is not mixed, so that a batch is so
 * many runs of a batch of one. At the end the operands' maps are spread over the samples. */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *name; /* NULL: omitted */
  operand at;
  size_t rank, dims[MAX_RANK], count;
} value;

typedef struct {
  network *net;
  const model *m;
  const node *node;
  const char *op;
  size_t place, n_values;
  value *values, in[4], out; /* of this node */
} builder;

#define need(condition, why) \
  expect(condition, "node %zu '%s' (%s): %s", b->place, b->node->name, b->op, why)

static size_t product(const size_t *dims, size_t n) {
  size_t p = 1;
  for (size_t i = 0; i < n; i++)
    expect(!__builtin_mul_overflow(p, dims[i], &p), "a shape of too many entries");
  return p;
}

/* map[f] = base[sum of index * stride], f running over the indices of dims; base NULL: itself. */
static size_t *index_map(size_t rank, const size_t *dims, const size_t *stride, const size_t *base) {
  size_t n = product(dims, rank), *map = allocate(n, sizeof *map);
  for (size_t f = 0; f < n; f++) {
    size_t at = 0, rest = f;
    for (size_t i = rank; i-- > 0; rest /= dims[i])
      at += rest % dims[i] * stride[i];
    map[f] = base != NULL ? base[at] : at;
  }
  return map;
}

static bool is_batch(const builder *b, const value *v) {
  return b->net->batched && v->at.constant == NULL;
}

/* The node's output: entries of a step or tensor in some shape. */
static void put(builder *b, operand at, size_t rank, const size_t *dims) {
  b->out = (value){NULL, at, rank, {0}, product(dims, rank)};
  memcpy(b->out.dims, dims, rank * sizeof *dims);
  if (at.map == NULL)
    b->out.at.map = index_map(1, &b->out.count, &(size_t){1}, NULL);
  expect(!is_batch(b, &b->out) || (rank > 0 && dims[0] == 1),
         "the batch axis of the output of node %zu does not stay first", b->place);
}

/* The same entries as input 0's, perhaps in another order. */
static void put_shaped(builder *b, operand at, size_t rank, const size_t *dims) {
  need(product(dims, rank) == b->in[0].count, "the shapes hold different numbers of entries");
  put(b, at, rank, dims);
}

static void define(builder *b, const char *name) {
  for (size_t i = 0; i < b->n_values; i++)
    expect(strcmp(b->values[i].name, name) != 0, "two values are named '%s'", name);
  b->values = grow(b->values, b->n_values, sizeof *b->values);
  b->out.name = name;
  b->values[b->n_values++] = b->out;
}

/* A new step, whose output is the node's if it is the last. */
static step *add_step(builder *b, kind k, operand x, size_t rank, const size_t *dims) {
  network *net = b->net;
  net->steps = grow(net->steps, net->n_steps, sizeof *net->steps);
  put(b, (operand){NULL, net->n_steps, NULL}, rank, dims);
  expect(b->out.count > 0, "an activation without entries");
  step *s = &net->steps[net->n_steps++];
  *s = (step){.kind = k, .node = b->node, .place = b->place, .n = b->out.count, .in = {x}};
  for (size_t i = 0; i < 2; i++) {
    s->coef[i] = rational_zero();
    s->at[i] = rational_zero();
  }
  for (size_t i = 0; i < 9; i++)
    s->piece[i / 3][i % 3] = rational_zero();
  return s;
}

static const tensor *find_attribute(const builder *b, const char *name) {
  for (size_t i = 0; i < b->node->n_attributes; i++)
    if (strcmp(b->node->attributes[i].name, name) == 0) {
      need(b->node->attributes[i].t != NULL, "an attribute is not of the right type");
      return b->node->attributes[i].t;
    }
  return NULL;
}

static long whole_entry(const builder *b, const tensor *t, size_t i) {
  need(i < t->count && !t->real && mpz_fits_slong_p(mpq_numref(&t->value[i])),
       "an integer is missing or too large");
  return mpz_get_si(mpq_numref(&t->value[i]));
}

static long whole_attribute(const builder *b, const char *name, long absent) {
  const tensor *t = find_attribute(b, name);
  return t != NULL ? whole_entry(b, t, 0) : absent;
}

/* Its default is the float32 nearest to `absent`. */
static void real_attribute(const builder *b, const char *name, rational *q, float absent) {
  const tensor *t = find_attribute(b, name);
  need(t == NULL || (t->real && t->count == 1), "an attribute is not of the right type");
  mpq_set_d(q, absent);
  if (t != NULL)
    mpq_set(q, t->value);
}

static size_t axis_of(const builder *b, long axis, size_t rank) {
  axis += axis < 0 ? (long)rank : 0;
  need(axis >= 0 && (size_t)axis < rank, "an axis is out of range");
  return (size_t)axis;
}

/* A constant's entries map[] as weights: a parameter's, if it is an initializer. */
static operand weight(const builder *b, const value *v, size_t *map) {
  need(v->at.constant != NULL && v->at.constant->real, "an operand must be a constant of floats");
  v->at.constant->weight = v->at.constant->initializer;
  return (operand){v->at.constant, 0, map};
}

/* The integers of input i, or of the attribute that held them in earlier versions. */
static const tensor *whole_input(const builder *b, size_t i, const char *before) {
  const tensor *t = b->in[i].name != NULL ? b->in[i].at.constant : find_attribute(b, before);
  need(t != NULL && !t->real, "a constant of integers is missing");
  return t;
}

static void lower_identity(builder *b) {
  need(b->in[2].name == NULL || whole_entry(b, whole_input(b, 2, ""), 0) == 0,
       "Dropout in training mode");
  put_shaped(b, b->in[0].at, b->in[0].rank, b->in[0].dims);
}

static void lower_flatten(builder *b) {
  const value *x = &b->in[0];
  long given = whole_attribute(b, "axis", 1);
  size_t axis = given == (long)x->rank ? x->rank : axis_of(b, given, x->rank);
  size_t dims[2] = {product(x->dims, axis), product(x->dims + axis, x->rank - axis)};
  need(!is_batch(b, x) || axis == 1, "the axis must be 1");
  put_shaped(b, x->at, 2, dims);
}

static void lower_reshape(builder *b) {
  const value *x = &b->in[0];
  const tensor *shape = whole_input(b, 1, "");
  size_t dims[MAX_RANK], open = NONE;
  need(shape->count <= MAX_RANK && whole_attribute(b, "allowzero", 0) == 0,
       "more axes than supported, or allowzero");
  for (size_t i = 0; i < shape->count; i++) {
    long d = whole_entry(b, shape, b->in[1].at.map[i]);
    need(d > 0 || (d == -1 && open == NONE) || (d == 0 && i < x->rank), "not a shape");
    open = d == -1 ? i : open;
    dims[i] = d == -1 ? 1 : d == 0 ? x->dims[i] : (size_t)d;
  }
  if (open != NONE)
    dims[open] = x->count / product(dims, shape->count);
  put_shaped(b, x->at, shape->count, dims);
}

static void lower_transpose(builder *b) {
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
  operand at = {x->at.constant, x->at.step, index_map(x->rank, dims, stride, x->at.map)};
  put_shaped(b, at, x->rank, dims);
}

/* Squeeze and Unsqueeze. */
static void lower_squeeze(builder *b) {
  const value *x = &b->in[0];
  const tensor *axes = whole_input(b, 1, "axes");
  bool insert = b->op[0] == 'U', marked[MAX_RANK] = {false};
  size_t dims[MAX_RANK], n = 0, from = 0, rank = x->rank + (insert ? axes->count : 0);
  need(rank <= MAX_RANK, "more axes than supported");
  for (size_t i = 0; i < axes->count; i++) {
    size_t axis = axis_of(b, whole_entry(b, axes, b->in[1].name ? b->in[1].at.map[i] : i), rank);
    need(!marked[axis] && (insert || x->dims[axis] == 1) && (!is_batch(b, x) || axis > 0),
         "an axis is named twice, not of size 1, or the batch's");
    marked[axis] = true;
  }
  for (size_t i = 0; i < rank; i++) {
    if (!marked[i] || insert)
      dims[n++] = marked[i] ? 1 : x->dims[insert ? from : i];
    from += !marked[i];
  }
  put_shaped(b, x->at, n, dims);
}

/* y = W x over one axis of x, in place of which `outer` comes (or nothing); entry (o, i) of W is
 * entry o * stride[0] + i * stride[1] of w. */
static void add_dense(builder *b, const value *x, size_t axis, const value *w, size_t outer,
                      const size_t stride[2], bool keep_axis) {
  size_t shape[2] = {outer, x->dims[axis]}, dims[MAX_RANK], n = 0;
  need(!is_batch(b, x) || axis > 0, "the batch axis would be mixed");
  for (size_t i = 0; i < x->rank; i++)
    if (i != axis || keep_axis)
      dims[n++] = i == axis ? outer : x->dims[i];
  step *s = add_step(b, DENSE, x->at, n, dims);
  s->in[1] = weight(b, w, index_map(2, shape, stride, w->at.map));
  s->outer = outer;
  s->inner = x->dims[axis];
  s->columns = product(x->dims + axis + 1, x->rank - axis - 1);
}

static void lower_matmul(builder *b) {
  bool right = b->in[1].at.constant != NULL; /* x W, else W x */
  const value *x = &b->in[!right], *w = &b->in[right];
  need(x->at.constant == NULL && w->rank >= 1 && w->rank <= 2 && x->rank > 0,
       "one operand must be an activation, the other a constant of one or two axes");
  size_t axis = right || x->rank < 2 ? x->rank - 1 : x->rank - 2;
  size_t outer = w->rank == 1 ? 1 : w->dims[right], inner = x->dims[axis];
  need(outer > 0 && inner * outer == w->count && w->dims[w->rank == 2 && !right] == inner,
       "the shapes do not fit");
  add_dense(b, x, axis, w, outer, (size_t[]){right ? 1 : inner, right ? outer : 1}, w->rank == 2);
}

/* NumPy's common shape. */
static size_t broadcast(const builder *b, const value *v, const value *w, size_t *dims) {
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

/* v's entries, spread over such a shape. */
static size_t *spread(const value *v, size_t rank, const size_t *dims) {
  size_t stride[MAX_RANK] = {0}, next = 1;
  for (size_t i = v->rank; i-- > 0; next *= v->dims[i])
    stride[i + rank - v->rank] = v->dims[i] == 1 ? 0 : next;
  return index_map(rank, dims, stride, v->at.map);
}

/* Weights spread over an activation's own shape. */
static operand spread_weight(const builder *b, const value *w, const value *over) {
  size_t dims[MAX_RANK], rank = broadcast(b, over, w, dims);
  need(rank == over->rank && memcmp(dims, over->dims, rank * sizeof *dims) == 0,
       "the shapes do not fit");
  return weight(b, w, spread(w, rank, dims));
}

static void lower_gemm(builder *b) {
  const value *x = &b->in[0], *w = &b->in[1];
  size_t trans = whole_attribute(b, "transB", 0) != 0;
  need(x->rank == 2 && x->at.constant == NULL && w->rank == 2 && w->dims[trans] == x->dims[1]
       && whole_attribute(b, "transA", 0) == 0, "the shapes do not fit, or transA");
  size_t outer = w->dims[!trans], stride[2] = {trans ? x->dims[1] : 1, trans ? 1 : outer};
  add_dense(b, x, 1, w, outer, stride, true);
  value y = b->out;
  step *s = add_step(b, SUM, y.at, y.rank, y.dims);
  real_attribute(b, "alpha", &s->coef[0], 1);
  real_attribute(b, "beta", &s->coef[1], 1);
  s->has_w = b->in[2].name != NULL;
  if (s->has_w)
    s->in[1] = spread_weight(b, &b->in[2], &y);
}

/* Add, Sub, Mul, Div. */
static void lower_arithmetic(builder *b) {
  size_t dims[MAX_RANK], rank = broadcast(b, &b->in[0], &b->in[1], dims);
  size_t first = b->in[0].at.constant != NULL; /* the activation */
  const value *x = &b->in[first], *w = &b->in[!first];
  bool sum = b->op[0] == 'A' || b->op[0] == 'S';
  need(x->at.constant == NULL && (b->op[0] != 'D' || first == 0),
       "an operand must be an activation, and a divisor a constant");
  operand at = {NULL, x->at.step, spread(x, rank, dims)};
  step *s = add_step(b, sum ? SUM : SCALE, at, rank, dims);
  mpq_set_si(&s->coef[0], b->op[0] == 'S' && first == 1 ? -1 : 1, 1);
  mpq_set_si(&s->coef[1], b->op[0] == 'S' && first == 0 ? -1 : 1, 1);
  s->has_w = true;
  s->in[1] = (operand){NULL, w->at.step, spread(w, rank, dims)};
  if (w->at.constant != NULL || !sum)
    s->in[1] = weight(b, w, s->in[1].map);
  s->divide = b->op[0] == 'D';
  for (size_t f = 0; s->divide && f < s->n; f++)
    need(mpq_sgn(&s->in[1].constant->value[s->in[1].map[f]]) != 0, "division by zero");
}

/* Bound i of Clip into q; false when there is none. */
static bool clip_bound(builder *b, size_t i, rational *q) {
  const value *v = &b->in[1 + i];
  const char *name = i == 0 ? "min" : "max";
  tensor *t = v->at.constant;
  if (b->m->opset < 11) {
    real_attribute(b, name, q, 0);
    return find_attribute(b, name) != NULL;
  }
  need(v->name == NULL || (t != NULL && t->real && v->count == 1), "a bound must be a constant");
  if (v->name != NULL) {
    t->bound = true;
    mpq_set(q, &t->value[v->at.map[0]]);
  }
  return v->name != NULL;
}

static void lower_clip(builder *b, step *s) {
  INTERVAL(q);
  bool lo = clip_bound(b, 0, &q.lo), hi = clip_bound(b, 1, &q.hi);
  need(!lo || !hi || mpq_cmp(&q.lo, &q.hi) < 0, "the lower bound must be less than the upper");
  s->n_kinks = lo + hi;
  s->number[0] = !lo;
  mpq_set(&s->at[0], lo ? &q.lo : &q.hi);
  mpq_set(&s->at[1], &q.hi);
  mpq_set(&s->piece[0][0], &q.lo);
  mpq_set(&s->piece[lo + 1][0], &q.hi);
  mpq_set(&s->piece[lo][1], &plus_one);
}

/* alpha x + beta between 0 and 1; the float32 nearest to 1/6 is read as 1/6. */
static void lower_hard_sigmoid(builder *b, step *s) {
  rational *alpha = &s->piece[1][1], *beta = &s->piece[1][0];
  RATIONAL(q);
  real_attribute(b, "alpha", alpha, 0.2f);
  real_attribute(b, "beta", beta, 0.5f);
  mpq_set_d(&q, 1.0f / 6.0f);
  if (mpq_equal(alpha, &q))
    mpq_set_ui(alpha, 1, 6);
  need(mpq_sgn(alpha) > 0, "alpha must be positive");
  mpq_neg(&q, beta);
  mpq_div(&s->at[0], &q, alpha);
  mpq_sub(&q, &plus_one, beta);
  mpq_div(&s->at[1], &q, alpha);
  mpq_set(&s->piece[2][0], &plus_one);
  s->n_kinks = 2;
}

static void lower_piecewise(builder *b) {
  const value *x = &b->in[0];
  step *s = add_step(b, PIECEWISE, x->at, x->rank, x->dims);
  need(x->at.constant == NULL, "its input must be an activation");
  s->number[1] = 1;
  if (b->op[0] == 'C') {
    lower_clip(b, s);
  } else if (strcmp(b->op, "HardSigmoid") == 0) {
    lower_hard_sigmoid(b, s);
  } else if (b->op[0] == 'H') { /* HardSwish */
    mpq_set_si(&s->at[0], -3, 1);
    mpq_set_si(&s->at[1], 3, 1);
    mpq_set_ui(&s->piece[1][1], 1, 2);
    mpq_set_ui(&s->piece[1][2], 1, 6);
    mpq_set(&s->piece[2][1], &plus_one);
    s->n_kinks = 2;
  } else { /* Abs, LeakyRelu, PRelu, Relu */
    s->n_kinks = 1;
    mpq_set(&s->piece[1][1], &plus_one);
    if (b->op[0] == 'A')
      mpq_set(&s->piece[0][1], &minus_one);
    if (b->op[0] == 'L')
      real_attribute(b, "alpha", &s->piece[0][1], 0.01f);
    s->has_w = b->op[0] == 'P';
    if (s->has_w)
      s->in[1] = spread_weight(b, &b->in[1], x);
  }
}

/* Sigmoid, Tanh, Softmax, LogSoftmax. */
static void lower_analytic(builder *b) {
  const value *x = &b->in[0];
  kind k = strcmp(b->op, "Sigmoid") == 0 ? LOGISTIC : b->op[0] == 'T' ? TANH : SOFTMAX;
  step *s = add_step(b, k, x->at, x->rank, x->dims);
  bool flat = b->m->opset < 13;
  need(x->at.constant == NULL, "its input must be an activation");
  if (k != SOFTMAX)
    return;
  size_t axis = axis_of(b, whole_attribute(b, "axis", flat ? 1 : -1), x->rank);
  need(!is_batch(b, x) || axis > 0, "the batch axis would be mixed");
  s->columns = flat ? 1 : product(x->dims + axis + 1, x->rank - axis - 1);
  s->inner = flat ? product(x->dims + axis, x->rank - axis) : x->dims[axis];
  s->log = b->op[0] == 'L';
}

static void lower_constant(builder *b) {
  need(b->node->n_attributes == 1 && b->node->attributes[0].t != NULL, "not one tensor");
  tensor *t = b->node->attributes[0].t;
  put(b, (operand){t, 0, NULL}, t->rank, t->dims);
}

static const struct {
  const char *name;
  void (*lower)(builder *b);
  size_t least, most, kinks; /* inputs */
  const char *attributes;
} operators[] = { /* sorted */
  {"Abs", lower_piecewise, 1, 1, 1, ""},
  {"Add", lower_arithmetic, 2, 2, 0, ""},
  {"Clip", lower_piecewise, 1, 3, 2, " min max "},
  {"Constant", lower_constant, 0, 0, 0, " value value_float value_floats value_int value_ints "},
  {"Div", lower_arithmetic, 2, 2, 0, ""},
  {"Dropout", lower_identity, 1, 3, 0, " ratio seed "},
  {"Flatten", lower_flatten, 1, 1, 0, " axis "},
  {"Gemm", lower_gemm, 2, 3, 0, " alpha beta transA transB "},
  {"HardSigmoid", lower_piecewise, 1, 1, 2, " alpha beta "},
  {"HardSwish", lower_piecewise, 1, 1, 2, ""},
  {"Identity", lower_identity, 1, 1, 0, ""},
  {"LeakyRelu", lower_piecewise, 1, 1, 1, " alpha "},
  {"LogSoftmax", lower_analytic, 1, 1, 0, " axis "},
  {"MatMul", lower_matmul, 2, 2, 0, ""},
  {"Mul", lower_arithmetic, 2, 2, 0, ""},
  {"PRelu", lower_piecewise, 2, 2, 1, ""},
  {"Relu", lower_piecewise, 1, 1, 1, ""},
  {"Reshape", lower_reshape, 2, 2, 0, " allowzero "},
  {"Sigmoid", lower_analytic, 1, 1, 0, ""},
  {"Softmax", lower_analytic, 1, 1, 0, " axis "},
  {"Squeeze", lower_squeeze, 1, 2, 0, " axes "},
  {"Sub", lower_arithmetic, 2, 2, 0, ""},
  {"Tanh", lower_analytic, 1, 1, 0, ""},
  {"Transpose", lower_transpose, 1, 1, 0, " perm "},
  {"Unsqueeze", lower_squeeze, 1, 2, 0, " axes "},
};

const char *network_operator(size_t i, size_t *kinks) {
  if (i >= sizeof operators / sizeof *operators)
    return NULL;
  *kinks = operators[i].kinks;
  return operators[i].name;
}

static void lower_node(builder *b) {
  const node *n = b->node;
  size_t op = 0, most = sizeof operators / sizeof *operators;
  char word[64];
  b->op = n->op;
  while (op < most && strcmp(operators[op].name, n->op) != 0)
    op++;
  need(op < most, "the operator is not supported");
  need(n->n_in >= operators[op].least && n->n_in <= operators[op].most && n->n_out > 0
       && *n->out[0] != '\0' && (n->n_out == 1 || *n->out[1] == '\0'),
       "an unsupported number of inputs or outputs");
  for (size_t i = 0; i < n->n_attributes; i++) {
    snprintf(word, sizeof word, " %s ", n->attributes[i].name);
    need(strstr(operators[op].attributes, word) != NULL, "an attribute is not supported");
  }
  memset(b->in, 0, sizeof b->in);
  for (size_t i = 0; i < n->n_in; i++) {
    for (size_t j = 0; j < b->n_values && *n->in[i] != '\0'; j++)
      if (strcmp(b->values[j].name, n->in[i]) == 0)
        b->in[i] = b->values[j];
    need(b->in[i].name != NULL || (*n->in[i] == '\0' && i >= operators[op].least),
         "an input is not computed before it");
  }
  operators[op].lower(b);
  define(b, n->out[0]);
}

/* The batch axis rule of docs/operators.md. */
static void read_input(builder *b, const port *p, const tensor *x) {
  size_t dims[MAX_RANK], from = x->rank == p->rank + 1;
  bool flat = x->rank == 2 && p->rank > 2, fits = from == 1 || x->rank == p->rank || flat;
  expect(p->shaped && x->rank > 0 && x->count > 0,
         "the input's shape is not declared, or the batch is empty");
  b->net->batch = x->dims[0];
  b->net->batched = from == 0;
  for (size_t i = 0; i < p->rank && fits; i++) {
    bool first = i == 0 && from == 0;
    dims[i] = first ? 1 : flat ? p->dims[i] : x->dims[i + from];
    fits = p->dims[i] == 0 || p->dims[i] == dims[i] || (first && p->dims[i] == x->dims[0]);
  }
  expect(fits && product(dims, p->rank) * x->dims[0] == x->count,
         "the batch does not have the shape that input '%s' declares", p->name);
  add_step(b, INPUT, (operand){NULL, 0, NULL}, p->rank, dims);
  define(b, p->name);
}

/* Spreads an operand over the samples: from feature f to feature * batch + sample. */
static void spread_samples(operand *o, size_t n, size_t batch) {
  size_t *map = o->map != NULL ? allocate(n * batch, sizeof *map) : NULL;
  for (size_t e = 0; map != NULL && e < n * batch; e++)
    map[e] = o->constant != NULL ? o->map[e / batch] : o->map[e / batch] * batch + e % batch;
  o->map = map;
}

void network_build(network *net, const model *m, const tensor *x) {
  builder b = {.net = net, .m = m};
  const port *input = NULL;
  *net = (network){.tensors = m->tensors, .n_tensors = m->n_tensors};
  for (size_t i = 0; i < m->n_tensors; i++) {
    put(&b, (operand){m->tensors[i], 0, NULL}, m->tensors[i]->rank, m->tensors[i]->dims);
    define(&b, m->tensors[i]->name);
  }
  for (size_t i = 0; i < m->n_inputs; i++) {
    bool initialized = false;
    for (size_t j = 0; j < m->n_tensors; j++)
      initialized = initialized || strcmp(m->tensors[j]->name, m->inputs[i].name) == 0;
    expect(initialized || input == NULL, "the model has more than one input");
    input = initialized ? input : &m->inputs[i];
  }
  expect(input != NULL && m->n_outputs == 1, "the model does not have one input and one output");
  read_input(&b, input, x);
  for (b.place = 0; b.place < m->n_nodes; b.place++) {
    b.node = &m->nodes[b.place];
    lower_node(&b);
  }
  for (size_t i = 0; i < b.n_values; i++)
    if (strcmp(b.values[i].name, m->outputs[0].name) == 0 && b.values[i].at.constant == NULL) {
      net->output = b.values[i].at;
      net->n_outputs = b.values[i].count;
      net->rank = b.values[i].rank;
      memcpy(net->dims, b.values[i].dims, sizeof net->dims);
    }
  expect(net->output.map != NULL, "output '%s' is not computed from the input", m->outputs[0].name);
  for (size_t i = 0; i < m->n_tensors; i++)
    expect(!m->tensors[i]->weight || !m->tensors[i]->bound,
           "'%s' is both a weight and a bound of Clip", m->tensors[i]->name);
  spread_samples(&net->output, net->n_outputs, net->batch);
  for (size_t s = 0; s < net->n_steps; s++) {
    step *st = &net->steps[s];
    size_t inputs = st->kind == DENSE ? st->n / st->outer * st->inner : st->n;
    spread_samples(&st->in[0], inputs, net->batch);
    if (st->kind != DENSE)
      spread_samples(&st->in[1], st->n, net->batch);
    st->n *= net->batch;
    st->columns *= net->batch;
  }
}
