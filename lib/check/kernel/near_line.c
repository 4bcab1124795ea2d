/* Lines in integers. What they read is within r of a; a unit is 2^-B, B = near_bits. The bounds are proved in docs/checker.md,
 * "Near values". */
#include "check/kernel/near_line.h"
#include "check/base/allocate.h"
#include "check/base/elementary.h"
#include "check/kernel/line.h"

#include <stdlib.h>

#define FINER 64 /* digits of roots and exponentials beyond B */

/* A line of m entries that reads what is within r of its a. off: how far what comes out may be. */
typedef struct {
  const point *p;
  near *v;
  const step *st;
  size_t s, e, m;
  unsigned long bits;
  const integer *r;
  integer *y; /* of each entry */
  integer off;
} line;

static const integer *
read_of(const line *l, size_t i)
{
  size_t at = line_entry(l->p, l->st, l->e, i);
  return center(l->p, l->v, read_by(l->p, l->st, at), at);
}

static void
fill_line(line *l)
{
  for (size_t i = 0; i < l->m; i++)
    l->y[i] = l->v[l->s].c[line_entry(l->p, l->st, l->e, i) / l->p->net->apart];
}

/* ---- NORMALIZE */

/* N is the root of S c^2 / m + m^2 epsilon, in units: t = floor(2^FINER N). */
static void
root_in_units(integer *t, const integer *squares, const line *l)
{
  const rational *epsilon = &l->st->at[0];
  INTEGER(more);
  INTEGER(den);
  mpz_mul(t, squares, mpq_denref(epsilon));
  mpz_mul_2exp(t, t, 2 * FINER);
  mpz_ui_pow_ui(&more, l->m, 3);
  mpz_mul(&more, &more, mpq_numref(epsilon));
  mpz_mul_2exp(&more, &more, 2 * (l->bits + FINER));
  mpz_add(t, t, &more);
  mpz_mul_ui(&den, mpq_denref(epsilon), l->m);
  mpz_fdiv_q(t, t, &den);
  mpz_sqrt(t, t);
}

/* Adds what r adds: (2 (m - 1) + m |y|) r / M, where |y| is at most `most`, and M, the true N, is N - m r at least, and that of
 * c = 0. Can it be told? */
static bool
add_spread(line *l, const integer *root, const integer *most)
{
  INTEGER(least);
  INTEGER(z);
  if (mpz_sgn(l->r) == 0)
    return true;
  mpz_mul_ui(&z, l->r, l->m);
  mpz_mul_2exp(&z, &z, FINER);
  root_in_units(&least, &zero._mp_num, l);
  mpz_sub(&z, root, &z);
  if (mpz_cmp(&z, &least) > 0)
    mpz_swap(&z, &least);
  if (mpz_sgn(&least) <= 0)
    return false;
  mpz_set_ui(&z, 2 * (l->m - 1));
  mpz_mul_2exp(&z, &z, l->bits);
  mpz_addmul_ui(&z, most, l->m);
  mpz_mul(&z, &z, l->r);
  mpz_mul_2exp(&z, &z, FINER);
  mpz_cdiv_q(&z, &z, &least);
  mpz_add(&l->off, &l->off, &z);
  return true;
}

/* y = c w, where w, 2^(B + h) / N in units, lies from w up to w + gap: c gap more, shifted by h, and 1 where that is cut. */
static bool
scale_line(line *l, const integer *root, const integer *most)
{
  unsigned long h = mpz_sizeinbase(most, 2) + 1, top = l->bits + FINER + h;
  bool cut = false;
  INTEGER(w);
  INTEGER(gap);
  INTEGER(z);
  if (mpz_sgn(root) == 0)
    return false;
  mpz_setbit(&z, top);
  mpz_cdiv_q(&gap, &z, root);
  mpz_add_ui(&w, root, 1);
  mpz_fdiv_q(&w, &z, &w);
  mpz_sub(&gap, &gap, &w);
  for (size_t i = 0; i < l->m; i++) {
    mpz_mul(&l->y[i], &l->y[i], &w);
    cut = cut || !mpz_divisible_2exp_p(&l->y[i], h);
    mpz_fdiv_q_2exp(&l->y[i], &l->y[i], h);
  }
  mpz_mul(&z, most, &gap);
  mpz_cdiv_q_2exp(&z, &z, h);
  mpz_add_ui(&l->off, &z, cut);
  mpz_add(&w, &w, &gap);
  mpz_mul(&z, most, &w);
  mpz_cdiv_q_2exp(&z, &z, h);
  return add_spread(l, root, &z);
}

static bool
normalize_line(line *l)
{
  INTEGER(sum);
  INTEGER(squares);
  INTEGER(most);
  INTEGER(root);
  for (size_t i = 0; i < l->m; i++)
    mpz_add(&sum, &sum, read_of(l, i));
  for (size_t i = 0; i < l->m; i++) {
    mpz_mul_ui(&l->y[i], read_of(l, i), l->m);
    mpz_sub(&l->y[i], &l->y[i], &sum);
    mpz_addmul(&squares, &l->y[i], &l->y[i]);
    larger(&most, &l->y[i]);
  }
  root_in_units(&root, &squares, l);
  return scale_line(l, &root, &most);
}

/* ---- SOFTMAX */

/* Shares of exp(a - top), each of which has two ends, hi and lo. A share moves by r / 2 at most. */
static bool
softmax_line(line *l)
{
  unsigned long p = l->bits + FINER;
  integer *hi = allocate(l->m, sizeof *hi), sums[2] = {integer_zero(), integer_zero()};
  INTEGER(t);
  size_t top = 0;
  for (size_t i = 1; i < l->m; i++)
    top = mpz_cmp(read_of(l, i), read_of(l, top)) > 0 ? i : top;
  for (size_t i = 0; i < l->m; i++) {
    hi[i] = integer_zero();
    mpz_sub(&t, read_of(l, top), read_of(l, i));
    mpz_mul_2exp(&t, &t, FINER);
    exp_ends(&l->y[i], &hi[i], &t, p);
    mpz_add(&sums[0], &sums[0], &l->y[i]);
    mpz_add(&sums[1], &sums[1], &hi[i]);
  }
  for (size_t i = 0; i < l->m; i++) {
    mpz_mul_2exp(&l->y[i], &l->y[i], l->bits);
    mpz_fdiv_q(&l->y[i], &l->y[i], &sums[1]);
    mpz_mul_2exp(&t, &hi[i], l->bits);
    mpz_cdiv_q(&t, &t, &sums[0]);
    mpz_sub(&t, &t, &l->y[i]);
    larger(&l->off, &t);
    mpz_clear(&hi[i]);
  }
  mpz_cdiv_q_2exp(&t, l->r, 1);
  mpz_add(&l->off, &l->off, &t);
  mpz_clears(&sums[0], &sums[1], NULL);
  free(hi);
  return true;
}

/* ---- All lines */

static void
keep_line(line *l)
{
  for (size_t i = 0; i < l->m; i++)
    l->v[l->s].c[line_entry(l->p, l->st, l->e, i) / l->p->net->apart] = l->y[i];
  larger(&l->v[l->s].r, &l->off);
}

bool
near_lines(const point *p, near *v, size_t s, size_t sample)
{
  const step *st = &p->net->steps[s];
  size_t m = line_length(p, st);
  INTEGER(r);
  line l = {p, v, st, s, 0, m, p->net->near_bits, &r, allocate(m, sizeof(integer)), integer_zero()};
  bool known = !st->log;
  for (size_t i = 0; i < st->n_reads; i++)
    larger(&r, &near_read(p, v, (source){st->reads[i], 0})->r);
  for (l.e = sample; l.e < entries(p, s) && known; l.e += p->net->apart) {
    if (l.e != line_entry(p, st, l.e, 0))
      continue;
    fill_line(&l);
    mpz_set_ui(&l.off, 0);
    known = (st->kind == SOFTMAX ? softmax_line : normalize_line)(&l);
    keep_line(&l);
  }
  mpz_clear(&l.off);
  free(l.y);
  return known;
}
