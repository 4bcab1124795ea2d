/* An upper bound of a matrix's 2-norm by Gram iteration (Delattre, Barthelemy, Araujo, Allauzen 2023), in floats, with what
 * these round. */
#include "network/operator_norm.h"

#include <cblas.h>
#undef I
#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Squarings of the Gram matrix: its norm is at most the 2^t-th root of the Frobenius norm of its 2^t-th power. */
#define SQUARINGS 4
/* Inner dimensions whose sums of floats have a bound: n 2^-24 is far below 1. */
#define LONGEST ((size_t)1 << 20)

/* At least the Frobenius norm of n floats. */
static double
frobenius(const float *v, size_t n)
{
  double sum = 0;

  for (size_t e = 0; e < n; e++)
    sum += (double)v[e] * (double)v[e];
  return sqrt(sum) * (1 + 0x1p-20);
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
  return (double)(n + 4) * 0x1p-24 / (1 - (double)(n + 4) * 0x1p-24);
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
    norm = sqrt(norm * (1 + 0x1p-40)) * (1 + 0x1p-40);
    norm = norm < size ? norm : size;
  }
  return ldexp(norm, exponent);
}

/* W, or its transpose, as floats: fewer rows than columns. *off: at least the norm of what that rounds. */
static int
set_floats(float *a, double *off, const double *w, size_t rows, size_t cols)
{
  const bool turned = rows > cols;
  double most = 0, square = 0, by;
  int exponent;

  for (size_t e = 0; e < rows * cols; e++)
    most = fabs(w[e]) > most ? fabs(w[e]) : most;
  frexp(most, &exponent);
  by = most >= 0x1p-900 ? ldexp(1, -exponent) : NAN; /* so small a one has no bound */
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++) {
      const double scaled = most > 0 ? w[i * cols + j] * by : 0;
      const float near = (float)scaled;

      a[turned ? j * rows + i : i * cols + j] = near;
      square += (scaled - (double)near) * (scaled - (double)near);
    }
  *off = sqrt(square) * (1 + 0x1p-20);
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
  *norm = symmetric_norm(g, room, m, m > 1 ? SQUARINGS : 0) + rounding(n) * size * size;
  *norm = fmin(sqrt(*norm) * (1 + 0x1p-40), size) + off;
  *norm = ldexp(*norm * (1 + 0x1p-40), exponent);
  if (!(*norm <= DBL_MAX))
    *norm = INFINITY;
  free(a);
  free(g);
  free(room);
  return CLARKE_OK;
}
