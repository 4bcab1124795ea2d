/* Softmax and normalizations, both ways, with bounds (record_node.h). Means and sums are over a line's entries. */
#include "check/record/record_node.h"
#include "check/base/allocate.h"
#include "check/kernel/line.h"

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

static void
mean(rational *q, size_t members)
{
  RATIONAL(n);
  mpq_set_ui(&n, members, 1);
  mpq_div(q, q, &n);
}

/* ---- Softmax */

/* What an exponential's argument may be off by: what it is less the largest. */
static void
softmax_shift(rational *shift, node_pass *p, const number *const *a, size_t n)
{
  RATIONAL(size);
  RATIONAL(most);
  for (size_t i = 0; i < n; i++) {
    if (mpq_cmp(&a[i]->off, shift) > 0)
      mpq_set(shift, &a[i]->off);
    size_of(&size, a[i]);
    if (mpq_cmp(&size, &most) > 0)
      mpq_set(&most, &size);
  }
  mpq_mul_2exp(&most, &most, 1);
  node_round(p, shift, 2, &most);
}

/* Of a logarithm two shifts; of a share y, the factor exp(2 shift), which is at least 1 + 2 shift + 2 shift^2. */
static void
softmax_off(node_pass *p, bool log, size_t n, number *y, const rational *shift)
{
  RATIONAL(mass);
  RATIONAL(grown);
  least_size(&mass, &y->x);
  mpq_mul_2exp(&grown, shift, 1);
  if (log) {
    mpq_add(&y->off, &y->off, &grown);
    mpq_add(&mass, &mass, &plus_one);
    mpq_add(&mass, &mass, shift);
  } else {
    add_times(&grown, &grown, shift);
    add_times(&y->off, &mass, &grown);
    mpq_add(&mass, &mass, &y->off);
  }
  node_round(p, &y->off, n + SPARE_COMPOSED, &mass);
}

/* The share exp(x) / (exp(x) + 1): what x is off by, and a few roundings. */
static void
pair_off(node_pass *p, number *y, const rational *shift)
{
  RATIONAL(mass);
  least_size(&mass, &y->x);
  add_times(&y->off, &mass, shift);
  node_round(p, &y->off, SPARE_COMPOSED, &mass);
}

static void
soften(node_pass *p, number *const *y, const number *const *a, size_t n, bool log, bool pair)
{
  interval *x = intervals(n);
  RATIONAL(shift);
  for (size_t i = 0; i < n; i++)
    interval_add(&x[i], &a[i]->x, &plus_one);
  interval_softmax(x, x, n, 1, log);
  if (pair)
    mpq_set(&shift, &a[0]->off);
  else
    softmax_shift(&shift, p, a, n);
  for (size_t i = 0; i < n; i++) {
    interval_add(&y[i]->x, &x[i], &plus_one);
    if (pair)
      pair_off(p, y[i], &shift);
    else
      softmax_off(p, log, n, y[i], &shift);
    size_of(&y[i]->wide, y[i]);
  }
  for (size_t i = 0; i < n; i++)
    y[i]->open = p->open;
  intervals_free(x, n);
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

/* Of a line: r, what multiplies x - mean; at least that; means of sizes and errors of x; what the computed one is off by, in parts
 * of it; what the mean is; how many entries. */
typedef struct {
  interval r;
  rational inverse, size, square, off, share, middle;
  size_t members;
} root;

static void
root_clear(root *t)
{
  interval_clear(&t->r);
  mpq_clears(&t->inverse, &t->size, &t->square, &t->off, &t->share, &t->middle, NULL);
}

/* c: the line's arguments, centred; t->r is times m, m being the number of its members. */
static void
root_make(root *t, interval *c, node_pass *p, const step *st, size_t first)
{
  size_t m = line_members(p, st);
  RATIONAL(q);
  *t = (root){interval_nought(), rational_zero(), rational_zero(), rational_zero(),
              rational_zero(),   rational_zero(), rational_zero(), m};
  for (size_t i = 0; i < m; i++) {
    const number *a = line_argument(p, st, first + i * line_step(p, st));
    interval_add(&c[i], &a->x, &plus_one);
    size_of(&q, a);
    add_times(&t->size, &q, &plus_one);
    add_times(&t->square, &q, &q);
    add_times(&t->off, &a->off, &plus_one);
  }
  mean(&t->size, m);
  mean(&t->square, m);
  mean(&t->off, m);
  centre(c, m);
  inverse_root(&t->r, c, m, &st->at[0], 0);
  mpq_set_ui(&q, m, 1);
  least_size(&t->inverse, &t->r);
  mpq_mul(&t->inverse, &t->inverse, &q);
  mpq_set(&t->middle, &t->off);
  node_round(p, &t->middle, m + SPARE_COMPOSED, &t->size);
  mpq_mul_2exp(&t->square, &t->square, 1);
  mpq_set(&q, &zero);
  node_round(p, &q, 2 * m + SPARE_COMPOSED, &t->square); /* the variance's */
  mpq_mul(&q, &q, &t->inverse);
  add_times(&t->share, &q, &t->inverse);
  node_round(p, &t->share, SPARE_COMPOSED, &plus_one);
}

/* What the computed (x - mean) / root is off by. */
static void
normalize_off(node_pass *p, number *y, const number *a, const root *t)
{
  RATIONAL(added); /* |x| + mean |x| */
  RATIONAL(apart);
  RATIONAL(by);
  RATIONAL(mass);
  size_of(&added, a);
  mpq_add(&added, &added, &t->size);
  mpq_add(&apart, &a->off, &t->middle);
  node_round(p, &apart, SPARE_COMPOSED, &added);
  mpq_add(&by, &plus_one, &t->share);
  mpq_mul(&by, &by, &t->inverse);
  add_times(&y->off, &apart, &by);
  least_size(&mass, &y->x);
  add_times(&y->off, &mass, &t->share);
  add_times(&mass, &added, &t->inverse);
  node_round(p, &y->off, SPARE_COMPOSED, &mass);
  mpq_add(&y->wide, &mass, &y->off);
}

static void
normalize_line(node_pass *p, size_t s, size_t first)
{
  const step *st = &p->r->p->net->steps[s];
  size_t m = line_members(p, st), apart = line_step(p, st);
  interval *c = intervals(m);
  root t;
  root_make(&t, c, p, st, first);
  for (size_t i = 0; i < m; i++) {
    number *y = &p->y[s][first + i * apart];
    interval_mul(&y->x, &c[i], &t.r);
    interval_round(&y->x);
    normalize_off(p, y, line_argument(p, st, first + i * apart), &t);
  }
  for (size_t i = 0; i < m; i++)
    p->y[s][first + i * apart].open = p->open;
  root_clear(&t);
  intervals_free(c, m);
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

/* Of g, and of what the line's numbers y make of it: sums over the line. */
typedef struct {
  rational size, off;      /* of |g| + off, of off */
  rational product, apart; /* of (|y| + off of y) (|g| + off), of what the products y g are off by */
  rational added;          /* of wide y (|g| + off) */
} sums_back;

static void
sums_clear(sums_back *t)
{
  mpq_clears(&t->size, &t->off, &t->product, &t->apart, &t->added, NULL);
}

static void
sums_make(sums_back *t, node_pass *p, size_t s, const number *h, size_t first)
{
  const step *st = &p->r->p->net->steps[s];
  RATIONAL(size);
  RATIONAL(least);
  RATIONAL(top);
  *t = (sums_back){rational_zero(), rational_zero(), rational_zero(), rational_zero(), rational_zero()};
  for (size_t i = 0; i < line_members(p, st); i++) {
    size_t e = first + i * line_step(p, st);
    const number *y = &p->y[s][e], *g = &h[e];
    p->open = p->open || y->open || g->open;
    size_of(&size, g);
    size_of(&top, y);
    least_size(&least, &g->x);
    add_times(&t->size, &size, &plus_one);
    add_times(&t->off, &g->off, &plus_one);
    add_times(&t->product, &top, &size);
    add_times(&t->apart, &top, &g->off);
    add_times(&t->apart, &y->off, &least);
    add_times(&t->added, &y->wide, &size);
  }
}

/* g - y S, y being the softmax, and S the sum of g: y is made as exp of the computed logarithm. */
static void
log_entry(node_pass *p, const number *y, const number *g, const sums_back *t, const interval *share,
          const interval *total, handed *to)
{
  INTERVAL(x);
  RATIONAL(q);
  RATIONAL(top); /* the computed softmax */
  RATIONAL(off);
  RATIONAL(mass);
  interval_mul(&x, share, total);
  mpq_neg(&x.lo, &x.lo);
  mpq_neg(&x.hi, &x.hi);
  mpq_swap(&x.lo, &x.hi);
  interval_add(&x, &g->x, &plus_one);
  least_size(&q, share);
  mpq_set(&top, &q);
  add_times(&top, &q, &y->off);
  node_round(p, &top, SPARE_COMPOSED, &q);
  mpq_set(&off, &g->off);
  add_times(&off, &top, &t->off);
  mpq_sub(&q, &top, &q);
  add_times(&off, &q, &t->size);
  size_of(&mass, g);
  add_times(&mass, &top, &t->size);
  node_hand(p, to, &x, &off, &mass);
}

static void
log_back(node_pass *p, size_t s, const number *h, size_t first, sums_back *t)
{
  const step *st = &p->r->p->net->steps[s];
  size_t apart = line_step(p, st);
  interval *share = intervals(st->length);
  INTERVAL(total);
  node_round(p, &t->off, st->length + SPARE_COMPOSED, &t->size);
  for (size_t i = 0; i < st->length; i++) {
    interval_add(&total, &h[first + i * apart].x, &plus_one);
    interval_add(&share[i], &line_argument(p, st, first + i * apart)->x, &plus_one);
  }
  interval_softmax(share, share, st->length, 1, false);
  for (size_t i = 0; i < st->length; i++) {
    size_t e = first + i * apart;
    handed *to = node_target(p, st->sources[st->source_row[e / p->n]], e % p->n);
    if (to != NULL)
      log_entry(p, &p->y[s][e], &h[e], t, &share[i], &total, to);
  }
  intervals_free(share, st->length);
}

/* y (g - sum of y g). */
static void
share_entry(node_pass *p, const step *st, const number *y, const number *g, const sums_back *t, const interval *total,
            handed *to)
{
  INTERVAL(x);
  RATIONAL(top);
  RATIONAL(off);
  RATIONAL(apart);
  RATIONAL(mass);
  interval_add(&x, &g->x, &plus_one);
  interval_add(&x, total, &minus_one);
  interval_mul(&x, &x, &y->x);
  size_of(&mass, g);
  mpq_add(&mass, &mass, &t->product);
  mpq_add(&apart, &g->off, &t->apart);
  node_round(p, &apart, st->length + SPARE_COMPOSED, &mass);
  size_of(&top, y);
  add_times(&off, &top, &apart);
  add_times(&off, &y->off, &mass);
  mpq_mul(&mass, &mass, &top);
  node_hand(p, to, &x, &off, &mass);
}

static void
share_back(node_pass *p, size_t s, const number *h, size_t first, sums_back *t)
{
  const step *st = &p->r->p->net->steps[s];
  INTERVAL(total);
  for (size_t i = 0; i < st->length; i++) {
    size_t e = first + i * line_step(p, st);
    interval_addmul(&total, &p->y[s][e].x, &h[e].x);
  }
  for (size_t i = 0; i < st->length; i++) {
    size_t e = first + i * line_step(p, st);
    handed *to = node_target(p, st->sources[st->source_row[e / p->n]], e % p->n);
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
  handed *to = node_target(p, st->sources[st->source_row[first / p->n]], first % p->n);
  INTERVAL(x);
  RATIONAL(slope);
  RATIONAL(apart);
  RATIONAL(mass);
  RATIONAL(off);
  interval_mul(&x, &y->x, &p->y[s][first + line_step(p, st)].x);
  least_size(&slope, &x);
  interval_mul(&x, &x, &g->x);
  (void)t;
  if (to == NULL)
    return;
  size_of(&off, y);
  mpq_mul(&mass, &off, &off);
  mpq_add(&mass, &mass, &plus_one);
  mpq_set(&off, &zero);
  mpq_add(&apart, &y->off, &y->off);
  add_times(&apart, &apart, &y->off);
  node_round(p, &apart, SPARE_COMPOSED, &mass);
  mpq_add(&slope, &slope, &apart);
  add_times(&off, &slope, &g->off);
  least_size(&mass, &g->x);
  add_times(&off, &apart, &mass);
  mpq_add(&mass, &mass, &g->off);
  mpq_mul(&mass, &mass, &slope);
  node_hand(p, to, &x, &off, &mass);
}

/* r (m g - S g - y S(y g)), S being a sum over the line. What is rounded is of the size of what some formulas add up. */
static void
normalize_entry(node_pass *p, const number *y, const number *g, const sums_back *t, const root *by, const interval *x,
                handed *to)
{
  RATIONAL(top);
  RATIONAL(mass);
  RATIONAL(added);
  RATIONAL(off);
  size_of(&top, y);
  size_of(&mass, g);
  mpq_add(&mass, &mass, &t->size);
  add_times(&mass, &top, &t->product);
  mpq_set(&added, &mass);
  add_times(&added, &y->wide, &t->added);
  mpq_add(&off, &g->off, &t->off);
  add_times(&off, &top, &t->apart);
  add_times(&off, &y->off, &t->product);
  node_round(p, &off, 2 * by->members + SPARE_COMPOSED, &added);
  add_times(&off, &off, &by->share);
  add_times(&off, &mass, &by->share);
  mpq_mul(&off, &off, &by->inverse);
  mpq_mul(&mass, &mass, &by->inverse);
  mpq_add(&mass, &mass, &off);
  node_hand(p, to, x, &off, &mass);
}

static void
normalize_back(node_pass *p, size_t s, const number *h, size_t first, sums_back *t)
{
  const step *st = &p->r->p->net->steps[s];
  size_t m = line_members(p, st), apart = line_step(p, st);
  interval *c = intervals(m), *g = intervals(m);
  INTERVAL(total);
  root by;
  root_make(&by, c, p, st, first);
  mean(&t->size, m);
  mean(&t->off, m);
  mean(&t->product, m);
  mean(&t->apart, m);
  mean(&t->added, m);
  for (size_t i = 0; i < m; i++) {
    size_t e = first + i * apart;
    interval_add(&g[i], &h[e].x, &plus_one);
    interval_addmul(&total, &p->y[s][e].x, &g[i]);
  }
  centre(g, m);
  for (size_t i = 0; i < m; i++) {
    size_t e = first + i * apart;
    handed *to = node_target(p, st->sources[st->source_row[e / p->n]], e % p->n);
    INTERVAL(all);
    multiply_add(&all, &p->y[s][e].x, &total);
    interval_add(&g[i], &all, &minus_one);
    interval_mul(&g[i], &g[i], &by.r);
    interval_round(&g[i]);
    if (to != NULL)
      normalize_entry(p, &p->y[s][e], &h[e], t, &by, &g[i], to);
  }
  root_clear(&by);
  intervals_free(c, m);
  intervals_free(g, m);
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
    sums_clear(&t);
  }
}
