#include "program/derive.h"
#include "base/limit.h"
#include "base/verify.h"
#include "base/stop.h"
#include "program/derive_own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *
clarke_zone_name(clarke_zone z)
{
  static const char *const name[] = {"regular", "compensation", "bifurcation", "unknown"};

  return name[z];
}

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
  clarke_rationals_free(d->least, d->dim);
  clarke_rationals_free(d->weight, d->patterns.n);
  clarke_rationals_free(d->separator, d->dim);
  clarke_representation_clear(&d->representation);
  clarke_conservative_clear(&d->conservative);
  clarke_points_clear(&d->bouligand);
  clarke_points_clear(&d->clarke);
  clarke_patterns_clear(&d->patterns);
  clarke_execution_clear(&d->execution);
  memset(d, 0, sizeof *d);
}

/* --- membership -------------------------------------------------------------------------------- */

static void
say(clarke_derivation *d, clarke_verdict verdict, clarke_evidence evidence, const char *why)
{
  d->verdict = verdict;
  d->evidence = evidence;
  snprintf(d->why, sizeof d->why, "%s", why);
}

/* Have all patterns of a complete tree one rational gradient? Some of them occurs, whichever. */
static bool
unanimous(const clarke_derivation *d)
{
  const clarke_patterns *t = &d->patterns;
  bool one = t->complete && !t->jumps && t->n > 0 && t->pattern[0].exact;

  for (size_t i = 1; i < t->n && one; i++)
    one = clarke_numbers_equal(t->pattern[i].gradient, t->pattern[0].gradient, d->dim);
  return one;
}

/* The distinct gradients of patterns (realized and rational ones, or the middles of all), with a
 * pattern for each row. */
typedef struct {
  clarke_points points;
  size_t *pattern;
} gathered;

static clarke_status
gather(gathered *g, const clarke_derivation *d, bool realized, clarke_error *err)
{
  bool all = !realized || unanimous(d);
  const clarke_patterns *t = &d->patterns;
  mpq_t *v = clarke_rationals(d->dim);
  clarke_status status = CLARKE_OK;

  clarke_points_init(&g->points, d->dim);
  g->pattern = malloc((t->n + 1) * sizeof *g->pattern);
  if (v == NULL || g->pattern == NULL)
    status = clarke_no_memory(err);
  for (int pass = 0; pass < 2; pass++) /* rows move while points are added */
    for (size_t i = 0; i < t->n && status == CLARKE_OK; i++) {
      const clarke_pattern *p = &t->pattern[i];

      if (!all && (!p->realized || !p->exact))
        continue;
      for (size_t k = 0; k < d->dim; k++)
        clarke_number_middle(v[k], &p->gradient[k]);
      if (pass == 0)
        status = clarke_points_add(&g->points, v, err);
      else
        g->pattern[clarke_points_find(&g->points, v)] = i;
    }
  clarke_rationals_free(v, d->dim);
  return status;
}

static void
gathered_clear(gathered *g)
{
  clarke_points_clear(&g->points);
  free(g->pattern);
}

/* Where AD's middle lies relative to the gathered gradients: weight and separator are allocated. */
static clarke_status
place_ad(clarke_hull_place *place, mpq_t **weight, mpq_t **separator, const gathered *g,
         const clarke_derivation *d, clarke_error *err)
{
  mpq_t *v = clarke_rationals(d->dim);
  clarke_status status;

  *weight = clarke_rationals(g->points.n);
  *separator = clarke_rationals(d->dim);
  if (v == NULL || *weight == NULL || *separator == NULL)
    status = clarke_no_memory(err);
  else {
    for (size_t k = 0; k < d->dim; k++)
      clarke_number_middle(v[k], &d->ad[k]);
    status = clarke_points_place(place, *weight, *separator, &g->points, v, err);
  }
  clarke_rationals_free(v, d->dim);
  return status;
}

/* Is AD's output a convex combination of gradients known to be limits? */
static clarke_status
try_inside(clarke_derivation *d, clarke_error *err)
{
  clarke_hull_place place = CLARKE_HULL_UNKNOWN;
  mpq_t *weight = NULL, *separator = NULL;
  size_t used = 0;
  gathered g;
  clarke_status status = gather(&g, d, true, err);

  if (status == CLARKE_OK && g.points.n > 0)
    status = place_ad(&place, &weight, &separator, &g, d, err);
  if (status == CLARKE_OK && place == CLARKE_HULL_INSIDE) {
    d->weight = clarke_rationals(d->patterns.n);
    if (d->weight == NULL)
      status = clarke_no_memory(err);
    for (size_t i = 0; i < g.points.n && status == CLARKE_OK; i++) {
      mpq_set(d->weight[g.pattern[i]], weight[i]);
      used += mpq_sgn(weight[i]) != 0;
    }
    if (status == CLARKE_OK)
      say(d, used == 1 ? CLARKE_IN_BOULIGAND : CLARKE_IN_CLARKE, CLARKE_EVIDENCE_HULL,
          used == 1 ? "AD's output is the gradient of a pattern that occurs arbitrarily near"
                    : "AD's output is a convex combination of gradients of patterns that occur "
                      "arbitrarily near, and of no single one that is known");
  }
  clarke_rationals_free(weight, g.points.n);
  clarke_rationals_free(separator, d->dim);
  gathered_clear(&g);
  return status;
}

/* <separator, ad - gradient> > 0 for certain? */
static bool
separates(const clarke_derivation *d, mpq_t *separator, const clarke_pattern *p)
{
  clarke_number sum, difference;
  long precision = d->execution.precision;
  int sign;

  clarke_number_init(&sum);
  clarke_number_init(&difference);
  for (size_t k = 0; k < d->dim; k++) {
    clarke_number_sub(&difference, &d->ad[k], &p->gradient[k], precision);
    clarke_number_addmul_q(&sum, separator[k], &difference, precision);
  }
  sign = clarke_number_sign(&sum);
  clarke_number_clear(&sum);
  clarke_number_clear(&difference);
  return sign == 1;
}

/* Is AD's output apart from the gradients of all patterns of a complete tree? */
static clarke_status
try_outside(clarke_derivation *d, clarke_error *err)
{
  clarke_hull_place place = CLARKE_HULL_UNKNOWN;
  mpq_t *weight = NULL, *separator = NULL;
  gathered g;
  clarke_status status = gather(&g, d, false, err);

  if (status == CLARKE_OK)
    status = place_ad(&place, &weight, &separator, &g, d, err);
  if (status == CLARKE_OK && place == CLARKE_HULL_OUTSIDE) {
    size_t i = 0;

    while (i < d->patterns.n && separates(d, separator, &d->patterns.pattern[i]))
      i++;
    if (i == d->patterns.n) {
      d->separator = separator;
      separator = NULL;
      say(d, CLARKE_NOT_IN_CLARKE, CLARKE_EVIDENCE_SEPARATOR,
          "a linear form is larger at AD's output than at every limit of gradients");
    }
  }
  clarke_rationals_free(weight, g.points.n);
  clarke_rationals_free(separator, d->dim);
  gathered_clear(&g);
  return status;
}

/* Is AD's output the gradient on a cone? */
static clarke_status
try_equal(clarke_derivation *d, clarke_error *err)
{
  const clarke_patterns *t = &d->patterns;
  size_t i = 0;

  while (i < t->n && !clarke_numbers_equal(t->pattern[i].gradient, d->ad, d->dim))
    i++;
  if (i == t->n || !d->ad_exact)
    return CLARKE_OK;
  d->weight = clarke_rationals(t->n);
  if (d->weight == NULL)
    return clarke_no_memory(err);
  mpq_set_ui(d->weight[i], 1, 1);
  say(d, CLARKE_IN_BOULIGAND, CLARKE_EVIDENCE_HULL, d->execution.n_touched == 0 ? "no kink is touched: AD's output is the gradient"
      : "AD's output is the gradient of a pattern that occurs arbitrarily near");
  return CLARKE_OK;
}

static clarke_status
judge(clarke_derivation *d, clarke_error *err)
{
  const clarke_patterns *t = &d->patterns;
  clarke_status status = CLARKE_OK;

  if (t->jumps) {
    say(d, CLARKE_UNDECIDED, CLARKE_EVIDENCE_NONE,
        "the function jumps at this point: it has no generalized derivative there");
    return CLARKE_OK;
  }
  if (!d->lipschitz) {
    say(d, CLARKE_UNDECIDED, CLARKE_EVIDENCE_NONE, "");
    snprintf(d->why, sizeof d->why,
             "the function is not known to be Lipschitz near this point, without which it has no "
             "generalized derivative: %s", d->not_lipschitz);
    return CLARKE_OK;
  }
  if (t->cones) {
    status = try_equal(d, err);
    if (status != CLARKE_OK || d->verdict != CLARKE_UNDECIDED)
      return status;
  } else
    status = clarke_derive_own(&d->ad_pattern, d, err);
  if (status == CLARKE_OK && d->ad_pattern == CLARKE_NONE && !t->complete) {
    size_t added;

    status = clarke_patterns_along(&d->patterns, &added, &d->execution, clarke_derive_choice, d, err);
    if (status == CLARKE_OK && added != CLARKE_NONE)
      status = clarke_derive_own(&d->ad_pattern, d, err);
  }
  if (status != CLARKE_OK)
    return status;
  if (d->ad_pattern != CLARKE_NONE) {
    say(d, CLARKE_IN_BOULIGAND, CLARKE_EVIDENCE_AD,
        d->execution.n_touched == 0 ? "no kink is touched: AD's output is the gradient"
                                    : "the pattern that AD follows occurs arbitrarily near");
    return CLARKE_OK;
  }
  if (d->ad_exact && unanimous(d) &&
      clarke_numbers_equal(d->ad, t->pattern[0].gradient, d->dim)) {
    say(d, CLARKE_IN_BOULIGAND, CLARKE_EVIDENCE_UNANIMOUS,
        "AD's output is the gradient of every pattern that can occur near");
    return CLARKE_OK;
  }
  if (d->ad_exact)
    status = try_inside(d, err);
  if (status == CLARKE_OK && d->verdict == CLARKE_UNDECIDED && t->complete && t->n > 0)
    status = try_outside(d, err);
  if (status == CLARKE_OK && d->verdict == CLARKE_UNDECIDED)
    snprintf(d->why, sizeof d->why, "%s%s",
             t->complete ? "neither a combination of known limits of gradients nor a separation "
                           "from all possible ones was found"
                         : "not all patterns around the point are known: ",
             t->complete ? "" : t->why);
  return status;
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
  for (size_t i = 0; i < t->n_forks; i++)
    if (t->fork[i].kind == CLARKE_PARTING &&
        d->p->instruction[t->fork[i].instruction].kind == CLARKE_DO_BRANCH)
      return false;
  return true;
}

/* Differentiable: every pattern has one rational gradient (and the value's limit). Not: two patterns
 * occur in open cones of directions with different ones. */
static void
judge_differentiable(clarke_derivation *d)
{
  const clarke_patterns *t = &d->patterns;
  const clarke_pattern *first = NULL;

  if (unanimous(d) || (t->complete && t->n == 1 && !t->jumps)) {
    if (equality_is_thin(d))
      d->differentiable = CLARKE_YES;
    return;
  }
  if (t->jumps)
    return;
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

static clarke_status
find_sets(clarke_derivation *d, clarke_error *err)
{
  const clarke_patterns *t = &d->patterns;
  bool known = false;
  gathered g;
  clarke_status status = gather(&g, d, true, err);

  d->sets_known = (t->all_known || unanimous(d)) && !t->jumps && t->n > 0 && d->lipschitz;
  for (size_t i = 0; i < t->n; i++)
    d->sets_known &= t->pattern[i].exact;
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
  gathered_clear(&g);
  return status;
}

static clarke_zone
zone(const clarke_derivation *d)
{
  if (d->execution.n_touched == 0)
    return CLARKE_ZONE_REGULAR;
  if (!d->conservative.known)
    return CLARKE_ZONE_UNKNOWN;
  return d->conservative.singleton ? CLARKE_ZONE_COMPENSATION : CLARKE_ZONE_BIFURCATION;
}

/* It takes the arms that AD does not too, which may not be defined. */
static clarke_status
find_conservative(clarke_derivation *d, clarke_error *err)
{
  clarke_status status = clarke_conservative_find(&d->conservative, &d->execution, err);

  if (status != CLARKE_EINPUT || d->lipschitz)
    return status;
  clarke_conservative_clear(&d->conservative);
  return CLARKE_OK;
}

static clarke_status
find_ad(clarke_derivation *d, clarke_error *err)
{
  clarke_status status;

  d->ad = clarke_numbers(d->dim);
  if (d->ad == NULL)
    return clarke_no_memory(err);
  status = clarke_execution_ad(d->ad, &d->execution, d->profile, err);
  d->ad_exact = true;
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
    status = judge(d, err);
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
  say(d, CLARKE_UNDECIDED, CLARKE_EVIDENCE_NONE, why);
  return CLARKE_OK;
}

/* The same, before AD's output was known. */
static clarke_status
keep_nothing(clarke_derivation *d, const char *why)
{
  clarke_execution_clear(&d->execution);
  d->execution.p = d->p;
  d->execution.open = true;
  say(d, CLARKE_UNDECIDED, CLARKE_EVIDENCE_NONE, why);
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
  if (status == CLARKE_OK)
    status = find_verdict(&judged, d, source, &stopped);
  if (status == CLARKE_ESTOPPED)
    status = keep_known(d, judged, clarke_work_stopped());
  if (status != CLARKE_OK && err != NULL)
    *err = stopped;
  CLARKE_VERIFY_CHECK(status != CLARKE_OK || clarke_derivation_is_valid(d));
  return status;
}
