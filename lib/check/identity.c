/* Identity. Two entries are one function near the weights when they are constant with one
 * rational value, or have one number in same. */
#include "identity.h"
#include "allocate.h"
#include "cell.h"
#include "evaluate.h"
#include "line.h"

#include <stdlib.h>

static int
order(size_t a, size_t b)
{
  return (a > b) - (a < b);
}

/* Some order of rationals, which takes no products. */
static int
compare_numbers(const rational *a, const rational *b)
{
  int by = mpz_cmp(mpq_numref(a), mpq_numref(b));
  return by != 0 ? by : mpz_cmp(mpq_denref(a), mpq_denref(b));
}

int
compare_entries(const point *p, size_t s, size_t e, size_t s2, size_t e2)
{
  size_t a = same_as(p, s, e), b = same_as(p, s2, e2);
  return a == 0 && b == 0 ? compare_numbers(&value_at(p, s, e)->lo, &value_at(p, s2, e2)->lo) : order(a, b);
}

bool
left_out(const point *p, source x, size_t sample)
{
  return x.step == PADDING || (x.step != NONE && same_as(p, x.step, entry_of(p, x, sample)) == ZERO);
}

/* ---- Entries that are 0 by structure */

static bool
one_function(const point *p, size_t s, size_t e)
{
  const step *st = &p->net->steps[s];
  size_t first = line_entry(p, st, e, 0), m = line_length(p, st);
  source top = read_by(p, st, first);
  bool one = true;
  if (e != first && p->degree[s][e] > 0)
    return p->same[s][first] == ZERO; /* which is then no constant's value */
  for (size_t i = 1; i < m && one; i++) {
    size_t other = line_entry(p, st, e, i);
    source x = read_by(p, st, other);
    one = compare_entries(p, x.step, entry_of(p, x, other), top.step, entry_of(p, top, e)) == 0;
  }
  return one;
}

/* Is place i left out: of a PRODUCT, with its other factor? */
static bool
place_left_out(const point *p, const step *st, const source *x, size_t i, size_t e)
{
  return left_out(p, x[i], e) || (st->kind == PRODUCT && left_out(p, x[i ^ 1], e));
}

/* Is the entry 0, a sum of places left out, or in a NORMALIZE step's line of one function, which is its mean? (Of such
 * a line the entries before e have what same holds.) */
static bool
vanishes(const point *p, size_t s, size_t e)
{
  const step *st = &p->net->steps[s];
  const source *x = &st->sources[st->source_row[e / p->net->batch] * st->width];
  bool all = st->kind == LINEAR || st->kind == OVER_ROOT || st->kind == PRODUCT;
  for (size_t i = 0; all && i < st->width; i++)
    all = place_left_out(p, st, x, i, e);
  return all || (st->kind == NORMALIZE && one_function(p, s, e));
}

/* ---- Numbers */

/* The weights of two factors: entries of an initializer by their place, others by their value. */
static int
compare_weights(const factor *t, const factor *u)
{
  if (t->w != u->w)
    return order((uintptr_t)t->w, (uintptr_t)u->w);
  if (t->w == NULL || t->w->initializer)
    return order(t->at, u->at);
  return compare_numbers(&t->w->value[t->at], &u->w->value[u->at]);
}

static _Thread_local struct {
  const point *p;
  const step *st;
} sorted; /* what compare_features is of */

/* Orders two entries of a step by their terms, place by place, and their groups; 0 when they are one function. */
static int
compare_features(const void *a, const void *b)
{
  const point *p = sorted.p;
  const step *st = sorted.st;
  size_t e = *(const size_t *)a, e2 = *(const size_t *)b, f = e / p->net->batch, f2 = e2 / p->net->batch;
  const factor *t = &st->factors[st->factor_row[f] * st->width], *u = &st->factors[st->factor_row[f2] * st->width];
  const source *x = &st->sources[st->source_row[f] * st->width], *y = &st->sources[st->source_row[f2] * st->width];
  int by = st->kind == NORMALIZE ? order(line_entry(p, st, e, 0), line_entry(p, st, e2, 0)) : 0;
  for (size_t i = 0; i < st->width && by == 0; i++) {
    bool out = place_left_out(p, st, x, i, e), out2 = place_left_out(p, st, y, i, e2);
    if (out && out2)
      continue;
    by = order(out, out2);
    if (by == 0)
      by = compare_numbers(t[i].coef, u[i].coef);
    if (by == 0)
      by = compare_weights(&t[i], &u[i]);
    if (by == 0)
      by = order(x[i].step == NONE, y[i].step == NONE);
    if (by == 0 && x[i].step != NONE)
      by = compare_entries(p, x[i].step, entry_of(p, x[i], e), y[i].step, entry_of(p, y[i], e2));
  }
  return by;
}

/* Numbers the entries that are listed. */
static void
number_sorted(const point *p, size_t s, size_t sample, size_t *list, size_t n)
{
  sorted.p = p;
  sorted.st = &p->net->steps[s];
  qsort(list, n, sizeof *list, compare_features);
  for (size_t i = 0; i < n; i++) {
    p->n_same[sample] += i == 0 || compare_features(&list[i - 1], &list[i]) != 0;
    p->same[s][list[i]] = p->n_same[sample];
  }
}

/* What an entry copies: the source of a copy; or the first tied entry of a window that is not touched;
 * or else a constant. */
static source
copied(const point *p, const step *st, size_t s, size_t e)
{
  if (st->kind == WINDOW && p->place[s][e] < TOUCHED)
    return term_at(p, st, e, p->place[s][e]).x;
  return st->copy ? term_at(p, st, e, 0).x : (source){NONE, 0};
}

/* Fills same for a sample of a step, or all when they are coupled, and of those that it reads. What it then finds to be
 * constant has degree 0. */
static void
identify(const point *p, size_t s, size_t sample)
{
  const step *st = &p->net->steps[s];
  cell none = {.degree = p->degree};
  size_t n = entries(p, s), apart = p->net->apart, *list = allocate(n / apart, sizeof *list), listed = 0;
  bool functions = st->kind == LINEAR || st->kind == PIECEWISE || st->kind == OVER_ROOT || st->kind == NORMALIZE
                   || st->kind == PRODUCT;
  p->identified[s][sample] = true;
  for (size_t i = 0, from; i < st->n_sources; i++)
    if ((from = st->sources[i].step) < PADDING && !p->identified[from][sample])
      identify(p, from, sample);
  cell_settle_step(&none, p, s, sample, false);
  for (size_t e = sample; e < n; e += apart) {
    source x = copied(p, st, s, e);
    const interval *y = p->degree[s][e] == 0 ? value_at(p, s, e) : NULL;
    if (y != NULL && interval_exact(y))
      p->same[s][e] = interval_zero(y) ? ZERO : 0;
    else if (x.step < PADDING)
      p->same[s][e] = same_as(p, x.step, entry_of(p, x, e));
    else if (vanishes(p, s, e)) {
      p->same[s][e] = ZERO;
      p->degree[s][e] = 0;
    } else if (functions)
      list[listed++] = e;
    else
      p->same[s][e] = ++p->n_same[sample];
  }
  number_sorted(p, s, sample, list, listed);
  free(list);
}

size_t
same_as(const point *p, size_t s, size_t e)
{
  size_t sample = e % p->net->apart;
  const interval *y = p->identified[s][sample] || p->degree[s][e] > 0 ? NULL : value_at(p, s, e);
  if (y != NULL && interval_exact(y))
    return interval_zero(y) ? ZERO : 0;
  if (!p->identified[s][sample])
    identify(p, s, sample);
  return p->same[s][e];
}
