/* On which side of its kinks an argument lies, as far as bounds tell, and bounds of what the pieces give. */
#include "network/pass/filter/filter.h"
#include "network/pass/filter/measure.h"
#include "network/pass/filter/norms.h"

#include "base/wide.h"
#include "network/pass/piecewise.h"

#include <stdlib.h>
#include <string.h>

/* A PIECEWISE step's numbers as doubles, each truncated. */
typedef struct {
  size_t n_kinks;
  double kink[CLARKE_MAX_KINKS], error[CLARKE_MAX_KINKS];
  double coef[CLARKE_MAX_KINKS + 1][3];
  bool only_zero; /* one kink, exactly at 0 */
  bool relu;      /* and the pieces 0 and x */
} float_pieces;

static void
float_pieces_set(float_pieces *p, const clarke_pieces *exact)
{
  p->n_kinks = exact->n_kinks;
  for (size_t k = 0; k < exact->n_kinks; k++) {
    p->kink[k] = mpq_get_d(exact->kink[k]); /* truncates */
    p->error[k] = clarke_taken(1, fabs(p->kink[k])) + CLARKE_TINY;
  }
  for (size_t i = 0; i <= exact->n_kinks; i++)
    for (size_t c = 0; c < 3; c++)
      p->coef[i][c] = mpq_get_d(exact->coef[i][c]);
  p->only_zero = exact->n_kinks == 1 && mpq_sgn(exact->kink[0]) == 0;
  p->relu = p->only_zero && exact->slope == CLARKE_NONE && p->coef[0][0] == 0 &&
            p->coef[0][1] == 0 && p->coef[1][0] == 0 && p->coef[1][1] == 1;
}

/* A place is decided only on a strict inequality between finite numbers: NaN stays open. */
static clarke_branch
decide(const float_pieces *p, double x, double bound)
{
  size_t piece = 0;

  for (size_t k = 0; k < p->n_kinks; k++) {
    double away = clarke_up_by(bound + p->error[k], 4) + clarke_taken(2, fabs(p->kink[k]));
    double distance = x - p->kink[k];

    if (distance > away + clarke_taken(1, fabs(distance)))
      piece = k + 1;
    else if (!(-distance > away + clarke_taken(1, fabs(distance))))
      return CLARKE_OPEN;
    else
      break;
  }
  return (clarke_branch)piece;
}

/* One row of a step with its kink at 0. */
CLARKE_WIDE static size_t
decide_row_at_zero(clarke_branch *piece, const double *x, const double *away, double *code, size_t n)
{
  for (size_t j = 0; j < n; j++) {
    double left = x[j] < -away[j] ? 0 : CLARKE_OPEN;

    code[j] = x[j] > away[j] ? 1 : left;
  }
  return clarke_store_places(piece, code, n);
}

static double
piece_value(const float_pieces *p, size_t piece, double x)
{
  const double *c = p->coef[piece];

  return (c[2] * x + c[1]) * x + c[0];
}

static size_t
nearest_piece(const float_pieces *p, double x)
{
  size_t piece = 0;

  while (piece < p->n_kinks && x > p->kink[piece])
    piece++;
  return piece;
}

/* The steepest slope that a row's arguments may meet, within their bounds: of the whole function, or, where that has none, of
 * as large arguments as these. */
static double
row_steepest(clarke_filter *f, const clarke_step *s, const clarke_enclosure *x, double everywhere, size_t i)
{
  double most = 0;

  if (isfinite(everywhere))
    return everywhere;
  clarke_enclosure_row_bounds(f, x, i, f->bound);
  for (size_t j = 0; j < f->n; j++)
    most = clarke_larger(most, clarke_up_add(fabs(x->y[i * f->n + j]), f->bound[j]));
  return clarke_piecewise_steepest(s, everywhere, most);
}

/* y and its bounds: Lipschitz continuity carries the error of x through (an open entry too), and
 * a few roundings of numbers no larger than `size`. */
static void
piecewise_values(clarke_filter *f, const clarke_step *s, const float_pieces *p, const clarke_enclosure *x,
                 clarke_enclosure *y, double *largest)
{
  const double everywhere = clarke_piecewise_lipschitz(f->g, s);
  double bend = fmax(fabs(p->coef[0][2]), fmax(fabs(p->coef[1][2]), 0));

  for (size_t i = 0; i < y->rows; i++) {
    double slope = s->pieces.slope == CLARKE_NONE
                     ? 0
                     : f->g->values[s->pieces.slope].real[s->pieces.slope_map != NULL
                                                            ? s->pieces.slope_map[i] : i];
    const double lipschitz = row_steepest(f, s, x, everywhere, i);

    for (size_t j = 0; j < f->n; j++) {
      double in = x->y[i * f->n + j], size;
      size_t piece = nearest_piece(p, in);

      y->y[i * f->n + j] = s->pieces.slope != CLARKE_NONE ? (in > 0 ? in : slope * in)
                                                          : piece_value(p, piece, in);
      size = fabs(p->coef[piece][0]) + (lipschitz + bend * fabs(in)) * fabs(in);
      largest[j] = clarke_larger(largest[j], size);
    }
    if (f->fine)
      for (size_t j = 0; j < f->n; j++)
        y->each[i * f->n + j] = clarke_up_float(lipschitz * (double)x->each[i * f->n + j]);
    else
      y->row[i] = clarke_up_mul(lipschitz, x->row[i]);
  }
  if (!f->fine)
    memcpy(y->col, x->col, f->n * sizeof *y->col);
}

CLARKE_WIDE static void
relu_values(clarke_filter *f, const clarke_enclosure *x, clarke_enclosure *y)
{
  for (size_t e = 0; e < x->rows * f->n; e++)
    y->y[e] = x->y[e] > 0 ? x->y[e] : 0;
  memcpy(y->row, x->row, x->rows * sizeof *y->row);
  memcpy(y->col, x->col, f->n * sizeof *y->col);
}

#define RELU_BLOCK 256

/* A relu in place, in a fine pass: where the argument is certainly negative the value is exactly 0. */
static size_t
relu_block(double *y, float *each, clarke_branch *piece, size_t n)
{
  double away[RELU_BLOCK], code[RELU_BLOCK];
  size_t open;

  for (size_t j = 0; j < n; j++)
    away[j] = (double)each[j];
  open = decide_row_at_zero(piece, y, away, code, n);
  for (size_t j = 0; j < n; j++) {
    away[j] = code[j] == 0 ? 0 : away[j];
    y[j] = y[j] > 0 ? y[j] : 0;
  }
  for (size_t j = 0; j < n; j++)
    each[j] = (float)away[j];
  return open;
}

static size_t
relu_fine(clarke_filter *f, clarke_enclosure *y, clarke_branch *piece)
{
  size_t open = 0, entries = y->rows * f->n;

  for (size_t e = 0; e < entries; e += RELU_BLOCK)
    open += relu_block(y->y + e, y->each + e, piece + e,
                       entries - e < RELU_BLOCK ? entries - e : RELU_BLOCK);
  return open;
}

/* Before relu_fine overwrites the argument. */
static void
measure_relu(clarke_filter *f, const clarke_step *s, const float_pieces *p, const clarke_enclosure *x)
{
  for (size_t i = 0; f->margin != NULL && i < x->rows; i++) {
    clarke_enclosure_row_bounds(f, x, i, f->bound);
    clarke_measure_arguments(f, s, p->kink, false, x->y + i * f->n, NULL, i);
  }
}

static size_t
decide_all(clarke_filter *f, const clarke_step *s, const float_pieces *p, const clarke_enclosure *x,
           clarke_branch *piece)
{
  size_t open = 0;
  bool at_zero = p->only_zero && s->pieces.slope == CLARKE_NONE, smooth = clarke_margin_is_smooth(s);

  for (size_t i = 0; i < x->rows; i++) {
    clarke_enclosure_row_bounds(f, x, i, f->bound);
    if (at_zero) {
      open += decide_row_at_zero(piece + i * f->n, x->y + i * f->n, f->bound, f->near, f->n);
      clarke_measure_arguments(f, s, p->kink, smooth, x->y + i * f->n, piece + i * f->n, i);
      continue;
    }
    for (size_t j = 0; j < f->n; j++) {
      clarke_branch c = decide(p, x->y[i * f->n + j], f->bound[j]);

      piece[i * f->n + j] = c;
      open += c == CLARKE_OPEN;
    }
    clarke_measure_arguments(f, s, p->kink, smooth, x->y + i * f->n, piece + i * f->n, i);
  }
  return open;
}

clarke_status
clarke_filter_piecewise(clarke_filter *f, const clarke_step *s)
{
  clarke_branch *piece = f->piece[s - f->g->steps];
  const clarke_enclosure *x = &f->value[s->in[0].value];
  clarke_enclosure *y = &f->value[s->out];
  float_pieces p = {0};
  double *largest;
  clarke_status status;

  float_pieces_set(&p, &s->pieces);
  status = p.relu && f->fine ? clarke_enclosure_inherit(f, y, s->in[0].value) : clarke_enclosure_alloc(f, y, x->rows);
  if (status != CLARKE_OK)
    return status;
  if (p.relu && f->fine) {
    measure_relu(f, s, &p, y);
    *f->open += relu_fine(f, y, piece);
    return CLARKE_OK;
  }
  *f->open += decide_all(f, s, &p, x, piece);
  if (p.relu) {
    relu_values(f, x, y);
    clarke_norms_of_pieces(f, s, y, 1, NULL);
    return CLARKE_OK;
  }
  largest = calloc(f->n + 1, sizeof *largest);
  if (largest == NULL)
    return clarke_no_memory(f->err);
  piecewise_values(f, s, &p, x, y, largest);
  clarke_round_sizes(largest, f->n, 32);
  clarke_enclosure_add_rounding(f, y, largest);
  clarke_norms_of_pieces(f, s, y, clarke_piecewise_lipschitz(f->g, s), largest);
  free(largest);
  return CLARKE_OK;
}
