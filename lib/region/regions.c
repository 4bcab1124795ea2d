/* Regions, arrangement by arrangement (regions.h). */
#include "region/regions.h"

#include "base/stop.h"
#include "region/workers.h"
#include "region/sweep.h"

#include <flint/fmpz_vec.h>
#include <stdlib.h>
#include <string.h>

static clarke_status explore(clarke_region_search *s, const fmpz_mat_t cone, const clarke_rays *rays, const clarke_witness *start, clarke_error *err);

/* --- arrangements ---------------------------------------------------------------------------- */

/* The rays of the cone above, less what is on the wrong side of the level's rows. */
static clarke_status
cut_rays(clarke_rays *rays, const clarke_region_level *l, const signed char *sign, clarke_error *err)
{
  const clarke_rays *from = l->rays;
  clarke_status status = CLARKE_OK;

  memset(rays, 0, sizeof *rays);
  rays->width = from->width;
  rays->bounds = from->bounds; /* those of the whole box, which owns them */
  rays->box = from->box;
  for (size_t i = l->above; from->n > 0 && i < l->rows->n && status == CLARKE_OK; i++) {
    clarke_rays cut = {0};

    clarke_work_spend(4 * from->n * from->width + 16);
    status = clarke_rays_clip(&cut, from, fmpz_mat_entry(l->rows->exact, (slong)i, 0), sign[i], err);
    clarke_rays_clear(rays);
    *rays = cut;
    from = rays;
  }
  return status;
}

/* The cone's rows and the level's, turned to their signs; where rays are known, facets alone. */
static void
set_cone(fmpz_mat_t to, const clarke_rows *rows, const signed char *sign, const clarke_rays *rays)
{
  fmpz_mat_t all;
  slong n = 0;

  clarke_work_spend(rows->n * (rows->dim + 2) / 2 + rows->n * rays->n * rays->width);
  fmpz_mat_init(all, (slong)rows->n, (slong)rows->dim);
  for (size_t i = 0; i < rows->n; i++) {
    const fmpz *row = fmpz_mat_entry(rows->exact, (slong)i, 0);

    if (rays->n > 0 && !clarke_rays_bounded_by(rays, row))
      continue;
    _fmpz_vec_scalar_mul_si(fmpz_mat_entry(all, n++, 0), row, (slong)rows->dim, sign[i]);
  }
  fmpz_mat_init(to, n, (slong)rows->dim);
  for (slong i = 0; i < n; i++)
    _fmpz_vec_swap(fmpz_mat_entry(to, i, 0), fmpz_mat_entry(all, i, 0), (slong)rows->dim);
  fmpz_mat_clear(all);
}

clarke_status
clarke_region_search_follow(void *context, bool *go_on, const signed char *sign, const clarke_witness *w, clarke_error *err)
{
  const clarke_region_level *l = context;
  clarke_region_search *s = l->s;
  const bool same = l->above == l->rows->n;
  clarke_rays cut;
  const clarke_rays *rays = same ? l->rays : &cut;
  fmpz_mat_t cone;
  clarke_status status = cut_rays(&cut, l, sign, err);

  if (status != CLARKE_OK)
    return status;
  for (size_t q = 0; q < l->n; q++)
    s->side[CLARKE_MAX_KINKS * l->question[q].instruction + l->question[q].kink] = sign[l->fixed + q];
  set_cone(cone, l->rows, sign, rays);
  if (s->listener != NULL)
    status = s->listener->enter(s->listener->context, sign, err);
  if (status == CLARKE_OK)
    status = explore(s, cone, rays, w, err);
  fmpz_mat_clear(cone);
  clarke_rays_clear(&cut);
  *go_on = !s->ended;
  return status;
}

static clarke_status
tell_circuit(void *context, const clarke_circuit *c, clarke_error *err)
{
  const clarke_region_listener *to = ((clarke_region_level *)context)->s->listener;

  return to->circuit(to->context, c, err);
}

static clarke_status
tell_split(void *context, size_t row, clarke_error *err)
{
  const clarke_region_listener *to = ((clarke_region_level *)context)->s->listener;

  return to->split(to->context, row, err);
}

static clarke_status
tell_forced(void *context, size_t row, int sign, size_t circuit, clarke_error *err)
{
  const clarke_region_listener *to = ((clarke_region_level *)context)->s->listener;

  return to->forced(to->context, row, sign, circuit, err);
}

static clarke_status
enumerate(clarke_region_level *l, const fmpz_mat_t integers, const clarke_witness *start, clarke_error *err)
{
  const clarke_region_listener *to = l->s->listener;
  const clarke_sign_visitor told = {l, tell_circuit, tell_split, tell_forced, clarke_region_search_follow};
  const clarke_sign_visitor untold = {.context = l, .leaf = clarke_region_search_follow};
  clarke_regions *r = l->s->result;
  clarke_rows rows = {0};
  clarke_sign_tree tree = {0};
  clarke_status status = clarke_rows_init(&rows, integers, err);

  l->rows = &rows;
  if (status == CLARKE_OK && to != NULL)
    status = to->begin(to->context, &rows, l->above, l->fixed, l->winner, err);
  if (status == CLARKE_OK)
    status = l->threads > 1 ? clarke_workers_enumerate(&tree, l, start, err)
                            : clarke_sign_vectors(&tree, &rows, l->fixed, start, to != NULL ? &told : &untold, err);
  r->programs += tree.programs;
  r->circuits += tree.circuits;
  r->undecided = r->undecided || tree.undecided;
  r->stopped = r->stopped || tree.stopped;
  l->s->ended = l->s->ended || (status == CLARKE_OK && !tree.complete);
  if (status == CLARKE_OK && to != NULL)
    to->end(to->context);
  clarke_rows_clear(&rows);
  return status;
}

/* Row number `at` of a matrix from s->row. */
static void
put_row(const clarke_region_search *s, fmpz_mat_t to, size_t at)
{
  _fmpz_vec_set(fmpz_mat_entry(to, (slong)at, 0), s->row, (slong)s->width);
}

/* The cone's rows before room for more. */
static void
copy_cone(const clarke_region_search *s, fmpz_mat_t to, const fmpz_mat_t cone, size_t more)
{
  fmpz_mat_init(to, fmpz_mat_nrows(cone) + (slong)more, (slong)s->width);
  for (slong i = 0; i < fmpz_mat_nrows(cone); i++)
    _fmpz_vec_set(fmpz_mat_entry(to, i, 0), fmpz_mat_entry(cone, i, 0), (slong)s->width);
}

static clarke_status
split(clarke_region_search *s, clarke_region_level *l, const fmpz_mat_t cone, const clarke_witness *start, clarke_error *err)
{
  fmpz_mat_t all;
  clarke_status status;

  l->above = l->fixed = (size_t)fmpz_mat_nrows(cone);
  l->threads = s->threads;
  s->threads = 1;
  copy_cone(s, all, cone, l->n);
  for (size_t q = 0; q < l->n; q++) {
    clarke_forms_kink(s->row, s->forms, l->question[q].instruction, l->question[q].kink);
    put_row(s, all, l->fixed + q);
  }
  status = enumerate(l, all, start, err);
  fmpz_mat_clear(all);
  return status;
}

/* Candidate a is larger than each other one that may win. */
static clarke_status
let_win(clarke_region_search *s, size_t i, size_t a, const bool *may, const fmpz_mat_t cone, clarke_error *err)
{
  const clarke_instruction *at = &s->forms->p->instruction[i];
  const size_t before = s->n_done;
  clarke_region_level l = {.s = s, .rays = s->rays, .above = (size_t)fmpz_mat_nrows(cone), .fixed = (size_t)fmpz_mat_nrows(cone),
                           .winner = a};
  fmpz_mat_t all, some;
  clarke_status status;

  copy_cone(s, all, cone, at->n_in);
  for (size_t b = 0; b < at->n_in; b++)
    if (b != a && may[b]) {
      clarke_forms_difference(s->row, s->forms, i, a, b);
      put_row(s, all, l.fixed++);
    }
  s->choice[i] = (unsigned char)a;
  clarke_region_settle(s, i, a);
  fmpz_mat_window_init(some, all, 0, 0, (slong)l.fixed, (slong)s->width);
  status = enumerate(&l, some, NULL, err);
  fmpz_mat_window_clear(some);
  fmpz_mat_clear(all);
  clarke_region_take_back(s, before);
  return status;
}

static clarke_status
fork_on(clarke_region_search *s, size_t i, const fmpz_mat_t cone, clarke_error *err)
{
  const clarke_instruction *at = &s->forms->p->instruction[i];
  bool may[CLARKE_MAX_SORTED + 1];
  clarke_status status = CLARKE_OK;

  if (at->n_in > CLARKE_MAX_SORTED)
    return clarke_code_fail(s->forms->p, i, err, "a maximum of %zu entries; at most %d are supported", at->n_in, CLARKE_MAX_SORTED);
  s->threads = 1;
  for (size_t a = 0; a < at->n_in; a++)
    may[a] = clarke_region_may_win(s, i, a);
  for (size_t a = 0; a < at->n_in && status == CLARKE_OK && !s->ended; a++)
    if (may[a])
      status = let_win(s, i, a, may, cone, err);
  return status;
}

static clarke_status
tell(clarke_region_search *s, const fmpz_mat_t cone, const clarke_witness *point, clarke_error *err)
{
  const clarke_region region = {s->forms, cone, point, s->choice};

  clarke_work_spend((size_t)(fmpz_mat_nrows(cone) + 2) * s->width / 2 + 4 * s->forms->p->n_outputs * s->width + s->forms->n_live);
  if (clarke_work_beyond(clarke_work_counted())) { /* asked here, too, so that workers can tell the same ones */
    s->result->stopped = s->ended = true;
    return CLARKE_OK;
  }
  return clarke_region_search_tell(s, &region, err);
}

clarke_status
clarke_region_search_tell(clarke_region_search *s, const clarke_region *region, clarke_error *err)
{
  bool go_on = true;
  clarke_status status;

  s->result->regions++;
  status = s->visit(s->context, &go_on, region, err);
  s->ended = s->ended || !go_on;
  return status;
}

static clarke_status
explore(clarke_region_search *s, const fmpz_mat_t cone, const clarke_rays *rays, const clarke_witness *start, clarke_error *err)
{
  const size_t before = s->n_done;
  const clarke_rays *above = s->rays;
  clarke_region_level l = {.s = s, .rays = rays, .winner = CLARKE_NONE};
  size_t fork;
  clarke_status status;

  s->rays = rays;
  l.question = malloc((CLARKE_MAX_KINKS * s->forms->kinks + 1) * sizeof *l.question);
  if (l.question == NULL)
    return clarke_no_memory(err);
  status = clarke_region_sweep(s, &l, &fork, err);
  s->layers++;
  if (status != CLARKE_OK)
    fork = CLARKE_NONE;
  else if (s->layers > CLARKE_MOST_LAYERS && (l.n > 0 || fork != CLARKE_NONE))
    s->ended = s->result->deep = true;
  else if (l.n > 0)
    status = split(s, &l, cone, start, err);
  else if (fork != CLARKE_NONE)
    status = fork_on(s, fork, cone, err);
  else
    status = tell(s, cone, start, err);
  clarke_region_take_back(s, before);
  s->layers--;
  s->rays = above;
  free(l.question);
  return status;
}

/* --- the whole ------------------------------------------------------------------------------- */

/* Leads from the first cone, which has no question, to the first arrangement. Rays decide without circuits: not where a proof
 * listens. There the box's bounds do, as the checker repeats. */
static clarke_status
begin(clarke_region_search *s, const fmpz_mat_t cone, clarke_error *err)
{
  clarke_rays rays = {0};
  clarke_region_level l = {.s = s, .rays = &rays, .above = (size_t)fmpz_mat_nrows(cone), .fixed = (size_t)fmpz_mat_nrows(cone),
                           .winner = CLARKE_NONE};
  clarke_status status = CLARKE_OK;

  if (!s->local)
    status = (s->listener != NULL ? clarke_rays_of_bounds : clarke_rays_of_box)(&rays, cone, err);
  if (status == CLARKE_OK)
    status = enumerate(&l, cone, NULL, err);
  clarke_rays_clear(&rays);
  return status;
}

clarke_status
clarke_region_search_init(clarke_region_search *s, clarke_error *err)
{
  const size_t n = s->forms->p->n + 1;

  s->known = calloc(n, sizeof *s->known);
  s->asked = calloc(n, sizeof *s->asked);
  s->joined = calloc(n, sizeof *s->joined);
  s->side = calloc(CLARKE_MAX_KINKS * n, sizeof *s->side);
  s->choice = malloc(n);
  s->done = malloc(2 * n * sizeof *s->done);
  s->row = _fmpz_vec_init((slong)s->forms->dim + 1);
  s->unit = malloc((s->forms->dim + 1) * sizeof *s->unit);
  if (s->known == NULL || s->asked == NULL || s->joined == NULL || s->side == NULL || s->choice == NULL || s->done == NULL || s->unit == NULL)
    return clarke_no_memory(err);
  memset(s->choice, CLARKE_NO_SIDE, n);
  memcpy(s->joined, s->forms->needed, (n - 1) * sizeof *s->joined);
  for (size_t k = 0; k < s->forms->n_live; k++)
    s->joined[s->forms->live[k]] = false;
  return CLARKE_OK;
}

void
clarke_region_search_clear(clarke_region_search *s)
{
  if (s->row != NULL)
    _fmpz_vec_clear(s->row, (slong)s->forms->dim + 1);
  free(s->known);
  free(s->asked);
  free(s->joined);
  free(s->side);
  free(s->choice);
  free(s->done);
  free(s->unit);
  memset(s, 0, sizeof *s);
}

static clarke_status
find(clarke_regions *r, clarke_forms *f, const fmpz_mat_struct *cone, size_t threads, clarke_region_visitor visit, void *context,
     const clarke_region_listener *listener, clarke_error *err)
{
  const bool local = cone == NULL;
  clarke_region_search s = {.result = r, .forms = f, .local = local, .width = f->dim + !local, .visit = visit, .context = context,
                     .threads = threads, .listener = listener};
  fmpz_mat_t none;
  clarke_status status;

  memset(r, 0, sizeof *r);
  fmpz_mat_init(none, 0, (slong)f->dim);
  status = clarke_region_search_init(&s, err);
  if (status == CLARKE_OK)
    status = begin(&s, local ? none : cone, err);
  if (status == CLARKE_OK && clarke_work_beyond(clarke_work_counted()))
    r->stopped = s.ended = true;
  r->complete = status == CLARKE_OK && !s.ended;
  clarke_region_search_clear(&s);
  fmpz_mat_clear(none);
  return status;
}

clarke_status
clarke_regions_find(clarke_regions *r, clarke_forms *f, const fmpz_mat_struct *cone, size_t threads, clarke_region_visitor visit,
                    void *context, clarke_error *err)
{
  return find(r, f, cone, threads, visit, context, NULL, err);
}

clarke_status
clarke_regions_tell(clarke_regions *r, clarke_forms *f, const fmpz_mat_struct *cone, clarke_region_visitor visit, void *context,
                    const clarke_region_listener *listener, clarke_error *err)
{
  return find(r, f, cone, 1, visit, context, listener, err);
}

clarke_status
clarke_regions_inside(clarke_regions *r, clarke_forms *f, const fmpz_mat_t cone, clarke_region_visitor visit, void *context,
                      clarke_error *err)
{
  return clarke_regions_find(r, f, cone, 1, visit, context, err);
}
