/* Zeros of a recorded gradient beside AD's exact one (record.h). */
#include "session/gradient.h"
#include "session/json.h"
#include "session/record.h"

#include <math.h>
#include <stdlib.h>

#define PRECISION_FIRST 128
#define PRECISION_LAST 1024

clarke_status
clarke_record_has_zero(bool *has, clarke_record *r, clarke_error *err)
{
  clarke_status status = clarke_tensors_unpack(&r->gradients, err);

  *has = false;
  for (size_t t = 0; status == CLARKE_OK && t < r->gradients.n && !*has; t++) {
    const clarke_tensor *g = &r->gradients.tensor[t];
    size_t e = 0;

    while (e < g->count && g->real != NULL && g->real[e] == 0)
      e++;
    *has = g->count > 0 && e == g->count;
  }
  return status;
}

/* Is entry e one that is asked about? */
static bool
is_asked(const clarke_audit_session *s, const clarke_tensor *t, size_t p, size_t e)
{
  return t != NULL && t->real != NULL && t->real[e] == 0 && (s->zeros.cause[p][e] & CLARKE_ZERO_NOT) != 0;
}

static clarke_status
count_recorded(size_t *n, clarke_record *r, const clarke_audit_session *s, clarke_error *err)
{
  clarke_status status = clarke_tensors_unpack(&r->gradients, err);

  *n = 0;
  for (size_t p = 0; p < s->graph.n_parameters && status == CLARKE_OK; p++) {
    const clarke_tensor *t = clarke_tensors_find(&r->gradients, s->graph.parameters[p].name);

    if (s->zeros.cause[p] == NULL || t == NULL || t->count != s->graph.parameters[p].count)
      continue;
    for (size_t e = 0; e < t->count; e++)
      r->zeros[p].n += is_asked(s, t, p, e);
    *n += r->zeros[p].n;
  }
  return status;
}

/* What an entry's number, or enclosure, tells. */
static clarke_truth
is_exactly_zero(const clarke_matrix *g, size_t e)
{
  const double radius = g->rows > 0 ? clarke_matrix_radius(g, e, 0) : 0;
  mpq_t entry, most;
  clarke_truth zero;

  if (!isfinite(radius))
    return CLARKE_UNKNOWN;
  mpq_inits(entry, most, NULL);
  if (g->rows > 0)
    clarke_matrix_get(entry, g, e, 0);
  mpq_set_d(most, radius);
  mpq_abs(entry, entry);
  zero = mpq_cmp(entry, most) > 0 ? CLARKE_NO : radius == 0 ? CLARKE_YES : CLARKE_UNKNOWN;
  mpq_clears(entry, most, NULL);
  return zero;
}

/* *open: entries of which it is not known. */
static void
compare(size_t *open, clarke_record *r, const clarke_audit_session *s, const clarke_matrix *exact)
{
  *open = 0;
  for (size_t p = 0; p < s->graph.n_parameters; p++) {
    clarke_recorded_zeros *z = &r->zeros[p];
    const clarke_tensor *t = clarke_tensors_find(&r->gradients, s->graph.parameters[p].name);

    z->zero = z->not = 0;
    for (size_t e = 0; z->n > 0 && e < t->count; e++) {
      const clarke_truth zero = is_asked(s, t, p, e) ? is_exactly_zero(&exact[p], e) : CLARKE_UNKNOWN;

      z->zero += zero == CLARKE_YES;
      z->not += zero == CLARKE_NO;
    }
    *open += z->n - z->zero - z->not;
  }
}

/* In enclosures as fine as these entries need. */
static clarke_status
ask_exact(clarke_record *r, clarke_audit_session *s, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  bool known = true;
  size_t open = 1;

  for (long precision = PRECISION_FIRST; precision <= PRECISION_LAST && open > 0 && known && status == CLARKE_OK; precision *= 2) {
    clarke_matrix *exact = clarke_matrices_new(s->graph.n_parameters);

    status = exact != NULL ? clarke_audit_exact(&known, exact, s, precision, err) : clarke_no_memory(err);
    if (status == CLARKE_OK && known)
      compare(&open, r, s, exact);
    if (exact != NULL)
      clarke_matrices_free(exact, s->graph.n_parameters);
  }
  return status == CLARKE_ESTOPPED || status == CLARKE_EVAGUE ? CLARKE_OK : status;
}

clarke_status
clarke_record_find_zeros(clarke_record *r, clarke_audit_session *s, clarke_error *err)
{
  size_t n;
  clarke_status status;

  if (!s->zeros.known || r->zeros != NULL)
    return CLARKE_OK;
  r->zeros = calloc(s->graph.n_parameters + 1, sizeof *r->zeros);
  if (r->zeros == NULL)
    return clarke_no_memory(err);
  status = count_recorded(&n, r, s, err);
  return status == CLARKE_OK && n > 0 && clarke_audit_is_small(&s->graph) ? ask_exact(r, s, err) : status;
}

json_t *
clarke_record_zeros_json(const clarke_record *r, const clarke_audit_session *s)
{
  json_t *list = r->zeros != NULL ? json_array() : json_null();

  for (size_t p = 0; r->zeros != NULL && p < s->graph.n_parameters; p++) {
    const clarke_recorded_zeros *z = &r->zeros[p];

    if (z->n > 0)
      clarke_json_append(&list, json_pack("{s:o, s:I, s:I, s:I}", "parameter", clarke_json_text(s->graph.parameters[p].name), "recorded",
                                          (json_int_t)z->n, "exactly_zero", (json_int_t)z->zero, "not_zero", (json_int_t)z->not));
  }
  return list;
}
