/* Thousands of random programs with many kinks touched at once, against their
 * definitions: every gradient found along a random direction must be in the Bouligand set, every
 * element of it must be the gradient along its own arc, and all that is said of the sets and of
 * AD's output must follow. Of programs with products not everything can be known: what is claimed
 * must hold.
 *
 *   test_random [PROGRAMS [SEED]] */
#include "../draw.h"
#include "evidence.h"
#include "plane.h"
#include "sample.h"
#include "exact/hull.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIRECTIONS 60

static int programs;
static uint64_t seed = 20;

typedef struct {
  little p;
  int w[LITTLE_INPUTS];
  int dim;
  clarke_code program;
  mpq_t *at;
  clarke_derivation d;
  little_result here; /* AD */
  uint64_t state;
} trial;

typedef struct {
  long verdict[4], patterns, elements, sampled, jumping, differentiable, higher, zone[4], units;
  long corners, open, unclear, unknown, torn, untold;
} tally;

static clarke_profile profile;

#define TRUE_OF(t, condition, ...) \
  do { \
    if (!(condition)) { \
      char what_[512]; \
      snprintf(what_, sizeof what_, __VA_ARGS__); \
      ck_abort_msg("%s%s", what_, sample_text(&(t)->p, (t)->w)); \
    } \
  } while (0)

static frac
frac_of(mpq_t q)
{
  if (!mpz_fits_slong_p(mpq_numref(q)) || !mpz_fits_slong_p(mpq_denref(q)))
    ck_abort_msg("a number of the library's is too long");
  return (frac){ mpz_get_si(mpq_numref(q)), mpz_get_si(mpq_denref(q)) };
}

static void
set_mpq(mpq_t q, frac f)
{
  mpq_set_si(q, f.n, (unsigned long)f.d);
}

static bool
same(mpq_t q, frac f)
{
  return mpq_cmp_si(q, f.n, (unsigned long)f.d) == 0;
}

static size_t
place_of(const clarke_points *s, const frac *gradient)
{
  mpq_t *row = rationals(s->dim);
  size_t place;

  for (size_t i = 0; i < s->dim; i++)
    set_mpq(row[i], gradient[i]);
  place = clarke_points_find(s, row);
  rationals_free(row, s->dim);
  return place;
}

static void
check_execution(trial *t)
{
  TRUE_OF(t, !t->d.execution.open, "the execution is open");
  TRUE_OF(t, t->d.execution.n_touched == (size_t)t->here.touched, "%zu kinks touched, not %d",
          t->d.execution.n_touched, t->here.touched);
  for (int o = 0; o < t->p.n_outputs; o++) {
    const clarke_number *value = &t->d.execution.value[t->p.output[o]];

    TRUE_OF(t, value->exact && mpq_cmp_si(value->q, t->here.value[o][0].n,
                                          (unsigned long)t->here.value[o][0].d) == 0,
            "output %d has another value", o);
  }
  for (int i = 0; i < t->dim; i++)
    TRUE_OF(t, t->d.ad[i].exact && same(t->d.ad[i].q, t->here.gradient[i]), "AD's entry %d", i);
}

static bool
jumped(const trial *t, const little_result *r)
{
  for (int o = 0; o < t->p.n_outputs; o++)
    if (!frac_equal(r->value[o][0], t->here.value[o][0]))
      return true;
  return false;
}

/* Along w + t d and w + t d + t^2 e a Lipschitz function differs by no more than t^2: where the first stays on the border
 * of two arms that do not meet, the second tells. */
static bool
tears(trial *t)
{
  frac step[2][LITTLE_INPUTS] = { { { 0, 1 } } };
  little_result r[2];

  for (int j = 0; j < t->p.n_wrt; j++) {
    step[0][j] = (frac){ draw_int(&t->state, 5) - 2, 1 };
    step[1][j] = (frac){ 0, 1 };
  }
  little_along(&r[0], &t->p, t->w, 2, step);
  for (int j = 0; j < t->p.n_wrt; j++)
    step[1][j] = (frac){ draw_int(&t->state, 7) - 3, 1 };
  little_along(&r[1], &t->p, t->w, 2, step);
  for (int o = 0; o < t->p.n_outputs && !r[0].overflow && !r[1].overflow; o++)
    for (int k = 0; k < 2; k++)
      if (!frac_equal(r[0].value[o][k], r[1].value[o][k]))
        return true;
  return false;
}

/* A function is called Lipschitz near w only if it is. */
static void
check_lipschitz(trial *t, tally *count, bool jumps)
{
  bool torn = false;

  for (int round = 0; round < DIRECTIONS && !torn; round++)
    torn = tears(t);
  TRUE_OF(t, t->d.lipschitz || jumps, "a continuous program: %s", t->d.not_lipschitz);
  TRUE_OF(t, !torn || !t->d.lipschitz, "said to be Lipschitz");
  count->torn += torn;
  count->untold += !torn && !t->d.lipschitz;
}

/* Every pattern's arc has the pattern's gradient; the Bouligand set is these gradients. */
static void
check_patterns(trial *t, tally *count)
{
  bool *found = calloc(t->d.bouligand.n + 1, sizeof *found), jump = false;

  for (size_t k = 0; k < t->d.patterns.n; k++) {
    clarke_pattern *s = &t->d.patterns.pattern[k];
    frac step[LITTLE_STEPS][LITTLE_INPUTS];
    little_result r;
    size_t place;

    TRUE_OF(t, s->realized && s->exact && s->n_directions <= LITTLE_STEPS, "pattern %zu", k);
    for (size_t i = 0; i < s->n_directions; i++)
      for (int j = 0; j < t->p.n_wrt; j++)
        step[i][j] = frac_of(s->direction[i][j]);
    little_along(&r, &t->p, t->w, (int)s->n_directions, step);
    TRUE_OF(t, r.generic, "the arc of pattern %zu stays on a kink", k);
    for (int i = 0; i < t->dim; i++)
      TRUE_OF(t, same(s->gradient[i].q, r.gradient[i]), "pattern %zu: entry %d differs", k, i);
    place = place_of(&t->d.bouligand, r.gradient);
    TRUE_OF(t, place != CLARKE_NONE, "pattern %zu is not in the Bouligand set", k);
    found[place] = true;
    jump = jump || jumped(t, &r);
    count->higher += !s->first_order;
  }
  for (size_t k = 0; k < t->d.bouligand.n; k++)
    TRUE_OF(t, found[k], "element %zu of the Bouligand set has no pattern", k);
  TRUE_OF(t, jump == t->d.patterns.jumps, "jumps is %d", t->d.patterns.jumps);
  count->patterns += (long)t->d.patterns.n;
  count->elements += (long)t->d.bouligand.n;
  free(found);
}

static void
draw_direction(trial *t, frac step[1][LITTLE_INPUTS], int most)
{
  for (int j = 0; j < t->p.n_wrt; j++)
    step[0][j] = (frac){ draw_int(&t->state, 2 * most + 1) - most, 1 };
}

/* What random directions find is in the Bouligand set. */
static void
check_directions(trial *t, tally *count)
{
  for (int round = 0; round < DIRECTIONS; round++) {
    frac step[1][LITTLE_INPUTS];
    little_result r;

    draw_direction(t, step, round % 2 ? 1000 : 5);
    little_along(&r, &t->p, t->w, 1, step);
    if (!r.generic)
      continue;
    count->sampled++;
    TRUE_OF(t, place_of(&t->d.bouligand, r.gradient) != CLARKE_NONE,
            "the gradient along %ld %ld %ld %ld is not in the Bouligand set", (long)step[0][0].n,
            (long)step[0][1].n, (long)step[0][2].n, (long)step[0][3].n);
    TRUE_OF(t, t->d.patterns.jumps || !jumped(t, &r), "a jump is overlooked");
  }
}

/* Differentiable: then every direction, on kinks or not, has the one linear form as its derivative.
 * Not so: then there are two slopes, a jump, or a direction along which there is one. */
static void
check_differentiable(trial *t, tally *count)
{
  bool linear = t->d.bouligand.n == 1 && !t->d.patterns.jumps;
  int m = t->p.n_wrt;

  for (int code = 0; linear && code < 625; code++) {
    frac step[1][LITTLE_INPUTS];
    little_result r;

    for (int j = 0, rest = code; j < m; j++, rest /= 5)
      step[0][j] = (frac){ rest % 5 - 2, 1 };
    little_along(&r, &t->p, t->w, 1, step);
    linear = !jumped(t, &r);
    for (int o = 0; o < t->p.n_outputs; o++) {
      frac along = { 0, 1 };

      for (int j = 0; j < m; j++)
        along = frac_add(along, frac_mul(frac_of(t->d.bouligand.entry[o * m + j]), step[0][j]));
      linear = linear && frac_equal(along, r.value[o][1]);
    }
  }
  TRUE_OF(t, !(t->d.differentiable == CLARKE_YES && !linear), "said to be differentiable");
  TRUE_OF(t, !(t->d.differentiable == CLARKE_NO && linear),
          "said not to be differentiable");
  count->open += t->d.differentiable == CLARKE_UNKNOWN;
  count->differentiable += t->d.differentiable == CLARKE_YES;
}

/* max over a set of <v, p>, for a v with small entries. */
static frac
support(const frac *v, int dim, size_t n, frac (*p)[LITTLE_ENTRIES])
{
  frac best = { 0, 1 };

  for (size_t i = 0; i < n; i++) {
    frac inner = { 0, 1 };

    for (int j = 0; j < dim; j++)
      inner = frac_add(inner, frac_mul(v[j], p[i][j]));
    if (i == 0 || frac_compare(inner, best) > 0)
      best = inner;
  }
  return best;
}

static size_t
rows_of(frac (*row)[LITTLE_ENTRIES], clarke_points *s)
{
  ck_assert_uint_le(s->n, LITTLE_CORNERS);
  for (size_t k = 0; k < s->n; k++)
    for (size_t j = 0; j < s->dim; j++)
      row[k][j] = frac_of(s->entry[k * s->dim + j]);
  return s->n;
}

/* In the plane the hull's vertices, exactly. */
static void
check_plane_hull(trial *t, const char *name, size_t n, frac (*p)[LITTLE_ENTRIES],
                 size_t n_hull, frac (*hull)[LITTLE_ENTRIES])
{
  vec a[LITTLE_CORNERS], b[LITTLE_CORNERS];
  int64_t scale = 1;

  for (size_t i = 0; i < n; i++)
    for (int j = 0; j < t->dim; j++)
      for (int64_t k = 2; scale % p[i][j].d != 0 && k <= p[i][j].d; k++)
        if (p[i][j].d % k == 0 && scale * k % p[i][j].d == 0) {
          scale *= k;
          break;
        }
  for (size_t i = 0; i < n; i++)
    a[i] = (vec){ frac_mul(p[i][0], (frac){ scale, 1 }).n,
                  t->dim == 2 ? frac_mul(p[i][1], (frac){ scale, 1 }).n : 0 };
  for (size_t i = 0; i < n_hull; i++)
    b[i] = (vec){ frac_mul(hull[i][0], (frac){ scale, 1 }).n,
                  t->dim == 2 ? frac_mul(hull[i][1], (frac){ scale, 1 }).n : 0 };
  n = plane_sort(a, n);
  if (n > 60)
    return;
  n = plane_hull(a, n);
  TRUE_OF(t, n == n_hull && memcmp(a, b, n * sizeof *a) == 0, "%s: the hull has other vertices",
          name);
}

/* hull holds points of p alone, and reaches as far in random directions. */
static void
check_hull(trial *t, const char *name, size_t n, frac (*p)[LITTLE_ENTRIES], size_t n_hull,
           frac (*hull)[LITTLE_ENTRIES])
{
  TRUE_OF(t, n_hull > 0, "%s: no vertices", name);
  for (size_t k = 0; k < n_hull; k++) {
    bool found = false;

    for (size_t i = 0; i < n && !found; i++) {
      found = true;
      for (int j = 0; j < t->dim; j++)
        found = found && frac_equal(p[i][j], hull[k][j]);
    }
    TRUE_OF(t, found, "%s: vertex %zu is not of the set", name, k);
  }
  for (int round = 0; round < 20; round++) {
    frac v[LITTLE_ENTRIES];

    for (int j = 0; j < t->dim; j++)
      v[j] = (frac){ draw_int(&t->state, 19) - 9, 1 };
    TRUE_OF(t, frac_equal(support(v, t->dim, n, p), support(v, t->dim, n_hull, hull)),
            "%s: a vertex is missing", name);
  }
  if (t->dim <= 2)
    check_plane_hull(t, name, n, p, n_hull, hull);
}

/* <least, g> >= <least, least> for all g of the Bouligand set, and it is in the hull. */
static void
check_least(trial *t)
{
  size_t dim = (size_t)t->dim;
  clarke_hull_place place;
  mpq_t *weight = rationals(t->d.bouligand.n), *separator = rationals(dim), *sum = rationals(2);

  TRUE_OF(t, t->d.least_known, "the least element is not known");
  for (size_t k = 0; k < t->d.bouligand.n; k++) {
    mpq_set_ui(sum[0], 0, 1);
    for (size_t j = 0; j < dim; j++) {
      mpq_sub(sum[1], t->d.bouligand.entry[k * dim + j], t->d.least[j]);
      mpq_mul(sum[1], sum[1], t->d.least[j]);
      mpq_add(sum[0], sum[0], sum[1]);
    }
    TRUE_OF(t, mpq_sgn(sum[0]) >= 0, "the least element is not the least");
  }
  OK(clarke_points_place(&place, weight, separator, &t->d.bouligand, t->d.least, err));
  TRUE_OF(t, place == CLARKE_HULL_INSIDE, "the least element is not in the Clarke set");
  for (size_t j = 0; j < dim; j++) {
    mpq_set_ui(sum[0], 0, 1);
    for (size_t k = 0; k < t->d.bouligand.n; k++) {
      mpq_mul(sum[1], weight[k], t->d.bouligand.entry[k * dim + j]);
      mpq_add(sum[0], sum[0], sum[1]);
    }
    TRUE_OF(t, mpq_equal(sum[0], t->d.least[j]), "weights of the least element");
  }
  rationals_free(weight, t->d.bouligand.n);
  rationals_free(separator, dim);
  rationals_free(sum, 2);
}

static void
check_conservative(trial *t, tally *count)
{
  static frac corner[LITTLE_CORNERS][LITTLE_ENTRIES], hull[LITTLE_CORNERS][LITTLE_ENTRIES];
  bool single = true, even;
  int n = little_corners(corner, &even, &t->p, t->w);
  clarke_zone zone;

  if (!t->d.lipschitz) { /* no report contradicts itself */
    TRUE_OF(t, !t->d.conservative.known && t->d.zone == CLARKE_ZONE_UNKNOWN, "a set of what may have no derivatives");
    return;
  }
  if (n < 0 || !even)
    return;
  for (int i = 1; i < n; i++)
    for (int j = 0; j < t->dim; j++)
      single = single && frac_equal(corner[i][j], corner[0][j]);
  TRUE_OF(t, t->d.conservative.known, "the conservative set is not known");
  TRUE_OF(t, t->d.conservative.singleton == single, "the conservative set is %s singleton",
          single ? "a" : "no");
  zone = t->here.touched == 0 ? CLARKE_ZONE_REGULAR
         : single ? CLARKE_ZONE_COMPENSATION : CLARKE_ZONE_BIFURCATION;
  TRUE_OF(t, t->d.zone == zone, "zone %s", clarke_zone_name(t->d.zone));
  TRUE_OF(t, t->d.conservative.enumerated, "%d corners, not enumerated", n);
  check_hull(t, "conservative set", (size_t)n, corner,
             rows_of(hull, &t->d.conservative.vertices), hull);
  count->zone[zone]++;
  count->corners += n;
  count->units += (long)t->d.conservative.n_units;
}

static void
check_sets(trial *t)
{
  static frac all[LITTLE_CORNERS][LITTLE_ENTRIES], hull[LITTLE_CORNERS][LITTLE_ENTRIES];
  size_t n = rows_of(all, &t->d.bouligand);

  check_hull(t, "Clarke set", n, all, rows_of(hull, &t->d.clarke),
             hull);
  check_least(t);
}

static void
check_verdict(trial *t, tally *count)
{
  bool even = t->d.lipschitz && !t->d.patterns.jumps;
  const char *fault = even ? evidence_fault(&t->d) : tree_fault(&t->d.patterns);
  bool in = place_of(&t->d.bouligand, t->here.gradient) != CLARKE_NONE;

  TRUE_OF(t, fault == NULL, "%s", fault);
  count->verdict[t->d.verdict]++;
  count->jumping += t->d.patterns.jumps;
  if (t->d.verdict == CLARKE_IN_BOULIGAND)
    TRUE_OF(t, in, "AD's output is not in the Bouligand set");
  else if (!even)
    TRUE_OF(t, t->d.verdict == CLARKE_UNDECIDED && t->d.why[0] != '\0', "a verdict over a jump");
  else
    TRUE_OF(t, !in, "AD's output is in the Bouligand set");
}

/* --- with products --------------------------------------------------------------------------- */

/* The pattern's own arc, evaluated here; false when that does not tell. */
static bool
follow(little_result *r, trial *t, const clarke_pattern *s)
{
  frac step[LITTLE_STEPS][LITTLE_INPUTS];

  if (s->n_directions > LITTLE_STEPS)
    return false;
  for (size_t i = 0; i < s->n_directions; i++)
    for (int j = 0; j < t->p.n_wrt; j++) {
      if (!mpz_fits_slong_p(mpq_numref(s->direction[i][j]))
          || !mpz_fits_slong_p(mpq_denref(s->direction[i][j])))
        return false;
      step[i][j] = frac_of(s->direction[i][j]);
    }
  little_along(r, &t->p, t->w, (int)s->n_directions, step);
  return r->generic;
}

static void
check_realized(trial *t, tally *count)
{
  for (size_t k = 0; k < t->d.patterns.n; k++) {
    clarke_pattern *s = &t->d.patterns.pattern[k];
    little_result r;

    count->unknown += !s->realized;
    if (!s->realized)
      continue;
    count->higher += !s->first_order;
    if (!follow(&r, t, s)) {
      count->unclear++;
      continue;
    }
    for (int i = 0; i < t->dim; i++)
      TRUE_OF(t, s->exact && same(s->gradient[i].q, r.gradient[i]), "pattern %zu: entry %d differs",
              k, i);
    TRUE_OF(t, place_of(&t->d.bouligand, r.gradient) != CLARKE_NONE,
            "pattern %zu is not in the Bouligand set", k);
    TRUE_OF(t, t->d.patterns.jumps || !jumped(t, &r), "the jump of pattern %zu is overlooked", k);
  }
  count->patterns += (long)t->d.patterns.n;
  count->elements += (long)t->d.bouligand.n;
}

/* <separator, AD's output> > <separator, gradient>? */
static bool
separated(trial *t, const frac *gradient)
{
  mpq_t *q = rationals(2);
  bool good;

  for (int i = 0; i < t->dim; i++) {
    set_mpq(q[0], frac_sub(t->here.gradient[i], gradient[i]));
    mpq_mul(q[0], q[0], t->d.separator[i]);
    mpq_add(q[1], q[1], q[0]);
  }
  good = mpq_sgn(q[1]) > 0;
  rationals_free(q, 2);
  return good;
}

/* What holds along the curve with these two steps is not denied. */
static void
check_curve(trial *t, tally *count, frac step[2][LITTLE_INPUTS])
{
  clarke_number *one;
  little_result r;

  little_along(&r, &t->p, t->w, 2, step);
  if (!r.generic)
    return;
  count->sampled++;
  TRUE_OF(t, !t->d.sets_known || place_of(&t->d.bouligand, r.gradient) != CLARKE_NONE,
          "the gradient along (%ld %ld %ld %ld) t + (%ld %ld %ld %ld) t^2 is not in the set",
          (long)step[0][0].n, (long)step[0][1].n, (long)step[0][2].n, (long)step[0][3].n,
          (long)step[1][0].n, (long)step[1][1].n, (long)step[1][2].n, (long)step[1][3].n);
  TRUE_OF(t, !t->d.patterns.tree.complete || t->d.patterns.jumps || !jumped(t, &r),
          "a jump is overlooked");
  TRUE_OF(t, t->d.verdict != CLARKE_NOT_IN_CLARKE || separated(t, r.gradient),
          "the separator does not separate a gradient from AD's output");
  if (t->d.differentiable != CLARKE_YES)
    return;
  TRUE_OF(t, t->d.patterns.n > 0 && !jumped(t, &r), "said to be differentiable");
  one = t->d.patterns.pattern[0].gradient;
  for (int o = 0; o < t->p.n_outputs; o++) {
    frac along = { 0, 1 };

    for (int j = 0; j < t->p.n_wrt; j++)
      along = frac_add(along, frac_mul(frac_of(one[o * t->p.n_wrt + j].q), step[0][j]));
    TRUE_OF(t, frac_equal(along, r.value[o][1]), "said to be differentiable");
  }
}

static void
check_curves(trial *t, tally *count)
{
  for (int round = 0; round < DIRECTIONS; round++) {
    frac step[2][LITTLE_INPUTS] = { { { 0, 1 } } };

    for (int k = 0; k < 2; k++)
      for (int j = 0; j < t->p.n_wrt; j++)
        step[k][j] = (frac){ draw_int(&t->state, 7) - 3, 1 };
    check_curve(t, count, step);
  }
}

static void
check_claims(trial *t, tally *count)
{
  const char *fault = tree_fault(&t->d.patterns);

  TRUE_OF(t, fault == NULL, "%s", fault);
  check_realized(t, count);
  if (t->d.sets_known)
    check_verdict(t, count);
  else
    count->verdict[t->d.verdict]++;
  fault = t->d.verdict != CLARKE_UNDECIDED ? verdict_fault(&t->d) : NULL;
  TRUE_OF(t, fault == NULL, "%s", fault);
  TRUE_OF(t, t->d.differentiable != CLARKE_YES || t->d.bouligand.n <= 1,
          "said to be differentiable with two gradients");
  check_curves(t, count);
  if (t->d.sets_known)
    check_sets(t);
  check_conservative(t, count);
  count->open += t->d.differentiable == CLARKE_UNKNOWN;
  count->differentiable += t->d.differentiable == CLARKE_YES;
}

/* --- trials ---------------------------------------------------------------------------------- */

static void
check_all(trial *t, tally *count)
{
  TRUE_OF(t, t->d.patterns.tree.complete && t->d.patterns.all_known
                 && t->d.sets_known == (t->d.lipschitz && !t->d.patterns.jumps),
          "not all is known: %s", t->d.patterns.why);
  check_patterns(t, count);
  check_directions(t, count);
  check_differentiable(t, count);
  check_verdict(t, count);
  if (t->d.sets_known)
    check_sets(t);
  check_conservative(t, count);
}

static void
run_trial(trial *t, tally *count, bool jumps)
{
  int m = t->p.n_inputs;

  little_ad(&t->here, &t->p, t->w);
  if (t->here.overflow)
    return;
  t->dim = t->p.n_wrt * t->p.n_outputs;
  t->at = rationals((size_t)m);
  for (int j = 0; j < m; j++)
    mpq_set_si(t->at[j], t->w[j], 1);
  sample_build(&t->program, &t->p);
  clarke_derivation_init(&t->d);
  OK(clarke_derive(&t->d, &t->program, t->at, &profile, err));
  check_execution(t);
  check_lipschitz(t, count, jumps);
  if (t->p.curved)
    check_claims(t, count);
  else
    check_all(t, count);
  clarke_derivation_clear(&t->d);
  clarke_code_clear(&t->program);
  rationals_free(t->at, (size_t)m);
}

static void
run_all(uint64_t first, bool jumps, bool curved)
{
  static trial t;
  tally count = { .open = 0 };

  clarke_profile_init(&profile);
  OK(clarke_profile_load(&profile, "pytorch-2.13", err));
  for (int round = 0; round < programs; round++) {
    t.state = first + 1000003u * (uint64_t)round;
    sample_program(&t.p, t.w, &t.state, 4 + round % (curved ? 6 : 9), jumps, curved);
    run_trial(&t, &count, jumps);
  }
  clarke_profile_clear(&profile);
  flint_cleanup();
  printf("%d programs: %ld patterns (%ld of higher order, %ld neither shown nor refuted, %ld "
         "unclear here), %ld elements, %ld directions sampled; "
         "in-bouligand %ld, in-clarke %ld, not-in-clarke %ld, undecided %ld; %ld jump; "
         "differentiable %ld, open %ld; regular %ld, compensation %ld, bifurcation %ld; "
         "%ld corners of %ld units; %ld torn, %ld not told to be Lipschitz nor torn\n",
         programs, count.patterns, count.higher, count.unknown, count.unclear, count.elements,
         count.sampled, count.verdict[0], count.verdict[1], count.verdict[2], count.verdict[3],
         count.jumping, count.differentiable, count.open, count.zone[0], count.zone[1],
         count.zone[2], count.corners, count.units, count.torn, count.untold);
  fflush(stdout);
  ck_assert_int_gt(count.verdict[CLARKE_IN_CLARKE], programs / 100);
  ck_assert_int_gt(count.verdict[CLARKE_NOT_IN_CLARKE], programs / 100);
  ck_assert(!jumps || count.torn > programs / 100);
  ck_assert_int_le(count.untold, programs / 25);
  for (size_t z = 0; z < 3; z++)
    ck_assert_int_gt(count.zone[z], programs / 40);
  ck_assert_int_gt(count.differentiable, programs / 10);
  ck_assert_int_gt(count.sampled, 10 * programs);
  ck_assert_int_gt(count.corners, programs);
  ck_assert(!jumps || curved || count.jumping > 0);
  ck_assert(!curved || count.higher > programs / 40);
}

START_TEST(continuous)
{
  run_all(seed, false, false);
}
END_TEST

START_TEST(jumping)
{
  run_all(seed + 1, true, false);
}
END_TEST

START_TEST(products)
{
  run_all(seed + 2, false, true);
}
END_TEST

START_TEST(jumping_products)
{
  run_all(seed + 3, true, true);
}
END_TEST

int
main(int argc, char **argv)
{
  TCase *tests = tests_of("random programs");

  programs = argc > 1 ? atoi(argv[1]) : (int)draw_count(1000);
  seed = argc > 2 ? (uint64_t)atoll(argv[2]) : seed;
  tcase_add_test(tests, continuous);
  tcase_add_test(tests, jumping);
  tcase_add_test(tests, products);
  tcase_add_test(tests, jumping_products);
  return run_tests();
}
