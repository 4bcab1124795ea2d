/* Where the way back begins: the outputs as enclosures, and the loss's gradient in them. */
#include "network/gradient/gradient.h"

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
set_outputs(clarke_matrix *m, const clarke_normed *v, size_t rows, const clarke_descent *p)
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
clarke_descent_enclose(clarke_forward *outputs, const clarke_descent *p)
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

clarke_status
clarke_descent_seed(clarke_descent *p, const clarke_forward *outputs)
{
  const size_t out = p->g->output, rows = p->g->values[out].count;
  clarke_normed *to = &p->grad[out];
  clarke_matrix m;
  clarke_status status = clarke_note_begin(p, out);
  mpq_t q;

  mpq_init(q);
  clarke_matrix_init(&m);
  if (status == CLARKE_OK)
    status = clarke_loss_seed(&m, p->loss, outputs, NULL, p->err);
  for (size_t e = 0; e < rows * p->n && status == CLARKE_OK; e++) {
    double off = to->fixed.limb != NULL ? ldexp(1, to->fixed.unit) : 0;

    clarke_matrix_get(q, &m, e / p->n, e % p->n);
    if (to->fixed.limb != NULL)
      p->lost = p->lost || !clarke_fixed_set(&to->fixed, e, q);
    else
      clarke_normed_put(to, e, clarke_pair_of(q));
    off = clarke_bound_up(off + clarke_matrix_radius(&m, e / p->n, e % p->n) + clarke_unit_of(to) * fabs(to->at[e]));
    to->error[clarke_lane_of(p, e % p->n)] += off * off;
  }
  for (size_t j = 0; j < p->lanes && status == CLARKE_OK; j++)
    to->error[j] = clarke_bound_up(sqrt(clarke_bound_up(to->error[j])));
  clarke_matrix_clear(&m);
  mpq_clear(q);
  return status;
}
