/* Failure, memory and files. */
#include "kernel.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

size_t session_line;
unsigned long session_bits = 64;
size_t session_threads = 1;

char
printable(char c)
{
  return c < ' ' || c > '~' ? '?' : c;
}

_Noreturn void
leave(outcome result, const char *format, ...)
{
  static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
  char why[1024];
  va_list args;
  pthread_mutex_lock(&once); /* of several threads one leaves, and all end with it */
  if (result == UNDECIDED && session_bits < MAX_BITS)
    _exit(UNDECIDED);
  va_start(args, format);
  vsnprintf(why, sizeof why, format, args);
  va_end(args);
  for (char *c = why; *c != '\0'; c++)
    *c = printable(*c);
  if (result == REFUSED && session_line == 0)
    fprintf(stderr, "clarke-check: cannot read: %s\n", why);
  else
    fprintf(result == REFUSED ? stderr : stdout, "%s line %zu: %s\n",
            result == REFUSED ? "clarke-check: cannot check" : "FAILED", session_line, why);
  fflush(NULL);
  _exit(result == REFUSED ? REFUSED : FAILED);
}

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

typedef struct {
  size_t n, next;
  void (*work)(void *what, size_t b);
  void *what;
} samples;

static void *
take_samples(void *of)
{
  samples *all = of;
  for (size_t b; (b = __atomic_fetch_add(&all->next, 1, __ATOMIC_RELAXED)) < all->n;)
    all->work(all->what, b);
  return NULL;
}

void
for_each_sample(size_t n, void (*work)(void *what, size_t b), void *what)
{
  samples all = {n, 0, work, what};
  pthread_t thread[MAX_THREADS];
  size_t others = 0;
  pthread_attr_t how;
  expect(pthread_attr_init(&how) == 0 && pthread_attr_setstacksize(&how, STACK_BYTES) == 0, "no threads");
  while (others + 1 < session_threads && others + 1 < n
         && pthread_create(&thread[others], &how, take_samples, &all) == 0)
    others++;
  pthread_attr_destroy(&how);
  take_samples(&all);
  while (others > 0)
    expect(pthread_join(thread[--others], NULL) == 0, "a thread was lost");
}

char *
copy_text(const void *s, size_t n)
{
  char *copy = allocate(n + 1, 1);
  expect(n == 0 || memchr(s, 0, n) == NULL, "a name holds a zero byte");
  return n > 0 ? memcpy(copy, s, n) : copy;
}

bytes
slice(bytes b, size_t from, size_t n)
{
  expect(from <= b.size && n <= b.size - from, "a file is cut off, or its parts are not inside");
  return (bytes){from > 0 ? b.data + from : b.data, n};
}

bytes
take(bytes *b, size_t n)
{
  bytes taken = slice(*b, 0, n);
  *b = slice(*b, n, b->size - n);
  return taken;
}

/* Well-formed: no surrogate, and no point in more bytes than it takes (Unicode, table 3-7). */
bool
is_text(bytes b)
{
  static const uint32_t least[] = {0x20, 0xa0, 0x800, 0x10000};
  while (b.size > 0) {
    uint32_t c = *take(&b, 1).data, more = c < 0xc0 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
    if (c > 0xf7 || (c >= 0x7f && c < 0xc0) || b.size < more)
      return false;
    c &= more > 0 ? 0x3fu >> more : 0x7f;
    for (uint32_t i = 0; i < more; i++) {
      uint32_t next = *take(&b, 1).data;
      if ((next & 0xc0) != 0x80)
        return false;
      c = c << 6 | (next & 0x3f);
    }
    if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
      return false;
  }
  return true;
}

/* A pipe may wait for ever and a device has no end: neither is read. */
bytes
read_file(const char *path)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat st;
  bytes b = {NULL, 0};
  expect(fd >= 0, "%s cannot be opened", path);
  expect(fstat(fd, &st) == 0 && S_ISREG(st.st_mode), "%s is no regular file", path);
  within(LIMIT_FILE, (size_t)st.st_size, "%s has %zu bytes", path, (size_t)st.st_size);
  limit_input((size_t)st.st_size);
  b.data = allocate((size_t)st.st_size + 1, 1); /* one more, to see that it ends there */
  for (ssize_t got = 1; got > 0; b.size += (size_t)got) {
    got = read(fd, b.data + b.size, (size_t)st.st_size + 1 - b.size);
    expect(got >= 0 && b.size + (size_t)got <= (size_t)st.st_size, "%s cannot be read, or changes", path);
  }
  close(fd);
  return b;
}
