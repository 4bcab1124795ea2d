/* Makes allocations fail, in a program that preloads this: of those made from the start of main, number N (from 1) fails
 * when CLARKE_FAIL=N, and all from N on when CLARKE_FAIL=N+. CLARKE_COUNT=FILE: each process
 * adds a line to FILE, how many there were, with those of its parent before the fork. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static unsigned long count, failing;
static bool armed, from_there_on;
static int (*real_main)(int, char **, char **);

static bool
fails(void)
{
  unsigned long k;

  if (!armed)
    return false;
  k = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
  if (failing == 0 || (from_there_on ? k < failing : k != failing))
    return false;
  errno = ENOMEM;
  return true;
}

void *
malloc(size_t size)
{
  return fails() ? NULL : __libc_malloc(size);
}

void *
calloc(size_t n, size_t size)
{
  return fails() ? NULL : __libc_calloc(n, size);
}

void *
realloc(void *p, size_t size)
{
  return fails() ? NULL : __libc_realloc(p, size);
}

void *
aligned_alloc(size_t alignment, size_t size)
{
  return fails() ? NULL : __libc_memalign(alignment, size);
}

int
posix_memalign(void **p, size_t alignment, size_t size)
{
  if (fails())
    return ENOMEM;
  *p = __libc_memalign(alignment, size);
  return *p != NULL ? 0 : ENOMEM;
}

static void
tell(void)
{
  const char *path = getenv("CLARKE_COUNT");
  char text[32];
  int fd;

  armed = false;
  if (path == NULL || (fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666)) < 0)
    return;
  if (write(fd, text, (size_t)snprintf(text, sizeof text, "%lu\n", count)) < 0)
    abort();
  close(fd);
}

void
_exit(int status)
{
  tell();
  syscall(SYS_exit_group, status);
  __builtin_unreachable();
}

static int
armed_main(int argc, char **argv, char **environment)
{
  const char *fail = getenv("CLARKE_FAIL");
  int status;

  if (fail != NULL) {
    failing = strtoul(fail, NULL, 10);
    from_there_on = fail[strlen(fail) - 1] == '+';
  }
  atexit(tell);
  armed = true;
  status = real_main(argc, argv, environment);
  return status;
}

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end);

int
__libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
                  void (*rtld_fini)(void), void *stack_end)
{
  int (*start)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

  *(void **)&start = dlsym(RTLD_NEXT, "__libc_start_main");
  real_main = main;
  return start(armed_main, argc, argv, init, fini, rtld_fini, stack_end);
}
