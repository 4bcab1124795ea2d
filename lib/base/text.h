/* Text from a file: well-formed UTF-8 (RFC 3629) without control characters. Names that pass can
 * be printed, put in JSON and compared byte by byte; they hold no NUL. */
#ifndef CLARKE_BASE_TEXT_H
#define CLARKE_BASE_TEXT_H

#include "base/status.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Is it well-formed UTF-8 without control characters? */
bool clarke_text_valid(const void *bytes, size_t size);

/* *copy = the NUL-terminated text (malloc), or an error that says `what` is no text. */
clarke_status clarke_text_copy(char **copy, const void *bytes, size_t size, const char *what,
                               clarke_error *err);

/* A text (malloc) by a format, of which 1023 bytes are kept; NULL when out of memory. */
char *clarke_text_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *clarke_text_vprint(const char *format, va_list args);

/* Does the text end so? */
bool clarke_ends_with(const char *text, const char *ending);

/* The part of a path after its last slash. */
const char *clarke_base_name(const char *path);

#endif
