#include "base/limit.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* most: what the code can do, whatever the memory. growth: for each byte of input beyond CLARKE_LIMIT_BYTES. */
static const struct {
  const char *name;
  size_t standard, growth, most;
} limits[CLARKE_N_LIMITS] = {
  [CLARKE_LIMIT_FILE] = { "file", (size_t)1 << 33, 0, (size_t)1 << 40 },
  [CLARKE_LIMIT_UNPACKED] = { "unpacked", (size_t)1 << 26, 64, (size_t)1 << 40 },
  [CLARKE_LIMIT_PICKLE] = { "pickle", (size_t)1 << 22, 4, (size_t)1 << 30 },
  [CLARKE_LIMIT_NODES] = { "nodes", 2048, 0, 16384 },
  [CLARKE_LIMIT_ENTRIES] = { "entries", (size_t)1 << 24, 1024, (size_t)1 << 36 },
  [CLARKE_LIMIT_PRODUCTS] = { "products", (size_t)1 << 28, (size_t)1 << 13, (size_t)1 << 50 },
  [CLARKE_LIMIT_TEXT] = { "text", (size_t)1 << 24, 0, (size_t)1 << 30 },
  [CLARKE_LIMIT_OPERATIONS] = { "operations", (size_t)1 << 22, 0, (size_t)1 << 30 },
  [CLARKE_LIMIT_INSTRUCTIONS] = { "instructions", (size_t)1 << 21, 0, (size_t)1 << 28 },
  [CLARKE_LIMIT_VECTORS] = { "vectors", (size_t)1 << 24, 0, (size_t)1 << 36 },
  [CLARKE_LIMIT_WORDS] = { "words", (size_t)1 << 24, 0, (size_t)1 << 40 },
  [CLARKE_LIMIT_BITS] = { "bits", (size_t)1 << 17, 0, (size_t)1 << 30 },
  [CLARKE_LIMIT_TIES] = { "ties", 4096, 0, (size_t)1 << 20 },
  [CLARKE_LIMIT_DERIVATIVES] = { "derivatives", (size_t)1 << 21, 0, (size_t)1 << 36 },
  [CLARKE_LIMIT_REGIONS] = { "regions", (size_t)1 << 40, 0, (size_t)1 << 60 },
  [CLARKE_LIMIT_ROWS] = { "rows", 100000, 0, (size_t)1 << 40 },
  [CLARKE_LIMIT_TREE] = { "tree-nodes", 8192, 0, (size_t)1 << 24 },
  [CLARKE_LIMIT_WORK] = { "work", 2000000000, (size_t)1 << 14, (size_t)1 << 60 },
  [CLARKE_LIMIT_MEMORY] = { "memory", (size_t)7 << 27, 1024, (size_t)1 << 60 },
  [CLARKE_LIMIT_LISTED] = { "listed", 100000, 0, (size_t)1 << 40 },
};

static size_t chosen[CLARKE_N_LIMITS]; /* 0: none was */
static atomic_size_t input;

size_t
clarke_limit_of(clarke_limit which)
{
  const size_t read = atomic_load_explicit(&input, memory_order_relaxed);
  const size_t more = read > CLARKE_LIMIT_BYTES ? read - CLARKE_LIMIT_BYTES : 0;
  size_t grown;

  if (chosen[which] != 0)
    return chosen[which];
  if (__builtin_mul_overflow(limits[which].growth, more, &grown)
      || __builtin_add_overflow(grown, limits[which].standard, &grown) || grown > limits[which].most)
    return limits[which].most;
  return grown;
}

size_t
clarke_limit_given(clarke_limit which)
{
  return chosen[which];
}

void
clarke_limit_input(size_t bytes)
{
  atomic_fetch_add_explicit(&input, bytes, memory_order_relaxed);
}

static clarke_status
unknown(const char *setting, clarke_error *err)
{
  char names[256] = "";

  for (size_t i = 0; i < CLARKE_N_LIMITS; i++) {
    strncat(names, " ", sizeof names - strlen(names) - 1);
    strncat(names, limits[i].name, sizeof names - strlen(names) - 1);
  }
  return clarke_fail(err, CLARKE_EINPUT, "--limit %.80s: expected NAME=NUMBER, NAME one of%s", setting, names);
}

clarke_status
clarke_limit_set(const char *setting, clarke_error *err)
{
  const char *equals = strchr(setting, '=');
  const size_t n = equals != NULL ? (size_t)(equals - setting) : 0;
  unsigned long long value;
  size_t which = 0;
  char *end;

  while (which < CLARKE_N_LIMITS && (n != strlen(limits[which].name) || memcmp(setting, limits[which].name, n) != 0))
    which++;
  if (which == CLARKE_N_LIMITS || equals[1] < '0' || equals[1] > '9')
    return unknown(setting, err);
  errno = 0;
  value = strtoull(equals + 1, &end, 10);
  if (*end != '\0')
    return unknown(setting, err);
  if (errno != 0 || value == 0 || value > limits[which].most)
    return clarke_fail(err, CLARKE_EINPUT, "--limit %.80s: a number from 1 to %zu is expected", setting,
                       limits[which].most);
  chosen[which] = (size_t)value;
  return CLARKE_OK;
}

clarke_status
clarke_limit_fail(clarke_error *err, clarke_limit which, const char *format, ...)
{
  char what[512];
  va_list args;

  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  return clarke_fail(err, CLARKE_ENOMEM, "%s; the limit is %zu (--limit %s=N raises it)", what, clarke_limit_of(which),
                     limits[which].name);
}
