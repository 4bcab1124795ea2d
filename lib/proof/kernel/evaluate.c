/* Values, the pieces they lie on, tangents and gradients. */
#include "window.h"

#include <stdlib.h>

size_t entry_of(const point *p, const term *t, size_t e) {
  return t->from * p->net->batch + e % p->net->batch;
}

const term *terms_at(const point *p, const step *st, size_t e) {
  return &st->terms[e / p->net->batch * st->width];
}

interval *argument(const point *p, interval **x, const step *st, size_t e) {
  const term *t = terms_at(p, st, e);
  return &x[t->step][entry_of(p, t, e)];
}

size_t entries(const point *p, size_t s) {
  return p->net->steps[s].n * p->net->batch;
}

/* The factor of a term's x; or with move, its derivative along the weight's. */
static void factor(const step *st, const term *t, bool move, rational *q) {
  mpq_set(q, move && (t->w == NULL || !t->w->wrt) ? &zero : t->coef);
  if (t->w == NULL || mpq_sgn(q) == 0) return;
  const rational *w = &t->w->value[t->at];
  if (!move) (st->divide ? mpq_div : mpq_mul)(q, q, w);
  if (move) mpq_mul(q, q, &t->w->move[t->at]);
  if (!move || !st->divide) return;
  mpq_div(q, q, w); mpq_div(q, q, w); mpq_neg(q, q);
}

/* sum += a x; sum is not made canonical, which would cost more than the rest. */
static void add_product(rational *sum, const rational *a, const rational *x, integer *t,
                        integer *den) {
  if (mpq_sgn(x) == 0) return;
  mpz_mul(den, mpq_denref(a), mpq_denref(x));
  if (!mpz_divisible_p(mpq_denref(sum), den)) {
    mpz_lcm(t, mpq_denref(sum), den); mpz_swap(mpq_denref(sum), t);
    mpz_divexact(t, mpq_denref(sum), t); mpz_mul(mpq_numref(sum), mpq_numref(sum), t);
  }
  mpz_divexact(t, mpq_denref(sum), den); mpz_mul(t, t, mpq_numref(x));
  mpz_addmul(mpq_numref(sum), t, mpq_numref(a));
}

/* out += what a LINEAR step makes of x's entries, with its factors or, to move, their derivatives;
 * of values, its constant terms too. */
static void linear(const point *p, const step *st, interval *out, interval **x, bool move) {
  size_t batch = p->net->batch, w = st->width;
  rational *q = rationals(st->n * w);
  RATIONAL(sum); INTEGER(t); INTEGER(den);
  for (size_t i = 0; i < st->n * w; i++) factor(st, &st->terms[i], move, &q[i]);
  for (size_t e = 0; e < entries(p, (size_t)(st - p->net->steps)); e++) {
    bool exact = true; /* then both ends are the same */
    for (int up = 0; up < 2; up++) {
      if (!up || !exact) mpq_set(&sum, &zero);
      for (size_t i = e / batch * w; i < (e / batch + 1) * w && (!up || !exact); i++) {
        const term *to = &st->terms[i];
        if (mpq_sgn(&q[i]) == 0 || (to->step == NONE && x != p->y)) continue;
        const interval *in = to->step == NONE ? &exactly_one : &x[to->step][entry_of(p, to, e)];
        if (!up) exact = exact && interval_exact(in);
        add_product(&sum, &q[i], up == (mpq_sgn(&q[i]) > 0) ? &in->hi : &in->lo, &t, &den);
      }
      if (!up || !exact) mpq_canonicalize(&sum);
      mpq_add(up ? &out[e].hi : &out[e].lo, up ? &out[e].hi : &out[e].lo, &sum);
    }
  }
  for (size_t i = 0; i < st->n * w; i++) mpq_clear(&q[i]);
  free(q);
}

/* The derivative of piece i of a PIECEWISE step, at entry e. */
static void piece_slope(const point *p, const step *st, size_t e, size_t i, interval *d) {
  const term *t = terms_at(p, st, e);
  const rational *c = i == 0 && t->w != NULL ? &t->w->value[t->at] : &st->piece[i][1];
  RATIONAL(twice);
  interval_set(d, c, c); mpq_add(&twice, &st->piece[i][2], &st->piece[i][2]);
  interval_add(d, argument(p, p->y, st, e), &twice);
}

void touch_add(point *p, touch t) {
  t.slope = p->n_slopes; p->n_slopes += t.n;
  p->touched = grow(p->touched, p->n_touched, sizeof t); p->touched[p->n_touched++] = t;
}

/* The piece on which the argument of entry e lies, or a touched kink, which is recorded. */
static size_t locate(point *p, size_t s, size_t e) {
  const step *st = &p->net->steps[s];
  const term *t = terms_at(p, st, e);
  INTERVAL(left); INTERVAL(right);
  for (size_t j = 0; j < st->n_kinks; j++) {
    interval_set(&left, &st->at[j], &st->at[j]);
    interval_set(&right, &argument(p, p->y, st, e)->lo, &argument(p, p->y, st, e)->hi);
    interval_add(&right, &left, &minus_one);
    int sign = interval_sign(&right, "whether an argument is at a kink");
    if (sign < 0) return j;
    if (sign > 0) continue;
    piece_slope(p, st, e, j, &left); piece_slope(p, st, e, j + 1, &right);
    if (mpq_equal(&left.lo, &right.lo)) return j;
    touch new = {s, e, j, t->step, 1, allocate(1, sizeof(size_t)), NULL, 0, 0, left.lo, right.lo};
    *new.at = entry_of(p, t, e); touch_add(p, new);
    left.lo = rational_zero(); /* both have moved */
    right.lo = rational_zero();
    return TOUCHED + p->n_touched - 1;
  }
  return st->n_kinks;
}

/* Entry j of line i of a SOFTMAX step. */
static size_t line_entry(const point *p, const step *st, size_t i, size_t j) {
  size_t apart = st->stride * p->net->batch;
  return (i / apart * st->length + j) * apart + i % apart;
}

static void evaluate_pieces(point *p, size_t s, interval *y) {
  const step *st = &p->net->steps[s];
  p->place[s] = allocate(entries(p, s), sizeof **p->place);
  for (size_t e = 0; e < entries(p, s); e++) {
    const term *t = terms_at(p, st, e);
    const interval *x = argument(p, p->y, st, e);
    size_t place = p->place[s][e] = locate(p, s, e);
    size_t i = place < TOUCHED ? place : p->touched[place - TOUCHED].kink;
    INTERVAL(square);
    interval_add(&y[e], x, i == 0 && t->w != NULL ? &t->w->value[t->at] : &st->piece[i][1]);
    interval_add(&y[e], &exactly_one, &st->piece[i][0]);
    interval_mul(&square, x, x); interval_add(&y[e], &square, &st->piece[i][2]);
  }
}

void point_evaluate(point *p) {
  network *net = p->net; p->y = allocate(net->n_steps, sizeof *p->y);
  p->place = allocate(net->n_steps, sizeof *p->place);
  window_begin(p);
  for (size_t s = 0; s < net->n_steps; s++) {
    step *st = &net->steps[s];
    size_t n = entries(p, s), batch = net->batch;
    interval *y = p->y[s] = intervals(n);
    for (size_t i = 0; i < st->n * st->width; i++)
      st->varies = st->varies || (st->terms[i].w != NULL && st->terms[i].w->wrt)
                   || (st->terms[i].step != NONE && net->steps[st->terms[i].step].varies);
    if (st->kind == LINEAR) linear(p, st, y, p->y, false);
    if (st->kind == PIECEWISE) evaluate_pieces(p, s, y);
    other_evaluate(p, s, y);
    for (size_t e = 0; e < n; e++)
      if (st->kind == INPUT)
        interval_add(&y[e], &exactly_one, &p->x->value[e % batch * st->n + e / batch]);
      else if (st->kind == SOFTMAX) interval_add(&y[e], argument(p, p->y, st, e), &plus_one);
    for (size_t i = 0; st->kind == SOFTMAX && i < n / st->length; i++)
      interval_softmax(y + line_entry(p, st, i, 0), y + line_entry(p, st, i, 0), st->length,
                       st->stride * batch, st->log);
    for (size_t e = 0; e < n; e++) interval_round(&y[e]);
    if (s < p->last_window) window_identify(p, s);
  }
}

void multiply_add(interval *y, const interval *a, const interval *b) {
  INTERVAL(t);
  if (interval_zero(a) || interval_zero(b)) return;
  interval_mul(&t, a, b); interval_add(y, &t, &plus_one);
}

/* The slope of a PIECEWISE step's entry: of its piece, or as chosen for its touched kink. */
static void slope_at(const point *p, size_t s, size_t e, const rational *slope, interval *d) {
  size_t place = p->place[s][e];
  if (place >= TOUCHED) slope += p->touched[place - TOUCHED].slope;
  if (place >= TOUCHED) interval_set(d, slope, slope);
  else piece_slope(p, &p->net->steps[s], e, place, d);
}

/* The tangent of log softmax(x)[j] is the sum over k of softmax(x)[k] (dx[j] - dx[k]); that of
 * softmax(x)[j], that times softmax(x)[j]. */
static void softmax_tangents(const point *p, size_t s, interval **d) {
  const step *st = &p->net->steps[s];
  for (size_t i = 0; i < entries(p, s) / st->length; i++) {
    interval *share = intervals(st->length);
    for (size_t j = 0; j < st->length; j++)
      interval_add(&share[j], argument(p, p->y, st, line_entry(p, st, i, j)), &plus_one);
    interval_softmax(share, share, st->length, 1, false);
    for (size_t j = 0; j < st->length; j++) {
      interval *dy = &d[s][line_entry(p, st, i, j)];
      for (size_t k = 0; k < st->length; k++) {
        INTERVAL(t);
        interval_add(&t, argument(p, d, st, line_entry(p, st, i, j)), &plus_one);
        interval_add(&t, argument(p, d, st, line_entry(p, st, i, k)), &minus_one);
        multiply_add(dy, &t, &share[k]);
      }
      if (!st->log) interval_mul(dy, dy, &share[j]);
    }
    intervals_free(share, st->length);
  }
}

interval **tangents(const point *p, const rational *slope) {
  interval **d = allocate(p->net->n_steps, sizeof *d);
  INTERVAL(by);
  for (size_t s = 0; s < p->net->n_steps; s++) {
    const step *st = &p->net->steps[s];
    d[s] = intervals(entries(p, s));
    if (!st->varies) continue;
    if (st->kind == LINEAR) {
      linear(p, st, d[s], d, false); linear(p, st, d[s], p->y, true);
    }
    if (st->kind == SOFTMAX) softmax_tangents(p, s, d);
    other_tangents(p, s, slope, d);
    for (size_t e = 0; e < entries(p, s); e++) {
      if (st->kind == PIECEWISE) {
        const term *t = terms_at(p, st, e);
        slope_at(p, s, e, slope, &by);
        multiply_add(&d[s][e], &by, argument(p, d, st, e));
        if (p->place[s][e] == 0 && t->w != NULL && t->w->wrt)
          interval_add(&d[s][e], argument(p, p->y, st, e), &t->w->move[t->at]);
      }
      interval_round(&d[s][e]);
    }
  }
  return d;
}

void tangents_free(interval **d, const point *p) {
  for (size_t s = 0; s < p->net->n_steps; s++) intervals_free(d[s], entries(p, s));
  free(d);
}

/* The output's entry i, of feature i % n_outputs in sample i / n_outputs. */
static size_t output_entry(const point *p, size_t i) {
  return p->net->map[i % p->net->n_outputs] * p->net->batch + i / p->net->n_outputs;
}

/* The derivative of the loss by the output's entries. */
static interval *loss_slopes(const point *p) {
  size_t n = p->net->n_outputs, all = n * p->net->batch;
  interval *d = intervals(all);
  INTERVAL(scale);
  mpq_set_ui(&scale.lo, p->loss == LOSS_MSE ? 2 : 1, p->loss == LOSS_MSE ? all : p->net->batch);
  mpq_canonicalize(&scale.lo); mpq_set(&scale.hi, &scale.lo);
  for (size_t i = 0; i < all; i++)
    interval_add(&d[i], p->loss == LOSS_SUM ? &exactly_one : &p->y[p->net->output][output_entry(p, i)],
                 &plus_one);
  for (size_t b = 0; p->loss == LOSS_CE && b < p->net->batch; b++) {
    interval_softmax(&d[b * n], &d[b * n], n, 1, false);
    interval_add(&d[b * n + mpz_get_ui(mpq_numref(&p->target->value[b]))], &exactly_one, &minus_one);
  }
  for (size_t i = 0; p->loss != LOSS_SUM && i < all; i++) {
    RATIONAL(q);
    if (p->loss == LOSS_MSE) mpq_neg(&q, &p->target->value[i]);
    interval_add(&d[i], &exactly_one, &q); interval_mul(&d[i], &d[i], &scale);
  }
  return d;
}

void tangent_loss(interval *sum, const point *p, interval **d) {
  size_t n = p->net->n_outputs * p->net->batch;
  interval *by = loss_slopes(p);
  interval_set(sum, &zero, &zero);
  for (size_t i = 0; i < n; i++)
    multiply_add(sum, &by[i], &d[p->net->output][output_entry(p, i)]);
  intervals_free(by, n);
}

void must_be_rational(bool rational_so_far) {
  require(rational_so_far, "a gradient is not rational behind a transcendental operator");
}

/* Takes the adjoint of entry e of step s to its terms; it is exact. */
static void pull_back(const point *p, size_t s, size_t e, const rational *slope,
                      interval **adjoint) {
  const step *st = &p->net->steps[s];
  const rational *given = &adjoint[s][e].lo;
  RATIONAL(q); INTERVAL(by);
  if (other_pull(p, s, e, slope, adjoint)) return;
  for (size_t i = e / p->net->batch * st->width, end = i + st->width; i < end; i++) {
    const term *t = &st->terms[i];
    bool weighs = t->w != NULL && t->w->wrt;
    if (st->kind == PIECEWISE) {
      slope_at(p, s, e, slope, &by); must_be_rational(interval_exact(&by));
      mpq_set(&q, &by.lo); weighs = weighs && p->place[s][e] == 0;
    } else {
      factor(st, t, false, &q);
    }
    mpq_mul(&q, &q, given);
    if (t->step != NONE && p->net->steps[t->step].varies)
      interval_add(&adjoint[t->step][entry_of(p, t, e)], &exactly_one, &q);
    if (!weighs) continue;
    if (st->divide) { /* coef x / w: -(coef x / w) / w */ mpq_div(&q, &q, &t->w->value[t->at]);
      mpq_neg(&q, &q);
    } else {
      mpq_mul(&q, t->coef, given);
    }
    interval_add(&t->w->gradient[t->at],
                 t->step != NONE ? &p->y[t->step][entry_of(p, t, e)] : &exactly_one, &q);
  }
}

void gradient(const point *p, const rational *slope, size_t k, size_t a, size_t b) {
  const network *net = p->net;
  interval **adjoint = allocate(net->n_steps, sizeof *adjoint);
  for (size_t i = 0; i < net->n_wrt; i++) interval_set(&net->gradient[i], &zero, &zero);
  for (size_t s = 0; s < net->n_steps; s++) adjoint[s] = intervals(entries(p, s));
  if (k != NONE) {
    const touch *t = &p->touched[k];
    interval_add(&adjoint[t->from][t->at[a]], &exactly_one, &plus_one);
    if (t->n > 1) interval_add(&adjoint[t->from][t->at[b]], &exactly_one, &minus_one);
  } else {
    size_t n = net->n_outputs * net->batch;
    interval *by = loss_slopes(p);
    must_be_rational(p->loss != LOSS_CE);
    for (size_t i = 0; i < n; i++)
      interval_add(&adjoint[net->output][output_entry(p, i)], &by[i], &plus_one);
    intervals_free(by, n);
  }
  for (size_t s = net->n_steps; s-- > 0;) {
    for (size_t e = 0; net->steps[s].varies && e < entries(p, s); e++)
      if (!interval_zero(&adjoint[s][e])) {
        must_be_rational(net->steps[s].kind != SOFTMAX && interval_exact(&adjoint[s][e]));
        pull_back(p, s, e, slope, adjoint);
      }
    intervals_free(adjoint[s], entries(p, s));
  }
  free(adjoint);
  for (size_t i = 0; i < net->n_wrt; i++) must_be_rational(interval_exact(&net->gradient[i]));
}

cell cell_new(const point *p) {
  cell c = {allocate(p->n_touched, sizeof(int)), allocate(p->n_touched, sizeof(bool)),
            rationals(p->n_slopes), allocate(p->net->n_steps, sizeof(uint8_t *)), NONE};
  for (size_t s = 0; s < p->net->n_steps; s++) c.degree[s] = allocate(entries(p, s), 1);
  return c;
}

/* The degree of term t of entry e: of w x, or x / w. */
static uint8_t term_degree(const cell *c, const point *p, const step *st, const term *t, size_t e) {
  uint8_t x = t->step == NONE ? 0 : c->degree[t->step][entry_of(p, t, e)];
  if (x == 0 && t->step != NONE && interval_zero(&p->y[t->step][entry_of(p, t, e)])) return 0;
  if (t->w == NULL || !t->w->wrt) return x;
  return x > 0 || st->divide ? 2 : 1;
}

/* Of a PIECEWISE entry; settles its touched kink. */
static uint8_t piece_degree(cell *c, const point *p, size_t s, size_t e, bool tree) {
  const step *st = &p->net->steps[s];
  const term *t = terms_at(p, st, e);
  size_t i = p->place[s][e], k = i - TOUCHED;
  uint8_t x = c->degree[t->step][entry_of(p, t, e)];
  if (i >= TOUCHED && c->side == NULL) return x == 0 ? 0 : 2;
  if (i >= TOUCHED) {
    i = p->touched[k].kink + (c->side[k] > 0);
    mpq_set(&c->slope[p->touched[k].slope], c->side[k] > 0 ? &p->touched[k].right : &p->touched[k].left);
    c->flat[k] = x == 0;
    if (tree && x == 1 && c->side[k] == 0) {
      gradient(p, c->slope, k, 0, 0); c->flat[k] = all_zero(p->net->gradient, p->net->n_wrt);
    }
    if (!c->flat[k] && c->side[k] == 0 && c->open == NONE) c->open = k;
    if (c->flat[k] || c->side[k] == 0) return c->flat[k] ? 0 : 2;
  }
  if (i == 0 && t->w != NULL && (t->w->wrt || mpq_sgn(&t->w->value[t->at]) != 0))
    return term_degree(c, p, st, t, e);
  if (mpq_sgn(&st->piece[i][2]) != 0) return x > 0 ? 2 : 0;
  return mpq_sgn(&st->piece[i][1]) != 0 ? x : 0;
}

void cell_settle_step(cell *c, const point *p, size_t s, bool tree) {
  const step *st = &p->net->steps[s];
  for (size_t e = 0; e < entries(p, s); e++) {
    bool terms = st->kind != PIECEWISE && st->kind != WINDOW;
    uint8_t worst = terms ? 0 : (st->kind == WINDOW ? window_degree : piece_degree)(c, p, s, e, tree);
    for (size_t i = 0; terms && i < st->width && worst < 2; i++) {
      uint8_t d = term_degree(c, p, st, &terms_at(p, st, e)[i], e);
      worst = d > worst ? d : worst;
    }
    c->degree[s][e] = worst;
  }
  for (size_t i = 0; st->kind == SOFTMAX && i < entries(p, s) / st->length; i++) {
    uint8_t worst = 0;
    for (size_t j = 0; j < st->length; j++) worst |= c->degree[s][line_entry(p, st, i, j)];
    for (size_t j = 0; j < st->length; j++)
      c->degree[s][line_entry(p, st, i, j)] = worst > 0 ? 2 : 0;
  }
}

void cell_settle(cell *c, const point *p, bool tree) {
  c->open = NONE;
  for (size_t s = 0; s < p->net->n_steps; s++) cell_settle_step(c, p, s, tree);
}
