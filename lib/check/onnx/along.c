/* Hardmax, ArgMax, ArgMin, Compress, TensorScatter and Mod of floats, as docs/operators.md has them. */
#include "check/onnx/along.h"
#include "check/base/allocate.h"
#include "check/onnx/inner.h"

#include <string.h>

#define MOST_COMPARED 256

/* The axis from `from` on, so many entries. */
static value
piece(builder *b, const value *x, size_t axis, size_t from, size_t n)
{
  long first = (long)from, end = (long)(from + n), along = (long)axis;
  return inner_node(b, "Slice", 4, (value[]){*x, list_of(b, 1, &first), list_of(b, 1, &end), list_of(b, 1, &along)},
                    NULL);
}

/* Entry i of the axis against entry j: 1 where it wins. Of equal ones the first does, or the last. */
static value
wins(builder *b, const value *x, size_t axis, size_t i, size_t j, bool last)
{
  value own = piece(b, x, axis, i, 1), other = piece(b, x, axis, j, 1);
  value truth = inner_of(b, (i < j) != last ? "GreaterOrEqual" : "Greater", &own, &other);
  return inner_node(b, "Cast", 1, &truth, inner_whole("to", FLOAT));
}

static value
number(builder *b, long n)
{
  value v = made_numbers(b, 0, (size_t[]){0});
  mpq_set_si(v.constant->value, n, 1);
  return v;
}

/* 1 for each entry of the axis that wins against all others, else 0. */
static value *
winners(builder *b, const value *x, size_t axis, bool last)
{
  size_t n = x->dims[axis];
  need(!on_batch(b, x, axis) && n > 0 && n <= MOST_COMPARED, "the batch's axis, or too many entries");
  value *all = allocate(n, sizeof *all);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < n; j++) {
      if (j == i)
        continue;
      value w = wins(b, x, axis, i, j, last);
      all[i] = j > (i == 0) ? inner_of(b, "Mul", &all[i], &w) : w;
    }
  }
  if (n == 1) { /* 1, of the shape of x */
    value none = number(b, 0), one = number(b, 1);
    all[0] = inner_of(b, "Mul", x, &none);
    all[0] = inner_of(b, "Add", &all[0], &one);
  }
  return all;
}

void
lower_hardmax(builder *b)
{
  const value *x = &b->in[0];
  size_t axis = axis_of(b, whole_attribute(b, "axis", b->opset < 13 ? 1 : -1), x->rank), n = x->dims[axis];
  need(b->opset >= 13 || axis + 1 == x->rank, "before operator set 13, of more than one axis");
  value *all = winners(b, x, axis, false);
  b->out = n > 1 ? inner_node(b, "Concat", n, all, inner_whole("axis", (long)axis)) : all[0];
}

/* ArgMax, ArgMin: one number for each place, where it is the winner's. */
void
lower_winner(builder *b)
{
  value x = b->in[0], y = {0};
  size_t axis = axis_of(b, whole_attribute(b, "axis", 0), x.rank), n = x.dims[axis];
  bool keep = whole_attribute(b, "keepdims", 1) != 0;
  if (strcmp(b->op, "ArgMin") == 0)
    x = inner_of(b, "Neg", &x, NULL);
  value *all = winners(b, &x, axis, whole_attribute(b, "select_last_index", 0) != 0);
  for (size_t i = 0; i < n; i++) {
    value place = number(b, (long)i), part = inner_of(b, "Mul", &all[i], &place);
    y = i > 0 ? inner_of(b, "Add", &y, &part) : part;
  }
  if (!keep) {
    value gone = list_of(b, 1, (long[]){(long)axis});
    y = inner_of(b, "Squeeze", &y, &gone);
  }
  b->out = y;
  b->out.holds = HOLDS_INTEGERS;
  b->out.reach = n - 1;
}

void
lower_compress(builder *b)
{
  value x = b->in[0];
  const value *chosen = &b->in[1];
  size_t dims[MAX_RANK], n = 0;
  need(chosen->constant != NULL && chosen->constant->type == BOOL && chosen->rank == 1,
       "its condition is no constant list of truth values");
  long *list = allocate(chosen->count, sizeof *list), axis = 0;
  for (size_t i = 0; i < chosen->count; i++)
    if (mpq_sgn(&chosen->constant->value[chosen->map[i]]) != 0)
      list[n++] = (long)i;
  if (find_attribute(b, "axis") != NULL)
    axis = (long)axis_of(b, whole_attribute(b, "axis", 0), x.rank);
  else
    x = inner_node(b, "Reshape", 2, (value[]){x, list_of(b, 1, (long[]){-1})}, NULL);
  whole_run(b, &x, dims);
  need(n > 0 && chosen->count <= dims[axis], "nothing is chosen, or the condition is longer than the axis");
  b->out = inner_node(b, "Gather", 2, (value[]){x, list_of(b, n, list)}, inner_whole("axis", axis));
}

void
lower_tensor_scatter(builder *b)
{
  const char *mode = text_attribute(b, "mode", "linear");
  bool circular = strcmp(mode, "circular") == 0, given = has_input(b, 2);
  const value *x = &b->in[0], *u = &b->in[1];
  need(circular || strcmp(mode, "linear") == 0, "an unknown mode");
  need(!is_batch(b, x) && !is_batch(b, u), "the samples are on an axis");
  size_t axis = axis_of(b, whole_attribute(b, "axis", -2), x->rank), behind;
  need(axis > 0 && u->rank == x->rank && u->dims[axis] <= x->dims[axis], "along the first axis, or too long an update");
  for (size_t a = 0; a < x->rank; a++)
    need(a == axis || u->dims[a] == x->dims[a], "an update of another shape");
  behind = product(x->dims + axis + 1, x->rank - axis - 1);
  long *first = allocate(x->dims[0], sizeof *first), *at = allocate(u->count, sizeof *at), shape[MAX_RANK];
  need(!given || (b->in[2].rank == 1 && whole_list_within(b, 2, "", first, x->dims[0]) == x->dims[0]),
       "not a place for each sample");
  for (size_t i = 0; i < u->count; i++) {
    size_t inner = i % behind, later = i / behind % u->dims[axis], outer = i / behind / u->dims[axis];
    long from = first[i / (u->count / u->dims[0])], length = (long)x->dims[axis];
    need(from >= 0 && from <= INT32_MAX && (circular || from + (long)later < length), "a place out of range");
    at[i] = (long)((outer * x->dims[axis] + (size_t)((from + (long)later) % length)) * behind + inner);
  }
  value flat[3] = {*x, list_of(b, u->count, at), *u};
  for (size_t i = 0; i < 3; i += 2) {
    flat[i] = flat[i].constant != NULL ? inner_of(b, "Sum", &flat[i], NULL) : flat[i];
    flat[i] = inner_node(b, "Reshape", 2, (value[]){flat[i], list_of(b, 1, (long[]){-1})}, NULL);
  }
  value y = inner_node(b, "ScatterElements", 3, flat, NULL);
  for (size_t a = 0; a < x->rank; a++)
    shape[a] = (long)x->dims[a];
  b->out = inner_node(b, "Reshape", 2, (value[]){y, list_of(b, x->rank, shape)}, NULL);
}

/* The first entries along the axis, so many, in the other order. */
static value
turned(builder *b, value x, size_t axis, long length)
{
  size_t n = x.dims[axis];
  long *list = allocate(n, sizeof *list);
  for (long i = 0; i < (long)n; i++)
    list[i] = i < length ? length - 1 - i : i;
  return inner_node(b, "Gather", 2, (value[]){x, list_of(b, n, list)}, inner_whole("axis", (long)axis));
}

/* So many entries of each slice of the batch's axis as its length says are turned round; of one length the slices may be samples. */
void
lower_reverse(builder *b)
{
  long batch = whole_attribute(b, "batch_axis", 1), time = whole_attribute(b, "time_axis", 0);
  value x = b->in[0];
  size_t dims[MAX_RANK], n = b->in[1].count;
  need(batch + time == 1 && batch >= 0 && time >= 0, "batch_axis and time_axis are not 0 and 1");
  need(x.constant == NULL && run_axes(b, 0, dims) > 1 && dims[batch] == n && n > 0, "not a length for each slice");
  long *length = allocate(n, sizeof *length);
  need(whole_list_within(b, 1, "", length, n) == n, "not a length for each slice");
  bool same = true;
  for (size_t k = 0; k < n; k++) {
    need(length[k] >= 0 && (size_t)length[k] <= dims[time], "a length out of range");
    same = same && length[k] == length[0];
  }
  if (same) {
    b->out = turned(b, x, (size_t)time, length[0]);
    return;
  }
  need(n <= 1024 && !is_batch(b, &x), "over 1024 lengths that differ, or those of samples");
  value *parts = allocate(n, sizeof *parts);
  for (long k = 0; k < (long)n; k++) {
    value in[4] = {x, list_of(b, 1, &k), list_of(b, 1, (long[]){k + 1}), list_of(b, 1, &batch)};
    parts[k] = turned(b, inner_node(b, "Slice", 4, in, NULL), (size_t)time, length[k]);
  }
  b->out = inner_node(b, "Concat", n, parts, inner_whole("axis", batch));
}

/* The quotient's whole number, below it or towards 0, times the divisor: what is left. */
void
lower_modulo(builder *b)
{
  long towards = whole_attribute(b, "fmod", 0);
  need(has_input(b, 0) && has_input(b, 1), "an input is missing");
  need(towards == 1 || (towards == 0 && b->opset >= 28), "an fmod that floats do not have in the model's operator set");
  value quotient = inner_of(b, "Div", &b->in[0], &b->in[1]), w;
  if (towards == 0)
    w = inner_of(b, "Floor", &quotient, NULL);
  else {
    value whole = inner_node(b, "Cast", 1, &quotient, inner_whole("to", INT64));
    w = inner_node(b, "Cast", 1, &whole, inner_whole("to", FLOAT));
  }
  w = inner_of(b, "Mul", &w, &b->in[1]);
  b->out = inner_of(b, "Sub", &b->in[0], &w);
}
