/* The loss of a network on a batch as one program: the network unrolled at every sample, the
 * parameters shared, and the loss over all outputs. What it says of F comes from other code than the
 * audit's: executions of scalar instructions and the patterns around them. */
#ifndef CLARKE_TESTS_AUDIT_JOINED_H
#define CLARKE_TESTS_AUDIT_JOINED_H

#include "../network/models.h"
#include "../ok.h"

#include "program/unroll/unroll.h"

typedef struct {
  clarke_code p;
  mpq_t *point;
  size_t n;
} joined;

static inline void
joined_clear(joined *j)
{
  for (size_t i = 0; i < j->n; i++)
    mpq_clear(j->point[i]);
  free(j->point);
  clarke_code_clear(&j->p);
}

/* The parameters in wrt, at their stored values. */
static inline void
joined_inputs(joined *j, const clarke_graph *g)
{
  j->point = malloc((clarke_graph_wrt_count(g) + 1) * sizeof *j->point);
  for (size_t i = 0; i < g->n_parameters; i++) {
    const clarke_parameter *w = &g->parameters[i];
    size_t first;

    if (!w->wrt)
      continue;
    OK(clarke_code_add_input(&j->p, &first, w->name, w->count, true, &error));
    for (size_t e = 0; e < w->count; e++) {
      mpq_init(j->point[j->n]);
      mpq_set_d(j->point[j->n++], w->real[e]);
    }
  }
  for (size_t k = 0; k < j->p.n_inputs; k++)
    j->p.input[k].wrt = true;
}

static inline size_t
joined_copy(joined *j, const clarke_instruction *i, const size_t *at)
{
  size_t in[256], to = 0;
  clarke_code *p = &j->p;

  ck_assert_uint_le(i->n_in, 256);
  for (size_t k = 0; k < i->n_in; k++)
    in[k] = at[i->in[k]];
  switch (i->kind) {
  case CLARKE_DO_CONSTANT:
    OK(clarke_code_add_constant(p, &to, i->coef[0], &error));
    break;
  case CLARKE_DO_LINEAR:
    OK(clarke_code_add_linear(p, &to, i->n_in, in, i->coef, &error));
    break;
  case CLARKE_DO_PRODUCT:
  case CLARKE_DO_QUOTIENT:
    OK(clarke_code_add(p, &to, i->kind, i->n_in, in, &error));
    break;
  case CLARKE_DO_PIECEWISE:
    OK(clarke_code_add_pieces(p, &to, i->op, in[0], i->pieces, &error));
    break;
  case CLARKE_DO_ORDER:
    OK(clarke_code_add_order(p, &to, i->op, i->rank, i->n_in, in, &error));
    break;
  case CLARKE_DO_ANALYTIC:
    OK(clarke_code_add_analytic(p, &to, i->function, in[0], &error));
    break;
  default:
    ck_abort_msg("an instruction of kind %d in a network", i->kind);
  }
  return to;
}

/* The network at x's sample number `sample`; output[o]: its instructions in j. */
static inline void
joined_sample(size_t *output, joined *j, const clarke_graph *g, const clarke_tensor *x, size_t sample)
{
  size_t count = x->count / x->dims[0], n, entry = 0, *at;
  clarke_tensor one = *x;
  clarke_code s;
  mpq_t *point;

  one.real += sample * count;
  one.count = count;
  one.dims[0] = 1;
  clarke_code_init(&s);
  OK(clarke_unroll(&s, &point, &n, g, &one, NULL, &error));
  at = malloc((s.n + 1) * sizeof *at);
  for (size_t i = 0; i < s.n; i++)
    if (s.instruction[i].kind != CLARKE_DO_INPUT)
      at[i] = joined_copy(j, &s.instruction[i], at);
    else {
      entry = clarke_code_entry(&s, i);
      if (entry >= count)
        at[i] = entry - count; /* the inputs are j's first instructions */
      else
        OK(clarke_code_add_constant(&j->p, &at[i], point[entry], &error));
    }
  for (size_t o = 0; o < s.n_outputs; o++)
    output[o] = at[s.output[o]];
  for (size_t i = 0; i < n; i++)
    mpq_clear(point[i]);
  free(point);
  free(at);
  clarke_code_clear(&s);
}

/* coef times the sum of the entries, plus a constant. */
static inline size_t
joined_sum(joined *j, const size_t *in, size_t n, const mpq_t coef, const mpq_t constant)
{
  mpq_t *c = malloc((n + 1) * sizeof *c);
  size_t at;

  for (size_t i = 0; i <= n; i++) {
    mpq_init(c[i]);
    mpq_set(c[i], i < n ? coef : constant);
  }
  OK(clarke_code_add_linear(&j->p, &at, n, in, c, &error));
  for (size_t i = 0; i <= n; i++)
    mpq_clear(c[i]);
  free(c);
  return at;
}

/* y: the targets of mse, or NULL for the sum. */
static inline void
joined_set(joined *j, const clarke_graph *g, const clarke_tensor *x, const clarke_tensor *y)
{
  size_t outputs = g->values[g->output].count, n = outputs * x->dims[0], at;
  size_t *output = malloc((n + 1) * sizeof *output);
  mpq_t one, number;

  memset(j, 0, sizeof *j);
  clarke_code_init(&j->p);
  j->p.file = strdup("joined");
  joined_inputs(j, g);
  mpq_inits(one, number, NULL);
  mpq_set_ui(one, 1, 1);
  for (size_t s = 0; s < x->dims[0]; s++)
    joined_sample(output + s * outputs, j, g, x, s);
  for (size_t o = 0; y != NULL && o < n; o++) {
    mpq_set_d(number, -y->real[o]);
    at = joined_sum(j, &output[o], 1, one, number);
    OK(clarke_code_add(&j->p, &output[o], CLARKE_DO_PRODUCT, 2, (size_t[]){at, at}, &error));
  }
  if (y != NULL)
    mpq_set_ui(one, 1, n);
  mpq_set_ui(number, 0, 1);
  at = joined_sum(j, output, n, one, number);
  OK(clarke_code_add_output(&j->p, at, &error));
  mpq_clears(one, number, NULL);
  free(output);
}

#endif
