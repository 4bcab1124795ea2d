/* Park, Chun and Lee's lemmas about functions of one variable, and the ranks of their first scenario (suite.h). */
#include "suite.h"
#include "suite_posed.h"

#include "base/status.h"

#include <gmp.h>
#include <stdlib.h>
#include <flint/flint.h>
#include <flint/fmpz_poly.h>
#include <flint/nmod_mat.h>

/* --- Lemma 9 ----------------------------------------------------------------------------------- */

#define MOST_TERMS 4

/* A piece is a[0] + a[1] x + ...: its value and its derivative at h, exactly. */
static void
value_at(mpq_t y, mpq_t slope, const long *a, const mpq_t h)
{
  mpq_t x;

  mpq_init(x);
  mpq_set_ui(y, 0, 1);
  mpq_set_ui(slope, 0, 1);
  for (int k = MOST_TERMS - 1; k >= 0; k--) {
    mpq_mul(slope, slope, h);
    mpq_add(slope, slope, y);
    mpq_mul(y, y, h);
    mpq_set_si(x, a[k], 1);
    mpq_add(y, y, x);
  }
  mpq_clear(x);
}

/* On the side where h is: is (f(h) - f(0)) / h as near to `slope` as 100 |h|, and f'(h)? */
static bool
nears(const long *a, long slope, int side, unsigned bits)
{
  mpq_t h, y, quotient, derivative, most;
  bool near;

  mpq_inits(h, y, quotient, derivative, most, NULL);
  mpq_set_si(h, side, 1);
  mpq_div_2exp(h, h, bits);
  value_at(quotient, derivative, a, h);
  mpq_set_si(y, a[0], 1);
  mpq_sub(quotient, quotient, y);
  mpq_div(quotient, quotient, h);
  mpq_set_si(y, slope, 1);
  mpq_sub(quotient, quotient, y);
  mpq_sub(derivative, derivative, y);
  mpq_abs(quotient, quotient);
  mpq_abs(derivative, derivative);
  mpq_set_ui(most, 100, 1);
  mpq_div_2exp(most, most, bits);
  near = mpq_cmp(quotient, most) <= 0 && mpq_cmp(derivative, most) <= 0;
  mpq_clears(h, y, quotient, derivative, most, NULL);
  return near;
}

static void
put_polynomial(FILE *to, const long *a)
{
  fprintf(to, "(%ld) + (%ld)*w[0] + (%ld)*w[0]*w[0] + (%ld)*w[0]*w[0]*w[0]", a[0], a[1], a[2], a[3]);
}

/* Two polynomials that meet at 0. */
static clarke_status
pose_pieces(clarke_posed *q, const long *left, const long *right, clarke_error *err)
{
  static const long at[1] = {0};
  clarke_text t;
  const clarke_status status = clarke_text_open(&t, err);

  if (status != CLARKE_OK)
    return status;
  fputs("input w[1]\noutput if w[0] < 0 then ", t.to);
  put_polynomial(t.to, left);
  fputs(" else ", t.to);
  put_polynomial(t.to, right);
  fputs("\n", t.to);
  return clarke_posed_read(q, &t, at, 1, err);
}

/* Lemma 9: a function of pieces is differentiable at a point if and only if its derivative is continuous there. Two polynomials that meet:
 * where both quotients near 0 go to one number, so do the derivatives, and then alone it is called differentiable. Those that are not
 * differ. */
clarke_status
clarke_suite_lemma_9(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  long left[MOST_TERMS], right[MOST_TERMS];
  bool one = true;
  clarke_posed q;
  clarke_status status;

  for (size_t k = 0; k < MOST_TERMS; k++) {
    left[k] = clarke_draw_between(d, -3, 3);
    right[k] = clarke_draw_between(d, -3, 3);
  }
  right[0] = left[0];
  if (clarke_draw_below(d, 2) == 0)
    right[1] = left[1];
  for (unsigned bits = 20; bits <= 60; bits += 20)
    one = one && nears(left, left[1], -1, bits) && nears(right, left[1], 1, bits);
  clarke_posed_init(&q);
  status = pose_pieces(&q, left, right, err);
  if (status == CLARKE_OK)
    status = clarke_posed_derive(&q, err);
  if (status == CLARKE_OK) {
    t->of[CLARKE_COUNT_DIFFER] += !one;
    clarke_suite_add(t, q.d.differentiable == CLARKE_UNKNOWN ? CLARKE_UNKNOWN : (q.d.differentiable == CLARKE_YES) == one ? CLARKE_YES : CLARKE_NO);
  }
  clarke_posed_clear(&q);
  return status;
}

/* --- Lemma 10 ---------------------------------------------------------------------------------- */

#define MOST_DEGREE 6

/* f(x + t) = a[0] + a[1] t + ...; the first coefficient but a[0] that is not 0 is a[order]. */
typedef struct {
  long a[MOST_DEGREE + 1], order;
} series;

static void
draw_series(series *f, clarke_draws *d)
{
  const long zeros = (long)clarke_draw_below(d, 4);

  do {
    f->order = 0;
    for (long j = 0; j <= MOST_DEGREE; j++)
      f->a[j] = j > 0 && j <= zeros ? 0 : clarke_draw_between(d, -5, 5);
    for (long j = MOST_DEGREE; j > 0; j--)
      f->order = f->a[j] != 0 ? j : f->order;
  } while (f->order == 0);
}

/* The part of the derivative that may change its sign, f'(x + t) / t^(order - 1), at t = (p / q) u times a power of q. */
static void
scaled_derivative(fmpz_poly_t g, const series *f, long p, long q)
{
  const long degree = MOST_DEGREE - f->order;
  fmpz_t x, y;

  fmpz_init(x);
  fmpz_init(y);
  fmpz_poly_zero(g);
  for (long k = 0; k <= degree; k++) {
    fmpz_set_si(x, p);
    fmpz_pow_ui(x, x, (ulong)k);
    fmpz_set_si(y, q);
    fmpz_pow_ui(y, y, (ulong)(degree - k));
    fmpz_mul(x, x, y);
    fmpz_mul_si(x, x, (k + f->order) * f->a[k + f->order]);
    fmpz_poly_set_coeff_fmpz(g, k, x);
  }
  fmpz_clear(x);
  fmpz_clear(y);
}

/* h(s) = (s + 1)^n g((s - 1) / (s + 1)): its roots above 0 are those of g between -1 and 1. */
static void
map_interval(fmpz_poly_t h, const fmpz_poly_t g)
{
  const slong n = fmpz_poly_degree(g);
  fmpz_poly_t minus, plus, a, b;

  fmpz_poly_init(minus);
  fmpz_poly_init(plus);
  fmpz_poly_init(a);
  fmpz_poly_init(b);
  fmpz_poly_set_str(minus, "2  -1 1");
  fmpz_poly_set_str(plus, "2  1 1");
  fmpz_poly_zero(h);
  for (slong k = 0; k <= n; k++) {
    fmpz_poly_pow(a, minus, (ulong)k);
    fmpz_poly_pow(b, plus, (ulong)(n - k));
    fmpz_poly_mul(a, a, b);
    fmpz_poly_scalar_mul_fmpz(a, a, fmpz_poly_get_coeff_ptr(g, k) != NULL ? fmpz_poly_get_coeff_ptr(g, k) : &(fmpz){0});
    fmpz_poly_add(h, h, a);
  }
  fmpz_poly_clear(minus);
  fmpz_poly_clear(plus);
  fmpz_poly_clear(a);
  fmpz_poly_clear(b);
}

/* Has the derivative, but for its root at x itself, none from x - p / q to x + p / q? By Sturm's theorem. */
static bool
no_root_within(const series *f, long p, long q)
{
  fmpz_poly_t g, h, common;
  fmpz_t one, value;
  slong below = 0, above = 0;
  bool ends = true;

  fmpz_poly_init(g);
  fmpz_poly_init(h);
  fmpz_poly_init(common);
  fmpz_init(value);
  scaled_derivative(g, f, p, q);
  for (long u = -1; u <= 1; u += 2) {
    fmpz_init_set_si(one, u);
    fmpz_poly_evaluate_fmpz(value, g, one);
    ends = ends && !fmpz_is_zero(value);
    fmpz_clear(one);
  }
  map_interval(h, g);
  fmpz_poly_derivative(common, h);
  fmpz_poly_gcd(common, common, h);
  fmpz_poly_div(h, h, common);
  if (fmpz_poly_degree(h) > 0)
    _fmpz_poly_num_real_roots_sturm(&below, &above, h->coeffs, h->length);
  fmpz_poly_clear(g);
  fmpz_poly_clear(h);
  fmpz_poly_clear(common);
  fmpz_clear(value);
  return ends && above == 0;
}

/* Lemma 10: within epsilon = min(1, i |a_i| / (2 (1 + sum of j |a_j|))), over j > i = order, a function is strictly monotone on each side of
 * x. A hundred times as far it need not be: such instances differ. */
clarke_status
clarke_suite_lemma_10(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  series f;
  long p, q = 1;

  (void)err;
  draw_series(&f, d);
  for (long j = f.order + 1; j <= MOST_DEGREE; j++)
    q += j * labs(f.a[j]);
  q *= 2;
  p = f.order * labs(f.a[f.order]);
  if (p > q)
    p = q = 1;
  clarke_suite_add(t, no_root_within(&f, p, q) ? CLARKE_YES : CLARKE_NO);
  t->of[CLARKE_COUNT_DIFFER] += !no_root_within(&f, 100 * p, q);
  return CLARKE_OK;
}

/* --- Lemma 11 ---------------------------------------------------------------------------------- */

/* Piecewise linear: value at the first kink, and slopes. */
typedef struct {
  size_t n_kinks;
  long kink[3], slope[4], value;
} bent;

static const bent functions[] = {
  {1, {0}, {0, 1}, 0},                /* relu */
  {2, {0, 6}, {0, 1, 0}, 0},          /* relu6 */
  {2, {-1, 1}, {0, 1, 0}, -1},        /* hardtanh */
  {1, {0}, {-1, 1}, 0},               /* abs */
  {3, {-1, 0, 2}, {1, -1, 2, 0}, 0},  /* up, down, up */
};

/* y = rho(x). */
static void
bend(mpq_t y, const bent *rho, const mpq_t x)
{
  mpq_t from, to, by;

  mpq_init(from);
  mpq_init(to);
  mpq_init(by);
  mpq_set_si(y, rho->value, 1);
  mpq_set_si(from, rho->kink[0], 1);
  if (mpq_cmp(x, from) < 0) {
    mpq_sub(to, x, from);
    mpq_set_si(by, rho->slope[0], 1);
    mpq_mul(to, to, by);
    mpq_add(y, y, to);
  }
  for (size_t k = 0; k < rho->n_kinks && mpq_cmp_si(x, rho->kink[k], 1) > 0; k++) {
    mpq_set_si(from, rho->kink[k], 1);
    mpq_set(to, x);
    if (k + 1 < rho->n_kinks && mpq_cmp_si(x, rho->kink[k + 1], 1) > 0)
      mpq_set_si(to, rho->kink[k + 1], 1);
    mpq_sub(to, to, from);
    mpq_set_si(by, rho->slope[k + 1], 1);
    mpq_mul(to, to, by);
    mpq_add(y, y, to);
  }
  mpq_clear(from);
  mpq_clear(to);
  mpq_clear(by);
}

/* The slope at x; at a kink that on the side to which a function with that rate leaves. */
static long
slope_at(const bent *rho, long x, long rate, bool *touched)
{
  size_t piece = 0;

  *touched = false;
  for (size_t k = 0; k < rho->n_kinks; k++) {
    *touched = *touched || x == rho->kink[k];
    piece += x > rho->kink[k] || (x == rho->kink[k] && rate > 0);
  }
  return rho->slope[piece];
}

/* f[0] + f[1] t + f[2] t^2, bent. */
static void
bent_at(mpq_t y, const bent *rho, const long *f, const mpq_t t)
{
  mpq_t x, a;

  mpq_init(x);
  mpq_init(a);
  for (int k = 2; k >= 0; k--) {
    mpq_mul(x, x, t);
    mpq_set_si(a, f[k], 1);
    mpq_add(x, x, a);
  }
  bend(y, rho, x);
  mpq_clear(x);
  mpq_clear(a);
}

/* -1, 0 or 1: how rho(f) and rho(g) compare at t = 10^-digits (SIZE_MAX: at 0). */
static int
compared(const bent *rho, const long *f, const long *g, size_t digits)
{
  mpq_t t, a, b;
  int sign;

  mpq_init(t);
  mpq_init(a);
  mpq_init(b);
  if (digits != SIZE_MAX) {
    mpz_set_ui(mpq_numref(t), 1);
    mpz_ui_pow_ui(mpq_denref(t), 10, digits);
  }
  bent_at(a, rho, f, t);
  bent_at(b, rho, g, t);
  sign = mpq_cmp(a, b);
  mpq_clear(t);
  mpq_clear(a);
  mpq_clear(b);
  return (sign > 0) - (sign < 0);
}

/* Lemma 11: of two candidates that are equal at a point, that with the larger of AD's derivatives is the larger just after it. */
clarke_status
clarke_suite_lemma_11(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  const bent *rho;
  long f[2][3], rate[2];
  bool touched[2], still;

  (void)err;
  do {
    rho = &functions[clarke_draw_below(d, sizeof functions / sizeof *functions)];
    still = false;
    for (size_t i = 0; i < 2; i++) {
      for (size_t k = 0; k < 3; k++)
        f[i][k] = clarke_draw_between(d, -3, 3);
      f[i][0] = clarke_draw_below(d, 2) ? rho->kink[clarke_draw_below(d, rho->n_kinks)] : f[i][0];
      rate[i] = slope_at(rho, f[i][0], f[i][1], &touched[i]) * f[i][1];
      still = still || (touched[i] && f[i][1] == 0);
    }
  } while (still || !(touched[0] || touched[1]) || rate[0] <= rate[1] || compared(rho, f[0], f[1], SIZE_MAX) != 0);
  t->of[CLARKE_COUNT_TOUCHED] += (size_t)touched[0] + touched[1];
  clarke_suite_add(t, compared(rho, f[0], f[1], 6) > 0 && compared(rho, f[0], f[1], 12) > 0 ? CLARKE_YES : CLARKE_NO);
  return CLARKE_OK;
}

/* --- ranks of scenario 1 ----------------------------------------------------------------------- */

#define SAMPLES 128

/* next = relu(W z), W drawn: rows of `before` numbers. */
static void
draw_layer(long *next, const long *z, size_t before, size_t n, clarke_draws *d)
{
  for (size_t o = 0; o < n; o++) {
    for (size_t s = 0; s < SAMPLES; s++)
      next[o * SAMPLES + s] = 0;
    for (size_t i = 0; i < before; i++) {
      const long w = clarke_draw_between(d, -9, 9);

      for (size_t s = 0; s < SAMPLES; s++)
        next[o * SAMPLES + s] += w * z[i * SAMPLES + s];
    }
    for (size_t s = 0; s < SAMPLES; s++)
      next[o * SAMPLES + s] = next[o * SAMPLES + s] > 0 ? next[o * SAMPLES + s] : 0;
  }
}

/* Modulo a prime it is at most the rank itself. */
static slong
rank_of(const long *z, size_t n)
{
  nmod_mat_t m;
  slong rank;

  nmod_mat_init(m, (slong)n, SAMPLES, 2147483647);
  for (size_t i = 0; i < n; i++)
    for (size_t s = 0; s < SAMPLES; s++)
      nmod_mat_entry(m, (slong)i, (slong)s) = (mp_limb_t)z[i * SAMPLES + s] % 2147483647;
  rank = nmod_mat_rank(m);
  nmod_mat_clear(m);
  return rank;
}

/* Section 4: z_0 (784 x 128) and z_1 (256 x 128) have rank 128, z_2 (64 x 128) has not. Numbers of the samples are those of pixels. */
clarke_status
clarke_suite_ranks(clarke_suite_counts *t, clarke_draws *d, clarke_error *err)
{
  long *z0 = calloc(784 * SAMPLES, sizeof *z0), *z1 = calloc(256 * SAMPLES, sizeof *z1), *z2 = calloc(64 * SAMPLES, sizeof *z2);
  clarke_status status = z0 != NULL && z1 != NULL && z2 != NULL ? CLARKE_OK : clarke_no_memory(err);

  if (status == CLARKE_OK) {
    for (size_t i = 0; i < 784 * SAMPLES; i++)
      z0[i] = clarke_draw_below(d, 5) == 0 ? clarke_draw_between(d, 1, 255) : 0;
    draw_layer(z1, z0, 784, 256, d);
    draw_layer(z2, z1, 256, 64, d);
    clarke_suite_add(t, rank_of(z0, 784) == SAMPLES && rank_of(z1, 256) == SAMPLES && rank_of(z2, 64) < SAMPLES ? CLARKE_YES : CLARKE_NO);
  }
  free(z0);
  free(z1);
  free(z2);
  return status;
}
