#include "sweep_jobs.h"

#include "base/limit.h"
#include "base/output.h"
#include "base/text.h"
#include "object.h"
#include "op/step.h"
#include "program/ieee.h"
#include "session/json.h"

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_FOLDERS ((size_t)1 << 16)
#define MOST_FILES ((size_t)1 << 18)
#define MOST_JOBS ((size_t)1 << 22)

void
clarke_sweep_clear(clarke_sweep *s)
{
  for (size_t i = 0; i < s->n_checkpoints; i++)
    free(s->checkpoint[i].path);
  for (size_t i = 0; i < s->n_batches; i++)
    free(s->batch[i].path);
  for (size_t i = 0; i < s->n_profiles; i++) {
    clarke_profile_clear(&s->profile[i]);
    free(s->profile_file[i].path);
  }
  free(s->checkpoint);
  free(s->batch);
  free(s->job);
  free(s->model_path);
  free(s->wrt);
  clarke_file_clear(&s->model);
  clarke_manifest_clear(&s->manifest);
  memset(s, 0, sizeof *s);
}

/* --- files ------------------------------------------------------------------------------------- */

/* A name of the manifest's, from its folder. */
static clarke_status
beside(char **to, const char *manifest, const char *name, clarke_error *err)
{
  const size_t folder = *name == '/' ? 0 : (size_t)(clarke_base_name(manifest) - manifest), size = folder + strlen(name) + 1;

  *to = malloc(size);
  if (*to == NULL)
    return clarke_no_memory(err);
  snprintf(*to, size, "%.*s%s", (int)folder, manifest, name);
  return CLARKE_OK;
}

static clarke_status
hash(char sha256[65], const char *path, clarke_error *err)
{
  clarke_file f = {0};
  clarke_status status = clarke_file_read_found(&f, path, err);

  if (status == CLARKE_OK && *f.sha256 == '\0')
    status = clarke_file_hash(&f, path, err);
  if (status == CLARKE_OK)
    memcpy(sha256, f.sha256, 65);
  clarke_file_clear(&f);
  return status;
}

static clarke_status
add_file(clarke_sweep_file **list, size_t *n, const char *path, clarke_error *err)
{
  clarke_sweep_file *grown;

  if (*n == MOST_FILES)
    return clarke_fail(err, CLARKE_EINPUT, "the patterns match more than %zu files", MOST_FILES);
  if (clarke_ends_with(path, ".index.json"))
    return clarke_fail(err, CLARKE_EINPUT, "%s: a sweep's weights are in one file each", path);
  grown = realloc(*list, (*n + 1) * sizeof *grown);
  if (grown == NULL)
    return clarke_no_memory(err);
  *list = grown;
  grown[*n].path = strdup(path);
  if (grown[*n].path == NULL)
    return clarke_no_memory(err);
  return hash(grown[(*n)++].sha256, path, err);
}

/* A pattern of a stranger's, of many stars, may lead through folders that have links to themselves, without an end. */
static size_t folders;

static void *
open_folder(const char *path)
{
  if (folders++ < MOST_FOLDERS)
    return opendir(path);
  errno = ELOOP;
  return NULL;
}

static void *
read_folder(void *folder)
{
  return readdir(folder);
}

static void
close_folder(void *folder)
{
  closedir(folder);
}

static int
look_at(const char *path, void *found)
{
  return stat(path, found);
}

static int
look_at_link(const char *path, void *found)
{
  return lstat(path, found);
}

static int
find(glob_t *found, const char *pattern)
{
  found->gl_opendir = open_folder;
  found->gl_readdir = read_folder;
  found->gl_closedir = close_folder;
  found->gl_lstat = look_at_link;
  found->gl_stat = look_at;
  folders = 0;
  return glob(pattern, GLOB_ERR | GLOB_ALTDIRFUNC, NULL, found);
}

static clarke_status
fail_glob(const char *key, const char *pattern, int why, clarke_error *err)
{
  if (why == GLOB_NOSPACE)
    return clarke_no_memory(err);
  if (folders > MOST_FOLDERS)
    return clarke_fail(err, CLARKE_EINPUT, "'%s': '%s' leads through more than %zu folders: name fewer", key, pattern, MOST_FOLDERS);
  return clarke_fail(err, CLARKE_EINPUT, "'%s': %s '%s'", key,
                     why == GLOB_NOMATCH ? "no file has a name like" : "a folder cannot be read, of", pattern);
}

/* Files of all patterns, each pattern's by name. */
static clarke_status
find_files(clarke_sweep_file **list, size_t *n, const char *key, const clarke_manifest_texts *patterns, const char *manifest,
           clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < patterns->n && status == CLARKE_OK; i++) {
    glob_t found = {0};
    char *pattern;
    int why;

    status = beside(&pattern, manifest, patterns->text[i], err);
    if (status != CLARKE_OK)
      return status;
    why = find(&found, pattern);
    if (why != 0)
      status = fail_glob(key, patterns->text[i], why, err);
    for (size_t k = 0; status == CLARKE_OK && k < found.gl_pathc; k++)
      status = add_file(list, n, found.gl_pathv[k], err);
    globfree(&found);
    free(pattern);
  }
  return status;
}

/* A known one, or a file of the manifest's folder. */
static clarke_status
read_profile(clarke_sweep *s, const char *name, const char *manifest, clarke_error *err)
{
  clarke_sweep_file *f = &s->profile_file[s->n_profiles];
  clarke_profile *p = &s->profile[s->n_profiles++];
  const bool file = !clarke_profile_known(name) && strpbrk(name, "/.") != NULL;
  clarke_status status;

  clarke_profile_init(p);
  if (file)
    status = beside(&f->path, manifest, name, err);
  else
    status = (f->path = strdup(name)) != NULL ? CLARKE_OK : clarke_no_memory(err);
  if (status == CLARKE_OK && file)
    status = hash(f->sha256, f->path, err);
  if (status == CLARKE_OK && file && strpbrk(f->path, "/.") == NULL)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: a profile's file has a '.' in its name", f->path);
  if (status == CLARKE_OK)
    status = clarke_profile_load_any(p, f->path, err);
  return status == CLARKE_OK ? clarke_profile_check_plain(p, err) : status;
}

/* a,b,c */
static clarke_status
join_wrt(clarke_sweep *s, clarke_error *err)
{
  clarke_text t;
  clarke_status status = CLARKE_OK;

  if (s->manifest.wrt.n == 0)
    return CLARKE_OK;
  status = clarke_text_open(&t, err);
  if (status != CLARKE_OK)
    return status;
  for (size_t i = 0; i < s->manifest.wrt.n && status == CLARKE_OK; i++) {
    if (strchr(s->manifest.wrt.text[i], ',') != NULL)
      status = clarke_fail(err, CLARKE_EINPUT, "'wrt': the name '%s' holds a comma", s->manifest.wrt.text[i]);
    fprintf(t.to, "%s%s", i > 0 ? "," : "", s->manifest.wrt.text[i]);
  }
  status = clarke_text_close(&t, status, err);
  if (status == CLARKE_OK) {
    s->wrt = t.text;
    t.text = NULL;
  }
  clarke_text_clear(&t);
  return status;
}

/* --- jobs -------------------------------------------------------------------------------------- */

/* The hash of a text that is closed; it is cleared. */
static clarke_status
hash_text(char sha256[65], clarke_text *t, clarke_status status, clarke_error *err)
{
  clarke_file f = {0};

  status = clarke_text_close(t, status, err);
  if (status == CLARKE_OK) {
    f.data = (unsigned char *)t->text;
    f.size = t->size;
    status = clarke_file_hash(&f, "a job", err);
    memcpy(sha256, f.sha256, 65);
  }
  clarke_text_clear(t);
  return status;
}

static void
put_weights(FILE *to, const clarke_sweep *s, size_t weights)
{
  if (weights == CLARKE_NONE)
    fputs("weights own\n", to);
  else if (s->manifest.n_seeds > 0)
    fprintf(to, "weights seed %u\n", (unsigned)s->manifest.seed[weights]);
  else
    fprintf(to, "weights %s\n", s->checkpoint[weights].sha256);
}

/* All that its answer depends on. */
static clarke_status
name_job(clarke_sweep_job *j, const clarke_sweep *s, clarke_error *err)
{
  clarke_text t;
  clarke_status status = clarke_text_open(&t, err);

  if (status != CLARKE_OK)
    return status;
  fprintf(t.to, "%s\nmodel %s\n", CLARKE_SWEEP_ANSWERS, s->model.sha256);
  put_weights(t.to, s, j->weights);
  fprintf(t.to, "batch %s %s\nloss %s %s\n", s->batch[j->batch].sha256, clarke_ends_with(s->batch[j->batch].path, ".npz") ? "npz" : "npy",
          s->manifest.loss != NULL ? s->manifest.loss : "by y", s->manifest.sum ? "sum" : "mean");
  fprintf(t.to, "wrt %s%s\n", s->wrt != NULL ? "only " : "all", s->wrt != NULL ? s->wrt : ""); /* a parameter may be called all */
  for (size_t i = 0; i < s->n_profiles; i++)
    fprintf(t.to, "profile %s %s\n", s->manifest.profiles.text[i], s->profile_file[i].sha256);
  for (size_t i = 0; i < s->n_formats; i++)
    fprintf(t.to, "format %s\n", clarke_ieee_name(s->format[i]));
  return hash_text(j->id, &t, status, err);
}

static int
compare_jobs(const void *a, const void *b)
{
  const clarke_sweep_job *x = a, *y = b;
  const int order = strcmp(x->id, y->id);

  if (order != 0)
    return order;
  return x->weights != y->weights ? (x->weights > y->weights) - (x->weights < y->weights) : (x->batch > y->batch) - (x->batch < y->batch);
}

clarke_status
clarke_sweep_id(char id[65], const char *const *job, size_t n, clarke_error *err)
{
  clarke_text t;
  clarke_status status = clarke_text_open(&t, err);

  if (status != CLARKE_OK)
    return status;
  for (size_t i = 0; i < n; i++)
    fprintf(t.to, "%s\n", job[i]);
  return hash_text(id, &t, status, err);
}

/* Files of the same bytes make one job. */
static clarke_status
order_jobs(clarke_sweep *s, clarke_error *err)
{
  const char **ids = malloc((s->n + 1) * sizeof *ids);
  size_t kept = 0;
  clarke_status status;

  if (ids == NULL)
    return clarke_no_memory(err);
  qsort(s->job, s->n, sizeof *s->job, compare_jobs);
  for (size_t i = 0; i < s->n; i++)
    if (kept == 0 || strcmp(s->job[kept - 1].id, s->job[i].id) != 0)
      s->job[kept++] = s->job[i];
  s->n = kept;
  for (size_t i = 0; i < s->n; i++)
    ids[i] = s->job[i].id;
  status = clarke_sweep_id(s->id, ids, s->n, err);
  free(ids);
  return status;
}

static clarke_status
make_jobs(clarke_sweep *s, clarke_error *err)
{
  const size_t sets = s->manifest.n_seeds > 0 ? s->manifest.n_seeds : s->n_checkpoints;
  const size_t weights = sets > 0 ? sets : 1;
  clarke_status status = CLARKE_OK;

  if (weights > MOST_JOBS / s->n_batches)
    return clarke_fail(err, CLARKE_EINPUT, "%zu sets of weights and %zu minibatches are more than %zu jobs", weights, s->n_batches, MOST_JOBS);
  s->job = calloc(weights * s->n_batches, sizeof *s->job);
  if (s->job == NULL)
    return clarke_no_memory(err);
  for (size_t w = 0; w < weights; w++)
    for (size_t b = 0; b < s->n_batches && status == CLARKE_OK; b++) {
      s->job[s->n] = (clarke_sweep_job){.weights = sets > 0 ? w : CLARKE_NONE, .batch = b};
      status = name_job(&s->job[s->n++], s, err);
    }
  return status == CLARKE_OK ? order_jobs(s, err) : status;
}

static clarke_status
read_formats(clarke_sweep *s, clarke_error *err)
{
  clarke_status status = CLARKE_OK;

  for (size_t i = 0; i < s->manifest.formats.n && status == CLARKE_OK; i++)
    status = clarke_ieee_parse(&s->format[s->n_formats++], s->manifest.formats.text[i], err);
  return status;
}

static clarke_status
find_all(clarke_sweep *s, const char *path, clarke_error *err)
{
  const clarke_manifest *m = &s->manifest;
  clarke_status status = beside(&s->model_path, path, m->model, err);

  if (status == CLARKE_OK)
    status = clarke_file_read(&s->model, s->model_path, err);
  for (size_t i = 0; i < m->profiles.n && status == CLARKE_OK; i++)
    status = read_profile(s, m->profiles.text[i], path, err);
  if (status == CLARKE_OK)
    status = read_formats(s, err);
  if (status == CLARKE_OK)
    status = join_wrt(s, err);
  if (status == CLARKE_OK)
    status = find_files(&s->checkpoint, &s->n_checkpoints, "checkpoints", &m->checkpoints, path, err);
  if (status == CLARKE_OK)
    status = find_files(&s->batch, &s->n_batches, "batches", &m->batches, path, err);
  return status == CLARKE_OK ? make_jobs(s, err) : status;
}

clarke_status
clarke_sweep_read(clarke_sweep *s, const char *path, const char *reduction, clarke_error *err)
{
  clarke_file f = {0};
  clarke_status status = clarke_file_read(&f, path, err);

  memset(s, 0, sizeof *s);
  if (status == CLARKE_OK)
    status = clarke_manifest_parse(&s->manifest, f.data, f.size, clarke_base_name(path), err);
  clarke_file_clear(&f);
  if (status != CLARKE_OK)
    return status;
  if (reduction != NULL)
    s->manifest.sum = *reduction == 's';
  status = find_all(s, path, err);
  return status == CLARKE_OK ? status : clarke_fail_in(err, status, "%s", clarke_base_name(path));
}

/* --- what is said of them ------------------------------------------------------------------------ */

static json_t *
file_json(const char *path, const char *sha256)
{
  return json_pack("{s:o, s:s}", "file", clarke_json_text(clarke_base_name(path)), "sha256", sha256);
}

static bool
is_id(const char *text)
{
  return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

static bool
begins(const json_t *head)
{
  return is_id(clarke_text_at(head, "sweep")) && json_integer_value(json_object_get(head, "jobs")) > 0;
}

static bool
id_of(char id[65], const json_t *line)
{
  const char *job = clarke_text_at(line, "job");

  snprintf(id, 65, "%s", job);
  return is_id(job) && json_is_array(json_object_get(line, "pairs"));
}

const clarke_lines_form clarke_sweep_lines = {CLARKE_SWEEP_ANSWERS, "sweep", begins, id_of, true};

clarke_status
clarke_sweep_head(char **text, const clarke_sweep *s, clarke_error *err)
{
  json_t *head = json_pack("{s:s, s:s, s:I}", "format", CLARKE_SWEEP_ANSWERS, "sweep", s->id, "jobs", (json_int_t)s->n);
  json_t *profiles = json_array(), *formats = json_array();

  for (size_t i = 0; i < s->n_profiles; i++)
    clarke_json_append(&profiles, clarke_json_text(s->manifest.profiles.text[i]));
  for (size_t i = 0; i < s->n_formats; i++)
    clarke_json_append(&formats, clarke_json_text(clarke_ieee_name(s->format[i])));
  clarke_json_set(&head, "model", file_json(s->model_path, s->model.sha256));
  clarke_json_set(&head, "reduction", clarke_json_text(s->manifest.sum ? "sum" : "mean"));
  clarke_json_set(&head, "profiles", profiles);
  clarke_json_set(&head, "formats", formats);
  *text = head != NULL ? json_dumps(head, JSON_COMPACT) : NULL;
  json_decref(head);
  return *text != NULL ? clarke_lines_seal(text, err) : clarke_no_memory(err);
}

json_t *
clarke_sweep_about(const clarke_sweep *s, size_t job)
{
  const clarke_sweep_job *j = &s->job[job];
  json_t *line = json_pack("{s:s}", "job", j->id);

  if (j->weights == CLARKE_NONE)
    clarke_json_set(&line, "weights", json_null());
  else if (s->manifest.n_seeds > 0)
    clarke_json_set(&line, "weights", json_pack("{s:I}", "seed", (json_int_t)s->manifest.seed[j->weights]));
  else
    clarke_json_set(&line, "weights", file_json(s->checkpoint[j->weights].path, s->checkpoint[j->weights].sha256));
  clarke_json_set(&line, "batch", file_json(s->batch[j->batch].path, s->batch[j->batch].sha256));
  return line;
}
