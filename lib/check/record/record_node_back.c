/* Gradients taken back through a node (record_node.h). */
#include "check/record/record_node.h"
#include "check/smooth/function.h"

#include <stdlib.h>
#include <string.h>

cotangent *
node_target(node_pass *p, source x, size_t j)
{
  if (x.step >= PADDING || !p->asked[x.step])
    return NULL;
  if (p->back[x.step] == NULL) {
    p->back[x.step] = cotangents_new(p->r->p->net->steps[x.step].n * p->n, p->doubles);
    node_note(p, x.step);
  }
  return &p->back[x.step][x.from * p->n + j];
}

void
node_hand(const node_pass *p, cotangent *to, const enclosure *x, bound off, bound mass)
{
  enclosure_add(&to->x, x);
  number_round(&to->x);
  bound taken = bound_times(p->narrow, mass);
  to->off = bound_add(to->off, bound_add(off, taken));
  to->mass = bound_add(to->mass, bound_add(mass, taken));
  to->terms++;
  to->open = to->open || p->open;
}

/* ---- Terms: of the gradient g, times an exact number, or times a computed one */

static void
hand_times(const node_pass *p, cotangent *to, const number *g, const multiple *q, bool lost)
{
  ENCLOSURE(x, p->doubles);
  bound mass = bound_times(q->size, size_of(g));
  enclosure_add_times(&x, &g->x, q);
  node_hand(p, to, &x, bound_times(q->size, g->off), mass);
  if (lost)
    to->off = bound_add(to->off, mass);
}

/* y's wide size is that of what is added up; or minus that. */
static void
hand_product(const node_pass *p, cotangent *to, const number *g, const number *y, bool minus)
{
  ENCLOSURE(x, p->doubles);
  enclosure_multiply(&x, &g->x, &y->x);
  if (minus)
    enclosure_negate(&x);
  bound off = bound_add_times(bound_times(size_of(y), g->off), y->off, least_size(&g->x));
  node_hand(p, to, &x, off, bound_times(size_of(g), y->wide));
}

/* Times a slope d that is computed, and off by `apart`; it is added up from numbers of the size `made`. */
static void
hand_slope(const node_pass *p, cotangent *to, const number *g, const enclosure *d, bound apart, bound made)
{
  number y = {*d, apart, {0, 0}, false};
  y.wide = bound_most(size_of(&y), made);
  to->open = to->open || !number_bounded(&y, false);
  hand_product(p, to, g, &y, false);
}

/* ---- Kinds of steps; g: the gradient of entry e */

static void
back_linear(node_pass *p, const step *st, size_t e, const number *g)
{
  const factor *w = &st->factors[st->factor_row[e / p->n] * st->width];
  const source *x = &st->sources[st->source_row[e / p->n] * st->width];
  bound narrow = node_narrow(p, st), none = {0, 0};
  RATIONAL(q);
  for (size_t i = 0; i < st->width; i++) {
    bool lost;
    p->open = g->open; /* of this term alone */
    p->narrow = w[i].w != NULL ? narrow : none;
    if (x[i].step == PADDING)
      continue;
    cotangent *to = node_target(p, x[i], e % p->n);
    multiple c = node_factor(&q, &lost, p, st, &w[i]);
    if (to != NULL)
      hand_times(p, to, g, &c, lost);
    if (p->weight != NULL && w[i].w == p->weight) /* its coefficient is 1 or -1, or there is no rule */
      hand_product(p, &p->of_weight[w[i].at], g, node_read(p, x[i], e % p->n), mpq_sgn(w[i].coef) < 0);
  }
  p->narrow = none;
}

static void
back_product(node_pass *p, const step *st, size_t e, const number *g)
{
  const source *x = &st->sources[st->source_row[e / p->n] * st->width];
  p->narrow = node_narrow(p, st);
  for (size_t i = 0; i < st->width; i++) {
    p->open = g->open;
    cotangent *to = x[i ^ 1].step != PADDING ? node_target(p, x[i], e % p->n) : NULL;
    if (to != NULL)
      hand_product(p, to, g, node_read(p, x[i ^ 1], e % p->n), false);
  }
  p->narrow = (bound){0, 0};
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

/* AD's slope at what encloses x, which lies on that piece. */
static void
slope_at(interval *slope, const node_pass *p, const step *st, const factor *w, size_t piece, const enclosure *of)
{
  RATIONAL(right);
  INTERVAL(at);
  const interval *x = &at;
  enclosure_get(&at, of);
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

/* The farthest that a slope is from any in the interval. */
static void
note_apart(rational *apart, const interval *slope, const rational *other)
{
  RATIONAL(q);
  mpq_sub(&q, other, &slope->lo);
  if (mpq_cmp(&q, apart) > 0)
    mpq_set(apart, &q);
  mpq_sub(&q, &slope->hi, other);
  if (mpq_cmp(&q, apart) > 0)
    mpq_set(apart, &q);
}

/* How far from these may the slope be that was computed? Its argument was anywhere within its error: on any piece there, whose slope is
 * linear, or at a kink. */
static bound
piece_apart(node_pass *p, const step *st, const factor *w, const number *a, const interval *slope)
{
  INTERVAL(x);
  RATIONAL(apart);
  RATIONAL(lo);
  RATIONAL(hi);
  RATIONAL(left);
  RATIONAL(right);
  if (a->off.m == 0)
    return (bound){0, 0};
  p->open = p->open || p->doubles; /* which have more pieces there */
  enclosure_get(&x, &a->x);
  bound_get(&hi, a->off);
  mpq_sub(&lo, &x.lo, &hi);
  mpq_add(&hi, &x.hi, &hi);
  for (size_t i = 0; i <= st->n_kinks; i++) {
    const rational *from = i > 0 && mpq_cmp(&st->at[i - 1], &lo) > 0 ? &st->at[i - 1] : &lo;
    const rational *to = i < st->n_kinks && mpq_cmp(&st->at[i], &hi) < 0 ? &st->at[i] : &hi;
    if (mpq_cmp(from, to) > 0)
      continue;
    piece_slope_at(&left, st, w, i, from);
    note_apart(&apart, slope, &left);
    piece_slope_at(&left, st, w, i, to);
    note_apart(&apart, slope, &left);
    if (to == &hi)
      continue;
    piece_slope_at(&right, st, w, i + 1, to);
    note_apart(&apart, slope, kink_slope(p, st, i, &left, &right));
  }
  return bound_of(&apart);
}

/* PRelu's own slope: what its argument has where it is below 0, or what it may have had where it was computed there. */
static void
hand_own_slope(node_pass *p, const factor *w, size_t piece, const number *g, const number *a)
{
  INTERVAL(x);
  ENCLOSURE(none, p->doubles);
  RATIONAL(off);
  cotangent *to = &p->of_weight[w->at];
  bound most = bound_times(size_of(g), a->off);
  bound_get(&off, a->off);
  enclosure_get(&x, &a->x);
  p->open = p->open || (p->doubles && a->off.m > 0);
  if (piece == 0 && mpq_sgn(&x.hi) < 0)
    hand_product(p, to, g, a, mpq_sgn(w->coef) < 0);
  else if (mpq_cmp(&x.lo, &off) < 0)
    node_hand(p, to, &none, most, most);
}

static void
back_piece(node_pass *p, const step *st, size_t e, const number *g)
{
  const factor *w = &st->factors[st->factor_row[e / p->n]];
  source x = st->sources[st->source_row[e / p->n]];
  const number *a = node_read(p, x, e % p->n);
  size_t piece = node_piece(st, &a->x);
  cotangent *to = node_target(p, x, e % p->n);
  INTERVAL(between);
  ENCLOSURE(slope, p->doubles);
  p->ended = p->ended || piece == NONE;
  if (p->ended)
    return;
  slope_at(&between, p, st, w, piece, &a->x);
  enclosure_put(&slope, &between);
  bound apart = to != NULL ? piece_apart(p, st, w, a, &between) : (bound){0, 0};
  if (to != NULL)
    hand_slope(p, to, g, &slope, apart, node_steepest(st, w, size_of(a)));
  if (p->weight != NULL && w->w == p->weight)
    hand_own_slope(p, w, piece, g, a);
}

/* What a slope of 1 / x or a root is off by, made of the argument or of the value, which may be computed anew. */
static bound
domain_apart(node_pass *p, const step *st, const number *a, const number *y, bound size)
{
  bound part = {0, 0}, rest = number_rest(&a->x, a->off);
  if (st->of != F_LOG) {
    bound off = y->off;
    node_round(p, &off, SPARE_COMPOSED, least_size(&y->x));
    bound left = number_rest(&y->x, off);
    p->open = p->open || left.m == 0;
    part = left.m > 0 ? bound_over(off, left) : part;
  }
  if (rest.m > 0)
    part = bound_most(part, bound_over(a->off, rest));
  return bound_times(size, bound_scale(part, st->of == F_RECIPROCAL));
}

static void
back_function(node_pass *p, const step *st, size_t e, const number *g)
{
  source x = st->sources[st->source_row[e / p->n]];
  const number *a = node_read(p, x, e % p->n), *y = &p->y[st - p->r->p->net->steps][e];
  bool domain = function_has_domain(st->of);
  p->open = p->open || y->open;
  cotangent *to = node_target(p, x, e % p->n);
  ENCLOSURE(slope, p->doubles);
  if (to == NULL)
    return;
  enclosure_slope(&slope, st->of, &a->x);
  bound size = least_size(&slope), apart = st->of == F_EXP ? y->off : a->off;
  if (domain)
    apart = domain_apart(p, st, a, y, size);
  size = domain || st->of == F_EXP ? bound_add(size, apart) : bound_natural(2); /* of 1 + erf, 1 - y and the like */
  node_round(p, &apart, SPARE_COMPOSED, size);
  if (st->of == F_SOFTPLUS)
    apart = bound_add(apart, SOFTPLUS_LEFT);
  hand_slope(p, to, g, &slope, apart, (bound){0, 0});
}

static void
back_over_root(node_pass *p, const step *st, size_t e, const number *g)
{
  ENCLOSURE(root, p->doubles);
  cotangent *to = node_target(p, st->sources[st->source_row[e / p->n]], e % p->n);
  bound apart = {0, 0};
  node_root(p, st, e / p->n, &root);
  node_round(p, &apart, SPARE_COMPOSED, least_size(&root));
  if (to != NULL)
    hand_slope(p, to, g, &root, apart, (bound){0, 0});
}

/* ---- A step */

number *
node_settle(node_pass *p, size_t s)
{
  size_t n = p->r->p->net->steps[s].n * p->n;
  number *h = number_new(n, p->doubles);
  for (size_t e = 0; e < n && p->back[s] != NULL; e++) {
    const cotangent *from = &p->back[s][e];
    p->open = from->open;
    enclosure_copy(&h[e].x, &from->x);
    h[e].off = from->off;
    if (from->terms > 0 && !number_is_nothing(&h[e], from->mass))
      node_round(p, &h[e].off, from->terms + SPARE_COMPOSED, from->mass);
    h[e].open = !number_bounded(&h[e], p->open);
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
