#include "base/verify.h"

#include <stdio.h>
#include <stdlib.h>

void
clarke_assertion_failed(const char *condition, const char *file, int line)
{
  fprintf(stderr, "clarke: %s:%d: an invariant is broken: %s\nThis is an error of clarke's own.\n", file, line,
          condition);
  abort();
}
