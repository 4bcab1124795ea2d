/* Memory. */
#include "check/base/allocate.h"
#include "check/base/limit.h"

#include <stdlib.h>
#include <string.h>

void *
allocate(size_t n, size_t size)
{
  void *p = calloc(n > 0 ? n : 1, size);
  if (p == NULL)
    leave_past(LIMIT_MEMORY, "out of memory");
  return p;
}

void *
grow(void *array, size_t n, size_t size)
{
  if ((n & (n - 1)) != 0)
    return array;
  char *larger = allocate(n == 0 ? 1 : 2 * n, size);
  if (n > 0)
    memcpy(larger, array, n * size);
  free(array);
  return larger;
}

char *
copy_text(const void *s, size_t n)
{
  char *copy = allocate(n + 1, 1);
  expect(n == 0 || memchr(s, 0, n) == NULL, "a name holds a zero byte");
  return n > 0 ? memcpy(copy, s, n) : copy;
}
