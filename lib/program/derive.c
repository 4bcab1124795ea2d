#include "program/derive.h"
#include "base/limit.h"
#include "base/verify.h"
#include "base/stop.h"
#include "program/derive_open.h"
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

static bool
separates_all(const clarke_derivation *d, mpq_t *separator)
{
  size_t i = 0;

  while (i < d->patterns.n && separates(d, separator, &d->patterns.pattern[i]))
    i++;
  return i == d->patterns.n;
}

/* From enclosures middles do not say how far to stay: the axes are tried, too. */
static bool
find_separator(mpq_t *separator, const clarke_derivation *d)
{
  bool found = separates_all(d, separator);

  for (size_t k = 0; k < 2 * d->dim && !found && clarke_patterns_enclose(&d->patterns); k++) {
    for (size_t j = 0; j < d->dim; j++)
      mpq_set_si(separator[j], j == k / 2 ? (k % 2 == 0 ? 1 : -1) : 0, 1);
    found = separates_all(d, separator);
  }
  return found;
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
  if (status == CLARKE_OK && place == CLARKE_HULL_OUTSIDE && find_separator(separator, d)) {
    d->separator = separator;
    separator = NULL;
    say(d, CLARKE_NOT_IN_CLARKE, CLARKE_EVIDENCE_SEPARATOR,
        "a linear form is larger at AD's output than at every limit of gradients");
  }
  clarke_rationals_free(weight, g.points.n);
  clarke_rationals_free(separator, d->dim);
  gathered_clear(&g);
  return status;
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
  if (d->ad_exact && !t->all_known && !unanimous(d) && !clarke_patterns_too_large(&d->execution))
    status = clarke_derive_open(d, err);
  if (status == CLARKE_OK)
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
  if (status == CLARKE_OK && d->opened && d->verdict == CLARKE_UNDECIDED)
    say(d, CLARKE_IN_BOULIGAND, CLARKE_EVIDENCE_UNANIMOUS, "no choice of proxies changes AD's output, so it is the gradient");
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
  if (unanimous(d) || (t->complete && t->n == 1 && !t->pattern[0].enclosed && !t->jumps)) {
    if (equality_is_thin(d))
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
  gathered g;
  clarke_status status = gather(&g, d, true, err);

  if (status == CLARKE_OK && d->opened)
    status = only_ad(&g.points, d, err);
  d->sets_known = (t->all_known || unanimous(d)) && !t->jumps && t->n > 0 && d->lipschitz;
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
find_verdict(bool *judged, clarke_derivation *d, clarke_error *err)
{
  clarke_status status;

  clarke_work_begin("patterns", 0);
  status = clarke_lipschitz(&d->lipschitz, d->not_lipschitz, &d->far, &d->execution, err);
  if (status == CLARKE_OK)
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
    status = find_verdict(&judged, d, &stopped);
  if (status == CLARKE_ESTOPPED)
    status = keep_known(d, judged, clarke_work_stopped());
  if (status != CLARKE_OK && err != NULL)
    *err = stopped;
  CLARKE_VERIFY_CHECK(status != CLARKE_OK || clarke_derivation_is_valid(d));
  return status;
}
