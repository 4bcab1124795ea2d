/* Regions, arrangement by arrangement (regions.h). */
#include "region/regions.h"
#include "region/rays.h"

#include <flint/fmpz_vec.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  size_t instruction, kink;
} question;

typedef struct {
  clarke_regions *result;
  clarke_forms *forms;
  bool local;           /* around a point: rows have no last entry */
  size_t width;         /* of rows */
  clarke_region_visitor visit;
  void *context;
  const clarke_region_listener *listener; /* or NULL */
  bool *known, *asked;  /* by instruction: its form; its kinks stand in an arrangement above */
  signed char *side;    /* by instruction and kink: the sign of argument - kink; 0: none */
  unsigned char *choice;
  size_t *done, n_done; /* what is known or asked, as it came: to be taken back */
  fmpz *row;            /* dim + 1 */
  const clarke_rays *rays; /* of the cone; none of more than two variables */
  bool ended;
} search;

/* An arrangement inside the cone above it. */
typedef struct {
  search *s;
  const clarke_rays *rays; /* of the cone above */
  size_t above;            /* rows of that cone */
  size_t fixed;            /* rows that are positive: the cone's, and what lets an entry be the largest */
  const clarke_rows *rows; /* those, then a row a question */
  size_t n;
  question *question;
  size_t winner;           /* the entry that is to be the largest, or CLARKE_NONE */
} level;

static clarke_status explore(search *s, const fmpz_mat_t cone, const clarke_rays *rays, const clarke_witness *start, clarke_error *err);

/* --- rows ------------------------------------------------------------------------------------ */

#define MUST_SPLIT 2

/* The sign of the row in s->row over all that is left: -1, 1; 0: it is zero everywhere; or MUST_SPLIT. */
static int
place_row(const search *s)
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
  return MUST_SPLIT;
}

static void
mark(search *s, bool *what, size_t i)
{
  what[i] = true;
  s->done[s->n_done++] = i;
}

static void
take_back(search *s, size_t n)
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
arguments_known(const search *s, const clarke_instruction *i)
{
  for (size_t j = 0; j < i->n_in; j++)
    if (!s->known[i->in[j]])
      return false;
  return true;
}

static void
settle(search *s, size_t i, size_t piece)
{
  clarke_forms_compute(s->forms, i, piece);
  mark(s, s->known, i);
}

/* The piece under the sides of its kinks. CLARKE_NO_SIDE where the argument is constant at one. */
static void
settle_piecewise(search *s, size_t i)
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
ask_piecewise(search *s, level *l, size_t i)
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
      l->question[l->n++] = (question){i, k};
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
may_win(const search *s, size_t i, size_t a)
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
ask_order(search *s, size_t *fork, size_t i)
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

/* Computes all that is affine by now. What must be decided next is in l, or *fork is a maximum. */
static void
sweep(search *s, level *l, size_t *fork)
{
  const clarke_code *p = s->forms->p;

  *fork = CLARKE_NONE;
  for (size_t i = 0; i < p->n; i++) {
    const clarke_instruction *at = &p->instruction[i];

    if (!s->forms->needed[i] || s->known[i] || !arguments_known(s, at))
      continue;
    if (at->kind == CLARKE_DO_PIECEWISE && s->asked[i])
      settle_piecewise(s, i);
    else if (at->kind == CLARKE_DO_PIECEWISE)
      ask_piecewise(s, l, i);
    else if (at->kind == CLARKE_DO_ORDER)
      ask_order(s, fork, i);
    else
      settle(s, i, 0);
  }
}

/* --- arrangements ---------------------------------------------------------------------------- */

/* The rays of the cone above, less what is on the wrong side of the level's rows. */
static clarke_status
cut_rays(clarke_rays *rays, const level *l, const signed char *sign, clarke_error *err)
{
  const clarke_rays *from = l->rays;
  clarke_status status = CLARKE_OK;

  memset(rays, 0, sizeof *rays);
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

static clarke_status
follow(void *context, bool *go_on, const signed char *sign, const clarke_witness *w, clarke_error *err)
{
  const level *l = context;
  search *s = l->s;
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
  const clarke_region_listener *to = ((level *)context)->s->listener;

  return to->circuit(to->context, c, err);
}

static clarke_status
tell_split(void *context, size_t row, clarke_error *err)
{
  const clarke_region_listener *to = ((level *)context)->s->listener;

  return to->split(to->context, row, err);
}

static clarke_status
tell_forced(void *context, size_t row, int sign, size_t circuit, clarke_error *err)
{
  const clarke_region_listener *to = ((level *)context)->s->listener;

  return to->forced(to->context, row, sign, circuit, err);
}

static clarke_status
enumerate(level *l, const fmpz_mat_t integers, const clarke_witness *start, clarke_error *err)
{
  const clarke_region_listener *to = l->s->listener;
  const clarke_sign_visitor told = {l, tell_circuit, tell_split, tell_forced, follow}, untold = {.context = l, .leaf = follow};
  const clarke_sign_visitor visitor = to != NULL ? told : untold;
  clarke_regions *r = l->s->result;
  clarke_rows rows = {0};
  clarke_sign_tree tree = {0};
  clarke_status status = clarke_rows_init(&rows, integers, err);

  l->rows = &rows;
  if (status == CLARKE_OK && to != NULL)
    status = to->begin(to->context, &rows, l->above, l->fixed, l->winner, err);
  if (status == CLARKE_OK)
    status = clarke_sign_vectors(&tree, &rows, l->fixed, start, &visitor, err);
  r->programs += tree.programs;
  r->circuits += tree.circuits;
  r->undecided = r->undecided || tree.undecided;
  l->s->ended = l->s->ended || (status == CLARKE_OK && !tree.complete);
  if (status == CLARKE_OK && to != NULL)
    to->end(to->context);
  clarke_rows_clear(&rows);
  return status;
}

/* Row number `at` of a matrix from s->row. */
static void
put_row(const search *s, fmpz_mat_t to, size_t at)
{
  _fmpz_vec_set(fmpz_mat_entry(to, (slong)at, 0), s->row, (slong)s->width);
}

/* The cone's rows before room for more. */
static void
copy_cone(const search *s, fmpz_mat_t to, const fmpz_mat_t cone, size_t more)
{
  fmpz_mat_init(to, fmpz_mat_nrows(cone) + (slong)more, (slong)s->width);
  for (slong i = 0; i < fmpz_mat_nrows(cone); i++)
    _fmpz_vec_set(fmpz_mat_entry(to, i, 0), fmpz_mat_entry(cone, i, 0), (slong)s->width);
}

static clarke_status
split(search *s, level *l, const fmpz_mat_t cone, const clarke_witness *start, clarke_error *err)
{
  fmpz_mat_t all;
  clarke_status status;

  l->above = l->fixed = (size_t)fmpz_mat_nrows(cone);
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
let_win(search *s, size_t i, size_t a, const bool *may, const fmpz_mat_t cone, clarke_error *err)
{
  const clarke_instruction *at = &s->forms->p->instruction[i];
  const size_t before = s->n_done;
  level l = {.s = s, .rays = s->rays, .above = (size_t)fmpz_mat_nrows(cone), .fixed = (size_t)fmpz_mat_nrows(cone),
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
  settle(s, i, a);
  fmpz_mat_window_init(some, all, 0, 0, (slong)l.fixed, (slong)s->width);
  status = enumerate(&l, some, NULL, err);
  fmpz_mat_window_clear(some);
  fmpz_mat_clear(all);
  take_back(s, before);
  return status;
}

static clarke_status
fork_on(search *s, size_t i, const fmpz_mat_t cone, clarke_error *err)
{
  const clarke_instruction *at = &s->forms->p->instruction[i];
  bool may[CLARKE_MAX_WIDTH + 1];
  clarke_status status = CLARKE_OK;

  if (at->n_in > CLARKE_MAX_WIDTH)
    return clarke_code_fail(s->forms->p, i, err, "a maximum of %zu entries; at most %d are supported", at->n_in, CLARKE_MAX_WIDTH);
  for (size_t a = 0; a < at->n_in; a++)
    may[a] = may_win(s, i, a);
  for (size_t a = 0; a < at->n_in && status == CLARKE_OK && !s->ended; a++)
    if (may[a])
      status = let_win(s, i, a, may, cone, err);
  return status;
}

static clarke_status
tell(search *s, const fmpz_mat_t cone, const clarke_witness *point, clarke_error *err)
{
  const clarke_region region = {s->forms, cone, point, s->choice};
  bool go_on = true;
  clarke_status status;

  s->result->regions++;
  status = s->visit(s->context, &go_on, &region, err);
  s->ended = s->ended || !go_on;
  return status;
}

static clarke_status
explore(search *s, const fmpz_mat_t cone, const clarke_rays *rays, const clarke_witness *start, clarke_error *err)
{
  const size_t before = s->n_done;
  const clarke_rays *above = s->rays;
  level l = {.s = s, .rays = rays, .winner = CLARKE_NONE};
  size_t fork;
  clarke_status status;

  s->rays = rays;
  l.question = malloc((CLARKE_MAX_KINKS * s->forms->kinks + 1) * sizeof *l.question);
  if (l.question == NULL)
    return clarke_no_memory(err);
  sweep(s, &l, &fork);
  if (l.n > 0)
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

/* Leads from the first cone, which has no question, to the first arrangement. Rays decide without circuits: not where a proof
 * listens. */
static clarke_status
begin(search *s, const fmpz_mat_t cone, clarke_error *err)
{
  clarke_rays rays = {0};
  level l = {.s = s, .rays = &rays, .above = (size_t)fmpz_mat_nrows(cone), .fixed = (size_t)fmpz_mat_nrows(cone),
             .winner = CLARKE_NONE};
  clarke_status status = s->local || s->listener != NULL ? CLARKE_OK : clarke_rays_of_box(&rays, cone, err);

  if (status == CLARKE_OK)
    status = enumerate(&l, cone, NULL, err);
  clarke_rays_clear(&rays);
  return status;
}

static clarke_status
find(clarke_regions *r, clarke_forms *f, const fmpz_mat_t cone, bool local, clarke_region_visitor visit, void *context,
     const clarke_region_listener *listener, clarke_error *err)
{
  const size_t n = f->p->n + 1;
  search s = {.result = r, .forms = f, .local = local, .width = f->dim + !local, .visit = visit, .context = context,
              .listener = listener};
  clarke_status status;

  memset(r, 0, sizeof *r);
  s.known = calloc(n, sizeof *s.known);
  s.asked = calloc(n, sizeof *s.asked);
  s.side = calloc(CLARKE_MAX_KINKS * n, sizeof *s.side);
  s.choice = malloc(n);
  s.done = malloc(2 * n * sizeof *s.done);
  s.row = _fmpz_vec_init((slong)f->dim + 1);
  if (s.known == NULL || s.asked == NULL || s.side == NULL || s.choice == NULL || s.done == NULL)
    status = clarke_no_memory(err);
  else {
    memset(s.choice, CLARKE_NO_SIDE, n);
    status = begin(&s, cone, err);
  }
  r->complete = status == CLARKE_OK && !s.ended;
  free(s.known);
  free(s.asked);
  free(s.side);
  free(s.choice);
  free(s.done);
  _fmpz_vec_clear(s.row, (slong)f->dim + 1);
  return status;
}

clarke_status
clarke_regions_tell(clarke_regions *r, clarke_forms *f, const fmpz_mat_struct *cone, clarke_region_visitor visit, void *context,
                    const clarke_region_listener *listener, clarke_error *err)
{
  fmpz_mat_t none;
  clarke_status status;

  fmpz_mat_init(none, 0, (slong)f->dim);
  status = find(r, f, cone != NULL ? cone : none, cone == NULL, visit, context, listener, err);
  fmpz_mat_clear(none);
  return status;
}

clarke_status
clarke_regions_inside(clarke_regions *r, clarke_forms *f, const fmpz_mat_t cone, clarke_region_visitor visit, void *context,
                      clarke_error *err)
{
  return clarke_regions_tell(r, f, cone, visit, context, NULL, err);
}

clarke_status
clarke_regions_around(clarke_regions *r, clarke_forms *f, clarke_region_visitor visit, void *context, clarke_error *err)
{
  return clarke_regions_tell(r, f, NULL, visit, context, NULL, err);
}
