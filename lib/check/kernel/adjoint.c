/* Adjoints of touched kinks' outputs: the derivative of the loss by each, under some slopes, or in intervals that hold
 * it under the slopes of all cells at once. */
#include "check/kernel/adjoint.h"
#include "check/base/allocate.h"
#include "check/kernel/gradient.h"
#include "check/kernel/jacobian.h"
#include "check/base/parallel.h"

#include <stdlib.h>

typedef struct {
  const point *p;
  const rational *under; /* slopes; NULL: those of every cell */
  const bool *needed;    /* of each sample */
  interval *adjoint;
  interval *loss; /* its derivatives by its outputs */
  size_t first;   /* step with such a touched kink: of what comes before it nothing is asked */
} reverse;

#define UNIT (session_bits + 128) /* of adjoints: 2^-UNIT */

typedef struct {
  integer lo, hi;
} ends;

/* The pass over one sample. */
typedef struct {
  const reverse *r;
  ends **x; /* adjoints, [step][feature] */
} pass;

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

/* y += x, rounded outward. */
static void
add_interval(ends *y, const interval *x)
{
  INTEGER(z);
  fixed(&z, &x->lo, UNIT, false);
  mpz_add(&y->lo, &y->lo, &z);
  fixed(&z, &x->hi, UNIT, true);
  mpz_add(&y->hi, &y->hi, &z);
}

static void
of_ends(interval *y, const ends *x)
{
  unfixed(&y->lo, &x->lo, UNIT);
  unfixed(&y->hi, &x->hi, UNIT);
}

/* The adjoint of x grows by `by` times that of entry e, rounded outward. */
static void
hand(const void *of, size_t s, size_t e, size_t reader, source x, const interval *by)
{
  const pass *b = of;
  const ends *from = &b->x[s][e / b->r->p->net->batch];
  ends *to = &b->x[x.step][x.from];
  INTERVAL(y);
  (void)reader; /* it is of the sample */
  if (interval_exact(by)) {
    bool down = mpq_sgn(&by->lo) < 0;
    add_rounded(&to->lo, &by->lo, down ? &from->hi : &from->lo, false);
    add_rounded(&to->hi, &by->lo, down ? &from->lo : &from->hi, true);
    return;
  }
  of_ends(&y, from);
  interval_mul(&y, &y, by);
  add_interval(to, &y);
}

/* From step s, whose adjoints are complete; they are freed. */
static void
step_back(const pass *b, size_t s, size_t sample)
{
  const point *p = b->r->p;
  const step *st = &p->net->steps[s];
  const jacobian j = {p, b->r->under, false, hand, b};
  for (size_t f = 0; f < st->n; f++) {
    const ends *x = &b->x[s][f];
    size_t e = f * p->net->batch + sample, place = p->place[s] != NULL ? p->place[s][e] : 0;
    if (s < b->r->first || !st->varies || (mpz_sgn(&x->lo) == 0 && mpz_sgn(&x->hi) == 0))
      continue;
    if (place >= TOUCHED)
      of_ends(&b->r->adjoint[place - TOUCHED], x);
    jacobian_row(&j, s, e, false);
  }
  for (size_t f = 0; f < st->n; f++)
    mpz_clears(&b->x[s][f].lo, &b->x[s][f].hi, NULL);
  free(b->x[s]);
}

static void
sample_back(void *of, size_t sample)
{
  const reverse *r = of;
  const network *net = r->p->net;
  if (!r->needed[sample])
    return;
  const pass b = {r, allocate(net->n_steps, sizeof *b.x)};
  for (size_t s = 0; s < net->n_steps; s++) {
    b.x[s] = allocate(net->steps[s].n, sizeof **b.x);
    for (size_t f = 0; f < net->steps[s].n; f++)
      b.x[s][f] = (ends){integer_zero(), integer_zero()};
  }
  for (size_t i = 0; i < net->n_outputs; i++)
    add_interval(&b.x[net->output][net->map[i]], &r->loss[sample * net->n_outputs + i]);
  for (size_t s = net->n_steps; s-- > 0;)
    step_back(&b, s, sample);
  free(b.x);
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
adjoints(const point *of, const rational *slope, const bool *samples, const bool *among)
{
  reverse all = {of, slope, samples, intervals(of->n_touched), NULL, of->net->n_steps}, *r = &all;
  for (size_t k = 0; k < of->n_touched; k++)
    all.first = among != NULL && !among[k]        ? all.first
                : of->touched[k].step < all.first ? of->touched[k].step
                                                  : all.first;
  for (size_t s = all.first; s < r->p->net->n_steps; s++)
    expect(r->p->net->steps[s].kind != NORMALIZE || !r->p->net->steps[s].varies
               || (among != NULL && of->net->apart == of->net->batch),
           "adjoints in a network that normalizes");
  r->loss = whole_loss_slopes(r->p);
  for_each_sample(r->p->net->batch, sample_back, &all);
  intervals_free(r->loss, r->p->net->batch * r->p->net->n_outputs);
  return r->adjoint;
}
