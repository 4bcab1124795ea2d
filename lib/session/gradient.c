/* AD's gradient of the whole minibatch's loss under the profile, and the loss itself. */
#include "session/gradient.h"

#include "exact/upward.h"
#include "network/derive/reverse.h"
#include "network/derive/sink.h"
#include "format/safetensors_write.h"
#include "session/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRECISION_FIRST 128
#define PRECISION_LAST 1024
#define EXACT_PRODUCTS 0x1p20
/* An output is told well enough where its radius is so small a part of the largest. */
#define TOLD 0x1p-40

/* Reverse mode over the whole batch: gradient[p] by parameter. */
static clarke_status
whole_gradient(clarke_matrix *gradient, const clarke_forward *f, const clarke_audit_session *s,
               clarke_error *err)
{
  const clarke_graph *g = &s->graph;
  clarke_matrix *grad = clarke_matrices_new(g->n_values);
  clarke_slopes slopes;
  clarke_status status = grad != NULL ? CLARKE_OK
                                      : clarke_no_memory(err);

  clarke_slopes_init(&slopes);
  if (status == CLARKE_OK)
    status = clarke_slopes_of_ad(&slopes, f, &s->replay, &s->profile, err);
  if (status == CLARKE_OK)
    status = clarke_loss_seed(&grad[g->output], &s->question.loss, f, NULL, err);
  if (status == CLARKE_OK)
    status = clarke_reverse_run(grad, f, &slopes, CLARKE_NONE, clarke_gradient_sink, gradient, err);
  clarke_matrices_free(grad, g->n_values);
  clarke_slopes_clear(&slopes);
  return status;
}

/* Each tensor's bound, in its file. */
static clarke_status
note_bounds(json_t **notes, const clarke_gradient *gradient, const clarke_graph *g, clarke_error *err)
{
  char text[64];

  *notes = json_object();
  for (size_t p = 0; p < g->n_parameters; p++) {
    if (!g->parameters[p].wrt)
      continue;
    snprintf(text, sizeof text, "%.3g", gradient->within[p] * 1.01);
    clarke_json_set(notes, g->parameters[p].name, clarke_json_text(text));
  }
  return *notes != NULL ? CLARKE_OK : clarke_no_memory(err);
}

/* The gradient, with the parameters' names and shapes. */
static clarke_status
write_gradient(const char *path, const clarke_gradient *gradient, const clarke_graph *g, bool bounded, clarke_error *err)
{
  clarke_tensors ts;
  json_t *notes = NULL;
  clarke_status status = bounded ? note_bounds(&notes, gradient, g, err) : CLARKE_OK;

  clarke_tensors_init(&ts);
  ts.tensor = calloc(g->n_parameters + 1, sizeof *ts.tensor);
  if (ts.tensor == NULL)
    status = clarke_no_memory(err);
  for (size_t p = 0; p < g->n_parameters && status == CLARKE_OK; p++) {
    clarke_tensor *t = &ts.tensor[ts.n];

    if (!g->parameters[p].wrt)
      continue;
    clarke_tensor_init(t);
    ts.n++;
    status = clarke_tensor_shape(t, g->parameters[p].name, CLARKE_F64, g->parameters[p].rank,
                                 g->parameters[p].dims, err);
    if (status == CLARKE_OK && gradient->entry[p] != NULL)
      memcpy(t->real, gradient->entry[p], t->count * sizeof *t->real);
  }
  if (status == CLARKE_OK)
    status = clarke_safetensors_write(path, &ts, notes, err);
  clarke_tensors_clear(&ts);
  json_decref(notes);
  return status;
}

/* A double near a number, and what it is off by at most. */
static void
note_near(clarke_audit_session *s, const arb_t ball)
{
  arf_t off;
  mag_t radius;

  s->loss_near = arf_get_d(arb_midref(ball), ARF_RND_NEAR);
  arf_init(off);
  mag_init(radius);
  arf_set_d(off, s->loss_near);
  arf_sub(off, off, arb_midref(ball), ARF_PREC_EXACT, ARF_RND_UP);
  arf_get_mag(radius, off);
  mag_add(radius, radius, arb_radref(ball));
  s->loss_off = clarke_up_add(mag_get_d(radius), CLARKE_TINY);
  mag_clear(radius);
  arf_clear(off);
}

static clarke_status
value_text(clarke_audit_session *s, const clarke_forward *f, clarke_error *err)
{
  const clarke_matrix *out = &f->value[s->graph.output];
  clarke_status status;

  s->loss_exact = out->radius == NULL && clarke_loss_is_rational(&s->question.loss);
  if (s->loss_exact) {
    mpq_t q;

    mpq_init(q);
    status = clarke_loss_exact(q, &s->question.loss, f, err);
    if (status == CLARKE_OK) {
      s->loss_value = mpq_get_str(NULL, 10, q);
      s->loss_near = mpq_get_d(q); /* which is cut off */
      s->loss_off = clarke_up_add(2 * CLARKE_UNIT * fabs(s->loss_near), CLARKE_TINY);
    }
    mpq_clear(q);
  } else {
    arb_t ball;

    arb_init(ball);
    status = clarke_loss_value(ball, &s->question.loss, f, err);
    if (status == CLARKE_OK) {
      s->loss_value = arb_get_str(ball, 20, ARB_STR_NO_RADIUS);
      note_near(s, ball);
    }
    arb_clear(ball);
  }
  s->valued = status == CLARKE_OK;
  return status;
}

/* Are the outputs' enclosures narrow? */
static bool
is_told(const clarke_forward *pass)
{
  const clarke_matrix *out = &pass->value[pass->g->output];
  double most = 0, widest = 0;

  for (size_t e = 0; out->radius != NULL && e < out->rows * out->cols; e++) {
    most = fmax(most, fabs(clarke_matrix_get_double(out, e / out->cols, e % out->cols)));
    widest = fmax(widest, out->radius[e]);
  }
  return widest <= most * TOLD;
}

/* All samples, at growing precision while entries are open, or outputs vague. */
static clarke_status
run_all(clarke_forward *pass, clarke_audit_session *s, long precision, clarke_error *err)
{
  clarke_status status;

  do {
    clarke_forward_clear(pass);
    status = clarke_replay_all(pass, &s->replay, true, precision, err);
    precision = 2 * pass->precision;
  } while (status == CLARKE_OK && (pass->open > 0 || !is_told(pass)) && precision <= PRECISION_LAST);
  return status;
}

clarke_status
clarke_audit_pass(clarke_forward *pass, clarke_audit_session *s, clarke_error *err)
{
  clarke_status status;

  free(s->loss_value);
  s->loss_value = NULL;
  s->valued = false;
  status = run_all(pass, s, PRECISION_FIRST, err);
  return status == CLARKE_OK ? value_text(s, pass, err) : status;
}

/* --- exactly, or with a bound ----------------------------------------------------------------- */

/* The nearest doubles. */
static clarke_status
round_matrices(clarke_gradient *gradient, const clarke_matrix *exact, const clarke_graph *g, clarke_error *err)
{
  for (size_t p = 0; p < g->n_parameters; p++) {
    double *to;

    if (exact[p].rows == 0)
      continue;
    to = gradient->entry[p] = malloc((g->parameters[p].count + 1) * sizeof *to);
    if (to == NULL)
      return clarke_no_memory(err);
    for (size_t e = 0; e < g->parameters[p].count; e++) {
      to[e] = clarke_matrix_get_double(&exact[p], e, 0);
      gradient->within[p] = fmax(gradient->within[p], clarke_up_add(clarke_matrix_radius(&exact[p], e, 0),
                                                                    clarke_up_add(CLARKE_UNIT * fabs(to[e]), CLARKE_TINY)));
    }
  }
  return CLARKE_OK;
}

static clarke_status
gradient_of_pass(bool *known, clarke_matrix *gradient, const clarke_forward *pass, const clarke_audit_session *s, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  *known = s->replay.open == 0 && pass->open == 0;
  if (*known)
    status = whole_gradient(gradient, pass, s, err);
  *known = *known && status == CLARKE_OK;
  return status;
}

clarke_status
clarke_audit_exact(bool *known, clarke_matrix *gradient, clarke_audit_session *s, long precision, clarke_error *err)
{
  clarke_forward pass;
  clarke_status status;

  clarke_forward_init(&pass);
  *known = false;
  status = run_all(&pass, s, precision, err);
  if (status == CLARKE_OK)
    status = gradient_of_pass(known, gradient, &pass, s, err);
  clarke_forward_clear(&pass);
  return status;
}

static clarke_status
exact_gradient(bool *known, clarke_gradient *gradient, clarke_audit_session *s, clarke_error *err)
{
  clarke_matrix *exact = clarke_matrices_new(s->graph.n_parameters);
  clarke_forward pass;
  clarke_status status = exact != NULL ? CLARKE_OK : clarke_no_memory(err);

  clarke_forward_init(&pass);
  if (status == CLARKE_OK)
    status = clarke_audit_pass(&pass, s, err);
  if (status == CLARKE_OK)
    status = gradient_of_pass(known, exact, &pass, s, err);
  if (status == CLARKE_OK && *known)
    status = round_matrices(gradient, exact, &s->graph, err);
  *known = *known && status == CLARKE_OK;
  clarke_forward_clear(&pass);
  if (exact != NULL)
    clarke_matrices_free(exact, s->graph.n_parameters);
  return status;
}

bool
clarke_audit_is_small(const clarke_graph *g)
{
  double products = 0;

  for (size_t i = 0; i < g->n_steps; i++) {
    const clarke_dense *d = &g->steps[i].dense;

    if (g->steps[i].kind == CLARKE_DENSE)
      products += (double)d->blocks * (double)d->repeat * (double)d->outer * (double)d->inner * (double)g->samples;
  }
  return products <= EXACT_PRODUCTS;
}

/* Is an exact pass too long for what is asked, and is there another way? */
static clarke_status
choose_way(bool *bounded, const clarke_audit_session *s, clarke_error *err)
{
  *bounded = !s->exact && !clarke_audit_is_small(&s->graph) && s->replay.open == 0;
  return *bounded ? clarke_gradient_serves(bounded, &s->replay, &s->profile, err) : CLARKE_OK;
}

clarke_status
clarke_audit_gradient_along(bool *known, clarke_gradient *gradient, clarke_audit_session *s, const clarke_replay *along, int bits,
                            clarke_error *err)
{
  clarke_forward outputs;
  clarke_status status;

  clarke_forward_init(&outputs);
  status = clarke_gradient_run(gradient, known, &outputs, along, &s->profile, &s->question.loss, bits, err);
  if (status == CLARKE_OK && *known) {
    free(s->loss_value);
    s->loss_value = NULL;
    status = value_text(s, &outputs, err);
  }
  clarke_forward_clear(&outputs);
  return status;
}

static clarke_status
bounded_gradient(bool *known, clarke_gradient *gradient, clarke_audit_session *s, clarke_error *err)
{
  clarke_status status = clarke_audit_gradient_along(known, gradient, s, &s->replay, CLARKE_GRADIENT_BITS, err);

  s->bounded = status == CLARKE_OK && *known;
  for (size_t p = 0; s->bounded && p < gradient->n; p++)
    s->within = fmax(s->within, gradient->within[p]);
  return status;
}

clarke_status
clarke_audit_gradient(bool *known, clarke_gradient *gradient, clarke_audit_session *s, clarke_error *err)
{
  clarke_status status = clarke_gradient_init(gradient, s->graph.n_parameters, err);
  bool bounded = false;

  *known = s->bounded = false;
  s->within = 0;
  if (status == CLARKE_OK)
    status = choose_way(&bounded, s, err);
  if (status == CLARKE_OK && bounded) {
    status = bounded_gradient(known, gradient, s, err);
    if (status != CLARKE_OK || *known)
      return status;
    clarke_gradient_clear(gradient); /* the bound is too wide */
    status = clarke_gradient_init(gradient, s->graph.n_parameters, err);
  }
  return status == CLARKE_OK ? exact_gradient(known, gradient, s, err) : status;
}

clarke_status
clarke_audit_save_gradient(bool *written, clarke_audit_session *s, const char *path, clarke_error *err)
{
  clarke_gradient gradient;
  clarke_status status = clarke_audit_gradient(written, &gradient, s, err);

  if (status == CLARKE_OK && *written)
    status = write_gradient(path, &gradient, &s->graph, s->bounded, err);
  clarke_gradient_clear(&gradient);
  return status;
}
