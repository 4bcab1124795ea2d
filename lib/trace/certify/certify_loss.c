/* The log-softmax between the network's output and a cross entropy (certify.h). */
#include "trace/certify/certify.h"

#include "exact/ball.h"
#include "exact/number.h"

#include <math.h>
#include <stdlib.h>

#define PRECISION 128
/* An elementary function is within 8 units, and there are two of them. */
#define FUNCTIONS 16
#define SPARE 4

/* x - log of the sum of exp x, of one sample. */
static void
log_softmax(arb_ptr y, const clarke_matrix *x, size_t j)
{
  arb_t sum, term;

  arb_init(sum);
  arb_init(term);
  for (size_t i = 0; i < x->rows; i++) {
    clarke_matrix_get_ball(y + i * x->cols + j, x, i, j, 2 * PRECISION);
    arb_exp(term, y + i * x->cols + j, PRECISION);
    arb_add(sum, sum, term, PRECISION);
  }
  arb_log(sum, sum, PRECISION);
  for (size_t i = 0; i < x->rows; i++)
    arb_sub(y + i * x->cols + j, y + i * x->cols + j, sum, PRECISION);
  arb_clear(sum);
  arb_clear(term);
}

/* As softmax's rule in rounding_forward.c. */
static double *
bounds_of_outputs(const clarke_certify *c, const clarke_matrix *y)
{
  const size_t x = c->g->output;
  double *bound = clarke_roundoff_sizes(y);

  for (size_t j = 0; bound != NULL && j < y->cols; j++) {
    double error = 0, size = 0, shift;

    for (size_t i = 0; i < y->rows; i++) {
      const size_t e = i * y->cols + j;

      error = fmax(error, c->rounded.error[x][e]);
      size = fmax(size, c->rounded.size[x][e] + c->rounded.error[x][e]);
    }
    shift = error + clarke_roundoff_by(&c->by, 2, 2 * size);
    for (size_t i = 0; i < y->rows; i++) {
      const size_t e = i * y->cols + j;

      bound[e] = clarke_roundoff_sum(2 * shift, 2) + clarke_roundoff_by(&c->by, (double)y->rows + FUNCTIONS, 1 + bound[e] + shift);
    }
  }
  return bound;
}

static clarke_status
judge(clarke_certify *c, clarke_part part, clarke_matrix *m, double *bound, clarke_error *err)
{
  const clarke_tensor *t = clarke_certify_find(c, clarke_part_name(part), c->log_softmax);
  clarke_certificate *made;

  if (bound == NULL)
    return clarke_no_memory(err);
  if (t != NULL && (t->real == NULL || t->count != m->rows * m->cols))
    return clarke_fail(err, CLARKE_EINPUT, "%s: tensor '%s': expected %zu floats", c->trace_file, t->name, m->rows * m->cols);
  made = clarke_certify_add(c, part, c->log_softmax, "LogSoftmax", err);
  if (made == NULL)
    return CLARKE_ENOMEM;
  if (t != NULL)
    return clarke_certificate_judge(made, t, m, bound, err);
  made->entries = made->open = m->rows * m->cols;
  return clarke_certificate_say(made, CLARKE_CANNOT_SAY, err, "it was not recorded");
}

static clarke_status
certify_output(clarke_certify *c, clarke_error *err)
{
  const clarke_matrix *x = &c->pass.value[c->g->output];
  arb_ptr y = _arb_vec_init((long)(x->rows * x->cols));
  double *bound = NULL;
  clarke_matrix m;
  clarke_status status;

  clarke_matrix_init(&m);
  for (size_t j = 0; j < x->cols; j++)
    log_softmax(y, x, j);
  status = clarke_matrix_set_balls(&m, x->rows, x->cols, y, PRECISION, err);
  if (status == CLARKE_OK) {
    bound = bounds_of_outputs(c, &m);
    status = judge(c, CLARKE_OUTPUT, &m, bound, err);
  }
  free(bound);
  clarke_matrix_clear(&m);
  _arb_vec_clear(y, (long)(x->rows * x->cols));
  return status;
}

/* Less the scale / N at the label, of the N samples that are not ignored; else 0. */
static clarke_status
certify_gradient(clarke_certify *c, clarke_error *err)
{
  const size_t rows = c->g->values[c->g->output].count, n = c->pass.n;
  mpq_t *entry = clarke_rationals(rows * n);
  const unsigned long counted = (unsigned long)clarke_loss_counted(c->loss);
  double *bound = NULL;
  clarke_matrix m;
  clarke_status status = entry != NULL ? CLARKE_OK : clarke_no_memory(err);

  clarke_matrix_init(&m);
  for (size_t j = 0; j < n && status == CLARKE_OK; j++) {
    const size_t label = clarke_loss_label(c->loss, j);
    mpq_t *at = label != CLARKE_NONE ? &entry[label * n + j] : NULL;

    if (at == NULL)
      continue;
    mpq_set_ui(*at, counted, 1);
    mpq_div(*at, c->scale, *at);
    mpq_neg(*at, *at);
  }
  if (status == CLARKE_OK)
    status = clarke_matrix_set_rationals(&m, rows, n, entry, err);
  if (status == CLARKE_OK)
    bound = clarke_roundoff_sizes(&m);
  for (size_t e = 0; bound != NULL && e < rows * n; e++)
    bound[e] = bound[e] > 0x1p-1000 ? clarke_roundoff_by(&c->by, SPARE, bound[e]) : 0;
  if (status == CLARKE_OK)
    status = judge(c, CLARKE_GRADIENT, &m, bound, err);
  free(bound);
  clarke_matrix_clear(&m);
  clarke_rationals_free(entry, rows * n);
  return status;
}

clarke_status
clarke_certify_log_softmax(clarke_certify *c, clarke_error *err)
{
  clarke_status status = certify_output(c, err);

  return status == CLARKE_OK ? certify_gradient(c, err) : status;
}
