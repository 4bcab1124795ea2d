#include "session/grid_inside.h"

#include "program/conservative.h"

#include <stdlib.h>

void
clarke_grid_init(clarke_grid *g)
{
  mpz_init(g->numbers);
  mpz_init(g->bifurcation);
  mpz_init(g->unknown);
  g->zones = g->intervals = 0;
}

void
clarke_grid_clear(clarke_grid *g)
{
  mpz_clear(g->numbers);
  mpz_clear(g->bifurcation);
  mpz_clear(g->unknown);
}

/* --- counting ---------------------------------------------------------------------------------- */

const clarke_grid_format clarke_grid_formats[] = {
  [CLARKE_IEEE_F16] = {11, -14, 15},
  [CLARKE_IEEE_BF16] = {8, -126, 127},
  [CLARKE_IEEE_F32] = {24, -126, 127},
  [CLARKE_IEEE_F64] = {53, -1022, 1023},
};

long
clarke_grid_exponent(const mpq_t q)
{
  long e = (long)mpz_sizeinbase(mpq_numref(q), 2) - (long)mpz_sizeinbase(mpq_denref(q), 2);
  mpq_t x;

  mpq_init(x);
  mpq_set_ui(x, 1, 1);
  if (e >= 0)
    mpq_mul_2exp(x, x, (mp_bitcnt_t)e);
  else
    mpq_div_2exp(x, x, (mp_bitcnt_t)-e);
  e -= mpq_cmp(q, x) < 0;
  mpq_clear(x);
  return e;
}

/* Positive numbers are numbered from 1. n = how many of them are at most q > 0; *is: q is one. */
static void
rank_of_positive(mpz_t n, bool *is, clarke_ieee format, const mpq_t q)
{
  const long p = clarke_grid_formats[format].precision, emin = clarke_grid_formats[format].emin;
  long e = clarke_grid_exponent(q);
  mpz_t most;
  mpq_t x;

  mpz_init_set_ui(most, (unsigned long)(clarke_grid_formats[format].emax - emin + 2));
  mpz_mul_2exp(most, most, (mp_bitcnt_t)(p - 1));
  mpz_sub_ui(most, most, 1);
  e = e < emin ? emin : e;
  mpq_init(x);
  mpq_set(x, q);
  if (p - 1 - e >= 0)
    mpq_mul_2exp(x, x, (mp_bitcnt_t)(p - 1 - e));
  else
    mpq_div_2exp(x, x, (mp_bitcnt_t)(e - p + 1));
  *is = mpz_cmp_ui(mpq_denref(x), 1) == 0;
  mpz_fdiv_q(n, mpq_numref(x), mpq_denref(x)); /* of the spacing at e: from 2^(p - 1) on, where it is normal */
  mpz_set_ui(mpq_numref(x), (unsigned long)(e - emin));
  mpz_mul_2exp(mpq_numref(x), mpq_numref(x), (mp_bitcnt_t)(p - 1));
  mpz_add(n, n, mpq_numref(x));
  if (mpz_cmp(n, most) > 0) {
    mpz_set(n, most);
    *is = false;
  }
  mpz_set_ui(mpq_denref(x), 1);
  mpz_clear(most);
  mpq_clear(x);
}

/* The numbers of the format are numbered in order, 0 being 0: n = the number of the greatest that is at most q. */
static void
rank(mpz_t n, bool *is, clarke_ieee format, const mpq_t q)
{
  mpq_t size;

  *is = true;
  mpz_set_ui(n, 0);
  if (mpq_sgn(q) == 0)
    return;
  mpq_init(size);
  mpq_abs(size, q);
  rank_of_positive(n, is, format, size);
  if (mpq_sgn(q) < 0) {
    mpz_neg(n, n);
    if (!*is)
      mpz_sub_ui(n, n, 1);
  }
  mpq_clear(size);
}

void
clarke_grid_count(mpz_t n, clarke_ieee format, const mpq_t a, const mpq_t b, bool open)
{
  bool from, to;
  mpz_t below;

  mpz_init(below);
  rank(below, &from, format, a);
  rank(n, &to, format, b);
  mpz_sub(n, n, below);
  if (open && to)
    mpz_sub_ui(n, n, 1);
  if (!open && from)
    mpz_add_ui(n, n, 1);
  if (mpz_sgn(n) < 0)
    mpz_set_ui(n, 0);
  mpz_clear(below);
}

bool
clarke_grid_has(clarke_ieee format, const mpq_t q)
{
  bool is;
  mpz_t n;

  mpz_init(n);
  rank(n, &is, format, q);
  mpz_clear(n);
  return is;
}

/* The positive number of that number: below 2^p all have one spacing, from there on each 2^(p - 1) of them are of one exponent. */
static void
number_at(mpq_t q, clarke_ieee format, const mpz_t n)
{
  const long p = clarke_grid_formats[format].precision, emin = clarke_grid_formats[format].emin;
  long by = emin - p + 1, block;
  mpz_t m;

  mpz_init(m);
  mpz_fdiv_q_2exp(m, n, (mp_bitcnt_t)(p - 1));
  block = mpz_get_si(m) - 1;
  mpz_set(m, n);
  if (block > 0) {
    mpz_t less;

    mpz_init_set_si(less, block);
    mpz_mul_2exp(less, less, (mp_bitcnt_t)(p - 1));
    mpz_sub(m, m, less);
    mpz_clear(less);
    by += block;
  }
  mpq_set_z(q, m);
  if (by >= 0)
    mpq_mul_2exp(q, q, (mp_bitcnt_t)by);
  else
    mpq_div_2exp(q, q, (mp_bitcnt_t)-by);
  mpz_clear(m);
}

void
clarke_grid_number(mpq_t q, clarke_ieee format, const mpz_t n)
{
  mpz_t size;

  mpz_init(size);
  mpz_abs(size, n);
  if (mpz_sgn(n) == 0)
    mpq_set_ui(q, 0, 1);
  else
    number_at(q, format, size);
  if (mpz_sgn(n) < 0)
    mpq_neg(q, q);
  mpz_clear(size);
}

void
clarke_grid_rank(mpz_t n, clarke_ieee format, const mpq_t q)
{
  bool is;

  rank(n, &is, format, q);
}

/* --- zones ------------------------------------------------------------------------------------- */

clarke_status
clarke_grid_parts(clarke_truth *several, const clarke_code *p, mpq_t *at, clarke_error *err)
{
  clarke_execution e;
  clarke_conservative c;
  clarke_status status;

  *several = CLARKE_UNKNOWN;
  clarke_execution_init(&e);
  clarke_conservative_init(&c);
  status = clarke_execute(&e, p, at, err);
  if (status == CLARKE_OK && !e.open)
    status = clarke_conservative_find(&c, &e, err);
  if (status == CLARKE_OK && !e.open && (c.known || c.singleton_known))
    *several = c.singleton ? CLARKE_NO : CLARKE_YES;
  clarke_conservative_clear(&c);
  clarke_execution_clear(&e);
  return status;
}

/* at = a + t (b - a) */
static void
point_at(mpq_t *at, mpq_t *a, mpq_t *b, size_t n, const mpq_t t)
{
  mpq_t x;

  mpq_init(x);
  for (size_t i = 0; i < n; i++) {
    mpq_sub(x, b[i], a[i]);
    mpq_mul(x, x, t);
    mpq_add(at[i], a[i], x);
  }
  mpq_clear(x);
}

void
clarke_grid_add(clarke_grid *g, clarke_truth several, const mpz_t count)
{
  if (several != CLARKE_NO)
    mpz_add(several == CLARKE_YES ? g->bifurcation : g->unknown, several == CLARKE_YES ? g->bifurcation : g->unknown, count);
  g->zones += several == CLARKE_YES;
}

/* What is met between t[k] and t[j], or at it where they are one: so many numbers of the format more in the zone, or not known. */
static clarke_status
add_part(clarke_grid *g, const clarke_course *c, mpq_t **end, size_t k, size_t j, size_t entry, clarke_ieee format, clarke_error *err)
{
  const size_t n = clarke_code_entries(c->p);
  mpq_t *at = clarke_rationals(n), *from = clarke_rationals(n), *to = clarke_rationals(n), half;
  clarke_truth several = CLARKE_UNKNOWN;
  clarke_status status = at != NULL && from != NULL && to != NULL ? CLARKE_OK : clarke_no_memory(err);

  mpq_init(half);
  mpq_add(half, clarke_moving(c->t.x, k)[0], clarke_moving(c->t.x, j)[0]);
  mpq_div_2exp(half, half, 1);
  if (status == CLARKE_OK) {
    point_at(from, end[0], end[1], n, clarke_moving(c->t.x, k)[0]);
    point_at(to, end[0], end[1], n, clarke_moving(c->t.x, j)[0]);
    point_at(at, end[0], end[1], n, half);
    status = clarke_grid_parts(&several, c->p, at, err);
  }
  if (status == CLARKE_OK) {
    const bool turned = mpq_cmp(from[entry], to[entry]) > 0;
    mpz_t count;

    mpz_init(count);
    clarke_grid_count(count, format, turned ? to[entry] : from[entry], turned ? from[entry] : to[entry], k != j);
    clarke_grid_add(g, several, count);
    mpz_clear(count);
  }
  mpq_clear(half);
  clarke_rationals_free(at, n);
  clarke_rationals_free(from, n);
  clarke_rationals_free(to, n);
  return status;
}

/* The one entry in which both differ. */
static clarke_status
find_entry(size_t *entry, mpq_t *a, mpq_t *b, size_t n, clarke_error *err)
{
  *entry = CLARKE_NONE;
  for (size_t i = 0; i < n; i++) {
    if (mpq_equal(a[i], b[i]))
      continue;
    if (*entry != CLARKE_NONE)
      return clarke_fail(err, CLARKE_EINPUT, "numbers of a format are counted along one entry: the ends differ in several");
    *entry = i;
  }
  return *entry != CLARKE_NONE ? CLARKE_OK : clarke_fail(err, CLARKE_EINPUT, "both ends are one point");
}

clarke_status
clarke_grid_find(clarke_grid *g, const clarke_region_function *f, mpq_t *a, mpq_t *b, clarke_ieee format, clarke_error *err)
{
  clarke_course c = {0};
  size_t entry;
  mpq_t *end[2] = {a, b};
  clarke_status status = find_entry(&entry, a, b, f->n, err);

  if (status != CLARKE_OK)
    return status;
  status = clarke_course_begin(&c, &f->program, err);
  if (status == CLARKE_OK)
    mpq_set_ui(clarke_moving(c.t.x, 1)[0], 1, 1);
  for (size_t i = 0; status == CLARKE_OK && i < f->program.n; i++)
    for (size_t j = 0; j < 2 && c.value[i].x != NULL; j++)
      mpq_set(clarke_moving(c.value[i].x, j)[0], end[j][clarke_code_entry(&f->program, i)]);
  if (status == CLARKE_OK)
    status = clarke_course_run(&c, err);
  if (status == CLARKE_OK) {
    const bool turned = mpq_cmp(a[entry], b[entry]) > 0;

    clarke_grid_count(g->numbers, format, turned ? b[entry] : a[entry], turned ? a[entry] : b[entry], false);
    g->intervals = c.n - 1;
  }
  for (size_t k = 0; k < c.n && status == CLARKE_OK; k++) {
    status = add_part(g, &c, end, k, k, entry, format, err);
    if (status == CLARKE_OK && k + 1 < c.n)
      status = add_part(g, &c, end, k, k + 1, entry, format, err);
  }
  clarke_course_clear(&c);
  return status;
}
