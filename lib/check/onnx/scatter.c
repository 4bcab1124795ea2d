/* ScatterElements, ScatterND (docs/operators.md): where the places say so an update is the entry, or is added to it. */
#include "check/onnx/scatter.h"
#include "check/base/allocate.h"
#include "check/onnx/inner.h"

#include <string.h>

#define MOST_ADDED 64

/* The place that entry i of the places names, on an axis of so many. */
static size_t
place(const builder *b, size_t i, size_t size)
{
  long at = whole_entry(b, b->in[1].constant, b->in[1].map[i]);
  need(at < (long)size && at >= -(long)size, "a place is out of range");
  return (size_t)(at < 0 ? at + (long)size : at);
}

/* Where the updates go, along an axis. */
static void
find_elements(const builder *b, size_t *at)
{
  const value *x = &b->in[0], *places = &b->in[1], *u = &b->in[2];
  size_t axis = axis_of(b, whole_attribute(b, "axis", 0), x->rank), stride[MAX_RANK], next = 1;
  need(places->rank == x->rank && u->rank == x->rank && memcmp(places->dims, u->dims, u->rank * sizeof *u->dims) == 0,
       "places and updates do not have one shape, with as many axes");
  for (size_t i = x->rank; i-- > 0; next *= x->dims[i]) {
    need(i == axis || u->dims[i] <= x->dims[i], "an axis of the updates is too long");
    stride[i] = next;
  }
  size_t along = stride[axis];
  stride[axis] = 0;
  size_t *base = index_map(b, u->rank, u->dims, stride, NULL);
  for (size_t i = 0; i < u->count; i++)
    at[i] = base[i] + place(b, i, x->dims[axis]) * along;
}

/* The same where each row of places is one on each of the first axes. */
static void
find_rows(const builder *b, size_t *at)
{
  const value *x = &b->in[0], *places = &b->in[1], *u = &b->in[2];
  need(places->rank > 0, "places without an axis");
  size_t n = places->rank - 1, span = places->dims[n];
  need(span > 0 && span <= x->rank && u->rank == n + x->rank - span, "numbers of axes that do not fit");
  need(memcmp(u->dims, places->dims, n * sizeof *u->dims) == 0
           && memcmp(u->dims + n, x->dims + span, (x->rank - span) * sizeof *u->dims) == 0,
       "shapes that do not fit");
  size_t behind = product(x->dims + span, x->rank - span);
  for (size_t i = 0; i < u->count; i++) {
    size_t row = 0;
    for (size_t k = 0; k < span; k++)
      row = row * x->dims[k] + place(b, i / behind * span + k, x->dims[k]);
    at[i] = row * behind + i % behind;
  }
}

/* x as one axis; a constant as an activation. */
static value
flattened(builder *b, const value *x)
{
  value v = x->constant != NULL ? inner_of(b, "Sum", x, NULL) : *x;
  return inner_node(b, "Reshape", 2, (value[]){v, list_of(b, 1, (long[]){-1})}, NULL);
}

/* The products, largest or smallest of the entries and their updates: of each place one update after another. */
static void
reduce(builder *b, const char *op)
{
  const value *x = &b->in[0], *u = &b->in[2];
  need(!is_batch(b, x) && !is_batch(b, u), "the samples are on an axis");
  size_t *at = allocate(u->count, sizeof *at), *taken = allocate(x->count, sizeof *taken), left = u->count;
  long *places = allocate(u->count, sizeof *places), *which = allocate(u->count, sizeof *which), shape[MAX_RANK];
  if (strcmp(b->op, "ScatterND") == 0)
    find_rows(b, at);
  else
    find_elements(b, at);
  value y = flattened(b, x), updates = flattened(b, u);
  for (size_t r = 0; left > 0; r++) {
    size_t n = 0;
    need(r < MOST_ADDED, "too many updates of one place");
    memset(taken, 0, x->count * sizeof *taken);
    for (size_t i = 0; i < u->count; i++)
      if (taken[at[i]]++ == r) {
        places[n] = (long)at[i];
        which[n++] = (long)i;
      }
    value list = list_of(b, n, places);
    value old = inner_node(b, "Gather", 2, (value[]){y, list}, NULL);
    value new = inner_node(b, "Gather", 2, (value[]){updates, list_of(b, n, which)}, NULL);
    new = inner_of(b, op, &old, &new);
    y = inner_node(b, "ScatterElements", 3, (value[]){y, list, new}, NULL);
    left -= n;
  }
  for (size_t i = 0; i < x->rank; i++)
    shape[i] = (long)x->dims[i];
  b->out = inner_node(b, "Reshape", 2, (value[]){y, list_of(b, x->rank, shape)}, NULL);
}

void
lower_scatter(builder *b)
{
  const char *reduction = text_attribute(b, "reduction", "none");
  bool add = strcmp(reduction, "add") == 0, max = strcmp(reduction, "max") == 0, min = strcmp(reduction, "min") == 0,
       mul = strcmp(reduction, "mul") == 0, other = mul || ((max || min) && b->opset >= 18);
  need(strcmp(b->op, "Scatter") != 0 || b->opset < 11, "an operator that ends before the model's operator set");
  need(add || other || strcmp(reduction, "none") == 0, "an unsupported reduction");
  need(b->in[1].constant != NULL && !b->in[1].constant->real, "the places are no constant of integers");
  if (other) {
    reduce(b, mul ? "Mul" : max ? "Max" : "Min");
    return;
  }
  if (b->in[0].constant != NULL && b->in[2].constant != NULL)
    lift_constant(b);
  const value *x = &b->in[0], *u = &b->in[2];
  need(!is_batch(b, u) || is_batch(b, x), "updates of each sample");
  need(!is_batch(b, x) || (b->net->together == 1 && x->inner == 0), "places of each sample");
  size_t *at = allocate(u->count, sizeof *at), *times = allocate(x->count, sizeof *times), most = 0;
  if (strcmp(b->op, "ScatterND") == 0)
    find_rows(b, at);
  else
    find_elements(b, at);
  for (size_t i = 0; i < u->count; i++) {
    times[at[i]]++;
    most = times[at[i]] > most ? times[at[i]] : most;
  }
  need(most <= (add ? MOST_ADDED : 1), "too many updates of one place");
  step *s = add_step(b, LINEAR, 1 + most, x->rank, x->dims);
  for (size_t i = 0; i < s->n_sources; i++)
    s->sources[i].step = PADDING;
  for (size_t f = 0; f < s->n; f++) {
    if (!add && times[f] > 0)
      continue;
    s->sources[f * s->width].step = NONE;
    operand(b, s, f * s->width, x, f);
  }
  for (size_t i = 0; i < u->count; i++) {
    size_t t = at[i] * s->width + times[at[i]]--;
    s->sources[t].step = NONE;
    operand(b, s, t, u, i);
  }
  b->out.at = is_batch(b, x) ? x->at : 0;
  b->out.shared = b->net->batched && !is_batch(b, x);
}
