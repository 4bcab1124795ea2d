/* What moves when parameters do: tangents, gradients and degrees of drawn small networks, beside differences of naive values; and what depends on
 * what, beside a search entry by entry. */
#include "../draw.h"
#include "../suite.h"
#include "check/kernel/adjoint.h"
#include "check/kernel/behind.h"
#include "check/kernel/cell.h"
#include "check/kernel/factor.h"
#include "check/kernel/gradient.h"
#include "check/kernel/identity.h"
#include "check/kernel/place.h"
#include "forge_tape_judge.h"
#include "small_world.h"

#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

enum { MOVED = 500, CLOSE = 200, GRADIENTS = 8 };
static uint64_t worlds;

/* By entry: what it was, and how it differs from that when weights have moved by 2^-MOVED times what `move` has then, times 2^MOVED. */
typedef struct {
  world w;
  rational before[MOST_STEPS][MOST_ENTRIES], change[MOST_STEPS][MOST_ENTRIES], each[MOST_WEIGHTS][MOST_STEPS][MOST_ENTRIES];
  size_t told, gradients;
} moved;

static struct {
  size_t touched, flat, tangents, gradients, constants, losses, adjoints, roots, lines, behind, apart, loose, factors;
} all;

static void
change_by(rational *y, const rational *after, const rational *before)
{
  mpq_sub(y, after, before);
  mpq_mul_2exp(y, y, MOVED);
}

static void
move_world(moved *m, uint64_t seed)
{
  world *w = &m->w;
  tensor *t = &w->w[0];

  world_draw(w, seed);
  rational *at = rationals(t->count);
  for (size_t i = 0; i < t->count; i++)
    mpq_set(&at[i], &t->value[i]);
  for (size_t i = 0; i < MOST_STEPS * MOST_ENTRIES; i++) {
    m->before[i / MOST_ENTRIES][i % MOST_ENTRIES] = rational_zero();
    m->change[i / MOST_ENTRIES][i % MOST_ENTRIES] = rational_zero();
    mpq_set(&m->before[i / MOST_ENTRIES][i % MOST_ENTRIES], &w->y[i / MOST_ENTRIES][i % MOST_ENTRIES]);
  }
  world_move(w);
  world_values(w);
  w->net.n_wrt = t->count;
  w->net.move = t->move = rationals(t->count);
  w->net.gradient = t->gradient = rationals(t->count);
  for (size_t i = 0; i < t->count; i++) {
    change_by(&t->move[i], &t->value[i], &at[i]);
    mpq_set(&t->value[i], &at[i]);
  }
  for (size_t i = 0; i < MOST_STEPS * MOST_ENTRIES; i++) {
    rational *y = &m->change[i / MOST_ENTRIES][i % MOST_ENTRIES];
    change_by(y, &w->y[i / MOST_ENTRIES][i % MOST_ENTRIES], &m->before[i / MOST_ENTRIES][i % MOST_ENTRIES]);
  }
}

/* Are the two within 2^-CLOSE, or so much of b? Intervals of few bits end in multiples of more. */
static bool
close_to(const rational *a, const rational *b)
{
  RATIONAL(off);
  RATIONAL(most);

  mpq_sub(&off, a, b);
  mpq_abs(&off, &off);
  mpq_abs(&most, b);
  mpq_add(&most, &most, &plus_one);
  mpq_div_2exp(&most, &most, CLOSE);
  return mpq_cmp(&off, &most) <= 0;
}

static bool
holds(const interval *x, const rational *y)
{
  return (mpq_cmp(&x->lo, y) <= 0 || close_to(&x->lo, y)) && (mpq_cmp(y, &x->hi) <= 0 || close_to(&x->hi, y));
}

/* The side on which the argument is after the move, or the option that is largest. What does not move has any. */
static int
side_of(const moved *m, const touch *t)
{
  int best = 0;

  if (t->n == 1)
    return mpq_sgn(&m->change[t->from][t->at[0]]) < 0 ? -1 : 1;
  for (size_t o = 1; o < t->n; o++)
    if (mpq_cmp(&m->w.y[t->from][t->at[o]], &m->w.y[t->from][t->at[best]]) > 0)
      best = (int)o;
  return best + 1;
}

/* The gradient of an entry, as that of a kink's argument: does it say what the entry changes by? It is rational where nothing is rounded. */
static void
expect_gradient(moved *m, const cell *c, size_t s, size_t e)
{
  point p = m->w.p;
  size_t at = e;
  RATIONAL(sum);
  RATIONAL(q);

  p.touched = calloc(p.n_touched + 1, sizeof *p.touched);
  memcpy(p.touched, m->w.p.touched, p.n_touched * sizeof *p.touched);
  p.touched[p.n_touched] = (touch){.step = s, .entry = e, .from = s, .n = 1, .at = &at};
  if (!kink_gradient(&p, c->slope, c, p.n_touched, 0, 0, false)) {
    ck_assert_msg(m->w.rounded[s], "step %zu, entry %zu has no gradient", s, e);
    return;
  }
  for (size_t i = 0; i < p.net->n_wrt; i++) {
    mpq_mul(&q, &p.net->gradient[i], &p.net->move[i]);
    mpq_add(&sum, &sum, &q);
  }
  ck_assert_msg(close_to(&sum, &m->change[s][e]), "step %zu, entry %zu: gradient", s, e);
  all.gradients++;
}

/* Where nothing is touched: what entries change by with each parameter alone, times 2^MOVED. */
static void
move_each(moved *m)
{
  tensor *t = &m->w.w[0];
  RATIONAL(by);
  RATIONAL(was);

  mpq_div_2exp(&by, &plus_one, MOVED);
  for (size_t i = 0; i < t->count; i++) {
    mpq_set(&was, &t->value[i]);
    mpq_add(&t->value[i], &t->value[i], &by);
    world_values(&m->w);
    mpq_set(&t->value[i], &was);
    for (size_t k = 0; k < MOST_STEPS * MOST_ENTRIES; k++) {
      m->each[i][k / MOST_ENTRIES][k % MOST_ENTRIES] = rational_zero();
      change_by(&m->each[i][k / MOST_ENTRIES][k % MOST_ENTRIES], &m->w.y[k / MOST_ENTRIES][k % MOST_ENTRIES],
                &m->before[k / MOST_ENTRIES][k % MOST_ENTRIES]);
    }
  }
}

static bool
larger(const rational *a, const rational *b)
{
  RATIONAL(x);
  RATIONAL(y);

  mpq_abs(&x, a);
  mpq_abs(&y, b);
  return mpq_cmp(&x, &y) > 0;
}

/* A gradient up to a root is a positive multiple of the changes: what is largest in both stands at one place, and all in proportion. */
static void
expect_multiple(moved *m, const cell *c, size_t s, size_t e)
{
  point p = m->w.p;
  touch one = {.step = s, .entry = e, .from = s, .n = 1, .at = &e};
  size_t most = 0;
  RATIONAL(left);
  RATIONAL(right);

  p.touched = &one;
  if (!kink_gradient(&p, c->slope, c, 0, 0, 0, true))
    return;
  for (size_t i = 1; i < p.net->n_wrt; i++)
    most = larger(&m->each[i][s][e], &m->each[most][s][e]) ? i : most;
  ck_assert(mpq_sgn(&p.net->gradient[most]) == mpq_sgn(&m->each[most][s][e]) || close_to(&m->each[most][s][e], &zero));
  for (size_t i = 0; i < p.net->n_wrt; i++) {
    mpq_mul(&left, &p.net->gradient[i], &m->each[most][s][e]);
    mpq_mul(&right, &p.net->gradient[most], &m->each[i][s][e]);
    ck_assert_msg(close_to(&left, &right), "step %zu, entry %zu: gradient up to a root", s, e);
  }
  all.lines += p.net->steps[s].kind == NORMALIZE && mpq_sgn(&p.net->gradient[most]) != 0;
  all.roots += m->w.rounded[s] && mpq_sgn(&p.net->gradient[most]) != 0;
}

/* ---- Factors */

/* An entry that is 0 and affine but for a factor stays 0 wherever parameters move across its gradient. Nothing is touched: no side changes. */
static void
expect_factor(moved *m, const cell *c, size_t s, size_t e)
{
  point p = m->w.p;
  touch one = {.step = 0, .entry = e, .from = s, .n = 1, .at = &e}; /* an input's kink is at 0 */
  tensor *t = &m->w.w[0];
  rational *was = rationals(t->count);
  RATIONAL(least);
  RATIONAL(by);

  p.touched = &one;
  if (mpq_sgn(&m->before[s][e]) != 0 || !affine_but_for_a_factor(&p, c, &one, 0, 0) || !kink_gradient(&p, c->slope, c, 0, 0, 0, true))
    return;
  mpq_div_2exp(&least, &plus_one, MOVED / 4);
  for (size_t i = 0; i < t->count; i++) { /* across: g1, -g0, g3, -g2, ...; and anywhere where g is 0 */
    const rational *other = &p.net->gradient[i ^ 1];
    mpq_set(&was[i], &t->value[i]);
    mpq_mul(&by, mpq_sgn(&p.net->gradient[i]) == 0 ? &plus_one : other, &least);
    (i % 2 == 0 ? mpq_add : mpq_sub)(&t->value[i], &t->value[i], &by);
  }
  const bool moves = !zeros(p.net->gradient, t->count);
  world_values(&m->w);
  mpq_div_2exp(&least, &plus_one, 2 * MOVED);
  mpq_abs(&by, &m->w.y[s][e]);
  ck_assert_msg(mpq_cmp(&by, &least) < 0, "step %zu, entry %zu is not affine but for a factor", s, e);
  for (size_t i = 0; i < t->count; i++)
    mpq_set(&t->value[i], &was[i]);
  all.factors += moves && c->degree[s][e] == 2;
}

/* ---- The loss, of the last step's entries */

static void
set_loss(world *w, bool squares)
{
  network *net = &w->net;
  const step *last = &net->steps[net->n_steps - 1];
  tensor *y = calloc(1, sizeof *y);

  net->output = net->n_steps - 1;
  net->n_outputs = last->n;
  net->map = calloc(last->n, sizeof *net->map);
  for (size_t i = 0; i < last->n; i++)
    net->map[i] = last->n - 1 - i;
  *y = (tensor){.count = last->n * net->batch, .value = rationals(last->n * net->batch)};
  for (size_t i = 0; i < y->count; i++)
    mpq_set_si(&y->value[i], (long)i - 3, 2);
  for (size_t i = 0; i < y->count; i++)
    mpq_canonicalize(&y->value[i]);
  w->p.loss = squares ? LOSS_MSE : LOSS_SUM;
  w->p.target = y;
}

/* What the loss changes by where the output does; of a mean of squares times their number. */
static void
loss_change(const moved *m, rational *sum)
{
  const network *net = &m->w.net;
  RATIONAL(q);

  mpq_set(sum, &zero);
  for (size_t b = 0; b < net->batch; b++)
    for (size_t i = 0; i < net->n_outputs; i++) {
      const size_t e = net->map[i] * net->batch + b;
      if (m->w.p.loss == LOSS_MSE) {
        mpq_sub(&q, &m->before[net->output][e], &m->w.p.target->value[b * net->n_outputs + i]);
        mpq_add(&q, &q, &q);
      } else
        mpq_set(&q, &plus_one);
      mpq_mul(&q, &q, &m->change[net->output][e]);
      mpq_add(sum, sum, &q);
    }
}

static void
times(interval *x, size_t n)
{
  RATIONAL(q);

  mpq_set_ui(&q, n, 1);
  mpq_mul(&x->lo, &x->lo, &q);
  mpq_mul(&x->hi, &x->hi, &q);
}

/* Along the move, and by the gradient where it is rational. */
static void
expect_loss(moved *m, const cell *c, const motion *d)
{
  const network *net = &m->w.net;
  const size_t n = m->w.p.loss == LOSS_MSE ? net->n_outputs * net->batch : 1;
  RATIONAL(change);
  INTERVAL(t);
  RATIONAL(q);

  loss_change(m, &change);
  mpq_set(&t.lo, &change); /* what was there does not count */
  tangent_loss(&t, d);
  times(&t, n);
  ck_assert_msg(holds(&t, &change), "the loss's tangent");
  all.losses++;
  if (m->w.rounded[net->output])
    return;
  loss_gradient(&m->w.p, c->slope, c, false);
  mpq_set(&t.hi, &zero);
  for (size_t i = 0; i < net->n_wrt; i++) {
    mpq_mul(&q, &net->gradient[i], &net->move[i]);
    mpq_add(&t.hi, &t.hi, &q);
  }
  mpq_set(&t.lo, &t.hi);
  times(&t, n);
  ck_assert_msg(holds(&t, &change), "the loss's gradient");
}

/* ---- What depends on what */

typedef bool marked[MOST_STEPS][MOST_ENTRIES];

/* Is term i of a window's entry one of its largest, of a touched one an option's? */
static bool
is_tied(const point *p, size_t s, size_t e, size_t i)
{
  const source x = term_at(p, &p->net->steps[s], e, i).x;
  const size_t place = p->place[s][e], from = read_step(&p->net->steps[s]);
  bool found = false;

  if (x.step == PADDING)
    return false;
  if (place < TOUCHED)
    return one_identity(p, from, entry_of(p, x, e), from, entry_of(p, term_at(p, &p->net->steps[s], e, place).x, e));
  for (size_t o = 0; o < p->touched[place - TOUCHED].n; o++)
    found = found || one_identity(p, from, entry_of(p, x, e), from, p->touched[place - TOUCHED].at[o]);
  return found;
}

/* Is the entry marked, or does it read one that is? With c what is constant does not, and windows read what is tied alone. */
static bool
reads_marked(const point *p, const cell *c, marked m, size_t s, size_t e)
{
  const step *st = &p->net->steps[s];
  const size_t lines = st->length > 0 ? line_length(p, st) : 1;
  bool found = false;

  for (size_t j = 0; j < lines && !(c != NULL && c->degree[s][e] == 0); j++)
    for (size_t i = 0; i < st->width; i++) {
      const size_t at = st->length > 0 ? line_entry(p, st, e, j) : e;
      const source x = term_at(p, st, at, i).x;
      if (x.step < PADDING && (c == NULL || st->kind != WINDOW || is_tied(p, s, e, i)))
        found = found || m[x.step][entry_of(p, x, at)];
    }
  return found || m[s][e];
}

/* Marks those touched kinks, and what depends on them. */
static void
mark_all(const point *p, const cell *c, const bool *among, marked m)
{
  for (size_t k = 0; k < p->n_touched; k++)
    if (among[k])
      m[p->touched[k].step][p->touched[k].entry] = true;
  for (size_t s = 0; s < p->net->n_steps; s++)
    for (size_t e = 0; e < entries(p, s); e++)
      m[s][e] = reads_marked(p, c, m, s, e);
}

static bool
one_is_behind(const point *p, const bool *among)
{
  bool found = false;

  for (size_t k = 0; k < p->n_touched; k++) {
    marked m = {0};
    bool *one = calloc(p->n_touched, sizeof *one);
    one[k] = among[k];
    mark_all(p, NULL, one, m);
    for (size_t j = 0; j < p->n_touched; j++)
      found = found || (j != k && among[j] && m[p->touched[j].step][p->touched[j].entry]);
  }
  return found;
}

static bool
window_is_loose(const point *p, marked m, size_t s, size_t e)
{
  const step *st = &p->net->steps[s];
  bool twice = false, moves = false;

  for (size_t i = 0; i < st->width; i++)
    for (size_t j = 0; j < st->width && is_tied(p, s, e, i); j++) {
      const size_t x = entry_of(p, term_at(p, st, e, i).x, e), y = entry_of(p, term_at(p, st, e, j).x, e), from = read_step(st);
      moves = moves || m[from][x];
      twice = twice || (is_tied(p, s, e, j) && x != y && one_identity(p, from, x, from, y));
    }
  return twice && moves;
}

/* Behind the touched kinks: entries that are drawn and count as such, in the order of their steps. Which count is drawn, too. */
static bool *
draw_touches(point *p, uint64_t draw, size_t most)
{
  const size_t before = p->n_touched;
  touch *all_of = calloc(before + most, sizeof *all_of);
  bool *among = calloc(before + most, sizeof *among);

  if (before > 0)
    memcpy(all_of, p->touched, before * sizeof *all_of);
  p->touched = all_of;
  for (size_t s = 1; s < p->net->n_steps; s++)
    for (size_t e = 0; e < entries(p, s) && p->n_touched < before + most; e++)
      if ((draw = draw * 6364136223846793005u + 1442695040888963407u) >> 33 < UINT32_MAX / 8)
        all_of[p->n_touched++] = (touch){.step = s, .entry = e};
  for (size_t k = 0; k < p->n_touched; k++)
    among[k] = (draw = draw * 6364136223846793005u + 1442695040888963407u) >> 33 & 1;
  return among;
}

static void
expect_behind(const point *of, uint64_t draw)
{
  point p = *of;

  p.n_touched = 0;
  const bool *among = draw_touches(&p, draw, 4);
  const bool behind = one_is_behind(&p, among);
  ck_assert_msg(one_behind_another(&p, among) == behind, "one behind another: %d", behind);
  all.behind += behind;
  all.apart += !behind;
}

static void
expect_loose(const point *of, const cell *c, uint64_t draw)
{
  point p = *of;
  marked m = {0};
  const bool *among = draw_touches(&p, draw, 2);

  mark_all(&p, c, among, m);
  bool **loose = loose_windows(&p, c, among);
  for (size_t s = 0; s < p.net->n_steps; s++)
    for (size_t e = 0; e < entries(&p, s); e++) {
      const bool is = p.net->steps[s].kind == WINDOW && window_is_loose(&p, m, s, e);
      ck_assert_msg((loose[s] != NULL && loose[s][e]) == is, "step %zu, entry %zu: loose: %d", s, e, is);
      all.loose += is;
    }
}

/* ---- Adjoints */

/* The derivative of the loss by the output of touched kink k, which alone is moved: under the sides that what is behind it takes, and among those
 * of all. */
static void
expect_adjoint(moved *m, size_t k)
{
  world *w = &m->w;
  const point *p = &w->p;
  const touch *t = &p->touched[k];
  bool *needed = calloc(w->net.batch, sizeof *needed);
  RATIONAL(change);

  for (size_t i = 0; i < MOST_STEPS * MOST_ENTRIES; i++)
    mpq_set(&w->y[i / MOST_ENTRIES][i % MOST_ENTRIES], &m->before[i / MOST_ENTRIES][i % MOST_ENTRIES]);
  mpq_div_2exp(&change, &plus_one, MOVED);
  mpq_add(&w->y[t->step][t->entry], &w->y[t->step][t->entry], &change);
  world_values_from(w, t->step + 1);
  for (size_t i = 0; i < MOST_STEPS * MOST_ENTRIES; i++)
    change_by(&m->change[i / MOST_ENTRIES][i % MOST_ENTRIES], &w->y[i / MOST_ENTRIES][i % MOST_ENTRIES],
              &m->before[i / MOST_ENTRIES][i % MOST_ENTRIES]);
  loss_change(m, &change);
  cell c = cell_new(p);
  for (size_t i = 0; i < p->n_touched; i++)
    c.side[i] = side_of(m, &p->touched[i]);
  cell_settle(&c, p, false);
  needed[t->entry % w->net.batch] = true;
  const interval *one = adjoints(p, c.slope, needed, NULL), *any = adjoints(p, NULL, needed, NULL);
  ck_assert_msg(holds(&one[k], &change), "adjoint of touched kink %zu", k);
  ck_assert_msg(holds(&any[k], &change), "adjoint of touched kink %zu under any sides", k);
  for (size_t i = 0; i < p->n_touched; i++)
    ck_assert(needed[p->touched[i].entry % w->net.batch] || interval_zero(&one[i]));
  all.adjoints++;
}

/* Do windows move as the touched kink does? Of two entries that are one function AD may take the one that is not moved. */
static bool
moves_windows(const point *p, size_t k)
{
  bool *one = calloc(p->n_touched, sizeof *one), all_do = true;
  marked m = {0};

  one[k] = true;
  mark_all(p, NULL, one, m);
  for (size_t s = 0; s < p->net->n_steps; s++)
    for (size_t e = 0; e < entries(p, s) && p->net->steps[s].kind == WINDOW; e++)
      all_do = all_do && !window_is_loose(p, m, s, e);
  return all_do;
}

/* Steps move what is before them in their line, or another sample; and windows alone their options'. */
static bool
has_adjoints(const point *p)
{
  bool all_linked = true;

  for (size_t s = 0; s < p->net->n_steps; s++)
    all_linked = all_linked && (p->net->steps[s].kind != NORMALIZE || !p->net->steps[s].varies);
  return all_linked;
}

static void
compare(void *of)
{
  moved *m = calloc(1, sizeof *m);
  const uint64_t seed = *(const uint64_t *)of;
  const point *p = &m->w.p;

  mpfr_free_cache(); /* of memory that is gone */
  move_world(m, seed);
  set_loss(&m->w, seed % 2 == 0);
  point_evaluate(&m->w.p);
  cell c = cell_new(p);
  for (size_t k = 0; k < p->n_touched; k++)
    c.side[k] = side_of(m, &p->touched[k]);
  cell_settle(&c, p, false);
  motion d = tangents(p, c.slope);
  for (size_t s = 0; s < p->net->n_steps; s++)
    for (size_t e = 0; e < entries(p, s); e++) {
      ck_assert_msg(holds(tangent_at(&d, s, e), &m->change[s][e]), "step %zu, entry %zu: tangent", s, e);
      ck_assert_msg(holds(value_at(p, s, e), &m->before[s][e]), "step %zu, entry %zu: value", s, e);
      ck_assert_msg(c.degree[s][e] > 0 || close_to(&m->change[s][e], &zero), "step %zu, entry %zu is no constant", s, e);
      all.constants += c.degree[s][e] == 0 && s > 0;
      all.tangents++;
    }
  all.touched += p->n_touched;
  for (size_t k = 0; k < p->n_touched; k++)
    for (size_t o = 0; o < p->touched[k].n && c.flat[k]; o++, all.flat++)
      ck_assert(close_to(&m->change[p->touched[k].from][p->touched[k].at[o]], &zero));
  expect_loss(m, &c, &d);
  for (size_t i = 0, s = p->net->n_steps - 1; i < GRADIENTS; i++) {
    expect_gradient(m, &c, s, i % entries(p, s));
    s = i % 3 == 2 && s > 1 ? s - 1 : s;
  }
  cell unsided = cell_new(p);
  cell_settle(&unsided, p, false);
  for (uint64_t i = 0; i < 8; i++) {
    expect_behind(p, 8 * seed + i);
    expect_loose(p, &unsided, 8 * seed + i);
  }
  if (p->n_touched == 0)
    move_each(m);
  for (size_t s = 1; s < p->net->n_steps && p->n_touched == 0; s++)
    for (size_t e = 0; e < entries(p, s) && e < 4; e++)
      expect_multiple(m, &c, s, e), expect_factor(m, &c, s, e);
  for (size_t k = 0; k < p->n_touched && has_adjoints(p); k++)
    if (p->net->steps[p->touched[k].step].varies && moves_windows(p, k))
      expect_adjoint(m, k);
}

START_TEST(derivatives_are_what_differences_say)
{
  size_t open = 0;
  const char *why;

  for (uint64_t seed = 1; seed <= worlds; seed++) {
    const outcome how = judge(compare, &seed, &why);
    ck_assert_msg(how == VERIFIED || how == FAILED, "world %lu: %s", (unsigned long)seed, why);
    open += how == FAILED;
  }
  ck_assert_uint_lt(open, worlds / 10);
  ck_assert(all.touched > worlds / 4 && all.flat > worlds / 5 && all.constants > worlds);
  ck_assert_uint_gt(all.roots, worlds / 2);
  ck_assert_uint_gt(all.lines, worlds / 20);
  ck_assert(all.behind > worlds / 2 && all.apart > worlds && all.loose > worlds / 2 && all.factors > worlds / 100);
  ck_assert(all.tangents > 20 * worlds && all.gradients > worlds && all.losses > worlds / 2 && all.adjoints > worlds / 10);
}
END_TEST

/* A number: of worlds (without it 400, or a part of these). */
int
main(int argc, char **argv)
{
  TCase *tests = tests_of("differences");

  worlds = argc > 1 ? strtoull(argv[1], NULL, 10) : draw_count(400);
  tcase_add_test(tests, derivatives_are_what_differences_say);
  return run_tests();
}
