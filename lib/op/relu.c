/* Relu max(x, 0); LeakyRelu and PRelu: x, or slope x below 0. One kink, at 0. */
#include "op/axes.h"
#include "op/broadcast.h"
#include "op/lower.h"
#include "op/pieces.h"

#include <stdlib.h>
#include <string.h>

static const char *
pieces_relu(clarke_pieces *p, mpq_t *constant)
{
  (void)constant;
  mpq_set_si(p->coef[1][1], 1, 1);
  return NULL;
}

/* constant: the slope below 0. */
static const char *
pieces_leaky(clarke_pieces *p, mpq_t *constant)
{
  mpq_set(p->coef[0][1], constant[0]);
  mpq_set_si(p->coef[1][1], 1, 1);
  return NULL;
}

static clarke_status
lower_relu(clarke_lowering *low, clarke_error *err)
{
  return clarke_lower_pieces(low, NULL, err);
}

static clarke_status
lower_leaky(clarke_lowering *low, clarke_error *err)
{
  mpq_t slope;
  clarke_status status;

  mpq_init(slope);
  mpq_set_d(slope, clarke_lower_float(low, "alpha", (double)0.01f));
  status = clarke_lower_pieces(low, &slope, err);
  mpq_clear(slope);
  return status;
}

static clarke_status
lower_prelu(clarke_lowering *low, clarke_error *err)
{
  size_t rank, dims[CLARKE_MAX_WHOLE];
  clarke_batch_axis batch;
  size_t *map[2];
  clarke_step *s;
  clarke_status status = clarke_lower_weight(low, 1, err);

  if (status == CLARKE_OK)
    status = clarke_lower_first(low, err);
  if (status == CLARKE_OK)
    status = clarke_lower_broadcast(low, &rank, dims, &map[0], &map[1], &batch, err);
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
  /* Piece 0 is the slope's, whatever is here. */
  pieces_relu(&s->pieces, NULL);
  return clarke_lower_pieces_done(low, s, err);
}

const clarke_op clarke_ops_relu[] = {
  {.name = "Relu", .forms = {{7, 1, 1, 1, NULL}}, .lower = lower_relu, .batch = CLARKE_BATCH_KEPT, .n_kinks = 1,
   .proxy = {[CLARKE_PYTORCH_2_13] = {"0"}, [CLARKE_JAX_0_10] = {"0"},
             [CLARKE_TENSORFLOW_2] = {"0"}},
   .spelling = {{.name = "relu"}}, .pieces = pieces_relu},
  {.name = "LeakyRelu", .forms = {{7, 1, 1, 1, "alpha:f"}}, .lower = lower_leaky, .batch = CLARKE_BATCH_KEPT, .n_kinks = 1,
   .proxy = {[CLARKE_PYTORCH_2_13] = {"left"}, [CLARKE_JAX_0_10] = {"right"},
             [CLARKE_TENSORFLOW_2] = {"left"}},
   .spelling = {{.name = "leaky_relu", .constants = "1/100", .n_optional = 1}},
   .pieces = pieces_leaky},
  {.name = "PRelu", .forms = {{7, 2, 2, 1, NULL}}, .lower = lower_prelu, .batch = CLARKE_BATCH_KEPT, .n_kinks = 1,
   .proxy = {[CLARKE_PYTORCH_2_13] = {"left"}, [CLARKE_TENSORFLOW_2] = {"0"}}},
  {.name = NULL},
};
