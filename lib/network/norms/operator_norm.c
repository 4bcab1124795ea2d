/* An upper bound of a matrix's 2-norm, in floats, with what these round: the largest eigenvalue of G = W W^T is at most s
 * where s I - G is a square L L^T, but for what is left. A Cholesky factor L that somehow came about is verified by that
 * product alone (Rump 2006). Where there is none: Gram iteration (Delattre, Barthelemy, Araujo, Allauzen 2023). */
#include "network/norms/operator_norm.h"

#include "base/wide.h"
#include "exact/upward.h"

#include <cblas.h>
#undef I
#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Squarings of the Gram matrix: its norm is at most the 2^t-th root of the Frobenius norm of its 2^t-th power. */
#define SQUARINGS 6
/* Rows from which on one factor costs less than those; the columns of it that are made at a time. */
#define FACTORED ((size_t)33)
#define PANEL ((size_t)48)
/* Products by which the largest eigenvalue is guessed; what s is larger by; how often it is made still larger. */
#define POWERS 24
#define ABOVE 1.05
#define TRIES 4
/* Inner dimensions whose sums of floats have a bound: n 2^-24 is far below 1. */
#define LONGEST ((size_t)1 << 20)

/* Sums that are begun side by side: additions wait for no other. */
#define SIDE_BY_SIDE ((size_t)8)

/* At least the Frobenius norm of n floats. */
CLARKE_WIDE static double
frobenius(const float *v, size_t n)
{
  double part[SIDE_BY_SIDE] = {0}, sum = 0;
  size_t e = 0;

  for (; e + SIDE_BY_SIDE <= n; e += SIDE_BY_SIDE)
    for (size_t l = 0; l < SIDE_BY_SIDE; l++)
      part[l] += (double)v[e + l] * (double)v[e + l];
  for (; e < n; e++)
    sum += (double)v[e] * (double)v[e];
  for (size_t l = 0; l < SIDE_BY_SIDE; l++)
    sum += part[l];
  return clarke_up_by(sqrt(sum), 0x1p32);
}

/* g = a a^T, a being m x n, both halves. */
static void
gram(float *g, const float *a, size_t m, size_t n)
{
  cblas_ssyrk(CblasRowMajor, CblasUpper, CblasNoTrans, (int)m, (int)n, 1, a, (int)n, 0, g, (int)m);
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < i; j++)
      g[i * m + j] = g[j * m + i];
}

/* The largest |entry| to [1/2, 1): what it was multiplied by is 2^-exponent. Floats that get too small are off by no more
 * than the least of them. */
static int
normalize_floats(float *v, size_t n)
{
  float most = 0;
  double by;
  int exponent;

  for (size_t e = 0; e < n; e++)
    most = fabsf(v[e]) > most ? fabsf(v[e]) : most;
  frexpf(most, &exponent);
  by = ldexp(1, -exponent);
  for (size_t e = 0; e < n; e++)
    v[e] = (float)((double)v[e] * by);
  return exponent;
}

/* What a product of floats with n terms an entry may be off by, in Frobenius norm, relative to the product of those of its
 * factors. What underflows is below that: m <= n <= 2^20, and a matrix whose largest entry is 1/2 or more has a norm of at
 * least 1/2. Floats below 2^-149, and squares of them, take less than m n 2^-148 <= 2^-108 from it: the factors 1 + 2^-40 add
 * more. */
static double
rounding(size_t n)
{
  return clarke_gamma_of_many((double)(n + 4), 0x1p-24);
}

/* At least the norm of the symmetric m x m matrix g, which is lost: norm(g)^2 = norm(g^2) <= norm(fl(g^2)) + what that is
 * off by. */
static double
symmetric_norm(float *g, float *room, size_t m, size_t squarings)
{
  const int exponent = normalize_floats(g, m * m);
  const double size = frobenius(g, m * m);
  double norm = size;

  if (squarings > 0) {
    gram(room, g, m, m);
    norm = symmetric_norm(room, g, m, squarings - 1) + rounding(m) * size * size;
    norm = clarke_up_by(sqrt(clarke_up_by(norm, 0x1p12)), 0x1p12);
    norm = norm < size ? norm : size;
  }
  return ldexp(norm, exponent);
}

/* About the largest eigenvalue of g; v, y: room for m. */
static double
guess_norm(const float *g, float *v, float *y, size_t m)
{
  double size = 0;

  for (size_t i = 0; i < m; i++)
    v[i] = (float)((double)(i * 37 % 101) / 101 - 0.49);
  for (size_t turn = 0; turn < POWERS; turn++) {
    double in = 0;

    size = 0;
    cblas_sgemv(CblasRowMajor, CblasNoTrans, (int)m, (int)m, 1, g, (int)m, v, 1, 0, y, 1);
    for (size_t i = 0; i < m; i++) {
      in += (double)v[i] * (double)v[i];
      size += (double)y[i] * (double)y[i];
    }
    for (size_t i = 0; i < m; i++)
      v[i] = (float)((double)y[i] / sqrt(size));
    size = sqrt(size / in);
  }
  return size;
}

/* The lower triangle of c becomes its Cholesky factor, but for roundings; false: there is none. */
static bool
factorize(float *c, size_t m)
{
  for (size_t k = 0; k < m; k += PANEL) {
    const size_t cols = m - k < PANEL ? m - k : PANEL, left = m - k - cols;
    float *corner = c + k * m + k, *below = corner + cols * m;

    for (size_t j = 0; j < cols; j++)
      for (size_t i = j; i < cols; i++) {
        float v = corner[i * m + j];

        for (size_t l = 0; l < j; l++)
          v -= corner[i * m + l] * corner[j * m + l];
        if (i == j && !(v > 0))
          return false;
        corner[i * m + j] = i == j ? sqrtf(v) : v / corner[j * m + j];
      }
    if (left == 0)
      continue;
    cblas_strsm(CblasRowMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, (int)left, (int)cols, 1, corner, (int)m,
                below, (int)m);
    cblas_ssyrk(CblasRowMajor, CblasLower, CblasNoTrans, (int)left, (int)cols, -1, below, (int)m, 1, below + cols, (int)m);
  }
  return true;
}

/* At least the norm of s I - g - L L^T; product: room for that. */
static double
left_by_factor(const float *l, const float *g, float *product, double s, size_t m)
{
  const double size = frobenius(l, m * m);
  double square = 0;

  cblas_ssyrk(CblasRowMajor, CblasLower, CblasNoTrans, (int)m, (int)m, 1, l, (int)m, 0, product, (int)m);
  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j <= i; j++) {
      const double d = (i == j ? s : 0) - (double)g[i * m + j] - (double)product[i * m + j];

      square += (i == j ? 1 : 2) * d * d;
    }
  return clarke_up_by(sqrt(square), 0x1p32) + clarke_up_by(rounding(m) * size * size, 0x1p32) + clarke_taken(0x1p12, s);
}

/* At least the largest eigenvalue of the symmetric g, whose largest entry is in [1/2, 1); infinity where no factor is found.
 * l, room: for m x m. */
static double
norm_by_factor(const float *g, float *l, float *room, size_t m)
{
  double s = guess_norm(g, l, room, m) * ABOVE;

  for (size_t turn = 0; turn < TRIES; turn++, s *= ABOVE) {
    for (size_t i = 0; i < m; i++)
      for (size_t j = 0; j < m; j++)
        l[i * m + j] = j > i ? 0 : (float)((i == j ? s : 0) - (double)g[i * m + j]);
    if (factorize(l, m))
      return s + left_by_factor(l, g, room, s, m);
  }
  return INFINITY;
}

/* At least the norm of the Gram matrix g = a a^T, all of which are lost. */
static double
gram_norm(float *g, float *room, float *a, size_t m)
{
  const int exponent = normalize_floats(g, m * m);
  double norm = INFINITY;

  if (m >= FACTORED)
    norm = norm_by_factor(g, room, a, m);
  if (!(norm <= DBL_MAX))
    norm = symmetric_norm(g, room, m, m > 1 ? SQUARINGS : 0);
  return ldexp(clarke_up_by(norm, 0x1p12), exponent);
}

CLARKE_WIDE static double
largest_entry(const double *w, size_t n)
{
  double part[SIDE_BY_SIDE] = {0}, most = 0;
  size_t e = 0;

  for (; e + SIDE_BY_SIDE <= n; e += SIDE_BY_SIDE)
    for (size_t l = 0; l < SIDE_BY_SIDE; l++)
      part[l] = fabs(w[e + l]) > part[l] ? fabs(w[e + l]) : part[l];
  for (; e < n; e++)
    most = fabs(w[e]) > most ? fabs(w[e]) : most;
  for (size_t l = 0; l < SIDE_BY_SIDE; l++)
    most = part[l] > most ? part[l] : most;
  return most;
}

/* A row of W times `by`, as floats that are `along` apart; the sum of the squares of what that rounds. */
CLARKE_WIDE static double
set_row(float *a, size_t along, const double *w, double by, size_t n)
{
  double part[SIDE_BY_SIDE] = {0}, sum = 0;
  size_t j = 0;

  for (; j + SIDE_BY_SIDE <= n && along == 1; j += SIDE_BY_SIDE)
    for (size_t l = 0; l < SIDE_BY_SIDE; l++) {
      const double scaled = w[j + l] * by;
      const float near = (float)scaled;

      a[j + l] = near;
      part[l] += (scaled - (double)near) * (scaled - (double)near);
    }
  for (; j < n; j++) {
    const double scaled = w[j] * by;
    const float near = (float)scaled;

    a[j * along] = near;
    sum += (scaled - (double)near) * (scaled - (double)near);
  }
  for (size_t l = 0; l < SIDE_BY_SIDE; l++)
    sum += part[l];
  return sum;
}

/* W, or its transpose, as floats: fewer rows than columns. *off: at least the norm of what that rounds. */
static int
set_floats(float *a, double *off, const double *w, size_t rows, size_t cols)
{
  const size_t down = rows > cols ? 1 : cols, along = rows > cols ? rows : 1;
  const double most = largest_entry(w, rows * cols);
  double square = 0, by;
  int exponent;

  frexp(most, &exponent);
  by = most >= 0x1p-900 ? ldexp(1, -exponent) : most > 0 ? NAN : 0; /* so small a one has no bound */
  for (size_t i = 0; i < rows; i++)
    square += set_row(a + i * down, along, w + i * cols, by, cols);
  *off = clarke_up_by(sqrt(square), 0x1p32);
  return exponent;
}

clarke_status
clarke_operator_norm(double *norm, const double *w, size_t rows, size_t cols, clarke_error *err)
{
  const size_t m = rows < cols ? rows : cols, n = rows < cols ? cols : rows;
  float *a, *g, *room;
  double off, size;
  int exponent;

  *norm = INFINITY;
  if (m == 0 || n > LONGEST)
    return CLARKE_OK;
  a = malloc(m * n * sizeof *a);
  g = malloc(m * m * sizeof *g);
  room = malloc(m * m * sizeof *room);
  if (a == NULL || g == NULL || room == NULL) {
    free(a);
    free(g);
    free(room);
    return clarke_no_memory(err);
  }
  exponent = set_floats(a, &off, w, rows, cols);
  size = frobenius(a, m * n);
  gram(g, a, m, n);
  *norm = gram_norm(g, room, a, m) + rounding(n) * size * size;
  *norm = fmin(clarke_up_by(sqrt(*norm), 0x1p12), size) + off;
  *norm = ldexp(clarke_up_by(*norm, 0x1p12), exponent);
  if (!(*norm <= DBL_MAX))
    *norm = INFINITY;
  free(a);
  free(g);
  free(room);
  return CLARKE_OK;
}
