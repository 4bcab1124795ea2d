/* Rows of float32 numbers, many at once (sieve.h). */
#include "trace/certify/sieve.h"

#include <math.h>
#include <string.h>

CLARKE_WIDE static void
widen_in_registers(double *restrict to, const float *restrict x, size_t n)
{
  for (size_t j = 0; j < n; j++)
    to[j] = x[j];
}

/* Without their signs finite numbers are in the order of their bits. */
CLARKE_WIDE static double
largest_in_registers(const float *x, size_t n)
{
  uint32_t most = 0;
  float is;

  for (size_t e = 0; e < n; e++) {
    uint32_t bits;

    memcpy(&bits, &x[e], sizeof bits);
    bits &= 0x7fffffff;
    most = bits > most ? bits : most;
  }
  memcpy(&is, &most, sizeof is);
  return is;
}

CLARKE_WIDE static void
largest_in_columns_in_registers(float *restrict most, const float *restrict x, size_t rows, size_t n)
{
  for (size_t f = 0; f < rows; f++)
    for (size_t j = 0; j < n; j++)
      most[j] = fabsf(x[f * n + j]) > most[j] ? fabsf(x[f * n + j]) : most[j];
}

/* Eight sums of every eighth square go side by side. */
CLARKE_WIDE static double
squares_in_registers(const float *x, size_t n)
{
  double sum[8] = {0};
  size_t e = 0;

  for (; e + 8 <= n; e += 8)
    for (size_t k = 0; k < 8; k++)
      sum[k] += (double)x[e + k] * (double)x[e + k];
  for (size_t k = 0; e < n; e++, k++)
    sum[k] += (double)x[e] * (double)x[e];
  return sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
}

CLARKE_WIDE static void
total_in_registers(double *sum, double *mass, const float *x, size_t n)
{
  double s[8] = {0}, m[8] = {0};
  size_t j = 0;

  for (; j + 8 <= n; j += 8)
    for (size_t k = 0; k < 8; k++) {
      s[k] += (double)x[j + k];
      m[k] += fabs((double)x[j + k]);
    }
  for (size_t k = 0; j < n; j++, k++) {
    s[k] += (double)x[j];
    m[k] += fabs((double)x[j]);
  }
  for (size_t k = 0; k < 8; k++) {
    *sum += s[k];
    *mass += m[k];
  }
}

CLARKE_WIDE static double
add_row_in_registers(double *restrict to, double coef, const float *restrict x, size_t n)
{
  float most = 0;

  for (size_t j = 0; j < n; j++) {
    to[j] += coef * (double)x[j];
    most = fabsf(x[j]) > most ? fabsf(x[j]) : most;
  }
  return most;
}

/* Entries that are chosen together. */
#define CHUNK 128

/* Those at a kink, and right of it. Products come first: compilers make no vectors of loops that multiply for some entries only. */
CLARKE_WIDE static void
beyond_in_registers(float *restrict part, const float *restrict x, const float *restrict g, float kink, float at, float slope, size_t n)
{
  float on[CHUNK], right[CHUNK];

  for (size_t from = 0; from < n; from += CHUNK, part += CHUNK, x += CHUNK, g += CHUNK) {
    const size_t m = n - from < CHUNK ? n - from : CHUNK;

    for (size_t j = 0; j < m; j++) {
      on[j] = at * g[j];
      right[j] = slope * g[j];
    }
    for (size_t j = 0; j < m; j++) {
      const float left = x[j] == kink ? on[j] : part[j];

      part[j] = x[j] > kink ? right[j] : left;
    }
  }
}

/* What is compiled twice is no symbol that can be hidden. */
void
clarke_sieve_widen(double *to, const float *x, size_t n)
{
  widen_in_registers(to, x, n);
}

double
clarke_sieve_largest(const float *x, size_t n)
{
  return largest_in_registers(x, n);
}

void
clarke_sieve_largest_in_columns(float *most, const float *x, size_t rows, size_t n)
{
  largest_in_columns_in_registers(most, x, rows, n);
}

double
clarke_sieve_squares(const float *x, size_t n)
{
  return squares_in_registers(x, n);
}

void
clarke_sieve_total(double *sum, double *mass, const float *x, size_t n)
{
  total_in_registers(sum, mass, x, n);
}

double
clarke_sieve_add_row(double *to, double coef, const float *x, size_t n)
{
  return add_row_in_registers(to, coef, x, n);
}

void
clarke_sieve_beyond(float *part, const float *x, const float *g, float kink, float at, float slope, size_t n)
{
  beyond_in_registers(part, x, g, kink, at, slope, n);
}

double
clarke_sieve_norm(const clarke_sieve *s, const clarke_certificate *made, const float *recorded)
{
  const bool asked = s->c->branched && !s->open && made->certainty == CLARKE_WITHIN_BOUND;

  return asked ? clarke_down_by(sqrt(clarke_sieve_squares(recorded, made->entries)), 0x1p34) : 0;
}
