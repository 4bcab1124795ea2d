#include "evidence.h"

#define DEEPEST 256

/* Where a walk over the tree in preorder is. */
typedef struct {
  const clarke_patterns *t;
  size_t at, patterns, n_choices, choice[DEEPEST];
  const char *fault;
} tour;

static void
tour_refuted(tour *w, const clarke_node *f)
{
  if (f->gordan.n == 0)
    w->fault = "a branch is refuted by nothing";
  for (size_t k = 0; k < f->gordan.n; k++)
    if (f->gordan.multiplier[k].of >= f->depth || mpq_sgn(f->gordan.multiplier[k].u) <= 0
        || (k > 0 && f->gordan.multiplier[k].of <= f->gordan.multiplier[k - 1].of))
      w->fault = "a Gordan vector names no decision above it";
}

static void
tour_pattern(tour *w, const clarke_node *f)
{
  const clarke_pattern *s = &w->t->pattern[f->leaf];

  if (f->leaf != w->patterns++ || s->n_choices != w->n_choices) {
    w->fault = "patterns are not numbered in the order of the tree, or miss choices";
    return;
  }
  for (size_t k = 0; k < w->n_choices; k++)
    if (s->choice[k] != w->choice[k])
      w->fault = "a pattern's choices are not those of its path";
}

/* The subtree with these many decisions above it; m choices add m - 1 decisions each. */
static void
tour_subtree(tour *w, size_t depth)
{
  const clarke_node *f;

  if (w->fault != NULL)
    return;
  if (w->at >= w->t->tree.n || w->t->tree.node[w->at].depth != depth || w->n_choices == DEEPEST) {
    w->fault = "the tree ends early, or a fork's depth is wrong";
    return;
  }
  f = &w->t->tree.node[w->at++];
  if (f->kind == CLARKE_DEAD) {
    tour_refuted(w, f);
  } else if (f->kind == CLARKE_LEAF) {
    tour_pattern(w, f);
  } else {
    w->n_choices++;
    for (size_t c = 0; c < f->n_branches; c++) {
      w->choice[w->n_choices - 1] = c;
      tour_subtree(w, depth + f->n_branches - 1);
    }
    w->n_choices--;
    if (f->n_branches < 2)
      w->fault = "a fork has no two choices";
  }
}

const char *
tree_fault(const clarke_patterns *t)
{
  tour w = { .t = t };

  tour_subtree(&w, 0);
  if (w.fault == NULL && (w.at != t->tree.n || w.patterns != t->n - t->n_cells))
    return "the tree has more than it should";
  return w.fault;
}

static bool
gradient_is(const clarke_pattern *pattern, const clarke_number *want, size_t dim)
{
  for (size_t i = 0; i < dim; i++)
    if (!pattern->gradient[i].exact || !mpq_equal(pattern->gradient[i].q, want[i].q))
      return false;
  return true;
}

/* Weights are not negative, sum to 1, and combine gradients to AD's; how many are not zero. */
static const char *
weights_fault(const clarke_derivation *d, size_t *used)
{
  const char *fault = NULL;
  mpq_t sum, term;

  mpq_init(sum);
  mpq_init(term);
  *used = 0;
  for (size_t k = 0; k < d->patterns.n; k++) {
    if (mpq_sgn(d->weight[k]) < 0
        || (mpq_sgn(d->weight[k]) > 0 && !d->patterns.pattern[k].realized))
      fault = "a weight is negative, or of a pattern that is not realized";
    *used += mpq_sgn(d->weight[k]) > 0;
    mpq_add(sum, sum, d->weight[k]);
  }
  if (mpq_cmp_ui(sum, 1, 1) != 0)
    fault = "weights do not sum to 1";
  for (size_t i = 0; i < d->dim; i++) {
    mpq_set_ui(sum, 0, 1);
    for (size_t k = 0; k < d->patterns.n; k++) {
      mpq_mul(term, d->weight[k], d->patterns.pattern[k].gradient[i].q);
      mpq_add(sum, sum, term);
    }
    if (!mpq_equal(sum, d->ad[i].q))
      fault = "the weighted gradients are not AD's";
  }
  mpq_clear(sum);
  mpq_clear(term);
  return fault;
}

static const char *
separator_fault(const clarke_derivation *d)
{
  const char *fault = NULL;
  mpq_t gap, term;

  mpq_init(gap);
  mpq_init(term);
  for (size_t k = 0; k < d->patterns.n; k++) {
    mpq_set_ui(gap, 0, 1);
    for (size_t i = 0; i < d->dim; i++) {
      mpq_sub(term, d->ad[i].q, d->patterns.pattern[k].gradient[i].q);
      mpq_mul(term, term, d->separator[i]);
      mpq_add(gap, gap, term);
    }
    if (mpq_sgn(gap) <= 0)
      fault = "the separator does not separate AD's output from every pattern";
  }
  mpq_clear(gap);
  mpq_clear(term);
  return fault;
}

/* AD's gradient at w + t v: sum gets half of it. */
static const char *
add_gradient_at(clarke_number *sum, const clarke_derivation *d, int sign)
{
  const size_t n = clarke_code_entries(d->p);
  mpq_t *at = clarke_rationals(n), half;
  clarke_number *g = clarke_numbers(d->dim);
  clarke_execution e;
  clarke_error error;
  bool smooth;

  mpq_init(half);
  mpq_set_ui(half, 1, 2);
  clarke_execution_init(&e);
  for (size_t k = 0, v = 0; k < n; k++) {
    if (clarke_code_varies(d->p, k)) {
      mpq_div_2exp(at[k], d->opposite[v++], 64);
      if (sign < 0)
        mpq_neg(at[k], at[k]);
    }
    mpq_add(at[k], at[k], d->execution.at[k]);
  }
  smooth = clarke_execute(&e, d->p, at, &error) == CLARKE_OK && !e.open && e.n_touched == 0 &&
           clarke_execution_ad(g, &e, d->profile, &error) == CLARKE_OK;
  for (size_t k = 0; k < d->dim && smooth; k++)
    clarke_number_addmul_q(&sum[k], half, &g[k], 256);
  clarke_execution_clear(&e);
  clarke_numbers_free(g, d->dim);
  clarke_rationals_free(at, n);
  mpq_clear(half);
  return smooth ? NULL : "the function is not smooth beside the point, along the direction";
}

/* The mean of the gradients on both sides, 2^-64 away, is AD's output but for less than 2^-30. */
static const char *
opposite_fault(const clarke_derivation *d)
{
  clarke_number *sum = clarke_numbers(d->dim), off, most;
  const char *fault = d->verdict == CLARKE_IN_CLARKE ? NULL : "two arcs show no element of the Bouligand set";

  clarke_number_init(&off);
  clarke_number_init(&most);
  mpq_set_ui(most.q, 1, 1 << 30);
  for (int side = -1; side < 2 && fault == NULL; side += 2)
    fault = add_gradient_at(sum, d, side);
  for (size_t k = 0; k < d->dim && fault == NULL; k++) {
    clarke_number_sub(&off, &sum[k], &d->ad[k], 256);
    clarke_number_largest(&off, &off, 256);
    if (clarke_number_compare(&off, &most, 256) != -1)
      fault = "the mean of the gradients on both sides is not AD's";
  }
  clarke_number_clear(&off);
  clarke_number_clear(&most);
  clarke_numbers_free(sum, d->dim);
  return fault;
}

/* The hull's evidence; in-bouligand needs a weight of 1. */
static const char *
hull_fault(const clarke_derivation *d)
{
  size_t used;

  if (d->opposite != NULL)
    return opposite_fault(d);
  const char *fault = weights_fault(d, &used);

  if (fault == NULL && d->verdict == CLARKE_IN_BOULIGAND && used != 1)
    return "more than one weight shows no element of the Bouligand set";
  return fault;
}

const char *
verdict_fault(const clarke_derivation *d)
{
  switch (d->evidence) {
  case CLARKE_EVIDENCE_AD:
    if (d->verdict != CLARKE_IN_BOULIGAND || d->ad_pattern >= d->patterns.n
        || !d->patterns.pattern[d->ad_pattern].realized
        || !gradient_is(&d->patterns.pattern[d->ad_pattern], d->ad, d->dim))
      return "AD's own pattern does not show the verdict";
    return NULL;
  case CLARKE_EVIDENCE_HULL:
    return d->verdict == CLARKE_IN_BOULIGAND || d->verdict == CLARKE_IN_CLARKE
               ? hull_fault(d) : "a hull does not show the verdict";
  case CLARKE_EVIDENCE_SEPARATOR:
    return d->verdict == CLARKE_NOT_IN_CLARKE ? separator_fault(d)
                                              : "a separator does not show the verdict";
  case CLARKE_EVIDENCE_UNANIMOUS:
    for (size_t i = 0; i < d->patterns.n; i++)
      if (!gradient_is(&d->patterns.pattern[i], d->ad, d->dim))
        return "a pattern's gradient is not AD's output";
    return d->verdict == CLARKE_IN_BOULIGAND && d->patterns.n > 0 ? NULL
                                                                  : "no pattern shows the verdict";
  default:
    return "there is no evidence";
  }
}

/* Of patterns that all have one gradient some occurs, whichever. */
static bool
one_gradient(const clarke_patterns *t, size_t dim)
{
  for (size_t i = 1; i < t->n; i++)
    if (!gradient_is(&t->pattern[i], t->pattern[0].gradient, dim))
      return false;
  return t->n > 0;
}

const char *
evidence_fault(const clarke_derivation *d)
{
  const char *fault = tree_fault(&d->patterns);

  if (fault != NULL)
    return fault;
  if (!d->patterns.tree.complete || (!d->patterns.all_known && !one_gradient(&d->patterns, d->dim)))
    return d->patterns.why[0] != '\0' ? d->patterns.why : "not all patterns are known";
  if (!d->sets_known || !d->ad_exact)
    return "the sets are not known, or AD's output is not rational";
  return verdict_fault(d);
}
