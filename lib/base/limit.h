/* Limits on what an input may ask for (docs/formats.md): each has a name, a default, and an option of the programs that
 * changes it. Some grow with the bytes that were read: what a file of a megabyte must not claim a large one may. */
#ifndef CLARKE_BASE_LIMIT_H
#define CLARKE_BASE_LIMIT_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum {
  CLARKE_LIMIT_FILE,         /* bytes of a file */
  CLARKE_LIMIT_UNPACKED,     /* bytes of an archive's members, deflated ones inflated */
  CLARKE_LIMIT_PICKLE,       /* bytes of a .pt file's pickle */
  CLARKE_LIMIT_NODES,        /* of a network */
  CLARKE_LIMIT_ENTRIES,      /* of a network's activations, samples counted, and its index maps */
  CLARKE_LIMIT_PRODUCTS,     /* of an entry and a weight in one pass over all samples */
  CLARKE_LIMIT_TEXT,         /* bytes of a program */
  CLARKE_LIMIT_OPERATIONS,   /* names, numbers and operations in its text */
  CLARKE_LIMIT_INSTRUCTIONS, /* of a program; of arguments of all; of constants */
  CLARKE_LIMIT_VECTORS,      /* entries of all vectors that a program's expressions make */
  CLARKE_LIMIT_WORDS,        /* of 64 bits, of a program's constants that have more than two */
  CLARKE_LIMIT_BITS,         /* of a number in a program: its numerator, its denominator */
  CLARKE_LIMIT_TIES,         /* entries tied in an order statistic */
  CLARKE_LIMIT_DERIVATIVES,  /* of a program: outputs times entries of wrt */
  CLARKE_LIMIT_ROWS,         /* of a table over a sweep */
  CLARKE_LIMIT_REGIONS,      /* of an arrangement, or a function, that are looked for */
  CLARKE_LIMIT_TREE,         /* nodes of a tree of sides, before an audit gives up */
  CLARKE_LIMIT_WORK,         /* operations on numbers, of a command in all (base/stop.h) */
  CLARKE_LIMIT_MEMORY,       /* bytes of the process, where a command is given no --memory */
  CLARKE_LIMIT_LISTED,       /* touched kinks, or nearest ones of a layer, in a list */
  CLARKE_N_LIMITS
} clarke_limit;

/* The limit for the bytes that were read so far. */
size_t clarke_limit_of(clarke_limit which);

/* What clarke_limit_set chose; 0: nothing. */
size_t clarke_limit_given(clarke_limit which);

/* So many bytes of input are to be read: more may be claimed. Any thread. */
void clarke_limit_input(size_t bytes);

/* Sets a limit from "NAME=NUMBER", whatever is read. Refuses an unknown name, and a number that is 0 or beyond what is
 * supported. Before any thread begins. */
clarke_status clarke_limit_set(const char *setting, clarke_error *err);

/* CLARKE_ENOMEM: what was found, past the limit, with the option that raises it. */
clarke_status clarke_limit_fail(clarke_error *err, clarke_limit which, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Some limits grow with each byte beyond the first so many. */
#define CLARKE_LIMIT_BYTES ((size_t)1 << 20)

#endif
