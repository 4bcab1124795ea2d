/* Piecewise steps: where arguments lie, as far as bounds tell, and the values of the pieces. */
#include "network/pass/pairs/pairs.h"

#include "network/pass/piecewise.h"

/* A step's numbers, each off by less than a unit of pairs. */
typedef struct {
  size_t n_kinks;
  clarke_pair kink[CLARKE_MAX_KINKS], coef[CLARKE_MAX_KINKS + 1][3];
  const double *slope; /* of PRelu, by feature through the map; NULL: none */
  const size_t *map;
} pair_pieces;

static pair_pieces
pieces_of(const clarke_pairs_pass *f, const clarke_step *s)
{
  pair_pieces p = {.n_kinks = s->pieces.n_kinks, .map = s->pieces.slope_map};

  for (size_t k = 0; k < p.n_kinks; k++)
    p.kink[k] = clarke_pairs_constant(clarke_pair_of(s->pieces.kink[k]));
  for (size_t i = 0; i <= p.n_kinks; i++)
    for (size_t c = 0; c < 3; c++)
      p.coef[i][c] = clarke_pairs_constant(clarke_pair_of(s->pieces.coef[i][c]));
  if (s->pieces.slope != CLARKE_NONE)
    p.slope = f->g->values[s->pieces.slope].real;
  return p;
}

/* x less a kink as a double, and what that is off by beside x itself: an addition, the kink's own rounding, and that of the double. */
static inline double
distance_from(clarke_pair kink, clarke_pair x, double *off)
{
  const clarke_pair d = clarke_pair_add(x, clarke_pairs_negative(kink));

  *off = clarke_up_over(4 * CLARKE_PAIR_UNIT * (fabs(x.high) + fabs(kink.high)) + clarke_taken(1, fabs(d.high)), 8, CLARKE_PAIRS_LEAST);
  return d.high;
}

/* The piece that x lies in, if it is off by no more than `off`: only a strict inequality between finite numbers tells. */
static clarke_branch
place_of(const pair_pieces *p, clarke_pair x, double off)
{
  size_t piece = 0;

  for (size_t k = 0; k < p->n_kinks; k++) {
    double own;
    const double d = distance_from(p->kink[k], x, &own), away = clarke_up_by(own + off, 4);

    if (d > away)
      piece = k + 1;
    else if (-d > away)
      break;
    else
      return CLARKE_OPEN;
  }
  return (clarke_branch)piece;
}

/* The distances of an entry that has just been decided. */
static void
measure(const clarke_pairs_pass *f, const pair_pieces *p, clarke_pair x, double off, size_t feature, size_t column)
{
  for (size_t k = 0; k < p->n_kinks; k++) {
    double own;
    const double d = distance_from(p->kink[k], x, &own);

    clarke_pairs_measure(f, column, fabs(d), clarke_up_by(own + off, 4), feature);
  }
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

/* The piece's polynomial at x, and what that is off by: each operation, and each number, by a unit of itself, which is at most the sizes of
 * all terms together; of a line a term goes through three of these, of a parabola through eight. */
static clarke_pair
polynomial(const pair_pieces *p, size_t piece, size_t feature, clarke_pair x, double *off)
{
  const clarke_pair *c = p->coef[piece];
  const double size = fabs(x.high);

  *off = 0;
  if (p->slope != NULL && piece == 0) {
    *off = 2 * CLARKE_PAIR_UNIT * (fabs(prelu_slope(p, feature)) * size);
    return clarke_pair_multiply((clarke_pair){prelu_slope(p, feature), 0}, x);
  }
  if (c[2].high == 0 && c[1].high == 0)
    *off = 2 * CLARKE_PAIR_UNIT * fabs(c[0].high);
  if (c[2].high == 0 && c[1].high == 0)
    return c[0];
  if (c[2].high == 0 && c[0].high == 0 && c[1].high == 1 && c[1].low == 0)
    return x;
  if (c[2].high == 0) {
    *off = 4 * CLARKE_PAIR_UNIT * (fabs(c[1].high) * size + fabs(c[0].high));
    return clarke_pair_add(clarke_pair_multiply(c[1], x), c[0]);
  }
  *off = 16 * CLARKE_PAIR_UNIT * ((fabs(c[2].high) * size + fabs(c[1].high)) * size + fabs(c[0].high));
  return clarke_pair_add(clarke_pair_multiply(clarke_pair_add(clarke_pair_multiply(c[2], x), c[1]), x), c[0]);
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

clarke_status
clarke_pairs_piecewise(clarke_pairs_pass *f, const clarke_step *s)
{
  const clarke_enclosed *x = &f->value[s->in[0].value];
  clarke_enclosed *y = &f->value[s->out];
  clarke_branch *place = f->piece[f->step];
  const pair_pieces p = pieces_of(f, s);
  const bool kinked = f->margin != NULL && !clarke_margin_is_smooth(s);
  clarke_status status = clarke_enclosed_alloc(f, y, x->rows);

  for (size_t i = 0; i < x->rows && status == CLARKE_OK; i++) {
    const bool measured = kinked && clarke_margin_bends(f->g, s, i);

    for (size_t e = i * f->n; e < (i + 1) * f->n; e++) {
      const clarke_pair in = clarke_enclosed_get(x, e);

      if (place[e] == CLARKE_OPEN) {
        place[e] = place_of(&p, in, x->off[e]);
        if (place[e] != CLARKE_OPEN && measured)
          measure(f, &p, in, x->off[e], i, e % f->n);
      }
      put_value(y, e, &p, place[e], in, x->off[e], i);
    }
  }
  return status;
}
