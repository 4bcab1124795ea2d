/* What proves where AD's output of a network is: cells and their weights, trees and their leaves (docs/proof-format.md). */
#include "check/kernel/evidence.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/base/tree.h"
#include "check/kernel/behind.h"
#include "check/kernel/cell.h"
#include "check/kernel/factor.h"
#include "check/kernel/gradient.h"
#include "check/kernel/names.h"
#include "check/kernel/near.h"
#include "check/kernel/question.h"
#include "check/kernel/statement.h"
#include "check/kernel/window.h"

#include <stdlib.h>
#include <string.h>

/* What is claimed of AD's output at a point, as far as it was read. */
typedef struct {
  point *p;
  network *net; /* the point's */
  cell c;
  rational *ad;  /* the proxies, as slopes; of windows, what the tie rule gives */
  rational *sum; /* a combination of gradients; wrt's entries end to end */
  tree_path path;
  size_t *branched;       /* in a tree: the touched kinks above */
  const interval *output; /* of AD, along the vector that separates it */
  const output_rules *rules;
  bounds *open; /* NULL: the leaves are cells */
} claim;

/* The cell with the sides in c is realized, by the directions that follow. */
static void
check_cell(claim *q)
{
  bool *found = allocate(q->p->n_slopes, sizeof *found);
  cell_settle(&q->c, q->p, false);
  next_line("directions");
  size_t n = next_number();
  for (size_t i = 0; i < n; i++) {
    read_direction(q->net);
    motion d = tangents(q->p, q->c.slope);
    note_moves(q->p, &q->c, &d, found);
    tangents_free(&d);
  }
  must_move(q->p, &q->c, found, true);
  free(found);
}

/* The step of the next node of that name after step `from`; NONE when there is none. */
static size_t
find_node(const claim *q, size_t from, const char *name)
{
  char unnamed[64], turn[32];
  for (size_t s = from; s < q->net->n_steps; s++) {
    const step *st = &q->net->steps[s];
    if (st->kind != PIECEWISE)
      continue;
    snprintf(unnamed, sizeof unnamed, "%s_%zu", st->outer, st->place);
    turn[0] = '\0';
    if (st->turn > 0)
      snprintf(turn, sizeof turn, "@%zu", st->turn);
    const char *own = *st->name != '\0' ? st->name : unnamed;
    if (strncmp(name, own, strlen(own)) == 0 && strcmp(name + strlen(own), turn) == 0)
      return s;
  }
  return NONE;
}

/* The cells of `mix`, or with no mixed nodes the one of `ad`. */
static void
check_mix(claim *q, const char *word, size_t n)
{
  size_t *mixed = allocate(q->net->n_steps, sizeof *mixed); /* i + 1, or 0 */
  rational *lambda = rationals(n);
  RATIONAL(t);
  for (size_t i = 0, s = 0; i < n; i++) {
    next_line("mix");
    s = find_node(q, s + 1, next_name());
    next_rational(&lambda[i]);
    require(s != NONE, "there is no such node with kinks after the one before");
    require(mpq_sgn(&lambda[i]) > 0 && mpq_cmp(&lambda[i], &plus_one) < 0, "not between 0 and 1");
    mixed[s] = i + 1;
  }
  for (size_t mask = 0; mask < (size_t)1 << n; mask++) {
    known_line("cell", word);
    const char *signs = n > 0 ? next_word() : "";
    require(strlen(signs) == n, "one sign for each mixed node is expected");
    for (size_t i = 0; i < n; i++)
      require(signs[i] == "-+"[mask >> (n - 1 - i) & 1], "the cells' signs must be in order");
    for (size_t k = 0; k < q->p->n_touched; k++) {
      const touch *to = &q->p->touched[k];
      size_t i = mixed[to->step];
      q->c.side[k] = own_side(q->p, q->ad, k);
      if (i == 0)
        continue;
      mpq_sub(&t, &to->left, &to->right);
      mpq_mul(&t, &t, &lambda[i - 1]);
      mpq_add(&t, &t, &to->right);
      q->c.side[k] = !mpq_equal(&t, &q->ad[to->slope]) ? 0 : signs[i - 1] == '+' ? 1 : -1;
    }
    check_cell(q);
  }
}

/* sum += by * the gradient that was made last. */
static void
add_gradient(claim *q, const rational *by)
{
  for (size_t i = 0; i < q->net->n_wrt; i++)
    add_multiple(&q->sum[i], &q->net->gradient[i], by);
}

/* The cells of a hull, as they are read. */
typedef struct {
  rational weight;
  int *side;
} weighed;

static void
read_sides(claim *q)
{
  static const char each[] = "one side for each touched kink is expected";
  const char *sides = next_word();
  require(q->p->n_touched > 0 || strcmp(sides, ".") == 0, each);
  for (size_t k = 0; k < q->p->n_touched; k++) {
    require(*sides != '\0', each);
    q->c.side[k] = side_named(q->p, k, &sides);
  }
  require(q->p->n_touched == 0 || *sides == '\0', each);
}

/* mean += weight * the cell's slopes less AD's. A flat kink's slope does not matter: AD's will do. split: the slope is not AD's. */
static void
add_slopes(const claim *q, rational *mean, bool *split, const rational *weight)
{
  RATIONAL(less);
  for (size_t k = 0; k < q->p->n_touched; k++)
    for (size_t o = 0; o < q->p->touched[k].n && !q->c.flat[k]; o++) {
      size_t at = q->p->touched[k].slope + o;
      mpq_sub(&less, &q->c.slope[at], &q->ad[at]);
      split[k] = split[k] || mpq_sgn(&less) != 0;
      add_multiple(&mean[at], weight, &less);
    }
}

/* Have the cells' gradients the mean that AD gives? Samples in which nothing is touched have one gradient under all sides, which the
 * sum leaves out. */
static void
check_gradients(claim *q, const weighed *of, size_t n)
{
  rationals_begin(q->sum, q->net->n_wrt);
  for (size_t i = 0; i < n; i++) {
    memcpy(q->c.side, of[i].side, q->p->n_touched * sizeof *q->c.side);
    cell_settle(&q->c, q->p, false);
    loss_gradient(q->p, q->c.slope, &q->c, true);
    add_gradient(q, &of[i].weight);
  }
  loss_gradient(q->p, q->ad, NULL, true);
  add_gradient(q, &minus_one);
  require(zeros(q->sum, q->net->n_wrt), "the combination of the cells' gradients is not AD's output");
}

/* The gradient is affine in slopes of touched kinks of which none is behind another: then their mean is enough. Those that it does
 * not depend on may have any. */
static bool
slopes_suffice(const claim *q, rational *mean, bool *split)
{
  if (zeros(mean, q->p->n_slopes) && !one_behind_another(q->p, split))
    return true;
  bool *effect = touched_with_effect(q->p);
  for (size_t k = 0; k < q->p->n_touched; k++)
    for (size_t o = 0; o < q->p->touched[k].n && !effect[k]; o++) {
      mpq_set(&mean[q->p->touched[k].slope + o], &zero);
      split[k] = false;
    }
  free(effect);
  return zeros(mean, q->p->n_slopes) && !one_behind_another(q->p, split);
}

static void
check_hull(claim *q, bool bouligand)
{
  size_t n = next_number();
  weighed *of = NULL;
  rational *mean = rationals(q->p->n_slopes);
  bool *split = allocate(q->p->n_touched, sizeof *split);
  RATIONAL(total);
  require(n >= 1 && (n == 1 || !bouligand), "a hull has one cell or more; one for this verdict");
  for (size_t i = 0; i < n; i++) {
    of = grow(of, i, sizeof *of);
    of[i] = (weighed){rational_zero(), allocate(q->p->n_touched, sizeof(int))};
    next_line("cell");
    next_rational(&of[i].weight);
    require(mpq_sgn(&of[i].weight) >= 0, "a weight is negative");
    read_sides(q);
    memcpy(of[i].side, q->c.side, q->p->n_touched * sizeof *q->c.side);
    check_cell(q);
    add_slopes(q, mean, split, &of[i].weight);
    mpq_add(&total, &total, &of[i].weight);
  }
  require(mpq_equal(&total, &plus_one), "the weights do not sum to 1");
  if (!slopes_suffice(q, mean, split))
    check_gradients(q, of, n);
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
    add_gradient(q, &value);
    next = t->slope + b + 1;
    require(!zeros(q->net->gradient, q->net->n_wrt), "%s: its argument has derivative zero", kink(q->p, k).text);
  }
  require(zeros(q->sum, q->net->n_wrt), "the combination of the derivatives is not zero");
}

/* `leaf`: along v AD's output exceeds the gradient under the sides. */
static void
check_leaf(claim *q)
{
  INTERVAL(margin);
  cell_settle(&q->c, q->p, true);
  interval_add(&margin, q->output, &plus_one);
  add_loss_tangent(&margin, q->p, q->c.slope, &minus_one, &q->c);
  require(interval_sign(&margin, "whether AD's output is separated from this cell") > 0,
          "AD's output is not separated from this cell");
}

/* `branch K`: a subtree for each side, or each option. */
static size_t
read_branch(claim *q)
{
  size_t k = next_number(), depth = q->path.depth;
  bool after = depth == 0 || k > q->branched[depth - 1];
  require(k < q->p->n_touched && (q->open != NULL ? q->rules->bounds->branches(q->open, &q->c, k) : after),
          "a branch on a touched kink after those above is expected");
  q->branched[depth] = k;
  return is_window(&q->p->touched[k]) ? q->p->touched[k].n : 2;
}

static size_t
read_tree(void *of)
{
  claim *q = of;
  if (line_is("branch"))
    return read_branch(q);
  bool dead = line_is("dead");
  if (!dead)
    next_line("leaf");
  if (dead)
    check_dead(q, q->open != NULL ? q->rules->bounds->open(q->open) : &q->c);
  else if (q->open != NULL)
    q->rules->bounds->leaf(q->open, &q->c);
  else
    check_leaf(q);
  return dead ? TREE_REFUTED : TREE_LEAF;
}

/* To the next side, or behind the last to none. */
static void
turn(void *of)
{
  claim *q = of;
  next_side(q->p, &q->c, q->branched[q->path.depth - 1]);
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

static void
check_separator(claim *q, bool bound)
{
  static const tree_rules rules = {read_tree, turn, turn};
  INTERVAL(output);
  read_vector(q);
  q->branched = allocate(q->p->n_touched, sizeof *q->branched);
  q->output = &output;
  if (bound)
    q->open = q->rules->bounds->begin(q->p, &q->c, q->ad);
  else
    add_loss_tangent(&output, q->p, q->ad, &plus_one, NULL);
  next_line("tree");
  fprintf(account, "%s near the weights: at most %zu\n", bound ? "Families of sign patterns" : "Sign patterns",
          tree_read(&q->path, &rules, q));
}

static void
check_evidence(claim *q, const char *verdict)
{
  bool bouligand = strcmp(verdict, "in-bouligand") == 0, outside = *verdict == 'n';
  next_line("evidence");
  const char *word = next_word();
  fprintf(account, "Evidence: %s\n", word);
  if (strcmp(word, "ad") == 0 && bouligand) {
    check_mix(q, word, 0);
  } else if (strcmp(word, "mix") == 0 && !bouligand && !outside) {
    size_t n = next_number();
    require(n >= 1 && n <= 30, "a mix is of 1 to 30 nodes");
    check_mix(q, word, n);
  } else if (strcmp(word, "hull") == 0 && !outside) {
    check_hull(q, bouligand);
  } else if (strcmp(word, "compensation") == 0 && bouligand) {
    q->rules->compensation(q->p);
  } else if (strcmp(word, "simplices") == 0 && !outside) {
    q->rules->simplices(q->p, &q->c, q->ad, bouligand);
  } else {
    bool bound = strcmp(word, "bound") == 0;
    require((bound || strcmp(word, "separator") == 0) && outside, "'%s' does not prove %s", word, verdict);
    check_separator(q, bound);
  }
  last_line();
}

/* ---- Statement */

/* The proxy of every kink of every operator in the model. */
static void
read_proxies(claim *q)
{
  for (size_t i = 0; i < q->net->n_operators; i++) {
    const char *op = q->net->operators[i].name;
    bool used = network_has(q->net, op);
    for (size_t j = 0; used && j < q->net->operators[i].kinks; j++) {
      RATIONAL(value);
      proxy_side side = read_proxy(op, j, &value);
      for (size_t k = 0; k < q->p->n_touched; k++) {
        const touch *t = &q->p->touched[k];
        const step *st = &q->net->steps[t->step];
        if (strcmp(step_operator(st), op) == 0 && st->number[t->kink] == j)
          mpq_set(&q->ad[t->slope], side == PROXY_LEFT ? &t->left : side == PROXY_RIGHT ? &t->right : &value);
      }
    }
  }
}

void
check_output(point *p, const char *verdict, const output_rules *rules)
{
  claim q = {.p = p, .net = p->net, .rules = rules};
  read_loss(p);
  read_wrt(p->net);
  q.sum = allocate(p->net->n_wrt, sizeof *q.sum); /* numbers once they are needed */
  point_evaluate(p);
  q.c = cell_new(p);
  q.ad = rationals(p->n_slopes);
  next_line("profile");
  state_profile(next_name());
  read_proxies(&q);
  size_t n_windows = read_ties(p, q.ad);
  next_line("touched");
  require(next_number() == p->n_touched, "the number of touched kinks is %zu", p->n_touched);
  fprintf(account, "Touched kinks: %zu\n", p->n_touched);
  if (n_windows > 0)
    fprintf(account, "Of these, windows with ties: %zu\n", n_windows);
  check_evidence(&q, verdict);
}
