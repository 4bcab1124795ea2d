/* Normalizations over all samples in slices: y = k x + t, with k = 1 / deviation and t = -mean k of each group. Where a
 * multiple and a shift by group follow, as in most networks, k and t take these in, and the steps are done, too. */
#include "network/pass/slices/moments.h"

#include <math.h>
#include <stdlib.h>

/* A group: k and t; a number that its deviation is not below; what multiplies and shifts it. */
typedef struct {
  clarke_digits k, t;
  double least, scale, shift;
} sliced_group;

/* The one step that reads the value, once; NULL: there is none. */
static const clarke_step *
only_reader(const clarke_slicing *f, size_t value)
{
  const clarke_step *reader = NULL;

  for (size_t i = 0; i < f->g->n_steps; i++)
    for (size_t k = 0; k < f->g->steps[i].n_in; k++) {
      const clarke_step *s = &f->g->steps[i];

      if (s->in[k].value != value || !f->plan->needed[s->out])
        continue;
      if (reader != NULL)
        return NULL;
      reader = s;
    }
  return reader;
}

/* Is the constant operand the same number for all entries of each group? Then these are number[0..groups). */
static bool
by_group(const clarke_slicing *f, const clarke_step *s, const clarke_operand *o, double *number)
{
  const clarke_grouping *c = &s->grouping;
  const clarke_value *v = &f->g->values[o->value];

  if (!v->constant)
    return false;
  for (size_t run = 0; run < c->blocks * c->groups; run++) { /* of entries of one group */
    const size_t g = run % c->groups;

    for (size_t e = 0; e < c->length; e++) {
      const size_t from = clarke_operand_entry(o, run * c->length + e);

      if (from == CLARKE_NONE || ((run != g || e > 0) && number[g] != v->real[from]))
        return false;
      number[g] = v->real[from];
    }
  }
  return true;
}

/* The value that a multiple and a shift by group make of the step's, which then need not be done; number: room for one of each
 * group. */
static size_t
follow(clarke_slicing *f, const clarke_step *s, sliced_group *group, double *number)
{
  const clarke_step *next = only_reader(f, s->out);
  size_t out = s->out;

  for (size_t g = 0; g < s->grouping.groups; g++) {
    group[g].scale = 1;
    group[g].shift = 0;
  }
  if (next != NULL && next->kind == CLARKE_SCALE && !next->root && !next->divide && next->in[0].map == NULL &&
      by_group(f, s, &next->in[1], number)) {
    for (size_t g = 0; g < s->grouping.groups; g++)
      group[g].scale = number[g];
    out = next->out;
    f->made[out] = true;
    next = only_reader(f, out);
  }
  if (next != NULL && next->kind == CLARKE_SUM && next->n_in == 2) {
    const size_t k = next->in[0].value == out ? 0 : 1;

    if (next->in[k].map == NULL && next->in[k].coef == 1 && next->in[1 - k].coef == 1 &&
        by_group(f, s, &next->in[1 - k], number)) {
      for (size_t g = 0; g < s->grouping.groups; g++)
        group[g].shift = number[g];
      out = next->out;
      f->made[out] = true;
    }
  }
  return out;
}

static long
top_of(const mpfr_t v)
{
  return mpfr_zero_p(v) ? 0 : (long)mpfr_get_exp(v);
}

/* A group's multiple and shift, times the scale, and shifted; *top: at least the exponent above k x and t. Both are off by less than
 * 2^(4 - bits) of *top, which is to be a small part of a place. */
static bool
set_group(clarke_digits *k, clarke_digits *t, const clarke_slicing *f, const sliced_group *group, const clarke_moments *m, mpfr_t room,
          long low, long end, long *top)
{
  long above, shifted;
  bool fits;

  mpfr_mul_d(room, m->inverse, group->scale, MPFR_RNDN);
  above = end + top_of(room);
  fits = clarke_digits_of_mpfr(k, room, low - end, f->plan->width);
  mpfr_mul_d(room, m->shift, group->scale, MPFR_RNDN);
  mpfr_add_d(room, room, group->shift, MPFR_RNDN);
  shifted = top_of(room);
  fits = fits && clarke_digits_of_mpfr(t, room, low - f->plan->width, f->plan->width);
  above = above > shifted ? above : shifted;
  *top = above > *top ? above : *top;
  return fits && above - low + 8 <= (long)mpfr_get_prec(room);
}

/* Every group; *top: the exponent above k x and t of all. */
static clarke_status
measure_groups(clarke_slicing *f, const clarke_step *s, const clarke_sliced *x, sliced_group *group, long low, long *top)
{
  const long end = x->low + f->plan->width * (long)x->planes;
  const mpfr_prec_t bits = (mpfr_prec_t)(256 + (end > low ? end - low : 0));
  clarke_moments own = {0};
  mpfr_t room;

  mpfr_init2(room, bits);
  *top = low;
  for (size_t g = 0; g < s->grouping.groups && !f->lost; g++) {
    const clarke_moments *m = clarke_moments_find(f, s, g, bits, &own);

    group[g].least = m->least;
    f->lost = !set_group(&group[g].k, &group[g].t, f, &group[g], m, room, low, end, top);
  }
  mpfr_clear(room);
  clarke_moments_clear(&own);
  return f->lost ? CLARKE_EINPUT : CLARKE_OK;
}

/* The errors' norm in group g, which lies in segment k of x, or in none that is known (CLARKE_NONE); *counts: the least that its
 * entries count in its scaling, or 1. */
static double
norm_in_group(const clarke_slicing *f, const clarke_step *s, const clarke_sliced *x, size_t g, size_t k, double *counts)
{
  const clarke_grouping *o = &s->grouping;
  const clarke_scaling *scaling = clarke_scaling_of(f, s->in[0].value);
  double norm = x->norm[0];

  *counts = scaling != NULL ? INFINITY : 1;
  for (size_t e = 0; e < o->blocks * o->length && scaling != NULL; e++)
    *counts = fmin(*counts, scaling->row[(e / o->length * o->groups + g) * o->length + e % o->length]);
  if (scaling != NULL)
    norm = fmin(norm, clarke_slice_up(x->scaled / *counts));
  return k != CLARKE_NONE ? fmin(norm, clarke_slice_up(x->segment[k] / *counts)) : norm;
}

/* The derivative of a group's normalization is a projection, and something less along the argument, over the deviation,
 * which is 1 / sqrt(m) Lipschitz and at least sqrt(epsilon); times the scale. In a scaling, the group's errors are at most their
 * norm there over the least that its entries count. The norm of y's errors, without those of its own; by_segment: in each, where
 * x's are known. */
static double
norm_of_groups(const clarke_slicing *f, const clarke_step *s, const clarke_sliced *x, const sliced_group *group, double *by_segment)
{
  const clarke_segments *segments = by_segment != NULL ? clarke_segments_in(f, s->in[0].value) : NULL;
  const bool has_scaling = clarke_scaling_of(f, s->in[0].value) != NULL;
  const double m = (double)clarke_step_group_size(s, f->n), floor = clarke_down_by(sqrt(mpq_get_d(s->epsilon)), 4);
  double plain = 0, scaled = 0, square = 0;

  for (size_t g = 0; g < s->grouping.groups; g++) {
    const size_t k = segments != NULL ? clarke_segment_of(segments, g * s->grouping.length) : CLARKE_NONE;
    double counts, least, growth;

    least = clarke_slice_up(norm_in_group(f, s, x, g, k, &counts) / sqrt(m));
    least = fmax(clarke_down_by(group[g].least - least, 0x1p12), floor);
    growth = clarke_slice_up(fabs(group[g].scale) / least);
    plain = fmax(plain, growth);
    scaled = fmax(scaled, clarke_slice_up(growth / counts));
    if (segments != NULL)
      by_segment[k] = fmax(by_segment[k], clarke_slice_up(growth / counts));
  }
  plain = clarke_slice_up(plain * x->norm[0]);
  plain = has_scaling ? fmin(plain, clarke_slice_up(scaled * x->scaled)) : plain;
  for (size_t k = 0; segments != NULL && k < segments->n; k++) {
    by_segment[k] = clarke_slice_up(by_segment[k] * x->segment[k]);
    square += by_segment[k] * by_segment[k];
  }
  return segments != NULL ? fmin(plain, clarke_slice_up(sqrt(square))) : plain;
}

/* Planes of digits, from 2^low up, that hold every integer of 2^low whose size is at most 2^top: they reach half their top. */
static size_t
planes_below(long top, long low, long width)
{
  return top + 1 <= low ? 1 : (size_t)((top + 1 - low + width - 1) / width);
}

static void
apply_group(clarke_slicing *f, const clarke_step *s, clarke_sliced *y, const clarke_sliced *x, const sliced_group *group,
            size_t g)
{
  const clarke_grouping *o = &s->grouping;

  for (size_t b = 0; b < o->blocks; b++) {
    const size_t first = (b * o->groups + g) * o->length * f->n, entries = o->length * f->n;

    for (size_t e = 0; e < entries; e += CLARKE_SLICE_BLOCK)
      clarke_block_line(f, y, &group[g].k, x, &group[g].t, first + e, first + e,
                        entries - e < CLARKE_SLICE_BLOCK ? entries - e : CLARKE_SLICE_BLOCK);
  }
}

/* y's errors: those of x, and `units` of its lowest place an entry. */
static clarke_status
bound_normalized(clarke_slicing *f, const clarke_step *s, size_t out, const clarke_sliced *x, const sliced_group *group,
                 double units)
{
  clarke_sliced *y = &f->value[out];
  const double own = units * ldexp(1, (int)y->low), all = clarke_slice_up(own * sqrt((double)y->rows * (double)f->n));
  const clarke_segments *from = clarke_segments_in(f, s->in[0].value), *to = clarke_segments_in(f, out);
  const bool segmented = from != NULL && to != NULL && from->n == to->n && x->segment != NULL && clarke_scaling_of(f, out) == NULL;
  clarke_status status = segmented ? clarke_sliced_segment(f, out) : CLARKE_OK;
  double norm;

  if (status != CLARKE_OK)
    return status;
  for (size_t k = 0; segmented && k < to->n; k++)
    y->segment[k] = 0;
  norm = norm_of_groups(f, s, x, group, y->segment);
  for (size_t k = 0; segmented && k < to->n; k++)
    y->segment[k] = clarke_slice_up(y->segment[k] + all);
  y->norm[0] = clarke_slice_up(norm + all);
  y->most[0] = clarke_slice_up(norm + own);
  return CLARKE_OK;
}

clarke_status
clarke_slices_normalize(clarke_slicing *f, const clarke_step *s)
{
  const clarke_sliced *x = &f->value[s->in[0].value];
  const size_t m = clarke_step_group_size(s, f->n);
  double *number = calloc(s->grouping.groups + 1, sizeof *number);
  sliced_group *group = malloc((s->grouping.groups + 1) * sizeof *group);
  clarke_status status = group != NULL && number != NULL ? CLARKE_OK : clarke_no_memory(f->err);
  const size_t out = status == CLARKE_OK ? follow(f, s, group, number) : s->out;
  const long low = f->plan->low[out];
  clarke_sliced *y = &f->value[out];
  long top;

  if (status == CLARKE_OK && (m > 1 << 22 || !(mpq_get_d(s->epsilon) >= 0x1p-200))) {
    f->lost = true;
    status = CLARKE_EINPUT;
  }
  if (status == CLARKE_OK)
    status = measure_groups(f, s, x, group, low, &top);
  if (status == CLARKE_OK)
    status = clarke_sliced_alloc(f, y, x->rows, planes_below(top + 1, low, f->plan->width), low);
  for (size_t g = 0; g < s->grouping.groups && status == CLARKE_OK; g++)
    apply_group(f, s, y, x, group, g);
  if (status == CLARKE_OK)
    status = bound_normalized(f, s, out, x, group, 4 + CLARKE_PLANES / 4);
  if (status == CLARKE_OK)
    clarke_sliced_trim(f, y);
  free(group);
  free(number);
  return status;
}
