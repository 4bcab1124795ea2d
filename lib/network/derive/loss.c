#include "network/derive/loss.h"

#include "network/pass/linear.h"

#include <stdlib.h>
#include <string.h>

const char *
clarke_loss_name(clarke_loss_kind kind)
{
  return kind == CLARKE_LOSS_SUM ? "sum" : kind == CLARKE_LOSS_MSE ? "mse" : "ce";
}

clarke_status
clarke_loss_parse(clarke_loss_kind *kind, const char *name, clarke_error *err)
{
  for (*kind = CLARKE_LOSS_SUM; *kind <= CLARKE_LOSS_CE; (*kind)++)
    if (strcmp(name, clarke_loss_name(*kind)) == 0)
      return CLARKE_OK;
  return clarke_fail(err, CLARKE_EINPUT, "no loss '%s'; known: sum, mse, ce", name);
}

bool
clarke_loss_is_rational(const clarke_loss *loss)
{
  return loss->kind != CLARKE_LOSS_CE;
}

static bool
is_ignored(const clarke_loss *loss, size_t sample)
{
  return loss->ignores && loss->y->integer[sample] == loss->ignored;
}

size_t
clarke_loss_label(const clarke_loss *loss, size_t sample)
{
  return is_ignored(loss, sample) ? CLARKE_NONE : (size_t)loss->y->integer[sample];
}

size_t
clarke_loss_counted(const clarke_loss *loss)
{
  size_t counted = 0;

  for (size_t j = 0; j < loss->samples; j++)
    counted += !is_ignored(loss, j);
  return counted;
}

static clarke_status
check_labels(const clarke_loss *loss, size_t classes, clarke_error *err)
{
  const clarke_tensor *y = loss->y;

  if (y->integer == NULL || y->rank != 1 || y->dims[0] != loss->samples)
    return clarke_fail(err, CLARKE_EINPUT,
                       "labels 'y': expected %zu integers, one a sample, for loss ce",
                       loss->samples);
  for (size_t j = 0; j < y->count; j++)
    if (!is_ignored(loss, j) && (y->integer[j] < 0 || (uint64_t)y->integer[j] >= classes))
      return clarke_fail(err, CLARKE_EINPUT,
                         "labels 'y': entry %zu is %lld; the network has classes 0 to %zu", j,
                         (long long)y->integer[j], classes - 1);
  if (clarke_loss_counted(loss) == 0)
    return clarke_fail(err, CLARKE_EINPUT, "labels 'y': all are %lld, which the loss ignores; a mean of nothing has no value",
                       (long long)loss->ignored);
  return CLARKE_OK;
}

clarke_status
clarke_loss_check(const clarke_loss *loss, const clarke_graph *g, clarke_error *err)
{
  const clarke_value *out = &g->values[g->output];

  if (loss->kind == CLARKE_LOSS_SUM)
    return CLARKE_OK;
  if (loss->y == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "loss %s needs an array 'y' in the batch",
                       clarke_loss_name(loss->kind));
  if (loss->kind == CLARKE_LOSS_CE) {
    if (out->rank != 1)
      return clarke_fail(err, CLARKE_EINPUT, "loss ce needs outputs of shape (batch, classes); "
                         "%s has %zu axes a sample", g->file, out->rank);
    return check_labels(loss, out->count, err);
  }
  if (loss->y->rank != out->rank + 1 || loss->y->dims[0] != loss->samples ||
      memcmp(loss->y->dims + 1, out->dims, out->rank * sizeof *out->dims) != 0)
    return clarke_fail(err, CLARKE_EINPUT, "targets 'y': %zu entries on %zu axes do not have the "
                       "shape of the network's outputs (%zu samples of %zu)", loss->y->count,
                       loss->y->rank, loss->samples, out->count);
  for (size_t i = 0; loss->y->real == NULL && i < loss->y->count; i++)
    if (loss->y->integer[i] > (1LL << 53) || loss->y->integer[i] < -(1LL << 53))
      return clarke_fail(err, CLARKE_EINPUT, "targets 'y': entry %zu is over 2^53 in absolute value",
                         i);
  return CLARKE_OK;
}

/* 1/n, 2/n... as a matrix scaling. */
static clarke_status
scale_by(clarke_matrix *m, long numerator, size_t denominator, clarke_error *err)
{
  clarke_status status;
  mpq_t q;

  mpq_init(q);
  mpq_set_si(q, numerator, denominator);
  mpq_canonicalize(q);
  status = clarke_matrix_scale(m, m, q, err);
  mpq_clear(q);
  return status;
}

/* Targets, or one-hot labels (0 where they are ignored), as outputs x columns. */
static clarke_status
targets(clarke_matrix *t, const clarke_loss *loss, const clarke_forward *f, const size_t *sample,
        clarke_error *err)
{
  size_t rows = f->value[f->g->output].rows, n = f->n;
  double *values = calloc(rows * n + 1, sizeof *values);
  clarke_status status;

  if (values == NULL)
    return clarke_no_memory(err);
  for (size_t j = 0; j < n; j++) {
    size_t s = sample != NULL ? sample[j] : j;

    if (loss->kind == CLARKE_LOSS_CE) {
      if (clarke_loss_label(loss, s) != CLARKE_NONE)
        values[clarke_loss_label(loss, s) * n + j] = 1;
      continue;
    }
    for (size_t i = 0; i < rows; i++)
      values[i * n + j] = loss->y->real != NULL ? loss->y->real[s * rows + i]
                                                : (double)loss->y->integer[s * rows + i];
  }
  status = clarke_matrix_set_doubles(t, rows, n, values, err);
  free(values);
  return status;
}

/* softmax of every column; 0 of those whose label is ignored. */
static clarke_status
probabilities(clarke_matrix *p, const clarke_loss *loss, const clarke_forward *f, const size_t *sample, clarke_error *err)
{
  const clarke_matrix *out = &f->value[f->g->output];
  size_t n = out->rows * out->cols;
  long precision = f->precision;
  arb_ptr balls = _arb_vec_init((long)n), sum = _arb_vec_init((long)out->cols);
  arf_t shift;
  clarke_status status;

  arf_init(shift);
  for (size_t e = 0; e < n; e++)
    clarke_matrix_get_ball(balls + e, out, e / out->cols, e % out->cols, 2 * precision);
  for (size_t j = 0; j < out->cols; j++) {
    for (size_t i = 0; i < out->rows; i++)
      if (i == 0 || arf_cmp(arb_midref(balls + i * out->cols + j), shift) > 0)
        arf_set(shift, arb_midref(balls + i * out->cols + j));
    for (size_t i = 0; i < out->rows; i++) {
      arb_ptr b = balls + i * out->cols + j;

      arb_sub_arf(b, b, shift, precision + 20);
      arb_exp(b, b, precision + 20);
      arb_add(sum + j, sum + j, b, precision + 20);
    }
  }
  for (size_t e = 0; e < n; e++)
    if (clarke_loss_label(loss, sample != NULL ? sample[e % out->cols] : e % out->cols) != CLARKE_NONE)
      arb_div(balls + e, balls + e, sum + e % out->cols, precision + 20);
    else
      arb_zero(balls + e);
  status = clarke_matrix_set_balls(p, out->rows, out->cols, balls, precision, err);
  arf_clear(shift);
  _arb_vec_clear(balls, (long)n);
  _arb_vec_clear(sum, (long)out->cols);
  return status;
}

/* A matrix of ones of the outputs' shape. */
static clarke_status
ones(clarke_matrix *m, size_t rows, size_t cols, clarke_error *err)
{
  double *values = malloc((rows * cols + 1) * sizeof *values);
  clarke_status status;

  if (values == NULL)
    return clarke_no_memory(err);
  for (size_t e = 0; e < rows * cols; e++)
    values[e] = 1;
  status = clarke_matrix_set_doubles(m, rows, cols, values, err);
  free(values);
  return status;
}

clarke_status
clarke_loss_seed(clarke_matrix *seed, const clarke_loss *loss, const clarke_forward *f,
                 const size_t *sample, clarke_error *err)
{
  const clarke_matrix *out = &f->value[f->g->output];
  clarke_matrix t;
  clarke_status status;

  if (loss->kind == CLARKE_LOSS_SUM)
    return ones(seed, out->rows, out->cols, err);
  clarke_matrix_init(&t);
  status = targets(&t, loss, f, sample, err);
  if (loss->kind == CLARKE_LOSS_MSE) {
    if (status == CLARKE_OK)
      status = clarke_matrix_sub(seed, out, &t, err);
    if (status == CLARKE_OK)
      status = scale_by(seed, 2, out->rows * loss->samples, err);
  } else {
    if (status == CLARKE_OK)
      status = probabilities(seed, loss, f, sample, err);
    if (status == CLARKE_OK)
      status = clarke_matrix_sub(seed, seed, &t, err);
    if (status == CLARKE_OK)
      status = scale_by(seed, 1, clarke_loss_counted(loss), err);
  }
  clarke_matrix_clear(&t);
  return status;
}

/* logsumexp(column) - column[label]. */
static void
cross_entropy(arb_t value, const clarke_matrix *out, size_t j, size_t label, long precision)
{
  arb_t x, shift, sum;

  arb_init(x);
  arb_init(shift);
  arb_init(sum);
  for (size_t i = 0; i < out->rows; i++) {
    clarke_matrix_get_ball(x, out, i, j, 2 * precision);
    if (i == 0 || arf_cmp(arb_midref(x), arb_midref(shift)) > 0)
      arf_set(arb_midref(shift), arb_midref(x));
  }
  for (size_t i = 0; i < out->rows; i++) {
    clarke_matrix_get_ball(x, out, i, j, 2 * precision);
    arb_sub(x, x, shift, precision);
    arb_exp(x, x, precision);
    arb_add(sum, sum, x, precision);
  }
  arb_log(sum, sum, precision);
  arb_add(sum, sum, shift, precision);
  clarke_matrix_get_ball(x, out, label, j, 2 * precision);
  arb_sub(value, sum, x, precision);
  arb_clear(x);
  arb_clear(shift);
  arb_clear(sum);
}

size_t
clarke_loss_groups(size_t *group, const clarke_forward *f)
{
  const clarke_matrix *out = &f->value[f->g->output];
  const size_t n = out->cols;
  size_t most = 0;

  for (size_t j = 0; j < n; j++) {
    size_t groups = 0;

    for (size_t i = 0; i < out->rows; i++) {
      size_t k = 0;

      while (k < i && clarke_matrix_compare_entries(out, i, k, j) != 0)
        k++;
      group[i * n + j] = k < i ? group[k * n + j] : groups++;
    }
    most = groups > most ? groups : most;
  }
  return most;
}

clarke_status
clarke_loss_group_seed(clarke_matrix *seed, const clarke_loss *loss, const clarke_forward *f, const size_t *sample,
                       const size_t *group, size_t which, clarke_error *err)
{
  const size_t rows = f->value[f->g->output].rows, n = f->value[f->g->output].cols;
  double *values = calloc(rows * n + 1, sizeof *values);
  clarke_status status;

  if (values == NULL)
    return clarke_no_memory(err);
  for (size_t j = 0; j < n; j++) {
    const size_t label = clarke_loss_label(loss, sample != NULL ? sample[j] : j);

    for (size_t i = 0; i < rows && label != CLARKE_NONE; i++)
      if (group[i * n + j] == which) {
        values[i * n + j] += 1;
        values[label * n + j] -= 1;
      }
  }
  status = clarke_matrix_set_doubles(seed, rows, n, values, err);
  free(values);
  return status;
}

/* sum of outputs, or the mean of (outputs - targets)^2, as a 1 x 1 matrix. */
static clarke_status
polynomial_value(clarke_matrix *total, const clarke_loss *loss, const clarke_forward *f,
                 clarke_error *err)
{
  const clarke_matrix *out = &f->value[f->g->output];
  clarke_matrix t, column;
  clarke_status status;

  clarke_matrix_init(&t);
  clarke_matrix_init(&column);
  if (loss->kind == CLARKE_LOSS_SUM)
    status = clarke_matrix_copy(&t, out, err);
  else {
    status = targets(&t, loss, f, NULL, err);
    if (status == CLARKE_OK)
      status = clarke_matrix_sub(&t, out, &t, err);
    if (status == CLARKE_OK)
      status = clarke_matrix_hadamard(&t, &t, &t, err);
    if (status == CLARKE_OK)
      status = scale_by(&t, 1, out->rows * loss->samples, err);
  }
  if (status == CLARKE_OK)
    status = clarke_matrix_row_sums(&column, &t, err);
  if (status == CLARKE_OK) {
    clarke_matrix row = clarke_matrix_view(&column, 1, column.rows);

    status = clarke_matrix_row_sums(total, &row, err);
  }
  clarke_matrix_clear(&t);
  clarke_matrix_clear(&column);
  return status;
}

clarke_status
clarke_loss_value(arb_t value, const clarke_loss *loss, const clarke_forward *f,
                  clarke_error *err)
{
  const clarke_matrix *out = &f->value[f->g->output];
  long precision = f->precision + 30;
  clarke_status status = CLARKE_OK;

  if (clarke_loss_is_rational(loss)) {
    clarke_matrix total;

    clarke_matrix_init(&total);
    status = polynomial_value(&total, loss, f, err);
    if (status == CLARKE_OK)
      clarke_matrix_get_ball(value, &total, 0, 0, precision);
    clarke_matrix_clear(&total);
    return status;
  }
  arb_t term;

  arb_init(term);
  arb_zero(value);
  for (size_t j = 0; j < f->n; j++) {
    if (clarke_loss_label(loss, j) == CLARKE_NONE)
      continue;
    cross_entropy(term, out, j, clarke_loss_label(loss, j), precision);
    arb_add(value, value, term, precision);
  }
  arb_div_ui(value, value, clarke_loss_counted(loss), precision);
  arb_clear(term);
  return status;
}

clarke_status
clarke_loss_exact(mpq_t value, const clarke_loss *loss, const clarke_forward *f,
                  clarke_error *err)
{
  clarke_matrix total;
  clarke_status status;

  clarke_matrix_init(&total);
  status = polynomial_value(&total, loss, f, err);
  if (status == CLARKE_OK)
    clarke_matrix_get(value, &total, 0, 0);
  clarke_matrix_clear(&total);
  return status;
}
