/* Regions, arrangement by arrangement (regions.h). */
#include "region/regions.h"
#include "base/stop.h"
#include "region/crew.h"
#include "region/search.h"

#include <flint/fmpz_vec.h>
#include <stdlib.h>
#include <string.h>

static clarke_status explore(clarke_region_search *s, const fmpz_mat_t cone, const clarke_rays *rays, const clarke_witness *start, clarke_error *err);

/* --- rows ------------------------------------------------------------------------------------ */

#define MUST_SPLIT 2

/* The sign of the row in s->row over all that is left: -1, 1; 0: it is zero everywhere; or MUST_SPLIT. */
static int
place_row(const clarke_region_search *s)
{
  const slong dim = (slong)s->forms->dim;

  if (s->local && !fmpz_is_zero(s->row + dim))
    return fmpz_sgn(s->row + dim);
  if (_fmpz_vec_is_zero(s->row, dim))
    return fmpz_sgn(s->row + dim);
  if (s->rays->n > 0) {
    const int sign = clarke_rays_sign(s->rays, s->row);

    return sign != 0 ? sign : MUST_SPLIT;
  }
  if (s->rays->bounds != NULL) {
    const int sign = clarke_bounds_sign(s->rays, s->row, s->unit);

    return sign != 0 ? sign : MUST_SPLIT;
  }
  return MUST_SPLIT;
}

static void
mark(clarke_region_search *s, bool *what, size_t i)
{
  what[i] = true;
  s->done[s->n_done++] = i;
}

static void
take_back(clarke_region_search *s, size_t n)
{
  while (s->n_done > n) {
    const size_t i = s->done[--s->n_done];

    if (s->known[i])
      s->known[i] = false;
    else
      s->asked[i] = false;
  }
}

/* --- what is known --------------------------------------------------------------------------- */

static bool
arguments_known(const clarke_region_search *s, size_t i)
{
  const clarke_sum *sum = &s->forms->sum[i];
  const size_t *in = sum->in != NULL ? sum->in : s->forms->p->instruction[i].in;
  const size_t n = sum->in != NULL ? sum->n : s->forms->p->instruction[i].n_in;

  for (size_t j = 0; j < n; j++)
    if (!s->known[in[j]])
      return false;
  return true;
}

static void
settle(clarke_region_search *s, size_t i, size_t piece)
{
  clarke_forms_compute(s->forms, i, piece);
  mark(s, s->known, i);
}

/* The piece under the sides of its kinks. CLARKE_NO_SIDE where the argument is constant at one. */
static void
settle_piecewise(clarke_region_search *s, size_t i)
{
  const clarke_instruction *at = &s->forms->p->instruction[i];
  size_t piece = 0;
  bool rests = false;

  for (size_t k = 0; k < at->pieces->n_kinks; k++) {
    if (clarke_forms_is_smooth(at, k))
      continue;
    rests = rests || s->side[CLARKE_MAX_KINKS * i + k] == 0;
    piece = s->side[CLARKE_MAX_KINKS * i + k] > 0 ? k + 1 : piece;
  }
  s->choice[i] = rests ? CLARKE_NO_SIDE : (unsigned char)piece;
  settle(s, i, piece);
}

/* Sides that are a matter of course; the others become questions. */
static void
ask_piecewise(clarke_region_search *s, clarke_region_level *l, size_t i)
{
  const clarke_instruction *at = &s->forms->p->instruction[i];
  const size_t before = l->n;

  for (size_t k = 0; k < at->pieces->n_kinks; k++) {
    int sign;

    if (clarke_forms_is_smooth(at, k))
      continue;
    clarke_forms_kink(s->row, s->forms, i, k);
    sign = place_row(s);
    if (sign == MUST_SPLIT)
      l->question[l->n++] = (clarke_region_question){i, k};
    else
      s->side[CLARKE_MAX_KINKS * i + k] = (signed char)sign;
  }
  if (l->n == before)
    settle_piecewise(s, i);
  else
    mark(s, s->asked, i);
}

/* Can candidate a be the largest, as far as differences tell that are a matter of course? Of equal ones the first can. */
static bool
may_win(const clarke_region_search *s, size_t i, size_t a)
{
  const clarke_instruction *at = &s->forms->p->instruction[i];

  for (size_t b = 0; b < at->n_in; b++) {
    int sign = 1;

    if (b != a) {
      clarke_forms_difference(s->row, s->forms, i, a, b);
      sign = place_row(s);
    }
    if (sign < 0 || (sign == 0 && b < a))
      return false;
  }
  return true;
}

/* *fork = i, unless one is to come before or the winner is a matter of course. */
static void
ask_order(clarke_region_search *s, size_t *fork, size_t i)
{
  const clarke_instruction *at = &s->forms->p->instruction[i];
  size_t winners = 0, winner = 0;

  for (size_t a = 0; a < at->n_in && winners < 2; a++)
    if (may_win(s, i, a)) {
      winner = a;
      winners++;
    }
  if (winners == 1) {
    s->choice[i] = (unsigned char)winner;
    settle(s, i, winner);
  } else if (*fork == CLARKE_NONE)
    *fork = i;
}

/* One live instruction, if it can be. */
static void
take(clarke_region_search *s, clarke_region_level *l, size_t *fork, size_t i)
{
  const clarke_do kind = s->forms->p->instruction[i].kind;

  if (s->known[i] || !arguments_known(s, i))
    return;
  if (kind == CLARKE_DO_PIECEWISE && s->asked[i])
    settle_piecewise(s, i);
  else if (kind == CLARKE_DO_PIECEWISE)
    ask_piecewise(s, l, i);
  else if (kind == CLARKE_DO_ORDER)
    ask_order(s, fork, i);
  else
    settle(s, i, 0);
}

/* Computes all that is affine by now. What must be decided next is in l, or *fork is a maximum. */
static clarke_status
sweep(clarke_region_search *s, clarke_region_level *l, size_t *fork, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  *fork = CLARKE_NONE;
  for (size_t k = 0; k < s->forms->n_live && status == CLARKE_OK; k++) {
    if (k % 256 == 255)
      status = clarke_work_check(err);
    take(s, l, fork, s->forms->live[k]);
  }
  return status;
}

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
  for (size_t i = l->above; from->n > 0 && i < l->rows->n && status == CLARKE_OK; i++) {
    clarke_rays cut = {0};

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
  status = explore(s, cone, rays, w, err);
  fmpz_mat_clear(cone);
  clarke_rays_clear(&cut);
  *go_on = !s->ended;
  return status;
}

static clarke_status
enumerate(clarke_region_level *l, const fmpz_mat_t integers, const clarke_witness *start, clarke_error *err)
{
  const clarke_sign_visitor alone = {.context = l, .leaf = clarke_region_search_follow};
  clarke_regions *r = l->s->result;
  clarke_rows rows = {0};
  clarke_sign_tree tree = {0};
  clarke_status status = clarke_rows_init(&rows, integers, err);

  l->rows = &rows;
  if (status == CLARKE_OK)
    status = l->threads > 1 ? clarke_crew_enumerate(&tree, l, start, err)
                            : clarke_sign_vectors(&tree, &rows, l->fixed, start, &alone, err);
  r->programs += tree.programs;
  r->circuits += tree.circuits;
  r->undecided = r->undecided || tree.undecided;
  r->stopped = r->stopped || tree.stopped;
  l->s->ended = l->s->ended || (status == CLARKE_OK && !tree.complete);
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
  clarke_region_level l = {.s = s, .rays = s->rays, .above = (size_t)fmpz_mat_nrows(cone), .fixed = (size_t)fmpz_mat_nrows(cone)};
  fmpz_mat_t all, some;
  clarke_status status;

  copy_cone(s, all, cone, at->n_in);
  for (size_t b = 0; b < at->n_in; b++)
    if (b != a && may[b]) {
      clarke_forms_difference(s->row, s->forms, i, a, b);
      put_row(s, all, l.fixed++);
    }
  s->choice[i] = (unsigned char)a;
  settle(s, i, a);
  fmpz_mat_window_init(some, all, 0, 0, (slong)l.fixed, (slong)s->width);
  status = enumerate(&l, some, NULL, err);
  fmpz_mat_window_clear(some);
  fmpz_mat_clear(all);
  take_back(s, before);
  return status;
}

static clarke_status
fork_on(clarke_region_search *s, size_t i, const fmpz_mat_t cone, clarke_error *err)
{
  const clarke_instruction *at = &s->forms->p->instruction[i];
  bool may[CLARKE_MAX_WIDTH + 1];
  clarke_status status = CLARKE_OK;

  if (at->n_in > CLARKE_MAX_WIDTH)
    return clarke_code_fail(s->forms->p, i, err, "a maximum of %zu entries; at most %d are supported", at->n_in, CLARKE_MAX_WIDTH);
  s->threads = 1;
  for (size_t a = 0; a < at->n_in; a++)
    may[a] = may_win(s, i, a);
  for (size_t a = 0; a < at->n_in && status == CLARKE_OK && !s->ended; a++)
    if (may[a])
      status = let_win(s, i, a, may, cone, err);
  return status;
}

static clarke_status
tell(clarke_region_search *s, const fmpz_mat_t cone, const clarke_witness *point, clarke_error *err)
{
  const clarke_region region = {s->forms, cone, point, s->choice};

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
  clarke_region_level l = {.s = s, .rays = rays};
  size_t fork;
  clarke_status status;

  s->rays = rays;
  l.question = malloc((CLARKE_MAX_KINKS * s->forms->kinks + 1) * sizeof *l.question);
  if (l.question == NULL)
    return clarke_no_memory(err);
  status = sweep(s, &l, &fork, err);
  if (status != CLARKE_OK)
    fork = CLARKE_NONE;
  else if (l.n > 0)
    status = split(s, &l, cone, start, err);
  else if (fork != CLARKE_NONE)
    status = fork_on(s, fork, cone, err);
  else
    status = tell(s, cone, start, err);
  take_back(s, before);
  s->rays = above;
  free(l.question);
  return status;
}

/* --- the whole ------------------------------------------------------------------------------- */

/* Leads from the first cone, which has no question, to the first arrangement. */
static clarke_status
begin(clarke_region_search *s, const fmpz_mat_t cone, clarke_error *err)
{
  clarke_rays rays = {0};
  clarke_region_level l = {.s = s, .rays = &rays, .above = (size_t)fmpz_mat_nrows(cone), .fixed = (size_t)fmpz_mat_nrows(cone)};
  clarke_status status = s->local ? CLARKE_OK : clarke_rays_of_box(&rays, cone, err);

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
  s->side = calloc(CLARKE_MAX_KINKS * n, sizeof *s->side);
  s->choice = malloc(n);
  s->done = malloc(2 * n * sizeof *s->done);
  s->row = _fmpz_vec_init((slong)s->forms->dim + 1);
  s->unit = malloc((s->forms->dim + 1) * sizeof *s->unit);
  if (s->known == NULL || s->asked == NULL || s->side == NULL || s->choice == NULL || s->done == NULL || s->unit == NULL)
    return clarke_no_memory(err);
  memset(s->choice, CLARKE_NO_SIDE, n);
  return CLARKE_OK;
}

void
clarke_region_search_clear(clarke_region_search *s)
{
  if (s->row != NULL)
    _fmpz_vec_clear(s->row, (slong)s->forms->dim + 1);
  free(s->known);
  free(s->asked);
  free(s->side);
  free(s->choice);
  free(s->done);
  free(s->unit);
  memset(s, 0, sizeof *s);
}

clarke_status
clarke_regions_find(clarke_regions *r, clarke_forms *f, const fmpz_mat_struct *cone, size_t threads, clarke_region_visitor visit,
                    void *context, clarke_error *err)
{
  const bool local = cone == NULL;
  clarke_region_search s = {.result = r, .forms = f, .local = local, .width = f->dim + !local, .visit = visit, .context = context,
                     .threads = threads};
  fmpz_mat_t none;
  clarke_status status;

  memset(r, 0, sizeof *r);
  fmpz_mat_init(none, 0, (slong)f->dim);
  status = clarke_region_search_init(&s, err);
  if (status == CLARKE_OK)
    status = begin(&s, local ? none : cone, err);
  r->complete = status == CLARKE_OK && !s.ended;
  clarke_region_search_clear(&s);
  fmpz_mat_clear(none);
  return status;
}

clarke_status
clarke_regions_inside(clarke_regions *r, clarke_forms *f, const fmpz_mat_t cone, clarke_region_visitor visit, void *context,
                      clarke_error *err)
{
  return clarke_regions_find(r, f, cone, 1, visit, context, err);
}

clarke_status
clarke_regions_around(clarke_regions *r, clarke_forms *f, clarke_region_visitor visit, void *context, clarke_error *err)
{
  return clarke_regions_find(r, f, NULL, 1, visit, context, err);
}
