/* Operators that move entries, and compute none. */
#include "check/onnx/shape.h"
#include "check/base/allocate.h"
#include "check/onnx/integers.h"

#include <stdlib.h>
#include <string.h>

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

/* No initializer, and without entries: a part that a Split made? */
static bool
is_nothing(const value *v)
{
  return v->constant != NULL && v->count == 0 && v->constant->real && !v->constant->initializer;
}

/* A constant's part is as a bias is: terms without an x. One without entries has none. */
void
lower_concat(builder *b)
{
  if (of_integers(b) || of_floats(b)) {
    lower_listed(b);
    return;
  }
  value *x = b->in;
  bool activation = false;
  size_t axis = axis_of(b, whole_attribute(b, "axis", 1), x->rank), dims[MAX_RANK], before = 0, first = 0;
  while (first + 1 < b->node->n_in && x[first].constant != NULL)
    first++;
  for (size_t i = 0; i < b->node->n_in; i++) {
    need(x[i].count > 0 || (is_nothing(&x[i]) && x[i].dims[axis] == 0), "an input without entries");
    need(x[i].constant == NULL || x[first].shared || b->net->together == 1 || make_shared(b, &x[i], x[first].at),
         "a constant, which has not the axis of all samples");
    need(x[i].constant != NULL || x[i].shared == x[first].shared,
         "some inputs have the batch, and others are computed of constants");
    need(!is_batch(b, &x[i]) || (x[i].at == x[first].at && x[i].inner == x[first].inner),
         "the inputs have the batch on different axes");
  }
  memcpy(dims, x->dims, sizeof dims); /* a constant first may have become one sample's */
  size_t apart = product(dims + axis + 1, x->rank - axis - 1);
  dims[axis] = 0;
  need(find_attribute(b, "axis") != NULL && !on_batch(b, &x[first], axis), "no axis, or the batch's");
  for (size_t i = 0; i < b->node->n_in; i++) {
    need(x[i].rank == x->rank, "not the same axes");
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
  b->out.at = x[first].at;
  b->out.inner = x[first].inner;
}

/* Which of n entries stands at a place that is d entries before the first, or behind the last; the place itself when it is one of
 * them. */
static long
padded_place(const char *mode, long place, long n)
{
  bool before = place < 0;
  if (place >= 0 && place < n)
    return place;
  if (mode[0] == 'e')
    return before ? 0 : n - 1;
  if (mode[0] == 'r')
    return before ? -place : n - 1 - (place - (n - 1));
  return before ? n + place : place - n;
}

/* Where no zeros are put in: pads that the entries of the axis reach for. */
static void
check_padded(const builder *b, const char *mode, long pad, size_t n)
{
  bool edge = strcmp(mode, "edge") == 0, mirror = strcmp(mode, "reflect") == 0;
  need(edge || mirror || (strcmp(mode, "wrap") == 0 && b->opset >= 19), "an unknown mode");
  need(pad >= 0 && (edge || pad <= (long)n - mirror), "a pad below 0, or beyond what the axis has entries for");
}

/* What is put in: 0; '-', minus infinity; '?', what is infinite or NaN otherwise. */
static char
filling_of(const builder *b, const value *with)
{
  rational *number = rationals(1);
  real_attribute(b, "value", number, 0);
  need(mpq_sgn(number) == 0, "not with zeros");
  if (with->name == NULL)
    return 0;
  need(with->constant != NULL && with->constant->real && with->count == 1, "its value is no constant number");
  with->constant->number = true;
  char odd = odd_entry(with, 0);
  need(odd != 0 || mpq_sgn(&with->constant->value[with->map[0]]) == 0, "not with zeros");
  return odd;
}

/* The output, for its entries: a constant where x is one, else a step, with marks where some may be minus infinity. */
static void
put_padded(builder *b, const value *x, const size_t *dims, char filling)
{
  if (x->constant != NULL) {
    put_whole(b, x->constant->type, x->rank, dims);
    b->out.constant->real = true;
    b->out.constant->odd = allocate(b->out.count, 1);
    return;
  }
  step *s = add_step(b, LINEAR, 1, x->rank, dims);
  s->copy = true;
  b->out.excluded = filling != 0 || x->excluded != NULL ? allocate(s->n, sizeof(bool)) : NULL;
}

/* Pad with zeros, fewer than none cut off; or with entries of the axis. A mask of constants to which minus infinity belongs stays one. */
void
lower_pad(builder *b)
{
  const value *x = &b->in[0], *with = &b->in[2];
  const char *mode = text_attribute(b, "mode", "constant");
  bool zeros = strcmp(mode, "constant") == 0, stays = x->constant != NULL;
  char filling = zeros ? filling_of(b, with) : 0;
  long pads[2 * MAX_RANK], axes[MAX_RANK], before[MAX_RANK] = {0};
  size_t dims[MAX_RANK], n = whole_list_within(b, 1, "pads", pads, 2 * MAX_RANK), count = x->rank;
  bool padded[MAX_RANK] = {false};
  need(filling != '?' || stays, "not with zeros, nor minus infinity");
  for (size_t i = 0; i < x->rank; i++)
    axes[i] = (long)i;
  if (b->in[3].name != NULL)
    count = whole_list(b, 3, "", axes);
  need(n == 2 * count, "its pads are not two for each axis");
  memcpy(dims, x->dims, sizeof dims);
  for (size_t i = 0; i < count; i++) {
    size_t axis = axis_of(b, axes[i], x->rank);
    need(labs(pads[i]) <= INT32_MAX && labs(pads[count + i]) <= INT32_MAX && dims[axis] <= INT32_MAX && !padded[axis],
         "an axis twice, or too large a number");
    padded[axis] = true;
    for (size_t side = 0; side < 2 && !zeros; side++)
      check_padded(b, mode, pads[side * count + i], dims[axis]);
    long size = (long)dims[axis] + pads[i] + pads[count + i];
    need(size > 0 && (!is_batch(b, x) || axis > 0 || (pads[i] == 0 && pads[count + i] == 0)),
         "the batch axis is padded, or nothing is left");
    before[axis] = pads[i];
    dims[axis] = (size_t)size;
  }
  put_padded(b, x, dims, filling);
  step *s = stays ? NULL : &b->net->steps[b->out.step];
  for (size_t f = 0; f < product(dims, x->rank); f++) {
    size_t rest = f, at = 0, stride = 1;
    bool inside = true;
    for (size_t i = x->rank; i-- > 0; stride *= x->dims[i], rest /= dims[i]) {
      long place = (long)(rest % dims[i]) - before[i];
      place = zeros ? place : padded_place(mode, place, (long)x->dims[i]);
      inside = inside && place >= 0 && place < (long)x->dims[i];
      at += inside ? (size_t)place * stride : 0;
    }
    if (stays) {
      b->out.constant->odd[f] = inside ? odd_entry(x, at) : filling;
      if (inside)
        mpq_set(&b->out.constant->value[f], &x->constant->value[x->map[at]]);
      continue;
    }
    if (b->out.excluded != NULL)
      b->out.excluded[f] = inside ? x->excluded != NULL && x->excluded[at] : filling != 0;
    if (inside)
      operand(b, s, f, x, at);
    else
      s->sources[f].step = PADDING;
  }
}

/* Trilu of a constant, of numbers or integers: exporters make masks by it. */
void
lower_trilu(builder *b)
{
  const value *x = &b->in[0];
  long k[MAX_RANK] = {0};
  bool upper = whole_attribute(b, "upper", 1) != 0;
  const tensor *t = x->constant;
  need(t != NULL && x->rank >= 2 && (!t->real || is_float(x)) && !is_odd(x),
       "not of a constant that no parameter is, of two axes or more");
  need(b->in[1].name == NULL || whole_list(b, 1, "", k) == 1, "a diagonal that is not one number");
  need(k[0] <= INT32_MAX && k[0] >= INT32_MIN, "a diagonal too far away");
  long rows = (long)x->dims[x->rank - 2], columns = (long)x->dims[x->rank - 1];
  rational *out = put_whole(b, t->type, x->rank, x->dims);
  b->out.constant->real = t->real;
  for (size_t i = 0; i < x->count; i++) {
    long above = (long)i % columns - (long)i / columns % rows;
    if (upper ? above >= k[0] : above <= k[0])
      mpq_set(&out[i], &t->value[x->map[i]]);
  }
}
