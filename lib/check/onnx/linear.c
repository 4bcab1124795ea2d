/* Operators that are linear in activations: products with matrices, arithmetic, means. */
#include "check/onnx/linear.h"
#include "check/base/allocate.h"

#include <string.h>

/* The node's output so far times alpha, plus beta times the bias. */
static void
put_affine(builder *b, bool bias)
{
  rational *coef = rationals(2);
  const value y = b->out;
  bool scaled = real_attribute(b, "alpha", &coef[0], 1) && mpq_cmp_ui(&coef[0], 1, 1) != 0;
  real_attribute(b, "beta", &coef[1], 1);
  if (!scaled && !bias)
    return;
  value c = bias ? spread_over(b, 2, &y) : y;
  step *s = add_step(b, LINEAR, 1 + bias, y.rank, y.dims);
  if (c.negated)
    mpq_neg(&coef[1], &coef[1]);
  for (size_t f = 0; f < s->n; f++) {
    operand(b, s, f * s->width, &y, f)->coef = &coef[0];
    if (bias)
      operand(b, s, f * s->width + 1, &c, f)->coef = &coef[1];
  }
  b->out.at = y.at;
  b->out.inner = y.inner;
}

/* MatMul of two activations; the axes before the last two broadcast. */
static void
multiply_matrices(builder *b)
{
  value *x = &b->in[0], *w = &b->in[1], whole[2] = {*x, *w};
  size_t dims[MAX_RANK], wide[2][MAX_RANK];
  need(x->rank >= 2 && w->rank >= 2 && x->dims[x->rank - 1] == w->dims[w->rank - 2],
       "two activations that are no matrices, or whose axes do not fit");
  size_t rows = x->dims[x->rank - 2], inner = x->dims[x->rank - 1], cols = w->dims[w->rank - 1];
  for (size_t i = 0; i < 2; i++) /* as they broadcast, matrices being one entry */
    whole[i].dims[whole[i].rank - 1] = whole[i].dims[whole[i].rank - 2] = 1;
  size_t rank = broadcast(b, &whole[0], &whole[1], dims);
  for (size_t i = 0; i < 2; i++) {
    memcpy(wide[i], dims, rank * sizeof *dims);
    wide[i][rank - 2] = b->in[i].dims[b->in[i].rank - 2];
    wide[i][rank - 1] = b->in[i].dims[b->in[i].rank - 1];
  }
  value left = spread(b, x, rank, wide[0]), right = spread(b, w, rank, wide[1]);
  dims[rank - 2] = rows;
  dims[rank - 1] = cols;
  step *s = add_step(b, PRODUCT, 2 * inner, rank, dims);
  put_batch(b, x, w, rank);
  bool of_rows = is_batch(b, x) && !is_batch(b, w) && b->out.at + 2 == rank;    /* of x, each sample's */
  bool of_columns = is_batch(b, w) && !is_batch(b, x) && b->out.at + 1 == rank; /* of w */
  need(of_rows || of_columns || (!is_batch(b, x) && !is_batch(b, w)) || b->out.at + 2 < rank,
       "the batch axis would be mixed");
  for (size_t f = 0; f < s->n; f++)
    for (size_t i = 0; i < inner; i++) {
      factor_source(b, s, f * s->width + 2 * i, &left, f / cols * inner + i);
      factor_source(b, s, f * s->width + 2 * i + 1, &right, (f / cols / rows * inner + i) * cols + f % cols);
    }
}

/* Gemm, W or the bias being computed of constants: the products; then alpha times these, plus beta times the bias. */
static void
multiply_computed(builder *b)
{
  const value *x = &b->in[0], *w = &b->in[1];
  bool last = whole_attribute(b, "transB", 0) != 0, bias = b->in[2].name != NULL;
  size_t inner = x->dims[1], outer = w->dims[!last];
  need(w->dims[last] == inner && !on_batch(b, x, 1), "the shapes do not fit, or the batch axis would be mixed");
  bool linear = w->constant != NULL;
  step *s = add_step(b, linear ? LINEAR : PRODUCT, (2 - linear) * inner, 2, (size_t[]){x->dims[0], outer});
  for (size_t f = 0; f < s->n; f++)
    for (size_t i = 0; i < inner; i++) {
      size_t from = f / outer * inner + i, at = last ? f % outer * inner + i : i * outer + f % outer;
      if (linear) {
        operand(b, s, f * inner + i, x, from);
        operand(b, s, f * inner + i, w, at)->coef = w->negated ? &minus_one : &plus_one;
      } else {
        factor_source(b, s, f * s->width + 2 * i, x, from);
        factor_source(b, s, f * s->width + 2 * i + 1, w, at);
      }
    }
  b->out.at = x->at;
  b->out.inner = x->inner;
  put_affine(b, bias);
}

/* x W or W x, W constant: entry (o, i) of the matrix is entry o * stride[0] + i * stride[1] of w; o comes in the place of an axis
 * of x, or of nothing when w has one axis. coef: of the product, of the bias. last: i runs along w's last axis. */
static void
put_product(builder *b, rational *coef, bool left, bool last)
{
  const value *x = &b->in[left], *w = &b->in[!left];
  bool bias = b->in[2].name != NULL;
  size_t axis = !left || x->rank < 2 ? x->rank - 1 : x->rank - 2, inner = x->dims[axis];
  size_t outer = w->rank == 1 ? 1 : w->dims[!last], dims[MAX_RANK], n = 0;
  size_t stride[2] = {last ? inner : 1, last ? 1 : outer};
  size_t repeat = product(x->dims + axis + 1, x->rank - axis - 1);
  need(outer > 0 && w->dims[w->rank == 2 && last] == inner && !on_batch(b, x, axis),
       "the shapes do not fit, or the batch axis would be mixed");
  for (size_t i = 0; i < x->rank; i++)
    if (i != axis || w->rank == 2)
      dims[n++] = i == axis ? outer : x->dims[i];
  step *s = add_step(b, LINEAR, 0, n, dims);
  b->out.at = x->at - (w->rank == 1 && x->at > axis);
  b->out.inner = x->inner;
  value c = bias ? spread_over(b, 2, &b->out) : *w;
  bool shared =
      true; /* else a bias is another one in another row of x, and each feature has factors and sources of its own */
  for (size_t f = outer; f < s->n && bias; f++)
    shared = shared && c.map[f] == c.map[f - outer];
  add_rows(b, s, inner + bias, shared ? outer : s->n, shared ? s->n / outer : s->n);
  if (w->negated)
    mpq_neg(&coef[0], &coef[0]);
  if (c.negated)
    mpq_neg(&coef[1], &coef[1]);
  for (size_t f = 0; f < s->n; f++) {
    size_t o = f / repeat % outer, row = f / repeat / outer * repeat + f % repeat;
    s->factor_row[f] = shared ? o : f;
    s->source_row[f] = shared ? row : f;
    source *from = &s->sources[s->source_row[f] * s->width];
    factor *t = &s->factors[s->factor_row[f] * s->width];
    bool new = row == 0 || !shared;
    for (size_t i = 0; i < inner; i++) {
      from[i] = (source){x->step, x->map[(f / repeat / outer * inner + i) * repeat + f % repeat]};
      if (new)
        factor_of(b, &t[i], w, o * stride[0] + i * stride[1])->coef = &coef[0];
    }
    if (bias && new)
      factor_of(b, &t[inner], &c, f)->coef = &coef[1];
  }
}

/* Gemm; MatMul. */
void
lower_product(builder *b)
{
  bool gemm = b->op[0] == 'G', bias = b->in[2].name != NULL, left = !gemm && b->in[1].constant == NULL;
  bool last = left || whole_attribute(b, "transB", 0) != 0;
  const value *x = &b->in[left], *w = &b->in[!left];
  bool wide = !gemm && x->constant == NULL && w->constant != NULL && w->rank > 2;
  if (wide)
    b->in[!left] = lifted_constant(b, w);
  if (wide || (left && b->in[0].constant == NULL)) {
    multiply_matrices(b);
    return;
  }
  rational *coef = rationals(2);
  real_attribute(b, "alpha", &coef[0], 1);
  real_attribute(b, "beta", &coef[1], 1);
  need(!gemm || !is_batch(b, w), "W is another one for each sample");
  need(x->constant == NULL && (w->constant != NULL || gemm) && x->rank > 0 && w->rank >= 1 && w->rank <= 2
           && (!gemm
               || (!left && (!is_batch(b, x) || x->at == 0) && x->rank == 2 && w->rank == 2
                   && !whole_attribute(b, "transA", 0))),
       "not an activation and a constant with the right number of axes; or transA");
  if (w->constant == NULL || (bias && b->in[2].constant == NULL)) {
    multiply_computed(b);
    return;
  }
  put_product(b, coef, left, last);
}

/* The entries of a sum or difference are known where those of both inputs are, of one shape. */
static void
know_sum(builder *b)
{
  const value *x = &b->in[0], *y = &b->in[1];
  const rational *p = known_entries(x), *q = known_entries(y);
  if (p == NULL || q == NULL || x->count != b->out.count || y->count != b->out.count)
    return;
  b->out.known = rationals(b->out.count);
  for (size_t i = 0; i < b->out.count; i++)
    (b->op[0] == 'S' ? mpq_sub : mpq_add)(&b->out.known[i], &p[i], &q[i]);
}

/* Add, Sub, Mul, Div. */
void
lower_arithmetic(builder *b)
{
  bool sum = b->op[0] == 'A' || b->op[0] == 'S', divide = b->op[0] == 'D' && b->in[1].constant != NULL;
  if (b->op[0] == 'D' && !divide) {
    put_function(b, F_RECIPROCAL, &b->in[1]);
    b->in[1] = b->out;
  }
  share_constants(b);
  size_t dims[MAX_RANK], rank = broadcast(b, &b->in[0], &b->in[1], dims);
  value v = spread(b, &b->in[0], rank, dims), w = spread(b, &b->in[1], rank, dims);
  need(v.constant == NULL || w.constant == NULL, "an operand must be an activation");
  if (!sum && v.constant == NULL && w.constant == NULL) {
    put_products(b, &v, &w, rank, dims);
    put_batch(b, &v, &w, rank);
    return;
  }
  step *s = add_step(b, LINEAR, sum ? 2 : 1, rank, dims);
  put_batch(b, &v, &w, rank);
  s->divide = divide;
  value masks[2] = {v, w};
  v = without_odd(b, &v);
  w = without_odd(b, &w);
  for (size_t f = 0; f < s->n; f++) {
    bool first = exclude(b, s, f, &masks[0]), second = exclude(b, s, f, &masks[1]); /* infinity beside a mark is NaN */
    if (first || second)
      continue;
    factor *t = operand(b, s, f * s->width, &v, f);
    if (v.negated)
      t->coef = &minus_one;
    t = operand(b, s, f * s->width + sum, &w, f);
    if ((b->op[0] == 'S') != w.negated)
      t->coef = &minus_one;
    need(!s->divide || mpq_sgn(&t->w->value[t->at]) != 0, "division by zero");
  }
  if (sum)
    know_sum(b);
}

#define MAX_TERMS 126

/* Sum, Mean: each input is a term. Of one it is that. */
void
lower_sum(builder *b)
{
  size_t n = b->node->n_in;
  rational *share = rationals(1);
  need(n <= MAX_TERMS, "more than 126 inputs");
  share_constants(b);
  value all = broadcast_all(b, n);
  need(all.constant == NULL, "its input must be an activation");
  if (n == 1)
    put(b, NULL, all.step, all.map, all.rank, all.dims);
  step *s = n > 1 ? add_step(b, LINEAR, n, all.rank, all.dims) : NULL;
  mpq_set_ui(share, 1, b->op[0] == 'M' ? n : 1);
  for (size_t i = 0; i < n && n > 1; i++) {
    value v = spread(b, &b->in[i], all.rank, all.dims);
    need(v.name != NULL, "an input is missing");
    for (size_t f = 0; f < s->n; f++)
      operand(b, s, f * n + i, &v, f)->coef = share;
  }
  b->out.at = all.at;
  b->out.inner = all.inner;
}

/* Neg of an activation is a step; a constant is marked as negated. */
void
lower_negation(builder *b)
{
  const value *x = &b->in[0];
  if (x->constant != NULL) {
    need(x->constant->real, "its input must be of floats");
    put(b, x->constant, 0, x->map, x->rank, x->dims);
    b->out.negated = !x->negated;
    return;
  }
  step *s = add_function(b, LINEAR, &b->in[0]);
  for (size_t f = 0; f < s->n; f++)
    s->factors[f].coef = &minus_one;
  s->turned = true;
}

/* GlobalAveragePool, over all axes but two; ReduceMean; ReduceSum, the same with shares of 1; ReduceSumSquare, that of squares,
 * and ReduceL2, its root; ReduceLogSum, the logarithm of a sum, and ReduceLogSumExp, that of exponentials. */
void
lower_mean(builder *b)
{
  const value *x = &b->in[0];
  bool global = b->op[0] == 'G', over[MAX_RANK] = {false};
  bool root = strcmp(b->op, "ReduceL2") == 0, square = root || (b->op[6] == 'S' && b->op[9] == 'S');
  bool logarithm = strncmp(b->op, "ReduceLog", 9) == 0, powers = strcmp(b->op, "ReduceLogSumExp") == 0;
  size_t kept[MAX_RANK], gone[MAX_RANK], stride[MAX_RANK], dims[MAX_RANK];
  long axes[MAX_RANK];
  bool named = !global && (b->in[1].name != NULL || find_attribute(b, "axes") != NULL);
  size_t count = named ? whole_list(b, 1, "axes", axes) : 0;
  need(x->constant == NULL && (!global || x->rank > 2), "its input must be an activation; of three axes or more");
  bool none = count == 0 && whole_attribute(b, "noop_with_empty_axes", 0) != 0;
  need(!square || (x->rank > 0 && !none), "squares of entries that are not added up");
  need(!logarithm || (x->rank > 0 && !none), "logarithms of entries that are not added up");
  if (global)
    need_rows(b, x);
  if (none) {
    put(b, NULL, x->step, x->map, x->rank, x->dims);
    put_split(b, x, over);
    return;
  }
  mark_axes(b, axes, count, x->rank, over);
  for (size_t i = 0; i < x->rank && count == 0; i++)
    over[i] = !global || i > 1;
  size_t n = split_axes(b, x, over, kept, gone, stride, dims);
  size_t *from = index_map(b, x->rank, kept, stride, NULL), *at = index_map(b, x->rank, gone, stride, NULL);
  value squares = *x;
  if (square) {
    put_products(b, x, x, x->rank, x->dims);
    squares = b->out;
    x = &squares;
  }
  if (powers) {
    put_function(b, F_EXP, x);
    squares = b->out;
    x = &squares;
  }
  step *s = add_step(b, LINEAR, product(gone, x->rank), n, dims);
  rational *share = rationals(1);
  mpq_set_ui(share, 1, b->op[6] == 'S' || root || logarithm ? 1 : s->width);
  for (size_t i = 0; i < s->n * s->width; i++)
    operand(b, s, i, x, from[i / s->width] + at[i % s->width])->coef = share;
  value sums = b->out;
  if (root || logarithm)
    put_function(b, root ? F_ROOT : F_LOG, &sums);
  put_split(b, &b->in[0], over);
}
