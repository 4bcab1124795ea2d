/* Networks in floats: sample by sample, or, where samples are coupled, from one coupling to the next. */
#include "program/unroll/floats.h"

#include "base/stop.h"
#include "program/elementary.h"
#include "program/rounded_inside.h"

#include <stdlib.h>
#include <string.h>

struct clarke_floats {
  const clarke_graph *g;
  const clarke_tensor *x;
  clarke_code p;
  clarke_folded folded;
  clarke_machine m;
  size_t together;
  clarke_machine_room *room; /* by sample of those; the first is the machine's own */
  clarke_coupled *coupled;   /* as folded has the couplings */
  double *part;              /* the gradient of one of several samples */
  mpq_t number;
};

static void
free_rooms(clarke_floats *f)
{
  for (size_t k = 0; f->coupled != NULL && k < f->folded.n_couplings; k++)
    clarke_coupled_clear(&f->coupled[k]);
  for (size_t j = 1; f->room != NULL && j < f->together; j++) {
    free(f->room[j].value);
    free(f->room[j].adjoint);
    free(f->room[j].reached);
  }
  if (f->room != NULL)
    clarke_machine_enter(&f->m, &f->room[0]);
  free(f->coupled);
  free(f->room);
  free(f->part);
}

void
clarke_floats_free(clarke_floats *f)
{
  if (f == NULL)
    return;
  free_rooms(f);
  clarke_machine_clear(&f->m);
  clarke_folded_clear(&f->folded);
  clarke_code_clear(&f->p);
  mpq_clear(f->number);
  free(f);
}

/* A room for each sample, in which the parameters' entries are, and each coupling of them. */
static clarke_status
make_rooms(clarke_floats *f, clarke_error *err)
{
  const size_t n = f->p.n;
  clarke_status status = CLARKE_OK;

  f->together = f->folded.n_couplings > 0 ? f->x->dims[0] : 1;
  f->room = calloc(f->together, sizeof *f->room);
  if (f->room == NULL)
    return clarke_no_memory(err);
  f->room[0] = (clarke_machine_room){f->m.value, f->m.adjoint, f->m.reached};
  f->coupled = calloc(f->folded.n_couplings + 1, sizeof *f->coupled);
  f->part = calloc(clarke_code_wrt_count(&f->p) + 1, sizeof *f->part);
  if (f->coupled == NULL || f->part == NULL)
    return clarke_no_memory(err);
  for (size_t j = 1; j < f->together && status == CLARKE_OK; j++) {
    f->room[j] = (clarke_machine_room){malloc((n + 1) * sizeof(double)), malloc((n + 1) * sizeof(double)), malloc((n + 1) * sizeof(bool))};
    if (f->room[j].value == NULL || f->room[j].adjoint == NULL || f->room[j].reached == NULL)
      return clarke_no_memory(err);
    memcpy(f->room[j].value, f->m.value, n * sizeof(double));
    memset(f->room[j].reached, 0, n * sizeof(bool));
    status = clarke_work_check(err);
  }
  for (size_t k = 0; k < f->folded.n_couplings && status == CLARKE_OK; k++)
    status = clarke_coupled_begin(&f->coupled[k], &f->folded.coupling[k], f->room, f->together, &f->m, err);
  return status;
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
    status = make_rooms(f, err);
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

size_t
clarke_floats_together(const clarke_floats *f)
{
  return f->together;
}

static void
set_input(clarke_floats *f, size_t sample)
{
  const clarke_code_input *in = &f->p.input[0];

  for (size_t e = 0; e < in->n; e++) {
    const size_t at = sample * in->n + e;

    f->m.value[in->first + e] = clarke_floats_of(f, f->x->real != NULL ? f->x->real[at] : (double)f->x->integer[at]);
  }
}

/* The instructions from `from` to `to`, of all samples that are replayed together. */
static clarke_status
forward_part(clarke_floats *f, size_t sample, size_t from, size_t to, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t j = 0; j < f->together && status == CLARKE_OK; j++) {
    clarke_machine_enter(&f->m, &f->room[j]);
    if (from == 0)
      set_input(f, sample + j);
    clarke_machine_forward(&f->m, from, to);
    status = clarke_work_check(err);
  }
  return status;
}

clarke_status
clarke_floats_forward(clarke_floats *f, double *output, size_t sample, clarke_error *err)
{
  const size_t parts = f->folded.n_couplings;
  clarke_status status = CLARKE_OK;

  for (size_t k = 0, from = 0; k <= parts && status == CLARKE_OK; k++) {
    const size_t to = k < parts ? f->coupled[k].c->first : f->p.n;

    status = forward_part(f, sample, from, to, err);
    if (k < parts && status == CLARKE_OK)
      clarke_coupled_forward(&f->coupled[k], &f->m);
    from = to;
  }
  for (size_t j = 0; j < f->together && status == CLARKE_OK; j++)
    for (size_t o = 0; o < f->p.n_outputs; o++)
      output[j * f->p.n_outputs + o] = f->room[j].value[f->p.output[o]];
  return status;
}

/* The samples' gradients, added up. */
static void
collect(clarke_floats *f, double *gradient)
{
  const size_t n = clarke_code_wrt_count(&f->p);

  for (size_t j = 0; j < f->together; j++) {
    clarke_machine_enter(&f->m, &f->room[j]);
    clarke_machine_gradient(&f->m, j == 0 ? gradient : f->part);
    for (size_t e = 0; j > 0 && e < n; e++)
      gradient[e] = clarke_floats_add(f, gradient[e], f->part[e]);
  }
}

clarke_status
clarke_floats_backward(clarke_floats *f, double *gradient, const double *seed, const clarke_profile *profile, clarke_error *err)
{
  const size_t parts = f->folded.n_couplings;
  clarke_status status = CLARKE_OK;

  f->m.profile = profile;
  for (size_t k = parts + 1, end = f->p.n; k-- > 0 && status == CLARKE_OK;) {
    const size_t begin = k > 0 ? f->coupled[k - 1].c->first : 0;

    for (size_t j = 0; j < f->together && status == CLARKE_OK; j++) {
      clarke_machine_enter(&f->m, &f->room[j]);
      if (k == parts)
        clarke_machine_unreach(&f->m);
      for (size_t o = k == parts ? f->p.n_outputs : 0; o-- > 0;)
        clarke_machine_seed(&f->m, f->p.output[o], seed[j * f->p.n_outputs + o]);
      status = clarke_machine_undo(&f->m, begin, end, err);
      if (status == CLARKE_OK)
        status = clarke_work_check(err);
    }
    if (status == CLARKE_OK && k > 0)
      clarke_coupled_backward(&f->coupled[k - 1], &f->m);
    end = begin;
  }
  collect(f, gradient);
  return status;
}

bool
clarke_floats_is_touched(clarke_floats *f, size_t k, size_t step, size_t feature)
{
  const size_t *at = f->folded.at[f->g->steps[step].out];
  const clarke_instruction *i;
  bool touched = false;
  size_t rank, kink;
  mpq_t left, right;

  if (at == NULL)
    return false;
  clarke_machine_enter(&f->m, &f->room[k]);
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
