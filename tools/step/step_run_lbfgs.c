/* A recorded step of torch.optim.LBFGS: its evaluations, and what it has left, as the file has them. */
#include "step_run_inside.h"

#include "step/judge_lbfgs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  clarke_run *r;
  clarke_lbfgs_question q;
  clarke_lbfgs_evaluated *evaluation;
  double *flat[3]; /* theta before, theta after, and the gradient: of all parameters, one after another */
} lbfgs_file;

/* --- tensors ------------------------------------------------------------------------------------------------------ */

/* PART/NAME, of so many numbers. */
static clarke_status
find(const clarke_tensor **to, const lbfgs_file *f, const char *part, const char *name, size_t count, clarke_error *err)
{
  const clarke_tensor *t = clarke_update_tensor(&f->r->record.update, part, NULL, name);

  *to = t;
  if (t == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s/%s is missing in %s", part, name, f->r->record.step->optimizer.name);
  if (t->count != count)
    return clarke_fail(err, CLARKE_EINPUT, "%s/%s has %zu entries, it should have %zu", part, name, t->count, count);
  return CLARKE_OK;
}

static clarke_status
find_real(const double **to, const lbfgs_file *f, const char *part, const char *name, size_t count, clarke_dtype dtype, clarke_error *err)
{
  const clarke_tensor *t;
  const clarke_status status = find(&t, f, part, name, count, err);

  if (status == CLARKE_OK && (t->real == NULL || t->dtype != dtype))
    return clarke_fail(err, CLARKE_EINPUT, "%s/%s is %s, %s is expected", part, name, clarke_dtype_name(t->dtype), clarke_dtype_name(dtype));
  *to = status == CLARKE_OK ? t->real : NULL;
  return status;
}

/* A whole number. */
static clarke_status
find_count(size_t *to, const lbfgs_file *f, const char *part, const char *name, clarke_error *err)
{
  const double *x = NULL;
  const clarke_status status = find_real(&x, f, part, name, 1, CLARKE_F64, err);

  if (status == CLARKE_OK && !(*x >= 0 && *x == floor(*x) && *x <= 0x1p40))
    return clarke_fail(err, CLARKE_EINPUT, "%s/%s is %g, no number of iterations or evaluations", part, name, *x);
  *to = status == CLARKE_OK ? (size_t)*x : 0;
  return status;
}

/* How many pairs there are: none where ro is not there. */
static size_t
pairs_of(const lbfgs_file *f, const char *part)
{
  const clarke_tensor *ro = clarke_update_tensor(&f->r->record.update, part, NULL, "ro");

  return ro != NULL ? ro->count : 0;
}

/* Shares of the pairs, which may be missing. */
static clarke_status
find_shares(const double **al, const double **be, const lbfgs_file *f, const char *part, size_t count, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  *al = *be = NULL;
  if (clarke_update_tensor(&f->r->record.update, part, NULL, "al") == NULL)
    return CLARKE_OK;
  status = find_real(al, f, part, "al", count, CLARKE_F64, err);
  return status == CLARKE_OK ? find_real(be, f, part, "be", count, CLARKE_F64, err) : status;
}

static clarke_status
take_state(lbfgs_file *f, int when, clarke_error *err)
{
  const char *part = when == 0 ? "before" : "after";
  clarke_lbfgs_recorded *a = &f->q.at[when];
  const size_t n = f->q.n;
  const double *t = NULL, *scale = NULL;
  clarke_status status = find_count(&a->iterations, f, part, "n_iter", err);

  a->theta = f->flat[when];
  if (status == CLARKE_OK)
    status = find_count(&a->evaluations, f, part, "func_evals", err);
  if (status != CLARKE_OK || a->iterations == 0)
    return status;
  a->n_pairs = pairs_of(f, part);
  status = find_real(&a->d, f, part, "d", n, f->q.dtype, err);
  if (status == CLARKE_OK)
    status = find_real(&a->previous, f, part, "prev_flat_grad", n, f->q.dtype, err);
  if (status == CLARKE_OK)
    status = find_real(&t, f, part, "t", 1, CLARKE_F64, err);
  if (status == CLARKE_OK)
    status = find_real(&scale, f, part, "H_diag", 1, CLARKE_F64, err);
  if (status == CLARKE_OK && a->n_pairs > 0)
    status = find_real(&a->y, f, part, "old_dirs", a->n_pairs * n, f->q.dtype, err);
  if (status == CLARKE_OK && a->n_pairs > 0)
    status = find_real(&a->s, f, part, "old_stps", a->n_pairs * n, f->q.dtype, err);
  if (status == CLARKE_OK && a->n_pairs > 0)
    status = find_real(&a->ro, f, part, "ro", a->n_pairs, f->q.dtype, err);
  if (status == CLARKE_OK && when == 1 && a->n_pairs > 0)
    status = find_shares(&a->al, &a->be, f, part, a->n_pairs, err);
  a->t = status == CLARKE_OK ? *t : 0;
  a->scale = status == CLARKE_OK ? *scale : 0;
  return status;
}

/* Numbers of each evaluation. */
static clarke_status
take_numbers(lbfgs_file *f, clarke_error *err)
{
  static const char *const names[] = {"loss", "t", "H_diag", "ro"};
  const size_t e = f->q.n_evaluations;

  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    const double *x;
    const clarke_status status = find_real(&x, f, "evaluations", names[k], e, CLARKE_F64, err);

    if (status != CLARKE_OK)
      return status;
    for (size_t i = 0; i < e; i++)
      *(double *[]){&f->evaluation[i].loss, &f->evaluation[i].t, &f->evaluation[i].scale, &f->evaluation[i].ro}[k] = x[i];
  }
  return CLARKE_OK;
}

static clarke_status
take_evaluations(lbfgs_file *f, clarke_error *err)
{
  const clarke_tensor *losses = clarke_update_tensor(&f->r->record.update, "evaluations", NULL, "loss"), *pairs = NULL;
  const size_t n = f->q.n, e = losses != NULL ? losses->count : 0;
  const double *theta = NULL, *gradient = NULL, *d = NULL, *al = NULL, *be = NULL;
  size_t most = 0;
  clarke_status status;

  if (e == 0)
    return clarke_fail(err, CLARKE_EINPUT, "evaluations/loss is missing in %s, or has no entries", f->r->record.step->optimizer.name);
  f->evaluation = calloc(e, sizeof *f->evaluation);
  if (f->evaluation == NULL)
    return clarke_no_memory(err);
  f->q.evaluation = f->evaluation;
  f->q.n_evaluations = e;
  status = find_real(&theta, f, "evaluations", "theta", e * n, f->q.dtype, err);
  if (status == CLARKE_OK)
    status = find_real(&gradient, f, "evaluations", "gradient", e * n, f->q.dtype, err);
  if (status == CLARKE_OK)
    status = find_real(&d, f, "evaluations", "d", e * n, f->q.dtype, err);
  if (status == CLARKE_OK)
    status = find(&pairs, f, "evaluations", "pairs", e, err);
  if (status == CLARKE_OK && pairs->integer == NULL)
    status = clarke_fail(err, CLARKE_EINPUT, "evaluations/pairs is %s, int64 is expected", clarke_dtype_name(pairs->dtype));
  for (size_t i = 0; i < e && status == CLARKE_OK; i++)
    most = pairs->integer[i] > (int64_t)most ? (size_t)pairs->integer[i] : most;
  if (status == CLARKE_OK && most > 0)
    status = find_shares(&al, &be, f, "evaluations", e * most, err);
  for (size_t i = 0; i < e && status == CLARKE_OK; i++)
    f->evaluation[i] = (clarke_lbfgs_evaluated){.theta = theta + i * n, .gradient = gradient + i * n, .d = d + i * n,
                                               .n_pairs = pairs->integer[i] < 0 ? SIZE_MAX : (size_t)pairs->integer[i],
                                               .al = al != NULL ? al + i * most : NULL, .be = be != NULL ? be + i * most : NULL};
  if (status == CLARKE_OK && memcmp(gradient, f->flat[2], n * sizeof *gradient) != 0)
    status = clarke_fail(err, CLARKE_EINPUT, "evaluations/gradient does not begin with the gradients of the parameters");
  return status == CLARKE_OK ? take_numbers(f, err) : status;
}

/* All parameters as one vector, in the group's order. */
static clarke_status
flatten(lbfgs_file *f, clarke_error *err)
{
  const clarke_run *r = f->r;
  size_t at = 0;

  for (size_t i = 0; i < r->n; i++)
    f->q.n += r->parameter[i].tensor.n;
  for (int k = 0; k < 3; k++) {
    f->flat[k] = calloc(f->q.n + 1, sizeof *f->flat[k]);
    if (f->flat[k] == NULL)
      return clarke_no_memory(err);
  }
  for (size_t i = 0; i < r->n; i++) {
    const clarke_step_tensor *t = &r->parameter[i].tensor;
    const double *const from[] = {t->theta[0], t->theta[1], t->gradient};

    if (r->parameter[i].theta->dtype != r->parameter[0].theta->dtype)
      return clarke_fail(err, CLARKE_EINPUT, "%s is %s, other parameters %s; one type is expected", r->parameter[i].name,
                         clarke_dtype_name(r->parameter[i].theta->dtype), clarke_dtype_name(r->parameter[0].theta->dtype));
    for (int k = 0; k < 3; k++)
      memcpy(f->flat[k] + at, from[k], t->n * sizeof *from[k]);
    at += t->n;
  }
  f->q.dtype = r->parameter[0].theta->dtype;
  return CLARKE_OK;
}

/* --- the answer ------------------------------------------------------------------------------------------------------ */

/* The parameter that entry number `at` of the vector is in; at: which of its own. */
static clarke_step_parameter *
parameter_at(clarke_run *r, size_t *at)
{
  size_t i = 0;

  for (; i + 1 < r->n && *at >= r->parameter[i].tensor.n; i++)
    *at -= r->parameter[i].tensor.n;
  return &r->parameter[i];
}

static bool
is_vector(clarke_lbfgs_part part)
{
  return part != CLARKE_LBFGS_T && part != CLARKE_LBFGS_SCALE && part != CLARKE_LBFGS_RO;
}

static void
take_finding(clarke_run *r, clarke_lbfgs_finding *f)
{
  r->answer = f->is == CLARKE_LBFGS_BAD ? CLARKE_STEP_WRONG : f->is == CLARKE_LBFGS_VAGUE ? CLARKE_STEP_OPEN : f->within > 0 ? CLARKE_STEP_WITHIN : CLARKE_STEP_BITS;
  r->sum.bits = f->bits;
  r->sum.within = f->within;
  r->sum.bound[0] = f->bound;
  r->sum.moved[0] = f->largest;
  r->sum.wrong = f->is == CLARKE_LBFGS_BAD;
  r->sum.open = f->is == CLARKE_LBFGS_VAGUE;
  snprintf(r->why, sizeof r->why, "%s", f->why);
  if (!f->located)
    return;
  if (is_vector(f->part)) {
    size_t entry = f->entry;
    clarke_step_parameter *p = parameter_at(r, &entry);

    p->finding.entry = entry;
    p->finding.recorded = f->recorded;
    p->finding.by_rule = f->by_rule;
    f->by_rule = NULL;
    r->first = p;
    r->first_slot = clarke_lbfgs_part_name(f->part);
  } else
    snprintf(r->why, sizeof r->why, "%s: it is %.17g, by the rule %s", f->why, f->recorded, f->by_rule);
}

clarke_status
clarke_run_judge_lbfgs(clarke_run *r, clarke_step_settings *s, clarke_error *err)
{
  lbfgs_file f = {.r = r, .q = {.hypers = &s->hypers}};
  clarke_lbfgs_finding found = {.bits = 0};
  clarke_status status = flatten(&f, err);

  s->hypers.rounding = clarke_run_rounding(f.q.dtype, false);
  if (status == CLARKE_OK)
    status = take_state(&f, 0, err);
  if (status == CLARKE_OK)
    status = take_state(&f, 1, err);
  if (status == CLARKE_OK)
    status = take_evaluations(&f, err);
  if (status == CLARKE_OK && f.q.dtype != CLARKE_F32 && f.q.dtype != CLARKE_F64)
    r->unknown = "parameters of 16 bits (of their sums no bound is known)";
  else if (status == CLARKE_OK) {
    status = clarke_lbfgs_judge(&found, &f.q, err);
    take_finding(r, &found);
  }
  clarke_lbfgs_finding_clear(&found);
  for (int k = 0; k < 3; k++)
    free(f.flat[k]);
  free(f.evaluation);
  return status;
}
