/* Linear steps in slices: entries that are moved, sums, multiples. */
#include "network/pass/slices/scaling.h"
#include "network/pass/slices/moments.h"

#include "exact/upward.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Products of digits, of at most 2^40, in one sum. */
#define MOST_PRODUCTS 4000

/* The norm of operand k of a SUM or GATHER in its own scaling, times what its entries count for more in that of the output. */
static double
scaled_operand(const clarke_slicing *f, const clarke_step *s, size_t k)
{
  const size_t value = s->in[k].value;
  const double norm = clarke_scaling_of(f, value) != NULL ? f->value[value].scaled : f->value[value].norm[0];

  return clarke_slice_up(clarke_scaling_growth(f->plan->scaling, f->g, s, k) * norm);
}

clarke_status
clarke_slices_gather(clarke_slicing *f, const clarke_step *s)
{
  const clarke_sliced *x = &f->value[s->in[0].value];
  const clarke_growth *g = &f->plan->growths->growth[s - f->g->steps][0];
  clarke_sliced *y = &f->value[s->out];
  clarke_status status;

  if (f->deferred[s->out] != NULL)
    return CLARKE_OK;
  status = clarke_sliced_alloc(f, y, f->g->values[s->out].count, x->planes, x->low);
  for (size_t k = 0; k < x->planes && status == CLARKE_OK; k++)
    for (size_t i = 0; i < y->rows; i++) {
      const size_t from = clarke_operand_entry(&s->in[0], i);
      float *to = y->digit + (k * y->rows + i) * f->n;

      if (from == CLARKE_NONE)
        memset(to, 0, f->n * sizeof *to);
      else
        memcpy(to, x->digit + (k * x->rows + from) * f->n, f->n * sizeof *to);
    }
  if (status == CLARKE_OK) {
    clarke_sliced_bound(f, y, x, g->norm, g->most, 0);
    if (clarke_scaling_of(f, s->out) != NULL)
      y->scaled = clarke_slice_up(scaled_operand(f, s, 0) * g->norm);
  }
  return status;
}

/* Does row i + 1 of the operand follow row i, or is it the same of a constant? */
static bool
goes_on(const clarke_graph *g, const clarke_operand *o, size_t i)
{
  const clarke_value *v = &g->values[o->value];
  const size_t here = clarke_operand_entry(o, i), next = clarke_operand_entry(o, i + 1);

  if (here == CLARKE_NONE || next == CLARKE_NONE)
    return here == next;
  return v->constant ? v->real[here] == v->real[next] : next == here + 1;
}

/* Rows from i on that are computed alike, at most a block of them. */
static size_t
run_of_rows(const clarke_slicing *f, const clarke_step *s, size_t i, size_t rows)
{
  size_t run = 1;

  while (i + run < rows && (run + 1) * f->n <= CLARKE_SLICE_BLOCK) {
    for (size_t k = 0; k < s->n_in; k++)
      if (!goes_on(f->g, &s->in[k], i + run - 1))
        return run;
    run++;
  }
  return run;
}

/* Columns from `at` on of a row, or rows that go on: a block at a time. */
typedef struct {
  size_t row, column, len;
} part;

static part
next_part(const clarke_slicing *f, const clarke_step *s, part p, size_t rows)
{
  const size_t end = p.column + p.len;

  p.row += end / f->n;
  p.column = end % f->n;
  p.len = p.row >= rows ? 0
          : f->n > CLARKE_SLICE_BLOCK
            ? (f->n - p.column < CLARKE_SLICE_BLOCK ? f->n - p.column : CLARKE_SLICE_BLOCK)
            : run_of_rows(f, s, p.row, rows) * f->n;
  return p;
}

/* Is every row one of an activation as it is, or 0 (Concat)? Then planes are moved, from *low up, *planes of them: what is left
 * out below is half of the lowest place, and a little. */
static bool
is_moved(const clarke_slicing *f, const clarke_step *s, long *low, size_t *planes)
{
  long least = LONG_MAX, top = LONG_MIN;

  for (size_t k = 0; k < s->n_in; k++) {
    const clarke_sliced *x = &f->value[s->in[k].value];
    const long end = x->low + f->plan->width * (long)x->planes;

    if (f->g->values[s->in[k].value].constant || s->in[k].coef != 1 || !f->plan->growths->apart[s - f->g->steps])
      return false;
    least = x->low < least ? x->low : least;
    top = end > top ? end : top;
  }
  *low = least < f->plan->low[s->out] ? f->plan->low[s->out] : least;
  *planes = top > *low ? (size_t)((top - *low) / f->plan->width) : 1;
  return true;
}

/* The rows that operand k has, plane by plane: y's other entries are 0 before. */
static void
move_rows(const clarke_slicing *f, const clarke_step *s, size_t k, clarke_sliced *y)
{
  const clarke_sliced *x = &f->value[s->in[k].value];
  const long shift = (x->low - y->low) / f->plan->width;

  for (size_t i = 0, run; i < y->rows; i += run) {
    const size_t from = clarke_operand_entry(&s->in[k], i);

    run = clarke_operand_run(&s->in[k], i, y->rows);
    for (size_t plane = shift < 0 ? (size_t)-shift : 0; plane < x->planes && from != CLARKE_NONE; plane++)
      memcpy(y->digit + ((size_t)((long)plane + shift) * y->rows + i) * f->n, x->digit + (plane * x->rows + from) * f->n,
             run * f->n * sizeof *y->digit);
  }
}

/* Coefficients in digits, the lowest place of the sum as planned or, where it is exact before, that, and its planes. */
static bool
prepare_sum(const clarke_slicing *f, const clarke_step *s, clarke_digits *coef, long *low, size_t *planes)
{
  const long width = f->plan->width;
  long least = LONG_MAX;
  size_t products = 0;
  bool constant = false;

  *planes = 1;
  for (size_t k = 0; k < s->n_in; k++) {
    const clarke_value *v = &f->g->values[s->in[k].value];

    if (!clarke_digits_exactly(&coef[k], s->in[k].coef, width) || fabs(s->in[k].coef) > 0x1p10)
      return false;
    products += coef[k].planes;
    constant = constant || v->constant;
    if (!v->constant && coef[k].low + f->value[s->in[k].value].low < least)
      least = coef[k].low + f->value[s->in[k].value].low;
  }
  if (products > MOST_PRODUCTS)
    return false;
  *low = f->plan->low[s->out];
  if (!constant && least != LONG_MAX && *low < least)
    *low = least;
  for (size_t k = 0; k < s->n_in; k++) {
    const clarke_value *v = &f->g->values[s->in[k].value];
    size_t here = 1;

    if (!v->constant)
      here = clarke_slices_of_product(f, *low, &coef[k], &f->value[s->in[k].value]);
    for (size_t e = 0; v->constant && e < v->count; e++) {
      int exponent = 0;
      long top;

      frexp(v->real[e], &exponent);
      top = (coef[k].low - *low + exponent) / width + (long)coef[k].planes + 4;
      here = top > (long)here ? (size_t)top : here;
    }
    *planes = here > *planes ? here : *planes;
  }
  return true;
}

/* The same in the output's scaling: by operand, each with its coefficient as often as it takes an entry. */
static void
bound_scaled_sum(const clarke_slicing *f, const clarke_step *s, clarke_sliced *y, double own)
{
  const clarke_growths *growths = f->plan->growths;
  double norm = 0, square = 0;

  for (size_t k = 0; k < s->n_in; k++) {
    double here;

    if (f->g->values[s->in[k].value].constant)
      continue;
    here = clarke_slice_up(growths->growth[s - f->g->steps][k].alone * scaled_operand(f, s, k));
    norm += here;
    square += here * here;
  }
  norm = growths->apart[s - f->g->steps] ? fmin(norm, sqrt(square)) : norm;
  y->scaled = clarke_slice_up(clarke_slice_up(norm) + own * clarke_scaling_of(f, s->out)->size * sqrt((double)f->n));
}

/* Segments that are rows of one operand each: their errors are at most that one's, or one of its segments', and `own` an entry. */
static clarke_status
bound_joined(clarke_slicing *f, const clarke_step *s, double own)
{
  const clarke_segments *of = f->plan->growths->segments, *to = clarke_segments_in(f, s->out);
  const clarke_scaling *scaling = clarke_scaling_of(f, s->out);
  const double most = own * (scaling != NULL ? scaling->size * sqrt((double)f->n) : sqrt((double)f->value[s->out].rows * (double)f->n));
  size_t last = CLARKE_NONE, from;
  double by = 0;
  clarke_status status;

  if (to == NULL || !clarke_segments_join(f->g, s))
    return CLARKE_OK;
  status = clarke_sliced_segment(f, s->out);
  for (size_t k = 0; k < to->n && status == CLARKE_OK; k++) {
    const size_t o = clarke_segment_source(of, s, k, &from), value = s->in[o].value;
    const clarke_sliced *x = &f->value[value];
    const double norm = x->segment != NULL ? x->segment[from] : clarke_scaling_of(f, value) != NULL ? x->scaled : x->norm[0];

    if (o != last)
      by = clarke_slice_up(clarke_scaling_growth(f->plan->scaling, f->g, s, o) * f->plan->growths->growth[s - f->g->steps][o].alone);
    last = o;
    f->value[s->out].segment[k] = clarke_slice_up(clarke_slice_up(by * norm) + clarke_slice_up(most));
  }
  return status;
}

/* Places of a moved entry that are below y's are left out: of digits of at least 8 bits, less than so much of the lowest. */
static double
left_by_moves(const clarke_slicing *f, const clarke_step *s, long low)
{
  for (size_t k = 0; k < s->n_in; k++)
    if (f->value[s->in[k].value].low < low)
      return 0.51;
  return 0;
}

/* err(y): those of the operands, and what prepare_sum's places leave out: digits of every coefficient below the guard,
 * and half a place of every constant's; or what is left out where entries are moved. */
static clarke_status
bound_sum(clarke_slicing *f, const clarke_step *s, clarke_sliced *y, const clarke_digits *coef, bool moved)
{
  const size_t i = (size_t)(s - f->g->steps);
  const double entries = (double)y->rows * (double)(f->n / f->lanes);
  double units = 1, own;

  for (size_t k = 0; k < s->n_in; k++)
    units += 1 + (double)coef[k].planes / 2;
  if (moved)
    units = left_by_moves(f, s, y->low);
  own = clarke_slice_up(units * ldexp(1, (int)y->low));
  for (size_t j = 0; j < f->lanes; j++) {
    double norm = 0, square = 0, most = 0;

    for (size_t k = 0; k < s->n_in; k++) {
      const clarke_growth *g = &f->plan->growths->growth[i][k];
      const clarke_sliced *x = &f->value[s->in[k].value];
      double part_norm, part_most;

      if (f->g->values[s->in[k].value].constant)
        continue;
      part_norm = clarke_slice_up(g->norm * x->norm[j]);
      part_most = clarke_slice_up(g->most * x->most[j]);
      norm += part_norm;
      square += part_norm * part_norm;
      most = f->plan->growths->apart[i] ? clarke_larger(most, part_most) : most + part_most;
    }
    norm = f->plan->growths->apart[i] ? fmin(norm, sqrt(square)) : norm;
    y->norm[j] = clarke_slice_up(clarke_slice_up(norm) + own * sqrt(entries));
    y->most[j] = fmin(clarke_slice_up(clarke_slice_up(most) + own), y->norm[j]);
  }
  if (clarke_scaling_of(f, s->out) != NULL)
    bound_scaled_sum(f, s, y, own);
  return bound_joined(f, s, own);
}

static bool
add_constant(clarke_slicing *f, const clarke_sliced *y, const clarke_digits *coef, double v, size_t len)
{
  clarke_digits number;
  const bool fits = clarke_digits_of_double(&number, v, y->low - 2 * f->plan->width, f->plan->width);

  if (fits)
    clarke_block_add_number(f, y, coef, &number, len);
  return fits;
}

/* Block by block. */
static void
add_operands(clarke_slicing *f, const clarke_step *s, const clarke_digits *coef, clarke_sliced *y)
{
  const size_t rows = y->rows;

  for (part p = next_part(f, s, (part){0}, rows); p.len > 0; p = next_part(f, s, p, rows)) {
    clarke_block_begin(f, y->planes, p.len);
    for (size_t k = 0; k < s->n_in; k++) {
      const clarke_value *v = &f->g->values[s->in[k].value];
      const size_t from = clarke_operand_entry(&s->in[k], p.row);

      if (from == CLARKE_NONE)
        continue;
      if (v->constant)
        f->lost = !add_constant(f, y, &coef[k], v->real[from], p.len) || f->lost;
      else
        clarke_block_add(f, y, &coef[k], &f->value[s->in[k].value], from * f->n + p.column, p.len);
    }
    clarke_block_end(f, y, p.row * f->n + p.column, p.len);
  }
}

clarke_status
clarke_slices_sum(clarke_slicing *f, const clarke_step *s)
{
  clarke_sliced *y = &f->value[s->out];
  clarke_digits *coef = malloc(s->n_in * sizeof *coef);
  bool moved = false;
  size_t planes;
  long low;
  clarke_status status = coef != NULL ? CLARKE_OK : clarke_no_memory(f->err);

  if (status == CLARKE_OK && !prepare_sum(f, s, coef, &low, &planes)) {
    f->lost = true;
    status = CLARKE_EINPUT;
  }
  if (status == CLARKE_OK) {
    moved = is_moved(f, s, &low, &planes);
    status = clarke_sliced_alloc(f, y, f->g->values[s->out].count, planes, low);
  }
  if (f->origin != NULL)
    f->origin[s->out].moved = moved;
  if (status == CLARKE_OK && moved)
    memset(y->digit, 0, planes * y->rows * f->n * sizeof *y->digit);
  for (size_t k = 0; k < s->n_in && status == CLARKE_OK && moved; k++)
    move_rows(f, s, k, y);
  if (status == CLARKE_OK && !moved)
    add_operands(f, s, coef, y);
  if (status == CLARKE_OK) {
    status = bound_sum(f, s, y, coef, moved);
    clarke_sliced_trim(f, y);
  }
  free(coef);
  return status;
}

/* By what entries of a SCALE are multiplied: c, 1/c or 1/sqrt(c + epsilon), to so many bits. */
static void
multiplier(mpfr_t k, const clarke_step *s, double c)
{
  mpfr_set_d(k, c, MPFR_RNDN);
  if (s->root) {
    mpfr_add_q(k, k, s->epsilon, MPFR_RNDN);
    mpfr_sqrt(k, k, MPFR_RNDN);
  }
  if (s->root || s->divide)
    mpfr_ui_div(k, 1, k, MPFR_RNDN);
}

/* One run of rows. The multiplier is off by no more than its lowest place, which times the largest |x| is less than a
 * place of y. */
static bool
scale_part(clarke_slicing *f, const clarke_step *s, clarke_sliced *y, const clarke_sliced *x, part p, mpfr_t k)
{
  static const clarke_digits none = {.planes = 0};
  const clarke_value *c = &f->g->values[s->in[1].value];
  const long top = x->low + f->plan->width * (long)x->planes;
  clarke_digits digits;

  multiplier(k, s, c->real[clarke_operand_entry(&s->in[1], p.row)]);
  if (!clarke_digits_of_mpfr(&digits, k, y->low - top, f->plan->width))
    return false;
  clarke_block_line(f, y, &digits, x, &none, clarke_operand_entry(&s->in[0], p.row) * f->n + p.column,
                    p.row * f->n + p.column, p.len);
  return true;
}

clarke_status
clarke_slices_scale(clarke_slicing *f, const clarke_step *s)
{
  const clarke_sliced *x = &f->value[s->in[0].value];
  const clarke_growth *g = &f->plan->growths->growth[s - f->g->steps][0];
  const long width = f->plan->width, low = f->plan->low[s->out];
  const size_t rows = f->g->values[s->out].count;
  clarke_sliced *y = &f->value[s->out];
  int exponent;
  long top, planes;
  clarke_status status;
  mpfr_t k;

  frexp(g->most, &exponent);
  top = x->low + width * (long)x->planes;
  planes = (top + exponent - low) / width + 4;
  if (!(g->most <= 0x1p300)) {
    f->lost = true;
    return CLARKE_EINPUT;
  }
  status = clarke_sliced_alloc(f, y, rows, planes > 1 ? (size_t)planes : 1, low);
  mpfr_init2(k, (mpfr_prec_t)(64 + (planes > 1 ? planes : 1) * width));
  for (part p = next_part(f, s, (part){0}, rows); status == CLARKE_OK && p.len > 0; p = next_part(f, s, p, rows))
    f->lost = !scale_part(f, s, y, x, p, k) || f->lost;
  mpfr_clear(k);
  if (status == CLARKE_OK) {
    clarke_sliced_bound(f, y, x, g->norm, g->most, 3 + CLARKE_PLANES / 4);
    clarke_sliced_trim(f, y);
  }
  return status;
}
