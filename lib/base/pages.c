#include "base/pages.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Below it no large page, of 2 MB, need lie in the array. */
#define LARGE ((size_t)4 << 20)

void
clarke_pages_wish(void *array, size_t bytes)
{
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = ((uintptr_t)array + page - 1) / page * page;

  if (array == NULL || bytes < LARGE)
    return;
#ifdef MADV_HUGEPAGE
  (void)madvise((void *)begin, (bytes - (begin - (uintptr_t)array)) / page * page, MADV_HUGEPAGE);
#endif
}
