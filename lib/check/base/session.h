/* The one way to fail: leave() says why and ends the process. So no function of the checker returns an error, and a
 * function that returns has done what it says. Beside it, what holds for the whole run. */
#ifndef CLARKE_KERNEL_SESSION_H
#define CLARKE_KERNEL_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_BITS 4096
#define MAX_THREADS 64
#define NONE ((size_t)-1)

/* Exit statuses. FAILED: the proof is wrong, said on standard output; REFUSED: an input cannot be
 * read, on standard error; UNDECIDED: intervals of more bits might decide it; at MAX_BITS it is
 * FAILED. */
typedef enum { VERIFIED, FAILED, REFUSED, UNDECIDED } outcome;

/* Ends the process with that outcome, and says why. */
_Noreturn void leave(outcome result, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What must hold of the proof; what must, and what must not, of an input. */
#define require(condition, ...)                                                                                        \
  do {                                                                                                                 \
    if (!(condition))                                                                                                  \
      leave(FAILED, __VA_ARGS__);                                                                                      \
  } while (0)
#define expect(condition, ...)                                                                                         \
  do {                                                                                                                 \
    if (!(condition))                                                                                                  \
      leave(REFUSED, __VA_ARGS__);                                                                                     \
  } while (0)
#define refuse_if(condition, ...) expect(!(condition), __VA_ARGS__)
/* What of another's text may go to a terminal: printable ASCII; '?' for the rest, be it a control character or one that turns
 * the direction of writing. */
char printable(char c);
bool output_arrived(void);                       /* all that was printed; false: says so on standard error */
extern size_t session_line;                      /* of the proof, for messages */
extern _Thread_local unsigned long session_bits; /* of intervals; other threads begin with the first one's */
extern size_t session_threads;                   /* at most MAX_THREADS */
void session_set_line(size_t line);
void session_set_bits(unsigned long bits);
void session_set_threads(size_t n); /* as many, or the next number that there can be */

#endif
