/* Where AD's output lies: the verdict and its evidence. */
#include "program/derive_inside.h"
#include "program/derive_mean.h"
#include "program/derive_open.h"
#include "program/derive_own.h"
#include "exact/hull.h"

#include <stdio.h>
#include <stdlib.h>

void
clarke_derive_say(clarke_derivation *d, clarke_verdict verdict, clarke_evidence evidence, const char *why)
{
  d->verdict = verdict;
  d->evidence = evidence;
  snprintf(d->why, sizeof d->why, "%s", why);
}

bool
clarke_derive_unanimous(const clarke_derivation *d)
{
  const clarke_patterns *t = &d->patterns;
  bool one = t->tree.complete && !t->jumps && t->n > 0 && t->pattern[0].exact;

  for (size_t i = 1; i < t->n && one; i++)
    one = clarke_numbers_equal(t->pattern[i].gradient, t->pattern[0].gradient, d->dim);
  return one;
}

clarke_status
clarke_gather(clarke_gathered *g, const clarke_derivation *d, bool realized, clarke_error *err)
{
  bool all = !realized || clarke_derive_unanimous(d);
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

void
clarke_gathered_clear(clarke_gathered *g)
{
  clarke_points_clear(&g->points);
  free(g->pattern);
}

/* Where AD's middle lies relative to the clarke_gathered gradients: weight and separator are allocated. */
static clarke_status
place_ad(clarke_hull_place *place, mpq_t **weight, mpq_t **separator, const clarke_gathered *g,
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
  clarke_gathered g;
  clarke_status status = clarke_gather(&g, d, true, err);

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
      clarke_derive_say(d, used == 1 ? CLARKE_IN_BOULIGAND : CLARKE_IN_CLARKE, CLARKE_EVIDENCE_HULL,
          used == 1 ? "AD's output is the gradient of a pattern that occurs arbitrarily near"
                    : "AD's output is a convex combination of gradients of patterns that occur "
                      "arbitrarily near, and of no single one that is known");
  }
  clarke_rationals_free(weight, g.points.n);
  clarke_rationals_free(separator, d->dim);
  clarke_gathered_clear(&g);
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
  clarke_gathered g;
  clarke_status status = clarke_gather(&g, d, false, err);

  if (status == CLARKE_OK)
    status = place_ad(&place, &weight, &separator, &g, d, err);
  if (status == CLARKE_OK && place == CLARKE_HULL_OUTSIDE && find_separator(separator, d)) {
    d->separator = separator;
    separator = NULL;
    clarke_derive_say(d, CLARKE_NOT_IN_CLARKE, CLARKE_EVIDENCE_SEPARATOR,
        "a linear form is larger at AD's output than at every limit of gradients");
  }
  clarke_rationals_free(weight, g.points.n);
  clarke_rationals_free(separator, d->dim);
  clarke_gathered_clear(&g);
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
  clarke_derive_say(d, CLARKE_IN_BOULIGAND, CLARKE_EVIDENCE_HULL,
                    d->execution.n_touched == 0 ? "no kink is touched: AD's output is the gradient"
                                                : "AD's output is the gradient of a pattern that occurs arbitrarily near");
  return CLARKE_OK;
}

/* Is there nothing that AD's output could be a member of, or no vector that could be one? Says so. */
static bool
no_question(clarke_derivation *d)
{
  if (d->magnitude != NULL) {
    clarke_derive_say(d, CLARKE_UNDECIDED, CLARKE_EVIDENCE_NONE, "");
    snprintf(d->why, sizeof d->why, "AD's output is no vector of numbers, so no question of membership can be proved: %s%s",
             d->unbounded, d->lipschitz ? "" : "; nor is the function known to be Lipschitz near this point");
    return true;
  }
  if (d->patterns.jumps) {
    clarke_derive_say(d, CLARKE_UNDECIDED, CLARKE_EVIDENCE_NONE,
        "the function jumps at this point: it has no generalized derivative there");
    return true;
  }
  if (!d->lipschitz) {
    clarke_derive_say(d, CLARKE_UNDECIDED, CLARKE_EVIDENCE_NONE, "");
    snprintf(d->why, sizeof d->why,
             "the function is not known to be Lipschitz near this point, without which it has no "
             "generalized derivative: %s", d->not_lipschitz);
    return true;
  }
  return false;
}

/* Among patterns that are listed, finds AD's own, d->ad_pattern; among cones one with AD's output, which gives the verdict. */
static clarke_status
find_own(clarke_derivation *d, clarke_error *err)
{
  const clarke_patterns *t = &d->patterns;
  clarke_status status = CLARKE_OK;
  size_t added;

  if (t->cones) {
    status = try_equal(d, err);
    if (status != CLARKE_OK || d->verdict != CLARKE_UNDECIDED)
      return status;
  } else if (d->ad_exact && !t->all_known && !clarke_derive_unanimous(d) && !clarke_patterns_too_large(&d->execution))
    status = clarke_derive_open(d, err);
  if (status == CLARKE_OK && !t->cones)
    status = clarke_derive_own(&d->ad_pattern, d, err);
  if (status == CLARKE_OK && d->ad_pattern == CLARKE_NONE && !t->tree.complete) {
    status = clarke_patterns_along(&d->patterns, &added, &d->execution, clarke_derive_choice, d, err);
    if (status == CLARKE_OK && added != CLARKE_NONE)
      status = clarke_derive_own(&d->ad_pattern, d, err);
  }
  return status;
}

clarke_status
clarke_derive_judge(clarke_derivation *d, clarke_error *err)
{
  const clarke_patterns *t = &d->patterns;
  clarke_status status;

  if (no_question(d))
    return CLARKE_OK;
  status = find_own(d, err);
  if (status != CLARKE_OK || d->verdict != CLARKE_UNDECIDED)
    return status;
  if (d->ad_pattern != CLARKE_NONE) {
    clarke_derive_say(d, CLARKE_IN_BOULIGAND, CLARKE_EVIDENCE_AD,
        d->execution.n_touched == 0 ? "no kink is touched: AD's output is the gradient"
                                    : "the pattern that AD follows occurs arbitrarily near");
    return CLARKE_OK;
  }
  if (d->ad_exact && clarke_derive_unanimous(d) &&
      clarke_numbers_equal(d->ad, t->pattern[0].gradient, d->dim)) {
    clarke_derive_say(d, CLARKE_IN_BOULIGAND, CLARKE_EVIDENCE_UNANIMOUS,
        "AD's output is the gradient of every pattern that can occur near");
    return CLARKE_OK;
  }
  if (d->ad_exact)
    status = try_inside(d, err);
  if (status == CLARKE_OK && d->verdict == CLARKE_UNDECIDED && t->tree.complete && t->n > 0)
    status = try_outside(d, err);
  if (status == CLARKE_OK && d->verdict == CLARKE_UNDECIDED && !d->opened)
    status = clarke_derive_mean(d, err);
  if (status == CLARKE_OK && d->opposite != NULL)
    clarke_derive_say(d, CLARKE_IN_CLARKE, CLARKE_EVIDENCE_HULL,
                      "at every touched kink AD takes the mean of both sides, so its output is that of the gradients along a line");
  if (status == CLARKE_OK && d->opened && d->verdict == CLARKE_UNDECIDED)
    clarke_derive_say(d, CLARKE_IN_BOULIGAND, CLARKE_EVIDENCE_UNANIMOUS, "no choice of proxies changes AD's output, so it is the gradient");
  if (status == CLARKE_OK && d->verdict == CLARKE_UNDECIDED)
    snprintf(d->why, sizeof d->why, "%s%s",
             t->tree.complete ? "neither a combination of known limits of gradients nor a separation "
                           "from all possible ones was found"
                         : "not all patterns around the point are known: ",
             t->tree.complete ? "" : t->why);
  return status;
}
