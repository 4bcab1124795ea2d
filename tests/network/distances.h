/* Distances from kinks by their definition, in rationals, beside the margins and the nearest that the library finds. */
#ifndef CLARKE_TESTS_NETWORK_DISTANCES_H
#define CLARKE_TESTS_NETWORK_DISTANCES_H

#include "network/replay/nearest.h"
#include "../ok.h"

#include <stdlib.h>

/* Distances compared so far. */
static size_t distances_compared;

typedef struct {
  size_t step, feature, sample;
  long ulp;
  mpq_t d;
} distance;

/* *any: whether there is one; size grows to what is compared. */
static inline void
distance_by_definition(mpq_t d, bool *any, const clarke_step *s, const clarke_matrix *x, bool smooth, size_t i, size_t j)
{
  mpq_t a, b;

  mpq_inits(a, b, NULL);
  *any = false;
  if (s->kind == CLARKE_PIECEWISE) {
    clarke_matrix_get(a, x, i, j);
    for (size_t k = 0; k < s->pieces.n_kinks && !smooth; k++) {
      mpq_sub(b, a, s->pieces.kink[k]);
      mpq_abs(b, b);
      if (!*any || mpq_cmp(b, d) < 0)
        mpq_set(d, b);
      *any = true;
    }
  } else {
    const size_t *entry = s->in[0].map + i * s->width;
    bool begun = false;

    for (size_t p = 0; p < s->width; p++) {
      if (entry[p] == CLARKE_NONE)
        continue;
      clarke_matrix_get(b, x, entry[p], j);
      if (!begun || mpq_cmp(b, a) > 0)
        mpq_set(a, b);
      begun = true;
    }
    for (size_t p = 0; p < s->width; p++) {
      if (entry[p] == CLARKE_NONE)
        continue;
      clarke_matrix_get(b, x, entry[p], j);
      mpq_sub(b, a, b);
      if (mpq_sgn(b) > 0 && (!*any || mpq_cmp(b, d) < 0)) {
        mpq_set(d, b);
        *any = true;
      }
    }
  }
  mpq_clears(a, b, NULL);
}

/* Of all that the step compares in column j: the largest k with 2^k at most that. */
static inline long
exponent_by_definition(const clarke_graph *g, const clarke_step *s, const clarke_matrix *x, size_t j)
{
  const size_t width = s->kind == CLARKE_MAX ? s->width : 1;
  long exponent = -5000; /* of 0 */
  mpq_t most, q;

  mpq_inits(most, q, NULL);
  for (size_t c = 0; c < g->values[s->out].count * width; c++) {
    const size_t row = s->kind == CLARKE_MAX ? s->in[0].map[c] : c;

    if (row == CLARKE_NONE)
      continue;
    clarke_matrix_get(q, x, row, j);
    mpq_abs(q, q);
    if (mpq_cmp(q, most) > 0)
      mpq_set(most, q);
  }
  for (size_t k = 0; s->kind == CLARKE_PIECEWISE && k < s->pieces.n_kinks; k++) {
    mpq_abs(q, s->pieces.kink[k]);
    if (mpq_cmp(q, most) > 0)
      mpq_set(most, q);
  }
  if (mpq_sgn(most) > 0) {
    exponent = (long)mpz_sizeinbase(mpq_numref(most), 2) - (long)mpz_sizeinbase(mpq_denref(most), 2) + 1; /* 2^that is more */
    mpq_set_ui(q, 1, 1);
    if (exponent > 0)
      mpq_mul_2exp(q, q, (mp_bitcnt_t)exponent);
    else
      mpq_div_2exp(q, q, (mp_bitcnt_t)-exponent);
    for (; mpq_cmp(q, most) > 0; exponent--)
      mpq_div_2exp(q, q, 1);
  }
  mpq_clears(most, q, NULL);
  return exponent;
}

static inline int
compare_distances(const void *one, const void *other)
{
  const distance *a = one, *b = other;
  int order = (a->step > b->step) - (a->step < b->step);

  order = order != 0 ? order : mpq_cmp(a->d, b->d);
  order = order != 0 ? order : (a->feature > b->feature) - (a->feature < b->feature);
  return order != 0 ? order : (a->sample > b->sample) - (a->sample < b->sample);
}

/* All distances of a replay, of which `pass` is the exact pass over all samples, in the order of nearest ones. */
static inline distance *
all_distances(size_t *n, const clarke_replay *r, const clarke_forward *pass)
{
  distance *list = NULL;
  size_t capacity = 0;

  *n = 0;
  for (size_t i = 0; i < r->g->n_steps; i++) {
    const clarke_step *s = &r->g->steps[i];
    const clarke_matrix *x = &pass->value[s->in[0].value];

    for (size_t e = 0; r->piece[i] != NULL && e < r->g->values[s->out].count * r->samples; e++) {
      const size_t f = e / r->samples;
      const bool smooth = s->kind == CLARKE_PIECEWISE && s->pieces.slope != CLARKE_NONE &&
                          r->g->values[s->pieces.slope].real[s->pieces.slope_map != NULL ? s->pieces.slope_map[f] : f] == 1;
      bool any;

      if (r->piece[i][e] < 0)
        continue;
      if (*n == capacity) {
        capacity = 2 * capacity + 64;
        list = realloc(list, capacity * sizeof *list);
      }
      list[*n] = (distance){.step = i, .feature = f, .sample = e % r->samples};
      mpq_init(list[*n].d);
      distance_by_definition(list[*n].d, &any, s, x, smooth, f, e % r->samples);
      if (any) {
        list[*n].ulp = clarke_float32_ulp(exponent_by_definition(r->g, s, x, e % r->samples));
        (*n)++;
      } else
        mpq_clear(list[*n].d);
    }
  }
  if (*n > 0)
    qsort(list, *n, sizeof *list, compare_distances);
  return list;
}

/* The first `each` of every layer, and nothing else. */
static inline void
compare_nearest(clarke_replay *r, const distance *all, size_t n, size_t each)
{
  clarke_nearest found;
  size_t run = 0, next = 0;

  clarke_nearest_init(&found);
  OK(clarke_nearest_find(&found, r, each, SIZE_MAX, &error));
  for (size_t k = 0; k < n; k++) {
    run = k > 0 && all[k].step == all[k - 1].step ? run + 1 : 0;
    if (run >= each)
      continue;
    ck_assert_uint_lt(next, found.n);
    ck_assert_uint_eq(found.near[next].step, all[k].step);
    ck_assert_uint_eq(found.near[next].feature, all[k].feature);
    ck_assert_uint_eq(found.near[next].sample, all[k].sample);
    ck_assert(found.near[next].exact && mpq_equal(found.near[next].distance, all[k].d));
    ck_assert_int_eq(found.near[next].ulp, all[k].ulp);
    next++;
    distances_compared++;
  }
  ck_assert_uint_eq(next, found.n);
  clarke_nearest_clear(&found);
}

/* Margins hold the smallest distance of each layer and sample. */
static inline void
compare_margins(const clarke_replay *r, const distance *all, size_t n)
{
  bool *seen = calloc(r->samples + 1, sizeof *seen);
  mpq_t q;

  mpq_init(q);
  for (size_t a = 0; a < n; a++) {
    const clarke_margin *m = &r->margins->at[all[a].step][all[a].sample];

    if (a > 0 && all[a].step != all[a - 1].step)
      memset(seen, 0, r->samples * sizeof *seen);
    mpq_set_d(q, m->least);
    ck_assert(mpq_cmp(q, all[a].d) <= 0);
    mpq_set_d(q, m->most < INFINITY ? m->most : 0);
    ck_assert(seen[all[a].sample] || m->most == INFINITY || mpq_cmp(q, all[a].d) >= 0);
    seen[all[a].sample] = true;
  }
  free(seen);
  mpq_clear(q);
}

/* What is listed of a layer without an exact pass: a lower bound, in units that are no finer. */
static inline void
compare_bounds(clarke_replay *r, const distance *all, size_t n)
{
  clarke_nearest bound;
  size_t k = 0;

  clarke_nearest_init(&bound);
  OK(clarke_nearest_find(&bound, r, 1, 0, &error));
  for (size_t a = 0; a < n; a++) {
    while (k < bound.n && bound.near[k].step < all[a].step)
      k++;
    if (k == bound.n || bound.near[k].step != all[a].step || bound.near[k].exact)
      continue;
    ck_assert(mpq_cmp(bound.near[k].distance, all[a].d) <= 0);
    ck_assert(bound.near[k].sample != all[a].sample || bound.near[k].ulp >= all[a].ulp);
  }
  clarke_nearest_clear(&bound);
}

/* By definition costs most of what a test takes: of small networks one in five is compared,
 * of large ones one in sixty. */
static inline bool
worth_comparing(const clarke_replay *r)
{
  static size_t small, large;
  size_t entries = 0;

  for (size_t i = 0; i < r->g->n_steps; i++)
    entries += r->piece[i] != NULL ? r->g->values[r->g->steps[i].out].count * r->samples : 0;
  return entries <= 40 ? small++ % 5 == 0 : large++ % 60 == 0;
}

/* r was measured; an exact pass over all its samples has no enclosures, or nothing is compared. */
static inline void
compare_distances_of(clarke_replay *r)
{
  clarke_forward pass;
  distance *all;
  size_t n;
  bool exact = true;

  if (!worth_comparing(r))
    return;
  clarke_forward_init(&pass);
  OK(clarke_replay_all(&pass, r, false, 64, &error));
  for (size_t i = 0; i < r->g->n_steps; i++)
    exact = exact && (r->piece[i] == NULL || pass.value[r->g->steps[i].in[0].value].radius == NULL);
  all = exact ? all_distances(&n, r, &pass) : NULL;
  if (exact) {
    compare_margins(r, all, n);
    compare_bounds(r, all, n);
    compare_nearest(r, all, n, 1);
    compare_nearest(r, all, n, 4);
    for (size_t k = 0; k < n; k++)
      mpq_clear(all[k].d);
  }
  free(all);
  clarke_forward_clear(&pass);
}

#endif
