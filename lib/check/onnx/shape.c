/* Operators that put entries of tensors together, or something between them. */
#include "check/onnx/shape.h"
#include "check/base/allocate.h"
#include "check/onnx/inner.h"
#include "check/onnx/integers.h"

#include <stdlib.h>
#include <string.h>

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

/* What is put in: 0, *number; '-', minus infinity; '?', what is infinite or NaN otherwise. */
static char
filling_of(const builder *b, const value *with, rational *number)
{
  real_attribute(b, "value", number, 0);
  if (with->name == NULL)
    return 0;
  need(with->constant != NULL && with->constant->real && with->count == 1, "its value is no constant number");
  with->constant->number = true;
  char odd = odd_entry(with, 0);
  if (odd == 0)
    mpq_set(number, &with->constant->value[with->map[0]]);
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

/* Pad with a number, negative pads cut off; or with entries of the axis. A mask of constants to which minus infinity belongs stays one. */
void
lower_pad(builder *b)
{
  const value *x = &b->in[0], *with = &b->in[2];
  const char *mode = text_attribute(b, "mode", "constant");
  bool zeros = strcmp(mode, "constant") == 0, stays = x->constant != NULL;
  rational *number = rationals(1);
  char filling = zeros ? filling_of(b, with, number) : 0;
  value put = rational_of(b, number);
  long pads[2 * MAX_RANK], axes[MAX_RANK], before[MAX_RANK] = {0};
  size_t dims[MAX_RANK], n = whole_list_within(b, 1, "pads", pads, 2 * MAX_RANK), count = x->rank;
  bool padded[MAX_RANK] = {false};
  need(filling != '?' || stays, "not with a number, nor minus infinity");
  need(mpq_sgn(number) == 0 || !stays, "constants that are padded with another number than 0");
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
    need(size > 0 && (!on_batch(b, x, axis) || (pads[i] == 0 && pads[count + i] == 0)),
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
    else if (mpq_sgn(number) != 0)
      operand(b, s, f, &put, 0);
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
