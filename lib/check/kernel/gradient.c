/* The loss, its derivative along a direction, and gradients in reverse mode. */
#include "check/kernel/gradient.h"
#include "check/base/allocate.h"
#include "check/kernel/jacobian.h"
#include "check/kernel/smooth.h"

#include <stdlib.h>

size_t
output_entry(const point *p, size_t i)
{
  return p->net->map[i % p->net->n_outputs] * p->net->batch + i / p->net->n_outputs;
}

/* The derivative of the loss by the output's entries. */
interval *
loss_slopes(const point *p)
{
  size_t n = p->net->n_outputs, all = n * p->net->batch;
  interval *d = intervals(all);
  INTERVAL(scale);
  expect(p->loss != LOSS_CE || p->net->smooth != NULL, "derivatives of cross entropy, and no rules for them");
  if (p->loss == LOSS_MSE)
    mpq_set_ui(&scale.lo, 2, all);
  else
    mpq_set_ui(&scale.lo, 1, p->loss == LOSS_CE ? loss_counted(p) : 1);
  mpq_canonicalize(&scale.lo);
  mpq_set(&scale.hi, &scale.lo);
  for (size_t i = 0; i < all; i++)
    interval_add(&d[i], p->loss == LOSS_SUM ? &exactly_one : value_at(p, p->net->output, output_entry(p, i)),
                 &plus_one);
  for (size_t b = 0; p->loss == LOSS_CE && b < p->net->batch; b++) {
    if (!loss_ignores(p, b))
      p->net->smooth->entropy_slopes(p, &d[b * n], n, b);
    for (size_t i = 0; i < n && loss_ignores(p, b); i++)
      interval_set(&d[b * n + i], &zero, &zero);
  }
  for (size_t i = 0; p->loss != LOSS_SUM && i < all; i++) {
    RATIONAL(q);
    if (p->loss == LOSS_MSE)
      mpq_neg(&q, &p->target->value[i]);
    interval_add(&d[i], &exactly_one, &q);
    interval_mul(&d[i], &d[i], &scale);
  }
  return d;
}

void
tangent_loss(interval *sum, const motion *d)
{
  const point *p = d->p;
  size_t n = p->net->n_outputs * p->net->batch;
  interval *by = loss_slopes(p);
  interval_set(sum, &zero, &zero);
  for (size_t i = 0; i < n; i++)
    multiply_add(sum, &by[i], tangent_at(d, p->net->output, output_entry(p, i)));
  intervals_free(by, n);
}

static const char irrational[] = "a gradient is not rational behind a transcendental operator";

/* Adjoints on their way back to wrt's entries. What an irrational number came into is not known, but that it may not be zero:
 * such an entry is marked. */
typedef struct {
  const point *p;
  const rational *slope; /* NULL: any, at all touched kinks */
  const cell *c;         /* or NULL */
  rational **adjoint;    /* [step][entry / apart], of what is computed together */
  bool **unknown;        /* likewise */
  interval **irrational; /* likewise: what such an entry has besides; NULL: nobody asks */
  bool *lost;            /* of each entry of the network's gradient */
  interval **part;       /* of an entry that is lost for its value alone: an enclosure; else NULL */
  bool up_to_a_root;     /* a common irrational factor may be left out */
  interval *factor;      /* where it is left out, it is multiplied into this; or NULL */
  origins *origins;      /* or NULL */
  bool whole;            /* are the parameters' entries asked for? */
} passage;

static bool
is_nothing(const passage *b, size_t s, size_t at)
{
  return mpq_sgn(&b->adjoint[s][at]) == 0 && !b->unknown[s][at];
}

/* An entry that is not rational, as an enclosure. */
static void
whole_adjoint(const passage *b, size_t s, size_t at, interval *x)
{
  mpq_canonicalize(&b->adjoint[s][at]);
  interval_set(x, &b->irrational[s][at].lo, &b->irrational[s][at].hi);
  interval_add(x, &exactly_one, &b->adjoint[s][at]);
}

static void
hand_irrational(const passage *b, size_t s, size_t from, size_t to_step, size_t at, const interval *by)
{
  INTERVAL(x);
  if (b->irrational == NULL)
    return;
  whole_adjoint(b, s, from, &x);
  interval_mul(&x, &x, by);
  interval_add(&b->irrational[to_step][at], &x, &plus_one);
  interval_round(&b->irrational[to_step][at]);
}

/* The adjoint of what entry `reader` of step s has from x grows by `by` times that of entry e. */
static void
hand(const void *of, size_t s, size_t e, size_t reader, source x, const interval *by)
{
  const passage *b = of;
  size_t apart = b->p->net->apart, from = e / apart, to = entry_of(b->p, x, reader) / apart;
  if (b->unknown[s][from] || !interval_exact(by)) {
    b->unknown[x.step][to] = true;
    hand_irrational(b, s, from, x.step, to, by);
  } else
    add_multiple(&b->adjoint[x.step][to], &by->lo, &b->adjoint[s][from]);
}

/* Entry i of the network's gradient is lost: it grows by q times x, or for NULL by nobody knows what. */
static void
lose(const passage *b, size_t i, const interval *x, const rational *q)
{
  if (!b->lost[i])
    b->part[i] = intervals(1);
  b->lost[i] = true;
  if (b->part[i] != NULL && x != NULL) {
    interval_add(b->part[i], x, q);
    return;
  }
  intervals_free(b->part[i], 1);
  b->part[i] = NULL;
}

/* The same of a parameter's entry: by q times the value. */
static void
hand_parameter(const passage *b, size_t s, size_t e, const term *t, rational *q)
{
  const interval *x = t->x.step != NONE ? value_at(b->p, t->x.step, entry_of(b->p, t->x, e)) : &exactly_one;
  size_t from = e / b->p->net->apart;
  rational *to = &t->by.w->gradient[t->by.at];
  if (interval_zero(x) || mpq_sgn(q) == 0)
    return;
  if (b->unknown[s][from] && b->irrational != NULL) {
    INTERVAL(y);
    whole_adjoint(b, s, from, &y);
    interval_mul(&y, &y, x);
    lose(b, (size_t)(to - b->p->net->gradient), &y, q);
    return;
  }
  if (!b->unknown[s][from])
    mpq_mul(q, q, &b->adjoint[s][from]);
  if (b->unknown[s][from] || !interval_exact(x)) {
    lose(b, (size_t)(to - b->p->net->gradient), b->unknown[s][from] ? NULL : x, q);
    return;
  }
  add_multiple(to, &x->lo, q);
}

/* The gradient will be divided by a positive number. */
static void
leave_out(const passage *b, const interval *x)
{
  if (b->factor == NULL)
    return;
  interval_mul(b->factor, b->factor, x);
  interval_round(b->factor);
}

/* Is all that is on its way at entries of step s which are multiplied by one irrational root? Then it is a factor of the
 * gradient. (A rational one is no obstacle.) */
static bool
one_root(const passage *b, size_t s, size_t sample)
{
  const point *p = b->p;
  size_t first = NONE;
  if (!b->up_to_a_root || !zeros(p->net->gradient, p->net->n_wrt))
    return false;
  for (size_t i = 0; i < p->net->n_wrt; i++)
    if (b->lost[i])
      return false;
  for (size_t t = 0; t <= s; t++)
    for (size_t e = sample; e < entries(p, t); e += p->net->apart) {
      if (is_nothing(b, t, e / p->net->apart))
        continue;
      if (t < s || (first != NONE && !same_root(p, &p->net->steps[s], first, e)))
        return false;
      first = e;
    }
  if (first == NONE)
    return false;
  INTERVAL(root);
  p->net->smooth->inverse_root(p, &p->net->steps[s], first, &root);
  if (!interval_exact(&root))
    leave_out(b, &root);
  return !interval_exact(&root);
}

/* To the parameters in wrt by which entry e multiplies what it reads. */
static void
parameters_back(const passage *b, size_t s, size_t e)
{
  const step *st = &b->p->net->steps[s];
  RATIONAL(q);
  for (size_t i = 0; i < st->width; i++) {
    const term t = term_at(b->p, st, e, i);
    if (t.x.step == PADDING || t.by.w == NULL || !t.by.w->wrt)
      continue;
    weigh(st, &t.by, true, &q);
    hand_parameter(b, s, e, &t, &q);
  }
}

/* Entry e has a derivative that may not be 0. */
static void
note_origin(origins *of, const point *p, size_t s, size_t e)
{
  const kind k = p->net->steps[s].kind;
  if (of == NULL || (k != PIECEWISE && k != WINDOW))
    return;
  if (p->place[s][e] >= TOUCHED)
    of->met[p->place[s][e] - TOUCHED] = true;
  if (of->loose[s] != NULL && of->loose[s][e])
    of->loose_met = true;
}

/* Takes the adjoints of the step's entries, of one sample or of all that are coupled, to what they are made of. */
static void
step_back(const passage *b, size_t s, size_t sample)
{
  const step *st = &b->p->net->steps[s];
  const jacobian j = {b->p, b->slope, b->irrational == NULL, hand, b};
  size_t apart = b->p->net->apart;
  bool rootless = st->varies && (st->kind == OVER_ROOT || st->kind == NORMALIZE) && one_root(b, s, sample);
  if (st->varies && !rootless && st->length > 0)
    b->p->net->smooth->lines_back(&j, s, sample, b->adjoint[s], b->unknown[s], b->c);
  for (size_t e = sample; e < entries(b->p, s); e += apart) {
    if (is_nothing(b, s, e / apart))
      continue;
    mpq_canonicalize(&b->adjoint[s][e / apart]);
    note_origin(b->origins, b->p, s, e);
    if (st->varies && (b->c == NULL || b->c->degree[s][e] > 0)) { /* else constant */
      jacobian_row(&j, s, e, rootless);
      if (b->whole && (st->kind == LINEAR || (st->kind == PIECEWISE && b->p->place[s][e] == 0)))
        parameters_back(b, s, e);
    }
    mpq_set(&b->adjoint[s][e / apart], &zero);
    b->unknown[s][e / apart] = false;
    if (b->irrational != NULL)
      interval_set(&b->irrational[s][e / apart], &zero, &zero);
  }
}

/* All adjoints of a sample, or of all that are coupled. */
static void
steps_back(const passage *b, size_t sample)
{
  for (size_t s = b->p->net->n_steps; s-- > 0;)
    step_back(b, s, sample);
}

/* Is a kink touched in the sample (or in any, when they are coupled)? */
static bool
touches(const point *p, size_t sample)
{
  size_t k = 0;
  while (k < p->n_touched && p->touched[k].entry % p->net->apart != sample)
    k++;
  return k < p->n_touched;
}

static passage
passage_new(const point *p, const rational *slope, const cell *c, bool up_to_a_root)
{
  size_t n = p->net->n_steps;
  passage b = {p,
               slope,
               c,
               allocate(n, sizeof(rational *)),
               allocate(n, sizeof(bool *)),
               NULL,
               allocate(p->net->n_wrt, sizeof(bool)),
               allocate(p->net->n_wrt, sizeof(interval *)),
               up_to_a_root,
               NULL,
               NULL,
               true};
  for (size_t s = 0; s < n; s++) {
    b.adjoint[s] = rationals(entries(p, s) / p->net->apart);
    b.unknown[s] = allocate(entries(p, s) / p->net->apart, sizeof(bool));
  }
  rationals_begin(p->net->gradient, p->net->n_wrt);
  for (size_t i = 0; i < p->net->n_wrt; i++)
    mpq_set(&p->net->gradient[i], &zero);
  return b;
}

/* Where one entry alone is not zero, its sign is all that counts up to a factor. */
static void
find_sign(const passage *b)
{
  const network *net = b->p->net;
  size_t only = NONE;
  for (size_t i = 0; i < net->n_wrt; i++) {
    if (!b->lost[i] && mpq_sgn(&net->gradient[i]) == 0)
      continue;
    if (only != NONE)
      return;
    only = i;
  }
  if (only == NONE || b->part[only] == NULL)
    return;
  mpq_canonicalize(&net->gradient[only]);
  interval_add(b->part[only], &exactly_one, &net->gradient[only]);
  bool plus = mpq_sgn(&b->part[only]->lo) > 0;
  if (plus || mpq_sgn(&b->part[only]->hi) < 0) {
    INTERVAL(size);
    interval_add(&size, b->part[only], plus ? &plus_one : &minus_one);
    leave_out(b, &size);
    mpq_set(&net->gradient[only], plus ? &plus_one : &minus_one);
    b->lost[only] = false;
  }
}

/* The gradient is complete. Is it known? */
static bool
passage_end(passage *b)
{
  const network *net = b->p->net;
  bool known = true;
  if (b->up_to_a_root)
    find_sign(b);
  for (size_t i = 0; i < net->n_wrt; i++) {
    known = known && !b->lost[i];
    mpq_canonicalize(&net->gradient[i]);
    intervals_free(b->part[i], 1);
  }
  for (size_t s = 0; s < net->n_steps; s++) {
    rationals_free(b->adjoint[s], entries(b->p, s) / net->apart);
    free(b->unknown[s]);
    if (b->irrational != NULL)
      intervals_free(b->irrational[s], entries(b->p, s) / net->apart);
  }
  free(b->irrational);
  free(b->adjoint);
  free(b->unknown);
  free(b->lost);
  free(b->part);
  return known;
}

/* From the loss, of those samples in which a kink is touched or of all. */
static void
loss_back(passage *b, bool of_touched)
{
  const point *p = b->p;
  const network *net = p->net;
  size_t n = net->n_outputs * net->batch, apart = net->apart;
  interval *by = loss_slopes(p);
  for (size_t sample = 0; sample < apart; sample++) {
    if (of_touched && !touches(p, sample))
      continue;
    for (size_t i = 0, e; i < n; i++) {
      if ((e = output_entry(p, i)) % apart != sample)
        continue;
      if (interval_exact(&by[i]))
        add_multiple(&b->adjoint[net->output][e / apart], &by[i].lo, &plus_one);
      else
        b->unknown[net->output][e / apart] = true;
    }
    steps_back(b, sample);
  }
  intervals_free(by, n);
}

void
loss_gradient(const point *p, const rational *slope, const cell *c, bool of_touched)
{
  passage b = passage_new(p, slope, c, false);
  loss_back(&b, of_touched);
  require(passage_end(&b), irrational);
}

void
loss_origins(const point *p, const cell *c, origins *of)
{
  passage b = passage_new(p, c != NULL ? c->slope : NULL, c, false);
  b.origins = of;
  b.whole = false;
  loss_back(&b, true);
  passage_end(&b);
}

bool *
touched_with_effect(const point *p)
{
  origins of = {allocate(p->n_touched, sizeof(bool)), allocate(p->net->n_steps, sizeof(bool *)), false};
  loss_origins(p, NULL, &of);
  free(of.loose);
  return of.met;
}

void
seeded_origins(const point *p, const cell *c, size_t sample, const rational *seed, origins *of)
{
  const network *net = p->net;
  passage b = passage_new(p, c->slope, c, true);
  b.origins = of;
  b.whole = false;
  for (size_t i = 0; i < net->n_outputs; i++)
    add_multiple(&b.adjoint[net->output][output_entry(p, sample * net->n_outputs + i) / net->apart], &seed[i],
                 &plus_one);
  steps_back(&b, sample);
  passage_end(&b);
}

/* From the argument of touched kink k, or an option less another. */
static void
kink_back(passage *b, size_t k, size_t option, size_t over)
{
  const point *p = b->p;
  const touch *t = &p->touched[k];
  size_t apart = p->net->apart;
  add_multiple(&b->adjoint[t->from][t->at[option] / apart], &plus_one, &plus_one);
  if (t->n > 1)
    add_multiple(&b->adjoint[t->from][t->at[over] / apart], &plus_one, &minus_one);
  steps_back(b, t->entry % apart);
}

void
kink_row_and_factor(const point *p, const rational *slope, const cell *c, size_t k, size_t option, size_t over,
                    interval *left_out)
{
  passage b = passage_new(p, slope, c, true);
  b.factor = left_out;
  b.irrational = allocate(p->net->n_steps, sizeof *b.irrational);
  for (size_t s = 0; s < p->net->n_steps; s++)
    b.irrational[s] = intervals(entries(p, s) / p->net->apart);
  interval_set(left_out, &plus_one, &plus_one);
  kink_back(&b, k, option, over);
  require(passage_end(&b), irrational);
}

bool
kink_gradient(const point *p, const rational *slope, const cell *c, size_t k, size_t option, size_t over,
              bool up_to_a_root)
{
  passage b = passage_new(p, slope, c, up_to_a_root);
  kink_back(&b, k, option, over);
  return passage_end(&b);
}

bool
kink_origins(const point *p, const cell *c, size_t k, size_t over, origins *of)
{
  passage b = passage_new(p, c->slope, c, true);
  b.origins = of;
  kink_back(&b, k, 0, over);
  return passage_end(&b) && zeros(p->net->gradient, p->net->n_wrt);
}

void
kink_row(const point *p, const rational *slope, const cell *c, size_t k, size_t option, size_t over, bool up_to_a_root)
{
  require(kink_gradient(p, slope, c, k, option, over, up_to_a_root), irrational);
}
