/* A computed place is compared with each number that it may be. */
#include "check/onnx/index.h"
#include "check/base/allocate.h"
#include "check/onnx/inner.h"

bool
is_computed(const value *v)
{
  return v->constant == NULL && v->holds == HOLDS_INTEGERS;
}

static value
is_place(builder *b, value places, long at)
{
  value number = list_of(b, 1, &at);
  return with(b, "Equal", places, number);
}

/* Place k, or the same counted from the end. */
value
ones_at(builder *b, value places, size_t n)
{
  value *all = allocate(n, sizeof *all), last = list_of(b, 1, (long[]){-1});
  places = with(b, "Unsqueeze", places, last);
  for (size_t k = 0; k < n; k++) {
    value truth = with(b, "Or", is_place(b, places, (long)k), is_place(b, places, (long)k - (long)n));
    all[k] = inner_node(b, "Cast", 1, &truth, inner_whole("to", FLOAT));
  }
  return inner_node(b, "Concat", n, all, inner_whole("axis", -1));
}

/* The rows of x along the axis times each place's ones. */
void
take_computed(builder *b)
{
  value x = b->in[0], at = b->in[1];
  need(x.constant != NULL ? x.constant->real && !x.negated : !is_batch(b, &x),
       "computed places of what has samples, or is no constant of floats");
  size_t axis = axis_of(b, whole_attribute(b, "axis", 0), x.rank), n = x.dims[axis], places[MAX_RANK], out = 0;
  need(at.reach > 0 && at.reach < n, "a computed place may be none of the axis");
  whole_run(b, &at, places);
  need(at.rank + x.rank - 1 <= MAX_RANK, "too many axes");
  long shape[MAX_RANK], order[MAX_RANK], moved[MAX_RANK];
  for (size_t a = 0; a < at.rank; a++)
    shape[out++] = (long)places[a];
  for (size_t a = 0, k = 1; a < x.rank; a++)
    if (a != axis) {
      moved[k++] = (long)a;
      shape[out++] = (long)x.dims[a];
    }
  moved[0] = (long)axis;
  x = inner_node(b, "Transpose", 1, &x, inner_list("perm", x.rank, moved));
  x = with(b, "Reshape", x, list_of(b, 2, (long[]){(long)n, -1}));
  value y = with(b, "MatMul", ones_at(b, at, n), x);
  y = with(b, "Reshape", y, list_of(b, out, shape));
  for (size_t a = 0; a < out; a++) /* the axes of the places go where the axis was */
    order[a] = (long)(a >= axis + at.rank ? a : a >= axis ? a - axis : at.rank + a);
  b->out = out > 0 ? inner_node(b, "Transpose", 1, &y, inner_list("perm", out, order)) : y;
}
