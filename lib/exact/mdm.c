/* Mitchell, Demyanov and Malozemov's method: weight moves from the farthest point that has some, seen along
 * the current one, to the least. */
#include "exact/mdm.h"

#include "base/stop.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS 100000
#define ACCURACY 0.01 /* of the square of the distance */

double
clarke_dot(const double *a, const double *b, size_t n)
{
  double sum = 0;

  for (size_t i = 0; i < n; i++)
    sum += a[i] * b[i];
  return sum;
}

/* One move; false when the least product is near to the square of the distance. along[i] = <x, point i>. */
static bool
move(double *weight, double *along, const double *gram, size_t n)
{
  size_t least = 0, most = n;
  double square = 0, distance, step;

  for (size_t i = 0; i < n; i++) {
    square += weight[i] * along[i];
    least = along[i] < along[least] ? i : least;
    most = weight[i] > 0 && (most == n || along[i] > along[most]) ? i : most;
  }
  if (along[least] >= (1 - ACCURACY) * square || most == n || along[most] <= along[least])
    return false;
  distance = gram[most * n + most] + gram[least * n + least] - 2 * gram[most * n + least];
  step = distance > 0 ? (along[most] - along[least]) / distance : weight[most];
  step = step < weight[most] ? step : weight[most];
  weight[most] -= step;
  weight[least] += step;
  for (size_t i = 0; i < n; i++)
    along[i] += step * (gram[least * n + i] - gram[most * n + i]);
  return step > 0;
}

clarke_status
clarke_nearest(bool *outside, double *x, const double *point, size_t n, size_t dim,
               clarke_error *err)
{
  double *gram = malloc((n * n + 1) * sizeof *gram), *weight = calloc(n + 1, sizeof *weight);
  double *along = malloc((n + 1) * sizeof *along);

  if (gram == NULL || weight == NULL || along == NULL) {
    free(gram);
    free(weight);
    free(along);
    return clarke_no_memory(err);
  }
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++)
      gram[i * n + j] = clarke_dot(point + i * dim, point + j * dim, dim);
  clarke_work_spend(n * n * (dim + 4) / 8);
  weight[0] = 1;
  memcpy(along, gram, n * sizeof *along);
  for (size_t i = 0; n > 0 && i < ROUNDS && move(weight, along, gram, n); i++)
    continue;
  memset(x, 0, dim * sizeof *x);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < dim; j++)
      x[j] += weight[i] * point[i * dim + j];
  *outside = n > 0;
  for (size_t i = 0; i < n; i++)
    *outside = *outside && clarke_dot(x, point + i * dim, dim) > 0;
  free(gram);
  free(weight);
  free(along);
  return CLARKE_OK;
}
