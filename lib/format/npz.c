/* .npz archives (numpy.savez, savez_compressed): a ZIP whose members are .npy arrays, stored or
 * deflated. libzip reads the archive from memory and checks each member's CRC; sizes it reports
 * are only believed where the bytes bear them out. */
#include "format/npy.h"
#include "format/tensors.h"
#include "format/text.h"

#include <stdlib.h>
#include <string.h>
#include <zip.h>

/* No member larger than this is read, nor an archive with more in all. */
#define MAX_MEMBER ((zip_uint64_t)1 << 32)
#define MAX_ALL ((zip_uint64_t)1 << 33)
/* Deflate cannot do better: 2 bits for each run of 258 bytes. */
#define MAX_RATIO 1032

static clarke_status
open_archive(zip_t **zip, const void *data, size_t size, clarke_error *err)
{
  static const unsigned char member[] = "PK\3\4", none[] = "PK\5\6";
  zip_error_t why;
  zip_source_t *source;

  *zip = NULL;
  if (size < 4 || (memcmp(data, member, 4) != 0 && memcmp(data, none, 4) != 0))
    return clarke_fail(err, CLARKE_EINPUT, "not an .npz archive: it does not begin as a ZIP does");
  zip_error_init(&why);
  source = zip_source_buffer_create(data, size, 0, &why);
  if (source != NULL)
    *zip = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &why);
  if (*zip == NULL) {
    zip_source_free(source);
    clarke_fail(err, CLARKE_EINPUT, "the ZIP archive cannot be read: %s",
                zip_error_code_zip(&why) == ZIP_ER_EXISTS ? "two members have the same name"
                                                          : zip_error_strerror(&why));
  }
  zip_error_fini(&why);
  return *zip == NULL ? CLARKE_EINPUT : CLARKE_OK;
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
  if (st->size > MAX_MEMBER)
    return clarke_fail(err, CLARKE_ENOMEM, "%llu bytes; at most 4 GiB are read",
                       (unsigned long long)st->size);
  if (st->size / MAX_RATIO > st->comp_size)
    return clarke_fail(err, CLARKE_EINPUT, "%llu bytes cannot come from %llu compressed ones",
                       (unsigned long long)st->size, (unsigned long long)st->comp_size);
  return CLARKE_OK;
}

/* Reads exactly n bytes; less is an error. */
static clarke_status
read_bytes(zip_file_t *f, unsigned char *to, size_t n, clarke_error *err)
{
  for (size_t done = 0; done < n;) {
    const zip_int64_t got = zip_fread(f, to + done, n - done);

    if (got < 0)
      return clarke_fail(err, CLARKE_EINPUT, "cannot be read: %s", zip_file_strerror(f));
    if (got == 0)
      return clarke_fail(err, CLARKE_EINPUT, "ends after %zu bytes of %zu", done, n);
    done += (size_t)got;
  }
  return CLARKE_OK;
}

/* Nothing may follow; asking for it also makes libzip check the CRC. */
static clarke_status
check_end(zip_file_t *f, clarke_error *err)
{
  unsigned char byte;
  const zip_int64_t got = zip_fread(f, &byte, 1);

  if (got < 0)
    return clarke_fail(err, CLARKE_EINPUT, "cannot be read: %s", zip_file_strerror(f));
  return got == 0 ? CLARKE_OK : clarke_fail(err, CLARKE_EINPUT, "is longer than the archive says");
}

/* Reads the array's start, checks what it says against the member's size, and only then makes room
 * for all of it. */
static clarke_status
read_array(clarke_tensor *t, zip_file_t *f, const char *name, size_t size, unsigned char *start,
           clarke_error *err)
{
  const size_t first = size < CLARKE_NPY_MAX_START ? size : CLARKE_NPY_MAX_START;
  clarke_npy_header h;
  unsigned char *data;
  clarke_status status = read_bytes(f, start, first, err);

  if (status == CLARKE_OK)
    status = clarke_npy_read_header(&h, start, first, size, err);
  if (status != CLARKE_OK)
    return status;
  data = malloc(h.extent.bytes + 1);
  if (data == NULL)
    return clarke_fail(err, CLARKE_ENOMEM, "no memory for %zu bytes", h.extent.bytes);
  memcpy(data, start + h.start, first - h.start);
  status = read_bytes(f, data + (first - h.start), size - first, err);
  if (status == CLARKE_OK)
    status = check_end(f, err);
  if (status == CLARKE_OK)
    status = clarke_npy_read_data(t, &h, name, data, err);
  free(data);
  return status;
}

static clarke_status
read_member(clarke_tensor *t, zip_t *zip, zip_uint64_t index, const char *name, size_t size,
            clarke_error *err)
{
  zip_file_t *f = zip_fopen_index(zip, index, ZIP_FL_UNCHANGED);
  unsigned char *start;
  clarke_status status;

  if (f == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "cannot be read: %s", zip_strerror(zip));
  start = malloc(CLARKE_NPY_MAX_START);
  if (start == NULL)
    status = clarke_fail(err, CLARKE_ENOMEM, "no memory for its header");
  else
    status = read_array(t, f, name, size, start, err);
  free(start);
  zip_fclose(f);
  return status;
}

/* *name = the member's name without ".npy". */
static clarke_status
member_name(char **name, zip_t *zip, zip_uint64_t index, clarke_error *err)
{
  const char *full = zip_get_name(zip, index, ZIP_FL_ENC_RAW);
  clarke_status status;
  size_t n;

  *name = NULL;
  if (full == NULL)
    return clarke_fail(err, CLARKE_EINPUT, "member %llu has no name", (unsigned long long)index);
  n = strlen(full);
  status = clarke_text_copy(name, full, n, "a member's name", err);
  if (status != CLARKE_OK)
    return status;
  if (n <= 4 || strcmp(full + n - 4, ".npy") != 0) {
    status = clarke_fail(err, CLARKE_EINPUT, "member \"%s\" is no NAME.npy", *name);
    free(*name);
    *name = NULL;
    return status;
  }
  (*name)[n - 4] = '\0';
  return CLARKE_OK;
}

/* What the members hold in all, checked against the archive's size: overlapping members would
 * unpack the same bytes over and over. */
typedef struct {
  zip_uint64_t size, packed, archive;
  bool stored;
} totals;

static clarke_status
add_member(totals *all, const zip_stat_t *st, clarke_error *err)
{
  all->size += st->size;
  all->packed += st->comp_size <= all->archive ? st->comp_size : all->archive + 1;
  all->stored = all->stored && st->comp_method == ZIP_CM_STORE;
  if (all->packed > all->archive)
    return clarke_fail(err, CLARKE_EINPUT, "the members hold more bytes than the archive");
  if (all->size > MAX_ALL)
    return clarke_fail(err, CLARKE_ENOMEM, "the members hold more than the 8 GiB that are read");
  return CLARKE_OK;
}

static clarke_status
read_one(clarke_tensor *t, totals *all, zip_t *zip, zip_uint64_t index, clarke_error *err)
{
  char *name;
  zip_stat_t st;
  clarke_status status = member_name(&name, zip, index, err);

  if (status != CLARKE_OK)
    return status;
  zip_stat_init(&st);
  if (zip_stat_index(zip, index, ZIP_FL_UNCHANGED, &st) != 0)
    status = clarke_fail(err, CLARKE_EINPUT, "cannot be read: %s", zip_strerror(zip));
  if (status == CLARKE_OK)
    status = check_member(&st, err);
  if (status == CLARKE_OK)
    status = add_member(all, &st, err);
  if (status == CLARKE_OK)
    status = read_member(t, zip, index, name, (size_t)st.size, err);
  if (status != CLARKE_OK)
    clarke_fail_in(err, status, "member \"%s.npy\"", name);
  free(name);
  return status;
}

static clarke_status
read_archive(clarke_tensors *ts, bool *stored, zip_t *zip, size_t size, clarke_error *err)
{
  const zip_int64_t n = zip_get_num_entries(zip, ZIP_FL_UNCHANGED);
  totals all = { 0, 0, size, true };
  clarke_status status;

  if (n < 0)
    return clarke_fail(err, CLARKE_EINTERNAL, "the ZIP archive is not open");
  status = clarke_tensors_alloc(ts, (size_t)n, err);
  for (zip_int64_t i = 0; i < n && status == CLARKE_OK; i++)
    status = read_one(&ts->tensor[i], &all, zip, (zip_uint64_t)i, err);
  if (status == CLARKE_OK)
    status = clarke_tensors_sort(ts, err);
  *stored = status == CLARKE_OK && all.stored;
  return status;
}

clarke_status
clarke_npz_parse(clarke_tensors *ts, bool *stored, const void *data, size_t size, const char *file,
                 clarke_error *err)
{
  zip_t *zip;
  clarke_status status;

  clarke_tensors_clear(ts);
  *stored = false;
  status = open_archive(&zip, data, size, err);
  if (status == CLARKE_OK)
    status = read_archive(ts, stored, zip, size, err);
  if (zip != NULL)
    zip_discard(zip);
  if (status == CLARKE_OK)
    return status;
  clarke_tensors_clear(ts);
  return clarke_fail_in(err, status, "%s", file);
}
