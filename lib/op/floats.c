#include "op/floats.h"
#include "op/axes.h"
#include "op/integers.h"
#include "exact/float8.h"
#include "op/lower.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FLOATS ((size_t)65536)
#define NOT_NORMAL "entry %zu is no number, or too large or too small for a normal one of its type"

bool
clarke_floats_are(clarke_dtype dtype)
{
  return dtype == CLARKE_F32 || dtype == CLARKE_F16 || dtype == CLARKE_F64 || dtype == CLARKE_BF16;
}

/* Binary digits of a number; the least exponent of a normal one, as frexp counts it, and the largest. */
static void
format_of(clarke_dtype dtype, int *digits, int *least, int *most)
{
  *digits = dtype == CLARKE_F16 ? 11 : dtype == CLARKE_BF16 ? 8 : dtype == CLARKE_F32 ? FLT_MANT_DIG : DBL_MANT_DIG;
  *least = dtype == CLARKE_F16 ? -13 : dtype == CLARKE_F64 ? DBL_MIN_EXP : FLT_MIN_EXP;
  *most = dtype == CLARKE_F16 ? 16 : dtype == CLARKE_F64 ? DBL_MAX_EXP : FLT_MAX_EXP;
}

double
clarke_floats_nearest(double x, clarke_dtype dtype)
{
  int digits, least, most, exponent;

  format_of(dtype, &digits, &least, &most);
  if (x == 0 || !isfinite(x) || digits == DBL_MANT_DIG)
    return x;
  frexp(x, &exponent);
  exponent = exponent < least ? least : exponent;
  x = ldexp(rint(ldexp(x, digits - exponent)), exponent - digits);
  return fabs(x) < ldexp(1, most) ? x : copysign(INFINITY, x);
}

bool
clarke_floats_whole(double x, clarke_dtype dtype)
{
  int digits, least, most;

  format_of(dtype, &digits, &least, &most);
  return x == rint(x) && fabs(x) <= ldexp(1, digits < FLT_MANT_DIG ? digits : FLT_MANT_DIG);
}

/* Is it 0, or a normal number of the type? */
static bool
is_normal(double y, clarke_dtype dtype)
{
  int digits, least, most;

  format_of(dtype, &digits, &least, &most);
  return y == 0 || (isfinite(y) && fabs(y) >= ldexp(1, least - 1));
}

static bool
is_number(const clarke_value *v)
{
  return v->constant && v->real != NULL && clarke_floats_are(v->dtype) && !v->initializer && v->parameter == CLARKE_NONE
         && !v->negated;
}

static bool
are_numbers(const clarke_lowering *low, size_t first)
{
  bool all = low->n_in > first;

  for (size_t i = first; i < low->n_in; i++)
    all = all && clarke_lower_has(low, i) && is_number(clarke_lower_value(low, i))
          && clarke_lower_value(low, i)->dtype == clarke_lower_value(low, first)->dtype;
  return all;
}

bool
clarke_lower_is_floats(const clarke_lowering *low, size_t i)
{
  return clarke_lower_has(low, i) && is_number(clarke_lower_value(low, i));
}

bool
clarke_lower_of_floats(const clarke_lowering *low)
{
  return are_numbers(low, 0);
}

bool
clarke_lower_chooses_floats(const clarke_lowering *low)
{
  return clarke_lower_of_truths(low, 0) && are_numbers(low, 1);
}

static bool
is_castable(const clarke_lowering *low)
{
  const clarke_value *v = clarke_lower_has(low, 0) ? clarke_lower_value(low, 0) : NULL;

  return v != NULL && v->integer != NULL && (v->dtype == CLARKE_I64 || v->dtype == CLARKE_I32 || v->dtype == CLARKE_BOOL);
}

/* Is it a constant of floats of 8 bits that is no parameter? */
static bool
is_float8(const clarke_lowering *low)
{
  const clarke_value *v = clarke_lower_has(low, 0) ? clarke_lower_value(low, 0) : NULL;

  return v != NULL && v->constant && v->real != NULL && clarke_float8_is(v->dtype) && !v->initializer && v->parameter == CLARKE_NONE && !v->negated;
}

/* A product or quotient; NaN where it is none of a double's: too small. */
static double
unless_lost(double y, double x)
{
  return y == 0 && x != 0 ? NAN : y;
}

/* x to the power 1, 2, 1/2 or -1/2; NaN where two roundings of doubles leave open which number of the type is nearest. */
static double
power(double x, double exponent, clarke_dtype dtype)
{
  const double y = exponent < 0 ? 1 / sqrt(x) : sqrt(x), apart = 4 * DBL_EPSILON;

  if (exponent >= 1)
    return exponent > 1 ? unless_lost(x * x, x) : x;
  return fabs(exponent) == 0.5 && clarke_floats_nearest(y - y * apart, dtype) == clarke_floats_nearest(y + y * apart, dtype) ? y
                                                                                                                             : NAN;
}

/* What the node makes of one to three entries. A double is the type itself, or holds the exact operands of a node and more than twice their digits, so
 * that to round first to it changes nothing (Figueroa, 1995). */
static double
compute(const char *op, const clarke_value *const *v, const size_t *e)
{
  switch (op[0]) {
  case 'A':
    return v[0]->real[e[0]] + v[1]->real[e[1]];
  case 'D':
    return unless_lost(v[0]->real[e[0]] / v[1]->real[e[1]], v[0]->real[e[0]]);
  case 'M':
    return unless_lost(v[0]->real[e[0]] * v[1]->real[e[1]], v[1]->real[e[1]] != 0 ? v[0]->real[e[0]] : 0);
  case 'P':
    return power(v[0]->real[e[0]], v[1]->real[e[1]], v[0]->dtype);
  case 'S':
    return op[1] == 'q' ? sqrt(v[0]->real[e[0]]) : v[0]->real[e[0]] - v[1]->real[e[1]];
  default: /* Where */
    return v[0]->integer[e[0]] != 0 ? v[1]->real[e[1]] : v[2]->real[e[2]];
  }
}

/* Is it the sum with a minus infinity, of a mask? */
static bool
adds_infinity(const char *op, const clarke_value *const *v, const size_t *e, double sum)
{
  return strcmp(op, "Add") == 0 && sum == -INFINITY && (v[0]->real[e[0]] == sum || v[1]->real[e[1]] == sum);
}

bool
clarke_lower_is_power(const clarke_lowering *low)
{
  const clarke_value *e = low->n_in == 2 && clarke_lower_of_floats(low) ? clarke_lower_value(low, 1) : NULL;
  bool known = e != NULL;

  for (size_t i = 0; known && i < e->count; i++)
    known = fabs(e->real[i]) == 0.5 || (e->count == 1 && (e->real[0] == 1 || e->real[0] == 2));
  return known;
}

/* A constant of zeros for the caller to fill, the node's output; NULL. */
static clarke_value *
new_floats(clarke_lowering *low, clarke_dtype dtype, size_t rank, const size_t *dims, clarke_error *err)
{
  size_t value;
  clarke_value *v;

  if (clarke_lower_made(low, rank, dims, &value, err) != CLARKE_OK)
    return NULL;
  v = &low->graph->values[value];
  if (v->count == 0 || v->count > MOST_FLOATS || !clarke_lower_affordable(low->graph, v->count)) {
    clarke_lower_fail(low, err, "1 to %zu floats are computed", MOST_FLOATS);
    return NULL;
  }
  low->graph->activations += v->count;
  v->dtype = dtype;
  return clarke_lower_done(low, value, err) == CLARKE_OK ? &low->graph->values[value] : NULL;
}

clarke_status
clarke_lower_floats_computed(clarke_lowering *low, clarke_error *err)
{
  const char *op = low->node->op_type;
  const bool chosen = op[0] == 'W';
  const clarke_value *v[3] = {NULL}, *out;
  size_t rank, dims[CLARKE_MAX_RANK], e[3] = {0};

  if (!clarke_lower_of_floats(low) && !(chosen && clarke_lower_chooses_floats(low)))
    return clarke_lower_fail(low, err, "only constants of floats of one type that are no parameters are computed");
  if (!clarke_lower_constants_shape(low, &rank, dims))
    return clarke_lower_fail(low, err, "the shapes do not broadcast");
  out = new_floats(low, clarke_lower_value(low, low->n_in - 1)->dtype, rank, dims, err);
  if (out == NULL)
    return err != NULL ? err->code : CLARKE_EINPUT;
  for (size_t i = 0; i < low->n_in; i++)
    v[i] = clarke_lower_value(low, i);
  for (size_t f = 0; f < out->count; f++) {
    double exact;

    for (size_t i = 0; i < low->n_in; i++)
      e[i] = clarke_lower_constants_entry(v[i], rank, dims, f);
    exact = compute(op, v, e);
    out->real[f] = clarke_floats_nearest(exact, out->dtype);
    if (!isfinite(exact) && (chosen || adds_infinity(op, v, e, exact)))
      low->graph->values[low->graph->n_values - 1].odd = true;
    else if (!is_normal(out->real[f], out->dtype) || (out->real[f] == 0 && exact != 0))
      return clarke_lower_fail(low, err, NOT_NORMAL, f);
  }
  return CLARKE_OK;
}

/* A double may be another number than an integer beyond 2^53: float32 and float64 are made of such integers directly. */
#define MOST_EXACT ((int64_t)1 << 53)

static double
of_integer(int64_t i, clarke_dtype dtype)
{
  if (dtype == CLARKE_F32)
    return (double)(float)i;
  return dtype == CLARKE_F64 || (i <= MOST_EXACT && i >= -MOST_EXACT) ? (double)i : NAN;
}

/* To half precision runtimes cast by way of float32: is that number another one than what is nearest? */
static bool
is_rounded_twice(double exact, double nearest, clarke_dtype dtype)
{
  return (dtype == CLARKE_F16 || dtype == CLARKE_BF16) && isfinite(nearest)
         && clarke_floats_nearest(clarke_floats_nearest(exact, CLARKE_F32), dtype) != nearest;
}

/* The nearest number of a type of 8 bits, also by way of float32; NaN where there is none. */
static double
cast_float8(const clarke_lowering *low, double exact, clarke_dtype dtype)
{
  const double y = clarke_float8_nearest(dtype, exact), back = clarke_float8_nearest(dtype, clarke_floats_nearest(exact, CLARKE_F32));
  const bool cut_off = clarke_lower_int(low, "saturate", 1) == 0 && fabs(exact) > clarke_float8_nearest(dtype, FLT_MAX);

  return isfinite(exact) && y == back && !cut_off ? y : NAN;
}

clarke_status
clarke_lower_floats_cast(clarke_lowering *low, clarke_dtype dtype, clarke_error *err)
{
  size_t rank, dims[CLARKE_MAX_RANK];
  const clarke_value *x, *out;

  if (!clarke_lower_of_floats(low) && !is_castable(low) && !is_float8(low))
    return clarke_lower_fail(low, err, "only constants of INT64, INT32 and truth values, and floats that are no parameters, become "
                                       "floats. Export with torch.onnx.export(dynamo=True), which folds other constants; or record "
                                       "the training step (clarke.record)");
  rank = clarke_lower_value(low, 0)->rank;
  memcpy(dims, clarke_lower_value(low, 0)->dims, rank * sizeof *dims);
  out = new_floats(low, dtype, rank, dims, err);
  if (out == NULL)
    return err != NULL ? err->code : CLARKE_EINPUT;
  x = clarke_lower_value(low, 0);
  for (size_t f = 0; f < out->count; f++) {
    const double exact = x->integer != NULL ? of_integer(x->integer[f], dtype) : x->real[f];
    const bool odd = x->integer == NULL && !isfinite(exact);

    if (clarke_float8_is(dtype)) {
      out->real[f] = cast_float8(low, exact, dtype);
      if (isnan(out->real[f]))
        return clarke_lower_fail(low, err, "entry %zu becomes no number of 8 bits, or another one by way of float32", f);
      continue;
    }
    out->real[f] = clarke_floats_nearest(exact, dtype);
    if (is_rounded_twice(exact, out->real[f], dtype))
      return clarke_lower_fail(low, err, "entry %zu: by way of float32, as runtimes cast, it is another number than the nearest", f);
    if (odd)
      low->graph->values[low->graph->n_values - 1].odd = true;
    else if (!is_normal(out->real[f], dtype) || (out->real[f] == 0 && exact != 0))
      return clarke_lower_fail(low, err, NOT_NORMAL, f);
  }
  return CLARKE_OK;
}

clarke_status
clarke_lower_computed(clarke_lowering *low, bool *computed, clarke_error *err)
{
  const bool whole = clarke_lower_computes_integers(low);

  *computed = whole || (low->node->op_type[0] == 'W' ? clarke_lower_chooses_floats(low) : clarke_lower_of_floats(low));
  if (!*computed)
    return CLARKE_OK;
  return whole ? clarke_lower_integers_computed(low, err) : clarke_lower_floats_computed(low, err);
}

clarke_status
clarke_lower_floats_filled(clarke_lowering *low, clarke_dtype dtype, size_t rank, const size_t *dims, double value,
                           clarke_error *err)
{
  clarke_value *out = new_floats(low, dtype, rank, dims, err);

  if (out == NULL)
    return err != NULL ? err->code : CLARKE_EINPUT;
  for (size_t f = 0; f < out->count; f++)
    out->real[f] = value;
  out->odd = !isfinite(value);
  return CLARKE_OK;
}

/* The shape of constants that are joined along the node's axis. */
static clarke_status
joined_shape(const clarke_lowering *low, size_t *dims, size_t *axis, clarke_error *err)
{
  const clarke_attr *attr = clarke_model_attr(low->node, "axis");
  const clarke_value *first = clarke_lower_value(low, 0);
  clarke_status status = attr != NULL ? clarke_axes_resolve(low, attr->i, first->rank, axis, err)
                                      : clarke_lower_fail(low, err, "axis is missing");

  memcpy(dims, first->dims, first->rank * sizeof *dims);
  for (size_t i = 1; i < low->n_in && status == CLARKE_OK; i++) {
    const clarke_value *v = clarke_lower_value(low, i);
    bool fits = v->rank == first->rank;

    for (size_t a = 0; a < first->rank && fits; a++)
      fits = a == *axis || v->dims[a] == first->dims[a];
    if (!fits)
      return clarke_lower_fail(low, err, "constant %zu has other axes than the first, but for axis %zu along which they are joined", i,
                               *axis);
    dims[*axis] += v->dims[*axis];
  }
  return status;
}

clarke_status
clarke_lower_floats_joined(clarke_lowering *low, clarke_error *err)
{
  const size_t rank = clarke_lower_value(low, 0)->rank;
  size_t dims[CLARKE_MAX_RANK], axis = 0, behind = 1, before = 0;
  clarke_value *out;
  clarke_status status = joined_shape(low, dims, &axis, err);

  if (status != CLARKE_OK)
    return status;
  out = new_floats(low, clarke_lower_value(low, 0)->dtype, rank, dims, err);
  if (out == NULL)
    return err != NULL ? err->code : CLARKE_EINPUT;
  for (size_t a = axis + 1; a < rank; a++)
    behind *= dims[a];
  for (size_t i = 0; i < low->n_in; i++) {
    const clarke_value *v = clarke_lower_value(low, i);
    const size_t block = v->dims[axis] * behind;

    for (size_t k = 0; k < v->count; k++)
      out->real[k / block * dims[axis] * behind + before + k % block] = v->real[k];
    before += block;
  }
  return CLARKE_OK;
}

clarke_status
clarke_lower_floats_running(clarke_lowering *low, size_t axis, clarke_error *err)
{
  const size_t rank = clarke_lower_value(low, 0)->rank;
  size_t dims[CLARKE_MAX_RANK], stride = 1;
  const clarke_value *x;
  clarke_value *out;
  int digits, least, most;

  memcpy(dims, clarke_lower_value(low, 0)->dims, rank * sizeof *dims);
  for (size_t a = axis + 1; a < rank; a++)
    stride *= dims[a];
  if (!is_number(clarke_lower_value(low, 0)))
    return clarke_lower_fail(low, err, "only constants of integers, or of floats that are no parameters, are summed so");
  format_of(clarke_lower_value(low, 0)->dtype, &digits, &least, &most);
  out = new_floats(low, clarke_lower_value(low, 0)->dtype, rank, dims, err);
  if (out == NULL)
    return err != NULL ? err->code : CLARKE_EINPUT;
  x = clarke_lower_value(low, 0);
  for (size_t f = 0; f < out->count; f++) {
    out->real[f] = x->real[f] + (f / stride % dims[axis] > 0 ? out->real[f - stride] : 0);
    if (!(out->real[f] == rint(out->real[f]) && fabs(out->real[f]) <= ldexp(1, digits)))
      return clarke_lower_fail(low, err, "entry %zu: the sum is no whole number up to 2^%d, and would depend on the order", f, digits);
  }
  return CLARKE_OK;
}

clarke_status
clarke_lower_floats_moved(clarke_lowering *low, size_t rank, const size_t *dims, size_t *map, double value, clarke_error *err)
{
  clarke_value *out = new_floats(low, clarke_lower_value(low, 0)->dtype, rank, dims, err);
  const clarke_value *x = clarke_lower_value(low, 0);

  for (size_t f = 0; out != NULL && f < out->count; f++) {
    out->real[f] = map[f] != CLARKE_NONE ? x->real[map[f]] : value;
    out->odd = out->odd || !isfinite(out->real[f]);
  }
  free(map);
  return out != NULL ? CLARKE_OK : err != NULL ? err->code : CLARKE_EINPUT;
}

/* Which entry of what is reduced entry f of the input goes to, the axes over which it is being marked. */
static size_t
reduced_entry(const clarke_value *x, const bool *over, size_t f)
{
  size_t entry = 0, stride = 1;

  for (size_t a = x->rank; a-- > 0; f /= x->dims[a])
    if (!over[a]) {
      entry += f % x->dims[a] * stride;
      stride *= x->dims[a];
    }
  return entry;
}

static clarke_status
take_extremes(clarke_lowering *low, const bool *over, bool least, size_t rank, const size_t *dims, clarke_error *err)
{
  clarke_value *out = new_floats(low, clarke_lower_value(low, 0)->dtype, rank, dims, err);
  const clarke_value *x;

  if (out == NULL)
    return err != NULL ? err->code : CLARKE_EINPUT;
  x = clarke_lower_value(low, 0);
  for (size_t f = 0; f < out->count; f++)
    out->real[f] = least ? INFINITY : -INFINITY;
  for (size_t f = 0; f < x->count; f++) {
    double *y = &out->real[reduced_entry(x, over, f)];

    if (isnan(x->real[f]))
      return clarke_lower_fail(low, err, "entry %zu is NaN", f);
    if (least ? x->real[f] < *y : x->real[f] > *y)
      *y = x->real[f];
  }
  for (size_t f = 0; f < out->count; f++)
    out->odd = out->odd || !isfinite(out->real[f]);
  return CLARKE_OK;
}

clarke_status
clarke_lower_floats_extreme(clarke_lowering *low, bool least, bool *computed, clarke_error *err)
{
  const clarke_value *x = clarke_lower_has(low, 0) ? clarke_lower_value(low, 0) : NULL;
  const bool keep = clarke_lower_int(low, "keepdims", 1) != 0;
  size_t dims[CLARKE_MAX_RANK], rank = 0, n;
  bool over[CLARKE_MAX_RANK], given;
  const int64_t *list;
  clarke_status status;

  *computed = x != NULL && is_number(x) && x->count > 0;
  if (!*computed)
    return CLARKE_OK;
  status = clarke_axes_list(low, "axes", 1, &list, &n, &given, err);
  if (status == CLARKE_OK)
    status = clarke_axes_chosen(low, list, n, x->rank, over, err);
  if (status != CLARKE_OK)
    return status;
  for (size_t a = 0; a < x->rank; a++) {
    over[a] = over[a] || (n == 0 && clarke_lower_int(low, "noop_with_empty_axes", 0) == 0);
    if (keep || !over[a])
      dims[rank++] = over[a] ? 1 : x->dims[a];
  }
  return take_extremes(low, over, least, rank, dims, err);
}
