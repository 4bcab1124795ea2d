/* Checkpoints: their tensors, by what the file is, under the names of the model's parameters. */

#include "session/checkpoint.h"

#include "base/text.h"
#include "format/foreign.h"
#include "format/npz.h"
#include "format/pt.h"
#include "format/safetensors.h"
#include "format/shards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

clarke_status
clarke_checkpoint_name(char **path, const char **key, const char *given, clarke_error *err)
{
  const char *colon = strrchr(given, ':');

  *key = NULL;
  *path = strdup(given);
  if (*path == NULL)
    return clarke_no_memory(err);
  if (colon == NULL || colon == given || access(given, F_OK) == 0)
    return CLARKE_OK;
  (*path)[colon - given] = '\0';
  *key = colon + 1;
  if (**key == '\0' || access(*path, F_OK) != 0) { /* as it stands, for the message */
    (*path)[colon - given] = ':';
    *key = NULL;
  }
  return CLARKE_OK;
}

/* --- reading ---------------------------------------------------------------------------------- */

static clarke_status
parse_shards(clarke_tensors *ts, const char *path, const clarke_file *f, clarke_error *err)
{
  clarke_shards shards;
  clarke_status status;

  clarke_shards_init(&shards);
  status = clarke_shards_parse(&shards, f->data, f->size, clarke_base_name(path), err);
  if (status == CLARKE_OK)
    status = clarke_shards_read(ts, &shards, path, err);
  clarke_shards_clear(&shards);
  return status;
}

/* A file of torch.save begins so. So may the length of a safetensors header, behind which is its brace. */
static bool
is_pickled(const unsigned char *data, size_t size)
{
  const bool safetensors = size > 8 && data[8] == '{';

  return size >= 2 && !safetensors && (memcmp(data, "PK", 2) == 0 || memcmp(data, "\x80\2", 2) == 0);
}

clarke_status
clarke_checkpoint_tensors(clarke_tensors *ts, bool *checked, const char *path, const char *key, const clarke_file *f, clarke_error *err)
{
  const char *name = clarke_base_name(path);
  const bool npz = clarke_ends_with(name, ".npz"), index = clarke_ends_with(name, ".index.json");
  const bool pickled = !npz && !index && is_pickled(f->data, f->size);
  const char *foreign = clarke_foreign_weights(f->data, f->size);

  *checked = false;
  if (foreign != NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s: is %s", name, foreign);
  if (pickled || clarke_ends_with(name, ".pt") || clarke_ends_with(name, ".pth"))
    return clarke_pt_parse(ts, key, f->data, f->size, name, err);
  if (key != NULL)
    return clarke_fail(err, CLARKE_EINPUT, "%s: has no dictionaries, and so nothing under '%s'", name, key);
  if (index)
    return parse_shards(ts, path, f, err);
  *checked = true;
  if (npz)
    return clarke_npz_parse(ts, checked, f->data, f->size, name, err);
  return clarke_safetensors_parse_packed(ts, f->data, f->size, name, err); /* they become the graph's, which decodes them */
}

/* --- prefixes --------------------------------------------------------------------------------- */

/* What wrappers put before the names of the modules in them. */
static const char *const wrappers[] = {"module.", "_orig_mod.", "model."};

/* The length of the wrapper's name that the text begins with, something following; 0: none. */
static size_t
wrapper_of(const char *text)
{
  for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++) {
    const size_t n = strlen(wrappers[i]);

    if (strncmp(text, wrappers[i], n) == 0 && text[n] != '\0')
      return n;
  }
  return 0;
}

static const char *
tensor_name(const void *tensors, size_t i)
{
  return ((const clarke_tensor *)tensors)[i].name;
}

static const char *
parameter_name(const void *parameters, size_t i)
{
  return ((const clarke_parameter *)parameters)[i].name;
}

/* The longest prefix made of wrappers that all n names share. */
static size_t
common_prefix(const char *(*name)(const void *, size_t), const void *list, size_t n)
{
  size_t length = 0, next;

  while (n > 0 && (next = wrapper_of(name(list, 0) + length)) > 0) {
    for (size_t i = 1; i < n; i++)
      if (strncmp(name(list, i), name(list, 0), length + next) != 0 || name(list, i)[length + next] == '\0')
        return length;
    length += next;
  }
  return length;
}

/* The parameters that there is a tensor for, when `take` is taken off each tensor's name, and `put` put before it. */
static size_t
count_fitting(const clarke_graph *g, const clarke_tensors *ts, size_t take, const char *put, size_t n_put)
{
  size_t fitting = 0;

  for (size_t p = 0; p < g->n_parameters; p++) {
    const char *wanted = g->parameters[p].name;
    bool found = false;

    for (size_t i = 0; i < ts->n && !found && strncmp(wanted, put, n_put) == 0; i++)
      found = strcmp(wanted + n_put, ts->tensor[i].name + take) == 0;
    fitting += found;
  }
  return fitting;
}

static clarke_status
rename_tensor(clarke_tensor *t, size_t take, const char *put, size_t n_put, clarke_error *err)
{
  const size_t size = n_put + strlen(t->name + take) + 1;
  char *name = malloc(size);

  if (name == NULL)
    return clarke_no_memory(err);
  snprintf(name, size, "%.*s%s", (int)n_put, put, t->name + take);
  free(t->name);
  t->name = name;
  return CLARKE_OK;
}

/* Where names fit better without the wrappers' prefixes of file and model, the file's prefix becomes the model's. */
static clarke_status
match_prefixes(bool *renamed, clarke_tensors *ts, const clarke_graph *g, clarke_error *err)
{
  const size_t take = common_prefix(tensor_name, ts->tensor, ts->n);
  const size_t n_put = common_prefix(parameter_name, g->parameters, g->n_parameters);
  const char *put = g->n_parameters > 0 ? g->parameters[0].name : "";
  clarke_status status = CLARKE_OK;

  *renamed = (take > 0 || n_put > 0) && count_fitting(g, ts, take, put, n_put) > count_fitting(g, ts, 0, "", 0);
  for (size_t i = 0; i < ts->n && *renamed && status == CLARKE_OK; i++)
    status = rename_tensor(&ts->tensor[i], take, put, n_put, err);
  return status;
}

/* --- the whole -------------------------------------------------------------------------------- */

clarke_status
clarke_checkpoint_provable(const clarke_audit_session *s, clarke_error *err)
{
  if (s->params.name == NULL || s->params_stored)
    return CLARKE_OK;
  return clarke_fail(err, CLARKE_EINPUT, "%s: a proof needs the checkpoint as one file, .safetensors or as numpy.savez "
                     "writes it, with the model's own names alone (the checker neither unpickles nor decompresses, and takes no "
                     "prefix off)", s->params.name);
}

/* What the model has for other outputs than the one that was chosen is not read. */
static void
leave_out(clarke_tensors *ts, const clarke_audit_session *s)
{
  size_t kept = 0;

  for (size_t i = 0; i < ts->n; i++) {
    bool left_out = false;

    for (size_t k = 0; k < s->n_left_out && !left_out; k++)
      left_out = strcmp(ts->tensor[i].name, s->left_out[k]) == 0;
    if (left_out)
      clarke_tensor_clear(&ts->tensor[i]);
    else
      ts->tensor[kept++] = ts->tensor[i];
  }
  ts->n = kept;
}

static double
entry_of(const clarke_tensor *t, size_t e)
{
  return t->packed != NULL ? (double)clarke_f32_at(t->packed, e) : t->real[e];
}

static bool
is_parameter(const clarke_graph *g, const char *name)
{
  for (size_t p = 0; p < g->n_parameters; p++)
    if (strcmp(g->parameters[p].name, name) == 0)
      return true;
  return false;
}

/* Are both of one shape and of the same entries, which are not all one number? */
static bool
is_copy(const clarke_tensor *a, const clarke_tensor *b)
{
  bool one = true;

  if (a->rank != b->rank || memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) != 0 || (b->real == NULL && b->packed == NULL))
    return false;
  for (size_t e = 0; e < a->count; e++) {
    if (entry_of(a, e) != entry_of(b, e))
      return false;
    one = one && entry_of(a, e) == entry_of(a, 0);
  }
  return !one;
}

/* The further name of a tensor that is a parameter under another one. Tensors of one number, as biases are at first, may be equal by
 * chance, and so may statistics. */
static bool
is_further_name(const clarke_tensors *ts, size_t i, const clarke_graph *g)
{
  const clarke_tensor *t = &ts->tensor[i];

  if ((t->real == NULL && t->packed == NULL) || is_parameter(g, t->name) || clarke_ends_with(t->name, ".running_mean") || clarke_ends_with(t->name, ".running_var"))
    return false;
  for (size_t k = 0; k < ts->n; k++)
    if (k != i && is_parameter(g, ts->tensor[k].name) && is_copy(t, &ts->tensor[k]))
      return true;
  return false;
}

/* Tied weights have several names in a state dict, and one in a model. True where there are some. */
static bool
leave_out_tied(clarke_tensors *ts, const clarke_graph *g)
{
  size_t kept = 0, n = ts->n;
  bool *tied = calloc(n + 1, sizeof *tied); /* without room for it nothing is left out, and the names do not fit */

  for (size_t i = 0; i < n && tied != NULL; i++)
    tied[i] = is_further_name(ts, i, g);
  for (size_t i = 0; i < n && tied != NULL; i++)
    if (tied[i])
      clarke_tensor_clear(&ts->tensor[i]);
    else
      ts->tensor[kept++] = ts->tensor[i];
  if (tied != NULL)
    ts->n = kept;
  free(tied);
  return ts->n < n;
}

clarke_status
clarke_checkpoint_read(clarke_audit_session *s, const clarke_audit_request *r, clarke_error *err)
{
  clarke_tensors tensors;
  bool renamed = false;
  clarke_status status = clarke_named_file_set(&s->params, r->params_path, r->params, err);

  if (status != CLARKE_OK)
    return status;
  clarke_tensors_init(&tensors);
  status = clarke_checkpoint_tensors(&tensors, &s->params_stored, r->params_path, r->params_key, r->params, err);
  if (status == CLARKE_OK)
    status = match_prefixes(&renamed, &tensors, &s->graph, err);
  if (status == CLARKE_OK)
    leave_out(&tensors, s);
  if (status == CLARKE_OK && leave_out_tied(&tensors, &s->graph))
    renamed = true;
  s->params_stored = s->params_stored && !renamed;
  if (status == CLARKE_OK && r->provable)
    status = clarke_checkpoint_provable(s, err);
  if (status == CLARKE_OK)
    status = clarke_graph_replace(&s->graph, tensors.tensor, tensors.n, s->params.name, err);
  clarke_tensors_clear(&tensors);
  return status;
}

clarke_status
clarke_checkpoint_of(clarke_tensors *ts, const clarke_graph *g, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  ts->tensor = calloc(g->n_parameters + 1, sizeof *ts->tensor);
  if (ts->tensor == NULL)
    return clarke_no_memory(err);
  for (size_t p = 0; p < g->n_parameters && status == CLARKE_OK; p++) {
    const clarke_parameter *from = &g->parameters[p];

    clarke_tensor_init(&ts->tensor[ts->n++]);
    status = clarke_tensor_shape(&ts->tensor[p], from->name, CLARKE_F64, from->rank, from->dims, err);
    if (status == CLARKE_OK)
      memcpy(ts->tensor[p].real, from->real, from->count * sizeof *from->real);
  }
  return status;
}
