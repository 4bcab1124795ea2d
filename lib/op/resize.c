/* Resize. To the nearest entries: along each axis each place of the output is an entry of the input. Linear, cubic: it has shares of
 * several, axis by axis (resample.h). */
#include "op/axes.h"
#include "op/lower.h"
#include "op/resample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FLOATS_COUNT_TO ((size_t)1 << 22) /* of what is so small float32 has halves, too */

typedef enum { STRETCH, NOT_LARGER, NOT_SMALLER } aspect;

typedef struct {
  size_t rank, batch; /* that axis, or CLARKE_NONE */
  bool nearest, crop;
  bool changes, scaled; /* is any length another one; is any scale not 1? */
  aspect policy;
  double beyond; /* what a place beyond a crop's ends is */
  clarke_kernel kernel;
  size_t n, place[CLARKE_MAX_WHOLE]; /* of each axis its scale's or size's among the n that are given; CLARKE_NONE: it stays */
  clarke_places axis[CLARKE_MAX_WHOLE];
} resizing;

static const char *
text(const clarke_lowering *low, const char *name, const char *absent)
{
  const clarke_attr *a = clarke_model_attr(low->node, name);

  return a != NULL ? a->s : absent;
}

/* The number of the word in the list, which ends with NULL; of a word that is not there the list's length. */
static size_t
number_of(const char *word, const char *const list[])
{
  size_t i = 0;

  while (list[i] != NULL && strcmp(word, list[i]) != 0)
    i++;
  return i;
}

static clarke_status
check_words(const clarke_lowering *low, clarke_error *err)
{
  static const char *const coordinates[] = {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize",
                                            "half_pixel_symmetric", NULL};
  static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
  static const char *const modes[] = {"nearest", "linear", "cubic", NULL};
  const char *mode = text(low, "mode", "nearest"), *how = text(low, "coordinate_transformation_mode", coordinates[0]);
  const size_t coordinate = number_of(how, coordinates);

  if (modes[number_of(mode, modes)] == NULL)
    return clarke_lower_fail(low, err, "mode is '%.40s'; expected nearest, linear or cubic. Record the step instead: there upsampling is "
                                       "a product with the weights that were computed", mode);
  if (coordinates[coordinate] == NULL || (coordinate == 5 && low->opset < 19))
    return clarke_lower_fail(low, err, "coordinate_transformation_mode is '%.40s'; expected half_pixel, pytorch_half_pixel, "
                                       "align_corners, asymmetric, tf_crop_and_resize or, from opset 19, half_pixel_symmetric", how);
  if (roundings[number_of(text(low, "nearest_mode", roundings[0]), roundings)] == NULL)
    return clarke_lower_fail(low, err, "nearest_mode is '%.40s'; expected round_prefer_floor, round_prefer_ceil, floor or ceil",
                             text(low, "nearest_mode", ""));
  return CLARKE_OK;
}

static clarke_status
read_modes(resizing *r, const clarke_lowering *low, clarke_error *err)
{
  static const char *const policies[] = {"stretch", "not_larger", "not_smaller", NULL};
  const char *mode = text(low, "mode", "nearest");
  const size_t policy = number_of(text(low, "keep_aspect_ratio_policy", policies[0]), policies);
  const bool exclude = clarke_lower_int(low, "exclude_outside", 0) != 0;
  clarke_status status = check_words(low, err);

  if (status != CLARKE_OK)
    return status;
  r->nearest = strcmp(mode, "nearest") == 0;
  r->crop = strcmp(text(low, "coordinate_transformation_mode", ""), "tf_crop_and_resize") == 0;
  r->policy = (aspect)policy;
  r->beyond = clarke_lower_float(low, "extrapolation_value", 0);
  r->kernel.cubic = strcmp(mode, "cubic") == 0;
  r->kernel.exclude = exclude;
  mpq_set_d(r->kernel.a, clarke_lower_float(low, "cubic_coeff_a", -0.75));
  if (policies[policy] == NULL || clarke_lower_int(low, "antialias", 0) != 0 || (exclude && !r->kernel.cubic))
    return clarke_lower_fail(low, err, "antialias is not supported, exclude_outside in mode cubic alone, and keep_aspect_ratio_policy is "
                                       "stretch, not_larger or not_smaller: mode is '%.40s'. Export without them", mode);
  return CLARKE_OK;
}

static size_t
rounded(mpq_srcptr place, size_t in, const char *rounding)
{
  const bool up = strcmp(rounding, "ceil") == 0 || strcmp(rounding, "round_prefer_floor") == 0;
  mpq_t half, at;
  mpz_t n;
  size_t entry;

  mpq_inits(half, at, NULL);
  mpz_init(n);
  if (strncmp(rounding, "round", 5) == 0)
    mpq_set_si(half, up ? -1 : 1, 2);
  mpq_add(at, place, half);
  (up ? mpz_cdiv_q : mpz_fdiv_q)(n, mpq_numref(at), mpq_denref(at));
  entry = mpz_sgn(n) < 0 ? 0 : mpz_cmp_ui(n, in - 1) > 0 ? in - 1 : mpz_get_ui(n);
  mpz_clear(n);
  mpq_clears(half, at, NULL);
  return entry;
}

/* Where a crop begins and ends, as shares of the axis, whose number is `place` among the n that are given. */
static void
read_crop(const resizing *r, const clarke_lowering *low, size_t place, double roi[2])
{
  roi[0] = 0;
  roi[1] = 1;
  if (!r->crop || place == CLARKE_NONE)
    return;
  roi[0] = clarke_lower_value(low, 1)->real[place];
  roi[1] = clarke_lower_value(low, 1)->real[place + r->n];
}

/* Is axis i cropped? The file's numbers say so: the samples' axis has one entry here. */
static bool
crops(const resizing *r, const clarke_lowering *low, size_t i)
{
  double roi[2];

  read_crop(r, low, r->place[i], roi);
  return roi[0] != 0 || roi[1] != 1;
}

/* Do floats have exactly a place that lies between two entries? They do where the scale is a float, so that the quotient is one, or where no
 * scale is asked; not where a crop's ends are shares. */
static bool
is_exact_in_floats(const clarke_places *a, size_t j, mpq_srcptr scale, const char *how, const double roi[2])
{
  const bool crop = strcmp(how, "tf_crop_and_resize") == 0;
  bool exact;
  mpq_t as_float;

  if (a->in > FLOATS_COUNT_TO || a->out > FLOATS_COUNT_TO)
    return false;
  if (crop || strcmp(how, "align_corners") == 0)
    return !crop || (roi[0] == 0 && roi[1] == 1);
  if ((strcmp(how, "asymmetric") == 0 && j == 0) || (strcmp(how, "pytorch_half_pixel") == 0 && a->out == 1))
    return true;
  mpq_init(as_float);
  mpq_set_d(as_float, (float)mpq_get_d(scale));
  exact = mpq_equal(as_float, scale) != 0;
  mpq_set_ui(as_float, a->in, 1);
  mpq_mul(as_float, as_float, scale);
  exact = exact && (strcmp(how, "half_pixel_symmetric") != 0 || mpq_cmp_ui(as_float, a->out, 1) == 0);
  mpq_clear(as_float);
  return exact;
}

/* How far float32 may take a place away: seven roundings, 2^-21 of the axis at most, and of the ends of a crop. */
static void
set_slack(mpq_t off, const clarke_places *a, const double roi[2])
{
  mpq_t axis;

  mpq_init(axis);
  mpq_set_d(off, 1 + fabs(roi[0]) + fabs(roi[1]));
  mpq_set_ui(axis, a->in + 1, 1);
  mpq_mul(off, off, axis);
  mpq_div_2exp(off, off, 21);
  mpq_clear(axis);
}

/* Is the entry nearest to place j the same wherever float32 may have the place? */
static bool
is_told(const clarke_places *a, size_t j, mpq_srcptr scale, const char *how, const double roi[2], const char *rounding)
{
  const unsigned halves = strncmp(rounding, "round", 5) == 0 ? 1 : 0;
  size_t before, behind;
  bool between;
  mpq_t off, at;

  mpq_inits(off, at, NULL);
  set_slack(off, a, roi);
  mpq_sub(at, a->at[j], off);
  before = rounded(at, a->in, rounding);
  mpq_add(at, a->at[j], off);
  behind = rounded(at, a->in, rounding);
  mpq_set_ui(off, halves, 2);
  mpq_canonicalize(off);
  mpq_sub(at, a->at[j], off);
  between = mpz_cmp_ui(mpq_denref(at), 1) == 0;
  mpq_clears(off, at, NULL);
  return before == behind || (between && is_exact_in_floats(a, j, scale, how, roi));
}

/* Is place j of a crop on one side of the axis's ends wherever float32 may have it? Floats have it at an end exactly where the crop is of the
 * whole axis, forward or backward, or of an end. */
static bool
is_side_told(const clarke_places *a, size_t j, const double roi[2])
{
  bool far = true;
  mpq_t off, end;

  if ((roi[0] == 0 || roi[0] == 1) && (roi[1] == 0 || roi[1] == 1) && a->in <= FLOATS_COUNT_TO && a->out <= FLOATS_COUNT_TO)
    return true;
  mpq_inits(off, end, NULL);
  for (unsigned last = 0; last < 2; last++) {
    mpq_set_ui(end, last * (a->in - 1), 1);
    mpq_sub(end, a->at[j], end);
    mpq_abs(end, end);
    set_slack(off, a, roi);
    far = far && mpq_cmp(end, off) > 0;
  }
  mpq_clears(off, end, NULL);
  return far;
}

static clarke_status
fill(resizing *r, const clarke_lowering *low, size_t i, mpq_srcptr scale, clarke_error *err)
{
  const char *how = text(low, "coordinate_transformation_mode", "half_pixel"), *rounding = text(low, "nearest_mode", "round_prefer_floor");
  clarke_places *a = &r->axis[i];
  double roi[2];
  clarke_status status = clarke_places_init(a, low, err);

  read_crop(r, low, r->place[i], roi);
  for (size_t j = 0; j < a->out && status == CLARKE_OK; j++) {
    clarke_places_set(a, j, scale, how, roi);
    if (r->nearest && !a->apart[j] && !is_told(a, j, scale, how, roi, rounding))
      status = clarke_lower_fail(low, err, "axis %zu: place %zu lies between two entries, or nearly, and rounding floats decides which is the "
                                 "nearest: ask for a scale that is a float, such as 1/2", i, j);
    else if (r->crop && !is_side_told(a, j, roi))
      status = clarke_lower_fail(low, err, "axis %zu: place %zu of the crop lies at an end of the axis, or nearly, and rounding floats decides "
                                 "whether it is beyond: crop a little less, or to the ends 0 and 1", i, j);
  }
  return status;
}

/* The scale and length that a size asks for, where the shape's proportions are kept: those of the least, or largest, scale of all. */
static void
keep_aspect(const resizing *r, const clarke_lowering *low, size_t in, mpq_t scale, mpz_t out)
{
  const int64_t *size = clarke_lower_value(low, 3)->integer;
  bool first = true;
  mpq_t other;

  mpq_init(other);
  for (size_t i = 0; i < r->rank; i++) {
    if (r->place[i] == CLARKE_NONE)
      continue;
    mpq_set_si(other, size[r->place[i]], r->axis[i].in);
    mpq_canonicalize(other);
    if (first || (r->policy == NOT_LARGER ? mpq_cmp(other, scale) < 0 : mpq_cmp(other, scale) > 0))
      mpq_set(scale, other);
    first = false;
  }
  mpq_set_ui(other, in, 1);
  mpq_mul(other, other, scale);
  mpz_mul_2exp(mpq_numref(other), mpq_numref(other), 1);
  mpz_add(mpq_numref(other), mpq_numref(other), mpq_denref(other));
  mpz_mul_2exp(mpq_denref(other), mpq_denref(other), 1);
  mpz_fdiv_q(out, mpq_numref(other), mpq_denref(other));
  mpq_clear(other);
}

/* How many entries axis i is to have, 0 where that is not possible, and its scale, from scales (input 2) or sizes (input 3). */
static size_t
length_of(const resizing *r, const clarke_lowering *low, size_t i, bool sizes, mpq_t scale)
{
  const size_t place = r->place[i], in = r->axis[i].in;
  size_t given = 0;
  mpz_t out;

  mpq_set_ui(scale, 1, 1);
  if (place == CLARKE_NONE)
    return in;
  mpz_init(out);
  if (sizes && r->policy != STRETCH) {
    keep_aspect(r, low, in, scale, out);
    given = mpz_cmp_ui(out, CLARKE_MAX_ENTRIES) > 0 || mpz_sgn(out) < 0 ? 0 : mpz_get_ui(out);
  } else if (sizes) {
    const int64_t size = clarke_lower_value(low, 3)->integer[place];
    const size_t whole = i == r->batch ? low->graph->together : 1;

    given = size < 0 || size > (int64_t)CLARKE_MAX_ENTRIES ? 0 : (size_t)size / whole * (size % (int64_t)whole == 0);
    mpq_set_ui(scale, given, in);
    mpq_canonicalize(scale);
  } else if (clarke_lower_value(low, 2)->real[place] > 0) {
    mpq_set_d(scale, clarke_lower_value(low, 2)->real[place]);
    mpz_mul_ui(out, mpq_numref(scale), in);
    mpz_fdiv_q(out, out, mpq_denref(scale));
    given = mpz_cmp_ui(out, CLARKE_MAX_ENTRIES) > 0 ? 0 : mpz_get_ui(out);
  }
  mpz_clear(out);
  return given;
}

/* Does every place of the axis lie on the entry of its own number? */
static bool
is_kept(const clarke_places *a)
{
  bool kept = a->in == a->out;

  for (size_t j = 0; j < a->out && kept; j++)
    kept = !a->apart[j] && mpq_cmp_ui(a->at[j], j, 1) == 0;
  return kept;
}

/* Could a float32 of the scale times the length be out + 1, where it is below? */
static bool
is_below_next(const clarke_places *a, mpq_srcptr scale)
{
  mpq_t more, next;
  bool below;

  mpq_inits(more, next, NULL);
  mpq_set_ui(more, a->in, 1);
  mpq_mul(more, more, scale);
  mpq_div_2exp(next, more, 23);
  mpq_add(more, more, next);
  mpq_set_ui(next, a->out + 1, 1);
  below = mpq_cmp(more, next) >= 0;
  mpq_clears(more, next, NULL);
  return below;
}

/* Where readers differ on an axis: whether its length is one more, and whether one that keeps its length is cropped. */
static clarke_status
check_axis(const resizing *r, const clarke_lowering *low, size_t i, bool sizes, mpq_srcptr scale, clarke_error *err)
{
  const clarke_places *a = &r->axis[i];

  if (!sizes && is_below_next(a, scale))
    return clarke_lower_fail(low, err, "axis %zu: rounding floats decides whether it has %zu entries or one more: ask for sizes", i, a->out);
  if (i != r->batch && a->in == a->out && crops(r, low, i))
    return clarke_lower_fail(low, err, "axis %zu: a crop that leaves its length: readers differ on whether it is cropped", i);
  return CLARKE_OK;
}

static clarke_status
read_axis(resizing *r, clarke_lowering *low, size_t i, bool sizes, clarke_error *err)
{
  clarke_places *a = &r->axis[i];
  const bool batch = i == r->batch;
  clarke_status status = CLARKE_OK;
  mpq_t scale;

  mpq_init(scale);
  a->out = length_of(r, low, i, sizes, scale);
  if (a->out == 0 || mpq_sgn(scale) == 0 || (batch && mpq_cmp_ui(scale, 1, 1) != 0))
    status = clarke_lower_fail(low, err, "axis %zu: a scale or size that %s", i,
                               batch ? "changes the number of samples" : "leaves no entries, or too many");
  else if (!clarke_lower_affordable(low->graph, r->nearest ? a->out : a->out * a->in))
    status = clarke_lower_too_large(low, err);
  if (status == CLARKE_OK)
    status = check_axis(r, low, i, sizes, scale, err);
  if (status == CLARKE_OK)
    status = fill(r, low, i, scale, err);
  r->changes = r->changes || a->in != a->out;
  r->scaled = r->scaled || mpq_cmp_ui(scale, 1, 1) != 0;
  if (status == CLARKE_OK && batch && crops(r, low, i))
    status = clarke_lower_fail(low, err, "axis %zu: a crop of the samples", i);
  if (status == CLARKE_OK && r->crop && r->kernel.cubic && i + 2 < r->rank && !is_kept(a))
    status = clarke_lower_fail(low, err, "axis %zu: mode cubic crops the last two axes alone, for readers differ on others", i);
  mpq_clear(scale);
  return status;
}

/* Which of the n scales or sizes is each axis's: its own number, or where the attribute `axes` lists it. Others stay as they are. */
static clarke_status
place_axes(resizing *r, const clarke_lowering *low, clarke_error *err)
{
  const clarke_attr *axes = clarke_model_attr(low->node, "axes");
  bool chosen[CLARKE_MAX_WHOLE];
  clarke_status status = axes != NULL ? clarke_axes_chosen(low, axes->ints, axes->n, r->rank, chosen, err) : CLARKE_OK;

  r->n = axes != NULL ? axes->n : r->rank;
  for (size_t i = 0; i < r->rank; i++)
    r->place[i] = axes != NULL ? CLARKE_NONE : i;
  for (size_t k = 0; axes != NULL && status == CLARKE_OK && k < axes->n; k++)
    r->place[axes->ints[k] < 0 ? axes->ints[k] + (int64_t)r->rank : axes->ints[k]] = k;
  return status;
}

/* A crop's ends are a constant of floats, first all beginnings, then all ends. Scales would be read otherwise by others. */
static clarke_status
check_crop(const resizing *r, clarke_lowering *low, bool sizes, clarke_error *err)
{
  clarke_status status;

  if (!sizes || r->policy != STRETCH)
    return clarke_lower_fail(low, err, "tf_crop_and_resize takes sizes, and no keep_aspect_ratio_policy: readers differ on the lengths");
  if (!clarke_lower_has(low, 1))
    return clarke_lower_fail(low, err, "roi is missing");
  status = clarke_lower_constant(low, 1, err);
  if (status == CLARKE_OK && clarke_lower_value(low, 1)->count != 2 * r->n)
    status = clarke_lower_fail(low, err, "roi has %zu entries; expected two for each of %zu axes", clarke_lower_value(low, 1)->count, r->n);
  if (status == CLARKE_OK)
    low->graph->values[low->in[1]].bound = true;
  return status;
}

static clarke_status
read_axes(resizing *r, clarke_lowering *low, clarke_error *err)
{
  const bool sizes = clarke_lower_has(low, 3), scales = clarke_lower_has(low, 2) && clarke_lower_value(low, 2)->count > 0;
  size_t dims[CLARKE_MAX_WHOLE];
  clarke_status status;

  r->batch = clarke_axes_batch(low, 0);
  r->rank = clarke_axes_whole(low, 0, dims);
  if (sizes == scales)
    return clarke_lower_fail(low, err, "expected scales or sizes, and not both");
  status = place_axes(r, low, err);
  if (status == CLARKE_OK && scales)
    status = clarke_lower_constant(low, 2, err);
  if (status == CLARKE_OK && sizes && (!clarke_lower_value(low, 3)->constant || clarke_lower_value(low, 3)->integer == NULL))
    status = clarke_lower_fail(low, err, "sizes must be a constant of integers");
  if (status == CLARKE_OK && clarke_lower_value(low, sizes ? 3 : 2)->count != r->n)
    status = clarke_lower_fail(low, err, "%zu scales or sizes; expected one for each of %zu axes",
                               clarke_lower_value(low, sizes ? 3 : 2)->count, r->n);
  if (status == CLARKE_OK && r->crop)
    status = check_crop(r, low, sizes, err);
  if (status == CLARKE_OK && r->policy != STRETCH && (!sizes || (r->batch != CLARKE_NONE && r->place[r->batch] != CLARKE_NONE)))
    status = clarke_lower_fail(low, err, "keep_aspect_ratio_policy is of sizes, and not of the samples' axis: name the others by `axes`");
  if (status == CLARKE_OK && scales)
    low->graph->values[low->in[2]].bound = true;
  for (size_t i = 0; i < r->rank; i++)
    r->axis[i].in = dims[i];
  for (size_t i = 0; i < r->rank && status == CLARKE_OK; i++)
    status = read_axis(r, low, i, sizes, err);
  if (status == CLARKE_OK && r->scaled && !r->changes)
    status = clarke_lower_fail(low, err, "a scale that is not 1 leaves the shape: readers differ on whether entries stay as they are");
  return status;
}

/* Is entry f of the output beyond a crop's ends, along any axis? */
static bool
is_beyond(const resizing *r, size_t f)
{
  bool beyond = false;

  for (size_t a = r->rank; a-- > 0; f /= r->axis[a].out)
    beyond = beyond || r->axis[a].apart[f % r->axis[a].out];
  return beyond;
}

/* The entry of the input that entry f of the output is, near[a] being those along axis a. */
static size_t
entry(const resizing *r, size_t *const near[], size_t f)
{
  size_t from = 0, step = 1;

  if (is_beyond(r, f))
    return CLARKE_NONE;
  for (size_t a = r->rank; a-- > 0; f /= r->axis[a].out) {
    from += near[a][f % r->axis[a].out] * step;
    step *= r->axis[a].in;
  }
  return from;
}

static clarke_status
fill_map(const resizing *r, const clarke_lowering *low, size_t *map, size_t count, clarke_error *err)
{
  const char *rounding = text(low, "nearest_mode", "round_prefer_floor");
  size_t *near[CLARKE_MAX_WHOLE] = {NULL};
  clarke_status status = CLARKE_OK;

  for (size_t a = 0; a < r->rank && status == CLARKE_OK; a++) {
    near[a] = malloc((r->axis[a].out + 1) * sizeof *near[a]);
    if (near[a] == NULL)
      status = clarke_lower_no_memory(low, err);
    for (size_t j = 0; near[a] != NULL && j < r->axis[a].out; j++)
      near[a][j] = rounded(r->axis[a].at[j], r->axis[a].in, rounding);
  }
  for (size_t f = 0; f < count && status == CLARKE_OK; f++)
    map[f] = entry(r, near, f);
  for (size_t a = 0; a < r->rank; a++)
    free(near[a]);
  return status;
}

static clarke_status
add_gather(const resizing *r, clarke_lowering *low, size_t *value, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], count, rank, *map;
  clarke_step *s;

  for (size_t a = 0; a < r->rank; a++)
    dims[a] = r->axis[a].out;
  rank = clarke_axes_of_input(low, r->rank, dims);
  s = clarke_lower_step(low, CLARKE_GATHER, 1, rank, dims, err);
  count = s != NULL ? low->graph->values[s->out].count : 0;
  map = s != NULL ? clarke_lower_map(low, s, 0, count, err) : NULL;
  if (map == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  *value = s->out;
  return fill_map(r, low, map, count, err);
}

/* *value, of the shape that r's axes before `a` have as the output and the others as the input, becomes it with axis a as the
 * output has it. */
static clarke_status
stretch_axis(const resizing *r, size_t a, clarke_lowering *low, size_t *dims, size_t *value, clarke_error *err)
{
  size_t blocks = 1, repeat = 1, own[CLARKE_MAX_WHOLE], rank;

  for (size_t i = 0; i < r->rank; i++)
    if (i != a)
      *(i < a ? &blocks : &repeat) *= dims[i];
  dims[a] = r->axis[a].out;
  memcpy(own, dims, sizeof own);
  rank = clarke_axes_of_input(low, r->rank, own);
  return clarke_resample(&r->axis[a], &r->kernel, low, blocks, repeat, rank, own, value, err);
}

static clarke_status
add_shares(const resizing *r, clarke_lowering *low, size_t *value, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE];
  clarke_status status = CLARKE_OK;

  for (size_t a = 0; a < r->rank; a++)
    dims[a] = r->axis[a].in;
  for (size_t a = 0; a < r->rank && status == CLARKE_OK; a++)
    if (a != r->batch && !is_kept(&r->axis[a]))
      status = stretch_axis(r, a, low, dims, value, err);
  return status;
}

/* Beyond a crop's ends *value is 0; there it becomes what the node says. */
static clarke_status
add_beyond(const resizing *r, clarke_lowering *low, size_t *value, clarke_error *err)
{
  const size_t count = low->graph->values[*value].count, one = 1;
  size_t constant, *map;
  clarke_step *s;
  clarke_status status = clarke_lower_made(low, 1, &one, &constant, err);

  if (status != CLARKE_OK)
    return status;
  low->graph->values[constant].real[0] = r->beyond;
  s = clarke_lower_step_like(low, CLARKE_SUM, 2, *value, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  s->in[1].value = constant;
  *value = s->out;
  map = clarke_lower_map(low, s, 1, count, err);
  if (map == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  for (size_t f = 0; f < count; f++)
    map[f] = is_beyond(r, f) ? 0 : CLARKE_NONE;
  return CLARKE_OK;
}

static clarke_status
add_steps(const resizing *r, clarke_lowering *low, clarke_error *err)
{
  size_t value = low->in[0], dims[CLARKE_MAX_RANK];
  clarke_status status = (r->nearest ? add_gather : add_shares)(r, low, &value, err);

  if (status == CLARKE_OK && r->crop && r->beyond != 0 && value != low->in[0])
    status = add_beyond(r, low, &value, err);
  if (status != CLARKE_OK)
    return status;
  memcpy(dims, clarke_lower_value(low, 0)->dims, sizeof dims);
  return value == low->in[0] ? clarke_lower_rearranged(low, clarke_lower_value(low, 0)->rank, dims, NULL, err) : clarke_lower_done(low, value, err);
}

static clarke_status
lower_resize(clarke_lowering *low, clarke_error *err)
{
  resizing r = {.rank = 0};
  clarke_status status = clarke_lower_first(low, err);

  mpq_init(r.kernel.a);
  if (status == CLARKE_OK)
    status = read_modes(&r, low, err);
  if (status == CLARKE_OK)
    status = read_axes(&r, low, err);
  if (status == CLARKE_OK)
    status = add_steps(&r, low, err);
  for (size_t a = 0; a < r.rank; a++)
    clarke_places_clear(&r.axis[a]);
  mpq_clear(r.kernel.a);
  return status;
}

#define RESIZE_ATTRIBUTES \
  "coordinate_transformation_mode:s cubic_coeff_a:f exclude_outside:b extrapolation_value:f mode:s nearest_mode:s"

const clarke_op clarke_ops_resize[] = {
  {.name = "Resize",
   .forms = {{11, 3, 4, 1, RESIZE_ATTRIBUTES}, {13, 1, 4, 1, RESIZE_ATTRIBUTES},
             {18, 1, 4, 1, "antialias:b axes:I coordinate_transformation_mode:s cubic_coeff_a:f exclude_outside:b extrapolation_value:f "
                           "keep_aspect_ratio_policy:s mode:s nearest_mode:s"}},
   .lower = lower_resize, .batch = CLARKE_BATCH_KEPT},
  {.name = NULL},
};
