/* What follows from a choice of sides: slopes, and what is constant or affine. */
#include "check/kernel/cell.h"
#include "check/base/allocate.h"
#include "check/kernel/gradient.h"

#include <stdlib.h>
#include <string.h>

cell
cell_new(const point *p)
{
  cell c = {allocate(p->n_touched, sizeof(int)), allocate(p->n_touched, sizeof(bool)), rationals(p->n_slopes),
            allocate(p->net->n_steps, sizeof(uint8_t *))};
  for (size_t s = 0; s < p->net->n_steps; s++) {
    c.degree[s] = allocate(entries(p, s), 1);
    memset(c.degree[s], p->net->steps[s].kind == INPUT ? 0 : 2, entries(p, s));
  }
  return c;
}

/* The degree of term t of entry e: of w x, or x / w. */
static uint8_t
term_degree(const cell *c, const point *p, const step *st, term t, size_t e)
{
  uint8_t x = t.x.step >= PADDING ? 0 : c->degree[t.x.step][entry_of(p, t.x, e)];
  if (t.by.w == NULL || !t.by.w->wrt || t.x.step == PADDING)
    return x;
  if (x == 0 && t.x.step != NONE && zero_at(p, t.x.step, entry_of(p, t.x, e)))
    return 0;
  return x > 0 || st->divide ? 2 : 1;
}

/* The degree of a product: of a number and what moves, that of the latter. */
static uint8_t
pair_degree(const cell *c, const point *p, const step *st, size_t e, size_t i)
{
  uint8_t of[2];
  for (size_t k = 0; k < 2; k++) {
    source x = term_at(p, st, e, i + k).x;
    of[k] = c->degree[x.step][entry_of(p, x, e)];
    if (of[k] == 0 && zero_at(p, x.step, entry_of(p, x, e)))
      return 0;
  }
  return of[0] + of[1] < 2 ? of[0] + of[1] : 2;
}

/* One that is not rational is not. */
static bool
row_is_zero(const point *p, const cell *c, size_t k, size_t over)
{
  return kink_gradient(p, c->slope, c, k, 0, over, true) && zeros(p->net->gradient, p->net->n_wrt);
}

/* The degree of a PIECEWISE entry; it settles the entry's touched kink. */
static uint8_t
piece_degree(cell *c, const point *p, size_t s, size_t e, bool tree)
{
  const step *st = &p->net->steps[s];
  const term t = term_at(p, st, e, 0);
  size_t i = p->place[s][e], k = i - TOUCHED;
  uint8_t x = c->degree[t.x.step][entry_of(p, t.x, e)];
  if (i >= TOUCHED && c->side == NULL)
    return x == 0 ? 0 : 2;
  if (i >= TOUCHED) {
    i = p->touched[k].kink + (c->side[k] > 0);
    mpq_set(&c->slope[p->touched[k].slope], c->side[k] > 0 ? &p->touched[k].right : &p->touched[k].left);
    c->flat[k] = x == 0;
    if (tree && x == 1 && c->side[k] == 0)
      c->flat[k] = row_is_zero(p, c, k, 0);
    if (c->side[k] == 0)
      return c->flat[k] ? 0 : 2;
  }
  if (i == 0 && t.by.w != NULL && (t.by.w->wrt || mpq_sgn(&t.by.w->value[t.by.at]) != 0))
    return term_degree(c, p, st, t, e);
  if (mpq_sgn(&st->piece[i][2]) != 0)
    return x > 0 ? 2 : 0;
  return mpq_sgn(&st->piece[i][1]) != 0 ? x : 0;
}

/* Have all options of touched window k the derivative of the first? */
static bool
all_alike(const point *p, const cell *c, size_t k)
{
  size_t o = 1;
  while (o < p->touched[k].n && row_is_zero(p, c, k, o))
    o++;
  return o == p->touched[k].n;
}

/* The degree of an entry of a WINDOW step; settles its touched window. */
static uint8_t
window_degree(cell *c, const point *p, size_t s, size_t e, bool tree)
{
  const step *st = &p->net->steps[s];
  size_t place = p->place[s][e], k = place - TOUCHED;
  const uint8_t *degree = c->degree[read_step(st)];
  uint8_t worst = 0;
  if (place < TOUCHED)
    return degree[entry_of(p, term_at(p, st, e, place).x, e)];
  if (c->side == NULL)
    return 2; /* what is constant has a number, and is no option beside another */
  const touch *t = &p->touched[k];
  for (size_t o = 0; o < t->n; o++)
    worst = degree[t->at[o]] > worst ? degree[t->at[o]] : worst;
  size_t side = c->side[k] > 0 ? (size_t)c->side[k] - 1 : 0;
  for (size_t o = 0; o < t->n; o++)
    mpq_set(&c->slope[t->slope + o], o == side ? &plus_one : &zero);
  c->flat[k] = worst == 0 || (tree && worst == 1 && c->side[k] == 0 && all_alike(p, c, k));
  return c->flat[k] || c->side[k] != 0 ? degree[t->at[side]] : 2;
}

/* The degree of a sum of terms, or of products; of a FUNCTION. */
static uint8_t
sum_degree(const cell *c, const point *p, const step *st, size_t e)
{
  uint8_t worst = 0;
  for (size_t i = 0; i < st->width && worst < 2; i += st->kind == PRODUCT ? 2 : 1) {
    uint8_t d = st->kind == PRODUCT ? pair_degree(c, p, st, e, i) : term_degree(c, p, st, term_at(p, st, e, i), e);
    d = d > 0 && st->kind == FUNCTION ? (function_jumps(st->of) ? 0 : 2) : d;
    worst = d > worst ? d : worst;
  }
  return worst;
}

/* Settles the entries of a step of sums. Those with one row of sources have one degree, where all rows of factors are alike. */
static void
settle_sums(cell *c, const point *p, size_t s, size_t sample)
{
  const step *st = &p->net->steps[s];
  size_t apart = p->net->apart, batch = p->net->batch, group = batch / apart;
  uint8_t *known = allocate(rows_of_sources(st) * group, 1); /* 1 + the degree */
  for (size_t e = sample; e < entries(p, s); e += apart) {
    uint8_t *of = &known[st->source_row[e / batch] * group + e % batch / apart];
    if (*of == 0 || !st->alike)
      *of = 1 + sum_degree(c, p, st, e);
    c->degree[s][e] = *of - 1;
  }
  free(known);
}

/* The degree of an entry of a line, which all its entries share. One that is alone in its line is its own mean, or the whole of its
 * exponentials, and constant. */
static uint8_t
line_degree(const cell *c, const point *p, size_t s, size_t e)
{
  const step *st = &p->net->steps[s];
  size_t n = line_length(p, st), first = line_entry(p, st, e, 0);
  if (first < e)
    return c->degree[s][first];
  for (size_t i = n == 1; i < n; i++) {
    size_t at = line_entry(p, st, e, i);
    if (term_degree(c, p, st, term_at(p, st, at, 0), at) > 0)
      return 2;
  }
  return 0;
}

void
cell_settle_step(cell *c, const point *p, size_t s, size_t sample, bool tree)
{
  const step *st = &p->net->steps[s];
  bool sums = st->kind == LINEAR || st->kind == OVER_ROOT || st->kind == PRODUCT || st->kind == FUNCTION;
  if (sums)
    settle_sums(c, p, s, sample);
  for (size_t e = sample; e < entries(p, s) && !sums && st->kind != INPUT; e += p->net->apart)
    c->degree[s][e] = st->length > 0       ? line_degree(c, p, s, e)
                      : st->kind == WINDOW ? window_degree(c, p, s, e, tree)
                                           : piece_degree(c, p, s, e, tree);
}

void
cell_settle(cell *c, const point *p, bool tree)
{
  bool *asked = allocate(p->net->apart, sizeof *asked), all = false;
  for (size_t s = 0; s < p->net->n_steps; s++) /* gradients ask of these whether they are constant */
    all = all || p->net->steps[s].kind == SOFTMAX || p->net->steps[s].kind == FUNCTION;
  for (size_t k = 0; k < p->n_touched; k++)
    asked[p->touched[k].entry % p->net->apart] = true;
  for (size_t s = 0; s < p->net->n_steps; s++)
    for (size_t b = 0; b < p->net->apart; b++)
      if (all || asked[b])
        cell_settle_step(c, p, s, b, tree);
  free(asked);
}
