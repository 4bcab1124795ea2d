/* Bounds of gradients: what each kind of step hands on (docs/rounding-bound.md has the rules). */
#include "trace/bound/rounding_back_step.h"

#include "network/pass/analytic.h"
#include "network/pass/linear.h"
#include "trace/bound/rounding_dense.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Elementary functions are within 4 ulp: 8 units. */
#define FUNCTION 8

static void
add_part(clarke_rounding_sum *s, size_t e, double error, double mass, unsigned parts)
{
  s->error[e] += error;
  s->mass[e] += mass;
  s->parts[e] = (unsigned char)(s->parts[e] + parts > 2 ? 2 : s->parts[e] + parts);
}

static void
add(clarke_rounding_sum *s, size_t e, double error, double mass)
{
  add_part(s, e, error, mass, 2);
}

/* Likewise of a number that is not computed: recorded, and alone, it is not rounded. */
static void
add_moved(const clarke_roundback *p, clarke_rounding_sum *s, size_t e, double error, double mass)
{
  add_part(s, e, error, mass, p->known ? 1 : 2);
}

/* How many features read one entry of an operand, at most. */
static double
readers(const clarke_roundback *p, const clarke_operand *o, size_t count)
{
  return (double)clarke_roundback_meet(p, o->map, count, p->g->values[o->value].count);
}

static double
spare(const clarke_step *s)
{
  return strstr(s->op->name, "Normalization") != NULL ? CLARKE_ROUNDBACK_SPARE_NORMALIZED : CLARKE_ROUNDBACK_SPARE;
}

static void
back_gather(const clarke_roundback *p)
{
  const clarke_operand *o = &p->s->in[0];
  const clarke_rounding_sum *from = &p->sum[p->s->out];
  clarke_rounding_sum *to = clarke_roundback_target(p, o->value);

  if (to == NULL)
    return;
  for (size_t e = 0; e < p->count * p->n; e++) {
    const size_t f = clarke_operand_entry(o, e / p->n);

    if (f != CLARKE_NONE && p->known)
      add_moved(p, to, f * p->n + e % p->n, p->error[e], p->size[e] + p->error[e]);
    else if (f != CLARKE_NONE)
      add_part(to, f * p->n + e % p->n, from->error[e], from->mass[e], from->parts[e]);
  }
  to->terms += readers(p, o, p->count) * (p->known ? 1 : from->terms + 1);
}

/* To entry e of one operand. A bias may be given what a library has made narrow for the products of its node: `narrow` of the gradient. */
static void
back_operand(const clarke_roundback *p, clarke_rounding_sum *to, const clarke_operand *o, size_t e, double narrow)
{
  const size_t f = clarke_operand_entry(o, e / p->n), at = p->g->values[o->value].constant ? f : f * p->n + e % p->n;
  const double coef = fabs(o->coef);

  if (f == CLARKE_NONE)
    return;
  if (coef == 1 && narrow == 0)
    add_moved(p, to, at, p->error[e], p->size[e] + p->error[e]);
  else if (narrow == 0)
    add(to, at, coef * p->error[e], coef * (p->size[e] + p->error[e]));
  else
    add(to, at, coef * (p->error[e] + narrow * (p->size[e] + p->error[e])), coef * (1 + narrow) * (p->size[e] + p->error[e]));
}

/* How many features read one entry of the value, by any operand, at most. */
static double
all_readers(const clarke_roundback *p, size_t value)
{
  size_t most = 1;

  memset(p->reads, 0, p->g->values[value].count * sizeof *p->reads);
  for (size_t k = 0; k < p->s->n_in; k++)
    for (size_t f = 0; p->s->in[k].value == value && f < p->count; f++) {
      const size_t from = clarke_operand_entry(&p->s->in[k], f);

      if (from != CLARKE_NONE && ++p->reads[from] > most)
        most = p->reads[from];
    }
  return (double)most;
}

static bool
met_before(const clarke_step *s, size_t k)
{
  size_t i = 0;

  while (s->in[i].value != s->in[k].value)
    i++;
  return i < k;
}

static void
back_sum(const clarke_roundback *p)
{
  for (size_t k = 0; k < p->s->n_in; k++) {
    const clarke_operand *o = &p->s->in[k];
    clarke_rounding_sum *to = clarke_roundback_target(p, o->value);

    const double narrow = p->g->values[o->value].constant ? clarke_roundoff_narrow(&p->r->by, p->s) : 0;

    for (size_t e = 0; to != NULL && e < p->count * p->n; e++)
      back_operand(p, to, o, e, narrow);
    if (to != NULL && !met_before(p->s, k))
      to->terms += all_readers(p, o->value) * (p->g->values[o->value].constant ? (double)p->n : 1) + spare(p->s);
  }
}

/* The gradient in c of x c is that of the output times x; of x / c times the output / c, turned. */
static void
back_scale_constant(const clarke_roundback *p, const double *column)
{
  const clarke_operand *x = &p->s->in[0], *c = &p->s->in[1];
  const size_t other = p->s->divide ? p->s->out : x->value;
  clarke_rounding_sum *to = clarke_roundback_target(p, c->value);

  if (to == NULL)
    return;
  for (size_t e = 0; e < p->count * p->n; e++) {
    const size_t f = e / p->n, from = p->s->divide ? e : clarke_operand_entry(x, f) * p->n + e % p->n;
    const double by = p->s->divide ? column[f] : 1, off = p->r->error[other][from], top = p->r->size[other][from] + off;
    const double added = p->r->wide[other] != NULL ? p->r->wide[other][from] : top;

    add(to, clarke_operand_entry(c, f), by * (clarke_roundoff_times(p->size[e], off) + clarke_roundoff_times(p->error[e], top)),
        by * clarke_roundoff_times(p->size[e] + p->error[e], added));
  }
  to->terms += readers(p, c, p->count) * (double)p->n + spare(p->s);
}

static clarke_status
back_scale(const clarke_roundback *p, clarke_error *err)
{
  const clarke_operand *x = &p->s->in[0];
  double *size = NULL;
  clarke_matrix column;
  clarke_status status;
  clarke_rounding_sum *to = clarke_roundback_target(p, x->value);

  clarke_matrix_init(&column);
  status = clarke_scale_column(&column, p->r->f, p->s, err);
  if (status == CLARKE_OK && (size = clarke_roundoff_sizes(&column)) == NULL)
    status = clarke_no_memory(err);
  for (size_t e = 0; status == CLARKE_OK && to != NULL && e < p->count * p->n; e++) {
    const size_t at = clarke_operand_entry(x, e / p->n) * p->n + e % p->n;
    const double c = size[e / p->n], mass = c * (p->size[e] + p->error[e]);

    if (clarke_roundoff_cancels(p->g, p->s, e / p->n))
      add(to, at, INFINITY, mass);
    else if (clarke_roundoff_is_sign(&column, e / p->n))
      add_moved(p, to, at, p->error[e], mass);
    else
      add(to, at, c * p->error[e] + clarke_roundoff_by(&p->r->by, spare(p->s), mass), mass);
  }
  if (to != NULL)
    to->terms += readers(p, x, p->count);
  if (status == CLARKE_OK)
    back_scale_constant(p, size);
  free(size);
  clarke_matrix_clear(&column);
  return status;
}

/* What comes back through the products w x: each to x, with the weight's sizes, and to w, with x's. all: |gradient| + error,
 * and more where factors are narrow; narrow: what these take. */
static void
back_products(const clarke_roundback *p, clarke_rounding_sum *x, clarke_rounding_sum *w, const clarke_dense_sizes *sizes,
              const double *all, const double *narrow)
{
  if (x != NULL) {
    clarke_roundoff_dense_back(x->error, p->s, sizes->weight, p->error, p->n);
    clarke_roundoff_dense_back(x->error, p->s, sizes->weight, narrow, p->n);
    clarke_roundoff_dense_back(x->mass, p->s, sizes->weight, all, p->n);
  }
  if (x != NULL && sizes->cast != NULL) {
    clarke_roundoff_dense_back(x->error, p->s, sizes->cast, all, p->n);
    clarke_roundoff_dense_back(x->mass, p->s, sizes->cast, all, p->n);
  }
  if (w != NULL) {
    clarke_roundoff_dense_weight(w->error, p->s, p->error, sizes->top, p->n);
    clarke_roundoff_dense_weight(w->error, p->s, narrow, sizes->top, p->n);
    clarke_roundoff_dense_weight(w->error, p->s, p->size, p->r->error[p->s->in[0].value], p->n);
    clarke_roundoff_dense_weight(w->mass, p->s, all, sizes->top, p->n);
  }
}

static clarke_status
back_dense(const clarke_roundback *p, clarke_error *err)
{
  const clarke_dense *d = &p->s->dense;
  clarke_rounding_sum *x = clarke_roundback_target(p, p->s->in[0].value), *w = clarke_roundback_target(p, d->weight);
  const bool casts = clarke_roundoff_casts(p->r, d->weight);
  const clarke_dense_sizes sizes = {clarke_roundoff_weights(p->r, d->weight, false),
                                    casts ? clarke_roundoff_weights(p->r, d->weight, true) : NULL,
                                    clarke_roundoff_tops(p->r, p->s->in[0].value)};
  double *all = malloc((p->count * p->n + 1) * sizeof *all), *narrow = malloc((p->count * p->n + 1) * sizeof *narrow);
  const bool well = sizes.weight != NULL && (!casts || sizes.cast != NULL) && sizes.top != NULL && all != NULL && narrow != NULL;
  const double taken = clarke_roundoff_narrow(&p->r->by, p->s);

  for (size_t e = 0; well && e < p->count * p->n; e++) {
    narrow[e] = taken > 0 ? clarke_up_by(taken * (p->size[e] + p->error[e]), 4) : 0;
    all[e] = p->size[e] + p->error[e] + narrow[e];
  }
  if (well)
    back_products(p, x, w, &sizes, all, narrow);
  if (x != NULL) {
    const bool moves = well && d->outer == 1 && p->known && clarke_roundoff_turns(sizes.weight, p->g->values[d->weight].count);

    for (size_t e = 0; e < p->g->values[p->s->in[0].value].count * p->n; e++)
      add_part(x, e, 0, 0, moves ? 1 : 2);
    x->terms += (double)d->outer;
  }
  if (w != NULL) {
    memset(w->parts, 2, p->g->values[d->weight].count);
    w->terms += (double)p->n * (double)d->repeat * (double)(d->grouped ? 1 : d->blocks);
  }
  free(sizes.weight);
  free(sizes.cast);
  free(sizes.top);
  free(narrow);
  free(all);
  return well ? CLARKE_OK : clarke_no_memory(err);
}

/* Rounding may have turned the branch at an entry, and its gradient is not 0. */
static void
note_open(const clarke_roundback *p, size_t e)
{
  const size_t step = (size_t)(p->s - p->g->steps);

  if (p->r->open++ > 0 && p->r->open_step == step)
    return;
  p->r->open_step = step; /* steps are met from the last to the first */
  p->r->open_entry = e;
}

/* PRelu's slope: x, where the computed argument may be below 0. */
static void
back_slope(const clarke_roundback *p, size_t e, bool open)
{
  const size_t c = p->s->pieces.slope, x = p->s->in[0].value, step = (size_t)(p->s - p->g->steps);
  const size_t *map = p->s->pieces.slope_map;
  const double off = p->r->error[x][e], top = p->r->size[x][e] + off, g = p->size[e] + p->error[e];
  clarke_rounding_sum *to = c != CLARKE_NONE ? clarke_roundback_target(p, c) : NULL;

  if (to == NULL)
    return;
  if (open)
    add(to, map != NULL ? map[e / p->n] : e / p->n, g * top, g * top);
  else if (p->r->f->piece[step][e] == 0)
    add(to, map != NULL ? map[e / p->n] : e / p->n, p->size[e] * off + p->error[e] * top, g * top);
}

/* At least |2 c x + b|, and what it is added up from: at the ends of its piece c x and b of a parabola may cancel. */
static double
slope_mass(const clarke_roundback *p, size_t e, double steepest)
{
  const clarke_pieces *q = &p->s->pieces;
  const size_t x = p->s->in[0].value;
  const double top = p->r->size[x][e] + p->r->error[x][e];

  for (size_t i = 0; i <= q->n_kinks; i++) {
    const double end = i > 0 && i < q->n_kinks ? fmax(fabs(mpq_get_d(q->kink[i - 1])), fabs(mpq_get_d(q->kink[i]))) : INFINITY;
    const double slope = fabs(mpq_get_d(q->coef[i][1])) + 2 * fabs(mpq_get_d(q->coef[i][2])) * fmin(top, end);

    if (mpq_sgn(q->coef[i][2]) != 0)
      steepest = fmax(steepest, clarke_roundoff_sum(slope, 8));
  }
  return steepest;
}

static void
back_piece(const clarke_roundback *p, clarke_rounding_sum *to, const clarke_reach *reach, size_t e)
{
  const double error = reach->steepest * p->error[e] + reach->apart * p->size[e];
  const double mass = slope_mass(p, e, reach->steepest) * (p->size[e] + p->error[e]);

  if (reach->selects)
    add_moved(p, to, e, error, mass);
  else
    add(to, e, error, mass);
}

static clarke_status
back_piecewise(const clarke_roundback *p, clarke_error *err)
{
  const size_t x = p->s->in[0].value, step = (size_t)(p->s - p->g->steps);
  clarke_rounding_sum *to = clarke_roundback_target(p, x);
  clarke_rounding_sum *slope = p->s->pieces.slope != CLARKE_NONE ? clarke_roundback_target(p, p->s->pieces.slope) : NULL;
  clarke_status status = CLARKE_OK;

  for (size_t e = 0; e < p->count * p->n && status == CLARKE_OK; e++) {
    clarke_reach reach;

    status = clarke_roundoff_reach(&reach, p->r, step, e, err);
    if (status == CLARKE_OK && reach.open && p->size[e] > 0)
      note_open(p, e);
    if (status == CLARKE_OK && to != NULL)
      back_piece(p, to, &reach, e);
    if (status == CLARKE_OK && slope != NULL)
      back_slope(p, e, reach.apart > 0);
  }
  if (to != NULL)
    to->terms += 1 + 6;
  if (slope != NULL)
    slope->terms += (double)p->n * (double)p->count;
  return status;
}

/* How far a computed slope may be from the exact one: of sigmoid and tanh, whose slope y (1 - y) or 1 - y^2 is computed of y,
 * with y off by `off`, at most `top`; of others of x. */
static double
slope_apart(const clarke_roundback *p, double x_off, double off, double top)
{
  const clarke_function function = p->s->function;

  if (function == CLARKE_SIGMOID || function == CLARKE_TANH)
    return 2 * off * (1 + off) + clarke_roundoff_by(&p->r->by, 4, 1 + top * top);
  if (function == CLARKE_EXP)
    return off + clarke_roundoff_by(&p->r->by, FUNCTION, top);
  return clarke_roundoff_sum(clarke_analytic_bend(function) * x_off, 2) + clarke_roundoff_by(&p->r->by, 2 * FUNCTION, 2)
         + (function == CLARKE_SOFTPLUS ? CLARKE_SOFTPLUS_LEFT : 0);
}

static void
back_analytic(const clarke_roundback *p)
{
  const size_t y = p->s->out, step = (size_t)(p->s - p->g->steps);
  const clarke_matrix *slope = &p->r->slopes->slope[step];
  clarke_rounding_sum *to = clarke_roundback_target(p, p->s->in[0].value);

  for (size_t e = 0; to != NULL && e < p->count * p->n; e++) {
    /* the value may be computed anew */
    const double off = p->r->error[y][e] + clarke_roundoff_by(&p->r->by, FUNCTION, p->r->size[y][e]), top = p->r->size[y][e] + off;
    const double size = clarke_up_by(fabs(clarke_matrix_get_double(slope, e / p->n, e % p->n)), 4)
                        + clarke_matrix_radius(slope, e / p->n, e % p->n);
    const double apart = clarke_step_has_domain(p->s) ? clarke_roundoff_inside_slope(p->r, p->s, e, size)
                                                      : slope_apart(p, p->r->error[p->s->in[0].value][e], off, top);

    if (p->size[e] + p->error[e] == 0)
      continue;
    add(to, e, (size + apart) * p->error[e] + apart * p->size[e], (size + apart) * (p->size[e] + p->error[e]));
  }
  if (to != NULL)
    to->terms += 1 + CLARKE_ROUNDBACK_SPARE;
}

/* At least the softmax at an entry of a LogSoftmax, exp of its value, which may be off by so much. Less than what underflow takes is not
 * told apart. */
static double
share_of(const clarke_roundback *p, size_t e, double off)
{
  const clarke_matrix *y = &p->r->f->value[p->s->out];
  const double log = clarke_matrix_get_double(y, e / p->n, e % p->n);

  return fmax(p->r->by.tiny, clarke_up_by(exp(fmin(0, log + clarke_matrix_radius(y, e / p->n, e % p->n)) + off), 0x1p12));
}

/* A logarithm hands back g - y S, with y the softmax and S the sum of the line's g; y is made as exp of the computed value,
 * and is off by a factor of exp(its error) at most. */
static void
log_entry(const clarke_roundback *p, clarke_rounding_sum *to, size_t e, size_t first)
{
  const double share = share_of(p, e, 0), computed = share_of(p, e, p->r->error[p->s->out][e]);
  const double top = computed + clarke_roundoff_by(&p->r->by, CLARKE_ROUNDBACK_SPARE + FUNCTION, computed);
  double mass = 0, apart = 0, sum_size = 0;

  for (size_t i = 0; i < p->s->length; i++) {
    const size_t k = (first + i * p->s->stride) * p->n + e % p->n;

    mass += p->size[k] + p->error[k];
    apart += p->error[k];
    sum_size += p->size[k];
  }
  apart += clarke_roundoff_by(&p->r->by, (double)p->s->length + CLARKE_ROUNDBACK_SPARE, mass);
  apart = p->error[e] + top * apart + (top - share) * sum_size;
  mass = p->size[e] + p->error[e] + top * mass;
  add(to, e, clarke_roundoff_sum(apart, 3 * p->s->length), clarke_roundoff_sum(mass, 3 * p->s->length));
}

/* y (g - sum of y g). */
static void
softmax_entry(const clarke_roundback *p, clarke_rounding_sum *to, size_t e, size_t first)
{
  const clarke_step *s = p->s;
  const double off = p->r->error[s->out][e], top = p->r->size[s->out][e] + off;
  double mass = p->size[e] + p->error[e], apart = p->error[e];

  for (size_t i = 0; i < s->length; i++) {
    const size_t k = (first + i * s->stride) * p->n + e % p->n;
    const double each = p->r->size[s->out][k] + p->r->error[s->out][k];

    mass += each * (p->size[k] + p->error[k]);
    apart += each * p->error[k] + p->r->error[s->out][k] * p->size[k];
  }
  apart += clarke_roundoff_by(&p->r->by, (double)s->length + CLARKE_ROUNDBACK_SPARE, mass);
  add(to, e, top * apart + off * mass, top * mass);
}

static void
back_softmax(const clarke_roundback *p)
{
  const clarke_step *s = p->s;
  clarke_rounding_sum *to = clarke_roundback_target(p, s->in[0].value);

  for (size_t e = 0; to != NULL && e < p->count * p->n; e++) {
    const size_t f = e / p->n, first = f / (s->length * s->stride) * s->length * s->stride + f % s->stride;

    (s->log ? log_entry : softmax_entry)(p, to, e, first);
  }
  if (to != NULL)
    to->terms += 1 + CLARKE_ROUNDBACK_SPARE;
}

static clarke_status
back_normalize(const clarke_roundback *p, clarke_error *err)
{
  const size_t entries = p->count * p->n;
  double *error = malloc((entries + 1) * sizeof *error), *mass = malloc((entries + 1) * sizeof *mass);
  clarke_rounding_sum *to = clarke_roundback_target(p, p->s->in[0].value);
  bool well = error != NULL && mass != NULL;

  if (well && to != NULL) {
    well = clarke_roundoff_normalize_back(error, mass, p->r, p->s, p->size, p->error);
    for (size_t e = 0; well && e < entries; e++)
      add(to, e, error[e], mass[e]);
    to->terms += 1;
  }
  free(error);
  free(mass);
  return well ? CLARKE_OK : clarke_no_memory(err);
}

/* Are two entries of a window that is not touched equal? Then they are one function of the parameters, whose gradient is the same. */
static bool
same_function(const clarke_roundback *p, size_t value, size_t best, size_t other, size_t e)
{
  return p->r->f->piece[p->s - p->g->steps][e] >= 0
         && clarke_matrix_compare_entries(&p->r->f->value[value], best, other, e % p->n) == 0;
}

/* Are two recorded entries of a window equal? */
static bool
ties(const clarke_roundback *p, size_t f, size_t winner, size_t e)
{
  const double *x = p->r->recorded[p->s->in[0].value];

  return x[f * p->n + e % p->n] == x[winner * p->n + e % p->n];
}

/* Are the entries that tie in the record those among which AD shares? */
static bool
same_ties(const clarke_roundback *p, size_t e, size_t winner)
{
  const clarke_operand *o = &p->s->in[0];
  const clarke_route *route = &p->r->slopes->route[p->s - p->g->steps];
  size_t tied = 0;

  for (size_t i = 0; i < p->s->width; i++) {
    const size_t f = o->map[e / p->n * p->s->width + i];

    tied += f != CLARKE_NONE && ties(p, f, winner, e);
  }
  for (size_t r = 0; r < route->n; r++) {
    const size_t f = route->from[r][e];

    if (f == CLARKE_NONE || (r > 0 && f == route->from[0][e]))
      continue;
    if (tied == 0 || !ties(p, f, winner, e))
      return false;
    tied--;
  }
  return tied == 0;
}

/* The window's gradient went elsewhere, or may have: to whom it may have gone, and from whom. */
static void
back_losers(const clarke_roundback *p, clarke_rounding_sum *to, size_t e, size_t best)
{
  const clarke_operand *o = &p->s->in[0];
  const bool known = p->r->recorded != NULL && p->r->recorded[o->value] != NULL;
  const size_t winner = known ? clarke_roundoff_winner(p->r, p->s, e) : CLARKE_NONE;
  const bool divides = known && clarke_profile_shares(p->r->profile, p->s->op);
  bool open = false, turned = false;

  if (divides && same_ties(p, e, winner))
    return;

  for (size_t i = 0; i < p->s->width; i++) {
    const size_t f = o->map[e / p->n * p->s->width + i];

    if (f == CLARKE_NONE || f == best)
      continue;
    if (known ? f != winner && !(divides && ties(p, f, winner, e)) : !clarke_roundoff_may_win(p->r, o->value, best, f, e % p->n))
      continue;
    add(to, f * p->n + e % p->n, p->size[e] + p->error[e], p->size[e] + p->error[e]);
    open = true;
    turned = turned || !same_function(p, o->value, best, f, e);
  }
  if (open)
    add(to, best * p->n + e % p->n, p->size[e], 0);
  if (turned && !known && p->size[e] > 0)
    note_open(p, e);
}

static void
back_max(const clarke_roundback *p)
{
  const clarke_route *route = &p->r->slopes->route[p->s - p->g->steps];
  clarke_rounding_sum *to = clarke_roundback_target(p, p->s->in[0].value);

  for (size_t r = 0; r < route->n && to != NULL; r++)
    for (size_t e = 0; e < p->count * p->n; e++) {
      const size_t f = route->from[r][e];
      double weight = 1;

      if (f == CLARKE_NONE)
        continue;
      if (route->weight[r].rows > 0)
        weight = clarke_up_by(fabs(clarke_matrix_get_double(&route->weight[r], e / p->n, e % p->n)), 4);
      if (route->weight[r].rows > 0)
        add(to, f * p->n + e % p->n, weight * p->error[e], weight * (p->size[e] + p->error[e]));
      else
        add_moved(p, to, f * p->n + e % p->n, p->error[e], p->size[e] + p->error[e]);
      if (weight > 0)
        back_losers(p, to, e, f);
    }
  if (to != NULL)
    to->terms += readers(p, &p->s->in[0], p->count * p->s->width) + CLARKE_ROUNDBACK_SPARE;
}

/* To each factor the gradient times the other. */
static void
back_contraction(const clarke_roundback *p)
{
  const clarke_step *s = p->s;
  const double narrow = clarke_roundoff_narrow(&p->r->by, s);

  for (size_t i = 0; i < 2; i++) {
    const size_t other = s->in[1 - i].value;
    clarke_rounding_sum *to = clarke_roundback_target(p, s->in[i].value);

    for (size_t e = 0; to != NULL && e < p->count * p->n; e++)
      for (size_t k = 0; k < s->contraction.inner; k++) {
        const size_t at = clarke_step_factor(s, i, e / p->n, k) * p->n + e % p->n;
        const size_t from = clarke_step_factor(s, 1 - i, e / p->n, k) * p->n + e % p->n;
        const double size = p->r->size[other][from], off = p->r->error[other][from], mass = (size + off) * (p->size[e] + p->error[e]);

        add(to, at, clarke_up_by((size + off) * p->error[e] + off * p->size[e] + (narrow > 0 ? narrow * mass : 0), 0x1p12),
            clarke_up_by(mass * (1 + narrow), 0x1p12));
      }
    if (to != NULL)
      to->terms += readers(p, &s->in[i], s->contraction.blocks * s->contraction.inner
                                             * (i == 0 ? s->contraction.rows : s->contraction.cols))
                     * (double)(i == 0 ? s->contraction.cols : s->contraction.rows) + CLARKE_ROUNDBACK_SPARE;
  }
}

clarke_status
clarke_roundback_rule(const clarke_roundback *p, clarke_error *err)
{
  switch (p->s->kind) {
  case CLARKE_GATHER:
    back_gather(p);
    return CLARKE_OK;
  case CLARKE_SUM:
    back_sum(p);
    return CLARKE_OK;
  case CLARKE_SCALE:
    return back_scale(p, err);
  case CLARKE_DENSE:
    return back_dense(p, err);
  case CLARKE_PIECEWISE:
    return back_piecewise(p, err);
  case CLARKE_ANALYTIC:
    back_analytic(p);
    return CLARKE_OK;
  case CLARKE_SOFTMAX:
    back_softmax(p);
    return CLARKE_OK;
  case CLARKE_NORMALIZE:
    return back_normalize(p, err);
  case CLARKE_MAX:
    back_max(p);
    return CLARKE_OK;
  case CLARKE_PRODUCT:
    back_contraction(p);
  }
  return CLARKE_OK;
}
