/* The steps of a graph, one sample at a time and in rationals, as the first comment of
 * op/step.h defines them: what a lowering means, without the library's evaluators. Of the kinds
 * all but SOFTMAX, NORMALIZE, and ANALYTIC that does not jump; of PIECEWISE no slopes from constants. */
#ifndef CLARKE_TESTS_OP_STEPS_H
#define CLARKE_TESTS_OP_STEPS_H

#include "../network/models.h"

#include <gmp.h>
#include <math.h>

typedef struct {
  const clarke_graph *g;
  mpq_t **value; /* by value, then entry */
} steps_run;

/* check's own assertions each leave a mark in a file: too slow for every entry. */
static inline void
steps_require(bool holds)
{
  if (!holds)
    ck_abort_msg("a step breaks the contract of graph.h");
}

static inline void
steps_begin(steps_run *r, const clarke_graph *g)
{
  r->g = g;
  r->value = calloc(g->n_values + 1, sizeof *r->value);
  for (size_t v = 0; v < g->n_values; v++) {
    const clarke_value *value = &g->values[v];

    r->value[v] = malloc((value->count + 1) * sizeof *r->value[v]);
    for (size_t e = 0; e < value->count; e++) {
      mpq_init(r->value[v][e]);
      if (value->constant && value->real != NULL)
        mpq_set_d(r->value[v][e], value->real[e]);
    }
  }
}

static inline void
steps_end(steps_run *r)
{
  for (size_t v = 0; v < r->g->n_values; v++) {
    for (size_t e = 0; e < r->g->values[v].count; e++)
      mpq_clear(r->value[v][e]);
    free(r->value[v]);
  }
  free(r->value);
}

/* NULL: padding. */
static inline mpq_t *
steps_entry(const steps_run *r, const clarke_operand *o, size_t f)
{
  size_t e = o->map != NULL ? o->map[f] : f;

  steps_require(e == CLARKE_NONE || e < r->g->values[o->value].count);
  return e != CLARKE_NONE ? &r->value[o->value][e] : NULL;
}

static inline void
steps_scale(steps_run *r, const clarke_step *s, size_t f)
{
  mpq_t *x = steps_entry(r, &s->in[0], f), *c = steps_entry(r, &s->in[1], f);
  mpq_t divisor;

  steps_require(x != NULL && c != NULL && !(s->divide && s->root));
  mpq_init(divisor);
  mpq_set(divisor, *c);
  if (s->root) { /* tests choose squares */
    mpq_add(divisor, divisor, s->epsilon);
    steps_require(mpz_perfect_square_p(mpq_numref(divisor)) &&
                  mpz_perfect_square_p(mpq_denref(divisor)));
    mpz_sqrt(mpq_numref(divisor), mpq_numref(divisor));
    mpz_sqrt(mpq_denref(divisor), mpq_denref(divisor));
  }
  (s->root || s->divide ? mpq_div : mpq_mul)(r->value[s->out][f], *x, divisor);
  mpq_clear(divisor);
}

static inline void
steps_dense(steps_run *r, const clarke_step *s, size_t f)
{
  const clarke_dense *d = &s->dense;
  size_t repeat = f % d->repeat, outer = f / d->repeat % d->outer, b = f / d->repeat / d->outer;
  mpq_t term;

  steps_require(r->g->values[s->out].count == d->blocks * d->outer * d->repeat);
  steps_require(r->g->values[s->in[0].value].count == d->blocks * d->inner * d->repeat);
  steps_require(r->g->values[d->weight].count ==
                (d->grouped ? d->blocks : 1) * d->outer * d->inner);
  steps_require(s->in[0].map == NULL && !(d->grouped && d->transposed));
  mpq_init(term);
  for (size_t i = 0; i < d->inner; i++) {
    size_t w = d->transposed ? i * d->outer + outer : outer * d->inner + i;

    if (d->grouped)
      w += b * d->outer * d->inner;
    mpq_mul(term, r->value[d->weight][w],
            r->value[s->in[0].value][(b * d->inner + i) * d->repeat + repeat]);
    mpq_add(r->value[s->out][f], r->value[s->out][f], term);
  }
  mpq_clear(term);
}

static inline void
steps_product(steps_run *r, const clarke_step *s, size_t f)
{
  const clarke_contraction *c = &s->contraction;
  size_t j = f % c->cols, i = f / c->cols % c->rows, b = f / c->cols / c->rows;
  mpq_t term;

  steps_require(r->g->values[s->out].count == c->blocks * c->rows * c->cols && s->n_in == 2);
  mpq_init(term);
  for (size_t k = 0; k < c->inner; k++) {
    mpq_mul(term, *steps_entry(r, &s->in[0], (b * c->rows + i) * c->inner + k),
            *steps_entry(r, &s->in[1], (b * c->inner + k) * c->cols + j));
    mpq_add(r->value[s->out][f], r->value[s->out][f], term);
  }
  mpq_clear(term);
}

static inline void
steps_max(steps_run *r, const clarke_step *s, size_t f)
{
  bool begun = false;

  steps_require(s->width >= 1 && s->width <= CLARKE_MAX_WIDTH && s->in[0].map != NULL);
  for (size_t i = 0; i < s->width; i++) {
    mpq_t *x = steps_entry(r, &s->in[0], f * s->width + i);

    if (x != NULL && (!begun || mpq_cmp(*x, r->value[s->out][f]) > 0))
      mpq_set(r->value[s->out][f], *x);
    begun = begun || x != NULL;
  }
  steps_require(begun);
}

static inline void
steps_piecewise(steps_run *r, const clarke_step *s, size_t f)
{
  mpq_t *x = &r->value[s->in[0].value][f], *y = &r->value[s->out][f];
  size_t p = 0;

  steps_require(s->pieces.slope == CLARKE_NONE && s->in[0].map == NULL);
  while (p < s->pieces.n_kinks && mpq_cmp(*x, s->pieces.kink[p]) > 0)
    p++;
  mpq_mul(*y, s->pieces.coef[p][2], *x);
  mpq_add(*y, *y, s->pieces.coef[p][1]);
  mpq_mul(*y, *y, *x);
  mpq_add(*y, *y, s->pieces.coef[p][0]);
}

static inline void
steps_sum(steps_run *r, const clarke_step *s, size_t f)
{
  mpq_t coef;

  mpq_init(coef);
  for (size_t i = 0; i < s->n_in; i++) {
    mpq_t *x = steps_entry(r, &s->in[i], f);

    if (x == NULL)
      continue;
    mpq_set_d(coef, s->in[i].coef);
    mpq_mul(coef, coef, *x);
    mpq_add(r->value[s->out][f], r->value[s->out][f], coef);
  }
  mpq_clear(coef);
}

static inline void
steps_jump(steps_run *r, const clarke_step *s, size_t f)
{
  mpq_t *x = &r->value[s->in[0].value][f], *y = &r->value[s->out][f];

  steps_require(s->in[0].map == NULL && (s->function == CLARKE_ABOVE || s->function == CLARKE_TRUNCATE || s->function == CLARKE_ROUND));
  mpq_set_ui(*y, mpq_sgn(*x) > 0, 1);
  if (s->function == CLARKE_ROUND) /* tests choose numbers that a double holds */
    mpq_set_d(*y, rint(mpq_get_d(*x)));
  if (s->function == CLARKE_TRUNCATE) {
    mpz_tdiv_q(mpq_numref(*y), mpq_numref(*x), mpq_denref(*x));
    mpz_set_ui(mpq_denref(*y), 1);
  }
}

static inline void
steps_one(steps_run *r, const clarke_step *s, size_t f)
{
  mpq_t *x;

  switch (s->kind) {
  case CLARKE_GATHER:
    x = steps_entry(r, &s->in[0], f);
    if (x != NULL)
      mpq_set(r->value[s->out][f], *x);
    return;
  case CLARKE_SUM:
    steps_sum(r, s, f);
    return;
  case CLARKE_SCALE:
    steps_scale(r, s, f);
    return;
  case CLARKE_DENSE:
    steps_dense(r, s, f);
    return;
  case CLARKE_MAX:
    steps_max(r, s, f);
    return;
  case CLARKE_PIECEWISE:
    steps_piecewise(r, s, f);
    return;
  case CLARKE_PRODUCT:
    steps_product(r, s, f);
    return;
  case CLARKE_ANALYTIC:
    steps_jump(r, s, f);
    return;
  case CLARKE_SOFTMAX:
  case CLARKE_NORMALIZE:
    break;
  }
  ck_abort_msg("a step of kind %d", (int)s->kind);
}

/* Sample `sample` of the batch array x. */
static inline void
steps_go(steps_run *r, const clarke_tensor *x, size_t sample)
{
  const clarke_graph *g = r->g;
  size_t n = g->values[g->input].count;

  for (size_t e = 0; e < n; e++)
    mpq_set_d(r->value[g->input][e], x->real[sample * n + e]);
  for (size_t i = 0; i < g->n_steps; i++)
    for (size_t f = 0; f < g->values[g->steps[i].out].count; f++) {
      mpq_set_ui(r->value[g->steps[i].out][f], 0, 1);
      steps_one(r, &g->steps[i], f);
    }
}

#endif
