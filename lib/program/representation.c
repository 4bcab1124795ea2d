/* Declared representations (representation.h): at the point, by executing conditions and pieces
 * there; over the whole space, by visiting all faces that conditions, pieces and function cut. */
#include "program/representation.h"

#include "program/representation_point.h"
#include "program/representation_words.h"

#include "base/stop.h"
#include "program/affine.h"
#include "program/rational.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FACES ((size_t)20000)
/* Instructions of all executions at the point. */
#define MOST_STEPS ((size_t)1 << 26)

void
clarke_representation_init(clarke_representation *r)
{
  memset(r, 0, sizeof *r);
  r->active = CLARKE_NONE;
  r->answer = CLARKE_REPRESENTS_UNKNOWN;
  clarke_points_init(&r->selection, 0);
}

void
clarke_representation_clear(clarke_representation *r)
{
  clarke_rationals_free(r->associated, r->associated != NULL ? r->selection.dim : 0);
  clarke_points_clear(&r->selection);
  clarke_representation_init(r);
}

/* --- the whole space -------------------------------------------------------------------------- */

typedef struct {
  clarke_representation *r;
  const clarke_code *p;
  mpq_t *at;
  clarke_affine a;
  clarke_faces s;
  clarke_face f;     /* visited now */
  size_t visited;
  clarke_error *err;
} search;

static void
conclude(search *v, int answer, const clarke_sentence *w)
{
  v->r->answer = answer;
  snprintf(v->r->why, sizeof v->r->why, "%s", w->text);
}

/* Something on this face is not affine, or not defined: the answer is not known, unless a later
 * face is a counterexample. */
static void
not_known(search *v, clarke_affine_kind kind)
{
  clarke_sentence w = {.n = 0};

  if (v->r->why[0] != '\0')
    return;
  if (kind == CLARKE_AFFINE_OPEN) {
    clarke_say(&w, "the arrangement of the pieces' kinks and conditions is too large");
  } else {
    clarke_say_instruction(&w, v->p, v->a.failed_at);
    clarke_say(&w, kind == CLARKE_AFFINE_NOT ? " is not piecewise linear with rational coefficients"
                                      : " is not defined");
    clarke_say_point(&w, v->p, v->at, v->f.point);
  }
  conclude(v, CLARKE_REPRESENTS_UNKNOWN, &w);
}

/* Does the piece's condition hold all over the face? */
static clarke_status
condition_holds(bool *holds, clarke_affine_kind *kind, search *v, const clarke_condition *c)
{
  clarke_status status = clarke_affine_of(kind, &v->a, c->left, &v->f, &v->s, v->err);
  int sign = 0;

  if (status == CLARKE_OK && *kind == CLARKE_AFFINE)
    status = clarke_affine_of(kind, &v->a, c->right, &v->f, &v->s, v->err);
  if (status == CLARKE_OK && *kind == CLARKE_AFFINE)
    status = clarke_affine_compare(&sign, &v->a, c->left, c->right, &v->f, &v->s, v->err);
  if (v->s.open)
    *kind = CLARKE_AFFINE_OPEN;
  *holds = clarke_relation_holds(c->relation, sign);
  return status;
}

static clarke_status
piece_holds(bool *holds, clarke_affine_kind *kind, search *v, size_t piece)
{
  const clarke_piece *p = &v->p->piece[piece];
  clarke_status status = CLARKE_OK;

  *holds = true;
  *kind = CLARKE_AFFINE;
  for (size_t k = 0; k < p->n_conditions && *holds; k++) {
    status = condition_holds(holds, kind, v, &p->condition[k]);
    if (status != CLARKE_OK || *kind != CLARKE_AFFINE)
      break;
  }
  return status;
}

/* The pieces that hold all over the face, the first two of them. */
static clarke_status
holding(size_t *first, size_t *second, clarke_affine_kind *kind, search *v)
{
  clarke_status status = CLARKE_OK;

  *first = *second = CLARKE_NONE;
  for (size_t k = 0; k < v->p->n_pieces && *second == CLARKE_NONE; k++) {
    bool holds;

    status = piece_holds(&holds, kind, v, k);
    if (status != CLARKE_OK || *kind != CLARKE_AFFINE)
      break;
    if (holds && *first == CLARKE_NONE)
      *first = k;
    else if (holds)
      *second = k;
  }
  return status;
}

/* The forms differ on the face: at its point, or a little beside it. */
static clarke_status
say_difference(search *v, size_t piece, mpq_t *difference)
{
  size_t dim = v->a.dim;
  mpq_t value, *point = clarke_rationals(dim);
  clarke_sentence w = {.n = 0};
  clarke_status status = CLARKE_OK;

  if (point == NULL)
    return clarke_no_memory(v->err);
  mpq_init(value);
  clarke_form_value(value, difference, v->f.point, dim);
  for (size_t j = 0; j < dim; j++)
    mpq_set(point[j], v->f.point[j]);
  if (mpq_sgn(value) == 0)
    status = clarke_face_leave(point, &v->f, difference, 1, v->err);
  if (status == CLARKE_OK) {
    clarke_say_piece(&w, v->p, piece);
    clarke_say(&w, " is ");
    clarke_form_value(value, clarke_affine_form(&v->a, v->p->piece[piece].value), point, dim);
    clarke_say_number(&w, value);
    clarke_say(&w, ", the function ");
    clarke_form_value(value, clarke_affine_form(&v->a, v->p->output[0]), point, dim);
    clarke_say_number(&w, value);
    clarke_say_point(&w, v->p, v->at, point);
    conclude(v, CLARKE_MISREPRESENTS, &w);
  }
  mpq_clear(value);
  clarke_rationals_free(point, dim);
  return status;
}

/* Do the piece and the function agree on the face? */
static clarke_status
compare_piece(search *v, size_t piece)
{
  clarke_affine_kind kind;
  size_t dim = v->a.dim;
  clarke_status status =
    clarke_affine_of(&kind, &v->a, v->p->piece[piece].value, &v->f, &v->s, v->err);
  mpq_t *x, *y, *d = v->a.first;

  if (status == CLARKE_OK && kind == CLARKE_AFFINE)
    status = clarke_affine_of(&kind, &v->a, v->p->output[0], &v->f, &v->s, v->err);
  if (status != CLARKE_OK)
    return status;
  if (kind != CLARKE_AFFINE) {
    not_known(v, kind);
    return CLARKE_OK;
  }
  x = clarke_affine_form(&v->a, v->p->piece[piece].value);
  y = clarke_affine_form(&v->a, v->p->output[0]);
  for (size_t j = 0; j <= dim; j++)
    mpq_sub(d[j], x[j], y[j]);
  clarke_face_reduce(d, &v->f, d);
  if (clarke_form_constant(d, dim) && mpq_sgn(d[dim]) == 0)
    return CLARKE_OK;
  return say_difference(v, piece, d);
}

/* The face may shrink as it is visited: what is left of it waits on the stack. */
static clarke_status
visit_face(search *v)
{
  clarke_affine_kind kind = CLARKE_AFFINE;
  size_t first, second;
  clarke_sentence w = {.n = 0};
  clarke_status status;

  clarke_affine_restart(&v->a);
  status = holding(&first, &second, &kind, v);
  if (status != CLARKE_OK)
    return status;
  if (kind != CLARKE_AFFINE) {
    not_known(v, kind);
    return CLARKE_OK;
  }
  if (first != CLARKE_NONE && second == CLARKE_NONE)
    return compare_piece(v, first);
  clarke_say_holding(&w, v->p, first, second);
  clarke_say_point(&w, v->p, v->at, v->f.point);
  conclude(v, CLARKE_MISREPRESENTS, &w);
  return CLARKE_OK;
}

static clarke_status
visit_faces(search *v)
{
  clarke_status status = CLARKE_OK;

  while (status == CLARKE_OK && !v->s.open && v->r->answer != CLARKE_MISREPRESENTS &&
         v->visited < MOST_FACES && clarke_faces_pop(&v->f, &v->s)) {
    v->visited++;
    status = clarke_work_check(v->err);
    if (status == CLARKE_OK)
      status = visit_face(v);
    clarke_face_clear(&v->f);
  }
  if (status != CLARKE_OK || v->r->answer == CLARKE_MISREPRESENTS)
    return status;
  if (v->s.open || v->s.n > 0)
    not_known(v, CLARKE_AFFINE_OPEN);
  if (v->r->why[0] == '\0')
    v->r->answer = CLARKE_REPRESENTS;
  return CLARKE_OK;
}

static clarke_status
check_everywhere(clarke_representation *r, const clarke_code *p, mpq_t *at, clarke_error *err)
{
  search v = {.r = r, .p = p, .at = at, .err = err};
  size_t dim = clarke_code_wrt_count(p);
  mpq_t *point;
  bool small;
  clarke_status status;

  clarke_affine_init(&v.a);
  clarke_faces_init(&v.s);
  status = clarke_affine_begin(&v.a, &small, p, at, err);
  point = small ? clarke_rationals(dim) : NULL;
  if (status == CLARKE_OK && !small)
    not_known(&v, CLARKE_AFFINE_OPEN);
  else if (status == CLARKE_OK && point == NULL)
    status = clarke_no_memory(err);
  else if (status == CLARKE_OK) {
    clarke_wrt_point(point, p, at);
    status = clarke_faces_begin(&v.s, dim, point, err);
    if (status == CLARKE_OK)
      status = visit_faces(&v);
  }
  clarke_rationals_free(point, dim);
  clarke_affine_clear(&v.a);
  clarke_faces_clear(&v.s);
  return status;
}

/* --- polynomials ------------------------------------------------------------------------------ */

#define MOST_TRIES 64

/* Points with small whole numbers in wrt, one after another: does the piece differ there? */
static clarke_status
try_points(clarke_representation *r, const clarke_code *p, mpq_t *at, clarke_error *err)
{
  const size_t n = clarke_code_entries(p);
  mpq_t *other = clarke_rationals(n);
  clarke_status status = other != NULL ? CLARKE_OK : clarke_no_memory(err);

  for (size_t k = 1; k <= MOST_TRIES && status == CLARKE_OK && r->answer == CLARKE_REPRESENTS_UNKNOWN; k++) {
    clarke_representation there;

    for (size_t i = 0; i < n; i++)
      mpq_set(other[i], at[i]);
    for (size_t i = 0; i < p->n_inputs; i++)
      for (size_t j = 0; p->input[i].wrt && j < p->input[i].n; j++) {
        const size_t entry = clarke_code_entry(p, p->input[i].first + j);

        mpq_set_si(other[entry], (long)((k * (7 * entry + 3) + k * k) % 11) - 5, 1);
      }
    clarke_representation_init(&there);
    there.selection.dim = r->selection.dim;
    status = clarke_representation_check_point(&there, p, other, err);
    if (status == CLARKE_OK && there.answer == CLARKE_MISREPRESENTS) {
      r->answer = there.answer;
      memcpy(r->why, there.why, sizeof r->why);
    }
    clarke_representation_clear(&there);
  }
  clarke_rationals_free(other, n);
  return status;
}

/* One piece, everywhere: is it the function's polynomial? Where it is not, a point tells. */
static clarke_status
check_identity(clarke_representation *r, const clarke_code *p, mpq_t *at, clarke_error *err)
{
  clarke_truth same = CLARKE_UNKNOWN;
  clarke_status status = CLARKE_OK;

  if (p->n_pieces == 1 && p->piece[0].n_conditions == 0)
    status = clarke_code_agrees(&same, p, p->piece[0].value, p->output[0], err);
  if (status == CLARKE_OK && same == CLARKE_YES) {
    r->answer = CLARKE_REPRESENTS;
    r->why[0] = '\0';
  }
  return status == CLARKE_OK && same == CLARKE_NO ? try_points(r, p, at, err) : status;
}

/* --- the check -------------------------------------------------------------------------------- */

static bool
too_large(const clarke_code *p)
{
  size_t conditions = 2 * p->n_pieces;

  for (size_t k = 0; k < p->n_pieces; k++)
    conditions += p->piece[k].n_conditions;
  return conditions > MOST_STEPS / (p->n + 1);
}

clarke_status
clarke_representation_check(clarke_representation *r, const clarke_execution *e, clarke_error *err)
{
  const clarke_code *p = e->p;
  clarke_status status;

  clarke_representation_clear(r);
  r->selection.dim = clarke_code_wrt_count(p);
  r->declared = p->n_pieces > 0;
  if (!r->declared || p->n_outputs == 0)
    return CLARKE_OK;
  if (too_large(p)) {
    snprintf(r->why, sizeof r->why, "the pieces are too many for a program of %zu instructions",
             p->n);
    return CLARKE_OK;
  }
  status = clarke_representation_check_point(r, p, e->at, err);
  if (status != CLARKE_OK || r->answer == CLARKE_MISREPRESENTS)
    return status;
  status = check_everywhere(r, p, e->at, err);
  return status == CLARKE_OK && r->answer == CLARKE_REPRESENTS_UNKNOWN ? check_identity(r, p, e->at, err) : status;
}
