/* Answers on its standard input, a socket, until the test is gone: what check_apart says. */
#include "apart.h"
#include "beside.h"

#include <sys/socket.h>
#include <unistd.h>

int
main(void)
{
  static check_question q;
  static check_answer a;

  while (recv(STDIN_FILENO, &q, sizeof q, 0) == (ssize_t)sizeof q) {
    a.status = check_apart(q.proof, q.has_data ? q.data : NULL, q.threads, a.said, q.size);
    if (send(STDIN_FILENO, &a, sizeof a, MSG_NOSIGNAL) != (ssize_t)sizeof a)
      return 1;
  }
  return 0;
}
