/* clarke audit --like NAME: a checkpoint without a graph. PyTorch makes the network that has this name in a library, gives it the
 * checkpoint's weights, and records a step in a folder, which is then asked about as any other. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mkdtemp */
#endif
#include "audit_report.h"

#include <dirent.h>
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *
python(void)
{
  const char *named = getenv("CLARKE_PYTHON");

  return named != NULL && *named != '\0' ? named : "python3";
}

/* The exit status of Python, whose output goes to standard error; -1: it did not run, or a signal ended it. */
static int
run_python(char *const *words)
{
  posix_spawn_file_actions_t actions;
  int status = -1, failed = posix_spawn_file_actions_init(&actions);
  pid_t pid;

  if (failed != 0)
    return -1;
  failed = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  if (failed == 0 && posix_spawnp(&pid, words[0], &actions, NULL, words, environ) == 0)
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
      continue;
  posix_spawn_file_actions_destroy(&actions);
  return status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static clarke_status
record(const clarke_audit_command *c, const char *folder, clarke_error *err)
{
  const char *words[16] = {python(), "-m", "clarke.like", "--record"};
  size_t n = 4;
  int status;

  if (c->ask.loss != NULL) {
    words[n++] = "--loss";
    words[n++] = c->ask.loss;
  }
  if (c->train)
    words[n++] = "--train";
  words[n++] = "--";
  words[n++] = c->like;
  words[n++] = c->ask.model_path;
  words[n++] = c->ask.batch_path;
  words[n++] = folder;
  status = run_python((char *const *)words);
  if (status == 0)
    return CLARKE_OK;
  return clarke_fail(err, CLARKE_EINPUT, "--like %s: `%s -m clarke.like` recorded no step of %s%s. It needs the Python packages clarke and "
                     "torch; the environment variable CLARKE_PYTHON names the Python that has them", c->like, words[0], c->ask.model_path,
                     status == 2 ? ", and says why above" : status < 0 ? ": it could not be run, or was ended" : ": it failed, as it says above");
}

clarke_status
clarke_audit_like_record(clarke_audit_command *c, clarke_audit_like *at, clarke_error *err)
{
  const char *above = getenv("TMPDIR");
  clarke_status status;

  if (c->keep == NULL) {
    snprintf(at->above, sizeof at->above - 16, "%s/clarke-XXXXXX", above != NULL && *above != '\0' ? above : "/tmp");
    if (mkdtemp(at->above) == NULL) {
      status = clarke_fail(err, CLARKE_EINPUT, "%s: no folder can be made there: %s", at->above, strerror(errno));
      at->above[0] = '\0';
      return status;
    }
    snprintf(at->run, sizeof at->run, "%s/run", at->above);
  }
  c->run = c->keep != NULL ? c->keep : at->run;
  status = record(c, c->run, err);
  c->ask.model_path = c->run;
  c->ask.batch_path = c->ask.loss = NULL;
  return status;
}

static void
remove_files(const char *folder)
{
  DIR *d = opendir(folder);
  const struct dirent *entry;

  if (d == NULL)
    return;
  while ((entry = readdir(d)) != NULL)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      unlinkat(dirfd(d), entry->d_name, 0);
  closedir(d);
  rmdir(folder);
}

void
clarke_audit_like_leave(const clarke_audit_like *at)
{
  if (at->above[0] == '\0')
    return;
  remove_files(at->run);
  remove_files(at->above);
}
