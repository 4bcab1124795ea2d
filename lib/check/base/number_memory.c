/* Blocks of GMP's numbers (number_memory.h). Each is a block of malloc's, so that it does not matter which thread frees it, or whether
 * free() does. Size k has room for 16 k + 8 bytes, which is what malloc rounds to itself. */
#include "check/base/number_memory.h"
#include "check/base/limit.h"

#include <gmp.h>
#include <stdlib.h>
#include <string.h>

#define SIZES 17 /* up to 264 bytes are kept */
#define MOST_KEPT ((size_t)4 << 20)

#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined __SANITIZE_ADDRESS__ || __has_feature(address_sanitizer)
#define KEEPS 0 /* so that what is used after it is freed is seen */
#else
#define KEEPS 1
#endif

typedef struct block {
  struct block *next;
} block;

static _Thread_local struct {
  block *first[SIZES];
  size_t bytes; /* of all */
} kept;

static size_t
size_class(size_t size)
{
  return (size + 7) / 16;
}

static size_t
room(size_t class)
{
  return 16 * class + 8;
}

static void *
not_null(void *p)
{
  if (p == NULL)
    leave_past(LIMIT_MEMORY, "out of memory");
  return p;
}

static void *
allocate_number(size_t size)
{
  size_t class = size_class(size);
  if (class < SIZES && kept.first[class] != NULL) {
    block *b = kept.first[class];
    kept.first[class] = b->next;
    kept.bytes -= room(class);
    return b;
  }
  return not_null(malloc(room(class)));
}

static void
free_number(void *p, size_t size)
{
  size_t class = size_class(size);
  if (!KEEPS || class >= SIZES || kept.bytes >= MOST_KEPT) {
    free(p);
    return;
  }
  block *b = p;
  b->next = kept.first[class];
  kept.first[class] = b;
  kept.bytes += room(class);
}

/* GMP says what size a block has, which it asked for. */
static void *
reallocate_number(void *old, size_t before, size_t size)
{
  if (size_class(before) == size_class(size))
    return old;
  if (size_class(before) >= SIZES && size_class(size) >= SIZES)
    return not_null(realloc(old, room(size_class(size))));
  void *p = allocate_number(size);
  memcpy(p, old, before < size ? before : size);
  free_number(old, before);
  return p;
}

void
number_memory_begin(void)
{
  mp_set_memory_functions(allocate_number, reallocate_number, free_number);
}

void
number_memory_end(void)
{
  for (size_t class = 0; class < SIZES; class ++)
    while (kept.first[class] != NULL) {
      block *b = kept.first[class];
      kept.first[class] = b->next;
      free(b);
    }
  kept.bytes = 0;
}
