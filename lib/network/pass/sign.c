#include "network/pass/sign.h"

#include "network/pass/factors.h"
#include "network/pass/piecewise.h"

#include <stdlib.h>

/* The code of an entry whose signs relative to the kinks are sign[0..k-1], each at `stride`. */
static clarke_branch
place(const signed char *sign, size_t stride, size_t n_kinks)
{
  size_t piece = 0;

  for (size_t k = 0; k < n_kinks; k++) {
    signed char s = sign[k * stride];

    if (s == 2)
      return CLARKE_OPEN;
    if (s == 0)
      return CLARKE_AT(k);
    piece += s > 0;
  }
  return (clarke_branch)piece;
}

/* Where a parabola joins its tangent there is no kink: the place is the parabola's, on which no argument is taken to be affine. */
static clarke_branch
joined(const clarke_pieces *p, clarke_branch code)
{
  const size_t k = CLARKE_KINK_OF(code);

  return !clarke_pieces_joined(p, k) ? code : mpq_sgn(p->coef[k][2]) != 0 ? (clarke_branch)k : (clarke_branch)(k + 1);
}

/* A PRelu entry of slope 1 has no kink: zero counts as the left piece, which a slope in wrt multiplies. */
static void
forget_smooth(clarke_branch *piece, const clarke_constants *c, const clarke_step *step, size_t n)
{
  const clarke_value *slope = &c->g->values[step->pieces.slope];
  size_t count = c->g->values[step->out].count;

  for (size_t f = 0; f < count; f++) {
    if (slope->real[step->pieces.slope_map != NULL ? step->pieces.slope_map[f] : f] != 1)
      continue;
    for (size_t j = 0; j < n; j++)
      if (piece[f * n + j] == CLARKE_AT(0))
        piece[f * n + j] = 0;
  }
}

clarke_status
clarke_sign_decide(clarke_branch *piece, size_t *open, const clarke_constants *constants,
                   const clarke_step *step, const clarke_matrix *x, clarke_error *err)
{
  size_t n_kinks = step->pieces.n_kinks, entries = x->rows * x->cols;
  signed char *sign = malloc(n_kinks * entries + 1);

  if (sign == NULL)
    return clarke_no_memory(err);
  for (size_t k = 0; k < n_kinks; k++)
    clarke_matrix_signs(sign + k * entries, x, step->pieces.kink[k]);
  for (size_t e = 0; e < entries; e++) {
    piece[e] = place(sign + e, entries, n_kinks);
    *open += piece[e] == CLARKE_OPEN;
  }
  if (step->pieces.slope != CLARKE_NONE)
    forget_smooth(piece, constants, step, x->cols);
  for (size_t e = 0; e < entries; e++)
    if (piece[e] < 0 && piece[e] != CLARKE_OPEN)
      piece[e] = joined(&step->pieces, piece[e]);
  free(sign);
  return CLARKE_OK;
}

void
clarke_sign_by_factors(clarke_forward *f, size_t step)
{
  const clarke_step *s = &f->g->steps[step];
  const clarke_matrix *x = &f->value[s->in[0].value];

  for (size_t e = 0; e < x->rows * x->cols; e++) {
    signed char sign[CLARKE_MAX_KINKS];

    if (f->piece[step][e] != CLARKE_OPEN)
      continue;
    for (size_t k = 0; k < s->pieces.n_kinks; k++) {
      sign[k] = (signed char)clarke_matrix_compare(x, e / x->cols, e % x->cols, s->pieces.kink[k]);
      if (sign[k] == 2 && mpq_sgn(s->pieces.kink[k]) == 0)
        sign[k] = (signed char)clarke_factors_sign(f, s->in[0].value, e / x->cols, e % x->cols);
    }
    f->piece[step][e] = place(sign, 1, s->pieces.n_kinks);
    f->open -= f->piece[step][e] != CLARKE_OPEN;
  }
}
