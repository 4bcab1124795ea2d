/* Regions joined across facets (affine_pieces.h). */
#include "region/affine_pieces.h"
#include "base/stop.h"
#include "exact/cone.h"

#include <flint/fmpz_mat.h>
#include <flint/fmpz_vec.h>
#include <stdlib.h>
#include <string.h>

void
clarke_affine_pieces_init(clarke_affine_pieces *s, size_t width)
{
  memset(s, 0, sizeof *s);
  clarke_vector_set_init(&s->plane, width);
  s->row = _fmpz_vec_init((slong)width + 1);
}

void
clarke_affine_pieces_clear(clarke_affine_pieces *s)
{
  for (size_t i = 0; i < s->n; i++)
    free(s->region[i].side);
  free(s->region);
  if (s->row != NULL)
    _fmpz_vec_clear(s->row, (slong)s->plane.width + 1);
  clarke_vector_set_clear(&s->plane);
  memset(s, 0, sizeof *s);
}

/* --- regions --------------------------------------------------------------------------------- */

/* The row's hyperplane, and on which side of it the row is positive. */
static clarke_status
find_side(clarke_side *side, clarke_affine_pieces *s, const fmpz *row, clarke_error *err)
{
  const size_t width = s->plane.width;
  fmpz_t content;
  size_t first = 0, number = 0;
  bool negative;
  clarke_status status;

  fmpz_init(content);
  _fmpz_vec_content(content, row, (slong)width);
  _fmpz_vec_scalar_divexact_fmpz(s->row, row, (slong)width, content);
  fmpz_clear(content);
  while (first + 1 < width && fmpz_is_zero(s->row + first))
    first++;
  negative = fmpz_sgn(s->row + first) < 0;
  if (negative)
    _fmpz_vec_neg(s->row, s->row, (slong)width);
  status = clarke_vector_set_add(&number, &s->plane, s->row, err);
  if (status == CLARKE_OK && number > UINT32_MAX / 2)
    return clarke_fail(err, CLARKE_ENOMEM, "over %u hyperplanes", UINT32_MAX / 2);
  *side = (clarke_side)(2 * number + negative);
  return status;
}

static int
compare_sides(const void *a, const void *b)
{
  const clarke_side x = *(const clarke_side *)a, y = *(const clarke_side *)b;

  return (x > y) - (x < y);
}

static clarke_status
make_room(clarke_affine_pieces *s, clarke_error *err)
{
  clarke_piece_region *region;

  if (s->n < s->room)
    return CLARKE_OK;
  region = reallocarray(s->region, 2 * s->room + 16, sizeof *region);
  if (region == NULL)
    return clarke_no_memory(err);
  s->region = region;
  s->room = 2 * s->room + 16;
  return CLARKE_OK;
}

clarke_status
clarke_affine_pieces_add(clarke_affine_pieces *s, const clarke_region *region, size_t function, clarke_error *err)
{
  const size_t rows = (size_t)fmpz_mat_nrows(region->cone);
  clarke_piece_region *r;
  size_t kept = 0;
  clarke_status status = make_room(s, err);

  if (status != CLARKE_OK)
    return status;
  r = &s->region[s->n];
  *r = (clarke_piece_region){function, s->n, 0, malloc((rows + 1) * sizeof *r->side)};
  if (r->side == NULL)
    return clarke_no_memory(err);
  s->n++;
  for (size_t i = 0; i < rows && status == CLARKE_OK; i++)
    status = find_side(&r->side[i], s, fmpz_mat_entry(region->cone, (slong)i, 0), err);
  if (status != CLARKE_OK)
    return status;
  qsort(r->side, rows, sizeof *r->side, compare_sides);
  for (size_t i = 0; i < rows; i++)
    if (i == 0 || r->side[i] != r->side[i - 1])
      r->side[kept++] = r->side[i];
  r->n = kept;
  return CLARKE_OK;
}

/* --- neighbours ------------------------------------------------------------------------------ */

/* A facet that two regions share lies on a hyperplane that both have, on different sides: *plane. Of two such hyperplanes both
 * closures would lie on either, and what they share would be smaller than a facet. */
static bool
one_between(clarke_side *plane, const clarke_piece_region *a, const clarke_piece_region *b)
{
  size_t between = 0;

  for (size_t i = 0, j = 0; i < a->n && j < b->n && between < 2;)
    if (a->side[i] / 2 == b->side[j] / 2) {
      if (a->side[i] != b->side[j]) {
        between++;
        *plane = a->side[i] / 2;
      }
      i++;
      j++;
    } else if (a->side[i] < b->side[j])
      i++;
    else
      j++;
  return between == 1;
}

/* Rows of the region, but for the hyperplane's: on it, where its entry number `pivot` follows from the others. to: from row *n. */
static void
put_rows(fmpz_mat_t to, slong *n, const clarke_affine_pieces *s, const clarke_piece_region *r, clarke_side plane, size_t pivot)
{
  const size_t width = s->plane.width;
  const fmpz *h = s->plane.vector + plane * width;

  for (size_t i = 0; i < r->n; i++) {
    const fmpz *row = s->plane.vector + (r->side[i] / 2) * width;

    if (r->side[i] / 2 == plane)
      continue;
    _fmpz_vec_scalar_mul_fmpz(s->row, row, (slong)width, h + pivot); /* h_pivot > 0 */
    _fmpz_vec_scalar_submul_fmpz(s->row, h, (slong)width, row + pivot);
    for (size_t j = 0, k = 0; j < width; j++)
      if (j != pivot)
        fmpz_set(fmpz_mat_entry(to, *n, (slong)k++), s->row + j);
    if (r->side[i] % 2 == 1)
      _fmpz_vec_neg(fmpz_mat_entry(to, *n, 0), fmpz_mat_entry(to, *n, 0), (slong)width - 1);
    (*n)++;
  }
}

/* Do both closures have a point inside the same part of the hyperplane? Then there, near it, they share a facet. */
static clarke_status
share_facet(bool *share, bool *decided, const clarke_affine_pieces *s, const clarke_piece_region *a, const clarke_piece_region *b,
            clarke_side plane, clarke_error *err)
{
  const fmpz *h = s->plane.vector + plane * s->plane.width;
  size_t pivot = 0;
  slong n = 0;
  clarke_cone cone;
  fmpz_mat_t rows;
  clarke_status status;

  while (fmpz_is_zero(h + pivot))
    pivot++;
  clarke_cone_init(&cone);
  fmpz_mat_init(rows, (slong)(a->n + b->n) - 2, (slong)s->plane.width - 1);
  put_rows(rows, &n, s, a, plane, pivot);
  put_rows(rows, &n, s, b, plane, pivot);
  status = clarke_cone_solve(&cone, rows, CLARKE_CONE_LITTLE_WORK, err);
  *share = status == CLARKE_OK && cone.answer == CLARKE_CONE_FEASIBLE;
  *decided = status == CLARKE_OK && cone.answer != CLARKE_CONE_UNKNOWN;
  fmpz_mat_clear(rows);
  clarke_cone_clear(&cone);
  return status;
}

/* --- pieces ---------------------------------------------------------------------------------- */

static size_t
root_of(clarke_affine_pieces *s, size_t i)
{
  while (s->region[i].piece != i)
    i = s->region[i].piece = s->region[s->region[i].piece].piece;
  return i;
}

/* Joins the two, of one function, when they are neighbours. */
static clarke_status
join(bool *decided, clarke_affine_pieces *s, size_t a, size_t b, clarke_error *err)
{
  const size_t one = root_of(s, a), other = root_of(s, b);
  bool share = false;
  clarke_side plane = 0;
  clarke_status status = CLARKE_OK;

  if (one != other && one_between(&plane, &s->region[a], &s->region[b]))
    status = share_facet(&share, decided, s, &s->region[a], &s->region[b], plane, err);
  if (share)
    s->region[one].piece = other;
  return status;
}

/* Regions by their functions: *next of each the one before of the same, or SIZE_MAX. */
static clarke_status
chain(size_t **before, const clarke_affine_pieces *s, clarke_error *err)
{
  size_t functions = 0, *last;

  for (size_t i = 0; i < s->n; i++)
    functions = s->region[i].function >= functions ? s->region[i].function + 1 : functions;
  *before = malloc((s->n + 1) * sizeof **before);
  last = malloc((functions + 1) * sizeof *last);
  if (*before == NULL || last == NULL) {
    free(last);
    return clarke_no_memory(err);
  }
  memset(last, 0xff, (functions + 1) * sizeof *last);
  for (size_t i = 0; i < s->n; i++) {
    (*before)[i] = last[s->region[i].function];
    last[s->region[i].function] = i;
  }
  free(last);
  return CLARKE_OK;
}

clarke_status
clarke_affine_pieces_count(size_t *n, bool *decided, clarke_affine_pieces *s, clarke_error *err)
{
  size_t *before = NULL;
  clarke_status status = chain(&before, s, err);

  *n = 0;
  *decided = true;
  for (size_t i = 0; i < s->n && status == CLARKE_OK && *decided; i++) {
    status = clarke_work_check(err);
    clarke_work_done();
    for (size_t j = before[i]; j != SIZE_MAX && status == CLARKE_OK && *decided; j = before[j])
      status = join(decided, s, i, j, err);
  }
  for (size_t i = 0; i < s->n; i++)
    *n += root_of(s, i) == i;
  free(before);
  return status;
}
