/* What of others' texts (names of tensors, nodes and files, comments) may go to a terminal. */
#ifndef CLARKE_BASE_PRINTABLE_H
#define CLARKE_BASE_PRINTABLE_H

#include <stddef.h>

#define CLARKE_PRINTABLE_MOST 4 /* characters for a byte */

/* Writes the n bytes as printable ASCII, ends of lines and tabs; \xHH stands for each other byte: a control character, or
 * part of one that turns the direction of writing, or of no character. Returns how many characters, with no NUL after them;
 * there must be room for CLARKE_PRINTABLE_MOST n. */
size_t clarke_printable(char *to, const char *from, size_t n);

#endif
