/* What a child says, and how it ends: clarke-check run as a program, or the kernel in a process of its own. */
#ifndef CLARKE_TESTS_CHECK_HEARD_H
#define CLARKE_TESTS_CHECK_HEARD_H

#include "../suite.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child whose standard output and error go to the pipe; 0 in the child. */
static inline pid_t
fork_heard(int ends[2])
{
  pid_t child;

  ck_assert_int_eq(pipe(ends), 0);
  fflush(NULL);
  child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
  }
  return child;
}

/* Its exit status; the beginning of what it says, size - 1 characters at most, in said. No signal may end it. */
static inline int
heard(pid_t child, const int ends[2], const char *what, char *said, size_t size)
{
  size_t n = 0;
  int status;

  close(ends[1]);
  for (ssize_t got; (got = read(ends[0], said + n, size - 1 - n)) > 0;)
    n += (size_t)got;
  said[n] = '\0';
  close(ends[0]);
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_msg(WIFEXITED(status), "%s: killed: %s", what, said);
  return WEXITSTATUS(status);
}

#endif
