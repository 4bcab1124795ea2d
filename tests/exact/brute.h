/* Convex hulls by their definitions: all subsets of at most dim + 1 points (Caratheodory), each
 * solved by elimination in rationals. And a generator with a fixed seed. */
#ifndef CLARKE_TESTS_EXACT_BRUTE_H
#define CLARKE_TESTS_EXACT_BRUTE_H

#include "../ok.h"

#include "program/conservative.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint64_t brute_state;

__attribute__((unused)) static int
draw(int low, int high)
{
  brute_state = brute_state * 6364136223846793005u + 1442695040888963407u;
  return low + (int)((brute_state >> 33) % (uint64_t)(high - low + 1));
}

__attribute__((unused)) static mpq_t *
new_rationals(size_t n)
{
  mpq_t *x = malloc((n + 1) * sizeof *x);

  ck_assert_ptr_nonnull(x);
  for (size_t k = 0; k < n; k++)
    mpq_init(x[k]);
  return x;
}

__attribute__((unused)) static void
free_rationals(mpq_t *x, size_t n)
{
  for (size_t k = 0; k < n; k++)
    mpq_clear(x[k]);
  free(x);
}

/* Solves the n x n system a (n x (n + 1), its last column the right side) in place: the solution is
 * then that column. False when it is singular. */
__attribute__((unused)) static bool
eliminate_square(mpq_t *a, size_t n)
{
  size_t width = n + 1;
  bool regular = true;
  mpq_t factor, term;

  mpq_inits(factor, term, NULL);
  for (size_t c = 0; c < n && regular; c++) {
    size_t pivot = c;

    while (pivot < n && mpq_sgn(a[pivot * width + c]) == 0)
      pivot++;
    regular = pivot < n;
    for (size_t j = 0; j < width && regular; j++)
      mpq_swap(a[pivot * width + j], a[c * width + j]);
    for (size_t i = 0; i < n && regular; i++) {
      if (i == c || mpq_sgn(a[i * width + c]) == 0)
        continue;
      mpq_div(factor, a[i * width + c], a[c * width + c]);
      for (size_t j = c; j < width; j++) {
        mpq_mul(term, factor, a[c * width + j]);
        mpq_sub(a[i * width + j], a[i * width + j], term);
      }
    }
  }
  for (size_t i = 0; i < n && regular; i++)
    mpq_div(a[i * width + n], a[i * width + n], a[i * width + i]);
  mpq_clears(factor, term, NULL);
  return regular;
}

static void
brute_dot(mpq_t value, mpq_t *x, mpq_t *y, size_t n)
{
  mpq_t term;

  mpq_init(term);
  mpq_set_ui(value, 0, 1);
  for (size_t j = 0; j < n; j++) {
    mpq_mul(term, x[j], y[j]);
    mpq_add(value, value, term);
  }
  mpq_clear(term);
}

/* The point of least distance to v in the affine hull of m affinely independent points (rows
 * subset[] of s): its weights, by ( 0 1 ; 1 G ) with G the Gram matrix of s_i - v. False when they
 * are dependent. */
static bool
affine_weights(mpq_t *weight, const clarke_points *s, const size_t *subset, size_t m, mpq_t *v)
{
  size_t n = m + 1, width = n + 1, dim = s->dim;
  mpq_t *a = new_rationals(n * width), *gap = new_rationals(m * dim);
  bool regular;

  for (size_t i = 0; i < m; i++)
    for (size_t j = 0; j < dim; j++)
      mpq_sub(gap[i * dim + j], s->entry[subset[i] * dim + j], v[j]);
  mpq_set_ui(a[n], 1, 1);
  for (size_t i = 0; i < m; i++) {
    mpq_set_ui(a[i + 1], 1, 1);
    mpq_set_ui(a[(i + 1) * width], 1, 1);
    for (size_t j = 0; j < m; j++)
      brute_dot(a[(i + 1) * width + j + 1], &gap[i * dim], &gap[j * dim], dim);
  }
  regular = eliminate_square(a, n);
  for (size_t i = 0; i < m && regular; i++)
    mpq_set(weight[i], a[(i + 1) * width + n]);
  free_rationals(a, n * width);
  free_rationals(gap, m * dim);
  return regular;
}

/* The point of conv s (rows with skip left out; CLARKE_NONE: none) nearest to v: the nearest of all
 * that subsets give with weights >= 0. */
__attribute__((unused)) static void
nearest(mpq_t *best, const clarke_points *s, size_t skip, mpq_t *v)
{
  size_t dim = s->dim, subset[16], m;
  mpq_t *weight = new_rationals(16), *x = new_rationals(dim), *gap = new_rationals(dim);
  mpq_t norm, least, term;
  bool found = false;

  mpq_inits(norm, least, term, NULL);
  ck_assert_uint_le(s->n, 16);
  for (size_t bits = 1; bits < (size_t)1 << s->n; bits++) {
    bool inside = true;

    m = 0;
    for (size_t i = 0; i < s->n; i++)
      if (bits >> i & 1)
        subset[m++] = i;
    if (m > dim + 1 || (skip < s->n && (bits >> skip & 1)) ||
        !affine_weights(weight, s, subset, m, v))
      continue;
    for (size_t i = 0; i < m; i++)
      inside = inside && mpq_sgn(weight[i]) >= 0;
    if (!inside)
      continue;
    for (size_t j = 0; j < dim; j++) {
      mpq_set_ui(x[j], 0, 1);
      for (size_t i = 0; i < m; i++) {
        mpq_mul(term, weight[i], s->entry[subset[i] * dim + j]);
        mpq_add(x[j], x[j], term);
      }
      mpq_sub(gap[j], x[j], v[j]);
    }
    brute_dot(norm, gap, gap, dim);
    if (found && mpq_cmp(norm, least) >= 0)
      continue;
    found = true;
    mpq_set(least, norm);
    for (size_t j = 0; j < dim; j++)
      mpq_set(best[j], x[j]);
  }
  ck_assert(found);
  mpq_clears(norm, least, term, NULL);
  free_rationals(weight, 16);
  free_rationals(x, dim);
  free_rationals(gap, dim);
}

__attribute__((unused)) static bool
equal_vectors(mpq_t *x, mpq_t *y, size_t n)
{
  for (size_t j = 0; j < n; j++)
    if (!mpq_equal(x[j], y[j]))
      return false;
  return true;
}

/* The vertices of conv s by the definition: points not in the hull of the others. */
__attribute__((unused)) static void
brute_vertices(clarke_points *vertices, const clarke_points *s)
{
  mpq_t *x = new_rationals(s->dim);

  clarke_points_init(vertices, s->dim);
  for (size_t i = 0; i < s->n; i++) {
    mpq_t *v = &s->entry[i * s->dim];

    if (s->n > 1)
      nearest(x, s, i, v);
    if (s->n == 1 || !equal_vectors(x, v, s->dim))
      OK(clarke_points_add(vertices, v, &error));
  }
  free_rationals(x, s->dim);
}

__attribute__((unused)) static bool
equal_points(const clarke_points *x, const clarke_points *y)
{
  return x->n == y->n && x->dim == y->dim && equal_vectors(x->entry, y->entry, x->n * x->dim);
}

#endif
