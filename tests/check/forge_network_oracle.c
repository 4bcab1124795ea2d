#include "forge_network_oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const operator_name[] = {"Abs", "Clip", "HardSigmoid", "HardSwish", "LeakyRelu", "PRelu", "Relu"};
const size_t operator_kinks[] = {1, 2, 2, 2, 1, 1, 1};
const char *const pool_name[] = {"GlobalMaxPool", "MaxPool", "Maximum", "Minimum", "ReduceMax", "ReduceMin", "TopK"};
const char *const pool_node[] = {"GlobalMaxPool", "MaxPool", "Max", "Min", "ReduceMax", "ReduceMin", "TopK"};
const char *const loss_name[] = {"sum", "mse", "ce"};

/* --- formulas ------------------------------------------------------------------------------------- */

size_t
formula_put(formula *f, instruction i, size_t n, const size_t *in)
{
  if (f->n == f->room) {
    f->room = f->room == 0 ? 64 : 2 * f->room;
    f->at = realloc(f->at, f->room * sizeof *f->at);
  }
  i.n = n;
  i.in = malloc((n + 1) * sizeof *i.in);
  for (size_t k = 0; k < n; k++)
    i.in[k] = in[k];
  if (i.number.d == 0)
    i.number.d = 1;
  f->at[f->n] = i;
  return f->n++;
}

void
formula_clear(formula *f)
{
  for (size_t i = 0; i < f->n; i++) {
    free(f->at[i].in);
    free(f->at[i].coef);
    free(f->at[i].from);
  }
  free(f->at);
  memset(f, 0, sizeof *f);
}

static const series *
linear(const instruction *i, const series *const *y)
{
  const series *sum = series_small(i->number);

  for (size_t k = 0; k < i->n; k++)
    sum = series_add(sum, y[i->in[k]], i->coef != NULL ? i->coef[k] : (small){1, 1});
  return sum;
}

/* What has no sides. */
static const series *
smooth(const instruction *i, const claim *c, const series *const *y)
{
  switch (i->what) {
  case DO_NUMBER:
    return series_add(series_small(i->number), series_number(i->real), (small){1, 1});
  case DO_WEIGHT:
    return c->variable[i->weight] == NOWHERE ? series_number(c->weight[i->weight])
                                             : series_variable(c->variable[i->weight], c->weight[i->weight]);
  case DO_LINEAR:
    return linear(i, y);
  case DO_PRODUCT:
    return series_product(y[i->in[0]], y[i->in[1]]);
  case DO_EXP:
    return series_of(SERIES_EXP, y[i->in[0]]);
  case DO_LOG:
    return series_of(SERIES_LOG, y[i->in[0]]);
  case DO_INVERSE:
    return series_of(SERIES_INVERSE, y[i->in[0]]);
  case DO_ROOT:
    return series_of(SERIES_ROOT, y[i->in[0]]);
  default:
    return NULL;
  }
}

static const series *
less(const series *a, const series *b)
{
  return series_add(a, b, (small){-1, 1});
}

static const series *
on_piece(const instruction *i, size_t p, const series *const *y)
{
  const series *x = y[i->in[0]];
  const small *c = i->pieces.coef[p];

  if (p == 0 && i->slope != NOWHERE)
    return series_product(y[i->slope], x);
  if (c[2].n == 0)
    return series_add(series_small(c[0]), x, c[1]);
  return series_add(series_add(series_small(c[0]), x, c[1]), series_product(x, x), c[2]);
}

/* The sign of its argument less kink j. */
static int
beside(const instruction *i, size_t j, const series *const *y)
{
  return series_sign(less(y[i->in[0]], series_small(i->pieces.kink[j])));
}

size_t
kink_at(const formula *f, size_t i, const series *const *y)
{
  for (size_t j = 0; j < f->at[i].pieces.n_kinks; j++)
    if (beside(&f->at[i], j, y) == 0)
      return j;
  return NOWHERE;
}

static size_t
piece_at(const instruction *i, const series *const *y)
{
  size_t p = 0;

  while (p < i->pieces.n_kinks && beside(i, p, y) > 0)
    p++;
  return p;
}

void
side_slope(mpq_t slope, const formula *f, size_t i, size_t j, bool right, const series *const *y)
{
  const instruction *at = &f->at[i];
  mpq_t t, kink;

  if (j + right == 0 && at->slope != NOWHERE) {
    mpq_set(slope, series_coefficient(y[at->slope], 0));
    return;
  }
  mpq_inits(t, kink, NULL);
  number_of(slope, at->pieces.coef[j + right][1]);
  number_of(t, at->pieces.coef[j + right][2]);
  number_of(kink, at->pieces.kink[j]);
  mpq_mul(t, t, kink);
  mpq_add(slope, slope, t);
  mpq_add(slope, slope, t);
  mpq_clears(t, kink, NULL);
}

size_t
tied_entries(bool *tied, const formula *f, size_t i, const series *const *y)
{
  const instruction *at = &f->at[i];
  size_t best = 0, n = 0;

  for (size_t k = 1; k < at->n; k++)
    if (series_sign(less(y[at->in[k]], y[at->in[best]])) > 0)
      best = k;
  for (size_t k = 0; k < at->n; k++) {
    tied[k] = series_sign(less(y[at->in[k]], y[at->in[best]])) == 0;
    n += tied[k];
  }
  return n;
}

/* --- AD, and chosen sides --------------------------------------------------------------------------- */

/* The value, and slope times the argument's derivative. */
static const series *
sloped(const instruction *i, size_t j, const mpq_t slope, const series *const *y)
{
  const series *value = on_piece(i, j, y), *tangent = series_times(series_linear_part(y[i->in[0]]), slope);

  return series_add(less(value, series_linear_part(value)), tangent, (small){1, 1});
}

static const series *
at_kink(const formula *f, const claim *c, size_t i, size_t j, int side, const series *const *y)
{
  const instruction *at = &f->at[i];
  const proxy *p = &c->proxy[at->operator][at->pieces.first + j];
  const series *result;
  mpq_t slope, other;

  mpq_inits(slope, other, NULL);
  side_slope(slope, f, i, j, false, y);
  side_slope(other, f, i, j, true, y);
  if (side > 0 || (side == 0 && p->kind == PROXY_RIGHT))
    mpq_set(slope, other);
  else if (side == 0 && p->kind == PROXY_NUMBER && !mpq_equal(slope, other))
    number_of(slope, p->number);
  result = sloped(at, j, slope, y);
  mpq_clears(slope, other, NULL);
  return result;
}

static const series *
at_tie(const formula *f, const claim *c, size_t i, const bool *tied, size_t n, const series *const *y)
{
  const instruction *at = &f->at[i];
  const tie *t = &c->tie[at->operator];
  const series *sum = series_small((small){0, 1}), *own;
  size_t first = 0, last = at->n - 1;
  mpq_t share;

  while (!tied[first])
    first++;
  while (!tied[last])
    last--;
  own = y[at->in[t->rule == TIE_LAST ? last : first]];
  if (t->rule == TIE_FIRST || t->rule == TIE_LAST)
    return own;
  for (size_t k = 0; k < at->n; k++)
    if (tied[k])
      sum = series_add(sum, y[at->in[k]], (small){1, (long)n});
  if (t->rule == TIE_MEAN)
    return sum;
  mpq_init(share);
  number_of(share, t->share);
  sum = series_add(own, series_times(less(sum, own), share), (small){1, 1});
  mpq_clear(share);
  return sum;
}

/* An exponential that the series cannot tell from 0, or that hides what is added to it? */
static bool
is_steep(const instruction *i, const series *const *y)
{
  return i->what == DO_EXP && fabs(mpq_get_d(series_coefficient(y[i->in[0]], 0))) > 40;
}

bool
formula_follow(const series **y, const formula *f, const claim *c, const int *side)
{
  bool steep = false;

  series_degree = 1;
  for (size_t i = 0; i < f->n; i++) {
    const instruction *at = &f->at[i];
    int own = side != NULL ? side[i] : 0;

    steep = is_steep(at, y);
    if (steep)
      break;
    if (at->what == DO_PIECES) {
      size_t j = kink_at(f, i, y);

      y[i] = j != NOWHERE ? at_kink(f, c, i, j, own, y) : on_piece(at, piece_at(at, y), y);
    } else if (at->what == DO_LARGEST) {
      bool *tied = malloc(at->n + 1);
      size_t n = tied_entries(tied, f, i, y);

      y[i] = own > 0 ? y[at->in[own - 1]] : at_tie(f, c, i, tied, n, y);
      free(tied);
    } else {
      y[i] = smooth(at, c, y);
    }
  }
  series_degree = MOST_DEGREE;
  return !steep;
}

void
gradient_of(mpq_t *g, const series *y, size_t dim)
{
  for (size_t i = 0; i < dim; i++)
    mpq_set(g[i], series_coefficient(y, variable(i)));
}

/* --- arcs -------------------------------------------------------------------------------------------- */

enum { ARCS = 48, ORDERS = 9, EXPONENTS = MOST_DEGREE + 1 };

/* Powers of each variable's displacement along each arc, by the order of e; small whole numbers. */
static int64_t arc_power[ARCS][MOST_VARIABLES][EXPONENTS][ORDERS];

static long
arc_step(uint64_t *state, size_t arc, unsigned order)
{
  long wide = arc % 3 == 0 ? 1 : arc % 3 == 1 ? 2 : 7;

  *state = *state * 6364136223846793005u + 1442695040888963407u;
  if (order > 1 && arc % 2 == 0)
    return 0;
  return (long)((*state >> 33) % (uint64_t)(2 * wide + 1)) - wide;
}

static void
arcs_begin(void)
{
  uint64_t state = 5;

  for (size_t a = 0; a < ARCS; a++)
    for (size_t v = 0; v < MOST_VARIABLES; v++) {
      int64_t step[4] = {0};

      for (unsigned k = 1; k < 4; k++)
        step[k] = arc_step(&state, a, k);
      arc_power[a][v][0][0] = 1;
      for (size_t e = 1; e < EXPONENTS; e++)
        for (size_t o = 0; o < ORDERS; o++)
          for (size_t k = 1; k < 4 && k <= o; k++)
            arc_power[a][v][e][o] += step[k] * arc_power[a][v][e - 1][o - k];
    }
}

/* The monomial along the arc, by the order of e. */
static void
along_arc(int64_t *x, powers p, size_t arc)
{
  memset(x, 0, ORDERS * sizeof *x);
  x[0] = 1;
  for (size_t v = 0; v < MOST_VARIABLES; v++) {
    const int64_t *by = arc_power[arc][v][exponent_of(p, v)];
    int64_t t[ORDERS] = {0};

    if (exponent_of(p, v) == 0)
      continue;
    for (size_t i = 0; i < ORDERS; i++)
      for (size_t j = 0; i + j < ORDERS && x[i] != 0; j++)
        t[i + j] += x[i] * by[j];
    memcpy(x, t, sizeof t);
  }
}

/* The sign of the condition for all small e > 0; 0 when it is not seen. */
static int
sign_along(const series *q, size_t arc)
{
  mpq_t sum[ORDERS], t;
  int64_t x[ORDERS];
  int sign = 0;
  size_t seen = q->cut ? MOST_DEGREE + 1 : ORDERS;

  mpq_init(t);
  for (size_t o = 0; o < ORDERS; o++)
    mpq_init(sum[o]);
  for (size_t i = 0; i < q->n; i++) {
    along_arc(x, q->term[i].of, arc);
    for (size_t o = 0; o < seen; o++)
      if (x[o] != 0) {
        mpq_set_si(t, x[o], 1);
        mpq_mul(t, t, q->term[i].c);
        mpq_add(sum[o], sum[o], t);
      }
  }
  for (size_t o = 0; o < seen && sign == 0; o++)
    sign = number_sign(sum[o], q->rounded);
  for (size_t o = 0; o < ORDERS; o++)
    mpq_clear(sum[o]);
  mpq_clear(t);
  return sign;
}

enum { MOST_STEPS = 4000 };

/* --- the walk ------------------------------------------------------------------------------------------ */

typedef struct {
  const formula *f;
  const claim *c;
  const series **y;
  const series *positive[MOST_CONDITIONS]; /* what the pattern asks to be so */
  size_t n_positive, steps;
  bool *before; /* is the instruction before a kink or window? Of the others only gradients matter */
  gradients *found;
} walk;

/* The monomials of the conditions. */
static size_t
collect_powers(powers *list, const walk *w)
{
  size_t n = 0;

  for (size_t k = 0; k < w->n_positive; k++)
    for (size_t i = 0; i < w->positive[k]->n && n < 256; i++) {
      size_t at = 0;

      while (at < n && list[at] != w->positive[k]->term[i].of)
        at++;
      if (at == n)
        list[n++] = w->positive[k]->term[i].of;
    }
  return n;
}

static bool
is_square(powers p)
{
  bool even = true;

  for (size_t v = 0; v < MOST_VARIABLES; v++)
    even = even && exponent_of(p, v) % 2 == 0;
  return even;
}

/* Is some positive combination of the conditions, which are exact and whole, and of squares identically zero? */
static bool
impossible(const walk *w)
{
  powers list[256];
  size_t rows = collect_powers(list, w), n = 0;
  mpq_t **a = malloc((w->n_positive + rows + 1) * sizeof *a), *b = numbers(rows + 1), *x, distance;
  bool yes;

  for (size_t k = 0; k < w->n_positive; k++) {
    if (w->positive[k]->rounded || w->positive[k]->cut)
      continue;
    a[n] = numbers(rows + 1);
    for (size_t r = 0; r < rows; r++)
      mpq_set(a[n][r], series_coefficient(w->positive[k], list[r]));
    mpq_set_si(a[n++][rows], 1, 1);
  }
  for (size_t r = 0; r < rows; r++)
    if (is_square(list[r])) {
      a[n] = numbers(rows + 1);
      mpq_set_si(a[n++][r], 1, 1);
    }
  mpq_set_si(b[rows], 1, 1);
  x = numbers(n);
  mpq_init(distance);
  nearest(distance, x, rows + 1, n, a, b);
  yes = mpq_sgn(distance) == 0;
  mpq_clear(distance);
  numbers_free(x, n);
  numbers_free(b, rows + 1);
  while (n > 0)
    numbers_free(a[--n], rows + 1);
  free(a);
  return yes;
}

/* Is each condition a linear form, known exactly? Then what is not impossible occurs (Gordan). */
static bool
all_linear(const walk *w)
{
  bool all = true;

  for (size_t k = 0; k < w->n_positive; k++) {
    const series *q = w->positive[k];

    all = all && !q->rounded && !q->cut && (q->n == 0 || degree_of(q->term[q->n - 1].of) == 1);
  }
  return all;
}

static bool
some_arc(const walk *w)
{
  for (size_t a = 0; a < ARCS; a++) {
    size_t k = 0;

    while (k < w->n_positive && sign_along(w->positive[k], a) > 0)
      k++;
    if (k == w->n_positive)
      return true;
  }
  return false;
}

static void
add_leaf(walk *w)
{
  gradients *g = w->found;
  const series *y = w->y[w->f->loss[w->c->loss]];
  mpq_t *gradient = numbers(g->dim);
  bool occurs = all_linear(w) || some_arc(w);
  size_t i = 0;

  gradient_of(gradient, y, g->dim);
  g->rounded = g->rounded || y->rounded;
  g->patterns++;
  while (i < g->n && !same_vector(g->leaf[i].gradient, gradient, g->dim, y->rounded))
    i++;
  if (i < g->n) {
    g->leaf[i].occurs = g->leaf[i].occurs || occurs;
    numbers_free(gradient, g->dim);
  } else if (g->n < MOST_LEAVES) {
    g->leaf[g->n++] = (leaf){gradient, occurs};
  } else {
    g->known = false;
    numbers_free(gradient, g->dim);
  }
}

static void walk_from(walk *w, size_t i);

/* With n more conditions, and the instruction's value. */
static void
walk_side(walk *w, size_t i, const series *value, size_t n)
{
  w->n_positive += n;
  w->found->known = w->found->known && ++w->steps < MOST_STEPS;
  if (w->found->known && (n == 0 || !impossible(w))) {
    w->y[i] = value;
    walk_from(w, i + 1);
  }
  w->n_positive -= n;
}

static void
walk_pieces(walk *w, size_t i)
{
  const instruction *at = &w->f->at[i];
  size_t j = kink_at(w->f, i, w->y);
  const series *q;

  if (j == NOWHERE) {
    walk_side(w, i, on_piece(at, piece_at(at, w->y), w->y), 0);
    return;
  }
  q = less(w->y[at->in[0]], series_small(at->pieces.kink[j]));
  if (q->n == 0) { /* constant near the weights, unless something was cut */
    w->found->known = w->found->known && !q->cut;
    walk_side(w, i, on_piece(at, j, w->y), 0);
    return;
  }
  if (w->n_positive == MOST_CONDITIONS) {
    w->found->known = false;
    return;
  }
  for (size_t right = 0; right < 2; right++) {
    w->positive[w->n_positive] = right ? q : less(series_small((small){0, 1}), q);
    walk_side(w, i, on_piece(at, j + right, w->y), 1);
  }
}

/* Entry k less each tied entry of another function: conditions; how many, or NOWHERE when k is a copy of an earlier one. */
static size_t
ask_largest(walk *w, const instruction *at, size_t k, const bool *tied)
{
  size_t n = 0;

  for (size_t o = 0; o < at->n; o++) {
    const series *q = less(w->y[at->in[k]], w->y[at->in[o]]);

    if (!tied[o] || o == k)
      continue;
    if (q->n == 0) {
      w->found->known = w->found->known && !q->cut;
      if (o < k)
        return NOWHERE;
      continue;
    }
    if (w->n_positive + n == MOST_CONDITIONS) {
      w->found->known = false;
      return NOWHERE;
    }
    w->positive[w->n_positive + n++] = q;
  }
  return n;
}

static void
walk_largest(walk *w, size_t i)
{
  const instruction *at = &w->f->at[i];
  bool *tied = malloc(at->n + 1);

  tied_entries(tied, w->f, i, w->y);
  for (size_t k = 0; k < at->n; k++) {
    size_t n = tied[k] ? ask_largest(w, at, k, tied) : NOWHERE;

    if (n != NOWHERE)
      walk_side(w, i, w->y[at->in[k]], n);
  }
  free(tied);
}

static void
walk_from(walk *w, size_t i)
{
  size_t mark = series_mark();

  for (; i < w->f->n; i++) {
    action what = w->f->at[i].what;

    series_degree = MOST_DEGREE;
    if (what == DO_PIECES || what == DO_LARGEST) {
      (what == DO_PIECES ? walk_pieces : walk_largest)(w, i);
      series_release(mark);
      return;
    }
    series_degree = w->before[i] ? MOST_DEGREE : 1;
    w->y[i] = smooth(&w->f->at[i], w->c, w->y);
  }
  if (w->found->known)
    add_leaf(w);
  series_release(mark);
}

static void
mark_before(bool *before, const formula *f)
{
  for (size_t i = f->n; i-- > 0;) {
    const instruction *at = &f->at[i];
    bool kinked = at->what == DO_PIECES || at->what == DO_LARGEST;

    for (size_t k = 0; k < at->n; k++)
      before[at->in[k]] = before[at->in[k]] || before[i] || kinked;
    if (at->slope != NOWHERE)
      before[at->slope] = true;
  }
}

void
gradients_find(gradients *g, const formula *f, const claim *c)
{
  walk w = {.f = f, .c = c, .y = malloc((f->n + 1) * sizeof *w.y), .before = calloc(f->n + 1, 1), .found = g};

  if (arc_power[0][0][0][0] == 0)
    arcs_begin();
  *g = (gradients){.known = true, .dim = c->n_variables};
  mark_before(w.before, f);
  walk_from(&w, 0);
  series_degree = MOST_DEGREE;
  free(w.before);
  free(w.y);
}

void
gradients_clear(gradients *g)
{
  for (size_t i = 0; i < g->n; i++)
    numbers_free(g->leaf[i].gradient, g->dim);
  g->n = 0;
}

/* --- answers ---------------------------------------------------------------------------------------------- */

bool
same_vector(mpq_t *a, mpq_t *b, size_t n, bool rounded)
{
  bool same = true;
  mpq_t t;

  mpq_init(t);
  for (size_t i = 0; i < n && same; i++) {
    mpq_sub(t, a[i], b[i]);
    same = number_sign(t, rounded) == 0;
  }
  mpq_clear(t);
  return same;
}

answer
is_bouligand(const gradients *g, mpq_t *ad, bool rounded)
{
  answer is = NO;

  for (size_t i = 0; i < g->n && is != YES; i++)
    if (same_vector(g->leaf[i].gradient, ad, g->dim, rounded || g->rounded))
      is = g->leaf[i].occurs ? YES : UNKNOWN;
  return g->known ? is : UNKNOWN;
}

/* Is it in the hull of those that occur, or of all? */
static bool
inside(const gradients *g, mpq_t *ad, bool rounded, bool all)
{
  mpq_t **a = malloc((g->n + 1) * sizeof *a), *b = numbers(g->dim + 1), *x = numbers(g->n), distance;
  size_t n = 0;
  bool is;

  mpq_init(distance);
  for (size_t i = 0; i < g->n; i++) {
    if (!all && !g->leaf[i].occurs)
      continue;
    a[n] = numbers(g->dim + 1);
    for (size_t k = 0; k < g->dim; k++)
      mpq_set(a[n][k], g->leaf[i].gradient[k]);
    mpq_set_si(a[n++][g->dim], 1, 1);
  }
  for (size_t k = 0; k < g->dim; k++)
    mpq_set(b[k], ad[k]);
  mpq_set_si(b[g->dim], 1, 1);
  nearest(distance, x, g->dim + 1, n, a, b);
  is = number_sign(distance, rounded || g->rounded) == 0;
  while (n > 0)
    numbers_free(a[--n], g->dim + 1);
  free(a);
  mpq_clear(distance);
  numbers_free(b, g->dim + 1);
  numbers_free(x, g->n);
  return is;
}

answer
is_clarke(const gradients *g, mpq_t *ad, bool rounded)
{
  if (!g->known)
    return UNKNOWN;
  return inside(g, ad, rounded, false) ? YES : inside(g, ad, rounded, true) ? UNKNOWN : NO;
}
