#include "network/pass/piecewise.h"

#include "network/pass/linear.h"

#include "exact/number.h"
#include "exact/upward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Do doubles tell that the slopes beside kink k differ? */
static bool
plainly_differ(const clarke_pieces *p, size_t k)
{
  const double at = mpq_get_d(p->kink[k]), before = mpq_get_d(p->coef[k][1]), behind = mpq_get_d(p->coef[k + 1][1]);
  const double bend = 2 * mpq_get_d(p->coef[k][2]) * at, more = 2 * mpq_get_d(p->coef[k + 1][2]) * at;
  const double mass = fabs(before) + fabs(behind) + fabs(bend) + fabs(more);

  return mass > 0x1p-500 && mass < 0x1p500 && fabs(before + bend - behind - more) > clarke_taken(16, mass) + 0x1p-600;
}

bool
clarke_pieces_joined(const clarke_pieces *p, size_t k)
{
  bool same;
  mpq_t left, right;

  if (p->slope != CLARKE_NONE || (mpq_sgn(p->coef[k][2]) == 0 && mpq_sgn(p->coef[k + 1][2]) == 0) || plainly_differ(p, k))
    return false;
  mpq_inits(left, right, NULL);
  clarke_pieces_slope(left, p, k, p->kink[k]);
  clarke_pieces_slope(right, p, k + 1, p->kink[k]);
  same = mpq_equal(left, right) != 0;
  mpq_clears(left, right, NULL);
  return same;
}

static double
prelu_slope(const clarke_graph *g, const clarke_step *step, size_t f)
{
  const size_t *map = step->pieces.slope_map;

  return g->values[step->pieces.slope].real[map != NULL ? map[f] : f];
}

void
clarke_piecewise_side(mpq_t slope, const clarke_graph *g, const clarke_step *step, size_t f,
                      size_t k, bool right)
{
  clarke_piecewise_slope(slope, g, step, f, right ? k + 1 : k, step->pieces.kink[k]);
}

void
clarke_piecewise_slope(mpq_t slope, const clarke_graph *g, const clarke_step *step, size_t f, size_t piece,
                       const mpq_t x)
{
  if (piece == 0 && step->pieces.slope != CLARKE_NONE)
    mpq_set_d(slope, prelu_slope(g, step, f));
  else
    clarke_pieces_slope(slope, &step->pieces, piece, x);
}

double
clarke_piecewise_lipschitz(const clarke_graph *g, const clarke_step *step)
{
  const clarke_pieces *p = &step->pieces;
  double bound = clarke_up_rational(p->coef[0][1]);
  mpq_t slope;

  /* Slopes are affine in each piece. Where they are constant in the outer ones kinks hold the extremes. */
  if (mpq_sgn(p->coef[0][2]) != 0 || mpq_sgn(p->coef[p->n_kinks][2]) != 0)
    return INFINITY;
  mpq_init(slope);
  for (size_t k = 0; k < p->n_kinks; k++)
    for (size_t side = 0; side < 2; side++) {
      clarke_pieces_slope(slope, p, k + side, p->kink[k]);
      bound = fmax(bound, clarke_up_rational(slope));
    }
  mpq_clear(slope);
  for (size_t e = 0; p->slope != CLARKE_NONE && e < g->values[p->slope].count; e++)
    bound = fmax(bound, fabs(g->values[p->slope].real[e]));
  return bound;
}

double
clarke_piecewise_steepest(const clarke_step *step, double everywhere, double size)
{
  const clarke_pieces *p = &step->pieces;
  double bound = 0;

  if (isfinite(everywhere))
    return everywhere;
  for (size_t i = 0; i <= p->n_kinks; i++)
    bound = fmax(bound, clarke_up_add(clarke_up_rational(p->coef[i][1]), clarke_up_mul(2 * clarke_up_rational(p->coef[i][2]), size)));
  return bound;
}

/* The piece whose formula gives an entry's value: at a kink either side does. */
static size_t
formula(const clarke_step *step, const clarke_matrix *x, const clarke_branch *piece, size_t e)
{
  size_t p = 0;

  if (piece[e] != CLARKE_OPEN)
    return piece[e] >= 0 ? (size_t)piece[e] : CLARKE_KINK_OF(piece[e]) + 1;
  /* Open: the midpoint's own piece; the radius covers the rest. */
  clarke_matrix mid = clarke_matrix_view(x, x->rows, x->cols);
  mid.radius = NULL;
  for (size_t k = 0; k < step->pieces.n_kinks; k++)
    p += clarke_matrix_compare(&mid, e / x->cols, e % x->cols, step->pieces.kink[k]) > 0;
  return p;
}

/* Integer coefficients c[p][0..2] such that piece p at word * 2^exp / den is
 * (c[p][2] word^2 + c[p][1] word + c[p][0]) * 2^out_exp / out_den. */
typedef struct {
  mpz_t c[CLARKE_MAX_KINKS + 1][3];
  long exp;
  mpz_t den;
} integer_pieces;

/* units = 2^(degree exp) / (den^degree L): every coefficient becomes an integer of them. */
static void
integer_pieces_init(integer_pieces *ip, const clarke_pieces *p, const clarke_matrix *x)
{
  size_t degree = 1, two;
  long e = x->exp < 0 ? x->exp : 0;
  mpz_t lcm;

  mpz_init_set_ui(lcm, 1);
  for (size_t i = 0; i <= p->n_kinks; i++)
    for (size_t k = 0; k < 3; k++) {
      mpz_lcm(lcm, lcm, mpq_denref(p->coef[i][k]));
      if (k == 2 && mpq_sgn(p->coef[i][k]) != 0)
        degree = 2;
    }
  for (size_t i = 0; i <= p->n_kinks; i++)
    for (size_t k = 0; k < 3; k++) {
      mpz_t *c = &ip->c[i][k];

      /* a_k = num/d contributes num (L/d) den^(degree-k) 2^(k exp - degree e) word^k units. */
      mpz_init(*c);
      mpz_divexact(*c, lcm, mpq_denref(p->coef[i][k]));
      mpz_mul(*c, *c, mpq_numref(p->coef[i][k]));
      for (size_t d = k; d < degree; d++)
        mpz_mul(*c, *c, x->den);
      if (mpz_sgn(*c) != 0)
        mpz_mul_2exp(*c, *c, (unsigned long)((long)k * x->exp - (long)degree * e));
    }
  two = mpz_scan1(lcm, 0);
  mpz_tdiv_q_2exp(lcm, lcm, two);
  ip->exp = (long)degree * e - (long)two;
  mpz_init_set(ip->den, lcm);
  for (size_t d = 0; d < degree; d++)
    mpz_mul(ip->den, ip->den, x->den);
  mpz_clear(lcm);
}

static void
integer_pieces_clear(integer_pieces *ip)
{
  for (size_t i = 0; i <= CLARKE_MAX_KINKS; i++)
    for (size_t k = 0; k < 3; k++)
      if (ip->c[i][k]->_mp_alloc >= 0 && ip->c[i][k]->_mp_d != NULL)
        mpz_clear(ip->c[i][k]);
  mpz_clear(ip->den);
}

bool
clarke_piece_is_number(const clarke_pieces *p, clarke_branch piece)
{
  return piece >= 0 && (p->slope == CLARKE_NONE || piece > 0) &&
         mpq_sgn(p->coef[piece][1]) == 0 && mpq_sgn(p->coef[piece][2]) == 0;
}

/* At least the absolute value of an entry, its radius included. */
static double
size_of(const clarke_matrix *x, size_t e)
{
  const double middle = clarke_up_over(fabs(clarke_matrix_get_double(x, e / x->cols, e % x->cols)), 4, CLARKE_TINY);

  return clarke_up_add(middle, clarke_matrix_radius(x, e / x->cols, e % x->cols));
}

/* On a piece that is a number nothing is left of an argument's radius. */
static clarke_status
widen_radius(clarke_matrix *y, const clarke_step *step, const clarke_matrix *x,
             const clarke_branch *piece, double lipschitz, clarke_error *err)
{
  size_t n = x->rows * x->cols;

  if (x->radius == NULL)
    return CLARKE_OK;
  y->radius = malloc((n + 1) * sizeof *y->radius);
  if (y->radius == NULL)
    return clarke_no_memory(err);
  for (size_t e = 0; e < n; e++) {
    const double size = isfinite(lipschitz) ? 0 : size_of(x, e);

    y->radius[e] = clarke_piece_is_number(&step->pieces, piece[e])
                     ? 0
                     : clarke_up_mul(x->radius[e], clarke_piecewise_steepest(step, lipschitz, size));
  }
  return CLARKE_OK;
}

/* Entries of x in that piece (others zero), for PRelu. */
static clarke_status
masked(clarke_matrix *y, const clarke_step *step, const clarke_matrix *x, const clarke_branch *piece,
       size_t wanted, clarke_error *err)
{
  clarke_status status = clarke_matrix_copy(y, x, err);

  for (size_t e = 0; status == CLARKE_OK && e < x->rows * x->cols; e++)
    if (formula(step, x, piece, e) != wanted) {
      memset(y->word + e * y->limbs, 0, y->limbs * sizeof *y->word);
      if (y->radius != NULL && piece[e] != CLARKE_OPEN)
        y->radius[e] = 0;
    }
  return status;
}

static clarke_status
prelu_apply(clarke_matrix *y, const clarke_constants *constants, const clarke_step *step,
            const clarke_matrix *x, const clarke_branch *piece, clarke_error *err)
{
  clarke_matrix left, slope;
  clarke_status status;

  clarke_matrix_init(&left);
  clarke_matrix_init(&slope);
  status = masked(&left, step, x, piece, 0, err);
  if (status == CLARKE_OK)
    status = clarke_slope_column(&slope, constants, step, err);
  if (status == CLARKE_OK)
    status = clarke_matrix_hadamard(&left, &left, &slope, err);
  if (status == CLARKE_OK)
    status = masked(y, step, x, piece, 1, err);
  if (status == CLARKE_OK)
    status = clarke_matrix_add(y, y, &left, err);
  clarke_matrix_clear(&left);
  clarke_matrix_clear(&slope);
  return status;
}

/* Is piece p of the step the identity, or zero? Then entries are copied or skipped. */
static int
plain(const clarke_pieces *p, size_t piece)
{
  if (mpq_sgn(p->coef[piece][2]) != 0 || mpq_sgn(p->coef[piece][0]) != 0)
    return -1;
  if (mpq_sgn(p->coef[piece][1]) == 0)
    return 0;
  return mpq_cmp_ui(p->coef[piece][1], 1, 1) == 0 ? 1 : -1;
}

/* Relu and the like: the words of x kept or zeroed. */
static clarke_status
apply_plain(clarke_matrix *y, const clarke_step *step, const clarke_matrix *x,
            const clarke_branch *piece, clarke_error *err)
{
  clarke_status status = clarke_matrix_copy(y, x, err);

  if (status != CLARKE_OK)
    return status;
  for (size_t e = 0; e < x->rows * x->cols; e++)
    if (plain(&step->pieces, formula(step, x, piece, e)) == 0)
      memset(y->word + e * y->limbs, 0, y->limbs * sizeof *y->word);
  return CLARKE_OK;
}

static clarke_status
apply_general(clarke_matrix *y, const clarke_step *step, const clarke_matrix *x,
              const clarke_branch *piece, clarke_error *err)
{
  clarke_status status = clarke_matrix_resize(y, x->rows, x->cols, x->limbs + 1, err);
  integer_pieces ip;
  mpz_t word, result;

  if (status != CLARKE_OK)
    return status;
  memset(&ip, 0, sizeof ip);
  integer_pieces_init(&ip, &step->pieces, x);
  mpz_inits(word, result, NULL);
  y->exp = ip.exp;
  mpz_set(y->den, ip.den);
  clarke_tally_add(2 * x->rows * x->cols, 2 * x->rows * x->cols, 0); /* each a polynomial of degree 2 */
  for (size_t e = 0; status == CLARKE_OK && e < x->rows * x->cols; e++) {
    size_t p = formula(step, x, piece, e);

    clarke_matrix_load(word, x, e / x->cols, e % x->cols);
    mpz_mul(result, ip.c[p][2], word);
    mpz_add(result, result, ip.c[p][1]);
    mpz_mul(result, result, word);
    mpz_add(result, result, ip.c[p][0]);
    status = clarke_matrix_store(y, e / x->cols, e % x->cols, result, err);
  }
  mpz_clears(word, result, NULL);
  integer_pieces_clear(&ip);
  return status;
}

clarke_status
clarke_piecewise_apply(clarke_matrix *y, const clarke_constants *constants,
                       const clarke_step *step, const clarke_matrix *x, const clarke_branch *piece,
                       clarke_error *err)
{
  bool all_plain = true;
  clarke_status status;

  if (step->pieces.slope != CLARKE_NONE)
    status = prelu_apply(y, constants, step, x, piece, err);
  else {
    for (size_t p = 0; p <= step->pieces.n_kinks; p++)
      all_plain = all_plain && plain(&step->pieces, p) >= 0;
    status = all_plain ? apply_plain(y, step, x, piece, err)
                       : apply_general(y, step, x, piece, err);
  }
  if (status != CLARKE_OK)
    return status;
  free(y->radius);
  y->radius = NULL;
  return widen_radius(y, step, x, piece, clarke_piecewise_lipschitz(constants->g, step), err);
}

/* The slope polynomial of each piece: the derivative's coefficients as pieces of their own. */
static void
derivative_pieces(clarke_pieces *d, const clarke_pieces *p)
{
  *d = *p;
  for (size_t i = 0; i <= CLARKE_MAX_KINKS; i++) {
    for (size_t k = 0; k < 3; k++)
      mpq_init(d->coef[i][k]);
    mpq_set(d->coef[i][0], p->coef[i][1]);
    mpq_add(d->coef[i][1], p->coef[i][2], p->coef[i][2]);
  }
}

static bool
slopes_are_constant(const clarke_pieces *p)
{
  for (size_t i = 0; i <= p->n_kinks; i++)
    if (mpq_sgn(p->coef[i][2]) != 0)
      return false;
  return true;
}

/* Zeroes what is not strictly inside a piece. */
static void
clear_touched(clarke_matrix *s, const clarke_branch *piece)
{
  for (size_t e = 0; e < s->rows * s->cols; e++)
    if (piece[e] < 0) {
      memset(s->word + e * s->limbs, 0, s->limbs * sizeof *s->word);
      if (s->radius != NULL)
        s->radius[e] = 0;
    }
}

static clarke_status
prelu_slopes(clarke_matrix *s, const clarke_constants *constants, const clarke_step *step,
             const clarke_branch *piece, size_t n, clarke_error *err)
{
  size_t count = constants->g->values[step->out].count;
  double *slope = malloc((count * n + 1) * sizeof *slope);
  clarke_status status;

  if (slope == NULL)
    return clarke_no_memory(err);
  for (size_t e = 0; e < count * n; e++)
    slope[e] = piece[e] == 0 ? prelu_slope(constants->g, step, e / n) : piece[e] == 1 ? 1 : 0;
  status = clarke_matrix_set_doubles(s, count, n, slope, err);
  free(slope);
  return status;
}

/* Is the slope of every piece an integer that a word holds? */
static bool
slopes_are_words(const clarke_pieces *p)
{
  for (size_t i = 0; i <= p->n_kinks; i++)
    if (mpz_cmp_ui(mpq_denref(p->coef[i][1]), 1) != 0 || !mpz_fits_slong_p(mpq_numref(p->coef[i][1])))
      return false;
  return slopes_are_constant(p);
}

/* The slopes of such pieces: one word an entry, whatever the argument's numbers take. */
static clarke_status
word_slopes(clarke_matrix *s, const clarke_step *step, const clarke_matrix *x, const clarke_branch *piece, clarke_error *err)
{
  long slope[CLARKE_MAX_KINKS + 1];
  clarke_status status = clarke_matrix_resize(s, x->rows, x->cols, 1, err);

  for (size_t i = 0; i <= step->pieces.n_kinks; i++)
    slope[i] = mpz_get_si(mpq_numref(step->pieces.coef[i][1]));
  for (size_t e = 0; status == CLARKE_OK && e < x->rows * x->cols; e++)
    s->word[e] = (uint64_t)slope[formula(step, x, piece, e)];
  if (status == CLARKE_OK)
    clear_touched(s, piece);
  return status;
}

clarke_status
clarke_piecewise_slopes(clarke_matrix *s, const clarke_constants *constants,
                        const clarke_step *step, const clarke_matrix *x, const clarke_branch *piece,
                        clarke_error *err)
{
  clarke_step derivative = *step;
  clarke_status status;

  if (step->pieces.slope != CLARKE_NONE)
    return prelu_slopes(s, constants, step, piece, x->cols, err);
  if (slopes_are_words(&step->pieces))
    return word_slopes(s, step, x, piece, err);
  derivative_pieces(&derivative.pieces, &step->pieces);
  status = apply_general(s, &derivative, x, piece, err);
  if (status == CLARKE_OK && x->radius != NULL && !slopes_are_constant(&step->pieces)) {
    double steepest = 0;

    for (size_t p = 0; p <= step->pieces.n_kinks; p++)
      steepest = fmax(steepest, clarke_up_rational(derivative.pieces.coef[p][1]));
    status = widen_radius(s, step, x, piece, steepest, err);
  }
  for (size_t i = 0; i <= CLARKE_MAX_KINKS; i++)
    for (size_t k = 0; k < 3; k++)
      mpq_clear(derivative.pieces.coef[i][k]);
  if (status == CLARKE_OK)
    clear_touched(s, piece);
  return status;
}
