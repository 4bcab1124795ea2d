/* Bounds entry by entry (sieve.h): of sums of several parts, of what is scaled, and of what normalizations and smooth functions are made of.
 *
 * With each entry go three numbers in doubles. It is `near` what it should be, and off by `off` at most: that is rounded up. `may` is what
 * the exact pass allows it to be computed off by (rounding_forward.c, rounding_back_step.c), by the same rules, but each term is taken
 * from below: a size is |near| - off, and what is only added to a bound may be left out. The rules have sums, products and quotients of
 * numbers >= 0 alone, so that smaller sizes give smaller bounds. What doubles round of them, and roots and means that are off by less than 2^-20
 * of themselves, is below 2^-12 of `may`: judged is what is left without 2^-10 of it. So what is within it here is within the exact pass's bound. */
#include "trace/certify/sieve_entries.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* So large a sum is left open: beyond the largest float32 the exact pass knows no bound. */
#define LARGEST 0x1p126
/* An entry's `off` is added up of fewer numbers. */
#define ADDED 0x1p31
/* As rounding_forward.c has them. */
#define SPARE 2
#define SPARE_NORMALIZED 12

double
clarke_sieve_gamma(clarke_sieve *s, double roundings)
{
  const double nu = roundings * s->c->by.unit;

  s->open = s->open || !(nu < 0.25);
  return nu / (1 - nu);
}

/* Are there large ones among numbers whose sizes are added up? mass: what is added, too. */
CLARKE_WIDE static bool
any_large(const double *near, const double *may, const double *off, const double *mass, size_t count)
{
  size_t large = 0;

  for (size_t e = 0; e < count; e++)
    large += !(fabs(near[e]) + may[e] + off[e] + mass[e] < LARGEST);
  return large > 0;
}

void
clarke_sieve_check_line(clarke_sieve *s, const clarke_sieve_sums *v, size_t n)
{
  s->open = s->open || any_large(v->near, v->may, v->off, v->mass != NULL ? v->mass : v->off, n);
}

void
clarke_sieve_check_sizes(clarke_sieve *s, const clarke_sieved *v, size_t count)
{
  s->open = s->open || any_large(v->near, v->may, v->off, v->mass != NULL ? v->mass : v->off, count);
}

bool
clarke_sieve_begin_entries(clarke_sieve *s, clarke_sieved *v, size_t count)
{
  v->near = clarke_sieve_take_doubles(s, count);
  v->off = clarke_sieve_take_doubles(s, count);
  v->may = clarke_sieve_take_doubles(s, count);
  v->owned = true;
  v->parts = 1;
  return v->near != NULL && v->off != NULL && v->may != NULL;
}

/* --- rows become entries --- */

/* What a row's bounds say of its entries. Of a sum of so many products (0: of a gradient's part) `may` is what rounding takes of it. */
static bool
spread(clarke_sieve *s, clarke_sieved *v, size_t rows, size_t cols, double roundings)
{
  const double gamma = roundings > 0 ? clarke_sieve_gamma(s, roundings) : 0;

  v->off = clarke_sieve_take_doubles(s, rows * cols);
  v->may = clarke_sieve_take_doubles(s, rows * cols);
  if (v->off == NULL || v->may == NULL)
    return false;
  s->open = s->open || (roundings > 0 && v->terms <= 1); /* it may be turned in sign alone */
  for (size_t e = 0; e < rows * cols; e++) {
    v->off[e] = clarke_up_by(v->slack[e / cols] * (v->scale != NULL ? v->scale[e % cols] : 1), 4);
    v->may[e] = gamma * fmax(fabs(v->near[e]) - v->off[e], 0);
    s->open = s->open || !(v->top[e / cols] < LARGEST);
  }
  free(v->slack);
  free(v->scale);
  free(v->top);
  v->slack = v->scale = v->top = NULL;
  v->dense = NULL;
  return true;
}

/* What a GATHER that has no name lays out. */
static bool
lay_out(clarke_sieve *s, size_t value)
{
  const clarke_step *from = &s->g->steps[s->g->values[value].producer];
  const clarke_operand *o = &from->in[0];
  const float *x = s->value[o->value].exact;
  float *to = clarke_sieve_take_floats(s, s->g->values[value].count * s->n);

  s->open = s->open || x == NULL || o->coef != 1;
  for (size_t f = 0; to != NULL && !s->open && f < s->g->values[value].count; f++) {
    const size_t at = clarke_operand_entry(o, f);

    if (at != CLARKE_NONE)
      memcpy(to + f * s->n, x + at * s->n, s->n * sizeof *to);
    else
      memset(to + f * s->n, 0, s->n * sizeof *to);
  }
  s->value[value] = (clarke_sieved){.exact = to, .owned = true, .parts = 1};
  return to != NULL && !s->open;
}

static bool
is_laid_out(const clarke_sieve *s, size_t value)
{
  const size_t producer = s->g->values[value].producer;

  return s->value[value].exact == NULL && s->value[value].near == NULL && s->g->values[value].name == NULL && producer != CLARKE_NONE
         && s->g->steps[producer].kind == CLARKE_GATHER;
}

bool
clarke_sieve_read(clarke_sieve_numbers *x, clarke_sieve *s, size_t value)
{
  clarke_sieved *v = &s->value[value];

  if (is_laid_out(s, value) && !lay_out(s, value))
    return false;
  s->open = s->open || (v->exact == NULL && (v->near == NULL || v->shift != NULL || v->floor != NULL));
  if (s->open)
    return false;
  if (v->exact == NULL && v->off == NULL && !spread(s, v, s->g->values[value].count, s->n, v->terms + SPARE))
    return false;
  *x = (clarke_sieve_numbers){v->exact, v->near, v->off, v->may, v->exact == NULL && v->enclosed};
  return true;
}

/* --- gradients --- */

/* Sums begin with what is known: a 0 that was moved takes nothing from anyone. */
CLARKE_WIDE static void
begin_with(double *restrict near, double *restrict mass, unsigned char *restrict joined, const float *restrict exact, size_t count)
{
  for (size_t e = 0; e < count; e++) {
    near[e] = exact[e];
    mass[e] = fabs((double)exact[e]);
    joined[e] = exact[e] != 0;
  }
}

/* Zeros; or what is known already, as the first part. */
static bool
begin_sums(clarke_sieve *s, clarke_sieved *v, size_t count)
{
  const float *exact = v->exact;
  const bool owned = v->owned;

  v->mass = clarke_sieve_take_doubles(s, count);
  v->joined = clarke_sieve_take(s, count);
  if (v->mass == NULL || v->joined == NULL)
    return false;
  if (v->near != NULL) { /* products */
    memset(v->joined, 2, count);
    for (size_t e = 0; e < count; e++)
      v->mass[e] = fmax(fabs(v->near[e]) - v->off[e], 0);
    return true;
  }
  v->near = clarke_sieve_take_doubles(s, count);
  v->off = clarke_sieve_take_doubles(s, count);
  v->may = clarke_sieve_take_doubles(s, count);
  if (v->near == NULL || v->off == NULL || v->may == NULL)
    return false;
  memset(v->off, 0, count * sizeof *v->off);
  memset(v->may, 0, count * sizeof *v->may);
  if (exact != NULL)
    begin_with(v->near, v->mass, v->joined, exact, count);
  else {
    memset(v->near, 0, count * sizeof *v->near);
    memset(v->mass, 0, count * sizeof *v->mass);
    memset(v->joined, 0, count);
  }
  if (exact != NULL && owned)
    clarke_sieve_leave(s, exact);
  v->exact = NULL;
  v->owned = true;
  return true;
}

bool
clarke_sieve_begin_gradient(clarke_sieve *s, clarke_sieved *v, size_t rows, size_t cols)
{
  v->dense = NULL;
  if (v->mass != NULL)
    return true;
  if (v->near != NULL && v->off == NULL && !spread(s, v, rows, cols, 0))
    return false;
  return begin_sums(s, v, rows * cols);
}

CLARKE_WIDE static void
finish_sums(double *restrict may, double *restrict off, const double *restrict mass, const unsigned char *restrict joined, double gamma, size_t count)
{
  for (size_t e = 0; e < count; e++) {
    const double taken = gamma * mass[e];

    may[e] += joined[e] != 1 ? taken : 0;
    off[e] = clarke_up_by(off[e], ADDED);
  }
}

void
clarke_sieve_finish_line(const clarke_sieve_sums *v, const unsigned char *joined, double gamma, size_t n)
{
  finish_sums(v->may, v->off, v->mass, joined, gamma, n);
}

/* What the exact pass takes an entry of a whole gradient to be off by, which has no record (clarke_roundback_bound). */
static void
finish(clarke_sieve *s, clarke_sieved *v, size_t count)
{
  finish_sums(v->may, v->off, v->mass, v->joined, clarke_sieve_gamma(s, v->terms + CLARKE_ROUNDBACK_SPARE), count);
  clarke_sieve_leave(s, v->mass);
  clarke_sieve_leave(s, v->joined);
  v->mass = NULL;
  v->joined = NULL;
}

bool
clarke_sieve_read_gradient(clarke_sieve_numbers *g, clarke_sieve *s, size_t value)
{
  clarke_sieved *v = &s->grad[value];
  const size_t rows = s->g->values[value].count;

  if (v->exact == NULL && !clarke_sieve_begin_gradient(s, v, rows, s->n))
    return false;
  if (v->exact == NULL)
    clarke_sieve_check_sizes(s, v, rows * s->n);
  if (v->mass != NULL)
    finish(s, v, rows * s->n);
  *g = (clarke_sieve_numbers){v->exact, v->near, v->off, v->may, v->exact == NULL && v->enclosed};
  return true;
}

/* --- sums --- */

/* Does the node's own product make the value? What is added to it is summed up together with its products (rounding_forward.c). */
static bool
is_product_of(const clarke_sieve *s, const clarke_step *step, size_t value)
{
  const size_t producer = s->g->values[value].producer;

  return producer != CLARKE_NONE && s->g->steps[producer].kind == CLARKE_DENSE && s->g->steps[producer].node == step->node;
}

double
clarke_sieve_spare(const clarke_step *step)
{
  return strstr(step->op->name, "Normalization") != NULL ? SPARE_NORMALIZED : SPARE;
}

/* Adds an operand to the sums of a row, and counts its terms. */
static void
add_operand(clarke_sieved *y, double *terms, const clarke_sieve *s, const clarke_operand *o, const clarke_sieve_numbers *x, size_t f, double *room)
{
  const size_t from = clarke_operand_entry(o, f), n = s->n;
  const clarke_sieve_sums to = clarke_sieve_sums_of(y, f * n);

  if (from == CLARKE_NONE)
    return;
  *terms += 1;
  if (s->g->values[o->value].constant)
    clarke_sieve_add_number(&to, o->coef * s->g->values[o->value].real[from], n);
  else {
    const clarke_sieve_line line = clarke_sieve_line_of(x, from * n, n, room);

    clarke_sieve_add_line(&to, &line, o->coef, 1, n);
  }
}

clarke_status
clarke_sieve_add_entries(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const size_t rows = s->g->values[step->out].count, n = s->n;
  const double more = clarke_sieve_spare(step);
  clarke_sieve_numbers *x = calloc(step->n_in + 1, sizeof *x);
  double *room = clarke_sieve_line_room(s, n);
  clarke_sieved *y = &s->value[step->out];
  bool well = x != NULL && room != NULL && clarke_sieve_begin_entries(s, y, rows * n)
              && (y->mass = clarke_sieve_take_doubles(s, rows * n)) != NULL;

  for (size_t k = 0; well && !s->open && k < step->n_in; k++) {
    s->open = s->open || fabs(step->in[k].coef) != 1 || is_product_of(s, step, step->in[k].value);
    if (!s->open && !s->g->values[step->in[k].value].constant) {
      well = clarke_sieve_read(&x[k], s, step->in[k].value) || s->open;
      y->enclosed = y->enclosed || x[k].enclosed;
    }
  }
  for (size_t e = 0; well && e < rows * n; e++)
    y->near[e] = y->off[e] = y->may[e] = y->mass[e] = 0;
  for (size_t f = 0; well && !s->open && f < rows; f++) {
    double terms = 0, gamma;

    for (size_t k = 0; k < step->n_in; k++)
      add_operand(y, &terms, s, &step->in[k], &x[k], f, room);
    gamma = terms > 1 ? clarke_sieve_gamma(s, terms + more) : 0; /* what is only moved is not rounded */
    for (size_t j = 0; j < n; j++)
      y->may[f * n + j] += gamma * y->mass[f * n + j];
  }
  if (well) {
    clarke_sieve_leave(s, y->mass);
    y->mass = NULL;
    clarke_sieve_check_sizes(s, y, rows * n);
    clarke_sieve_leave(s, room);
  }
  free(x);
  return well ? CLARKE_OK : clarke_no_memory(err);
}

/* --- what is scaled --- */

double
clarke_sieve_factor_at(const clarke_sieve *s, const clarke_step *step, size_t f)
{
  const clarke_operand *c = &step->in[1];

  return s->g->values[c->value].real[clarke_operand_entry(c, f)];
}

bool
clarke_sieve_is_factor(clarke_sieve *s, const clarke_step *step)
{
  const clarke_value *c = &s->g->values[step->in[1].value];

  s->open = s->open || step->root || !c->constant || c->real == NULL || step->in[0].coef != 1 || step->in[1].coef != 1;
  for (size_t e = 0; !s->open && e < c->count; e++)
    s->open = !(c->real[e] == 0 || (fabs(c->real[e]) > 0x1p-126 && fabs(c->real[e]) < LARGEST)) || (step->divide && c->real[e] == 0);
  return !s->open;
}

/* The root of a statistic and epsilon. Doubles round it to less than this part of itself: epsilon once, the sum, and of these half;
 * and the root. */
#define OFF_ROOT (clarke_up_factor(2) - 1)

static double
root_at(const clarke_sieve *s, const clarke_step *step, size_t f)
{
  return sqrt(clarke_sieve_factor_at(s, step, f) + mpq_get_d(step->epsilon));
}

/* Is it a root by which all can be divided? A statistic below 0, which is no variance, cancels with epsilon. */
static bool
is_root(clarke_sieve *s, const clarke_step *step)
{
  const clarke_value *c = &s->g->values[step->in[1].value];

  s->open = s->open || !c->constant || c->real == NULL || step->in[0].coef != 1 || step->in[1].coef != 1;
  for (size_t f = 0; !s->open && f < s->g->values[step->out].count; f++)
    s->open = !(clarke_sieve_factor_at(s, step, f) >= 0 && root_at(s, step, f) > 0x1p-60 && root_at(s, step, f) < 0x1p60);
  return !s->open;
}

static bool
is_scaled_so(clarke_sieve *s, const clarke_step *step)
{
  return step->root ? is_root(s, step) : clarke_sieve_is_factor(s, step);
}

static clarke_sieve_factor
factor_of_row(const clarke_sieve *s, const clarke_step *step, size_t f, double gamma)
{
  if (step->root)
    return (clarke_sieve_factor){.c = root_at(s, step, f), .gamma = gamma, .part = OFF_ROOT, .divide = true};
  return (clarke_sieve_factor){.c = clarke_sieve_factor_at(s, step, f), .gamma = gamma, .divide = step->divide};
}

static void
scale_row(clarke_sieved *y, clarke_sieve *s, const clarke_step *step, const clarke_sieve_numbers *x, size_t f, double gamma, double *room)
{
  const size_t from = clarke_operand_entry(&step->in[0], f), n = s->n;
  /* a sign that is turned is not rounded */
  const clarke_sieve_factor by = factor_of_row(s, step, f, gamma);
  const clarke_sieve_line line = clarke_sieve_line_of(x, from * n, n, room);
  const clarke_sieve_sums to = clarke_sieve_sums_of(y, f * n);

  clarke_sieve_scale_line(&to, &line, &by, n);
}

clarke_status
clarke_sieve_scale(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const size_t rows = s->g->values[step->out].count;
  clarke_sieved *y = &s->value[step->out];
  const double gamma = clarke_sieve_gamma(s, clarke_sieve_spare(step) + 2);
  clarke_sieve_numbers x;
  double *room;

  if (!is_scaled_so(s, step))
    return CLARKE_OK;
  if (!clarke_sieve_read(&x, s, step->in[0].value))
    return s->open ? CLARKE_OK : clarke_no_memory(err);
  room = clarke_sieve_line_room(s, s->n);
  if (room == NULL || !clarke_sieve_begin_entries(s, y, rows * s->n))
    return clarke_no_memory(err);
  y->enclosed = x.enclosed || step->root;
  for (size_t f = 0; f < rows && !s->open; f++) {
    s->open = clarke_operand_entry(&step->in[0], f) == CLARKE_NONE;
    if (!s->open)
      scale_row(y, s, step, &x, f, gamma, room);
  }
  clarke_sieve_leave(s, room);
  clarke_sieve_check_sizes(s, y, s->open ? 0 : rows * s->n);
  return CLARKE_OK;
}

/* --- products of what was not recorded: sums and means --- */

static const double *
weight_of(const clarke_sieve *s, const clarke_step *dense, size_t block)
{
  const clarke_dense *d = &dense->dense;

  return s->g->values[d->weight].real + (d->grouped ? block * d->outer * d->inner : 0);
}

static void
add_products(clarke_sieved *y, const clarke_sieve *s, const clarke_step *dense, const clarke_sieve_numbers *x, size_t f, double gamma)
{
  const clarke_dense *d = &dense->dense;
  const size_t r = f % d->repeat, o = f / d->repeat % d->outer, b = f / d->repeat / d->outer, n = s->n;
  const double *w = weight_of(s, dense, b);

  for (size_t j = 0; j < n; j++) {
    double near = 0, off = 0, may = 0, mass = 0;

    for (size_t i = 0; i < d->inner; i++) {
      const size_t from = clarke_operand_entry(&dense->in[0], (b * d->inner + i) * d->repeat + r), e = from * n + j;
      const double c = w[d->transposed ? i * d->outer + o : o * d->inner + i];
      double lost;

      if (from == CLARKE_NONE)
        continue;
      clarke_sieve_plus(&near, &off, clarke_sieve_times(&lost, clarke_sieve_near(x, e), c));
      off += fabs(c) * clarke_sieve_off(x, e) + lost;
      may += fabs(c) * clarke_sieve_may(x, e);
      mass += fabs(c) * (clarke_sieve_size(x, e) + clarke_sieve_may(x, e));
    }
    y->near[f * n + j] = near;
    y->off[f * n + j] = clarke_up_by(off, ADDED);
    y->may[f * n + j] = may + gamma * mass;
  }
}

clarke_status
clarke_sieve_dense_entries(clarke_sieve *s, const clarke_step *dense, clarke_error *err)
{
  const size_t rows = s->g->values[dense->out].count;
  const double gamma = clarke_sieve_gamma(s, (double)dense->dense.inner + SPARE);
  clarke_sieved *y = &s->value[dense->out];
  clarke_sieve_numbers x;

  s->open = s->open || clarke_value_is_wrt(s->g, dense->dense.weight) || dense->dense.inner <= 1 || dense->in[0].coef != 1;
  if (s->open || !clarke_sieve_read(&x, s, dense->in[0].value))
    return s->open ? CLARKE_OK : clarke_no_memory(err);
  if (!clarke_sieve_begin_entries(s, y, rows * s->n))
    return clarke_no_memory(err);
  y->enclosed = x.enclosed;
  for (size_t f = 0; f < rows; f++)
    add_products(y, s, dense, &x, f, gamma);
  clarke_sieve_check_sizes(s, y, rows * s->n);
  return CLARKE_OK;
}

/* --- back --- */

/* As rounding_back_step.c has them. */
double
clarke_sieve_spare_back(const clarke_step *step)
{
  return strstr(step->op->name, "Normalization") != NULL ? CLARKE_ROUNDBACK_SPARE_NORMALIZED : CLARKE_ROUNDBACK_SPARE;
}

/* Adds up what rows give to one entry of a constant's, sample by sample: while they follow each other. */
typedef struct {
  clarke_sieved *to;
  clarke_sieve_sums own; /* n sums each */
  double *room;          /* of these; and lines of two operands' */
  size_t n, entry;       /* CLARKE_NONE: none yet */
} totals;

static bool
begin_totals(totals *t, clarke_sieve *s, clarke_sieved *to)
{
  const size_t n = s->n;
  double *room = clarke_sieve_take_doubles(s, 8 * n);

  *t = (totals){.to = to, .room = room, .n = n, .entry = CLARKE_NONE};
  if (room == NULL)
    return false;
  memset(room, 0, 8 * n * sizeof *room);
  t->own = (clarke_sieve_sums){room, room + n, room + 2 * n, room + 3 * n};
  return true;
}

/* All of the entry so far is given to it. */
static void
give_totals(totals *t)
{
  double near = 0, off = 0, may = 0, mass = 0;

  if (t->entry == CLARKE_NONE)
    return;
  for (size_t j = 0; j < t->n; j++) {
    clarke_sieve_plus(&near, &off, t->own.near[j]);
    off += t->own.off[j];
    may += t->own.may[j];
    mass += t->own.mass[j];
  }
  clarke_sieve_join(t->to, t->entry, near, clarke_up_by(off, ADDED), may, mass);
  memset(t->room, 0, 4 * t->n * sizeof *t->room);
  t->entry = CLARKE_NONE;
}

/* The next row is of that entry. */
static void
turn_to(totals *t, size_t entry)
{
  if (entry != t->entry)
    give_totals(t);
  t->entry = entry;
}

static void
end_totals(totals *t, clarke_sieve *s)
{
  give_totals(t);
  clarke_sieve_leave(s, t->room);
}

/* To an activation: row by row. */
static bool
add_rows_back(clarke_sieved *to, clarke_sieve *s, const clarke_operand *o, const clarke_sieve_numbers *g, size_t rows)
{
  const size_t n = s->n;
  double *room = clarke_sieve_line_room(s, n);

  for (size_t f = 0; room != NULL && f < rows; f++) {
    const size_t from = clarke_operand_entry(o, f);
    const clarke_sieve_line line = clarke_sieve_line_of(g, f * n, n, room);
    const clarke_sieve_sums sums = clarke_sieve_sums_of(to, from * n);

    if (from == CLARKE_NONE)
      continue;
    if (g->exact != NULL)
      clarke_sieve_join_moved_line(&sums, to->joined + from * n, line.near, o->coef, n);
    else {
      clarke_sieve_add_line(&sums, &line, o->coef, 0, n);
      memset(to->joined + from * n, 2, n);
    }
  }
  clarke_sieve_leave(s, room);
  return room != NULL;
}

/* To a constant's entries: sums over the samples. */
static bool
add_sums_back(clarke_sieved *to, clarke_sieve *s, const clarke_operand *o, const clarke_sieve_numbers *g, size_t rows)
{
  const size_t n = s->n;
  totals t;

  if (!begin_totals(&t, s, to))
    return false;
  for (size_t f = 0; f < rows; f++) {
    const size_t from = clarke_operand_entry(o, f);

    if (from == CLARKE_NONE)
      continue;
    const clarke_sieve_line line = clarke_sieve_line_of(g, f * n, n, t.room + 4 * n);

    turn_to(&t, from);
    clarke_sieve_add_line(&t.own, &line, o->coef, 0, n);
  }
  end_totals(&t, s);
  return true;
}

clarke_status
clarke_sieve_add_back(clarke_sieve *s, const clarke_step *step, const clarke_operand *o, clarke_error *err)
{
  const bool constant = s->g->values[o->value].constant;
  clarke_sieved *to = &s->grad[o->value];
  clarke_sieve_numbers g;

  s->open = s->open || fabs(o->coef) != 1;
  if (s->open || !clarke_sieve_read_gradient(&g, s, step->out))
    return s->open ? CLARKE_OK : clarke_no_memory(err);
  if (!clarke_sieve_begin_gradient(s, to, s->g->values[o->value].count, constant ? 1 : s->n))
    return clarke_no_memory(err);
  if (!(constant ? add_sums_back : add_rows_back)(to, s, o, &g, s->g->values[step->out].count))
    return clarke_no_memory(err);
  to->enclosed = to->enclosed || g.enclosed;
  to->terms += constant ? (double)s->n : 1;
  to->parts += 2;
  return CLARKE_OK;
}

clarke_status
clarke_sieve_move_back(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const clarke_operand *o = &step->in[0];
  const size_t n = s->n;
  clarke_sieved *g = &s->grad[step->out], *to = &s->grad[o->value];

  if (!s->carries[o->value])
    return CLARKE_OK;
  s->open = s->open || o->coef != 1;
  if (!clarke_sieve_begin_gradient(s, g, s->g->values[step->out].count, n)
      || !clarke_sieve_begin_gradient(s, to, s->g->values[o->value].count, n))
    return clarke_no_memory(err);
  for (size_t f = 0; f < s->g->values[step->out].count; f++) {
    const size_t from = clarke_operand_entry(o, f);

    for (size_t j = 0; from != CLARKE_NONE && j < n; j++) {
      const size_t e = f * n + j, at = from * n + j;
      const unsigned char joined = (unsigned char)(to->joined[at] + g->joined[e]);

      clarke_sieve_join(to, at, g->near[e], clarke_up_by(g->off[e], ADDED), g->may[e], g->mass[e]);
      to->joined[at] = joined < 2 ? joined : 2;
    }
  }
  to->enclosed = to->enclosed || g->enclosed;
  to->terms += g->terms;
  to->parts += 2;
  return CLARKE_OK;
}

/* Entry (b, i, r) of the operand has what all outputs (b, o, r) give, a weight's share each. */
static void
give_products(clarke_sieved *to, const clarke_sieve *s, const clarke_step *dense, const clarke_sieve_numbers *g, size_t f)
{
  const clarke_dense *d = &dense->dense;
  const size_t r = f % d->repeat, i = f / d->repeat % d->inner, b = f / d->repeat / d->inner, n = s->n;
  const double *w = weight_of(s, dense, b);
  const size_t at = clarke_operand_entry(&dense->in[0], f);

  for (size_t o = 0; at != CLARKE_NONE && o < d->outer; o++) {
    const double c = w[d->transposed ? i * d->outer + o : o * d->inner + i], size = fabs(c);

    for (size_t j = 0; j < n; j++) {
      const size_t e = ((b * d->outer + o) * d->repeat + r) * n + j;
      double lost, near = clarke_sieve_times(&lost, clarke_sieve_near(g, e), c);

      if (size == 1 && d->outer == 1 && g->exact != NULL)
        clarke_sieve_join_moved(to, at * n + j, near);
      else
        clarke_sieve_join(to, at * n + j, near, clarke_up_by(size * clarke_sieve_off(g, e), 4) + lost, size * clarke_sieve_may(g, e),
                          size * clarke_sieve_size(g, e));
    }
  }
}

clarke_status
clarke_sieve_dense_entries_back(clarke_sieve *s, const clarke_step *dense, clarke_error *err)
{
  const clarke_dense *d = &dense->dense;
  const size_t x = dense->in[0].value;
  clarke_sieved *to = &s->grad[x];
  clarke_sieve_numbers g;

  s->open = s->open || clarke_value_is_wrt(s->g, d->weight) || dense->in[0].coef != 1;
  for (size_t e = 0; !s->open && e < s->g->values[d->weight].count; e++)
    s->open = !(fabs(s->g->values[d->weight].real[e]) < LARGEST);
  if (s->open || !s->carries[x])
    return CLARKE_OK;
  if (!clarke_sieve_read_gradient(&g, s, dense->out))
    return s->open ? CLARKE_OK : clarke_no_memory(err);
  if (!clarke_sieve_begin_gradient(s, to, s->g->values[x].count, s->n))
    return clarke_no_memory(err);
  for (size_t f = 0; f < d->blocks * d->inner * d->repeat; f++)
    give_products(to, s, dense, &g, f);
  to->enclosed = to->enclosed || g.enclosed;
  to->terms += (double)d->outer;
  to->parts += 2;
  return CLARKE_OK;
}

/* The gradient in c of x c: that of the output times x. */
static clarke_status
factor_back(clarke_sieve *s, const clarke_step *step, const clarke_sieve_numbers *g, clarke_error *err)
{
  const size_t count = s->g->values[step->out].count, c = step->in[1].value, n = s->n;
  clarke_sieved *to = &s->grad[c];
  clarke_sieve_numbers x;
  totals t;

  if (!clarke_value_is_wrt(s->g, c))
    return CLARKE_OK;
  s->open = s->open || step->divide;
  if (s->open || !clarke_sieve_read(&x, s, step->in[0].value))
    return s->open ? CLARKE_OK : clarke_no_memory(err);
  if (!clarke_sieve_begin_gradient(s, to, s->g->values[c].count, 1))
    return clarke_no_memory(err);
  if (!begin_totals(&t, s, to))
    return clarke_no_memory(err);
  for (size_t f = 0; f < count; f++) {
    const clarke_sieve_line of_g = clarke_sieve_line_of(g, f * n, n, t.room + 4 * n);
    const clarke_sieve_line of_x = clarke_sieve_line_of(&x, clarke_operand_entry(&step->in[0], f) * n, n, t.room + 6 * n);

    turn_to(&t, clarke_operand_entry(&step->in[1], f));
    clarke_sieve_join_products(&t.own, &of_g, &of_x, n);
  }
  end_totals(&t, s);
  to->enclosed = to->enclosed || g->enclosed || x.enclosed;
  to->terms += (double)n + clarke_sieve_spare_back(step);
  to->parts += 2;
  return CLARKE_OK;
}

void
clarke_sieve_hand_scaled(const clarke_sieve_sums *to, unsigned char *joined, const clarke_sieve_line *g, bool recorded,
                         const clarke_sieve_factor *by, size_t n)
{
  if (fabs(by->c) == 1 && by->part == 0 && recorded) {
    clarke_sieve_join_moved_line(to, joined, g->near, by->c, n);
    return;
  }
  clarke_sieve_join_scaled(to, g, by, n);
  memset(joined, 2, n);
}

/* The gradient in x of x c: that of the output times c, row by row. */
static bool
scale_rows_back(clarke_sieved *to, clarke_sieve *s, const clarke_step *step, const clarke_sieve_numbers *g, size_t rows)
{
  const double gamma = clarke_sieve_gamma(s, clarke_sieve_spare_back(step));
  const size_t n = s->n;
  double *room = clarke_sieve_line_room(s, n);

  for (size_t f = 0; room != NULL && f < rows; f++) {
    const clarke_sieve_factor by = factor_of_row(s, step, f, gamma);
    const size_t at = clarke_operand_entry(&step->in[0], f) * n;
    const clarke_sieve_line line = clarke_sieve_line_of(g, f * n, n, room);
    const clarke_sieve_sums sums = clarke_sieve_sums_of(to, at);

    clarke_sieve_hand_scaled(&sums, to->joined + at, &line, g->exact != NULL, &by, n);
  }
  clarke_sieve_leave(s, room);
  return room != NULL;
}

clarke_status
clarke_sieve_scale_back(clarke_sieve *s, const clarke_step *step, clarke_error *err)
{
  const size_t count = s->g->values[step->out].count, value = step->in[0].value;
  clarke_sieved *to = &s->grad[value];
  clarke_sieve_numbers g;

  if (!is_scaled_so(s, step))
    return CLARKE_OK;
  if (!clarke_sieve_read_gradient(&g, s, step->out))
    return s->open ? CLARKE_OK : clarke_no_memory(err);
  if (factor_back(s, step, &g, err) != CLARKE_OK)
    return CLARKE_ENOMEM;
  if (!s->carries[value] || s->open)
    return CLARKE_OK;
  if (!clarke_sieve_begin_gradient(s, to, s->g->values[value].count, s->n) || !scale_rows_back(to, s, step, &g, count))
    return clarke_no_memory(err);
  to->enclosed = to->enclosed || g.enclosed || step->root;
  to->terms += 1;
  to->parts += 2;
  return CLARKE_OK;
}

/* --- judged --- */

void
clarke_sieve_tell(clarke_sieve *s, clarke_certificate *made, const clarke_sieve_found *found, size_t count, bool enclosed, const float *recorded)
{
  s->open = s->open || found->beyond;
  made->worst = found->worst;
  made->entries = count;
  made->exact = s->open || enclosed ? 0 : found->exact;
  /* where no entry is another number, those of which doubles do not tell leave all open: the exact pass may call the tensor bit-exact */
  s->open = s->open || (!enclosed && found->wrong == 0 && found->exact < count);
  made->at_most = true;
  made->certainty = made->exact == count ? CLARKE_BIT_EXACT : CLARKE_WITHIN_BOUND;
  /* the exact pass counts no bounds of bit-exact entries: of those that may be others; of those that are */
  made->slack = made->certainty == CLARKE_BIT_EXACT ? 0 : clarke_up_by(sqrt(found->squares), 0x1p34);
  made->slack_least = made->certainty == CLARKE_BIT_EXACT ? 0 : clarke_down_by(sqrt(found->least), 0x1p34);
  made->norm = clarke_sieve_norm(s, made, recorded);
}

clarke_status
clarke_sieve_judge_entries(clarke_sieve *s, clarke_certificate *made, const clarke_sieved *v, size_t count, const float *recorded, double roundings)
{
  const clarke_sieve_judged j = {.near = v->near, .off = v->off, .may = v->may, .mass = v->mass, .joined = v->joined, .recorded = recorded,
                                 .gamma = clarke_sieve_gamma(s, roundings), .enclosed = v->enclosed};
  clarke_sieve_found found = {.worst = made->worst};

  clarke_sieve_check_sizes(s, v, count);
  if (!s->open)
    clarke_sieve_judge_line(&found, &j, count);
  clarke_sieve_tell(s, made, &found, count, v->enclosed, recorded);
  return CLARKE_OK;
}
