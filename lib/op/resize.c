/* Resize. To the nearest entries: along each axis each place of the output is an entry of the input. Linear: it is between two;
 * each axis that changes is multiplied with a matrix of whole numbers, and divided by their common denominator. */
#include "op/axes.h"
#include "op/lower.h"

#include <stdlib.h>
#include <string.h>

/* The places along an axis: entry[j] is that of place j; or, linear, at[j] between entries, from 0 to in - 1. */
typedef struct {
  size_t in, out, *entry;
  mpq_t *at;
} axis_map;

typedef struct {
  size_t lead, rank;
  bool linear;
  size_t place[CLARKE_MAX_WHOLE]; /* of each axis its scale's or size's among those that are given; CLARKE_NONE: it stays */
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

  if (strcmp(mode, "nearest") != 0 && strcmp(mode, "linear") != 0)
    return clarke_lower_fail(low, err, "mode is '%.40s'; expected nearest or linear. Record the step instead: there upsampling is a "
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

/* The coordinates of the places, cut off at both ends. */
static clarke_status
fill_between(axis_map *a, const clarke_lowering *low, mpq_srcptr scale, clarke_error *err)
{
  a->at = malloc((a->out + 1) * sizeof *a->at);
  if (a->at == NULL)
    return clarke_lower_no_memory(low, err);
  for (size_t j = 0; j < a->out; j++) {
    mpq_init(a->at[j]);
    coordinate(a->at[j], a, j, scale, text(low, "coordinate_transformation_mode", "half_pixel"));
    if (mpq_sgn(a->at[j]) < 0)
      mpq_set_ui(a->at[j], 0, 1);
    if (mpq_cmp_ui(a->at[j], a->in - 1, 1) > 0)
      mpq_set_ui(a->at[j], a->in - 1, 1);
  }
  return CLARKE_OK;
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
  const size_t place = r->place[i];
  axis_map *a = &r->axis[i];
  const bool batch = i < r->lead;
  clarke_status status = CLARKE_OK;
  size_t given = 0;
  mpz_t out;
  mpq_t scale;

  mpz_init(out);
  mpq_init(scale);
  if (place == CLARKE_NONE) {
    given = a->in;
    mpq_set_ui(scale, 1, 1);
  } else if (sizes) {
    const int64_t size = clarke_lower_value(low, 3)->integer[place];
    const size_t whole = batch ? low->graph->together : 1;

    given = size < 0 || size > (int64_t)CLARKE_MAX_ENTRIES ? 0 : (size_t)size / whole * (size % (int64_t)whole == 0);
    mpq_set_ui(scale, given, a->in);
    mpq_canonicalize(scale);
  } else if (clarke_lower_value(low, 2)->real[place] > 0) {
    mpq_set_d(scale, clarke_lower_value(low, 2)->real[place]);
    mpz_mul_ui(out, mpq_numref(scale), a->in);
    mpz_fdiv_q(out, out, mpq_denref(scale));
    given = mpz_cmp_ui(out, CLARKE_MAX_ENTRIES) > 0 ? 0 : mpz_get_ui(out);
  }
  a->out = given;
  if (given == 0 || (batch && mpq_cmp_ui(scale, 1, 1) != 0))
    status = clarke_lower_fail(low, err, "axis %zu: a scale or size that %s", i,
                               batch ? "changes the number of samples" : "leaves no entries, or too many");
  else if (!clarke_lower_affordable(low->graph, r->linear ? given * a->in : given))
    status = clarke_lower_too_large(low, err);
  if (status == CLARKE_OK)
    status = (r->linear ? fill_between : fill)(a, low, scale, err);
  mpq_clear(scale);
  mpz_clear(out);
  return status;
}

/* Which of the n scales or sizes is each axis's: its own number, or where the attribute `axes` lists it. Others stay as they are. */
static clarke_status
place_axes(resizing *r, size_t *n, const clarke_lowering *low, clarke_error *err)
{
  const clarke_attr *axes = clarke_model_attr(low->node, "axes");
  bool chosen[CLARKE_MAX_WHOLE];
  clarke_status status = axes != NULL ? clarke_axes_chosen(low, axes->ints, axes->n, r->rank, chosen, err) : CLARKE_OK;

  *n = axes != NULL ? axes->n : r->rank;
  for (size_t i = 0; i < r->rank; i++)
    r->place[i] = axes != NULL ? CLARKE_NONE : i;
  for (size_t k = 0; axes != NULL && status == CLARKE_OK && k < axes->n; k++)
    r->place[axes->ints[k] < 0 ? axes->ints[k] + (int64_t)r->rank : axes->ints[k]] = k;
  return status;
}

static clarke_status
read_axes(resizing *r, clarke_lowering *low, clarke_error *err)
{
  const bool sizes = clarke_lower_has(low, 3), scales = clarke_lower_has(low, 2) && clarke_lower_value(low, 2)->count > 0;
  size_t dims[CLARKE_MAX_WHOLE], n;
  clarke_status status;

  r->lead = clarke_axes_lead(low, 0);
  r->rank = clarke_axes_whole(low, 0, dims);
  if (sizes == scales)
    return clarke_lower_fail(low, err, "expected scales or sizes, and not both");
  status = place_axes(r, &n, low, err);
  if (status == CLARKE_OK && scales)
    status = clarke_lower_constant(low, 2, err);
  if (status == CLARKE_OK && sizes && (!clarke_lower_value(low, 3)->constant || clarke_lower_value(low, 3)->integer == NULL))
    status = clarke_lower_fail(low, err, "sizes must be a constant of integers");
  if (status != CLARKE_OK)
    return status;
  if (clarke_lower_value(low, sizes ? 3 : 2)->count != n)
    return clarke_lower_fail(low, err, "%zu scales or sizes; expected one for each of %zu axes",
                             clarke_lower_value(low, sizes ? 3 : 2)->count, n);
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

/* Does every place of the axis lie on the entry of its own number? */
static bool
is_kept(const axis_map *a)
{
  bool kept = a->in == a->out;

  for (size_t j = 0; j < a->out && kept; j++)
    kept = mpq_cmp_ui(a->at[j], j, 1) == 0;
  return kept;
}

/* The matrix (out x in) whose row j has the shares of the entries that place j lies between, times their common denominator, which
 * becomes the second constant. */
static clarke_status
make_shares(const axis_map *a, clarke_lowering *low, size_t *weight, size_t *divisor, clarke_error *err)
{
  const size_t dims[2] = {a->out, a->in}, one = 1;
  clarke_status status = clarke_lower_made(low, 2, dims, weight, err);
  mpz_t common, below, part;
  double *w;

  if (status == CLARKE_OK)
    status = clarke_lower_made(low, 1, &one, divisor, err);
  if (status != CLARKE_OK)
    return status;
  mpz_inits(common, below, part, NULL);
  mpz_set_ui(common, 1);
  for (size_t j = 0; j < a->out; j++)
    mpz_lcm(common, common, mpq_denref(a->at[j]));
  w = low->graph->values[*weight].real;
  for (size_t j = 0; j < a->out; j++) {
    mpz_fdiv_qr(below, part, mpq_numref(a->at[j]), mpq_denref(a->at[j]));
    const size_t entry = mpz_get_ui(below);

    mpz_mul(part, part, common);
    mpz_divexact(part, part, mpq_denref(a->at[j]));
    if (mpz_sgn(part) != 0)
      w[j * a->in + entry + 1] = mpz_get_d(part);
    mpz_sub(part, common, part);
    w[j * a->in + entry] = mpz_get_d(part);
  }
  low->graph->values[*divisor].real[0] = mpz_get_d(common);
  if (mpz_sizeinbase(common, 2) > 53)
    status = clarke_lower_fail(low, err, "the places of an axis have a common denominator of over 53 bits: give sizes, not scales, or "
                                         "a scale that is a fraction of small numbers");
  mpz_clears(common, below, part, NULL);
  return status;
}

/* *value, of the shape that r's axes before `a` have as the output and the others as the input, becomes it with axis a as the
 * output has it. */
static clarke_status
stretch_axis(const resizing *r, size_t a, clarke_lowering *low, size_t *dims, size_t *value, clarke_error *err)
{
  clarke_dense shape = {.blocks = 1, .inner = r->axis[a].in, .outer = r->axis[a].out, .repeat = 1};
  size_t divisor;
  clarke_step *s;
  clarke_status status = make_shares(&r->axis[a], low, &shape.weight, &divisor, err);

  if (status != CLARKE_OK)
    return status;
  for (size_t i = 0; i < r->rank; i++)
    if (i != a)
      *(i < a ? &shape.blocks : &shape.repeat) *= dims[i];
  dims[a] = r->axis[a].out;
  s = clarke_lower_step(low, CLARKE_DENSE, 1, r->rank - r->lead, dims + r->lead, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  s->in[0].value = *value;
  s->dense = shape;
  s = clarke_lower_step_like(low, CLARKE_SCALE, 2, s->out, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  s->in[1].value = divisor;
  s->divide = true;
  *value = s->out;
  return clarke_lower_periodic(low, s, 1, 1, 1, err);
}

static clarke_status
add_shares(const resizing *r, clarke_lowering *low, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE], value = low->in[0];
  clarke_status status = CLARKE_OK;

  for (size_t a = 0; a < r->rank; a++)
    dims[a] = r->axis[a].in;
  for (size_t a = r->lead; a < r->rank && status == CLARKE_OK; a++)
    if (!is_kept(&r->axis[a]))
      status = stretch_axis(r, a, low, dims, &value, err);
  if (status != CLARKE_OK)
    return status;
  return value == low->in[0] ? clarke_lower_rearranged(low, r->rank - r->lead, dims + r->lead, NULL, err)
                             : clarke_lower_done(low, value, err);
}

static void
clear_axes(resizing *r)
{
  for (size_t a = 0; a < r->rank; a++) {
    for (size_t j = 0; r->axis[a].at != NULL && j < r->axis[a].out; j++)
      mpq_clear(r->axis[a].at[j]);
    free(r->axis[a].at);
    free(r->axis[a].entry);
  }
}

static clarke_status
lower_resize(clarke_lowering *low, clarke_error *err)
{
  resizing r = {.rank = 0};
  clarke_status status = clarke_lower_first(low, err);

  if (status == CLARKE_OK)
    status = check_modes(low, err);
  r.linear = strcmp(text(low, "mode", "nearest"), "linear") == 0;
  if (status == CLARKE_OK)
    status = read_axes(&r, low, err);
  if (status == CLARKE_OK)
    status = (r.linear ? add_shares : add_gather)(&r, low, err);
  clear_axes(&r);
  return status;
}

#define RESIZE_ATTRIBUTES \
  "coordinate_transformation_mode:s cubic_coeff_a:f exclude_outside:b extrapolation_value:f mode:s nearest_mode:s"

const clarke_op clarke_ops_resize[] = {
  {.name = "Resize",
   .forms = {{11, 3, 4, 1, RESIZE_ATTRIBUTES}, {13, 1, 4, 1, RESIZE_ATTRIBUTES},
             {18, 1, 4, 1, "antialias:b axes:I coordinate_transformation_mode:s cubic_coeff_a:f exclude_outside:b extrapolation_value:f "
                           "keep_aspect_ratio_policy:s mode:s nearest_mode:s"}},
   .lower = lower_resize},
  {.name = NULL},
};
