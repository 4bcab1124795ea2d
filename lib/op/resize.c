/* Resize to the nearest entries: along each axis each place of the output is an entry of the input. */
#include "op/axes.h"
#include "op/lower.h"

#include <stdlib.h>
#include <string.h>

/* The places along an axis: entry[j] is that of place j. */
typedef struct {
  size_t in, out, *entry;
} axis_map;

typedef struct {
  size_t lead, rank;
  axis_map axis[CLARKE_MAX_WHOLE];
} resizing;

static const char *
text(const clarke_lowering *low, const char *name, const char *absent)
{
  const clarke_attr *a = clarke_model_attr(low->node, name);

  return a != NULL ? a->s : absent;
}

static bool
is_among(const char *word, const char *const list[4])
{
  for (size_t i = 0; i < 4; i++)
    if (strcmp(word, list[i]) == 0)
      return true;
  return false;
}

static clarke_status
check_modes(const clarke_lowering *low, clarke_error *err)
{
  static const char *const coordinates[4] = {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"};
  static const char *const roundings[4] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  const char *mode = text(low, "mode", "nearest"), *how = text(low, "coordinate_transformation_mode", coordinates[0]);

  if (strcmp(mode, "nearest") != 0)
    return clarke_lower_fail(low, err, "mode is '%.40s'; expected nearest. Record the step instead: there bilinear upsampling is a "
                                       "product with the weights that were computed", mode);
  if (!is_among(how, coordinates))
    return clarke_lower_fail(low, err, "coordinate_transformation_mode is '%.40s'; expected half_pixel, pytorch_half_pixel, "
                                       "align_corners or asymmetric", how);
  if (!is_among(text(low, "nearest_mode", roundings[0]), roundings))
    return clarke_lower_fail(low, err, "nearest_mode is '%.40s'; expected round_prefer_floor, round_prefer_ceil, floor or ceil",
                             text(low, "nearest_mode", ""));
  if (strcmp(text(low, "keep_aspect_ratio_policy", "stretch"), "stretch") != 0 || clarke_lower_int(low, "antialias", 0) != 0
      || clarke_lower_int(low, "exclude_outside", 0) != 0)
    return clarke_lower_fail(low, err, "an aspect ratio that is kept, antialias and exclude_outside are not supported: export without "
                                       "them");
  return CLARKE_OK;
}

/* Place j of an axis in the input's coordinates, the output being `scale` times as long. */
static void
coordinate(mpq_t at, const axis_map *a, size_t j, mpq_srcptr scale, const char *how)
{
  mpq_t half;

  mpq_init(half);
  mpq_set_ui(half, 1, 2);
  mpq_set_ui(at, j, 1);
  if (strcmp(how, "asymmetric") == 0)
    mpq_div(at, at, scale);
  else if (strcmp(how, "align_corners") == 0)
    mpq_set_ui(at, a->out > 1 ? j * (a->in - 1) : 0, a->out > 1 ? a->out - 1 : 1);
  else if (strcmp(how, "half_pixel") == 0 || a->out > 1) {
    mpq_add(at, at, half);
    mpq_div(at, at, scale);
    mpq_sub(at, at, half);
  } else
    mpq_set_ui(at, 0, 1);
  mpq_canonicalize(at);
  mpq_clear(half);
}

static size_t
rounded(mpq_t at, size_t in, const char *rounding)
{
  const bool up = strcmp(rounding, "ceil") == 0 || strcmp(rounding, "round_prefer_floor") == 0;
  mpq_t half;
  mpz_t n;
  size_t entry;

  mpq_init(half);
  mpz_init(n);
  if (strncmp(rounding, "round", 5) == 0)
    mpq_set_si(half, up ? -1 : 1, 2);
  mpq_add(at, at, half);
  (up ? mpz_cdiv_q : mpz_fdiv_q)(n, mpq_numref(at), mpq_denref(at));
  entry = mpz_sgn(n) < 0 ? 0 : mpz_cmp_ui(n, in - 1) > 0 ? in - 1 : mpz_get_ui(n);
  mpz_clear(n);
  mpq_clear(half);
  return entry;
}

static clarke_status
fill(axis_map *a, const clarke_lowering *low, mpq_srcptr scale, clarke_error *err)
{
  const char *how = text(low, "coordinate_transformation_mode", "half_pixel");
  const char *rounding = text(low, "nearest_mode", "round_prefer_floor");
  mpq_t at;

  a->entry = malloc((a->out + 1) * sizeof *a->entry);
  if (a->entry == NULL)
    return clarke_lower_no_memory(low, err);
  mpq_init(at);
  for (size_t j = 0; j < a->out; j++) {
    coordinate(at, a, j, scale, how);
    a->entry[j] = rounded(at, a->in, rounding);
  }
  mpq_clear(at);
  return CLARKE_OK;
}

/* The length of axis i and its scale, from scales (input 2) or sizes (input 3). */
static clarke_status
read_axis(resizing *r, clarke_lowering *low, size_t i, bool sizes, clarke_error *err)
{
  axis_map *a = &r->axis[i];
  const bool batch = i < r->lead;
  clarke_status status = CLARKE_OK;
  size_t given = 0;
  mpz_t out;
  mpq_t scale;

  mpz_init(out);
  mpq_init(scale);
  if (sizes) {
    const int64_t size = clarke_lower_value(low, 3)->integer[i];
    const size_t whole = batch ? low->graph->together : 1;

    given = size < 0 || size > (int64_t)CLARKE_MAX_ENTRIES ? 0 : (size_t)size / whole * (size % (int64_t)whole == 0);
    mpq_set_ui(scale, given, a->in);
    mpq_canonicalize(scale);
  } else if (clarke_lower_value(low, 2)->real[i] > 0) {
    mpq_set_d(scale, clarke_lower_value(low, 2)->real[i]);
    mpz_mul_ui(out, mpq_numref(scale), a->in);
    mpz_fdiv_q(out, out, mpq_denref(scale));
    given = mpz_cmp_ui(out, CLARKE_MAX_ENTRIES) > 0 ? 0 : mpz_get_ui(out);
  }
  a->out = given;
  if (given == 0 || (batch && mpq_cmp_ui(scale, 1, 1) != 0))
    status = clarke_lower_fail(low, err, "axis %zu: a scale or size that %s", i,
                               batch ? "changes the number of samples" : "leaves no entries, or too many");
  if (status == CLARKE_OK)
    status = fill(a, low, scale, err);
  mpq_clear(scale);
  mpz_clear(out);
  return status;
}

static clarke_status
read_axes(resizing *r, clarke_lowering *low, clarke_error *err)
{
  const bool sizes = clarke_lower_has(low, 3), scales = clarke_lower_has(low, 2) && clarke_lower_value(low, 2)->count > 0;
  size_t dims[CLARKE_MAX_WHOLE];
  clarke_status status = CLARKE_OK;

  r->lead = clarke_axes_lead(low, 0);
  r->rank = clarke_axes_whole(low, 0, dims);
  if (sizes == scales)
    return clarke_lower_fail(low, err, "expected scales or sizes, and not both");
  if (scales)
    status = clarke_lower_constant(low, 2, err);
  if (status == CLARKE_OK && sizes && (!clarke_lower_value(low, 3)->constant || clarke_lower_value(low, 3)->integer == NULL))
    status = clarke_lower_fail(low, err, "sizes must be a constant of integers");
  if (status != CLARKE_OK)
    return status;
  if (clarke_lower_value(low, sizes ? 3 : 2)->count != r->rank)
    return clarke_lower_fail(low, err, "%zu scales or sizes; expected one for each of %zu axes",
                             clarke_lower_value(low, sizes ? 3 : 2)->count, r->rank);
  if (scales)
    low->graph->values[low->in[2]].bound = true;
  for (size_t i = 0; i < r->rank && status == CLARKE_OK; i++) {
    r->axis[i].in = dims[i];
    status = read_axis(r, low, i, sizes, err);
  }
  return status;
}

/* The entry of the input that entry f of the output is. */
static size_t
entry(const resizing *r, size_t f)
{
  size_t from = 0, step = 1;

  for (size_t a = r->rank; a-- > 0; f /= r->axis[a].out) {
    from += r->axis[a].entry[f % r->axis[a].out] * step;
    step *= r->axis[a].in;
  }
  return from;
}

static clarke_status
add_gather(const resizing *r, clarke_lowering *low, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], count, *map;
  clarke_step *s;

  for (size_t a = 0; a < r->rank; a++)
    dims[a] = r->axis[a].out;
  s = clarke_lower_step(low, CLARKE_GATHER, 1, r->rank - r->lead, dims + r->lead, err);
  count = s != NULL ? low->graph->values[s->out].count : 0;
  map = s != NULL ? clarke_lower_map(low, s, 0, count, err) : NULL;
  if (map == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  for (size_t f = 0; f < count; f++)
    map[f] = entry(r, f);
  return clarke_lower_done(low, s->out, err);
}

static clarke_status
lower_resize(clarke_lowering *low, clarke_error *err)
{
  resizing r = {.rank = 0};
  clarke_status status = clarke_lower_activation(low, 0, err);

  if (status == CLARKE_OK)
    status = check_modes(low, err);
  if (status == CLARKE_OK)
    status = read_axes(&r, low, err);
  if (status == CLARKE_OK)
    status = add_gather(&r, low, err);
  for (size_t a = 0; a < r.rank; a++)
    free(r.axis[a].entry);
  return status;
}

#define RESIZE_ATTRIBUTES \
  "coordinate_transformation_mode:s cubic_coeff_a:f exclude_outside:i extrapolation_value:f mode:s nearest_mode:s"

const clarke_op clarke_ops_resize[] = {
  {.name = "Resize",
   .forms = {{11, 3, 4, 1, RESIZE_ATTRIBUTES}, {13, 1, 4, 1, RESIZE_ATTRIBUTES},
             {18, 1, 4, 1, "antialias:i coordinate_transformation_mode:s cubic_coeff_a:f exclude_outside:i extrapolation_value:f "
                           "keep_aspect_ratio_policy:s mode:s nearest_mode:s"}},
   .lower = lower_resize},
  {.name = NULL},
};
