/* N-1 (docs/two-kinks.md): with y = W z + beta b and kinks at c_1 < c_2, the direction
 * (W, b, -(c_1 + c_2)/2) moves y by y - (c_1 + c_2)/2: down at c_1, up at c_2. The bias alone moves
 * all neurons one way. */
#include "audit/theorems/two_kinks.h"

#include "audit/theorems/theorems.h"

/* The side wanted at each kink: 0 none, CLARKE_LEFT, CLARKE_RIGHT; false when touches of one kink
 * want both. */
static bool
wanted_sides(clarke_branch *want, const clarke_layer *layer, const clarke_cell *cell,
             const clarke_question *q)
{
  for (size_t k = 0; k < q->replay->n_touches; k++) {
    const clarke_touch *t = &q->replay->touch[k];

    if (t->step != layer->step || !clarke_cell_moves(cell, q, k))
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
move_apart(bool *found, clarke_direction *d, const clarke_layer *layer, clarke_branch upper_side,
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
  clarke_branch want[CLARKE_MAX_KINKS] = {0};
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

void
clarke_judge_two_kinks(clarke_theorem *t, const clarke_audit *a, const clarke_question *q)
{
  clarke_theorem_say(t, "N-1", true, CLARKE_YES,
                     "every layer is W z + b with two kinks at most, and proxies are one-sided%s", NULL);
  for (size_t i = 0; i < a->n_layers; i++) {
    const clarke_layer *layer = &a->layer[i];

    if (q->g->steps[layer->step].kind != CLARKE_PIECEWISE) {
      clarke_theorem_say(t, "N-1", false, CLARKE_NO, "layer %.120s is no pointwise function",
                         clarke_layer_name(q, layer));
      return;
    }
    if (layer->bias == CLARKE_NONE || !layer->plain_sum) {
      clarke_theorem_say(t, "N-1", false, CLARKE_NO, "layer %.120s is not W z + b", clarke_layer_name(q, layer));
      return;
    }
    if (!layer->alone || q->g->parameters[layer->bias].uses != 1 ||
        q->g->parameters[layer->weight].uses != 1) {
      clarke_theorem_say(t, "N-1", false, CLARKE_NO, "layer %.120s shares its parameters", clarke_layer_name(q, layer));
      return;
    }
    clarke_theorem_require(t, clarke_judge_proxies(q, layer).one_sided, "a proxy of layer %.120s is no one-sided slope",
                           clarke_layer_name(q, layer));
  }
}
