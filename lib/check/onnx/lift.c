/* Constants that are read as activations, in a single run. */
#include "check/onnx/lift.h"

static void
check_lifted(const builder *b)
{
  need(!b->net->batched && b->net->batch == 1 && b->in[0].constant != NULL,
       "not a constant in a single run of a model without a batch axis");
}

void
lower_lift(builder *b)
{
  check_lifted(b);
  lifted_constant(b, &b->in[0]);
}

/* Place i along an axis of `size` entries: of a constant of integers, or of the input's own. */
static size_t
place_of(const builder *b, size_t i, size_t size)
{
  const value *at = &b->in[1];
  const tensor *t = at->constant != NULL ? at->constant : b->x;
  need(at->constant != NULL || at->step == 0, "the places are not the input's own");
  long place = whole_entry(b, t, at->map[i]);
  need(place < (long)size && place >= -(long)size, "a place is out of range");
  return (size_t)(place < 0 ? place + (long)size : place);
}

/* (before, size, after) becomes (before, the places' shape, after). */
void
lower_rows(builder *b)
{
  const value *v = &b->in[0], *at = &b->in[1];
  size_t axis = axis_of(b, whole_attribute(b, "axis", 0), v->rank), dims[MAX_RANK], n = 0;
  check_lifted(b);
  need(v->rank - 1 + at->rank <= MAX_RANK, "more axes than supported");
  for (size_t i = 0; i < axis; i++)
    dims[n++] = v->dims[i];
  for (size_t i = 0; i < at->rank; i++)
    dims[n++] = at->dims[i];
  for (size_t i = axis + 1; i < v->rank; i++)
    dims[n++] = v->dims[i];
  size_t after = product(v->dims + axis + 1, v->rank - axis - 1), size = v->dims[axis];
  step *s = add_step(b, LINEAR, 1, n, dims);
  for (size_t f = 0; f < s->n; f++)
    lift_entry(b, s, f, v,
               (f / after / at->count * size + place_of(b, f / after % at->count, size)) * after + f % after);
}
