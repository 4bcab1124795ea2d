/* Operators that ONNX states by others (docs/operators.md). */
#include "check/onnx/stated.h"
#include "check/base/allocate.h"
#include "check/onnx/index.h"
#include "check/onnx/inner.h"

#include <string.h>

#define MOST_FACTORS 1024
#define MOST_BESIDE 126 /* channels, in LRN */
#define MOST_MAPPED ((size_t)1 << 26)

static value
whole(builder *b, long n)
{
  value v = made_numbers(b, 0, (size_t[]){0});
  mpq_set_si(v.constant->value, n, 1);
  return v;
}

/* That of an attribute; its default when the node has none. */
static value
attribute(builder *b, const char *name, float absent)
{
  rational *q = rationals(1);
  real_attribute(b, name, q, absent);
  return rational_of(b, q);
}

/* The root of 1 - x^2. */
static value
chord(builder *b, value x)
{
  return of(b, "Sqrt", with(b, "Sub", whole(b, 1), with(b, "Mul", x, x)));
}

/* Tan, Asin, Acos: sine over cosine; the angle whose tangent is x over the chord; twice that of the chord over 1 + x. */
void
lower_angle(builder *b)
{
  lift_alone(b);
  value x = b->in[0];
  if (b->op[0] == 'T')
    b->out = with(b, "Div", of(b, "Sin", x), of(b, "Cos", x));
  else if (b->op[1] == 's')
    b->out = of(b, "Atan", with(b, "Div", x, chord(b, x)));
  else
    b->out = with(b, "Mul", of(b, "Atan", with(b, "Div", chord(b, x), with(b, "Add", whole(b, 1), x))), whole(b, 2));
}

/* The logarithm of x + sqrt(x^2 + by). */
static value
area(builder *b, value x, long by)
{
  value root = of(b, "Sqrt", with(b, "Add", with(b, "Mul", x, x), whole(b, by)));
  return of(b, "Log", with(b, "Add", x, root));
}

void
lower_stated_function(builder *b)
{
  const char *op = b->op;
  lift_alone(b);
  for (size_t i = 0; i < b->node->n_in; i++)
    need(has_input(b, i) && b->in[i].count == b->in[0].count, "an input is missing, or inputs of several shapes");
  value x = b->in[0], y;
  if (op[0] == 'S' && op[1] == 'w') { /* SwiGLU */
    y = of(b, "Sigmoid", with(b, "Mul", x, attribute(b, "alpha", 1)));
    y = with(b, "Mul", with(b, "Mul", y, x), b->in[1]);
  } else if (strcmp(op, "Softsign") == 0)
    y = with(b, "Div", x, with(b, "Add", of(b, "Abs", x), whole(b, 1)));
  else if (op[0] == 'A' && op[1] != 't')
    y = area(b, x, op[1] == 's' ? 1 : -1);
  else if (op[0] == 'A') { /* half the logarithm of 1 + x less that of 1 - x */
    value up = of(b, "Log", with(b, "Add", whole(b, 1), x)), down = of(b, "Log", with(b, "Sub", whole(b, 1), x));
    y = with(b, "Div", with(b, "Sub", up, down), whole(b, 2));
  } else { /* half of exp(x) + exp(-x), or the difference */
    value up = of(b, "Exp", x), down = of(b, "Exp", of(b, "Neg", x));
    y = with(b, "Div", with(b, op[0] == 'C' ? "Add" : "Sub", up, down), whole(b, 2));
  }
  b->out = y;
}

/* x + by where the comparison with the number holds, and 0 elsewhere. */
static value
kept(builder *b, value x, const char *how, value limit, const value *by)
{
  value truth = with(b, how, x, limit);
  value share = inner_node(b, "Cast", 1, &truth, inner_whole("to", FLOAT));
  return with(b, "Mul", by != NULL ? with(b, "Add", x, *by) : x, share);
}

void
lower_threshold(builder *b)
{
  rational *bias = rationals(2), *limit = rationals(2);
  lift_alone(b);
  value x = b->in[0];
  if (strcmp(b->op, "ThresholdedRelu") == 0) {
    b->out = kept(b, x, "Greater", attribute(b, "alpha", 1), NULL);
    return;
  }
  real_attribute(b, "bias", &bias[0], 0);
  real_attribute(b, "lambd", &limit[0], 0.5F);
  need(mpq_sgn(&limit[0]) >= 0, "lambd is below 0");
  mpq_neg(&bias[1], &bias[0]);
  mpq_neg(&limit[1], &limit[0]);
  value more = rational_of(b, &bias[0]), less = rational_of(b, &bias[1]);
  value low = kept(b, x, "Less", rational_of(b, &limit[1]), &more);
  value high = kept(b, x, "Greater", rational_of(b, &limit[0]), &less);
  b->out = with(b, "Add", low, high);
}

/* ---- Norms */

/* Over n axes, or all: of x's sizes the sum, or the root of the sum of squares. */
static value
norm_of(builder *b, value x, long p, size_t n, const long *axes, bool keep)
{
  value in[2] = {p == 1 ? of(b, "Abs", x) : x};
  if (n > 0)
    in[1] = list_of(b, n, axes);
  return inner_node(b, p == 1 ? "ReduceSum" : "ReduceL2", 1 + (n > 0), in, inner_whole("keepdims", keep));
}

static long
power_of(const builder *b, long most)
{
  long p = whole_attribute(b, "p", 2);
  need(p >= 1 && p <= most, "p is below 1, or too large");
  return p;
}

void
lower_sizes(builder *b)
{
  long axes[MAX_RANK];
  bool named = b->in[1].name != NULL || find_attribute(b, "axes") != NULL;
  size_t n = named ? whole_list(b, 1, "axes", axes) : 0;
  lift_constant(b);
  need(n > 0 || whole_attribute(b, "noop_with_empty_axes", 0) == 0, "no axes, and noop_with_empty_axes");
  b->out = norm_of(b, b->in[0], 1, n, axes, whole_attribute(b, "keepdims", 1) != 0);
}

void
lower_by_norm(builder *b)
{
  long axis = whole_attribute(b, "axis", -1), p = power_of(b, 2);
  lift_constant(b);
  b->out = with(b, "Div", b->in[0], norm_of(b, b->in[0], p, 1, &axis, true));
}

/* Sums of what is in windows: a Conv by channel whose weights are ones. */
static value
window_sums(builder *b, value x)
{
  static const char *const passed[] = {"auto_pad", "dilations", "pads", "strides"};
  long kernel[MAX_RANK];
  size_t dims[MAX_RANK] = {x.dims[1], 1}, n = whole_list(b, 1, "kernel_shape", kernel), taken = 1;
  tensor *attributes = allocate(5, sizeof *attributes);
  attributes[0] = *inner_whole("group", (long)x.dims[1]);
  for (size_t i = 0; i < b->node->n_attributes; i++)
    for (size_t k = 0; k < 4; k++)
      if (strcmp(b->node->attributes[i].name, passed[k]) == 0 && taken < 5)
        attributes[taken++] = b->node->attributes[i];
  need(n + 2 == x.rank && whole_attribute(b, "ceil_mode", 0) == 0, "a kernel of other axes, or ceil_mode");
  for (size_t i = 0; i < n; i++) {
    need(kernel[i] > 0 && kernel[i] <= INT32_MAX, "no kernel");
    dims[i + 2] = (size_t)kernel[i];
  }
  value ones = made_numbers(b, x.rank, dims);
  for (size_t i = 0; i < ones.count; i++)
    mpq_set_ui(&ones.constant->value[i], 1, 1);
  return inner_node_of(b, "Conv", 2, (value[]){x, ones}, taken, attributes);
}

void
lower_norm(builder *b)
{
  long axes[MAX_RANK], p = power_of(b, b->op[0] == 'G' ? 2 : 8);
  lift_constant(b);
  value x = b->in[0];
  need(x.rank > 2, "not channels with axes behind them");
  for (size_t i = 2; i < x.rank; i++)
    axes[i - 2] = (long)i;
  if (b->op[0] == 'G') {
    b->out = norm_of(b, x, p, x.rank - 2, axes, true);
    return;
  }
  need(find_attribute(b, "kernel_shape") != NULL, "no kernel_shape");
  x = window_sums(b, with(b, "Pow", p % 2 != 0 ? of(b, "Abs", x) : x, whole(b, p)));
  if (p > 2)
    x = of(b, "Exp", with(b, "Div", of(b, "Log", x), whole(b, p)));
  b->out = p == 2 ? of(b, "Sqrt", x) : x;
}

/* LRN: x by a power of bias + alpha / size times the squares of the channels beside it, itself among them. */
void
lower_responses(builder *b)
{
  long size = whole_attribute(b, "size", 0), pads[2 * MAX_RANK] = {0};
  size_t dims[MAX_RANK];
  lift_constant(b);
  need(size > 0 && size <= MOST_BESIDE, "its size is not 1 to 126 channels");
  size_t rank = run_axes(b, 0, dims);
  need(rank >= 2, "it has no channels");
  pads[1] = (size - 1) / 2;
  pads[rank + 1] = size - 1 - pads[1];
  value x = b->in[0], squares = with(b, "Pad", with(b, "Mul", x, x), list_of(b, 2 * rank, pads));
  value *all = allocate((size_t)size, sizeof *all);
  for (long k = 0; k < size; k++) {
    long to = k + (long)dims[1], along = 1;
    all[k] = inner_node(b, "Slice", 4, (value[]){squares, list_of(b, 1, &k), list_of(b, 1, &to), list_of(b, 1, &along)},
                        NULL);
  }
  value y = inner_node(b, "Sum", (size_t)size, all, NULL);
  y = with(b, "Div", with(b, "Mul", y, attribute(b, "alpha", 1e-4F)), whole(b, size));
  y = with(b, "Pow", with(b, "Add", y, attribute(b, "bias", 1)), attribute(b, "beta", 0.75F));
  b->out = with(b, "Div", x, y);
}

/* AffineGrid: theta times (x, y, 1) or (x, y, z, 1), for places from -1 to 1 along each axis of an image. Theta is divided by the
 * lengths, so that places are whole numbers. */
void
lower_affine_grid(builder *b)
{
  bool corners = whole_attribute(b, "align_corners", 0) != 0;
  long size[MAX_RANK], shape[MAX_RANK] = {0};
  size_t dims[MAX_RANK], count = whole_list(b, 1, "", size), rows = 1;
  lift_constant(b);
  need(run_axes(b, 0, dims) == 3 && (dims[1] == 2 || dims[1] == 3) && dims[2] == dims[1] + 1,
       "theta is not (N, 2, 3) or (N, 3, 4)");
  size_t n = dims[1];
  need(count == n + 2 && size[0] == (long)dims[0], "its size is not of as many samples, channels and axes");
  for (size_t a = 0; a < n; a++) {
    shape[1 + a] = size[2 + a];
    need(size[2 + a] > corners && (size_t)size[2 + a] <= MOST_MAPPED / (rows * (n + 1)),
         "an axis is too short, or there are too many places");
    rows *= (size_t)size[2 + a];
  }
  shape[1 + n] = (long)n;
  value places = made_numbers(b, 2, (size_t[]){rows, n + 1}), lengths = made_numbers(b, 1, (size_t[]){n + 1});
  for (size_t a = 0; a <= n; a++)
    mpq_set_si(&lengths.constant->value[a], a < n ? size[1 + n - a] - corners : 1, 1);
  for (size_t row = 0; row < rows; row++) {
    size_t left = row;
    for (size_t a = 0; a <= n; a++) {
      long length = a < n ? size[1 + n - a] : 1, at = (long)(left % (size_t)length);
      mpq_set_si(&places.constant->value[row * (n + 1) + a], a < n ? 2 * at - length + 1 : 1, 1);
      left /= (size_t)length;
    }
  }
  value theta = with(b, "Div", b->in[0], lengths);
  theta = inner_node(b, "Transpose", 1, &theta, inner_list("perm", 3, (long[]){0, 2, 1}));
  b->out = inner_node(b, "Reshape", 2, (value[]){with(b, "MatMul", places, theta), list_of(b, n + 2, shape)}, NULL);
}

/* ---- Matrices, means */

#define MOST_ROWS 6

/* The determinant of the rows from `row` on, of the columns that are left: along the first of these. */
static value
minor_of(builder *b, value entries[MOST_ROWS][MOST_ROWS], size_t n, unsigned rows, size_t column)
{
  value sum = {0};
  bool first = true, minus = false;
  for (size_t row = 0; row < n; row++) {
    if ((rows >> row & 1) == 0)
      continue;
    value part = entries[row][column];
    if (column + 1 < n)
      part = with(b, "Mul", part, minor_of(b, entries, n, rows & ~(1U << row), column + 1));
    sum = first ? part : with(b, minus ? "Sub" : "Add", sum, part);
    first = false;
    minus = !minus;
  }
  return sum;
}

void
lower_determinant(builder *b)
{
  value x = b->in[0], entries[MOST_ROWS][MOST_ROWS];
  need(x.rank >= 2 && x.dims[x.rank - 1] == x.dims[x.rank - 2] && x.dims[x.rank - 1] >= 1
           && x.dims[x.rank - 1] <= MOST_ROWS,
       "its last two axes are no square matrix of at most 6 rows");
  need(!on_batch(b, &x, x.rank - 1) && !on_batch(b, &x, x.rank - 2), "the batch's axis");
  size_t n = x.dims[x.rank - 1];
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      long from[2] = {(long)i, (long)j}, to[2] = {(long)i + 1, (long)j + 1}, along[2] = {-2, -1};
      entries[i][j] =
          inner_node(b, "Slice", 4, (value[]){x, list_of(b, 2, from), list_of(b, 2, to), list_of(b, 2, along)}, NULL);
    }
  b->out = with(b, "Squeeze", minor_of(b, entries, n, (1U << n) - 1, 0), list_of(b, 2, (long[]){-2, -1}));
}

/* MeanVarianceNormalization: what is left of x less its mean, by the root of the mean of squares less the mean's square. */
void
lower_deviation(builder *b)
{
  long axes[MAX_RANK] = {0, 2, 3};
  size_t n = find_attribute(b, "axes") != NULL ? whole_list(b, 1, "axes", axes) : 3;
  value x = b->in[0], over = list_of(b, n, axes);
  value mean = with(b, "ReduceMean", x, over), squares = with(b, "ReduceMean", with(b, "Mul", x, x), over);
  value spread = of(b, "Sqrt", with(b, "Sub", squares, with(b, "Mul", mean, mean)));
  rational *least = rationals(1);
  mpq_set_d(least, (double)1e-9F);
  b->out = with(b, "Div", with(b, "Sub", x, mean), with(b, "Add", spread, rational_of(b, least)));
}

/* ---- Products along an axis */

/* Place i of the axis. */
static value
at_place(builder *b, const value *x, size_t axis, size_t i)
{
  long from = (long)i, to = from + 1, along = (long)axis;
  return inner_node(b, "Slice", 4, (value[]){*x, list_of(b, 1, &from), list_of(b, 1, &to), list_of(b, 1, &along)},
                    NULL);
}

/* Each entry is those before it and itself, one operator after another. */
static void
run_along(builder *b, const char *op, long none)
{
  bool reverse = whole_attribute(b, "reverse", 0) != 0, exclusive = whole_attribute(b, "exclusive", 0) != 0;
  long along[MAX_RANK];
  const value *x = &b->in[0];
  need(whole_list(b, 1, "", along) == 1, "not one axis");
  size_t axis = axis_of(b, along[0], x->rank), n = x->dims[axis];
  need(!on_batch(b, x, axis) && n > 0 && n <= MOST_FACTORS, "the batch's axis, or too many factors");
  value *all = allocate(n, sizeof *all), so_far = *x;
  for (size_t k = 0; k < n; k++) {
    size_t i = reverse ? n - 1 - k : k;
    value here = at_place(b, x, axis, i), next = k > 0 ? with(b, op, so_far, here) : here;
    all[i] = next;
    if (exclusive)
      all[i] = k > 0 ? so_far : with(b, "Add", with(b, "Mul", here, whole(b, 0)), whole(b, none));
    so_far = next;
  }
  b->out = inner_node(b, "Concat", n, all, inner_whole("axis", (long)axis));
}

void
lower_running_product(builder *b)
{
  lift_constant(b);
  run_along(b, "Mul", 1);
}

void
lower_running_activation(builder *b)
{
  run_along(b, "Add", 0);
}

/* The products of all entries that agree on the axes that stay: one after another of those that go. */
void
lower_product_over(builder *b, size_t n, const long *axes)
{
  const value *x = &b->in[0];
  bool over[MAX_RANK] = {false}, keep = whole_attribute(b, "keepdims", 1) != 0;
  long gone[MAX_RANK];
  size_t many = 0;
  value y = *x;
  mark_axes(b, axes, n, x->rank, over);
  for (size_t a = 0; a < x->rank && n == 0; a++)
    over[a] = x->rank > 0 && whole_attribute(b, "noop_with_empty_axes", 0) == 0;
  for (size_t a = 0; a < x->rank; a++) {
    if (!over[a])
      continue;
    need(!on_batch(b, x, a) && x->dims[a] > 0 && x->dims[a] <= MOST_FACTORS, "the batch's axis, or too many factors");
    value part = at_place(b, &y, a, 0);
    for (size_t i = 1; i < x->dims[a]; i++)
      part = with(b, "Mul", part, at_place(b, &y, a, i));
    y = part;
    gone[many++] = (long)a;
  }
  if (many > 0 && !keep)
    y = inner_node(b, "Squeeze", 2, (value[]){y, list_of(b, many, gone)}, NULL);
  b->out = many > 0 ? y : inner_of(b, "Identity", &y, NULL);
}

/* ---- Choices */

/* Entry e of a constant of integers, or of floats that are whole and small: a number, which no parameter may be. */
static long
whole_number(const builder *b, const value *v, size_t e)
{
  need(v->constant != NULL && odd_entry(v, e) == 0, "its places or depth are no constants");
  const rational *q = &v->constant->value[v->map[e]];
  need(mpz_cmp_ui(mpq_denref(q), 1) == 0 && mpz_cmpabs_ui(mpq_numref(q), INT32_MAX) <= 0,
       "no whole number, or too large");
  v->constant->number = v->constant->number || v->constant->real;
  return mpz_get_si(mpq_numref(q));
}

/* OneHot of computed places: one value times the ones, and the other times what is left. */
static void
choose_computed(builder *b, size_t depth)
{
  value *v = &b->in[2], of_two[2];
  size_t rank = b->in[0].rank + 1, axis = axis_of(b, whole_attribute(b, "axis", -1), rank);
  long order[MAX_RANK];
  need(v->rank == 1 && v->count == 2 && rank <= MAX_RANK && !v->negated, "its values are no two");
  need(v->constant != NULL ? v->constant->real && odd_entry(v, 0) == 0 && odd_entry(v, 1) == 0 : !is_batch(b, v),
       "its values are no floats, or have a batch axis");
  for (size_t i = 0; i < 2; i++)
    of_two[i] = v->constant != NULL ? rational_of(b, &v->constant->value[v->map[i]]) : at_place(b, v, 0, i);
  if (v->constant != NULL)
    v->constant->number = true;
  for (size_t a = 0; a < rank; a++)
    order[a] = (long)(a < axis ? a : a > axis ? a - 1 : rank - 1);
  value ones = ones_at(b, b->in[0], depth), none;
  ones = inner_node(b, "Transpose", 1, &ones, inner_list("perm", rank, order));
  none = with(b, "Mul", with(b, "Sub", whole(b, 1), ones), of_two[0]);
  b->out = with(b, "Add", with(b, "Mul", ones, of_two[1]), none);
}

void
lower_one_hot(builder *b)
{
  const value *places = &b->in[0], *values = &b->in[2];
  long depth = 0, shape[MAX_RANK];
  size_t n = places->count, rank = places->rank + 1, behind = 1;
  need(b->in[1].constant != NULL && b->in[1].count == 1 && !places->negated && !b->in[1].negated,
       "its depth is no constant number");
  depth = whole_number(b, &b->in[1], 0);
  need(depth > 0, "its depth is not above 0");
  if (is_computed(places)) {
    choose_computed(b, (size_t)depth);
    return;
  }
  need(values->constant == NULL && values->rank == 1 && values->count == 2 && !is_batch(b, values) && rank <= MAX_RANK,
       "its values are no two of an activation without a batch axis");
  need(n > 0 && (size_t)depth <= MOST_MAPPED / n, "no places, or too many entries");
  size_t axis = axis_of(b, whole_attribute(b, "axis", -1), rank);
  for (size_t i = 0; i < rank; i++)
    shape[i] = i == axis ? depth : (long)places->dims[i - (i > axis)];
  for (size_t i = axis; i < places->rank; i++)
    behind *= places->dims[i];
  long *which = allocate(n * (size_t)depth, sizeof *which);
  for (size_t i = 0; i < n; i++) {
    long at = whole_number(b, places, i);
    need(at >= 0 || b->opset >= 11, "a place below 0, which is none before operator set 11");
    at = at < 0 ? at + depth : at;
    if (at >= 0 && at < depth)
      which[(i / behind * (size_t)depth + (size_t)at) * behind + i % behind] = 1;
  }
  value flat =
      inner_node(b, "Gather", 2, (value[]){*values, list_of(b, n * (size_t)depth, which)}, inner_whole("axis", 0));
  b->out = inner_node(b, "Reshape", 2, (value[]){flat, list_of(b, rank, shape)}, NULL);
}

/* The attribute's floats: one for each of the features, or one for all. */
static value
numbers_by_feature(const builder *b, const char *name, size_t features)
{
  const tensor *t = find_attribute(b, name);
  need(t != NULL && t->real && t->odd == NULL && (t->count == 1 || t->count == features),
       "offset or scale is no list of a number for each feature, or of one for all");
  value v = made_numbers(b, 1, &t->count);
  for (size_t i = 0; i < t->count; i++)
    mpq_set(&v.constant->value[i], &t->value[i]);
  return v;
}

/* Each feature, on the last of one or two axes, less its offset, times its scale. */
void
lower_scaler(builder *b)
{
  size_t dims[MAX_RANK], rank = run_axes(b, 0, dims);
  need(rank == 1 || rank == 2, "its input has not one or two axes");
  value offset = numbers_by_feature(b, "offset", dims[rank - 1]),
        scale = numbers_by_feature(b, "scale", dims[rank - 1]);
  need(offset.count == scale.count, "offset and scale have different numbers of entries");
  b->out = with(b, "Mul", with(b, "Sub", b->in[0], offset), scale);
}
