/* Relu max(x, 0); LeakyRelu and PRelu: x, or slope x below 0. One kink, at 0. */
#include "graph/operator.h"

#include <stdlib.h>
#include <string.h>

/* x above 0, slope x below. */
static clarke_status
finish(clarke_lowering *low, clarke_step *s, double slope, clarke_error *err)
{
  mpq_set_d(s->pieces.coef[0][1], slope);
  mpq_set_si(s->pieces.coef[1][1], 1, 1);
  return clarke_lower_pieces_done(low, s, err);
}

static clarke_status
lower_relu(clarke_lowering *low, clarke_error *err)
{
  clarke_step *s = clarke_lower_pointwise(low, 1, err);

  if (s == NULL)
    return err != NULL ? err->code : CLARKE_EINPUT;
  return finish(low, s, 0, err);
}

static clarke_status
lower_leaky(clarke_lowering *low, clarke_error *err)
{
  clarke_step *s = clarke_lower_pointwise(low, 1, err);

  if (s == NULL)
    return err != NULL ? err->code : CLARKE_EINPUT;
  return finish(low, s, clarke_lower_float(low, "alpha", (double)0.01f), err);
}

static clarke_status
lower_prelu(clarke_lowering *low, clarke_error *err)
{
  size_t rank, dims[CLARKE_MAX_RANK];
  size_t *map[2];
  clarke_step *s;
  clarke_status status = clarke_lower_weight(low, 1, err);

  if (status == CLARKE_OK)
    status = clarke_lower_activation(low, 0, err);
  if (status == CLARKE_OK)
    status = clarke_lower_broadcast(low, &rank, dims, &map[0], &map[1], err);
  if (status != CLARKE_OK)
    return status;
  s = map[0] == NULL ? clarke_lower_pointwise(low, 1, err) : NULL;
  if (s == NULL) {
    bool wider = map[0] != NULL;

    free(map[0]);
    free(map[1]);
    return wider ? clarke_lower_fail(low, err, "the slope has more entries than the input")
                 : err != NULL ? err->code : CLARKE_EINPUT;
  }
  s->pieces.slope = low->in[1];
  s->pieces.slope_map = map[1];
  return finish(low, s, 0, err);
}

const clarke_op clarke_ops_relu[] = {
  {.name = "Relu", .min_in = 1, .max_in = 1, .lower = lower_relu, .n_kinks = 1,
   .pytorch_2_13 = {"0"}},
  {.name = "LeakyRelu", .min_in = 1, .max_in = 1, .lower = lower_leaky,
   .attributes = "alpha:f", .n_kinks = 1,
   .pytorch_2_13 = {"left"}},
  {.name = "PRelu", .min_in = 2, .max_in = 2, .lower = lower_prelu, .n_kinks = 1,
   .pytorch_2_13 = {"left"}},
  {.name = NULL},
};
