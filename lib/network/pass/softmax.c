#include "network/pass/softmax.h"

#include "exact/ball.h"
#include "exact/number.h"

#include <stdlib.h>

/* A probability, whatever its enclosure says. */
static void
keep_between_0_and_1(arb_t y)
{
  if (arb_is_finite(y) && mag_cmp_2exp_si(arb_radref(y), -1) <= 0)
    return;
  arf_set_ui_2exp_si(arb_midref(y), 1, -1);
  mag_set_ui_2exp_si(arb_radref(y), 1, -1);
}

/* What a group of n takes: n - 1 comparisons and n differences; n exponentials and n sums; then a logarithm and n differences, or n
 * exponentials again and n quotients. */
static void
count_group(size_t n, bool logarithm)
{
  clarke_tally_add(n > 0 ? n - 1 : 0, 0, 0);
  clarke_tally_add(2 * n, 0, n);
  clarke_tally_add(logarithm ? n : 0, logarithm ? 0 : n, logarithm ? 1 : n);
}

/* y[i] of one group: exp(x_i - max) / sum, or x_i - max - log sum. The shift is any number near
 * the maximum: it cancels exactly. */
void
clarke_softmax_balls(arb_ptr y, size_t n, size_t stride, bool logarithm, long precision)
{
  arb_t shift, sum, term;

  count_group(n, logarithm);
  arb_init(shift);
  arb_init(sum);
  arb_init(term);
  for (size_t i = 0; i < n; i++)
    if (i == 0 || arf_cmp(arb_midref(y + i * stride), arb_midref(shift)) > 0)
      arf_set(arb_midref(shift), arb_midref(y + i * stride));
  for (size_t i = 0; i < n; i++) {
    arb_sub(y + i * stride, y + i * stride, shift, precision);
    arb_exp(term, y + i * stride, precision);
    arb_add(sum, sum, term, precision);
  }
  if (logarithm)
    arb_log(sum, sum, precision);
  for (size_t i = 0; i < n; i++) {
    if (logarithm) {
      arb_sub(y + i * stride, y + i * stride, sum, precision);
      continue;
    }
    arb_exp(y + i * stride, y + i * stride, precision);
    arb_div(y + i * stride, y + i * stride, sum, precision);
    keep_between_0_and_1(y + i * stride);
  }
  arb_clear(shift);
  arb_clear(sum);
  arb_clear(term);
}

clarke_status
clarke_softmax_apply(clarke_matrix *y, const clarke_step *s, const clarke_matrix *x, long precision, clarke_error *err)
{
  size_t n = x->rows * x->cols, block = s->length * s->stride;
  arb_ptr ball = _arb_vec_init((long)n);
  clarke_status status;

  for (size_t e = 0; e < n; e++)
    clarke_matrix_get_ball(ball + e, x, e / x->cols, e % x->cols, 2 * precision);
  for (size_t g = 0; g < s->groups; g++)
    for (size_t r = 0; r < s->stride; r++)
      for (size_t j = 0; j < x->cols; j++)
        clarke_softmax_balls(ball + (g * block + r) * x->cols + j, s->length, s->stride * x->cols, s->log, precision + 10);
  status = clarke_matrix_set_balls(y, x->rows, x->cols, ball, precision, err);
  _arb_vec_clear(ball, (long)n);
  return status;
}

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
  clarke_tally_add(0, 0, n);
  balls = _arb_vec_init((long)n);
  for (size_t e = 0; e < n; e++) {
    clarke_matrix_get_ball(balls + e, v, e / v->cols, e % v->cols, f->precision + 20);
    arb_exp(balls + e, balls + e, f->precision + 20);
  }
  status = clarke_matrix_set_balls(y, v->rows, v->cols, balls, f->precision, err);
  _arb_vec_clear(balls, (long)n);
  return status;
}
