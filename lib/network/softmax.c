/* What the derivatives of softmax share. */
#include "exact/ball.h"
#include "network/forward.h"

#include <stdlib.h>

clarke_status
clarke_softmax_groups(clarke_matrix *y, const clarke_step *s, const clarke_matrix *x,
                      clarke_error *err)
{
  size_t n = s->groups * s->length * s->stride;
  size_t *group = malloc((n + 1) * sizeof *group);
  clarke_matrix sums;
  clarke_status status;

  if (group == NULL)
    return clarke_no_memory(err);
  for (size_t f = 0; f < n; f++)
    group[f] = f / (s->length * s->stride) * s->stride + f % s->stride;
  clarke_matrix_init(&sums);
  status = clarke_matrix_scatter_rows(&sums, x, group, s->groups * s->stride, err);
  if (status == CLARKE_OK)
    status = clarke_matrix_gather_rows(y, &sums, group, n, err);
  clarke_matrix_clear(&sums);
  free(group);
  return status;
}

clarke_status
clarke_softmax_probabilities(clarke_matrix *y, const clarke_step *s, const clarke_forward *f,
                             clarke_error *err)
{
  arb_ptr balls;
  const clarke_matrix *v = &f->value[s->out];
  size_t n = v->rows * v->cols;
  clarke_status status;

  if (!s->log)
    return clarke_matrix_copy(y, v, err);
  balls = _arb_vec_init((long)n);
  for (size_t e = 0; e < n; e++) {
    clarke_matrix_get_ball(balls + e, v, e / v->cols, e % v->cols, f->precision + 20);
    arb_exp(balls + e, balls + e, f->precision + 20);
  }
  status = clarke_matrix_set_balls(y, v->rows, v->cols, balls, f->precision, err);
  _arb_vec_clear(balls, (long)n);
  return status;
}
