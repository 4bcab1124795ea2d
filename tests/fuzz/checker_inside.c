#define _GNU_SOURCE /* fopencookie */
#include <stdio.h> /* before gmp.h */

#include "checker.h"

#include <fcntl.h>
#include <gmp.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_FILES 64
#define MOST_SAID ((size_t)1 << 24)

/* --- memory: all blocks are in a ring, which ends with the run --- */

typedef struct block {
  struct block *before, *after;
  size_t size, unused; /* 32 bytes: what follows is aligned */
} block;

static block ring = {&ring, &ring, 0, 0};

static void *
insert(block *b, size_t size)
{
  if (b == NULL)
    return NULL;
  b->size = size;
  b->before = &ring;
  b->after = ring.after;
  b->after->before = b;
  ring.after = b;
  return b + 1;
}

void *inside_calloc(size_t n, size_t size);
void *inside_realloc(void *p, size_t size);
void inside_free(void *p);
int inside_open(const char *path, int flags);
FILE *inside_stream(char **text, size_t *size);
_Noreturn void inside_exit(int status);
FILE *inside_output;

void *
inside_calloc(size_t n, size_t size)
{
  if (size != 0 && n > ((size_t)1 << 40) / size)
    return NULL;
  return insert(calloc(1, sizeof(block) + n * size), n * size);
}

void
inside_free(void *p)
{
  block *b;

  if (p == NULL)
    return;
  b = (block *)p - 1;
  b->before->after = b->after;
  b->after->before = b->before;
  free(b);
}

void *
inside_realloc(void *p, size_t size)
{
  void *larger = inside_calloc(1, size);
  size_t had = p != NULL ? ((block *)p - 1)->size : 0;

  if (larger == NULL)
    return NULL;
  if (had != 0)
    memcpy(larger, p, had < size ? had : size);
  inside_free(p);
  return larger;
}

static void *
number_calloc(size_t size)
{
  return inside_calloc(1, size);
}

static void *
number_realloc(void *p, size_t had, size_t size)
{
  (void)had;
  return inside_realloc(p, size);
}

static void
number_free(void *p, size_t size)
{
  (void)size;
  inside_free(p);
}

/* --- files and output --- */

static int opened[MOST_FILES], n_opened;

int
inside_open(const char *path, int flags)
{
  int fd = n_opened < MOST_FILES ? open(path, flags) : -1;

  if (fd >= 0)
    opened[n_opened++] = fd;
  return fd;
}

static char *said;
static size_t n_said, room;

static ssize_t
keep(void *cookie, const char *data, size_t n)
{
  (void)cookie;
  if (n_said + n + 1 > room) {
    room = 2 * (n_said + n + 1);
    said = realloc(said, room);
  }
  if (said == NULL || n_said + n > MOST_SAID)
    return (ssize_t)n;
  memcpy(said + n_said, data, n);
  n_said += n;
  said[n_said] = '\0';
  return (ssize_t)n;
}

static ssize_t
drop(void *cookie, const char *data, size_t n)
{
  (void)cookie;
  (void)data;
  return (ssize_t)n;
}

FILE *
inside_stream(char **text, size_t *size)
{
  static char nothing[] = "";
  static FILE *stream;

  *text = nothing;
  *size = 0;
  if (stream == NULL)
    stream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = drop});
  return stream;
}

/* --- a run --- */

extern char __start_checker_bss[], __stop_checker_bss[], __start_checker_data[], __stop_checker_data[];
static jmp_buf begun;
static char *first_data;

_Noreturn void
inside_exit(int status)
{
  longjmp(begun, 1 + status);
}

/* Byte by byte: between variables there are bytes that the sanitizer's memcpy may not touch. */
__attribute__((no_sanitize("address", "undefined"))) static void
copy_bytes(volatile char *to, const volatile char *from, size_t n)
{
  for (size_t i = 0; i < n; i++)
    to[i] = from != NULL ? from[i] : 0;
}

static void
begin(void)
{
  const size_t n = (size_t)(__stop_checker_data - __start_checker_data);

  if (inside_output == NULL)
    inside_output = fopencookie(NULL, "w", (cookie_io_functions_t){.write = keep});
  if (first_data == NULL) {
    first_data = malloc(n);
    copy_bytes(first_data, __start_checker_data, n);
  }
  copy_bytes(__start_checker_data, first_data, n);
  copy_bytes(__start_checker_bss, NULL, (size_t)(__stop_checker_bss - __start_checker_bss));
  n_said = 0;
  keep(NULL, "", 0);
  mp_set_memory_functions(number_calloc, number_realloc, number_free);
}

static void
end(void)
{
  fflush(inside_output);
  mp_set_memory_functions(NULL, NULL, NULL);
  while (ring.after != &ring)
    inside_free(ring.after + 1);
  while (n_opened > 0)
    close(opened[--n_opened]); /* once more, where the checker did */
}

checker_answer
checker_run(void (*work)(const void *what), const void *what)
{
  checker_answer answer = {0, NULL};
  int left;

  begin();
  left = setjmp(begun);
  if (left == 0)
    work(what);
  end();
  answer.status = left == 0 ? 0 : left - 1;
  answer.said = said;
  return answer;
}
