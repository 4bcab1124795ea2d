/* ZIP archives read from memory (archive.h). */
#include "format/archive.h"
#include "base/limit.h"
#include "format/layout.h"
#include "base/text.h"

#include <string.h>

/* Deflate cannot do better: 2 bits for each run of 258 bytes. */
#define MAX_RATIO 1032

clarke_status
clarke_archive_open(clarke_archive *a, const void *data, size_t size, const char *what,
                    clarke_error *err)
{
  static const unsigned char member[] = "PK\3\4", none[] = "PK\5\6";
  zip_error_t why;
  zip_source_t *source;

  *a = (clarke_archive){ NULL, size, 0, 0, 0, true };
  if (size < 4 || (memcmp(data, member, 4) != 0 && memcmp(data, none, 4) != 0))
    return clarke_fail(err, CLARKE_EINPUT, "not %s: it does not begin as a ZIP does", what);
  zip_error_init(&why);
  source = zip_source_buffer_create(data, size, 0, &why);
  if (source != NULL)
    a->zip = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &why);
  if (a->zip == NULL) {
    zip_source_free(source);
    clarke_fail(err, CLARKE_EINPUT, "the ZIP archive cannot be read: %s",
                zip_error_code_zip(&why) == ZIP_ER_EXISTS ? "two members have the same name"
                                                          : zip_error_strerror(&why));
  } else {
    a->n = (size_t)zip_get_num_entries(a->zip, ZIP_FL_UNCHANGED);
  }
  zip_error_fini(&why);
  return a->zip == NULL ? CLARKE_EINPUT : clarke_layout_ends(data, size, err);
}

void
clarke_archive_close(clarke_archive *a)
{
  if (a->zip != NULL)
    zip_discard(a->zip);
  a->zip = NULL;
}

clarke_status
clarke_archive_name(char **name, const clarke_archive *a, size_t index, clarke_error *err)
{
  const char *full = zip_get_name(a->zip, index, ZIP_FL_ENC_RAW);

  *name = NULL;
  if (full == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "member %zu has no name", index);
  return clarke_text_copy(name, full, strlen(full), "a member's name", err);
}

/* Is the member one that can be read, and its size one that its compressed bytes can hold? */
static clarke_status
check_member(const zip_stat_t *st, clarke_error *err)
{
  const zip_uint64_t needed =
      ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;

  if ((st->valid & needed) != needed)
    return clarke_fail(err, CLARKE_EINPUT, "the archive does not tell its size");
  if (st->encryption_method != ZIP_EM_NONE)
    return clarke_fail(err, CLARKE_EINPUT, "is encrypted");
  if (st->comp_method != ZIP_CM_STORE && st->comp_method != ZIP_CM_DEFLATE)
    return clarke_fail(err, CLARKE_EINPUT, "compression method %u; stored and deflated are read",
                       st->comp_method);
  if (st->comp_method == ZIP_CM_STORE && st->size != st->comp_size)
    return clarke_fail(err, CLARKE_EINPUT, "is stored, but with two sizes");
  if (st->size / MAX_RATIO > st->comp_size)
    return clarke_fail(err, CLARKE_EINPUT, "%llu bytes cannot come from %llu compressed ones",
                       (unsigned long long)st->size, (unsigned long long)st->comp_size);
  return CLARKE_OK;
}

/* Counts the member: overlapping members would unpack the same bytes over and over. */
static clarke_status
count_member(clarke_archive *a, const zip_stat_t *st, clarke_error *err)
{
  if (st->size > UINT64_MAX - a->unpacked)
    return clarke_fail(err, CLARKE_EINPUT, "the members' sizes have no sum");
  a->unpacked += st->size;
  a->packed += st->comp_size <= a->size ? st->comp_size : a->size + 1;
  a->stored = a->stored && st->comp_method == ZIP_CM_STORE;
  if (a->packed > a->size)
    return clarke_fail(err, CLARKE_EINPUT, "the members hold more bytes than the archive");
  if (a->unpacked > clarke_limit_of(CLARKE_LIMIT_UNPACKED))
    return clarke_limit_fail(err, CLARKE_LIMIT_UNPACKED, "with it the members hold %llu bytes, unpacked",
                             (unsigned long long)a->unpacked);
  return CLARKE_OK;
}

clarke_status
clarke_archive_look(size_t *size, clarke_archive *a, size_t index, clarke_error *err)
{
  zip_stat_t st;
  clarke_status status;

  zip_stat_init(&st);
  if (zip_stat_index(a->zip, index, ZIP_FL_UNCHANGED, &st) != 0)
    return clarke_fail(err, CLARKE_EINPUT, "cannot be read: %s", zip_strerror(a->zip));
  status = check_member(&st, err);
  if (status == CLARKE_OK)
    status = count_member(a, &st, err);
  *size = status == CLARKE_OK ? (size_t)st.size : 0;
  return status;
}

clarke_status
clarke_archive_enter(zip_file_t **f, const clarke_archive *a, size_t index, clarke_error *err)
{
  *f = zip_fopen_index(a->zip, index, ZIP_FL_UNCHANGED);
  return *f != NULL ? CLARKE_OK
                    : clarke_fail(err, CLARKE_EINPUT, "cannot be read: %s", zip_strerror(a->zip));
}

clarke_status
clarke_archive_bytes(zip_file_t *f, void *to, size_t n, clarke_error *err)
{
  for (size_t done = 0; done < n;) {
    const zip_int64_t got = zip_fread(f, (unsigned char *)to + done, n - done);

    if (got < 0)
      return clarke_fail(err, CLARKE_EINPUT, "cannot be read: %s", zip_file_strerror(f));
    if (got == 0)
      return clarke_fail(err, CLARKE_EINPUT, "ends after %zu bytes of %zu", done, n);
    done += (size_t)got;
  }
  return CLARKE_OK;
}

/* Asking for more also makes libzip check the CRC. */
clarke_status
clarke_archive_check_end(zip_file_t *f, clarke_error *err)
{
  unsigned char byte;
  const zip_int64_t got = zip_fread(f, &byte, 1);

  if (got < 0)
    return clarke_fail(err, CLARKE_EINPUT, "cannot be read: %s", zip_file_strerror(f));
  return got == 0 ? CLARKE_OK : clarke_fail(err, CLARKE_EINPUT, "is longer than the archive says");
}

clarke_status
clarke_archive_read(void *to, const clarke_archive *a, size_t index, size_t n, clarke_error *err)
{
  zip_file_t *f;
  clarke_status status = clarke_archive_enter(&f, a, index, err);

  if (status != CLARKE_OK)
    return status;
  status = clarke_archive_bytes(f, to, n, err);
  if (status == CLARKE_OK)
    status = clarke_archive_check_end(f, err);
  zip_fclose(f);
  return status;
}
