/* NORMALIZE steps: values and derivatives. With m entries in a group, c = m (x - mean) and
 * r = 1 / (m sqrt(var + epsilon)), both exact where they can be: y = c r. The derivative is a symmetric
 * matrix, one map for tangents and gradients:
 *
 *     J g = r (m g - S g - y S(y g)),    S the sums over groups.
 *
 * Where x is rational, J / r is: y S(y g) = c r^2 S(c g). */
#include "network/pass/normalize.h"

#include "exact/ball.h"
#include "exact/number.h"
#include "network/pass/linear.h"

#include <math.h>
#include <stdlib.h>

/* The group of every feature. */
static size_t *
group_map(const clarke_step *s, size_t count)
{
  size_t *map = malloc((count + 1) * sizeof *map);

  for (size_t f = 0; map != NULL && f < count; f++)
    map[f] = clarke_step_group(s, f);
  return map;
}

/* The sums over groups: a row each, a column a sample, or one for all samples that are coupled. */
static clarke_status
group_sums(clarke_matrix *sums, const clarke_step *s, const clarke_matrix *x, const size_t *map,
           clarke_error *err)
{
  clarke_matrix all;
  clarke_status status;

  if (!s->grouping.couples)
    return clarke_matrix_scatter_rows(sums, x, map, s->grouping.groups, err);
  clarke_matrix_init(&all);
  status = clarke_matrix_scatter_rows(&all, x, map, s->grouping.groups, err);
  if (status == CLARKE_OK)
    status = clarke_matrix_row_sums(sums, &all, err);
  clarke_matrix_clear(&all);
  return status;
}

/* c = m (x - mean): of an entry that is alone in its group exactly 0, whatever is known of it. */
static clarke_status
centre(clarke_matrix *c, const clarke_step *s, const clarke_matrix *x, const size_t *map,
       clarke_error *err)
{
  clarke_matrix sums, spread;
  clarke_status status;
  mpq_t m;

  if (clarke_step_group_size(s, x->cols) == 1) {
    const bool enclosed = x->radius != NULL; /* then so is the result, with radii 0 */

    status = clarke_matrix_resize(c, x->rows, x->cols, 1, err);
    return status == CLARKE_OK && enclosed ? clarke_matrix_need_radius(c, err) : status;
  }
  clarke_matrix_init(&sums);
  clarke_matrix_init(&spread);
  mpq_init(m);
  mpq_set_ui(m, clarke_step_group_size(s, x->cols), 1);
  status = group_sums(&sums, s, x, map, err);
  if (status == CLARKE_OK)
    status = clarke_matrix_gather_rows(&spread, &sums, map, x->rows, err);
  if (status == CLARKE_OK)
    status = clarke_matrix_scale(c, x, m, err);
  if (status == CLARKE_OK)
    status = clarke_matrix_sub(c, c, &spread, err);
  mpq_clear(m);
  clarke_matrix_clear(&sums);
  clarke_matrix_clear(&spread);
  return status;
}

/* The largest integer part that roots of v have, in bits: their reciprocals need as many more. */
static long
root_bits(const clarke_matrix *v)
{
  int most = 0;

  for (size_t e = 0; e < v->rows * v->cols; e++) {
    double size = clarke_matrix_get_double(v, e / v->cols, e % v->cols);
    int exponent = 2048;

    if (isfinite(size))
      frexp(size, &exponent);
    most = exponent > most ? exponent : most;
  }
  return most / 2 + 1;
}

/* m^2 var and m^2 epsilon, by group, from c: the group's squares sum up to m^3 var. */
static clarke_status
variances(clarke_matrix *v, mpq_t epsilon, const clarke_step *s, const clarke_matrix *c, const size_t *map,
          clarke_error *err)
{
  clarke_matrix squares;
  clarke_status status;
  mpq_t m;

  clarke_matrix_init(&squares);
  mpq_init(m);
  mpq_set_ui(m, clarke_step_group_size(s, c->cols), 1);
  mpq_mul(epsilon, s->epsilon, m);
  mpq_mul(epsilon, epsilon, m);
  mpq_inv(m, m);
  clarke_tally_add(0, 3, 0);
  status = clarke_matrix_hadamard(&squares, c, c, err);
  if (status == CLARKE_OK)
    status = group_sums(v, s, &squares, map, err);
  if (status == CLARKE_OK)
    status = clarke_matrix_scale(v, v, m, err);
  mpq_clear(m);
  clarke_matrix_clear(&squares);
  return status;
}

/* r, by group. */
static clarke_status
root_reciprocals(clarke_matrix *r, const clarke_step *s, const clarke_matrix *c, const size_t *map,
                 long precision, clarke_error *err)
{
  clarke_matrix v;
  clarke_status status;
  mpq_t epsilon;

  clarke_matrix_init(&v);
  mpq_init(epsilon);
  status = variances(&v, epsilon, s, c, map, err);
  if (status == CLARKE_OK)
    status = clarke_root_reciprocals(r, &v, epsilon, precision + root_bits(&v), err);
  mpq_clear(epsilon);
  clarke_matrix_clear(&v);
  return status;
}

/* r^2, by group, which is rational; c is exact. */
static clarke_status
square_reciprocals(clarke_matrix *r, const clarke_step *s, const clarke_matrix *c, const size_t *map,
                   clarke_error *err)
{
  clarke_matrix v;
  mpq_t *q = NULL, epsilon;
  size_t n;
  clarke_status status;

  clarke_matrix_init(&v);
  mpq_init(epsilon);
  status = variances(&v, epsilon, s, c, map, err);
  n = v.rows * v.cols;
  if (status == CLARKE_OK && (q = clarke_rationals(n)) == NULL)
    status = clarke_no_memory(err);
  clarke_tally_add(n, n, 0);
  for (size_t i = 0; i < n && status == CLARKE_OK; i++) {
    clarke_matrix_get(q[i], &v, i / v.cols, i % v.cols);
    mpq_add(q[i], q[i], epsilon);
    mpq_inv(q[i], q[i]);
  }
  if (status == CLARKE_OK)
    status = clarke_matrix_set_rationals(r, v.rows, v.cols, q, err);
  if (q != NULL)
    clarke_rationals_free(q, n);
  mpq_clear(epsilon);
  clarke_matrix_clear(&v);
  return status;
}

/* y times its group's r. */
static clarke_status
scale_groups(clarke_matrix *y, const clarke_matrix *r, const size_t *map, clarke_error *err)
{
  clarke_matrix spread;
  clarke_status status;

  clarke_matrix_init(&spread);
  status = clarke_matrix_gather_rows(&spread, r, map, y->rows, err);
  if (status == CLARKE_OK)
    status = clarke_matrix_hadamard(y, y, &spread, err);
  clarke_matrix_clear(&spread);
  return status;
}

clarke_status
clarke_normalize_apply(clarke_matrix *y, const clarke_step *s, const clarke_matrix *x,
                       long precision, clarke_error *err)
{
  size_t *map = group_map(s, x->rows);
  clarke_matrix r;
  clarke_status status = map != NULL ? centre(y, s, x, map, err)
                                     : clarke_no_memory(err);

  clarke_matrix_init(&r);
  if (status == CLARKE_OK)
    status = root_reciprocals(&r, s, y, map, precision, err);
  if (status == CLARKE_OK)
    status = scale_groups(y, &r, map, err);
  clarke_matrix_clear(&r);
  free(map);
  return status;
}

/* h -= y S(y g) */
static clarke_status
remove_along(clarke_matrix *h, const clarke_step *s, const clarke_matrix *y, const clarke_matrix *g,
             const size_t *map, clarke_error *err)
{
  clarke_matrix term, sums;
  clarke_status status;

  clarke_matrix_init(&term);
  clarke_matrix_init(&sums);
  status = clarke_matrix_hadamard(&term, y, g, err);
  if (status == CLARKE_OK)
    status = group_sums(&sums, s, &term, map, err);
  if (status == CLARKE_OK)
    status = clarke_matrix_copy(&term, y, err);
  if (status == CLARKE_OK)
    status = scale_groups(&term, &sums, map, err);
  if (status == CLARKE_OK)
    status = clarke_matrix_sub(h, h, &term, err);
  clarke_matrix_clear(&term);
  clarke_matrix_clear(&sums);
  return status;
}

clarke_status
clarke_normalize_derivative(clarke_matrix *d, const clarke_step *s, const clarke_forward *f,
                            const clarke_matrix *g, clarke_error *err)
{
  const clarke_matrix *x = &f->value[s->in[0].value];
  size_t *map = group_map(s, x->rows);
  clarke_matrix c, r;
  clarke_status status = map != NULL ? CLARKE_OK
                                     : clarke_no_memory(err);

  clarke_matrix_init(&c);
  clarke_matrix_init(&r);
  if (status == CLARKE_OK)
    status = centre(&c, s, x, map, err);
  if (status == CLARKE_OK)
    status = root_reciprocals(&r, s, &c, map, f->precision, err);
  if (status == CLARKE_OK)
    status = centre(&c, s, g, map, err);
  if (status == CLARKE_OK)
    status = remove_along(&c, s, &f->value[s->out], g, map, err);
  if (status == CLARKE_OK)
    status = scale_groups(&c, &r, map, err);
  if (status == CLARKE_OK)
    status = clarke_matrix_round(&c, (size_t)f->precision + 64, err);
  clarke_matrix_swap(d, &c);
  clarke_matrix_clear(&c);
  clarke_matrix_clear(&r);
  free(map);
  return status;
}

clarke_status
clarke_normalize_up_to_root(clarke_matrix *d, const clarke_step *s, const clarke_matrix *x,
                            const clarke_matrix *g, clarke_error *err)
{
  size_t *map = group_map(s, x->rows);
  clarke_matrix c, r, term, sums;
  clarke_status status = map != NULL ? CLARKE_OK : clarke_no_memory(err);

  clarke_matrix_init(&c);
  clarke_matrix_init(&r);
  clarke_matrix_init(&term);
  clarke_matrix_init(&sums);
  if (status == CLARKE_OK)
    status = centre(&c, s, x, map, err);
  if (status == CLARKE_OK)
    status = square_reciprocals(&r, s, &c, map, err);
  if (status == CLARKE_OK)
    status = clarke_matrix_hadamard(&term, &c, g, err);
  if (status == CLARKE_OK)
    status = group_sums(&sums, s, &term, map, err);
  if (status == CLARKE_OK)
    status = clarke_matrix_hadamard(&sums, &sums, &r, err);
  if (status == CLARKE_OK)
    status = scale_groups(&c, &sums, map, err);
  if (status == CLARKE_OK)
    status = centre(d, s, g, map, err);
  if (status == CLARKE_OK)
    status = clarke_matrix_sub(d, d, &c, err);
  clarke_matrix_clear(&c);
  clarke_matrix_clear(&r);
  clarke_matrix_clear(&term);
  clarke_matrix_clear(&sums);
  free(map);
  return status;
}
