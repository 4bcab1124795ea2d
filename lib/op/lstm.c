/* LSTM: for the gates i, o, f = sigmoid(W x + R h + b) and g = tanh(the same), c becomes f c + i g, and h becomes o tanh(c). With peepholes P the
 * sums of i and f have P c of the c before, that of o has P c of the new one. */
#include "op/recurrent.h"

enum { INPUT, OUTPUT, FORGET, CELL, N_GATES };

/* A gate of the sums, with its peephole into the state. */
static clarke_recurrent_part
gate_of(clarke_recurrence *c, size_t sums, size_t gate, size_t state)
{
  const size_t seen = clarke_recurrence_peephole(c, gate, state);
  const clarke_recurrent_part parts[] = {clarke_recurrence_gate(c, sums, CELL, gate), clarke_recurrence_all(c, seen)};

  return clarke_recurrence_all(c, clarke_recurrence_function(c, CLARKE_SIGMOID, clarke_recurrence_sum(c, parts, 2, 1)));
}

static void
cell(clarke_recurrence *c, size_t time, size_t *states)
{
  const size_t r = clarke_recurrence_dense(c, c->r[0], states[0]);
  const bool peeps = c->p != CLARKE_NONE;
  size_t sum[2], gates, g, part[2];
  clarke_recurrent_part in, out, kept;

  for (size_t k = 0; k < 2; k++) { /* i, o, f; g */
    const size_t gate = k == 0 ? INPUT : CELL;
    const clarke_recurrent_part parts[] = {clarke_recurrence_x(c, time, gate), clarke_recurrence_gate(c, r, N_GATES, gate),
                                 clarke_recurrence_b(c, 0, gate), clarke_recurrence_b(c, 1, gate)};

    sum[k] = clarke_recurrence_sum(c, parts, 4, k == 0 ? CELL : 1);
  }
  gates = peeps ? 0 : clarke_recurrence_function(c, CLARKE_SIGMOID, sum[0]);
  in = peeps ? gate_of(c, sum[0], INPUT, states[1]) : clarke_recurrence_gate(c, gates, CELL, INPUT);
  kept = peeps ? gate_of(c, sum[0], FORGET, states[1]) : clarke_recurrence_gate(c, gates, CELL, FORGET);
  g = clarke_recurrence_function(c, CLARKE_TANH, sum[1]);
  part[0] = clarke_recurrence_product(c, kept, clarke_recurrence_all(c, states[1]));
  part[1] = clarke_recurrence_product(c, in, clarke_recurrence_all(c, g));
  states[1] = clarke_recurrence_sum(c, (clarke_recurrent_part[]){clarke_recurrence_all(c, part[0]), clarke_recurrence_all(c, part[1])}, 2, 1);
  out = peeps ? gate_of(c, sum[0], OUTPUT, states[1]) : clarke_recurrence_gate(c, gates, CELL, OUTPUT);
  states[0] = clarke_recurrence_product(c, out, clarke_recurrence_all(c, clarke_recurrence_function(c, CLARKE_TANH, states[1])));
}

static clarke_status
lower_lstm(clarke_lowering *low, clarke_error *err)
{
  static const clarke_recurrence_kind kind = {2, {N_GATES, 0}, cell};
  bool other;
  clarke_status status = clarke_recurrence_activations(low, "Sigmoid Tanh Tanh", NULL, &other, err);

  return status == CLARKE_OK ? clarke_recurrence_lower(low, &kind, err) : status;
}

const clarke_op clarke_ops_lstm[] = {
  {.name = "LSTM", .may_omit = true,
   .forms = {{7, 3, 8, 3, "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i input_forget:b"},
             {14, 3, 8, 3,
              "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i input_forget:b layout:b"}},
   .lower = lower_lstm, .batch = CLARKE_BATCH_ANY, .multiplies = true},
  {.name = NULL},
};
