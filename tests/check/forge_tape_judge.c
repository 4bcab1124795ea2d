/* The kernel ends its process when something fails, and frees little. Here the linker puts other functions in the place of those: see
 * --wrap in meson.build. Memory is one block, taken from its beginning for each judgement. */
#include "forge_tape_judge.h"
#include "check/base/lines.h"
#include "check/base/sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void __wrap_free(void *p);
_Noreturn void __wrap_leave(outcome result, const char *format, ...) __attribute__((format(printf, 2, 3)));

enum { BLOCK = 1 << 26 };

static struct {
  char *block;
  size_t used, kept; /* kept: what is said of work that failed a test */
  bool open, read; /* read: lines were */
  jmp_buf back;
  outcome result;
  char why[512];
} session;

/* ---- Memory */

static bool
is_ours(const void *p)
{
  return session.block != NULL && (const char *)p >= session.block && (const char *)p < session.block + BLOCK;
}

void *
__wrap_malloc(size_t n)
{
  const size_t whole = (n + 31) / 16 * 16;
  char *p = session.block + session.used;

  if (!session.open || session.used + whole > BLOCK)
    return __real_malloc(n);
  session.used += whole;
  memset(p, 0, 16);
  memset(p + whole - 16, 0, 16); /* what is behind its end */
  memcpy(p, &n, sizeof n);
  return p + 16;
}

void *
__wrap_calloc(size_t n, size_t size)
{
  void *p = session.open ? __wrap_malloc(n * size) : __real_calloc(n, size);

  return p != NULL ? memset(p, 0, n * size) : NULL;
}

void *
__wrap_realloc(void *p, size_t n)
{
  size_t before = 0;
  void *larger;

  if (!is_ours(p) && (p != NULL || !session.open))
    return __real_realloc(p, n);
  larger = __wrap_malloc(n);
  if (p != NULL) {
    memcpy(&before, (char *)p - 16, sizeof before);
    memcpy(larger, p, before < n ? before : n);
  }
  return larger;
}

void
__wrap_free(void *p)
{
  if (!is_ours(p))
    __real_free(p);
}

static void *
reallocate_number(void *p, size_t before, size_t n)
{
  (void)before;
  return __wrap_realloc(p, n);
}

static void
free_number(void *p, size_t n)
{
  (void)n;
  __wrap_free(p);
}

/* ---- Judgements */

_Noreturn void
__wrap_leave(outcome result, const char *format, ...)
{
  va_list args;

  va_start(args, format);
  vsnprintf(session.why, sizeof session.why, format, args);
  va_end(args);
  session.result = result;
  longjmp(session.back, 1);
}

static void
begin(void)
{
  if (session.block == NULL) {
    session.block = __real_malloc(BLOCK);
    account = fopen("/dev/null", "w");
    mp_set_memory_functions(__wrap_malloc, reallocate_number, free_number);
  }
  if (session.open)
    session.kept = session.used;
  session.used = session.kept;
  session.result = VERIFIED;
  *session.why = '\0';
  session_set_line(0);
}

static void
attempt(void (*work)(void *of), void *of)
{
  if (setjmp(session.back) == 0)
    work(of);
}

/* What is left of the line at which a proof failed, be it taken apart or not: its last character is made the end of a word, and read. */
static void
drop_line(void)
{
  while (more_words())
    next_word();
  do
    unread_word("");
  while (!more_words());
  *(char *)next_word() = '\0';
  do
    unread_word("");
  while (!more_words());
  next_word();
}

outcome
judge(void (*work)(void *of), void *of, const char **why)
{
  for (unsigned long bits = 64; bits <= MAX_BITS; bits *= 2) {
    begin();
    session_set_bits(bits);
    session.open = true;
    attempt(work, of);
    if (session.read)
      drop_line();
    session.open = false;
    if (session.result != UNDECIDED)
      break;
  }
  *why = session.why;
  return session.result == UNDECIDED ? FAILED : session.result;
}

/* A line of its own stands first, and is read here: so there is one to drop when work fails before it reads any. */
void
judge_lines(const char *lines)
{
  static const char own[] = "judged\n";
  const size_t before = strlen(own), n = before + strlen(lines);
  char *text = malloc(n + 80), hex[65];

  memcpy(text, own, before);
  memcpy(text + before, lines, n - before);
  sha256((bytes){(unsigned char *)text, n}, hex);
  sprintf(text + n, "end %s\n", hex);
  lines_begin((bytes){(unsigned char *)text, strlen(text)});
  session.read = true;
  next_line("judged");
  session_set_line(0);
}
