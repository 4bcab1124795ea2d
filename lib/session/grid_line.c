/* The numbers of a float format under a line, and on it. Those of one exponent are a lattice. So where x has one exponent and y too, it is lattice
 * points under a line that are counted, which Euclid's algorithm does: none of them is visited, and a line has few such cells. */
#include "session/grid_inside.h"

#include "base/stop.h"

typedef struct {
  clarke_grid_format f;
  mpz_t n, last;       /* x has the numbers n to last, of one exponent */
  mpq_t at_zero, step; /* y = at_zero + step n */
  mpz_t under, on;
} walk;

static void
scale(mpq_t q, long by)
{
  if (by >= 0)
    mpq_mul_2exp(q, q, (mp_bitcnt_t)by);
  else
    mpq_div_2exp(q, q, (mp_bitcnt_t)-by);
}

static void
power_of_2(mpq_t q, long e)
{
  mpq_set_ui(q, 1, 1);
  scale(q, e);
}

/* sum += the sum of floor((a i + b) / m) over i from 0 to n - 1; m > 0. Euclid's algorithm goes on with m and a in each other's place: whoever
 * counts a triangle's lattice points by rows counts them by columns. */
static void
add_floors(mpz_t sum, const mpz_t count, const mpz_t slope, const mpz_t start, const mpz_t by)
{
  mpz_t n, a, b, m, q, top;

  mpz_init_set(n, count);
  mpz_init_set(a, slope);
  mpz_init_set(b, start);
  mpz_init_set(m, by);
  mpz_inits(q, top, NULL);
  while (mpz_sgn(n) > 0) {
    mpz_fdiv_qr(q, a, a, m);
    mpz_sub_ui(top, n, 1);
    mpz_mul(top, top, n);
    mpz_fdiv_q_2exp(top, top, 1);
    mpz_addmul(sum, q, top);
    mpz_fdiv_qr(q, b, b, m);
    mpz_addmul(sum, q, n);
    mpz_mul(top, a, n);
    mpz_add(top, top, b);
    mpz_fdiv_qr(n, b, top, m);
    mpz_swap(a, m);
  }
  mpz_clears(n, a, b, m, q, top, NULL);
}

/* sum += how many i from 0 to n - 1 make a i + b a multiple of m > 0: they are one class, or none, modulo m / gcd(a, m). */
static void
add_multiples(mpz_t sum, const mpz_t n, const mpz_t a, const mpz_t b, const mpz_t m)
{
  mpz_t g, first, period;

  mpz_inits(g, first, period, NULL);
  mpz_gcd(g, a, m);
  if (mpz_divisible_p(b, g)) {
    mpz_divexact(period, m, g);
    if (mpz_cmp_ui(period, 1) > 0) {
      mpz_divexact(first, a, g);
      mpz_invert(first, first, period);
      mpz_divexact(g, b, g);
      mpz_mul(first, first, g);
      mpz_neg(first, first);
      mpz_mod(first, first, period);
    }
    mpz_sub(first, n, first);
    mpz_cdiv_q(first, first, period);
    if (mpz_sgn(first) > 0)
      mpz_add(sum, sum, first);
  }
  mpz_clears(g, first, period, NULL);
}

/* The last number up to which |y| keeps its sign and exponent. y: |y| there, at_zero + step n its line; block: of the exponent, over: beyond all. */
static void
find_end(mpz_t end, const walk *w, mpq_t line[2], unsigned long block, bool over)
{
  mpq_t border;

  mpz_set(end, w->last);
  if (mpq_sgn(line[1]) == 0 || (mpq_sgn(line[1]) > 0 && over))
    return;
  mpq_init(border);
  if (mpq_sgn(line[1]) > 0)
    power_of_2(border, w->f.emin + (long)block + 1);
  else if (block > 0)
    power_of_2(border, w->f.emin + (long)block);
  mpq_sub(border, border, line[0]);
  mpq_div(border, border, line[1]);
  if (mpq_sgn(line[1]) > 0) {
    mpz_cdiv_q(end, mpq_numref(border), mpq_denref(border));
    mpz_sub_ui(end, end, 1);
  } else {
    mpz_fdiv_q(end, mpq_numref(border), mpq_denref(border));
  }
  if (mpz_cmp(end, w->last) > 0)
    mpz_set(end, w->last);
  mpq_clear(border);
}

/* Ranks of |y| at `count` numbers from n on, all of one exponent: rank = |y| / unit + block 2^(precision - 1), rounded down. */
static void
count_cell(mpz_t under, mpz_t on, const walk *w, mpq_t line[2], const mpz_t count, unsigned long block)
{
  mpq_t x, start;
  mpz_t m, a;

  mpq_inits(x, start, NULL);
  mpz_inits(m, a, NULL);
  mpq_set_z(x, w->n);
  mpq_mul(start, line[1], x);
  mpq_add(start, start, line[0]);
  mpq_set(x, line[1]);
  scale(start, w->f.precision - 1 - w->f.emin - (long)block);
  scale(x, w->f.precision - 1 - w->f.emin - (long)block);
  mpz_lcm(m, mpq_denref(x), mpq_denref(start));
  mpz_divexact(a, m, mpq_denref(x));
  mpz_mul(a, a, mpq_numref(x));
  mpz_divexact(mpq_denref(start), m, mpq_denref(start));
  mpz_mul(mpq_numref(start), mpq_numref(start), mpq_denref(start));
  add_floors(under, count, a, mpq_numref(start), m);
  add_multiples(on, count, a, mpq_numref(start), m);
  mpz_set_ui(a, block);
  mpz_mul_2exp(a, a, (mp_bitcnt_t)(w->f.precision - 1));
  mpz_addmul(under, a, count);
  mpq_set_ui(start, 0, 1);
  mpq_clears(x, start, NULL);
  mpz_clears(m, a, NULL);
}

/* From n on as long as y keeps its sign and exponent: n is behind them then. Of y < 0 the rank is minus that of |y|, less 1 between two numbers. */
static void
add_cell(walk *w)
{
  mpq_t line[2], y;
  mpz_t count, under, on;
  unsigned long block = 0;
  bool turned, over = false;

  mpq_inits(line[0], line[1], y, NULL);
  mpz_inits(count, under, on, NULL);
  mpq_set_z(y, w->n);
  mpq_mul(y, y, w->step);
  mpq_add(y, y, w->at_zero);
  turned = mpq_sgn(y) < 0;
  mpq_set(line[0], w->at_zero);
  mpq_set(line[1], w->step);
  for (size_t i = 0; i < 2 && turned; i++)
    mpq_neg(line[i], line[i]);
  mpq_abs(y, y);
  if (mpq_sgn(y) > 0) {
    const long e = clarke_grid_exponent(y);

    over = e > w->f.emax;
    block = e > w->f.emin ? (unsigned long)((over ? w->f.emax + 1 : e) - w->f.emin) : 0;
  }
  find_end(count, w, line, block, over);
  mpz_sub(count, count, w->n);
  mpz_add_ui(count, count, 1);
  if (over) { /* the largest number's rank */
    mpz_set_ui(under, (unsigned long)(w->f.emax - w->f.emin + 2));
    mpz_mul_2exp(under, under, (mp_bitcnt_t)(w->f.precision - 1));
    mpz_sub_ui(under, under, 1);
    mpz_mul(under, under, count);
  } else {
    count_cell(under, on, w, line, count, block);
  }
  if (turned) {
    mpz_neg(under, under);
    mpz_sub(under, under, count);
    mpz_add(under, under, on);
  }
  mpz_add(w->under, w->under, under);
  mpz_add(w->on, w->on, on);
  mpz_add(w->n, w->n, count);
  mpq_clears(line[0], line[1], y, NULL);
  mpz_clears(count, under, on, NULL);
}

/* The numbers n to last of x > 0 or 0: those of an exponent after those of the one before. */
static clarke_status
add_half(walk *w, const mpq_t at_zero, const mpq_t slope, const mpz_t last, clarke_error *err)
{
  const mp_bitcnt_t bits = (mp_bitcnt_t)(w->f.precision - 1);
  clarke_status status = CLARKE_OK;
  mpq_t shift;

  mpq_init(shift);
  while (mpz_cmp(w->n, last) <= 0 && status == CLARKE_OK) {
    long block;

    mpz_fdiv_q_2exp(w->last, w->n, bits);
    block = mpz_get_si(w->last) - 1;
    block = block < 0 ? 0 : block;
    /* x = (n - block 2^(precision - 1)) 2^(emin - precision + 1 + block) */
    mpq_set(w->step, slope);
    scale(w->step, w->f.emin - w->f.precision + 1 + block);
    mpq_set_si(shift, -block, 1);
    scale(shift, (long)bits);
    mpq_mul(shift, shift, w->step);
    mpq_add(w->at_zero, at_zero, shift);
    mpz_set_si(w->last, block + 2);
    mpz_mul_2exp(w->last, w->last, bits);
    mpz_sub_ui(w->last, w->last, 1);
    if (mpz_cmp(w->last, last) > 0)
      mpz_set(w->last, last);
    while (mpz_cmp(w->n, w->last) <= 0 && status == CLARKE_OK) {
      add_cell(w);
      clarke_work_spend(64);
      status = clarke_work_check(err);
    }
  }
  mpq_clear(shift);
  return status;
}

clarke_status
clarke_grid_under(mpz_t under, mpz_t on, clarke_ieee format, const mpq_t from, const mpq_t to, mpq_t line[2], clarke_error *err)
{
  walk w = {.f = clarke_grid_formats[format]};
  clarke_status status;
  mpz_t first, last;
  mpq_t slope;

  mpz_inits(w.n, w.last, w.under, w.on, first, last, NULL);
  mpq_inits(w.at_zero, w.step, slope, NULL);
  clarke_grid_rank(first, format, from);
  mpz_add_ui(first, first, 1);
  clarke_grid_rank(last, format, to);
  if (clarke_grid_has(format, to))
    mpz_sub_ui(last, last, 1);
  if (mpz_sgn(first) > 0)
    mpz_set(w.n, first);
  status = add_half(&w, line[0], line[1], last, err);
  /* x < 0: turned round */
  mpq_neg(slope, line[1]);
  mpz_neg(first, first);
  if (mpz_sgn(last) < 0)
    mpz_neg(w.n, last);
  else
    mpz_set_ui(w.n, 1);
  if (status == CLARKE_OK)
    status = add_half(&w, line[0], slope, first, err);
  mpz_swap(under, w.under);
  mpz_swap(on, w.on);
  mpz_clears(w.n, w.last, w.under, w.on, first, last, NULL);
  mpq_clears(w.at_zero, w.step, slope, NULL);
  return status;
}
