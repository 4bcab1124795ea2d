/* Bounds of gradients, from the loss back to the parameters (rounding_back.h). */
#include "trace/bound/rounding_backward.h"

#include "trace/bound/rounding_back_step.h"
#include "trace/bound/rounding_loss.h"
#include "trace/bound/rounding_lost.h"
#include "network/derive/reverse.h"
#include "network/derive/sink.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool
clarke_rounding_sum_init(clarke_rounding_sum *s, size_t n)
{
  if (s->error != NULL)
    return true;
  s->error = calloc(n + 1, sizeof *s->error);
  s->mass = calloc(n + 1, sizeof *s->mass);
  s->parts = calloc(n + 1, sizeof *s->parts);
  return s->error != NULL && s->mass != NULL && s->parts != NULL;
}

void
clarke_rounding_sum_clear(clarke_rounding_sum *s)
{
  free(s->error);
  free(s->mass);
  free(s->parts);
  *s = (clarke_rounding_sum){.error = NULL};
}

double
clarke_roundback_bound(const clarke_roundback *b, const clarke_rounding_sum *s, size_t e, double spare)
{
  const double mass = clarke_roundoff_sum(s->mass[e], (size_t)s->terms);
  double error;

  if (s->parts[e] == 1 && !b->r->by.casts) /* moved, and nothing else: it is not rounded */
    return s->error[e];
  error = s->error[e] + clarke_roundoff_by(&b->r->by, s->terms + spare, mass);
  return isnan(error) ? INFINITY : clarke_roundoff_sum(error, (size_t)s->terms);
}

clarke_status
clarke_roundback_begin(clarke_roundback *b, clarke_roundoff *r, const clarke_matrix *grad, double scale, bool alone, clarke_error *err)
{
  const clarke_graph *g = r->f->g;
  bool well;
  size_t most = 0;

  *b = (clarke_roundback){.r = r, .g = g, .grad = grad, .scale = scale, .n = r->f->n};
  for (size_t v = 0; v < g->n_values; v++)
    most = g->values[v].count > most ? g->values[v].count : most;
  for (size_t q = 0; q < g->n_parameters; q++)
    most = g->parameters[q].count > most ? g->parameters[q].count : most;
  b->reads = malloc((most + 1) * sizeof *b->reads);
  b->sum = calloc(g->n_values + 1, sizeof *b->sum);
  b->carries = calloc(g->n_values + 1, sizeof *b->carries);
  b->lacking = calloc(1, sizeof *b->lacking);
  well = b->sum != NULL && b->reads != NULL && b->carries != NULL && b->lacking != NULL;
  if (well && !alone)
    clarke_reverse_carriers(b->carries, g, CLARKE_NONE);
  for (size_t v = 0; v < g->n_values && well; v++)
    if (v == g->output || (!alone && g->values[v].constant && clarke_value_is_wrt(g, v)))
      well = clarke_rounding_sum_init(&b->sum[v], g->values[v].count * (g->values[v].constant ? 1 : b->n));
  return well ? CLARKE_OK : clarke_no_memory(err);
}

clarke_rounding_sum *
clarke_roundback_target(const clarke_roundback *b, size_t value)
{
  const clarke_value *v = &b->g->values[value];
  clarke_rounding_sum *s = &b->sum[value];

  if (b->lost != NULL && b->lost[value])
    return NULL;
  if (!v->constant && b->carries[value] && !clarke_rounding_sum_init(s, v->count * b->n)) {
    *b->lacking = true;
    clarke_rounding_sum_clear(s);
  }
  return s->error != NULL ? s : NULL;
}

bool
clarke_roundback_lacks(const clarke_roundback *b)
{
  return *b->lacking;
}


void
clarke_roundback_clear(clarke_roundback *b)
{
  for (size_t v = 0; b->sum != NULL && v < b->g->n_values; v++)
    clarke_rounding_sum_clear(&b->sum[v]);
  free(b->sum);
  free(b->reads);
  free(b->carries);
  free(b->lacking);
  free(b->lost);
  b->reads = NULL;
  b->sum = NULL;
  b->carries = b->lacking = b->lost = NULL;
}

/* The sizes of the gradient at work, and what they are off by. */
static void
measure(clarke_roundback *b, const clarke_rounding_sum *s, const double *known)
{
  for (size_t e = 0; e < b->count * b->n; e++) {
    b->size[e] = b->size[e] != 0 ? clarke_roundoff_sum(b->size[e] * b->scale, 2) : 0; /* what is 0 stays 0 */
    b->error[e] = clarke_roundoff_lift(&b->r->by, known != NULL ? known[e] : clarke_roundback_bound(b, s, e, CLARKE_ROUNDBACK_SPARE));
    if (!(b->size[e] + b->error[e] <= b->r->by.largest))
      b->error[e] = INFINITY;
  }
}

clarke_status
clarke_roundback_step(clarke_roundback *b, size_t i, const double *known, clarke_error *err)
{
  const size_t out = b->g->steps[i].out;
  clarke_status status;

  b->s = &b->g->steps[i];
  b->count = b->g->values[out].count;
  b->size = clarke_roundoff_sizes(&b->grad[out]);
  b->error = malloc((b->count * b->n + 1) * sizeof *b->error);
  if (b->size == NULL || b->error == NULL) {
    status = clarke_no_memory(err);
  } else {
    b->known = known != NULL;
    status = clarke_roundback_target(b, out) != NULL ? CLARKE_OK : clarke_no_memory(err);
    if (status == CLARKE_OK) {
      measure(b, &b->sum[out], known);
      if (b->lost != NULL && clarke_roundback_is_lost(b))
        clarke_roundback_lose(b, i);
      else
        status = clarke_roundback_rule(b, err);
    }
    if (status == CLARKE_OK && clarke_roundback_lacks(b))
      status = clarke_no_memory(err);
  }
  if (!b->g->values[out].constant)
    clarke_rounding_sum_clear(&b->sum[out]); /* all that read it were before */
  free(b->size);
  free(b->error);
  b->size = b->error = NULL;
  return status;
}

size_t
clarke_roundback_meet(const clarke_roundback *b, const size_t *map, size_t n, size_t count)
{
  size_t most = 1;

  if (map == NULL)
    return 1;
  memset(b->reads, 0, count * sizeof *b->reads);
  for (size_t i = 0; i < n; i++)
    if (map[i] != CLARKE_NONE && ++b->reads[map[i]] > most)
      most = b->reads[map[i]];
  return most;
}

void
clarke_roundback_fold(clarke_rounding_sum *to, size_t count, const clarke_roundback *b, size_t value, const size_t *map)
{
  const clarke_value *v = &b->g->values[value];
  const clarke_rounding_sum *s = &b->sum[value];
  const size_t meet = clarke_roundback_meet(b, map, v->count, count);

  for (size_t f = 0; f < v->count; f++) {
    const size_t e = map != NULL ? map[f] : f;

    to->error[e] += s->error[f];
    to->mass[e] += s->mass[f];
    to->parts[e] = (unsigned char)(to->parts[e] + s->parts[f] > 2 ? 2 : to->parts[e] + s->parts[f]);
  }
  to->terms += (double)meet * s->terms;
}

/* Has no entry of the parameter a bound? Entries of constants that are lost are those of all, together. */
static bool
parameter_is_lost(const clarke_roundback *b, size_t q)
{
  size_t met = 0;

  memset(b->reads, 0, b->g->parameters[q].count * sizeof *b->reads);
  for (size_t v = 0; b->lost != NULL && v < b->g->n_values; v++) {
    const clarke_value *of = &b->g->values[v];

    for (size_t f = 0; b->lost[v] && of->constant && of->parameter == q && f < of->count; f++)
      met += b->reads[of->origin != NULL ? of->origin[f] : f]++ == 0;
  }
  return met > 0 && met == b->g->parameters[q].count;
}

/* A constant's part in its parameter's sum. */
static void
join(clarke_rounding_sum *whole, size_t count, const clarke_roundback *b, size_t value)
{
  const clarke_value *v = &b->g->values[value];

  if (b->sum[value].error != NULL)
    clarke_roundback_fold(whole, count, b, value, v->origin);
  for (size_t f = 0; b->lost != NULL && b->lost[value] && f < v->count; f++)
    whole->error[v->origin != NULL ? v->origin[f] : f] = INFINITY;
}

static clarke_status
finish_parameter(double **bound, const clarke_roundback *b, size_t q, clarke_error *err)
{
  const size_t count = b->g->parameters[q].count;
  clarke_rounding_sum whole = {.error = NULL};
  clarke_status status = CLARKE_OK;

  if (parameter_is_lost(b, q))
    return CLARKE_OK;
  *bound = malloc((count + 1) * sizeof **bound);
  if (*bound == NULL || !clarke_rounding_sum_init(&whole, count))
    status = clarke_no_memory(err);
  for (size_t v = 0; v < b->g->n_values && status == CLARKE_OK; v++)
    if (b->g->values[v].constant && b->g->values[v].parameter == q)
      join(&whole, count, b, v);
  for (size_t e = 0; e < count && status == CLARKE_OK; e++)
    (*bound)[e] = clarke_roundback_bound(b, &whole, e, CLARKE_ROUNDBACK_SPARE_NORMALIZED);
  clarke_rounding_sum_clear(&whole);
  return status;
}

static clarke_status
finish(double **bound, const clarke_roundback *b, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t q = 0; q < b->g->n_parameters && status == CLARKE_OK; q++)
    if (b->g->parameters[q].wrt)
      status = finish_parameter(&bound[q], b, q, err);
  return status;
}

clarke_status
clarke_roundoff_backward(double **bound, clarke_roundoff *r, const clarke_matrix *grad, double scale, clarke_error *err)
{
  const clarke_graph *g = r->f->g;
  clarke_roundback b;
  clarke_status status = clarke_roundback_begin(&b, r, grad, scale, false, err);

  if (status == CLARKE_OK)
    clarke_roundback_seed(&b);
  for (size_t i = g->n_steps; i-- > 0 && status == CLARKE_OK;)
    if (grad[g->steps[i].out].rows > 0)
      status = clarke_roundback_step(&b, i, NULL, err);
  if (status == CLARKE_OK)
    status = finish(bound, &b, err);
  clarke_roundback_clear(&b);
  return status;
}

/* --- beside the exact pass --- */

typedef struct {
  clarke_roundback back;
  clarke_matrix *grad, *gradient; /* by value, by parameter */
} along;

static clarke_status
add_gradient(void *context, const clarke_forward *f, const clarke_step *step, size_t operand, const clarke_matrix *g, clarke_error *err)
{
  return clarke_gradient_sink(((along *)context)->gradient, f, step, operand, g, err);
}

/* Has what the step hands on bounds? They are made here. Where all that came to some of its entries was lost on its way, the others are 0. */
static clarke_status
bound_step(bool *on, void *context, size_t i, clarke_error *err)
{
  along *a = context;
  clarke_roundback *b = &a->back;
  const size_t out = b->g->steps[i].out;
  clarke_status status = CLARKE_OK;

  if (b->lost[out])
    clarke_roundback_lose(b, i);
  else if (!*on && b->sum[out].error != NULL) {
    status = clarke_matrix_resize(&a->grad[out], b->g->values[out].count, b->n, 1, err);
    *on = true;
  }
  if (status == CLARKE_OK && *on && !b->lost[out])
    status = clarke_roundback_step(b, i, NULL, err);
  *on = *on && !b->lost[out];
  return status;
}

clarke_status
clarke_roundoff_backward_along(double **bound, clarke_matrix *gradient, clarke_roundoff *r, clarke_matrix *grad, double scale,
                               clarke_error *err)
{
  along a = {.grad = grad, .gradient = gradient};
  clarke_status status = clarke_roundback_begin(&a.back, r, grad, scale, false, err);

  if (status == CLARKE_OK)
    a.back.lost = calloc(r->f->g->n_values + 1, sizeof *a.back.lost);
  if (status == CLARKE_OK && a.back.lost == NULL)
    status = clarke_no_memory(err);
  if (status == CLARKE_OK) {
    clarke_roundback_seed(&a.back);
    status = clarke_reverse_asked(grad, r->f, r->slopes, bound_step, add_gradient, &a, err);
  }
  if (status == CLARKE_OK)
    status = finish(bound, &a.back, err);
  clarke_roundback_clear(&a.back);
  return status;
}
