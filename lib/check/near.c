/* Near values, without which convolutional networks would take hours.
 *
 * Of a LINEAR step m are the factors in units of 2^-shift, rounded down, at most `slack`
 * from the true ones, and norm is width times the largest |m|. With |c| <= most, the true sum of factors
 * (m + slack') by values (c + r') is at most norm r + width slack (most + r) off from the sum of m c. That is
 * then rounded down to units. */
#include "near.h"
#include "allocate.h"
#include "identity.h"
#include "line.h"
#include "parallel.h"
#include "place.h"
#include "window.h"
#include "word.h"

#include <limits.h>
#include <stdlib.h>

/* How many binary digits q has after the point: ULONG_MAX, when they do not end. */
static unsigned long
digits(const rational *q)
{
  unsigned long n = mpz_sizeinbase(mpq_denref(q), 2) - 1;
  return mpz_scan1(mpq_denref(q), 0) == n ? n : ULONG_MAX;
}

static void
larger(integer *y, const integer *z)
{
  if (mpz_cmpabs(z, y) > 0)
    mpz_abs(y, z);
}

/* A factor that may not be rational. */
static void
factor_interval(const step *st, const factor *t, interval *q)
{
  if (st->kind == LINEAR)
    weigh(st, t, false, &q->lo);
  interval_set(q, st->kind == LINEAR ? &q->lo : &st->root[t->at].lo, st->kind == LINEAR ? &q->lo : &st->root[t->at].hi);
}

/* Of a PIECEWISE step norm is a whole number not less than any slope. */
static void
steepest(step *st)
{
  INTEGER(z);
  for (size_t i = 0; i < 3 + st->n_factors; i++) {
    const factor *t = i < 3 ? NULL : &st->factors[i - 3];
    const rational *q = t == NULL ? &st->piece[i][1] : t->w != NULL ? &t->w->value[t->at] : &zero;
    mpz_cdiv_q(&z, mpq_numref(q), mpq_denref(q));
    larger(&st->norm, &z);
    mpz_fdiv_q(&z, mpq_numref(q), mpq_denref(q));
    larger(&st->norm, &z);
  }
}

static void
prepare_step(step *st)
{
  INTERVAL(q);
  INTEGER(z);
  unsigned long bits = session_bits + GUARD;
  st->norm = integer_zero();
  st->slack = integer_zero();
  if (st->kind == PIECEWISE)
    steepest(st);
  if (st->kind == WINDOW)
    mpz_set_ui(&st->norm, 1);
  if (st->kind != LINEAR && st->kind != OVER_ROOT)
    return;
  for (size_t i = 0; i < st->n_factors; i++) {
    factor_interval(st, &st->factors[i], &q);
    unsigned long n = digits(&q.lo) < bits ? digits(&q.lo) : bits;
    st->shift = n > st->shift ? n : st->shift;
  }
  st->m = allocate(st->n_factors, sizeof *st->m);
  for (size_t i = 0; i < st->n_factors; i++) {
    factor_interval(st, &st->factors[i], &q);
    st->m[i] = integer_zero();
    fixed(&st->m[i], &q.lo, st->shift, false);
    fixed(&z, &q.hi, st->shift, true);
    mpz_sub(&z, &z, &st->m[i]);
    larger(&st->slack, &z);
    larger(&st->norm, &st->m[i]);
  }
  mpz_mul_ui(&st->norm, &st->norm, st->width);
}

void
near_prepare(network *net)
{
  for (size_t s = 0; s < net->n_steps && !net->steps[s].prepared; s++) {
    prepare_step(&net->steps[s]);
    net->steps[s].prepared = true;
  }
}

/* Of NONE, which is 1, the entry behind the steps. */
static const integer *
center(const point *p, const near *v, source x, size_t e)
{
  return x.step == NONE ? v[p->net->n_steps].c : &v[x.step].c[entry_of(p, x, e) / p->net->apart];
}

/* Is something known near all that step s reads? How far off that is at most, and how large. */
static bool
reads(const point *p, const near *v, const step *st, integer *r, integer *most)
{
  for (size_t i = 0; i < st->n_sources; i++) {
    source x = st->sources[i];
    if (x.step == PADDING)
      continue;
    const near *from = &v[x.step == NONE ? p->net->n_steps : x.step];
    if (!from->known)
      return false;
    larger(r, &from->r);
    for (size_t b = 0; mpz_sgn(&st->slack) != 0 && b < p->net->batch / p->net->apart; b++)
      larger(most, center(p, v, x, b));
  }
  return true;
}

/* Puts c near q; is it rounded? */
static bool
put_near(integer *c, const rational *q)
{
  fixed(c, q, session_bits + GUARD, false);
  return digits(q) > session_bits + GUARD;
}

/* Sums of a LINEAR step; of OVER_ROOT products. Are some rounded? */
static bool
near_sums(const point *p, near *v, size_t s, size_t sample)
{
  const step *st = &p->net->steps[s];
  bool cut = false;
  INTEGER(sum);
  for (size_t e = sample; e < entries(p, s); e += p->net->apart) {
    size_t f = e / p->net->batch;
    const source *x = &st->sources[st->source_row[f] * st->width];
    const integer *m = &st->m[st->factor_row[f] * st->width];
    mpz_set_ui(&sum, 0);
    for (size_t i = 0; i < st->width; i++) {
      if (x[i].step == PADDING)
        continue;
      const integer *c = center(p, v, x[i], e);
      if (mpz_sgn(c) != 0)
        mpz_addmul(&sum, &m[i], c);
    }
    cut = cut || !mpz_divisible_2exp_p(&sum, st->shift);
    mpz_fdiv_q_2exp(&v[s].c[e / p->net->apart], &sum, st->shift);
  }
  return cut;
}

/* |a| q + p |c| + p q, where a and c are known up to p and q; and 1 for what is cut off: the largest of all entries. */
static void
near_products(const point *p, near *v, size_t s, size_t sample)
{
  const step *st = &p->net->steps[s];
  INTEGER(sum);
  INTEGER(off);
  INTEGER(t);
  for (size_t e = sample; e < entries(p, s); e += p->net->apart) {
    mpz_set_ui(&sum, 0);
    mpz_set_ui(&off, 0);
    for (size_t i = 0; i < st->width; i += 2) {
      const source a = term_at(p, st, e, i).x, c = term_at(p, st, e, i + 1).x;
      const integer *x = center(p, v, a, e), *y = center(p, v, c, e), *p_x = &v[a.step].r, *p_y = &v[c.step].r;
      mpz_addmul(&sum, x, y);
      mpz_abs(&t, x);
      mpz_add(&t, &t, p_x);
      mpz_addmul(&off, &t, p_y);
      mpz_abs(&t, y);
      mpz_addmul(&off, &t, p_x);
    }
    mpz_fdiv_q_2exp(&v[s].c[e / p->net->apart], &sum, session_bits + GUARD);
    bool cut = !mpz_divisible_2exp_p(&sum, session_bits + GUARD);
    mpz_cdiv_q_2exp(&off, &off, session_bits + GUARD);
    mpz_add_ui(&off, &off, cut);
    larger(&v[s].r, &off);
  }
}

/* ---- Pieces and windows: of places those that are NONE */

/* An entry of x of an open decision: what is near it may be the value itself. */
static void
note_near(const point *p, const near *v, source x, size_t e)
{
  if (x.step < PADDING && v[x.step].known && mpz_sgn(&v[x.step].r) == 0)
    note_value(p, x, e, center(p, v, x, e), session_bits + GUARD);
}

/* The piece on which x must lie, being within r of c; or NONE. */
static size_t
near_piece(const step *st, const integer *c, const integer *r)
{
  INTEGER(at);
  INTEGER(lo);
  INTEGER(hi);
  mpz_sub(&lo, c, r);
  mpz_add(&hi, c, r);
  for (size_t j = 0; j < st->n_kinks; j++) {
    fixed(&at, &st->at[j], session_bits + GUARD, false);
    if (mpz_cmp(&hi, &at) < 0)
      return j;
    mpz_add_ui(&at, &at, 1);
    if (mpz_cmp(&lo, &at) <= 0)
      return NONE;
  }
  return st->n_kinks;
}

static bool
near_pieces(point *p, near *v, size_t s, size_t sample, const integer *r)
{
  const step *st = &p->net->steps[s];
  bool cut = false;
  RATIONAL(t);
  for (size_t e = sample; e < entries(p, s); e += p->net->apart) {
    const term to = term_at(p, st, e, 0);
    size_t *place = &p->place[s][e], i = 0;
    if (*place == NONE && v[s].known)
      *place = near_piece(st, center(p, v, to.x, e), r);
    if (*place == NONE) {
      note_near(p, v, to.x, e);
      *place = locate(p, s, e);
    }
    if (!v[s].known)
      continue;
    unfixed(&t, center(p, v, to.x, e), session_bits + GUARD);
    while (i < st->n_kinks && mpq_cmp(&t, &st->at[i]) > 0)
      i++;
    mpq_mul(&t, &t, i == 0 && to.by.w != NULL ? &to.by.w->value[to.by.at] : &st->piece[i][1]);
    mpq_add(&t, &t, &st->piece[i][0]);
    cut = put_near(&v[s].c[e / p->net->apart], &t) || cut;
  }
  return cut;
}

/* Entries below the largest c by more than 2 r are not the largest. */
static void
near_windows(point *p, near *v, size_t s, size_t sample, const integer *r)
{
  const step *st = &p->net->steps[s];
  bool *among = allocate(st->width, sizeof *among);
  INTEGER(least);
  for (size_t e = sample; e < entries(p, s); e += p->net->apart) {
    size_t n = 0, place = 0;
    const integer *top = NULL;
    for (size_t i = 0; i < st->width && v[s].known; i++) {
      source x = term_at(p, st, e, i).x;
      if (x.step != PADDING && (top == NULL || mpz_cmp(center(p, v, x, e), top) > 0))
        top = center(p, v, x, e);
    }
    if (v[s].known) {
      mpz_set(&v[s].c[e / p->net->apart], top);
      mpz_sub(&least, top, r);
      mpz_sub(&least, &least, r);
    }
    for (size_t i = 0; i < st->width && p->place[s][e] == NONE; i++) {
      source x = term_at(p, st, e, i).x;
      among[i] = x.step != PADDING && (!v[s].known || mpz_cmp(center(p, v, x, e), &least) >= 0);
      if (among[i]) {
        note_near(p, v, x, e);
        n++;
        place = i;
      }
    }
    if (p->place[s][e] == NONE)
      p->place[s][e] = n > 1 ? window_place(p, s, e, among) : place;
  }
  free(among);
}

/* ---- Steps */

static void
normalize_near(const point *p, near *v, size_t s, size_t sample, const integer *off)
{
  const step *st = &p->net->steps[s];
  size_t m = line_length(p, st);
  unsigned long bits = session_bits + GUARD;
  interval *y = intervals(m);
  INTERVAL(r);
  INTEGER(z);
  mpz_set_ui(&v[s].r, 1);
  for (size_t e = sample; e < entries(p, s); e += p->net->apart) {
    if (e != line_entry(p, st, e, 0))
      continue;
    for (size_t i = 0; i < m; i++) {
      size_t at = line_entry(p, st, e, i);
      const integer *x = center(p, v, read_by(p, st, at), at);
      mpz_sub(&z, x, off);
      unfixed(&y[i].lo, &z, bits);
      mpz_add(&z, x, off);
      unfixed(&y[i].hi, &z, bits);
    }
    centre(y, m);
    inverse_root(&r, y, m, &st->at[0], GUARD);
    for (size_t i = 0; i < m; i++) {
      integer *c = &v[s].c[line_entry(p, st, e, i) / p->net->apart];
      interval_mul(&y[i], &y[i], &r);
      fixed(c, &y[i].lo, bits, false);
      fixed(&z, &y[i].hi, bits, true);
      mpz_sub(&z, &z, c);
      if (mpz_cmp(&z, &v[s].r) > 0)
        mpz_swap(&z, &v[s].r);
    }
  }
  intervals_free(y, m);
}

/* Nothing is said of a network near a point where a function is not smooth, or is none: not of entries that a 0 multiplies,
 * either. */
static void
expect_inside(const point *p, size_t s, size_t sample)
{
  const step *st = &p->net->steps[s];
  for (size_t e = sample; e < entries(p, s); e += p->net->apart)
    expect(function_inside(st->of, argument(p, st, e)),
           "node %zu '%s' (%s): an argument is 0, or below, where it is not smooth", st->place, st->node->name,
           st->node->op);
}

static void
near_step(point *p, near *v, size_t s, size_t sample)
{
  const step *st = &p->net->steps[s];
  bool cut = false, straight = st->kind != SOFTMAX && st->kind != FUNCTION;
  INTEGER(r);
  INTEGER(most);
  if (st->kind == FUNCTION && function_has_domain(st->of))
    expect_inside(p, s, sample);
  for (size_t i = 0; i < 3; i++)
    straight = straight && mpq_sgn(&st->piece[i][2]) == 0;
  v[s].known = straight && reads(p, v, st, &r, &most);
  for (size_t e = sample; e < entries(p, s) && st->kind == INPUT; e += p->net->apart) {
    size_t f = e / p->net->batch, b = e % p->net->batch;
    cut = put_near(&v[s].c[e / p->net->apart], &p->x->value[b * st->n + f]) || cut;
  }
  if (st->kind == PIECEWISE)
    cut = near_pieces(p, v, s, sample, &r);
  if (st->kind == WINDOW)
    near_windows(p, v, s, sample, &r);
  if (v[s].known && (st->kind == LINEAR || st->kind == OVER_ROOT))
    cut = near_sums(p, v, s, sample);
  if (v[s].known && st->kind == PRODUCT)
    near_products(p, v, s, sample);
  if (v[s].known && st->kind == NORMALIZE)
    normalize_near(p, v, s, sample, &r);
  mpz_add(&most, &most, &r);
  mpz_mul(&most, &most, &st->slack);
  mpz_mul_ui(&most, &most, st->width);
  mpz_addmul(&most, &st->norm, &r);
  mpz_cdiv_q_2exp(&most, &most, st->shift);
  mpz_add_ui(&most, &most, 2 * cut);
  larger(&v[s].r, &most);
}

near *
near_values(point *p, size_t sample)
{
  size_t n = p->net->n_steps;
  near *v = allocate(n + 1, sizeof *v);
  for (size_t s = 0; s <= n; s++) {
    v[s].n = s < n ? entries(p, s) / p->net->apart : 1;
    v[s].c = allocate(v[s].n, sizeof *v[s].c);
    v[s].r = integer_zero();
    for (size_t i = 0; i < v[s].n; i++)
      v[s].c[i] = integer_zero();
  }
  mpz_setbit(v[n].c, session_bits + GUARD);
  v[n].known = true;
  for (size_t s = 0; s < n; s++)
    near_step(p, v, s, sample);
  return v;
}

void
near_free(const point *p, near *v)
{
  for (size_t s = 0, n = p->net->n_steps; s <= n; s++) {
    for (size_t i = 0; i < v[s].n; i++)
      mpz_clear(&v[s].c[i]);
    mpz_clear(&v[s].r);
    free(v[s].c);
  }
  free(v);
}

/* ---- All values */

typedef struct {
  point *p;
  bool *open; /* of each sample, or of all when they are coupled */
} evaluation;

static void
by_words(void *of, size_t sample)
{
  evaluation *v = of;
  words_free(v->p, words_values(v->p, sample, &v->open[sample]));
  if (!v->open[sample])
    identities_forget(v->p, sample);
}

static void
by_near_values(void *of, size_t sample)
{
  evaluation *v = of;
  if (!v->open[sample])
    return;
  near_free(v->p, near_values(v->p, sample));
  identities_forget(v->p, sample);
}

/* No operator makes a window of padding alone, or a product of anything but entries. */
static void
expect_entries(const step *st)
{
  for (size_t row = 0; row < st->n_sources && (st->kind == WINDOW || st->kind == PRODUCT); row += st->width) {
    size_t n = 0;
    for (size_t i = row; i < row + st->width; i++)
      n += st->sources[i].step < PADDING;
    expect(st->kind == WINDOW ? n > 0 : n == st->width && n % 2 == 0, "node %zu: a window or a product without entries",
           st->place);
  }
}

static void
point_begin(point *p)
{
  network *net = p->net;
  p->y = allocate(net->n_steps, sizeof *p->y);
  p->place = allocate(net->n_steps, sizeof *p->place);
  window_begin(p);
  for (size_t s = 0; s < net->n_steps; s++) {
    step *st = &net->steps[s];
    p->y[s] = allocate(entries(p, s), sizeof *p->y[s]);
    if (st->kind == PIECEWISE || st->kind == WINDOW)
      p->place[s] = allocate(entries(p, s), sizeof **p->place);
    for (size_t e = 0; p->place[s] != NULL && e < entries(p, s); e++)
      p->place[s][e] = NONE;
    if (st->kind == OVER_ROOT)
      root_prepare(st);
    st->prepared = false;
    expect_entries(st);
    rows_prepare(st);
    words_prepare(st);
    for (size_t i = 0; i < st->n_factors; i++)
      st->varies = st->varies || (st->factors[i].w != NULL && st->factors[i].w->wrt);
    for (size_t i = 0; i < st->n_sources; i++)
      st->varies = st->varies || (st->sources[i].step < PADDING && net->steps[st->sources[i].step].varies);
  }
}

void
point_evaluate(point *p)
{
  size_t apart = p->net->apart, still = 0;
  evaluation v = {p, allocate(apart, sizeof(bool))};
  point_begin(p);
  for_each_sample(apart, by_words, &v);
  for (size_t b = 0; b < apart; b++)
    still += v.open[b];
  if (still > 0) {
    near_prepare(p->net);
    for_each_sample(apart, by_near_values, &v);
  }
  free(v.open);
  touches_number(p);
}
