/* A gradient beside its record (certify.h). */
#include "trace/certify/certify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bounds of all entries of a sum; n of them. */
static double *
bounds_of(const clarke_certify *c, const clarke_matrix *m, const clarke_rounding_sum *s, double spare)
{
  const size_t n = m->rows * m->cols;
  double *bound = clarke_roundoff_sizes(m);

  for (size_t e = 0; bound != NULL && e < n; e++) {
    const double size = bound[e] * c->back.scale;

    bound[e] = clarke_roundback_bound(&c->back, s, e, spare);
    if (!(size + bound[e] <= c->by.largest))
      bound[e] = INFINITY;
  }
  return bound;
}

/* Judges the gradient m, whose sum is s, by its record: *error is what the record is off by, or NULL when there is none. */
clarke_status
clarke_certify_gradient(double **error, clarke_certify *c, size_t v, const char *op, clarke_matrix *m,
                        clarke_error *err)
{
  const char *name = c->g->values[v].name;
  const clarke_tensor *t = clarke_certify_find(c, "gradient", name);
  clarke_certificate *made;
  clarke_status status;
  double *bound;

  *error = NULL;
  if (t != NULL && (t->real == NULL || t->count != m->rows * m->cols))
    return clarke_fail(err, CLARKE_EINPUT, "%s: tensor '%s': expected %zu floats", c->trace_file, t->name, m->rows * m->cols);
  made = clarke_certify_add(c, CLARKE_GRADIENT, name, op, err);
  if (made == NULL)
    return CLARKE_ENOMEM;
  if (!c->g->values[v].constant && clarke_roundback_target(&c->back, v) == NULL)
    return clarke_no_memory(err);
  bound = bounds_of(c, m, &c->back.sum[v], CLARKE_ROUNDBACK_SPARE);
  status = bound == NULL ? clarke_no_memory(err)
           : t == NULL   ? clarke_certify_follow(c, made, v, bound, m->rows * m->cols, err)
                         : clarke_certify_replace(error, c, made, t, m, bound, clarke_certify_read_by_conv(c->g, v), err);
  free(bound);
  return status;
}

clarke_status
clarke_certify_parameter(clarke_certify *c, size_t q, const clarke_matrix *m, const clarke_rounding_sum *s, bool conv, clarke_error *err)
{
  const clarke_parameter *p = &c->g->parameters[q];
  const clarke_tensor *t = clarke_tensors_find(c->gradients, p->name);
  clarke_certificate *made;
  double *bound, *error = NULL;
  clarke_matrix kept;
  clarke_status status;

  if (t == NULL || t->real == NULL || t->rank != p->rank || memcmp(t->dims, p->dims, p->rank * sizeof *p->dims) != 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: no floats of the shape of parameter '%s'", c->gradients_file, p->name);
  made = clarke_certify_add(c, CLARKE_PARAMETER, p->name, NULL, err);
  if (made == NULL)
    return CLARKE_ENOMEM;
  clarke_matrix_init(&kept);
  bound = bounds_of(c, m, s, CLARKE_ROUNDBACK_SPARE_NORMALIZED);
  status = bound != NULL ? clarke_matrix_copy(&kept, m, err) : clarke_no_memory(err);
  if (status == CLARKE_OK)
    status = clarke_certify_replace(&error, c, made, t, &kept, bound, conv, err);
  clarke_matrix_clear(&kept);
  free(error);
  free(bound);
  return status;
}
