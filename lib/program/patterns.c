/* The tree of patterns: depth first, a path followed on until its end, others taken up again from
 * the beginning under their choices. */
#include "program/patterns.h"
#include "base/verify.h"
#include "exact/cone.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Gradients held at once: instructions times wrt_count. */
#define PATTERNS_ENTRIES ((size_t)1 << 21)
#define ARCS 3000
#define ROW_WORK 8 /* of a row beside its entries: it is made, and freed */
#define ARC_STEPS 3

/* A decision on the path: it must be positive. */
typedef struct {
  clarke_number *gradient;
  bool affine;          /* of degree 1 and rational */
  clarke_polynomial *q; /* when not affine, but a polynomial */
} positive;

/* A branch yet to be followed, or refuted. */
typedef struct {
  size_t n_choices;
  size_t *choice;
  size_t depth;
  bool refuted;
  size_t n_u;
  size_t *decision;
  mpq_t *u;
  mpq_t *witness; /* a direction along which all affine decisions are positive; NULL: not known */
} branch;

typedef struct {
  clarke_patterns *t;
  const clarke_execution *e;
  size_t width;
  clarke_walk walk;
  size_t n_path, n_rows, capacity_rows;
  size_t *path;       /* choices */
  size_t capacity_path;
  positive *row;
  mpq_t *witness;     /* of the path; NULL: not known */
  size_t n_waiting, capacity_waiting;
  branch *waiting;
  size_t work;        /* entries of the linear systems so far */
} search;

void
clarke_patterns_init(clarke_patterns *t)
{
  memset(t, 0, sizeof *t);
}

void
clarke_patterns_clear(clarke_patterns *t)
{
  for (size_t i = 0; i < t->n_forks; i++) {
    clarke_rationals_free(t->fork[i].u, t->fork[i].n_u);
    free(t->fork[i].decision);
  }
  for (size_t i = 0; i < t->n; i++) {
    clarke_pattern *p = &t->pattern[i];

    clarke_numbers_free(p->gradient, t->dim);
    for (size_t k = 0; k < p->n_directions; k++)
      clarke_rationals_free(p->direction[k], t->width);
    free(p->direction);
    free(p->choice);
  }
  free(t->fork);
  free(t->pattern);
  clarke_patterns_init(t);
}

/* Room for one more of n entries of that size; the array moves. */
static clarke_status
room(void **array, size_t n, size_t *capacity, size_t size, clarke_error *err)
{
  void *grown;

  if (n < *capacity)
    return CLARKE_OK;
  grown = realloc(*array, (2 * *capacity + 16) * size);
  if (grown == NULL)
    return clarke_no_memory(err);
  *array = grown;
  *capacity = 2 * *capacity + 16;
  return CLARKE_OK;
}

static clarke_fork *
add_fork(search *s, clarke_fork_kind kind, size_t depth, clarke_error *err)
{
  clarke_patterns *t = s->t;

  if (room((void **)&t->fork, t->n_forks, &t->capacity_forks, sizeof *t->fork, err) != CLARKE_OK)
    return NULL;
  t->fork[t->n_forks] = (clarke_fork){.kind = kind, .depth = depth};
  return &t->fork[t->n_forks++];
}

static void
branch_clear(branch *b, size_t width)
{
  free(b->choice);
  free(b->decision);
  clarke_rationals_free(b->u, b->n_u);
  clarke_rationals_free(b->witness, width);
}

static void
polynomial_free(clarke_polynomial *q, const clarke_walk *w)
{
  if (q != NULL)
    clarke_polynomial_clear(q, w->ring);
  free(q);
}

static void
rows_drop(search *s, size_t from)
{
  while (s->n_rows > from) {
    positive *row = &s->row[--s->n_rows];

    clarke_numbers_free(row->gradient, s->width);
    polynomial_free(row->q, &s->walk);
  }
}

static void
search_clear(search *s)
{
  rows_drop(s, 0);
  for (size_t i = 0; i < s->n_waiting; i++)
    branch_clear(&s->waiting[i], s->width);
  free(s->waiting);
  free(s->row);
  free(s->path);
  clarke_rationals_free(s->witness, s->width);
  clarke_walk_clear(&s->walk);
}

/* --- decisions --------------------------------------------------------------------------------- */

/* The k-th decision of a choice as a polynomial; NULL when it is none. */
static clarke_polynomial *
decision_polynomial(const clarke_walk *w, size_t choice, size_t k)
{
  clarke_polynomial *q = w->polynomial != NULL ? malloc(sizeof *q) : NULL;

  if (q == NULL)
    return NULL;
  clarke_polynomial_init(q, w->ring);
  clarke_walk_decision_polynomial(q, w, choice, k);
  if (!q->kept) {
    polynomial_free(q, w);
    q = NULL;
  }
  return q;
}

/* Appends the decisions of a choice at the fork the walk is at. */
static clarke_status
rows_append(search *s, size_t choice, clarke_error *err)
{
  for (size_t k = 0; k < clarke_walk_decisions(&s->walk); k++) {
    clarke_number *g = clarke_numbers(s->width);
    uint8_t degree;

    if (g == NULL || room((void **)&s->row, s->n_rows, &s->capacity_rows, sizeof *s->row, err) !=
                       CLARKE_OK) {
      clarke_numbers_free(g, s->width);
      return clarke_no_memory(err);
    }
    clarke_walk_decision(g, &degree, &s->walk, choice, k);
    s->row[s->n_rows] = (positive){.gradient = g, .affine = degree <= 1};
    for (size_t j = 0; j < s->width; j++)
      s->row[s->n_rows].affine &= g[j].exact;
    if (!s->row[s->n_rows].affine)
      s->row[s->n_rows].q = decision_polynomial(&s->walk, choice, k);
    s->n_rows++;
  }
  return CLARKE_OK;
}

/* The sign of <gradient, d>, 2 when a ball does not tell. */
static int
along(const search *s, const positive *row, mpq_t *d)
{
  clarke_number sum;
  int sign;

  clarke_number_init(&sum);
  for (size_t k = 0; k < s->width; k++)
    clarke_number_addmul_q(&sum, d[k], &row->gradient[k], s->e->precision);
  sign = clarke_number_sign(&sum);
  clarke_number_clear(&sum);
  return sign;
}

static bool
all_positive(const search *s, mpq_t *d, size_t from, bool affine_only)
{
  for (size_t i = from; i < s->n_rows; i++)
    if ((!affine_only || s->row[i].affine) && along(s, &s->row[i], d) != 1)
      return false;
  return true;
}

/* Row r of a as the integers of a gradient (midpoints of balls) times their common denominator,
 * which is returned. */
static void
set_row(fmpz_mat_t a, slong r, mpz_t denominator, const positive *row, size_t width)
{
  mpq_t q;
  mpz_t t;

  mpq_init(q);
  mpz_init(t);
  mpz_set_ui(denominator, 1);
  for (size_t k = 0; k < width; k++) {
    clarke_number_middle(q, &row->gradient[k]);
    mpz_lcm(denominator, denominator, mpq_denref(q));
  }
  for (size_t k = 0; k < width; k++) {
    clarke_number_middle(q, &row->gradient[k]);
    mpz_divexact(t, denominator, mpq_denref(q));
    mpz_mul(t, t, mpq_numref(q));
    fmpz_set_mpz(fmpz_mat_entry(a, r, (slong)k), t);
  }
  mpz_clear(t);
  mpq_clear(q);
}

/* What the cone of the path's rows says. */
typedef struct {
  clarke_cone_answer answer;
  mpq_t *d;          /* FEASIBLE */
  size_t n_u;        /* EMPTY: positive multipliers of the decisions named */
  size_t *decision;
  mpq_t *u;
} cone_result;

static clarke_status
read_empty(cone_result *r, const clarke_cone *cone, const size_t *name, mpz_t *denominator,
           size_t n, clarke_error *err)
{
  size_t count = 0;

  for (size_t i = 0; i < n; i++)
    count += !fmpz_is_zero(fmpz_mat_entry(cone->u, (slong)i, 0));
  r->decision = malloc((count + 1) * sizeof *r->decision);
  r->u = malloc((count + 1) * sizeof *r->u);
  if (r->decision == NULL || r->u == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < n; i++) {
    const fmpz *u = fmpz_mat_entry(cone->u, (slong)i, 0);

    if (fmpz_is_zero(u))
      continue;
    /* u multiplies the integer row, that is, u times the denominator the rational one. */
    mpq_init(r->u[r->n_u]);
    fmpz_get_mpz(mpq_numref(r->u[r->n_u]), u);
    mpz_mul(mpq_numref(r->u[r->n_u]), mpq_numref(r->u[r->n_u]), denominator[i]);
    r->decision[r->n_u++] = name[i];
  }
  return CLARKE_OK;
}

static clarke_status
read_feasible(cone_result *r, const clarke_cone *cone, size_t width, clarke_error *err)
{
  r->d = clarke_rationals(width);
  if (r->d == NULL)
    return clarke_no_memory(err);
  for (size_t k = 0; k < width; k++)
    fmpz_get_mpz(mpq_numref(r->d[k]), fmpz_mat_entry(cone->d, (slong)k, 0));
  return CLARKE_OK;
}

/* The strict system of the path's rows, or of the affine ones. */
static clarke_status
solve(cone_result *r, search *s, bool affine_only, clarke_error *err)
{
  size_t n = 0, *name = malloc((s->n_rows + 1) * sizeof *name);
  mpz_t *denominator = malloc((s->n_rows + 1) * sizeof *denominator);
  clarke_cone cone;
  fmpz_mat_t a;
  clarke_status status;

  memset(r, 0, sizeof *r);
  if (name == NULL || denominator == NULL) {
    free(name);
    free(denominator);
    return clarke_no_memory(err);
  }
  for (size_t i = 0; i < s->n_rows; i++)
    if (!affine_only || s->row[i].affine)
      name[n++] = i;
  s->work += n * (ROW_WORK + s->width * (n < s->width ? n : s->width));
  fmpz_mat_init(a, (slong)n, (slong)s->width);
  for (size_t i = 0; i < n; i++) {
    mpz_init(denominator[i]);
    set_row(a, (slong)i, denominator[i], &s->row[name[i]], s->width);
  }
  clarke_cone_init(&cone);
  status = clarke_cone_solve(&cone, a, CLARKE_CONE_LITTLE_WORK, err);
  r->answer = cone.answer;
  if (status == CLARKE_OK && cone.answer == CLARKE_CONE_FEASIBLE)
    status = read_feasible(r, &cone, s->width, err);
  if (status == CLARKE_OK && cone.answer == CLARKE_CONE_EMPTY)
    status = read_empty(r, &cone, name, denominator, n, err);
  clarke_cone_clear(&cone);
  fmpz_mat_clear(a);
  for (size_t i = 0; i < n; i++)
    mpz_clear(denominator[i]);
  free(denominator);
  free(name);
  return status;
}

/* --- the tree ---------------------------------------------------------------------------------- */

/* b's refutation from multipliers of the decisions named. */
static clarke_status
name_multipliers(branch *b, mpq_t *u, const size_t *name, size_t n, clarke_error *err)
{
  size_t count = 0;

  for (size_t i = 0; i < n; i++)
    count += mpq_sgn(u[i]) != 0;
  b->decision = malloc((count + 1) * sizeof *b->decision);
  b->u = malloc((count + 1) * sizeof *b->u);
  if (b->decision == NULL || b->u == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < n; i++) {
    if (mpq_sgn(u[i]) == 0)
      continue;
    mpq_init(b->u[b->n_u]);
    mpq_set(b->u[b->n_u], u[i]);
    b->decision[b->n_u++] = name[i];
  }
  return CLARKE_OK;
}

/* A refutation of the path by an identity between polynomials, where some decision is one. */
static clarke_status
refute_polynomials(branch *b, search *s, clarke_error *err)
{
  clarke_polynomial **q = calloc(s->n_rows + 1, sizeof *q);
  clarke_polynomial *made = calloc(s->n_rows + 1, sizeof *made);
  size_t *name = malloc((s->n_rows + 1) * sizeof *name), n = 0, curved = 0;
  mpq_t *u = clarke_rationals(s->n_rows);
  clarke_number zero;
  clarke_status status = CLARKE_OK;

  clarke_number_init(&zero);
  if (q == NULL || made == NULL || name == NULL || u == NULL)
    status = clarke_no_memory(err);
  for (size_t i = 0; i < s->n_rows && status == CLARKE_OK; i++)
    curved += s->row[i].q != NULL;
  for (size_t i = 0; i < s->n_rows && status == CLARKE_OK && curved > 0; i++) {
    if (!s->row[i].affine && s->row[i].q == NULL)
      continue;
    clarke_polynomial_init(&made[n], s->walk.ring);
    if (s->row[i].affine)
      clarke_polynomial_affine(&made[n], &zero, s->row[i].gradient, s->width, s->walk.ring);
    q[n] = s->row[i].affine ? &made[n] : s->row[i].q;
    name[n++] = i;
  }
  if (status == CLARKE_OK && curved > 0)
    status = clarke_polynomials_refute(&b->refuted, u, q, n, s->width, s->walk.ring, err);
  if (status == CLARKE_OK && b->refuted)
    status = name_multipliers(b, u, name, n, err);
  for (size_t i = 0; i < n; i++)
    clarke_polynomial_clear(&made[i], s->walk.ring);
  clarke_number_clear(&zero);
  clarke_rationals_free(u, s->n_rows);
  free(name);
  free(made);
  free(q);
  return status;
}

/* Can the path go on with this choice? b gets its refutation, or its witness. */
static clarke_status
judge(branch *b, search *s, size_t choice, clarke_error *err)
{
  size_t before = s->n_rows;
  bool affine = false;
  cone_result r;
  clarke_status status = rows_append(s, choice, err);

  for (size_t i = before; i < s->n_rows; i++)
    affine |= s->row[i].affine;
  b->depth = s->n_rows;
  if (status == CLARKE_OK && (s->witness == NULL || !all_positive(s, s->witness, before, true))) {
    if (affine || s->witness == NULL) {
      status = solve(&r, s, true, err);
      b->refuted = r.answer == CLARKE_CONE_EMPTY;
      b->n_u = r.n_u;
      b->decision = r.decision;
      b->u = r.u;
      b->witness = r.d;
    }
  } else if (status == CLARKE_OK) {
    b->witness = clarke_rationals(s->width);
    if (b->witness == NULL)
      status = clarke_no_memory(err);
    for (size_t k = 0; k < s->width && status == CLARKE_OK; k++)
      mpq_set(b->witness[k], s->witness[k]);
  }
  if (status == CLARKE_OK && !b->refuted)
    status = refute_polynomials(b, s, err);
  rows_drop(s, before);
  return status;
}

static clarke_status
add_refuted(search *s, branch *b, clarke_error *err)
{
  clarke_fork *f = add_fork(s, CLARKE_REFUTED, b->depth, err);

  if (f == NULL)
    return clarke_no_memory(err);
  f->n_u = b->n_u;
  f->decision = b->decision;
  f->u = b->u;
  b->n_u = 0;
  b->decision = NULL;
  b->u = NULL;
  return CLARKE_OK;
}

static clarke_status
path_append(search *s, size_t choice, clarke_error *err)
{
  clarke_status status =
    room((void **)&s->path, s->n_path, &s->capacity_path, sizeof *s->path, err);

  if (status == CLARKE_OK)
    s->path[s->n_path++] = choice;
  return status;
}

/* The path goes on by b, whose choice is the last of b->choice. */
static clarke_status
follow(search *s, branch *b, clarke_error *err)
{
  size_t choice = b->choice[b->n_choices - 1];
  clarke_status status = rows_append(s, choice, err);

  clarke_rationals_free(s->witness, s->width);
  s->witness = b->witness;
  b->witness = NULL;
  clarke_walk_choose(&s->walk, choice);
  return status == CLARKE_OK ? path_append(s, choice, err) : status;
}

/* Is the search too large? Then the tree is not complete. */
static bool
is_used_up(search *s)
{
  if (s->t->n_forks <= CLARKE_PATTERNS_LIMIT && s->work <= CLARKE_PATTERNS_WORK)
    return false;
  snprintf(s->t->why, sizeof s->t->why, "they are too many; after %zu patterns the search was left", s->t->n);
  return true;
}

/* At a fork: its branches judged; the first that is not refuted is followed, *on; those after it
 * wait. None is when the search is used up. */
static clarke_status
part(search *s, bool *on, clarke_error *err)
{
  size_t n = s->walk.fork.n_choices;
  clarke_fork *f = add_fork(s, CLARKE_PARTING, s->n_rows, err);
  branch *b = calloc(n, sizeof *b);
  size_t first = n;
  clarke_status status = f != NULL && b != NULL ? CLARKE_OK : clarke_no_memory(err);

  if (status == CLARKE_OK) {
    f->instruction = s->walk.fork.instruction;
    f->n_choices = n;
  }
  for (size_t c = 0; c < n && status == CLARKE_OK && !is_used_up(s); c++) {
    b[c].choice = malloc((s->n_path + 1) * sizeof *b[c].choice);
    if (b[c].choice == NULL)
      status = clarke_no_memory(err);
    else {
      if (s->n_path > 0)
        memcpy(b[c].choice, s->path, s->n_path * sizeof *s->path);
      b[c].choice[s->n_path] = c;
      b[c].n_choices = s->n_path + 1;
      s->work += s->n_path;
      status = judge(&b[c], s, c, err);
    }
    if (b[c].refuted) { /* it is told of, and not taken up */
      free(b[c].choice);
      b[c].choice = NULL;
    }
    if (status == CLARKE_OK && first == n) {
      if (b[c].refuted)
        status = add_refuted(s, &b[c], err);
      else
        first = c;
    }
  }
  if (is_used_up(s))
    first = n;
  for (size_t c = n; c-- > first + 1 && status == CLARKE_OK;) {
    status = room((void **)&s->waiting, s->n_waiting, &s->capacity_waiting, sizeof *s->waiting,
                  err);
    if (status == CLARKE_OK) {
      s->waiting[s->n_waiting++] = b[c];
      memset(&b[c], 0, sizeof b[c]);
    }
  }
  *on = first < n;
  if (status == CLARKE_OK && *on)
    status = follow(s, &b[first], err);
  for (size_t c = 0; b != NULL && c < n; c++)
    branch_clear(&b[c], s->width);
  free(b);
  return status;
}

/* Walks from the beginning along b's choices, up to and with its last. */
static clarke_status
take_up(search *s, branch *b, clarke_error *err)
{
  clarke_walk_state state = CLARKE_WALK_FORK;
  clarke_status status = CLARKE_OK;

  rows_drop(s, 0);
  s->n_path = 0;
  clarke_walk_restart(&s->walk, NULL);
  for (size_t k = 0; k < b->n_choices && status == CLARKE_OK; k++) {
    status = clarke_walk_on(&s->walk, &state, err);
    if (status == CLARKE_OK && state != CLARKE_WALK_FORK)
      return clarke_fail(err, CLARKE_EINTERNAL, "a walk did not come to its fork again");
    if (status == CLARKE_OK && k + 1 < b->n_choices) {
      status = rows_append(s, b->choice[k], err);
      clarke_walk_choose(&s->walk, b->choice[k]);
      if (status == CLARKE_OK)
        status = path_append(s, b->choice[k], err);
    }
  }
  return status == CLARKE_OK ? follow(s, b, err) : status;
}

/* --- patterns ---------------------------------------------------------------------------------- */

/* The gradient of the outputs, and whether their values are those at the point. */
static clarke_status
read_outputs(clarke_pattern *p, search *s, clarke_error *err)
{
  const clarke_code *program = s->e->p;

  p->gradient = clarke_numbers(s->t->dim);
  if (p->gradient == NULL)
    return clarke_no_memory(err);
  p->exact = true;
  for (size_t o = 0; o < program->n_outputs; o++) {
    size_t at = program->output[o];
    int sign = clarke_number_compare(&s->walk.value[at], &s->e->value[at], s->e->precision);

    s->t->jumps |= sign == 1 || sign == -1;
    for (size_t k = 0; k < s->width; k++) {
      if (s->walk.gradient[at] != NULL)
        clarke_number_set(&p->gradient[o * s->width + k], &s->walk.gradient[at][k]);
      p->exact &= p->gradient[o * s->width + k].exact;
    }
  }
  return CLARKE_OK;
}

static clarke_status
give_direction(clarke_pattern *p, mpq_t **steps, size_t n, size_t width, clarke_error *err)
{
  p->direction = calloc(n + 1, sizeof *p->direction);
  if (p->direction == NULL)
    return clarke_no_memory(err);
  for (; p->n_directions < n; p->n_directions++) {
    mpq_t *d = clarke_rationals(width);

    if (d == NULL)
      return clarke_no_memory(err);
    for (size_t k = 0; k < width; k++)
      mpq_set(d[k], steps[p->n_directions][k]);
    p->direction[p->n_directions] = d;
  }
  p->realized = true;
  return CLARKE_OK;
}

/* One direction along which every decision is positive to first order. */
static clarke_status
realize(clarke_pattern *p, search *s, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  cone_result r;

  if (s->n_rows == 0) {
    p->realized = p->first_order = true;
    return CLARKE_OK;
  }
  if (s->witness != NULL && all_positive(s, s->witness, 0, false))
    status = give_direction(p, &s->witness, 1, s->width, err);
  else {
    status = solve(&r, s, false, err);
    if (status == CLARKE_OK && r.answer == CLARKE_CONE_FEASIBLE && all_positive(s, r.d, 0, false))
      status = give_direction(p, &r.d, 1, s->width, err);
    clarke_rationals_free(r.d, s->width);
    clarke_rationals_free(r.u, r.n_u);
    free(r.decision);
  }
  p->first_order = p->realized;
  return status;
}

static clarke_status
add_pattern(search *s, clarke_error *err)
{
  clarke_patterns *t = s->t;
  clarke_fork *f = add_fork(s, CLARKE_PATTERN, s->n_rows, err);
  clarke_pattern *p;
  clarke_status status = f != NULL ? CLARKE_OK : clarke_no_memory(err);

  if (status == CLARKE_OK)
    status = room((void **)&t->pattern, t->n, &t->capacity, sizeof *t->pattern, err);
  if (status != CLARKE_OK)
    return status;
  f->pattern = t->n;
  p = &t->pattern[t->n++];
  memset(p, 0, sizeof *p);
  p->n_choices = s->n_path;
  p->choice = malloc((s->n_path + 1) * sizeof *p->choice);
  if (p->choice == NULL)
    return clarke_no_memory(err);
  if (s->n_path > 0)
    memcpy(p->choice, s->path, s->n_path * sizeof *s->path);
  status = read_outputs(p, s, err);
  return status == CLARKE_OK ? realize(p, s, err) : status;
}

/* Follows the path at hand to its end; false in *whole when the tree cannot be completed. */
static clarke_status
follow_on(search *s, bool *whole, clarke_error *err)
{
  bool on = true;
  clarke_status status = CLARKE_OK;

  while (status == CLARKE_OK && on) {
    clarke_walk_state state;

    status = clarke_walk_on(&s->walk, &state, err);
    if (status != CLARKE_OK)
      break;
    if (state == CLARKE_WALK_STUCK) {
      *whole = false;
      snprintf(s->t->why, sizeof s->t->why, "%s", s->walk.why);
      return CLARKE_OK;
    }
    if (state == CLARKE_WALK_END)
      return add_pattern(s, err);
    status = part(s, &on, err);
  }
  *whole = *whole && !is_used_up(s);
  return status;
}

static clarke_status
grow_tree(search *s, clarke_error *err)
{
  bool whole = true;
  clarke_status status = follow_on(s, &whole, err);

  while (status == CLARKE_OK && s->n_waiting > 0) {
    branch b = s->waiting[--s->n_waiting];

    if (is_used_up(s)) {
      whole = false;
      branch_clear(&b, s->width);
      break;
    }
    if (b.refuted)
      status = add_refuted(s, &b, err);
    else {
      status = take_up(s, &b, err);
      if (status == CLARKE_OK)
        status = follow_on(s, &whole, err);
    }
    branch_clear(&b, s->width);
  }
  s->t->complete = whole;
  return status;
}

/* --- arcs -------------------------------------------------------------------------------------- */

static bool
all_realized(const clarke_patterns *t)
{
  for (size_t i = 0; i < t->n; i++)
    if (!t->pattern[i].realized)
      return false;
  return true;
}

static clarke_pattern *
find_pattern(const clarke_patterns *t, const size_t *path, size_t n)
{
  for (size_t i = 0; i < t->n; i++)
    if (t->pattern[i].n_choices == n &&
        memcmp(t->pattern[i].choice, path, n * sizeof *path) == 0)
      return &t->pattern[i];
  return NULL;
}

/* Which pattern does the arc follow? It is realized then. */
static clarke_status
try_arc(search *s, clarke_walk *w, mpq_t **arc, clarke_error *err)
{
  clarke_walk_state state = CLARKE_WALK_FORK;
  clarke_status status = CLARKE_OK;
  clarke_pattern *p;

  clarke_walk_restart(w, arc);
  s->n_path = 0;
  while (status == CLARKE_OK && state == CLARKE_WALK_FORK) {
    size_t choice;

    status = clarke_walk_on(w, &state, err);
    if (status != CLARKE_OK || state != CLARKE_WALK_FORK)
      break;
    choice = clarke_walk_arc_choice(w);
    if (choice == CLARKE_NONE)
      return CLARKE_OK;
    clarke_walk_choose(w, choice);
    status = path_append(s, choice, err);
  }
  p = status == CLARKE_OK && state == CLARKE_WALK_END ? find_pattern(s->t, s->path, s->n_path)
                                                      : NULL;
  return p != NULL && !p->realized ? give_direction(p, arc, ARC_STEPS, s->width, err) : status;
}

/* Small integers in a fixed pseudorandom order: the search proves what it finds, and nothing by
 * failing. */
static int
small(uint64_t *state)
{
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (int)((*state >> 33) % 7) - 3;
}

static clarke_status
try_arcs(search *s, clarke_error *err)
{
  mpq_t *arc[ARC_STEPS];
  clarke_walk w;
  uint64_t random = 1;
  clarke_status status = CLARKE_OK;

  for (size_t r = 0; r < ARC_STEPS; r++) {
    arc[r] = clarke_rationals(s->width);
    if (arc[r] == NULL)
      status = clarke_no_memory(err);
  }
  if (status == CLARKE_OK)
    status = clarke_walk_init(&w, s->e, arc, ARC_STEPS, err);
  else
    memset(&w, 0, sizeof w);
  for (size_t n = 0; n < ARCS && status == CLARKE_OK && !all_realized(s->t); n++) {
    for (size_t r = 0; r < ARC_STEPS; r++)
      for (size_t k = 0; k < s->width; k++)
        mpq_set_si(arc[r][k], n % 4 == 0 && r > 0 ? 0 : small(&random), 1);
    status = try_arc(s, &w, arc, err);
    if (w.arc_failed)
      break;
  }
  clarke_walk_clear(&w);
  for (size_t r = 0; r < ARC_STEPS; r++)
    clarke_rationals_free(arc[r], s->width);
  return status;
}

static bool
too_large(const clarke_execution *e)
{
  return e->n_order * (clarke_code_wrt_count(e->p) + 1) > PATTERNS_ENTRIES;
}

static clarke_status
search_init(search *s, clarke_patterns *t, const clarke_execution *e, clarke_error *err)
{
  *s = (search){.t = t, .e = e, .width = clarke_code_wrt_count(e->p)};
  t->width = s->width;
  t->dim = e->p->n_outputs * s->width;
  return clarke_walk_init(&s->walk, e, NULL, 0, err);
}

clarke_status
clarke_patterns_along(clarke_patterns *t, size_t *found, const clarke_execution *e,
                      clarke_chooser choose, void *context, clarke_error *err)
{
  clarke_walk_state state = CLARKE_WALK_FORK;
  search s;
  clarke_status status;

  *found = CLARKE_NONE;
  if (too_large(e))
    return CLARKE_OK;
  status = search_init(&s, t, e, err);
  while (status == CLARKE_OK && state == CLARKE_WALK_FORK) {
    size_t choice;

    status = clarke_walk_on(&s.walk, &state, err);
    if (status != CLARKE_OK || state != CLARKE_WALK_FORK)
      break;
    status = choose(&choice, context, &s.walk, err);
    if (status == CLARKE_OK && choice == CLARKE_NONE)
      break;
    if (status == CLARKE_OK)
      status = rows_append(&s, choice, err);
    clarke_walk_choose(&s.walk, choice);
    if (status == CLARKE_OK)
      status = path_append(&s, choice, err);
  }
  if (status == CLARKE_OK && state == CLARKE_WALK_END) {
    *found = t->n;
    status = add_pattern(&s, err);
  }
  search_clear(&s);
  return status;
}

clarke_status
clarke_patterns_find(clarke_patterns *t, const clarke_execution *e, clarke_error *err)
{
  search s;
  size_t width = clarke_code_wrt_count(e->p);
  clarke_status status;

  CLARKE_VERIFY_CHECK(!e->open && clarke_execution_is_valid(e));
  if (too_large(e)) {
    t->width = width;
    t->dim = e->p->n_outputs * width;
    snprintf(t->why, sizeof t->why, "%zu instructions and %zu variables are too many",
             e->n_order, width);
    return CLARKE_OK;
  }
  status = search_init(&s, t, e, err);
  if (status == CLARKE_OK)
    status = grow_tree(&s, err);
  if (status == CLARKE_OK && !all_realized(t))
    status = try_arcs(&s, err);
  t->all_known = t->complete && all_realized(t);
  search_clear(&s);
  CLARKE_VERIFY_CHECK(status != CLARKE_OK || clarke_patterns_is_valid(t));
  return status;
}
