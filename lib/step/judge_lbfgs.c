#include "step/judge_lbfgs.h"

#include "base/stop.h"
#include "exact/upward.h"
#include "step/judge_inside.h"
#include "step/lbfgs.h"
#include "step/piece.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BITS CLARKE_STEP_PRECISION

/* A pair as the program has it, and what holds its rows where they were made here. */
typedef struct {
  const double *y, *s;
  double ro, *own;
} kept_pair;

/* What an iteration has left. */
typedef struct {
  const double *theta, *d;
  double t, scale, ro;
  size_t n_pairs;
  const double *al, *be;
} remains;

typedef struct {
  const clarke_lbfgs_question *q;
  clarke_lbfgs_finding *f;
  size_t k, made; /* iterations of all steps, of this one */
  kept_pair *pair; /* from `first` on */
  size_t first, n_pairs;
  const double *theta, *d, *previous;
  double t, scale;
  clarke_number *g, *x, *y, *s; /* n each */
  clarke_lbfgs_pair handed;     /* with y and s */
} judgement;

const char *
clarke_lbfgs_part_name(clarke_lbfgs_part part)
{
  static const char *const names[] = {"theta", "d", "t", "H_diag", "ro", "old_dirs", "old_stps", "prev_flat_grad"};

  return names[part];
}

void
clarke_lbfgs_finding_clear(clarke_lbfgs_finding *f)
{
  free(f->by_rule);
  memset(f, 0, sizeof *f);
}

/* --- what is said ------------------------------------------------------------------------------------------------ */

__attribute__((format(printf, 3, 4))) static void
say(judgement *j, bool vague, const char *format, ...)
{
  va_list args;

  if (j->f->is != CLARKE_LBFGS_GOOD)
    return;
  j->f->is = vague ? CLARKE_LBFGS_VAGUE : CLARKE_LBFGS_BAD;
  va_start(args, format);
  vsnprintf(j->f->why, sizeof j->f->why, format, args);
  va_end(args);
}

/* An entry that is another. by_rule: what it must be (malloc), which is kept. */
static clarke_status
locate_text(judgement *j, clarke_lbfgs_part part, size_t entry, double recorded, char *by_rule, clarke_error *err)
{
  if (j->f->is != CLARKE_LBFGS_GOOD || by_rule == NULL) {
    const bool is = by_rule != NULL;

    free(by_rule);
    return is ? CLARKE_OK : clarke_no_memory(err);
  }
  say(j, false, "iteration %zu leaves another %s", j->made, clarke_lbfgs_part_name(part));
  j->f->located = true;
  j->f->part = part;
  j->f->entry = entry;
  j->f->iteration = j->made;
  j->f->recorded = recorded;
  j->f->by_rule = by_rule;
  return CLARKE_OK;
}

static clarke_status
locate(judgement *j, clarke_lbfgs_part part, size_t entry, double recorded, const clarke_number *by_rule, clarke_error *err)
{
  return locate_text(j, part, entry, recorded, clarke_number_text(by_rule), err);
}

static clarke_status
locate_float(judgement *j, clarke_lbfgs_part part, size_t entry, double recorded, double by_rule, clarke_error *err)
{
  char text[40];

  snprintf(text, sizeof text, "%.17g", by_rule);
  return locate_text(j, part, entry, recorded, strdup(text), err);
}

/* Rows of floats that must be the same. */
static clarke_status
require_same(judgement *j, clarke_lbfgs_part part, const double *recorded, const double *by_rule, size_t n, clarke_error *err)
{
  for (size_t i = 0; i < n; i++)
    if (recorded[i] != by_rule[i])
      return locate_float(j, part, i, recorded[i], by_rule[i], err);
  return CLARKE_OK;
}

/* A number that all entries share lies in what holds it, which is small beside it. */
static clarke_status
require_inside(judgement *j, clarke_lbfgs_part part, const clarke_number *x, double recorded, clarke_error *err)
{
  const int is = clarke_judge_is_inside(x, recorded);

  if (is == 0)
    return locate(j, part, 0, recorded, x, err);
  if (is < 0 || clarke_judge_radius(x) * 8 > fabs(recorded))
    say(j, true, "iteration %zu: the bound on rounding of %s is not small beside it, %.3g: another one could pass", j->made, clarke_lbfgs_part_name(part), recorded);
  return CLARKE_OK;
}

/* --- numbers --------------------------------------------------------------------------------------------------------- */

static void
load(clarke_number *x, const double *from, size_t n)
{
  for (size_t i = 0; i < n; i++)
    clarke_judge_set(&x[i], from[i]);
}

/* Is x above the bound, whatever of it is rounded? 2: that is not told. */
static int
is_above(const judgement *j, const clarke_number *x, const mpq_t bound)
{
  clarke_number limit;
  double rounded = mpq_get_d(bound);
  int exactly, as_float;

  clarke_number_init(&limit);
  clarke_number_set_q(&limit, bound);
  exactly = clarke_number_compare(x, &limit, BITS);
  clarke_judge_set(&limit, clarke_single_round(j->q->dtype, rounded));
  as_float = clarke_number_compare(x, &limit, BITS);
  clarke_number_clear(&limit);
  return exactly == 2 || as_float == 2 || (exactly == 1) != (as_float == 1) ? 2 : exactly == 1;
}

/* The same of a float that is off by less than a few units. */
static int
is_float_above(const judgement *j, double x, const mpq_t bound)
{
  const double off = j->q->dtype == CLARKE_F64 ? 0x1p-48 : 0x1p-20;
  mpq_t low, high;
  int is;

  mpq_inits(low, high, NULL);
  mpq_set_d(low, x * (1 - off));
  mpq_set_d(high, x * (1 + off));
  is = mpq_cmp(low, bound) > 0 ? 1 : mpq_cmp(high, bound) <= 0 ? 0 : 2;
  mpq_clears(low, high, NULL);
  return is;
}

static double
largest(const double *x, size_t n)
{
  double most = 0;

  for (size_t i = 0; i < n; i++)
    most = fmax(most, fabs(x[i]));
  return most;
}

static double
rounded(const judgement *j, double x)
{
  return clarke_single_round(j->q->dtype, x);
}

/* --- pairs ------------------------------------------------------------------------------------------------------------ */

static const clarke_lbfgs_pair *
hand_out(void *of, size_t i)
{
  judgement *j = of;
  const kept_pair *p = &j->pair[j->first + i];

  load(j->handed.y, p->y, j->q->n);
  load(j->handed.s, p->s, j->q->n);
  clarke_judge_set(&j->handed.ro, p->ro);
  return &j->handed;
}

/* What an iteration has left: of the last one what the step has. */
static remains
left_by(const judgement *j, size_t iteration)
{
  const clarke_lbfgs_question *q = j->q;
  const clarke_lbfgs_recorded *a = &q->at[1];

  if (iteration < q->n_evaluations) {
    const clarke_lbfgs_evaluated *e = &q->evaluation[iteration];

    return (remains){.theta = e->theta, .d = e->d, .t = e->t, .scale = e->scale, .ro = e->ro, .n_pairs = e->n_pairs, .al = e->al, .be = e->be};
  }
  return (remains){.theta = a->theta, .d = a->d, .t = a->t, .scale = a->scale, .ro = a->n_pairs > 0 ? a->ro[a->n_pairs - 1] : 0, .n_pairs = a->n_pairs,
                   .al = a->al, .be = a->be};
}

/* y s is above 1e-10: 1 / (y s), and H = y s / (y y). */
static clarke_status
check_kept(judgement *j, const remains *l, const clarke_number *ys, clarke_error *err)
{
  const clarke_hypers *h = j->q->hypers;
  clarke_number x, yy;
  clarke_status status;

  clarke_number_init(&x);
  clarke_number_init(&yy);
  clarke_number_set_si(&x, 1);
  clarke_number_div(&x, &x, ys, BITS);
  clarke_piece_round(&x, h, NULL, &x, NULL, NULL);
  status = require_inside(j, CLARKE_LBFGS_RO, &x, l->ro, err);
  clarke_lbfgs_dot(&yy, j->y, j->y, j->q->n, h);
  if (clarke_number_sign(&yy) != 1)
    say(j, true, "iteration %zu: y y may vanish", j->made);
  if (status == CLARKE_OK && j->f->is == CLARKE_LBFGS_GOOD) {
    clarke_number_div(&x, ys, &yy, BITS);
    clarke_piece_round(&x, h, NULL, &x, NULL, NULL);
    status = require_inside(j, CLARKE_LBFGS_SCALE, &x, l->scale, err);
  }
  clarke_number_clear(&x);
  clarke_number_clear(&yy);
  return status;
}

/* It becomes the last one, and the oldest goes where there are too many. */
static void
keep_pair(judgement *j, kept_pair *p, const remains *l)
{
  p->ro = l->ro;
  j->n_pairs++;
  if (mpq_cmp_ui(j->q->hypers->of[CLARKE_HYPER_HISTORY_SIZE], j->n_pairs, 1) < 0) {
    j->first++;
    j->n_pairs--;
  }
}

static clarke_status
take_pair(judgement *j, const double *g, const remains *l, clarke_error *err)
{
  const size_t n = j->q->n;
  kept_pair *p = &j->pair[j->first + j->n_pairs];
  double *rows = calloc(2 * n, sizeof *rows);
  clarke_status status = rows != NULL ? CLARKE_OK : clarke_no_memory(err);
  clarke_number ys;
  mpq_t least;
  int above;

  if (status != CLARKE_OK)
    return status;
  *p = (kept_pair){.y = rows, .s = rows + n, .own = rows};
  for (size_t i = 0; i < n; i++) {
    rows[i] = rounded(j, g[i] - j->previous[i]);
    rows[n + i] = rounded(j, j->d[i] * rounded(j, j->t));
  }
  load(j->y, p->y, n);
  load(j->s, p->s, n);
  mpq_init(least);
  clarke_number_init(&ys);
  clarke_lbfgs_dot(&ys, j->y, j->s, n, j->q->hypers);
  clarke_lbfgs_least(least);
  above = is_above(j, &ys, least);
  if (above == 2)
    say(j, true, "iteration %zu: rounding decides whether y s is above 1e-10, and so whether a pair is kept", j->made);
  if (above == 1) {
    status = check_kept(j, l, &ys, err);
    keep_pair(j, p, l);
  } else if (above == 0 && l->scale != j->scale)
    status = locate_float(j, CLARKE_LBFGS_SCALE, 0, l->scale, j->scale, err);
  else if (above == 0 && j->n_pairs > 0 && l->ro != p[-1].ro)
    status = locate_float(j, CLARKE_LBFGS_RO, 0, l->ro, p[-1].ro, err);
  if (above != 1) {
    free(rows);
    p->own = NULL;
  }
  if (l->n_pairs != j->n_pairs)
    say(j, false, "iteration %zu keeps %zu pairs, by the rule %zu", j->made, l->n_pairs, j->n_pairs);
  clarke_number_clear(&ys);
  mpq_clear(least);
  return status;
}

/* --- an iteration -------------------------------------------------------------------------------------------------------- */

/* y + a x, with one rounding or with two. */
static double
add_product(const judgement *j, double y, double a, double x, bool fused)
{
  if (!fused)
    return rounded(j, y + rounded(j, a * x));
  return j->q->dtype == CLARKE_F64 ? fma(a, x, y) : (double)fmaf((float)a, (float)x, (float)y);
}

/* Entry i of the direction that such shares make. */
static double
entry_of(const judgement *j, const remains *l, double g, size_t i, bool fused)
{
  const kept_pair *p = j->pair + j->first;
  double q = -g;

  for (size_t k = j->n_pairs; k-- > 0;)
    q = add_product(j, q, -l->al[k], p[k].y[i], fused);
  q = rounded(j, q * rounded(j, l->scale));
  for (size_t k = 0; k < j->n_pairs; k++)
    q = add_product(j, q, rounded(j, l->al[k] - l->be[k]), p[k].s[i], fused);
  return q;
}

/* Is a share what floats may make of ro (row q)? Then adds to *off how far it may be from that, times the row that it weighs. */
static bool
is_share(judgement *j, double *off, double share, double ro, const double *row, const double *q, const double *weighs)
{
  const size_t n = j->q->n;
  clarke_number x, by;
  bool is;

  clarke_number_init(&x);
  clarke_number_init(&by);
  load(j->y, row, n);
  load(j->s, q, n);
  clarke_judge_set(&by, ro);
  clarke_lbfgs_dot(&x, j->y, j->s, n, j->q->hypers);
  clarke_number_mul(&x, &x, &by, BITS);
  clarke_piece_round(&x, j->q->hypers, NULL, &x, NULL, NULL);
  is = clarke_judge_is_inside(&x, share) == 1;
  *off = clarke_up_add(*off, clarke_up_mul(clarke_up_mul(2, clarke_judge_radius(&x)), largest(weighs, n)));
  clarke_number_clear(&x);
  clarke_number_clear(&by);
  return is;
}

/* Follows the two loops with these shares, each entry as it is fused or not. */
static bool
follow_shares(judgement *j, double *q, const bool *fused, const double *g, const remains *l, double *off)
{
  const kept_pair *p = j->pair + j->first;
  const size_t n = j->q->n;
  bool is = true;

  for (size_t i = 0; i < n; i++)
    q[i] = -g[i];
  for (size_t k = j->n_pairs; k-- > 0 && is;) {
    is = is_share(j, off, l->al[k], p[k].ro, p[k].s, q, p[k].y);
    for (size_t i = 0; i < n; i++)
      q[i] = add_product(j, q[i], -l->al[k], p[k].y[i], fused[i]);
  }
  *off = clarke_up_mul(*off, fabs(l->scale));
  for (size_t i = 0; i < n; i++)
    q[i] = rounded(j, q[i] * rounded(j, l->scale));
  for (size_t k = 0; k < j->n_pairs && is; k++) {
    is = is_share(j, off, l->be[k], p[k].ro, p[k].y, q, p[k].s);
    for (size_t i = 0; i < n; i++)
      q[i] = add_product(j, q[i], rounded(j, l->al[k] - l->be[k]), p[k].s[i], fused[i]);
  }
  return is;
}

/* Is the direction, bit for bit, what the shares that are recorded beside it make? And is each of these what a sum in floats, in some order, may be?
 * Then nothing but the sums' orders is not known. */
static clarke_status
is_witnessed(judgement *j, bool *is, const double *g, const remains *l, clarke_error *err)
{
  const size_t n = j->q->n;
  double *q = calloc(n, sizeof *q), off = 0;
  bool *fused = calloc(n, sizeof *fused);

  *is = q != NULL && fused != NULL && (j->n_pairs == 0 || (l->al != NULL && l->be != NULL));
  for (size_t i = 0; i < n && *is; i++) {
    fused[i] = entry_of(j, l, g[i], i, true) == l->d[i];
    *is = fused[i] || entry_of(j, l, g[i], i, false) == l->d[i];
  }
  *is = *is && follow_shares(j, q, fused, g, l, &off) && off * 4 <= largest(l->d, n);
  if (*is) {
    j->f->bound = fmax(j->f->bound, off);
    j->f->within += n;
  }
  free(fused);
  free(q);
  return q != NULL && fused != NULL ? CLARKE_OK : clarke_no_memory(err);
}

/* Is the direction in what the two loops may make? */
static clarke_status
check_direction(judgement *j, const double *g, const remains *l, clarke_error *err)
{
  clarke_number scale;
  const clarke_lbfgs_pairs pairs = {.n = j->q->n, .n_pairs = j->n_pairs, .scale = &scale, .pair = hand_out, .of = j};
  bool witnessed = false;
  clarke_status status = is_witnessed(j, &witnessed, g, l, err);

  j->f->largest = fmax(j->f->largest, largest(l->d, j->q->n));
  if (witnessed || status != CLARKE_OK)
    return status;
  clarke_number_init(&scale);
  clarke_judge_set(&scale, l->scale);
  status = clarke_lbfgs_direct(j->x, &pairs, j->g, j->q->hypers, err);
  for (size_t i = 0; i < j->q->n && status == CLARKE_OK && j->f->is == CLARKE_LBFGS_GOOD; i++) {
    const int is = clarke_judge_is_inside(&j->x[i], l->d[i]);

    j->f->within += is == 1;
    j->f->bound = fmax(j->f->bound, is < 0 ? INFINITY : clarke_up_mul(2, clarke_judge_radius(&j->x[i])));
    if (is == 0)
      status = locate(j, CLARKE_LBFGS_D, i, l->d[i], &j->x[i], err);
  }
  if (j->f->bound * 4 > largest(l->d, j->q->n))
    say(j, true, "iteration %zu: the bound on rounding of d, %.3g, is not small beside its largest entry, %.3g: a wrong one could pass", j->made, j->f->bound,
        largest(l->d, j->q->n));
  clarke_number_clear(&scale);
  return status;
}

/* The first of all: d = -g, and no pairs. */
static clarke_status
check_first(judgement *j, const double *g, const remains *l, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < j->q->n && status == CLARKE_OK; i++)
    if (l->d[i] != -g[i])
      status = locate_float(j, CLARKE_LBFGS_D, i, l->d[i], -g[i], err);
  j->f->bits += j->q->n;
  if (l->n_pairs > 0)
    say(j, false, "iteration %zu keeps %zu pairs, by the rule 0", j->made, l->n_pairs);
  return status == CLARKE_OK && l->scale != 1 ? locate_float(j, CLARKE_LBFGS_SCALE, 0, l->scale, 1, err) : status;
}

/* t is eta; in the first iteration of all min(1, 1 / |g|_1) eta. */
static clarke_status
check_length(judgement *j, const double *g, const remains *l, clarke_error *err)
{
  const clarke_hypers *h = j->q->hypers;
  const double eta = mpq_get_d(h->of[CLARKE_HYPER_STEP]);
  clarke_number sum, one, x;
  clarke_status status = CLARKE_OK;
  int above = 0;

  clarke_number_init(&sum);
  clarke_number_init(&one);
  clarke_number_init(&x);
  clarke_number_set_si(&one, 1);
  for (size_t i = 0; i < j->q->n && j->k == 1; i++) {
    clarke_judge_set(&x, fabs(g[i]));
    clarke_number_add(&sum, &sum, &x, BITS);
  }
  if (j->k == 1) {
    clarke_piece_off(&sum, j->q->n + CLARKE_ROUNDINGS, h->rounding.unit, 0, 0);
    above = clarke_number_compare(&sum, &one, BITS);
  }
  if (above > 0) {
    clarke_number_set_q(&x, h->of[CLARKE_HYPER_STEP]);
    clarke_number_div(&sum, &x, &sum, BITS);
    if (above == 2)
      clarke_number_join(&sum, &sum, &x, BITS);
    clarke_piece_round(&sum, h, NULL, &sum, NULL, NULL);
    status = require_inside(j, CLARKE_LBFGS_T, &sum, l->t, err);
  } else if (l->t != eta)
    status = locate_float(j, CLARKE_LBFGS_T, 0, l->t, eta, err);
  clarke_number_clear(&sum);
  clarke_number_clear(&one);
  clarke_number_clear(&x);
  return status;
}

/* 1: theta stays, for the slope is above minus the tolerance; 2: rounding decides. */
static int
is_flat(const judgement *j)
{
  clarke_number slope;
  mpq_t least;
  int above;

  mpq_init(least);
  clarke_number_init(&slope);
  clarke_lbfgs_dot(&slope, j->g, j->x, j->q->n, j->q->hypers);
  mpq_neg(least, j->q->hypers->of[CLARKE_HYPER_TOLERANCE_CHANGE]);
  above = is_above(j, &slope, least);
  clarke_number_clear(&slope);
  mpq_clear(least);
  return above;
}

/* Inside of what floats may make of theta + t d? The bound on it. */
static clarke_status
check_entry(judgement *j, const remains *l, size_t i, double *bound, clarke_error *err)
{
  clarke_number x, theta, d, by;
  clarke_status status = CLARKE_OK;
  int is;

  clarke_number_init(&x);
  clarke_number_init(&theta);
  clarke_number_init(&d);
  clarke_number_init(&by);
  clarke_judge_set(&theta, j->theta[i]);
  clarke_judge_set(&d, l->d[i]);
  clarke_judge_set(&by, l->t);
  clarke_number_mul(&d, &d, &by, BITS);
  clarke_number_add(&x, &theta, &d, BITS);
  clarke_piece_round(&x, j->q->hypers, NULL, &theta, NULL, &d);
  is = clarke_judge_is_inside(&x, l->theta[i]);
  *bound = fmax(*bound, clarke_up_mul(2, clarke_judge_radius(&x)));
  j->f->within += is == 1;
  if (is != 1)
    status = locate(j, CLARKE_LBFGS_THETA, i, l->theta[i], &x, err);
  clarke_number_clear(&x);
  clarke_number_clear(&theta);
  clarke_number_clear(&d);
  clarke_number_clear(&by);
  return status;
}

/* theta + t d, fused or not, or within the bound. */
static clarke_status
check_move(judgement *j, const remains *l, clarke_error *err)
{
  const double t = rounded(j, l->t);
  double bound = 0, moved = 0;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < j->q->n && status == CLARKE_OK; i++) {
    moved = fmax(moved, fabs(l->theta[i] - j->theta[i]));
    if (l->theta[i] == add_product(j, j->theta[i], t, l->d[i], true) || l->theta[i] == add_product(j, j->theta[i], t, l->d[i], false))
      j->f->bits++;
    else
      status = check_entry(j, l, i, &bound, err);
  }
  if (bound * 4 > moved)
    say(j, true, "iteration %zu: theta is not bit for bit, and the bound on rounding, %.3g, is not small beside its move, %.3g", j->made, bound, moved);
  return status;
}

/* flat: theta stays, and the step ends. */
static clarke_status
check_iteration(judgement *j, bool *flat, clarke_error *err)
{
  const double *g = j->q->evaluation[j->made].gradient;
  remains l;
  clarke_status status;
  int is;

  j->k++;
  j->made++;
  l = left_by(j, j->made);
  load(j->g, g, j->q->n);
  status = j->k == 1 ? check_first(j, g, &l, err) : take_pair(j, g, &l, err);
  if (status == CLARKE_OK && j->k > 1 && j->f->is == CLARKE_LBFGS_GOOD)
    status = check_direction(j, g, &l, err);
  if (status == CLARKE_OK)
    status = check_length(j, g, &l, err);
  if (status != CLARKE_OK || j->f->is != CLARKE_LBFGS_GOOD)
    return status;
  load(j->x, l.d, j->q->n);
  is = is_flat(j);
  *flat = is == 1;
  if (is == 2)
    say(j, true, "iteration %zu: rounding decides whether the slope is above minus tolerance_change, where theta stays", j->made);
  else
    status = is == 1 ? require_same(j, CLARKE_LBFGS_THETA, l.theta, j->theta, j->q->n, err) : check_move(j, &l, err);
  j->theta = l.theta;
  j->d = l.d;
  j->t = l.t;
  j->scale = l.scale;
  j->previous = g;
  return status;
}

/* --- where it ends ------------------------------------------------------------------------------------------------------- */

/* Is a float within the tolerance? 2: rounding decides. */
static int
is_small(judgement *j, double x, clarke_hyper tolerance, const char *what)
{
  const int above = is_float_above(j, x, j->q->hypers->of[tolerance]);

  if (above == 2)
    say(j, true, "evaluation %zu: rounding decides whether %s is within its tolerance, where the step ends", j->made + 1, what);
  return above == 2 ? 2 : !above;
}

/* Does the step end behind the evaluation that the last iteration led to? */
static bool
ends(judgement *j)
{
  const clarke_lbfgs_evaluated *e = &j->q->evaluation[j->made];
  const double change = fabs(e->loss - j->q->evaluation[j->made - 1].loss);
  double move = 0;

  if (mpq_cmp_ui(j->q->hypers->of[CLARKE_HYPER_MAX_EVAL], j->made + 1, 1) <= 0)
    return true;
  if (is_small(j, largest(e->gradient, j->q->n), CLARKE_HYPER_TOLERANCE_GRAD, "the largest gradient") != 0)
    return true;
  for (size_t i = 0; i < j->q->n; i++)
    move = fmax(move, fabs(rounded(j, j->d[i] * rounded(j, j->t))));
  if (is_small(j, move, CLARKE_HYPER_TOLERANCE_CHANGE, "the move") != 0)
    return true;
  if (change == 0) /* 0 < 0 is not so */
    return mpq_sgn(j->q->hypers->of[CLARKE_HYPER_TOLERANCE_CHANGE]) > 0;
  return is_small(j, change, CLARKE_HYPER_TOLERANCE_CHANGE, "the change of the loss") != 0;
}

/* So many evaluations by the rule. */
static void
require_evaluations(judgement *j, size_t n)
{
  if (j->q->n_evaluations != n)
    say(j, false, "the step evaluated %zu times, and by the rule it ends behind %zu", j->q->n_evaluations, n);
}

static clarke_status
check_iterations(judgement *j, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  bool flat = false;

  while (status == CLARKE_OK && j->f->is == CLARKE_LBFGS_GOOD) {
    status = check_iteration(j, &flat, err);
    if (status != CLARKE_OK || j->f->is != CLARKE_LBFGS_GOOD)
      return status;
    if (flat || mpq_cmp_ui(j->q->hypers->of[CLARKE_HYPER_MAX_ITER], j->made, 1) <= 0) {
      require_evaluations(j, j->made);
      return status;
    }
    if (j->q->n_evaluations == j->made) {
      say(j, false, "the step ended behind %zu evaluations, and by the rule it goes on", j->made);
      return status;
    }
    if (ends(j)) {
      require_evaluations(j, j->made + 1);
      return status;
    }
    status = clarke_work_check(err);
  }
  return status;
}

/* What the step has left is what the iterations have. */
static clarke_status
check_after(judgement *j, clarke_error *err)
{
  const clarke_lbfgs_recorded *a = &j->q->at[1];
  const size_t n = j->q->n;
  clarke_status status = require_same(j, CLARKE_LBFGS_THETA, a->theta, j->theta, n, err);

  if (a->iterations != j->k || a->evaluations != j->q->at[0].evaluations + j->q->n_evaluations)
    say(j, false, "'n_iter' and 'func_evals' are %zu and %zu behind the step, by the rule %zu and %zu", a->iterations, a->evaluations, j->k,
        j->q->at[0].evaluations + j->q->n_evaluations);
  if (j->k == 0 || status != CLARKE_OK)
    return status;
  if (a->n_pairs != j->n_pairs) {
    say(j, false, "%zu pairs are kept behind the step, by the rule %zu", a->n_pairs, j->n_pairs);
    return status;
  }
  status = require_same(j, CLARKE_LBFGS_D, a->d, j->d, n, err);
  if (status == CLARKE_OK)
    status = require_same(j, CLARKE_LBFGS_T, &a->t, &j->t, 1, err);
  if (status == CLARKE_OK)
    status = require_same(j, CLARKE_LBFGS_SCALE, &a->scale, &j->scale, 1, err);
  if (status == CLARKE_OK)
    status = require_same(j, CLARKE_LBFGS_PREVIOUS, a->previous, j->previous, n, err);
  for (size_t i = 0; i < j->n_pairs && status == CLARKE_OK; i++) {
    const kept_pair *p = &j->pair[j->first + i];

    status = require_same(j, CLARKE_LBFGS_Y, a->y + i * n, p->y, n, err);
    if (status == CLARKE_OK)
      status = require_same(j, CLARKE_LBFGS_S, a->s + i * n, p->s, n, err);
    if (status == CLARKE_OK)
      status = require_same(j, CLARKE_LBFGS_RO, &a->ro[i], &p->ro, 1, err);
  }
  return status;
}

/* --- all of it -------------------------------------------------------------------------------------------------------------- */

static clarke_status
begin(judgement *j, clarke_error *err)
{
  const clarke_lbfgs_recorded *b = &j->q->at[0];
  const size_t n = j->q->n, most = b->n_pairs + j->q->n_evaluations + 1;

  clarke_number_init(&j->handed.ro);
  j->pair = calloc(most, sizeof *j->pair);
  j->g = clarke_numbers(n);
  j->x = clarke_numbers(n);
  j->y = clarke_numbers(n);
  j->s = clarke_numbers(n);
  j->handed.y = clarke_numbers(n);
  j->handed.s = clarke_numbers(n);
  if (j->pair == NULL || j->g == NULL || j->x == NULL || j->y == NULL || j->s == NULL || j->handed.y == NULL || j->handed.s == NULL)
    return clarke_no_memory(err);
  j->k = b->iterations;
  j->theta = b->theta;
  j->d = b->d;
  j->t = b->t;
  j->scale = b->scale;
  j->previous = b->previous;
  for (; j->n_pairs < b->n_pairs; j->n_pairs++)
    j->pair[j->n_pairs] = (kept_pair){.y = b->y + j->n_pairs * n, .s = b->s + j->n_pairs * n, .ro = b->ro[j->n_pairs]};
  return CLARKE_OK;
}

static void
end(judgement *j)
{
  clarke_number *const all[] = {j->g, j->x, j->y, j->s, j->handed.y, j->handed.s};

  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i] != NULL)
      clarke_numbers_free(all[i], j->q->n);
  for (size_t i = 0; j->pair != NULL && i < j->first + j->n_pairs; i++)
    free(j->pair[i].own);
  free(j->pair);
  clarke_number_clear(&j->handed.ro);
}

clarke_status
clarke_lbfgs_judge(clarke_lbfgs_finding *f, const clarke_lbfgs_question *q, clarke_error *err)
{
  judgement j = {.q = q, .f = f};
  clarke_status status;
  int rests;

  memset(f, 0, sizeof *f);
  status = begin(&j, err);
  if (status == CLARKE_OK)
    status = require_same(&j, CLARKE_LBFGS_THETA, q->evaluation[0].theta, q->at[0].theta, q->n, err);
  rests = is_small(&j, largest(q->evaluation[0].gradient, q->n), CLARKE_HYPER_TOLERANCE_GRAD, "the largest gradient");
  if (status == CLARKE_OK && rests == 1)
    require_evaluations(&j, 1);
  if (status == CLARKE_OK && rests == 0)
    status = check_iterations(&j, err);
  if (status == CLARKE_OK && f->is == CLARKE_LBFGS_GOOD)
    status = check_after(&j, err);
  end(&j);
  return status;
}
