/* Declared representations (representation.h): at the point, by executing conditions and pieces
 * there; over the whole space, by visiting all faces that conditions, pieces and function cut. */
#include "program/representation.h"

#include "base/stop.h"
#include "program/affine.h"

#include <stdarg.h>
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

/* --- words ------------------------------------------------------------------------------------ */

typedef struct {
  char text[512];
  size_t n;
} words;

__attribute__((format(printf, 2, 3))) static void
say(words *w, const char *format, ...)
{
  va_list list;
  int n;

  va_start(list, format);
  n = vsnprintf(w->text + w->n, sizeof w->text - w->n, format, list);
  va_end(list);
  if (n > 0)
    w->n = (size_t)n < sizeof w->text - w->n ? w->n + (size_t)n : sizeof w->text - 1;
}

static void
say_number(words *w, const mpq_t q)
{
  char text[80];

  if (mpz_sizeinbase(mpq_numref(q), 10) + mpz_sizeinbase(mpq_denref(q), 10) > 60)
    say(w, "about %.17g", mpq_get_d(q));
  else
    say(w, "%s", mpq_get_str(text, 10, q));
}

static void
say_piece(words *w, const clarke_code *p, size_t piece)
{
  say(w, "piece %zu", piece + 1);
  if (p->piece[piece].line > 0)
    say(w, " (line %zu)", p->piece[piece].line);
}

/* "at x=0,1 y=2": all inputs, those in wrt from the point. */
static void
say_point(words *w, const clarke_code *p, mpq_t *at, mpq_t *point)
{
  say(w, " at");
  for (size_t i = 0; i < p->n_inputs; i++) {
    const clarke_code_input *input = &p->input[i];

    say(w, " %s=", input->name);
    for (size_t k = 0; k < input->n; k++) {
      size_t entry = clarke_code_wrt_entry(p, input->first + k);

      say(w, "%s", k > 0 ? "," : "");
      if (entry == CLARKE_NONE)
        say_number(w, at[clarke_code_entry(p, input->first + k)]);
      else
        say_number(w, point[entry]);
    }
  }
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
conclude(search *v, int answer, const words *w)
{
  v->r->answer = answer;
  snprintf(v->r->why, sizeof v->r->why, "%s", w->text);
}

static void
say_instruction(words *w, const clarke_code *p, size_t at)
{
  const clarke_instruction *i = &p->instruction[at];

  if (i->line > 0)
    say(w, "the expression at %zu:%zu", i->line, i->column);
  else
    say(w, "instruction %zu", at);
}

/* Something on this face is not affine, or not defined: the answer is not known, unless a later
 * face is a counterexample. */
static void
not_known(search *v, clarke_affine_kind kind)
{
  words w = {.n = 0};

  if (v->r->why[0] != '\0')
    return;
  if (kind == CLARKE_AFFINE_OPEN) {
    say(&w, "the arrangement of the pieces' kinks and conditions is too large");
  } else {
    say_instruction(&w, v->p, v->a.failed_at);
    say(&w, kind == CLARKE_AFFINE_NOT ? " is not piecewise linear with rational coefficients"
                                      : " is not defined");
    say_point(&w, v->p, v->at, v->f.point);
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

static void
say_holding(words *w, const clarke_code *p, size_t first, size_t second)
{
  if (first == CLARKE_NONE) {
    say(w, "no piece holds");
    return;
  }
  say_piece(w, p, first);
  say(w, " and ");
  say_piece(w, p, second);
  say(w, " both hold");
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
  words w = {.n = 0};
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
    say_piece(&w, v->p, piece);
    say(&w, " is ");
    clarke_form_value(value, clarke_affine_form(&v->a, v->p->piece[piece].value), point, dim);
    say_number(&w, value);
    say(&w, ", the function ");
    clarke_form_value(value, clarke_affine_form(&v->a, v->p->output[0]), point, dim);
    say_number(&w, value);
    say_point(&w, v->p, v->at, point);
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
  words w = {.n = 0};
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
  say_holding(&w, v->p, first, second);
  say_point(&w, v->p, v->at, v->f.point);
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

/* The entries of wrt at the point. */
static void
wrt_point(mpq_t *point, const clarke_code *p, mpq_t *at)
{
  for (size_t i = 0; i < p->n_inputs; i++)
    for (size_t k = 0; p->input[i].wrt && k < p->input[i].n; k++) {
      size_t instruction = p->input[i].first + k;

      mpq_set(point[clarke_code_wrt_entry(p, instruction)],
              at[clarke_code_entry(p, instruction)]);
    }
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
    wrt_point(point, p, at);
    status = clarke_faces_begin(&v.s, dim, point, err);
    if (status == CLARKE_OK)
      status = visit_faces(&v);
  }
  clarke_rationals_free(point, dim);
  clarke_affine_clear(&v.a);
  clarke_faces_clear(&v.s);
  return status;
}

/* --- at the point ----------------------------------------------------------------------------- */

/* Executes the program at the point with these outputs in place of its own. *defined is false where
 * that is an error, *open where a comparison is left open. */
static clarke_status
execute_for(clarke_execution *x, bool *defined, clarke_code *copy, const clarke_code *p,
            mpq_t *at, size_t n, size_t *output, clarke_error *err)
{
  clarke_status status;

  *copy = *p;
  copy->output = output;
  copy->n_outputs = n;
  status = clarke_execute(x, copy, at, err);
  *defined = status == CLARKE_OK && !x->open;
  return status == CLARKE_EINPUT ? CLARKE_OK : status;
}

/* The sign of the difference of two instructions at the point; 2: not decided. */
static clarke_status
sign_at(int *sign, const clarke_code *p, mpq_t *at, size_t left, size_t right,
        clarke_error *err)
{
  size_t output[2] = {left, right};
  clarke_code copy = *p;
  clarke_status status = CLARKE_OK;

  copy.output = output;
  copy.n_outputs = 2;
  *sign = 2;
  for (long precision = CLARKE_PRECISION_FIRST; precision <= CLARKE_PRECISION_LAST && *sign == 2;
       precision *= 2) {
    clarke_execution x;

    clarke_execution_init(&x);
    status = clarke_execute_at(&x, &copy, at, precision, err);
    if (status == CLARKE_OK && !x.open)
      *sign = left == right ? 0
                            : clarke_number_compare(&x.value[left], &x.value[right], precision);
    clarke_execution_clear(&x);
    if (status != CLARKE_OK)
      break;
  }
  return status == CLARKE_EINPUT ? CLARKE_OK : status;
}

/* Does the piece hold at the point? 1, 0, or 2 when that is not decided. */
static clarke_status
holds_at(int *holds, const clarke_code *p, mpq_t *at, const clarke_piece *piece,
         clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  *holds = 1;
  for (size_t k = 0; k < piece->n_conditions && *holds == 1 && status == CLARKE_OK; k++) {
    const clarke_condition *c = &piece->condition[k];
    int sign;

    status = sign_at(&sign, p, at, c->left, c->right, err);
    *holds = sign == 2 ? 2 : clarke_relation_holds(c->relation, sign);
  }
  return status;
}

/* The gradient of an instruction at the point, where its execution touches no kink and the gradient
 * is rational (*known). */
static clarke_status
gradient_at(bool *known, mpq_t *gradient, const clarke_code *p, mpq_t *at, size_t instruction,
            clarke_error *err)
{
  size_t n = clarke_code_wrt_count(p);
  clarke_number *g = clarke_numbers(n);
  clarke_code copy;
  clarke_execution x;
  clarke_status status;

  *known = false;
  if (g == NULL)
    return clarke_no_memory(err);
  clarke_execution_init(&x);
  status = execute_for(&x, known, &copy, p, at, 1, &instruction, err);
  *known = *known && x.n_touched == 0;
  if (status == CLARKE_OK && *known)
    status = clarke_execution_ad(g, &x, NULL, err);
  for (size_t j = 0; j < n && *known; j++) {
    *known = g[j].exact;
    if (*known)
      mpq_set(gradient[j], g[j].q);
  }
  clarke_execution_clear(&x);
  clarke_numbers_free(g, n);
  return status;
}

/* The pieces that hold at the point, the first two of them; *decided is false when one is not. */
static clarke_status
holding_at(size_t *first, size_t *second, bool *decided, const clarke_code *p, mpq_t *at,
           clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  *first = *second = CLARKE_NONE;
  *decided = true;
  for (size_t k = 0; k < p->n_pieces && status == CLARKE_OK; k++) {
    int holds;

    status = holds_at(&holds, p, at, &p->piece[k], err);
    *decided = *decided && holds != 2;
    if (holds == 1 && *first == CLARKE_NONE)
      *first = k;
    else if (holds == 1 && *second == CLARKE_NONE)
      *second = k;
  }
  return status;
}

static clarke_status
add_selection(clarke_representation *r, clarke_points *all, const clarke_code *p, mpq_t *at,
              size_t piece, clarke_error *err)
{
  mpq_t *gradient;
  bool known;
  int sign;
  clarke_status status = sign_at(&sign, p, at, p->piece[piece].value, p->output[0], err);

  if (status != CLARKE_OK || (sign != 0 && sign != 2 && piece != r->active))
    return status;
  gradient = clarke_rationals(all->dim);
  if (gradient == NULL)
    return clarke_no_memory(err);
  status = gradient_at(&known, gradient, p, at, p->piece[piece].value, err);
  r->selection_known = r->selection_known && sign != 2 && (known || sign != 0);
  if (status == CLARKE_OK && known && sign == 0)
    status = clarke_points_add(all, gradient, err);
  if (status == CLARKE_OK && known && piece == r->active) {
    r->associated = gradient;
    return CLARKE_OK;
  }
  clarke_rationals_free(gradient, all->dim);
  return status;
}

/* The point alone may show that the pieces do not represent the function. */
static clarke_status
refute_at(clarke_representation *r, const clarke_code *p, mpq_t *at, size_t first, size_t second,
          bool decided, clarke_error *err)
{
  mpq_t *point = clarke_rationals(r->selection.dim);
  words w = {.n = 0};
  int sign = 0;
  clarke_status status = CLARKE_OK;

  if (point == NULL)
    return clarke_no_memory(err);
  wrt_point(point, p, at);
  if (second != CLARKE_NONE || (first == CLARKE_NONE && decided)) {
    say_holding(&w, p, first, second);
  } else if (first != CLARKE_NONE) {
    status = sign_at(&sign, p, at, p->piece[first].value, p->output[0], err);
    if (sign == 1 || sign == -1) {
      say_piece(&w, p, first);
      say(&w, " is %s than the function", sign > 0 ? "greater" : "less");
    }
  }
  if (w.n > 0) {
    say_point(&w, p, at, point);
    r->answer = CLARKE_MISREPRESENTS;
    snprintf(r->why, sizeof r->why, "%s", w.text);
  }
  clarke_rationals_free(point, r->selection.dim);
  return status;
}

static clarke_status
check_point(clarke_representation *r, const clarke_code *p, mpq_t *at, clarke_error *err)
{
  size_t first, second;
  clarke_points all;
  bool decided;
  clarke_status status = holding_at(&first, &second, &decided, p, at, err);

  if (status != CLARKE_OK)
    return status;
  if (decided && second == CLARKE_NONE)
    r->active = first;
  status = refute_at(r, p, at, first, second, decided, err);
  clarke_points_init(&all, r->selection.dim);
  r->selection_known = true;
  for (size_t k = 0; k < p->n_pieces && status == CLARKE_OK; k++)
    status = add_selection(r, &all, p, at, k, err);
  if (status == CLARKE_OK && r->selection_known)
    status = clarke_points_hull(&r->selection, &r->selection_known, &all, err);
  clarke_points_clear(&all);
  return status;
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
  status = check_point(r, p, e->at, err);
  if (status != CLARKE_OK || r->answer == CLARKE_MISREPRESENTS)
    return status;
  return check_everywhere(r, p, e->at, err);
}
