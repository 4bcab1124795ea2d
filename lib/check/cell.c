/* What follows from a choice of sides: slopes, and what is constant or affine. */
#include "cell.h"
#include "allocate.h"
#include "gradient.h"
#include "line.h"

cell
cell_new(const point *p)
{
  cell c = {allocate(p->n_touched, sizeof(int)), allocate(p->n_touched, sizeof(bool)), rationals(p->n_slopes),
            allocate(p->net->n_steps, sizeof(uint8_t *))};
  for (size_t s = 0; s < p->net->n_steps; s++)
    c.degree[s] = allocate(entries(p, s), 1);
  return c;
}

/* The degree of term t of entry e: of w x, or x / w. */
static uint8_t
term_degree(const cell *c, const point *p, const step *st, term t, size_t e)
{
  uint8_t x = t.x.step >= PADDING ? 0 : c->degree[t.x.step][entry_of(p, t.x, e)];
  if (t.by.w == NULL || !t.by.w->wrt || t.x.step == PADDING)
    return x;
  if (x == 0 && t.x.step != NONE && interval_zero(value_at(p, t.x.step, entry_of(p, t.x, e))))
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
    if (of[k] == 0 && interval_zero(value_at(p, x.step, entry_of(p, x, e))))
      return 0;
  }
  return of[0] > 0 && of[1] > 0 ? 2 : of[0] + of[1];
}

/* Of a PIECEWISE entry; settles its touched kink. */
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
    if (tree && x == 1 && c->side[k] == 0) {
      kink_row(p, c, k, 0, 0);
      c->flat[k] = zeros(p->net->gradient, p->net->n_wrt);
    }
    if (c->flat[k] || c->side[k] == 0)
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
  for (size_t o = 1; o < p->touched[k].n; o++) {
    kink_row(p, c, k, 0, o);
    if (!zeros(p->net->gradient, p->net->n_wrt))
      return false;
  }
  return true;
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

void
cell_settle_step(cell *c, const point *p, size_t s, size_t sample, bool tree)
{
  const step *st = &p->net->steps[s];
  bool terms = st->kind != PIECEWISE && st->kind != WINDOW, line = st->length > 0;
  size_t n = line ? line_length(p, st) : st->width, alone = st->kind == NORMALIZE && n == 1; /* which is its mean */
  for (size_t e = sample; e < entries(p, s); e += p->net->apart) {
    size_t first = line ? line_entry(p, st, e, 0) : e;
    uint8_t worst = terms ? 0 : (st->kind == WINDOW ? window_degree : piece_degree)(c, p, s, e, tree);
    if (first < e)
      worst = c->degree[s][first];
    for (size_t i = 0; st->kind == PRODUCT && i < n && worst < 2; i += 2) {
      uint8_t d = pair_degree(c, p, st, e, i);
      worst = d > worst ? d : worst;
    }
    for (size_t i = alone; terms && st->kind != PRODUCT && first == e && i < n && worst < 2; i++) {
      size_t at = line ? line_entry(p, st, e, i) : e;
      uint8_t d = term_degree(c, p, st, term_at(p, st, at, line ? 0 : i), at);
      worst = d == 0 ? worst : line || st->kind == FUNCTION ? 2 : d > worst ? d : worst;
    }
    c->degree[s][e] = worst;
  }
}

void
cell_settle(cell *c, const point *p, bool tree)
{
  for (size_t s = 0; s < p->net->n_steps; s++)
    for (size_t b = 0; b < p->net->apart; b++)
      cell_settle_step(c, p, s, b, tree);
}
