#include "audit/reason.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NEURONS 6 /* named one by one */
#define LAYERS 3
#define RAISED 8  /* a limit that may do, times the one that did not */

/* Has the touch no side that a direction is known for? */
static bool
is_sideless(const clarke_audit *a, const clarke_question *q, size_t k)
{
  if (!clarke_cell_moves(&a->cell[0], q, k))
    return false;
  if (a->obstacle.sideless != NULL)
    return a->obstacle.sideless[k];
  for (size_t i = 0; i < a->n_layers; i++)
    if (a->layer[i].step == q->replay->touch[k].step)
      return a->layer[i].feasible != CLARKE_YES;
  return true;
}

clarke_side_counts
clarke_count_sides(const clarke_audit *a, const clarke_question *q, size_t layer)
{
  clarke_side_counts counts = {0, 0};

  if (a->n_cells == 0)
    return counts;
  for (size_t k = 0; k < q->replay->n_touches; k++) {
    if (layer != CLARKE_NONE && a->layer[layer].step != q->replay->touch[k].step)
      continue;
    counts.moving += clarke_cell_moves(&a->cell[0], q, k);
    counts.sideless += is_sideless(a, q, k);
  }
  return counts;
}

size_t
clarke_sideless_neurons(size_t *neuron, size_t most, const clarke_audit *a, const clarke_question *q, size_t layer)
{
  const size_t step = a->layer[layer].step;
  size_t n = 0;

  for (size_t f = 0; f < a->layer[layer].neurons; f++) {
    bool any = false;

    for (size_t k = 0; k < q->replay->n_touches && !any; k++)
      any = q->replay->touch[k].step == step && q->replay->touch[k].feature == f && is_sideless(a, q, k);
    if (any && n < most)
      neuron[n] = f;
    n += any;
  }
  return n;
}

/* --- words ---------------------------------------------------------------------------------- */

static void say(clarke_audit *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void
say(clarke_audit *a, const char *format, ...)
{
  const size_t used = strlen(a->why);
  va_list args;

  va_start(args, format);
  vsnprintf(a->why + used, sizeof a->why - used, format, args);
  va_end(args);
}

static const char *
kinks(const clarke_layer *layer, const clarke_question *q, size_t n)
{
  if (q->g->steps[layer->step].kind == CLARKE_MAX)
    return n == 1 ? "window" : "windows";
  return n == 1 ? "kink" : "kinks";
}

static void
say_neurons(clarke_audit *a, const clarke_question *q, size_t layer)
{
  size_t neuron[NEURONS];
  const size_t n = clarke_sideless_neurons(neuron, NEURONS, a, q, layer);

  if (n > NEURONS) {
    say(a, " (%zu neurons)", n);
    return;
  }
  say(a, " (neuron%s", n == 1 ? "" : "s");
  for (size_t i = 0; i < n; i++)
    say(a, "%s %zu", i > 0 ? "," : "", neuron[i]);
  say(a, ")");
}

/* "12 kinks in fc1 (neurons 4, 17) and 2 windows in pool have no direction to AD's sides; 30 others have one". */
static void
say_sides(clarke_audit *a, const clarke_question *q)
{
  const clarke_side_counts all = clarke_count_sides(a, q, CLARKE_NONE);
  const size_t others = all.moving - all.sideless;
  size_t said = 0, layers = 0;

  for (size_t i = 0; i < a->n_layers; i++)
    layers += clarke_count_sides(a, q, i).sideless > 0;
  for (size_t i = 0; i < a->n_layers && said < LAYERS; i++) {
    const size_t n = clarke_count_sides(a, q, i).sideless;

    if (n == 0)
      continue;
    said++;
    say(a, "%s%zu %s in %.60s", said == 1 ? "; " : said == layers ? " and " : ", ", n, kinks(&a->layer[i], q, n),
        q->g->steps[a->layer[i].step].name);
    say_neurons(a, q, i);
  }
  if (layers > said)
    say(a, " and more in %zu other layer%s", layers - said, layers - said == 1 ? "" : "s");
  if (said > 0)
    say(a, " leave%s sides open", all.sideless == 1 ? "s" : "");
  if (said > 0 && others > 0)
    say(a, " (%zu other%s %s a direction to AD's)", others, others == 1 ? "" : "s", others == 1 ? "has" : "have");
}

/* A layer's blocks share no parameters. Those of two layers may: a pool's and those of the ReLU that it takes. */
static void
say_blocks(clarke_audit *a)
{
  const clarke_obstacle *o = &a->obstacle;

  if (o->blocks == 1)
    say(a, "; they fall into 1 block, and ");
  else
    say(a, "; layer by layer they fall into %zu blocks (those of one layer share no parameters), and ", o->blocks);
  if (o->separated == 0)
    say(a, "in none a vector separates AD's output, as far as floats tell");
  else
    say(a, "in %zu a vector separates AD's output, as far as floats tell", o->separated);
}

/* Where blocks were looked at. */
static void
say_block_obstacle(clarke_audit *a)
{
  const clarke_obstacle *o = &a->obstacle;

  say_blocks(a);
  switch (o->kind) {
  case CLARKE_OBSTACLE_TREE:
    say(a, "; a tree of sides for %zu of them reached its limit of %zu nodes: --limit tree-nodes=%zu may settle it",
        o->touches, clarke_tree_nodes(), RAISED * clarke_tree_nodes());
    break;
  case CLARKE_OBSTACLE_OUTSIDE:
    say(a, "; along that vector the touched kinks outside of the block may add more than it separates by: their sides, or a "
           "vector in the parameters of several layers, would settle it");
    break;
  case CLARKE_OBSTACLE_CLASSES:
    say(a, "; the %zu of one are too many for a tree: fewer samples, or --wrt, may settle it", o->touches);
    break;
  case CLARKE_OBSTACLE_CURVED:
    say(a, "; among the %zu of one are arguments that are not affine: a refutation that holds for products would settle it",
        o->touches);
    break;
  case CLARKE_OBSTACLE_BEHIND:
    say(a, "; AD's output is between cells in each, but no direction brings the other touched kinks to AD's sides for all of "
           "these cells: sides for what lies behind the blocks would settle it");
    break;
  default:
    say(a, "; in one, of %zu of them, floats found no vector in its own parameters that separates AD's output, and no simplex of "
           "cells around it was proved: more cells, or a vector in the parameters of several blocks, would settle it",
        o->touches);
  }
}

/* The first layer whose system was not decided, for its rows are not rational. */
static const char *
irrational_layer(const clarke_audit *a, const clarke_question *q)
{
  for (size_t i = 0; i < a->n_layers; i++)
    if (a->layer[i].moving > 0 && a->layer[i].feasible == CLARKE_UNKNOWN && a->layer[i].blocks.known &&
        !a->layer[i].blocks.exact)
      return q->g->steps[a->layer[i].step].name;
  return NULL;
}

/* Nothing was refuted, and not all was listed. */
static void
say_nothing_refuted(clarke_audit *a, const clarke_question *q)
{
  const char *name = irrational_layer(a, q);

  if (name != NULL)
    say(a, "; the system of %.60s has irrational entries, so that no refutation of it is proved, and", name);
  else
    say(a, "; no layer's own system refutes AD's sides, and");
  say(a, " there are too many patterns, or parameters, to list all patterns: fewer samples, or --wrt, may settle it");
}

/* Where the list of patterns says what is missing. */
static void
say_list_obstacle(clarke_audit *a, const clarke_question *q)
{
  const clarke_obstacle *o = &a->obstacle;

  switch (o->kind) {
  case CLARKE_OBSTACLE_LIST:
    say(a, "; the list of patterns reached its limit of %zu nodes: --limit tree-nodes=%zu may settle it",
        clarke_list_nodes(), RAISED * clarke_tree_nodes());
    break;
  case CLARKE_OBSTACLE_OCCUR:
    say(a, "; the gradient may be any of %zu, by the patterns that were not refuted, and AD's is one of them or between them; "
           "%zu of these patterns were shown to occur: whether the others do would settle it", o->patterns, o->realized);
    break;
  case CLARKE_OBSTACLE_COMPARE:
    say(a, "; where AD's gradient lies among those of the %zu patterns that were not refuted could not be told: they have "
           "irrational entries that are equal, or nearly", o->patterns);
    break;
  case CLARKE_OBSTACLE_SMOOTH:
    say(a, "; behind them is a transcendental operator, so no layer's block was asked by itself, and there are too many "
           "patterns to list them all: fewer samples, or --wrt, may settle it");
    break;
  default:
    say_nothing_refuted(a, q);
  }
}

void
clarke_reason_write(clarke_audit *a, const clarke_question *q)
{
  const bool of_block = a->obstacle.kind >= CLARKE_OBSTACLE_TREE && a->obstacle.kind <= CLARKE_OBSTACLE_BEHIND;

  if (a->obstacle.kind == CLARKE_OBSTACLE_PRECISION && q->replay->near.g == NULL) {
    snprintf(a->why, sizeof a->why, "some arguments of kinks could not be told from the kink (%zu of them): even at the "
             "highest precision their enclosures have no bounds, because the steps before them enlarge errors too much",
             q->replay->open);
    return;
  }
  if (a->obstacle.kind == CLARKE_OBSTACLE_PRECISION) {
    snprintf(a->why, sizeof a->why, "some arguments of kinks could not be told from the kink at the highest precision: they "
             "follow %stranscendental functions (%zu of them; an identity between these would settle it)",
             clarke_graph_couples(q->g) ? "normalizations or " : "", q->replay->open);
    return;
  }
  snprintf(a->why, sizeof a->why, "AD's own pattern could not be realized");
  say_sides(a, q);
  if (of_block)
    say_block_obstacle(a);
  else
    say_list_obstacle(a, q);
}
