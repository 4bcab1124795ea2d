/* Values, the pieces they lie on, tangents and gradients. */
#include "bound.h"
#include "line.h"

#include <stdlib.h>

size_t
entry_of(const point *p, source x, size_t e)
{
  return x.from * p->net->batch + e % p->net->batch;
}

term
term_at(const point *p, const step *st, size_t e, size_t i)
{
  size_t f = e / p->net->batch;
  return (term){st->factors[st->factor_row[f] * st->width + i], st->sources[st->source_row[f] * st->width + i]};
}

const interval *
argument(const point *p, const step *st, size_t e)
{
  source x = term_at(p, st, e, 0).x;
  return value_at(p, x.step, entry_of(p, x, e));
}

size_t
entries(const point *p, size_t s)
{
  return p->net->steps[s].n * p->net->batch;
}

void
weigh(const step *st, const factor *t, bool derivative, rational *q)
{
  const rational *w = t->w != NULL ? &t->w->value[t->at] : NULL;
  mpq_set(q, t->coef == &plus_one && w != NULL && !derivative && !st->divide ? w : t->coef);
  if (w == NULL || derivative > st->divide || (t->coef == &plus_one && !st->divide))
    return;
  (st->divide ? mpq_div : mpq_mul)(q, q, w);
  if (derivative) {
    mpq_div(q, q, w);
    mpq_neg(q, q);
  }
}

/* y += the sum of a LINEAR entry's terms; given tangents, of those in place of the values; or with move, of
 * the values by the factors' derivatives. */
static void
add_terms(const point *p, const step *st, size_t e, const motion *d, bool move, interval *y)
{
  bool exact = true; /* so far: then the sum's upper end is not held */
  RATIONAL(q);
  INTERVAL(sum);
  for (size_t i = 0; i < st->width; i++) {
    const term t = term_at(p, st, e, i);
    size_t from = entry_of(p, t.x, e);
    if (t.x.step == PADDING || (move ? t.by.w == NULL || !t.by.w->wrt : t.x.step == NONE && d != NULL))
      continue;
    weigh(st, &t.by, move, &q);
    if (move)
      mpq_mul(&q, &q, &t.by.w->move[t.by.at]);
    if (mpq_sgn(&q) == 0)
      continue;
    const interval *x = t.x.step == NONE ? &exactly_one
                        : d != NULL      ? tangent_at(d, t.x.step, from)
                                         : value_at(p, t.x.step, from);
    if (exact && !interval_exact(x)) {
      exact = false;
      mpq_set(&sum.hi, &sum.lo);
    }
    add_multiple(&sum.lo, &q, mpq_sgn(&q) < 0 ? &x->hi : &x->lo);
    if (!exact)
      add_multiple(&sum.hi, &q, mpq_sgn(&q) < 0 ? &x->lo : &x->hi);
  }
  mpq_canonicalize(&sum.lo);
  mpq_canonicalize(&sum.hi);
  if (exact)
    mpq_set(&sum.hi, &sum.lo);
  interval_add(y, &sum, &plus_one);
}

/* The derivative of piece i of a PIECEWISE step, at entry e. */
static void
piece_slope(const point *p, const step *st, size_t e, size_t i, interval *d)
{
  const factor by = term_at(p, st, e, 0).by;
  const rational *c = i == 0 && by.w != NULL ? &by.w->value[by.at] : &st->piece[i][1];
  RATIONAL(twice);
  interval_set(d, c, c);
  mpq_add(&twice, &st->piece[i][2], &st->piece[i][2]);
  if (mpq_sgn(&twice) != 0)
    interval_add(d, argument(p, st, e), &twice);
}

/* Pieces j and j + 1 are the same polynomial, whatever `wrt` moves: there is no kink between them. */
static bool
same_pieces(const step *st, const factor *by, size_t j)
{
  const rational *left = st->piece[j], *right = st->piece[j + 1];
  if (j == 0 && by->w != NULL && by->w->wrt)
    return false;
  const rational *slope = j == 0 && by->w != NULL ? &by->w->value[by->at] : &left[1];
  return mpq_equal(&left[0], &right[0]) && mpq_equal(slope, &right[1]) && mpq_equal(&left[2], &right[2]);
}

size_t
locate(point *p, size_t s, size_t e)
{
  const step *st = &p->net->steps[s];
  source x = term_at(p, st, e, 0).x;
  const factor by = term_at(p, st, e, 0).by;
  INTERVAL(left);
  INTERVAL(right);
  for (size_t j = 0; j < st->n_kinks; j++) {
    if (same_pieces(st, &by, j))
      continue;
    interval_set(&left, &st->at[j], &st->at[j]);
    interval_set(&right, &argument(p, st, e)->lo, &argument(p, st, e)->hi);
    interval_add(&right, &left, &minus_one);
    int sign = interval_sign(&right, "whether an argument is at a kink");
    if (sign < 0)
      return j;
    if (sign > 0)
      continue;
    piece_slope(p, st, e, j, &left);
    piece_slope(p, st, e, j + 1, &right);
    if (mpq_equal(&left.lo, &right.lo))
      return j;
    touch new = {s, e, j, x.step, 1, allocate(1, sizeof(size_t)), NULL, 0, 0, left.lo, right.lo};
    *new.at = entry_of(p, x, e);
    touch_add(p, new);
    left.lo = rational_zero(); /* both have moved */
    right.lo = rational_zero();
    return TOUCHED + j;
  }
  return st->n_kinks;
}

static bool
zero_piece(const step *st, const factor *by, size_t i)
{
  const rational *c = st->piece[i];
  return (i > 0 || by->w == NULL) && mpq_sgn(&c[0]) == 0 && mpq_sgn(&c[1]) == 0 && mpq_sgn(&c[2]) == 0;
}

/* An entry of a PIECEWISE step whose place is known. */
static void
piece_value(const point *p, const step *st, size_t e, size_t i, interval *y)
{
  const interval *x = argument(p, st, e);
  const factor by = term_at(p, st, e, 0).by;
  INTERVAL(square);
  interval_add(y, x, i == 0 && by.w != NULL ? &by.w->value[by.at] : &st->piece[i][1]);
  interval_add(y, &exactly_one, &st->piece[i][0]);
  if (mpq_sgn(&st->piece[i][2]) == 0)
    return;
  interval_mul(&square, x, x);
  interval_add(y, &square, &st->piece[i][2]);
}

const interval *
value_at(const point *p, size_t s, size_t e)
{
  const step *st = &p->net->steps[s];
  if (p->y[s][e] != NULL)
    return p->y[s][e];
  size_t i = p->place[s] != NULL ? p->place[s][e] & (TOUCHED - 1) : 0, batch = p->net->batch;
  if (st->length > 0)
    return line_values(p, s, e), p->y[s][e];
  const term t = st->width > 0 ? term_at(p, st, e, st->kind == WINDOW ? i : 0) : (term){.x = {NONE, 0}};
  if (st->kind == WINDOW)
    return value_at(p, t.x.step, entry_of(p, t.x, e));
  if (st->kind == PIECEWISE && zero_piece(st, &t.by, i))
    return &exactly_zero;
  interval *y = intervals(1);
  if (st->kind == INPUT)
    interval_add(y, &exactly_one, &p->x->value[e % batch * st->n + e / batch]);
  if (st->kind == LINEAR)
    add_terms(p, st, e, NULL, false, y);
  if (st->kind == PIECEWISE)
    piece_value(p, st, e, i, y);
  if (st->kind == OVER_ROOT)
    multiply_add(y, &st->root[t.by.at], argument(p, st, e));
  interval_round(y);
  return p->y[s][e] = y;
}

static void
evaluate_sample(void *p, size_t sample)
{ /* or all, when they are coupled */
  near_free(p, near_values(p, sample));
}

void
point_evaluate(point *p)
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
    near_prepare(st);
    for (size_t i = 0; i < st->n_factors; i++)
      st->varies = st->varies || (st->factors[i].w != NULL && st->factors[i].w->wrt);
    for (size_t i = 0; i < st->n_sources; i++)
      st->varies = st->varies || (st->sources[i].step < PADDING && net->steps[st->sources[i].step].varies);
  }
  for_each_sample(net->apart, evaluate_sample, p);
  touches_number(p);
}

/* The slope of a PIECEWISE step's entry: of its piece, or as chosen for its touched kink. */
void
slope_at(const point *p, size_t s, size_t e, const rational *slope, interval *d)
{
  size_t place = p->place[s][e];
  if (place >= TOUCHED)
    slope += p->touched[place - TOUCHED].slope;
  if (place >= TOUCHED)
    interval_set(d, slope, slope);
  else
    piece_slope(p, &p->net->steps[s], e, place, d);
}

const interval *
argument_tangent(const motion *d, const step *st, size_t e)
{
  source x = term_at(d->p, st, e, 0).x;
  return tangent_at(d, x.step, entry_of(d->p, x, e));
}

static void
piece_tangent(const motion *d, size_t s, size_t e, interval *y)
{
  const step *st = &d->p->net->steps[s];
  const factor by = term_at(d->p, st, e, 0).by;
  INTERVAL(slope);
  slope_at(d->p, s, e, d->slope, &slope);
  if (!interval_zero(&slope))
    multiply_add(y, &slope, argument_tangent(d, st, e));
  if (d->p->place[s][e] == 0 && by.w != NULL && by.w->wrt)
    interval_add(y, argument(d->p, st, e), &by.w->move[by.at]);
}

const interval *
tangent_at(const motion *d, size_t s, size_t e)
{
  const step *st = &d->p->net->steps[s];
  if (!st->varies)
    return &exactly_zero;
  if (d->x[s][e] != NULL)
    return d->x[s][e];
  if (st->length > 0)
    return line_tangents(d, s, e), d->x[s][e];
  interval *y = intervals(1);
  if (st->kind == LINEAR) {
    add_terms(d->p, st, e, d, false, y);
    add_terms(d->p, st, e, NULL, true, y);
  }
  if (st->kind == PIECEWISE)
    piece_tangent(d, s, e, y);
  if (st->kind == OVER_ROOT)
    multiply_add(y, &st->root[term_at(d->p, st, e, 0).by.at], argument_tangent(d, st, e));
  if (st->kind == WINDOW)
    window_tangent(d, s, e, y);
  interval_round(y);
  return d->x[s][e] = y;
}

motion
tangents(const point *p, const rational *slope)
{
  motion d = {p, slope, allocate(p->net->n_steps, sizeof *d.x)};
  for (size_t s = 0; s < p->net->n_steps; s++)
    d.x[s] = allocate(entries(p, s), sizeof *d.x[s]);
  return d;
}

void
tangents_free(motion *d)
{
  for (size_t s = 0; s < d->p->net->n_steps; s++) {
    for (size_t e = 0; e < entries(d->p, s); e++)
      intervals_free(d->x[s][e], 1);
    free(d->x[s]);
  }
  free(d->x);
}

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

const rational *
only(const interval *x)
{
  require(interval_exact(x), "a gradient is not rational behind a transcendental operator");
  return &x->lo;
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

cell
cell_new(const point *p)
{
  cell c = {allocate(p->n_touched, sizeof(int)), allocate(p->n_touched, sizeof(bool)), rationals(p->n_slopes),
            allocate(p->net->n_steps, sizeof(uint8_t *)), NONE};
  for (size_t s = 0; s < p->net->n_steps; s++)
    c.degree[s] = allocate(entries(p, s), 1);
  return c;
}

/* The degree of term t of entry e: of w x, or x / w. */
static uint8_t
term_degree(const cell *c, const point *p, const step *st, term t, size_t e)
{
  uint8_t x = t.x.step >= PADDING ? 0 : c->degree[t.x.step][entry_of(p, t.x, e)];
  if (t.by.w == NULL || !t.by.w->wrt || t.x.step == PADDING)
    return x;
  if (x == 0 && t.x.step != NONE && interval_zero(value_at(p, t.x.step, entry_of(p, t.x, e))))
    return 0;
  return x > 0 || st->divide ? 2 : 1;
}

/* Of a PIECEWISE entry; settles its touched kink. */
static uint8_t
piece_degree(cell *c, const point *p, size_t s, size_t e, bool tree)
{
  const step *st = &p->net->steps[s];
  const term t = term_at(p, st, e, 0);
  size_t i = p->place[s][e], k = i - TOUCHED;
  uint8_t x = c->degree[t.x.step][entry_of(p, t.x, e)];
  if (i >= TOUCHED && c->side == NULL)
    return x == 0 ? 0 : 2;
  if (i >= TOUCHED) {
    i = p->touched[k].kink + (c->side[k] > 0);
    mpq_set(&c->slope[p->touched[k].slope], c->side[k] > 0 ? &p->touched[k].right : &p->touched[k].left);
    c->flat[k] = x == 0;
    if (tree && x == 1 && c->side[k] == 0) {
      gradient(p, c->slope, c, k, 0, 0);
      c->flat[k] = zeros(p->net->gradient, p->net->n_wrt);
    }
    if (!c->flat[k] && c->side[k] == 0 && c->open > k)
      c->open = k;
    if (c->flat[k] || c->side[k] == 0)
      return c->flat[k] ? 0 : 2;
  }
  if (i == 0 && t.by.w != NULL && (t.by.w->wrt || mpq_sgn(&t.by.w->value[t.by.at]) != 0))
    return term_degree(c, p, st, t, e);
  if (mpq_sgn(&st->piece[i][2]) != 0)
    return x > 0 ? 2 : 0;
  return mpq_sgn(&st->piece[i][1]) != 0 ? x : 0;
}

void
cell_settle_step(cell *c, const point *p, size_t s, size_t sample, bool tree)
{
  const step *st = &p->net->steps[s];
  bool terms = st->kind != PIECEWISE && st->kind != WINDOW, line = st->length > 0;
  size_t n = line ? line_length(p, st) : st->width, alone = st->kind == NORMALIZE && n == 1; /* which is its mean */
  for (size_t e = sample; e < entries(p, s); e += p->net->apart) {
    size_t first = line ? line_entry(p, st, e, 0) : e;
    uint8_t worst = terms ? 0 : (st->kind == WINDOW ? window_degree : piece_degree)(c, p, s, e, tree);
    if (first < e)
      worst = c->degree[s][first];
    for (size_t i = alone; terms && first == e && i < n && worst < 2; i++) {
      size_t at = line ? line_entry(p, st, e, i) : e;
      uint8_t d = term_degree(c, p, st, term_at(p, st, at, line ? 0 : i), at);
      worst = d == 0 ? worst : line ? 2 : d > worst ? d : worst;
    }
    c->degree[s][e] = worst;
  }
}

void
cell_settle(cell *c, const point *p, bool tree)
{
  c->open = NONE;
  for (size_t s = 0; s < p->net->n_steps; s++)
    for (size_t b = 0; b < p->net->apart; b++)
      cell_settle_step(c, p, s, b, tree);
}
