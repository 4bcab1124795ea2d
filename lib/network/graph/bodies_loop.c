/* Loop and Scan (bodies.h): as many copies of a graph as there are rounds. */
#include "network/graph/bodies_inside.h"

#include "base/room.h"
#include "op/node.h"

#include <stdlib.h>
#include <string.h>

/* One value of each round. */
typedef struct {
  size_t *value, n, capacity;
} rounds;

static clarke_status
add_round(const clarke_holder *h, rounds *r, size_t value, clarke_error *err)
{
  if (!clarke_room(&r->value, &r->capacity, r->n + 1, sizeof *r->value))
    return clarke_lower_no_memory(&h->low, err);
  r->value[r->n++] = value;
  return CLARKE_OK;
}

/* A value of a round, with a further axis to lie along. */
static size_t
laid(clarke_holder *h, size_t value, int64_t axis, const char *op, clarke_error *err)
{
  const size_t list = value != CLARKE_NONE ? clarke_inner_integers(&h->low, &axis, 1, err) : CLARKE_NONE;

  return list != CLARKE_NONE ? clarke_inner_node(&h->low, op, (size_t[]){value, list}, 2, NULL, 0, err) : CLARKE_NONE;
}

/* All rounds' values, along the axis; the last first when they are turned. */
static clarke_status
join(clarke_holder *h, rounds *r, int64_t axis, bool turned, size_t *value, clarke_error *err)
{
  const clarke_attr attr = clarke_inner_int("axis", axis);

  if (r->n == 0)
    return clarke_lower_fail(&h->low, err, "an output of no rounds has no entries");
  for (size_t k = 0; k < r->n; k++)
    if ((r->value[k] = laid(h, r->value[k], axis, "Unsqueeze", err)) == CLARKE_NONE)
      return clarke_inner_failed(err);
  for (size_t k = 0; turned && k < r->n / 2; k++) {
    const size_t other = r->value[k];

    r->value[k] = r->value[r->n - 1 - k];
    r->value[r->n - 1 - k] = other;
  }
  *value = clarke_inner_node(&h->low, "Concat", r->value, r->n, &attr, 1, err);
  return *value != CLARKE_NONE ? CLARKE_OK : clarke_inner_failed(err);
}

/* A loop: its states' names, `first` of the graph's inputs before them and `lead` outputs; and of further outputs the rounds. */
typedef struct {
  clarke_instance i;
  size_t n, first, lead, n_kept;
  char **state;
  rounds *kept;
} loop;

static clarke_status
begin_loop(loop *l, clarke_holder *h, const clarke_body *body, size_t first_in, clarke_error *err)
{
  clarke_status status = clarke_instance_begin(&l->i, h, body, err);

  l->state = calloc(l->n + 1, sizeof *l->state);
  l->kept = calloc(l->n_kept + 1, sizeof *l->kept);
  if (status == CLARKE_OK && (l->state == NULL || l->kept == NULL))
    status = clarke_lower_no_memory(&h->low, err);
  for (size_t k = 0; k < l->n && status == CLARKE_OK; k++) {
    size_t value;

    l->state[k] = strdup(h->low.node->in[first_in + k]);
    status = clarke_holder_value(h, l->state[k], &value, err);
  }
  return status;
}

static void
end_loop(loop *l, clarke_holder *h)
{
  for (size_t k = 0; l->state != NULL && k < l->n; k++)
    free(l->state[k]);
  free(l->state);
  for (size_t k = 0; l->kept != NULL && k < l->n_kept; k++)
    free(l->kept[k].value);
  free(l->kept);
  clarke_instance_end(&l->i, h);
}

static clarke_status
run_round(loop *l, clarke_holder *h, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < l->n; k++) {
    free(l->i.given[l->first + k]);
    l->i.given[l->first + k] = l->state[k];
    l->state[k] = NULL;
  }
  status = clarke_instance_run(&l->i, h, err);
  for (size_t k = 0; k < l->n && status == CLARKE_OK; k++) {
    l->state[k] = clarke_instance_name(&l->i, l->i.body->outputs[l->lead + k].name);
    if (l->state[k] == NULL)
      status = clarke_lower_no_memory(&h->low, err);
  }
  for (size_t k = 0; k < l->n_kept && status == CLARKE_OK; k++) {
    size_t value;

    status = clarke_instance_output(&l->i, h, l->lead + l->n + k, &value, err);
    if (status == CLARKE_OK)
      status = add_round(h, &l->kept[k], value, err);
  }
  h->b->within = l->i.outer;
  return status;
}

static clarke_status
last_states(const loop *l, const clarke_holder *h, size_t *value, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < l->n && status == CLARKE_OK; k++)
    status = clarke_holder_value(h, l->state[k], &value[k], err);
  return status;
}

/* The number of the round, and that it is begun. */
static clarke_status
hand_in_number(clarke_holder *h, clarke_instance *i, size_t k, clarke_dtype dtype, int64_t number, clarke_error *err)
{
  const size_t value = clarke_inner_integers(&h->low, &number, 1, err);

  if (value == CLARKE_NONE)
    return clarke_inner_failed(err);
  h->low.graph->values[value].rank = 0;
  h->low.graph->values[value].dtype = dtype;
  return clarke_instance_give(i, h, k, value, err);
}

/* How many rounds there are at most, and whether there is one: both known. */
static clarke_status
read_trips(const clarke_holder *h, int64_t *most, bool *goes, clarke_error *err)
{
  const clarke_model_node *node = h->low.node;
  bool known = true;
  size_t value;

  *most = INT64_MAX;
  *goes = true;
  if (node->in[0][0] != '\0') {
    const clarke_value *v;
    const clarke_status status = clarke_holder_value(h, node->in[0], &value, err);

    if (status != CLARKE_OK)
      return status;
    v = &h->low.graph->values[value];
    if (!v->constant || v->integer == NULL || v->dtype != CLARKE_I64 || v->count != 1)
      return clarke_lower_fail(&h->low, err, "the number of rounds, '%s', is no constant integer", node->in[0]);
    *most = v->integer[0];
  }
  if (node->in[1][0] != '\0') {
    const clarke_status status = clarke_holder_value(h, node->in[1], &value, err);

    if (status != CLARKE_OK)
      return status;
    *goes = clarke_holder_is_true(&h->low.graph->values[value], &known);
  }
  return known ? CLARKE_OK
               : clarke_lower_fail(&h->low, err, "its condition, '%s', is not one constant truth value", node->in[1]);
}

static clarke_status
run_rounds(loop *l, clarke_holder *h, int64_t most, bool goes, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (int64_t k = 0; goes && k < most && status == CLARKE_OK; k++) {
    bool known = true;
    size_t value;

    if (!clarke_instance_suffix(&l->i, true, (size_t)k))
      return clarke_lower_no_memory(&h->low, err);
    status = hand_in_number(h, &l->i, 0, CLARKE_I64, k, err);
    if (status == CLARKE_OK)
      status = hand_in_number(h, &l->i, 1, CLARKE_BOOL, 1, err);
    if (status == CLARKE_OK)
      status = run_round(l, h, err);
    if (status == CLARKE_OK)
      status = clarke_instance_output(&l->i, h, 0, &value, err);
    if (status == CLARKE_OK)
      goes = clarke_holder_is_true(&h->low.graph->values[value], &known);
    if (status == CLARKE_OK && known && !goes && k + 1 < most && h->low.node->in[1][0] == '\0')
      status = clarke_lower_fail(&h->low, err,
                                 "its condition is left out, and its graph ends it after round %lld: ONNX goes on, and runtimes end. Give it a "
                                 "condition, true at first",
                                 (long long)k);
    if (status == CLARKE_OK && !known)
      status = clarke_lower_fail(&h->low, err,
                                 "whether it goes on after round %lld is no constant: how many rounds there are is not known",
                                 (long long)k);
  }
  return status;
}

/* Some runtimes write the next round's number over that which a graph hands out as it came. */
static clarke_status
check_number_stays(const clarke_holder *h, const clarke_body *body, clarke_error *err)
{
  for (size_t k = 0; k < body->n_outputs; k++)
    if (strcmp(body->outputs[k].name, body->inputs[0].name) == 0)
      return clarke_lower_fail(&h->low, err,
                               "the round's number '%s' itself goes out of its graph, which not all runtimes keep: hand out an Identity of it",
                               body->inputs[0].name);
  return CLARKE_OK;
}

clarke_status
clarke_holder_loop(clarke_holder *h, size_t *value, clarke_error *err)
{
  const clarke_model_node *node = h->low.node;
  loop l = {.n = node->own_in >= 2 ? node->own_in - 2 : 0, .first = 2, .lead = 1};
  const clarke_body *body = NULL;
  int64_t most;
  bool goes;
  clarke_status status;

  if (node->own_in < 2 || node->n_out < l.n)
    return clarke_lower_fail(&h->low, err,
                             "%zu inputs and %zu outputs; expected the number of rounds, a condition, and each state in and out",
                             node->own_in, node->n_out);
  l.n_kept = node->n_out - l.n;
  status = clarke_holder_body(h, "body", l.n + 2, node->n_out + 1, &body, err);
  if (status == CLARKE_OK)
    status = check_number_stays(h, body, err);
  if (status == CLARKE_OK)
    status = read_trips(h, &most, &goes, err);
  if (status != CLARKE_OK)
    return status;
  status = begin_loop(&l, h, body, 2, err);
  if (status == CLARKE_OK)
    status = run_rounds(&l, h, most, goes, err);
  if (status == CLARKE_OK)
    status = last_states(&l, h, value, err);
  for (size_t k = 0; k < l.n_kept && status == CLARKE_OK; k++)
    if (node->out[l.n + k][0] != '\0')
      status = join(h, &l.kept[k], 0, false, &value[l.n + k], err);
  end_loop(&l, h);
  return status;
}

/* Entry k of a list of the node's; of none 0. */
static clarke_status
entry_of(const clarke_holder *h, const char *name, size_t k, size_t n, int64_t *entry, clarke_error *err)
{
  const clarke_attr *attr = clarke_model_attr(h->low.node, name);

  if (attr != NULL && (attr->type != CLARKE_ATTR_INTS || attr->n != n))
    return clarke_lower_fail(&h->low, err, "%s is no list of %zu numbers", name, n);
  *entry = attr != NULL ? attr->ints[k] : 0;
  return CLARKE_OK;
}

/* The n inputs that are gone through: the axes, the directions and the length, which is the same for all. */
typedef struct {
  size_t n, *value, *axis, length;
  bool *turned;
} sequences;

static clarke_status
read_sequence(sequences *s, const clarke_holder *h, size_t k, size_t first, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE];
  int64_t axis = 0, turned = 0;
  clarke_status status = clarke_holder_value(h, h->low.node->in[first + k], &s->value[k], err);

  if (status == CLARKE_OK)
    status = entry_of(h, "scan_input_axes", k, s->n, &axis, err);
  if (status == CLARKE_OK)
    status = entry_of(h, "scan_input_directions", k, s->n, &turned, err);
  if (status != CLARKE_OK)
    return status;
  status = clarke_axes_resolve(&h->low, axis, clarke_holder_axes(h, s->value[k], dims), &s->axis[k], err);
  if (status != CLARKE_OK)
    return status;
  s->turned[k] = turned != 0;
  if (turned < 0 || turned > 1 || (k > 0 && dims[s->axis[k]] != s->length))
    return clarke_lower_fail(&h->low, err,
                             "a direction is neither 0 nor 1, or input %zu has %zu entries along its axis and one before it %zu",
                             first + k, dims[s->axis[k]], s->length);
  s->length = dims[s->axis[k]];
  return CLARKE_OK;
}

static clarke_status
scan(loop *l, const sequences *s, clarke_holder *h, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t r = 0; r < s->length && status == CLARKE_OK; r++) {
    if (!clarke_instance_suffix(&l->i, true, r))
      return clarke_lower_no_memory(&h->low, err);
    for (size_t k = 0; k < s->n && status == CLARKE_OK; k++) {
      const size_t at = s->turned[k] ? s->length - 1 - r : r;
      size_t value = clarke_inner_sliced(&h->low, s->value[k], s->axis[k], at, at + 1, err);

      value = laid(h, value, (int64_t)s->axis[k], "Squeeze", err);
      status = value != CLARKE_NONE ? clarke_instance_give(&l->i, h, l->n + k, value, err) : clarke_inner_failed(err);
    }
    if (status == CLARKE_OK)
      status = run_round(l, h, err);
  }
  return status;
}

static clarke_status
join_scanned(loop *l, clarke_holder *h, size_t *value, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < l->n_kept && status == CLARKE_OK; k++) {
    int64_t axis = 0, turned = 0;

    if (h->low.node->out[l->n + k][0] == '\0')
      continue;
    status = entry_of(h, "scan_output_axes", k, l->n_kept, &axis, err);
    if (status == CLARKE_OK)
      status = entry_of(h, "scan_output_directions", k, l->n_kept, &turned, err);
    if (status == CLARKE_OK && (turned < 0 || turned > 1))
      status = clarke_lower_fail(&h->low, err, "a direction is neither 0 nor 1");
    if (status == CLARKE_OK)
      status = join(h, &l->kept[k], axis, turned == 1, &value[l->n + k], err);
  }
  return status;
}

static clarke_status
scan_all(loop *l, sequences *s, const clarke_body *body, clarke_holder *h, size_t *value, clarke_error *err)
{
  clarke_status status = begin_loop(l, h, body, 0, err);

  for (size_t k = 0; k < s->n && status == CLARKE_OK; k++)
    status = read_sequence(s, h, k, l->n, err);
  if (status == CLARKE_OK)
    status = scan(l, s, h, err);
  if (status == CLARKE_OK)
    status = last_states(l, h, value, err);
  if (status == CLARKE_OK)
    status = join_scanned(l, h, value, err);
  end_loop(l, h);
  return status;
}

clarke_status
clarke_holder_scan(clarke_holder *h, size_t *value, clarke_error *err)
{
  const clarke_model_node *node = h->low.node;
  const int64_t n = clarke_lower_int(&h->low, "num_scan_inputs", 0);
  sequences s = {0};
  loop l = {0};
  const clarke_body *body = NULL;
  clarke_status status;

  if (h->low.opset < 9)
    return clarke_lower_fail(&h->low, err, "before operator set 9 a Scan goes through a batch; export with a later one");
  if (n < 1 || (uint64_t)n > node->own_in || node->n_out < node->own_in - (size_t)n)
    return clarke_lower_fail(&h->low, err, "num_scan_inputs is %lld of %zu inputs, and there are %zu outputs", (long long)n,
                             node->own_in, node->n_out);
  s.n = (size_t)n;
  l.n = node->own_in - s.n;
  l.n_kept = node->n_out - l.n;
  status = clarke_holder_body(h, "body", node->own_in, node->n_out, &body, err);
  if (status != CLARKE_OK)
    return status;
  s.value = calloc(s.n, sizeof *s.value);
  s.axis = calloc(s.n, sizeof *s.axis);
  s.turned = calloc(s.n, sizeof *s.turned);
  status = s.value != NULL && s.axis != NULL && s.turned != NULL ? scan_all(&l, &s, body, h, value, err)
                                                                 : clarke_lower_no_memory(&h->low, err);
  free(s.value);
  free(s.axis);
  free(s.turned);
  return status;
}
