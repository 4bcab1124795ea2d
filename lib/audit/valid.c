/* Are this room's structures as their headers say? */
#include "exact/number.h"
#include "audit/audit.h"
#include "audit/classes.h"

#include <stdint.h>
#include <stdlib.h>

bool
clarke_row_is_valid(const clarke_row *r)
{
  if (r->n > r->capacity)
    return false;
  for (size_t i = 0; i < r->n; i++)
    if ((i > 0 && r->column[i - 1] >= r->column[i]) || mpq_sgn(r->value[i]) == 0 ||
        !clarke_rational_is_canonical(r->value[i]))
      return false;
  return true;
}

bool
clarke_direction_is_valid(const clarke_direction *d, const clarke_graph *g)
{
  if (d->n > d->capacity)
    return false;
  for (size_t i = 0; i < d->n; i++) {
    const clarke_move *m = &d->move[i];

    if (m->parameter >= g->n_parameters || !g->parameters[m->parameter].wrt ||
        (m->kind == CLARKE_MOVE_AT && m->entry >= g->parameters[m->parameter].count) ||
        !clarke_rational_is_canonical(m->coef))
      return false;
  }
  return true;
}

static bool
side_is_valid(clarke_branch side, const clarke_touch *t)
{
  return t->n_options == 0 ? side >= CLARKE_LEFT && side <= CLARKE_RIGHT
                           : side >= 0 && (size_t)side <= t->n_options;
}

bool
clarke_question_is_valid(const clarke_question *q)
{
  size_t gains = 0;

  for (size_t k = 0; k < q->replay->n_touches; k++) {
    const clarke_asked *a = &q->touch[k];

    if (!side_is_valid(a->ad_side, &q->replay->touch[k]) || !clarke_rational_is_canonical(a->lambda) ||
        a->first_gain != gains)
      return false;
    gains += clarke_touch_sides(&q->replay->touch[k]);
  }
  return q->replay->g == q->g && q->n_gains == gains;
}

bool
clarke_cell_is_valid(const clarke_cell *c, const clarke_question *q)
{
  for (size_t k = 0; k < q->replay->n_touches; k++)
    if (!side_is_valid(c->side[k], &q->replay->touch[k]))
      return false;
  for (size_t i = 0; i < c->n; i++)
    if (!clarke_direction_is_valid(&c->direction[i], q->g))
      return false;
  return true;
}

bool
clarke_membership_is_valid(const clarke_membership *m, size_t n)
{
  switch (m->place) {
  case CLARKE_HULL_INSIDE:
    return m->weight != NULL && clarke_weights_are_valid(m->weight, n);
  case CLARKE_HULL_OUTSIDE:
    return m->v.n > 0 && clarke_row_is_valid(&m->v);
  default:
    return true;
  }
}

static bool
increasing(const size_t *list, size_t n, size_t end)
{
  for (size_t i = 0; i < n; i++)
    if (list[i] >= end || (i > 0 && list[i - 1] >= list[i]))
      return false;
  return true;
}

bool
clarke_simplex_is_valid(const clarke_simplex *x, const clarke_question *q)
{
  for (size_t i = 0; i < x->n; i++)
    if (!clarke_direction_is_valid(&x->direction[i], q->g))
      return false;
  return x->n >= 1 && x->n_touches >= 1 && increasing(x->touch, x->n_touches, q->replay->n_touches);
}

static bool
parallel_is_valid(const clarke_class *p, const clarke_question *q)
{
  if (p->n == 0 || p->options < 2 || !increasing(p->touch, p->n, q->replay->n_touches) || p->base[0].n > 0)
    return false;
  for (size_t i = 0; i < p->n; i++)
    if (clarke_touch_sides(&q->replay->touch[p->touch[i]]) != p->options)
      return false;
  for (size_t o = 1; o < p->options; o++)
    if (!clarke_row_is_valid(&p->base[o]))
      return false;
  return true;
}

bool
clarke_classes_are_valid(const clarke_classes *c, const clarke_question *q)
{
  bool *seen = calloc(q->replay->n_touches + 1, sizeof *seen), valid = true;

  for (size_t i = 0; seen != NULL && i < c->n && valid; i++) {
    valid = parallel_is_valid(&c->class[i], q);
    for (size_t k = 0; k < c->class[i].n && valid; k++) {
      valid = !seen[c->class[i].touch[k]];
      seen[c->class[i].touch[k]] = true;
    }
  }
  free(seen);
  return valid && increasing(c->column, c->n_columns, SIZE_MAX);
}

/* --- trees ---------------------------------------------------------------------------------------- */

typedef struct {
  const clarke_tree *t;
  const clarke_question *q;
  bool *chosen; /* touches branched on, from the root to here */
} place;

/* By touches chosen. */
static bool
dead_is_valid(const place *p, const clarke_gordan *g)
{
  for (size_t i = 0; i < g->n; i++) {
    const clarke_multiplier *m = &g->multiplier[i];

    if (m->of >= p->q->replay->n_touches || !p->chosen[m->of] || m->condition >= clarke_touch_conditions(&p->q->replay->touch[m->of]))
      return false;
  }
  return clarke_gordan_is_valid(g);
}

static bool
leaf_is_valid(const place *p, const clarke_node *node)
{
  for (size_t k = 0; node->side != NULL && k < p->q->replay->n_touches; k++)
    if (!side_is_valid(node->side[k], &p->q->replay->touch[k]))
      return false;
  return node->side != NULL;
}

/* The subtree at *at, which moves on behind it. */
static bool
subtree_is_valid(size_t *at, const place *p)
{
  const clarke_node *node = &p->t->node[*at];
  bool valid = *at < p->t->n;

  (*at)++;
  if (valid && node->kind == CLARKE_DEAD)
    return dead_is_valid(p, &node->gordan);
  if (valid && node->kind == CLARKE_LEAF)
    return leaf_is_valid(p, node);
  if (!valid || node->at >= p->q->replay->n_touches || p->chosen[node->at] ||
      node->n_branches != clarke_touch_sides(&p->q->replay->touch[node->at]))
    return false;
  p->chosen[node->at] = true;
  for (size_t o = 0; o < node->n_branches && valid; o++)
    valid = subtree_is_valid(at, p);
  p->chosen[node->at] = false;
  return valid;
}

bool
clarke_tree_is_valid(const clarke_tree *t, const clarke_question *q)
{
  place p = {t, q, calloc(q->replay->n_touches + 1, sizeof *p.chosen)};
  size_t at = 0;
  bool valid = t->n <= t->capacity;

  if (valid && t->complete && p.chosen != NULL)
    valid = subtree_is_valid(&at, &p) && at == t->n;
  for (size_t k = 0; valid && t->parallel != NULL && k < q->replay->n_touches; k++)
    valid = t->parallel[k] == CLARKE_NONE || t->parallel[k] <= k;
  free(p.chosen);
  return valid;
}

/* --- evidence --- */

static bool
mix_is_valid(const clarke_audit *a)
{
  for (size_t i = 0; i < a->n_mixed; i++)
    if (a->mixed[i] >= a->n_layers || (i > 0 && a->mixed[i - 1] >= a->mixed[i]) || mpq_sgn(a->lambda[i]) <= 0 ||
        mpq_cmp_ui(a->lambda[i], 1, 1) >= 0)
      return false;
  return a->n_mixed > 0 && a->n_cells == (size_t)1 << a->n_mixed;
}

/* Simplices of one cell a block prove in-bouligand, others in-clarke. */
static bool
simplices_are_valid(const clarke_audit *a, const clarke_question *q)
{
  for (size_t i = 0; i < a->n_simplices; i++)
    if (!clarke_simplex_is_valid(&a->simplex[i], q) ||
        (a->verdict == CLARKE_IN_BOULIGAND && a->simplex[i].n != 1))
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
  case CLARKE_EVIDENCE_BALANCE:
    return (a->verdict == CLARKE_IN_CLARKE && a->n_cells > 0) || (a->verdict == CLARKE_IN_BOULIGAND && a->n_cells == 1);
  case CLARKE_EVIDENCE_SEPARATOR:
  case CLARKE_EVIDENCE_BOUND:
    return a->verdict == CLARKE_NOT_IN_CLARKE && a->tree.complete && clarke_tree_is_valid(&a->tree, q) &&
           clarke_membership_is_valid(&a->membership, 0);
  case CLARKE_EVIDENCE_SIMPLICES:
    return (a->verdict == CLARKE_IN_CLARKE || a->verdict == CLARKE_IN_BOULIGAND) && simplices_are_valid(a, q);
  case CLARKE_EVIDENCE_COMPENSATION:
    return a->verdict == CLARKE_IN_BOULIGAND && a->zone.zone == CLARKE_ZONE_COMPENSATION;
  case CLARKE_EVIDENCE_NONE:
    return a->verdict == CLARKE_UNDECIDED;
  default:
    return false;
  }
}

/* Do the cells prove anything? Beside other evidence they are what a try left behind. */
static bool
has_cells(const clarke_audit *a)
{
  return a->evidence == CLARKE_EVIDENCE_AD || a->evidence == CLARKE_EVIDENCE_MIX ||
         a->evidence == CLARKE_EVIDENCE_HULL || a->evidence == CLARKE_EVIDENCE_BALANCE;
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
  return a->flat <= q->replay->n_touches && clarke_zone_is_valid(&a->zone, q) && evidence_is_valid(a, q);
}
