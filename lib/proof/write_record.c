#include <stdio.h> /* before gmp.h, for its printing */

#include "proof/write_record.h"
#include "proof/record_claim.h"
#include "proof/record_operators.h"
#include "proof/text.h"
#include "proof/write_statistics.h"

#include <stdlib.h>
#include <string.h>

/* By node: has it a rule, of what was recorded, or of what is behind that? Were its numbers recorded, or are they a constant's? Can
 * they be told, where they were not? Has what it moves an entry twice, so that its own gradient has no rule? */
typedef struct {
  clarke_record_operator op;
  bool rule, known, told, repeats;
} standing;

typedef struct {
  FILE *out;
  const clarke_proof_record *r;
  standing *node;
  const char **torn;  /* values of which a node that only moves their entries was recorded with others: nobody knows what was read */
  size_t n_torn;
  const char **via;   /* a value, and those behind it whose gradients were not recorded */
  size_t n_via;
  bool moderate; /* clarke_record_is_moderate */
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
was_recorded(const writer *w, const char *part, const char *name)
{
  char full[4096];

  return (size_t)snprintf(full, sizeof full, "%s/%s", part, name) < sizeof full
         && clarke_tensors_find(w->r->certify->trace, full) != NULL;
}

static const clarke_value *
value_of(const writer *w, const char *name)
{
  const clarke_graph *g = w->r->certify->g;

  for (size_t v = 0; v < g->n_values; v++)
    if (g->values[v].name != NULL && strcmp(g->values[v].name, name) == 0)
      return &g->values[v];
  return NULL;
}

/* The map of what moves entries to the value; NULL: they stay in order, or are none's that are moved. */
static const size_t *
moved_by(const writer *w, const clarke_value *v)
{
  const clarke_step *s = v->producer != CLARKE_NONE ? &w->r->certify->g->steps[v->producer] : NULL;

  return v->constant ? v->origin : s != NULL && s->kind == CLARKE_GATHER ? s->in[0].map : NULL;
}

static standing *
standing_of(const writer *w, const clarke_model_node *node)
{
  return &w->node[node - w->r->nodes->nodes];
}

/* In a single run a Gather of a constant's entries makes an activation of them: a sum of one term. */
static bool
is_move(const writer *w, const clarke_model_node *node)
{
  const clarke_value *v = strcmp(node->op_type, "Gather") == 0 ? value_of(w, node->out[0]) : NULL;

  return standing_of(w, node)->op.moves
         && (v == NULL || v->producer == CLARKE_NONE || w->r->certify->g->steps[v->producer].kind == CLARKE_GATHER);
}

/* What the value's entries were before nodes moved them. */
static const char *
origin(const writer *w, const char *name)
{
  const clarke_model_node *node = maker(w, name);

  while (node != NULL && (is_move(w, node) || strcmp(node->op_type, "Neg") == 0)) {
    name = node->in[0];
    node = maker(w, name);
  }
  return name;
}

/* A Gemm whose bias is computed is a product, and a sum behind it. */
static clarke_record_operator
operator_of(const writer *w, const clarke_model_node *node)
{
  clarke_record_operator op = clarke_record_operator_of(node);
  const bool bias = strcmp(node->op_type, "Gemm") == 0 && node->n_in == 3 && *node->in[2] != '\0';
  const clarke_model_node *from = bias ? maker(w, origin(w, node->in[2])) : NULL;

  if (from != NULL && strcmp(from->op_type, "Constant") != 0) {
    op.composed = op.composed || op.plain;
    op.plain = false;
  }
  return op;
}

/* Were the numbers of a value recorded, by all names as one? Or, if `told`, do others tell them? */
static bool
value_known(const writer *w, const char *name, bool told)
{
  const clarke_model_node *from = maker(w, name);
  const standing *node = from != NULL ? standing_of(w, from) : NULL;
  const char *whose = origin(w, name);

  for (size_t i = 0; i < w->n_torn; i++)
    if (strcmp(w->torn[i], whose) == 0)
      return false;
  return node == NULL || node->known || (told && node->told);
}

/* Is that so of all that a node reads? */
static bool
inputs_known(const writer *w, const clarke_model_node *node, bool told)
{
  for (size_t i = 0; i < node->n_in; i++)
    if (*node->in[i] != '\0' && !value_known(w, node->in[i], told))
      return false;
  return true;
}

/* In the value of a node that moves entries. */
static clarke_status
repeats_entries(bool *twice, const writer *w, const clarke_model_node *node, clarke_error *err)
{
  const clarke_value *v = value_of(w, node->out[0]), *in = value_of(w, node->in[0]);
  const size_t *map = v != NULL ? moved_by(w, v) : NULL, *end = map != NULL ? map + v->count : NULL;
  const bool own = v != NULL && v->constant && v->parameter != CLARKE_NONE; /* a constant that is no parameter's is moved by no map */
  const size_t n = own ? w->r->certify->g->parameters[v->parameter].count : v != NULL && !v->constant && in != NULL ? in->count : 0;
  bool *seen = calloc(n + 1, sizeof *seen);

  if (seen == NULL)
    return clarke_no_memory(err);
  for (*twice = false; map != end && !*twice; map++) {
    *twice = *map >= n || seen[*map];
    seen[*map < n ? *map : n] = true;
  }
  free(seen);
  return CLARKE_OK;
}

static clarke_status
may_repeat(bool *may, const writer *w, const clarke_model_node *node, clarke_error *err)
{
  const clarke_model_node *from = is_move(w, node) ? maker(w, node->in[0]) : NULL;

  *may = from != NULL && standing_of(w, from)->repeats;
  return is_move(w, node) && !*may ? repeats_entries(may, w, node, err) : CLARKE_OK;
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
  w->via = malloc((n + 1) * sizeof *w->via);
  if (w->torn == NULL || w->via == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < m->n_nodes; i++) {
    const clarke_model_node *node = &m->nodes[i];

    if (!is_move(w, node) && strcmp(node->op_type, "Neg") != 0)
      continue;
    for (size_t j = 0; j < node->n_out; j++)
      if (was_recorded(w, "output", node->out[j]) && !moved_its_own(w, node, node->out[j]))
        w->torn[w->n_torn++] = origin(w, node->in[0]);
  }
  return CLARKE_OK;
}

static clarke_status
look_at_nodes(writer *w, clarke_error *err)
{
  const clarke_model *m = w->r->nodes;
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < m->n_nodes && status == CLARKE_OK; i++) {
    const clarke_model_node *node = &m->nodes[i];
    const bool inputs = inputs_known(w, node, false), told = inputs_known(w, node, true);
    const bool recorded = was_recorded(w, "output", node->out[0]), lift = strcmp(node->op_type, "Lift") == 0;
    standing *at = &w->node[i];

    at->rule = (at->op.plain || at->op.composed) && told;
    status = may_repeat(&at->repeats, w, node, err);
    at->known = strcmp(node->op_type, "Constant") == 0
                || (recorded ? inputs || !is_move(w, node) : inputs && (lift || is_move(w, node)));
    at->told = !recorded && at->rule && !at->op.pools;
  }
  return status;
}

static void
put_answer(const writer *w, clarke_part part, const char *name, clarke_record_rule by)
{
  const bool recorded = part == CLARKE_PARAMETER || was_recorded(w, clarke_part_name(part), name);

  fprintf(w->out, "%s ", clarke_part_name(part));
  clarke_proof_put_name(w->out, name);
  fprintf(w->out, " %s\n", clarke_record_claim(recorded ? find(w, part, name) : NULL, by, w->moderate));
}

/* Does a node read another value of the origin of one in `via`, which is not there? */
static bool
reads_beside(const writer *w, const clarke_model_node *node)
{
  for (size_t j = 0; j < node->n_in; j++) {
    const char *from = origin(w, node->in[j]);
    bool shares = false, known = *node->in[j] == '\0';

    for (size_t k = 0; k < w->n_via; k++) {
      known = known || strcmp(w->via[k], node->in[j]) == 0;
      shares = shares || strcmp(origin(w, w->via[k]), from) == 0;
    }
    if (shares && !known)
      return true;
  }
  return false;
}

static void
add_via(writer *w, const char *name)
{
  for (size_t k = 0; k < w->n_via; k++)
    if (strcmp(w->via[k], name) == 0)
      return;
  w->via[w->n_via++] = name;
}

/* Does a node hand back to a value behind the first in `via`, of which no gradient was recorded? Then its terms are no plain ones. */
static bool
hands_behind(const writer *w, const clarke_model_node *node)
{
  for (size_t k = 1; k < w->n_via; k++)
    for (size_t j = 0; j < node->n_in; j++)
      if (strcmp(w->via[k], node->in[j]) == 0 && strcmp(origin(w, w->via[k]), origin(w, w->via[0])) != 0)
        return true;
  return false;
}

/* Does a node hand back a gradient to this value? Where none of its own was recorded, those behind it do. */
static clarke_record_rule
rule_of_reader(writer *w, const clarke_model_node *node, const char *name)
{
  const clarke_model_node *from = maker(w, origin(w, name));
  const bool constant = from == NULL && strcmp(origin(w, name), w->r->certify->g->values[w->r->certify->g->input].name) != 0;
  const standing *at = standing_of(w, node);
  const bool given = was_recorded(w, "gradient", node->out[0]);
  bool recorded;

  if (!at->rule)
    return CLARKE_NO_RULE;
  if (!given)
    add_via(w, node->out[0]);
  if (is_move(w, node))
    return given && strcmp(origin(w, name), origin(w, w->via[0])) != 0 ? CLARKE_NO_RULE : CLARKE_OF_SUMS;
  recorded = given && inputs_known(w, node, false) && !(at->op.plain && hands_behind(w, node));
  if (at->op.plain)
    return recorded ? CLARKE_OF_SUMS : at->op.pools ? CLARKE_NO_RULE : CLARKE_OF_UNRECORDED;
  return constant && !at->op.weighs ? CLARKE_NO_RULE : recorded ? CLARKE_OF_ENCLOSED : CLARKE_OF_UNRECORDED;
}

/* The weakest of the rules for all nodes that read a value in `via`. */
static clarke_record_rule
rule_of_via(writer *w)
{
  const clarke_model *m = w->r->nodes;
  const char *output = w->r->certify->g->values[w->r->certify->g->output].name;
  clarke_record_rule all = CLARKE_OF_SUMS;

  for (size_t k = 0; k < w->n_via && all != CLARKE_NO_RULE; k++)
    for (size_t i = 0; i < m->n_nodes; i++)
      for (size_t j = 0; j < m->nodes[i].n_in; j++)
        if (strcmp(m->nodes[i].in[j], w->via[k]) == 0) {
          const clarke_record_rule one = rule_of_reader(w, &m->nodes[i], w->via[k]);

          all = one < all ? one : all;
        }
  for (size_t k = 0; k < w->n_via && all != CLARKE_NO_RULE; k++) {
    if (output != NULL && strcmp(w->via[k], output) == 0)
      return CLARKE_NO_RULE;
    for (size_t i = 0; i < m->n_nodes; i++)
      for (size_t j = 0; j < m->nodes[i].n_in; j++)
        if (strcmp(m->nodes[i].in[j], w->via[k]) == 0 && reads_beside(w, &m->nodes[i]))
          return CLARKE_NO_RULE;
  }
  return all;
}

/* Is it the logarithm that the loss begins with? */
static bool
is_loss(const writer *w, const char *name)
{
  const char *log = w->r->certify->log_softmax;

  return log != NULL && strcmp(name, log) == 0;
}

static clarke_record_rule
rule_of_readers(writer *w, const char *name)
{
  const clarke_certify *c = w->r->certify;
  const char *output = c->g->values[c->g->output].name;

  if (is_loss(w, name))
    return inputs_known(w, maker(w, name), false) ? CLARKE_OF_SUMS : CLARKE_NO_RULE;
  if (output != NULL && strcmp(name, output) == 0)
    return c->loss->kind == CLARKE_LOSS_SUM     ? CLARKE_OF_SUMS
           : !value_known(w, name, false)       ? CLARKE_NO_RULE
           : c->loss->kind == CLARKE_LOSS_CE    ? CLARKE_OF_ENCLOSED
                                                : CLARKE_OF_SUMS;
  w->n_via = 0;
  add_via(w, name);
  return rule_of_via(w);
}

static clarke_record_rule
rule_of(writer *w, clarke_part part, size_t node, const char *name)
{
  const clarke_model_node *of = &w->r->nodes->nodes[node];
  const standing *at = &w->node[node];
  const bool known = inputs_known(w, of, false);

  if (part == CLARKE_GRADIENT)
    return at->repeats ? CLARKE_NO_RULE : rule_of_readers(w, name);
  if (!at->rule || (!known && (is_move(w, of) || at->op.pools || is_loss(w, name))))
    return CLARKE_NO_RULE;
  return !known ? CLARKE_OF_UNRECORDED : at->op.composed ? CLARKE_OF_ENCLOSED : CLARKE_OF_SUMS;
}

static void
put_tensors(writer *w, clarke_part part)
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
put_parameters(writer *w)
{
  const clarke_graph *g = w->r->certify->g;

  for (size_t p = 0; p < g->n_parameters; p++)
    if (g->parameters[p].wrt)
      put_answer(w, CLARKE_PARAMETER, g->parameters[p].name, rule_of_readers(w, g->parameters[p].name));
}

/* By update: is it known what its node read? */
static clarke_status
put_statistics(const writer *w, clarke_error *err)
{
  const clarke_certify *c = w->r->certify;
  const clarke_model *m = w->r->nodes;
  bool *known = calloc(c->n_statistics + 1, sizeof *known);

  if (known == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < c->n_statistics; i++)
    for (size_t k = 0; k < m->n_nodes; k++)
      known[i] = known[i] || (strcmp(m->nodes[k].out[0], c->statistics[i].node) == 0 && inputs_known(w, &m->nodes[k], false));
  clarke_proof_put_statistics(w->out, c, known, w->moderate);
  free(known);
  return CLARKE_OK;
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

    if (!w->node[i].op.kinks)
      continue;
    fputs("pattern ", w->out);
    clarke_proof_put_name(w->out, name);
    if (!whole || !w->node[i].rule || !inputs_known(w, &m->nodes[i], false) || w->node[i].op.composed) {
      fputs(" not-covered\n", w->out);
      continue;
    }
    fprintf(w->out, " %zu\n", put_parts(NULL, w, name));
    put_parts(w->out, w, name);
  }
}

/* What run.json says of factors that were rounded before they were multiplied. */
static void
put_factors(const writer *w)
{
  const clarke_rounding *by = &w->r->certify->by;

  if (by->conv > 0 || by->matmul > 0)
    clarke_proof_put_input(w->out, "run", &w->r->run);
  if (by->conv > 0)
    fprintf(w->out, "factors conv 1/%.0f\n", 1 / by->conv);
  if (by->matmul > 0)
    fprintf(w->out, "factors matmul 1/%.0f\n", 1 / by->matmul);
}

static clarke_status
put_statement(const writer *w, clarke_error *err)
{
  const clarke_proof_record *r = w->r;
  const clarke_certify *c = r->certify;

  clarke_status status;

  fputs("clarke-proof 1\nclaim record\n", w->out);
  clarke_proof_put_input(w->out, "model", &r->model);
  clarke_proof_put_input(w->out, "params", &r->params);
  clarke_proof_put_input(w->out, "batch", &r->batch);
  status = clarke_proof_put_fingerprints(w->out, c->g, err);
  if (status != CLARKE_OK)
    return status;
  clarke_proof_put_input(w->out, "trace", &r->trace);
  clarke_proof_put_input(w->out, "gradients", &r->gradients);
  put_factors(w);
  fprintf(w->out, "loss %s\nscale ", clarke_loss_name(c->loss->kind));
  mpq_out_str(w->out, 10, c->scale);
  fputc('\n', w->out);
  clarke_proof_put_wrt(w->out, c->g, false, c->profile);
  return clarke_proof_put_proxies(w->out, c->g, c->profile, err);
}

clarke_status
clarke_proof_write_record(const char *path, const clarke_proof_record *r, clarke_error *err)
{
  writer w = {.r = r, .moderate = clarke_record_is_moderate(r->certify), .node = calloc(r->nodes->n_nodes + 1, sizeof(standing))};
  clarke_text text;
  clarke_status status = w.node != NULL ? clarke_text_open(&text, err) : clarke_no_memory(err);

  for (size_t i = 0; status == CLARKE_OK && i < r->nodes->n_nodes; i++)
    w.node[i].op = operator_of(&w, &r->nodes->nodes[i]);
  if (status == CLARKE_OK) {
    w.out = text.to;
    status = find_torn(&w, err);
    if (status == CLARKE_OK)
      status = look_at_nodes(&w, err);
    if (status == CLARKE_OK)
      status = put_statement(&w, err);
    if (status == CLARKE_OK) {
      put_tensors(&w, CLARKE_OUTPUT);
      put_tensors(&w, CLARKE_INDICES);
      put_tensors(&w, CLARKE_GRADIENT);
      put_parameters(&w);
      status = put_statistics(&w, err);
      put_pattern(&w);
    }
    status = clarke_proof_save(&text, status, path, err);
  }
  free(w.node);
  free(w.torn);
  free(w.via);
  return status;
}
