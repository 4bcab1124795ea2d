#include "forge_network_series.h"

#include <mpfr.h>
#include <stdlib.h>
#include <string.h>

enum { BITS = 192, SAME = 96 };

unsigned series_degree = MOST_DEGREE;

/* --- numbers ------------------------------------------------------------------------------------ */

mpq_t *
numbers(size_t n)
{
  mpq_t *x = malloc((n + 1) * sizeof *x);

  for (size_t i = 0; i < n; i++)
    mpq_init(x[i]);
  return x;
}

void
numbers_free(mpq_t *x, size_t n)
{
  for (size_t i = 0; i < n; i++)
    mpq_clear(x[i]);
  free(x);
}

void
number_of(mpq_t q, small x)
{
  mpq_set_si(q, x.n, (unsigned long)x.d);
  mpq_canonicalize(q);
}

int
number_sign(const mpq_t q, bool rounded)
{
  if (!rounded || mpq_sgn(q) == 0)
    return mpq_sgn(q);
  /* Of n / d the size is 2^(bits of n - bits of d), within a factor of 2. */
  return (long)mpz_sizeinbase(mpq_numref(q), 2) - (long)mpz_sizeinbase(mpq_denref(q), 2) < -SAME ? 0 : mpq_sgn(q);
}

static void
round_number(mpq_t q)
{
  mpz_t z;

  if (mpz_sizeinbase(mpq_denref(q), 2) <= BITS)
    return;
  mpz_init(z);
  mpz_mul_2exp(z, mpq_numref(q), BITS);
  mpz_fdiv_q(z, z, mpq_denref(q));
  mpq_set_z(q, z);
  mpq_div_2exp(q, q, BITS);
  mpz_clear(z);
}

/* --- series ------------------------------------------------------------------------------------- */

static series **pool;
static size_t pool_n, pool_room;

static series *
series_new(size_t room, bool rounded, bool cut)
{
  series *s = malloc(sizeof *s);

  *s = (series){0, malloc((room + 1) * sizeof *s->term), rounded, cut};
  if (pool_n == pool_room) {
    pool_room = pool_room == 0 ? 1024 : 2 * pool_room;
    pool = realloc(pool, pool_room * sizeof *pool);
  }
  return pool[pool_n++] = s;
}

size_t
series_mark(void)
{
  return pool_n;
}

void
series_release(size_t mark)
{
  while (pool_n > mark) {
    series *s = pool[--pool_n];

    for (size_t i = 0; i < s->n; i++)
      mpq_clear(s->term[i].c);
    free(s->term);
    free(s);
  }
}

/* One more term, behind all others. */
static mpq_t *
series_put(series *s, powers of)
{
  monomial *m = &s->term[s->n++];

  m->of = of;
  mpq_init(m->c);
  return &m->c;
}

/* Rounds what is not exact, and takes zeros out. */
static const series *
series_done(series *s)
{
  size_t kept = 0;

  for (size_t i = 0; i < s->n; i++) {
    if (s->rounded)
      round_number(s->term[i].c);
    if (number_sign(s->term[i].c, s->rounded) == 0)
      mpq_clear(s->term[i].c);
    else
      s->term[kept++] = s->term[i];
  }
  s->n = kept;
  return s;
}

const series *
series_number(double x)
{
  series *s = series_new(1, false, false);

  mpq_set_d(*series_put(s, 0), x);
  return series_done(s);
}

const series *
series_small(small x)
{
  series *s = series_new(1, false, false);

  number_of(*series_put(s, 0), x);
  return series_done(s);
}

const series *
series_variable(size_t i, double at)
{
  series *s = series_new(2, false, false);

  mpq_set_d(*series_put(s, 0), at);
  mpq_set_si(*series_put(s, variable(i)), 1, 1);
  return series_done(s);
}

const series *
series_add(const series *a, const series *b, small times)
{
  series *s = series_new(a->n + b->n, a->rounded || b->rounded, a->cut || b->cut);
  mpq_t q, t;
  size_t i = 0, j = 0;

  mpq_inits(q, t, NULL);
  number_of(q, times);
  while (i < a->n || j < b->n) {
    bool left = i < a->n && (j == b->n || a->term[i].of <= b->term[j].of);
    bool right = j < b->n && (i == a->n || b->term[j].of <= a->term[i].of);
    mpq_t *c = series_put(s, left ? a->term[i].of : b->term[j].of);

    if (left)
      mpq_set(*c, a->term[i++].c);
    if (!right)
      continue;
    mpq_mul(t, b->term[j++].c, q);
    mpq_add(*c, *c, t);
  }
  mpq_clears(q, t, NULL);
  return series_done(s);
}

const series *
series_times(const series *a, const mpq_t q)
{
  series *s = series_new(a->n, a->rounded, a->cut);

  for (size_t i = 0; i < a->n; i++)
    mpq_mul(*series_put(s, a->term[i].of), a->term[i].c, q);
  return series_done(s);
}

static int
compare_terms(const void *a, const void *b)
{
  powers p = ((const monomial *)a)->of, q = ((const monomial *)b)->of;

  return (p > q) - (p < q);
}

const series *
series_product(const series *a, const series *b)
{
  series *s = series_new(a->n * b->n, a->rounded || b->rounded,
                         (a->cut && b->n + b->cut > 0) || (b->cut && a->n + a->cut > 0));
  mpq_t t;

  mpq_init(t);
  for (size_t i = 0; i < a->n; i++)
    for (size_t j = 0; j < b->n; j++) {
      size_t at = 0;

      if (degree_of(a->term[i].of) + degree_of(b->term[j].of) > series_degree) {
        s->cut = true;
        continue;
      }
      while (at < s->n && s->term[at].of != a->term[i].of + b->term[j].of)
        at++;
      if (at == s->n)
        series_put(s, a->term[i].of + b->term[j].of);
      mpq_mul(t, a->term[i].c, b->term[j].c);
      mpq_add(s->term[at].c, s->term[at].c, t);
    }
  mpq_clear(t);
  qsort(s->term, s->n, sizeof *s->term, compare_terms);
  return series_done(s);
}

const series *
series_linear_part(const series *a)
{
  series *s = series_new(a->n, a->rounded, false);

  for (size_t i = 0; i < a->n; i++)
    if (degree_of(a->term[i].of) == 1)
      mpq_set(*series_put(s, a->term[i].of), a->term[i].c);
  return series_done(s);
}

mpq_srcptr
series_coefficient(const series *a, powers p)
{
  static mpq_t zero;
  static bool begun;

  if (!begun)
    mpq_init(zero);
  begun = true;
  for (size_t i = 0; i < a->n && a->term[i].of <= p; i++)
    if (a->term[i].of == p)
      return a->term[i].c;
  return zero;
}

int
series_sign(const series *a)
{
  return number_sign(series_coefficient(a, 0), a->rounded);
}

/* --- analytic functions --------------------------------------------------------------------------- */

/* exp, log or the root of q to 256 bits. */
static void
number_function(mpq_t y, series_function f, const mpq_t q)
{
  mpfr_t x;

  mpfr_init2(x, 256);
  mpfr_set_q(x, q, MPFR_RNDN);
  (f == SERIES_EXP ? mpfr_exp : f == SERIES_LOG ? mpfr_log : mpfr_sqrt)(x, x, MPFR_RNDN);
  mpfr_get_q(y, x);
  mpfr_clear(x);
}

static bool
exact_root(mpq_t y, const mpq_t q)
{
  if (mpz_perfect_square_p(mpq_numref(q)) == 0 || mpz_perfect_square_p(mpq_denref(q)) == 0)
    return false;
  mpz_sqrt(mpq_numref(y), mpq_numref(q));
  mpz_sqrt(mpq_denref(y), mpq_denref(q));
  return true;
}

/* The Taylor coefficients of f at q up to MOST_DEGREE; are they exact? */
static bool
coefficients(mpq_t *c, series_function f, const mpq_t q)
{
  bool exact = true;
  mpq_t t, inverse;

  mpq_inits(t, inverse, NULL);
  if (f != SERIES_EXP)
    mpq_inv(inverse, q);
  if (f == SERIES_INVERSE)
    mpq_set(c[0], inverse);
  else if (f == SERIES_ROOT)
    exact = exact_root(c[0], q);
  else
    exact = f == SERIES_EXP ? mpq_sgn(q) == 0 : mpq_cmp_si(q, 1, 1) == 0;
  if (!exact)
    number_function(c[0], f, q);
  else if (f == SERIES_EXP)
    mpq_set_si(c[0], 1, 1);
  for (long k = 1; k <= MOST_DEGREE; k++) {
    /* exp: c/k; inverse: -c/q; root: c (3/2 - k) / (k q); log: 1/q, then -c (k - 1) / (k q). */
    mpq_set_si(t, f == SERIES_EXP      ? 1
                  : f == SERIES_INVERSE ? -k
                  : f == SERIES_ROOT    ? 3 - 2 * k
                                        : 1 - k,
               (unsigned long)(f == SERIES_ROOT ? 2 * k : k));
    mpq_canonicalize(t);
    mpq_mul(c[k], c[k - 1], t);
    if (f == SERIES_LOG && k == 1)
      mpq_set_si(c[k], 1, 1);
    if (f != SERIES_EXP)
      mpq_mul(c[k], c[k], inverse);
  }
  mpq_clears(t, inverse, NULL);
  return exact;
}

const series *
series_of(series_function f, const series *a)
{
  mpq_t *c = numbers(MOST_DEGREE + 1);
  mpq_srcptr value = series_coefficient(a, 0);
  bool rounded = !coefficients(c, f, value) || a->rounded;
  series *constant = series_new(1, rounded, false);
  const series *sum, *power = series_small((small){1, 1}), *moved;

  mpq_set(*series_put(constant, 0), c[0]);
  sum = series_done(constant);
  constant = series_new(1, a->rounded, false);
  mpq_set(*series_put(constant, 0), value);
  moved = series_add(a, series_done(constant), (small){-1, 1});
  for (size_t k = 1; k <= series_degree && moved->n > 0; k++) {
    series *part;

    power = series_product(power, moved);
    part = series_new(power->n, rounded, true);
    for (size_t i = 0; i < power->n; i++)
      mpq_mul(*series_put(part, power->term[i].of), power->term[i].c, c[k]);
    sum = series_add(sum, series_done(part), (small){1, 1});
  }
  numbers_free(c, MOST_DEGREE + 1);
  return sum;
}

/* --- linear programs ------------------------------------------------------------------------------- */

typedef struct {
  size_t rows, columns; /* the right side follows them */
  mpq_t **row;          /* rows of them, then what is gained by each column */
  size_t *basis;
} tableau;

static void
subtract_row(mpq_t *to, mpq_t *from, const mpq_t times, size_t n)
{
  mpq_t t;

  mpq_init(t);
  for (size_t j = 0; j < n; j++)
    if (mpq_sgn(from[j]) != 0) {
      mpq_mul(t, from[j], times);
      mpq_sub(to[j], to[j], t);
    }
  mpq_clear(t);
}

static void
pivot(tableau *t, size_t i, size_t j)
{
  size_t n = t->columns + 1;
  mpq_t by;

  mpq_init(by);
  mpq_inv(by, t->row[i][j]);
  for (size_t k = 0; k < n; k++)
    mpq_mul(t->row[i][k], t->row[i][k], by);
  for (size_t r = 0; r <= t->rows; r++) {
    mpq_set(by, t->row[r][j]);
    if (r != i && mpq_sgn(by) != 0)
      subtract_row(t->row[r], t->row[i], by, n);
  }
  t->basis[i] = j;
  mpq_clear(by);
}

/* One step; false at the end. */
static bool
improve(tableau *t)
{
  size_t j = 0, best = t->rows;
  mpq_t ratio, least;

  while (j < t->columns && mpq_sgn(t->row[t->rows][j]) <= 0)
    j++;
  if (j == t->columns)
    return false;
  mpq_inits(ratio, least, NULL);
  for (size_t i = 0; i < t->rows; i++) {
    if (mpq_sgn(t->row[i][j]) <= 0)
      continue;
    mpq_div(ratio, t->row[i][t->columns], t->row[i][j]);
    if (best == t->rows || mpq_cmp(ratio, least) < 0 ||
        (mpq_equal(ratio, least) && t->basis[i] < t->basis[best])) {
      best = i;
      mpq_set(least, ratio);
    }
  }
  mpq_clears(ratio, least, NULL);
  pivot(t, best, j);
  return true;
}

/* Columns: those of a, then for each row what it has too much; what it lacks has no column, and does not come back
 * once it has left the basis. */
static void
fill(tableau *t, mpq_t **a, size_t n, mpq_t *b)
{
  mpq_t minus;

  mpq_init(minus);
  mpq_set_si(minus, -1, 1);
  t->row[t->rows] = numbers(t->columns + 1);
  for (size_t i = 0; i < t->rows; i++) {
    mpq_t *row = t->row[i] = numbers(t->columns + 1);

    for (size_t j = 0; j < n; j++)
      mpq_set(row[j], a[j][i]);
    mpq_set(row[t->columns], b[i]);
    for (size_t j = 0; j <= t->columns && mpq_sgn(b[i]) < 0; j++)
      mpq_neg(row[j], row[j]);
    mpq_set(row[n + i], minus);
    t->basis[i] = t->columns + i;
    subtract_row(t->row[t->rows], row, minus, t->columns + 1);
    mpq_add(t->row[t->rows][n + i], t->row[t->rows][n + i], minus);
  }
  mpq_clear(minus);
}

void
nearest(mpq_t distance, mpq_t *x, size_t rows, size_t columns, mpq_t **a, mpq_t *b)
{
  tableau t = {rows, columns + rows, malloc((rows + 1) * sizeof *t.row), malloc((rows + 1) * sizeof *t.basis)};

  fill(&t, a, columns, b);
  while (improve(&t))
    ;
  mpq_set(distance, t.row[rows][t.columns]);
  for (size_t j = 0; j < columns; j++)
    mpq_set_si(x[j], 0, 1);
  for (size_t i = 0; i < rows; i++)
    if (t.basis[i] < columns)
      mpq_set(x[t.basis[i]], t.row[i][t.columns]);
  for (size_t i = 0; i <= rows; i++)
    numbers_free(t.row[i], t.columns + 1);
  free(t.row);
  free(t.basis);
}
