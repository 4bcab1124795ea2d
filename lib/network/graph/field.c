#include "network/graph/field.h"

#include "base/room.h"
#include "base/stop.h"

#include <stdlib.h>
#include <string.h>

/* The entries of a value that are marked, each once. */
typedef struct {
  bool *at; /* NULL: none is */
  size_t n, capacity, *entry;
} marks;

typedef struct {
  const clarke_graph *g;
  marks *of; /* n_values */
  size_t work;
  clarke_error *err;
} field;

static clarke_status
mark(field *d, size_t value, size_t entry)
{
  const clarke_value *v = &d->g->values[value];
  marks *m = &d->of[value];

  d->work -= d->work > 0;
  if (v->constant || entry == CLARKE_NONE)
    return CLARKE_OK;
  if (m->at == NULL && (m->at = calloc(v->count + 1, sizeof *m->at)) == NULL)
    return clarke_no_memory(d->err);
  if (m->at[entry])
    return CLARKE_OK;
  if (!clarke_room(&m->entry, &m->capacity, m->n + 1, sizeof *m->entry))
    return clarke_no_memory(d->err);
  m->at[entry] = true;
  m->entry[m->n++] = entry;
  return CLARKE_OK;
}

static void
forget(marks *m)
{
  free(m->at);
  free(m->entry);
  memset(m, 0, sizeof *m);
}

/* --- entry by entry ---------------------------------------------------------------------------- */

static clarke_status
operands_of(field *d, const clarke_step *s, size_t f)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < s->n_in && status == CLARKE_OK; i++)
    status = mark(d, s->in[i].value, clarke_operand_entry(&s->in[i], f));
  return status;
}

static clarke_status
window_of(field *d, const clarke_step *s, size_t f)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < s->width && status == CLARKE_OK; i++)
    status = mark(d, s->in[0].value, clarke_operand_entry(&s->in[0], f * s->width + i));
  return status;
}

static clarke_status
factors_of(field *d, const clarke_step *s, size_t f)
{
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < s->contraction.inner && status == CLARKE_OK; k++) {
    status = mark(d, s->in[0].value, clarke_step_factor(s, 0, f, k));
    if (status == CLARKE_OK)
      status = mark(d, s->in[1].value, clarke_step_factor(s, 1, f, k));
  }
  return status;
}

/* --- many entries that see the same ------------------------------------------------------------- */

/* The entries' group, of as many as there are: a DENSE step's column, a NORMALIZE or SOFTMAX step's group. */
static size_t
group_of(const clarke_step *s, size_t f)
{
  switch (s->kind) {
  case CLARKE_DENSE: return f / (s->dense.outer * s->dense.repeat) * s->dense.repeat + f % s->dense.repeat;
  case CLARKE_NORMALIZE: return clarke_step_group(s, f);
  default: return f / (s->length * s->stride) * s->stride + f % s->stride;
  }
}

/* How many entries each sees, and the i-th of group c, before the operand's map. */
static size_t
group_size(const clarke_step *s)
{
  return s->kind == CLARKE_DENSE ? s->dense.inner : s->kind == CLARKE_NORMALIZE ? s->grouping.blocks * s->grouping.length : s->length;
}

static size_t
group_entry(const clarke_step *s, size_t c, size_t i)
{
  const clarke_grouping *n = &s->grouping;

  switch (s->kind) {
  case CLARKE_DENSE: return (c / s->dense.repeat * s->dense.inner + i) * s->dense.repeat + c % s->dense.repeat;
  case CLARKE_NORMALIZE: return (i / n->length * n->groups + c) * n->length + i % n->length;
  default: return (c / s->stride * s->length + i) * s->stride + c % s->stride;
  }
}

static clarke_status
groups_back(field *d, const clarke_step *s)
{
  const marks *out = &d->of[s->out];
  bool *done = calloc(d->g->values[s->out].count + 1, sizeof *done);
  clarke_status status = done != NULL ? CLARKE_OK : clarke_no_memory(d->err);

  for (size_t k = 0; k < out->n && status == CLARKE_OK && d->work > 0; k++) {
    const size_t c = group_of(s, out->entry[k]);

    for (size_t i = 0; i < group_size(s) && status == CLARKE_OK && !done[c]; i++)
      status = mark(d, s->in[0].value, clarke_operand_entry(&s->in[0], group_entry(s, c, i)));
    done[c] = true;
  }
  free(done);
  return status;
}

/* --- the way back ------------------------------------------------------------------------------ */

static clarke_status (*const back_of[CLARKE_STEP_KINDS])(field *d, const clarke_step *s, size_t f) = {
  [CLARKE_GATHER] = operands_of, [CLARKE_SUM] = operands_of, [CLARKE_SCALE] = operands_of, [CLARKE_PIECEWISE] = operands_of,
  [CLARKE_ANALYTIC] = operands_of, [CLARKE_MAX] = window_of, [CLARKE_PRODUCT] = factors_of,
};

static clarke_status
step_back(field *d, const clarke_step *s)
{
  const marks *out = &d->of[s->out];
  clarke_status status = clarke_work_check(d->err);

  if (status == CLARKE_OK && back_of[s->kind] == NULL)
    return groups_back(d, s);
  for (size_t k = 0; k < out->n && status == CLARKE_OK && d->work > 0; k++)
    status = back_of[s->kind](d, s, out->entry[k]);
  return status;
}

clarke_status
clarke_field_find(bool *seen, bool *whole, size_t *work, const clarke_graph *g, size_t value, size_t entry, clarke_error *err)
{
  field d = {.g = g, .of = calloc(g->n_values + 1, sizeof *d.of), .work = *work, .err = err};
  clarke_status status = d.of != NULL ? mark(&d, value, entry) : clarke_no_memory(err);

  memset(seen, 0, g->values[g->input].count * sizeof *seen);
  for (size_t i = g->n_steps; i-- > 0 && status == CLARKE_OK && d.work > 0;) {
    const size_t out = g->steps[i].out;

    if (d.of[out].n > 0)
      status = step_back(&d, &g->steps[i]);
    forget(&d.of[out]);
  }
  *whole = d.work > 0;
  *work = d.work;
  for (size_t k = 0; status == CLARKE_OK && k < d.of[g->input].n; k++)
    seen[d.of[g->input].entry[k]] = true;
  for (size_t v = 0; d.of != NULL && v < g->n_values; v++)
    forget(&d.of[v]);
  free(d.of);
  return status;
}
