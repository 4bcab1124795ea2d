#include "audit_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *
clarke_base_name(const char *path)
{
  const char *slash = strrchr(path, '/');

  return slash != NULL ? slash + 1 : path;
}

void
clarke_audit_session_init(clarke_audit_session *s)
{
  memset(s, 0, sizeof *s);
  clarke_graph_init(&s->graph);
  clarke_profile_init(&s->profile);
  clarke_tensors_init(&s->batch);
  clarke_replay_init(&s->replay);
  clarke_audit_init(&s->audit);
}

/* Drops what was found for one checkpoint. */
static void
forget_answer(clarke_audit_session *s)
{
  clarke_audit_clear(&s->audit);
  if (s->question.g != NULL)
    clarke_question_clear(&s->question);
  memset(&s->question, 0, sizeof s->question);
  clarke_replay_clear(&s->replay);
  clarke_file_clear(&s->params_file);
  free(s->loss_value);
  s->loss_value = NULL;
  s->valued = false;
  clarke_replay_init(&s->replay);
  clarke_audit_init(&s->audit);
}

void
clarke_audit_session_clear(clarke_audit_session *s)
{
  forget_answer(s);
  clarke_profile_clear(&s->profile);
  clarke_graph_clear(&s->graph);
  clarke_tensors_clear(&s->batch);
  clarke_file_clear(&s->model_file);
  clarke_file_clear(&s->batch_file);
  for (size_t i = 0; i < s->n_wrt; i++)
    free(s->wrt[i]);
  free(s->wrt);
}

static bool
ends_with(const char *path, const char *ending)
{
  size_t n = strlen(path), m = strlen(ending);

  return n >= m && strcmp(path + n - m, ending) == 0;
}

/* x, and y where there is one. */
static clarke_status
read_batch(clarke_audit_session *s, const char *path, clarke_error *err)
{
  const char *name = clarke_base_name(path);
  clarke_status status = clarke_file_read(&s->batch_file, path, err);

  if (status != CLARKE_OK)
    return status;
  if (ends_with(path, ".npy")) {
    s->batch.tensor = malloc(sizeof *s->batch.tensor);
    if (s->batch.tensor == NULL)
      return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
    s->batch.n = 1;
    clarke_tensor_init(&s->batch.tensor[0]);
    s->batch_stored = true;
    status = clarke_npy_parse(&s->batch.tensor[0], s->batch_file.data, s->batch_file.size, name,
                              err);
    s->x = &s->batch.tensor[0];
    return status;
  }
  if (!ends_with(path, ".npz"))
    return clarke_fail(err, CLARKE_EINPUT, "%s: expected a .npz or .npy file", name);
  status = clarke_npz_parse(&s->batch, &s->batch_stored, s->batch_file.data, s->batch_file.size,
                            name, err);
  if (status != CLARKE_OK)
    return status;
  for (size_t i = 0; i < s->batch.n; i++)
    if (strcmp(s->batch.tensor[i].name, "x") != 0 && strcmp(s->batch.tensor[i].name, "y") != 0)
      return clarke_fail(err, CLARKE_EINPUT, "%s: array '%s'; a batch has x, and y perhaps", name,
                         s->batch.tensor[i].name);
  s->x = clarke_tensors_find(&s->batch, "x");
  s->y = clarke_tensors_find(&s->batch, "y");
  return s->x != NULL ? CLARKE_OK
                      : clarke_fail(err, CLARKE_EINPUT, "%s: no array 'x'", name);
}

static clarke_status
read_model(clarke_audit_session *s, const char *path, clarke_error *err)
{
  clarke_model model;
  clarke_status status = clarke_file_read(&s->model_file, path, err);

  if (status != CLARKE_OK)
    return status;
  clarke_model_init(&model);
  status = clarke_onnx_parse_at(&model, s->model_file.data, s->model_file.size, path, err);
  s->external = model.external;
  if (status == CLARKE_OK)
    status = clarke_graph_build(&s->graph, &model, s->x, err);
  clarke_model_clear(&model);
  return status;
}

/* A checkpoint's tensors, by what the file is: a ZIP of arrays or of torch.save, or safetensors.
 * *checked: can clarke-check read it too? */
static clarke_status
parse_params(clarke_tensors *ts, bool *checked, const clarke_file *f, const char *name,
             clarke_error *err)
{
  const bool pickled = f->size >= 2 && (memcmp(f->data, "PK", 2) == 0
                                        || memcmp(f->data, "\x80\2", 2) == 0);

  *checked = true;
  if (ends_with(name, ".npz"))
    return clarke_npz_parse(ts, checked, f->data, f->size, name, err);
  if (!pickled && !ends_with(name, ".pt") && !ends_with(name, ".pth"))
    return clarke_safetensors_parse(ts, f->data, f->size, name, err);
  *checked = false;
  return clarke_pt_parse(ts, f->data, f->size, name, err);
}

static clarke_status
read_params(clarke_audit_session *s, const char *path, bool proof, clarke_error *err)
{
  const char *name = clarke_base_name(path);
  clarke_tensors tensors;
  bool checked;
  clarke_status status = clarke_file_read(&s->params_file, path, err);

  if (status != CLARKE_OK)
    return status;
  clarke_tensors_init(&tensors);
  status = parse_params(&tensors, &checked, &s->params_file, name, err);
  if (status == CLARKE_OK && proof && !checked)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: --proof needs the checkpoint as .safetensors or as "
                         "numpy.savez writes it (the checker neither unpickles nor decompresses)",
                         name);
  if (status == CLARKE_OK)
    status = clarke_graph_replace(&s->graph, tensors.tensor, tensors.n, name, err);
  clarke_tensors_clear(&tensors);
  return status;
}

/* The names between commas. */
static clarke_status
split_wrt(clarke_audit_session *s, const char *list, clarke_error *err)
{
  while (list != NULL && *list != '\0') {
    size_t n = strcspn(list, ",");
    char **grown = realloc(s->wrt, (s->n_wrt + 1) * sizeof *grown);

    if (grown == NULL)
      return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
    s->wrt = grown;
    s->wrt[s->n_wrt] = strndup(list, n);
    if (s->wrt[s->n_wrt++] == NULL)
      return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
    list += n + (list[n] == ',');
  }
  return CLARKE_OK;
}

static clarke_status
choose_loss(clarke_audit_session *s, const char *name, clarke_error *err)
{
  clarke_loss *loss = &s->loss;
  clarke_status status = CLARKE_OK;

  loss->y = s->y;
  loss->samples = s->x->dims[0];
  if (name != NULL)
    status = clarke_loss_parse(&loss->kind, name, err);
  else
    loss->kind = s->y == NULL            ? CLARKE_LOSS_SUM
                 : s->y->integer != NULL ? CLARKE_LOSS_CE
                                         : CLARKE_LOSS_MSE;
  return status == CLARKE_OK ? clarke_loss_check(loss, &s->graph, err) : status;
}

clarke_status
clarke_audit_read(clarke_audit_session *s, const clarke_audit_request *r, clarke_error *err)
{
  clarke_status status = clarke_profile_load(&s->profile, r->profile, err);

  if (status == CLARKE_OK)
    status = read_batch(s, r->batch, err);
  if (status == CLARKE_OK)
    status = read_model(s, r->model, err);
  if (status == CLARKE_OK)
    status = split_wrt(s, r->wrt, err);
  if (status == CLARKE_OK)
    status = clarke_graph_wrt(&s->graph, s->wrt, s->n_wrt, err);
  if (status == CLARKE_OK)
    status = choose_loss(s, r->loss, err);
  if (status == CLARKE_OK && r->proof != NULL && !s->batch_stored)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: --proof needs an uncompressed .npz, as "
                         "numpy.savez writes it (the checker does not decompress)",
                         clarke_base_name(r->batch));
  if (status == CLARKE_OK && r->proof != NULL && s->external)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: --proof needs the model in one file: a proof names "
                         "the model's file alone, and its weights lie in others; save it with "
                         "onnx.save_model, save_as_external_data=False", clarke_base_name(r->model));
  return status == CLARKE_OK && r->proof != NULL
           ? clarke_proof_possible(&s->graph, &s->profile, err)
           : status;
}

/* *path = the name of an output, each "%" of it the checkpoint's base name (malloc). */
static clarke_status
output_path(char **path, const char *pattern, const char *params, clarke_error *err)
{
  const char *name = params != NULL ? clarke_base_name(params) : "%";
  size_t size = 1, n = 0;

  for (const char *c = pattern; *c != '\0'; c++)
    size += *c == '%' ? strlen(name) : 1;
  *path = malloc(size);
  if (*path == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "out of memory");
  **path = '\0';
  for (const char *c = pattern; *c != '\0'; c++)
    n += (size_t)snprintf(*path + n, size - n, "%.*s", *c == '%' ? (int)strlen(name) : 1,
                          *c == '%' ? name : c);
  return CLARKE_OK;
}

/* The answer stands without the file: no error. */
static void
say_not_written(const clarke_audit_request *r, const char *params, const char *why)
{
  const bool several = r->n_params > 1;

  fprintf(stderr, "clarke audit: %s%s%s\n", several ? params : "", several ? ": " : "", why);
}

static clarke_status
write_proof(const clarke_audit_session *s, const clarke_audit_request *r, const char *params,
            clarke_error *err)
{
  clarke_proof_statement statement = {
    .model = {clarke_base_name(r->model), s->model_file.sha256},
    .params = {params != NULL ? clarke_base_name(params) : NULL, s->params_file.sha256},
    .batch = {clarke_base_name(r->batch), s->batch_file.sha256},
    .wrt = s->wrt,
    .n_wrt = s->n_wrt,
  };
  char *path;
  clarke_status status;

  if (s->audit.verdict == CLARKE_UNDECIDED) {
    say_not_written(r, params, "undecided: no proof was written");
    return CLARKE_OK;
  }
  if (clarke_graph_wrt_count(&s->graph) == 0) { /* clarke-check takes no statement about nothing */
    say_not_written(r, params, "the network has no parameters: no proof was written");
    return CLARKE_OK;
  }
  status = output_path(&path, r->proof, params, err);
  if (status != CLARKE_OK)
    return status;
  status = clarke_proof_write(path, &statement, &s->audit, &s->question, err);
  free(path);
  return status;
}

static clarke_status
write_gradient(clarke_audit_session *s, const clarke_audit_request *r, const char *params,
               clarke_error *err)
{
  bool written = false;
  char *path;
  clarke_status status = output_path(&path, r->gradient, params, err);

  if (status != CLARKE_OK)
    return status;
  status = clarke_audit_gradient(&written, s, path, err);
  if (status == CLARKE_OK && !written)
    say_not_written(r, params, "the pattern is undecided: no gradient was written");
  free(path);
  return status;
}

clarke_status
clarke_audit_one(clarke_audit_session *s, const clarke_audit_request *r, const char *params,
                 clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  forget_answer(s);
  if (params != NULL)
    status = read_params(s, params, r->proof != NULL, err);
  if (status == CLARKE_OK)
    status = clarke_replay_run(&s->replay, &s->graph, s->x, r->exact, r->threads, err);
  if (status == CLARKE_OK)
    status = clarke_question_init(&s->question, &s->replay, &s->profile, &s->loss, err);
  if (status == CLARKE_OK)
    status = clarke_audit_run(&s->audit, &s->question, r->ranks, err);
  if (status == CLARKE_OK && r->gradient != NULL)
    status = write_gradient(s, r, params, err);
  if (status == CLARKE_OK && r->proof != NULL)
    status = write_proof(s, r, params, err);
  return status;
}
