/* Pieces along a segment, and the integral over them (segment.h). */
#include "session/segment.h"

#include "base/room.h"
#include "base/stop.h"
#include "base/text.h"
#include "program/execute.h"
#include "proof/text.h"
#include "proof/write_segment.h"

#include <flint/fmpq.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  clarke_segment *s;
  const clarke_code *p;
  bool (*go_on)(size_t pieces);
} collection;

void
clarke_segment_clear(clarke_segment *s)
{
  for (size_t k = 0; k < s->n; k++) {
    mpq_clears(s->piece[k].from, s->piece[k].to, NULL);
    clarke_rationals_free(s->piece[k].slope, s->n_outputs);
  }
  free(s->piece);
  clarke_rationals_free(s->integral, s->integral != NULL ? s->n_outputs : 0);
  clarke_rationals_free(s->difference, s->difference != NULL ? s->n_outputs : 0);
  memset(s, 0, sizeof *s);
}

/* --- pieces ---------------------------------------------------------------------------------- */

/* The rows a t + b > 0 of a region leave the interval from the largest -b/a with a > 0 to the least with a < 0. */
static void
set_interval(mpq_t from, mpq_t to, const fmpz_mat_struct *cone)
{
  fmpq_t root, low, high;

  fmpq_init(root);
  fmpq_init(low);
  fmpq_init(high);
  fmpq_set_si(high, 1, 1);
  for (slong i = 0; i < fmpz_mat_nrows(cone); i++) {
    const fmpz *a = fmpz_mat_entry(cone, i, 0), *b = fmpz_mat_entry(cone, i, 1);

    if (fmpz_is_zero(a))
      continue;
    fmpq_set_fmpz_frac(root, b, a);
    fmpq_neg(root, root);
    if (fmpz_sgn(a) > 0 && fmpq_cmp(root, low) > 0)
      fmpq_set(low, root);
    else if (fmpz_sgn(a) < 0 && fmpq_cmp(root, high) < 0)
      fmpq_set(high, root);
  }
  fmpq_get_mpq(from, low);
  fmpq_get_mpq(to, high);
  fmpq_clear(root);
  fmpq_clear(low);
  fmpq_clear(high);
}

/* The slope of the region's affine function, which AD's is to be. */
static clarke_status
take_region(void *context, bool *go_on, const clarke_region *region, clarke_error *err)
{
  collection *c = context;
  clarke_segment *s = c->s;
  clarke_segment_piece *piece;

  if (!clarke_room(&s->piece, &s->room, s->n + 1, sizeof *s->piece))
    return clarke_no_memory(err);
  piece = &s->piece[s->n];
  piece->slope = clarke_rationals(s->n_outputs);
  if (piece->slope == NULL)
    return clarke_no_memory(err);
  mpq_inits(piece->from, piece->to, NULL);
  clarke_work_keep(4 * sizeof *s->piece);
  s->n++;
  set_interval(piece->from, piece->to, region->cone);
  for (size_t o = 0; o < s->n_outputs; o++) {
    const size_t i = c->p->output[o];

    fmpz_get_mpz(mpq_numref(piece->slope[o]), clarke_forms_at(region->forms, i));
    fmpz_get_mpz(mpq_denref(piece->slope[o]), region->forms->den + i);
    mpq_canonicalize(piece->slope[o]);
  }
  *go_on = c->go_on == NULL || c->go_on(s->n);
  return CLARKE_OK;
}

static int
compare_pieces(const void *a, const void *b)
{
  return mpq_cmp(((const clarke_segment_piece *)a)->from, ((const clarke_segment_piece *)b)->from);
}

typedef struct {
  mpq_t *a, *b;
} ends;

/* A + t (B - A) */
static void
set_entry(mpq_t *form, size_t entry, void *context)
{
  const ends *e = context;

  mpq_sub(form[0], e->b[entry], e->a[entry]);
  mpq_set(form[1], e->a[entry]);
}

/* The rows t > 0 and 1 - t > 0. */
static clarke_status
find_pieces(clarke_segment *s, clarke_region_function *f, mpq_t *a, mpq_t *b, bool (*go_on)(size_t), clarke_error *err)
{
  collection c = {s, &f->program, go_on};
  ends e = {a, b};
  clarke_forms forms;
  fmpz_mat_t cone;
  clarke_status status;

  fmpz_mat_init(cone, 2, 2);
  fmpz_one(fmpz_mat_entry(cone, 0, 0));
  fmpz_set_si(fmpz_mat_entry(cone, 1, 0), -1);
  fmpz_one(fmpz_mat_entry(cone, 1, 1));
  status = clarke_forms_init(&forms, &f->program, 1, set_entry, &e, err);
  if (status == CLARKE_OK)
    status = clarke_regions_inside(&s->regions, &forms, cone, take_region, &c, err);
  if (s->n > 0) /* none is told when the work stops before the first */
    qsort(s->piece, s->n, sizeof *s->piece, compare_pieces);
  fmpz_mat_clear(cone);
  clarke_forms_clear(&forms);
  return status;
}

/* --- the integral ---------------------------------------------------------------------------- */

/* x = a + t (b - a) */
static void
set_point(mpq_t *x, mpq_t *a, mpq_t *b, const mpq_t t, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    mpq_sub(x[i], b[i], a[i]);
    mpq_mul(x[i], x[i], t);
    mpq_add(x[i], x[i], a[i]);
  }
}

/* to += sign * the outputs at x. */
static clarke_status
add_values(mpq_t *to, const clarke_code *p, mpq_t *x, int sign, clarke_error *err)
{
  clarke_execution e;
  clarke_status status;

  clarke_execution_init(&e);
  status = clarke_execute(&e, p, x, err);
  for (size_t o = 0; status == CLARKE_OK && o < p->n_outputs; o++) {
    const clarke_number *value = &e.value[p->output[o]];

    if (sign > 0)
      mpq_add(to[o], to[o], value->q);
    else
      mpq_sub(to[o], to[o], value->q);
  }
  clarke_execution_clear(&e);
  return status;
}

/* slope = <b - a, AD>, AD's output being that at x. */
static clarke_status
ad_slope(mpq_t *slope, const clarke_region_function *f, mpq_t *x, mpq_t *a, mpq_t *b, const clarke_profile *profile,
         clarke_error *err)
{
  const size_t outputs = f->program.n_outputs, n = clarke_code_wrt_count(&f->program);
  clarke_number *gradient = clarke_numbers(outputs * n);
  clarke_execution e;
  mpq_t term;
  clarke_status status;

  if (gradient == NULL)
    return clarke_no_memory(err);
  mpq_init(term);
  clarke_execution_init(&e);
  status = clarke_execute(&e, &f->program, x, err);
  if (status == CLARKE_OK)
    status = clarke_execution_ad(gradient, &e, profile, err);
  for (size_t o = 0; status == CLARKE_OK && o < outputs; o++) {
    mpq_set_ui(slope[o], 0, 1);
    for (size_t i = 0, k = 0; i < f->n; i++) {
      if (!clarke_code_varies(&f->program, i))
        continue;
      mpq_sub(term, b[i], a[i]);
      mpq_mul(term, term, gradient[o * n + k++].q);
      mpq_add(slope[o], slope[o], term);
    }
  }
  clarke_execution_clear(&e);
  clarke_numbers_free(gradient, outputs * n);
  mpq_clear(term);
  return status;
}

/* The simplest number in the middle third of a piece. */
static void
choose_inside(mpq_t t, const clarke_segment_piece *piece)
{
  fmpq_t low, high, width, third;

  fmpq_init(low);
  fmpq_init(high);
  fmpq_init(width);
  fmpq_init(third);
  fmpq_set_mpq(low, piece->from);
  fmpq_set_mpq(high, piece->to);
  fmpq_set_si(third, 1, 3);
  fmpq_sub(width, high, low);
  fmpq_mul(third, third, width);
  fmpq_add(low, low, third);
  fmpq_sub(high, high, third);
  fmpq_simplest_between(third, low, high);
  fmpq_get_mpq(t, third);
  fmpq_clear(third);
  fmpq_clear(width);
  fmpq_clear(high);
  fmpq_clear(low);
}

/* One piece's share of the integral, by AD at a point inside. */
static clarke_status
add_piece(clarke_segment *s, clarke_segment_piece *piece, const clarke_region_function *f, mpq_t *a, mpq_t *b,
          const clarke_profile *profile, clarke_error *err)
{
  mpq_t *x = clarke_rationals(f->n), *slope = clarke_rationals(s->n_outputs), t;
  clarke_status status = x != NULL && slope != NULL ? CLARKE_OK : clarke_no_memory(err);

  mpq_init(t);
  choose_inside(t, piece);
  if (status == CLARKE_OK) {
    set_point(x, a, b, t, f->n);
    status = ad_slope(slope, f, x, a, b, profile, err);
  }
  mpq_sub(t, piece->to, piece->from);
  for (size_t o = 0; status == CLARKE_OK && o < s->n_outputs; o++) {
    s->agree = s->agree && mpq_equal(slope[o], piece->slope[o]);
    mpq_set(piece->slope[o], slope[o]);
    mpq_mul(slope[o], slope[o], t);
    mpq_add(s->integral[o], s->integral[o], slope[o]);
  }
  clarke_rationals_free(x, x != NULL ? f->n : 0);
  clarke_rationals_free(slope, slope != NULL ? s->n_outputs : 0);
  mpq_clear(t);
  return status;
}

static clarke_status
integrate(clarke_segment *s, const clarke_region_function *f, mpq_t *a, mpq_t *b, const clarke_profile *profile, clarke_error *err)
{
  clarke_status status;

  s->integral = clarke_rationals(s->n_outputs);
  s->difference = clarke_rationals(s->n_outputs);
  if (s->integral == NULL || s->difference == NULL)
    return clarke_no_memory(err);
  s->agree = true;
  status = add_values(s->difference, &f->program, b, 1, err);
  if (status == CLARKE_OK)
    status = add_values(s->difference, &f->program, a, -1, err);
  for (size_t k = 0; k < s->n && status == CLARKE_OK; k++)
    status = add_piece(s, &s->piece[k], f, a, b, profile, err);
  for (size_t o = 0; o < s->n_outputs; o++)
    s->agree = s->agree && mpq_equal(s->integral[o], s->difference[o]);
  return status;
}

clarke_status
clarke_segment_find(clarke_segment *s, clarke_region_function *f, mpq_t *a, mpq_t *b, const clarke_profile *profile,
                    bool (*go_on)(size_t pieces), clarke_error *err)
{
  clarke_status status;

  memset(s, 0, sizeof *s);
  s->n_outputs = f->program.n_outputs;
  status = f->wrt == NULL ? clarke_code_wrt(&f->program, NULL, 0, err) : CLARKE_OK;
  if (status == CLARKE_OK)
    status = find_pieces(s, f, a, b, go_on, err);
  if (status == CLARKE_OK && s->regions.complete)
    status = integrate(s, f, a, b, profile, err);
  if (status != CLARKE_ESTOPPED || s->n == 0)
    return status;
  clarke_rationals_free(s->integral, s->integral != NULL ? s->n_outputs : 0);
  s->integral = NULL;
  s->regions.stopped = true;
  return CLARKE_OK;
}

clarke_status
clarke_segment_prove(const clarke_segment *s, const clarke_region_function *f, const char *model, mpq_t *a, mpq_t *b,
                     const char *path, clarke_error *err)
{
  const clarke_segment_statement statement = {.function = {clarke_base_name(model), f->sha256, f->output}, .network = f->network,
                                              .n = f->n, .n_outputs = s->n_outputs, .pieces = s->n,
                                              .from = a, .to = b, .integral = s->integral,
                                              .held = f->wrt != NULL ? &f->program : NULL};
  clarke_text text;
  const clarke_status status = clarke_segment_proof_begin(&text, &statement, err);

  if (status != CLARKE_OK)
    return status;
  for (size_t k = 0; k < s->n; k++)
    clarke_segment_proof_piece(&text, s->piece[k].to, s->piece[k].slope, s->n_outputs);
  return clarke_proof_save(&text, status, path, err);
}
