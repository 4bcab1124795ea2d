/* forked PROGRAM [ARGUMENT...]: runs a test, and forks itself for each clarke that the test starts by way of the client.
 *
 * To load clarke's libraries takes several times as long as what many tests ask of it. This process has loaded them, once, and
 * done nothing else: each of its children begins clarke's main as a process does that was started. It has the descriptors,
 * folder, words, environment, limits and mask of the client. When the client ends first, its child is killed.
 * Not the same as after exec are the loader's variables (LD_PRELOAD), and what libraries read when they are loaded
 * (OPENBLAS_NUM_THREADS, MALLOC_*, ASAN_OPTIONS), which are the test's. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "request.h"
#include "tool.h"
#undef main

enum { MOST = 256 }; /* commands at once */

/* Commands that run. */
static struct {
  int client;
  pid_t child;
} served[MOST];
static size_t n_served;

static _Noreturn void
fail(const char *what)
{
  perror(what);
  _exit(99);
}

/* --- in the child ---------------------------------------------------------------------------- */

static void
receive_all(int client, void *to, size_t n)
{
  if (recv(client, to, n, MSG_WAITALL) != (ssize_t)n)
    _exit(99);
}

static void
receive_request(int client, request *r, int passed[PASSED])
{
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(PASSED * sizeof(int))];
  } control = {0};
  struct iovec part = {r, sizeof *r};
  struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t got = recvmsg(client, &message, 0);

  if (got <= 0 || control.header.cmsg_len != CMSG_LEN(PASSED * sizeof(int)))
    _exit(99);
  memcpy(passed, CMSG_DATA(&control.header), PASSED * sizeof(int));
  if ((size_t)got < sizeof *r)
    receive_all(client, (char *)r + got, sizeof *r - (size_t)got);
}

/* The n words that begin at *text, which moves past them. */
static char **
words(char **text, size_t n)
{
  char **list = malloc((n + 1) * sizeof *list);

  if (list == NULL)
    _exit(99);
  for (size_t i = 0; i < n; i++, *text += strlen(*text) + 1)
    list[i] = *text;
  list[n] = NULL;
  return list;
}

static void
take_place(const request *r, const int passed[PASSED])
{
  if (fchdir(passed[3]) != 0)
    fail("fchdir");
  for (int fd = 0; fd < 3; fd++)
    if (dup2(passed[fd], fd) < 0)
      fail("dup2");
  for (int i = 0; i < PASSED; i++)
    close(passed[i]);
  umask(r->mask);
  for (int i = 0; i < RLIM_NLIMITS; i++)
    if (setrlimit(i, &r->limits[i]) != 0)
      fail("setrlimit");
}

/* The environment, as it was sent: setenv makes another list, and leaves this one to us. Not on the stack, for whoever exits. */
static char **given;

static _Noreturn void
run(int client)
{
  request r;
  int passed[PASSED];
  char *text, **argv;
  int status;

  receive_request(client, &r, passed);
  text = malloc(r.size);
  if (text == NULL)
    _exit(99);
  receive_all(client, text, r.size);
  close(client);
  argv = words(&text, r.words);
  environ = given = words(&text, r.variables);
  unsetenv(SERVER);
  program_invocation_name = argv[0];
  program_invocation_short_name = strrchr(argv[0], '/') != NULL ? strrchr(argv[0], '/') + 1 : argv[0];
  take_place(&r, passed);
  status = clarke_tool((int)r.words, argv);
  if (environ != given)
    free(given);
  exit(status);
}

/* --- the server ------------------------------------------------------------------------------ */

static void
serve(int listening, int ends, const sigset_t *before)
{
  const int client = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
  pid_t child;

  if (client < 0)
    return;
  child = fork();
  if (child < 0)
    fail("fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(listening);
    close(ends);
    for (size_t i = 0; i < n_served; i++)
      close(served[i].client);
    sigprocmask(SIG_SETMASK, before, NULL);
    run(client);
  }
  send(client, &(int){child}, sizeof(int), MSG_NOSIGNAL);
  served[n_served].client = client;
  served[n_served++].child = child;
}

static void
tell(pid_t child, int status)
{
  for (size_t i = 0; i < n_served; i++)
    if (served[i].child == child) {
      if (served[i].client >= 0) {
        send(served[i].client, &status, sizeof status, MSG_NOSIGNAL);
        close(served[i].client);
      }
      served[i] = served[--n_served];
      return;
    }
}

/* Tells the clients whose commands have ended; true when the test has, with its status. */
static bool
reap(int ends, pid_t test, int *status)
{
  struct signalfd_siginfo ignored;
  pid_t child;
  int how;
  bool over = false;

  if (read(ends, &ignored, sizeof ignored) < 0 && errno != EAGAIN)
    fail("signalfd");
  while ((child = waitpid(-1, &how, WNOHANG)) > 0)
    if (child == test) {
      over = true;
      *status = how;
    } else {
      tell(child, how);
    }
  return over;
}

static void
kill_abandoned(const struct pollfd *clients, size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (clients[i].fd >= 0 && clients[i].revents & (POLLHUP | POLLERR)) {
      kill(served[i].child, SIGKILL);
      close(served[i].client);
      served[i].client = -1; /* its child is reaped like any */
    }
}

static int
serve_until_end(int listening, int ends, pid_t test, const sigset_t *before)
{
  int status = 0;
  bool over = false;

  while (!over) {
    struct pollfd events[MOST + 2] = {{ends, POLLIN, 0}, {n_served < MOST ? listening : -1, POLLIN, 0}};
    const size_t n = n_served;

    for (size_t i = 0; i < n; i++)
      events[i + 2] = (struct pollfd){served[i].client, 0, 0};
    if (poll(events, n + 2, -1) < 0)
      continue;
    kill_abandoned(events + 2, n);
    if (events[0].revents != 0)
      over = reap(ends, test, &status);
    if (events[1].revents != 0)
      serve(listening, ends, before);
  }
  for (size_t i = 0; i < n_served; i++)
    kill(served[i].child, SIGKILL);
  return status;
}

/* Listens at a name that the system chooses, which the environment keeps. */
static int
listen_somewhere(void)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  socklen_t n = sizeof address;
  const int listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  if (listening < 0 || bind(listening, (struct sockaddr *)&address, sizeof address.sun_family) != 0 ||
      getsockname(listening, (struct sockaddr *)&address, &n) != 0 || listen(listening, MOST) != 0)
    fail("socket");
  address.sun_path[n - offsetof(struct sockaddr_un, sun_path)] = '\0';
  setenv(SERVER, address.sun_path + 1, 1);
  return listening;
}

int
main(int argc, char **argv)
{
  const int listening = listen_somewhere();
  sigset_t children, before;
  pid_t test;
  int ends, status;

  if (argc < 2)
    return 99;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigprocmask(SIG_BLOCK, &children, &before);
  ends = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
  test = fork();
  if (test < 0 || ends < 0)
    fail("fork");
  if (test == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    execvp(argv[1], argv + 1);
    fail(argv[1]);
  }
  status = serve_until_end(listening, ends, test, &before);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
