/* What was not recorded, and is followed to the records around it (certify.h). */
#include "trace/certify/certify.h"

#include "network/derive/reverse.h"
#include "trace/bound/rounding_loss.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Which steps read the value, or what is made of it before something was recorded? By step; NULL when out of memory. */
static bool *
readers(const clarke_certify *c, size_t v)
{
  const clarke_graph *g = c->g;
  bool *of = calloc(g->n_values + 1, sizeof *of), *reads = calloc(g->n_steps + 1, sizeof *reads);

  if (of == NULL || reads == NULL) {
    free(of);
    free(reads);
    return NULL;
  }
  of[v] = true;
  for (size_t i = g->values[v].producer + 1; i < g->n_steps; i++) {
    const clarke_step *s = &g->steps[i];

    for (size_t k = 0; k < s->n_in; k++)
      reads[i] = reads[i] || of[s->in[k].value];
    of[s->out] = of[s->out] || (reads[i] && !clarke_certify_is_recorded(c, s->out));
  }
  free(of);
  return reads;
}

clarke_status
clarke_certify_meets_place(bool *meets, const clarke_certify *c, size_t v, bool quotients, clarke_error *err)
{
  bool *reads = readers(c, v);

  *meets = false;
  if (reads == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < c->g->n_steps; i++) {
    const clarke_step *s = &c->g->steps[i];

    *meets = *meets || (reads[i] && (s->kind == CLARKE_MAX || (clarke_step_has_domain(s) && (quotients || s->function != CLARKE_RECIPROCAL))));
  }
  free(reads);
  return CLARKE_OK;
}

void
clarke_certify_doubt_sides(clarke_certify *c, size_t step)
{
  const clarke_step *s = &c->g->steps[step];
  const size_t v = s->in[0].value;
  const clarke_matrix *x = &c->pass.value[v];

  if (s->kind != CLARKE_PIECEWISE || c->recorded[v] != NULL || x->radius == NULL)
    return;
  for (size_t e = 0; e < x->rows * x->cols; e++)
    for (size_t k = 0; k < s->pieces.n_kinks; k++)
      if (clarke_matrix_compare(x, e / x->cols, e % x->cols, s->pieces.kink[k]) == 2)
        c->rounded.error[v][e] = INFINITY;
}

/* Does the log-softmax behind the network's output have a record? */
static bool
log_softmax_recorded(const clarke_certify *c)
{
  return c->log_softmax != NULL && clarke_certify_has(c, "output", c->log_softmax);
}

clarke_status
clarke_certify_leads_on(bool *leads, clarke_certify *c, size_t v, clarke_error *err)
{
  const clarke_graph *g = c->g;
  bool *reads = readers(c, v), ends = v == g->output;

  if (reads == NULL)
    return clarke_no_memory(err);
  *leads = false;
  for (size_t i = 0; i < g->n_steps; i++) {
    const size_t y = g->steps[i].out;

    ends = ends || (reads[i] && y == g->output);
    *leads = *leads || (reads[i] && clarke_certify_is_recorded(c, y));
  }
  free(reads);
  *leads = *leads || (ends && log_softmax_recorded(c));
  if (!*leads && ends && g->batched && c->loss->kind == CLARKE_LOSS_SUM && c->has_loss)
    *leads = c->by_loss = true;
  return CLARKE_OK;
}

/* Is a gradient in an operand judged: a parameter's always is, another one if it was recorded. Else it goes on from there. */
static bool
is_judged(bool *goes_on, const clarke_certify *c, const bool *carries, size_t value)
{
  const clarke_value *x = &c->g->values[value];
  const bool recorded = !x->constant && carries[value] && x->name != NULL && clarke_certify_has(c, "gradient", x->name);

  *goes_on = *goes_on || (!x->constant && carries[value] && !recorded);
  return recorded || (x->constant && clarke_value_is_wrt(c->g, value));
}

clarke_status
clarke_certify_leads_back(bool *leads, const clarke_certify *c, size_t v, clarke_error *err)
{
  const clarke_graph *g = c->g;
  bool *of = calloc(g->n_values + 1, sizeof *of), *carries = calloc(g->n_values + 1, sizeof *carries);

  *leads = false;
  if (of == NULL || carries == NULL) {
    free(of);
    free(carries);
    return clarke_no_memory(err);
  }
  clarke_reverse_carriers(carries, g, CLARKE_NONE);
  of[v] = true;
  for (size_t i = g->n_steps; i-- > 0 && !*leads;) {
    const clarke_step *s = &g->steps[i];
    const size_t inner = s->kind == CLARKE_DENSE ? s->dense.weight : s->kind == CLARKE_PIECEWISE ? s->pieces.slope : CLARKE_NONE;

    if (!of[s->out])
      continue;
    *leads = inner != CLARKE_NONE && clarke_value_is_wrt(g, inner);
    for (size_t k = 0; k < s->n_in; k++)
      *leads = is_judged(&of[s->in[k].value], c, carries, s->in[k].value) || *leads;
  }
  free(carries);
  free(of);
  return CLARKE_OK;
}

clarke_status
clarke_certify_follow(clarke_certify *c, clarke_certificate *made, size_t v, const double *bound, size_t entries, clarke_error *err)
{
  const bool output = made->part == CLARKE_OUTPUT;
  const char *what = output ? "output" : "gradient";
  bool leads = false, bounded = true;
  clarke_status status = output ? clarke_certify_leads_on(&leads, c, v, err) : clarke_certify_leads_back(&leads, c, v, err);

  if (status != CLARKE_OK)
    return status;
  made->entries = entries;
  for (size_t e = 0; bound != NULL && e < entries; e++)
    bounded = bounded && isfinite(bound[e]);
  if (leads && bounded)
    return clarke_certificate_say(made, CLARKE_FOLLOWED, err, "its %s was not recorded: %s compared with what follows from it "
                                  "exactly, and its bound is part of theirs", what, output ? "records behind it are" : "gradients before it are");
  made->open = entries;
  return clarke_certificate_say(made, CLARKE_CANNOT_SAY, err, "its %s was not recorded%s", what,
                                leads ? ", and no bound on it is known" : "");
}

/* Is the recorded loss no farther from what follows from the outputs than rounding may take it? */
static clarke_status
loss_follows(bool *follows, const clarke_certify *c, clarke_error *err)
{
  const double bound = clarke_roundoff_loss(&c->rounded);
  clarke_status status;
  arb_t value, other;

  *follows = false;
  if (!isfinite(bound))
    return CLARKE_OK;
  arb_init(value);
  arb_init(other);
  status = clarke_loss_value(value, c->loss, &c->pass, err);
  arb_set_d(other, c->recorded_loss);
  arb_sub(value, value, other, 2 * DBL_MANT_DIG);
  arb_abs(value, value);
  arb_set_d(other, bound);
  *follows = status == CLARKE_OK && arb_le(value, other);
  arb_clear(value);
  arb_clear(other);
  return status;
}

clarke_status
clarke_certify_loss(clarke_certify *c, clarke_error *err)
{
  bool follows = true;
  clarke_status status = c->by_loss ? loss_follows(&follows, c, err) : CLARKE_OK;

  for (size_t i = 0; i < c->n && !follows && status == CLARKE_OK; i++) {
    clarke_certificate *made = &c->certificate[i];

    if (made->part != CLARKE_OUTPUT || made->certainty != CLARKE_FOLLOWED)
      continue;
    made->open = made->entries;
    status = clarke_certificate_say(made, CLARKE_CANNOT_SAY, err, "its output was not recorded, and the loss that run.json tells is not shown "
                                    "to follow from it");
  }
  return status;
}
