/* Near values in doubles (near_rough.h).
 *
 * An entry's value is within r of c. A LINEAR step's terms are added up in blocks, and the blocks' sums: a term goes through n operations at
 * most, a product and additions, n being BLOCK + 1 and the number of blocks. c = S, the sum of w x in doubles, w being cut to a double's
 * digits. With |x - v| <= r of each term's value v, S is off by at most the sum of |w| (r + |x| n 2^-53), for its rounding, and of |w| 2^-52
 * |x|, for what was cut, and a little. M is the sum of |w| (r + |x| e), e = (n + 8) 2^-52, in doubles, which loses (n + 3) 2^-53 of itself
 * at most. So M and e M are more than all of it. What products lose that underflow is less than LEAST. Numbers that doubles do not hold are
 * NaN, and decide nothing. */
#include "check/near/near_rough.h"
#include "check/base/allocate.h"
#include "check/base/limit.h"
#include "check/base/span.h"
#include "check/base/wide.h"
#include "check/kernel/evaluate.h"
#include "check/kernel/identity.h"
#include "check/kernel/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LANES 8
#define GROUP 4 /* features that are summed up at once */
#define BLOCK 64
#define LEAST 0x1p-900
#define MOST_TERMS ((size_t)1 << 32)
#define SHARE 4 /* of the memory that a check may have: one in so many bytes is for doubles */

typedef double lanes __attribute__((vector_size(8 * LANES), aligned(8), may_alias));
typedef int64_t lane_bits __attribute__((vector_size(8 * LANES)));

#define absolute(x) (lanes)((lane_bits)(x)&INT64_MAX)

/* Entry f * samples + b of a step; samples: of the batch, rounded up to lanes. */
typedef struct {
  double *c, *r;
} rough;

typedef struct {
  point *p;
  rough *v;     /* by step; behind them 1 */
  size_t *last; /* by step: the last that reads it */
  size_t samples;
  bool *open; /* of each sample: some place before is not known */
} pass;

static span
span_at(const rough *v, size_t i)
{
  return (span){span_below(v->c[i] - v->r[i]), span_above(v->c[i] + v->r[i])};
}

/* What is between its ends, and as far from it as the farther one. */
static void
put_span(const rough *v, size_t i, span x)
{
  double c = x.lo == x.hi ? x.lo : x.lo / 2 + x.hi / 2, above = span_above(x.hi - c), below = span_above(c - x.lo);
  v->c[i] = c;
  v->r[i] = x.lo == x.hi ? 0 : above > below ? above : below;
}

/* ---- Kinds of steps */

static void
rough_inputs(const pass *a, size_t s)
{
  const point *p = a->p;
  for (size_t e = 0; e < entries(p, s); e++)
    put_span(&a->v[s], e / p->net->batch * a->samples + e % p->net->batch, span_of(input_at(p, &p->net->steps[s], e)));
}

/* Cut to a double's digits; NaN where it has none. */
static double
weight_of(const step *st, const factor *t)
{
  RATIONAL(q);
  if (t->w != NULL && t->coef == &plus_one)
    return mpq_sgn(&t->w->value[t->at]) == 0 ? 0 : number_in_double(&t->w->value[t->at]);
  weigh(st, t, false, &q);
  return mpq_sgn(&q) == 0 ? 0 : number_in_double(&q);
}

static double *
weights_of(const step *st)
{
  double *w = allocate(st->n_factors, sizeof *w);
  for (size_t i = 0; i < st->n_factors; i++)
    w[i] = weight_of(st, &st->factors[i]);
  return w;
}

/* Terms of a row of sources for LANES samples: where x and r of each begin; NULL: padding. */
typedef struct {
  const double **x, **r;
  size_t width;
  double part; /* e */
} row;

/* GROUP features, whose factors are w[0], ...: to c and r. */
static WIDE void
add_group(const row *of, const double *const *w, double *const *c, double *const *r)
{
  lanes all[GROUP] = {{0}}, all_sizes[GROUP] = {{0}};
  for (size_t first = 0; first < of->width; first += BLOCK) {
    size_t end = of->width - first < BLOCK ? of->width : first + BLOCK;
    lanes sum[GROUP] = {{0}}, size[GROUP] = {{0}};
    for (size_t i = first; i < end; i++) {
      if (of->x[i] == NULL)
        continue;
      lanes x = *(const lanes *)of->x[i], off = *(const lanes *)of->r[i] + absolute(x) * of->part;
      for (size_t k = 0; k < GROUP; k++) {
        sum[k] += x * w[k][i];
        size[k] += off * fabs(w[k][i]);
      }
    }
    for (size_t k = 0; k < GROUP; k++) {
      all[k] += sum[k];
      all_sizes[k] += size[k];
    }
  }
  for (size_t k = 0; k < GROUP; k++) {
    *(lanes *)c[k] = all[k];
    *(lanes *)r[k] = all_sizes[k] * (1 + of->part) + LEAST;
  }
}

/* The features that have one row of sources, in groups; the last feature more than once. */
static void
add_row(const pass *a, size_t s, const row *of, const double *w, const size_t *feature, size_t n, size_t b)
{
  const step *st = &a->p->net->steps[s];
  const double *by[GROUP];
  double *c[GROUP], *r[GROUP];
  for (size_t i = 0; i < n; i += GROUP) {
    for (size_t k = 0; k < GROUP; k++) {
      size_t f = feature[i + k < n ? i + k : n - 1];
      by[k] = w + st->factor_row[f] * st->width;
      c[k] = a->v[s].c + f * a->samples + b;
      r[k] = a->v[s].r + f * a->samples + b;
    }
    add_group(of, by, c, r);
  }
}

/* order: features by their row of sources; those of row k from start[k] on. */
static size_t *
sort_features(const step *st, size_t **start)
{
  size_t rows = rows_of_sources(st), *order = allocate(st->n, sizeof *order), *next = allocate(rows + 2, sizeof *next);
  for (size_t f = 0; f < st->n; f++)
    next[st->source_row[f] + 2]++;
  for (size_t k = 2; k < rows + 2; k++)
    next[k] += next[k - 1];
  for (size_t f = 0; f < st->n; f++)
    order[next[st->source_row[f] + 1]++] = f;
  *start = next;
  return order;
}

static void
rough_sums(const pass *a, size_t s)
{
  const step *st = &a->p->net->steps[s];
  size_t *start, *order = sort_features(st, &start), rows = rows_of_sources(st), one = a->p->net->n_steps;
  double *w = weights_of(st);
  row of = {allocate(st->width, sizeof *of.x), allocate(st->width, sizeof *of.r), st->width,
            ldexp((double)(BLOCK + st->width / BLOCK + 10), -52)};
  for (size_t k = 0; k < rows; k++)
    for (size_t b = 0; b < a->samples && start[k] < start[k + 1]; b += LANES) {
      for (size_t i = 0; i < st->width; i++) {
        source x = st->sources[k * st->width + i];
        const rough *from = &a->v[x.step == NONE ? one : x.step == PADDING ? s : x.step];
        size_t at = x.step == NONE ? b : x.from * a->samples + b;
        of.x[i] = x.step == PADDING ? NULL : from->c + at;
        of.r[i] = x.step == PADDING ? NULL : from->r + at;
      }
      add_row(a, s, &of, w, order + start[k], start[k + 1] - start[k], b);
    }
  free(of.x);
  free(of.r);
  free(w);
  free(order);
  free(start);
}

/* On which piece does all of x lie? NONE: that is not told. */
static size_t
piece_of(const step *st, span x, const span *at)
{
  size_t j = 0;
  while (j < st->n_kinks && x.lo > at[j].hi)
    j++;
  return j == st->n_kinks || x.hi < at[j].lo ? j : NONE;
}

/* What a PIECEWISE step has on its pieces, and where they end. */
typedef struct {
  span at[2], piece[3][3];
  bool nothing[3], same[3]; /* is it 0, or x itself? */
} pieces;

static pieces
pieces_of(const step *st)
{
  pieces y = {0};
  for (size_t j = 0; j < st->n_kinks; j++)
    y.at[j] = span_of(&st->at[j]);
  for (size_t i = 0; i <= st->n_kinks; i++) {
    const rational *c = st->piece[i];
    bool plain = mpq_sgn(&c[0]) == 0 && mpq_sgn(&c[2]) == 0;
    y.nothing[i] = plain && mpq_sgn(&c[1]) == 0;
    y.same[i] = plain && mpq_equal(&c[1], &plus_one);
    for (size_t k = 0; k < 3; k++)
      y.piece[i][k] = span_of(&c[k]);
  }
  return y;
}

/* Piece i of x, which lies on it; `slope` in the place of its own, unless NULL. */
static span
piece_at(const pieces *of, size_t i, const rational *slope, span x)
{
  span steep = slope != NULL ? span_of(slope) : of->piece[i][1];
  span y = span_add(of->piece[i][0], span_times(steep, x));
  return span_zero(of->piece[i][2]) ? y : span_add(y, span_times(of->piece[i][2], span_square(x)));
}

/* Entry e, which is number `own`, of the argument that is number i of `from`. */
static void
put_piece(const pass *a, size_t s, const pieces *of, size_t e, const rough *from, size_t i, size_t own)
{
  const step *st = &a->p->net->steps[s];
  const factor by = term_at(a->p, st, e, 0).by;
  size_t *place = &a->p->place[s][e], piece = piece_of(st, span_at(from, i), of->at);
  const rough *to = &a->v[s];
  bool weighs = piece == 0 && by.w != NULL;
  if (piece == NONE) {
    a->open[e % a->p->net->batch] = true;
    to->c[own] = NAN;
    return;
  }
  *place = *place == NONE ? piece : *place;
  if (of->same[piece] && !weighs) {
    to->c[own] = from->c[i];
    to->r[own] = from->r[i];
  } else if (!of->nothing[piece] || weighs) {
    put_span(to, own, piece_at(of, piece, weighs ? &by.w->value[by.at] : NULL, span_at(from, i)));
  }
}

static void
rough_pieces(const pass *a, size_t s)
{
  const point *p = a->p;
  const step *st = &p->net->steps[s];
  const pieces of = pieces_of(st);
  for (size_t e = 0; e < entries(p, s); e++) {
    source x = term_at(p, st, e, 0).x;
    size_t b = e % p->net->batch;
    put_piece(a, s, &of, e, &a->v[x.step], x.from * a->samples + b, e / p->net->batch * a->samples + b);
  }
}

/* Is it 0, being on a piece that is? */
static bool
is_nothing(const point *p, size_t s, size_t e)
{
  const step *st = &p->net->steps[s];
  if (st->kind != PIECEWISE || p->place[s][e] >= TOUCHED || (p->place[s][e] == 0 && term_at(p, st, e, 0).by.w != NULL))
    return false;
  return zeros(st->piece[p->place[s][e]], 3);
}

/* Are the marked entries of a window one function, so that the first of them stands for all? */
static bool
are_one(const point *p, size_t s, size_t e, const bool *among)
{
  const step *st = &p->net->steps[s];
  bool nothing = true, same = true;
  size_t first = NONE;
  for (size_t i = 0; i < st->width; i++) {
    source x = term_at(p, st, e, i).x;
    nothing = nothing && (!among[i] || is_nothing(p, x.step, entry_of(p, x, e)));
  }
  for (size_t i = 0; i < st->width && !nothing && same; i++) {
    source x = term_at(p, st, e, i).x, top = term_at(p, st, e, first == NONE ? i : first).x;
    if (!among[i])
      continue;
    first = first == NONE ? i : first;
    same = one_identity(p, x.step, entry_of(p, x, e), top.step, entry_of(p, top, e));
  }
  return same;
}

/* The largest of a window's entries lies between the largest lower end and the largest upper one; who may be it? */
static span
mark(const pass *a, const step *st, size_t e, bool *among, size_t *n)
{
  span top = {-INFINITY, -INFINITY};
  size_t b = e % a->p->net->batch;
  bool known = true;
  for (size_t i = 0; i < st->width; i++) {
    source x = term_at(a->p, st, e, i).x;
    if (x.step == PADDING)
      continue;
    span y = span_at(&a->v[x.step], x.from * a->samples + b);
    known = known && isfinite(y.lo) && isfinite(y.hi);
    top.lo = y.lo > top.lo ? y.lo : top.lo;
    top.hi = y.hi > top.hi ? y.hi : top.hi;
  }
  *n = 0;
  for (size_t i = 0; i < st->width; i++) {
    source x = term_at(a->p, st, e, i).x;
    among[i] = known && x.step != PADDING && span_at(&a->v[x.step], x.from * a->samples + b).hi >= top.lo;
    *n += among[i];
  }
  return top;
}

static void
rough_windows(const pass *a, size_t s)
{
  point *p = a->p;
  const step *st = &p->net->steps[s];
  bool *among = allocate(st->width, sizeof *among);
  for (size_t e = 0; e < entries(p, s); e++) {
    size_t b = e % p->net->batch, n = 0, first = 0;
    span top = a->open[b] ? SPAN_UNKNOWN : mark(a, st, e, among, &n);
    bool told = n == 1 || (n > 1 && are_one(p, s, e, among));
    put_span(&a->v[s], e / p->net->batch * a->samples + b, told ? top : SPAN_UNKNOWN);
    a->open[b] = a->open[b] || !told;
    while (told && !among[first])
      first++;
    if (told && p->place[s][e] == NONE)
      p->place[s][e] = first;
  }
  free(among);
}

/* ---- All steps */

/* Do pieces and windows read entries, windows perhaps padding? */
static bool
reads_entries(const step *st)
{
  bool all = true;
  for (size_t i = 0; i < st->n_sources && all; i++)
    all = st->kind == LINEAR || st->sources[i].step < PADDING || (st->kind == WINDOW && st->sources[i].step == PADDING);
  return all;
}

static size_t
in_lanes(size_t batch)
{
  return (batch + LANES - 1) / LANES * LANES;
}

/* Do all doubles take a small share of the memory? Those of one sample take as much as of LANES. */
static bool
is_small(const network *net)
{
  size_t all = 0;
  for (size_t s = 0; s < net->n_steps; s++)
    all += net->steps[s].asked ? net->steps[s].n : 0;
  return all <= limit_of(LIMIT_MEMORY) / SHARE / (2 * sizeof(double)) / in_lanes(net->batch);
}

static bool
fits(const network *net)
{
  bool all = net->apart == net->batch && is_small(net);
  for (size_t s = 0; s < net->n_steps && all; s++) {
    const step *st = &net->steps[s];
    bool known =
        st->kind == INPUT || st->kind == PIECEWISE || st->kind == WINDOW || (st->kind == LINEAR && !st->divide);
    all = !st->asked || (known && st->width < MOST_TERMS && reads_entries(st));
  }
  return all;
}

static void
make_room(const pass *a, size_t s, size_t n)
{
  a->v[s].c = allocate(n * a->samples, sizeof *a->v[s].c);
  a->v[s].r = allocate(n * a->samples, sizeof *a->v[s].r);
}

static void
drop(const pass *a, size_t s)
{
  free(a->v[s].c);
  free(a->v[s].r);
  a->v[s] = (rough){NULL, NULL};
}

static void
rough_step(const pass *a, size_t s)
{
  const step *st = &a->p->net->steps[s];
  make_room(a, s, st->n);
  if (st->kind == INPUT)
    rough_inputs(a, s);
  else if (st->kind == LINEAR)
    rough_sums(a, s);
  else if (st->kind == PIECEWISE)
    rough_pieces(a, s);
  else
    rough_windows(a, s);
}

static void
note_readers(const pass *a)
{
  const network *net = a->p->net;
  for (size_t s = 0; s < net->n_steps; s++)
    for (size_t i = 0; i < net->steps[s].n_reads && net->steps[s].asked; i++)
      if (net->steps[s].reads[i] != NONE)
        a->last[net->steps[s].reads[i]] = s;
}

void
rough_places(point *p, bool *open)
{
  size_t n = p->net->n_steps, batch = p->net->batch;
  if (!fits(p->net))
    return;
  const pass a = {p, allocate(n + 1, sizeof *a.v), allocate(n, sizeof *a.last), in_lanes(batch),
                  allocate(batch, sizeof *a.open)};
  note_readers(&a);
  make_room(&a, n, 1);
  for (size_t b = 0; b < a.samples; b++)
    a.v[n].c[b] = 1;
  for (size_t s = 0; s < n; s++) {
    if (p->net->steps[s].asked)
      rough_step(&a, s);
    for (size_t k = 0; k <= s; k++)
      if (a.v[k].c != NULL && a.last[k] <= s)
        drop(&a, k);
  }
  drop(&a, n);
  for (size_t b = 0; b < batch; b++) {
    open[b] = a.open[b];
    identities_forget(p, b);
  }
  free(a.v);
  free(a.last);
  free(a.open);
}
