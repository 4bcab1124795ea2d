/* Trees around the weights: each sign pattern that is there is a leaf, and every other is dead (separator.h). */
#include "check/kernel/separator.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/base/tree.h"
#include "check/kernel/cell.h"
#include "check/kernel/factor.h"
#include "check/kernel/gradient.h"
#include "check/kernel/names.h"
#include "check/kernel/window.h"

/* The tree, as far as it was read. */
typedef struct {
  claim *q;
  const leaf_rules *rules;
  void *leaves;
  tree_path path;
  size_t *branched; /* the touched kinks above */
} tree;

/* In a line of `dead`: a letter, of another option than the side of window k; of a kink, nothing. */
static size_t
next_option(const point *p, const cell *c, size_t k)
{
  if (!is_window(&p->touched[k]))
    return 0;
  const char *name = next_word(), *word = name;
  int side = side_named(p, k, &word);
  require(*word == '\0' && side != c->side[k], "'%s' is not another option than the one taken", name);
  return (size_t)side - 1;
}

/* `dead N`: a positive combination of N derivatives, of arguments turned to their sides or of a
 * side's option less another, is 0. What is affine follows from the sides given, those of the path or, of bounds, none. */
static void
check_dead(claim *q, const cell *given)
{
  size_t n = next_number(), next = 0;
  RATIONAL(value);
  require(n >= 1, "a combination of no kinks proves nothing");
  if (given == &q->c)
    cell_settle(&q->c, q->p, true);
  rationals_begin(q->sum, q->net->n_wrt);
  for (size_t i = 0; i < q->net->n_wrt; i++)
    mpq_set(&q->sum[i], &zero);
  for (size_t i = 0; i < n; i++) {
    next_line("u");
    size_t k = next_number();
    require(k < q->p->n_touched, "there is no touched kink %zu", k);
    const touch *t = &q->p->touched[k];
    const uint8_t *degree = given->degree[t->from];
    require(q->c.side[k] != 0, "%s has not been branched on", kink(q->p, k).text);
    size_t a = is_window(t) ? (size_t)q->c.side[k] - 1 : 0, b = next_option(q->p, &q->c, k);
    next_rational(&value);
    require(t->slope + b >= next, "touched kinks in increasing order are expected");
    require(mpq_sgn(&value) > 0, "positive values are expected");
    require((degree[t->at[a]] < 2 && degree[t->at[b]] < 2) || affine_but_for_a_factor(q->p, given, t, a, b),
            "%s: its argument is not affine, nor is it but for a factor", kink(q->p, k).text);
    if (q->c.side[k] < 0)
      mpq_neg(&value, &value);
    kink_row(q->p, given->slope, given, k, a, b, true);
    add_last_gradient(q, &value);
    next = t->slope + b + 1;
    require(!zeros(q->net->gradient, q->net->n_wrt), "%s: its argument has derivative zero", kink(q->p, k).text);
  }
  require(zeros(q->sum, q->net->n_wrt), "the combination of the derivatives is not zero");
}

/* `branch K`: a subtree for each side, or each option. */
static size_t
read_branch(tree *t)
{
  const point *p = t->q->p;
  size_t k = next_number(), depth = t->path.depth, above = depth > 0 ? t->branched[depth - 1] : NONE;
  require(k < p->n_touched && t->rules->branches(t->leaves, &t->q->c, k, above),
          "a branch on a touched kink after those above is expected");
  t->branched[depth] = k;
  return is_window(&p->touched[k]) ? p->touched[k].n : 2;
}

static size_t
read_tree(void *of)
{
  tree *t = of;
  if (line_is("branch"))
    return read_branch(t);
  if (line_is("dead")) {
    check_dead(t->q, t->rules->given(t->leaves));
    return TREE_REFUTED;
  }
  next_line("leaf");
  t->rules->leaf(t->leaves, &t->q->c);
  return TREE_LEAF;
}

/* The next side of a branch on touched kink k: the first, ... or none. */
static void
next_side(const point *p, cell *c, size_t k)
{
  int last = (int)p->touched[k].n, *side = &c->side[k];
  require(last <= LETTERS, "%s has more than 26 options", kink(p, k).text);
  if (is_window(&p->touched[k]))
    *side = *side < last ? *side + 1 : 0;
  else
    *side = *side < 0 ? 1 : *side == 0 ? -1 : 0;
}

/* To the next side, or behind the last to none. */
static void
turn(void *of)
{
  tree *t = of;
  next_side(t->q->p, &t->q->c, t->branched[t->path.depth - 1]);
}

/* The lines `v`: the moves along which AD's output is separated. */
static void
read_vector(const claim *q)
{
  size_t next = 0;
  RATIONAL(value);
  rationals_begin(q->net->move, q->net->n_wrt);
  next_line("v");
  do {
    const tensor *t = next_parameter(q->net);
    size_t index = next_number(), at = (size_t)(t->move - q->net->move) + index;
    next_rational(&value);
    require(t->wrt && index < t->count && at >= next && mpq_sgn(&value) != 0,
            "nonzero entries of parameters in wrt, in order, are expected");
    mpq_set(&q->net->move[at], &value);
    next = at + 1;
  } while (line_is("v"));
}

void
check_separated(claim *q, const leaf_rules *rules)
{
  static const tree_rules steps = {read_tree, turn, turn};
  read_vector(q);
  tree t = {.q = q, .rules = rules, .branched = allocate(q->p->n_touched, sizeof *t.branched)};
  t.leaves = rules->begin(q);
  next_line("tree");
  fprintf(account, "%s near the weights: at most %zu\n", rules->are, tree_read(&t.path, &steps, &t));
}

/* ---- Leaves that are cells */

typedef struct {
  claim *q;
  interval output; /* of AD, along the vector */
} cells;

static void *
cells_begin(claim *q)
{
  cells *all = allocate(1, sizeof *all);
  *all = (cells){q, {rational_zero(), rational_zero()}};
  add_loss_tangent(&all->output, q->p, q->ad, &plus_one, NULL);
  return all;
}

static const cell *
cells_given(const void *of)
{
  const cells *all = of;
  return &all->q->c;
}

static bool
cells_branch(const void *of, const cell *c, size_t k, size_t above)
{
  (void)of;
  (void)c;
  return above == NONE || k > above;
}

/* `leaf`: along v AD's output exceeds the gradient under the sides. */
static void
cells_leaf(const void *of, cell *c)
{
  const cells *all = of;
  INTERVAL(margin);
  cell_settle(c, all->q->p, true);
  interval_add(&margin, &all->output, &plus_one);
  add_loss_tangent(&margin, all->q->p, c->slope, &minus_one, c);
  require(interval_sign(&margin, "whether AD's output is separated from this cell") > 0,
          "AD's output is not separated from this cell");
}

void
check_separator(claim *q, bool bouligand)
{
  static const leaf_rules rules = {"Sign patterns", cells_begin, cells_given, cells_branch, cells_leaf};
  (void)bouligand;
  check_separated(q, &rules);
}
