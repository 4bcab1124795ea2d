/* Files of cases, a folder of the test's own, and the checker's word. */
#ifndef CLARKE_TESTS_SESSION_SHARED_H
#define CLARKE_TESTS_SESSION_SHARED_H

#include "../check/apart.h"
#include "../ok.h"

#include "format/file.h"

#include <gmp.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAILS(call, words)                                               \
  do {                                                                   \
    ck_assert_int_eq(call, CLARKE_EINPUT);                               \
    if (strstr(error.text, words) == NULL)                               \
      ck_abort_msg("%s: \"%s\" has not \"%s\"", #call, error.text, words); \
  } while (0)

/* A file's path in /tmp, the process's own; the next call with another name leaves it. */
static inline const char *
own_path(char path[128], const char *name)
{
  snprintf(path, 128, "/tmp/clarke-session-%ld-%s", (long)getpid(), name);
  return path;
}

static inline void
put_file(const char *path, const char *text)
{
  FILE *out = fopen(path, "w");

  ck_assert_ptr_nonnull(out);
  fputs(text, out);
  fclose(out);
}

/* The checker's exit status: 0 VERIFIED, 1 REFUTED. */
static inline int
checked(const char *proof, const char *folder)
{
  char said[512];

  return check_apart(proof, folder, 1, said, sizeof said);
}

static inline const char *
text_in(const json_t *j, const char *key)
{
  const char *text = json_string_value(json_object_get(j, key));

  return text != NULL ? text : "none";
}

static inline long
count_in(const json_t *j, const char *key)
{
  return (long)json_integer_value(json_object_get(j, key));
}

/* The number of a list in a list. */
static inline const char *
text_at(const json_t *j, const char *key, size_t row, size_t column)
{
  const char *text = json_string_value(json_array_get(json_array_get(json_object_get(j, key), row), column));

  return text != NULL ? text : "none";
}

static inline mpq_t *
numbers(size_t n, const int *value)
{
  mpq_t *q = malloc((n + 1) * sizeof *q);

  for (size_t i = 0; i < n; i++) {
    mpq_init(q[i]);
    mpq_set_si(q[i], value[i], 1);
  }
  return q;
}

#endif
