/* GRU: for the gates z, r = sigmoid(W x + R h + b), h becomes n + z (h - n), n being tanh(W x + b + r (R h + b')), or, where
 * linear_before_reset is 0, tanh(W x + R (r h) + b + b'). PyTorch has the first. */
#include "op/lower.h"
#include "op/recurrent.h"

enum { UPDATE, RESET, NEW, N_GATES };

/* From n and z. */
static void
finish(clarke_recurrence *c, size_t sum, size_t gates, size_t *states)
{
  const size_t n = clarke_recurrence_function(c, CLARKE_TANH, sum), rest = clarke_recurrence_difference(c, states[0], n);
  const size_t kept = clarke_recurrence_product(c, clarke_recurrence_gate(c, gates, NEW, UPDATE), clarke_recurrence_all(c, rest));

  states[0] = clarke_recurrence_sum(c, (clarke_recurrent_part[]){clarke_recurrence_all(c, n), clarke_recurrence_all(c, kept)}, 2, 1);
}

/* z and r, given R h: of the gates that `r` has, the first two. */
static size_t
open_gates(clarke_recurrence *c, size_t time, size_t r, size_t n)
{
  const clarke_recurrent_part part[] = {clarke_recurrence_x(c, time, UPDATE), clarke_recurrence_gate(c, r, n, UPDATE),
                              clarke_recurrence_b(c, 0, UPDATE), clarke_recurrence_b(c, 1, UPDATE)};

  return clarke_recurrence_function(c, CLARKE_SIGMOID, clarke_recurrence_sum(c, part, 4, NEW));
}

static void
cell_linear_first(clarke_recurrence *c, size_t time, size_t *states)
{
  const size_t r = clarke_recurrence_dense(c, c->r[0], states[0]), gates = open_gates(c, time, r, N_GATES);
  const clarke_recurrent_part own[] = {clarke_recurrence_gate(c, r, N_GATES, NEW), clarke_recurrence_b(c, 1, NEW)};
  const size_t linear = clarke_recurrence_sum(c, own, 2, 1);
  const size_t reset = clarke_recurrence_product(c, clarke_recurrence_gate(c, gates, NEW, RESET), clarke_recurrence_all(c, linear));
  const clarke_recurrent_part part[] = {clarke_recurrence_x(c, time, NEW), clarke_recurrence_all(c, reset), clarke_recurrence_b(c, 0, NEW)};

  finish(c, clarke_recurrence_sum(c, part, 3, 1), gates, states);
}

static void
cell_reset_first(clarke_recurrence *c, size_t time, size_t *states)
{
  const size_t gates = open_gates(c, time, clarke_recurrence_dense(c, c->r[0], states[0]), NEW);
  const size_t reset = clarke_recurrence_product(c, clarke_recurrence_gate(c, gates, NEW, RESET), clarke_recurrence_all(c, states[0]));
  const clarke_recurrent_part part[] = {clarke_recurrence_x(c, time, NEW),
                              clarke_recurrence_all(c, clarke_recurrence_dense(c, c->r[1], reset)),
                              clarke_recurrence_b(c, 0, NEW), clarke_recurrence_b(c, 1, NEW)};

  finish(c, clarke_recurrence_sum(c, part, 4, 1), gates, states);
}

static clarke_status
lower_gru(clarke_lowering *low, clarke_error *err)
{
  static const clarke_recurrence_kind linear_first = {1, {N_GATES, 0}, cell_linear_first},
                                      reset_first = {1, {NEW, N_GATES - NEW}, cell_reset_first};
  const bool linear = clarke_lower_int(low, "linear_before_reset", 0) != 0;
  bool other;
  clarke_status status = clarke_recurrence_activations(low, "Sigmoid Tanh", NULL, &other, err);

  return status == CLARKE_OK ? clarke_recurrence_lower(low, linear ? &linear_first : &reset_first, err) : status;
}

const clarke_op clarke_ops_gru[] = {
  {.name = "GRU", .may_omit = true,
   .forms = {{7, 3, 6, 2,
              "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i linear_before_reset:b"},
             {14, 3, 6, 2,
              "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i layout:b linear_before_reset:b"}},
   .lower = lower_gru, .batch = CLARKE_BATCH_ANY, .multiplies = true},
  {.name = NULL},
};
