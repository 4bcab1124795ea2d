
#include "op/pieces.h"
#include "op/lower.h"

clarke_step *
clarke_lower_pointwise(clarke_lowering *low, size_t n_kinks, clarke_error *err)
{
  clarke_step *s;

  if (clarke_lower_first(low, err) != CLARKE_OK)
    return NULL;
  s = clarke_lower_step_like(low, CLARKE_PIECEWISE, 1, low->in[0], err);
  if (s != NULL)
    s->pieces.n_kinks = n_kinks;
  return s;
}

/* Joins the pieces beside kink k: they are the same polynomial. */
static void
drop_kink(clarke_pieces *p, size_t k)
{
  for (size_t i = k; i + 1 < p->n_kinks; i++)
    mpq_swap(p->kink[i], p->kink[i + 1]);
  for (size_t i = k + 1; i < p->n_kinks; i++)
    for (size_t c = 0; c < 3; c++)
      mpq_swap(p->coef[i][c], p->coef[i + 1][c]);
  p->n_kinks--;
}

clarke_status
clarke_lower_pieces_done(clarke_lowering *low, clarke_step *step, clarke_error *err)
{
  clarke_pieces *p = &step->pieces;
  mpq_t left, right;

  mpq_inits(left, right, NULL);
  for (size_t k = p->n_kinks; k-- > 0 && p->slope == CLARKE_NONE;) {
    clarke_pieces_slope(left, p, k, p->kink[k]);
    clarke_pieces_slope(right, p, k + 1, p->kink[k]);
    if (mpq_equal(left, right) && mpq_equal(p->coef[k][2], p->coef[k + 1][2]))
      drop_kink(p, k);
  }
  mpq_clears(left, right, NULL);
  return clarke_lower_done(low, step->out, err);
}

clarke_status
clarke_lower_pieces(clarke_lowering *low, mpq_t *constant, clarke_error *err)
{
  clarke_step *s = clarke_lower_pointwise(low, low->op->n_kinks, err);
  const char *wrong;

  if (s == NULL)
    return err != NULL ? err->code : CLARKE_EINPUT;
  wrong = low->op->pieces(&s->pieces, constant);
  if (wrong != NULL)
    return clarke_lower_fail(low, err, "%s", wrong);
  return clarke_lower_pieces_done(low, s, err);
}
