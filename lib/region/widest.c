/* Wolfe's algorithm in floats (widest.h). */
#include "region/widest.h"
#include "base/stop.h"
#include "exact/mdm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOUGHT 1e-15 /* |x|^2 below it: x is near 0. Weights are known to some 1e-16, and so are products with x */
#define ENOUGH 0.7    /* of |x|^2: margins so wide need no widening */
#define LEAST 1e-12   /* weights, and pivots, that count */

clarke_status
clarke_widest_init(clarke_widest *w, size_t dim, clarke_error *err)
{
  memset(w, 0, sizeof *w);
  w->dim = dim;
  w->room = dim + 2;
  w->corral = malloc(w->room * sizeof *w->corral);
  w->weight = malloc(w->room * sizeof *w->weight);
  w->x = malloc(w->room * sizeof *w->x);
  w->gram = malloc(w->room * w->room * sizeof *w->gram);
  w->factor = malloc(w->room * w->room * sizeof *w->factor);
  w->right = malloc(w->room * sizeof *w->right);
  if (w->corral != NULL && w->weight != NULL && w->x != NULL && w->gram != NULL && w->factor != NULL && w->right != NULL)
    return CLARKE_OK;
  clarke_widest_clear(w);
  return clarke_no_memory(err);
}

void
clarke_widest_clear(clarke_widest *w)
{
  free(w->corral);
  free(w->weight);
  free(w->x);
  free(w->gram);
  free(w->factor);
  free(w->right);
  memset(w, 0, sizeof *w);
}

static void
set_x(clarke_widest *w, const double *const *point)
{
  memset(w->x, 0, w->dim * sizeof *w->x);
  for (size_t k = 0; k < w->n_corral; k++)
    for (size_t j = 0; j < w->dim; j++)
      w->x[j] += w->weight[k] * point[w->corral[k]][j];
}

static void
add_to_corral(clarke_widest *w, const double *const *point, size_t i)
{
  const size_t k = w->n_corral++;

  w->corral[k] = i;
  w->weight[k] = k == 0 ? 1 : 0;
  for (size_t l = 0; l <= k; l++)
    w->gram[k * w->room + l] = w->gram[l * w->room + k] = clarke_dot(point[i], point[w->corral[l]], w->dim);
}

static void
drop_from_corral(clarke_widest *w, size_t k)
{
  const size_t last = --w->n_corral;

  w->corral[k] = w->corral[last];
  w->weight[k] = w->weight[last];
  for (size_t l = 0; l <= last; l++) {
    w->gram[k * w->room + l] = w->gram[last * w->room + l];
    w->gram[l * w->room + k] = l == k ? w->gram[last * w->room + last] : w->gram[l * w->room + last];
  }
  w->gram[k * w->room + k] = w->gram[last * w->room + last];
}

/* The point of least norm in the affine hull of the corral: the Gram matrix plus ones, times the weights up to their
 * sum, is one everywhere. False when the points are affinely dependent, as far as floats tell. */
static bool
affine_weights(clarke_widest *w)
{
  const size_t n = w->n_corral;
  double sum = 0;

  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      double *f = w->factor;
      const double a = w->gram[i * w->room + j] + 1 - clarke_dot(f + i * w->room, f + j * w->room, j);

      if (i == j && a < LEAST)
        return false;
      f[i * w->room + j] = i == j ? sqrt(a) : a / f[j * w->room + j];
    }
  for (size_t i = 0; i < n; i++)
    w->right[i] = (1 - clarke_dot(w->factor + i * w->room, w->right, i)) / w->factor[i * w->room + i];
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; k++)
      w->right[i] -= w->factor[k * w->room + i] * w->right[k];
    w->right[i] /= w->factor[i * w->room + i];
    sum += w->right[i];
  }
  for (size_t i = 0; i < n; i++)
    w->right[i] /= sum;
  return true;
}

/* Moves the weights to those of the affine hull; where one would fall below zero, stops there and drops its point, then
 * again. False: the corral is no simplex. */
static bool
settle(clarke_widest *w)
{
  while (affine_weights(w)) {
    double part = 1;
    size_t out = w->n_corral;

    for (size_t k = 0; k < w->n_corral; k++)
      if (w->right[k] < LEAST && w->weight[k] / (w->weight[k] - w->right[k]) < part) {
        part = w->weight[k] / (w->weight[k] - w->right[k]);
        out = k;
      }
    if (out < w->n_corral && !(part >= 0))
      part = 0;
    for (size_t k = 0; k < w->n_corral; k++)
      w->weight[k] += part * (w->right[k] - w->weight[k]);
    if (out == w->n_corral)
      return true;
    drop_from_corral(w, out);
  }
  return false;
}

static bool
in_corral(const clarke_widest *w, size_t i)
{
  for (size_t k = 0; k < w->n_corral; k++)
    if (w->corral[k] == i)
      return true;
  return false;
}

void
clarke_widest_find(clarke_widest *w, const double *const *point, size_t n)
{
  w->n_corral = 0;
  w->apart = false;
  add_to_corral(w, point, n - 1);
  set_x(w, point);
  for (double norm, before = INFINITY; (norm = clarke_dot(w->x, w->x, w->dim)) < before; before = norm) {
    double least = INFINITY;
    size_t worst = 0;

    clarke_work_spend(n * (w->dim + 2) / 16 + w->n_corral * w->n_corral * (w->n_corral + 2) / 48);
    for (size_t i = 0; i < n; i++) {
      const double product = clarke_dot(w->x, point[i], w->dim);

      if (product < least) {
        least = product;
        worst = i;
      }
    }
    w->apart = norm > NOUGHT && least > 0;
    if (norm <= NOUGHT || least > ENOUGH * norm || w->n_corral == w->room || in_corral(w, worst))
      return;
    add_to_corral(w, point, worst);
    if (!settle(w))
      return;
    set_x(w, point);
  }
}
