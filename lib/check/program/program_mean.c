/* Along the program, an instruction is *ours* where its gradient is AD's derivative in each arc, and *mean* where the weighted sum of its
 * gradients is. Values at the point are the same on all arcs. */
#include "check/program/program_mean.h"
#include "check/base/allocate.h"
#include "check/program/program_follow.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  size_t cells, choice; /* the arcs that execute it; what the first one chose */
  bool alike, moved;    /* all chose that; some took another arm than AD does */
  rational mean;        /* of a touched POINTWISE: of the slopes */
  rational *taken;      /* of an ORDER: of each argument the weight of the arcs that take it */
  rational *unit;       /* of a NORM of zeros: the first arc's vector, */
  bool opposite;        /* whose opposite is the second's */
} blend;

/* What the arcs have chosen so far. */
typedef struct means {
  size_t n_cells;
  blend *of;       /* at each instruction */
  rational weight; /* of the first arc */
  bool even;       /* there are two arcs, of one weight */
} means;

typedef enum { NEITHER, MEAN, OURS } level;

static means *
means_begin(const walk *w)
{
  means *m = allocate(1, sizeof *m);
  *m = (means){.of = allocate(w->prog.n, sizeof *m->of), .weight = rational_zero()};
  for (size_t i = 0; i < w->prog.n; i++)
    m->of[i].mean = rational_zero();
  return m;
}

static void
means_end(means *m, const walk *w)
{
  for (size_t i = 0; i < w->prog.n; i++) {
    mpq_clear(&m->of[i].mean);
    if (m->of[i].taken != NULL)
      rationals_free(m->of[i].taken, w->prog.instructions[i].n);
    if (m->of[i].unit != NULL)
      rationals_free(m->of[i].unit, w->prog.instructions[i].n);
  }
  mpq_clear(&m->weight);
  free(m->of);
  free(m);
}

/* ---- An arc */

/* The kink that a POINTWISE is at, if its slopes differ there; else NONE. */
static size_t
kink_met(walk *w, const instruction *i, rational *left, rational *right)
{
  const interval *x = w->states[*i->in].s;
  for (size_t k = 0; k < i->pieces->n_kinks; k++) {
    interval kink = {i->pieces->at[k], i->pieces->at[k]};
    if (interval_compare(x, &kink) != 0)
      continue;
    slope_on(left, i->pieces, k, &i->pieces->at[k]);
    slope_on(right, i->pieces, k + 1, &i->pieces->at[k]);
    return mpq_equal(left, right) ? NONE : k;
  }
  return NONE;
}

static void
add_slope(blend *b, walk *w, size_t at, const rational *weight)
{
  RATIONAL(left);
  RATIONAL(right);
  size_t k = kink_met(w, &w->prog.instructions[at], &left, &right);
  if (k == NONE)
    return;
  mpq_mul(&left, w->states[at].part == k ? &left : &right, weight);
  mpq_add(&b->mean, &b->mean, &left);
}

static void
add_taken(blend *b, walk *w, size_t at, const rational *weight)
{
  const instruction *i = &w->prog.instructions[at];
  size_t k = 0;
  if (b->taken == NULL)
    b->taken = rationals(i->n);
  while (i->in[k] != w->states[at].part)
    k++;
  mpq_add(&b->taken[k], &b->taken[k], weight);
}

static bool
is_zero_norm(walk *w, const instruction *i)
{
  for (size_t k = 0; k < i->n; k++)
    if (!interval_zero(w->states[i->in[k]].s))
      return false;
  return true;
}

/* The vector of a norm of zeros: the first terms of its arguments that are not all zero. Those of the second arc are compared. */
static void
add_unit(blend *b, walk *w, const instruction *i)
{
  size_t first = 0;
  bool some = false;
  for (; first < w->n_terms && !some; first += !some)
    for (size_t k = 0; k < i->n; k++)
      some = some || !interval_zero(&w->states[i->in[k]].s[first]);
  if (b->cells == 1)
    b->unit = rationals(i->n);
  b->opposite = some && b->unit != NULL;
  for (size_t k = 0; k < i->n && b->opposite; k++) {
    const interval *x = &w->states[i->in[k]].s[first];
    RATIONAL(minus);
    mpq_neg(&minus, &x->lo);
    b->opposite = interval_exact(x) && (b->cells == 1 || mpq_equal(&b->unit[k], &minus));
    if (b->cells == 1)
      mpq_set(&b->unit[k], &x->lo);
  }
  if (b->cells == 1 && !b->opposite) {
    rationals_free(b->unit, i->n);
    b->unit = NULL;
  }
}

static void
add_choice(blend *b, walk *w, size_t at, const rational *weight)
{
  const instruction *i = &w->prog.instructions[at];
  const state *y = &w->states[at];
  size_t choice = i->kind == A_BRANCH ? y->arm == 1 : y->part;
  b->cells++;
  b->alike = b->cells == 1 || (b->alike && choice == b->choice);
  b->choice = choice;
  if (i->kind == A_POINTWISE)
    add_slope(b, w, at, weight);
  if (i->kind == AN_ORDER)
    add_taken(b, w, at, weight);
  if (i->kind == A_BRANCH
      && (i->in[0] == i->in[1] || interval_compare(w->states[i->in[0]].s, w->states[i->in[1]].s) == 0))
    b->moved = b->moved || (y->arm == 1) != relation_holds(i->relation, 0);
  if (i->kind == A_NORM && is_zero_norm(w, i))
    add_unit(b, w, i);
}

static void
means_add(means *m, walk *w, const rational *weight)
{
  m->even = ++m->n_cells == 2 && mpq_equal(weight, &m->weight);
  mpq_set(&m->weight, weight);
  for (size_t i = 0; i < w->prog.n; i++)
    if (w->states[i].done)
      add_choice(&m->of[i], w, i, weight);
}

/* ---- All of them */

/* The least level of the arguments that its derivative reads. */
static level
least(walk *w, const level *of, const instruction *i)
{
  level y = OURS;
  for (size_t k = 0; k < i->n; k++) {
    const interval *by = i->kind == A_PRODUCT ? w->states[i->in[1 - k]].s
                         : i->kind == A_NORM  ? w->states[i->in[k]].s
                                              : NULL;
    bool read = i->kind == A_SUM ? mpq_sgn(&i->c[k]) != 0 : by == NULL || !interval_zero(by);
    if (read && of[i->in[k]] < y)
      y = of[i->in[k]];
  }
  return y;
}

/* At its kink: where each arc has AD's slope, or the argument does not move, as the argument; else the slopes' mean is looked at. */
static level
of_pointwise(const blend *b, walk *w, const instruction *i, level x)
{
  RATIONAL(left);
  RATIONAL(right);
  size_t k = kink_met(w, i, &left, &right);
  if (k == NONE || (x == OURS && all_zero(w->states[*i->in].g, w->n_wrt)))
    return x;
  const proxy *ads = proxy_of(w, i, k);
  const rational *slope = ads->kind == LEFT ? &left : ads->kind == RIGHT ? &right : &ads->value;
  if (ads->kind == UNKNOWN || !mpq_equal(&b->mean, slope))
    return NEITHER;
  return b->alike ? x : x == OURS ? MEAN : NEITHER;
}

/* The weight of the arcs that take an entry is AD's share of it. Where all take one, that has AD's whole. */
static level
of_order(const blend *b, walk *w, size_t at, const level *of)
{
  const instruction *i = &w->prog.instructions[at];
  size_t *tied = allocate(i->n, sizeof *tied), rank, n = find_tied(w, at, tied, &rank);
  rational *share = rationals(i->n);
  level y = OURS;
  RATIONAL(c);
  bool known = n == 1 || proxy_of(w, i, 0)->kind != UNKNOWN;
  for (size_t k = 0, j = 0; j < i->n && k < n && known; j++)
    if (i->in[j]
        == tied[k]) { /* both are in the order of the arguments; of one that is there twice, the first counts */
      size_t to = 0;
      while (i->in[to] != tied[k])
        to++;
      tied_share(&c, w, i, n, rank, k++);
      mpq_add(&share[to], &share[to], &c);
    }
  for (size_t j = 0; j < i->n && known; j++) {
    known = mpq_equal(&share[j], &b->taken[j]);
    if (mpq_sgn(&share[j]) != 0 && of[i->in[j]] < y)
      y = of[i->in[j]];
  }
  rationals_free(share, i->n);
  free(tied);
  return !known ? NEITHER : b->alike ? y : y == OURS ? MEAN : NEITHER;
}

/* AD takes 0 of a norm of zeros: so do two arcs, of one weight, on which its vectors are opposite. */
static level
of_norm(const means *m, const blend *b, walk *w, const instruction *i, const level *of)
{
  bool still = true, ours = true;
  if (!is_zero_norm(w, i))
    return least(w, of, i);
  for (size_t k = 0; k < i->n; k++) {
    ours = ours && of[i->in[k]] == OURS;
    still = still && all_zero(w->states[i->in[k]].g, w->n_wrt);
  }
  return !ours ? NEITHER : still ? OURS : m->even && b->opposite ? MEAN : NEITHER;
}

static level
of_instruction(const means *m, walk *w, size_t at, const level *of)
{
  const instruction *i = &w->prog.instructions[at];
  const blend *b = &m->of[at];
  if (b->cells != m->n_cells)
    return NEITHER;
  if (i->kind == A_POINTWISE)
    return of_pointwise(b, w, i, of[*i->in]);
  if (i->kind == AN_ORDER)
    return of_order(b, w, at, of);
  if (i->kind == A_NORM)
    return of_norm(m, b, w, i, of);
  if (i->kind == A_BRANCH)
    return b->alike ? of[i->in[b->choice ? 2 : 3]] : NEITHER;
  if (i->kind == AN_ANALYTIC && strcmp(i->name, "sqrt") == 0 && interval_zero(w->states[*i->in].s))
    return NEITHER;
  return i->kind == AN_INPUT || i->kind == A_CONSTANT ? OURS : least(w, of, i);
}

static bool
means_are_ads(const means *m, walk *w, size_t at)
{
  for (size_t i = 0; i < w->prog.n; i++)
    if (m->of[i].moved)
      return false; /* on another arm a value might be another */
  level *of = allocate(at + 1, sizeof *of);
  for (size_t i = 0; i <= at; i++)
    of[i] = of_instruction(m, w, i, of);
  bool are = of[at] != NEITHER;
  free(of);
  return are;
}

const mean_rules arc_means = {means_begin, means_add, means_are_ads, means_end};
