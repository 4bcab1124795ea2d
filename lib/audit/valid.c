/* Are this room's structures as their headers say? */
#include "exact/number.h"
#include "audit/enumerate.h"
#include "audit/parallel.h"
#include "program/patterns.h"
#include "audit/simplex.h"

#include <stdint.h>
#include <stdlib.h>

bool
clarke_row_is_valid(const clarke_row *r)
{
  for (size_t i = 0; i < r->n; i++)
    if ((i > 0 && r->column[i - 1] >= r->column[i]) || mpq_sgn(r->value[i]) == 0 ||
        !clarke_rational_is_canonical(r->value[i]))
      return false;
  return r->n <= r->capacity;
}

bool
clarke_direction_is_valid(const clarke_direction *d, const clarke_graph *g)
{
  for (size_t i = 0; i < d->n; i++) {
    const clarke_move *m = &d->move[i];

    if (m->parameter >= g->n_parameters || !g->parameters[m->parameter].wrt ||
        (m->kind == CLARKE_MOVE_AT && m->entry >= g->parameters[m->parameter].count) ||
        !clarke_rational_is_canonical(m->coef))
      return false;
  }
  return d->n <= d->capacity;
}

static bool
side_is_valid(int8_t side, const clarke_touch *t)
{
  return t->n_options == 0 ? side >= CLARKE_LEFT && side <= CLARKE_RIGHT
                           : side >= 0 && (size_t)side <= t->n_options;
}

bool
clarke_question_is_valid(const clarke_question *q)
{
  for (size_t k = 0; k < q->replay->n_touches; k++)
    if (!side_is_valid(q->ad_side[k], &q->replay->touch[k]) || !clarke_rational_is_canonical(q->lambda[k]))
      return false;
  return q->replay->g == q->g;
}

bool
clarke_cell_is_valid(const clarke_cell *c, const clarke_question *q)
{
  if (c->n_touches != q->replay->n_touches)
    return false;
  for (size_t k = 0; k < c->n_touches; k++)
    if (!side_is_valid(c->side[k], &q->replay->touch[k]))
      return false;
  for (size_t i = 0; i < c->n; i++)
    if (!clarke_direction_is_valid(&c->direction[i], q->g))
      return false;
  return true;
}

/* Nonnegative numbers whose sum is 1. */
bool
clarke_weights_are_valid(mpq_t *weight, size_t n)
{
  bool valid = true;
  mpq_t sum;

  mpq_init(sum);
  for (size_t i = 0; i < n && valid; i++) {
    valid = clarke_rational_is_canonical(weight[i]) && mpq_sgn(weight[i]) >= 0;
    mpq_add(sum, sum, weight[i]);
  }
  valid = valid && mpq_cmp_ui(sum, 1, 1) == 0;
  mpq_clear(sum);
  return valid;
}

bool
clarke_membership_is_valid(const clarke_membership *m, size_t n)
{
  switch (m->place) {
  case CLARKE_INSIDE:
    return m->weight != NULL && clarke_weights_are_valid(m->weight, n);
  case CLARKE_OUTSIDE:
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
parallel_is_valid(const clarke_parallel *p, const clarke_question *q)
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
clarke_parallels_are_valid(const clarke_parallels *c, const clarke_question *q)
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

static bool
dead_is_valid(const place *p, const clarke_node *node)
{
  for (size_t i = 0; i < node->n; i++) {
    const clarke_multiplier *m = &node->multiplier[i], *before = i > 0 ? m - 1 : NULL;

    if (m->touch >= p->t->n_touches || !p->chosen[m->touch] || mpq_sgn(m->u) <= 0 ||
        !clarke_rational_is_canonical(m->u) ||
        m->condition >= clarke_touch_conditions(&p->q->replay->touch[m->touch]))
      return false;
    if (before != NULL && (before->touch > m->touch ||
                           (before->touch == m->touch && before->condition >= m->condition)))
      return false;
  }
  return node->n > 0;
}

static bool
leaf_is_valid(const place *p, const clarke_node *node)
{
  for (size_t k = 0; node->side != NULL && k < p->t->n_touches; k++)
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
    return dead_is_valid(p, node);
  if (valid && node->kind == CLARKE_LEAF)
    return leaf_is_valid(p, node);
  if (!valid || node->touch >= p->t->n_touches || p->chosen[node->touch])
    return false;
  p->chosen[node->touch] = true;
  for (size_t o = 0; o < clarke_touch_sides(&p->q->replay->touch[node->touch]) && valid; o++)
    valid = subtree_is_valid(at, p);
  p->chosen[node->touch] = false;
  return valid;
}

bool
clarke_tree_is_valid(const clarke_tree *t, const clarke_question *q)
{
  place p = {t, q, calloc(t->n_touches + 1, sizeof *p.chosen)};
  size_t at = 0;
  bool valid = t->n_touches == q->replay->n_touches && t->n <= t->capacity;

  if (valid && t->complete && p.chosen != NULL)
    valid = subtree_is_valid(&at, &p) && at == t->n;
  for (size_t k = 0; valid && t->parallel != NULL && k < t->n_touches; k++)
    valid = t->parallel[k] == CLARKE_NONE || t->parallel[k] <= k;
  free(p.chosen);
  return valid;
}

/* --- patterns of programs --- */

static bool
refutation_is_valid(const clarke_fork *f)
{
  for (size_t k = 0; k < f->n_u; k++)
    if (f->decision[k] >= f->depth || (k > 0 && f->decision[k - 1] >= f->decision[k]) ||
        !clarke_rational_is_canonical(f->u[k]) || mpq_sgn(f->u[k]) <= 0)
      return false;
  return f->n_u > 0;
}

/* Forks in preorder: of a whole tree the last one closes the last branch. */
static bool
forks_are_valid(const clarke_patterns *t)
{
  size_t open = 1, next = 0;

  for (size_t i = 0; i < t->n_forks; i++) {
    const clarke_fork *f = &t->fork[i];

    if (t->complete && open == 0)
      return false;
    open -= f->kind != CLARKE_PARTING;
    open += f->kind == CLARKE_PARTING ? f->n_choices - 1 : 0;
    if ((f->kind == CLARKE_PARTING && f->n_choices < 2) || (f->kind == CLARKE_REFUTED && !refutation_is_valid(f)) ||
        (f->kind == CLARKE_PATTERN && f->pattern != next++))
      return false;
  }
  return next == t->n && (!t->complete || open == 0);
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
  return p->gradient != NULL && p->exact == exact && (p->realized || p->n_directions == 0) &&
         (!p->first_order || (p->realized && p->n_directions <= 1));
}

bool
clarke_patterns_is_valid(const clarke_patterns *t)
{
  bool all = t->complete;

  for (size_t i = 0; i < t->n; i++) {
    if (!pattern_is_valid(&t->pattern[i], t))
      return false;
    all = all && t->pattern[i].realized;
  }
  return forks_are_valid(t) && (!t->all_known || all) && (t->complete || t->n_forks == 0 || t->why[0] != '\0');
}
