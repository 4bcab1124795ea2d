/* Running statistics of normalizations over the batch (certify.h): (1 - s) r + s b, r what was there before and b the batch's mean, or its
 * variance with one entry less in the divisor.
 *
 * Let A be the mean of |x| over the n entries of a channel. Their mean is added up in any order and divided: off by g(n + 2) A. The
 * variance may be that of differences from the computed mean, or of squares less the mean's square. In both all that is added up is at
 * most (|x| + A)^2, and each term meets at most n + 8 roundings, where the mean's own error comes in twice: off by
 * g(4 (n + 8)) W, W being the sum of (|x| + A)^2 over n - 1. (docs/certify.md) */
#include "trace/certify.h"

#include "exact/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the share, its complement, both products and their sum, and a cast of the share. */
#define ROUNDINGS 8

/* The step of that node which normalizes over the batch, all samples together; NULL: there is none. */
static const clarke_step *
normalization(const clarke_certify *c, const char *node)
{
  const clarke_step *found = NULL;
  size_t n = 0;

  for (size_t i = 0; i < c->g->n_steps; i++)
    if (c->g->steps[i].kind == CLARKE_NORMALIZE && (c->g->steps[i].grouping.couples || c->pass.n == 1) && strcmp(c->g->steps[i].name, node) == 0) {
      found = &c->g->steps[i];
      n++;
    }
  return n == 1 ? found : NULL;
}

typedef struct {
  const clarke_certify *c;
  const clarke_step *s;
  size_t channels;
  mpq_t *mean, *variance; /* exactly; the latter's divisor is n - 1 */
  double *size, *spread;  /* at least A and W */
  size_t n;
} moments;

static void
moments_clear(moments *m)
{
  if (m->mean != NULL)
    clarke_rationals_free(m->mean, m->channels);
  if (m->variance != NULL)
    clarke_rationals_free(m->variance, m->channels);
  free(m->size);
  free(m->spread);
}

/* Calls add of each entry, its channel and its number. */
static void
each_entry(moments *m, void (*add)(moments *m, size_t channel, const mpq_t x))
{
  const clarke_matrix *x = &m->c->pass.value[m->s->in[0].value];
  mpq_t entry;

  mpq_init(entry);
  for (size_t f = 0; f < m->c->g->values[m->s->out].count; f++)
    for (size_t j = 0; j < m->c->pass.n; j++) {
      const size_t from = clarke_operand_entry(&m->s->in[0], f);

      if (from != CLARKE_NONE)
        clarke_matrix_get(entry, x, from, j);
      else
        mpq_set_ui(entry, 0, 1);
      add(m, clarke_step_group(m->s, f), entry);
    }
  mpq_clear(entry);
}

static void
add_to_mean(moments *m, size_t channel, const mpq_t x)
{
  mpq_add(m->mean[channel], m->mean[channel], x);
  m->size[channel] += clarke_roundoff_size_of(x);
}

static void
add_to_variance(moments *m, size_t channel, const mpq_t x)
{
  const double size = clarke_roundoff_size_of(x) + m->size[channel];
  mpq_t off;

  mpq_init(off);
  mpq_sub(off, x, m->mean[channel]);
  mpq_mul(off, off, off);
  mpq_add(m->variance[channel], m->variance[channel], off);
  m->spread[channel] += size * size;
  mpq_clear(off);
}

static bool
take_moments(moments *m)
{
  mpq_t n;

  m->mean = clarke_rationals(m->channels);
  m->variance = clarke_rationals(m->channels);
  m->size = calloc(m->channels + 1, sizeof *m->size);
  m->spread = calloc(m->channels + 1, sizeof *m->spread);
  if (m->mean == NULL || m->variance == NULL || m->size == NULL || m->spread == NULL)
    return false;
  mpq_init(n);
  mpq_set_ui(n, m->n, 1);
  each_entry(m, add_to_mean);
  for (size_t k = 0; k < m->channels; k++) {
    mpq_div(m->mean[k], m->mean[k], n);
    m->size[k] = clarke_roundoff_sum(m->size[k], m->n) / (double)m->n * (1 + 0x1p-50);
  }
  each_entry(m, add_to_variance);
  mpq_set_ui(n, m->n - 1, 1);
  for (size_t k = 0; k < m->channels; k++) {
    mpq_div(m->variance[k], m->variance[k], n);
    m->spread[k] = clarke_roundoff_sum(m->spread[k], 4 * m->n) / (double)(m->n - 1) * (1 + 0x1p-50);
  }
  mpq_clear(n);
  return true;
}

/* The buffer's record behind the step, which is judged by what is made of the batch's own numbers, with their bounds, and of the one before. */
static clarke_status
judge(clarke_certify *c, clarke_certificate *made, const clarke_run_statistics *of, const clarke_tensor *before, const clarke_tensor *after,
      mpq_t *batch, double *bound, clarke_error *err)
{
  const size_t n = after->count;
  mpq_t rest, old;
  clarke_matrix m;
  clarke_status status;

  mpq_inits(rest, old, NULL);
  mpq_set_ui(rest, 1, 1);
  mpq_sub(rest, rest, of->momentum);
  for (size_t k = 0; k < n; k++) {
    const double share = clarke_roundoff_size_of(of->momentum), own = clarke_roundoff_sum(clarke_roundoff_size_of(batch[k]) + bound[k], 2);

    mpq_set_d(old, before->real[k]);
    mpq_mul(old, old, rest);
    mpq_mul(batch[k], batch[k], of->momentum);
    mpq_add(batch[k], batch[k], old);
    bound[k] = clarke_roundoff_sum(share * bound[k], 2)
               + clarke_roundoff_by(&c->by, ROUNDINGS, clarke_roundoff_sum((1 + share) * fabs(before->real[k]) + share * own, 4));
    if (!(clarke_roundoff_size_of(batch[k]) + bound[k] <= c->by.largest))
      bound[k] = INFINITY;
  }
  clarke_matrix_init(&m);
  status = clarke_matrix_set_rationals(&m, n, 1, batch, err);
  if (status == CLARKE_OK)
    status = clarke_certificate_judge(made, after, &m, bound, err);
  clarke_matrix_clear(&m);
  mpq_clears(rest, old, NULL);
  return status;
}

/* Is that buffer brought up to date once? */
static bool
is_alone(const clarke_certify *c, const char *buffer)
{
  size_t n = 0;

  for (size_t i = 0; i < c->n_statistics; i++)
    n += (strcmp(c->statistics[i].mean, buffer) == 0) + (strcmp(c->statistics[i].variance, buffer) == 0);
  return n == 1;
}

static clarke_status
certify_buffer(clarke_certify *c, const clarke_run_statistics *of, const char *buffer, moments *m, mpq_t *batch, double *bound,
               clarke_error *err)
{
  const clarke_tensor *before = clarke_certify_find(c, "before", buffer), *after = clarke_certify_find(c, "after", buffer);
  clarke_certificate *made = clarke_certify_add(c, CLARKE_STATISTIC, buffer, "BatchNormalization", err);
  const char *why = NULL;

  if (made == NULL)
    return CLARKE_ENOMEM;
  if (before == NULL || after == NULL)
    why = "it was not recorded before and after the step";
  else if (!is_alone(c, buffer))
    why = "several normalizations bring it up to date";
  else if (m->s == NULL)
    why = "the graph has no normalization of its node";
  else if (m->n < 2 || m->mean == NULL)
    why = "what is normalized was not recorded";
  if (why != NULL) {
    made->entries = made->open = after != NULL ? after->count : 0;
    return clarke_certificate_say(made, CLARKE_CANNOT_SAY, err, "%s", why);
  }
  if (before->real == NULL || after->real == NULL || before->count != m->channels || after->count != m->channels)
    return clarke_fail(err, CLARKE_EINPUT, "%s: buffer '%s': expected %zu floats before and after the step", c->trace_file, buffer, m->channels);
  return judge(c, made, of, before, after, batch, bound, err);
}

static clarke_status
certify_one(clarke_certify *c, const clarke_run_statistics *of, clarke_error *err)
{
  moments m = {.c = c, .s = normalization(c, of->node)};
  double *mean = NULL, *variance = NULL;
  clarke_status status = CLARKE_OK;

  if (m.s != NULL) {
    m.n = clarke_step_group_size(m.s, c->pass.n);
    m.channels = m.s->grouping.groups;
  }
  if (m.n > 1 && clarke_certify_is_known(c, m.s->in[0].value)) {
    mean = calloc(m.channels + 1, sizeof *mean);
    variance = calloc(m.channels + 1, sizeof *variance);
    status = take_moments(&m) && mean != NULL && variance != NULL ? CLARKE_OK : clarke_no_memory(err);
  }
  for (size_t k = 0; status == CLARKE_OK && m.mean != NULL && k < m.channels; k++) {
    mean[k] = clarke_roundoff_by(&c->by, (double)m.n + 2, m.size[k]);
    variance[k] = clarke_roundoff_by(&c->by, 4 * ((double)m.n + 8), m.spread[k]);
  }
  if (status == CLARKE_OK)
    status = certify_buffer(c, of, of->mean, &m, m.mean, mean, err);
  if (status == CLARKE_OK)
    status = certify_buffer(c, of, of->variance, &m, m.variance, variance, err);
  free(mean);
  free(variance);
  moments_clear(&m);
  return status;
}

clarke_status
clarke_certify_statistics(clarke_certify *c, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < c->n_statistics && status == CLARKE_OK; i++)
    status = certify_one(c, &c->statistics[i], err);
  return status;
}
