#include "lines.h"

#include "base/output.h"
#include "base/room.h"
#include "base/text.h"
#include "format/file.h"
#include "object.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

void
clarke_lines_clear(clarke_lines *r)
{
  for (size_t i = 0; i < r->n; i++)
    free(r->line[i].text);
  free(r->line);
  free(r->head);
  *r = (clarke_lines){.form = r->form};
}

static int
compare_lines(const void *a, const void *b)
{
  return strcmp(((const clarke_line *)a)->id, ((const clarke_line *)b)->id);
}

clarke_status
clarke_lines_add(clarke_lines *r, const char id[65], const char *text, clarke_error *err)
{
  clarke_status status = clarke_make_room(&r->line, &r->room, r->n + 1, sizeof *r->line, err);

  if (status != CLARKE_OK)
    return status;
  memcpy(r->line[r->n].id, id, 65);
  r->line[r->n].text = strdup(text);
  if (r->line[r->n].text == NULL)
    return clarke_no_memory(err);
  r->in_order = r->n == 0 || (r->in_order && compare_lines(&r->line[r->n - 1], &r->line[r->n]) < 0);
  r->n++;
  return CLARKE_OK;
}

bool
clarke_lines_have(const clarke_lines *r, const char *id)
{
  clarke_line wanted;

  snprintf(wanted.id, sizeof wanted.id, "%s", id);
  return r->n > 0 && bsearch(&wanted, r->line, r->n, sizeof *r->line, compare_lines) != NULL;
}

void
clarke_lines_sort(clarke_lines *r)
{
  size_t kept = 0;

  if (r->n > 0)
    qsort(r->line, r->n, sizeof *r->line, compare_lines);
  for (size_t i = 0; i < r->n; i++)
    if (kept > 0 && strcmp(r->line[kept - 1].id, r->line[i].id) == 0)
      free(r->line[i].text);
    else
      r->line[kept++] = r->line[i];
  r->n = kept;
  r->in_order = true;
}

/* --- seals ------------------------------------------------------------------------------------- */

#define SEAL ",\"sha256\":\""
#define SEAL_LENGTH (sizeof SEAL - 1 + 64 + sizeof "\"}" - 1)

/* The hash of an object's text, whose closing brace is taken to be behind its first so many bytes. */
static clarke_status
hash_object(char sha256[65], const char *text, size_t open, clarke_error *err)
{
  clarke_file f = {.data = malloc(open + 1), .size = open + 1};
  clarke_status status = f.data != NULL ? CLARKE_OK : clarke_no_memory(err);

  if (status == CLARKE_OK) {
    memcpy(f.data, text, open);
    f.data[open] = '}';
    status = clarke_file_hash(&f, "a line", err);
    memcpy(sha256, f.sha256, 65);
  }
  free(f.data);
  return status;
}

clarke_status
clarke_lines_seal(char **text, clarke_error *err)
{
  const size_t open = strlen(*text) - 1;
  char sha256[65], *sealed = malloc(open + SEAL_LENGTH + 1);
  clarke_status status = sealed != NULL ? hash_object(sha256, *text, open, err) : clarke_no_memory(err);

  if (status != CLARKE_OK) {
    free(sealed);
    return status;
  }
  snprintf(sealed, open + SEAL_LENGTH + 1, "%.*s%s%s\"}", (int)open, *text, SEAL, sha256);
  free(*text);
  *text = sealed;
  return CLARKE_OK;
}

/* Does the line end in the hash of what is before it? */
static clarke_status
check_seal(bool *whole, const char *text, clarke_error *err)
{
  const size_t length = strlen(text), open = length > SEAL_LENGTH ? length - SEAL_LENGTH : 0;
  char sha256[65], seal[SEAL_LENGTH + 1];
  clarke_status status;

  *whole = false;
  if (open == 0)
    return CLARKE_OK;
  status = hash_object(sha256, text, open, err);
  if (status == CLARKE_OK) {
    snprintf(seal, sizeof seal, "%s%s\"}", SEAL, sha256);
    *whole = strcmp(text + open, seal) == 0;
  }
  return status;
}

/* --- reading ----------------------------------------------------------------------------------- */

static clarke_status
fail_line(const char *path, size_t number, const char *what, clarke_error *err)
{
  return clarke_fail(err, CLARKE_EINPUT, "%s: line %zu: %s", clarke_base_name(path), number, what);
}

static clarke_status
take_head(clarke_lines *r, const json_t *j, const char *text, bool whole, const char *path, clarke_error *err)
{
  const char *file = clarke_base_name(path);

  if (strcmp(clarke_text_at(j, "format"), r->form->format) != 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: line 1: expected \"format\":\"%s\"; answers of another version are not put beside these", file,
                       r->form->format);
  if (!whole)
    return clarke_fail(err, CLARKE_EINPUT, "%s: line 1: it is not as it was written: its sha256 is another", file);
  if (!r->form->begins(j))
    return clarke_fail(err, CLARKE_EINPUT, "%s: line 1: expected what a %s begins its answers with", file, r->form->question);
  if (r->head != NULL && strcmp(r->head, text) != 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: line 1: these are another %s's results: of other files, profiles, formats or options, or another version's; "
                       "take another name", file, r->form->question);
  if (r->head == NULL && (r->head = strdup(text)) == NULL)
    return clarke_no_memory(err);
  return CLARKE_OK;
}

/* A line that has its end. */
static clarke_status
take_line(clarke_lines *r, const char *text, const char *path, size_t number, clarke_error *err)
{
  json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
  bool whole = true;
  char id[65];
  clarke_status status = r->form->sealed ? check_seal(&whole, text, err) : CLARKE_OK;

  if (status == CLARKE_OK && !json_is_object(j))
    status = fail_line(path, number, "no JSON object", err);
  else if (status == CLARKE_OK && number == 1)
    status = take_head(r, j, text, whole, path, err);
  else if (status == CLARKE_OK && !whole)
    status = fail_line(path, number, "it is not as it was written: its sha256 is another; take it out, and its job is done again", err);
  else if (status == CLARKE_OK && !r->form->id_of(id, j))
    status = fail_line(path, number, "expected an answer, with its id", err);
  else if (status == CLARKE_OK)
    status = clarke_lines_add(r, id, text, err);
  json_decref(j);
  return status;
}

/* The lines in the file's bytes; *whole: how many bytes they are. */
static clarke_status
take_lines(clarke_lines *r, size_t *whole, const clarke_file *f, const char *path, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  size_t number = 1, from = 0;

  for (size_t i = 0; i < f->size && status == CLARKE_OK; i++) {
    char *text;

    if (f->data[i] != '\n')
      continue;
    text = memchr(f->data + from, '\0', i - from) == NULL ? strndup((const char *)f->data + from, i - from) : strdup("");
    status = text != NULL ? take_line(r, text, path, number++, err) : clarke_no_memory(err);
    free(text);
    from = i + 1;
  }
  *whole = from;
  r->cut = from < f->size;
  return status;
}

/* No two lines of one job differ. */
static clarke_status
check_agreement(clarke_lines *r, const char *path, clarke_error *err)
{
  const bool in_order = r->in_order;

  if (r->n > 0)
    qsort(r->line, r->n, sizeof *r->line, compare_lines);
  for (size_t i = 1; i < r->n; i++)
    if (strcmp(r->line[i - 1].id, r->line[i].id) == 0 && strcmp(r->line[i - 1].text, r->line[i].text) != 0)
      return clarke_fail(err, CLARKE_EINPUT, "%s: %s has another answer here than before; were they made by one version of clarke?",
                         clarke_base_name(path), r->line[i].id);
  clarke_lines_sort(r);
  r->in_order = in_order; /* of the file */
  return CLARKE_OK;
}

clarke_status
clarke_lines_read(clarke_lines *r, const char *path, clarke_error *err)
{
  clarke_file f = {0};
  size_t whole;
  clarke_status status = clarke_file_read(&f, path, err);

  if (status == CLARKE_OK)
    status = take_lines(r, &whole, &f, path, err);
  clarke_file_clear(&f);
  return status == CLARKE_OK ? check_agreement(r, path, err) : status;
}

clarke_status
clarke_lines_write(const clarke_lines *r, const char *path, clarke_error *err)
{
  clarke_output o;
  clarke_status status = clarke_output_open(&o, path, err);

  if (status != CLARKE_OK)
    return status;
  fprintf(o.to, "%s\n", r->head);
  for (size_t i = 0; i < r->n; i++)
    fprintf(o.to, "%s\n", r->line[i].text);
  return clarke_output_close(&o, CLARKE_OK, path, err);
}

/* --- appending --------------------------------------------------------------------------------- */

static clarke_status
fail_file(const char *path, clarke_error *err)
{
  return clarke_fail(err, CLARKE_EINPUT, "%s: %s", path, strerror(errno));
}

/* Alone with the file of that name: who had it before may have put another in its place. */
static clarke_status
open_alone(int *fd, const char *path, clarke_error *err)
{
  struct stat held, named;

  for (;;) {
    *fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (*fd < 0)
      return fail_file(path, err);
    if (fstat(*fd, &held) == 0 && S_ISREG(held.st_mode) && flock(*fd, LOCK_EX) == 0 && stat(path, &named) == 0
        && held.st_dev == named.st_dev && held.st_ino == named.st_ino)
      return CLARKE_OK;
    if (!S_ISREG(held.st_mode)) {
      close(*fd);
      return clarke_fail(err, CLARKE_EINPUT, "%s: is no regular file, to which answers are appended", path);
    }
    if (errno != 0 && errno != ENOENT && errno != EINTR) {
      close(*fd);
      return fail_file(path, err);
    }
    close(*fd);
  }
}

/* Half a line alone is the beginning of what the first one is to be, or somebody else's file. */
static clarke_status
check_begun(const clarke_lines *r, const clarke_file *f, const char *path, clarke_error *err)
{
  if (f->size <= strlen(r->head) && memcmp(f->data, r->head, f->size) == 0)
    return CLARKE_OK;
  return fail_line(path, 1, "expected the first line of answers to this question; take another name", err);
}

/* What the file has, to this question; half a line at its end is cut off. */
static clarke_status
read_begun(clarke_lines *r, int fd, const char *path, clarke_error *err)
{
  clarke_file f = {0};
  size_t whole = 0;
  clarke_status status = clarke_file_read(&f, path, err);

  if (status == CLARKE_OK)
    status = take_lines(r, &whole, &f, path, err);
  if (status == CLARKE_OK && whole == 0)
    status = check_begun(r, &f, path, err);
  if (status == CLARKE_OK)
    status = check_agreement(r, path, err);
  if (status == CLARKE_OK && whole < f.size && ftruncate(fd, (off_t)whole) != 0)
    status = fail_file(path, err);
  clarke_file_clear(&f);
  return status;
}

clarke_status
clarke_lines_append_open(clarke_lines_appender *a, clarke_lines *r, const char *path, const char *head, clarke_error *err)
{
  struct stat st;
  clarke_status status;
  int fd;

  *a = (clarke_lines_appender){.path = path};
  errno = 0;
  status = open_alone(&fd, path, err);
  if (status != CLARKE_OK)
    return status;
  r->head = strdup(head);
  r->in_order = true;
  status = r->head == NULL ? clarke_no_memory(err) : fstat(fd, &st) != 0 ? fail_file(path, err) : CLARKE_OK;
  if (status == CLARKE_OK && st.st_size > 0)
    status = read_begun(r, fd, path, err);
  if (status == CLARKE_OK && fstat(fd, &st) != 0)
    status = fail_file(path, err);
  a->to = status == CLARKE_OK ? fdopen(fd, "a") : NULL;
  if (a->to == NULL) {
    close(fd);
    return status == CLARKE_OK ? fail_file(path, err) : status;
  }
  return st.st_size == 0 ? clarke_lines_append(a, head, err) : CLARKE_OK;
}

clarke_status
clarke_lines_append(clarke_lines_appender *a, const char *text, clarke_error *err)
{
  fprintf(a->to, "%s\n", text);
  return fflush(a->to) == 0 && !ferror(a->to) ? CLARKE_OK
                                               : clarke_fail(err, CLARKE_EINPUT, "%s: could not be written: %s; what is there stays",
                                                             a->path, strerror(errno));
}

clarke_status
clarke_lines_append_close(clarke_lines_appender *a, clarke_lines *r, clarke_status status, clarke_error *err)
{
  if (a->to == NULL)
    return status;
  if (status == CLARKE_OK && !r->in_order) {
    clarke_lines_sort(r);
    status = clarke_lines_write(r, a->path, err);
  }
  if (status == CLARKE_OK && fsync(fileno(a->to)) != 0)
    status = fail_file(a->path, err);
  fclose(a->to); /* the lock goes with it */
  a->to = NULL;
  return status;
}
