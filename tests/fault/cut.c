/* Somebody who changes a record's trace, in a program that preloads this, as soon as the file is mapped: nothing is left of it, or, where
 * REWRITE is in the environment, its last byte is written anew. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The same byte, until the file's times are others. */
static bool
rewrite(const char *path)
{
  struct stat before, now;
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  char last;
  bool done = fd >= 0 && fstat(fd, &before) == 0 && pread(fd, &last, 1, before.st_size - 1) == 1;

  do
    done = done && pwrite(fd, &last, 1, before.st_size - 1) == 1 && fstat(fd, &now) == 0;
  while (done && now.st_ctim.tv_sec == before.st_ctim.tv_sec && now.st_ctim.tv_nsec == before.st_ctim.tv_nsec);
  close(fd);
  return done;
}

static void
change(int fd)
{
  char link[64], path[4096];
  ssize_t length;

  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  length = readlink(link, path, sizeof path - 1);
  if (length < 0)
    return;
  path[length] = '\0';
  if (strstr(path, ".trace.") != NULL && !(getenv("REWRITE") != NULL ? rewrite(path) : truncate(path, 0) == 0))
    _exit(99);
}

/* Under the name that a program with 64-bit offsets calls, as this one. */
void *
mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
  void *mapped = (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);

  if (mapped != MAP_FAILED && fd >= 0)
    change(fd);
  return mapped;
}
