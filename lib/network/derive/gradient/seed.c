/* Where the way back begins: the outputs as enclosures, and the loss's gradient in them. */
#include "network/derive/gradient/gradient.h"

#include "exact/number.h"

#include <math.h>
#include <stdlib.h>

/* Bits of what the loss is enclosed with. */
#define PRECISION 128
/* In fixed point as many as its limbs have, and so many. */
#define MORE_PRECISION 64

static clarke_status
set_pairs(clarke_matrix *m, const clarke_normed *v, size_t rows, size_t n, clarke_error *err)
{
  clarke_matrix low;
  clarke_status status = clarke_matrix_set_doubles(m, rows, n, v->at, err);

  clarke_matrix_init(&low);
  if (status == CLARKE_OK && v->low != NULL)
    status = clarke_matrix_set_doubles(&low, rows, n, v->low, err);
  if (status == CLARKE_OK && v->low != NULL)
    status = clarke_matrix_add(m, m, &low, err);
  clarke_matrix_clear(&low);
  return status;
}

/* The numbers themselves, without error. */
static clarke_status
set_outputs(clarke_matrix *m, const clarke_normed *v, size_t rows, const clarke_gradient_pass *p)
{
  mpq_t *q;
  clarke_status status;

  if (v->fixed.limb == NULL)
    return set_pairs(m, v, rows, p->n, p->err);
  q = clarke_rationals(rows * p->n);
  if (q == NULL)
    return clarke_no_memory(p->err);
  for (size_t e = 0; e < rows * p->n; e++)
    clarke_fixed_get(q[e], &v->fixed, e);
  status = clarke_matrix_set_rationals(m, rows, p->n, q, p->err);
  clarke_rationals_free(q, rows * p->n);
  return status;
}

clarke_status
clarke_gradient_pass_enclose(clarke_forward *outputs, const clarke_gradient_pass *p)
{
  const clarke_normed *out = &p->value[p->g->output];
  const size_t rows = p->g->values[p->g->output].count;
  clarke_matrix *m;
  clarke_status status = CLARKE_OK;

  outputs->g = p->g;
  outputs->n = p->n;
  outputs->precision = out->fixed.limb != NULL ? (long)out->fixed.limbs * CLARKE_FIXED_LIMB + MORE_PRECISION : PRECISION;
  outputs->value = clarke_matrices_new(p->g->n_values);
  if (outputs->value == NULL)
    return clarke_no_memory(p->err);
  m = &outputs->value[p->g->output];
  status = set_outputs(m, out, rows, p);
  if (status == CLARKE_OK)
    status = clarke_matrix_need_radius(m, p->err);
  for (size_t e = 0; e < rows * p->n && status == CLARKE_OK; e++)
    m->radius[e] = p->seen != NULL ? 0 : out->error[clarke_lane_of(p, e % p->n)]; /* a look needs no bound */
  return status;
}

/* --- by how much the gradient turns -------------------------------------------------------------- */

/* What the gradient's entries are taken to be off by at most, times the loss's samples. */
#define SLACK 0x1p-40

/* How much cross-entropy's gradient may turn. The second derivative in a sample's outputs is diag(p) - p p^T, over the
 * samples. That is no more than diag(p), so its norm is at most the largest p; and its rows' absolute sums are 2 p (1 - p)
 * (Gershgorin), which is at most 1/2. Where outputs are within `error`, p is at most exp(2 error) times as large, and so is
 * 1 - p, a sum of others. The gradient is p, less 1 at the label, where it is negative, or 0 to so many digits. */
static double
turn_of_sample(const clarke_gradient_pass *p, const double *seed, size_t j, double error)
{
  const double samples = (double)clarke_loss_counted(p->loss), more = exp(2 * error);
  double most = 0, around = 0;
  bool labelled = false;

  for (size_t i = 0; i < p->g->values[p->g->output].count; i++) {
    const double q = samples * seed[i * p->n + j], here = q < 0 ? 1 + q : q;

    labelled = labelled || q < 0;
    most = fmax(most, here);
    around = fmax(around, here * (1 - here));
  }
  return fmin(0.5, fmin((labelled ? most + SLACK : 1) * more, 2 * (around + SLACK) * more * more));
}

/* At least the norm of the loss's second derivative in the outputs of a lane, wherever these are within `error`. */
static double
turn_of(const clarke_gradient_pass *p, const double *seed, size_t lane, double error)
{
  double samples = (double)p->loss->samples, most = 0;

  if (p->loss->kind == CLARKE_LOSS_SUM)
    return 0;
  if (p->loss->kind == CLARKE_LOSS_MSE) /* a square's, over all entries */
    return clarke_bound_up(2 / ((double)p->g->values[p->g->output].count * samples));
  samples = (double)clarke_loss_counted(p->loss);
  for (size_t j = 0; j < p->n; j++) /* an ignored sample's gradient is 0, wherever its outputs are */
    if (clarke_lane_of(p, j) == lane && clarke_loss_label(p->loss, j) != CLARKE_NONE)
      most = fmax(most, turn_of_sample(p, seed, j, error));
  return clarke_bound_up(most / samples);
}

/* The gradient at the outputs as they are kept; errors of these turn it. seed: room for its doubles. */
static clarke_status
set_seed(clarke_gradient_pass *p, const clarke_matrix *m, double *seed)
{
  const size_t out = p->g->output;
  clarke_normed *to = &p->grad[out];
  mpq_t q;

  mpq_init(q);
  for (size_t e = 0; e < p->g->values[out].count * p->n; e++) {
    double off = to->fixed.limb != NULL ? ldexp(1, to->fixed.unit) : 0;

    clarke_matrix_get(q, m, e / p->n, e % p->n);
    seed[e] = mpq_get_d(q);
    if (to->fixed.limb != NULL)
      p->lost = p->lost || !clarke_fixed_set(&to->fixed, e, q);
    else
      clarke_normed_put(to, e, clarke_pair_of(q));
    off = clarke_bound_up(off + clarke_matrix_radius(m, e / p->n, e % p->n) + clarke_unit_of(to) * fabs(to->at[e]));
    to->error[clarke_lane_of(p, e % p->n)] += off * off;
  }
  mpq_clear(q);
  for (size_t j = 0; j < p->lanes; j++) {
    const double error = p->seen != NULL ? 0 : p->value[out].error[j], turn = turn_of(p, seed, j, error); /* a look needs no bound */

    to->error[j] = clarke_bound_up(sqrt(clarke_bound_up(to->error[j])) + turn * error);
    if (p->seen != NULL)
      p->seen->turn = fmax(p->seen->turn, turn);
  }
  return CLARKE_OK;
}

clarke_status
clarke_gradient_pass_seed(clarke_gradient_pass *p, const clarke_forward *outputs)
{
  const size_t out = p->g->output;
  clarke_matrix *at = &outputs->value[out], m;
  double *radius = at->radius, *seed = malloc((p->g->values[out].count * p->n + 1) * sizeof *seed);
  clarke_status status = seed != NULL ? clarke_note_begin(p, out) : clarke_no_memory(p->err);

  clarke_matrix_init(&m);
  at->radius = NULL; /* of the outputs as they are kept */
  if (status == CLARKE_OK)
    status = clarke_loss_seed(&m, p->loss, outputs, NULL, p->err);
  at->radius = radius;
  if (status == CLARKE_OK)
    status = set_seed(p, &m, seed);
  clarke_matrix_clear(&m);
  free(seed);
  return status;
}
