/* RNN: h becomes tanh(W x + R h + b), or relu of that: a Relu as any other, with its kink and its proxies. */
#include "op/recurrent.h"

/* Their argument. */
static size_t
argument(clarke_recurrence *c, size_t time, const size_t *states)
{
  const clarke_recurrent_part part[] = {clarke_recurrence_x(c, time, 0),
                              clarke_recurrence_all(c, clarke_recurrence_dense(c, c->r[0], states[0])),
                              clarke_recurrence_b(c, 0, 0), clarke_recurrence_b(c, 1, 0)};

  return clarke_recurrence_sum(c, part, 4, 1);
}

static void
cell_tanh(clarke_recurrence *c, size_t time, size_t *states)
{
  states[0] = clarke_recurrence_function(c, CLARKE_TANH, argument(c, time, states));
}

static void
cell_relu(clarke_recurrence *c, size_t time, size_t *states)
{
  states[0] = clarke_recurrence_relu(c, time, argument(c, time, states));
}

static clarke_status
lower_rnn(clarke_lowering *low, clarke_error *err)
{
  static const clarke_recurrence_kind tanh_kind = {1, {1, 0}, cell_tanh}, relu_kind = {1, {1, 0}, cell_relu};
  bool relu;
  clarke_status status = clarke_recurrence_activations(low, "Tanh", "Relu", &relu, err);

  return status == CLARKE_OK ? clarke_recurrence_lower(low, relu ? &relu_kind : &tanh_kind, err) : status;
}

const clarke_op clarke_ops_rnn[] = {
  {.name = "RNN", .may_omit = true,
   .forms = {{7, 3, 6, 2, "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i"},
             {14, 3, 6, 2, "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i layout:b"}},
   .lower = lower_rnn, .batch = CLARKE_BATCH_ANY, .multiplies = true},
  {.name = NULL},
};
