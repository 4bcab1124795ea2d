/* Networks unrolled to programs. Every activation's entry becomes the number of an instruction; the
 * steps' kinds become LINEAR, PRODUCT, QUOTIENT, ANALYTIC, PIECEWISE and ORDER instructions, and what
 * only moves entries becomes nothing. Padding is the constant 0, and no term of a sum. */
#include "program/unroll/unroll.h"

#include "program/unroll/unroll_inside.h"

#include <stdlib.h>
#include <string.h>

static clarke_status (*const of_kind[CLARKE_STEP_KINDS])(clarke_unrolling *u, const clarke_step *s) = {
  [CLARKE_GATHER] = clarke_unroll_gather, [CLARKE_SUM] = clarke_unroll_sum, [CLARKE_SCALE] = clarke_unroll_scale,
  [CLARKE_DENSE] = clarke_unroll_dense, [CLARKE_PIECEWISE] = clarke_unroll_piecewise, [CLARKE_ANALYTIC] = clarke_unroll_analytic,
  [CLARKE_SOFTMAX] = clarke_unroll_softmax, [CLARKE_NORMALIZE] = clarke_unroll_normalize, [CLARKE_MAX] = clarke_unroll_max,
  [CLARKE_PRODUCT] = clarke_unroll_product,
};

static clarke_status
unroll_step(clarke_unrolling *u, const clarke_step *s)
{
  clarke_status status = clarke_unroll_hold(u, s->out);

  if (status == CLARKE_OK)
    clarke_code_new_group(u->p);
  return status == CLARKE_OK ? of_kind[s->kind](u, s) : status;
}

/* The values that the output depends on. */
static void
mark_needed(clarke_unrolling *u)
{
  u->needed[u->g->output] = true;
  for (size_t i = u->g->n_steps; i-- > 0;) {
    const clarke_step *s = &u->g->steps[i];

    for (size_t k = 0; u->needed[s->out] && k < s->n_in; k++)
      u->needed[s->in[k].value] = true;
  }
}

static clarke_status
add_inputs(clarke_unrolling *u, const char *name)
{
  const clarke_graph *g = u->g;
  size_t first;
  clarke_status status = clarke_unroll_hold(u, g->input);

  if (status == CLARKE_OK)
    status = clarke_code_add_input(u->p, &first, name, g->values[g->input].count, true, u->err);
  for (size_t e = 0; status == CLARKE_OK && e < g->values[g->input].count; e++)
    u->at[g->input][e] = first + e;
  for (size_t i = 0; status == CLARKE_OK && i < g->n_parameters; i++) {
    const clarke_parameter *w = &g->parameters[i];

    if (!w->wrt)
      continue;
    if (strcmp(w->name, name) == 0)
      return clarke_fail(u->err, CLARKE_EINPUT, "%s: '%s' is a parameter's name; the program's "
                         "input needs another", g->file, name);
    clarke_code_new_group(u->p);
    status = clarke_code_add_input(u->p, &u->first[i], w->name, w->count, true, u->err);
    if (status == CLARKE_OK)
      u->p->input[u->p->n_inputs - 1].promoted = w->promoted;
  }
  return status;
}

/* Parameters are what the question is about; without any, the input. Results of blocks, behind both, are not. */
static void
mark_wrt(clarke_code *p, const clarke_graph *g)
{
  size_t n = 0;

  for (size_t i = 0; i < g->n_parameters; i++)
    n += g->parameters[i].wrt;
  for (size_t i = 0; i < p->n_inputs; i++)
    p->input[i].wrt = n > 0 ? i > 0 && i <= n : i == 0;
}

static clarke_status
unroll_graph(clarke_unrolling *u, const char *input_name)
{
  const clarke_graph *g = u->g;
  clarke_status status = add_inputs(u, input_name);

  mark_needed(u);
  for (size_t i = 0; status == CLARKE_OK && i < g->n_steps; i++) {
    if (!u->needed[g->steps[i].out])
      continue;
    status = unroll_step(u, &g->steps[i]);
    if (status == CLARKE_ENOMEM)
      clarke_fail_in(u->err, status, "node '%s'", g->steps[i].name);
  }
  for (size_t e = 0; status == CLARKE_OK && e < g->values[g->output].count; e++)
    status = clarke_code_add_output(u->p, clarke_unroll_entry(u, g->output, e), u->err);
  mark_wrt(u->p, g);
  u->p->output_vector = true;
  return status;
}

/* Sample 0 of x, then the parameters. */
static clarke_status
make_point(mpq_t **point, size_t *n, const clarke_unrolling *u, const clarke_tensor *x)
{
  const clarke_graph *g = u->g;
  size_t count = g->values[g->input].count, at = 0;

  if (x->count < count || (x->real == NULL && x->integer == NULL))
    return clarke_fail(u->err, CLARKE_EINPUT, "%s: a sample has %zu entries; x has %zu in all",
                       g->file, count, x->count);
  *n = clarke_code_entries(u->p);
  *point = malloc((*n + 1) * sizeof **point);
  if (*point == NULL)
    return clarke_unroll_no_memory(u);
  for (size_t i = 0; i < *n; i++)
    mpq_init((*point)[i]);
  for (; at < count; at++)
    if (x->real != NULL)
      mpq_set_d((*point)[at], x->real[at]);
    else
      mpq_set_si((*point)[at], (long)x->integer[at], 1);
  for (size_t i = 0; i < g->n_parameters; i++)
    for (size_t e = 0; g->parameters[i].wrt && e < g->parameters[i].count; e++)
      mpq_set_d((*point)[at++], g->parameters[i].real[e]);
  return CLARKE_OK;
}

static bool
begin(clarke_unrolling *u)
{
  const clarke_graph *g = u->g;

  u->at = calloc(g->n_values + 1, sizeof *u->at);
  u->first = calloc(g->n_parameters + 1, sizeof *u->first);
  u->needed = calloc(g->n_values + 1, sizeof *u->needed);
  u->coef = malloc(sizeof *u->coef);
  u->zero = CLARKE_NONE;
  mpq_inits(u->constant, u->factor, NULL);
  if (u->coef != NULL)
    mpq_init(u->coef[0]);
  u->p->file = strdup(g->file);
  return u->at != NULL && u->first != NULL && u->needed != NULL && u->coef != NULL &&
         u->p->file != NULL;
}

static void
end(clarke_unrolling *u)
{
  for (size_t v = 0; u->at != NULL && v < u->g->n_values; v++)
    free(u->at[v]);
  for (size_t i = 0; u->coef != NULL && i <= u->room; i++)
    mpq_clear(u->coef[i]);
  mpq_clears(u->constant, u->factor, NULL);
  free(u->at);
  free(u->first);
  free(u->needed);
  free(u->in);
  free(u->coef);
}

/* folded: NULL, or matrix products stay whole. */
static clarke_status
unroll(clarke_code *p, mpq_t **point, size_t *n, clarke_folded *folded, const clarke_graph *g, const clarke_tensor *x,
       const char *input_name, clarke_error *err)
{
  clarke_unrolling u = {.p = p, .g = g, .folded = folded, .err = err};
  clarke_status status = CLARKE_OK;

  *point = NULL;
  *n = 0;
  if (g->decided)
    return clarke_fail(err, CLARKE_EINPUT, "%s: a comparison of initializers was decided by their entries, which a program may move", g->file);
  status = begin(&u) ? unroll_graph(&u, input_name != NULL ? input_name : "input") : clarke_unroll_no_memory(&u);
  if (status == CLARKE_OK)
    status = make_point(point, n, &u, x);
  if (folded != NULL) {
    folded->at = u.at;
    folded->n_values = g->n_values;
    u.at = NULL;
  }
  end(&u);
  return status;
}

clarke_status
clarke_unroll(clarke_code *p, mpq_t **point, size_t *n, const clarke_graph *g, const clarke_tensor *x, const char *input_name,
              clarke_error *err)
{
  return unroll(p, point, n, NULL, g, x, input_name, err);
}

void
clarke_folded_clear(clarke_folded *f)
{
  for (size_t i = 0; i < f->n; i++) {
    free(f->block[i].x);
    free(f->block[i].parameter);
  }
  for (size_t i = 0; i < f->n_couplings; i++)
    free(f->coupling[i].x);
  for (size_t v = 0; f->at != NULL && v < f->n_values; v++)
    free(f->at[v]);
  free(f->block);
  free(f->coupling);
  free(f->at);
  *f = (clarke_folded){0};
}

clarke_status
clarke_unroll_folded(clarke_code *p, mpq_t **point, size_t *n, clarke_folded *folded, const clarke_graph *g, const clarke_tensor *x,
                     clarke_error *err)
{
  return unroll(p, point, n, folded, g, x, NULL, err);
}
