/* Failure. */
#include "check/base/session.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

size_t session_line;
_Thread_local unsigned long session_bits = 64;
size_t session_threads = 1;

void
session_set_line(size_t line)
{
  session_line = line;
}

void
session_set_bits(unsigned long bits)
{
  session_bits = bits;
}

void
session_set_threads(size_t n)
{
  session_threads = n < 1 ? 1 : n < MAX_THREADS ? n : MAX_THREADS;
}

char
printable(char c)
{
  return c < ' ' || c > '~' ? '?' : c;
}

bool
output_arrived(void)
{
  bool failed = ferror(stdout) != 0; /* what did not fit earlier: flushing the rest may go well */
  if (fflush(stdout) == 0 && !failed)
    return true;
  fputs("clarke-check: standard output cannot be written\n", stderr);
  return false;
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
  _exit(output_arrived() && result != REFUSED ? FAILED : REFUSED);
}
