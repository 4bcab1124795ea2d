/* Softmax and normalizations, both ways, with bounds (record_node.h). Means and sums are over a line's entries. */
#include "check/record/record_node.h"
#include "check/base/allocate.h"
#include "check/smooth/line.h"

#include <stdlib.h>

/* ---- Lines */

/* How many entries it has. */
static size_t
line_members(const node_pass *p, const step *st)
{
  return st->couples ? st->length * p->n : st->length;
}

/* How far they are apart. */
static size_t
line_step(const node_pass *p, const step *st)
{
  return st->couples ? 1 : st->stride * p->n;
}

/* The first of the line that has entry e. */
static size_t
line_first(const node_pass *p, const step *st, size_t e)
{
  size_t apart = line_step(p, st), all = apart * line_members(p, st);
  return e / all * all + e % apart;
}

static const number *
line_argument(node_pass *p, const step *st, size_t e)
{
  return node_read(p, st->sources[st->source_row[e / p->n]], e % p->n);
}

static bound
mean(bound total, size_t members)
{
  return bound_over(total, bound_natural(members));
}

/* ---- Softmax */

/* Underflow in a type takes at most so much. */
static bound
underflow(size_t type)
{
  return bound_scale(bound_natural(1), -(long)type_tiny(type));
}

/* What the largest argument is at least, as it is computed, less what an entry must be below it so that its exponential is less than
 * what underflow takes, whatever is rounded. False: there is no such number. */
static bool
least_near(rational *least, const node_pass *p, const number *const *a, const interval *x, size_t n)
{
  bound gap = {0, 0}, top = {0, 0};
  RATIONAL(q);
  RATIONAL(off);
  for (size_t i = 0; i < n; i++) {
    bound_get(&off, a[i]->off);
    mpq_sub(&q, &x[i].lo, &off);
    if (i == 0 || mpq_cmp(&q, least) > 0)
      mpq_set(least, &q);
  }
  for (size_t i = 0; i < n; i++) /* the sizes of those that may be the largest */
    top = bound_most(top, mpq_cmp(&x[i].hi, least) >= 0 || a[i]->off.m > 0 ? size_of(a[i]) : top);
  if (!add_rounding(&gap, p->type, 4, bound_add(top, bound_natural(n))))
    return false;
  gap = bound_add(gap, bound_natural(2 * (type_tiny(p->type) + 2)));
  bound_get(&q, gap);
  mpq_sub(least, least, &q);
  return true;
}

/* What doubles may be wrong by about what is far: what their ends are apart, a part of sizes that they have to 40 digits, and as much again as
 * two of these are off by, which they have a few digits of at least. */
static void
width_of(rational *width, const number *const *a, const interval *x, size_t n, bound most)
{
  RATIONAL(q);
  bound off = {0, 0};
  for (size_t i = 0; i < n; i++)
    off = bound_most(off, a[i]->off);
  bound_get(width, bound_add(bound_scale(off, 1), bound_scale(bound_add(most, bound_natural(1)), -30)));
  for (size_t i = 0; i < n; i++) {
    mpq_sub(&q, &x[i].hi, &x[i].lo);
    mpq_mul_2exp(&q, &q, 2);
    mpq_add(width, width, &q);
  }
}

/* The entries that are so far below the largest; x is what they lie in. Where doubles do not tell, all is open. */
static void
mark_far(bool *far, node_pass *p, const number *const *a, const interval *x, size_t n, bound most)
{
  RATIONAL(least);
  RATIONAL(width);
  RATIONAL(q);
  bool near = least_near(&least, p, a, x, n);
  p->open = p->open || (p->doubles && !near);
  width_of(&width, a, x, n, most);
  for (size_t i = 0; i < n && near; i++) {
    bound_get(&q, a[i]->off);
    mpq_add(&q, &q, &x[i].hi);
    mpq_sub(&q, &q, &least);
    far[i] = mpq_sgn(&q) < 0;
    mpq_abs(&q, &q);
    p->open = p->open || (p->doubles && mpq_cmp(&q, &width) <= 0);
  }
}

static bool *
find_far(node_pass *p, const number *const *a, size_t n)
{
  bool *far = allocate(n, sizeof *far), known = true;
  bound most = {0, 0};
  for (size_t i = 0; i < n; i++) {
    most = bound_most(most, size_of(a[i]));
    known = known && enclosure_known(&a[i]->x);
  }
  p->open = p->open || !known;
  if (!known || bound_below(most, bound_natural(type_tiny(p->type))))
    return far;
  interval *x = intervals(n);
  for (size_t i = 0; i < n; i++)
    enclosure_get(&x[i], &a[i]->x);
  mark_far(far, p, a, x, n, most);
  intervals_free(x, n);
  return far;
}

/* What an exponential's argument may be off by: what it is less the largest. Those that are far make the sum that much larger. */
static bound
softmax_shift(node_pass *p, const number *const *a, size_t n, const bool *far)
{
  bound most = {0, 0}, shift = {0, 0};
  size_t lost = 0;
  for (size_t i = 0; i < n; i++) {
    lost += far[i];
    shift = far[i] ? shift : bound_most(shift, a[i]->off);
    most = far[i] ? most : bound_most(most, size_of(a[i]));
  }
  shift = bound_add_times(shift, bound_natural(lost), underflow(p->type));
  node_round(p, &shift, 2, bound_scale(most, 1));
  return shift;
}

/* What an entry that is far is off by: a share by twice what underflow takes; a logarithm by what its own argument is,
 * besides. */
static void
far_off(node_pass *p, bool log, size_t n, number *y, const number *a, bound shift)
{
  bound mass = least_size(&y->x), tiny = bound_scale(underflow(p->type), 1);
  if (log) {
    bound own = bound_add(shift, a->off);
    node_round(p, &own, 2, bound_scale(size_of(a), 1));
    y->off = bound_add(y->off, bound_add(own, shift));
    mass = bound_add(bound_add(mass, bound_natural(1)), own);
  } else {
    y->off = bound_add(y->off, tiny);
    mass = bound_add(mass, tiny);
  }
  node_round(p, &y->off, n + SPARE_COMPOSED, mass);
}

/* A logarithm is off by two shifts, a share y by the factor exp(2 shift), which is at least 1 + 2 shift + 2 shift^2. */
static void
softmax_off(node_pass *p, bool log, size_t n, number *y, bound shift)
{
  bound mass = least_size(&y->x), grown = bound_scale(shift, 1);
  if (log) {
    y->off = bound_add(y->off, grown);
    mass = bound_add(bound_add(mass, bound_natural(1)), shift);
  } else {
    y->off = bound_add_times(y->off, mass, bound_add_times(grown, grown, shift));
    mass = bound_add(mass, y->off);
  }
  node_round(p, &y->off, n + SPARE_COMPOSED, mass);
}

/* The share exp(x) / (exp(x) + 1): what x is off by, and a few roundings. */
static void
pair_off(node_pass *p, number *y, bound shift)
{
  bound mass = least_size(&y->x);
  y->off = bound_add_times(y->off, mass, shift);
  node_round(p, &y->off, SPARE_COMPOSED, mass);
}

static void
soften(node_pass *p, number *const *y, const number *const *a, size_t n, bool log, bool pair)
{
  enclosure *x = enclosures(n, p->doubles);
  for (size_t i = 0; i < n; i++)
    enclosure_copy(&x[i], &a[i]->x);
  enclosure_softmax(x, n, log);
  bool *far = pair ? NULL : find_far(p, a, n);
  bound shift = pair ? a[0]->off : softmax_shift(p, a, n, far);
  for (size_t i = 0; i < n; i++) {
    enclosure_copy(&y[i]->x, &x[i]);
    if (pair)
      pair_off(p, y[i], shift);
    else if (far[i])
      far_off(p, log, n, y[i], a[i], shift);
    else
      softmax_off(p, log, n, y[i], shift);
    y[i]->wide = size_of(y[i]);
  }
  for (size_t i = 0; i < n; i++)
    y[i]->open = !number_bounded(y[i], p->open);
  enclosures_free(x, n);
  free(far);
}

static void
softmax_line(node_pass *p, size_t s, size_t first)
{
  const step *st = &p->r->p->net->steps[s];
  const number **a = allocate(st->length, sizeof *a);
  number **y = allocate(st->length, sizeof *y);
  for (size_t i = 0; i < st->length; i++) {
    size_t e = first + i * line_step(p, st);
    a[i] = line_argument(p, st, e);
    y[i] = &p->y[s][e];
  }
  soften(p, y, a, st->length, st->log, node_is_pair(st));
  free(a);
  free(y);
}

void
line_log_softmax(node_pass *p, number *y, const number *x, size_t n)
{
  const number **a = allocate(n, sizeof *a);
  number **to = allocate(n, sizeof *to);
  for (size_t i = 0; i < n; i++) {
    a[i] = &x[i];
    to[i] = &y[i];
  }
  soften(p, to, a, n, true, false);
  free(a);
  free(to);
}

/* ---- Normalizations */

/* A line's root: r, what multiplies x - mean; at least that; means of sizes and errors of x; what the computed one is
 * off by, in parts of it; what the mean is; how many entries the line has. */
typedef struct {
  enclosure r;
  bound inverse, size, square, off, share, middle;
  size_t members;
} root;

/* The roots of a step's lines, kept as node_tables keeps its numbers: they depend on its arguments alone. */
typedef struct line_roots {
  size_t type, samples;
  bool doubles;
  root *of; /* by line, of the first samples first; members 0: not made yet */
} line_roots;

static root *
roots_new(size_t n, bool doubles)
{
  root *t = allocate(n, sizeof *t);
  for (size_t i = 0; i < n; i++)
    t[i].r = enclosure_nought(doubles);
  return t;
}

/* Where the root of that line is kept; NULL: nowhere. */
static root *
find_root(const node_pass *p, size_t s, size_t first)
{
  const network *net = p->r->p->net;
  const step *st = &net->steps[s];
  size_t apart = line_step(p, st), all = apart * line_members(p, st), lines = st->n * p->n / line_members(p, st);
  line_roots **roots = &p->r->kept->roots;
  if (*roots == NULL)
    *roots = allocate(net->n_steps, sizeof **roots);
  line_roots *own = &(*roots)[s];
  if (own->of == NULL)
    *own = (line_roots){p->type, p->n, p->doubles, roots_new(lines * (net->batch / p->n), p->doubles)};
  bool kept = own->type == p->type && own->samples == p->n && own->doubles == p->doubles;
  return kept ? &own->of[p->first / p->n * lines + first / all * apart + first % apart] : NULL;
}

/* c: the line's arguments, centred; t->r is times m, m being the number of its members. */
static void
root_make(root *t, enclosure *c, node_pass *p, const step *st, size_t first)
{
  size_t m = line_members(p, st);
  *t = (root){.r = t->r, .members = m};
  for (size_t i = 0; i < m; i++) {
    const number *a = line_argument(p, st, first + i * line_step(p, st));
    bound size = size_of(a);
    enclosure_copy(&c[i], &a->x);
    t->size = bound_add(t->size, size);
    t->square = bound_add_times(t->square, size, size);
    t->off = bound_add(t->off, a->off);
  }
  t->size = mean(t->size, m);
  t->off = mean(t->off, m);
  enclosure_centre(c, m);
  enclosure_inverse_root(&t->r, c, m, &st->at[0]);
  t->inverse = bound_times(least_size(&t->r), bound_natural(m));
  p->open = p->open || !enclosure_sharp(&t->r, least_size(&t->r));
  t->middle = t->off;
  node_round(p, &t->middle, m + SPARE_COMPOSED, t->size);
  bound variance = {0, 0};
  node_round(p, &variance, 2 * m + SPARE_COMPOSED, bound_scale(mean(t->square, m), 1));
  t->share = bound_times(bound_times(variance, t->inverse), t->inverse);
  node_round(p, &t->share, SPARE_COMPOSED, bound_natural(1));
}

/* What the computed (x - mean) / root is off by. */
static void
normalize_off(node_pass *p, number *y, const number *a, const root *t)
{
  bound added = bound_add(size_of(a), t->size), mass = least_size(&y->x); /* |x| + mean |x| */
  bound apart = bound_add(a->off, t->middle);
  node_round(p, &apart, SPARE_COMPOSED, added);
  y->off = bound_add_times(y->off, apart, bound_times(bound_add(bound_natural(1), t->share), t->inverse));
  y->off = bound_add_times(y->off, mass, t->share);
  mass = bound_add_times(mass, added, t->inverse);
  node_round(p, &y->off, SPARE_COMPOSED, mass);
  y->wide = bound_add(mass, y->off);
}

static void
normalize_line(node_pass *p, size_t s, size_t first)
{
  const step *st = &p->r->p->net->steps[s];
  size_t m = line_members(p, st), apart = line_step(p, st);
  enclosure *c = enclosures(m, p->doubles);
  root own = {.r = enclosure_nought(p->doubles)}, *kept = find_root(p, s, first), *t = kept != NULL ? kept : &own;
  root_make(t, c, p, st, first);
  for (size_t i = 0; i < m; i++) {
    number *y = &p->y[s][first + i * apart];
    enclosure_multiply(&y->x, &c[i], &t->r);
    enclosure_round(&y->x);
    normalize_off(p, y, line_argument(p, st, first + i * apart), t);
  }
  for (size_t i = 0; i < m; i++)
    p->y[s][first + i * apart].open = !number_bounded(&p->y[s][first + i * apart], p->open);
  enclosure_clear(&own.r);
  enclosures_free(c, m);
}

/* The line's, its numbers being computed: as it is kept, or made anew. */
static const root *
root_of(root *own, node_pass *p, size_t s, size_t first)
{
  const root *kept = find_root(p, s, first);
  const step *st = &p->r->p->net->steps[s];
  if (kept != NULL && kept->members > 0)
    return kept;
  enclosure *c = enclosures(line_members(p, st), p->doubles);
  root_make(own, c, p, st, first);
  enclosures_free(c, line_members(p, st));
  return own;
}

void
line_compute(node_pass *p, size_t s)
{
  const step *st = &p->r->p->net->steps[s];
  for (size_t e = 0; e < st->n * p->n; e++) {
    if (line_first(p, st, e) != e)
      continue;
    p->open = false;
    (st->kind == SOFTMAX ? softmax_line : normalize_line)(p, s, e);
  }
}

/* ---- Back */

/* Sums over a line, of g and of what the line's numbers y make of it. */
typedef struct {
  bound size, off;      /* of |g| + off, of off */
  bound product, apart; /* of (|y| + off of y) (|g| + off), of what the products y g are off by */
  bound added;          /* of wide y (|g| + off) */
} sums_back;

static void
sums_make(sums_back *t, node_pass *p, size_t s, const number *h, size_t first)
{
  const step *st = &p->r->p->net->steps[s];
  *t = (sums_back){0};
  for (size_t i = 0; i < line_members(p, st); i++) {
    size_t e = first + i * line_step(p, st);
    const number *y = &p->y[s][e], *g = &h[e];
    bound size = size_of(g), top = size_of(y);
    p->open = p->open || y->open || g->open;
    t->size = bound_add(t->size, size);
    t->off = bound_add(t->off, g->off);
    t->product = bound_add_times(t->product, top, size);
    t->apart = bound_add_times(t->apart, top, g->off);
    t->apart = bound_add_times(t->apart, y->off, least_size(&g->x));
    t->added = bound_add_times(t->added, y->wide, size);
  }
}

/* g - y S, y being the softmax, and S the sum of g: y is made as exp of the computed logarithm. */
static void
log_entry(node_pass *p, const number *y, const number *g, const sums_back *t, const enclosure *share,
          const enclosure *total, cotangent *to)
{
  ENCLOSURE(x, p->doubles);
  bound least = least_size(share), grown = bound_times(least, y->off);
  enclosure_multiply(&x, share, total);
  enclosure_negate(&x);
  enclosure_add(&x, &g->x);
  node_round(p, &grown, SPARE_COMPOSED, least);
  bound top = bound_add(least, grown); /* the computed softmax */
  bound off = bound_add_times(bound_add_times(g->off, top, t->off), grown, t->size);
  node_hand(p, to, &x, off, bound_add_times(size_of(g), top, t->size));
}

static void
log_back(node_pass *p, size_t s, const number *h, size_t first, sums_back *t)
{
  const step *st = &p->r->p->net->steps[s];
  size_t apart = line_step(p, st);
  enclosure *share = enclosures(st->length, p->doubles);
  ENCLOSURE(total, p->doubles);
  node_round(p, &t->off, st->length + SPARE_COMPOSED, t->size);
  for (size_t i = 0; i < st->length; i++) {
    enclosure_add(&total, &h[first + i * apart].x);
    enclosure_copy(&share[i], &line_argument(p, st, first + i * apart)->x);
  }
  enclosure_softmax(share, st->length, false);
  for (size_t i = 0; i < st->length; i++) {
    size_t e = first + i * apart;
    cotangent *to = node_target(p, st->sources[st->source_row[e / p->n]], e % p->n);
    if (to != NULL)
      log_entry(p, &p->y[s][e], &h[e], t, &share[i], &total, to);
  }
  enclosures_free(share, st->length);
}

/* y (g - sum of y g). */
static void
share_entry(node_pass *p, const step *st, const number *y, const number *g, const sums_back *t, const enclosure *total,
            cotangent *to)
{
  ENCLOSURE(x, p->doubles);
  bound mass = bound_add(size_of(g), t->product), apart = bound_add(g->off, t->apart), top = size_of(y);
  enclosure_add(&x, &g->x);
  enclosure_subtract(&x, total);
  enclosure_multiply(&x, &x, &y->x);
  node_round(p, &apart, st->length + SPARE_COMPOSED, mass);
  node_hand(p, to, &x, bound_add_times(bound_times(top, apart), y->off, mass), bound_times(mass, top));
}

static void
share_back(node_pass *p, size_t s, const number *h, size_t first, sums_back *t)
{
  const step *st = &p->r->p->net->steps[s];
  ENCLOSURE(total, p->doubles);
  for (size_t i = 0; i < st->length; i++) {
    size_t e = first + i * line_step(p, st);
    enclosure_add_product(&total, &p->y[s][e].x, &h[e].x);
    enclosure_round(&total);
  }
  for (size_t i = 0; i < st->length; i++) {
    size_t e = first + i * line_step(p, st);
    cotangent *to = node_target(p, st->sources[st->source_row[e / p->n]], e % p->n);
    if (to != NULL)
      share_entry(p, st, &p->y[s][e], &h[e], t, &total, to);
  }
}

/* y (1 - y) g, the sigmoid's slope, which is made of y. */
static void
pair_back(node_pass *p, size_t s, const number *h, size_t first, sums_back *t)
{
  const step *st = &p->r->p->net->steps[s];
  const number *y = &p->y[s][first], *g = &h[first];
  cotangent *to = node_target(p, st->sources[st->source_row[first / p->n]], first % p->n);
  ENCLOSURE(x, p->doubles);
  enclosure_multiply(&x, &y->x, &p->y[s][first + line_step(p, st)].x);
  bound slope = least_size(&x), apart = bound_scale(y->off, 1), top = size_of(y);
  enclosure_multiply(&x, &x, &g->x);
  (void)t;
  if (to == NULL)
    return;
  apart = bound_add_times(apart, apart, y->off);
  node_round(p, &apart, SPARE_COMPOSED, bound_add_times(bound_natural(1), top, top));
  slope = bound_add(slope, apart);
  node_hand(p, to, &x, bound_add_times(bound_times(slope, g->off), apart, least_size(&g->x)),
            bound_times(size_of(g), slope));
}

/* r (m g - S g - y S(y g)), S being a sum over the line. What is rounded is of the size of what some formulas add up. */
static void
normalize_entry(node_pass *p, const number *y, const number *g, const sums_back *t, const root *by, const enclosure *x,
                cotangent *to)
{
  bound top = size_of(y), mass = bound_add_times(bound_add(size_of(g), t->size), top, t->product);
  bound added = bound_add_times(mass, y->wide, t->added);
  bound off = bound_add_times(bound_add(g->off, t->off), top, t->apart);
  off = bound_add_times(off, y->off, t->product);
  node_round(p, &off, 2 * by->members + SPARE_COMPOSED, added);
  off = bound_add_times(off, off, by->share);
  off = bound_times(bound_add_times(off, mass, by->share), by->inverse);
  node_hand(p, to, x, off, bound_add_times(off, mass, by->inverse));
}

static void
normalize_back(node_pass *p, size_t s, const number *h, size_t first, sums_back *t)
{
  const step *st = &p->r->p->net->steps[s];
  size_t m = line_members(p, st), apart = line_step(p, st);
  enclosure *g = enclosures(m, p->doubles);
  root own = {.r = enclosure_nought(p->doubles)};
  const root *by = root_of(&own, p, s, first);
  ENCLOSURE(total, p->doubles);
  t->size = mean(t->size, m);
  t->off = mean(t->off, m);
  t->product = mean(t->product, m);
  t->apart = mean(t->apart, m);
  t->added = mean(t->added, m);
  for (size_t i = 0; i < m; i++) {
    size_t e = first + i * apart;
    enclosure_copy(&g[i], &h[e].x);
    enclosure_add_product(&total, &p->y[s][e].x, &g[i]);
    enclosure_round(&total);
  }
  enclosure_centre(g, m);
  for (size_t i = 0; i < m; i++) {
    size_t e = first + i * apart;
    cotangent *to = node_target(p, st->sources[st->source_row[e / p->n]], e % p->n);
    ENCLOSURE(all, p->doubles);
    enclosure_multiply(&all, &p->y[s][e].x, &total);
    enclosure_subtract(&g[i], &all);
    enclosure_multiply(&g[i], &g[i], &by->r);
    enclosure_round(&g[i]);
    if (to != NULL)
      normalize_entry(p, &p->y[s][e], &h[e], t, by, &g[i], to);
  }
  enclosure_clear(&own.r);
  enclosures_free(g, m);
}

void
line_back(node_pass *p, size_t s, const number *h)
{
  const step *st = &p->r->p->net->steps[s];
  void (*const back)(node_pass * p, size_t s, const number *h, size_t first, sums_back *t) =
      st->kind == NORMALIZE ? normalize_back
      : node_is_pair(st)    ? pair_back
      : st->log             ? log_back
                            : share_back;
  for (size_t e = 0; e < st->n * p->n; e++) {
    sums_back t;
    if (line_first(p, st, e) != e)
      continue;
    p->open = false;
    sums_make(&t, p, s, h, e);
    back(p, s, h, e, &t);
  }
}
