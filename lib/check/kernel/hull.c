/* Weights over cells that are realized (hull.h). */
#include "check/kernel/hull.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/kernel/behind.h"
#include "check/kernel/cell.h"
#include "check/kernel/gradient.h"
#include "check/kernel/window.h"

#include <stdlib.h>
#include <string.h>

/* The cells of a hull, as they are read. */
typedef struct {
  rational weight;
  int *side;
} weighed;

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
    add_last_gradient(q, &of[i].weight);
  }
  loss_gradient(q->p, q->ad, NULL, true);
  add_last_gradient(q, &minus_one);
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

void
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
