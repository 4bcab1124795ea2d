/* Adafactor and Muon. Their numbers are intervals wherever a root or a power is; sums of many are rounded once. */
#include "check/update/update_whole.h"
#include "check/base/allocate.h"
#include "check/base/elementary.h"

#include <stdlib.h>

#define MOST_PRODUCTS 16000000 /* of numbers, in all iterations of a matrix */

/* ---- Tensors */

size_t
update_whole_count(const update_tensor *t, int slot)
{
  return slot == ROW ? t->batches * t->rows : slot == COL ? t->batches * t->cols : t->n;
}

bool
update_whole_has(const update_tensor *t, const update *u, int slot)
{
  if (slot == THETA || !u->of->slot[slot] || !u->of->slot[ROW])
    return slot == THETA || u->of->slot[slot];
  return (slot == V) == (t->rows == 0);
}

void
update_whole_begin(update_tensor *t, const update *u)
{
  for (int s = 0; s < N_SLOTS; s++)
    t->slot[s] = update_whole_has(t, u, s) ? intervals(update_whole_count(t, s)) : NULL;
}

void
update_whole_end(update_tensor *t)
{
  for (int s = 0; s < N_SLOTS; s++)
    if (t->slot[s] != NULL)
      intervals_free(t->slot[s], update_whole_count(t, s));
}

void
update_whole_check(const update_tensor *t, const update *u)
{
  if (u->of->slot[ROW])
    return;
  require(t->batches == 1 && t->rows > 0, "a matrix is expected");
  size_t least = t->rows < t->cols ? t->rows : t->cols, steps = mpz_get_ui(mpq_numref(&u->number[NS_STEPS]));
  expect(t->n <= 65536 && 3 * t->n * least * steps <= MOST_PRODUCTS,
         "a matrix of %zu x %zu, %zu times: over %d products", t->rows, t->cols, steps, MOST_PRODUCTS);
}

/* ---- Numbers */

/* y = x / n */
static void
divide_count(interval *y, size_t n)
{
  RATIONAL(q);
  mpq_set_ui(&q, n, 1);
  mpq_div(&y->lo, &y->lo, &q);
  mpq_div(&y->hi, &y->hi, &q);
}

/* The mean of the squares of n numbers, each `stride` behind the one before. */
static void
mean_square(interval *y, const interval *x, size_t n, size_t stride)
{
  INTERVAL(square);
  interval_set(y, &zero, &zero);
  for (size_t i = 0; i < n; i++) {
    update_square(&square, &x[i * stride]);
    interval_add(y, &square, &plus_one);
  }
  divide_count(y, n);
  interval_round(y);
}

/* y = root(y), y not below 0 */
static void
take_root(interval *y)
{
  require(mpq_sgn(&y->lo) >= 0, "what has a root is below 0");
  sqrt_end(&y->lo, &y->lo, false);
  sqrt_end(&y->hi, &y->hi, true);
}

static void
no_less(interval *y, const rational *q)
{
  INTERVAL(x);
  interval_set(&x, q, q);
  update_larger(y, &x);
}

/* What follows is divided by it. */
static void
expect_above_zero(const interval *y)
{
  if (mpq_sgn(&y->lo) <= 0)
    leave(UNDECIDED, "what is divided by is not known to be above 0");
}

/* theta (1 - eta weight-decay) - by x */
static void
descend_all(const update *u, update_tensor *t, const interval *by, const interval *x)
{
  RATIONAL(decay);
  INTERVAL(move);
  mpq_mul(&decay, &u->number[DECAY], &u->number[ETA]);
  for (size_t i = 0; i < t->n; i++) {
    interval *theta = &t->slot[THETA][i];
    update_copy(&move, theta);
    update_subtract(theta, &decay, &move);
    interval_mul(&move, by, &x[i]);
    update_subtract(theta, &plus_one, &move);
  }
}

/* ---- Adafactor */

/* w = t^beta2-decay, t from 1; 1 at first */
static void
weigh(const update *u, interval *w)
{
  RATIONAL(count);
  RATIONAL(end);
  interval_set(w, &plus_one, &plus_one);
  if (u->k == 0)
    return;
  mpq_set_ui(&count, u->k + 1, 1);
  for (int up = 0; up < 2; up++) {
    log_end(&end, &count, !up);
    mpq_mul(&end, &end, &u->number[BETA2_DECAY]);
    mpq_neg(&end, &end);
    exp_end(up ? &w->hi : &w->lo, &end, up);
  }
}

/* max(eps2, root of the mean of theta^2) min(eta, 1 / root of t) */
static void
find_size(const update *u, interval *size, const update_tensor *t)
{
  INTERVAL(rho);
  INTERVAL(one);
  mean_square(size, t->slot[THETA], t->n, 1);
  take_root(size);
  no_less(size, &u->number[EPS2]);
  mpq_set_ui(&rho.lo, u->k + 1, 1);
  mpq_set(&rho.hi, &rho.lo);
  take_root(&rho);
  interval_set(&one, &plus_one, &plus_one);
  interval_div(&rho, &one, &rho);
  if (mpq_cmp(&rho.lo, &u->number[ETA]) > 0)
    mpq_set(&rho.lo, &u->number[ETA]);
  if (mpq_cmp(&rho.hi, &u->number[ETA]) > 0)
    mpq_set(&rho.hi, &u->number[ETA]);
  interval_mul(size, size, &rho);
  interval_round(size);
}

/* y += w (x - y) */
static void
average(interval *y, const interval *w, const interval *x)
{
  INTERVAL(move);
  if (interval_exact(w) && mpq_equal(&w->lo, &plus_one)) {
    update_copy(y, x);
    return;
  }
  update_copy(&move, x);
  interval_add(&move, y, &minus_one);
  interval_addmul(y, &move, w);
}

/* row col / max(mean of row, eps), of a matrix */
static void
estimate(const update *u, interval *y, const interval *row, const interval *col, const update_tensor *t)
{
  INTERVAL(mean);
  for (size_t i = 0; i < t->rows; i++)
    interval_add(&mean, &row[i], &plus_one);
  divide_count(&mean, t->rows);
  no_less(&mean, &u->number[EPS]);
  expect_above_zero(&mean);
  for (size_t i = 0; i < t->n / t->batches; i++) {
    interval_mul(&y[i], &row[i / t->cols], &col[i % t->cols]);
    interval_div(&y[i], &y[i], &mean);
  }
}

static void
average_all(const update *u, interval *y, update_tensor *t, const interval *g)
{
  INTERVAL(w);
  INTERVAL(x);
  weigh(u, &w);
  for (size_t i = 0; t->rows == 0 && i < t->n; i++) {
    update_square(&x, &g[i]);
    average(&t->slot[V][i], &w, &x);
    update_copy(&y[i], &t->slot[V][i]);
  }
  for (size_t b = 0; t->rows > 0 && b < t->batches; b++) {
    size_t first = b * t->rows * t->cols;
    for (size_t i = 0; i < t->rows; i++) {
      mean_square(&x, &g[first + i * t->cols], t->cols, 1);
      average(&t->slot[ROW][b * t->rows + i], &w, &x);
    }
    for (size_t j = 0; j < t->cols; j++) {
      mean_square(&x, &g[first + j], t->rows, t->cols);
      average(&t->slot[COL][b * t->cols + j], &w, &x);
    }
    estimate(u, &y[first], &t->slot[ROW][b * t->rows], &t->slot[COL][b * t->cols], t);
  }
}

void
update_adafactor(const update *u, update_tensor *t, const interval *g)
{
  interval *y = intervals(t->n);
  INTERVAL(size);
  INTERVAL(by);
  RATIONAL(square);
  mpq_mul(&square, &u->number[EPS], &u->number[EPS]);
  find_size(u, &size, t);
  average_all(u, y, t, g);
  for (size_t i = 0; i < t->n; i++) {
    no_less(&y[i], &square);
    take_root(&y[i]);
    if (interval_zero(&g[i])) {
      interval_set(&y[i], &zero, &zero);
      continue;
    }
    expect_above_zero(&y[i]);
    interval_div(&y[i], &g[i], &y[i]);
  }
  mean_square(&by, y, t->n, 1);
  take_root(&by);
  mpq_div(&by.lo, &by.lo, &u->number[CLIP]);
  mpq_div(&by.hi, &by.hi, &u->number[CLIP]);
  no_less(&by, &plus_one);
  interval_div(&by, &size, &by);
  descend_all(u, t, &by, y);
  intervals_free(y, t->n);
}

/* ---- Muon */

/* Matrices of `rows` rows, one row after another. */
typedef struct {
  size_t rows, cols;
  interval *x, *square, *both, *next;
} iteration;

/* y[i][j] = sum of a[i][k] b[k][j], of b transposed b[j][k] */
static void
multiply(interval *y, const interval *a, const interval *b, size_t rows, size_t inner, size_t cols, bool transposed)
{
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++) {
      interval *sum = &y[i * cols + j];
      interval_set(sum, &zero, &zero);
      for (size_t k = 0; k < inner; k++)
        multiply_add(sum, &a[i * inner + k], transposed ? &b[j * inner + k] : &b[k * cols + j]);
      update_cut(sum, 0);
    }
}

/* x = a x + (b y + c y^2) x, y = x x' */
static void
iterate(const update *u, iteration *m)
{
  INTERVAL(sum);
  multiply(m->square, m->x, m->x, m->rows, m->cols, m->rows, true);
  multiply(m->both, m->square, m->square, m->rows, m->rows, m->rows, false);
  for (size_t i = 0; i < m->rows * m->rows; i++) {
    interval_set(&sum, &zero, &zero);
    interval_add(&sum, &m->both[i], &u->number[NS_C]);
    interval_add(&sum, &m->square[i], &u->number[NS_B]);
    update_cut(&sum, 0);
    update_copy(&m->both[i], &sum);
  }
  multiply(m->next, m->both, m->x, m->rows, m->rows, m->cols, false);
  for (size_t i = 0; i < m->rows * m->cols; i++) {
    interval_add(&m->next[i], &m->x[i], &u->number[NS_A]);
    update_cut(&m->next[i], 0);
    update_copy(&m->x[i], &m->next[i]);
  }
}

/* x over max(its norm, eps) */
static void
normalize(const update *u, interval *x, size_t n)
{
  INTERVAL(norm);
  INTERVAL(square);
  for (size_t i = 0; i < n; i++) {
    update_square(&square, &x[i]);
    interval_add(&norm, &square, &plus_one);
  }
  take_root(&norm);
  no_less(&norm, &u->number[EPS]);
  expect_above_zero(&norm);
  for (size_t i = 0; i < n; i++) {
    interval_div(&x[i], &x[i], &norm);
    update_cut(&x[i], 0);
  }
}

/* A matrix with more rows than columns is transposed. */
static void
make_orthogonal(const update *u, interval *x, const update_tensor *t)
{
  bool flips = t->rows > t->cols;
  iteration m = {.rows = flips ? t->cols : t->rows, .cols = flips ? t->rows : t->cols};
  size_t area = m.rows * m.rows, steps = mpz_get_ui(mpq_numref(&u->number[NS_STEPS]));
  m.x = intervals(t->n);
  m.next = intervals(t->n);
  m.square = intervals(area);
  m.both = intervals(area);
  for (size_t i = 0; i < t->n; i++)
    update_copy(&m.x[flips ? i % t->cols * m.cols + i / t->cols : i], &x[i]);
  normalize(u, m.x, t->n);
  for (size_t i = 0; i < steps; i++)
    iterate(u, &m);
  for (size_t i = 0; i < t->n; i++)
    update_copy(&x[i], &m.x[flips ? i % t->cols * m.cols + i / t->cols : i]);
  intervals_free(m.x, t->n);
  intervals_free(m.next, t->n);
  intervals_free(m.square, area);
  intervals_free(m.both, area);
}

/* eta times the root of max(1, rows / columns), or of max(rows, columns) / 25 */
static void
adjusted(const update *u, interval *y, const update_tensor *t)
{
  bool tall = t->rows > t->cols;
  mpq_set_ui(&y->lo,
             u->matches ? (tall ? t->rows : t->cols)
             : tall     ? t->rows
                        : 1,
             u->matches ? 25
             : tall     ? t->cols
                        : 1);
  mpq_canonicalize(&y->lo);
  mpq_set(&y->hi, &y->lo);
  take_root(y);
  mpq_mul(&y->lo, &y->lo, &u->number[ETA]);
  mpq_mul(&y->hi, &y->hi, &u->number[ETA]);
}

void
update_muon(const update *u, update_tensor *t, const interval *g)
{
  interval *x = intervals(t->n);
  INTERVAL(by);
  for (size_t i = 0; i < t->n; i++) {
    interval *m = &t->slot[M][i];
    update_mix(m, &u->number[MOMENTUM], &u->rest[MOMENTUM], &g[i]);
    update_copy(&x[i], u->nesterov ? &g[i] : m);
    if (u->nesterov)
      update_mix(&x[i], &u->rest[MOMENTUM], &u->number[MOMENTUM], m);
  }
  make_orthogonal(u, x, t);
  adjusted(u, &by, t);
  descend_all(u, t, &by, x);
  intervals_free(x, t->n);
}

void
update_whole_step(const update *u, update_tensor *t, const interval *gradient)
{
  u->of->whole(u, t, gradient);
}
