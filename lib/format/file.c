/* A whole file in memory, and its SHA-256. */
#include "format/file.h"

#include "base/limit.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void
clarke_file_clear(clarke_file *f)
{
  if (f->mapped)
    munmap(f->data, f->size);
  else
    free(f->data);
  memset(f, 0, sizeof *f);
}

/* Whose choice a file is. */
typedef enum {
  USERS,    /* a pipe is waited for */
  FOUND,    /* in a folder: a pipe would be waited for that nobody writes to */
  STRANGERS /* named in a file: nor may it lead anywhere else */
} chosen_by;

/* Opens a regular file, or a user's pipe; a device has no end. */
static clarke_status
open_readable(int *fd, size_t *expected, const char *path, chosen_by who, clarke_error *err)
{
  const bool links = who != STRANGERS;
  struct stat st;

  *fd = open(path, O_RDONLY | O_CLOEXEC | (links ? 0 : O_NOFOLLOW) | (who == USERS ? 0 : O_NONBLOCK));
  if (*fd < 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: cannot be opened: %s", path,
                       errno == ELOOP && !links ? "symbolic links are not followed" : strerror(errno));
  if (fstat(*fd, &st) != 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: cannot be read: %s", path, strerror(errno));
  if (S_ISDIR(st.st_mode))
    return clarke_fail(err, CLARKE_EINPUT, "%s: cannot be read: %s", path, strerror(EISDIR));
  if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
    return clarke_fail(err, CLARKE_EINPUT, "%s: is a device; expected a file", path);
  if (who != USERS && !S_ISREG(st.st_mode))
    return clarke_fail(err, CLARKE_EINPUT, "%s: is no regular file", path);
  if (st.st_size > 0 && (size_t)st.st_size > clarke_limit_of(CLARKE_LIMIT_FILE))
    return clarke_limit_fail(err, CLARKE_LIMIT_FILE, "%s: %lld bytes", path, (long long)st.st_size);
  *expected = st.st_size > 0 ? (size_t)st.st_size : 0;
  return CLARKE_OK;
}

/* Reads to the end, whatever size was expected: the file may grow, and a pipe tells none. */
static clarke_status
read_all(clarke_file *f, int fd, size_t expected, const char *path, clarke_error *err)
{
  size_t room = expected + 1;

  for (;;) {
    unsigned char *data = realloc(f->data, room);

    if (data == NULL)
      return clarke_fail(err, CLARKE_ENOMEM, "%s: no memory for its %zu bytes", path, room);
    f->data = data;
    while (f->size < room) {
      const ssize_t got = read(fd, f->data + f->size, room - f->size);

      if (got == 0)
        return CLARKE_OK;
      if (got < 0 && errno == EINTR)
        continue;
      if (got < 0)
        return clarke_fail(err, CLARKE_EINPUT, "%s: cannot be read: %s", path, strerror(errno));
      f->size += (size_t)got;
    }
    if (f->size > clarke_limit_of(CLARKE_LIMIT_FILE))
      return clarke_limit_fail(err, CLARKE_LIMIT_FILE, "%s: a longer file", path);
    room = 2 * room + 4096;
  }
}

clarke_status
clarke_file_hash(clarke_file *f, const char *path, clarke_error *err)
{
  static const char hex[] = "0123456789abcdef";
  unsigned char md[EVP_MAX_MD_SIZE];
  unsigned int length = 0;

  if (EVP_Digest(f->data, f->size, md, &length, EVP_sha256(), NULL) != 1 || length != 32)
    return clarke_fail(err, CLARKE_EINTERNAL, "%s: its SHA-256 could not be computed", path);
  for (size_t i = 0; i < length; i++) {
    f->sha256[2 * i] = hex[md[i] >> 4];
    f->sha256[2 * i + 1] = hex[md[i] & 15];
  }
  f->sha256[64] = '\0';
  return CLARKE_OK;
}

/* What cannot be mapped is to be read: a pipe, an empty file. */
static bool
map_all(clarke_file *f, int fd, size_t size)
{
  struct stat st;
  void *at = size > 0 && fstat(fd, &st) == 0 ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;

  if (at == MAP_FAILED)
    return false;
  f->data = at;
  f->size = size;
  f->mapped = true;
  f->changed[0] = st.st_ctim.tv_sec;
  f->changed[1] = st.st_ctim.tv_nsec;
  return true;
}

/* Whoever sets a file's times back changes its ctime by that. */
clarke_status
clarke_file_stayed(const clarke_file *f, const char *path, clarke_error *err)
{
  struct stat st;

  if (!f->mapped)
    return CLARKE_OK;
  if (stat(path, &st) != 0)
    return clarke_fail(err, CLARKE_EINPUT, "%s: is no longer there: %s", path, strerror(errno));
  if (st.st_ctim.tv_sec != f->changed[0] || st.st_ctim.tv_nsec != f->changed[1] || (size_t)st.st_size != f->size)
    return clarke_fail(err, CLARKE_EINPUT, "%s: was changed while it was being read", path);
  return CLARKE_OK;
}

static clarke_status
read_file(clarke_file *f, const char *path, chosen_by who, bool mapped, clarke_error *err)
{
  int fd;
  size_t expected = 0;
  clarke_status status;

  memset(f, 0, sizeof *f);
  status = open_readable(&fd, &expected, path, who, err);
  if (status == CLARKE_OK && !(mapped && map_all(f, fd, expected)))
    status = read_all(f, fd, expected, path, err);
  if (fd >= 0)
    close(fd);
  clarke_limit_input(f->size);
  if (status != CLARKE_OK)
    clarke_file_clear(f);
  return status;
}

static clarke_status
read_and_hash(clarke_file *f, const char *path, chosen_by who, clarke_error *err)
{
  clarke_status status = read_file(f, path, who, false, err);

  if (status == CLARKE_OK)
    status = clarke_file_hash(f, path, err);
  if (status != CLARKE_OK)
    clarke_file_clear(f);
  return status;
}

clarke_status
clarke_file_read_bytes(clarke_file *f, const char *path, clarke_error *err)
{
  return read_file(f, path, STRANGERS, false, err);
}

clarke_status
clarke_file_map(clarke_file *f, const char *path, clarke_error *err)
{
  return read_file(f, path, STRANGERS, true, err);
}

clarke_status
clarke_file_read(clarke_file *f, const char *path, clarke_error *err)
{
  return read_and_hash(f, path, USERS, err);
}

clarke_status
clarke_file_read_found(clarke_file *f, const char *path, clarke_error *err)
{
  return read_and_hash(f, path, FOUND, err);
}

clarke_status
clarke_file_read_beside(clarke_file *f, const char *path, const char *name, clarke_error *err)
{
  const size_t folder = (size_t)(clarke_base_name(path) - path), size = folder + strlen(name) + 1;
  char *whole = malloc(size);
  clarke_status status;

  memset(f, 0, sizeof *f);
  if (whole == NULL)
    return clarke_no_memory(err);
  memcpy(whole, path, folder);
  memcpy(whole + folder, name, strlen(name) + 1);
  status = read_and_hash(f, whole, STRANGERS, err);
  free(whole);
  return status;
}

clarke_status
clarke_named_file_set(clarke_named_file *f, const char *path, const clarke_file *file, clarke_error *err)
{
  f->name = strdup(clarke_base_name(path));
  memcpy(f->sha256, file->sha256, sizeof f->sha256);
  return f->name != NULL ? CLARKE_OK : clarke_no_memory(err);
}
