/* Commands in a folder of the test's own, and what they leave there. */
#ifndef CLARKE_TESTS_TOOLS_COMMAND_H
#define CLARKE_TESTS_TOOLS_COMMAND_H

#include "../network/models.h"

#include <dirent.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];

static inline void
make_folder(const char *of)
{
  snprintf(folder, sizeof folder, "/tmp/clarke-%s-XXXXXX", of);
  ck_assert_ptr_nonnull(mkdtemp(folder));
}

/* Standard output goes to `out`, errors to `err`. The exit status; -1: it was killed. */
static inline int __attribute__((format(printf, 1, 2)))
run(const char *format, ...)
{
  char command[2048], line[2400];
  va_list args;
  int status;

  va_start(args, format);
  vsnprintf(command, sizeof command, format, args);
  va_end(args);
  snprintf(line, sizeof line, "cd %s && { %s; } > out 2> err", folder, command);
  status = system(line);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline void
remove_folder(void)
{
  char line[128];

  snprintf(line, sizeof line, "rm -r %s", folder);
  ck_assert_int_eq(system(line), 0);
}

/* Prints files, when a test fails. */
static inline void
show(const char *names)
{
  char line[512];

  snprintf(line, sizeof line, "cd %s && cat %s", folder, names);
  ck_assert_int_ge(system(line), 0);
}

/* A file of the folder as a string, its bytes if *size is wanted; the caller frees it. */
static inline char *
contents_of(const char *name, size_t *size)
{
  const size_t most = 1 << 22;
  char path[512], *text = calloc(1, most);
  size_t n;
  FILE *f;

  snprintf(path, sizeof path, "%s/%s", folder, name);
  f = fopen(path, "rb");
  ck_assert_ptr_nonnull(f);
  n = fread(text, 1, most - 1, f);
  ck_assert_uint_lt(n, most - 1);
  fclose(f);
  if (size != NULL)
    *size = n;
  return text;
}

static inline char *
text_of(const char *name)
{
  return contents_of(name, NULL);
}

static inline void
file_says(const char *name, const char *pieces)
{
  char *text = text_of(name);

  says(text, pieces);
  free(text);
}

static inline bool
is_empty(const char *name)
{
  char *text = text_of(name);
  bool empty = *text == '\0';

  free(text);
  return empty;
}

static inline bool
exists(const char *name)
{
  char path[512];

  snprintf(path, sizeof path, "%s/%s", folder, name);
  return access(path, F_OK) == 0;
}

static inline size_t
files_in_folder(void)
{
  DIR *d = opendir(folder);
  size_t n = 0;

  ck_assert_ptr_nonnull(d);
  while (readdir(d) != NULL)
    n++;
  closedir(d);
  return n;
}

#endif
