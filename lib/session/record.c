/* A run folder as the files of a question (record.h). */
#include "session/record.h"

#include "base/text.h"
#include "session/json.h"
#include "session/names.h"
#include "format/safetensors.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
clarke_record_init(clarke_record *r)
{
  memset(r, 0, sizeof *r);
  clarke_run_description_init(&r->run);
  clarke_tensors_init(&r->gradients);
  clarke_tensors_init(&r->trace);
  clarke_tensors_init(&r->start);
  clarke_tensors_init(&r->update);
  clarke_summations_init(&r->trees);
}

void
clarke_record_clear(clarke_record *r)
{
  clarke_run_description_clear(&r->run);
  clarke_tensors_clear(&r->gradients);
  free(r->zeros);
  clarke_tensors_clear(&r->trace);
  clarke_tensors_clear(&r->start);
  clarke_tensors_clear(&r->update);
  clarke_file_clear(&r->gradients_bytes);
  clarke_file_clear(&r->trace_bytes);
  clarke_summations_clear(&r->trees);
  clarke_file_clear(&r->graph);
  clarke_file_clear(&r->batch);
  clarke_file_clear(&r->params);
  free(r->folder);
  free(r->graph_path);
  free(r->batch_path);
  free(r->params_path);
  free(r->profile_path);
  free(r->wrt);
  free(r->why);
  clarke_names_free(r->claim, r->n_claims);
  clarke_record_init(r);
}

char *
clarke_record_path(const clarke_record *r, const char *name)
{
  const char *folder = r->folder;
  const size_t n = strlen(folder), size = n + strlen(name) + 2;
  char *path = malloc(size);

  if (path != NULL)
    snprintf(path, size, n > 0 && folder[n - 1] == '/' ? "%s%s" : "%s/%s", folder, name);
  return path;
}

/* One of the folder's files, which is no link to another: its bytes are those that were recorded, where run.json has their hash. What is hashed is copied first:
 * others may write to the file. */
static clarke_status
read_named(clarke_file *file, char **path, const clarke_record *r, const clarke_run_file *named, clarke_error *err)
{
  const bool given = *named->sha256 != '\0', hashed = r->hashed || given;
  clarke_status status;

  *path = clarke_record_path(r, named->name);
  if (*path == NULL)
    return clarke_no_memory(err);
  if (hashed)
    status = clarke_file_read_beside(file, *path, named->name, err);
  else
    status = r->packed ? clarke_file_map(file, *path, err) : clarke_file_read_bytes(file, *path, err);
  if (status == CLARKE_OK && given && strcmp(file->sha256, named->sha256) != 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: its SHA-256 is %s; run.json has %s", *path, file->sha256, named->sha256);
  return status;
}

/* The tensors of one that is a safetensors file. Its bytes are kept where they are packed, of others only the hash. */
static clarke_status
read_tensors(clarke_tensors *ts, clarke_file *bytes, const clarke_record *r, const clarke_run_file *named, clarke_error *err)
{
  char *path = NULL;
  clarke_status status = read_named(bytes, &path, r, named, err);

  if (status == CLARKE_OK)
    status = r->packed ? clarke_safetensors_parse_packed(ts, bytes->data, bytes->size, named->name, err)
                       : clarke_safetensors_parse(ts, bytes->data, bytes->size, named->name, err);
  if (!r->packed) {
    free(bytes->data);
    bytes->data = NULL;
    bytes->size = 0;
  }
  free(path);
  return status;
}

static clarke_status
read_trees(clarke_record *r, clarke_error *err)
{
  clarke_file file = {0};
  char *path = NULL;
  clarke_status status = read_named(&file, &path, r, &r->step->trees, err);

  if (status == CLARKE_OK)
    status = clarke_summations_parse(&r->trees, file.data, file.size, r->step->trees.name, err);
  clarke_file_clear(&file);
  free(path);
  return status;
}

clarke_status
clarke_record_open_run(clarke_record *r, const char *folder, clarke_error *err)
{
  clarke_file file = {0};
  char *path = NULL;
  clarke_status status;

  r->folder = strdup(folder);
  path = r->folder != NULL ? clarke_record_path(r, "run.json") : NULL;
  status = path != NULL ? clarke_file_read_beside(&file, path, "run.json", err) : clarke_no_memory(err);
  if (status == CLARKE_OK)
    status = clarke_run_description_parse(&r->run, file.data, file.size, path, err);
  if (status == CLARKE_OK && r->run.n_outside > 0)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: %s", path, r->run.outside[0]);
  snprintf(r->run_sha256, sizeof r->run_sha256, "%s", file.sha256);
  clarke_file_clear(&file);
  free(path);
  return status;
}

static clarke_status
read_run(clarke_record *r, const char *folder, size_t step, clarke_error *err)
{
  clarke_status status = clarke_record_open_run(r, folder, err);

  for (size_t i = 0; status == CLARKE_OK && i < r->run.n_steps; i++)
    if (r->run.step[i].step == step || (step == CLARKE_NONE && i == 0))
      r->step = &r->run.step[i];
  if (status == CLARKE_OK && r->step == NULL)
    status = clarke_fail(err, CLARKE_EINPUT, "%s/run.json: it has no step %zu", folder, step);
  return status;
}

clarke_status
clarke_record_open(clarke_record *r, const char *folder, size_t step, clarke_error *err)
{
  clarke_status status = read_run(r, folder, step, err);

  if (status == CLARKE_OK)
    status = read_named(&r->graph, &r->graph_path, r, &r->run.graph, err);
  if (status == CLARKE_OK)
    status = read_named(&r->batch, &r->batch_path, r, &r->step->batch, err);
  if (status == CLARKE_OK)
    status = read_named(&r->params, &r->params_path, r, &r->step->parameters, err);
  if (status == CLARKE_OK)
    status = read_tensors(&r->gradients, &r->gradients_bytes, r, &r->step->gradients, err);
  if (status == CLARKE_OK && r->step->trace.name != NULL)
    status = read_tensors(&r->trace, &r->trace_bytes, r, &r->step->trace, err);
  if (status == CLARKE_OK && r->step->trees.name != NULL)
    status = read_trees(r, err);
  return status;
}

/* How many entries of a sample lie behind its place, in the order of all. */
static size_t
entries_behind(const clarke_value *v)
{
  size_t n = v->batch.merged ? v->batch.inner : 1;

  for (size_t a = v->batch.axis + (v->batch.merged ? 1 : 0); a < v->rank; a++)
    n *= v->dims[a];
  return n;
}

/* The tensor's numbers, each sample's side by side; `count` are of a sample, `behind` of these behind its place. */
static clarke_status
lay(clarke_tensor *t, size_t count, size_t behind, clarke_error *err)
{
  const size_t n = t->count / count;
  clarke_status status = clarke_tensor_unpack(t, err);
  double *by_samples;

  if (status != CLARKE_OK || t->real == NULL)
    return status;
  by_samples = malloc((t->count + 1) * sizeof *by_samples);
  if (by_samples == NULL)
    return clarke_no_memory(err);
  for (size_t k = 0; k < t->count; k++)
    by_samples[k / behind % n * count + k / behind / n * behind + k % behind] = t->real[k];
  free(t->real);
  t->real = by_samples;
  t->rank = 2;
  t->dims[0] = n;
  t->dims[1] = count;
  return CLARKE_OK;
}

clarke_status
clarke_record_lay(clarke_tensors *trace, const clarke_graph *g, clarke_error *err)
{
  static const char *const part[] = {"output", "gradient"};
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; g->batched && i < g->n_values * 2 && status == CLARKE_OK; i++) {
    const clarke_value *v = &g->values[i / 2];
    const size_t behind = v->constant ? v->count : entries_behind(v);
    const clarke_tensor *t;
    char name[4096];

    if (v->constant || v->batch.none || v->name == NULL || behind == v->count || v->count == 0)
      continue;
    snprintf(name, sizeof name, "%s/%.4000s", part[i % 2], v->name);
    t = clarke_tensors_find(trace, name);
    if (t != NULL && t->count % v->count == 0)
      status = lay(&trace->tensor[t - trace->tensor], v->count, behind, err);
  }
  return status;
}

/* The gradients; of a step that was not made what is wrong with them is told, not refused. */
static clarke_status
read_gradients(clarke_record *r, clarke_error *err)
{
  clarke_error why = {CLARKE_OK, ""};
  clarke_file bytes = {0};
  char *path = NULL;
  clarke_status status = read_named(&bytes, &path, r, &r->step->gradients, err), parsed = CLARKE_OK;

  if (status == CLARKE_OK)
    parsed = clarke_safetensors_parse(&r->gradients, bytes.data, bytes.size, r->step->gradients.name, &why);
  if (parsed == CLARKE_EINPUT && (r->step->update.skipped != NULL || r->step->update.found_inf)) {
    r->why = strdup(why.text);
    status = r->why != NULL ? CLARKE_OK : clarke_no_memory(err);
  } else if (parsed != CLARKE_OK)
    status = clarke_fail(err, parsed, "%s", why.text);
  clarke_file_clear(&bytes);
  free(path);
  return status;
}

/* In every step, for steps that were not made are asked about beside it. */
static clarke_status
choose_update(clarke_record *r, size_t which, clarke_error *err)
{
  if (which > r->step->n_more)
    return clarke_fail(err, CLARKE_EINPUT, "step %zu has %zu optimizers' steps; the first one has the number 0", r->step->step, r->step->n_more + 1);
  for (size_t i = 0; which > 0 && i < r->run.n_steps; i++) {
    clarke_run_step *s = &r->run.step[i];

    if (which <= s->n_more) {
      const clarke_run_more own = {.file = s->optimizer, .update = s->update};

      s->optimizer = s->more[which - 1].file;
      s->update = s->more[which - 1].update;
      s->more[which - 1] = own;
    }
  }
  return CLARKE_OK;
}

clarke_status
clarke_record_open_update(clarke_record *r, const char *folder, size_t step, size_t which, clarke_error *err)
{
  clarke_file bytes[2] = {{0}, {0}};
  clarke_status status = read_run(r, folder, step, err);

  if (status == CLARKE_OK)
    status = choose_update(r, which, err);
  if (status == CLARKE_OK && r->step->optimizer.name != NULL)
    status = read_tensors(&r->update, &bytes[0], r, &r->step->optimizer, err);
  if (status == CLARKE_OK)
    status = read_tensors(&r->start, &bytes[1], r, &r->step->parameters, err);
  if (status == CLARKE_OK)
    status = read_gradients(r, err);
  clarke_file_clear(&bytes[0]);
  clarke_file_clear(&bytes[1]);
  return status;
}

clarke_status
clarke_record_gradients(clarke_tensors *ts, const clarke_record *r, const clarke_run_step *step, clarke_error *err)
{
  clarke_file bytes = {0};
  clarke_status status = read_tensors(ts, &bytes, r, &step->gradients, err);

  clarke_file_clear(&bytes);
  return status;
}

clarke_status
clarke_record_update(clarke_tensors *ts, const clarke_record *r, const clarke_run_more *one, clarke_error *err)
{
  clarke_file bytes = {0};
  clarke_status status = one->file.name != NULL ? read_tensors(ts, &bytes, r, &one->file, err) : CLARKE_OK;

  clarke_file_clear(&bytes);
  return status;
}

clarke_status
clarke_record_stayed(const clarke_record *r, clarke_error *err)
{
  char *path = r->trace_bytes.mapped ? clarke_record_path(r, r->step->trace.name) : NULL;
  clarke_status status = CLARKE_OK;

  if (r->trace_bytes.mapped)
    status = path != NULL ? clarke_file_stayed(&r->trace_bytes, path, err) : clarke_no_memory(err);
  free(path);
  return status;
}

/* The trained parameters with commas between. */
static clarke_status
join_parameters(clarke_record *r, clarke_error *err)
{
  size_t size = 1, n = 0;

  for (size_t i = 0; i < r->run.n_parameters; i++) {
    if (strchr(r->run.parameter[i], ',') != NULL)
      return clarke_fail(err, CLARKE_EINPUT, "run.json: parameter '%s' has a comma in its name", r->run.parameter[i]);
    size += strlen(r->run.parameter[i]) + 1;
  }
  r->wrt = malloc(size);
  if (r->wrt == NULL)
    return clarke_no_memory(err);
  for (size_t i = 0; i < r->run.n_parameters; i++)
    n += (size_t)snprintf(r->wrt + n, size - n, i > 0 ? ",%s" : "%s", r->run.parameter[i]);
  return CLARKE_OK;
}

clarke_status
clarke_record_request(clarke_audit_request *q, clarke_record *r, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  if (q->wrt == NULL) {
    status = join_parameters(r, err);
    q->wrt = r->wrt;
  }
  if (q->profile != NULL && strcmp(q->profile, r->run.profile) != 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: the step was recorded under profile %s, not %s", r->folder, r->run.profile,
                       q->profile);
  if (status == CLARKE_OK && !clarke_profile_known(r->run.profile)) {
    r->profile_path = clarke_record_path(r, r->run.profile);
    status = r->profile_path != NULL ? CLARKE_OK : clarke_no_memory(err);
  }
  q->profile = r->profile_path != NULL ? r->profile_path : r->run.profile;
  q->loss = r->run.loss;
  q->recorded = true;
  q->n_branches = r->run.n_branches;
  q->branch = r->run.branch;
  q->model_path = r->graph_path;
  q->model = &r->graph;
  q->batch_path = r->batch_path;
  q->batch = &r->batch;
  q->params_path = r->params_path;
  q->params = &r->params;
  return status;
}

const char *
clarke_ran_name(clarke_ran ran)
{
  static const char *const name[] = {"not known", "explained", "turned", "refuted"};

  return name[ran];
}

clarke_status
clarke_record_say(clarke_record *r, clarke_ran ran, clarke_error *err, const char *format, ...)
{
  va_list args;
  char *why;

  va_start(args, format);
  why = clarke_text_vprint(format, args);
  va_end(args);
  free(r->why);
  r->why = why;
  r->ran = ran;
  return why != NULL ? CLARKE_OK : clarke_no_memory(err);
}

bool
clarke_record_rests_on_nodes(const clarke_record *r)
{
  return r->by_nodes && (r->ran == CLARKE_RAN_EXPLAINED || r->ran == CLARKE_RAN_TURNED);
}

/* What the answer rests on: every node, or the whole gradient beside AD's exact one; null where it is none. */
static json_t *
by_json(const clarke_record *r)
{
  const bool said = r->ran == CLARKE_RAN_EXPLAINED || r->ran == CLARKE_RAN_TURNED;

  return said ? json_string(clarke_record_rests_on_nodes(r) ? "nodes" : "whole") : json_null();
}

/* The kink or window that is nearest, in parts of the error that its argument may have. */
static json_t *
near_json(const clarke_record *r, const clarke_audit_session *s)
{
  const clarke_step *step;
  const clarke_value *v;
  char index[256];

  if (!r->near_known)
    return json_null();
  step = &s->graph.steps[r->near_step];
  v = &s->graph.values[step->out];
  clarke_put_index(index, sizeof index, v->dims, v->rank, r->near_entry / s->x->dims[0]);
  return json_pack("{s:o, s:s, s:I, s:f}", "node", clarke_json_text(v->name != NULL ? v->name : step->name), "index", index, "sample",
                   (json_int_t)(r->near_entry % s->x->dims[0]), "error_bounds", isfinite(r->near) ? r->near : -1.0);
}

json_t *
clarke_record_surrogates_json(const clarke_record *r)
{
  json_t *list = json_array();

  for (size_t i = 0; i < r->run.n_surrogates; i++)
    clarke_json_append(&list, clarke_json_text(r->run.surrogate[i]));
  return list;
}

json_t *
clarke_record_json(const clarke_record *r, const clarke_audit_session *s)
{
  static const char *const again[] = {
      [CLARKE_AGAIN_NOTHING] = "nothing", [CLARKE_AGAIN_CALLS] = "calls", [CLARKE_AGAIN_LOSS] = "loss", [CLARKE_AGAIN_PROGRAM] = "program"};
  json_t *claims = json_array(), *explained = r->ran == CLARKE_RAN_EXPLAINED ? json_true()
                                              : r->ran == CLARKE_RAN_REFUTED ? json_false()
                                                                             : json_null();

  for (size_t i = 0; i < r->n_claims; i++)
    clarke_json_append(&claims, clarke_json_text(r->claim[i]));
  return json_pack("{s:s, s:o, s:o, s:o, s:I, s:f, s:I, s:I, s:I, s:s, s:o, s:o, s:o, s:s?}", "answer", clarke_ran_name(r->ran), "explained", explained,
                   "by", by_json(r), "why", clarke_json_text(r->why), "entries", (json_int_t)r->entries, "worst", isfinite(r->worst) ? r->worst : -1.0,
                   "open", (json_int_t)r->open, "outputs", (json_int_t)r->checked, "step", (json_int_t)r->step->step, "types", r->types,
                   "claims", claims, "surrogates", clarke_record_surrogates_json(r), "nearest", near_json(r, s), "again", again[r->step->again]);
}
