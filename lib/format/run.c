#include "format/run.h"

#include "exact/literal.h"
#include "format/object.h"
#include "op/profile.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STEPS ((size_t)1 << 20)

void
clarke_run_description_init(clarke_run_description *r)
{
  memset(r, 0, sizeof *r);
}

static void
texts_clear(char **text, size_t n)
{
  for (size_t i = 0; text != NULL && i < n; i++)
    free(text[i]);
  free(text);
}

static void
statistics_clear(clarke_run_step *s)
{
  for (size_t i = 0; i < s->n_statistics; i++) {
    free(s->statistics[i].node);
    free(s->statistics[i].mean);
    free(s->statistics[i].variance);
    free(s->statistics[i].count);
    mpq_clear(s->statistics[i].momentum);
  }
  free(s->statistics);
}

void
clarke_run_description_clear(clarke_run_description *r)
{
  free(r->framework);
  free(r->version);
  free(r->device);
  free(r->profile);
  free(r->loss);
  free(r->graph.name);
  texts_clear(r->dtype, r->n_dtypes);
  texts_clear(r->parameter, r->n_parameters);
  texts_clear(r->branch, r->n_branches);
  texts_clear(r->surrogate, r->n_surrogates);
  texts_clear(r->constant, r->n_constants);
  texts_clear(r->outside, r->n_outside);
  free(r->outside_json);
  for (size_t i = 0; r->step != NULL && i < r->n_steps; i++) {
    clarke_run_step *s = &r->step[i];

    free(s->batch.name);
    free(s->parameters.name);
    free(s->gradients.name);
    free(s->trace.name);
    free(s->trees.name);
    free(s->optimizer.name);
    clarke_run_update_clear(&s->update);
    for (size_t k = 0; s->more != NULL && k < s->n_more; k++) {
      free(s->more[k].file.name);
      clarke_run_update_clear(&s->more[k].update);
    }
    free(s->more);
    statistics_clear(s);
    mpq_clear(s->scale);
  }
  free(r->step);
  clarke_run_description_init(r);
}

static clarke_status
read_text(char **to, const json_t *object, const char *key, clarke_error *err)
{
  return clarke_object_text(to, json_object_get(object, key), key, err);
}

/* `least`: how many there must be; of 0 the key may be missing, too. */
static clarke_status
read_texts(char ***to, size_t *n, const json_t *object, const char *key, size_t least, clarke_error *err)
{
  const json_t *list = json_object_get(object, key);
  clarke_status status = CLARKE_OK;

  if (list == NULL && least == 0)
    return CLARKE_OK;
  if (!json_is_array(list) || json_array_size(list) < least)
    return clarke_object_wrong(key, least == 0 ? "a list of texts" : "a list of one text or more", err);
  *to = calloc(json_array_size(list) + 1, sizeof **to);
  if (*to == NULL)
    return clarke_no_memory(err);
  while (*n < json_array_size(list) && status == CLARKE_OK) {
    status = clarke_object_text(&(*to)[*n], json_array_get(list, *n), key, err);
    ++*n;
  }
  return status;
}

/* A name in the folder: no path, and nothing hidden. */
static bool
is_plain(const char *name)
{
  return *name != '\0' && *name != '.' && strchr(name, '/') == NULL;
}

static bool
is_digest(const char *text)
{
  return text != NULL && strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

/* {"file": NAME, "sha256": 64 digits}; what is not `hashed` may be without the latter. */
static clarke_status
read_file(clarke_run_file *to, const json_t *object, const char *key, bool hashed, clarke_error *err)
{
  const json_t *j = json_object_get(object, key), *given = json_object_get(j, "sha256");
  clarke_status status;

  if ((hashed || given != NULL) && !is_digest(json_string_value(given)))
    return clarke_object_wrong(key, "a file with its sha256, 64 digits", err);
  if (given != NULL)
    memcpy(to->sha256, json_string_value(given), 65);
  if (!json_is_object(j))
    return clarke_object_wrong(key, "a file", err);
  status = read_text(&to->name, j, "file", err);
  if (status == CLARKE_OK && !is_plain(to->name))
    return clarke_object_wrong(key, "a plain name in the folder", err);
  return status;
}

static clarke_status
read_update(clarke_run_statistics *one, const json_t *j, clarke_error *err)
{
  const json_t *samples = json_object_get(j, "samples");
  const char *momentum = json_string_value(json_object_get(j, "momentum"));
  clarke_status status = read_text(&one->node, j, "node", err);

  one->samples = samples != NULL ? (size_t)json_integer_value(samples) : 1;
  if (status == CLARKE_OK)
    status = read_text(&one->mean, j, "mean", err);
  if (status == CLARKE_OK)
    status = read_text(&one->variance, j, "variance", err);
  if (status == CLARKE_OK && json_object_get(j, "count") != NULL)
    status = read_text(&one->count, j, "count", err);
  if (status == CLARKE_OK && samples != NULL && (!json_is_integer(samples) || json_integer_value(samples) < 1))
    status = clarke_object_wrong("samples", "a number from 1", err);
  if (status == CLARKE_OK && (momentum == NULL || !clarke_literal_parse(one->momentum, momentum)))
    status = clarke_object_wrong("momentum", "a text that is a number", err);
  return status;
}

static clarke_status
read_statistics(clarke_run_step *s, const json_t *list, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  if (list == NULL)
    return CLARKE_OK;
  if (!json_is_array(list))
    return clarke_object_wrong("statistics", "a list", err);
  s->statistics = calloc(json_array_size(list) + 1, sizeof *s->statistics);
  if (s->statistics == NULL)
    return clarke_no_memory(err);
  while (s->n_statistics < json_array_size(list) && status == CLARKE_OK) {
    clarke_run_statistics *one = &s->statistics[s->n_statistics];

    mpq_init(one->momentum);
    status = read_update(one, json_array_get(list, s->n_statistics++), err);
  }
  return status;
}

/* A text, as of float.hex. (inf, nan and null: it was no finite number, and nothing is told.) */
static clarke_status
read_loss(clarke_run_step *s, const json_t *j, clarke_error *err)
{
  const char *text = json_string_value(j);
  mpq_t loss;

  if (j == NULL || json_is_null(j) || (text != NULL && (strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0 || strcmp(text, "nan") == 0)))
    return CLARKE_OK;
  mpq_init(loss);
  s->has_loss = text != NULL && clarke_literal_parse(loss, text);
  s->loss = s->has_loss ? mpq_get_d(loss) : 0;
  mpq_clear(loss);
  return s->has_loss ? CLARKE_OK : clarke_object_wrong("loss", "a text that is a hexadecimal float", err);
}

/* "calls", "loss", "program" or null; may be missing. */
static clarke_status
read_again(clarke_run_again *again, const json_t *object, clarke_error *err)
{
  const json_t *j = json_object_get(object, "again");
  const char *text = json_string_value(j);

  if (j == NULL)
    *again = CLARKE_AGAIN_NOT_SAID;
  else if (json_is_null(j))
    *again = CLARKE_AGAIN_NOTHING;
  else if (text != NULL && strcmp(text, "calls") == 0)
    *again = CLARKE_AGAIN_CALLS;
  else if (text != NULL && strcmp(text, "loss") == 0)
    *again = CLARKE_AGAIN_LOSS;
  else if (text != NULL && strcmp(text, "program") == 0)
    *again = CLARKE_AGAIN_PROGRAM;
  else
    return clarke_object_wrong("again", "\"calls\", \"loss\", \"program\" or null", err);
  return CLARKE_OK;
}

/* j NULL: the step has one optimizer at most. */
static clarke_status
read_more(clarke_run_step *s, const json_t *j, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  if (j == NULL)
    return CLARKE_OK;
  if (!json_is_array(j))
    return clarke_object_wrong("updates", "a list", err);
  s->more = calloc(json_array_size(j) + 1, sizeof *s->more);
  if (s->more == NULL)
    return clarke_no_memory(err);
  while (s->n_more < json_array_size(j) && status == CLARKE_OK) {
    const json_t *one = json_array_get(j, s->n_more);
    clarke_run_more *to = &s->more[s->n_more++];

    clarke_run_update_init(&to->update);
    if (!json_is_object(json_object_get(one, "update")))
      return clarke_object_wrong("updates", "a list of objects with 'update'", err);
    if (json_object_get(one, "optimizer") != NULL)
      status = read_file(&to->file, one, "optimizer", true, err);
    if (status == CLARKE_OK)
      status = clarke_run_update_read(&to->update, json_object_get(one, "update"), err);
  }
  return status;
}

static clarke_status
read_step(clarke_run_step *s, const json_t *j, clarke_error *err)
{
  const json_t *number = json_object_get(j, "step"), *files = json_object_get(j, "files");
  const char *scale = json_string_value(json_object_get(j, "loss_scale"));
  clarke_status status;

  if (!json_is_integer(number) || json_integer_value(number) < 0)
    return clarke_object_wrong("step", "a number", err);
  s->step = (size_t)json_integer_value(number);
  status = read_loss(s, json_object_get(j, "loss"), err);
  if (status != CLARKE_OK)
    return status;
  if (scale == NULL || !clarke_literal_parse(s->scale, scale) || mpq_sgn(s->scale) == 0)
    return clarke_object_wrong("loss_scale", "a text that is a number, and not 0", err);
  status = read_again(&s->again, j, err);
  if (status == CLARKE_OK)
    status = read_file(&s->batch, files, "batch", true, err);
  if (status == CLARKE_OK)
    status = read_file(&s->parameters, files, "parameters", true, err);
  if (status == CLARKE_OK)
    status = read_file(&s->gradients, files, "gradients", true, err);
  if (status == CLARKE_OK && json_object_get(files, "trace") != NULL)
    status = read_file(&s->trace, files, "trace", false, err);
  if (status == CLARKE_OK && json_object_get(files, "trees") != NULL)
    status = read_file(&s->trees, files, "trees", true, err);
  if (status == CLARKE_OK && json_object_get(files, "optimizer") != NULL)
    status = read_file(&s->optimizer, files, "optimizer", true, err);
  if (status == CLARKE_OK)
    status = clarke_run_update_read(&s->update, json_object_get(j, "update"), err);
  if (status == CLARKE_OK)
    status = read_more(s, json_object_get(j, "updates"), err);
  return status == CLARKE_OK ? read_statistics(s, json_object_get(j, "statistics"), err) : status;
}

static clarke_status
read_steps(clarke_run_description *r, const json_t *object, clarke_error *err)
{
  const json_t *list = json_object_get(object, "steps");
  clarke_status status = CLARKE_OK;

  if (!json_is_array(list) || json_array_size(list) == 0 || json_array_size(list) > MOST_STEPS)
    return clarke_object_wrong("steps", "a list of one step or more", err);
  r->step = calloc(json_array_size(list), sizeof *r->step);
  if (r->step == NULL)
    return clarke_no_memory(err);
  while (r->n_steps < json_array_size(list) && status == CLARKE_OK) {
    clarke_run_step *s = &r->step[r->n_steps++];

    mpq_init(s->scale);
    clarke_run_update_init(&s->update);
    status = read_step(s, json_array_get(list, r->n_steps - 1), err);
  }
  return status;
}

/* What one backend says: {"matmul": "ieee", "conv": "bf16"}. */
static bool
read_factors(unsigned *to, const json_t *backend, const char *key)
{
  static const struct {
    const char *word;
    unsigned to;
  } known[] = {{"ieee", 0}, {"tf32", CLARKE_TO_TF32}, {"bf16", CLARKE_TO_BF16}, {"fp16", CLARKE_TO_F16},
               {"any", CLARKE_TO_TF32 | CLARKE_TO_BF16 | CLARKE_TO_F16}};
  const char *word = json_string_value(json_object_get(backend, key));

  for (size_t i = 0; word != NULL && i < sizeof known / sizeof *known; i++)
    if (strcmp(word, known[i].word) == 0) {
      *to = known[i].to;
      return true;
    }
  return false;
}

/* Records that do not say it by backend and operator: a flag of one counts for all. */
static clarke_status
read_common_flags(clarke_run_description *r, const json_t *flags, clarke_error *err)
{
  const json_t *matmul = json_object_get(flags, "tf32_matmul"), *cudnn = json_object_get(flags, "tf32_cudnn");
  const char *precision = json_string_value(json_object_get(flags, "float32_matmul_precision"));

  if (!json_is_boolean(matmul) || !json_is_boolean(cudnn) || precision == NULL)
    return clarke_object_wrong("flags", "precision, or tf32_matmul, tf32_cudnn (true or false) and float32_matmul_precision", err);
  r->matmul = strcmp(precision, "highest") != 0 ? CLARKE_TO_TF32 : 0;
  r->matmul |= strcmp(precision, "medium") == 0 ? CLARKE_TO_BF16 : 0;
  if (!r->cpu && (json_is_true(matmul) || json_is_true(cudnn)))
    r->matmul |= CLARKE_TO_TF32;
  r->conv = r->matmul;
  return CLARKE_OK;
}

/* The flags that change how products are rounded: all must be told. */
static clarke_status
read_flags(clarke_run_description *r, const json_t *object, const char *device, clarke_error *err)
{
  const json_t *flags = json_object_get(object, "flags"), *precision = json_object_get(flags, "precision");
  const json_t *backend;

  r->cpu = strcmp(device, "cpu") == 0;
  backend = json_object_get(precision, r->cpu ? "cpu" : "cuda");
  r->by_operator = precision != NULL;
  if (!r->by_operator)
    return read_common_flags(r, flags, err);
  if (!read_factors(&r->matmul, backend, "matmul") || !read_factors(&r->conv, backend, "conv"))
    return clarke_object_wrong("flags",
                               "precision, with matmul and conv of the device's backend: ieee, tf32, bf16, fp16 or any", err);
  return CLARKE_OK;
}

static clarke_status
read_device(clarke_run_description *r, const json_t *object, clarke_error *err)
{
  const json_t *device = json_object_get(object, "device"), *framework = json_object_get(object, "framework");
  char *kind = NULL;
  clarke_status status = read_text(&r->framework, framework, "name", err);

  if (status == CLARKE_OK)
    status = read_text(&r->version, framework, "version", err);
  if (status == CLARKE_OK)
    status = read_text(&r->device, device, "name", err);
  if (status == CLARKE_OK)
    status = read_text(&kind, device, "type", err);
  if (status == CLARKE_OK)
    status = read_flags(r, object, kind, err);
  free(kind);
  return status;
}

static clarke_status
read_outside(clarke_run_description *r, const json_t *outside, clarke_error *err)
{
  clarke_status status = read_texts(&r->outside, &r->n_outside, outside, "lines", 1, err);

  r->outside_json = json_dumps(outside, JSON_COMPACT);
  if (status == CLARKE_OK && r->outside_json == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "outside: it cannot be written as JSON");
  return status;
}

static clarke_status
read_run(clarke_run_description *r, const json_t *j, clarke_error *err)
{
  const char *format = json_string_value(json_object_get(j, "format"));
  const json_t *version = json_object_get(j, "version"), *outside = json_object_get(j, "outside");
  clarke_status status;

  if (format == NULL || strcmp(format, "clarke-run") != 0)
    return clarke_object_wrong("format", "\"clarke-run\"", err);
  if (!json_is_integer(version) || json_integer_value(version) != 1)
    return clarke_object_wrong("version", "1", err);
  if (outside != NULL)
    return read_outside(r, outside, err);
  status = read_device(r, j, err);
  if (status == CLARKE_OK)
    status = read_text(&r->profile, j, "profile", err);
  if (status == CLARKE_OK && !clarke_profile_known(r->profile) && !is_plain(r->profile))
    status = clarke_object_wrong("profile", "a known profile, or a plain name in the folder", err);
  if (status == CLARKE_OK)
    status = read_text(&r->loss, j, "loss", err);
  if (status == CLARKE_OK)
    status = read_texts(&r->dtype, &r->n_dtypes, j, "dtypes", 1, err);
  if (status == CLARKE_OK)
    status = read_texts(&r->parameter, &r->n_parameters, j, "parameters", 1, err);
  if (status == CLARKE_OK)
    status = read_texts(&r->branch, &r->n_branches, j, "branches", 0, err);
  if (status == CLARKE_OK)
    status = read_texts(&r->surrogate, &r->n_surrogates, j, "surrogates", 0, err);
  if (status == CLARKE_OK)
    status = read_texts(&r->constant, &r->n_constants, j, "constants", 0, err);
  r->says_branches = json_object_get(j, "branches") != NULL;
  if (status == CLARKE_OK)
    status = read_file(&r->graph, j, "graph", true, err);
  return status == CLARKE_OK ? read_steps(r, j, err) : status;
}

clarke_status
clarke_run_description_parse(clarke_run_description *r, const void *data, size_t size, const char *file,
                             clarke_error *err)
{
  json_t *j;
  clarke_status status = clarke_object_parse(&j, data, size, file, err);

  clarke_run_description_clear(r);
  if (status != CLARKE_OK)
    return status;
  status = read_run(r, j, err);
  json_decref(j);
  if (status == CLARKE_OK)
    return status;
  clarke_run_description_clear(r);
  return clarke_fail_in(err, status, "%s", file);
}
