/* The recorded steps that a folder has. */
#include "audit_steps.h"
#include "base/room.h"
#include "base/text.h"
#include "op/profile.h"
#include "session/json.h"
#include "session/record.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void
clarke_audit_step_list_clear(clarke_audit_step_list *list)
{
  for (size_t i = 0; i < list->n; i++) {
    free(list->step[i].folder);
    json_decref(list->step[i].files);
  }
  free(list->step);
  free(list->graph);
  memset(list, 0, sizeof *list);
}

static int
compare(const void *a, const void *b)
{
  const clarke_audit_step *x = a, *y = b;

  return (x->step > y->step) - (x->step < y->step);
}

const clarke_audit_step *
clarke_audit_step_find(const clarke_audit_step_list *list, size_t step)
{
  const clarke_audit_step wanted = {.step = step};

  return list->n > 0 ? bsearch(&wanted, list->step, list->n, sizeof *list->step, compare) : NULL;
}

/* Takes files over. */
static clarke_status
add(clarke_audit_step_list *list, const char *folder, size_t step, json_t *files, clarke_error *err)
{
  char *copy = strdup(folder);

  if (copy == NULL || files == NULL || !clarke_room(&list->step, &list->room, list->n + 1, sizeof *list->step)) {
    free(copy);
    json_decref(files);
    return clarke_no_memory(err);
  }
  list->step[list->n++] = (clarke_audit_step){copy, step, files};
  return CLARKE_OK;
}

/* The hash of a text, which is freed; NULL when out of memory. */
static json_t *
hash_of(char *text)
{
  clarke_file f = {.data = (unsigned char *)text, .size = text != NULL ? strlen(text) : 0};
  const bool hashed = text != NULL && clarke_file_hash(&f, "run.json", NULL) == CLARKE_OK;

  free(text);
  return hashed ? json_string(f.sha256) : NULL;
}

/* The hash of all that run.json says of the step, itself and with the others, but of what no answer depends on: what optimizers made of it. */
static json_t *
said_of(const json_t *run, size_t i)
{
  static const char *const later[] = {"update", "updates", "replay"};
  json_t *said = json_copy((json_t *)run), *step = json_deep_copy(json_array_get(json_object_get(run, "steps"), i)), *hash;

  for (size_t k = 0; k < sizeof later / sizeof *later; k++)
    json_object_del(step, later[k]);
  json_object_del(json_object_get(step, "files"), "optimizer");
  clarke_json_set(&said, "steps", step);
  hash = hash_of(said != NULL ? json_dumps(said, JSON_COMPACT | JSON_SORT_KEYS) : NULL);
  json_decref(said);
  return hash;
}

/* What the answer depends on: what run.json says of the step, the hashes that it has, and which profile. */
static json_t *
files_of(const clarke_record *r, const json_t *run, size_t i, const char *profile)
{
  const clarke_run_step *step = &r->run.step[i];
  const struct {
    const char *what;
    const clarke_run_file *file;
  } named[] = {{"graph", &r->run.graph}, {"batch", &step->batch}, {"parameters", &step->parameters}, {"gradients", &step->gradients}, {"trace", &step->trace},
               {"trees", &step->trees}};
  json_t *files = json_object();

  clarke_json_set(&files, "run", said_of(run, i));
  for (size_t k = 0; k < sizeof named / sizeof *named; k++) {
    clarke_file unhashed = {0};
    char *path = named[k].file->name != NULL && *named[k].file->sha256 == '\0' ? clarke_record_path(r, named[k].file->name) : NULL;

    if (path != NULL) /* where it cannot be read the step has no answer */
      clarke_file_read_beside(&unhashed, path, named[k].file->name, NULL);
    if (named[k].file->name != NULL)
      clarke_json_set(&files, named[k].what, json_string(path != NULL ? unhashed.sha256 : named[k].file->sha256));
    clarke_file_clear(&unhashed);
    free(path);
  }
  clarke_json_set(&files, "profile", clarke_json_text(profile));
  return files;
}

/* run.json, as it was read; *run: a new reference. */
static clarke_status
read_json(json_t **run, const clarke_record *r, clarke_error *err)
{
  clarke_file file = {0};
  char *path = clarke_record_path(r, "run.json");
  clarke_status status = path != NULL ? clarke_file_read_beside(&file, path, "run.json", err) : clarke_no_memory(err);

  if (status == CLARKE_OK && strcmp(file.sha256, r->run_sha256) != 0)
    status = clarke_fail(err, CLARKE_EINPUT, "%s: was changed while it was being read", path);
  if (status == CLARKE_OK && (*run = json_loadb((const char *)file.data, file.size, 0, NULL)) == NULL)
    status = clarke_no_memory(err);
  clarke_file_clear(&file);
  free(path);
  return status;
}

/* The name of a known profile, or the hash of the file in the folder. */
static clarke_status
read_profile(char profile[65], const clarke_record *r, clarke_error *err)
{
  clarke_file file = {0};
  char *path = NULL;
  clarke_status status = CLARKE_OK;

  snprintf(profile, 65, "%s", r->run.profile);
  if (clarke_profile_known(r->run.profile))
    return CLARKE_OK;
  path = clarke_record_path(r, r->run.profile);
  status = path != NULL ? clarke_file_read_beside(&file, path, r->run.profile, err) : clarke_no_memory(err);
  if (status == CLARKE_OK)
    snprintf(profile, 65, "%s", file.sha256);
  clarke_file_clear(&file);
  free(path);
  return status;
}

/* The number in step-NUMBER, the folder's name. */
static size_t
number_of(const char *folder)
{
  size_t step = 0;

  return sscanf(clarke_base_name(folder), "step-%zu", &step) == 1 ? step : 0;
}

/* Adds the step of a folder. Where it left the reals, the folder alone has its number. */
static clarke_status
add_folder(clarke_audit_step_list *list, const char *folder, clarke_error *err)
{
  clarke_record r;
  clarke_status status;
  char profile[65];
  json_t *run = NULL;

  clarke_record_init(&r);
  status = clarke_record_open_run(&r, folder, err);
  if (status == CLARKE_OK)
    status = read_profile(profile, &r, err);
  if (status == CLARKE_OK)
    status = read_json(&run, &r, err);
  if (list->graph == NULL && r.folder != NULL)
    list->graph = clarke_record_path(&r, r.run.graph.name != NULL ? r.run.graph.name : "run.json");
  if (r.run.n_outside > 0)
    status = add(list, folder, number_of(folder), json_pack("{s:s}", "run", r.run_sha256), err);
  for (size_t i = 0; i < r.run.n_steps && status == CLARKE_OK; i++)
    status = add(list, folder, r.run.step[i].step, files_of(&r, run, i, profile), err);
  if (status == CLARKE_OK && list->graph == NULL)
    status = clarke_no_memory(err);
  json_decref(run);
  clarke_record_clear(&r);
  return status;
}

/* FOLDER/NAME (malloc), if that is a run folder; else NULL. */
static char *
run_in(const char *folder, const char *name)
{
  const size_t size = strlen(folder) + strlen(name) + sizeof "//run.json";
  char *path = malloc(size);
  struct stat st;

  if (path == NULL)
    return NULL;
  snprintf(path, size, "%s/%s/run.json", folder, name);
  if (*name == '.' || lstat(path, &st) != 0) {
    free(path);
    return NULL;
  }
  path[strlen(path) - strlen("/run.json")] = '\0';
  return path;
}

static clarke_status
add_folders(clarke_audit_step_list *list, const char *folder, clarke_error *err)
{
  struct dirent **entry;
  const int n = scandir(folder, &entry, NULL, alphasort);
  clarke_status status = CLARKE_OK;

  if (n < 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: cannot be read: %s", folder, strerror(errno));
  for (int i = 0; i < n; i++) {
    char *run = status == CLARKE_OK ? run_in(folder, entry[i]->d_name) : NULL;

    if (run != NULL)
      status = add_folder(list, run, err);
    free(run);
    free(entry[i]);
  }
  free(entry);
  if (status == CLARKE_OK && list->n == 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: there is no run.json, nor in a folder in it: expected a recorded step, or folders of such", folder);
  return status;
}

clarke_status
clarke_audit_step_list_read(clarke_audit_step_list *list, const char *folder, clarke_error *err)
{
  char *run = run_in(folder, "");
  clarke_status status = run != NULL ? add_folder(list, folder, err) : add_folders(list, folder, err);

  free(run);
  if (list->n > 0)
    qsort(list->step, list->n, sizeof *list->step, compare);
  for (size_t i = 1; i < list->n && status == CLARKE_OK; i++)
    if (list->step[i - 1].step == list->step[i].step)
      return clarke_fail(err, CLARKE_EINPUT, "%s and %s both have a step %zu: ask about each folder by itself", list->step[i - 1].folder,
                         list->step[i].folder, list->step[i].step);
  return status;
}
