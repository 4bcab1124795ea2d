#include "program/derive.h"

#include "base/limit.h"
#include "base/verify.h"
#include "base/stop.h"
#include "program/convex.h"
#include "program/derive_inside.h"
#include "exact/hull.h"
#include "exact/wolfe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
clarke_derivation_init(clarke_derivation *d)
{
  memset(d, 0, sizeof *d);
  clarke_execution_init(&d->execution);
  clarke_patterns_init(&d->patterns);
  clarke_points_init(&d->bouligand, 0);
  clarke_points_init(&d->clarke, 0);
  clarke_conservative_init(&d->conservative);
  clarke_representation_init(&d->representation);
  d->verdict = CLARKE_UNDECIDED;
  d->zone = CLARKE_ZONE_UNKNOWN;
  d->differentiable = CLARKE_UNKNOWN;
}

void
clarke_derivation_clear(clarke_derivation *d)
{
  clarke_numbers_free(d->ad, d->dim);
  free(d->magnitude);
  clarke_rationals_free(d->least, d->dim);
  clarke_rationals_free(d->weight, d->patterns.n);
  clarke_rationals_free(d->separator, d->dim);
  clarke_rationals_free(d->opposite, d->patterns.width);
  clarke_representation_clear(&d->representation);
  clarke_conservative_clear(&d->conservative);
  clarke_points_clear(&d->bouligand);
  clarke_points_clear(&d->clarke);
  clarke_patterns_clear(&d->patterns);
  clarke_execution_clear(&d->execution);
  memset(d, 0, sizeof *d);
}

/* --- the sets ---------------------------------------------------------------------------------- */

/* A branch may do otherwise where its comparands are equal, which near the point can be a set without
 * interior that no pattern sees: `if x == 0 then y else 0`. Not in one variable, not without a
 * fork at a branch, and not when all arms have one gradient. */
static bool
equality_is_thin(const clarke_derivation *d)
{
  const clarke_patterns *t = &d->patterns;

  if (clarke_code_wrt_count(d->p) <= 1 || (d->conservative.known && d->conservative.singleton))
    return true;
  for (size_t i = 0; i < t->tree.n; i++)
    if (t->tree.node[i].kind == CLARKE_BRANCH &&
        d->p->instruction[t->tree.node[i].at].kind == CLARKE_DO_BRANCH)
      return false;
  return true;
}

/* Do the derivatives along an arc's first step and along its opposite, two cells, not add up to 0? Then F has no gradient. */
static bool
cells_disagree(const clarke_derivation *d)
{
  const clarke_patterns *t = &d->patterns;
  size_t first = t->n - t->n_cells;
  bool found = false;
  mpq_t sum, product, step;

  mpq_inits(sum, product, step, NULL);
  for (size_t i = first; i < t->n && !found; i++)
    for (size_t j = first; j < i && !found; j++) {
      mpq_t *a = t->pattern[i].direction[0], *b = t->pattern[j].direction[0];
      bool opposite = true;

      for (size_t k = 0; k < t->width; k++) {
        mpq_neg(step, b[k]);
        opposite = opposite && mpq_equal(a[k], step);
      }
      for (size_t o = 0; o < t->dim && opposite; o += t->width) {
        mpq_set_si(sum, 0, 1);
        for (size_t k = 0; k < t->width; k++) {
          mpq_sub(step, t->pattern[i].gradient[o + k].q, t->pattern[j].gradient[o + k].q);
          mpq_mul(product, step, a[k]);
          mpq_add(sum, sum, product);
        }
        found = found || mpq_sgn(sum) != 0;
      }
    }
  mpq_clears(sum, product, step, NULL);
  return found;
}

/* Differentiable: every pattern has one rational gradient (and the value's limit). Not: two patterns
 * occur in open cones of directions with different ones. */
static void
judge_differentiable(clarke_derivation *d)
{
  const clarke_patterns *t = &d->patterns;
  const clarke_pattern *first = NULL;

  if (d->opened)
    d->differentiable = CLARKE_YES; /* a single Clarke subgradient: strictly so (Clarke 1983, Proposition 2.2.4) */
  if (d->opened)
    return;
  if (clarke_derive_unanimous(d) || (t->tree.complete && t->n == 1 && !t->pattern[0].enclosed && !t->jumps)) {
    if (equality_is_thin(d) && d->lipschitz) /* else the gradients nearby say nothing of F here */
      d->differentiable = CLARKE_YES;
    return;
  }
  if (t->jumps)
    return;
  if (cells_disagree(d) && d->lipschitz)
    d->differentiable = CLARKE_NO;
  for (size_t i = 0; i < t->n; i++) {
    if (!t->pattern[i].first_order)
      continue;
    if (first == NULL)
      first = &t->pattern[i];
    for (size_t k = 0; k < d->dim; k++) {
      int sign = clarke_number_compare(&first->gradient[k], &t->pattern[i].gradient[k],
                                       d->execution.precision);

      if (sign == 1 || sign == -1)
        d->differentiable = CLARKE_NO;
    }
  }
}

/* AD's output, which is rational, becomes the one point. */
static clarke_status
only_ad(clarke_points *points, const clarke_derivation *d, clarke_error *err)
{
  mpq_t *ad = clarke_rationals(d->dim);
  clarke_status status = ad != NULL ? CLARKE_OK : clarke_no_memory(err);

  for (size_t k = 0; k < d->dim && status == CLARKE_OK; k++)
    mpq_set(ad[k], d->ad[k].q);
  if (status == CLARKE_OK)
    status = clarke_points_set(points, 1, ad, err);
  clarke_rationals_free(ad, d->dim);
  return status;
}

static clarke_status
find_sets(clarke_derivation *d, clarke_error *err)
{
  const clarke_patterns *t = &d->patterns;
  bool known = false;
  clarke_gathered g;
  clarke_status status = clarke_gather(&g, d, true, err);

  if (status == CLARKE_OK && d->opened)
    status = only_ad(&g.points, d, err);
  d->sets_known = (t->all_known || clarke_derive_unanimous(d)) && !t->jumps && t->n > 0 && d->lipschitz;
  for (size_t i = 0; i < t->n; i++)
    d->sets_known &= t->pattern[i].exact;
  d->sets_known |= d->opened;
  if (status == CLARKE_OK) {
    clarke_points_clear(&d->bouligand);
    d->bouligand = g.points;
    clarke_points_init(&g.points, d->dim);
    status = clarke_points_hull(&d->clarke, &known, &d->bouligand, err);
    d->sets_known &= known;
  }
  if (status == CLARKE_OK && d->sets_known) {
    d->least = clarke_rationals(d->dim);
    status = d->least != NULL ? clarke_points_least(d->least, &d->clarke, err) : clarke_no_memory(err);
    d->least_known = status == CLARKE_OK;
  }
  clarke_gathered_clear(&g);
  return status;
}

static clarke_zone
zone(const clarke_derivation *d)
{
  if (d->magnitude != NULL || !d->lipschitz || d->conservative.rooted)
    return CLARKE_ZONE_UNKNOWN;
  if (d->execution.n_touched == 0)
    return CLARKE_ZONE_REGULAR;
  if (!d->conservative.known)
    return CLARKE_ZONE_UNKNOWN;
  return d->conservative.singleton ? CLARKE_ZONE_COMPENSATION : CLARKE_ZONE_BIFURCATION;
}

/* A conservative field is that of a function that is Lipschitz. */
static clarke_status
find_conservative(clarke_derivation *d, clarke_error *err)
{
  return d->magnitude == NULL && d->lipschitz ? clarke_conservative_find(&d->conservative, &d->execution, err) : CLARKE_OK;
}

/* AD's output where it may not be finite; what is has no magnitudes. */
static clarke_status
find_unbounded(clarke_derivation *d, clarke_error *err)
{
  bool finite = true;
  size_t at;
  clarke_status status;

  d->magnitude = calloc(d->dim + 1, sizeof *d->magnitude);
  if (d->magnitude == NULL)
    return clarke_no_memory(err);
  status = clarke_execution_unbounded(d->magnitude, d->ad, &at, &d->execution, d->profile, err);
  for (size_t k = 0; k < d->dim; k++)
    finite = finite && d->magnitude[k] == CLARKE_FINITE;
  if (status == CLARKE_OK && !finite) {
    const clarke_instruction *i = &d->p->instruction[at];
    bool norm = i->kind == CLARKE_DO_NORM;

    snprintf(d->unbounded, sizeof d->unbounded, "line %zu, column %zu: %s", i->line, i->column,
             norm ? "the derivative of a norm of zeros is NaN in this profile"
                  : "the derivative of sqrt at 0 is infinite (of a root of squares at 0, norm2 is the function whose derivative "
                    "PyTorch has as 0)");
    return CLARKE_OK;
  }
  free(d->magnitude);
  d->magnitude = NULL;
  return status;
}

static clarke_status
find_ad(clarke_derivation *d, clarke_error *err)
{
  clarke_error refused = {CLARKE_OK, ""};
  clarke_status status;

  d->ad = clarke_numbers(d->dim);
  if (d->ad == NULL)
    return clarke_no_memory(err);
  status = clarke_execution_ad(d->ad, &d->execution, d->profile, &refused);
  if (status == CLARKE_EINPUT)
    status = find_unbounded(d, err);
  else if (status != CLARKE_OK)
    *err = refused;
  d->ad_exact = d->magnitude == NULL;
  for (size_t k = 0; k < d->dim; k++)
    d->ad_exact &= d->ad[k].exact;
  return status;
}

/* What follows AD's output: lipschitz, patterns, verdict; *judged: the verdict stands, whatever follows. */
static clarke_status
find_verdict(bool *judged, clarke_derivation *d, const clarke_pattern_source *source, clarke_error *err)
{
  bool found = false;
  clarke_status status;

  clarke_work_begin("patterns", 0);
  status = clarke_lipschitz(&d->lipschitz, d->not_lipschitz, &d->far, &d->execution, err);
  if (status == CLARKE_OK && source != NULL)
    status = source->find(source->context, &found, &d->patterns, err);
  if (status == CLARKE_OK && !found)
    status = clarke_patterns_find(&d->patterns, &d->execution, err);
  if (status == CLARKE_OK)
    status = clarke_derive_judge(d, err);
  *judged = status == CLARKE_OK;
  if (status == CLARKE_OK)
    status = find_sets(d, err);
  if (status == CLARKE_OK)
    status = find_conservative(d, err);
  if (status == CLARKE_OK && d->p->n_pieces > 0)
    status = clarke_representation_check(&d->representation, &d->execution, err);
  if (status == CLARKE_OK) {
    judge_differentiable(d);
    d->zone = zone(d);
  }
  return status;
}

/* Told to stop: what stands is kept, the rest is as if nobody had looked. Known are value and AD's output, and perhaps the
 * verdict. */
static clarke_status
keep_known(clarke_derivation *d, bool judged, const char *why)
{
  d->sets_known = d->least_known = false;
  clarke_points_clear(&d->bouligand);
  clarke_points_clear(&d->clarke);
  clarke_conservative_clear(&d->conservative);
  clarke_representation_clear(&d->representation);
  d->differentiable = CLARKE_UNKNOWN;
  d->zone = zone(d);
  if (judged)
    return CLARKE_OK;
  clarke_rationals_free(d->weight, d->patterns.n);
  d->weight = NULL;
  clarke_patterns_clear(&d->patterns);
  clarke_patterns_init(&d->patterns);
  d->ad_pattern = CLARKE_NONE;
  clarke_derive_say(d, CLARKE_UNDECIDED, CLARKE_EVIDENCE_NONE, why);
  return CLARKE_OK;
}

/* The same, before AD's output was known. */
static clarke_status
keep_nothing(clarke_derivation *d, const char *why)
{
  clarke_execution_clear(&d->execution);
  d->execution.p = d->p;
  d->execution.open = true;
  clarke_derive_say(d, CLARKE_UNDECIDED, CLARKE_EVIDENCE_NONE, why);
  return CLARKE_OK;
}

clarke_status
clarke_derive(clarke_derivation *d, const clarke_code *p, mpq_t *at,
              const clarke_profile *profile, clarke_error *err)
{
  return clarke_derive_by(d, p, at, profile, NULL, err);
}

clarke_status
clarke_derive_by(clarke_derivation *d, const clarke_code *p, mpq_t *at, const clarke_profile *profile,
                 const clarke_pattern_source *source, clarke_error *err)
{
  clarke_error stopped = {CLARKE_OK, ""};
  bool judged = false;
  clarke_status status;

  d->p = p;
  d->profile = profile;
  d->dim = p->n_outputs * clarke_code_wrt_count(p);
  d->ad_pattern = d->far = CLARKE_NONE;
  clarke_points_init(&d->bouligand, d->dim);
  clarke_points_init(&d->clarke, d->dim);
  if (d->dim > clarke_limit_of(CLARKE_LIMIT_DERIVATIVES))
    return clarke_limit_fail(err, CLARKE_LIMIT_DERIVATIVES, "%s: %zu outputs in %zu entries of wrt", p->file, p->n_outputs,
                             clarke_code_wrt_count(p));
  status = clarke_execute(&d->execution, p, at, &stopped);
  if (status == CLARKE_OK && d->execution.open) {
    const clarke_instruction *i = &p->instruction[d->execution.open_at];

    snprintf(d->why, sizeof d->why, "line %zu, column %zu: no precision up to %ld bits decides "
             "the comparison made here", i->line, i->column, CLARKE_PRECISION_LAST);
    return CLARKE_OK;
  }
  if (status == CLARKE_OK)
    status = find_ad(d, &stopped);
  if (status == CLARKE_ESTOPPED)
    return keep_nothing(d, clarke_work_stopped());
  if (status == CLARKE_OK && p->n_outputs == 1)
    status = clarke_convex_find(&d->convex, &d->execution, 0, &stopped);
  if (status == CLARKE_OK)
    status = find_verdict(&judged, d, source, &stopped);
  if (status == CLARKE_ESTOPPED)
    status = keep_known(d, judged, clarke_work_stopped());
  if (status != CLARKE_OK && err != NULL)
    *err = stopped;
  CLARKE_VERIFY_CHECK(status != CLARKE_OK || clarke_derivation_is_valid(d));
  return status;
}
