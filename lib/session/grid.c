#include "session/grid.h"

#include "base/stop.h"
#include "base/verdict.h"
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

/* precision: bits; the least normal number is 2^emin, the largest has the exponent emax. */
static const struct {
  long precision, emin, emax;
} formats[] = {
  [CLARKE_IEEE_F16] = {11, -14, 15},
  [CLARKE_IEEE_BF16] = {8, -126, 127},
  [CLARKE_IEEE_F32] = {24, -126, 127},
  [CLARKE_IEEE_F64] = {53, -1022, 1023},
};

/* The exponent of q > 0: 2^e <= q < 2^(e + 1). */
static long
exponent(const mpq_t q)
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
  const long p = formats[format].precision, emin = formats[format].emin;
  long e = exponent(q);
  mpz_t most;
  mpq_t x;

  mpz_init_set_ui(most, (unsigned long)(formats[format].emax - emin + 2));
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

/* --- the program along the segment ------------------------------------------------------------- */

/* Values by instruction at increasing t; between neighbours each is affine. */
typedef struct {
  const clarke_code *p;
  size_t n, done;  /* points; instructions that have values */
  mpq_t *t;        /* n */
  mpq_t **value;   /* by instruction: n */
} course;

static void
course_clear(course *c)
{
  for (size_t i = 0; c->value != NULL && i < c->p->n; i++)
    clarke_rationals_free(c->value[i], c->value[i] != NULL ? c->n : 0);
  free(c->value);
  clarke_rationals_free(c->t, c->t != NULL ? c->n : 0);
}

/* row = the same with a number between k and k + 1, by the share s. */
static clarke_status
widen(mpq_t **row, size_t n, size_t k, const mpq_t s, clarke_error *err)
{
  mpq_t *wide = clarke_rationals(n + 1);

  if (wide == NULL)
    return clarke_no_memory(err);
  for (size_t j = 0; j <= n; j++)
    if (j != k + 1)
      mpq_set(wide[j], (*row)[j - (j > k)]);
  mpq_sub(wide[k + 1], wide[k + 2], wide[k]);
  mpq_mul(wide[k + 1], wide[k + 1], s);
  mpq_add(wide[k + 1], wide[k + 1], wide[k]);
  clarke_rationals_free(*row, n);
  *row = wide;
  return CLARKE_OK;
}

#define MOST_POINTS 100000

/* A point more between k and k + 1, at the share s of the way. */
static clarke_status
insert(course *c, size_t k, const mpq_t s, clarke_error *err)
{
  clarke_status status = clarke_work_check(err);

  if (status == CLARKE_OK && c->n >= MOST_POINTS)
    status = clarke_fail(err, CLARKE_EINPUT, "more than %d points where a kink is met", MOST_POINTS);
  if (status == CLARKE_OK)
    status = widen(&c->t, c->n, k, s, err);
  if (status != CLARKE_OK)
    return status;
  for (size_t i = 0; i < c->p->n && status == CLARKE_OK; i++)
    if (c->value[i] != NULL)
      status = widen(&c->value[i], c->n, k, s, err);
  c->n++;
  clarke_work_spend(c->n * c->done);
  return status;
}

/* Where a - b changes its sign between two points, there is a point more. b: NULL, and then `number`. */
static clarke_status
cut(course *c, size_t a, size_t b, mpq_srcptr number, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  mpq_t d[2];

  mpq_init(d[0]);
  mpq_init(d[1]);
  for (size_t k = 0; k + 1 < c->n && status == CLARKE_OK; k++) {
    for (size_t j = 0; j < 2; j++)
      mpq_sub(d[j], c->value[a][k + j], number != NULL ? number : c->value[b][k + j]);
    if (mpq_sgn(d[0]) * mpq_sgn(d[1]) >= 0)
      continue;
    mpq_sub(d[1], d[0], d[1]);
    mpq_div(d[0], d[0], d[1]);
    status = insert(c, k, d[0], err);
  }
  mpq_clear(d[0]);
  mpq_clear(d[1]);
  return status;
}

static clarke_status
refuse(const course *c, size_t i, clarke_error *err)
{
  return clarke_code_fail(c->p, i, err, "not piecewise linear in what varies: of such a program numbers in zones are not counted");
}

/* Pieces of degree 1 that meet at the kinks. */
static bool
is_bent_line(const clarke_pieces *p)
{
  bool is = p->slope == CLARKE_NONE;
  mpq_t left, right;

  mpq_init(left);
  mpq_init(right);
  for (size_t k = 0; k <= p->n_kinks; k++)
    is = is && mpq_sgn(p->coef[k][2]) == 0;
  for (size_t k = 0; k < p->n_kinks; k++) {
    mpq_mul(left, p->coef[k][1], p->kink[k]);
    mpq_add(left, left, p->coef[k][0]);
    mpq_mul(right, p->coef[k + 1][1], p->kink[k]);
    mpq_add(right, right, p->coef[k + 1][0]);
    is = is && mpq_equal(left, right);
  }
  mpq_clear(left);
  mpq_clear(right);
  return is;
}

/* All points where the instruction's side may change. */
static clarke_status
cut_at(course *c, size_t i, clarke_error *err)
{
  const clarke_instruction *in = &c->p->instruction[i];
  clarke_status status = CLARKE_OK;

  if (in->kind == CLARKE_DO_PIECEWISE) {
    if (!is_bent_line(in->pieces))
      return refuse(c, i, err);
    for (size_t k = 0; k < in->pieces->n_kinks && status == CLARKE_OK; k++)
      status = cut(c, in->in[0], 0, in->pieces->kink[k], err);
    return status;
  }
  for (size_t a = 0; in->kind == CLARKE_DO_ORDER && a < in->n_in; a++)
    for (size_t b = 0; b < a && status == CLARKE_OK; b++)
      status = cut(c, in->in[a], in->in[b], NULL, err);
  return status;
}

static void
piece_value(mpq_t y, const clarke_pieces *p, const mpq_t x)
{
  size_t piece = 0;

  while (piece < p->n_kinks && mpq_cmp(x, p->kink[piece]) > 0)
    piece++;
  mpq_mul(y, p->coef[piece][1], x);
  mpq_add(y, y, p->coef[piece][0]);
}

/* The rank-th largest. */
static void
order_value(mpq_t y, const course *c, const clarke_instruction *in, size_t k)
{
  for (size_t a = 0; a < in->n_in; a++) {
    size_t above = 0, level = 0;

    for (size_t b = 0; b < in->n_in; b++) {
      const int sign = mpq_cmp(c->value[in->in[b]][k], c->value[in->in[a]][k]);

      above += sign > 0;
      level += sign == 0;
    }
    if (above < in->rank && in->rank <= above + level) {
      mpq_set(y, c->value[in->in[a]][k]);
      return;
    }
  }
}

static void
linear_value(mpq_t y, const course *c, const clarke_instruction *in, size_t k)
{
  mpq_t x;

  mpq_init(x);
  mpq_set(y, in->coef[in->n_in]);
  for (size_t a = 0; a < in->n_in; a++) {
    mpq_mul(x, in->coef[a], c->value[in->in[a]][k]);
    mpq_add(y, y, x);
  }
  mpq_clear(x);
}

/* The instruction's values, behind its cuts. Inputs have theirs. */
static clarke_status
compute(course *c, size_t i, clarke_error *err)
{
  const clarke_instruction *in = &c->p->instruction[i];
  clarke_status status = cut_at(c, i, err);

  if (status != CLARKE_OK || in->kind == CLARKE_DO_INPUT)
    return status;
  if (in->kind != CLARKE_DO_CONSTANT && in->kind != CLARKE_DO_LINEAR && in->kind != CLARKE_DO_PIECEWISE && in->kind != CLARKE_DO_ORDER)
    return refuse(c, i, err);
  c->value[i] = clarke_rationals(c->n);
  if (c->value[i] == NULL)
    return clarke_no_memory(err);
  for (size_t k = 0; k < c->n; k++)
    switch (in->kind) {
    case CLARKE_DO_CONSTANT:
      mpq_set(c->value[i][k], in->coef[0]);
      break;
    case CLARKE_DO_LINEAR:
      linear_value(c->value[i][k], c, in, k);
      break;
    case CLARKE_DO_PIECEWISE:
      piece_value(c->value[i][k], in->pieces, c->value[in->in[0]][k]);
      break;
    default:
      order_value(c->value[i][k], c, in, k);
    }
  return CLARKE_OK;
}

/* From t = 0 to 1. */
static clarke_status
begin(course *c, const clarke_code *p, mpq_t *a, mpq_t *b, clarke_error *err)
{
  *c = (course){.p = p, .n = 2, .t = clarke_rationals(2), .value = calloc(p->n + 1, sizeof *c->value)};
  if (c->t == NULL || c->value == NULL)
    return clarke_no_memory(err);
  mpq_set_ui(c->t[1], 1, 1);
  for (size_t i = 0; i < p->n; i++) {
    const size_t entry = p->instruction[i].kind == CLARKE_DO_INPUT ? clarke_code_entry(p, i) : CLARKE_NONE;

    if (entry == CLARKE_NONE)
      continue;
    c->value[i] = clarke_rationals(2);
    if (c->value[i] == NULL)
      return clarke_no_memory(err);
    mpq_set(c->value[i][0], a[entry]);
    mpq_set(c->value[i][1], b[entry]);
  }
  return CLARKE_OK;
}

/* --- zones ------------------------------------------------------------------------------------- */

/* Do choices at kinks that are touched there lead to several results? */
static clarke_status
parts(clarke_truth *several, const clarke_code *p, mpq_t *at, clarke_error *err)
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

/* at = a + t (b - a), t halfway between two. */
static void
point_between(mpq_t *at, mpq_t *a, mpq_t *b, size_t n, const mpq_t s, const mpq_t t)
{
  mpq_t x, half;

  mpq_init(x);
  mpq_init(half);
  mpq_add(half, s, t);
  mpq_div_2exp(half, half, 1);
  for (size_t i = 0; i < n; i++) {
    mpq_sub(x, b[i], a[i]);
    mpq_mul(x, x, half);
    mpq_add(at[i], a[i], x);
  }
  mpq_clear(x);
  mpq_clear(half);
}

/* What is met between t[k] and t[j], or at it where they are one: so many numbers of the format more in the zone, or not known. */
static clarke_status
add_part(clarke_grid *g, const course *c, mpq_t **end, size_t k, size_t j, size_t entry, clarke_ieee format, clarke_error *err)
{
  const size_t n = clarke_code_entries(c->p);
  mpq_t *at = clarke_rationals(n), *from = clarke_rationals(n), *to = clarke_rationals(n);
  clarke_truth several;
  clarke_status status = at != NULL && from != NULL && to != NULL ? CLARKE_OK : clarke_no_memory(err);

  if (status == CLARKE_OK) {
    point_between(from, end[0], end[1], n, c->t[k], c->t[k]);
    point_between(to, end[0], end[1], n, c->t[j], c->t[j]);
    point_between(at, end[0], end[1], n, c->t[k], c->t[j]);
    status = parts(&several, c->p, at, err);
  }
  if (status == CLARKE_OK && several != CLARKE_NO) {
    const bool turned = mpq_cmp(from[entry], to[entry]) > 0;
    mpz_t count;

    mpz_init(count);
    clarke_grid_count(count, format, turned ? to[entry] : from[entry], turned ? from[entry] : to[entry], k != j);
    mpz_add(several == CLARKE_YES ? g->bifurcation : g->unknown, several == CLARKE_YES ? g->bifurcation : g->unknown, count);
    mpz_clear(count);
    g->zones += several == CLARKE_YES;
  }
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
  course c = {0};
  size_t entry;
  mpq_t *end[2] = {a, b};
  clarke_status status = find_entry(&entry, a, b, f->n, err);

  if (status != CLARKE_OK)
    return status;
  status = begin(&c, &f->program, a, b, err);
  for (size_t i = 0; i < f->program.n && status == CLARKE_OK; i++) {
    c.done = i;
    status = compute(&c, i, err);
  }
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
  course_clear(&c);
  return status;
}
