/* Entries that are minus infinity, before a Softmax. */
#include "check/onnx/masked.h"
#include "check/base/allocate.h"

#include <string.h>

/* Line i of those that are `stride` apart: its entry k. */
static size_t
entry_of(size_t i, size_t k, size_t length, size_t stride)
{
  return (i / stride * length + k) * stride + i % stride;
}

/* The lines of which nothing is left. */
static void
mark_lines(builder *b, const size_t *left, size_t length, size_t stride, bool added)
{
  size_t n = b->out.count / length;
  for (size_t i = 0; i < n; i++) {
    if (left[i] > 0)
      continue;
    need(!added, "a line is minus infinity throughout by an Add, to which AD hands NaN");
    if (!b->out.undefined)
      b->out.excluded = allocate(b->out.count, sizeof(bool));
    b->out.undefined = true;
    for (size_t k = 0; k < length; k++)
      b->out.excluded[entry_of(i, k, length, stride)] = true;
  }
}

void
put_masked(builder *b, const value *x, size_t length, size_t stride)
{
  size_t n = x->count / length, *left = allocate(n, sizeof *left);
  source *at = allocate(x->count, sizeof *at);
  need(strcmp(b->op, "Softmax") == 0, "a logarithm of entries that are minus infinity");
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < length; k++)
      left[i] += !x->excluded[entry_of(i, k, length, stride)];
  }
  for (size_t many = 1; many <= length; many++) { /* the lines that have so many */
    size_t dims[2] = {0, many}, f = 0;
    for (size_t i = 0; i < n; i++)
      dims[0] += left[i] == many;
    if (dims[0] == 0)
      continue;
    step *s = add_step(b, SOFTMAX, 1, 2, dims);
    s->length = many;
    s->stride = 1;
    for (size_t i = 0; i < n; i++)
      for (size_t k = 0; k < length && left[i] == many; k++) {
        size_t e = entry_of(i, k, length, stride);
        if (x->excluded[e])
          continue;
        at[e] = (source){b->out.step, f};
        s->sources[f++] = (source){x->step, x->map[e]};
      }
  }
  step *s = add_step(b, LINEAR, 1, x->rank, x->dims);
  s->copy = true;
  for (size_t e = 0; e < s->n; e++)
    s->sources[e] = x->excluded[e] ? (source){PADDING, 0} : at[e];
  if (b->of == NULL) /* an Attention has zeros where all of a line is minus infinity; else that is NaN */
    mark_lines(b, left, length, stride, x->added);
}
