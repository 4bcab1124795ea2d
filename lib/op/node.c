#include "op/node.h"

#include "op/lower.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Entries that are minus infinity: a Softmax, what casts them, adds to them, takes the largest, or compares them. */
static bool
takes_marked(const char *op)
{
  static const char all[] = " Softmax Cast CastLike Identity Pad Add ReduceMax SharedMax Where Equal Less LessOrEqual Greater GreaterOrEqual ";
  char name[66];

  snprintf(name, sizeof name, " %.63s ", op);
  return strstr(all, name) != NULL;
}

/* Rows of a Softmax that are NaN: what copies them, and a Where, which may choose others. */
static clarke_status
check_undefined(const clarke_lowering *low, size_t i, clarke_error *err)
{
  static const char takes[] = " Cast CastLike Identity Where ";
  const clarke_value *v = clarke_lower_value(low, i);
  char name[66];
  size_t first = 0;

  snprintf(name, sizeof name, " %.63s ", low->node->op_type);
  while (!v->excluded[first])
    first++;
  if (strstr(takes, name) != NULL)
    return CLARKE_OK;
  return clarke_lower_fail(low, err, "entry %zu of input '%s' is NaN, the Softmax of a line that is minus infinity throughout: choose another by "
                           "a Where", first, low->node->in[i]);
}

static bool
is_activation(const clarke_lowering *low, size_t i)
{
  return low->in[i] != CLARKE_NONE && !low->graph->values[low->in[i]].constant;
}

/* Is input i a number that changes nothing: the lower bound of a Clip that is minus infinity, the upper one that is infinity; a scalar
 * beside activations of which the largest is taken that is minus infinity, or infinity where the smallest is? */
static bool
is_neutral(const clarke_lowering *low, size_t i)
{
  const char *op = low->node->op_type;
  const clarke_value *v = low->in[i] != CLARKE_NONE ? &low->graph->values[low->in[i]] : NULL;
  const bool clips = strcmp(op, "Clip") == 0 || strcmp(op, "Clamp") == 0, largest = strcmp(op, "Max") == 0;
  bool beside = false;

  if (v == NULL || !v->constant || !v->odd || v->count != 1 || (clips ? i == 0 : v->rank != 0))
    return false;
  for (size_t k = 0; k < low->n_in; k++)
    beside = beside || is_activation(low, k);
  if (!clips && (!beside || (!largest && strcmp(op, "Min") != 0)))
    return false;
  return v->real[0] == (largest || (clips && i == 1) ? -INFINITY : INFINITY);
}

/* Such inputs are left out. */
static void
leave_out_neutral(clarke_lowering *low)
{
  const bool optional = strncmp(low->node->op_type, "Cl", 2) == 0;
  size_t kept = 0;

  for (size_t i = 0; i < low->n_in; i++) {
    const bool neutral = is_neutral(low, i);

    if (neutral)
      low->graph->values[low->in[i]].bound = true;
    if (!neutral || optional)
      low->in[kept++] = neutral ? CLARKE_NONE : low->in[i];
  }
  low->n_in = kept;
}

/* Does the operator take what is marked: a negated constant; infinite numbers and NaN; entries that are minus infinity? */
static clarke_status
check_kinds(const clarke_lowering *low, clarke_error *err)
{
  for (size_t i = 0; i < low->n_in; i++) {
    const clarke_value *v = low->in[i] != CLARKE_NONE ? &low->graph->values[low->in[i]] : NULL;

    if (v != NULL && v->negated && !low->op->takes_negated)
      return clarke_lower_fail(low, err, "input '%s' is a negated constant, which this operator does not take",
                               low->node->in[i]);
    if (v != NULL && v->odd && !low->op->takes_odd && !is_neutral(low, i))
      return clarke_lower_fail(
          low, err,
          "input '%s' holds an infinite number or NaN: only what moves entries takes it, Where, an Add "
          "before a Softmax, and a Clip or a Max that it does not bound",
          low->node->in[i]);
    if (v != NULL && v->undefined) {
      const clarke_status status = check_undefined(low, i, err);

      if (status != CLARKE_OK)
        return status;
    } else if (v != NULL && v->excluded != NULL && !takes_marked(low->node->op_type))
      return clarke_lower_fail(low, err, "input '%s' has entries that are minus infinity: a Softmax takes them, an Add, a ReduceMax",
                               low->node->in[i]);
  }
  return CLARKE_OK;
}

/* What moves entries, of whatever kind. */
static bool
moves_entries(const char *op)
{
  static const char all[] = " Identity Reshape Flatten Transpose Squeeze Unsqueeze Slice Split Gather GatherND GatherElements "
                            "Expand Tile DepthToSpace SpaceToDepth ";
  char name[66];

  snprintf(name, sizeof name, " %.63s ", op);
  return strstr(all, name) != NULL;
}

/* An operator of truth values or integers that are computed of activations is not what it is of floats: fails unless it
 * takes them. */
static clarke_status
check_held(const clarke_lowering *low, clarke_error *err)
{
  static const char *const takes[] = {[CLARKE_HOLDS_TRUTHS] = " And Or Not Where Equal Cast CastLike ",
                                      [CLARKE_HOLDS_INTEGERS] =
                                          " Where Equal Less LessOrEqual Greater GreaterOrEqual Cast CastLike "
                                          "QuantizeLinear DequantizeLinear QLinearConv QLinearMatMul ConvInteger MatMulInteger Add OneHot ",
                                      [CLARKE_HOLDS_FLOAT8] = " Cast CastLike DequantizeLinear "};
  static const char *const what[] = {[CLARKE_HOLDS_TRUTHS] = "truth values", [CLARKE_HOLDS_INTEGERS] = "integers",
                                     [CLARKE_HOLDS_FLOAT8] = "floats of 8 bits"};
  char name[66];

  snprintf(name, sizeof name, " %.63s ", low->node->op_type);
  for (size_t i = 0; i < low->n_in; i++) {
    const clarke_value *v = low->in[i] != CLARKE_NONE ? &low->graph->values[low->in[i]] : NULL;

    if (v == NULL || v->constant || v->holds == CLARKE_HOLDS_FLOATS || moves_entries(low->node->op_type))
      continue;
    if (strstr(takes[v->holds], name) == NULL)
      return clarke_lower_fail(low, err,
                               "input '%s' holds %s that are computed of activations, which this operator does not take: "
                               "Cast it to floats before",
                               low->node->in[i], what[v->holds]);
  }
  return CLARKE_OK;
}

/* What is moved stays of its kind. */
static void
keep_held(const clarke_lowering *low, size_t first)
{
  const clarke_value *x = low->n_in > 0 && low->in[0] != CLARKE_NONE ? &low->graph->values[low->in[0]] : NULL;

  if (x == NULL || x->constant || !moves_entries(low->node->op_type))
    return;
  for (size_t v = first; v < low->graph->n_values; v++) {
    low->graph->values[v].holds = low->graph->values[low->in[0]].holds;
    low->graph->values[v].reach = low->graph->values[low->in[0]].reach;
  }
}

const clarke_form *
clarke_node_form(const clarke_op *op, int64_t opset)
{
  const clarke_form *found = NULL;

  for (size_t i = 0; i < CLARKE_MAX_FORMS; i++)
    if (op->forms[i].since != 0 && op->forms[i].since <= opset)
      found = &op->forms[i];
  return found;
}

/* Is the batch the first axis of all activations, where the operator asks for that? */
static clarke_status
check_batch_axes(const clarke_lowering *low, clarke_error *err)
{
  for (size_t i = 0; i < low->n_in && low->graph->batched && low->op->batch == CLARKE_BATCH_FIRST; i++) {
    const clarke_value *v = low->in[i] != CLARKE_NONE ? &low->graph->values[low->in[i]] : NULL;

    if (v != NULL && !v->constant && (v->batch.merged || v->batch.axis != 0))
      return clarke_lower_fail(low, err,
                               "input '%s' has the batch on axis %zu%s; this operator takes it as the first axis only",
                               low->node->in[i], v->batch.axis, v->batch.merged ? ", merged with others" : "");
  }
  return CLARKE_OK;
}

/* What is made, from value `first` on, of activations without a batch axis alone has none either. */
static void
mark_batchless(const clarke_lowering *low, size_t first)
{
  bool some = false;

  for (size_t i = 0; i < low->n_in; i++) {
    const clarke_value *v = low->in[i] != CLARKE_NONE ? &low->graph->values[low->in[i]] : NULL;

    if (v != NULL && !v->constant && !v->batch.none)
      return;
    some = some || (v != NULL && !v->constant);
  }
  for (size_t v = first; v < low->graph->n_values && some; v++)
    low->graph->values[v].batch = (clarke_batch_axis){.inner = 1, .none = true};
}

/* Is what the node makes minus infinity by an Add, its own or one before it? */
static bool
adds_marks(const clarke_lowering *low)
{
  bool adds = strcmp(low->node->op_type, "Add") == 0;

  for (size_t i = 0; i < low->n_in; i++)
    adds = adds || (low->in[i] != CLARKE_NONE && low->graph->values[low->in[i]].added);
  return adds;
}

clarke_status
clarke_node_lower(clarke_lowering *low, clarke_error *err)
{
  clarke_graph *g = low->graph;
  const size_t first = g->n_values;
  const bool added = adds_marks(low);
  clarke_status status = check_kinds(low, err);

  if (status == CLARKE_OK)
    leave_out_neutral(low);
  if (status == CLARKE_OK)
    status = check_held(low, err);
  if (status == CLARKE_OK)
    status = check_batch_axes(low, err);
  if (status == CLARKE_OK)
    status = low->op->lower(low, err);
  if (status != CLARKE_OK)
    return status;
  if (low->op->batch == CLARKE_BATCH_KEPT)
    g->values[g->n_values - 1].batch = g->values[low->in[0]].batch;
  for (size_t v = first; v < g->n_values; v++)
    g->values[v].added = added && g->values[v].excluded != NULL;
  mark_batchless(low, first);
  keep_held(low, first);
  return CLARKE_OK;
}

/* --- Nodes within a node --- */

#define MOST_INNER 1024 /* inputs */

clarke_attr
clarke_inner_int(const char *name, int64_t i)
{
  return (clarke_attr){.name = (char *)(uintptr_t)name, .type = CLARKE_ATTR_INT, .i = i};
}

clarke_attr
clarke_inner_ints(const char *name, const int64_t *ints, size_t n)
{
  return (clarke_attr){.name = (char *)(uintptr_t)name, .type = CLARKE_ATTR_INTS, .ints = (int64_t *)(uintptr_t)ints, .n = n};
}

/* What it made loses the name: only what the node itself makes has one. */
static size_t
take_value(const clarke_lowering *inner)
{
  clarke_graph *g = inner->graph;
  const size_t value = inner->out[0] != CLARKE_NONE ? inner->out[0] : g->n_values - 1;

  free(g->values[value].name);
  g->values[value].name = NULL;
  return value;
}

size_t
clarke_inner_node(clarke_lowering *low, const char *op, const size_t *in, size_t n_in, const clarke_attr *attr, size_t n_attr,
                  clarke_error *err)
{
  char *out[1] = {""}, *names[MOST_INNER], *name = clarke_lower_name(low);
  clarke_model_node node = {.op_type = (char *)(uintptr_t)op,
                            .domain = "",
                            .name = name,
                            .n_in = n_in,
                            .n_out = 1,
                            .n_attr = n_attr,
                            .in = names,
                            .out = out,
                            .attr = (clarke_attr *)(uintptr_t)attr};
  size_t values[MOST_INNER], first = CLARKE_NONE, value;
  clarke_lowering inner = {.graph = low->graph,
                           .node = &node,
                           .place = low->place,
                           .opset = CLARKE_INNER_OPSET,
                           .n_in = n_in,
                           .in = values,
                           .out = &first,
                           .of = low->of != NULL ? low->of : low->node->op_type};

  if (name == NULL || n_in > MOST_INNER) {
    free(name);
    name == NULL ? clarke_lower_no_memory(low, err)
                 : clarke_lower_fail(low, err, "%zu parts; at most %d are taken", n_in, MOST_INNER);
    return CLARKE_NONE;
  }
  for (size_t i = 0; i < n_in; i++) {
    values[i] = in[i];
    names[i] = in[i] != CLARKE_NONE && low->graph->values[in[i]].name != NULL ? low->graph->values[in[i]].name : "";
  }
  inner.op = clarke_operator_find(op);
  inner.form = clarke_node_form(inner.op, inner.opset);
  value = clarke_node_lower(&inner, err) == CLARKE_OK ? take_value(&inner) : CLARKE_NONE;
  free(name);
  return value;
}

size_t
clarke_inner_integers(clarke_lowering *low, const int64_t *list, size_t n, clarke_error *err)
{
  size_t value;
  clarke_value *v;

  if (clarke_lower_made(low, 1, &n, &value, err) != CLARKE_OK)
    return CLARKE_NONE;
  v = &low->graph->values[value];
  v->dtype = CLARKE_I64;
  v->integer = calloc(n + 1, sizeof *v->integer);
  if (v->integer == NULL) {
    clarke_lower_no_memory(low, err);
    return CLARKE_NONE;
  }
  free(v->real);
  v->real = NULL;
  for (size_t i = 0; i < n; i++) /* of none the list may be NULL */
    v->integer[i] = list[i];
  return value;
}

size_t
clarke_inner_number(clarke_lowering *low, double number, clarke_error *err)
{
  size_t value;

  if (clarke_lower_made(low, 0, NULL, &value, err) != CLARKE_OK)
    return CLARKE_NONE;
  low->graph->values[value].real[0] = number;
  return value;
}

size_t
clarke_inner_reshaped(clarke_lowering *low, size_t value, const int64_t *dims, size_t n, clarke_error *err)
{
  const size_t shape = value != CLARKE_NONE ? clarke_inner_integers(low, dims, n, err) : CLARKE_NONE;

  return shape != CLARKE_NONE ? clarke_inner_node(low, "Reshape", (size_t[]){value, shape}, 2, NULL, 0, err) : CLARKE_NONE;
}

size_t
clarke_inner_transposed(clarke_lowering *low, size_t value, const int64_t *order, size_t n, clarke_error *err)
{
  const clarke_attr perm = clarke_inner_ints("perm", order, n);

  return value != CLARKE_NONE ? clarke_inner_node(low, "Transpose", &value, 1, &perm, 1, err) : CLARKE_NONE;
}

size_t
clarke_inner_sliced(clarke_lowering *low, size_t value, size_t axis, size_t start, size_t end, clarke_error *err)
{
  const int64_t list[3] = {(int64_t)start, (int64_t)end, (int64_t)axis};
  size_t in[4] = {value};

  if (value == CLARKE_NONE)
    return value;
  for (size_t i = 0; i < 3; i++)
    if ((in[i + 1] = clarke_inner_integers(low, &list[i], 1, err)) == CLARKE_NONE)
      return CLARKE_NONE;
  return clarke_inner_node(low, "Slice", in, 4, NULL, 0, err);
}

size_t
clarke_inner_joined(clarke_lowering *low, const size_t *values, size_t n, size_t axis, clarke_error *err)
{
  const clarke_attr attr = clarke_inner_int("axis", (int64_t)axis);

  for (size_t i = 0; i < n; i++)
    if (values[i] == CLARKE_NONE)
      return CLARKE_NONE;
  return clarke_inner_node(low, "Concat", values, n, &attr, 1, err);
}

size_t
clarke_inner_of(clarke_lowering *low, const char *op, size_t a, size_t b, clarke_error *err)
{
  if (a == CLARKE_NONE || b == CLARKE_NONE)
    return CLARKE_NONE;
  return clarke_inner_node(low, op, (size_t[]){a, b}, 2, NULL, 0, err);
}

size_t
clarke_inner_function(clarke_lowering *low, const char *op, size_t a, clarke_error *err)
{
  return a != CLARKE_NONE ? clarke_inner_node(low, op, &a, 1, NULL, 0, err) : CLARKE_NONE;
}

clarke_status
clarke_inner_failed(const clarke_error *err)
{
  return err != NULL && err->code != CLARKE_OK ? err->code : CLARKE_ENOMEM;
}

clarke_status
clarke_inner_done(clarke_lowering *low, size_t k, size_t value, clarke_error *err)
{
  if (value != CLARKE_NONE)
    value = clarke_inner_node(low, "Identity", &value, 1, NULL, 0, err);
  if (value == CLARKE_NONE)
    return clarke_inner_failed(err);
  return clarke_lower_output(low, k, value, err);
}
