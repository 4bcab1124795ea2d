/* Piecewise steps: where arguments lie, as far as bounds tell, and the values of the pieces. */
#include "network/pass/pairs/pairs.h"

#include "network/pass/piecewise.h"

/* A step's numbers, each off by less than a unit of pairs. */
typedef struct {
  size_t n_kinks;
  clarke_pair kink[CLARKE_MAX_KINKS], coef[CLARKE_MAX_KINKS + 1][3];
  const double *slope; /* of PRelu, by feature through the map; NULL: none */
  const size_t *map;
  bool plain;                     /* every piece is x, or a number */
  bool kept[CLARKE_MAX_KINKS + 1]; /* it is x */
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

/* The distances of an entry that has just been decided. */
static void
measure(const clarke_pairs_pass *f, const pair_pieces *p, clarke_pair x, double off, size_t feature, size_t column)
{
  for (size_t k = 0; k < p->n_kinks; k++) {
    double own;
    const double d = distance_from(p->kink[k], x, &own);

    if (!(fabs(d) - 2 * own - 2 * off > f->margin[f->step][column].most)) /* a nearer one is known */
      clarke_pairs_measure(f, column, fabs(d), clarke_up_by(own + off, 4), feature);
  }
}

/* The sizes of all arguments, decided or not, and of kinks, into their samples' margins. */
static void
measure_sizes(const clarke_pairs_pass *f, const clarke_step *s, const clarke_enclosed *x)
{
  clarke_margin *m = f->margin != NULL ? f->margin[f->step] : NULL;

  for (size_t e = 0; m != NULL && e < x->rows * f->n; e++)
    clarke_margin_hold(&m[e % f->n], clarke_up_by(fabs(x->high[e]) + x->off[e], 4));
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

/* The piece's polynomial at x, and what that is off by: each operation, and each number, by a unit of itself, which is at most the sizes of
 * all terms together; of a line a term goes through three of these, of a parabola through eight. */
static clarke_pair
polynomial(const pair_pieces *p, size_t piece, size_t feature, clarke_pair x, double *off)
{
  const clarke_pair *c = p->coef[piece];
  const double size = fabs(x.high);

  *off = 0;
  if (p->slope != NULL && piece == 0) {
    *off = 2 * CLARKE_PAIR_UNIT * fabs(prelu_slope(p, feature)) * size;
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

clarke_status
clarke_pairs_piecewise(clarke_pairs_pass *f, const clarke_step *s)
{
  const clarke_enclosed *x = &f->value[s->in[0].value];
  clarke_enclosed *y = &f->value[s->out];
  clarke_branch *place = f->piece[f->step];
  const pair_pieces p = pieces_of(f, s);
  const bool kinked = f->margin != NULL && !clarke_margin_is_smooth(s);
  clarke_status status = clarke_enclosed_alloc(f, y, x->rows);

  if (status == CLARKE_OK)
    measure_sizes(f, s, x);
  for (size_t i = 0; i < x->rows && status == CLARKE_OK; i++) {
    const bool measured = kinked && clarke_margin_bends(f->g, s, i);

    for (size_t e = i * f->n; e < (i + 1) * f->n; e++) {
      const clarke_pair in = clarke_enclosed_get(x, e);

      if (place[e] == CLARKE_OPEN) {
        place[e] = place_of(&p, in, x->off[e]);
        if (place[e] != CLARKE_OPEN && measured)
          measure(f, &p, in, x->off[e], i, e % f->n);
        f->vague += place[e] == CLARKE_OPEN && !(x->off[e] <= CLARKE_PAIRS_CLOSE);
      }
      if (p.plain && place[e] >= 0)
        put_plain(y, e, &p, (size_t)place[e], in, x->off[e]);
      else
        put_value(y, e, &p, place[e], in, x->off[e], i);
    }
  }
  return status;
}
