/* Operators that move entries of one tensor, and compute none. */
#include "check/onnx/reshape.h"

/* The node's output is x in a shape of the entries of a whole run: its batch is where so many of a sample lie behind it. */
static void
put_reshaped(builder *b, const value *x, size_t rank, size_t *dims)
{
  size_t rows = b->net->together, behind = product(x->dims + x->at + 1, x->rank - x->at - (x->rank > x->at));
  size_t at = NONE, inner = 0;
  need(product(dims, rank) == (is_batch(b, x) ? rows : 1) * x->count, "the shapes hold different numbers of entries");
  if (is_batch(b, x)) {
    behind *= x->inner > 0 ? x->inner : 1;
    for (size_t i = rank; i-- > 0;) {
      size_t after = product(dims + i + 1, rank - i - 1);
      bool holds = behind % after == 0 && dims[i] % rows == 0 && dims[i] / rows * after % behind == 0;
      if (holds && (at == NONE || dims[i] == rows)) {
        at = i;
        inner = dims[i] == rows ? 0 : behind / after;
      }
    }
    need(at != NONE, "no axis of the shape holds all samples whole: they would be mixed");
    dims[at] /= rows;
  }
  put(b, x->constant, x->step, x->map, rank, dims);
  b->out.negated = x->negated;
  b->out.at = at == NONE ? 0 : at;
  b->out.inner = inner;
}

/* Input 0's entries in another shape. */
static void
put_shaped(builder *b, size_t rank, const size_t *dims)
{
  need(product(dims, rank) == b->in[0].count, "the shapes hold different numbers of entries");
  put(b, b->in[0].constant, b->in[0].step, b->in[0].map, rank, dims);
  b->out.negated = b->in[0].negated;
}

/* Identity, Dropout. */
void
lower_identity(builder *b)
{
  long training[MAX_RANK] = {0};
  size_t n = b->in[2].name != NULL ? whole_list(b, 2, "", training) : 1;
  value *ratio = &b->in[1];
  if (n != 1 || training[0] != 0) {
    need(ratio->name != NULL && ratio->constant != NULL && ratio->constant->real && ratio->count == 1
             && mpq_sgn(&ratio->constant->value[ratio->map[0]]) == 0,
         "Dropout in training mode");
    ratio->constant->number = true;
  }
  for (size_t i = 1; i < 3; i++)
    need(b->in[i].name == NULL || (b->in[i].constant != NULL && b->in[i].rank == 0),
         "a ratio or mode that is no constant scalar");
  put_shaped(b, b->in[0].rank, b->in[0].dims);
  b->out.excluded = b->in[0].excluded;
  b->out.undefined = b->in[0].undefined;
}

void
lower_flatten(builder *b)
{
  const value *x = &b->in[0];
  long given = whole_attribute(b, "axis", 1);
  size_t axis = given == (long)x->rank ? x->rank : axis_of(b, given, x->rank), whole[MAX_RANK];
  whole_run(b, x, whole);
  put_reshaped(b, x, 2, (size_t[]){product(whole, axis), product(whole + axis, x->rank - axis)});
}

void
lower_reshape(builder *b)
{
  const value *x = &b->in[0];
  size_t dims[MAX_RANK], whole[MAX_RANK], open = NONE;
  long shape[MAX_RANK];
  size_t n = whole_list(b, 1, "", shape);
  bool copy = whole_attribute(b, "allowzero", 0) == 0; /* else 0 is no entries */
  whole_run(b, x, whole);
  for (size_t i = 0; i < n; i++) {
    long d = shape[i];
    need(d > 0 || (d == -1 && open == NONE) || (d == 0 && copy && i < x->rank), "not a shape");
    open = d == -1 ? i : open;
    dims[i] = d > 0 ? (size_t)d : d == -1 ? 1 : whole[i];
  }
  if (open != NONE) {
    size_t rest = product(dims, n);
    need(rest > 0, "an axis of what is left beside an axis of no entries");
    dims[open] = product(whole, x->rank) / rest;
  }
  put_reshaped(b, x, n, dims);
}

void
lower_transpose(builder *b)
{
  const value *x = &b->in[0];
  const tensor *perm = find_attribute(b, "perm");
  size_t dims[MAX_RANK], stride[MAX_RANK], at = 0;
  bool seen[MAX_RANK] = {false};
  need(perm == NULL || perm->count == x->rank, "perm does not fit");
  for (size_t i = 0; i < x->rank; i++) {
    long p = perm != NULL ? whole_entry(b, perm, i) : (long)(x->rank - 1 - i);
    need(p >= 0 && (size_t)p < x->rank && !seen[p], "perm is no permutation");
    seen[p] = true;
    at = on_batch(b, x, (size_t)p) ? i : at;
    dims[i] = x->dims[p];
    stride[i] = product(x->dims + p + 1, x->rank - (size_t)p - 1);
  }
  put(b, x->constant, x->step, index_map(b, x->rank, dims, stride, x->map), x->rank, dims);
  b->out.negated = x->negated;
  b->out.at = at;
  b->out.inner = x->inner;
}

/* Squeeze, of axes that are named or of all of one entry; Unsqueeze. */
void
lower_squeeze(builder *b)
{
  const value *x = &b->in[0];
  bool insert = b->op[0] == 'U', marked[MAX_RANK] = {false};
  bool all = !insert && b->in[1].name == NULL && find_attribute(b, "axes") == NULL;
  long axes[MAX_RANK];
  size_t dims[MAX_RANK], whole[MAX_RANK], n = 0, from = 0, count = all ? 0 : whole_list(b, 1, "axes", axes);
  size_t rank = x->rank + (insert ? count : 0);
  need(rank <= MAX_RANK, "more axes than supported");
  whole_run(b, x, whole);
  for (size_t i = 0; i < count; i++) {
    size_t axis = axis_of(b, axes[i], rank);
    need(!marked[axis] && (insert || whole[axis] == 1), "an axis twice, or not of size 1 in the whole tensor");
    marked[axis] = true;
  }
  for (size_t i = 0; i < rank && all; i++)
    marked[i] = whole[i] == 1;
  for (size_t i = 0; i < rank; i++)
    if (insert || !marked[i])
      dims[n++] = insert && marked[i] ? 1 : whole[insert ? from++ : i];
  put_reshaped(b, x, n, dims);
}

/* Expand, Tile. Each axis of the output is so many times an axis of x, or of one entry. */
void
lower_repeat(builder *b)
{
  const value *x = &b->in[0];
  bool tile = b->op[0] == 'T';
  long list[MAX_RANK];
  size_t whole[MAX_RANK], dims[MAX_RANK], parts[2 * MAX_RANK], stride[2 * MAX_RANK], next = 1;
  size_t n = whole_list(b, 1, "", list), rank = tile || n < x->rank ? x->rank : n;
  need(!tile || n == rank, "not a number of repeats for each axis");
  whole_run(b, x, whole);
  for (size_t i = rank; i-- > 0;) {
    bool new = i + x->rank < rank;
    size_t old = i + x->rank - rank, length = new ? 1 : whole[old], own = new ? 1 : x->dims[old];
    long by = i + n < rank ? 1 : list[i + n - rank];
    need(by > 0 && by <= INT32_MAX && length > 0 && length <= INT32_MAX, "not a number of entries");
    size_t times = tile || length == 1 ? (size_t)by : 1;
    need(tile || by == 1 || (size_t)by == length * times, "the shapes do not fit");
    need(times == 1 || new || !on_batch(b, x, old), "the batch axis would be repeated");
    parts[2 * i] = times;
    stride[2 * i] = 0;
    parts[2 * i + 1] = own;
    stride[2 * i + 1] = next;
    dims[i] = times * own;
    next *= own;
  }
  put(b, x->constant, x->step, index_map(b, 2 * rank, parts, stride, x->map), rank, dims);
  b->out.negated = x->negated;
  b->out.at = x->at + rank - x->rank;
  b->out.inner = x->inner;
}

void
lower_constant(builder *b)
{
  tensor *t = b->node->attributes;
  need(b->node->n_attributes == 1 && t->value != NULL, "not one tensor");
  put(b, t, 0, NULL, t->rank, t->dims);
}
