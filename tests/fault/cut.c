/* Somebody who cuts a record's trace short, in a program that preloads this: as soon as the file is mapped nothing is left of it. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void
cut(int fd)
{
  char link[64], path[4096];
  ssize_t length;

  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  length = readlink(link, path, sizeof path - 1);
  if (length < 0)
    return;
  path[length] = '\0';
  if (strstr(path, ".trace.") != NULL && truncate(path, 0) != 0)
    _exit(99);
}

/* Under the name that a program with 64-bit offsets calls, as this one. */
void *
mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
  void *mapped = (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);

  if (mapped != MAP_FAILED && fd >= 0)
    cut(fd);
  return mapped;
}
