#include "apart.h"
#include "beside.h"
#include "../suite.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A socket to the program, which is begun with the first question of a process. */
static int
program_beside(void)
{
  static int end = -1;
  static pid_t of;
  int ends[2];
  pid_t child;

  if (of == getpid())
    return end;
  ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    dup2(ends[1], STDIN_FILENO);
    execl(BESIDE, BESIDE, (char *)NULL);
    _exit(99);
  }
  close(ends[1]);
  of = getpid();
  return end = ends[0];
}

int
check_apart(const char *proof, const char *data, size_t threads, char *said, size_t size)
{
  static check_question q;
  static check_answer a;
  const int end = program_beside();

  ck_assert_uint_le(size, SAID_MOST);
  ck_assert_int_lt(snprintf(q.proof, sizeof q.proof, "%s", proof), PATH_MAX);
  ck_assert_int_lt(snprintf(q.data, sizeof q.data, "%s", data != NULL ? data : ""), PATH_MAX);
  q.has_data = data != NULL;
  q.threads = threads;
  q.size = size;
  ck_assert_int_eq(send(end, &q, sizeof q, MSG_NOSIGNAL), (int)sizeof q);
  ck_assert_msg(recv(end, &a, sizeof a, 0) == (ssize_t)sizeof a, "%s: no answer", proof);
  memcpy(said, a.said, size);
  return a.status;
}
