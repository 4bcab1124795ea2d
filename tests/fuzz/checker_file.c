#define _GNU_SOURCE /* memfd_create */
#include "checker.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

const char *
checker_file(int place, const void *data, size_t size)
{
  static int fds[4] = {-1, -1, -1, -1};
  static char paths[4][32];

  if (fds[place] < 0)
    fds[place] = memfd_create("input", 0);
  if (fds[place] < 0 || ftruncate(fds[place], 0) != 0 || pwrite(fds[place], data, size, 0) != (ssize_t)size)
    abort();
  snprintf(paths[place], sizeof paths[place], "/proc/self/fd/%d", fds[place]);
  return paths[place];
}
