/* clarke audit --serve: one process that answers about one run folder after the other. */
#include "audit_report.h"
#include "base/stop.h"
#include "command.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#define SOON 1000 /* milliseconds: who asks again by then finds the memory of the answer before */

/* FOLDER, or FOLDER, a tab and the proof's FILE. */
static void
read_line(clarke_audit_command *c, char *line)
{
  char *tab;

  line[strcspn(line, "\n")] = '\0';
  tab = strchr(line, '\t');
  if (tab != NULL)
    *tab++ = '\0';
  c->run = c->ask.model_path = line;
  c->proof = tab != NULL && *tab != '\0' ? tab : NULL;
}

/* The next line, empty if it holds a zero byte: what is before that is another name; false: there is none. Who asks seldom has the memory
 * back meanwhile. */
static bool
wait_for_line(char **line, size_t *room)
{
  struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
  ssize_t length;

#ifdef __GLIBC__
  if (poll(&in, 1, SOON) == 0)
    malloc_trim(0);
#else
  (void)in;
#endif
  length = getline(line, room, stdin);
  if (length > 0 && strlen(*line) < (size_t)length)
    **line = '\0';
  return length > 0;
}

/* Prints the answer, or the object that says why there is none. *exit_status becomes the worst so far. */
static clarke_status
answer_line(int *exit_status, const clarke_audit_command *command, char *line, clarke_error *err)
{
  clarke_audit_command c = *command;
  clarke_error why = {CLARKE_OK, ""};
  bool told = false;
  int now = EXIT_NOT_ASKED;
  clarke_status status;

  c.json = true;
  c.ci.told = &told;
  read_line(&c, line);
  clarke_watch_begin(&c.watch);
  status = *c.run != '\0' ? clarke_audit_run_folder(&now, &c, &why)
                          : clarke_fail(&why, CLARKE_EINPUT, "a line without the name of a run folder");
  if (status != CLARKE_OK)
    now = clarke_ci_fail(&c.ci, &(clarke_ci_source){.command = "audit", .path = c.run, .json = true}, &why);
  clarke_watch_end();
  *exit_status = clarke_status_worse(*exit_status, now);
  return fflush(stdout) == 0 ? CLARKE_OK : clarke_fail(err, CLARKE_EINPUT, "standard output: %s", strerror(errno));
}

/* What stops one answer (a signal, a limit) stops all that would come: nothing is known of these, and nothing is
 * said. */
clarke_status
clarke_audit_serve(int *exit_status, const clarke_audit_command *command, clarke_error *err)
{
  clarke_status status = CLARKE_OK;
  char *line = NULL;
  size_t room = 0;

  *exit_status = EXIT_HOLDS;
  setvbuf(stdin, NULL, _IONBF, 0); /* so that poll knows of each line */
  clarke_watch_end(); /* while nobody asks no time goes by */
  while (status == CLARKE_OK && clarke_work_stopped() == NULL && wait_for_line(&line, &room))
    if (clarke_work_stopped() == NULL)
      status = answer_line(exit_status, command, line, err);
  free(line);
  return status;
}
