/* Operators that move entries, and compute none. */
#include "shape.h"

#include <stdlib.h>
#include <string.h>

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
  need(n == 1 && training[0] == 0, "Dropout in training mode");
  for (size_t i = 1; i < 3; i++)
    need(b->in[i].name == NULL || (b->in[i].constant != NULL && b->in[i].rank == 0),
         "a ratio or mode that is no constant scalar");
  put_shaped(b, b->in[0].rank, b->in[0].dims);
}

/* The shape of a whole run. */
static size_t *
whole_run(const builder *b, const value *x, size_t *dims)
{
  memcpy(dims, x->dims, x->rank * sizeof *dims);
  if (is_batch(b, x))
    dims[x->at] *= b->net->together;
  return dims;
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

/* Squeeze, Unsqueeze. */
void
lower_squeeze(builder *b)
{
  const value *x = &b->in[0];
  bool insert = b->op[0] == 'U', marked[MAX_RANK] = {false};
  long axes[MAX_RANK];
  size_t dims[MAX_RANK], whole[MAX_RANK], n = 0, from = 0, count = whole_list(b, 1, "axes", axes);
  size_t rank = x->rank + (insert ? count : 0);
  need(rank <= MAX_RANK, "more axes than supported");
  whole_run(b, x, whole);
  for (size_t i = 0; i < count; i++) {
    size_t axis = axis_of(b, axes[i], rank);
    need(insert || !on_batch(b, x, axis), "an axis is the batch's");
    need(!marked[axis] && (insert || x->dims[axis] == 1), "an axis twice, or not of size 1");
    marked[axis] = true;
  }
  for (size_t i = 0; i < rank; i++)
    if (insert || !marked[i])
      dims[n++] = insert && marked[i] ? 1 : whole[insert ? from++ : i];
  put_reshaped(b, x, n, dims);
}

void
lower_constant(builder *b)
{
  tensor *t = b->node->attributes;
  need(b->node->n_attributes == 1 && t->value != NULL, "not one tensor");
  put(b, t, 0, NULL, t->rank, t->dims);
}

/* A constant's part is as a bias is: terms without an x. */
void
lower_concat(builder *b)
{
  value *x = b->in;
  bool activation = false;
  size_t axis = axis_of(b, whole_attribute(b, "axis", 1), x->rank), dims[MAX_RANK], before = 0;
  size_t apart = product(x->dims + axis + 1, x->rank - axis - 1);
  memcpy(dims, x->dims, sizeof dims);
  dims[axis] = 0;
  need(find_attribute(b, "axis") != NULL && (!b->net->batched || axis > 0), "no axis, or the batch's");
  for (size_t i = 0; i < b->node->n_in; i++) {
    need(x[i].rank == x->rank, "not the same axes");
    need(x[i].constant == NULL || b->net->together == 1, "a constant, which has not the axis of all samples");
    activation = activation || x[i].constant == NULL;
    for (size_t j = 0; j < x->rank; j++)
      need(j == axis || x[i].dims[j] == dims[j], "the shapes do not fit");
    dims[axis] += x[i].dims[axis];
  }
  need(activation, "only constants");
  step *s = add_step(b, LINEAR, 1, x->rank, dims);
  s->copy = true;
  for (size_t i = 0; i < b->node->n_in; before += x[i++].dims[axis])
    for (size_t f = 0; f < x[i].count; f++) {
      size_t block = x[i].dims[axis] * apart;
      operand(b, s, (f / block * dims[axis] + before) * apart + f % block, &x[i], f);
    }
}

/* Pad with zeros; fewer than none cut off. */
void
lower_pad(builder *b)
{
  const value *x = &b->in[0], *with = &b->in[2];
  long pads[MAX_RANK], axes[MAX_RANK], before[MAX_RANK] = {0};
  size_t dims[MAX_RANK], n = whole_list(b, 1, "pads", pads), count = x->rank;
  bool padded[MAX_RANK] = {false};
  rational *number = rationals(1);
  real_attribute(b, "value", number, 0);
  need(strcmp(text_attribute(b, "mode", "constant"), "constant") == 0 && mpq_sgn(number) == 0
           && (with->name == NULL
               || (with->constant != NULL && with->constant->real && with->count == 1
                   && mpq_sgn(&with->constant->value[with->map[0]]) == 0)),
       "not with zeros");
  if (with->name != NULL)
    with->constant->number = true;
  for (size_t i = 0; i < x->rank; i++)
    axes[i] = (long)i;
  if (b->in[3].name != NULL)
    count = whole_list(b, 3, "", axes);
  need(x->constant == NULL && n == 2 * count, "its input must be an activation, and pads two for each axis");
  memcpy(dims, x->dims, sizeof dims);
  for (size_t i = 0; i < count; i++) {
    size_t axis = axis_of(b, axes[i], x->rank);
    need(labs(pads[i]) <= INT32_MAX && labs(pads[count + i]) <= INT32_MAX && dims[axis] <= INT32_MAX && !padded[axis],
         "an axis twice, or too large a number");
    padded[axis] = true;
    long size = (long)dims[axis] + pads[i] + pads[count + i];
    need(size > 0 && (!is_batch(b, x) || axis > 0 || (pads[i] == 0 && pads[count + i] == 0)),
         "the batch axis is padded, or nothing is left");
    before[axis] = pads[i];
    dims[axis] = (size_t)size;
  }
  step *s = add_step(b, LINEAR, 1, x->rank, dims);
  s->copy = true;
  for (size_t f = 0; f < s->n; f++) {
    size_t rest = f, at = 0, stride = 1;
    bool inside = true;
    for (size_t i = x->rank; i-- > 0; stride *= x->dims[i], rest /= dims[i]) {
      long place = (long)(rest % dims[i]) - before[i];
      inside = inside && place >= 0 && place < (long)x->dims[i];
      at += inside ? (size_t)place * stride : 0;
    }
    if (inside)
      operand(b, s, f, x, at);
    else
      s->sources[f].step = PADDING;
  }
}
