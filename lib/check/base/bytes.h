/* Bytes of files. */
#ifndef CLARKE_KERNEL_BYTES_H
#define CLARKE_KERNEL_BYTES_H

#include "check/base/session.h"

typedef struct {
  unsigned char *data;
  size_t size;
} bytes;

bytes read_file(const char *path);                 /* all of a regular file; what cannot be read is refused */
bytes read_no_link(const char *path);              /* the same, where the path's last name is no symbolic link */
bytes slice(bytes b, size_t from, size_t n);       /* that part, which must be inside */
bytes take(bytes *b, size_t n);                    /* its first n, which it then no longer has */
uint64_t little(bytes b, size_t at, size_t width); /* that part, a number with its lowest byte first */
bool is_text(bytes b);                             /* UTF-8 without control characters */

#endif
