/* A matrix of rational numbers times an axis: their numerators over a common denominator are whole numbers. Those of over 53 bits are
 * sums of several doubles, each in a matrix of its own. What the product is divided by, in several steps where it is large. */
#include "op/resample.h"
#include "op/lower.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BITS 52        /* of a part of a numerator */
#define MOST_PARTS 4   /* of a numerator */

typedef struct {
  size_t n, entry[CLARKE_MOST_SHARES]; /* of each place */
  mpq_t share[CLARKE_MOST_SHARES];
} shares;

typedef struct {
  shares *of;       /* of each place */
  mpz_t common;     /* of all shares */
  mpz_t of_places;  /* of the places */
  size_t parts;     /* of the largest numerator */
} table;

clarke_status
clarke_places_init(clarke_places *p, const clarke_lowering *low, clarke_error *err)
{
  p->at = malloc((p->out + 1) * sizeof *p->at);
  p->apart = calloc(p->out + 1, sizeof *p->apart);
  if (p->at == NULL || p->apart == NULL) {
    free(p->at);
    free(p->apart);
    p->at = NULL;
    p->apart = NULL;
    return clarke_lower_no_memory(low, err);
  }
  for (size_t j = 0; j < p->out; j++)
    mpq_init(p->at[j]);
  return CLARKE_OK;
}

void
clarke_places_clear(clarke_places *p)
{
  for (size_t j = 0; p->at != NULL && j < p->out; j++)
    mpq_clear(p->at[j]);
  free(p->at);
  free(p->apart);
}

/* The place `at` of a crop from one share of the axis to another; of one place alone their middle. */
static void
place_in_crop(mpq_t at, bool *apart, const clarke_places *a, size_t j, const double roi[2])
{
  mpq_t begin, end;

  mpq_inits(begin, end, NULL);
  mpq_set_d(begin, roi[0]);
  mpq_set_d(end, roi[1]);
  mpq_sub(end, end, begin);
  mpq_set_ui(at, a->out > 1 ? j : 1, a->out > 1 ? a->out - 1 : 2);
  mpq_canonicalize(at);
  mpq_mul(at, at, end);
  mpq_add(at, at, begin);
  mpq_set_ui(end, a->in - 1, 1);
  mpq_mul(at, at, end);
  *apart = mpq_sgn(at) < 0 || mpq_cmp(at, end) > 0;
  mpq_clears(begin, end, NULL);
}

/* at becomes (j + 1/2) / scale - 1/2; symmetric: the middles of the axis and of its image are at one place, whatever was cut off. */
static void
place_of_half(mpq_t at, const clarke_places *a, mpq_srcptr scale, bool symmetric)
{
  mpq_t half, rest;

  mpq_inits(half, rest, NULL);
  mpq_set_ui(half, 1, 2);
  mpq_add(at, at, half);
  mpq_div(at, at, scale);
  mpq_sub(at, at, half);
  if (symmetric) { /* in / 2 (1 - out / (scale in)) = (in - out / scale) / 2 */
    mpq_set_ui(rest, a->out, 1);
    mpq_div(rest, rest, scale);
    mpq_set_ui(half, a->in, 1);
    mpq_sub(rest, half, rest);
    mpq_div_2exp(rest, rest, 1);
    mpq_add(at, at, rest);
  }
  mpq_clears(half, rest, NULL);
}

void
clarke_places_set(clarke_places *a, size_t j, mpq_srcptr scale, const char *how, const double roi[2])
{
  mpq_ptr at = a->at[j];

  mpq_set_ui(at, j, 1);
  if (strcmp(how, "tf_crop_and_resize") == 0)
    place_in_crop(at, &a->apart[j], a, j, roi);
  else if (strcmp(how, "asymmetric") == 0)
    mpq_div(at, at, scale);
  else if (strcmp(how, "align_corners") == 0) {
    mpq_set_ui(at, a->out > 1 ? j * (a->in - 1) : 0, a->out > 1 ? a->out - 1 : 1);
    mpq_canonicalize(at);
  } else if (strcmp(how, "pytorch_half_pixel") != 0 || a->out > 1)
    place_of_half(at, a, scale, strcmp(how, "half_pixel_symmetric") == 0);
  else
    mpq_set_ui(at, 0, 1);
}

/* share becomes (a + 2) r^3 - (a + 3) r^2 + 1, which an entry has that is r away, r at most 1. */
static void
set_near(mpq_t share, mpq_srcptr r, mpq_srcptr a)
{
  mpq_t term;

  mpq_init(term);
  mpq_set_ui(share, 2, 1);
  mpq_add(share, share, a);
  mpq_mul(share, share, r);
  mpq_set_ui(term, 3, 1);
  mpq_add(term, term, a);
  mpq_sub(share, share, term);
  mpq_mul(share, share, r);
  mpq_mul(share, share, r);
  mpq_set_ui(term, 1, 1);
  mpq_add(share, share, term);
  mpq_clear(term);
}

/* share becomes a r (1 - r)^2, which an entry has that is 1 + r away. */
static void
set_far(mpq_t share, mpq_srcptr r, mpq_srcptr a)
{
  mpq_t rest;

  mpq_init(rest);
  mpq_set_ui(rest, 1, 1);
  mpq_sub(rest, rest, r);
  mpq_mul(share, r, rest);
  mpq_mul(share, share, rest);
  mpq_mul(share, share, a);
  mpq_clear(rest);
}

void
clarke_cubic_shares(mpq_t *share, mpq_srcptr r, mpq_srcptr a)
{
  mpq_t rest;

  mpq_init(rest);
  mpq_set_ui(rest, 1, 1);
  mpq_sub(rest, rest, r);
  set_far(share[0], r, a);
  set_near(share[1], r, a);
  set_near(share[2], rest, a);
  set_far(share[3], rest, a);
  mpq_clear(rest);
}

/* Entries that are outside become the first or the last, or lose their shares; of one entry the shares are added. */
static void
gather_shares(shares *s, const clarke_places *p, mpz_srcptr first, bool exclude)
{
  const size_t taps = s->n;
  mpz_t at;

  mpz_init(at);
  s->n = 0;
  for (size_t k = 0; k < taps; k++) {
    size_t known = 0;

    mpz_add_ui(at, first, k);
    const bool outside = mpz_sgn(at) < 0 || mpz_cmp_ui(at, p->in - 1) > 0;
    const size_t entry = mpz_sgn(at) < 0 ? 0 : outside ? p->in - 1 : mpz_get_ui(at);

    if (mpq_sgn(s->share[k]) == 0 || (outside && exclude))
      continue;
    while (known < s->n && s->entry[known] != entry)
      known++;
    if (known < s->n)
      mpq_add(s->share[known], s->share[known], s->share[k]);
    else {
      mpq_set(s->share[s->n], s->share[k]);
      s->entry[s->n++] = entry;
    }
  }
  mpz_clear(at);
}

/* Shares that do not make 1 are divided by their sum. */
static clarke_status
make_whole(shares *s, const clarke_lowering *low, clarke_error *err)
{
  mpq_t sum;
  bool none;

  mpq_init(sum);
  for (size_t k = 0; k < s->n; k++)
    mpq_add(sum, sum, s->share[k]);
  none = mpq_sgn(sum) == 0;
  for (size_t k = 0; k < s->n && !none; k++)
    mpq_div(s->share[k], s->share[k], sum);
  mpq_clear(sum);
  return none ? clarke_lower_fail(low, err, "a place has no entries inside, whose shares are 1 in all") : CLARKE_OK;
}

/* What place j has of the entries. A linear one that lies outside is the first entry, or the last. */
static clarke_status
find_shares(shares *s, const clarke_places *p, const clarke_kernel *kernel, size_t j, const clarke_lowering *low, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  mpz_t first;
  mpq_t r;

  if (p->apart[j])
    return CLARKE_OK;
  mpz_init(first);
  mpq_init(r);
  mpz_fdiv_q(first, mpq_numref(p->at[j]), mpq_denref(p->at[j]));
  mpq_set_z(r, first);
  mpq_sub(r, p->at[j], r);
  s->n = kernel->cubic ? 4 : 2;
  if (kernel->cubic) {
    clarke_cubic_shares(s->share, r, kernel->a);
    mpz_sub_ui(first, first, 1);
  } else {
    mpq_set(s->share[1], r);
    mpq_set_ui(s->share[0], 1, 1);
    mpq_sub(s->share[0], s->share[0], r);
  }
  gather_shares(s, p, first, kernel->exclude);
  if (kernel->exclude)
    status = make_whole(s, low, err);
  mpz_clear(first);
  mpq_clear(r);
  return status;
}

static void
table_clear(table *t, size_t places)
{
  for (size_t j = 0; t->of != NULL && j < places; j++)
    for (size_t k = 0; k < CLARKE_MOST_SHARES; k++)
      mpq_clear(t->of[j].share[k]);
  free(t->of);
  mpz_clears(t->common, t->of_places, NULL);
}

/* The table is to be cleared, whatever is returned. */
static clarke_status
table_init(table *t, const clarke_places *p, const clarke_kernel *kernel, const clarke_lowering *low, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  mpz_inits(t->common, t->of_places, NULL);
  mpz_set_ui(t->common, 1);
  mpz_set_ui(t->of_places, 1);
  t->of = calloc(p->out + 1, sizeof *t->of);
  if (t->of == NULL)
    return clarke_lower_no_memory(low, err);
  for (size_t j = 0; j < p->out; j++)
    for (size_t k = 0; k < CLARKE_MOST_SHARES; k++)
      mpq_init(t->of[j].share[k]);
  for (size_t j = 0; j < p->out && status == CLARKE_OK; j++) {
    status = find_shares(&t->of[j], p, kernel, j, low, err);
    mpz_lcm(t->of_places, t->of_places, mpq_denref(p->at[j]));
    for (size_t k = 0; k < t->of[j].n; k++)
      mpz_lcm(t->common, t->common, mpq_denref(t->of[j].share[k]));
    if (status == CLARKE_OK && mpz_sizeinbase(t->common, 2) > BITS * MOST_PARTS)
      status = clarke_lower_fail(low, err, "the shares of an axis have a common denominator of over %d bits: give sizes, not scales, or "
                                           "a scale that is a fraction of small numbers", BITS * MOST_PARTS);
  }
  return status;
}

/* The numerator of a share over the common denominator. */
static void
numerator(mpz_t n, const table *t, mpq_srcptr share)
{
  mpz_divexact(n, t->common, mpq_denref(share));
  mpz_mul(n, n, mpq_numref(share));
}

static void
count_parts(table *t, size_t places)
{
  mpz_t n;

  mpz_init(n);
  t->parts = 1;
  for (size_t j = 0; j < places; j++)
    for (size_t k = 0; k < t->of[j].n; k++) {
      numerator(n, t, t->of[j].share[k]);
      while (mpz_sizeinbase(n, 2) > t->parts * BITS)
        t->parts++;
    }
  mpz_clear(n);
}

/* The matrix (out x in) of part `part` of the numerators, each a whole number of BITS bits times a power of two. */
static clarke_status
make_part(const table *t, const clarke_places *p, size_t part, clarke_lowering *low, size_t *weight, clarke_error *err)
{
  const size_t dims[2] = {p->out, p->in};
  const clarke_status status = clarke_lower_made(low, 2, dims, weight, err);
  mpz_t n;
  double *w;

  if (status != CLARKE_OK)
    return status;
  w = low->graph->values[*weight].real;
  mpz_init(n);
  for (size_t j = 0; j < p->out; j++)
    for (size_t k = 0; k < t->of[j].n; k++) {
      numerator(n, t, t->of[j].share[k]);
      mpz_tdiv_q_2exp(n, n, part * BITS);
      mpz_tdiv_r_2exp(n, n, BITS);
      w[j * p->in + t->of[j].entry[k]] = ldexp(mpz_get_d(n), (int)(part * BITS));
    }
  mpz_clear(n);
  return CLARKE_OK;
}

/* The sum of the parts' products. */
static clarke_status
add_products(const table *t, const clarke_places *p, clarke_lowering *low, clarke_dense shape, size_t rank, const size_t *dims,
             size_t *value, clarke_error *err)
{
  size_t part[MOST_PARTS] = {0};
  clarke_step *s;

  for (size_t k = 0; k < t->parts; k++) {
    const clarke_status status = make_part(t, p, k, low, &shape.weight, err);

    if (status != CLARKE_OK)
      return status;
    s = clarke_lower_step(low, CLARKE_DENSE, 1, rank, dims, err);
    if (s == NULL)
      return err != NULL ? err->code : CLARKE_ENOMEM;
    s->in[0].value = *value;
    s->dense = shape;
    part[k] = s->out;
  }
  *value = part[0];
  if (t->parts == 1)
    return CLARKE_OK;
  s = clarke_lower_step_like(low, CLARKE_SUM, t->parts, part[0], err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  for (size_t k = 0; k < t->parts; k++)
    s->in[k].value = part[k];
  *value = s->out;
  return CLARKE_OK;
}

/* *value divided by a whole number of at most 53 bits. */
static clarke_status
divide(clarke_lowering *low, mpz_srcptr by, size_t *value, clarke_error *err)
{
  const size_t one = 1;
  size_t divisor;
  clarke_step *s;
  const clarke_status status = clarke_lower_made(low, 1, &one, &divisor, err);

  if (status != CLARKE_OK)
    return status;
  low->graph->values[divisor].real[0] = mpz_get_d(by);
  s = clarke_lower_step_like(low, CLARKE_SCALE, 2, *value, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  s->in[1].value = divisor;
  s->divide = true;
  *value = s->out;
  return clarke_lower_periodic(low, s, 1, 1, 1, err);
}

/* *value divided by the common denominator: at once, or by factors that it has with the places', as long as it is too large. */
static clarke_status
divide_all(const table *t, clarke_lowering *low, size_t *value, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  mpz_t rest, factor;

  mpz_inits(rest, factor, NULL);
  mpz_set(rest, t->common);
  while (status == CLARKE_OK && mpz_sizeinbase(rest, 2) > 53) {
    mpz_gcd(factor, rest, t->of_places);
    if (mpz_cmp_ui(factor, 1) == 0 || mpz_sizeinbase(factor, 2) > 53)
      status = clarke_lower_fail(low, err, "the shares of an axis have a common denominator with a factor of over 53 bits: give sizes, "
                                           "not scales, or a scale that is a fraction of small numbers");
    if (status == CLARKE_OK)
      status = divide(low, factor, value, err);
    mpz_divexact(rest, rest, factor);
  }
  if (status == CLARKE_OK)
    status = divide(low, rest, value, err);
  mpz_clears(rest, factor, NULL);
  return status;
}

clarke_status
clarke_resample(const clarke_places *p, const clarke_kernel *kernel, clarke_lowering *low, size_t blocks, size_t repeat, size_t rank,
                const size_t *dims, size_t *value, clarke_error *err)
{
  const clarke_dense shape = {.blocks = blocks, .inner = p->in, .outer = p->out, .repeat = repeat};
  table t;
  clarke_status status = table_init(&t, p, kernel, low, err);

  if (status == CLARKE_OK) {
    count_parts(&t, p->out);
    status = add_products(&t, p, low, shape, rank, dims, value, err);
  }
  if (status == CLARKE_OK)
    status = divide_all(&t, low, value, err);
  table_clear(&t, p->out);
  return status;
}
