/* Cast, CumSum, comparisons, logic, Mod; and what Add, Sub, Mul, Div, Max, Min, Concat, Where are of integers: constants, computed when
 * the network is built. */
#include "op/integers.h"
#include "op/along.h"
#include "op/axes.h"
#include "op/decided.h"
#include "op/floats.h"
#include "op/identity.h"
#include "op/jump.h"
#include "op/lower.h"
#include "op/stated.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_INTEGERS ((size_t)65536)

/* Is input i integers or truth values that are known: a constant's, or those of the input of a single run? */
static bool
is_whole(const clarke_lowering *low, size_t i)
{
  const clarke_value *v = clarke_lower_has(low, i) ? clarke_lower_value(low, i) : NULL;

  return v != NULL && v->integer != NULL && (v->dtype == CLARKE_I64 || v->dtype == CLARKE_I32 || v->dtype == CLARKE_BOOL);
}

/* Are inputs from `first` on such, and of one type? */
static bool
are_alike(const clarke_lowering *low, size_t first)
{
  bool all = low->n_in > first;

  for (size_t i = first; i < low->n_in && all; i++)
    all = is_whole(low, i) && clarke_lower_value(low, i)->dtype == clarke_lower_value(low, first)->dtype;
  return all;
}

bool
clarke_lower_of_integers(const clarke_lowering *low)
{
  return are_alike(low, 0) && clarke_lower_value(low, 0)->dtype != CLARKE_BOOL;
}

bool
clarke_lower_of_truths(const clarke_lowering *low, size_t i)
{
  return is_whole(low, i) && clarke_lower_value(low, i)->dtype == CLARKE_BOOL;
}

bool
clarke_lower_chooses_integers(const clarke_lowering *low)
{
  return clarke_lower_of_truths(low, 0) && are_alike(low, 1);
}

/* Is an input an activation whose numbers are not known, or a constant of floats? */
static bool
any_moves(const clarke_lowering *low)
{
  bool some = false;

  for (size_t i = 0; i < low->n_in; i++)
    some = some || (clarke_lower_has(low, i) && clarke_lower_value(low, i)->integer == NULL);
  return some;
}

static clarke_status
refuse_inputs(const clarke_lowering *low, const char *kind, clarke_error *err)
{
  return clarke_lower_fail(low, err, "the inputs are no constants of %s, all of one type: only shapes, places and masks are computed "
                                     "so", kind);
}

int64_t *
clarke_lower_integers_made(clarke_lowering *low, clarke_dtype dtype, size_t rank, const size_t *dims, clarke_error *err)
{
  size_t value, count = 1;
  clarke_value *v;

  for (size_t a = 0; a < rank; a++)
    if (__builtin_mul_overflow(count, dims[a], &count))
      count = SIZE_MAX;
  if (rank > CLARKE_MAX_RANK || count == 0 || count > MOST_INTEGERS) {
    clarke_lower_fail(low, err, "1 to %zu integers on at most %d axes are computed", MOST_INTEGERS, CLARKE_MAX_RANK);
    return NULL;
  }
  if (!clarke_lower_affordable(low->graph, count)) {
    clarke_lower_too_large(low, err);
    return NULL;
  }
  low->graph->activations += count;
  if (clarke_lower_made(low, rank, dims, &value, err) != CLARKE_OK || clarke_lower_done(low, value, err) != CLARKE_OK)
    return NULL;
  v = &low->graph->values[value];
  free(v->real);
  v->real = NULL;
  v->dtype = dtype;
  v->integer = calloc(count, sizeof *v->integer);
  if (v->integer == NULL)
    clarke_lower_no_memory(low, err);
  return v->integer;
}

static clarke_status
failed(const clarke_error *err)
{
  return err != NULL ? err->code : CLARKE_EINPUT;
}

/* The operators of integers and truth values: what an entry becomes; false where that is no 64-bit integer. Negative numbers
 * are not divided: frameworks round them differently. */
typedef bool rule(const int64_t *v, int64_t *to);

#define RULE(name, expression) \
  static bool \
  name(const int64_t *v, int64_t *to) \
  { \
    *to = (expression); \
    return true; \
  }
RULE(equal, v[0] == v[1])
RULE(less, v[0] < v[1])
RULE(less_or_equal, v[0] <= v[1])
RULE(greater, v[0] > v[1])
RULE(greater_or_equal, v[0] >= v[1])
RULE(both, v[0] != 0 && v[1] != 0)
RULE(either, v[0] != 0 || v[1] != 0)
RULE(not, v[0] == 0)
RULE(larger, v[0] > v[1] ? v[0] : v[1])
RULE(smaller, v[0] < v[1] ? v[0] : v[1])
RULE(chosen, v[0] != 0 ? v[1] : v[2])
#undef RULE

static bool
sum(const int64_t *v, int64_t *to)
{
  return !__builtin_add_overflow(v[0], v[1], to);
}

static bool
difference(const int64_t *v, int64_t *to)
{
  return !__builtin_sub_overflow(v[0], v[1], to);
}

static bool
product(const int64_t *v, int64_t *to)
{
  return !__builtin_mul_overflow(v[0], v[1], to);
}

static bool
negative(const int64_t *v, int64_t *to)
{
  return !__builtin_sub_overflow(0, v[0], to);
}

static bool
quotient(const int64_t *v, int64_t *to)
{
  const bool divisible = v[0] >= 0 && v[1] > 0;

  *to = divisible ? v[0] / v[1] : 0;
  return divisible;
}

static bool
rest(const int64_t *v, int64_t *to)
{
  const bool divisible = v[0] >= 0 && v[1] > 0;

  *to = divisible ? v[0] % v[1] : 0;
  return divisible;
}

/* takes: of integers (I), truth values (T), either (A), or as Where (W); gives: what it takes, or truth values. */
static const struct {
  const char *op;
  rule *rule;
  char takes;
  bool truths;
} rules[] = {
  {"Add", sum, 'I', false}, {"Sub", difference, 'I', false}, {"Mul", product, 'I', false}, {"Div", quotient, 'I', false},
  {"Neg", negative, 'I', false},
  {"Mod", rest, 'I', false}, {"Max", larger, 'I', false}, {"Min", smaller, 'I', false}, {"Equal", equal, 'A', true}, {"Less", less, 'I', true}, {"LessOrEqual", less_or_equal, 'I', true},
  {"Greater", greater, 'I', true}, {"GreaterOrEqual", greater_or_equal, 'I', true}, {"And", both, 'T', true},
  {"Or", either, 'T', true}, {"Not", not, 'T', true}, {"Where", chosen, 'W', false},
};

#define N_RULES (sizeof rules / sizeof *rules)

/* Which of them the node's operator is; N_RULES: none. */
static size_t
find_rule(const clarke_lowering *low)
{
  size_t i = 0;

  while (i < N_RULES && strcmp(rules[i].op, low->node->op_type) != 0)
    i++;
  return i;
}

bool
clarke_lower_computes_integers(const clarke_lowering *low)
{
  const size_t r = find_rule(low);
  const char takes = r < N_RULES ? rules[r].takes : '\0';

  return takes == 'W' ? clarke_lower_chooses_integers(low) : takes == 'I' && clarke_lower_of_integers(low);
}

static bool
fits(int64_t value, clarke_dtype dtype)
{
  return dtype == CLARKE_I64 || (value >= INT32_MIN && value <= INT32_MAX);
}

bool
clarke_lower_constants_shape(const clarke_lowering *low, size_t *rank, size_t *dims)
{
  *rank = 0;
  for (size_t i = 0; i < low->n_in; i++)
    *rank = clarke_lower_value(low, i)->rank > *rank ? clarke_lower_value(low, i)->rank : *rank;
  for (size_t a = 0; a < *rank; a++) {
    dims[a] = 1;
    for (size_t i = 0; i < low->n_in; i++) {
      const clarke_value *v = clarke_lower_value(low, i);
      const size_t d = a + v->rank < *rank ? 1 : v->dims[a + v->rank - *rank];

      if (d != 1 && dims[a] != 1 && d != dims[a])
        return false;
      dims[a] = d != 1 ? d : dims[a];
    }
  }
  return true;
}

size_t
clarke_lower_constants_entry(const clarke_value *v, size_t rank, const size_t *dims, size_t f)
{
  size_t entry = 0, stride = 1;

  for (size_t a = rank, b = v->rank; b > 0; f /= dims[a]) {
    a--;
    b--;
    entry += (v->dims[b] == 1 ? 0 : f % dims[a]) * stride;
    stride *= v->dims[b];
  }
  return entry;
}

/* A comparison of floats: of 0 and 1, which are in the same order. Of what a parameter may move both sides differ: then near it the
 * order is the same. */
static clarke_status
compare_floats(clarke_lowering *low, rule *holds, clarke_error *err)
{
  const bool numbers = clarke_lower_of_floats(low);
  size_t rank, dims[CLARKE_MAX_RANK], count = 1;
  clarke_status status = CLARKE_OK;
  int64_t *out;

  if (!clarke_lower_constants_shape(low, &rank, dims))
    return clarke_lower_fail(low, err, "the shapes do not broadcast");
  for (size_t i = 0; i < 2 && !numbers && status == CLARKE_OK; i++)
    status = clarke_lower_compared(low, i, err);
  if (status != CLARKE_OK)
    return status;
  out = clarke_lower_integers_made(low, CLARKE_BOOL, rank, dims, err);
  if (out == NULL)
    return failed(err);
  for (size_t a = 0; a < rank; a++)
    count *= dims[a];
  for (size_t f = 0; f < count; f++) {
    const clarke_value *x = clarke_lower_value(low, 0), *y = clarke_lower_value(low, 1);
    const double a = (numbers ? x->real : clarke_lower_known(low, 0))[clarke_lower_constants_entry(x, rank, dims, f)];
    const double b = (numbers ? y->real : clarke_lower_known(low, 1))[clarke_lower_constants_entry(y, rank, dims, f)];

    if (isnan(a) || isnan(b))
      return clarke_lower_fail(low, err, "entry %zu is NaN", f);
    if (!numbers && a == b)
      return clarke_lower_fail(low, err, "entry %zu: both sides are %.17g, and a parameter moves them: it may jump", f, a);
    holds((const int64_t[]){a > b, a < b}, &out[f]);
  }
  return CLARKE_OK;
}

clarke_status
clarke_lower_integers_computed(clarke_lowering *low, clarke_error *err)
{
  const size_t r = find_rule(low), last = low->n_in - 1;
  const char takes = rules[r].takes;
  const bool alike = takes == 'W' ? clarke_lower_chooses_integers(low) : are_alike(low, 0);
  size_t rank, dims[CLARKE_MAX_RANK], count = 1;
  clarke_dtype dtype;
  int64_t *out;

  if (rules[r].truths && takes != 'T'
      && (clarke_lower_of_floats(low) || (clarke_lower_known(low, 0) != NULL && clarke_lower_known(low, 1) != NULL)))
    return compare_floats(low, rules[r].rule, err);
  if ((rules[r].truths || takes == 'T') && any_moves(low))
    return clarke_lower_truths(low, err);
  if (!alike || (takes == 'I' && !clarke_lower_of_integers(low)) || (takes == 'T' && !clarke_lower_of_truths(low, 0)))
    return refuse_inputs(low, takes == 'T' ? "truth values" : takes == 'I' ? "integers" : "integers or truth values", err);
  if (!clarke_lower_constants_shape(low, &rank, dims))
    return clarke_lower_fail(low, err, "the shapes do not broadcast");
  dtype = rules[r].truths ? CLARKE_BOOL : clarke_lower_value(low, last)->dtype;
  out = clarke_lower_integers_made(low, dtype, rank, dims, err);
  if (out == NULL)
    return failed(err);
  for (size_t a = 0; a < rank; a++)
    count *= dims[a];
  for (size_t f = 0; f < count; f++) {
    int64_t v[3] = {0};

    for (size_t i = 0; i < low->n_in; i++)
      v[i] = clarke_lower_value(low, i)->integer[clarke_lower_constants_entry(clarke_lower_value(low, i), rank, dims, f)];
    if (!rules[r].rule(v, &out[f]) || !fits(out[f], dtype))
      return clarke_lower_fail(low, err, "entry %zu, of %lld and %lld: the result is no integer of the type, or a negative number is "
                                         "divided", f, (long long)v[0], (long long)v[1]);
  }
  return CLARKE_OK;
}

clarke_status
clarke_lower_integers_joined(clarke_lowering *low, clarke_error *err)
{
  size_t count = 0, at = 0;
  int64_t *out;

  for (size_t i = 0; i < low->n_in; i++) {
    if (clarke_lower_value(low, i)->rank != 1)
      return clarke_lower_fail(low, err, "input %zu has %zu axes; lists of integers have one", i, clarke_lower_value(low, i)->rank);
    count += clarke_lower_value(low, i)->count;
  }
  if (clarke_lower_int(low, "axis", 1) != 0 && clarke_lower_int(low, "axis", 1) != -1)
    return clarke_lower_fail(low, err, "axis is missing, or out of range for lists");
  out = clarke_lower_integers_made(low, clarke_lower_value(low, 0)->dtype, 1, &count, err);
  if (out == NULL)
    return failed(err);
  for (size_t i = 0; i < low->n_in; at += clarke_lower_value(low, i++)->count)
    if (clarke_lower_value(low, i)->count > 0)
      memcpy(out + at, clarke_lower_value(low, i)->integer, clarke_lower_value(low, i)->count * sizeof *out);
  return CLARKE_OK;
}

#define MOST_TYPES 21

/* The types of numbers, as files count them; the others are texts, or complex. */
static const clarke_dtype types[MOST_TYPES] = {[1] = CLARKE_F32, [6] = CLARKE_I32, [7] = CLARKE_I64, [9] = CLARKE_BOOL,
                                               [10] = CLARKE_F16, [11] = CLARKE_F64, [16] = CLARKE_BF16, [17] = CLARKE_F8_E4M3FN,
                                               [18] = CLARKE_F8_E4M3FNUZ, [19] = CLARKE_F8_E5M2, [20] = CLARKE_F8_E5M2FNUZ};

/* Integers and truth values, also of whole floats, as another type that holds them. */
static clarke_status
cast_integers(clarke_lowering *low, clarke_dtype dtype, clarke_error *err)
{
  const size_t rank = clarke_lower_value(low, 0)->rank, count = clarke_lower_value(low, 0)->count;
  size_t dims[CLARKE_MAX_RANK];
  const clarke_value *x;
  int64_t *out;

  memcpy(dims, clarke_lower_value(low, 0)->dims, rank * sizeof *dims);
  out = clarke_lower_integers_made(low, dtype, rank, dims, err);
  if (out == NULL)
    return failed(err);
  x = clarke_lower_value(low, 0);
  for (size_t i = 0; i < count; i++) {
    if (x->real != NULL && (x->real[i] != rint(x->real[i]) || fabs(x->real[i]) > 1 << 24))
      return clarke_lower_fail(low, err, "entry %zu is %.17g, and no whole number up to 2^24: it would be cut off", i, x->real[i]);
    out[i] = x->real != NULL ? (int64_t)x->real[i] : x->integer[i];
    out[i] = dtype == CLARKE_BOOL ? out[i] != 0 : out[i];
    if (!fits(out[i], dtype))
      return clarke_lower_fail(low, err, "entry %zu, %lld, does not fit the type", i, (long long)out[i]);
  }
  return CLARKE_OK;
}

/* Truth values and integers as numbers of another type, which has all of them. */
static clarke_status
copy_as(clarke_lowering *low, clarke_holds holds, clarke_error *err)
{
  const clarke_status status = clarke_lower_copy(low, err);

  if (status == CLARKE_OK)
    low->graph->values[low->graph->n_values - 1].holds = holds;
  return status;
}

/* An activation and a parameter stay what they are in any type of floats: only a device rounds there. */
static clarke_status
cast_to(clarke_lowering *low, int64_t to, clarke_error *err)
{
  const clarke_value *x = clarke_lower_has(low, 0) ? clarke_lower_value(low, 0) : NULL;
  const bool known = to == 1 || to == 6 || to == 7 || to == 9 || to == 10 || to == 11 || to == 16;
  const bool eighth = to >= 17 && to <= 20;
  const bool kept = x != NULL && x->integer == NULL && (!x->constant || x->initializer || x->parameter != CLARKE_NONE);
  const clarke_dtype dtype = known ? types[to] : CLARKE_F32;

  if (kept && (eighth || (!x->constant && x->holds == CLARKE_HOLDS_FLOAT8 && !clarke_floats_are(dtype))))
    return clarke_lower_fail(low, err, "floats of 8 bits are made of constants that are no parameters, or by QuantizeLinear; and become larger "
                                       "floats alone");
  if (x != NULL && eighth)
    return clarke_lower_floats_cast(low, types[to], err);
  if (kept && !x->constant && x->holds != CLARKE_HOLDS_FLOATS && known && (clarke_floats_are(dtype) || dtype == CLARKE_I64 || dtype == CLARKE_I32))
    return copy_as(low, clarke_floats_are(dtype) ? CLARKE_HOLDS_FLOATS : CLARKE_HOLDS_INTEGERS, err);
  if (kept && x->excluded != NULL && known && !clarke_floats_are(dtype))
    return clarke_lower_fail(low, err, "entries that are minus infinity become no integers");
  if (kept && !x->constant && known && !clarke_floats_are(dtype))
    return clarke_lower_cast_activation(low, dtype == CLARKE_BOOL, err);
  if (x != NULL && known && clarke_floats_are(dtype) && kept)
    return clarke_lower_copy_marked(low, err);
  if (x != NULL && known && clarke_floats_are(dtype))
    return clarke_lower_floats_cast(low, dtype, err);
  if (x == NULL || !known || !(is_whole(low, 0) || clarke_lower_of_floats(low)))
    return clarke_lower_fail(low, err, "activations and parameters become floats of any type; constants of integers, of truth values, and "
                                       "floats that are no parameters become 64-bit and 32-bit integers, truth values and floats. Export "
                                       "with torch.onnx.export(dynamo=True), which folds other constants; or record the training step "
                                       "(clarke.record)");
  return cast_integers(low, dtype, err);
}

static clarke_status
lower_cast(clarke_lowering *low, clarke_error *err)
{
  return cast_to(low, clarke_lower_int(low, "to", 0), err);
}

/* Only the type of the second input is read. */
static clarke_status
lower_cast_like(clarke_lowering *low, clarke_error *err)
{
  if (low->node->like == 0)
    return clarke_lower_fail(low, err, "the type of input 1, '%s', is not known: write a Cast with that type", low->node->in[1]);
  low->n_in = 1;
  return cast_to(low, low->node->like, err);
}

/* Sums of all entries up to each, along an axis. */
static clarke_status
lower_running_sum(clarke_lowering *low, clarke_error *err)
{
  const int64_t *axis;
  size_t n, at = 0, rank, dims[CLARKE_MAX_RANK], stride = 1;
  int64_t *out;
  clarke_status status = clarke_lower_integers(low, 1, &axis, &n, err);

  if (status == CLARKE_OK && clarke_lower_has(low, 0) && !clarke_lower_value(low, 0)->constant)
    return clarke_lower_running(low, err);
  if (status == CLARKE_OK && (n != 1 || clarke_lower_int(low, "exclusive", 0) != 0 || clarke_lower_int(low, "reverse", 0) != 0))
    status = clarke_lower_fail(low, err, "exclusive and reverse are not supported, and there is one axis");
  if (status == CLARKE_OK && !clarke_lower_has(low, 0))
    status = clarke_lower_fail(low, err, "input 0 is missing");
  if (status == CLARKE_OK)
    status = clarke_axes_resolve(low, axis[0], clarke_lower_value(low, 0)->rank, &at, err);
  if (status != CLARKE_OK)
    return status;
  if (!is_whole(low, 0) || clarke_lower_value(low, 0)->dtype == CLARKE_BOOL)
    return clarke_lower_floats_running(low, at, err);
  rank = clarke_lower_value(low, 0)->rank;
  memcpy(dims, clarke_lower_value(low, 0)->dims, rank * sizeof *dims);
  for (size_t a = at + 1; a < rank; a++)
    stride *= dims[a];
  out = clarke_lower_integers_made(low, clarke_lower_value(low, 0)->dtype, rank, dims, err);
  if (out == NULL)
    return failed(err);
  for (size_t f = 0; f < clarke_lower_value(low, 0)->count; f++) {
    const int64_t before = f / stride % dims[at] > 0 ? out[f - stride] : 0;

    if (__builtin_add_overflow(before, clarke_lower_value(low, 0)->integer[f], &out[f]) || !fits(out[f], clarke_lower_value(low, 0)->dtype))
      return clarke_lower_fail(low, err, "entry %zu: the sum is no integer of the type", f);
  }
  return CLARKE_OK;
}

/* Mod has jumps where it is taken of an activation; of integers it is computed. */
static clarke_status
lower_mod(clarke_lowering *low, clarke_error *err)
{
  bool moves = false;

  for (size_t i = 0; i < low->n_in; i++)
    moves = moves || (clarke_lower_has(low, i) && !clarke_lower_value(low, i)->constant);
  return moves ? clarke_lower_modulo(low, err) : clarke_lower_integers_computed(low, err);
}

#define COMPUTED .lower = clarke_lower_integers_computed, .batch = CLARKE_BATCH_ANY
#define COMPARED COMPUTED, .takes_odd = true

const clarke_op clarke_ops_integers[] = {
  {.name = "Cast", .forms = {{7, 1, 1, 1, "to:i"}, {19, 1, 1, 1, "saturate:i to:i"}, {24, 1, 1, 1, "round_mode:s saturate:i to:i"}},
   .lower = lower_cast, .batch = CLARKE_BATCH_ANY, .takes_odd = true},
  {.name = "CastLike", .forms = {{15, 2, 2, 1, NULL}, {19, 2, 2, 1, "saturate:i"}, {24, 2, 2, 1, "round_mode:s saturate:i"}},
   .lower = lower_cast_like, .batch = CLARKE_BATCH_ANY, .takes_odd = true},
  {.name = "CumSum", .forms = {{11, 2, 2, 1, "exclusive:b reverse:b"}}, .lower = lower_running_sum, .batch = CLARKE_BATCH_ANY},
  {.name = "Equal", .forms = {{7, 2, 2, 1, NULL}}, COMPARED},
  {.name = "Less", .forms = {{7, 2, 2, 1, NULL}}, COMPARED},
  {.name = "LessOrEqual", .forms = {{12, 2, 2, 1, NULL}}, COMPARED},
  {.name = "Greater", .forms = {{7, 2, 2, 1, NULL}}, COMPARED},
  {.name = "GreaterOrEqual", .forms = {{12, 2, 2, 1, NULL}}, COMPARED},
  {.name = "And", .forms = {{7, 2, 2, 1, NULL}}, COMPUTED},
  {.name = "Or", .forms = {{7, 2, 2, 1, NULL}}, COMPUTED},
  {.name = "Not", .forms = {{7, 1, 1, 1, NULL}}, COMPUTED},
  {.name = "Mod", .forms = {{10, 2, 2, 1, "fmod:i"}}, .lower = lower_mod, .batch = CLARKE_BATCH_ANY},
  {.name = NULL},
};
