/* Memory. What is allocated is never NULL; it is zeroed, and mostly kept to the process's end. */
#ifndef CLARKE_KERNEL_ALLOCATE_H
#define CLARKE_KERNEL_ALLOCATE_H

#include "check/base/session.h"

void *allocate(size_t n, size_t size);          /* zeroed */
void *grow(void *array, size_t n, size_t size); /* makes room for one more than n */
char *copy_text(const void *s, size_t n);       /* NUL-terminated; holds no other NUL */

#endif
