/* Touched kinks, and the nearest that are not touched, in words (audit.h). */
#include "session/audit.h"

#include "network/pass/piecewise.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *
rational_text(const mpq_t q)
{
  return mpq_get_str(NULL, 10, q);
}

static char *
number_text(size_t n)
{
  char text[32];

  snprintf(text, sizeof text, "%zu", n);
  return strdup(text);
}

/* --- touched ---------------------------------------------------------------------------------- */

void
clarke_touch_text_clear(clarke_touch_text *t)
{
  for (size_t i = 0; t->slope != NULL && i < t->n_sides; i++)
    free(t->slope[i]);
  free(t->slope);
  free(t->argument);
  free(t->ad);
  memset(t, 0, sizeof *t);
}

static clarke_status
describe_kink(clarke_touch_text *t, const clarke_audit_session *s, const clarke_touch *touch, clarke_error *err)
{
  clarke_status status;
  mpq_t q;

  t->n_sides = 2;
  t->slope = calloc(2, sizeof *t->slope);
  if (t->slope == NULL)
    return clarke_no_memory(err);
  mpq_init(q);
  t->argument = rational_text(t->step->pieces.kink[touch->kink]);
  for (size_t side = 0; side < 2; side++) {
    clarke_touch_side(q, &s->graph, touch, side == 1);
    t->slope[side] = rational_text(q);
  }
  status = clarke_touch_proxy(q, &s->graph, touch, &s->profile, err);
  t->ad = rational_text(q);
  mpq_clear(q);
  if (status != CLARKE_OK)
    return status;
  return t->argument != NULL && t->slope[0] != NULL && t->slope[1] != NULL && t->ad != NULL ? CLARKE_OK
                                                                                             : clarke_no_memory(err);
}

static clarke_status
describe_window(clarke_touch_text *t, const clarke_audit_session *s, const clarke_touch *touch, const clarke_asked *asked,
                clarke_error *err)
{
  const clarke_matrix *x = &s->replay.near.value[t->step->in[0].value];
  bool whole = true;

  t->n_sides = touch->n_options;
  t->option = touch->option;
  if (x->rows > 0 && clarke_matrix_radius(x, touch->option[0], touch->column) == 0) {
    mpq_t q;

    mpq_init(q);
    clarke_matrix_get(q, x, touch->option[0], touch->column);
    t->argument = rational_text(q);
    whole = t->argument != NULL;
    mpq_clear(q);
  }
  t->ad = asked->ad_side == CLARKE_PROXY ? strdup("mean") : number_text(touch->option[CLARKE_OPTION_OF(asked->ad_side)]);
  return whole && t->ad != NULL ? CLARKE_OK : clarke_no_memory(err);
}

clarke_status
clarke_touch_describe(clarke_touch_text *t, const clarke_audit_session *s, size_t touch, clarke_error *err)
{
  const clarke_touch *at = &s->replay.touch[touch];

  *t = (clarke_touch_text){.step = &s->graph.steps[at->step], .neuron = at->feature, .sample = at->sample};
  return at->n_options > 0 ? describe_window(t, s, at, &s->question.touch[touch], err) : describe_kink(t, s, at, err);
}

/* --- near ------------------------------------------------------------------------------------- */

void
clarke_near_text_clear(clarke_near_text *t)
{
  free(t->kink);
  free(t->distance);
  free(t->ulp);
  memset(t, 0, sizeof *t);
}

/* q times 2^power */
static void
times_power(mpq_t q, long power)
{
  if (power >= 0)
    mpq_mul_2exp(q, q, (mp_bitcnt_t)power);
  else
    mpq_div_2exp(q, q, (mp_bitcnt_t)-power);
}

clarke_status
clarke_near_describe(clarke_near_text *t, const clarke_audit_session *s, size_t i, clarke_error *err)
{
  const clarke_near *near = &s->nearest.near[i];
  mpq_t q;

  *t = (clarke_near_text){.step = &s->graph.steps[near->step]};
  t->window = t->step->kind == CLARKE_MAX;
  t->at_least_exact = clarke_decimal_down(t->at_least, near->distance) && near->exact;
  mpq_init(q);
  mpq_set(q, near->distance);
  times_power(q, -near->ulp);
  t->ulps_exact = clarke_decimal_down(t->ulps, q) && near->exact;
  mpq_set_ui(q, 1, 1);
  times_power(q, near->ulp);
  t->ulp = rational_text(q);
  mpq_clear(q);
  t->distance = near->exact ? rational_text(near->distance) : NULL;
  t->kink = t->window ? NULL : rational_text(t->step->pieces.kink[near->kink]);
  return t->ulp != NULL && (t->distance != NULL || !near->exact) && (t->kink != NULL || t->window) ? CLARKE_OK
                                                                                                   : clarke_no_memory(err);
}
