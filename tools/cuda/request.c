#include "request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
fail(const char *option, const char *text, const char *expected)
{
  fprintf(stderr, "mma: %s %s: expected %s\nusage: mma --out DIR [--count N] [--seed S] [--only SET]\n", option, text, expected);
  return -1;
}

/* Digits alone, and no more than fit. */
static int
read_number(uint64_t *number, const char *text, uint64_t least, uint64_t most)
{
  char *end;

  errno = 0;
  *number = strtoull(text, &end, 10);
  return *text >= '0' && *text <= '9' && *end == '\0' && errno == 0 && *number >= least && *number <= most ? 0 : -1;
}

static int
check_set(const char *name, const char *const *sets, size_t n_sets)
{
  char list[512] = "a set of instructions:";
  size_t used = strlen(list);

  for (size_t i = 0; i < n_sets; i++) {
    size_t before = 0;

    if (strcmp(name, sets[i]) == 0)
      return 0;
    while (before < i && strcmp(sets[before], sets[i]) != 0)
      before++;
    if (before == i && used < sizeof list)
      used += (size_t)snprintf(list + used, sizeof list - used, " %s", sets[i]);
  }
  return fail("--only", name, list);
}

static int
read_option(mma_request *r, const char *option, const char *text, const char *const *sets, size_t n_sets)
{
  uint64_t number = 0;

  if (strcmp(option, "--out") == 0)
    r->out = text;
  else if (strcmp(option, "--only") == 0) {
    r->only = text;
    return check_set(text, sets, n_sets);
  } else if (strcmp(option, "--count") == 0) {
    if (read_number(&number, text, 1, REQUEST_MOST) != 0)
      return fail(option, text, "a number from 1 to 1000000");
    r->n = (size_t)number;
  } else if (strcmp(option, "--seed") == 0) {
    if (read_number(&r->seed, text, 0, UINT64_MAX) != 0)
      return fail(option, text, "a number below 2^64");
  } else
    return fail(option, text, "one of --out, --count, --seed, --only");
  return 0;
}

int
mma_request_read(mma_request *r, int argc, char *const *argv, const char *const *sets, size_t n_sets)
{
  *r = (mma_request){.n = 5000, .seed = 1};
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc)
      return fail(argv[i], "", "something behind it");
    if (read_option(r, argv[i], argv[i + 1], sets, n_sets) != 0)
      return -1;
  }
  return r->out != NULL ? 0 : fail("--out", "", "a folder to write");
}
