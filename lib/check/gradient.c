/* The loss, its derivative along a direction, and gradients in reverse mode. */
#include "gradient.h"
#include "allocate.h"
#include "elementary.h"
#include "line.h"
#include "window.h"

#include <stdlib.h>

/* The output's entry i, of feature i % n_outputs in sample i / n_outputs. */
static size_t
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
  mpq_set_ui(&scale.lo, p->loss == LOSS_MSE ? 2 : 1, p->loss == LOSS_MSE ? all : p->net->batch);
  mpq_canonicalize(&scale.lo);
  mpq_set(&scale.hi, &scale.lo);
  for (size_t i = 0; i < all; i++)
    interval_add(&d[i], p->loss == LOSS_SUM ? &exactly_one : value_at(p, p->net->output, output_entry(p, i)),
                 &plus_one);
  for (size_t b = 0; p->loss == LOSS_CE && b < p->net->batch; b++) {
    interval_softmax(&d[b * n], &d[b * n], n, 1, false);
    interval_add(&d[b * n + mpz_get_ui(mpq_numref(&p->target->value[b]))], &exactly_one, &minus_one);
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

static const rational *
only(const interval *x)
{
  require(interval_exact(x), "a gradient is not rational behind a transcendental operator");
  return &x->lo;
}

void
root_pull(const point *p, size_t s, size_t e, rational **adjoint)
{
  const step *st = &p->net->steps[s];
  const term t = term_at(p, st, e, 0);
  size_t apart = p->net->apart;
  add_multiple(&adjoint[t.x.step][entry_of(p, t.x, e) / apart], only(&st->root[t.by.at]), &adjoint[s][e / apart]);
}

/* The column of the derivative at e times e's adjoint, if that is rational. */
void
normalize_pull(const point *p, size_t s, size_t e, rational **adjoint)
{
  const step *st = &p->net->steps[s];
  size_t m = line_length(p, st), apart = p->net->apart;
  INTERVAL(r);
  RATIONAL(all);
  root_of(p, st, e, &r);
  mpq_set_ui(&all, m, 1);
  for (size_t i = 0; i < m; i++) {
    size_t at = line_entry(p, st, e, i);
    source x = read_by(p, st, at);
    INTERVAL(by);
    INTERVAL(t);
    if (at == e)
      interval_add(&by, &exactly_one, &all);
    interval_add(&by, &exactly_one, &minus_one);
    multiply_add(&t, value_at(p, s, at), value_at(p, s, e));
    interval_add(&by, &t, &minus_one);
    interval_mul(&by, &by, &r);
    add_multiple(&adjoint[x.step][entry_of(p, x, at) / apart], only(&by), &adjoint[s][e / apart]);
  }
}

/* Takes the adjoint of entry e to its terms, under the cell (NULL: of slopes alone). adjoint: [step][entry / apart], of what is
 * computed together with e. */
static void
pull_back(const point *p, size_t s, size_t e, const rational *slope, const cell *c, rational **adjoint)
{
  const step *st = &p->net->steps[s];
  const rational *given = &adjoint[s][e / p->net->apart];
  RATIONAL(q);
  INTERVAL(by);
  if (st->kind == SOFTMAX && c != NULL && c->degree[s][e] == 0)
    return;
  require(st->kind != SOFTMAX, "a gradient is not rational behind a transcendental operator");
  if (other_pull(p, s, e, slope, adjoint))
    return;
  for (size_t i = 0; i < st->width; i++) {
    const term t = term_at(p, st, e, i);
    bool weighs = t.by.w != NULL && t.by.w->wrt && (st->kind != PIECEWISE || p->place[s][e] == 0);
    if (t.x.step == PADDING)
      continue;
    if (st->kind == PIECEWISE) {
      slope_at(p, s, e, slope, &by);
      mpq_set(&q, only(&by));
    } else
      weigh(st, &t.by, false, &q);
    if (t.x.step != NONE && p->net->steps[t.x.step].varies)
      add_multiple(&adjoint[t.x.step][entry_of(p, t.x, e) / p->net->apart], &q, given);
    if (!weighs)
      continue;
    weigh(st, &t.by, true, &q);
    mpq_mul(&q, &q, given);
    add_multiple(&t.by.w->gradient[t.by.at],
                 t.x.step != NONE ? only(value_at(p, t.x.step, entry_of(p, t.x, e))) : &plus_one, &q);
  }
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

void
gradient(const point *p, const rational *slope, const cell *c, size_t k, size_t a, size_t b)
{
  const network *net = p->net;
  const touch *t = k != NONE ? &p->touched[k] : NULL;
  size_t n = net->n_outputs * net->batch, apart = net->apart, first = t != NULL ? t->entry % apart : 0;
  rational **adjoint = allocate(net->n_steps, sizeof *adjoint);
  interval *by = t == NULL ? loss_slopes(p) : NULL;
  for (size_t i = 0; i < net->n_wrt; i++)
    mpq_set(&net->gradient[i], &zero);
  for (size_t s = 0; s < net->n_steps; s++)
    adjoint[s] = rationals(entries(p, s) / apart);
  for (size_t sample = first; sample < (t != NULL ? first + 1 : apart); sample++) {
    if (t == NULL && a != 0 && !touches(p, sample))
      continue;
    for (size_t i = 0, e; t == NULL && i < n; i++)
      if ((e = output_entry(p, i)) % apart == sample)
        add_multiple(&adjoint[net->output][e / apart], only(&by[i]), &plus_one);
    if (t != NULL)
      add_multiple(&adjoint[t->from][t->at[a] / apart], &plus_one, &plus_one);
    if (t != NULL && t->n > 1)
      add_multiple(&adjoint[t->from][t->at[b] / apart], &plus_one, &minus_one);
    for (size_t s = net->n_steps; s-- > 0;)
      for (size_t e = sample; e < entries(p, s); e += apart) {
        rational *given = &adjoint[s][e / apart];
        if (mpq_sgn(given) == 0)
          continue;
        mpq_canonicalize(given);
        if (net->steps[s].varies)
          pull_back(p, s, e, slope, c, adjoint);
        mpq_set(given, &zero);
      }
  }
  for (size_t i = 0; i < net->n_wrt; i++)
    mpq_canonicalize(&net->gradient[i]);
  intervals_free(by, n);
  for (size_t s = 0; s < net->n_steps; s++)
    rationals_free(adjoint[s], entries(p, s) / apart);
  free(adjoint);
}
