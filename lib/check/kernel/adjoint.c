/* Adjoints of touched kinks' outputs: the derivative of the loss by each, under some slopes, or in intervals that hold
 * it under the slopes of all cells at once. */
#include "check/kernel/adjoint.h"
#include "check/base/allocate.h"
#include "check/kernel/gradient.h"
#include "check/kernel/evaluate.h"
#include "check/kernel/line.h"
#include "check/base/parallel.h"

#include <stdlib.h>

typedef struct {
  const point *p;
  const rational *under; /* slopes; NULL: those of every cell */
  const bool *needed;    /* of each sample */
  interval *adjoint;
  interval *loss; /* its derivatives by its outputs */
  size_t first;   /* step with a touched kink: of what comes before it nothing is asked */
} reverse;

#define UNIT (session_bits + 128) /* of adjoints: 2^-UNIT */

typedef struct {
  integer *lo, *hi;
} ends; /* of each feature's adjoint */

/* y += q z, rounded. */
static void
add_rounded(integer *y, const rational *q, const integer *z, bool up)
{
  const unsigned long shift = mpz_sizeinbase(mpq_denref(q), 2) - 1;
  INTEGER(t);
  mpz_mul(&t, mpq_numref(q), z);
  if (mpz_scan1(mpq_denref(q), 0) == shift)
    (up ? mpz_cdiv_q_2exp : mpz_fdiv_q_2exp)(&t, &t, shift);
  else
    (up ? mpz_cdiv_q : mpz_fdiv_q)(&t, &t, mpq_denref(q));
  mpz_add(y, y, &t);
}

/* x[f] += slope * [lo, hi], rounded outward. */
static void
add_share(ends *x, size_t f, const interval *slope, const integer *lo, const integer *hi)
{
  INTERVAL(y);
  INTEGER(z);
  if (interval_zero(slope))
    return;
  if (interval_exact(slope)) {
    bool down = mpq_sgn(&slope->lo) < 0;
    add_rounded(&x->lo[f], &slope->lo, down ? hi : lo, false);
    add_rounded(&x->hi[f], &slope->lo, down ? lo : hi, true);
    return;
  }
  unfixed(&y.lo, lo, UNIT);
  unfixed(&y.hi, hi, UNIT);
  interval_mul(&y, &y, slope);
  fixed(&z, &y.lo, UNIT, false);
  mpz_add(&x->lo[f], &x->lo[f], &z);
  fixed(&z, &y.hi, UNIT, true);
  mpz_add(&x->hi[f], &x->hi[f], &z);
}

/* Through a PIECEWISE entry: its slope, or any between those of a touched kink's sides. */
static void
piece_back(reverse *r, size_t s, size_t e, ends *x, size_t f, const integer *lo, const integer *hi)
{
  size_t place = r->p->place[s][e];
  const touch *t = place >= TOUCHED && r->under == NULL ? &r->p->touched[place - TOUCHED] : NULL;
  INTERVAL(slope);
  if (t == NULL)
    slope_at(r->p, s, e, r->under, &slope);
  else if (mpq_cmp(&t->left, &t->right) < 0)
    interval_set(&slope, &t->left, &t->right);
  else
    interval_set(&slope, &t->right, &t->left);
  add_share(x, f, &slope, lo, hi);
}

/* Through a FUNCTION's entry: its derivative, which no side changes. */
static void
function_back(const reverse *r, const step *st, size_t e, ends *x, size_t f, const integer *lo, const integer *hi)
{
  INTERVAL(slope);
  function_slope(&slope, st->of, argument(r->p, st, e));
  add_share(x, f, &slope, lo, hi);
}

/* Through a SOFTMAX entry: y_e ([e = i] - y_i) is its derivative by what entry i of the line reads. */
static void
softmax_back(const reverse *r, size_t s, size_t e, ends *x, const integer *lo, const integer *hi)
{
  const point *p = r->p;
  const step *st = &p->net->steps[s];
  expect(!st->log, "adjoints behind a LogSoftmax");
  for (size_t i = 0; i < st->length; i++) {
    size_t at = line_entry(p, st, e, i);
    source to = read_by(p, st, at);
    INTERVAL(by);
    if (to.step >= PADDING || !p->net->steps[to.step].varies)
      continue;
    if (at == e)
      interval_set(&by, &plus_one, &plus_one);
    interval_add(&by, value_at(p, s, at), &minus_one);
    interval_mul(&by, &by, value_at(p, s, e));
    add_share(&x[to.step], to.from, &by, lo, hi);
  }
}

/* Through a WINDOW's entry: to the largest; of a touched window to its options, each with any share when there are no
 * slopes. */
static void
window_back(reverse *r, size_t s, size_t e, ends *x, const integer *lo, const integer *hi)
{
  size_t place = r->p->place[s][e], batch = r->p->net->batch;
  INTERVAL(share);
  mpq_set(&share.hi, &plus_one);
  if (place < TOUCHED) {
    source to = term_at(r->p, &r->p->net->steps[s], e, place).x;
    add_share(&x[to.step], to.from, &exactly_one, lo, hi);
    return;
  }
  const touch *t = &r->p->touched[place - TOUCHED];
  for (size_t o = 0; o < t->n; o++) {
    if (r->under != NULL)
      interval_set(&share, &r->under[t->slope + o], &r->under[t->slope + o]);
    add_share(&x[t->from], t->at[o] / batch, &share, lo, hi);
  }
}

/* Through a factor. */
static void
term_back(const step *st, factor by, ends *x, size_t f, const integer *lo, const integer *hi)
{
  INTERVAL(q);
  if (st->kind == OVER_ROOT) {
    add_share(x, f, &st->root[by.at], lo, hi);
    return;
  }
  weigh(st, &by, false, &q.lo);
  mpq_set(&q.hi, &q.lo);
  add_share(x, f, &q, lo, hi);
}

/* Through other entries, term by term. */
static void
terms_back(reverse *r, size_t s, size_t e, ends *x, const integer *lo, const integer *hi)
{
  const step *st = &r->p->net->steps[s];
  for (size_t i = 0; i < st->width; i++) {
    source to = term_at(r->p, st, e, i).x;
    if (to.step >= PADDING || !r->p->net->steps[to.step].varies)
      continue;
    if (st->kind == PIECEWISE)
      piece_back(r, s, e, &x[to.step], to.from, lo, hi);
    else if (st->kind == FUNCTION)
      function_back(r, st, e, &x[to.step], to.from, lo, hi);
    else if (st->kind == PRODUCT) {
      source by = term_at(r->p, st, e, i ^ 1).x;
      add_share(&x[to.step], to.from, value_at(r->p, by.step, entry_of(r->p, by, e)), lo, hi);
    } else
      term_back(st, term_at(r->p, st, e, i).by, &x[to.step], to.from, lo, hi);
  }
}

/* The adjoint of entry e, which is complete, to what step s reads. */
static void
entry_back(reverse *r, size_t s, size_t e, ends *x)
{
  const step *st = &r->p->net->steps[s];
  size_t f = e / r->p->net->batch, place = r->p->place[s] != NULL ? r->p->place[s][e] : 0;
  const integer *lo = &x[s].lo[f], *hi = &x[s].hi[f];
  const touch *t = place >= TOUCHED ? &r->p->touched[place - TOUCHED] : NULL;
  if (t != NULL) {
    unfixed(&r->adjoint[place - TOUCHED].lo, lo, UNIT);
    unfixed(&r->adjoint[place - TOUCHED].hi, hi, UNIT);
  }
  if (st->kind == WINDOW)
    window_back(r, s, e, x, lo, hi);
  else if (st->kind == SOFTMAX)
    softmax_back(r, s, e, x, lo, hi);
  else
    terms_back(r, s, e, x, lo, hi);
}

static void
sample_back(void *of, size_t sample)
{
  reverse *r = of;
  const network *net = r->p->net;
  const interval *by = r->loss;
  if (!r->needed[sample])
    return;
  ends *x = allocate(net->n_steps, sizeof *x);
  for (size_t s = 0; s < net->n_steps; s++) {
    x[s].lo = allocate(net->steps[s].n, sizeof(integer));
    x[s].hi = allocate(net->steps[s].n, sizeof(integer));
    for (size_t f = 0; f < net->steps[s].n; f++) {
      x[s].lo[f] = integer_zero();
      x[s].hi[f] = integer_zero();
    }
  }
  for (size_t i = 0; i < net->n_outputs; i++) {
    INTEGER(z);
    fixed(&z, &by[sample * net->n_outputs + i].lo, UNIT, false);
    mpz_add(&x[net->output].lo[net->map[i]], &x[net->output].lo[net->map[i]], &z);
    fixed(&z, &by[sample * net->n_outputs + i].hi, UNIT, true);
    mpz_add(&x[net->output].hi[net->map[i]], &x[net->output].hi[net->map[i]], &z);
  }
  for (size_t s = net->n_steps; s-- > 0;) {
    for (size_t f = 0; s >= r->first && f < net->steps[s].n; f++) {
      bool any = mpz_sgn(&x[s].lo[f]) != 0 || mpz_sgn(&x[s].hi[f]) != 0;
      if (any && net->steps[s].varies)
        entry_back(r, s, f * net->batch + sample, x);
    }
    for (size_t f = 0; f < net->steps[s].n; f++)
      mpz_clears(&x[s].lo[f], &x[s].hi[f], NULL);
    free(x[s].lo);
    free(x[s].hi);
  }
  free(x);
}

/* The loss's derivatives by its outputs, times the number that its mean is divided by: of adjoints only signs and
 * ratios are asked, and so what cancels is exactly zero. */
static interval *
whole_loss_slopes(const point *of)
{
  size_t n = of->net->batch * of->net->n_outputs;
  interval *slopes = loss_slopes(of);
  INTERVAL(by);
  mpq_set_ui(&by.lo, of->loss == LOSS_MSE ? n : of->loss == LOSS_CE ? loss_counted(of) : 1, 1);
  mpq_set(&by.hi, &by.lo);
  for (size_t i = 0; i < n; i++)
    interval_mul(&slopes[i], &slopes[i], &by);
  return slopes;
}

interval *
adjoints(const point *of, const rational *slope, const bool *samples)
{
  reverse all = {of, slope, samples, intervals(of->n_touched), NULL, of->net->n_steps}, *r = &all;
  for (size_t k = 0; k < of->n_touched; k++)
    all.first = of->touched[k].step < all.first ? of->touched[k].step : all.first;
  for (size_t s = all.first; s < r->p->net->n_steps; s++)
    expect(r->p->net->steps[s].kind != NORMALIZE || !r->p->net->steps[s].varies,
           "adjoints in a network that normalizes");
  r->loss = whole_loss_slopes(r->p);
  for_each_sample(r->p->net->batch, sample_back, &all);
  intervals_free(r->loss, r->p->net->batch * r->p->net->n_outputs);
  return r->adjoint;
}
