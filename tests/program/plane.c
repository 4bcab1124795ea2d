#include "plane.h"

#include <stdlib.h>
#include <string.h>

#define PLANE_MOST 4096

int64_t
plane_cross(vec a, vec b)
{
  return a.x * b.y - a.y * b.x;
}

int64_t
plane_dot(vec a, vec b)
{
  return a.x * b.x + a.y * b.y;
}

bool
plane_equal(vec a, vec b)
{
  return a.x == b.x && a.y == b.y;
}

static vec
minus(vec a, vec b)
{
  return (vec){ a.x - b.x, a.y - b.y };
}

static int
by_place(const void *left, const void *right)
{
  const vec *a = left, *b = right;

  if (a->x != b->x)
    return a->x < b->x ? -1 : 1;
  return (a->y > b->y) - (a->y < b->y);
}

size_t
plane_sort(vec *p, size_t n)
{
  size_t kept = 0;

  qsort(p, n, sizeof *p, by_place);
  for (size_t i = 0; i < n; i++)
    if (kept == 0 || !plane_equal(p[kept - 1], p[i]))
      p[kept++] = p[i];
  return kept;
}

bool
plane_among(const vec *p, size_t n, vec q)
{
  for (size_t i = 0; i < n; i++)
    if (plane_equal(p[i], q))
      return true;
  return false;
}

/* Is q between a and b, both included? */
static bool
on_segment(vec a, vec b, vec q)
{
  return plane_cross(minus(b, a), minus(q, a)) == 0 && plane_dot(minus(a, q), minus(b, q)) <= 0;
}

/* By Caratheodory: in a point, a segment or a triangle of the set. */
bool
plane_inside(const vec *p, size_t n, vec q)
{
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      if (on_segment(p[i], p[j], q))
        return true;
      for (size_t k = 0; k < j; k++) {
        int64_t a = plane_cross(minus(p[j], p[i]), minus(q, p[i]));
        int64_t b = plane_cross(minus(p[k], p[j]), minus(q, p[j]));
        int64_t c = plane_cross(minus(p[i], p[k]), minus(q, p[k]));

        if ((a > 0 && b > 0 && c > 0) || (a < 0 && b < 0 && c < 0))
          return true;
      }
    }
  return false;
}

/* A vertex is what is not in the hull of the others. */
size_t
plane_hull(vec *p, size_t n)
{
  vec others[PLANE_MOST], kept[PLANE_MOST];
  size_t n_kept = 0;

  n = plane_sort(p, n);
  for (size_t i = 0; i < n; i++) {
    memcpy(others, p, i * sizeof *p);
    memcpy(others + i, p + i + 1, (n - i - 1) * sizeof *p);
    if (!plane_inside(others, n - 1, p[i]))
      kept[n_kept++] = p[i];
  }
  memcpy(p, kept, n_kept * sizeof *p);
  return n_kept;
}

/* The nearest of 0 itself (when inside), the points, and the feet of perpendiculars on segments. */
vec
plane_least(const vec *p, size_t n, int64_t *scale)
{
  vec best = p[0];
  int64_t best_scale = 1;

  *scale = 1;
  if (plane_inside(p, n, (vec){ 0, 0 }))
    return (vec){ 0, 0 };
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      vec edge = minus(p[j], p[i]);
      int64_t along = -plane_dot(p[i], edge), length = i == j ? 1 : plane_dot(edge, edge);
      vec foot = { p[i].x * length + along * edge.x, p[i].y * length + along * edge.y };

      if (i != j && (along < 0 || along > length))
        continue;
      if ((__int128_t)plane_dot(foot, foot) * best_scale * best_scale
          < (__int128_t)plane_dot(best, best) * length * length) {
        best = foot;
        best_scale = length;
      }
    }
  *scale = best_scale;
  return best;
}
