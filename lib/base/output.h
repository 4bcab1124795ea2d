/* Output that is written whole or not at all, and remembers its first error.
 *
 * A stream here is an ordinary FILE. Nobody checks single writes: closing tells whether all of them succeeded. */
#ifndef CLARKE_BASE_OUTPUT_H
#define CLARKE_BASE_OUTPUT_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A text in memory. */
typedef struct {
  FILE *to; /* write here until it is closed */
  char *text; /* then: the text, NUL-terminated; clear frees it */
  size_t size; /* without the NUL */
  size_t room; /* private */
} clarke_text;

/* Makes t->to a stream that the text grows by. An error leaves *t zeroed. */
clarke_status clarke_text_open(clarke_text *t, clarke_error *err);
/* Ends the text; t->to must be open. Returns status when that is an error already, CLARKE_ENOMEM when a write failed. */
clarke_status clarke_text_close(clarke_text *t, clarke_status status, clarke_error *err);
/* Frees the text and zeroes *t, which may be zeroed, open or closed. */
void clarke_text_clear(clarke_text *t);

/* A file. A regular file, or a name that does not exist yet, gets all of what is written or keeps what it has: a new
 * file beside it takes the name when it is complete and on the disk. A symbolic link stays, and its target is so
 * replaced. Anything else (a device, a FIFO) is written through. */
typedef struct {
  FILE *to; /* write here until it is closed */
  char *target, *temporary; /* private; temporary is NULL when written through */
} clarke_output;

/* Fails, with the path in the message, when nothing can be created there. */
clarke_status clarke_output_open(clarke_output *o, const char *path, clarke_error *err);
/* Unless status is an error already: makes the output final. On any error the temporary file is removed. Closes and
 * zeroes *o. A message names the path given. */
clarke_status clarke_output_close(clarke_output *o, clarke_status status, const char *path, clarke_error *err);

/* Removes the temporary file of an output that is open, if there is one. Only for a process that ends at once, in
 * any thread: it allocates nothing. */
void clarke_output_abandon(void);

#endif
