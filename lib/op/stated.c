/* Operators that ONNX states by others, node by node: functions, products along axes, and choices by constants. */
#include "op/axes.h"
#include "op/index.h"
#include "op/lower.h"
#include "op/node.h"
#include "op/reduction.h"
#include "op/stated.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Functions: their formulas, each operator behind what it takes. $0 is input 0, @alpha an attribute. --- */

static const struct {
  const char *op, *formula;
} formulas[] = {
  {"Acos", "1 $0 $0 Mul Sub Sqrt 1 $0 Add Div Atan 2 Mul"},
  {"Acosh", "$0 $0 $0 Mul 1 Sub Sqrt Add Log"},
  {"Asin", "$0 1 $0 $0 Mul Sub Sqrt Div Atan"},
  {"Asinh", "$0 $0 $0 Mul 1 Add Sqrt Add Log"},
  {"Atanh", "1 $0 Add Log 1 $0 Sub Log Sub 2 Div"},
  {"Cosh", "$0 Exp $0 Neg Exp Add 2 Div"},
  {"Shrink", "$0 @bias Add $0 @-lambd Less Cast Mul $0 @bias Sub $0 @lambd Greater Cast Mul Add"},
  {"Sinh", "$0 Exp $0 Neg Exp Sub 2 Div"},
  {"Softsign", "$0 $0 Abs 1 Add Div"},
  {"SwiGLU", "$0 @alpha Mul Sigmoid $0 Mul $1 Mul"},
  {"Tan", "$0 Sin $0 Cos Div"},
  {"ThresholdedRelu", "$0 $0 @alpha Greater Cast Mul"},
};

#define MOST_STACKED 8
#define WORD 16

/* The number that an attribute has, or minus it; what it is when the node does not say. */
static size_t
attribute(clarke_lowering *low, const char *name, clarke_error *err)
{
  const bool minus = name[0] == '-';
  const double absent = strcmp(name + minus, "alpha") == 0 ? 1 : strcmp(name + minus, "lambd") == 0 ? 0.5 : 0;
  const double number = clarke_lower_float(low, name + minus, absent);

  return clarke_inner_number(low, minus ? -number : number, err);
}

/* The operator's value of the last one or two of the stack, which become it. */
static void
apply(clarke_lowering *low, const char *op, size_t *stack, size_t *n, clarke_error *err)
{
  static const char two[] = " Add Sub Mul Div Less Greater ";
  const clarke_attr to = clarke_inner_int("to", 1);
  char name[WORD + 3] = " ";

  strcat(strcat(name, op), " ");
  if (strstr(two, name) != NULL) {
    *n -= 1;
    stack[*n - 1] = clarke_inner_of(low, op, stack[*n - 1], stack[*n], err);
  } else if (strcmp(op, "Cast") != 0)
    stack[*n - 1] = clarke_inner_function(low, op, stack[*n - 1], err);
  else if (stack[*n - 1] != CLARKE_NONE)
    stack[*n - 1] = clarke_inner_node(low, op, &stack[*n - 1], 1, &to, 1, err);
}

static size_t
value_of(clarke_lowering *low, const char *formula, clarke_error *err)
{
  size_t stack[MOST_STACKED], n = 0;
  char word[WORD];

  for (const char *at = formula; *at != '\0'; at += *at == ' ') {
    const size_t length = strcspn(at, " ");

    memcpy(word, at, length);
    word[length] = '\0';
    at += length;
    if (word[0] == '$')
      stack[n++] = low->in[word[1] - '0'];
    else if (word[0] == '@')
      stack[n++] = attribute(low, word + 1, err);
    else if (word[0] >= '0' && word[0] <= '9')
      stack[n++] = clarke_inner_number(low, (double)(word[0] - '0'), err);
    else
      apply(low, word, stack, &n, err);
    if (stack[n - 1] == CLARKE_NONE)
      return CLARKE_NONE;
  }
  return stack[0];
}

static clarke_status
lower_formula(clarke_lowering *low, clarke_error *err)
{
  clarke_status status = clarke_lower_lift(low, err);
  size_t i = 0;

  for (size_t k = 0; k < low->n_in && status == CLARKE_OK; k++)
    if (!clarke_lower_has(low, k))
      status = clarke_lower_fail(low, err, "input %zu is missing", k);
  if (status == CLARKE_OK && low->n_in > 1 && clarke_lower_value(low, 0)->count != clarke_lower_value(low, 1)->count)
    status = clarke_lower_fail(low, err, "inputs of several shapes");
  if (status == CLARKE_OK && !(clarke_lower_float(low, "lambd", 0) >= 0))
    status = clarke_lower_fail(low, err, "lambd is %g; expected 0 or more", clarke_lower_float(low, "lambd", 0));
  if (status != CLARKE_OK)
    return status;
  while (strcmp(formulas[i].op, low->node->op_type) != 0)
    i++;
  return clarke_inner_done(low, 0, value_of(low, formulas[i].formula, err), err);
}

/* --- Norms --- */

/* The value's norm over the axes: the sum of sizes, or the root of the sum of squares. */
static size_t
norm_of(clarke_lowering *low, size_t value, int64_t p, const int64_t *axes, size_t n, bool keep, clarke_error *err)
{
  const clarke_attr kept = clarke_inner_int("keepdims", keep);
  const size_t x = p == 1 ? clarke_inner_function(low, "Abs", value, err) : value;
  const size_t list = n > 0 && x != CLARKE_NONE ? clarke_inner_integers(low, axes, n, err) : CLARKE_NONE;

  if (x == CLARKE_NONE || (n > 0 && list == CLARKE_NONE))
    return CLARKE_NONE;
  return clarke_inner_node(low, p == 1 ? "ReduceSum" : "ReduceL2", (size_t[]){x, list}, n > 0 ? 2 : 1, &kept, 1, err);
}

static clarke_status
read_power(const clarke_lowering *low, int64_t most, int64_t *p, clarke_error *err)
{
  *p = clarke_lower_int(low, "p", 2);
  return *p >= 1 && *p <= most
           ? CLARKE_OK
           : clarke_lower_fail(low, err, "p is %lld; expected a number from 1 to %lld", (long long)*p, (long long)most);
}

/* The sum's root: of more than two its logarithm's part's exponential. */
static size_t
root_of(clarke_lowering *low, int64_t p, size_t sum, clarke_error *err)
{
  if (p <= 2)
    return p == 1 ? sum : clarke_inner_function(low, "Sqrt", sum, err);
  sum = clarke_inner_of(low, "Div", clarke_inner_function(low, "Log", sum, err), clarke_inner_number(low, (double)p, err), err);
  return clarke_inner_function(low, "Exp", sum, err);
}

static clarke_status
lower_reduced_sizes(clarke_lowering *low, clarke_error *err)
{
  const int64_t *list;
  size_t n;
  bool given;
  clarke_status status = clarke_lower_first(low, err);

  if (status == CLARKE_OK)
    status = clarke_axes_list(low, "axes", 1, &list, &n, &given, err);
  if (status == CLARKE_OK && n == 0 && clarke_lower_int(low, "noop_with_empty_axes", 0) != 0)
    status = clarke_lower_fail(low, err, "no axes, and noop_with_empty_axes: runtimes differ in what is left as it is");
  if (status != CLARKE_OK)
    return status;
  return clarke_inner_done(low, 0, norm_of(low, low->in[0], 1, list, n, clarke_lower_int(low, "keepdims", 1) != 0, err), err);
}

static clarke_status
lower_divided_by_norm(clarke_lowering *low, clarke_error *err)
{
  const int64_t axis = clarke_lower_int(low, "axis", -1);
  int64_t p;
  size_t norm;
  clarke_status status = read_power(low, 2, &p, err);

  if (status == CLARKE_OK)
    status = clarke_lower_first(low, err);
  if (status != CLARKE_OK)
    return status;
  norm = norm_of(low, low->in[0], p, &axis, 1, true, err);
  return clarke_inner_done(low, 0, clarke_inner_of(low, "Div", low->in[0], norm, err), err);
}

static clarke_status
lower_global_norm(clarke_lowering *low, clarke_error *err)
{
  int64_t p, axes[CLARKE_MAX_WHOLE];
  size_t dims[CLARKE_MAX_WHOLE], rank;
  clarke_status status = read_power(low, 2, &p, err);

  if (status == CLARKE_OK)
    status = clarke_lower_first(low, err);
  if (status != CLARKE_OK)
    return status;
  rank = clarke_axes_whole(low, 0, dims);
  if (rank < 3)
    return clarke_lower_fail(low, err, "an input of %zu axes; expected a batch, channels and one axis or more", rank);
  for (size_t a = 2; a < rank; a++)
    axes[a - 2] = (int64_t)a;
  return clarke_inner_done(low, 0, norm_of(low, low->in[0], p, axes, rank - 2, true, err), err);
}

/* The norm of each window: a Conv by channel, whose weights are ones, of sizes or squares. */
static clarke_status
lower_norm_pool(clarke_lowering *low, clarke_error *err)
{
  static const char *const passed[] = {"auto_pad", "dilations", "pads", "strides"};
  const clarke_attr *kernel = clarke_model_attr(low->node, "kernel_shape");
  size_t dims[CLARKE_MAX_WHOLE], n = 1, ones, x;
  clarke_attr attr[5];
  int64_t p;
  clarke_status status = read_power(low, 8, &p, err);

  if (status == CLARKE_OK)
    status = clarke_lower_first(low, err);
  if (status != CLARKE_OK)
    return status;
  if (kernel == NULL || clarke_axes_whole(low, 0, dims) != kernel->n + 2 || clarke_lower_int(low, "ceil_mode", 0) != 0)
    return clarke_lower_fail(low, err, "expected a kernel_shape of all axes behind the channels, and no ceil_mode");
  attr[0] = clarke_inner_int("group", (int64_t)dims[1]);
  for (size_t i = 0; i < 4; i++)
    if (clarke_model_attr(low->node, passed[i]) != NULL)
      attr[n++] = *clarke_model_attr(low->node, passed[i]);
  dims[0] = dims[1];
  dims[1] = 1;
  for (size_t a = 0; a < kernel->n; a++) {
    if (kernel->ints[a] < 1 || kernel->ints[a] > INT32_MAX)
      return clarke_lower_fail(low, err, "kernel_shape has %lld", (long long)kernel->ints[a]);
    dims[a + 2] = (size_t)kernel->ints[a];
  }
  status = clarke_lower_made(low, kernel->n + 2, dims, &ones, err);
  for (size_t i = 0; status == CLARKE_OK && i < low->graph->values[ones].count; i++)
    low->graph->values[ones].real[i] = 1;
  if (status != CLARKE_OK)
    return status;
  x = p % 2 != 0 ? clarke_inner_function(low, "Abs", low->in[0], err) : low->in[0];
  x = clarke_inner_of(low, "Pow", x, clarke_inner_number(low, (double)p, err), err);
  x = x != CLARKE_NONE ? clarke_inner_node(low, "Conv", (size_t[]){x, ones}, 2, attr, n, err) : x;
  return clarke_inner_done(low, 0, root_of(low, p, x, err), err);
}

/* --- Products along an axis --- */

#define MOST_FACTORS 1024

/* Which axis: one constant integer; *n is its length. */
static clarke_status
read_axis(clarke_lowering *low, size_t *axis, size_t *n, clarke_error *err)
{
  const int64_t *list;
  size_t count, dims[CLARKE_MAX_WHOLE], rank;
  clarke_status status = clarke_lower_integers(low, 1, &list, &count, err);

  if (status == CLARKE_OK && count != 1)
    status = clarke_lower_fail(low, err, "the axis is no one number");
  rank = clarke_axes_whole(low, 0, dims);
  if (status == CLARKE_OK)
    status = clarke_axes_resolve(low, list[0], rank, axis, err);
  if (status == CLARKE_OK)
    status = clarke_axes_apart(low, 0, *axis, err);
  if (status != CLARKE_OK)
    return status;
  *n = dims[*axis];
  return *n >= 1 && *n <= MOST_FACTORS ? CLARKE_OK
                                       : clarke_lower_fail(low, err, "%zu factors; from 1 to %d are taken", *n, MOST_FACTORS);
}

/* All entries up to each, or from it on; the first of them left out of each where that is asked for, and 1 where there is none. Of
 * CumSum the sum of these, and 0. */
clarke_status
clarke_lower_running(clarke_lowering *low, clarke_error *err)
{
  const bool sum = strcmp(low->node->op_type, "CumSum") == 0;
  const char *op = sum ? "Add" : "Mul";
  const bool reverse = clarke_lower_int(low, "reverse", 0) != 0, exclusive = clarke_lower_int(low, "exclusive", 0) != 0;
  size_t axis = 0, n = 0, product[MOST_FACTORS], so_far = CLARKE_NONE;
  clarke_status status = clarke_lower_first(low, err);

  if (status == CLARKE_OK)
    status = read_axis(low, &axis, &n, err);
  for (size_t k = 0; k < n && status == CLARKE_OK; k++) {
    const size_t i = reverse ? n - 1 - k : k, x = clarke_inner_sliced(low, low->in[0], axis, i, i + 1, err);
    const size_t next = so_far == CLARKE_NONE ? x : clarke_inner_of(low, op, so_far, x, err);

    product[i] = next;
    if (exclusive) /* of none it is 1, or 0: entries times 0, plus that */
      product[i] = so_far != CLARKE_NONE
                     ? so_far
                     : clarke_inner_of(low, "Add", clarke_inner_of(low, "Mul", x, clarke_inner_number(low, 0, err), err),
                                       clarke_inner_number(low, sum ? 0 : 1, err), err);
    so_far = next;
    if (next == CLARKE_NONE || product[i] == CLARKE_NONE)
      status = clarke_inner_failed(err);
  }
  return status == CLARKE_OK ? clarke_inner_done(low, 0, clarke_inner_joined(low, product, n, axis, err), err) : status;
}

/* The product of the entries along the axis, which stays with one. */
static size_t
product_along(clarke_lowering *low, size_t value, size_t axis, size_t n, clarke_error *err)
{
  size_t y = CLARKE_NONE;

  if (n > MOST_FACTORS) {
    clarke_lower_fail(low, err, "%zu factors; at most %d are taken", n, MOST_FACTORS);
    return CLARKE_NONE;
  }
  for (size_t i = 0; i < n && (i == 0 || y != CLARKE_NONE); i++) {
    const size_t x = clarke_inner_sliced(low, value, axis, i, i + 1, err);

    y = i == 0 ? x : clarke_inner_of(low, "Mul", y, x, err);
  }
  return y;
}

clarke_status
clarke_lower_reduced_product(clarke_lowering *low, clarke_error *err)
{
  clarke_reduced_axes r = {0};
  int64_t gone[CLARKE_MAX_WHOLE];
  size_t n = 0, y, list;
  clarke_status status = clarke_reduction_read(&r, low, "product", err);

  if (status != CLARKE_OK)
    return status;
  y = low->in[0];
  for (size_t a = 0; a < r.rank && y != CLARKE_NONE && !r.none; a++)
    if (r.reduced[a]) {
      y = product_along(low, y, a, r.dims[a], err);
      gone[n++] = (int64_t)a;
    }
  if (n > 0 && !r.keep && y != CLARKE_NONE) {
    list = clarke_inner_integers(low, gone, n, err);
    y = clarke_inner_of(low, "Squeeze", y, list, err);
  }
  return clarke_inner_done(low, 0, y, err);
}

/* --- Choices by constants --- */

/* Are input i's entries, of a constant, whole numbers of 32 bits? Of floats they are numbers that no parameter may be. */
static clarke_status
check_whole(clarke_lowering *low, size_t i, clarke_error *err)
{
  clarke_value *v = clarke_lower_has(low, i) ? &low->graph->values[low->in[i]] : NULL;

  if (v == NULL || !v->constant || v->negated)
    return clarke_lower_fail(low, err, "input %zu must be a constant", i);
  for (size_t e = 0; e < v->count; e++) {
    const double number = v->real != NULL ? v->real[e] : (double)v->integer[e];

    if (!(fabs(number) <= INT32_MAX && number == rint(number)))
      return clarke_lower_fail(low, err, "input %zu, entry %zu: no whole number, or too large", i, e);
  }
  v->bound = v->bound || v->real != NULL;
  return CLARKE_OK;
}

static int64_t
whole_entry(const clarke_value *v, size_t e)
{
  return v->real != NULL ? (int64_t)v->real[e] : v->integer[e];
}

/* 1 where a place is named, along the axis. */
static void
fill_places(int64_t *which, const clarke_value *places, size_t depth, size_t inner)
{
  for (size_t f = 0; f < places->count * depth; f++) {
    const int64_t place = whole_entry(places, f / inner / depth * inner + f % inner), at = (int64_t)(f / inner % depth);

    which[f] = at == (place < 0 ? place + (int64_t)depth : place);
  }
}

static clarke_status
read_depth(clarke_lowering *low, int64_t *depth, clarke_error *err)
{
  const clarke_status status = check_whole(low, 1, err);

  if (status != CLARKE_OK)
    return status;
  *depth = clarke_lower_value(low, 1)->count == 1 ? whole_entry(clarke_lower_value(low, 1), 0) : 0;
  return *depth > 0 ? CLARKE_OK : clarke_lower_fail(low, err, "the depth is no number above 0");
}

/* OneHot of computed places: the values are an activation's, or two numbers, which no parameter is. */
static clarke_status
choose_computed(clarke_lowering *low, clarke_error *err)
{
  clarke_value *v = clarke_lower_has(low, 2) ? &low->graph->values[low->in[2]] : NULL;
  int64_t order[CLARKE_MAX_WHOLE + 1], depth;
  size_t value[2], ones, none, axis, dims[CLARKE_MAX_WHOLE], rank = clarke_axes_whole(low, 0, dims) + 1;
  clarke_status status = read_depth(low, &depth, err);

  if (status == CLARKE_OK)
    status = clarke_axes_resolve(low, clarke_lower_int(low, "axis", -1), rank, &axis, err);
  if (status != CLARKE_OK)
    return status;
  if (v == NULL || v->rank != 1 || v->count != 2 || (v->constant ? v->real == NULL || v->negated : low->graph->batched && !v->batch.none))
    return clarke_lower_fail(low, err, "input 2 must be two floats, without a batch axis");
  v->bound = v->constant;
  for (size_t i = 0; i < 2; i++) {
    v = &low->graph->values[low->in[2]]; /* values may move as they are made */
    value[i] = v->constant ? clarke_inner_number(low, v->real[i], err) : clarke_inner_sliced(low, low->in[2], 0, i, i + 1, err);
  }
  ones = clarke_index_ones(low, 0, (size_t)depth, err);
  for (size_t a = 0; a < rank; a++)
    order[a] = (int64_t)(a < axis ? a : a == axis ? rank - 1 : a - 1);
  ones = clarke_inner_transposed(low, ones, order, rank, err);
  if (ones == CLARKE_NONE)
    return clarke_inner_failed(err);
  none = clarke_inner_of(low, "Sub", clarke_inner_number(low, 1, err), ones, err);
  ones = clarke_inner_of(low, "Mul", ones, value[1], err);
  return clarke_inner_done(low, 0, clarke_inner_of(low, "Add", ones, clarke_inner_of(low, "Mul", none, value[0], err), err), err);
}

/* OneHot: of two values the second at each place, else the first. */
static clarke_status
lower_one_hot(clarke_lowering *low, clarke_error *err)
{
  int64_t dims[CLARKE_MAX_RANK], depth, *which;
  size_t n, rank, axis, inner = 1, all, value;
  const clarke_attr along = clarke_inner_int("axis", 0);
  clarke_status status;

  if (clarke_index_is_computed(low, 0))
    return choose_computed(low, err);
  status = check_whole(low, 0, err);
  if (status == CLARKE_OK)
    status = read_depth(low, &depth, err);
  if (status != CLARKE_OK)
    return status;
  n = clarke_lower_value(low, 0)->count;
  for (size_t e = 0; e < n; e++)
    if (low->opset < 11 && whole_entry(clarke_lower_value(low, 0), e) < 0)
      return clarke_lower_fail(low, err, "place %zu is below 0, which is none before operator set 11", e);
  rank = clarke_lower_value(low, 0)->rank + 1;
  if (n == 0 || rank > CLARKE_MAX_RANK || (size_t)depth > CLARKE_MAX_MAP / n)
    return clarke_lower_fail(low, err, "too many entries, or no places");
  status = clarke_axes_resolve(low, clarke_lower_int(low, "axis", -1), rank, &axis, err);
  if (status == CLARKE_OK && (!clarke_lower_has(low, 2) || clarke_lower_value(low, 2)->constant || clarke_lower_value(low, 2)->rank != 1
                              || clarke_lower_value(low, 2)->count != 2 || !(!low->graph->batched || clarke_lower_value(low, 2)->batch.none)))
    status = clarke_lower_fail(low, err, "input 2 must be an activation of two entries, without a batch axis");
  if (status != CLARKE_OK)
    return status;
  for (size_t a = 0; a < rank; a++)
    dims[a] = a == axis ? depth : (int64_t)clarke_lower_value(low, 0)->dims[a - (a > axis)];
  for (size_t a = axis + 1; a < rank; a++)
    inner *= (size_t)dims[a];
  all = n * (size_t)depth;
  which = clarke_lower_affordable(low->graph, all) ? calloc(all + 1, sizeof *which) : NULL;
  if (which == NULL)
    return clarke_lower_too_large(low, err);
  fill_places(which, clarke_lower_value(low, 0), (size_t)depth, inner);
  value = clarke_inner_integers(low, which, all, err);
  free(which);
  value = value != CLARKE_NONE ? clarke_inner_node(low, "Gather", (size_t[]){low->in[2], value}, 2, &along, 1, err) : value;
  return clarke_inner_done(low, 0, clarke_inner_reshaped(low, value, dims, rank, err), err);
}

#define FORMULA .lower = lower_formula, .batch = CLARKE_BATCH_ANY

const clarke_op clarke_ops_stated[] = {
  {.name = "Acos", .forms = {{7, 1, 1, 1, NULL}}, FORMULA},
  {.name = "Acosh", .forms = {{9, 1, 1, 1, NULL}}, FORMULA},
  {.name = "Asin", .forms = {{7, 1, 1, 1, NULL}}, FORMULA},
  {.name = "Asinh", .forms = {{9, 1, 1, 1, NULL}}, FORMULA},
  {.name = "Atanh", .forms = {{9, 1, 1, 1, NULL}}, FORMULA},
  {.name = "Cosh", .forms = {{9, 1, 1, 1, NULL}}, FORMULA},
  {.name = "CumProd", .forms = {{26, 2, 2, 1, "exclusive:b reverse:b"}}, .lower = clarke_lower_running, .batch = CLARKE_BATCH_ANY},
  {.name = "GlobalLpPool", .forms = {{7, 1, 1, 1, "p:i"}}, .lower = lower_global_norm, .batch = CLARKE_BATCH_ANY},
  {.name = "LpNormalization", .forms = {{7, 1, 1, 1, "axis:i p:i"}}, .lower = lower_divided_by_norm, .batch = CLARKE_BATCH_ANY},
  {.name = "LpPool",
   .forms = {{7, 1, 1, 1, "auto_pad:s kernel_shape:I p:i pads:I strides:I"},
             {18, 1, 1, 1, "auto_pad:s ceil_mode:b dilations:I kernel_shape:I p:i pads:I strides:I"}},
   .lower = lower_norm_pool, .batch = CLARKE_BATCH_ANY},
  {.name = "OneHot", .forms = {{9, 3, 3, 1, "axis:i"}}, .lower = lower_one_hot, .batch = CLARKE_BATCH_ANY},
  {.name = "ReduceL1",
   .forms = {{7, 1, 1, 1, "axes:I keepdims:b"}, {18, 1, 2, 1, "keepdims:b noop_with_empty_axes:b"}},
   .lower = lower_reduced_sizes, .batch = CLARKE_BATCH_ANY},
  {.name = "Shrink", .forms = {{9, 1, 1, 1, "bias:f lambd:f"}}, FORMULA},
  {.name = "Sinh", .forms = {{9, 1, 1, 1, NULL}}, FORMULA},
  {.name = "Softsign", .forms = {{7, 1, 1, 1, NULL}}, FORMULA},
  {.name = "SwiGLU", .forms = {{28, 2, 2, 1, "alpha:f"}}, FORMULA},
  {.name = "Tan", .forms = {{7, 1, 1, 1, NULL}}, FORMULA},
  {.name = "ThresholdedRelu", .forms = {{10, 1, 1, 1, "alpha:f"}}, FORMULA},
  {.name = NULL},
};
