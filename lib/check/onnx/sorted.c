/* The k largest or smallest entries of lines, in order. Neighbours are compared in rounds, and change places where they are
 * out of order. */
#include "check/onnx/sorted.h"

#include "check/base/allocate.h"

#define MAX_SORTED 126 /* entries */

/* Lines of n entries, `behind` apart; so many lines in all. Between rounds a place holds an entry, or minus it. */
typedef struct {
  size_t n, k, lines, behind;
  bool least, minus[MAX_SORTED];
} sorter;

/* The place that is compared with p in a round: p itself when there is none. */
static size_t
neighbour(const sorter *o, size_t round, size_t p)
{
  size_t first = round % 2, other = p >= first ? first + ((p - first) ^ 1) : p;
  return other < o->n ? other : p;
}

/* Place p of line l, of m places each: the lines before an axis, the places, the lines behind it. */
static size_t
at_place(const sorter *o, size_t l, size_t p, size_t m)
{
  return (l / o->behind * m + p) * o->behind + l % o->behind;
}

/* Term t of a step is entry `at` of v, or minus that. */
static void
read_place(const builder *b, step *s, size_t t, const value *v, size_t at, bool turn)
{
  factor_source(b, s, t, v, at);
  s->turned = true;
  if (turn)
    s->factors[t].coef = &minus_one;
}

/* The upper of two places gets the largest, the lower one minus the largest of what is negated; of the smallest the other way.
 * Its own entry is a place's first. Behind the round the first m places are wanted. */
static void
put_round(builder *b, sorter *o, size_t round, size_t m)
{
  value x = b->out;
  size_t pairs = 2 * o->lines * m, count = o->lines * m, places = x.count / o->lines;
  bool minus[MAX_SORTED];
  step *s = add_step(b, LINEAR, 1, 1, &pairs);
  for (size_t p = 0; p < m; p++) {
    size_t other = neighbour(o, round, p);
    minus[p] = (other < p) != o->least;
    for (size_t l = 0; l < o->lines; l++) {
      size_t f = at_place(o, l, p, m);
      read_place(b, s, 2 * f, &x, at_place(o, l, p, places), o->minus[p] != minus[p]);
      read_place(b, s, 2 * f + 1, &x, at_place(o, l, other, places), o->minus[other] != minus[p]);
    }
  }
  value both = b->out;
  s = add_step(b, WINDOW, 2, 1, &count);
  for (size_t f = 0; f < count; f++) {
    size_t p = f / o->behind % m;
    factor_source(b, s, 2 * f, &both, 2 * f);
    s->sources[2 * f + 1] = (source){PADDING, 0};
    if (neighbour(o, round, p) != p)
      factor_source(b, s, 2 * f + 1, &both, 2 * f + 1);
    o->minus[p] = minus[p];
  }
}

/* The first of each line alone: a window of it all. */
static void
put_extremes(builder *b, sorter *o)
{
  value x = b->out;
  if (o->least) {
    step *s = add_function(b, LINEAR, &x);
    for (size_t f = 0; f < s->n; f++)
      s->factors[f].coef = &minus_one;
    s->turned = true;
    x = b->out;
  }
  step *s = add_step(b, WINDOW, o->n, 1, &o->lines);
  for (size_t t = 0; t < o->lines * o->n; t++)
    factor_source(b, s, t, &x, at_place(o, t / o->n, t % o->n, o->n));
  o->minus[0] = o->least;
}

/* k is an attribute before operator set 10, then input 1. */
static size_t
read_k(const builder *b, size_t n)
{
  const value *list = &b->in[1];
  long k = 0;
  if (b->node->n_in == 1)
    k = whole_attribute(b, "k", 0);
  else {
    need(list->constant != NULL && !list->constant->real && list->rank == 1 && list->count == 1,
         "k is no list of one number");
    k = whole_entry(b, list->constant, list->map[0]);
  }
  need(k > 0 && (size_t)k <= n, "k is not from 1 to the number of entries");
  return (size_t)k;
}

void
lower_sorted(builder *b)
{
  const value *in = &b->in[0];
  need(in->constant == NULL, "its input must be an activation");
  size_t axis = axis_of(b, whole_attribute(b, "axis", -1), in->rank), n = in->dims[axis], dims[MAX_RANK];
  need(!on_batch(b, in, axis), "the batch axis would be mixed");
  need(n > 0 && n <= MAX_SORTED, "not 1 to 126 entries");
  need(whole_attribute(b, "sorted", 1) != 0, "sorted is 0");
  sorter o = {.n = n,
              .k = read_k(b, n),
              .lines = in->count / n,
              .behind = product(in->dims + axis + 1, in->rank - axis - 1),
              .least = whole_attribute(b, "largest", 1) == 0};
  put(b, NULL, in->step, in->map, in->rank, in->dims);
  if (o.k == 1)
    put_extremes(b, &o);
  for (size_t round = 0; round < n && o.k > 1; round++)
    put_round(b, &o, round, o.k + n - round - 1 < n ? o.k + n - round - 1 : n);
  value x = b->out;
  for (size_t i = 0; i < in->rank; i++)
    dims[i] = i == axis ? o.k : in->dims[i];
  step *s = add_step(b, LINEAR, 1, in->rank, dims);
  for (size_t l = 0; l < o.lines; l++)
    for (size_t p = 0; p < o.k; p++)
      read_place(b, s, at_place(&o, l, p, o.k), &x, at_place(&o, l, p, x.count / o.lines), o.minus[p]);
  b->out.at = in->at;
  b->out.inner = in->inner;
}
