/* Sums of a group's digits and of their squares, which are exact; what normalizations make of them. */
#include "network/pass/slices/moments.h"

#include "base/wide.h"

#include <cblas.h>
#undef I
#include <stdlib.h>
#include <string.h>

/* Sums that are begun side by side: additions wait for no other. */
#define SIDE_BY_SIDE ((size_t)8)

void
clarke_moments_clear(clarke_moments *m)
{
  if (m->bits > 0)
    mpfr_clears(m->inverse, m->shift, (mpfr_ptr)NULL);
  m->bits = 0;
}

void
clarke_origins_free(clarke_origin *origin, size_t n)
{
  for (size_t v = 0; origin != NULL && v < n; v++) {
    for (size_t g = 0; origin[v].moments != NULL && g < origin[v].n; g++)
      clarke_moments_clear(&origin[v].moments[g]);
    free(origin[v].moments);
  }
  free(origin);
}

/* --- sums ------------------------------------------------------------------------------------- */

/* Sums of digits by places, and of products of two by both: each is less than 2^63. */
typedef struct {
  int64_t sum[CLARKE_PLANES], product[CLARKE_PLANES * CLARKE_PLANES];
} group_sums;

/* Digits as doubles, and their sum. */
CLARKE_WIDE static double
widen_digits(double *to, const float *digit, size_t len)
{
  double part[SIDE_BY_SIDE] = {0}, sum = 0;
  size_t e = 0;

  for (; e + SIDE_BY_SIDE <= len; e += SIDE_BY_SIDE)
    for (size_t l = 0; l < SIDE_BY_SIDE; l++) {
      to[e + l] = (double)digit[e + l];
      part[l] += to[e + l];
    }
  for (; e < len; e++) {
    to[e] = (double)digit[e];
    sum += to[e];
  }
  for (size_t l = 0; l < SIDE_BY_SIDE; l++)
    sum += part[l];
  return sum;
}

/* The entries of a run of the group, of a block at most: 2^8 products of at most 2^40 are exact in doubles. */
static void
add_run(clarke_slicing *f, const clarke_sliced *x, group_sums *sums, size_t at, size_t len)
{
  const size_t planes = x->planes;
  double gram[CLARKE_PLANES * CLARKE_PLANES];

  for (size_t k = 0; k < planes; k++)
    sums->sum[k] += (int64_t)widen_digits(f->sum + k * len, x->digit + k * x->rows * f->n + at, len);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)planes, (int)planes, (int)len, 1, f->sum, (int)len, f->sum, (int)len, 0,
              gram, (int)planes);
  for (size_t p = 0; p < planes * planes; p++)
    sums->product[p] += (int64_t)gram[p];
}

static void
sum_group(clarke_slicing *f, const clarke_step *s, const clarke_sliced *x, group_sums *sums, size_t group)
{
  const clarke_grouping *o = &s->grouping;

  memset(sums, 0, sizeof *sums);
  for (size_t b = 0; b < o->blocks; b++) {
    const size_t first = (b * o->groups + group) * o->length * f->n, entries = o->length * f->n;

    for (size_t e = 0; e < entries; e += CLARKE_SLICE_BLOCK)
      add_run(f, x, sums, first + e, entries - e < CLARKE_SLICE_BLOCK ? entries - e : CLARKE_SLICE_BLOCK);
  }
}

static void
add_integer(mpz_t to, int64_t v)
{
  if (v >= 0)
    mpz_add_ui(to, to, (unsigned long)v);
  else
    mpz_sub_ui(to, to, (unsigned long)-v);
}

/* sum over places of sum[k] 2^(width k), and over two of product[a, b] 2^(width (a + b)) */
static void
join_places(mpz_t sum, mpz_t square, const group_sums *sums, size_t planes, long width)
{
  for (size_t k = planes; k-- > 0;) {
    mpz_mul_2exp(sum, sum, (mp_bitcnt_t)width);
    add_integer(sum, sums->sum[k]);
  }
  for (size_t k = 2 * planes - 1; k-- > 0;) {
    mpz_mul_2exp(square, square, (mp_bitcnt_t)width);
    for (size_t a = k < planes ? 0 : k - planes + 1; a <= k && a < planes; a++)
      add_integer(square, sums->product[a * planes + k - a]);
  }
}

/* deviation = sqrt((m square - sum^2) / m^2 2^(2 low) + epsilon), and -sum / m 2^low over it. Nothing is taken from anything but
 * integers: every operation is off by no more than 2^-bits of its result, and an error before the root counts half. */
static void
solve_group(clarke_moments *to, const clarke_step *s, const clarke_sliced *x, const group_sums *sums, long width, size_t m)
{
  mpz_t sum, square;

  mpz_inits(sum, square, NULL);
  join_places(sum, square, sums, x->planes, width);
  mpz_mul_ui(square, square, m);
  mpz_submul(square, sum, sum);
  mpfr_set_z(to->inverse, square, MPFR_RNDN);
  mpfr_div_ui(to->inverse, to->inverse, m, MPFR_RNDN);
  mpfr_div_ui(to->inverse, to->inverse, m, MPFR_RNDN);
  mpfr_mul_2si(to->inverse, to->inverse, 2 * x->low, MPFR_RNDN);
  mpfr_add_q(to->inverse, to->inverse, s->epsilon, MPFR_RNDN);
  mpfr_sqrt(to->inverse, to->inverse, MPFR_RNDN);
  to->least = clarke_down_by(mpfr_get_d(to->inverse, MPFR_RNDD), 4);
  mpfr_ui_div(to->inverse, 1, to->inverse, MPFR_RNDN);
  mpfr_mul_z(to->shift, to->inverse, sum, MPFR_RNDN);
  mpfr_div_ui(to->shift, to->shift, m, MPFR_RNDN);
  mpfr_mul_2si(to->shift, to->shift, x->low, MPFR_RNDN);
  mpfr_neg(to->shift, to->shift, MPFR_RNDN);
  mpz_clears(sum, square, NULL);
}

/* --- what is kept ----------------------------------------------------------------------------- */

/* The value that made so many rows from *row on of this one, at *row of its own: Concats moved them as they are, but for digits below
 * *low. */
static size_t
origin_of(const clarke_slicing *f, size_t value, size_t *row, size_t length, long *low)
{
  *low = f->origin[value].low;
  while (f->origin[value].moved) {
    const clarke_step *s = &f->g->steps[f->g->values[value].producer];
    size_t k = 0;

    while (k < s->n_in && clarke_operand_entry(&s->in[k], *row) == CLARKE_NONE)
      k++;
    if (k == s->n_in || clarke_operand_run(&s->in[k], *row, *row + length) < length)
      break;
    *row = clarke_operand_entry(&s->in[k], *row);
    value = s->in[k].value;
    *low = f->origin[value].low > *low ? f->origin[value].low : *low;
  }
  return value;
}

/* Where those of length rows of a value from `row` on are kept; NULL: nowhere. */
static clarke_moments *
kept_at(const clarke_slicing *f, size_t value, size_t row, size_t length)
{
  clarke_origin *o = &f->origin[value];

  if (o->moments == NULL) {
    o->length = length;
    o->n = f->g->values[value].count / length;
    o->moments = calloc(o->n + 1, sizeof *o->moments);
  }
  return o->moments != NULL && o->length == length && row % length == 0 && row / length < o->n ? &o->moments[row / length] : NULL;
}

const clarke_moments *
clarke_moments_find(clarke_slicing *f, const clarke_step *s, size_t g, mpfr_prec_t bits, clarke_moments *own)
{
  const clarke_sliced *x = &f->value[s->in[0].value];
  size_t row = g * s->grouping.length;
  long low = x->low;
  clarke_moments *to = own;
  group_sums sums;

  if (f->origin != NULL && s->grouping.blocks == 1) {
    const size_t value = origin_of(f, s->in[0].value, &row, s->grouping.length, &low);
    clarke_moments *kept = kept_at(f, value, row, s->grouping.length);

    if (kept != NULL && kept->bits >= bits && kept->low == low && mpq_equal(kept->epsilon, s->epsilon))
      return kept;
    to = kept != NULL ? kept : own;
  }
  clarke_moments_clear(to);
  mpfr_inits2(bits, to->inverse, to->shift, (mpfr_ptr)NULL);
  to->bits = bits;
  to->low = low;
  to->epsilon = s->epsilon;
  sum_group(f, s, x, &sums, g);
  solve_group(to, s, x, &sums, f->plan->width, clarke_step_group_size(s, f->n));
  return to;
}
