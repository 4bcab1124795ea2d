#include <stdio.h> /* before gmp.h, for its printing */

#include "proof/write_record.h"
#include "proof/text.h"

#include <stdlib.h>
#include <string.h>

/* The checker's bound is its own, and at least half of ours or so: what is nearer to ours is not claimed. */
#define NEAR 0.4

/* Operators that section 7 has rules for. */
static const char *const covered[] = {
  "Abs", "Add", "AveragePool", "Clamp", "Clip", "Concat", "Conv", "Flatten", "Gemm", "GlobalAveragePool", "GlobalMaxPool",
  "Identity", "LeakyRelu", "Lift", "MatMul", "MaxPool", "Mul", "Neg", "Pad", "ReduceMean", "ReduceSum", "Relu", "Reshape",
  "Slice", "Squeeze", "Sub", "Transpose", "Unsqueeze"};
/* Of these, what moves entries and computes none. (Neg moves a constant's: a sum of one term else.) */
static const char *const moves[] = {"Flatten", "Gather", "Identity", "Reshape", "Resize", "Slice", "Squeeze", "Transpose", "Unsqueeze"};
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
has_rule(const clarke_model_node *node)
{
  return IS_AMONG(node->op_type, covered) && is_small(node, "alpha", strcmp(node->op_type, "Gemm") == 0)
         && is_small(node, "beta", true);
}

typedef struct {
  FILE *out;
  const clarke_proof_record *r;
  bool *rule, *known; /* by node: is there a rule? were its numbers recorded, or are they a constant's? */
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

/* Are the numbers recorded of all that a node reads? */
static bool
inputs_known(const writer *w, const clarke_model_node *node)
{
  for (size_t i = 0; i < node->n_in; i++) {
    const clarke_model_node *from = *node->in[i] != '\0' ? maker(w, node->in[i]) : NULL;

    if (from != NULL && !w->known[from - w->r->nodes->nodes])
      return false;
  }
  return true;
}

static bool
may_repeat(const writer *w, const clarke_model_node *node)
{
  const clarke_model_node *from = IS_AMONG(node->op_type, moves) ? maker(w, node->in[0]) : NULL;

  return strcmp(node->op_type, "Gather") == 0 || strcmp(node->op_type, "Resize") == 0
         || (from != NULL && w->repeats[from - w->r->nodes->nodes]);
}

static void
look_at_nodes(writer *w)
{
  const clarke_model *m = w->r->nodes;

  for (size_t i = 0; i < m->n_nodes; i++) {
    const clarke_model_node *node = &m->nodes[i];
    const bool inputs = inputs_known(w, node);

    w->rule[i] = has_rule(node) && inputs;
    w->repeats[i] = may_repeat(w, node);
    w->known[i] = strcmp(node->op_type, "Constant") == 0
                  || (was_recorded(w, node->out[0]) && (inputs || !IS_AMONG(node->op_type, moves)));
  }
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

static void
put_answer(const writer *w, clarke_part part, const char *name, bool rule)
{
  const clarke_certificate *c = rule ? find(w, part, name) : NULL;
  const bool exact = c != NULL && c->certainty == CLARKE_BIT_EXACT;
  const bool bounded = c != NULL && (c->certainty == CLARKE_WITHIN_BOUND || c->certainty == CLARKE_BY_TREE);
  const bool within = bounded && c->open == 0 && c->worst <= NEAR;

  fprintf(w->out, "%s ", clarke_part_name(part));
  clarke_proof_put_name(w->out, name);
  fputs(exact ? " bit-exact\n" : within ? " within\n" : " not-covered\n", w->out);
}

/* What the value's entries were before nodes moved them. */
static const char *
origin(const writer *w, const char *name)
{
  const clarke_model_node *node = maker(w, name);

  while (node != NULL && IS_AMONG(node->op_type, moves)) {
    name = node->in[0];
    node = maker(w, name);
  }
  return name;
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

/* Is there a rule for all nodes that read a value, with a gradient recorded of each? */
static bool
readers_have_rules(const writer *w, const char *name)
{
  const clarke_model *m = w->r->nodes;
  const clarke_graph *g = w->r->certify->g;
  const char *output = g->values[g->output].name;

  if (output != NULL && strcmp(name, output) == 0)
    return w->r->certify->loss->kind != CLARKE_LOSS_CE;
  for (size_t i = 0; i < m->n_nodes; i++)
    for (size_t j = 0; j < m->nodes[i].n_in; j++)
      if (strcmp(m->nodes[i].in[j], name) == 0) {
        const clarke_certificate *c = find(w, CLARKE_GRADIENT, m->nodes[i].out[0]);

        if (!w->rule[i] || c == NULL || c->open == c->entries || reads_again(w, &m->nodes[i], name))
          return false;
      }
  return true;
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
        put_answer(w, part, node->out[j], part == CLARKE_GRADIENT ? readers_have_rules(w, node->out[j]) && !w->repeats[i] : w->rule[i]);
  }
}

static void
put_parameters(const writer *w)
{
  const clarke_graph *g = w->r->certify->g;

  for (size_t p = 0; p < g->n_parameters; p++)
    if (g->parameters[p].wrt)
      put_answer(w, CLARKE_PARAMETER, g->parameters[p].name, readers_have_rules(w, g->parameters[p].name));
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
    if (!whole || !w->rule[i]) {
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
  writer w = {NULL, r, calloc(n + 1, sizeof(bool)), calloc(n + 1, sizeof(bool)), calloc(n + 1, sizeof(bool))};
  clarke_text text;
  clarke_status status = w.rule != NULL && w.known != NULL && w.repeats != NULL ? clarke_text_open(&text, err) : clarke_no_memory(err);

  if (status == CLARKE_OK) {
    w.out = text.to;
    look_at_nodes(&w);
    status = put_statement(&w, err);
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
  return status;
}
