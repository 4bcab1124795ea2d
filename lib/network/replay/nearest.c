#include "network/replay/nearest.h"

#include "base/stop.h"
#include "network/replay/replay_inside.h"

#include <float.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

void
clarke_nearest_init(clarke_nearest *list)
{
  memset(list, 0, sizeof *list);
}

void
clarke_nearest_clear(clarke_nearest *list)
{
  for (size_t i = 0; i < list->n; i++)
    mpq_clear(list->near[i].distance);
  free(list->near);
  clarke_nearest_init(list);
}

static int
compare_near(const void *one, const void *other)
{
  const clarke_near *a = one, *b = other;
  const size_t left[] = {a->feature, a->sample}, right[] = {b->feature, b->sample};
  int order = a->step != b->step ? (a->step < b->step ? -1 : 1) : mpq_cmp(a->distance, b->distance);

  for (size_t i = 0; i < 2 && order == 0; i++)
    order = (left[i] > right[i]) - (left[i] < right[i]);
  return order;
}

/* One more at the end, its distance 0. */
static clarke_status
append(clarke_nearest *list, clarke_near near, clarke_error *err)
{
  clarke_near *grown = realloc(list->near, (list->n + 1) * sizeof *grown);

  if (grown == NULL)
    return clarke_no_memory(err);
  list->near = grown;
  grown[list->n] = near;
  mpq_init(grown[list->n++].distance);
  return CLARKE_OK;
}

/* In order, of each layer the first n. */
static void
keep_nearest(clarke_nearest *list, size_t n)
{
  size_t kept = 0, run = 0, step = CLARKE_NONE;

  if (list->n > 0)
    qsort(list->near, list->n, sizeof *list->near, compare_near);
  for (size_t i = 0; i < list->n; i++) {
    run = list->near[i].step == step ? run + 1 : 0;
    step = list->near[i].step;
    if (run < n) {
      clarke_near swap = list->near[kept];

      list->near[kept++] = list->near[i];
      list->near[i] = swap;
    }
  }
  for (size_t i = kept; i < list->n; i++)
    mpq_clear(list->near[i].distance);
  list->n = kept;
}

static int
compare_doubles(const void *one, const void *other)
{
  const double a = *(const double *)one, b = *(const double *)other;

  return (a > b) - (a < b);
}

/* The n-th smallest of the numbers, which may become sorted; INFINITY when they are fewer. */
static double
nth_smallest(double *number, size_t count, size_t n)
{
  double least = INFINITY;

  for (size_t i = 0; n == 1 && i < count; i++)
    least = number[i] < least ? number[i] : least;
  if (n == 1 || n > count)
    return least;
  qsort(number, count, sizeof *number, compare_doubles);
  return number[n - 1];
}

/* --- which samples ---------------------------------------------------------------------------- */

/* May the sample hold one of a layer's n nearest? Each of n samples has one within its upper bound, and so these are. */
static bool
may_hold(const clarke_margin *of_sample, double within)
{
  return of_sample->least <= within && of_sample->least < INFINITY;
}

/* Marks these samples. How far the layer's n nearest are, at most. */
static double
mark_samples(bool *mark, double *most, const clarke_margin *m, size_t samples, size_t n)
{
  double within;

  for (size_t j = 0; j < samples; j++)
    most[j] = m[j].most;
  within = nth_smallest(most, samples, n);
  for (size_t j = 0; j < samples; j++)
    mark[j] = mark[j] || may_hold(&m[j], within);
  return within;
}

/* within: by step, how far its n nearest are, at most. */
static clarke_status
choose_samples(size_t **sample, size_t *n_samples, double *within, const clarke_replay *r, size_t n, clarke_error *err)
{
  bool *mark = calloc(r->samples + 1, sizeof *mark), any = false;
  double *most = malloc((r->samples + 1) * sizeof *most);

  *n_samples = 0;
  *sample = malloc((r->samples + 1) * sizeof **sample);
  if (mark == NULL || most == NULL || *sample == NULL) {
    free(mark);
    free(most);
    return clarke_no_memory(err);
  }
  for (size_t i = 0; i < r->g->n_steps; i++)
    if (r->margins->at[i] != NULL)
      within[i] = mark_samples(mark, most, r->margins->at[i], r->samples, n);
  for (size_t j = 0; j < r->samples; j++)
    any = any || mark[j];
  for (size_t j = 0; j < r->samples; j++)
    if (mark[j] || (any && clarke_graph_couples(r->g)))
      (*sample)[(*n_samples)++] = j;
  free(mark);
  free(most);
  return CLARKE_OK;
}

/* More layers than any exact pass can follow: numbers have so many words at most (exact/matrix.h). */
#define MOST_LAYERS 400

/* Products of an exact pass over so many samples: each layer's numbers are longer by those of a weight. */
static size_t
work_of(const clarke_graph *g, size_t samples)
{
  double products = 0, layers = 0;

  for (size_t i = 0; i < g->n_steps; i++)
    if (g->steps[i].kind == CLARKE_DENSE) {
      products += (double)g->values[g->steps[i].out].count * (double)g->steps[i].dense.inner;
      layers++;
    }
  products *= layers * (double)samples;
  return products < 0x1p62 && layers < MOST_LAYERS ? (size_t)products : SIZE_MAX;
}

/* --- by an exact pass ------------------------------------------------------------------------- */

/* A layer in an exact pass: bounds of distances by entry, and what they are made of. */
typedef struct {
  const clarke_forward *f;
  const clarke_step *s;
  size_t step, count;
  const size_t *sample;
  const clarke_margin *margin; /* by sample of the minibatch: where none of the n nearest can be is not looked at */
  double within;
  double *least, *most; /* by entry; of most, only the numbers */
} measured;

/* The largest k with 2^k <= q, q > 0. */
static long
floor_log2(const mpq_t q)
{
  long k = (long)mpz_sizeinbase(mpq_numref(q), 2) - (long)mpz_sizeinbase(mpq_denref(q), 2);
  mpq_t power;

  mpq_init(power);
  mpq_set_ui(power, 1, 1);
  if (k >= 0)
    mpq_mul_2exp(power, power, (mp_bitcnt_t)k);
  else
    mpq_div_2exp(power, power, (mp_bitcnt_t)-k);
  k -= mpq_cmp(power, q) > 0;
  mpq_clear(power);
  return k;
}

/* The same of |q| + radius where that is more than *exponent; of what no double bounds, one above those of doubles. */
static void
raise_exponent(long *exponent, mpq_t q, double radius)
{
  mpq_t r;

  if (!isfinite(radius)) {
    *exponent = *exponent > DBL_MAX_EXP ? *exponent : DBL_MAX_EXP;
    return;
  }
  mpq_init(r);
  mpq_set_d(r, radius);
  mpq_abs(q, q);
  mpq_add(q, q, r);
  if (mpq_sgn(q) > 0 && floor_log2(q) > *exponent)
    *exponent = floor_log2(q);
  mpq_clear(r);
}

/* The largest number compared in column j; doubles tell which entries are too small to be that. */
static long
exponent_of(const measured *m, size_t j)
{
  const clarke_matrix *x = &m->f->value[m->s->in[0].value];
  clarke_margin bound = {.size = 0};
  long exponent = LONG_MIN;
  mpq_t entry;

  clarke_margin_sizes(&bound, m->f->g, m->s, x, j);
  mpq_init(entry);
  for (size_t k = 0; m->s->kind == CLARKE_PIECEWISE && k < m->s->pieces.n_kinks; k++) {
    mpq_set(entry, m->s->pieces.kink[k]);
    raise_exponent(&exponent, entry, 0);
  }
  for (size_t c = 0; c < clarke_margin_compared(m->f->g, m->s); c++) {
    const size_t i = clarke_margin_row(m->s, c);

    if (i == CLARKE_NONE || (bound.size > 0x1p-1000 && bound.size <= DBL_MAX && clarke_margin_size(x, i, j) < bound.size / 4))
      continue;
    clarke_matrix_get(entry, x, i, j);
    raise_exponent(&exponent, entry, clarke_matrix_radius(x, i, j));
  }
  mpq_clear(entry);
  return exponent;
}

static clarke_status
append_entry(clarke_nearest *list, const measured *m, size_t e, clarke_error *err)
{
  const size_t n = m->f->n;
  clarke_near *near;
  clarke_status status = append(list, (clarke_near){.step = m->step, .feature = e / n, .sample = m->sample[e % n]}, err);

  if (status != CLARKE_OK)
    return status;
  near = &list->near[list->n - 1];
  clarke_margin_exactly(near->distance, &near->exact, &near->kink, m->s, &m->f->value[m->s->in[0].value],
                        m->f->piece[m->step][e], e / n, e % n);
  near->ulp = clarke_float32_ulp(exponent_of(m, e % n));
  return CLARKE_OK;
}

/* Those of the layer that may be among its n nearest in this pass. */
static clarke_status
append_layer(clarke_nearest *list, measured *m, size_t n, clarke_error *err)
{
  const size_t entries = m->count * m->f->n;
  const clarke_matrix *x = &m->f->value[m->s->in[0].value];
  size_t known = 0;
  double within;
  clarke_status status = CLARKE_OK;

  for (size_t e = 0; e < entries; e++) {
    m->least[e] = m->most[known] = INFINITY;
    if (m->f->piece[m->step][e] >= 0 && (m->margin == NULL || may_hold(&m->margin[m->sample[e % m->f->n]], m->within)))
      clarke_margin_of(&m->least[e], &m->most[known], m->f->g, m->s, x, m->f->piece[m->step][e], e / m->f->n, e % m->f->n);
    known += m->most[known] < INFINITY;
  }
  within = nth_smallest(m->most, known, n);
  for (size_t e = 0; e < entries && status == CLARKE_OK; e++)
    if (m->least[e] <= within && m->least[e] < INFINITY)
      status = append_entry(list, m, e, err);
  return status;
}

static clarke_status
append_pass(clarke_nearest *list, const clarke_forward *f, const clarke_replay *r, const double *within, const size_t *sample, size_t n,
            clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < f->g->n_steps && status == CLARKE_OK; i++) {
    const clarke_step *s = &f->g->steps[i];
    measured m = {.f = f, .s = s, .step = i, .count = f->g->values[s->out].count, .sample = sample,
                  .margin = r->margins->at[i], .within = within[i]};

    if (f->piece[i] == NULL)
      continue;
    m.least = malloc((m.count * f->n + 1) * sizeof *m.least);
    m.most = malloc((m.count * f->n + 1) * sizeof *m.most);
    status = m.least != NULL && m.most != NULL ? append_layer(list, &m, n, err) : clarke_no_memory(err);
    free(m.least);
    free(m.most);
  }
  return status;
}

static clarke_status
find_exactly(clarke_nearest *list, clarke_replay *r, const double *within, const size_t *sample, size_t n_samples, size_t n,
             clarke_error *err)
{
  const size_t group = clarke_replay_group_size(r);
  bool *needed = malloc((r->g->n_values + 1) * sizeof *needed);
  clarke_forward f;
  clarke_status status = needed != NULL ? clarke_replay_check_coupled(r, err) : clarke_no_memory(err);

  clarke_forward_init(&f);
  if (status == CLARKE_OK && r->constants.constant == NULL)
    status = clarke_constants_init(&r->constants, r->g, err);
  if (status == CLARKE_OK)
    clarke_graph_needed(r->g, false, needed);
  clarke_work_begin("nearest kinks", (n_samples + group - 1) / group * r->g->n_steps);
  for (size_t first = 0; first < n_samples && status == CLARKE_OK; first += group) {
    const size_t size = n_samples - first < group ? n_samples - first : group;

    status = clarke_replay_pass(&f, r, sample + first, size, needed, err);
    if (status == CLARKE_OK)
      status = append_pass(list, &f, r, within, sample + first, n, err);
    keep_nearest(list, n);
  }
  clarke_forward_clear(&f);
  free(needed);
  return status;
}

/* --- by bounds -------------------------------------------------------------------------------- */

/* The smallest lower bound of each layer. */
static clarke_status
find_bounds(clarke_nearest *list, const clarke_replay *r, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < r->g->n_steps && status == CLARKE_OK; i++) {
    const clarke_margin *m = r->margins->at[i];
    size_t best = 0;
    int exponent;

    for (size_t j = 0; m != NULL && j < r->samples; j++)
      best = m[j].least < m[best].least ? j : best;
    if (m == NULL || m[best].least == INFINITY || m[best].size == INFINITY)
      continue;
    status = append(list, (clarke_near){.step = i, .feature = m[best].feature, .sample = best}, err);
    if (status != CLARKE_OK)
      break;
    mpq_set_d(list->near[list->n - 1].distance, m[best].least);
    frexp(m[best].size, &exponent);
    list->near[list->n - 1].ulp = clarke_float32_ulp(exponent - 1);
  }
  return status;
}

clarke_status
clarke_nearest_find(clarke_nearest *list, clarke_replay *r, size_t n, size_t work, clarke_error *err)
{
  size_t *sample, n_samples;
  bool small;
  double *within = calloc(r->g->n_steps + 1, sizeof *within);
  clarke_status status;

  if (within == NULL)
    return clarke_no_memory(err);
  status = choose_samples(&sample, &n_samples, within, r, n, err);
  clarke_nearest_clear(list);
  small = work_of(r->g, n_samples) <= work && clarke_replay_check_coupled(r, NULL) == CLARKE_OK;
  if (status == CLARKE_OK && n_samples > 0 && (small || work == SIZE_MAX))
    status = find_exactly(list, r, within, sample, n_samples, n, err);
  else if (status == CLARKE_OK)
    status = find_bounds(list, r, err);
  free(sample);
  free(within);
  return status;
}
