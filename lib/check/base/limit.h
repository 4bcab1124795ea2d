/* What an input may ask for. */
#ifndef CLARKE_KERNEL_LIMIT_H
#define CLARKE_KERNEL_LIMIT_H

#include "check/base/session.h"

typedef enum {
  LIMIT_FILE,     /* bytes of a file */
  LIMIT_MEMORY,   /* bytes */
  LIMIT_NODES,    /* of a network: values are asked for through as many calls as it has steps, four a node at most */
  LIMIT_ENTRIES,  /* of all activations, samples counted, and of tables */
  LIMIT_PRODUCTS, /* of an entry and a weight, in one pass over all samples */
  LIMIT_TEXT,     /* bytes of a program */
  LIMIT_INSTRUCTIONS, /* of a program; and arguments of all */
  LIMIT_VECTORS,      /* entries of all vectors that a program makes */
  LIMIT_WORDS,        /* of 64 bits, of its constants that have more than two */
  LIMIT_BITS,         /* of a number in a program: its numerator, its denominator */
  LIMIT_TIES,         /* entries tied in an order statistic */
  LIMIT_GRADIENTS,    /* entries of the gradients of all instructions */
  LIMIT_BRANCHES,     /* work on branches with equal comparands */
  LIMIT_UNRECORDED,   /* entries of steps that are computed, for nothing was recorded of them: in all */
  LIMIT_LINE,         /* bytes of a line of the proof */
  N_LIMITS
} quantity;
size_t limit_of(quantity which); /* for the files read so far */
/* Ends the process: what the text says is more than that limit, which it names. */
_Noreturn void leave_past(quantity which, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What must not be more than the limit. */
#define within(which, amount, ...)                                                                                     \
  do {                                                                                                                 \
    if ((amount) > limit_of(which))                                                                                    \
      leave_past(which, __VA_ARGS__);                                                                                  \
  } while (0)
bool limit_set(const char *setting); /* NAME=N; false when it is none */
const char *limit_name(size_t i);    /* NULL past the last */
void limit_input(size_t n);          /* n bytes more are read */
void limit_memory(void);             /* from now on, as LIMIT_MEMORY says, whatever is read */
void limit_require_stack(void);      /* ends the check where the first thread may have less than LEAST_STACK */
#define LEAST_STACK ((size_t)4 << 20)
#define STACK_BYTES ((size_t)16 << 20) /* of each other thread */

#endif
