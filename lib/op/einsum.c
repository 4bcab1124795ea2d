/* Einsum of one or two operands: a sum of products over the labels that the result has not. Of two activations it is one PRODUCT,
 * of a constant and an activation one DENSE step, of one operand a sum; entries are moved before and after where they lie
 * otherwise. */
#include "op/axes.h"
#include "op/equation.h"
#include "op/lower.h"

#include <stdlib.h>
#include <string.h>

/* Labels one after another, the last fastest. */
typedef struct {
  size_t n, count;
  unsigned char label[CLARKE_N_LABELS];
} layout;

typedef struct {
  clarke_equation e;
  size_t dims[2][CLARKE_MAX_WHOLE]; /* of the operands, whole */
  size_t extent[CLARKE_N_LABELS];   /* 0: no operand has it */
  clarke_batch_axis batch;          /* of the result */
  size_t rank, shape[CLARKE_MAX_WHOLE]; /* of a sample's */
} einsum;

/* --- Labels and batch axes --- */

/* Where among the axes of operand i (2: of the result) the label stands first; CLARKE_NONE. */
static size_t
axis_of(const einsum *s, size_t i, size_t label)
{
  size_t a = 0;

  while (a < s->e.rank[i] && s->e.label[i][a] != label)
    a++;
  return a < s->e.rank[i] ? a : CLARKE_NONE;
}

/* Operand i has the batch, on an axis with that label: what the other has there. */
static clarke_status
check_other(const einsum *s, clarke_lowering *low, size_t i, size_t label, clarke_error *err)
{
  const clarke_batch_axis here = clarke_lower_value(low, i)->batch;
  const size_t other = 1 - i, axis = s->e.n == 2 ? axis_of(s, other, label) : CLARKE_NONE;
  clarke_status status = CLARKE_OK;
  bool shared;

  if (s->e.n == 2 && clarke_axes_lead(low, other) == 1) {
    const clarke_batch_axis there = clarke_lower_value(low, other)->batch;

    if (axis != there.axis || here.merged != there.merged || (here.merged && here.inner != there.inner))
      return clarke_lower_fail(low, err, "the inputs have the batch on axes that the equation calls otherwise: samples would be mixed");
    return CLARKE_OK;
  }
  if (axis == CLARKE_NONE)
    return CLARKE_OK;
  if (!here.merged && low->graph->together > 1 && clarke_lower_value(low, other)->constant)
    status = clarke_axes_shared(low, other, axis, &shared, err);
  if (status == CLARKE_OK && clarke_lower_value(low, other)->dims[axis] != 1 && (!here.merged || low->graph->together != 1))
    return clarke_lower_fail(low, err, "input %zu has %zu entries along the batch axis: export with a batch of one, or record the training "
                                       "step (clarke.record)", other, clarke_lower_value(low, other)->dims[axis]);
  return status;
}

/* Each sample's result is of its own entries: the label of the batch is in the result, and is one axis of each operand. */
static clarke_status
read_batch(einsum *s, clarke_lowering *low, clarke_error *err)
{
  s->batch = (clarke_batch_axis){.inner = 1, .none = true};
  for (size_t i = 0; i < s->e.n; i++) {
    const size_t axis = clarke_axes_batch(low, i), label = axis != CLARKE_NONE ? s->e.label[i][axis] : CLARKE_NONE;
    size_t found = 0;
    clarke_status status;

    if (axis == CLARKE_NONE)
      continue;
    for (size_t a = 0; a < s->e.rank[i]; a++)
      found += s->e.label[i][a] == label ? 1 : 0;
    if (found != 1 || axis_of(s, 2, label) == CLARKE_NONE)
      return clarke_lower_fail(low, err, "axis %zu of input %zu is the batch, or merged with it, and the equation sums over it or joins it with "
                                         "another: samples would be mixed", axis, i);
    status = check_other(s, low, i, label, err);
    if (status != CLARKE_OK)
      return status;
    s->batch = clarke_lower_value(low, i)->batch;
    s->batch.axis = axis_of(s, 2, label);
  }
  return CLARKE_OK;
}

/* Axes of one label have as many entries; or one, in the other operand, which all take. */
static clarke_status
read_extents(einsum *s, const clarke_lowering *low, clarke_error *err)
{
  for (size_t i = 0; i < s->e.n; i++) {
    clarke_axes_whole(low, i, s->dims[i]);
    for (size_t a = 0; a < s->e.rank[i]; a++) {
      size_t *extent = &s->extent[s->e.label[i][a]], size = s->dims[i][a], first = axis_of(s, i, s->e.label[i][a]);

      if (size == 0)
        return clarke_lower_fail(low, err, "input %zu has no entries", i);
      if (s->dims[i][first] != size || (*extent > 1 && size > 1 && *extent != size))
        return clarke_lower_fail(low, err, "the equation gives one label to axes of %zu and of %zu entries",
                                 s->dims[i][first] != size ? s->dims[i][first] : *extent, size);
      *extent = size > *extent ? size : *extent;
    }
  }
  return CLARKE_OK;
}

static clarke_status
read_node(einsum *s, clarke_lowering *low, clarke_error *err)
{
  const clarke_attr *equation = clarke_model_attr(low->node, "equation");
  size_t ranks[2], whole[CLARKE_MAX_WHOLE];
  const char *wrong;
  clarke_status status;

  if (equation == NULL)
    return clarke_lower_fail(low, err, "equation is missing");
  if (low->n_in > 2)
    return clarke_lower_fail(low, err, "%zu operands; one or two are supported: write it as a chain of Einsum nodes of two each", low->n_in);
  for (size_t i = 0; i < low->n_in; i++) {
    if (!clarke_lower_has(low, i))
      return clarke_lower_fail(low, err, "input %zu is missing", i);
    ranks[i] = clarke_axes_whole(low, i, whole);
  }
  wrong = clarke_equation_read(&s->e, equation->s, low->n_in, ranks);
  if (wrong != NULL)
    return clarke_lower_fail(low, err, "equation \"%.80s\": %s", equation->s, wrong);
  status = read_batch(s, low, err);
  if (status == CLARKE_OK)
    status = read_extents(s, low, err);
  if (status != CLARKE_OK)
    return status;
  for (size_t a = 0; a < s->e.rank[2]; a++)
    s->shape[a] = s->extent[s->e.label[2][a]];
  s->rank = low->graph->batched ? clarke_axes_of_sample(&s->batch, s->e.rank[2], s->shape) : s->e.rank[2];
  return s->rank <= CLARKE_MAX_RANK ? CLARKE_OK : clarke_lower_fail(low, err, "more than %d axes", CLARKE_MAX_RANK);
}

/* --- Layouts --- */

/* Do the operand's entries differ along the label? Else it has not the label, or one entry there for all. */
static bool
goes_along(const einsum *s, size_t i, size_t label)
{
  const size_t a = axis_of(s, i, label);

  return a != CLARKE_NONE && s->dims[i][a] == s->extent[label];
}

static layout
empty(void)
{
  return (layout){.count = 1};
}

static void
append(layout *l, const einsum *s, size_t label)
{
  l->label[l->n++] = (unsigned char)label;
  l->count = __builtin_mul_overflow(l->count, s->extent[label], &l->count) || l->count > CLARKE_MAX_MAP ? CLARKE_MAX_MAP + 1 : l->count;
}

static layout
joined(const einsum *s, const layout *a, const layout *b, const layout *c)
{
  const layout *part[3] = {a, b, c};
  layout l = empty();

  for (size_t p = 0; p < 3; p++)
    for (size_t i = 0; part[p] != NULL && i < part[p]->n; i++)
      append(&l, s, part[p]->label[i]);
  return l;
}

/* The labels of the result along which operand 0 goes, or not, and operand 1, or not. */
static layout
kept(const einsum *s, size_t x, bool along_x, bool along_w)
{
  layout l = empty();

  for (size_t a = 0; a < s->e.rank[2]; a++) {
    const size_t label = s->e.label[2][a];

    if (goes_along(s, x, label) == along_x && (s->e.n == 2 && goes_along(s, 1 - x, label)) == along_w)
      append(&l, s, label);
  }
  return l;
}

/* Those that the result has not. */
static layout
summed(const einsum *s)
{
  layout l = empty();

  for (size_t label = 0; label < CLARKE_N_LABELS; label++)
    if (s->extent[label] > 0 && axis_of(s, 2, label) == CLARKE_NONE)
      append(&l, s, label);
  return l;
}

static layout
result(const einsum *s)
{
  layout l = empty();

  for (size_t a = 0; a < s->e.rank[2]; a++)
    append(&l, s, s->e.label[2][a]);
  return l;
}

/* How far apart entries of operand i are along each label; the diagonal of axes that have the same. */
static void
steps_of_operand(const einsum *s, size_t i, size_t *apart)
{
  memset(apart, 0, CLARKE_N_LABELS * sizeof *apart);
  for (size_t a = s->e.rank[i], next = 1; a-- > 0; next *= s->dims[i][a])
    apart[s->e.label[i][a]] += s->dims[i][a] > 1 ? next : 0;
}

static void
steps_of_layout(const einsum *s, const layout *l, size_t *apart)
{
  memset(apart, 0, CLARKE_N_LABELS * sizeof *apart);
  for (size_t a = l->n, next = 1; a-- > 0; next *= s->extent[l->label[a]])
    apart[l->label[a]] = next;
}

static size_t
entry_of(const einsum *s, const layout *l, const size_t *apart, size_t f)
{
  size_t at = 0;

  for (size_t a = l->n; a-- > 0; f /= s->extent[l->label[a]])
    at += f % s->extent[l->label[a]] * apart[l->label[a]];
  return at;
}

/* Do `count` entries lie as the layout has them? */
static bool
lies_so(const einsum *s, const layout *l, const size_t *apart, size_t count)
{
  bool same = l->count == count;

  for (size_t f = 0; f < l->count && same; f++)
    same = entry_of(s, l, apart, f) == f;
  return same;
}

/* Gives operand i of the step the map from the layout. */
static clarke_status
add_map(const einsum *s, clarke_lowering *low, clarke_step *step, size_t i, const layout *l, const size_t *apart, clarke_error *err)
{
  size_t *map;

  if (lies_so(s, l, apart, low->graph->values[step->in[i].value].count))
    return CLARKE_OK;
  map = clarke_lower_map(low, step, i, l->count, err);
  for (size_t f = 0; map != NULL && f < l->count; f++)
    map[f] = entry_of(s, l, apart, f);
  return map != NULL ? CLARKE_OK : err != NULL ? err->code : CLARKE_ENOMEM;
}

/* --- Steps --- */

/* A step whose output is laid out so: in the result's shape if the result is. */
static clarke_step *
add_step(const einsum *s, clarke_lowering *low, clarke_step_kind kind, size_t n_in, const layout *l, clarke_error *err)
{
  const layout out = result(s);
  size_t apart[CLARKE_N_LABELS];
  clarke_step *step;
  bool last;

  if (l->count > CLARKE_MAX_MAP || out.count > CLARKE_MAX_MAP) {
    clarke_lower_too_large(low, err);
    return NULL;
  }
  steps_of_layout(s, l, apart);
  last = lies_so(s, &out, apart, l->count);
  step = last ? clarke_lower_step(low, kind, n_in, s->rank, s->shape, err) : clarke_lower_step(low, kind, n_in, 1, &l->count, err);
  if (step != NULL && last)
    low->graph->values[step->out].batch = s->batch;
  return step;
}

/* *value, whose entries are so far apart along each label, in the layout: a step, if they do not lie so or it is `needed`. */
static clarke_status
move(const einsum *s, clarke_lowering *low, size_t *value, const layout *to, const size_t *apart, bool needed, clarke_error *err)
{
  clarke_step *step;
  clarke_status status;

  if (!needed && lies_so(s, to, apart, low->graph->values[*value].count))
    return CLARKE_OK;
  step = add_step(s, low, CLARKE_GATHER, 1, to, err);
  if (step == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  step->in[0].value = *value;
  *value = step->out;
  status = add_map(s, low, step, 0, to, apart, err);
  return status;
}

/* The result from a value that is laid out as `made`. */
static clarke_status
finish(const einsum *s, clarke_lowering *low, size_t value, const layout *made, bool negated, clarke_error *err)
{
  const layout out = result(s);
  size_t apart[CLARKE_N_LABELS];
  clarke_status status;

  steps_of_layout(s, made, apart);
  status = move(s, low, &value, &out, apart, false, err);
  return status == CLARKE_OK ? clarke_lower_done_signed(low, value, negated, err) : status;
}

static clarke_status
multiply_activations(const einsum *s, clarke_lowering *low, clarke_error *err)
{
  const layout blocks = kept(s, 0, true, true), rows = kept(s, 0, true, false), cols = kept(s, 0, false, true), inner = summed(s);
  const layout left = joined(s, &blocks, &rows, &inner), right = joined(s, &blocks, &inner, &cols), made = joined(s, &blocks, &rows, &cols);
  size_t apart[CLARKE_N_LABELS];
  clarke_step *step;
  clarke_status status;

  if (left.count > CLARKE_MAX_MAP || right.count > CLARKE_MAX_MAP)
    return clarke_lower_too_large(low, err);
  step = add_step(s, low, CLARKE_PRODUCT, 2, &made, err);
  if (step == NULL)
    return err != NULL ? err->code : CLARKE_ENOMEM;
  step->in[0].value = low->in[0];
  step->in[1].value = low->in[1];
  step->contraction = (clarke_contraction){blocks.count, rows.count, inner.count, cols.count};
  steps_of_operand(s, 0, apart);
  status = add_map(s, low, step, 0, &left, apart, err);
  steps_of_operand(s, 1, apart);
  if (status == CLARKE_OK)
    status = add_map(s, low, step, 1, &right, apart, err);
  return status == CLARKE_OK ? finish(s, low, step->out, &made, false, err) : status;
}

/* The constant as a DENSE step takes it: outer x inner for each group; or, of one group, inner x outer, if it lies so. */
static clarke_status
lay_weight(const einsum *s, clarke_lowering *low, size_t w, const layout *group, const layout *outer, const layout *inner, clarke_dense *d,
           clarke_error *err)
{
  const layout rows = joined(s, group, outer, inner), turned = joined(s, inner, outer, NULL);
  const size_t dims[3] = {group->count, outer->count, inner->count}, count = clarke_lower_value(low, w)->count;
  size_t apart[CLARKE_N_LABELS], *map;

  d->weight = low->in[w];
  if (rows.count > CLARKE_MAX_MAP)
    return clarke_lower_too_large(low, err);
  steps_of_operand(s, w, apart);
  d->transposed = group->count == 1 && lies_so(s, &turned, apart, count) && !lies_so(s, &rows, apart, count);
  if (d->transposed || lies_so(s, &rows, apart, count))
    return CLARKE_OK;
  map = malloc((rows.count + 1) * sizeof *map);
  if (map == NULL)
    return clarke_lower_no_memory(low, err);
  for (size_t e = 0; e < rows.count; e++)
    map[e] = entry_of(s, &rows, apart, e);
  return clarke_lower_rearranged_constant(low, w, 3, dims, map, &d->weight, err);
}

/* Operand x is an activation, the other one a constant. */
static clarke_status
multiply_by_constant(const einsum *s, clarke_lowering *low, size_t x, clarke_error *err)
{
  const layout group = kept(s, x, true, true), free = kept(s, x, true, false), outer = kept(s, x, false, true), inner = summed(s);
  const bool grouped = group.count > 1;
  const layout from = grouped ? joined(s, &group, &inner, &free) : joined(s, &group, &free, &inner);
  const layout made = grouped ? joined(s, &group, &outer, &free) : joined(s, &group, &free, &outer);
  clarke_dense d = {.grouped = grouped, .blocks = grouped ? group.count : free.count, .inner = inner.count, .outer = outer.count,
                    .repeat = grouped ? free.count : 1};
  size_t apart[CLARKE_N_LABELS], value = low->in[x];
  const bool negated = clarke_lower_value(low, 1 - x)->negated;
  clarke_step *step;
  clarke_status status = clarke_lower_weight(low, 1 - x, err);

  if (status == CLARKE_OK)
    status = lay_weight(s, low, 1 - x, &group, &outer, &inner, &d, err);
  steps_of_operand(s, x, apart);
  if (status == CLARKE_OK)
    status = move(s, low, &value, &from, apart, false, err);
  step = status == CLARKE_OK ? add_step(s, low, CLARKE_DENSE, 1, &made, err) : NULL;
  if (step == NULL)
    return status != CLARKE_OK ? status : err != NULL ? err->code : CLARKE_ENOMEM;
  step->in[0].value = value;
  step->dense = d;
  return finish(s, low, step->out, &made, negated, err);
}

/* One operand: its entries moved, and summed. */
static clarke_status
add_up(const einsum *s, clarke_lowering *low, clarke_error *err)
{
  const layout out = result(s), inner = summed(s), from = joined(s, &out, &inner, NULL);
  const size_t row[2] = {1, inner.count};
  size_t apart[CLARKE_N_LABELS], value = low->in[0], ones;
  clarke_step *step;
  clarke_status status;

  steps_of_operand(s, 0, apart);
  status = move(s, low, &value, &from, apart, inner.count == 1, err);
  if (status != CLARKE_OK || inner.count == 1)
    return status == CLARKE_OK ? clarke_lower_done(low, value, err) : status;
  status = clarke_lower_made(low, 2, row, &ones, err);
  step = status == CLARKE_OK ? add_step(s, low, CLARKE_DENSE, 1, &out, err) : NULL;
  if (step == NULL)
    return status != CLARKE_OK ? status : err != NULL ? err->code : CLARKE_ENOMEM;
  for (size_t i = 0; i < inner.count; i++)
    low->graph->values[ones].real[i] = 1;
  step->in[0].value = value;
  step->dense = (clarke_dense){.weight = ones, .blocks = out.count, .inner = inner.count, .outer = 1, .repeat = 1};
  return clarke_lower_done(low, step->out, err);
}

static clarke_status
lower_einsum(clarke_lowering *low, clarke_error *err)
{
  einsum s = {.e = {.n = 0}};
  clarke_status status = clarke_lower_lift(low, err);

  if (status == CLARKE_OK)
    status = read_node(&s, low, err);
  if (status != CLARKE_OK)
    return status;
  if (s.e.n == 1)
    return add_up(&s, low, err);
  if (!clarke_lower_value(low, 0)->constant && !clarke_lower_value(low, 1)->constant)
    return multiply_activations(&s, low, err);
  return multiply_by_constant(&s, low, clarke_lower_value(low, 0)->constant ? 1 : 0, err);
}

const clarke_op clarke_ops_einsum[] = {
  {.name = "Einsum", .forms = {{12, 1, 1024, 1, "equation:s"}}, .lower = lower_einsum, .batch = CLARKE_BATCH_ANY, .takes_negated = true,
   .multiplies = true},
  {.name = NULL},
};
