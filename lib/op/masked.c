#include "op/masked.h"
#include "op/lower.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The constant with 0 in the place of what is not finite; no parameter. */
static clarke_status
cleaned(clarke_lowering *low, size_t constant, size_t *value, clarke_error *err)
{
  clarke_value *v = &low->graph->values[constant];
  size_t dims[CLARKE_MAX_RANK];
  clarke_status status;

  v->bound = true; /* a number that is read here */
  memcpy(dims, v->dims, sizeof dims);
  status = clarke_lower_made(low, v->rank, dims, value, err);
  v = &low->graph->values[constant];
  for (size_t e = 0; status == CLARKE_OK && e < v->count; e++)
    low->graph->values[*value].real[e] = isfinite(v->real[e]) ? v->real[e] : 0;
  return status;
}

/* Every operand of the step has a map of its own. */
static clarke_status
give_maps(clarke_lowering *low, clarke_step *s, clarke_error *err)
{
  const size_t count = low->graph->values[s->out].count;

  for (size_t i = 0; i < s->n_in; i++) {
    size_t *map = s->in[i].map != NULL ? NULL : clarke_lower_map(low, s, i, count, err);

    if (s->in[i].map == NULL)
      return err != NULL ? err->code : CLARKE_ENOMEM;
    for (size_t f = 0; f < count && map != NULL; f++)
      map[f] = f;
  }
  return CLARKE_OK;
}

/* Entry e of a constant, or of an activation that may be marked: minus infinity, NaN, or some number. */
static double
mark_of(const clarke_value *v, size_t e)
{
  if (e == CLARKE_NONE)
    return 0;
  return v->constant ? v->real[e] : v->excluded != NULL && v->excluded[e] ? (v->undefined ? NAN : -INFINITY) : 0;
}

clarke_status
clarke_lower_exclude(clarke_lowering *low, clarke_step *s, size_t i, clarke_error *err)
{
  clarke_graph *g = low->graph;
  const size_t read = s->in[i].value, count = g->values[s->out].count, out = s->out;
  bool *excluded = calloc(count + 1, sizeof *excluded), some = g->values[out].excluded != NULL;
  size_t number;
  clarke_status status = excluded != NULL ? give_maps(low, s, err) : clarke_lower_no_memory(low, err);

  if (excluded != NULL && some) /* of another operand */
    memcpy(excluded, g->values[out].excluded, count * sizeof *excluded);
  for (size_t f = 0; status == CLARKE_OK && f < count; f++) {
    const double entry = mark_of(&g->values[read], s->in[i].map[f]);

    if (isfinite(entry))
      continue;
    if (!(entry < 0))
      status = clarke_lower_fail(low, err, "entry %zu is %s: only minus infinity is taken, which a Softmax makes 0%s", f,
                                 isnan(entry) ? "NaN" : "infinity",
                                 isnan(entry) && !g->values[read].constant ? "; all of its line were minus infinity in the Softmax before" : "");
    excluded[f] = some = true;
    for (size_t k = 0; k < s->n_in; k++)
      s->in[k].map[f] = CLARKE_NONE;
  }
  if (status == CLARKE_OK && g->values[read].constant)
    status = cleaned(low, read, &number, err);
  if (status == CLARKE_OK && g->values[read].constant)
    s->in[i].value = number;
  low->out[0] = out; /* the number is a value behind it */
  if (status == CLARKE_OK && some) {
    free(g->values[out].excluded);
    g->values[out].excluded = excluded;
  } else
    free(excluded);
  return status;
}

/* What a line's entries become: how many are left, which of the lines with so many it is; entry f: which of all entries left of
 * these lines it is, CLARKE_NONE where it is minus infinity. */
typedef struct {
  size_t lines, length, stride;
  size_t *left, *order, *at;
} mask;

static void
mask_clear(mask *m)
{
  free(m->left);
  free(m->order);
  free(m->at);
}

static size_t
entry_of(const mask *m, size_t line, size_t k)
{
  return (line / m->stride * m->length + k) * m->stride + line % m->stride;
}

static clarke_status
read_mask(mask *m, const clarke_lowering *low, clarke_error *err)
{
  const clarke_value *x = clarke_lower_value(low, 0);
  size_t *many = calloc(m->length + 1, sizeof *many); /* lines with so many */

  m->lines = x->count / m->length;
  m->left = calloc(m->lines + 1, sizeof *m->left);
  m->order = calloc(m->lines + 1, sizeof *m->order);
  m->at = calloc(x->count + 1, sizeof *m->at);
  if (many == NULL || m->left == NULL || m->order == NULL || m->at == NULL) {
    free(many);
    return clarke_lower_no_memory(low, err);
  }
  for (size_t line = 0; line < m->lines; line++) {
    for (size_t k = 0; k < m->length; k++)
      m->left[line] += !x->excluded[entry_of(m, line, k)];
    m->order[line] = many[m->left[line]]++;
  }
  for (size_t line = 0; line < m->lines; line++)
    for (size_t k = 0, n = 0; k < m->length; k++) {
      const size_t f = entry_of(m, line, k);

      m->at[f] = x->excluded[f] ? CLARKE_NONE : m->order[line] * m->left[line] + n++;
    }
  free(many);
  return CLARKE_OK;
}

/* Lines without others are NaN, but within an Attention: the node's output is marked there. */
static clarke_status
mark_undefined(clarke_lowering *low, const mask *m, clarke_error *err)
{
  clarke_value *y = &low->graph->values[low->graph->n_values - 1];
  bool some = false;

  for (size_t line = 0; line < m->lines; line++)
    some = some || m->left[line] == 0;
  if (!some || low->of != NULL)
    return CLARKE_OK;
  if (clarke_lower_value(low, 0)->added)
    return clarke_lower_fail(low, err, "a line is minus infinity throughout, and an Add put it there: AD's gradient of what it is added to is NaN. "
                             "Choose minus infinity by a Where, which takes none of it");
  y->excluded = calloc(y->count + 1, sizeof *y->excluded);
  if (y->excluded == NULL)
    return clarke_lower_no_memory(low, err);
  y->undefined = true;
  for (size_t line = 0; line < m->lines; line++)
    for (size_t k = 0; k < m->length; k++)
      y->excluded[entry_of(m, line, k)] = m->left[line] == 0;
  return CLARKE_OK;
}

/* The softmax of all lines with so many entries left; CLARKE_NONE: there are none of them, or it failed. */
static size_t
add_lines(clarke_lowering *low, const mask *m, size_t left, clarke_status *status, clarke_error *err)
{
  size_t dims[2] = {0, left}, *map;
  clarke_step *s;

  for (size_t line = 0; line < m->lines; line++)
    dims[0] += m->left[line] == left;
  if (dims[0] == 0)
    return CLARKE_NONE;
  s = clarke_lower_step(low, CLARKE_GATHER, 1, 2, dims, err);
  map = s != NULL ? clarke_lower_map(low, s, 0, dims[0] * left, err) : NULL;
  for (size_t line = 0; map != NULL && line < m->lines; line++)
    for (size_t k = 0; k < m->length && m->left[line] == left; k++)
      if (m->at[entry_of(m, line, k)] != CLARKE_NONE)
        map[m->at[entry_of(m, line, k)]] = entry_of(m, line, k);
  s = map != NULL ? clarke_lower_step_like(low, CLARKE_SOFTMAX, 1, s->out, err) : NULL;
  if (s == NULL) {
    *status = err != NULL ? err->code : CLARKE_ENOMEM;
    return CLARKE_NONE;
  }
  s->groups = dims[0];
  s->length = left;
  s->stride = 1;
  return s->out;
}

/* The step, a sum, has nothing to add up. */
static clarke_status
put_zeros(clarke_lowering *low, clarke_step *s, clarke_error *err)
{
  const size_t out = s->out, count = low->graph->values[out].count;
  size_t *map = clarke_lower_map(low, s, 0, count, err);

  if (map == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  for (size_t f = 0; f < count; f++)
    map[f] = CLARKE_NONE;
  return clarke_lower_done(low, out, err);
}

/* All lines in their places: of each number of entries left the lines are in parts[left], if there are some. */
static clarke_status
join_lines(clarke_lowering *low, const mask *m, const size_t *parts, clarke_error *err)
{
  const size_t rank = clarke_lower_value(low, 0)->rank, count = clarke_lower_value(low, 0)->count;
  size_t dims[CLARKE_MAX_RANK], n = 0, i = 0;
  clarke_step *s;

  for (size_t left = 1; left <= m->length; left++)
    n += parts[left] != CLARKE_NONE;
  memcpy(dims, clarke_lower_value(low, 0)->dims, sizeof dims);
  s = clarke_lower_step(low, CLARKE_SUM, n > 0 ? n : 1, rank, dims, err);
  if (s != NULL && n == 0)
    return put_zeros(low, s, err);
  for (size_t left = 1; left <= m->length && s != NULL; left++) {
    size_t *map = parts[left] != CLARKE_NONE ? clarke_lower_map(low, s, i, count, err) : NULL;

    if (parts[left] == CLARKE_NONE)
      continue;
    if (map == NULL)
      return err != NULL ? err->code : CLARKE_ENOMEM;
    for (size_t f = 0; f < count; f++)
      map[f] = m->left[f / m->stride / m->length * m->stride + f % m->stride] == left ? m->at[f] : CLARKE_NONE;
    s->in[i++].value = parts[left];
  }
  return s != NULL ? clarke_lower_done(low, s->out, err) : err != NULL ? err->code : CLARKE_ENOMEM;
}

clarke_status
clarke_lower_masked_softmax(clarke_lowering *low, size_t length, size_t stride, clarke_error *err)
{
  mask m = {.length = length, .stride = stride};
  size_t *parts = calloc(length + 1, sizeof *parts);
  clarke_status status = parts != NULL ? read_mask(&m, low, err) : clarke_lower_no_memory(low, err);

  for (size_t left = 1; left <= length && status == CLARKE_OK; left++)
    parts[left] = add_lines(low, &m, left, &status, err);
  if (status == CLARKE_OK)
    status = join_lines(low, &m, parts, err);
  if (status == CLARKE_OK)
    status = mark_undefined(low, &m, err);
  mask_clear(&m);
  free(parts);
  return status;
}
