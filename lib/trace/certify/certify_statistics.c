/* Running statistics of normalizations over the batch (certify.h). One update makes (1 - s) r + s b of r, b being the batch's mean, or its
 * variance with one entry less in the divisor. Where samples are normalized by themselves b is the mean of what is each one's. Several
 * updates follow one another; what one is off by goes on to the next.
 *
 * Let A be the mean of |x| over the n entries of a channel. Their mean is off by g(5 n + 8) A, in any order and by any running mean, and
 * their variance by g(6 (n + 8)) W, W being the sum of (|x| + A)^2 over n - 1: by two passes, by squares less the mean's square, by
 * Welford's algorithm, by merges. (docs/rounding-bound.md, "A running statistic") */
#include "trace/certify/certify.h"

#include "base/stop.h"
#include "exact/number.h"
#include "op/operator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The roundings of an update: of the share, its complement, both products and their sum, and a cast of the share. */
#define ROUNDINGS 8
/* Exact numbers grow with each update: how many there may be of a buffer, bits of a share, and of all shares times updates times entries. */
#define MOST_UPDATES 64
#define MOST_SHARE_BITS ((size_t)4096)
#define MOST_WORK ((size_t)1 << 31)
#define OF_MEAN(n) (5 * (double)(n) + 8)
#define OF_VARIANCE(n) (6 * ((double)(n) + 8))

const clarke_step *
clarke_certify_normalization(const clarke_certify *c, const char *node)
{
  const clarke_step *found = NULL;
  size_t n = 0;

  for (size_t i = 0; i < c->g->n_steps; i++) {
    const clarke_step *s = &c->g->steps[i];

    if (s->kind == CLARKE_NORMALIZE && strcmp(s->op->name, "BatchNormalization") == 0 && strcmp(s->name, node) == 0) {
      found = s;
      n++;
    }
  }
  return n == 1 && (found->grouping.couples || c->pass.n == 1) ? found : NULL;
}

typedef struct {
  const clarke_certify *c;
  const clarke_step *s; /* NULL: there is none */
  size_t channels, n;
  mpq_t *mean, *variance;         /* exactly, the latter's divisor being n - 1; NULL: what is normalized is not known */
  double *size, *spread;          /* at least A and W */
  double *mean_off, *variance_off; /* what they may be off by */
  double *mean_radius, *variance_radius; /* of numbers in doubles (sieve.h): what they are off by themselves; else NULL */
} moments;

/* Numbers of one kind, of each channel. */
typedef struct {
  mpq_t *exact;
  const double *off, *radius;
} batch_own;

static void
moments_clear(moments *m)
{
  if (m->mean != NULL)
    clarke_rationals_free(m->mean, m->channels);
  if (m->variance != NULL)
    clarke_rationals_free(m->variance, m->channels);
  free(m->size);
  free(m->spread);
  free(m->mean_off);
  free(m->variance_off);
  free(m->mean_radius);
  free(m->variance_radius);
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
  m->size[channel] += clarke_up_rational(x);
}

static void
add_to_variance(moments *m, size_t channel, const mpq_t x)
{
  const double size = clarke_up_rational(x) + m->size[channel];
  mpq_t off;

  mpq_init(off);
  mpq_sub(off, x, m->mean[channel]);
  mpq_mul(off, off, off);
  mpq_add(m->variance[channel], m->variance[channel], off);
  m->spread[channel] += size * size;
  mpq_clear(off);
}

static void
divide_moments(moments *m)
{
  mpq_t n;

  mpq_init(n);
  mpq_set_ui(n, m->n, 1);
  each_entry(m, add_to_mean);
  for (size_t k = 0; k < m->channels; k++) {
    mpq_div(m->mean[k], m->mean[k], n);
    m->size[k] = clarke_up_by(clarke_roundoff_sum(m->size[k], m->n) / (double)m->n, 4);
  }
  each_entry(m, add_to_variance);
  mpq_set_ui(n, m->n - 1, 1);
  for (size_t k = 0; k < m->channels; k++) {
    mpq_div(m->variance[k], m->variance[k], n);
    m->spread[k] = clarke_up_by(clarke_roundoff_sum(m->spread[k], 4 * m->n) / (double)(m->n - 1), 4);
  }
  mpq_clear(n);
}

/* --- in doubles --- */

/* Adds up what each channel has: its numbers less `from` (NULL: 0), or their squares; sizes are added to `mass`. */
static void
add_up(double *sum, double *mass, const moments *m, const float *x, const double *from, bool squares)
{
  for (size_t f = 0; f < m->c->g->values[m->s->out].count; f++) {
    const size_t k = clarke_step_group(m->s, f);
    const double less = from != NULL ? from[k] : 0;

    for (size_t j = 0; j < m->c->pass.n; j++) {
      const double at = (double)x[f * m->c->pass.n + j] - less;

      sum[k] += squares ? at * at : at;
      mass[k] += squares ? (fabs((double)x[f * m->c->pass.n + j]) + m->size[k]) * (fabs((double)x[f * m->c->pass.n + j]) + m->size[k]) : fabs(at);
    }
  }
}

/* The mean is off by 2 (n + 4) u A, u being 2^-53: with it the root of the sum of squares, as a norm is, by that times the root of n; and by
 * (n + 8) u of itself. Of the squares' mean that is at most as much of W, twice. */
static void
divide_doubles(moments *m, const float *x, double *mean, double *variance)
{
  const double n = (double)m->n;

  add_up(mean, m->size, m, x, NULL, false);
  for (size_t k = 0; k < m->channels; k++) {
    mean[k] /= n;
    m->size[k] = clarke_up_by(m->size[k] / n, n + 8);
    m->mean_radius[k] = clarke_taken(n + 4, m->size[k]);
    mpq_set_d(m->mean[k], mean[k]);
  }
  add_up(variance, m->spread, m, x, mean, true);
  for (size_t k = 0; k < m->channels; k++) {
    variance[k] /= n - 1;
    m->spread[k] = clarke_up_by(m->spread[k] / (n - 1), n + 16);
    m->variance_radius[k] = clarke_taken(8 * (n + 16), m->spread[k]);
    mpq_set_d(m->variance[k], variance[k]);
  }
}

/* No infinity, and nothing that the exact pass takes to be off: a subnormal. */
static bool
all_normal(const moments *m, const float *x)
{
  bool all = true;

  for (size_t e = 0; all && e < m->c->g->values[m->s->out].count * m->c->pass.n; e++)
    all = x[e] == 0 || (fabs((double)x[e]) >= m->c->by.tiny && fabs((double)x[e]) < 0x1p60);
  return all;
}

/* The moments of recorded numbers, features x samples. *known: they are told from these. */
static clarke_status
take_doubles(bool *known, moments *m, const float *x, clarke_error *err)
{
  double *mean = calloc(m->channels + 1, sizeof *mean), *variance = calloc(m->channels + 1, sizeof *variance);
  const bool well = mean != NULL && variance != NULL;

  m->mean_radius = calloc(m->channels + 1, sizeof *m->mean_radius);
  m->variance_radius = calloc(m->channels + 1, sizeof *m->variance_radius);
  *known = well && m->mean_radius != NULL && m->variance_radius != NULL && m->s->in[0].map == NULL && all_normal(m, x);
  if (*known)
    divide_doubles(m, x, mean, variance);
  free(mean);
  free(variance);
  return well && m->mean_radius != NULL && m->variance_radius != NULL ? CLARKE_OK : clarke_no_memory(err);
}

/* --- of a node --- */

static clarke_status
allocate(moments *m, clarke_error *err)
{
  m->mean = clarke_rationals(m->channels);
  m->variance = clarke_rationals(m->channels);
  m->size = calloc(m->channels + 1, sizeof *m->size);
  m->spread = calloc(m->channels + 1, sizeof *m->spread);
  m->mean_off = calloc(m->channels + 1, sizeof *m->mean_off);
  m->variance_off = calloc(m->channels + 1, sizeof *m->variance_off);
  return m->mean != NULL && m->variance != NULL && m->size != NULL && m->spread != NULL && m->mean_off != NULL && m->variance_off != NULL
           ? CLARKE_OK
           : clarke_no_memory(err);
}

/* Its channels, and their moments where what it normalizes is known: of the record's own numbers where these are given (by value), in doubles. */
static clarke_status
moments_take(moments *m, const clarke_certify *c, const char *node, const float *const *x, bool *open, clarke_error *err)
{
  bool known = true;
  clarke_status status;

  *m = (moments){.c = c, .s = clarke_certify_normalization(c, node)};
  if (m->s == NULL)
    return CLARKE_OK;
  m->n = clarke_step_group_size(m->s, c->pass.n);
  m->channels = m->s->grouping.groups;
  if (m->n < 2 || (x == NULL ? !clarke_certify_is_known(c, m->s->in[0].value) : x[m->s->in[0].value] == NULL)) {
    *open = x != NULL;
    return CLARKE_OK;
  }
  if (clarke_work_check(err) != CLARKE_OK)
    return CLARKE_ESTOPPED;
  status = allocate(m, err);
  if (status == CLARKE_OK && x != NULL)
    status = take_doubles(&known, m, x[m->s->in[0].value], err);
  else if (status == CLARKE_OK)
    divide_moments(m);
  *open = *open || !known;
  for (size_t k = 0; status == CLARKE_OK && k < m->channels; k++) {
    m->mean_off[k] = clarke_roundoff_by(&c->by, OF_MEAN(m->n), m->size[k]);
    m->variance_off[k] = clarke_roundoff_by(&c->by, OF_VARIANCE(m->n), m->spread[k]);
  }
  return status;
}

/* --- one buffer --- */

typedef struct {
  const char *name;
  bool is_variance;
  size_t count;
  mpq_t *exact; /* what was made of what was there before, so far; and what is off by so much */
  double *off, *radius; /* radius: what exact is off by itself, which is 0 but for doubles */
} running;

/* b in channel k: of one sample, or the mean of all of them, whose channels follow one another. *size: the mean of their sizes. */
static void
batch_number(mpq_t b, double *off, double *radius, double *size, const batch_own *own, size_t k, size_t count, size_t samples)
{
  double sum = 0, sizes = 0, radii = 0;
  mpq_t n;

  mpq_set_ui(b, 0, 1);
  for (size_t j = 0; j < samples; j++) {
    mpq_add(b, b, own->exact[j * count + k]);
    sum += own->off[j * count + k];
    radii += own->radius != NULL ? own->radius[j * count + k] : 0;
    sizes += clarke_up_rational(own->exact[j * count + k]) + own->off[j * count + k];
  }
  mpq_init(n);
  mpq_set_ui(n, samples, 1);
  mpq_div(b, b, n);
  mpq_clear(n);
  *off = clarke_up_by(clarke_roundoff_sum(sum, samples + 2) / (double)samples, 4);
  *radius = own->radius != NULL ? clarke_up_by(clarke_roundoff_sum(radii, samples + 2) / (double)samples, 4) : 0;
  *size = clarke_up_by(clarke_roundoff_sum(sizes, samples + 2) / (double)samples, 4);
}

/* r becomes (1 - s) r + s b in each entry. Of several samples each makes its own of r, and their mean is taken. */
static void
update(running *r, const clarke_certify *c, const clarke_run_statistics *of, const batch_own *own)
{
  const double share = clarke_up_rational(of->momentum), spare = ROUNDINGS + (of->samples > 1 ? (double)of->samples + 2 : 0);
  double rest;
  mpq_t b, complement;

  mpq_inits(b, complement, NULL);
  mpq_set_ui(complement, 1, 1);
  mpq_sub(complement, complement, of->momentum);
  rest = clarke_up_rational(complement);
  for (size_t k = 0; k < r->count; k++) {
    const double old = clarke_up_rational(r->exact[k]) + r->off[k];
    double off, radius, size, mass;

    batch_number(b, &off, &radius, &size, own, k, r->count, of->samples);
    mass = clarke_roundoff_sum((1 + share) * old + share * size, 4);
    mpq_mul(r->exact[k], r->exact[k], complement);
    mpq_mul(b, b, of->momentum);
    mpq_add(r->exact[k], r->exact[k], b);
    r->off[k] = clarke_roundoff_sum(rest * r->off[k] + share * off + clarke_roundoff_by(&c->by, spare, mass) + (1 + share) * c->by.tiny, 6);
    r->radius[k] = own->radius != NULL ? clarke_roundoff_sum(rest * r->radius[k] + share * radius, 6) : r->radius[k];
    if (!(clarke_up_rational(r->exact[k]) + r->off[k] <= c->by.largest))
      r->off[k] = INFINITY;
  }
  mpq_clears(b, complement, NULL);
}

static bool
names(const clarke_run_statistics *of, const char *buffer)
{
  return strcmp(of->mean, buffer) == 0 || strcmp(of->variance, buffer) == 0;
}

static size_t
share_bits(const clarke_run_statistics *of)
{
  return mpz_sizeinbase(mpq_numref(of->momentum), 2) + mpz_sizeinbase(mpq_denref(of->momentum), 2);
}

/* Why nothing can be said of the buffer; NULL: it can. */
static const char *
hindrance(const clarke_certify *c, const running *r, const moments *const *m)
{
  size_t updates = 0, bits = 0;

  for (size_t i = 0; i < c->n_statistics; i++) {
    const clarke_run_statistics *of = &c->statistics[i];

    if (!names(of, r->name))
      continue;
    if (++updates > MOST_UPDATES)
      return "more than 64 normalizations bring it up to date";
    bits += share_bits(of);
    if (share_bits(of) > MOST_SHARE_BITS || r->count > MOST_WORK / bits / updates)
      return "its updates have shares of too many digits";
    if (strcmp(r->is_variance ? of->mean : of->variance, r->name) == 0)
      return "it is called a mean and a variance";
    if (m[i]->s == NULL)
      return "the graph has no normalization of its node";
    if (m[i]->n < 2)
      return "its node normalizes single entries";
    if (m[i]->mean == NULL)
      return "what is normalized was not recorded";
    if (m[i]->channels / of->samples != r->count || m[i]->channels % of->samples != 0)
      return "it has another number of entries than its node has channels";
  }
  return NULL;
}

static clarke_status
judge(clarke_certify *c, clarke_certificate *made, running *r, const clarke_tensor *before, const clarke_tensor *after,
      const moments *const *m, clarke_error *err)
{
  double share = 0; /* of a bound, at most what an exact number is off by itself */
  clarke_status status;
  clarke_matrix all;

  for (size_t k = 0; k < r->count; k++)
    mpq_set_d(r->exact[k], before->real[k]);
  for (size_t i = 0; i < c->n_statistics; i++)
    if (names(&c->statistics[i], r->name)) {
      const batch_own own = {r->is_variance ? m[i]->variance : m[i]->mean, r->is_variance ? m[i]->variance_off : m[i]->mean_off,
                             r->is_variance ? m[i]->variance_radius : m[i]->mean_radius};

      update(r, c, &c->statistics[i], &own);
    }
  clarke_matrix_init(&all);
  status = clarke_matrix_set_rationals(&all, r->count, 1, r->exact, err);
  for (size_t k = 0; k < r->count && status == CLARKE_OK; k++)
    if (r->radius[k] > 0 && (all.radius != NULL || (status = clarke_matrix_need_radius(&all, err)) == CLARKE_OK)) {
      all.radius[k] = r->radius[k];
      share = fmax(share, clarke_up_by(r->radius[k] / r->off[k], 4));
      made->at_most = true;
    }
  if (status == CLARKE_OK)
    status = clarke_certificate_judge(made, after, &all, r->off, err);
  made->worst += made->at_most ? clarke_up_by(made->worst, 4) - made->worst + share : 0;
  clarke_matrix_clear(&all);
  return status;
}

static clarke_status
certify_buffer(clarke_certify *c, const char *buffer, bool is_variance, const moments *const *m, clarke_error *err)
{
  const clarke_tensor *before = clarke_certify_find(c, "before", buffer), *after = clarke_certify_find(c, "after", buffer);
  clarke_certificate *made = clarke_certify_add(c, CLARKE_STATISTIC, buffer, "BatchNormalization", err);
  running r = {.name = buffer, .is_variance = is_variance, .count = after != NULL ? after->count : 0};
  const char *why = "it was not recorded before and after the step";
  clarke_status status;

  if (made == NULL)
    return CLARKE_ENOMEM;
  if (before != NULL && after != NULL && (before->real == NULL || after->real == NULL || before->count != r.count))
    return clarke_fail(err, CLARKE_EINPUT, "%s: buffer '%s': expected as many floats before the step as after it", c->trace_file, buffer);
  if (before != NULL && after != NULL)
    why = hindrance(c, &r, m);
  if (why != NULL) {
    made->entries = made->open = r.count;
    return clarke_certificate_say(made, CLARKE_CANNOT_SAY, err, "%s", why);
  }
  r.exact = clarke_rationals(r.count);
  r.off = calloc(r.count + 1, sizeof *r.off);
  r.radius = calloc(r.count + 1, sizeof *r.radius);
  status = r.exact != NULL && r.off != NULL && r.radius != NULL ? judge(c, made, &r, before, after, m, err) : clarke_no_memory(err);
  if (r.exact != NULL)
    clarke_rationals_free(r.exact, r.count);
  free(r.off);
  free(r.radius);
  return status;
}

/* The buffer that counts updates: one more for each. */
static clarke_status
certify_count(clarke_certify *c, const char *buffer, clarke_error *err)
{
  const clarke_tensor *before = clarke_certify_find(c, "before", buffer), *after = clarke_certify_find(c, "after", buffer);
  clarke_certificate *made = clarke_certify_add(c, CLARKE_STATISTIC, buffer, "BatchNormalization", err);
  uint64_t updates = 0;

  if (made == NULL)
    return CLARKE_ENOMEM;
  made->entries = 1;
  if (before == NULL || after == NULL) {
    made->open = 1;
    return clarke_certificate_say(made, CLARKE_CANNOT_SAY, err, "it was not recorded before and after the step");
  }
  if (before->integer == NULL || after->integer == NULL || before->count != 1 || after->count != 1)
    return clarke_fail(err, CLARKE_EINPUT, "%s: buffer '%s': expected one integer before and after the step", c->trace_file, buffer);
  for (size_t i = 0; i < c->n_statistics; i++)
    updates += c->statistics[i].count != NULL && strcmp(c->statistics[i].count, buffer) == 0;
  if (after->integer[0] > before->integer[0] && (uint64_t)after->integer[0] - (uint64_t)before->integer[0] == updates) {
    made->exact = 1;
    return CLARKE_OK;
  }
  made->beyond = 1;
  return clarke_certificate_say(made, CLARKE_IS_REFUTED, err, "it went from %lld to %lld, in %llu updates", (long long)before->integer[0],
                                (long long)after->integer[0], (unsigned long long)updates);
}

/* Do entries before this one name the buffer, as what is updated, or as what counts? */
static bool
was_named(const clarke_certify *c, size_t i, const char *buffer, bool counts)
{
  bool named = false;

  for (size_t j = 0; j < i && !named; j++)
    named = counts ? c->statistics[j].count != NULL && strcmp(c->statistics[j].count, buffer) == 0 : names(&c->statistics[j], buffer);
  return named;
}

static clarke_status
certify_one(clarke_certify *c, size_t i, const moments *const *m, clarke_error *err)
{
  const clarke_run_statistics *of = &c->statistics[i];
  clarke_status status = CLARKE_OK;

  if (!was_named(c, i, of->mean, false))
    status = certify_buffer(c, of->mean, false, m, err);
  if (status == CLARKE_OK && !was_named(c, i, of->variance, false) && strcmp(of->mean, of->variance) != 0)
    status = certify_buffer(c, of->variance, true, m, err);
  if (status == CLARKE_OK && of->count != NULL && !was_named(c, i, of->count, true))
    status = certify_count(c, of->count, err);
  return status;
}

clarke_status
clarke_certify_statistics(bool *open, clarke_certify *c, const float *const *x, clarke_error *err)
{
  moments *own = calloc(c->n_statistics + 1, sizeof *own);
  const moments **m = calloc(c->n_statistics + 1, sizeof *m);
  clarke_status status = own != NULL && m != NULL ? CLARKE_OK : clarke_no_memory(err);

  for (size_t i = 0; i < c->n_statistics && status == CLARKE_OK; i++) {
    for (size_t j = 0; j < i && m[i] == NULL; j++)
      m[i] = strcmp(c->statistics[j].node, c->statistics[i].node) == 0 ? m[j] : NULL;
    if (m[i] != NULL)
      continue;
    m[i] = &own[i];
    status = moments_take(&own[i], c, c->statistics[i].node, x, open, err);
  }
  for (size_t i = 0; i < c->n_statistics && status == CLARKE_OK && !*open; i++)
    status = certify_one(c, i, m, err);
  for (size_t i = 0; own != NULL && i < c->n_statistics; i++)
    moments_clear(&own[i]);
  free(own);
  free(m);
  return status;
}

bool
clarke_certify_is_told(const clarke_certify *c, const char *buffer)
{
  return was_named(c, c->n_statistics, buffer, false) || was_named(c, c->n_statistics, buffer, true);
}

static bool
same_entries(const clarke_tensor *a, const clarke_tensor *b)
{
  bool same = a->count == b->count && (a->real == NULL) == (b->real == NULL);

  for (size_t e = 0; same && e < a->count; e++)
    same = a->real != NULL ? a->real[e] == b->real[e] : a->integer == NULL || b->integer == NULL || a->integer[e] == b->integer[e];
  return same;
}

/* What nobody tells of the buffer that the tensor is of, before or after the step; NULL: nothing is amiss. */
static clarke_status
find_untold(const char **why, clarke_certify *c, clarke_tensor *t, const char *name, bool is_before, clarke_error *err)
{
  clarke_tensor *other = clarke_certify_find(c, is_before ? "after" : "before", name);
  clarke_status status;

  *why = NULL;
  if (clarke_certify_is_told(c, name) || (other != NULL && !is_before)) /* a pair is asked once */
    return CLARKE_OK;
  if (other == NULL) {
    *why = is_before ? "it was recorded before the step alone" : "it was recorded after the step alone";
    return CLARKE_OK;
  }
  if (t->dtype > CLARKE_F64) /* what counts updates may be untold (docs/run-format.md) */
    return CLARKE_OK;
  status = clarke_tensor_unpack(other, err);
  if (status == CLARKE_OK)
    status = clarke_tensor_unpack(t, err);
  if (status == CLARKE_OK && !same_entries(t, other))
    *why = "the step changed it, and run.json does not say how";
  return status;
}

clarke_status
clarke_certify_untold(clarke_certify *c, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t t = 0; t < c->trace->n && status == CLARKE_OK; t++) {
    clarke_tensor *tensor = &c->trace->tensor[t];
    const bool is_before = strncmp(tensor->name, "before/", strlen("before/")) == 0;
    const char *name = strchr(tensor->name, '/'), *why = NULL;
    clarke_certificate *made;

    if (!is_before && strncmp(tensor->name, "after/", strlen("after/")) != 0)
      continue;
    status = find_untold(&why, c, tensor, ++name, is_before, err);
    if (status != CLARKE_OK || why == NULL)
      continue;
    made = clarke_certify_add(c, CLARKE_STATISTIC, name, NULL, err);
    if (made == NULL)
      return CLARKE_ENOMEM;
    made->entries = made->open = tensor->count;
    status = clarke_certificate_say(made, CLARKE_CANNOT_SAY, err, "%s", why);
  }
  return status;
}
