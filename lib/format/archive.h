/* ZIP archives from strangers, read from memory by libzip: what the readers of .npz and .pt files
 * share. Members are stored or deflated; the sizes that an archive reports are only believed where
 * its bytes bear them out; reading a member to its end checks its CRC. */
#ifndef CLARKE_FORMAT_ARCHIVE_H
#define CLARKE_FORMAT_ARCHIVE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <zip.h>

typedef struct {
  zip_t *zip;
  size_t size;                   /* of the archive */
  size_t n;                      /* members */
  zip_uint64_t packed, unpacked; /* what the members looked at hold */
  bool stored;                   /* are all of them stored uncompressed? */
} clarke_archive;

/* `what` is what the file should be: "an .npz archive". data must outlive the archive, which is to
 * be closed whether this fails or not. */
clarke_status clarke_archive_open(clarke_archive *a, const void *data, size_t size,
                                  const char *what, clarke_error *err);
void clarke_archive_close(clarke_archive *a);

/* *name = the member's name, checked to be text (malloc). */
clarke_status clarke_archive_name(char **name, const clarke_archive *a, size_t index,
                                  clarke_error *err);

/* *size = the member's unpacked size, once it is plausible and the members looked at so far hold no
 * more than the archive. Look at each member once. */
clarke_status clarke_archive_look(size_t *size, clarke_archive *a, size_t index,
                                  clarke_error *err);

/* A member's bytes in order: enter, read, and check_end where nothing may follow. */
clarke_status clarke_archive_enter(zip_file_t **f, const clarke_archive *a, size_t index,
                                   clarke_error *err);
clarke_status clarke_archive_bytes(zip_file_t *f, void *to, size_t n, clarke_error *err);
clarke_status clarke_archive_check_end(zip_file_t *f, clarke_error *err);

/* All n bytes of a member whose size is n. */
clarke_status clarke_archive_read(void *to, const clarke_archive *a, size_t index, size_t n,
                                  clarke_error *err);

#endif
