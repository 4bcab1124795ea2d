/* Identity. Two entries are one function near the weights when they have one number in same. A constant's number is that of
 * its value. Of other functions the numbers of what they read are put in a row, place by place, and such rows numbered: so a
 * filter's entries at patches of one number, of blank image for instance, are named by this number and the filter. */
#include "check/kernel/identity.h"
#include "check/base/allocate.h"
#include "check/kernel/cell.h"
#include "check/kernel/evaluate.h"

#include <stdlib.h>

bool
one_identity(const point *p, size_t s, size_t e, size_t s2, size_t e2)
{
  return same_as(p, s, e) == same_as(p, s2, e2);
}

/* Is it constant and 0: a place of a sum that is left out? */
static bool
left_out(const point *p, source x, size_t sample)
{
  return x.step == PADDING || (x.step != NONE && same_as(p, x.step, entry_of(p, x, sample)) == ZERO);
}

/* ---- Entries that are 0 by structure */

static bool
one_function(const point *p, size_t s, size_t e)
{
  const step *st = &p->net->steps[s];
  size_t first = line_entry(p, st, e, 0), m = line_length(p, st);
  source top = read_by(p, st, first);
  bool one = true;
  if (e != first && p->degree[s][e] > 0)
    return p->same[s][e % p->net->apart][first / p->net->apart] == ZERO; /* which is then no constant's value */
  for (size_t i = 1; i < m && one; i++) {
    size_t other = line_entry(p, st, e, i);
    source x = read_by(p, st, other);
    one = one_identity(p, x.step, entry_of(p, x, other), top.step, entry_of(p, top, first));
  }
  return one;
}

/* Is place i left out: of a PRODUCT, with its other factor? */
static bool
place_left_out(const point *p, const step *st, const source *x, size_t i, size_t e)
{
  return left_out(p, x[i], e) || (st->kind == PRODUCT && left_out(p, x[i ^ 1], e));
}

/* ---- Numbers: ZERO, odd ones for constants, others for functions: 4 k for one, 4 k + 2 for minus it */

/* A step at a sample (or all). A *patch* is what a row of sources reads: an identity for each place. */
typedef struct {
  const point *p;
  const step *st;
  size_t s, sample, rows, positions; /* rows of factors; rows of sources, for each sample of the group */
  sequences patches, others;
  size_t *patch; /* of each position: EMPTY, or its number + 2; 0: not known yet */
  bool *told;    /* does a place of it tell rows of factors apart? */
  size_t *line;  /* of a SOFTMAX or NORMALIZE step's line, at its first entry: its number + 1; 0: not known yet */
  size_t base;
} naming;
#define EMPTY 1         /* all of its places are left out */
#define LINE_NAMED 1024 /* entries, at most, of a NORMALIZE step's line that is told by them */

static bool
has_lines(const step *st)
{
  return st->kind == SOFTMAX || st->kind == NORMALIZE;
}

static naming
naming_begin(const point *p, size_t s, size_t sample)
{
  const step *st = &p->net->steps[s];
  size_t positions = rows_of_sources(st) * (p->net->batch / p->net->apart);
  return (naming){.p = p,
                  .st = st,
                  .s = s,
                  .sample = sample,
                  .rows = st->uniform ? 1 : rows_of_factors(st),
                  .positions = positions,
                  .patch = allocate(positions, sizeof(size_t)),
                  .told = allocate(positions, sizeof(bool)),
                  .line = allocate(has_lines(st) ? entries(p, s) / p->net->apart : 0, sizeof(size_t)),
                  .base = p->n_same[sample]};
}

/* Function numbers are taken for all positions under all rows, and for each entry once more. */
static void
naming_end(naming *a)
{
  size_t more, *all = &a->p->n_same[a->sample];
  bool huge = __builtin_mul_overflow(a->positions, a->rows, &more) || __builtin_add_overflow(more, a->st->n, &more)
              || __builtin_mul_overflow(more, a->p->net->batch, &more) || __builtin_add_overflow(*all, more, all)
              || *all > SIZE_MAX / 8;
  expect(!huge, "too many functions to be numbered");
  sequences_free(&a->patches);
  sequences_free(&a->others);
  free(a->patch);
  free(a->told);
  free(a->line);
}

static size_t
function_number(size_t k)
{
  return 4 * k + 4;
}

/* The number of minus a function that is no constant. */
static size_t
turned_number(size_t number)
{
  return number ^ 2;
}

static size_t
constant_number(const naming *a, const rational *q)
{
  sequences *constants = &a->p->constants[a->sample];
  if (mpq_sgn(q) == 0)
    return ZERO;
  put_rational(constants, q);
  return 2 * end_sequence(constants) + 3;
}

/* The position at which entry e is; names its patch. */
static size_t
position_of(naming *a, size_t e)
{
  const point *p = a->p;
  const step *st = a->st;
  size_t batch = p->net->batch, row = st->source_row[e / batch];
  size_t at = row * (batch / p->net->apart) + e % batch / p->net->apart;
  const source *x = &st->sources[row * st->width];
  bool empty = true;
  if (a->patch[at] != 0)
    return at;
  for (size_t i = 0; i < st->width; i++) {
    bool out = place_left_out(p, st, x, i, e);
    put_word(&a->patches, out ? 0 : x[i].step == NONE ? 1 : same_as(p, x[i].step, entry_of(p, x[i], e)));
    empty = empty && out;
    a->told[at] = a->told[at] || st->uniform || (!out && st->telling[i]);
  }
  size_t number = end_sequence(&a->patches);
  a->patch[at] = empty ? EMPTY : number + 2;
  return at;
}

/* Is the entry 0, a sum of places left out, or in a NORMALIZE step's line of one function, which is its mean? (Of such
 * a line the entries before e have what same holds.) */
static bool
vanishes(naming *a, size_t e)
{
  bool sum = a->st->kind == LINEAR || a->st->kind == OVER_ROOT || a->st->kind == PRODUCT;
  if (sum && a->patch[position_of(a, e)] == EMPTY)
    return true;
  return a->st->kind == NORMALIZE && one_function(a->p, a->s, e);
}

/* What tells a factor from others at its place: its coefficient; an initializer's entry is itself, another weight its value. */
static void
put_factor(naming *a, const factor *t)
{
  bool number = t->w != NULL && !t->w->initializer;
  put_word(&a->others, constant_number(a, t->coef));
  put_word(&a->others, (uintptr_t)t->w);
  put_word(&a->others, number ? constant_number(a, &t->w->value[t->at]) : t->at);
}

/* The number of the line that has entry e, told by its arguments, place by place. Of a NORMALIZE step a line of all samples, or a long
 * one, has its own, which is even. */
static size_t
line_number(naming *a, size_t e)
{
  const point *p = a->p;
  size_t m = line_length(p, a->st), first = line_entry(p, a->st, e, 0), *line = &a->line[first / p->net->apart];
  if (a->st->kind == NORMALIZE && (a->st->couples || m > LINE_NAMED))
    return 2 * first;
  if (*line == 0) {
    for (size_t i = 0; i < m; i++) {
      size_t other = line_entry(p, a->st, e, i);
      source x = read_by(p, a->st, other);
      put_word(&a->patches, same_as(p, x.step, entry_of(p, x, other)));
    }
    *line = end_sequence(&a->patches) + 1;
  }
  return 2 * *line + 1;
}

/* An entry's number is told by its patch and its row of factors; in a step of lines, by its line, too. */
static size_t
entry_number(naming *a, size_t e)
{
  const step *st = a->st;
  size_t at = position_of(a, e), f = e / a->p->net->batch, all = a->positions * a->rows;
  const factor *t = &st->factors[st->factor_row[f] * st->width];
  const source *x = &st->sources[st->source_row[f] * st->width];
  if (!has_lines(st) && a->told[at] && a->patch[at] != EMPTY) {
    size_t row = st->uniform ? 0 : st->factor_row[f];
    return function_number(a->base + (a->patch[at] - 2) * a->rows + row);
  }
  put_word(&a->others, a->patch[at]);
  put_word(&a->others, has_lines(st) ? line_number(a, e) : 0);
  for (size_t i = 0; i < st->width; i++)
    if (!place_left_out(a->p, st, x, i, e))
      put_factor(a, &t[i]);
  return function_number(a->base + all + end_sequence(&a->others));
}

/* The value, where it is constant and known exactly; else NULL. */
static const rational *
constant_value(const point *p, size_t s, size_t e)
{
  if (p->degree[s][e] > 0)
    return NULL;
  if (p->net->steps[s].kind == INPUT)
    return input_at(p, &p->net->steps[s], e);
  const interval *y = value_at(p, s, e);
  return interval_exact(y) ? &y->lo : NULL;
}

/* Is an entry another one, or minus it, whose identity is no constant's? */
static bool
is_turned(const point *p, const step *st, size_t e)
{
  source x = st->turned ? term_at(p, st, e, 0).x : (source){NONE, 0};
  return x.step < PADDING && same_as(p, x.step, entry_of(p, x, e)) % 2 == 0;
}

/* The only term of a sum, the others being padding, if nothing multiplies it: where nothing is scattered to, say. Else a constant. */
static source
only_term(const point *p, const step *st, size_t e)
{
  const source constant = {NONE, 0};
  source only = constant;
  for (size_t i = 0; i < st->width && st->kind == LINEAR; i++) {
    const term t = term_at(p, st, e, i);
    if (t.x.step == PADDING)
      continue;
    if (t.x.step == NONE || only.step != NONE || t.by.w != NULL || mpq_cmp_ui(t.by.coef, 1, 1) != 0)
      return constant;
    only = t.x;
  }
  return only;
}

/* What an entry copies: the source of a copy; the first tied entry of a window that is not touched; or the only term of a sum. Or else a
 * constant. */
static source
copied(const point *p, const step *st, size_t s, size_t e)
{
  if (st->kind == WINDOW && p->place[s][e] < TOUCHED)
    return term_at(p, st, e, p->place[s][e]).x;
  return st->copy ? term_at(p, st, e, 0).x : only_term(p, st, e);
}

/* The number of entry e, the i-th of its sample. What is found to be constant has degree 0. */
static size_t
name_entry(naming *a, size_t e, size_t i)
{
  const point *p = a->p;
  source x = copied(p, a->st, a->s, e);
  const rational *constant = constant_value(p, a->s, e);
  if (constant != NULL)
    return constant_number(a, constant);
  if (x.step < PADDING)
    return same_as(p, x.step, entry_of(p, x, e));
  if (is_turned(p, a->st, e)) {
    term t = term_at(p, a->st, e, 0);
    size_t number = same_as(p, t.x.step, entry_of(p, t.x, e));
    return mpq_sgn(t.by.coef) < 0 ? turned_number(number) : number;
  }
  if (vanishes(a, e)) {
    p->degree[a->s][e] = 0;
    return ZERO;
  }
  if (a->st->kind != WINDOW)
    return entry_number(a, e);
  return function_number(a->base + a->positions * a->rows + i);
}

/* Fills same for a sample of a step, or all when they are coupled, and of those that it reads. */
static void
identify(const point *p, size_t s, size_t sample)
{
  const step *st = &p->net->steps[s];
  cell none = {.degree = p->degree};
  size_t apart = p->net->apart;
  for (size_t i = 0, from; i < st->n_sources; i++)
    if ((from = st->sources[i].step) < PADDING && p->same[from][sample] == NULL)
      identify(p, from, sample);
  cell_settle_step(&none, p, s, sample, false);
  naming a = naming_begin(p, s, sample);
  p->same[s][sample] = allocate(entries(p, s) / apart, sizeof(size_t));
  for (size_t e = sample, i = 0; e < entries(p, s); e += apart, i++)
    p->same[s][sample][i] = name_entry(&a, e, i);
  naming_end(&a);
}

size_t
same_as(const point *p, size_t s, size_t e)
{
  size_t apart = p->net->apart;
  if (p->same[s][e % apart] == NULL)
    identify(p, s, e % apart);
  return p->same[s][e % apart][e / apart];
}

int
one_identity_turned(const point *p, size_t s, size_t e, size_t s2, size_t e2)
{
  if (e % p->net->apart != e2 % p->net->apart)
    return 0;
  size_t a = same_as(p, s, e), b = same_as(p, s2, e2);
  return a == b ? 1 : a % 2 == 0 && b == turned_number(a) ? -1 : 0;
}

void
identities_forget(const point *p, size_t sample)
{
  for (size_t s = 0; s < p->net->n_steps; s++) {
    free(p->same[s][sample]);
    p->same[s][sample] = NULL;
  }
  sequences_free(&p->constants[sample]);
  p->n_same[sample] = 0;
}

/* ---- Rows of factors */

void
rows_prepare(step *st)
{
  const factor *t = st->factors, *next;
  size_t width = st->width;
  st->alike = st->uniform = true;
  st->telling = allocate(width, sizeof(bool));
  for (size_t i = 0; i < width; i++)
    st->telling[i] = t[i].w != NULL && t[i].w->initializer;
  for (size_t i = width; i < st->n_factors; i++, t++) {
    next = t + width;
    bool moves = t->w != NULL && t->w->wrt, still = next->w == NULL || !next->w->wrt;
    st->alike = st->alike && moves != still;
    st->uniform = st->uniform && next->coef == t->coef && next->w == t->w && next->at == t->at;
    st->telling[i % width] = st->telling[i % width] && next->at > t->at;
  }
}
