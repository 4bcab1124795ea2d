/* Files from strangers. Each reader of this room reads a file wholly or refuses it with a message that says what is wrong and
 * where. Nothing in a file is trusted (sizes, shapes, offsets, nesting), memory stays proportional to the file, and every
 * *_parse is a fuzz target. Its `file` is the name used in messages. Outputs must be initialized, and are owned (and cleared)
 * by the caller. */
#ifndef CLARKE_FORMAT_FILE_H
#define CLARKE_FORMAT_FILE_H

#include "base/status.h"

/* A whole file in memory, with its SHA-256. */
typedef struct {
  unsigned char *data;
  size_t size;
  char sha256[65]; /* lower-case hexadecimal */
} clarke_file;

/* One that the user names: a pipe is read to its end, and one that nobody writes to is waited for. */
clarke_status clarke_file_read(clarke_file *f, const char *path, clarke_error *err);
/* One that lies in a folder, or that a file names: a regular file alone. */
clarke_status clarke_file_read_found(clarke_file *f, const char *path, clarke_error *err);
/* The same of a file in the folder of `path`, and symbolic links are not followed. name: one without a folder. */
clarke_status clarke_file_read_beside(clarke_file *f, const char *path, const char *name, clarke_error *err);
void clarke_file_clear(clarke_file *f);

#endif
