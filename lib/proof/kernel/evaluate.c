/* Values, the pieces they lie on, slopes, tangents and gradients. Arrays hold, for step s, entry
 * feature * batch + sample at [s][entry]. */
#include "kernel.h"

#include <stdlib.h>

/* Where entry e's operand i lies in its own step's array; entry e's weight. */
static size_t source(const point *p, const step *st, size_t i, size_t e) {
  size_t batch = p->net->batch;
  return st->in[i].map[e / batch] * batch + e % batch;
}

static const interval *argument(const point *p, const step *st, size_t e) {
  return &p->y[st->in[0].step][source(p, st, 0, e)];
}

static size_t weight_entry(const point *p, const step *st, size_t e) {
  return st->in[1].map[e / p->net->batch];
}

static const rational *weight(const point *p, const step *st, size_t e) {
  return &st->in[1].constant->value[weight_entry(p, st, e)];
}

/* The numbers times den, their common denominator. */
static integer *scaled(integer *den, const rational **q, size_t n) {
  integer *z = allocate(n, sizeof *z);
  INTEGER(t);

  mpz_set_ui(den, 1);
  for (size_t i = 0; i < n; i++)
    if (!mpz_divisible_p(den, mpq_denref(q[i])))
      mpz_lcm(den, den, mpq_denref(q[i]));
  for (size_t i = 0; i < n; i++) {
    z[i] = integer_zero();
    mpz_divexact(&t, den, mpq_denref(q[i]));
    mpz_mul(&z[i], mpq_numref(q[i]), &t);
  }
  return z;
}

static void integers_free(integer *z, size_t n) {
  for (size_t i = 0; i < n; i++)
    mpz_clear(&z[i]);
  free(z);
}

/* c += a b, of shapes m x k and k x n, in integers; a exact, b's upper ends after its lower. */
static void multiply_add(interval *c, size_t m, size_t k, size_t n, const rational **a,
                         const rational **b) {
  INTEGER(den);
  INTEGER(den_b);
  RATIONAL(t);
  integer *x = scaled(&den, a, m * k), *y = scaled(&den_b, b, 2 * k * n);
  integer *sum = allocate(2 * n, sizeof *sum);

  mpz_mul(&den, &den, &den_b);
  for (size_t j = 0; j < 2 * n; j++)
    sum[j] = integer_zero();
  for (size_t i = 0; i < m; i++) {
    for (size_t l = 0; l < k; l++) {
      const integer *w = &x[i * k + l], *lo = &y[l * n], *hi = lo + k * n;
      for (size_t j = 0; j < n && mpz_sgn(w) != 0; j++) {
        mpz_addmul(&sum[j], w, mpz_sgn(w) > 0 ? &lo[j] : &hi[j]);
        mpz_addmul(&sum[n + j], w, mpz_sgn(w) > 0 ? &hi[j] : &lo[j]);
      }
    }
    for (size_t j = 0; j < 2 * n; j++) {
      rational *end = j < n ? &c[i * n + j].lo : &c[i * n + j - n].hi;
      mpq_set_z(&t, &sum[j]);
      mpz_set(mpq_denref(&t), &den);
      mpq_canonicalize(&t);
      mpq_add(end, end, &t);
      mpz_set_ui(&sum[j], 0);
    }
  }
  integers_free(x, m * k);
  integers_free(y, 2 * k * n);
  integers_free(sum, 2 * n);
}

/* The entry of a DENSE step's input at (block, i, column), columns running over (repeat, sample). */
static size_t dense_source(const point *p, const step *st, size_t block, size_t i, size_t column) {
  return source(p, st, 0, (block * st->inner + i) * st->repeat * p->net->batch + column);
}

/* out += W x for a DENSE step, W its weight's values or moves, x of the input's step. */
static void dense(const point *p, const step *st, interval *out, const interval *x,
                  const rational *w) {
  size_t columns = st->repeat * p->net->batch, k = st->inner, n = k * columns;
  const rational **a = allocate(st->outer * k, sizeof *a), **b = allocate(2 * n, sizeof *b);

  for (size_t i = 0; i < st->outer * k; i++)
    a[i] = &w[st->in[1].map[i]];
  for (size_t block = 0; block < st->blocks; block++) {
    for (size_t i = 0; i < n; i++) {
      const interval *v = &x[dense_source(p, st, block, i / columns, i % columns)];
      b[i] = &v->lo;
      b[n + i] = &v->hi;
    }
    multiply_add(out + block * st->outer * columns, st->outer, k, columns, a, b);
  }
  free(a);
  free(b);
}

/* Of a PIECEWISE step: y or, at touched kinks, the slope on the side of piece i; is it constant? */
static void piece_slope(const point *p, const step *st, size_t e, size_t i, const interval *x,
                        interval *d) {
  RATIONAL(q);

  if (i == 0 && st->has_w) {
    interval_set(d, weight(p, st, e), weight(p, st, e));
    return;
  }
  interval_set(d, &st->piece[i][1], &st->piece[i][1]);
  mpq_add(&q, &st->piece[i][2], &st->piece[i][2]);
  interval_add(d, x, &q);
}

/* The piece on which the argument of entry e lies, or a touched kink, which is recorded. */
static size_t locate(point *p, size_t s, size_t e) {
  const step *st = &p->net->steps[s];
  const interval *x = argument(p, st, e);
  INTERVAL(left);
  INTERVAL(right);

  for (size_t j = 0; j < st->n_kinks; j++) {
    int lo = mpq_cmp(&x->lo, &st->at[j]), hi = mpq_cmp(&x->hi, &st->at[j]);
    if (hi < 0)
      return j;
    if (lo > 0)
      continue;
    if (lo != 0 || hi != 0)
      leave(UNDECIDED, "cannot decide whether node %zu '%s', feature %zu, sample %zu is at a kink",
            st->place, st->node->name, e / p->net->batch, e % p->net->batch);
    piece_slope(p, st, e, j, x, &left);
    piece_slope(p, st, e, j + 1, x, &right);
    if (mpq_equal(&left.lo, &right.lo))
      return j;
    p->touched = grow(p->touched, p->n_touched, sizeof *p->touched);
    touch *t = &p->touched[p->n_touched];
    *t = (touch){s, e, j, rational_zero(), rational_zero(), rational_zero()};
    mpq_set(&t->left, &left.lo);
    mpq_set(&t->right, &right.lo);
    return TOUCHED + p->n_touched++;
  }
  return st->n_kinks;
}

const char *point_kink(const point *p, size_t k) {
  static char text[512];
  const touch *t = &p->touched[k];
  const step *st = &p->net->steps[t->step];

  snprintf(text, sizeof text, "touched kink %zu (node %zu '%.200s', feature %zu, sample %zu)", k,
           st->place, st->node->name, t->entry / p->net->batch, t->entry % p->net->batch);
  return text;
}

/* Entry e of a step other than DENSE and SOFTMAX. */
static void evaluate_entry(point *p, size_t s, size_t e) {
  const step *st = &p->net->steps[s];
  interval *y = &p->y[s][e];
  INTERVAL(t);
  INTERVAL(one);
  RATIONAL(q);

  mpq_set_ui(&q, 1, 1);
  interval_set(&one, &q, &q);
  if (st->kind == INPUT) {
    interval_add(y, &one, &p->net->x->value[e % p->net->batch * st->count + e / p->net->batch]);
  } else if (st->kind == SUM) {
    interval_add(y, argument(p, st, e), &st->coef[0]);
    if (st->has_w && st->in[1].constant == NULL)
      interval_add(y, &p->y[st->in[1].step][source(p, st, 1, e)], &st->coef[1]);
    else if (st->has_w)
      mpq_mul(&q, &st->coef[1], weight(p, st, e)), interval_add(y, &one, &q);
  } else if (st->kind == SCALE) {
    mpq_set(&q, weight(p, st, e));
    if (st->divide)
      mpq_inv(&q, &q);
    interval_add(y, argument(p, st, e), &q);
  } else if (st->kind == PIECEWISE) {
    size_t place = p->place[s][e] = locate(p, s, e);
    size_t i = place < TOUCHED ? place : p->touched[place - TOUCHED].kink;
    interval_add(y, argument(p, st, e), i == 0 && st->has_w ? weight(p, st, e) : &st->piece[i][1]);
    interval_add(y, &one, &st->piece[i][0]);
    interval_mul(&t, argument(p, st, e), argument(p, st, e));
    interval_add(y, &t, &st->piece[i][2]);
  } else {
    interval_logistic(y, argument(p, st, e), st->kind == TANH);
  }
}

/* Entry j of line i of a SOFTMAX step. */
static size_t line_entry(const point *p, const step *st, size_t i, size_t j) {
  size_t distance = st->stride * p->net->batch;
  return (i / distance * st->length + j) * distance + i % distance;
}

void point_evaluate(point *p) {
  network *net = p->net;

  p->y = allocate(net->n_steps, sizeof *p->y);
  p->place = allocate(net->n_steps, sizeof *p->place);
  for (size_t s = 0; s < net->n_steps; s++) {
    const step *st = &net->steps[s];
    size_t n = st->count * net->batch;
    const tensor *w = st->in[1].constant;
    net->steps[s].varies = s > 0 && (net->steps[st->in[0].step].varies || (w != NULL && w->wrt)
                           || (st->has_w && w == NULL && net->steps[st->in[1].step].varies));
    p->y[s] = intervals(n);
    p->place[s] = st->kind == PIECEWISE ? allocate(n, sizeof **p->place) : NULL;
    if (st->kind == DENSE)
      dense(p, st, p->y[s], p->y[st->in[0].step], w->value);
    for (size_t e = 0; e < n; e++)
      if (st->kind == SOFTMAX)
        interval_set(&p->y[s][e], &argument(p, st, e)->lo, &argument(p, st, e)->hi);
      else if (st->kind != DENSE)
        evaluate_entry(p, s, e);
    for (size_t i = 0; st->kind == SOFTMAX && i < n / st->length; i++)
      interval_softmax(&p->y[s][line_entry(p, st, i, 0)], &p->y[s][line_entry(p, st, i, 0)],
                       st->length, st->stride * net->batch, st->log);
    for (size_t e = 0; e < n; e++)
      interval_round(&p->y[s][e]);
  }
}

/* The derivative of entry e of a step other than DENSE and SOFTMAX: by operand 0, by operand 1 when
 * that is a step's, and by the weight. */
static void differentiate(const point *p, size_t s, size_t e, const rational *slope, interval d[3]) {
  const step *st = &p->net->steps[s];
  INTERVAL(t);
  RATIONAL(q);

  for (size_t i = 0; i < 3; i++)
    interval_set(&d[i], &q, &q);
  mpq_set_si(&q, -1, 1);
  if (st->kind == SUM) {
    size_t w = st->in[1].constant == NULL ? 1 : 2;
    interval_set(&d[0], &st->coef[0], &st->coef[0]);
    if (st->has_w)
      interval_set(&d[w], &st->coef[1], &st->coef[1]);
  } else if (st->kind == SCALE) { /* by w: x, or -x / w^2 */
    mpq_set(&q, weight(p, st, e));
    if (st->divide)
      mpq_inv(&q, &q);
    interval_set(&d[0], &q, &q);
    mpq_mul(&q, &q, &q);
    mpq_neg(&q, &q);
    if (!st->divide)
      mpq_set_ui(&q, 1, 1);
    interval_add(&d[2], argument(p, st, e), &q);
  } else if (st->kind == PIECEWISE) {
    size_t place = p->place[s][e];
    if (place >= TOUCHED)
      interval_set(&d[0], &slope[place - TOUCHED], &slope[place - TOUCHED]);
    else
      piece_slope(p, st, e, place, argument(p, st, e), &d[0]);
    if (place == 0 && st->has_w)
      interval_set(&d[2], &argument(p, st, e)->lo, &argument(p, st, e)->hi);
  } else { /* y (1 - y), or (1 - y) (1 + y) */
    mpq_set_ui(&t.lo, 1, 1);
    mpq_set_ui(&t.hi, 1, 1);
    interval_set(&d[0], &t.lo, &t.hi);
    interval_add(&t, &p->y[s][e], &q);
    mpq_neg(&q, &q);
    if (st->kind == TANH)
      interval_add(&d[0], &p->y[s][e], &q);
    else
      interval_set(&d[0], &p->y[s][e].lo, &p->y[s][e].hi);
    interval_mul(&d[0], &d[0], &t);
  }
}

/* dy[i] = the tangent of log softmax(x)[i], sum over j of softmax(x)[j] (dx[i] - dx[j]), or, for
 * softmax itself, that times softmax(x)[i]. */
static void softmax_tangent(interval *dy, const interval *x, const interval *dx, size_t n, bool log) {
  interval *portion = intervals(n);
  RATIONAL(c);

  interval_softmax(portion, x, n, 1, false);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < n; j++) {
      INTERVAL(t);
      mpq_set_si(&c, 1, 1);
      interval_add(&t, &dx[i], &c);
      mpq_set_si(&c, -1, 1);
      interval_add(&t, &dx[j], &c);
      interval_mul(&t, &t, &portion[j]);
      mpq_set_si(&c, 1, 1);
      interval_add(&dy[i], &t, &c);
    }
    if (!log)
      interval_mul(&dy[i], &dy[i], &portion[i]);
  }
  intervals_free(portion, n);
}

static void tangent_lines(const point *p, const step *st, interval *out, const interval *dx) {
  size_t n = st->length;
  RATIONAL(one);

  mpq_set_ui(&one, 1, 1);
  for (size_t i = 0; i < st->count * p->net->batch / n; i++) {
    interval *line = intervals(3 * n);
    for (size_t j = 0; j < n; j++) {
      size_t e = line_entry(p, st, i, j);
      interval_add(&line[j], argument(p, st, e), &one);
      interval_add(&line[n + j], &dx[source(p, st, 0, e)], &one);
    }
    softmax_tangent(line + 2 * n, line, line + n, n, st->log);
    for (size_t j = 0; j < n; j++)
      interval_add(&out[line_entry(p, st, i, j)], &line[2 * n + j], &one);
    intervals_free(line, 3 * n);
  }
}

interval **tangents(const point *p, const rational *slope) {
  interval **d = allocate(p->net->n_steps, sizeof *d), *by = intervals(4);
  RATIONAL(one);

  mpq_set_ui(&one, 1, 1);
  for (size_t s = 0; s < p->net->n_steps; s++) {
    const step *st = &p->net->steps[s];
    size_t n = st->count * p->net->batch;
    const interval *dx = s > 0 ? d[st->in[0].step] : NULL;
    const tensor *w = st->in[1].constant;
    if (!st->varies)
      continue;
    d[s] = intervals(n);
    if (st->kind == DENSE && dx != NULL)
      dense(p, st, d[s], dx, w->value);
    if (st->kind == DENSE && w->wrt)
      dense(p, st, d[s], p->y[st->in[0].step], w->move);
    if (st->kind == SOFTMAX)
      tangent_lines(p, st, d[s], dx);
    for (size_t e = 0; e < n && st->kind != DENSE && st->kind != SOFTMAX; e++) {
      differentiate(p, s, e, slope, by);
      for (size_t i = 0; i < 2 && (i == 0 || (st->has_w && w == NULL)); i++) {
        const interval *in = d[st->in[i].step];
        if (in == NULL)
          continue;
        interval_mul(&by[3], &by[i], &in[source(p, st, i, e)]);
        interval_add(&d[s][e], &by[3], &one);
      }
      if (w != NULL && w->wrt)
        interval_add(&d[s][e], &by[2], &w->move[weight_entry(p, st, e)]);
    }
    for (size_t e = 0; e < n; e++)
      interval_round(&d[s][e]);
  }
  intervals_free(by, 4);
  return d;
}

void tangents_free(interval **d, const point *p) {
  for (size_t s = 0; s < p->net->n_steps; s++)
    intervals_free(d[s], p->net->steps[s].count * p->net->batch);
  free(d);
}

void tangent_argument(interval *a, const point *p, interval **d, size_t k) {
  const touch *t = &p->touched[k];
  const step *st = &p->net->steps[t->step];
  RATIONAL(zero);

  interval_set(a, &zero, &zero);
  if (d[st->in[0].step] != NULL)
    interval_set(a, &d[st->in[0].step][source(p, st, 0, t->entry)].lo,
                 &d[st->in[0].step][source(p, st, 0, t->entry)].hi);
}

/* The derivative of the loss by entry f of sample b of the output; not for the cross entropy. */
static void loss_slope(const point *p, size_t f, size_t b, interval *d) {
  size_t batch = p->net->batch, n = p->n_outputs;
  RATIONAL(q);

  mpq_set_si(&q, 1, 1);
  interval_set(d, &q, &q);
  if (p->loss == LOSS_SUM)
    return;
  mpq_set_si(&q, -1, 1);
  mpq_mul(&d->lo, &q, &p->target->value[b * n + f]);
  mpq_set(&d->hi, &d->lo);
  mpq_set_ui(&q, 1, 1);
  interval_add(d, &p->y[p->net->output.step][p->net->output.map[f] * batch + b], &q);
  INTERVAL(t);
  mpq_set_ui(&q, 2, n * batch);
  mpq_canonicalize(&q);
  interval_add(&t, d, &q);
  interval_set(d, &t.lo, &t.hi);
}

void tangent_loss(interval *sum, const point *p, interval **d) {
  const operand *out = &p->net->output;
  size_t n = p->n_outputs, batch = p->net->batch;
  RATIONAL(q);
  INTERVAL(t);

  interval_set(sum, &q, &q);
  for (size_t b = 0; d[out->step] != NULL && b < batch; b++) {
    interval *line = intervals(3 * n);
    mpq_set_ui(&q, 1, 1);
    for (size_t f = 0; f < n; f++) {
      interval_add(&line[f], &p->y[out->step][out->map[f] * batch + b], &q);
      interval_add(&line[n + f], &d[out->step][out->map[f] * batch + b], &q);
      if (p->loss == LOSS_CE)
        continue;
      loss_slope(p, f, b, &t);
      interval_mul(&t, &t, &line[n + f]);
      interval_add(sum, &t, &q);
    }
    if (p->loss == LOSS_CE) {
      softmax_tangent(line + 2 * n, line, line + n, n, true);
      mpq_set_si(&q, -1, batch);
      interval_add(sum, &line[2 * n + mpz_get_ui(mpq_numref(&p->target->value[b]))], &q);
    }
    intervals_free(line, 3 * n);
  }
}

static const rational *rational_only(const interval *x) {
  if (!interval_exact(x))
    reject("a gradient is not rational behind a transcendental operator");
  return &x->lo;
}

/* The part of a DENSE step in gradient(). */
static void dense_gradient(const point *p, const step *st, interval *const *adjoint) {
  const interval *out = adjoint[st - p->net->steps], *x = p->y[st->in[0].step];
  size_t columns = st->repeat * p->net->batch, k = st->inner, m = st->outer;
  size_t larger = k > columns ? k : columns;
  tensor *w = st->in[1].constant;
  const rational **a = allocate(m * larger, sizeof *a);
  const rational **b = allocate(2 * (k > m ? k : m) * columns, sizeof *b);

  for (size_t block = 0; block < st->blocks; block++, out += m * columns) {
    if (p->net->steps[st->in[0].step].varies) { /* W' out */
      interval *t = intervals(k * columns);
      for (size_t i = 0; i < m * k; i++)
        a[i % k * m + i / k] = &w->value[st->in[1].map[i]];
      for (size_t i = 0; i < m * columns; i++)
        b[i] = b[m * columns + i] = &out[i].lo;
      multiply_add(t, k, m, columns, a, b);
      for (size_t i = 0; i < k * columns; i++) {
        interval *in = &adjoint[st->in[0].step][dense_source(p, st, block, i / columns, i % columns)];
        mpq_add(&in->lo, &in->lo, &t[i].lo);
        mpq_set(&in->hi, &in->lo);
      }
      intervals_free(t, k * columns);
    }
    if (w->wrt) { /* out x' */
      interval *t = intervals(m * k);
      for (size_t i = 0; i < m * columns; i++)
        a[i] = &out[i].lo;
      for (size_t i = 0; i < k * columns; i++) {
        const interval *in = &x[dense_source(p, st, block, i / columns, i % columns)];
        b[i % columns * k + i / columns] = &in->lo;
        b[k * columns + i % columns * k + i / columns] = &in->hi;
      }
      multiply_add(t, m, columns, k, a, b);
      for (size_t i = 0; i < m * k; i++) {
        rational *g = &w->gradient[st->in[1].map[i]];
        mpq_add(g, g, rational_only(&t[i]));
      }
      intervals_free(t, m * k);
    }
  }
  free(a);
  free(b);
}

void gradient(const point *p, const rational *slope, size_t k) {
  const network *net = p->net;
  interval **adjoint = allocate(net->n_steps, sizeof *adjoint), *by = intervals(3);
  INTERVAL(seed);
  RATIONAL(q);

  for (size_t i = 0; i < net->n_tensors; i++)
    for (size_t j = 0; net->tensors[i]->wrt && j < net->tensors[i]->count; j++)
      mpq_set_ui(&net->tensors[i]->gradient[j], 0, 1);
  for (size_t s = 0; s < net->n_steps; s++)
    adjoint[s] = intervals(net->steps[s].varies ? net->steps[s].count * net->batch : 0);
  mpq_set_ui(&q, 1, 1);
  if (k != NONE) {
    const step *st = &net->steps[p->touched[k].step];
    if (net->steps[st->in[0].step].varies)
      interval_set(&adjoint[st->in[0].step][source(p, st, 0, p->touched[k].entry)], &q, &q);
  } else if (p->loss == LOSS_CE) {
    reject("the gradient of the cross entropy is not rational");
  }
  for (size_t i = 0; k == NONE && net->steps[net->output.step].varies && i < p->n_outputs * net->batch;
       i++) {
    interval *out = adjoint[net->output.step];
    loss_slope(p, i / net->batch, i % net->batch, &seed);
    rational_only(&seed);
    interval_add(&out[net->output.map[i / net->batch] * net->batch + i % net->batch], &seed, &q);
  }
  for (size_t s = net->n_steps; s-- > 0;) {
    const step *st = &net->steps[s];
    tensor *w = st->in[1].constant;
    bool any = false;
    for (size_t e = 0; st->varies && e < st->count * net->batch; e++) {
      if (interval_zero(&adjoint[s][e]))
        continue;
      any = true;
      if (st->kind == SOFTMAX)
        reject("a gradient is not rational behind a transcendental operator");
      if (st->kind == DENSE)
        break;
      differentiate(p, s, e, slope, by);
      for (size_t i = 0; i < 2 && (i == 0 || (st->has_w && w == NULL)); i++)
        if (net->steps[st->in[i].step].varies)
          interval_add(&adjoint[st->in[i].step][source(p, st, i, e)], &adjoint[s][e],
                       rational_only(&by[i]));
      if (w != NULL && w->wrt) {
        rational *g = &w->gradient[weight_entry(p, st, e)];
        mpq_mul(&q, rational_only(&by[2]), &adjoint[s][e].lo);
        mpq_add(g, g, &q);
      }
    }
    if (any && st->kind == DENSE)
      dense_gradient(p, st, adjoint);
  }
  for (size_t s = 0; s < net->n_steps; s++)
    intervals_free(adjoint[s], net->steps[s].varies ? net->steps[s].count * net->batch : 0);
  free(adjoint);
  intervals_free(by, 3);
}

bool gradient_zero(const network *net) {
  for (size_t i = 0; i < net->n_tensors; i++)
    for (size_t j = 0; net->tensors[i]->wrt && j < net->tensors[i]->count; j++)
      if (mpq_sgn(&net->tensors[i]->gradient[j]) != 0)
        return false;
  return true;
}

void cell_init(cell *c, const point *p) {
  *c = (cell){allocate(p->n_touched, 1), allocate(p->n_touched, sizeof(bool)),
              rationals(p->n_touched), allocate(p->net->n_steps, sizeof(uint8_t *)), NONE};
  for (size_t s = 0; s < p->net->n_steps; s++)
    c->degree[s] = allocate(p->net->steps[s].count * p->net->batch, 1);
}

/* The degree of w x. */
static uint8_t product_degree(const interval *x, uint8_t degree, const tensor *w) {
  if (degree == 0 && interval_zero(x))
    return 0;
  return w->wrt ? (degree == 0 ? 1 : 2) : degree;
}

/* Of a PIECEWISE entry with an argument of degree x. */
static uint8_t piece_degree(cell *c, const point *p, size_t s, size_t e, uint8_t x, bool tree) {
  const step *st = &p->net->steps[s];
  size_t i = p->place[s][e], k = i - TOUCHED;

  if (i >= TOUCHED) {
    const touch *t = &p->touched[k];
    i = t->kink + (c->side[k] > 0);
    mpq_set(&c->slope[k], c->side[k] > 0 ? &t->right : &t->left);
    c->flat[k] = x == 0;
    if (tree && x == 1 && c->side[k] == 0) {
      gradient(p, c->slope, k);
      c->flat[k] = gradient_zero(p->net);
    }
    if (c->flat[k])
      return 0;
    if (c->side[k] == 0) {
      c->open = c->open == NONE ? k : c->open;
      return 2;
    }
  }
  if (i == 0 && st->has_w && (st->in[1].constant->wrt || mpq_sgn(weight(p, st, e)) != 0))
    return product_degree(argument(p, st, e), x, st->in[1].constant);
  if (mpq_sgn(&st->piece[i][2]) != 0)
    return x > 0 ? 2 : 0;
  return mpq_sgn(&st->piece[i][1]) != 0 ? x : 0;
}

static uint8_t entry_degree(cell *c, const point *p, size_t s, size_t e, bool tree) {
  const step *st = &p->net->steps[s];
  const tensor *w = st->in[1].constant;
  size_t columns = st->repeat * p->net->batch;
  uint8_t worst = 0, *in = c->degree[st->in[0].step];

  if (st->kind == INPUT)
    return 0;
  if (st->kind == DENSE) { /* the same for all outputs of a column */
    size_t o = e / columns % st->outer, block = e / (columns * st->outer);
    for (size_t i = 0; i < st->inner && o == 0; i++) {
      size_t from = dense_source(p, st, block, i, e % columns);
      uint8_t d = product_degree(&p->y[st->in[0].step][from], in[from], w);
      worst = d > worst ? d : worst;
    }
    return o == 0 ? worst : c->degree[s][e - o * columns];
  }
  uint8_t x = in[source(p, st, 0, e)];
  if (st->kind == SUM) {
    uint8_t y = !st->has_w ? 0 : w != NULL ? w->wrt : c->degree[st->in[1].step][source(p, st, 1, e)];
    return x > y ? x : y;
  }
  if (st->kind == SCALE) {
    worst = product_degree(argument(p, st, e), x, w);
    return worst > 0 && st->divide && w->wrt ? 2 : worst;
  }
  return st->kind == PIECEWISE ? piece_degree(c, p, s, e, x, tree) : x > 0 ? 2 : 0;
}

void cell_settle(cell *c, const point *p, bool tree) {
  c->open = NONE;
  for (size_t s = 0; s < p->net->n_steps; s++) {
    const step *st = &p->net->steps[s];
    for (size_t e = 0; e < st->count * p->net->batch; e++)
      c->degree[s][e] = entry_degree(c, p, s, e, tree);
    for (size_t i = 0; st->kind == SOFTMAX && i < st->count * p->net->batch / st->length; i++) {
      uint8_t worst = 0;
      for (size_t j = 0; j < st->length; j++)
        worst |= c->degree[s][line_entry(p, st, i, j)];
      for (size_t j = 0; j < st->length; j++)
        c->degree[s][line_entry(p, st, i, j)] = worst;
    }
  }
}

uint8_t cell_degree(const cell *c, const point *p, size_t k) {
  const step *st = &p->net->steps[p->touched[k].step];
  return c->degree[st->in[0].step][source(p, st, 0, p->touched[k].entry)];
}
