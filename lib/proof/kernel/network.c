/* From the model's nodes to steps (docs/operators.md).
 *
 * Shapes are ONNX's for a batch of one: an activation of a batched graph has 1 as its first axis,
 * and every operator checks that this axis stays first and is not mixed, so that a batch is so
 * many runs of a batch of one. */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *name;
  operand at;
  size_t rank, dims[MAX_RANK], count;
} value;

typedef struct {
  network *net;
  const model *m;
  const node *node;
  size_t place, n_values;
  value *values, in[4]; /* in: of this node; an omitted one has no name */
} builder;

static _Noreturn void bad(const builder *b, const char *why) {
  refuse("node %zu '%s' (%s): %s", b->place, b->node->name, b->node->op, why);
}

static size_t product(const size_t *dims, size_t n) {
  size_t p = 1;

  for (size_t i = 0; i < n; i++)
    if (__builtin_mul_overflow(p, dims[i], &p))
      refuse("a shape of too many entries");
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

static void define(builder *b, const char *name, operand at, size_t rank, const size_t *dims) {
  for (size_t i = 0; i < b->n_values; i++)
    if (strcmp(b->values[i].name, name) == 0)
      refuse("two values are named '%s'", name);
  b->values = grow(b->values, b->n_values, sizeof *b->values);
  value *v = &b->values[b->n_values++];
  *v = (value){name, at, rank, {0}, product(dims, rank)};
  memcpy(v->dims, dims, rank * sizeof *dims);
  if (is_batch(b, v) && (rank == 0 || dims[0] != 1))
    bad(b, "the batch axis does not stay first");
}

/* The node's output: the entries of input 0 in another shape. */
static void define_shaped(builder *b, operand at, size_t rank, const size_t *dims) {
  if (product(dims, rank) != b->in[0].count)
    bad(b, "the shapes hold different numbers of entries");
  define(b, b->node->out[0], at, rank, dims);
}

static operand define_constant(builder *b, const char *name, tensor *t) {
  size_t one = 1;
  operand at = {t, 0, index_map(1, &t->count, &one, NULL)};

  define(b, name, at, t->rank, t->dims);
  return at;
}

/* A new step; its output is the node's if it is the last. */
static step *add_step(builder *b, kind k, size_t count, operand x) {
  network *net = b->net;

  net->steps = grow(net->steps, net->n_steps, sizeof *net->steps);
  step *s = &net->steps[net->n_steps++];
  *s = (step){.kind = k, .node = b->node, .place = b->place, .count = count, .in = {x}};
  if (count == 0)
    refuse("an activation without entries");
  mpq_inits(&s->coef[0], &s->coef[1], &s->at[0], &s->at[1], NULL);
  for (size_t i = 0; i < 9; i++)
    mpq_init(&s->piece[i / 3][i % 3]);
  return s;
}

static operand last_step(const builder *b) {
  size_t one = 1, last = b->net->n_steps - 1;

  return (operand){NULL, last, index_map(1, &b->net->steps[last].count, &one, NULL)};
}

static const attribute *
find_attribute(const builder *b, const char *name) {
  const attribute *found = NULL;

  for (size_t i = 0; i < b->node->n_attributes; i++)
    if (strcmp(b->node->attributes[i].name, name) == 0)
      found = &b->node->attributes[i];
  return found;
}

static long whole_entry(const builder *b, const tensor *t, size_t i) {
  if (i >= t->count || t->real || !mpz_fits_slong_p(mpq_numref(&t->value[i])))
    bad(b, "an integer is missing or too large");
  return mpz_get_si(mpq_numref(&t->value[i]));
}

static long whole_attribute(const builder *b, const char *name, long absent) {
  const attribute *a = find_attribute(b, name);

  if (a != NULL && a->t == NULL)
    bad(b, "an attribute is not of the right type");
  return a != NULL ? whole_entry(b, a->t, 0) : absent;
}

/* An absent one is the float32 nearest to the default. */
static void real_attribute(const builder *b, const char *name, rational *q, float absent) {
  const attribute *a = find_attribute(b, name);

  if (a != NULL && (a->t == NULL || !a->t->real || a->t->count != 1))
    bad(b, "an attribute is not of the right type");
  if (a != NULL)
    mpq_set(q, a->t->value);
  else
    mpq_set_d(q, absent);
}

static size_t axis_of(const builder *b, long axis, size_t rank) {
  axis += axis < 0 ? (long)rank : 0;
  if (axis < 0 || (size_t)axis >= rank)
    bad(b, "an axis is out of range");
  return (size_t)axis;
}

/* The weight's operand: entries map[] of v. */
static operand weight(const builder *b, const value *v, size_t *map) {
  if (v->at.constant == NULL || !v->at.constant->real)
    bad(b, "an operand must be a floating-point constant");
  v->at.constant->weight = true;
  return (operand){v->at.constant, 0, map};
}

static const tensor *
whole_input(const builder *b, size_t i) {
  tensor *t = b->in[i].at.constant;

  if (t == NULL || t->real)
    bad(b, "an input must be a constant of integers");
  return t;
}

static void lower_identity(builder *b) {
  if (b->in[2].name != NULL && whole_entry(b, whole_input(b, 2), 0) != 0)
    bad(b, "Dropout in training mode");
  define_shaped(b, b->in[0].at, b->in[0].rank, b->in[0].dims);
}

static void lower_flatten(builder *b) {
  const value *x = &b->in[0];
  long given = whole_attribute(b, "axis", 1);
  size_t axis = given == (long)x->rank ? x->rank : axis_of(b, given, x->rank);
  size_t dims[2] = {product(x->dims, axis), product(x->dims + axis, x->rank - axis)};

  if (is_batch(b, x) && axis != 1)
    bad(b, "the axis must be 1");
  define_shaped(b, x->at, 2, dims);
}

static void lower_reshape(builder *b) {
  const value *x = &b->in[0];
  const tensor *shape = whole_input(b, 1);
  size_t dims[MAX_RANK], open = NONE;

  if (shape->count > MAX_RANK || whole_attribute(b, "allowzero", 0) != 0)
    bad(b, "more axes than supported, or allowzero");
  for (size_t i = 0; i < shape->count; i++) {
    long d = whole_entry(b, shape, b->in[1].at.map[i]);
    if (d < -1 || (d == -1 && open != NONE) || (d == 0 && i >= x->rank))
      bad(b, "not a shape");
    open = d == -1 ? i : open;
    dims[i] = d == -1 ? 1 : d == 0 ? x->dims[i] : (size_t)d;
  }
  if (open != NONE)
    dims[open] = x->count / product(dims, shape->count);
  define_shaped(b, x->at, shape->count, dims);
}

static void lower_transpose(builder *b) {
  const value *x = &b->in[0];
  const attribute *perm = find_attribute(b, "perm");
  size_t dims[MAX_RANK], stride[MAX_RANK];
  bool seen[MAX_RANK] = {false};

  if (perm != NULL && (perm->t == NULL || perm->t->count != x->rank))
    bad(b, "perm does not fit");
  for (size_t i = 0; i < x->rank; i++) {
    long p = perm != NULL ? whole_entry(b, perm->t, i) : (long)(x->rank - 1 - i);
    if (p < 0 || (size_t)p >= x->rank || seen[p] || (is_batch(b, x) && i == 0 && p != 0))
      bad(b, "perm is no permutation, or moves the batch axis");
    seen[p] = true;
    dims[i] = x->dims[p];
    stride[i] = product(x->dims + p + 1, x->rank - (size_t)p - 1);
  }
  operand at = x->at;
  at.map = index_map(x->rank, dims, stride, x->at.map);
  define_shaped(b, at, x->rank, dims);
}

static void lower_squeeze(builder *b) {
  const value *x = &b->in[0];
  bool insert = b->node->op[0] == 'U', marked[MAX_RANK] = {false};
  const attribute *a = find_attribute(b, "axes");
  const tensor *axes = b->in[1].name != NULL ? whole_input(b, 1) : a != NULL ? a->t : NULL;
  size_t dims[MAX_RANK], n = 0, from = 0;

  if (axes == NULL)
    bad(b, "the axes must be named");
  size_t rank = x->rank + (insert ? axes->count : 0);
  if (rank > MAX_RANK)
    bad(b, "more axes than supported");
  for (size_t i = 0; i < axes->count; i++) {
    size_t axis = axis_of(b, whole_entry(b, axes, b->in[1].name ? b->in[1].at.map[i] : i), rank);
    if (marked[axis] || (!insert && x->dims[axis] != 1) || (is_batch(b, x) && axis == 0))
      bad(b, "an axis is named twice, not of size 1, or the batch's");
    marked[axis] = true;
  }
  for (size_t i = 0; i < rank; i++) {
    if (!marked[i] || insert)
      dims[n++] = marked[i] ? 1 : x->dims[insert ? from : i];
    from += !marked[i];
  }
  define_shaped(b, x->at, n, dims);
}

/* y = W x over one axis of x; W's entry (o, i) is entry o * stride[0] + i * stride[1]. */
static void add_dense(builder *b, const value *x, size_t axis, const value *w, size_t outer,
          const size_t stride[2]) {
  size_t shape[2] = {outer, x->dims[axis]}, blocks = product(x->dims, axis);
  size_t repeat = product(x->dims + axis + 1, x->rank - axis - 1), all[] = {blocks, outer, repeat};
  step *s = add_step(b, DENSE, product(all, 3), x->at);

  s->in[1] = weight(b, w, index_map(2, shape, stride, w->at.map));
  s->blocks = blocks;
  s->outer = outer;
  s->inner = x->dims[axis];
  s->repeat = repeat;
  if (is_batch(b, x) && axis == 0)
    bad(b, "the batch axis would be mixed");
}

static void lower_matmul(builder *b) {
  bool right = b->in[1].at.constant != NULL; /* x W, else W x */
  const value *x = &b->in[!right], *w = &b->in[right];
  size_t dims[MAX_RANK], n = 0;

  if (x->at.constant != NULL || w->rank < 1 || w->rank > 2 || x->rank == 0)
    bad(b, "one operand must be an activation, the other a constant of one or two axes");
  size_t axis = right || x->rank < 2 ? x->rank - 1 : x->rank - 2;
  size_t outer = w->rank == 1 ? 1 : w->dims[right];
  size_t stride[2] = {right ? 1 : w->count / outer, right ? outer : 1};
  if (outer == 0 || w->count / outer != x->dims[axis])
    bad(b, "the shapes do not fit");
  add_dense(b, x, axis, w, outer, stride);
  for (size_t i = 0; i < x->rank; i++)
    if (i != axis || w->rank == 2)
      dims[n++] = i == axis ? outer : x->dims[i];
  define(b, b->node->out[0], last_step(b), n, dims);
}

/* NumPy's common shape of inputs 0 and i. */
static size_t broadcast(const builder *b, const value *v, const value *w, size_t *dims) {
  size_t rank = v->rank > w->rank ? v->rank : w->rank;

  if ((is_batch(b, v) && v->rank != rank) || (is_batch(b, w) && w->rank != rank))
    bad(b, "the batch axis does not stay first");
  for (size_t i = 0; i < rank; i++) {
    size_t p = i + v->rank < rank ? 1 : v->dims[i + v->rank - rank];
    size_t q = i + w->rank < rank ? 1 : w->dims[i + w->rank - rank];
    if (p != q && p != 1 && q != 1)
      bad(b, "the shapes do not fit");
    dims[i] = p == 1 ? q : p;
  }
  return rank;
}

/* v's entries, spread over a shape that broadcast gave. */
static size_t *spread(const value *v, size_t rank, const size_t *dims) {
  size_t stride[MAX_RANK] = {0}, next = 1;

  for (size_t i = v->rank; i-- > 0; next *= v->dims[i])
    stride[i + rank - v->rank] = v->dims[i] == 1 ? 0 : next;
  return index_map(rank, dims, stride, v->at.map);
}

static void lower_gemm(builder *b) {
  const value *x = &b->in[0], *w = &b->in[1], *c = &b->in[2];
  size_t transposed = whole_attribute(b, "transB", 0) != 0, dims[MAX_RANK];

  if (x->rank != 2 || x->at.constant != NULL || w->rank != 2 || whole_attribute(b, "transA", 0) != 0
      || w->dims[transposed] != x->dims[1])
    bad(b, "the shapes do not fit, or transA");
  dims[0] = x->dims[0];
  dims[1] = w->dims[!transposed];
  size_t stride[2] = {transposed ? x->dims[1] : 1, transposed ? 1 : dims[1]}, shape[MAX_RANK];
  add_dense(b, x, 1, w, dims[1], stride);
  step *s = add_step(b, SUM, dims[0] * dims[1], last_step(b));
  real_attribute(b, "alpha", &s->coef[0], 1);
  real_attribute(b, "beta", &s->coef[1], 1);
  if (c->name != NULL) {
    value y = {NULL, {0}, 2, {dims[0], dims[1]}, 0};
    if (broadcast(b, &y, c, shape) != 2 || shape[0] != dims[0] || shape[1] != dims[1])
      bad(b, "the shapes do not fit");
    s->in[1] = weight(b, c, spread(c, 2, dims));
    s->has_w = true;
  }
  define(b, b->node->out[0], last_step(b), 2, dims);
}

static void lower_arithmetic(builder *b) {
  char op = b->node->op[0];
  size_t dims[MAX_RANK], rank = broadcast(b, &b->in[0], &b->in[1], dims);
  size_t first = b->in[0].at.constant != NULL; /* the activation */
  const value *x = &b->in[first], *w = &b->in[!first];
  operand at = {NULL, x->at.step, spread(x, rank, dims)};

  if (x->at.constant != NULL || (op == 'D' && first == 1))
    bad(b, "at least one operand must be an activation, and a divisor a constant");
  step *s = add_step(b, op == 'A' || op == 'S' ? SUM : SCALE, product(dims, rank), at);
  mpq_set_si(&s->coef[first], 1, 1);
  mpq_set_si(&s->coef[!first], 1, 1);
  if (op == 'S')
    mpq_neg(&s->coef[1 ^ first], &s->coef[1 ^ first]);
  s->has_w = true;
  s->divide = op == 'D';
  s->in[1] = (operand){NULL, w->at.step, spread(w, rank, dims)};
  if (w->at.constant != NULL || s->kind == SCALE)
    s->in[1] = weight(b, w, s->in[1].map);
  for (size_t f = 0; s->divide && f < s->count; f++)
    if (mpq_sgn(&s->in[1].constant->value[s->in[1].map[f]]) == 0)
      bad(b, "division by zero");
  define(b, b->node->out[0], last_step(b), rank, dims);
}

/* Bound i of Clip into q; false when there is none. */
static bool clip_bound(builder *b, size_t i, rational *q) {
  const char *name = i == 0 ? "min" : "max";
  tensor *t = b->in[1 + i].at.constant;

  if (b->m->opset < 11 ? find_attribute(b, name) == NULL : b->in[1 + i].name == NULL)
    return false;
  if (b->m->opset < 11) {
    real_attribute(b, name, q, 0);
    return true;
  }
  if (t == NULL || !t->real || b->in[1 + i].count != 1)
    bad(b, "a bound must be a constant number");
  t->bound = true;
  mpq_set(q, &t->value[b->in[1 + i].at.map[0]]);
  return true;
}

static void lower_clip(builder *b, step *s) {
  rational *q = rationals(2);
  bool has[2] = {clip_bound(b, 0, &q[0]), clip_bound(b, 1, &q[1])};

  if (has[0] && has[1] && mpq_cmp(&q[0], &q[1]) >= 0)
    bad(b, "the lower bound must be less than the upper");
  mpq_set_ui(&s->piece[has[0]][1], 1, 1);
  for (size_t i = 0; i < 2; i++) {
    if (!has[i])
      continue;
    mpq_set(&s->piece[i == 0 ? 0 : s->n_kinks + 1][0], &q[i]);
    mpq_set(&s->at[s->n_kinks], &q[i]);
    s->number[s->n_kinks++] = i;
  }
}

/* alpha x + beta between 0 and 1; the float32 nearest to 1/6 is read as 1/6. */
static void lower_hard_sigmoid(builder *b, step *s) {
  rational *q = rationals(3), *alpha = q, *beta = q + 1;

  real_attribute(b, "alpha", alpha, 0.2f);
  real_attribute(b, "beta", beta, 0.5f);
  mpq_set_d(q + 2, 1.0f / 6.0f);
  if (mpq_equal(alpha, q + 2))
    mpq_set_ui(alpha, 1, 6);
  if (mpq_sgn(alpha) <= 0)
    bad(b, "alpha must be positive");
  mpq_set(&s->piece[1][0], beta);
  mpq_set(&s->piece[1][1], alpha);
  mpq_set_ui(&s->piece[2][0], 1, 1);
  mpq_neg(q + 2, beta);
  mpq_div(&s->at[0], q + 2, alpha);
  mpq_sub(q + 2, &s->piece[2][0], beta);
  mpq_div(&s->at[1], q + 2, alpha);
  s->n_kinks = 2;
}

static void lower_piecewise(builder *b) {
  const value *x = &b->in[0];
  step *s = add_step(b, PIECEWISE, x->count, x->at);
  char op = b->node->op[0];
  size_t dims[MAX_RANK];

  s->number[1] = 1;
  if (op == 'C') {
    lower_clip(b, s);
  } else if (strcmp(b->node->op, "HardSigmoid") == 0) {
    lower_hard_sigmoid(b, s);
  } else if (op == 'H') {
    mpq_set_si(&s->at[0], -3, 1);
    mpq_set_si(&s->at[1], 3, 1);
    mpq_set_ui(&s->piece[1][1], 1, 2);
    mpq_set_ui(&s->piece[1][2], 1, 6);
    mpq_set_ui(&s->piece[2][1], 1, 1);
    s->n_kinks = 2;
  } else { /* Abs, LeakyRelu, PRelu, Relu */
    s->n_kinks = 1;
    mpq_set_si(&s->piece[1][1], 1, 1);
    if (op == 'A')
      mpq_set_si(&s->piece[0][1], -1, 1);
    if (op == 'L')
      real_attribute(b, "alpha", &s->piece[0][1], 0.01f);
    if (op == 'P') {
      if (broadcast(b, x, &b->in[1], dims) != x->rank || product(dims, x->rank) != x->count)
        bad(b, "the shapes do not fit");
      s->in[1] = weight(b, &b->in[1], spread(&b->in[1], x->rank, x->dims));
      s->has_w = true;
    }
  }
  define(b, b->node->out[0], last_step(b), x->rank, x->dims);
}

static void lower_analytic(builder *b) {
  const value *x = &b->in[0];
  const char *op = b->node->op;
  kind k = strcmp(op, "Sigmoid") == 0 ? LOGISTIC : strcmp(op, "Tanh") == 0 ? TANH : SOFTMAX;
  step *s = add_step(b, k, x->count, x->at);

  if (k == SOFTMAX) {
    bool flat = b->m->opset < 13;
    size_t axis = axis_of(b, whole_attribute(b, "axis", flat ? 1 : -1), x->rank);
    if (is_batch(b, x) && axis == 0)
      bad(b, "the batch axis would be mixed");
    s->stride = flat ? 1 : product(x->dims + axis + 1, x->rank - axis - 1);
    s->length = flat ? product(x->dims + axis, x->rank - axis) : x->dims[axis];
    s->log = op[0] == 'L';
  }
  define(b, b->node->out[0], last_step(b), x->rank, x->dims);
}

static void lower_constant(builder *b) {
  if (b->node->n_attributes != 1 || b->node->attributes[0].t == NULL)
    bad(b, "not one tensor");
  define_constant(b, b->node->out[0], b->node->attributes[0].t);
}

static const struct {
  const char *name;
  void (*lower)(builder *b);
  size_t least, most, kinks;
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

  while (op < most && strcmp(operators[op].name, n->op) != 0)
    op++;
  if (op == most)
    bad(b, "the operator is not supported");
  if (n->n_in < operators[op].least || n->n_in > operators[op].most || n->n_out == 0
      || *n->out[0] == '\0' || (n->n_out > 1 && *n->out[1] != '\0'))
    bad(b, "an unsupported number of inputs or outputs");
  for (size_t i = 0; i < n->n_attributes; i++) {
    snprintf(word, sizeof word, " %s ", n->attributes[i].name);
    if (strstr(operators[op].attributes, word) == NULL)
      bad(b, "an attribute is not supported");
  }
  memset(b->in, 0, sizeof b->in);
  for (size_t i = 0; i < n->n_in; i++) {
    for (size_t j = 0; j < b->n_values && *n->in[i] != '\0'; j++)
      if (strcmp(b->values[j].name, n->in[i]) == 0)
        b->in[i] = b->values[j];
    if (b->in[i].name == NULL && (*n->in[i] != '\0' || i < operators[op].least))
      bad(b, "an input is not computed before it");
  }
  if (operators[op].kinks > 0 && b->in[0].at.constant != NULL)
    bad(b, "its input must be an activation");
  operators[op].lower(b);
}

/* The batch axis rule of docs/operators.md. */
static void read_input(builder *b, const port *p, const tensor *x) {
  size_t dims[MAX_RANK], rank = p->rank, from = x->rank == rank + 1;
  bool flat = x->rank == 2 && rank > 2;

  if (!p->shaped || x->rank == 0 || x->dims[0] == 0)
    refuse("the input's shape is not declared, or the batch is empty");
  b->net->batch = x->dims[0];
  b->net->batched = from == 0;
  if (b->net->batched && ((x->rank != rank && !flat) || (p->dims[0] > 1 && p->dims[0] != x->dims[0])))
    refuse("the batch does not have the shape that input '%s' declares", p->name);
  for (size_t i = 0; i < rank; i++) {
    bool batch_axis = i == 0 && b->net->batched;
    dims[i] = batch_axis ? 1 : flat ? p->dims[i] : x->dims[i + from];
    if (!batch_axis && p->dims[i] != 0 && p->dims[i] != dims[i])
      refuse("the batch does not have the shape that input '%s' declares", p->name);
  }
  if (product(dims, rank) * x->dims[0] != x->count)
    refuse("the batch does not have the shape that input '%s' declares", p->name);
  add_step(b, INPUT, product(dims, rank), (operand){NULL, 0, NULL});
  define(b, p->name, last_step(b), rank, dims);
}

void network_build(network *net, const model *m, const tensor *x) {
  builder b = {.net = net, .m = m};
  const port *input = NULL;

  *net = (network){.tensors = m->tensors, .n_tensors = m->n_tensors, .x = x};
  for (size_t i = 0; i < m->n_tensors; i++)
    define_constant(&b, m->tensors[i]->name, m->tensors[i]);
  for (size_t i = 0; i < m->n_inputs; i++) {
    bool initialized = false;
    for (size_t j = 0; j < m->n_tensors; j++)
      initialized = initialized || strcmp(m->tensors[j]->name, m->inputs[i].name) == 0;
    if (!initialized && input != NULL)
      refuse("the model has more than one input");
    input = initialized ? input : &m->inputs[i];
  }
  if (input == NULL || m->n_outputs != 1)
    refuse("the model does not have one input and one output");
  read_input(&b, input, x);
  for (b.place = 0; b.place < m->n_nodes; b.place++) {
    b.node = &m->nodes[b.place];
    lower_node(&b);
  }
  for (size_t i = 0; i < b.n_values; i++)
    if (strcmp(b.values[i].name, m->outputs[0].name) == 0 && b.values[i].at.constant == NULL) {
      net->output = b.values[i].at;
      net->rank = b.values[i].rank;
      memcpy(net->dims, b.values[i].dims, sizeof net->dims);
    }
  if (net->output.map == NULL)
    refuse("output '%s' is not computed from the input", m->outputs[0].name);
  for (size_t i = 0; i < m->n_tensors; i++)
    if (m->tensors[i]->weight && m->tensors[i]->bound)
      refuse("'%s' is both a weight and a bound of Clip", m->tensors[i]->name);
}
