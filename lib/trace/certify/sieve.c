#include "trace/certify/sieve.h"

#include "network/derive/reverse.h"

#include <stdlib.h>

static void
count_reads(clarke_sieve *s)
{
  for (size_t i = 0; i < s->g->n_steps; i++) {
    const clarke_step *step = &s->g->steps[i];

    for (size_t k = 0; k < step->n_in; k++)
      s->reads[step->in[k].value]++;
    if (step->kind == CLARKE_DENSE)
      s->reads[step->dense.weight]++;
  }
}

clarke_status
clarke_sieve_begin(clarke_sieve *s, clarke_certify *c, clarke_error *err)
{
  const size_t values = c->g->n_values + 1;

  *s = (clarke_sieve){.c = c, .g = c->g, .n = c->pass.n};
  s->value = calloc(values, sizeof *s->value);
  s->grad = calloc(values, sizeof *s->grad);
  s->carries = calloc(values, sizeof *s->carries);
  s->reads = calloc(values, sizeof *s->reads);
  s->settled = calloc(c->g->n_parameters + 1, sizeof *s->settled);
  s->winner = calloc(c->g->n_steps + 1, sizeof *s->winner);
  s->group = calloc(c->g->n_steps + 1, sizeof *s->group);
  if (s->group == NULL || s->value == NULL || s->grad == NULL || s->carries == NULL || s->reads == NULL || s->settled == NULL || s->winner == NULL)
    return clarke_no_memory(err);
  count_reads(s);
  clarke_reverse_carriers(s->carries, c->g, CLARKE_NONE);
  return CLARKE_OK;
}

void
clarke_sieve_end(clarke_sieve *s)
{
  for (size_t v = 0; v < s->g->n_values; v++) {
    if (s->value != NULL)
      clarke_sieved_clear(s, &s->value[v]);
    if (s->grad != NULL)
      clarke_sieved_clear(s, &s->grad[v]);
  }
  free(s->value);
  free(s->grad);
  free(s->carries);
  free(s->reads);
  free(s->settled);
  free(s->winner); /* which are in rooms */
  free(s->group);  /* likewise */
  clarke_identities_free(s->identities);
  clarke_sieve_leave_all(s);
}

/* Float32 throughout? */
static bool
is_known(const clarke_certify *c)
{
  return c->by.unit == 0x1p-24 && !c->by.casts && c->by.conv == 0 && c->by.matmul == 0;
}

static clarke_status
unpack_buffers(clarke_certify *c, const clarke_run_statistics *of, clarke_error *err)
{
  static const char *const when[] = {"before", "after"};
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < 2 && status == CLARKE_OK; k++) {
    status = clarke_certify_unpack(c, when[k], of->mean, err);
    if (status == CLARKE_OK)
      status = clarke_certify_unpack(c, when[k], of->variance, err);
  }
  return status;
}

/* Running statistics, of recorded numbers. */
static clarke_status
certify_statistics(clarke_sieve *s, clarke_error *err)
{
  const float **x = calloc(s->g->n_values + 1, sizeof *x);
  clarke_status status = x != NULL ? CLARKE_OK : clarke_no_memory(err);

  for (size_t i = 0; i < s->g->n_steps && status == CLARKE_OK && !s->open; i++) {
    const clarke_step *step = &s->g->steps[i];

    if (step->kind == CLARKE_NORMALIZE)
      x[step->in[0].value] = s->value[step->in[0].value].exact;
  }
  for (size_t i = 0; i < s->c->n_statistics && status == CLARKE_OK; i++)
    status = unpack_buffers(s->c, &s->c->statistics[i], err);
  if (status == CLARKE_OK && !s->open)
    status = clarke_certify_statistics(&s->open, s->c, x, err);
  free(x);
  return status;
}

clarke_status
clarke_sieve_run(bool *decided, clarke_certify *c, clarke_error *err)
{
  clarke_sieve s;
  clarke_status status;

  *decided = false;
  if (!is_known(c))
    return CLARKE_OK;
  status = clarke_certify_begin(c, err);
  if (status == CLARKE_OK)
    status = clarke_sieve_begin(&s, c, err);
  else
    return status;
  if (status == CLARKE_OK)
    status = clarke_certify_constants(c, err);
  if (status == CLARKE_OK)
    status = clarke_sieve_forward(&s, err);
  if (status == CLARKE_OK && !s.open)
    status = clarke_sieve_backward(&s, err);
  if (status == CLARKE_OK && !s.open && c->n_statistics > 0)
    status = certify_statistics(&s, err);
  *decided = status == CLARKE_OK && !s.open;
  clarke_sieve_end(&s);
  return status;
}
