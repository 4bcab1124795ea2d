#include "checker.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char *said;
static size_t room;

/* All that comes from the descriptor, NUL-terminated. */
static void
listen(int fd)
{
  size_t n = 0;

  for (ssize_t got = 1; got > 0; n += (size_t)got) {
    if (n + 4096 > room) {
      room = 2 * (n + 4096);
      said = realloc(said, room);
    }
    got = said != NULL ? read(fd, said + n, room - n - 1) : -1;
    if (got < 0)
      abort();
    said[n + (size_t)got] = '\0';
  }
}

checker_answer
checker_run(void (*work)(const void *what), const void *what)
{
  int to[2], status;
  pid_t child;

  fflush(NULL);
  child = pipe(to) == 0 ? fork() : -1;
  if (child < 0)
    abort();
  if (child == 0) {
    dup2(to[1], STDOUT_FILENO);
    dup2(to[1], STDERR_FILENO);
    close(to[0]);
    work(what);
    fflush(stdout);
    _exit(0);
  }
  close(to[1]);
  listen(to[0]);
  close(to[0]);
  if (waitpid(child, &status, 0) != child)
    abort();
  if (!WIFEXITED(status) || WEXITSTATUS(status) > 3) { /* a signal, or a sanitizer's report */
    fprintf(stderr, "%s\nthe checker ended with status %#x\n", said, (unsigned)status);
    abort();
  }
  return (checker_answer){WEXITSTATUS(status), said};
}
