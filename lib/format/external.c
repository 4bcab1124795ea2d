/* Files beside a model (external.h). */
#include "format/external.h"
#include "base/room.h"
#include "format/extent.h"
#include "format/onnx_messages.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY = 1, VALUE = 2 };

void
clarke_external_init(clarke_external *x, const char *path)
{
  memset(x, 0, sizeof *x);
  x->path = path;
  x->folder = -1;
}

void
clarke_external_clear(clarke_external *x)
{
  for (size_t i = 0; i < x->n; i++)
    free(x->file[i].location);
  free(x->file);
  if (x->folder >= 0)
    close(x->folder);
  clarke_external_init(x, x->path);
}

/* --- what a tensor says ------------------------------------------------------------------------- */

static bool
is_word(clarke_wire_span span, const char *word)
{
  return span.size == strlen(word) && memcmp(span.data, word, span.size) == 0;
}

/* Decimal digits, as the text of a number is stored. */
static clarke_status
read_size(size_t *size, clarke_wire_span text, const char *what, clarke_error *err)
{
  *size = 0;
  for (size_t k = 0; k < text.size; k++) {
    const unsigned digit = text.data[k] - (unsigned)'0';

    if (digit > 9 || *size > (INT64_MAX - 9) / 10)
      return clarke_fail(err, CLARKE_EINPUT, "external_data: the %s is no number", what);
    *size = 10 * *size + digit;
  }
  return text.size != 0 ? CLARKE_OK
                        : clarke_fail(err, CLARKE_EINPUT, "external_data: the %s is empty", what);
}

static clarke_status
read_pair(clarke_wire_span *key, clarke_wire_span *value, clarke_wire_span span, clarke_error *err)
{
  clarke_wire w;
  clarke_wire_field f;
  clarke_status status;

  *key = *value = (clarke_wire_span){ span.base, span.data, 0 };
  clarke_wire_open(&w, &clarke_onnx_entry_message, span);
  while ((status = clarke_wire_next(&w, &f, err)) == CLARKE_OK && f.number != 0)
    *(f.number == KEY ? key : value) = f.span;
  return status;
}

clarke_status
clarke_external_entry(clarke_external_range *r, clarke_wire_span span, clarke_error *err)
{
  clarke_wire_span key, value;
  clarke_status status = read_pair(&key, &value, span, err);

  if (status != CLARKE_OK)
    return status;
  if (is_word(key, "location") && r->location.size == 0) {
    r->location = value;
    return CLARKE_OK;
  }
  if (is_word(key, "offset") && !r->placed) {
    r->placed = true;
    return read_size(&r->offset, value, "offset", err);
  }
  if (is_word(key, "length") && !r->sized) {
    r->sized = true;
    return read_size(&r->length, value, "length", err);
  }
  return clarke_fail(err, CLARKE_EINPUT, "external_data has a key given twice, or other than "
                     "location, offset and length");
}

clarke_status
clarke_external_check(const clarke_external_range *r, size_t bytes, clarke_error *err)
{
  if (r->location.size == 0)
    return clarke_fail(err, CLARKE_EINPUT, "external_data names no location");
  if (r->sized && r->length != bytes)
    return clarke_fail(err, CLARKE_EINPUT, "external_data holds %zu bytes; expected %zu",
                       r->length, bytes);
  return CLARKE_OK;
}

/* --- opening -------------------------------------------------------------------------------------- */

/* Names between single slashes, none of them "." or "..". */
static clarke_status
check_location(const char *location, clarke_error *err)
{
  for (const char *at = location;; at++) {
    const size_t n = strcspn(at, "/");

    if (n == 0 || (n == 1 && *at == '.') || (n == 2 && at[0] == '.' && at[1] == '.'))
      return clarke_fail(err, CLARKE_EINPUT, "is no plain path inside the model's folder");
    at += n;
    if (*at == '\0')
      return CLARKE_OK;
  }
}

static clarke_status
open_folder(clarke_external *x, clarke_error *err)
{
  const char *base = clarke_base_name(x->path);
  char *folder;

  if (x->folder >= 0)
    return CLARKE_OK;
  folder = base == x->path ? strdup(".") : strndup(x->path, (size_t)(base - x->path));
  if (folder == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for the folder's name");
  x->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  free(folder);
  return x->folder >= 0 ? CLARKE_OK
                        : clarke_fail(err, CLARKE_EINPUT, "the model's folder cannot be opened: %s",
                                      strerror(errno));
}

/* *fd = the last of the names, each opened from the one before; the first from `folder`. */
static clarke_status
open_names(int *fd, int folder, char *names, clarke_error *err)
{
  const int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  int at = folder;

  for (char *rest = names, *name; (name = strsep(&rest, "/")) != NULL;) {
    const int next = openat(at, name, flags | (rest != NULL ? O_DIRECTORY : 0));
    const int why = errno;

    if (at != folder)
      close(at);
    at = next;
    if (at < 0)
      return clarke_fail(err, CLARKE_EINPUT, "cannot be opened: %s",
                         why == ELOOP || why == ENOTDIR ? "symbolic links are not followed"
                                                        : strerror(why));
  }
  *fd = at;
  return CLARKE_OK;
}

/* *fd is to be closed unless it is -1. */
static clarke_status
open_location(int *fd, size_t *size, const clarke_external *x, const char *location,
              clarke_error *err)
{
  char *names = strdup(location);
  struct stat st;
  clarke_status status;

  *fd = -1;
  *size = 0;
  if (names == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for its name");
  status = open_names(fd, x->folder, names, err);
  free(names);
  if (status != CLARKE_OK)
    return status;
  if (fstat(*fd, &st) != 0)
    return clarke_fail(err, CLARKE_EINPUT, "cannot be read: %s", strerror(errno));
  if (!S_ISREG(st.st_mode))
    return clarke_fail(err, CLARKE_EINPUT, "is no regular file");
  *size = (size_t)st.st_size;
  return CLARKE_OK;
}

/* --- reading -------------------------------------------------------------------------------------- */

/* Counts the file, if it is new, and what is asked of it: a model may ask for the same bytes over
 * and over. */
static clarke_status
count(clarke_external *x, const char *location, size_t size, size_t bytes, clarke_error *err)
{
  size_t i = 0;

  while (i < x->n && strcmp(x->file[i].location, location) != 0)
    i++;
  if (i == x->n) {
    if (!clarke_room(&x->file, &x->capacity, x->n + 1, sizeof *x->file))
      return clarke_fail(err, CLARKE_ENOMEM, "no memory for its name");
    x->file[i].location = strdup(location);
    if (x->file[i].location == NULL)
      return clarke_fail(err, CLARKE_ENOMEM, "no memory for its name");
    x->file[i].size = size;
    x->n++;
    x->held += size;
  }
  x->claimed += bytes;
  if (x->claimed / CLARKE_MAX_SHARING > x->held)
    return clarke_fail(err, CLARKE_ENOMEM, "the tensors share data so that they hold more than %d "
                       "times the bytes of their files", CLARKE_MAX_SHARING);
  return CLARKE_OK;
}

static clarke_status
check_range(const clarke_external_range *r, size_t bytes, size_t size, clarke_error *err)
{
  if (r->offset > size || bytes > size - r->offset)
    return clarke_fail(err, CLARKE_EINPUT, "has %zu bytes; expected %zu from byte %zu", size, bytes,
                       r->offset);
  if (!r->sized && r->offset + bytes != size)
    return clarke_fail(err, CLARKE_EINPUT, "has %zu bytes from byte %zu to its end, and no length "
                       "is stated; expected %zu", size - r->offset, r->offset, bytes);
  return CLARKE_OK;
}

static clarke_status
read_range(unsigned char *to, int fd, size_t offset, size_t bytes, clarke_error *err)
{
  for (size_t done = 0; done < bytes;) {
    const ssize_t got = pread(fd, to + done, bytes - done, (off_t)(offset + done));

    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return clarke_fail(err, CLARKE_EINPUT, "cannot be read: %s",
                         got < 0 ? strerror(errno) : "it became shorter");
    done += (size_t)got;
  }
  return CLARKE_OK;
}

static clarke_status
read_from(unsigned char **data, clarke_external *x, const char *location,
          const clarke_external_range *r, size_t bytes, clarke_error *err)
{
  int fd = -1;
  size_t size = 0;
  clarke_status status = open_folder(x, err);

  if (status == CLARKE_OK)
    status = open_location(&fd, &size, x, location, err);
  if (status == CLARKE_OK)
    status = check_range(r, bytes, size, err);
  if (status == CLARKE_OK)
    status = count(x, location, size, bytes, err);
  if (status == CLARKE_OK && (*data = malloc(bytes + 1)) == NULL)
    status = clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu bytes", bytes);
  if (status == CLARKE_OK)
    status = read_range(*data, fd, r->offset, bytes, err);
  if (fd >= 0)
    close(fd);
  return status;
}

clarke_status
clarke_external_read(unsigned char **data, clarke_external *x, const clarke_external_range *r,
                     size_t bytes, clarke_error *err)
{
  char *location;
  clarke_status status = clarke_text_copy(&location, r->location.data, r->location.size,
                                          "its external file's name", err);

  *data = NULL;
  if (status != CLARKE_OK)
    return status;
  status = check_location(location, err);
  if (status == CLARKE_OK && x == NULL)
    status = clarke_fail(err, CLARKE_EINPUT, "external data is read for the initializers of a model "
                         "in a folder, and not here");
  if (status == CLARKE_OK)
    status = read_from(data, x, location, r, bytes, err);
  if (status != CLARKE_OK) {
    clarke_fail_in(err, status, "external file \"%s\"", location);
    free(*data);
    *data = NULL;
  }
  free(location);
  return status;
}
