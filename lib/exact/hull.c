/* Membership in a hull of finitely many points, and its vertices (points.h). */
#include "exact/hull.h"

#include "exact/cone.h"
#include "exact/number.h"
#include "exact/wolfe.h"

#include <flint/fmpz.h>
#include <flint/fmpz_vec.h>
#include <stdlib.h>

/* --- membership ------------------------------------------------------------------------------- */

/* Rows v - s_i, times one positive number. */
static clarke_status
gaps(fmpz_mat_t a, const clarke_points *s, mpq_t *v, clarke_error *err)
{
  const size_t n = s->n * s->dim;
  mpq_t *gap = clarke_rationals(n);
  fmpz_t common;

  if (gap == NULL)
    return clarke_no_memory(err);
  for (size_t k = 0; k < n; k++)
    mpq_sub(gap[k], v[k % s->dim], s->entry[k]);
  fmpz_init(common);
  clarke_integers(a, common, gap);
  fmpz_clear(common);
  clarke_rationals_free(gap, n);
  return CLARKE_OK;
}

/* A vector of integers as rationals. */
static void
read_vector(mpq_t *to, const fmpz_mat_t x)
{
  for (slong i = 0; i < fmpz_mat_nrows(x); i++) {
    fmpz_get_mpz(mpq_numref(to[i]), fmpz_mat_entry(x, i, 0));
    mpz_set_ui(mpq_denref(to[i]), 1);
  }
}

/* A hull of no points, or in no dimension. */
static void
place_trivial(clarke_hull_place *place, mpq_t *weight, mpq_t *separator, const clarke_points *s)
{
  *place = s->n > 0 ? CLARKE_HULL_INSIDE : CLARKE_HULL_OUTSIDE;
  if (s->n > 0)
    mpq_set_si(weight[0], 1, 1);
  for (size_t j = 0; s->n == 0 && j < s->dim; j++)
    mpq_set_si(separator[j], 0, 1);
}

clarke_status
clarke_points_place(clarke_hull_place *place, mpq_t *weight, mpq_t *separator,
                    const clarke_points *s, mpq_t *v, clarke_error *err)
{
  clarke_cone cone;
  fmpz_mat_t a;
  clarke_status status;

  *place = CLARKE_HULL_UNKNOWN;
  if (s->n == 0 || s->dim == 0) {
    place_trivial(place, weight, separator, s);
    return CLARKE_OK;
  }
  clarke_cone_init(&cone);
  fmpz_mat_init(a, (slong)s->n, (slong)s->dim);
  status = gaps(a, s, v, err);
  if (status == CLARKE_OK)
    status = clarke_cone_solve(&cone, a, CLARKE_CONE_WORK, err);
  if (status == CLARKE_OK && cone.answer == CLARKE_CONE_EMPTY) {
    *place = CLARKE_HULL_INSIDE;
    read_vector(weight, cone.u);
    clarke_weights_normalize(weight, s->n);
  } else if (status == CLARKE_OK && cone.answer == CLARKE_CONE_FEASIBLE) {
    *place = CLARKE_HULL_OUTSIDE;
    read_vector(separator, cone.d);
  }
  fmpz_mat_clear(a);
  clarke_cone_clear(&cone);
  return status;
}

/* --- vertices --------------------------------------------------------------------------------- */

/* Beyond this many products of entries the vertices are not looked for. */
#define HULL_WORK ((double)(1 << 27))
/* What a linear program costs, by entry of its matrix. */
#define HULL_PROGRAM 16.0

/* The points in coordinates of their affine hull, as integers. Row 0 of s is the origin; the
 * coordinates are entries of the vectors (the first that determine the others), so that the order
 * of rows is still the lexicographic one, and its first and last rows are vertices. */
typedef struct {
  slong n, dim;
  fmpz_mat_t point;
  bool *vertex;
  slong n_vertices;
  bool known;
  double work;
} hull_search;

static slong
pivot_columns(slong *pivot, const fmpz_mat_t reduced, slong rank)
{
  slong j = 0;

  for (slong i = 0; i < rank; i++, j++) {
    while (fmpz_is_zero(fmpz_mat_entry(reduced, i, j)))
      j++;
    pivot[i] = j;
  }
  return rank;
}

static clarke_status
hull_init(hull_search *h, const clarke_points *s, clarke_error *err)
{
  const slong n = (slong)s->n, cols = (slong)s->dim;
  slong *pivot = malloc((s->dim + 1) * sizeof *pivot);
  fmpz_mat_t difference, reduced;
  fmpz_t scale;

  h->vertex = calloc(s->n + 1, sizeof *h->vertex);
  h->known = true;
  h->n = n;
  fmpz_mat_init(difference, n, cols);
  fmpz_mat_init(reduced, n, cols);
  fmpz_init(scale);
  clarke_integers(difference, scale, s->entry);
  for (slong i = n; i-- > 0;)
    _fmpz_vec_sub(fmpz_mat_entry(difference, i, 0), fmpz_mat_entry(difference, i, 0),
                  fmpz_mat_entry(difference, 0, 0), cols);
  h->dim = fmpz_mat_rref(reduced, scale, difference);
  if (pivot != NULL)
    pivot_columns(pivot, reduced, h->dim);
  fmpz_mat_init(h->point, n, h->dim > 0 ? h->dim : 1);
  for (slong i = 0; i < n && pivot != NULL; i++)
    for (slong j = 0; j < h->dim; j++)
      fmpz_set(fmpz_mat_entry(h->point, i, j), fmpz_mat_entry(difference, i, pivot[j]));
  fmpz_mat_clear(difference);
  fmpz_mat_clear(reduced);
  fmpz_clear(scale);
  if (pivot == NULL || h->vertex == NULL) {
    free(pivot);
    return clarke_no_memory(err);
  }
  free(pivot);
  return CLARKE_OK;
}

static void
hull_clear(hull_search *h)
{
  fmpz_mat_clear(h->point);
  free(h->vertex);
}

static void
mark(hull_search *h, slong i)
{
  h->n_vertices += !h->vertex[i];
  h->vertex[i] = true;
}

static const fmpz *
point_of(const hull_search *h, slong i)
{
  return fmpz_mat_entry(h->point, i, 0);
}

/* Does the path i, j, k in the plane turn to the left (1), not at all, or to the right? */
static int
turn(const hull_search *h, slong i, slong j, slong k)
{
  const fmpz *p = point_of(h, i), *q = point_of(h, j), *r = point_of(h, k);
  fmpz_t a, b, area;
  int sign;

  fmpz_init(a);
  fmpz_init(b);
  fmpz_init(area);
  fmpz_sub(a, q, p);
  fmpz_sub(b, r + 1, p + 1);
  fmpz_mul(area, a, b);
  fmpz_sub(a, q + 1, p + 1);
  fmpz_sub(b, r, p);
  fmpz_submul(area, a, b);
  sign = fmpz_sgn(area);
  fmpz_clear(a);
  fmpz_clear(b);
  fmpz_clear(area);
  return sign;
}

/* Half of the plane's hull, its rows from the first to the last: the lower half for side 1. */
static clarke_status
chain(hull_search *h, int side, clarke_error *err)
{
  slong *path = malloc((size_t)h->n * sizeof *path), n = 0;

  if (path == NULL)
    return clarke_no_memory(err);
  for (slong i = 0; i < h->n; i++) {
    while (n >= 2 && turn(h, path[n - 2], path[n - 1], i) * side <= 0)
      n--;
    path[n++] = i;
  }
  for (slong k = 0; k < n; k++)
    mark(h, path[k]);
  free(path);
  return CLARKE_OK;
}

/* The lexicographically last of the points furthest along d: a vertex. */
static slong
furthest(hull_search *h, const fmpz *d)
{
  slong best = 0;
  fmpz_t most, value;

  fmpz_init(most);
  fmpz_init(value);
  for (slong i = 0; i < h->n; i++) {
    _fmpz_vec_dot(value, point_of(h, i), d, h->dim);
    if (i == 0 || fmpz_cmp(value, most) >= 0) {
      fmpz_set(most, value);
      best = i;
    }
  }
  h->work += (double)h->n * (double)h->dim;
  fmpz_clear(most);
  fmpz_clear(value);
  return best;
}

/* Is point i in the hull of the vertices found so far? If not, the cone's d separates it. */
static clarke_status
compare_with_vertices(clarke_cone *cone, hull_search *h, slong i, clarke_error *err)
{
  fmpz_mat_t a;
  clarke_status status;
  slong row = 0;

  fmpz_mat_init(a, h->n_vertices, h->dim);
  for (slong k = 0; k < h->n; k++)
    if (h->vertex[k])
      _fmpz_vec_sub(fmpz_mat_entry(a, row++, 0), point_of(h, i), point_of(h, k), h->dim);
  status = clarke_cone_solve(cone, a, CLARKE_CONE_WORK, err);
  fmpz_mat_clear(a);
  h->work += HULL_PROGRAM * (double)h->n_vertices * (double)h->dim;
  return status;
}

/* Clarkson's search (More output-sensitive geometric algorithms, 1994): a point in the hull of
 * known vertices is none; a separator of another leads to a new one. */
static clarke_status
decide_point(hull_search *h, clarke_cone *cone, slong i, clarke_error *err)
{
  fmpz *d = _fmpz_vec_init(h->dim);
  clarke_status status = CLARKE_OK;

  while (status == CLARKE_OK && h->known && !h->vertex[i]) {
    status = compare_with_vertices(cone, h, i, err);
    h->known = cone->answer != CLARKE_CONE_UNKNOWN && h->work <= HULL_WORK;
    if (status != CLARKE_OK || cone->answer != CLARKE_CONE_FEASIBLE)
      break;
    for (slong j = 0; j < h->dim; j++)
      fmpz_set(d + j, fmpz_mat_entry(cone->d, j, 0));
    mark(h, furthest(h, d));
  }
  _fmpz_vec_clear(d, h->dim);
  return status;
}

static clarke_status
find_vertices(hull_search *h, clarke_error *err)
{
  clarke_cone cone;
  clarke_status status = CLARKE_OK;

  mark(h, 0);
  mark(h, h->n - 1);
  if (h->dim <= 1)
    return CLARKE_OK;
  if (h->n == h->dim + 1) { /* a simplex */
    for (slong i = 0; i < h->n; i++)
      mark(h, i);
    return CLARKE_OK;
  }
  if (h->dim == 2) {
    status = chain(h, 1, err);
    return status == CLARKE_OK ? chain(h, -1, err) : status;
  }
  clarke_cone_init(&cone);
  for (slong i = 0; i < h->n && status == CLARKE_OK && h->known; i++)
    status = decide_point(h, &cone, i, err);
  clarke_cone_clear(&cone);
  return status;
}

clarke_status
clarke_points_hull(clarke_points *hull, bool *known, const clarke_points *s, clarke_error *err)
{
  hull_search h = {.n = 0};
  clarke_status status;

  clarke_points_clear(hull);
  hull->dim = s->dim;
  *known = true;
  if (s->n <= 2 || s->dim == 0)
    return clarke_points_set(hull, s->n, s->entry, err);
  status = hull_init(&h, s, err);
  if (status == CLARKE_OK)
    status = find_vertices(&h, err);
  *known = h.known;
  for (slong i = 0; i < h.n && status == CLARKE_OK && h.known; i++)
    if (h.vertex[i])
      status = clarke_points_add(hull, &s->entry[(size_t)i * s->dim], err);
  hull_clear(&h);
  return status;
}
