/* Matrices rearranged: transposes, rows and columns picked or gathered up, row sums. */
#include "exact/matrix.h"

#include "exact/matrix_inside.h"
#include "exact/number.h"
#include "exact/upward.h"

#include <stdlib.h>
#include <string.h>

/* c becomes rows x cols zeros with a's words, scale and kind (with radius or not). */
static clarke_status
shape_like(clarke_matrix *c, const clarke_matrix *a, size_t rows, size_t cols, size_t limbs,
           clarke_error *err)
{
  clarke_status status = clarke_matrix_resize(c, rows, cols, limbs, err);

  if (status == CLARKE_OK)
    status = clarke_matrix_set_scale(c, a->exp, a->den, err);
  if (status == CLARKE_OK && a->radius != NULL)
    status = clarke_matrix_need_radius(c, err);
  return status;
}

static inline void
copy_entry(clarke_matrix *c, size_t to, const clarke_matrix *a, size_t from)
{
  if (a->limbs == 1)
    c->word[to] = a->word[from];
  else
    memcpy(clarke_entry(c, to), clarke_entry(a, from), a->limbs * sizeof *a->word);
  if (a->radius != NULL)
    c->radius[to] = a->radius[from];
}

static clarke_status
check_map(const size_t *map, size_t n, size_t limit, clarke_error *err)
{
  for (size_t k = 0; k < n; k++)
    if (map[k] >= limit && map[k] != SIZE_MAX)
      return clarke_fail(err, CLARKE_EINTERNAL, "index %zu at place %zu of a map into %zu", map[k],
                         k, limit);
  return CLARKE_OK;
}

clarke_status
clarke_matrix_gather_rows(clarke_matrix *c, const clarke_matrix *a, const size_t *map, size_t n,
                          clarke_error *err)
{
  const size_t cols = a->cols;
  clarke_status status = check_map(map, n, a->rows, err);

  if (status == CLARKE_OK)
    status = shape_like(c, a, n, cols, a->limbs, err);
  for (size_t i = 0; i < n && status == CLARKE_OK && cols > 0; i++) {
    if (map[i] == SIZE_MAX)
      continue;
    memcpy(clarke_entry(c, i * cols), clarke_entry(a, map[i] * cols),
           cols * a->limbs * sizeof *a->word);
    if (a->radius != NULL)
      memcpy(c->radius + i * cols, a->radius + map[i] * cols, cols * sizeof *a->radius);
  }
  return status;
}

clarke_status
clarke_matrix_gather_cols(clarke_matrix *c, const clarke_matrix *a, const size_t *map, size_t n,
                          clarke_error *err)
{
  clarke_status status = check_map(map, n, a->cols, err);

  if (status == CLARKE_OK)
    status = shape_like(c, a, a->rows, n, a->limbs, err);
  for (size_t i = 0; i < a->rows && status == CLARKE_OK; i++)
    for (size_t j = 0; j < n; j++)
      if (map[j] != SIZE_MAX)
        copy_entry(c, i * n + j, a, i * a->cols + map[j]);
  return status;
}

clarke_status
clarke_matrix_rows(clarke_matrix *c, const clarke_matrix *a, size_t from, size_t n,
                   clarke_error *err)
{
  clarke_status status = shape_like(c, a, n, a->cols, a->limbs, err);

  if (status != CLARKE_OK || n * a->cols == 0)
    return status;
  memcpy(c->word, clarke_entry(a, from * a->cols), n * a->cols * a->limbs * sizeof *a->word);
  if (a->radius != NULL)
    memcpy(c->radius, a->radius + from * a->cols, n * a->cols * sizeof *a->radius);
  return CLARKE_OK;
}

clarke_status
clarke_matrix_stack(clarke_matrix *c, const clarke_matrix *a, size_t n, clarke_error *err)
{
  size_t rows = 0, limbs = 1, at = 0;
  bool enclosed = false;
  clarke_status status;

  for (size_t k = 0; k < n; k++) {
    if (a[k].cols != a[0].cols || a[k].exp != a[0].exp || mpz_cmp(a[k].den, a[0].den) != 0)
      return clarke_fail(err, CLARKE_EINTERNAL, "matrices of different scales stacked");
    rows += a[k].rows;
    limbs = a[k].limbs > limbs ? a[k].limbs : limbs;
    enclosed = enclosed || a[k].radius != NULL;
  }
  status = shape_like(c, &a[0], rows, a[0].cols, limbs, err);
  if (status == CLARKE_OK && enclosed)
    status = clarke_matrix_need_radius(c, err);
  for (size_t k = 0; k < n && status == CLARKE_OK; k++)
    for (size_t e = 0; e < a[k].rows * a[k].cols; e++, at++) {
      clarke_word_shift(clarke_entry(c, at), limbs, clarke_entry(&a[k], e), a[k].limbs, 0);
      if (a[k].radius != NULL)
        c->radius[at] = a[k].radius[e];
    }
  return status;
}

/* word[0..limbs) += x, sign extended. */
static inline void
accumulate(uint64_t *word, size_t limbs, const uint64_t *x, size_t x_limbs)
{
  const uint64_t fill = clarke_word_fill(x, x_limbs);
  unsigned char carry = 0;

  for (size_t k = 0; k < limbs; k++) {
    const clarke_uint128 sum =
        (clarke_uint128)word[k] + (k < x_limbs ? x[k] : fill) + carry;

    word[k] = (uint64_t)sum;
    carry = (unsigned char)(sum >> 64);
  }
}

/* How many rows go to the fullest place of a map. */
static clarke_status
most_mapped(size_t *most, const size_t *map, size_t n, size_t n_out, clarke_error *err)
{
  size_t *times = calloc(n_out + 1, sizeof *times);

  if (times == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for a map into %zu rows", n_out);
  *most = 1;
  for (size_t i = 0; i < n; i++)
    if (map[i] != SIZE_MAX && ++times[map[i]] > *most)
      *most = times[map[i]];
  free(times);
  return CLARKE_OK;
}

clarke_status
clarke_matrix_scatter_rows(clarke_matrix *c, const clarke_matrix *a, const size_t *map,
                           size_t n_out, clarke_error *err)
{
  const size_t cols = a->cols;
  clarke_status status = check_map(map, a->rows, n_out, err);
  size_t most = 1;

  if (status == CLARKE_OK)
    status = most_mapped(&most, map, a->rows, n_out, err);
  if (status == CLARKE_OK)
    status = shape_like(c, a, n_out, cols,
                        clarke_limbs_for(clarke_matrix_bits(a) + clarke_log2_up(most)), err);
  for (size_t i = 0; i < a->rows && status == CLARKE_OK; i++) {
    if (map[i] == SIZE_MAX)
      continue;
    clarke_tally_add(cols, 0, 0);
    for (size_t j = 0; j < cols; j++) {
      const size_t to = map[i] * cols + j, from = i * cols + j;

      accumulate(clarke_entry(c, to), c->limbs, clarke_entry(a, from), a->limbs);
      if (a->radius != NULL)
        c->radius[to] = clarke_up_add(c->radius[to], a->radius[from]);
    }
  }
  return status;
}

clarke_status
clarke_matrix_lay_out(clarke_matrix *c, const clarke_matrix *a, size_t j, const size_t *map, size_t rows, size_t cols, clarke_error *err)
{
  clarke_status status = check_map(map, rows * cols, a->rows, err);

  if (status == CLARKE_OK)
    status = shape_like(c, a, rows, cols, a->limbs, err);
  for (size_t e = 0; e < rows * cols && status == CLARKE_OK; e++)
    if (map[e] != SIZE_MAX)
      copy_entry(c, e, a, map[e] * a->cols + j);
  return status;
}

clarke_status
clarke_matrix_put_back(clarke_matrix *c, const clarke_matrix *a, size_t j, const size_t *map, clarke_error *err)
{
  const size_t count = a->rows * a->cols;
  clarke_status status = check_map(map, count, c->rows, err);

  if (status == CLARKE_OK && (c->exp != a->exp || mpz_cmp(c->den, a->den) != 0))
    status = clarke_fail(err, CLARKE_EINTERNAL, "a matrix added to one of another scale");
  if (status == CLARKE_OK && a->radius != NULL)
    status = clarke_matrix_need_radius(c, err);
  for (size_t e = 0; e < count && status == CLARKE_OK; e++) {
    const size_t to = map[e] != SIZE_MAX ? map[e] * c->cols + j : 0;

    if (map[e] == SIZE_MAX)
      continue;
    accumulate(clarke_entry(c, to), c->limbs, clarke_entry(a, e), a->limbs);
    if (a->radius != NULL)
      c->radius[to] = clarke_up_add(c->radius[to], a->radius[e]);
  }
  return status;
}

clarke_status
clarke_matrix_gather_entries(clarke_matrix *c, const clarke_matrix *a, const size_t *map, size_t n,
                             clarke_error *err)
{
  const size_t cols = a->cols;
  clarke_status status = check_map(map, n * cols, a->rows, err);

  if (status == CLARKE_OK)
    status = shape_like(c, a, n, cols, a->limbs, err);
  for (size_t e = 0; e < n * cols && status == CLARKE_OK; e++)
    if (map[e] != SIZE_MAX)
      copy_entry(c, e, a, map[e] * cols + e % cols);
  return status;
}

/* No entry receives more than all rows of its column. */
clarke_status
clarke_matrix_scatter_entries(clarke_matrix *c, const clarke_matrix *a, const size_t *map,
                              size_t n_out, clarke_error *err)
{
  const size_t cols = a->cols, n = a->rows * cols;
  clarke_status status = check_map(map, n, n_out, err);

  if (status == CLARKE_OK)
    status = shape_like(c, a, n_out, cols,
                        clarke_limbs_for(clarke_matrix_bits(a) + clarke_log2_up(a->rows + 1)), err);
  for (size_t e = 0; e < n && status == CLARKE_OK; e++) {
    const size_t to = map[e] != SIZE_MAX ? map[e] * cols + e % cols : 0;

    if (map[e] == SIZE_MAX)
      continue;
    clarke_tally_add(1, 0, 0);
    accumulate(clarke_entry(c, to), c->limbs, clarke_entry(a, e), a->limbs);
    if (a->radius != NULL)
      c->radius[to] = clarke_up_add(c->radius[to], a->radius[e]);
  }
  return status;
}

clarke_status
clarke_matrix_row_sums(clarke_matrix *c, const clarke_matrix *a, clarke_error *err)
{
  const size_t most = a->cols > 1 ? a->cols : 1;
  clarke_status status;

  status = shape_like(c, a, a->rows, 1,
                      clarke_limbs_for(clarke_matrix_bits(a) + clarke_log2_up(most)), err);
  clarke_tally_add(a->rows * a->cols, 0, 0);
  for (size_t i = 0; i < a->rows && status == CLARKE_OK; i++)
    for (size_t j = 0; j < a->cols; j++) {
      accumulate(clarke_entry(c, i), c->limbs, clarke_entry(a, i * a->cols + j), a->limbs);
      if (a->radius != NULL)
        c->radius[i] = clarke_up_add(c->radius[i], a->radius[i * a->cols + j]);
    }
  return status;
}
