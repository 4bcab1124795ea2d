/* Regions joined across facets (affine_pieces.h). */
#include "region/affine_pieces.h"
#include "base/room.h"
#include "base/stop.h"
#include "exact/cone.h"

#include <flint/fmpz_mat.h>
#include <flint/fmpz_vec.h>
#include <stdlib.h>
#include <string.h>

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

/* --- hyperplanes ----------------------------------------------------------------------------- */

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

/* --- fixed hyperplanes ----------------------------------------------------------------------- */

/* Whether instructions depend on a kink or a maximum; calloc'd. */
static bool *
behind_kinks(const clarke_code *p)
{
  bool *behind = calloc(p->n + 1, sizeof *behind);

  for (size_t i = 0; behind != NULL && i < p->n; i++)
    for (size_t j = 0; j < p->instruction[i].n_in && !behind[i]; j++) {
      const clarke_do kind = p->instruction[p->instruction[i].in[j]].kind;

      behind[i] = behind[p->instruction[i].in[j]] || kind == CLARKE_DO_PIECEWISE || kind == CLARKE_DO_ORDER;
    }
  return behind;
}

static clarke_status
add_fixed(clarke_affine_pieces *s, const clarke_forms *f, size_t i, fmpz *row, clarke_error *err)
{
  const clarke_instruction *at = &f->p->instruction[i];
  const bool local = s->plane.width == f->dim;
  clarke_side side;
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < at->pieces->n_kinks && status == CLARKE_OK; k++) {
    clarke_forms_kink(row, f, i, k);
    if (!clarke_forms_is_smooth(at, k) && !_fmpz_vec_is_zero(row, (slong)f->dim) && (!local || fmpz_is_zero(row + f->dim)))
      status = find_side(&side, s, row, err);
  }
  return status;
}

static clarke_status
find_fixed(clarke_affine_pieces *s, clarke_forms *f, clarke_error *err)
{
  fmpz *row = _fmpz_vec_init((slong)f->dim + 1);
  bool *behind = behind_kinks(f->p);
  clarke_status status = behind != NULL ? CLARKE_OK : clarke_no_memory(err);

  for (size_t l = 0; l < f->n_live && status == CLARKE_OK; l++) {
    const size_t i = f->live[l];
    const clarke_do kind = f->p->instruction[i].kind;

    if (!behind[i] && kind == CLARKE_DO_PIECEWISE)
      status = add_fixed(s, f, i, row, err);
    else if (!behind[i] && kind != CLARKE_DO_ORDER)
      clarke_forms_compute(f, i, 0);
  }
  s->fixed = s->plane.n;
  free(behind);
  _fmpz_vec_clear(row, (slong)f->dim + 1);
  return status;
}

clarke_status
clarke_affine_pieces_init(clarke_affine_pieces *s, const clarke_forms *forms, size_t width, clarke_error *err)
{
  clarke_forms own = {0};
  clarke_status status;

  memset(s, 0, sizeof *s);
  clarke_vector_set_init(&s->plane, width);
  s->row = _fmpz_vec_init((slong)width + 1);
  status = clarke_forms_share(&own, forms, err);
  if (status == CLARKE_OK)
    status = find_fixed(s, &own, err);
  clarke_forms_unshare(&own);
  return status;
}

/* A number for a side: of a set of sides the sum, or rather ^, of these tells it apart from most. */
static uint64_t
mixed(uint64_t x)
{
  x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15) + UINT64_C(0x632be59bd9b4e019);
  x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
  return x ^ x >> 32;
}

/* By the region's point, which is on no hyperplane. */
static uint64_t
place_of(const clarke_affine_pieces *s, const clarke_witness *point)
{
  const size_t width = s->plane.width;
  uint64_t place = 0;
  fmpz_t x, value;

  fmpz_init(x);
  fmpz_init(value);
  for (size_t h = 0; h < s->fixed; h++) {
    fmpz_zero(value);
    for (size_t k = 0; k < width; k++) {
      clarke_witness_get(x, point, k);
      fmpz_addmul(value, x, s->plane.vector + h * width + k);
    }
    place ^= mixed(2 * h + (fmpz_sgn(value) < 0));
  }
  fmpz_clear(x);
  fmpz_clear(value);
  return place;
}

/* --- regions --------------------------------------------------------------------------------- */

static int
compare_sides(const void *a, const void *b)
{
  const clarke_side x = *(const clarke_side *)a, y = *(const clarke_side *)b;

  return (x > y) - (x < y);
}

clarke_status
clarke_affine_pieces_add(clarke_affine_pieces *s, const clarke_region *region, size_t function, clarke_error *err)
{
  const size_t rows = (size_t)fmpz_mat_nrows(region->cone);
  clarke_piece_region *r;
  size_t kept = 0;
  clarke_status status = clarke_make_room(&s->region, &s->room, s->n + 1, sizeof *s->region, err);

  if (status != CLARKE_OK)
    return status;
  clarke_work_keep(rows * sizeof *r->side + 2 * sizeof *r);
  r = &s->region[s->n];
  *r = (clarke_piece_region){function, s->n, 0, malloc((rows + 1) * sizeof *r->side), place_of(s, region->point)};
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

#define ANY_PLANE UINT32_MAX

/* --- pieces ---------------------------------------------------------------------------------- */

static size_t
root_of(clarke_affine_pieces *s, size_t i)
{
  while (s->region[i].piece != i)
    i = s->region[i].piece = s->region[s->region[i].piece].piece;
  return i;
}

/* Joins the two, of one function, when they are neighbours across that hyperplane (ANY_PLANE: across any). */
static clarke_status
join(bool *decided, clarke_affine_pieces *s, size_t a, size_t b, clarke_side across, clarke_error *err)
{
  const size_t one = root_of(s, a), other = root_of(s, b);
  bool share = false;
  clarke_side plane = 0;
  clarke_status status = CLARKE_OK;

  if (one != other && one_between(&plane, &s->region[a], &s->region[b]) && (across == ANY_PLANE || plane == across))
    status = share_facet(&share, decided, s, &s->region[a], &s->region[b], plane, err);
  if (share)
    s->region[one].piece = other;
  return status;
}

/* A region's side of one of its hyperplanes, and where it is but for that: alike for the regions that may share a facet there. */
typedef struct {
  uint64_t place;
  size_t region;
  clarke_side side;
} standing;

static int
compare_standings(const void *a, const void *b)
{
  const standing *x = a, *y = b;

  if (x->place != y->place)
    return x->place < y->place ? -1 : 1;
  return x->region != y->region ? (x->region < y->region ? -1 : 1) : compare_sides(&x->side, &y->side);
}

static standing
standing_at(const clarke_affine_pieces *s, size_t region, clarke_side side)
{
  const clarke_piece_region *r = &s->region[region];
  const uint64_t rest = side / 2 < s->fixed ? r->place ^ mixed(side) : r->place;

  return (standing){mixed(rest ^ mixed(r->function ^ (uint64_t)(side / 2) << 32)), region, side};
}

static clarke_status
list_standings(standing **to, size_t *n, const clarke_affine_pieces *s, clarke_error *err)
{
  size_t most = 0;

  for (size_t i = 0; i < s->n; i++)
    most += s->region[i].n;
  *n = 0;
  *to = malloc((most + 1) * sizeof **to);
  if (*to == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < s->n; i++)
    for (size_t k = 0; k < s->region[i].n; k++)
      (*to)[(*n)++] = standing_at(s, i, s->region[i].side[k]);
  qsort(*to, *n, sizeof **to, compare_standings);
  return CLARKE_OK;
}

/* Standings of one place: those of one function on different sides of one hyperplane are compared. */
static clarke_status
join_alike(bool *decided, clarke_affine_pieces *s, const standing *at, size_t n, clarke_error *err)
{
  clarke_status status = clarke_work_check(err);

  for (size_t i = 0; i < n && status == CLARKE_OK && *decided; i++)
    for (size_t j = 0; j < i && status == CLARKE_OK && *decided; j++)
      if (at[i].side == (at[j].side ^ 1) && s->region[at[i].region].function == s->region[at[j].region].function)
        status = join(decided, s, at[i].region, at[j].region, at[i].side / 2, err);
  clarke_work_done();
  return status;
}

/* A region and those of its function that were told shortly before are often neighbours. What is joined here costs nothing later. */
#define SHORTLY 8

static clarke_status
join_recent(bool *decided, clarke_affine_pieces *s, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < s->n && status == CLARKE_OK; i++)
    for (size_t j = i; j-- > 0 && i - j <= SHORTLY && status == CLARKE_OK && *decided;)
      if (s->region[i].function == s->region[j].function)
        status = join(decided, s, i, j, ANY_PLANE, err);
  return status == CLARKE_OK ? clarke_work_check(err) : status;
}

clarke_status
clarke_affine_pieces_count(size_t *n, bool *decided, clarke_affine_pieces *s, clarke_error *err)
{
  standing *at = NULL;
  size_t all = 0, alike;
  clarke_status status = list_standings(&at, &all, s, err);

  *n = 0;
  *decided = true;
  if (status == CLARKE_OK)
    status = join_recent(decided, s, err);
  for (size_t i = 0; i < all && status == CLARKE_OK && *decided; i += alike) {
    for (alike = 1; i + alike < all && at[i + alike].place == at[i].place;)
      alike++;
    status = join_alike(decided, s, at + i, alike, err);
  }
  for (size_t i = 0; i < s->n; i++)
    *n += root_of(s, i) == i;
  free(at);
  return status;
}
