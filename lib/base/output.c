#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* fopencookie */
#endif
#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- texts --- */

/* A stream's writer: 0 is its error, which the stream remembers. (open_memstream may forget it.) */
static ssize_t
append(void *cookie, const char *data, size_t n)
{
  clarke_text *t = cookie;

  if (n > SIZE_MAX / 4 || t->size > SIZE_MAX / 4) {
    errno = ENOMEM;
    return 0;
  }
  if (t->size + n + 1 > t->room) {
    size_t room = 2 * (t->size + n + 1);
    char *larger = realloc(t->text, room);

    if (larger == NULL)
      return 0;
    t->text = larger;
    t->room = room;
  }
  memcpy(t->text + t->size, data, n);
  t->size += n;
  t->text[t->size] = '\0';
  return (ssize_t)n;
}

clarke_status
clarke_text_open(clarke_text *t, clarke_error *err)
{
  *t = (clarke_text){.room = 64};
  t->text = calloc(1, t->room);
  if (t->text != NULL)
    t->to = fopencookie(t, "w", (cookie_io_functions_t){.write = append});
  if (t->to != NULL)
    return CLARKE_OK;
  clarke_text_clear(t);
  return clarke_no_memory(err);
}

clarke_status
clarke_text_close(clarke_text *t, clarke_status status, clarke_error *err)
{
  bool failed = ferror(t->to) != 0;

  failed = fclose(t->to) != 0 || failed;
  t->to = NULL;
  return status == CLARKE_OK && failed ? clarke_no_memory(err) : status;
}

void
clarke_text_clear(clarke_text *t)
{
  if (t->to != NULL)
    fclose(t->to);
  free(t->text);
  *t = (clarke_text){0};
}

/* --- files --- */

/* The temporary file of the output that is open: its name is copied, for clarke_output_abandon may run at any time. */
static char abandoned[PATH_MAX];
static volatile bool abandoning;

static void
note_temporary(const char *name)
{
  abandoning = false;
  if (name == NULL || strlen(name) >= sizeof abandoned)
    return;
  strcpy(abandoned, name);
  abandoning = true;
}

void
clarke_output_abandon(void)
{
  if (abandoning)
    unlink(abandoned);
}

/* Creates a new file beside target, with the permissions that the user's mask gives. */
static int
create_beside(char **temporary, const char *target)
{
  const size_t room = strlen(target) + 40;
  int fd = -1;

  errno = ENOMEM;
  *temporary = malloc(room);
  if (*temporary == NULL)
    return -1;
  for (unsigned k = 0; k < 100 && fd < 0; k++) {
    snprintf(*temporary, room, "%s.%ld-%u.tmp", target, (long)getpid(), k);
    fd = open(*temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0 && errno != EEXIST)
      break;
  }
  if (fd < 0) {
    free(*temporary);
    *temporary = NULL;
  } else
    note_temporary(*temporary);
  return fd;
}

/* What path stands for: the target of a symbolic link, also of one whose target does not exist yet. NULL: errno. */
static char *
resolve(const char *path)
{
  char *target = realpath(path, NULL);
  struct stat st;

  if (target != NULL || errno != ENOENT)
    return target;
  if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
    errno = ENOENT; /* a link to nothing: what it should become is not ours to guess */
    return NULL;
  }
  errno = ENOMEM; /* should strdup fail */
  return strdup(path);
}

static clarke_status
cannot(const char *path, const char *what, clarke_error *err)
{
  return clarke_fail(err, errno == ENOMEM ? CLARKE_ENOMEM : CLARKE_EINPUT, "%s: cannot be %s: %s", path, what,
                     strerror(errno));
}

clarke_status
clarke_output_open(clarke_output *o, const char *path, clarke_error *err)
{
  struct stat st;
  int fd;

  *o = (clarke_output){0};
  o->target = resolve(path);
  if (o->target == NULL)
    return cannot(path, "created", err);
  if (stat(o->target, &st) == 0 && !S_ISREG(st.st_mode))
    fd = open(o->target, O_WRONLY | O_CLOEXEC);
  else
    fd = create_beside(&o->temporary, o->target);
  o->to = fd >= 0 ? fdopen(fd, "wb") : NULL;
  if (o->to != NULL)
    return CLARKE_OK;
  cannot(path, "created", err);
  if (fd >= 0)
    close(fd);
  clarke_output_close(o, CLARKE_EINPUT, path, NULL);
  return CLARKE_EINPUT;
}

/* A device or FIFO has nothing to be kept on a disk. */
static bool
complete(const clarke_output *o)
{
  bool written = ferror(o->to) == 0 && fflush(o->to) == 0;

  return written && (o->temporary == NULL || fsync(fileno(o->to)) == 0);
}

clarke_status
clarke_output_close(clarke_output *o, clarke_status status, const char *path, clarke_error *err)
{
  bool failed = status == CLARKE_OK && !complete(o);
  int why = errno;

  if (o->to != NULL && fclose(o->to) != 0 && !failed) {
    failed = true;
    why = errno;
  }
  if (status == CLARKE_OK && !failed && o->temporary != NULL && rename(o->temporary, o->target) != 0) {
    failed = true;
    why = errno;
  }
  if (status == CLARKE_OK && failed) {
    errno = why;
    status = cannot(path, "written", err);
  }
  if (status != CLARKE_OK && o->temporary != NULL)
    unlink(o->temporary);
  note_temporary(NULL);
  free(o->temporary);
  free(o->target);
  *o = (clarke_output){0};
  return status;
}
