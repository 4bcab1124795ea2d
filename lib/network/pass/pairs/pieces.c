/* Piecewise steps: where arguments lie, as far as bounds tell, and the values of the pieces. */
#include "network/pass/pairs/pairs.h"

#include "base/wide.h"
#include "network/pass/piecewise.h"

/* A step's numbers, each off by less than a unit of pairs. */
typedef struct {
  size_t n_kinks;
  clarke_pair kink[CLARKE_MAX_KINKS], coef[CLARKE_MAX_KINKS + 1][3];
  const double *slope; /* of PRelu, by feature through the map; NULL: none */
  const size_t *map;
  bool plain;                     /* every piece is x, or a number */
  bool kept[CLARKE_MAX_KINKS + 1]; /* it is x */
  bool measured;                  /* distances are asked for */
} pair_pieces;

static pair_pieces
pieces_of(const clarke_pairs_pass *f, const clarke_step *s)
{
  pair_pieces p = {.n_kinks = s->pieces.n_kinks, .map = s->pieces.slope_map, .measured = f->margin != NULL && !clarke_margin_is_smooth(s)};

  for (size_t k = 0; k < p.n_kinks; k++)
    p.kink[k] = clarke_pairs_constant(clarke_pair_of(s->pieces.kink[k]));
  for (size_t i = 0; i <= p.n_kinks; i++)
    for (size_t c = 0; c < 3; c++)
      p.coef[i][c] = clarke_pairs_constant(clarke_pair_of(s->pieces.coef[i][c]));
  if (s->pieces.slope != CLARKE_NONE)
    p.slope = f->g->values[s->pieces.slope].real;
  p.plain = p.slope == NULL;
  for (size_t i = 0; i <= p.n_kinks; i++) {
    const clarke_pair *c = p.coef[i];

    p.kept[i] = c[2].high == 0 && c[0].high == 0 && c[1].high == 1 && c[1].low == 0;
    p.plain = p.plain && (p.kept[i] || (c[2].high == 0 && c[1].high == 0));
  }
  return p;
}

/* x less a kink as a double, and what that is off by beside x itself. The first difference is exact, or loses u of itself, and so does the sum;
 * the second loses u of parts that are u of x and the kink; and the kink is off. */
static inline double
distance_from(clarke_pair kink, clarke_pair x, double *off)
{
  const double d = (x.high - kink.high) + (x.low - kink.low);

  *off = clarke_up_over(4 * CLARKE_PAIR_UNIT * (fabs(x.high) + fabs(kink.high)) + clarke_taken(4, fabs(d)), 8, CLARKE_PAIRS_LEAST);
  return d;
}

/* The piece that x lies in, if it is off by no more than `off`: only a strict inequality between finite numbers tells. (No branch is guessed:
 * signs are anyone's guess.) */
static inline clarke_branch
place_of(const pair_pieces *p, clarke_pair x, double off)
{
  int piece = 0, told = 1;

  for (size_t k = 0; k < p->n_kinks; k++) {
    double own;
    const double d = distance_from(p->kink[k], x, &own), away = clarke_up_by(own + off, 4);
    const int above = d > away, below = -d > away;

    told &= above | below;
    piece += above;
  }
  return told ? (clarke_branch)piece : CLARKE_OPEN;
}

/* Is a distance d, off by `own` and `off`, more than one that is known? */
static inline bool
is_farther(double d, double own, double off, double known)
{
  return fabs(d) - 2 * own - 2 * off > known;
}

/* At least the size of an argument. */
static inline double
size_of(clarke_pair x, double off)
{
  return clarke_up_by(fabs(x.high) + off, 4);
}

/* The distances of an entry that has just been decided. */
static void
measure(const clarke_pairs_pass *f, const pair_pieces *p, clarke_pair x, double off, size_t feature, size_t column)
{
  for (size_t k = 0; k < p->n_kinks; k++) {
    double own;
    const double d = distance_from(p->kink[k], x, &own);

    if (!is_farther(d, own, off, f->margin[f->step][column].most))
      clarke_pairs_measure(f, column, fabs(d), clarke_up_by(own + off, 4), feature);
  }
}

/* The sizes of kinks into their samples' margins. */
static void
measure_kinks(const clarke_pairs_pass *f, const clarke_step *s)
{
  clarke_margin *m = f->margin != NULL ? f->margin[f->step] : NULL;

  for (size_t k = 0; m != NULL && k < s->pieces.n_kinks; k++)
    for (size_t j = 0; j < f->n; j++)
      clarke_margin_hold(&m[j], clarke_up_by(fabs(mpq_get_d(s->pieces.kink[k])), 4));
}

static double
prelu_slope(const pair_pieces *p, size_t feature)
{
  return p->slope[p->map != NULL ? p->map[feature] : feature];
}

/* At least the slope of a piece, wherever the argument's size is at most that. */
static double
steepness(const pair_pieces *p, size_t piece, size_t feature, double size)
{
  const double first = fabs(p->coef[piece][1].high), second = fabs(p->coef[piece][2].high);

  if (p->slope != NULL && piece == 0)
    return fabs(prelu_slope(p, feature));
  return second == 0 ? clarke_up_by(first, 8) : clarke_up_by(first + 2 * second * size, 8);
}

/* What a polynomial is. */
typedef enum { NUMBER, ITSELF, LINE, PARABOLA } shape;

static shape
shape_of(const clarke_pair *c)
{
  if (c[2].high != 0)
    return PARABOLA;
  if (c[1].high == 0)
    return NUMBER;
  return c[0].high == 0 && c[1].high == 1 && c[1].low == 0 ? ITSELF : LINE;
}

/* a + b x + c x^2, and what that is off by: each operation, and each number, by a unit of itself, which is at most the sizes of all terms
 * together; of a line a term goes through three of these, of a parabola through eight. */
static inline clarke_pair
polynomial_of(shape is, clarke_pair a, clarke_pair b, clarke_pair c, clarke_pair x, double *off)
{
  const double size = fabs(x.high);

  switch (is) {
  case NUMBER:
    *off = 2 * CLARKE_PAIR_UNIT * fabs(a.high);
    return a;
  case ITSELF:
    *off = 0;
    return x;
  case LINE:
    *off = 4 * CLARKE_PAIR_UNIT * (fabs(b.high) * size + fabs(a.high));
    return clarke_pair_add(clarke_pair_multiply(b, x), a);
  default:
    *off = 16 * CLARKE_PAIR_UNIT * ((fabs(c.high) * size + fabs(b.high)) * size + fabs(a.high));
    return clarke_pair_add(clarke_pair_multiply(clarke_pair_add(clarke_pair_multiply(c, x), b), x), a);
  }
}

/* The piece's polynomial at x; of a slope of its own a product. */
static clarke_pair
polynomial(const pair_pieces *p, size_t piece, size_t feature, clarke_pair x, double *off)
{
  const clarke_pair *c = p->coef[piece];

  if (p->slope == NULL || piece != 0)
    return polynomial_of(shape_of(c), c[0], c[1], c[2], x, off);
  *off = 2 * CLARKE_PAIR_UNIT * (fabs(prelu_slope(p, feature)) * fabs(x.high));
  return clarke_pair_multiply((clarke_pair){prelu_slope(p, feature), 0}, x);
}

/* How far an open entry may be from where its piece is looked for, and no steeper than what it may meet there. */
static size_t
look_around(const pair_pieces *p, clarke_pair x, double off, size_t feature, double *near, double *steep)
{
  size_t piece = 0;
  double size;

  *near = *steep = 0;
  for (size_t k = 0; k < p->n_kinks; k++) {
    double own;

    piece += distance_from(p->kink[k], x, &own) > 0;
    *near = clarke_larger(*near, own);
  }
  size = clarke_up_by(fabs(x.high) + off + *near, 4);
  for (size_t i = 0; i <= p->n_kinks; i++)
    *steep = clarke_larger(*steep, steepness(p, i, feature, size));
  return piece;
}

/* The value at x, which lies in that piece, of plain pieces: x, or a number that is off by a unit. */
static inline void
put_plain(clarke_enclosed *y, size_t e, const pair_pieces *p, size_t piece, clarke_pair x, double off)
{
  const clarke_pair number = p->coef[piece][0];
  const bool kept = p->kept[piece];

  clarke_enclosed_put(y, e, (clarke_pair){kept ? x.high : number.high, kept ? x.low : number.low},
                      kept ? off : 2 * CLARKE_PAIR_UNIT * fabs(number.high));
}

/* The value at x, which lies in that piece. Or, open, anywhere near: the function is continuous, and no steeper than its pieces are as far
 * as x may be off. Then x's own piece is as good as any; which it is the distances from kinks tell, but for what these are off by. */
static void
put_value(clarke_enclosed *y, size_t e, const pair_pieces *p, clarke_branch place, clarke_pair x, double off, size_t feature)
{
  double near = 0, steep, own;
  size_t piece = (size_t)place;
  clarke_pair v;

  if (place >= 0)
    steep = steepness(p, piece, feature, clarke_up_by(fabs(x.high) + off, 4));
  else
    piece = look_around(p, x, off, feature, &near, &steep);
  v = polynomial(p, piece, feature, x, &own);
  clarke_enclosed_put(y, e, v, steep == 0 ? own : steep * (off + 4 * near) + own);
}

/* --- many entries at a time -------------------------------------------------------------------- */

#define CHUNK ((size_t)256)

/* Entries at work, of an argument and of its value; of each the piece, as a number, and whether bounds tell it; whether a kink may be nearer than
 * `nearest`, and it may be larger than `least`. */
typedef struct {
  const double *high, *low, *off;
  double piece[CHUNK], told[CHUNK], near[CHUNK], large[CHUNK];
  double nearest, least;
} chunk;

/* place_of each. */
CLARKE_WIDE static void
find_places(chunk *c, const pair_pieces *p, size_t n)
{
  for (size_t j = 0; j < n; j++) {
    c->piece[j] = c->near[j] = 0;
    c->told[j] = 1;
    c->large[j] = size_of((clarke_pair){c->high[j], c->low[j]}, c->off[j]) <= c->least ? 0.0 : 1.0;
  }
  for (size_t k = 0; k < p->n_kinks; k++) {
    const clarke_pair kink = p->kink[k];

    for (size_t j = 0; j < n; j++) {
      double own;
      const double d = distance_from(kink, (clarke_pair){c->high[j], c->low[j]}, &own), away = clarke_up_by(own + c->off[j], 4);

      c->piece[j] += d > away ? 1.0 : 0.0;
      c->told[j] = fabs(d) > away ? c->told[j] : 0.0;
      c->near[j] = is_farther(d, own, c->off[j], c->nearest) ? c->near[j] : 1.0;
    }
  }
}

/* All of them as if they were in the piece of these coefficients: put_value. */
static inline void
put_shape(double *restrict to_high, double *restrict to_low, double *restrict to_off, const double *restrict high, const double *restrict low,
          const double *restrict off, const clarke_pair *coef, bool plain, shape is, size_t n)
{
  const clarke_pair a = coef[0], b = coef[1], c = coef[2];
  const double first = fabs(b.high), second = fabs(c.high);

  for (size_t j = 0; j < n; j++) {
    const clarke_pair x = {high[j], low[j]};
    const double steep = clarke_up_by(is == PARABOLA ? first + 2 * second * size_of(x, off[j]) : first, 8);
    double own, apart;
    const clarke_pair v = polynomial_of(is, a, b, c, x, &own);

    apart = plain && is == ITSELF ? off[j] : is == NUMBER ? own : steep * off[j] + own;
    to_high[j] = v.high;
    to_low[j] = v.low;
    to_off[j] = fabs(v.high) <= CLARKE_PAIRS_FAR ? clarke_up_over(apart, 0x1p10, CLARKE_PAIRS_LEAST) : (double)INFINITY;
  }
}

CLARKE_WIDE static void
put_piece(const clarke_enclosed *y, const chunk *c, const clarke_pair *coef, bool plain, size_t n)
{
  switch (shape_of(coef)) {
  case NUMBER: put_shape(y->high, y->low, y->off, c->high, c->low, c->off, coef, plain, NUMBER, n); break;
  case ITSELF: put_shape(y->high, y->low, y->off, c->high, c->low, c->off, coef, plain, ITSELF, n); break;
  case LINE: put_shape(y->high, y->low, y->off, c->high, c->low, c->off, coef, plain, LINE, n); break;
  default: put_shape(y->high, y->low, y->off, c->high, c->low, c->off, coef, plain, PARABOLA, n); break;
  }
}

/* The values of all of them, piece by piece: each entry's from its own. */
static void
put_values(const chunk *c, const pair_pieces *p, clarke_enclosed *y, size_t at, size_t n)
{
  double high[CHUNK], low[CHUNK], off[CHUNK];
  const clarke_enclosed all = {.high = high, .low = low, .off = off};
  size_t left = n;

  for (size_t i = 0; i <= p->n_kinks && left > 0; i++) {
    size_t found = 0;

    for (size_t j = 0; j < n; j++)
      found += c->piece[j] == (double)i;
    if (found > 0)
      put_piece(&all, c, p->coef[i], p->plain, n);
    for (size_t j = 0; j < n && found > 0; j++)
      if (c->piece[j] == (double)i) {
        y->high[at + j] = high[j];
        y->low[at + j] = low[j];
        y->off[at + j] = off[j];
      }
    left -= found;
  }
}

/* What margins begin with: nothing is told of entries that are farther from kinks, and smaller, than in all samples. */
static void
look_at_margins(chunk *c, const clarke_pairs_pass *f)
{
  const clarke_margin *m = f->margin != NULL ? f->margin[f->step] : NULL;

  c->nearest = m != NULL ? 0 : -INFINITY;
  c->least = INFINITY;
  for (size_t j = 0; m != NULL && j < f->n; j++) {
    c->nearest = clarke_larger(c->nearest, m[j].most);
    c->least = m[j].size < c->least ? m[j].size : c->least;
  }
}

/* Places that are open become what bounds tell, and what is so decided is measured; what is given stays. The pieces are those of the places then. */
static void
set_places(clarke_pairs_pass *f, chunk *c, const pair_pieces *p, size_t first, size_t n)
{
  clarke_branch *place = f->piece[f->step] + first;

  for (size_t j = 0; j < n; j++) {
    const bool told = place[j] == CLARKE_OPEN && c->told[j] != 0;

    place[j] = told ? (clarke_branch)c->piece[j] : place[j];
    if (told && p->measured && c->near[j] != 0)
      measure(f, p, (clarke_pair){c->high[j], c->low[j]}, c->off[j], (first + j) / f->n, (first + j) % f->n);
    if (c->large[j] != 0 && f->margin != NULL)
      clarke_margin_hold(&f->margin[f->step][(first + j) % f->n], size_of((clarke_pair){c->high[j], c->low[j]}, c->off[j]));
    f->vague += place[j] == CLARKE_OPEN && !(c->off[j] <= CLARKE_PAIRS_CLOSE);
    c->piece[j] = place[j];
  }
}

/* Entries of pieces that are one for all features. */
static void
run_chunks(clarke_pairs_pass *f, clarke_enclosed *y, const clarke_enclosed *x, const pair_pieces *p)
{
  const size_t entries = x->rows * f->n;

  for (size_t first = 0; first < entries; first += CHUNK) {
    const size_t n = entries - first < CHUNK ? entries - first : CHUNK;
    chunk c;

    c.high = x->high + first, c.low = x->low + first, c.off = x->off + first;
    look_at_margins(&c, f);
    find_places(&c, p, n);
    set_places(f, &c, p, first, n);
    put_values(&c, p, y, first, n);
    for (size_t j = 0; j < n; j++)
      if (c.piece[j] < 0)
        put_value(y, first + j, p, (clarke_branch)c.piece[j], clarke_enclosed_get(x, first + j), c.off[j], (first + j) / f->n);
  }
}

/* --- entry by entry ---------------------------------------------------------------------------- */

static void
run_entries(clarke_pairs_pass *f, clarke_enclosed *y, const clarke_enclosed *x, const pair_pieces *p, const clarke_step *s)
{
  clarke_branch *place = f->piece[f->step];

  for (size_t i = 0; i < x->rows; i++) {
    const bool measured = p->measured && clarke_margin_bends(f->g, s, i);

    for (size_t e = i * f->n; e < (i + 1) * f->n; e++) {
      const clarke_pair in = clarke_enclosed_get(x, e);

      if (f->margin != NULL)
        clarke_margin_hold(&f->margin[f->step][e % f->n], size_of(in, x->off[e]));
      if (place[e] == CLARKE_OPEN) {
        place[e] = place_of(p, in, x->off[e]);
        if (place[e] != CLARKE_OPEN && measured)
          measure(f, p, in, x->off[e], i, e % f->n);
        f->vague += place[e] == CLARKE_OPEN && !(x->off[e] <= CLARKE_PAIRS_CLOSE);
      }
      if (p->plain && place[e] >= 0)
        put_plain(y, e, p, (size_t)place[e], in, x->off[e]);
      else
        put_value(y, e, p, place[e], in, x->off[e], i);
    }
  }
}

clarke_status
clarke_pairs_piecewise(clarke_pairs_pass *f, const clarke_step *s)
{
  const clarke_enclosed *x = &f->value[s->in[0].value];
  clarke_enclosed *y = &f->value[s->out];
  const pair_pieces p = pieces_of(f, s);
  clarke_status status = clarke_enclosed_alloc(f, y, x->rows);

  if (status != CLARKE_OK)
    return status;
  measure_kinks(f, s);
  if (p.slope == NULL)
    run_chunks(f, y, x, &p);
  else
    run_entries(f, y, x, &p, s);
  return CLARKE_OK;
}
