/* A tape is followed forwards, with each entry's derivatives by the weights; at each kink the sides are tried one after the other. */
#include "forge_tape_truth.h"
#include "../draw.h"

#include <math.h>
#include <string.h>

#define LARGE 0x1p18 /* products of multiples of 2^-7 below it are exact, and so are their sums */
#define ROUNDED 1e-9

enum { AD_SIDE = -1, MOST_PAIRS = 4096 };

/* ---- Values and degrees */

static double
weight_of(const plain_tape *t, const plain_term *of)
{
  return of->w < 0 ? 1 : t->w[of->w];
}

static bool
moves(const plain_tape *t, const plain_term *of)
{
  return of->w >= 0 && of->w < (int)t->n_moving;
}

static double
read_value(const truth *of, const plain_term *in, size_t b)
{
  return in->step < 0 ? 1 : of->value[in->step][(size_t)in->from * of->t->batch + b];
}

static int
read_degree(const truth *of, const plain_term *in, size_t b)
{
  return in->step < 0 ? 0 : of->degree[in->step][(size_t)in->from * of->t->batch + b];
}

static int
larger(int a, int b)
{
  return a > b ? a : b;
}

/* The coefficient of x on piece p. */
static double
piece_factor(const plain_tape *t, const plain_step *st, size_t f, size_t p)
{
  const plain_term *of = &st->term[f][0];

  return p == 0 && of->w >= 0 ? t->w[of->w] : st->piece[p][1];
}

static double
piece_value(const plain_tape *t, const plain_step *st, size_t f, size_t p, double x)
{
  return st->piece[p][0] + (piece_factor(t, st, f, p) + st->piece[p][2] * x) * x;
}

static double
piece_slope(const plain_tape *t, const plain_step *st, size_t f, size_t p, double x)
{
  return piece_factor(t, st, f, p) + 2 * st->piece[p][2] * x;
}

static size_t
piece_at(const plain_step *st, double x)
{
  size_t p = 0;

  while (p < st->n_kinks && x > st->at[p])
    p++;
  return p;
}

/* The value of an entry, and whether it is a polynomial of degree 1 or less on each piece. */
static void
find_entry(truth *of, size_t s, size_t f, size_t b)
{
  const plain_tape *t = of->t;
  const plain_step *st = &t->step[s];
  double y = st->kind == PLAIN_INPUT ? t->x[b * st->n + f] : st->kind == PLAIN_PRODUCT ? 1 : st->kind == PLAIN_LARGEST ? -INFINITY : 0;
  int degree = 0, power;

  for (size_t i = 0; i < st->width; i++) {
    const plain_term *in = &st->term[f][i];
    const double x = read_value(of, in, b);
    const int own = read_degree(of, in, b);

    of->off[s][f * t->batch + b] |= in->step >= 0 && of->off[in->step][(size_t)in->from * t->batch + b];
    degree = st->kind == PLAIN_PRODUCT ? degree + own : larger(degree, own + (moves(t, in) ? 1 : 0));
    switch (st->kind) {
    case PLAIN_SUM: y += in->coef * weight_of(t, in) * x; break;
    case PLAIN_PIECES:
      y = piece_value(t, st, f, piece_at(st, x), x);
      degree = st->op == 4 && own > 0 ? 2 : degree;
      break;
    case PLAIN_LARGEST: y = fmax(y, x); break;
    case PLAIN_PRODUCT: y *= x; break;
    default:
      y = st->kind == PLAIN_EXP ? exp(x) : 1 / x;
      degree = own > 0 ? 2 : 0;
      of->off[s][f * t->batch + b] |= st->kind == PLAIN_EXP || frexp(x, &power) != 0.5;
    }
  }
  of->value[s][f * t->batch + b] = y;
  of->degree[s][f * t->batch + b] = degree > 2 ? 2 : degree;
}

/* ---- Spots */

static bool
add_spot(truth *of, spot at, int degree)
{
  if (of->n_spots == MOST_SPOTS)
    return false;
  of->spot[of->n_spots++] = at;
  of->curved = of->curved || degree > 1;
  return true;
}

/* Is it at a kink, or tied? Two pieces whose slopes are numbers and the same there have no kink between them. */
static bool
find_spot(truth *of, size_t s, size_t f, size_t b)
{
  const plain_tape *t = of->t;
  const plain_step *st = &t->step[s];
  spot at = {.step = s, .entry = f * t->batch + b, .window = st->kind == PLAIN_LARGEST};
  size_t n = 0;
  int degree = 0;

  if (of->off[s][at.entry] && (at.window || st->kind == PLAIN_PIECES))
    return false;
  for (size_t i = 0; i < st->width && at.window; i++) {
    at.tied[i] = read_value(of, &st->term[f][i], b) == of->value[s][at.entry];
    n += at.tied[i];
    degree = larger(degree, at.tied[i] ? read_degree(of, &st->term[f][i], b) : 0);
  }
  of->rounded = of->rounded || (n == 3 && t->shared[st->op] != 0); /* thirds */
  if (at.window)
    return n < 2 || add_spot(of, at, degree);
  if (st->kind != PLAIN_PIECES)
    return true;
  const double x = read_value(of, &st->term[f][0], b);
  for (size_t k = 0; k < st->n_kinks; k++)
    if (x == st->at[k] && (piece_slope(t, st, f, k, x) != piece_slope(t, st, f, k + 1, x))) {
      at.kink = k;
      return add_spot(of, at, read_degree(of, &st->term[f][0], b));
    }
  return true;
}

static const spot *
spot_at(const truth *of, size_t s, size_t e, size_t *k)
{
  for (*k = 0; *k < of->n_spots; (*k)++)
    if (of->spot[*k].step == s && of->spot[*k].entry == e)
      return &of->spot[*k];
  return NULL;
}

/* ---- Derivatives by the weights that move */

typedef double derivative[TAPE_WEIGHTS];

typedef struct {
  const truth *of;
  const int *side;
  derivative d[TAPE_STEPS][MOST_ENTRIES];
} flow;

static const derivative nothing;

static const double *
read_derivative(const flow *w, const plain_term *in, size_t b)
{
  return in->step < 0 ? nothing : w->d[in->step][(size_t)in->from * w->of->t->batch + b];
}

static void
add_times(double *to, double by, const double *from)
{
  for (size_t i = 0; i < TAPE_WEIGHTS; i++)
    to[i] += by * from[i];
}

static double
ad_slope(const plain_tape *t, const plain_step *st, size_t f, size_t k, double x)
{
  const taken how = t->takes[st->op][k];

  return how == TAKES_NUMBER ? t->slope[st->op][k] : piece_slope(t, st, f, how == TAKES_LEFT ? k : k + 1, x);
}

static void
pieces_derivative(flow *w, size_t s, size_t f, size_t b)
{
  const plain_tape *t = w->of->t;
  const plain_step *st = &t->step[s];
  const plain_term *in = &st->term[f][0];
  const double x = read_value(w->of, in, b);
  size_t k, piece = piece_at(st, x);
  const spot *at = spot_at(w->of, s, f * t->batch + b, &k);
  double *to = w->d[s][f * t->batch + b];

  if (at != NULL && w->side[k] != AD_SIDE)
    piece = at->kink + (size_t)w->side[k];
  add_times(to, at != NULL && w->side[k] == AD_SIDE ? ad_slope(t, st, f, at->kink, x) : piece_slope(t, st, f, piece, x),
            read_derivative(w, in, b));
  if (at == NULL && piece == 0 && moves(t, in))
    to[in->w] += x;
}

/* What AD takes of a tied term: all of the first or the last, and of a mean its share. */
static double
tie_share(const plain_tape *t, const spot *at, size_t i)
{
  const plain_step *st = &t->step[at->step];
  const double shared = t->shared[st->op];
  size_t n = 0, first = TAPE_WIDTH, last = 0;

  for (size_t j = 0; j < st->width; j++)
    if (at->tied[j]) {
      n++;
      first = first == TAPE_WIDTH ? j : first;
      last = j;
    }
  return !at->tied[i] ? 0 : shared / (double)n + (i == (t->ties[st->op] == TIE_LAST ? last : first) ? 1 - shared : 0);
}

static void
tie_derivative(flow *w, size_t s, size_t f, size_t b, const spot *at)
{
  const plain_step *st = &w->of->t->step[s];

  for (size_t i = 0; i < st->width; i++)
    add_times(w->d[s][at->entry], tie_share(w->of->t, at, i), read_derivative(w, &st->term[f][i], b));
}

static void
largest_derivative(flow *w, size_t s, size_t f, size_t b)
{
  const plain_step *st = &w->of->t->step[s];
  const size_t e = f * w->of->t->batch + b;
  size_t k, i = 0;
  const spot *at = spot_at(w->of, s, e, &k);

  if (at != NULL && w->side[k] == AD_SIDE) {
    tie_derivative(w, s, f, b, at);
    return;
  }
  while (at != NULL ? (int)i != w->side[k] : read_value(w->of, &st->term[f][i], b) != w->of->value[s][e])
    i++;
  add_times(w->d[s][e], 1, read_derivative(w, &st->term[f][i], b));
}

static void
entry_derivative(flow *w, size_t s, size_t f, size_t b)
{
  const plain_tape *t = w->of->t;
  const plain_step *st = &t->step[s];
  double *to = w->d[s][f * t->batch + b];
  const double y = w->of->value[s][f * t->batch + b];

  memset(to, 0, sizeof(derivative));
  if (st->kind == PLAIN_PIECES)
    pieces_derivative(w, s, f, b);
  if (st->kind == PLAIN_LARGEST)
    largest_derivative(w, s, f, b);
  if (st->kind == PLAIN_EXP || st->kind == PLAIN_RECIPROCAL)
    add_times(to, st->kind == PLAIN_EXP ? y : -y * y, read_derivative(w, &st->term[f][0], b));
  for (size_t i = 0; i < st->width && (st->kind == PLAIN_SUM || st->kind == PLAIN_PRODUCT); i++) {
    const plain_term *in = &st->term[f][i];

    add_times(to, st->kind == PLAIN_SUM ? in->coef * weight_of(t, in) : read_value(w->of, &st->term[f][1 - i], b),
              read_derivative(w, in, b));
    if (st->kind == PLAIN_SUM && moves(t, in))
      to[in->w] += in->coef * read_value(w->of, in, b);
  }
}

/* Up to that entry, or all. */
static void
follow(flow *w, size_t s, size_t e)
{
  const plain_tape *t = w->of->t;

  for (size_t r = 0; r <= s && r < t->n_steps; r++)
    for (size_t i = 0; i < t->step[r].n * t->batch && (r < s || i < e); i++)
      entry_derivative(w, r, i / t->batch, i % t->batch);
}

void
truth_gradient(const truth *of, const int *side, double *gradient)
{
  const plain_tape *t = of->t;
  const size_t last = t->n_steps - 1, n = t->step[last].n * t->batch;
  flow w = {.of = of, .side = side};

  follow(&w, t->n_steps, 0);
  memset(gradient, 0, sizeof(derivative));
  for (size_t e = 0; e < n; e++) {
    const double y = t->y[e % t->batch * t->step[last].n + e / t->batch];

    add_times(gradient, t->squares ? 2 * (of->value[last][e] - y) / (double)n : 1, w.d[last][e]);
  }
}

/* ---- Rows */

static bool
is_nothing(const double *row)
{
  for (size_t i = 0; i < TAPE_WEIGHTS; i++)
    if (row[i] != 0)
      return false;
  return true;
}

/* The row of a side beside another, which is a tied term. Is it not 0? */
static bool
row_of(const flow *w, const spot *at, int side, size_t other, double *row)
{
  const plain_tape *t = w->of->t;
  const plain_step *st = &t->step[at->step];
  const size_t f = at->entry / t->batch, b = at->entry % t->batch;

  memset(row, 0, sizeof(derivative));
  add_times(row, at->window || side == 0 ? -1 : 1, read_derivative(w, &st->term[f][other], b));
  if (at->window)
    add_times(row, 1, read_derivative(w, &st->term[f][(size_t)side], b));
  return !is_nothing(row);
}

static size_t
rows_of(const flow *w, const spot *at, int side, double row[][TAPE_WEIGHTS])
{
  const plain_step *st = &w->of->t->step[at->step];
  size_t n = 0;

  for (size_t i = 0; i < (at->window ? st->width : 1); i++)
    if (!at->window || (at->tied[i] && (int)i != side))
      n += row_of(w, at, side, i, row[n]);
  return n;
}

size_t
truth_rows(const truth *of, const int *side, size_t k, double row[][TAPE_WEIGHTS])
{
  flow w = {.of = of, .side = side};

  follow(&w, of->spot[k].step, 0);
  return rows_of(&w, &of->spot[k], side[k], row);
}

bool
truth_row(const truth *of, const int *side, size_t k, int other, double *row)
{
  flow w = {.of = of, .side = side};

  follow(&w, of->spot[k].step, 0);
  return row_of(&w, &of->spot[k], side[k], (size_t)other, row);
}

double
truth_slope(const truth *of, size_t k, int side)
{
  const spot *at = &of->spot[k];
  const plain_step *st = &of->t->step[at->step];
  const size_t f = at->entry / of->t->batch;
  const double x = read_value(of, &st->term[f][0], at->entry % of->t->batch);

  return side == AD_SIDE ? ad_slope(of->t, st, f, at->kink, x) : piece_slope(of->t, st, f, at->kink + (size_t)side, x);
}

double
truth_share(const truth *of, size_t k, int side, size_t i)
{
  const spot *at = &of->spot[k];

  if (!at->window)
    return truth_slope(of, k, side);
  return side == AD_SIDE ? tie_share(of->t, at, i) : (int)i == side;
}

bool
truth_constant(const truth *of, size_t k)
{
  const spot *at = &of->spot[k];
  const plain_step *st = &of->t->step[at->step];
  bool all = true;

  for (size_t i = 0; i < st->width; i++)
    if (!at->window || at->tied[i])
      all = all && read_degree(of, &st->term[at->entry / of->t->batch][i], at->entry % of->t->batch) == 0;
  return all;
}

bool
truth_behind(const truth *of, size_t k, size_t j)
{
  const plain_tape *t = of->t;
  bool marked[TAPE_STEPS][MOST_ENTRIES] = {{false}}, reads = false;

  for (size_t s = of->spot[j].step; s <= of->spot[k].step; s++)
    for (size_t e = 0; e < t->step[s].n * t->batch; e++) {
      for (size_t i = 0; i < t->step[s].width; i++) {
        const plain_term *in = &t->step[s].term[e / t->batch][i];

        marked[s][e] |= in->step >= 0 && marked[in->step][(size_t)in->from * t->batch + e % t->batch];
      }
      if (s == of->spot[k].step && e == of->spot[k].entry)
        reads = marked[s][e];
      marked[s][e] |= s == of->spot[j].step && e == of->spot[j].entry;
    }
  return reads;
}

bool
truth_moves(const truth *of, const int *side, size_t k, const double *move)
{
  const spot *at = &of->spot[k];
  const plain_step *st = &of->t->step[at->step];
  flow w = {.of = of, .side = side};

  follow(&w, at->step, 0);
  for (size_t i = 0; i < st->width; i++) {
    const double *d = read_derivative(&w, &st->term[at->entry / of->t->batch][i], at->entry % of->t->batch);
    double along = 0;

    for (size_t j = 0; j < of->t->n_moving; j++)
      along += d[j] * move[j];
    if ((!at->window || at->tied[i]) && along != 0)
      return true;
  }
  return false;
}

/* Fourier's elimination of one number after another. The rows are used up. Where they grow too large, *exact becomes false. */
static bool
eliminate(double (*row)[TAPE_WEIGHTS], size_t n, size_t dimension, double least, bool *exact)
{
  static double next[TAPE_WEIGHTS + 1][MOST_PAIRS][TAPE_WEIGHTS];
  double (*to)[TAPE_WEIGHTS] = next[dimension];
  size_t m = 0, pairs = 0;

  if (n == 0)
    return true;
  if (dimension == 0)
    return false;
  const size_t last = dimension - 1;
  for (size_t i = 0; i < n; i++) {
    for (size_t c = 0; c < dimension; c++)
      *exact = *exact && (least > 0 || fabs(row[i][c]) < LARGE);
    for (size_t j = 0; j < n && fabs(row[i][last]) > least; j++)
      pairs += row[i][last] > least && row[j][last] < -least;
    pairs += fabs(row[i][last]) <= least;
  }
  if (pairs > MOST_PAIRS) {
    *exact = false;
    return true;
  }
  for (size_t i = 0; i < n; i++) {
    if (fabs(row[i][last]) <= least) {
      memcpy(to[m++], row[i], sizeof *row);
      continue;
    }
    for (size_t j = 0; j < n && row[i][last] > least; j++) {
      if (row[j][last] >= -least)
        continue;
      for (size_t c = 0; c < last; c++)
        to[m][c] = row[i][c] * -row[j][last] + row[j][c] * row[i][last];
      m++;
    }
  }
  return eliminate(to, m, last, least, exact);
}

answer
truth_feasible(double row[][TAPE_WEIGHTS], size_t n, size_t dimension)
{
  double copy[MOST_ROWS + 8][TAPE_WEIGHTS];
  bool exact = true;

  memcpy(copy, row, n * sizeof *copy);
  const bool any = eliminate(copy, n, dimension, 0, &exact);
  return !exact ? UNKNOWN : any ? YES : NO;
}

/* Is there a move that is not 0 along which none is below 0? Then one along an edge of the cone, or in a line of it. */
static bool
weakly_feasible(double row[][TAPE_WEIGHTS], size_t n, size_t dimension)
{
  for (size_t i = 0; i <= n; i++)
    for (size_t j = 0; j <= n; j++)
      for (int sign = -1; sign <= 1; sign += 2)
        for (size_t axis = 0; axis < dimension; axis++) {
          static const double none[TAPE_WEIGHTS];
          double unit[TAPE_WEIGHTS] = {0}, d[TAPE_WEIGHTS] = {0};
          const double *a = i < n ? row[i] : none, *b = j < n ? row[j] : none;
          bool all = true;

          unit[axis] = 1;
          if (dimension == 3 && !is_nothing(b)) {
            const double *c = is_nothing(a) ? unit : a;

            for (size_t q = 0; q < 3; q++)
              d[q] = sign * (c[(q + 1) % 3] * b[(q + 2) % 3] - c[(q + 2) % 3] * b[(q + 1) % 3]);
          } else if (dimension == 2 && !is_nothing(b)) {
            d[0] = -sign * b[1];
            d[1] = sign * b[0];
          } else
            d[axis] = sign;
          for (size_t r = 0; r < n; r++)
            all = all && row[r][0] * d[0] + row[r][1] * d[1] + row[r][2] * d[2] >= 0;
          if (all && !is_nothing(d))
            return true;
        }
  return n == 0;
}

/* ---- Cells */

static bool
add_cell(truth *of, const sided *c)
{
  if (of->n_cells == MOST_CELLS)
    return false;
  of->cell[of->n_cells] = *c;
  truth_gradient(of, c->side, of->cell[of->n_cells].gradient);
  of->n_cells++;
  return true;
}

/* ---- Points beside the weights */

typedef __float128 wide; /* 113 digits: of values whose weights have steps of 2^-28 */

static wide
wide_piece(const plain_tape *t, const plain_step *st, size_t f, wide x, const wide *w)
{
  const plain_term *in = &st->term[f][0];
  size_t p = 0;

  (void)t;
  while (p < st->n_kinks && x > st->at[p])
    p++;
  return st->piece[p][0] + ((p == 0 && in->w >= 0 ? w[in->w] : (wide)st->piece[p][1]) + st->piece[p][2] * x) * x;
}

/* The values at weights w. */
static void
wide_values(const plain_tape *t, const wide *w, wide y[][MOST_ENTRIES])
{
  for (size_t s = 0; s < t->n_steps; s++)
    for (size_t e = 0; e < t->step[s].n * t->batch; e++) {
      const plain_step *st = &t->step[s];
      const size_t f = e / t->batch, b = e % t->batch;
      wide all = st->kind == PLAIN_INPUT ? t->x[b * st->n + f] : st->kind == PLAIN_PRODUCT;

      for (size_t i = 0; i < st->width; i++) {
        const plain_term *in = &st->term[f][i];
        const wide x = in->step < 0 ? 1 : y[in->step][(size_t)in->from * t->batch + b];

        switch (st->kind) {
        case PLAIN_SUM: all += in->coef * (in->w < 0 ? 1 : w[in->w]) * x; break;
        case PLAIN_PRODUCT: all *= x; break;
        case PLAIN_LARGEST: all = i == 0 || x > all ? x : all; break;
        case PLAIN_PIECES: all = wide_piece(t, st, f, x, w); break;
        default: all = 1; /* nothing reads it at a kink */
        }
      }
      y[s][e] = all;
    }
}

/* On which sides the spots are there; false: on none, or not by enough. */
static bool
sides_at(const truth *of, wide y[][MOST_ENTRIES], int *side)
{
  for (size_t k = 0; k < of->n_spots; k++) {
    const spot *at = &of->spot[k];
    const plain_step *st = &of->t->step[at->step];
    const size_t f = at->entry / of->t->batch, b = at->entry % of->t->batch;

    side[k] = -1;
    for (size_t i = 0; i < st->width && at->window; i++) {
      const wide x = y[st->term[f][i].step][(size_t)st->term[f][i].from * of->t->batch + b];

      if (x != y[at->step][at->entry])
        continue;
      if (side[k] >= 0)
        return false;
      side[k] = (int)i;
    }
    if (at->window)
      continue;
    const wide x = y[st->term[f][0].step][(size_t)st->term[f][0].from * of->t->batch + b];
    if (x == st->at[at->kink])
      return false;
    side[k] = x > st->at[at->kink];
  }
  return true;
}

/* At w + t d + t^2 e. */
static bool
sides_along(const truth *of, const int *d, const int *e, int digits, int *side)
{
  static wide y[TAPE_STEPS][MOST_ENTRIES];
  wide w[TAPE_WEIGHTS + 1], t = 1;

  for (int i = 0; i < digits; i++)
    t /= 2;
  for (size_t i = 0; i < of->t->n_weights; i++)
    w[i] = of->t->w[i] + (i < of->t->n_moving ? t * d[i] + t * t * e[i] : 0);
  wide_values(of->t, w, y);
  return sides_at(of, y, side);
}

/* What arcs of two terms show: cells that are between others of one tangent. */
static bool
try_arcs(truth *of, uint64_t *state)
{
  for (size_t n = 0; n < 60; n++) {
    int d[TAPE_WEIGHTS], e[TAPE_WEIGHTS], side[MOST_SPOTS], again[MOST_SPOTS];
    sided c = {.certain = true};
    size_t i = 0;

    for (size_t j = 0; j < TAPE_WEIGHTS; j++) {
      d[j] = draw_int(state, 5) - 2;
      e[j] = draw_int(state, 7) - 3;
    }
    if (!sides_along(of, d, e, 11, side) || !sides_along(of, d, e, 14, again) || memcmp(side, again, of->n_spots * sizeof *side) != 0)
      continue;
    memcpy(c.side, side, of->n_spots * sizeof *side);
    while (i < of->n_cells && memcmp(of->cell[i].side, c.side, of->n_spots * sizeof *side) != 0)
      i++;
    if (i < of->n_cells)
      of->cell[i].certain = true;
    else if (!add_cell(of, &c))
      return false;
  }
  return true;
}

/* From spot k on, each side that the rows so far leave room for. On curved tapes those too that may have room. */
static bool
try_spots(truth *of, sided c, size_t k)
{
  if (k == of->n_spots)
    return add_cell(of, &c);
  const spot *at = &of->spot[k];
  const size_t sides = at->window ? of->t->step[at->step].width : 2;
  double rows[TAPE_WIDTH][TAPE_WEIGHTS];

  for (size_t i = 0; i < sides; i++) {
    sided next = c;

    if (at->window && !at->tied[i])
      continue;
    next.side[k] = (int)i;
    const size_t n = truth_rows(of, next.side, k, rows);
    size_t most = !at->window;
    for (size_t j = 0; j < sides && at->window; j++)
      most += j != i && at->tied[j];
    if (next.n_rows + n > MOST_ROWS)
      return false;
    memcpy(next.row[next.n_rows], rows, n * sizeof *rows);
    next.n_rows += n;
    const answer room = truth_feasible(next.row, next.n_rows, of->t->n_moving);
    if (room == UNKNOWN)
      return false;
    next.certain = next.certain && (n == most || !of->curved) && room == YES;
    if (!next.certain && !(of->curved && weakly_feasible(next.row, next.n_rows, of->t->n_moving)))
      continue;
    if (!try_spots(of, next, k + 1))
      return false;
  }
  return true;
}

bool
truth_find(truth *of, const plain_tape *t, uint64_t *state)
{
  static const int ad[MOST_SPOTS] = {AD_SIDE, AD_SIDE, AD_SIDE, AD_SIDE, AD_SIDE, AD_SIDE, AD_SIDE, AD_SIDE};
  sided none;

  memset(of, 0, sizeof *of);
  of->t = t;
  for (size_t s = 0; s < t->n_steps; s++)
    for (size_t e = 0; e < t->step[s].n * t->batch; e++) {
      find_entry(of, s, e / t->batch, e % t->batch);
      if (fabs(of->value[s][e]) > 1000 || (fabs(of->value[s][e]) < 0x1p-12 && of->value[s][e] != 0))
        return false;
      if (!find_spot(of, s, e / t->batch, e % t->batch))
        return false;
      of->rounded = of->rounded || of->off[s][e];
    }
  memset(&none, 0, sizeof none);
  none.certain = true;
  truth_gradient(of, ad, of->ad);
  return try_spots(of, none, 0) && (!of->curved || try_arcs(of, state));
}

/* ---- Answers */

static bool
is_near(const truth *of, const double *a, const double *b)
{
  for (size_t i = 0; i < of->t->n_moving; i++)
    if (of->rounded ? fabs(a[i] - b[i]) > ROUNDED : a[i] != b[i])
      return false;
  return true;
}

answer
truth_in_bouligand(const truth *of)
{
  bool maybe = false;

  for (size_t i = 0; i < of->n_cells; i++) {
    if (!is_near(of, of->cell[i].gradient, of->ad))
      continue;
    if (of->cell[i].certain)
      return YES;
    maybe = true;
  }
  return maybe ? UNKNOWN : NO;
}

/* Is AD's output outside of the hull of all cells' gradients, or of those that are certain? */
static answer
outside(const truth *of, bool certain)
{
  double row[MOST_CELLS][TAPE_WEIGHTS], again[MOST_CELLS][TAPE_WEIGHTS];
  size_t n = 0;
  bool exact = true, other;

  for (size_t i = 0; i < of->n_cells; i++) {
    if (certain && !of->cell[i].certain)
      continue;
    for (size_t j = 0; j < TAPE_WEIGHTS; j++)
      row[n][j] = of->cell[i].gradient[j] - of->ad[j];
    n++;
  }
  memcpy(again, row, n * sizeof *row);
  const bool yes = eliminate(row, n, of->t->n_moving, of->rounded ? 1e-7 : 0, &exact);
  other = of->rounded ? eliminate(again, n, of->t->n_moving, 1e-11, &exact) : yes;
  return yes != other || !exact ? UNKNOWN : yes ? YES : NO;
}

answer
truth_in_clarke(const truth *of)
{
  if (outside(of, true) == NO)
    return YES;
  return outside(of, false) == YES ? NO : UNKNOWN;
}
