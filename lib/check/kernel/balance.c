/* Cells around AD's output, by what their slopes change in it. Of several groups of kinks there is a cell for each choice of theirs. As none of
 * these kinks is behind another, a cell's change is the sum of its groups'; and the products of the groups' weights make all of them cancel. */
#include "check/kernel/balance.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/kernel/adjoint.h"
#include "check/kernel/behind.h"
#include "check/kernel/cell.h"
#include "check/kernel/changes.h"
#include "check/kernel/gradient.h"
#include "check/kernel/names.h"

#include <stdlib.h>

#define MOST_CELLS 65536

/* Kinks whose cells are chosen apart from those of other groups. */
typedef struct {
  size_t n_cells, n, *of, stride; /* stride: so many cells follow one another with one choice */
} group;

typedef struct {
  claim *q;
  size_t n_groups, n_cells; /* one cell for each choice of the groups' */
  group *of;
  size_t *group_of;     /* by touched kink: 1 + its group; 0: none */
  rational **slope;     /* by cell that a group is asked for; AD's, where the gradient does not depend on it */
  bool *split, *needed; /* by touched kink: has some cell another slope than AD? By sample: has it one? */
} balance;

static void
read_group(balance *b, size_t i)
{
  group *g = &b->of[i];
  next_line("group");
  g->n_cells = next_number();
  do {
    size_t k = next_number();
    require(k < b->q->p->n_touched && b->group_of[k] == 0 && (g->n == 0 || k > g->of[g->n - 1]),
            "touched kinks in increasing order, each in one group, are expected");
    g->of = grow(g->of, g->n, sizeof *g->of);
    g->of[g->n++] = k;
    b->group_of[k] = i + 1;
  } while (more_words());
  require(g->n_cells >= 1 && g->n_cells <= MOST_CELLS / b->n_cells, "of 1 to %d cells", MOST_CELLS);
  b->n_cells *= g->n_cells;
}

/* The slopes of the cell that was read last. What is flat, or does not matter, has AD's. */
static void
keep_slopes(balance *b, size_t i, const bool *effect)
{
  const claim *q = b->q;
  b->slope[i] = rationals(q->p->n_slopes);
  for (size_t k = 0; k < q->p->n_touched; k++)
    for (size_t o = 0; o < q->p->touched[k].n; o++) {
      size_t at = q->p->touched[k].slope + o;
      bool own = q->c.flat[k] || !effect[k];
      mpq_set(&b->slope[i][at], own ? &q->ad[at] : &q->c.slope[at]);
      b->split[k] = b->split[k] || !mpq_equal(&b->slope[i][at], &q->ad[at]);
    }
}

/* Cell i has at each group's kinks what the first cell with the same choice has. If it is none of these, it is forgotten. */
static void
require_product(balance *b, size_t i)
{
  bool asked = false;
  for (const group *g = b->of; g < b->of + b->n_groups; g++) {
    size_t first = i / g->stride % g->n_cells * g->stride;
    asked = asked || first == i;
    for (size_t j = 0; j < g->n; j++) {
      const touch *t = &b->q->p->touched[g->of[j]];
      for (size_t o = 0; o < t->n; o++)
        require(mpq_equal(&b->slope[i][t->slope + o], &b->slope[first][t->slope + o]),
                "the cells are not one for each choice of the groups' cells");
    }
  }
  if (!asked) {
    rationals_free(b->slope[i], b->q->p->n_slopes);
    b->slope[i] = NULL;
  }
}

static void
read_cells(balance *b)
{
  bool *effect = touched_with_effect(b->q->p);
  b->slope = allocate(b->n_cells, sizeof *b->slope);
  for (size_t i = 0; i < b->n_cells; i++) {
    next_line("cell");
    read_sides(b->q);
    check_cell(b->q);
    keep_slopes(b, i, effect);
    require_product(b, i);
  }
  free(effect);
}

static void
check_group(const balance *b, const group *g)
{
  const point *p = b->q->p;
  rational **slope = allocate(g->n_cells, sizeof *slope);
  interval **adjoint = allocate(g->n_cells, sizeof *adjoint);
  for (size_t i = 0; i < g->n_cells; i++) {
    slope[i] = b->slope[i * g->stride];
    adjoint[i] = adjoints(p, slope[i], b->needed, b->split);
  }
  require_balance(&(changes){p, b->q->ad, &b->q->c, g->n, g->n_cells, g->of, slope, adjoint});
  for (size_t i = 0; i < g->n_cells; i++)
    intervals_free(adjoint[i], p->n_touched);
  free(adjoint);
  free(slope);
}

void
check_balance(claim *q, bool bouligand)
{
  const point *p = q->p;
  balance all = {.q = q,
                 .n_groups = next_number(),
                 .n_cells = 1,
                 .group_of = allocate(p->n_touched, sizeof *all.group_of),
                 .split = allocate(p->n_touched, sizeof *all.split),
                 .needed = allocate(q->net->batch, sizeof *all.needed)};
  require(all.n_groups >= 1 && all.n_groups <= p->n_touched, "one group or more is expected, none of them empty");
  all.of = allocate(all.n_groups, sizeof *all.of);
  for (size_t i = 0; i < all.n_groups; i++)
    read_group(&all, i);
  require(all.n_cells == 1 || !bouligand, "one cell is expected for this verdict");
  for (size_t i = 0, stride = all.n_cells; i < all.n_groups; i++)
    all.of[i].stride = stride /= all.of[i].n_cells;
  read_cells(&all);
  for (size_t k = 0; k < p->n_touched; k++) {
    require(!all.split[k] || all.group_of[k] != 0, "%s has another slope than AD's, and is in no group",
            kink(p, k).text);
    all.needed[p->touched[k].entry % q->net->batch] |= all.split[k];
    q->c.side[k] = 0;
  }
  require(all.n_groups == 1 || !one_behind_another(p, all.split), "of several groups a kink is behind another");
  cell_settle(&q->c, p, false);
  for (size_t i = 0; i < all.n_groups; i++)
    check_group(&all, &all.of[i]);
}
