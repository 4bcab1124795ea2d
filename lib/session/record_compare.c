/* The recorded gradient beside AD's exact one, entry by entry, with the bound on rounding (docs/rounding-bound.md). */
#include "session/gradient.h"
#include "session/record.h"
#include "base/text.h"
#include "trace/certificate.h"
#include "network/reverse.h"
#include "network/sink.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  clarke_record *r;
  clarke_audit_session *s;
  clarke_forward pass;
  clarke_slopes slopes;
  clarke_matrix *grad, *gradient; /* by value, by parameter */
  clarke_roundoff rounded;
  double **bound, **recorded; /* by parameter, by value */
  clarke_error *err;
} work;

static clarke_status
say(clarke_record *r, clarke_truth explained, clarke_error *err, const char *format, ...) __attribute__((format(printf, 4, 5)));

static clarke_status
say(clarke_record *r, clarke_truth explained, clarke_error *err, const char *format, ...)
{
  va_list args;

  free(r->why);
  r->explained = explained;
  va_start(args, format);
  r->why = clarke_text_vprint(format, args);
  va_end(args);
  return r->why != NULL ? CLARKE_OK : clarke_no_memory(err);
}

/* --- what was recorded of activations --- */

/* Features x samples of a tensor whose first axis are the samples; NULL when it has another shape, or no floats. */
static double *
turned(const clarke_tensor *t, const clarke_value *v, size_t samples)
{
  double *turned;

  if (t == NULL || t->real == NULL || t->count != v->count * samples)
    return NULL;
  turned = malloc((t->count + 1) * sizeof *turned);
  for (size_t e = 0; turned != NULL && e < t->count; e++)
    turned[e % v->count * samples + e / v->count] = t->real[e];
  return turned;
}

static clarke_status
collect_recorded(work *w)
{
  const clarke_graph *g = &w->s->graph;

  w->recorded = calloc(g->n_values + 1, sizeof *w->recorded);
  if (w->recorded == NULL)
    return clarke_no_memory(w->err);
  for (size_t v = 0; v < g->n_values; v++) {
    char name[4096];

    if (g->values[v].constant || g->values[v].name == NULL || v == g->input)
      continue;
    snprintf(name, sizeof name, "output/%.4000s", g->values[v].name);
    w->recorded[v] = turned(clarke_tensors_find(&w->r->trace, name), &g->values[v], w->pass.n);
  }
  return CLARKE_OK;
}

/* --- the exact pass and its bounds --- */

static clarke_status
run_back(work *w)
{
  const clarke_graph *g = &w->s->graph;
  clarke_status status = clarke_loss_seed(&w->grad[g->output], &w->s->question.loss, &w->pass, NULL, w->err);

  if (status != CLARKE_OK)
    return status;
  return clarke_reverse_run(w->grad, &w->pass, &w->slopes, CLARKE_NONE, clarke_gradient_sink, w->gradient, w->err);
}

static clarke_status
run_bounds(work *w)
{
  clarke_roundoff *b = &w->rounded;
  clarke_status status = clarke_record_rounding(&b->by, w->r, &w->s->graph, w->err);

  b->f = &w->pass;
  b->slopes = &w->slopes;
  b->profile = &w->s->profile;
  b->loss = &w->s->question.loss;
  if (status == CLARKE_OK)
    status = clarke_slopes_of_ad(&w->slopes, &w->pass, &w->s->replay, &w->s->profile, w->err);
  if (status == CLARKE_OK)
    status = collect_recorded(w);
  b->recorded = w->recorded;
  if (status == CLARKE_OK)
    status = clarke_roundoff_forward(b, w->err);
  if (status != CLARKE_OK || b->offender != CLARKE_NONE)
    return status;
  clarke_roundoff_reroute(b);
  status = run_back(w);
  return status == CLARKE_OK ? clarke_roundoff_backward(w->bound, b, w->grad, clarke_roundoff_size_of(w->r->step->scale), w->err) : status;
}

/* --- the comparison --- */

/* An activation that no rounding explains. */
static clarke_status
say_offender(work *w)
{
  const clarke_roundoff *b = &w->rounded;
  const clarke_value *v = &w->s->graph.values[b->offender];
  const size_t f = b->offender_entry / w->pass.n, j = b->offender_entry % w->pass.n;
  const char *op = w->s->graph.steps[v->producer].op->name;
  char index[256];

  clarke_put_index(index, sizeof index, v->dims, v->rank, f);
  return say(w->r, CLARKE_NO, w->err, "the recorded output of %s is not the operator's of its inputs within rounding: in sample "
             "%zu entry %s is %.9g, exactly about %.9g, and rounding explains %.3g%s", v->name, j, index,
             w->recorded[b->offender][b->offender_entry], clarke_matrix_get_double(&w->pass.value[b->offender], f, j),
             b->error[b->offender][b->offender_entry],
             strncmp(op, "Conv", 4) == 0 ? " (if the sums were made as a convolution's are: Winograd's and FFT's are not)" : "");
}

/* One entry: is the recorded number within the bound? */
static clarke_truth
compare_entry(work *w, size_t p, size_t e, double recorded, double *ratio)
{
  const clarke_matrix *g = &w->gradient[p];
  const double bound = w->bound[p][e];
  clarke_truth within = CLARKE_UNKNOWN;
  mpq_t exact, apart, limit;
  double radius = 0;

  *ratio = INFINITY;
  if (!isfinite(bound))
    return CLARKE_UNKNOWN;
  mpq_inits(exact, apart, limit, NULL);
  if (g->rows > 0) {
    clarke_matrix_get(exact, g, e, 0);
    radius = clarke_roundoff_sum(clarke_matrix_radius(g, e, 0) * clarke_roundoff_size_of(w->r->step->scale), 4);
  }
  if (!isfinite(radius)) {
    mpq_clears(exact, apart, limit, NULL);
    return CLARKE_UNKNOWN;
  }
  mpq_mul(exact, exact, w->r->step->scale);
  mpq_set_d(apart, recorded);
  mpq_sub(apart, apart, exact);
  mpq_abs(apart, apart);
  *ratio = mpq_sgn(apart) == 0 ? 0 : mpq_get_d(apart) / bound;
  mpq_set_d(limit, radius);
  mpq_add(exact, apart, limit); /* at most this far */
  mpq_sub(apart, apart, limit); /* at least */
  mpq_set_d(limit, bound);
  within = mpq_cmp(exact, limit) <= 0 ? CLARKE_YES : mpq_cmp(apart, limit) > 0 ? CLARKE_NO : CLARKE_UNKNOWN;
  mpq_clears(exact, apart, limit, NULL);
  return within;
}

static clarke_status
say_entry(work *w, size_t p, size_t e, double recorded, clarke_truth within)
{
  const clarke_parameter *q = &w->s->graph.parameters[p];
  const clarke_matrix *g = &w->gradient[p];
  const double exact = g->rows > 0 ? clarke_matrix_get_double(g, e, 0) * mpq_get_d(w->r->step->scale) : 0;
  char index[256];

  clarke_put_index(index, sizeof index, q->dims, q->rank, e);
  if (within == CLARKE_UNKNOWN)
    return say(w->r, within, w->err, "of %s%s no bound on rounding is known", q->name, index);
  return say(w->r, within, w->err, "%s%s was recorded as %.9g, and is exactly about %.9g; rounding explains %.3g", q->name, index,
             recorded, exact, w->bound[p][e]);
}

static clarke_status
compare_parameter(work *w, size_t p)
{
  const clarke_parameter *q = &w->s->graph.parameters[p];
  const clarke_tensor *t = clarke_tensors_find(&w->r->gradients, q->name);
  clarke_status status = CLARKE_OK;

  if (t == NULL || t->real == NULL || t->rank != q->rank || memcmp(t->dims, q->dims, q->rank * sizeof *q->dims) != 0)
    return clarke_fail(w->err, CLARKE_EINPUT, "%s: %s: no floats of the shape of parameter '%s'", w->r->folder,
                       w->r->step->gradients.name, q->name);
  for (size_t e = 0; e < t->count && status == CLARKE_OK; e++) {
    double ratio;
    const clarke_truth within = compare_entry(w, p, e, t->real[e], &ratio);

    w->r->entries++;
    w->r->worst = fmax(w->r->worst, ratio);
    if ((within == CLARKE_NO && w->r->explained != CLARKE_NO) || (within == CLARKE_UNKNOWN && w->r->explained == CLARKE_YES))
      status = say_entry(w, p, e, t->real[e], within);
  }
  return status;
}

static clarke_status
compare_all(work *w)
{
  const clarke_graph *g = &w->s->graph;
  clarke_status status = say(w->r, CLARKE_YES, w->err, "explained");

  for (size_t p = 0; p < g->n_parameters && status == CLARKE_OK; p++)
    if (g->parameters[p].wrt)
      status = compare_parameter(w, p);
  if (status != CLARKE_OK || w->r->explained != CLARKE_YES)
    return status;
  return say(w->r, CLARKE_YES, w->err, "%zu entries; the largest error is %.2g of its bound", w->r->entries, w->r->worst);
}

static clarke_status
compare(work *w)
{
  clarke_status status;

  if (w->s->stopped != NULL)
    return say(w->r, CLARKE_UNKNOWN, w->err, "it was not compared (%s)", w->s->stopped);
  status = clarke_audit_pass(&w->pass, w->s, w->err);
  if (status == CLARKE_EVAGUE)
    return say(w->r, CLARKE_UNKNOWN, w->err, "at the highest precision an enclosure of AD's numbers has no bounds");
  if (status != CLARKE_OK)
    return status;
  if (w->s->replay.open > 0 || w->pass.open > 0)
    return say(w->r, CLARKE_UNKNOWN, w->err, "where some argument lies is open, and with it AD's gradient");
  status = run_bounds(w);
  w->r->open = w->rounded.open;
  w->r->checked = w->rounded.checked;
  if (status == CLARKE_EVAGUE)
    return say(w->r, CLARKE_UNKNOWN, w->err, "at the highest precision an enclosure of AD's gradient has no bounds");
  if (status != CLARKE_OK)
    return status;
  return w->rounded.offender != CLARKE_NONE ? say_offender(w) : compare_all(w);
}

clarke_status
clarke_record_compare(clarke_record *r, clarke_audit_session *s, clarke_error *err)
{
  work w = {.r = r, .s = s, .err = err};
  clarke_status status;

  clarke_forward_init(&w.pass);
  clarke_slopes_init(&w.slopes);
  clarke_roundoff_init(&w.rounded);
  w.grad = clarke_matrices_new(s->graph.n_values);
  w.gradient = clarke_matrices_new(s->graph.n_parameters);
  w.bound = calloc(s->graph.n_parameters + 1, sizeof *w.bound);
  status = w.grad != NULL && w.gradient != NULL && w.bound != NULL ? compare(&w) : clarke_no_memory(err);
  clarke_roundoff_clear(&w.rounded);
  for (size_t v = 0; w.recorded != NULL && v < s->graph.n_values; v++)
    free(w.recorded[v]);
  for (size_t p = 0; w.bound != NULL && p < s->graph.n_parameters; p++)
    free(w.bound[p]);
  free(w.recorded);
  free(w.bound);
  if (w.grad != NULL)
    clarke_matrices_free(w.grad, s->graph.n_values);
  if (w.gradient != NULL)
    clarke_matrices_free(w.gradient, s->graph.n_parameters);
  clarke_slopes_clear(&w.slopes);
  clarke_forward_clear(&w.pass);
  return status;
}
