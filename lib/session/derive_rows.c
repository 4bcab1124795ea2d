/* The numbers of a derivation as text, for both kinds of report. */
#include "session/derive.h"

#include <stdlib.h>
#include <string.h>

static void
vectors_clear(clarke_vectors *v)
{
  for (size_t i = 0; i < v->n * v->dim; i++)
    free(v->text[i]);
  free(v->text);
  memset(v, 0, sizeof *v);
}

/* Makes room for one more row; its texts are NULL until set. */
static char **
new_row(clarke_vectors *v, size_t dim)
{
  char **grown = realloc(v->text, ((v->n + 1) * dim + 1) * sizeof *grown);

  if (grown == NULL)
    return NULL;
  v->text = grown;
  v->dim = dim;
  v->n++;
  memset(&v->text[(v->n - 1) * dim], 0, dim * sizeof *v->text);
  return &v->text[(v->n - 1) * dim];
}

static clarke_status
add_rationals(clarke_vectors *v, mpq_t *x, size_t n, clarke_error *err)
{
  char **row = new_row(v, n);

  for (size_t i = 0; row != NULL && i < n; i++)
    if ((row[i] = mpq_get_str(NULL, 10, x[i])) == NULL)
      return clarke_no_memory(err);
  v->known = row != NULL;
  return row != NULL ? CLARKE_OK : clarke_no_memory(err);
}

static clarke_status
add_numbers(clarke_vectors *v, const clarke_number *x, size_t n, clarke_error *err)
{
  char **row = new_row(v, n);

  for (size_t i = 0; row != NULL && i < n; i++)
    if ((row[i] = clarke_number_text(&x[i])) == NULL)
      return clarke_no_memory(err);
  v->known = row != NULL;
  return row != NULL ? CLARKE_OK : clarke_no_memory(err);
}

/* A set of rational vectors, sorted as it is; known even when it is empty. */
static clarke_status
add_points(clarke_vectors *v, const clarke_points *s, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < s->n && status == CLARKE_OK; i++)
    status = add_rationals(v, s->entry + i * s->dim, s->dim, err);
  v->known = true;
  return status;
}

static clarke_status
fill_value(clarke_derive_text *t, const clarke_derivation *d, clarke_error *err)
{
  const clarke_code *p = d->p;
  clarke_number *value = clarke_numbers(p->n_outputs);
  clarke_status status = CLARKE_OK;
  bool known = !d->execution.open;

  if (value == NULL)
    return clarke_no_memory(err);
  for (size_t o = 0; o < p->n_outputs; o++) {
    known = known && d->execution.live[p->output[o]];
    if (known)
      clarke_number_set(&value[o], &d->execution.value[p->output[o]]);
  }
  if (known)
    status = add_numbers(&t->value, value, p->n_outputs, err);
  clarke_numbers_free(value, p->n_outputs);
  return status;
}

/* --- gradients that are known as enclosures --------------------------------------------------- */

typedef struct {
  const clarke_pattern *pattern;
  size_t dim;
} ranked;

/* By middle of the enclosures: an order for the eye. */
static int
by_size(const void *a, const void *b)
{
  const ranked *x = a, *y = b;

  for (size_t i = 0; i < x->dim; i++) {
    double u = clarke_number_double(&x->pattern->gradient[i]);
    double v = clarke_number_double(&y->pattern->gradient[i]);

    if (u != v)
      return u < v ? -1 : 1;
  }
  return 0;
}

/* Does row r read as the one before it? */
static bool
repeats(const clarke_vectors *v, size_t r)
{
  for (size_t i = 0; r > 0 && i < v->dim; i++)
    if (strcmp(v->text[r * v->dim + i], v->text[(r - 1) * v->dim + i]) != 0)
      return false;
  return r > 0;
}

static void
drop_last(clarke_vectors *v)
{
  v->n--;
  for (size_t i = 0; i < v->dim; i++)
    free(v->text[v->n * v->dim + i]);
}

/* The gradients of all realized patterns; those that print alike once. */
static clarke_status
add_patterns(clarke_vectors *v, const clarke_derivation *d, clarke_error *err)
{
  const clarke_patterns *t = &d->patterns;
  ranked *order = malloc((t->n + 1) * sizeof *order);
  clarke_status status = CLARKE_OK;
  size_t n = 0;

  if (order == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < t->n; i++)
    if (t->pattern[i].realized)
      order[n++] = (ranked){&t->pattern[i], d->dim};
  qsort(order, n, sizeof *order, by_size);
  for (size_t i = 0; i < n && status == CLARKE_OK; i++) {
    status = add_numbers(v, order[i].pattern->gradient, d->dim, err);
    if (status == CLARKE_OK && repeats(v, v->n - 1))
      drop_last(v);
  }
  v->known = true;
  free(order);
  return status;
}

/* One pattern fills a neighbourhood: its gradient is the whole set, be it an enclosure. */
static bool
is_one_gradient(const clarke_derivation *d)
{
  return d->patterns.all_known && d->patterns.n == 1 && !d->patterns.jumps &&
         d->lipschitz;
}

static clarke_status
fill_limits(clarke_derive_text *t, const clarke_derivation *d, clarke_error *err)
{
  clarke_status status;

  if (d->execution.open)
    return CLARKE_OK;
  if (d->sets_known) {
    status = add_points(&t->bouligand, &d->bouligand, err);
    return status == CLARKE_OK ? add_points(&t->clarke, &d->clarke, err) : status;
  }
  if (d->patterns.cones && d->lipschitz && d->bouligand.n > 0) /* of which the vertices are not known */
    return add_points(&t->bouligand, &d->bouligand, err);
  if (!is_one_gradient(d))
    return d->patterns.jumps || !d->lipschitz ? CLARKE_OK : add_patterns(&t->realized, d, err);
  status = add_patterns(&t->bouligand, d, err);
  return status == CLARKE_OK ? add_patterns(&t->clarke, d, err) : status;
}

static clarke_status
fill_conservative(clarke_derive_text *t, const clarke_derivation *d, clarke_error *err)
{
  const clarke_conservative *c = &d->conservative;

  if (d->execution.open)
    return CLARKE_OK;
  if (d->zone == CLARKE_ZONE_REGULAR) /* no kink, no choice */
    return add_numbers(&t->conservative, d->ad, d->dim, err);
  return c->known && c->enumerated ? add_points(&t->conservative, &c->vertices, err) : CLARKE_OK;
}

static clarke_status
fill_declared(clarke_derive_text *t, const clarke_derivation *d, clarke_error *err)
{
  const clarke_representation *r = &d->representation;
  clarke_status status = CLARKE_OK;

  if (!r->declared)
    return CLARKE_OK;
  if (r->selection_known)
    status = add_points(&t->selection, &r->selection, err);
  if (status == CLARKE_OK && r->associated != NULL)
    status = add_rationals(&t->associated, r->associated, t->width, err);
  return status;
}

void
clarke_derive_text_init(clarke_derive_text *t)
{
  memset(t, 0, sizeof *t);
}

void
clarke_derive_text_clear(clarke_derive_text *t)
{
  clarke_vectors *all[] = {&t->value,    &t->ad,           &t->bouligand, &t->clarke,
                           &t->realized, &t->conservative, &t->selection, &t->associated,
                           &t->least};

  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    vectors_clear(all[i]);
  for (size_t i = 0; i < t->n_touched; i++)
    clarke_touched_text_clear(&t->touched[i]);
  free(t->touched);
  for (size_t f = 0; f < 4; f++) {
    vectors_clear(&t->rounded[f].value);
    vectors_clear(&t->rounded[f].ad);
  }
}

static clarke_status
add_ad(clarke_derive_text *t, const clarke_derivation *d, clarke_error *err)
{
  clarke_status status = add_numbers(&t->ad, d->ad, d->dim, err);

  for (size_t k = 0; k < d->dim && status == CLARKE_OK && d->magnitude != NULL; k++)
    if (d->magnitude[k] != CLARKE_FINITE) {
      free(t->ad.text[k]);
      t->ad.text[k] = strdup(clarke_magnitude_name(d->magnitude[k]));
      if (t->ad.text[k] == NULL)
        status = clarke_no_memory(err);
    }
  return status;
}

clarke_status
clarke_derive_text_fill(clarke_derive_text *t, const clarke_derive_session *s,
                        const clarke_derivation *d, clarke_error *err)
{
  clarke_status status;

  t->rows = d->p->n_outputs > 1 || (d->p->output_vector && !s->network);
  t->n_outputs = d->p->n_outputs;
  t->width = clarke_code_wrt_count(d->p);
  status = fill_value(t, d, err);
  if (status == CLARKE_OK && !d->execution.open)
    status = add_ad(t, d, err);
  if (status == CLARKE_OK)
    status = clarke_derive_touched(t, s, &d->execution, d->profile, err);
  if (status == CLARKE_OK)
    status = fill_limits(t, d, err);
  if (status == CLARKE_OK)
    status = fill_conservative(t, d, err);
  if (status == CLARKE_OK)
    status = fill_declared(t, d, err);
  if (status == CLARKE_OK && d->least_known)
    status = add_rationals(&t->least, d->least, d->dim, err);
  return status == CLARKE_OK ? clarke_derive_floats(t, s, d, err) : status;
}
