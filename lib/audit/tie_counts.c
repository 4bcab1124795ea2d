#include "audit/tie_counts.h"

#include "audit/touch_row.h"
#include "network/pass/window.h"

/* Where more windows have several functions derivatives are not compared. */
#define MOST_WINDOWS 100000

/* Is the window tied, and are its entries all 0, by the places of the function that it pools? */
static bool
holds_zeros(const clarke_step *s, const clarke_branch *place, size_t feature, size_t sample, size_t samples)
{
  size_t entries = 0;

  for (size_t i = 0; i < s->width; i++) {
    const size_t entry = s->in[0].map[feature * s->width + i];

    if (entry == CLARKE_NONE)
      continue;
    if (place[entry * samples + sample] != 0 && place[entry * samples + sample] != CLARKE_AT(0))
      return false;
    entries++;
  }
  return entries > 1;
}

/* Is the function 0 up to its first kink, and larger than 0 behind it, as Relu is? */
static bool
is_zero_to_its_kink(const clarke_step *s)
{
  bool rises = clarke_step_begins_with_zero(s) && s->pieces.n_kinks > 0 && mpq_sgn(s->pieces.coef[1][1]) > 0;

  for (size_t p = 1; rises && p <= s->pieces.n_kinks; p++)
    rises = mpq_sgn(s->pieces.coef[p][1]) >= 0 && mpq_sgn(s->pieces.coef[p][2]) == 0;
  return rises;
}

/* Is the touch a window of the layer's that counts: not known to hold zeros alone (Algorithm 2, line 8)? */
static bool
is_counted(const clarke_touch *t, const clarke_layer *layer, const clarke_question *q)
{
  const clarke_step *s = &q->g->steps[layer->step];
  const size_t from = q->g->values[s->in[0].value].producer;

  return t->step == layer->step && t->n_options > 0 &&
         !(layer->zeros_known && holds_zeros(s, q->replay->piece[from], t->feature, t->sample, q->replay->samples));
}

static void
add_window(clarke_tie_counts *counts, size_t entries)
{
  counts->windows += entries > 0;
  counts->entries += entries;
}

void
clarke_layer_count_ties(clarke_layer *layer, const clarke_question *q)
{
  const clarke_replay *r = q->replay;
  const clarke_step *s = &q->g->steps[layer->step];
  const size_t from = q->g->values[s->in[0].value].producer;

  for (size_t j = 0; r->ties[layer->step] != NULL && j < r->samples; j++)
    layer->ties += r->ties[layer->step][j];
  layer->zeros_known = s->kind == CLARKE_MAX && from != CLARKE_NONE && is_zero_to_its_kink(&q->g->steps[from]) && r->piece[from] != NULL;
  for (size_t i = 0; layer->zeros_known && layer->ties > 0 && i < layer->neurons; i++)
    for (size_t j = 0; j < r->samples; j++)
      layer->ties_of_zeros += holds_zeros(s, r->piece[from], i, j, r->samples);
  for (size_t k = 0; k < r->n_touches; k++) {
    layer->parted += r->touch[k].step == layer->step ? r->touch[k].parted : 0;
    if (is_counted(&r->touch[k], layer, q))
      add_window(&layer->by_identity, r->touch[k].parted);
  }
}

/* --- derivatives ------------------------------------------------------------------------------ */

/* Is a derivative by all wrt parameters, in these matrices, zero? */
static clarke_truth
is_zero(const clarke_matrix *gradient, const clarke_graph *g)
{
  clarke_truth zero = CLARKE_YES;
  mpq_t nothing;

  mpq_init(nothing);
  for (size_t p = 0; p < g->n_parameters && zero != CLARKE_NO; p++)
    for (size_t e = 0; e < gradient[p].rows && zero != CLARKE_NO; e++) {
      const int sign = clarke_matrix_compare(&gradient[p], e, 0, nothing);

      zero = sign == 0 ? zero : sign == 2 ? CLARKE_UNKNOWN : CLARKE_NO;
    }
  mpq_clear(nothing);
  return zero;
}

static clarke_status
compare_whole(clarke_truth *equal, clarke_columns *columns, size_t k, clarke_branch winner, size_t option, clarke_error *err)
{
  const clarke_graph *g = columns->q->g;
  clarke_matrix *gradient = clarke_matrices_new(g->n_parameters), *grad = clarke_matrices_new(g->n_values);
  bool coupled;
  clarke_status status = gradient != NULL && grad != NULL
                           ? clarke_touch_meets(gradient, grad, &coupled, columns, k, winner, option, err)
                           : clarke_no_memory(err);

  if (status == CLARKE_OK)
    *equal = is_zero(gradient, g);
  clarke_matrices_free(gradient, g->n_parameters);
  clarke_matrices_free(grad, g->n_values);
  return status;
}

/* Is the derivative of a window's option that of the one that AD takes? First by the layer's own parameters, for these rows are short. */
static clarke_status
compare_derivatives(clarke_truth *equal, clarke_columns *columns, size_t k, clarke_branch winner, size_t option, clarke_error *err)
{
  clarke_row row;
  bool exact;
  clarke_status status;

  clarke_row_init(&row);
  status = clarke_touch_row(&row, &exact, columns, k, winner, option, true, err);
  *equal = CLARKE_NO;
  if (status == CLARKE_OK && !(exact && row.n > 0))
    status = compare_whole(equal, columns, k, winner, option, err);
  clarke_row_clear(&row);
  return status;
}

/* How many of the largest entries each of the window's options stands for. */
static void
count_options(size_t *count, const clarke_touch *t, const clarke_replay *r)
{
  for (size_t o = 0; o < t->n_options; o++)
    count[o] = 0;
  clarke_window_count_options(count, &r->near, t->step, t->feature, t->column);
}

static clarke_status
count_window(clarke_layer *layer, clarke_columns *columns, size_t k, clarke_error *err)
{
  const clarke_question *q = columns->q;
  const clarke_touch *t = &q->replay->touch[k];
  const clarke_branch winner = q->touch[k].ad_side;
  size_t count[CLARKE_MAX_WIDTH], entries = 0;
  clarke_status status = CLARKE_OK;

  if (winner == CLARKE_PROXY) {
    layer->by_derivative_known = false;
    return CLARKE_OK;
  }
  count_options(count, t, q->replay);
  for (size_t o = 0; o < t->n_options && status == CLARKE_OK && layer->by_derivative_known; o++) {
    clarke_truth equal = CLARKE_YES;

    if (CLARKE_OPTION(o) != winner)
      status = compare_derivatives(&equal, columns, k, winner, o, err);
    layer->by_derivative_known = equal != CLARKE_UNKNOWN;
    entries += equal == CLARKE_NO ? count[o] : 0;
  }
  add_window(&layer->by_derivative, entries);
  return status;
}

static clarke_status
count_layer(clarke_layer *layer, clarke_columns *columns, clarke_error *err)
{
  const clarke_replay *r = columns->q->replay;
  clarke_status status = CLARKE_OK;

  for (size_t j = 0; j < r->near.n; j++)
    for (size_t k = 0; k < r->n_touches && status == CLARKE_OK && layer->by_derivative_known; k++)
      if (r->touch[k].column == j && is_counted(&r->touch[k], layer, columns->q))
        status = count_window(layer, columns, k, err);
  if (status != CLARKE_EVAGUE)
    return status;
  layer->by_derivative_known = false;
  return CLARKE_OK;
}

clarke_status
clarke_audit_count_derivatives(clarke_audit *a, const clarke_question *q, clarke_error *err)
{
  size_t windows = 0;
  clarke_columns columns;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < a->n_layers; i++)
    windows += a->layer[i].by_identity.windows;
  for (size_t i = 0; i < a->n_layers; i++)
    a->layer[i].by_derivative_known = windows == 0;
  if (windows == 0 || windows > MOST_WINDOWS || !clarke_whole_rows_reachable(q))
    return CLARKE_OK;
  status = clarke_columns_init(&columns, q, NULL, err);
  for (size_t i = 0; i < a->n_layers && status == CLARKE_OK; i++) {
    a->layer[i].by_derivative_known = true;
    status = count_layer(&a->layer[i], &columns, err);
  }
  clarke_columns_clear(&columns);
  return status;
}
