/* A copy of a graph has the names of values around it, those that it is handed, and its own with the round behind them. */
#include "check/onnx/flow.h"
#include "check/base/allocate.h"
#include "check/base/limit.h"
#include "check/onnx/inner.h"
#include "check/onnx/lower.h"

#include <stdio.h>
#include <string.h>

/* own: the names of g's inputs, then of what its nodes make. */
typedef struct frame {
  const struct frame *outer;
  const body *g;
  name_index own;
  char **given;
  const char *behind; /* its own names: "/0/2" in round 2 of a loop in round 0 of another */
} frame;

/* ---- Names */

static char *
joined_text(const char *a, const char *b)
{
  size_t n = strlen(a) + strlen(b) + 1;
  char *text = allocate(n, 1);
  snprintf(text, n, "%s%s", a, b);
  return text;
}

static const char *
round_text(const frame *outer, size_t k)
{
  char number[32];
  snprintf(number, sizeof number, "/%zu", k);
  return joined_text(outer != NULL ? outer->behind : "", number);
}

static char *
meant(const frame *f, char *name)
{
  for (; f != NULL && *name != '\0'; f = f->outer) {
    size_t i = name_find(&f->own, name);
    if (i != NONE)
      return i < f->g->n_inputs ? f->given[i] : joined_text(name, f->behind);
  }
  return name;
}

static char **
all_meant(const frame *f, char **names, size_t n)
{
  char **all = allocate(n, sizeof *all);
  for (size_t i = 0; i < n; i++)
    all[i] = meant(f, names[i]);
  return all;
}

static value
value_named(const builder *b, const char *name)
{
  const value *v = find(b, name);
  need(v != NULL, "its graph, or it, reads what is not computed before it");
  return *v;
}

/* ---- Graphs */

/* The attribute's graph, of so many inputs and outputs. */
static const body *
graph_of(const builder *b, const char *name, size_t n_in, size_t n_out)
{
  const body *g = NULL;
  for (size_t i = 0; i < b->node->n_bodies; i++)
    g = strcmp(b->node->bodies[i].name, name) == 0 ? &b->node->bodies[i] : g;
  need(g != NULL && g->n_inputs == n_in && g->n_outputs == n_out,
       "not a graph of as many inputs and outputs as it needs");
  return g;
}

static frame
frame_of(const builder *b, const body *g)
{
  frame f = {.outer = b->frame, .g = g, .given = allocate(g->n_inputs, sizeof *f.given)};
  for (size_t i = 0; i < g->n_inputs; i++)
    name_add(&f.own, g->inputs[i].name);
  for (size_t i = 0; i < g->n_nodes; i++)
    for (size_t o = 0; o < g->nodes[i].n_out; o++)
      if (*g->nodes[i].out[o] != '\0' && !g->nodes[i].promoted) /* that is an initializer */
        name_add(&f.own, g->nodes[i].out[o]);
  return f;
}

/* All nodes of the graph, once. */
static void
read_graph(builder *b, const frame *f)
{
  const builder outer = *b;
  b->n_within += f->g->n_nodes + 1;
  within(LIMIT_NODES, b->n_within + b->m->n_nodes, "node %zu: with its graph, round after round, there are more nodes",
         b->place);
  size_t all = b->n_within;
  for (size_t i = 0; i < f->g->n_nodes; i++) {
    if (f->g->nodes[i].promoted)
      continue;
    node *copy = allocate(1, sizeof *copy);
    *copy = f->g->nodes[i];
    copy->in = all_meant(f, copy->in, copy->n_in);
    copy->out = all_meant(f, copy->out, copy->n_out);
    copy->name = *copy->name != '\0' ? joined_text(copy->name, f->behind) : copy->name;
    copy->within = true;
    copy->place = b->place;
    b->frame = f;
    b->node = copy;
    b->n_within = all;
    lower_node(b);
    all = b->n_within;
    *b = outer;
  }
  b->n_within = all;
}

static value
output_of(const builder *b, const frame *f, size_t k)
{
  return value_named(b, meant(f, f->g->outputs[k].name));
}

/* The value is input k of the graph, under its name in this round. */
static void
hand_in(builder *b, frame *f, size_t k, value v)
{
  f->given[k] = joined_text(f->g->inputs[k].name, f->behind);
  b->out = v;
  define(b, f->given[k]);
}

/* Is it a truth value that is known? */
static bool
is_truth(const value *v)
{
  return v->constant != NULL && v->constant->type == BOOL && v->count == 1;
}

static bool
is_true(const value *v)
{
  return mpq_sgn(&v->constant->value[v->map[0]]) != 0;
}

/* Output k of the node: a copy. */
static void
give(builder *b, size_t k, value v)
{
  if (*b->node->out[k] == '\0')
    return;
  b->out = inner_node(b, "Identity", 1, &v, NULL);
  define(b, b->node->out[k]);
}

/* ---- If */

static value *
branch(builder *b, const char *name)
{
  frame f = frame_of(b, graph_of(b, name, 0, b->node->n_out));
  value *all = allocate(b->node->n_out, sizeof *all);
  f.behind = b->frame != NULL ? b->frame->behind : "";
  read_graph(b, &f);
  for (size_t k = 0; k < b->node->n_out; k++)
    all[k] = output_of(b, &f, k);
  name_index_free(&f.own);
  return all;
}

/* Where activations choose, all of both branches is computed. */
static void
lower_if(builder *b)
{
  need(b->node->n_own == 1, "not one input, the condition");
  value condition = value_named(b, b->node->in[0]);
  if (is_truth(&condition)) {
    value *all = branch(b, is_true(&condition) ? "then_branch" : "else_branch");
    for (size_t k = 0; k < b->node->n_out; k++)
      give(b, k, all[k]);
    return;
  }
  need(condition.constant == NULL && condition.holds == HOLDS_TRUTHS && condition.count == 1
           && (!is_batch(b, &condition) || b->net->together == 1),
       "its condition is not one truth value");
  value *first = branch(b, "then_branch"), *second = branch(b, "else_branch");
  for (size_t k = 0; k < b->node->n_out; k++) {
    size_t one[MAX_RANK], other[MAX_RANK];
    bool alike = first[k].rank == second[k].rank && condition.rank <= first[k].rank;
    whole_run(b, &first[k], one);
    whole_run(b, &second[k], other);
    for (size_t i = 0; i < first[k].rank && alike; i++)
      alike = one[i] == other[i];
    need(alike, "an output has another shape in each branch, and activations choose");
    give(b, k, inner_node(b, "Where", 3, (value[]){condition, first[k], second[k]}, NULL));
  }
}

/* ---- Loops */

/* What goes round: states, by name, inputs from `first` on and outputs from `lead` on; and of further outputs each round's value. */
typedef struct {
  frame f;
  size_t n, first, lead, n_kept, rounds;
  char **state;
  value **kept;
} loop;

static void
start(builder *b, loop *l, const body *g, size_t from)
{
  l->f = frame_of(b, g);
  l->state = allocate(l->n, sizeof *l->state);
  l->kept = allocate(l->n_kept, sizeof *l->kept);
  for (size_t k = 0; k < l->n; k++) {
    l->state[k] = b->node->in[from + k];
    value_named(b, l->state[k]);
  }
}

/* A round, whose other inputs are handed in. */
static void
go_round(builder *b, loop *l)
{
  for (size_t k = 0; k < l->n; k++)
    l->f.given[l->first + k] = l->state[k];
  read_graph(b, &l->f);
  char **next = allocate(l->n, sizeof *next);
  for (size_t k = 0; k < l->n; k++)
    next[k] = meant(&l->f, l->f.g->outputs[l->lead + k].name);
  l->state = next;
  for (size_t k = 0; k < l->n_kept; k++) {
    l->kept[k] = grow(l->kept[k], l->rounds, sizeof **l->kept);
    l->kept[k][l->rounds] = output_of(b, &l->f, l->lead + l->n + k);
  }
  l->rounds++;
}

static void
give_states(builder *b, const loop *l)
{
  for (size_t k = 0; k < l->n; k++)
    give(b, k, value_named(b, l->state[k]));
}

/* Output k of those behind the states: all rounds' along an axis, the last first if it is turned. */
static void
give_rounds(builder *b, const loop *l, size_t k, long axis, bool turned)
{
  if (*b->node->out[l->n + k] == '\0')
    return;
  need(l->rounds > 0, "an output of no rounds has no entries");
  value *all = allocate(l->rounds, sizeof *all), at = list_of(b, 1, &axis);
  for (size_t r = 0; r < l->rounds; r++)
    all[turned ? l->rounds - 1 - r : r] = inner_of(b, "Unsqueeze", &l->kept[k][r], &at);
  give(b, l->n + k, inner_node(b, "Concat", l->rounds, all, inner_whole("axis", axis)));
}

static value
number(const builder *b, size_t type, size_t n)
{
  value v = list_of(b, 1, (long[]){(long)n});
  v.rank = v.constant->rank = 0;
  v.constant->type = type;
  return v;
}

/* Some runtimes write the next round's number over that which a graph hands out as it came. */
static void
check_number_stays(const builder *b, const body *g)
{
  for (size_t k = 0; k < g->n_outputs; k++)
    need(strcmp(g->outputs[k].name, g->inputs[0].name) != 0,
         "the round's number itself goes out of its graph, which not all runtimes keep");
}

static void
lower_loop(builder *b)
{
  const node *n = b->node;
  need(n->n_own >= 2 && n->n_out >= n->n_own - 2, "not a number of rounds, a condition, and each state in and out");
  loop l = {.n = n->n_own - 2, .first = 2, .lead = 1, .n_kept = n->n_out - (n->n_own - 2)};
  const body *g = graph_of(b, "body", n->n_own, n->n_out + 1);
  value most = {0}, condition = number(b, BOOL, 1);
  if (*n->in[0] != '\0') {
    most = value_named(b, n->in[0]);
    need(most.constant != NULL && most.constant->type == INT64 && most.count == 1,
         "the number of rounds is no constant integer");
  }
  if (*n->in[1] != '\0')
    condition = value_named(b, n->in[1]);
  check_number_stays(b, g);
  start(b, &l, g, 2);
  for (size_t k = 0;; k++) {
    need(is_truth(&condition), "whether it goes on is no constant");
    if (most.constant != NULL && mpq_cmp_ui(&most.constant->value[most.map[0]], k, 1) <= 0)
      break;
    need(is_true(&condition) || *n->in[1] != '\0',
         "its condition is left out, and its graph ends it: ONNX goes on, and runtimes end");
    if (!is_true(&condition))
      break;
    l.f.behind = round_text(l.f.outer, k);
    hand_in(b, &l.f, 0, number(b, INT64, k));
    hand_in(b, &l.f, 1, number(b, BOOL, 1));
    go_round(b, &l);
    condition = output_of(b, &l.f, 0);
  }
  give_states(b, &l);
  for (size_t k = 0; k < l.n_kept; k++)
    give_rounds(b, &l, k, 0, false);
  name_index_free(&l.f.own);
}

/* Number k of a list of n; without the list 0. */
static long
listed(const builder *b, const char *name, size_t k, size_t n)
{
  const tensor *t = find_attribute(b, name);
  need(t == NULL || (t->text == NULL && !t->of_tensor && !t->real && t->rank == 1 && t->count == n),
       "an attribute is no list of a number for each");
  return t != NULL ? whole_entry(b, t, k) : 0;
}

static long
direction(const builder *b, const char *name, size_t k, size_t n)
{
  long turned = listed(b, name, k, n);
  need(turned == 0 || turned == 1, "a direction is neither 0 nor 1");
  return turned;
}

/* The entries of sequence k, input `from` + k of the node, that round r has; *length: of how many rounds it is. */
static value
part_of(builder *b, size_t from, size_t k, size_t n, size_t r, size_t *length)
{
  value v = value_named(b, b->node->in[from + k]);
  size_t dims[MAX_RANK], axis = axis_of(b, listed(b, "scan_input_axes", k, n), v.rank);
  whole_run(b, &v, dims);
  *length = dims[axis];
  long at = (long)(direction(b, "scan_input_directions", k, n) != 0 ? *length - 1 - r : r), end = at + 1,
       on = (long)axis;
  if (r >= *length)
    return v;
  value first = list_of(b, 1, &at), last = list_of(b, 1, &end), along = list_of(b, 1, &on);
  value part = inner_node(b, "Slice", 4, (value[]){v, first, last, along}, NULL);
  return inner_of(b, "Squeeze", &part, &along);
}

static void
lower_scan(builder *b)
{
  const node *n = b->node;
  long many = whole_attribute(b, "num_scan_inputs", 0);
  need(b->opset >= 9, "before operator set 9 it goes through a batch");
  need(many >= 1 && (size_t)many <= n->n_own && n->n_out >= n->n_own - (size_t)many, "num_scan_inputs does not fit");
  size_t sequences = (size_t)many, length = 0, other;
  loop l = {.n = n->n_own - sequences, .n_kept = n->n_out - (n->n_own - sequences)};
  start(b, &l, graph_of(b, "body", n->n_own, n->n_out), 0);
  for (size_t k = 0; k < sequences; k++) {
    part_of(b, l.n, k, sequences, NONE, &other);
    need(k == 0 || other == length, "sequences of other lengths");
    length = other;
  }
  for (size_t r = 0; r < length; r++) {
    l.f.behind = round_text(l.f.outer, r);
    for (size_t k = 0; k < sequences; k++)
      hand_in(b, &l.f, l.n + k, part_of(b, l.n, k, sequences, r, &other));
    go_round(b, &l);
  }
  give_states(b, &l);
  for (size_t k = 0; k < l.n_kept; k++)
    give_rounds(b, &l, k, listed(b, "scan_output_axes", k, l.n_kept),
                direction(b, "scan_output_directions", k, l.n_kept) != 0);
  name_index_free(&l.f.own);
}

/* ---- */

static const struct {
  const char *op, *attributes;
  void (*lower)(builder *b);
} flows[] = {
    {"If", " then_branch else_branch ", lower_if},
    {"Loop", " body ", lower_loop},
    {"Scan", " body num_scan_inputs scan_input_axes scan_input_directions scan_output_axes scan_output_directions ",
     lower_scan},
};
#define N_FLOWS (sizeof flows / sizeof *flows)

static size_t
flow_of(const node *n)
{
  size_t i = 0;
  while (i < N_FLOWS && (n->own || strcmp(n->op, flows[i].op) != 0))
    i++;
  return i;
}

bool
lower_flow(builder *b)
{
  size_t i = flow_of(b->node);
  if (i == N_FLOWS)
    return false;
  b->in = NULL;
  b->shared = false;
  need(b->node->n_out > 0, "it has no output");
  for (size_t k = 0; k < b->node->n_attributes + b->node->n_bodies; k++) {
    bool graph = k >= b->node->n_attributes;
    const char *name = graph ? b->node->bodies[k - b->node->n_attributes].name : b->node->attributes[k].name;
    need(strstr(flows[i].attributes, joined_text(" ", joined_text(name, " "))) != NULL,
         "an attribute is not supported");
  }
  flows[i].lower(b);
  return true;
}
