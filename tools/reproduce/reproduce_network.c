#include "reproduce_network.h"

#include "session/audit.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- asking ----------------------------------------------------------------------------------- */

/* *path = a file beside the case (malloc). */
static clarke_status
beside(char **path, const clarke_run *r, const char *name, clarke_error *err)
{
  const size_t folder = (size_t)(r->c->name - r->c->path), size = folder + strlen(name) + 1;

  if (strchr(name, '/') != NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s: expected the name of a file beside the case", name);
  *path = malloc(size);
  if (*path == NULL)
    return clarke_no_memory(err);
  snprintf(*path, size, "%.*s%s", (int)folder, r->c->path, name);
  return CLARKE_OK;
}

static clarke_status
read_beside(char **path, clarke_file *file, const clarke_run *r, const char *name, clarke_error *err)
{
  const clarke_status status = beside(path, r, name, err);

  return status == CLARKE_OK ? clarke_file_read(file, *path, err) : status;
}

clarke_status
clarke_run_read_files(clarke_run *r, const char *model, const char *batch, clarke_error *err)
{
  const clarke_status status = read_beside(&r->model_path, &r->model, r, model, err);

  return status == CLARKE_OK ? read_beside(&r->batch_path, &r->batch, r, batch, err) : status;
}

clarke_audit_request
clarke_run_request(const clarke_run *r, const char *loss)
{
  return (clarke_audit_request){.model_path = r->model_path, .batch_path = r->batch_path, .model = &r->model, .batch = &r->batch,
                                .profile = "case", .profile_text = r->check->profile, .loss = loss, .wrt = r->check->wrt, .threads = 1};
}

static clarke_status
ask(clarke_run *r, const char *model, const char *batch, const char *loss, clarke_error *err)
{
  clarke_status status = clarke_run_read_files(r, model, batch, err);
  const clarke_audit_request q = clarke_run_request(r, loss);

  if (status == CLARKE_OK)
    status = clarke_audit_session_read(r->network, &q, err);
  return status == CLARKE_OK ? clarke_audit_session_ask(r->network, &q, err) : status;
}

clarke_status
clarke_run_network(clarke_run *r, clarke_error *err)
{
  clarke_words w;
  clarke_status status;

  r->network = malloc(sizeof *r->network);
  if (r->network == NULL)
    return clarke_no_memory(err);
  clarke_audit_session_init(r->network);
  status = clarke_words_cut(&w, r->check->at, err);
  if (status == CLARKE_OK)
    status = w.n == 2 || w.n == 3 ? ask(r, w.word[0], w.word[1], w.word[2], err)
                                  : clarke_fail(err, CLARKE_EINPUT, "expected MODEL BATCH, and perhaps a loss");
  clarke_words_clear(&w);
  return status;
}

/* --- what it said ----------------------------------------------------------------------------- */

/* Each layer whose P_l has rows: "rho: 2 rows, empty". */
static clarke_status
find_systems(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  static const char *const said[] = {[CLARKE_YES] = "not empty", [CLARKE_NO] = "empty", [CLARKE_UNKNOWN] = "not known"};
  const clarke_audit *a = &r->network->audit;
  char *text = NULL;
  size_t size;
  FILE *to = open_memstream(&text, &size);
  bool any = false;
  clarke_status status;

  if (to == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < a->n_layers; i++) {
    const clarke_layer *layer = &a->layer[i];

    if (layer->moving == 0 || layer->pool != CLARKE_NONE)
      continue; /* a pool and what it pools are one layer: the pool's */
    fprintf(to, "%s%s: %zu row%s, %s", any ? "; " : "", r->network->graph.steps[layer->step].name, layer->constraints,
            layer->constraints == 1 ? "" : "s", said[layer->feasible]);
    any = true;
  }
  status = fclose(to) == 0 && text != NULL ? clarke_result_word(result, any ? text : "none", err) : clarke_no_memory(err);
  free(text);
  return status;
}

/* "Theorem 8" is the key "theorem-8". */
static bool
is_key_of(const char *key, const char *theorem)
{
  for (; *key != '\0' && *theorem != '\0'; key++, theorem++)
    if (*key != (*theorem == ' ' ? '-' : (char)tolower((unsigned char)*theorem)))
      return false;
  return *key == *theorem;
}

static clarke_status
find_theorem(clarke_result *result, const clarke_run *r, const char *key, clarke_error *err)
{
  for (size_t i = 0; i < CLARKE_THEOREMS; i++) {
    const clarke_theorem *t = &r->network->audit.theorem[i];

    if (t->name != NULL && is_key_of(key, t->name))
      return t->applies ? clarke_result_truth(result, t->holds, err) : clarke_result_word(result, "none", err);
  }
  return clarke_result_word(result, "unknown", err);
}

static clarke_status
find_touched(clarke_result *result, const clarke_run *r, clarke_error *err)
{
  return r->network->replay.open > 0 ? clarke_result_word(result, "unknown", err)
                                     : clarke_result_count(result, r->network->replay.n_touches, err);
}

/* Does the step multiply by a matrix, or kernel, that is trained? */
static bool
is_trained(const clarke_graph *g, const clarke_step *s)
{
  return s->kind == CLARKE_DENSE && g->values[s->dense.weight].parameter != CLARKE_NONE;
}

static size_t
count_trained(const clarke_graph *g, const char *op)
{
  size_t n = 0;

  for (size_t i = 0; i < g->n_steps; i++)
    n += is_trained(g, &g->steps[i]) && (op == NULL || strcmp(g->steps[i].op->name, op) == 0);
  return n;
}

/* The most trained steps on a path to the output: each step is behind those that it takes from. */
static clarke_status
find_depth(size_t *depth, const clarke_graph *g, clarke_error *err)
{
  size_t *most = calloc(g->n_values + 1, sizeof *most);

  if (most == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < g->n_steps; i++) {
    const clarke_step *s = &g->steps[i];

    for (size_t k = 0; k < s->n_in; k++)
      if (most[s->in[k].value] > most[s->out])
        most[s->out] = most[s->in[k].value];
    most[s->out] += is_trained(g, s);
  }
  *depth = most[g->output];
  free(most);
  return CLARKE_OK;
}

static clarke_status
find_layers(clarke_result *result, const clarke_run *r, const char *key, clarke_error *err)
{
  const clarke_graph *g = &r->network->graph;
  size_t n = 0;
  const clarke_status status = strcmp(key, "depth") == 0 ? find_depth(&n, g, err) : CLARKE_OK;

  if (status != CLARKE_OK)
    return status;
  if (strcmp(key, "depth") != 0)
    n = count_trained(g, strcmp(key, "convolutions") == 0 ? "Conv" : NULL);
  return clarke_result_count(result, n, err);
}

/* Is the key about the network alone, whatever the minibatch? */
static bool
is_about_layers(const char *key)
{
  return strcmp(key, "layers") == 0 || strcmp(key, "depth") == 0 || strcmp(key, "convolutions") == 0;
}

bool
clarke_network_key_known(const char *key)
{
  static const char *const keys[] = {"verdict", "zone", "touched", "systems", "layers", "depth", "convolutions", "theorem-1", "theorem-4", "theorem-5", "theorem-6",
                                     "theorem-8", "n-1", "global-system"};

  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (strcmp(key, keys[i]) == 0)
      return true;
  return false;
}

clarke_status
clarke_network_result(clarke_result *result, const clarke_run *r, const char *key, clarke_error *err)
{
  const clarke_audit *a = &r->network->audit;

  if (strcmp(key, "verdict") == 0)
    return clarke_result_word(result, clarke_verdict_name(a->verdict), err);
  if (is_about_layers(key))
    return find_layers(result, r, key, err);
  if (!r->network->replayed)
    return clarke_result_word(result, "unknown", err);
  if (strcmp(key, "zone") == 0)
    return clarke_result_word(result, clarke_zone_name(a->zone.zone), err);
  if (strcmp(key, "touched") == 0)
    return find_touched(result, r, err);
  return strcmp(key, "systems") == 0 ? find_systems(result, r, err) : find_theorem(result, r, key, err);
}
