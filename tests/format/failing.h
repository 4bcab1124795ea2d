/* Compiled into the readers (-include) for test_memory.c: their allocations go through functions
 * that fail on demand. */
#ifndef CLARKE_TESTS_FORMAT_FAILING_H
#define CLARKE_TESTS_FORMAT_FAILING_H

#include <stdlib.h>
#include <string.h>

void *failing_malloc(size_t size);
void *failing_calloc(size_t n, size_t size);
void *failing_realloc(void *p, size_t size);
char *failing_strdup(const char *s);
char *failing_strndup(const char *s, size_t n);

#define malloc failing_malloc
#define calloc failing_calloc
#define realloc failing_realloc
#define strdup failing_strdup
#define strndup failing_strndup

#endif
