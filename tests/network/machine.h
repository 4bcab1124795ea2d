/* A model run by the library, beside the naive evaluator. */
#ifndef CLARKE_TESTS_NETWORK_MACHINE_H
#define CLARKE_TESTS_NETWORK_MACHINE_H

#include "naive.h"
#include "../ok.h"

#include "network/graph/build.h"
#include "network/derive/loss.h"
#include "network/derive/reverse.h"
#include "network/derive/sink.h"

#include <math.h>

typedef struct {
  clarke_graph g;
  clarke_profile profile;
  clarke_replay replay;
  clarke_forward pass;
  clarke_slopes slopes;
  clarke_matrix *d, *tangent, *grad, *gradient;
} machine;

/* Replayed, with AD's slopes under the profile's text. */
static inline void
machine_begin(machine *k, const clarke_model *m, const clarke_tensor *x, const char *profile,
              bool exact)
{
  memset(k, 0, sizeof *k);
  clarke_graph_init(&k->g);
  clarke_profile_init(&k->profile);
  clarke_replay_init(&k->replay);
  clarke_forward_init(&k->pass);
  clarke_slopes_init(&k->slopes);
  OK(clarke_graph_build(&k->g, m, x, &error));
  OK(clarke_graph_wrt(&k->g, NULL, 0, &error));
  OK(clarke_profile_parse(&k->profile, profile, strlen(profile), "drawn", &error));
  OK(clarke_replay_run(&k->replay, NULL, &k->g, x, exact, 1, &error));
  OK(clarke_replay_all(&k->pass, &k->replay, true, 64, &error));
  OK(clarke_slopes_of_ad(&k->slopes, &k->pass, &k->replay, &k->profile, &error));
  k->d = clarke_matrices_new(k->g.n_parameters);
  k->gradient = clarke_matrices_new(k->g.n_parameters);
  k->tangent = clarke_matrices_new(k->g.n_values);
  k->grad = clarke_matrices_new(k->g.n_values);
}

static inline void
machine_end(machine *k)
{
  clarke_matrices_free(k->d, k->g.n_parameters);
  clarke_matrices_free(k->gradient, k->g.n_parameters);
  clarke_matrices_free(k->tangent, k->g.n_values);
  clarke_matrices_free(k->grad, k->g.n_values);
  clarke_slopes_clear(&k->slopes);
  clarke_forward_clear(&k->pass);
  clarke_replay_clear(&k->replay);
  clarke_profile_clear(&k->profile);
  clarke_graph_clear(&k->g);
}

/* The same random direction for both; some parameters do not move. */
static inline void
draw_direction(machine *k, naive_run *r, uint64_t *state)
{
  for (size_t p = 0; p < k->g.n_parameters; p++) {
    const clarke_parameter *w = &k->g.parameters[p];
    naive *x = naive_find(r, w->name);
    double *d = calloc(w->count + 1, sizeof *d);

    if (!w->statistic && draw_below(state, 4) > 0) {
      for (size_t e = 0; e < w->count; e++) {
        d[e] = (double)draw_between(state, -9, 9) / 4;
        mpq_set_d(x->t[e], d[e]);
      }
      OK(clarke_matrix_set_doubles(&k->d[p], w->count, 1, d, &error));
    }
    free(d);
  }
}

/* m (features x samples; none: zero) is the naive tensor's numbers. */
static inline bool
agrees(const clarke_matrix *m, mpq_t *q, size_t samples, size_t count)
{
  mpq_t entry;
  bool all = m->radius == NULL;

  mpq_init(entry);
  for (size_t j = 0; j < samples && all; j++)
    for (size_t f = 0; f < count && all; f++) {
      if (m->rows > 0)
        clarke_matrix_get(entry, m, f, j);
      all = mpq_equal(entry, q[j * count + f]);
    }
  mpq_clear(entry);
  return all;
}

/* Every activation that the pass computed, and its tangent. */
static inline size_t
check_values(const machine *k, naive_run *r, size_t number)
{
  size_t checked = 0;

  for (size_t v = 0; v < k->g.n_values; v++) {
    const clarke_value *value = &k->g.values[v];
    naive *x = value->constant || value->name == NULL ? NULL : naive_find(r, value->name);

    if (x == NULL || k->pass.value[v].rows == 0 || (k->g.batched && value->batch.axis != 0)) /* in another order */
      continue;
    checked++;
    if (agrees(&k->pass.value[v], x->v, k->pass.n, value->count) &&
        agrees(&k->tangent[v], x->t, k->pass.n, value->count))
      continue;
    print_model(r->m);
    ck_abort_msg("network %zu: %s differs", number, value->name);
  }
  return checked;
}

/* Is the naive number, itself a little off, in the entry's enclosure, and that not much wider than 2^-64?
 * m without rows is zero. */
static inline bool
encloses(const clarke_matrix *m, size_t f, size_t j, const mpq_t q, double *widest)
{
  double radius = m->rows > 0 ? clarke_matrix_radius(m, f, j) : 0;
  mpq_t off, allowed;
  bool inside;

  mpq_inits(off, allowed, NULL);
  if (m->rows > 0)
    clarke_matrix_get(off, m, f, j);
  mpq_sub(off, off, q);
  mpq_abs(off, off);
  mpq_set_d(allowed, fmax(fabs(mpq_get_d(q)), 1) * 0x1p-200);
  *widest = fmax(*widest, radius / fmax(fabs(mpq_get_d(q)), 1));
  if (radius > 0) {
    mpq_t r;

    mpq_init(r);
    mpq_set_d(r, radius);
    mpq_add(allowed, allowed, r);
    mpq_clear(r);
  }
  inside = mpq_cmp(off, allowed) <= 0;
  mpq_clears(off, allowed, NULL);
  return inside;
}

static inline size_t
check_enclosures(const machine *k, naive_run *r, size_t number, double *widest)
{
  size_t checked = 0;

  for (size_t v = 0; v < k->g.n_values; v++) {
    const clarke_value *value = &k->g.values[v];
    naive *x = value->constant || value->name == NULL ? NULL : naive_find(r, value->name);

    if (x == NULL || k->pass.value[v].rows == 0 || (k->g.batched && value->batch.axis != 0)) /* in another order */
      continue;
    checked++;
    for (size_t e = 0; e < x->count; e++)
      if (!encloses(&k->pass.value[v], e % value->count, e / value->count, x->v[e], widest) ||
          !encloses(&k->tangent[v], e % value->count, e / value->count, x->t[e], widest)) {
        print_model(r->m);
        ck_abort_msg("network %zu: %s is outside", number, value->name);
      }
  }
  return checked;
}

/* The gradient of the outputs' sum along the direction, less the sum of their tangents: its midpoint and
 * its radius, as an upper bound. */
static inline void
gradient_difference(mpq_t sum, double *radius, machine *k, naive_run *r)
{
  clarke_loss loss = {.kind = CLARKE_LOSS_SUM, .y = NULL, .samples = k->replay.samples};
  const naive *out = naive_find(r, r->m->outputs[0].name);
  mpq_t p, q;

  mpq_inits(p, q, NULL);
  mpq_set_ui(sum, 0, 1);
  *radius = 0;
  OK(clarke_loss_seed(&k->grad[k->g.output], &loss, &k->pass, NULL, &error));
  OK(clarke_reverse_run(k->grad, &k->pass, &k->slopes, CLARKE_NONE, clarke_gradient_sink, k->gradient,
                        &error));
  for (size_t e = 0; e < out->count; e++)
    mpq_sub(sum, sum, out->t[e]);
  for (size_t i = 0; i < k->g.n_parameters; i++)
    for (size_t e = 0; k->gradient[i].rows > 0 && k->d[i].rows > 0 && e < k->gradient[i].rows; e++) {
      clarke_matrix_get(p, &k->gradient[i], e, 0);
      clarke_matrix_get(q, &k->d[i], e, 0);
      *radius += clarke_matrix_radius(&k->gradient[i], e, 0) * fabs(mpq_get_d(q)) * (1 + 0x1p-40);
      mpq_mul(p, p, q);
      mpq_add(sum, sum, p);
    }
  mpq_clears(p, q, NULL);
}

#endif
