#include "network/graph/bodies.h"

#include "base/limit.h"
#include "base/text.h"
#include "op/axes.h"
#include "op/lower.h"
#include "op/node.h"

#include <stdlib.h>
#include <string.h>

/* A name that a graph defines: its input of that number; or what a node of its makes, CLARKE_NONE. */
typedef struct {
  const char *name;
  size_t input;
} own_name;

/* A graph as it is read once: its names, what its inputs are, what is put behind other names of its. */
typedef struct clarke_instance {
  const struct clarke_instance *outer;
  const clarke_body *body;
  own_name *own; /* by name */
  size_t n_own;
  char **given, *suffix;
} instance;

typedef struct {
  clarke_builder *b;
  clarke_lowering low; /* of the node that holds the graphs, for messages and nodes within it */
} holder;

static int
by_name(const void *a, const void *b)
{
  return strcmp(((const own_name *)a)->name, ((const own_name *)b)->name);
}

static clarke_status
begin(instance *i, holder *h, const clarke_body *body, clarke_error *err)
{
  size_t n = body->n_inputs;

  memset(i, 0, sizeof *i);
  i->outer = h->b->within;
  i->body = body;
  for (size_t k = 0; k < body->n_nodes; k++)
    n += body->nodes[k].n_out;
  i->own = calloc(n + 1, sizeof *i->own);
  i->given = calloc(body->n_inputs + 1, sizeof *i->given);
  if (i->own == NULL || i->given == NULL)
    return clarke_lower_no_memory(&h->low, err);
  for (size_t k = 0; k < body->n_inputs; k++)
    i->own[i->n_own++] = (own_name){body->inputs[k].name, k};
  for (size_t k = 0; k < body->n_nodes; k++)
    for (size_t o = 0; o < body->nodes[k].n_out; o++)
      if (body->nodes[k].out[o][0] != '\0')
        i->own[i->n_own++] = (own_name){body->nodes[k].out[o], CLARKE_NONE};
  qsort(i->own, i->n_own, sizeof *i->own, by_name);
  return CLARKE_OK;
}

static void
end(instance *i, holder *h)
{
  for (size_t k = 0; i->given != NULL && k < i->body->n_inputs; k++)
    free(i->given[k]);
  free(i->given);
  free(i->own);
  free(i->suffix);
  h->b->within = i->outer;
}

/* What is put behind the names of round k; of a branch, what is put behind those around it. */
static bool
set_suffix(instance *i, bool round, size_t k)
{
  const char *outer = i->outer != NULL ? i->outer->suffix : "";

  free(i->suffix);
  i->suffix = round ? clarke_text_print("%s/%zu", outer, k) : strdup(outer);
  return i->suffix != NULL;
}

/* The value that a name of a graph stands for; NULL: out of memory. */
static char *
name_of(const instance *i, const char *name)
{
  const own_name key = {name, 0}, *found = NULL;

  for (; i != NULL && *name != '\0'; i = i->outer) {
    found = i->n_own > 0 ? bsearch(&key, i->own, i->n_own, sizeof key, by_name) : NULL;
    if (found != NULL)
      break;
  }
  if (found == NULL)
    return strdup(name);
  return found->input != CLARKE_NONE ? strdup(i->given[found->input]) : clarke_text_print("%s%s", name, i->suffix);
}

static bool
copy_names(char ***to, char *const *from, size_t n, const instance *i)
{
  bool room = true;

  *to = calloc(n + 1, sizeof **to);
  for (size_t k = 0; *to != NULL && k < n; k++) {
    (*to)[k] = name_of(i, from[k]);
    room = room && (*to)[k] != NULL;
  }
  return room && *to != NULL;
}

static void
free_names(char **names, size_t n)
{
  for (size_t k = 0; names != NULL && k < n; k++)
    free(names[k]);
  free(names);
}

static clarke_status
count(holder *h, size_t n, clarke_error *err)
{
  h->b->n_within += n;
  if (h->b->n_within + h->b->m->n_nodes > clarke_limit_of(CLARKE_LIMIT_NODES))
    return clarke_limit_fail(err, CLARKE_LIMIT_NODES,
                             "%s: node %zu '%s' (%s): with its graph, round after round, a network of %zu nodes or more",
                             h->low.graph->file, h->low.place, h->low.node->name, h->low.node->op_type,
                             h->b->n_within + h->b->m->n_nodes);
  return CLARKE_OK;
}

/* The node, with the names that its graph's have now. */
static clarke_status
lower_copy(holder *h, const instance *i, const clarke_model_node *node, clarke_error *err)
{
  clarke_model_node copy = *node;
  const size_t first = h->low.graph->n_values;
  bool room = copy_names(&copy.in, node->in, node->n_in, i);
  clarke_status status;

  room = copy_names(&copy.out, node->out, node->n_out, i) && room;
  copy.name = node->name[0] != '\0' ? clarke_text_print("%s%s", node->name, i->suffix) : strdup("");
  copy.within = true;
  status = room && copy.name != NULL ? clarke_builder_node(h->b, &copy, h->low.place, err)
                                     : clarke_lower_no_memory(&h->low, err);
  for (size_t v = first; v < h->low.graph->n_values; v++)
    h->low.graph->values[v].within = h->low.graph->values[v].constant;
  free_names(copy.in, node->n_in);
  free_names(copy.out, node->n_out);
  free(copy.name);
  return status;
}

static clarke_status
run(holder *h, instance *i, clarke_error *err)
{
  clarke_status status = count(h, i->body->n_nodes + 1, err);

  h->b->within = i;
  for (size_t k = 0; k < i->body->n_nodes && status == CLARKE_OK; k++)
    status = lower_copy(h, i, &i->body->nodes[k], err);
  return status;
}

/* Its graph of that name, which must take and give so many values. */
static clarke_status
find_body(const holder *h, const char *name, size_t n_in, size_t n_out, const clarke_body **body, clarke_error *err)
{
  const clarke_attr *attr = clarke_model_attr(h->low.node, name);

  if (attr == NULL || attr->g == NULL)
    return clarke_lower_fail(&h->low, err, "it has no graph '%s'", name);
  *body = attr->g;
  if (attr->g->n_inputs == n_in && attr->g->n_outputs == n_out)
    return CLARKE_OK;
  return clarke_lower_fail(&h->low, err, "its graph '%s' takes %zu values and gives %zu; expected %zu and %zu", name,
                           attr->g->n_inputs, attr->g->n_outputs, n_in, n_out);
}

static clarke_status
find_value(const holder *h, const char *name, size_t *value, clarke_error *err)
{
  *value = name != NULL ? clarke_builder_find(h->b, name) : CLARKE_NONE;
  if (name == NULL)
    return clarke_lower_no_memory(&h->low, err);
  return *value != CLARKE_NONE ? CLARKE_OK : clarke_lower_fail(&h->low, err, "'%s' is computed by no node before it", name);
}

/* Output k of the graph. */
static clarke_status
output_of(const holder *h, const instance *i, size_t k, size_t *value, clarke_error *err)
{
  char *name = name_of(i, i->body->outputs[k].name);
  const clarke_status status = find_value(h, name, value, err);

  free(name);
  return status;
}

/* A truth value that is known; else *known is false. */
static bool
is_true(const clarke_value *v, bool *known)
{
  *known = v->constant && v->integer != NULL && v->dtype == CLARKE_BOOL && v->count == 1;
  return *known && v->integer[0] != 0;
}

/* The value has the name of the graph's input k in this round. */
static clarke_status
hand_in(holder *h, instance *i, size_t k, size_t value, clarke_error *err)
{
  char *name = clarke_text_print("%s%s", i->body->inputs[k].name, i->suffix);

  free(i->given[k]);
  i->given[k] = name;
  if (name == NULL)
    return clarke_lower_no_memory(&h->low, err);
  free(h->low.graph->values[value].name);
  h->low.graph->values[value].name = strdup(name);
  return h->low.graph->values[value].name != NULL ? clarke_builder_bind(h->b, name, value, err)
                                                  : clarke_lower_no_memory(&h->low, err);
}

static clarke_status
give_all(holder *h, const size_t *value, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < h->low.node->n_out && status == CLARKE_OK; k++)
    if (h->low.node->out[k][0] != '\0')
      status = clarke_inner_done(&h->low, k, value[k], err);
  return status == CLARKE_OK ? clarke_builder_outputs(h->b, &h->low, err) : status;
}

/* --- If --- */

static clarke_status
run_branch(holder *h, const char *name, size_t *value, clarke_error *err)
{
  const size_t n = h->low.node->n_out;
  const clarke_body *body = NULL;
  instance i;
  clarke_status status = find_body(h, name, 0, n, &body, err);

  if (status != CLARKE_OK)
    return status;
  status = begin(&i, h, body, err);
  if (status == CLARKE_OK && !set_suffix(&i, false, 0))
    status = clarke_lower_no_memory(&h->low, err);
  if (status == CLARKE_OK)
    status = run(h, &i, err);
  for (size_t k = 0; k < n && status == CLARKE_OK; k++)
    status = output_of(h, &i, k, &value[k], err);
  end(&i, h);
  return status;
}

/* A value's whole axes, all samples of a run on the batch's. */
static size_t
axes_of(const holder *h, size_t value, size_t dims[CLARKE_MAX_WHOLE])
{
  clarke_lowering low = h->low;

  low.in = &value;
  low.n_in = 1;
  return clarke_axes_of_run(&low, 0, dims);
}

/* Both branches, and of them what a condition that is computed of activations chooses: it jumps where that does. */
static clarke_status
choose_branches(holder *h, size_t condition, size_t *value, size_t *other, clarke_error *err)
{
  size_t dims[2][CLARKE_MAX_WHOLE], one[CLARKE_MAX_WHOLE], rank;
  clarke_status status = run_branch(h, "then_branch", value, err);

  if (status == CLARKE_OK)
    status = run_branch(h, "else_branch", other, err);
  for (size_t k = 0; k < h->low.node->n_out && status == CLARKE_OK; k++) {
    rank = axes_of(h, value[k], dims[0]);
    if (axes_of(h, other[k], dims[1]) != rank || memcmp(dims[0], dims[1], rank * sizeof *dims[0]) != 0
        || axes_of(h, condition, one) > rank)
      return clarke_lower_fail(&h->low, err,
                               "output %zu has another shape in each branch, and activations choose, or fewer axes than "
                               "the condition: expected one shape", k);
    value[k] = clarke_inner_node(&h->low, "Where", (size_t[]){condition, value[k], other[k]}, 3, NULL, 0, err);
    if (value[k] == CLARKE_NONE)
      status = clarke_inner_failed(err);
  }
  return status;
}

static clarke_status
lower_if(holder *h, size_t *value, clarke_error *err)
{
  const size_t n = h->low.node->n_out;
  const clarke_graph *g = h->low.graph;
  size_t condition;
  bool known, holds;
  clarke_status status;

  if (h->low.node->own_in != 1)
    return clarke_lower_fail(&h->low, err, "%zu inputs; expected one, the condition", h->low.node->own_in);
  status = find_value(h, h->low.node->in[0], &condition, err);
  if (status != CLARKE_OK)
    return status;
  holds = is_true(&g->values[condition], &known);
  if (known)
    return run_branch(h, holds ? "then_branch" : "else_branch", value, err);
  if (g->values[condition].constant || g->values[condition].holds != CLARKE_HOLDS_TRUTHS || g->values[condition].count != 1
      || (g->batched && !g->values[condition].batch.none && g->together != 1))
    return clarke_lower_fail(&h->low, err, "its condition is not one truth value");
  return choose_branches(h, condition, value, value + n, err);
}

/* --- Loop and Scan --- */

/* One value of each round. */
typedef struct {
  size_t *value, n, capacity;
} rounds;

static clarke_status
add_round(const holder *h, rounds *r, size_t value, clarke_error *err)
{
  if (r->n == r->capacity) {
    const size_t wanted = 2 * r->capacity + 16;
    size_t *grown = realloc(r->value, wanted * sizeof *grown);

    if (grown == NULL)
      return clarke_lower_no_memory(&h->low, err);
    r->value = grown;
    r->capacity = wanted;
  }
  r->value[r->n++] = value;
  return CLARKE_OK;
}

/* A value of a round, with a further axis to lie along. */
static size_t
laid(holder *h, size_t value, int64_t axis, const char *op, clarke_error *err)
{
  const size_t list = value != CLARKE_NONE ? clarke_inner_integers(&h->low, &axis, 1, err) : CLARKE_NONE;

  return list != CLARKE_NONE ? clarke_inner_node(&h->low, op, (size_t[]){value, list}, 2, NULL, 0, err) : CLARKE_NONE;
}

/* All rounds' values, along the axis; the last first when they are turned. */
static clarke_status
join(holder *h, rounds *r, int64_t axis, bool turned, size_t *value, clarke_error *err)
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
  instance i;
  size_t n, first, lead, n_kept;
  char **state;
  rounds *kept;
} loop;

static clarke_status
begin_loop(loop *l, holder *h, const clarke_body *body, size_t first_in, clarke_error *err)
{
  clarke_status status = begin(&l->i, h, body, err);

  l->state = calloc(l->n + 1, sizeof *l->state);
  l->kept = calloc(l->n_kept + 1, sizeof *l->kept);
  if (status == CLARKE_OK && (l->state == NULL || l->kept == NULL))
    status = clarke_lower_no_memory(&h->low, err);
  for (size_t k = 0; k < l->n && status == CLARKE_OK; k++) {
    size_t value;

    l->state[k] = strdup(h->low.node->in[first_in + k]);
    status = find_value(h, l->state[k], &value, err);
  }
  return status;
}

static void
end_loop(loop *l, holder *h)
{
  free_names(l->state, l->n);
  for (size_t k = 0; l->kept != NULL && k < l->n_kept; k++)
    free(l->kept[k].value);
  free(l->kept);
  end(&l->i, h);
}

static clarke_status
run_round(loop *l, holder *h, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < l->n; k++) {
    free(l->i.given[l->first + k]);
    l->i.given[l->first + k] = l->state[k];
    l->state[k] = NULL;
  }
  status = run(h, &l->i, err);
  for (size_t k = 0; k < l->n && status == CLARKE_OK; k++) {
    l->state[k] = name_of(&l->i, l->i.body->outputs[l->lead + k].name);
    if (l->state[k] == NULL)
      status = clarke_lower_no_memory(&h->low, err);
  }
  for (size_t k = 0; k < l->n_kept && status == CLARKE_OK; k++) {
    size_t value;

    status = output_of(h, &l->i, l->lead + l->n + k, &value, err);
    if (status == CLARKE_OK)
      status = add_round(h, &l->kept[k], value, err);
  }
  h->b->within = l->i.outer;
  return status;
}

static clarke_status
last_states(const loop *l, const holder *h, size_t *value, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t k = 0; k < l->n && status == CLARKE_OK; k++)
    status = find_value(h, l->state[k], &value[k], err);
  return status;
}

/* The number of the round, and that it is begun. */
static clarke_status
hand_in_number(holder *h, instance *i, size_t k, clarke_dtype dtype, int64_t number, clarke_error *err)
{
  const size_t value = clarke_inner_integers(&h->low, &number, 1, err);

  if (value == CLARKE_NONE)
    return clarke_inner_failed(err);
  h->low.graph->values[value].rank = 0;
  h->low.graph->values[value].dtype = dtype;
  return hand_in(h, i, k, value, err);
}

/* How many rounds there are at most, and whether there is one: both known. */
static clarke_status
read_trips(const holder *h, int64_t *most, bool *goes, clarke_error *err)
{
  const clarke_model_node *node = h->low.node;
  bool known = true;
  size_t value;

  *most = INT64_MAX;
  *goes = true;
  if (node->in[0][0] != '\0') {
    const clarke_value *v;
    const clarke_status status = find_value(h, node->in[0], &value, err);

    if (status != CLARKE_OK)
      return status;
    v = &h->low.graph->values[value];
    if (!v->constant || v->integer == NULL || v->dtype != CLARKE_I64 || v->count != 1)
      return clarke_lower_fail(&h->low, err, "the number of rounds, '%s', is no constant integer", node->in[0]);
    *most = v->integer[0];
  }
  if (node->in[1][0] != '\0') {
    const clarke_status status = find_value(h, node->in[1], &value, err);

    if (status != CLARKE_OK)
      return status;
    *goes = is_true(&h->low.graph->values[value], &known);
  }
  return known ? CLARKE_OK
               : clarke_lower_fail(&h->low, err, "its condition, '%s', is not one constant truth value", node->in[1]);
}

static clarke_status
run_rounds(loop *l, holder *h, int64_t most, bool goes, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (int64_t k = 0; goes && k < most && status == CLARKE_OK; k++) {
    bool known = true;
    size_t value;

    if (!set_suffix(&l->i, true, (size_t)k))
      return clarke_lower_no_memory(&h->low, err);
    status = hand_in_number(h, &l->i, 0, CLARKE_I64, k, err);
    if (status == CLARKE_OK)
      status = hand_in_number(h, &l->i, 1, CLARKE_BOOL, 1, err);
    if (status == CLARKE_OK)
      status = run_round(l, h, err);
    if (status == CLARKE_OK)
      status = output_of(h, &l->i, 0, &value, err);
    if (status == CLARKE_OK)
      goes = is_true(&h->low.graph->values[value], &known);
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
check_number_stays(const holder *h, const clarke_body *body, clarke_error *err)
{
  for (size_t k = 0; k < body->n_outputs; k++)
    if (strcmp(body->outputs[k].name, body->inputs[0].name) == 0)
      return clarke_lower_fail(&h->low, err,
                               "the round's number '%s' itself goes out of its graph, which not all runtimes keep: hand out an Identity of it",
                               body->inputs[0].name);
  return CLARKE_OK;
}

static clarke_status
lower_loop(holder *h, size_t *value, clarke_error *err)
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
  status = find_body(h, "body", l.n + 2, node->n_out + 1, &body, err);
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
entry_of(const holder *h, const char *name, size_t k, size_t n, int64_t *entry, clarke_error *err)
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
read_sequence(sequences *s, const holder *h, size_t k, size_t first, clarke_error *err)
{
  size_t dims[CLARKE_MAX_WHOLE];
  int64_t axis = 0, turned = 0;
  clarke_status status = find_value(h, h->low.node->in[first + k], &s->value[k], err);

  if (status == CLARKE_OK)
    status = entry_of(h, "scan_input_axes", k, s->n, &axis, err);
  if (status == CLARKE_OK)
    status = entry_of(h, "scan_input_directions", k, s->n, &turned, err);
  if (status != CLARKE_OK)
    return status;
  status = clarke_axes_resolve(&h->low, axis, axes_of(h, s->value[k], dims), &s->axis[k], err);
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
scan(loop *l, const sequences *s, holder *h, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t r = 0; r < s->length && status == CLARKE_OK; r++) {
    if (!set_suffix(&l->i, true, r))
      return clarke_lower_no_memory(&h->low, err);
    for (size_t k = 0; k < s->n && status == CLARKE_OK; k++) {
      const size_t at = s->turned[k] ? s->length - 1 - r : r;
      size_t value = clarke_inner_sliced(&h->low, s->value[k], s->axis[k], at, at + 1, err);

      value = laid(h, value, (int64_t)s->axis[k], "Squeeze", err);
      status = value != CLARKE_NONE ? hand_in(h, &l->i, l->n + k, value, err) : clarke_inner_failed(err);
    }
    if (status == CLARKE_OK)
      status = run_round(l, h, err);
  }
  return status;
}

static clarke_status
join_scanned(loop *l, holder *h, size_t *value, clarke_error *err)
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
scan_all(loop *l, sequences *s, const clarke_body *body, holder *h, size_t *value, clarke_error *err)
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

static clarke_status
lower_scan(holder *h, size_t *value, clarke_error *err)
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
  status = find_body(h, "body", node->own_in, node->n_out, &body, err);
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

/* --- */

/* What each may have, and from which operator set on it is. */
static const struct {
  const char *op;
  clarke_status (*lower)(holder *h, size_t *value, clarke_error *err);
  const char *attributes;
} holders[] = {
  {"If", lower_if, " then_branch else_branch "},
  {"Loop", lower_loop, " body "},
  {"Scan", lower_scan,
   " body num_scan_inputs scan_input_axes scan_input_directions scan_output_axes scan_output_directions "},
};

#define N_HOLDERS (sizeof holders / sizeof *holders)

static size_t
find_holder(const clarke_model_node *node)
{
  size_t i = 0;

  while (i < N_HOLDERS && (node->domain[0] != '\0' || strcmp(holders[i].op, node->op_type) != 0))
    i++;
  return i;
}

bool
clarke_bodies_hold(const clarke_model_node *node)
{
  return find_holder(node) < N_HOLDERS;
}

static clarke_status
check_attributes(const holder *h, const char *known, clarke_error *err)
{
  for (size_t k = 0; k < h->low.node->n_attr; k++) {
    char *name = clarke_text_print(" %s ", h->low.node->attr[k].name);
    const bool found = name != NULL && strstr(known, name) != NULL;

    free(name);
    if (!found)
      return clarke_lower_fail(&h->low, err, "attribute '%s' is not known here; expected:%s", h->low.node->attr[k].name, known);
  }
  return CLARKE_OK;
}

clarke_status
clarke_bodies_lower(clarke_builder *b, const clarke_model_node *node, size_t own, clarke_error *err)
{
  const size_t i = find_holder(node);
  holder h = {.b = b, .low = {.graph = b->g, .node = node, .place = own, .opset = b->m->opset}};
  clarke_error local;
  size_t *value = calloc(3 * node->n_out + 1, sizeof *value); /* of the outputs, of another branch's; and for the lowering */
  clarke_status status;

  if (value == NULL)
    return clarke_lower_no_memory(&h.low, err);
  if (err == NULL)
    err = &local;
  h.low.out = value + 2 * node->n_out;
  for (size_t k = 0; k < node->n_out; k++)
    h.low.out[k] = CLARKE_NONE;
  status = check_attributes(&h, holders[i].attributes, err);
  if (status == CLARKE_OK && node->n_out == 0)
    status = clarke_lower_fail(&h.low, err, "it has no output");
  if (status == CLARKE_OK)
    status = holders[i].lower(&h, value, err);
  if (status == CLARKE_OK)
    status = give_all(&h, value, err);
  free(value);
  return status;
}
