/* Handles (clarke.h): files in memory, and options. */
#include "session/handles.h"

#include "session/checkpoint.h"

#include <stdlib.h>
#include <string.h>

const char *
clarke_version(void)
{
  return CLARKE_VERSION;
}

/* The file at path, and a copy of path; both are the caller's to clear, after an error, too. */
static clarke_status
open_file(char **copy, clarke_file *file, const char *path, clarke_error *err)
{
  *copy = strdup(path);
  return *copy != NULL ? clarke_file_read(file, path, err) : clarke_no_memory(err);
}

/* --- answers --- */

clarke_answer *
clarke_answer_new(bool of_network)
{
  clarke_answer *a = malloc(sizeof *a);

  if (a == NULL)
    return NULL;
  a->of_network = of_network;
  clarke_audit_session_init(&a->audit);
  clarke_derive_session_init(&a->derive);
  clarke_derivation_init(&a->found);
  return a;
}

void
clarke_answer_free(clarke_answer *a)
{
  if (a == NULL)
    return;
  clarke_derivation_clear(&a->found);
  clarke_derive_session_clear(&a->derive);
  clarke_audit_session_clear(&a->audit);
  free(a);
}

/* --- options --- */

static clarke_status
set_text(char **option, const char *value, clarke_error *err)
{
  char *copy = value != NULL ? strdup(value) : NULL;

  if (value != NULL && copy == NULL)
    return clarke_no_memory(err);
  free(*option);
  *option = copy;
  return CLARKE_OK;
}

static clarke_status
set_flag(bool *option, const char *name, const char *value, clarke_error *err)
{
  if (value != NULL && strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
    return clarke_fail(err, CLARKE_EINPUT, "option %s: '%s', expected yes or no", name, value);
  *option = value != NULL && strcmp(value, "yes") == 0;
  return CLARKE_OK;
}

static clarke_status
set_threads(size_t *option, const char *value, clarke_error *err)
{
  if (!clarke_threads_parse(option, value != NULL ? value : "1"))
    return clarke_fail(err, CLARKE_EINPUT, "option threads: '%s' is no number from 1 to %d", value, CLARKE_MOST_THREADS);
  return CLARKE_OK;
}

static clarke_status
set_nearest(size_t *option, const char *value, clarke_error *err)
{
  if (value == NULL)
    *option = 0;
  else if (!clarke_count_parse(option, value))
    return clarke_fail(err, CLARKE_EINPUT, "option nearest: '%s' is no number from 1 on", value);
  return CLARKE_OK;
}

clarke_status
clarke_network_set(clarke_network *n, const char *option, const char *value, clarke_error *err)
{
  struct { const char *name; char **text; bool *flag; } options[] = {
    {"profile", &n->profile, NULL}, {"loss", &n->loss, NULL},   {"wrt", &n->wrt, NULL},
    {"output", &n->output, NULL},
    {"exact", NULL, &n->exact},     {"ranks", NULL, &n->ranks}, {"provable", NULL, &n->provable},
    {"touched", NULL, &n->touched}, {"whole", NULL, &n->whole},
  };

  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    if (strcmp(option, options[i].name) == 0)
      return options[i].text != NULL ? set_text(options[i].text, value, err)
                                     : set_flag(options[i].flag, option, value, err);
  if (strcmp(option, "threads") == 0)
    return set_threads(&n->threads, value, err);
  if (strcmp(option, "nearest") == 0)
    return set_nearest(&n->nearest, value, err);
  return clarke_fail(err, CLARKE_EINPUT, "a network has no option '%s'; expected profile, loss, wrt, output, exact, ranks, provable, "
                     "threads, nearest, touched or whole", option);
}

clarke_status
clarke_program_set(clarke_program *p, const char *option, const char *value, clarke_error *err)
{
  if (strcmp(option, "profile") == 0)
    return set_text(&p->profile, value, err);
  if (strcmp(option, "wrt") == 0)
    return set_text(&p->wrt, value, err);
  if (strcmp(option, "output") == 0)
    return set_text(&p->output, value, err);
  return clarke_fail(err, CLARKE_EINPUT, "a program has no option '%s'; expected profile, wrt or output", option);
}

/* --- batches --- */

clarke_status
clarke_batch_open(clarke_batch **batch, const char *path, clarke_error *err)
{
  clarke_batch *b = calloc(1, sizeof *b);
  clarke_status status = b != NULL ? open_file(&b->path, &b->file, path, err) : clarke_no_memory(err);

  if (status != CLARKE_OK) {
    clarke_batch_free(b);
    b = NULL;
  }
  *batch = b;
  return status;
}

void
clarke_batch_free(clarke_batch *b)
{
  if (b == NULL)
    return;
  clarke_file_clear(&b->file);
  free(b->path);
  free(b);
}

/* --- networks --- */

clarke_status
clarke_network_open(clarke_network **network, const char *path, clarke_error *err)
{
  clarke_network *n = calloc(1, sizeof *n);
  clarke_status status = n != NULL ? open_file(&n->path, &n->file, path, err) : clarke_no_memory(err);

  if (status != CLARKE_OK) {
    clarke_network_free(n);
    n = NULL;
  } else
    n->threads = 1;
  *network = n;
  return status;
}

/* Puts what was opened, or nothing, in place of the checkpoint. */
static void
set_params(clarke_network *n, char *path, char *key, clarke_file file)
{
  clarke_file_clear(&n->params);
  free(n->params_path);
  free(n->params_key);
  n->params_path = path;
  n->params_key = key;
  n->params = file;
}

clarke_status
clarke_network_load(clarke_network *n, const char *path, clarke_error *err)
{
  clarke_file file = {0};
  char *copy = NULL, *own_key = NULL;
  const char *key = NULL;
  clarke_status status = path != NULL ? clarke_checkpoint_name(&copy, &key, path, err) : CLARKE_OK;

  if (status == CLARKE_OK && key != NULL && (own_key = strdup(key)) == NULL)
    status = clarke_no_memory(err);
  if (status == CLARKE_OK && path != NULL)
    status = clarke_file_read(&file, copy, err);
  if (status == CLARKE_OK)
    set_params(n, copy, own_key, file);
  else {
    clarke_file_clear(&file);
    free(copy);
    free(own_key);
  }
  return status;
}

void
clarke_network_free(clarke_network *n)
{
  if (n == NULL)
    return;
  set_params(n, NULL, NULL, (clarke_file){0});
  clarke_file_clear(&n->file);
  free(n->path);
  free(n->profile);
  free(n->loss);
  free(n->wrt);
  free(n->output);
  free(n);
}

static clarke_audit_request
audit_request(const clarke_network *n, const clarke_batch *b)
{
  return (clarke_audit_request){
    .model_path = n->path,
    .model = &n->file,
    .batch_path = b->path,
    .batch = &b->file,
    .params_path = n->params_path,
    .params_key = n->params_key,
    .params = n->params_path != NULL ? &n->params : NULL,
    .profile = n->profile,
    .loss = n->loss,
    .wrt = n->wrt,
    .output = n->output,
    .whole = n->whole,
    .exact = n->exact,
    .ranks = n->ranks,
    .provable = n->provable,
    .threads = n->threads,
    .nearest = n->nearest,
    .touched = n->touched,
  };
}

clarke_status
clarke_network_check(const clarke_network *n, const clarke_batch *b, clarke_error *err)
{
  const clarke_audit_request r = audit_request(n, b);
  clarke_audit_session s;
  clarke_status status;

  clarke_audit_session_init(&s);
  status = clarke_audit_session_read(&s, &r, err);
  clarke_audit_session_clear(&s);
  return status;
}

clarke_status
clarke_network_ask(clarke_answer **answer, const clarke_network *n, const clarke_batch *b, clarke_error *err)
{
  const clarke_audit_request r = audit_request(n, b);
  clarke_answer *a = clarke_answer_new(true);
  clarke_status status = a != NULL ? clarke_audit_session_read(&a->audit, &r, err) : clarke_no_memory(err);

  if (status == CLARKE_OK)
    status = clarke_audit_session_ask(&a->audit, &r, err);
  if (status != CLARKE_OK) {
    clarke_answer_free(a);
    a = NULL;
  }
  *answer = a;
  return status;
}

/* --- programs --- */

clarke_status
clarke_program_open(clarke_program **program, const char *path, clarke_error *err)
{
  clarke_program *p = calloc(1, sizeof *p);
  clarke_status status = p != NULL ? open_file(&p->path, &p->file, path, err) : clarke_no_memory(err);

  if (status != CLARKE_OK) {
    clarke_program_free(p);
    p = NULL;
  }
  *program = p;
  return status;
}

void
clarke_program_free(clarke_program *p)
{
  if (p == NULL)
    return;
  clarke_file_clear(&p->file);
  free(p->path);
  free(p->profile);
  free(p->wrt);
  free(p->output);
  free(p);
}

static clarke_status
derive(clarke_answer *a, const clarke_derive_request *r, clarke_error *err)
{
  clarke_derive_session *s = &a->derive;
  clarke_status status = clarke_derive_session_read(s, r, err);

  if (status == CLARKE_OK && !s->network)
    status = clarke_derive_point(s, r->at, r->n_at, CLARKE_NONE, err);
  return status == CLARKE_OK ? clarke_derive_ask(&a->found, s, err) : status;
}

clarke_status
clarke_program_ask(clarke_answer **answer, const clarke_program *p, const char *const *at, size_t n, clarke_error *err)
{
  const clarke_derive_request r = {.path = p->path, .file = &p->file, .profile = p->profile, .wrt = p->wrt, .output = p->output, .at = at, .n_at = n};
  clarke_answer *a = clarke_answer_new(false);
  clarke_status status = a != NULL ? derive(a, &r, err) : clarke_no_memory(err);

  if (status != CLARKE_OK) {
    clarke_answer_free(a);
    a = NULL;
  }
  *answer = a;
  return status;
}
