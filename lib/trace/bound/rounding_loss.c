/* Bounds of the gradient that the loss begins with (docs/rounding-bound.md). */
#include "trace/bound/rounding_loss.h"

#include <math.h>

static double
target_size(const clarke_loss *loss, size_t e)
{
  return loss->y->real != NULL ? fabs(loss->y->real[e]) : clarke_up_by(fabs((double)loss->y->integer[e]), 4);
}

/* The gradient 2 (out - y) / N. */
static void
seed_squares(const clarke_roundback *p, clarke_rounding_sum *s, size_t rows)
{
  const size_t out = p->g->output;
  const double by = clarke_up_by(2 * p->scale / ((double)rows * (double)p->n), 4);

  for (size_t e = 0; e < rows * p->n; e++) {
    const double off = p->r->error[out][e];
    const double mass = p->r->size[out][e] + off + target_size(p->r->loss, e % p->n * rows + e / p->n);

    s->error[e] = clarke_roundoff_sum(by * (off + clarke_roundoff_by(&p->r->by, CLARKE_ROUNDBACK_SPARE + 4, mass)), 4);
  }
}

/* (softmax - one of the label) / N, the softmax as exp of the log-softmax. Of an ignored sample it is 0, and 0 is computed: its gradient in the
 * log-softmax is 0. */
static void
seed_cross_entropy(const clarke_roundback *p, clarke_rounding_sum *s, size_t rows)
{
  const size_t out = p->g->output;
  const double counted = (double)clarke_loss_counted(p->r->loss), by = clarke_up_by(p->scale / counted, 4);

  for (size_t j = 0; j < p->n; j++) {
    const size_t own = clarke_loss_label(p->r->loss, j);
    double shift = 0, size = 0;

    if (own == CLARKE_NONE)
      continue;
    for (size_t i = 0; i < rows; i++) {
      shift = fmax(shift, p->r->error[out][i * p->n + j]);
      size = fmax(size, p->r->size[out][i * p->n + j] + p->r->error[out][i * p->n + j]);
    }
    /* exp(x - largest), their sum, its logarithm, and the exponential of the difference */
    shift = 2 * shift + clarke_roundoff_by(&p->r->by, (double)rows + 24, 3 * size + log((double)rows + 1) + 2);
    for (size_t i = 0; i < rows; i++) {
      const double g = clarke_matrix_get_double(&p->grad[out], i, j) * counted;
      const bool label = own == i;
      const double share = fmin(1, fabs(label ? g + 1 : g) + clarke_taken(0x1p12, 1));

      const double rounding = clarke_roundoff_by(&p->r->by, CLARKE_ROUNDBACK_SPARE + 8, share * exp(shift) + label);

      s->error[i * p->n + j] = clarke_roundoff_sum(by * (clarke_up_by(share * expm1(shift), 0x1p12) + rounding), 8);
    }
  }
}

void
clarke_roundback_seed(clarke_roundback *p)
{
  const size_t out = p->g->output, rows = p->grad[out].rows;
  clarke_rounding_sum *s = &p->sum[out];

  if (p->r->loss->kind == CLARKE_LOSS_CE)
    seed_cross_entropy(p, s, rows);
  else if (p->r->loss->kind == CLARKE_LOSS_MSE)
    seed_squares(p, s, rows);
  for (size_t e = 0; e < rows * p->n; e++) {
    const double size = p->scale * (clarke_up_by(fabs(clarke_matrix_get_double(&p->grad[out], e / p->n, e % p->n)), 4)
                                    + clarke_matrix_radius(&p->grad[out], e / p->n, e % p->n));

    s->mass[e] = clarke_roundoff_sum(size + s->error[e], 4);
    s->parts[e] = p->r->loss->kind == CLARKE_LOSS_SUM ? 1 : 2; /* it is the scale, or is computed */
  }
  s->terms = CLARKE_ROUNDBACK_SPARE;
}

/* --- the loss's value --- */

/* One sample's share: *error what its terms are off by, *mass what rounding is of. */
static void
measure_entropy(double *error, double *mass, const clarke_roundoff *r, size_t j)
{
  const clarke_matrix *out = &r->f->value[r->f->g->output];
  double off = 0, size = 0;

  for (size_t i = 0; i < out->rows; i++) {
    off = fmax(off, r->error[r->f->g->output][i * r->f->n + j]);
    size = fmax(size, r->size[r->f->g->output][i * r->f->n + j] + r->error[r->f->g->output][i * r->f->n + j]);
  }
  /* log-sum-exp moves by no more than its largest argument; its roundings are as in seed_cross_entropy */
  *mass = 3 * size + log((double)out->rows + 1) + 2;
  *error = 2 * off + clarke_roundoff_by(&r->by, (double)out->rows + 24, *mass);
}

double
clarke_roundoff_loss(const clarke_roundoff *r)
{
  const size_t out = r->f->g->output, rows = r->f->value[out].rows, n = r->f->n;
  const double parts = r->loss->kind == CLARKE_LOSS_SUM   ? 1
                       : r->loss->kind == CLARKE_LOSS_MSE ? (double)rows * (double)n
                                                          : (double)clarke_loss_counted(r->loss);
  double error = 0, mass = 0;

  for (size_t j = 0; r->loss->kind == CLARKE_LOSS_CE && j < n; j++) {
    double off, size;

    if (clarke_loss_label(r->loss, j) == CLARKE_NONE)
      continue;
    measure_entropy(&off, &size, r, j);
    error += off;
    mass += size + off;
  }
  for (size_t e = 0; r->loss->kind != CLARKE_LOSS_CE && e < rows * n; e++) {
    const bool squared = r->loss->kind == CLARKE_LOSS_MSE;
    const double off = r->error[out][e];
    const double top = r->size[out][e] + off + (squared ? target_size(r->loss, e % n * rows + e / n) : 0);

    error += squared ? 2 * top * off + off * off : off;
    mass += squared ? top * top : top;
  }
  error = clarke_roundoff_sum(error + clarke_roundoff_by(&r->by, (double)rows * (double)n + 16, mass), rows * n + 8);
  return isnan(error) ? INFINITY : clarke_up_by(error / parts, 4);
}
