/* N-1 (docs/two-kinks.md): with y = W z + beta b and kinks at c_1 < c_2, the direction
 * (W, b, -(c_1 + c_2)/2) moves y by y - (c_1 + c_2)/2: down at c_1, up at c_2. The bias alone moves
 * all neurons one way. */
#include "audit/audit.h"

/* The side wanted at each kink: 0 none, CLARKE_LEFT, CLARKE_RIGHT; false when touches of one kink
 * want both. */
static bool
wanted_sides(int8_t *want, const clarke_layer *layer, const clarke_cell *cell,
             const clarke_question *q)
{
  for (size_t k = 0; k < q->replay->n_touches; k++) {
    const clarke_touch *t = &q->replay->touch[k];

    if (t->step != layer->step || cell->flat[k])
      continue;
    if (cell->side[k] == CLARKE_PROXY ||
        (want[t->kink] != 0 && want[t->kink] != cell->side[k]))
      return false;
    want[t->kink] = cell->side[k];
  }
  return true;
}

/* beta = coefficient of the bias: to move y by amount, the bias moves by amount / beta. */
static clarke_status
move_bias(clarke_direction *d, const clarke_layer *layer, const mpq_t amount, clarke_error *err)
{
  clarke_status status;
  mpq_t by;

  mpq_init(by);
  mpq_set_d(by, layer->bias_coef);
  mpq_div(by, amount, by);
  status = clarke_direction_move(d, CLARKE_MOVE_ADD, layer->bias, 0, by, err);
  mpq_clear(by);
  return status;
}

/* +-(W, b) and the middle of the kinks taken off. */
static clarke_status
move_apart(bool *found, clarke_direction *d, const clarke_layer *layer, int8_t upper_side,
           const clarke_step *step, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  mpq_t coef, middle;

  mpq_inits(coef, middle, NULL);
  mpq_set_si(coef, upper_side, 1);
  mpq_add(middle, step->pieces.kink[0], step->pieces.kink[1]);
  mpq_div_2exp(middle, middle, 1);
  *found = layer->plain_sum && (layer->bias != CLARKE_NONE || mpq_sgn(middle) == 0);
  if (*found) {
    status = clarke_direction_move(d, CLARKE_MOVE_COPY, layer->weight, 0, coef, err);
    if (status == CLARKE_OK && layer->bias != CLARKE_NONE)
      status = clarke_direction_move(d, CLARKE_MOVE_COPY, layer->bias, 0, coef, err);
    mpq_mul(middle, middle, coef);
    mpq_neg(middle, middle);
    if (status == CLARKE_OK && mpq_sgn(middle) != 0)
      status = move_bias(d, layer, middle, err);
  }
  mpq_clears(coef, middle, NULL);
  return status;
}

clarke_status
clarke_two_kinks(bool *found, clarke_direction *d, const clarke_layer *layer,
                 const clarke_cell *cell, const clarke_question *q, clarke_error *err)
{
  const clarke_step *step = &q->g->steps[layer->step];
  int8_t want[CLARKE_MAX_KINKS] = {0};
  clarke_status status = CLARKE_OK;
  mpq_t amount;

  *found = false;
  if (step->kind != CLARKE_PIECEWISE || !wanted_sides(want, layer, cell, q))
    return CLARKE_OK;
  if (want[0] != 0 && want[1] != 0 && want[0] != want[1])
    return move_apart(found, d, layer, want[1], step, err);
  if (layer->bias == CLARKE_NONE)
    return CLARKE_OK;
  mpq_init(amount);
  mpq_set_si(amount, want[0] != 0 ? want[0] : want[1], 1);
  *found = mpq_sgn(amount) != 0;
  if (*found)
    status = move_bias(d, layer, amount, err);
  mpq_clear(amount);
  return status;
}
