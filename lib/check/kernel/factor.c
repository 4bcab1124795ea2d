/* A number that is zero at the weights is written as a combination of entries of earlier and earlier steps, each time divided
 * by what is not zero there, until the entries are affine. */
#include "check/kernel/factor.h"
#include "check/base/allocate.h"
#include "check/kernel/evaluate.h"

#include <stdlib.h>

#define MAX_PRODUCTS 4096
#define MOST_ENTRIES ((size_t)1 << 16)

/* The combination: of entries, by [step][entry], plus a number. */
typedef struct {
  const point *p;
  const cell *c; /* NULL: of numbers, not of functions */
  size_t n;      /* steps */
  rational **of;
  rational number;
} combination;

/* coef times a parameter's entry (or 1, where w is NULL) times x. */
typedef struct {
  const tensor *w;
  size_t at;
  source x;
  size_t entry; /* of x */
  rational coef;
} product;

typedef struct {
  size_t n;
  product *all;
} products;

static bool
only_at(const combination *f, size_t s)
{
  for (size_t t = 0; t < s; t++)
    if (!zeros(f->of[t], entries(f->p, t)))
      return false;
  return true;
}

/* Is nothing left but constants and what is affine? Of numbers: nothing at all? */
static bool
is_affine(const combination *f, size_t s)
{
  for (size_t t = 0; t <= s; t++)
    for (size_t e = 0; e < entries(f->p, t); e++)
      if (mpq_sgn(&f->of[t][e]) != 0 && (f->c == NULL || f->c->degree[t][e] == 2))
        return false;
  return true;
}

static void
add_to(rational *y, const rational *a, const rational *b)
{
  RATIONAL(t);
  mpq_mul(&t, a, b);
  mpq_add(y, y, &t);
}

/* What is constant is a number; of numbers, what is exact. */
static bool
take_constants(combination *f, size_t s)
{
  for (size_t e = 0; e < entries(f->p, s); e++) {
    rational *by = &f->of[s][e];
    if (mpq_sgn(by) == 0 || (f->c != NULL && f->c->degree[s][e] > 0))
      continue;
    const interval *x = value_at(f->p, s, e);
    if (!interval_exact(x) && f->c == NULL)
      continue;
    if (!interval_exact(x))
      return false;
    add_to(&f->number, by, &x->lo);
    mpq_set(by, &zero);
  }
  return true;
}

/* ---- Sums of products */

/* Adds by * t, of entry e, to those with the same factors; or, where t is a number, to that. */
static bool
add_product(products *list, combination *f, const step *st, const term *t, size_t e, const rational *by)
{
  bool weighs = f->c != NULL && t->by.w != NULL && t->by.w->wrt;
  product new = {.w = weighs ? t->by.w : NULL, .at = weighs ? t->by.at : 0, .x = t->x};
  size_t i = 0;
  RATIONAL(q);
  weigh(st, &t->by, weighs && !st->divide, &q);
  if (t->x.step == NONE && !weighs) {
    add_to(&f->number, by, &q);
    return true;
  }
  new.entry = t->x.step != NONE ? entry_of(f->p, t->x, e) : 0;
  if (t->x.step != NONE && (f->c == NULL || f->c->degree[t->x.step][new.entry] == 0)
      && interval_zero(value_at(f->p, t->x.step, new.entry)))
    return true;
  while (i < list->n
         && (list->all[i].w != new.w || list->all[i].at != new.at || list->all[i].x.step != new.x.step
             || list->all[i].entry != new.entry))
    i++;
  if (i == MAX_PRODUCTS)
    return false;
  if (i == list->n) {
    list->all = grow(list->all, list->n, sizeof new);
    new.coef = rational_zero();
    list->all[list->n++] = new;
  }
  add_to(&list->all[i].coef, by, &q);
  return true;
}

static void
products_free(products *list)
{
  for (size_t i = 0; i < list->n; i++)
    mpq_clear(&list->all[i].coef);
  free(list->all);
}

/* The one parameter's entry that multiplies all products; NULL where none does, or there are several. *fixed: no parameter
 * in wrt is in any. */
static const product *
common(const products *list, bool *fixed)
{
  const product *one = NULL;
  bool shared = true;
  *fixed = true;
  for (size_t i = 0; i < list->n; i++) {
    const product *t = &list->all[i];
    if (mpq_sgn(&t->coef) == 0)
      continue;
    *fixed = *fixed && t->w == NULL;
    shared = shared && t->w != NULL && (one == NULL || (t->w == one->w && t->at == one->at));
    one = t;
  }
  return shared ? one : NULL;
}

/* What the products are of, without their parameter. */
static void
take_products(combination *f, const products *list)
{
  for (size_t i = 0; i < list->n; i++) {
    const product *t = &list->all[i];
    rational *to = t->x.step == NONE ? &f->number : &f->of[t->x.step][t->entry];
    mpq_add(to, to, &t->coef);
  }
}

/* Is what the parameter is multiplied by certainly not zero? */
static bool
is_no_zero(const combination *f, const products *list)
{
  INTERVAL(sum);
  for (size_t i = 0; i < list->n; i++) {
    const product *t = &list->all[i];
    interval_add(&sum, t->x.step == NONE ? &exactly_one : value_at(f->p, t->x.step, t->entry), &t->coef);
  }
  return mpq_sgn(&sum.lo) > 0 || mpq_sgn(&sum.hi) < 0;
}

typedef enum { NO, ON, YES } progress;

static progress
through_terms(combination *f, size_t s)
{
  const step *st = &f->p->net->steps[s];
  products list = {0, NULL};
  progress found = NO;
  bool room = true, fixed;
  for (size_t e = 0; e < entries(f->p, s) && room; e++)
    for (size_t i = 0; i < st->width && room && mpq_sgn(&f->of[s][e]) != 0; i++) {
      const term t = term_at(f->p, st, e, i);
      room = t.x.step == PADDING || add_product(&list, f, st, &t, e, &f->of[s][e]);
    }
  const product *one = common(&list, &fixed);
  if (room && (fixed || (one != NULL && only_at(f, s) && mpq_sgn(&f->number) == 0))) {
    bool on = fixed || mpq_sgn(&one->w->value[one->at]) != 0;
    found = on ? ON : is_no_zero(f, &list) ? YES : NO;
    if (on)
      take_products(f, &list);
  }
  products_free(&list);
  return found;
}

/* ---- Other steps */

/* Entry e is by of entry `to` of an earlier step, plus add. */
static void
through_entry(combination *f, size_t s, size_t e, source x, size_t to, const rational *by, const rational *add)
{
  add_to(&f->number, &f->of[s][e], add);
  add_to(&f->of[x.step][to], &f->of[s][e], by);
}

/* On one piece, with numbers for slope and shift. */
static bool
through_piece(combination *f, size_t s, size_t e)
{
  const step *st = &f->p->net->steps[s];
  const term t = term_at(f->p, st, e, 0);
  size_t i = f->p->place[s][e];
  if (f->c == NULL) {
    i &= TOUCHED - 1; /* that piece has the value, too */
  } else if (i >= TOUCHED) {
    size_t k = i - TOUCHED;
    if (f->c->side[k] == 0)
      return false;
    i = f->p->touched[k].kink + (f->c->side[k] > 0);
  }
  bool weighs = i == 0 && t.by.w != NULL;
  if (mpq_sgn(&st->piece[i][2]) != 0 || (weighs && f->c != NULL && t.by.w->wrt))
    return false;
  through_entry(f, s, e, t.x, entry_of(f->p, t.x, e), weighs ? &t.by.w->value[t.by.at] : &st->piece[i][1],
                &st->piece[i][0]);
  return true;
}

static bool
through_window(combination *f, size_t s, size_t e)
{
  const step *st = &f->p->net->steps[s];
  size_t place = f->p->place[s][e], to;
  source x = {read_step(st), 0};
  if (f->c == NULL)
    place &= TOUCHED - 1;
  if (place >= TOUCHED) {
    size_t k = place - TOUCHED;
    if (f->c->side[k] == 0)
      return false;
    to = f->p->touched[k].at[f->c->side[k] - 1];
  } else
    to = entry_of(f->p, term_at(f->p, st, e, place).x, e);
  through_entry(f, s, e, x, to, &plus_one, &zero);
  return true;
}

/* The entries are those of one line, or have one number under the root. */
static bool
one_root(const combination *f, size_t s)
{
  const step *st = &f->p->net->steps[s];
  size_t first = NONE;
  for (size_t e = 0; e < entries(f->p, s); e++) {
    if (mpq_sgn(&f->of[s][e]) == 0)
      continue;
    if (first == NONE)
      first = e;
    if (!same_root(f->p, st, e, first))
      return false;
  }
  return true;
}

/* x / root, the root left out. */
static void
through_root(combination *f, size_t s, size_t e)
{
  const source x = read_by(f->p, &f->p->net->steps[s], e);
  through_entry(f, s, e, x, entry_of(f->p, x, e), &plus_one, &zero);
}

/* m (x - mean), the root left out. */
static void
through_line(combination *f, size_t s, size_t e)
{
  const step *st = &f->p->net->steps[s];
  size_t m = line_length(f->p, st);
  RATIONAL(all);
  mpq_set_ui(&all, m, 1);
  for (size_t i = 0; i < m; i++) {
    size_t at = line_entry(f->p, st, e, i);
    const source x = read_by(f->p, st, at);
    if (at == e)
      through_entry(f, s, e, x, entry_of(f->p, x, at), &all, &zero);
    through_entry(f, s, e, x, entry_of(f->p, x, at), &minus_one, &zero);
  }
}

/* From step s to earlier ones. */
static progress
through_step(combination *f, size_t s)
{
  kind what = f->p->net->steps[s].kind;
  bool root = what == OVER_ROOT || what == NORMALIZE;
  if (what == LINEAR)
    return through_terms(f, s);
  if (root && (!only_at(f, s) || mpq_sgn(&f->number) != 0 || !one_root(f, s)))
    return NO;
  for (size_t e = 0; e < entries(f->p, s); e++) {
    if (mpq_sgn(&f->of[s][e]) == 0)
      continue;
    if (what == OVER_ROOT)
      through_root(f, s, e);
    else if (what == NORMALIZE)
      through_line(f, s, e);
    else if (what == SOFTMAX || what == PRODUCT || what == FUNCTION
             || !(what == WINDOW ? through_window : through_piece)(f, s, e))
      return NO;
  }
  return ON;
}

/* From entry a of step s, less b where that is another, plus *number: did the way end? Then *number is what was added up. */
static bool
way_ends(const point *p, const cell *c, size_t s, size_t a, size_t b, rational *number)
{
  combination f = {p, c, s + 1, allocate(s + 1, sizeof *f.of), *number};
  progress found = ON;
  for (size_t t = 0; t <= s; t++)
    f.of[t] = rationals(entries(p, t));
  mpq_set(&f.of[s][a], &plus_one);
  if (b != a)
    mpq_set(&f.of[s][b], &minus_one);
  for (size_t t = s + 1; t-- > 0 && found == ON;) {
    if (zeros(f.of[t], entries(p, t)))
      continue;
    found = !take_constants(&f, t) ? NO : is_affine(&f, t) ? YES : t == 0 ? NO : through_step(&f, t);
  }
  for (size_t t = 0; t <= s; t++)
    rationals_free(f.of[t], entries(p, t));
  free(f.of);
  *number = f.number;
  return found != NO; /* or nothing was left */
}

bool
affine_but_for_a_factor(const point *p, const cell *c, const touch *t, size_t a, size_t b)
{
  RATIONAL(number);
  if (!is_window(t))
    mpq_neg(&number, &p->net->steps[t->step].at[t->kink]);
  return way_ends(p, c, t->from, t->at[a], t->at[b], &number);
}

bool
cancels(const point *p, size_t s, size_t a, size_t b)
{
  RATIONAL(number);
  return p->net->entries <= MOST_ENTRIES && way_ends(p, NULL, s, a, b, &number) && mpq_sgn(&number) == 0;
}
