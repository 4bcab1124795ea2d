/* Files from strangers. Each reader of this room reads a file wholly or refuses it with a message that says what is wrong and
 * where. Nothing in a file is trusted (sizes, shapes, offsets, nesting), memory stays proportional to the file, and every
 * *_parse is a fuzz target. Its `file` is the name used in messages. Outputs must be initialized, and are owned (and cleared)
 * by the caller. */
#ifndef CLARKE_FORMAT_FILE_H
#define CLARKE_FORMAT_FILE_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* A whole file in memory. */
typedef struct {
  unsigned char *data;
  size_t size;
  char sha256[65]; /* of data, in lower-case hexadecimal; empty before it is hashed */
  bool mapped;     /* data is the file itself, which nobody may write to, */
  int64_t changed[2]; /* and when somebody last did, by the file's own ctime: seconds, and their 10^-9 parts. No clock is asked */
} clarke_file;

/* One that the user names, with its SHA-256: a pipe is read to its end, and one that nobody writes to is waited for. */
clarke_status clarke_file_read(clarke_file *f, const char *path, clarke_error *err);
/* One that lies in a folder: a regular file alone. */
clarke_status clarke_file_read_found(clarke_file *f, const char *path, clarke_error *err);
/* One that a file names: symbolic links are not followed. Its bytes alone: a long file is read several times faster.
 * clarke_file_hash hashes what was read. */
clarke_status clarke_file_read_bytes(clarke_file *f, const char *path, clarke_error *err);
clarke_status clarke_file_hash(clarke_file *f, const char *path, clarke_error *err);
/* The same, not copied, where it can be mapped. What others write to the file later on is seen: what is found of a byte does not
 * hold of it when it is read again. A byte that they cut off raises SIGBUS where it is read. So what was found is worth nothing
 * unless the file is, behind all, as it was: an error says that it is not. Of what was copied there is no question. */
clarke_status clarke_file_map(clarke_file *f, const char *path, clarke_error *err);
clarke_status clarke_file_stayed(const clarke_file *f, const char *path, clarke_error *err);
/* One in the folder of `path`, with its SHA-256: symbolic links are not followed. name: one without a folder. */
clarke_status clarke_file_read_beside(clarke_file *f, const char *path, const char *name, clarke_error *err);
void clarke_file_clear(clarke_file *f);

/* The name and digest of a file that was read; name is NULL when there was none. */
typedef struct {
  char *name, sha256[65];
} clarke_named_file;
/* Sets the base name of path, a copy, and the file's SHA-256. */
clarke_status clarke_named_file_set(clarke_named_file *f, const char *path, const clarke_file *file, clarke_error *err);

#endif
