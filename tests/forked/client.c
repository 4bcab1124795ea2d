/* clarke as the tests start it thousands of times: asks the server to fork one that is loaded already, and ends as that ends.
 * Without a server, or with less than it needs, it becomes the program itself. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "request.h"

extern char **environ;

static volatile pid_t forked; /* of the server */

static _Noreturn void
become_the_program(char **argv)
{
  execv(CLARKE, argv);
  perror(CLARKE);
  _exit(99);
}

/* Its end without a word: no command ends with this status. */
static _Noreturn void
server_is_gone(void)
{
  static const char why[] = "the server of forked commands has ended\n";

  _exit(write(STDERR_FILENO, why, sizeof why - 1) > 0 ? 99 : 98);
}

static uint32_t
count(char **words, uint32_t *size)
{
  uint32_t n = 0;

  for (; words[n] != NULL; n++)
    *size += (uint32_t)strlen(words[n]) + 1;
  return n;
}

static char *
put(char *to, char **words)
{
  for (; *words != NULL; words++)
    to = stpcpy(to, *words) + 1;
  return to;
}

static bool
send_all(int server, const char *data, size_t n, const int *passed)
{
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(PASSED * sizeof(int))];
  } control = {0};
  struct iovec part = {(void *)data, n};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t sent;

  control.header = (struct cmsghdr){CMSG_LEN(PASSED * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
  memcpy(CMSG_DATA(&control.header), passed, PASSED * sizeof(int));
  sent = sendmsg(server, &message, MSG_NOSIGNAL);
  while (sent >= 0 && (size_t)sent < n) {
    data += sent;
    n -= (size_t)sent;
    sent = send(server, data, n, MSG_NOSIGNAL);
  }
  return sent >= 0;
}

static bool
ask(int server, char **argv)
{
  request r = {.mask = umask(0)};
  const int folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  char *data;
  bool sent;

  umask(r.mask);
  r.words = count(argv, &r.size);
  r.variables = count(environ, &r.size);
  for (int i = 0; i < RLIM_NLIMITS; i++)
    if (getrlimit(i, &r.limits[i]) != 0)
      return false;
  data = malloc(sizeof r + r.size);
  if (data == NULL || folder < 0)
    return false;
  memcpy(data, &r, sizeof r);
  put(put(data + sizeof r, argv), environ);
  sent = send_all(server, data, sizeof r + r.size, (int[PASSED]){0, 1, 2, folder});
  free(data);
  return sent;
}

static int
connected(void)
{
  const char *name = getenv(SERVER);
  socklen_t n;
  struct sockaddr_un address;
  int server;

  if (name == NULL)
    return -1;
  for (int fd = 0; fd < 3; fd++)
    if (fcntl(fd, F_GETFD) < 0)
      return -1;
  address = server_address(name, &n);
  server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  return server >= 0 && connect(server, (struct sockaddr *)&address, n) == 0 ? server : -1;
}

static void
hand_on(int signal)
{
  kill(forked, signal);
}

static int
receive(int server)
{
  int number;
  ssize_t got;

  do
    got = recv(server, &number, sizeof number, MSG_WAITALL);
  while (got < 0 && errno == EINTR);
  if (got != sizeof number)
    server_is_gone();
  return number;
}

static _Noreturn void
end_as(int status)
{
  if (WIFSIGNALED(status)) {
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  _exit(WEXITSTATUS(status));
}

int
main(int argc, char **argv)
{
  static const int handed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM};
  sigset_t all, before;
  int server = connected();

  (void)argc;
  if (server < 0)
    become_the_program(argv);
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  if (!ask(server, argv))
    server_is_gone();
  forked = receive(server);
  for (size_t i = 0; i < sizeof handed_on / sizeof *handed_on; i++)
    signal(handed_on[i], hand_on);
  sigprocmask(SIG_SETMASK, &before, NULL);
  end_as(receive(server));
}
