/* The tree of patterns: depth first, a path followed on until its end, others taken up again from
 * the beginning under their choices. */
#include "program/patterns_inside.h"
#include "base/room.h"
#include "base/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Gradients held at once: instructions times wrt_count. */
#define PATTERNS_ENTRIES ((size_t)1 << 21)

void
clarke_patterns_init(clarke_patterns *t)
{
  memset(t, 0, sizeof *t);
}

void
clarke_pattern_clear(clarke_pattern *p, const clarke_patterns *t)
{
  clarke_numbers_free(p->gradient, t->dim);
  for (size_t k = 0; k < p->n_directions; k++)
    clarke_rationals_free(p->direction[k], t->width);
  free(p->direction);
  free(p->choice);
}

void
clarke_patterns_clear(clarke_patterns *t)
{
  for (size_t i = 0; i < t->n; i++)
    clarke_pattern_clear(&t->pattern[i], t);
  clarke_tree_clear(&t->tree);
  free(t->pattern);
  clarke_patterns_init(t);
}

static void
branch_clear(clarke_search_branch *b, size_t width)
{
  free(b->choice);
  clarke_gordan_clear(&b->gordan);
  clarke_rationals_free(b->witness, width);
}

static clarke_status
search_init(clarke_pattern_search *s, clarke_patterns *t, const clarke_execution *e, clarke_error *err)
{
  *s = (clarke_pattern_search){.t = t, .e = e, .width = clarke_code_wrt_count(e->p)};
  t->width = s->width;
  t->dim = e->p->n_outputs * s->width;
  return clarke_walk_init(&s->walk, e, NULL, 0, err);
}

static void
search_clear(clarke_pattern_search *s)
{
  clarke_search_drop(s, 0);
  for (size_t i = 0; i < s->n_waiting; i++)
    branch_clear(&s->waiting[i], s->width);
  free(s->waiting);
  free(s->row);
  free(s->path);
  clarke_rationals_free(s->witness, s->width);
  clarke_walk_clear(&s->walk);
}

/* --- the tree ---------------------------------------------------------------------------------- */

static clarke_node *
add_node(clarke_pattern_search *s, clarke_node_kind kind, size_t depth)
{
  clarke_node *node = clarke_tree_add(&s->t->tree, kind);

  if (node != NULL)
    node->depth = depth;
  return node;
}

static clarke_status
add_refuted(clarke_pattern_search *s, clarke_search_branch *b, clarke_error *err)
{
  clarke_node *node = add_node(s, CLARKE_DEAD, b->depth);

  if (node == NULL)
    return clarke_no_memory(err);
  node->gordan = b->gordan;
  b->gordan = (clarke_gordan){0};
  return CLARKE_OK;
}

clarke_status
clarke_search_path_append(clarke_pattern_search *s, size_t choice, clarke_error *err)
{
  clarke_status status = clarke_make_room(&s->path, &s->capacity_path, s->n_path + 1, sizeof *s->path, err);

  if (status == CLARKE_OK)
    s->path[s->n_path++] = choice;
  return status;
}

/* The path goes on by b, whose choice is the last of b->choice. */
static clarke_status
follow(clarke_pattern_search *s, clarke_search_branch *b, clarke_error *err)
{
  size_t choice = b->choice[b->n_choices - 1];
  clarke_status status = clarke_search_decide(s, choice, err);

  clarke_rationals_free(s->witness, s->width);
  s->witness = b->witness;
  b->witness = NULL;
  clarke_walk_choose(&s->walk, choice);
  return status == CLARKE_OK ? clarke_search_path_append(s, choice, err) : status;
}

/* Is the search too large? Then the tree is not complete. */
static bool
is_used_up(clarke_pattern_search *s)
{
  if (s->t->tree.n <= CLARKE_PATTERNS_LIMIT && s->work <= CLARKE_PATTERNS_WORK)
    return false;
  snprintf(s->t->why, sizeof s->t->why, "they are too many; after %zu patterns the search was left", s->t->n);
  return true;
}

/* At a fork: its branches judged; the first that is not refuted is followed, *on; those after it
 * wait. None is when the search is used up. */
static clarke_status
part(clarke_pattern_search *s, bool *on, clarke_error *err)
{
  size_t n = s->walk.fork.n_choices;
  clarke_node *f = add_node(s, CLARKE_BRANCH, s->n_rows);
  clarke_search_branch *b = calloc(n, sizeof *b);
  size_t first = n;
  clarke_status status = f != NULL && b != NULL ? CLARKE_OK : clarke_no_memory(err);

  if (status == CLARKE_OK) {
    f->at = s->walk.fork.instruction;
    f->n_branches = n;
  }
  for (size_t c = 0; c < n && status == CLARKE_OK && !is_used_up(s); c++) {
    b[c].choice = malloc((s->n_path + 1) * sizeof *b[c].choice);
    if (b[c].choice == NULL)
      status = clarke_no_memory(err);
    else {
      if (s->n_path > 0)
        memcpy(b[c].choice, s->path, s->n_path * sizeof *s->path);
      b[c].choice[s->n_path] = c;
      b[c].n_choices = s->n_path + 1;
      s->work += s->n_path;
      status = clarke_search_judge(&b[c], s, c, err);
    }
    if (b[c].refuted) { /* it is told of, and not taken up */
      free(b[c].choice);
      b[c].choice = NULL;
    }
    if (status == CLARKE_OK && first == n) {
      if (b[c].refuted)
        status = add_refuted(s, &b[c], err);
      else
        first = c;
    }
  }
  if (is_used_up(s))
    first = n;
  for (size_t c = n; c-- > first + 1 && status == CLARKE_OK;) {
    status = clarke_make_room(&s->waiting, &s->capacity_waiting, s->n_waiting + 1, sizeof *s->waiting, err);
    if (status == CLARKE_OK) {
      s->waiting[s->n_waiting++] = b[c];
      memset(&b[c], 0, sizeof b[c]);
    }
  }
  *on = first < n;
  if (status == CLARKE_OK && *on)
    status = follow(s, &b[first], err);
  for (size_t c = 0; b != NULL && c < n; c++)
    branch_clear(&b[c], s->width);
  free(b);
  return status;
}

/* Walks from the beginning along b's choices, up to and with its last. */
static clarke_status
take_up(clarke_pattern_search *s, clarke_search_branch *b, clarke_error *err)
{
  clarke_walk_state state = CLARKE_WALK_FORK;
  clarke_status status = CLARKE_OK;

  clarke_search_drop(s, 0);
  s->n_path = 0;
  clarke_walk_restart(&s->walk, NULL);
  for (size_t k = 0; k < b->n_choices && status == CLARKE_OK; k++) {
    status = clarke_walk_on(&s->walk, &state, err);
    if (status == CLARKE_OK && state != CLARKE_WALK_FORK)
      return clarke_fail(err, CLARKE_EINTERNAL, "a walk did not come to its fork again");
    if (status == CLARKE_OK && k + 1 < b->n_choices) {
      status = clarke_search_decide(s, b->choice[k], err);
      clarke_walk_choose(&s->walk, b->choice[k]);
      if (status == CLARKE_OK)
        status = clarke_search_path_append(s, b->choice[k], err);
    }
  }
  return status == CLARKE_OK ? follow(s, b, err) : status;
}

/* --- patterns ---------------------------------------------------------------------------------- */

clarke_status
clarke_search_outputs(clarke_pattern *p, const clarke_walk *w, clarke_patterns *t, clarke_error *err)
{
  const clarke_execution *e = w->e;

  p->gradient = clarke_numbers(t->dim);
  if (p->gradient == NULL)
    return clarke_no_memory(err);
  p->exact = true;
  for (size_t o = 0; o < e->p->n_outputs; o++) {
    size_t at = e->p->output[o];
    int sign = clarke_number_compare(&w->value[at], &e->value[at], e->precision);

    t->jumps |= sign == 1 || sign == -1;
    for (size_t k = 0; k < w->width; k++) {
      if (w->gradient[at] != NULL)
        clarke_number_set(&p->gradient[o * w->width + k], &w->gradient[at][k]);
      p->exact &= p->gradient[o * w->width + k].exact;
    }
  }
  return CLARKE_OK;
}

static clarke_status
add_pattern(clarke_pattern_search *s, clarke_error *err)
{
  clarke_patterns *t = s->t;
  clarke_node *leaf = add_node(s, CLARKE_LEAF, s->n_rows);
  clarke_pattern *p;
  clarke_status status = leaf != NULL ? CLARKE_OK : clarke_no_memory(err);

  if (status == CLARKE_OK)
    status = clarke_make_room(&t->pattern, &t->capacity, t->n + 1, sizeof *t->pattern, err);
  if (status != CLARKE_OK)
    return status;
  leaf->leaf = t->n;
  p = &t->pattern[t->n++];
  memset(p, 0, sizeof *p);
  p->n_choices = s->n_path;
  p->choice = malloc((s->n_path + 1) * sizeof *p->choice);
  if (p->choice == NULL)
    return clarke_no_memory(err);
  if (s->n_path > 0)
    memcpy(p->choice, s->path, s->n_path * sizeof *s->path);
  p->enclosed = s->walk.n_enclosed > 0;
  status = clarke_search_outputs(p, &s->walk, s->t, err);
  return status == CLARKE_OK && !p->enclosed ? clarke_search_realize(p, s, err) : status;
}

/* Follows the path at hand to its end; false in *whole when the tree cannot be completed. */
static clarke_status
follow_on(clarke_pattern_search *s, bool *whole, clarke_error *err)
{
  bool on = true;
  clarke_status status = CLARKE_OK;

  while (status == CLARKE_OK && on) {
    clarke_walk_state state;

    status = clarke_walk_on(&s->walk, &state, err);
    if (status != CLARKE_OK)
      break;
    if (state == CLARKE_WALK_STUCK) {
      *whole = false;
      snprintf(s->t->why, sizeof s->t->why, "%s", s->walk.why);
      return CLARKE_OK;
    }
    if (state == CLARKE_WALK_END)
      return add_pattern(s, err);
    status = part(s, &on, err);
  }
  *whole = *whole && !is_used_up(s);
  return status;
}

static clarke_status
grow_tree(clarke_pattern_search *s, clarke_error *err)
{
  bool whole = true;
  clarke_status status = follow_on(s, &whole, err);

  while (status == CLARKE_OK && s->n_waiting > 0) {
    clarke_search_branch b = s->waiting[--s->n_waiting];

    if (is_used_up(s)) {
      whole = false;
      branch_clear(&b, s->width);
      break;
    }
    if (b.refuted)
      status = add_refuted(s, &b, err);
    else {
      status = take_up(s, &b, err);
      if (status == CLARKE_OK)
        status = follow_on(s, &whole, err);
    }
    branch_clear(&b, s->width);
  }
  s->t->tree.complete = whole;
  return status;
}

bool
clarke_patterns_too_large(const clarke_execution *e)
{
  return e->n_order * (clarke_code_wrt_count(e->p) + 1) > PATTERNS_ENTRIES;
}

clarke_status
clarke_patterns_along(clarke_patterns *t, size_t *found, const clarke_execution *e,
                      clarke_chooser choose, void *context, clarke_error *err)
{
  clarke_walk_state state = CLARKE_WALK_FORK;
  clarke_pattern_search s;
  clarke_status status;

  *found = CLARKE_NONE;
  if (clarke_patterns_too_large(e))
    return CLARKE_OK;
  status = search_init(&s, t, e, err);
  while (status == CLARKE_OK && state == CLARKE_WALK_FORK) {
    size_t choice;

    status = clarke_walk_on(&s.walk, &state, err);
    if (status != CLARKE_OK || state != CLARKE_WALK_FORK)
      break;
    status = choose(&choice, context, &s.walk, err);
    if (status == CLARKE_OK && choice == CLARKE_NONE)
      break;
    if (status == CLARKE_OK)
      status = clarke_search_decide(&s, choice, err);
    clarke_walk_choose(&s.walk, choice);
    if (status == CLARKE_OK)
      status = clarke_search_path_append(&s, choice, err);
  }
  if (status == CLARKE_OK && state == CLARKE_WALK_END) {
    *found = t->n;
    status = add_pattern(&s, err);
  }
  search_clear(&s);
  return status;
}

clarke_status
clarke_patterns_find(clarke_patterns *t, const clarke_execution *e, clarke_error *err)
{
  clarke_pattern_search s;
  size_t width = clarke_code_wrt_count(e->p);
  clarke_status status;

  CLARKE_VERIFY_CHECK(!e->open && clarke_execution_is_valid(e));
  if (clarke_patterns_too_large(e)) {
    t->width = width;
    t->dim = e->p->n_outputs * width;
    snprintf(t->why, sizeof t->why, "%zu instructions and %zu variables are too many",
             e->n_order, width);
    return CLARKE_OK;
  }
  status = search_init(&s, t, e, err);
  if (status == CLARKE_OK)
    status = grow_tree(&s, err);
  if (status == CLARKE_OK && clarke_patterns_enclose(t))
    status = clarke_search_cells(&s, err);
  else if (status == CLARKE_OK && !clarke_patterns_all_realized(t))
    status = clarke_search_arcs(&s, err);
  t->all_known = t->tree.complete && clarke_patterns_all_realized(t);
  search_clear(&s);
  CLARKE_VERIFY_CHECK(status != CLARKE_OK || clarke_patterns_is_valid(t));
  return status;
}
