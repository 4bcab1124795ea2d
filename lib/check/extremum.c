/* The largest or smallest of several entries. Minima are minus the largest of what is negated. */
#include "extremum.h"

#include "allocate.h"

#include <string.h>

#define MAX_WINDOW 126 /* entries */

static bool
is_least(const builder *b)
{
  return strstr(b->op, "Min") != NULL;
}

/* The node's output becomes minus it, of minima. */
static void
turn(builder *b)
{
  value x = b->out;
  if (!is_least(b))
    return;
  step *s = add_function(b, LINEAR, &x);
  for (size_t f = 0; f < s->n; f++)
    s->factors[f].coef = &minus_one;
  b->out.at = x.at;
  b->out.inner = x.inner;
}

/* ReduceMax, ReduceMin, over the axes that are named, or all. */
void
lower_extremum(builder *b)
{
  const value *x = &b->in[0];
  bool over[MAX_RANK] = {false}, named = b->in[1].name != NULL || find_attribute(b, "axes") != NULL;
  size_t kept[MAX_RANK], gone[MAX_RANK], stride[MAX_RANK], dims[MAX_RANK], n = 0, next = 1;
  long axes[MAX_RANK], keep = whole_attribute(b, "keepdims", 1);
  size_t count = named ? whole_list(b, 1, "axes", axes) : 0;
  need(x->constant == NULL && x->rank > 0, "its input must be an activation with an axis");
  need(count > 0 || whole_attribute(b, "noop_with_empty_axes", 0) == 0, "noop_with_empty_axes");
  for (size_t i = 0; i < count; i++) {
    size_t axis = axis_of(b, axes[i], x->rank);
    need(!over[axis], "an axis twice");
    over[axis] = true;
  }
  for (size_t i = x->rank; i-- > 0; next *= x->dims[i]) {
    over[i] = over[i] || count == 0;
    stride[i] = next;
    kept[i] = over[i] ? 1 : x->dims[i];
    gone[i] = over[i] ? x->dims[i] : 1;
  }
  for (size_t i = 0; i < x->rank; i++)
    if (!over[i] || keep != 0)
      dims[n++] = kept[i];
  need(!is_batch(b, x) || !over[0], "the batch axis would be mixed");
  need(product(gone, x->rank) <= MAX_WINDOW, "the largest of more than 126 entries");
  size_t *from = index_map(b, x->rank, kept, stride, NULL), *at = index_map(b, x->rank, gone, stride, NULL);
  put(b, NULL, x->step, x->map, x->rank, x->dims);
  turn(b);
  value turned = b->out;
  step *s = add_step(b, WINDOW, product(gone, x->rank), n, dims);
  for (size_t i = 0; i < s->n * s->width; i++)
    factor_source(b, s, i, &turned, from[i / s->width] + at[i % s->width]);
  turn(b);
}

/* Max, Min of two, which are laid beside one another: entries f of both are 2 f and 2 f + 1. Of one it is that. */
void
lower_larger(builder *b)
{
  size_t dims[MAX_RANK];
  if (b->node->n_in == 1) {
    const value *x = &b->in[0];
    need(x->constant == NULL, "its input must be an activation");
    put(b, NULL, x->step, x->map, x->rank, x->dims);
    b->out.at = x->at;
    b->out.inner = x->inner;
    return;
  }
  need(b->node->n_in == 2 && (b->in[0].constant == NULL || b->in[1].constant == NULL),
       "not two inputs, an activation among them");
  size_t rank = broadcast(b, &b->in[0], &b->in[1], dims), n = 2 * product(dims, rank);
  value v[2] = {spread(b, &b->in[0], rank, dims), spread(b, &b->in[1], rank, dims)};
  step *s = add_step(b, LINEAR, 1, 1, &n);
  for (size_t f = 0; f < n; f++) {
    factor *t = operand(b, s, f, &v[f % 2], f / 2);
    if (is_least(b))
      t->coef = &minus_one;
  }
  s->copy = !is_least(b);
  value pairs = b->out;
  s = add_step(b, WINDOW, 2, rank, dims);
  for (size_t f = 0; f < n; f++)
    factor_source(b, s, f, &pairs, f);
  put_batch(b, &b->in[0], &b->in[1], rank);
  turn(b);
}
