/* Values, the pieces they lie on, slopes, tangents and gradients. */
#include "kernel.h"

#include <stdlib.h>

static const interval *argument(const point *p, const step *st, size_t e) {
  return &p->y[st->in[0].step][st->in[0].map[e]];
}

static const rational *weight(const step *st, size_t e) {
  return &st->in[1].constant->value[st->in[1].map[e]];
}

/* Is operand i a step's output, and one that varies? */
static bool varies(const point *p, const step *st, size_t i) {
  return st->in[i].map != NULL && st->in[i].constant == NULL && p->net->steps[st->in[i].step].varies;
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

/* A matrix of places: entry (i, j) is at[i * row + j * column], or exact[] of that. */
typedef struct { interval **at; const rational **exact; size_t row, column; } matrix;

/* c += a b, of shapes m x k and k x n, in integers; a is of exact numbers. */
static void multiply_add(matrix c, matrix a, matrix b, size_t m, size_t k, size_t n) {
  const rational **p = allocate(m * k, sizeof *p), **q = allocate(2 * k * n, sizeof *q);
  for (size_t i = 0; i < m * k; i++)
    p[i] = a.exact[i / k * a.row + i % k * a.column];
  for (size_t i = 0; i < k * n; i++) {
    q[i] = &b.at[i / n * b.row + i % n * b.column]->lo;
    q[k * n + i] = &b.at[i / n * b.row + i % n * b.column]->hi;
  }
  INTEGER(den);
  INTEGER(den_b);
  RATIONAL(t);
  integer *x = scaled(&den, p, m * k), *y = scaled(&den_b, q, 2 * k * n);
  integer *sum = allocate(2 * n, sizeof *sum); /* lower ends, then upper */
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
      interval *out = c.at[i * c.row + j % n * c.column];
      mpq_set_z(&t, &sum[j]);
      mpz_set(mpq_denref(&t), &den);
      mpq_canonicalize(&t);
      rational *end = j < n ? &out->lo : &out->hi;
      mpq_add(end, end, &t);
      mpz_set_ui(&sum[j], 0);
    }
  }
  integers_free(x, m * k);
  integers_free(y, 2 * k * n);
  integers_free(sum, 2 * n);
  free(p);
  free(q);
}

/* For a DENSE step with weights w, y += w x; or x += w' y, y exact; or g += y x', y exact. */
static void dense(const step *st, interval *y, interval *x, const rational *w, interval *g, char what) {
  size_t m = st->outer, k = st->inner, n = st->columns;
  matrix wm = {allocate(m * k, sizeof(interval *)), allocate(m * k, sizeof(rational *)), k, 1};
  matrix xm = {allocate(k * n, sizeof(interval *)), NULL, n, 1};
  matrix ym = {allocate(m * n, sizeof(interval *)), allocate(m * n, sizeof(rational *)), n, 1};
  for (size_t i = 0; i < m * k; i++) {
    wm.exact[i] = &w[st->in[1].map[i]];
    wm.at[i] = what == 'g' ? &g[st->in[1].map[i]] : NULL;
  }
  for (size_t block = 0; block < st->n / (m * n); block++) {
    for (size_t i = 0; i < k * n; i++)
      xm.at[i] = &x[st->in[0].map[block * k * n + i]];
    for (size_t i = 0; i < m * n; i++) {
      ym.at[i] = &y[block * m * n + i];
      ym.exact[i] = &ym.at[i]->lo;
    }
    if (what == 'y')
      multiply_add(ym, wm, xm, m, k, n);
    else if (what == 'x')
      multiply_add(xm, (matrix){wm.at, wm.exact, 1, k}, ym, k, m, n);
    else
      multiply_add(wm, ym, (matrix){xm.at, NULL, 1, n}, m, n, k);
  }
  free(wm.at);
  free(wm.exact);
  free(xm.at);
  free(ym.at);
  free(ym.exact);
}

/* The derivative of piece i of a PIECEWISE step at x, entry e. */
static void piece_slope(const step *st, size_t e, size_t i, const interval *x, interval *d) {
  const rational *c = i == 0 && st->has_w ? weight(st, e) : &st->piece[i][1];
  RATIONAL(twice);
  interval_set(d, c, c);
  mpq_add(&twice, &st->piece[i][2], &st->piece[i][2]);
  interval_add(d, x, &twice);
}

const char *point_kink(const point *p, size_t k) {
  static char text[512];
  const touch *t = &p->touched[k];
  const step *st = &p->net->steps[t->step];
  snprintf(text, sizeof text, "touched kink %zu (node %zu '%.200s', feature %zu, sample %zu)", k,
           st->place, st->node->name, t->entry / p->net->batch, t->entry % p->net->batch);
  return text;
}

/* The piece on which the argument of entry e lies, or a touched kink, which is recorded. */
static size_t locate(point *p, size_t s, size_t e) {
  const step *st = &p->net->steps[s];
  const interval *x = argument(p, st, e);
  INTERVAL(left);
  INTERVAL(right);
  for (size_t j = 0; j < st->n_kinks; j++) {
    interval_set(&left, &st->at[j], &st->at[j]);
    interval_set(&right, &x->lo, &x->hi);
    interval_add(&right, &left, &minus_one);
    int sign = interval_sign(&right, "whether an argument is at a kink");
    if (sign < 0)
      return j;
    if (sign > 0)
      continue;
    piece_slope(st, e, j, x, &left);
    piece_slope(st, e, j + 1, x, &right);
    if (mpq_equal(&left.lo, &right.lo))
      return j;
    p->touched = grow(p->touched, p->n_touched, sizeof *p->touched);
    p->touched[p->n_touched] = (touch){s, e, j, rational_zero(), rational_zero()};
    mpq_set(&p->touched[p->n_touched].left, &left.lo);
    mpq_set(&p->touched[p->n_touched].right, &right.lo);
    return TOUCHED + p->n_touched++;
  }
  return st->n_kinks;
}

/* Entry e of a step other than DENSE and SOFTMAX. */
static void evaluate_entry(point *p, size_t s, size_t e) {
  const step *st = &p->net->steps[s];
  interval *y = &p->y[s][e];
  INTERVAL(t);
  RATIONAL(q);
  if (st->kind == INPUT) {
    size_t batch = p->net->batch;
    interval_add(y, &exactly_one, &p->x->value[e % batch * (st->n / batch) + e / batch]);
  } else if (st->kind == SUM) {
    interval_add(y, argument(p, st, e), &st->coef[0]);
    if (st->has_w && st->in[1].constant == NULL)
      interval_add(y, &p->y[st->in[1].step][st->in[1].map[e]], &st->coef[1]);
    else if (st->has_w)
      mpq_mul(&q, &st->coef[1], weight(st, e));
    interval_add(y, &exactly_one, &q);
  } else if (st->kind == SCALE) {
    mpq_set(&q, weight(st, e));
    if (st->divide)
      mpq_inv(&q, &q);
    interval_add(y, argument(p, st, e), &q);
  } else if (st->kind == PIECEWISE) {
    size_t place = p->place[s][e] = locate(p, s, e);
    size_t i = place < TOUCHED ? place : p->touched[place - TOUCHED].kink;
    interval_add(y, argument(p, st, e), i == 0 && st->has_w ? weight(st, e) : &st->piece[i][1]);
    interval_add(y, &exactly_one, &st->piece[i][0]);
    interval_mul(&t, argument(p, st, e), argument(p, st, e));
    interval_add(y, &t, &st->piece[i][2]);
  } else {
    interval_logistic(y, argument(p, st, e), st->kind == TANH);
  }
}

/* Entry j of line i of a SOFTMAX step. */
static size_t line_entry(const step *st, size_t i, size_t j) {
  return (i / st->columns * st->inner + j) * st->columns + i % st->columns;
}

void point_evaluate(point *p) {
  network *net = p->net;
  p->y = allocate(net->n_steps, sizeof *p->y);
  p->place = allocate(net->n_steps, sizeof *p->place);
  for (size_t s = 0; s < net->n_steps; s++) {
    step *st = &net->steps[s];
    const tensor *w = st->in[1].constant;
    interval *y = p->y[s] = intervals(st->n);
    st->varies = varies(p, st, 0) || varies(p, st, 1) || (w != NULL && w->wrt);
    p->place[s] = allocate(st->kind == PIECEWISE ? st->n : 0, sizeof **p->place);
    if (st->kind == DENSE)
      dense(st, y, p->y[st->in[0].step], w->value, NULL, 'y');
    for (size_t e = 0; e < st->n; e++)
      if (st->kind == SOFTMAX)
        interval_set(&y[e], &argument(p, st, e)->lo, &argument(p, st, e)->hi);
      else if (st->kind != DENSE)
        evaluate_entry(p, s, e);
    for (size_t i = 0; st->kind == SOFTMAX && i < st->n / st->inner; i++)
      interval_softmax(y + line_entry(st, i, 0), y + line_entry(st, i, 0), st->inner, st->columns,
                       st->log);
    for (size_t e = 0; e < st->n; e++)
      interval_round(&y[e]);
  }
}

/* The derivative of entry e of a step other than DENSE and SOFTMAX: by operands 0 and 1 when they are
 * steps', and by the weight. */
static void differentiate(const point *p, size_t s, size_t e, const rational *slope, interval d[3]) {
  const step *st = &p->net->steps[s];
  size_t place = st->kind == PIECEWISE ? p->place[s][e] : 0;
  INTERVAL(t);
  RATIONAL(q);
  for (size_t i = 0; i < 3; i++)
    interval_set(&d[i], &q, &q);
  if (st->kind == SUM) {
    interval_set(&d[0], &st->coef[0], &st->coef[0]);
    interval_set(&d[st->in[1].constant == NULL ? 1 : 2], &st->coef[1], &st->coef[1]);
  } else if (st->kind == SCALE && !st->divide) {
    interval_set(&d[0], weight(st, e), weight(st, e));
    interval_add(&d[2], argument(p, st, e), &plus_one);
  } else if (st->kind == SCALE) { /* 1 / w, and -y / w */
    mpq_inv(&q, weight(st, e));
    interval_set(&d[0], &q, &q);
    mpq_neg(&q, &q);
    interval_add(&d[2], &p->y[s][e], &q);
  } else if (st->kind == PIECEWISE && place >= TOUCHED) {
    interval_set(&d[0], &slope[place - TOUCHED], &slope[place - TOUCHED]);
  } else if (st->kind == PIECEWISE) {
    piece_slope(st, e, place, argument(p, st, e), &d[0]);
    if (place == 0 && st->has_w)
      interval_add(&d[2], argument(p, st, e), &plus_one);
  } else { /* y (1 - y), or (1 + y) (1 - y) */
    interval_add(&d[0], &p->y[s][e], &plus_one);
    interval_add(&d[0], &exactly_one, st->kind == TANH ? &plus_one : &q);
    interval_add(&t, &exactly_one, &plus_one);
    interval_add(&t, &p->y[s][e], &minus_one);
    interval_mul(&d[0], &d[0], &t);
  }
}

/* y += a b */
static void multiply_entry(interval *y, const interval *a, const interval *b) {
  INTERVAL(t);
  if (interval_zero(a) || interval_zero(b))
    return;
  interval_mul(&t, a, b);
  interval_add(y, &t, &plus_one);
}

/* dy[i] = the tangent of log softmax(x)[i], sum over j of softmax(x)[j] (dx[i] - dx[j]), or, for
 * softmax itself, that times softmax(x)[i]; line = x, dx, dy. */
static void softmax_tangent(interval *line, size_t n, bool log) {
  interval *x = line, *dx = line + n, *dy = dx + n;
  interval_softmax(x, x, n, 1, false);
  for (size_t i = 0; i < n; i++) {
    for (size_t j = 0; j < n; j++) {
      INTERVAL(t);
      interval_add(&t, &dx[i], &plus_one);
      interval_add(&t, &dx[j], &minus_one);
      multiply_entry(&dy[i], &t, &x[j]);
    }
    if (!log)
      interval_mul(&dy[i], &dy[i], &x[i]);
  }
}

static void tangent_lines(const point *p, const step *st, interval *dy, const interval *dx) {
  for (size_t i = 0; i < st->n / st->inner; i++) {
    interval *line = intervals(3 * st->inner);
    for (size_t j = 0; j < st->inner; j++) {
      size_t e = line_entry(st, i, j);
      interval_add(&line[j], argument(p, st, e), &plus_one);
      interval_add(&line[st->inner + j], &dx[st->in[0].map[e]], &plus_one);
    }
    softmax_tangent(line, st->inner, st->log);
    for (size_t j = 0; j < st->inner; j++)
      interval_add(&dy[line_entry(st, i, j)], &line[2 * st->inner + j], &plus_one);
    intervals_free(line, 3 * st->inner);
  }
}

interval **tangents(const point *p, const rational *slope) {
  interval **d = allocate(p->net->n_steps, sizeof *d), *by = intervals(3);
  for (size_t s = 0; s < p->net->n_steps; s++) {
    const step *st = &p->net->steps[s];
    const tensor *w = st->in[1].constant;
    d[s] = intervals(st->n);
    if (st->kind == DENSE && varies(p, st, 0))
      dense(st, d[s], d[st->in[0].step], w->value, NULL, 'y');
    if (st->kind == DENSE && w->wrt)
      dense(st, d[s], p->y[st->in[0].step], w->move, NULL, 'y');
    if (st->kind == SOFTMAX && st->varies)
      tangent_lines(p, st, d[s], d[st->in[0].step]);
    for (size_t e = 0; e < st->n && st->varies; e++) {
      if (st->kind != DENSE && st->kind != SOFTMAX) {
        differentiate(p, s, e, slope, by);
        for (size_t i = 0; i < 2; i++)
          if (varies(p, st, i))
            multiply_entry(&d[s][e], &by[i], &d[st->in[i].step][st->in[i].map[e]]);
        if (w != NULL && w->wrt)
          interval_add(&d[s][e], &by[2], &w->move[st->in[1].map[e]]);
      }
      interval_round(&d[s][e]);
    }
  }
  intervals_free(by, 3);
  return d;
}

void tangents_free(interval **d, const point *p) {
  for (size_t s = 0; s < p->net->n_steps; s++)
    intervals_free(d[s], p->net->steps[s].n);
  free(d);
}

const interval *tangent_argument(const point *p, interval **d, size_t k) {
  const operand *o = &p->net->steps[p->touched[k].step].in[0];
  return &d[o->step][o->map[p->touched[k].entry]];
}

/* The derivative of the loss by entry e of the output; not for the cross entropy. */
static void loss_slope(const point *p, size_t e, interval *d) {
  const network *net = p->net;
  size_t n = net->n_outputs, batch = net->batch;
  RATIONAL(q);
  interval_set(d, &plus_one, &plus_one);
  if (p->loss == LOSS_SUM)
    return;
  interval_set(d, &q, &q);
  mpq_set_ui(&q, 2, n * batch);
  mpq_canonicalize(&q);
  interval_add(d, &p->y[net->output.step][net->output.map[e]], &q);
  mpq_mul(&q, &q, &p->target->value[e % batch * n + e / batch]);
  mpq_neg(&q, &q);
  interval_add(d, &exactly_one, &q);
}

void tangent_loss(interval *sum, const point *p, interval **d) {
  const operand *out = &p->net->output;
  size_t n = p->net->n_outputs, batch = p->net->batch;
  RATIONAL(q);
  INTERVAL(t);
  interval_set(sum, &q, &q);
  mpq_set_si(&q, -1, batch);
  for (size_t e = 0; e < n * batch && p->loss != LOSS_CE; e++) {
    loss_slope(p, e, &t);
    multiply_entry(sum, &t, &d[out->step][out->map[e]]);
  }
  for (size_t b = 0; b < batch && p->loss == LOSS_CE; b++) {
    interval *line = intervals(3 * n);
    for (size_t f = 0; f < n; f++) {
      interval_add(&line[f], &p->y[out->step][out->map[f * batch + b]], &plus_one);
      interval_add(&line[n + f], &d[out->step][out->map[f * batch + b]], &plus_one);
    }
    softmax_tangent(line, n, true);
    interval_add(sum, &line[2 * n + mpz_get_ui(mpq_numref(&p->target->value[b]))], &q);
    intervals_free(line, 3 * n);
  }
}

/* Takes the adjoint of step s to its operands. */
static void pull_back(const point *p, size_t s, const rational *slope, interval **adjoint) {
  const step *st = &p->net->steps[s];
  tensor *w = st->in[1].constant;
  bool any = false;
  interval *by = intervals(3);
  for (size_t e = 0; e < st->n && st->varies; e++) {
    if (interval_zero(&adjoint[s][e]))
      continue;
    any = true;
    require(interval_exact(&adjoint[s][e]) && st->kind != SOFTMAX,
            "a gradient is not rational behind a transcendental operator");
    if (st->kind == DENSE)
      continue;
    differentiate(p, s, e, slope, by);
    for (size_t i = 0; i < 2; i++)
      if (varies(p, st, i))
        interval_add(&adjoint[st->in[i].step][st->in[i].map[e]], &by[i], &adjoint[s][e].lo);
    if (w != NULL && w->wrt)
      interval_add(&w->gradient[st->in[1].map[e]], &by[2], &adjoint[s][e].lo);
  }
  if (any && st->kind == DENSE && varies(p, st, 0))
    dense(st, adjoint[s], adjoint[st->in[0].step], w->value, NULL, 'x');
  if (any && st->kind == DENSE && w->wrt)
    dense(st, adjoint[s], p->y[st->in[0].step], w->value, w->gradient, 'g');
  intervals_free(by, 3);
}

void gradient(const point *p, const rational *slope, size_t k) {
  const network *net = p->net;
  interval **adjoint = allocate(net->n_steps, sizeof *adjoint);
  RATIONAL(zero);
  for (size_t i = 0; i < net->n_tensors; i++)
    for (size_t j = 0; net->tensors[i]->wrt && j < net->tensors[i]->count; j++)
      interval_set(&net->tensors[i]->gradient[j], &zero, &zero);
  for (size_t s = 0; s < net->n_steps; s++)
    adjoint[s] = intervals(net->steps[s].n);
  if (k != NONE) {
    const operand *o = &net->steps[p->touched[k].step].in[0];
    interval_set(&adjoint[o->step][o->map[p->touched[k].entry]], &plus_one, &plus_one);
  }
  require(k != NONE || p->loss != LOSS_CE, "the gradient of the cross entropy is not rational");
  for (size_t e = 0; k == NONE && e < net->n_outputs * net->batch; e++)
    loss_slope(p, e, &adjoint[net->output.step][net->output.map[e]]);
  for (size_t s = net->n_steps; s-- > 0;) {
    pull_back(p, s, slope, adjoint);
    intervals_free(adjoint[s], net->steps[s].n);
  }
  free(adjoint);
  for (size_t i = 0; i < net->n_tensors; i++)
    for (size_t j = 0; net->tensors[i]->wrt && j < net->tensors[i]->count; j++)
      require(interval_exact(&net->tensors[i]->gradient[j]),
              "a gradient is not rational behind a transcendental operator");
}

bool gradient_zero(const network *net) {
  for (size_t i = 0; i < net->n_tensors; i++)
    for (size_t j = 0; net->tensors[i]->wrt && j < net->tensors[i]->count; j++)
      if (!interval_zero(&net->tensors[i]->gradient[j]))
        return false;
  return true;
}

cell cell_new(const point *p) {
  cell c = {allocate(p->n_touched, 1), allocate(p->n_touched, sizeof(bool)),
            rationals(p->n_touched), allocate(p->net->n_steps, sizeof(uint8_t *)), NONE};
  for (size_t s = 0; s < p->net->n_steps; s++)
    c.degree[s] = allocate(p->net->steps[s].n, 1);
  return c;
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
  if (i == 0 && st->has_w && (st->in[1].constant->wrt || mpq_sgn(weight(st, e)) != 0))
    return product_degree(argument(p, st, e), x, st->in[1].constant);
  if (mpq_sgn(&st->piece[i][2]) != 0)
    return x > 0 ? 2 : 0;
  return mpq_sgn(&st->piece[i][1]) != 0 ? x : 0;
}

static uint8_t entry_degree(cell *c, const point *p, size_t s, size_t e, bool tree) {
  const step *st = &p->net->steps[s];
  const tensor *w = st->in[1].constant;
  uint8_t x = st->kind != INPUT && st->kind != DENSE ? c->degree[st->in[0].step][st->in[0].map[e]] : 0;
  if (st->kind == DENSE) { /* the same for all outputs of a column */
    size_t o = e / st->columns % st->outer, block = e / (st->columns * st->outer);
    for (size_t i = 0; i < st->inner && o == 0; i++) {
      size_t from = (block * st->inner + i) * st->columns + e % st->columns, at = st->in[0].map[from];
      uint8_t d = product_degree(argument(p, st, from), c->degree[st->in[0].step][at], w);
      x = d > x ? d : x;
    }
    return o == 0 ? x : c->degree[s][e - o * st->columns];
  }
  if (st->kind == SUM && st->has_w) {
    uint8_t y = w != NULL ? w->wrt : c->degree[st->in[1].step][st->in[1].map[e]];
    return x > y ? x : y;
  }
  if (st->kind == SCALE) {
    uint8_t d = product_degree(argument(p, st, e), x, w);
    return d > 0 && st->divide && w->wrt ? 2 : d;
  }
  if (st->kind == PIECEWISE)
    return piece_degree(c, p, s, e, x, tree);
  return st->kind == INPUT || st->kind == SUM ? x : x > 0 ? 2 : 0;
}

void cell_settle(cell *c, const point *p, bool tree) {
  c->open = NONE;
  for (size_t s = 0; s < p->net->n_steps; s++) {
    const step *st = &p->net->steps[s];
    for (size_t e = 0; e < st->n; e++)
      c->degree[s][e] = entry_degree(c, p, s, e, tree);
    for (size_t e = 0; st->kind == SOFTMAX && e < st->n; e++)
      for (size_t j = 0; j < st->inner; j++)
        if (c->degree[s][line_entry(st, e / st->inner, j)] > 0)
          c->degree[s][line_entry(st, e / st->inner, e % st->inner)] = 2;
  }
}

uint8_t cell_degree(const cell *c, const point *p, size_t k) {
  const operand *o = &p->net->steps[p->touched[k].step].in[0];
  return c->degree[o->step][o->map[p->touched[k].entry]];
}
