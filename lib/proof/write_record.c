#include <stdio.h> /* before gmp.h, for its printing */

#include "proof/write_record.h"
#include "proof/text.h"

#include <stdlib.h>
#include <string.h>

/* The checker's bound is its own, and about as large as ours, or larger: what is nearer to ours is not claimed. */
#define NEAR 0.8

/* Operators that section 7 has rules for: of plain sums, windows and selections. */
static const char *const covered[] = {
  "Abs", "Add", "AveragePool", "Clamp", "Clip", "Concat", "Conv", "Flatten", "Gemm", "GlobalAveragePool", "GlobalMaxPool",
  "Identity", "LeakyRelu", "Lift", "MatMul", "MaxPool", "Mul", "Neg", "Pad", "ReduceMean", "ReduceSum", "Relu", "Reshape",
  "Slice", "Squeeze", "Sub", "Transpose", "Unsqueeze"};
/* And of composed nodes, whose numbers are enclosed. */
static const char *const composed[] = {
  "BatchNormalization", "Celu", "Div", "Elu", "Erf", "Exp", "Gelu", "GroupNormalization", "HardSigmoid", "HardSwish", "Huber",
  "InstanceNormalization", "LayerNormalization", "Log", "LogSoftmax", "Mish", "PRelu", "Pow", "Reciprocal", "ReduceL2",
  "ReduceSumSquare", "Selu", "Sigmoid", "Softmax", "Softplus", "Sqrt", "Swish", "Tanh"};
/* What of these multiplies or adds parameters as they are. */
static const char *const weighs[] = {"BatchNormalization", "GroupNormalization", "InstanceNormalization", "LayerNormalization", "PRelu"};
/* What moves entries and computes none. (Neg moves a constant's: a sum of one term else.) */
static const char *const moves[] = {"Cast", "Dropout", "Expand", "Flatten", "Gather", "Identity", "Reshape", "Resize", "Slice",
                                    "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze"};
/* What may have an entry of its input twice. */
static const char *const repeats[] = {"Expand", "Gather", "Resize", "Tile"};
/* Those with kinks or windows. */
static const char *const kinks[] = {"Abs", "Clamp", "Clip", "GlobalMaxPool", "HardSigmoid", "HardSwish", "Huber", "LeakyRelu",
                                    "MaxPool", "PRelu", "Relu"};

#define IS_AMONG(op, list) is_among(op, list, sizeof list / sizeof *list)

static bool
is_among(const char *op, const char *const *list, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (strcmp(list[i], op) == 0)
      return true;
  return false;
}

/* An attribute is missing, or a number from -1 to 1; exactly: 1. */
static bool
is_small(const clarke_model_node *node, const char *name, bool exactly)
{
  const clarke_attr *a = clarke_model_attr(node, name);

  return a == NULL || (a->type == CLARKE_ATTR_FLOAT && (exactly ? a->f == 1 : a->f >= -1 && a->f <= 1));
}

static bool
is_plain(const clarke_model_node *node)
{
  return IS_AMONG(node->op_type, covered) && is_small(node, "alpha", strcmp(node->op_type, "Gemm") == 0)
         && is_small(node, "beta", true);
}

static bool
is_composed(const clarke_model_node *node)
{
  return IS_AMONG(node->op_type, composed) || (IS_AMONG(node->op_type, covered) && !is_plain(node));
}

typedef struct {
  FILE *out;
  const clarke_proof_record *r;
  bool *rule, *known; /* by node: is there a rule? were its numbers recorded, or are they a constant's? */
  const char **torn;  /* values of which a node that only moves their entries was recorded with others: nobody knows what was read */
  size_t n_torn;
  bool *repeats;      /* may an entry of what it moves be there twice? Then its own gradient has no rule */
} writer;

/* The node that makes a value; NULL: it is the input, or an initializer. */
static const clarke_model_node *
maker(const writer *w, const char *name)
{
  const clarke_model *m = w->r->nodes;

  for (size_t i = 0; i < m->n_nodes; i++)
    for (size_t j = 0; j < m->nodes[i].n_out; j++)
      if (strcmp(m->nodes[i].out[j], name) == 0)
        return &m->nodes[i];
  return NULL;
}

static bool
was_recorded(const writer *w, const char *name)
{
  char full[4096];

  return (size_t)snprintf(full, sizeof full, "output/%s", name) < sizeof full
         && clarke_tensors_find(w->r->certify->trace, full) != NULL;
}

/* What the value's entries were before nodes moved them. */
static const char *
origin(const writer *w, const char *name)
{
  const clarke_model_node *node = maker(w, name);

  while (node != NULL && (IS_AMONG(node->op_type, moves) || strcmp(node->op_type, "Neg") == 0)) {
    name = node->in[0];
    node = maker(w, name);
  }
  return name;
}

/* Were the numbers of a value recorded, by all names as one? */
static bool
value_known(const writer *w, const char *name)
{
  const clarke_model_node *from = maker(w, name);
  const char *whose = origin(w, name);

  for (size_t i = 0; i < w->n_torn; i++)
    if (strcmp(w->torn[i], whose) == 0)
      return false;
  return from == NULL || w->known[from - w->r->nodes->nodes];
}

/* Is that so of all that a node reads? */
static bool
inputs_known(const writer *w, const clarke_model_node *node)
{
  for (size_t i = 0; i < node->n_in; i++)
    if (*node->in[i] != '\0' && !value_known(w, node->in[i]))
      return false;
  return true;
}

static bool
may_repeat(const writer *w, const clarke_model_node *node)
{
  const clarke_model_node *from = IS_AMONG(node->op_type, moves) ? maker(w, node->in[0]) : NULL;

  return IS_AMONG(node->op_type, repeats) || (from != NULL && w->repeats[from - w->r->nodes->nodes]);
}

static const clarke_certificate *
find(const writer *w, clarke_part part, const char *name)
{
  const clarke_certify *c = w->r->certify;

  for (size_t i = 0; i < c->n; i++)
    if (c->certificate[i].part == part && strcmp(c->certificate[i].name, name) == 0)
      return &c->certificate[i];
  return NULL;
}

static const clarke_tensor *
recorded_output(const writer *w, const char *name)
{
  char full[4096];

  return (size_t)snprintf(full, sizeof full, "output/%s", name) < sizeof full ? clarke_tensors_find(w->r->certify->trace, full) : NULL;
}

/* Does a tensor hold the entries of the constant of that name, exactly? */
static bool
holds_constant(const writer *w, const char *name, const clarke_tensor *t)
{
  const clarke_graph *g = w->r->certify->g;

  for (size_t v = 0; v < g->n_values; v++) {
    const clarke_value *value = &g->values[v];
    bool same = value->constant && value->real != NULL && value->name != NULL && strcmp(value->name, name) == 0 && t->real != NULL;

    for (size_t e = 0; e < value->count && same; e++)
      same = t->real[e] == (value->negated ? -value->real[e] : value->real[e]);
    if (same)
      return true;
  }
  return false;
}

/* Was a node that moves entries recorded with just these? What is called bit-exact is so in its own type: in a narrower one it
 * may be rounded. */
static bool
moved_its_own(const writer *w, const clarke_model_node *node, const char *name)
{
  const clarke_certify *c = w->r->certify;
  const char *from = origin(w, node->in[0]);
  const clarke_certificate *found = find(w, CLARKE_OUTPUT, name);
  const clarke_tensor *t = recorded_output(w, name), *whole = recorded_output(w, from);

  if (found == NULL || found->certainty != CLARKE_BIT_EXACT)
    return false;
  if (whole == NULL && strcmp(from, c->g->values[c->g->input].name) == 0)
    whole = c->x;
  return whole != NULL ? whole->dtype == t->dtype : holds_constant(w, name, t);
}

static clarke_status
find_torn(writer *w, clarke_error *err)
{
  const clarke_model *m = w->r->nodes;
  size_t n = 0;

  for (size_t i = 0; i < m->n_nodes; i++)
    n += m->nodes[i].n_out;
  w->torn = malloc((n + 1) * sizeof *w->torn);
  if (w->torn == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < m->n_nodes; i++) {
    const clarke_model_node *node = &m->nodes[i];

    if (!IS_AMONG(node->op_type, moves) && strcmp(node->op_type, "Neg") != 0)
      continue;
    for (size_t j = 0; j < node->n_out; j++)
      if (was_recorded(w, node->out[j]) && !moved_its_own(w, node, node->out[j]))
        w->torn[w->n_torn++] = origin(w, node->in[0]);
  }
  return CLARKE_OK;
}

static void
look_at_nodes(writer *w)
{
  const clarke_model *m = w->r->nodes;

  for (size_t i = 0; i < m->n_nodes; i++) {
    const clarke_model_node *node = &m->nodes[i];
    const bool inputs = inputs_known(w, node);

    w->rule[i] = (is_plain(node) || is_composed(node)) && inputs;
    w->repeats[i] = may_repeat(w, node);
    w->known[i] = strcmp(node->op_type, "Constant") == 0
                  || (was_recorded(w, node->out[0]) && (inputs || !IS_AMONG(node->op_type, moves)));
  }
}

typedef enum { NO_RULE, OF_ENCLOSED, OF_SUMS } rule;

static void
put_answer(const writer *w, clarke_part part, const char *name, rule by)
{
  const clarke_certificate *c = by != NO_RULE ? find(w, part, name) : NULL;
  const bool exact = by == OF_SUMS && c != NULL && c->certainty == CLARKE_BIT_EXACT;
  const bool bounded = c != NULL && c->certainty <= CLARKE_WITHIN_BOUND;
  const bool within = bounded && c->open == 0 && c->worst <= NEAR;

  fprintf(w->out, "%s ", clarke_part_name(part));
  clarke_proof_put_name(w->out, name);
  fputs(exact ? " bit-exact\n" : within ? " within\n" : " not-covered\n", w->out);
}

/* Does the node read this value, and another one of its origin? */
static bool
reads_again(const writer *w, const clarke_model_node *node, const char *name)
{
  const char *from = origin(w, name);

  for (size_t j = 0; j < node->n_in; j++)
    if (*node->in[j] != '\0' && strcmp(node->in[j], name) != 0 && strcmp(origin(w, node->in[j]), from) == 0)
      return true;
  return false;
}

/* Does a node, which has a rule, hand back a gradient to this value? */
static rule
rule_of_reader(const writer *w, const clarke_model_node *node, const char *name)
{
  const clarke_certificate *c = find(w, CLARKE_GRADIENT, node->out[0]);
  const clarke_model_node *from = maker(w, origin(w, name));
  const bool constant = from == NULL && strcmp(origin(w, name), w->r->certify->g->values[w->r->certify->g->input].name) != 0;

  if (!w->rule[node - w->r->nodes->nodes] || c == NULL || c->open == c->entries || reads_again(w, node, name))
    return NO_RULE;
  if (!is_composed(node))
    return OF_SUMS;
  return !constant || IS_AMONG(node->op_type, weighs) ? OF_ENCLOSED : NO_RULE;
}

/* The weakest of the rules for all nodes that read a value. */
static rule
rule_of_readers(const writer *w, const char *name)
{
  const clarke_model *m = w->r->nodes;
  const clarke_certify *c = w->r->certify;
  const char *output = c->g->values[c->g->output].name;
  rule all = OF_SUMS;

  if (c->log_softmax != NULL && strcmp(name, c->log_softmax) == 0)
    return OF_SUMS;
  if (output != NULL && strcmp(name, output) == 0)
    return c->loss->kind == CLARKE_LOSS_SUM ? OF_SUMS : !value_known(w, name) ? NO_RULE : c->loss->kind == CLARKE_LOSS_CE ? OF_ENCLOSED : OF_SUMS;
  for (size_t i = 0; i < m->n_nodes; i++)
    for (size_t j = 0; j < m->nodes[i].n_in; j++)
      if (strcmp(m->nodes[i].in[j], name) == 0) {
        const rule one = rule_of_reader(w, &m->nodes[i], name);

        all = one < all ? one : all;
      }
  return all;
}

static rule
rule_of(const writer *w, clarke_part part, size_t node, const char *name)
{
  if (part == CLARKE_GRADIENT)
    return w->repeats[node] ? NO_RULE : rule_of_readers(w, name);
  return !w->rule[node] ? NO_RULE : is_composed(&w->r->nodes->nodes[node]) ? OF_ENCLOSED : OF_SUMS;
}

static void
put_tensors(const writer *w, clarke_part part)
{
  const clarke_model *m = w->r->nodes;

  for (size_t i = 0; i < m->n_nodes; i++) {
    const clarke_model_node *node = &m->nodes[i];
    const size_t n = part == CLARKE_INDICES ? strcmp(node->op_type, "MaxPool") == 0 : node->n_out;

    for (size_t j = 0; j < n && strcmp(node->op_type, "Constant") != 0; j++)
      if (*node->out[j] != '\0')
        put_answer(w, part, node->out[j], rule_of(w, part, i, node->out[j]));
  }
}

static void
put_parameters(const writer *w)
{
  const clarke_graph *g = w->r->certify->g;

  for (size_t p = 0; p < g->n_parameters; p++)
    if (g->parameters[p].wrt)
      put_answer(w, CLARKE_PARAMETER, g->parameters[p].name, rule_of_readers(w, g->parameters[p].name));
}

/* The entries of a step where the branches part; of a window where a loser was taken. Returns how many; out NULL: counts. */
static size_t
put_parts(FILE *out, const writer *w, const char *name)
{
  static const char *const word[] = {"recorded-at-kink", "exactly-at-kink", "other-side"};
  const clarke_branches *p = w->r->pattern;
  const clarke_graph *g = w->r->certify->g;
  size_t n = 0;

  for (size_t i = 0; i < p->n; i++) {
    const clarke_step *s = &g->steps[p->parted[i].step];
    const bool window = s->kind == CLARKE_MAX;

    if (g->values[s->out].name == NULL || strcmp(g->values[s->out].name, name) != 0
        || (window && p->parted[i].kind != CLARKE_OTHER_SIDE))
      continue;
    n++;
    if (out != NULL)
      fprintf(out, "part %zu %zu %s\n", p->parted[i].feature, p->parted[i].sample, window ? "loser" : word[p->parted[i].kind]);
  }
  return n;
}

static void
put_pattern(const writer *w)
{
  const clarke_model *m = w->r->nodes;
  const clarke_branches *p = w->r->pattern;
  const bool whole = p != NULL && p->open == 0 && p->unrecorded == 0;

  for (size_t i = 0; i < m->n_nodes; i++) {
    const char *name = m->nodes[i].out[0];

    if (!IS_AMONG(m->nodes[i].op_type, kinks))
      continue;
    fputs("pattern ", w->out);
    clarke_proof_put_name(w->out, name);
    if (!whole || !w->rule[i] || is_composed(&m->nodes[i])) {
      fputs(" not-covered\n", w->out);
      continue;
    }
    fprintf(w->out, " %zu\n", put_parts(NULL, w, name));
    put_parts(w->out, w, name);
  }
}

static clarke_status
put_statement(const writer *w, clarke_error *err)
{
  const clarke_proof_record *r = w->r;
  const clarke_certify *c = r->certify;

  fputs("clarke-proof 1\nclaim record\n", w->out);
  clarke_proof_put_input(w->out, "model", &r->model);
  clarke_proof_put_input(w->out, "params", &r->params);
  clarke_proof_put_input(w->out, "batch", &r->batch);
  clarke_proof_put_input(w->out, "trace", &r->trace);
  clarke_proof_put_input(w->out, "gradients", &r->gradients);
  fprintf(w->out, "loss %s\nscale ", clarke_loss_name(c->loss->kind));
  mpq_out_str(w->out, 10, c->scale);
  fputc('\n', w->out);
  clarke_proof_put_wrt(w->out, c->g, false, c->profile);
  return clarke_proof_put_proxies(w->out, c->g, c->profile, err);
}

clarke_status
clarke_proof_write_record(const char *path, const clarke_proof_record *r, clarke_error *err)
{
  const size_t n = r->nodes->n_nodes;
  writer w = {.r = r, .rule = calloc(n + 1, sizeof(bool)), .known = calloc(n + 1, sizeof(bool)), .repeats = calloc(n + 1, sizeof(bool))};
  clarke_text text;
  clarke_status status = w.rule != NULL && w.known != NULL && w.repeats != NULL ? clarke_text_open(&text, err) : clarke_no_memory(err);

  if (status == CLARKE_OK) {
    w.out = text.to;
    status = find_torn(&w, err);
    if (status == CLARKE_OK) {
      look_at_nodes(&w);
      status = put_statement(&w, err);
    }
    put_tensors(&w, CLARKE_OUTPUT);
    put_tensors(&w, CLARKE_INDICES);
    put_tensors(&w, CLARKE_GRADIENT);
    put_parameters(&w);
    put_pattern(&w);
    status = clarke_proof_save(&text, status, path, err);
  }
  free(w.rule);
  free(w.known);
  free(w.repeats);
  free(w.torn);
  return status;
}
