/* Pad with zeros along the axes of a sample; negative pads crop. */
#include "op/axes.h"
#include "op/lower.h"

#include <string.h>

typedef struct {
  size_t lead, rank, in[CLARKE_MAX_WHOLE], out[CLARKE_MAX_WHOLE];
  int64_t before[CLARKE_MAX_WHOLE], after[CLARKE_MAX_WHOLE];
} padding;

/* Zeros, and nothing else, are put in. */
static clarke_status
check(clarke_lowering *low, clarke_error *err)
{
  const clarke_attr *mode = clarke_model_attr(low->node, "mode");
  double value = clarke_lower_float(low, "value", 0);
  clarke_status status;

  if (mode != NULL && strcmp(mode->s, "constant") != 0)
    return clarke_lower_fail(low, err, "mode is '%.40s'; expected constant", mode->s);
  if (clarke_lower_has(low, 2)) {
    status = clarke_lower_constant(low, 2, err);
    if (status != CLARKE_OK)
      return status;
    if (clarke_lower_value(low, 2)->count != 1)
      return clarke_lower_fail(low, err, "the value must be a scalar");
    value = clarke_lower_value(low, 2)->real[0];
    low->graph->values[low->in[2]].bound = true;
  }
  return value == 0 ? CLARKE_OK
                    : clarke_lower_fail(low, err, "the value is %.17g; expected 0", value);
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

static clarke_status
pad_axis(padding *p, const clarke_lowering *low, size_t a, int64_t before, int64_t after,
         clarke_error *err)
{
  const int64_t most = (int64_t)CLARKE_MAX_ENTRIES;
  int64_t out;

  if (before < -most || before > most || after < -most || after > most)
    return clarke_lower_fail(low, err, "pads of axis %zu are %lld and %lld; expected at most %zu", a,
                             (long long)before, (long long)after, CLARKE_MAX_ENTRIES);
  if (a < p->lead && (before != 0 || after != 0))
    return clarke_lower_fail(low, err, "pads of the batch axis are %lld and %lld; expected 0",
                             (long long)before, (long long)after);
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

  memset(p, 0, sizeof *p);
  p->lead = clarke_axes_lead(low, 0);
  p->rank = clarke_axes_whole(low, 0, p->in);
  memcpy(p->out, p->in, sizeof p->out);
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

/* The entry of the input that entry f of the output is, if any. */
static size_t
entry(const padding *p, size_t f)
{
  size_t from = 0, step = 1;

  for (size_t a = p->rank; a-- > 0; f /= p->out[a]) {
    int64_t at = (int64_t)(f % p->out[a]) - p->before[a];

    if (at < 0 || (size_t)at >= p->in[a])
      return CLARKE_NONE;
    from += (size_t)at * step;
    step *= p->in[a];
  }
  return from;
}

static clarke_status
lower_pad(clarke_lowering *low, clarke_error *err)
{
  padding p;
  clarke_step *s;
  size_t *map;
  size_t count;
  clarke_status status = clarke_lower_activation(low, 0, err);

  if (status == CLARKE_OK)
    status = check(low, err);
  if (status == CLARKE_OK)
    status = read_pads(&p, low, err);
  if (status != CLARKE_OK)
    return status;
  s = clarke_lower_step(low, CLARKE_GATHER, 1, p.rank - p.lead, p.out + p.lead, err);
  count = s != NULL ? low->graph->values[s->out].count : 0;
  map = s != NULL ? clarke_lower_map(low, s, 0, count, err) : NULL;
  if (map == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  for (size_t f = 0; f < count; f++)
    map[f] = entry(&p, f);
  return clarke_lower_done(low, s->out, err);
}

const clarke_op clarke_ops_pad[] = {
  {.name = "Pad",
   .forms = {{7, 1, 1, 1, "mode:s pads:I value:f"}, {11, 2, 3, 1, "mode:s"}, {18, 2, 4, 1, "mode:s"}},
   .lower = lower_pad},
  {.name = NULL},
};
