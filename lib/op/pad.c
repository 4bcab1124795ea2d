/* Pad with a number, or minus infinity, along the axes of a sample, negative pads crop; or with entries of the axis: its ends, what lies
 * beyond them in a mirror, or its other end. */
#include "op/axes.h"
#include "op/floats.h"
#include "op/lower.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum { ZEROS, EDGE, REFLECT, WRAP } padding_mode;

typedef struct {
  padding_mode mode;
  double value; /* that is put in; of a mask 0, or one that is infinite */
  size_t rank, in[CLARKE_MAX_WHOLE], out[CLARKE_MAX_WHOLE];
  int64_t before[CLARKE_MAX_WHOLE], after[CLARKE_MAX_WHOLE];
} padding;

/* `wrap` is there from opset 19 on. */
static clarke_status
read_mode(padding *p, const clarke_lowering *low, clarke_error *err)
{
  static const char *const name[] = {[ZEROS] = "constant", [EDGE] = "edge", [REFLECT] = "reflect", [WRAP] = "wrap"};
  const clarke_attr *mode = clarke_model_attr(low->node, "mode");
  const size_t n = low->opset < 19 ? WRAP : WRAP + 1;
  size_t k = 0;

  while (mode != NULL && k < n && strcmp(mode->s, name[k]) != 0)
    k++;
  if (k == n)
    return clarke_lower_fail(low, err, "mode is '%.40s'; expected constant, edge%s reflect%s", mode->s, n > WRAP ? "," : " or",
                             n > WRAP ? " or wrap" : "");
  p->mode = (padding_mode)k;
  return CLARKE_OK;
}

/* A number is put in, or minus infinity; in a mask of constants zeros, or what is infinite. */
static clarke_status
read_value(padding *p, clarke_lowering *low, bool mask, clarke_error *err)
{
  p->value = clarke_lower_float(low, "value", 0);
  if (clarke_lower_has(low, 2)) {
    clarke_value *v = &low->graph->values[low->in[2]];

    if (!v->constant || v->real == NULL)
      return clarke_lower_fail(low, err, "input 2 must be a constant of floats");
    if (v->count != 1)
      return clarke_lower_fail(low, err, "the value must be a scalar");
    p->value = v->real[0];
    v->bound = true;
  }
  return p->value == 0 || p->value == -INFINITY || mask != isfinite(p->value)
           ? CLARKE_OK
           : clarke_lower_fail(low, err, "the value is %.17g; expected %s, or minus infinity", p->value, mask ? "0" : "a number");
}

/* The axes that pads speak of, in its order: all, or those that input 3 lists (from opset 18). */
static clarke_status
read_axes(const padding *p, clarke_lowering *low, size_t *axis, size_t *n, clarke_error *err)
{
  bool chosen[CLARKE_MAX_WHOLE];
  const int64_t *list;
  clarke_status status;

  *n = p->rank;
  for (size_t a = 0; a < p->rank; a++)
    axis[a] = a;
  if (!clarke_lower_has(low, 3))
    return CLARKE_OK;
  status = clarke_lower_integers(low, 3, &list, n, err);
  if (status == CLARKE_OK)
    status = clarke_axes_chosen(low, list, *n, p->rank, chosen, err);
  for (size_t i = 0; status == CLARKE_OK && i < *n; i++)
    axis[i] = (size_t)(list[i] < 0 ? list[i] + (int64_t)p->rank : list[i]);
  return status;
}

/* How far out the axis has entries to put in, each once: in a mirror the last one is not repeated. */
static int64_t
reach_of(const padding *p, size_t a)
{
  return (int64_t)p->in[a] - (p->mode == REFLECT);
}

static clarke_status
pad_axis(padding *p, const clarke_lowering *low, size_t a, int64_t before, int64_t after,
         clarke_error *err)
{
  const int64_t most = (int64_t)CLARKE_MAX_ENTRIES;
  int64_t out;

  if (before < -most || before > most || after < -most || after > most)
    return clarke_lower_fail(low, err, "pads of axis %zu are %lld and %lld; expected at most %zu", a,
                             (long long)before, (long long)after, CLARKE_MAX_ENTRIES);
  if (a == clarke_axes_batch(low, 0) && (before != 0 || after != 0))
    return clarke_lower_fail(low, err, "pads of the batch axis are %lld and %lld; expected 0",
                             (long long)before, (long long)after);
  if (p->mode != ZEROS && (before < 0 || after < 0))
    return clarke_lower_fail(low, err, "pads of axis %zu are %lld and %lld; expected none below 0 but in mode constant", a,
                             (long long)before, (long long)after);
  if ((p->mode == REFLECT || p->mode == WRAP) && (before > reach_of(p, a) || after > reach_of(p, a)))
    return clarke_lower_fail(low, err, "pads of axis %zu are %lld and %lld; its %zu entries reach for %lld, once through", a,
                             (long long)before, (long long)after, p->in[a], (long long)reach_of(p, a));
  out = (int64_t)p->in[a] + before + after;
  if (out <= 0)
    return clarke_lower_fail(low, err, "axis %zu has %zu entries and pads %lld and %lld: the output "
                                       "would have no entries", a, p->in[a], (long long)before,
                             (long long)after);
  p->before[a] = before;
  p->after[a] = after;
  p->out[a] = (size_t)out;
  return CLARKE_OK;
}

/* pads: an attribute before opset 11, input 1 from it. */
static clarke_status
read_pads(padding *p, clarke_lowering *low, clarke_error *err)
{
  size_t axis[CLARKE_MAX_WHOLE], n, n_axes;
  const int64_t *pads;
  bool given;
  clarke_status status = clarke_axes_list(low, "pads", 1, &pads, &n, &given, err);

  p->rank = clarke_axes_whole(low, 0, p->in);
  memcpy(p->out, p->in, sizeof p->out);
  memset(p->before, 0, sizeof p->before);
  memset(p->after, 0, sizeof p->after);
  if (status == CLARKE_OK)
    status = read_axes(p, low, axis, &n_axes, err);
  if (status != CLARKE_OK)
    return status;
  if (!given || n != 2 * n_axes)
    return clarke_lower_fail(low, err, "%zu pads; expected %zu: two for each of %zu axes", n,
                             2 * n_axes, n_axes);
  for (size_t i = 0; status == CLARKE_OK && i < n_axes; i++)
    status = pad_axis(p, low, axis[i], pads[i], pads[i + n_axes], err);
  return status;
}

/* The place along an axis of n entries that stands at place `at`, which may be outside. */
static int64_t
inside(const padding *p, int64_t at, int64_t n)
{
  if (p->mode == EDGE)
    return at < 0 ? 0 : at < n ? at : n - 1;
  if (p->mode == REFLECT)
    return at < 0 ? -at : at < n ? at : 2 * (n - 1) - at;
  return p->mode == WRAP ? (at + n) % n : at;
}

/* The entry of the input that entry f of the output is, if any. */
static size_t
entry(const padding *p, size_t f)
{
  size_t from = 0, step = 1;

  for (size_t a = p->rank; a-- > 0; f /= p->out[a]) {
    const int64_t at = inside(p, (int64_t)(f % p->out[a]) - p->before[a], (int64_t)p->in[a]);

    if (at < 0 || (size_t)at >= p->in[a])
      return CLARKE_NONE;
    from += (size_t)at * step;
    step *= p->in[a];
  }
  return from;
}

/* Marks as minus infinity what is put into the step's output, and what was so in the input. */
static clarke_status
mark(const padding *p, clarke_lowering *low, const clarke_step *s, clarke_error *err)
{
  clarke_value *y = &low->graph->values[s->out];
  const bool *excluded = clarke_lower_value(low, 0)->excluded;

  if (isfinite(p->value) && excluded == NULL)
    return CLARKE_OK;
  y->excluded = calloc(y->count + 1, sizeof *y->excluded);
  if (y->excluded == NULL)
    return clarke_lower_no_memory(low, err);
  for (size_t f = 0; f < y->count; f++)
    y->excluded[f] = s->in[0].map[f] == CLARKE_NONE ? !isfinite(p->value) : excluded != NULL && excluded[s->in[0].map[f]];
  return CLARKE_OK;
}

/* Constants with entries that are infinite, or get such: they stay constants. */
static clarke_status
pad_mask(const padding *p, clarke_lowering *low, clarke_error *err)
{
  size_t count = 1, *map;

  for (size_t a = 0; a < p->rank; a++)
    count *= p->out[a];
  if (!clarke_lower_affordable(low->graph, count))
    return clarke_lower_too_large(low, err);
  map = malloc((count + 1) * sizeof *map);
  if (map == NULL)
    return clarke_lower_no_memory(low, err);
  for (size_t f = 0; f < count; f++)
    map[f] = entry(p, f);
  return clarke_lower_floats_moved(low, p->rank, p->out, map, p->value, err);
}

/* The step that puts zeros in; another number is added there. */
static clarke_step *
padded_step(const padding *p, clarke_lowering *low, clarke_error *err)
{
  const bool added = p->value != 0 && isfinite(p->value);
  const size_t one = 1;
  clarke_step *s;
  size_t number, count, rank, dims[CLARKE_MAX_WHOLE], *map, *other = NULL;

  if (added && clarke_lower_made(low, 1, &one, &number, err) != CLARKE_OK)
    return NULL;
  memcpy(dims, p->out, sizeof dims);
  rank = clarke_axes_of_input(low, p->rank, dims);
  s = clarke_lower_step(low, added ? CLARKE_SUM : CLARKE_GATHER, added ? 2 : 1, rank, dims, err);
  count = s != NULL ? low->graph->values[s->out].count : 0;
  map = s != NULL ? clarke_lower_map(low, s, 0, count, err) : NULL;
  if (added && map != NULL) {
    low->graph->values[number].real[0] = p->value;
    s->in[1].value = number;
    other = clarke_lower_map(low, s, 1, count, err);
  }
  if (map == NULL || (added && other == NULL))
    return NULL;
  for (size_t f = 0; f < count; f++) {
    map[f] = entry(p, f);
    if (added)
      other[f] = map[f] == CLARKE_NONE ? 0 : CLARKE_NONE;
  }
  return s;
}

static clarke_status
lower_pad(clarke_lowering *low, clarke_error *err)
{
  padding p = {.mode = ZEROS};
  const bool mask = clarke_lower_is_floats(low, 0);
  clarke_step *s;
  clarke_status status = read_mode(&p, low, err);

  if (status == CLARKE_OK && p.mode == ZEROS)
    status = read_value(&p, low, mask, err);
  if (status == CLARKE_OK && !(mask && (clarke_lower_value(low, 0)->odd || p.value != 0)))
    status = clarke_lower_first(low, err);
  if (status == CLARKE_OK)
    status = read_pads(&p, low, err);
  if (status != CLARKE_OK)
    return status;
  if (clarke_lower_value(low, 0)->constant)
    return pad_mask(&p, low, err);
  s = padded_step(&p, low, err);
  if (s == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  status = mark(&p, low, s, err);
  return status == CLARKE_OK ? clarke_lower_done(low, s->out, err) : status;
}

const clarke_op clarke_ops_pad[] = {
  {.name = "Pad",
   .forms = {{7, 1, 1, 1, "mode:s pads:I value:f"}, {11, 2, 3, 1, "mode:s"}, {18, 2, 4, 1, "mode:s"}},
   .lower = lower_pad, .batch = CLARKE_BATCH_KEPT, .takes_odd = true},
  {.name = NULL},
};
