/* Zones. What backpropagation computes is affine in the choice at each touched kink and tie. Multiplied out, it has a term for
 * each chain of them that leads from a parameter to the loss, and each term has other choices as factors. So it changes with
 * none if and only if there is no chain, at one choice that may be any: here left, and a window's first option. */
#include "check/kernel/zone.h"
#include "check/base/allocate.h"
#include "check/base/lines.h"
#include "check/kernel/behind.h"
#include "check/kernel/cell.h"
#include "check/kernel/evaluate.h"
#include "check/kernel/gradient.h"
#include "check/kernel/names.h"
#include "check/kernel/place.h"
#include "check/kernel/question.h"
#include "check/kernel/smooth.h"
#include "check/kernel/statement.h"
#include "check/kernel/window.h"

#include <stdlib.h>
#include <string.h>

/* ---- Compensation */

/* `cut K`, one a line. */
static bool *
read_cut(const point *p, const cell *c)
{
  bool *cut = allocate(p->n_touched, sizeof *cut);
  for (size_t least = 0; line_is("cut");) {
    size_t k = next_number();
    require(k >= least && k < p->n_touched, "touched kinks in increasing order are expected");
    require(!c->flat[k], "%s is constant, and need not be cut off", kink(p, k).text);
    cut[k] = true;
    least = k + 1;
  }
  return cut;
}

/* A chain from a touched kink that is cut comes through others that are, and from no parameter. */
static void
must_be_cut(const point *p, const cell *c, const bool *cut, size_t k, origins *of)
{
  bool window = is_window(&p->touched[k]);
  for (size_t o = window; o < p->touched[k].n; o++)
    require(kink_origins(p, c, k, o, of), "%s has a derivative by a parameter that is not known to be 0",
            kink(p, k).text);
  for (size_t j = 0; j < p->n_touched; j++)
    require(!of->met[j] || cut[j] || c->flat[j], "%s has a derivative by the output of %s, which is not cut off",
            kink(p, k).text, kink(p, j).text);
}

/* Such a window counts as constant where its first tied entry is, and what its others hand on would not be followed. */
static void
must_not_be_constant(const point *p, const cell *c, bool *const *loose)
{
  for (size_t s = 0; s < p->net->n_steps; s++)
    for (size_t e = 0; loose[s] != NULL && e < entries(p, s); e++)
      require(!loose[s][e] || c->degree[s][e] > 0,
              "a constant is tied with what follows touched kinks, and either may be taken");
}

static bool
is_settled(const cell *c, const bool *cut, const origins *of, size_t k)
{
  return !of->met[k] || cut[k] || c->flat[k];
}

/* Where what is irrational leaves it open, once more by what is rational in it. */
static void
find_loss_origins(const point *p, const cell *c, const bool *cut, origins *of)
{
  size_t k = 0;
  loss_origins(p, c, of);
  while (k < p->n_touched && is_settled(c, cut, of, k))
    k++;
  if (k == p->n_touched && !of->loose_met)
    return;
  origins by_sums = {allocate(p->n_touched, sizeof(bool)), of->loose, false};
  if (p->loss == LOSS_CE && p->net->smooth->entropy_origins(p, c, &by_sums))
    *of = by_sums;
}

void
check_compensation(const point *p)
{
  cell c = cell_new(p);
  cell_settle(&c, p, false); /* no sides: the slopes are the base's */
  bool *cut = read_cut(p, &c), *moving = allocate(p->n_touched, sizeof *moving);
  for (size_t k = 0; k < p->n_touched; k++)
    moving[k] = !c.flat[k];
  origins of = {allocate(p->n_touched, sizeof *of.met), loose_windows(p, &c, moving), false};
  must_not_be_constant(p, &c, of.loose);
  find_loss_origins(p, &c, cut, &of);
  for (size_t k = 0; k < p->n_touched; k++)
    require(is_settled(&c, cut, &of, k), "the loss has a derivative by the output of %s, which is not cut off",
            kink(p, k).text);
  for (size_t k = 0; k < p->n_touched; k++)
    if (cut[k])
      must_be_cut(p, &c, cut, k, &of);
  require(!of.loose_met,
          "ties of entries that are one function, behind touched kinks, are not known to have one derivative");
  free(moving);
  free(cut);
}

/* ---- Bifurcation */

/* `switch K SIDE`: the choice at touched kink k that is not the base's. */
static void
read_switches(const point *p, cell *c)
{
  size_t least = 0;
  next_line("switch");
  do {
    size_t k = next_number();
    require(k >= least && k < p->n_touched, "touched kinks in increasing order are expected");
    const char *side = next_word();
    c->side[k] = side_named(p, k, &side);
    require(*side == '\0' && c->side[k] != (is_window(&p->touched[k]) ? 1 : -1),
            "another side than the first is expected");
    least = k + 1;
  } while (line_is("switch"));
}

static void
check_bifurcation(point *p)
{
  network *net = p->net;
  cell base = cell_new(p), other = cell_new(p);
  INTERVAL(change);
  read_switches(p, &other);
  next_line("entry");
  const tensor *w = next_parameter(net);
  size_t index = next_number();
  require(w->wrt && index < w->count, "an entry of a parameter in wrt is expected");
  rationals_begin(net->move, net->n_wrt);
  mpq_set(&w->move[index], &plus_one);
  cell_settle(&base, p, false);
  cell_settle(&other, p, false);
  add_loss_tangent(&change, p, other.slope, &plus_one, NULL);
  add_loss_tangent(&change, p, base.slope, &minus_one, NULL);
  require(interval_sign(&change, "whether the derivative changes") != 0,
          "the derivative by that entry does not change");
}

/* ---- The claim */

bool
check_zone(point *p)
{
  read_loss(p);
  read_wrt(p->net);
  point_evaluate(p);
  read_touched(p);
  next_line("zone");
  const char *zone = next_word();
  bool one = strcmp(zone, "compensation") == 0;
  require(one || strcmp(zone, "bifurcation") == 0, "'compensation' or 'bifurcation' is expected");
  if (one)
    check_compensation(p);
  else
    check_bifurcation(p);
  last_line();
  return one;
}
