/* Every program over {+, -, relu} with at most two inputs and five instructions, at the origin,
 * against its definition. Such a function is piecewise linear and positively homogeneous: the
 * directions at which an instruction may change its linear form cut the circle into arcs, on each
 * of which all are linear, and the Bouligand set at the origin is the set of the slopes there.
 *
 *   test_small_world [all]   all of them; else all of at most four instructions, and one in 29 of
 *                          those of five */
#include "build.h"
#include "evidence.h"
#include "plane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 5
#define MOST_ARCS 256
#define SCALE 32 /* of AD's output: 2^MOST, for halves of halves */

typedef enum { ADD, SUB, RELU } world_op;

typedef struct {
  int op, a, b; /* a RELU's b is -1 */
} world_node;

/* Entries are the inputs, then the nodes; the last one is the output. */
typedef struct {
  int n_inputs, n;
  world_node node[MOST];
} world;

static bool everything;

static const char *
describe(const world *w)
{
  static const char *const format[] = { " %d=%d+%d", " %d=%d-%d", " %d=relu(%d)" };
  static char text[256];
  size_t n = (size_t)snprintf(text, sizeof text, "%d inputs:", w->n_inputs);

  for (int i = 0; i < w->n; i++)
    n += (size_t)snprintf(text + n, sizeof text - n, format[w->node[i].op], w->n_inputs + i,
                          w->node[i].a, w->node[i].b);
  return text;
}

/* --- which programs there are ----------------------------------------------------------------- */

static int
node_code(world_node v)
{
  return (v.op * 16 + v.a) * 16 + v.b + 1;
}

static bool
depends(world_node v, int entry)
{
  return v.a == entry || v.b == entry;
}

static int
compare(const world *a, const world *b)
{
  for (int i = 0; i < a->n; i++)
    if (node_code(a->node[i]) != node_code(b->node[i]))
      return node_code(a->node[i]) < node_code(b->node[i]) ? -1 : 1;
  return 0;
}

/* The node with its arguments renamed; sums have the smaller first. */
static world_node
renamed(world_node v, const int *name)
{
  world_node r = { v.op, name[v.a], v.op == RELU ? -1 : name[v.b] };

  if (r.op == ADD && r.a > r.b) {
    r.a = r.b;
    r.b = name[v.a];
  }
  return r;
}

/* The same program in its normal order: again and again the least node that can come next. With
 * swap, of the program with its two inputs exchanged. */
static world
normal(const world *w, bool swap)
{
  world out = { w->n_inputs, w->n, { { 0, 0, 0 } } };
  int name[MOST + 2] = { swap ? 1 : 0, swap ? 0 : 1 };
  bool placed[MOST] = { false };

  for (int at = w->n_inputs; at < w->n_inputs + w->n; at++)
    name[at] = -1;
  for (int k = 0; k < w->n; k++) {
    int best = -1;
    world_node least = { 0, 0, 0 };

    for (int i = 0; i < w->n; i++) {
      world_node v = w->node[i];

      if (placed[i] || name[v.a] < 0 || (v.op != RELU && name[v.b] < 0))
        continue;
      v = renamed(v, name);
      if (best < 0 || node_code(v) < node_code(least)) {
        best = i;
        least = v;
      }
    }
    placed[best] = true;
    out.node[k] = least;
    name[w->n_inputs + best] = w->n_inputs + k;
  }
  return out;
}

/* Is every entry used, and the program the first among those of its structure? */
static bool
chosen(const world *w)
{
  world one = normal(w, false);

  for (int entry = 0; entry < w->n_inputs + w->n - 1; entry++) {
    bool used = false;

    for (int i = 0; i < w->n; i++)
      used = used || depends(w->node[i], entry);
    if (!used)
      return false;
  }
  if (compare(w, &one) != 0)
    return false;
  if (w->n_inputs == 2) {
    one = normal(w, true);
    return compare(w, &one) <= 0;
  }
  return true;
}

typedef void visit(const world *w, void *context);

/* Could the entries left unused still all be used by the nodes to come? And is the last node not
 * the one before it again, nor before it in normal order? */
static bool
promising(const world *w, int n)
{
  int unused = 0;

  for (int entry = 0; entry < w->n_inputs + w->n; entry++) {
    bool used = false;

    for (int i = 0; i < w->n; i++)
      used = used || depends(w->node[i], entry);
    unused += !used;
  }
  for (int i = 0; i + 1 < w->n; i++)
    if (node_code(w->node[i]) == node_code(w->node[w->n - 1]))
      return false;
  return unused <= 1 + n - w->n
         && (w->n < 2 || depends(w->node[w->n - 1], w->n_inputs + w->n - 2)
             || node_code(w->node[w->n - 2]) < node_code(w->node[w->n - 1]));
}

static void
enumerate(world *w, int n, visit *f, void *context)
{
  int entries = w->n_inputs + w->n;

  if (w->n == n) {
    if (chosen(w))
      f(w, context);
    return;
  }
  w->n++;
  for (int op = ADD; op <= RELU; op++)
    for (int a = 0; a < entries; a++)
      for (int b = op == ADD ? a : op == SUB ? 0 : -1; b < (op == RELU ? 0 : entries); b++) {
        w->node[w->n - 1] = (world_node){ op, a, b };
        if (promising(w, n))
          enumerate(w, n, f, context);
      }
  w->n--;
}

/* --- the definitions -------------------------------------------------------------------------- */

/* Arc i goes from ray[i] to ray[i + 1], counterclockwise; less than half a turn. */
typedef struct {
  int n;
  vec ray[MOST_ARCS + 1];
  vec form[MOST_ARCS][MOST + 2];
} arcs;

static vec
inner(const arcs *t, int i)
{
  vec a = t->ray[i], b = t->ray[(i + 1) % t->n];

  return (vec){ a.x + b.x, a.y + b.y };
}

static void
split(arcs *t, int i, vec ray)
{
  if (t->n == MOST_ARCS)
    ck_abort_msg("too many arcs");
  memmove(&t->ray[i + 1], &t->ray[i], (size_t)(t->n - i) * sizeof t->ray[0]);
  memmove(&t->form[i + 1], &t->form[i], (size_t)(t->n - i) * sizeof t->form[0]);
  t->ray[i + 1] = ray;
  t->n++;
}

/* Cuts the arcs where the linear form of this entry vanishes. */
static void
cut(arcs *t, int entry)
{
  for (int i = 0; i < t->n; i++) {
    vec f = t->form[i][entry], a = t->ray[i], b = t->ray[(i + 1) % t->n];
    vec kernel[2] = { { -f.y, f.x }, { f.y, -f.x } };

    for (int k = 0; k < 2; k++)
      if (plane_cross(a, kernel[k]) > 0 && plane_cross(kernel[k], b) > 0) {
        split(t, i, kernel[k]);
        i++;
        break;
      }
  }
}

static vec
combine(world_node v, const vec *form)
{
  int sign = v.op == ADD ? 1 : -1;

  return (vec){ form[v.a].x + sign * form[v.b].x, form[v.a].y + sign * form[v.b].y };
}

static void
arcs_of(arcs *t, const world *w)
{
  static const vec axes[4] = { { 1, 0 }, { 0, 1 }, { -1, 0 }, { 0, -1 } };

  t->n = 4;
  for (int i = 0; i < 4; i++) {
    t->ray[i] = axes[i];
    t->form[i][0] = (vec){ 1, 0 };
    t->form[i][1] = (vec){ 0, w->n_inputs == 2 };
  }
  for (int k = 0; k < w->n; k++) {
    world_node v = w->node[k];

    if (v.op == RELU)
      cut(t, v.a);
    for (int i = 0; i < t->n; i++)
      t->form[i][w->n_inputs + k] =
          v.op != RELU ? combine(v, t->form[i])
          : plane_dot(t->form[i][v.a], inner(t, i)) > 0 ? t->form[i][v.a] : (vec){ 0, 0 };
  }
}

/* The slopes at the origin; their number. */
static size_t
slopes_of(vec *slope, const world *w)
{
  static arcs t;

  arcs_of(&t, w);
  for (int i = 0; i < t.n; i++)
    slope[i] = t.form[i][w->n_inputs + w->n - 1];
  return plane_sort(slope, (size_t)t.n);
}

/* Forward mode at the origin, times SCALE, where twice the derivative of relu is twice[k] at node
 * k. */
static vec
forward(const world *w, const int twice[MOST])
{
  vec form[MOST + 2] = { { SCALE, 0 }, { 0, SCALE } };

  for (int k = 0; k < w->n; k++) {
    world_node v = w->node[k];
    vec *out = &form[w->n_inputs + k];

    if (v.op == RELU)
      *out = (vec){ form[v.a].x * twice[k] / 2, form[v.a].y * twice[k] / 2 };
    else
      *out = combine(v, form);
  }
  return form[w->n_inputs + w->n - 1];
}

/* AD's output for every choice of 0 or 1 at every relu, times SCALE; their number. */
static size_t
corners_of(vec *corner, const world *w)
{
  for (int bits = 0; bits < 1 << w->n; bits++) {
    int twice[MOST];

    for (int k = 0; k < w->n; k++)
      twice[k] = bits >> k & 1 ? 2 : 0;
    corner[bits] = forward(w, twice);
  }
  return plane_sort(corner, (size_t)1 << w->n);
}

/* The gradient along a direction; false when it lies on a kink. */
static bool
gradient_along(vec *gradient, const world *w, vec d)
{
  vec form[MOST + 2] = { { 1, 0 }, { 0, 1 } };

  for (int k = 0; k < w->n; k++) {
    world_node v = w->node[k];
    vec *out = &form[w->n_inputs + k];

    if (v.op != RELU)
      *out = combine(v, form);
    else if (plane_dot(form[v.a], d) > 0)
      *out = form[v.a];
    else if (plane_dot(form[v.a], d) < 0 || plane_equal(form[v.a], (vec){ 0, 0 }))
      *out = (vec){ 0, 0 };
    else
      return false;
  }
  *gradient = form[w->n_inputs + w->n - 1];
  return true;
}

/* --- beside the library ----------------------------------------------------------------------- */

static clarke_profile profile;
static mpq_t origin[2];

static void
build(clarke_code *p, const world *w, int twice)
{
  size_t first;

  clarke_code_init(p);
  OK(clarke_code_add_input(p, &first, "x", (size_t)w->n_inputs, true, err));
  for (int k = 0; k < w->n; k++) {
    world_node v = w->node[k];
    size_t in[2] = { (size_t)v.a, (size_t)v.b }, at;

    if (v.op == RELU) {
      at = pointwise(p, "relu", in[0], 0, NULL);
      p->instruction[at].proxy.given = twice > 0;
      p->instruction[at].proxy.kind = CLARKE_PROXY_VALUE;
      mpq_set_si(p->instruction[at].proxy.value, twice, 2);
      mpq_canonicalize(p->instruction[at].proxy.value);
    } else {
      at = linear(p, 2, in, v.op == ADD ? (const long[]){ 1, 1, 0 } : (const long[]){ 1, -1, 0 });
    }
    ck_assert_uint_eq(at, (size_t)(w->n_inputs + k));
  }
  OK(clarke_code_add_output(p, p->n - 1, err));
  OK(clarke_code_wrt(p, NULL, 0, err));
}

static bool
entry_is(mpq_t *row, size_t dim, vec want, int64_t scale)
{
  return mpq_cmp_si(row[0], want.x, (unsigned long)scale) == 0
         && (dim == 1 || mpq_cmp_si(row[1], want.y, (unsigned long)scale) == 0);
}

static bool
points_are(const clarke_points *s, const vec *want, size_t n, int64_t scale)
{
  if (s->n != n)
    return false;
  for (size_t i = 0; i < n; i++)
    if (!entry_is(&s->entry[i * s->dim], s->dim, want[i], scale))
      return false;
  return true;
}

static vec
times(vec v, int64_t factor)
{
  return (vec){ v.x * factor, v.y * factor };
}

/* Each pattern's arc is followed here too. (The origin is a cone's apex, so that one direction
 * says all: where an arc has more, its first ones weigh more by a factor that is large enough.) */
static bool
arcs_hold(const clarke_derivation *d, const world *w)
{
  for (size_t k = 0; k < d->patterns.n; k++) {
    const clarke_pattern *s = &d->patterns.pattern[k];
    vec step = { 0, 0 }, gradient;
    mpq_t q;

    mpq_init(q);
    for (size_t r = 0; r < s->n_directions; r++) {
      int64_t v[2] = { 0, 0 };

      for (int j = 0; j < w->n_inputs; j++) {
        mpq_set_ui(q, 2520, 1);
        mpq_mul(q, q, s->direction[r][j]);
        ck_assert_msg(mpz_cmp_ui(mpq_denref(q), 1) == 0 && mpz_fits_slong_p(mpq_numref(q))
                          && s->n_directions == 1,
                      "%s: an arc of another form than expected", describe(w));
        v[j] = mpz_get_si(mpq_numref(q));
      }
      step = (vec){ v[0], v[1] };
    }
    mpq_clear(q);
    if (!s->realized || !s->exact || !gradient_along(&gradient, w, step))
      return false;
    if (mpq_cmp_si(s->gradient[0].q, gradient.x, 1) != 0
        || (w->n_inputs == 2 && mpq_cmp_si(s->gradient[1].q, gradient.y, 1) != 0))
      return false;
  }
  return true;
}

typedef struct {
  long programs, kinds[3], differentiable, zone[3], verdict[3][3], every;
} tally;

static void
check_sets(const clarke_derivation *d, const world *w, const vec *slope, size_t n_slopes,
           tally *count)
{
  vec corner[1 << MOST], hull[MOST_ARCS], least;
  size_t n_corners = corners_of(corner, w), n_hull;
  bool touched = false, single = n_corners == 1;
  int64_t scale;
  clarke_zone zone;

  for (int k = 0; k < w->n; k++)
    touched = touched || w->node[k].op == RELU;
  ck_assert_msg(points_are(&d->bouligand, slope, n_slopes, 1), "%s: Bouligand set", describe(w));
  memcpy(hull, slope, n_slopes * sizeof *hull);
  n_hull = plane_hull(hull, n_slopes);
  ck_assert_msg(points_are(&d->clarke, hull, n_hull, 1), "%s: Clarke set", describe(w));
  least = plane_least(hull, n_hull, &scale);
  ck_assert_msg(d->least_known && entry_is(d->least, d->dim, least, scale), "%s: least element",
                describe(w));
  ck_assert_msg(d->differentiable == (n_slopes == 1 ? CLARKE_YES : CLARKE_NO),
                "%s: differentiable", describe(w));
  n_corners = plane_hull(corner, n_corners);
  ck_assert_msg(d->conservative.known && d->conservative.singleton == single
                    && d->conservative.enumerated
                    && points_are(&d->conservative.vertices, corner, n_corners, SCALE),
                "%s: conservative set", describe(w));
  zone = !touched ? CLARKE_ZONE_REGULAR : single ? CLARKE_ZONE_COMPENSATION
                                                 : CLARKE_ZONE_BIFURCATION;
  ck_assert_msg(d->zone == zone, "%s: zone %s", describe(w), clarke_zone_name(d->zone));
  ck_assert_msg(arcs_hold(d, w), "%s: an arc does not follow its pattern", describe(w));
  count->differentiable += n_slopes == 1;
  count->zone[zone]++;
}

/* AD's output and the verdict with relu'(0) = twice / 2. */
static void
check_ad(const clarke_derivation *d, const world *w, int twice, const vec *slope, size_t n_slopes,
         tally *count)
{
  const int proxies[MOST] = { twice, twice, twice, twice, twice };
  vec ad = forward(w, proxies), scaled[MOST_ARCS];
  const char *fault = evidence_fault(d);
  clarke_verdict want;
  mpq_t got[2];

  ck_assert_msg(fault == NULL, "%s, relu'(0) = %d/2: %s", describe(w), twice, fault);
  for (size_t i = 0; i < n_slopes; i++)
    scaled[i] = times(slope[i], SCALE);
  want = plane_among(scaled, n_slopes, ad) ? CLARKE_IN_BOULIGAND
         : plane_inside(scaled, plane_hull(scaled, n_slopes), ad) ? CLARKE_IN_CLARKE
                                                                  : CLARKE_NOT_IN_CLARKE;
  for (int j = 0; j < 2; j++) {
    mpq_init(got[j]);
    if (j < w->n_inputs)
      mpq_set(got[j], d->ad[j].q);
  }
  ck_assert_msg(d->ad_exact && entry_is(got, d->dim, ad, SCALE), "%s, relu'(0) = %d/2: AD's output",
                describe(w), twice);
  ck_assert_msg(d->verdict == want, "%s, relu'(0) = %d/2: verdict %s instead of %s", describe(w),
                twice, clarke_verdict_name(d->verdict), clarke_verdict_name(want));
  mpq_clear(got[0]);
  mpq_clear(got[1]);
  count->verdict[twice][want]++;
}

static void
check(const world *w, void *context)
{
  tally *count = context;
  vec slope[MOST_ARCS];
  size_t n_slopes;

  if (count->programs++ % count->every != 0)
    return;
  n_slopes = slopes_of(slope, w);
  for (int twice = 0; twice <= 2; twice++) {
    clarke_derivation d;
    clarke_code p;

    build(&p, w, twice);
    clarke_derivation_init(&d);
    OK(clarke_derive(&d, &p, origin, &profile, err));
    if (twice == 0)
      check_sets(&d, w, slope, n_slopes, count);
    check_ad(&d, w, twice, slope, n_slopes, count);
    clarke_derivation_clear(&d);
    clarke_code_clear(&p);
  }
}

static void
set_up(void)
{
  clarke_profile_init(&profile);
  OK(clarke_profile_load(&profile, "pytorch-2.13", err));
  mpq_init(origin[0]);
  mpq_init(origin[1]);
}

static void
tear_down(void)
{
  clarke_profile_clear(&profile);
  mpq_clear(origin[0]);
  mpq_clear(origin[1]);
  flint_cleanup();
}

static void
run(int n_inputs, int n, long every, long programs)
{
  world w = { n_inputs, 0, { { 0, 0, 0 } } };
  tally count = { .every = every };

  enumerate(&w, n, check, &count);
  printf("%d input%s, %d instructions: %ld programs, one in %ld looked at; differentiable %ld; "
         "regular %ld, compensation %ld, bifurcation %ld; in-bouligand, in-clarke, not-in-clarke: "
         "%ld %ld %ld (relu'(0) = 0), %ld %ld %ld (1/2), %ld %ld %ld (1)\n",
         n_inputs, n_inputs == 1 ? "" : "s", n, count.programs, every, count.differentiable,
         count.zone[0], count.zone[1], count.zone[2], count.verdict[0][0], count.verdict[0][1],
         count.verdict[0][2],
         count.verdict[1][0], count.verdict[1][1], count.verdict[1][2], count.verdict[2][0],
         count.verdict[2][1], count.verdict[2][2]);
  fflush(stdout);
  for (int v = 0; v < 3 && n >= 4; v++)
    ck_assert(count.zone[v] > 0 && count.verdict[1][v] > 0);
  if (programs >= 0)
    ck_assert_int_eq(count.programs, programs);
}

/* --- the count, another way ------------------------------------------------------------------ */

typedef struct {
  size_t n;
  world found[4096];
} collection;

/* Every list of n distinct nodes, in any order, all used; kept once in the least normal order. */
static void
collect(collection *c, world *w, int n)
{
  int entries = w->n_inputs + w->n;
  world one, other;

  if (w->n < n) {
    w->n++;
    for (int code = 0; code < 3 * entries * entries; code++) {
      world_node v = { code % 3, code / 3 % entries, code / 3 / entries };

      if ((v.op == ADD && v.a > v.b) || (v.op == RELU && v.b > 0))
        continue;
      v.b = v.op == RELU ? -1 : v.b;
      w->node[w->n - 1] = v;
      collect(c, w, n);
    }
    w->n--;
    return;
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++)
      if (node_code(w->node[i]) == node_code(w->node[j]))
        return;
  for (int entry = 0; entry < entries - 1; entry++) {
    bool used = false;

    for (int i = 0; i < n; i++)
      used = used || depends(w->node[i], entry);
    if (!used)
      return;
  }
  one = normal(w, false);
  other = normal(w, w->n_inputs == 2);
  if (compare(&other, &one) < 0)
    one = other;
  for (size_t i = 0; i < c->n; i++)
    if (compare(&c->found[i], &one) == 0)
      return;
  ck_assert_uint_lt(c->n, 4096);
  c->found[c->n++] = one;
}

static void
add_one(const world *w, void *context)
{
  (void)w;
  ++*(size_t *)context;
}

START_TEST(counted_twice)
{
  static collection c;

  for (int n_inputs = 1; n_inputs <= 2; n_inputs++)
    for (int n = 0; n <= 3; n++) {
      world w = { n_inputs, 0, { { 0, 0, 0 } } };
      size_t n_chosen = 0;

      c.n = 0;
      collect(&c, &w, n);
      enumerate(&w, n, add_one, &n_chosen);
      ck_assert_uint_eq(n_chosen, c.n);
    }
}
END_TEST

/* (How many there are of each size is what the enumeration found; counted_twice checks it to
 * three instructions.) */
START_TEST(all_programs)
{
  static const long programs[2][MOST + 1] = { { 1, 3, 18, 171, 2295, 40473 },
                                             { 0, 2, 24, 380, 7356, 172727 } };

  set_up();
  for (int n_inputs = 1; n_inputs <= 2; n_inputs++)
    for (int n = 0; n <= MOST; n++)
      run(n_inputs, n, everything || n < 5 ? 1 : 29, programs[n_inputs - 1][n]);
  tear_down();
}
END_TEST

int
main(int argc, char **argv)
{
  TCase *tests = tests_of("small world");

  everything = argc > 1 && strcmp(argv[1], "all") == 0;
  tcase_add_test(tests, counted_twice);
  tcase_add_test(tests, all_programs);
  return run_tests();
}
