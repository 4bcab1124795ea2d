#include "failing.h"

#include <stdbool.h>
#include <stdint.h>

/* The true ones, for what follows. */
#undef malloc
#undef calloc
#undef realloc
#undef strdup
#undef strndup

size_t countdown = SIZE_MAX;

static bool
fails(void)
{
  return countdown != SIZE_MAX && countdown-- == 0;
}

void *
failing_malloc(size_t size)
{
  return fails() ? NULL : malloc(size);
}

/* Nothing asked for, nothing to fail. */
void *
failing_calloc(size_t n, size_t size)
{
  return n != 0 && fails() ? NULL : calloc(n, size);
}

void *
failing_realloc(void *p, size_t size)
{
  return fails() ? NULL : realloc(p, size);
}

char *
failing_strdup(const char *s)
{
  return fails() ? NULL : strdup(s);
}

char *
failing_strndup(const char *s, size_t n)
{
  return fails() ? NULL : strndup(s, n);
}
