/* How far a product of enclosures may be off: its radii, by dgemm on upper bounds. */
#include "exact/matrix_product_radius.h"

#include "exact/upward.h"

#include <cblas.h>
#include <stdlib.h>

#undef I

/* Upper bounds of |entries|, plus their radii if asked. */
static void
magnitudes(double *to, const clarke_matrix *m, bool with_radius)
{
  const clarke_scale_bound bound = clarke_matrix_scale_bound(m);

  for (size_t k = 0; k < m->rows * m->cols; k++) {
    to[k] = clarke_matrix_magnitude(m, bound, k);
    if (with_radius && m->radius != NULL)
      to[k] = clarke_up_add(to[k], m->radius[k]);
  }
}

/* Has every product of row i of A by column j of B a zero factor? */
static bool
all_products_zero(const clarke_matrix_product *p, const double *a, const double *b, size_t i, size_t j,
                  size_t inner)
{
  for (size_t k = 0; k < inner; k++)
    if (a[p->a_transposed ? k * p->a->cols + i : i * p->a->cols + k] != 0 &&
        b[p->b_transposed ? j * p->b->cols + k : k * p->b->cols + j] != 0)
      return false;
  return true;
}

/* radius += an upper bound of |A| |B| for nonnegative doubles. A dgemm sum of n such products is
 * below the exact one by a factor of at most (1 - 2^-53)^(n + 1), in any order, fused or not, and
 * by n underflows of at most 2^-1075. */
static void
add_bound(double *radius, const clarke_matrix_product *p, double *sum, const double *a, const double *b)
{
  const size_t rows = p->c->rows, cols = p->c->cols;
  const size_t inner = p->a_transposed ? p->a->rows : p->a->cols;
  const double tiny = (double)(inner + 8) * CLARKE_TINY;

  cblas_dgemm(CblasRowMajor, p->a_transposed ? CblasTrans : CblasNoTrans,
              p->b_transposed ? CblasTrans : CblasNoTrans, (int)rows, (int)cols, (int)inner, 1.0,
              a, (int)p->a->cols, b, (int)p->b->cols, 0.0, sum, (int)cols);
  for (size_t k = 0; k < rows * cols; k++) {
    const double r = clarke_up_over(sum[k], (double)(inner + 8), tiny);

    /* A sum of zeros, not of products that underflowed, leaves the entry exact. */
    if (sum[k] == 0 && all_products_zero(p, a, b, k / cols, k % cols, inner))
      continue;
    /* infinity times zero among the products gives a NaN: nothing is known then */
    radius[k] = r <= DBL_MAX ? clarke_up_add(radius[k], r) : (double)INFINITY;
  }
}

static bool
has_radii(const clarke_matrix *m)
{
  for (size_t k = 0; m->radius != NULL && k < m->rows * m->cols; k++)
    if (m->radius[k] != 0)
      return true;
  return false;
}

clarke_status
clarke_product_bound_radius(clarke_matrix_product *p, clarke_error *err)
{
  const size_t count = p->c->rows * p->c->cols;
  double *a = malloc((p->a->rows * p->a->cols + 1) * sizeof *a);
  double *b = malloc((p->b->rows * p->b->cols + 1) * sizeof *b);
  double *sum = malloc((count + 1) * sizeof *sum);
  clarke_status status = clarke_matrix_need_radius(p->c, err);

  if (a == NULL || b == NULL || sum == NULL)
    status = clarke_fail(err, CLARKE_ENOMEM, "no memory for the radii of a product");
  if (status == CLARKE_OK && has_radii(p->b)) {
    magnitudes(a, p->a, false);
    add_bound(p->c->radius, p, sum, a, p->b->radius);
  }
  if (status == CLARKE_OK && has_radii(p->a)) {
    magnitudes(b, p->b, true);
    add_bound(p->c->radius, p, sum, p->a->radius, b);
  }
  free(a);
  free(b);
  free(sum);
  return status;
}
