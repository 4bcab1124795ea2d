#include "network/graph/contraction.h"

#include <stdlib.h>

/* The entries of an operand that are factor k of each entry of the output. */
static void
factor_map(size_t *map, const clarke_step *s, size_t operand, size_t k)
{
  const clarke_contraction *c = &s->contraction;

  for (size_t f = 0; f < c->blocks * c->rows * c->cols; f++)
    map[f] = clarke_step_factor(s, operand, f, k);
}

static size_t *
new_map(const clarke_step *s, clarke_error *err)
{
  const clarke_contraction *c = &s->contraction;
  size_t *map = malloc((c->blocks * c->rows * c->cols + 1) * sizeof *map);

  if (map == NULL)
    clarke_no_memory(err);
  return map;
}

static clarke_status
gather_factor(clarke_matrix *y, size_t *map, const clarke_step *s, size_t operand, size_t k, const clarke_matrix *x,
              clarke_error *err)
{
  const clarke_contraction *c = &s->contraction;

  factor_map(map, s, operand, k);
  return clarke_matrix_gather_rows(y, x, map, c->blocks * c->rows * c->cols, err);
}

clarke_status
clarke_contract(clarke_matrix *y, const clarke_step *s, const clarke_matrix *a, const clarke_matrix *c, clarke_error *err)
{
  size_t *map = new_map(s, err);
  clarke_matrix left, right;
  clarke_status status = map != NULL ? CLARKE_OK : CLARKE_ENOMEM;

  clarke_matrix_init(&left);
  clarke_matrix_init(&right);
  for (size_t k = 0; k < s->contraction.inner && status == CLARKE_OK; k++) {
    status = gather_factor(&left, map, s, 0, k, a, err);
    if (status == CLARKE_OK)
      status = gather_factor(&right, map, s, 1, k, c, err);
    if (status == CLARKE_OK)
      status = clarke_matrix_hadamard(k == 0 ? y : &left, &left, &right, err);
    if (status == CLARKE_OK && k > 0)
      status = clarke_matrix_add(y, y, &left, err);
  }
  clarke_matrix_clear(&left);
  clarke_matrix_clear(&right);
  free(map);
  return status;
}

clarke_status
clarke_contract_back(clarke_matrix *grad, const clarke_step *s, size_t to, size_t count, const clarke_matrix *g,
                     const clarke_matrix *other, clarke_error *err)
{
  size_t *map = new_map(s, err);
  clarke_matrix share, term;
  clarke_status status = map != NULL ? CLARKE_OK : CLARKE_ENOMEM;

  clarke_matrix_init(&share);
  clarke_matrix_init(&term);
  for (size_t k = 0; k < s->contraction.inner && status == CLARKE_OK; k++) {
    status = gather_factor(&share, map, s, 1 - to, k, other, err);
    if (status == CLARKE_OK)
      status = clarke_matrix_hadamard(&share, g, &share, err);
    factor_map(map, s, to, k);
    if (status == CLARKE_OK)
      status = clarke_matrix_scatter_rows(k == 0 ? grad : &term, &share, map, count, err);
    if (status == CLARKE_OK && k > 0)
      status = clarke_matrix_add(grad, grad, &term, err);
  }
  clarke_matrix_clear(&share);
  clarke_matrix_clear(&term);
  free(map);
  return status;
}
