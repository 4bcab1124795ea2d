/* Networks in floats, sample by sample. */
#include "program/unroll/floats.h"

#include "program/elementary.h"
#include "program/rounded_inside.h"

#include <stdlib.h>

struct clarke_floats {
  const clarke_graph *g;
  const clarke_tensor *x;
  clarke_code p;
  clarke_folded folded;
  clarke_machine m;
  mpq_t number;
};

void
clarke_floats_free(clarke_floats *f)
{
  if (f == NULL)
    return;
  clarke_machine_clear(&f->m);
  clarke_folded_clear(&f->folded);
  clarke_code_clear(&f->p);
  mpq_clear(f->number);
  free(f);
}

/* Unrolled, the program's machine; the parameters' entries stay in it. */
static clarke_status
prepare(clarke_floats *f, clarke_ieee format, clarke_error *err)
{
  mpq_t *point = NULL;
  size_t n = 0;
  clarke_status status = clarke_unroll_folded(&f->p, &point, &n, &f->folded, f->g, f->x, err), begun;

  f->m = (clarke_machine){.p = &f->p, .n_blocks = f->folded.n, .block = f->folded.block};
  begun = clarke_machine_begin(&f->m, format, status == CLARKE_OK ? err : NULL);
  status = status == CLARKE_OK ? begun : status;
  if (status == CLARKE_OK) {
    clarke_machine_input(&f->m, point);
    clarke_machine_runs(&f->m);
  }
  for (size_t i = 0; point != NULL && i < n; i++)
    mpq_clear(point[i]);
  free(point);
  return status;
}

clarke_status
clarke_floats_new(clarke_floats **to, const clarke_graph *g, const clarke_tensor *x, clarke_ieee format, clarke_error *err)
{
  clarke_floats *f = calloc(1, sizeof *f);
  clarke_status status;

  *to = NULL;
  if (f == NULL)
    return clarke_no_memory(err);
  f->g = g;
  f->x = x;
  mpq_init(f->number);
  clarke_code_init(&f->p);
  status = prepare(f, format, err);
  if (status == CLARKE_OK)
    *to = f;
  else
    clarke_floats_free(f);
  return status;
}

double
clarke_floats_add(const clarke_floats *f, double a, double b)
{
  return clarke_ieee_add(&f->m.unit, a, b);
}

double
clarke_floats_mul(const clarke_floats *f, double a, double b)
{
  return clarke_ieee_mul(&f->m.unit, a, b);
}

double
clarke_floats_div(const clarke_floats *f, double a, double b)
{
  return clarke_ieee_div(&f->m.unit, a, b);
}

double
clarke_floats_exp(clarke_floats *f, double x)
{
  return clarke_ieee_analytic(&f->m.unit, CLARKE_FN_EXP, x);
}

double
clarke_floats_log(clarke_floats *f, double x)
{
  return clarke_ieee_analytic(&f->m.unit, CLARKE_FN_LOG, x);
}

double
clarke_floats_of(clarke_floats *f, double x)
{
  mpq_set_d(f->number, x);
  return clarke_ieee_rational(&f->m.unit, f->number);
}

void
clarke_floats_forward(clarke_floats *f, double *output, size_t sample)
{
  const clarke_code_input *in = &f->p.input[0];

  for (size_t e = 0; e < in->n; e++) {
    const size_t at = sample * in->n + e;

    f->m.value[in->first + e] = clarke_floats_of(f, f->x->real != NULL ? f->x->real[at] : (double)f->x->integer[at]);
  }
  clarke_machine_forward(&f->m);
  for (size_t k = 0; k < f->p.n_outputs; k++)
    output[k] = f->m.value[f->p.output[k]];
}

clarke_status
clarke_floats_backward(clarke_floats *f, double *gradient, const double *seed, const clarke_profile *profile, clarke_error *err)
{
  f->m.profile = profile;
  clarke_machine_unreach(&f->m);
  for (size_t k = f->p.n_outputs; k-- > 0;)
    clarke_machine_seed(&f->m, f->p.output[k], seed[k]);
  return clarke_machine_backward(&f->m, gradient, err);
}

bool
clarke_floats_is_touched(clarke_floats *f, size_t step, size_t feature)
{
  const size_t *at = f->folded.at[f->g->steps[step].out];
  const clarke_instruction *i;
  bool touched = false;
  size_t rank, kink;
  mpq_t left, right;

  if (at == NULL)
    return false;
  i = &f->p.instruction[at[feature]];
  if (i->kind == CLARKE_DO_ORDER)
    return clarke_machine_tied(&f->m, i, &rank) > 1;
  if (i->kind != CLARKE_DO_PIECEWISE && i->kind != CLARKE_DO_ELU)
    return false; /* a window of one entry, moved */
  kink = clarke_machine_piece(&f->m, i, f->m.value[i->in[0]], &touched);
  if (!touched)
    return false;
  mpq_inits(left, right, NULL);
  clarke_kink_slopes(left, right, i, kink);
  touched = !mpq_equal(left, right);
  mpq_clears(left, right, NULL);
  return touched;
}
