/* Bounds: AD's slopes are replaced by those of a cell one touched kink at a time, the last first. That adds to the
 * loss's derivative along v the sum of u (t - a): u the loss's derivative by the kink's output under the cell, t and a
 * its output's derivatives along v by its side in the cell and as AD has it, all before it having AD's slopes. Intervals
 * hold u for all cells at once. */
#include "check/kernel/bound.h"
#include "check/kernel/adjoint.h"
#include "check/base/allocate.h"
#include "check/kernel/cell.h"
#include "check/kernel/factor.h"
#include "check/kernel/gradient.h"
#include "check/kernel/identity.h"
#include "check/base/lines.h"
#include "check/kernel/names.h"
#include "check/kernel/window.h"

#include <stdlib.h>

typedef struct {
  const point *p;
  size_t *as;   /* of each touched kink: the one whose side it takes; itself, when it has its own */
  bool *turned; /* it takes the other side than that */
  bool *leads;  /* others take its */
  size_t *at;   /* where its gains are, one a side or option */
  interval *gain;
  bool *needed; /* of each sample: does some t differ from a? */
  cell unsided; /* settled with no sides */
} bounds;

static size_t
sides(const touch *t)
{
  return is_window(t) ? t->n : 2;
}

/* ---- t - a */

static void
find_differences(bounds *b, const rational *ad)
{
  motion d = tangents(b->p, ad);
  for (size_t k = 0; k < b->p->n_touched; k++) {
    const touch *t = &b->p->touched[k];
    for (size_t o = 0; o < sides(t); o++) {
      interval *x = &b->gain[b->at[k] + o];
      interval_add(x, tangent_at(&d, t->from, t->at[is_window(t) ? o : 0]),
                   is_window(t) ? &plus_one
                   : o == 0     ? &t->left
                                : &t->right);
      interval_add(x, tangent_at(&d, t->step, t->entry), &minus_one);
      b->needed[t->entry % b->p->net->batch] |= !interval_zero(x);
    }
  }
  tangents_free(&d);
}

/* ---- Parallel touched kinks */

/* Is the touch's argument affine under the cell, but for one factor? Where there are more than two options each must be
 * affine: factors of their own would not keep their proportion. */
static bool
affine(bounds *b, const cell *c, const touch *t)
{
  bool all = true;
  for (size_t o = 0; o < t->n; o++)
    all = all && c->degree[t->from][t->at[o]] < 2;
  return all || (t->n <= 2 && affine_but_for_a_factor(b->p, c, t, 0, t->n - 1));
}

/* Are row k's numbers `by` times those of j, by being found from the first row of each? Its sign is that of `sign`. */
static bool
multiple(const rational *k, const rational *j, size_t n, rational *by, int sign)
{
  RATIONAL(q);
  for (size_t i = 0; i < n; i++) {
    bool first = mpq_sgn(by) == 0 && mpq_sgn(&j[i]) != 0;
    if (first)
      mpq_div(by, &k[i], &j[i]);
    mpq_mul(&q, &j[i], by);
    if ((first && mpq_sgn(by) != sign) || !mpq_equal(&q, &k[i]))
      return false;
  }
  return true;
}

/* Option o's row, beside the first; of a kink the row. Where there are several of a window, they must keep their proportion:
 * no root is left out. */
static void
option_row(bounds *b, const cell *c, size_t k, size_t o)
{
  const touch *t = &b->p->touched[k];
  kink_row(b->p, c->slope, c, k, is_window(t) ? o + 1 : 0, 0, t->n <= 2);
}

/* The rows of touched kink j, n numbers each, of which none is zero. */
static rational **
rows_of(bounds *b, const cell *c, size_t j, size_t n)
{
  const touch *t = &b->p->touched[j];
  rational **row = allocate(sides(t) - 1, sizeof *row);
  require(affine(b, c, t), "%s: its argument is not affine", kink(b->p, j).text);
  for (size_t o = 0; o + 1 < sides(t); o++) {
    option_row(b, c, j, o);
    require(!zeros(b->p->net->gradient, n), "%s: its argument has derivative zero", kink(b->p, j).text);
    row[o] = rationals(n);
    for (size_t i = 0; i < n; i++)
      mpq_set(&row[o][i], &b->p->net->gradient[i]);
  }
  return row;
}

/* Are K's rows those of J, times a number of that sign? */
static void
require_multiple(bounds *b, const cell *c, size_t j, size_t k, int sign)
{
  size_t rows = sides(&b->p->touched[j]) - 1, n = b->p->net->n_wrt;
  rational **row = rows_of(b, c, j, n);
  RATIONAL(by);
  require(b->p->touched[j].n == b->p->touched[k].n && affine(b, c, &b->p->touched[k]), "%s is of another kind than %zu",
          kink(b->p, k).text, j);
  for (size_t o = 0; o < rows; o++) {
    option_row(b, c, k, o);
    require(multiple(b->p->net->gradient, row[o], n, &by, sign), "%s is not %s to %zu", kink(b->p, k).text,
            sign < 0 ? "opposite" : "parallel", j);
  }
  for (size_t o = 0; o < rows; o++)
    rationals_free(row[o], n);
  free(row);
}

/* `parallel J K ...`: near w, K's options compare as J's do, so they take their sides together; `opposite J K ...`: a kink
 * takes the other side. Arguments of kinks are one function, or minus it, or else multiples. */
static void
read_together(bounds *b, const cell *c, size_t j, int sign)
{
  const touch *t = &b->p->touched[j], *other;
  size_t last = j;
  do {
    size_t k = next_number();
    require(k > last && k < b->p->n_touched && b->as[k] == k && !b->leads[k],
            "touched kinks in increasing order, each once, are expected");
    other = &b->p->touched[k];
    require(sign > 0 || (!is_window(t) && !is_window(other)), "windows have no opposite");
    if (is_window(t) || is_window(other)
        || one_identity_turned(b->p, t->from, t->at[0], other->from, other->at[0]) != sign)
      require_multiple(b, c, j, k, sign);
    b->as[k] = j;
    b->turned[k] = sign < 0;
    last = k;
  } while (more_words());
  b->leads[j] = true;
}

static void
read_lines(bounds *b, const char *keyword, int sign)
{
  for (size_t j, least = 0; line_is(keyword); least = j + 1) {
    j = next_number();
    require(j >= least && j < b->p->n_touched && b->as[j] == j, "touched kinks in increasing order are expected");
    read_together(b, &b->unsided, j, sign);
  }
}

/* What takes its side with another adds its gains to the other's. */
static void
join_gains(bounds *b)
{
  for (size_t k = 0; k < b->p->n_touched; k++)
    for (size_t o = 0; b->as[k] != k && o < sides(&b->p->touched[k]); o++) {
      interval *to = &b->gain[b->at[b->as[k]] + (b->turned[k] ? 1 - o : o)];
      interval_add(to, &b->gain[b->at[k] + o], &plus_one);
    }
}

/* ---- The tree */

static void *
bound_begin(claim *q)
{
  const point *of = q->p;
  cell *c = &q->c;
  size_t n = of->n_touched, all = 0;
  bounds *b = allocate(1, sizeof *b);
  b->p = of;
  b->as = allocate(n, sizeof *b->as);
  b->at = allocate(n, sizeof *b->at);
  b->turned = allocate(n, sizeof *b->turned);
  b->leads = allocate(n, sizeof *b->leads);
  b->needed = allocate(b->p->net->batch, sizeof *b->needed);
  for (size_t k = 0; k < n; k++) {
    b->as[k] = k;
    b->at[k] = all;
    all += sides(&b->p->touched[k]);
  }
  b->gain = intervals(all);
  find_differences(b, q->ad);
  interval *adjoint = adjoints(b->p, NULL, b->needed, NULL);
  for (size_t k = 0; k < n; k++)
    for (size_t o = 0; o < sides(&b->p->touched[k]); o++)
      interval_mul(&b->gain[b->at[k] + o], &b->gain[b->at[k] + o], &adjoint[k]);
  cell_settle(c, b->p, false);
  b->unsided = (cell){allocate(n, sizeof *b->unsided.side), c->flat, c->slope, c->degree};
  read_lines(b, "parallel", 1);
  read_lines(b, "opposite", -1);
  join_gains(b);
  return b;
}

static const cell *
bound_open(const void *of)
{
  const bounds *b = of;
  return &b->unsided;
}

static bool
bound_branches(const void *of, const cell *c, size_t k, size_t above)
{
  const bounds *b = of;
  (void)above;
  return b->as[k] == k && c->side[k] == 0;
}

static void
bound_leaf(const void *of, cell *c)
{
  const bounds *b = of;
  INTERVAL(sum);
  for (size_t k = 0; k < b->p->n_touched; k++) {
    int side = c->side[k];
    const interval *x = &b->gain[b->at[k]], *most = &x[side == 0                      ? 0
                                                       : is_window(&b->p->touched[k]) ? side - 1
                                                                                      : side > 0];
    if (b->as[k] != k)
      continue;
    for (size_t o = 1; side == 0 && o < sides(&b->p->touched[k]); o++)
      if (mpq_cmp(&x[o].hi, &most->hi) > 0)
        most = &x[o];
    interval_add(&sum, most, &plus_one);
  }
  require(interval_sign(&sum, "whether AD's output is separated from these cells") < 0,
          "AD's output is not separated from these cells");
}

void
check_bound(claim *q, bool bouligand)
{
  static const leaf_rules rules = {"Families of sign patterns", bound_begin, bound_open, bound_branches, bound_leaf};
  (void)bouligand;
  check_separated(q, &rules);
}
