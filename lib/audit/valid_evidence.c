/* Is the evidence of audits and derivations as their headers say? */
#include "program/derive.h"

static bool
mix_is_valid(const clarke_audit *a)
{
  for (size_t i = 0; i < a->n_mixed; i++)
    if (a->mixed[i] >= a->n_layers || (i > 0 && a->mixed[i - 1] >= a->mixed[i]) || mpq_sgn(a->lambda[i]) <= 0 ||
        mpq_cmp_ui(a->lambda[i], 1, 1) >= 0)
      return false;
  return a->n_mixed > 0 && a->n_cells == (size_t)1 << a->n_mixed;
}

static bool
simplices_are_valid(const clarke_audit *a, const clarke_question *q)
{
  for (size_t i = 0; i < a->n_simplices; i++)
    if (!clarke_simplex_is_valid(&a->simplex[i], q))
      return false;
  return a->n_simplices > 0 && clarke_cell_is_valid(&a->others, q);
}

static bool
evidence_is_valid(const clarke_audit *a, const clarke_question *q)
{
  switch (a->evidence) {
  case CLARKE_EVIDENCE_AD:
    return a->verdict == CLARKE_IN_BOULIGAND && a->n_cells == 1;
  case CLARKE_EVIDENCE_MIX:
    return a->verdict == CLARKE_IN_CLARKE && mix_is_valid(a);
  case CLARKE_EVIDENCE_HULL:
    return (a->verdict == CLARKE_IN_CLARKE || a->verdict == CLARKE_IN_BOULIGAND) && a->n_cells > 0 &&
           clarke_weights_are_valid(a->weight, a->n_cells);
  case CLARKE_EVIDENCE_SEPARATOR:
  case CLARKE_EVIDENCE_BOUND:
    return a->verdict == CLARKE_NOT_IN_CLARKE && a->tree.complete && clarke_tree_is_valid(&a->tree, q) &&
           clarke_membership_is_valid(&a->membership, 0);
  case CLARKE_EVIDENCE_SIMPLICES:
    return a->verdict == CLARKE_IN_CLARKE && simplices_are_valid(a, q);
  case CLARKE_EVIDENCE_NONE:
    return a->verdict == CLARKE_UNDECIDED;
  default:
    return false;
  }
}

/* Of other evidence the cells are what a try left behind. */
static bool
has_cells(const clarke_audit *a)
{
  return a->evidence == CLARKE_EVIDENCE_AD || a->evidence == CLARKE_EVIDENCE_MIX ||
         a->evidence == CLARKE_EVIDENCE_HULL;
}

/* What is told of a layer, one with the other. */
static bool
layer_is_valid(const clarke_layer *l, const clarke_graph *g)
{
  return l->step < g->n_steps && l->moving <= l->touched && (!l->bias_covers || (l->bias != CLARKE_NONE && l->alone)) &&
         (!l->bias_distinct || l->bias_covers) && (!l->fully_connected || (l->dense != CLARKE_NONE && l->alone)) &&
         (!l->plain_sum || l->weight != CLARKE_NONE) && (!l->two_kinks || l->feasible == CLARKE_YES) &&
         (!l->blocks.known || l->blocks.empty + l->blocks.open <= l->blocks.n);
}

bool
clarke_audit_is_valid(const clarke_audit *a, const clarke_question *q)
{
  for (size_t i = 0; has_cells(a) && i < a->n_cells; i++)
    if (!clarke_cell_is_valid(&a->cell[i], q))
      return false;
  for (size_t i = 0; i < a->n_layers; i++)
    if (!layer_is_valid(&a->layer[i], q->g) || (i > 0 && a->layer[i - 1].step >= a->layer[i].step))
      return false;
  return a->flat <= q->replay->n_touches && evidence_is_valid(a, q);
}

/* --- derivations --- */

/* Weights of patterns that occur. */
static bool
hull_is_valid(const clarke_derivation *d)
{
  const clarke_patterns *t = &d->patterns;

  for (size_t i = 0; i < t->n; i++)
    if (mpq_sgn(d->weight[i]) != 0 && (!t->pattern[i].exact || !t->pattern[i].realized))
      return false;
  return clarke_weights_are_valid(d->weight, t->n);
}

static bool
derived_evidence_is_valid(const clarke_derivation *d)
{
  const clarke_patterns *t = &d->patterns;

  switch (d->evidence) {
  case CLARKE_EVIDENCE_AD:
    return d->verdict == CLARKE_IN_BOULIGAND && d->ad_pattern < t->n && t->pattern[d->ad_pattern].realized;
  case CLARKE_EVIDENCE_HULL:
    return (d->verdict == CLARKE_IN_BOULIGAND || d->verdict == CLARKE_IN_CLARKE) && d->ad_exact && d->weight != NULL &&
           hull_is_valid(d);
  case CLARKE_EVIDENCE_UNANIMOUS:
    return d->verdict == CLARKE_IN_BOULIGAND && d->ad_exact && t->complete && t->n > 0;
  case CLARKE_EVIDENCE_SEPARATOR:
    return d->verdict == CLARKE_NOT_IN_CLARKE && t->complete && t->n > 0 && d->separator != NULL;
  default:
    return d->evidence == CLARKE_EVIDENCE_NONE && d->verdict == CLARKE_UNDECIDED;
  }
}

/* Where the function jumps, or may not be Lipschitz, nothing is claimed. */
bool
clarke_derivation_is_valid(const clarke_derivation *d)
{
  bool defined = d->lipschitz && !d->patterns.jumps;

  return clarke_execution_is_valid(&d->execution) && clarke_patterns_is_valid(&d->patterns) &&
         (d->verdict == CLARKE_UNDECIDED || defined) && (!d->sets_known || defined) && derived_evidence_is_valid(d);
}
