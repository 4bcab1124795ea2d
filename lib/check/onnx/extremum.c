/* The largest or smallest of several entries. Minima are minus the largest of what is negated. */
#include "check/onnx/extremum.h"

#include "check/base/allocate.h"
#include "check/onnx/integers.h"

#include <string.h>

#define MAX_WINDOW 4096 /* entries */
#define MAX_INPUTS 126

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
  s->turned = true;
  b->out.at = x.at;
  b->out.inner = x.inner;
}

/* The largest or least entries of a constant of floats that is no parameter, computed. Minus infinity is the smallest. */
static void
put_extremes(builder *b, const value *x, const bool *over)
{
  size_t kept[MAX_RANK], gone[MAX_RANK], stride[MAX_RANK], dims[MAX_RANK],
      n = split_axes(b, x, over, kept, gone, stride, dims);
  size_t *from = index_map(b, x->rank, kept, stride, NULL), *at = index_map(b, x->rank, gone, stride, NULL);
  size_t width = product(gone, x->rank);
  rational *out = put_whole(b, x->constant->type, n, dims);
  tensor *t = b->out.constant;
  t->real = true;
  t->odd = allocate(t->count, 1);
  bool odd = false;
  for (size_t f = 0; f < t->count; f++) {
    size_t best = from[f] + at[0];
    for (size_t i = 0; i < width; i++) {
      size_t e = from[f] + at[i];
      char here = odd_entry(x, e), there = odd_entry(x, best);
      need(here == 0 || here == '-', "an entry that is infinity or NaN");
      int order = mpq_cmp(&x->constant->value[x->map[e]], &x->constant->value[x->map[best]]);
      order = here != 0 || there != 0 ? (there != 0) - (here != 0) : order;
      best = (is_least(b) ? order < 0 : order > 0) ? e : best;
    }
    mpq_set(&out[f], &x->constant->value[x->map[best]]);
    t->odd[f] = odd_entry(x, best);
    odd = odd || t->odd[f] != 0;
  }
  t->odd = odd ? t->odd : NULL;
}

/* ReduceMax, ReduceMin, SharedMax, SharedMin, over the axes that are named, or all. */
void
lower_extremum(builder *b)
{
  const value *x = &b->in[0];
  bool over[MAX_RANK] = {false}, named = b->in[1].name != NULL || find_attribute(b, "axes") != NULL;
  size_t kept[MAX_RANK], gone[MAX_RANK], stride[MAX_RANK], dims[MAX_RANK];
  long axes[MAX_RANK];
  size_t count = named ? whole_list(b, 1, "axes", axes) : 0;
  bool computed = x->constant != NULL && is_float(x) && x->count > 0;
  need(x->constant == NULL || computed, "its input must be an activation");
  if (computed) {
    mark_axes(b, axes, count, x->rank, over);
    for (size_t i = 0; i < x->rank && count == 0; i++)
      over[i] = whole_attribute(b, "noop_with_empty_axes", 0) == 0;
    put_extremes(b, x, over);
    return;
  }
  if (x->excluded == NULL && count == 0 && (x->rank == 0 || whole_attribute(b, "noop_with_empty_axes", 0) != 0)) {
    put(b, NULL, x->step, x->map, x->rank, x->dims);
    put_split(b, x, over);
    return;
  }
  mark_axes(b, axes, count, x->rank, over);
  for (size_t i = 0; i < x->rank && count == 0; i++)
    over[i] = whole_attribute(b, "noop_with_empty_axes", 0) == 0;
  size_t n = split_axes(b, x, over, kept, gone, stride, dims);
  need(product(gone, x->rank) <= MAX_WINDOW, "the largest of more than 4096 entries");
  size_t *from = index_map(b, x->rank, kept, stride, NULL), *at = index_map(b, x->rank, gone, stride, NULL);
  put(b, NULL, x->step, x->map, x->rank, x->dims);
  turn(b);
  value turned = b->out;
  step *s = add_step(b, WINDOW, product(gone, x->rank), n, dims);
  bool *none = x->excluded != NULL ? allocate(s->n, sizeof *none) : NULL, some = false;
  for (size_t f = 0; f < s->n; f++) {
    size_t left = 0;
    for (size_t i = 0; i < s->width; i++)
      left += none == NULL || !x->excluded[from[f] + at[i]];
    for (size_t i = 0; i < s->width; i++)
      if (left > 0 && none != NULL && x->excluded[from[f] + at[i]])
        s->sources[f * s->width + i] = (source){PADDING, 0};
      else
        factor_source(b, s, f * s->width + i, &turned, from[f] + at[i]);
    if (none != NULL)
      none[f] = left == 0; /* all are minus infinity, and so is the largest */
    some = some || left == 0;
  }
  b->out.excluded = some ? none : NULL;
  turn(b);
  put_split(b, x, over);
}

/* Max, Min, SharedMaximum, SharedMinimum of n, laid beside one another: entries f of all are n f, n f + 1, ... */
void
lower_larger(builder *b)
{
  size_t n = b->node->n_in;
  if (n == 2 && of_integers(b)) {
    need(!b->node->own, "integers");
    lower_whole(b);
    return;
  }
  need(n <= MAX_INPUTS, "more than 126 inputs");
  share_constants(b);
  value all = broadcast_all(b, n), v[MAX_INPUTS];
  need(all.constant == NULL, "its input must be an activation");
  if (n == 1) {
    put(b, NULL, all.step, all.map, all.rank, all.dims);
    b->out.at = all.at;
    b->out.inner = all.inner;
    return;
  }
  for (size_t i = 0; i < n; i++)
    v[i] = spread(b, &b->in[i], all.rank, all.dims);
  size_t many = n * product(all.dims, all.rank);
  step *s = add_step(b, LINEAR, 1, 1, &many);
  for (size_t f = 0; f < many; f++) {
    factor *t = operand(b, s, f, &v[f % n], f / n);
    if (is_least(b))
      t->coef = &minus_one;
  }
  s->copy = !is_least(b);
  s->turned = is_least(b);
  value rows = b->out;
  s = add_step(b, WINDOW, n, all.rank, all.dims);
  s->op = !b->node->own ? s->op : is_least(b) ? "SharedMin" : "SharedMax";
  for (size_t f = 0; f < many; f++)
    factor_source(b, s, f, &rows, f);
  b->out.at = all.at;
  b->out.inner = all.inner;
  turn(b);
}
