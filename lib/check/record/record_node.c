/* The numbers that a node goes through (record_node.h). */
#include "check/record/record_node.h"
#include "check/base/allocate.h"
#include "check/base/limit.h"
#include "check/smooth/function.h"
#include "check/smooth/line.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

/* ---- Bounds */

/* The largest |x|. */
static void
most_size(rational *q, const interval *x)
{
  RATIONAL(low);
  mpq_abs(&low, &x->lo);
  mpq_abs(q, &x->hi);
  if (mpq_cmp(&low, q) > 0)
    mpq_set(q, &low);
}

/* Is all of x, but for its rounding up, within the bound? */
static bool
surely_within(const interval *x, bound off)
{
  return !bound_below(off, bound_above(&x->lo)) && !bound_below(off, bound_above(&x->hi));
}

answer
node_judge(const record *r, const number *y, const recorded *x)
{
  RATIONAL(q);
  RATIONAL(off);
  INTERVAL(apart);
  INTERVAL(z);
  RATIONAL(most);
  if (y->open)
    return NO_BOUND;
  recorded_value(&z.lo, x, &r->unit);
  mpq_set(&z.hi, &z.lo);
  enclosure_get(&apart, &y->x);
  interval_add(&apart, &z, &minus_one);
  if (surely_within(&apart, y->off))
    return BOUNDED;
  bound_get(&off, y->off);
  most_size(&most, &apart);
  if (mpq_cmp(&most, &off) <= 0)
    return BOUNDED;
  mpq_sub(&q, &apart.hi, &apart.lo);
  mpq_mul_2exp(&q, &q, 4);
  if (mpq_cmp(&q, &off) > 0)
    leave(UNDECIDED, "cannot decide whether an entry is within its bound with intervals of %d bits", MAX_BITS);
  return REFUTED;
}

bool
node_within(const number *y, const recorded *x)
{
  return !y->open && enclosure_within(&y->x, y->off, x->d);
}

bool
node_in_doubles(size_t type)
{
  return dtypes[type].fraction < FLT_MANT_DIG;
}

/* ---- What is read */

/* A mass in doubles is less than in GMP's numbers, by a small part of it: twice that is to have a bound. */
void
node_round(node_pass *p, bound *off, size_t n, bound mass)
{
  bound none = {0, 0};
  bool fits = !p->doubles || add_rounding(&none, p->type, n, bound_scale(mass, 1));
  p->open = !add_rounding(off, p->type, n, mass) || !fits || p->open;
}

void
node_recall(number *y, const node_pass *p, const recorded *x)
{
  if (p->doubles) {
    y->x.d = (span){x->d, x->d};
  } else {
    recorded_value(&y->x.z->lo, x, &p->r->unit);
    mpq_set(&y->x.z->hi, &y->x.z->lo);
  }
  y->wide = least_size(&y->x);
  if (is_subnormal(p->type, x, &p->r->unit))
    y->off = y->wide;
  y->wide = bound_add(y->wide, y->off);
  y->open = !number_bounded(y, false);
}

/* What a step's numbers are follows from the samples, how many of them are taken together, and the type: what was recorded is read,
 * all else computed likewise, whatever chain it is computed for. So they are kept, by the first of the samples, for the gradients that
 * read them again. */
typedef struct {
  size_t type, samples;
  bool doubles;
  number **y;
} kept_step;

/* Tables by step are made once: a chain fills a few places of them, and empties these. */
typedef struct node_tables {
  number **y, **recorded;
  cotangent **back;
  size_t *filled, n;
  number one[2]; /* in GMP's numbers, in doubles */
  kept_step *kept;
  size_t kept_bytes;
} node_tables;

/* Numbers that are kept take so much of the memory that there may be: one part of this many, and no more than a machine has. */
#define PART_KEPT 8
#define MOST_KEPT ((size_t)1 << 30)

void
node_note(const node_pass *p, size_t s)
{
  node_tables *all = p->r->kept->tables;
  all->filled[all->n++] = s;
}

/* What was recorded of a step, for those that read it; the step itself may be of the chain. */
static const number *
recall(node_pass *p, source x, size_t j)
{
  size_t n = p->r->p->net->steps[x.step].n * p->n;
  number **y = &p->r->kept->tables->recorded[x.step];
  if (*y == NULL) {
    *y = number_new(n, p->doubles);
    node_note(p, x.step);
    for (size_t e = 0; e < n; e++)
      node_recall(&(*y)[e], p, record_read(p->r, (source){x.step, e / p->n}, p->first + e % p->n));
  }
  return &(*y)[x.from * p->n + j];
}

const number *
node_read(node_pass *p, source x, size_t j)
{
  if (x.step == NONE)
    return &p->r->kept->tables->one[p->doubles];
  const number *y = p->r->entry[x.step] != NULL ? recall(p, x, j) : &p->y[x.step][x.from * p->n + j];
  p->open = p->open || y->open;
  return y;
}

bound
node_narrow(const node_pass *p, const step *st)
{
  return bound_scale(bound_natural(record_narrow(p->r, st, p->type)), -NARROW_BITS);
}

/* A recorded weight, or minus that, is a double, which is exact; or NaN. */
static multiple
weight_in_doubles(double d)
{
  return (multiple){NULL, {d, d}, bound_of_double(d)};
}

multiple
node_factor(rational *room, bool *lost, const node_pass *p, const step *st, const factor *w)
{
  bool plain = w->coef == &plus_one && !st->divide;
  *lost = w->w != NULL && is_subnormal(p->type, &w->w->whole[w->at], &p->r->unit);
  if (plain && w->w != NULL && p->doubles)
    return weight_in_doubles(w->w->whole[w->at].d);
  if (plain && w->w != NULL)
    return multiple_of(&w->w->value[w->at], false);
  mpq_set(room, w->coef);
  if (w->w != NULL)
    (st->divide ? mpq_div : mpq_mul)(room, room, &w->w->value[w->at]);
  return multiple_of(room, p->doubles);
}

/* ---- Kinds of steps */

/* One term, itself or twice that, which no arithmetic rounds; or nothing. */
static bool
is_unrounded(const step *st, const factor *w)
{
  return st->width == 1 && w->w == NULL && mpz_cmp_ui(mpq_denref(w->coef), 1) == 0
         && mpz_cmpabs_ui(mpq_numref(w->coef), 2) <= 0;
}

/* A term of that size, which narrow factors make larger, too. */
static void
add_term(number *y, bound *mass, bound size, bound narrow)
{
  bound taken = bound_times(narrow, size);
  y->off = bound_add(y->off, taken);
  *mass = bound_add(*mass, bound_add(size, taken));
}

static void
compute_linear(node_pass *p, const step *st, size_t f, size_t j, number *y)
{
  const factor *w = &st->factors[st->factor_row[f] * st->width];
  const source *x = &st->sources[st->source_row[f] * st->width];
  size_t terms = 0;
  bound mass = {0, 0}, narrow = node_narrow(p, st), none = {0, 0};
  RATIONAL(q);
  for (size_t i = 0; i < st->width; i++) {
    bool lost;
    if (x[i].step == PADDING)
      continue;
    const number *a = node_read(p, x[i], j);
    multiple c = node_factor(&q, &lost, p, st, &w[i]);
    enclosure_add_times(&y->x, &a->x, &c);
    bound size = size_of(a), taken = w[i].w != NULL && x[i].step < PADDING ? narrow : none;
    y->off = bound_add_times(y->off, c.size, lost ? size : a->off);
    add_term(y, &mass, bound_times(c.size, size), taken);
    terms++;
  }
  if (!is_unrounded(st, w) && !number_is_nothing(y, mass))
    node_round(p, &y->off, terms + SPARE_COMPOSED, mass);
}

static void
compute_product(node_pass *p, const step *st, size_t f, size_t j, number *y)
{
  const source *x = &st->sources[st->source_row[f] * st->width];
  size_t terms = 0;
  bound mass = {0, 0}, narrow = node_narrow(p, st);
  for (size_t i = 0; i + 1 < st->width; i += 2) {
    if (x[i].step == PADDING || x[i + 1].step == PADDING)
      continue;
    const number *a = node_read(p, x[i], j), *b = node_read(p, x[i + 1], j);
    enclosure_add_product(&y->x, &a->x, &b->x);
    y->off = bound_add_times(y->off, least_size(&a->x), b->off);
    y->off = bound_add_times(y->off, a->off, size_of(b));
    add_term(y, &mass, bound_times(size_of(a), size_of(b)), narrow);
    terms++;
  }
  if (!number_is_nothing(y, mass))
    node_round(p, &y->off, terms + SPARE_COMPOSED, mass);
}

size_t
node_piece(const step *st, const enclosure *of)
{
  size_t k = 0;
  INTERVAL(x);
  if (!enclosure_known(of))
    return NONE;
  enclosure_get(&x, of);
  while (k < st->n_kinks && mpq_cmp(&x.lo, &st->at[k]) > 0)
    k++;
  return interval_exact(&x) || k == st->n_kinks || mpq_cmp(&x.hi, &st->at[k]) < 0 ? k : NONE;
}

void
node_coefficients(const rational *c[3], const step *st, const factor *w, size_t piece)
{
  for (size_t i = 0; i < 3; i++)
    c[i] = &st->piece[piece][i];
  if (piece == 0 && w->w != NULL)
    c[1] = &w->w->value[w->at];
}

bound
node_steepest(const step *st, const factor *w, bound size)
{
  bound most = {0, 0};
  for (size_t i = 0; i <= st->n_kinks; i++) {
    const rational *c[3];
    node_coefficients(c, st, w, i);
    most = bound_most(most, bound_add_times(bound_of(c[1]), bound_scale(bound_of(c[2]), 1), size));
  }
  return most;
}

/* What its formulas add up: the sum of all |c_k| size^k. */
static bound
formulas(const step *st, const factor *w, bound size)
{
  bound mass = {0, 0};
  for (size_t i = 0; i <= st->n_kinks; i++) {
    const rational *c[3];
    bound power = bound_natural(1);
    node_coefficients(c, st, w, i);
    for (size_t k = 0; k < 3; k++) {
      mass = bound_add_times(mass, bound_of(c[k]), power);
      power = bound_times(power, size);
    }
  }
  return mass;
}

static void
compute_piece(node_pass *p, const step *st, size_t f, size_t j, number *y)
{
  const factor *w = &st->factors[st->factor_row[f]];
  const number *a = node_read(p, st->sources[st->source_row[f]], j);
  const rational *c[3];
  ENCLOSURE(square, p->doubles);
  size_t piece = node_piece(st, &a->x);
  p->ended = piece == NONE;
  if (p->ended)
    return;
  node_coefficients(c, st, w, piece);
  multiple slope = multiple_of(c[1], p->doubles), half = multiple_of(c[2], p->doubles);
  enclosure_multiply(&square, &a->x, &a->x);
  enclosure_add_number(&y->x, c[0]);
  enclosure_add_times(&y->x, &a->x, &slope);
  enclosure_add_times(&y->x, &square, &half);
  bound size = size_of(a);
  y->off = bound_add_times(y->off, node_steepest(st, w, size), a->off);
  node_round(p, &y->off, SPARE_COMPOSED, formulas(st, w, size));
}

/* What an error of the argument makes of 1 / x, a root or a logarithm: at least a / (|x| - a), of the value or as it is. */
static void
add_inside(node_pass *p, bound *off, function of, const number *a, bound size)
{
  bound rest = number_rest(&a->x, a->off);
  if (a->off.m == 0)
    return;
  p->open = p->open || rest.m == 0;
  if (rest.m == 0)
    return;
  *off = bound_add_times(*off, bound_over(a->off, rest), of == F_LOG ? bound_natural(1) : size);
}

/* UNDECIDED where GMP's numbers do not say. */
static bool
is_inside(function of, const enclosure *a)
{
  INTERVAL(x);
  bool known = enclosure_known(a);
  enclosure_get(&x, a);
  return a->z != NULL ? function_inside(of, &x, false) : known && function_holds(of, &x, false);
}

static void
compute_function(node_pass *p, const step *st, size_t f, size_t j, number *y)
{
  const number *a = node_read(p, st->sources[st->source_row[f]], j);
  bool whole = st->of == F_NORMAL || st->of == F_NORMAL_TANH || st->of == F_ELU || st->of == F_SIN
               || st->of == F_COS; /* of the size of 1, where they cancel */
  expect(!function_jumps(st->of), "node %zu '%s' (%s): a record's function that jumps is not followed", st->place,
         st->name, st->op);
  p->ended = function_has_domain(st->of) && !is_inside(st->of, &a->x);
  if (p->ended)
    return;
  enclosure_value(&y->x, st->of, &a->x);
  bound mass = least_size(&y->x);
  if (function_has_domain(st->of))
    add_inside(p, &y->off, st->of, a, mass);
  else
    y->off = bound_add_times(y->off, st->of == F_EXP ? mass : bound_natural(1), a->off);
  mass = bound_add(mass, y->off);
  if (whole)
    mass = bound_most(mass, bound_natural(1));
  if (st->of == F_SOFTPLUS) /* some compute x where exp(-x) is small */
    y->off = bound_add(y->off, SOFTPLUS_LEFT);
  node_round(p, &y->off, SPARE_COMPOSED, mass);
}

void
node_root(node_pass *p, const step *st, size_t f, enclosure *root)
{
  const factor *by = &st->factors[st->factor_row[f]];
  p->open = p->open || mpq_sgn(&by->w->value[by->at]) < 0;
  enclosure_put(root, &st->root[by->at]);
}

static void
compute_over_root(node_pass *p, const step *st, size_t f, size_t j, number *y)
{
  const number *a = node_read(p, st->sources[st->source_row[f]], j);
  ENCLOSURE(root, p->doubles);
  node_root(p, st, f, &root);
  bound least = least_size(&root);
  enclosure_multiply(&y->x, &a->x, &root);
  y->off = bound_add_times(y->off, least, a->off);
  node_round(p, &y->off, SPARE_COMPOSED, bound_times(least, size_of(a)));
}

/* ---- Sigmoid and tanh, whose exponentials are no numbers that an implementation goes through */

static bool
is_among(const step *st, const char *const *ops, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (strcmp(st->node->op, ops[i]) == 0)
      return true;
  return false;
}

bool
node_is_pair(const step *st)
{
  static const char *const ops[] = {"Mish", "Sigmoid", "Swish", "Tanh"};
  return st->kind == SOFTMAX && is_among(st, ops, sizeof ops / sizeof *ops);
}

/* What makes a tanh of it? */
static bool
is_tanh(const step *st)
{
  static const char *const ops[] = {"Mish", "Tanh"};
  return st->kind == LINEAR && st->width == 2 && is_among(st, ops, sizeof ops / sizeof *ops);
}

/* 2 s - 1, the tanh of half of what s is the sigmoid of: as a function of that. */
static void
compute_tanh(node_pass *p, const step *st, size_t f, size_t j, number *y)
{
  source share = st->sources[st->source_row[f] * 2], pair = (source){share.step - 1, share.from};
  const number *s = node_read(p, share, j), *a = node_read(p, pair, j);
  multiple twice = multiple_of(&two, p->doubles);
  enclosure_add_times(&y->x, &s->x, &twice);
  enclosure_add_number(&y->x, &minus_one);
  y->off = bound_add(y->off, a->off);
  node_round(p, &y->off, SPARE_COMPOSED, least_size(&y->x));
}

/* ---- A node */

static void
compute_entry(node_pass *p, const step *st, size_t e, number *y)
{
  size_t f = e / p->n, j = e % p->n;
  p->open = false;
  if (is_tanh(st))
    compute_tanh(p, st, f, j, y);
  else if (st->kind == LINEAR)
    compute_linear(p, st, f, j, y);
  else if (st->kind == PRODUCT)
    compute_product(p, st, f, j, y);
  else if (st->kind == PIECEWISE)
    compute_piece(p, st, f, j, y);
  else if (st->kind == FUNCTION)
    compute_function(p, st, f, j, y);
  else
    compute_over_root(p, st, f, j, y);
  number_round(&y->x);
  y->wide = size_of(y);
  y->open = !number_bounded(y, p->open);
}

/* Is what it computes read on the way back? What was recorded of it is not that. */
static bool
reads_own(const step *st)
{
  return st->kind == FUNCTION || st->length > 0;
}

/* Where the step's numbers are kept, or would be; NULL: such numbers are not. */
static number **
find_kept(const node_pass *p, size_t s)
{
  kept_step *k = &p->r->kept->tables->kept[s];
  if (k->y == NULL)
    *k = (kept_step){p->type, p->n, p->doubles, allocate(p->r->p->net->batch, sizeof *k->y)};
  return k->type == p->type && k->samples == p->n && k->doubles == p->doubles ? &k->y[p->first] : NULL;
}

static void
keep(node_pass *p, size_t s)
{
  node_tables *all = p->r->kept->tables;
  number **kept = find_kept(p, s);
  size_t n = p->r->p->net->steps[s].n * p->n, size = number_bytes(p->y[s], n);
  bool again = p->r->entry[s] == NULL || reads_own(&p->r->p->net->steps[s]);
  if (!again || p->ended || kept == NULL || all->kept_bytes + size > limit_of(LIMIT_MEMORY) / PART_KEPT
      || all->kept_bytes + size > MOST_KEPT)
    return;
  *kept = p->y[s];
  all->kept_bytes += size;
}

static void
compute_step(node_pass *p, size_t s)
{
  step *st = &p->r->p->net->steps[s];
  number **kept = find_kept(p, s);
  if (kept != NULL && *kept != NULL) {
    p->y[s] = *kept;
    node_note(p, s);
    return;
  }
  if (st->kind == OVER_ROOT && st->root == NULL)
    root_prepare(st);
  p->y[s] = number_new(st->n * p->n, p->doubles);
  node_note(p, s);
  if (st->kind == SOFTMAX || st->kind == NORMALIZE)
    line_compute(p, s);
  for (size_t e = 0; e < st->n * p->n && st->length == 0 && !p->ended; e++)
    compute_entry(p, st, e, &p->y[s][e]);
  keep(p, s);
}

static node_tables *
tables_new(size_t n)
{
  node_tables *all = allocate(1, sizeof *all);
  all->y = allocate(n, sizeof *all->y);
  all->recorded = allocate(n, sizeof *all->recorded);
  all->back = allocate(n, sizeof *all->back);
  all->filled = allocate(3 * n, sizeof *all->filled);
  all->kept = allocate(n, sizeof *all->kept);
  for (size_t i = 0; i < 2; i++) {
    all->one[i] = (number){.x = enclosure_nought(i > 0), .wide = bound_natural(1)};
    enclosure_add_number(&all->one[i].x, &plus_one);
  }
  return all;
}

void
node_begin(node_pass *p, const record *r, const chain *c, const bool *needed, size_t first, size_t type, bool doubles)
{
  if (r->kept->tables == NULL)
    r->kept->tables = tables_new(r->p->net->n_steps);
  *p = (node_pass){.r = r, .first = first, .n = c->samples, .type = type, .doubles = doubles};
  p->y = r->kept->tables->y;
  p->back = r->kept->tables->back;
  for (size_t s = c->low; s < c->high && !p->ended; s++)
    if (c->has[s] && needed[s])
      compute_step(p, s);
}

void
node_end(node_pass *p)
{
  node_tables *all = p->r->kept->tables;
  for (; all->n > 0; all->n--) {
    size_t s = all->filled[all->n - 1], n = p->r->p->net->steps[s].n * p->n;
    number **kept = find_kept(p, s);
    if (kept == NULL || *kept != p->y[s])
      number_free(p->y[s], n);
    number_free(all->recorded[s], n);
    cotangents_free(p->back[s], n);
    p->y[s] = NULL;
    all->recorded[s] = NULL;
    p->back[s] = NULL;
  }
}
