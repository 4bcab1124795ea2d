/* The replay in a floating-point format: docs/rounding.md says what is rounded, and when. */
#include "program/rounded.h"
#include "program/rounded_inside.h"

#include <stdlib.h>
#include <string.h>

void
clarke_rounded_init(clarke_rounded *r)
{
  memset(r, 0, sizeof *r);
}

void
clarke_rounded_clear(clarke_rounded *r)
{
  free(r->value);
  free(r->gradient);
  clarke_rounded_init(r);
}

static clarke_status
round_weights(clarke_machine *m, clarke_error *err)
{
  mpq_t q;

  mpq_init(q);
  for (size_t b = 0; b < m->n_blocks; b++) {
    double *to = m->weight[b] = malloc((m->block[b].n_weights + 1) * sizeof *to);

    for (size_t e = 0; to != NULL && e < m->block[b].n_weights; e++) {
      mpq_set_d(q, m->block[b].weight[e]);
      to[e] = clarke_ieee_rational(&m->unit, q);
    }
    if (to == NULL) {
      mpq_clear(q);
      return clarke_no_memory(err);
    }
  }
  mpq_clear(q);
  return CLARKE_OK;
}

static bool
machine_alloc(clarke_machine *m)
{
  size_t n = m->p->n + 1, widest = 1;

  for (size_t i = 0; i < m->p->n; i++)
    if (m->p->instruction[i].n_in > widest)
      widest = m->p->instruction[i].n_in;
  m->value = calloc(n, sizeof *m->value);
  m->adjoint = calloc(n, sizeof *m->adjoint);
  m->reached = calloc(n, sizeof *m->reached);
  m->start = calloc(n, sizeof *m->start);
  m->sum = calloc(n, sizeof *m->sum);
  m->summed = calloc(n, sizeof *m->summed);
  m->list = calloc(n, sizeof *m->list);
  m->tied = calloc(widest, sizeof *m->tied);
  m->sorted = calloc(widest, sizeof *m->sorted);
  m->weight = calloc(m->n_blocks + 1, sizeof *m->weight);
  return m->weight != NULL && m->value != NULL && m->adjoint != NULL && m->reached != NULL && m->start != NULL &&
         m->sum != NULL && m->summed != NULL && m->list != NULL && m->tied != NULL &&
         m->sorted != NULL;
}

clarke_status
clarke_machine_begin(clarke_machine *m, clarke_ieee format, clarke_error *err)
{
  clarke_ieee_begin(&m->unit, format);
  return machine_alloc(m) ? round_weights(m, err) : clarke_no_memory(err);
}

void
clarke_machine_clear(clarke_machine *m)
{
  clarke_ieee_end(&m->unit);
  for (size_t b = 0; m->weight != NULL && b < m->n_blocks; b++)
    free(m->weight[b]);
  free(m->weight);
  free(m->value);
  free(m->adjoint);
  free(m->reached);
  free(m->start);
  free(m->sum);
  free(m->summed);
  free(m->list);
  free(m->tied);
  free(m->sorted);
}

static bool
result_alloc(clarke_rounded *r, const clarke_code *p)
{
  size_t wrt = clarke_code_wrt_count(p);

  if (wrt > 0 && p->n_outputs > SIZE_MAX / sizeof(double) / wrt)
    return false;
  r->n_values = p->n_outputs;
  r->n_gradient = p->n_outputs * wrt;
  r->value = calloc(r->n_values + 1, sizeof *r->value);
  r->gradient = calloc(r->n_gradient + 1, sizeof *r->gradient);
  return r->value != NULL && r->gradient != NULL;
}

static clarke_status
run(clarke_machine *m, clarke_rounded *r, mpq_t *at, clarke_error *err)
{
  size_t wrt = r->n_values > 0 ? r->n_gradient / r->n_values : 0;
  clarke_status status = CLARKE_OK;

  clarke_machine_input(m, at);
  clarke_machine_forward(m, 0, m->p->n);
  clarke_machine_runs(m);
  for (size_t k = 0; k < r->n_values && status == CLARKE_OK; k++) {
    r->value[k] = m->value[m->p->output[k]];
    clarke_machine_unreach(m);
    clarke_machine_seed(m, m->p->output[k], 1);
    status = clarke_machine_backward(m, r->gradient + k * wrt, err);
  }
  return status;
}

clarke_status
clarke_rounded_values(clarke_rounded *r, const clarke_code *p, mpq_t *at, clarke_ieee format, clarke_error *err)
{
  clarke_machine m = {.p = p};
  clarke_status status;

  clarke_rounded_clear(r);
  r->n_values = p->n_outputs;
  r->value = calloc(r->n_values + 1, sizeof *r->value);
  status = clarke_machine_begin(&m, format, err);
  if (status == CLARKE_OK && r->value == NULL)
    status = clarke_no_memory(err);
  if (status == CLARKE_OK) {
    clarke_machine_input(&m, at);
    clarke_machine_forward(&m, 0, p->n);
    for (size_t k = 0; k < r->n_values; k++)
      r->value[k] = m.value[p->output[k]];
  }
  if (status == CLARKE_ENOMEM)
    clarke_rounded_clear(r);
  clarke_machine_clear(&m);
  return status;
}

clarke_status
clarke_rounded_run(clarke_rounded *r, const clarke_code *p, mpq_t *at, clarke_ieee format,
                   const clarke_profile *profile, clarke_error *err)
{
  clarke_machine m = {.p = p, .profile = profile};
  clarke_status status;

  clarke_rounded_clear(r);
  status = clarke_machine_begin(&m, format, err);
  if (status == CLARKE_OK && !result_alloc(r, p))
    status = clarke_no_memory(err);
  status = status == CLARKE_OK ? run(&m, r, at, err) : status;
  if (status == CLARKE_ENOMEM)
    clarke_rounded_clear(r);
  clarke_machine_clear(&m);
  return status;
}
