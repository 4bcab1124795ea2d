/* Are programs, executions, patterns and derivations as their headers say? Arguments before their instructions; what was
 * executed has its arguments, and touches kinks that there are. */
#include "program/derive.h"

/* As many arguments as the kind has; SIZE_MAX: any number of one and more. */
static size_t
arguments_of(clarke_do kind)
{
  switch (kind) {
  case CLARKE_DO_INPUT:
  case CLARKE_DO_CONSTANT:
    return 0;
  case CLARKE_DO_ANALYTIC:
  case CLARKE_DO_PIECEWISE:
  case CLARKE_DO_ELU:
    return 1;
  case CLARKE_DO_PRODUCT:
  case CLARKE_DO_QUOTIENT:
    return 2;
  case CLARKE_DO_BRANCH:
    return 4;
  default:
    return SIZE_MAX;
  }
}

static bool
instruction_is_valid(const clarke_code *p, size_t at)
{
  const clarke_instruction *i = &p->instruction[at];
  const size_t arguments = arguments_of(i->kind);
  const bool one = i->kind == CLARKE_DO_CONSTANT || i->kind == CLARKE_DO_ELU;

  if (arguments == SIZE_MAX ? i->n_in == 0 && i->kind != CLARKE_DO_LINEAR : i->n_in != arguments)
    return false;
  if (i->n_coef != (i->kind == CLARKE_DO_LINEAR ? i->n_in + 1 : one ? 1 : 0))
    return false;
  for (size_t k = 0; k < i->n_in; k++)
    if (i->in[k] >= at)
      return false;
  for (size_t k = 0; k < i->n_coef; k++)
    if (!clarke_rational_is_canonical(i->coef[k]))
      return false;
  return (i->kind != CLARKE_DO_PIECEWISE || (i->op != NULL && i->pieces != NULL && clarke_pieces_are_valid(i->pieces))) &&
         (i->kind != CLARKE_DO_ELU || i->op != NULL) &&
         (i->kind != CLARKE_DO_ORDER || (i->op != NULL && i->rank >= 1 && i->rank <= i->n_in));
}

/* Entries of inputs are INPUT instructions, each of one input, and there are no others. */
static bool
inputs_are_valid(const clarke_code *p)
{
  size_t entries = 0, all = 0;

  for (size_t k = 0; k < p->n_inputs; k++) {
    const clarke_code_input *in = &p->input[k];

    if (in->name == NULL || in->n == 0 || (!in->vector && in->n != 1) || in->first > p->n || in->n > p->n - in->first ||
        (k > 0 && in->first < p->input[k - 1].first + p->input[k - 1].n))
      return false;
    for (size_t e = 0; e < in->n; e++)
      if (p->instruction[in->first + e].kind != CLARKE_DO_INPUT)
        return false;
    entries += in->n;
  }
  for (size_t at = 0; at < p->n; at++)
    all += p->instruction[at].kind == CLARKE_DO_INPUT;
  return entries == all;
}

bool
clarke_code_is_valid(const clarke_code *p)
{
  size_t arguments = 0;

  for (size_t at = 0; at < p->n; at++) {
    if (!instruction_is_valid(p, at))
      return false;
    arguments += p->instruction[at].n_in;
  }
  for (size_t o = 0; o < p->n_outputs; o++)
    if (p->output[o] >= p->n)
      return false;
  for (size_t k = 0; k < p->n_pieces; k++) {
    const clarke_piece *piece = &p->piece[k];

    if (piece->value >= p->n)
      return false;
    for (size_t c = 0; c < piece->n_conditions; c++)
      if (piece->condition[c].left >= p->n || piece->condition[c].right >= p->n)
        return false;
  }
  return arguments == p->arguments && inputs_are_valid(p);
}

/* --- executions --- */

static bool
touched_is_valid(const clarke_touched *t, const clarke_execution *e)
{
  const clarke_instruction *i = &e->p->instruction[t->instruction];

  switch (i->kind) {
  case CLARKE_DO_PIECEWISE:
    return t->kink < i->pieces->n_kinks && e->piece[t->instruction] == t->kink;
  case CLARKE_DO_ELU:
    return t->kink == 0 && e->piece[t->instruction] == 0;
  case CLARKE_DO_ORDER:
    for (size_t k = 0; k < t->n_tied; k++)
      if (t->tied[k] >= i->n_in || (k > 0 && t->tied[k - 1] >= t->tied[k]))
        return false;
    return t->n_tied > 1 && t->rank_in_tie >= 1 && t->rank_in_tie <= t->n_tied;
  case CLARKE_DO_BRANCH:
    return e->piece[t->instruction] <= 1;
  default:
    return i->kind == CLARKE_DO_NORM;
  }
}

/* Its arguments have been executed; of a branch the comparands and the arm taken. */
static bool
is_demanded(const clarke_execution *e, size_t at)
{
  const clarke_instruction *i = &e->p->instruction[at];

  for (size_t k = 0; k < i->n_in; k++)
    if ((i->kind != CLARKE_DO_BRANCH || k < 2 || k == (e->piece[at] == 1 ? 2 : 3)) && !e->live[i->in[k]])
      return false;
  return true;
}

bool
clarke_execution_is_valid(const clarke_execution *e)
{
  size_t live = 0;

  if (e->open)
    return e->open_at < e->p->n;
  for (size_t at = 0; at < e->p->n; at++) {
    const size_t t = e->touch_of[at];

    live += e->live[at];
    if ((e->live[at] && !is_demanded(e, at)) ||
        (t != CLARKE_NONE && (t >= e->n_touched || !e->live[at] || e->touched[t].instruction != at)))
      return false;
  }
  for (size_t k = 0; k < e->n_order; k++)
    if (e->order[k] >= e->p->n || !e->live[e->order[k]])
      return false;
  for (size_t t = 0; t < e->n_touched; t++) {
    const size_t at = e->touched[t].instruction;

    if (at >= e->p->n || !e->live[at] || e->touch_of[at] != t || !touched_is_valid(&e->touched[t], e))
      return false;
  }
  for (size_t o = 0; o < e->p->n_outputs; o++)
    if (!e->live[e->p->output[o]])
      return false;
  return live == e->n_order;
}

/* --- patterns --- */

/* By decisions above it. */
static bool
refutation_is_valid(const clarke_node *node)
{
  const clarke_gordan *g = &node->gordan;

  return clarke_gordan_is_valid(g) && g->multiplier[g->n - 1].of < node->depth;
}

/* Nodes in preorder: of a whole tree the last one closes the last branch. */
static bool
tree_is_valid(const clarke_patterns *t)
{
  size_t open = 1, next = 0;

  if (t->cones)
    return t->tree.complete && t->tree.n == 0;
  for (size_t i = 0; i < t->tree.n; i++) {
    const clarke_node *node = &t->tree.node[i];

    if (t->tree.complete && open == 0)
      return false;
    open -= node->kind != CLARKE_BRANCH;
    open += node->kind == CLARKE_BRANCH ? node->n_branches - 1 : 0;
    if ((node->kind == CLARKE_BRANCH && node->n_branches < 2) || (node->kind == CLARKE_DEAD && !refutation_is_valid(node)) ||
        (node->kind == CLARKE_LEAF && node->leaf != next++))
      return false;
  }
  return t->n_cells <= t->n && next == t->n - t->n_cells && (!t->tree.complete || open == 0);
}

static bool
pattern_is_valid(const clarke_pattern *p, const clarke_patterns *t)
{
  bool exact = true;

  for (size_t k = 0; p->gradient != NULL && k < t->dim; k++)
    exact = exact && p->gradient[k].exact;
  for (size_t r = 0; r < p->n_directions; r++)
    for (size_t k = 0; k < t->width; k++)
      if (!clarke_rational_is_canonical(p->direction[r][k]))
        return false;
  return p->gradient != NULL && p->exact == exact && (!p->enclosed || !p->realized) && (p->realized || p->n_directions == 0) &&
         (!p->first_order || (p->realized && p->n_directions <= 1));
}

bool
clarke_patterns_is_valid(const clarke_patterns *t)
{
  bool all = t->tree.complete;

  for (size_t i = 0; i < t->n; i++) {
    if (!pattern_is_valid(&t->pattern[i], t))
      return false;
    all = all && t->pattern[i].realized;
  }
  return tree_is_valid(t) && (!t->all_known || all) && (t->tree.complete || t->tree.n == 0 || t->why[0] != '\0');
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
    if (d->opposite != NULL)
      return d->verdict == CLARKE_IN_CLARKE && d->weight == NULL;
    return (d->verdict == CLARKE_IN_BOULIGAND || d->verdict == CLARKE_IN_CLARKE) && d->ad_exact && d->weight != NULL &&
           hull_is_valid(d);
  case CLARKE_EVIDENCE_UNANIMOUS:
    return d->verdict == CLARKE_IN_BOULIGAND && d->ad_exact && (d->opened || (t->tree.complete && t->n > 0));
  case CLARKE_EVIDENCE_SEPARATOR:
    return d->verdict == CLARKE_NOT_IN_CLARKE && t->tree.complete && t->n > 0 && d->separator != NULL;
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
         (d->verdict == CLARKE_UNDECIDED || defined) && (!d->sets_known || defined) &&
         (d->lipschitz || (d->differentiable != CLARKE_YES && !d->conservative.known)) && derived_evidence_is_valid(d);
}
