/* TopK: the k largest or smallest entries along an axis, in order. Sorted (of the domain clarke): the same of a stable sort. With k = 1
 * it is one window. Else entries beside one another are compared in n rounds, and change places only where they are out of order:
 * odd-even transposition sorts n entries so (Knuth, The Art of Computer Programming 3, 5.3.4). Equal entries never pass one another,
 * at AD either, when the first of a tie is taken: so its derivative is that of a stable sort. */
#include "op/axes.h"
#include "op/lower.h"

#include <string.h>

typedef struct {
  size_t axis, rank, dims[CLARKE_MAX_WHOLE]; /* whole */
  size_t before, length, behind, k;          /* lines of `length` entries, `behind` apart */
  double upper;                              /* what the upper of two places has the largest of: entries, or minus these */
} sorting;

static clarke_status
read_k(sorting *s, const clarke_lowering *low, clarke_error *err)
{
  int64_t k = clarke_lower_int(low, "k", 0);
  const int64_t *list;
  size_t n;

  if (low->form->min_in > 1) {
    clarke_status status = clarke_lower_integers(low, 1, &list, &n, err);

    if (status != CLARKE_OK)
      return status;
    if (n != 1 || clarke_lower_value(low, 1)->rank != 1)
      return clarke_lower_fail(low, err, "input 1 has %zu entries; expected a list of one number", n);
    k = list[0];
  }
  if (k < 1 || (uint64_t)k > s->length)
    return clarke_lower_fail(low, err, "k is %lld; expected 1 to %zu, the entries along the axis", (long long)k, s->length);
  s->k = (size_t)k;
  return CLARKE_OK;
}

static clarke_status
read_sorting(sorting *s, clarke_lowering *low, clarke_error *err)
{
  clarke_status status = clarke_lower_first(low, err);

  if (status != CLARKE_OK)
    return status;
  s->rank = clarke_axes_whole(low, 0, s->dims);
  status = clarke_axes_resolve(low, clarke_lower_int(low, "axis", -1), s->rank, &s->axis, err);
  if (status == CLARKE_OK)
    status = clarke_axes_apart(low, 0, s->axis, err);
  if (status != CLARKE_OK)
    return status;
  s->length = s->dims[s->axis];
  if (s->length == 0 || s->length > CLARKE_MAX_SORTED)
    return clarke_lower_fail(low, err, "%zu entries along the axis; from 1 to %d are supported", s->length, CLARKE_MAX_SORTED);
  if (clarke_lower_int(low, "sorted", 1) == 0)
    return clarke_lower_fail(low, err, "sorted is 0: the order of the values is not said; expected 1");
  s->upper = clarke_lower_int(low, "largest", 1) != 0 ? 1 : -1;
  s->before = s->behind = 1;
  for (size_t a = 0; a < s->rank; a++)
    *(a < s->axis ? &s->before : &s->behind) *= a == s->axis ? 1 : s->dims[a];
  return read_k(s, low, err);
}

/* The place that is compared with place p in round r: the one below, above, or itself. */
static size_t
partner(const sorting *s, size_t r, size_t p)
{
  if (p % 2 == r % 2)
    return p + 1 < s->length ? p + 1 : p;
  return p > 0 ? p - 1 : p;
}

/* What place p has behind round r - 1 is a maximum, or minus it. */
static double
sign_before(const sorting *s, size_t r, size_t p)
{
  return r == 0 ? 1 : partner(s, r - 1, p) < p ? -s->upper : s->upper;
}

/* The places that later rounds need of what round r reads; behind the last round k. */
static size_t
needed(const sorting *s, size_t r)
{
  const size_t n = s->k + s->length - r;

  return n < s->length ? n : s->length;
}

/* Fills entry e of two operands of what round r reads: place p of the line that holds entry f of `each` places, `sign` times. */
static void
read_place(clarke_step *step, const sorting *s, size_t e, size_t r, size_t line, size_t p, double sign)
{
  const size_t at = (line / s->behind * needed(s, r) + p) * s->behind + line % s->behind;
  const bool same = sign == sign_before(s, r, p);

  step->in[0].map[e] = same ? at : CLARKE_NONE;
  step->in[1].map[e] = same ? CLARKE_NONE : at;
}

/* A sum of one entry each: of the value, or of minus it. */
static clarke_step *
add_reading(clarke_lowering *low, size_t value, size_t rank, const size_t *dims, clarke_error *err)
{
  clarke_step *s = clarke_lower_step(low, CLARKE_SUM, 2, rank, dims, err);

  for (size_t i = 0; i < 2 && s != NULL; i++) {
    s->in[i].value = value;
    s->in[i].coef = i == 0 ? 1 : -1;
    if (clarke_lower_map(low, s, i, low->graph->values[s->out].count, err) == NULL)
      return NULL;
  }
  return s;
}

/* Window f of a step of maxima, of two entries: places of its line. A place that is compared with none is alone. */
static clarke_status
add_round(clarke_lowering *low, const sorting *s, size_t r, size_t *value, clarke_error *err)
{
  const size_t m = needed(s, r + 1), lines = s->before * s->behind, count = lines * m, pairs = 2 * count;
  clarke_step *step = add_reading(low, *value, 1, &pairs, err);
  size_t *map;

  if (step == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  for (size_t f = 0; f < count; f++) {
    const size_t line = f / (m * s->behind) * s->behind + f % s->behind, p = f / s->behind % m, q = partner(s, r, p);
    const double sign = sign_before(s, r + 1, p);

    read_place(step, s, 2 * f, r, line, p, sign);
    read_place(step, s, 2 * f + 1, r, line, q, sign);
  }
  *value = step->out;
  step = clarke_lower_step(low, CLARKE_MAX, 1, 1, &count, err);
  map = step != NULL ? clarke_lower_map(low, step, 0, pairs, err) : NULL;
  if (map == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  step->in[0].value = *value;
  step->width = 2;
  for (size_t f = 0; f < count; f++) {
    const size_t p = f / s->behind % m;

    map[2 * f] = 2 * f;
    map[2 * f + 1] = partner(s, r, p) != p ? 2 * f + 1 : CLARKE_NONE;
  }
  *value = step->out;
  return CLARKE_OK;
}

/* One window a line, all of it: place 0. */
static clarke_status
add_windows(clarke_lowering *low, const sorting *s, size_t *value, clarke_error *err)
{
  const size_t count = s->before * s->behind, all = count * s->length;
  clarke_step *step;
  size_t *map;

  if (s->upper < 0) {
    step = clarke_lower_step(low, CLARKE_SUM, 1, 1, &all, err);
    if (step == NULL)
      return err != NULL ? err->code : CLARKE_ENOMEM;
    step->in[0].value = *value;
    step->in[0].coef = -1;
    *value = step->out;
  }
  step = clarke_lower_step(low, CLARKE_MAX, 1, 1, &count, err);
  map = step != NULL ? clarke_lower_map(low, step, 0, all, err) : NULL;
  if (map == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  step->in[0].value = *value;
  step->width = s->length;
  for (size_t e = 0; e < all; e++) {
    const size_t line = e / s->length;

    map[e] = (line / s->behind * s->length + e % s->length) * s->behind + line % s->behind;
  }
  *value = step->out;
  return CLARKE_OK;
}

/* The first k places, as they are. */
static clarke_status
put_values(clarke_lowering *low, const sorting *s, size_t value, clarke_error *err)
{
  const bool batched = clarke_axes_lead(low, 0) == 1;
  clarke_batch_axis batch = {.inner = 1};
  size_t dims[CLARKE_MAX_WHOLE], rank = s->rank;
  clarke_step *step;

  memcpy(dims, s->dims, rank * sizeof *dims);
  dims[s->axis] = s->k;
  if (batched) {
    batch = clarke_lower_value(low, 0)->batch;
    rank = clarke_axes_of_sample(&batch, rank, dims);
  }
  step = add_reading(low, value, rank, dims, err);
  if (step == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  for (size_t f = 0; f < s->before * s->k * s->behind; f++) {
    const size_t line = f / (s->k * s->behind) * s->behind + f % s->behind, p = f / s->behind % s->k;

    read_place(step, s, f, s->length, line, p, 1);
  }
  low->graph->values[step->out].batch = batch;
  return clarke_lower_done(low, step->out, err);
}

static clarke_status
lower_sorted(clarke_lowering *low, clarke_error *err)
{
  sorting s;
  size_t value = low->in[0];
  clarke_status status = read_sorting(&s, low, err);

  if (status == CLARKE_OK && s.k == 1)
    status = add_windows(low, &s, &value, err);
  for (size_t r = 0; r < s.length && status == CLARKE_OK && s.k > 1; r++)
    status = add_round(low, &s, r, &value, err);
  return status == CLARKE_OK ? put_values(low, &s, value, err) : status;
}

const clarke_op clarke_ops_sorted[] = {
  {.name = "TopK",
   .forms = {{7, 1, 1, 2, "axis:i k:i"}, {10, 2, 2, 2, "axis:i"}, {11, 2, 2, 2, "axis:i largest:b sorted:b"}},
   .lower = lower_sorted, .batch = CLARKE_BATCH_ANY, .order = true, .first_alone = true,
   .hint = "torch.sort with stable=True, jax.lax.top_k and jax.numpy.sort have first, torch.topk and torch.sort without it none"},
  {.name = "Sorted", .forms = {{7, 2, 2, 1, "axis:i largest:b"}}, .lower = lower_sorted, .batch = CLARKE_BATCH_ANY,
   .domain = CLARKE_DOMAIN, .order = true, .first_alone = true, .tie = {[CLARKE_PYTORCH_2_13] = "first"}},
  {.name = NULL},
};
