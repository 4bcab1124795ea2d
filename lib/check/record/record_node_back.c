/* Gradients taken back through a node (record_node.h). */
#include "check/record/record_node.h"

#include <stdlib.h>
#include <string.h>

handed *
node_target(node_pass *p, source x, size_t j)
{
  if (x.step >= PADDING || !p->asked[x.step])
    return NULL;
  if (p->back[x.step] == NULL) {
    p->back[x.step] = handed_new(p->r->p->net->steps[x.step].n * p->n);
    node_note(p, x.step);
  }
  return &p->back[x.step][x.from * p->n + j];
}

void
node_hand(const node_pass *p, handed *to, const interval *x, const rational *off, const rational *mass)
{
  interval_add(&to->x, x, &plus_one);
  number_round(&to->x);
  add_times(&to->off, off, &plus_one);
  add_times(&to->mass, mass, &plus_one);
  to->terms++;
  to->open = to->open || p->open;
}

/* ---- Terms: of the gradient g, times an exact number, or times a computed one */

static void
hand_times(const node_pass *p, handed *to, const number *g, const rational *q, bool lost)
{
  INTERVAL(x);
  RATIONAL(size);
  RATIONAL(off);
  RATIONAL(mass);
  interval_add(&x, &g->x, q);
  mpq_abs(&size, q);
  add_times(&off, &size, &g->off);
  size_of(&mass, g);
  mpq_mul(&mass, &mass, &size);
  node_hand(p, to, &x, &off, &mass);
  if (lost)
    add_times(&to->off, &mass, &plus_one);
}

/* y's wide size is that of what is added up. sign: 1 or -1. */
static void
hand_product(const node_pass *p, handed *to, const number *g, const number *y, const rational *sign)
{
  INTERVAL(x);
  INTERVAL(turned);
  RATIONAL(size);
  RATIONAL(off);
  RATIONAL(mass);
  interval_mul(&x, &g->x, &y->x);
  interval_add(&turned, &x, sign);
  size_of(&size, y);
  add_times(&off, &size, &g->off);
  least_size(&mass, &g->x);
  add_times(&off, &y->off, &mass);
  size_of(&mass, g);
  mpq_mul(&mass, &mass, &y->wide);
  node_hand(p, to, &turned, &off, &mass);
}

/* Times a slope d that is computed, and off by `apart`; it is added up from numbers of the size `made`. */
static void
hand_slope(const node_pass *p, handed *to, const number *g, const interval *d, const rational *apart,
           const rational *made)
{
  number y = {*d, *apart, rational_zero(), false};
  size_of(&y.wide, &y);
  if (mpq_cmp(made, &y.wide) > 0)
    mpq_set(&y.wide, made);
  hand_product(p, to, g, &y, &plus_one);
  mpq_clear(&y.wide);
}

/* ---- Kinds of steps; g: the gradient of entry e */

static void
back_linear(node_pass *p, const step *st, size_t e, const number *g)
{
  const factor *w = &st->factors[st->factor_row[e / p->n] * st->width];
  const source *x = &st->sources[st->source_row[e / p->n] * st->width];
  RATIONAL(q);
  for (size_t i = 0; i < st->width; i++) {
    bool lost;
    p->open = g->open; /* of this term alone */
    if (x[i].step == PADDING)
      continue;
    handed *to = node_target(p, x[i], e % p->n);
    node_factor(&q, &lost, p, st, &w[i]);
    if (to != NULL)
      hand_times(p, to, g, &q, lost);
    if (p->weight != NULL && w[i].w == p->weight) /* its coefficient is 1 or -1, or there is no rule */
      hand_product(p, &p->of_weight[w[i].at], g, node_read(p, x[i], e % p->n), w[i].coef);
  }
}

static void
back_product(node_pass *p, const step *st, size_t e, const number *g)
{
  const source *x = &st->sources[st->source_row[e / p->n] * st->width];
  for (size_t i = 0; i < st->width; i++) {
    p->open = g->open;
    handed *to = x[i ^ 1].step != PADDING ? node_target(p, x[i], e % p->n) : NULL;
    if (to != NULL)
      hand_product(p, to, g, node_read(p, x[i ^ 1], e % p->n), &plus_one);
  }
}

/* AD's slope at a kink of pieces with these slopes at it. */
static const rational *
kink_slope(const node_pass *p, const step *st, size_t k, const rational *left, const rational *right)
{
  const ad_slope *given = record_proxy(p->r, st, k);
  return mpq_equal(left, right) || given->left ? left : given->right ? right : &given->value;
}

/* The slope of a piece at x. */
static void
piece_slope_at(rational *q, const step *st, const factor *w, size_t piece, const rational *x)
{
  const rational *c[3];
  node_coefficients(c, st, w, piece);
  mpq_mul(q, c[2], x);
  mpq_mul_2exp(q, q, 1);
  mpq_add(q, q, c[1]);
}

/* AD's slope at x, which lies on that piece. */
static void
slope_at(interval *slope, const node_pass *p, const step *st, const factor *w, size_t piece, const interval *x)
{
  RATIONAL(right);
  piece_slope_at(&slope->lo, st, w, piece, &x->lo);
  piece_slope_at(&slope->hi, st, w, piece, &x->hi);
  if (interval_exact(x) && piece < st->n_kinks && mpq_equal(&x->lo, &st->at[piece])) {
    piece_slope_at(&right, st, w, piece + 1, &x->lo);
    mpq_set(&slope->lo, kink_slope(p, st, piece, &slope->lo, &right));
    mpq_set(&slope->hi, &slope->lo);
  }
  if (mpq_cmp(&slope->lo, &slope->hi) > 0)
    mpq_swap(&slope->lo, &slope->hi);
}

static void
back_piece(node_pass *p, const step *st, size_t e, const number *g)
{
  const factor *w = &st->factors[st->factor_row[e / p->n]];
  source x = st->sources[st->source_row[e / p->n]];
  const number *a = node_read(p, x, e % p->n);
  size_t piece = node_piece(st, &a->x);
  handed *to = node_target(p, x, e % p->n);
  RATIONAL(size);
  RATIONAL(made);
  INTERVAL(slope);
  slope_at(&slope, p, st, w, piece, &a->x);
  size_of(&size, a);
  node_steepest(&made, st, w, &size);
  if (to != NULL)
    hand_slope(p, to, g, &slope, &zero, &made);
  if (p->weight != NULL && w->w == p->weight && piece == 0 && mpq_sgn(&a->x.hi) < 0)
    hand_product(p, &p->of_weight[w->at], g, a, w->coef);
}

/* What a slope of 1 / x or a root is off by, made of the argument or of the value, which may be computed anew. */
static void
domain_apart(rational *apart, node_pass *p, const step *st, const number *a, const number *y, const rational *size)
{
  RATIONAL(off);
  RATIONAL(rest);
  RATIONAL(part);
  if (st->of != F_LOG) {
    least_size(&part, &y->x);
    mpq_set(&off, &y->off);
    node_round(p, &off, SPARE_COMPOSED, &part);
    most_size(&rest, &y->x);
    mpq_sub(&rest, &rest, &off);
    p->open = p->open || mpq_sgn(&rest) <= 0;
    if (mpq_sgn(&rest) > 0)
      mpq_div(&part, &off, &rest);
  }
  most_size(&rest, &a->x);
  mpq_sub(&rest, &rest, &a->off);
  if (mpq_sgn(&rest) > 0)
    mpq_div(&rest, &a->off, &rest);
  if (mpq_cmp(&rest, &part) > 0 && mpq_sgn(&a->off) > 0)
    mpq_set(&part, &rest);
  if (st->of == F_RECIPROCAL)
    mpq_mul_2exp(&part, &part, 1);
  add_times(apart, size, &part);
}

static void
back_function(node_pass *p, const step *st, size_t e, const number *g)
{
  source x = st->sources[st->source_row[e / p->n]];
  const number *a = node_read(p, x, e % p->n), *y = &p->y[st - p->r->p->net->steps][e];
  p->open = p->open || y->open;
  handed *to = node_target(p, x, e % p->n);
  INTERVAL(slope);
  RATIONAL(size);
  RATIONAL(apart);
  if (to == NULL)
    return;
  function_slope(&slope, st->of, &a->x);
  least_size(&size, &slope);
  if (function_has_domain(st->of))
    domain_apart(&apart, p, st, a, y, &size);
  else
    mpq_set(&apart, st->of == F_EXP ? &y->off : &a->off);
  mpq_add(&size, &size, &apart);
  if (!function_has_domain(st->of) && st->of != F_EXP)
    mpq_set(&size, &two); /* of 1 + erf, 1 - y and the like */
  node_round(p, &apart, SPARE_COMPOSED, &size);
  if (st->of == F_SOFTPLUS) {
    mpq_set_ui(&size, 1, 1ul << 28);
    mpq_add(&apart, &apart, &size);
  }
  hand_slope(p, to, g, &slope, &apart, &zero);
}

static void
back_over_root(node_pass *p, const step *st, size_t e, const number *g)
{
  const interval *root = &st->root[st->factors[st->factor_row[e / p->n]].at];
  handed *to = node_target(p, st->sources[st->source_row[e / p->n]], e % p->n);
  RATIONAL(size);
  RATIONAL(apart);
  least_size(&size, root);
  node_round(p, &apart, SPARE_COMPOSED, &size);
  if (to != NULL)
    hand_slope(p, to, g, root, &apart, &zero);
}

/* ---- A step */

number *
node_settle(node_pass *p, size_t s)
{
  size_t n = p->r->p->net->steps[s].n * p->n;
  number *h = number_new(n);
  for (size_t e = 0; e < n && p->back[s] != NULL; e++) {
    const handed *from = &p->back[s][e];
    p->open = from->open;
    interval_add(&h[e].x, &from->x, &plus_one);
    mpq_set(&h[e].off, &from->off);
    if (from->terms > 0 && !number_is_nothing(&h[e], &from->mass))
      node_round(p, &h[e].off, from->terms + SPARE_COMPOSED, &from->mass);
    h[e].open = p->open;
  }
  return h;
}

void
node_back(node_pass *p, size_t s, const number *h)
{
  const step *st = &p->r->p->net->steps[s];
  if (st->length > 0)
    line_back(p, s, h);
  for (size_t e = 0; e < st->n * p->n && st->length == 0; e++) {
    p->open = h[e].open;
    (st->kind == LINEAR      ? back_linear
     : st->kind == PRODUCT   ? back_product
     : st->kind == PIECEWISE ? back_piece
     : st->kind == FUNCTION  ? back_function
                             : back_over_root)(p, st, e, &h[e]);
  }
}
