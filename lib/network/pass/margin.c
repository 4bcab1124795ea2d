#include "network/pass/margin.h"

#include "network/pass/piecewise.h"

#include "exact/upward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Roundings of which an argument and a kink as doubles are off by less. */
#define ROUNDED 4

void
clarke_margins_init(clarke_margins *m)
{
  memset(m, 0, sizeof *m);
}

void
clarke_margins_clear(clarke_margins *m)
{
  clarke_margin_rows_free(m->at, m->n_steps);
  clarke_margins_init(m);
}

clarke_margin **
clarke_margin_rows(const clarke_graph *g, size_t n)
{
  clarke_margin **at = calloc(g->n_steps + 1, sizeof *at);

  for (size_t i = 0; at != NULL && i < g->n_steps; i++) {
    if (!clarke_step_has_kinks(&g->steps[i]))
      continue;
    at[i] = malloc((n + 1) * sizeof **at);
    if (at[i] == NULL) {
      clarke_margin_rows_free(at, g->n_steps);
      return NULL;
    }
    for (size_t j = 0; j < n; j++)
      at[i][j] = (clarke_margin){.least = INFINITY, .most = INFINITY};
  }
  return at;
}

void
clarke_margin_rows_free(clarke_margin **at, size_t n_steps)
{
  for (size_t i = 0; at != NULL && i < n_steps; i++)
    free(at[i]);
  free(at);
}

void
clarke_margin_forget(clarke_margin *m)
{
  *m = (clarke_margin){.least = 0, .most = INFINITY, .size = INFINITY};
}

void
clarke_margin_join(clarke_margin *m, const clarke_margin *other)
{
  clarke_margin_take(m, other->least, other->most, other->feature);
  clarke_margin_hold(m, other->size);
}

bool
clarke_margin_is_smooth(const clarke_step *s)
{
  return s->kind == CLARKE_PIECEWISE && (s->pieces.n_kinks == 0 || clarke_pieces_joined(&s->pieces, 0));
}

bool
clarke_margin_bends(const clarke_graph *g, const clarke_step *s, size_t feature)
{
  const clarke_pieces *p = &s->pieces;

  return s->kind != CLARKE_PIECEWISE || p->slope == CLARKE_NONE ||
         g->values[p->slope].real[p->slope_map != NULL ? p->slope_map[feature] : feature] != 1;
}

/* --- of one argument or window ---------------------------------------------------------------- */

/* Calls for each entry of the window that is certainly smaller than its largest. */
static size_t
next_smaller(const clarke_step *s, const clarke_matrix *x, clarke_branch place, size_t i, size_t j, size_t from)
{
  const size_t *entry = s->in[0].map + i * s->width;

  while (from < s->width && (entry[from] == CLARKE_NONE || from == (size_t)place ||
                             clarke_matrix_compare_entries(x, entry[from], entry[place], j) != -1))
    from++;
  return from;
}

static void
take_difference(double *least, double *most, double a, double b, double radius)
{
  const double d = fabs(a - b), slack = clarke_up_over(clarke_taken(ROUNDED, fabs(a) + fabs(b)) + radius, ROUNDED, CLARKE_TINY);

  *least = fmin(*least, fmax(d - slack, 0));
  *most = fmin(*most, d + 2 * slack);
}

/* The same of a step that is not smooth. */
static void
margin_of_kinked(double *least, double *most, const clarke_graph *g, const clarke_step *s, const clarke_matrix *x,
                 clarke_branch place, size_t i, size_t j)
{
  *least = *most = INFINITY;
  if (s->kind == CLARKE_PIECEWISE) {
    const double value = clarke_matrix_get_double(x, i, j), radius = clarke_matrix_radius(x, i, j);

    for (size_t k = 0; k < s->pieces.n_kinks && clarke_margin_bends(g, s, i); k++)
      take_difference(least, most, value, mpq_get_d(s->pieces.kink[k]), radius);
    return;
  }
  const size_t *entry = s->in[0].map + i * s->width, best = entry[place];

  for (size_t p = next_smaller(s, x, place, i, j, 0); p < s->width; p = next_smaller(s, x, place, i, j, p + 1))
    take_difference(least, most, clarke_matrix_get_double(x, best, j), clarke_matrix_get_double(x, entry[p], j),
                    clarke_up_add(clarke_matrix_radius(x, best, j), clarke_matrix_radius(x, entry[p], j)));
}

void
clarke_margin_of(double *least, double *most, const clarke_graph *g, const clarke_step *s, const clarke_matrix *x,
                 clarke_branch place, size_t i, size_t j)
{
  *least = *most = INFINITY;
  if (!clarke_margin_is_smooth(s))
    margin_of_kinked(least, most, g, s, x, place, i, j);
}

/* distance = the smaller of itself and |value - other| - radius, which is 0 at least; *nearer: it is the latter. */
static bool
take_exactly(mpq_t distance, bool first, const mpq_t value, const mpq_t other, double radius)
{
  bool nearer;
  mpq_t d, r;

  mpq_inits(d, r, NULL);
  mpq_sub(d, value, other);
  mpq_abs(d, d);
  mpq_set_d(r, isfinite(radius) ? radius : 0);
  mpq_sub(d, d, r);
  if (mpq_sgn(d) < 0 || !isfinite(radius)) /* on this side of a kink by its factors; where a number is too large, nothing else is known */
    mpq_set_ui(d, 0, 1);
  nearer = first || mpq_cmp(d, distance) < 0;
  if (nearer)
    mpq_set(distance, d);
  mpq_clears(d, r, NULL);
  return nearer;
}

static void
window_exactly(mpq_t distance, bool *exact, const clarke_step *s, const clarke_matrix *x, clarke_branch place, size_t i, size_t j)
{
  const size_t *entry = s->in[0].map + i * s->width, best = entry[place];
  bool first = true;
  mpq_t largest, other;

  mpq_inits(largest, other, NULL);
  clarke_matrix_get(largest, x, best, j);
  for (size_t p = next_smaller(s, x, place, i, j, 0); p < s->width; p = next_smaller(s, x, place, i, j, p + 1)) {
    const double radius = clarke_up_add(clarke_matrix_radius(x, best, j), clarke_matrix_radius(x, entry[p], j));

    clarke_matrix_get(other, x, entry[p], j);
    if (take_exactly(distance, first, largest, other, radius))
      *exact = radius == 0;
    first = false;
  }
  mpq_clears(largest, other, NULL);
}

void
clarke_margin_exactly(mpq_t distance, bool *exact, size_t *kink, const clarke_step *s, const clarke_matrix *x,
                      clarke_branch place, size_t i, size_t j)
{
  mpq_t value;

  *kink = 0;
  if (s->kind == CLARKE_MAX) {
    window_exactly(distance, exact, s, x, place, i, j);
    return;
  }
  *exact = clarke_matrix_radius(x, i, j) == 0;
  mpq_init(value);
  clarke_matrix_get(value, x, i, j);
  for (size_t k = 0; k < s->pieces.n_kinks; k++)
    if (take_exactly(distance, k == 0, value, s->pieces.kink[k], clarke_matrix_radius(x, i, j)))
      *kink = k;
  mpq_clear(value);
}

/* --- of a pass -------------------------------------------------------------------------------- */

double
clarke_margin_size(const clarke_matrix *x, size_t i, size_t j)
{
  return clarke_up_by(fabs(clarke_matrix_get_double(x, i, j)), ROUNDED) + clarke_up_by(clarke_matrix_radius(x, i, j), ROUNDED);
}

void
clarke_margin_sizes(clarke_margin *m, const clarke_graph *g, const clarke_step *s, const clarke_matrix *x, size_t j)
{
  for (size_t c = 0; c < clarke_margin_compared(g, s); c++)
    if (clarke_margin_row(s, c) != CLARKE_NONE)
      clarke_margin_hold(m, clarke_margin_size(x, clarke_margin_row(s, c), j));
  for (size_t k = 0; s->kind == CLARKE_PIECEWISE && k < s->pieces.n_kinks; k++)
    clarke_margin_hold(m, clarke_up_by(fabs(mpq_get_d(s->pieces.kink[k])), ROUNDED));
}

void
clarke_margin_column(clarke_margin *m, const clarke_graph *g, const clarke_step *s, const clarke_matrix *x,
                     const clarke_branch *place, size_t j)
{
  const bool smooth = clarke_margin_is_smooth(s);

  clarke_margin_sizes(m, g, s, x, j);
  for (size_t i = 0; i < g->values[s->out].count && !smooth; i++) {
    double least, most;

    if (place[i * x->cols + j] < 0)
      continue;
    margin_of_kinked(&least, &most, g, s, x, place[i * x->cols + j], i, j);
    clarke_margin_take(m, least, most, i);
  }
}
