#include "trace/certify/certify.h"

#include "trace/certify/sieve.h"

#include <stdlib.h>
#include <string.h>

void
clarke_certify_init(clarke_certify *c)
{
  memset(c, 0, sizeof *c);
  clarke_forward_init(&c->pass);
  clarke_slopes_init(&c->slopes);
  clarke_roundoff_init(&c->rounded);
}

void
clarke_certify_clear(clarke_certify *c)
{
  for (size_t i = 0; i < c->n; i++)
    clarke_certificate_clear(&c->certificate[i]);
  for (size_t v = 0; c->recorded != NULL && v < c->g->n_values; v++)
    free(c->recorded[v]);
  for (size_t i = 0; c->winner != NULL && i < c->g->n_steps; i++)
    free(c->winner[i]);
  free(c->certificate);
  free(c->recorded);
  free(c->winner);
  free(c->seen);
  free(c->partial);
  clarke_roundback_clear(&c->back);
  clarke_roundoff_clear(&c->rounded);
  if (c->grad != NULL)
    clarke_matrices_free(c->grad, c->g->n_values);
  clarke_slopes_clear(&c->slopes);
  clarke_forward_clear(&c->pass);
  clarke_certify_init(c);
}

/* What was recorded under a name that the graph does not have. */
static clarke_status
add_unseen(clarke_certify *c, clarke_error *err)
{
  static const struct {
    const char *prefix;
    clarke_part part;
  } part[] = {{"output/", CLARKE_OUTPUT}, {"gradient/", CLARKE_GRADIENT}, {"indices/", CLARKE_INDICES}};

  for (size_t t = 0; t < c->trace->n; t++)
    for (size_t p = 0; !c->seen[t] && p < sizeof part / sizeof *part; p++) {
      const char *name = c->trace->tensor[t].name;
      clarke_certificate *made;

      if (strncmp(name, part[p].prefix, strlen(part[p].prefix)) != 0)
        continue;
      made = clarke_certify_add(c, part[p].part, name + strlen(part[p].prefix), NULL, err);
      if (made == NULL || clarke_certificate_say(made, CLARKE_CANNOT_SAY, err, "the graph has no value of this name that it compares: "
                                                 "a constant's that others are made of, or none") != CLARKE_OK)
        return CLARKE_ENOMEM;
      made->entries = made->open = c->trace->tensor[t].count;
    }
  return CLARKE_OK;
}

/* What no value and no update of the graph's is. */
static clarke_status
add_rest(clarke_certify *c, clarke_error *err)
{
  const clarke_status status = add_unseen(c, err);

  return status == CLARKE_OK ? clarke_certify_untold(c, err) : status;
}

static clarke_status
allocate(clarke_certify *c, clarke_error *err)
{
  c->seen = calloc(c->trace->n + 1, sizeof *c->seen);
  c->partial = calloc(c->g->n_values + 1, sizeof *c->partial);
  c->recorded = calloc(c->g->n_values + 1, sizeof *c->recorded);
  c->winner = calloc(c->g->n_steps + 1, sizeof *c->winner);
  c->grad = clarke_matrices_new(c->g->n_values);
  return c->seen != NULL && c->partial != NULL && c->recorded != NULL && c->winner != NULL && c->grad != NULL ? CLARKE_OK : clarke_no_memory(err);
}

/* Nothing found, the same asked. */
static void
forget(clarke_certify *c)
{
  const clarke_certify asked = *c;

  clarke_certify_clear(c);
  c->g = asked.g;
  c->constants = asked.constants;
  c->x = asked.x;
  c->profile = asked.profile;
  c->loss = asked.loss;
  c->scale = asked.scale;
  c->by = asked.by;
  c->trace = asked.trace;
  c->gradients = asked.gradients;
  c->trace_file = asked.trace_file;
  c->gradients_file = asked.gradients_file;
  c->has_loss = asked.has_loss;
  c->recorded_loss = asked.recorded_loss;
  c->log_softmax = asked.log_softmax;
  c->branched = asked.branched;
  c->statistics = asked.statistics;
  c->n_statistics = asked.n_statistics;
}

/* Doubles first; what they leave open is begun anew, exactly. */
static clarke_status
sift(bool *decided, clarke_certify *c, clarke_error *err)
{
  clarke_status status;

  *decided = false;
  if (!c->sieved || clarke_certify_has_chain(c)) /* chains are not the sieve's */
    return CLARKE_OK;
  status = clarke_sieve_run(decided, c, err);
  for (size_t i = 0; i < c->n; i++)
    *decided = *decided && c->certificate[i].certainty <= CLARKE_FOLLOWED;
  c->by_doubles = *decided;
  if (status == CLARKE_OK && *decided)
    return add_rest(c, err);
  if (status == CLARKE_OK)
    forget(c);
  return status == CLARKE_OK ? allocate(c, err) : status;
}

/* Gradients of activations are judged, and take much room: nobody asks for them again. */
static void
end_backward(clarke_certify *c)
{
  for (size_t v = 0; v < c->g->n_values; v++) {
    if (c->g->values[v].constant)
      continue;
    clarke_rounding_sum_clear(&c->back.sum[v]);
    clarke_matrix_clear(&c->grad[v]);
    clarke_matrix_init(&c->grad[v]);
  }
}

clarke_status
clarke_certify_run(clarke_certify *c, clarke_error *err)
{
  bool decided = false, open = false;
  clarke_status status = allocate(c, err);

  if (status == CLARKE_OK)
    status = sift(&decided, c, err);
  if (status != CLARKE_OK || decided)
    return status;
  status = clarke_constants_make(c->constants, err);
  if (status == CLARKE_OK)
    status = clarke_tensors_unpack(c->trace, err);
  if (status == CLARKE_OK)
    status = clarke_tensors_unpack(c->gradients, err);
  if (status == CLARKE_OK)
    status = clarke_certify_forward(c, err);
  if (status == CLARKE_OK)
    status = clarke_certify_loss(c, err);
  if (status == CLARKE_OK)
    status = clarke_certify_windows(c, err);
  if (status == CLARKE_OK && c->log_softmax != NULL)
    status = clarke_certify_log_softmax(c, err);
  if (status == CLARKE_OK)
    status = clarke_certify_backward(c, err);
  if (status == CLARKE_OK)
    status = clarke_certify_statistics(&open, c, NULL, err);
  if (status == CLARKE_OK)
    end_backward(c);
  return status == CLARKE_OK ? add_rest(c, err) : status;
}

clarke_certainty
clarke_certify_answer(const clarke_certify *c)
{
  clarke_certainty answer = CLARKE_BIT_EXACT;

  for (size_t i = 0; i < c->n; i++)
    if (c->certificate[i].certainty > answer)
      answer = c->certificate[i].certainty;
  return answer == CLARKE_FOLLOWED ? CLARKE_WITHIN_BOUND : answer;
}

size_t
clarke_certify_recorded(const clarke_certify *c)
{
  size_t recorded = 0;

  for (size_t i = 0; i < c->n; i++)
    recorded += c->certificate[i].certainty != CLARKE_FOLLOWED;
  return recorded;
}
